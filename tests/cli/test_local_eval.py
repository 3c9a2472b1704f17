"""`assay eval --model local:PATH`: a checkpoint in this process through the whole pipeline, and resumed."""

import json
from pathlib import Path

import pytest

from support.command import make_questions, run

pytest.importorskip("torch", reason="needs the extra `local`")
pytest.importorskip("transformers", reason="needs the extra `local`")

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


def test_a_checkpoint_answers_packaged_questions_and_a_second_start_asks_nothing(tmp_path: Path) -> None:
    from support.tiny import build_llava

    checkpoint = build_llava(tmp_path / "tiny", context=2048)
    data = make_questions(tmp_path / "data", 8)
    arguments: list[str | Path] = [
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--limit", "6", "--json"),
        *("--model", f"local:{checkpoint}", "--max-tokens", "8", "--concurrency", "4", "--out", tmp_path / "run"),
    ]
    first = run(*arguments)
    assert first.code == 0, first.err
    assert first.json["samples"] == 6
    # An untrained model writes noise: every sample ends in a verdict, and none in a failure.
    assert first.json["counts"]["failed"] == 0
    assert sum(first.json["counts"].values()) == 6
    lines = [json.loads(line) for line in (tmp_path / "run" / "outcomes-0.jsonl").read_text().splitlines()]
    assert all(line["attempts"] == 1 for line in lines)
    second = run(*arguments)
    assert second.json["robust"] == first.json["robust"]
    assert len((tmp_path / "run" / "outcomes-0.jsonl").read_text().splitlines()) == 6
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["model"].startswith("local:")
