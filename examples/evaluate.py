"""Ask a model every question of a benchmark and print its score.

    python examples/evaluate.py                                      packaged questions, replies of a real model
    python examples/evaluate.py openai:NAME@http://127.0.0.1:8000/v1

Run it twice: the second time nothing is asked again.
"""

import asyncio
import sys
from importlib.resources import files
from pathlib import Path

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.engine.store import RunStore
from assay.evaluate import Plan, evaluate
from assay.mark.summary import summarise
from assay.models import open_model
from assay.models.base import parse_address

DATA = Path(str(files("assay"))) / "demo" / "mathvision"


async def main(address: str, out: Path) -> None:
    benchmark = load_benchmark("mathvision")
    model = open_model(parse_address(address))
    try:
        source = Source(data=DATA, split="testmini")
        finished = await evaluate(Plan(benchmark=benchmark, source=source, model=model, out=out))
    finally:
        await model.close()
    with RunStore.open(out) as store:
        summary = summarise(store.outcomes(), on_missing="exclude")
    print(f"{finished.done} samples done, {finished.failed} failed")
    print(f"robust: {summary.robust.correct} of {summary.robust.n} right")


if __name__ == "__main__":
    arguments = dict(enumerate(sys.argv))
    replayed = f"replay:{DATA / 'replies' / 'Gemini-Pro.jsonl'}"
    asyncio.run(main(arguments.get(1, replayed), Path(arguments.get(2, "runs/example-evaluate"))))
