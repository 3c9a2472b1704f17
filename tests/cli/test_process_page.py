"""docs/process-benchmarks.md is true: its commands run, its table of sets is the code's, its numbers are the data's."""

import re
from pathlib import Path

import pytest

from assay.report.published import published
from assay.train.labelled import LABELLED
from support.command import run
from support.process import by_mark, vpb_row, write_rows
from support.rolled import rolled, write_rollouts
from support.servers import Call, ChatServer

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "process-benchmarks.md").read_text(encoding="utf-8")
NAMES = {"macro": "macro F1", "harmonic": "ProcessBench F1", "weighted": "weighted F1"}


def test_the_table_of_sets() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == {name: NAMES[one.headline] for name, one in LABELLED.items()}


def test_published_numbers() -> None:
    table = PAGE[PAGE.index("| random guessing") :].splitlines()
    names, values = (re.findall(r"[^|]+", table[place]) for place in (0, 2))
    shown = {name.strip(): float(value) for name, value in zip(names, values, strict=True)}
    assert shown == {row.model: row.metrics["macro_f1"] for row in published("visualprocessbench")}


def test_commands_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "PICTURES").mkdir()
    write_rows(tmp_path / "test.jsonl", [vpb_row("q", [1, -1], "+-"), vpb_row("r", [1, 1], "++")])
    rows = [{"id": str(n), "problem": str(n), "steps": ["a [ok]", "b [bad]"], "label": n} for n in (-1, 0, 1)]
    for name in ("math.jsonl", "gsm8k.jsonl"):
        write_rows(tmp_path / name, rows)
    process = {"idx": "1", "modified_question": "q", "modified_process": ["a", "b"], "error_steps": [2]}
    write_rows(tmp_path / "prmbench.jsonl", [process])
    write_rollouts(tmp_path / "held-out.jsonl", [rolled("1#0", 4, 0)])
    commands = [line for line in PAGE.splitlines() if line.startswith("assay ")]
    assert len(commands) == 4

    def answer(call: Call, draw: int) -> str:
        if "<solution>" in call.question:
            return by_mark(call, draw)
        return "Answer: 12" if call.body["max_tokens"] > 100 else "+"

    with ChatServer(answer=answer) as server:
        for command in commands:
            words = command.replace("openai:NAME@URL", f"openai:test-model@{server.url}").split()[1:]
            done = run(*words)
            assert done.code == 0, (command, done.err)
