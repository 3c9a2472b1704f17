"""The pictures of an export: each once, under the hash of its content, as a critic is shown it at test time.

A file that would be sent as it is (see `images.Transform`) is linked or copied. Any other (of 16 bits, transparent, or
turned by its metadata) is written anew as it would be sent: trainers would read it in a way of their own.
"""

import asyncio
import hashlib
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from assay.errors import ImageError, RunError, boundary
from assay.images import ImageCache, Transform, decode

__all__ = ["Picture", "PictureStore", "can_compare"]

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg"}
_NAME = re.compile(r"[0-9a-f]{64}\.(?:png|jpg)|\.[0-9a-f]{64}\.(?:png|jpg)\.part")
_SHOWN = Transform()

How = Literal["linked", "copied", "prepared"]


class Picture(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A picture of the export.

    Attributes:
        name: of its file: SHA-256 of the content, hexadecimal, and the type.
        look: its perceptual hash, 64 bits; None where pictures are not compared.
    """

    name: str
    look: int | None


class PictureStore:
    """Checks pictures and puts them into a folder.

    Args:
        folder: where they go.
        link: whether a file is linked (a hard link) where that can be done, instead of copied.
        compare: whether perceptual hashes are taken; needs imagehash.

    Attributes:
        how: name of every picture -> what was done to have it there.
    """

    def __init__(self, folder: Path, *, link: bool, compare: bool) -> None:
        self.how: dict[str, How] = {}
        self._folder = folder
        self._link = link
        self._compare = compare
        self._cache = ImageCache(folder=None)
        self._placed: dict[str, asyncio.Task[Picture]] = {}
        self._put: dict[str, asyncio.Task[How]] = {}

    async def place(self, path: str) -> Picture:
        """Put a picture into the folder, whatever the number of rows that show it.

        Raises:
            ImageError: it is missing or can't be read to its last pixel; see `assay.images` for the kinds.
            RunError: the folder can't be written.
        """
        if path not in self._placed:
            self._placed[path] = asyncio.create_task(self._place(path))
        return await self._placed[path]

    def close(self) -> None:
        self._cache.close()

    def remove_others(self) -> None:
        """Remove pictures that an earlier export put there, or was putting there, and this one does not show."""
        for path in self._folder.iterdir():
            if _NAME.fullmatch(path.name) and path.name not in self.how:
                path.unlink()

    async def _place(self, path: str) -> Picture:
        part = await self._cache.get(path, _SHOWN)
        name = f"{hashlib.sha256(part.data).hexdigest()}.{_SUFFIXES[part.media_type]}"
        look = await asyncio.to_thread(self._look, part.data, path)
        if name not in self._put:  # the same picture may be on its way from another path
            self._put[name] = asyncio.create_task(
                asyncio.to_thread(_put, Path(path), part.data, self._folder / name, link=self._link)
            )
        self.how[name] = await self._put[name]
        return Picture(name=name, look=look)

    def _look(self, data: bytes, path: str) -> int | None:
        try:
            pixels = decode(data)
        except ImageError as cause:
            raise ImageError(cause.kind, f"{path}: {cause}") from cause
        return _perceptual_hash(pixels) if self._compare else None


def _put(source: Path, data: bytes, target: Path, *, link: bool) -> How:
    """Have `target` hold `data`: what `source` holds, or what it became."""
    try:
        same = source.read_bytes() == data
        if target.exists() and target.read_bytes() == data:
            if not same:
                return "prepared"
            return "linked" if source.samefile(target) else "copied"
        if same and link and _linked(source, target):
            return "linked"
        unfinished = target.with_name(f".{target.name}.part")
        unfinished.write_bytes(data)
        unfinished.replace(target)
    except OSError as cause:
        raise RunError(f"{target} can't be written: {cause.strerror or cause}.") from cause
    return "copied" if same else "prepared"


def _linked(source: Path, target: Path) -> bool:
    """Whether a hard link could be made. It can't be between file systems, nor on every one."""
    try:
        target.unlink(missing_ok=True)
        os.link(source.resolve(), target)
    except OSError:
        return False
    return True


def can_compare() -> bool:
    """Whether perceptual hashes can be taken."""
    return find_spec("imagehash") is not None


def _perceptual_hash(pixels: Any) -> int:
    """The low frequencies of a picture, each above or below their median, as 64 bits (`imagehash.phash`)."""
    import imagehash

    with boundary(lambda message: ImageError("corrupt", message), "the picture can't be compared with others"):
        return int(str(imagehash.phash(pixels)), 16)
