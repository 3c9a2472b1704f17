"""Not answering where the critic is unsure: accuracy, and a benchmark's own score, against coverage.

A sample is answered where the confidence in its chosen solution is at least a threshold; the others are abstentions, in
no accuracy. Coverage is the share that is answered, risk the share of wrong among the answered. The area under the
risk-coverage curve is the mean risk of the k most confident answers over all k; of equal confidences every order is
equally likely. A confidence that tells right from wrong keeps it below the overall risk.

Where the critic has judged the options that an answer selects, options can be left out one by one instead: those whose
score is below the threshold go, what remains is the answer, and where nothing remains there is none. The confidence in
the solution then doesn't count. Everywhere else it does, also where the critique of the options could not be read.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from assay.mark.status import credit
from assay.solve.pool import PoolRecord
from assay.solve.records import JudgedOptions, OptionCritique, Rule, Selection
from assay.solve.select import score_of
from assay.types import Outcome

__all__ = [
    "Abstention",
    "Answered",
    "Dropping",
    "OptionPoint",
    "OwnScores",
    "Point",
    "abstention",
    "confidence",
    "kept_labels",
    "options_of",
    "reduced_answers",
]

MOST_POINTS = 20

Labels = tuple[str, ...]


class Answered(NamedTuple):
    """A sample's outcome and the confidence in it; None where there is none, which is below every threshold.

    `options` is what the critic said of the answer's options, None where nobody asked. `reduced` has the outcome with
    every part of them that a threshold may leave (see `reduced_answers`).
    """

    outcome: Outcome
    confidence: float | None
    options: JudgedOptions | None = None
    reduced: Mapping[Labels, Outcome] = {}


class OwnScores(NamedTuple):
    """A benchmark's own score of some outcomes, by its published script's verdicts and by robust ones."""

    reference: float | None = None
    robust: float | None = None


Score = Callable[[Sequence[Outcome]], OwnScores]


class Point(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left with answers of at least `threshold`.

    `score` and `score_reference` are the benchmark's own over these alone, by robust and by reference verdicts.
    """

    threshold: float
    answered: int
    coverage: float
    right: int
    accuracy: float | None
    score: float | None = None
    score_reference: float | None = None


class OptionPoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One threshold with options left out one by one, and `whole`: with whole answers only, by the solution's score.

    Attributes:
        dropped: options that are left out of answers which keep others; `emptied`: answers that keep none.
        mended: answers made right by it, robust verdicts; `broken`: made wrong.
    """

    options: Point
    whole: Point
    dropped: int
    emptied: int
    mended: int
    broken: int


class Dropping(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Leaving out options. `judged`: answers whose options are; `unjudged`: asked about in vain, by cause."""

    judged: int
    unjudged: dict[str, int]
    below: OptionPoint
    curve: tuple[OptionPoint, ...]


class Abstention(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Robust verdicts of `samples`; `missing` others have none and are left out.

    Attributes:
        below: the threshold that was asked for, and what it gives.
        unjudged: samples without a confidence, abstained from at every threshold.
        area: under the risk-coverage curve, over the samples with a confidence; `overall_risk` is theirs together.
        dropping: the same with options left out one by one; None where no options were asked about.
    """

    samples: int
    missing: int
    unjudged: int
    below: Point
    area: float | None
    overall_risk: float | None
    curve: tuple[Point, ...]
    dropping: Dropping | None = None


def confidence(record: PoolRecord, chosen: Selection, rule: Rule) -> float | None:
    """How sure a selection is: its solution's score; for self-consistency the share of its votes."""
    if chosen.chosen is None:
        return None
    if chosen.strategy == "self-consistency":
        return chosen.score
    return score_of(record.pool[chosen.chosen], rule)


def options_of(record: PoolRecord, chosen: Selection) -> JudgedOptions | None:
    """What the critic said of a selection's options; None where it was asked about another answer, or not at all."""
    found = record.options
    if found is None or chosen.chosen is None:
        return None
    return found if record.pool[chosen.chosen].solution.answer == ",".join(found.labels) else None


def kept_labels(critique: OptionCritique, below: float) -> Labels:
    """The options that stay in the answer: those with a score of at least `below`."""
    return tuple(option.label for option in critique.options if option.score >= below)


def reduced_answers(options: JudgedOptions | None) -> tuple[Labels, ...]:
    """Every part of an answer's options that some threshold leaves, but for all of them and none."""
    if options is None or not isinstance(options.said, OptionCritique):
        return ()
    critique = options.said
    parts = {kept_labels(critique, math.nextafter(option.score, 2.0)) for option in critique.options}
    return tuple(sorted(part for part in parts if part and part != options.labels))


def abstention(rows: Iterable[Answered], below: float, *, score: Score = lambda _outcomes: OwnScores()) -> Abstention:
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
        area=_area([(row.confidence or 0.0, _right(row.outcome)) for row in known]),
        overall_risk=1 - sum(_right(row.outcome) for row in known) / len(known) if known else None,
        curve=tuple(_point(marked, threshold, score) for threshold in thresholds),
        dropping=_dropping(marked, below, score),
    )


def _dropping(rows: Sequence[Answered], below: float, score: Score) -> Dropping | None:
    asked = [row.options.said for row in rows if row.options is not None]
    if not asked:
        return None
    critiques = [said for said in asked if isinstance(said, OptionCritique)]
    scores = {option.score for critique in critiques for option in critique.options}
    scores |= {row.confidence for row in rows if row.confidence is not None}
    return Dropping(
        judged=len(critiques),
        unjudged=dict(Counter(said.kind for said in asked if not isinstance(said, OptionCritique))),
        below=_option_point(rows, below, score),
        curve=tuple(_option_point(rows, threshold, score) for threshold in _spread(sorted(scores))),
    )


def _option_point(rows: Sequence[Answered], threshold: float, score: Score) -> OptionPoint:
    left: list[Outcome] = []
    dropped = emptied = mended = broken = 0
    for row in rows:
        if row.options is None or not isinstance(row.options.said, OptionCritique):
            left += [row.outcome] if _is_sure(row, threshold) else []
            continue
        kept = kept_labels(row.options.said, threshold)
        if not kept:
            emptied += 1
            continue
        # An answer that keeps all of its options stays as it was written, and as it was marked.
        outcome = row.outcome if kept == row.options.labels else row.reduced[kept]
        dropped += len(row.options.labels) - len(kept)
        mended += _right(outcome) and not _right(row.outcome)
        broken += _right(row.outcome) and not _right(outcome)
        left.append(outcome)
    return OptionPoint(
        options=_point_of(left, len(rows), threshold, score),
        whole=_point(rows, threshold, score),
        dropped=dropped,
        emptied=emptied,
        mended=mended,
        broken=broken,
    )


def _point(rows: Sequence[Answered], threshold: float, score: Score) -> Point:
    return _point_of([row.outcome for row in rows if _is_sure(row, threshold)], len(rows), threshold, score)


def _is_sure(row: Answered, threshold: float) -> bool:
    return row.confidence is not None and row.confidence >= threshold


def _point_of(left: Sequence[Outcome], of: int, threshold: float, score: Score) -> Point:
    right = sum(map(_right, left))
    own = score(left) if left else OwnScores()
    return Point(
        threshold=threshold,
        answered=len(left),
        coverage=len(left) / of if of else 0.0,
        right=right,
        accuracy=right / len(left) if left else None,
        score=own.robust,
        score_reference=own.reference,
    )


def _right(outcome: Outcome) -> bool:
    return credit(outcome, "robust") is True


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
