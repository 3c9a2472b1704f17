"""Paired comparison and ranking: hand-worked tables, scipy as a second opinion, accounting of every sample."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.errors import DataError
from assay.mark.compare import Comparison, compare
from assay.mark.ranking import rank, tie_groups
from assay.mark.significance import (
    benjamini_hochberg,
    mcnemar,
    minimum_detectable_effect,
    ratio_standard_error,
    sign_flip_p,
    t_interval,
)
from assay.mark.summary import OnMissing
from assay.types import Outcome
from support.outcomes import FAILED, outcome, run

VERDICTS = {"+": "right", "-": "wrong", "x": FAILED, "?": "unmarkable"}


def outcomes(pattern: str, per_group: int = 1) -> list[Outcome]:
    """One sample per character: `+` right, `-` wrong, `x` failed, `?` unmarkable, a blank for no outcome."""
    return [
        outcome(str(place), VERDICTS[mark], group=f"g{place // per_group}")
        for place, mark in enumerate(pattern)
        if mark != " "
    ]


def both(a: str, b: str, on_missing: OnMissing = "exclude", per_group: int = 1) -> Comparison:
    return compare(outcomes(a, per_group), outcomes(b, per_group), on_missing=on_missing, resamples=500)


# --------------------------------------------------------------------------------------------------------------------
# Pairing


def test_pairs_are_counted_in_all_four_ways() -> None:
    result = both("++--+", "+-+-+")
    assert (result.pairs, result.both_right, result.neither_right) == (5, 2, 1)
    assert (result.gained.ids, result.lost.ids) == (("2",), ("1",))
    assert result.accuracy_a == result.accuracy_b == 3 / 5
    assert result.difference == 0.0
    assert result.p_mcnemar == 1.0


def test_the_difference_is_b_minus_a() -> None:
    result = both("----", "+++-")
    assert (result.accuracy_a, result.accuracy_b, result.difference) == (0.0, 0.75, 0.75)
    assert result.gained.ids == ("0", "1", "2")
    # Three discordant pairs, all one way: 2 * (1/2)^3 = 0.25.
    assert result.p_mcnemar == 0.25


def test_swapping_the_runs_swaps_the_sign() -> None:
    forward, backward = both("++-+--+-+-++", "+-+++-+++-+-"), both("+-+++-+++-+-", "++-+--+-+-++")
    assert forward.difference == -(backward.difference or 0)
    assert forward.p_mcnemar == backward.p_mcnemar
    assert (forward.gained, forward.lost) == (backward.lost, backward.gained)


def test_samples_of_one_run_only_are_listed_and_in_no_number() -> None:
    result = both("++ +", " -+-")
    assert (result.samples_a, result.samples_b, result.pairs) == (3, 3, 2)
    assert result.only_in_a.ids == ("0",)
    assert result.only_in_b.ids == ("2",)
    assert result.notes == ("The comparison is about 2 pairs, of 3 and 3 samples.",)


@pytest.mark.parametrize(
    ("on_missing", "pairs", "lost", "gained"),
    [
        ("exclude", 1, (), ()),  # only sample 0 has a verdict on both sides
        ("wrong", 5, ("1",), ("2", "4")),  # the missing side is not right; both missing: nobody is right
    ],
)
def test_missing_samples(on_missing: OnMissing, pairs: int, lost: tuple[str, ...], gained: tuple[str, ...]) -> None:
    result = both("++xx?", "+x+x+", on_missing)
    missing = result.missing
    assert (missing.only_a, missing.only_b, missing.both) == (2, 1, 1)
    assert (result.pairs, result.lost.ids, result.gained.ids) == (pairs, lost, gained)
    assert result.pairs == result.both_right + result.neither_right + result.lost.total + result.gained.total


def test_unmarkable_is_missing_for_robust_alone() -> None:
    a, b = outcomes("+?"), outcomes("++")
    assert compare(a, b, on_missing="exclude").pairs == 1
    assert compare(a, b, mode="reference", on_missing="exclude").pairs == 2


def test_nothing_in_common() -> None:
    result = both("++  ", "  ++")
    assert result.pairs == 0
    assert result.difference is result.low is result.p is result.p_mcnemar is result.accuracy_a is None
    assert result.notes == ("No sample has a verdict in both runs: nothing to compare.",)


def test_two_outcomes_for_one_sample_are_refused() -> None:
    with pytest.raises(DataError, match="second run: sample '1' occurs twice"):
        compare(outcomes("++"), [*outcomes("++"), outcome("1", "right")], on_missing="wrong")


def test_groups_that_changed_are_noted() -> None:
    result = compare(outcomes("+-+-", per_group=2), outcomes("+-+-"), on_missing="wrong")
    assert result.groups == 2
    assert result.notes == ("3 samples belong to other groups in the second run; the first run's are used.",)


def test_on_missing_has_no_default() -> None:
    with pytest.raises(TypeError, match="on_missing"):
        compare([], [])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


# --------------------------------------------------------------------------------------------------------------------
# Tests and intervals


def test_mcnemar_by_hand() -> None:
    # 10 discordant pairs, 2 one way: 2 * (1 + 10 + 45) / 1024 = 112 / 1024.
    assert mcnemar(2, 8) == 112 / 1024
    assert mcnemar(8, 2) == 112 / 1024
    # Equal numbers: the sum is more than a half, so 1.
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 1) == 1.0


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_scipys_binomial_test(gained: int, lost: int) -> None:
    if gained + lost:
        expected = float(stats.binomtest(gained, gained + lost, 0.5).pvalue)
        assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("gained", "lost"), [(2_500, 2_501), (5_100, 4_900), (500_500, 499_500), (600_000, 400_000)])
def test_mcnemar_with_many_discordant_pairs(gained: int, lost: int) -> None:
    # scipy sums whichever tail it likes; twice the smaller tail is the same for a fair coin.
    expected = 2 * float(stats.binom.cdf(min(gained, lost), gained + lost, 0.5))
    assert mcnemar(gained, lost) == pytest.approx(min(1.0, expected), rel=1e-6, abs=1e-300)


def test_independent_pairs_use_mcnemar_and_groups_the_bootstrap() -> None:
    independent = both("+-" * 20, "++" * 20)
    assert (independent.groups, independent.pairs) == (40, 40)
    assert independent.p == independent.p_mcnemar
    assert independent.p_method == "McNemar, exact"
    grouped = both("+-" * 20, "++" * 20, per_group=2)
    assert grouped.groups == 20
    assert grouped.p == grouped.p_groups
    assert grouped.p_method == grouped.method == "bootstrap over groups"


def test_a_bootstrap_p_is_never_zero() -> None:
    # All draws are beyond 0: twice (0 + 1) / (500 + 1).
    assert both("-+" * 20, "++" * 20, per_group=2).p_groups == 2 / 501


def test_few_groups_fall_back_to_t_and_sign_flips() -> None:
    """Four groups of two pairs, differences 2, 1, 1, 0: ratio 4 / 8 = 0.5, residuals 1, 0, 0, -1.

    Standard error sqrt(4 / 3 * 2) / 8 = 0.2041, t with 3 degrees of freedom 3.1824: 0.5 -+ 0.6496. Of the 16 sign flips
    of (2, 1, 1, 0) four have a sum of 4 or -4: the signs of 2, 1, 1 agree, that of 0 is free. p = 4 / 16.
    """
    result = both("---+-+++", "++++++++", per_group=2)
    assert result.method == "t over groups"
    assert result.standard_error == pytest.approx(0.204124, abs=1e-6)
    assert (result.low, result.high) == (pytest.approx(-0.1496, abs=1e-4), 1.0)
    assert result.p_groups == 4 / 16
    assert result.p_method == "sign flips over groups"


@pytest.mark.parametrize("groups", range(2, 10))
def test_t_quantiles_are_scipys(groups: int) -> None:
    low, high = t_interval(0.0, 0.01, groups)
    assert high == -low == pytest.approx(0.01 * float(stats.t.ppf(0.975, groups - 1)), rel=1e-5)


def test_one_group_says_nothing() -> None:
    result = both("--", "+-", per_group=2)
    assert (result.groups, result.low, result.high, result.p_groups) == (1, -1.0, 1.0, 1.0)
    assert result.standard_error is result.minimum_detectable_effect is None


def test_equal_runs_still_have_an_interval() -> None:
    """Nothing differs in 40 groups: at most 3.8415 / 43.8415 = 8.76 % of groups do (Wilson for none of 40)."""
    result = both("+-" * 20, "+-" * 20)
    assert (result.difference, result.p, result.p_groups) == (0.0, 1.0, 1.0)
    assert (result.low, result.high) == (pytest.approx(-0.08762, abs=1e-4), pytest.approx(0.08762, abs=1e-4))
    assert result.method == "wilson, no group differs"
    assert result.minimum_detectable_effect is None


def test_sign_flips_of_no_difference_is_one() -> None:
    assert sign_flip_p(np.array([0, 0, 0])) == 1.0


def test_standard_error_of_independent_pairs_is_the_usual_one() -> None:
    differences = np.array([1, -1, 0, 0, 1, 1, 0, -1, 0, 1])
    expected = float(np.std(differences, ddof=1)) / np.sqrt(10)
    assert ratio_standard_error(differences, np.ones(10, dtype=np.int64)) == pytest.approx(expected)


# 218: no leaderboard without the smallest difference that it could have found.
def test_218_minimum_detectable_effect() -> None:
    # z(0.975) + z(0.8) = 1.959964 + 0.841621 = 2.801585.
    assert minimum_detectable_effect(0.01) == pytest.approx(0.02801585, rel=1e-6)
    assert minimum_detectable_effect(0.01, power=0.5) == pytest.approx(0.01959964, rel=1e-6)


def test_218_the_detectable_effect_is_detected_in_four_of_five_cases() -> None:
    """300 comparisons of runs whose true difference is the effect for that size: about 80 % come out significant.

    Of 400 pairs a share of 0.2 is discordant; effect 0.0626 = 2.80 * sqrt(0.2) / 20, i.e. 13.1 % gained, 6.9 % lost.
    Over 300 cases the standard error of the share is 2.3 points; McNemar's exact test is on the careful side.
    """
    random = np.random.default_rng(218)
    found = 0
    for _ in range(300):
        gained, lost = random.multinomial(400, [0.1313, 0.0687, 0.8])[:2]
        found += mcnemar(int(gained), int(lost)) <= 0.05
    assert 0.70 <= found / 300 <= 0.87


def test_paired_interval_coverage_with_shared_pictures() -> None:
    """60 pictures, 4 questions each; b is 20 points better on half of the pictures, 10 worse on the others: +5 points.

    Over 200 runs the interval must cover 5 points in about 95 % (standard error 1.5 points).
    """
    random = np.random.default_rng(31)
    covered = 0
    for _ in range(200):
        better = random.random(60) < 0.5
        a, b = random.random((60, 4)) < 0.5, random.random((60, 4)) < np.where(better, 0.7, 0.4)[:, None]
        result = compare(_grid(a), _grid(b), on_missing="wrong", resamples=300)
        covered += (result.low or 0) <= 0.05 <= (result.high or 0)
    assert 0.89 <= covered / 200 <= 1.0


def _grid(right: "np.ndarray[tuple[int, int], np.dtype[np.bool]]") -> Iterable[Outcome]:
    for picture, row in enumerate(right):
        for question, is_right in enumerate(row):
            yield outcome(f"{picture}-{question}", "right" if is_right else "wrong", group=str(picture))


# --------------------------------------------------------------------------------------------------------------------
# Several runs


# 218: several comparisons at once need their p-values adjusted.
def test_218_benjamini_hochberg_by_hand() -> None:
    # Ascending 0.01, 0.02, 0.03, 0.04 of 4: 0.04, 0.04, 0.04, 0.04 (each p * 4 / place, then the running minimum).
    assert benjamini_hochberg([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.04] * 4)
    # 0.001 * 3 / 1 = 0.003; 0.04 * 3 / 2 = 0.06; 0.5.
    assert benjamini_hochberg([0.04, 0.5, 0.001]) == pytest.approx([0.06, 0.5, 0.003])
    assert benjamini_hochberg([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_is_scipys(p_values: list[float]) -> None:
    expected = stats.false_discovery_control(p_values, method="bh").tolist()
    assert benjamini_hochberg(p_values) == pytest.approx(expected, abs=1e-12)


def test_218_tie_groups_are_about_the_best_of_a_group() -> None:
    apart = {("a", "c"), ("a", "d"), ("c", "e")}
    # b is like a; c differs from a, so it leads a group; d is like c; e differs from c.
    assert tie_groups("abcde", lambda one, two: (one, two) in apart) == [("a", "b"), ("c", "d"), ("e",)]
    assert tie_groups([], lambda _one, _two: True) == []


def test_218_ranking_with_ties() -> None:
    """Two runs at 80 % of 400 that differ in a few rows, one at 50 %: the first two tie, the third is apart."""
    good = list(run(400, 0.8, seed=1))
    twin = [*good[3:], *(outcome(str(i), "wrong") for i in range(3))]
    poor = list(run(400, 0.5, seed=2))
    ranking = rank({"poor": poor, "twin": twin, "good": good}, on_missing="wrong", resamples=300)
    assert [row.name for row in ranking.rows] == ["good", "twin", "poor"]
    assert [row.tie_group for row in ranking.rows] == [1, 1, 2]
    assert [(row.best_rank, row.worst_rank) for row in ranking.rows] == [(1, 2), (1, 2), (3, 3)]
    assert len(ranking.tests) == 3
    for test in ranking.tests:
        assert (test.difference or 0.0) >= 0.0  # b is the better one
        assert (test.p_adjusted or 0.0) >= (test.p or 1.0)


def test_equal_runs_are_ordered_by_name_and_tie() -> None:
    same = list(run(50, 0.5, seed=3))
    one = rank({"m10": same, "m2": same}, on_missing="wrong", resamples=50)
    other = rank({"m2": same, "m10": same}, on_missing="wrong", resamples=50)
    assert one == other
    assert [row.name for row in one.rows] == ["m2", "m10"]
    assert [row.tie_group for row in one.rows] == [1, 1]


def test_ranking_runs_without_common_samples_is_no_verdict() -> None:
    ranking = rank({"a": outcomes("++  "), "b": outcomes("  --")}, on_missing="wrong", resamples=50)
    assert [row.tie_group for row in ranking.rows] == [1, 1]
    assert ranking.tests[0].p is ranking.tests[0].p_adjusted is None


def test_ranking_nothing() -> None:
    assert rank({}, on_missing="wrong").rows == ()
