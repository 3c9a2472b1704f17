"""FinCharts as a benchmark: FinMME's reading, marks and FinScore, our facets, seed questions as groups."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.benchmarks.base import Source, mark_reply, outcome_of
from assay.benchmarks.fincharts import BENCHMARK, FACETS
from assay.errors import DataError, UsageError
from assay.fincharts.rows import row
from assay.types import Marked, NumberGold, Outcome, Reply, Sample
from support.finchart_items import items, plain

FINMME = (
    "id",
    "image",
    "question_text",
    "question_type",
    "options",
    "answer",
    "unit",
    "tolerance",
    "verified_caption",
    "related_sentences",
    "knowledge_domain",
)
"""Columns of FinMME's loaders."""


def folder(path: Path, **options: Any) -> Path:
    """Questions without their pictures."""
    made = items(14, 80, **options)
    (path / "rows.jsonl").write_bytes(b"".join(msgspec.json.encode(row(item)) + b"\n" for item in made))
    return path


def opened(path: Path) -> list[Sample]:
    return list(BENCHMARK.open(Source(data=path, need_pictures=False)))


def test_rows_have_finmmes_columns_first(tmp_path: Path) -> None:
    lines = (folder(tmp_path) / "rows.jsonl").read_text().splitlines()
    for line in lines:
        assert tuple(json.loads(line))[: len(FINMME)] == FINMME


def test_every_row_is_read_and_its_own_gold_accepted(tmp_path: Path) -> None:
    dataset = BENCHMARK.open(Source(data=folder(tmp_path), need_pictures=False))
    assert len(dataset) == 80
    assert [fact for fact in dataset.facts if "picture" not in fact] == []
    for sample in dataset:
        marked = mark_reply(BENCHMARK, sample, Reply(text=BENCHMARK.gold_reply(sample)))
        assert isinstance(marked, Marked)
        assert marked.robust.verdict == "right"
        # the script's text is cut at the first blank; a gold reply has none
        assert marked.reference.verdict == "right"


def test_samples_carry_facets_context_and_group(tmp_path: Path) -> None:
    made = {item.id: plain(item) for item in items(14, 80)}
    for sample in opened(folder(tmp_path)):
        item = made[sample.id]
        assert sample.group == item["group"]
        assert sample.facets["knowledge_domain"] == (item["chart"]["domain"],)
        assert sample.facets["chart_type"] == (item["chart"]["chart_class"],)
        assert sample.facets["chart_subclass"] == (item["chart"]["kind"],)
        assert sample.facets["cognitive_level"] == (item["question"]["level"],)
        assert set(FACETS) <= set(sample.facets)
        assert sample.context["caption"] == item["chart"]["caption"]
        assert ("multi_answer" in sample.facets) == (item["question"]["type"] == "multiple_choice")
        if isinstance(sample.gold, NumberGold):
            assert sample.gold.value == item["question"]["answer"]


def test_the_prompt_is_finmmes(tmp_path: Path) -> None:
    for sample in opened(folder(tmp_path)):
        (message,) = BENCHMARK.messages(sample, ())
        text = message.parts[0].text  # type: ignore[union-attr]
        assert sample.question in text
        assert sample.context["caption"] in text
        for option in sample.options:
            assert f"\n{option.label}: {option.text}" in text


def answered(samples: list[Sample], right: Callable[[Sample], bool]) -> list[Outcome]:
    found: list[Outcome] = []
    for sample in samples:
        text = BENCHMARK.gold_reply(sample) if right(sample) else "Answer: none of these, I think"
        reply = Reply(text=text)
        found.append(outcome_of(BENCHMARK, sample, mark_reply(BENCHMARK, sample, reply), reply=reply))
    return found


def test_worst_case_accuracy_is_over_seed_questions(tmp_path: Path) -> None:
    """Three variants of each of 80 seeds; the third variant of every second seed is wrong: 200 of 240, 40 of 80."""
    samples = opened(folder(tmp_path, variants=3))
    assert len(samples) == 240

    def right(sample: Sample) -> bool:
        return not (sample.facets["variant"] == ("2",) and int(sample.group) % 2 == 0)

    outcomes = answered(samples, right)
    scores = BENCHMARK.scores(outcomes, "wrong")
    variants = scores["variants"]["robust"]
    assert variants["n_seeds"] == 80
    assert variants["average_accuracy"] == pytest.approx(200 / 240)
    assert variants["worst_case_accuracy"] == pytest.approx(40 / 80)
    assert "finscore" in scores


def test_without_variants_there_is_finscore_alone(tmp_path: Path) -> None:
    samples = opened(folder(tmp_path))
    scores = BENCHMARK.scores(answered(samples, lambda sample: bool(sample.id)), "wrong")
    assert list(scores) == ["finscore"]


def test_no_folder_and_no_finished_folder_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fincharts is made, not fetched: `assay data fincharts --out DIR`"):
        BENCHMARK.open(Source())
    (tmp_path / "fincharts.json").write_text("{}")
    with pytest.raises(DataError, match=r"is not finished. Repeat the `assay data fincharts` that began it"):
        BENCHMARK.open(Source(data=tmp_path))
