"""`assay select`: choose again from the pools of a search, without a model."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark
from assay.benchmarks.subset import subset
from assay.cli.common import data_option, json_option, on_missing_option, source_of_run
from assay.cli.search import STRATEGIES, controls_of, prices_of, rule_option, sizes_of, sizes_option
from assay.errors import UsageError
from assay.mark.summary import OnMissing
from assay.report.result import result_of
from assay.solve.pool import Strategy
from assay.solve.records import Rule
from assay.types import Outcome

if TYPE_CHECKING:
    from assay.solve.abstain import Abstention, Answered, OwnScores


@click.command("select")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--strategy", type=click.Choice(STRATEGIES), help="[default: the run's]")
@rule_option
@sizes_option
@click.option(
    "--abstain-below",
    type=click.FloatRange(0, 1),
    help="Also show accuracy against coverage, not answering where the score of the chosen solution is below this; "
    "options that were judged (`assay eval --judge-options`) are left out one by one.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Keep the selection as a run in this folder.")
@click.option("--prices", type=click.Path(path_type=Path), help="Price table (TOML).")
@data_option
@on_missing_option
@json_option
def command(
    run: Path,
    strategy: Strategy | None,
    rule: Rule | None,
    sizes: str | None,
    abstain_below: float | None,
    out: Path | None,
    prices: Path | None,
    data: Path | None,
    on_missing: OnMissing,
    as_json: bool,
) -> None:
    """Choose again from the pools of a search, with another strategy or rule; no model is asked.

    The run itself stays as it is; --out keeps the selection as another one.

    \b
    assay select runs/try --rule min
    assay select runs/try --strategy self-consistency --out runs/voted
    """
    from assay.engine.store import RunStore
    from assay.solve.pool import pools_of
    from assay.solve.reselect import answered, plan_of, save_selection

    if not run.exists():
        raise UsageError(f"{run}: there is no such run.")
    with RunStore.open(run) as store:
        plan = plan_of(store)
        strategy, rule = strategy or plan.strategy, rule or plan.rule
        manifest = store.manifest
        benchmark = load_benchmark(manifest.benchmark)
        dataset = subset(benchmark.open(source_of_run(manifest, data)), manifest.where)
        rows = list(answered(store, strategy, rule, benchmark, dataset))
        outcomes = [row.outcome for row in rows]
        if out is not None:
            save_selection(store, out, strategy, rule)
        result = result_of(
            benchmark,
            dataset,
            outcomes,
            model=manifest.model,
            on_missing=on_missing,
            expected=len(dataset) if manifest.limit is None else min(manifest.limit, len(dataset)),
            notes=(f"Selected from the pools of {run}: {strategy}, scores by the {rule} of the steps'.",),
            where=manifest.where,
            abstention=_abstention(rows, abstain_below, benchmark, on_missing),
            controls=controls_of(
                store,
                outcomes,
                pools_of(store),
                rule=rule,
                ks=sizes_of(sizes) if sizes else (),
                on_missing=on_missing,
                prices=prices_of(prices, manifest.model, plan.critic),
            ),
        )
    if as_json:
        click.echo(result.to_json())
        return
    from assay.report.terminal import print_result

    print_result(result, benchmark)


def _abstention(
    rows: "Sequence[Answered]", below: float | None, benchmark: Benchmark, on_missing: OnMissing
) -> "Abstention | None":
    """What becomes of the score where answers below a threshold are not given; None without one."""
    if below is None:
        return None
    from assay.solve.abstain import abstention

    return abstention(rows, below, score=partial(_finscore, benchmark, on_missing))


def _finscore(benchmark: Benchmark, on_missing: OnMissing, outcomes: Sequence[Outcome]) -> "OwnScores":
    """The FinScore by the published script's definition, for a benchmark that has one."""
    from assay.solve.abstain import OwnScores

    found = benchmark.scores(outcomes, on_missing).get("finscore")
    if found is None:
        return OwnScores()
    return OwnScores(reference=found["reference"]["finscore"], robust=found["robust"]["finscore"])
