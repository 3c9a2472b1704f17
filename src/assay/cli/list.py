"""`assay list`: the benchmarks."""

from pathlib import Path
from typing import Literal

import click
import msgspec
from msgspec import Struct

from assay.benchmarks import BENCHMARKS, load_benchmark
from assay.benchmarks.base import Benchmark
from assay.benchmarks.places import VARIABLE, data_folder, hub_copy
from assay.cli.common import json_option
from assay.errors import DataError, UsageError
from assay.models.shipped import SHIPPED, shipped
from assay.report.result import indented


class Listed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark and its data.

    Attributes:
        sizes: published number of samples of each split; empty where it isn't known.
        hub: name of the data set on the hub; None where there is none.
        here: where the data lies on this machine, else None.
        made: whether it is made when it is used, so that there is no data to look for.
    """

    name: str
    title: str
    split: str
    sizes: dict[str, int]
    licence: str
    links: tuple[str, ...]
    hub: str | None
    here: str | None
    made: bool


@click.command("list")
@click.argument("what", required=False, type=click.Choice(["benchmarks", "models"]))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help=f"Folder that holds one folder for each benchmark.  [default: the environment's {VARIABLE}]",
)
@json_option
def command(what: Literal["benchmarks", "models"] | None, data: Path | None, as_json: bool) -> None:
    """List the benchmarks: name, what it is, licence of the data.

    `assay list benchmarks` adds sizes, where the data comes from, and whether it is on this machine. `assay list
    models` names the models that come with the package.
    """
    if what == "models":
        if as_json or data is not None:
            raise UsageError("--json and --data go with `assay list benchmarks`.")
        _models()
        return
    benchmarks = [load_benchmark(name) for name in sorted(BENCHMARKS)]
    if what is None:
        if as_json or data is not None:
            raise UsageError("--json and --data go with `assay list benchmarks`.")
        width = max(len(benchmark.name) for benchmark in benchmarks)
        for benchmark in benchmarks:
            _line(benchmark, width)
        return
    listed = [_listed(benchmark, data) for benchmark in benchmarks]
    if as_json:
        click.echo(indented(msgspec.to_builtins(listed)))
        return
    for one in listed:
        _print(one)


def _line(benchmark: Benchmark, width: int) -> None:
    about = f"{benchmark.title} (split {benchmark.default_split}; data: {benchmark.licence})"
    click.echo(f"{benchmark.name:<{width}} {about}")
    for link in benchmark.links:
        click.echo(f"{'':<{width}} {link}")


def _models() -> None:
    width = max(map(len, SHIPPED))
    for name in SHIPPED:
        try:
            where = str(shipped(name))
        except DataError as problem:
            where = f"not here: {problem.problem}"
        click.echo(f"local:{name:<{width}} {where}")


def _listed(benchmark: Benchmark, root: Path | None) -> Listed:
    here = None if benchmark.made else data_folder(benchmark.name, root=root)
    here = here or (hub_copy(benchmark.hub) if benchmark.hub else None)
    return Listed(
        name=benchmark.name,
        title=benchmark.title,
        split=benchmark.default_split,
        sizes=dict(benchmark.sizes),
        licence=benchmark.licence,
        links=benchmark.links,
        hub=benchmark.hub,
        here=str(here) if here else None,
        made=benchmark.made,
    )


def _print(one: Listed) -> None:
    sizes = ", ".join(f"{split} {size:,}" for split, size in one.sizes.items())
    away = "no; get it there, give it with --data"
    if one.made:
        away = "made when it is used"
    elif one.hub:
        away = f"no; fetched from the hub when it is used ({one.hub})"
    click.echo(f"{one.name}: {one.title}")
    click.echo(f"  samples (published): {sizes or 'not published'}; default split {one.split}")
    click.echo(f"  licence of the data: {one.licence}")
    click.echo(f"  from: {', '.join(([f'hub {one.hub}'] if one.hub else []) + list(one.links))}")
    click.echo(f"  on this machine: {f'yes, {one.here}' if one.here else away}")
