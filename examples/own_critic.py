"""A critic of your own: anything with an identity that judges the steps of a solution.

    python examples/own_critic.py

This one distrusts every step that guesses. It asks no model; one that does puts `wrap` around it, so that its replies
are kept and its calls retried.
"""

import asyncio
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.engine.store import RunStore
from assay.evaluate import Plan, evaluate
from assay.models.scripted import ScriptedModel
from assay.solve.controls import controls
from assay.solve.plan import SearchPlan
from assay.solve.pool import pools_of
from assay.solve.records import Critique, Solution, StepVerdict
from assay.types import Message, Request, Sample

DATA = Path(str(files("assay"))) / "demo" / "mathvision"


class Distrust:
    """Steps that guess are wrong with a probability of 0.9; the correction says not to."""

    identity = "distrust:1"  # another version needs another identity: runs of both must not be mixed

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique:  # noqa: ARG002
        guesses = ["guess" in step for step in solution.steps]
        verdicts = [StepVerdict(correct=not guess, score=0.1 if guess else 0.9, source="given") for guess in guesses]
        return Critique(
            steps=tuple(verdicts), correction="I look at the picture again." if any(guesses) else None, calls=0
        )

    async def close(self) -> None:
        """Nothing to free."""


def policy(_request: Request, index: int) -> str:
    """Two of three solutions guess, and say B."""
    second = "I see that" if index % 3 == 0 else "I guess that"
    return f"Step 1: I read the question ({index}).\n\nStep 2: {second} so.\n\nStep 3: \\boxed{{{'ABB'[index % 3]}}}"


async def main(out: Path) -> None:
    await evaluate(
        Plan(
            benchmark=load_benchmark("mathvision"),
            source=Source(data=DATA, split="testmini"),
            model=ScriptedModel(policy),
            out=out,
            limit=10,
            search=SearchPlan(strategy="best-of-n", n=6),
            critic=lambda _wrap: Distrust(),
        )
    )
    with RunStore.open(out) as store:
        found = controls(store.outcomes(), pools_of(store), rule="mean", on_missing="exclude")
    for way, row in found.strategies.items():
        print(f"{way:18} {row.robust.correct} of {row.robust.n} right")


if __name__ == "__main__":
    asyncio.run(main(Path(dict(enumerate(sys.argv)).get(1, "runs/example-own-critic"))))
