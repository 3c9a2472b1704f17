"""FinChart-Bench: the three official files, the rule on `Result = [[ ]]`, both marks."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.base import Source
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.finchartbench import BENCHMARK, mark, messages, open_finchartbench, read_result
from assay.errors import DataError
from assay.types import ChoiceGold, ImagePart, NumberGold, Option, Reply, Sample, TextPart

ROWS = Path(__file__).parent / "rows" / "finchartbench"
SNAPSHOTS = Path(__file__).parent / "snapshots"
PICTURE = ImagePart(key="k", media_type="image/png", width=2, height=2, data=b"")


def samples() -> dict[str, Sample]:
    return {sample.id: sample for sample in open_finchartbench(Source(data=ROWS))}


def opened(folder: Path, *rows: dict[str, Any]) -> RowsDataset:
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return open_finchartbench(Source(data=folder, need_pictures=False))


def row(**fields: Any) -> dict[str, Any]:
    return {"id": "q", "type": "QA", "question": "How much?", "answer": 24, "image": "c.png", **fields}


def test_the_official_files() -> None:
    held = samples()
    assert list(held) == [
        "TF_7_1_crop_0_q1",
        "TF_7_1_crop_0_q2",
        "MC_7_1_crop_0_q1",
        "QA_7_1_crop_0_q1",
        "QA_7_1_crop_0_q2",
    ]
    # The picture's name lacks the question's number, and each type has its own folder.
    assert held["MC_7_1_crop_0_q1"].images == (str((ROWS / "MC_images" / "7_1_crop_0.png").absolute()),)
    assert {sample.group for sample in held.values()} == {"7_1_crop_0.png"}
    assert held["TF_7_1_crop_0_q2"].gold == ChoiceGold(labels=("False",))
    assert held["TF_7_1_crop_0_q2"].options == (Option(label="True"), Option(label="False"))
    assert held["MC_7_1_crop_0_q1"].gold == ChoiceGold(labels=("D",))
    assert held["QA_7_1_crop_0_q1"].gold == NumberGold(value="24", unit="million")
    assert held["QA_7_1_crop_0_q2"].gold == NumberGold(value="50.0", unit="%")


def test_one_official_file_is_enough(tmp_path: Path) -> None:
    shutil.copy(ROWS / "TF_data.json", tmp_path)
    dataset = open_finchartbench(Source(data=tmp_path, need_pictures=False))
    assert len(dataset) == 2
    assert dataset.facts == ("2 of 2 rows name a picture that is not there.",)
    with pytest.raises(DataError, match=r"7_1_crop_0\.png, which is not there"):
        open_finchartbench(Source(data=tmp_path))


def test_the_shared_rows(shared_data: Path) -> None:
    dataset = open_finchartbench(Source(data=shared_data / "finchartbench"))
    kinds = [sample.facets["question_type"][0] for sample in dataset]
    assert (len(dataset), dataset.facts) == (1398, ())  # so the grader accepts the gold of every row
    assert [kinds.count(kind) for kind in ("true_false", "choice", "numeric")] == [476, 467, 455]
    assert len({sample.group for sample in dataset}) == 240
    for sample in dataset:
        assert mark(sample, Reply(text=BENCHMARK.gold_reply(sample))).reference.verdict == "right"


def test_bad_rows_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"questions\.jsonl:2.*type 'XX'"):
        opened(tmp_path, row(), row(id="r", type="XX"))
    with pytest.raises(DataError, match="image ''"):
        opened(tmp_path, row(image=None))
    assert opened(tmp_path, row(answer=None)).facts[0].startswith("1 of 1 rows have no answer")


@pytest.mark.parametrize("sample_id", ["TF_7_1_crop_0_q1", "MC_7_1_crop_0_q1", "QA_7_1_crop_0_q1"])
def test_prompt_snapshot(sample_id: str) -> None:
    """The exact text. A change here changes scores: it belongs in the changelog's Scores section."""
    sample = samples()[sample_id]
    (message,) = messages(sample, (PICTURE,))
    picture, text = message.parts
    assert picture == PICTURE
    assert isinstance(text, TextPart)
    kind = sample.facets["question_type"][0]
    assert text.text + "\n" == (SNAPSHOTS / f"finchartbench_{kind}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("Result = [[ True ]]", "True"),
        ("result=[[True]]", "True"),
        ("Result = [[ A ]]\nNo. Result = [[ B ]]", "B"),  # the last one
        ("Result = [ B ]", None),
        ("Result = [[ B", None),
        ("Result = [[ ]]", ""),
        ("[[ B ]]", None),
        ("", None),
    ],
)
def test_read_result(reply: str, read: str | None) -> None:
    assert read_result(Reply(text=reply)) == read


@pytest.mark.parametrize(
    ("sample_id", "reply", "reference", "robust"),
    [
        ("TF_7_1_crop_0_q1", "Result = [[ TRUE ]]", "right", "right"),
        ("TF_7_1_crop_0_q1", "Result = [[ False ]]", "wrong", "wrong"),
        ("TF_7_1_crop_0_q1", "Answer: True", "wrong", "right"),
        ("TF_7_1_crop_0_q1", "The answer is false.", "wrong", "wrong"),
        ("TF_7_1_crop_0_q1", "Hard to say.", "wrong", "unanswered"),
        ("MC_7_1_crop_0_q1", "Result = [[ d ]]", "right", "right"),
        ("MC_7_1_crop_0_q1", "Result = [[ 2016 ]]", "wrong", "right"),
        ("MC_7_1_crop_0_q1", "Result = [[ A or D ]]", "wrong", "unanswered"),
        ("QA_7_1_crop_0_q1", "Result = [[ 24.0 ]]", "right", "right"),
        ("QA_7_1_crop_0_q1", "Result = [[ 24.1 ]]", "wrong", "wrong"),  # no tolerance
        ("QA_7_1_crop_0_q1", "Result = [[ 0.024 billion ]]", "wrong", "right"),  # ($M)
        ("QA_7_1_crop_0_q1", "Result = [[ $24M ]]", "wrong", "right"),
        ("QA_7_1_crop_0_q1", "Result = [[ 20-30 ]]", "wrong", "wrong"),
        ("QA_7_1_crop_0_q2", "Result = [[ 50% ]]", "wrong", "right"),
        ("QA_7_1_crop_0_q2", "Result = [[ 0.5 ]]", "wrong", "wrong"),  # a percentage is asked for
        ("QA_7_1_crop_0_q2", "Result = [[ nan ]]", "wrong", "unanswered"),
        ("QA_7_1_crop_0_q2", "", "wrong", "unanswered"),
    ],
)
def test_both_marks(sample_id: str, reply: str, reference: str, robust: str) -> None:
    marked = mark(samples()[sample_id], Reply(text=reply))
    assert (marked.reference.verdict, marked.robust.verdict) == (reference, robust)
    assert (marked.difference is None) == ((reference == "right") == (robust == "right"))


def test_an_extracted_answer_needs_no_brackets() -> None:
    marked = mark(samples()["QA_7_1_crop_0_q1"], Reply(text=" 24 ", extracted=True))
    assert (marked.reference.verdict, marked.robust.verdict) == ("right", "right")


def test_a_cut_reply_counts_only_with_its_result() -> None:
    sample = samples()["QA_7_1_crop_0_q1"]
    cut = mark(sample, Reply(text="The growth is 24", finish="length")).robust
    assert (cut.verdict, cut.reason) == ("unanswered", "truncated")
    assert mark(sample, Reply(text="Result = [[ 24 ]]\nFor", finish="length")).robust.verdict == "right"


HELD = list(samples().values())


@given(st.text(), st.sampled_from(["", "Result = [[", "Result = [[ 9]]"]), st.booleans(), st.sampled_from(HELD))
def test_any_reply_gets_both_verdicts(text: str, before: str, extracted: bool, sample: Sample) -> None:
    reply = Reply(text=before + text, extracted=extracted)
    marked = mark(sample, reply)
    assert marked.reference.verdict in ("right", "wrong")
    assert marked == mark(sample, reply)


@pytest.mark.parametrize("part", ["Result = [[", "Result", "[[ 24 ]]", "9", "result =    [["])
def test_long_replies(part: str) -> None:
    for sample in HELD:
        assert mark(sample, Reply(text=part * 50_000)).reference.verdict == "wrong"
