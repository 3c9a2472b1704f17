"""Options and steps that several commands share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.benchmarks.places import data_folder
from assay.benchmarks.subset import subset
from assay.errors import DataError

F = TypeVar("F", bound=Callable[..., Any])

on_missing_option = click.option(
    "--on-missing",
    type=click.Choice(["exclude", "wrong"]),
    default="exclude",
    show_default=True,
    help="What becomes of samples without a verdict (failed calls; in robust also unmarkable ones). "
    "The published FinMME script counts them as wrong. Both numbers are in the JSON.",
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
    name: str, data: Path | None, split: str | None, where: Sequence[str] = (), *, need_pictures: bool = True
) -> tuple[Benchmark, Source, Dataset]:
    """The benchmark of this name and its data, checked, down to the samples that meet the conditions of `--where`.

    Raises:
        UsageError: an unknown benchmark, or data that can't be used.
    """
    benchmark = load_benchmark(name)
    data = data or data_folder(name)
    if data is not None and not data.exists():
        raise DataError(str(data), "there is no such file or folder", "Give the benchmark's data with --data.")
    source = Source(data=data, split=split, need_pictures=need_pictures)
    return benchmark, source, subset(benchmark.open(source), where)


def source_of_run(data: str, split: str, given: Path | None) -> Source:
    """Where a run's data lies: where the user says, else where it lay when the run was made."""
    return Source(data=given or (Path(data) if data else None), split=split, need_pictures=False)
