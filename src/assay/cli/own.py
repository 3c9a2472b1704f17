"""One's own data on the command line: what a benchmark argument may be instead of a name, and how it is read."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.benchmarks import BENCHMARKS
from assay.benchmarks.own_columns import ANSWER_TYPES, parse_map
from assay.benchmarks.tables import SUFFIXES
from assay.errors import UsageError
from assay.types import Reading

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--images",
        type=click.Path(path_type=Path),
        help="Own data: the folder that picture paths start from.  [default: the table's folder]",
    ),
    click.option(
        "--map",
        "columns",
        multiple=True,
        metavar="PURPOSE=COLUMN,...",
        help="Own data: which column is what, e.g. question=prompt,answer=gold. May be repeated.",
    ),
    click.option(
        "--answer-type", type=click.Choice(ANSWER_TYPES), help="Own data: every answer's type.  [default: inferred]"
    ),
    click.option(
        "--facets",
        metavar="COLUMN,...",
        help="Own data: the columns to report by.  [default: those with few distinct values]",
    ),
)


def own_options(function: F) -> F:
    """The options that say how a table of one's own is read; see `reading_of`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def reading_of(options: Mapping[str, Any]) -> Reading | None:
    """What the options of `own_options` say, among others of a command; None where none of them is given.

    Raises:
        UsageError: for a map that can't be understood.
    """
    images: Path | None = options["images"]
    columns: tuple[str, ...] = options["columns"]
    answer_type: str | None = options["answer_type"]
    facets: str | None = options["facets"]
    if images is None and not columns and answer_type is None and facets is None:
        return None
    return Reading(
        columns=parse_map(columns),
        answer_type=answer_type,
        facets=None if facets is None else tuple(name.strip() for name in facets.split(",") if name.strip()),
        images=str(images) if images else "",
    )


def own_table(what: str) -> tuple[str, Path | None] | None:
    """The benchmark's name and the file or folder of one's own data; None where `what` is no such thing.

    The name of a benchmark always means the benchmark. `hub:OWNER/NAME` has no path.
    """
    if what in BENCHMARKS:
        return None
    if what.startswith("hub:"):
        if what.count("/") != 1:
            raise UsageError(f"{what} is no data set on the hub. Write hub:OWNER/NAME.")
        return f"own:{what}", None
    path = Path(what)
    if path.suffix in SUFFIXES or path.exists():
        return f"own:{path.resolve().name}", path
    return None
