"""Files of a run that only grow: JSON lines, one record each, in `NAME-0.jsonl`.

A line counts once its newline is there. Lines are written with a single `write` to the operating system, so a process
that is killed loses none that `append` returned from; a line that was cut in the middle can only be the last one, is
ignored when reading, and is removed before the next line is written.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar, cast

import msgspec

from assay.errors import DataError, RunError
from assay.types import line_id

__all__ = ["LineWriter", "decode_line", "encode", "latest", "lines", "numbered", "unreadable"]

_T = TypeVar("_T")
_R = TypeVar("_R", bound=msgspec.Struct)

_READ_SIZE = 1 << 20
_encoder = msgspec.json.Encoder()


def encode(record: msgspec.Struct) -> bytes:
    """A record as JSON. Lone surrogates (file names that are no UTF-8, broken replies) become U+FFFD: a single odd
    character must neither lose a record nor stop a run."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return _encoder.encode(_without_surrogates(msgspec.to_builtins(record)))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        return {_without_surrogates(name): _without_surrogates(item) for name, item in fields.items()}
    return value


class LineWriter:
    """Appends records to one file. Not safe for use by several processes: the run's lock sees to that."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._size = _cut_torn_line(self._fd)
        except OSError:
            os.close(self._fd)
            raise

    def append(self, *records: msgspec.Struct) -> None:
        """Write one line each. When this returns, killing the process can't lose them.

        Raises:
            RunError: they can't be written (a full disk); nothing of them stays in the file.
        """
        written_lines = b"".join(encode(record) + b"\n" for record in records)
        view = memoryview(written_lines)
        written = 0
        try:
            while written < len(written_lines):  # a signal or a nearly full disk may shorten a write
                written += os.write(self._fd, view[written:])
        except OSError as cause:
            os.ftruncate(self._fd, self._size)
            raise RunError(f"{self.path} can't be written: {cause.strerror}. Free space and start again.") from cause
        self._size += len(written_lines)

    def sync(self) -> None:
        """Ask the operating system to put the file on the disk. May block; call it outside the event loop."""
        os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def _cut_torn_line(fd: int) -> int:
    """Remove what stands after the last newline; return the new size."""
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - _READ_SIZE)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
    return end


def numbered(folder: Path, name: str) -> list[Path]:
    """The files `NAME-*.jsonl` of a run in a fixed order: by number, then by name."""

    def order(path: Path) -> tuple[int, str]:
        number = path.stem.removeprefix(f"{name}-")
        return (int(number) if number.isascii() and number.isdigit() else -1, path.name)

    return sorted(folder.glob(f"{name}-*.jsonl"), key=order)


def lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, offset and text of every complete line.

    Raises:
        DataError: the file can't be read.
    """
    offset = 0
    try:
        with path.open("rb", buffering=_READ_SIZE) as file:
            for row, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                yield row, offset, line
                offset += len(line)
    except OSError as cause:
        raise unreadable(path, cause) from cause


def unreadable(path: Path, cause: OSError) -> DataError:
    """The error for a file of a run that the operating system does not let us read."""
    return DataError(str(path), f"can't be read ({cause.strerror})", "Restore it, and let this user read it.")


def decode_line(decoder: "msgspec.json.Decoder[_T]", path: Path, row: int, line: bytes, *, what: str) -> _T:
    """The record of a line.

    Raises:
        DataError: it is no `what`, with the file and the line's number.
    """
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise DataError(
            f"{path}:{row}",
            f"not {what} ({cause})",
            "The file was changed by something else; restore it, or delete this line to have the sample asked again.",
        ) from cause


class _Head(TypedDict):
    """What identifies a line; the rest of it is skipped without being built."""

    sample_id: str
    condition: NotRequired[str]


_head_decoder = msgspec.json.Decoder(_Head)


def latest(paths: Iterable[Path], kind: type[_R], *, what: str) -> Iterator[_R]:
    """The records of files, once for every sample and condition: the last line of several counts.

    Memory: one id per line, never the records. The files are read twice.

    Raises:
        DataError: a complete line that is no such record.
    """
    files = list(paths)
    last: dict[str, tuple[int, int]] = {}
    for number, path in enumerate(files):
        for row, offset, line in lines(path):
            head = decode_line(_head_decoder, path, row, line, what=what)
            last[line_id(head["sample_id"], head.get("condition", ""))] = (number, offset)
    counting = set(last.values())
    del last
    decoder = msgspec.json.Decoder(kind)
    for number, path in enumerate(files):
        for row, offset, line in lines(path):
            if (number, offset) in counting:
                yield decode_line(decoder, path, row, line, what=what)
