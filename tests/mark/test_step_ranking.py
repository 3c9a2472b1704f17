"""AUC of scores, and the harmonic mean over thresholds: by hand, by brute force, and as scikit-learn has it."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.status import OnMissing
from assay.mark.step_first_error import best_harmonic, first_error, harmonic_curve
from assay.mark.step_ranking import Scored, auc, step_auc
from assay.mark.step_scores import best_threshold, threshold_points
from assay.mark.steps import JudgedSolution, judge_at

SCORES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
ITEMS = st.lists(st.tuples(SCORES, st.booleans(), st.sampled_from("abcdef")), max_size=30)


def test_auc_by_hand() -> None:
    # Right: 0.9, 0.5. Wrong: 0.5, 0.2. Pairs: 0.9 > 0.5, 0.9 > 0.2, 0.5 = 0.5 (a half), 0.5 > 0.2: 3.5 of 4.
    found = auc([(0.9, True, "a"), (0.5, True, "b"), (0.5, False, "c"), (0.2, False, "d")], resamples=20)
    assert found.value == pytest.approx(3.5 / 4)
    assert (found.n, found.low, found.high, found.method) == (4, None, None, None)


@pytest.mark.parametrize("items", [[], [(0.5, True, "a")], [(0.5, False, "a"), (0.7, False, "b")]])
def test_without_both_classes_there_is_no_auc(items: list[Scored]) -> None:
    assert auc(items, resamples=5).value is None


@given(ITEMS)
def test_auc_as_scikit_learn_has_it(items: list[Scored]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    found = auc(items, resamples=5)
    labels = [right for _, right, _ in items]
    if all(labels) or not any(labels):
        assert found.value is None
        return
    assert found.value == pytest.approx(metrics.roc_auc_score(labels, [score for score, _, _ in items]), abs=1e-12)


@given(ITEMS, st.randoms(use_true_random=False))
def test_neither_order_nor_names_of_groups_matter(items: list[Scored], random: Random) -> None:
    names = {group: f"{random.random()}" for group in "abcdef"}
    others = [(score, right, names[group]) for score, right, group in random.sample(items, len(items))]
    assert auc(others, resamples=30, seed=1) == auc(items, resamples=30, seed=1)


def test_interval_over_groups_is_wider_than_over_items() -> None:
    random = Random(3)
    items: list[Scored] = []
    for group in range(40):
        shift = random.gauss(0, 0.15)  # what a group's scores have in common
        for _ in range(10):
            right = random.random() < 0.5
            score = min(1.0, max(0.0, 0.5 + shift + (0.08 if right else -0.08) + random.gauss(0, 0.05)))
            items.append((score, right, str(group)))
    together = auc(items, seed=1)
    apart = auc([(score, right, str(place)) for place, (score, right, _) in enumerate(items)], seed=1)
    assert together.value == apart.value
    assert together.low is not None
    assert together.high is not None
    assert apart.low is not None
    assert apart.high is not None
    assert together.value is not None
    assert together.low < apart.low < together.value < apart.high < together.high


def test_steps_without_label_or_score_are_left_out() -> None:
    one = JudgedSolution(source="s", group="g", labels=(True, None, False, True), scores=(0.9, 0.1, 0.2, None))
    nothing = JudgedSolution(source="s", group="h", labels=(True,))
    found = step_auc([one, nothing], resamples=5)
    assert (found.value, found.n) == (1.0, 2)


@st.composite
def scored_solutions(draw: st.DrawFn) -> JudgedSolution:
    scores = tuple(draw(st.lists(st.one_of(SCORES, st.none()), max_size=5)))
    first = draw(st.sampled_from([None, -1, *range(len(scores))]))
    labels = tuple(None if first is None or first == -1 else place < first for place in range(len(scores)))
    return JudgedSolution(
        source="s", group=draw(st.sampled_from("abc")), labels=labels, first_error=first, scores=scores
    )


@given(st.lists(scored_solutions(), max_size=8), st.sampled_from(["exclude", "wrong"]))
def test_the_harmonic_curve_is_the_score_at_every_threshold(rows: list[JudgedSolution], on_missing: OnMissing) -> None:
    thresholds = (0.0, 0.1, 0.3, 0.5, 0.9)
    for point in harmonic_curve(rows, thresholds=thresholds, on_missing=on_missing):
        at = [judge_at(row, point.threshold) for row in rows]
        assert point.harmonic == first_error(at, on_missing=on_missing, resamples=1).pooled.harmonic.value


def test_of_equal_thresholds_the_one_nearest_to_a_half_is_taken() -> None:
    # A right step at 0.8, a wrong one at 0.3: every threshold from 0.3 up to below 0.8 is perfect.
    rows = [
        JudgedSolution(source="s", group="a", labels=(True,), first_error=None, scores=(0.8,)),
        JudgedSolution(source="s", group="b", labels=(False,), first_error=0, scores=(0.3,)),
    ]
    thresholds = (0.1, 0.35, 0.6, 0.75)
    harmonic = best_harmonic(rows, thresholds=thresholds, on_missing="wrong")
    macro = best_threshold(rows, thresholds=thresholds, on_missing="wrong")
    assert harmonic is not None
    assert macro is not None
    assert (harmonic.threshold, harmonic.harmonic) == (0.6, 1.0)
    assert (macro.threshold, macro.macro) == (0.6, 1.0)
    assert best_harmonic([], thresholds=thresholds, on_missing="wrong") is None
    assert [point.macro for point in threshold_points(rows, thresholds, "wrong")] == [0.0 + 1 / 3, 1.0, 1.0, 1.0]
