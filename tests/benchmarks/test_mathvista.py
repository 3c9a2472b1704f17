"""MathVista: rows of every origin, exact prompts, both verdicts, the script's tables. All rows are made up."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks import load_benchmark
from assay.benchmarks import mathvista_reference as reference
from assay.benchmarks.base import Source, outcome_of
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.mathvista import BENCHMARK, mark, messages, open_mathvista, scores
from assay.benchmarks.mathvista_reference import Question, distance, extract, normalise
from assay.errors import DataError, UsageError
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    Failure,
    ImagePart,
    Mark,
    Marked,
    NumberGold,
    Outcome,
    Reply,
    Sample,
    TextPart,
)

ROWS = Path(__file__).parent / "rows" / "mathvista"
SNAPSHOTS = Path(__file__).parent / "snapshots"
PICTURE = ImagePart(key="k", media_type="image/png", width=2, height=2, data=b"")
COLOURS = ["red", "green", "blue"]


def row(**fields: Any) -> dict[str, Any]:
    """A complete row with a whole number for an answer."""
    metadata = {
        "split": "testmini",
        "language": "english",
        "img_width": 1,
        "img_height": 1,
        "source": "Made Up",
        "category": "general-vqa",
        "task": "figure question answering",
        "context": "bar chart",
        "grade": "not applicable",
        "skills": ["statistical reasoning", "arithmetic reasoning"],
    }
    return {
        "pid": "7",
        "question": "How many bars are higher than 10?",
        "image": "images/7.png",
        "choices": None,
        "unit": None,
        "precision": None,
        "answer": "14",
        "question_type": "free_form",
        "answer_type": "integer",
        "metadata": metadata,
        **fields,
    }


def choice(**fields: Any) -> dict[str, Any]:
    return row(
        **{"choices": COLOURS, "answer": "green", "question_type": "multi_choice", "answer_type": "text", **fields}
    )


def opened(folder: Path, *rows: dict[str, Any], split: str = "testmini") -> RowsDataset:
    path = folder / f"{split}.jsonl"
    path.write_text("".join(json.dumps(fields) + "\n" for fields in rows), encoding="utf-8")
    return open_mathvista(Source(data=folder, split=split, need_pictures=False))


def only(folder: Path, fields: dict[str, Any]) -> Sample:
    (sample,) = opened(folder, fields)
    return sample


def prompt(sample: Sample) -> str:
    (message,) = messages(sample, (PICTURE,))
    *pictures, text = message.parts
    assert message.role == "user"
    assert pictures == [PICTURE]
    assert isinstance(text, TextPart)
    return text.text


# --------------------------------------------------------------------------------------------------------------------
# Rows


def test_the_official_layout() -> None:
    """`data/testmini.json`, an object keyed by pid, with the pictures in `data/images/`."""
    samples = list(open_mathvista(Source(data=ROWS)))
    assert [sample.id for sample in samples] == ["1", "2", "3", "4", "5"]
    assert samples[0].images == (str(ROWS / "data" / "images" / "1.png"),)
    assert samples[0].gold == ChoiceGold(labels=("B",))
    assert samples[1].gold == NumberGold(value="14", tolerance="0")
    # Two decimals: right within half of the second one.
    assert samples[2].gold == NumberGold(value="1.45", tolerance="0.005", unit="m")
    assert samples[3].gold == ExpressionGold(value="[2014, 2016]")
    assert samples[4].gold == ChoiceGold(labels=("C",))  # C and D have the same text
    assert samples[1].facets == {
        "question_type": ("free_form",),
        "answer_type": ("integer",),
        "language": ("english",),
        "source": ("Made Up",),
        "category": ("general-vqa",),
        "task": ("figure question answering",),
        "context": ("bar chart",),
        "grade": ("not applicable",),
        "skills": ("statistical reasoning", "arithmetic reasoning"),
    }


def test_pictures_beside_data(tmp_path: Path) -> None:
    """The hub's `images.zip` is often unpacked beside `data/`."""
    (tmp_path / "data").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "7.png").write_bytes(b"a picture")
    (tmp_path / "data" / "testmini.json").write_text(json.dumps({"7": row()}), encoding="utf-8")
    (sample,) = open_mathvista(Source(data=tmp_path))
    assert sample.images == (str(tmp_path / "images" / "7.png"),)


def test_the_hubs_parquet_files(tmp_path: Path) -> None:
    rows = [
        {**row(), "decoded_image": {"bytes": b"a picture", "path": None}, "precision": None},
        {**row(pid="8", answer="1.2", answer_type="float", precision=1.0), "decoded_image": {"bytes": b"b"}},
    ]
    (tmp_path / "data").mkdir()
    arrow: Any = pyarrow
    path = tmp_path / "data" / "testmini-00000-of-00001-725687bf7a18d64b.parquet"
    pyarrow.parquet.write_table(arrow.Table.from_pylist(rows), path)
    first, second = open_mathvista(Source(data=tmp_path))
    assert Path(first.images[0]).read_bytes() == b"a picture"
    assert first.facets["skills"] == ("statistical reasoning", "arithmetic reasoning")
    assert second.gold == NumberGold(value="1.2", tolerance="0.05")


def test_metadata_as_json_text(tmp_path: Path) -> None:
    sample = only(tmp_path, row(metadata=json.dumps({"task": "math word problem", "skills": [], "grade": ""})))
    assert sample.facets["task"] == ("math word problem",)
    assert "skills" not in sample.facets
    assert "grade" not in sample.facets


def test_the_test_split_has_no_answers(tmp_path: Path) -> None:
    dataset = opened(tmp_path, row(answer=""), choice(pid="8", answer=""), split="test")
    assert any(fact.startswith("2 of 2 rows have no answer") for fact in dataset.facts)
    for sample in dataset:
        marked = mark(sample, Reply(text="Answer: 14"))
        assert (marked.reference.verdict, marked.robust.verdict) == ("unmarkable", "unmarkable")
    outcomes = [outcome_of(BENCHMARK, sample, mark(sample, Reply(text="Answer: 14"))) for sample in dataset]
    assert scores(outcomes, "exclude")["official"]["average"]["total"] == 0
    assert scores(outcomes, "wrong")["official"]["average"]["total"] == 2


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (choice(answer="pink"), "has the answer 'pink', which is none of its choices"),
        (choice(choices=None), "is multi_choice with 0 choices"),
        (row(choices=COLOURS), "is free_form with 3 choices"),
        (row(pid=None), "has no pid"),
        (row(answer_type="colour"), "has the answer type 'colour'"),
        (row(metadata="{"), "has metadata that is no JSON"),
    ],
)
def test_rows_that_cannot_be_used_are_named(fields: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"testmini\.jsonl:1") as caught:
        opened(tmp_path, fields)
    assert problem in str(caught.value)


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'mini'.*testmini, test"):
        open_mathvista(Source(data=ROWS, split="mini"))


def test_case_112_choices_that_the_official_prompt_lists_otherwise_are_reported(tmp_path: Path) -> None:
    same = "Hint: ...\nQuestion: Which?\r\nChoices:\n(A) red\n(B) green\n(C) blue"
    other = "Hint: ...\nQuestion: Which?\nChoices:\n(A) green\n(B) red\n(C) blue"
    dataset = opened(tmp_path, choice(query=same), choice(pid="272", query=other))
    (fact,) = (fact for fact in dataset.facts if "query" in fact)
    assert fact.startswith("1 of 2 rows list other choices in `query` than in `choices`")
    assert "(ids 272)" in fact
    # The prompt and the verdict both follow `choices`.
    sample = list(dataset)[1]
    assert "(A) red\n(B) green" in prompt(sample)
    assert mark(sample, Reply(text="Answer: B")).robust.verdict == "right"


def test_case_110_a_copy_with_other_line_ends_is_another_revision_with_the_same_prompts(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    ours = opened(tmp_path, row(question="Two lines.\nHow many?"))
    copy = opened(tmp_path / "copy", row(question="Two lines.\r\nHow many?\r\n"))
    assert [prompt(sample) for sample in ours] == [prompt(sample) for sample in copy]
    assert ours.revision != copy.revision


# --------------------------------------------------------------------------------------------------------------------
# Prompts


@pytest.mark.parametrize(
    ("number", "name"), [(0, "choice"), (1, "integer"), (2, "float_two_decimals_unit"), (3, "list")]
)
def test_the_exact_prompts(number: int, name: str) -> None:
    sample = list(open_mathvista(Source(data=ROWS)))[number]
    expected = (SNAPSHOTS / f"mathvista_{name}.txt").read_text(encoding="utf-8")
    assert prompt(sample) == expected.rstrip("\n")


def test_one_decimal_place(tmp_path: Path) -> None:
    text = prompt(only(tmp_path, row(answer="1.2", answer_type="float", precision=1)))
    assert "one decimal place (such as 3.6)" in text


# --------------------------------------------------------------------------------------------------------------------
# The script's rule


@pytest.mark.parametrize(
    ("a", "b", "steps"),
    [
        ("", "", 0),
        ("", "zero", 4),
        ("kitten", "sitting", 3),  # k -> s, e -> i, + g
        ("B.", "3.5", 2),  # B -> 3, + 5
        ("ab", "ba", 2),
    ],
)
def test_edit_distance(a: str, b: str, steps: int) -> None:
    assert distance(a, b) == distance(b, a) == steps


@given(st.text("ab", max_size=6), st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_edit_distance_is_a_metric(a: str, b: str, c: str) -> None:
    assert (distance(a, b) == 0) == (a == b)
    assert abs(len(a) - len(b)) <= distance(a, b) <= max(len(a), len(b))
    assert distance(a, c) <= distance(a, b) + distance(b, c)


SIGNS = ("positive", "negative", "zero", "undefined")
INTEGER = Question(answer="14", answer_type="integer")
TWO_DECIMALS = Question(answer="1.45", answer_type="float", precision=2)


@pytest.mark.parametrize(
    ("extraction", "question", "prediction", "nearest"),
    [
        ("B", Question("", "text", SIGNS), "negative", False),
        (" (c) zero", Question("", "text", SIGNS), "zero", False),
        ("(x) b", Question("", "text", SIGNS), "zero", True),  # X: every choice is replaced whole, the shortest wins
        ("E", Question("", "text", SIGNS), "zero", True),  # no fifth choice
        ("b", Question("", "text", SIGNS), "zero", True),  # letters count in upper case only
        ("", Question("", "text", SIGNS), "zero", True),  # case 095: 4 insertions, the others take 8 and 9
        ("B.", Question("", "text", ("3.5", "4.2", "5.0")), "3.5", True),  # case 096: 2 steps to each, the first wins
        ("postive", Question("", "text", SIGNS), "positive", True),
        ("14.9", INTEGER, "14", False),  # case 093
        ("14.0", INTEGER, "14", False),  # case 094
        ("-0.5", INTEGER, "0", False),
        ("1e3", INTEGER, "1000", False),
        ("inf", INTEGER, None, False),
        ("nan", INTEGER, None, False),
        ("fourteen", INTEGER, None, False),
        ("1.449", TWO_DECIMALS, "1.45", False),  # case 094
        ("1.4", TWO_DECIMALS, "1.4", False),
        ("x", TWO_DECIMALS, None, False),
        ("[1, 2]", Question("[1, 2]", "list"), "[1, 2]", False),
        ("[1,2]", Question("[1, 2]", "list"), "[1,2]", False),
    ],
)
def test_normalisation(extraction: str, question: Question, prediction: str | None, nearest: bool) -> None:
    assert normalise(extraction, question) == (prediction, nearest)


@pytest.mark.parametrize(("extraction", "old"), [("14", "14"), (" 14 ", "14"), ("14.0", None), ("14.9", None)])
def test_the_old_rule_refuses_decimal_points(extraction: str, old: str | None) -> None:
    assert normalise(extraction, INTEGER, integers="old") == (old, False)
    assert normalise(extraction, INTEGER)[0] == "14"


@pytest.mark.parametrize(
    ("reply", "question", "extraction"),
    [
        ("green", Question("", "text", ("red", "green")), "green"),
        (" 14 ", INTEGER, "14"),
        ("14.50", TWO_DECIMALS, "14.5"),
        ('The answer is "14 bars". Sure.', INTEGER, "14 bars"),
        # Where the script asks a language model, our readers look for the answer.
        ("I count them.\nAnswer: 14", INTEGER, "14"),
        ("The total is 1,014.", INTEGER, "1014"),
        ("So the answer is (B).", Question("", "text", ("red", "green")), "B"),
        ("The list is [1, 2].", Question("", "list"), "[1, 2]"),
        ("I can't see a picture.", INTEGER, ""),
        ("I can't see a picture.", Question("", "text", ("red", "green")), ""),
        ("", INTEGER, ""),
    ],
)
def test_extraction(reply: str, question: Question, extraction: str) -> None:
    assert extract(reply, question) == extraction


@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(text: str) -> None:
    for question in (INTEGER, TWO_DECIMALS, Question("[1, 2]", "list"), Question("zero", "text", SIGNS)):
        for integers in ("current", "old"):
            found = reference.mark(extract(text, question), question, integers=integers)
            assert found.verdict in ("right", "wrong")
            if question.choices:
                assert found.extraction in question.choices


# --------------------------------------------------------------------------------------------------------------------
# Both verdicts


def verdicts(sample: Sample, reply: Reply) -> tuple[str, str]:
    marked = mark(sample, reply)
    return marked.reference.verdict, marked.robust.verdict


@pytest.mark.parametrize(
    ("fields", "text", "expected"),
    [
        (row(), "I count 14 bars.\nAnswer: 14", ("right", "right")),
        (row(), "Answer: 14.0", ("right", "right")),
        (row(), "Answer: 14.9", ("right", "wrong")),  # case 093
        (row(), "I can't see it.", ("wrong", "unanswered")),
        (row(answer="1.45", answer_type="float", precision=2), "Answer: 1.449", ("right", "right")),  # case 094
        (row(answer="1.45", answer_type="float", precision=2), "Answer: 1.46", ("wrong", "wrong")),
        (row(answer="[1, 2]", answer_type="list"), "Answer: [1, 2]", ("right", "right")),  # case 094
        (row(answer="[1, 2]", answer_type="list"), "Answer: 1 and 2", ("wrong", "right")),
        (row(answer="[1, 2]", answer_type="list"), "Answer: [2, 1]", ("wrong", "wrong")),
        (row(answer="[1, 2]", answer_type="list"), "It is the list [1, 2], I think", ("right", "right")),
        (row(answer="[1, 2]", answer_type="list"), "Answer: 1", ("wrong", "unanswered")),
        (choice(), "Answer: B", ("right", "right")),
        (choice(), "(B) green", ("right", "right")),
        (choice(), "Answer: green", ("right", "right")),
        (choice(answer="red"), "I can't see it.", ("right", "unanswered")),  # case 095: nothing read, "red" is shortest
        (choice(choices=["9", "18", "18"], answer="18"), "Answer: C", ("right", "right")),
        (choice(choices=["9", "18", "18"], answer="18"), "Answer: B", ("right", "right")),
        (choice(choices=["9", "18", "18"], answer="18"), "Answer: 18", ("wrong", "right")),
    ],
)
def test_both_verdicts_on_replies(fields: dict[str, Any], text: str, expected: tuple[str, str], tmp_path: Path) -> None:
    assert verdicts(only(tmp_path, fields), Reply(text=text)) == expected


def test_the_recorded_extraction_decides_the_reference_and_helps_robust_where_the_text_says_nothing(
    tmp_path: Path,
) -> None:
    sample = only(tmp_path, choice())
    # The text is clear: robust reads it, whatever was extracted.
    assert verdicts(sample, Reply(text="Answer: A", extraction="B")) == ("right", "wrong")
    assert verdicts(sample, Reply(text="Answer: B", extraction="A")) == ("wrong", "right")
    # The text is not: the extraction is the only answer there is.
    marked = mark(sample, Reply(text="The one in the middle has the colour of grass.", extraction="B"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("right", "right")
    assert marked.robust.reason == "read from the extraction"
    # An empty extraction says that there is no answer; the script's rule picks the shortest choice.
    assert verdicts(only(tmp_path, choice(answer="red")), Reply(text="?", extraction="")) == ("right", "unanswered")


def test_a_cut_reply_has_answered_only_where_it_says_so(tmp_path: Path) -> None:
    sample = only(tmp_path, row())
    assert mark(sample, Reply(text="Answer: 14", finish="length")).robust.verdict == "right"
    cut = mark(sample, Reply(text="First there are 14", finish="length", extraction="14"))
    assert (cut.robust.verdict, cut.robust.reason) == ("unanswered", "truncated")
    assert cut.reference.verdict == "right"


def test_a_difference_says_what_the_script_read(tmp_path: Path) -> None:
    assert mark(only(tmp_path, row()), Reply(text="Answer: 14.9")).difference == (
        'the script reads "14", robust "14.9": wrong (14.9 is 0.9 off, tolerance 0)'
    )
    guessed = mark(only(tmp_path, choice(answer="red")), Reply(text="I can't see it."))
    assert guessed.difference is not None
    assert guessed.difference.startswith('the script reads "red" (the nearest choice), robust no answer: unanswered')


def test_the_old_benchmark_differs_in_the_integer_rule_alone(tmp_path: Path) -> None:
    old = load_benchmark("mathvista-old")
    sample = only(tmp_path, row())
    reply = Reply(text="", extraction="14.0")
    assert old.mark(sample, reply).reference.verdict == "wrong"
    assert BENCHMARK.mark(sample, reply).reference.verdict == "right"
    assert old.mark(sample, reply).robust == BENCHMARK.mark(sample, reply).robust
    assert old.prompt_hash() == BENCHMARK.prompt_hash()


# --------------------------------------------------------------------------------------------------------------------
# Tables


def outcome(sample_id: str, reference: Mark | None, **facets: tuple[str, ...]) -> Outcome:
    result = (
        Failure(stage="call", kind="timeout", message="")
        if reference is None
        else Marked(reference=reference, robust=Mark(verdict="wrong"))
    )
    return Outcome(sample_id=sample_id, group=sample_id, facets=facets, result=result)


RIGHT, WRONG = Mark(verdict="right"), Mark(verdict="wrong")
GUESSED = Mark(verdict="right", reason=reference.NEAREST)


def test_the_tables_count_a_row_once_for_each_skill() -> None:
    outcomes = [
        outcome("1", RIGHT, task=("x",), skills=("a", "b")),
        outcome("2", WRONG, task=("x",), skills=("b",)),
        outcome("3", GUESSED, task=("y",), skills=("b",)),
    ]
    found = scores(outcomes, "exclude")
    assert found["nearest_choice"] == {"replies": 1, "right": 1}  # case 095: how many points come from the rule
    tables = found["official"]
    # 2 of 3 = 66.666..., which the average shows as 66.67 too; "a": 1 of 1, "b": 2 of 3.
    assert tables["average"] == {"accuracy": "66.67", "correct": 2, "total": 3}
    assert tables["task"] == {
        "x": {"accuracy": "50.00", "correct": 1, "total": 2},
        "y": {"accuracy": "100.00", "correct": 1, "total": 1},
    }
    assert tables["skills"] == {
        "a": {"accuracy": "100.00", "correct": 1, "total": 1},
        "b": {"accuracy": "66.67", "correct": 2, "total": 3},
    }


def test_failures_count_as_the_caller_says() -> None:
    outcomes = [outcome("1", RIGHT, task=("x",)), outcome("2", None, task=("x",))]
    assert scores(outcomes, "exclude")["official"]["average"] == {"accuracy": "100.0", "correct": 1, "total": 1}
    assert scores(outcomes, "wrong")["official"]["average"] == {"accuracy": "50.0", "correct": 1, "total": 2}
    assert scores([], "wrong")["official"]["average"] == {"accuracy": "0.0", "correct": 0, "total": 0}


@pytest.mark.parametrize(("reply", "verdict"), [("14%", "right"), ("$14 million", "right"), ("0.14", "wrong")])
def test_a_scale_is_the_pictures_own_where_the_row_has_no_unit(reply: str, verdict: str, tmp_path: Path) -> None:
    assert mark(only(tmp_path, row(answer="14")), Reply(text=f"Answer: {reply}")).robust.verdict == verdict
