"""One's own data through the whole pipeline, against a real server."""

import base64
import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks.own_columns import ANSWER_TYPES, NAMES
from assay.engine.store import RunStore
from assay.types import Reading
from support.command import finish, run, start
from support.pictures import file_of, noise
from support.servers import Call, ChatServer

ANSWERS = {
    "Which fruit": "I see.\nAnswer: B",
    "How many": "Answer: 12.4",
    "Half of": "Answer: 0.5",
    "Who": "Answer: the Queen",
    "Which two": "Answer: A, C",
    "What share": "Answer: 50",
}


def answer(call: Call, _draw: int) -> str:
    return next((text for start, text in ANSWERS.items() if start in call.question), "no idea what this is about here")


ROWS: list[dict[str, Any]] = [
    {"question": "Which fruit?", "image": "1.png", "options": ["pear", "plum"], "answer": "plum", "topic": "food"},
    {"question": "How many?", "image": "2.png", "answer": 12, "tolerance": 0.5, "topic": "food"},
    {"question": "Half of one?", "answer": "\\frac{1}{2}", "topic": "sums"},
    {"question": "Who waves?", "image": "1.png", "answer": "queen", "topic": "people"},
    {"question": "Which two?", "options": {"A": "x", "B": "y", "C": "z"}, "answer": "A,C", "topic": "sums"},
    {"question": "What share?", "answer": "40%", "topic": "sums"},
]  # the last is answered wrong: 5 of 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pictures").mkdir()
    for name in ("1.png", "2.png"):
        (tmp_path / "pictures" / name).write_bytes(file_of(noise("RGB", (16, 16), int(name[0])), "PNG"))
    return tmp_path


def as_jsonl(folder: Path) -> Path:
    path = folder / "my.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def as_csv(folder: Path) -> Path:
    path = folder / "my.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, ["question", "image", "options", "answer", "tolerance", "topic"])
        writer.writeheader()
        writer.writerows(row | {"options": json.dumps(row["options"]) if "options" in row else ""} for row in ROWS)
    return path


def as_parquet(folder: Path) -> Path:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[dict[str, Any]] = []
    for row in ROWS:
        picture = (folder / "pictures" / row["image"]).read_bytes() if "image" in row else None
        options = [f"{label}: {text}" for label, text in zip("ABC", list(row.get("options", {})), strict=False)]
        rows.append(
            {"tolerance": None}
            | row
            | {"answer": "B" if row["answer"] == "plum" else str(row["answer"])}
            | {"options": options or None, "image": {"bytes": picture, "path": None} if picture else None}
        )
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "my.parquet")
    return folder / "my.parquet"


@pytest.mark.parametrize("make", [as_jsonl, as_csv, as_parquet])
def test_a_table_is_asked_and_scored(folder: Path, monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(folder / "cache"))
    file = make(folder)
    with ChatServer(answer=answer) as server:
        command = [
            *("eval", file, "--images", folder / "pictures", "--out", folder / "run", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url),
        ]
        done = run(*command)
        assert done.code == 0, done.err
        pictures = {call.question.split("Question: ")[1].splitlines()[0]: len(call.pictures) for call in server.calls}
    assert done.json["benchmark"] == f"own:{file.name}"
    assert done.json["counts"]["right"] == 5
    assert done.json["counts"]["wrong"] == 1
    assert done.json["counts"]["failed"] == 0
    assert pictures == {row["question"]: int("image" in row) for row in ROWS}
    topics = {topic: cell["robust"]["correct"] for topic, cell in done.json["facets"]["topic"].items()}
    assert topics == {"food": 2, "people": 1, "sums": 2}
    assert any("number 2" in fact and "choice 2" in fact for fact in done.json["data"])
    with RunStore.open(folder / "run") as store:
        assert store.manifest.benchmark == f"own:{file.name}"
        assert len(bytes.fromhex(store.manifest.revision)) == 32
        assert store.manifest.data == str(file)
        assert store.manifest.reading == Reading(images=str(folder / "pictures"))
    again = run("score", folder / "run", "--json")
    assert again.code == 0, again.err
    assert again.json["robust"] == done.json["robust"]
    compared = run("compare", folder / "run", folder / "run", "--json")
    assert compared.code == 0, compared.err


def test_a_run_knows_how_its_table_was_read(folder: Path) -> None:
    file = folder / "my.jsonl"
    rows = [{"text": "Which fruit?", "right": "B"}, {"text": "Who waves?", "right": "queen"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reading = ["--map", "question=text,answer=right", "--answer-type", "text", "--facets", "right"]
    with ChatServer(answer=answer) as server:
        common = ["--out", folder / "run", "--no-probe", "--json", "--model", "test-model", "--base-url", server.url]
        done = run("eval", file, *reading, *common)
        assert done.code == 0, done.err
        other = run("eval", file, "--map", "question=text,answer=right", *common)
    assert done.json["counts"]["right"] == 2
    assert other.code == 1
    assert "holds another run: reading" in other.err
    moved = folder / "elsewhere.jsonl"
    file.rename(moved)
    lost = run("score", folder / "run")
    assert lost.code == 2
    assert "Give the data with --data" in lost.err
    again = run("score", folder / "run", "--data", moved, "--json")
    assert again.code == 0, again.err
    assert again.json["counts"]["right"] == 2


def test_a_run_is_marked_again_from_anywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied to where its pictures are not, too: marks need no pictures."""
    monkeypatch.chdir(folder)
    as_jsonl(folder)
    with ChatServer(answer=answer) as server:
        model = ["--model", "test-model", "--base-url", server.url, "--no-probe"]
        first = run("eval", "my.jsonl", "--images", "pictures", *model, "--out", "run", "--json")
        assert first.code == 0, first.err
    (folder / "away").mkdir()
    monkeypatch.chdir(folder / "away")
    assert run("score", "../run", "--json").json["robust"] == first.json["robust"]
    assert "reference: strict, the answer as the data writes it" in run("score", "../run").out
    (folder / "pictures").rename(folder / "moved pictures")
    (folder / "my.jsonl").rename(folder / "away" / "my.jsonl")
    (folder / "run").rename(folder / "away" / "run")
    again = run("score", "run", "--data", "my.jsonl", "--json")
    assert again.code == 0, again.err
    assert again.json["robust"] == first.json["robust"]


def test_recorded_replies_are_scored_by_row_number(folder: Path) -> None:
    file = as_csv(folder)
    replies = folder / "replies.jsonl"
    texts = ["Answer: B", "Answer: 11.5", "Answer: 2/4", "Answer: king", "Answer: C and A", "It is 40 %."]
    lines = [{"id": number, "reply": f"Let me see.\n{text}"} for number, text in enumerate(texts, 1)]
    replies.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("score", file, "--replies", replies, "--json")
    assert done.code == 0, done.err
    # All but the king.
    assert done.json["robust"]["correct"] == 5
    # Word for word: B is; 11.5 is not 12; 2/4 isn't \frac{1}{2}; "C and A" isn't A,C; the last announces nothing.
    assert done.json["reference"]["correct"] == 1


def test_parts_by_facet_and_default_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    as_jsonl(folder)
    with ChatServer(answer=answer) as server:
        done = run(
            *("eval", "my.jsonl", "--images", "pictures", "--where", "topic=sums", "--no-probe", "--json"),
            *("--model", "test-model", "--base-url", server.url),
        )
    assert done.code == 0, done.err
    assert done.json["samples"] == 3
    assert (folder / "runs" / "own-my.jsonl-test-model" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["my.jsonl", "--data", "."], "leave --data out"),
        (["mathvision", "--images", "pictures"], "for your own data"),
        (["mathvision", "--map", "question=q"], "for your own data"),
        (["gone.jsonl"], "there is no such file"),
        (["mathvison"], "your own questions"),
        (["hub:a/b/c"], "hub:OWNER/NAME"),
    ],
)
def test_what_does_not_go_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(folder)
    as_jsonl(folder)
    done = run("eval", *arguments, "--model", "x", "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 2
    assert says in done.err


def test_a_benchmarks_name_means_the_benchmark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "mathvision").mkdir()
    (folder / "mathvision" / "my.jsonl").write_text(json.dumps(ROWS[2]) + "\n")
    done = run("score", "mathvision", "--data", "mathvision", "--replies", "mathvision/my.jsonl")
    assert "holds no test.jsonl" in done.err


def test_a_table_in_the_layout_of_another_kit_needs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reported case 242: data of one's own as TSV, with pictures in base64 and a column for each option, could
    be asked by editing a harness' source only. Here the file is the benchmark. (The line ends are those of case 110.)
    """
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    picture = base64.b64encode(file_of(noise("RGB", (16, 16)), "JPEG")).decode()
    rows = [
        ["index", "image", "question", "hint", "A", "B", "C", "D", "answer", "category"],
        ["7", picture, "Which fruit?", "", "pear", "plum", "", "", "B", "food"],
        ["8", picture, "Which fruit\nis red?", "", "pear", "plum", "cherry", "kiwi", "C", "food"],
    ]
    path = tmp_path / "kit.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\r\n").writerows(rows)
    with ChatServer(answer=answer) as server:
        done = run(
            *("eval", path, "--no-probe", "--json", "--out", tmp_path / "run"),
            *("--model", "test-model", "--base-url", server.url),
        )
        assert done.code == 0, done.err
        assert [len(call.pictures) for call in server.calls] == [1, 1]
    # B is right for 7, and wrong for 8.
    assert (done.json["counts"]["right"], done.json["counts"]["wrong"]) == (1, 1)
    with RunStore.open(tmp_path / "run") as store:
        assert store.done_ids() == {"7", "8"}


PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-data.md"


def block(name: str) -> str:
    found = re.findall(rf"^```{name}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(found) == 1, name
    return found[0]


def test_the_page_about_own_data_is_true(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "pictures" / "chart.png").write_bytes((folder / "pictures" / "1.png").read_bytes())
    (folder / "my.jsonl").write_text(block("json rows"), encoding="utf-8")
    replies = [{"id": f"q{number}", "reply": text} for number, text in enumerate(["C", "12.45", "1.5", "Lending"], 1)]
    (folder / "replies.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    commands = block("sh").splitlines()
    assert [command.split()[1] for command in commands] == ["data", "eval", "score", "score"]
    with ChatServer(answer=lambda _call, _draw: "Answer: C") as server:
        for command in commands:
            words = command.replace("NAME", "test-model").replace("http://127.0.0.1:8000/v1", server.url).split()[1:]
            done = run(*words)
            assert done.code == 0, (command, done.err)
            if words[0] == "data":
                assert done.out == block("text check")
            else:
                assert "own:my.jsonl" in done.out
    # The last command: C, 12.45 within 0.1 of 12.5, 1.5 as 3/2; "Lending" alone is not the answer.
    scored = run("score", "my.jsonl", "--replies", "replies.jsonl", "--replies-are", "answers", "--json")
    assert scored.json["robust"]["correct"] == 3


def test_the_page_names_every_purpose_and_name_of_a_column() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for purpose, names in NAMES.items():
        (line,) = re.findall(rf"^\| `{purpose}` \|.*$", text, re.MULTILINE)
        assert ", ".join(names) in line
    for kind in ANSWER_TYPES:
        assert re.search(rf"^\| {kind} \|", text, re.MULTILINE)


def test_a_data_set_on_the_hub(tmp_path: Path) -> None:
    """From the hub's cache, as it lies there after a download; in a process of its own, which reads the settings."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("huggingface_hub")
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "hub" / "datasets--someone--Charts"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text(commit)
    (cached / "snapshots" / commit).mkdir(parents=True)
    rows = [{"query": "Half of one?", "label": "0.5"}, {"query": "How many?", "label": "13"}]
    parquet.write_table(arrow.Table.from_pylist(rows), cached / "snapshots" / commit / "validation.parquet")
    environment = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    with ChatServer(answer=answer) as server:
        done = finish(
            start(
                *("eval", "hub:someone/Charts", "--split", "validation", "--map", "answer=label", "--no-probe"),
                *("--model", "test-model", "--base-url", server.url, "--out", tmp_path / "run", "--json"),
                **environment,
            )
        )
    assert done.code == 0, done.err
    assert (done.json["benchmark"], done.json["revision"]) == ("own:hub:someone/Charts", commit)
    assert (done.json["counts"]["right"], done.json["counts"]["wrong"]) == (1, 1)
    again = finish(start("score", tmp_path / "run", "--json", **environment))
    assert again.code == 0, again.err
    assert again.json["counts"] == done.json["counts"]
