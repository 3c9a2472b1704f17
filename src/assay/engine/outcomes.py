"""The outcome files of a run: append-only JSON lines, one per finished sample and condition (see `types.line_id`).

A line counts once its newline is there. Lines are written with a single `write` to the operating system, so a process
that is killed loses none that `append` returned from; a line that was cut in the middle can only be the last one, is
ignored when reading, and is removed before the next line is written.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict, TypeVar

import msgspec

from assay.errors import DataError, RunError
from assay.types import Failure, Outcome, line_id

_T = TypeVar("_T")

_READ_SIZE = 1 << 20
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Outcome)


class _Tag(TypedDict):
    type: str


class _Head(TypedDict):
    """What the search for superseded lines needs; the rest of a line is skipped without being built."""

    sample_id: str
    condition: NotRequired[str]
    result: _Tag


_head_decoder = msgspec.json.Decoder(_Head)
_FAILURE_TAG = Failure.__struct_config__.tag


class Winner(NamedTuple):
    """Which of several lines with the same id counts."""

    succeeded: bool
    file: int
    offset: int


class OutcomeWriter:
    """Appends outcomes to one file. Not safe for use by several processes: the run's lock sees to that."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._size = _cut_torn_line(self._fd)
        except OSError:
            os.close(self._fd)
            raise

    def append(self, *outcomes: Outcome) -> None:
        """Write one line each. When this returns, killing the process can't lose them.

        Raises:
            RunError: they can't be written (a full disk); nothing of them stays in the file.
        """
        lines = b"".join(_encoder.encode(outcome) + b"\n" for outcome in outcomes)
        view = memoryview(lines)
        written = 0
        try:
            while written < len(lines):  # a signal or a nearly full disk may shorten a write
                written += os.write(self._fd, view[written:])
        except OSError as cause:
            os.ftruncate(self._fd, self._size)
            raise RunError(f"{self.path} can't be written: {cause.strerror}. Free space and start again.") from cause
        self._size += len(lines)

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


def outcome_files(folder: Path) -> list[Path]:
    """The outcome files of a run in a fixed order: by number, then by name."""

    def order(path: Path) -> tuple[int, str]:
        number = path.stem.removeprefix("outcomes-")
        return (int(number) if number.isascii() and number.isdigit() else -1, path.name)

    return sorted(folder.glob("outcomes-*.jsonl"), key=order)


def read_outcomes(folder: Path) -> Iterator[Outcome]:
    """Every outcome, once, in the order of the lines that count.

    In one file the last line of an id counts. Between files (a cluster's workers, another sharding after a resume) an
    outcome counts before a failure, so that a sample which failed on one worker and was answered on another is done.

    Memory: one id per line, never the outcomes. The files are read up to three times.

    Raises:
        DataError: a complete line that is not an outcome, with its file and number.
    """
    files = outcome_files(folder)
    winners = _winners(files)
    for number, path in enumerate(files):
        for row, offset, line in _lines(path):
            outcome = _decode(_decoder, path, row, line)
            winner = winners.get(outcome.id)
            if winner is None or (winner.file, winner.offset) == (number, offset):
                yield outcome


def read_ids(folder: Path) -> tuple[set[str], set[str]]:
    """Ids with an outcome that is not a failure, and ids with nothing but a failure."""
    files = outcome_files(folder)
    winners = _winners(files)
    done: set[str] = set()
    failed: set[str] = set()
    for path in files:
        for name, succeeded, _ in _heads(path):
            winner = winners.get(name)
            (done if (succeeded if winner is None else winner.succeeded) else failed).add(name)
    return done, failed


def _winners(files: list[Path]) -> dict[str, Winner]:
    """For each id with more than one line, the line that counts."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for path in files:
        for name, _, _ in _heads(path):
            (repeated if name in seen else seen).add(name)
    del seen
    winners: dict[str, Winner] = {}
    if not repeated:
        return winners
    for number, path in enumerate(files):
        last: dict[str, Winner] = {}
        for name, succeeded, offset in _heads(path):
            if name in repeated:
                last[name] = Winner(succeeded, number, offset)
        for name, winner in last.items():
            winners[name] = max(winner, winners.get(name, winner))
    return winners


def _heads(path: Path) -> Iterator[tuple[str, bool, int]]:
    """Id, whether it is an outcome rather than a failure, and offset of every complete line."""
    for row, offset, line in _lines(path):
        head = _decode(_head_decoder, path, row, line)
        name = line_id(head["sample_id"], head.get("condition", ""))
        yield name, head["result"]["type"] != _FAILURE_TAG, offset


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, offset and text of every complete line."""
    offset = 0
    with path.open("rb", buffering=_READ_SIZE) as file:
        for row, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            yield row, offset, line
            offset += len(line)


def _decode(decoder: "msgspec.json.Decoder[_T]", path: Path, row: int, line: bytes) -> _T:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise DataError(
            f"{path}:{row}",
            f"not an outcome ({cause})",
            "The file was changed by something else; restore it, or delete this line to have the sample asked again.",
        ) from cause
