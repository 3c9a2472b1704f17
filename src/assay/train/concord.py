"""How far a teacher and Monte-Carlo agree, and how much noise that says there is in the labels.

Of every solution that both have labelled, by where each finds its first wrong step:

    both_clean | same_step | other_step | teacher_only (Monte-Carlo finds none) | monte_carlo_only

with Cohen's kappa over solutions (clean or not) and over steps (right or not; those that both have labelled).

Monte-Carlo errs by chance where a right step is hard to go on from: with the success rate p all of k completions fail
with probability (1 - p)^k. How many right steps carry the label "wrong" for it is told by those that nearly do: with
f1 steps of one success and f2 of two,

    missed = (k - 1) / k * f1^2 / (2 f2)        f1 (f1 - 1) / 2 in place of the fraction where f2 = 0

(A. Chao, 1987: the unseen of a capture-recapture study). It is exact in expectation where all steps have one p, and a
lower bound where they have not. Steps after a solution's first one without a success do not count: nothing hangs on
their labels. Of wrong steps that a lucky completion made "right" it says nothing; for these there is only the share of
steps on which teacher and Monte-Carlo differ.
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
        steps: those of which all completions were drawn, up to the first of a solution that had no success.
        without_success: of them, labelled wrong: the first wrong steps.
        missed: estimated number of right steps among these, at most all.
        share_of_wrong: missed / without_success; None where there are none.
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
        self._steps: Counter[tuple[int, int]] = Counter()  # completions, successes

    def add(self, steps: Iterable[RolledStep]) -> None:
        """Count a solution's steps whose completions were all drawn: they have a soft label."""
        for step in steps:
            if step.soft is None or not step.marked:
                continue
            self._steps[step.marked, step.successes] += 1
            if not step.successes:
                return

    def result(self) -> Noise:
        by_successes: Counter[int] = Counter()
        for (_, successes), count in self._steps.items():
            by_successes[successes] += count
        total, none = by_successes.total(), by_successes[0]
        missed = min(float(none), sum(map(self._missed, {drawn for drawn, _ in self._steps})))
        right = missed + total - none
        return Noise(
            steps=total,
            without_success=none,
            missed=missed,
            share_of_wrong=missed / none if none else None,
            share_of_right=missed / right if right else None,
            by_successes={str(count): by_successes[count] for count in sorted(by_successes)},
        )

    def _missed(self, drawn: int) -> float:
        """The estimate over the steps of which so many completions were drawn."""
        one, two = self._steps[drawn, 1], self._steps[drawn, 2]
        unseen = one * one / (2 * two) if two else one * (one - 1) / 2
        return (drawn - 1) / drawn * unseen


def padded(labels: Sequence[bool], count: int) -> Labels:
    """A critique's labels for all steps: it may have stopped at the first wrong one."""
    return (*labels, *(None,) * (count - len(labels)))
