"""`assay prm rollouts` against a server: `support.rollout_world` says what every label is."""

import dataclasses
import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.train.visualprm import read_rollouts
from support.command import Done, finish, run, start
from support.fruit import make_fruit
from support.rollout_world import QUESTIONS, answer
from support.servers import Call, ChatServer, Draw, FaultFor, error, no_fault

SOLUTIONS, COMPLETIONS = 2, 4
RIGHT = {0: [True] * 4, 1: [True, False, False, False], 2: [False, True, True, True]}


def arguments(data: Path, out: Path, url: str, *more: str) -> list[str | Path]:
    return [
        *("prm", "rollouts", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--out", out),
        *("--solutions", str(SOLUTIONS), "--completions", str(COMPLETIONS), "--continuation", "prefill"),
        *("--model", "test-model", "--base-url", url, *more),
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_fruit(tmp_path_factory.mktemp("rollouts") / "data", QUESTIONS)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answer=answer, logprobs=False) as server:
        yield server


def rolled(out: Path) -> dict[str, Any]:
    """The run's records by question, the last of each."""
    lines = (out / "rollouts-0.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["sample_id"]: record for record in map(json.loads, lines)}


def asked(server: ChatServer) -> list[Call]:
    """The calls that continue something."""
    return [call for call in server.calls if call.prefill is not None and "Count from one" not in call.question]


def labels(out: Path) -> dict[str, list[bool | None]]:
    return {one.id: [step.hard for step in one.steps] for one in read_rollouts(out / "rollouts.jsonl")}


def done(*words: str | Path) -> Done:
    finished = run(*words)
    assert finished.code == 0, finished.err
    return finished


# ----------------------------------------------------------------------------------------------------------------------
# The full scheme


def test_soft_labels(data: Path, tmp_path: Path, server: ChatServer) -> None:
    report = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    assert report["counts"] == {
        "questions": 3,
        "solutions": 6,
        "steps": 24,
        # 4, 1 and 3 right ones, twice each
        "right": 16,
        "wrong": 8,
        "unlabelled": 0,
        "skipped": 0,
        "completions": 96,
        "unmarked": 0,
        "restarted": 0,
        "unanswered": 0,
        "truncated": 0,
        "failed": 0,
        "full_scheme": 96,
        "asked": 96,
        "share": 1.0,
    }
    assert (report["right"], report["wrong"], report["written"], report["failed"]) == (4, 2, 6, {})
    # Every step has all or none: no half of them differs from the other.
    assert report["noise"] == {"steps": 24, "completions": 4, "halves": 0.0, "last": 0.0}
    # Case 168's opposite: texts differ by their seeds.
    assert report["sameness"] == {"prefixes": 18, "equal": 0, "copied": 0, "questions": 3, "same_solutions": 0}
    # A request for the solutions of each question; batches 0 | 1 | 2 3 of each step.
    assert len(asked(server)) == 24 * 3
    assert sum(call.body.get("n", 1) for call in asked(server)) == 96


def test_the_file_stands_alone(data: Path, tmp_path: Path, server: ChatServer) -> None:
    """Cases 166 and 167: soft and hard labels with their counts, and the question as it was asked."""
    done(*arguments(data, tmp_path / "run", server.url))
    found = list(read_rollouts(tmp_path / "run" / "rollouts.jsonl"))
    assert [one.id for one in found] == ["0#0", "0#1", "1#0", "1#1", "2#0", "2#1"]  # in the data's order
    second = found[2]
    assert [(step.successes, step.marked, step.soft, step.hard) for step in second.steps] == [
        (4, 4, 1.0, True),
        *[(0, 4, 0.0, False)] * 3,
    ]
    assert (second.first_error, second.right, second.answer) == (1, False, "C")
    assert (second.gold, second.source, second.group) == ("B (pear)", "mathvision", "1")
    assert second.images == (str(data.resolve() / "images/1.png"),)
    assert "Question number 1 end" in second.question
    assert "(B) pear" in second.question
    assert second.facets["subject"] == ("logic",)
    texts = [call for call in server.calls if call.question == second.question]
    assert texts  # word for word what the policy was asked


def test_every_completion_is_kept(data: Path, tmp_path: Path, server: ChatServer) -> None:
    """Case 167: with prefix, seed, answer and verdict. Case 168: every draw has a seed of its own."""
    done(*arguments(data, tmp_path / "run", server.url))
    records = rolled(tmp_path / "run")
    completions = [
        one
        for record in records.values()
        for rollout in record["rollouts"]
        for step in rollout["steps"]
        for one in step["completions"]
    ]
    assert len(completions) == 96
    assert len({one["seed"] for one in completions}) == 96
    first = records["1"]["rollouts"][0]["steps"][1]
    assert first["step"].startswith("Step 2: we look at part 2")
    for place, one in enumerate(first["completions"]):
        # What the server wrote says which seed it had.
        assert one["text"] == f"Hence, by {one['seed']}, it is seen.\n\nTherefore I look at the picture.\n\\boxed{{C}}"
        assert (one["index"], one["answer"], one["right"]) == (place, "C", False)
    assert len(list(tmp_path.glob("run/replies.sqlite"))) == 1


def test_what_is_printed(data: Path, tmp_path: Path, server: ChatServer) -> None:
    out = tmp_path / "run"
    shown = " ".join(done(*arguments(data, out, server.url)).out.split())
    for words in (
        "2 solutions of a question, 4 completions of a step, soft labels",
        "solutions 6 4 right, 2 wrong",
        "steps 24 16 right, 8 wrong",
        "96 of the full scheme's 96 completions were asked for (100.0%; 0.0% saved)",
        "two hard labels from 2 completions each differ on 0.0% of 24 steps",
        "6 solutions are in",
    ):
        assert words in shown


def test_a_question_is_as_right_as_its_first_solution(data: Path, tmp_path: Path, server: ChatServer) -> None:
    done(*arguments(data, tmp_path / "run", server.url))
    scored = done("score", tmp_path / "run", "--data", data, "--json").json
    assert (scored["robust"]["correct"], scored["robust"]["n"]) == (2, 3)


def test_data_of_ones_own(tmp_path: Path, server: ChatServer) -> None:
    rows = [{"question": f"Question number {number} end?", "answer": "ABC"[number]} for number in range(2)]
    table = tmp_path / "own.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "run"
    model = ("--model", "test-model", "--base-url", server.url, "--no-probe", "--continuation", "prefill")
    few = ("--solutions", "1", "--completions", "2", "--answer-type", "text")
    done("prm", "rollouts", table, "--out", out, *model, *few)
    assert labels(out) == {"1#0": [True] * 4, "2#0": [True, False, False, False]}


@pytest.mark.parametrize("way", ["prompt", "auto"])
def test_steps_handed_over_in_other_ways(data: Path, tmp_path: Path, server: ChatServer, way: str) -> None:
    """The same labels from a request in words, and from whatever the server turns out to take."""
    done(*arguments(data, tmp_path / "run", server.url, "--labels", "hard", "--continuation", way))
    assert {name[0]: found for name, found in labels(tmp_path / "run").items()} == {
        str(number): found for number, found in RIGHT.items()
    }
    in_words = [call for call in server.calls if "<checked_steps>" in call.question]
    assert bool(in_words) == (way == "prompt")


def test_a_server_that_takes_no_n(data: Path, tmp_path: Path, server: ChatServer) -> None:
    """It is asked once for every draw, and the completions are the same."""
    done(*arguments(data, tmp_path / "several", server.url))
    server.draws = "refuse"
    done(*arguments(data, tmp_path / "single", server.url))
    assert rolled(tmp_path / "single") == rolled(tmp_path / "several")


# ----------------------------------------------------------------------------------------------------------------------
# Fewer completions for the same labels


@pytest.mark.parametrize(
    ("more", "share", "skipped"),
    [
        # 4, 13 and 7 of 16, twice each; to the first error 4, 5 and 4
        (("--labels", "hard"), 48 / 96, 0),
        (("--labels", "hard", "--stop", "first-error"), 26 / 96, 10),
        (("--stop", "first-error"), (16 + 8 + 4) / 48, 10),
    ],
)
def test_hard_labels_for_less(
    data: Path, tmp_path: Path, server: ChatServer, more: tuple[str, ...], share: float, skipped: int
) -> None:
    report = done(*arguments(data, tmp_path / "run", server.url, "--json", *more)).json
    assert report["counts"]["share"] == pytest.approx(share)
    assert report["counts"]["skipped"] == skipped
    for name, found in labels(tmp_path / "run").items():
        wanted = RIGHT[int(name.partition("#")[0])]
        end = wanted.index(False) + 1 if skipped and False in wanted else 4
        assert found == [*wanted[:end], *[None] * (4 - end)]


def test_labels_may_be_changed_on_the_way(data: Path, tmp_path: Path, server: ChatServer) -> None:
    """Hard, then soft ones: only what is missing is asked for, and the result is that of soft ones from the start."""
    out, alone = tmp_path / "run", tmp_path / "alone"
    done(*arguments(data, out, server.url, "--labels", "hard", "--stop", "first-error"))
    hard = len(asked(server))
    done(*arguments(data, out, server.url))
    soft = len(asked(server))
    assert soft == 24 * 3  # no batch twice
    assert 0 < hard < soft
    done(*arguments(data, alone, server.url))
    assert (out / "rollouts.jsonl").read_bytes() == (alone / "rollouts.jsonl").read_bytes()
    assert rolled(out) == rolled(alone)
    # And back again, of what is there.
    before = len(server.calls)
    done(*arguments(data, out, server.url, "--labels", "hard"))
    assert len(server.calls) == before
    assert [step.soft for one in read_rollouts(out / "rollouts.jsonl") for step in one.steps].count(None) == 16


@pytest.mark.parametrize(
    "more",
    [("--completions", "8"), ("--solutions", "3"), ("--seed", "1"), ("--temperature", "0.5"), ("--max-steps", "3")],
)
def test_another_plan_is_another_run(data: Path, tmp_path: Path, server: ChatServer, more: tuple[str, str]) -> None:
    done(*arguments(data, tmp_path / "run", server.url, "--limit", "1"))
    calls = len(server.calls)
    refused = run(*arguments(data, tmp_path / "run", server.url, "--limit", "1", *more))
    assert refused.code == 1
    assert "holds another run" in refused.err
    assert len(server.calls) == calls


# ----------------------------------------------------------------------------------------------------------------------
# Interrupted


def counted(out: Path) -> int:
    path = out / "rollouts-0.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_run_goes_on_where_it_was_ended(tmp_path: Path, ending: signal.Signals) -> None:
    many = make_fruit(tmp_path / "data", 12)
    out, whole = tmp_path / "run", tmp_path / "whole"

    with ChatServer(answer=answer, logprobs=False, latency=0.03) as server:
        words = arguments(many, out, server.url, "--concurrency", "2")
        process = start(*words)
        deadline = time.monotonic() + 60
        while counted(out) < 2:
            assert process.poll() is None, finish(process).err
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(ending)
        ended = finish(process)
        assert ended.code != 0
        assert not (out / "rollouts.jsonl").exists()
        done(*words)
        bodies = [json.dumps(call.body, sort_keys=True) for call in asked(server)]
        # Twice are asked no more than the calls in flight at the end.
        assert len(bodies) - len(set(bodies)) <= 4
        done(*arguments(many, whole, server.url))
    assert (out / "rollouts.jsonl").read_bytes() == (whole / "rollouts.jsonl").read_bytes()


def test_the_same_command_asks_nothing_again(data: Path, tmp_path: Path, server: ChatServer) -> None:
    first = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    calls = len(server.calls)
    assert done(*arguments(data, tmp_path / "run", server.url, "--json")).json == first
    assert len(server.calls) == calls


# ----------------------------------------------------------------------------------------------------------------------
# What goes wrong


def fails_for(wanted: Callable[[Call], bool]) -> FaultFor:
    return lambda call: error(400, "the prompt is too odd") if wanted(call) else None


def test_a_question_without_solutions_is_a_failure(data: Path, tmp_path: Path, server: ChatServer) -> None:
    server.fault = fails_for(lambda call: "Question number 1 end" in call.question and call.prefill is None)
    report = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    assert report["failed"] == {"bad_request": 1}
    assert (report["asked"], report["counts"]["questions"], report["written"]) == (3, 2, 4)
    server.fault = no_fault
    again = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    assert (again["failed"], again["written"]) == ({}, 6)


def test_a_question_without_its_picture_does_not_end_the_run(tmp_path: Path, server: ChatServer) -> None:
    folder = make_fruit(tmp_path / "data", QUESTIONS)
    rows = [json.loads(line) for line in (folder / "testmini.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[1]["image"] = "images/gone.png"
    whole = (folder / rows[2]["image"]).read_bytes()
    (folder / "images" / "cut.png").write_bytes(whole[: len(whole) // 2])
    rows[2]["image"] = "images/cut.png"
    (folder / "testmini.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shown = done(*arguments(folder, tmp_path / "run", server.url)).out
    assert "failed: 1 corrupt, 1 missing, listed in" in shown
    failures = [json.loads(line) for line in (tmp_path / "run" / "outcomes-0.jsonl").read_text().splitlines()]
    assert {one["sample_id"]: one["result"]["kind"] for one in failures if one["result"]["type"] == "failure"} == {
        rows[1]["id"]: "missing",
        rows[2]["id"]: "corrupt",
    }


def test_failed_completions_are_no_verdicts_and_are_tried_again(data: Path, tmp_path: Path, server: ChatServer) -> None:
    """The batch of the last two completions of question 1's second steps fails: 4 of 96."""
    seeds: set[int] = set()

    def unlucky(call: Call) -> bool:
        second = (call.prefill or "").count("part") == 2 and "Question number 1 end" in call.question
        if second and call.body.get("n", 1) == 2:
            seeds.add(call.seed)
        return second and call.seed in seeds  # what is refused is tried with n = 1 once

    server.fault = fails_for(unlucky)
    report = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    assert report["failures"] == {"bad_request": 4}
    assert (report["counts"]["failed"], report["counts"]["completions"]) == (4, 92)
    assert report["counts"]["unlabelled"] == 2
    found = labels(tmp_path / "run")
    assert found["1#0"] == found["1#1"] == [True, None, False, False]
    shown = done(*arguments(data, tmp_path / "run", server.url)).out
    assert "4 failed (4 bad_request)" in shown
    server.fault = no_fault
    mended = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    assert mended["counts"]["failed"] == 0
    assert labels(tmp_path / "run")["1#0"] == RIGHT[1]


def test_cut_completions_are_told(data: Path, tmp_path: Path, server: ChatServer) -> None:
    """What goes on from step 1 of question 0 is cut before its answer: 4 of each of its two solutions' completions."""

    def short(call: Call, draw: int) -> "str | Draw":
        text = answer(call, draw)
        if (call.prefill or "").count("part") == 1 and "Question number 0 end" in call.question:
            return Draw(text=text.partition("Therefore")[0], finish="length")
        return text

    server.answer = short
    report = done(*arguments(data, tmp_path / "run", server.url, "--json")).json
    assert (report["counts"]["truncated"], report["counts"]["unanswered"]) == (8, 0)
    assert "8 of 96 completions were cut" in report["notes"][0]
    assert labels(tmp_path / "run")["0#0"] == [False, True, True, True]
    completion = rolled(tmp_path / "run")["0"]["rollouts"][0]["steps"][0]["completions"][0]
    assert (completion["finish"], completion["answer"], completion["right"]) == ("length", None, False)


def test_nothing_works(data: Path, tmp_path: Path, server: ChatServer) -> None:
    server.fault = fails_for(lambda _call: True)
    ended = run(*arguments(data, tmp_path / "run", server.url))
    assert ended.code == 1
    assert "No question has rollouts (3 bad_request)" in ended.err
    assert "the prompt is too odd" in ended.err


def test_a_server_that_ignores_seeds_is_found_out(tmp_path: Path, server: ChatServer) -> None:
    """Case 168: at temperature 1 every completion of a prefix is the same text."""

    def deaf(call: Call, _draw: int) -> str:
        return answer(dataclasses.replace(call, body=call.body | {"seed": 0}), 0)

    many = make_fruit(tmp_path / "data", 6)
    server.answer = deaf
    report = done(*arguments(many, tmp_path / "run", server.url, "--json")).json
    # Three of the four steps of two solutions of six questions; the fourth has nothing after it.
    assert report["sameness"] == {"prefixes": 36, "equal": 36, "copied": 0, "questions": 6, "same_solutions": 6}
    seeds, solutions = report["notes"]
    assert "the completions of 36 of 36 step prefixes" in seeds
    assert "ignore seeds" in seeds
    assert "All solutions of 6 of 6 questions are the same text" in solutions


def test_a_server_that_copies_its_first_draw_is_found_out(tmp_path: Path, server: ChatServer) -> None:
    def lazy(call: Call, _draw: int) -> str:
        return answer(call, 0)

    many = make_fruit(tmp_path / "data", 6)
    server.answer = lazy
    report = done(*arguments(many, tmp_path / "run", server.url, "--json")).json
    assert (report["sameness"]["equal"], report["sameness"]["copied"]) == (0, 36)
    assert "36 of 36 step prefixes with several completions the server gave the same text" in report["notes"][0]


def test_rows_without_a_right_answer(tmp_path: Path, server: ChatServer) -> None:
    folder = make_fruit(tmp_path / "data", QUESTIONS)
    rows = [json.loads(line) for line in (folder / "testmini.jsonl").read_text().splitlines()]
    rows[0]["answer"] = ""
    (folder / "testmini.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = done(*arguments(folder, tmp_path / "run", server.url, "--json")).json
    assert report["failed"] == {"no_gold": 1}
    assert not any("Question number 0 end" in call.question for call in server.calls)
    for row in rows:
        row["answer"] = ""
    (folder / "testmini.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = run(*arguments(folder, tmp_path / "other", server.url))
    assert refused.code == 2
    assert "has no right answers" in refused.err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--out", ""), "--out is empty"),
        (("--completions", "0"), "--completions"),
        (("--labels", "both"), "--labels"),
        (("--temperature", "nan"), "finite"),
        (("--budget-money", "1"), "price"),
        (("--data", "nowhere"), "nowhere"),
        (("--where", "subject=botany"), "subject"),
    ],
)
def test_bad_input(data: Path, tmp_path: Path, server: ChatServer, more: tuple[str, str], says: str) -> None:
    refused = run(*arguments(data, tmp_path / "run", server.url, *more))
    assert refused.code != 0
    assert says in refused.err
    assert server.calls == []


def test_reported_cases_are_those_that_are_meant(reported_cases: Path) -> None:
    rows = {row["id"]: row for row in map(json.loads, reported_cases.read_text(encoding="utf-8").splitlines())}
    assert "k/n; hard and soft" in rows["166"]["right"]
    assert "rollout store with seeds" in rows["167"]["right"]
    assert "duplicate check" in rows["168"]["right"]
