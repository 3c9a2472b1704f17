"""What `assay score` shows while it marks: a bar in a terminal, nothing in a log of what is done at once."""

import json
from pathlib import Path

import pytest

from support.command import make_questions, run
from support.servers import ChatServer


@pytest.fixture
def replies(tmp_path: Path) -> list[str | Path]:
    """The arguments that score 12 recorded replies to 15 questions."""
    data, file = make_questions(tmp_path / "data", 15), tmp_path / "replies.jsonl"
    rows = [{"id": str(number), "response": "So the answer is \\boxed{A}"} for number in range(12)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return ["mathvision", "--replies", file, "--data", data, "--split", "testmini", "--json"]


def test_a_terminal_sees_a_file_being_marked(replies: list[str | Path]) -> None:
    done = run("score", *replies, terminal=True)
    assert "15/15" in done.err
    assert "3 failed" in done.err  # no reply
    assert "calls in flight" not in done.err
    assert "12/12" in run("score", *replies, "--limit", "12", terminal=True).err
    quiet = run("score", *replies)
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out == done.out  # progress is no part of the result


def test_a_terminal_sees_replies_being_kept_and_a_run_being_marked_again(
    tmp_path: Path, replies: list[str | Path]
) -> None:
    kept = run("score", *replies, "--out", tmp_path / "run", terminal=True)
    assert "15/15" in kept.err
    again = run("score", tmp_path / "run", "--json", terminal=True)
    assert "15/15" in again.err
    assert again.json["robust"] == kept.json["robust"]
    assert run("score", tmp_path / "run", "--json").err == ""


def test_a_terminal_sees_the_pools_of_a_search_being_marked(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 4)
    with ChatServer(answer=lambda _call, _draw: "\\boxed{A}") as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
            *("--search", "self-consistency", "--n", "2"),
        )
    assert done.code == 0, done.err
    shown = run("score", tmp_path / "run", "--json", terminal=True).err
    marked, _, pools = shown.partition("pools:")
    assert "4/4" in marked
    assert "4/4" in pools
