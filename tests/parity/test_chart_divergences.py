"""The listed replies on which `robust` differs from the published rule of a financial chart benchmark."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.types import Reply

LISTED: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "divergences.toml").read_text(encoding="utf-8")
)
ROWS = [(name, row) for name in ("chartqa", "finchartbench", "finmmr", "tatqa") for row in LISTED[name]]


def as_published(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row in the benchmark's own form."""
    question, gold = row.get("question", "?"), row["gold"]
    match name:
        case "chartqa":
            return {"id": 1, "query": question, "label": gold, "source": "human", "image": "1.png"}
        case "finchartbench":
            choices = {"choices": {"A": "2013", "D": "2016"}} if row["type"] == "MC" else {}
            return {"id": 1, "type": row["type"], "question": question, "answer": gold, "image": "1.png", **choices}
        case "finmmr":
            return {"question_id": "1", "question": question, "ground_truth": gold}
        case _:
            question = {"uid": "1", "question": "?", "answer": gold, "answer_type": row["type"], "scale": row["scale"]}
            return {"table": {"uid": "t", "table": [["x"]]}, "questions": [question]}


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name} {row['case']}: {row['reply']}" for name, row in ROWS])
def test_quirk_is_reproduced_and_mended(name: str, row: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(as_published(name, row)) + "\n", encoding="utf-8")
    benchmark = load_benchmark(name)
    (sample,) = benchmark.open(Source(data=tmp_path / "rows.jsonl", need_pictures=False))
    marked = benchmark.mark(sample, Reply(text=row["reply"]))
    assert (marked.reference.verdict, marked.robust.verdict) == (row["reference"], row["robust"]), marked
    assert row["reference"] == row["robust"] or marked.difference
    assert row["why"]
