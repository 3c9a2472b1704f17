"""What a critic said of one labelled solution, and how that is read: the one record of `assay prm eval`."""

import math
from collections.abc import Sequence

from msgspec import Struct

from assay.mark.steps import JudgedSolution, first_wrong
from assay.solve.records import Critique, Unjudged
from assay.train.records import LabelledSolution

__all__ = ["CritiqueRecord", "checked", "judged", "record_of"]


class CritiqueRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A labelled solution and what the critic said of it, or why it said nothing.

    Attributes:
        sample_id: the solution's id.
        source, group, labels, first_error: the solution's.
        whole: the critic gives one verdict on the whole solution and none on its steps (an outcome critic).
        said: `Unjudged` is no verdict, whatever the cause.
    """

    sample_id: str
    source: str
    group: str
    labels: tuple[bool | None, ...]
    first_error: int | None
    whole: bool = False
    said: Critique | Unjudged

    @property
    def stopped(self) -> bool:
        """Whether the critic stopped at the first error that it found: later steps have no verdict."""
        return isinstance(self.said, Critique) and not self.whole and len(self.said.steps) < len(self.labels)


def record_of(solution: LabelledSolution, said: Critique | Unjudged, *, whole: bool = False) -> CritiqueRecord:
    """The record of a solution."""
    return CritiqueRecord(
        sample_id=solution.id,
        source=solution.source,
        group=solution.group,
        labels=solution.labels,
        first_error=solution.first_error,
        whole=whole,
        said=said,
    )


def checked(said: Critique | Unjudged, steps: int, *, whole: bool = False) -> Critique | Unjudged:
    """What a critic said, if it is about these steps and its scores are probabilities: NaN is no score.

    Critics in this package say nothing else; one of somebody's own may.
    """
    if isinstance(said, Unjudged):
        return said
    problem = ""
    if len(said.steps) > (1 if whole else steps):
        problem = f"{len(said.steps)} verdicts on {steps} steps"
    elif not said.steps:
        problem = "no verdict"
    elif not whole and len(said.steps) < steps and said.steps[-1].correct:
        problem = f"{len(said.steps)} verdicts on {steps} steps, and the last one finds no error"
    for number, step in enumerate(said.steps, start=1):
        if not (math.isfinite(step.score) and 0 <= step.score <= 1):
            problem = problem or f"step {number}: a score of {step.score} is no probability"
    if problem:
        return Unjudged(kind="unparsable", reason=problem, usage=said.usage, calls=said.calls)
    return said


def judged(tested: CritiqueRecord) -> JudgedSolution:
    """The solution as the metrics of steps take it, with the verdicts that the critic wrote.

    A critic that stopped at the first error said nothing of the steps after it. A verdict on a whole solution is none
    on any step.
    """
    count = len(tested.labels)
    if isinstance(tested.said, Unjudged) or tested.whole:
        return _judged(tested, None, None)
    missing = [None] * (count - len(tested.said.steps))
    verdicts = [*(step.correct for step in tested.said.steps), *missing]
    return _judged(tested, verdicts, [*(step.score for step in tested.said.steps), *missing])


def _judged(
    tested: CritiqueRecord, verdicts: Sequence[bool | None] | None, scores: Sequence[float | None] | None
) -> JudgedSolution:
    return JudgedSolution(
        source=tested.source,
        group=tested.group,
        labels=tested.labels,
        first_error=tested.first_error,
        verdicts=None if verdicts is None else tuple(verdicts),
        scores=None if scores is None else tuple(scores),
        predicted_first_error=-1 if verdicts is None else first_wrong(verdicts),
    )
