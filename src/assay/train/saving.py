"""What a trained checkpoint needs besides its weights."""

import shutil
from pathlib import Path
from typing import Any

import msgspec

from assay.models.local_checkpoint import load_checkpoint

__all__ = ["copy_settings", "merge", "write_limits"]

_SETTINGS = (".json", ".txt", ".model", ".jinja", ".py")


def copy_settings(source: Path, folder: Path) -> None:
    """A checkpoint's files beside its weights: tokenizer, processor, chat template, as they are."""
    adapter = (folder / "adapter_config.json").exists()
    for path in sorted(source.iterdir()):
        own = path.name == "adapter_config.json" or path.name.endswith(".index.json")
        own = own or (path.name == "config.json" and not adapter)
        if path.is_file() and path.suffix in _SETTINGS and not own:
            shutil.copyfile(path, folder / path.name)


def write_limits(processor: Any, folder: Path) -> None:
    """The processor's settings where what pictures are scaled to was changed."""
    processor.image_processor.save_pretrained(str(folder))
    path = folder / "processor_config.json"
    if path.exists():
        settings = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        if "image_processor" in settings:
            settings["image_processor"] = processor.image_processor.to_dict()
            path.write_bytes(msgspec.json.format(msgspec.json.encode(settings), indent=2))


def merge(adapter: Path, folder: Path) -> None:
    """The adapter added to the weights that it was trained on."""
    checkpoint = load_checkpoint(adapter, device="cpu", dtype="auto")
    checkpoint.model.save_pretrained(str(folder))
    copy_settings(adapter, folder)
