"""Process benchmarks read into one form: hand-written rows of each, the real rows at hand, and odd rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.train.sets import SETS, read_set


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


ROWS: dict[str, tuple[dict[str, Any], tuple[bool | None, ...], int | None]] = {
    "visualprocessbench": (
        {
            "image": "a.png",
            "question": "q",
            "data_source": "MathVerse",
            "response": {"steps": ["s1", "s2", "s3"], "process_correctness": [1, 0, -1]},
        },
        (True, None, False),
        2,
    ),
    # The label is the first wrong step, from 0: step 1 is wrong, step 2 unknown.
    "processbench": ({"id": "p-1", "problem": "q", "steps": ["s1", "s2", "s3"], "label": 1}, (True, False, None), 1),
    # Wrong steps are counted from 1.
    "prmbench": (
        {"idx": "x", "modified_question": "q", "modified_process": ["s1", "s2", "s3"], "error_steps": [2]},
        (True, False, True),
        1,
    ),
    "bigbench-mistake": (
        {"task": "t", "input": "q", "steps": ["s1", "s2"], "mistake_index": None},
        (True, True),
        None,
    ),
    # From 1 again: the first step is the wrong one.
    "mr-math": (
        {
            "id": 9,
            "question": "q",
            "model_output_step_format": [["s1", "goes on"], ["s2"]],
            "model_output_solution_first_error_step": 1,
        },
        (False, None),
        0,
    ),
    "vlrmbench": (
        {"id": "v", "question": "q", "image": "b.png", "steps": '["s1", "s2"]', "step_error_labels": [0, 1]},
        (True, False),
        1,
    ),
}  # fmt: skip


def test_every_set_has_a_row_here() -> None:
    assert set(ROWS) == set(SETS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_labels_and_first_error(tmp_path: Path, name: str) -> None:
    row, labels, first_error = ROWS[name]
    (solution,) = read_set(name, write(tmp_path / "rows.jsonl", row))
    assert solution.labels == labels
    assert solution.first_error == first_error
    assert len(solution.steps) == len(labels)
    assert solution.question == "q"
    assert all(Path(picture).parent == tmp_path for picture in solution.images)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("visualprocessbench", {"response": {"steps": ["a"], "process_correctness": [1, 1]}}, "2 labels for 1 steps"),
        ("visualprocessbench", {"response": {"steps": ["a"], "process_correctness": [7]}}, "other than 1, -1 and 0"),
        ("visualprocessbench", {"response": "text"}, "'response' as str"),
        ("processbench", {"label": 9}, "first wrong one, but has 3 steps"),
        ("processbench", {"steps": []}, "no list of texts"),
        ("prmbench", {"error_steps": [4]}, "outside its 3 steps"),
        ("prmbench", {"error_steps": ["2"]}, "whole numbers"),
        ("bigbench-mistake", {"mistake_index": "2"}, "no number"),
        ("vlrmbench", {"steps": "not json"}, "no JSON list"),
        ("vlrmbench", {"step_error_labels": [0, 2]}, "other than 0 and 1"),
    ],
)
def test_odd_rows_are_named(tmp_path: Path, name: str, change: dict[str, Any], says: str) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS[name][0] | {"id": "first"}, ROWS[name][0] | {"id": "second"} | change)
    with pytest.raises(DataError) as caught:
        list(read_set(name, path))
    assert "rows.jsonl:2" in str(caught.value) or name == "prmbench"  # its id is `idx`, equal in both rows
    if name != "prmbench":
        assert says in str(caught.value)


def test_a_wrong_step_outside_a_prmbench_row(tmp_path: Path) -> None:
    for wrong, says in (([4], "outside its 3 steps"), (["2"], "whole numbers")):
        path = write(tmp_path / "rows.jsonl", ROWS["prmbench"][0] | {"error_steps": wrong})
        with pytest.raises(DataError, match=says):
            list(read_set("prmbench", path))


def test_broken_lines_doubled_ids_and_unknown_sets(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl:1: not a JSON object"):
        list(read_set("mr-math", write(tmp_path / "rows.jsonl", '{"id": ')))
    row = ROWS["processbench"][0]
    with pytest.raises(DataError, match="has the id 'p-1' of row 1"):
        list(read_set("processbench", write(tmp_path / "rows.jsonl", row, row)))
    with pytest.raises(DataError, match="no such process benchmark"):
        list(read_set("prm800k", tmp_path / "rows.jsonl"))
    with pytest.raises(DataError, match="no such file"):
        list(read_set("prmbench", tmp_path / "gone.jsonl"))


@pytest.mark.parametrize(
    ("name", "file", "rows"),
    [
        ("prmbench", "prmbench.jsonl", 350),
        ("bigbench-mistake", "bigbench_mistake.jsonl", 160),
        ("mr-math", "mr_math_invalid.jsonl", 120),
        ("vlrmbench", "vlrmbench/location_error_with_images.jsonl", 23),
    ],
)
def test_real_rows(shared_data: Path, name: str, file: str, rows: int) -> None:
    odd: list[DataError] = []
    solutions = list(read_set(name, shared_data / "prm" / file, on_odd=odd.append))
    assert len(solutions) + len(odd) == rows
    # Thirteen of the PRMBench rows name a wrong step behind their last one; counted by hand in the file.
    assert len(odd) == (13 if name == "prmbench" else 0)
    assert len({solution.id for solution in solutions}) == len(solutions)
    assert all(Path(picture).is_file() for solution in solutions for picture in solution.images)
    # VLRMBench holds solutions with errors only, PRMBench right ones of one class, MR-MATH 56 ("N/A" in the file).
    right = [solution for solution in solutions if solution.first_error is None]
    if name in ("mr-math", "vlrmbench"):
        assert len(right) == (56 if name == "mr-math" else 0)
    if name == "prmbench":
        assert {solution.source for solution in right} == {"prmbench/multi_solutions"}
