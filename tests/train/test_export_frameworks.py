"""An export as the trainers' own code reads it: datasets and TRL here, the others by `recipes/export_check.py`."""

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.train.chat import read_chat, to_trl
from assay.train.export import ExportPlan, export
from support.exporting import odd_examples, rows_of, write_examples
from support.tiny import build_llava

pytestmark = [
    pytest.mark.local,
    # torch's own, wherever pinned memory is asked for on a machine without an accelerator
    pytest.mark.filterwarnings("ignore:.*pin_memory.*:UserWarning"),
]

PLACES = 16  # of one picture in the tiny model's tokens
RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "export_check.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of rows that say in many ways what could be taken for a picture."""
    folder = tmp_path_factory.mktemp("export")
    export([write_examples(folder, odd_examples(folder))], folder / "out", ExportPlan(count=3))
    return folder / "out"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_llava(tmp_path_factory.mktemp("tiny"), context=32_768)


@pytest.mark.parametrize("form", ["trl", "llamafactory", "ms-swift"])
@pytest.mark.parametrize("part", ["train", "held_out"])
def test_datasets_loads_every_file(
    made: Path, form: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets: Any = importlib.import_module("datasets")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = made / form / f"{part}.jsonl"
    loaded = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path))
    assert [dict(row) for row in loaded] == rows_of(path)


def test_trl_trains_on_the_rows_with_all_their_pictures(made: Path, model: Path, tmp_path: Path) -> None:
    """TRL's trainer makes the batches itself: every picture is in them, and only the completion has labels."""
    datasets, transformers, trl = (importlib.import_module(name) for name in ("datasets", "transformers", "trl"))
    rows = [row for part in ("train", "held_out") for row in read_chat(made / "trl" / f"{part}.jsonl")]
    shown = [row for row in rows if row.images]
    pictures: Any = datasets.List(datasets.Image())
    data: Any = datasets.Dataset.from_list([to_trl(row) for row in shown]).cast_column("images", pictures)
    processor: Any = transformers.AutoProcessor.from_pretrained(model)
    trainer: Any = trl.SFTTrainer(
        model=transformers.AutoModelForImageTextToText.from_pretrained(model),
        processing_class=processor,
        train_dataset=data,
        args=trl.SFTConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=1,
            max_length=None,
            use_cpu=True,
            bf16=False,
            report_to="none",
            dataset_num_proc=None,
            activation_checkpointing=False,
            max_steps=1,
        ),
    )
    place = processor.tokenizer.convert_tokens_to_ids("<image>")
    for row, features in zip(shown, data, strict=True):
        batch = trainer.data_collator([features])
        assert batch["pixel_values"].shape[0] == len(row.images)
        assert int((batch["input_ids"] == place).sum()) == PLACES * len(row.images)
        learned = batch["labels"][0][batch["labels"][0] != -100]
        assert processor.tokenizer.decode(learned) == f"{row.completion}<|end|>\n"
    trained = trainer.train()
    assert trained.global_step == 1
    assert trained.training_loss > 0


@pytest.mark.slow
def test_the_recipe_finds_every_row_accepted(made: Path, model: Path) -> None:
    command = [sys.executable, str(RECIPE), str(made), str(model)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    result = json.loads(line.removeprefix("RESULT "))
    parts = {part: len(rows_of(made / "trl" / f"{part}.jsonl")) for part in ("train", "held_out")}
    assert result["rows"] == parts
    for name, module in (("trl", "trl"), ("llamafactory", "llamafactory"), ("ms-swift", "swift")):
        if importlib.util.find_spec(module):
            assert result[name]["accepted"] == parts
            assert result[name]["problems"] == []
