"""The demonstration's page: whole, self-contained, with what models wrote escaped; and the examples that it shows."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source, outcome_of
from assay.mark.finscore import FinScore
from assay.report.demo_page import page, worked_examples
from assay.solve.controls import Controls, controls
from assay.solve.pool import PoolRecord
from assay.types import Outcome, Sample
from support.lite_pools import pools

LITE = load_benchmark("fincharts-lite")


@pytest.fixture(scope="module")
def made() -> tuple[list[Sample], list[PoolRecord]]:
    samples = list(LITE.open(Source(split="page:40")))
    return samples, list(pools(LITE, samples, "page"))


def outcomes(samples: Sequence[Sample], records: Sequence[PoolRecord]) -> list[Outcome]:
    return [
        outcome_of(LITE, sample, record.marks[record.chosen.chosen or 0])
        for sample, record in zip(samples, records, strict=True)
    ]


def shown(samples: Sequence[Sample], records: Sequence[PoolRecord]) -> tuple[str, Controls]:
    said = outcomes(samples, records)
    found = controls(said, records, rule="mean", on_missing="exclude")
    score = msgspec.convert(LITE.scores(said, "exclude")["finscore"], FinScore)
    examples = worked_examples({sample.id: sample for sample in samples}, records)
    return page(found, {"Refined-BoN": score}, examples), found


class Checker(HTMLParser):
    """Every element is closed, in order; what is fetched from elsewhere is noted."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [f"{name}={value}" for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing(made: tuple[list[Sample], list[PoolRecord]]) -> None:
    text, found = shown(*made)
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.fetched
    assert all(source.startswith("src=data:image/png;base64,") for source in checker.fetched)
    assert not re.search(r"https?://|url\(|@import", text)
    for way in ("greedy", "self-consistency@2", "best-of-2", "Refined-BoN@2", "ceiling: pass@2"):
        assert f"<td>{way}</td>" in text
    # All refined solutions of these pools are right, so what was wrong before was helped.
    assert found.refinement is not None
    assert f"Wrong ones made right: {found.refinement.wrong_before:,} of {found.refinement.wrong_before:,}" in text


def test_examples_were_wrong_and_are_right(made: tuple[list[Sample], list[PoolRecord]]) -> None:
    samples, records = made
    examples = worked_examples({sample.id: sample for sample in samples}, records, mended=3)
    assert [example.verdicts for example in examples] == [(False, True)] * 3
    assert len({example.record.id for example in examples}) == 3
    assert all(example.sample.id == example.record.sample_id for example in examples)


def test_what_a_model_writes_is_text(made: tuple[list[Sample], list[PoolRecord]]) -> None:
    samples, records = made
    example = worked_examples({sample.id: sample for sample in samples}, records, mended=1)[0]
    judged = example.record.pool[example.parent]
    steps = ('<script>alert("x")</script>\n\n', *judged.solution.steps[1:])
    solution = msgspec.structs.replace(judged.solution, steps=steps)
    pool = list(example.record.pool)
    pool[example.parent] = msgspec.structs.replace(judged, solution=solution)
    text, _ = shown([example.sample], [msgspec.structs.replace(example.record, pool=tuple(pool))])
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_without_a_refined_solution_the_page_says_so(made: tuple[list[Sample], list[PoolRecord]]) -> None:
    samples, records = made
    kept = [
        msgspec.structs.replace(
            record,
            pool=(*record.pool[:2], record.pool[-1]),
            marks=(*record.marks[:2], record.marks[-1]),
            members={"greedy": (2,), "plain": (0, 1)},
            chosen=msgspec.structs.replace(record.chosen, chosen=0),
        )
        for record in records
    ]
    text, _ = shown(samples, kept)
    assert "gave no correction that a solution was continued from" in text
    assert "Refined-BoN@" not in text


def test_a_picture_lies_in_the_page(made: tuple[list[Sample], list[PoolRecord]]) -> None:
    import base64

    samples, records = made
    text, _ = shown(samples, records)
    pictures = [base64.b64decode(data) for data in re.findall(r"base64,([^\"]+)", text)]
    held = {Path(sample.images[0]).read_bytes() for sample in samples}
    assert pictures
    assert set(pictures) <= held
