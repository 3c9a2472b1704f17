"""How far a teacher and Monte-Carlo agree, and how much noise that says there is in the labels.

Of every solution that both have labelled, by where each finds its first wrong step:

    both_clean | same_step | other_step | teacher_only (Monte-Carlo finds none) | monte_carlo_only

with Cohen's kappa over solutions (clean or not) and over steps (right or not; those that both have labelled).

Monte-Carlo errs by chance where a right step is hard to go on from: with the success rate p all of k completions fail
with probability (1 - p)^k. Of the steps that had s > 0 successes of k each stands, at p = s/k, for
(1 - p)^k / (1 - (1 - p)^k) more that had none (a Horvitz-Thompson estimate, ours). Their sum estimates how many right
steps carry the label "wrong"; it is rather too low, since steps with a smaller p are seldom among those that had a
success, and says nothing of wrong steps that a lucky completion made "right". For these there is only what the teacher
says: the share of steps on which the two differ.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.mark.agreement import Agreement, Pair, cohen_kappa
from assay.train.records import RolledSolution, RolledStep

__all__ = ["CELLS", "Concord", "Labels", "Noise", "NoiseCount", "PairCount", "first_error", "mc_labels"]

Labels = tuple[bool | None, ...]

CELLS = ("both_clean", "same_step", "other_step", "teacher_only", "monte_carlo_only")


def first_error(labels: Labels) -> int | None:
    """Position of the first step that is labelled wrong; None where none is."""
    return next((place for place, label in enumerate(labels) if label is False), None)


def mc_labels(solution: RolledSolution) -> Labels:
    """The hard Monte-Carlo labels of a solution's steps."""
    return tuple(step.hard for step in solution.steps)


class Concord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One teacher beside Monte-Carlo.

    Attributes:
        teacher: its identity.
        cells: the five cells above -> solutions.
        first_errors: teacher's first wrong step (from 1, `none`) -> Monte-Carlo's -> solutions.
        solutions, steps: kappa; the teacher is the first rater; groups of questions are drawn together.
        step_disagreement: share of the steps that both have labelled on which they differ; None where there are none.
    """

    teacher: str
    cells: dict[str, int]
    first_errors: dict[str, dict[str, int]]
    solutions: Agreement
    steps: Agreement
    step_disagreement: float | None


class PairCount:
    """Counts solutions that a teacher and Monte-Carlo have labelled."""

    def __init__(self, teacher: str) -> None:
        self._teacher = teacher
        self._cells: Counter[str] = Counter()
        self._errors: dict[str, Counter[str]] = {}
        self._solutions: list[Pair] = []
        self._solution_groups: list[str] = []
        self._steps: list[Pair] = []
        self._step_groups: list[str] = []

    def add(self, group: str, teacher: Labels, monte_carlo: Labels) -> None:
        """Count a solution; Monte-Carlo's labels must tell the first wrong step, or that there is none."""
        said, found = first_error(teacher), first_error(monte_carlo)
        self._cells[_cell(said, found)] += 1
        self._errors.setdefault(_place(said), Counter())[_place(found)] += 1
        self._solutions.append((_word(said is None), _word(found is None)))
        self._solution_groups.append(group)
        for one, other in zip(teacher, monte_carlo, strict=True):
            if one is not None and other is not None:
                self._steps.append((_word(one), _word(other)))
                self._step_groups.append(group)

    def result(self) -> Concord:
        differing = sum(one != other for one, other in self._steps)
        return Concord(
            teacher=self._teacher,
            cells={cell: self._cells[cell] for cell in CELLS},
            first_errors={
                said: dict(sorted(found.items(), key=lambda item: _order(item[0])))
                for said, found in sorted(self._errors.items(), key=lambda item: _order(item[0]))
            },
            solutions=cohen_kappa(self._solutions, self._solution_groups),
            steps=cohen_kappa(self._steps, self._step_groups),
            step_disagreement=differing / len(self._steps) if self._steps else None,
        )


def _cell(said: int | None, found: int | None) -> str:
    if said is None:
        return "both_clean" if found is None else "monte_carlo_only"
    if found is None:
        return "teacher_only"
    return "same_step" if said == found else "other_step"


def _place(place: int | None) -> str:
    return "none" if place is None else str(place + 1)


def _order(place: str) -> tuple[bool, int]:
    return place == "none", 0 if place == "none" else int(place)


def _word(right: bool) -> str:
    return "right" if right else "wrong"


# ----------------------------------------------------------------------------------------------------------------------


class Noise(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What Monte-Carlo's labels of some steps are worth.

    Attributes:
        steps: those of which all completions were drawn.
        without_success: of them, labelled wrong.
        missed: estimated number of right steps among these.
        share_of_wrong: missed / without_success, at most 1; None where there are none.
        share_of_right: missed / (missed + steps with a success): the chance of a right step to be labelled wrong.
        by_successes: successes -> steps.
    """

    steps: int
    without_success: int
    missed: float
    share_of_wrong: float | None
    share_of_right: float | None
    by_successes: dict[str, int]


class NoiseCount:
    """Counts steps for `Noise`."""

    def __init__(self) -> None:
        self._successes: Counter[int] = Counter()
        self._missed = 0.0

    def add(self, steps: Iterable[RolledStep]) -> None:
        """Count those whose completions were all drawn: they have a soft label."""
        for step in steps:
            if step.soft is None or not step.marked:
                continue
            self._successes[step.successes] += 1
            if step.successes:
                lost = (1 - step.successes / step.marked) ** step.marked
                self._missed += lost / (1 - lost)

    def result(self) -> Noise:
        total, none = self._successes.total(), self._successes[0]
        right = self._missed + total - none
        return Noise(
            steps=total,
            without_success=none,
            missed=self._missed,
            share_of_wrong=min(1.0, self._missed / none) if none else None,
            share_of_right=self._missed / right if right else None,
            by_successes={str(count): self._successes[count] for count in sorted(self._successes)},
        )


def padded(labels: Sequence[bool], count: int) -> Labels:
    """A critique's labels for all steps: it may have stopped at the first wrong one."""
    return (*labels, *(None,) * (count - len(labels)))
