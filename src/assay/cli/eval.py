"""`assay eval`: ask a model every question of a benchmark and score its replies."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.benchmarks.conditions import repeat_note
from assay.cli.common import json_option, on_missing_option
from assay.cli.conditions import condition_options, conditions_from
from assay.cli.model import FiniteRange, address_of, batch_size_option, model_from, model_options
from assay.cli.readers import read_all, reader_options, readers_from
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
from assay.cli.search import Searched, controls_of, prices_of, search_from, search_options
from assay.errors import RunError
from assay.evaluate import Plan, evaluate, manifest_of, version_note
from assay.mark.summary import OnMissing
from assay.models.base import Model
from assay.report.result import Result, Stored, result_of

if TYPE_CHECKING:
    from assay.engine.store import RunStore
    from assay.judging.reading import Reader
    from assay.solve.controls import Controls


@click.command("eval")
@click.argument("benchmark_name", metavar="BENCHMARK|FILE")
@model_options
@question_options
@condition_options
@search_options
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder.  [default: runs/BENCHMARK-MODEL]")
@seed_option
@click.option("--temperature", type=FiniteRange(min=0), help="[default: the benchmark's]")
@sampling_options
@click.option("--stop", multiple=True, help="Text that ends a reply; may be repeated.")
@body_option
@picture_options
@concurrency_option
@batch_size_option
@budget_options
@click.option("--record", type=click.Path(path_type=Path), help="Also write every reply to this JSONL file.")
@reader_options
@no_probe_option
@on_missing_option
@json_option
def command(benchmark_name: str, **options: Any) -> None:
    """Ask a model every question of a benchmark and score its replies.

    The run lies in the folder --out. Stop it at any time; the same command goes on where it stopped.

    \b
    assay eval mathvision --data DATA --split testmini --model NAME --base-url http://127.0.0.1:8000/v1
    assay eval my.jsonl --images DIR --model NAME --base-url http://127.0.0.1:8000/v1
    """
    benchmark, source, dataset = questions_from(benchmark_name, options)
    model = model_from(options)
    out = options["out"] or Path("runs") / f"{slug(benchmark.name)}-{slug(options['model'])}"
    readers = readers_from(options, benchmark, concurrency=options["concurrency"])
    searched = search_from(options, model, address_of(options["model"], options["base_url"]))
    result = asyncio.run(_run(benchmark, source, dataset, model, searched, readers, out, options))
    if options["as_json"]:
        click.echo(result.to_json())
    else:
        from assay.report.terminal import print_result

        print_result(result, benchmark)
        click.echo(f"\nThe run is in {out}. Mark it again with: assay score {out}")
    if result.summary.samples and result.summary.counts.failed == result.summary.samples:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in result.summary.failures.items())
        raise RunError(f"Every sample failed ({kinds}), so there is no score. One of them: {a_failure(out)}")


async def _run(
    benchmark: Benchmark,
    source: Source,
    dataset: Dataset,
    model: Model,
    searched: Searched,
    readers: "list[Reader]",
    out: Path,
    options: dict[str, Any],
) -> Result:
    from assay.engine.store import check_resume

    asked = model
    try:
        asked = _recording(model, options["record"])
        plan = Plan(
            benchmark=benchmark,
            source=source,
            model=asked,
            out=out,
            sampling=_sampling(benchmark, options, search=searched.plan is not None),
            transform=transform_from(benchmark, options),
            seed=options["seed"],
            limit=options["limit"],
            where=options["where"],
            conditions=conditions_from(benchmark, options),
            concurrency=options["concurrency"],
            budget=budget_from(options, critic=searched.name),
            search=searched.plan,
            critic=searched.critic_of(model, asked),
        )
        check_resume(out, manifest_of(plan, dataset))  # all that can be wrong is said before the probe's calls are paid
        if not options["no_probe"]:
            plan = replace(plan, environment=await probed(model))
        await evaluate(plan, dataset=dataset, progress=True)
    finally:
        await asked.close()
        if searched.model is not None and searched.model is not model:
            await searched.model.close()
    await read_all(out, readers, benchmark, dataset)
    return _result(benchmark, dataset, searched, out, options)


def _result(benchmark: Benchmark, dataset: Dataset, searched: Searched, out: Path, options: dict[str, Any]) -> Result:
    """What the finished run says."""
    from assay.engine.store import RunStore
    from assay.judging.reading import run_notes

    on_missing: OnMissing = options["on_missing"]
    expected = len(dataset) if options["limit"] is None else min(options["limit"], len(dataset))
    with RunStore.open(out) as store:
        return result_of(
            benchmark,
            dataset,
            Stored(store),
            model=store.manifest.model,
            on_missing=on_missing,
            expected=expected,
            where=store.manifest.where,
            conditions=store.manifest.conditions,
            controls=_controls(store, searched, options),
            notes=(
                *repeat_note(store.manifest.conditions, store.manifest.sampling.temperature),
                *run_notes(benchmark, store.manifest, Stored(store)),
                *version_note(store.manifest),
            ),
        )


def _controls(store: "RunStore", searched: Searched, options: dict[str, Any]) -> "Controls | None":
    if searched.plan is None:
        return None
    from assay.solve.pool import pools_of

    return controls_of(
        store,
        Stored(store),
        pools_of(store),
        ks=searched.ks,
        on_missing=options["on_missing"],
        prices=prices_of(options["prices"], options["model"], searched.name),
    )


def _recording(model: Model, path: Path | None) -> Model:
    if path is None:
        return model
    from assay.models.replay import RecordingModel

    return RecordingModel(model, path)


def _sampling(benchmark: Benchmark, options: dict[str, Any], *, search: bool) -> Any:
    temperature = None
    if search:
        from assay.solve.plan import TEMPERATURE

        temperature = TEMPERATURE
    sampling = sampling_from(benchmark, options, temperature=temperature)
    return structs.replace(sampling, stop=options["stop"]) if options["stop"] else sampling
