"""Round thresholds of claims: on the side that makes a claim true or false, clear of the value, and in the picture."""

import math
from random import Random

from assay.fincharts.ask.truth import error, evaluate
from assay.fincharts.item import Ask, Chart
from assay.fincharts.numbers import roundish

__all__ = ["finest", "with_threshold"]


def finest(chart: Chart, row: int) -> float:
    """The smallest step of a threshold for that row's values: a digit of them, or what can be read off the axis."""
    held = chart.table.rows[row]
    return 10.0**-held.decimals if chart.labelled else held.tolerance


def with_threshold(claim: Ask, truth: bool, chart: Chart, rng: Random) -> Ask | None:
    """The claim with a round threshold on the side that makes it true or false; None where none reads well.

    `Rose by more than -3` is no sentence: a claim about a rise has a threshold above zero.
    """
    table = chart.table
    number = Ask(op=_MEASURED[claim.op], rows=claim.rows, columns=claim.columns)
    value, off = evaluate(number, table), error(number, table)
    if math.isinf(off):
        return None
    sign = -1 if claim.op in ("is_below", "never_above") else 1
    size = min(abs(value), _reach(claim.rows[0], chart)) if claim.op in _LEVELS else abs(value)
    away = off * rng.uniform(2.4, 5.0) + size * rng.uniform(0.02, 0.2)
    if claim.op in _RISES and value < 0:
        if truth or claim.op == "sum_more":
            return None
        away -= value
    step = max(off / 2, size * 0.02)
    if chart.labelled and claim.op not in _RATIOS:
        step = max(step, finest(chart, claim.rows[0]))
    threshold = roundish(value - away * sign if truth else value + away * sign, step)
    if claim.op in _RISES and threshold <= 0:
        return None
    if claim.op.startswith("times") and threshold < 1.1:  # `more than 0.4 times` is no way to compare
        return None
    if claim.op in _SUMS and table.rows[claim.rows[0]].unit == "%" and threshold >= 100:
        return None
    if claim.op in _LEVELS and not _plausible(threshold, claim.rows[0], chart):
        return None
    return Ask(op=claim.op, rows=claim.rows, columns=claim.columns, number=threshold)


_RATIOS = ("grew_more", "times_more", "times_columns_more", "share_more", "share_column_more")
_SUMS = ("sum_more", "total_more")
_LEVELS = ("is_above", "is_below", "always_above", "never_above", "mean_above")


def _ends(row: int, chart: Chart) -> tuple[float, float]:
    """Between what a row's values lie in the picture: the ends of its axis, or a little more than its own."""
    held = chart.table.rows[row]
    axis = chart.left if held.axis == "left" else chart.right
    if axis is not None and chart.kind != "k-line":  # whose volume has an axis of its own
        return axis.low, axis.high
    low, high = min(held.values), max(held.values)
    return low - 0.3 * (high - low), high + 0.3 * (high - low)


def _reach(row: int, chart: Chart) -> float:
    low, high = _ends(row, chart)
    return high - low


def _plausible(threshold: float, row: int, chart: Chart) -> bool:
    """Whether a threshold lies where values can be: in the picture, above zero for sizes, below 100 for shares."""
    values, unit = chart.table.rows[row].values, chart.table.rows[row].unit
    low, high = _ends(row, chart)
    if not low < threshold < high:
        return False
    if min(values) >= 0 and threshold <= 0:
        return False
    return unit != "%" or max(values) > 100 or threshold < 100


_RISES = (
    "grew_more",
    "rose_more",
    "gap_more",
    "excess_more",
    "times_more",
    "times_columns_more",
    "ranges_over",
    "sum_more",
)
_MEASURED = {
    "is_above": "value",
    "is_below": "value",
    "grew_more": "growth",
    "rose_more": "change",
    "gap_more": "gap",
    "excess_more": "excess",
    "times_more": "times",
    "times_columns_more": "times_columns",
    "share_column_more": "share_column",
    "sum_more": "total",
    "total_more": "total_rows",
    "share_more": "share_row",
    "mean_above": "mean_row",
    "always_above": "minimum",
    "never_above": "maximum",
    "ranges_over": "span",
}
