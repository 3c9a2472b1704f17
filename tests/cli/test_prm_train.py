"""`assay prm train` on the command line; the training itself is tested in tests/train/test_sft.py."""

import sys
import tomllib
from pathlib import Path

import pytest

from assay.train.recipe import Recipe, changes, read_recipe, toml
from support.chat_rows import RIGHT, chat_row, write_rows
from support.command import run

RECIPES = Path(__file__).parents[2] / "recipes"


def test_options_win_over_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('lr = 0.5\nbatch_size = 3\nmodel = "one"\n')
    recipe = read_recipe(tmp_path / "own.toml", lr=0.25, model=None)
    assert (recipe.lr, recipe.batch_size, recipe.model, recipe.epochs) == (0.25, 3, "one", 1.0)


def test_a_recipe_is_read_back_as_it_is_written(tmp_path: Path) -> None:
    recipe = read_recipe(None, data='a "quoted" ü\n.jsonl', lr=3e-7, max_steps=5, merge=True, picture_memory=2**40)
    (tmp_path / "written.toml").write_text(toml(recipe), encoding="utf-8")
    assert read_recipe(tmp_path / "written.toml") == recipe
    assert changes(recipe, read_recipe(tmp_path / "written.toml", lr=1e-3, keep_checkpoints=9)) == [
        "lr: 3e-07 -> 0.001"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("learning_rate = 1e-5", "learning_rate: no such setting"),
        ("lr = 'fast'", "Expected `float`, got `str`"),
        ("lr =", "can't be read as a recipe"),
        ("method = 'qlora'", "Invalid enum value 'qlora'"),
        ("batch_size = 0", "batch_size must be at least 1, not 0"),
        ("warmup = 1.5", "warmup must be a share below 1 or a whole number of steps"),
        ("lr = nan", "lr must be above 0, not nan"),
        ("max_steps = 0", "max_steps must be at least 1, not 0"),
    ],
)
def test_a_recipe_that_can_not_be_used(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    done = run("prm", "train", "rows.jsonl", "--recipe", tmp_path / "own.toml")
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_the_recipe_of_the_paper_can_be_read() -> None:
    recipe = read_recipe(RECIPES / "gm-prm-qwen2.5-vl-7b.toml")
    # A published neighbour's: global batch 512 on 8 processes, 8,192 tokens, 784 to 200,704 pixels.
    assert recipe.batch_size * recipe.accumulate * 8 == 512
    assert (recipe.max_length, recipe.min_pixels, recipe.max_pixels) == (8192, 28 * 28, 448 * 448)
    assert (recipe.lr, recipe.weight_decay, recipe.warmup, recipe.epochs) == (1e-5, 0.05, 0.05, 1.0)
    assert (recipe.freeze_vision, recipe.verdict_weight, recipe.dtype) == (True, 1.0, "bf16")
    lines = (RECIPES / "gm-prm-qwen2.5-vl-7b.toml").read_text().splitlines()
    for line in lines:  # every value with its source
        if line and not line.startswith("#"):
            assert "[ours]" in line or "[neighbour]" in line or "the paper" in line, line
    assert set(tomllib.loads("\n".join(lines))) <= set(Recipe.__struct_fields__)


@pytest.mark.parametrize("missing", ["trl", "datasets", "peft"])
def test_a_missing_library_is_one_sentence(tmp_path: Path, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'assay[local]'")
    monkeypatch.setitem(sys.modules, missing, None)  # as Python does for what can't be imported
    done = run("prm", "train", "rows.jsonl", "--model", "m", "--out", tmp_path / "run", "--method", "lora")
    assert done.code == 2
    assert done.err == "assay: Training needs an optional package: pip install 'assay[train]'\n"


@pytest.mark.local
def test_what_is_not_said_is_asked_for(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", [chat_row(0)])
    for arguments, words in (
        ((), "The recipe says nothing of 'out'"),
        (("--out", tmp_path / "run"), "The recipe says nothing of 'data'"),
        (("--out", tmp_path / "run", rows), "The recipe says nothing of 'model'"),
        (("--out", tmp_path / "run", tmp_path / "none.jsonl"), "can't be read"),
        (("--out", tmp_path / "run", rows, "--model", tmp_path / "none"), "there is no such folder"),
    ):
        done = run("prm", "train", *arguments)
        assert done.code == 2
        assert words in done.err


@pytest.mark.local
def test_from_rows_to_a_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="needs TRL: pip install 'assay[train]'")
    from support.tiny import build_qwen

    model = build_qwen(tmp_path / "model")
    rows = write_rows(tmp_path / "rows.jsonl", [chat_row(number) for number in range(4)])
    held_out = write_rows(tmp_path / "held-out.jsonl", [chat_row(9)])
    out = tmp_path / "run"
    arguments = ("prm", "train", rows, "--held-out", held_out, "--model", model, "--out", out, "--max-steps", "3")
    arguments += ("--eval-tokens", "20", "--lr", "1e-3", "--train-vision", "--batch-size", "2")
    looked = run(*arguments, "--pre-flight-only")
    assert looked.code == 0
    assert f"⟦{RIGHT}<|end|>⟧" in looked.out
    assert not out.exists()
    done = run(*arguments)
    assert done.code == 0, done.err
    assert "step 3, loss " in done.out
    assert f"saved: {out / 'model'}" in done.out
    written = read_recipe(out / "recipe.toml")
    assert (written.max_steps, written.lr, written.freeze_vision) == (3, 1e-3, False)
    again = run(*arguments)
    assert (again.code, again.out.splitlines()[-1]) == (0, f"{out / 'model'} is there already: the run is complete.")
    other = run(*arguments, "--seed", "4")
    assert other.code == 1
    assert "holds another run: seed: 0 -> 4" in other.err
