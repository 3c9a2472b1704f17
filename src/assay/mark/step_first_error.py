"""Whether a critic finds the first wrong step of a solution.

    score = 2 e c / (e + c)      e: share of the erroneous solutions whose first wrong step is named
                                 c: share of the correct solutions that are called right throughout     ProcessBench

A solution that the critic did not say of is left out (`exclude`) or not answered right (`wrong`). Intervals of the
shares are those of an accuracy, of the harmonic mean the bootstrap's over groups.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.mark.intervals import CONFIDENCE, accuracy_interval, resample_sums
from assay.mark.status import OnMissing
from assay.mark.steps import Estimate, JudgedSolution, by_source, cluster_estimate, group_sums

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["FirstErrorScores", "FirstErrors", "HarmonicPoint", "best_harmonic", "first_error", "harmonic_curve"]

# Columns of a table of solutions.
_ERROR_HITS, _ERRORS, _CLEAN_HITS, _CLEAN = range(4)


class FirstErrorScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the first wrong step was found, solution by solution.

    Attributes:
        erroneous: share of the solutions with a wrong step whose first one was named.
        correct: share of the solutions without one that were called right throughout.
        harmonic: their harmonic mean, 0 where both are 0; None where either is undefined.
        overall: share of all that are answered exactly.
        unjudged: labelled solutions of which the critic did not say.
        unlabelled: solutions whose set does not say; in no number.
    """

    erroneous: Estimate
    correct: Estimate
    harmonic: Estimate
    overall: Estimate
    unjudged: int
    unlabelled: int
    groups: int


class FirstErrors(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`FirstErrorScores` of all solutions and by source.

    `mean_of_sources`: mean of the sources' harmonic means, as ProcessBench averages its four parts; None where one of
    them has none.
    """

    on_missing: OnMissing
    pooled: FirstErrorScores
    by_source: dict[str, FirstErrorScores]
    mean_of_sources: float | None
    confidence: float
    resamples: int
    seed: int


class HarmonicPoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The harmonic mean at one threshold of the steps' scores; None where it is undefined."""

    threshold: float
    harmonic: float | None


def first_error(
    solutions: Iterable[JudgedSolution], *, on_missing: OnMissing, resamples: int = 2000, seed: int = 0
) -> FirstErrors:
    """First-error accuracy on erroneous solutions, accuracy on correct ones, and their harmonic mean."""
    kept = list(solutions)
    parts = {name: _first_error(part, on_missing, resamples, seed) for name, part in by_source(kept).items()}
    means = [scores.harmonic.value for scores in parts.values()]
    known = [value for value in means if value is not None]
    return FirstErrors(
        on_missing=on_missing,
        pooled=_first_error(kept, on_missing, resamples, seed),
        by_source=parts,
        mean_of_sources=sum(known) / len(known) if known and len(known) == len(means) else None,
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
    )


def harmonic_curve(
    solutions: Iterable[JudgedSolution], *, thresholds: Sequence[float], on_missing: OnMissing
) -> tuple[HarmonicPoint, ...]:
    """The harmonic mean where a step is right with a score *above* the threshold, at every threshold in order.

    The first wrong step is the first one whose score is not above it; a step without a score before that hides it.
    """
    import numpy as np

    at = np.array(sorted(set(thresholds)), dtype=np.float64)
    counts = np.zeros((len(at), 4), dtype=np.int64)
    for solution in solutions:
        if solution.first_error == -1:
            continue
        hit, silent = _answers(solution, at)
        hits, of = (_CLEAN_HITS, _CLEAN) if solution.first_error is None else (_ERROR_HITS, _ERRORS)
        counts[:, hits] += hit
        counts[:, of] += ~silent if on_missing == "exclude" else 1
    values = (float(value) for value in _harmonic(counts))
    return tuple(
        HarmonicPoint(threshold=float(threshold), harmonic=value if value == value else None)
        for threshold, value in zip(at, values, strict=True)
    )


def best_harmonic(
    solutions: Iterable[JudgedSolution], *, thresholds: Sequence[float], on_missing: OnMissing
) -> HarmonicPoint | None:
    """The threshold with the best harmonic mean; of equals the one nearest to 0.5, then the lower."""
    points = harmonic_curve(solutions, thresholds=thresholds, on_missing=on_missing)
    known = [
        (point.harmonic, -abs(point.threshold - 0.5), -point.threshold, point)
        for point in points
        if point.harmonic is not None
    ]
    return max(known, key=lambda one: one[:3])[3] if known else None


def _answers(solution: JudgedSolution, at: "Floats") -> "tuple[NDArray[np.bool_], NDArray[np.bool_]]":
    """At every threshold: whether the solution is answered exactly, and whether it is not answered at all."""
    import numpy as np

    given: tuple[float | None, ...] = (None,) if solution.scores is None else solution.scores
    scores = [1.0 if score is None else score for score in given]
    missing = [score is None for score in given]
    # All of the steps before the first missing score are above a threshold below this one.
    known = scores[: missing.index(True)] if True in missing else scores
    silent = (at < min(known, default=2.0)) if True in missing else np.zeros(len(at), dtype=bool)
    if solution.first_error is None:
        return ~silent & (at < min(scores, default=2.0)), silent
    if solution.first_error >= len(known):
        return np.zeros(len(at), dtype=bool), silent
    before = min(scores[: solution.first_error], default=2.0)
    return (at >= scores[solution.first_error]) & (at < before), silent


def _first_error(
    solutions: Sequence[JudgedSolution], on_missing: OnMissing, resamples: int, seed: int
) -> FirstErrorScores:
    labelled = [solution for solution in solutions if solution.first_error != -1]
    counted = [solution for solution in labelled if on_missing == "wrong" or solution.predicted_first_error != -1]
    rows: list[tuple[int, ...]] = []
    for solution in counted:
        hit = int(solution.first_error == solution.predicted_first_error)
        rows.append((0, 0, hit, 1) if solution.first_error is None else (hit, 1, 0, 0))
    table = group_sums([solution.group for solution in counted], rows, 4)
    draws = _harmonic(resample_sums(table, resamples=resamples, seed=seed)) if len(table) else None

    def share(hits: "Integers", of: "Integers") -> Estimate:
        interval = accuracy_interval(hits, of, resamples=resamples, seed=seed)
        return Estimate(
            value=int(hits.sum()) / int(of.sum()) if of.any() else None,
            low=interval and interval.low,
            high=interval and interval.high,
            method=interval and interval.method,
            n=int(of.sum()),
        )

    hits, of = table[:, [_ERROR_HITS, _CLEAN_HITS]], table[:, [_ERRORS, _CLEAN]]
    return FirstErrorScores(
        erroneous=share(hits[:, 0], of[:, 0]),
        correct=share(hits[:, 1], of[:, 1]),
        overall=share(hits.sum(axis=1), of.sum(axis=1)),
        harmonic=cluster_estimate(
            float(_harmonic(table.sum(axis=0))),
            draws,
            n=len(counted),
            sides=(of[:, 0] > 0, of[:, 1] > 0),
        ),
        unjudged=sum(solution.predicted_first_error == -1 for solution in labelled),
        unlabelled=len(solutions) - len(labelled),
        groups=len(table),
    )


def _harmonic(counts: "Integers") -> "Floats":
    import numpy as np

    hits, of = counts[..., [_ERROR_HITS, _CLEAN_HITS]], counts[..., [_ERRORS, _CLEAN]]
    shares = np.where(of > 0, hits / np.maximum(of, 1), np.nan)
    both = shares.sum(axis=-1)
    return 2 * shares.prod(axis=-1) / np.where(both == 0, 1, both)
