"""ChartQA: rows of every origin, relaxed accuracy of the whole reply, both marks."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.base import Source
from assay.benchmarks.chartqa import BENCHMARK, YES_NO, mark, messages, open_chartqa
from assay.benchmarks.data import RowsDataset
from assay.errors import DataError
from assay.types import ChoiceGold, ImagePart, NumberGold, Reply, Sample, TextGold, TextPart

ROWS = Path(__file__).parent / "rows" / "chartqa"
SNAPSHOTS = Path(__file__).parent / "snapshots"
PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"
PICTURE = ImagePart(key="k", media_type="image/png", width=2, height=2, data=b"")


def opened(folder: Path, *rows: dict[str, Any]) -> RowsDataset:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return open_chartqa(Source(data=folder, need_pictures=False))


def asked(folder: Path, label: object, question: str = "How much?") -> Sample:
    (sample,) = opened(folder, {"id": 1, "query": question, "label": label, "image": "1.png"})
    return sample


# --------------------------------------------------------------------------------------------------------------------
# Rows


@pytest.mark.parametrize("folder", [ROWS, ROWS / "test"])
def test_the_repository_layout(folder: Path) -> None:
    held = list(open_chartqa(Source(data=folder)))
    assert [sample.id for sample in held] == [
        *("test_human-1", "test_human-2", "test_human-3"),
        *("test_augmented-1", "test_augmented-2"),
    ]
    assert [sample.facets["source"][0] for sample in held] == ["human"] * 3 + ["augmented"] * 2
    assert [sample.facets["question_type"][0] for sample in held] == ["number", "year", "yes_no", "text", "number"]
    assert [sample.group for sample in held] == ["bars.png"] * 2 + ["falling.png"] * 3
    assert [sample.gold for sample in held] == [
        NumberGold(value="10", relative="0.05"),
        NumberGold(value="2019"),
        ChoiceGold(labels=("Yes",)),
        TextGold(values=("New Zealand",)),
        NumberGold(value="30", relative="0.05", unit="%"),
    ]
    assert held[2].options == YES_NO
    assert held[3].images == (str((ROWS / "test" / "png" / "falling.png").absolute()),)


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "Do they fall?", "label": ["No"], "human_or_machine": 1},
        {"question": "Do they fall?", "answer": "no", "type": "augmented_test"},
    ],
)
def test_the_forms_on_the_hub(tmp_path: Path, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = [{**fields, "image": {"bytes": PNG, "path": None}}]
    arrow: Any = pyarrow
    pyarrow.parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "test-00000-of-00001.parquet")
    (sample,) = open_chartqa(Source(data=tmp_path))
    assert sample.id == "test-00000-of-00001-1"
    assert sample.question == "Do they fall?"
    assert sample.gold == ChoiceGold(labels=("No",))
    assert sample.facets["source"] == ("augmented",)
    assert Path(sample.images[0]).read_bytes() == PNG


def test_the_shared_rows(shared_data: Path) -> None:
    dataset = open_chartqa(Source(data=shared_data / "chartqa"))
    assert (len(dataset), dataset.facts) == (271, ())  # so the grader accepts the gold of every row
    halves = [sample.facets["source"][0] for sample in dataset]
    assert (halves.count("human"), halves.count("augmented")) == (142, 129)
    for sample in dataset:
        for text in (BENCHMARK.gold_reply(sample), f"The answer is {BENCHMARK.gold_reply(sample)}."):
            assert mark(sample, Reply(text=text)).robust.verdict == "right", (sample.id, text)
        assert mark(sample, Reply(text=BENCHMARK.gold_reply(sample))).reference.verdict == "right"


def test_rows_that_lack_something(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no question or no picture"):
        opened(tmp_path, {"id": 1, "query": "?"})
    with pytest.raises(DataError, match="has no id"):
        opened(tmp_path, {"query": "?", "label": "5", "imgname": "1.png"})
    dataset = opened(tmp_path, {"id": 1, "query": "?", "label": None, "imgname": "1.png"})
    assert "1 of 1 rows have no answer: robust leaves them out." in dataset.facts
    (sample,) = dataset
    marked = mark(sample, Reply(text="5"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("wrong", "unmarkable")


def test_prompt_snapshot() -> None:
    """The exact text. A change here changes scores: it belongs in the changelog's Scores section."""
    (sample, *_) = open_chartqa(Source(data=ROWS))
    (message,) = messages(sample, (PICTURE,))
    picture, text = message.parts
    assert picture == PICTURE
    assert isinstance(text, TextPart)
    assert text.text + "\n" == (SNAPSHOTS / "chartqa.txt").read_text(encoding="utf-8")


# --------------------------------------------------------------------------------------------------------------------
# Both marks

PERCENTAGE = "What percentage of employers agreed?"
YEAR = "In which year did sales peak?"


@pytest.mark.parametrize(
    ("question", "label", "reply", "reference", "robust"),
    [
        # 5 % of 20 is 1
        ("How much?", "20", "19", "right", "right"),
        ("How much?", "20", "21", "right", "right"),
        ("How much?", "20", "21.01", "wrong", "wrong"),
        ("How much?", "20", "18.99", "wrong", "wrong"),
        ("How much?", "0.3", "0.315", "wrong", "right"),  # exactly 5 %, in decimal
        ("How much?", "0.3", "0.3151", "wrong", "wrong"),
        # case 089: of the gold. 5 % of 95 is 4.75, of 100 it is 5.
        ("How much?", "95", "100", "wrong", "wrong"),
        ("How much?", "100", "95", "right", "right"),
        ("How much?", "0", "0", "right", "right"),
        ("How much?", "0", "0.01", "wrong", "wrong"),
        # case 088
        (PERCENTAGE, "2", "2%", "wrong", "right"),
        (PERCENTAGE, "2", "2", "right", "right"),
        (PERCENTAGE, "2", "0.02", "wrong", "wrong"),
        ("How much?", "2", "2%", "wrong", "right"),
        ("How much?", "0.02", "2%", "right", "right"),
        # case 082: digits are no text to be found anywhere
        ("How much?", "5", "The answer is 25", "wrong", "wrong"),
        ("How much?", "-5", "5", "wrong", "wrong"),
        ("How much?", "20", "Answer: 20", "wrong", "right"),
        ("How much?", "20", "Blue", "wrong", "unanswered"),
        (YEAR, "2019", "2019", "right", "right"),
        (YEAR, "2019", "2018", "right", "wrong"),
        (YEAR, "2019", "The answer is 2019.", "wrong", "right"),
        ("Yes or no?", "Yes", "yes", "right", "right"),
        ("Yes or no?", "Yes", "Yes, because the bar is higher.", "wrong", "right"),
        ("Yes or no?", "Yes", "No", "wrong", "wrong"),
        ("Which?", "New Zealand", "new zealand", "right", "right"),
        ("Which?", "New Zealand", "New Zealand.", "wrong", "right"),
        ("Which?", "New Zealand", "Zealand", "wrong", "wrong"),
        ("Which?", "New Zealand", "New Zealand or Peru", "wrong", "wrong"),
        ("Which?", "[Should not, Should]", "Should not, Should", "wrong", "right"),
        ("Which?", "New Zealand", "", "wrong", "unanswered"),
        ("Which?", ["Peru", "Chile"], "chile", "right", "right"),
    ],
)
def test_both_marks(tmp_path: Path, question: str, label: object, reply: str, reference: str, robust: str) -> None:
    marked = mark(asked(tmp_path, label, question), Reply(text=reply))
    assert (marked.reference.verdict, marked.robust.verdict) == (reference, robust)
    assert (marked.difference is None) == ((reference == "right") == (robust == "right"))


def test_the_difference_is_told(tmp_path: Path) -> None:
    marked = mark(asked(tmp_path, "20"), Reply(text="Answer: 20"))
    assert marked.difference == 'the rule compares the whole reply, "Answer: 20"; robust reads "20"'


def test_a_cut_reply_counts_only_with_an_explicit_answer(tmp_path: Path) -> None:
    for label, said in (("20", "20"), ("Peru", "Peru"), ("Yes", "Yes")):
        sample = asked(tmp_path, label)
        cut = mark(sample, Reply(text=said, finish="length")).robust
        assert (cut.verdict, cut.reason) == ("unanswered", "truncated")
        assert mark(sample, Reply(text=f"Answer: {said}\nFor", finish="length")).robust.verdict == "right"


HELD = list(open_chartqa(Source(data=ROWS)))


@given(st.text(), st.booleans(), st.sampled_from(HELD))
def test_any_reply_gets_both_verdicts(text: str, extracted: bool, sample: Sample) -> None:
    reply = Reply(text=text, extracted=extracted)
    marked = mark(sample, reply)
    assert marked.reference.verdict in ("right", "wrong")
    assert marked == mark(sample, reply)


@pytest.mark.parametrize("part", ["New Zealand ", "9", "Answer: ", "yes ", "%", "\n"])
def test_long_replies(part: str) -> None:
    for sample in HELD:
        assert mark(sample, Reply(text=part * 20_000)).reference.verdict == "wrong"
