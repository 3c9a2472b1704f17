"""FinMME: rows of every origin, prompts, the script's scoring, both marks."""

import json
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.base import Source
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.finmme import detail, mark, messages, open_finmme, prompt_hash, scores
from assay.errors import DataError
from assay.types import (
    ChoiceGold,
    Failure,
    ImagePart,
    NumberGold,
    Option,
    Outcome,
    Reply,
    Sample,
    TextPart,
)

SNAPSHOTS = Path(__file__).parent / "snapshots"
EXAMPLES = Path(__file__).parents[2] / "src" / "assay" / "demo" / "finmme"
PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"
PICTURE = ImagePart(key="k", media_type="image/jpeg", width=2, height=2, data=b"")


def row(**fields: Any) -> dict[str, Any]:
    """A complete single-choice row, as on the hub."""
    return {
        "id": 7,
        "question_text": "Which year is highest?",
        "question_type": "single_choice",
        "options": "A: 2019\nB: 2020\nC: 2021",
        "answer": "B",
        "unit": None,
        "tolerance": None,
        "verified_caption": "Revenue by year",
        "related_sentences": "Revenue peaked.",
        "knowledge_domain": "TMT",
        **fields,
    }


def numerical(**fields: Any) -> dict[str, Any]:
    return row(question_type="numerical", options=None, answer="12.5", unit="%", tolerance=0.1) | fields


def opened(folder: Path, *rows: dict[str, Any], **keywords: Any) -> RowsDataset:
    path = folder / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return open_finmme(Source(data=path, **keywords))


def only(folder: Path, **fields: Any) -> Sample:
    (sample,) = opened(folder, row(**fields))
    return sample


# --------------------------------------------------------------------------------------------------------------------
# Rows


def test_a_complete_row(tmp_path: Path) -> None:
    (tmp_path / "c.png").write_bytes(PNG)
    dataset = opened(tmp_path, row(image="c.png"))
    assert list(dataset) == [
        Sample(
            id="7",
            question="Which year is highest?",
            images=(str(tmp_path / "c.png"),),
            options=(
                Option(label="A", text="2019"),
                Option(label="B", text="2020"),
                Option(label="C", text="2021"),
            ),
            gold=ChoiceGold(labels=("B",)),
            facets={"question_type": ("single_choice",), "knowledge_domain": ("TMT",)},
            context={"caption": "Revenue by year", "related_sentences": "Revenue peaked."},
            group="c.png",
        )
    ]
    assert dataset.facts == ()


@pytest.mark.parametrize("answer", ["AC", "A,C", "A, C", "CA", "A、C"])
def test_answers_of_several_letters(tmp_path: Path, answer: str) -> None:
    sample = only(tmp_path, question_type="multiple_choice", answer=answer)
    assert sample.gold == ChoiceGold(labels=("A", "C"), multiple=True)
    assert sample.facets["multi_answer"] == ("yes",)
    assert detail(sample) == {"gold": "A,C", "options": "3"}


def test_one_right_option_of_a_multiple_choice_is_no_multi_answer(tmp_path: Path) -> None:
    sample = only(tmp_path, question_type="multiple_choice", answer="C")
    assert sample.gold == ChoiceGold(labels=("C",), multiple=True)
    assert "multi_answer" not in sample.facets
    # The script goes by the length of the answer as written.
    assert only(tmp_path, question_type="multiple_choice", answer="C.").facets["multi_answer"] == ("yes",)


def test_missing_parts_are_facts(tmp_path: Path) -> None:
    dataset = opened(
        tmp_path,
        row(id=1, answer=None),
        row(id=2, options=None),
        row(id=3, knowledge_domain=None),
        row(id=4, question_text=None),
        numerical(id=5, tolerance=None),
        numerical(id=6, tolerance=float("nan")),
        numerical(id=8, tolerance="a little"),
    )
    assert set(dataset.facts) == {
        "1 of 7 rows have no answer: the script takes them for wrong, robust leaves them out (ids 1).",
        "1 of 7 rows have no options that can be read: the labels A to N are taken for granted (ids 2).",
        "1 of 7 rows have no knowledge domain: FinScore by domain leaves them out (ids 3).",
        "1 of 7 rows have no question text: they can be scored, not asked (ids 4).",
        "3 of 7 rows have no tolerance: the script finds every answer wrong, robust compares exactly (ids 5, 6, 8).",
        "7 of 7 rows have no picture.",
    }
    samples = {sample.id: sample for sample in dataset}
    assert samples["1"].gold is None
    assert samples["2"].options == ()
    assert detail(samples["2"]) == {"gold": "B"}  # how many options there are is not known
    assert samples["5"].gold == NumberGold(value="12.5", tolerance=None, unit="%")
    assert samples["6"].gold == NumberGold(value="12.5", tolerance="NaN", unit="%")


def test_without_a_tolerance_column_it_is_zero_as_in_the_script(tmp_path: Path) -> None:
    fields = numerical()
    del fields["tolerance"]
    (sample,) = opened(tmp_path, fields)
    assert sample.gold == NumberGold(value="12.5", tolerance="0", unit="%")
    assert mark(sample, Reply(text="Answer: 12.5")).reference.verdict == "right"
    assert mark(sample, Reply(text="Answer: 12.6")).reference.verdict == "wrong"


def test_questions_on_one_picture_are_one_group(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(PNG)
    samples = opened(tmp_path, *(row(id=n, image=f"{name}.png") for n, name in enumerate("aab")), row(id=9))
    assert [sample.group for sample in samples] == ["a.png", "a.png", "b.png", "9"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"id": None}, "has no id"),
        ({"question_type": "essay"}, "has the question_type 'essay'"),
        ({"question_type": None}, "has the question_type ''"),
        ({"answer": "E"}, "has the answer E, which is not among its options A, B, C"),
        ({"answer": "2022"}, "has the answer '2022', which names none of its options"),
        ({"image": "gone.png"}, "names the picture"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError) as caught:
        opened(tmp_path, row(), row(**{"id": 8, **fields}))
    assert caught.value.where == "train.jsonl:2"
    assert caught.value.problem.startswith(problem)
    assert caught.value.remedy


def test_recorded_replies_need_no_pictures(tmp_path: Path) -> None:
    dataset = opened(tmp_path, row(image="gone.png"), need_pictures=False)
    assert dataset.facts == ("1 of 1 rows name a picture that is not there.",)


# --------------------------------------------------------------------------------------------------------------------
# Parquet, as on the hub


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    arrow: Any = pyarrow
    table = arrow.Table.from_pylist(rows)
    place = table.schema.get_field_index("tolerance")
    table = table.set_column(place, "tolerance", table.column("tolerance").cast(arrow.float32()))
    pyarrow.parquet.write_table(table, path)


def test_parquet_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = [
        numerical(id=1, tolerance=0.1, image={"bytes": PNG, "path": None}),
        numerical(id=2, tolerance=float("nan"), image={"bytes": PNG, "path": None}),
        row(id=3, image={"bytes": PNG + b"2", "path": "x"}),
        row(id=4, answer="D", image={"bytes": PNG + b"2", "path": "x"}),
        row(id=5, answer="all", image={"bytes": PNG + b"2", "path": "x"}),
    ]
    for fields in rows:
        del fields["knowledge_domain"]
    (tmp_path / "data").mkdir()
    write_parquet(tmp_path / "data" / "train-00000-of-00001.parquet", rows)
    dataset = open_finmme(Source(data=tmp_path))
    one, two, three, four, five = dataset
    assert one.gold == NumberGold(value="12.5", tolerance="0.10000000149011612", unit="%")
    assert two.gold == NumberGold(value="12.5", tolerance="NaN", unit="%")
    assert Path(three.images[0]).read_bytes() == PNG + b"2"
    assert one.group == two.group != three.group
    # A published file can't be mended by its reader: the label becomes an option, or the row has no gold.
    assert [option.label for option in four.options] == ["A", "B", "C", "D"]
    assert five.gold is None
    assert set(dataset.facts) == {
        "1 of 5 rows have no tolerance: the script finds every answer wrong, robust compares exactly (ids 2).",
        "5 of 5 rows have no knowledge domain: FinScore by domain leaves them out.",
        "1 of 5 rows have an answer outside their options: its label is taken as a further option (ids 4).",
        "1 of 5 rows have an answer that names none of their options: robust leaves them out (ids 5).",
    }


def test_float32_tolerances_are_what_they_were_before_float32(tmp_path: Path) -> None:
    """0.7 in float32 is a little less than 0.7; a difference of exactly 0.7 must still be within it."""
    assert float(numpy.float32(0.7)) == 0.699999988079071
    (sample,) = opened(tmp_path, numerical(answer="1.0", unit=None, tolerance=float(numpy.float32(0.7))))
    assert mark(sample, Reply(text="Answer: 1.7")).robust.verdict == "right"
    assert mark(sample, Reply(text="Answer: 1.70001")).robust.verdict == "wrong"
    # The script's binary floats: 1.7 - 1.0 = 0.7 > 0.699999988079071.
    assert mark(sample, Reply(text="Answer: 1.7")).reference.verdict == "wrong"


def test_a_double_that_is_no_float32_is_kept(tmp_path: Path) -> None:
    (sample,) = opened(tmp_path, numerical(answer="1", unit=None, tolerance=0.1))
    assert mark(sample, Reply(text="Answer: 1.1")).robust.verdict == "right"
    assert mark(sample, Reply(text="Answer: 1.1000001")).robust.verdict == "wrong"


# --------------------------------------------------------------------------------------------------------------------
# Real rows


def test_the_official_examples() -> None:
    dataset = open_finmme(Source(data=EXAMPLES))
    golds = {sample.id: sample.gold for sample in dataset}
    assert golds["ex1"] == ChoiceGold(labels=("C",))
    assert golds["ex2"] == ChoiceGold(labels=("A", "C", "D"), multiple=True)
    assert isinstance(golds["ex3"], NumberGold)
    assert golds["ex3"].value == "8.81"
    assert all(Path(sample.images[0]).is_file() for sample in dataset)


def test_the_shared_rows(shared_data: Path) -> None:
    dataset = open_finmme(Source(data=shared_data / "finmme"))
    assert len(dataset) == 134
    assert set(dataset.facts) == {
        "134 of 134 rows have no picture.",
        "134 of 134 rows have no knowledge domain: FinScore by domain leaves them out.",
        # 87 single-choice rows, of which 23 list their options.
        *(fact for fact in dataset.facts if fact.startswith("64 of 134 rows have no options")),
    }
    assert len(dataset.facts) == 3


# --------------------------------------------------------------------------------------------------------------------
# Prompts


def prompt(folder: Path, **fields: Any) -> str:
    (message,) = messages(only(folder, **fields), ())
    (part,) = message.parts
    assert isinstance(part, TextPart)
    return part.text


@pytest.mark.parametrize("question_type", ["single_choice", "multiple_choice", "numerical"])
@pytest.mark.parametrize("form", ["full", "bare"])
def test_prompt_snapshot(tmp_path: Path, question_type: str, form: str) -> None:
    """The exact text. A change here changes scores: it belongs in the changelog's Scores section."""
    fields: dict[str, Any] = {"question_type": question_type}
    if question_type == "numerical":
        fields |= {"answer": "12.5", "options": None, "unit": "%", "tolerance": 2.0}
    if form == "bare":
        fields |= {"verified_caption": None, "related_sentences": None, "options": None, "unit": None}
    expected = (SNAPSHOTS / f"finmme_{question_type}_{form}.txt").read_text(encoding="utf-8")
    assert prompt(tmp_path, **fields) + "\n" == expected


def test_the_picture_follows_the_text(tmp_path: Path) -> None:
    (message,) = messages(only(tmp_path), (PICTURE,))
    assert message.role == "user"
    assert [type(part) for part in message.parts] == [TextPart, ImagePart]


@given(question=st.text(min_size=1).filter(str.strip), caption=st.text(min_size=1).filter(str.strip))
def test_texts_go_into_the_prompt_as_they_are(question: str, caption: str) -> None:
    """Braces, backslashes and the names of other fields inside a text are only text."""
    sample = Sample(
        id="1",
        question=question + "{caption}\\1",
        options=(Option(label="A", text="{question}"), Option(label="B", text="x")),
        facets={"question_type": ("single_choice",)},
        context={"caption": caption},
        group="1",
    )
    (message,) = messages(sample, ())
    (part,) = message.parts
    assert isinstance(part, TextPart)
    assert f"Question: {question}{{caption}}\\1\n" in part.text
    assert f"Caption of the picture: {caption}\n" in part.text
    assert "\nA: {question}\nB: x\n" in part.text


def test_prompt_hash_is_a_sha256() -> None:
    assert len(bytes.fromhex(prompt_hash())) == 32


# --------------------------------------------------------------------------------------------------------------------
# Both marks


def test_no_gold_is_unmarkable_for_robust(tmp_path: Path) -> None:
    marked = mark(only(tmp_path, answer=None), Reply(text="Answer: B"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("wrong", "unmarkable")
    assert marked.difference == "the row has no answer, which the script takes for an empty one"


def test_agreement_has_no_difference(tmp_path: Path) -> None:
    sample = only(tmp_path)
    for text in ("Answer: B", "Answer: A", "I can't tell."):
        assert mark(sample, Reply(text=text)).difference is None


def test_a_truncated_reply_counts_only_with_an_explicit_answer(tmp_path: Path) -> None:
    """Case 099: a reply that was cut is told apart from a wrong one."""
    sample = only(tmp_path)
    cut = mark(sample, Reply(text="First, B looks higher than", finish="length")).robust
    assert (cut.verdict, cut.reason) == ("unanswered", "truncated")
    done = mark(sample, Reply(text="Answer: B\n\nTo explain, the", finish="length")).robust
    assert done.verdict == "right"


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        # case 008: E is "None of the above", or it isn't.
        ("Answer: None", "unanswered"),
        ("Answer: E", "right"),
    ],
)
def test_a_word_is_no_letters(tmp_path: Path, reply: str, verdict: str) -> None:
    sample = only(tmp_path, options="A: 1\nB: 2\nC: 3\nD: 4\nE: 5", answer="E")
    assert mark(sample, Reply(text=reply)).robust.verdict == verdict


def test_none_of_the_above_is_an_option_where_it_is_one(tmp_path: Path) -> None:
    sample = only(tmp_path, options="A: 1\nB: 2\nC: None of the above", answer="C")
    assert mark(sample, Reply(text="Answer: None of the above")).robust.verdict == "right"


@pytest.mark.parametrize("reply", ["Answer: 3.5-4.0", "Answer: 3.5 - 4.0"])
def test_a_range_is_no_scalar(tmp_path: Path, reply: str) -> None:
    """Case 077."""
    (sample,) = opened(tmp_path, numerical(answer="3.5", unit=None))
    assert mark(sample, Reply(text=reply)).robust.verdict != "right"


@given(text=st.text(), extracted=st.booleans(), finish=st.sampled_from(["stop", "length", "filter"]))
def test_any_reply_gets_both_verdicts(text: str, extracted: bool, finish: Any) -> None:
    reply = Reply(text=text, extracted=extracted, finish=finish)
    for sample in CHOICE, NUMBER:
        marked = mark(sample, reply)
        assert marked.reference.verdict in ("right", "wrong")
        assert marked == mark(sample, reply)
        if marked.reference.verdict == "right" != marked.robust.verdict:
            assert marked.difference


CHOICE = Sample(
    id="c",
    question="?",
    options=tuple(Option(label=label) for label in "ABCD"),
    gold=ChoiceGold(labels=("A", "C"), multiple=True),
    facets={"question_type": ("multiple_choice",)},
    group="c",
)
NUMBER = Sample(
    id="n",
    question="?",
    gold=NumberGold(value="-5", tolerance="1"),
    facets={"question_type": ("numerical",)},
    group="n",
)


# --------------------------------------------------------------------------------------------------------------------
# FinScore


def outcome(sample: Sample, reply: str | None) -> Outcome:
    result = (
        Failure(stage="call", kind="timeout", message="no reply") if reply is None else mark(sample, Reply(text=reply))
    )
    return Outcome(sample_id=sample.id, group=sample.group, facets=sample.facets, result=result, detail=detail(sample))


def test_finscore_of_a_small_run(tmp_path: Path) -> None:
    """Case 118: the script's inputs.

    Domain TMT: 1 of 2 right; Energy: 1 of 1; one row without a domain is dropped from D. D = (1/2 + 1) / 2 = 0.75.
    Multi-answer rows: ids 2 (wrong) and 4 (right): H = 1/2. FinScore = 0.75 (1 - 0.5) = 0.375.
    """
    multi = {"question_type": "multiple_choice", "answer": "AC"}
    samples = list(
        opened(
            tmp_path,
            row(id=1),
            row(id=2, **multi),
            row(id=3, knowledge_domain="Energy"),
            row(id=4, knowledge_domain=None, **multi),
        )
    )
    replies = ["Answer: B", "Answer: A", "Answer: B", "Answer: A,C"]
    outcomes = [outcome(sample, reply) for sample, reply in zip(samples, replies, strict=True)]
    result = scores(outcomes, "exclude")["finscore"]
    assert result["reference"]["domain_mean"] == pytest.approx(0.75)
    assert result["reference"]["penalty"] == pytest.approx(0.5)
    assert result["reference"]["finscore"] == pytest.approx(0.375)
    assert {(paper["total"], paper["penalty_over"]) for paper in result["paper"]} == {
        ("all_options", "all"),
        ("all_options", "choice"),
        ("correct_options", "all"),
        ("correct_options", "choice"),
    }
    json.dumps(result)


def test_finscore_needs_domains(tmp_path: Path) -> None:
    (sample,) = opened(tmp_path, row(knowledge_domain=None))
    result = scores([outcome(sample, "Answer: B")], "exclude")["finscore"]["reference"]
    assert result["finscore"] is None
    assert "domain" in result["why_none"]


def test_a_failed_call_is_missing_or_wrong_as_asked(tmp_path: Path) -> None:
    samples = list(opened(tmp_path, row(id=1), row(id=2)))
    outcomes = [outcome(samples[0], "Answer: B"), outcome(samples[1], None)]
    # 1 of 1 right without the failure, 1 of 2 with it.
    assert scores(outcomes, "exclude")["finscore"]["reference"]["finscore"] == 1.0
    assert scores(outcomes, "wrong")["finscore"]["reference"]["finscore"] == 0.5


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("12.5%", "right"), ("12.5", "right"), ("12.5 million", "right"), ("0.125", "wrong"), ("13.5%", "wrong")],
)
def test_a_scale_is_the_charts_own_where_the_row_has_no_unit(answer: str, verdict: str) -> None:
    """A gold of 12.5 without a unit: the sign that the answer writes stands on the chart's axis."""
    sample = Sample(
        id="1",
        question="How much did it grow?",
        gold=NumberGold(value="12.5", tolerance="0.5"),
        facets={"question_type": ("numerical",)},
        group="1",
    )
    assert mark(sample, Reply(text=f"Answer: {answer}")).robust.verdict == verdict
