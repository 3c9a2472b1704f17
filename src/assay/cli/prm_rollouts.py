"""`assay prm rollouts`: solutions of a benchmark's questions, their steps labelled by Monte-Carlo completions."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.cli.common import json_option
from assay.cli.model import FiniteRange, model_from, model_options
from assay.cli.running import (
    a_failure,
    body_option,
    budget_from,
    budget_options,
    concurrency_option,
    no_probe_option,
    picture_options,
    probed,
    question_options,
    questions_from,
    sampling_from,
    sampling_options,
    seed_option,
    slug,
    transform_from,
)
from assay.errors import RunError
from assay.models.base import Model

if TYPE_CHECKING:
    from assay.train.rolling import Rolling
    from assay.train.rollout_report import Noise, Report


@click.command("rollouts")
@click.argument("benchmark_name", metavar="BENCHMARK|FILE")
@model_options
@question_options
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder.  [default: rollouts/BENCHMARK-MODEL]")
@click.option(
    "--solutions", type=click.IntRange(min=1), default=4, show_default=True, help="Solutions of every question."
)
@click.option(
    "--completions",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Completions from every step of a solution.",
)
@click.option(
    "--labels",
    type=click.Choice(("soft", "hard")),
    default="soft",
    show_default=True,
    help="`soft`: all completions, for the share that succeeds; `hard`: they end with the first success, for the same "
    "hard labels at a fraction of the calls.",
)
@click.option(
    "--stop",
    type=click.Choice(("none", "first-error")),
    default="none",
    show_default=True,
    help="`first-error`: steps after a step without a success are skipped.",
)
@click.option(
    "--max-steps",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    help="Most steps of a solution; more are merged evenly.",
)
@click.option(
    "--continuation",
    type=click.Choice(("auto", "prefill", "prompt")),
    default="auto",
    show_default=True,
    help="How steps are handed over to the model: as the beginning of its own turn where it can.",
)
@seed_option
@click.option("--temperature", type=FiniteRange(min=0), default=1.0, show_default=True)
@sampling_options
@body_option
@picture_options
@concurrency_option
@budget_options
@no_probe_option
@json_option
def command(benchmark_name: str, **options: Any) -> None:
    """Have a model solve a benchmark's questions, and complete every step of its solutions, to label the steps.

    A step's soft label is the share of the completions from it that reach the right answer; its hard label says whether
    one does. The run lies in the folder --out. Stop it at any time; the same command goes on where it stopped. --labels
    and --stop may be changed then: all that was drawn is used. The result is rollouts.jsonl in the folder, for `assay
    prm label`.

    \b
    assay prm rollouts mathvision --data DATA --model NAME --base-url http://127.0.0.1:8000/v1 --out rolled
    """
    # A picture that is not there costs its question, not the run; the question is counted as failed.
    benchmark, source, dataset = questions_from(benchmark_name, options, need_pictures=False)
    model = model_from(options)
    out = options["out"] or Path("rollouts") / f"{slug(benchmark.name)}-{slug(options['model'])}"
    report = asyncio.run(_run(_plan(benchmark, source, model, out, options), dataset, probe=not options["no_probe"]))
    if options["as_json"]:
        from assay.report.result import indented

        click.echo(indented(_fields(report)))
    else:
        _print(report)
    if report.asked and not report.counts.solutions:
        raise RunError(f"No question has rollouts ({_listed(report.failed)}). One of them: {a_failure(out)}")


def _plan(benchmark: Benchmark, source: Source, model: Model, out: Path, options: dict[str, Any]) -> "Rolling":
    from assay.train.rolling import Rolling
    from assay.train.rollouts import RolloutPlan

    return Rolling(
        benchmark=benchmark,
        source=source,
        model=model,
        out=out,
        rollouts=RolloutPlan(
            solutions=options["solutions"],
            completions=options["completions"],
            labels=options["labels"],
            stop="none" if options["stop"] == "none" else "first_error",
            seed=options["seed"],
        ),
        sampling=sampling_from(benchmark, options),
        continuation=options["continuation"],
        max_steps=options["max_steps"],
        transform=transform_from(benchmark, options),
        limit=options["limit"],
        where=options["where"],
        concurrency=options["concurrency"],
        budget=budget_from(options),
    )


async def _run(plan: "Rolling", dataset: Dataset, *, probe: bool) -> "Report":
    from assay.engine.store import check_resume
    from assay.evaluate import environment
    from assay.train.rolling import manifest_of, roll

    try:
        check_resume(plan.out, manifest_of(plan, dataset))  # said before the probe's calls are paid
        facts = environment(plan.concurrency) | (await probed(plan.model) if probe else {})
        return await roll(replace(plan, environment=facts), dataset=dataset, progress=True)
    finally:
        await plan.model.close()


# ----------------------------------------------------------------------------------------------------------------------
# What is said


def _fields(report: "Report") -> dict[str, Any]:
    """The report with the numbers that are worked out of others."""
    from msgspec import to_builtins

    fields = to_builtins(report)
    fields["counts"] |= {"asked": report.counts.asked, "share": report.counts.share}
    return fields


def _print(report: "Report") -> None:
    from assay.report.tables import Column, bullets, heading, line, make_console, table

    console = make_console()
    plan, counts = report.plan, report.counts
    heading(console, f"Rollouts of {report.model} on {report.benchmark}, split {report.split}")
    line(
        console,
        f"{plan.solutions} solutions of a question, {plan.completions} completions of a step, {plan.labels} labels"
        + ("" if plan.stop == "none" else ", none after the first wrong step"),
    )
    rolled = report.asked - sum(report.failed.values())
    rows = [
        ("questions", rolled, _failed(report)),
        ("solutions", counts.solutions, _solutions(report)),
        ("steps", counts.steps, _steps(report)),
        ("completions", counts.completions, _completions(report)),
    ]
    console.print()
    columns = [
        Column(title="", number=False),
        Column(title="kept"),
        Column(title="of them, and left out", number=False),
    ]
    table(console, columns, [(name, f"{number:,}", text) for name, number, text in rows])
    console.print()
    used = report.usage
    asked = (
        f"{counts.asked:,} of the full scheme's {counts.full_scheme:,} completions were asked for "
        f"({counts.share:.1%}; {1 - counts.share:.1%} saved). Tokens so far: {used.prompt_tokens:,} read, "
        f"{used.completion_tokens:,} written."
    )
    bullets(console, (asked, _noise(report.noise), *report.notes))
    click.echo(f"\n{report.written:,} solutions are in {report.file}. Next: assay prm label {report.file}")


def _failed(report: "Report") -> str:
    if not report.failed:
        return ""
    return f"failed: {_listed(report.failed)}, listed in {Path(report.file).parent / 'outcomes-0.jsonl'}"


def _solutions(report: "Report") -> str:
    parts = [(report.right, "right"), (report.wrong, "wrong"), (report.unmarked, "not markable")]
    return _joined([*parts, (report.empty, "without a step, left out")])


def _steps(report: "Report") -> str:
    counts = report.counts
    return _joined(
        [
            (counts.right, "right"),
            (counts.wrong, "wrong"),
            (counts.unlabelled, "that can't be told"),
            (counts.skipped, "skipped after a wrong one"),
        ]
    )


def _completions(report: "Report") -> str:
    counts = report.counts
    failed = f" ({_listed(report.failures)})" if report.failures else ""
    return _joined(
        [
            (counts.unmarked, f"not marked (of them {counts.restarted:,} that began anew)"),
            (counts.unanswered, "without an answer, so not right"),
            (counts.truncated, "cut at --max-tokens, so not right"),
            (counts.failed, f"failed{failed}"),
        ]
    )


def _joined(parts: list[tuple[int, str]]) -> str:
    return ", ".join(f"{number:,} {what}" for number, what in parts if number)


def _listed(kinds: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())


def _noise(noise: "Noise | None") -> str:
    if noise is None:
        return "Label noise can't be told: it takes all completions of a step, drawn with --labels soft and marked."
    n = noise.completions
    parts: list[str] = []
    if noise.halves is not None:
        parts.append(
            f"two hard labels from {n // 2} completions each differ on {noise.halves:.1%} of {noise.steps:,} steps"
        )
    if noise.last is not None:
        parts.append(f"of steps wrong by {n - 1} completions, one more turns {noise.last:.1%} right")
    return f"Label noise: {'; '.join(parts)}."
