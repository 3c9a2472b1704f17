"""Options and steps that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
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
    help="Folder or file with the benchmark's data. Without it the hub's copy is used (needs assay[hub]).",
)
split_option = click.option("--split", help="The benchmark's split.")
limit_option = click.option("--limit", type=click.IntRange(min=1), help="Only the first so many samples.")


def open_benchmark(
    name: str, data: Path | None, split: str | None, *, need_pictures: bool = True
) -> tuple[Benchmark, Source, Dataset]:
    """The benchmark of this name and its data, checked.

    Raises:
        UsageError: an unknown benchmark, or data that can't be used.
    """
    benchmark = load_benchmark(name)
    if data is not None and not data.exists():
        raise DataError(str(data), "there is no such file or folder", "Give the benchmark's data with --data.")
    source = Source(data=data, split=split, need_pictures=need_pictures)
    return benchmark, source, benchmark.open(source)


def source_of_run(data: str, split: str, given: Path | None) -> Source:
    """Where a run's data lies: where the user says, else where it lay when the run was made."""
    return Source(data=given or (Path(data) if data else None), split=split, need_pictures=False)
