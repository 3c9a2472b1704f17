"""The tests behind a comparison, on plain numbers."""

import math
from collections.abc import Sequence
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "benjamini_hochberg",
    "chi_square_p",
    "mcnemar",
    "minimum_detectable_effect",
    "ratio_standard_error",
    "sign_flip_p",
    "t_interval",
]

# Student's t, 97.5 % quantile for 1 .. MIN_GROUPS - 2 degrees of freedom.
_T_QUANTILES = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004)
_EXACT_DISCORDANT = 5_000  # up to here McNemar's sum is done in whole numbers


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p-value of McNemar's test: with k = min(gained, lost) and n = gained + lost,

        p = min(1, 2 * sum_{i <= k} C(n, i) / 2^n)

    In whole numbers up to n = 5,000; above, the same sum from its largest term down, right to nine digits.
    """
    n, k = gained + lost, min(gained, lost)
    if n == 0:
        return 1.0
    if n <= _EXACT_DISCORDANT:
        term = total = 1
        for i in range(k):
            term = term * (n - i) // (i + 1)
            total += term
        return min(1.0, 2 * total / 2**n)
    log_term = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
    ratio, total = 1.0, 0.0
    for i in range(k, -1, -1):
        total += ratio
        ratio *= i / (n - i + 1)
        if ratio < total * 1e-17:
            break
    return min(1.0, 2 * math.exp(log_term) * total)


def minimum_detectable_effect(standard_error: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided test at `alpha` finds with probability `power`:

    (z_{1 - alpha / 2} + z_{power}) * standard error, i.e. 2.80 standard errors at the usual 5 % and 80 %.
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * standard_error


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number, in the order given (Benjamini and Hochberg, 1995).

    Calling every difference real whose adjusted p is at most q keeps the expected share of false ones at or
    below q. With m values in ascending order, adjusted p_(i) = min over j >= i of p_(j) * m / j.
    """
    count = len(p_values)
    ascending = sorted(range(count), key=p_values.__getitem__)
    adjusted = [1.0] * count
    lowest = 1.0
    for place in range(count, 0, -1):
        index = ascending[place - 1]
        lowest = min(lowest, p_values[index] * count / place)
        adjusted[index] = lowest
    return adjusted


def chi_square_p(statistic: float, freedom: int) -> float:
    """P(X >= statistic) for X of the chi-square distribution with `freedom` >= 1 degrees; with h = statistic / 2

    even:  e^-h * sum_{i < freedom / 2} h^i / i!
    odd:   erfc(sqrt h) + e^-h * sum_{1 <= i <= (freedom - 1) / 2} h^(i - 1/2) / gamma(i + 1/2)
    """
    half = statistic / 2
    if half <= 0:
        return 1.0
    start = 0.0 if freedom % 2 == 0 else 0.5
    powers = [start + step for step in range(freedom // 2)]
    terms = sum(math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers)
    return min(1.0, terms if freedom % 2 == 0 else math.erfc(math.sqrt(half)) + terms)


def ratio_standard_error(differences: "NDArray[np.int64]", counted: "NDArray[np.int64]") -> float | None:
    """Of a ratio of two sums over K groups: sqrt(K / (K - 1) * sum (d_k - ratio n_k)^2) / sum n_k."""
    groups, pairs = len(counted), int(counted.sum())
    if groups < 2:
        return None
    residuals = differences - differences.sum() / pairs * counted
    return math.sqrt(groups / (groups - 1) * float((residuals**2).sum())) / pairs


def t_interval(difference: float, error: float | None, groups: int) -> tuple[float, float]:
    """95 % interval of a difference of two accuracies over fewer than `MIN_GROUPS` groups, by Student's t."""
    if error is None:  # one group says nothing about how groups vary
        return -1.0, 1.0
    half = _T_QUANTILES[groups - 2] * error
    return max(-1.0, difference - half), min(1.0, difference + half)


def sign_flip_p(differences: "NDArray[np.int64]") -> float:
    """Exact randomisation test for a handful of groups: under no difference, a and b may be swapped within each."""
    values = [int(value) for value in differences]
    observed = abs(sum(values))
    flips = list(product((1, -1), repeat=len(values)))
    extreme = sum(
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True))) >= observed for signs in flips
    )
    return extreme / len(flips)
