"""A leaderboard as text: for the terminal, Markdown, LaTeX, CSV and JSON.

Percent for people, fractions in CSV and JSON. Names come from models and folders, so that each format has its own
escaping; what a name says is never read as markup, control, or a spreadsheet's formula.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.mark.summary import Counts
from assay.report.board import Board, BoardRow, Part
from assay.report.published import PublishedTable
from assay.report.result import indented
from assay.report.tables import Column, bullets, heading, interval, make_console, percent, plain, table
from assay.report.terminal_compare import explain_places, places, tie_letter

__all__ = ["FORMATS", "Format", "as_csv", "as_json", "as_latex", "as_markdown", "as_table"]

Format = Literal["table", "markdown", "csv", "latex", "json"]

_SHOWN_COUNTS = ("failed", "unanswered", "truncated", "refused", "unmarkable")
_HASH = re.compile(r"[0-9a-f]{32,}")
_SHOWN_DIGITS = 12  # of a hash, for people


class _Grid(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table for people: a title, columns, rows of cells."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def _grids(board: Board) -> Iterator[_Grid]:
    yield _ranking(board)
    yield from _recipes(board)
    if board.published is not None:
        yield _published(board.published)


def _ranking(board: Board) -> _Grid:
    values = list(board.rows[0].parts)
    titles = [
        *("accuracy %", "95 % interval", "right", "n"),
        *_SHOWN_COUNTS,
        "complete",
        *(f"{board.by}={value}" for value in values),
    ]
    return _Grid(
        title=f"{board.benchmark}, split {board.split} ({board.mode} verdicts, on_missing={board.on_missing})",
        columns=(
            Column(title="place"),
            Column(title="tie"),
            Column(title="run", number=False),
            *(Column(title=title) for title in titles),
        ),
        rows=tuple(_ranked(row) for row in board.rows),
    )


def _ranked(row: BoardRow) -> tuple[str, ...]:
    return (
        places(row.best_rank, row.worst_rank),
        tie_letter(row.tie_group),
        row.run,
        percent(row.score.accuracy),
        interval(row.score.low, row.score.high),
        f"{row.score.correct:,}",
        f"{row.score.n:,}",
        *(f"{getattr(row.counts, name):,}" for name in _SHOWN_COUNTS),
        _completeness(row),
        *(_part(part) for part in row.parts.values()),
    )


def _completeness(row: BoardRow) -> str:
    if row.complete is None:
        return "unknown"
    return "yes" if row.complete else f"no: {row.samples:,} of {row.expected:,}"


def _part(part: Part) -> str:
    """`54.20 (118)`: the accuracy in percent and the samples behind it."""
    return f"{percent(part.accuracy)} ({part.n:,})"


def _recipes(board: Board) -> Iterator[_Grid]:
    """What every run was made with: once where they agree, else a column each; the model always has one."""
    varying = ["model", *board.differing]
    titles = [Column(title=name, number=False) for name in ("run", *varying)]
    rows = [(row.run, *(_value(row.recipe.get(name)) for name in varying)) for row in board.rows]
    yield _Grid(title="Recipe of each run", columns=tuple(titles), rows=tuple(rows))
    same = [name for name in board.rows[0].recipe if name not in varying]
    yield _Grid(
        title="Recipe that all runs share",
        columns=(Column(title="what", number=False), Column(title="value", number=False)),
        rows=tuple((name, _value(board.rows[0].recipe[name])) for name in same),
    )


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value[:_SHOWN_DIGITS] if _HASH.fullmatch(value) else value
    return msgspec.json.encode(value).decode()


def _published(published: PublishedTable) -> _Grid:
    mixed = any(row.source != published.source for row in published.rows)
    titles = ("published model", "source") if mixed else ("published model",)
    return _Grid(
        title=f"Published results, not ranked (split {published.split}, {published.samples:,} samples; percent)",
        columns=(
            *(Column(title=title, number=False) for title in titles),
            *(Column(title=column.title) for column in published.columns),
        ),
        rows=tuple(
            (
                *((row.model, row.source) if mixed else (row.model,)),
                *(_number(row.metrics.get(column.key)) for column in published.columns),
            )
            for row in published.rows
        ),
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _all_notes(board: Board) -> list[str]:
    table = board.published
    published = [table.note.strip(), f"Published by: {table.source}."] if table else []
    return [*explain_places(len(board.tests), board.alpha), *board.notes, *published]


# --------------------------------------------------------------------------------------------------------------------
# Formats


def as_table(board: Board) -> str:
    """For a terminal or a pipe."""
    out = io.StringIO()
    console = make_console(out)
    for grid in _grids(board):
        heading(console, grid.title)
        table(console, grid.columns, grid.rows)
        if grid.columns[0].title == "place":
            bullets(console, _all_notes(board))
    return out.getvalue()


def as_markdown(board: Board) -> str:
    """Pipe tables, as GitHub and most site generators read them."""
    parts: list[str] = []
    for grid in _grids(board):
        rule = ["---:" if column.number else ":---" for column in grid.columns]
        lines = [[escape_markdown(column.title) for column in grid.columns], rule]
        lines += [[escape_markdown(cell) for cell in row] for row in grid.rows]
        body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        parts.append(f"**{escape_markdown(grid.title)}**\n\n{body}\n")
        if grid.columns[0].title == "place":
            parts.append("\n".join(f"- {escape_markdown(note)}" for note in _all_notes(board)) + "\n")
    return "\n".join(parts)


_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@])")


def escape_markdown(text: str) -> str:
    """Text for a Markdown table cell or line: every character that could be markup has a backslash."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", plain(text))


def as_latex(board: Board) -> str:
    """`tabular` environments that need no package."""
    parts: list[str] = []
    for grid in _grids(board):
        layout = "".join("r" if column.number else "l" for column in grid.columns)
        lines = [" & ".join(escape_latex(column.title) for column in grid.columns) + r" \\", r"\hline"]
        # The braces keep a first cell such as [x] from being read as the line break's argument.
        lines += [" & ".join("{}" + escape_latex(cell) for cell in row) + r" \\" for row in grid.rows]
        body = "\n".join(lines)
        title = escape_latex(grid.title)
        parts.append(f"% {title}\n\\begin{{tabular}}{{{layout}}}\n{body}\n\\hline\n\\end{{tabular}}\n")
        if grid.columns[0].title == "place":
            parts.append("".join(f"% {plain(note)}\n" for note in _all_notes(board)))
    return "\n".join(parts)


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": r"-{}",  # two of them would make a dash
    **{special: f"\\{special}" for special in "&%$#_{}"},
}


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(char, char) for char in plain(text))


def as_csv(board: Board) -> str:
    """One line per run, fractions; published results are left to the other formats, for a table must not mix them."""
    recipe = list(dict.fromkeys(name for row in board.rows for name in row.recipe))
    parts = list(board.rows[0].parts)
    head = ["run", "folder", "best_rank", "worst_rank", "tie_group", "mode", "on_missing", "accuracy", "low", "high"]
    head += ["correct", "n", "samples", "expected", "complete", *Counts.__struct_fields__]
    head += [f"{board.by}={value}{suffix}" for value in parts for suffix in ("", ":n")] + recipe
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_csv_text(title) for title in head])
    for row in board.rows:
        score = row.score
        cells: list[Any] = [row.run, row.folder, row.best_rank, row.worst_rank, row.tie_group]
        cells += [board.mode, board.on_missing, score.accuracy, score.low, score.high, score.correct, score.n]
        cells += [row.samples, row.expected, row.complete]
        cells += [getattr(row.counts, name) for name in Counts.__struct_fields__]
        cells += [value for part in row.parts.values() for value in (part.accuracy, part.n)]
        cells += [_csv_value(row.recipe.get(name)) for name in recipe]
        writer.writerow([_csv_text(cell) if isinstance(cell, str) else cell for cell in cells])
    return out.getvalue()


def _csv_value(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else msgspec.json.encode(value).decode()


def _csv_text(text: str) -> str:
    """A spreadsheet takes a text that begins so for a formula, and runs it; an apostrophe before it says it is text."""
    text = plain(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def as_json(board: Board) -> str:
    return indented(board) + "\n"


FORMATS: dict[Format, Callable[[Board], str]] = {
    "table": as_table,
    "markdown": as_markdown,
    "csv": as_csv,
    "latex": as_latex,
    "json": as_json,
}
