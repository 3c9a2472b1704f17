"""What `assay score` shows while it marks: a bar in a terminal, nothing in a log of what is done at once."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.command import finish, make_questions, run, start
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


@pytest.mark.parametrize(("closed", "printed"), [("2>&-", True), (">&-", False), ("<&- >&- 2>&-", False)])
def test_streams_that_are_closed_take_nothing_and_spoil_nothing(
    tmp_path: Path, replies: list[str | Path], closed: str, printed: bool
) -> None:
    """As a scheduler or a daemon may start it; else the run's first file would have the number of the closed stream."""
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'"$@" {closed}',
            "sh",
            sys.executable,
            "-m",
            "assay",
            "score",
            *replies,
            "--out",
            tmp_path / "run",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == printed
    assert run("score", tmp_path / "run", "--json").json["robust"] == run("score", *replies).json["robust"]


def test_keeping_replies_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    count, kept = 10_000, tmp_path / "run" / "outcomes-0.jsonl"
    data, file = make_questions(tmp_path / "data", count), tmp_path / "replies.jsonl"
    rows = (json.dumps({"id": str(number), "response": "\\boxed{A}"}) + "\n" for number in range(count))
    file.write_text("".join(rows), encoding="utf-8")
    command = ("score", "mathvision", "--replies", file, "--data", data, "--split", "testmini", "--json")
    process = start(*command, "--out", tmp_path / "run")
    while process.poll() is None and not (kept.exists() and kept.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 3, done.err
    assert done.err.strip() == (
        f"assay: Stopped by Ctrl-C. What is marked is kept in {tmp_path / 'run'}; the same command goes on from there."
    )
    before = kept.read_bytes().count(b"\n")
    assert 0 < before < count
    done = run(*command, "--out", tmp_path / "run")
    assert (done.code, done.json["samples"]) == (0, count)
    assert kept.read_bytes().count(b"\n") == count  # none is marked twice
