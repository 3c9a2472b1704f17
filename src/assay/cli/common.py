"""Options and steps that several commands share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.benchmarks.places import data_folder
from assay.benchmarks.subset import subset
from assay.cli.own import own_table
from assay.errors import DataError, UsageError
from assay.types import Manifest, Reading

F = TypeVar("F", bound=Callable[..., Any])

on_missing_option = click.option(
    "--on-missing",
    type=click.Choice(["exclude", "wrong"]),
    default="exclude",
    show_default=True,
    help="What becomes of samples without a verdict (failed calls; in robust also unmarkable ones). "
    "The published FinMME script counts them as wrong. Both numbers are in the JSON.",
)
mode_option = click.option(
    "--mode",
    type=click.Choice(["robust", "reference", "judged"]),
    default="robust",
    show_default=True,
    help="Whose verdicts: ours, the published script's, or a judge's, for runs that one has judged.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder or file with the benchmark's data.  [default: the benchmark's folder in the environment's ASSAY_DATA, "
    "else the hub's copy, which needs assay[hub]]",
)
split_option = click.option("--split", help="The benchmark's split.")
where_option = click.option(
    "--where",
    multiple=True,
    metavar="FACET=VALUE",
    help="Only samples with this value of a facet, e.g. subject='plane geometry'. May be repeated: conditions on one "
    "facet are alternatives, on different ones they hold together. Printed with every result.",
)
limit_option = click.option("--limit", type=click.IntRange(min=1), help="Only the first so many samples.")


def open_benchmark(
    name: str,
    data: Path | None,
    split: str | None,
    where: Sequence[str] = (),
    *,
    need_pictures: bool = True,
    reading: Reading | None = None,
) -> tuple[Benchmark, Source, Dataset]:
    """A benchmark and its data, checked, down to the samples that meet the conditions of `--where`.

    Args:
        name: of a benchmark; or a table of one's own, which `reading` says how to read.

    Raises:
        UsageError: an unknown benchmark, or data that can't be used.
    """
    benchmark, source = find_source(name, data, split, reading)
    source = replace(source, need_pictures=need_pictures)
    return benchmark, source, subset(benchmark.open(source), where)


def find_source(name: str, data: Path | None, split: str | None, reading: Reading | None) -> tuple[Benchmark, Source]:
    """What `name` means and where its data lies; nothing is opened yet.

    Raises:
        UsageError: an unknown benchmark, options that don't go with it, or data that isn't there.
    """
    own = own_table(name)
    if own is None:
        benchmark = load_benchmark(name)
        data = data or (None if benchmark.made else data_folder(name))
        if reading is not None:
            raise UsageError(f"--images, --map, --answer-type and --facets are for your own data, not for {name}.")
    else:
        if data is not None:
            raise UsageError(f"{name} is the data itself: leave --data out.")
        benchmark, data = load_benchmark(own[0]), own[1]
        reading = reading or Reading()
    if data is not None and not data.exists():
        remedy = "Give a file that is there." if own else "Give the benchmark's data with --data."
        raise DataError(str(data), "there is no such file or folder", remedy)
    return benchmark, Source(data=data, split=split, reading=reading)


def source_of_run(manifest: Manifest, given: Path | None) -> Source:
    """Where a run's data lies: where the user says, else where it lay when the run was made."""
    data = given or (Path(manifest.data) if manifest.data else None)
    if data is not None and not data.exists():
        remedy = "Give the data with --data." if given is None else "Correct --data."
        raise DataError(str(data), "there is no such file or folder, and a run is marked with its data", remedy)
    return Source(data=data, split=manifest.split, need_pictures=False, reading=manifest.reading)
