"""Fine-tuning on tiny checkpoints: what transformers and PyTorch give by hand is the measure."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assay.errors import DataError, RunError, RunMismatch, UsageError
from assay.models.local_checkpoint import load_checkpoint
from assay.train.recipe import Recipe, read_recipe
from assay.train.sft import train
from support.chat_rows import RIGHT, WRONG, chat_row, write_rows
from support.tiny import build_idefics3, build_llava, build_qwen, build_text

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install 'assay[train]'")
pytest.importorskip("trl", reason="needs TRL: pip install 'assay[train]'")

pytestmark = pytest.mark.local

BUILDERS: dict[str, Callable[..., Path]] = {
    "llava": build_llava,
    "idefics3": build_idefics3,
    "qwen": build_qwen,
    "text": build_text,
}
VISION = ("llava", "idefics3", "qwen")


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A checkpoint of each kind."""
    base = tmp_path_factory.mktemp("checkpoints")
    return {kind: build(base / kind) for kind, build in BUILDERS.items()}


def recipe(folder: Path, model: Path, rows: Sequence[dict[str, Any]], **settings: Any) -> Recipe:
    """A run over these rows in a folder of its own."""
    data = write_rows(folder / "train.jsonl", rows)
    defaults = {"lr": 1e-3, "warmup": 0.0, "batch_size": 4, "eval_rows": 0, "save_every": 0, "freeze_vision": False}
    named = {"data": str(data), "model": str(model), "out": str(folder / "run")}
    return read_recipe(None, **{**defaults, **named, **settings})


def silent(_: str) -> None:
    """Nobody listens."""


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "training.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, Any]:
    return dict(load_checkpoint(folder, device="cpu").model.state_dict())


def furthest(first: dict[str, Any], second: dict[str, Any]) -> float:
    """The largest difference between any two weights."""
    assert first.keys() == second.keys()
    return max(float((first[name] - second[name]).abs().max()) for name in first)


# --------------------------------------------------------------------------------------------------------------------
# The loss


def losses_by_hand(model: Path, folder: Path, rows: Sequence[dict[str, Any]]) -> list[tuple[float, int]]:
    """Of every row the cross-entropy, summed over the tokens of its completion and the one that ends the turn, and how
    many these are: by the processor's own call on the whole row, alone, without padding."""
    checkpoint = load_checkpoint(model, device="cpu")
    found: list[tuple[float, int]] = []
    for row in rows:
        image = {"qwen": "<|vision_start|><|image_pad|><|vision_end|>", "llava": "<image>\n"}.get(model.name, "<image>")
        prompt = f"<|start|>user\n{image * len(row['images'])}{row['prompt']}<|end|>\n<|start|>assistant\n"
        if checkpoint.processor is None:
            prompt = f"<|start|>user\n{row['prompt']}<|end|>\n<|start|>assistant\n"
        text = prompt + row["completion"] + "<|end|>"
        pictures = [Image.open(folder / name) for name in row["images"]]
        if pictures:
            inputs = checkpoint.processor(text=[text], images=[pictures], return_tensors="pt")
        else:
            inputs = checkpoint.tokenizer([text], return_tensors="pt")
        behind = len(checkpoint.tokenizer.encode(row["completion"], add_special_tokens=False)) + 1
        with torch.no_grad():
            logits = checkpoint.model(**inputs).logits[0].double()
        logprobs = logits[:-1].log_softmax(-1).gather(-1, inputs["input_ids"][0, 1:, None])[-behind:, 0]
        found.append((-float(logprobs.sum()), behind))
    return found


@pytest.mark.parametrize("kind", BUILDERS)
def test_the_loss_is_that_of_the_completions_tokens_alone(folders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    # Rows with and without pictures in one batch, of different lengths: padding, positions and pictures must be right.
    rows = [
        chat_row(at, picture=kind != "text" and at % 3 != 0, prompt=f"Is it {'very ' * at}right?") for at in range(4)
    ]
    setting = recipe(tmp_path, folders[kind], rows, max_steps=1, lr=1e-9)
    train(setting, say=silent)
    sums = losses_by_hand(folders[kind], tmp_path, rows)
    assert lines(tmp_path / "run")[-1]["loss"] == pytest.approx(
        sum(loss for loss, _ in sums) / sum(count for _, count in sums), rel=1e-4
    )


def test_held_out_loss_is_that_of_its_tokens(folders: dict[str, Path], tmp_path: Path) -> None:
    held_out = [chat_row(at, picture=at != 12) for at in range(10, 15)]
    path = write_rows(tmp_path / "held-out.jsonl", held_out)
    setting = recipe(
        tmp_path, folders["qwen"], [chat_row(0)], held_out=str(path), max_steps=1, lr=1e-9, verdict_weight=5.0
    )
    train(setting, say=silent)
    sums = losses_by_hand(folders["qwen"], tmp_path, held_out)
    expected = sum(loss for loss, _ in sums) / sum(count for _, count in sums)
    assert lines(tmp_path / "run")[-1]["held_out_loss"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["qwen", "text"])
def test_eight_batches_of_one_are_one_of_eight(folders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    # Completions of unlike lengths: the mean of means would weigh their tokens differently.
    rows = [
        chat_row(at, picture=kind != "text", completion=(RIGHT if at % 2 else WRONG) + "\nand more" * at)
        for at in range(8)
    ]
    for name, batch, accumulate in (("one", 8, 1), ("eight", 1, 8)):
        setting = recipe(
            tmp_path / name, folders[kind], rows, batch_size=batch, accumulate=accumulate, epochs=3, max_grad_norm=0.5
        )
        train(setting, say=silent)
    one, eight = lines(tmp_path / "one" / "run")[-1], lines(tmp_path / "eight" / "run")[-1]
    assert one["step"] == eight["step"] == 3
    assert one["loss"] == pytest.approx(eight["loss"], rel=1e-5)
    assert furthest(weights(tmp_path / "one/run/model"), weights(tmp_path / "eight/run/model")) < 1e-4
