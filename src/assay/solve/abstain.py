"""Not answering where the critic is unsure: accuracy, and a benchmark's own score, against coverage.

A sample is answered where the confidence in its chosen solution is at least a threshold; the others are abstentions, in
no accuracy. Coverage is the share that is answered, risk the share of wrong among the answered. The area under the
risk-coverage curve is the mean risk of the k most confident answers over all k; of equal confidences every order is
equally likely. A confidence that tells right from wrong keeps it below the overall risk.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from assay.mark.status import credit
from assay.solve.pool import PoolRecord
from assay.solve.records import Rule, Selection
from assay.solve.select import score_of
from assay.types import Outcome

__all__ = ["Abstention", "Answered", "Point", "abstention", "confidence"]

MOST_POINTS = 20


class Answered(NamedTuple):
    """A sample's outcome and the confidence in it; None where there is none, which is below every threshold."""

    outcome: Outcome
    confidence: float | None


class Point(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left with answers of at least `threshold`; `score` is the benchmark's own over these alone."""

    threshold: float
    answered: int
    coverage: float
    right: int
    accuracy: float | None
    score: float | None = None


class Abstention(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Robust verdicts of `samples`; `missing` others have none and are left out.

    Attributes:
        below: the threshold that was asked for, and what it gives.
        unjudged: samples without a confidence, abstained from at every threshold.
        area: under the risk-coverage curve, over the samples with a confidence; `overall_risk` is theirs together.
    """

    samples: int
    missing: int
    unjudged: int
    below: Point
    area: float | None
    overall_risk: float | None
    curve: tuple[Point, ...]


def confidence(record: PoolRecord, chosen: Selection, rule: Rule) -> float | None:
    """How sure a selection is: its solution's score; for self-consistency the share of its votes."""
    if chosen.chosen is None:
        return None
    if chosen.strategy == "self-consistency":
        return chosen.score
    return score_of(record.pool[chosen.chosen], rule)


def abstention(
    rows: Iterable[Answered],
    below: float,
    *,
    score: Callable[[Sequence[Outcome]], float | None] = lambda _outcomes: None,
) -> Abstention:
    """Accuracy against coverage.

    Args:
        rows: one for each sample.
        below: abstain from answers whose confidence is below this.
        score: a benchmark's own score of some outcomes, e.g. its FinScore.
    """
    given = list(rows)
    marked = [row for row in given if credit(row.outcome, "robust") is not None]
    known = [row for row in marked if row.confidence is not None]
    thresholds = _spread(sorted({row.confidence for row in known if row.confidence is not None}))
    return Abstention(
        samples=len(marked),
        missing=len(given) - len(marked),
        unjudged=len(marked) - len(known),
        below=_point(marked, below, score),
        area=_area([(row.confidence or 0.0, _right(row)) for row in known]),
        overall_risk=1 - sum(map(_right, known)) / len(known) if known else None,
        curve=tuple(_point(marked, threshold, score) for threshold in thresholds),
    )


def _point(rows: Sequence[Answered], threshold: float, score: Callable[[Sequence[Outcome]], float | None]) -> Point:
    left = [row for row in rows if row.confidence is not None and row.confidence >= threshold]
    right = sum(map(_right, left))
    return Point(
        threshold=threshold,
        answered=len(left),
        coverage=len(left) / len(rows) if rows else 0.0,
        right=right,
        accuracy=right / len(left) if left else None,
        score=score([row.outcome for row in left]) if left else None,
    )


def _right(row: Answered) -> bool:
    return credit(row.outcome, "robust") is True


def _spread(values: Sequence[float]) -> list[float]:
    """At most `MOST_POINTS` of ascending values, from the first to the last."""
    if len(values) <= MOST_POINTS:
        return list(values)
    last = len(values) - 1
    return [values[round(place * last / (MOST_POINTS - 1))] for place in range(MOST_POINTS)]


def _area(rows: Sequence[tuple[float, bool]]) -> float | None:
    """Mean over k of the expected risk of the k most confident."""
    groups: dict[float, list[bool]] = {}
    for value, right in rows:
        groups.setdefault(value, []).append(right)
    before = wrong = 0
    risks: list[float] = []
    for value in sorted(groups, reverse=True):
        rights = groups[value]
        lost = len(rights) - sum(rights)
        risks += [(wrong + lost * k / len(rights)) / (before + k) for k in range(1, len(rights) + 1)]
        before += len(rights)
        wrong += lost
    return math.fsum(risks) / len(risks) if risks else None
