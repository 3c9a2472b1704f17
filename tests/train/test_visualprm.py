"""Rollouts read back: our own files, both published forms of VisualPRM400K by hand-written rows, and odd rows."""

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError
from assay.train.files import write_records
from assay.train.records import RolledSolution, RolledStep, TeacherCritique
from assay.train.visualprm import read_rollouts
from support.rolled import rolled

Row = dict[str, Any]


def step(text: str, correct: int, total: int = 16) -> Row:
    score = correct / total if total else 0
    return {"step": text, "score": score, "num_mc_correct": correct, "num_mc_total": total}


# The published fragment: answer 52, score 0.125 = 2 of 16, Geometry3K/train/1471.
RAW: Row = {
    "image": "VisualPRM400K-v1.1-Raw/Geometry3K/train/1471/img_diagram.png",
    "question": "<image>\nFind x. Give the answer as a number.",
    "question_orig": "Find x.",
    "answer": "52",
    "response": "The angles are equal.\n\nSo 2x = 104,\n\nand x = 51.\n\nAnswer: 51",
    "steps_with_score": [
        step("The angles are equal.", 2),
        step("So 2x = 104,\n\nand x = 51.", 0),  # two blocks that were merged
        step("Answer: 51", 0, 0),  # never rolled out
    ],
    "num_mc_sequences": 16,
}
TURNS: list[Row] = [
    {"from": "system", "value": "You judge steps."},
    {"from": "human", "value": "### Question:\nFind x.\n\n### Solution Process:\nThe angles are equal."},
    {"from": "gpt", "value": "+"},
    {"from": "human", "value": "So x = 51."},
    {"from": "gpt", "value": "-"},
]
CONVERSATION: Row = {"id": -1, "image": "x.png", "conversations": TURNS}


def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def read(path: Path) -> tuple[list[RolledSolution], list[DataError]]:
    odd: list[DataError] = []
    return list(read_rollouts(path, on_odd=odd.append)), odd


# ----------------------------------------------------------------------------------------------------------------------
# VisualPRM400K, raw


def test_a_raw_row(tmp_path: Path) -> None:
    (solution,), odd = read(write(tmp_path / "geometry3k.jsonl", RAW))
    assert odd == []
    assert [(one.successes, one.marked, one.soft, one.hard, one.skipped) for one in solution.steps] == [
        (2, 16, 0.125, True, False),
        (0, 16, 0.0, False, False),
        (0, 0, None, None, True),
    ]
    assert [one.text for one in solution.steps] == [
        "The angles are equal.\n\n",
        "So 2x = 104,\n\nand x = 51.\n\n",
        "Answer: 51",
    ]
    assert solution.first_error == 1
    assert (solution.id, solution.source) == ("geometry3k-1", "geometry3k")
    assert (solution.question, solution.gold) == ("Find x. Give the answer as a number.", "52")
    assert solution.facets == {"data_set": ("Geometry3K",)}
    assert (solution.answer, solution.right) == (None, None)


def test_the_fields_are_those_of_the_documented_schema(shared_data: Path) -> None:
    schema = json.loads((shared_data / "prm" / "visualprm400k_schema.json").read_text())
    raw = next(value for name, value in schema.items() if "Raw" in name)
    assert set(RAW) <= set(raw)
    assert set(RAW["steps_with_score"][0]) == set(raw["steps_with_score"][0])
    spoken = next(value for name, value in schema.items() if "conversation" in name)
    assert set(CONVERSATION) == set(spoken)


def test_solutions_of_one_question_belong_together(tmp_path: Path) -> None:
    other = {**RAW, "question": "<image>\nFind y."}
    solutions, _ = read(write(tmp_path / "a.jsonl", RAW, RAW, other))
    first, second, third = solutions
    assert first.sample_id == second.sample_id != third.sample_id
    assert len({one.group for one in solutions}) == 1  # one picture
    assert len({one.id for one in solutions}) == 3


def test_pictures_are_looked_for_from_the_files_folder_upwards(tmp_path: Path) -> None:
    picture = tmp_path / RAW["image"]
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"a picture")
    (there,), _ = read(write(tmp_path / "VisualPRM400K-v1.1-Raw" / "annotations" / "a.jsonl", RAW))
    assert there.images == (str(picture.resolve()),)
    (gone,), _ = read(write(tmp_path / "b.jsonl", {**RAW, "image": "gone.png"}))
    assert gone.images == (str(tmp_path.resolve() / "gone.png"),)


@pytest.mark.parametrize(
    ("image", "question", "count", "asked"),
    [
        (None, "Find x.", 0, "Find x."),
        ("", "Find x.", 0, "Find x."),
        (["a.png"], "<image>\nFind x.", 1, "Find x."),
        (["a.png", "b.png"], "<image> or <image>?", 2, "[picture 1] or [picture 2]?"),
    ],
)
def test_no_picture_or_several(tmp_path: Path, image: Any, question: str, count: int, asked: str) -> None:
    (solution,), odd = read(write(tmp_path / "a.jsonl", {**RAW, "image": image, "question": question}))
    assert odd == []
    assert len(solution.images) == count
    assert solution.question == asked


def test_without_a_picture_the_question_is_the_group(tmp_path: Path) -> None:
    (solution,), _ = read(write(tmp_path / "a.jsonl", {**RAW, "image": None}))
    assert solution.group == solution.question


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answer": None}, "no text in 'answer'"),
        ({"answer": " "}, "no text in 'answer'"),
        ({"answer": 52}, "no text in 'answer'"),
        ({"question": None}, "no text in 'question'"),
        ({"response": None}, "no text in 'response'"),
        ({"image": 7}, "its 'image'"),
        ({"image": ["a.png", None]}, "its 'image'"),
        ({"image": ["a.png", ""]}, "its 'image'"),
        ({"steps_with_score": None}, "no list in 'steps_with_score'"),
        ({"steps_with_score": []}, "no list in 'steps_with_score'"),
        ({"steps_with_score": "[]"}, "no list in 'steps_with_score'"),
        ({"steps_with_score": ["a"]}, "a step in 'steps_with_score' that is no object"),
        ({"response": "The angles are equal."}, "a step 2 that is not what stands in its 'response'"),
        ({"response": RAW["response"] + " And so on."}, "goes on after the last of its steps"),
        ({"response": RAW["response"].replace("104", "105")}, "a step 2 that is not what stands"),
    ],
)
def test_odd_rows(tmp_path: Path, change: Row, says: str) -> None:
    path = write(tmp_path / "a.jsonl", {**RAW, **change}, RAW)
    solutions, odd = read(path)
    assert [one.id for one in solutions] == ["a-2"]
    assert [problem.where for problem in odd] == ["a.jsonl:1"]
    assert says in odd[0].problem
    with pytest.raises(DataError, match=r"a\.jsonl:1"):
        list(read_rollouts(path))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"step": None}, "no text in 'step'"),
        ({"step": "  "}, "no text in 'step'"),
        ({"num_mc_correct": None}, "no counts of completions for step 1"),
        ({"num_mc_total": None}, "no counts of completions for step 1"),
        ({"num_mc_total": True, "num_mc_correct": True, "score": 1.0}, "no counts"),
        ({"num_mc_total": 16.0}, "no counts"),
        ({"num_mc_correct": "2"}, "no counts"),
        ({"num_mc_correct": 17, "score": 17 / 16}, "counts 17 right of 16"),
        ({"num_mc_correct": -1, "score": -1 / 16}, "counts -1 right of 16"),
        ({"score": None}, "no score for step 1"),
        ({"score": "0.125"}, "no score for step 1"),
        ({"score": True}, "no score for step 1"),
        ({"score": 0.25}, "the score 0.25, and 2 of 16"),
        ({"num_mc_correct": 0, "num_mc_total": 0}, "the score 0.125, and 0 of 0"),
    ],
)
def test_odd_steps(tmp_path: Path, change: Row, says: str) -> None:
    first, *rest = RAW["steps_with_score"]
    row = {**RAW, "steps_with_score": [{**first, **change}, *rest]}
    solutions, odd = read(write(tmp_path / "a.jsonl", row))
    assert solutions == []
    assert says in odd[0].problem


def test_a_score_that_is_no_number(tmp_path: Path) -> None:
    first, *rest = RAW["steps_with_score"]
    row = {**RAW, "steps_with_score": [{**first, "score": math.nan}, *rest]}
    solutions, odd = read(write(tmp_path / "a.jsonl", row))
    assert solutions == []
    assert len(odd) == 1


def test_a_rounded_score_passes(tmp_path: Path) -> None:
    first, *rest = RAW["steps_with_score"]
    row = {**RAW, "steps_with_score": [{**first, "num_mc_correct": 1, "num_mc_total": 3, "score": 0.3333}, *rest]}
    (solution,), odd = read(write(tmp_path / "a.jsonl", row))
    assert odd == []
    assert solution.steps[0].soft == 1 / 3


def test_lines_that_are_no_rows(tmp_path: Path) -> None:
    """An id goes by its line, so that mending a line before it does not change it."""
    solutions, odd = read(write(tmp_path / "a.jsonl", "{", "[1]", "", RAW, '{"answer": "half a row'))
    assert [one.id for one in solutions] == ["a-4"]
    assert [problem.where for problem in odd] == ["a.jsonl:1", "a.jsonl:2", "a.jsonl:5"]


_words = st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=6)
_blocks = st.lists(st.lists(_words, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6)


@settings(max_examples=50)
@given(_blocks, st.data())
def test_the_steps_together_are_the_response(blocks: list[str], data: st.DataObject) -> None:
    gaps = [data.draw(st.sampled_from(["\n\n", "\n \n", "\n\n\n"])) for _ in blocks]
    response = "".join(block + gap for block, gap in zip(blocks, gaps, strict=True))
    row = {**RAW, "response": response, "steps_with_score": [step(block, 1) for block in blocks]}
    with TemporaryDirectory() as folder:
        (solution,), odd = read(write(Path(folder) / "a.jsonl", row))
    assert odd == []
    assert "".join(one.text for one in solution.steps) == response
    assert [one.text.split() for one in solution.steps] == [block.split() for block in blocks]


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 20) | st.floats() | st.sampled_from(["+", "-", "a", "human", "gpt"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["step", "score", "from"]), inner),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.sampled_from(sorted(RAW)), _json, st.booleans())
def test_a_row_is_read_or_told(name: str, value: object, spoken: bool) -> None:
    """Whatever stands in a field, nothing but a DataError comes of it."""
    row = {**CONVERSATION, "conversations": [*TURNS[:2], value]} if spoken else {**RAW, name: value}
    with TemporaryDirectory() as folder:
        solutions, odd = read(write(Path(folder) / "a.jsonl", row))
    assert len(solutions) + len(odd) == 1


# ----------------------------------------------------------------------------------------------------------------------
# VisualPRM400K, conversations


def test_a_conversation(tmp_path: Path) -> None:
    (solution,), odd = read(write(tmp_path / "a.jsonl", CONVERSATION))
    assert odd == []
    assert solution.question == "Find x."
    assert solution.steps == (
        RolledStep(text="The angles are equal.\n\n", hard=True),
        RolledStep(text="So x = 51.", hard=False),
    )
    assert (solution.first_error, solution.gold) == (1, "")


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([], "no list in 'conversations'"),
        (TURNS[:1], "not human and gpt in turn"),
        (TURNS[:4], "not human and gpt in turn"),
        ([*TURNS[:3], TURNS[4], TURNS[3]], "not human and gpt in turn"),
        (["a"], "a turn in 'conversations' that is no object"),
        ([*TURNS[:2], {"from": "gpt"}], "no text in 'value'"),
        ([*TURNS[:2], {"from": "gpt", "value": "good"}], "labels step 1 'good'"),
        ([{"from": "human", "value": "Find x."}, TURNS[2]], "a first turn without"),
        (
            [{"from": "human", "value": "### Question:\nq\n\n### Solution Process:\n "}, TURNS[2]],
            "a step 1 without text",
        ),
    ],
)
def test_odd_conversations(tmp_path: Path, turns: list[Any], says: str) -> None:
    solutions, odd = read(write(tmp_path / "a.jsonl", {**CONVERSATION, "conversations": turns}))
    assert solutions == []
    assert says in odd[0].problem


# ----------------------------------------------------------------------------------------------------------------------
# Files


def test_our_own_file(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    solution = rolled("7#0", 4, 1, 0, images=("pictures/7.png",))
    write_records(path, "rollouts", [solution], settings={})
    (found,), odd = read(path)
    assert odd == []
    assert found.steps == solution.steps
    assert found.first_error == 2
    assert found.images == (str(tmp_path.resolve() / "pictures/7.png"),)


def test_odd_rows_of_our_own_file(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    write_records(path, "rollouts", [rolled("7#0", 4), rolled("7#0", 0), rolled("7#1", 0)], settings={})
    with path.open("a") as file:
        file.write('{"id": "8#0"}\n')
    solutions, odd = read(path)
    assert [one.id for one in solutions] == ["7#0", "7#1"]
    assert "has the id '7#0'" in odd[0].problem
    assert odd[1].where.endswith("rollouts.jsonl:5")


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "critiques.jsonl"
    critique = TeacherCritique(solution_id="1", teacher="t", with_gold=True, attempts=1, status="refused")
    write_records(path, "critiques", [critique], settings={})
    with pytest.raises(DataError, match=r"'assay\.critiques', not of 'assay\.rollouts'"):
        read(path)


def test_a_folder_of_files(tmp_path: Path) -> None:
    write(tmp_path / "data" / "b" / "geoqa.jsonl", RAW)
    write(tmp_path / "data" / "geoqa.jsonl", RAW, CONVERSATION)
    (tmp_path / "data" / "readme.txt").write_text("no rows")
    solutions, _ = read(tmp_path / "data")
    assert [(one.id, one.source) for one in solutions] == [
        ("b/geoqa-1", "b/geoqa"),
        ("geoqa-1", "geoqa"),
        ("geoqa-2", "geoqa"),
    ]


def test_a_parquet_file(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist([RAW, {**RAW, "answer": ""}]), tmp_path / "a.parquet")
    solutions, odd = read(tmp_path / "a.parquet")
    assert [one.id for one in solutions] == ["a-1"]
    assert solutions[0].steps[0].soft == 0.125
    assert odd[0].where == "a.parquet: row 2"


@pytest.mark.parametrize(
    ("name", "says"),
    [("gone.jsonl", "no such file or folder"), ("a.txt", "not .jsonl or .parquet"), ("empty", "holds no .jsonl")],
)
def test_what_can_not_be_read(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=says):
        read(tmp_path / name)
