"""DynaMath: rows, splits, prompts, the script's rule quirk by quirk, and the right verdict."""

import json
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks import dynamath_reference
from assay.benchmarks.base import Source
from assay.benchmarks.dynamath import BENCHMARK, mark, messages, published_rows
from assay.benchmarks.dynamath_reply import find_short_answer
from assay.errors import DataError
from assay.types import ChoiceGold, NumberGold, Reply, Sample, TextGold, TextPart

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "src" / "assay" / "demo" / "dynamath"
DIVERGENCES = tomllib.loads((HERE.parent / "parity" / "divergences.toml").read_text(encoding="utf-8"))["dynamath"]


def row(**fields: Any) -> dict[str, Any]:
    made = {
        "id": "v1_q7",
        "variant": 1,
        "qid": 7,
        "question": "How long is AB?",
        "answer": "2.5",
        "answer_type": "float",
    }
    return made | {"subject": "plane geometry", "level": "high school"} | fields


def samples(tmp_path: Path, *rows: dict[str, Any], name: str = "test.jsonl", split: str | None = None) -> list[Sample]:
    (tmp_path / name).write_text("".join(json.dumps(fields) + "\n" for fields in rows), encoding="utf-8")
    return list(BENCHMARK.open(Source(data=tmp_path, split=split, need_pictures=False)))


def only(tmp_path: Path, **fields: Any) -> Sample:
    (sample,) = samples(tmp_path, row(**fields))
    return sample


def as_json(answer: object) -> str:
    return json.dumps({"solution": "Because.", "short answer": answer}, ensure_ascii=False)


# --------------------------------------------------------------------------------------------------------------------
# Rows and splits


def test_a_row(tmp_path: Path) -> None:
    sample = only(tmp_path, subject="analytic     geometry", image="image/7.png")
    assert (sample.id, sample.group) == ("v1_q7", "q7")  # intervals are clustered by seed (reported case 219)
    assert sample.gold == NumberGold(value="2.5", tolerance="0.001")
    assert sample.facets == {
        "question_type": ("float",),
        "subject": ("analytic geometry",),
        "level": ("high school",),
        "variant": ("1",),
    }
    assert sample.images == (str(tmp_path / "image/7.png"),)


def test_golds_by_type(tmp_path: Path) -> None:
    choice = only(tmp_path, answer_type="multiple choice", answer="B", question="Is it? Choices: (A) Yes (B) No")
    assert choice.gold == ChoiceGold(labels=("B",))
    assert [(option.label, option.text) for option in choice.options] == [("A", "Yes"), ("B", "No")]
    # Options in the picture: the question lists none, and the gold still counts.
    assert only(tmp_path, answer_type="multiple choice", answer="D", question="Which one?").options == ()
    assert only(tmp_path, answer_type="single answer", answer="37").gold == NumberGold(value="37", tolerance="0.001")
    assert only(tmp_path, answer_type="text", answer="Sep").gold == TextGold(values=("Sep", "September"))
    edge = only(tmp_path, answer_type="text", answer="DE", question="What is the first edge?")
    assert edge.gold == TextGold(values=("DE", "ED"))
    assert only(tmp_path, answer_type="text", answer="DE", question="Which code?").gold == TextGold(values=("DE",))


@pytest.mark.parametrize("fields", [{"qid": None}, {"qid": True}, {"qid": [1]}])
def test_a_row_without_its_seed(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="has no seed number"):
        only(tmp_path, **fields)


def test_both_files_of_variants_make_one_split_and_a_row_counts_once(tmp_path: Path) -> None:
    samples(tmp_path, row(question="with picture"), name="variants_x10.jsonl", split="variants")
    both = samples(tmp_path, row(question="text"), row(id="v2_q7", variant=2), name="variants_text.jsonl")
    assert [(sample.id, sample.question) for sample in both] == [
        ("v1_q7", "with picture"),
        ("v2_q7", "How long is AB?"),
    ]


def test_the_repository_layout(tmp_path: Path) -> None:
    for trial in (1, 2, 10):
        folder = tmp_path / "samples and result" / "10trials" / f"trial{trial}"
        folder.mkdir(parents=True)
        fields = row(answer=str(trial))
        for name in ("id", "variant", "qid"):
            del fields[name]
        (folder / "dataset.json").write_text(json.dumps({"7": fields}), encoding="utf-8")
    found = list(BENCHMARK.open(Source(data=tmp_path, need_pictures=False)))
    assert [(s.id, s.group, s.gold.value if isinstance(s.gold, NumberGold) else "") for s in found] == [
        ("v1_q7", "q7", "1"),
        ("v2_q7", "q7", "2"),
        ("v10_q7", "q7", "10"),
    ]
    assert found[1].images[0].endswith("10trials/trial2/image/image7.png")


def test_seeds(tmp_path: Path) -> None:
    (seed,) = samples(tmp_path, {**row(id="seed_7"), "variant": None}, name="seed_questions.jsonl", split="seed")
    assert (seed.id, seed.facets["variant"]) == ("seed_7", ("seed",))


def test_the_hubs_columns(tmp_path: Path) -> None:
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    for variant in (2, 10):
        table = arrow.table(
            {
                "id": ["7"],
                "question": ["How long is AB?"],
                "image": ["7.png"],
                "decoded_image": [{"bytes": None, "path": "7.png"}],
                "ground_truth": ["2.5"],
                "answer_type": ["float"],
                "subject": ["plane geometry"],
                "knowledge_level": ["high school"],
            }
        )
        (tmp_path / "data").mkdir(exist_ok=True)
        parquet.write_table(table, tmp_path / "data" / f"sample_variant{variant}-00000-of-00001.parquet")
    found = list(BENCHMARK.open(Source(data=tmp_path, need_pictures=False)))
    assert [sample.id for sample in found] == ["v2_q7", "v10_q7"]
    assert found[0].facets["level"] == ("high school",)
    assert found[0].gold == NumberGold(value="2.5", tolerance="0.001")


def test_a_row_of_published_verdicts_is_one_row_for_each_variant() -> None:
    parts = published_rows({"qid": 7, "correct": [1, 0], "subject": "algebra"})
    assert [(part["id"], part["variant"], part["correct"]) for part in parts] == [("v1_q7", 1, 1), ("v2_q7", 2, 0)]
    assert published_rows({"id": "v1_q7", "response": "5"}) == ({"id": "v1_q7", "response": "5"},)


def test_every_real_row_is_read_and_its_gold_accepted(shared_data: Path) -> None:
    for split, count in (("seed", 501), ("variants", 190), ("test", 4831)):
        dataset = BENCHMARK.open(Source(data=shared_data / "dynamath", split=split, need_pictures=split != "test"))
        assert len(dataset) == count
        assert not [fact for fact in dataset.facts if "does not accept" in fact]
        subjects = {sample.facets["subject"][0] for sample in dataset}
        assert len(subjects) == 9


# --------------------------------------------------------------------------------------------------------------------
# Prompts


@pytest.mark.parametrize("kind", ["float", "multiple choice", "text"])
def test_prompt_snapshot(tmp_path: Path, kind: str) -> None:
    fields = {"answer": "A", "question": "Is it? Choices: (A) Yes (B) No"} if kind != "float" else {}
    (message,) = messages(only(tmp_path, answer_type=kind, **fields), ())
    (part,) = message.parts
    assert isinstance(part, TextPart)
    name = f"dynamath_{kind.replace('multiple ', '')}.txt"
    assert part.text + "\n" == (HERE / "snapshots" / name).read_text(encoding="utf-8")


def test_a_row_of_verdicts_cannot_be_asked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no question text"):
        messages(only(tmp_path, question=""), ())


# --------------------------------------------------------------------------------------------------------------------
# The reference; worked out by hand from the rule


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"solution": "x", "short answer": "2.5"}', "2.5"),
        ('Sure! ```json\n{"solution": "x", "short answer": 2.50}\n```', "2.5"),
        ('{"solution": "\\frac{1}{2}", "short answer": "B"}', "B"),  # backslashes go, the braces inside stay
        ('{"solution": "a\nb", "short answer": "B"}', "B"),  # a bare line break is no error to the script
        ('{"solution": "x"}', None),
        ('{"short answer": null}', None),
        ("2.5", None),  # a JSON number has no short answer
        ("It is so.\nAnswer: 2.5", "Answer: 2."),  # the last line without its last character
        ("", ""),
        ("{", ""),
        ('{"solution": "x", "short answer": "B"', '{"solution": "x", "short answer": "B'),
    ],
)
def test_the_scripts_short_answer(reply: str, answer: str | None) -> None:
    assert dynamath_reference.short_answer(reply) == answer


@pytest.mark.parametrize(
    ("answer", "gold", "kind", "right"),
    [
        ("2.5", "2.5", "float", True),
        ("2.501", "2.5", "float", True),  # 2.501 - 2.5 is 0.00099999... in binary
        ("2.5011", "2.5", "float", False),
        ("2.5 cm", "2.5", "float", True),
        ("2.5cm", "2.5", "float", False),
        ("x = 2.5", "2.5", "float", False),
        ("2π", "6.2832", "float", True),  # 6.28319
        ("2π/3", "2.0944", "float", False),  # 6.28319 to the rule
        ("π", "3.1416", "float", False),
        ("1/3", "0.3333", "float", False),
        ("3", "3", "float", True),
        ("²", "2", "float", False),  # a digit to isdigit, no number to float
        ("nan", "2.5", "float", False),
        ("B", "B", "multiple choice", True),
        ("b", "B", "multiple choice", False),
        ("(B) No", "B", "multiple choice", True),
        ("BA", "A", "multiple choice", True),
        ("Option B", "B", "multiple choice", False),
        ("Bxxx", "B", "multiple choice", True),
        ("It is May.", "May", "other", True),
        ("Maybe June", "May", "other", True),
        ("may", "May", "other", False),
        ("137", "37", "other", True),
    ],
)
def test_the_scripts_comparison(answer: str, gold: str, kind: Any, right: bool) -> None:
    assert dynamath_reference.mark(Reply(text=as_json(answer)), gold, kind).verdict == ("right" if right else "wrong")


@given(st.text(max_size=200) | st.text(alphabet='{}[]"\\:,0123π short answer', max_size=80))
def test_neither_reader_trips_over_any_text(text: str) -> None:
    dynamath_reference.mark(Reply(text=text), "2.5", "float")
    find_short_answer(text)


def test_deep_nesting_is_no_answer() -> None:
    text = '{"short answer": ' + "[" * 100_000 + "}"
    assert dynamath_reference.mark(Reply(text=text), "2.5", "float").verdict == "wrong"


# --------------------------------------------------------------------------------------------------------------------
# Robust


@pytest.mark.parametrize("given_row", DIVERGENCES, ids=lambda given_row: given_row["reply"][:40])
def test_deliberate_differences(tmp_path: Path, given_row: dict[str, str]) -> None:
    sample = only(
        tmp_path, answer_type=given_row["type"], answer=given_row["gold"], question=given_row.get("question", "Which?")
    )
    marked = mark(sample, Reply(text=given_row["reply"]))
    assert (marked.reference.verdict, marked.robust.verdict) == (given_row["reference"], given_row["robust"])
    assert marked.difference
    assert given_row["reason"]


@pytest.mark.parametrize(
    ("kind", "gold", "reply", "verdict"),
    [
        ("float", "2.0944", as_json("2.094"), "right"),
        ("float", "2.0944", as_json(2.094), "right"),
        ("float", "2.0944", as_json("2.09"), "wrong"),  # 0.0044 off
        ("float", "2.0944", "Answer: 2.0944", "right"),
        ("float", "0.5", as_json("50%"), "right"),
        ("float", "50", as_json("50%"), "right"),
        ("float", "2.5", as_json("I can't see the picture"), "unanswered"),
        ("float", "2.5", as_json(""), "unanswered"),
        ("float", "2.5", "", "unanswered"),
        ("multiple choice", "B", as_json("B"), "right"),
        ("multiple choice", "B", as_json("No"), "right"),
        ("multiple choice", "B", as_json("A"), "wrong"),
        ("multiple choice", "B", as_json("A or B"), "unanswered"),
        ("multiple choice", "B", "B", "right"),
        ("text", "(3, -5)", as_json("(3.0, -5.0)"), "right"),
        ("text", "(3, -5)", as_json("(3, 5)"), "wrong"),
        ("text", "May", "Answer: May", "right"),
        ("text", "May", "May", "right"),
        ("text", "May", "May is warm in the picture. " * 20, "unanswered"),
        ("text", "May", as_json("  "), "unanswered"),
    ],
)
def test_robust(tmp_path: Path, kind: str, gold: str, reply: str, verdict: str) -> None:
    sample = only(tmp_path, answer_type=kind, answer=gold, question="Is it? Choices: (A) Yes (B) No")
    assert mark(sample, Reply(text=reply)).robust.verdict == verdict


def test_a_cut_reply_has_answered_only_where_its_short_answer_is_whole(tmp_path: Path) -> None:
    sample = only(tmp_path)
    whole = Reply(text='{"short answer": "2.5", "solution": "since', finish="length")
    cut = Reply(text='{"solution": "since", "short answer": "2.5', finish="length")
    before = Reply(text='{"solution": "since AB is 2.5', finish="length")
    assert mark(sample, whole).robust.verdict == "right"
    assert mark(sample, cut).robust.reason == mark(sample, before).robust.reason == "truncated"


def test_an_extracted_answer_is_taken_whole(tmp_path: Path) -> None:
    marked = mark(only(tmp_path), Reply(text="2.5", extracted=True))
    assert (marked.reference.verdict, marked.robust.verdict) == ("right", "right")


def test_a_row_without_an_answer(tmp_path: Path) -> None:
    marked = mark(only(tmp_path, answer=None), Reply(text=as_json("2.5")))
    assert (marked.reference.verdict, marked.robust.verdict) == ("unmarkable", "unmarkable")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r'{"short answer": "\frac{1}{2}"}', r"\frac{1}{2}"),
        (r'{"short answer": "\\frac{1}{2}"}', r"\frac{1}{2}"),
        (r'{"short answer": "\u03c0"}', "π"),
        ('{"short answer": [3, 2], "solution": "x"', '[3, 2], "solution": "x"'),
        ("**Short answer:** B", "B"),
        ("short_answer = 5,", "5"),
        ('{"short answer": null}', ""),
        ('{"short answer": ""}', ""),
        ("**Short answer:**\n2.5", "2.5"),
        ('"short answer": "1"\n"short answer": "2"', "2"),
        ("short answers are best", None),
    ],
)
def test_short_answers_out_of_broken_json(text: str, answer: str | None) -> None:
    found = find_short_answer(text)
    assert (found.text if found else None) == answer
