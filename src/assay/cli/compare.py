"""`assay compare`: two runs on the same samples."""

from pathlib import Path

import click
import msgspec

from assay.cli.common import json_option, on_missing_option
from assay.engine.store import RunStore
from assay.errors import UsageError
from assay.mark.compare import compare
from assay.mark.summary import Mode, OnMissing
from assay.report.result import indented


@click.command("compare")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--mode",
    type=click.Choice(["robust", "reference"]),
    default="robust",
    show_default=True,
    help="Whose verdicts: ours, or the published script's.",
)
@on_missing_option
@json_option
def command(a: Path, b: Path, mode: Mode, on_missing: OnMissing, as_json: bool) -> None:
    """Compare two runs with paired tests: the difference B minus A, its interval, rows gained and lost.

    \b
    assay compare runs/a runs/b
    """
    with RunStore.open(a) as first, RunStore.open(b) as second:
        one, other = first.manifest, second.manifest
        if one.benchmark != other.benchmark or one.split != other.split:
            raise UsageError(
                f"{a} is {one.benchmark} {one.split}, {b} is {other.benchmark} {other.split}: "
                "only runs of the same benchmark and split can be compared."
            )
        notes = () if one.revision == other.revision else ("The two runs used different revisions of the data.",)
        comparison = compare(first.outcomes(), second.outcomes(), mode=mode, on_missing=on_missing)
        if as_json:
            fields = {"a": str(a), "b": str(b), **msgspec.to_builtins(comparison)}
            fields["notes"] = [*notes, *comparison.notes]
            click.echo(indented(fields))
            return
    from assay.report.terminal import print_comparison

    print_comparison(comparison, str(a), str(b), notes=notes)
