"""`assay judge check`: how well a judge agrees with gold labels."""

import asyncio
from pathlib import Path

import click

from assay.cli.common import json_option
from assay.cli.readers import judge_options, open_reader_model, reader_sampling
from assay.errors import RunError
from assay.report.result import indented


@click.group("judge")
def command() -> None:
    """Check a judge before its verdicts are believed."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@judge_options
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where the verdicts are kept.  [default: judge-check/FILE-JUDGE]"
)
@json_option
def check(
    file: Path,
    judge: str,
    judge_api_key_env: str | None,
    reader_max_tokens: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Have a judge read labelled replies, and compare its verdicts with the labels.

    FILE: JSON Lines with question, gold, answer and label (right or wrong) in every row; rows with the same `group`
    belong together. Prints accuracy, Cohen's kappa with its interval, and what the judge had no verdict on.

    \b
    assay judge check labelled.jsonl --judge openai:NAME@http://127.0.0.1:8000/v1
    """
    from assay.judging.checking import Checked, check_judge
    from assay.judging.reading import Reader, slug

    model = open_reader_model(judge, judge_api_key_env)
    reader = Reader(role="judge", model=model, sampling=reader_sampling(reader_max_tokens))
    folder = out or Path("judge-check") / f"{slug(file.stem)}-{slug(model.identity)}"

    async def run() -> Checked:
        try:
            return await check_judge(file, reader, folder, progress=True)
        finally:
            await model.close()

    checked = asyncio.run(run())
    if as_json:
        click.echo(indented(checked))
    else:
        from assay.report.terminal_judged import print_checked

        print_checked(checked)
    if checked.score.n == 0:
        raise RunError(f"The judge had no verdict on any of {checked.rows:,} rows.")
