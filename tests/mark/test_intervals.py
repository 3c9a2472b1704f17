"""Intervals: known values, edge cases, and coverage where samples share a group."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.intervals import MIN_GROUPS, accuracy_interval, resample_ratio, wilson


def integers(values: list[int]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.array(values, dtype=np.int64)


def test_wilson_by_hand() -> None:
    # p = 0.4, n = 10, z = 1.959964: z^2 = 3.841459.
    # scale = 1 + 0.3841459 = 1.3841459; centre = (0.4 + 0.1920729) / scale = 0.4277534
    # half = 1.959964 / scale * sqrt(0.024 + 0.00960365) = 1.4160097 * 0.1833130 = 0.2595730
    low, high = wilson(0.4, 10)
    assert low == pytest.approx(0.1681803, abs=1e-6)
    assert high == pytest.approx(0.6873263, abs=1e-6)


def test_wilson_for_all_wrong_is_z2_over_n_plus_z2() -> None:
    low, high = wilson(0.0, 20)
    assert low == 0.0
    assert high == pytest.approx(3.841459 / 23.841459, abs=1e-6)
    assert wilson(1.0, 20) == (pytest.approx(1 - 3.841459 / 23.841459, abs=1e-6), 1.0)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_lies_in_0_to_1_and_holds_the_share(pair: tuple[int, int]) -> None:
    right, n = pair
    low, high = wilson(right / n, n)
    assert 0 <= low <= right / n <= high <= 1
    assert low < high


@pytest.mark.parametrize(("share", "n"), [(0.5, 0), (0.5, -1), (-0.1, 5), (1.1, 5), (math.nan, 5)])
def test_wilson_refuses_what_is_no_share(share: float, n: int) -> None:
    with pytest.raises(ValueError, match="no Wilson interval"):
        wilson(share, n)


def test_nothing_counted_has_no_interval() -> None:
    assert accuracy_interval(integers([]), integers([]), resamples=100, seed=0) is None
    assert accuracy_interval(integers([0, 0]), integers([0, 0]), resamples=100, seed=0) is None


@pytest.mark.parametrize(
    ("right", "counted", "method"),
    [
        ([1, 0, 1], [1, 1, 1], "wilson"),  # fewer groups than a bootstrap needs
        ([2, 0, 1], [2, 2, 2], "wilson over groups"),
        ([1] * 50, [1] * 50, "wilson"),  # all right: every resample is the same
        ([0] * 50, [3] * 50, "wilson over groups"),
        ([1] * 9 + [0] * 40, [1] * 49, "wilson"),  # few right answers: a draw may easily have none
        ([0] * 9 + [1] * 40, [1] * 49, "wilson"),
        ([1, 0] * 10, [1, 1] * 10, "bootstrap"),
        ([1, 2] * 25, [2, 2] * 25, "bootstrap over groups"),
    ],
)
def test_the_method_is_named(right: list[int], counted: list[int], method: str) -> None:
    interval = accuracy_interval(integers(right), integers(counted), resamples=200, seed=0)
    assert interval is not None
    assert interval.method == method
    assert 0 <= interval.low <= sum(right) / sum(counted) <= interval.high <= 1


def test_few_groups_count_as_few_answers() -> None:
    # Three groups of 100: as good as 3 answers, not 300.
    interval = accuracy_interval(integers([60, 50, 70]), integers([100, 100, 100]), resamples=100, seed=0)
    assert interval is not None
    assert (interval.low, interval.high) == wilson(0.6, 3)


def test_bootstrap_of_independent_answers_matches_the_normal_approximation() -> None:
    # 400 answers, half right: standard error sqrt(0.25 / 400) = 0.025, half width 1.96 * 0.025 = 0.049.
    interval = accuracy_interval(integers([1, 0] * 200), integers([1, 1] * 200), resamples=20_000, seed=1)
    assert interval is not None
    assert interval.low == pytest.approx(0.451, abs=0.003)
    assert interval.high == pytest.approx(0.549, abs=0.003)


def test_drawing_profiles_is_drawing_groups() -> None:
    """The multinomial short cut has the mean and spread of a bootstrap that draws the groups themselves."""
    random = np.random.default_rng(5)
    counted = random.integers(1, 6, size=200)
    right = random.binomial(counted, 0.6)
    short = resample_ratio(right, counted, resamples=20_000, seed=2)
    index = random.integers(0, 200, size=(4_000, 200))
    long = right[index].sum(axis=1) / counted[index].sum(axis=1)
    # The standard error of a standard deviation over 4,000 draws is about 1.1 % of it.
    assert short.std() == pytest.approx(long.std(), rel=0.05)
    assert short.mean() == pytest.approx(long.mean(), abs=4 * long.std() / math.sqrt(4_000))


def test_large_tables_are_drawn_in_parts() -> None:
    """3,000 distinct group sizes x 1,000 resamples are more than one draw holds: all resamples still come out."""
    counted = np.arange(1, 3_001, dtype=np.int64)
    draws = resample_ratio(counted // 2, counted, resamples=1_000, seed=0)
    assert draws.shape == (1_000,)
    assert bool(((draws > 0.49) & (draws < 0.5)).all())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=MIN_GROUPS, max_size=40), st.randoms())
def test_the_order_of_groups_does_not_matter(groups: list[tuple[int, int]], random: Random) -> None:
    shuffled = random.sample(groups, len(groups))
    one, two = (
        accuracy_interval(
            integers([right for right, _ in order]),
            integers([right + wrong for right, wrong in order]),
            resamples=50,
            seed=3,
        )
        for order in (groups, shuffled)
    )
    assert one == two


# 219: several questions share a picture; taking them as independent makes intervals far too narrow.
def test_219_clustered_answers_coverage() -> None:
    """80 pictures with 5 questions each. A picture is easy (90 % right) or hard (30 %), half and half: mean 0.6.

    Over 400 simulated runs ours must cover the true 0.6 in about 95 %: the standard error of a coverage over 400 runs
    is sqrt(0.95 * 0.05 / 400) = 1.1 points, so 91.5 .. 98.5 leaves three of them. The interval that takes the 400
    answers of a run as independent covers clearly less.
    """
    random = np.random.default_rng(219)
    ours = naive = 0
    for run in range(400):
        right = random.binomial(5, np.where(random.random(80) < 0.5, 0.9, 0.3))
        interval = accuracy_interval(right, np.full(80, 5), resamples=400, seed=run)
        assert interval is not None
        ours += interval.low <= 0.6 <= interval.high
        low, high = wilson(float(right.sum()) / 400, 400)
        naive += low <= 0.6 <= high
    assert 0.915 <= ours / 400 <= 0.985
    assert naive / 400 < 0.87
