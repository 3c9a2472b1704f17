"""`assay prm label` from the command line, against real servers: paid once, resumed, every kind of reply counted."""

import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from assay.train.files import read_records
from assay.train.records import TeacherCritique
from support.command import finish, run, start
from support.pictures import file_of, noise
from support.rolled import critique_text, rolled, write_rollouts
from support.servers import Call, ChatServer, Draw, says

NAME = re.compile(r"Question (\w+) end")


def name_of(call: Call) -> str:
    found = NAME.search(call.question)
    assert found, call.question
    return found[1]


def knows(call: Call, _draw: int) -> str:
    return critique_text(True, int(name_of(call)) % 2 == 0)


def make_rollouts(folder: Path, count: int) -> Path:
    (folder / "a.png").write_bytes(file_of(noise("RGB", (40, 30)), "PNG"))
    return write_rollouts(
        folder / "rollouts.jsonl", [rolled(f"{number}#0", 4, 2, images=("a.png",)) for number in range(count)]
    )


def read(out: Path) -> list[TeacherCritique]:
    return list(read_records(out / "critiques.jsonl", "critiques", TeacherCritique))


def test_two_teachers_one_of_which_refuses(tmp_path: Path) -> None:
    file, out = make_rollouts(tmp_path, 4), tmp_path / "labels"
    prices = tmp_path / "prices.toml"
    prices.write_text('[[price]]\nmodel = "good"\nprompt = "1000"\ncompletion = "0"\n')
    refusing = says("I'm sorry, but I can't help with that.")
    with ChatServer(answer=knows, models=("good",)) as good, ChatServer(answer=refusing, models=("shy",)) as shy:
        command = [
            *("prm", "label", file, "--out", out, "--retries", "1", "--prices", prices),
            *("--teacher", f"openai:good@{good.url}", "--teacher", f"openai:shy@{shy.url}"),
        ]
        done = run(*command)
        assert done.code == 0, done.err
        assert (len(good.calls), len(shy.calls)) == (4, 8)
        as_json = run(*command, "--json")
        assert (len(good.calls), len(shy.calls)) == (4, 8)
        prompt_tokens = sum(len(call.question.split()) + 100 for call in good.calls)
    first, second = as_json.json["teachers"]
    assert (first["statuses"], first["tries"]) == ({"parsed": 4}, 4)
    assert (second["statuses"], second["tries"]) == ({"refused": 4}, 8)
    assert first["usage"]["prompt_tokens"] == prompt_tokens
    # 1000 for a million prompt tokens: a thousandth of them each.
    assert f"{prompt_tokens / 1000:.4f}" in done.out
    assert re.search(r"openai:good +4 +0 +0 +0 +0 +4 ", done.out), done.out
    assert "critiques.jsonl" in done.out
    found = read(out)
    assert [one.solution_id for one in found] == [f"{number}#0" for number in range(4)] * 2
    assert [bool(one.critique and one.critique.steps[1].correct) for one in found[:4]] == [True, False, True, False]
    assert {one.teacher for one in found[4:]} == {found[4].teacher}
    assert found[0].teacher != found[4].teacher


def test_a_teacher_that_never_writes_a_critique_ends_in_an_error_that_says_so(tmp_path: Path) -> None:
    file = make_rollouts(tmp_path, 2)
    with ChatServer(answer=says("Looks fine to me.")) as server:
        done = run("prm", "label", file, "--out", tmp_path / "out", "--teacher", f"openai:test-model@{server.url}")
    assert done.code != 0
    assert "no reply of any teacher could be read" in done.err
    assert [one.status for one in read(tmp_path / "out")] == ["unparsable", "unparsable"]


def test_rows_that_are_no_solutions_are_left_out_and_said(tmp_path: Path) -> None:
    file = make_rollouts(tmp_path, 3)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b'{"id": 7}\n', lines[3]]))
    with ChatServer(answer=knows) as server:
        done = run("prm", "label", file, "--out", tmp_path / "out", "--teacher", f"openai:test-model@{server.url}")
    assert done.code == 0, done.err
    assert "rollouts.jsonl:3" in done.err
    assert "1 rows of" in done.out
    assert [one.solution_id for one in read(tmp_path / "out")] == ["0#0", "2#0"]


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    file = make_rollouts(tmp_path, 1)
    teacher = ("--teacher", "openai:m@http://127.0.0.1:9/v1")
    for arguments, said in (
        ((tmp_path / "none.jsonl", *teacher), "there is no such file"),
        ((file, "--teacher", "gpt"), "is not a model address"),
        ((file, *teacher, "--teacher-api-key-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is not set"),
        ((file, *teacher, *("--teacher-api-key-env", "A") * 3), "one for all, or one for each"),
        ((file, *teacher, *teacher), "twice"),
        ((file, *teacher, "--extra-body", "[1]"), "--extra-body"),
    ):
        done = run("prm", "label", *arguments, "--out", tmp_path / "out")
        assert done.code != 0
        assert said in done.err
        assert "Traceback" not in done.err


def test_a_budget_stops_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    file, out = make_rollouts(tmp_path, 12), tmp_path / "out"
    with ChatServer(answer=knows) as server:
        command = [
            *("prm", "label", file, "--out", out, "--concurrency", "1"),
            *("--teacher", f"openai:test-model@{server.url}"),
        ]
        done = run(*command, "--budget-tokens", "1500")
        assert done.code != 0
        assert "budget" in done.err
        assert " of 12 solutions are done and kept" in done.err
        kept = len(server.calls)
        assert 0 < kept < 12
        assert not (out / "critiques.jsonl").exists()
        done = run(*command)
        assert done.code == 0, done.err
        assert len(server.calls) == 12
    assert len(read(out)) == 12


@pytest.mark.parametrize("signal_sent", [signal.SIGKILL, signal.SIGINT])
def test_stopped_at_any_moment_it_goes_on_where_it_was(tmp_path: Path, signal_sent: signal.Signals) -> None:
    file = make_rollouts(tmp_path, 60)

    def prose_first(call: Call, draw: int) -> Draw:
        """Every third solution needs a second try."""
        first = call.body["temperature"] == 0
        return Draw(text="Prose." if first and int(name_of(call)) % 3 == 0 else knows(call, draw))

    def command(out: str, url: str) -> list[str | Path]:
        return [
            *("prm", "label", file, "--out", tmp_path / out, "--concurrency", "8"),
            *("--teacher", f"openai:test-model@{url}"),
        ]

    with ChatServer(answer=prose_first, latency=0.05) as server:
        process = start(*command("stopped", server.url))
        deadline = time.monotonic() + 30
        while len(server.calls) < 20:
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.005)
        process.send_signal(signal_sent)
        process.communicate()
        assert process.returncode != 0
        last = finish(start(*command("stopped", server.url)))
        assert last.code == 0, last.err
        asked = Counter((name_of(call), call.body["temperature"]) for call in server.calls)
        run(*command("whole", server.url))
    assert read(tmp_path / "stopped") == read(tmp_path / "whole")
    assert len(asked) == 60 + 20
    # Only what was in flight at a kill is asked twice; an interrupted run waits for it.
    assert asked.total() - 80 <= (8 if signal_sent == signal.SIGKILL else 0)
