"""Each picture prepared once per run, however many requests carry it.

asyncio and thread pools are imported inside the functions: whoever needs only a `Transform` shall not wait for them.
"""

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from msgspec import Struct

from assay.errors import ImageError, RunError
from assay.images.files import Header, sniff
from assay.images.pixels import check_file_size, inspect
from assay.images.transform import (
    UNBOUNDED,
    Prepared,
    Transform,
    encoded,
    passes,
    picture_key,
    sealed,
    target_type,
)
from assay.types import ImagePart

if TYPE_CHECKING:
    from asyncio import Task
    from concurrent.futures import ThreadPoolExecutor

# Reading, walking and hashing a 45 KB file takes 90 us of CPU here, handing it to a thread another 120 us.
_INLINE_BYTES = 1 << 18
_WALKED_TYPES = ("image/png", "image/jpeg")  # known without Pillow
_KNOWN_FILES = 8_192
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg"}

_P = ParamSpec("_P")
_T = TypeVar("_T")
_K = TypeVar("_K")


class _Version(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One state of one file, under one transform."""

    path: str
    transform: Transform
    inode: int
    changed_ns: int
    modified_ns: int
    size: int


class _Refusal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error to raise again, without the traceback that an exception object would gather."""

    kind: str
    message: str


class ImageCache:
    """Prepared pictures of files, for one event loop at a time.

    Small files that pass through are read at once in the caller's thread; everything else happens in worker
    threads. Only one preparation of a picture is ever under way, also where two files hold the same picture, and
    whoever asks meanwhile waits for it; one who gives up waiting does not disturb the others. A file that can't be
    prepared is refused without another try for as long as it does not change; a missing one is looked for each
    time.

    Args:
        folder: where encoded pictures are kept as `<key[:2]>/<key>.<png|jpg>`, so that a resumed run does not encode
            them again; None to keep none. Pictures that pass through are not copied there.
        memory_bytes: bound on the encoded bytes kept in memory, least recently used first out.
        workers: threads that decode and encode.

    Attributes:
        encoded: pictures encoded by this object.
        passed_through: files read and sent as they are (again after each eviction).
        memory_hits: answers that cost nothing, including those that waited for a preparation under way.
        disk_hits: pictures restored from `folder`.
        animated: pictures prepared or restored of which only the first frame is sent.
    """

    def __init__(self, *, folder: Path | None, memory_bytes: int = 8_000_000, workers: int = 2) -> None:
        self.encoded = 0
        self.passed_through = 0
        self.memory_hits = 0
        self.disk_hits = 0
        self.animated = 0
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._workers = workers
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False
        self._known: OrderedDict[_Version, str | _Refusal] = OrderedDict()
        self._memory: OrderedDict[str, Prepared] = OrderedDict()
        self._held_bytes = 0
        self._files_under_way: dict[_Version, Task[Prepared]] = {}
        self._keys_under_way: dict[str, Task[Prepared]] = {}

    @property
    def hits(self) -> int:
        return self.memory_hits + self.disk_hits

    async def get(self, path: str, transform: Transform) -> ImagePart:
        """The prepared picture of a file.

        Raises:
            ImageError: with the path in its message; `missing`, `unreadable`, or a kind of `prepare`.
            RunError: the cache folder can't be used.
        """
        return (await self.prepared(path, transform)).part

    async def prepared(self, path: str, transform: Transform) -> Prepared:
        """As `get`, with the notes on what was done to the picture."""
        if self._closed:
            raise RuntimeError("the image cache is closed")
        version = _version(path, transform)
        known = self._known.get(version)
        if isinstance(known, _Refusal):
            raise ImageError(known.kind, known.message)
        found = None if known is None else self._recall(known)
        if found is not None:
            return found
        if version.size <= _INLINE_BYTES and version not in self._files_under_way:
            passed = self._pass_through(version)
            if passed is not None:
                return passed
        return await self._once(self._files_under_way, version, self._from_file, version)

    def _pass_through(self, version: _Version) -> Prepared | None:
        """The picture where it needs neither a thread nor work that others may wait for; None for all others.

        Most pictures of most benchmarks are small PNG or JPEG files that are sent as they are: a task of their own
        would cost as much as reading them. An error is left to the longer way, which remembers it.
        """
        try:
            data = _read(version.path, version.size)
            if sniff(data) not in _WALKED_TYPES:
                return None
            header = inspect(data, version.transform.max_pixels)
        except ImageError:
            return None
        if not passes(header, version.transform):
            return None
        key = picture_key(data, header, version.transform)
        prepared = self._recall(key)
        if prepared is None:
            prepared = self._hold(sealed(key, header, header), header)
            self.passed_through += 1
        self._know(version, key)
        return prepared

    def close(self) -> None:
        """Stop the threads, after what they are at. Calling it twice is allowed."""
        self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
            self._threads = None
        self._memory.clear()
        self._held_bytes = 0

    async def _once(
        self,
        under_way: "dict[_K, Task[Prepared]]",
        key: _K,
        make: Callable[_P, Coroutine[Any, Any, Prepared]],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> Prepared:
        """Join the task that is under way for `key`, or start it. It outlives whoever started it."""
        import asyncio

        task = under_way.get(key)
        if task is None:
            task = asyncio.create_task(make(*args, **kwargs))
            under_way[key] = task
            task.add_done_callback(lambda _: under_way.pop(key))
        else:
            self.memory_hits += 1
        return await asyncio.shield(task)

    async def _from_file(self, version: _Version) -> Prepared:
        path, transform = version.path, version.transform
        try:
            check_file_size(version.size, transform.max_pixels)
            header, key = await self._in_thread(_identify, path, transform)
            prepared = self._recall(key)
            if prepared is None and passes(header, transform):
                prepared = self._hold(sealed(key, header, header), header)
                self.passed_through += 1
            elif prepared is None:
                prepared = await self._once(self._keys_under_way, key, self._from_source, key, header, transform)
        except ImageError as error:
            named = ImageError(error.kind, f"{path}: {error}")
            if error.kind not in ("missing", "unreadable"):
                self._know(version, _Refusal(kind=named.kind, message=str(named)))
            raise named from error
        self._know(version, key)
        return prepared

    async def _from_source(self, key: str, header: Header, transform: Transform) -> Prepared:
        prepared, restored = await self._in_thread(_encode, self._folder, key, header, transform)
        self.disk_hits += restored
        self.encoded += not restored
        return self._hold(prepared, header)

    async def _in_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="assay-images")
        return await asyncio.wrap_future(self._threads.submit(work, *args, **kwargs))

    def _recall(self, key: str) -> Prepared | None:
        prepared = self._memory.get(key)
        if prepared is not None:
            self._memory.move_to_end(key)
            self.memory_hits += 1
        return prepared

    def _hold(self, prepared: Prepared, header: Header) -> Prepared:
        self.animated += header.frames > 1
        if len(prepared.part.data) > self._memory_bytes:
            return prepared
        self._memory[prepared.part.key] = prepared
        self._held_bytes += len(prepared.part.data)
        while self._held_bytes > self._memory_bytes:
            _, oldest = self._memory.popitem(last=False)
            self._held_bytes -= len(oldest.part.data)
        return prepared

    def _know(self, version: _Version, what: str | _Refusal) -> None:
        self._known[version] = what
        if len(self._known) > _KNOWN_FILES:
            self._known.popitem(last=False)


def _version(path: str, transform: Transform) -> _Version:
    try:
        status = os.stat(path)  # noqa: PTH116  (a Path object would double the cost of a hit)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ImageError("missing", f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise ImageError("unreadable", f"{path!r}: {error}") from error
    # A pipe or a device would block, or never end.
    if not stat.S_ISREG(status.st_mode):
        raise ImageError("unreadable", f"{path}: not a regular file")
    return _Version(
        path=path,
        transform=transform,
        inode=status.st_ino,
        changed_ns=status.st_ctime_ns,
        modified_ns=status.st_mtime_ns,
        size=status.st_size,
    )


def _read(path: str, size: int = 0) -> bytes:
    """The whole file. `size`: how large it is expected to be; knowing it saves the file object its guesses."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            data = file.read(size + 1) or b""
            return data if 0 < len(data) <= size else data + file.readall()
    except FileNotFoundError as error:
        raise ImageError("missing", "there is no such file") from error
    except OSError as error:
        raise ImageError("unreadable", str(error)) from error


def _identified(data: bytes, transform: Transform) -> tuple[Header, str]:
    header = inspect(data, transform.max_pixels)
    return header, picture_key(data, header, transform)


def _identify(path: str, transform: Transform) -> tuple[Header, str]:
    return _identified(_read(path), transform)


def _encode(folder: Path | None, key: str, header: Header, transform: Transform) -> tuple[Prepared, bool]:
    """The encoded picture, and whether it came from the folder."""
    if folder is None:
        return sealed(key, header, inspect(encoded(header, transform), UNBOUNDED)), False
    media_type = target_type(header, transform)
    path = folder / key[:2] / f"{key}.{_SUFFIXES[media_type]}"
    stored = _stored(path, media_type)
    if stored is not None:
        return sealed(key, header, stored), True
    data = encoded(header, transform)
    _write(path, data)
    return sealed(key, header, inspect(data, UNBOUNDED)), False


def _stored(path: Path, media_type: str) -> Header | None:
    """A picture that an earlier run, or this one, has encoded; None where there is none or a power cut spoilt it."""
    try:
        stored = inspect(path.read_bytes(), UNBOUNDED)
    except (FileNotFoundError, ImageError):
        return None
    except OSError as error:
        raise RunError(f"can't read the picture cache: {error}") from error
    return stored if stored.media_type == media_type else None


def _write(path: Path, data: bytes) -> None:
    """Write so that `path` is whole or absent at any moment, also with several writers."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise RunError(f"can't write the picture cache: {error}") from error
