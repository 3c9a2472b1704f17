"""Have the frameworks' own code read an export of `assay prm export`, and compare what they read with what was written.

    python recipes/export_check.py EXPORT MODEL

EXPORT: the folder. MODEL: a checkpoint of the LLaVA family (a tiny one will do), whose processor makes tokens of rows.
Of TRL, LLaMA-Factory and ms-swift those are run that can be imported here. They ask for different versions of the same
packages, so give each an environment of its own: `trl` beside Assay, `llamafactory`, `ms-swift`.

A row is accepted if the framework has as many pictures for it as were written and as many places for them among its
tokens, shows the prompt as it was written, and learns the completion and nothing else. Prints a line `RESULT {...}`;
ends with 1 if a row is not accepted.
"""

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TOKENS = 1 << 20  # a limit that no row reaches: what is too long is `assay prm train`'s business
PARTS = ("train", "held_out")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]


def parts_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """The parts that have rows."""
    return ((part, folder / f"{part}.jsonl") for part in PARTS if (folder / f"{part}.jsonl").is_file())


# --------------------------------------------------------------------------------------------------------------------
# What each framework makes of a row: pictures, token ids, and the labels of which -100 are not learned

Encoded = tuple[int, list[int], list[int]]


def with_trl(export: Path, model: str) -> Iterator[tuple[str, list[Encoded]]]:
    """`datasets` reads the file, TRL's collator for vision-language models makes the batch."""
    from datasets import Dataset, Image, List, load_dataset
    from transformers import AutoProcessor
    from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling

    from assay.train.chat import read_chat, to_trl

    processor = AutoProcessor.from_pretrained(model)
    collator = DataCollatorForVisionLanguageModeling(processor, completion_only_loss=True)
    for part, path in parts_of(export / "trl"):
        plain = load_dataset("json", data_files=str(path), split="train")
        rows = Dataset.from_list([to_trl(row) for row in read_chat(path)]).cast_column("images", List(Image()))
        if len(plain) != len(rows):
            raise ValueError(f"datasets reads {len(plain)} rows of {path}, not {len(rows)}")
        found: list[Encoded] = []
        for row in rows:
            batch = collator([row])
            pictures = batch["pixel_values"].shape[0] if "pixel_values" in batch else 0
            found.append((pictures, batch["input_ids"][0].tolist(), batch["labels"][0].tolist()))
        yield part, found


def with_llamafactory(export: Path, model: str) -> Iterator[tuple[str, list[Encoded]]]:
    """LLaMA-Factory's loader, template and tokenization, as `llamafactory-cli train` runs them; no training."""
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams import get_train_args
    from llamafactory.model import load_tokenizer

    for part, _ in parts_of(export / "llamafactory"):
        arguments = {
            "model_name_or_path": model,
            "template": "llava",
            "stage": "sft",
            "do_train": True,
            "finetuning_type": "lora",
            "dataset": f"assay_{part}",
            "dataset_dir": str(export / "llamafactory"),
            "cutoff_len": TOKENS,
            "output_dir": os.environ["HF_HOME"] + "/out",
            "overwrite_cache": True,
            "use_cpu": True,
            "report_to": "none",
        }
        model_args, data_args, training_args, _, _ = get_train_args(arguments)
        tools = load_tokenizer(model_args)
        template = get_template_and_fix_tokenizer(tools["tokenizer"], data_args)
        data = get_dataset(template, model_args, data_args, training_args, stage="sft", **tools)["train_dataset"]
        yield part, [(len(row["images"] or ()), row["input_ids"], row["labels"]) for row in data]


def with_ms_swift(export: Path, model: str) -> Iterator[tuple[str, list[Encoded]]]:
    """ms-swift's loader and template, as `swift sft` runs them; no training."""
    os.environ["ROOT_IMAGE_DIR"] = str(export / "ms-swift")
    from swift.dataset import load_dataset
    from swift.model import get_processor
    from swift.template import get_template

    template = get_template(get_processor(model, model_type="llava1_5_hf"), max_length=TOKENS)
    template.set_mode("train")
    for part, path in parts_of(export / "ms-swift"):
        data, _ = load_dataset([str(path)], shuffle=False, strict=True, load_from_cache_file=False)
        found: list[Encoded] = []
        for row in data:
            encoded = template.encode(dict(row))
            pictures = encoded.get("pixel_values")
            found.append((0 if pictures is None else pictures.shape[0], encoded["input_ids"], encoded["labels"]))
        yield part, found


# --------------------------------------------------------------------------------------------------------------------
# Comparing


def compare(export: Path, model: str, name: str, run: Callable[..., Any]) -> dict[str, Any]:
    """Rows accepted of each part, and what is wrong with the others."""
    from transformers import AutoProcessor

    processor: Any = AutoProcessor.from_pretrained(model)
    tokenizer = processor.tokenizer
    place = tokenizer.convert_tokens_to_ids(processor.image_token)
    accepted: dict[str, int] = {}
    problems: list[str] = []
    for part, encoded in run(export, model):
        written = rows_of(export / "trl" / f"{part}.jsonl")
        if len(encoded) != len(written):
            problems.append(f"{part}: {len(encoded)} rows, not {len(written)}")
            continue
        accepted[part] = 0
        each = places_of_one(encoded, place)
        for row, (pictures, ids, labels) in zip(written, encoded, strict=True):
            learned = tokenizer.decode([token for token in labels if token != -100], skip_special_tokens=False)
            target = learned.removesuffix("\n").removesuffix(tokenizer.eos_token).removesuffix("</s>")
            if pictures != len(row["images"]) or ids.count(place) != each * len(row["images"]):
                problems.append(f"{row['id']}: {pictures} pictures, {ids.count(place)} places")
            elif row["prompt"] not in tokenizer.decode(ids, skip_special_tokens=False):
                problems.append(f"{row['id']}: the prompt is not what was written")
            elif target != row["completion"]:
                problems.append(f"{row['id']}: learns {target[:80]!r}")
            else:
                accepted[part] += 1
    return {"version": version(name), "accepted": accepted, "problems": problems[:20]}


def places_of_one(encoded: list[Encoded], place: int) -> int:
    """Tokens that one picture takes in most rows; the processor makes all pictures of one size."""
    return statistics.mode([ids.count(place) // pictures for pictures, ids, _ in encoded if pictures] or [0])


FRAMEWORKS = {
    "trl": ("trl", ("trl", "assay"), with_trl),
    "llamafactory": ("llamafactory", ("llamafactory",), with_llamafactory),
    "ms-swift": ("ms-swift", ("swift",), with_ms_swift),
}


def main() -> None:
    export, model = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
    found: dict[str, Any] = {}
    for name, (package, modules, run) in FRAMEWORKS.items():
        if all(find_spec(module) for module in modules):
            found[name] = compare(export, model, package, run)
    print(
        "RESULT " + json.dumps({"rows": {part: len(rows_of(path)) for part, path in parts_of(export / "trl")}, **found})
    )
    if not found or any(one["problems"] for one in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        # Nothing that an earlier run has read, and nothing from the network.
        os.environ |= {"HF_HOME": folder, "MODELSCOPE_CACHE": folder, "HF_HUB_OFFLINE": "1"}
        main()
