"""Unbiased estimates over subsets: hand-worked, and beside plain enumeration."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.estimators import (
    DRAWN_SUBSETS,
    Scored,
    Vote,
    best_of_k,
    pass_at_k,
    scaling_curve,
    vote_at_k,
)

T = TypeVar("T")


def scored(*pairs: tuple[float, int]) -> list[Scored]:
    return [Scored((1, score), bool(right)) for score, right in pairs]


def over_subsets(items: Sequence[T], k: int, value: Callable[[Sequence[T]], Fraction]) -> Fraction:
    """The mean over all k-subsets, one by one."""
    found = [value(subset) for subset in combinations(items, k)]
    return sum(found, Fraction(0)) / len(found)


# --------------------------------------------------------------------------------------------------------------------
# pass@k

PASS = [
    # n, c, k: 1 - C(n-c, k) / C(n, k)
    (4, 1, 2, 0.5),  # 1 - C(3,2)/C(4,2) = 1 - 3/6
    (8, 2, 4, 55 / 70),  # 1 - C(6,4)/C(8,4) = 1 - 15/70
    (8, 0, 4, 0.0),
    (8, 8, 1, 1.0),
    (8, 5, 4, 1.0),  # C(3,4) = 0: three wrong ones don't fill four places
    (1, 1, 1, 1.0),
    (10, 3, 1, 0.3),
]


@pytest.mark.parametrize(("n", "c", "k", "expected"), PASS)
def test_pass_at_k(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 9), st.data())
def test_pass_is_the_share_of_subsets_with_a_right_one(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    expected = over_subsets([True] * c + [False] * (n - c), k, lambda subset: Fraction(any(subset)))
    assert pass_at_k(n, c, k) == pytest.approx(float(expected), abs=1e-12)
    if c < n:
        assert pass_at_k(n, c + 1, k) >= pass_at_k(n, c, k)
    if k < n:
        assert pass_at_k(n, c, k + 1) >= pass_at_k(n, c, k)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (4, 1, 0), (4, 1, 5), (0, 0, 1)])
def test_impossible_counts(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"must be|can't be"):
        pass_at_k(n, c, k)


# --------------------------------------------------------------------------------------------------------------------
# Best of k

BEST = [
    # Scores 0.9 (wrong), 0.8 (right), 0.1 (wrong), k = 2: pairs {.9,.8} wrong, {.9,.1} wrong, {.8,.1} right: 1/3.
    (scored((0.9, 0), (0.8, 1), (0.1, 0)), 2, 1 / 3),
    (scored((0.9, 0), (0.8, 1), (0.1, 0)), 1, 1 / 3),
    (scored((0.9, 0), (0.8, 1), (0.1, 0)), 3, 0.0),
    # A tie of right and wrong is worth a half: {.5,.5} 1/2, {.5 right,.1} 1, {.5 wrong,.1} 0: (1/2 + 1 + 0) / 3.
    (scored((0.5, 1), (0.5, 0), (0.1, 0)), 2, 0.5),
    # All tie: the share of right ones, whatever k.
    (scored((0.5, 1), (0.5, 0), (0.5, 0), (0.5, 0)), 3, 0.25),
    # All-correct first: rank (2, 0.6) right above (1, 0.9) wrong: {clean, flawed} and {clean, low} of three.
    ([Scored((2, 0.6), True), Scored((1, 0.9), False), Scored((1, 0.1), False)], 2, 2 / 3),
    # An unjudged one, rank (0, 0), is chosen only where it is alone: k = 1.
    ([Scored((0, 0.0), True), Scored((1, 0.1), False)], 2, 0.0),
    ([Scored((0, 0.0), True), Scored((1, 0.1), False)], 1, 0.5),
]


@pytest.mark.parametrize(("solutions", "k", "expected"), BEST)
def test_best_of_k(solutions: list[Scored], k: int, expected: float) -> None:
    assert best_of_k(solutions, k) == pytest.approx(expected, abs=1e-12)


def best_share(subset: Sequence[Scored]) -> Fraction:
    """Of the best-ranked ones the share that is right."""
    best = [one for one in subset if one.rank == max(other.rank for other in subset)]
    return Fraction(sum(one.right for one in best), len(best))


_SCORED = st.builds(
    Scored, st.tuples(st.integers(0, 2).map(float), st.sampled_from([0.0, 0.25, 0.5, 0.75])), st.booleans()
)


@given(st.lists(_SCORED, min_size=1, max_size=8), st.data())
def test_best_of_k_is_the_mean_over_subsets(solutions: list[Scored], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(solutions)))
    found = best_of_k(solutions, k)
    assert found == pytest.approx(float(over_subsets(solutions, k, best_share)), abs=1e-12)
    assert found <= pass_at_k(len(solutions), sum(one.right for one in solutions), k) + 1e-12
    assert found == pytest.approx(best_of_k(data.draw(st.permutations(solutions)), k), abs=1e-12)
    wrong = next((at for at, one in enumerate(solutions) if not one.right), None)
    if wrong is not None:  # one more right answer never hurts
        better = [*solutions[:wrong], solutions[wrong]._replace(right=True), *solutions[wrong + 1 :]]
        assert best_of_k(better, k) >= found - 1e-12


# --------------------------------------------------------------------------------------------------------------------
# Votes of k

A, B, C = 0, 1, 2
VOTES = [
    # A right, A right, B wrong, k = 2: {A,A} 1; {A,B} twice: a tie, 1/2 each. (1 + 1/2 + 1/2) / 3.
    ([Vote(A, True), Vote(A, True), Vote(B, False)], 2, 2 / 3),
    ([Vote(A, True), Vote(A, True), Vote(B, False)], 3, 1.0),
    # No answer doesn't vote: {A,-} 1, {B,-} 0, {A,B} 1/2.
    ([Vote(A, True), Vote(B, False), Vote(None, False)], 2, 0.5),
    ([Vote(None, False), Vote(None, False)], 2, 0.0),
    # The critic's weight: 0.9 for A beats 0.4 + 0.4 for B.
    ([Vote(A, True, 0.9), Vote(B, False, 0.4), Vote(B, False, 0.4)], 3, 1.0),
    ([Vote(A, True), Vote(B, False), Vote(C, False)], 3, 1 / 3),
]


@pytest.mark.parametrize(("votes", "k", "expected"), VOTES)
def test_vote_at_k(votes: list[Vote], k: int, expected: float) -> None:
    found = vote_at_k(votes, k)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.exact


def vote_share(subset: Sequence[Vote]) -> Fraction:
    voters = [vote for vote in subset if vote.answer is not None]
    if not voters:
        return Fraction(sum(vote.right for vote in subset), len(subset))
    counts = {answer: sum(vote.answer == answer for vote in voters) for answer in (A, B, C)}
    top = [answer for answer in counts if counts[answer] == max(counts.values())]
    shares = [Fraction(sum(vote.right for vote in voters if vote.answer == answer), counts[answer]) for answer in top]
    return sum(shares, Fraction(0)) / len(shares)


_VOTES = st.builds(Vote, st.sampled_from([A, B, C, None]), st.booleans(), st.just(1.0))


@given(st.lists(_VOTES, min_size=1, max_size=7), st.data())
def test_vote_at_k_is_the_mean_over_subsets(votes: list[Vote], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(votes)))
    found = vote_at_k(votes, k)
    assert found.exact
    assert found.value == pytest.approx(float(over_subsets(votes, k, vote_share)), abs=1e-12)
    assert found.value == pytest.approx(vote_at_k(data.draw(st.permutations(votes)), k).value, abs=1e-12)
    assert 0 <= found.value <= 1


@given(st.lists(st.builds(Vote, st.sampled_from([A, B, None]), st.booleans(), st.floats()), min_size=1, max_size=6))
def test_weights_of_any_kind_are_survived(votes: list[Vote]) -> None:
    assert 0 <= vote_at_k(votes, len(votes)).value <= 1


def test_a_weight_that_is_no_number_counts_nothing() -> None:
    votes = [Vote(A, True, 0.1), Vote(B, False, float("nan"))]
    assert vote_at_k(votes, 2).value == 1.0


def test_many_subsets_are_drawn() -> None:
    # C(16, 8) = 12,870 subsets. 9 of 16 say A (right): enumerated here, drawn there.
    votes = [Vote(A, True)] * 9 + [Vote(B, False)] * 7
    truth = float(over_subsets(votes, 8, vote_share))
    found = vote_at_k(votes, 8, seed=3)
    assert (found.subsets, found.exact) == (DRAWN_SUBSETS, False)
    assert abs(found.value - truth) <= 4 * 0.5 / DRAWN_SUBSETS**0.5  # shares in 0 .. 1 deviate by 0.5 at most
    assert found == vote_at_k(votes, 8, seed=3)
    assert found != vote_at_k(votes, 8, seed=4)


def test_subsets_up_to_the_limit_are_enumerated() -> None:
    votes = [Vote(A, True)] * 6 + [Vote(B, False)] * 6
    assert vote_at_k(votes, 6).subsets == 924  # C(12, 6)
    assert vote_at_k(votes[:8], 4).subsets == 70  # C(8, 4)


@pytest.mark.parametrize("k", [0, 3])
def test_impossible_subsets(k: int) -> None:
    with pytest.raises(ValueError, match="k must be 1 to 2"):
        vote_at_k([Vote(A, True), Vote(B, False)], k)
    with pytest.raises(ValueError, match="k must be 1 to 2"):
        best_of_k(scored((0.9, 1), (0.8, 0)), k)
    with pytest.raises(ValueError, match="at least one"):
        vote_at_k([Vote(A, True)], 1, draws=0)


def test_a_curve_keeps_the_questions_apart() -> None:
    # Two questions of n = 4 with 1 and 2 right: pass@1 1/4, 2/4; pass@2 1 - 3/6, 1 - 1/6.
    curve = scaling_curve([(4, 1), (4, 2)], (2, 1, 2), lambda question, k: pass_at_k(*question, k))
    assert list(curve) == [1, 2]
    assert curve[1] == pytest.approx((0.25, 0.5))
    assert curve[2] == pytest.approx((0.5, 5 / 6))


def test_subsets_are_not_prefixes() -> None:
    # The right one stands first or last: the same estimate.
    rows = [Scored((1, 0.9), True), Scored((1, 0.5), False), Scored((1, 0.1), False)]
    assert {round(best_of_k(order, 2), 12) for order in permutations(rows)} == {round(2 / 3, 12)}
