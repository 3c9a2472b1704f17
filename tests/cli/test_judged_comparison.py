"""`assay compare` and `assay board` by a judge's verdicts, as a user has them."""

import json
from pathlib import Path

import pytest

from support.command import run
from support.outcomes import judged, outcome
from support.runs import new_store


def write_run(folder: Path, right: int, *, judge: str | None = "a judge") -> Path:
    """20 replies, all wrong by rule; a judge finds the first `right` of them right, and fails on the last two."""
    with new_store(folder) as store:
        for number in range(20):
            row = outcome(str(number), "wrong")
            verdict = "unmarkable" if number >= 18 else "right" if number < right else "wrong"
            store.append(row if judge is None else judged(row, verdict, judge=judge))
    return folder


def test_a_comparison_by_a_judges_verdicts(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", 2), write_run(tmp_path / "b", 12)
    done = run("compare", a, b, "--mode", "judged", "--json")
    assert done.code == 0, done.err
    assert (done.json["mode"], done.json["pairs"]) == ("judged", 18)
    assert (done.json["gained"]["total"], done.json["lost"]["total"]) == (10, 0)
    assert done.json["missing"] == {"only_a": 0, "only_b": 0, "both": 2}
    assert done.json["judges"]["a"] == {"name": "a judge", "prompt_hash": "0123456789abcdef"}
    assert run("compare", a, b, "--json").json["judges"] == {}
    shown = run("compare", a, b, "--mode", "judged").out
    assert "judged verdicts" in shown
    assert "judged: the verdicts of a judge, prompt 0123456789ab." in shown


def test_a_comparison_across_judges_says_so(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", 2), write_run(tmp_path / "b", 12, judge="another")
    notes = run("compare", a, b, "--mode", "judged", "--json").json["notes"]
    assert any("judged by different judges" in note and f"{b} by another" in note for note in notes)


def test_a_board_by_a_judges_verdicts(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", 2), write_run(tmp_path / "b", 12)
    board = json.loads(run("board", a, b, "--mode", "judged", "--format", "json").out)
    assert [(row["run"], row["score"]["correct"], row["score"]["n"]) for row in board["rows"]] == [
        ("b", 12, 18),
        ("a", 2, 18),
    ]


@pytest.mark.parametrize("command", ["compare", "board"])
def test_a_run_that_nobody_judged_is_named_with_the_way_out(tmp_path: Path, command: str) -> None:
    fine, bare = write_run(tmp_path / "fine", 2), write_run(tmp_path / "bare", 2, judge=None)
    done = run(command, fine, bare, "--mode", "judged")
    assert done.code == 2
    assert f"{bare} has no verdicts of a judge" in done.err
    assert f"assay score {bare} --judge ADDRESS" in done.err
