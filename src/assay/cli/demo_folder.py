"""The runs of demonstrations: they cost nothing, so that an earlier one makes way. Nobody else's does."""

import shutil
from pathlib import Path

from assay.engine.store import read_manifest
from assay.errors import UsageError

__all__ = ["MARK", "make_way"]

MARK = {"demo": True}
"""What the manifests of demonstrations hold in `environment`."""


def make_way(folder: Path) -> None:
    """Remove an earlier demonstration's run; nothing where there is none.

    Raises:
        UsageError: the folder holds a run that no demonstration made.
        DataError: its manifest can't be read.
    """
    if not (folder / "manifest.json").exists():
        return
    if not MARK.items() <= read_manifest(folder).environment.items():
        raise UsageError(f"{folder} holds a run that is not this demonstration's. Give another folder as --out.")
    shutil.rmtree(folder)
