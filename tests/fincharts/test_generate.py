"""A whole folder: the same request gives the same bytes, stopped ones go on, others are refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec import json as msgjson

from assay.benchmarks.base import Source
from assay.benchmarks.fincharts import BENCHMARK
from assay.errors import DataError, MissingExtra, RunError, RunMismatch, UsageError
from assay.fincharts.fonts import chinese_font
from assay.fincharts.generate import Request, generate, read_items
from assay.fincharts.plan import apportion, finmme_weights, plan, read_weights, uniform_weights
from assay.train.records import LabelledSolution
from support.finchart_items import items

needs_charts = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("matplotlib", "mplfinance", "six")), reason="needs the extra `charts`"
)
SMALL = Request(seed=4, count=6, rationales=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


@needs_charts
def test_the_same_request_gives_the_same_bytes_in_one_process_and_in_two(tmp_path: Path) -> None:
    first = generate(tmp_path / "one", SMALL)
    generate(tmp_path / "two", SMALL, workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (first.questions, first.drawn, first.kept) == (6, 6, 0)
    assert set(contents(tmp_path / "one")) == {
        "fincharts.json",
        "items.jsonl",
        "process.jsonl",
        "rows.jsonl",
        *(row["image"] for row in rows(tmp_path / "one")),
    }


@needs_charts
def test_what_is_there_is_kept_and_what_is_missing_is_made(tmp_path: Path) -> None:
    generate(tmp_path, SMALL)
    before = contents(tmp_path)
    missing = [tmp_path / row["image"] for row in rows(tmp_path)[:2]]
    for path in (*missing, tmp_path / "rows.jsonl"):
        path.unlink()
    again = generate(tmp_path, SMALL)
    assert (again.drawn, again.kept) == (2, 4)
    assert contents(tmp_path) == before


@needs_charts
@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "data", "fincharts", "--seed", "4", "--count", "16", "--workers", "2"]
    held = tmp_path / "killed"
    process = subprocess.Popen(
        [*command, "--out", str(held)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list(held.glob("images/*.*"))) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (held / "rows.jsonl").exists()
    with pytest.raises(DataError, match="is not finished"):
        BENCHMARK.open(Source(data=held))
    for leftover in held.glob("images/.*.part"):
        leftover.unlink()
    request = Request(seed=4, count=16)
    went_on = generate(held, request)
    assert went_on.kept >= 2
    generate(tmp_path / "whole", request)
    assert contents(held) == contents(tmp_path / "whole")


@needs_charts
def test_another_request_for_the_same_folder_is_refused(tmp_path: Path) -> None:
    generate(tmp_path, SMALL)
    with pytest.raises(RunMismatch, match=r"was made with another count, seed: give another folder"):
        generate(tmp_path, Request(seed=5, count=7, rationales=True))
    (tmp_path / "fincharts.json").write_text("{")
    with pytest.raises(DataError, match="is not valid JSON"):
        generate(tmp_path, SMALL)


@needs_charts
def test_solutions_are_what_the_commands_of_critics_read(tmp_path: Path) -> None:
    generate(tmp_path, SMALL)
    lines = (tmp_path / "process.jsonl").read_bytes().splitlines()
    found = [msgjson.decode(line, type=LabelledSolution) for line in lines]
    assert len({solution.id for solution in found}) == len(found) > 6
    for solution in found:
        assert len(solution.labels) == len(solution.steps)
        wrong = [place for place, label in enumerate(solution.labels) if not label]
        assert solution.first_error == (wrong[0] if wrong else None)
        assert all((tmp_path / image).is_file() for image in solution.images)


@needs_charts
def test_items_are_read_back_as_they_were_made(tmp_path: Path) -> None:
    generate(tmp_path, SMALL)
    assert list(read_items(tmp_path / "items.jsonl")) == items(4, 6)
    (tmp_path / "items.jsonl").write_text('{"id": 3}\n')
    with pytest.raises(DataError, match=r"items.jsonl:1: is no item"):
        list(read_items(tmp_path / "items.jsonl"))


def test_variants_share_their_words_and_not_their_numbers() -> None:
    made = items(8, 60, variants=3)
    assert len(made) == 180
    groups: dict[str, list[Any]] = {}
    for item in made:
        groups.setdefault(item.group, []).append(item)
    same_words = 0
    for held in groups.values():
        assert [item.variant for item in held] == [0, 1, 2]
        assert len({item.chart.table for item in held}) == 3
        assert len({item.chart.title for item in held}) == 1
        assert len({item.chart.table.columns for item in held}) == 1
        assert len({item.question.operation for item in held}) == 1
        assert len({(item.question.type, item.question.level) for item in held}) == 1
        same_words += len({item.question.text for item in held}) == 1
    # thresholds and the order of two rows follow the numbers, all else stays
    assert same_words > 45


def test_more_questions_or_other_seeds_are_other_questions() -> None:
    def said(made: list[Any]) -> set[tuple[str, Any]]:
        return {(item.question.text, item.chart.table) for item in made}

    assert said(items(1, 40)).isdisjoint(said(items(2, 40)))
    assert items(1, 40) == items(1, 40)


def test_charts_cover_the_window_and_another_window_has_other_series() -> None:
    old = items(6, 80, start=date(2001, 1, 1), end=date(2008, 12, 31))
    new = items(6, 80, start=date(2019, 1, 1), end=date(2026, 6, 30))
    for made, first, last in ((old, "2001-01-01", "2008-12-31"), (new, "2019-01-01", "2026-06-30")):
        covered = [item.chart for item in made if item.chart.start]
        assert len(covered) > 20
        assert all(first <= chart.start <= chart.end <= last for chart in covered)
    assert {item.chart.table for item in old}.isdisjoint({item.chart.table for item in new})


def test_a_short_window_still_gives_charts_within_it() -> None:
    made = items(6, 200, start=date(2024, 2, 15), end=date(2025, 2, 20))
    covered = [item.chart for item in made if item.chart.start]
    assert len(covered) > 60
    assert all("2024-02-15" <= chart.start <= chart.end <= "2025-02-20" for chart in covered)


@needs_charts
def test_a_window_of_days_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least a year"):
        generate(tmp_path, Request(seed=1, count=1, start=date(2024, 1, 1), end=date(2024, 1, 20)))


@needs_charts
@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (date(2025, 6, 1), date(2024, 6, 1), "at least a year"),
        (date(2024, 2, 29), date(2024, 2, 29), "at least a year"),
        (date(1, 1, 1), date(2025, 1, 1), "between 1900 and 2200"),
        (date(2020, 1, 1), date(9999, 12, 31), "between 1900 and 2200"),
    ],
)
def test_windows_that_hold_no_charts_are_refused(tmp_path: Path, start: date, end: date, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generate(tmp_path / "out", Request(seed=1, count=1, start=start, end=end))
    assert not (tmp_path / "out").exists()


@needs_charts
def test_files_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    """A picture of the same name would be taken for one of ours, and rows would be written over."""
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "000000.png").write_bytes(b"mine")
    with pytest.raises(RunMismatch, match=r"holds images, which this command did not make: give another folder"):
        generate(tmp_path, SMALL)
    other = tmp_path / "other"
    other.mkdir()
    (other / "rows.jsonl").write_text("mine")
    (other / "notes.txt").write_text("mine")
    with pytest.raises(RunMismatch, match=r"holds rows\.jsonl"):
        generate(other, SMALL)
    assert set(contents(tmp_path)) == {"images/000000.png", "other/rows.jsonl", "other/notes.txt"}
    with pytest.raises(RunError, match=r"notes\.txt can't be written"):
        generate(other / "notes.txt", SMALL)


# --------------------------------------------------------------------------------------------------------------------
# The distribution

FINMME = {
    "single_choice": 6567 / 11099,
    "multiple_choice": 2680 / 11099,
    "numerical": 1852 / 11099,
    "Comprehensive Perception": 2333 / 11099,
    "Fine-grained Perception": 6466 / 11099,
    "Cognition and Reasoning": 2300 / 11099,
    "equity": 7601 / 11099,
    "macro": 1485 / 11099,
    "products": 2013 / 11099,
}
"""Shares of FinMME's questions, from its published counts."""

CORE = {
    "macro": {"Macroeconomic Research", "Strategy Research", "Broad Asset Allocation"},
    "products": {"Fixed Income", "Fixed Income Quantitative", "Derivatives & Commodities", "Fund Products"},
}


def core_of(domain: str) -> str:
    return next((core for core, domains in CORE.items() if domain in domains), "equity")


def test_questions_are_spread_as_finmme_is() -> None:
    """Quotas are whole numbers, so no share is off by more than a few questions of 2,000."""
    slots = plan(3, 2000, finmme_weights(), ("en",))
    counts = Counter[str]()
    for slot in slots:
        counts.update((slot.type, slot.level, core_of(slot.domain)))
    for name, share in FINMME.items():
        assert abs(counts[name] / 2000 - share) < 0.004, name
    # chi-squared of type by level against independence, 4 degrees of freedom; 0.71 is its 5 % point from below
    joint = Counter((slot.type, slot.level) for slot in slots)
    squared = sum(
        (joint[a, b] - 2000 * FINMME[a] * FINMME[b]) ** 2 / (2000 * FINMME[a] * FINMME[b])
        for a in ("single_choice", "multiple_choice", "numerical")
        for b in ("Comprehensive Perception", "Fine-grained Perception", "Cognition and Reasoning")
    )
    assert squared < 0.71


def test_made_questions_are_what_the_plan_says() -> None:
    slots = plan(12, 200, finmme_weights(), ("en",))
    made = items(12, 200)
    for slot, item in zip(slots, made, strict=True):
        assert (slot.type, slot.level) == (item.question.type, item.question.level)
        assert (slot.chart_class, slot.kind) == (item.chart.chart_class, item.chart.kind)
        assert slot.domain == item.chart.domain


def test_uniform_weights_are_uniform() -> None:
    slots = plan(1, 900, uniform_weights(), ("en",))
    for counts, values in (
        (Counter(slot.type for slot in slots), 3),
        (Counter(slot.level for slot in slots), 3),
        (Counter(slot.domain for slot in slots), 18),
        (Counter(slot.chart_class for slot in slots), 10),
    ):
        assert len(counts) == values
        assert max(counts.values()) - min(counts.values()) <= 6


def test_apportion_by_hand() -> None:
    # 10 parts of 5 : 3 : 1 are 5.56, 3.33, 1.11: whole parts 5, 3, 1, the tenth to the largest remainder
    assert Counter(apportion({"a": 5, "b": 3, "c": 1}, 10)) == {"a": 6, "b": 3, "c": 1}
    assert apportion({"a": 1.0}, 3) == ["a", "a", "a"]


def test_weights_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_text('{"question_type": {"numerical": 3, "single_choice": 1}, "chart_class": {"Flow": 1}}')
    slots = plan(1, 40, read_weights(path), ("en",))
    assert Counter(slot.type for slot in slots) == {"numerical": 30, "single_choice": 10}
    assert {slot.chart_class for slot in slots} == {"Flow"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds no weights"),
        ('{"kind": {"a": 1}}', "has a part 'kind'"),
        ('{"question_type": {"open": 1}}', "has the question_type 'open'"),
        ('{"question_type": {"numerical": -1, "single_choice": 2}}', "weights of question_type that can't be"),
        ('{"question_type": {"numerical": 0}}', "weights of question_type that can't be"),
    ],
)
def test_bad_weights_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "weights.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_weights(path)


# --------------------------------------------------------------------------------------------------------------------
# Fonts


@needs_charts
def test_a_font_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "not.ttf").write_bytes(b"no font")
    with pytest.raises(DataError, match=r"not.ttf: is no font"):
        generate(tmp_path / "out", Request(seed=1, count=1, fonts=(tmp_path / "not.ttf",)))


@needs_charts
def test_chinese_is_drawn_with_a_font_that_has_it_or_refused(tmp_path: Path) -> None:
    """Warnings are errors here, so a missing glyph would fail the test."""
    request = Request(seed=2, count=4, languages=("zh",))
    if not _has_chinese():
        with pytest.raises(UsageError, match=r"No font on this machine has Chinese characters.*--font"):
            generate(tmp_path, request)
        return
    generate(tmp_path, request)
    assert json.loads((tmp_path / "fincharts.json").read_text())["chinese_font"] == chinese_font()[0]
    assert {row["language"] for row in rows(tmp_path)} == {"Chinese"}


def _has_chinese() -> bool:
    try:
        chinese_font()
    except UsageError:
        return False
    return True


def test_without_the_extra_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mplfinance", None)
    with pytest.raises(MissingExtra, match=r"drawing charts needs an optional package: pip install 'assay\[charts\]'"):
        generate(tmp_path / "out", SMALL)
    assert not (tmp_path / "out").exists()
