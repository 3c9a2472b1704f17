"""How many completions hard Monte-Carlo labels need, against the full scheme of 16 for every step.

    python bench/rollouts.py [--questions 40] [--seed 0]

The policy is a script. Every step has a known probability that a completion from it succeeds, of mean 0.86 as in
VisualPRM400K: one step in ten has none at all, as many as are labelled wrong there; the others' follow a beta
distribution with mean 0.956, so that some are hard but not hopeless. Solutions have 3 to 8 steps, 5.6 on average.

The full scheme is drawn once; then again, from nothing, with completions that end at a step's first success, and
without the steps after the first wrong one. Every label and every completion is compared with the full scheme's.

Last line: RESULT {"completions_share": .., "labels_equal": true}; the share is that of hard labels of all steps.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections.abc import Sequence

from assay.benchmarks import load_benchmark
from assay.engine.caller import Caller
from assay.models.scripted import ScriptedModel
from assay.solve.policy import Policy
from assay.train.records import Rollout, StepRollout
from assay.train.rollout_counts import count
from assay.train.rollouts import Posed, Rolled, RolloutPlan, first_error, roll_out_all
from assay.types import ChoiceGold, Message, Option, Request, Sample, Sampling, TextPart

HOPELESS = 0.1  # share of steps from which nothing succeeds
ALPHA, BETA = 4.3, 0.2  # of the others: mean 4.3 / 4.5 = 0.956, and 0.9 * 0.956 = 0.86
STEPS = {3: 1, 4: 1, 5: 2, 6: 3, 7: 1, 8: 1}  # number of steps -> weight: mean 50 / 9 = 5.6
MOST = 0.25  # share of the full scheme that hard labels may take

_PLACE = re.compile(r"part (\w+)\.\s*\Z")


def chance(place: str) -> float:
    """Probability that a completion from this step succeeds."""
    draw = random.Random(f"chance {place}")
    return 0.0 if draw.random() < HOPELESS else draw.betavariate(ALPHA, BETA)


def write(request: Request, index: int) -> str:
    """A solution, or a completion of the one whose last step the request ends with."""
    if not request.prefill:
        name = f"{request.sample_id}_{index}"
        (steps,) = random.Random(f"steps {name}").choices(list(STEPS), list(STEPS.values()))
        return "\n\n".join(f"Step {step}: we work out part {name}_{step}." for step in range(1, steps + 1))
    place = _PLACE.search(request.prefill)
    if place is None:
        raise SystemExit(f"no step is known in {request.prefill!r}")
    right = random.Random(f"{request.seed} {index}").random() < chance(place[1])
    return f"That leaves one figure.\n\nAnswer: {'B' if right else 'C'}"


def question(number: int) -> Posed:
    text = f"Question {number}: which figure has the largest area?"
    options = tuple(Option(label=label, text=f"figure {label}") for label in "ABCD")
    sample = Sample(id=f"q{number}", question=text, options=options, gold=ChoiceGold(labels=("B",)), group=f"q{number}")
    return Posed(sample=sample, messages=(Message(role="user", parts=(TextPart(text=text),)),))


def roll_out(questions: int, plan: RolloutPlan) -> list[Rolled]:
    """The questions' rollouts, in order; nothing is kept from one call to the next."""
    found: list[Rolled] = []
    caller = Caller(ScriptedModel(write, identity="policy"))
    policy = Policy(caller, sampling=Sampling(temperature=1.0), continuation="prefill")
    posed = (question(number) for number in range(questions))
    started = time.monotonic()
    asyncio.run(roll_out_all(policy, load_benchmark("mathvision"), posed, plan, keep=found.append, concurrency=8))
    counts = count(found, plan)
    if counts.failed or counts.unmarked or counts.questions != questions:
        raise SystemExit(f"something failed: {counts}")
    print(
        f"labels {plan.labels}, stop {plan.stop}: {counts.solutions} solutions, {counts.steps} steps "
        f"({counts.right} right, {counts.wrong} wrong, {counts.skipped} skipped); {counts.asked:,} of "
        f"{counts.full_scheme:,} completions: {counts.share:.3f} ({time.monotonic() - started:.1f} s)"
    )
    return sorted(found, key=lambda one: one.sample_id)


def rollouts_of(rolled: Sequence[Rolled]) -> list[Rollout]:
    return [rollout for one in rolled for rollout in one.rollouts]


def same_step(part: StepRollout, full: StepRollout) -> bool:
    """The same label, from the first of the same completions; a skipped step has neither."""
    if part.skipped:
        return not part.completions
    return part.hard is full.hard and part.completions == full.completions[: len(part.completions)]


def same(part: Sequence[Rolled], full: Sequence[Rolled]) -> bool:
    """The same steps, labels, completions and first errors."""
    pairs = list(zip(rollouts_of(part), rollouts_of(full), strict=True))
    return all(
        first_error(ours) == first_error(theirs)
        and [step.step for step in ours.steps] == [step.step for step in theirs.steps]
        and all(same_step(*steps) for steps in zip(ours.steps, theirs.steps, strict=True))
        for ours, theirs in pairs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    scheme = RolloutPlan(seed=arguments.seed)
    full = roll_out(arguments.questions, scheme)
    soft = [step.soft for rollout in rollouts_of(full) for step in rollout.steps if step.soft is not None]
    print(f"mean soft label {sum(soft) / len(soft):.3f}; {sum(score == 0 for score in soft) / len(soft):.3f} are 0")
    hard_plan = RolloutPlan(seed=arguments.seed, labels="hard")
    hard = roll_out(arguments.questions, hard_plan)
    until_wrong = roll_out(arguments.questions, RolloutPlan(seed=arguments.seed, labels="hard", stop="first_error"))
    share = count(hard, hard_plan).share
    equal = same(hard, full) and same(until_wrong, full)
    print("RESULT " + json.dumps({"completions_share": round(share, 4), "labels_equal": equal}))
    sys.exit(0 if equal and share <= MOST else 1)


if __name__ == "__main__":
    main()
