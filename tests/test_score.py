"""Marking recorded replies: in the data's order, whether a row takes a symbolic comparison or not."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source, mark_at_once, mark_reply
from assay.errors import DataError, RunMismatch
from assay.mark import symbolic
from assay.models.replay import read_replies
from assay.score import keep_replies, score_replies
from assay.types import Failure, Marked, Outcome

ROWS = 30
SYMBOLIC = {  # number of the row -> the reply: what plain arithmetic can't decide
    0: r"\boxed{(x+1)^2}",
    7: r"\boxed{x^2+2x+2}",
    20: r"\boxed{1+2x+x^2}",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Free questions whose answer is the row's number, but for a few that take algebra."""
    questions, replies = tmp_path / "testmini.jsonl", tmp_path / "replies.jsonl"
    with questions.open("w") as rows, replies.open("w") as said:
        for number in range(ROWS):
            answer = "x^2+2x+1" if number in SYMBOLIC else str(number)
            row: dict[str, object] = {
                "id": str(number),
                "question": "?",
                "options": [],
                "answer": answer,
                "level": 1,
                "subject": "algebra",
            }
            rows.write(json.dumps(row) + "\n")
            reply = SYMBOLIC.get(number, f"\\boxed{{{number if number % 3 else number + 1}}}")
            if number != 11:
                said.write(json.dumps({"id": str(number), "response": reply}) + "\n")
    return tmp_path


def outcomes(data: Path, most: int | None = None) -> list[Outcome]:
    benchmark = load_benchmark("mathvision")
    dataset = benchmark.open(Source(data=data, split="testmini", need_pictures=False))
    replies = read_replies(data / "replies.jsonl")
    try:
        return list(islice(score_replies(benchmark, dataset, replies), most))
    finally:
        replies.close()


def test_outcomes_stand_in_the_order_of_the_data(data: Path) -> None:
    symbolic.close()  # nothing is known yet, so that the first row is the last one to be ready
    found = outcomes(data)
    assert [outcome.sample_id for outcome in found] == [str(number) for number in range(ROWS)]
    right = {int(outcome.sample_id) for outcome in found if _right(outcome)}
    # (x+1)^2 = x^2+2x+1, and 1+2x+x^2 too; x^2+2x+2 is not. Of the others every third number is one too high.
    assert right == {0, 20} | {number for number in range(ROWS) if number % 3 and number not in (7, 11, 20)}


def test_a_missing_reply_is_a_failure(data: Path) -> None:
    result = outcomes(data)[11].result
    assert isinstance(result, Failure)
    assert result.kind == "no_reply"


def test_an_abandoned_marking_leaves_nothing_behind(data: Path) -> None:
    symbolic.close()
    assert [outcome.sample_id for outcome in outcomes(data, most=2)] == ["0", "1"]


def test_only_what_must_wait_waits(data: Path) -> None:
    symbolic.close()
    benchmark = load_benchmark("mathvision")
    samples = list(benchmark.open(Source(data=data, split="testmini", need_pictures=False)))
    replies = read_replies(data / "replies.jsonl")
    pairs = [(sample, reply) for sample in samples if (reply := replies.get(sample.id))]
    waits = {int(sample.id) for sample, reply in pairs if mark_at_once(benchmark, sample, reply) is None}
    assert waits == set(SYMBOLIC)
    # Once asked, it is known.
    sample, reply = pairs[0]
    assert mark_reply(benchmark, sample, reply) == mark_at_once(benchmark, sample, reply)
    replies.close()


def test_replies_of_other_questions_are_refused(data: Path) -> None:
    (data / "replies.jsonl").write_text('{"id": "another", "response": "5"}\n')
    with pytest.raises(DataError, match="none of its ids"):
        outcomes(data)


@pytest.mark.parametrize("changed", [{"extracted": True}, {"use_extractions": False}, {"limit": 3}])
def test_a_folder_holds_one_reading_of_the_replies(data: Path, changed: dict[str, Any]) -> None:
    """Marks of texts must not pass for marks of extracted answers, or the other way round."""
    benchmark = load_benchmark("mathvision")
    dataset = benchmark.open(Source(data=data, split="testmini", need_pictures=False))
    replies = read_replies(data / "replies.jsonl")
    keep_replies(data / "run", benchmark, dataset, replies)
    keep_replies(data / "run", benchmark, dataset, replies)
    with pytest.raises(RunMismatch):
        keep_replies(data / "run", benchmark, dataset, replies, **changed)
    replies.close()


def _right(outcome: Outcome) -> bool:
    return isinstance(outcome.result, Marked) and outcome.result.robust.verdict == "right"
