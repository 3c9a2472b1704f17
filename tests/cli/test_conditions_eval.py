"""`assay eval` under several conditions, against a server whose answers depend on seed, wording, order and picture."""

import json
import re
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command import PACKAGED, Done, finish, make_questions, run, start
from support.fruit import FRUIT, boxed, letter_of, make_fruit, number_of, url_of
from support.servers import Answer, Call, ChatServer, error


def arguments(data: Path, out: Path, url: str, *more: str) -> list[str | Path]:
    return [
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json", "--out", out),
        *("--model", "test-model", "--base-url", url, *more),
    ]


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "outcomes-0.jsonl").read_text(encoding="utf-8").splitlines()]


def ask(data: Path, out: Path, answer: Answer, *more: str) -> Done:
    with ChatServer(answer=answer) as server:
        done = run(*arguments(data, out, server.url, *more))
    assert done.code == 0, done.err
    return done


# --------------------------------------------------------------------------------------------------------------------
# Repeats


def test_repeats_by_hand(tmp_path: Path) -> None:
    """Four questions, gold A, three draws each: 3, 1, 2, 0 right. Worked out in tests/mark/test_stability.py."""
    data = make_fruit(tmp_path / "data", 4, gold=lambda _number: 0)
    table = ("AAA", "ABB", "AAC", "BCD")
    seeds: defaultdict[int, list[int]] = defaultdict(list)

    def answer(call: Call, _draw: int) -> str:
        number = number_of(call)
        seeds[number].append(call.seed)
        return boxed(table[number][len(seeds[number]) - 1])

    done = ask(data, tmp_path / "run", answer, "--repeats", "3", "--temperature", "0.7", "--concurrency", "1")
    assert all(len(set(own)) == 3 for own in seeds.values())
    assert len({seed for own in seeds.values() for seed in own}) == 12
    repeats = done.json["stability"]["repeats"]
    assert repeats["spread"]["accuracies"] == [0.75, 0.5, 0.25]
    assert repeats["spread"]["sd"] == pytest.approx(0.25)
    assert repeats["spread"]["flip_rate"] == 0.5
    assert repeats["pass_at"] == pytest.approx([0.5, 2 / 3, 0.75])
    assert repeats["majority"]["correct"] == 2
    # The headline is the plain condition: the first draw of each.
    assert (done.json["samples"], done.json["robust"]["correct"]) == (4, 3)
    assert done.json["official"]["-all"] == "3/4=75.0%"
    assert not any("temperature 0" in note for note in done.json["notes"])
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["conditions"] == ["", "repeat=1", "repeat=2"]


def test_repeats_at_temperature_0_are_drawn_and_explained(tmp_path: Path) -> None:
    done = ask(make_fruit(tmp_path / "data", 2), tmp_path / "run", lambda _call, _draw: boxed("A"), "--repeats", "2")
    assert any("temperature 0" in note for note in done.json["notes"])
    again = run("score", tmp_path / "run", "--json")
    assert any("temperature 0" in note for note in again.json["notes"])


def by_seed(call: Call, _draw: int) -> str:
    return boxed("ABCDE"[call.seed % 5])


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_a_run_killed_in_the_middle_of_its_repeats_is_topped_up(tmp_path: Path, reported_cases: Path) -> None:
    """Case 127: every draw is there in the end, none twice, and only what was in flight is asked again."""
    cases = map(json.loads, reported_cases.read_text(encoding="utf-8").splitlines())
    assert next(case for case in cases if case["id"] == "127")["right"].startswith("top up to 4")
    data = make_fruit(tmp_path / "data", 30)
    more = ("--repeats", "4", "--temperature", "1", "--seed", "5", "--concurrency")
    with ChatServer(answer=by_seed) as server:
        whole = finish(start(*arguments(data, tmp_path / "whole", server.url, *more, "8")))
        assert whole.code == 0, whole.err
        asked = Counter((number_of(call), call.seed) for call in server.calls)
    assert len(asked) == 120
    with ChatServer(answer=by_seed, latency=0.03) as server:
        # Three in flight and four draws a question: the first kill tears some question's draws apart.
        for enough in (19, 50):
            process = start(*arguments(data, tmp_path / "killed", server.url, *more, "3"))
            wait_for(lambda enough=enough: len(server.calls) > enough)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        kept = Counter(line["sample_id"] for line in lines(tmp_path / "killed"))
        assert any(draws < 4 for draws in kept.values())
        last = finish(start(*arguments(data, tmp_path / "killed", server.url, *more, "8")))
        assert last.code == 0, last.err
        calls = Counter((number_of(call), call.seed) for call in server.calls)
    assert calls.keys() == asked.keys()
    assert calls.total() <= 120 + 2 * 3
    found = Counter((line["sample_id"], line.get("condition", "")) for line in lines(tmp_path / "killed"))
    assert len(found) == found.total() == 120
    for key in ("robust", "reference", "counts"):
        assert last.json[key] == whole.json[key]
    for key in ("conditions", "repeats"):
        assert last.json["stability"][key] == whole.json["stability"][key]


def test_a_failed_draw_is_that_draws_failure_and_is_asked_again(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 5)
    count = Counter[int]()

    def third_draw_fails(call: Call) -> Any:
        count[number_of(call)] += 1
        return error(400, "no") if number_of(call) == 3 and count[3] == 2 else None

    more = ("--repeats", "3", "--temperature", "1", "--concurrency", "1")
    with ChatServer(answer=by_seed, fault=third_draw_fails) as server:
        first = run(*arguments(data, tmp_path / "run", server.url, *more))
    failed = [line for line in lines(tmp_path / "run") if line["result"]["type"] == "failure"]
    assert [(line["sample_id"], line["condition"]) for line in failed] == [("3", "repeat=1")]
    assert first.json["counts"]["failed"] == 0  # the plain draw of each is there
    assert first.json["stability"]["repeats"]["spread"]["samples"] == 4
    assert first.json["stability"]["repeats"]["spread"]["left_out"] == 1
    with ChatServer(answer=by_seed) as server:
        second = run(*arguments(data, tmp_path / "run", server.url, *more))
        assert [number_of(call) for call in server.calls] == [3]
    assert second.json["stability"]["repeats"]["spread"]["samples"] == 5


# --------------------------------------------------------------------------------------------------------------------
# Wordings


def test_wordings_by_hand(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 10)
    # Which share of the questions each wording gets right: 5, 10, 0, 5, 10 of 10.
    openings = {
        "Reason step by step": "even",
        "Think it through": "all",
        "Show your steps": "none",
        "First the solution": "even",
        "Develop the solution": "all",
    }

    def answer(call: Call, _draw: int) -> str:
        (share,) = [share for opening, share in openings.items() if opening in call.question]
        number = number_of(call)
        knows = share == "all" or (share == "even" and number % 2 == 0)
        return boxed("ABCDE"[number % 5 if knows else (number + 1) % 5])

    done = ask(data, tmp_path / "run", answer, "--prompts")
    prompts = done.json["stability"]["prompts"]
    assert prompts["conditions"] == ["", "prompt=a", "prompt=b", "prompt=c", "prompt=d"]
    assert prompts["accuracies"] == [0.5, 1.0, 0.0, 0.5, 1.0]
    assert prompts["mean"] == pytest.approx(0.6)
    assert prompts["sd"] == pytest.approx((0.7 / 4) ** 0.5)  # 0.01 + 0.16 + 0.36 + 0.01 + 0.16
    assert (prompts["minimum"], prompts["maximum"]) == (0.0, 1.0)
    assert (prompts["always_right"], prompts["sometimes_right"], prompts["never_right"]) == (0, 10, 0)
    assert done.json["robust"]["accuracy"] == 0.5


def test_a_run_with_wordings_is_another_run(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 2)
    ask(data, tmp_path / "run", lambda _call, _draw: boxed("A"))
    with ChatServer() as server:
        refused = run(*arguments(data, tmp_path / "run", server.url, "--prompts"))
        assert refused.code == 1
        assert "conditions was" in refused.err
        assert server.calls == []


# --------------------------------------------------------------------------------------------------------------------
# Orders of the options


def test_who_knows_the_fruit_knows_it_in_any_order(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 12)
    done = ask(
        data,
        tmp_path / "run",
        lambda call, _draw: boxed(letter_of(call, FRUIT[number_of(call) % 5])),
        *("--shuffle-options", "5"),
    )
    stability = done.json["stability"]
    assert stability["shuffles"]["accuracies"] == [1.0] * 6
    assert stability["shuffles"]["consistency"] == 1.0  # answers are in the data's labels
    for line in lines(tmp_path / "run"):
        assert line["result"]["robust"]["extraction"] == "ABCDE"[int(line["sample_id"]) % 5]
    positions = stability["positions"]
    # Over five orders each option stands once in each place.
    assert [place["answers"] for place in positions["places"]] == [12] * 5
    assert [place["gold"]["n"] for place in positions["places"]] == [12] * 5
    assert positions["p"] == 1.0


def test_who_takes_the_first_option_is_found_out(tmp_path: Path) -> None:
    """Gold is A in every row: plain accuracy 1, and chance in other orders."""
    data = make_fruit(tmp_path / "data", 12, gold=lambda _number: 0)
    done = ask(data, tmp_path / "run", lambda _call, _draw: boxed("A"), "--shuffle-options", "5")
    stability = done.json["stability"]
    assert done.json["robust"]["accuracy"] == 1.0
    shuffles = stability["shuffles"]
    assert shuffles["accuracies"][0] == 1.0
    assert sum(shuffles["accuracies"][1:]) == pytest.approx(1.0)  # each question once in five orders
    first, *others = stability["positions"]["places"]
    assert (first["gold"]["accuracy"], first["answers"], first["expected"]) == (1.0, 60, pytest.approx(12.0))
    assert all((place["gold"]["accuracy"], place["answers"]) == (0.0, 0) for place in others)
    # Every group has the same surplus d = (4, -1, -1, -1, -1): (12 d)' (12 d d')^-1 (12 d) = 12; erfc(sqrt(6)).
    assert stability["positions"]["statistic"] == pytest.approx(12.0)
    assert stability["positions"]["p"] == pytest.approx(0.000532, abs=1e-6)


def test_options_in_the_picture_stay_where_they_are(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 6)
    with ChatServer(answer=lambda _call, _draw: boxed("A")) as server:
        done = run(*arguments(data, tmp_path / "run", server.url, "--shuffle-options", "2"))
        assert len(server.calls) == 6
    assert done.code == 0, done.err
    assert list(done.json["stability"]["conditions"]) == [""]
    assert done.json["stability"]["shuffles"] is None
    assert any(
        "6 of 6 samples are not asked with their options in another order" in note for note in done.json["notes"]
    )


def test_questions_that_stay_in_order_are_counted(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 6)
    rows = [json.loads(line) for line in (data / "testmini.jsonl").read_text().splitlines()]
    rows[1]["options"][4] = "none of the above"
    rows[2]["options"] = []
    rows[2]["answer"] = "7"
    (data / "testmini.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ask(data, tmp_path / "run", lambda _call, _draw: boxed("A"), "--shuffle-options", "1")
    assert Counter(line["sample_id"] for line in lines(tmp_path / "run")) == {
        "0": 2,
        "3": 2,
        "4": 2,
        "5": 2,
        "1": 1,
        "2": 1,
    }
    notes = "\n".join(done.json["notes"])
    assert "1 of 6 samples are not asked with their options in another order: options are spoken of by label" in notes
    assert "1 of 6 samples are not asked with their options in another order: no choice question" in notes
    assert done.json["stability"]["shuffles"]["samples"] == 4


# --------------------------------------------------------------------------------------------------------------------
# Pictures


def test_what_the_score_owes_to_the_pictures(tmp_path: Path) -> None:
    """Questions 0 and 1, 2 and 3, ... hold equal pictures in two files, so neither is the other's other one."""
    data = make_fruit(tmp_path / "data", 12, picture=lambda number: number // 2)
    own = {number: url_of(data, number) for number in range(12)}
    seen: defaultdict[int, list[str | None]] = defaultdict(list)
    words: set[str] = set()

    def answer(call: Call, _draw: int) -> str:
        number = number_of(call)
        picture = call.pictures[0] if call.pictures else None
        seen[number].append(picture)
        words.add(call.question.replace(f"number {number} end", ""))
        knows = number % 3 != 0 if picture == own[number] else picture is None and number in (1, 7)
        return boxed("ABCDE"[number % 5 if knows else (number + 1) % 5])

    done = ask(data, tmp_path / "run", answer, "--no-image", "--other-image")
    for number, pictures in seen.items():
        assert len(pictures) == 3
        assert pictures.count(own[number]) == 1
        assert pictures.count(None) == 1
        (other,) = set(pictures) - {own[number], None}
        assert other in own.values()
    assert len(words) == 1  # nothing is said about what is missing
    # Own: 8 of 12 right. Without: 1 and 7, both right with the picture too. With another: none.
    pictures = done.json["stability"]["pictures"]
    assert pictures["none"]["difference"] == pytest.approx(6 / 12)
    assert (pictures["none"]["gained"], pictures["none"]["lost"]) == (6, 0)
    assert pictures["none"]["p"] == pytest.approx(2 / 2**6)
    assert pictures["other"]["difference"] == pytest.approx(8 / 12)
    assert pictures["none"]["low"] <= 0.5 <= pictures["none"]["high"]
    assert done.json["robust"]["accuracy"] == pytest.approx(8 / 12)


def test_the_other_picture_is_the_same_on_every_start(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 9)
    shown: list[dict[int, list[str]]] = []
    for start_number, concurrency in enumerate(("1", "16")):
        seen: defaultdict[int, list[str]] = defaultdict(list)

        def answer(call: Call, _draw: int, seen: defaultdict[int, list[str]] = seen) -> str:
            seen[number_of(call)] += call.pictures
            return boxed("A")

        more = ("--other-image", "--seed", "3", "--concurrency", concurrency)
        ask(data, tmp_path / f"run{start_number}", answer, *more)
        shown.append({number: sorted(pictures) for number, pictures in seen.items()})
    assert shown[0] == shown[1]


def test_no_other_picture_is_a_failure_of_that_condition(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 3, picture=lambda _number: 0)
    done = ask(data, tmp_path / "run", lambda _call, _draw: boxed("A"), "--other-image")
    failed = [line for line in lines(tmp_path / "run") if line["result"]["type"] == "failure"]
    assert {(line["condition"], line["result"]["stage"], line["result"]["kind"]) for line in failed} == {
        ("picture=other", "image", "no_other")
    }
    assert len(failed) == 3
    assert done.json["counts"]["failed"] == 0
    assert done.json["stability"]["pictures"]["other"]["difference"] is None


# --------------------------------------------------------------------------------------------------------------------
# The run afterwards


def test_marked_again_and_printed_the_run_says_the_same(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 8)
    out = tmp_path / "run"
    more = ("--repeats", "2", "--prompts", "--shuffle-options", "3", "--no-image", "--other-image")
    done = ask(data, out, by_seed, *more)
    assert Counter(line["sample_id"] for line in lines(out)) == {str(number): 2 + 4 + 3 + 2 for number in range(8)}
    before = (out / "outcomes-0.jsonl").read_bytes()
    again = run("score", out, "--json")
    assert again.code == 0, again.err
    assert again.json["stability"] == done.json["stability"]
    saved = run("score", out, "--save", "--json")
    assert saved.json["stability"] == done.json["stability"]
    fresh = (out / "outcomes-0.jsonl").read_bytes().removeprefix(before).splitlines()
    assert sorted(fresh) == sorted(before.splitlines())
    printed = run("score", out)
    for title in ("Conditions: 11", "Repeats: 2", "Wordings of the prompt: 5", "Orders of the options: 4"):
        assert title in printed.out
    assert "Places of the options, over 24 draws" in printed.out
    assert "What the score owes to the pictures" in printed.out
    assert "pass@1" in printed.out
    with ChatServer(answer=by_seed) as server:
        assert run(*arguments(data, out, server.url, *more)).json["stability"] == done.json["stability"]
        assert server.calls == []


def test_a_replay_answers_every_condition_from_the_run(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 6)
    more = ("--repeats", "2", "--temperature", "1", "--prompts", "--shuffle-options", "1", "--no-image")
    done = ask(data, tmp_path / "run", by_seed, *more)
    replayed = run(
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--json", "--out", tmp_path / "again"),
        *("--model", f"replay:{tmp_path / 'run'}", *more),
    )
    assert replayed.code == 0, replayed.err
    for key in ("conditions", "repeats", "prompts", "shuffles", "pictures"):
        assert replayed.json["stability"][key] == done.json["stability"][key]


def test_runs_are_compared_under_the_conditions_that_both_have(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 6)
    ask(data, tmp_path / "a", lambda _call, _draw: boxed("A"), "--repeats", "3", "--no-image")
    ask(data, tmp_path / "b", lambda call, _draw: boxed("ABCDE"[number_of(call) % 5]), "--repeats", "2", "--no-image")
    ask(data, tmp_path / "c", lambda call, _draw: boxed("ABCDE"[number_of(call) % 5]))
    both = run("compare", tmp_path / "a", tmp_path / "b", "--json").json
    # A is right for 0 and 5; two draws of six questions each, in six groups.
    assert (both["pairs"], both["groups"]) == (12, 6)
    assert both["difference"] == pytest.approx(8 / 12)
    assert both["p_method"] != "McNemar, exact"
    assert any("plain, repeat=1" in note for note in both["notes"])
    plain = run("compare", tmp_path / "a", tmp_path / "c", "--json").json
    assert (plain["pairs"], plain["groups"]) == (6, 6)
    assert plain["difference"] == pytest.approx(4 / 6)


def test_runs_from_before_there_were_conditions_are_read_and_continued(tmp_path: Path) -> None:
    data = make_fruit(tmp_path / "data", 4)
    out = tmp_path / "run"
    done = ask(data, out, lambda _call, _draw: boxed("A"))
    old = lines(out)
    for line in old:
        del line["condition"]
    (out / "outcomes-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))
    manifest = json.loads((out / "manifest.json").read_text())
    del manifest["conditions"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert run("score", out, "--json").json["robust"] == done.json["robust"]
    with ChatServer() as server:
        resumed = run(*arguments(data, out, server.url))
        assert server.calls == []
    assert resumed.json["robust"] == done.json["robust"]
    assert "stability" not in resumed.json


def test_the_packaged_questions_can_be_asked_under_every_condition(tmp_path: Path) -> None:
    more = ("--limit", "12", "--repeats", "2", "--prompts", "--shuffle-options", "2", "--no-image", "--other-image")
    with ChatServer(answer=lambda _call, _draw: boxed("A")) as server:
        done = run(*arguments(PACKAGED / "mathvision", tmp_path / "run", server.url, *more))
        assert done.code == 0, done.err
        texts = [call.question for call in server.calls]
    assert done.json["stability"]["samples"] == 12
    assert not [text for text in texts if re.search(r"\{[a-z_]+\}", text)]
