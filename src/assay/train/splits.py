"""Training and held-out rows that share no picture, no group and no question.

Rows that share anything are tied together, and so is whatever is tied to one of them; a tie is never cut. Of the sets
of ties whose number of rows is nearest to what was asked, one is taken that differs from a random one as little as may
be.
"""

import hashlib
from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct

from assay.errors import UsageError
from assay.train.duplicates import bands, distance

__all__ = ["NEAR", "Split", "near_pictures", "split", "tie"]

NEAR = 4
"""Bits of 64 in which the perceptual hashes of two pictures may differ that are taken for one (ours)."""


class Split(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Positions of the rows of either part, in order; `ties`: how many there are, `largest`: rows of the largest."""

    train: tuple[int, ...]
    held_out: tuple[int, ...]
    ties: int
    largest: int


def tie(keys: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """The rows, by position, that are tied together: those that share a key, directly or through others.

    Args:
        keys: of each row, what it must not share with a row of the other part. A row without keys is a tie by itself.
    """
    parents = list(range(len(keys)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    holders: dict[Hashable, int] = {}
    for row, own in enumerate(keys):
        for key in own:
            first, other = sorted((root(row), root(holders.setdefault(key, row))))
            parents[other] = first
    ties: dict[int, list[int]] = {}
    for row in range(len(keys)):
        ties.setdefault(root(row), []).append(row)
    return list(ties.values())


def split(names: Sequence[str], keys: Sequence[Iterable[Hashable]], held_out: int, *, seed: int = 0) -> Split:
    """Hold rows out, as near to `held_out` in number as the ties allow; of two numbers as near, the smaller.

    The same rows give the same split in any order, since a tie's turn depends on its names and the seed alone.

    Args:
        names: the rows' ids, unique.
        keys: see `tie`.

    Raises:
        UsageError: fewer than none are to be held out, or not one would be left.
    """
    if not 0 <= held_out < max(1, len(names)):
        raise UsageError(f"{held_out:,} of {len(names):,} rows can't be held out: some must be left to train on.")
    ties = tie(keys)
    turns = sorted(ties, key=lambda rows: _turn(min(names[row] for row in rows), seed))
    chosen = _nearest([len(rows) for rows in turns], held_out, below=len(names))
    held = {row for place in chosen for row in turns[place]}
    return Split(
        train=tuple(row for row in range(len(names)) if row not in held),
        held_out=tuple(sorted(held)),
        ties=len(ties),
        largest=max(map(len, ties), default=0),
    )


def _turn(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\x00{name}".encode("utf-8", "surrogatepass")).digest()


def _nearest(sizes: Sequence[int], wanted: int, *, below: int) -> set[int]:
    """Places whose sizes add up as near to `wanted` as any do, and to less than `below`.

    They are taken in order as long as they fit. Where something is missing then, what was taken last is given back,
    more and more of it, until the gap can be closed: the rest of the choice stays random.
    """
    taken: list[int] = []
    missing = wanted
    for place, size in enumerate(sizes):
        if size <= missing:
            taken.append(place)
            missing -= size
    best = set(taken)
    gap = missing
    back = 1
    while gap:
        kept = taken[: max(0, len(taken) - back)]
        room = wanted - sum(sizes[place] for place in kept)
        free = sorted(set(range(len(sizes))) - set(kept))
        added = _subset([sizes[place] for place in free], room, below=below - (wanted - room))
        found = abs(room - sum(sizes[free[place]] for place in added))
        if found < gap:
            best, gap = {*kept, *(free[place] for place in added)}, found
        if not kept:
            break
        back *= 4
    return best


def _subset(sizes: Sequence[int], wanted: int, *, below: int) -> list[int]:
    """Places whose sizes add up as near to `wanted` as any do, and to less than `below`; of two as near, to the less.

    Sums that can be reached are the bits of one number: bit s for the sum s.
    """
    end = min(2 * wanted + 1, below)  # a sum beyond is no nearer than the empty one
    mask = (1 << end) - 1
    reached = 1
    last: dict[int, int] = {}  # sum -> the place that reached it first
    for place, size in enumerate(sizes):
        if size >= end:
            continue
        new = (reached << size) & mask & ~reached
        reached |= new
        while new:
            bit = new & -new
            last[bit.bit_length() - 1] = place
            new ^= bit
        if wanted in last:
            break
    total = min((s for s in (0, *last)), key=lambda s: (abs(s - wanted), s))
    places: list[int] = []
    while total:
        places.append(last[total])
        total -= sizes[last[total]]
    return places


def near_pictures(hashes: Sequence[int], *, within: int = NEAR) -> list[int]:
    """For every perceptual hash of 64 bits the position of one that stands for all that are near it.

    Near is what differs in at most `within` bits, also over several steps. Only hashes that share one of their bands
    (`duplicates.bands`) are compared.
    """
    different = sorted(set(hashes))
    banded: dict[tuple[int, int], list[int]] = {}
    for one in different:
        for band in bands(one, within):
            banded.setdefault(band, []).append(one)
    pairs = (
        (one, other)
        for alike in banded.values()
        for place, one in enumerate(alike)
        for other in alike[:place]
        if distance(one, other) <= within
    )
    number = {one: place for place, one in enumerate(different)}
    keys: list[list[tuple[int, int] | int]] = [[place] for place in range(len(different))]
    for one, other in pairs:
        keys[number[one]].append(number[other])
    leader = {different[place]: different[places[0]] for places in tie(keys) for place in places}
    first: dict[int, int] = {}
    for place, one in enumerate(hashes):
        first.setdefault(leader[one], place)
    return [first[leader[one]] for one in hashes]
