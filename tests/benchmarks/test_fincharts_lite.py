"""FinCharts-lite as a benchmark: what is asked, how it is marked, where its pictures lie."""

import os
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source, outcome_of
from assay.benchmarks.fincharts_lite import LiteDataset
from assay.errors import UsageError
from assay.fincharts.words import vocabulary
from assay.types import ChoiceGold, ImagePart, NumberGold, Reply, Sample, TextPart
from support.command import run
from support.rows import picture

LITE = load_benchmark("fincharts-lite")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "assay"


def made(split: str) -> tuple[Sample, ...]:
    return tuple(LITE.open(Source(split=split)))


def test_the_text_is_the_question_its_options_and_one_sentence(cache: Path) -> None:
    samples = made("words:200")
    with_options = next(sample for sample in samples if sample.options)
    shown = "".join(f"{option.label}: {option.text}\n" for option in with_options.options)
    sentence = "\nGive the steps, then the answer."
    assert asked(with_options) == f"{with_options.question}\n{shown}{sentence}"
    number = next(sample for sample in samples if not sample.options)
    assert asked(number) == f"{number.question}\n{sentence}"


def asked(sample: Sample) -> str:
    """The text, which comes after the picture."""
    (message,) = LITE.messages(sample, [picture(1)])
    first, second = message.parts
    assert isinstance(first, ImagePart)
    assert isinstance(second, TextPart)
    return second.text


def test_a_split_is_a_seed_and_a_number(cache: Path) -> None:
    few, more, other = made("held-out:30"), made("held-out:50"), made("train-1:30")
    assert few == more[:30]  # the first ones, under the same ids
    assert {sample.id for sample in few}.isdisjoint(sample.id for sample in other)
    assert [sample.question for sample in few] != [sample.question for sample in other]
    assert len(LiteDataset("held-out")) == 2000
    assert LiteDataset("held-out:30").revision != LiteDataset("held-out:31").revision


@pytest.mark.parametrize("split", ["", "a b", "held-out:0", "held-out:", "held-out:x", ":5", "../up", "a:9999999"])
def test_other_splits_are_refused(split: str) -> None:
    with pytest.raises(UsageError, match=r"held-out:500"):
        LiteDataset(split)


def test_there_is_no_data_to_give(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave --data out"):
        LITE.open(Source(data=tmp_path))


def test_every_question_has_what_finscore_needs(cache: Path) -> None:
    samples = made("facets:400")
    domains = Counter(sample.facets["knowledge_domain"] for sample in samples)
    assert {domain for (domain,) in domains} == set(vocabulary().domains)
    # Dealt out evenly: 400 over 18 domains is 22 each, with a standard deviation of 4.6.
    assert max(domains.values()) < 45
    for sample in samples:
        several = isinstance(sample.gold, ChoiceGold) and sample.gold.multiple and len(sample.gold.labels) > 1
        assert ("multi_answer" in sample.facets) == several
    outcomes = [outcome_of(LITE, sample, LITE.mark(sample, Reply(text=LITE.gold_reply(sample)))) for sample in samples]
    score = LITE.scores(outcomes, "exclude")["finscore"]
    assert score["reference"]["finscore"] == 1
    assert score["reference"]["penalty"] == 0
    assert len(score["reference"]["domains"]) == 18


def test_solutions_are_marked_by_their_last_line(cache: Path) -> None:
    number = next(sample for sample in made("marks:50") if isinstance(sample.gold, NumberGold))
    assert isinstance(number.gold, NumberGold)
    value = int(number.gold.value)
    for said, verdict in ((value, "right"), (value + 1, "wrong")):
        marked = LITE.mark(number, Reply(text=f"Step 1: red is 7.\n\nStep 2: 7 - 3 = 4.\n\nAnswer: {said}"))
        assert (marked.reference.verdict, marked.robust.verdict) == (verdict, verdict)
    cut = LITE.mark(number, Reply(text="Step 1: red is 7.", finish="length"))
    assert cut.robust.verdict == "unanswered"


def test_a_damaged_picture_is_made_anew(cache: Path) -> None:
    path = Path(made("pictures:3")[1].images[0])
    assert path.is_relative_to(cache)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"\x00")  # as long as before
    assert made("pictures:3")[1].images == (str(path),)
    assert path.read_bytes() == whole
    with Image.open(path) as image:
        assert image.size == (112, 112)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_without_a_cache_folder_the_pictures_lie_in_a_temporary_one(cache: Path) -> None:
    cache.parent.chmod(0o500)
    dataset = LiteDataset("read-only:3")
    cache.parent.chmod(0o700)
    assert "temporary folder" in dataset.facts[0]
    assert all(Path(sample.images[0]).is_file() for sample in dataset)


def test_a_cache_folder_that_is_a_file_is_passed_over(cache: Path) -> None:
    cache.write_text("in the way")
    dataset = LiteDataset("in-the-way:3")
    assert len(dataset.facts) == 1
    assert str(cache) in dataset.facts[0]
    assert all(Path(sample.images[0]).is_file() for sample in dataset)


def test_nobody_looks_for_its_data(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder `fincharts` in ASSAY_DATA is that other benchmark's."""
    (tmp_path / "fincharts").mkdir()
    (tmp_path / "fincharts" / "rows.jsonl").write_text("{}\n")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    assert "on this machine: made when it is used" in run("list", "benchmarks").out
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"id": "held-out-1", "reply": "Answer: 4"}\n')
    done = run("score", "fincharts-lite", "--split", "held-out:1", "--replies", replies, "--json")
    assert done.json["samples"] == 1
