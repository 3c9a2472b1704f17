"""Cohen's kappa against arithmetic by hand, and against the textbook formula in fractions on random tables."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.agreement import Pair, cohen_kappa


def table(**counts: int) -> list[Pair]:
    """`yn=5`: five items that the first rater calls y and the second n."""
    return [(name[0], name[1]) for name, count in counts.items() for _ in range(count)]


def test_a_table_by_hand() -> None:
    # 50 items. Alike 20 + 15, so p_o = 35/50 = 0.7. The first says y 25 times, the second 30 times:
    # p_e = (25 * 30 + 25 * 20) / 2500 = 0.5. kappa = 0.2 / 0.5 = 0.4.
    found = cohen_kappa(table(yy=20, yn=5, ny=10, nn=15), resamples=200)
    assert found.status == "ok"
    assert found.observed == pytest.approx(0.7)
    assert found.expected == pytest.approx(0.5)
    assert found.kappa == pytest.approx(0.4)
    # AC1: y's mean share is (25 + 30) / 100 = 0.55; g = 2 * 0.55 * 0.45 / (2 - 1) = 0.495; 0.205 / 0.505.
    assert found.ac1 == pytest.approx(0.205 / 0.505)
    assert found.confusion == {"n": {"n": 15, "y": 10}, "y": {"n": 5, "y": 20}}
    assert found.shares == {"n": (0.5, 0.4), "y": (0.5, 0.6)}
    assert (found.n, found.left_out, found.groups) == (50, 0, 50)


def test_agreement_worse_than_chance_is_negative() -> None:
    # p_o = 0, p_e = (5 * 5 + 5 * 5) / 100 = 0.5: (0 - 0.5) / 0.5.
    assert cohen_kappa(table(yn=5, ny=5)).kappa == pytest.approx(-1)


@pytest.mark.parametrize("case", ["223: full agreement on one label", "224: every value the same"])
def test_one_label_throughout_is_undefined_neither_0_nor_an_error(case: str) -> None:
    found = cohen_kappa([("1", "1")] * 6)
    assert (found.status, found.kappa, found.low) == ("undefined", None, None), case
    assert (found.observed, found.ac1) == (1.0, 1.0)  # what a reader sees instead


def test_case_225_a_missing_label_is_no_label() -> None:
    found = cohen_kappa([("1", "1"), ("2", "2"), ("1", None), (None, "2"), (None, None)])
    # Of the two items that both have labelled: p_o = 1, p_e = (1 + 1) / 4; kappa 1.
    assert (found.kappa, found.n, found.left_out) == (1.0, 2, 3)
    assert found.labels == ("1", "2")


def test_case_226_where_one_label_prevails_raw_agreement_and_shares_stand_beside() -> None:
    found = cohen_kappa([("3", "3")] * 9 + [("3", "1")])
    # p_o = 0.9, p_e = (10 * 9 + 0 * 1) / 100 = 0.9: kappa is 0, rightly; AC1 = (0.9 - 2 * 0.95 * 0.05) / (1 - 0.095).
    assert found.kappa == pytest.approx(0)
    assert found.observed == pytest.approx(0.9)
    assert found.ac1 == pytest.approx(0.805 / 0.905)
    assert found.shares["3"] == (1.0, 0.9)


def test_nothing_to_compare() -> None:
    for pairs in ([], [("a", None)]):
        found = cohen_kappa(pairs)
        assert (found.status, found.kappa, found.observed, found.ac1, found.n) == ("empty", None, None, None, 0)


def by_the_book(pairs: Sequence[tuple[str, str]]) -> Fraction | None:
    """The definition, in exact fractions."""
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = Fraction(sum(a == b for a, b in pairs), n)
    expected = sum((Fraction(first[label] * second[label], n * n) for label in first), Fraction(0))
    return None if expected == 1 else (observed - expected) / (1 - expected)


LABELLED = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=40)


@given(LABELLED)
def test_kappa_is_the_definition(pairs: list[tuple[str, str]]) -> None:
    found, expected = cohen_kappa(pairs, resamples=20).kappa, by_the_book(pairs)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found == pytest.approx(float(expected))


@given(LABELLED, st.randoms(use_true_random=False))
def test_neither_the_order_of_items_nor_that_of_raters_matters(pairs: list[Pair], random: object) -> None:
    one = cohen_kappa(pairs, resamples=20)
    backwards = cohen_kappa(pairs[::-1], resamples=20)
    swapped = cohen_kappa([(b, a) for a, b in pairs], resamples=20)
    assert backwards == one
    assert swapped.kappa == pytest.approx(one.kappa)
    assert swapped.ac1 == pytest.approx(one.ac1)


def test_an_interval_holds_kappa_and_narrows_with_more_items() -> None:
    few, many = (cohen_kappa(table(yy=4 * k, yn=k, ny=2 * k, nn=3 * k)) for k in (5, 50))
    for found in (few, many):
        assert found.low is not None
        assert found.high is not None
        assert found.kappa is not None
        assert found.low < found.kappa < found.high
    assert many.high is not None
    assert many.low is not None
    assert few.high is not None
    assert few.low is not None
    # Ten times the items: about sqrt(10) times narrower.
    assert 2.5 < (few.high - few.low) / (many.high - many.low) < 4


def test_items_of_one_group_are_drawn_together() -> None:
    pairs = table(yy=20, yn=5, ny=10, nn=15)
    single = cohen_kappa(pairs)
    doubled = cohen_kappa([pair for pair in pairs for _ in range(2)], [str(at) for at in range(50) for _ in range(2)])
    # Every item twice in its group says nothing new: the same draws, the same interval.
    assert (doubled.kappa, doubled.low, doubled.high) == pytest.approx((single.kappa, single.low, single.high))
    assert (doubled.n, doubled.groups) == (100, 50)


def test_few_groups_have_no_interval() -> None:
    found = cohen_kappa(table(yy=3, yn=2, ny=2, nn=2))
    assert found.kappa is not None
    assert (found.low, found.high) == (None, None)


def test_another_number_of_groups_than_of_items_is_refused() -> None:
    with pytest.raises(ValueError, match=r"zip\(\)"):
        cohen_kappa([("a", "b")], ["g", "h"])
