"""Plain tables for a terminal or a pipe: numbers are never cut, nothing in the data is read as markup or control."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "PIPE_WIDTH",
    "Column",
    "bullets",
    "heading",
    "interval",
    "line",
    "make_console",
    "p_value",
    "percent",
    "plain",
]

PIPE_WIDTH = 100  # where the output is no terminal, so that a file looks the same whoever wrote it


class Column(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of a table: numbers stand to the right and are never cut, text wraps between words."""

    title: str
    number: bool = True


def make_console(file: IO[str] | None = None, *, width: int | None = None) -> "Console":
    """A console for `file` (standard output): colours only on a terminal, a fixed width elsewhere."""
    from rich.console import Console

    out = sys.stdout if file is None else file
    if width is None and not out.isatty():
        width = PIPE_WIDTH
    return Console(file=out, width=width, highlight=False, markup=False, emoji=False)


def plain(text: str) -> str:
    """Text that may come from anywhere (a model, a file), fit for a terminal: no escapes, no line breaks."""
    return "".join(char if char.isprintable() else " " for char in text).strip()


def percent(fraction: float | None) -> str:
    """`0.5559` as `55.59`; a dash where there is no number."""
    return "-" if fraction is None else f"{100 * fraction:.2f}"


def interval(low: float | None, high: float | None) -> str:
    """`[54.66, 56.51]`, in percent."""
    return "-" if low is None or high is None else f"[{percent(low)}, {percent(high)}]"


def p_value(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def heading(console: "Console", text: str) -> None:
    """A blank line and a title; each line of `text` on its own."""
    console.print()
    for part in text.splitlines():
        _emit(console, _wrapped(console, plain(part), console.width), bold=True)


def line(console: "Console", text: str) -> None:
    """One paragraph, wrapped."""
    _emit(console, _wrapped(console, plain(text), console.width))


def bullets(console: "Console", notes: Iterable[str]) -> None:
    """Each note with a hanging indent."""
    for note in notes:
        first, *others = _wrapped(console, plain(note), console.width - 2)
        _emit(console, [f"- {first}", *(f"  {other}" for other in others)])


def table(console: "Console", columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; every row has one cell for each column.

    Numbers keep their width. Text shrinks as far as its words allow and wraps; where that isn't enough the number
    columns are split over several tables, each with all the text; and where the text alone is too wide all columns are,
    each table with the first column of text, which names the rows.
    """
    from rich.cells import cell_len

    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [
        max([cell_len(row[place]) for row in cells] + [cell_len(column.title)]) for place, column in enumerate(columns)
    ]
    least, repeated = _least_widths(console, columns, cells, widths)
    fixed = sum(least[place] + len(_GAP) for place in repeated)
    part: list[int] = []
    used = fixed
    for place in (place for place in range(len(columns)) if place not in repeated):
        needed = least.get(place, widths[place]) + len(_GAP)
        if part and used + needed - len(_GAP) > console.width:
            _print_part(console, columns, cells, widths, least, sorted(repeated + part))
            console.print()
            part, used = [], fixed
        part.append(place)
        used += needed
    _print_part(console, columns, cells, widths, least, sorted(repeated + part))


_GAP = "  "
_NARROWEST = 12


def _least_widths(
    console: "Console", columns: Sequence[Column], rows: list[list[str]], natural: list[int]
) -> tuple[dict[int, int], list[int]]:
    """How narrow each column of text may get: `_NARROWEST`, or as its longest word, so that no word breaks.

    Two things must break all the same: a word that would take more than half of a line, such as a path, and the longest
    words where the columns of text leave no room for a number beside them.

    Returns:
        The widths, and the columns that every table has: all the text, or where that leaves no room its first column.
    """
    from rich.cells import cell_len

    numbers = [natural[place] + len(_GAP) for place, column in enumerate(columns) if column.number]
    room = console.width - max(numbers, default=0)
    broken: dict[int, int] = {}
    whole: dict[int, int] = {}
    for place, column in enumerate(columns):
        if not column.number:
            words = {word for cell in (column.title, *(row[place] for row in rows)) for word in cell.split()}
            lengths = [length for word in words if (length := cell_len(word)) <= console.width // 2]
            broken[place] = min(natural[place], _NARROWEST)
            whole[place] = max([broken[place], *lengths])
    gaps = len(_GAP) * (len(whole) - 1)
    least = _shrunk(whole, broken, sum(whole.values()) + gaps - room)
    if len(least) < 2 or sum(least.values()) + gaps <= room:
        return least, list(least)
    half = (console.width - len(_GAP)) // 2  # so that any two columns of text have room beside each other
    first = next(iter(least))
    least = {place: min(width, half) for place, width in whole.items()}
    least[first] = min(least[first], max(broken[first], room - len(_GAP)))
    return least, [first]


def _shrunk(widths: Mapping[int, int], least: Mapping[int, int], excess: int) -> dict[int, int]:
    """The widths with `excess` cells less, as far as they may shrink; the widest columns give first."""
    shrunk = dict(widths)
    for place in sorted(least, key=lambda place: -widths[place]):
        cut = max(0, min(excess, shrunk[place] - least[place]))
        shrunk[place] -= cut
        excess -= cut
    return shrunk


def _print_part(
    console: "Console",
    columns: Sequence[Column],
    rows: list[list[str]],
    natural: list[int],
    least: Mapping[int, int],
    places: list[int],
) -> None:
    """Print the columns at `places`. `natural`: the columns' full widths; `least`: see `_least_widths`."""
    full = {place: natural[place] for place in places}
    shown = {place: width for place, width in least.items() if place in full}
    widths = _shrunk(full, shown, sum(full.values()) + len(_GAP) * (len(places) - 1) - console.width)
    titles = [columns[place].title for place in places]
    rule = "-" * min(console.width, sum(widths.values()) + len(_GAP) * (len(places) - 1))
    _emit(console, _row(console, columns, titles, widths), bold=True)
    _emit(console, [rule])
    for row in rows:
        _emit(console, _row(console, columns, [row[place] for place in places], widths))


def _row(console: "Console", columns: Sequence[Column], cells: list[str], widths: dict[int, int]) -> list[str]:
    """The printed lines of one row; `cells` stand in the order of `widths`."""
    blocks: list[list[str]] = []
    for (place, width), cell in zip(widths.items(), cells, strict=True):
        lines = [cell] if columns[place].number else _wrapped(console, cell, width)
        blocks.append([_padded(part, width, right=columns[place].number) for part in lines])
    height = max(len(block) for block in blocks)
    filled = [
        block + [" " * width] * (height - len(block)) for block, width in zip(blocks, widths.values(), strict=True)
    ]
    return [_GAP.join(parts).rstrip() for parts in zip(*filled, strict=True)]


def _padded(text: str, width: int, *, right: bool) -> str:
    from rich.cells import cell_len

    blanks = " " * max(0, width - cell_len(text))
    return blanks + text if right else text + blanks


def _wrapped(console: "Console", text: str, width: int) -> list[str]:
    """Lines of at most `width` cells (a Chinese character takes two); a word that is too long is broken."""
    from rich.text import Text

    return [part.plain.rstrip() for part in Text(text).wrap(console, max(1, width), overflow="fold")] or [""]


def _emit(console: "Console", lines: Iterable[str], *, bold: bool = False) -> None:
    from rich.text import Text

    for text in lines:
        console.print(Text(text, style="bold" if bold else ""), no_wrap=True, overflow="ignore", crop=False)
