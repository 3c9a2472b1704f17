"""Which asks a table allows, and asks drawn from it: rows, columns and thresholds that leave the answer clear."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from assay.fincharts.ask.thresholds import finest, with_threshold
from assay.fincharts.ask.truth import clearance, error, evaluate, scores
from assay.fincharts.item import Ask, Chart, Table
from assay.fincharts.numbers import nice_up, roundish

__all__ = ["CLEAR", "allowed", "claim_ops", "draw_ask", "draw_claim", "is_clear"]

CLEAR = 2.0
"""Reading errors that must lie between an answer and the next one: readers who are within tolerance all agree."""

_COARSE = 0.25
"""A change, a growth rate or a ratio whose tolerance would be more than this share of it is not asked for."""

_SOME, _SEVERAL = 3, 4  # columns or rows that an ask needs

CANDLE = (3, 0)
"""The rows of a K-line's close and open."""


class _Shape(NamedTuple):
    """What decides which asks a chart allows. `compare`: rows may be compared; `ratio`: so may values by division;
    `percent`: there are percentages, whose growth may be meant in percent or in points."""

    table: Table
    kind: str
    rows: int
    columns: int
    named: int
    compare: bool
    ratio: bool
    percent: bool


# What an ask needs of a chart.
_NEEDED: dict[str, Callable[[_Shape], bool]] = {
    "value": lambda _: True,
    "maximum": lambda s: s.columns >= _SOME,
    "minimum": lambda s: s.columns >= _SOME,
    "span": lambda s: s.columns >= _SOME,
    "change": lambda s: s.table.ordered and s.named >= 2,
    "growth": lambda s: s.table.ordered and s.ratio and not s.percent and s.named >= 2,
    "cagr": lambda s: s.table.yearly and s.ratio and not s.percent and s.named >= _SEVERAL,
    "excess": lambda s: not s.table.ordered and s.columns >= 2,
    "times_columns": lambda s: not s.table.ordered and s.ratio and s.columns >= 2,
    "total": lambda s: s.table.adds_up and s.named >= _SOME,
    "mean": lambda s: s.named >= _SOME,
    "gap": lambda s: s.compare,
    "times": lambda s: s.compare and s.ratio,
    "total_rows": lambda s: s.compare and s.table.rows_add_up,
    "share_row": lambda s: s.compare and s.table.rows_add_up and s.ratio and s.table.row_noun != "series",
    "share_column": lambda s: (
        s.table.adds_up and s.ratio and s.table.whole and s.columns >= _SOME and not s.table.ordered
    ),
    "count_above": lambda s: s.table.whole and s.columns >= _SEVERAL,
    "count_below": lambda s: s.table.whole and s.columns >= _SEVERAL,
    "argmax_column": lambda s: s.table.whole and s.columns >= _SEVERAL,
    "argmin_column": lambda s: s.table.whole and s.columns >= _SEVERAL,
    "rank_column": lambda s: s.table.whole and s.columns >= _SEVERAL and not s.table.ordered,
    "count_rises": lambda s: s.table.whole and s.table.ordered and s.columns >= _SEVERAL,
    "argmax_rise": lambda s: s.table.whole and s.table.ordered and s.columns >= _SEVERAL,
    "argmax_fall": lambda s: s.table.whole and s.table.ordered and s.columns >= _SEVERAL,
    "count_candles": lambda s: s.table.whole and s.kind == "k-line",
    "count_wins": lambda s: s.table.whole and s.compare and s.columns >= _SEVERAL,
    "widest_gap": lambda s: s.table.whole and s.compare and s.columns >= _SEVERAL,
    "argmax_row": lambda s: s.compare and s.rows >= _SOME,
    "argmin_row": lambda s: s.compare and s.rows >= _SOME,
    "rank_row": lambda s: s.compare and s.rows >= _SEVERAL,
    "argmax_mean_row": lambda s: s.compare and s.rows >= _SOME and s.columns >= _SOME,
    "argmax_gain_row": lambda s: s.compare and s.rows >= _SOME and s.table.ordered,
    "count_rows": lambda s: s.rows >= _SOME and s.table.row_noun != "series",
    "count_columns": lambda s: s.table.whole and _SOME <= s.columns <= 24,
}


def allowed(op: str, chart: Chart) -> bool:
    """Whether an ask for a number or a pick makes sense of this chart."""
    table = chart.table
    if op in chart.without:
        return False
    shape = _Shape(
        table=table,
        kind=chart.kind,
        rows=len(table.rows),
        columns=len(table.columns),
        named=len(table.asked),
        compare=table.same and len(table.rows) > 1,
        ratio=table.ratio and all(value > 0 for row in table.rows for value in row.values),
        percent=any(row.unit == "%" for row in table.rows),
    )
    return _NEEDED[op](shape)


def is_clear(ask: Ask, chart: Chart) -> bool:
    """Whether every careful reader comes to the same answer, and the answer says something."""
    table = chart.table
    if clearance(ask, table) < CLEAR:
        return False
    if ask.op in ("change", "growth", "cagr", "gap", "excess", "span", "times", "times_columns"):
        number, off = evaluate(ask, table), error(ask, table)
        if off > _COARSE * abs(number) or (off and nice_up(off) > _COARSE * abs(number)):
            return False
        return ask.op not in ("gap", "excess") or number > 0
    if ask.op in ("argmax_rise", "argmax_fall"):
        return max(scores(ask, table)) > 4 * table.rows[ask.rows[0]].tolerance
    if ask.op in ("count_above", "count_below", "count_rises", "count_wins", "count_candles"):
        return 1 <= evaluate(ask, table) <= len(table.columns) - 1
    return True


def draw_ask(op: str, chart: Chart, rng: Random) -> Ask:
    """An ask of that kind with rows and columns at random; it may not be clear."""
    table = chart.table
    asked, rows = list(table.asked), range(len(table.rows))
    row = rng.randrange(len(table.rows))
    match op:
        case "value":
            return Ask(op=op, rows=(row,), columns=(rng.choice(asked),))
        case "change" | "growth" | "excess" | "times_columns":
            first, second = sorted(rng.sample(asked, 2))
            if op in ("excess", "times_columns") and table.rows[row].values[first] < table.rows[row].values[second]:
                first, second = second, first
            return Ask(op=op, rows=(row,), columns=(first, second))
        case "cagr":
            first = rng.choice(asked[:-_SOME])
            second = rng.choice([column for column in asked if column >= first + _SOME])
            return Ask(op=op, rows=(row,), columns=(first, second))
        case "total" | "mean":
            count = rng.choice([count for count in (3, 4) if count <= len(asked)])
            start = rng.randrange(len(asked) - count + 1)
            return Ask(op=op, rows=(row,), columns=tuple(asked[start : start + count]))
        case "gap" | "times":
            return _larger_first(op, table, tuple(rng.sample(rows, 2)), rng.choice(asked))
        case "total_rows":
            count = rng.choice([count for count in (2, 3) if count <= len(rows)])
            return Ask(op=op, rows=tuple(sorted(rng.sample(rows, count))), columns=(rng.choice(asked),))
        case "share_row" | "share_column":
            return Ask(op=op, rows=(row,), columns=(rng.choice(asked),))
        case "count_above" | "count_below":
            return Ask(op=op, rows=(row,), number=_threshold(chart, row, rng))
        case "count_wins" | "widest_gap":
            return Ask(op=op, rows=tuple(rng.sample(rows, 2)))
        case "count_candles":
            return Ask(op=op, rows=CANDLE)
        case "argmax_row" | "argmin_row":
            return Ask(op=op, columns=(rng.choice(asked),))
        case "rank_row":
            return Ask(op=op, columns=(rng.choice(asked),), number=float(rng.randint(2, len(rows) - 1)))
        case "rank_column":
            return Ask(op=op, rows=(row,), number=float(rng.randint(2, min(len(table.columns) - 1, 5))))
        case "argmax_gain_row":
            return Ask(op=op, columns=_span(table))
        case "argmax_mean_row" | "count_rows" | "count_columns":
            return Ask(op=op)
        case _:  # over the whole of one row
            return Ask(op=op, rows=(row,))


def _span(table: Table) -> tuple[int, int]:
    return table.asked[0], table.asked[-1]


def _larger_first(op: str, table: Table, rows: tuple[int, ...], column: int) -> Ask:
    ordered = sorted(rows, key=lambda row: -table.rows[row].values[column])
    return Ask(op=op, rows=tuple(ordered), columns=(column,))


def _threshold(chart: Chart, row: int, rng: Random) -> float:
    """A round number between the row's values."""
    values = sorted(chart.table.rows[row].values)
    place = rng.randrange(1, len(values))
    middle = (values[place - 1] + values[place]) / 2
    return roundish(middle, max(finest(chart, row), (values[-1] - values[0]) / 40))


# --------------------------------------------------------------------------------------------------------------------
# Claims

_BY_LEVEL = {
    "Fine-grained Perception": ("is_about", "is_above", "is_below", "row_above", "column_above", "row_leads"),
    "Cognition and Reasoning": (
        "grew_more",
        "rose_more",
        "gap_more",
        "excess_more",
        "times_more",
        "times_columns_more",
        "share_column_more",
        "sum_more",
        "total_more",
        "share_more",
        "mean_above",
    ),
    "Comprehensive Perception": (
        "peaks_at",
        "bottoms_at",
        "always_above",
        "never_above",
        "ends_higher",
        "ends_lower",
        "wins_throughout",
        "leads_on_average",
        "gains_most",
        "ranges_over",
        "shows_rows",
        "shows_columns",
    ),
}

# A claim needs what the ask behind it needs.
_NEEDS = {
    "is_about": "value",
    "is_above": "value",
    "is_below": "value",
    "row_above": "gap",
    "column_above": "value",
    "row_leads": "argmax_row",
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
    "mean_above": "mean",
    "peaks_at": "argmax_column",
    "bottoms_at": "argmin_column",
    "always_above": "count_above",
    "never_above": "count_above",
    "ends_higher": "change",
    "ends_lower": "change",
    "wins_throughout": "count_wins",
    "leads_on_average": "argmax_mean_row",
    "gains_most": "argmax_gain_row",
    "ranges_over": "span",
    "shows_rows": "count_rows",
    "shows_columns": "count_columns",
}


def claim_ops(level: str, chart: Chart) -> list[str]:
    """The claims of a cognitive level that make sense of this chart."""
    found = [op for op in _BY_LEVEL[level] if op not in chart.without and allowed(_NEEDS[op], chart)]
    one_column = len(chart.table.asked) < 2
    return [op for op in found if not (one_column and op in ("column_above", "ends_higher", "ends_lower"))]


def draw_claim(op: str, truth: bool, chart: Chart, rng: Random) -> Ask | None:
    """A claim that is as true as asked, and clearly so; None where this draw gives none."""
    claim = _propose(op, truth, chart, rng)
    if claim is None or clearance(claim, chart.table) < CLEAR:
        return None
    return claim if (evaluate(claim, chart.table) == 1.0) == truth else None


def _propose(op: str, truth: bool, chart: Chart, rng: Random) -> Ask | None:
    table = chart.table
    rows, asked = range(len(table.rows)), list(table.asked)
    row = rng.randrange(len(table.rows))
    match op:
        case "is_about" | "is_above" | "is_below":
            return _about(op, truth, chart, rng)
        case "row_above" | "wins_throughout":
            first, second = rng.sample(rows, 2)
            columns = (rng.choice(asked),) if op == "row_above" else ()
            return Ask(op=op, rows=(first, second), columns=columns)
        case "column_above":
            return Ask(op=op, rows=(row,), columns=tuple(rng.sample(asked, 2)))
        case "row_leads":
            return Ask(op=op, rows=(row,), columns=(rng.choice(asked),))
        case "peaks_at" | "bottoms_at":
            return Ask(op=op, rows=(row,), columns=(rng.choice(asked),))
        case "leads_on_average":
            return Ask(op=op, rows=(row,))
        case "gains_most":
            return Ask(op=op, rows=(row,), columns=_span(table))
        case "ends_higher" | "ends_lower":
            return Ask(op=op, rows=(row,), columns=(0, len(table.columns) - 1))
        case "shows_rows" | "shows_columns":
            count = len(table.rows if op == "shows_rows" else table.columns)
            return Ask(op=op, number=float(count if truth else count + rng.choice((-2, -1, 1, 2))))
        case "always_above" | "never_above" | "mean_above" | "ranges_over":
            return with_threshold(Ask(op=op, rows=(row,)), truth, chart, rng)
        case _:
            number = draw_ask(_NEEDS[op], chart, rng)
            return with_threshold(Ask(op=op, rows=number.rows, columns=number.columns), truth, chart, rng)


def _about(op: str, truth: bool, chart: Chart, rng: Random) -> Ask | None:
    """A claim about one value; a false `about` takes a neighbour's value or another row's."""
    table = chart.table
    row, column = rng.randrange(len(table.rows)), rng.choice(table.asked)
    claim = Ask(op=op, rows=(row,), columns=(column,))
    if op != "is_about":
        return with_threshold(claim, truth, chart, rng)
    value = table.rows[row].values[column]
    if not truth:
        beside = [table.rows[row].values[other] for other in table.asked if abs(other - column) == 1]
        others = [other.values[column] for other in table.rows if other.unit == table.rows[row].unit]
        value = rng.choice(beside + others)
    if not chart.labelled:  # nobody reads more digits off an axis
        value = roundish(value, table.rows[row].tolerance / 2)
    if value == 0:  # `about nothing`
        return None
    return Ask(op=op, rows=(row,), columns=(column,), number=value)
