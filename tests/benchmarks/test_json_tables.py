"""Tables that lie in JSON files, and rows that hold several questions."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.benchmarks.tables import Row, local_table
from assay.errors import DataError


def test_a_list_of_objects(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text('[{"id": 1, "x": NaN}, {"id": 2}]', encoding="utf-8-sig")
    rows = list(local_table(tmp_path, "test"))
    assert [row.where for row in rows] == ["test.json: row 1", "test.json: row 2"]
    assert [row.fields["id"] for row in rows] == [1, 2]


def test_an_object_of_objects_names_its_rows(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text('{"7": {"a": 1}, "8": {"key": "own"}}', encoding="utf-8")
    rows = list(local_table(tmp_path / "test.json", "test"))
    assert [(row.where, row.fields) for row in rows] == [
        ("test.json: 7", {"key": "7", "a": 1}),
        ("test.json: 8", {"key": "own"}),
    ]


def test_jsonl_comes_first(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text("[]")
    (tmp_path / "test.jsonl").write_text('{"id": 1}\n')
    assert local_table(tmp_path, "test").files == (tmp_path / "test.jsonl",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3", "is a JSON int, not a list"),
        ("[1]", "row 1: is a JSON int, not an object"),
        ('{"a": 1}', "test.json: a: is a JSON int, not an object"),
        ("[{}", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_other_json_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "test.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(local_table(tmp_path, "test"))
    assert problem in str(caught.value)


def test_rows_expand(tmp_path: Path) -> None:
    def questions(row: Row) -> Iterator[Row]:
        for question in row.fields["questions"]:
            yield Row(where=f"{row.where}, question {question}", fields={"id": question})

    (tmp_path / "test.jsonl").write_text('{"questions": [1, 2]}\n{"questions": []}\n{"questions": [3]}\n')
    table = dataclasses.replace(local_table(tmp_path, "test"), expand=questions)
    assert [row.where for row in table] == [f"test.jsonl:{line}, question {n}" for line, n in ((1, 1), (1, 2), (3, 3))]
    assert [row.fields["id"] for row in table] == [1, 2, 3] == [row.fields["id"] for row in table]
