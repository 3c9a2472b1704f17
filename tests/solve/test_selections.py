"""Scores of solutions, which one is chosen, and what the second half does: hand-worked."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.records import (
    Critique,
    Judged,
    Refined,
    Resampled,
    Rule,
    Sampled,
    Selection,
    Solution,
    StepVerdict,
    Unjudged,
)
from assay.solve.select import (
    aggregate,
    answer_classes,
    best_of,
    first_error,
    greedy,
    is_clean,
    kept_prefix,
    plan_second_half,
    rank,
    score_of,
    vote,
    weighted_vote,
)
from assay.solve.steps import split_steps

RULES: tuple[Rule, ...] = ("mean", "min", "max", "product", "last")
NAN = math.nan


def critique(*scores: float, correction: str | None = None) -> Critique:
    """Steps of at least 0.5 are judged correct; a NaN as well."""
    verdicts = tuple(StepVerdict(correct=not score < 0.5, score=score, source="given") for score in scores)
    return Critique(steps=verdicts, correction=correction)


def judged(
    answer: str | None, *scores: float, correction: str | None = None, steps: tuple[str, ...] | None = None
) -> Judged:
    """A solution with these step scores; without any it is unjudged."""
    written = steps if steps is not None else tuple(f"step {place}\n\n" for place in range(len(scores)))
    solution = Solution(steps=written, answer=answer, origin=Sampled(index=0))
    verdict = critique(*scores, correction=correction) if scores else Unjudged(kind="unparsable", reason="no line")
    return Judged(solution=solution, critique=verdict)


def everything(pool: list[Judged]) -> range:
    return range(len(pool))


# --------------------------------------------------------------------------------------------------------------------
# Scores

SCORES: list[tuple[list[float | None], Rule, float | None]] = [
    ([0.9, 0.5, 0.7], "mean", 0.7),  # (0.9 + 0.5 + 0.7) / 3 = 2.1 / 3
    ([0.9, 0.5, 0.7], "min", 0.5),
    ([0.9, 0.5, 0.7], "max", 0.9),
    ([0.9, 0.5, 0.7], "product", 0.315),  # 0.9 * 0.5 * 0.7 = 0.45 * 0.7
    ([0.9, 0.5, 0.7], "last", 0.7),
    ([0.25], "mean", 0.25),
    ([0.0, 0.0], "mean", 0.0),
    ([], "mean", None),
    ([0.9, None], "mean", None),
    ([0.9, NAN], "max", None),
    ([NAN, 0.9], "last", None),
    ([math.inf], "mean", None),
]


@pytest.mark.parametrize(("scores", "rule", "expected"), SCORES)
def test_the_score_of_a_solution(scores: list[float | None], rule: Rule, expected: float | None) -> None:
    found = aggregate(scores, rule)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_scores_are_bounded_and_ordered(scores: list[float]) -> None:
    least, mean, most = (aggregate(scores, rule) for rule in ("min", "mean", "max"))
    product = aggregate(scores, "product")
    assert least is not None
    assert mean is not None
    assert most is not None
    assert product is not None
    assert 0 <= product <= least <= most <= 1
    assert least - 1e-12 <= mean <= most + 1e-12
    for rule in ("mean", "min", "max", "product"):  # the order of the steps doesn't matter, to the last bit
        assert aggregate(scores, rule) == aggregate(scores[::-1], rule)


def test_all_correct_or_not() -> None:
    assert is_clean(judged("A", 0.9, 0.5))
    assert not is_clean(judged("A", 0.9, 0.4))
    assert not is_clean(judged("A"))
    empty = Solution(steps=(), answer=None, origin=Sampled(index=0))
    assert not is_clean(Judged(solution=empty, critique=Critique(steps=())))
    assert not is_clean(Judged(solution=empty))
    assert score_of(Judged(solution=empty), "mean") is None


def test_the_order_of_solutions() -> None:
    clean, flawed, unjudged, broken = judged("A", 0.6, 0.6), judged("A", 0.9, 0.4), judged("A"), judged("A", 0.9, NAN)
    assert rank(clean, "mean") > rank(flawed, "mean") > rank(unjudged, "mean")
    assert rank(broken, "mean") == rank(unjudged, "mean")
    # Without the rule the means decide: (0.9 + 0.4) / 2 = 0.65 > 0.6.
    assert rank(flawed, "mean", clean_first=False) > rank(clean, "mean", clean_first=False)


# --------------------------------------------------------------------------------------------------------------------
# Best of N


def test_only_the_all_correct_are_ranked_if_there_are_any() -> None:
    # Means: 0.6, (0.99 + 0.4) / 2 = 0.695, 0.55. The second is flawed, so the best clean one wins.
    pool = [judged("A", 0.6, 0.6), judged("B", 0.99, 0.4), judged("C", 0.5, 0.6)]
    assert best_of(pool, everything(pool), "mean") == Selection(chosen=0, strategy="best-of-n", rule="mean", score=0.6)
    assert best_of(pool, everything(pool), "mean", clean_first=False).chosen == 1
    # Without a clean one the best of the flawed: 0.695 against (0.5 + 0.1) / 2 = 0.3.
    assert best_of([pool[1], judged("C", 0.5, 0.1)], (0, 1), "mean").chosen == 0


BY_RULE = [
    # (0.9, 0.2) and (0.5, 0.5): mean 0.55 / 0.5, min 0.2 / 0.5, max 0.9 / 0.5, product 0.18 / 0.25, last 0.2 / 0.5.
    ("mean", 0),
    ("min", 1),
    ("max", 0),
    ("product", 1),
    ("last", 1),
]


@pytest.mark.parametrize(("rule", "chosen"), BY_RULE)
def test_the_rule_decides(rule: Rule, chosen: int) -> None:
    pool = [judged("A", 0.9, 0.2), judged("B", 0.5, 0.5)]
    assert best_of(pool, (0, 1), rule, clean_first=False).chosen == chosen


def test_ties_go_to_the_larger_class_then_to_the_first() -> None:
    # All score 0.8. Answers B, A, A: A has two.
    pool = [judged("B", 0.8), judged("A", 0.8), judged("A", 0.8)]
    assert best_of(pool, everything(pool), "mean").chosen == 1
    # One each: the first.
    assert best_of(pool, (0, 1), "mean").chosen == 0
    assert best_of(pool, (1, 0), "mean").chosen == 0
    # The class counts worse-scored members too: 0.5 and 1/2 are two of a kind.
    pool = [judged("7", 0.8), judged("0.5", 0.8), judged("0.5", 0.3)]
    assert best_of(pool, everything(pool), "mean").chosen == 1
    # No answer is in no class.
    pool = [judged(None, 0.8), judged(None, 0.8), judged("A", 0.8)]
    assert best_of(pool, everything(pool), "mean").chosen == 2
    # Scores in another order have the same mean, to the last bit.
    pool = [judged("B", 0.1, 0.2, 0.3), judged("A", 0.3, 0.1, 0.2), judged("A", 0.0)]
    assert best_of(pool, everything(pool), "mean").chosen == 1


def test_an_unjudged_one_is_never_above_a_judged_one() -> None:
    pool = [judged("A"), judged("A"), judged("B", 0.0)]
    assert best_of(pool, everything(pool), "mean").chosen == 2
    assert best_of(pool, everything(pool), "mean", clean_first=False).chosen == 2
    # Where nothing is judged: the larger class, then the first; no score.
    pool = [judged("B"), judged("A"), judged("A", NAN)]
    assert best_of(pool, everything(pool), "mean") == Selection(chosen=1, strategy="best-of-n", rule="mean")


def test_a_pool_without_solutions() -> None:
    assert best_of([], (), "mean") == Selection(chosen=None, strategy="best-of-n", rule="mean")
    assert vote([], ()) == Selection(chosen=None, strategy="self-consistency")
    assert weighted_vote([], (), "min") == Selection(chosen=None, strategy="weighted-vote", rule="min")
    assert greedy([]) == Selection(chosen=None, strategy="greedy")


def test_positions_are_all_that_counts() -> None:
    pool = [judged("A", 0.9), judged("B", 0.8), judged("B", 0.7)]
    assert best_of(pool, (1, 2), "mean").chosen == 1
    assert vote(pool, (0,)).chosen == 0
    assert answer_classes(pool, (2, 1)) == [(1, 2)]


def test_greedy_is_the_one_at_temperature_0() -> None:
    drawn = judged("A", 0.9)
    cold = Judged(solution=Solution(steps=("a",), answer="B", origin=Sampled(index=0, greedy=True)))
    assert greedy([drawn, cold]).chosen == 1
    assert greedy([drawn]).chosen is None
    resampled = Judged(solution=Solution(steps=("a",), answer="B", origin=Resampled(index=4, parent=0)))
    refined = Judged(solution=Solution(steps=("a",), answer="B", origin=Refined(parent=0, kept=1)))
    assert greedy([resampled, refined]).chosen is None


# --------------------------------------------------------------------------------------------------------------------
# Votes


def test_the_largest_class_wins() -> None:
    pool = [judged(answer) for answer in ("B", None, "0.5", "A", "A", None)]
    # Votes: B 1, 0.5 1, A 2 of 4.
    assert vote(pool, everything(pool)) == Selection(chosen=3, strategy="self-consistency", score=0.5)


def test_a_tied_vote_goes_to_the_first() -> None:
    pool = [judged(answer) for answer in ("B", "A", "A", "B")]
    assert vote(pool, everything(pool)).chosen == 0
    assert vote(pool, (1, 2, 3, 0)).chosen == 0
    assert vote(pool, (1, 3)).chosen == 1


def test_nobody_votes() -> None:
    pool = [judged(None), judged(None)]
    assert vote(pool, (0, 1)) == Selection(chosen=0, strategy="self-consistency", score=0.0)
    assert weighted_vote(pool, (0, 1), "mean").chosen == 0


def test_the_critic_weighs_the_votes() -> None:
    # A: 0.3 + 0.3 + 0 = 0.6 (one unjudged); B: 0.9. The plain vote takes A.
    pool = [judged("A", 0.3), judged("A", 0.3), judged("A"), judged("B", 0.9)]
    assert vote(pool, everything(pool)).chosen == 0
    assert weighted_vote(pool, everything(pool), "mean") == Selection(
        chosen=3, strategy="weighted-vote", rule="mean", score=0.9
    )
    # Within the class the best-scored: B 0.2 + 0.7 = 0.9 against 0.3 + 0.3 = 0.6.
    pool = [judged("A", 0.3), judged("B", 0.2), judged("A", 0.3), judged("B"), judged("B", 0.7)]
    assert weighted_vote(pool, everything(pool), "mean").chosen == 4
    # Nothing judged: the plain vote.
    pool = [judged("A"), judged("B"), judged("B")]
    assert weighted_vote(pool, everything(pool), "mean").chosen == vote(pool, everything(pool)).chosen == 1


_JUDGED = st.builds(
    judged,
    st.sampled_from([None, "A", "B", "C"]),
    st.sampled_from([0.1, 0.4, 0.6, 0.9, NAN]),
    st.sampled_from([0.1, 0.6, 0.9]),
) | st.builds(judged, st.sampled_from([None, "A", "B"]))


@given(st.lists(_JUDGED, min_size=1, max_size=8), st.sampled_from(RULES), st.booleans())
def test_selections_hold_in_any_pool(pool: list[Judged], rule: Rule, clean_first: bool) -> None:
    found = best_of(pool, everything(pool), rule, clean_first=clean_first)
    assert found.chosen is not None
    ranks = [rank(one, rule, clean_first=clean_first) for one in pool]
    assert ranks[found.chosen] == max(ranks)
    assert found == best_of(pool, tuple(reversed(everything(pool))), rule, clean_first=clean_first)
    voted = vote(pool, everything(pool)).chosen
    assert voted is not None
    assert pool[voted].solution.answer is not None or all(one.solution.answer is None for one in pool)


# --------------------------------------------------------------------------------------------------------------------
# The second half


def test_where_the_first_error_is() -> None:
    assert first_error(judged("A", 0.9, 0.4, 0.1)) == 1
    assert first_error(judged("A", 0.1, 0.4)) == 0
    assert first_error(judged("A", 0.9, 0.5)) is None
    assert first_error(judged("A")) is None
    # Sure enough: the first wrong step is at 0.4, whatever stands behind it.
    assert first_error(judged("A", 0.9, 0.4, 0.1), below=0.5) == 1
    assert first_error(judged("A", 0.9, 0.4, 0.1), below=0.4) is None
    assert first_error(judged("A", 0.9, 0.4, 0.1), below=0.3) is None
    # A score that is not a number is not sure of anything.
    unsure = Critique(steps=(StepVerdict(correct=False, score=NAN, source="text"),), correction="b")
    solution = Solution(steps=("a",), answer=None, origin=Sampled(index=0))
    assert first_error(Judged(solution=solution, critique=unsure)) == 0
    assert first_error(Judged(solution=solution, critique=unsure), below=0.5) is None


PLANS = [
    ("an error with its correction", judged("A", 0.9, 0.4, correction="so 4"), None, "refine"),
    ("every step wrong", judged("A", 0.1, 0.1, correction="so 4"), None, "refine"),
    ("all correct", judged("A", 0.9, 0.9), None, "resample"),
    ("all correct, and a correction all the same", judged("A", 0.9, correction="so 4"), None, "resample"),
    ("unjudged", judged("A"), None, "resample"),
    ("no correction", judged("A", 0.4), None, "resample"),
    ("a blank correction", judged("A", 0.4, correction=" \n"), None, "resample"),
    ("sure enough", judged("A", 0.2, correction="so 4"), 0.3, "refine"),
    ("not sure enough", judged("A", 0.4, correction="so 4"), 0.3, "resample"),
    ("more verdicts than steps", judged("A", 0.9, 0.4, correction="so 4", steps=("one",)), None, "resample"),
    ("zero steps", judged(None, 0.4, correction="so 4", steps=()), None, "resample"),
]


@pytest.mark.parametrize(("what", "one", "below", "plan"), PLANS, ids=[row[0] for row in PLANS])
def test_what_the_second_half_does(what: str, one: Judged, below: float | None, plan: str) -> None:
    assert plan_second_half(one, refine_below=below) == plan
    if plan == "refine":
        assert isinstance(one.critique, Critique)
        assert kept_prefix(one.solution, one.critique)


# (steps, place of the error, correction, prefix)
PREFIXES: list[tuple[tuple[str, ...], int, str, tuple[str, ...]]] = [
    (("Read 3.\n\n", "3+1=5.\n\n", "Answer: 5"), 1, "3+1=4.", ("Read 3.\n\n", "3+1=4.\n\n")),
    (("Read 3.\n\n", "3+1=5.\n\n"), 0, "Read 4.", ("Read 4.\n\n",)),
    # The last step ends with no separator: that of the step before it.
    (("Read 3.\n\n", "3+1=5."), 1, " 3+1=4.\n", ("Read 3.\n\n", "3+1=4.\n\n")),
    (("Read 3.\r\n\r\n", "3+1=5."), 1, "3+1=4.", ("Read 3.\r\n\r\n", "3+1=4.\r\n\r\n")),
    (("3+1=5.",), 0, "3+1=4.", ("3+1=4.\n\n",)),
    # Numbers are kept.
    (("Step 1: read 3.\n", "Step 2: 3+1=5.\n", "Step 3: 5."), 1, "3+1=4.", ("Step 1: read 3.\n", "Step 2: 3+1=4.\n")),
    (("1. Read 3.\n", "2. 3+1=5."), 1, "2. 3+1=4.", ("1. Read 3.\n", "2. 3+1=4.\n")),
    (("### Step 1\n\n3+1=5.\n\n",), 0, "3+1=4.", ("### Step 1\n\n3+1=4.\n\n",)),
    # Steps that were cut by somebody else may lack separators.
    (("Read 3.", "3+1=5.\n"), 1, "3+1=4.", ("Read 3.\n\n", "3+1=4.\n\n")),
]


@pytest.mark.parametrize(("steps", "place", "correction", "prefix"), PREFIXES)
def test_the_kept_prefix(steps: tuple[str, ...], place: int, correction: str, prefix: tuple[str, ...]) -> None:
    scores = [0.9] * place + [0.1] * (len(steps) - place)
    solution = Solution(steps=steps, answer=None, origin=Sampled(index=0))
    kept = kept_prefix(solution, critique(*scores, correction=correction))
    assert kept == prefix
    assert len(kept) == place + 1
    assert split_steps("".join(kept)) == kept  # joining is well-formed: the cut comes out again


@pytest.mark.parametrize("one", [judged("A", 0.9), judged("A", 0.4), judged("A", 0.4, correction="b", steps=())])
def test_nothing_is_kept_where_nothing_is_corrected(one: Judged) -> None:
    assert isinstance(one.critique, Critique)
    with pytest.raises(ValueError, match="corrects no step"):
        kept_prefix(one.solution, one.critique)


@given(st.lists(st.text(min_size=1, max_size=20).filter(str.strip), min_size=1, max_size=6), st.data())
def test_what_comes_before_the_error_stays(contents: list[str], data: st.DataObject) -> None:
    steps = split_steps("\n\n".join(contents))
    place = data.draw(st.integers(0, len(steps) - 1))
    scores = [0.9] * place + [0.1] * (len(steps) - place)
    kept = kept_prefix(
        Solution(steps=steps, answer=None, origin=Sampled(index=0)), critique(*scores, correction="so 4")
    )
    assert kept[:-1] == steps[:place]
    assert kept[-1].strip().endswith("so 4")
    assert kept[-1].rstrip("\r\n \t") != kept[-1]
