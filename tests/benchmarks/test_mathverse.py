"""MathVerse: versions and splits, exact prompts, both verdicts, the tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.base import Source
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.mathverse import (
    PICTURED,
    SPLITS,
    VERSIONS,
    gold_reply,
    mark,
    messages,
    open_mathverse,
    scores,
    value_of,
)
from assay.errors import DataError, UsageError
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    Failure,
    ImagePart,
    Mark,
    Marked,
    Option,
    Outcome,
    Reply,
    Sample,
    TextPart,
)

ROWS = Path(__file__).parent / "rows" / "mathverse"
SNAPSHOTS = Path(__file__).parent / "snapshots"
PICTURE = ImagePart(key="k", media_type="image/png", width=2, height=2, data=b"")
QUESTION = "How big is the angle C?\nChoices:\nA:20°\nB:40°\nC:60°\nD:140°"


def row(**fields: Any) -> dict[str, Any]:
    """A complete choice row, as in the official file."""
    return {
        "sample_index": "1",
        "problem_index": "1",
        "problem_version": "Text Lite",
        "question": QUESTION,
        "image": "images_version_1-4/image_1.png",
        "answer": "B",
        "question_type": "multi-choice",
        "metadata": {"split": "testmini", "source": "Made Up", "subject": "Plane Geometry", "subfield": "Angle"},
        **fields,
    }


def free(answer: str, **fields: Any) -> dict[str, Any]:
    return row(**{"question": "How long is AB?", "answer": answer, "question_type": "free-form", **fields})


def opened(folder: Path, *rows: dict[str, Any], split: str = "testmini") -> RowsDataset:
    path = folder / "testmini.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return open_mathverse(Source(data=path, split=split, need_pictures=False))


def only(folder: Path, fields: dict[str, Any]) -> Sample:
    (sample,) = opened(folder, fields)
    return sample


def prompt(sample: Sample) -> str:
    (message,) = messages(sample, (PICTURE,) * len(sample.images))
    *pictures, text = message.parts
    assert pictures == [PICTURE] * len(sample.images)
    assert isinstance(text, TextPart)
    return text.text


# --------------------------------------------------------------------------------------------------------------------
# Versions and rows


def test_the_official_file_holds_five_versions_of_each_problem() -> None:
    dataset = open_mathverse(Source(data=ROWS))
    samples = list(dataset)
    assert [sample.facets["version"][0] for sample in samples] == list(PICTURED)
    assert {sample.group for sample in samples} == {"1"}  # versions of one problem are not independent
    assert samples[0].gold == ChoiceGold(labels=("B",))
    assert samples[0].options[1] == Option(label="B", text="40°")
    assert samples[2].gold == ExpressionGold(value=r"4\sqrt{3}")
    assert samples[0].facets == {
        "question_type": ("multi-choice",),
        "version": ("Text Dominant",),
        "subject": ("Plane Geometry",),
        "subfield": ("Plane Geometry-Angle",),
    }
    # What a reader must know of a score is printed with it.
    assert "1 of 5 rows are of the version Vision Only (ids 5)." in dataset.facts


@pytest.mark.parametrize(
    ("split", "ids"),
    [
        ("testmini", ["1", "2", "3", "4", "5"]),
        ("text_dominant", ["1"]),
        ("text_lite", ["2"]),
        ("vision_intensive", ["3"]),
        ("vision_dominant", ["4"]),
        ("vision_only", ["5"]),
        ("text_only", ["6"]),
        ("testmini_text_only", ["6"]),
    ],
)
def test_a_split_is_a_choice_of_versions(split: str, ids: list[str], tmp_path: Path) -> None:
    rows = [row(sample_index=str(at), problem_version=version) for at, version in enumerate(VERSIONS, start=1)]
    dataset = opened(tmp_path, *rows, split=split)
    assert [sample.id for sample in dataset] == ids
    assert len(dataset) == len(ids)
    assert dataset.split == split


def test_every_split_is_described_and_an_unknown_one_refused() -> None:
    from assay.benchmarks import mathverse

    assert all(split in (mathverse.__doc__ or "") for split in SPLITS)
    with pytest.raises(UsageError, match=r"'mini'.*vision_only"):
        open_mathverse(Source(data=ROWS, split="mini"))


def test_text_only_lies_in_a_file_of_its_own(tmp_path: Path) -> None:
    fields = row(problem_version="Text_Only", image="")
    (tmp_path / "testmini_text_only.jsonl").write_text(json.dumps(fields) + "\n", encoding="utf-8")
    (sample,) = open_mathverse(Source(data=tmp_path, split="text_only"))
    assert sample.images == ()
    assert sample.facets["version"] == ("Text Only",)


@pytest.mark.parametrize("place", ["", "images"])
def test_pictures_beside_the_file_or_in_images(place: str, tmp_path: Path) -> None:
    picture = tmp_path / place / "images_version_1-4" / "image_1.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"a picture")
    (tmp_path / "testmini.json").write_text(json.dumps([row()]), encoding="utf-8")
    (sample,) = open_mathverse(Source(data=tmp_path))
    assert sample.images == (str(picture),)


@pytest.mark.parametrize("name", ["metadata", "category"])
def test_subject_and_subfield_stand_in_either_column(name: str, tmp_path: Path) -> None:
    fields = row(**{"metadata": None, name: {"subject": "Solid Geometry", "subfield": "Area"}})
    assert only(tmp_path, fields).facets["subfield"] == ("Solid Geometry-Area",)


@pytest.mark.parametrize(
    ("answer", "question", "gold"),
    [
        ("B", QUESTION, ChoiceGold(labels=("B",))),
        ("(C)", QUESTION, ChoiceGold(labels=("C",))),
        ("False", "True or false?\nChoice:\nA. True\nB. False", ChoiceGold(labels=("B",))),
        (r"090^\circ T", "Which?\nChoice:\nA. 090^\\circ T\nB. 180^\\circ T", ChoiceGold(labels=("A",))),
        ("C\nD", QUESTION, ChoiceGold(labels=("C", "D"), multiple=True)),
        ("B", "The options are in the picture.", ChoiceGold(labels=("B",))),
    ],
)
def test_answers_of_choice_questions(answer: str, question: str, gold: ChoiceGold, tmp_path: Path) -> None:
    assert only(tmp_path, row(answer=answer, question=question)).gold == gold


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (row(answer="E"), "has the answer E, which is not among its options"),
        (row(answer="40 50"), "has the answer '40 50', which is no option"),
        (row(problem_version="Audio Only"), "has the version 'Audio Only'"),
    ],
)
def test_rows_that_cannot_be_used_are_named(fields: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"testmini\.json") as caught:
        opened(tmp_path, fields)
    assert problem in str(caught.value)


# --------------------------------------------------------------------------------------------------------------------
# Prompts


@pytest.mark.parametrize(("number", "name"), [(1, "choice"), (2, "free"), (4, "vision_only")])
def test_the_exact_prompts(number: int, name: str) -> None:
    sample = list(open_mathverse(Source(data=ROWS)))[number]
    expected = (SNAPSHOTS / f"mathverse_{name}.txt").read_text(encoding="utf-8")
    assert prompt(sample) == expected.rstrip("\n")


def test_case_113_a_judge_gets_the_question_that_the_prompt_must_not_show(tmp_path: Path) -> None:
    sample = only(tmp_path, row(problem_version="Vision Only", question="", question_for_eval=QUESTION))
    assert sample.context["question_for_eval"] == QUESTION
    assert sample.question  # the prompt says where the question is
    assert "angle C" not in prompt(sample)
    assert "140°" not in prompt(sample)
    # The options of the judge's question are what a reply is read against.
    assert mark(sample, Reply(text="The angle is 40°.")).robust.verdict == "right"


def test_a_missing_question_for_a_judge_is_reported(tmp_path: Path) -> None:
    dataset = opened(tmp_path, free("4", problem_version="Vision Only", question=""))
    assert any("have no question text for a judge" in fact for fact in dataset.facts)


# --------------------------------------------------------------------------------------------------------------------
# Both verdicts


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (r"Area $=113.1 \mathrm{~cm}^{2}$", r"$113.1 \mathrm{~cm}^{2}$"),
        ("S.A. $=1209.84$", "$1209.84$"),
        ("S.A. of rectangular prism $=4371.46$", "$4371.46$"),
        ("Center $=(20,10)$", "$(20,10)$"),
        ("$=(4,0)$", "$(4,0)$"),
        ("slope =-4", "-4"),
        ("f(x)=|x-3|", "|x-3|"),
        (r"$g(x)=\ln x+4$", r"$\ln x+4$"),
        ("35\u63b3", "35°"),
        ("y=-2 t+180", "y=-2 t+180"),  # an equation is the answer
        ("$x^{2}+y^{2}=49$", "$x^{2}+y^{2}=49$"),
        ("When x<=-3 $f(x) = -x-5$, when x>3, $f(x)=x+1$", "When x<=-3 $f(x) = -x-5$, when x>3, $f(x)=x+1$"),
        ("14", "14"),
        ("", ""),
    ],
)
def test_names_before_a_value_are_left_out(answer: str, value: str) -> None:
    assert value_of(answer) == value


@given(st.text(max_size=60))
def test_value_of_takes_any_text(text: str) -> None:
    assert len(value_of(text)) <= len(text)


@pytest.mark.parametrize(
    ("fields", "text", "expected"),
    [
        (row(), "Answer: B", ("right", "right")),
        (row(), "So the angle is 40°.\nAnswer: (B) 40°", ("right", "right")),
        (row(), "Answer: C", ("wrong", "wrong")),
        (row(), "I can't see a picture.", ("wrong", "unanswered")),
        (row(answer="C\nD"), "Answer: C, D", ("right", "right")),
        (row(answer="C\nD"), "Answer: C", ("wrong", "wrong")),
        (free("14"), r"\boxed{14}", ("right", "right")),
        (free("14"), r"\boxed{14 \text{ cm}}", ("wrong", "right")),  # the quick match compares strings
        (free(r"4\sqrt{3}"), r"\boxed{4\sqrt3}", ("wrong", "right")),
        (free(r"Area $=113.1 \mathrm{~cm}^{2}$"), "Answer: 113.1", ("wrong", "right")),
        (free("Center $=(20,10)$"), r"\boxed{(20, 10)}", ("wrong", "right")),
        (free("Center $=(20,10)$"), "Answer: Center = (20, 10)", ("wrong", "right")),
        (free("Center $=(20,10)$"), r"\boxed{(10, 20)}", ("wrong", "wrong")),
        (free("14"), "", ("wrong", "unanswered")),
    ],
)
def test_both_verdicts(fields: dict[str, Any], text: str, expected: tuple[str, str], tmp_path: Path) -> None:
    marked = mark(only(tmp_path, fields), Reply(text=text))
    assert (marked.reference.verdict, marked.robust.verdict) == expected
    assert (marked.difference is None) == (expected[0] == "right" or expected[1] != "right")


def test_the_quick_match_takes_the_recorded_extraction(tmp_path: Path) -> None:
    sample = only(tmp_path, free("14"))
    marked = mark(sample, Reply(text="Nobody knows its length.", extraction="14"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("right", "right")
    assert marked.robust.reason == "read from the extraction"
    assert mark(sample, Reply(text="Answer: 14", extraction="14 cm")).reference.verdict == "wrong"
    assert mark(sample, Reply(text="14", extracted=True)).reference.verdict == "right"


def test_rows_without_an_answer_are_unmarkable(tmp_path: Path) -> None:
    marked = mark(only(tmp_path, row(answer="")), Reply(text="Answer: B"))
    assert (marked.reference.verdict, marked.robust.verdict) == ("unmarkable", "unmarkable")


def test_a_cut_reply_has_answered_only_where_it_says_so(tmp_path: Path) -> None:
    sample = only(tmp_path, row())
    assert mark(sample, Reply(text="Answer: B", finish="length")).robust.verdict == "right"
    assert mark(sample, Reply(text="It might be (B)", finish="length")).robust.reason == "truncated"


# --------------------------------------------------------------------------------------------------------------------
# Tables


def outcome(sample: Sample, verdict: Any) -> Outcome:
    result = (
        Failure(stage="call", kind="timeout", message="")
        if verdict is None
        else Marked(reference=Mark(verdict=verdict), robust=Mark(verdict=verdict))
    )
    return Outcome(sample_id=sample.id, group=sample.group, facets=sample.facets, result=result)


def test_case_103_the_name_of_a_score_lists_its_versions() -> None:
    samples = list(open_mathverse(Source(data=ROWS)))
    alone = scores([outcome(samples[4], "right")], "wrong")
    assert alone["score"] == "MathVerse w/o, quick match: Vision Only"
    five = scores([outcome(sample, "right") for sample in reversed(samples)], "wrong")
    assert five["score"] == f"MathVerse w/o, quick match: {', '.join(PICTURED)}"


def test_the_tables() -> None:
    samples = list(open_mathverse(Source(data=ROWS)))
    outcomes = [
        outcome(sample, verdict)
        for sample, verdict in zip(samples, ("right", "wrong", "right", "wrong", None), strict=True)
    ]
    wrong = scores(outcomes, "wrong")["official"]
    assert wrong["total"] == {"accuracy": 40.0, "correct": 2, "total": 5}
    assert wrong["version"]["Vision Only"] == {"accuracy": 0.0, "correct": 0, "total": 1}
    assert wrong["subfield"] == {"Plane Geometry-Angle": {"accuracy": 40.0, "correct": 2, "total": 5}}
    left_out = scores(outcomes, "exclude")["official"]
    assert left_out["total"] == {"accuracy": 50.0, "correct": 2, "total": 4}
    assert "Vision Only" not in left_out["version"]


# --------------------------------------------------------------------------------------------------------------------
# The published rows


def test_the_published_text_only_rows(shared_data: Path) -> None:
    dataset = open_mathverse(Source(data=shared_data / "mathverse", split="text_only"))
    samples = list(dataset)
    assert len(samples) == 630
    assert not any("grader" in fact for fact in dataset.facts)
    assert sum(isinstance(sample.gold, ChoiceGold) for sample in samples) == 349
    # Two problems ask for two options.
    assert [s.gold.labels for s in samples if isinstance(s.gold, ChoiceGold) and s.gold.multiple] == [
        ("C", "D"),
        ("A", "C"),
    ]
    assert not [s.id for s in samples if isinstance(s.gold, ChoiceGold) and len(s.options) < 2]
    assert all(mark(sample, Reply(text=gold_reply(sample))).reference.verdict == "right" for sample in samples)


def test_the_published_example_in_six_versions(shared_data: Path) -> None:
    """Problem 685 with a model's replies: five say 14, the gold; under Vision Only it says 13."""
    file = shared_data / "mathverse" / "six_version_example.jsonl"
    replies = {r["sample_index"]: r["model_answer"] for r in map(json.loads, file.read_text("utf-8").splitlines())}
    found = {
        sample.facets["version"][0]: mark(sample, Reply(text=replies[sample.id])).robust.verdict
        for split in ("testmini", "text_only")
        for sample in open_mathverse(Source(data=file, split=split, need_pictures=False))
    }
    assert found == {version: "wrong" if version == "Vision Only" else "right" for version in VERSIONS}
