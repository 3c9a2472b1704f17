"""`assay data check`: one's own data, read whole before a model is paid. `data fincharts` is in `data_fincharts`."""

import sys
from pathlib import Path
from typing import Any

import click

from assay.benchmarks.own_check import Report, check_own
from assay.cli import data_fincharts
from assay.cli.common import find_source, json_option, split_option
from assay.cli.own import own_options, own_table, reading_of
from assay.errors import UsageError
from assay.report.result import indented


@click.group("data")
def command() -> None:
    """Check your own data before a model is paid, or make data whose answers are known."""


command.add_command(data_fincharts.command)


@command.command("check")
@click.argument("file")
@own_options
@split_option
@json_option
def check(file: str, split: str | None, as_json: bool, **own: Any) -> None:
    """Read FILE (JSONL, JSON, CSV, TSV, parquet, a folder with one, or hub:OWNER/NAME) and name every bad row.

    Pictures are opened and prepared as they would be sent. Ends with 1 if a row can't be used, else with 0.

    \b
    assay data check my.jsonl --images DIR
    """
    if own_table(file) is None:
        raise UsageError(f"{Path(file)}: there is no such file or folder. Give the file with your questions.")
    benchmark, source = find_source(file, None, split, reading_of(own))
    report = check_own(benchmark.name, source, benchmark.transform)
    click.echo(indented(report) if as_json else _text(report))
    if report.bad:
        sys.exit(1)


def _text(report: Report) -> str:
    lines = [f"{report.file}: {report.rows:,} rows, {report.pictures:,} pictures"]
    lines += [f"  {fact}" for fact in report.facts]
    for facet, counts in report.facets.items():
        lines.append(f"  {facet}: {', '.join(f'{value} {count:,}' for value, count in counts.items())}")
    if report.bad:
        lines.append(f"{report.rows - report.good:,} of {report.rows:,} rows can't be used:")
        lines += [f"  {bad.where}: {bad.problem}. {bad.remedy}" for bad in report.bad]
    else:
        lines.append("Every row can be used.")
    return "\n".join(lines)
