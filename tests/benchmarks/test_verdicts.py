"""Files of published verdicts, and what keeps them apart from replies."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.benchmarks.verdicts import read_verdicts, score_verdicts
from assay.errors import DataError
from assay.types import Failure, Marked
from support.command import PACKAGED, run

DYNAMATH = load_benchmark("dynamath")
MATHVISION = load_benchmark("mathvision")


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("field", ["correct", "true_false", "is_correct"])
def test_one_verdict_a_row(tmp_path: Path, field: str) -> None:
    rows = [{"id": "1", field: True}, {"id": 2, field: 0}, {"id": "3", field: None}]
    found = read_verdicts(write(tmp_path / "v.jsonl", *rows), MATHVISION)
    assert found is not None
    assert found.verdicts == {"1": True, "2": False}


def test_several_verdicts_a_row(tmp_path: Path) -> None:
    found = read_verdicts(write(tmp_path / "v.jsonl", {"qid": 25, "correct": [1, 0]}), DYNAMATH)
    assert found is not None
    assert found.verdicts == {"v1_q25": True, "v2_q25": False}


@pytest.mark.parametrize(
    "row", [{"id": "1", "response": "B"}, {"id": "1", "response": "B", "correct": True}, {"id": "1"}]
)
def test_replies_are_no_verdicts(tmp_path: Path, row: dict[str, Any]) -> None:
    assert read_verdicts(write(tmp_path / "v.jsonl", row), MATHVISION) is None
    assert read_verdicts(tmp_path, MATHVISION) is None
    assert read_verdicts(write(tmp_path / "empty.jsonl"), MATHVISION) is None


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "2", "response": "B"}, "is no published verdict"),
        ({"id": "2", "correct": True, "response": "B"}, "is no published verdict"),
        ({"id": "1", "correct": False}, "a second verdict on sample 1"),
        ({"correct": False}, "has no sample id"),
        ({"id": "2", "correct": "yes"}, "has the verdict 'yes'"),
        ({"id": "2", "correct": 0.5}, "has the verdict 0.5"),
    ],
)
def test_a_file_that_holds_something_else_as_well(tmp_path: Path, row: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_verdicts(write(tmp_path / "v.jsonl", {"id": "1", "correct": True}, row), MATHVISION)


def test_what_a_verdict_becomes(tmp_path: Path) -> None:
    data = DYNAMATH.open(Source(data=PACKAGED / "dynamath"))
    published = read_verdicts(write(tmp_path / "v.jsonl", {"qid": 25, "correct": [1, 0]}), DYNAMATH)
    assert published is not None
    first, second, *others = score_verdicts(DYNAMATH, data, published)
    assert isinstance(first.result, Marked)
    assert isinstance(second.result, Marked)
    assert (first.result.reference.verdict, second.result.reference.verdict) == ("right", "wrong")
    assert {first.result.robust.verdict, second.result.robust.verdict} == {"unmarkable"}
    assert first.result.reference.reason == "published verdict"
    assert len(others) == 4
    assert all(isinstance(outcome.result, Failure) and outcome.result.kind == "no_verdict" for outcome in others)
    with pytest.raises(DataError, match="none of its verdicts is on a sample"):
        next(
            score_verdicts(
                DYNAMATH,
                data,
                read_verdicts(write(tmp_path / "w.jsonl", {"id": "x", "correct": 1}), DYNAMATH) or published,
            )
        )


def test_the_command_scores_verdicts_beyond_the_data_and_says_so(tmp_path: Path) -> None:
    """Seed 25 has two variants in the data, seed 900 none: 3 of 4 right, one of two seeds right in both variants."""
    subject = {"subject": "algebra", "level": "undergraduate"}
    rows = [{"qid": 25, "correct": [1, 1], **subject}, {"qid": 900, "correct": [0, 1], **subject}]
    replies = write(tmp_path / "v.jsonl", *rows)
    done = run("score", "dynamath", "--replies", replies, "--data", PACKAGED / "dynamath", "--json")
    assert done.code == 0, done.err
    found = done.json["dynamath"]["reference"]
    assert (found["average_accuracy"], found["worst_case_accuracy"]) == (3 / 4, 1 / 2)
    assert found["first_incomplete"] == ["q26", "q58"]  # in the data, without verdicts
    assert "2 samples are not in the data; what is known of them stands in the file of verdicts." in done.json["data"]
    assert done.json["counts"]["failed"] == 4

    algebra = run(
        "score", "dynamath", "--replies", replies, "--data", PACKAGED / "dynamath", "--where", "level=undergraduate"
    )
    assert algebra.code == 0, algebra.err
    assert "Only samples where level=undergraduate" in algebra.out
    assert "worst case accuracy" in algebra.out


def test_a_run_keeps_to_its_part(tmp_path: Path) -> None:
    done = run("score", tmp_path, "--where", "subject=algebra")
    assert done.code != 0
    assert "--where chooses samples when a run is made" in done.err
