"""Monte-Carlo labels against policies whose every success is known."""

import asyncio
import dataclasses
import math
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark
from assay.engine.caller import Caller
from assay.errors import CallError, MarkError, RunStopped, UsageError
from assay.models.base import Model
from assay.models.scripted import ScriptedModel
from assay.solve.policy import Policy
from assay.solve.records import Solution
from assay.train.records import Rollout, StepRollout
from assay.train.rollout_counts import Counts, count
from assay.train.rollouts import Posed, Rolled, RolloutPlan, first_error, roll_out, roll_out_all
from assay.types import (
    ChoiceGold,
    Mark,
    Marked,
    Message,
    Option,
    Reply,
    Request,
    Sample,
    Sampling,
    TextPart,
    Verdict,
)
from support.runs import new_store

OPTIONS = tuple(Option(label=label, text=f"figure {label}") for label in "ABCD")
SIGMAS = 4


def mark(_sample: Sample, reply: Reply) -> Marked:
    """B is right, C wrong, D unmarkable, and A can't be compared in time."""
    answer = reply.text.rpartition("Answer: ")[2].strip()
    if answer == "A":
        raise MarkError("the comparison ran into its deadline")
    verdicts: dict[str, Verdict] = {"B": "right", "C": "wrong", "D": "unmarkable"}
    verdict = verdicts.get(answer, "unanswered")
    return Marked(reference=Mark(verdict="right"), robust=Mark(verdict=verdict))  # the reference is not to be asked


MARKED_HERE = dataclasses.replace(load_benchmark("mathvision"), mark=mark)


def posed(name: str = "q", *, gold: str | None = "B") -> Posed:
    labels = None if gold is None else ChoiceGold(labels=(gold,))
    sample = Sample(id=name, question="Which is largest?", options=OPTIONS, gold=labels, group=f"seed {name}")
    return Posed(sample=sample, messages=(Message(role="user", parts=(TextPart(text="Which is largest?"),)),))


class World:
    """A policy whose completion k of step t ends as the k-th letter of `steps[t]` says, the last one for all further.

    R right, W wrong, N no answer, U unmarkable, M a comparison that fails, A a new beginning, F a call that fails.
    """

    ENDINGS: Mapping[str, str] = {
        "R": "Hence.\n\nAnswer: B",
        "W": "Hence.\n\nAnswer: C",
        "N": "Hence it is hard to say.",
        "U": "Hence.\n\nAnswer: D",
        "M": "Hence.\n\nAnswer: A",
        "A": "Let's start over.\n\nAnswer: B",
    }

    def __init__(self, *steps: str) -> None:
        self.steps = steps
        self.asked: list[tuple[int, int]] = []  # step and completion, in the order of the calls
        self.prefixes: set[str] = set()

    def __call__(self, request: Request, index: int) -> str:
        if not request.prefill:
            return "\n\n".join(f"Step {number}: we look at part {number}." for number in range(1, len(self.steps) + 1))
        place = int(re.findall(r"part (\d+)\.\s*\Z", request.prefill)[0]) - 1
        self.asked.append((place, index))
        self.prefixes.add(request.prefill)
        letter = self.steps[place][min(index, len(self.steps[place]) - 1)]
        if letter == "F":
            raise CallError("too_long", "the prompt does not fit")
        return self.ENDINGS[letter]


def roll(world: World, *, benchmark: Benchmark = MARKED_HERE, gold: str | None = "B", **plan: Any) -> Rolled:
    settled = msgspec.convert({"solutions": 1, **plan}, RolloutPlan)
    policy = Policy(Caller(ScriptedModel(world)), sampling=Sampling(temperature=1.0), continuation="prefill")
    return asyncio.run(roll_out(policy, benchmark, posed(gold=gold), settled))


def steps_of(world: World, **plan: Any) -> tuple[StepRollout, ...]:
    (rollout,) = roll(world, **plan).rollouts
    return rollout.steps


def indices(step: StepRollout) -> list[int]:
    return [completion.index for completion in step.completions]


# ----------------------------------------------------------------------------------------------------------------------
# The full scheme


def test_every_prefix_is_completed_and_labelled() -> None:
    world = World("RW", "W", "WWWR")
    steps = steps_of(world, completions=4)
    assert [step.step for step in steps] == [
        "Step 1: we look at part 1.\n\n",
        "Step 2: we look at part 2.\n\n",
        "Step 3: we look at part 3.",
    ]
    # R W W W; W W W W; W W W R
    assert [(step.soft, step.hard) for step in steps] == [(0.25, True), (0.0, False), (0.25, True)]
    assert [indices(step) for step in steps] == [[0, 1, 2, 3]] * 3
    first = steps[0].completions[0]
    assert (first.text, first.answer, first.right) == ("Hence.\n\nAnswer: B", "B", True)
    assert world.prefixes == {
        "Step 1: we look at part 1.\n\n",
        "Step 1: we look at part 1.\n\nStep 2: we look at part 2.\n\n",
        # a step that ends without a line break gets one where it is gone on from
        "Step 1: we look at part 1.\n\nStep 2: we look at part 2.\n\nStep 3: we look at part 3.\n\n",
    }


def test_the_defaults_are_the_published_scheme() -> None:
    world = World("R", "W")
    rolled = roll(world, solutions=4)
    assert [rollout.solution for rollout in rolled.rollouts] == [0, 1, 2, 3]
    assert count([rolled], RolloutPlan()) == Counts(
        questions=1, solutions=4, steps=8, right=4, wrong=4, completions=4 * 2 * 16, full_scheme=128
    )
    assert len(world.asked) == 128


def test_soft_labels_are_unbiased() -> None:
    """40 questions x 2 solutions x 16 completions = 1280 draws of each step; each solution's labels have mean p."""
    chances = (0.95, 0.5, 0.06)
    draws = 40 * 2 * 16

    def write(request: Request, index: int) -> str:
        if not request.prefill:
            return "Part 1.\n\nPart 2.\n\nPart 3."
        place = int(request.prefill.strip()[-2]) - 1
        return f"So.\n\nAnswer: {'B' if random.Random(f'{request.seed} {index}').random() < chances[place] else 'C'}"

    found: list[Rolled] = []

    async def run() -> None:
        policy = Policy(Caller(ScriptedModel(write)), sampling=Sampling(temperature=1.0), continuation="prefill")
        questions = (posed(f"q{number}") for number in range(40))
        plan = RolloutPlan(solutions=2, seed=3)
        await roll_out_all(policy, MARKED_HERE, questions, plan, keep=found.append, concurrency=5)

    asyncio.run(run())
    assert sorted(one.sample_id for one in found) == sorted(f"q{number}" for number in range(40))
    rollouts = [rollout for one in found for rollout in one.rollouts]
    for place, chance in enumerate(chances):
        labels = [rollout.steps[place].soft for rollout in rollouts]
        mean = math.fsum(label for label in labels if label is not None) / len(labels)
        assert abs(mean - chance) < SIGMAS * math.sqrt(chance * (1 - chance) / draws), (place, mean)
    seeds = [c.seed for rollout in rollouts for step in rollout.steps for c in step.completions]
    # 3840 of 2**31 seeds: some 0.003 pairs are equal by chance, so that none is expected
    assert len(set(seeds)) == len(seeds) == 3 * draws


def test_the_verdict_on_the_solution_itself() -> None:
    """World's solutions give no answer, which is not right; one that answers is."""
    (rollout,) = roll(World("R")).rollouts
    assert (rollout.sample_id, rollout.group, rollout.answer, rollout.right) == ("q", "seed q", None, False)

    def answering(request: Request, _index: int) -> str:
        return "" if request.prefill else "It is seen.\n\nAnswer: B"

    async def run() -> Rolled:
        policy = Policy(ScriptedModel(answering), sampling=Sampling(), continuation="prefill")
        return await roll_out(policy, MARKED_HERE, posed(), RolloutPlan(solutions=1, completions=2))

    (rollout,) = asyncio.run(run()).rollouts
    assert (rollout.answer, rollout.right) == ("B", True)
    # Nothing follows the last step, so that its completions are the solution; after the first one there is no answer.
    assert [(step.soft, step.hard) for step in rollout.steps] == [(0.0, False), (1.0, True)]
    assert [completion.text for completion in rollout.steps[1].completions] == ["", ""]


def test_the_policy_never_sees_the_gold_answer() -> None:
    seen: list[Sample] = []

    class Watched(Policy):
        async def sample(self, sample: Sample, *rest: Any, **more: Any) -> list[Solution]:
            seen.append(sample)
            return await super().sample(sample, *rest, **more)

        async def resume_many(self, sample: Sample, *rest: Any, **more: Any) -> list[Solution]:
            seen.append(sample)
            return await super().resume_many(sample, *rest, **more)

    policy = Watched(ScriptedModel(World("R")), sampling=Sampling(), continuation="prefill")
    asyncio.run(roll_out(policy, MARKED_HERE, posed(), RolloutPlan(solutions=1, completions=1)))
    assert [sample.gold for sample in seen] == [None, None]


# ----------------------------------------------------------------------------------------------------------------------
# Fewer calls for the same labels


@pytest.mark.parametrize(
    ("total", "script", "asked", "hard"),
    [
        # Batches of 16: 0 | 1 | 2 3 | 4 5 6 7 | 8 .. 15
        (16, "R", 1, True),
        (16, "WRW", 2, True),
        (16, "WWR", 4, True),
        (16, "WWWRW", 4, True),
        (16, "WWWWRW", 8, True),
        (16, "WWWWWWWR", 8, True),
        (16, "W" * 15 + "R", 16, True),
        (16, "W", 16, False),
        # Batches of 6: 0 | 1 | 2 3 | 4 5; of 4: 0 | 1 | 2 3; of 2: 0 | 1
        (6, "WWWWRW", 6, True),
        (4, "WWR", 4, True),
        (4, "WWWR", 4, True),
        (4, "W", 4, False),
        (2, "W", 2, False),
        (1, "W", 1, False),
        # A success beyond the full scheme does not count.
        (4, "WWWWR", 4, False),
    ],
)
def test_completions_that_a_hard_label_takes(total: int, script: str, asked: int, hard: bool) -> None:
    world = World(script)
    (step,) = steps_of(world, completions=total, labels="hard")
    assert step.hard is hard
    assert indices(step) == list(range(asked))
    assert sorted(world.asked) == [(0, index) for index in range(asked)]


def test_a_share_that_ended_with_a_success_is_no_soft_label() -> None:
    """One of one is no estimate of p. Where all were drawn, the share is the full scheme's."""
    drawn = steps_of(World("R", "WWWR", "W"), completions=4, labels="hard")
    assert [step.soft for step in drawn] == [None, 0.25, 0.0]


def test_calls_saved_as_counted_by_hand() -> None:
    # R: 1. WWR: 1 + 1 + 2. W: 1 + 1 + 2 + 4 + 8. Together 21 of 3 * 16.
    rolled = roll(World("R", "WWR", "W"), labels="hard")
    counts = count([rolled], RolloutPlan(solutions=1, labels="hard"))
    assert (counts.asked, counts.full_scheme) == (21, 48)
    assert counts.share == pytest.approx(21 / 48)
    assert Counts().share == 1.0


def random_world(seed: int) -> World:
    """Six steps that fail always, often, or hardly ever, with calls that fail and marks that can't be made."""
    dice = random.Random(seed)

    def script() -> str:
        chance = dice.choice([0.0, 0.05, 0.3, 0.9])
        rest = dice.choice(["W", "WN", "WWWWWWWWF", "WWWWWWWWU", "WWWWWWWWA"])
        return "".join("R" if dice.random() < chance else dice.choice(rest) for _ in range(16))

    return World(*(script() for _ in range(6)))


@pytest.mark.parametrize("seed", range(12))
def test_hard_labels_are_those_of_the_full_scheme(seed: int) -> None:
    world = random_world(seed)
    full = steps_of(world)
    hard = steps_of(world, labels="hard")
    until_wrong = steps_of(world, labels="hard", stop="first_error")
    assert [step.hard for step in hard] == [step.hard for step in full]
    for part in (hard, until_wrong):
        for ours, theirs in zip(part, full, strict=True):
            # Seeds, texts and verdicts too: what is drawn is what the full scheme drew.
            assert ours.completions == theirs.completions[: len(ours.completions)]
            assert ours.skipped or ours.hard is theirs.hard
    assert sum(len(step.completions) for step in hard) < sum(len(step.completions) for step in full)


def test_seeds_do_not_depend_on_how_much_is_drawn() -> None:
    few = roll(World("W", "W"), solutions=1, completions=2)
    many = roll(World("W", "W"), solutions=3, completions=8)
    for ours, theirs in zip(few.rollouts[0].steps, many.rollouts[0].steps, strict=True):
        assert ours.completions == theirs.completions[:2]
    other = roll(World("W", "W"), solutions=1, completions=2, seed=1)
    assert other.rollouts[0].steps[0].completions[0].seed != few.rollouts[0].steps[0].completions[0].seed


@pytest.mark.parametrize("labels", ["soft", "hard"])
def test_steps_after_the_first_wrong_one_are_skipped(labels: str) -> None:
    world = World("R", "W", "R", "W")
    rolled = roll(world, completions=4, labels=labels, stop="first_error")
    (rollout,) = rolled.rollouts
    assert [step.skipped for step in rollout.steps] == [False, False, True, True]
    assert [step.hard for step in rollout.steps] == [True, False, None, None]
    assert [step.soft for step in rollout.steps[2:]] == [None, None]
    assert "".join(step.step for step in rollout.steps).count("part") == 4  # the skipped steps' texts are there
    assert {place for place, _ in world.asked} == {0, 1}
    assert first_error(rollout) == 1
    counts = count([rolled], RolloutPlan(solutions=1, completions=4))
    # soft: 4 + 4, hard: 1 + 4, of 4 steps of 4 completions
    assert (counts.asked, counts.full_scheme, counts.skipped) == (8 if labels == "soft" else 5, 16, 2)
    assert (counts.right, counts.wrong, counts.unlabelled) == (1, 1, 0)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ([True, True], None),
        ([True, False, True], 1),
        ([False, None], 0),
        ([None, False], -1),
        ([True, None], -1),
        ([], None),
    ],
)
def test_the_first_error(labels: Sequence[bool | None], place: int | None) -> None:
    steps = tuple(StepRollout(step="s", hard=label) for label in labels)
    rollout = Rollout(sample_id="q", group="g", solution=0, steps=steps, answer=None, right=None)
    assert first_error(rollout) == place


# ----------------------------------------------------------------------------------------------------------------------
# What is neither right nor wrong


def test_unmarkable_completions_count_neither_way() -> None:
    # U R W N: two of the four can't be right, one can't be told: 1 of 3. M and U: nothing is known.
    # W U W W: no success, and not all are marked, so that the step is not wrong for certain.
    rolled = roll(World("URWN", "MU", "WUWW", "UUUR"), completions=4)
    (rollout,) = rolled.rollouts
    assert [step.soft for step in rollout.steps] == [pytest.approx(1 / 3), None, 0.0, 1.0]
    assert [step.hard for step in rollout.steps] == [True, None, None, True]
    assert [completion.right for completion in rollout.steps[0].completions] == [None, True, False, False]
    counts = count([rolled], RolloutPlan(solutions=1, completions=4))
    assert (counts.completions, counts.unmarked, counts.unlabelled) == (16, 1 + 4 + 1 + 3, 2)


def test_a_step_without_a_label_is_no_first_error() -> None:
    steps = steps_of(World("U", "W", "R"), completions=2, stop="first_error")
    assert [(step.hard, step.skipped) for step in steps] == [(None, False), (False, False), (None, True)]


def test_a_question_without_gold_has_no_labels() -> None:
    """By the real benchmark's mark."""
    rolled = roll(World("R", "W"), benchmark=load_benchmark("mathvision"), gold=None, completions=2)
    (rollout,) = rolled.rollouts
    assert [(step.soft, step.hard) for step in rollout.steps] == [(None, None)] * 2


def test_the_benchmarks_own_robust_mark_decides() -> None:
    rolled = roll(World("RW"), benchmark=load_benchmark("mathvision"), gold="C", completions=4)
    (rollout,) = rolled.rollouts
    assert [completion.right for completion in rollout.steps[0].completions] == [False, True, True, True]


def test_a_new_beginning_says_nothing_of_the_prefix() -> None:
    """It ends with the right answer, but not from there."""
    rolled = roll(World("AW", "AR"), completions=2)
    (rollout,) = rolled.rollouts
    assert [(step.soft, step.hard) for step in rollout.steps] == [(0.0, None), (1.0, True)]
    began_anew = rollout.steps[0].completions[0]
    assert (began_anew.text, began_anew.answer, began_anew.right) == ("Let's start over.\n\nAnswer: B", "B", None)
    counts = count([rolled], RolloutPlan(solutions=1, completions=2))
    assert (counts.restarted, counts.unmarked) == (2, 2)


def test_failing_calls_are_counted_and_no_verdicts() -> None:
    rolled = roll(World("WFRR", "FWWW", "F"), completions=4)
    (rollout,) = rolled.rollouts
    assert [indices(step) for step in rollout.steps] == [[0, 2, 3], [1, 2, 3], []]
    assert [step.soft for step in rollout.steps] == [pytest.approx(2 / 3), 0.0, None]
    assert [step.hard for step in rollout.steps] == [True, None, None]
    assert [(failure.stage, failure.kind) for failure in rolled.failures] == [("call", "too_long")] * 6
    assert rolled.failures[0].message == "solution 0, step 0, completion 1: the prompt does not fit"
    assert [failure.message.partition(":")[0] for failure in rolled.failures] == [
        "solution 0, step 0, completion 1",
        "solution 0, step 1, completion 0",
        *(f"solution 0, step 2, completion {index}" for index in range(4)),
    ]
    counts = count([rolled], RolloutPlan(solutions=1, completions=4))
    assert (counts.asked, counts.completions, counts.failed) == (12, 6, 6)


def test_a_batch_is_one_request_and_fails_as_one() -> None:
    """Batches of 4: 0 | 1 | 2 3. The third completion's failure takes the fourth along."""
    rolled = roll(World("WWFR"), completions=4)
    (rollout,) = rolled.rollouts
    assert indices(rollout.steps[0]) == [0, 1]
    assert [failure.message.partition(":")[0] for failure in rolled.failures] == [
        "solution 0, step 0, completion 2",
        "solution 0, step 0, completion 3",
    ]
    assert rollout.steps[0].hard is None


def test_failing_calls_do_not_end_a_hard_label() -> None:
    world = World("FWR")
    (step,) = steps_of(world, completions=4, labels="hard")
    assert (step.hard, indices(step)) == (True, [1, 2, 3])


def test_solutions_that_cannot_be_drawn() -> None:
    def write(_request: Request, _index: int) -> str:
        raise CallError("too_long", "the picture is too large")

    async def run() -> Rolled:
        policy = Policy(Caller(ScriptedModel(write)), sampling=Sampling(), continuation="prefill")
        return await roll_out(policy, MARKED_HERE, posed(), RolloutPlan())

    rolled = asyncio.run(run())
    assert rolled.rollouts == ()
    assert [failure.message for failure in rolled.failures] == ["the solutions: the picture is too large"]
    assert count([rolled], RolloutPlan()) == Counts(questions=1)


def test_an_empty_solution_has_no_steps() -> None:
    (rollout,) = roll(World()).rollouts
    assert (rollout.steps, rollout.answer, rollout.right) == ((), None, False)


def test_a_wrong_key_ends_the_run() -> None:
    def write(request: Request, _index: int) -> str:
        if request.prefill:
            raise CallError("auth", "the key is wrong", fatal=True)
        return "One.\n\nTwo."

    async def run() -> None:
        policy = Policy(Caller(ScriptedModel(write)), sampling=Sampling(), continuation="prefill")
        await roll_out_all(policy, MARKED_HERE, [posed()], RolloutPlan(), keep=lambda _: None)

    with pytest.raises(RunStopped, match="the key is wrong"):
        asyncio.run(run())


@pytest.mark.parametrize("plan", [{"solutions": 0}, {"completions": 0}, {"completions": -1}])
def test_plans_without_anything_to_draw_are_refused(plan: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="at least one"):
        RolloutPlan(**plan)


# ----------------------------------------------------------------------------------------------------------------------
# On disk


def test_records_come_back_as_they_were() -> None:
    rolled = roll(World("RWUAF", "W", "R"), completions=5, stop="first_error")
    assert msgspec.json.decode(msgspec.json.encode(rolled), type=Rolled) == rolled


def test_what_was_drawn_is_not_asked_for_again(tmp_path: Path) -> None:
    """The full scheme after hard labels asks for the rest only, and finds what it would have found alone."""
    scripts = ("WR", "W", "R")
    world = World(*scripts)

    def go(model: Model, plan: RolloutPlan) -> Rolled:
        with new_store(tmp_path / "run") as store:
            policy = Policy(Caller(model, store=store), sampling=Sampling(temperature=1.0), continuation="prefill")
            return asyncio.run(roll_out(policy, MARKED_HERE, posed(), plan))

    # WR: 1 + 1, W: 4, R: 1
    hard = go(ScriptedModel(world), RolloutPlan(solutions=1, completions=4, labels="hard"))
    assert len(world.asked) == 7
    full = go(ScriptedModel(world), RolloutPlan(solutions=1, completions=4))
    assert len(world.asked) == len(set(world.asked)) == 12
    assert full == roll(World(*scripts), completions=4)
    again = go(ScriptedModel(world), RolloutPlan(solutions=1, completions=4, labels="hard"))
    assert len(world.asked) == 12
    assert again == hard
