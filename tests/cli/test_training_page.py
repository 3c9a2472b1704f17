"""docs/training.md is true: its commands run in their order on a tiny checkpoint, and print what the page shows.

What a command of the page is in the test:

| the page | here |
|---|---|
| `NAME`, `TEACHER` at http://127.0.0.1:8000/v1 | the scripted server of `support.training_world` |
| `questions.jsonl`, `test-questions.jsonl` | twelve and four packaged MATH-Vision items |
| `DATA` | the packaged DynaMath items |
| `MODEL`, `QWEN` | a LLaVA and a Qwen2.5-VL with random weights |
| `--lr 1e-4` | `TINY`: what lets random weights learn the form of a critique in some seconds |
| `VisualPRM400K-v1.1-Raw` | rows made by hand in the published form, one of them malformed |
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.command import PACKAGED, run
from support.process import critique, write_rows
from support.servers import ChatServer
from support.tiny import build_llava, build_qwen
from support.training_world import POLICY, TEACHER, TURNS, World, packaged_questions, write_questions

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
TINY = "--lr 3e-2 --lora-rank 8 --max-steps 40 --batch-size 4 --eval-rows 4 --eval-tokens 200"
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_links_lead_somewhere_and_files_are_there() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for name in re.findall(r"recipes/[\w./-]+\w", PAGE):
        assert (ROOT / name).exists(), name


def test_every_drop_reason_is_told() -> None:
    stages = (ROOT / "src" / "assay" / "train" / "filter.py").read_text(encoding="utf-8").split('"""')[1]
    kinds = {kind for row in re.findall(r"^\| [^|]+ \| ([^|]+) \|$", stages, re.MULTILINE) for kind in row.split(", ")}
    table = "\n".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", table)) == kinds - {"dropped as"}


@pytest.mark.local
@pytest.mark.timeout(400)
def test_commands_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trl", reason="needs TRL: pip install 'assay[train]'")
    monkeypatch.chdir(tmp_path)
    rows = _user(tmp_path)
    commands = re.findall(r"^assay .*$", PAGE, re.MULTILINE)
    assert {" ".join(command.split()[1:3]) for command in commands if " prm " in command} == {
        f"prm {name}" for name in ("rollouts", "label", "filter", "export", "train", "eval")
    }
    printed = ""
    with ChatServer(answer=World(rows).answer, models=(POLICY, TEACHER)) as server:
        for kind, block in BLOCK.findall(PAGE):
            if kind.startswith("text"):
                _shown(block, printed, numbers="numbers vary" not in kind)
            for command in re.findall(r"^assay .*$", block, re.MULTILINE):
                words = command.replace("http://127.0.0.1:8000/v1", server.url).replace("--lr 1e-4", TINY)
                done = run(*words.split()[1:])
                assert done.code == 0, (command, done.err)
                printed = done.out
                if "--pre-flight-only" not in command:
                    asked = len(server.calls)
                    assert run(*words.split()[1:]).code == 0, command
                    assert "probe" in done.err or len(server.calls) - asked < 8, command  # no more than a probe
    _served(tmp_path)


def _shown(block: str, printed: str, *, numbers: bool) -> None:
    """What the page shows stands in the output, in this order; `...` stands for anything."""
    masked = printed if numbers else _masked(printed)
    place = 0
    for shown in re.split(r"\.\.\.\n", block):
        part = shown if numbers else _masked(shown)
        found = masked.find(part, place)
        assert found >= 0, f"the output has no\n{part}\nbut\n{masked[place:]}"
        place = found + len(part)


def _masked(text: str) -> str:
    """Numbers, and the blanks and lines of tables that make room for them, are not compared."""
    return re.sub(r"[-+ ~]*\[?[-+]?\d[\d,.]*\]?%?|-{3,}| -(?=\s)| {2,}", " ~ ", text)


def _served(folder: Path) -> None:
    """The adapter wrote critiques that could be read, and the search asked it."""
    result = json.loads((folder / "runs" / "critic-test" / "report" / "result.json").read_text())
    assert result["judged"] > 0
    assert sum(result["unjudged"].values()) + result["judged"] == result["solutions"] == 16
    assert (folder / "runs" / "critic" / "model" / "adapter_model.safetensors").exists()
    pools = (folder / "runs" / "refined" / "pools-0.jsonl").read_text().splitlines()
    assert len(pools) == 4


# ----------------------------------------------------------------------------------------------------------------------
# What a user has


def _user(folder: Path) -> list[dict[str, Any]]:
    """A user's folder; the questions that the server can solve."""
    rows = packaged_questions()[:16]
    write_questions(folder / "questions.jsonl", rows[:12])
    write_questions(folder / "test-questions.jsonl", rows[12:])
    shutil.copytree(PACKAGED / "dynamath", folder / "DATA")
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    build_llava(folder / "MODEL", context=8192, words=_words(rows), vocabulary=1500)
    build_qwen(folder / "QWEN", context=8192)
    _visualprm(folder / "VisualPRM400K-v1.1-Raw")
    return rows


def _words(rows: list[dict[str, Any]]) -> str:
    """What the tokenizer is made of: with these a row has some 550 tokens."""
    prompt = (ROOT / "src" / "assay" / "solve" / "prompts" / "critic.txt").read_text(encoding="utf-8")
    steps = [turn.format(", by mistake", "A") for turn in TURNS]
    critiques = [critique([True] * 3), critique([True, False, False], correction="We look again.")]
    return "\n".join([prompt, *steps, *critiques, *(row["question"] for row in rows)])


def _visualprm(folder: Path) -> None:
    picture = folder / "Geometry3K" / "train" / "1" / "img_diagram.png"
    picture.parent.mkdir(parents=True)
    shutil.copy(PACKAGED / "mathvision" / "images" / "183.jpg", picture)

    def row(steps: list[str], *right: int) -> dict[str, Any]:
        scored = [
            {"step": step, "score": count / 16, "num_mc_correct": count, "num_mc_total": 16}
            for step, count in zip(steps, right, strict=True)
        ]
        asked = {"question": "<image>\nFind the angle D.", "answer": "120", "response": "\n\n".join(steps)}
        return asked | {"image": str(picture.relative_to(folder.parent)), "steps_with_score": scored}

    (folder / "annotations").mkdir()
    good = row(["We look at the picture.", "So the angle is 120."], 16, 12)
    bad = row(["We look at the picture.", "So the angle is, by mistake, 100."], 9, 0)
    malformed = good | {"steps_with_score": good["steps_with_score"][:1]}
    write_rows(folder / "annotations" / "Geometry3K.jsonl", [good, bad, malformed])
