"""Files of records that one command of critic training writes and the next one reads.

JSON Lines. The first line says what the rest is:

    {"schema": "assay.rollouts", "version": 1, "made_by": "assay 0.1.0", "settings": {...}}

A file is written under another name and renamed when it is complete, so that a half-written one is never read.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from assay.engine.lines import encode
from assay.errors import DataError, RunError

__all__ = ["KINDS", "Header", "read_header", "read_records", "sha256_of", "write_lines", "write_records"]

_R = TypeVar("_R", bound=Struct)

KINDS: dict[str, int] = {"rollouts": 1, "critiques": 1, "examples": 1, "dropped": 1, "contaminated": 1}
"""Kind of file -> the version of its records that is written and read."""


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a file. `settings`: what decided the records, such as the command's options."""

    schema: str
    version: int
    made_by: str
    settings: dict[str, Any] = {}


def write_records(path: Path, kind: str, records: Iterable[Struct], *, settings: dict[str, Any]) -> int:
    """Write a whole file of records of a kind; how many there are.

    Raises:
        RunError: it can't be written.
    """
    header = Header(schema=f"assay.{kind}", version=KINDS[kind], made_by=f"assay {version('assay')}", settings=settings)
    return write_lines(path, chain((header,), records)) - 1


def write_lines(path: Path, records: Iterable[Struct]) -> int:
    """Write a whole file of JSON Lines without a header; how many lines there are.

    Raises:
        RunError: it can't be written.
    """
    count = 0
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            for record in records:
                file.write(encode(record) + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as cause:
        with suppress(OSError):
            part.unlink()
        raise RunError(f"{path} can't be written: {cause.strerror or cause}.") from cause
    return count


def read_header(path: Path, kind: str) -> Header:
    """What the file's first line says.

    Raises:
        DataError: there is no such file, or it is none of that kind and version.
    """
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as cause:
        raise DataError(str(path), f"can't be read ({cause.strerror})", f"Give a file of {kind}.") from cause
    try:
        header = msgspec.json.decode(first, type=Header)
    except msgspec.DecodeError as cause:
        raise DataError(
            f"{path}:1", f"is no header of a file of {kind} ({cause})", "Give a file that `assay prm` wrote."
        ) from cause
    if header.schema != f"assay.{kind}":
        raise DataError(f"{path}:1", f"is a file of {header.schema!r}, not of 'assay.{kind}'", "Give the other file.")
    if header.version != KINDS[kind]:
        raise DataError(
            f"{path}:1",
            f"holds version {header.version} of {header.schema}, and this assay reads {KINDS[kind]}",
            "Make the file again with this version.",
        )
    return header


def read_records(
    path: Path, kind: str, record: type[_R], *, on_odd: Callable[[DataError], None] | None = None
) -> Iterator[_R]:
    """The records of a file, in order.

    Args:
        on_odd: told of rows that can't be read, which are then left out; None makes the first one an error.

    Raises:
        DataError: as `read_header`; without `on_odd` a row that can't be read, by its number.
    """
    read_header(path, kind)
    decoder = msgspec.json.Decoder(record)
    with path.open("rb") as file:
        file.readline()
        for number, line in enumerate(file, start=2):
            if not line.strip():
                continue
            try:
                found = decoder.decode(line)
            except msgspec.DecodeError as cause:
                odd = DataError(f"{path}:{number}", f"is no record of {kind} ({cause})", "Mend or remove the line.")
                if on_odd is None:
                    raise odd from cause
                on_odd(odd)
                continue
            yield found


def sha256_of(path: Path, *, suffixes: tuple[str, ...] = ()) -> str:
    """SHA-256 of a file, or over names and contents of the files below a folder, hexadecimal.

    Args:
        suffixes: of the files below a folder that count; none for all.

    Raises:
        DataError: it can't be read.
    """
    try:
        if not path.is_dir():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        for below in sorted(path.rglob("*")):
            if not below.is_file() or (suffixes and below.suffix not in suffixes):
                continue
            with below.open("rb") as file:
                inner = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{below.relative_to(path).as_posix()}\x00{inner}\x00".encode())
        return digest.hexdigest()
    except OSError as cause:
        raise DataError(
            str(path), f"can't be read ({cause.strerror})", "Give a file or folder that is there."
        ) from cause
