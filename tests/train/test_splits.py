"""Splits: no tie is cut, and the size is as near as any split's can be."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.train.splits import near_pictures, split, tie

KEYS = st.lists(st.frozensets(st.integers(0, 12), max_size=3), min_size=1, max_size=12)


def named(count: int) -> list[str]:
    return [f"row {number}" for number in range(count)]


def tied_by_walking(keys: Sequence[frozenset[int]]) -> set[frozenset[int]]:
    """The ties found another way: from each row to all that share a key, until nothing is new."""
    ties: set[frozenset[int]] = set()
    for row in range(len(keys)):
        found = {row}
        while True:
            more = {other for other in range(len(keys)) if any(keys[other] & keys[one] for one in found)} | found
            if more == found:
                break
            found = more
        ties.add(frozenset(found))
    return ties


def nearest_by_trying(sizes: Sequence[int], wanted: int, rows: int) -> int:
    """How near a set of ties comes to a size, all of them tried; one row at least must stay."""
    sums = {sum(chosen) for count in range(len(sizes) + 1) for chosen in combinations(sizes, count)}
    return min(abs(one - wanted) for one in sums if one < rows)


@given(KEYS)
def test_rows_that_share_a_key_directly_or_through_others_are_tied(keys: list[frozenset[int]]) -> None:
    assert {frozenset(rows) for rows in tie(keys)} == tied_by_walking(keys)


@given(KEYS, st.data())
def test_no_tie_is_cut_and_no_split_is_nearer(keys: list[frozenset[int]], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(0, len(keys) - 1))
    found = split(named(len(keys)), keys, wanted, seed=data.draw(st.integers(0, 5)))
    assert sorted(found.train + found.held_out) == list(range(len(keys)))
    assert found.train, "nothing is left to train on"
    held = {key for row in found.held_out for key in keys[row]}
    assert not held & {key for row in found.train for key in keys[row]}
    ties = tied_by_walking(keys)
    assert abs(len(found.held_out) - wanted) == nearest_by_trying([len(one) for one in ties], wanted, len(keys))
    assert (found.ties, found.largest) == (len(ties), max(map(len, ties)))


@given(KEYS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(keys: list[frozenset[int]], random: Random) -> None:
    names = named(len(keys))
    order = list(range(len(keys)))
    random.shuffle(order)
    wanted = len(keys) // 2
    once = split(names, keys, wanted)
    again = split([names[row] for row in order], [keys[row] for row in order], wanted)
    assert {names[row] for row in once.held_out} == {names[order[row]] for row in again.held_out}


def test_a_seed_decides_which_rows_and_the_same_seed_the_same() -> None:
    names = named(200)
    keys = [[number // 2] for number in range(200)]
    splits = {split(names, keys, 20, seed=seed).held_out for seed in range(8)}
    assert len(splits) == 8
    assert {len(one) for one in splits} == {20}
    assert split(names, keys, 20, seed=3) == split(names, keys, 20, seed=3)


def test_of_rows_that_share_nothing_each_is_held_out_as_often() -> None:
    # 400 splits hold 10 of 40 rows out: each row 100 times on average, with a deviation of sqrt(400 * 1/4 * 3/4) = 8.7.
    names = named(40)
    keys = [[number] for number in range(40)]
    counts = [0] * 40
    for seed in range(400):
        for row in split(names, keys, 10, seed=seed).held_out:
            counts[row] += 1
    assert min(counts) > 100 - 4 * 8.7
    assert max(counts) < 100 + 4 * 8.7


def test_ties_that_do_not_add_up_come_as_near_as_they_can() -> None:
    # Sizes 3, 3, 4: of 10 rows, 5 can't be held out; 4 and 6 are as near, and the smaller one is taken.
    keys = [["a"]] * 3 + [["b"]] * 3 + [["c"]] * 4
    assert len(split(named(10), keys, 5).held_out) == 4
    assert len(split(named(10), keys, 6).held_out) == 6


def test_rows_that_are_all_tied_stay_together() -> None:
    found = split(named(5), [["one picture"]] * 5, 2)
    assert (found.held_out, found.train, found.ties, found.largest) == ((), (0, 1, 2, 3, 4), 1, 5)


def test_many_rows_take_no_time_to_speak_of() -> None:
    # 60,000 rows in ties of 1 to 7: a quadratic way would be at it for minutes.
    keys = [[("picture", number - number % (1 + number % 7)), ("group", number)] for number in range(60_000)]
    assert len(split(named(60_000), keys, 3_000).held_out) == 3_000


@pytest.mark.parametrize("wanted", [-1, 3, 4])
def test_holding_everything_out_is_refused(wanted: int) -> None:
    with pytest.raises(UsageError, match="some must be left"):
        split(named(3), [()] * 3, wanted)


def test_no_rows() -> None:
    assert split([], [], 0).train == ()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=8), st.integers(0, 8), st.data())
def test_near_pictures_are_those_within_some_bits(hashes: list[int], within: int, data: st.DataObject) -> None:
    # Some that are near on purpose: random hashes of 64 bits never are.
    for one in list(hashes):
        flips = data.draw(st.sets(st.integers(0, 63), max_size=10))
        hashes.append(one ^ sum(1 << bit for bit in flips))
    found = near_pictures(hashes, within=within)
    pairs = [{row} for row in range(len(hashes))]
    for one, other in combinations(range(len(hashes)), 2):
        if (hashes[one] ^ hashes[other]).bit_count() <= within:
            merged = pairs[one] | pairs[other]
            for row in merged:
                pairs[row] = merged
    assert found == [min(pairs[row]) for row in range(len(hashes))]
