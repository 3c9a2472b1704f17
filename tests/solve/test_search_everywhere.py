"""Every benchmark can be searched: pools, marks and controls on its rows, whatever its questions look like."""

import asyncio
from pathlib import Path

import pytest

from assay.benchmarks import BENCHMARKS
from assay.engine.store import RunStore
from assay.evaluate import Plan, evaluate
from assay.models.scripted import ScriptedModel
from assay.solve.controls import controls
from assay.solve.critic import ScriptedCritic
from assay.solve.plan import SearchPlan
from assay.solve.pool import pools_of
from assay.solve.records import Critique, Solution, StepVerdict
from assay.types import Failure, Request, Sample
from support.rows import opened, rows_of

SEARCH = SearchPlan(strategy="refined-bon", n=4, continuation="prompt")


def flag_the_second_step(sample: Sample, solution: Solution) -> Critique:
    """Every solution of an odd draw has its second step wrong. No critic may see gold."""
    assert sample.gold is None
    odd = "second look" in solution.text or "fourth look" in solution.text
    steps = tuple(
        StepVerdict(correct=not (odd and place == 1), score=0.2 if odd and place == 1 else 0.8, source="given")
        for place in range(len(solution.steps))
    )
    return Critique(steps=steps, correction="It is as it should be." if odd else None, calls=0)


def announced(reply: str) -> str:
    """A bare answer is one only where nothing stands before it."""
    return reply if ":" in reply or "boxed" in reply else f"Answer: {reply}"


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_search(name: str, tmp_path: Path) -> None:
    benchmark, samples = opened(name)
    golds = {sample.id: announced(benchmark.gold_reply(sample)) for sample in samples if sample.gold is not None}

    def answer(request: Request, index: int) -> str:
        """Draw 2 and what goes on from a correction give the gold answer; the others say nothing of use."""
        said = request.messages[-1].parts[-1]
        gold = golds.get(request.sample_id, "-")
        if "<checked_steps>" in getattr(said, "text", ""):
            return f"And so it goes on.\n\n{gold}"
        look = ("first", "second", "third", "fourth")[index] if index < 4 else "another"
        return f"This is a {look} look.\n\nIt is what it is.\n\n{gold if index == 2 else 'I cannot tell.'}"

    plan = Plan(
        benchmark=benchmark,
        source=rows_of(name),
        model=ScriptedModel(answer),
        out=tmp_path,
        limit=4,
        search=SEARCH,
        critic=lambda _wrap: ScriptedCritic(flag_the_second_step),
    )
    asyncio.run(evaluate(plan))
    with RunStore.open(tmp_path) as store:
        outcomes = list(store.outcomes())
        records = list(pools_of(store))
        found = controls(outcomes, records, rule="mean", on_missing="exclude", ks=(1, 2, 4))
    assert not [outcome for outcome in outcomes if isinstance(outcome.result, Failure)]
    assert len(records) == len(outcomes) == min(4, len(samples))
    for record in records:
        assert [len(record.members[member]) for member in ("greedy", "plain", "refined")] == [1, 4, 4]
        assert len(record.pool) == len(record.marks) == 7
    # Draw 2 is right; so is what was refined from draw 1.
    assert found.strategies["pass"].robust.correct == found.strategies["pass"].robust.n
    assert found.refinement is not None
    assert (found.refinement.refined, found.refinement.harmed) == (len(records), 0)
    # A benchmark's own scores are computed of the chosen solutions.
    benchmark.scores(outcomes, "exclude")
