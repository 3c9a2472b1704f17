"""Published results: complete, sourced, and what keeps a run from being compared with them."""

import json
from pathlib import Path

import pytest

from assay.benchmarks import BENCHMARKS
from assay.report.published import comparability, published, published_table


def test_every_row_names_its_source_and_its_metrics_are_columns() -> None:
    for benchmark in ("finmme", "mathvision", "visualprocessbench"):
        table = published_table(benchmark)
        assert table is not None
        assert table.benchmark == benchmark
        columns = {column.key for column in table.columns}
        assert table.sort_by in columns
        for row in table.rows:
            assert row.source
            assert row.metrics.keys() <= columns
            assert all(0 <= value <= 100 for value in row.metrics.values())


def test_models_are_named_once_and_stand_best_first() -> None:
    for benchmark, key in (("finmme", "finscore"), ("mathvision", "accuracy")):
        rows = published(benchmark)
        assert len({row.model for row in rows}) == len(rows)
        values = [row.metrics[key] for row in rows if key in row.metrics]
        assert values == sorted(values, reverse=True)
        assert [key in row.metrics for row in rows] == sorted((key in row.metrics for row in rows), reverse=True)


def test_finmme_has_the_17_models_of_the_paper_and_one_independent_run() -> None:
    rows = published("finmme")
    assert len(rows) == 18
    assert rows[0].model == "Qwen2.5-VL 72B"
    assert rows[0].metrics["finscore"] == 20.87
    independent = [row for row in rows if "finscore" not in row.metrics]
    assert [row.model for row in independent] == ["Qwen2.5-VL 7B"]
    assert independent[0].source != rows[0].source
    # 4,465 / 6,567, 1,065 / 2,680, 640 / 1,852 and 6,170 / 11,099.
    for key, right, n in (
        ("single", 4465, 6567),
        ("multiple", 1065, 2680),
        ("numerical", 640, 1852),
        ("accuracy", 6170, 11099),
    ):
        assert independent[0].metrics[key] == pytest.approx(100 * right / n, abs=0.005)


def test_mathvision_accuracies_are_their_counts() -> None:
    for row in published("mathvision"):
        assert row.correct is not None
        assert row.metrics["accuracy"] == pytest.approx(100 * row.correct / 3040, abs=0.00501)


def test_mathvision_is_what_its_authors_published(shared_data: Path) -> None:
    file = shared_data / "mathvision" / "parity" / "published_overall.json"
    theirs = json.loads(file.read_text(encoding="utf-8"))
    ours = {row.model: row.correct for row in published("mathvision")}
    assert ours == {name: int(text.partition("/")[0]) for name, text in theirs.items()}


@pytest.mark.parametrize("name", ["nothing", "", "../published_tables/finmme", "finmme.toml"])
def test_other_benchmarks_have_none(name: str) -> None:
    assert published(name) == []
    assert published_table(name) is None


def test_published_benchmarks_exist() -> None:
    assert {"finmme", "mathvision"} <= set(BENCHMARKS)


def test_comparability_names_every_difference() -> None:
    table = published_table("mathvision")
    assert table is not None
    same = comparability(table, samples=3040, split="test", on_missing="exclude")
    assert len(same) == 2
    other = comparability(table, samples=304, split="testmini", on_missing="exclude", failed=3)
    assert other[:2] == same
    assert other[2:] == [
        "Published: split test; yours: split testmini. The questions differ.",
        "Published: 3,040 samples; yours: 304.",
        "The script counts a failed call as wrong; your 3 failed samples are left out (on_missing=exclude).",
    ]
    # Counted as wrong, a failure is treated as the script does.
    assert len(comparability(table, samples=3040, split="test", on_missing="wrong", failed=3)) == 2
