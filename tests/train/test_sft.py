"""Fine-tuning on tiny checkpoints: what transformers and PyTorch give by hand is the measure."""

import asyncio
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assay.errors import DataError, RunError, RunMismatch, UsageError
from assay.models.local_checkpoint import load_checkpoint
from assay.solve.critic import open_critic
from assay.solve.records import Critique, Sampled, Solution
from assay.train.chat import read_chat
from assay.train.launch import quiet
from assay.train.pictures import Pictures
from assay.train.preflight import PreFlight
from assay.train.recipe import Recipe, read_recipe, toml
from assay.train.run_folder import RunFolder
from assay.train.sft import Run, train
from assay.types import Message, Sample, TextGold, TextPart
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


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Sums over several threads come in another order, and differ in the last digits; other tests may have set more."""
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
        processor: Any = checkpoint.processor
        if pictures:
            inputs = processor(text=[text], images=[pictures], return_tensors="pt")
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


@pytest.mark.parametrize(
    ("kind", "count", "size", "grouped"), [("qwen", 8, 8, False), ("text", 8, 8, False), ("text", 17, 2, True)]
)
def test_batches_of_one_are_one_of_all(
    folders: dict[str, Path], tmp_path: Path, kind: str, count: int, size: int, grouped: bool
) -> None:
    # Completions of unlike lengths: the mean of means would weigh their tokens differently.
    rows = [
        chat_row(at, picture=kind != "text", completion=(RIGHT if at % 2 else WRONG) + "\nand more" * (at % 8))
        for at in range(count)
    ]
    for name, batch, accumulate in (("one", size, 1), ("many", 1, size)):
        setting = recipe(
            tmp_path / name, folders[kind], rows, batch_size=batch, accumulate=accumulate, epochs=3, max_grad_norm=0.5,
            group_by_length=grouped,
        )  # fmt: skip
        train(setting, say=silent)
    one, many = lines(tmp_path / "one" / "run")[-1], lines(tmp_path / "many" / "run")[-1]
    assert one["step"] == many["step"] == 3 * -(-count // size)
    assert one["loss"] == pytest.approx(many["loss"], rel=1e-5)
    assert furthest(weights(tmp_path / "one/run/model"), weights(tmp_path / "many/run/model")) < 1e-4


def test_a_verdicts_weight_counts_in_the_mean(folders: dict[str, Path], tmp_path: Path) -> None:
    # weighted mean = (sum + (W - 1) * sum over the verdicts' tokens) / (tokens + (W - 1) * verdicts' tokens)
    rows = [chat_row(0, picture=False)]
    found: dict[float, float] = {}
    for weight in (1.0, 3.0, 5.0):
        setting = recipe(tmp_path / str(weight), folders["text"], rows, max_steps=1, lr=1e-9, verdict_weight=weight)
        train(setting, say=silent)
        found[weight] = lines(tmp_path / str(weight) / "run")[-1]["loss"]
    ((total, tokens),) = losses_by_hand(folders["text"], tmp_path, rows)
    assert found[1.0] == pytest.approx(total / tokens, rel=1e-5)
    # Two verdicts of k tokens each, whose loss is v: from W = 3 follows v, and v foretells W = 5.
    k = 2 * len(load_checkpoint(folders["text"], device="cpu").tokenizer.encode("Correct", add_special_tokens=False))
    v = (found[3.0] * (tokens + 2 * k) - total) / 2
    assert found[5.0] == pytest.approx((total + 4 * v) / (tokens + 4 * k), rel=1e-4)


# --------------------------------------------------------------------------------------------------------------------
# Training


def test_eight_rows_are_learned_by_heart_and_written(folders: dict[str, Path], tmp_path: Path) -> None:
    rows = [chat_row(at, picture=at % 4 != 3) for at in range(8)]
    held_out = write_rows(
        tmp_path / "same.jsonl", [chat_row(at, picture=at % 4 != 3, group="other") for at in range(8)]
    )
    said: list[str] = []
    setting = recipe(
        tmp_path, folders["qwen"], rows, held_out=str(held_out), batch_size=8, max_steps=120, lr=1e-2, eval_rows=8,
        eval_tokens=100, eval_every=60,
    )  # fmt: skip
    train(setting, say=said.append)
    first, last = lines(tmp_path / "run")
    assert (first["step"], last["step"]) == (60, 120)
    assert last["held_out_loss"] < 0.05
    assert (last["f1_right"], last["f1_wrong"], last["critiques"]) == (1.0, 1.0, 8)
    assert (last["unparsable"], last["truncated"], last["failed"]) == (0, 0, 0)
    assert any("step 120, loss" in line and "F1 of right steps 1.0000, of wrong ones 1.0000" in line for line in said)


def test_a_frozen_vision_tower_does_not_move(folders: dict[str, Path], tmp_path: Path) -> None:
    rows = [chat_row(0), chat_row(1)]
    before = weights(folders["qwen"])
    for freeze in (True, False):
        folder = tmp_path / str(freeze)
        train(recipe(folder, folders["qwen"], rows, max_steps=2, freeze_vision=freeze), say=silent)
        after = weights(folder / "run" / "model")
        moved = {name for name in before if not before[name].equal(after[name])}
        assert any("language_model" in name for name in moved)
        assert any("visual" in name for name in moved) is not freeze


def test_settings_of_the_checkpoint_come_along(folders: dict[str, Path], tmp_path: Path) -> None:
    setting = recipe(tmp_path, folders["qwen"], [chat_row(0)], max_steps=1, max_pixels=56 * 28)
    train(setting, say=silent)
    saved = load_checkpoint(tmp_path / "run" / "model", device="cpu")
    source = load_checkpoint(folders["qwen"], device="cpu")
    assert saved.template == source.template
    assert saved.ends == source.ends
    assert saved.tokenizer.get_vocab() == source.tokenizer.get_vocab()
    assert saved.processor is not None
    assert saved.processor.image_processor.size["longest_edge"] == 56 * 28  # what was trained with
    assert read_recipe(tmp_path / "run" / "recipe.toml") == setting


def test_the_result_is_stored_as_the_checkpoint_was(folders: dict[str, Path], tmp_path: Path) -> None:
    small = tmp_path / "small"
    shutil.copytree(folders["qwen"], small)
    load_checkpoint(small, device="cpu", dtype="bfloat16").model.save_pretrained(small)
    train(recipe(tmp_path, small, [chat_row(0)], max_steps=1), say=silent)
    assert str(load_checkpoint(tmp_path / "run/model", device="cpu", dtype="auto").model.dtype) == "torch.float32"
    config = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert (config["dtype"], config["text_config"]["dtype"]) == ("bfloat16", "bfloat16")
    size = [(folder / "model.safetensors").stat().st_size for folder in (small, tmp_path / "run" / "model")]
    assert size[1] == pytest.approx(size[0], rel=0.01)
    before, after = weights(small), weights(tmp_path / "run" / "model")
    assert 0 < furthest(before, after) < 0.1


def test_the_best_weights_may_be_the_result(folders: dict[str, Path], tmp_path: Path) -> None:
    held_out = write_rows(tmp_path / "held-out.jsonl", [chat_row(11, picture=False)])
    setting = recipe(
        tmp_path, folders["text"], [chat_row(0, picture=False)], held_out=str(held_out), max_steps=40, lr=3e-2,
        schedule="constant", eval_every=2, keep="best",
    )  # fmt: skip
    train(setting, say=silent)
    measured = [line["held_out_loss"] for line in lines(tmp_path / "run")]
    assert min(measured) < measured[-1]  # one row only: overfitted by the end
    again = recipe(tmp_path / "again", tmp_path / "run" / "model", [chat_row(0, picture=False)], max_steps=1, lr=1e-9,
                   held_out=str(held_out))  # fmt: skip
    train(again, say=silent)
    assert lines(tmp_path / "again" / "run")[-1]["held_out_loss"] == pytest.approx(min(measured), rel=1e-4)


# --------------------------------------------------------------------------------------------------------------------
# An adapter


def judged(address: str) -> Critique:
    """What the critic says of a solution of one step, asked as at test time."""

    async def run() -> Any:
        critic = open_critic(address, logprobs=False)
        try:
            sample = Sample(id="1", question="", gold=TextGold(values=("7",)), group="1")
            message = Message(role="user", parts=(TextPart(text="Is it right?"),))
            return await critic.critique(
                sample, [message], Solution(steps=("It is 7.",), answer=None, origin=Sampled(index=0))
            )
        finally:
            await critic.close()

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("merge", [False, True])
def test_an_adapter_is_saved_loaded_and_serves_as_a_critic(
    folders: dict[str, Path], tmp_path: Path, merge: bool
) -> None:
    big = build_qwen(tmp_path / "base", context=2048)
    from assay.solve.generative import critique_message

    (part,) = critique_message([Message(role="user", parts=(TextPart(text="Is it right?"),))], ["It is 7."]).parts
    assert isinstance(part, TextPart)
    rows = [chat_row(0, picture=False, prompt=part.text)]
    setting = recipe(
        tmp_path, big, rows, method="lora", merge=merge, freeze_vision=True, lora_rank=8, max_steps=60, lr=3e-2
    )
    train(setting, say=silent)
    model = tmp_path / "run" / "model"
    assert (model / "adapter_model.safetensors").exists() is not merge
    said = judged(f"local:{model}")
    assert isinstance(said, Critique), said
    assert [step.correct for step in said.steps] == [True]
    base, adapted = load_checkpoint(big, device="cpu"), load_checkpoint(model, device="cpu")
    assert base.identity != adapted.identity
    assert weights(big).keys() == weights(model).keys()
    assert (model / "tokenizer.json").exists()


def test_an_adapter_of_an_adapter_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    setting = recipe(
        tmp_path, folders["text"], [chat_row(0, picture=False)], method="lora", freeze_vision=True, max_steps=1
    )
    train(setting, say=silent)
    again = recipe(
        tmp_path / "again", tmp_path / "run/model", [chat_row(0, picture=False)], method="lora", freeze_vision=True
    )
    with pytest.raises(UsageError, match="is an adapter itself"):
        train(again, say=silent)


# --------------------------------------------------------------------------------------------------------------------
# Stopping and going on


def start(setting: Recipe, folder: Path) -> "subprocess.Popen[str]":
    """The recipe in a process of its own, as `accelerate launch` would start it."""
    path = folder / "given.toml"
    path.write_text(toml(setting), encoding="utf-8")
    command = [sys.executable, "-m", "assay.train.sft", str(path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # as this process: see `one_thread`
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for(there: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 90
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def long_run(folder: Path, model: Path, **settings: Any) -> Recipe:
    """36 steps: twelve epochs of three, or, with rows enough to be grouped by length, four of nine."""
    count, accumulate, epochs = (18, 1, 4) if settings.get("group_by_length") else (12, 2, 12)
    rows = [chat_row(at, picture=at % 3 != 0, prompt=f"Is it {'very ' * at}right?") for at in range(count)]
    held_out = write_rows(folder / "held-out.jsonl", [chat_row(20)])
    defaults = {"batch_size": 2, "accumulate": accumulate, "epochs": epochs, "save_every": 3, "eval_every": 4}
    return recipe(folder, model, rows, held_out=str(held_out), **{**defaults, **settings})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "method", "grouped"),
    [(signal.SIGKILL, "full", False), (signal.SIGINT, "lora", False), (signal.SIGKILL, "lora", True)],
    ids=["kill -9", "Ctrl-C", "kill -9, rows grouped by length"],
)
def test_a_stopped_run_goes_on_as_if_it_had_not_been_stopped(
    folders: dict[str, Path], tmp_path: Path, number: signal.Signals, method: str, grouped: bool
) -> None:
    # Qwen2.5-VL's weights have other names on disk than in memory, by which transformers' trainer would find none.
    settings: dict[str, Any] = {"method": method, "freeze_vision": method == "lora", "group_by_length": grouped}
    whole = long_run(tmp_path / "whole", folders["qwen"], **settings)
    train(whole, say=silent)
    parts = long_run(tmp_path / "parts", folders["qwen"], **settings)
    process = start(parts, tmp_path)
    checkpoints = tmp_path / "parts" / "run" / "checkpoints"
    wait_for(lambda: any(checkpoints.glob("checkpoint-*/complete.json")), process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (3 if number is signal.SIGINT else -signal.SIGKILL), (out, err)
    if number is signal.SIGINT:
        assert re.search(r"Stopped after step \d+ of 36. The same command goes on from there.", err), err
    assert not (tmp_path / "parts" / "run" / "model").exists()
    (checkpoints / "checkpoint-35").mkdir()  # one that was being written
    (checkpoints / "checkpoint-35" / "model.safetensors").write_bytes(b"half")
    said: list[str] = []
    train(parts, say=said.append)
    assert any(line.startswith("going on after step") for line in said)
    assert furthest(weights(tmp_path / "whole/run/model"), weights(tmp_path / "parts/run/model")) < 1e-6
    for one, other in zip(lines(tmp_path / "whole" / "run"), lines(tmp_path / "parts" / "run"), strict=True):
        assert one["step"] == other["step"]
        assert [one[name] for name in ("loss", "held_out_loss")] == pytest.approx(
            [other[name] for name in ("loss", "held_out_loss")], rel=1e-5
        )
    complete = sorted(path.parent.name for path in checkpoints.glob("*/complete.json"))
    assert len(complete) <= 3
    train(parts, say=said.append)
    assert said[-1].endswith("the run is complete.")


def train_in_two_processes(setting: Recipe, folder: Path) -> str:
    """What they say."""
    (folder / "two.toml").write_text(toml(setting), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    done = subprocess.run(
        [*command, "-m", "assay.train.sft", str(folder / "two.toml")],
        env=os.environ | {"ACCELERATE_USE_CPU": "true", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("count", "size", "grouped"), [(16, 8, False), (32, 4, True)])
def test_two_processes_train_as_one(
    folders: dict[str, Path], tmp_path: Path, count: int, size: int, grouped: bool
) -> None:
    rows = [chat_row(at, picture=at % 3 != 0, completion=RIGHT + "\nand more" * (at % 16)) for at in range(count)]
    held_out = write_rows(tmp_path / "held-out.jsonl", [chat_row(20, group="other")])
    steps = count // size  # of an epoch
    one, two = (
        recipe(tmp_path / name, folders["qwen"], rows, batch_size=batch, epochs=2, held_out=str(held_out),
               save_every=steps + 1, group_by_length=grouped)
        for name, batch in (("one", size), ("two", size // 2))
    )  # fmt: skip
    train(one, say=silent)
    said = train_in_two_processes(two, tmp_path)
    assert said.count("held-out loss") == 1  # the first of them speaks, and writes
    (first,), (second,) = lines(tmp_path / "one" / "run"), lines(tmp_path / "two" / "run")
    assert (second["step"], second["loss"]) == (first["step"], pytest.approx(first["loss"], rel=1e-5))
    assert second["held_out_loss"] == pytest.approx(first["held_out_loss"], rel=1e-4)
    whole = weights(tmp_path / "two/run/model")
    assert furthest(weights(tmp_path / "one/run/model"), whole) < 1e-4
    # Stopped after the first step of the second epoch, they go on with the second step's rows.
    shutil.rmtree(tmp_path / "two/run/model")
    for checkpoint in (tmp_path / "two/run/checkpoints").glob("checkpoint-*"):
        if checkpoint.name != f"checkpoint-{steps + 1}":
            shutil.rmtree(checkpoint)
    assert f"going on after step {steps + 1} of {2 * steps}" in train_in_two_processes(two, tmp_path)
    assert furthest(whole, weights(tmp_path / "two/run/model")) < 1e-6


def test_another_run_is_refused_with_what_differs(folders: dict[str, Path], tmp_path: Path) -> None:
    setting = recipe(tmp_path, folders["text"], [chat_row(0, picture=False)], max_steps=1)
    train(setting, say=silent)
    other = recipe(tmp_path, folders["text"], [chat_row(0, picture=False)], max_steps=1, lr=2e-3, keep_checkpoints=1)
    with pytest.raises(RunMismatch, match=r"holds another run: lr: 0\.001 -> 0\.002\. Give"):
        train(other, say=silent)
    changed = recipe(tmp_path, folders["text"], [chat_row(2, picture=False)], max_steps=1)
    with pytest.raises(RunMismatch, match="the data file changed"):
        train(changed, say=silent)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    elsewhere = recipe(tmp_path, folders["text"], [chat_row(0, picture=False)], out=str(tmp_path / "full"))
    with pytest.raises(RunError, match="holds no run of this kind"):
        train(elsewhere, say=silent)


def test_a_picture_that_changed_is_another_run(folders: dict[str, Path], tmp_path: Path) -> None:
    setting = recipe(tmp_path, folders["qwen"], [chat_row(0)], max_steps=1)
    train(setting, say=silent)
    Image.new("RGB", (56, 56), "green").save(tmp_path / "picture-0.png")
    with pytest.raises(RunMismatch, match="pictures changed"):
        train(setting, say=silent)


# --------------------------------------------------------------------------------------------------------------------
# Before the first step


def test_the_pre_flight_alone_writes_nothing(folders: dict[str, Path], tmp_path: Path) -> None:
    said: list[str] = []
    setting = recipe(tmp_path, folders["qwen"], [chat_row(0), chat_row(1)], epochs=3, batch_size=1)
    assert train(setting, pre_flight_only=True, say=said.append) is None
    text = "\n".join(said)
    assert re.search(r"^steps\s+6$", text, re.MULTILINE)
    assert f"⟦{RIGHT}<|end|>⟧" in text
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("grouped", [False, True])
def test_the_pre_flight_foretells_the_padding_of_the_batches(
    folders: dict[str, Path], tmp_path: Path, grouped: bool
) -> None:
    rows = [chat_row(at, picture=False, prompt=f"Is it {'very ' * (at * 7 % 20)}right?") for at in range(35)]
    setting = recipe(tmp_path, folders["text"], rows, group_by_length=grouped, batch_size=2, accumulate=2)
    said: list[str] = []
    train(setting, pre_flight_only=True, say=said.append)
    masks = [batch["attention_mask"] for batch in prepared_run(setting).trainer.get_train_dataloader()]
    assert [len(mask) for mask in masks] == [2] * 17 + [1]
    share = 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)
    other = "without" if grouped else "with"
    assert any(
        re.match(rf"padding: {share:.1%} of the first epoch's tokens; {other} group_by_length \d", line)
        for line in said
    ), said


def prepared_run(setting: Recipe) -> Run:
    """A run before its first step."""
    assert setting.data is not None
    assert setting.model is not None
    assert setting.out is not None
    checkpoint = load_checkpoint(setting.model, device="cpu")
    pictures = Pictures(checkpoint, setting.picture_memory)
    found = PreFlight(checkpoint, pictures, max_length=setting.max_length).prepare(list(read_chat(Path(setting.data))))
    folder = RunFolder(Path(setting.out))
    with quiet():
        return Run(setting, folder, checkpoint, pictures, {"data": found}, steps=9, precision="float32", say=silent)


def test_held_out_groups_must_not_be_trained_on(folders: dict[str, Path], tmp_path: Path) -> None:
    held_out = write_rows(tmp_path / "held-out.jsonl", [chat_row(9, group="group-0")])
    setting = recipe(tmp_path, folders["qwen"], [chat_row(0)], held_out=str(held_out))
    with pytest.raises(DataError, match="1 of its groups are trained on as well: group-0"):
        train(setting, say=silent)


def test_long_rows_are_dropped_as_a_whole(folders: dict[str, Path], tmp_path: Path) -> None:
    rows = [chat_row(0), chat_row(1, prompt="Is it right? " * 8)]
    setting = recipe(tmp_path, folders["qwen"], rows, max_length=120, max_steps=1)
    with pytest.raises(DataError, match=r"too long: row-1 \(\d+ tokens, limit 120\)"):
        train(setting, say=silent)
    assert not (tmp_path / "run").exists()
    said: list[str] = []
    train(recipe(tmp_path, folders["qwen"], rows, max_length=120, max_steps=1, drop_long=True), say=said.append)
    assert any("1 rows dropped, too long: row-1" in line for line in said)


def test_a_loss_that_is_no_number_ends_the_run(folders: dict[str, Path], tmp_path: Path) -> None:
    setting = recipe(
        tmp_path,
        folders["text"],
        [chat_row(0, picture=False)],
        max_steps=60,
        lr=1e30,
        schedule="constant",
        eval_every=1,
    )
    with pytest.raises(RunError, match=r"The loss is (nan|inf) at or before step"):
        train(setting, say=silent)
    assert all(math.isfinite(line["loss"]) for line in lines(tmp_path / "run"))
