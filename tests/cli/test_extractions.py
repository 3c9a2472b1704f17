"""`assay score` on replies with recorded extractions, and on parts of a benchmark; on rows that are made up."""

import json
from pathlib import Path
from typing import Any

from assay.benchmarks import load_benchmark
from support.command import run

ROWS = Path(__file__).resolve().parents[1] / "benchmarks" / "rows"

# By hand: the texts alone are right on 1 and 3; question 2 is answered in words, which only the extraction says in
# digits; 5 is wrong either way (its "9" is no 18). Question 4 has no reply.
REPLIES: list[dict[str, Any]] = [
    {"pid": "1", "response": "Answer: B", "extraction": "B"},
    {"pid": "2", "response": "There seem to be a dozen and two of them.", "extraction": "14"},
    {"pid": "3", "response": "Answer: 1.45", "extraction": "1.45"},
    {"pid": "5", "response": "Answer: A", "extraction": None},
]


def score(folder: Path, *options: str, rows: list[dict[str, Any]] = REPLIES) -> dict[str, Any]:
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run("score", "mathvista", "--replies", path, "--data", ROWS / "mathvista", "--json", *options)
    assert done.code == 0, done.err
    return done.json


def notes(result: dict[str, Any]) -> list[str]:
    return [note for note in result["notes"] if "language model" in note]


def test_cases_106_and_107_extractions_count_and_a_note_says_so(tmp_path: Path) -> None:
    """Both verdicts stand side by side, and whether a language model had a part in them is said with the score."""
    used = score(tmp_path)
    assert (used["reference"]["correct"], used["robust"]["correct"]) == (3, 3)
    (note,) = notes(used)
    assert note.endswith(
        "reference takes the 3 recorded extractions, and reads the other 1 by rule (--no-extractions: none)."
    )
    by_rule = score(tmp_path, "--no-extractions")
    assert (by_rule["reference"]["correct"], by_rule["robust"]["correct"]) == (2, 2)
    (note,) = notes(by_rule)
    assert note.endswith("here the reference verdicts read them by rule, so that a published score may differ.")


def test_bare_answers_are_extractions_themselves(tmp_path: Path) -> None:
    result = score(tmp_path, rows=[{"pid": "1", "response": "B"}, {"pid": "2", "response": "14"}])
    assert result["reference"]["correct"] == 2
    assert notes(result) == []


def test_the_old_integer_rule_is_a_benchmark_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"pid": "2", "response": "I think 14.0", "extraction": "14.0"}\n', encoding="utf-8")
    right = {
        name: run("score", name, "--replies", path, "--data", ROWS / "mathvista", "--json").json["reference"]["correct"]
        for name in ("mathvista", "mathvista-old")
    }
    assert right == {"mathvista": 1, "mathvista-old": 0}


def test_case_105_a_part_of_the_questions_is_printed_with_the_score(tmp_path: Path) -> None:
    part = score(tmp_path, "--where", "category=math-targeted-vqa")  # questions 3 and 5
    assert (part["reference"]["correct"], part["reference"]["n"]) == (1, 2)
    assert any("category=math-targeted-vqa: 2 of 5" in fact for fact in part["data"])


def test_case_109_a_prompt_has_a_hash_that_runs_record() -> None:
    hashes = {name: load_benchmark(name).prompt_hash() for name in ("mathvista", "mathverse")}
    assert all(len(bytes.fromhex(digest)) == 32 for digest in hashes.values())
    assert hashes["mathvista"] != hashes["mathverse"]


def test_case_103_the_version_stands_in_the_name_of_the_score(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text('{"id": "5", "response": "It is long.\\n\\\\boxed{4\\\\sqrt{3}}"}\n', encoding="utf-8")
    arguments = ("--replies", path, "--data", ROWS / "mathverse", "--split", "vision_only", "--json")
    result = run("score", "mathverse", *arguments).json
    assert result["split"] == "vision_only"
    assert "score: MathVerse w/o, quick match: Vision Only" in run("score", "mathverse", *arguments[:-1]).out
    assert result["score"] == "MathVerse w/o, quick match: Vision Only"
    assert result["reference"]["correct"] == 1
