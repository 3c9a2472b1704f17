"""Whether right things get higher scores than wrong ones, at no threshold.

    AUC = P(score of a right one > score of a wrong one) + 1/2 P(both are equal)

over all pairs of a right and a wrong one (the area under the ROC curve; Mann and Whitney, 1947). 0.5 is a coin.

The interval draws groups again; None with fewer than `MIN_GROUPS` groups that hold a right one, or a wrong one.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from assay.mark.intervals import MIN_GROUPS
from assay.mark.steps import Estimate, JudgedSolution, cluster_estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Scored", "auc", "step_auc"]

Scored = tuple[float, bool, str]
"""A score, whether the thing is right, and its group."""

_CELLS_AT_ONCE = 4_000_000  # bounds the memory of resampling to some 100 MB


def step_auc(solutions: Iterable[JudgedSolution], *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """AUC of the scores of labelled steps, all solutions together; steps without a score are left out."""
    items: list[Scored] = []
    for solution in solutions:
        for score, label in zip(solution.scores or (), solution.labels, strict=False):
            if score is not None and label is not None:
                items.append((score, label, solution.group))
    return auc(items, resamples=resamples, seed=seed)


def auc(items: Sequence[Scored], *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """AUC with the percentile interval of a bootstrap over groups; None where right or wrong ones are missing."""
    import numpy as np

    groups: dict[str, list[tuple[float, bool]]] = {}
    for score, right, group in items:
        groups.setdefault(group, []).append((score, right))
    # Sorted by what they hold, so that draws don't depend on names or order.
    held = sorted(sorted(pairs) for pairs in groups.values())
    scores = np.array([score for pairs in held for score, _ in pairs], dtype=np.float64)
    right = np.array([label for pairs in held for _, label in pairs], dtype=np.int64)
    group = np.repeat(np.arange(len(held)), [len(pairs) for pairs in held])
    if not 0 < right.sum() < len(right):
        return Estimate(value=None, low=None, high=None, method=None, n=len(items))
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(scores[order]) > 0])  # where a new score begins
    right, group = right[order], group[order]
    value = float(_auc(np.ones((1, len(right)), dtype=np.int64), right, starts)[0])
    sides = tuple(np.bincount(group, weights=label, minlength=len(held)) > 0 for label in (right, 1 - right))
    if min(int(side.sum()) for side in sides) < MIN_GROUPS:
        return Estimate(value=value, low=None, high=None, method=None, n=len(items))
    random = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // len(right))
    draws: list[Floats] = []
    for start in range(0, resamples, at_once):
        drawn = random.multinomial(len(held), np.full(len(held), 1 / len(held)), size=min(at_once, resamples - start))
        draws.append(_auc(drawn[:, group], right, starts))
    return cluster_estimate(value, np.concatenate(draws), n=len(items), sides=(sides[0], sides[1]))


def _auc(weights: "Integers", right: "Integers", starts: "Integers") -> "Floats":
    """AUC for every row of weights; the items stand in ascending order, equal ones together from each of `starts`."""
    import numpy as np

    of_right = np.add.reduceat(weights * right, starts, axis=1)
    of_wrong = np.add.reduceat(weights * (1 - right), starts, axis=1)
    below = np.cumsum(of_wrong, axis=1) - of_wrong
    twice = (of_right * (2 * below + of_wrong)).sum(axis=1)
    pairs = of_right.sum(axis=1) * of_wrong.sum(axis=1)
    return np.where(pairs > 0, twice / np.maximum(2 * pairs, 1), np.nan)
