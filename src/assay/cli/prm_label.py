"""`assay prm label`: teachers write the critiques that a critic is trained on."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.common import json_option
from assay.cli.model import FiniteRange, extra_body
from assay.cli.readers import open_reader_model
from assay.cli.running import body_option, concurrency_option, picture_options, seed_option
from assay.cli.search import prices_of
from assay.errors import DataError, RunError, UsageError
from assay.models.base import ADDRESS_FORMS, Model

if TYPE_CHECKING:
    from assay.train.label import LabelPlan
    from assay.train.teacher import TeacherCounts


@click.command("label")
@click.argument("rollouts", type=click.Path(path_type=Path))
@click.option(
    "--teacher", "teachers", multiple=True, required=True, metavar="ADDRESS", help=f"May be repeated. {ADDRESS_FORMS}."
)
@click.option(
    "--teacher-api-key-env",
    "key_envs",
    multiple=True,
    metavar="NAME",
    help="Environment variable with the API key: one for all teachers, or one for each in their order.  "
    "[default: ASSAY_API_KEY, then the provider's own]",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for critiques.jsonl and the runs.")
@click.option(
    "--with-gold/--without-gold",
    default=True,
    show_default=True,
    help="Show teachers the right answer, or let them judge blind. The paper doesn't say which.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Ask again, with another seed, so often after a reply that is no critique: prose, a cut one, a refusal.",
)
@click.option("--temperature", type=FiniteRange(min=0), default=0.0, show_default=True, help="Of the first try.")
@click.option(
    "--retry-temperature",
    type=FiniteRange(min=0),
    default=0.7,
    show_default=True,
    help="Of further tries, where --temperature is lower: the same text would come again.",
)
@click.option("--max-tokens", type=click.IntRange(min=1), default=4096, show_default=True, help="Most of a critique.")
@body_option
@picture_options
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many solutions.")
@seed_option
@concurrency_option
@click.option("--budget-tokens", type=click.IntRange(min=1), help="Stop cleanly once all teachers used so many tokens.")
@click.option("--prices", type=click.Path(path_type=Path), help="Price table (TOML).")
@json_option
def command(rollouts: Path, teachers: tuple[str, ...], key_envs: tuple[str, ...], **options: Any) -> None:
    """Have teachers criticise every solution of ROLLOUTS, in the form in which the critic will write.

    ROLLOUTS: what `assay prm rollouts` wrote, or VisualPRM400K's files, or a folder of them. Stop it at any time; the
    same command goes on where it stopped. The result is critiques.jsonl in the folder --out, for `assay prm filter`.

    \b
    assay prm label rollouts.jsonl --teacher openai:NAME@http://127.0.0.1:8000/v1 --out labels
    """
    from assay.train.label import CRITIQUES, label

    odd: list[DataError] = []
    plan = _plan(rollouts, options, odd)
    models = _open(teachers, key_envs)

    async def run() -> "tuple[TeacherCounts, ...]":
        try:
            return await label(plan, models, progress=True)
        finally:
            for model in models:
                await model.close()

    counts = asyncio.run(run())
    for problem in odd[:5]:
        click.echo(f"left out: {problem}", err=True)
    if options["as_json"]:
        from assay.report.result import indented

        click.echo(indented({"teachers": counts, "odd_rows": len(odd), "out": str(plan.out / CRITIQUES)}))
    else:
        _print(counts, [prices_of(options["prices"], one.teacher, "")[0] for one in counts])
        click.echo(f"\n{len(odd):,} rows of {rollouts} are no solutions and were left out." if odd else "")
        click.echo(f"The critiques are in {plan.out / CRITIQUES}.")
    if not any(one.statuses.get("parsed") for one in counts):
        raise RunError("There is no critique: no reply of any teacher could be read. critiques.jsonl says why.")


def _plan(rollouts: Path, options: dict[str, Any], odd: list[DataError]) -> "LabelPlan":
    from assay.images import Transform
    from assay.train.label import LabelPlan
    from assay.types import Sampling

    return LabelPlan(
        source=rollouts,
        out=options["out"],
        with_gold=options["with_gold"],
        retries=options["retries"],
        sampling=Sampling(
            temperature=options["temperature"], max_tokens=options["max_tokens"], extra=extra_body(options["body"])
        ),
        retry_temperature=options["retry_temperature"],
        transform=Transform(max_edge=options["max_edge"], min_edge=options["min_edge"]),
        seed=options["seed"],
        limit=options["limit"],
        concurrency=options["concurrency"],
        max_tokens=options["budget_tokens"],
        on_odd=odd.append,
    )


def _open(teachers: Sequence[str], key_envs: Sequence[str]) -> list[Model]:
    if len(key_envs) > 1 and len(key_envs) != len(teachers):
        raise UsageError(
            f"{len(key_envs)} --teacher-api-key-env for {len(teachers)} teachers: give one for all, or one for each."
        )
    keys = list(key_envs) * (len(teachers) if len(key_envs) == 1 else 1) or [None] * len(teachers)
    return [open_reader_model(address, key) for address, key in zip(teachers, keys, strict=True)]


def _print(counts: "Sequence[TeacherCounts]", prices: Sequence[Any]) -> None:
    from assay.report.tables import Column, bullets, make_console, table

    console = make_console()
    statuses = ("parsed", "unparsable", "truncated", "refused", "failed")
    titles = (*statuses, "tries", "prompt tokens", "completion tokens", "cost")
    rows = [
        [
            one.teacher,
            *(f"{one.statuses.get(status, 0):,}" for status in statuses),
            f"{one.tries:,}",
            f"{one.usage.prompt_tokens:,}",
            f"{one.usage.completion_tokens:,}",
            "-" if price is None else f"{price.of(one.usage):.4f}",
        ]
        for one, price in zip(counts, prices, strict=True)
    ]
    table(console, [Column(title="teacher", number=False), *(Column(title=title) for title in titles)], rows)
    bullets(console, [f"{one.teacher}: {count:,} x {why}" for one in counts for why, count in one.failures.items()])
