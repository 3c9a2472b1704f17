"""`assay demo`: what the product promises, measured in minutes on two tiny models that come with the package."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.cli.demo_folder import MARK, make_way
from assay.errors import MissingExtra, RunMismatch, UsageError
from assay.models import open_model
from assay.models.base import Model, parse_address

if TYPE_CHECKING:
    from assay.evaluate import Plan
    from assay.mark.finscore import FinScore
    from assay.solve.controls import Controls
    from assay.solve.pool import PoolRecord, Strategy
    from assay.types import Outcome

_CONCURRENCY = 256  # questions and calls under way: what waits together is answered in one batch


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/demo"), show_default=True)
@click.option("--replay", is_flag=True, help="Replay published systems' replies instead; needs no torch.")
@click.option(
    "--questions", type=click.IntRange(1, 100_000), default=150, show_default=True, help="How many are asked."
)
@click.option("--n", type=click.IntRange(2, 64), default=8, show_default=True, help="Solutions of a question.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draws; the questions are the same.")
@click.option("--model", default="local:tiny-policy", show_default=True, help="Who solves.")
@click.option("--critic", default="local:tiny-critic", show_default=True, help="Who judges, step by step.")
@click.option(
    "--score-on",
    type=click.Choice(("step", "min", "product")),
    default="product",
    show_default=True,
    help="A step's score: its judgement's, or of all three that the critic gives.",
)
def command(out: Path, replay: bool, **options: Any) -> None:
    """Measure two tiny models that come with the package: a policy and a critic, with FinScore and five strategies.

    The policy solves questions of FinCharts-lite that it never saw, each several times; the critic judges every step
    and corrects the first wrong one; the policy goes on from there. What that adds to greedy answers, to votes and to a
    choice by the critic is printed with paired intervals, and written to report.html with worked examples. A stopped
    run goes on where it stopped.

    --replay scores what five published systems answered to 60 MATH-Vision questions, and scripted replies to the three
    official FinMME examples.
    """
    if replay:
        from assay.cli.demo_replay import replay as replayed

        asyncio.run(replayed(out))
        return
    asyncio.run(_demo(out, **options))


async def _demo(out: Path, *, questions: int, n: int, seed: int, model: str, critic: str, score_on: str) -> None:
    benchmark = load_benchmark("fincharts-lite")
    source = Source(split=f"{benchmark.default_split}:{questions}")
    dataset = benchmark.open(source)
    click.echo(
        f"{questions:,} questions about small bar charts; {model} solves each of them {n} times, {critic} judges every "
        "step."
    )
    models = await asyncio.to_thread(_opened, model, critic)
    try:
        await _run(_plan(benchmark, source, models, critic, out / benchmark.name, n, seed, score_on), dataset)
    finally:
        for one in models:
            await one.close()
    _report(benchmark, dataset, out)


def _opened(model: str, critic: str) -> tuple[Model, Model]:
    """Policy and critic, each with a thread of its own."""
    try:
        opened = open_model(parse_address(model)), open_model(_address_of_critic(critic).model)
    except MissingExtra as cause:
        raise UsageError(
            "The demonstration runs two tiny models, which needs torch: pip install torch==2.13.0, then "
            "pip install 'assay[local]'. Or see published replies, without torch: assay demo --replay"
        ) from cause
    if all(getattr(one, "in_process", False) for one in opened):
        from assay.models.local_checkpoint import library

        library("torch").set_num_threads(1)  # a step of a tiny model is too short to be shared between cores
    return opened


def _address_of_critic(critic: str) -> Any:
    from assay.solve.critic import parse_critic

    return parse_critic(critic, kind="generative")


def _plan(
    benchmark: Benchmark,
    source: Source,
    models: tuple[Model, Model],
    critic: str,
    folder: Path,
    n: int,
    seed: int,
    score_on: str,
) -> "Plan":
    from assay.evaluate import Plan
    from assay.solve.critic import make_critic
    from assay.solve.plan import SearchPlan

    policy, judge = models
    kind = _address_of_critic(critic).kind
    settings = {"score_on": score_on} if kind == "generative" else {}
    search = SearchPlan(strategy="refined-bon", n=n).completed(make_critic(kind, judge, **settings))
    return Plan(
        benchmark=benchmark,
        source=source,
        model=policy,
        out=folder,
        seed=seed,
        concurrency=_CONCURRENCY,
        search=search,
        critic=lambda wrap: make_critic(kind, wrap(judge), **settings),
        environment=MARK,
    )


async def _run(plan: "Plan", dataset: Dataset) -> None:
    """The run; a demonstration of another plan in its folder makes way."""
    from assay.engine.store import check_resume
    from assay.evaluate import evaluate, manifest_of

    try:
        check_resume(plan.out, manifest_of(plan, dataset))
    except RunMismatch:
        make_way(plan.out)
    await evaluate(plan, dataset=dataset, progress=True)


# --------------------------------------------------------------------------------------------------------------------
# What is said of it


def _report(benchmark: Benchmark, dataset: Dataset, out: Path) -> None:
    from assay.engine.store import RunStore
    from assay.report.demo_page import page, worked_examples
    from assay.report.tables import heading, make_console
    from assay.report.terminal import print_controls, print_finscore
    from assay.solve.controls import controls
    from assay.solve.pool import pools_of

    with RunStore.open(out / benchmark.name) as store:
        outcomes, pools = list(store.outcomes()), list(pools_of(store))
    found = controls(outcomes, pools, rule="mean", on_missing="exclude")
    scores = {
        "greedy": _finscore(benchmark, outcomes, pools, "greedy"),
        "Refined-BoN": _finscore(benchmark, outcomes, pools, "refined-bon"),
    }
    console = make_console()
    heading(console, "FinScore of the policy's greedy answers")
    print_finscore(scores["greedy"], console=console)
    print_controls(found, console=console)
    _say(found)
    report = out / "report.html"
    examples = worked_examples({sample.id: sample for sample in dataset}, pools)
    report.write_text(page(found, scores, examples), encoding="utf-8")
    click.echo(
        f"\nThe same with worked examples: {report} (open it in a browser). All that was asked and answered: "
        f"{out / benchmark.name}\n"
        "Then your own model:\n"
        "  assay eval fincharts-lite --model NAME --base-url http://HOST:PORT/v1"
    )


def _finscore(
    benchmark: Benchmark, outcomes: "Sequence[Outcome]", pools: "Sequence[PoolRecord]", strategy: "Strategy"
) -> "FinScore":
    """FinScore of the answers that a strategy chooses from the pools."""
    import msgspec

    from assay.mark.finscore import FinScore
    from assay.solve.pool import outcome_of_selection, select_from

    held = {record.id: record for record in pools}
    chosen: list[Outcome] = []
    for outcome in outcomes:
        record = held.get(outcome.id)
        if record is not None:
            selection = select_from(record.pool, record.members, strategy, "mean")
            outcome = outcome_of_selection(record, selection, outcome)
        chosen.append(outcome)
    return msgspec.convert(benchmark.scores(chosen, "exclude")["finscore"], FinScore)


def _say(found: "Controls") -> None:
    """The result in a few lines, for those who read only the end."""
    from assay.report.tables import Column, heading, interval, line, make_console, percent, table
    from assay.report.terminal_controls import way_words

    console = make_console()
    heading(console, f"The result: {found.pools:,} questions of FinCharts-lite, robust verdicts")
    rows = [
        [way_words(way, row.n), percent(row.robust.accuracy), interval(row.robust.low, row.robust.high)]
        for way, row in found.strategies.items()
        if way in _FIVE
    ]
    columns = [Column(title="strategy", number=False), Column(title="accuracy %"), Column(title="95 % interval")]
    table(console, columns, rows)
    line(console, "The ceiling is that of the solutions drawn first; corrections lead to others, and can go beyond it.")


_FIVE = ("greedy", "self-consistency", "best-of-n", "refined-bon", "pass")
"""The strategies of the summary; the ceiling, which needs the right answers, is the last."""
