"""TAT-QA: contexts with several questions, the published measures, both marks."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.base import Source, outcome_of
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.tatqa import BENCHMARK, mark, messages, open_tatqa, read_prediction, scores
from assay.benchmarks.tatqa_reference import Prediction, is_number, scale_of, score, to_number
from assay.errors import DataError
from assay.types import Failure, NumberGold, Outcome, Reply, Sample, SpansGold, TextPart

ROWS = Path(__file__).parent / "rows" / "tatqa"
SNAPSHOTS = Path(__file__).parent / "snapshots"


def samples() -> dict[str, Sample]:
    return {sample.id: sample for sample in open_tatqa(Source(data=ROWS))}


def opened(folder: Path, **question: Any) -> RowsDataset:
    context = {"table": {"uid": "t", "table": [["x"]]}, "questions": [{"uid": "q", "question": "?", **question}]}
    (folder / "dev.jsonl").write_text(json.dumps(context) + "\n", encoding="utf-8")
    return open_tatqa(Source(data=folder))


def asked(folder: Path, answer: object, kind: str, scale: str = "") -> Sample:
    (sample,) = opened(folder, answer=answer, answer_type=kind, scale=scale)
    return sample


# --------------------------------------------------------------------------------------------------------------------
# Rows and prompt


def test_one_sample_a_question() -> None:
    held = samples()
    assert list(held) == ["q1", "q2", "q3", "q4", "q5"]
    assert {sample.group for sample in held.values()} == {"t1"}
    assert [sample.gold for sample in held.values()] == [
        NumberGold(value="-6.4", tolerance="0.005", unit="million"),
        SpansGold(values=("maps", "globes")),
        SpansGold(values=("$ 96.5",), scale="million"),
        NumberGold(value="2", tolerance="0.005"),
        NumberGold(value="-6.22", tolerance="0.005", unit="%"),
    ]
    assert held["q1"].facets == {
        "question_type": ("arithmetic",),
        "answer_from": ("table-text",),
        "scale": ("million",),
    }
    assert held["q1"].images == ()


def test_the_repository_folder(tmp_path: Path) -> None:
    shutil.copytree(ROWS, tmp_path / "dataset_raw")
    assert [sample.id for sample in open_tatqa(Source(data=tmp_path))] == list(samples())


def test_bad_rows_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"dev\.jsonl:1, question q.*scale 'dozen'"):
        opened(tmp_path, answer=["a"], answer_type="span", scale="dozen")
    with pytest.raises(DataError, match="has no uid"):
        opened(tmp_path, uid=None)
    dataset = opened(tmp_path, answer=None)
    assert dataset.facts[0].startswith("1 of 1 rows have no answer")
    (sample,) = dataset
    marked = mark(sample, Reply(text="Answer: 5"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("wrong", "unmarkable")


def test_prompt_snapshot() -> None:
    """The exact text. A change here changes scores: it belongs in the changelog's Scores section."""
    (message,) = messages(samples()["q1"], ())
    (text,) = message.parts
    assert isinstance(text, TextPart)
    assert text.text + "\n" == (SNAPSHOTS / "tatqa.txt").read_text(encoding="utf-8")


# --------------------------------------------------------------------------------------------------------------------
# The published measures


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12.6", 12.6),
        ("$ 1,496.5", 1496.5),
        ("(134)", -134),
        ("(12,632)", 12632),  # the comma hides the brackets from the script
        ("12.6%", 0.126),
        ("27.2 million", 27_200_000),
        ("27.2 apples", None),
        ("2 hundred", 200),
        ("1.23456", 1.2346),
        ("nan", None),
        ("In 2018", None),
        ("", None),
        (".5", None),  # a number without a value: its text is compared
        ("inf", None),
    ],
)
def test_to_number(text: str, number: float | None) -> None:
    assert (to_number(text) if is_number(text) else None) == number


def test_scale_of() -> None:
    assert [scale_of(word) for word in ("", "Million", "in thousands", "percent", "none")] == [1, 10**6, 1000, 0.01, 1]


@pytest.mark.parametrize(
    ("answer", "scale", "gold", "gold_scale", "exact"),
    [
        ((12.6,), "million", ("12.6",), "million", True),
        ((12.604,), "million", ("12.6",), "million", True),  # rounded to 12.6
        ((12.606,), "million", ("12.6",), "million", False),  # rounded to 12.61
        ((12600,), "thousand", ("12.6",), "million", True),  # 12,600,000 on both sides
        ((12.6,), "", ("12.6",), "million", False),
        ((12.6,), None, ("12.6",), "", True),
        ((12600000,), "", ("12.6",), "million", True),
        ((-22.22,), "percent", ("-22.22",), "percent", True),
        ((-0.2222,), "", ("-22.22",), "percent", True),  # counts unrounded without a scale
        ((-0.2222,), "percent", ("-22.22",), "percent", False),
        (("-22.22%",), "", ("-22.22",), "percent", True),
        (("2018", "2019"), "", ("2019", "2018"), "", True),
        (("2018 and 2019",), "", ("2019", "2018"), "", False),
        (("The maps.",), "", ("maps",), "", True),  # article and full stop go
        (("maps",), "thousand", ("maps",), "", False),  # "maps thousand"
        (("$1,496.5",), "million", ("1496.50",), "million", True),
        ((), "", ("1",), "", False),
        ((), "", (), "", False),
        (("1",), "", (), "", False),
    ],
)
def test_exact_match(
    answer: tuple[Any, ...], scale: str | None, gold: tuple[str, ...], gold_scale: str, exact: bool
) -> None:
    assert score(Prediction(answer, scale), gold, gold_scale, graded=True).exact is exact


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("red maps", ("red globes",), 0.5),  # one of two words on both sides
        ("red maps and globes", ("maps", "globes"), 0.67),  # 2 in common of 4 and 2: 2 * 1/2 * 1 / (3/2)
        ("the red", ("a red",), 1.0),
        ("blue", ("red",), 0.0),
    ],
)
def test_f1(answer: str, gold: tuple[str, ...], f1: float) -> None:
    assert score(Prediction((answer,), ""), gold, "", graded=True).f1 == f1
    assert score(Prediction((answer,), ""), gold, "", graded=False).f1 == (1.0 if f1 == 1 else 0.0)


@given(st.lists(st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=4), st.text())
def test_any_prediction(parts: list[Any], gold: str) -> None:
    measures = score(Prediction(tuple(parts), ""), (gold,), "", graded=True)
    assert 0 <= measures.f1 <= 1
    assert measures.f1 == 1 or not measures.exact


# --------------------------------------------------------------------------------------------------------------------
# Reading


@pytest.mark.parametrize(
    ("text", "parts", "scale"),
    [
        ("Answer: 12.6\nScale: million", ("12.6",), "million"),
        ("**Answer:** maps | globes\n**Scale:** none", ("maps", "globes"), ""),
        ("Answer: 5\nNo.\nAnswer: 6\nScale: thousand\nScale: Percent", ("6",), "percent"),
        ("Answer: maps", ("maps",), None),
        ("maps", ("maps",), None),
        ("The scale is fine. Answer: maps", ("maps",), None),
        ('[["maps", "globes"], ""]', ("maps", "globes"), ""),
        ('[12.6, "million"]', (12.6,), "million"),
        ('["", "million"]', (), "million"),
        ('[0, ""]', (), ""),  # no answer to the script
        ("[null, null]", (), None),
        ("Answer: [1, 2]", ("[1, 2]",), None),
        ("", (), None),
    ],
)
def test_read_prediction(text: str, parts: tuple[Any, ...], scale: str | None) -> None:
    assert read_prediction(Reply(text=text))[0] == Prediction(parts, scale)


# --------------------------------------------------------------------------------------------------------------------
# Both marks


@pytest.mark.parametrize(
    ("gold", "kind", "scale", "reply", "reference", "robust"),
    [
        (12.6, "arithmetic", "million", "Answer: 12.6\nScale: million", "right", "right"),
        (12.6, "arithmetic", "million", "Answer: 12.6 million\nScale: million", "wrong", "right"),
        (12.6, "arithmetic", "million", "Answer: 12600\nScale: thousand", "right", "right"),
        (12.6, "arithmetic", "million", "Answer: 12.6\nScale: thousand", "wrong", "wrong"),
        (12.6, "arithmetic", "million", "Answer: 12.6\nScale: none", "wrong", "wrong"),
        (12.6, "arithmetic", "million", "Answer: 12.6", "wrong", "right"),
        (2.93, "arithmetic", "", "Answer: 2.9349\nScale: none", "right", "right"),
        (2.93, "arithmetic", "", "Answer: 2.936\nScale: none", "wrong", "wrong"),
        (-22.22, "arithmetic", "percent", "Answer: -22.22%\nScale: percent", "right", "right"),
        (-22.22, "arithmetic", "percent", "Answer: -0.2222\nScale: none", "right", "right"),
        (-22.22, "arithmetic", "percent", "Answer: 22.22\nScale: percent", "wrong", "wrong"),
        ("2", "count", "", "Answer: 2\nScale: none", "right", "right"),
        ("2", "count", "", "Answer: two\nScale: none", "wrong", "right"),
        ("2", "count", "", "Answer: 2 | 3", "wrong", "wrong"),
        (["maps", "globes"], "multi-span", "", "Answer: globes | maps\nScale: none", "right", "right"),
        (["maps", "globes"], "multi-span", "", "Answer: globes and maps", "wrong", "right"),
        (["maps", "globes"], "multi-span", "", "Answer: maps | maps", "wrong", "wrong"),
        (["maps", "globes"], "multi-span", "", "Answer: maps", "wrong", "wrong"),
        (["$1,496.5"], "span", "million", "Answer: 1496.5\nScale: million", "right", "right"),
        (["$1,496.5"], "span", "million", "Answer: $1.4965 billion\nScale: billion", "wrong", "right"),
        (["2019"], "span", "", "Answer: 2018\nScale: none", "wrong", "wrong"),
        (["sum of the taxes."], "span", "", "Answer: the sum of the taxes", "right", "right"),
        (["sum of the taxes."], "span", "", "", "wrong", "unanswered"),
    ],
)
def test_both_marks(
    tmp_path: Path, gold: object, kind: str, scale: str, reply: str, reference: str, robust: str
) -> None:
    marked = mark(asked(tmp_path, gold, kind, scale), Reply(text=reply))
    assert (marked.reference.verdict, marked.robust.verdict) == (reference, robust), marked
    assert (marked.difference is None) == ((reference == "right") == (robust == "right"))


def test_the_credit_is_f1(tmp_path: Path) -> None:
    sample = asked(tmp_path, ["red globes"], "span")
    assert mark(sample, Reply(text="Answer: red maps\nScale: none")).reference.credit == 0.5
    assert mark(asked(tmp_path, 5, "arithmetic"), Reply(text="Answer: 5 | 6")).reference.credit == 0.0


def test_a_cut_reply_counts_only_with_an_explicit_answer(tmp_path: Path) -> None:
    sample = asked(tmp_path, ["maps"], "span")
    assert mark(sample, Reply(text="maps", finish="length")).robust.reason == "truncated"
    assert mark(sample, Reply(text="Answer: maps\nSca", finish="length")).robust.verdict == "right"


HELD = list(samples().values())


@given(st.text(), st.sampled_from(["", "Answer:", "[", '[["']), st.booleans(), st.sampled_from(HELD))
def test_any_reply_gets_both_verdicts(text: str, before: str, extracted: bool, sample: Sample) -> None:
    reply = Reply(text=before + text, extracted=extracted)
    marked = mark(sample, reply)
    assert marked.reference.verdict in ("right", "wrong")
    assert marked == mark(sample, reply)


@pytest.mark.parametrize("part", ["Answer: ", "| ", "[", "[[1],", "9", "maps and ", "Scale: none\n", "answer", "\n"])
def test_long_replies(part: str) -> None:
    for sample in HELD:
        assert mark(sample, Reply(text=part * 20_000)).reference.verdict == "wrong"


# --------------------------------------------------------------------------------------------------------------------
# Scores


def test_the_official_numbers() -> None:
    held = samples()
    replies = {
        "q1": "Answer: -6.4\nScale: million",
        "q2": "Answer: maps\nScale: none",  # F1: 1 of 1 and 1 of 2 words, 2 * 1 * 1/2 / (3/2) = 0.67
        "q3": "Answer: 96.5\nScale: none",  # right but for the scale, and a number has one word
        "q4": "Answer: 3\nScale: none",
    }
    outcomes: list[Outcome] = []
    for key, text in replies.items():
        reply = Reply(text=text)
        outcomes.append(outcome_of(BENCHMARK, held[key], mark(held[key], reply), reply=reply))
    outcomes.append(outcome_of(BENCHMARK, held["q5"], Failure(stage="call", kind="timeout", message="?")))
    result = scores(outcomes, "exclude")
    # Exact 1 of 4; F1 (1 + 0.67 + 0 + 0) / 4 = 0.4175; scales 3 of 4.
    assert result["official"] == {"em": "25.00", "f1": "41.75", "scale": "75.00"}
    assert result["f1"]["mean"] == pytest.approx(0.4175)
    assert result["f1"]["low"] <= 0.4175 <= result["f1"]["high"]
    assert result["f1_by_question_type"]["multi-span"]["mean"] == pytest.approx(0.67)
    # With the failed call as wrong: 1 of 5, 1.67 / 5, 3 of 5.
    assert scores(outcomes, "wrong")["official"] == {"em": "20.00", "f1": "33.40", "scale": "60.00"}
    assert scores([], "exclude")["official"] is None
    assert json.dumps(result) == json.dumps(scores(outcomes[::-1], "exclude"))
