"""Metrics of step verdicts: arithmetic by hand, brute force, scikit-learn where it is installed, and properties."""

import inspect
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random
from types import ModuleType

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark import step_first_error, step_ranking, step_scores, steps
from assay.mark.status import OnMissing
from assay.mark.step_first_error import best_harmonic, first_error
from assay.mark.step_ranking import step_auc
from assay.mark.step_scores import best_threshold, calibration, threshold_curve
from assay.mark.steps import JudgedSolution, first_wrong, judge_at, step_f1, weighted_f1

WORDS: dict[str, bool | None] = {"+": True, "-": False, "0": None}


def solution(
    labels: str,
    verdicts: str | None = None,
    *,
    scores: Sequence[float | None] | None = None,
    gold: int | None = -1,
    predicted: int | None = -1,
    group: str = "g",
    source: str = "s",
) -> JudgedSolution:
    """Labels and verdicts as text: + right, - wrong, 0 none."""
    return JudgedSolution(
        source=source,
        group=group,
        labels=tuple(WORDS[word] for word in labels),
        verdicts=None if verdicts is None else tuple(WORDS[word] for word in verdicts),
        scores=None if scores is None else tuple(scores),
        first_error=gold,
        predicted_first_error=predicted,
    )


# Labels    + + + + + +   - - - -   0 0
# Verdicts  + + + + - -   + - - -   + -
# Right: labelled 6, claimed 5, found 4: precision 4/5, recall 4/6, F1 = 2 * 4 / (6 + 5) = 8/11.
# Wrong: labelled 4, claimed 5, found 3: precision 3/5, recall 3/4, F1 = 2 * 3 / (4 + 5) = 6/9.
BY_HAND = [solution("++++++", "++++--"), solution("----00", "+---+-")]


def test_f1_by_hand() -> None:
    found = step_f1(BY_HAND, on_missing="exclude", resamples=20).pooled
    assert found.right.f1.value == pytest.approx(8 / 11)
    assert (found.right.precision, found.right.recall) == (pytest.approx(4 / 5), pytest.approx(4 / 6))
    assert found.wrong.f1.value == pytest.approx(6 / 9)
    assert (found.wrong.precision, found.wrong.recall) == (pytest.approx(3 / 5), pytest.approx(3 / 4))
    assert found.macro.value == pytest.approx((8 / 11 + 6 / 9) / 2)
    assert (found.right.n, found.right.claimed, found.right.found) == (6, 5, 4)
    assert (found.wrong.n, found.wrong.claimed, found.wrong.found) == (4, 5, 3)
    assert (found.n, found.neutral, found.unjudged_steps) == (10, 2, 0)
    assert (found.solutions, found.unjudged_solutions, found.groups) == (2, 0, 1)
    # One group has nothing to draw from.
    assert (found.macro.low, found.macro.high, found.macro.method) == (None, None, None)


def test_weighted_f1_by_hand() -> None:
    # 6 of 10 are right, 4 wrong: 0.6 * F1 of wrong + 0.4 * F1 of right = 0.6 * 2/3 + 0.4 * 8/11.
    found = weighted_f1(BY_HAND, on_missing="exclude", resamples=20)
    assert found.weighted.value == pytest.approx(0.6 * 2 / 3 + 0.4 * 8 / 11)
    assert (found.weight_wrong, found.weight_right) == (pytest.approx(0.6), pytest.approx(0.4))
    assert (found.f1_right, found.f1_wrong) == (pytest.approx(8 / 11), pytest.approx(2 / 3))
    assert found.weighted.n == 10


def test_pooled_is_not_the_mean_of_the_sources() -> None:
    # a: 1 right found, 1 wrong found: F1 1 and 1.
    # b: right, labelled 3, claimed 4, found 3: 6/7; wrong, labelled 1, claimed 0: 0. Macro 3/7.
    # Pooled: right, labelled 4, claimed 5, found 4: 8/9; wrong, labelled 2, claimed 1, found 1: 2/3. Macro 7/9.
    found = step_f1([solution("+-", "+-", source="a"), solution("+++-", "++++", source="b")], on_missing="wrong")
    assert list(found.by_source) == ["a", "b"]
    assert found.by_source["a"].macro.value == 1
    assert found.by_source["b"].macro.value == pytest.approx(3 / 7)
    assert found.pooled.macro.value == pytest.approx(7 / 9)


def test_a_step_without_a_verdict_is_left_out_or_missed() -> None:
    rows = [solution("++-", "+0-"), solution("+-"), solution("00")]
    # Left out: right 1 of 1, wrong 1 of 1.
    left_out = step_f1(rows, on_missing="exclude").pooled
    assert (left_out.right.f1.value, left_out.wrong.f1.value, left_out.n) == (1, 1, 2)
    # Missed: right, labelled 3, claimed 1, found 1: 2/4. Wrong, labelled 2, claimed 1, found 1: 2/3.
    missed = step_f1(rows, on_missing="wrong").pooled
    assert missed.right.f1.value == pytest.approx(2 / 4)
    assert missed.wrong.f1.value == pytest.approx(2 / 3)
    assert missed.n == 5
    for found in (left_out, missed):  # the last solution has no labelled step that could have been judged
        assert (found.unjudged_steps, found.unjudged_solutions, found.solutions, found.neutral) == (3, 1, 3, 2)


def test_always_right_has_half_the_f1_of_right_steps() -> None:
    # VisualProcessBench's labels: 16,585 right, 7,691 wrong. Right: 2 * 16585 / (2 * 16585 + 7691) = 33170 / 40861;
    # wrong is never claimed: 0. Macro 0.4059: below chance.
    rows = [solution("+" * 16585, "+" * 16585), solution("-" * 7691, "+" * 7691)]
    found = step_f1(rows, on_missing="wrong", resamples=5).pooled
    assert found.right.f1.value == pytest.approx(33170 / 40861)
    assert (found.wrong.f1.value, found.wrong.claimed, found.wrong.precision) == (0, 0, None)
    assert found.macro.value == pytest.approx(33170 / 40861 / 2)


def test_guessing_at_the_labels_own_rate_is_50() -> None:
    # 60 right and 40 wrong; guessed right at 60 %: 36 and 24. F1 of right 72 / (60 + 60), of wrong 32 / (40 + 40).
    rows = [solution("+" * 60, "+" * 36 + "-" * 24), solution("-" * 40, "+" * 24 + "-" * 16)]
    found = step_f1(rows, on_missing="wrong", resamples=5).pooled
    assert (found.right.f1.value, found.wrong.f1.value) == (pytest.approx(0.6), pytest.approx(0.4))
    assert found.macro.value == pytest.approx(0.5)


def test_tossing_coins_is_50_and_its_interval_holds_50() -> None:
    chance = Random(1)
    rows = [
        solution("".join(chance.choices("+-", k=6)), "".join(chance.choices("+-", k=6)), group=str(place))
        for place in range(800)
    ]
    found = step_f1(rows, on_missing="wrong", resamples=400).pooled.macro
    assert found.value == pytest.approx(0.5, abs=0.02)  # standard error about 0.5 / sqrt(4800) = 0.007
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert 0.02 < found.high - found.low < 0.04  # 2 * 1.96 * 0.0072 = 0.028
    assert found.method == "bootstrap over groups"


def test_steps_of_one_group_are_no_independent_steps() -> None:
    # 40 solutions, ten copies of each: ten of one group say no more than one does, as groups of their own they seem to.
    base = [("+-+-", "+-+-") if place % 2 else ("+-+-", "-++-") for place in range(40)]
    together = [solution(*pair, group=str(place)) for place, pair in enumerate(base) for _ in range(10)]
    apart = [msgspec.structs.replace(row, group=str(place)) for place, row in enumerate(together)]

    def width(rows: list[JudgedSolution]) -> float:
        macro = step_f1(rows, on_missing="wrong", resamples=400).pooled.macro
        assert macro.high is not None
        assert macro.low is not None
        return macro.high - macro.low

    assert width(together) > 2.5 * width(apart)  # sqrt(10) = 3.2


@pytest.mark.parametrize(
    ("rows", "right", "wrong"),
    [
        pytest.param([], None, None, id="no solution"),
        pytest.param([solution("", "")], None, None, id="no step"),
        pytest.param([solution("00", "+-")], None, None, id="neutral steps alone"),
        pytest.param([solution("++", "++")], 1.0, None, id="no wrong step"),
        pytest.param([solution("++", "--")], 0.0, None, id="no wrong step, all claimed"),
        pytest.param([solution("--", "--")], None, 1.0, id="no right step"),
        pytest.param([solution("+-", "-+")], 0.0, 0.0, id="all the other way round"),
    ],
)
@pytest.mark.parametrize("on_missing", ["exclude", "wrong"])
def test_a_class_without_a_step_has_no_f1(
    rows: list[JudgedSolution], right: float | None, wrong: float | None, on_missing: OnMissing
) -> None:
    found = step_f1(rows, on_missing=on_missing, resamples=5).pooled
    assert (found.right.f1.value, found.wrong.f1.value) == (right, wrong)
    both = right is not None and wrong is not None
    assert found.macro.value == (0.0 if both else None)
    assert weighted_f1(rows, on_missing=on_missing, resamples=5).weighted.value == (0.0 if both else None)


def test_groups_without_a_step_counted_are_not_drawn() -> None:
    rows = [solution("+-", "+-", group="x"), solution("0", "+", group="y"), solution("+", group="z")]
    assert step_f1(rows, on_missing="exclude", resamples=5).pooled.groups == 1
    assert step_f1(rows, on_missing="wrong", resamples=5).pooled.groups == 2


def test_everything_unjudged_is_nothing_or_zero() -> None:
    rows = [solution("+-"), solution("-+")]
    assert step_f1(rows, on_missing="exclude").pooled.macro.value is None
    assert step_f1(rows, on_missing="wrong").pooled.macro.value == 0


# First errors. Erroneous: 4, of which 2 named (at 0 and 2), one missed, one late; correct: 3, of which 2 so called.
FIRST_ERRORS = [
    solution("-++", gold=0, predicted=0, source="a"),
    solution("++-", gold=2, predicted=2, source="a"),
    solution("+-+", gold=1, predicted=None, source="b"),
    solution("+-+", gold=1, predicted=2, source="b"),
    solution("+++", gold=None, predicted=None, source="a"),
    solution("+++", gold=None, predicted=None, source="b"),
    solution("+++", gold=None, predicted=1, source="b"),
]


def test_first_error_by_hand() -> None:
    found = first_error(FIRST_ERRORS, on_missing="wrong", resamples=20)
    assert (found.pooled.erroneous.value, found.pooled.erroneous.n) == (2 / 4, 4)
    assert (found.pooled.correct.value, found.pooled.correct.n) == (pytest.approx(2 / 3), 3)
    # 2 * (1/2) * (2/3) / (1/2 + 2/3) = (2/3) / (7/6) = 4/7
    assert found.pooled.harmonic.value == pytest.approx(4 / 7)
    assert found.pooled.overall.value == pytest.approx(4 / 7)  # 4 of 7 answered exactly
    # a: 2/2 and 1/1; b: 0/2 and 1/2, so 0. Their mean is 1/2.
    assert found.by_source["a"].harmonic.value == 1
    assert found.by_source["b"].harmonic.value == 0
    assert found.mean_of_sources == 0.5


def test_first_error_without_an_answer_or_a_label() -> None:
    rows = [*FIRST_ERRORS, solution("--", gold=0), solution("++", gold=None), solution("0+", predicted=0)]
    left_out = first_error(rows, on_missing="exclude", resamples=20).pooled
    assert (left_out.erroneous.value, left_out.correct.value) == (2 / 4, pytest.approx(2 / 3))
    wrong = first_error(rows, on_missing="wrong", resamples=20).pooled
    assert (wrong.erroneous.value, wrong.correct.value) == (2 / 5, 2 / 4)
    for found in (left_out, wrong):
        assert (found.unjudged, found.unlabelled) == (2, 1)


def test_always_correct_finds_no_error() -> None:
    rows = [msgspec.structs.replace(row, predicted_first_error=None) for row in FIRST_ERRORS]
    found = first_error(rows, on_missing="wrong", resamples=20).pooled
    assert (found.erroneous.value, found.correct.value, found.harmonic.value) == (0, 1, 0)


@pytest.mark.parametrize(
    ("rows", "erroneous", "correct"),
    [
        pytest.param([], None, None, id="no solution"),
        pytest.param([solution("+", predicted=None)], None, None, id="no label"),
        pytest.param([solution("-", gold=0, predicted=0)], 1.0, None, id="no correct solution"),
        pytest.param([solution("+", gold=None, predicted=0)], None, 0.0, id="no erroneous solution"),
    ],
)
def test_first_errors_of_one_kind_have_no_harmonic_mean(
    rows: list[JudgedSolution], erroneous: float | None, correct: float | None
) -> None:
    found = first_error(rows, on_missing="wrong", resamples=5)
    assert (found.pooled.erroneous.value, found.pooled.correct.value) == (erroneous, correct)
    assert found.pooled.harmonic.value is None
    assert found.mean_of_sources is None


def test_a_source_of_one_kind_leaves_no_mean_of_sources() -> None:
    found = first_error([*FIRST_ERRORS, solution("-", gold=0, predicted=0, source="c")], on_missing="wrong")
    assert found.by_source["c"].harmonic.value is None
    assert found.mean_of_sources is None


def test_both_shares_zero_is_zero() -> None:
    rows = [solution("-", gold=0, predicted=None), solution("+", gold=None, predicted=0)]
    assert first_error(rows, on_missing="wrong", resamples=5).pooled.harmonic.value == 0


@pytest.mark.parametrize(
    ("verdicts", "position"), [("", None), ("++", None), ("+-0", 1), ("0-", -1), ("++0", -1), ("-", 0)]
)
def test_a_missing_verdict_hides_what_comes_after_it(verdicts: str, position: int | None) -> None:
    assert first_wrong([WORDS[word] for word in verdicts]) == position


def test_verdicts_at_a_threshold() -> None:
    judged = judge_at(solution("+-+", scores=(0.5, 0.51, None)), 0.5)
    assert (judged.verdicts, judged.predicted_first_error) == ((False, True, None), 0)  # above, not at
    assert judge_at(solution("+", "+", predicted=None), 0.5) == solution("+")


# Scores of right steps 0.9 0.8 0.4, of wrong ones 0.6 0.2.
#   t      right: found claimed  F1            wrong: found claimed  F1           macro
#   0.1           3     5        6/8                  0     0        0            0.375
#   0.3           3     4        6/7                  1     1        2/3          0.762
#   0.5           2     3        4/6                  1     2        2/4          0.583
#   0.7           2     2        4/5                  2     3        4/5          0.8
SCORED = [solution("+-+", scores=(0.9, 0.6, 0.4), group="x"), solution("-+0", scores=(0.2, 0.8, 0.1), group="y")]


def test_threshold_curve_by_hand() -> None:
    found = threshold_curve(
        SCORED, choose=SCORED, chosen_on="the same", on_missing="wrong", thresholds=(0.7, 0.1, 0.3, 0.5), resamples=20
    )
    assert [point.threshold for point in found.points] == [0.1, 0.3, 0.5, 0.7]
    assert [point.f1_right for point in found.points] == pytest.approx([6 / 8, 6 / 7, 4 / 6, 4 / 5])
    assert [point.f1_wrong for point in found.points] == pytest.approx([0, 2 / 3, 2 / 4, 4 / 5])
    assert (found.chosen, found.chosen_on, found.chosen_on_macro) == (0.7, "the same", pytest.approx(0.8))
    assert found.at_chosen is not None
    assert found.at_chosen.macro.value == pytest.approx(0.8)
    assert (found.shared_groups, found.n, found.unscored) == (2, 5, 0)


def test_the_threshold_comes_from_the_other_data() -> None:
    # On these any threshold from 0.2 up to 0.3 is perfect; of the two offered there, that nearest to 0.5.
    other = [solution("+-", scores=(0.31, 0.2), group="z")]
    found = threshold_curve(
        SCORED, choose=other, chosen_on="tuning", on_missing="wrong", thresholds=(0.25, 0.3, 0.7), resamples=20
    )
    assert (found.chosen, found.chosen_on_macro, found.shared_groups) == (0.3, 1, 0)
    assert found.at_chosen is not None
    assert found.at_chosen.macro.value == pytest.approx((6 / 7 + 2 / 3) / 2)


def test_unscored_steps_on_the_curve() -> None:
    rows = [solution("+-", scores=(0.9, 0.1)), solution("+-", scores=(None, 0.2)), solution("-")]
    # Missed: right, labelled 2, claimed 1, found 1: 2/3. Wrong, labelled 3, claimed 2, found 2: 4/5.
    expected: dict[OnMissing, tuple[float, float]] = {"exclude": (1.0, 1.0), "wrong": (2 / 3, 4 / 5)}
    for on_missing, f1s in expected.items():
        found = threshold_curve(
            rows, choose=rows, chosen_on="same", on_missing=on_missing, thresholds=(0.5,), resamples=5
        )
        assert (found.points[0].f1_right, found.points[0].f1_wrong) == pytest.approx(f1s)
        assert (found.n, found.unscored) == (3, 2)


def test_of_equally_good_thresholds_the_lower_of_those_nearest_to_a_half() -> None:
    rows = [solution("+-", scores=(0.9, 0.1))]
    found = threshold_curve(
        rows, choose=rows, chosen_on="same", on_missing="wrong", thresholds=(0.875, 0.75, 0.25, 0.125), resamples=5
    )
    assert found.chosen == 0.25


def test_nothing_to_choose_a_threshold_on() -> None:
    found = threshold_curve(SCORED, choose=[], chosen_on="nothing", on_missing="wrong", resamples=5)
    assert (found.chosen, found.chosen_on_macro, found.at_chosen) == (None, None, None)
    assert len(found.points) == 100
    with pytest.raises(ValueError, match="no thresholds"):
        threshold_curve(SCORED, choose=SCORED, chosen_on="x", on_missing="wrong", thresholds=())


def test_calibration_by_hand() -> None:
    # Two bins. Below 0.5: scores 0.2 (wrong), 0.4 (right): mean 0.3, share 0.5. From 0.5: 0.5 (wrong), 0.9 (right),
    # 1.0 (right): mean 0.8, share 2/3. Error 2/5 * 0.2 + 3/5 * (0.8 - 2/3) = 0.08 + 0.08.
    rows = [solution("-+-0", scores=(0.2, 0.4, 0.5, 0.3)), solution("+++", scores=(0.9, 1.0, None)), solution("+")]
    found = calibration(rows, bins=2, resamples=20)
    assert found.error.value == pytest.approx(0.16)
    assert [(each.low, each.high, each.n) for each in found.bins] == [(0, 0.5, 2), (0.5, 1, 3)]
    assert [each.mean_score for each in found.bins] == pytest.approx([0.3, 0.8])
    assert [each.right.value for each in found.bins] == pytest.approx([1 / 2, 2 / 3])
    assert (found.n, found.unscored, found.groups) == (5, 2, 1)
    assert found.error.low is None  # one group


def test_no_score_is_no_calibration() -> None:
    found = calibration([solution("+-", "+-")])
    assert (found.error.value, found.n, found.unscored) == (None, 0, 2)
    assert [each.mean_score for each in found.bins] == [None] * 10
    with pytest.raises(ValueError, match="0 bins"):
        calibration([], bins=0)


@pytest.mark.parametrize("bins", [10, 100])
def test_a_score_on_an_edge_is_in_the_bin_that_begins_there(bins: int) -> None:
    # 0.29 * 100 is 28.999999999999996.
    rows = [solution("+" * bins, scores=[place / bins for place in range(bins)])]
    assert [each.n for each in calibration(rows, bins=bins, resamples=5).bins] == [1] * bins


def test_the_interval_of_the_calibration_error_covers_it() -> None:
    # A score of 0.9 is right with 0.75, one of 0.3 with 0.3: the true error is 0.5 * 0.15 = 0.075. Of 60 intervals
    # at 95 % fewer than 51 hold it with a chance below 0.002.
    held = 0
    for run in range(60):
        chance = Random(run)
        rows: list[JudgedSolution] = []
        for place in range(150):
            scores = [chance.choice((0.3, 0.9)) for _ in range(4)]
            labels = "".join("+" if chance.random() < (0.75 if score == 0.9 else 0.3) else "-" for score in scores)
            rows.append(solution(labels, scores=scores, group=str(place)))
        error = calibration(rows, resamples=200, seed=run).error
        assert error.low is not None
        assert error.high is not None
        held += error.low <= 0.075 <= error.high
    assert held >= 51


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: solution("++", "+"), "1 verdicts for 2 steps"),
        (lambda: solution("+", scores=(0.1, 0.2)), "2 scores for 1 steps"),
        (lambda: solution("+", scores=(float("nan"),)), "nan is no probability"),
        (lambda: solution("+", scores=(1.01,)), "1.01 is no probability"),
        (lambda: solution("+", gold=1), "no step 1 among 1"),
        (lambda: solution("+", predicted=-2), "no step -2 among 1"),
    ],
)
def test_a_solution_that_does_not_fit_is_refused(make: Callable[[], JudgedSolution], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# Brute force, and scikit-learn.

VERDICTS = st.sampled_from([True, False, None])


@st.composite
def judged(draw: st.DrawFn) -> JudgedSolution:
    size = draw(st.integers(0, 6))
    labels = draw(st.lists(VERDICTS, min_size=size, max_size=size))
    position = st.sampled_from([None, -1, *range(size)])
    score = st.none() | st.integers(0, 20).map(lambda twentieths: twentieths / 20)
    return JudgedSolution(
        source=draw(st.sampled_from("ab")),
        group=draw(st.sampled_from("xyz")),
        labels=tuple(labels),
        first_error=draw(position),
        verdicts=draw(st.none() | st.lists(VERDICTS, min_size=size, max_size=size).map(tuple)),
        scores=draw(st.none() | st.lists(score, min_size=size, max_size=size).map(tuple)),
        predicted_first_error=draw(position),
    )


def flat(rows: list[JudgedSolution], on_missing: OnMissing) -> list[tuple[bool, bool | None]]:
    pairs: list[tuple[bool, bool | None]] = []
    for row in rows:
        for place, label in enumerate(row.labels):
            verdict = row.verdicts[place] if row.verdicts is not None else None
            if label is not None and (verdict is not None or on_missing == "wrong"):
                pairs.append((label, verdict))
    return pairs


def brute_f1(pairs: list[tuple[bool, bool | None]], side: bool) -> Fraction | None:
    """The harmonic mean of precision and recall, from their definitions."""
    of_side = [verdict for label, verdict in pairs if label is side]
    claims = [label for label, verdict in pairs if verdict is side]
    if not of_side:
        return None
    recall = Fraction(of_side.count(side), len(of_side))
    if not claims or not recall:
        return Fraction(0)
    precision = Fraction(claims.count(side), len(claims))
    return 2 / (1 / precision + 1 / recall)


@given(st.lists(judged(), max_size=8), st.sampled_from(["exclude", "wrong"]))
def test_against_brute_force(rows: list[JudgedSolution], on_missing: OnMissing) -> None:
    pairs = flat(rows, on_missing)
    right, wrong = brute_f1(pairs, True), brute_f1(pairs, False)
    found = step_f1(rows, on_missing=on_missing, resamples=2).pooled
    weighted = weighted_f1(rows, on_missing=on_missing, resamples=2).weighted.value
    assert found.right.f1.value == (None if right is None else pytest.approx(float(right)))
    assert found.wrong.f1.value == (None if wrong is None else pytest.approx(float(wrong)))
    if right is None or wrong is None:
        assert found.macro.value is None
        assert weighted is None
    else:
        share = Fraction(sum(label for label, _ in pairs), len(pairs))
        assert found.macro.value == pytest.approx(float((right + wrong) / 2))
        assert weighted == pytest.approx(float(share * wrong + (1 - share) * right))


@given(st.lists(judged(), max_size=8), st.sampled_from(["exclude", "wrong"]))
def test_the_curve_is_the_f1_of_the_verdicts_at_each_threshold(
    rows: list[JudgedSolution], on_missing: OnMissing
) -> None:
    thresholds = (0.0, 0.25, 0.5, 0.85)
    curve = threshold_curve(
        rows, choose=rows, chosen_on="same", on_missing=on_missing, thresholds=thresholds, resamples=2
    )
    for threshold, point in zip(thresholds, curve.points, strict=True):
        found = step_f1([judge_at(row, threshold) for row in rows], on_missing=on_missing, resamples=2).pooled
        assert point.f1_right == (None if found.right.f1.value is None else pytest.approx(found.right.f1.value))
        assert point.f1_wrong == (None if found.wrong.f1.value is None else pytest.approx(found.wrong.f1.value))
    known = [point.macro for point in curve.points if point.macro is not None]
    assert curve.chosen_on_macro == (max(known) if known else None)


@given(st.lists(judged(), max_size=8), st.integers(1, 7))
def test_calibration_against_brute_force(rows: list[JudgedSolution], bins: int) -> None:
    edges = [place / bins for place in range(bins + 1)]
    pairs = [
        (Fraction(score), label)
        for row in rows
        for score, label in zip(row.scores or (), row.labels, strict=row.scores is not None)
        if score is not None and label is not None
    ]
    error = Fraction(0)
    for low, high in pairwise(edges):
        inside = [pair for pair in pairs if low <= pair[0] < high or pair[0] == high == 1]
        if inside:
            gap = sum(score for score, _ in inside) / len(inside) - Fraction(sum(y for _, y in inside), len(inside))
            error += abs(gap) * len(inside) / len(pairs)
    found = calibration(rows, bins=bins, resamples=2).error.value
    assert found == (pytest.approx(float(error), abs=1e-8) if pairs else None)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("on_missing", ["exclude", "wrong"])
def test_against_scikit_learn(seed: int, on_missing: OnMissing) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    pairs = flat(rows := sample(seed), on_missing)
    labels = [int(label) for label, _ in pairs]
    verdicts = [2 if verdict is None else int(verdict) for _, verdict in pairs]  # no verdict: a class of its own
    wrong, right = metrics.f1_score(labels, verdicts, labels=[0, 1], average=None)
    found = step_f1(rows, on_missing=on_missing, resamples=2).pooled
    assert (found.right.f1.value, found.wrong.f1.value) == (pytest.approx(right), pytest.approx(wrong))
    assert found.macro.value == pytest.approx(metrics.f1_score(labels, verdicts, labels=[0, 1], average="macro"))


# Every public metric, by the properties that it must have. A new one that is in no list fails here.

Metric = Callable[[list[JudgedSolution]], float | None]
METRICS: dict[str, Metric] = {
    "step_f1": lambda rows: step_f1(rows, on_missing="exclude", resamples=20).pooled.macro.value,
    "step_f1, missing as wrong": lambda rows: step_f1(rows, on_missing="wrong", resamples=20).pooled.macro.value,
    "step_f1, wrong steps": lambda rows: step_f1(rows, on_missing="wrong", resamples=20).pooled.wrong.f1.value,
    "weighted_f1": lambda rows: weighted_f1(rows, on_missing="exclude", resamples=20).weighted.value,
    "first_error": lambda rows: first_error(rows, on_missing="exclude", resamples=20).pooled.harmonic.value,
    "first_error, mean": lambda rows: first_error(rows, on_missing="wrong", resamples=20).mean_of_sources,
    "threshold_curve": lambda rows: (
        threshold_curve(rows, choose=rows, chosen_on="same", on_missing="wrong", resamples=20).chosen_on_macro
    ),
    "calibration": lambda rows: calibration(rows, resamples=20).error.value,
    "best_threshold": lambda rows: scored(best_threshold(rows, on_missing="exclude"), "macro"),
    "best_harmonic": lambda rows: scored(best_harmonic(rows, thresholds=(0.2, 0.5), on_missing="exclude"), "harmonic"),
    "step_auc": lambda rows: step_auc(rows, resamples=20).value,
}
HELPERS = {
    "auc",
    "by_source",
    "cluster_estimate",
    "first_wrong",
    "group_sums",
    "harmonic_curve",
    "judge_at",
    "step_scores",
    "threshold_points",
}
MODULES = (steps, step_first_error, step_scores, step_ranking)


def scored(point: msgspec.Struct | None, name: str) -> float | None:
    return None if point is None else getattr(point, name)


def sample(seed: int) -> list[JudgedSolution]:
    """60 solutions of two sources, four of five judged, three to a group, with both classes in each source."""
    chance = Random(seed)
    rows: list[JudgedSolution] = []
    for place in range(60):
        size = chance.randint(2, 6)
        labels = "+-" + "".join(chance.choices("++-0", k=size - 2))
        verdicts = "".join(label if chance.random() < 0.7 else chance.choice("+-0") for label in labels)
        scores = [None if chance.random() < 0.1 else chance.random() for _ in labels]
        gold = None if place % 3 == 0 else labels.index("-")
        rows.append(
            solution(
                labels,
                None if chance.random() < 0.2 else verdicts,
                scores=scores,
                gold=gold,
                predicted=gold if chance.random() < 0.5 else chance.choice([None, -1, 0]),
                group=str(place // 3),
                source=chance.choice("ab"),
            )
        )
    return rows


def test_no_public_metric_is_missing_from_the_lists() -> None:
    functions = {name for each in MODULES for name in each.__all__ if inspect.isfunction(getattr(each, name))}
    assert functions == HELPERS | {name.partition(",")[0] for name in METRICS}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_exist_and_are_unique(module: ModuleType) -> None:
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(METRICS))
def test_neither_order_nor_having_everything_twice_matters(name: str, seed: int) -> None:
    rows = sample(seed)
    value = METRICS[name](rows)
    assert value is not None
    assert 0 <= value <= 1
    assert METRICS[name](Random(seed).sample(rows, len(rows))) == value
    assert METRICS[name](rows + rows) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_do_not_depend_on_the_order_and_survive_json(seed: int) -> None:
    rows = sample(seed)
    shuffled = Random(seed).sample(rows, len(rows))
    metrics: list[Callable[[list[JudgedSolution]], msgspec.Struct]] = [
        lambda rows: step_f1(rows, on_missing="exclude", resamples=50),
        lambda rows: weighted_f1(rows, on_missing="exclude", resamples=50),
        lambda rows: first_error(rows, on_missing="wrong", resamples=50),
        lambda rows: threshold_curve(rows, choose=rows, chosen_on="same", on_missing="wrong", resamples=50),
        lambda rows: calibration(rows, resamples=50),
        lambda rows: step_auc(rows, resamples=50),
    ]
    for metric in metrics:
        found = metric(rows)
        assert metric(shuffled) == found
        assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


@given(st.lists(judged(), min_size=1, max_size=12))
def test_every_value_is_bounded(rows: list[JudgedSolution]) -> None:
    for metric in METRICS.values():
        value = metric(rows)
        assert value is None or 0 <= value <= 1


@pytest.mark.parametrize("seed", range(3))
def test_intervals_hold_their_values(seed: int) -> None:
    found = step_f1(sample(seed), on_missing="wrong").pooled
    harmonic = first_error(sample(seed), on_missing="wrong").pooled.harmonic
    for estimate in (found.macro, found.right.f1, found.wrong.f1, harmonic):
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


@pytest.mark.parametrize("seed", range(3))
def test_one_more_right_verdict_never_lowers_it(seed: int) -> None:
    rows = sample(seed)
    before = step_f1(rows, on_missing="wrong", resamples=2).pooled.macro.value
    assert before is not None
    for place in range(0, len(rows), 4):
        better = [*rows]
        better[place] = msgspec.structs.replace(rows[place], verdicts=rows[place].labels)
        after = step_f1(better, on_missing="wrong", resamples=2).pooled.macro.value
        assert after is not None
        assert after >= before - 1e-12
