"""A run on disk: manifest, outcomes and replies in one folder, written by one process at a time.

    runs/NAME/
        manifest.json       what the run is; written first, compared on resume (`engine.manifest`)
        outcomes-0.jsonl    one line per finished sample (`engine.outcomes`)
        NAME-0.jsonl        further records of finished samples, one line each (`RunStore.record`)
        replies.sqlite      request key -> reply (`engine.replies`)
        images/             prepared pictures (`assay.images`)
        lock                held while a process writes (`engine.lock`)

Kill the process at any moment and start the same command again: finished samples are not asked again, and replies that
came in before the kill are not paid twice.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from assay.engine.group import Group
from assay.engine.lines import LineWriter, latest, numbered
from assay.engine.lock import release_lock, take_lock
from assay.engine.manifest import SCHEMA, check_same, fingerprint, placed, read_manifest, seal, write_manifest
from assay.engine.outcomes import outcome_files, read_ids, read_outcomes
from assay.engine.replies import ReplyTable, StoredReply
from assay.errors import AssayError, RunError
from assay.types import Manifest, Outcome, Reply, Usage

__all__ = [
    "SCHEMA",
    "RunStore",
    "StoredReply",
    "check_resume",
    "fingerprint",
    "read_manifest",
    "seal",
    "take_lock",
]

_R = TypeVar("_R", bound=msgspec.Struct)

_SYNC_SECONDS = 2.0


class RunStore:
    """One run folder. Open it with `create_or_resume` (to write) or `open` (to read).

    Used from one thread. While it is open for writing, a background thread flushes both files to the disk every two
    seconds, so that the event loop never waits for a disk.

    Attributes:
        path: the folder.
        manifest: as on disk; after a resume that is the first start's.
        resumed: whether the folder held this run already.
    """

    def __init__(self, path: Path, manifest: Manifest, *, resumed: bool, lock: int | None) -> None:
        self.path = path
        self.manifest = manifest
        self.resumed = resumed
        self._lock = lock
        self._replies = ReplyTable(path / "replies.sqlite", writable=lock is not None)
        self._writer: LineWriter | None = None
        self._records: dict[str, LineWriter] = {}
        self._flusher: _Flusher | None = None
        self._group: Group | None = None
        if lock is None:
            return
        try:
            self._writer = LineWriter(path / "outcomes-0.jsonl")
        except OSError:
            self._replies.close()
            raise
        self._flusher = _Flusher(self._flush)
        self._group = Group(self.put, self._append)

    @classmethod
    def create_or_resume(cls, path: Path, manifest: Manifest) -> Self:
        """Start a run in `path`, or go on with the one that is there.

        Raises:
            RunMismatch: the folder holds a run with another fingerprint; the message names what differs.
            RunLocked: another process writes to it.
            RunError: it holds results without a manifest, or can't be written.
        """
        lock: int | None = None
        manifest = placed(manifest)
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = take_lock(path)
            resumed = (path / "manifest.json").exists()
            if resumed:
                found = read_manifest(path)
                check_same(path, found, manifest)
                manifest = found
            else:
                _refuse_orphans(path)
                write_manifest(path, manifest)
            return cls(path, manifest, resumed=resumed, lock=lock)
        except OSError as cause:
            release_lock(lock)
            raise RunError(f"{path} can't be used as a run folder: {cause.strerror or cause}.") from cause
        except AssayError:
            release_lock(lock)
            raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a run for reading; possible while another process writes to it.

        Raises:
            DataError: there is no run, or its manifest is damaged.
        """
        return cls(path, read_manifest(path), resumed=True, lock=None)

    def note(self, facts: dict[str, Any]) -> None:
        """Record further facts in the manifest's `environment`, which is never compared.

        Raises:
            RunError: it can't be written.
        """
        manifest = msgspec.structs.replace(self.manifest, environment=self.manifest.environment | facts)
        if self._lock is None:
            raise RunError(f"{self.path} is open for reading only.")
        try:
            write_manifest(self.path, manifest)
        except OSError as cause:
            raise RunError(f"{self.path}: the manifest can't be written: {cause.strerror}.") from cause
        self.manifest = manifest

    # ---- outcomes

    def append(self, outcome: Outcome) -> None:
        """Record a finished sample. When this returns, killing the process can't lose it.

        Raises:
            RunError: it can't be written.
        """
        self._append([outcome])

    async def append_soon(self, outcome: Outcome) -> None:
        """As `append`, together with all that finish in the same turn of the event loop (see `engine.group`)."""
        await self._writing().write(outcomes=(outcome,))

    def _append(self, outcomes: Sequence[Outcome]) -> None:
        if self._writer is None or self._flusher is None:
            raise self._read_only()
        self._flusher.check()
        self._writer.append(*outcomes)
        self._flusher.touch()

    def _writing(self) -> Group:
        if self._group is None:
            raise self._read_only()
        return self._group

    def _read_only(self) -> RunError:
        return RunError(f"{self.path} is open for reading only.")

    def outcomes(self) -> Iterator[Outcome]:
        """Every sample's outcome, once; see `engine.outcomes.read_outcomes`."""
        return read_outcomes(self.path)

    def done_ids(self) -> set[str]:
        """Ids of the samples that need no further work. Failures are not among them: a resume asks them again."""
        return read_ids(self.path)[0]

    def failed_ids(self) -> set[str]:
        """Ids of the samples for which there is only a failure."""
        return read_ids(self.path)[1]

    # ---- further records

    def record(self, name: str, record: msgspec.Struct) -> None:
        """Keep a record of a sample in `NAME-0.jsonl`. When this returns, killing the process can't lose it.

        It has the fields `sample_id` and, beside the plain condition, `condition`. Write it before the outcome that it
        explains: then every outcome finds its record, and a record without an outcome is written again.

        Raises:
            RunError: it can't be written.
        """
        if self._flusher is None:
            raise self._read_only()
        self._flusher.check()
        if name not in self._records:
            try:
                self._records[name] = LineWriter(self.path / f"{name}-0.jsonl")
            except OSError as cause:
                raise RunError(f"{self.path}: {name}-0.jsonl can't be written: {cause.strerror}.") from cause
        self._records[name].append(record)
        self._flusher.touch()

    def records(self, name: str, kind: type[_R]) -> Iterator[_R]:
        """Every sample's record of that name, once; of several the last."""
        return latest(numbered(self.path, name), kind, what=f"a record of {name}")

    # ---- replies

    def get(self, key: str) -> Reply | None:
        """The stored reply to the draw with this key, or None."""
        return self._replies.get(key)

    def put(self, rows: Sequence[StoredReply]) -> None:
        """Store draws. When this returns, killing the process can't lose them; a key that is there keeps its reply."""
        self._replies.put(rows)
        if self._flusher is not None:
            self._flusher.touch()

    async def put_soon(self, rows: Sequence[StoredReply]) -> None:
        """As `put`, together with all that arrive in the same turn of the event loop (see `engine.group`)."""
        await self._writing().write(rows)

    def replies_of(self, sample_id: str) -> list[Reply]:
        """Every stored reply of a sample, by draw."""
        return self._replies.of_sample(sample_id)

    def reply_count(self) -> int:
        return self._replies.count()

    def usage(self) -> Usage:
        """Tokens of all stored replies: what the run has cost so far, this and earlier starts together."""
        return self._replies.usage()

    # ---- end

    def _flush(self) -> None:
        # Replies first: an outcome that survives a power cut should find its reply.
        self._replies.checkpoint()
        for writer in list(self._records.values()):
            writer.sync()
        if self._writer is not None:
            self._writer.sync()

    def close(self) -> None:
        """Flush to the disk and free the folder. Calling it twice is allowed."""
        lock, self._lock = self._lock, None
        if lock is None:
            self._replies.close()
            return
        try:
            if self._group is not None:
                self._group.end_turn()
            if self._flusher is not None:
                self._flusher.close()
            self._replies.close()
            for name in tuple(self._records):
                writer = self._records.pop(name)
                writer.sync()
                writer.close()
            if self._writer is not None:
                self._writer.sync()
                self._writer.close()
                self._writer = None
        finally:
            release_lock(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Flusher:
    """Calls `flush` in a thread some seconds after something was written, as long as something is written."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._dirty = threading.Event()
        self._closing = threading.Event()
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def touch(self) -> None:
        """Something was written."""
        if self._dirty.is_set():
            return
        self._dirty.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="assay-store-flush", daemon=True)
            self._thread.start()

    def check(self) -> None:
        """Raise what the last flush ran into."""
        if self._error is not None:
            raise RunError(f"Results can't be put on the disk: {self._error}") from self._error

    def _run(self) -> None:
        while not self._closing.is_set():
            self._dirty.wait()
            self._closing.wait(_SYNC_SECONDS)
            self._dirty.clear()
            try:
                self._flush()
            except (OSError, RunError) as error:
                self._error = error
                return

    def close(self) -> None:
        """Flush a last time and end the thread."""
        self._closing.set()
        self._dirty.set()
        if self._thread is not None:
            self._thread.join()
        self.check()


def _refuse_orphans(path: Path) -> None:
    """Results without a manifest can't be continued: nobody knows what they are results of."""
    if outcome_files(path) or (path / "replies.sqlite").exists():
        raise RunError(f"{path} holds results but no manifest.json. Choose another folder for this run.")


def check_resume(path: Path, manifest: Manifest) -> None:
    """Say now what `RunStore.create_or_resume` would refuse later, without starting or locking anything.

    Raises:
        RunMismatch: the folder holds a run with another fingerprint.
        RunError: `path` is no folder.
    """
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file, and a run needs a folder. Choose another one.")
    if (path / "manifest.json").exists():
        check_same(path, read_manifest(path), placed(manifest))
