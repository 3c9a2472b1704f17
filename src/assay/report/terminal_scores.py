"""A benchmark's own scores, whatever they are called: single values as one table, parts by name as a table each.

Fractions are printed in percent, like every accuracy on the terminal; counts and texts as they are. Reference and
robust stand side by side. Long tables are left to `--json`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from assay.report.tables import Column, heading, line, percent, table

if TYPE_CHECKING:
    from rich.console import Console

MAX_ROWS = 40
"""Rows of a table that is printed."""
ELSEWHERE = ("finscore", "official")
"""Scores with a table of their own, and the published scripts' long key tables."""
SHOWN_NAMES = 8
_PAIR = ("reference", "robust")

Scores = Mapping[str, Any]


def print_scores(scores: Scores, *, console: "Console") -> None:
    """All of a result's `scores` but those that are printed elsewhere."""
    for name, value in scores.items():
        if name in ELSEWHERE:
            continue
        if isinstance(value, Mapping):
            _print_part(console, _title(name), cast("Scores", value))
        elif _is_single(value):
            line(console, f"{_title(name)}: {_text(value)}")


def _print_part(console: "Console", title: str, part: Scores) -> None:
    if _is_tabular(part):
        _print_nested(console, title, {"": part})
        return
    columns = {name: part[name] for name in _PAIR if isinstance(part.get(name), Mapping)}
    rest = {name: value for name, value in part.items() if name not in (*_PAIR, *ELSEWHERE)}
    if columns:
        _print_columns(console, title, columns)
    singles = {name: value for name, value in rest.items() if _is_single(value)}
    if singles:
        line(console, f"{title}: {', '.join(f'{_title(key)} {_text(value)}' for key, value in singles.items())}")
    for name, value in rest.items():
        if isinstance(value, Mapping):
            _print_part(console, f"{title}: {_title(name)}", cast("Scores", value))


def _print_columns(console: "Console", title: str, columns: Mapping[str, Scores]) -> None:
    """Mappings of one shape side by side: their single values as one table, what they nest as further ones."""
    names = list(dict.fromkeys(name for values in columns.values() for name in values))
    singles = [name for name in names if all(_is_single(values.get(name)) for values in columns.values())]
    shown = [name for name in singles if any(values.get(name) is not None for values in columns.values())]
    _print_table(
        console, title, list(columns), [[values.get(name) for values in columns.values()] for name in shown], shown
    )
    for name in names:
        nested = {column: values[name] for column, values in columns.items() if isinstance(values.get(name), Mapping)}
        if nested:
            _print_nested(console, f"{title}: {_title(name)}", nested)
        elif name not in singles:
            _print_list(console, f"{title}: {_title(name)}", columns, name)


def _print_nested(console: "Console", title: str, columns: Mapping[str, Scores]) -> None:
    """Of values by name: one row a name. Of mappings by name: one row a name, one column a key."""
    rows = list(dict.fromkeys(row for values in columns.values() for row in values))
    keys = list(dict.fromkeys(key for values in columns.values() for cell in values.values() for key in _keys(cell)))
    if not keys:
        cells = [[values.get(row) for values in columns.values()] for row in rows]
        _print_table(console, title, list(columns), cells, rows)
        return
    places = [(key, column) for key in keys for column in columns]
    alike = {key for key in keys if len(columns) > 1 and _all_alike(columns, rows, key)}
    places = [(key, column) for key, column in places if key not in alike or column == next(iter(columns))]
    titles = [key if key in alike or len(columns) == 1 else f"{key} {column}" for key, column in places]
    cells = [[_cell(columns[column].get(row), key) for key, column in places] for row in rows]
    _print_table(console, title, titles, cells, rows)


def _keys(cell: object) -> Sequence[str]:
    return list(cast("Scores", cell)) if isinstance(cell, Mapping) else []


def _cell(cell: object, key: str) -> Any:
    return cast("Scores", cell).get(key) if isinstance(cell, Mapping) else None


def _all_alike(columns: Mapping[str, Scores], rows: Sequence[str], key: str) -> bool:
    """Whether a key is a count that says the same in each column, as the number of samples does."""
    first, *others = columns.values()
    values = [_cell(first.get(row), key) for row in rows]
    whole = all(isinstance(value, int) for value in values)
    return whole and all([_cell(other.get(row), key) for row in rows] == values for other in others)


def _print_table(
    console: "Console", title: str, columns: Sequence[str], cells: Sequence[Sequence[Any]], rows: Sequence[str]
) -> None:
    if not rows:
        return
    if len(rows) > MAX_ROWS:
        line(console, f"{title}: {len(rows):,} rows, see --json.")
        return
    heading(
        console, f"{title} (shares in %)" if any(isinstance(cell, float) for row in cells for cell in row) else title
    )
    heads = [Column(title="", number=False), *(Column(title=_title(column)) for column in columns)]
    table(console, heads, [[_title(row), *map(_text, values)] for row, values in zip(rows, cells, strict=True)])


def _print_list(console: "Console", title: str, columns: Mapping[str, Scores], name: str) -> None:
    for column, values in columns.items():
        found: Any = values.get(name)
        if isinstance(found, list | tuple) and found:
            items = [str(item) for item in cast("list[object]", found)]
            more = ", ..." if len(items) > SHOWN_NAMES else ""
            which = f" ({column})" if column else ""
            line(console, f"{title}{which}: {', '.join(items[:SHOWN_NAMES])}{more}")


def _is_tabular(part: Scores) -> bool:
    """Whether a mapping holds records by name, such as a mean with its interval for each type of question."""
    records = [cast("Scores", record) for record in part.values() if isinstance(record, Mapping)]
    pair = any(name in part for name in _PAIR)  # those two are columns, not rows
    return (
        len(records) == len(part) > 0
        and not pair
        and all(_is_single(value) for record in records for value in record.values())
    )


def _is_single(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float) and 0 <= value <= 1:
        return percent(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _title(name: str) -> str:
    return name.replace("_", " ")
