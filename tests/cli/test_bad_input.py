"""Bad input gets one clear sentence that names the place and the remedy, and a non-zero exit; nothing is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import PACKAGED, Done, make_questions, run
from support.servers import ChatServer

DEMO = PACKAGED / "mathvision"
REPLIES = DEMO / "replies" / "Gemini-Pro.jsonl"


def one_sentence(done: Done) -> str:
    """The error as the user sees it: one line, no traceback."""
    assert done.code != 0
    assert "Traceback" not in done.err
    lines = [line for line in done.err.splitlines() if line.startswith("assay: ")]
    assert len(lines) == 1, done.err
    assert done.err.rstrip().endswith(lines[0]), done.err
    return lines[0]


def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


ROW = {"id": "1", "question": "Which?", "options": ["A", "B"], "answer": "B", "level": 1, "subject": "logic"}


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        pytest.param([ROW, '{"id": "2", "quest'], ["testmini.jsonl:2"], id="broken JSON line"),
        pytest.param([ROW, ROW], ["testmini.jsonl:2", "'1'", "testmini.jsonl:1"], id="duplicate id"),
        pytest.param([ROW | {"image": "images/gone.png"}], ["testmini.jsonl:1", "gone.png"], id="missing picture"),
        pytest.param([ROW | {"answer": "D"}], ["testmini.jsonl:1", "D", "A, B"], id="gold outside the options"),
        pytest.param([ROW | {"id": None}], ["testmini.jsonl:1", "id"], id="no id"),
        pytest.param([], ["testmini.jsonl"], id="empty file"),
        pytest.param(["[1, 2]"], ["testmini.jsonl:1"], id="a row that is no object"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, rows: list[object], names: list[str]) -> None:
    write(tmp_path / "testmini.jsonl", *rows)
    done = run("eval", "mathvision", "--data", tmp_path, "--split", "testmini", "--model", f"replay:{REPLIES}")
    sentence = one_sentence(done)
    assert done.code == 2
    for name in names:
        assert name in sentence


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param(["score", "mathvison", "--replies", REPLIES, "--data", DEMO], ["mathvison", "mathvision"],
                     id="unknown benchmark"),
        pytest.param(["score", "mathvision", "--replies", "gone.jsonl", "--data", DEMO, "--split", "testmini"],
                     ["gone.jsonl"], id="missing replies"),
        pytest.param(["score", "mathvision", "--replies", REPLIES, "--data", "gone"], ["gone"], id="missing data"),
        pytest.param(["score", "mathvision", "--replies", REPLIES, "--data", DEMO, "--split", "tset"], ["tset"],
                     id="unknown split"),
        pytest.param(["score", "mathvision", "--replies", REPLIES, "--data", DEMO, "--split", "testmini",
                      "--reply-field", "nope"], ["nope"], id="unknown reply field"),
        pytest.param(["score", "mathvision", "--replies", PACKAGED / "finmme" / "official_examples.jsonl", "--data",
                      DEMO, "--split", "testmini", "--reply-field", "question_text"], ["official_examples"],
                     id="replies of other questions"),
        pytest.param(["score", "runs/never"], ["runs/never"], id="no such run"),
        pytest.param(["compare", PACKAGED, PACKAGED], ["manifest.json"], id="no run folder"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", "gpt"], ["--base-url"],
                     id="model without server"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", "x", "--base-url",
                      "localhost:8000"], ["http://"], id="URL without scheme"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", "openai:x"],
                     ["openai:x"], id="half an address"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", "local:/no/such"],
                     ["/no/such"], id="no checkpoint"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", f"replay:{REPLIES}",
                      "--budget-money", "5"], ["--prices"], id="money without prices"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", f"replay:{REPLIES}",
                      "--extra-body", "{"], ["--extra-body"], id="extra body"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", f"replay:{REPLIES}",
                      "--api-key-env", "NO_SUCH_VARIABLE"], ["NO_SUCH_VARIABLE"], id="key variable not set"),
        pytest.param(["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", f"replay:{REPLIES}",
                      "--out", ""], ["--out"], id="empty out"),
        pytest.param(["probe", "--model", f"replay:{REPLIES}"], ["--base-url"], id="probe without server"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str | Path], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = one_sentence(run(*arguments))
    for name in names:
        assert name in sentence


@pytest.mark.parametrize(
    "arguments",
    [
        ["--temperature", "nan"],
        ["--temperature", "inf"],
        ["--top-p", "nan"],
        ["--timeout", "0"],
        ["--timeout", "-5"],
        ["--timeout", "nan"],
        ["--concurrency", "0"],
        ["--concurrency", "100000000"],
    ],
)
def test_numbers_that_are_none_are_refused_before_a_model_is_paid(tmp_path: Path, arguments: list[str]) -> None:
    out = tmp_path / "run"
    with ChatServer() as server:
        done = run(
            *("eval", "mathvision", "--data", DEMO, "--split", "testmini", "--model", "test-model"),
            *("--base-url", server.url, "--out", out, *arguments),
        )
        assert not server.calls
    assert done.code == 2
    assert arguments[0] in done.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--extra-body", "{"], "--extra-body"),
        (["--budget-money", "5"], "--prices"),
        (["--prices", "gone.toml"], "gone.toml"),
        (["--max-edge", "10", "--min-edge", "28"], "28 px"),
        (["--out", "run", "--seed", "1"], "seed was 0, is 1"),
        (["--out", "a file"], "is a file, and a run needs a folder"),
    ],
)
def test_what_is_wrong_is_said_before_the_probe_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a file").write_text("")
    with ChatServer() as server:
        common = ["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--limit", "1", "--model", "test-model"]
        common += ["--base-url", server.url]
        assert run(*common, "--no-probe", "--out", "run").code == 0
        before = len(server.calls)
        assert says in one_sentence(run(*common, *arguments))
        assert len(server.calls) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a file", "run"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "1"],
        ["--split", "test"],
        ["--where", "level=1"],
        ["--reply-field", "text"],
        ["--id-field", "key"],
        ["--replies-are", "texts"],
        ["--no-extractions"],
        ["--images", "pictures"],
    ],
)
def test_what_a_run_was_made_with_is_not_ignored_when_it_is_marked_again(tmp_path: Path, arguments: list[str]) -> None:
    data = ["--data", DEMO, "--split", "testmini"]
    assert run("score", "mathvision", *data, "--replies", REPLIES, "--out", tmp_path / "run").code == 0
    assert arguments[0] in one_sentence(run("score", tmp_path / "run", *arguments))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["score", "mathvision", "--replies", str(REPLIES), "--out", ""], "--out"),
        (["score", "mathvision", "--replies", str(REPLIES), "--out="], "--out"),
        (["score", "mathvision", "--replies", ""], "--replies"),
        (["score", ""], "An argument"),
        (["compare", "", "runs/b"], "An argument"),
    ],
)
def test_an_empty_text_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.code == 2
    assert f"assay: {named} is empty" in one_sentence(done)
    assert not list(tmp_path.iterdir())


def test_what_is_no_regular_file_is_not_said_to_be_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = run("score", "mathvision", "--data", DEMO, "--split", "testmini", "--replies", tmp_path / "pipe")
    assert "is no regular file" in one_sentence(done)
    assert "Write them to a file" in done.err


def test_replies_given_as_a_run_are_told_apart(tmp_path: Path) -> None:
    for what, said in ((REPLIES, "is a file"), (tmp_path / "none", "there is no such run")):
        done = run("score", what)
        assert said in one_sentence(done)
        assert "--replies FILE" in done.err
    assert "not a run folder" in one_sentence(run("score", tmp_path))


def test_rows_of_one_id_are_said_to_be_draws(tmp_path: Path) -> None:
    rows = [{"id": "4", "response": "Answer: A"}, {"id": "4", "response": "Answer: B"}]
    replies = write(tmp_path / "replies.jsonl", *rows)
    data = write(tmp_path / "testmini.jsonl", ROW | {"id": "4", "answer": "B"})
    done = run("score", "mathvision", "--data", data.parent, "--split", "testmini", "--replies", replies, "--json")
    assert done.json["robust"]["correct"] == 0  # the first says A
    assert "1 rows repeat an id: they are taken as further draws, and the first of each counts." in done.json["notes"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk_is_said_in_one_sentence(more: list[str]) -> None:
    arguments = ["score", "mathvision", "--data", str(DEMO), "--split", "testmini", "--replies", str(REPLIES), *more]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "assay", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "assay: No space is left where the output goes. Make room, then repeat the command.\n"


def test_an_unreachable_server_is_said_before_anything_starts(tmp_path: Path) -> None:
    with ChatServer() as server:
        url = server.url  # a port that nobody listens on once the server has stopped
    out = tmp_path / "run"
    done = run(
        *("eval", "mathvision", "--data", DEMO, "--split", "testmini"),
        *("--model", "m", "--base-url", url, "--out", out),
    )
    assert url in one_sentence(done)
    assert not out.exists()


def test_a_wrong_key_and_an_unknown_model_are_said_in_one_sentence(tmp_path: Path) -> None:
    with ChatServer(api_key="right") as server:
        arguments = ["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--base-url", server.url, "--out"]
        sentence = one_sentence(run(*arguments, tmp_path / "a", "--model", "test-model"))
        assert "key" in sentence
        assert server.url in sentence
    with ChatServer() as server:
        arguments = ["eval", "mathvision", "--data", DEMO, "--split", "testmini", "--base-url", server.url, "--out"]
        sentence = one_sentence(run(*arguments, tmp_path / "b", "--model", "tset-model"))
        assert "tset-model" in sentence
        assert "test-model" in sentence  # what the server does serve


def test_a_run_folder_of_another_plan_is_refused_and_kept(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 4)
    arguments = ["eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--out", tmp_path / "run"]
    with ChatServer(answer=lambda _call, _draw: "\\boxed{A}") as server:
        model = ["--model", "test-model", "--base-url", server.url]
        assert run(*arguments, *model).code == 0
        before = (tmp_path / "run" / "outcomes-0.jsonl").read_bytes()
        sentence = one_sentence(run(*arguments, *model, "--temperature", "0.7"))
    assert "temperature" in sentence
    assert "0.7" in sentence
    assert (tmp_path / "run" / "outcomes-0.jsonl").read_bytes() == before


def test_a_split_without_questions_can_be_scored_but_not_asked(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"id": "1", "options": [], "answer": "6", "level": 1, "subject": "counting"}]
    write(tmp_path / "test_meta.jsonl", *rows)
    replies = write(tmp_path / "replies.jsonl", {"id": "1", "response": "\\boxed{6}"})
    scored = run("score", "mathvision", "--data", tmp_path, "--split", "test", "--replies", replies, "--json")
    assert scored.json["robust"]["correct"] == 1
    asked = run("eval", "mathvision", "--data", tmp_path, "--split", "test", "--model", f"replay:{replies}")
    assert "no question text" in one_sentence(asked)


def test_a_bad_picture_is_a_failure_of_its_sample_alone(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 3)
    pictures = sorted((data / "images").iterdir())
    pictures[0].write_bytes(b"\x89PNG\r\n\x1a\n broken")
    with ChatServer(answer=lambda _call, _draw: "\\boxed{A}") as server:
        done = run(
            *("eval", "mathvision", "--data", data, "--split", "testmini", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run"),
        )
    assert done.code == 0, done.err
    assert done.json["samples"] == 3
    assert done.json["counts"]["failed"] == 1
    assert done.json["failures"] == {"image/corrupt": 1}


def test_what_an_error_quotes_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """A picture's name in somebody's data with an escape sequence, a line break and a bidirectional override."""
    hostile = "a\x1b]0;owned\x07\nassay: all is well\u202e.png"
    write(tmp_path / "testmini.jsonl", {**ROW, "image": hostile})
    done = run("eval", "mathvision", "--data", tmp_path, "--split", "testmini", "--model", "scripted:none.jsonl")
    assert one_sentence(done).startswith("assay: ")
    assert "is not there" in done.err
    assert not {char for char in done.err.rstrip("\n") if not char.isprintable()}


def test_replies_that_are_all_null_are_no_score(tmp_path: Path) -> None:
    replies = write(
        tmp_path / "replies.jsonl", {"id": "5", "response": None}, {"id": "11", "response": None}, {"id": "7"}
    )
    done = run("score", "mathvision", "--data", DEMO, "--split", "testmini", "--replies", replies, "--json")
    assert done.code == 1
    assert done.json["robust"]["accuracy"] is None
    assert "call/no_reply 60" in done.err
