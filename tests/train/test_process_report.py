"""What a test of a critic shows: arithmetic by hand, scikit-learn, and properties of the whole result."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.mark.status import OnMissing
from assay.solve.records import Critique, StepVerdict, Unjudged
from assay.train.critique_records import CritiqueRecord, checked, judged
from assay.train.floors import FLOORS, floor_scores
from assay.train.labelled import Headline, LabelledSet
from assay.train.process_report import About, choose_threshold, process_result
from assay.train.process_result import ProcessResult, Spent, Threshold
from assay.train.records import LabelledSolution

WORDS: dict[str, bool | None] = {"+": True, "-": False, "0": None}
SPENT = Spent(solutions=0, calls=0, prompt_tokens=0, completion_tokens=0, unreported=0)
FIXED = Threshold(value=0.5, how="fixed")


def record(
    labels: str,
    scores: Sequence[float] | Unjudged,
    *,
    name: str = "x",
    group: str = "",
    source: str = "s",
    first: int | None = -2,
    whole: bool = False,
) -> CritiqueRecord:
    """Labels as text: + right, - wrong, 0 none. The first error is that of the labels unless it is given."""
    marks = tuple(WORDS[label] for label in labels)
    said = scores
    if not isinstance(said, Unjudged):
        verdicts = tuple(StepVerdict(correct=score > 0.5, score=score, source="logprobs") for score in said)
        said = Critique(steps=verdicts)
    return CritiqueRecord(
        sample_id=name,
        source=source,
        group=group or name,
        labels=marks,
        first_error=next((place for place, mark in enumerate(marks) if mark is False), None) if first == -2 else first,
        whole=whole,
        said=said,
    )


def no_rows(_path: Path, *, on_odd: object = None) -> Iterator[LabelledSolution]:
    """A reader that nobody asks."""
    return iter(())


def result(
    tested: Sequence[CritiqueRecord],
    *,
    headline: Headline = "macro",
    on_missing: OnMissing = "exclude",
    threshold: Threshold = FIXED,
    resamples: int = 20,
    **kind: Any,
) -> ProcessResult:
    about = About(
        name="visualprocessbench",
        file="f.jsonl",
        revision="r",
        critic="c",
        kind=LabelledSet(read=no_rows, headline=headline, **kind),
        spent=SPENT,
    )
    return process_result(tested, about, threshold=threshold, on_missing=on_missing, resamples=resamples)


# Labels   + + -   + 0 - +   + +   + +
# Verdicts + + -   + - + +   + -   + +
# Right: labelled 8, claimed 8 (2 + 3 + 1 + 2), found 7: F1 = 14 / 16. Wrong: labelled 2, claimed 2, found 1: 2 / 4.
# First errors: found, missed (named one too early, a neutral step), missed (there is none), found: of the erroneous
# 1 / 2, of the correct 1 / 2, harmonic mean 1 / 2.
BY_HAND = [
    record("++-", [0.9, 0.8, 0.1], name="a"),
    record("+0-+", [0.9, 0.2, 0.7, 0.6], name="b"),
    record("++", [0.9, 0.4], name="c"),
    record("++", [0.9, 1.0], name="d"),
]


def test_scores_by_hand() -> None:
    found = result(BY_HAND)
    assert found.score.value == pytest.approx((14 / 16 + 2 / 4) / 2)
    assert found.steps.pooled.neutral == 1
    assert found.first_errors.pooled.erroneous.value == pytest.approx(1 / 2)
    assert found.first_errors.pooled.correct.value == pytest.approx(1 / 2)
    assert result(BY_HAND, headline="harmonic").score.value == pytest.approx(1 / 2)
    # 8 of 10 are right: 0.8 * F1 of wrong + 0.2 * F1 of right.
    assert result(BY_HAND, headline="weighted").score.value == pytest.approx(0.8 * 2 / 4 + 0.2 * 14 / 16)
    # Solutions: a and b have an error, c and d none; a, b and c are said to have one. Without: found 1 of labelled 2,
    # claimed 1; with: found 2 of 2, claimed 3.
    told = found.solutions_told
    assert told.verdicts.right.f1.value == pytest.approx(2 / 3)
    assert told.verdicts.wrong.f1.value == pytest.approx(4 / 5)
    # Least scores: a 0.1, b 0.2, c 0.4, d 0.9: both that are right are above both that are wrong.
    assert told.auc["min"].value == 1.0
    # Last scores: a 0.1, b 0.6; c 0.4, d 1.0: of the four pairs only (c, b) is the wrong way round.
    assert told.auc["last"].value == pytest.approx(3 / 4)
    assert (found.solutions, found.judged, found.unjudged, found.stopped) == (4, 4, {}, 0)


# Case 157: F1 is the harmonic mean of two accuracies. 72.5 % of 40 erroneous are 29, 95.3 % of 1,000 correct are 953:
# 2 * 72.5 * 95.3 / (72.5 + 95.3) = 82.35.
def test_case_157_f1_is_the_harmonic_mean_of_two_accuracies() -> None:
    rows = [record("-", [0.1 if place < 29 else 0.9], name=f"e{place}") for place in range(40)]
    rows += [record("+", [0.9 if place < 953 else 0.1], name=f"c{place}") for place in range(1000)]
    found = result(rows, headline="harmonic", resamples=200).score
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert round(100 * found.value, 2) == 82.35
    assert found.low < found.value < found.high


# Case 158: a threshold is fixed, or chosen on other data; the best one for each subset is a bound and is called one.
def test_case_158_the_threshold_comes_from_other_solutions() -> None:
    # Right steps score 0.2 and 0.3, wrong ones 0.1: all thresholds from 0.10 to 0.19 are perfect there, 0.19 is the
    # nearest to 0.5.
    tuning = [record("+-", [0.3, 0.1], name="t1"), record("+-", [0.2, 0.1], name="t2")]
    # Here 0.19 gives: right, labelled 2, claimed 3, found 2: 4/5; wrong, labelled 2, claimed 1, found 1: 2/3.
    tested = [record("+-", [0.6, 0.4], name="a", source="p"), record("+-", [0.25, 0.15], name="b", source="q")]
    chosen = choose_threshold(tuning, tested, on="gsm8k.jsonl", headline="macro", on_missing="exclude")
    assert chosen is not None
    assert (chosen.value, chosen.how, chosen.on, chosen.by) == (0.19, "tuned", "gsm8k.jsonl", "macro")
    assert (chosen.score, chosen.solutions, chosen.shared_groups) == (1.0, 2, 0)
    found = result(tested, threshold=chosen)
    assert found.score.value == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert found.threshold == chosen
    # At 0.5 all but one would be wrong. For each source alone there is a perfect threshold.
    assert {source: bounds["macro"].score for source, bounds in found.bounds.items() if source} == {"p": 1.0, "q": 1.0}
    assert found.bounds["p"]["macro"].threshold == 0.5
    assert found.bounds["q"]["macro"].threshold == 0.24
    assert found.notes == ()


def test_a_threshold_tuned_on_what_is_tested_is_said_to_be_too_good() -> None:
    chosen = choose_threshold(BY_HAND, BY_HAND, on="f", headline="harmonic", on_missing="exclude")
    assert chosen is not None
    assert (chosen.by, chosen.shared_groups) == ("harmonic", 4)
    assert any("too good" in note for note in result(BY_HAND, threshold=chosen).notes)
    nothing = [record("++", [0.9, 0.9])]
    assert choose_threshold(nothing, BY_HAND, on="f", headline="macro", on_missing="exclude") is None


# Case 161: a failed call is no verdict. Under `exclude` the solution is in no number, under `wrong` it is missed.
def test_case_161_what_is_unjudged_is_counted_and_never_a_zero() -> None:
    missing = [
        record("+-", Unjudged(kind="failed", reason="server: 500"), name="e"),
        record("+-", Unjudged(kind="truncated", reason="cut"), name="f"),
    ]
    found = result([*BY_HAND, *missing])
    assert found.score == result(BY_HAND).score
    assert (found.judged, found.unjudged) == (4, {"failed": 1, "truncated": 1})
    assert found.reasons == {"server: 500": 1, "cut": 1}
    # Right: labelled 10, claimed 8, found 7: 14/18; wrong: labelled 4, claimed 2, found 1: 2/6.
    wrong = result([*BY_HAND, *missing], on_missing="wrong")
    assert wrong.score.value == pytest.approx((14 / 18 + 2 / 6) / 2)
    assert (found.other_missing.value, wrong.other_missing.value) == (wrong.score.value, found.score.value)
    assert wrong.calibration == found.calibration
    assert wrong.auc == found.auc


# Case 162: product is biased to short solutions. Every rule stands under its name.
def test_case_162_every_rule_is_reported_by_name() -> None:
    # A right solution of 12 steps at 0.95 (mean 0.95, product 0.54), a wrong one of 2 steps at 0.80 (0.80, 0.64).
    rows = [record("+" * 12, [0.95] * 12, name="a"), record("+-", [0.80, 0.80], name="b")]
    aucs = {rule: found.value for rule, found in result(rows).solutions_told.auc.items()}
    assert aucs == {"mean": 1.0, "min": 1.0, "product": 0.0, "last": 1.0, "max": 1.0}


# Case 163: NaN is no score; the whole critique is none.
@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 1.5])
def test_case_163_what_is_no_probability_is_no_verdict(score: float) -> None:
    verdicts = tuple(StepVerdict(correct=True, score=one, source="given") for one in (0.9, score, 0.8))
    said = checked(Critique(steps=verdicts), 3)
    assert isinstance(said, Unjudged)
    assert said.kind == "unparsable"
    assert "step 2" in said.reason


# Case 165: the rule that is named, not "last" under every name, and over all solutions.
def test_case_165_rules_differ() -> None:
    rows = [record("+-+", [0.9, 0.1, 0.9], name="a"), record("+++", [0.5, 0.6, 0.7], name="b")]
    aucs = {rule: found.value for rule, found in result(rows).solutions_told.auc.items()}
    # a (wrong): mean 0.633, min 0.1, last 0.9, product 0.081. b (right): mean 0.6, min 0.5, last 0.7, product 0.21.
    assert aucs == {"mean": 0.0, "min": 1.0, "product": 1.0, "last": 0.0, "max": 0.0}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (Critique(steps=()), "no verdict"),
        (Critique(steps=(StepVerdict(correct=True, score=0.9, source="given"),)), "finds no error"),
        (Critique(steps=(StepVerdict(correct=False, score=0.1, source="given"),) * 3), "3 verdicts on 2 steps"),
    ],
)
def test_a_critique_of_other_steps_is_none(said: Critique, problem: str) -> None:
    found = checked(said, 2)
    assert isinstance(found, Unjudged)
    assert problem in found.reason


def test_a_critic_that_stops_at_the_first_error_says_nothing_of_the_rest() -> None:
    one = record("+--+", [0.9, 0.1])
    assert judged(one).verdicts == (True, False, None, None)
    found = result([one], on_missing="exclude")
    assert (found.stopped, found.steps.pooled.n, found.steps.pooled.unjudged_steps) == (1, 2, 2)
    assert any("stopped" in note for note in found.notes)
    # At a lower threshold than the critic's own the second step is right, and of the others nothing is known.
    low = result([one], threshold=Threshold(value=0.05, how="fixed"))
    assert low.first_errors.pooled.unjudged == 1
    assert low.solutions_told.verdicts.unjudged_solutions == 1


def test_a_critic_of_whole_solutions_has_scores_of_solutions_alone() -> None:
    rows = [record("+-", [0.2], name="a", whole=True), record("++", [0.7], name="b", whole=True)]
    found = result(rows)
    assert found.whole
    assert (found.score.value, found.steps.pooled.n, found.calibration.n, found.auc.value) == (None, 0, 0, None)
    assert found.first_errors.pooled.overall.value is None
    assert found.solutions_told.verdicts.macro.value == 1.0
    assert {one.value for one in found.solutions_told.auc.values()} == {1.0}
    assert any("whole solutions" in note for note in found.notes)


def test_groups_are_means_of_the_sources_they_name() -> None:
    # p: all found: macro 1. q: right, labelled 2, claimed 2, found 1: 1/2; wrong, labelled 1, claimed 1, found 0: 0.
    rows = [record("+-", [0.9, 0.1], name="a", source="p"), record("++-", [0.9, 0.1, 0.9], name="b", source="q")]
    rows.append(record("++", [0.9, 0.9], name="c", source="without wrong steps"))
    groups = {"both": ("p", "q"), "one": ("q",), "undefined": ("p", "without wrong steps"), "not here": ("r",)}
    found = result(rows, groups=groups)
    assert found.groups == {"both": pytest.approx(5 / 8), "one": 1 / 4, "undefined": None, "not here": None}
    assert found.mean_of_sources is None
    assert result(rows[:2]).mean_of_sources == pytest.approx(5 / 8)


def test_that_only_first_errors_are_labelled_is_said() -> None:
    assert any("first errors alone" in note for note in result(BY_HAND, first_errors_only=True).notes)


def test_floors_by_hand() -> None:
    found = result(BY_HAND).floors
    # All right: F1 of the 8 right 16 / 18, of the wrong 0. All wrong: F1 of the 2 wrong 4 / 12, of the right 0.
    assert found["always-correct"].macro == pytest.approx(16 / 18 / 2)
    assert found["always-incorrect"].macro == pytest.approx(4 / 12 / 2)
    # All right names no error; all wrong names step 0 in every solution.
    assert found["always-correct"].harmonic == 0
    assert found["always-incorrect"].harmonic == 0
    assert found["always-correct"].weighted == pytest.approx(0.2 * 16 / 18)
    assert set(found) == set(FLOORS)


def test_the_random_floor_is_seeded_and_fair() -> None:
    scores = [score for name in range(500) for score in floor_scores("random", str(name), 8, seed=1)]
    assert sum(score > 0.5 for score in scores) == pytest.approx(2000, abs=4 * (4000 * 0.25) ** 0.5)
    assert floor_scores("random", "x", 3, seed=1) == floor_scores("random", "x", 3, seed=1)
    assert floor_scores("random", "x", 3, seed=1) != floor_scores("random", "x", 3, seed=2)
    assert floor_scores("random", "x", 3, seed=1) != floor_scores("random", "y", 3, seed=1)


def test_the_critics_own_words_stand_beside_where_they_differ() -> None:
    assert result(BY_HAND).own_macro is None
    found = result(BY_HAND, threshold=Threshold(value=0.85, how="fixed"))
    assert found.own_macro == pytest.approx((14 / 16 + 2 / 4) / 2)
    assert found.own_macro != found.score.value


# ----------------------------------------------------------------------------------------------------------------------
# scikit-learn, properties


def made(seed: int, count: int = 60) -> list[CritiqueRecord]:
    """Solutions of two sources, three to a group, some unjudged, stopped or without labels."""
    chance = Random(seed)
    rows: list[CritiqueRecord] = []
    for place in range(count):
        labels = "".join(chance.choices("++-0", k=chance.randint(1, 6)))
        scores = [chance.random() ** (0.5 if label == "+" else 2) for label in labels]
        said: Sequence[float] | Unjudged = scores
        if chance.random() < 0.15:
            said = Unjudged(kind=chance.choice(["failed", "unparsable", "refused"]), reason="why")
        elif chance.random() < 0.15 and any(score <= 0.5 for score in scores):
            said = scores[: next(place for place, score in enumerate(scores) if score <= 0.5) + 1]
        first = -1 if chance.random() < 0.1 else -2
        rows.append(
            record(labels, said, name=str(place), group=f"g{place // 3}", source=chance.choice("ab"), first=first)
        )
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_as_scikit_learn_has_it(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    calibration_curve = pytest.importorskip("sklearn.calibration").calibration_curve
    rows = made(seed)
    pairs = [
        (label, score)
        for row in rows
        if isinstance(row.said, Critique)
        for label, score in zip(row.labels, (step.score for step in row.said.steps), strict=False)
        if label is not None
    ]
    labels, scores = [label for label, _ in pairs], [score for _, score in pairs]
    verdicts = [score > 0.5 for score in scores]
    found = result(rows)
    right, wrong = (metrics.f1_score(labels, verdicts, pos_label=side) for side in (True, False))
    assert found.steps.pooled.right.f1.value == pytest.approx(right)
    assert found.steps.pooled.wrong.f1.value == pytest.approx(wrong)
    assert found.score.value == pytest.approx(metrics.f1_score(labels, verdicts, average="macro"))
    # VLRMBench weights each class with the other's share; scikit-learn's weights are the shares themselves.
    shares = [sum(labels) / len(labels), 1 - sum(labels) / len(labels)]
    assert found.weighted.weighted.value == pytest.approx(shares[1] * right + shares[0] * wrong)
    assert shares[0] * right + shares[1] * wrong == pytest.approx(
        metrics.f1_score(labels, verdicts, average="weighted")
    )
    assert found.auc.value == pytest.approx(metrics.roc_auc_score(labels, scores))
    share, mean = calibration_curve(labels, scores, n_bins=10)
    bins = [one for one in found.calibration.bins if one.n]
    assert [one.right.value for one in bins] == pytest.approx(list(share))
    assert [one.mean_score for one in bins] == pytest.approx(list(mean), abs=1e-8)


def numbers(value: Any) -> list[float]:
    """Every fraction in a result, wherever it stands."""
    if isinstance(value, msgspec.Struct):
        return numbers(msgspec.to_builtins(value))
    if isinstance(value, dict):
        return numbers(list(cast("dict[str, Any]", value).values()))
    if isinstance(value, list | tuple):
        return [one for inner in cast("Sequence[Any]", value) for one in numbers(inner)]
    return [value] if isinstance(value, float) else []


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(["exclude", "wrong"]), st.sampled_from(get_args(Headline)))
def test_every_number_is_bounded_and_none_depends_on_the_order(
    seed: int, on_missing: OnMissing, headline: Headline
) -> None:
    rows = made(seed, 18)
    found = result(rows, on_missing=on_missing, headline=headline, resamples=10)
    assert all(0 <= number <= 1 for number in numbers(found))
    chance = Random(seed)
    names = {row.group: f"other {chance.random()}" for row in rows}
    others = [msgspec.structs.replace(row, group=names[row.group]) for row in chance.sample(rows, len(rows))]
    again = result(others, on_missing=on_missing, headline=headline, resamples=10)
    assert msgspec.structs.replace(again, reasons={}) == msgspec.structs.replace(found, reasons={})
    assert msgspec.json.decode(msgspec.json.encode(found), type=ProcessResult) == found


def test_of_nothing_there_is_no_score() -> None:
    found = result([])
    assert (found.score.value, found.solutions, found.judged) == (None, 0, 0)


def test_a_perfect_critic_is_perfect() -> None:
    rows = [record(labels, [0.9 if label == "+" else 0.1 for label in labels], name=labels) for labels in ("++-", "+")]
    assert {result(rows, headline=headline).score.value for headline in get_args(Headline)} == {1.0}
