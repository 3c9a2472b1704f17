"""`assay demo` from the first word to the page, on tiny checkpoints with random weights; and without torch."""

import json
import re
import sys
from pathlib import Path

import pytest

from assay.engine.store import RunStore
from support.command import run
from support.tiny import build_llava


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_llava(tmp_path_factory.mktemp("demo") / "model")


@pytest.mark.local
def test_the_demonstration_ends_with_a_table_and_a_page(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    arguments = ("demo", "--questions", "4", "--n", "2", "--model", f"local:{folder}", "--out", tmp_path)
    done = run(*arguments, "--critic", f"likelihood:local:{folder}")
    assert done.code == 0, done.err
    assert "The result: 4 questions of FinCharts-lite" in done.out
    table = done.out.partition("The result:")[2]
    for way in ("greedy", "self-consistency@2", "best-of-2", "Refined-BoN@2", "ceiling: pass@2"):
        assert way in table
    assert "FinScore" in done.out
    assert "4/4" in done.err  # progress
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    with RunStore.open(tmp_path / "fincharts-lite") as store:
        first = [outcome.sample_id for outcome in store.outcomes()]
    assert len(first) == 4

    # The same again finds everything; another number of questions is another run, in its place.
    again = run(*arguments, "--critic", f"likelihood:local:{folder}")
    assert again.code == 0, again.err
    assert again.out.partition("The result:")[2] == table
    fewer = run(*arguments, "--critic", f"likelihood:local:{folder}", "--questions", "2")
    assert fewer.code == 0, fewer.err
    assert "The result: 2 questions" in fewer.out


@pytest.mark.local
def test_a_run_of_the_users_own_stays(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    own = tmp_path / "runs" / "fincharts-lite"
    arguments = ("--model", f"local:{folder}", "--out")
    paid = run("eval", "fincharts-lite", "--split", "held-out:2", *arguments, own)
    assert paid.code == 0, paid.err
    kept = (own / "outcomes-0.jsonl").read_bytes()
    assert kept.count(b"\n") == 2
    done = run("demo", "--questions", "2", "--critic", f"likelihood:local:{folder}", *arguments, tmp_path / "runs")
    assert done.code == 2
    assert f"{own} holds a run that is not this demonstration's" in done.err
    assert (own / "outcomes-0.jsonl").read_bytes() == kept


def test_a_replay_replaces_earlier_ones_and_nothing_else(tmp_path: Path) -> None:
    replayed = tmp_path / "demo"
    assert run("demo", "--replay", "--out", replayed).code == 0
    assert run("demo", "--replay", "--out", replayed).code == 0  # in the place of the first
    one = replayed / "mathvision" / "Random-Chance"
    manifest = json.loads((one / "manifest.json").read_bytes())
    del manifest["environment"]["demo"]
    (one / "manifest.json").write_text(json.dumps(manifest))
    kept = (one / "outcomes-0.jsonl").read_bytes()
    done = run("demo", "--replay", "--out", replayed)
    assert done.code == 2
    assert f"{one} holds a run that is not this demonstration's" in done.err
    assert (one / "outcomes-0.jsonl").read_bytes() == kept


def _shape(text: str) -> list[list[str]]:
    """The words of the last table, without its numbers; `@8` and `best-of-8` are words."""
    lines = text.partition("The result: ")[2].split("\n\n")[0].split("```")[0].splitlines()
    return [re.sub(r"(?<![@-])\b\d[\d.]*", "0", line).split() for line in lines if not line.startswith("---")]


@pytest.mark.local
def test_the_readme_shows_what_the_shipped_models_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    done = run("demo", "--questions", "16", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert _shape(done.out) == _shape(readme)
    assert [line[0] for line in _shape(readme)[2:7]] == [
        "greedy",
        "self-consistency@8",
        "best-of-8",
        "Refined-BoN@8",
        "ceiling:",
    ]


def test_without_torch_one_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails, as where it is not installed
    (tmp_path / "model").mkdir()
    done = run("demo", "--questions", "1", "--model", f"local:{tmp_path / 'model'}", "--out", tmp_path / "out")
    assert done.code == 2
    assert "pip install torch==2.13.0" in done.err
    assert "assay demo --replay" in done.err
    assert "Traceback" not in done.err
