"""We-Math: rows, options, prompt, both marks, incomplete problems."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks.base import Source, outcome_of
from assay.benchmarks.wemath import BENCHMARK, mark, messages, parse_options, published_rows
from assay.errors import DataError
from assay.types import ChoiceGold, Failure, Reply, Sample, TextPart

HERE = Path(__file__).parent
ROWS = HERE / "rows" / "wemath"
DIVERGENCES = tomllib.loads((HERE.parent / "parity" / "divergences.toml").read_text(encoding="utf-8"))["wemath"]
OPTIONS = "A. 10; B. 12; C. 24; D. 48; E. No correct answer"


def row(**fields: Any) -> dict[str, Any]:
    made = {"ID": "2steps_7", "key": "2steps_1", "question": "Which area?", "option": OPTIONS, "answer": "B"}
    return made | {"image_path": "7.png", "knowledge concept": "Area of Rectangles"} | fields


def samples(tmp_path: Path, *rows: dict[str, Any]) -> list[Sample]:
    (tmp_path / "testmini.json").write_text(json.dumps(rows), encoding="utf-8")
    return list(BENCHMARK.open(Source(data=tmp_path, need_pictures=False)))


def only(tmp_path: Path, **fields: Any) -> Sample:
    (sample,) = samples(tmp_path, row(**fields))
    return sample


# --------------------------------------------------------------------------------------------------------------------
# Rows


def test_the_questions_of_a_problem() -> None:
    first, second, whole = BENCHMARK.open(Source(data=ROWS))
    assert [sample.id for sample in (first, second, whole)] == ["2steps_1:1", "2steps_1:2", "2steps_1:multi"]
    assert {sample.group for sample in (first, second, whole)} == {"2steps_1"}
    assert first.facets == {
        "question_type": ("choice",),
        "steps": ("2steps",),
        "key": ("1",),
        "knowledge_concept": ("Area of Rectangles",),
        "domain": ("Calculation",),
    }
    assert whole.facets["knowledge_concept"] == ("Area of Rectangles", "Division of Plane Figures")
    assert whole.facets["domain"] == ("Calculation", "Cutting")


def test_without_the_file_of_nodes_there_are_no_domains(tmp_path: Path) -> None:
    assert "domain" not in only(tmp_path).facets
    dataset = BENCHMARK.open(Source(data=tmp_path, need_pictures=False))
    assert any("without a domain" in fact for fact in dataset.facts)


def test_the_published_misspelling_is_understood(tmp_path: Path) -> None:
    sample = only(tmp_path, ID="3stpes_7", key="3steps_multi")
    assert (sample.id, sample.group) == ("3steps_7:multi", "3steps_7")
    (part,) = published_rows({"ID": "3stpes_7", "key": "3steps_multi", "response": "Answer: B"})
    assert part["id"] == "3steps_7:multi"
    assert published_rows({"id": "x", "response": "B"}) == ({"id": "x", "response": "B"},)


@pytest.mark.parametrize("fields", [{"ID": ""}, {"key": "4steps_1"}, {"key": "2steps_x"}, {"key": None}])
def test_a_row_that_names_no_problem(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="has no ID and key"):
        only(tmp_path, **fields)


def test_an_answer_outside_the_options(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the answer H"):
        only(tmp_path, answer="H")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("A. 300, 400;B. 400, 300; C. No correct answer", "A=300, 400|B=400, 300|C=No correct answer"),
        ("A. Yes  ;   B. No.;; C. No correct answer", "A=Yes|B=No.|C=No correct answer"),
        ("A. B; B. C; C. D", "A=B|B=C|C=D"),
        ("A. to shape ;C.; B. from shape ;C.; C. no; D. none", "A=to shape ;C.|B=from shape ;C.|C=no|D=none"),
        ("A. around ;O.;B. No.; F. No correct answer", "A=around ;O.|B=No.|F=No correct answer"),
        ("A. a; B. b; A. again", "A=a|B=b; A. again"),
        ("", ""),
        ("none at all", ""),
    ],
)
def test_options(text: str, options: str) -> None:
    assert "|".join(f"{option.label}={option.text}" for option in parse_options(text)) == options


def test_every_real_row_is_read_and_its_gold_accepted(shared_data: Path) -> None:
    dataset = BENCHMARK.open(Source(data=shared_data / "wemath"))
    assert len(dataset) == 696
    assert dataset.facts == ()
    for sample in dataset:
        assert sample.options[-1].text == "No correct answer", sample.id
        assert "domain" in sample.facets


# --------------------------------------------------------------------------------------------------------------------
# Prompt


def test_prompt_snapshot() -> None:
    first, *_ = BENCHMARK.open(Source(data=ROWS))
    (message,) = messages(first, ())
    (part,) = message.parts
    assert isinstance(part, TextPart)
    assert part.text + "\n" == (HERE / "snapshots" / "wemath_choice.txt").read_text(encoding="utf-8")


def test_an_output_file_cannot_be_asked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no question text"):
        messages(only(tmp_path, question=None, option=None), ())


# --------------------------------------------------------------------------------------------------------------------
# Marks


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Answer: B", "B"),
        ("<Answer>: <<B>>", "B"),
        ("Answer: A. Or rather: Answer: B.", "B"),
        ("B", "B"),
        ("answer: B", None),  # the word is written with a capital
        ("Answer:\nB. 12", "B"),
        ("Answer: I", None),
        ("Answer:", None),
        ("", None),
    ],
)
def test_the_scripts_letter(tmp_path: Path, reply: str, letter: str | None) -> None:
    reference = mark(only(tmp_path), Reply(text=reply)).reference
    assert reference.extraction == letter
    assert reference.verdict == ("unanswered" if letter is None else "right")


@pytest.mark.parametrize("given_row", DIVERGENCES, ids=lambda given_row: given_row["reply"][:40])
def test_deliberate_differences(tmp_path: Path, given_row: dict[str, str]) -> None:
    marked = mark(only(tmp_path, answer=given_row["gold"]), Reply(text=given_row["reply"]))
    reference = "right" if marked.reference.verdict == "right" else "wrong"  # no letter is not right either
    assert (reference, marked.robust.verdict) == (given_row["reference"], given_row["robust"])
    assert marked.difference
    assert given_row["reason"]


def test_a_cut_reply(tmp_path: Path) -> None:
    sample = only(tmp_path)
    assert mark(sample, Reply(text="It may be B", finish="length")).robust.reason == "truncated"
    assert mark(sample, Reply(text="Answer: B\nAnd", finish="length")).robust.verdict == "right"


# --------------------------------------------------------------------------------------------------------------------
# Scores


def test_a_failed_question_makes_its_problem_incomplete() -> None:
    first, second, whole = BENCHMARK.open(Source(data=ROWS))
    right = [
        outcome_of(BENCHMARK, sample, mark(sample, Reply(text=BENCHMARK.gold_reply(sample))))
        for sample in (first, whole)
    ]
    lost = outcome_of(BENCHMARK, second, Failure(stage="call", kind="timeout", message=""))
    left_out = BENCHMARK.scores([*right, lost], "exclude")["wemath"]["reference"]
    assert (left_out["problems"], left_out["incomplete_problems"], left_out["first_incomplete"]) == (
        0,
        1,
        ("2steps_1",),
    )
    as_wrong = BENCHMARK.scores([*right, lost], "wrong")["wemath"]["reference"]
    # The whole right, one of two steps right: learned by heart strictly, mastered loosely.
    assert (as_wrong["strict"]["rm"], as_wrong["loose"]["cm"]) == (1, 1)
    assert (as_wrong["s1"], as_wrong["s2"], as_wrong["s3"]) == (0.5, 1.0, None)


def test_the_output_file_alone_can_be_scored(tmp_path: Path) -> None:
    sample = only(tmp_path, question=None, option=None, image_path=None)
    assert (sample.question, sample.options, sample.images, sample.gold) == ("", (), (), ChoiceGold(labels=("B",)))
    marked = mark(sample, Reply(text="Answer: B"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("right", "right")
