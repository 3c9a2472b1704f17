"""`assay list`: the benchmarks."""

import click

from assay.benchmarks import BENCHMARKS, load_benchmark


@click.command("list")
def command() -> None:
    """List the benchmarks: name, what it is, licence of the data."""
    for name in sorted(BENCHMARKS):
        benchmark = load_benchmark(name)
        click.echo(
            f"{benchmark.name:<12} {benchmark.title} (split {benchmark.default_split}; data: {benchmark.licence})"
        )
        for link in benchmark.links:
            click.echo(f"{'':<12} {link}")
