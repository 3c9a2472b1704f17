"""FinMME's `reference` against published verdicts, and `robust` against the listed quirks of the script."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks.base import Source
from assay.benchmarks.finmme import BENCHMARK, mark
from assay.types import ChoiceGold, Gold, NumberGold, Option, Reply, Sample

DIVERGENCES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "divergences.toml").read_text(encoding="utf-8")
)["finmme"]


def published_rows(shared_data: Path) -> dict[str, dict[str, Any]]:
    lines = (shared_data / "finmme" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {str(row["id"]): row for row in rows if row["other_system_prediction"] is not None}


def test_every_published_verdict_is_reproduced(shared_data: Path) -> None:
    published = published_rows(shared_data)
    assert len(published) == 41
    dataset = BENCHMARK.open(Source(data=shared_data / "finmme"))
    verdicts = {
        sample.id: mark(sample, Reply(text=row["other_system_prediction"], extracted=True)).reference.verdict
        for sample in dataset
        if (row := published.get(sample.id))
    }
    assert verdicts == {
        sample_id: "right" if row["other_system_official_correct"] else "wrong" for sample_id, row in published.items()
    }
    assert sum(verdict == "right" for verdict in verdicts.values()) == 12


def test_published_predictions_need_no_robust_correction(shared_data: Path) -> None:
    """They are clean letters and plain floats, so both verdicts agree on every row."""
    published = published_rows(shared_data)
    for sample in BENCHMARK.open(Source(data=shared_data / "finmme")):
        if row := published.get(sample.id):
            marked = mark(sample, Reply(text=row["other_system_prediction"], extracted=True))
            assert marked.robust.verdict == marked.reference.verdict, sample.id
            assert marked.difference is None


def sample_of(row: dict[str, Any]) -> Sample:
    labels, texts = row.get("options", "ABCD"), row.get("texts")
    options = tuple(Option(label=label, text=texts[place] if texts else "") for place, label in enumerate(labels))
    if row["type"] == "numerical":
        tolerance = row.get("tolerance", "0")
        gold: Gold = NumberGold(
            value=row["gold"], tolerance=None if tolerance == "null" else tolerance, unit=row.get("unit")
        )
        options = ()
    else:
        gold = ChoiceGold(labels=tuple(row["gold"].split(",")), multiple=row["type"] == "multiple_choice")
    return Sample(id="q", question="?", options=options, gold=gold, facets={"question_type": (row["type"],)}, group="q")


@pytest.mark.parametrize("row", DIVERGENCES, ids=lambda row: f"{row['case']}: {row['reply']}")
def test_quirk_is_reproduced_and_mended(row: dict[str, Any]) -> None:
    marked = mark(sample_of(row), Reply(text=row["reply"]))
    assert (marked.reference.verdict, marked.reference.extraction) == (row["reference"], row["reads"])
    assert marked.robust.verdict == row["robust"]
    assert marked.difference == row["reason"]
