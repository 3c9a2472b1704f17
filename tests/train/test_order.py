"""The order of rows by length, and the share of padding: by hand, and by what accelerate deals out."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.train.order import Order, grouped, padding_share

Integers = NDArray[np.int64]


def backwards(count: int) -> Integers:
    """A random order that a reader can follow."""
    return np.arange(count)[::-1]


def array(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def cut(values: Sequence[int], size: int) -> list[list[int]]:
    return [list(values[start : start + size]) for start in range(0, len(values), size)]


# --------------------------------------------------------------------------------------------------------------------
# The order


def test_an_order_by_hand() -> None:
    # Eight steps of two rows are four pools of two steps; a row is left. Drawn: row 0, 1, 2, ...
    lengths = array(1, 9, 8, 2, 5, 5, 5, 7, 4, 3, 2, 1, 1, 2, 3, 4, 6)
    expected = [
        (3, 0), (1, 2),  # of 1, 9, 8, 2: the long step 9, 8 and the short one 2, 1, drawn backwards
        (5, 6), (7, 4),  # of 5, 5, 5, 7: those alike as they were drawn
        (10, 11), (8, 9),
        (13, 12), (15, 14),
        (16,),
    ]  # fmt: skip
    found = grouped(np.arange(17), lengths, 2, backwards)
    assert found.tolist() == [row for step in expected for row in step]


def test_few_rows_make_steps_of_any_length() -> None:
    # Seven steps: less than two for each of four pools. A step has the rows that were drawn, its batches like lengths.
    lengths = array(*range(14, 0, -1))
    drawn = array(13, 0, 12, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6)
    assert cut(grouped(drawn, lengths, 2, backwards).tolist(), 2) == [sorted(step) for step in cut(drawn.tolist(), 2)]


@st.composite
def epochs(draw: st.DrawFn, *, rest: bool = True) -> tuple[Integers, Integers, int, int]:
    """Integers as drawn, lengths, rows of a step, and a seed."""
    step = draw(st.integers(1, 12))
    count = draw(st.integers(1, 300))
    if not rest:
        count = -(-count // step) * step
    seed = draw(st.integers(0, 99))
    chance = np.random.default_rng(seed)
    longest = draw(st.sampled_from([1, 5, 8192]))
    return chance.permutation(count), chance.integers(1, longest + 1, count), step, seed


def regrouped(drawn: Integers, lengths: Integers, step: int, seed: int) -> list[int]:
    return grouped(drawn, lengths, step, np.random.default_rng(seed).permutation).tolist()


@given(epochs())
def test_every_row_comes_once(epoch: tuple[Integers, Integers, int, int]) -> None:
    assert sorted(regrouped(*epoch)) == sorted(epoch[0].tolist())


@given(epochs())
def test_the_last_smaller_step_has_the_rows_that_it_would_have(epoch: tuple[Integers, Integers, int, int]) -> None:
    drawn, _, step, _ = epoch
    rest = len(drawn) - len(drawn) % step
    assert sorted(regrouped(*epoch)[rest:]) == sorted(drawn[rest:].tolist())


@given(epochs())
def test_steps_of_a_pool_share_no_length_but_at_their_borders(epoch: tuple[Integers, Integers, int, int]) -> None:
    drawn, lengths, step, _ = epoch
    found = regrouped(*epoch)
    whole = len(drawn) // step
    pool = max(1, whole // 4) * step  # these epochs are too small for pools of 2,048 rows
    for start in range(0, whole * step, pool):
        here = found[start : min(start + pool, whole * step)]
        assert sorted(here) == sorted(drawn[start : start + len(here)].tolist())
        steps = [[int(lengths[row]) for row in rows] for rows in cut(here, step)]
        assert all(one == sorted(one, reverse=True) for one in steps)
        steps.sort(reverse=True)
        assert all(long[-1] >= short[0] for long, short in itertools.pairwise(steps))


def test_a_pool_has_2048_rows_at_most() -> None:
    # 20,480 rows, ten of them in a step: pools of 204 steps, though a fourth of the epoch would be 512.
    drawn = np.arange(20_480)
    found = grouped(drawn, drawn % 100, 10, backwards)
    assert sorted(found[:2040].tolist()) == list(range(2040))
    # Steps of 4,096 rows: each is a pool of its own, and stays where it was drawn.
    found = grouped(drawn, drawn % 100, 4096, backwards)
    assert [sorted(step) for step in cut(found.tolist(), 4096)] == cut(drawn.tolist(), 4096)


@given(epochs(rest=False), st.integers(1, 12))
def test_whole_steps_are_never_filled_up_more_than_in_random_order(
    epoch: tuple[Integers, Integers, int, int], batch: int
) -> None:
    drawn, lengths, step, _ = epoch
    if step % batch:
        batch = 1
    plain = padding_share(drawn, lengths, batch=batch)
    assert padding_share(np.array(regrouped(*epoch)), lengths, batch=batch) <= plain + 1e-12


# --------------------------------------------------------------------------------------------------------------------
# Padding


@pytest.mark.parametrize(
    ("lengths", "batch", "processes", "padded", "places"),
    [
        ((3, 5, 2, 2), 2, 1, 2, 14),  # 3 and 5, 2 and 2
        ((3, 5, 2, 2), 1, 1, 0, 12),
        ((3, 5, 2, 2), 4, 1, 8, 20),
        ((3, 5, 2), 2, 1, 2, 12),  # the last batch is smaller
        ((7,), 8, 1, 0, 7),
        ((3, 5, 2), 2, 2, 3, 16),  # 3 and 5, 2 and, so that both have a whole batch, 3 again
        ((4, 1, 1, 1), 1, 3, 0, 12),
    ],
)
def test_padding_by_hand(lengths: tuple[int, ...], batch: int, processes: int, padded: int, places: int) -> None:
    rows = np.arange(len(lengths))
    share = padding_share(rows, array(*lengths), batch=batch, processes=processes)
    assert share == pytest.approx(padded / places, abs=1e-12)


def test_padding_is_counted_in_the_order_drawn() -> None:
    lengths = array(9, 1, 9, 1)
    assert padding_share(array(0, 1, 2, 3), lengths, batch=2) == pytest.approx(16 / 36)
    assert padding_share(array(0, 2, 1, 3), lengths, batch=2) == pytest.approx(0)


# --------------------------------------------------------------------------------------------------------------------
# Beside accelerate


@pytest.mark.local
@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**31)
)
def test_padding_is_that_of_the_batches_that_accelerate_deals_out(
    lengths: list[int], batch: int, processes: int, seed: int
) -> None:
    loader: Any = pytest.importorskip("accelerate.data_loader", reason="needs accelerate: pip install 'assay[train]'")
    sampler: Any = pytest.importorskip("torch.utils.data").BatchSampler
    drawn = np.random.default_rng(seed).permutation(len(lengths))
    whole = sampler(drawn.tolist(), batch, drop_last=False)
    batches: list[list[int]] = list(whole)
    if processes > 1:
        batches = [
            rows for one in range(processes) for rows in loader.BatchSamplerShard(whole, processes, process_index=one)
        ]
    places = sum(len(rows) * max(lengths[row] for row in rows) for rows in batches)
    tokens = sum(lengths[row] for rows in batches for row in rows)
    found = padding_share(drawn, array(*lengths), batch=batch, processes=processes)
    assert found == pytest.approx(1 - tokens / places, abs=1e-12)


@pytest.mark.local
def test_without_grouping_the_order_is_accelerates() -> None:
    # Runs of earlier versions, which left it to accelerate, are gone on with in the same order.
    loader: Any = pytest.importorskip("accelerate.data_loader", reason="needs accelerate: pip install 'assay[train]'")
    theirs = loader.SeedableRandomSampler(range(31), data_seed=7)
    ours = Order(np.arange(1, 32), step=4, seed=7, by_length=False)
    for epoch in range(3):
        theirs.set_epoch(epoch)
        ours.set_epoch(epoch)
        assert list(ours) == list(theirs)


@pytest.mark.local
def test_an_order_depends_on_seed_and_epoch_alone() -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'assay[train]'")
    lengths = np.random.default_rng(0).integers(1, 500, 1000)

    def order(seed: int) -> Order:
        return Order(lengths, step=8, seed=seed, by_length=True)

    drawn = {(seed, epoch): order(seed).rows(epoch).tolist() for seed in (0, 5) for epoch in range(3)}
    again = order(0)
    again.set_epoch(2)
    assert list(again) == list(again) == drawn[0, 2]
    assert len(again) == 1000

    assert len({tuple(rows) for rows in drawn.values()}) == len(drawn)
    # Companions change from epoch to epoch.
    steps = [{frozenset(step) for step in cut(drawn[0, epoch], 8)} for epoch in range(3)]
    assert not steps[0] & steps[1]
    # Long and short steps come in any order: neighbours in time are not neighbours in length.
    means = np.array([lengths[step].mean() for step in cut(drawn[0, 0], 8)])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.3
