"""`assay compare`: two runs on the same samples."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from assay.cli.common import json_option, mode_option, on_missing_option
from assay.engine.store import RunStore
from assay.errors import UsageError
from assay.mark.compare import compare
from assay.mark.judged import Judge, by_judge
from assay.mark.summary import Mode, OnMissing
from assay.report.judges import judge_of_run, judges_notes
from assay.report.result import indented
from assay.types import Condition, Manifest, Outcome


@click.command("compare")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@mode_option
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
        shared, conditions_note = shared_conditions(one, other)
        sides = {"a": first, "b": second} if mode == "judged" else {}
        judges = {side: judge_of_run(run.path, _under(run, shared)) for side, run in sides.items()}
        notes += conditions_note + judges_notes({str(run.path): judges[side] for side, run in sides.items()})
        comparison = compare(
            _counted(first, shared, judges.get("a")),
            _counted(second, shared, judges.get("b")),
            mode=mode,
            on_missing=on_missing,
        )
        if as_json:
            fields = {"a": str(a), "b": str(b), **msgspec.to_builtins(comparison)}
            fields["judges"] = {side: judge._asdict() for side, judge in judges.items()}
            fields["notes"] = [*notes, *comparison.notes]
            click.echo(indented(fields))
            return
    from assay.report.terminal import print_comparison

    print_comparison(comparison, str(a), str(b), notes=notes)


def shared_conditions(one: Manifest, other: Manifest) -> tuple[set[str], tuple[str, ...]]:
    """The conditions that two runs are compared under: all that both have and that show a sample's own pictures.

    A note says so where that is not simply the plain condition on both sides.
    """
    a, b = ({"", *manifest.conditions} for manifest in (one, other))
    shared = {name for name in a & b if Condition.named(name).picture == "own"}
    if a == b == {""}:
        return shared, ()
    names = ", ".join(sorted(name or "plain" for name in shared))
    return shared, (f"Compared under these conditions, each sample with itself: {names}.",)


def _counted(store: RunStore, conditions: set[str], judge: Judge | None) -> Iterator[Outcome]:
    """A run's outcomes under the conditions, with no other judge's marks than the one's that is named."""
    outcomes = _under(store, conditions)
    return outcomes if judge is None else by_judge(judge, outcomes)


def _under(store: RunStore, conditions: set[str]) -> Iterator[Outcome]:
    return (outcome for outcome in store.outcomes() if outcome.condition in conditions)
