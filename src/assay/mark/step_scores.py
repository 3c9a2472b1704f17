"""What the scores of steps are worth: macro F1 over thresholds, and calibration.

A step is judged right where its score, the probability that it is right, is *above* the threshold.

    expected calibration error = sum over bins of n_b / n * |mean score_b - share right_b|

Binned, it is biased upwards: noise in a bin adds, and never cancels. A percentile interval would carry the bias twice,
so its interval is the basic bootstrap's, 2 value - quantile, which takes it off; it may lie below the value.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.mark.intervals import CONFIDENCE, MIN_GROUPS, accuracy_interval, resample_sums
from assay.mark.status import OnMissing
from assay.mark.steps import Estimate, JudgedSolution, StepScores, group_sums, judge_at, step_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


__all__ = [
    "THRESHOLDS",
    "Calibration",
    "ReliabilityBin",
    "ThresholdCurve",
    "ThresholdPoint",
    "best_threshold",
    "calibration",
    "threshold_curve",
    "threshold_points",
]

THRESHOLDS = tuple(place / 100 for place in range(100))
"""0.00, 0.01, ... 0.99: at 1 no step is right."""
_UNIT = 10**9  # scores are summed as integers of this resolution, so that no sum depends on its order


class ThresholdPoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores at one threshold; None where a class is empty."""

    threshold: float
    f1_right: float | None
    f1_wrong: float | None
    macro: float | None


class ThresholdCurve(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Macro F1 over thresholds, and at the one that was chosen.

    Attributes:
        points: over the solutions tested.
        chosen: the threshold with the best macro F1 on the data it was chosen on; of equals the one nearest to 0.5,
            then the lower. None where no threshold has a macro F1 there.
        chosen_on: name of that data; `chosen_on_macro` its macro F1 there.
        shared_groups: groups in both data; unless 0, the score at the chosen threshold is too good.
        at_chosen: scores of the solutions tested at that threshold.
        n: labelled steps with a score; `unscored` labelled steps without one.
    """

    on_missing: OnMissing
    points: tuple[ThresholdPoint, ...]
    chosen: float | None
    chosen_on: str
    chosen_on_macro: float | None
    shared_groups: int
    at_chosen: StepScores | None
    n: int
    unscored: int
    confidence: float
    resamples: int
    seed: int


class ReliabilityBin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Steps with a score from `low` up to `high`, without it but for the last bin. None where there are none."""

    low: float
    high: float
    n: int
    mean_score: float | None
    right: Estimate


class Calibration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether scores are the shares of right steps that they say.

    `error` is the expected calibration error; `n` labelled steps with a score, `unscored` those without one: they have
    no probability that could be right or wrong, so they are left out.
    """

    error: Estimate
    bins: tuple[ReliabilityBin, ...]
    n: int
    unscored: int
    groups: int
    confidence: float
    resamples: int
    seed: int


def threshold_curve(
    solutions: Iterable[JudgedSolution],
    *,
    choose: Iterable[JudgedSolution],
    chosen_on: str,
    on_missing: OnMissing,
    thresholds: Sequence[float] = THRESHOLDS,
    resamples: int = 2000,
    seed: int = 0,
) -> ThresholdCurve:
    """The curve over `solutions`, with the threshold that is best on `choose`, data called `chosen_on`.

    Raises:
        ValueError: no thresholds.
    """
    if not thresholds:
        raise ValueError("no thresholds")
    tested, tuning = list(solutions), list(choose)
    ordered = sorted(set(thresholds))
    best = best_threshold(tuning, on_missing=on_missing, thresholds=ordered)
    labelled, scored = _labelled(tested)
    at_chosen = None
    if best is not None:
        judged = [judge_at(solution, best.threshold) for solution in tested]
        at_chosen = step_scores(judged, on_missing, resamples, seed)
    return ThresholdCurve(
        on_missing=on_missing,
        points=threshold_points(tested, ordered, on_missing),
        chosen=best and best.threshold,
        chosen_on=chosen_on,
        chosen_on_macro=best and best.macro,
        shared_groups=len({solution.group for solution in tested} & {solution.group for solution in tuning}),
        at_chosen=at_chosen,
        n=scored,
        unscored=labelled - scored,
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
    )


def best_threshold(
    solutions: Iterable[JudgedSolution], *, on_missing: OnMissing, thresholds: Sequence[float] = THRESHOLDS
) -> ThresholdPoint | None:
    """The threshold with the best macro F1; of equals the one nearest to 0.5, then the lower. None where none has one.

    Chosen on the solutions that are then scored at it, it is an upper bound of what a threshold can do.
    """
    best: ThresholdPoint | None = None
    best_key = (0.0, 0.0)
    for point in threshold_points(list(solutions), sorted(set(thresholds)), on_missing):
        if point.macro is not None:
            key = (point.macro, -abs(point.threshold - 0.5))
            if best is None or key > best_key:
                best, best_key = point, key
    return best


def calibration(
    solutions: Iterable[JudgedSolution], *, bins: int = 10, resamples: int = 2000, seed: int = 0
) -> Calibration:
    """Reliability by bins of equal width, and the expected calibration error.

    Raises:
        ValueError: fewer than one bin.
    """
    import numpy as np

    if bins < 1:
        raise ValueError(f"{bins} bins")
    kept = list(solutions)
    edges = np.arange(bins + 1) / bins
    table = _binned(kept, edges)
    counts, right, sums = (table[:, start : start + bins] for start in range(0, 3 * bins, bins))
    labelled, scored = _labelled(kept)
    return Calibration(
        error=_calibration_error(table, resamples, seed),
        bins=tuple(
            ReliabilityBin(
                low=float(edges[place]),
                high=float(edges[place + 1]),
                n=int(counts[:, place].sum()),
                mean_score=int(sums[:, place].sum()) / _UNIT / int(counts[:, place].sum())
                if counts[:, place].any()
                else None,
                right=_share(right[:, place], counts[:, place], resamples, seed),
            )
            for place in range(bins)
        ),
        n=scored,
        unscored=labelled - scored,
        groups=len(table),
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
    )


def _binned(solutions: Sequence[JudgedSolution], edges: "Floats") -> "Integers":
    """For every group: the number of steps in each bin, of right ones in each, and the sums of their scores."""
    import numpy as np

    bins = len(edges) - 1
    groups: list[str] = []
    rows: list[list[int]] = []
    for solution in solutions:
        pairs = _scored_steps(solution)
        if not pairs:
            continue
        # By comparison with the edges: score * bins may fall short of a whole number.
        places = np.searchsorted(edges, [score for score, _ in pairs], side="right") - 1
        row = [0] * (3 * bins)
        for place, (score, label) in zip(np.minimum(places, bins - 1), pairs, strict=True):
            row[place] += 1
            row[bins + place] += label
            row[2 * bins + place] += round(score * _UNIT)
        groups.append(solution.group)
        rows.append(row)
    return group_sums(groups, rows, 3 * bins)


def _calibration_error(table: "Integers", resamples: int, seed: int) -> Estimate:
    import numpy as np

    def error(sums: "Integers") -> "Floats":
        counts, right, scores = np.split(sums, 3, axis=-1)
        # n_b / n * |mean - share| = |sum of scores - number right| / n
        return np.abs(scores / _UNIT - right).sum(axis=-1) / counts.sum(axis=-1)

    if not len(table):
        return Estimate(value=None, low=None, high=None, method=None, n=0)
    value = float(error(table.sum(axis=0)))
    n = int(np.split(table, 3, axis=1)[0].sum())
    if len(table) < MIN_GROUPS:
        return Estimate(value=value, low=None, high=None, method=None, n=n)
    draws = error(resample_sums(table, resamples=resamples, seed=seed))
    high, low = (2 * value - float(q) for q in np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    low, high = max(0.0, low), min(1.0, max(0.0, high))
    return Estimate(value=value, low=low, high=high, method="basic bootstrap over groups", n=n)


def _share(right: "Integers", of: "Integers", resamples: int, seed: int) -> Estimate:
    n = int(of.sum())
    interval = accuracy_interval(right, of, resamples=resamples, seed=seed)
    if interval is None:
        return Estimate(value=None, low=None, high=None, method=None, n=0)
    return Estimate(value=int(right.sum()) / n, low=interval.low, high=interval.high, method=interval.method, n=n)


def _scored_steps(solution: JudgedSolution) -> list[tuple[float, bool]]:
    if solution.scores is None:
        return []
    pairs = zip(solution.scores, solution.labels, strict=True)
    return [(score, label) for score, label in pairs if score is not None and label is not None]


def _labelled(solutions: Sequence[JudgedSolution]) -> tuple[int, int]:
    """Steps with a label, and those of them with a score."""
    labelled = sum(label is not None for solution in solutions for label in solution.labels)
    return labelled, sum(len(_scored_steps(solution)) for solution in solutions)


def threshold_points(
    solutions: Sequence[JudgedSolution], thresholds: Sequence[float], on_missing: OnMissing
) -> tuple[ThresholdPoint, ...]:
    """Both F1 and their mean at every threshold, in the order given."""
    import numpy as np

    pairs = [pair for solution in solutions for pair in _scored_steps(solution)]
    of_right = np.sort([score for score, label in pairs if label])
    of_wrong = np.sort([score for score, label in pairs if not label])
    right, wrong = len(of_right), len(of_wrong)
    if on_missing == "wrong":  # unscored steps are labelled and not found
        right = sum(label is True for solution in solutions for label in solution.labels)
        wrong = sum(label is False for solution in solutions for label in solution.labels)
    points: list[ThresholdPoint] = []
    for threshold in thresholds:
        below_right = int(np.searchsorted(of_right, threshold, side="right"))
        below_wrong = int(np.searchsorted(of_wrong, threshold, side="right"))
        above_right, above_wrong = len(of_right) - below_right, len(of_wrong) - below_wrong
        # 2 found / (labelled + claimed)
        f1_right = 2 * above_right / (right + above_right + above_wrong) if right else None
        f1_wrong = 2 * below_wrong / (wrong + below_right + below_wrong) if wrong else None
        macro = None if f1_right is None or f1_wrong is None else (f1_right + f1_wrong) / 2
        points.append(ThresholdPoint(threshold=threshold, f1_right=f1_right, f1_wrong=f1_wrong, macro=macro))
    return tuple(points)
