"""The paired difference of two shares, where a sample's share may lie between 0 and 1."""

from collections.abc import Sequence

from assay.mark.intervals import CONFIDENCE, MIN_GROUPS, resample_ratio, wilson
from assay.mark.significance import ratio_standard_error, t_interval
from assay.mark.stability import Difference
from assay.mark.status import group_number

__all__ = ["paired"]


def paired(rows: Sequence[tuple[float, float, str]], *, resamples: int, seed: int) -> Difference | None:
    """Mean of b - a over rows (a, b, group), with its 95 % interval over groups; None without rows.

    The interval is a percentile bootstrap over groups, and Student's t over groups where they are fewer than
    `MIN_GROUPS`; see `mark.compare`. There is no test: expectations over parts of a pool are no right and wrong
    answers to be counted.
    """
    import numpy as np

    if not rows:
        return None
    _, index = np.unique(np.array([group_number(group) for _, _, group in rows], dtype=np.uint64), return_inverse=True)
    differences = np.bincount(index, weights=[b - a for a, b, _ in rows])
    counted = np.bincount(index)
    difference = float(differences.sum()) / len(rows)
    if not differences.any():
        # Every resample gives 0: bound the share of groups that differ at all instead.
        high = wilson(0.0, len(counted))[1]
        low, method = -high, "wilson, no group differs"
    elif len(counted) < MIN_GROUPS:
        low, high = t_interval(difference, ratio_standard_error(differences, counted), len(counted))
        method = "t over groups"
    else:
        draws = resample_ratio(differences, counted, resamples=resamples, seed=seed)
        low, high = (float(bound) for bound in np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
        method = "bootstrap over groups"
    return Difference(
        pairs=len(rows),
        difference=difference,
        low=low,
        high=high,
        method=method,
        gained=sum(b > a for a, b, _ in rows),
        lost=sum(b < a for a, b, _ in rows),
        p=None,
        p_method=None,
    )
