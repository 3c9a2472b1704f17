"""A run's manifest on disk: written first, read by whoever opens the run, compared on resume.

The fingerprint says whether two manifests are of the same run; where it differs, `check_same` names the fields.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.engine.lines import unreadable
from assay.errors import DataError, RunMismatch
from assay.types import Manifest

SCHEMA = 1
"""Version of the folder's layout and records."""

_RECORDED_ONLY = ("fingerprint", "environment")
_canonical = msgspec.json.Encoder(order="deterministic")


def fingerprint(manifest: Manifest) -> str:
    """SHA-256 over every field of a manifest that changes a result, hexadecimal."""
    fields = msgspec.to_builtins(manifest)
    for name in _RECORDED_ONLY:
        del fields[name]
    for name in ("where", "conditions", "reading"):
        if not fields[name]:  # runs from before there were such fields keep their fingerprint
            del fields[name]
    return hashlib.sha256(_canonical.encode(fields)).hexdigest()


def seal(manifest: Manifest) -> Manifest:
    """The manifest with its fingerprint filled in."""
    return msgspec.structs.replace(manifest, fingerprint=fingerprint(manifest))


def placed(manifest: Manifest) -> Manifest:
    """The manifest with absolute paths: a run is marked again, or gone on with, from any folder."""
    data, reading = manifest.data, manifest.reading
    if data:
        data = str(Path(data).resolve())
    if reading is not None and reading.images:
        reading = msgspec.structs.replace(reading, images=str(Path(reading.images).resolve()))
    if (data, reading) == (manifest.data, manifest.reading):
        return manifest
    return seal(msgspec.structs.replace(manifest, data=data, reading=reading))


def read_manifest(path: Path) -> Manifest:
    """The manifest of a run folder.

    Raises:
        DataError: there is none, it can't be read, it is damaged, or it was written by another version of the layout.
    """
    file = path / "manifest.json"
    try:
        manifest = msgspec.json.decode(file.read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(str(path), "not a run folder (it has no manifest.json)", "Give the folder of a run.") from None
    except OSError as cause:
        raise unreadable(file, cause) from cause
    except msgspec.DecodeError as cause:
        raise DataError(str(file), f"not a manifest ({cause})", "Restore it, or start a new run elsewhere.") from cause
    if manifest.schema != SCHEMA:
        raise DataError(
            str(file),
            f"written in layout {manifest.schema}, this version reads layout {SCHEMA}",
            "Use the version of assay that the manifest names.",
        )
    return manifest


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write it whole or not at all, and onto the disk before anything else."""
    temporary = path / "manifest.json.new"
    with temporary.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path / "manifest.json")
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_same(path: Path, found: Manifest, wanted: Manifest) -> None:
    """Refuse to go on with the run in `path` as if it were another one.

    Raises:
        RunMismatch: the manifest found there differs from the wanted one; the message names the fields.
    """
    if found.fingerprint == wanted.fingerprint:
        return
    found = placed(found)  # a manifest that names its data from the folder where the run was started
    if found.fingerprint == wanted.fingerprint:
        return
    differences = list(_differences(msgspec.to_builtins(found), msgspec.to_builtins(wanted)))
    listed = "; ".join(differences) or "the fingerprint, though every field is equal (another version of assay)"
    raise RunMismatch(
        f"{path} holds another run: {listed}. Give this run another folder, or repeat the command as it was."
    )


def _differences(found: dict[str, Any], wanted: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name in found | wanted:
        if not prefix and name in _RECORDED_ONLY:
            continue
        old, new = found.get(name), wanted.get(name)
        was, now = _shown(old), _shown(new)
        if isinstance(old, dict) and isinstance(new, dict):
            inner = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
            yield from _differences(*inner, f"{prefix}{name}.")
        elif old != new:
            yield f"{prefix}{name} was {was}, is {now}"


def _shown(value: object) -> str:
    """A value for a message; of a hash nobody reads more than the beginning."""
    if isinstance(value, str) and len(value) == 64 and value.isalnum():
        return f"{value[:8]}..."
    return repr(value)
