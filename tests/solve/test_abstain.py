"""Accuracy against coverage, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.abstain import MOST_POINTS, Answered, abstention, confidence
from assay.solve.plan import SearchPlan
from assay.solve.pool import select_from
from support.outcomes import FAILED, outcome
from support.pools import Words, judged, plain, record

# Confidence and verdict: right .9, wrong .8, right .8, wrong .3, right without one.
ROWS = [
    Answered(outcome("1", "right"), 0.9),
    Answered(outcome("2", "wrong"), 0.8),
    Answered(outcome("3", "right"), 0.8),
    Answered(outcome("4", "unanswered"), 0.3),
    Answered(outcome("5", "right"), None),
    Answered(outcome("6", FAILED), 0.99),
    Answered(outcome("7", "unmarkable"), 0.99),
]


def test_by_hand() -> None:
    """Five samples have a verdict, four of them a confidence.

    At .5: three answers, two right. Risks of the k most confident: 0 of 1; the two at .8 in either order, so 1/2 of 2;
    1 of 3; 2 of 4. Their mean: (0 + 1/4 + 1/3 + 1/2) / 4.
    """
    found = abstention(ROWS, 0.5)
    assert (found.samples, found.missing, found.unjudged) == (5, 2, 1)
    assert (found.below.answered, found.below.right, found.below.coverage) == (3, 2, 0.6)
    assert found.below.accuracy == pytest.approx(2 / 3)
    assert found.area == pytest.approx((0 + 1 / 4 + 1 / 3 + 1 / 2) / 4)
    assert found.overall_risk == 0.5
    assert [(point.threshold, point.answered, point.right) for point in found.curve] == [
        (0.3, 4, 2),
        (0.8, 3, 2),
        (0.9, 1, 1),
    ]


def test_a_benchmark_s_own_score_is_of_what_is_answered() -> None:
    found = abstention(ROWS, 0.85, score=lambda outcomes: float(len(outcomes)))
    assert (found.below.score, [point.score for point in found.curve]) == (1.0, [4.0, 3.0, 1.0])


def test_nothing_is_left() -> None:
    found = abstention(ROWS, 0.95)
    assert (found.below.answered, found.below.accuracy, found.below.coverage) == (0, None, 0.0)
    empty = abstention([], 0.5)
    assert (empty.samples, empty.area, empty.curve) == (0, None, ())


def test_confidences_of_strategies() -> None:
    words: list[Words] = [
        (plain(0), "1", "right", judged(0.8, 0.6), None),
        (plain(1), "1", "right", judged(0.4, 0.4), None),
        (plain(2), "2", "wrong", judged(0.9, 0.1), None),
    ]
    one = record("A", words, SearchPlan(strategy="best-of-n", n=3))
    assert confidence(one, one.chosen, "mean") == pytest.approx(0.7)
    assert confidence(one, one.chosen, "min") == 0.6
    voted = select_from(one.pool, one.members, "self-consistency", "mean")
    assert confidence(one, voted, "mean") == pytest.approx(2 / 3)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.booleans()), min_size=1, max_size=40))
def test_coverage_falls_and_the_order_does_not_matter(pairs: list[tuple[float, bool]]) -> None:
    rows = [Answered(outcome(str(i), "right" if right else "wrong"), score) for i, (score, right) in enumerate(pairs)]
    found = abstention(rows, 0.5)
    assert found.area == pytest.approx(abstention(rows[::-1], 0.5).area)
    coverages = [point.coverage for point in found.curve]
    assert coverages == sorted(coverages, reverse=True)
    assert coverages[0] == 1.0


def test_the_curve_has_at_most_so_many_points() -> None:
    rows = [Answered(outcome(str(i), "right"), i / 100) for i in range(100)]
    found = abstention(rows, 0.5)
    assert len(found.curve) == MOST_POINTS
    assert (found.curve[0].threshold, found.curve[-1].threshold) == (0.0, 0.99)
