"""`assay board` as a user has it: folders of runs in, a ranking out, in the format asked for."""

import csv
import io
import json
from pathlib import Path

import pytest

from support.command import PACKAGED, run
from support.outcomes import outcome
from support.runs import new_store


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs of 40 questions, one all right and one all wrong, and the same again under another parent."""
    for parent, verdict in (("one", "right"), ("two", "wrong")):
        with new_store(tmp_path / parent / "x", environment={"samples": 40}) as store:
            for number in range(40):
                store.append(outcome(str(number), verdict, level=str(number % 2)))
    return tmp_path


def test_two_runs_of_equal_names(runs: Path) -> None:
    done = run("board", runs / "one" / "x", runs / "two" / "x")
    assert done.code == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert ["1", "a", "one/x", "100.00"] in [words[:4] for words in lines]
    assert ["2", "b", "two/x", "0.00"] in [words[:4] for words in lines]


def test_formats_and_the_ending_of_out(runs: Path) -> None:
    folders = (runs / "one" / "x", runs / "two" / "x")
    printed = {name: run("board", *folders, "--format", name).out for name in ("markdown", "csv", "latex", "json")}
    rows = list(csv.DictReader(io.StringIO(printed["csv"])))
    assert [(row["run"], row["accuracy"]) for row in rows] == [("one/x", "1.0"), ("two/x", "0.0")]
    assert [row["run"] for row in json.loads(printed["json"])["rows"]] == ["one/x", "two/x"]
    for ending, name in ((".md", "markdown"), (".csv", "csv"), (".tex", "latex"), (".json", "json")):
        out = runs / f"board{ending}"
        done = run("board", *folders, "--out", out)
        assert (done.code, done.out) == (0, "")
        assert out.read_text(encoding="utf-8") == printed[name]


def test_facet_columns(runs: Path) -> None:
    done = run("board", runs / "one" / "x", "--by", "level", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.out))
    assert (row["level=0"], row["level=0:n"]) == ("1.0", "20")  # every second of 40


def test_an_unfinished_run_is_marked(runs: Path) -> None:
    with new_store(runs / "part", environment={"samples": 40}) as store:
        store.append(outcome("0", "right"))
    done = run("board", runs / "part", runs / "one" / "x")
    assert "part is not complete: 1 of 40 samples." in done.out


def test_what_is_no_run_is_an_error_that_names_it(runs: Path) -> None:
    (runs / "notes.txt").write_text("not a run")
    (runs / "empty").mkdir()
    for name in ("notes.txt", "empty", "gone"):
        done = run("board", runs / "one" / "x", runs / name)
        assert done.code == 2
        assert str(runs / name) in done.err
        assert "not a run folder" in done.err


def test_no_run_is_an_error() -> None:
    done = run("board")
    assert done.code == 2
    assert "assay board runs/*" in done.err


def test_runs_of_two_benchmarks_are_refused(runs: Path) -> None:
    with new_store(runs / "other", benchmark="finmme", split="train"):
        pass
    done = run("board", runs / "one" / "x", runs / "other")
    assert done.code == 2
    for words in ("quiz test", "finmme train", str(runs / "other")):
        assert words in done.err


def test_a_file_that_cannot_be_written(runs: Path) -> None:
    done = run("board", runs / "one" / "x", "--out", runs / "gone" / "board.md")
    assert done.code == 2
    assert str(runs / "gone" / "board.md") in done.err


def test_a_run_knows_how_many_samples_it_should_hold(tmp_path: Path) -> None:
    data = PACKAGED / "mathvision"
    model = f"replay:{data / 'replies' / 'Gemini-Pro.jsonl'}"
    asked = ("eval", "mathvision", "--data", data, "--split", "testmini", "--model", model, "--limit", "3")
    assert run(*asked, "--out", tmp_path / "three").code == 0
    (row,) = run("board", tmp_path / "three", "--format", "json").json["rows"]
    assert (row["samples"], row["expected"], row["complete"]) == (3, 3, True)
    assert row["recipe"]["limit"] == 3
