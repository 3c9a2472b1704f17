"""FinCharts' answers worked out anew, from `items.jsonl` as plain JSON and without the package.

Exact arithmetic (fractions of the printed decimals), written after the meaning of each ask in words.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

Table = dict[str, Any]
Ask = dict[str, Any]


class Reader:
    """Somebody who reads a table: exactly, or off by `slip(row, column)` in the row's unit."""

    def __init__(self, table: Table, slip: Callable[[int, int], float] | None = None) -> None:
        self.table = table
        self.rows = range(len(table["rows"]))
        self.columns = range(len(table["columns"]))
        self._slip = slip or _exactly

    def at(self, row: int, column: int) -> Fraction:
        value = Fraction(str(self.table["rows"][row]["values"][column]))
        return value + Fraction(self._slip(row, column))

    def over(self, row: int) -> list[Fraction]:
        return [self.at(row, column) for column in self.columns]

    def about(self, ask: Ask) -> Any:
        """A number, the position of a column or row, or True and False."""
        return _MEANINGS[ask["op"]](self, ask["rows"], ask["columns"], ask.get("number"))


def _exactly(_row: int, _column: int) -> float:
    return 0.0


def _limit(number: float) -> Fraction:
    return Fraction(str(number))


def _largest(scored: list[tuple[Fraction, int]], place: int = 1) -> int:
    return sorted(scored, reverse=True)[place - 1][1]


def _growth(new: Fraction, old: Fraction) -> Fraction:
    return (new - old) / old * 100


def _annual(reader: Reader, row: int, first: int, last: int) -> float:
    whole = float(reader.at(row, last) / reader.at(row, first))
    return (whole ** (1 / (last - first)) - 1) * 100


def _average(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _row_ranking(reader: Reader, column: int) -> list[tuple[Fraction, int]]:
    return [(reader.at(row, column), row) for row in reader.rows]


def _gain(reader: Reader, columns: list[int]) -> int:
    return _largest([(reader.at(row, columns[1]) - reader.at(row, columns[0]), row) for row in reader.rows])


def _steps(reader: Reader, row: int, sign: int) -> list[tuple[Fraction, int]]:
    return [(sign * (reader.at(row, at) - reader.at(row, at - 1)), at) for at in reader.columns if at > 0]


def _share(part: Fraction, whole: list[Fraction]) -> Fraction:
    return part / sum(whole, Fraction(0)) * 100


def _lead(reader: Reader, row: int, columns: list[int], sign: int) -> bool:
    return _largest([(sign * value, at) for at, value in enumerate(reader.over(row))]) == columns[0]


# What each ask means: (reader, rows, columns, number) -> answer.
_MEANINGS: dict[str, Callable[[Reader, list[int], list[int], Any], Any]] = {
    "value": lambda t, r, c, _: t.at(r[0], c[0]),
    "change": lambda t, r, c, _: t.at(r[0], c[1]) - t.at(r[0], c[0]),
    "growth": lambda t, r, c, _: _growth(t.at(r[0], c[1]), t.at(r[0], c[0])),
    "cagr": lambda t, r, c, _: _annual(t, r[0], c[0], c[1]),
    "total": lambda t, r, c, _: sum((t.at(r[0], at) for at in c), Fraction(0)),
    "mean": lambda t, r, c, _: _average([t.at(r[0], at) for at in c]),
    "gap": lambda t, r, c, _: t.at(r[0], c[0]) - t.at(r[1], c[0]),
    "excess": lambda t, r, c, _: t.at(r[0], c[0]) - t.at(r[0], c[1]),
    "times": lambda t, r, c, _: t.at(r[0], c[0]) / t.at(r[1], c[0]),
    "times_columns": lambda t, r, c, _: t.at(r[0], c[0]) / t.at(r[0], c[1]),
    "total_rows": lambda t, r, c, _: sum((t.at(row, c[0]) for row in r), Fraction(0)),
    "share_row": lambda t, r, c, _: _share(t.at(r[0], c[0]), [t.at(row, c[0]) for row in t.rows]),
    "share_column": lambda t, r, c, _: _share(t.at(r[0], c[0]), t.over(r[0])),
    "maximum": lambda t, r, _c, _n: max(t.over(r[0])),
    "minimum": lambda t, r, _c, _n: min(t.over(r[0])),
    "span": lambda t, r, _c, _n: max(t.over(r[0])) - min(t.over(r[0])),
    "count_above": lambda t, r, _c, n: sum(value > _limit(n) for value in t.over(r[0])),
    "count_below": lambda t, r, _c, n: sum(value < _limit(n) for value in t.over(r[0])),
    "count_wins": lambda t, r, _c, _n: sum(t.at(r[0], at) > t.at(r[1], at) for at in t.columns),
    "count_candles": lambda t, _r, _c, _n: sum(t.at(3, at) > t.at(0, at) for at in t.columns),
    "count_rises": lambda t, r, _c, _n: sum(step > 0 for step, _ in _steps(t, r[0], 1)),
    "count_rows": lambda t, _r, _c, _n: len(t.rows),
    "count_columns": lambda t, _r, _c, _n: len(t.columns),
    "argmax_column": lambda t, r, _c, _n: _largest([(value, at) for at, value in enumerate(t.over(r[0]))]),
    "argmin_column": lambda t, r, _c, _n: _largest([(-value, at) for at, value in enumerate(t.over(r[0]))]),
    "rank_column": lambda t, r, _c, n: _largest([(value, at) for at, value in enumerate(t.over(r[0]))], int(n)),
    "argmax_row": lambda t, _r, c, _n: _largest(_row_ranking(t, c[0])),
    "argmin_row": lambda t, _r, c, _n: _largest([(-value, row) for value, row in _row_ranking(t, c[0])]),
    "rank_row": lambda t, _r, c, n: _largest(_row_ranking(t, c[0]), int(n)),
    "argmax_rise": lambda t, r, _c, _n: _largest(_steps(t, r[0], 1)),
    "argmax_fall": lambda t, r, _c, _n: _largest(_steps(t, r[0], -1)),
    "argmax_mean_row": lambda t, _r, _c, _n: _largest([(_average(t.over(row)), row) for row in t.rows]),
    "argmax_gain_row": lambda t, _r, c, _n: _gain(t, c),
    "widest_gap": lambda t, r, _c, _n: _largest([(abs(t.at(r[0], at) - t.at(r[1], at)), at) for at in t.columns]),
    # claims
    "is_about": lambda t, r, c, n: abs(t.at(r[0], c[0]) - _limit(n)) <= _limit(2 * t.table["rows"][r[0]]["tolerance"]),
    "is_above": lambda t, r, c, n: t.at(r[0], c[0]) > _limit(n),
    "is_below": lambda t, r, c, n: t.at(r[0], c[0]) < _limit(n),
    "row_above": lambda t, r, c, _: t.at(r[0], c[0]) > t.at(r[1], c[0]),
    "column_above": lambda t, r, c, _: t.at(r[0], c[0]) > t.at(r[0], c[1]),
    "row_leads": lambda t, r, c, _: _largest(_row_ranking(t, c[0])) == r[0],
    "grew_more": lambda t, r, c, n: _growth(t.at(r[0], c[1]), t.at(r[0], c[0])) > _limit(n),
    "rose_more": lambda t, r, c, n: t.at(r[0], c[1]) - t.at(r[0], c[0]) > _limit(n),
    "gap_more": lambda t, r, c, n: t.at(r[0], c[0]) - t.at(r[1], c[0]) > _limit(n),
    "excess_more": lambda t, r, c, n: t.at(r[0], c[0]) - t.at(r[0], c[1]) > _limit(n),
    "times_more": lambda t, r, c, n: t.at(r[0], c[0]) / t.at(r[1], c[0]) > _limit(n),
    "times_columns_more": lambda t, r, c, n: t.at(r[0], c[0]) / t.at(r[0], c[1]) > _limit(n),
    "total_more": lambda t, r, c, n: sum(t.at(row, c[0]) for row in r) > _limit(n),
    "sum_more": lambda t, r, c, n: sum(t.at(r[0], at) for at in c) > _limit(n),
    "share_more": lambda t, r, c, n: _share(t.at(r[0], c[0]), [t.at(row, c[0]) for row in t.rows]) > _limit(n),
    "share_column_more": lambda t, r, c, n: _share(t.at(r[0], c[0]), t.over(r[0])) > _limit(n),
    "mean_above": lambda t, r, _c, n: _average(t.over(r[0])) > _limit(n),
    "always_above": lambda t, r, _c, n: all(value > _limit(n) for value in t.over(r[0])),
    "never_above": lambda t, r, _c, n: all(value <= _limit(n) for value in t.over(r[0])),
    "ranges_over": lambda t, r, _c, n: max(t.over(r[0])) - min(t.over(r[0])) > _limit(n),
    "ends_higher": lambda t, r, _c, _n: t.over(r[0])[-1] > t.over(r[0])[0],
    "ends_lower": lambda t, r, _c, _n: t.over(r[0])[-1] < t.over(r[0])[0],
    "peaks_at": lambda t, r, c, _: _lead(t, r[0], c, 1),
    "bottoms_at": lambda t, r, c, _: _lead(t, r[0], c, -1),
    "wins_throughout": lambda t, r, _c, _n: all(t.at(r[0], at) > t.at(r[1], at) for at in t.columns),
    "leads_on_average": lambda t, r, _c, _n: _largest([(_average(t.over(row)), row) for row in t.rows]) == r[0],
    "gains_most": lambda t, r, c, _: _gain(t, c) == r[0],
    "shows_rows": lambda t, _r, _c, n: len(t.rows) == n,
    "shows_columns": lambda t, _r, _c, n: len(t.columns) == n,
}
OPERATIONS = frozenset(_MEANINGS)

ROW_PICKS = ("argmax_row", "argmin_row", "rank_row", "argmax_mean_row", "argmax_gain_row")
COLUMN_PICKS = ("argmax_column", "argmin_column", "rank_column", "argmax_rise", "argmax_fall", "widest_gap")


def name(ask: Ask, place: int, table: Table) -> str:
    """What a pick's position is called in the picture."""
    return table["rows"][place]["name"] if ask["op"] in ROW_PICKS else table["columns"][place]
