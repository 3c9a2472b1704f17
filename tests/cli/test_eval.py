"""`assay eval` against a real server: nothing lost, nothing doubled, failures never scored, resume after anything."""

import io
import json
import random
import re
import signal
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.command import PACKAGED, Done, finish, make_questions, run, start
from support.servers import Call, ChatServer, Draw, always, error, rate_limited, server_error, share

NUMBER = re.compile(r"Question number (\d+) end")


def number_of(call: Call) -> int:
    found = NUMBER.search(call.question)
    assert found, call.question
    return int(found[1])


def knows_even(call: Call, _draw: int) -> str:
    """Right on even questions, wrong on odd ones; the probe's questions get a few digits."""
    if not NUMBER.search(call.question):
        return "1 2 3"
    number = number_of(call)
    letter = "ABCDE"[number % 5] if number % 2 == 0 else "ABCDE"[(number + 1) % 5]
    return f"I look at the picture.\n\\boxed{{{letter}}}"


def lines(run_folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_folder / "outcomes-0.jsonl").read_text().splitlines()]


def verdicts(run_folder: Path) -> dict[str, tuple[str, str | None]]:
    """Sample id -> (verdict or failure, extraction), by the last line of each id."""
    found: dict[str, tuple[str, str | None]] = {}
    for line in lines(run_folder):
        result = line["result"]
        if result["type"] == "failure":
            found[line["sample_id"]] = (f"failed {result['kind']}", None)
        else:
            found[line["sample_id"]] = (result["robust"]["verdict"], result["robust"]["extraction"])
    return found


def test_a_run_of_packaged_questions_asks_and_scores(tmp_path: Path) -> None:
    with ChatServer(answer=lambda _call, _draw: "\\boxed{A}") as server:
        done = run(
            *("eval", "mathvision", "--data", PACKAGED / "mathvision", "--split", "testmini"),
            *("--model", "test-model", "--base-url", server.url, "--limit", "20", "--out", tmp_path / "try", "--json"),
        )
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (PACKAGED / "mathvision" / "testmini.jsonl").read_text().splitlines()][:20]
    # The reply is always A: right exactly where A is the gold letter.
    expected = sum(row["answer"] == "A" for row in rows)
    assert done.json["samples"] == 20
    assert done.json["robust"]["correct"] == expected
    assert done.json["counts"]["failed"] == 0
    # Every call but the probe's carried one picture.
    pictures = [len(call.pictures) for call in server.calls if "Which" in call.question or len(call.question) > 100]
    assert set(pictures) == {1}


def test_a_fifth_of_the_calls_failing_loses_doubles_and_scores_nothing(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 500)
    broken = {7, 77, 177, 277, 377}

    def fault(call: Call) -> Any:
        if "Question number" in call.question and number_of(call) in broken:
            return error(400, "this prompt is refused")
        return share(0.2, seed=11)(call)

    with ChatServer(answer=knows_even, fault=fault) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 0, done.err
    assert done.json["samples"] == 500
    ids = [line["sample_id"] for line in lines(tmp_path / "run")]
    assert sorted(ids, key=int) == [str(number) for number in range(500)]
    # 250 even questions are right; of the 250 odd ones five failed for good and 245 are wrong.
    assert done.json["counts"]["right"] == 250
    assert done.json["counts"]["wrong"] == 245
    assert done.json["counts"]["failed"] == len(broken)
    assert done.json["robust"]["n"] == 495
    assert done.json["robust"]["accuracy"] == pytest.approx(250 / 495)
    assert done.json["robust"]["accuracy_failed_as_wrong"] == pytest.approx(250 / 500)
    assert "retries" in done.err


def test_the_four_kinds_of_no_answer_are_four_different_things(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 6)
    replies: dict[int, Draw] = {
        0: Draw(text="\\boxed{A}"),  # right
        1: Draw(text="\\boxed{E}"),  # wrong (gold B)
        2: Draw(text="I can't tell from this picture."),  # unanswered
        3: Draw(text="", finish="length", message={"reasoning_content": "Let me count the"}),  # truncated
        4: Draw(text="", finish="content_filter"),  # refused
    }

    def answer(call: Call, _draw: int) -> Draw:
        return replies[number_of(call)]

    def fault(call: Call) -> Any:
        return error(400, "bad picture") if number_of(call) == 5 else None

    with ChatServer(answer=answer, fault=fault) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.json["counts"] == {
        "right": 1,
        "wrong": 1,
        "unanswered": 1,
        "truncated": 1,
        "refused": 1,
        "unmarkable": 0,
        "failed": 1,
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kill_9_at_twenty_moments_and_resume_equals_an_uninterrupted_run(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 600)
    draw = random.Random(20)

    def command(out: Path, url: str, concurrency: int) -> list[str | Path]:
        return [
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json", "--seed", "3"),
            *("--model", "test-model", "--base-url", url, "--out", out, "--concurrency", str(concurrency)),
        ]

    with ChatServer(answer=knows_even, latency=0.05, fault=share(0.05, seed=4)) as server:
        whole = finish(start(*command(tmp_path / "whole", server.url, 16)), timeout=120)
        assert whole.code == 0, whole.err
        calls_of_one_run = Counter(number_of(call) for call in server.calls)
        server.calls.clear()
        kills = 0
        while kills < 20:
            process = start(*command(tmp_path / "killed", server.url, draw.choice([1, 2, 4, 8])))
            # Start-up takes about half a second: some kills hit it, most hit the middle of the work.
            time.sleep(draw.uniform(0.3, 1.4))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
            assert process.returncode == -signal.SIGKILL, "the run ended before it was killed: make it longer"
        last = finish(start(*command(tmp_path / "killed", server.url, 32)), timeout=120)
    assert last.code == 0, last.err
    assert verdicts(tmp_path / "killed") == verdicts(tmp_path / "whole")
    ids = [line["sample_id"] for line in lines(tmp_path / "killed")]
    assert len(ids) == len(set(ids)) == 600
    for key in ("samples", "reference", "robust", "counts", "facets"):
        assert last.json[key] == whole.json[key]
    # Only what was in flight at a kill is asked again: at most its concurrency (8) for each of the 20 kills.
    repeated = sum(Counter(number_of(call) for call in server.calls).values()) - sum(calls_of_one_run.values())
    assert repeated <= 20 * 8


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 200)

    def command(url: str) -> list[str | Path]:
        return [
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", url, "--out", tmp_path / "run", "--concurrency", "4"),
        ]

    with ChatServer(answer=knows_even, latency=0.05) as server:
        process = start(*command(server.url))
        wait_for(lambda: len(server.calls) > 12)
        process.send_signal(signal.SIGINT)
        stopped = finish(process)
        finished = len(lines(tmp_path / "run"))
        assert stopped.code == 3
        assert "Ctrl-C" in stopped.err
        assert "the same command goes on" in stopped.err
        assert 0 < finished < 200
        resumed = finish(start(*command(server.url)))
    assert resumed.code == 0, resumed.err
    assert resumed.json["samples"] == 200
    assert resumed.json["counts"]["right"] == 100
    # Nothing was cut off on the way out, so nothing was asked twice.
    assert len(server.calls) == 200


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_failures_are_tried_again_by_the_same_command(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 10)
    arguments: list[str | Path] = [
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
        *("--model", "test-model", "--out", tmp_path / "run", "--base-url"),
    ]
    with ChatServer(fault=lambda call: error(400, "no") if number_of(call) == 3 else None, answer=knows_even) as server:
        first = run(*arguments, server.url)
    assert first.json["counts"]["failed"] == 1
    with ChatServer(answer=knows_even) as server:
        second = run(*arguments, server.url)
        assert [number_of(call) for call in server.calls] == [3]
    assert second.json["counts"]["failed"] == 0
    assert second.json["samples"] == 10


def test_a_run_that_another_version_began_says_that_its_marks_may_be_mixed(tmp_path: Path) -> None:
    data, out = make_questions(tmp_path / "data", 4), tmp_path / "run"
    arguments: list[str | Path] = [
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
        *("--model", "test-model", "--out", out, "--base-url"),
    ]

    def mixed(done: Done) -> list[str]:
        return [note for note in done.json["notes"] if "may follow different rules" in note]

    with ChatServer(answer=knows_even) as server:
        assert not mixed(run(*arguments, server.url))
        manifest = json.loads((out / "manifest.json").read_text())
        manifest["environment"]["assay"] = "0.0.1"  # as if an older version had begun it
        (out / "manifest.json").write_text(json.dumps(manifest))
        (note,) = mixed(run(*arguments, server.url))
        assert note.startswith("Versions 0.0.1")
        assert not mixed(run("score", out, "--json"))  # all marks are fresh there
        assert mixed(run(*arguments, server.url))
        assert run("score", out, "--save", "--json").code == 0
        assert not mixed(run(*arguments, server.url))


def test_a_budget_ends_a_run_cleanly(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 50)
    with ChatServer(answer=knows_even) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--budget-tokens", "1500"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run", "--concurrency", "2"),
        )
    assert done.code == 3
    assert "budget" in done.err
    assert "tokens" in done.err
    assert 0 < len(lines(tmp_path / "run")) < 50


def test_every_sample_failing_is_not_a_score_of_zero(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 5)
    with ChatServer(fault=always(error(400, "no pictures today"))) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 1
    assert done.json["robust"]["accuracy"] is None
    assert "Every sample failed (call/bad_request 5)" in done.err
    assert "no pictures today" in done.err


def test_an_endless_rate_limit_stops_the_run_and_says_so(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 5)
    with ChatServer(fault=always(rate_limited("100000"))) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 3
    assert "left alone" in done.err


def test_each_picture_is_prepared_once_however_many_questions_show_it(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 30)
    with ChatServer(answer=knows_even) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--max-edge", "64"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
        assert done.code == 0, done.err
        assert len({call.pictures[0] for call in server.calls}) == 3
    kept = [path for path in (tmp_path / "run" / "images").rglob("*") if path.suffix in (".jpg", ".png")]
    assert len(kept) == 3


def test_cases_115_and_116_the_size_of_pictures_is_ours_and_on_record(tmp_path: Path) -> None:
    """Limits on pixels that a server is told may be ignored (116), and then nobody knows what was seen (115).

    Here pictures are shrunk before they are sent; the bound stands in the manifest, and another is another run.
    """
    from PIL import Image

    data = make_questions(tmp_path / "data", 3)

    def longest_edge(file: bytes) -> int:
        return max(Image.open(io.BytesIO(file)).size)

    def eval_at(edge: int) -> Done:
        return run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--max-edge", str(edge)),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )

    assert all(longest_edge(file.read_bytes()) > 64 for file in (data / "images").iterdir())
    with ChatServer(answer=knows_even) as server:
        assert eval_at(64).code == 0
        sent = [b64decode(picture.partition(",")[2]) for call in server.calls for picture in call.pictures]
        assert [longest_edge(file) for file in sent] == [64, 64, 64]
        other = eval_at(48)
    assert other.code == 1
    assert "image_transform" in other.err
    assert json.loads(json.loads((tmp_path / "run" / "manifest.json").read_text())["image_transform"])["max_edge"] == 64


def test_the_manifest_says_what_the_run_is_and_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_questions(tmp_path / "data", 3)
    monkeypatch.setenv("MY_KEY", "sk-very-secret-123")
    with ChatServer(answer=knows_even, api_key="sk-very-secret-123") as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--api-key-env", "MY_KEY"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 0, done.err
    for path in (tmp_path / "run").rglob("*"):
        if path.is_file():
            assert b"sk-very-secret" not in path.read_bytes()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["benchmark"] == "mathvision"
    assert manifest["environment"]["probe"]["model"] == "test-model"
    assert re.fullmatch(r"[0-9a-f]{64}", manifest["prompt_hash"])


def test_server_errors_are_retried_with_their_cause_shown(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 4)

    def fault(call: Call) -> Any:
        return server_error(503) if call.attempt == 0 and number_of(call) == 1 else None

    with ChatServer(answer=knows_even, fault=fault) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 0
    assert "1 retries (1 server)" in done.err


def test_what_was_done_to_a_picture_stands_in_its_outcome(tmp_path: Path) -> None:
    from PIL import Image

    data = make_questions(tmp_path / "data", 2)
    name = json.loads((data / "testmini.jsonl").read_text().splitlines()[0])["image"]
    frames = [Image.new("RGB", (40, 30), color) for color in ("red", "green", "blue")]
    frames[0].save(data / name, "GIF", save_all=True, append_images=frames[1:])
    with ChatServer(answer=knows_even) as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 0, done.err
    details = {line["sample_id"]: line.get("detail", {}) for line in lines(tmp_path / "run")}
    assert details["0"]["pictures"] == "first of 3 frames"
    assert "pictures" not in details["1"]
