"""A test of a critic as a run: what the critic is shown, what is kept, what a second start asks; and the sets."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.engine.budget import Price
from assay.engine.store import RunStore
from assay.errors import DataError, RunMismatch
from assay.fincharts.rows import LabelledSteps
from assay.solve.critic import Critic, ScriptedCritic
from assay.solve.records import Critique, Solution, StepVerdict, Unjudged
from assay.train.critique_records import CritiqueRecord
from assay.train.labelled import LABELLED, labelled_of_rollout, read_labelled
from assay.train.records import LabelledSolution, RolledStep
from assay.train.sets import SETS
from assay.train.testing import CriticTest, Wrap, judge_solutions, read_critiques, revision_of, spent_of
from assay.types import Failure, ImagePart, Marked, Message, Sample, TextPart, Usage
from support.pictures import file_of, noise
from support.process import vpb_row, write_rows
from support.rolled import rolled, write_rollouts


def labelled(name: str, *steps: str, labels: tuple[bool | None, ...] = (), **changed: Any) -> LabelledSolution:
    plain = LabelledSolution(
        id=name,
        source="s",
        question=f"What is {name}?",
        steps=steps,
        labels=labels or (True,) * len(steps),
        first_error=None,
        group=name,
    )
    return replace(plain, **changed)


def always(*scores: float, usage: Usage | None = None) -> Callable[[Sample, Solution], Critique]:
    steps = tuple(StepVerdict(correct=score > 0.5, score=score, source="given") for score in scores)
    return lambda _sample, _solution: Critique(steps=steps, usage=usage)


def judge(
    folder: Path,
    solutions: Sequence[LabelledSolution],
    critic: Callable[[Sample, Solution], Critique | Unjudged] | Critic,
    **options: Any,
) -> list[CritiqueRecord]:
    made = ScriptedCritic(critic) if callable(critic) else critic
    test = CriticTest(
        name="examples", file=folder / "f.jsonl", solutions=solutions, critic=lambda _wrap: made, out=folder / "run",
        **options,
    )  # fmt: skip
    asyncio.run(judge_solutions(test))
    return read_critiques(test.out, solutions)


class Watching:
    """A critic that keeps what it is shown."""

    identity = "watching"

    def __init__(self) -> None:
        self.seen: list[tuple[Sample, Sequence[Message], Solution]] = []

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique:
        self.seen.append((sample, messages, solution))
        return always(*[0.9] * len(solution.steps))(sample, solution)

    async def close(self) -> None:
        """Nothing to free."""


def test_what_a_critic_is_shown(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(file_of(noise("RGB", (40, 30)), "PNG"))
    critic = Watching()
    judge(tmp_path, [labelled("x", "one", "two\n", "three", images=(str(picture),))], critic)
    ((sample, (message,), solution),) = critic.seen
    assert (sample.gold, sample.question) == (None, "What is x?")
    assert [type(part) for part in message.parts] == [ImagePart, TextPart]
    # Steps of published sets end with nothing; joined they must not run into one another.
    assert solution.text == "one\n\ntwo\nthree"
    assert len(solution.steps) == 3


def test_one_record_and_one_outcome_for_each_solution(tmp_path: Path) -> None:
    solutions = [
        labelled("right", "a", "b", labels=(True, False), first_error=1),
        labelled("wrong", "a", "b", labels=(False, True), first_error=0),
        labelled("unknown", "a", "b", labels=(None, None), first_error=-1),
        labelled("no steps"),
        labelled("failed", "a", "b"),
        labelled("no picture", "a", "b", images=(str(tmp_path / "gone.png"),)),
    ]

    def say(sample: Sample, solution: Solution) -> Critique | Unjudged:
        if sample.id == "failed":
            return Unjudged(kind="failed", reason="server: down", calls=6)
        return always(*[0.9, 0.1][: len(solution.steps)])(sample, solution)

    records = judge(tmp_path, solutions, say)
    assert [record.sample_id for record in records] == [solution.id for solution in solutions]
    with RunStore.open(tmp_path / "run") as store:
        outcomes = {outcome.sample_id: outcome.result for outcome in store.outcomes()}
        assert store.failed_ids() == {"failed", "no picture"}
    verdicts = {name: one.robust.verdict for name, one in outcomes.items() if isinstance(one, Marked)}
    assert verdicts == {"right": "right", "wrong": "wrong", "unknown": "unmarkable", "no steps": "unmarkable"}
    failure = outcomes["failed"]
    assert isinstance(failure, Failure)
    assert (failure.stage, failure.kind) == ("call", "server")
    said = {record.sample_id: record.said for record in records}
    assert isinstance(said["no picture"], Unjudged)
    assert "gone.png" in said["no picture"].reason


def test_a_second_start_asks_only_for_what_failed(tmp_path: Path) -> None:
    asked: list[str] = []

    def say(sample: Sample, solution: Solution) -> Critique | Unjudged:
        asked.append(sample.id)
        if asked.count(sample.id) == 1 and sample.id == "b":
            return Unjudged(kind="failed", reason="server: down")
        if sample.id == "c":
            return Unjudged(kind="unparsable", reason="prose")
        return always(0.9)(sample, solution)

    solutions = [labelled(name, "a") for name in "abc"]
    judge(tmp_path, solutions, say)
    records = judge(tmp_path, solutions, say)
    assert sorted(asked) == ["a", "b", "b", "c"]
    assert [type(record.said) for record in records] == [Critique, Critique, Unjudged]


def test_other_solutions_are_another_run(tmp_path: Path) -> None:
    judge(tmp_path, [labelled("1", "tested")], always(0.9))
    with pytest.raises(RunMismatch):
        judge(tmp_path, [labelled("1", "tested"), labelled("2", "more")], always(0.9))


@pytest.mark.parametrize("score", [float("nan"), 1.5])
def test_a_critic_of_ones_own_that_gives_no_probability_gives_no_verdict(tmp_path: Path, score: float) -> None:
    (record,) = judge(tmp_path, [labelled("x", "a", "b")], always(0.9, score))
    assert isinstance(record.said, Unjudged)
    assert record.said.kind == "unparsable"


def test_the_revision_is_that_of_the_solutions_not_of_the_folder(tmp_path: Path) -> None:
    here, there = (labelled("x", "a", images=(f"{folder}/a.png",)) for folder in ("/here", "/there"))
    assert revision_of([here]) == revision_of([there])
    for other in (labelled("x", "b"), labelled("x", "a", labels=(False,)), labelled("x", "a", images=("b.png",))):
        assert revision_of([other]) != revision_of([here])


def test_what_critiques_took(tmp_path: Path) -> None:
    used = Usage(prompt_tokens=1000, completion_tokens=10)
    records = judge(tmp_path, [labelled(name, "a") for name in "abc"], always(0.9, usage=used))
    price = Price(model="m", prompt=_decimal("2"), completion=_decimal("10"))
    spent = spent_of(records, price)
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.unreported) == (3, 3000, 30, 0)
    # 3,000 * 2 / 1,000,000 + 30 * 10 / 1,000,000.
    assert spent.money is not None
    assert _decimal(spent.money) == _decimal("0.0063")
    unknown = [*records, replace(records[0], said=Critique(steps=()))]
    assert (spent_of(unknown, price).unreported, spent_of(unknown, price).money) == (1, None)


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


def test_the_model_is_asked_through_the_runs_store(tmp_path: Path) -> None:
    from assay.models.scripted import ScriptedModel
    from assay.solve.outcome_critic import OutcomeCritic

    asked: list[str] = []
    model = ScriptedModel(lambda request, _index: asked.append(request.sample_id) or "Yes", identity="scripted:yes")

    def make(wrap: Wrap) -> Critic:
        return OutcomeCritic(wrap(model))

    solutions = [labelled("x", "a", "b")]
    test = CriticTest(
        name="examples", file=tmp_path / "f", solutions=solutions, critic=make, whole=True, out=tmp_path / "run"
    )
    asyncio.run(judge_solutions(test))
    (tmp_path / "run" / "outcomes-0.jsonl").unlink()  # the reply is kept all the same
    asyncio.run(judge_solutions(test))
    assert asked == ["x"]
    (record,) = read_critiques(test.out, solutions)
    assert record.whole
    assert isinstance(record.said, Critique)
    assert len(record.said.steps) == 1
    assert not record.stopped


# ----------------------------------------------------------------------------------------------------------------------
# Sets


def test_every_process_benchmark_is_a_set() -> None:
    assert set(SETS) | {"rollouts", "examples", "fincharts"} == set(LABELLED)


def test_rollouts_have_the_hard_labels(tmp_path: Path) -> None:
    steps = [
        RolledStep(text="a", successes=1, marked=4, hard=True),
        RolledStep(text="b", successes=0, marked=4, hard=False),
        RolledStep(text="c", skipped=True),
    ]
    solution = replace(rolled("7#1"), steps=tuple(steps), images=("a.png",))
    file = write_rollouts(tmp_path / "rollouts.jsonl", [solution, replace(rolled("8#0", 1, 1), id="8#0")])
    first, second = read_labelled("rollouts", file)
    assert (first.labels, first.first_error, first.group, first.source) == (
        (True, False, None),
        1,
        "7",
        "rollouts/quiz",
    )
    assert [Path(image) for image in first.images] == [tmp_path.resolve() / "a.png"]
    assert (second.labels, second.first_error) == ((True, True), None)
    open_end = labelled_of_rollout(replace(solution, steps=(RolledStep(text="a", marked=2),)))
    assert (open_end.labels, open_end.first_error) == ((None,), -1)


def test_pictures_from_another_folder(tmp_path: Path) -> None:
    rows = [vpb_row("q", [1], "+", image=["sub/a.png", "/whole/b.png"])]
    file = write_rows(tmp_path / "rows.jsonl", rows)
    (beside,) = read_labelled("visualprocessbench", file)
    (elsewhere,) = read_labelled("visualprocessbench", file, images=Path("pictures"))
    assert [Path(image) for image in beside.images] == [tmp_path / "sub/a.png", Path("/whole/b.png")]
    assert elsewhere.images == ("pictures/sub/a.png", "/whole/b.png")
    assert elsewhere.group == beside.group


def test_limit_counts_solutions_that_can_be_read(tmp_path: Path) -> None:
    rows = [vpb_row("a", [1], "++"), *(vpb_row(name, [1], "+") for name in "bcd")]
    odd: list[DataError] = []
    file = write_rows(tmp_path / "rows.jsonl", rows)
    found = read_labelled("visualprocessbench", file, limit=2, on_odd=odd.append)
    assert [one.question for one in found] == ["b", "c"]
    assert len(odd) == 1
    with pytest.raises(DataError, match="1 labels for 2 steps"):
        read_labelled("visualprocessbench", file)


def test_lines_of_labelled_solutions(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "id": "1#right",
        "source": "fincharts/right",
        "question": "q",
        "steps": ["a", "b"],
        "labels": [True, False],
        "first_error": 1,
        "images": ["a.png"],
        "group": "1",
    }
    odd: list[DataError] = []
    rows = [row, row | {"labels": [True]}, row | {"first_error": 2}, {"id": "x"}]
    file = write_rows(tmp_path / "process.jsonl", rows)
    (kept,) = read_labelled("fincharts", file, on_odd=odd.append)
    assert (kept.labels, kept.first_error, kept.images) == ((True, False), 1, (str(tmp_path / "a.png"),))
    problems = [one.problem for one in odd]
    assert problems[:2] == ["has 1 labels for 2 steps", "names step 2 as its first wrong one, but has 2 steps"]
    assert "missing required field" in problems[2]
    with pytest.raises(DataError, match=r"process\.jsonl:2: has 1 labels"):
        read_labelled("fincharts", file)
    # What `assay data fincharts` writes has these fields and no other.
    assert set(LabelledSteps.__struct_fields__) == set(LabelledSolution.__struct_fields__)


def test_an_example_with_other_labels_than_steps_is_odd(tmp_path: Path) -> None:
    header = {"schema": "assay.examples", "version": 1, "made_by": "by hand"}
    row: dict[str, Any] = {
        "id": "1",
        "source": "s",
        "group": "g",
        "question": "q",
        "steps": ["a"],
        "critique": "c",
        "labels": [True, True],
        "first_error": None,
        "origin": "gold",
    }
    file = write_rows(tmp_path / "e.jsonl", [header, row, row | {"id": "2", "labels": [True]}])
    odd: list[DataError] = []
    (kept,) = read_labelled("examples", file, on_odd=odd.append)
    assert (kept.id, kept.source, len(odd)) == ("2", "examples/s", 1)
    with pytest.raises(DataError, match="example 1: has 2 labels for 1 steps"):
        read_labelled("examples", file)
    twice = write_rows(tmp_path / "f.jsonl", [header, row | {"labels": [True]}, row | {"labels": [True]}])
    with pytest.raises(DataError, match="holds the id '1' twice"):
        read_labelled("examples", twice)
    assert json.loads(twice.read_text().splitlines()[0]) == header
