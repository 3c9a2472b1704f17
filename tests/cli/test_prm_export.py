"""`assay prm export` as a user runs it."""

import signal
import time
from pathlib import Path

import pytest

from support.command import finish, run, start
from support.exporting import example, odd_examples, rows_of, write_examples, write_picture


def test_what_is_printed(tmp_path: Path) -> None:
    names = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(4)]
    rows = [example(number, images=(names[number],)) for number in range(4)]
    rows += [example(4), example(5), example(6, images=("none.png",))]
    path = write_examples(tmp_path, rows)
    done = run("prm", "export", path, "--out", tmp_path / "out", "--held-out-examples", "2", "--no-near")
    assert (done.code, done.err) == (0, "")
    held = rows_of(tmp_path / "out" / "trl" / "held_out.jsonl")
    # Of the six rows e0 to e5 those with an odd number have a wrong step.
    wrong = sum(int(row["id"][1:]) % 2 for row in held)
    shown = sum(len(row["images"]) for row in held)
    read, pictures, train, held_out, groups, more = done.out.splitlines()
    assert read == "7 rows read, 6 exported, 1 dropped (missing 1; see dropped.jsonl)."
    assert pictures == "4 pictures (linked 4)."
    assert train.startswith(
        f"train: 4 rows, {4 - shown} pictures, {3 - wrong} with a wrong step, {1 + wrong} all right"
    )
    assert train.endswith(f"({25 * (3 - wrong)}.0 % wrong).")
    assert held_out.startswith(f"held_out: 2 rows, {shown} pictures, {wrong} with a wrong step, {2 - wrong} all right")
    assert held_out.endswith(f"({50 * wrong}.0 % wrong).")
    assert groups.startswith("6 groups of rows that share a picture, a group or a question; the largest has 1 rows.")
    assert more == f"{tmp_path / 'out' / 'card.md'} says more."


def test_what_could_not_be_done_as_asked_is_said(tmp_path: Path) -> None:
    path = write_examples(tmp_path, [example(number, group="one") for number in range(9)])
    done = run("prm", "export", path, "--out", tmp_path / "out", "--held-out", "0.4")
    assert done.code == 0
    assert "4 rows were to be held out; 0 are, as near as the groups allow." in done.out


def test_json_is_the_card(tmp_path: Path) -> None:
    path = write_examples(tmp_path, odd_examples(tmp_path))
    done = run("prm", "export", path, "--out", tmp_path / "out", "--format", "trl", "--format", "trl", "--json")
    assert done.json["settings"]["formats"] == ["trl"]
    assert done.json["kept"] == 11
    assert done.out == (tmp_path / "out" / "card.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["{examples}", "--out", "{out}", "--held-out", "0.1", "--held-out-examples", "3"], 2, "leave one out"),
        (["{examples}", "--out", "{out}", "--held-out-examples", "2"], 2, "2 of 2 rows can't be held out"),
        (["{examples}", "--out", "{out}", "--held-out", "1"], 2, "0<=x<1"),
        (["{examples}", "--out", "{out}", "--format", "csv"], 2, "'csv' is not one of"),
        (["{folder}/none.jsonl", "--out", "{out}"], 2, "none.jsonl: can't be read"),
        (["{folder}/odd.jsonl", "--out", "{out}"], 2, "None of 1 rows can be exported"),
        (["--out", "{out}"], 2, "Missing argument 'EXAMPLES...'"),
        (["{examples}"], 2, "Missing option '--out'"),
        (["{examples}", "--out", "{folder}/odd.jsonl"], 1, "can't be written"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    examples = write_examples(tmp_path, [example(0), example(1)])
    (tmp_path / "odd.jsonl").write_text("a line\n")
    places = {"examples": examples, "out": tmp_path / "out", "folder": tmp_path}
    done = run("prm", "export", *(argument.format(**places) for argument in arguments))
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_export_that_was_stopped_is_made_by_the_same_command(tmp_path: Path, how: signal.Signals) -> None:
    names = [write_picture(tmp_path, f"{seed}.png", seed) for seed in range(600)]
    path = write_examples(tmp_path, [example(number, images=(name,)) for number, name in enumerate(names)])
    whole = run("prm", "export", path, "--out", tmp_path / "whole", "--json").json
    command = ("prm", "export", path, "--out", tmp_path / "out", "--json")
    process = start(*command)
    while process.poll() is None and not any((tmp_path / "out").glob("images/*")):
        time.sleep(0.01)
    process.send_signal(how)
    stopped = finish(process)
    if stopped.code != 0:  # else it was done before the signal came
        assert not (tmp_path / "out" / "card.json").exists()
    again = finish(start(*command))
    assert again.json["files"] == whole["files"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        path.name for path in (tmp_path / "whole").iterdir()
    )
