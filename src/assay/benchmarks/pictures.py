"""Pictures that lie inside a table (parquet): written out once, named by their content.

`Sample.images` are always paths, so that a sample stays small and a picture is read when it is sent.
"""

import hashlib
import os
import tempfile
from pathlib import Path

_SIGNATURES: tuple[tuple[bytes, int, str], ...] = (
    # (bytes, offset, extension)
    (b"\x89PNG\r\n\x1a\n", 0, "png"),
    (b"\xff\xd8\xff", 0, "jpg"),
    (b"GIF8", 0, "gif"),
    (b"WEBP", 8, "webp"),
    (b"BM", 0, "bmp"),
    (b"II*\x00", 0, "tiff"),
    (b"MM\x00*", 0, "tiff"),
)


def cache_folder() -> Path:
    """`$ASSAY_CACHE`, else `$XDG_CACHE_HOME/assay`, else `~/.cache/assay`."""
    configured = os.environ.get("ASSAY_CACHE")
    if configured:
        return Path(configured).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "assay"


def extension(data: bytes) -> str:
    """The file extension that the first bytes call for, without a dot; `bin` for no known picture type."""
    for signature, offset, name in _SIGNATURES:
        if data.startswith(signature, offset):
            return name
    return "bin"


class PictureStore:
    """A folder of pictures, `pictures/<first two digits>/<SHA-256>.<extension>`.

    Equal pictures are one file. A file appears whole or not at all, and one that is there is left alone, so
    several processes may share the folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (folder or cache_folder()) / "pictures"

    def put(self, data: bytes, *, compare: bool = False) -> Path:
        """The path of the file that holds `data`, written if it isn't there yet.

        Args:
            data: the picture's file.
            compare: read a file that is there, and write it anew where it holds anything else.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self._folder / digest[:2] / f"{digest}.{extension(data)}"
        # The size guards against a file that a power cut left empty after its rename.
        if path.is_file() and path.stat().st_size == len(data) and not (compare and path.read_bytes() != data):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path
