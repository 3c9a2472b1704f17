"""MathVista's published verdicts, predictions and score files, reproduced from the published extractions."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.benchmarks.data import RowContext
from assay.benchmarks.mathvista import convert, mark
from assay.benchmarks.mathvista_reference import IntegerRule
from assay.benchmarks.pictures import PictureStore
from assay.benchmarks.tables import Table
from assay.models.replay import read_replies
from assay.report.published import published
from assay.score import score_replies
from assay.types import Marked, Outcome, Reply
from support.command import run

# File -> the integer rule that it was scored with, and its published number of right answers.
FILES: dict[str, tuple[IntegerRule, int]] = {
    "gpt4": ("current", 261),
    "gpt4_2shot_solution": ("current", 292),
    "llavar": ("current", 252),
    "random_guess": ("current", 179),
    "frequent_guess": ("current", 263),
    "bard": ("old", 348),
    "gpt4_2shot_code": ("old", 260),
}
DIVERGENCES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "divergences.toml").read_text(encoding="utf-8")
)["mathvista"]
NAMES = {"current": "mathvista", "old": "mathvista-old"}

Scored = Callable[[str, IntegerRule], list[Outcome]]


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def scored(shared_data: Path, tmp_path: Path) -> Scored:
    """Outcomes of a published file under an integer rule, on rows with the metadata that the file was scored with."""

    def score(name: str, rule: IntegerRule) -> list[Outcome]:
        file = shared_data / "mathvista" / "parity" / f"{name}.jsonl"
        overridden = {row["pid"]: row["metadata_override"] for row in lines(file) if "metadata_override" in row}
        rows = lines(shared_data / "mathvista" / "testmini.jsonl")
        for row in rows:
            row["metadata"] = overridden.get(row["pid"], row["metadata"])
        data = tmp_path / "testmini.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        benchmark = load_benchmark(NAMES[rule])
        dataset = benchmark.open(Source(data=data, need_pictures=False))
        replies = read_replies(file)
        outcomes = list(score_replies(benchmark, dataset, replies))
        replies.close()
        return outcomes

    return score


def references(outcomes: list[Outcome]) -> dict[str, tuple[bool, str | None]]:
    return {
        outcome.sample_id: (outcome.result.reference.verdict == "right", outcome.result.reference.extraction)
        for outcome in outcomes
        if isinstance(outcome.result, Marked)
    }


@pytest.mark.parametrize("name", FILES)
def test_every_row_and_every_table(name: str, shared_data: Path, scored: Scored) -> None:
    rule, right = FILES[name]
    outcomes = scored(name, rule)
    ours = references(outcomes)
    published = {row["pid"]: row for row in lines(shared_data / "mathvista" / "parity" / f"{name}.jsonl")}
    assert len(published) == 1000
    assert [pid for pid, row in published.items() if ours[pid] != (row["true_false"], row["prediction"])] == []
    assert sum(verdict for verdict, _ in ours.values()) == right

    tables = json.loads((shared_data / "mathvista" / "parity" / f"{name}.scores.json").read_text(encoding="utf-8"))
    assert load_benchmark(NAMES[rule]).scores(outcomes, "wrong")["official"] == tables


@pytest.mark.parametrize("name", ["gpt4", "llavar", "bard", "gpt4_2shot_code"])
def test_a_file_fits_only_the_rule_that_it_was_scored_with(name: str, shared_data: Path, scored: Scored) -> None:
    rule: IntegerRule = "old" if FILES[name][0] == "current" else "current"
    ours = references(scored(name, rule))
    rows = lines(shared_data / "mathvista" / "parity" / f"{name}.jsonl")
    differing = [row["pid"] for row in rows if ours[row["pid"]] != (row["true_false"], row["prediction"])]
    assert len(differing) == 1 if name == "gpt4" else len(differing) > 1


def test_the_command_gives_the_published_number(shared_data: Path) -> None:
    folder = shared_data / "mathvista"
    done = run("score", "mathvista", "--replies", folder / "parity" / "gpt4.jsonl", "--data", folder, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["reference"]["correct"] == 261
    assert result["reference"]["n"] == 1000
    assert any("1,000 recorded extractions" in note for note in result["notes"])


def test_published_totals_are_in_the_table_of_published_results(shared_data: Path) -> None:
    theirs = json.loads((shared_data / "mathvista" / "parity" / "published_overall.json").read_text(encoding="utf-8"))
    # The template's outputs score 263, its score file says 179; two files are about the test split.
    others = {"testmini_template_for_leaderboard_submission", "test_frequent_guess", "test_random_guess"}
    assert {row.model: row.correct for row in published("mathvista")} == {
        model: cell["correct"] for model, cell in theirs.items() if model not in others
    }
    assert all(row.metrics["accuracy"] == (row.correct or 0) / 10 for row in published("mathvista"))


@pytest.mark.parametrize("row", DIVERGENCES, ids=lambda row: f"{row['case']} {row['extraction']}")
def test_robust_differs_where_it_is_listed(row: dict[str, Any]) -> None:
    choices = row.get("choices")
    fields = {
        "pid": "1",
        "question": "?",
        "choices": choices,
        "precision": row.get("precision"),
        "answer": row["gold"],
        "question_type": "multi_choice" if choices else "free_form",
        "answer_type": "text" if choices else row.get("type", "integer"),
    }
    table = Table(files=(), folder=Path(), revision="")
    sample = convert(fields, RowContext("row 1", table, PictureStore()))
    for reply in (Reply(text=row["extraction"], extracted=True), Reply(text="", extraction=row["extraction"])):
        marked = mark(sample, reply)
        assert (marked.reference.verdict, marked.reference.extraction or "") == (row["reference"], row["reads"])
        assert marked.robust.verdict == row["robust"]
        assert marked.difference
