"""How far two raters agree on labels: Cohen's kappa, and what a reader needs beside it.

    kappa = (p_o - p_e) / (1 - p_e)        p_o: share of items with the same label from both
                                           p_e = sum over labels of a_k b_k, the shares with which each rater uses k

(J. Cohen, 1960). Kappa is low where one label prevails, however well the raters agree, so raw agreement, the shares of
the labels and Gwet's AC1 (K. Gwet, 2008; K labels, m_k the mean of a_k and b_k) stand beside it:

    AC1 = (p_o - g) / (1 - g),  g = sum of m_k (1 - m_k) / (K - 1)

Where both raters give every item one and the same label, p_e = 1 and kappa is 0 / 0: `undefined`, neither 0 nor 1.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from assay.mark.intervals import CONFIDENCE, MIN_GROUPS, resample_sums
from assay.mark.status import natural_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Agreement", "Pair", "cohen_kappa"]

Pair = tuple[str | None, str | None]
"""The labels of one item; None where a rater gave none."""

_MOSTLY = 0.9  # share of bootstrap draws in which kappa must be defined for an interval of it


class Agreement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Kappa and what it must be read with.

    Attributes:
        status: `ok`; `undefined`: both raters use one and the same label alone; `empty`: no item has both labels.
        kappa: None unless `status` is ok.
        low, high: its 95 % interval, bootstrap over groups; None with fewer than 10 groups, or where many draws leave
            kappa undefined.
        observed, expected: p_o and p_e.
        ac1: Gwet's coefficient.
        n: items that both have labelled; `left_out` those that only one has, or none.
        groups: clusters of items; what the bootstrap draws.
        labels: those in use; `confusion[a][b]` items that the first labels a and the second b; `shares` the share of
            each label with the first and the second.
    """

    status: Literal["ok", "undefined", "empty"]
    kappa: float | None
    low: float | None
    high: float | None
    observed: float | None
    expected: float | None
    ac1: float | None
    n: int
    left_out: int
    groups: int
    labels: tuple[str, ...]
    confusion: dict[str, dict[str, int]]
    shares: dict[str, tuple[float, float]]


def cohen_kappa(
    pairs: Sequence[Pair], groups: Sequence[str | int] | None = None, *, resamples: int = 2000, seed: int = 0
) -> Agreement:
    """Agreement of two raters; a missing label is no label of its own.

    Args:
        pairs: both labels of every item.
        groups: items of one group are drawn together; every item by itself where it is None.
        resamples, seed: of the bootstrap.

    Raises:
        ValueError: another number of groups than of pairs.
    """
    import numpy as np

    names = range(len(pairs)) if groups is None else groups
    items = [(a, b, group) for (a, b), group in zip(pairs, names, strict=True) if a is not None and b is not None]
    labels = tuple(sorted({label for a, b, _ in items for label in (a, b)}, key=natural_key))
    place = {label: at for at, label in enumerate(labels)}
    row = {group: at for at, group in enumerate(dict.fromkeys(group for _, _, group in items))}
    tables = np.zeros((len(row), len(labels), len(labels)), dtype=np.int64)
    for a, b, group in items:
        tables[row[group], place[a], place[b]] += 1
    total = tables.sum(axis=0)
    observed, expected = (float(share[0]) for share in _shares(total[None]))
    defined = expected < 1  # of no items it is NaN
    low, high = _interval(tables, resamples, seed) if defined else (None, None)
    return Agreement(
        status="ok" if defined else "undefined" if items else "empty",
        kappa=(observed - expected) / (1 - expected) if defined else None,
        low=low,
        high=high,
        observed=observed if items else None,
        expected=expected if items else None,
        ac1=_ac1(total),
        n=len(items),
        left_out=len(pairs) - len(items),
        groups=len(row),
        labels=labels,
        confusion={a: {b: int(total[i, j]) for j, b in enumerate(labels)} for i, a in enumerate(labels)},
        shares={
            label: (float(total[i].sum()) / len(items), float(total[:, i].sum()) / len(items))
            for i, label in enumerate(labels)
        },
    )


def _shares(tables: "NDArray[np.int64]") -> "tuple[Floats, Floats]":
    """p_o and p_e of every table (first axis); NaN for a table without items.

    Counts are multiplied as integers, so that p_e is exactly 1 where it is 1.
    """
    import numpy as np

    n = tables.sum(axis=(1, 2))
    same = np.trace(tables, axis1=1, axis2=2)
    by_chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return same / n, by_chance / (n * n)


def _interval(tables: "NDArray[np.int64]", resamples: int, seed: int) -> tuple[float | None, float | None]:
    import numpy as np

    groups, size, _ = tables.shape
    if groups < MIN_GROUPS:
        return None, None
    sums = resample_sums(tables.reshape(groups, -1), resamples=resamples, seed=seed).reshape(-1, size, size)
    observed, expected = _shares(sums)
    kept = expected < 1
    if kept.mean() < _MOSTLY:
        return None, None
    draws = (observed[kept] - expected[kept]) / (1 - expected[kept])
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _ac1(total: "NDArray[np.int64]") -> float | None:
    """AC1; 1 where there is but one label, on which both agree everywhere; None without items."""
    n, size = int(total.sum()), len(total)
    if n == 0:
        return None
    if size == 1:
        return 1.0
    means = (total.sum(axis=0) + total.sum(axis=1)) / (2 * n)
    chance = float((means * (1 - means)).sum()) / (size - 1)
    return (float(total.trace()) / n - chance) / (1 - chance)
