"""Models that answer from recorded replies, and the model that records.

`replay:FILE` on the command line; the forms of the file are described in `assay.models.recorded`.
"""

import json
import threading
from pathlib import Path

import msgspec

from assay.errors import CallError, DataError
from assay.models.base import Model, request_key
from assay.models.recorded import RecordedReplies
from assay.models.recorded_lines import RowId, parse_row, row_key, scan_lines
from assay.models.recorded_run import scan_run
from assay.types import Reply, Request

__all__ = ["RecordedReplies", "RecordingModel", "ReplayModel", "read_replies"]

_REMEDY = "Name a JSON Lines file of replies or a run's folder"


def read_replies(
    path: Path | str,
    *,
    id_field: str | None = None,
    reply_field: str | None = None,
    row_id: RowId | None = None,
) -> RecordedReplies:
    """Open recorded replies: a JSON Lines file or a former run's folder.

    Args:
        path: the file or folder.
        id_field: the field with the sample's id (text or integer; compared as text); None for the first of
            `recorded_lines.ID_FIELDS` that the first row has.
        reply_field: the field with the reply's text, or several, separated by commas, whose values make up a JSON
            list; None for the first of `recorded_lines.REPLY_FIELDS` that a row has.
        row_id: gives the sample's id of rows that have it in several fields.

    Raises:
        DataError: the file is missing, empty or not as it must be (a broken line by its number,
            a doubled draw by both).
    """
    path = Path(path)
    if path.is_dir():
        recorded = scan_run(path)
    elif path.is_file():
        recorded = scan_lines(path, id_field, reply_field, row_id)
    elif path.exists():
        raise DataError(
            str(path), "is no regular file, and replies are looked up in any order", "Write them to a file."
        )
    else:
        raise DataError(str(path), "there is no such file", _REMEDY)
    if not len(recorded):
        recorded.close()
        raise DataError(str(path), "there are no replies in it", _REMEDY)
    return recorded


class ReplayModel:
    """Answers with recorded replies; asks `fallback`, if there is one, for those that are missing, and records them.

    Without a fallback, replies are found by `Request.sample_id` and draw, whatever the prompt: a file of published
    predictions knows no prompts. With a fallback a reply that was recorded by Assay answers only the very request
    that it was given to, so that a changed prompt is asked anew.
    """

    def __init__(self, recorded: RecordedReplies, *, fallback: Model | None = None) -> None:
        """`fallback` is a `RecordingModel` where its replies are to be kept; see `open`."""
        self._recorded = recorded
        self._fallback = fallback

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        id_field: str | None = None,
        reply_field: str | None = None,
        fallback: Model | None = None,
    ) -> "ReplayModel":
        """Open replies as `read_replies` does; with a fallback the file may be absent, and its replies go there."""
        if fallback is not None:
            recording = RecordingModel(fallback, path)
            return cls(scan_lines(Path(path), id_field, reply_field), fallback=recording)
        return cls(read_replies(path, id_field=id_field, reply_field=reply_field))

    @property
    def identity(self) -> str:
        """The recording's name and content; with a fallback its identity, and the content that isn't its own."""
        if self._fallback is None:
            return f"replay:{self._recorded.path.name}:{self._recorded.digest[:16]}"
        if self._recorded.foreign is None:
            return self._fallback.identity
        return f"replay:{self._recorded.foreign[:16]}+{self._fallback.identity}"

    @property
    def inner(self) -> Model | None:
        """Who answers what is not recorded."""
        return self._fallback

    @property
    def replies(self) -> RecordedReplies:
        return self._recorded

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        """The recorded draws `index .. index + n - 1`.

        Raises:
            CallError: `no_reply` where a draw is missing or null and there is no fallback.
        """
        found = {index: self._lookup(request, index) for index in range(request.index, request.index + request.n)}
        missing = [index for index, reply in found.items() if reply is None]
        if missing and self._fallback is None:
            raise self._missing(request.sample_id, missing[0])
        if missing and self._fallback is not None:
            for first, count in _stretches(missing):
                part = msgspec.structs.replace(request, index=first, n=count)
                found.update(enumerate(await self._fallback.generate(part), start=first))
        return tuple(reply for reply in found.values() if reply is not None)

    async def close(self) -> None:
        self._recorded.close()
        if self._fallback is not None:
            await self._fallback.close()

    def _lookup(self, request: Request, index: int) -> Reply | None:
        if self._fallback is not None:
            key = request_key(self._fallback.identity, request, index)
            return self._recorded.find(request.sample_id, index, key)
        identity = self._recorded.identity
        key = None if identity is None else request_key(identity, request, index)
        return self._recorded.get(request.sample_id, index, key=key)

    def _missing(self, sample_id: str, index: int) -> CallError:
        where = self._recorded.path.name
        if sample_id not in self._recorded:
            return CallError("no_reply", f"{where} has no row for sample {sample_id!r}")
        draws = self._recorded.draws(sample_id)
        return CallError("no_reply", f"{where} has no reply for sample {sample_id!r}, draw {index} (rows: {draws})")


def _stretches(numbers: list[int]) -> list[tuple[int, int]]:
    """Rising numbers as (first, count) of their gapless stretches: 0, 1, 4 -> (0, 2), (4, 1)."""
    stretches: list[tuple[int, int]] = []
    for number in numbers:
        first, count = stretches[-1] if stretches else (number, 0)
        if stretches and first + count == number:
            stretches[-1] = (first, count + 1)
        else:
            stretches.append((number, 1))
    return stretches


class RecordingModel:
    """Asks another model and appends every draw to a file that `ReplayModel` reads.

    One JSON line per draw, flushed at once: `id`, `index`, `key`, `identity`, `reply`. A request that is already in
    the file is asked again but not written twice. One process writes to a file at a time.
    """

    def __init__(self, inner: Model, path: Path | str) -> None:
        """Opens the file for appending; a last line that a killed process left unfinished is cut off.

        Raises:
            DataError: the path is a folder, or the file holds something that is no recording.
        """
        self._inner = inner
        path = Path(path)
        if path.is_dir():
            raise DataError(str(path), "a folder can't be recorded into", "Name a JSON Lines file")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        _cut_torn_line(path)
        self._written = _written(path)
        self._file = path.open("a", encoding="ascii", newline="\n")
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def inner(self) -> Model:
        """Who answers."""
        return self._inner

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        replies = await self._inner.generate(request)
        with self._lock:
            for index, reply in enumerate(replies, start=request.index):
                self._record(request, index, reply)
        return replies

    async def close(self) -> None:
        self._file.close()
        await self._inner.close()

    def _record(self, request: Request, index: int, reply: Reply) -> None:
        key = request_key(self._inner.identity, request, index)
        if (request.sample_id, key) in self._written:
            return
        row = {"id": request.sample_id, "index": index, "key": key, "identity": self._inner.identity}
        # json writes a lone surrogate as an escape, where msgspec would refuse the whole reply.
        self._file.write(json.dumps({**row, "reply": msgspec.to_builtins(reply)}) + "\n")
        self._file.flush()
        self._written.add((request.sample_id, key))


def _written(path: Path) -> set[tuple[str, str]]:
    """(sample id, request key) of every row: two samples may ask the same."""
    written: set[tuple[str, str]] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                where = f"{path}:{number}"
                row = parse_row(line, where)
                key = row_key(row, where)
                if key is not None:
                    written.add((str(row.get("id")), key))
    return written


def _cut_torn_line(path: Path) -> None:
    """End the last line: a complete row gets its line feed, half a row is cut off."""
    with path.open("r+b") as file:
        start, line = 0, b""
        for line in file:
            start += len(line)
        if not line or line.endswith(b"\n"):
            return
        try:
            parse_row(line, str(path))
            file.write(b"\n")
        except DataError:
            file.truncate(start - len(line))
