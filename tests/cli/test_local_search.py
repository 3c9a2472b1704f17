"""A search with checkpoints in this process: policy and likelihood critic, prefilled continuations, resumed."""

import json
from pathlib import Path

import pytest

from support.command import make_questions, run

pytest.importorskip("torch", reason="needs the extra `local`")
pytest.importorskip("transformers", reason="needs the extra `local`")

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]


def test_checkpoints_search_and_a_second_start_asks_nothing(tmp_path: Path) -> None:
    from support.tiny import build_llava

    checkpoint = build_llava(tmp_path / "tiny", context=2048)
    data = make_questions(tmp_path / "data", 3)
    arguments: list[str | Path] = [
        *("eval", "mathvision", "--data", data, "--split", "testmini", "--json", "--out", tmp_path / "run"),
        *("--model", f"local:{checkpoint}", "--max-tokens", "8", "--concurrency", "4"),
        *("--search", "refined-bon", "--n", "2,4", "--critic", f"likelihood:local:{checkpoint}"),
    ]
    first = run(*arguments)
    assert first.code == 0, first.err
    assert first.json["counts"]["failed"] == 0
    found = first.json["controls"]
    assert found["pools"] == 3
    assert {way: row["n"] for way, row in found["strategies"].items()} == {
        "greedy": 1,
        "self-consistency": 4,
        "best-of-n": 4,
        "weighted-vote": 4,
        "refined-bon": 4,
        "pass": 4,
        "pass-refined": 4,
    }
    # Noise is improbable, so the critic flags it and writes a correction of its own for every solution that has text.
    critic = found["critic"]
    assert critic["judged"] + sum(critic["unjudged"].values()) == critic["asked"] == 12
    assert found["tokens_known"]
    second = run(*arguments)
    assert second.code == 0, second.err
    assert second.json["controls"] == found
    assert len((tmp_path / "run" / "pools-0.jsonl").read_text().splitlines()) == 3
    search = json.loads(json.loads((tmp_path / "run" / "manifest.json").read_text())["search"])
    assert search["critic"].startswith("likelihood:local:")
