"""What `assay prm train` costs beside the model itself: its wall-clock time over that of a bare PyTorch loop.

The same checkpoint (Qwen2.5-VL, 4 layers of 128, vision tower 3 of 96, 112x112 pictures), the same rows (about 150
tokens), the same optimizer and batches of 64 on one core. The bare loop has all its tensors ready, and asks the model
for its own loss; it neither reads, nor shuffles, nor saves.

    python bench/sft.py [--batch 64] [--steps 4] [--rounds 3]

Both take turns; the shortest round of each counts, since other work on the machine only ever makes one longer. Last
lines: RESULT {"wall_ratio_to_bare_loop": .., "cpu_ratio_to_bare_loop": ..} with everything trained, and the same with
the vision tower frozen.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageDraw

from assay.models.local_checkpoint import load_checkpoint, quiet
from assay.train.chat import read_chat
from assay.train.collate import WEIGHTS, Collator
from assay.train.pictures import Pictures
from assay.train.preflight import Found, PreFlight
from assay.train.recipe import Recipe
from assay.train.run_folder import RunFolder
from assay.train.sft import Run

COLOURS = ("red", "green", "blue", "black", "orange", "purple")
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


Cost = tuple[float, float]
"""Seconds by the clock, and seconds of the processor: on a busy machine only the latter tell anything."""


def now() -> Cost:
    return time.perf_counter(), time.process_time()


def since(began: Cost) -> Cost:
    wall, cpu = now()
    return wall - began[0], cpu - began[1]


def draw(path: Path, heights: dict[str, int]) -> None:
    """A chart of bars, 112 px square."""
    chart = Image.new("RGB", (112, 112), "white")
    pen = ImageDraw.Draw(chart)
    for place, (colour, height) in enumerate(heights.items()):
        pen.rectangle((8 + place * 20, 100 - height * 10, 20 + place * 20, 100), fill=colour)
    chart.save(path)


def make_rows(folder: Path, count: int) -> Path:
    """Chat rows about charts, one for every row."""
    chance = random.Random(0)
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            heights = {colour: chance.randint(1, 9) for colour in chance.sample(COLOURS, chance.randint(3, 5))}
            draw(folder / f"{number}.png", heights)
            steps = [
                f"Step {at}\nIntent: read {name}\nImage: it is {value} | Correct\nJudgement: Correct"
                for at, (name, value) in enumerate(heights.items(), start=1)
            ]
            row = {
                "id": str(number),
                "group": str(number),
                "images": [f"{number}.png"],
                "prompt": "What is the sum of " + " and ".join(heights) + "? Judge every step.",
                "completion": "\n".join([*steps, "End of critique"]),
            }
            file.write(json.dumps(row) + "\n")
    return folder / "train.jsonl"


def make_checkpoint(folder: Path, texts: list[str]) -> Path:
    """A checkpoint with random weights and a small vocabulary of its own."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2VLImageProcessorPil,
    )

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    )
    specials = ["<|im_start|>", "<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>"]
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|pad|>", additional_special_tokens=specials
    )
    fast.chat_template = CHAT
    ids = {name: fast.convert_tokens_to_ids(name) for name in specials}
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(fast),
            "hidden_size": 128,
            "intermediate_size": 384,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 1024,
            "rope_parameters": {"rope_type": "default", "mrope_section": [4, 6, 6], "rope_theta": 10000.0},
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": fast.eos_token_id,
        },
        vision_config={
            "depth": 3,
            "hidden_size": 96,
            "intermediate_size": 192,
            "num_heads": 4,
            "out_hidden_size": 128,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "window_size": 112,
            "fullatt_block_indexes": [1],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 112 * 112}).save_pretrained(folder)
    return folder


def bare(checkpoint: Path, batches: list[dict[str, Any]], steps: int, *, freeze: bool) -> Cost:
    """The shortest loop that trains."""
    model = load_checkpoint(checkpoint, device="cpu").model.train()
    if freeze:
        model.model.visual.requires_grad_(False)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0.05, fused=True)
    began = now()
    for step in range(steps):
        loss = model(**batches[step % len(batches)], use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return since(began)


def ours(
    folder: Path, checkpoint: Path, found: Found, pictures: Pictures, *, batch: int, steps: int, freeze: bool
) -> Cost:
    """From the first step to the last, evaluation and saving aside."""
    settings = Recipe(
        data="",
        model=str(checkpoint),
        out=str(folder),
        batch_size=batch,
        max_steps=steps,
        lr=1e-4,
        save_every=0,
        freeze_vision=freeze,
        dtype="float32",
    )
    with quiet():
        loaded = load_checkpoint(checkpoint, device="cpu")
        run = Run(
            settings, RunFolder(folder), loaded, pictures, {"data": found}, steps=steps, precision="float32", say=print
        )
        began = now()
        run.trainer.train()
    return since(began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = make_rows(folder, options.rows)
        rows = list(read_chat(data))
        checkpoint = make_checkpoint(folder / "checkpoint", [row.prompt + row.completion for row in rows])
        loaded = load_checkpoint(checkpoint, device="cpu")
        pictures = Pictures(loaded, 2**31)
        began = time.perf_counter()
        found = PreFlight(loaded, pictures, max_length=1024).prepare(rows)
        flight = time.perf_counter() - began
        collator = Collator(found.rows, pictures, loaded.pad)
        batches: list[dict[str, Any]] = []
        for start in range(0, len(rows), options.batch):
            made = collator.batch(found.rows[start : start + options.batch])
            del made[WEIGHTS]
            batches.append(made)
        tokens = sum(len(row.ids) for row in found.rows) / len(rows)
        print(f"{tokens:.0f} tokens a row, pre-flight {flight / len(rows) * 1000:.2f} ms a row")
        for freeze in (False, True):
            alone: list[Cost] = []
            whole: list[Cost] = []
            for _ in range(options.rounds):
                alone.append(bare(checkpoint, batches, options.steps, freeze=freeze))
                whole.append(
                    ours(
                        folder / "run",
                        checkpoint,
                        found,
                        pictures,
                        batch=options.batch,
                        steps=options.steps,
                        freeze=freeze,
                    )
                )
            rows_run = options.batch * options.steps
            bare_wall, bare_cpu = (min(costs) for costs in zip(*alone, strict=True))
            our_wall, our_cpu = (min(costs) for costs in zip(*whole, strict=True))
            name = "vision frozen" if freeze else "all trained"
            bare_ms, our_ms = bare_cpu / rows_run * 1e3, our_cpu / rows_run * 1e3
            print(f"{name}, ms of the processor a row: bare {bare_ms:.2f}, ours {our_ms:.2f}")
            suffix = "_vision_frozen" if freeze else ""
            ratios = {
                f"wall_ratio_to_bare_loop{suffix}": round(our_wall / bare_wall, 3),
                f"cpu_ratio_to_bare_loop{suffix}": round(our_cpu / bare_cpu, 3),
            }
            print("RESULT", json.dumps(ratios))


if __name__ == "__main__":
    main()
