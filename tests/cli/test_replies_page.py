"""docs/replies.md is true: its files are read, its commands run in their order, and print what the page shows.

The server at http://127.0.0.1:8000/v1 is a scripted one, `NAME` its model: it finds every reply right where it judges,
and answers `Answer: 15` to everything else.
"""

import asyncio
import re
from pathlib import Path
from typing import get_args

import pytest

from assay.engine.caller import Retry
from assay.engine.store import RunStore
from assay.errors import CallError, CallKind
from assay.models.recorded_lines import EXTRACTION_FIELDS, ID_FIELDS, REPLY_FIELDS
from assay.models.scripted import ScriptedModel
from assay.types import Failure, Reply, Usage
from support.asking import ask, question
from support.command import run
from support.servers import Call, ChatServer

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "replies.md").read_text(encoding="utf-8")
REPLAY, SCRIPTED = PAGE.split("## The rows of `replay:FILE`")[1].split("## The rows of `scripted:FILE`")
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE):
        assert (DOCS / target).exists(), target


def test_commands_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = ""

    def answer(call: Call, _draw: int) -> str:
        return "Verdict: CORRECT" if "Verdict:" in call.question else "Answer: 15"

    with ChatServer(answer=answer) as server:
        for kind, block in BLOCK.findall(PAGE):
            if kind.startswith("json "):
                (tmp_path / kind.removeprefix("json ")).write_text(block, encoding="utf-8")
            if kind == "text":
                _shown(block, printed)
            for command in re.findall(r"^assay .*$", block, re.MULTILINE):
                words = command.replace("NAME", "test-model").replace("http://127.0.0.1:8000/v1", server.url).split()
                done = run(*words[1:])
                assert done.code == 0, (command, done.err)
                printed = done.out
    _kept(tmp_path / "runs")


def _shown(block: str, printed: str) -> None:
    """What the page shows stands in the output, in this order; `...` stands for anything."""
    place = 0
    for part in block.split("...\n"):
        found = printed.find(part, place)
        assert found >= 0, f"the output has no\n{part}\nbut\n{printed[place:]}"
        place = found + len(part)


def _kept(runs: Path) -> None:
    """What the page says of the runs: failures where there is no reply, and replays that equal what they replay."""
    assert _results(runs / "published") == {"1": "right", "2": "wrong", "3": "no_reply"}
    assert _results(runs / "drawn") == {
        "1": "right", "1 [repeat=1]": "wrong", "1 [repeat=2]": "right",
        "2": "wrong", "2 [repeat=1]": "right", "2 [repeat=2]": "right",
        "3": "no_reply", "3 [repeat=1]": "no_reply", "3 [repeat=2]": "no_reply",
    }  # fmt: skip
    assert _results(runs / "voted") == {"1": "right", "2": "right", "3": "no_reply"}
    asked = {"1": "right", "2": "unanswered", "3": "wrong"}
    assert [_results(runs / name) for name in ("asked", "again", "once-more")] == [asked] * 3
    assert _results(runs / "scripted") == {"1": "right", "2": "right", "3": "bad_request"}


def _results(run: Path) -> dict[str, str]:
    """Robust verdict or kind of failure of every line."""
    with RunStore.open(run) as store:
        return {
            line.id: line.result.kind if isinstance(line.result, Failure) else line.result.robust.verdict
            for line in store.outcomes()
        }


# ----------------------------------------------------------------------------------------------------------------------
# Tables


def _rows(text: str) -> dict[str, str]:
    """First cell -> second cell of a table's rows whose first cell is code."""
    return dict(re.findall(r"^\| (`.*?) \| (.*?) \|$", text, re.MULTILINE))


def _names(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`(\w+)`", cell))


def test_names_of_fields_are_those_that_are_looked_for() -> None:
    named = [_names(cell) for cell in _rows(REPLAY)]
    assert {ID_FIELDS, REPLY_FIELDS} <= set(named)
    assert set(EXTRACTION_FIELDS) in [set(names) for names in named]


def test_fields_of_a_script(tmp_path: Path) -> None:
    table = SCRIPTED.split("| kind |")[0]
    whole = {
        "id": '"7"', "index": "2", "reply": '"Answer: B"', "finish": '"length"', "reasoning": '"hm"',
        "usage": '{"prompt_tokens": 40, "completion_tokens": 12}',
        "fail": '{"kind": "server", "message": "down", "times": 1}',
    }  # fmt: skip
    assert [name for cell in _rows(table) for name in _names(cell)] == list(whole)
    path = tmp_path / "script.jsonl"
    path.write_text("{" + ", ".join(f'"{name}": {value}' for name, value in whole.items()) + "}\n", encoding="utf-8")
    model = ScriptedModel.from_file(path)
    with pytest.raises(CallError, match="down"):
        asyncio.run(model.generate(question(sample_id="7", index=2)))
    usage = Usage(prompt_tokens=40, completion_tokens=12)
    expected = Reply(text="Answer: B", reasoning="hm", finish="length", usage=usage, model="scripted:script.jsonl")
    assert ask(model, question(sample_id="7", index=2)) == [(expected,)]


def test_what_follows_a_failure(tmp_path: Path) -> None:
    kinds = {kind: what for cell, what in _rows(SCRIPTED.split("| kind |")[1]).items() for kind in _names(cell)}
    assert set(kinds) == set(get_args(CallKind))
    path = tmp_path / "script.jsonl"
    for kind, what in kinds.items():
        path.write_text(f'{{"id": "a", "fail": {{"kind": "{kind}"}}}}\n', encoding="utf-8")
        with pytest.raises(CallError) as caught:
            ask(ScriptedModel.from_file(path), question(sample_id="a"))
        again = "made again" in what or what.startswith("the same")
        assert (caught.value.kind, caught.value.retryable, caught.value.fatal) == (kind, again, "run stops" in what)
    assert (Retry().attempts, Retry().refusals, Retry().breaker) == (6, 20, 50)  # six, twenty, fifty
