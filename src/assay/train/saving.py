"""What a trained checkpoint needs besides its weights."""

import shutil
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.models.local_checkpoint import load_checkpoint

__all__ = ["copy_settings", "merge", "number_format", "write_limits", "write_number_format"]

_SETTINGS = (".json", ".txt", ".model", ".jinja", ".py")


def copy_settings(source: Path, folder: Path) -> None:
    """A checkpoint's files beside its weights: tokenizer, processor, chat template, as they are."""
    adapter = (folder / "adapter_config.json").exists()
    for path in sorted(source.iterdir()):
        own = path.name == "adapter_config.json" or path.name.endswith(".index.json")
        own = own or (path.name == "config.json" and not adapter)
        if path.is_file() and path.suffix in _SETTINGS and not own:
            shutil.copyfile(path, folder / path.name)


def number_format(source: Path) -> str:
    """What a checkpoint's weights are stored in, such as `bfloat16`; `float32` where its configuration doesn't say."""
    settings = _configuration(source)
    parts = [settings, settings.get("text_config") or {}]
    return next((part[name] for part in parts for name in ("dtype", "torch_dtype") if part.get(name)), "float32")


def write_number_format(folder: Path, name: str) -> None:
    """Say in a saved checkpoint's configuration what its weights are stored in."""
    settings = _configuration(folder)
    inner = [cast("dict[str, Any]", value) for value in settings.values() if isinstance(value, dict)]
    for part in (settings, *inner):
        if "dtype" in part:
            part["dtype"] = name
    _write(folder / "config.json", settings)


def _configuration(folder: Path) -> dict[str, Any]:
    return msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any])


def _write(path: Path, settings: dict[str, Any]) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")


def write_limits(processor: Any, folder: Path) -> None:
    """The processor's settings where what pictures are scaled to was changed."""
    processor.image_processor.save_pretrained(str(folder))
    path = folder / "processor_config.json"
    if path.exists():
        settings = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        if "image_processor" in settings:
            settings["image_processor"] = processor.image_processor.to_dict()
            _write(path, settings)


def merge(adapter: Path, folder: Path) -> None:
    """The adapter added to the weights that it was trained on."""
    checkpoint = load_checkpoint(adapter, device="cpu", dtype="auto")
    checkpoint.model.save_pretrained(str(folder))
    copy_settings(adapter, folder)
