"""Judges and extractors from the command line, against real servers: paid once, resumed, no harm to a score."""

import json
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.command import finish, make_questions, run, start
from support.servers import Call, ChatServer, Draw, error, share

NUMBER = re.compile(r"Question number (\d+) end")
RULES = "Everything between the response tags"


def number_of(call: Call) -> int:
    found = NUMBER.search(call.question)
    assert found, call.question
    return int(found[1])


def always_a(_call: Call, _draw: int) -> str:
    return "\\boxed{A}"


def knows(call: Call, _draw: int) -> str:
    """A judge that compares the right answer with the reply's A, as it should."""
    assert RULES in call.question
    return f"Verdict: {'CORRECT' if number_of(call) % 5 == 0 else 'INCORRECT'}"


def write_replies(folder: Path, count: int) -> Path:
    file = folder / "replies.jsonl"
    rows = [{"id": str(number), "response": f"Reply {number}.\n\\boxed{{A}}"} for number in range(count)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_case_143_eval_with_a_judge_at_any_address(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 20)
    with ChatServer(answer=always_a) as policy, ChatServer(answer=knows, models=("judge-model",)) as judge:
        command: list[str | Path] = [
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", policy.url, "--out", tmp_path / "run"),
            *("--judge", f"openai:judge-model@{judge.url}"),
        ]
        done = run(*command)
        assert done.code == 0, done.err
        assert (len(policy.calls), len(judge.calls)) == (20, 20)
        again = run(*command)
        assert (len(policy.calls), len(judge.calls)) == (20, 20)
    # Gold is A for every fifth question.
    assert done.json["robust"]["correct"] == 4
    judged = done.json["judged"]
    assert (judged["correct"], judged["n"], judged["accuracy"]) == (4, 20, 0.2)
    assert judged["low"] < 0.2 < judged["high"]
    assert "judge-model" in judged["judge"]
    assert len(bytes.fromhex(judged["prompt_hash"])) == 32
    assert judged["agreement"]["kappa"] == 1.0
    assert again.json["judged"] == judged
    assert all(call.body["temperature"] == 0 for call in judge.calls)
    assert not any(call.pictures for call in judge.calls)
    shown = run("score", tmp_path / "run")
    assert "judged" in shown.out
    assert "they change neither" in shown.out


def test_a_run_is_judged_later_without_asking_the_model(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 10)
    with ChatServer(answer=always_a) as policy:
        run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", policy.url, "--out", tmp_path / "run"),
        )
    with ChatServer(answer=knows) as judge:
        done = run("score", tmp_path / "run", "--judge", f"openai:test-model@{judge.url}", "--json")
        assert len(judge.calls) == 10
    assert done.code == 0, done.err
    assert (done.json["judged"]["correct"], done.json["robust"]["correct"]) == (2, 2)
    assert run("score", tmp_path / "run", "--json").json["judged"] == done.json["judged"]


def test_a_failing_judge_costs_no_sample(tmp_path: Path) -> None:
    data, replies = make_questions(tmp_path / "data", 40), write_replies(tmp_path, 40)

    def fault(call: Call) -> Any:
        return error(400, "no") if number_of(call) == 7 else share(0.2, seed=5)(call)

    def answer(call: Call, draw: int) -> str | Draw:
        match number_of(call):
            case 1:
                return Draw(text="", finish="content_filter")
            case 2:
                return Draw(text="", finish="length", message={"reasoning_content": "Hmm, the"})
            case 3:
                return "[ERROR] 429"
            case _:
                return knows(call, draw)

    with ChatServer(answer=answer, fault=fault) as judge:
        done = run(
            *("score", "mathvision", "--replies", replies, "--data", data, "--split", "testmini", "--json"),
            *("--judge", f"openai:test-model@{judge.url}", "--out", tmp_path / "run"),
        )
    assert done.code == 0, done.err
    assert done.json["counts"]["failed"] == 0
    assert (done.json["robust"]["correct"], done.json["robust"]["n"]) == (8, 40)
    judged = done.json["judged"]
    assert (judged["correct"], judged["n"]) == (8, 36)
    assert judged["reasons"] == {
        "judge call failed: bad_request": 1,
        "the judge refused": 1,
        "the judge's reply was cut at its token limit": 1,
        "the judge's reply does not end with a verdict": 1,
    }
    assert "judge: 1 x the call failed: bad_request; the same command asks again" in done.err


def test_a_wrong_judge_key_ends_the_judging_and_keeps_the_score(tmp_path: Path) -> None:
    data, replies = make_questions(tmp_path / "data", 5), write_replies(tmp_path, 5)
    with ChatServer(answer=knows, api_key="right") as judge:
        done = run(
            *("score", "mathvision", "--replies", replies, "--data", data, "--split", "testmini", "--json"),
            *("--judge", f"openai:test-model@{judge.url}", "--out", tmp_path / "run"),
        )
    assert done.code == 3
    assert "key" in done.err
    kept = run("score", tmp_path / "run", "--json")
    assert kept.json["robust"]["correct"] == 1
    assert kept.json["judged"] is None


@pytest.mark.timeout(120)
def test_case_126_judging_killed_at_any_moment_goes_on_where_it_was(tmp_path: Path) -> None:
    data, replies = make_questions(tmp_path / "data", 120), write_replies(tmp_path, 120)

    def command(out: str, url: str) -> list[str | Path]:
        return [
            *("score", "mathvision", "--replies", replies, "--data", data, "--split", "testmini", "--json"),
            *("--judge", f"openai:test-model@{url}", "--out", tmp_path / out),
        ]

    with ChatServer(answer=knows, latency=0.1) as judge:
        process = start(*command("killed", judge.url))
        deadline = time.monotonic() + 30
        while len(judge.calls) < 20:
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        last = finish(start(*command("killed", judge.url)))
        assert last.code == 0, last.err
        asked = Counter(number_of(call) for call in judge.calls)
        judge.calls.clear()
        whole = run(*command("whole", judge.url))
    assert last.json["judged"] == whole.json["judged"]
    assert last.json["judged"]["counts"]["right"] == 24
    assert len(asked) == 120
    # Only what was in flight at the kill is asked twice.
    assert asked.total() - 120 <= 64


def test_recorded_replies_are_kept_as_a_run_that_can_be_compared(tmp_path: Path) -> None:
    data, replies = make_questions(tmp_path / "data", 10), write_replies(tmp_path, 9)
    scored = run("score", "mathvision", "--replies", replies, "--data", data, "--split", "testmini", "--json")
    for name in ("a", "b"):
        kept = run(
            *("score", "mathvision", "--replies", replies, "--data", data, "--split", "testmini", "--json"),
            *("--out", tmp_path / name),
        )
        assert kept.code == 0, kept.err
        assert kept.json == scored.json
    again = run("score", tmp_path / "a", "--json").json
    for key in ("samples", "reference", "robust", "counts", "facets"):
        assert again[key] == scored.json[key]
    compared = run("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert compared.code == 0, compared.err
    assert compared.json["difference"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "mathvision", "--replies", "REPLIES", "--data", "DATA", "--judge", "scripted:x"], "no such file"),
        (["score", "mathvision", "--replies", "REPLIES", "--data", "DATA", "--judge", "SCRIPT"], "add --out RUN"),
        (["score", "mathvision", "--replies", "REPLIES", "--judge", "gpt-4"], "not a model address"),
        (["score", "runs/none", "--out", "x"], "without --replies there are none"),
        (["score", "runs/none", "--extract-all"], "name one with --extractor"),
        (
            [
                *("eval", "mathvision", "--data", "DATA", "--split", "testmini", "--model", "SCRIPT"),
                *("--extractor", "SCRIPT"),
            ],
            "reads answers by rule",
        ),
        (
            [
                *("score", "runs/none", "--judge", "openai:m@http://127.0.0.1:9/v1"),
                *("--judge-api-key-env", "NOT_SET_AT_ALL"),
            ],
            "NOT_SET_AT_ALL is not set",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(tmp_path: Path, words: list[str], message: str) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"id": "0", "reply": "Verdict: CORRECT"}\n', encoding="utf-8")
    places = {
        "REPLIES": str(write_replies(tmp_path, 1)),
        "DATA": str(make_questions(tmp_path / "data", 1)),
        "SCRIPT": f"scripted:{script}",
    }
    done = run(*(places.get(word, word) for word in words))
    assert done.code == 2, done.err
    assert message in done.err


# --------------------------------------------------------------------------------------------------------------------
# assay judge check


def write_labelled(folder: Path, count: int) -> Path:
    """Rows 0 .. count-1; every fifth is right, as `knows` says."""
    file = folder / "labelled.jsonl"
    rows = [
        {
            "question": f"Question number {number} end: which letter?",
            "gold": "ABCDE"[number % 5],
            "answer": "A",
            "label": "right" if number % 5 == 0 else "wrong",
        }
        for number in range(count)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_a_judge_is_checked_against_labels(tmp_path: Path) -> None:
    file = write_labelled(tmp_path, 30)

    def answer(call: Call, draw: int) -> str:
        return "Hard to say." if number_of(call) == 4 else knows(call, draw)

    with ChatServer(answer=answer) as judge:
        command = ("judge", "check", file, "--judge", f"openai:test-model@{judge.url}", "--out", tmp_path / "out")
        done = run(*command, "--json")
        shown = run(*command)
        assert len(judge.calls) == 30
    assert done.code == 0, done.err
    assert done.json["score"]["correct"] == done.json["score"]["n"] == 29
    assert done.json["agreement"]["kappa"] == 1.0
    assert done.json["unmarkable"] == {"the judge's reply does not end with a verdict": 1}
    assert "Cohen's kappa 1.000" in shown.out
    assert "No verdict, in no number above: 1 x the judge's reply does not end with a verdict." in shown.out


def test_a_judge_that_never_says_anything_is_an_error(tmp_path: Path) -> None:
    with ChatServer(answer=lambda _call, _draw: "") as judge:
        done = run(
            *("judge", "check", write_labelled(tmp_path, 3), "--judge", f"openai:test-model@{judge.url}"),
            *("--out", tmp_path / "out"),
        )
    assert done.code == 1
    assert "no verdict on any of 3 rows" in done.err


def test_a_scripted_judge_needs_no_server(tmp_path: Path) -> None:
    script = tmp_path / "judge.jsonl"
    rows = [{"id": str(number), "reply": "Verdict: INCORRECT"} for number in range(1, 6)]
    script.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run(
        *("judge", "check", write_labelled(tmp_path, 5), "--judge", f"scripted:{script}", "--json"),
        *("--out", tmp_path / "out"),
    )
    # One of five is right; the judge calls all wrong: p_o = 4/5, p_e = (1 * 0 + 4 * 5) / 25 = 4/5, kappa 0.
    assert done.json["score"]["accuracy"] == pytest.approx(0.8)
    assert done.json["agreement"]["kappa"] == pytest.approx(0)
    assert done.json["agreement"]["shares"]["wrong"] == [0.8, 1.0]
