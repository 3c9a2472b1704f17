"""`assay board`: several runs of one benchmark, ranked."""

from contextlib import ExitStack
from pathlib import Path

import click

from assay.cli.common import mode_option, on_missing_option
from assay.engine.store import RunStore
from assay.errors import DataError
from assay.mark.summary import Mode, OnMissing
from assay.report.board import Board, BoardRun, make_board
from assay.report.result import Stored

# The format of a file that is written without --format.
_FORMAT_OF = {".md": "markdown", ".csv": "csv", ".tex": "latex", ".json": "json"}


@click.command("board")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
@mode_option
@on_missing_option
@click.option("--by", metavar="FACET", help="Also an accuracy for each value of this facet, e.g. question_type.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "markdown", "csv", "latex", "json"]),
    help="[default: by the ending of --out, else table]",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def command(
    runs: tuple[Path, ...],
    mode: Mode,
    on_missing: OnMissing,
    by: str | None,
    format_name: str | None,
    out: Path | None,
) -> None:
    """Rank runs of one benchmark and split; runs that paired tests can't tell apart share a tie.

    Beside each accuracy stand the samples behind it and what became of the others, then each run's recipe (prompt,
    sampling, pictures, subset, data) and the results that were published, as a table of their own.

    \b
    assay board runs/* --by subject
    assay board runs/* --out board.md
    """
    from assay.report.board_text import FORMATS

    chosen = format_name or _FORMAT_OF.get(out.suffix.lower() if out else "", "table")
    text = next(write for name, write in FORMATS.items() if name == chosen)(_board(runs, mode, on_missing, by))
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as cause:
        raise DataError(str(out), f"can't be written ({cause.strerror})", "Choose another file for --out.") from cause


def _board(runs: tuple[Path, ...], mode: Mode, on_missing: OnMissing, by: str | None) -> Board:
    with ExitStack() as stack:
        stores = [stack.enter_context(RunStore.open(folder)) for folder in runs]
        entered = [BoardRun(folder=store.path, manifest=store.manifest, outcomes=Stored(store)) for store in stores]
        return make_board(entered, mode=mode, on_missing=on_missing, by=by)
