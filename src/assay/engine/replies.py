"""The replies of a run: an SQLite table from request key to reply, the cache that resume and re-marking live on.

Every `put` is one transaction in write-ahead mode. A commit is a `write` to the operating system, no disk flush: about
60 microseconds, cheap enough for the event loop, and nothing is lost when the process is killed. What reaches the disk,
and when, is the business of `checkpoint`, which runs outside the event loop on a connection of its own; a power cut may
cost the seconds since the last one.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, NotRequired, TypedDict

import msgspec

from assay.engine.lines import encode
from assay.errors import RunError
from assay.types import Reply, Usage

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY,  -- models.base.request_key of one draw
  sample_id TEXT NOT NULL,
  draw INTEGER NOT NULL,
  reply BLOB NOT NULL    -- JSON of types.Reply
);
CREATE INDEX IF NOT EXISTS replies_by_sample ON replies (sample_id, draw);
"""
# Another connection of this process (the checkpoint) may hold the file for a moment; another process must not.
_BUSY_SECONDS = 10.0

_decoder = msgspec.json.Decoder(Reply)


class _UsageHead(TypedDict):
    usage: NotRequired[Usage | None]


_usage_decoder = msgspec.json.Decoder(_UsageHead)


class StoredReply(NamedTuple):
    """One draw as it is stored."""

    key: str
    sample_id: str
    draw: int
    reply: Reply


class ReplyTable:
    """The table, opened for writing or read-only. Used from one thread; `checkpoint` may run in another.

    Raises (every method):
        RunError: the file is damaged, locked by another program, or can't be written.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self._connection: sqlite3.Connection | None = None
        if not writable and not path.exists():
            return  # a run that was stopped before its first reply
        try:
            self._connection = _connect(path) if writable else _connect_read_only(path)
        except sqlite3.Error as cause:
            self._fail(cause)

    def get(self, key: str) -> Reply | None:
        """The stored reply, or None."""
        for blob in self._query("SELECT reply FROM replies WHERE key = ?", key):
            return self._decode(key, blob)
        return None

    def put(self, rows: Sequence[StoredReply]) -> None:
        """Store draws in one transaction. A key that is there keeps its reply: outcomes may refer to it already."""
        values = [(row.key, row.sample_id, row.draw, encode(row.reply)) for row in rows]
        connection = self._connection
        if connection is None or not self.writable:
            raise RunError(f"{self.path} is open for reading only.")
        try:
            if len(values) == 1:  # a single statement is a transaction already
                connection.execute("INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", values[0])
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany("INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", values)
            except sqlite3.Error:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.Error as cause:
            self._fail(cause)

    def of_sample(self, sample_id: str) -> list[Reply]:
        """Every stored reply of a sample, by draw."""
        query = "SELECT reply FROM replies WHERE sample_id = ? ORDER BY draw, rowid"
        return [self._decode(f"of sample {sample_id}", blob) for blob in self._query(query, sample_id)]

    def count(self) -> int:
        return next(self._query("SELECT count(*) FROM replies"), 0)

    def usage(self) -> Usage:
        """Tokens of all stored replies together."""
        prompt = completion = 0
        for blob in self._query("SELECT reply FROM replies"):
            usage = self._decode_usage(blob)
            if usage is not None:
                prompt += usage.prompt_tokens
                completion += usage.completion_tokens
        return Usage(prompt_tokens=prompt, completion_tokens=completion)

    def checkpoint(self) -> None:
        """Put committed replies on the disk. May block; callable from any thread."""
        try:
            connection = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_SECONDS)
            try:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                connection.close()
        except sqlite3.Error as cause:
            self._fail(cause)

    def close(self) -> None:
        """Close the table; the last connection also empties the write-ahead log. Calling it twice is allowed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error as cause:
                self._fail(cause)

    def _query(self, query: str, *values: str) -> Iterator[Any]:
        """The first column of every row."""
        if self._connection is None:
            return
        try:
            for row in self._connection.execute(query, values):
                yield row[0]
        except sqlite3.Error as cause:
            self._fail(cause)

    def _decode(self, what: str, blob: bytes) -> Reply:
        try:
            return _decoder.decode(blob)
        except msgspec.DecodeError as cause:
            raise RunError(f"{self.path}: the reply {what} can't be read ({cause}). {_DAMAGE_REMEDY}") from cause

    def _decode_usage(self, blob: bytes) -> Usage | None:
        try:
            return _usage_decoder.decode(blob).get("usage")
        except msgspec.DecodeError as cause:
            raise RunError(f"{self.path}: a reply can't be read ({cause}). {_DAMAGE_REMEDY}") from cause

    def _fail(self, cause: sqlite3.Error) -> NoReturn:
        raise RunError(f"{self.path}: {_explain(cause)}") from cause


_DAMAGE_REMEDY = (
    "Move the file away and start again: finished samples stay finished, but re-marking needs their replies."
)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = NORMAL")
        # A checkpoint flushes to the disk; it would stall the event loop in the middle of a commit.
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        connection.executescript(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """Open for reading, also from a medium that can't be written, where SQLite could not create its shared index."""
    location = path.absolute().as_uri()
    connection = sqlite3.connect(f"{location}?mode=ro", uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
    try:
        connection.execute("SELECT 1 FROM replies LIMIT 1").fetchall()
    except sqlite3.OperationalError:
        connection.close()
        if path.with_name(path.name + "-wal").exists():
            raise
        connection = sqlite3.connect(f"{location}?mode=ro&immutable=1", uri=True, isolation_level=None)
        connection.execute("SELECT 1 FROM replies LIMIT 1").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _explain(cause: sqlite3.Error) -> str:
    code = getattr(cause, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None  # extended codes carry the primary one in the low byte
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "another program holds the file. Close it and start again."
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"the file is damaged ({cause}). {_DAMAGE_REMEDY}"
    if primary == sqlite3.SQLITE_FULL:
        return "the disk is full. Free space and start again."
    return f"{cause}."
