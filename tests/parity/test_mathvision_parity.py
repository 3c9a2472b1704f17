"""Our restatement of MATH-Vision's script against the published verdicts: five files, from the raw replies."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import mathvision_reference as reference
from assay.benchmarks.base import Source
from assay.benchmarks.mathvision import BENCHMARK, mark_reference
from assay.types import Mark, Marked, Outcome, Reply, Sample

FILES = ("Gemini-Pro", "Gemini-Pro-CoT", "LLaVA-v1.5-13B", "Qwen-VL-Max", "Random-Chance")
DIVERGENCES = tomllib.loads((Path(__file__).parent / "divergences.toml").read_text(encoding="utf-8"))["mathvision"]


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def gold(shared_data: Path) -> dict[str, tuple[str, str]]:
    """Id -> the gold as written and the text of the right option (empty for a free question)."""
    rows = lines(shared_data / "mathvision" / "test_meta.jsonl")
    return {
        row["id"]: (row["answer"], row["options"]["ABCDE".index(row["answer"])] if row["options"] else "")
        for row in rows
    }


def listed(name: str) -> Iterator[dict[str, str]]:
    return (row for row in DIVERGENCES if row["file"] == name)


@pytest.mark.parametrize("name", FILES)
def test_every_published_verdict_and_extraction_is_reproduced_or_listed(
    name: str, shared_data: Path, gold: dict[str, tuple[str, str]]
) -> None:
    rows = lines(shared_data / "mathvision" / "parity" / f"{name}.jsonl")
    published = json.loads((shared_data / "mathvision" / "parity" / "published_overall.json").read_text())[name]
    marks = {row["id"]: reference.mark(row["response"], *gold[row["id"]]) for row in rows}
    assert len(marks) == 3040

    extractions = {row["id"] for row in rows if marks[row["id"]].extraction != row["model_answer"]}
    assert extractions == set()

    differing = {
        row["id"]: marks[row["id"]].verdict for row in rows if (marks[row["id"]].verdict == "right") != row["correct"]
    }
    assert differing == {row["id"]: row["ours"] for row in listed(name)}

    # The published total, less what is listed: each listed row that we find right adds one, and the other way round.
    shift = sum(1 if row["ours"] == "right" else -1 for row in listed(name))
    right = sum(mark.verdict == "right" for mark in marks.values())
    assert f"{right - shift}/3040" == published.split("=")[0]


def test_at_most_two_verdicts_differ_over_all_files() -> None:
    assert len(DIVERGENCES) <= 2
    assert all(row["reason"] for row in DIVERGENCES)


@pytest.mark.parametrize("name", FILES)
def test_published_extractions_get_the_same_verdict_as_the_replies(
    name: str, shared_data: Path, gold: dict[str, tuple[str, str]]
) -> None:
    for row in lines(shared_data / "mathvision" / "parity" / f"{name}.jsonl"):
        from_reply = reference.mark(row["response"], *gold[row["id"]])
        from_extraction = reference.mark(row["model_answer"], *gold[row["id"]], extracted=True)
        assert from_extraction.verdict == from_reply.verdict, row["id"]


@pytest.mark.parametrize("name", FILES)
def test_every_key_of_the_published_result_tables(name: str, shared_data: Path) -> None:
    folder = shared_data / "mathvision"
    samples = {s.id: s for s in BENCHMARK.open(Source(data=folder, split="test", need_pictures=False))}
    published = json.loads((folder / "parity" / f"{name}.result.json").read_text(encoding="utf-8"))
    outcomes = [
        Outcome(
            sample_id=row["id"],
            group=row["id"],
            facets=samples[row["id"]].facets,
            result=Marked(
                reference=mark_reference(samples[row["id"]], Reply(text=row["response"])),
                robust=Mark(verdict="unmarkable", reason="not looked at here"),
            ),
        )
        for row in lines(folder / "parity" / f"{name}.jsonl")
    ]
    ours = BENCHMARK.scores(outcomes, "wrong")["official"]
    touched = {key for row in listed(name) for key in keys(samples[row["id"]])}
    assert ours.keys() == published.keys()
    assert {key for key in ours if ours[key] != published[key]} == touched


def keys(sample: Sample) -> set[str]:
    """The cells of the table that one row counts in."""
    level, subject = sample.facets["level"][0], sample.facets["subject"][0]
    return {"-all", f"-level{level}", subject, f"{subject}_level{level}", f"-level{level}_{subject}"}
