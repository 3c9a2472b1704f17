"""Recorded replies of a former run: the table of replies in its folder."""

import hashlib
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import DataError
from assay.models.recorded import Bareness, RecordedReplies
from assay.models.recorded_lines import parse_row
from assay.types import Reply


class StoreRows:
    """Rows of a run's `replies.sqlite`; a row's number stands for its request key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection = _connect(path)
        self._rowids = array("q")
        self._decode: Callable[[bytes], Reply] = msgspec.json.Decoder(Reply).decode

    def scan(self) -> Iterator[tuple[int, str, str, int, Reply]]:
        """(number, key, sample id, draw, reply) of every row, in the order of the keys: always the same one."""
        query = "SELECT rowid, key, sample_id, draw, reply FROM replies ORDER BY key"
        for rowid, key, sample_id, draw, blob in self._connection.execute(query):
            self._rowids.append(rowid)
            yield len(self._rowids) - 1, key, sample_id, draw, self._decode(blob)

    def where(self, number: int) -> str:
        return f"{self.path} (row {self._rowids[number]})"

    def reply(self, number: int) -> Reply | None:
        return self._decode(self._cell("reply", number))

    def key(self, number: int) -> str | None:
        return self._cell("key", number)

    def close(self) -> None:
        self._connection.close()

    def _cell(self, column: str, number: int) -> Any:
        query = f"SELECT {column} FROM replies WHERE rowid = ?"  # noqa: S608 - a column of ours, never a value
        with self._lock:
            row = self._connection.execute(query, (self._rowids[number],)).fetchone()
        if row is None:
            raise DataError(self.where(number), "the reply was there when the run was opened", "Replay it again")
        return row[0]


def scan_run(folder: Path) -> RecordedReplies:
    """Read the replies of a run's folder.

    Raises:
        DataError: the folder holds no readable replies.
    """
    path = folder / "replies.sqlite"
    if not path.is_file():
        raise DataError(str(folder), "the folder holds no replies.sqlite", "Name a run's folder, or a JSON Lines file")
    bare, whole = Bareness(), hashlib.sha256()
    try:
        rows = StoreRows(path)
        recorded = RecordedReplies(folder, rows)
        for number, key, sample_id, draw, reply in rows.scan():
            recorded.add(number, sample_id, draw, key)
            bare.see(reply)
            recorded.extractions += reply.extraction is not None
            whole.update(msgspec.json.encode((key, sample_id, draw, reply)))
    except (sqlite3.Error, msgspec.MsgspecError) as cause:
        raise DataError(str(path), f"not a run's store of replies ({cause})", "Name another run") from cause
    recorded.digest = whole.hexdigest()
    recorded.looks_extracted = bare.verdict
    recorded.identity = _run_identity(folder / "manifest.json")
    return recorded


def _run_identity(manifest: Path) -> str | None:
    if not manifest.is_file():
        return None
    model = parse_row(manifest.read_bytes(), str(manifest)).get("model")
    return model if isinstance(model, str) else None


def _connect(path: Path) -> sqlite3.Connection:
    """Open for reading; also on a medium that can't be written, where SQLite can't make its shared index."""
    location = path.resolve().as_uri()
    connection = sqlite3.connect(f"{location}?mode=ro", uri=True, check_same_thread=False)
    try:
        connection.execute("SELECT 1 FROM replies LIMIT 1").fetchall()
    except sqlite3.Error as cause:
        connection.close()
        # With a write-ahead log the newest replies are not in the file itself.
        if not isinstance(cause, sqlite3.OperationalError) or path.with_name(path.name + "-wal").exists():
            raise
        connection = sqlite3.connect(f"{location}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    return connection
