"""`assay eval --judge-options` and `assay select --abstain-below` on rows in FinMME's form, against a server.

Six questions, two draws each that say the same. The critic finds no error but in 5; of options it finds D in 1 and A in
3 wrong, and what it says of those in 4 is not in the form. So at .9:

        answer   gold   alone     whole answers   single options
    1   A,C,D    A,C    wrong     wrong           A,C: right
    2   A,B      A,B    right     right           right
    3   A        B,D    wrong     wrong           none left
    4   A,B,C    A,B,C  right     right           right (as a whole)
    5   B        A      wrong     not answered    not answered
    6   5        5      right     right           right
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.command import PACKAGED, Done, run
from support.servers import Call, ChatServer

ANSWERS = {1: "A,C,D", 2: "A,B", 3: "A", 4: "A,B,C", 5: "B", 6: "5"}
GOLD = {1: "AC", 2: "AB", 3: "BD", 4: "ABC", 5: "A", 6: "5"}
WRONG = {(1, "D"), (3, "A")}
DOMAINS = {1: "Tech", 2: "Tech", 3: "Bank", 4: "Bank", 5: "Bank", 6: "Bank"}
KINDS = {5: "single_choice", 6: "numerical"}


def number_of(call: Call) -> int:
    found = re.search(r"Question number (\d)", call.question)
    assert found, call.question
    return int(found[1])


def asks_for_options(call: Call) -> bool:
    return "one option at a time" in call.question


def answer(call: Call, draw: int) -> str:
    number = number_of(call)
    if asks_for_options(call):
        return of_options(call, number)
    if "Check a worked solution" not in call.question:
        return f"Step 1: I look.\n\nStep 2: I see.\n\nAnswer: {ANSWERS[number]}"
    judgements = ["Correct", "Incorrect" if number == 5 else "Correct", "Correct"]
    lines = [f"Step {step}\nIntent: go on\nJudgement: {word}" for step, word in enumerate(judgements, start=1)]
    return "\n".join([*lines, "End of critique"])


def of_options(call: Call, number: int) -> str:
    shown = re.search(r"<solution>\n(.*)\n</solution>", call.question, re.DOTALL)
    assert shown, call.question
    labels = re.findall(r"^([A-D]): statement \1$", shown[1], re.MULTILINE)
    assert labels == ANSWERS[number].split(",")
    if number == 4:
        return "All of them hold."
    words = {label: "Incorrect" if (number, label) in WRONG else "Correct" for label in labels}
    return "\n".join([*(f"Option {label}: seen | {word}" for label, word in words.items()), "End of critique"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finmme")
    shutil.copy(PACKAGED / "finmme" / "images" / "ex2.png", folder / "chart.png")
    rows: list[dict[str, Any]] = []
    for number, gold in GOLD.items():
        kind = KINDS.get(number, "multiple_choice")
        rows.append(
            {
                "id": str(number),
                "image": "chart.png",
                "question_type": kind,
                "question_text": f"Question number {number}: which hold?",
                "options": None if kind == "numerical" else {label: f"statement {label}" for label in "ABCD"},
                "answer": gold,
                "unit": None,
                "tolerance": 0.01 if kind == "numerical" else None,
                "knowledge_domain": DOMAINS[number],
            }
        )
    table = folder / "rows.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return table


def ask(data: Path, out: Path, server: ChatServer, *more: str) -> Done:
    done = run(
        *("eval", "finmme", "--data", data, "--no-probe", "--json", "--out", out, "--model", "test-model"),
        *("--base-url", server.url, "--search", "best-of-n", "--n", "2", "--critic", f"openai:test-model@{server.url}"),
        *more,
    )
    assert done.code == 0, done.err
    return done


class Ran(NamedTuple):
    out: Path
    done: Done
    calls: list[Call]


@pytest.fixture(scope="module")
def judged(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    out = tmp_path_factory.mktemp("judged") / "run"
    with ChatServer(answer=answer, logprobs=False) as server:
        done = ask(data, out, server, "--judge-options")
        return Ran(out, done, list(server.calls))


def pools(out: Path) -> dict[str, dict[str, Any]]:
    lines = (out / "pools-0.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["sample_id"]: record for record in map(json.loads, lines)}


def test_every_selected_option_is_judged_in_one_call(judged: Ran) -> None:
    asked = [call for call in judged.calls if asks_for_options(call)]
    assert sorted(map(number_of, asked)) == [1, 2, 3, 4]
    assert all(len(call.pictures) == 1 for call in asked)
    records = pools(judged.out)
    assert records["1"]["options"]["labels"] == ["A", "C", "D"]
    assert [one["score"] for one in records["1"]["options"]["said"]["options"]] == [1.0, 1.0, 0.0]
    assert records["4"]["options"]["said"]["kind"] == "unparsable"
    assert records["5"]["options"] is records["6"]["options"] is None
    outcomes = [json.loads(line) for line in (judged.out / "outcomes-0.jsonl").read_text().splitlines()]
    attempts = {outcome["sample_id"]: outcome["attempts"] for outcome in outcomes}
    assert {attempts[name] - attempts["6"] for name in "1234"} == {1}  # its call is the sample's own
    assert attempts["5"] == attempts["6"]


def test_the_headline_is_not_touched(judged: Ran) -> None:
    assert (judged.done.json["robust"]["correct"], judged.done.json["samples"]) == (3, 6)
    search = json.loads(json.loads((judged.out / "manifest.json").read_text())["search"])
    assert search["judge_options"] is True
    assert len(search["options_prompt"]) == 64


def test_finscore_against_coverage_with_and_without_dropping(data: Path, judged: Ran) -> None:
    """FinScore = mean of the domains times (1 - wrong lists / lists); lists are 1 to 4.

    All answered: Tech 1/2, Bank 2/4, lists 2 of 4 wrong: 1/2 * 1/2 = 1/4.
    Whole answers at .9, without 5: Tech 1/2, Bank 2/3, lists 2 of 4 wrong: (1/2 + 2/3) / 2 * 1/2 = 7/24.
    Single options at .9: 1, 2, 4 and 6, all right: 1.
    """
    found = run("select", judged.out, "--abstain-below", "0.9", "--data", data, "--json").json["abstention"]["dropping"]
    assert (found["judged"], found["unjudged"]) == (3, {"unparsable": 1})
    below = found["below"]
    assert (below["whole"]["answered"], below["whole"]["coverage"]) == (5, pytest.approx(5 / 6))
    assert below["whole"]["score_reference"] == pytest.approx(7 / 24)
    assert (below["options"]["answered"], below["options"]["coverage"]) == (4, pytest.approx(4 / 6))
    assert below["options"]["score_reference"] == below["options"]["score"] == 1.0
    assert (below["dropped"], below["emptied"], below["mended"], below["broken"]) == (1, 1, 1, 0)
    # Scores are 0 and 1 of options, 2/3 and 1 of solutions.
    curve = {point["options"]["threshold"]: point for point in found["curve"]}
    assert list(curve) == [0.0, pytest.approx(2 / 3), 1.0]
    assert curve[0.0]["options"] == curve[0.0]["whole"]
    assert curve[0.0]["whole"]["score_reference"] == pytest.approx(1 / 4)
    # At 2/3 number 5 is answered, and wrong: Tech 2/2, Bank 2/3, no list wrong.
    middle = found["curve"][1]["options"]
    assert middle["score_reference"] == pytest.approx((1 + 2 / 3) / 2)


def test_tables(data: Path, judged: Ran) -> None:
    shown = run("select", judged.out, "--abstain-below", "0.9", "--data", data)
    assert shown.code == 0, shown.err
    for words in (
        "Leaving out single options, in 3 answers",
        "FinScore (reference)",
        "unparsable 1",
        "whole: cover %",
        "mended",
    ):
        assert words in shown.out


def test_options_are_paid_once(data: Path, judged: Ran, tmp_path: Path) -> None:
    """The same command asks nothing again, nor does a run that lost its results but has its replies."""
    with ChatServer(answer=answer, logprobs=False) as server:
        ask(data, judged.out, server, "--judge-options")
        copy = tmp_path / "run"
        shutil.copytree(judged.out, copy)
        for name in ("outcomes-0.jsonl", "pools-0.jsonl"):
            (copy / name).unlink()
        again = ask(data, copy, server, "--judge-options")
        assert server.calls == []
    assert again.json["robust"] == judged.done.json["robust"]
    assert pools(copy)["1"] == pools(judged.out)["1"]


def test_a_selection_keeps_what_was_said_of_options(data: Path, judged: Ran, tmp_path: Path) -> None:
    out = tmp_path / "voted"
    assert run("select", judged.out, "--strategy", "self-consistency", "--out", out, "--data", data).code == 0
    found = run("select", out, "--abstain-below", "0.9", "--data", data, "--json").json["abstention"]["dropping"]
    # All draws agree, so that every vote is unanimous and no answer is doubtful as a whole: 5 is answered.
    assert (found["below"]["options"]["answered"], found["below"]["options"]["right"]) == (5, 4)


def test_without_it_nothing_is_asked_and_old_pools_are_read(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with ChatServer(answer=answer, logprobs=False) as server:
        ask(data, out, server)
        assert not any(map(asks_for_options, server.calls))
    assert "options" not in json.loads((out / "manifest.json").read_text())["search"]
    lines = [json.loads(line) for line in (out / "pools-0.jsonl").read_text().splitlines()]
    for line in lines:
        assert line.pop("options") is None
    (out / "pools-0.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("select", out, "--abstain-below", "0.9", "--data", data, "--json")
    assert done.code == 0, done.err
    assert done.json["abstention"]["below"]["answered"] == 5
    assert done.json["abstention"]["dropping"] is None


def test_failed_calls_are_counted_and_drop_nothing(data: Path, tmp_path: Path) -> None:
    from support.servers import error

    with ChatServer(
        answer=answer, logprobs=False, fault=lambda call: error(400, "no") if asks_for_options(call) else None
    ) as server:
        done = ask(data, tmp_path / "run", server, "--judge-options")
    assert done.json["counts"]["failed"] == 0
    found = run("select", tmp_path / "run", "--abstain-below", "0.9", "--data", data, "--json").json["abstention"]
    assert found["dropping"]["unjudged"] == {"failed": 4}
    assert found["dropping"]["below"]["options"] == found["below"]


def test_own_data(tmp_path: Path) -> None:
    """Questions 1 and 2 as rows of one's own, without a picture: D is left out of 1, and both are right."""
    rows = [
        {
            "id": str(number),
            "question": f"Question number {number}: which hold?",
            "options": [f"statement {label}" for label in "ABCD"],
            "answer": list(GOLD[number]),
        }
        for number in (1, 2)
    ]
    table = tmp_path / "own.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with ChatServer(answer=answer, logprobs=False) as server:
        more = ("--search", "best-of-n", "--n", "2", "--critic", f"openai:test-model@{server.url}", "--judge-options")
        named = ("--out", tmp_path / "run", "--model", "test-model", "--base-url", server.url)
        done = run("eval", table, "--no-probe", "--json", *named, *more)
    assert done.code == 0, done.err
    assert done.json["robust"]["correct"] == 1
    below = run("select", tmp_path / "run", "--abstain-below", "0.5", "--json").json["abstention"]["dropping"]["below"]
    assert (below["whole"]["right"], below["options"]["right"], below["mended"]) == (1, 2, 1)
    assert below["options"]["score_reference"] is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--judge-options",), "choose one with --search"),
        (("--search", "self-consistency", "--judge-options"), "--judge-options needs a critic"),
        (
            ("--search", "best-of-n", "--judge-options", "--critic", "outcome:openai:m@http://127.0.0.1:1/v1"),
            "one by one",
        ),
    ],
)
def test_what_does_not_go_together(data: Path, tmp_path: Path, more: tuple[str, ...], words: str) -> None:
    named = ("--data", data, "--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--out", tmp_path / "run")
    done = run("eval", "finmme", *named, *more)
    assert (done.code, words in done.err) == (2, True), done.err
