"""What came of rollouts: how much was drawn, how far the labels can be trusted, and what looks wrong.

**Label noise.** A hard label says whether one of n completions succeeded; drawn again, it may say otherwise. What the n
completions of a step themselves tell of that, without any assumption about the steps:

- `halves`: split a step's completions into two halves of m = n // 2 at random. With k successes the first half has none
  with probability C(n-k, m) / C(n, m), neither has one with C(n-k, 2m) / C(n, 2m), so that just one of them has some
  with 2 * (the first - the second). The mean over the steps is the share of steps on which two labels from m
  completions each disagree.
- `last`: of the steps whose first n - 1 completions have no success, the share of those whose last one succeeds, with
  the completions in every order: (N1 / n) / (N0 + N1 / n), where Nk steps have k successes. So often one more
  completion turns a step from wrong to right.

Both need all of the full scheme's completions, marked: hard labels alone, which end at the first success, can't tell.

**Copies.** Servers that ignore seeds, or have one fixed one, return the same text again and again at any temperature.
Sixteen copies are one completion: their soft label is 0 or 1, and a hard one is worth no more than a single draw.
"""

import math
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from assay.train.rollout_counts import Counts, count
from assay.train.rollouts import Rolled, RolloutPlan, batches
from assay.types import Usage

__all__ = ["Collector", "Noise", "Report", "Sameness"]

NEARLY_ALL = 0.9
"""Share of the prefixes from which on copies are no accident (ours)."""

FEWEST = 5
"""Prefixes below which nothing is said of copies (ours)."""

MANY_CUT = 0.05
"""Share of completions that were cut from which on it is said (ours)."""


class Noise(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far hard labels would differ if they were drawn again; see the module.

    Attributes:
        steps: steps with all of their completions marked.
        completions: n of each.
        halves: share of them on which labels from half as many completions disagree; None with one completion.
        last: share of steps wrong by n - 1 completions that the last one makes right; None where there is none.
    """

    steps: int
    completions: int
    halves: float | None
    last: float | None


class Sameness(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many step prefixes have equal completions.

    Attributes:
        prefixes: those with two or more completions; not those that end a solution, from which little is left to say.
        equal: all their completions are one text.
        copied: they are not, but those of every request for several are.
        questions, same_solutions: questions with two or more solutions, and those whose solutions are one text.
    """

    prefixes: int = 0
    equal: int = 0
    copied: int = 0
    questions: int = 0
    same_solutions: int = 0


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `assay prm rollouts` says in the end.

    Attributes:
        benchmark, split, model: what was run.
        plan: what was drawn.
        file, written: the solutions for the later commands, and how many there are.
        asked: questions of the run; all of them but the failed ones have rollouts.
        failed: why questions have none -> how many.
        counts: what was drawn, and its share of the full scheme.
        failures: completions that failed, by kind.
        right, wrong, unmarked: verdicts on the solutions themselves.
        empty: solutions without any step, left out of the file.
        noise: None where it can't be told.
        sameness: equal completions.
        usage: tokens of all replies in the run's store, earlier starts included.
        notes: what a reader must know.
    """

    benchmark: str
    split: str
    model: str
    plan: RolloutPlan
    file: str
    written: int
    asked: int
    failed: dict[str, int]
    counts: Counts
    failures: dict[str, int]
    right: int
    wrong: int
    unmarked: int
    empty: int
    noise: Noise | None
    sameness: Sameness
    usage: Usage
    notes: tuple[str, ...] = ()


class Collector:
    """Adds up rolled questions, each of which may be forgotten afterwards.

    Attributes:
        counts: see `rollout_counts.count`.
        failures: completions that failed, by kind.
        verdicts: of the solutions: True, False, None -> how many.
        empty: solutions without a step.
    """

    def __init__(self, plan: RolloutPlan) -> None:
        self.counts = Counts()
        self.failures: Counter[str] = Counter()
        self.verdicts: Counter[bool | None] = Counter()
        self.empty = 0
        self._plan = plan
        self._successes: Counter[int] = Counter()  # of a step that is marked in full -> steps
        self._sameness: Counter[str] = Counter()

    def add(self, rolled: Rolled) -> None:
        """Take up a question."""
        self.counts = total(self.counts, count([rolled], self._plan))
        self.failures.update(failure.kind for failure in rolled.failures)
        self.verdicts.update(rollout.right for rollout in rolled.rollouts)
        self.empty += sum(not rollout.steps for rollout in rolled.rollouts)
        texts = ["".join(step.step for step in rollout.steps) for rollout in rolled.rollouts]
        if len(texts) > 1:
            self._sameness.update(questions=1, same_solutions=len(set(texts)) == 1)
        for rollout in rolled.rollouts:
            for place, step in enumerate(rollout.steps):
                marks = [one.right for one in step.completions if one.right is not None]
                if step.soft is not None and len(marks) == self._plan.completions:
                    self._successes[sum(marks)] += 1
                if place < len(rollout.steps) - 1:
                    self._compare({one.index: one.text for one in step.completions})

    def _compare(self, texts: Mapping[int, str]) -> None:
        """Whether the completions of a prefix, by their index, are copies."""
        if len(texts) < 2:
            return
        equal = len(set(texts.values())) == 1
        requests = [[texts[index] for index in batch if index in texts] for batch in batches(self._plan.completions)]
        several = [request for request in requests if len(request) > 1]
        copied = not equal and bool(several) and all(len(set(request)) == 1 for request in several)
        self._sameness.update(prefixes=1, equal=equal, copied=copied)

    @property
    def sameness(self) -> Sameness:
        return Sameness(**self._sameness)

    @property
    def noise(self) -> Noise | None:
        """None where no step is marked in full, or hard labels alone were drawn."""
        if self._plan.labels != "soft" or not self._successes:
            return None
        return noise_of(self._successes, self._plan.completions)

    def notes(self, temperature: float) -> tuple[str, ...]:
        """What is odd about the completions."""
        counts = self.counts
        cut = counts.truncated > MANY_CUT * counts.completions
        of = f"{counts.truncated:,} of {counts.completions:,} completions"
        note = (
            f"{of} were cut at the token limit and reach no answer: steps look worse than they are. Raise --max-tokens."
        )
        return (*copy_notes(self.sameness, temperature), *([note] if cut else []))


def total(one: Counts, other: Counts) -> Counts:
    """Both counts together."""
    return Counts(**{name: getattr(one, name) + getattr(other, name) for name in Counts.__struct_fields__})


def noise_of(successes: Mapping[int, int], completions: int) -> Noise:
    """Noise of steps of which `successes[k]` have k successes each; see the module."""
    steps = sum(successes.values())
    half = completions // 2
    halves = None
    if half:
        halves = math.fsum(number * _disagree(completions, k, half) for k, number in successes.items()) / steps
    once = successes.get(1, 0) / completions
    wrong = successes.get(0, 0) + once
    return Noise(steps=steps, completions=completions, halves=halves, last=once / wrong if wrong else None)


def _disagree(n: int, k: int, half: int) -> float:
    """Probability that of two halves of n completions with k successes just one has some."""
    first = math.comb(n - k, half) / math.comb(n, half)
    neither = math.comb(n - k, 2 * half) / math.comb(n, 2 * half)
    return 2 * (first - neither)


def copy_notes(found: Sameness, temperature: float) -> tuple[str, ...]:
    """That completions are copies of each other, where nearly all are."""
    if temperature == 0:
        return ("At temperature 0 every completion is the same but for the server's arithmetic: one would do.",)
    notes: list[str] = []
    if found.prefixes >= FEWEST:
        of = f"of {found.prefixes:,} step prefixes with several completions"
        if found.equal >= NEARLY_ALL * found.prefixes:
            notes.append(
                f"At temperature {temperature:g} the completions of {found.equal:,} {of} are the same text each. The "
                "server seems to ignore seeds, or has one of its own; else the model is sure of every word. Such "
                "labels are worth no more than a single completion's: try another seed setting of the server."
            )
        elif found.copied + found.equal >= NEARLY_ALL * found.prefixes:
            notes.append(
                f"For {found.copied + found.equal:,} {of} the server gave the same text for all draws of a request "
                "(n > 1). Their labels rest on fewer completions than were asked for: it copies its first draw."
            )
    if found.questions >= FEWEST and found.same_solutions >= NEARLY_ALL * found.questions:
        notes.append(
            f"All solutions of {found.same_solutions:,} of {found.questions:,} questions are the same text: further "
            "ones add nothing to the first."
        )
    return tuple(notes)
