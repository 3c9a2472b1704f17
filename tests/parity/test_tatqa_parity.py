"""TAT-QA's measures against the totals that the published script prints for the published sample prediction."""

import json
from pathlib import Path
from typing import Any, cast

from assay.benchmarks import tatqa
from assay.benchmarks.base import Source, outcome_of
from assay.types import Outcome, Reply


def predictions(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "tatqa" / "parity" / "sample_prediction_dev.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def reply(row: dict[str, Any]) -> Reply:
    """The published form of a prediction: a pair of answer and scale."""
    return Reply(text=json.dumps([row["pred"], row["pred_scale"]]))


def test_the_whole_dev_split(shared_data: Path, tmp_path: Path) -> None:
    published = predictions(shared_data)
    assert len(published) == 1668
    context: dict[str, Any] = {
        "table": {"uid": "t", "table": []},
        "questions": [{"question": "?", **row} for row in published],
    }
    (tmp_path / "dev.jsonl").write_text(json.dumps(context) + "\n", encoding="utf-8")
    rows = {row["uid"]: row for row in published}
    outcomes: list[Outcome] = []
    for sample in tatqa.open_tatqa(Source(data=tmp_path)):
        answer = reply(rows[sample.id])
        outcomes.append(outcome_of(tatqa.BENCHMARK, sample, tatqa.mark(sample, answer), reply=answer))
    assert tatqa.scores(outcomes, "exclude")["official"] == {"em": "45.92", "f1": "58.88", "scale": "90.95"}


def test_the_packed_questions_accept_their_gold_by_both_rules(shared_data: Path) -> None:
    dataset = tatqa.open_tatqa(Source(data=shared_data / "tatqa"))
    assert len(dataset) == 600
    assert dataset.facts == ()
    for sample in dataset:
        marked = tatqa.mark(sample, Reply(text=tatqa.gold_reply(sample)))
        assert (marked.reference.verdict, marked.robust.verdict) == ("right", "right"), sample.id
        assert marked.reference.credit == 1.0


def test_a_text_scores_as_its_published_form(shared_data: Path) -> None:
    """`Answer:` and `Scale:` lines that say the same as a pair get the same verdict and credit."""
    rows = {row["uid"]: row for row in predictions(shared_data)}
    compared = 0
    for sample in tatqa.open_tatqa(Source(data=shared_data / "tatqa")):
        row = rows[sample.id]
        pred: Any = row["pred"]
        parts = cast("list[object]", pred) if isinstance(pred, list) else [cast("object", pred)]
        if not all(parts) or any(str(part) != str(part).strip(" *_") for part in parts):
            continue
        text = Reply(text=f"Answer: {' | '.join(map(str, parts))}\nScale: {row['pred_scale'] or 'none'}")
        compared += 1
        one, other = tatqa.mark(sample, text).reference, tatqa.mark(sample, reply(row)).reference
        assert (one.verdict, one.credit) == (other.verdict, other.credit), sample.id
    assert compared > 500
