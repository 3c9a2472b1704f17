"""What an ask means: its value on a table, how far a reader may be off, and how clear-cut it is.

Three kinds of ask:

    numbers    value, change, growth, ...: a number; `error` is how far it is off when every value that it takes is read
               with that row's tolerance
    picks      argmax_column, rank_row, ...: the position of a column or row
    claims     is_above, peaks_at, ...: true or false; `clearance` is how many times the reading error lies between the
               claim and its opposite
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from assay.fincharts.item import Ask, Row, Table

__all__ = ["CLAIMS", "NUMBERS", "PICKS", "clearance", "combine", "error", "evaluate", "operands", "ranking"]

Values = Sequence[float]


def _growth(new: float, old: float) -> float:
    return (new / old - 1) * 100


# What each number is, of the values that it is worked out from, in the order of `operands`.
NUMBERS: dict[str, Callable[[Values, int], float]] = {
    "value": lambda v, _: v[0],
    "change": lambda v, _: v[1] - v[0],
    "growth": lambda v, _: _growth(v[1], v[0]),
    "cagr": lambda v, steps: ((v[1] / v[0]) ** (1 / steps) - 1) * 100,
    "total": lambda v, _: math.fsum(v),
    "mean": lambda v, _: math.fsum(v) / len(v),
    "gap": lambda v, _: v[0] - v[1],
    "excess": lambda v, _: v[0] - v[1],
    "times": lambda v, _: v[0] / v[1],
    "times_columns": lambda v, _: v[0] / v[1],
    "total_rows": lambda v, _: math.fsum(v),
    "share_row": lambda v, _: v[0] / math.fsum(v[1:]) * 100,
    "share_column": lambda v, _: v[0] / math.fsum(v[1:]) * 100,
    "maximum": lambda v, _: max(v),
    "minimum": lambda v, _: min(v),
    "span": lambda v, _: max(v) - min(v),
    "mean_row": lambda v, _: math.fsum(v) / len(v),
    "count_above": lambda v, _: float(sum(value > v[0] for value in v[1:])),
    "count_below": lambda v, _: float(sum(value < v[0] for value in v[1:])),
    "count_wins": lambda v, _: float(sum(a > b for a, b in zip(v[::2], v[1::2], strict=True))),
    "count_candles": lambda v, _: float(sum(a > b for a, b in zip(v[::2], v[1::2], strict=True))),
    "count_rises": lambda v, _: float(sum(b > a for a, b in pairwise(v))),
    "count_rows": lambda v, _: float(len(v)),
    "count_columns": lambda v, _: float(len(v)),
}
COUNTS = ("count_above", "count_below", "count_wins", "count_candles", "count_rises", "count_rows", "count_columns")
PICKS = (
    "argmax_column",
    "argmin_column",
    "argmax_row",
    "argmin_row",
    "rank_row",
    "rank_column",
    "argmax_rise",
    "argmax_fall",
    "argmax_mean_row",
    "argmax_gain_row",
    "widest_gap",
)

_FLAT = 0.08
"""Share of the reading error of a price below which the body of a candle looks flat."""

# A claim about a number: the number, and the sign of number - threshold where the claim holds (0: it is about as said).
_NUMBER_CLAIMS: dict[str, tuple[str, int]] = {
    "is_about": ("value", 0),
    "is_above": ("value", 1),
    "is_below": ("value", -1),
    "grew_more": ("growth", 1),
    "rose_more": ("change", 1),
    "gap_more": ("gap", 1),
    "excess_more": ("excess", 1),
    "times_more": ("times", 1),
    "times_columns_more": ("times_columns", 1),
    "share_column_more": ("share_column", 1),
    "sum_more": ("total", 1),
    "total_more": ("total_rows", 1),
    "share_more": ("share_row", 1),
    "mean_above": ("mean_row", 1),
    "always_above": ("minimum", 1),
    "never_above": ("maximum", -1),
    "ranges_over": ("span", 1),
    "row_above": ("gap", 1),
    "column_above": ("excess", 1),
    "ends_higher": ("change", 1),
    "ends_lower": ("change", -1),
    "shows_rows": ("count_rows", 0),
    "shows_columns": ("count_columns", 0),
}
# A claim that one column or row comes first: the pick, and where the claim names the one it means.
_PICK_CLAIMS = {
    "peaks_at": ("argmax_column", "columns"),
    "bottoms_at": ("argmin_column", "columns"),
    "row_leads": ("argmax_row", "rows"),
    "leads_on_average": ("argmax_mean_row", "rows"),
    "gains_most": ("argmax_gain_row", "rows"),
}
CLAIMS = (*_NUMBER_CLAIMS, *_PICK_CLAIMS, "wins_throughout")


def cells(ask: Ask, table: Table) -> list[tuple[int, int]]:
    """The cells that a number is worked out from, in order."""
    every = range(len(table.columns))
    rows, columns = ask.rows, ask.columns
    match ask.op:
        case "value" | "change" | "growth" | "cagr" | "total" | "mean" | "excess" | "times_columns":
            return [(rows[0], column) for column in columns]
        case "gap" | "times" | "total_rows":
            return [(row, columns[0]) for row in rows]
        case "share_row":
            return [(rows[0], columns[0])] + [(row, columns[0]) for row in range(len(table.rows))]
        case "share_column":
            return [(rows[0], columns[0])] + [(rows[0], column) for column in every]
        case "count_wins" | "count_candles":
            return [(row, column) for column in every for row in rows]
        case "count_rows":
            return [(row, 0) for row in range(len(table.rows))]
        case "count_columns":
            return [(0, column) for column in every]
        case _:  # over the whole of one row
            return [(rows[0], column) for column in every]


def operands(ask: Ask, table: Table) -> list[float]:
    """The numbers that an ask for a number is worked out from."""
    found = [table.rows[row].values[column] for row, column in cells(ask, table)]
    return [ask.number or 0.0, *found] if ask.op in ("count_above", "count_below") else found


def combine(ask: Ask, values: Values) -> float:
    """The number that follows from these operands."""
    steps = ask.columns[1] - ask.columns[0] if ask.op == "cagr" else 1
    return NUMBERS[ask.op](values, steps)


def evaluate(ask: Ask, table: Table) -> float:
    """The number, the position of the column or row, or 1 and 0 for true and false."""
    if ask.op in NUMBERS:
        return combine(ask, operands(ask, table))
    if ask.op in PICKS:
        return float(_picked(ask, table))
    if ask.op == "wins_throughout":
        return float(all(_differences(ask, table)))
    if ask.op in _PICK_CLAIMS:
        pick, part = _PICK_CLAIMS[ask.op]
        named = getattr(ask, part)[0]
        return float(_picked(_pick_of(ask, pick), table) == named)
    op, sign = _NUMBER_CLAIMS[ask.op]
    number = evaluate(_number_of(ask, op), table)
    if sign == 0:
        return float(abs(number - (ask.number or 0.0)) <= _about(ask, table))
    return float((number - (ask.number or 0.0)) * sign > 0)


def _about(ask: Ask, table: Table) -> float:
    """How far `about` reaches: the reading error; nothing for a count."""
    return 0.0 if ask.op.startswith("shows") else table.rows[ask.rows[0]].tolerance


def _number_of(ask: Ask, op: str) -> Ask:
    return Ask(op=op, rows=ask.rows, columns=ask.columns)


def _pick_of(claim: Ask, pick: str) -> Ask:
    """The pick behind a claim that names its answer."""
    if pick in ("argmax_column", "argmin_column"):
        return Ask(op=pick, rows=claim.rows)
    return Ask(op=pick, columns=claim.columns)


def _differences(ask: Ask, table: Table) -> list[bool]:
    first, second = (table.rows[row].values for row in ask.rows)
    return [a > b for a, b in zip(first, second, strict=True)]


# --------------------------------------------------------------------------------------------------------------------
# Picks


def scores(ask: Ask, table: Table) -> list[float]:
    """What a pick ranks by, one score for each column or row; -inf for one that can't be picked."""
    rows, columns = ask.rows, ask.columns
    match ask.op:
        case "argmax_column" | "rank_column":
            return list(table.rows[rows[0]].values)
        case "argmin_column":
            return [-value for value in table.rows[rows[0]].values]
        case "argmax_row" | "rank_row":
            return [row.values[columns[0]] for row in table.rows]
        case "argmin_row":
            return [-row.values[columns[0]] for row in table.rows]
        case "argmax_rise" | "argmax_fall":
            sign = 1 if ask.op == "argmax_rise" else -1
            values = table.rows[rows[0]].values
            return [-math.inf, *(sign * (b - a) for a, b in pairwise(values))]
        case "argmax_mean_row":
            return [math.fsum(row.values) / len(row.values) for row in table.rows]
        case "argmax_gain_row":
            return [row.values[columns[1]] - row.values[columns[0]] for row in table.rows]
        case _:  # widest_gap
            first, second = (table.rows[row].values for row in rows)
            return [abs(a - b) for a, b in zip(first, second, strict=True)]


def ranking(ask: Ask, table: Table) -> list[int]:
    """Positions from the one that is picked by its score first, to the last."""
    found = scores(ask, table)
    return sorted(range(len(found)), key=lambda place: -found[place])


def _picked(ask: Ask, table: Table) -> int:
    return ranking(ask, table)[int(ask.number or 1) - 1]


# --------------------------------------------------------------------------------------------------------------------
# How far off, how clear-cut


def error(ask: Ask, table: Table) -> float:
    """The most that a number is off when each value is read with its row's tolerance; 0 for counts.

    First order for ratios: each operand's tolerance times the slope. Where the base is not clear of zero a ratio can be
    anything: inf.
    """
    if ask.op in COUNTS:
        return 0.0
    rows = [table.rows[row] for row, _ in cells(ask, table)]
    values = operands(ask, table)
    tolerances = [row.tolerance for row in rows]
    base = _BASES.get(ask.op)
    if base is not None and abs(values[base]) <= _CLEAR_OF_ZERO * tolerances[base]:
        return math.inf
    match ask.op:
        case "growth":
            return _growth_error(values, tolerances)
        case "cagr":
            steps = ask.columns[1] - ask.columns[0]
            slope = (values[1] / values[0]) ** (1 / steps - 1) / steps
            return _growth_error(values, tolerances) * slope
        case "times" | "times_columns":
            return (tolerances[0] + abs(values[0] / values[1]) * tolerances[1]) / abs(values[1])
        case "share_row" | "share_column":
            whole = math.fsum(values[1:])
            return 100 * (tolerances[0] / whole + values[0] / whole**2 * math.fsum(tolerances[1:]))
        case "mean" | "mean_row":
            return math.fsum(tolerances) / len(tolerances)
        case "value" | "maximum" | "minimum":
            return tolerances[0]
        case "span":
            return 2 * tolerances[0]
        case _:
            return math.fsum(tolerances)


_BASES = {"growth": 0, "cagr": 0, "times": 1, "times_columns": 1}
"""Which operand a ratio divides by."""

_CLEAR_OF_ZERO = 5.0
"""Reading errors that a base must be away from zero."""


def _growth_error(values: Values, tolerances: Values) -> float:
    return 100 * (tolerances[1] + abs(values[1] / values[0]) * tolerances[0]) / abs(values[0])


def clearance(ask: Ask, table: Table) -> float:
    """How many reading errors lie between what is so and the nearest thing that would change the answer.

    For numbers: no such thing, so inf; but counts need every value clear of the threshold, or of its partner.
    """
    if ask.op in PICKS:
        return _pick_clearance(ask, table)
    if ask.op in ("count_above", "count_below"):
        row = table.rows[ask.rows[0]]
        return min(abs(value - (ask.number or 0.0)) for value in row.values) / row.tolerance
    if ask.op in ("count_wins", "wins_throughout"):
        first, second = (table.rows[row] for row in ask.rows)
        nearest = min(abs(a - b) for a, b in zip(first.values, second.values, strict=True))
        return nearest / (first.tolerance + second.tolerance)
    if ask.op == "count_candles":  # told by their colour, so only a body that is nearly flat is unclear
        first, second = (table.rows[row] for row in ask.rows)
        nearest = min(abs(a - b) for a, b in zip(first.values, second.values, strict=True))
        return nearest / (_FLAT * first.tolerance)
    if ask.op == "count_rises":
        row = table.rows[ask.rows[0]]
        return min(abs(b - a) for a, b in pairwise(row.values)) / (2 * row.tolerance)
    if ask.op in NUMBERS:
        return math.inf
    if ask.op in _PICK_CLAIMS:
        pick, part = _PICK_CLAIMS[ask.op]
        named = getattr(ask, part)[0]
        return _named_clearance(_pick_of(ask, pick), named, table)
    return _number_clearance(ask, table)


def _number_clearance(ask: Ask, table: Table) -> float:
    op, sign = _NUMBER_CLAIMS[ask.op]
    number_ask = _number_of(ask, op)
    off = error(number_ask, table)
    distance = abs(evaluate(number_ask, table) - (ask.number or 0.0))
    if off == 0:
        return math.inf
    if sign == 0:  # true when very near, false when far: in between nobody can tell
        return math.inf if distance <= off / 2 else (distance - off) / off
    return distance / off


def _pick_clearance(ask: Ask, table: Table) -> float:
    found = scores(ask, table)
    order = ranking(ask, table)
    place = int(ask.number or 1) - 1
    unit = _score_error(ask, table)
    nearest = [abs(found[order[place]] - found[other]) for other in order[max(place - 1, 0) : place + 2]]
    nearest.remove(0.0)  # itself
    return min(nearest, default=math.inf) / unit


def _named_clearance(pick: Ask, named: int, table: Table) -> float:
    """For the claim that `named` comes first: the lead if it does, how far it is behind the first if not."""
    order = ranking(pick, table)
    found = scores(pick, table)
    rival = order[1] if order[0] == named else order[0]
    return abs(found[named] - found[rival]) / _score_error(pick, table)


def _score_error(ask: Ask, table: Table) -> float:
    """The reading error of a difference of two scores."""
    rows: list[Row] = [table.rows[row] for row in ask.rows] or list(table.rows)
    tolerance = max(row.tolerance for row in rows)
    return tolerance * {"argmax_rise": 4, "argmax_fall": 4, "argmax_gain_row": 4, "widest_gap": 4}.get(ask.op, 2)
