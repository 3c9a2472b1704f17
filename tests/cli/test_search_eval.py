"""`assay eval --search` and `assay select` against a server: `support.search_world` says what every strategy gives."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import search_world
from support.command import Done, finish, run, start
from support.fruit import make_fruit
from support.search_world import QUESTIONS, answer
from support.servers import Call, ChatServer


def arguments(data: Path, out: Path, url: str, *more: str) -> list[str | Path]:
    return [
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json", "--out", out),
        *("--model", "test-model", "--base-url", url, *more),
    ]


def critic(url: str) -> tuple[str, str]:
    return "--critic", f"openai:test-model@{url}"


NOBODY = "openai:m@http://127.0.0.1:1/v1"
REFINED = ("--search", "refined-bon", "--n", "4", "--continuation", "prompt")


def pools(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "pools-0.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_fruit(tmp_path_factory.mktemp("search") / "data", QUESTIONS)


class Ran:
    """A run, what it printed, and the calls that the server saw."""

    def __init__(self, out: Path, done: Done, calls: list[Call]) -> None:
        self.out = out
        self.done = done
        self.calls = calls


@pytest.fixture(scope="module")
def refined(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    out = tmp_path_factory.mktemp("refined") / "run"
    with ChatServer(answer=answer, logprobs=False) as server:
        done = run(*arguments(data, out, server.url, *REFINED, *critic(server.url), "--n", "1,2,4"))
        assert done.code == 0, done.err
        return Ran(out, done, list(server.calls))


def test_every_strategy_from_one_pool(refined: Ran) -> None:
    strategies = refined.done.json["controls"]["strategies"]
    right = {way: (row["robust"]["correct"], row["robust"]["n"]) for way, row in strategies.items()}
    assert right == {
        "greedy": (1, 6),
        "self-consistency": (1, 6),
        "best-of-n": (4, 6),
        # A clean solution weighs 1, one with a flagged step of three 2/3. Question 0: 1 against 6/3, so wrong; 1: 5/3
        # against 4/3, right; 3: as 0; 4: right.
        "weighted-vote": (2, 6),
        "refined-bon": (4, 6),
        "pass": (4, 6),
        "pass-refined": (5, 6),
    }
    # The headline is the chosen strategy's.
    assert refined.done.json["robust"]["correct"] == 4


def test_what_refinement_and_critic_did(refined: Ran) -> None:
    """Refined: one of question 0, both of 1, one of 2, both of 3 and 5: 8, of them one from a right parent."""
    refinement = refined.done.json["controls"]["refinement"]
    assert (refinement["refined"], refinement["resampled"]) == (8, 4)
    assert (refinement["right_before"], refinement["harmed"]) == (1, 0)
    assert (refinement["wrong_before"], refinement["helped"]) == (7, 5)
    found = refined.done.json["controls"]["critic"]
    # Clean and right: 0, 2 (question 1), 3, and four of question 4; clean and wrong: one of question 2.
    assert (found["clean_right"], found["clean_wrong"]) == (7, 1)
    assert found["precision"] == pytest.approx(7 / 8)
    assert found["recall"] == pytest.approx(7 / 8)  # a flagged right one in question 1
    assert found["first_error"] == {"2": 16}


def test_the_curve(refined: Ran) -> None:
    """Right of four: 1, 2, 0, 1, 4, 0. pass@1: 8 / 24; pass@2: (1/2 + 5/6 + 1/2 + 1) / 6."""
    curves = refined.done.json["controls"]["curves"]
    assert curves["pass"]["accuracy"] == pytest.approx({"1": 1 / 3, "2": (1 / 2 + 5 / 6 + 1 / 2 + 1) / 6, "4": 4 / 6})
    assert set(curves["refined-bon"]["accuracy"]) == {"2", "4"}


def test_calls_and_bills(refined: Ran) -> None:
    """A question: one call for four draws, one greedy, two for the second half, six critiques."""
    assert len(refined.calls) == QUESTIONS * 10
    rows = refined.done.json["controls"]["strategies"]
    assert (rows["refined-bon"]["policy_calls"], rows["refined-bon"]["critic_calls"]) == (18, 24)
    assert (rows["self-consistency"]["policy_calls"], rows["self-consistency"]["critic_calls"]) == (6, 0)
    outcomes = [json.loads(line) for line in (refined.out / "outcomes-0.jsonl").read_text().splitlines()]
    assert {outcome["attempts"] for outcome in outcomes} == {10}
    used = sum(outcome["usage"]["prompt_tokens"] for outcome in outcomes)
    assert used == refined.done.json["usage"]["prompt_tokens"]


def test_no_gold_in_what_is_asked(data: Path, tmp_path: Path) -> None:
    """Two data sets that differ in their right answers alone are asked the same, word by word."""
    other = make_fruit(tmp_path / "other", QUESTIONS, gold=lambda number: (number + 2) % 5)
    bodies: list[list[str]] = []
    for folder in (data, other):
        with ChatServer(answer=answer, logprobs=False) as server:
            done = run(*arguments(folder, tmp_path / f"run{len(bodies)}", server.url, *REFINED, *critic(server.url)))
            assert done.code == 0, done.err
            bodies.append(sorted(json.dumps(call.body, sort_keys=True) for call in server.calls))
    assert bodies[0] == bodies[1]


def test_the_whole_pool_is_kept(refined: Ran) -> None:
    """Case 167: rollouts that a score was computed from can be had, with what each of them continues."""
    records = {record["sample_id"]: record for record in pools(refined.out)}
    assert set(records) == {str(number) for number in range(QUESTIONS)}
    first = records["0"]
    assert first["members"] == {"greedy": [6], "plain": [0, 1, 2, 3], "refined": [0, 1, 4, 5]}
    assert len(first["pool"]) == len(first["marks"]) == 7
    origins = [one["solution"]["origin"]["type"] for one in first["pool"]]
    assert origins == ["sampled"] * 4 + ["resampled", "refined", "sampled"]
    kept = first["pool"][5]["solution"]
    assert (kept["origin"]["parent"], kept["origin"]["kept"]) == (1, 2)
    assert "it is sharp after all" in kept["steps"][1]
    assert {mark["robust"]["verdict"] for mark in first["marks"]} == {"right", "wrong"}


def test_the_manifest_names_search_and_critic(refined: Ran) -> None:
    manifest = json.loads((refined.out / "manifest.json").read_text())
    search = json.loads(manifest["search"])
    assert (search["strategy"], search["n"], search["rule"], search["controls"]) == ("refined-bon", 4, "mean", True)
    assert search["critic"].startswith("generative:openai:test-model prompt=")
    assert manifest["sampling"]["temperature"] == 0.7


def test_the_same_command_asks_nothing_again(data: Path, refined: Ran) -> None:
    with ChatServer(answer=answer, logprobs=False) as server:
        more = (*REFINED, *critic(server.url), "--n", "1,2,4")
        again = run(*arguments(data, refined.out, server.url, *more))
        assert again.code == 0, again.err
        assert server.calls == []
    assert again.json["controls"] == refined.done.json["controls"]


def test_another_search_is_another_run(data: Path, refined: Ran) -> None:
    with ChatServer(answer=answer, logprobs=False) as server:
        done = run(*arguments(data, refined.out, server.url, *REFINED, *critic(server.url), "--rule", "min"))
    assert done.code == 1
    assert "search" in done.err


def test_tables(data: Path, refined: Ran) -> None:
    shown = run("score", refined.out, "--data", data)
    assert shown.code == 0, shown.err
    for words in (
        "Refined-BoN@4",
        "self-consistency@4",
        "ceiling: pass@4",
        "at equal tokens",
        "Right made wrong: 0 of 1",
    ):
        assert words in shown.out


def test_marking_again_marks_the_pools(data: Path, refined: Ran) -> None:
    again = run("score", refined.out, "--data", data, "--json")
    assert again.code == 0, again.err
    assert again.json["robust"] == refined.done.json["robust"]
    assert again.json["controls"]["strategies"] == refined.done.json["controls"]["strategies"]


# --------------------------------------------------------------------------------------------------------------------
# Selecting again


@pytest.mark.parametrize(
    ("strategy", "right"),
    [("greedy", 1), ("self-consistency", 1), ("best-of-n", 4), ("weighted-vote", 2), ("refined-bon", 4)],
)
def test_select_with_another_strategy(data: Path, refined: Ran, strategy: str, right: int) -> None:
    done = run("select", refined.out, "--strategy", strategy, "--data", data, "--json")
    assert done.code == 0, done.err
    assert done.json["robust"]["correct"] == right
    assert done.json["samples"] == QUESTIONS


def test_a_selection_is_a_run_of_its_own(data: Path, refined: Ran, tmp_path: Path) -> None:
    out = tmp_path / "voted"
    assert run("select", refined.out, "--strategy", "self-consistency", "--out", out, "--data", data).code == 0
    scored = run("score", out, "--data", data, "--json")
    assert scored.code == 0, scored.err
    assert scored.json["robust"]["correct"] == 1
    assert scored.json["controls"]["strategies"]["refined-bon"]["robust"]["correct"] == 4
    compared = run("compare", out, refined.out, "--json")
    assert compared.code == 0, compared.err
    again = run("select", out, "--strategy", "refined-bon", "--rule", "min", "--data", data, "--json")
    assert again.code == 0, again.err
    assert again.json["robust"]["correct"] == 4
    # The run that it was selected from stays as it is.
    assert run("score", refined.out, "--data", data, "--json").json["robust"]["correct"] == 4


def test_not_answering_where_the_score_is_low(data: Path, refined: Ran) -> None:
    """Best of 4: clean with a score of 1 in all but question 5, where 2/3 is the best there is. Right: 0, 1, 3, 4."""
    more = ("--strategy", "best-of-n", "--abstain-below", "0.9", "--data", data)
    found = run("select", refined.out, *more, "--json").json["abstention"]
    assert (found["samples"], found["unjudged"]) == (6, 0)
    assert (found["below"]["answered"], found["below"]["right"]) == (5, 4)
    assert found["below"]["coverage"] == pytest.approx(5 / 6)
    # One of five wrong, in any order: 1/5 in each of the first five places; then 2 of 6.
    assert found["area"] == pytest.approx((5 * (1 / 5) + 2 / 6) / 6)
    shown = run("select", refined.out, *more)
    assert "asked: 0.9" in shown.out
    assert "coverage" in shown.out


def test_what_the_pools_do_not_hold_is_said(data: Path, tmp_path: Path) -> None:
    with ChatServer(answer=answer, logprobs=False) as server:
        done = run(*arguments(data, tmp_path / "run", server.url, "--search", "self-consistency", "--n", "4"))
    assert done.code == 0, done.err
    assert set(done.json["controls"]["strategies"]) == {"greedy", "self-consistency", "pass"}
    refused = run("select", tmp_path / "run", "--strategy", "best-of-n", "--data", data)
    assert refused.code == 2
    assert "greedy, self-consistency" in refused.err
    plain = tmp_path / "plain"
    with ChatServer(answer=answer) as server:
        assert run(*arguments(data, plain, server.url)).code == 0
    assert not (plain / "pools-0.jsonl").exists()
    assert json.loads((plain / "manifest.json").read_text())["search"] == "greedy"
    refused = run("select", plain, "--data", data)
    assert (refused.code, "without a search" in refused.err) == (2, True)


# --------------------------------------------------------------------------------------------------------------------
# Other servers and settings


def test_two_servers(data: Path, tmp_path: Path) -> None:
    with (
        ChatServer(answer=answer, logprobs=False) as policy,
        ChatServer(answer=answer, logprobs=False, models=("a-critic",)) as judge,
    ):
        named = ("--critic", f"openai:a-critic@{judge.url}")
        done = run(*arguments(data, tmp_path / "run", policy.url, *REFINED, *named))
        assert done.code == 0, done.err
        assert len(policy.calls) == QUESTIONS * 4
        assert len(judge.calls) == QUESTIONS * 6
    assert done.json["controls"]["strategies"]["refined-bon"]["robust"]["correct"] == 4


def test_a_server_that_is_prefilled(data: Path, tmp_path: Path) -> None:
    with ChatServer(answer=answer, logprobs=False, prefill="continue") as server:
        more = ("--search", "refined-bon", "--n", "4", "--prefill", "continue", *critic(server.url))
        done = run(*arguments(data, tmp_path / "run", server.url, *more))
        assert done.code == 0, done.err
        assert any(call.prefill for call in server.calls)
    assert done.json["controls"]["strategies"]["refined-bon"]["robust"]["correct"] == 4


def test_only_the_strategy_s_own_pool(data: Path, tmp_path: Path) -> None:
    """Two draws, both refined or drawn again, no greedy one. Best of the first two: 0, 1 (level, 0 first: W), 4."""
    with ChatServer(answer=answer, logprobs=False) as server:
        done = run(*arguments(data, tmp_path / "run", server.url, *REFINED, *critic(server.url), "--no-controls"))
        assert len(server.calls) == QUESTIONS * 7
    found = done.json["controls"]
    assert "greedy" not in found["strategies"]
    assert found["strategies"]["refined-bon"]["n"] == 4
    assert found["strategies"]["best-of-n"]["n"] == 2
    assert any("greedy" in note for note in found["notes"])


def test_unparsable_critiques_are_counted(data: Path, tmp_path: Path) -> None:
    def babble(call: Call, draw: int) -> str:
        return "fine, I think" if "Check a worked solution" in call.question else answer(call, draw)

    with ChatServer(answer=babble, logprobs=False) as server:
        done = run(*arguments(data, tmp_path / "run", server.url, *REFINED, *critic(server.url)))
    assert done.code == 0, done.err
    found = done.json["controls"]["critic"]
    assert (found["judged"], found["unjudged"]) == (0, {"unparsable": QUESTIONS * 4})
    assert done.json["controls"]["refinement"]["refined"] == 0


def test_failed_critiques_leave_the_solutions_unjudged(data: Path, tmp_path: Path) -> None:
    from support.servers import error

    def fault(call: Call) -> Any:
        return error(400, "no") if "Check a worked solution" in call.question else None

    with ChatServer(answer=answer, fault=fault, logprobs=False) as server:
        more = ("--search", "best-of-n", "--n", "4", *critic(server.url))
        done = run(*arguments(data, tmp_path / "run", server.url, *more))
    assert done.code == 0, done.err
    assert done.json["counts"]["failed"] == 0
    assert done.json["controls"]["critic"]["unjudged"] == {"failed": QUESTIONS * 4}


def test_own_data(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(number),
            "question": f"Question number {number} end: which letter?",
            "options": ["apple", "pear", "plum", "fig", "kiwi"],
            "answer": "ABCDE"[number % 5],
        }
        for number in range(QUESTIONS)
    ]
    table = tmp_path / "own.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with ChatServer(answer=answer, logprobs=False) as server:
        done = run(
            *("eval", table, "--no-probe", "--json", "--out", tmp_path / "run", "--model", "test-model"),
            *("--base-url", server.url, *REFINED, *critic(server.url)),
        )
    assert done.code == 0, done.err
    assert done.json["controls"]["strategies"]["refined-bon"]["robust"]["correct"] == 4


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--search", "refined-bon"), "needs a critic"),
        (("--search", "self-consistency", "--critic", NOBODY), "asks no critic"),
        (("--critic", NOBODY), "choose one with --search"),
        (("--n", "8"), "choose one with --search"),
        (("--critic-samples", "3"), "name one with --critic"),
        (("--search", "self-consistency", "--n", "0"), "--n 0"),
        (("--search", "self-consistency", "--n", "1,x"), "--n 1,x"),
        (("--search", "self-consistency", "--n", "²"), "--n ²"),
        (("--search", "self-consistency", "--rounds", "2"), "refined-bon alone"),
        (("--search", "best-of-n", "--critic", "nobody"), "not a critic's address"),
        (
            ("--search", "best-of-n", "--critic", f"outcome:{NOBODY}", "--critic-samples", "2"),
            "samples",
        ),
        (("--search", "self-consistency", "--repeats", "2"), "plain condition"),
        (("--critic-prompt", "x.txt"), "name one with --critic"),
        (("--search", "best-of-n", "--critic", f"outcome:{NOBODY}", "--critic-prompt", "gone.txt"), "gone.txt"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    data: Path, tmp_path: Path, more: tuple[str, ...], words: str
) -> None:
    done = run(*arguments(data, tmp_path / "run", "http://127.0.0.1:1/v1", *more))
    assert done.code == 2, done.err
    assert words in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_the_world_is_what_it_says() -> None:
    assert all(search_world.FLAGGED[number] <= {0, 1, 2, 3} for number in range(QUESTIONS))


# --------------------------------------------------------------------------------------------------------------------
# Interrupted


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on_where_it_stopped(data: Path, tmp_path: Path, refined: Ran) -> None:
    """Three kills in the middle; each may cost the calls in flight, of which there are at most three."""
    with ChatServer(answer=answer, logprobs=False, latency=0.03) as server:
        more = (*REFINED, *critic(server.url), "--n", "1,2,4", "--concurrency", "3")
        for enough in (12, 30, 45):
            process = start(*arguments(data, tmp_path / "run", server.url, *more))
            wait_for(lambda enough=enough: len(server.calls) > enough)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        with (tmp_path / "run" / "pools-0.jsonl").open("ab") as file:
            file.write(b'{"sample_id":"torn')
        last = finish(start(*arguments(data, tmp_path / "run", server.url, *more)))
        assert last.code == 0, last.err
        assert len(server.calls) <= len(refined.calls) + 3 * 3
    assert last.json["robust"] == refined.done.json["robust"]
    assert last.json["controls"]["strategies"] == refined.done.json["controls"]["strategies"]
    assert {record["sample_id"] for record in pools(tmp_path / "run")} == {str(number) for number in range(QUESTIONS)}


def test_the_page_s_commands_run_as_written(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).resolve().parents[2] / "docs" / "search.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if line.startswith("assay ")]
    assert len(commands) == 6
    for number, command in enumerate(commands):
        with ChatServer(answer=answer, logprobs=False) as server:
            words = (
                command.replace("DATA", str(data)).replace("NAME", "test-model").replace("URL", server.url).split()[1:]
            )
            if words[0] == "eval":
                words += ["--split", "testmini", "--no-probe"]
                words += [] if "--out" in words else ["--out", str(tmp_path / f"run-{number}")]
            done = run(*words)
            assert done.code == 0, (command, done.err)
            assert (server.calls == []) == (words[0] != "eval")
    assert (tmp_path / "runs" / "voted" / "manifest.json").exists()


def test_every_reply_is_recorded_where_that_is_asked_for(data: Path, tmp_path: Path) -> None:
    """Solutions and critiques of one model: six questions of 4 + 1 + 2 solutions and 6 critiques."""
    with ChatServer(answer=answer, logprobs=False) as server:
        more = (*REFINED, *critic(server.url), "--record", str(tmp_path / "all.jsonl"))
        done = run(*arguments(data, tmp_path / "run", server.url, *more))
    assert done.code == 0, done.err
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == QUESTIONS * 13
