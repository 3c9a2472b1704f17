"""`assay data check`: every bad row with its number and remedy, facts and counts, before a model is paid."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import run
from support.pictures import file_of, noise


def jsonl(path: Path, *rows: Any) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "good.png").write_bytes(file_of(noise("RGB", (8, 8)), "PNG"))
    (folder / "copy.png").write_bytes((folder / "good.png").read_bytes())
    (folder / "text.png").write_text("no picture at all")
    (folder / "cut.png").write_bytes(file_of(noise("RGB", (64, 64)), "PNG")[:200])
    (folder / "empty.png").write_bytes(b"")
    return folder


HOSTILE: list[tuple[Any, str]] = [
    ({"id": "1", "question": "fine?", "answer": 1, "image": "good.png"}, ""),
    ('{"id": "2", "question": "broken', "is not valid JSON"),
    ("[1, 2]", "is a JSON list, not an object"),
    ({"id": "4", "question": " ", "answer": 1}, "has no question"),
    ({"id": "5", "question": "x?", "answer": 1, "image": "gone.png"}, "gone.png: there is no such file"),
    ({"id": "6", "question": "x?", "answer": 1, "image": "text.png"}, "can't be used (not an image"),
    ({"id": "7", "question": "x?", "answer": 1, "image": "cut.png"}, "can't be used (corrupt"),
    ({"id": "8", "question": "x?", "answer": 1, "image": "empty.png"}, "can't be used (empty"),
    ({"id": "9", "question": "x?", "options": ["a", "b"], "answer": "C"}, "not among its options A, B"),
    ({"id": "10", "question": "x?", "options": ["a"], "answer": "A"}, "has only one option"),
    ({"id": "1", "question": "y?", "answer": 1}, "has the id '1' of my.jsonl:1"),
    ({"id": "", "question": "y?", "answer": 1}, "has no id"),
    ({"id": "13", "question": "y?", "answer": 1, "tolerance": -1}, "has the tolerance '-1', which is none"),
    ({"id": "14", "question": "y?", "answer": {"a": 1}}, "holds its answer as dict"),
    ({"id": "15", "question": "q" * 200_000, "answer": 1}, "has a question of 200,000 characters"),
    ({"id": "16", "question": "y?", "answer": "x", "image": "https://a.b/c.png"}, "by its address"),
    (
        {"id": "17", "question": "two?", "answer": 1, "image": ["gone.png", "cut.png"]},
        "gone.png: there is no such file",
    ),
    ({"id": "18", "question": "x?", "answer": 1, "image": "/dev/zero"}, "not a regular file"),
    ({"id": "19", "question": "x?", "answer": 1, "image": "n" * 300}, "neither a path nor base64"),
    ({"id": "20", "question": "x?", "answer": 1, "image": "a\0b.png"}, "neither a path nor base64"),
    ('{"id": "21", "question": "half a pair \\ud800?", "answer": 1}', "is not valid JSON"),
    (
        {"id": "22", "question": "x?", "answer": "first line\nsecond"},
        "has an answer that marking itself doesn't find right",
    ),
    ({"id": "23", "question": "odd?", "answer": 5, "tolerance": "NaN"}, ""),
    ({"id": "24", "question": "fine?", "answer": 1, "image": "copy.png"}, ""),
]


def test_every_bad_row_is_reported(tmp_path: Path, pictures: Path) -> None:
    file = jsonl(tmp_path / "my.jsonl", *(row for row, _ in HOSTILE))
    done = run("data", "check", file, "--images", pictures, "--json")
    assert done.code == 1
    bad = done.json["bad"]
    found = {line["where"]: line["problem"] for line in bad}
    expected = {f"my.jsonl:{number}": says for number, (_, says) in enumerate(HOSTILE, 1) if says}
    assert list(found) == list(expected)
    for where, says in expected.items():
        assert says in next(line["problem"] for line in bad if line["where"] == where)
    assert all(line["remedy"] for line in bad)
    # Row 17 has two bad pictures.
    assert sum(line["where"] == "my.jsonl:17" for line in bad) == 2
    assert done.json["rows"] == len(HOSTILE) == 24
    assert done.json["good"] == 3
    assert "1 of 24 rows have NaN for a tolerance: their numbers must be equal." in done.json["facts"]
    # Question 24 is question 1, on a copy of its picture.
    assert any("1 questions stand there before" in f and "my.jsonl:24 is my.jsonl:1" in f for f in done.json["facts"])
    assert "1 of 7 picture files are copies of another." in done.json["facts"]


def test_the_page_for_people_says_the_same(tmp_path: Path, pictures: Path) -> None:
    file = jsonl(tmp_path / "my.jsonl", *(row for row, _ in HOSTILE))
    done = run("data", "check", file, "--images", pictures)
    assert done.code == 1
    assert "21 of 24 rows can't be used:" in done.out
    for number, (_, says) in enumerate(HOSTILE, 1):
        if says:
            assert f"  my.jsonl:{number}: " in done.out
            assert says in done.out


def test_eval_refuses_the_same_rows_before_a_model_is_asked(tmp_path: Path) -> None:
    rows = [{"question": "", "answer": 1}] * 7 + [{"question": "fine?", "answer": 1}]
    file = jsonl(tmp_path / "my.jsonl", *rows)
    done = run("eval", file, "--model", "nobody", "--base-url", "http://127.0.0.1:9/v1", "--out", tmp_path / "run")
    assert done.code == 2
    assert "7 rows can't be used (the first 5: my.jsonl:1 has no question" in done.err
    assert not (tmp_path / "run").exists()


def test_good_data(tmp_path: Path, pictures: Path) -> None:
    rows = [
        {"id": str(n), "question": f"{n}?", "answer": n, "topic": "ab"[n % 2], "image": "good.png"} for n in range(6)
    ] + [{"id": "x", "question": "Which?", "options": ["p", "q"], "answer": "A", "topic": "a"}]
    done = run("data", "check", jsonl(tmp_path / "my.jsonl", *rows), "--images", pictures, "--json")
    assert done.code == 0, done.out
    assert done.json["bad"] == []
    assert (done.json["rows"], done.json["good"], done.json["pictures"]) == (7, 7, 1)
    assert done.json["answer_types"] == {"number": 6, "choice": 1}
    assert done.json["facets"] == {"question_type": {"number": 6, "choice": 1}, "topic": {"a": 4, "b": 3}}
    assert "Every row can be used." in run("data", "check", tmp_path / "my.jsonl", "--images", pictures).out


def test_csv_rows_are_counted_right_behind_cells_with_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_text(
        '\ufeffquestion,answer\n"one\n\nline break?",1\n"",2\n"three?",3,4\n'
        '"quote ""in""?",5\n"broken"quote,6\nlast?,7\n',
        encoding="utf-8",
    )
    done = run("data", "check", tmp_path / "my.csv", "--json")
    assert done.code == 1
    assert [line["where"] for line in done.json["bad"]] == [
        "my.csv: row 2 (line 5)",
        "my.csv: row 3 (line 6)",
        "my.csv: row 5 (line 8)",
    ]
    assert done.json["rows"] == 6
    assert done.json["good"] == 3


def test_decimal_commas_are_pointed_out(tmp_path: Path) -> None:
    """5,5 and -0,25 may be lists; 1,234 is a number with a separator of thousands, (5,5) a point."""
    (tmp_path / "my.csv").write_text("question;answer\na;5,5\nb;-0,25\nc;1,234\nd;(5,5)\n")
    done = run("data", "check", tmp_path / "my.csv", "--json")
    assert done.code == 0
    told = "2 of 4 rows have an answer such as 5,5, which is read as two numbers: write 5.5 where one is meant."
    assert told in done.json["facts"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gone"], "there is no such file"),
        (["gone.jsonl"], "there is no such file"),
        (["mathvision"], "there is no such file"),
        (["hub:nobody"], "hub:OWNER/NAME"),
        (["my.txt"], "is not .jsonl"),
        (["my.jsonl", "--images", "gone"], "is no folder"),
        (["my.jsonl", "--map", "x"], "PURPOSE=COLUMN"),
        (["my.jsonl", "--map", "answer=gold"], "has no column 'gold'"),
        (["empty.jsonl"], "holds no rows"),
        (["broken.jsonl"], "broken.jsonl:1: is not valid JSON"),
        (["list.jsonl"], "list.jsonl:1: is a JSON list"),
        (["nothing"], "must hold one file .jsonl, .json, .csv, .tsv or .parquet, and holds none"),
        (["my.jsonl", "--answer-type", "guess"], "is not one of"),
    ],
)
def test_what_cannot_be_checked_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "my.jsonl", {"question": "?", "answer": 1})
    (tmp_path / "my.txt").write_text("x")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "broken.jsonl").write_text('{"question": "?"\n{"question"\n')
    (tmp_path / "list.jsonl").write_text("[1, 2]\n")
    (tmp_path / "nothing").mkdir()
    done = run("data", "check", *arguments)
    assert done.code == 2
    assert says in done.err
    assert "Traceback" not in done.err


def test_real_pictures_are_opened(shared_data: Path) -> None:
    folder = shared_data / "finchartbench"
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    done = run("data", "check", folder / "questions.jsonl", "--json")
    # Some of the charts are not on the machine: their rows are bad, and all others are good.
    missing = {row["id"] for row in rows if not (folder / row["image"]).is_file()}
    assert done.json["rows"] == len(rows)
    assert done.json["rows"] - done.json["good"] == len(missing) == len({line["where"] for line in done.json["bad"]})
    assert done.json["pictures"] == len({row["image"] for row in rows})
