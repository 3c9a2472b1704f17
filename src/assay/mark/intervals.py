"""95 % intervals for an accuracy whose samples come in groups.

Questions about one picture, or variants of one seed question, stand and fall together: treating them as
independent makes an interval up to three times too narrow. So groups are what is drawn again (percentile
bootstrap over groups), and the accuracy is the ratio of two sums over groups: right answers / answers
counted.

Drawing K groups with replacement only changes how often each distinct pair (right, counted) occurs, so one
multinomial draw over the distinct pairs stands for K draws over the groups: the same distribution, at a
cost that hardly depends on the number of samples.
"""

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["CONFIDENCE", "MIN_GROUPS", "Interval", "accuracy_interval", "resample_ratio", "resample_sums", "wilson"]

CONFIDENCE = 0.95
# With fewer groups on either side, right or not, a bootstrap has too few distinct resamples to draw from.
MIN_GROUPS = 10
_CELLS_AT_ONCE = 2_000_000  # bounds the memory of one multinomial draw to 16 MB


class Interval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A 95 % interval and the name of the method that gave it."""

    low: float
    high: float
    method: str


def wilson(share: float, n: float, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval for a share of `n` independent trials (E. B. Wilson, 1927).

        centre = (p + z^2 / 2n) / (1 + z^2 / n),  half = z / (1 + z^2 / n) * sqrt(p (1 - p) / n + z^2 / 4n^2)

    Unlike p +- z sqrt(p (1 - p) / n) it stays inside 0 .. 1, and has a width where all trials came out the
    same.

    Raises:
        ValueError: for n <= 0 or a share outside 0 .. 1.
    """
    if n <= 0 or not 0 <= share <= 1:
        raise ValueError(f"no Wilson interval for a share of {share} of {n} trials")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the bound is the share itself; rounding may leave it a hair off.
    return (0.0 if share == 0 else max(0.0, centre - half), 1.0 if share == 1 else min(1.0, centre + half))


def resample_sums(table: "Integers", *, resamples: int, seed: int) -> "Integers":
    """`resamples` bootstrap draws of the column sums of `table`, its rows (one per group) drawn with replacement.

    The order of the rows doesn't matter.
    """
    import numpy as np

    profiles, counts = np.unique(table, axis=0, return_counts=True)
    groups = len(table)
    random = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // len(profiles))
    return np.concatenate(
        [
            random.multinomial(groups, counts / groups, size=min(at_once, resamples - start)) @ profiles
            for start in range(0, resamples, at_once)
        ]
    )


def resample_ratio(numerators: "Integers", denominators: "Integers", *, resamples: int, seed: int) -> "Floats":
    """Bootstrap draws of sum(numerators) / sum(denominators); one entry per group, every denominator at least 1."""
    import numpy as np

    sums = resample_sums(np.stack([numerators, denominators], axis=1), resamples=resamples, seed=seed)
    return sums[:, 0] / sums[:, 1]


def accuracy_interval(right: "Integers", counted: "Integers", *, resamples: int, seed: int) -> Interval | None:
    """The 95 % interval of sum(right) / sum(counted); one entry per group. None where nothing is counted.

    Percentile bootstrap over groups. It needs something to draw from: with fewer than `MIN_GROUPS` groups that have a
    right answer, or fewer that have another one, Wilson's interval with the number of groups as the number of trials.
    For groups of several that is on the wide side, as if each held a single independent answer.
    """
    import numpy as np

    kept = counted > 0
    right, counted = right[kept], counted[kept]
    groups = len(counted)
    if groups == 0:
        return None
    total, total_right = int(counted.sum()), int(right.sum())
    if min(int((right > 0).sum()), int((right < counted).sum())) < MIN_GROUPS:
        low, high = wilson(total_right / total, groups)
        return Interval(low=low, high=high, method="wilson" if groups == total else "wilson over groups")
    draws = resample_ratio(right, counted, resamples=resamples, seed=seed)
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    method = "bootstrap" if groups == total else "bootstrap over groups"
    return Interval(low=float(low), high=float(high), method=method)
