"""What becomes of a judged solution: the decisions alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.records import Critique, Judged, Reason, Refined, Solution, StepVerdict, Unjudged
from assay.solve.refine import Refine, Resample, chain_lengths, merge_critique, next_move
from support.searching import drawn, judged_as

STEPS = ("Step 1: Three bars.\n\n", "Step 2: The highest is B.\n\n", "Answer: B")


def judged(critique: Critique | Unjudged | None) -> Judged:
    return Judged(solution=drawn(*STEPS), critique=critique)


def test_an_error_is_refined_from_the_steps_before_it_and_its_correction() -> None:
    move = next_move(judged(judged_as(0.9, 0.2, 0.3, correction="The highest is C.")))
    assert move == Refine(kept=("Step 1: Three bars.\n\n", "Step 2: The highest is C.\n\n"))


def test_an_error_in_the_first_step_keeps_the_correction_alone() -> None:
    move = next_move(judged(judged_as(0.1, 0.1, 0.1, correction="Step 1: Four bars.")))
    assert move == Refine(kept=("Step 1: Four bars.\n\n",))


def test_an_error_in_the_last_step_gets_a_separator() -> None:
    move = next_move(judged(judged_as(0.9, 0.9, 0.1, correction="Answer: C")))
    assert move == Refine(kept=(*STEPS[:2], "Answer: C\n\n"))


@pytest.mark.parametrize(
    ("critique", "reason"),
    [
        (judged_as(0.9, 0.8, 0.5), "clean"),
        (judged_as(), "clean"),
        (judged_as(0.9, 0.2, 0.3), "uncorrected"),
        (judged_as(0.9, 0.2, 0.3, correction=" \n"), "uncorrected"),
        (Unjudged(kind="unparsable", reason="prose"), "unjudged"),
        (Unjudged(kind="failed", reason="503"), "unjudged"),
        (None, "unjudged"),
    ],
)
def test_anything_else_is_drawn_again(critique: Critique | Unjudged | None, reason: Reason) -> None:
    assert next_move(judged(critique)) == Resample(reason=reason)


@pytest.mark.parametrize(("below", "refined"), [(None, True), (0.4, True), (0.31, True), (0.3, False), (0.0, False)])
def test_an_error_is_refined_only_below_the_threshold(below: float | None, refined: bool) -> None:
    # The first wrong step has 0.3; the later one at 0.1 does not count.
    move = next_move(judged(judged_as(0.9, 0.3, 0.1, correction="C.")), refine_below=below)
    assert isinstance(move, Refine) if refined else move == Resample(reason="unsure")


def test_a_missing_correction_is_the_reason_before_the_threshold() -> None:
    assert next_move(judged(judged_as(0.9, 0.3, 0.1)), refine_below=0.1) == Resample(reason="uncorrected")


# ----------------------------------------------------------------------------------------------------------------------
# Sizes


@pytest.mark.parametrize(
    ("n", "rounds", "lengths"),
    [
        (8, 1, (2, 2, 2, 2)),  # the paper's: four drawn, four from them
        (7, 1, (2, 2, 2, 1)),
        (1, 1, (1,)),
        (2, 1, (2,)),
        (5, 0, (1, 1, 1, 1, 1)),
        (9, 2, (3, 3, 3)),
        (8, 2, (3, 3, 2)),
        (4, 9, (4,)),
    ],
)
def test_chains(n: int, rounds: int, lengths: tuple[int, ...]) -> None:
    assert chain_lengths(n, rounds) == lengths


@given(st.integers(1, 300), st.integers(0, 300))
def test_chains_hold_exactly_n(n: int, rounds: int) -> None:
    lengths = chain_lengths(n, rounds)
    assert sum(lengths) == n
    assert max(lengths) - min(lengths) <= 1
    assert max(lengths) <= rounds + 1
    assert list(lengths) == sorted(lengths, reverse=True)


@pytest.mark.parametrize(("n", "rounds"), [(0, 1), (-1, 1), (4, -1)])
def test_there_is_no_empty_search(n: int, rounds: int) -> None:
    with pytest.raises(ValueError, match="can't be"):
        chain_lengths(n, rounds)


# ----------------------------------------------------------------------------------------------------------------------
# --recritique new


PARENT = judged(judged_as(0.9, 0.2, 0.3, correction="The highest is C."))
NEW = Solution(
    steps=("Step 1: Three bars.\n\n", "Step 2: The highest is C.\n\n", "Step 3: So C.\n\n", "Answer: C"),
    answer="C",
    origin=Refined(parent=0, kept=2),
)


def test_new_scores_count_for_new_steps_alone() -> None:
    merged = merge_critique(PARENT, NEW, judged_as(0.1, 0.99, 0.7, 0.6, correction="Two bars."))
    assert isinstance(merged, Critique)
    # step 1 as the parent's critique had it; the correction without a score; steps 3 and 4 as the new one has them
    assert merged.scores == (0.9, 0.7, 0.6)
    assert [step.correct for step in merged.steps] == [True, True, True, True]
    assert merged.unscored == (1,)
    assert merged.first_error is None
    assert merged.correction is None  # it was one of step 1


def test_a_correction_of_a_new_step_stays() -> None:
    merged = merge_critique(PARENT, NEW, judged_as(0.9, 0.1, 0.2, 0.6, correction="So not C."))
    assert isinstance(merged, Critique)
    assert merged.first_error == 2
    assert merged.correction is None  # the new critique's first error is the corrected step: this is no text for step 3
    merged = merge_critique(PARENT, NEW, judged_as(0.9, 0.8, 0.2, 0.6, correction="So not C."))
    assert isinstance(merged, Critique)
    assert (merged.first_error, merged.correction) == (2, "So not C.")


def test_a_critic_that_stops_before_the_new_steps_leaves_them_unjudged() -> None:
    new = judged_as(0.9, 0.1, correction="The highest is A.")
    merged = merge_critique(PARENT, NEW, new)
    assert isinstance(merged, Unjudged)
    assert (merged.kind, merged.calls) == ("unparsable", 1)


def test_without_new_steps_the_kept_ones_are_all_there_is() -> None:
    alone = Solution(steps=NEW.steps[:2], answer=None, origin=Refined(parent=0, kept=2), continuation="empty")
    merged = merge_critique(PARENT, alone, judged_as(0.5, 0.99))
    assert isinstance(merged, Critique)
    assert merged.scores == (0.9,)


def test_what_stands_on_nothing_kept_keeps_its_critique() -> None:
    new = judged_as(0.9, 0.8)
    restarted = Solution(steps=("a\n\n", "b"), answer=None, origin=Refined(parent=0, kept=0), continuation="restarted")
    assert merge_critique(PARENT, restarted, new) is new
    assert merge_critique(PARENT, drawn("a\n\n", "b"), new) is new
    unjudged = Unjudged(kind="truncated", reason="cut")
    assert merge_critique(PARENT, NEW, unjudged) is unjudged


def test_unscored_steps_stay_unscored_in_a_further_round() -> None:
    verdicts = judged_as(0.9, 0.8, 0.2, correction="x").steps
    parent = judged(Critique(steps=verdicts, correction="x", unscored=(1,)))
    again = Solution(steps=("a\n\n", "b\n\n", "x\n\n", "d"), answer=None, origin=Refined(parent=0, kept=3))
    merged = merge_critique(parent, again, judged_as(0.5, 0.5, 0.5, 0.7))
    assert isinstance(merged, Critique)
    assert merged.unscored == (1, 2)
    assert merged.scores == (0.9, 0.7)
    assert merged.steps[2] == StepVerdict(correct=True, score=0.5, source="logprobs")
