"""Accuracy against coverage, by hand."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from assay.mark.finscore import finscore_reference
from assay.solve.abstain import (
    MOST_POINTS,
    Answered,
    OwnScores,
    abstention,
    confidence,
    kept_labels,
    options_of,
    reduced_answers,
)
from assay.solve.plan import SearchPlan
from assay.solve.pool import select_from
from assay.solve.records import JudgedOptions, OptionCritique, OptionVerdict, Unjudged
from assay.types import Outcome, Verdict
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
    found = abstention(ROWS, 0.85, score=lambda outcomes: OwnScores(-1.0, float(len(outcomes))))
    assert (found.below.score, [point.score for point in found.curve]) == (1.0, [4.0, 3.0, 1.0])
    assert found.below.score_reference == -1.0


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


# --------------------------------------------------------------------------------------------------------------------
# Leaving out options


def options(**scores: float) -> JudgedOptions:
    verdicts = (
        OptionVerdict(label=key, correct=value >= 0.5, score=value, source="text") for key, value in scores.items()
    )
    return JudgedOptions(labels=tuple(scores), said=OptionCritique(options=tuple(verdicts)))


def several(name: str, verdict: Verdict) -> Outcome:
    return outcome(name, verdict, question_type="multiple_choice", multi_answer="yes", knowledge_domain="d")


def number(name: str, verdict: Verdict) -> Outcome:
    return outcome(name, verdict, question_type="numerical", knowledge_domain="d")


# 1: {A, C, D} where {A, C} is right. 2: {A, B} is right. 3 and 4 have no options.
LISTS = [
    Answered(
        several("1", "wrong"),
        0.9,
        options(A=0.9, C=0.8, D=0.3),
        {("A", "C"): several("1", "right"), ("A",): several("1", "wrong")},
    ),
    Answered(several("2", "right"), 0.9, options(A=0.95, B=0.7), {("A",): several("2", "wrong")}),
    Answered(number("3", "right"), 0.6),
    Answered(number("4", "wrong"), 0.2),
]


def script(outcomes: Sequence[Outcome]) -> OwnScores:
    return OwnScores(reference=finscore_reference(outcomes, on_missing="exclude").finscore)


def test_a_wrong_option_is_left_out_and_the_answer_is_right() -> None:
    """One domain. At .5 number 4 isn't answered, and D is left out of {A, C, D}.

    Whole answers: 2 of 3 right, 1 of 2 lists wrong, so 2/3 * (1 - 1/2) = 1/3. With D left out: 3 of 3, no list wrong:
    1. Nothing left out and all answered: 2/4 * (1 - 1/2) = 1/4.
    """
    found = abstention(LISTS, 0.5, score=script).dropping
    assert found is not None
    assert (found.judged, found.unjudged) == (2, {})
    below = found.below
    assert (below.whole.answered, below.whole.right, below.whole.coverage) == (3, 2, 0.75)
    assert below.whole.score_reference == pytest.approx(1 / 3)
    assert (below.options.answered, below.options.right, below.options.coverage) == (3, 3, 0.75)
    assert below.options.score_reference == 1.0
    assert (below.dropped, below.emptied, below.mended, below.broken) == (1, 0, 1, 0)
    least = found.curve[0]
    assert least.options.threshold == 0.2
    assert least.options.score_reference == least.whole.score_reference == 1 / 4


def test_a_higher_threshold_breaks_and_empties_answers() -> None:
    """At .75 B is left out of {A, B}, which was right; at .93 nothing is left of {A, C, D}; at .96 nothing at all."""
    points = [abstention(LISTS, below).dropping for below in (0.75, 0.93, 0.96)]
    got = [
        (
            p.below.options.answered,
            p.below.options.right,
            p.below.dropped,
            p.below.emptied,
            p.below.mended,
            p.below.broken,
        )
        for p in points
        if p is not None
    ]
    assert got == [(2, 1, 2, 0, 1, 1), (1, 0, 1, 1, 0, 1), (0, 0, 0, 2, 0, 0)]


def test_the_curve_has_every_score_of_options_and_answers() -> None:
    found = abstention(LISTS, 0.5).dropping
    assert found is not None
    assert [point.options.threshold for point in found.curve] == [0.2, 0.3, 0.6, 0.7, 0.8, 0.9, 0.95]
    assert [point.whole.answered for point in found.curve] == [4, 3, 3, 2, 2, 2, 0]
    # From .6 on number 3 goes at .7; number 1 keeps A up to .9; number 2 keeps A up to .95.
    assert [point.options.answered for point in found.curve] == [4, 3, 3, 2, 2, 2, 1]


@pytest.mark.parametrize(("confidence", "answered"), [(0.9, 1), (0.4, 0), (None, 0)])
def test_options_without_a_critique_are_not_left_out(confidence: float | None, answered: int) -> None:
    """The answer stands or falls as a whole, by the score of its solution; the cause is counted."""
    asked = JudgedOptions(labels=("A", "B"), said=Unjudged(kind="unparsable", reason="prose"))
    found = abstention([Answered(several("1", "wrong"), confidence, asked)], 0.5).dropping
    assert found is not None
    assert (found.judged, found.unjudged) == (0, {"unparsable": 1})
    assert (found.below.options.answered, found.below.dropped, found.below.emptied) == (answered, 0, 0)


def test_nothing_is_said_of_options_where_nobody_asked() -> None:
    assert abstention(ROWS, 0.5).dropping is None


def test_verdicts_are_about_one_answer() -> None:
    """Another solution's answer, chosen by another strategy, was not what the critic was asked about."""
    words: list[Words] = [
        (plain(0), "A,C", "right", judged(0.4), None),
        (plain(1), "A,C", "right", judged(0.3), None),
        (plain(2), "A,D", "wrong", judged(0.9), None),
    ]
    one = record("A", words, SearchPlan(strategy="best-of-n", n=3))
    asked = options(A=0.9, D=0.2)
    one = structs.replace(one, options=asked)
    assert options_of(one, one.chosen) == asked
    voted = select_from(one.pool, one.members, "self-consistency", "mean")
    assert options_of(one, voted) is None
    assert options_of(structs.replace(one, options=None), one.chosen) is None


SCORES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=5)


@given(SCORES, st.floats(0, 1))
def test_every_part_that_a_threshold_leaves_is_known(scores: list[float], below: float) -> None:
    asked = options(**dict(zip("ABCDE", scores, strict=False)))
    assert isinstance(asked.said, OptionCritique)
    kept = kept_labels(asked.said, below)
    assert kept in ((), asked.labels, *reduced_answers(asked))
    assert all(scores["ABCDE".index(label)] >= below for label in kept)
    assert len(reduced_answers(asked)) == len(set(scores)) - 1
