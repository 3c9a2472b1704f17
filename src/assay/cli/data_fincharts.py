"""`assay data fincharts`: make a benchmark of financial charts with exact answers."""

import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from assay.cli.common import json_option
from assay.errors import DataError, UsageError

_DAY = click.DateTime(formats=["%Y-%m-%d"])


@click.command("fincharts")
@click.option("--seed", type=int, required=True, help="Decides everything that chance decides.")
@click.option("--count", type=click.IntRange(min=1), required=True, help="Seed questions to make.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option(
    "--from", "start", type=_DAY, default="2012-01-01", show_default="2012-01-01", help="First day of the charts."
)
@click.option("--to", "end", type=_DAY, default="2025-12-31", show_default="2025-12-31", help="Last day of the charts.")
@click.option(
    "--ohlcv",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="CSV file of daily prices (Date, Open, High, Low, Close, Volume) for K-lines. May be repeated.",
)
@click.option(
    "--languages", default="en", show_default=True, metavar="CODE,...", help="Languages of the charts: en, zh."
)
@click.option(
    "--font",
    "fonts",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Font file to draw with beside matplotlib's own; one for Chinese is used for that. May be repeated.",
)
@click.option(
    "--weights",
    default="finmme",
    show_default=True,
    metavar="finmme|uniform|FILE",
    help="How often each value of the taxonomy occurs: as in FinMME, all alike, or as a JSON file says.",
)
@click.option(
    "--variants", type=click.IntRange(1, 50), default=1, show_default=True, help="Questions from each seed question."
)
@click.option("--rationales", is_flag=True, help="Write process.jsonl: right and wrong solutions with labelled steps.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=min(os.cpu_count() or 1, 8),
    show_default="one per core, at most 8",
    help="Processes to draw in.",
)
@json_option
def command(
    seed: int,
    count: int,
    out: Path,
    start: datetime,
    end: datetime,
    ohlcv: tuple[Path, ...],
    languages: str,
    fonts: tuple[Path, ...],
    weights: str,
    variants: int,
    rationales: bool,
    workers: int,
    as_json: bool,
) -> None:
    """Make COUNT seed questions about financial charts, in FinMME's form, with answers that are known exactly.

    The same options give the same files. Stopped, the same command goes on where it was.

    \b
    assay data fincharts --seed 1 --count 1000 --out charts
    assay eval fincharts --data charts --model NAME --base-url URL
    """
    import msgspec

    from assay.fincharts.generate import Request, generate
    from assay.report.result import indented

    request = Request(
        seed=seed,
        count=count,
        variants=variants,
        start=start.date(),
        end=end.date(),
        languages=_languages(languages),
        weights=_weights(weights),
        rationales=rationales,
        ohlcv=ohlcv,
        fonts=fonts,
    )
    summary = generate(out, request, workers=workers, told=_Telling())
    click.echo(indented(summary) if as_json else _text(out, msgspec.to_builtins(summary)))


def _languages(text: str) -> tuple[str, ...]:
    from assay.fincharts.words import LANGUAGES

    found = tuple(dict.fromkeys(code.strip() for code in text.split(",") if code.strip()))
    unknown = [code for code in found if code not in LANGUAGES]
    if unknown or not found:
        known = ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
        raise UsageError(f"--languages {text!r} names no language that there is: choose from {known}.")
    return found


def _weights(what: str) -> Any:
    from assay.fincharts.plan import finmme_weights, read_weights, uniform_weights

    if what == "finmme":
        return finmme_weights()
    if what == "uniform":
        return uniform_weights()
    path = Path(what)
    if not path.is_file():
        raise DataError(what, "there is no such file", "Give finmme, uniform or a JSON file with --weights.")
    return read_weights(path)


class _Telling:
    """A line on standard error now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if done < of and now - self._last < (0.2 if terminal else 10):
            return
        self._last = now
        click.echo(f"\r{what}: {done:,}/{of:,}" if terminal else f"{what}: {done:,}/{of:,}", err=True, nl=not terminal)
        if terminal and done == of:
            click.echo(err=True)


def _text(out: Path, summary: dict[str, Any]) -> str:
    variants = summary["questions"] // summary["seeds"]
    of = f" ({summary['seeds']:,} seed questions, {variants} variants each)" if variants > 1 else ""
    kept = f", {summary['kept']:,} kept" if summary["kept"] else ""
    lines = [f"{out}: {summary['questions']:,} questions{of}; {summary['drawn']:,} pictures drawn{kept}"]
    if summary["solutions"]:
        lines.append(f"  process.jsonl: {summary['solutions']:,} solutions with labelled steps")
    for facet, counts in summary["counts"].items():
        lines.append(f"  {facet}: {', '.join(f'{value} {count:,}' for value, count in counts.items())}")
    lines.append(f"Next: assay eval fincharts --data {out} --model NAME --base-url URL")
    return "\n".join(lines)
