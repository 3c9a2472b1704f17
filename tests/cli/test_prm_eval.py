"""`assay prm eval` from the command line: every set, every kind of critic, real servers, faults, kills, corrections."""

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.train.files import write_records
from assay.train.labelled import LABELLED
from assay.train.records import Example, RolledSolution
from support.command import finish, make_questions, run, start
from support.pictures import file_of, noise
from support.process import by_mark, by_number, critique, plus_minus, shown_steps, vpb_row, write_rows
from support.rolled import rolled, write_rollouts
from support.servers import Call, ChatServer, Draw, Fault, counting, error

# Labels   + + -   + 0 - +   + +   + +       as in tests/train/test_process_report.py: macro F1 (14/16 + 2/4) / 2
# Critic   + + -   + - + +   + -   + +
BY_HAND = [
    vpb_row("first", [1, 1, -1], "++-"),
    vpb_row("second", [1, 0, -1, 1], "+-++", data_source="MathVision"),
    vpb_row("third", [1, 1], "+-"),
    vpb_row("fourth", [1, 1], "++"),
]
MACRO = (14 / 16 + 2 / 4) / 2


def evaluate(server: ChatServer, name: str, file: Path, out: Path, *more: str | Path, kind: str = "") -> Any:
    return run("prm", "eval", name, file, "--critic", f"{kind}openai:test-model@{server.url}", "--out", out, *more)


# Case 169: VisualProcessBench is built in, and what others got on it stands beside.
def test_case_169_visualprocessbench_by_hand(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(file_of(noise("RGB", (40, 30)), "PNG"))
    rows = [row | {"image": "a.png"} for row in BY_HAND]
    file, out = write_rows(tmp_path / "vpb.jsonl", rows), tmp_path / "run"
    with ChatServer(answer=by_mark) as server:
        done = evaluate(server, "visualprocessbench", file, out, "--images", tmp_path / "pictures", "--json")
        assert done.code == 0, done.err
        assert len(server.calls) == 4
        assert all(len(call.pictures) == 1 for call in server.calls)
        tokens = sum(len(call.question.split()) + 100 for call in server.calls)
        shown = evaluate(server, "visualprocessbench", file, out, "--images", tmp_path / "pictures")
        assert len(server.calls) == 4  # the second time nothing is asked
    found = done.json
    assert found["score"]["value"] == pytest.approx(MACRO)
    assert (found["headline"], found["threshold"]["value"], found["threshold"]["how"]) == ("macro", 0.5, "fixed")
    assert found["steps"]["by_source"].keys() == {"visualprocessbench/MathVerse", "visualprocessbench/MathVision"}
    assert (found["solutions"], found["judged"], found["steps"]["pooled"]["neutral"]) == (4, 4, 1)
    assert (found["spent"]["calls"], found["spent"]["prompt_tokens"]) == (4, tokens)
    assert found["floors"]["always-correct"]["macro"] == pytest.approx(16 / 18 / 2)
    for expected in ("68.75", "VisualPRM-8B", "62.0", "Gemini-2.0-Flash", "62.3", "50.0", "floor: random"):
        assert expected in shown.out
    assert "Published: 2,866 solutions; yours: 4." in shown.out
    assert json.loads((out / "report" / "result.json").read_text()) == found
    assert (out / "report" / "reliability.svg").read_text().startswith("<svg ")
    records = [json.loads(line) for line in (out / "critiques-0.jsonl").read_text().splitlines()]
    assert [len(record["said"]["steps"]) for record in sorted(records, key=lambda one: one["sample_id"])] == [
        3,
        4,
        2,
        2,
    ]


# ----------------------------------------------------------------------------------------------------------------------
# Every set. Step 2 of the first solution is wrong, and found; in the second none is, and step 1 is flagged.

STEPS, FALSE_ALARM = ["a [ok]", "b [bad]", "c [ok]"], ["d [bad]", "e [ok]"]


def _rollouts(file: Path) -> Path:
    return write_rollouts(
        file,
        [
            _with_texts(rolled("1#0", 4, 0, 1), STEPS),
            _with_texts(rolled("2#0", 4, 3), FALSE_ALARM),
        ],
    )


def _with_texts(solution: RolledSolution, texts: list[str]) -> RolledSolution:
    steps = (replace(step, text=text + "\n\n") for step, text in zip(solution.steps, texts, strict=True))
    return replace(solution, steps=tuple(steps))


def _examples(file: Path) -> Path:
    def example(name: str, steps: list[str], *labels: bool) -> Example:
        first = labels.index(False) if False in labels else None
        return Example(
            id=name, source="s", group=name, question="q", steps=tuple(steps), critique="", labels=labels,
            first_error=first, origin="gold",
        )  # fmt: skip

    examples = [example("1", STEPS, True, False, True), example("2", FALSE_ALARM, True, True)]
    write_records(file, "examples", examples, settings={})
    return file


SETS: dict[str, Callable[[Path], Path]] = {
    "visualprocessbench": lambda file: write_rows(file, [vpb_row("q", [1, -1, 1], "+-+"), vpb_row("r", [1, 1], "-+")]),
    "processbench": lambda file: write_rows(
        file,
        [
            {"id": "1", "problem": "q", "steps": STEPS, "label": 1},
            {"id": "2", "problem": "r", "steps": FALSE_ALARM, "label": -1},
        ],
    ),
    "prmbench": lambda file: write_rows(
        file,
        [
            {"idx": "1", "modified_question": "q", "modified_process": STEPS, "error_steps": [2]},
            {"idx": "2", "modified_question": "r", "modified_process": FALSE_ALARM, "error_steps": []},
        ],
    ),
    "bigbench-mistake": lambda file: write_rows(
        file,
        [
            {"task": "t", "input": "q", "steps": STEPS, "mistake_index": 1},
            {"task": "t", "input": "r", "steps": FALSE_ALARM, "mistake_index": None},
        ],
    ),
    "mr-math": lambda file: write_rows(
        file,
        [
            {"id": n, "question": q, "model_output_step_format": [[step] for step in steps], first: place}
            for n, q, steps, first, place in (
                (1, "q", STEPS, "model_output_solution_first_error_step", 2),
                (2, "r", FALSE_ALARM, "model_output_solution_first_error_step", "N/A"),
            )
        ],
    ),
    "vlrmbench": lambda file: write_rows(
        file,
        [
            {"id": "1", "question": "q", "steps": STEPS, "step_error_labels": [0, 1, 0]},
            {"id": "2", "question": "r", "steps": FALSE_ALARM, "step_error_labels": [0, 0]},
        ],
    ),
    "rollouts": _rollouts,
    "examples": _examples,
    "fincharts": lambda file: write_rows(
        file,
        [
            {"id": "1", "source": "f", "group": "1", "question": "q", "steps": STEPS, "labels": [True, False, True]}
            | {"first_error": 1},
            {"id": "2", "source": "f", "group": "2", "question": "r", "steps": FALSE_ALARM, "labels": [True, True]}
            | {"first_error": None},
        ],
    ),
}


@pytest.mark.parametrize("name", sorted(LABELLED))
def test_every_set(tmp_path: Path, name: str) -> None:
    file, out = SETS[name](tmp_path / "rows.jsonl"), tmp_path / "run"
    with ChatServer(answer=by_mark) as server:
        done = evaluate(server, name, file, out, "--json")
        shown = evaluate(server, name, file, out)
    assert done.code == 0, done.err
    found = done.json
    assert (found["solutions"], found["judged"], found["first_errors"]["pooled"]["unlabelled"]) == (2, 2, 0)
    # The erroneous solution's error is found, the correct one is flagged: accuracies 1 and 0.
    assert found["first_errors"]["pooled"]["erroneous"]["value"] == 1
    assert found["first_errors"]["pooled"]["correct"]["value"] == 0
    # Wrong: labelled 1, claimed 2, found 1: 2/3. Right: where all steps have labels, labelled 4, claimed 3, found 3:
    # 6/7; where only the first error is known, the third step of the first solution has none: labelled 3, claimed 2,
    # found 2: 4/5.
    right = 4 / 5 if LABELLED[name].first_errors_only else 6 / 7
    share = 3 / 4 if LABELLED[name].first_errors_only else 4 / 5
    expected = {"macro": (right + 2 / 3) / 2, "harmonic": 0.0, "weighted": share * 2 / 3 + (1 - share) * right}
    assert found["score"]["value"] == pytest.approx(expected[found["headline"]])
    assert found["steps"]["pooled"]["macro"]["value"] == pytest.approx(expected["macro"])
    assert shown.code == 0
    assert "floor: always-incorrect" in shown.out


# ----------------------------------------------------------------------------------------------------------------------
# Every kind of critic


def test_a_step_token_critic(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND)
    with ChatServer(answer=plus_minus) as server:
        done = evaluate(server, "visualprocessbench", file, tmp_path / "run", "--json", kind="step-token:")
        assert len(server.calls) == 3 + 4 + 2 + 2  # a call a step
    assert done.json["score"]["value"] == pytest.approx(MACRO)
    assert done.json["spent"]["calls"] == 11


def test_an_outcome_critic_is_tested_on_solutions(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND)

    def answer(call: Call, _draw: int) -> str:
        return "No" if "[bad]" in call.question else "Yes"

    with ChatServer(answer=answer) as server:
        done = evaluate(server, "visualprocessbench", file, tmp_path / "run", "--json", kind="outcome:")
        shown = evaluate(server, "visualprocessbench", file, tmp_path / "run", kind="outcome:")
    assert done.code == 0, done.err
    found = done.json
    assert (found["whole"], found["score"]["value"]) == (True, None)
    # Without an error: labelled 2, claimed 1, found 1: 2/3. With one: labelled 2, claimed 3, found 2: 4/5.
    assert found["solutions_told"]["verdicts"]["macro"]["value"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert "judges whole solutions" in shown.out


@pytest.mark.parametrize("floor", ["always-correct", "always-incorrect", "random"])
def test_a_critic_that_looks_at_nothing_is_its_own_floor(tmp_path: Path, floor: str) -> None:
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND)
    arguments = ("prm", "eval", "visualprocessbench", file, "--critic", floor, "--out", tmp_path / "run")
    found = run(*arguments, "--json").json
    assert found["score"]["value"] == found["floors"][floor]["macro"]
    assert found["spent"]["calls"] == 0
    assert run(*arguments).code == 0


@pytest.mark.local
def test_a_likelihood_critic_in_this_process(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra `local`")
    from support.tiny import build_text

    checkpoint = build_text(tmp_path / "tiny")
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND[:2])
    done = run(
        *("prm", "eval", "visualprocessbench", file, "--critic", f"likelihood:local:{checkpoint}", "--json"),
        *("--out", tmp_path / "run"),
    )
    assert done.code == 0, done.err
    assert (done.json["judged"], done.json["sources_of_scores"]) == (2, {"likelihood": 7})


# ----------------------------------------------------------------------------------------------------------------------
# Thresholds


def test_a_threshold_tuned_on_another_file(tmp_path: Path) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    tune = write_rows(tmp_path / "tune.jsonl", [vpb_row(f"t{n}", [1, -1, 1, 1], "++++") for n in range(20)])
    test = write_rows(tmp_path / "test.jsonl", [vpb_row(f"q{n}", [1, 1, -1], "+++") for n in range(20)])
    out = tmp_path / "run"
    arguments = ("prm", "eval", "visualprocessbench", test, "--critic", "random", "--out", out, "--json")
    found = run(*arguments, "--threshold", f"tune:{tune}").json
    (tuned,) = out.glob("tune-*")

    def steps(part: str) -> tuple[list[bool], list[float]]:
        lines = ((tuned if part == "tune" else out) / "critiques-0.jsonl").read_text().splitlines()
        kept = [json.loads(line) for line in lines]
        assert len(kept) == 20
        labels = [label for record in kept for label in record["labels"]]
        return labels, [step["score"] for record in kept for step in record["said"]["steps"]]

    def macro(part: str, threshold: float) -> float:
        labels, scores = steps(part)
        return metrics.f1_score(labels, [score > threshold for score in scores], average="macro", zero_division=0)

    chosen = found["threshold"]
    assert (chosen["how"], chosen["on"], chosen["by"], chosen["shared_groups"]) == ("tuned", str(tune), "macro", 0)
    best = max(macro("tune", place / 100) for place in range(100))
    assert chosen["score"] == pytest.approx(best)
    assert macro("tune", chosen["value"]) == pytest.approx(best)
    assert found["score"]["value"] == pytest.approx(macro("test", chosen["value"]))
    assert found["bounds"][""]["macro"]["score"] == pytest.approx(max(macro("test", n / 100) for n in range(100)))
    # Another threshold over the same run asks nothing, and the solutions to tune on are in no number.
    fixed = run(*arguments, "--threshold", "0.25").json
    assert fixed["score"]["value"] == pytest.approx(macro("test", 0.25))
    assert fixed["solutions"] == 20


# ----------------------------------------------------------------------------------------------------------------------
# What goes wrong


def test_failures_are_four_things_and_no_verdicts(tmp_path: Path) -> None:
    rows = [*BY_HAND, *(vpb_row(name, [1, -1], "++") for name in ("broken", "cut", "shy", "odd"))]
    file, out = write_rows(tmp_path / "vpb.jsonl", rows), tmp_path / "run"
    down = True

    def fault(call: Call) -> Fault | None:
        return error(400, "no such picture") if down and "broken" in call.question else None

    def answer(call: Call, draw: int) -> str | Draw:
        for name, reply in (
            ("cut", Draw(text="Step 1\nIntent: to", finish="length")),
            ("shy", Draw(text="", finish="content_filter")),
            ("odd", "I think it is fine."),
        ):
            if f"\n{name}\n" in call.question:
                return reply
        return by_mark(call, draw)

    with ChatServer(answer=answer, fault=fault) as server:
        done = evaluate(server, "visualprocessbench", file, out, "--json")
        calls = len(server.calls)
        down = False
        # Only the failed call is asked again; its solution is judged all right: right labelled 9, claimed 10, found 8;
        # wrong labelled 3, claimed 2, found 1.
        again = evaluate(server, "visualprocessbench", file, out, "--json")
        assert (calls, len(server.calls)) == (8, 9)
        wrong = evaluate(server, "visualprocessbench", file, out, "--json", "--on-missing", "wrong")
        shown = evaluate(server, "visualprocessbench", file, out)
    assert done.json["unjudged"] == {"failed": 1, "refused": 1, "truncated": 1, "unparsable": 1}
    assert done.json["score"]["value"] == pytest.approx(MACRO)
    assert (done.json["solutions"], done.json["judged"]) == (8, 4)
    assert again.json["unjudged"] == {"refused": 1, "truncated": 1, "unparsable": 1}
    assert again.json["score"]["value"] == pytest.approx((2 * 8 / 19 + 2 * 1 / 5) / 2)
    # Missed: 3 right ones and 3 wrong ones more are labelled.
    assert wrong.json["score"]["value"] == pytest.approx((2 * 8 / 22 + 2 * 1 / 8) / 2)
    assert wrong.json["other_missing"]["value"] == again.json["score"]["value"]
    assert "8 solutions, 5 judged, 1 refused, 1 truncated, 1 unparsable." in shown.out


def test_a_picture_that_is_not_there_leaves_a_record_and_costs_no_call(tmp_path: Path) -> None:
    rows = [BY_HAND[0], vpb_row("with", [1, -1], "+-", image="gone.png")]
    file, out = write_rows(tmp_path / "vpb.jsonl", rows), tmp_path / "run"
    with ChatServer(answer=by_mark) as server:
        done = evaluate(server, "visualprocessbench", file, out, "--json")
        assert len(server.calls) == 1
    assert (done.code, done.json["judged"], done.json["unjudged"]) == (0, 1, {"failed": 1})
    assert "gone.png" in next(iter(done.json["reasons"]))


def test_no_critique_at_all_is_no_score(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND)
    with ChatServer(answer=lambda _call, _draw: "no") as server:
        done = evaluate(server, "visualprocessbench", file, tmp_path / "run")
    assert done.code != 0
    assert "There is no critique of any solution (unparsable 4)" in done.err


def test_killed_it_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    rows = [vpb_row(f"question {n}", [1, -1], "+-" if n % 2 else "++") for n in range(30)]
    file = write_rows(tmp_path / "vpb.jsonl", rows)

    def command(server: ChatServer, out: Path) -> list[str | Path]:
        critic = ("--critic", f"openai:test-model@{server.url}", "--concurrency", "2")
        return ["prm", "eval", "visualprocessbench", file, "--out", out, "--json", *critic]

    with ChatServer(answer=by_mark, latency=0.05) as server:
        process = start(*command(server, tmp_path / "broken"))
        deadline = time.monotonic() + 60
        while len(server.calls) < 12:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        finish(process)
        server.latency = 0
        done = run(*command(server, tmp_path / "broken"))
        assert done.code == 0, done.err
        asked = Counter(call.question for call in server.calls)
        whole = run(*command(server, tmp_path / "whole"))
    assert len(asked) == 30
    assert asked.total() <= 30 + 4  # the calls in flight, and replies of the turn of the loop that the kill ended
    assert done.json == whole.json


def test_two_critics_are_compared_solution_by_solution(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND)
    for floor in ("always-correct", "always-incorrect"):
        run("prm", "eval", "visualprocessbench", file, "--critic", floor, "--out", tmp_path / floor)
    done = run("compare", tmp_path / "always-correct", tmp_path / "always-incorrect", "--json")
    # Exact on first errors: always-correct for the third and fourth solution, which have none; the other nowhere.
    assert done.code == 0, done.err
    assert (done.json["pairs"], done.json["difference"]) == (4, -0.5)


def test_a_folder_of_another_test_is_refused(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "vpb.jsonl", BY_HAND)
    common = ("prm", "eval", "visualprocessbench", file, "--out", tmp_path / "run")
    assert run(*common, "--critic", "always-correct").code == 0
    done = run(*common, "--critic", "random")
    assert done.code != 0
    assert "holds another run: model was 'floor:always-correct'" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nobench", "FILE", "--critic", "random"), "Choose one of: visualprocessbench, processbench"),
        (("visualprocessbench", "gone.jsonl", "--critic", "random"), "gone.jsonl: there is no such file"),
        (("processbench", "FILE", "--critic", "random"), "holds no solution that can be read as one of processbench"),
        (("visualprocessbench", "FILE"), "Name who judges with --critic"),
        (("visualprocessbench", "FILE", "--critic", "nobody"), "is not a critic's address"),
        (
            ("visualprocessbench", "FILE", "--critic", "random", "--threshold", "high"),
            "neither a number from 0 up to 1",
        ),
        (("visualprocessbench", "FILE", "--critic", "random", "--threshold", "nan"), "neither a number from 0 up to 1"),
        (("visualprocessbench", "FILE", "--critic", "random", "--threshold", "tune:gone"), "gone: there is no such"),
        (("visualprocessbench", "FILE", "--critic", "random", "--critic-samples", "2"), "random is none"),
        (("visualprocessbench", "FILE", "--critic", "random", "--continuations", "2"), "name who continues"),
        (("visualprocessbench", "FILE", "--critic", "random", "--policy", "local:x"), "give a file of rollouts"),
        (("rollouts", "FILE", "--critic", "random"), "FILE"),
    ],
)
def test_what_can_not_be_done_is_said_in_one_sentence(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    file = write_rows(tmp_path / "rows.jsonl", BY_HAND)
    done = run("prm", "eval", *(str(file) if one == "FILE" else one for one in arguments), "--out", tmp_path / "run")
    assert done.code != 0
    assert says.replace("FILE", str(file)) in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "run" / "manifest.json").exists()


# ----------------------------------------------------------------------------------------------------------------------
# Corrections


def _worlds(folder: Path) -> Path:
    """Four solutions: an error corrected, an error made worse, a false alarm, and one without a right answer."""
    texts = {
        "1#0": ["a [ok]", "b [bad]"],
        "2#0": ["c [ok]", "d [bad] spoil"],
        "3#0": ["e [bad] fine", "f [ok]"],
        "4#0": ["g [bad]", "h [ok]"],
        "5#0": ["i [ok]", "j [ok]"],
    }
    labels = {"1#0": (4, 0), "2#0": (4, 0), "3#0": (4, 4), "4#0": (0, 0), "5#0": (4, 4)}
    solutions = [_with_texts(rolled(name, *labels[name]), texts[name]) for name in texts]
    solutions[3] = replace(solutions[3], gold="")
    return write_rollouts(folder / "rollouts.jsonl", solutions)


def _critic(call: Call, _draw: int) -> str:
    steps = shown_steps(call)
    mended = "spoiled" if any("spoil" in step for step in steps) else "mended [fixed]"
    return critique(["[bad]" not in step for step in steps], correction=mended)


def _policy(call: Call, draw: int) -> str:
    """From a mended step every continuation is right, from a spoiled one none, from any other one in four."""
    if call.prefill is None or "[" not in call.prefill:
        return counting(call, draw)
    right = "[fixed]" in call.prefill or (draw % 4 == 0 and "spoiled" not in call.prefill)
    return f"Answer: {12 if right else 13}"


def test_corrections_are_put_to_the_test(tmp_path: Path) -> None:
    file, out = _worlds(tmp_path), tmp_path / "run"
    with ChatServer(answer=_critic) as critic, ChatServer(answer=_policy, models=("policy",)) as policy:
        more = ("--policy", f"openai:policy@{policy.url}", "--continuations", "4")
        done = evaluate(critic, "rollouts", file, out, "--json", *more)
        asked = len(policy.calls)
        shown = evaluate(critic, "rollouts", file, out, *more)
        continued = sum("[" in (call.prefill or "") for call in policy.calls)
        assert (len(critic.calls), continued, len(policy.calls)) == (5, 6, asked)  # the second time nothing is asked
    assert done.code == 0, done.err
    found = done.json["corrections"]
    assert (found["flagged"], found["uncorrected"], found["no_gold"], found["tried"]) == (4, 0, 1, 3)
    assert (found["failed"], found["unmarked"], found["restarted"], found["continuations"]) == (0, 0, 0, 4)
    # One in four is right from the steps as they were. After: 1 in two worlds, 0 in the spoiled one.
    assert found["all"]["before"] == pytest.approx(1 / 4)
    assert found["all"]["after"] == pytest.approx(2 / 3)
    assert found["all"]["gain"] == pytest.approx(2 / 3 - 1 / 4)
    assert (found["all"]["pairs"], found["all"]["helped"], found["all"]["harmed"]) == (3, 2, 1)
    assert found["true_errors"]["gain"] == pytest.approx((3 / 4 - 1 / 4) / 2)
    assert (found["false_alarms"]["pairs"], found["false_alarms"]["gain"]) == (1, pytest.approx(3 / 4))
    assert found["all"]["low"] <= found["all"]["gain"] <= found["all"]["high"]
    assert "steps labelled wrong" in shown.out
    assert "1 have no right answer" in shown.out


def test_continuations_are_marked_by_the_benchmark_that_is_named(tmp_path: Path) -> None:
    # Question 1 of these wants B; its file of rollouts claims C, which the benchmark's own data overrules.
    data = make_questions(tmp_path / "data", 3)
    solution = replace(_with_texts(rolled("1#0", 4, 0), ["a [ok]", "b [bad]"]), gold="C")
    unknown = replace(_with_texts(rolled("99#0", 4, 0), ["c [ok]", "d [bad]"]), gold="C")
    file, out = write_rollouts(tmp_path / "rollouts.jsonl", [solution, unknown]), tmp_path / "run"

    def policy(call: Call, draw: int) -> str:
        if call.prefill is None or "[" not in call.prefill:
            return counting(call, draw)
        return f"Answer: {'B' if '[fixed]' in call.prefill else 'C'}"

    with ChatServer(answer=_critic) as critic, ChatServer(answer=policy) as server:
        more = ("--policy", f"openai:test-model@{server.url}", "--continuations", "2", "--json")
        by_rule = evaluate(critic, "rollouts", file, out, *more)
        named = ("--benchmark", "mathvision", "--data", data, "--split", "testmini")
        refused = evaluate(critic, "rollouts", file, out, *more, *named)
        by_benchmark = evaluate(critic, "rollouts", file, tmp_path / "other", *more, *named)
    assert by_rule.json["corrections"]["all"]["gain"] == -1
    assert "holds another run" in refused.err  # what is right has changed
    found = by_benchmark.json["corrections"]
    assert (found["all"]["pairs"], found["all"]["gain"], found["no_gold"]) == (1, 1, 1)
    assert found["marked_by"] == "mathvision (robust)"


def test_the_budget_is_that_of_critic_and_policy_together(tmp_path: Path) -> None:
    file, out = _worlds(tmp_path), tmp_path / "run"
    with ChatServer(answer=_critic) as critic, ChatServer(answer=_policy) as policy:
        alone = evaluate(critic, "rollouts", file, out, "--json").json["spent"]
        used = alone["prompt_tokens"] + alone["completion_tokens"]
        more = ("--policy", f"openai:test-model@{policy.url}", "--budget-tokens", str(used + 1))
        done = evaluate(critic, "rollouts", file, out, *more, "--concurrency", "1")
        money = evaluate(critic, "rollouts", file, out, *more, "--budget-money", "1")
        assert sum("[" in (call.prefill or "") for call in policy.calls) <= 2  # of six; both sides of one correction
    assert done.code != 0
    assert f"the limit is {used + 1:,}" in done.err
    assert "policy and critic have two" in money.err


def test_a_policy_that_fails_leaves_pairs_out_and_is_asked_again(tmp_path: Path) -> None:
    file, out = _worlds(tmp_path), tmp_path / "run"
    down = True

    def fault(call: Call) -> Fault | None:
        return error(400, "no") if down and call.prefill and "spoiled" in call.prefill else None

    with ChatServer(answer=_critic) as critic, ChatServer(answer=_policy, fault=fault) as policy:
        more = ("--json", "--policy", f"openai:test-model@{policy.url}", "--continuations", "4")
        first = evaluate(critic, "rollouts", file, out, *more).json["corrections"]
        down = False
        second = evaluate(critic, "rollouts", file, out, *more).json["corrections"]
    # The server refuses the spoiled prefill, then also the prompt in its place is answered without the step: restarted
    # or not, what matters is that nothing is taken for a wrong answer while calls fail.
    assert first["all"]["pairs"] + first["failed"] + first["unmarked"] == 3
    assert (second["all"]["pairs"], second["failed"]) == (3, 0)


# ----------------------------------------------------------------------------------------------------------------------
# Real rows

REAL = {
    "bigbench-mistake": "bigbench_mistake.jsonl",
    "mr-math": "mr_math_invalid.jsonl",
    "prmbench": "prmbench.jsonl",
    "vlrmbench": "vlrmbench/location_error_with_images.jsonl",
}


def _raw(name: str, row: dict[str, Any]) -> Sequence[bool | None] | None:
    """The labels of a raw row, read here once more; None for a row that names a wrong step that isn't there."""
    first: int | None
    match name:
        case "prmbench":
            steps = row["modified_process"]
            if any(not 1 <= place <= len(steps) for place in row["error_steps"]):
                return None
            return [number not in row["error_steps"] for number in range(1, len(steps) + 1)]
        case "vlrmbench":
            return [mark == 0 for mark in row["step_error_labels"]]
        case "bigbench-mistake":
            first, size = row["mistake_index"], len(row["steps"])
        case _:
            size = len(row["model_output_step_format"])
            written = row["model_output_solution_first_error_step"]
            first = None if written in ("N/A", None) else written - 1
    if first is None:
        return [True] * size
    return [*[True] * first, False, *[None] * (size - first - 1)]


@pytest.mark.parametrize("name", sorted(REAL))
def test_real_rows(tmp_path: Path, shared_data: Path, name: str) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    file = shared_data / "prm" / REAL[name]
    with ChatServer(answer=by_number(lambda number: number % 3 == 0)) as server:
        done = evaluate(server, name, file, tmp_path / "run", "--json", "--limit", "40")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    read = [labels for row in rows if (labels := _raw(name, row)) is not None][:40]
    pairs = [
        (label, number % 3 != 0) for labels in read for number, label in enumerate(labels, start=1) if label is not None
    ]
    labels, verdicts = zip(*pairs, strict=True)
    found = done.json
    kept = min(40, len(read))
    assert (found["solutions"], found["judged"], found["steps"]["pooled"]["n"]) == (kept, kept, len(pairs))
    for side, wanted in ((True, "right"), (False, "wrong")):
        expected = metrics.f1_score(labels, verdicts, pos_label=side)
        assert found["steps"]["pooled"][wanted]["f1"]["value"] == pytest.approx(expected)
    # The critic's first error is step 3 of every solution that has so many.
    hits = [0, 0]
    of = [0, 0]
    for one in read:
        first = one.index(False) if False in one else None
        of[first is None] += 1
        hits[first is None] += first == (2 if len(one) > 2 else None)
    assert found["first_errors"]["pooled"]["erroneous"]["value"] == (pytest.approx(hits[0] / of[0]) if of[0] else None)
    assert found["first_errors"]["pooled"]["correct"]["value"] == (pytest.approx(hits[1] / of[1]) if of[1] else None)


def test_hostile_rows_are_listed_with_their_reason(tmp_path: Path, shared_data: Path) -> None:
    file = shared_data / "prm" / REAL["prmbench"]
    done = run("prm", "eval", "prmbench", file, "--critic", "random", "--out", tmp_path / "run", "--json")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    odd = [number for number, row in enumerate(rows, start=1) if _raw("prmbench", row) is None]
    assert odd
    assert (done.json["odd"], done.json["solutions"]) == (len(odd), len(rows) - len(odd))
    assert [int(number) for number in re.findall(r"prmbench\.jsonl:(\d+): names a wrong step", done.err)] == odd
    classes = {f"prmbench/{row['classification']}" for row in rows}
    assert set(done.json["steps"]["by_source"]) == classes
