"""Which checkpoint a folder holds, so that a retrained model never meets the replies of the old one."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

# Everything beside the weights that shapes a reply: configuration, tokenizer, chat template, code of the checkpoint.
_SMALL = frozenset({".json", ".txt", ".model", ".jinja", ".py"})
_WEIGHTS = frozenset({".safetensors", ".bin", ".pt", ".pth"})

_WHOLE = 64 * 2**20  # weight files up to this many bytes are read whole
_BLOCKS = 256  # of larger ones: this many blocks, evenly spaced, and both ends
_BLOCK = 64 * 2**10
_END = 2**20


def fingerprint(folder: Path) -> str:
    """SHA-256 (hexadecimal) over a checkpoint's files: names, sizes and contents, no times and no place.

    Large weight files are sampled: training moves nearly every element of a tensor that it trains, and the blocks
    lie closer together than a large tensor is long. Takes some milliseconds a gigabyte.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in _SMALL | _WEIGHTS:
            size = path.stat().st_size
            digest.update(f"{path.name}\x00{size}\x00".encode())
            whole = path.suffix in _SMALL or size <= _WHOLE
            for start, length in [(0, size)] if whole else _spans(size):
                for block in _blocks(path, start, length):
                    digest.update(block)
    return digest.hexdigest()


def _spans(size: int) -> list[tuple[int, int]]:
    step = (size - _BLOCK) // (_BLOCKS - 1)
    return [(0, _END), *((number * step, _BLOCK) for number in range(_BLOCKS)), (size - _END, _END)]


def _blocks(path: Path, start: int, length: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while length > 0 and (block := file.read(min(length, _END))):
            yield block
            length -= len(block)
