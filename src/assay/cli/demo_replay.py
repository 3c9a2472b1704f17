"""`assay demo --replay`: published replies of real models through the whole pipeline, offline."""

from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.cli.demo_folder import MARK, make_way
from assay.engine.local import Retry
from assay.engine.store import RunStore
from assay.evaluate import Plan, evaluate
from assay.mark.compare import compare
from assay.mark.ranking import rank
from assay.models.base import Model
from assay.report.result import Result, Stored, result_of

_PUBLISHED = ("Gemini-Pro", "Gemini-Pro-CoT", "Qwen-VL-Max", "LLaVA-v1.5-13B", "Random-Chance")
_SCRIPTED = ("careful", "hasty")


async def replay(out: Path) -> None:
    """Score published replies of real models, offline.

    Replays what five published systems answered to 60 MATH-Vision questions through the whole pipeline (load, prompt,
    picture, reply, marks, store, report), ranks them and compares the first two; then scores the three official FinMME
    examples with scripted replies that show a right, a wrong, an unanswered and a failed sample. An earlier
    replay in the same folder is replaced.
    """
    packaged = Path(str(files("assay") / "demo"))
    await _finmme(packaged / "finmme", out / "finmme")
    await _mathvision(packaged / "mathvision", out / "mathvision")
    click.echo(
        f"\nEvery sample above is in {out}. Try:\n"
        f"  assay score {out}/mathvision/Gemini-Pro\n"
        f"  assay compare {out}/mathvision/Qwen-VL-Max {out}/mathvision/Gemini-Pro\n"
        "and then your own model:\n"
        "  assay eval mathvision --data DATA --model NAME --base-url http://HOST:PORT/v1"
    )


async def _finmme(packaged: Path, out: Path) -> None:
    """Two scripted policies: every way in which a sample can end."""
    from assay.models.scripted import ScriptedModel
    from assay.report.terminal_samples import print_samples

    click.echo("1. FinMME: the three official examples with their charts, scripted replies")
    finmme = load_benchmark("finmme")
    for name in _SCRIPTED:
        model = ScriptedModel.from_file(packaged / "replies" / f"{name}.jsonl")
        source = Source(data=packaged / "official_examples.jsonl")
        await _run(finmme, source, model, out / name)
        with RunStore.open(out / name) as store:
            print_samples(store.outcomes(), title=f"Scripted policy '{name}': what became of each sample")
    click.echo("\nA failed call is not a wrong answer, and an unanswered question is not a failed call.")


async def _mathvision(packaged: Path, out: Path) -> None:
    """Five published systems, ranked; the first two compared."""
    from assay.models.replay import ReplayModel
    from assay.report.terminal import print_comparison, print_ranking

    click.echo("\n2. MATH-Vision: 60 questions with pictures, published replies of four models and of random chance\n")
    mathvision = load_benchmark("mathvision")
    with ExitStack() as opened:
        stores: dict[str, RunStore] = {}
        for name in _PUBLISHED:
            model = ReplayModel.open(packaged / "replies" / f"{name}.jsonl")
            source = Source(data=packaged, split="testmini")
            result = await _run(mathvision, source, model, out / name)
            reference, robust = result.summary.reference, result.summary.robust
            click.echo(
                f"   {name:<15} {result.summary.samples} samples, {result.summary.counts.failed} failed; right by the "
                f"published script {reference.correct}, by robust marking {robust.correct}"
            )
            stores[name] = opened.enter_context(RunStore.open(out / name))
        runs = {name: Stored(store) for name, store in stores.items()}
        ranking = rank(runs, on_missing="exclude")
        first, second = (row.name for row in ranking.rows[:2])
        comparison = compare(runs[second], runs[first], mode="robust", on_missing="exclude")
        print_comparison(comparison, second, first)
        print_ranking(
            ranking,
            title="The result: MATH-Vision, 60 packaged items",
            notes=("Sixty questions are too few to tell systems apart that are so close: that, too, is a result.",),
        )


async def _run(benchmark: Benchmark, source: Source, model: Model, out: Path) -> Result:
    """One packaged run, from nothing."""
    try:
        make_way(out)
        dataset: Dataset = benchmark.open(source)
        # The scripted failure would only fail again: no long waits for it.
        retry = Retry(attempts=2, base=0.01)
        plan = Plan(benchmark=benchmark, source=source, model=model, out=out, retry=retry, environment=MARK)
        await evaluate(plan, dataset=dataset)
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
