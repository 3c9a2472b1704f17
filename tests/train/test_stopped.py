"""What a stopped run says: how much is done, in the words of what it is about."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.errors import CallError, RunStopped
from assay.models.scripted import Answer, ScriptedModel
from assay.solve.outcome_critic import OutcomeCritic
from assay.solve.records import Critique, StepVerdict
from assay.train.correction_run import CorrectionTest, run_corrections
from assay.train.critique_records import CritiqueRecord
from assay.train.gold import BY_RULE
from assay.train.records import LabelledSolution, RolledSolution
from assay.train.testing import CriticTest, judge_solutions
from assay.train.topic_model import ask_topics
from assay.types import Request, Sampling
from support.rolled import rolled

Start = Callable[[Path, ScriptedModel], Coroutine[Any, Any, object]]


def solutions(*names: str) -> list[RolledSolution]:
    return [replace(rolled(f"{name}#0", 2), gold="2", question=f"How much is {name}?") for name in names]


def critic(folder: Path, model: ScriptedModel) -> Coroutine[Any, Any, object]:
    labelled = [
        LabelledSolution(id=name, source="s", question="?", steps=("a",), labels=(True,), first_error=None, group=name)
        for name in "xyz"
    ]
    test = CriticTest(
        name="examples",
        file=folder / "f.jsonl",
        solutions=labelled,
        critic=lambda wrap: OutcomeCritic(wrap(model)),
        whole=True,
        out=folder / "run",
        concurrency=1,
    )
    return judge_solutions(test)


def correction(folder: Path, model: ScriptedModel) -> Coroutine[Any, Any, object]:
    wrong = Critique(steps=(StepVerdict(correct=False, score=0.1, source="given"),), correction="It is 2.")
    made = {one.id: one for one in solutions("x", "y", "z")}
    tested = [
        CritiqueRecord(sample_id=name, source="s", group=name, labels=(False, False), first_error=0, said=wrong)
        for name in made
    ]
    test = CorrectionTest(
        rolled=made,
        tested=tested,
        critic="c",
        policy=model,
        benchmark=BY_RULE,
        known=None,
        out=folder / "run",
        sampling=Sampling(temperature=0.7),
        concurrency=1,
    )
    return run_corrections(test)


def topics(folder: Path, model: ScriptedModel) -> Coroutine[Any, Any, object]:
    return ask_topics([(one.id, one) for one in solutions("x", "y", "z")], model, folder, concurrency=1)


@pytest.mark.parametrize(("start", "noun"), [(critic, "solutions"), (correction, "corrections"), (topics, "questions")])
def test_it_names_what_it_counts(tmp_path: Path, start: Start, noun: str) -> None:
    def refuse(_request: Request, _draw: int) -> Answer:
        return CallError("auth", "The key is wrong.", fatal=True)

    with pytest.raises(RunStopped) as stopped:
        asyncio.run(start(tmp_path, ScriptedModel(refuse, identity="scripted:m")))
    assert str(stopped.value) == (
        "The key is wrong. Every further call would fail in the same way. "
        f"0 of 3 {noun} are done and kept; the same command goes on from there."
    )
