"""`assay demo`: the main job on packaged data, offline."""

import asyncio
import shutil
from importlib.resources import files
from pathlib import Path

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.engine.local import Retry
from assay.engine.store import RunStore
from assay.evaluate import Plan, evaluate
from assay.mark.compare import compare
from assay.mark.ranking import rank
from assay.models.base import Model
from assay.report.result import Result, Stored, result_of

_PUBLISHED = ("Gemini-Pro", "Gemini-Pro-CoT", "Qwen-VL-Max", "LLaVA-v1.5-13B", "Random-Chance")
_SCRIPTED = ("careful", "hasty")


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/demo"), show_default=True)
def command(out: Path) -> None:
    """Score published replies of real models, offline.

    Replays what five published systems answered to 60 MATH-Vision questions through the whole pipeline (load, prompt,
    picture, reply, marks, store, report), ranks them and compares the first two; then scores the three official FinMME
    examples with scripted replies that show a right, a wrong, an unanswered and a failed sample. Earlier runs of the
    demonstration in the same folder are replaced.
    """
    asyncio.run(_demo(out))


async def _demo(out: Path) -> None:
    from assay.models.replay import ReplayModel
    from assay.models.scripted import ScriptedModel
    from assay.report.terminal import print_comparison, print_ranking, print_result

    packaged = Path(str(files("assay") / "demo"))
    mathvision = load_benchmark("mathvision")
    source = Source(data=packaged / "mathvision", split="testmini")
    click.echo("1. MATH-Vision: 60 questions with pictures, published replies of four models and of random chance\n")
    runs: dict[str, Path] = {}
    for name in _PUBLISHED:
        model = ReplayModel.open(packaged / "mathvision" / "replies" / f"{name}.jsonl")
        runs[name] = out / "mathvision" / name
        result = await _run(mathvision, source, model, runs[name])
        counts = result.summary.counts
        click.echo(f"   {name:<16} {result.summary.samples} samples, {counts.failed} failed -> {runs[name]}")
    click.echo()
    stores = {name: RunStore.open(path) for name, path in runs.items()}
    outcomes = {name: Stored(store) for name, store in stores.items()}
    ranking = rank(outcomes, on_missing="exclude")
    print_ranking(ranking, title="MATH-Vision, 60 packaged items")
    first, second = (row.name for row in ranking.rows[:2])
    print_comparison(
        compare(outcomes[second], outcomes[first], mode="robust", on_missing="exclude"), second, first, notes=()
    )
    for store in stores.values():
        store.close()

    click.echo("\n2. FinMME: the three official examples with their charts, scripted replies\n")
    finmme = load_benchmark("finmme")
    source = Source(data=packaged / "finmme" / "official_examples.jsonl")
    for name in _SCRIPTED:
        model = ScriptedModel.from_file(packaged / "finmme" / "replies" / f"{name}.jsonl")
        result = await _run(finmme, source, model, out / "finmme" / name)
        print_result(result, finmme)
    click.echo(
        f"\nEvery sample above is in {out}. Try:\n"
        f"  assay score {out}/mathvision/Gemini-Pro\n"
        f"  assay compare {out}/mathvision/Qwen-VL-Max {out}/mathvision/Gemini-Pro"
    )


async def _run(benchmark: Benchmark, source: Source, model: Model, out: Path) -> Result:
    """One packaged run, from nothing."""
    if (out / "manifest.json").exists():
        shutil.rmtree(out)
    dataset: Dataset = benchmark.open(source)
    # The scripted failure would only fail again: no long waits for it.
    retry = Retry(attempts=2, base=0.01)
    try:
        await evaluate(Plan(benchmark=benchmark, source=source, model=model, out=out, retry=retry), dataset=dataset)
    finally:
        await model.close()
    with RunStore.open(out) as store:
        return result_of(
            benchmark,
            dataset,
            Stored(store),
            model=store.manifest.model,
            on_missing="exclude",
            expected=len(dataset),
        )
