"""Near-duplicate questions: the same picture to the eye, and the same text but for a few words.

Both must match. Two pictures match where their perceptual hashes (pHash, 64 bits, of the package imagehash) differ in a
few bits; two texts where their sets of words overlap (Jaccard) and their numbers are the same: a hash can't see that
another length is written at a side, so another number makes another question.

No pair is looked at that can't match. Hashes that differ in at most d of 64 bits share one of d + 1 bands as it is; two
sets whose overlap is at least t share one of their n - ceil(t n) + 1 rarest words (n: size of the set). A question is
looked up by every band of its first picture with every one of these words.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from assay.errors import ImageError, MissingExtra
from assay.images import decode
from assay.train.wording import numbers

__all__ = ["BITS", "Fingerprint", "Likeness", "NearDuplicates", "PictureHashes", "bands", "distance"]

BITS = 64
"""Of a picture's hash."""


class Likeness(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where on two questions count as one (ours).

    Attributes:
        bits: of two pictures' hashes, at most so many of 64 differ.
        text: least overlap of two sets of words, 0 to 1.
    """

    bits: int = 4
    text: float = 0.9


class Fingerprint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question as it is compared: its words in order, and the hashes of its pictures."""

    words: tuple[str, ...]
    pictures: tuple[int, ...] = ()


class PictureHashes:
    """Perceptual hashes of picture files, each worked out once.

    Raises:
        MissingExtra: imagehash is not installed.
    """

    def __init__(self) -> None:
        try:
            from imagehash import phash
        except ImportError:
            raise MissingExtra("Comparing pictures", "curate") from None
        self._phash = phash
        self._known: dict[str, int] = {}

    def __call__(self, path: str) -> int:
        """The hash of a file.

        Raises:
            ImageError: it is no picture that can be read.
        """
        if path not in self._known:
            self._known[path] = int(str(self._phash(decode(read_picture(path)))), 16)
        return self._known[path]


def read_picture(path: str) -> bytes:
    """The bytes of a picture file.

    Raises:
        ImageError: `missing`, `unreadable`.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ImageError("missing", f"{path}: there is no such file") from None
    except (OSError, ValueError) as cause:
        raise ImageError("unreadable", f"{path}: can't be read ({cause})") from cause


def distance(one: int, other: int) -> int:
    """Bits in which two hashes differ."""
    return (one ^ other).bit_count()


def bands(picture: int, bits: int) -> Iterator[tuple[int, int]]:
    """A hash in `bits + 1` bands, each with its number: hashes that differ in at most `bits` bits share one of them."""
    count = bits + 1
    for number in range(count):
        first, end = number * BITS // count, (number + 1) * BITS // count
        yield number, (picture >> first) & ((1 << (end - first)) - 1)


class NearDuplicates:
    """Tells of each question in turn which earlier one it repeats. Those that repeat one are not compared with later.

    Args:
        questions: all that will come, for how rare their words are.
    """

    def __init__(self, questions: Iterable[Fingerprint], likeness: Likeness) -> None:
        self._likeness = likeness
        self._frequency = Counter(word for question in questions for word in set(question.words))
        self._kept: list[tuple[Fingerprint, frozenset[str], tuple[str, ...]]] = []
        self._buckets: dict[tuple[object, str], list[int]] = {}

    def earlier(self, question: Fingerprint) -> int | None:
        """Number, from 0, of the kept question that this one repeats; None where it is kept itself."""
        own, values = frozenset(question.words), numbers(question.words)
        keys = list(self._keys(question, own))
        seen: set[int] = set()
        for key in keys:
            for number in self._buckets.get(key, ()):
                if number not in seen and self._alike(question, own, values, number):
                    return number
                seen.add(number)
        for key in keys:
            self._buckets.setdefault(key, []).append(len(self._kept))
        self._kept.append((question, own, values))
        return None

    def _alike(self, question: Fingerprint, own: frozenset[str], values: tuple[str, ...], number: int) -> bool:
        other, theirs, their_values = self._kept[number]
        return (
            values == their_values
            and same_pictures(question.pictures, other.pictures, self._likeness.bits)
            and overlap(own, theirs) >= self._likeness.text
        )

    def _keys(self, question: Fingerprint, own: frozenset[str]) -> Iterator[tuple[object, str]]:
        rarest = sorted(own, key=lambda word: (self._frequency[word], word))
        # A hair below, or 0.9 * 10 = 9.000000000000002 would ask for ten of ten words.
        needed = math.ceil(self._likeness.text * len(own) - 1e-9)
        few = rarest[: len(own) - needed + 1] or [""]
        places: Sequence[object] = list(bands(question.pictures[0], self._likeness.bits)) if question.pictures else [0]
        for place in places:
            for word in few:
                yield place, word


def same_pictures(one: Sequence[int], other: Sequence[int], bits: int) -> bool:
    """Whether as many pictures match, each the one in its place."""
    return len(one) == len(other) and all(distance(a, b) <= bits for a, b in zip(one, other, strict=True))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard overlap of two sets; 1 of two empty ones."""
    together = len(one | other)
    return len(one & other) / together if together else 1.0
