"""FinMMR's `reference` against the published verdicts on three models' replies."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from assay.benchmarks import finmmr
from assay.benchmarks.base import outcome_of
from assay.models.replay import read_replies
from assay.types import NumberGold, Outcome, Reply, Sample

FILES = ("easy-validation_cot_chatgpt-4o-latest", "medium-validation_cot_internvl", "hard-validation_cot_qwen2.5")


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    text = (folder / "finmmr" / "parity" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def sample(row: dict[str, Any]) -> Sample:
    """The files cover all 900 rows of the split, the packed questions 96: the verdict needs the gold alone."""
    gold = NumberGold(value=repr(row["ground_truth"]), relative="0.002")
    return Sample(id=row["question_id"], question="?", gold=gold, group=row["question_id"])


@pytest.mark.parametrize("name", FILES)
def test_every_published_verdict_is_reproduced(shared_data: Path, name: str) -> None:
    published = rows(shared_data, name)
    outcomes: list[Outcome] = []
    for row in published:
        # Null: the language model found no number, which is its answer as well.
        reply = Reply(text=str(row["output"]), extraction=row["extracted_answer"] or "")
        marked = finmmr.mark(sample(row), reply)
        assert (marked.reference.verdict == "right") == bool(row["acc"]), row["question_id"]
        outcomes.append(outcome_of(finmmr.BENCHMARK, sample(row), marked, reply=reply))
    totals = json.loads((shared_data / "finmmr" / "parity" / "scores.json").read_text(encoding="utf-8"))
    (total,) = [total for total in totals if total["file"] == name]
    assert finmmr.scores(outcomes, "exclude") == {
        "official": {"acc": total["acc"], "execution_rate": total["execution_rate"], "n": total["n"]}
    }


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_read_as_they_are(shared_data: Path, name: str) -> None:
    """Texts with extractions beside them, and in one file lists of one text."""
    with closing(read_replies(shared_data / "finmmr" / "parity" / f"{name}.jsonl")) as recorded:
        for row in rows(shared_data, name):
            reply = recorded.get(row["question_id"])
            assert reply is not None
            assert reply.extraction == row["extracted_answer"]
            verdict = finmmr.mark(sample(row), reply).reference.verdict
            assert (verdict == "right") == bool(row["acc"]), row["question_id"]


@pytest.mark.parametrize("name", FILES)
def test_reading_by_rule_agrees_with_the_language_model_on_nearly_all(shared_data: Path, name: str) -> None:
    """Without extractions no more than 4 % of the verdicts change, nearly all on replies with several numbers."""
    published = rows(shared_data, name)
    with closing(read_replies(shared_data / "finmmr" / "parity" / f"{name}.jsonl")) as recorded:
        changed = 0
        for row in published:
            reply = recorded.get(row["question_id"])
            assert reply is not None
            verdict = finmmr.mark(sample(row), structs.replace(reply, extraction=None)).reference.verdict
            changed += (verdict == "right") != bool(row["acc"])
    assert changed <= 12
