"""What a critic's quality is worth: critics that are wrong just so often, in the place of the tiny one.

A simulated critic knows the exact labels. It turns each verdict round with a chance of `flips`, and its correction of
the step that it holds for the first wrong one is right with a chance of `fixes`; else it is another bar's reading or
another number. Its errors are independent of the policy's, which a real critic's are not.
"""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rows

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.engine.store import RunStore
from assay.evaluate import Plan, evaluate
from assay.fincharts.lite import LiteItem, items
from assay.fincharts.lite_critiques import gold_step, labels
from assay.models import open_model
from assay.models.base import parse_address
from assay.solve.controls import controls
from assay.solve.plan import SearchPlan
from assay.solve.pool import pools_of
from assay.solve.records import Critique, Solution, StepVerdict, Unjudged
from assay.types import Message, Sample

QUESTIONS = 300
POINTS = ((0.1, 0.2), (0.1, 0.4), (0.1, 0.6), (0.1, 0.8), (0.1, 1.0), (0.0, 1.0))
"""Chance of a turned verdict, and of a right correction."""


class SimulatedCritic:
    """See above; one for all questions of the seed `held-out`."""

    def __init__(self, flips: float, fixes: float) -> None:
        self._flips = flips
        self._fixes = fixes
        self._items = {
            f"held-out-{number}": item for number, item in enumerate(itertools.islice(items("held-out"), QUESTIONS), 1)
        }

    @property
    def identity(self) -> str:
        return f"simulated flips={self._flips} fixes={self._fixes}"

    async def critique(
        self,
        sample: Sample,
        messages: Sequence[Message],  # noqa: ARG002
        solution: Solution,
    ) -> Critique | Unjudged:
        if not solution.steps:
            return Unjudged(kind="empty", reason="the solution has no steps", calls=0)
        item = self._items[sample.id]
        # Verdicts do not depend on `fixes`: critics that differ in it alone choose alike among plain solutions.
        rng = random.Random(f"{self._flips} {sample.id} {solution.text}")
        said = [right != (rng.random() < self._flips) for right in labels(item, solution.steps)]
        steps = tuple(
            StepVerdict(correct=right, score=0.5 + (0.5 if right else -0.5) * rng.random(), source="given")
            for right in said
        )
        first = next((place for place, right in enumerate(said) if not right), None)
        fixed = None if first is None else self._fix(item, solution.steps, first, rng)
        return Critique(steps=steps, correction=fixed)

    async def close(self) -> None:
        """It holds nothing."""

    def _fix(self, item: LiteItem, steps: Sequence[str], place: int, rng: random.Random) -> str:
        gold = gold_step(item, steps, place)
        return gold if rng.random() < self._fixes else rows.spoiled(gold, item.options, rng)


async def curve(out: Path) -> list[dict[str, Any]]:
    """Accuracies at each point, all on the same questions and draws."""
    return [await _point(out, flips, fixes) for flips, fixes in POINTS]


async def _point(out: Path, flips: float, fixes: float) -> dict[str, Any]:
    folder = out / "simulated" / f"flips-{flips}-fixes-{fixes}"
    model = open_model(parse_address("local:tiny-policy"))
    try:
        await evaluate(
            Plan(
                benchmark=load_benchmark("fincharts-lite"),
                source=Source(split=f"held-out:{QUESTIONS}"),
                model=model,
                out=folder,
                concurrency=256,
                search=SearchPlan(strategy="refined-bon", n=8),
                critic=lambda _wrap: SimulatedCritic(flips, fixes),
            )
        )
    finally:
        await model.close()
    with RunStore.open(folder) as store:
        found = controls(store.outcomes(), pools_of(store), rule="mean", on_missing="wrong")
    ways = found.strategies
    harm = found.refinement
    return {
        "flips": flips,
        "fixes": fixes,
        **{
            way: _percent(ways[way].robust.accuracy)
            for way in ("greedy", "self-consistency", "best-of-n", "refined-bon")
        },
        "harm_rate": harm.harm_rate if harm else None,
        "help_rate": harm.help_rate if harm else None,
    }


def _percent(accuracy: float | None) -> float | None:
    return None if accuracy is None else round(100 * accuracy, 1)
