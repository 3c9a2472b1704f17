"""Where a benchmark's data may lie on this machine: a folder of the user's, or the hub's cache."""

import os
from pathlib import Path

from assay.errors import DataError

__all__ = ["VARIABLE", "data_folder", "hub_copy"]

VARIABLE = "ASSAY_DATA"
"""Environment variable: a folder that holds one folder for each benchmark, named as the benchmark is."""


def data_folder(name: str, *, root: Path | None = None) -> Path | None:
    """The benchmark's folder in `root` (ASSAY_DATA where not given); None where there is none, or nothing in it.

    A benchmark called NAME-VARIANT is another rule on the data of NAME, and looks there too.

    Raises:
        DataError: `root` or ASSAY_DATA names no folder.
    """
    if root is None:
        value = os.environ.get(VARIABLE, "").strip()
        if not value:
            return None
        root = Path(value).expanduser()
    if not root.is_dir():
        raise DataError(str(root), "there is no such folder", f"Name the folder of your data in --data or {VARIABLE}.")
    for folder in (root / name, root / name.partition("-")[0]):
        if folder.is_dir() and any(folder.iterdir()):
            return folder
    return None


def hub_copy(repository: str) -> Path | None:
    """The newest snapshot of a data set in the hub's cache, or None; nothing is fetched."""
    snapshots = _hub_cache() / f"datasets--{repository.replace('/', '--')}" / "snapshots"
    if not snapshots.is_dir():
        return None
    held = [folder for folder in snapshots.iterdir() if folder.is_dir() and any(folder.iterdir())]
    return max(held, key=lambda folder: folder.stat().st_mtime, default=None)


def _hub_cache() -> Path:
    """As the hub's library finds it, which need not be installed."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(home).expanduser() / "hub"
