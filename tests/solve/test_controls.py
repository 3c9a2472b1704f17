"""Controls of three hand-worked pools of four plain solutions, two that came of the first two, and a greedy one.

    sample  place  origin      answer  is     step scores   mean   judged
    A       0      plain       1       wrong  .9 .2         .55    error at 2
            1      plain       2       right  .8 .9         .85    clean
            2      plain       1       wrong  .6 .6         .60    clean
            3      plain       1       wrong  .4 .8         .60    error at 1
            4      refined 0   2       right  .9 .8         .85    clean
            5      again 1     3       wrong  .7 .7         .70    clean
            6      greedy      1       wrong
    B       0      plain       5       right  .3 .9         .60    error at 1
            1      plain       6       wrong  .9 .4         .65    error at 2
            2      plain       5       right  .9 .9         .90    clean
            3      plain       5       right  .2 .6         .40    error at 1
            4      refined 0   7       wrong  .95 .95       .95    clean
            5      refined 1   5       right  .6 .6         .60    clean
            6      greedy      5       right
    C       0      plain       8       wrong  .6 .6         .60    clean
            1      plain       none    unanswered           -      unparsable
            2      plain       9       wrong  .4 .4         .40    error at 1
            3      plain       8       wrong                -      truncated
            4      again 0     9       wrong  .55 .55       .55    clean
            5      again 1     10      right  .8 .8         .80    clean
            6      greedy      8       wrong
    D       failed before there was a pool

So greedy is right in B; the vote (1, 5, 8) in B; best-of-4 chooses A1, B2, C0: A and B; the weighted vote 1 in A (1.75
to .85), 5 in B, 8 in C: B; refined best-of-4 chooses of 0, 1, 4, 5: A1 (level with A4, and first), B4, C5: A and C.
"""

from decimal import Decimal

import pytest

from assay.engine.budget import Price
from assay.solve.controls import Controls, controls
from assay.solve.paired import paired
from assay.solve.plan import SearchPlan
from assay.solve.pool import PoolRecord
from assay.solve.records import Critique, Unjudged
from assay.types import Usage, Verdict
from support.outcomes import FAILED, outcome
from support.pools import Words, greedy, judged, plain, record, refined, resampled

PLAN = SearchPlan(strategy="refined-bon", n=4)
UNPARSABLE = Unjudged(kind="unparsable", reason="no line", usage=Usage(prompt_tokens=50, completion_tokens=20))
TRUNCATED = Unjudged(kind="truncated", reason="cut", usage=Usage(prompt_tokens=50, completion_tokens=20))

FIRST = Usage(prompt_tokens=100, completion_tokens=10)  # one call of four draws: the first carries the prompt
DRAW = Usage(prompt_tokens=0, completion_tokens=10)
REFINED = Usage(prompt_tokens=130, completion_tokens=6)
GREEDY = Usage(prompt_tokens=100, completion_tokens=9)


def said(*scores: float) -> Critique:
    return judged(*scores, usage=Usage(prompt_tokens=50, completion_tokens=20))


A: list[Words] = [
    (plain(0), "1", "wrong", said(0.9, 0.2), FIRST),
    (plain(1), "2", "right", said(0.8, 0.9), DRAW),
    (plain(2), "1", "wrong", said(0.6, 0.6), DRAW),
    (plain(3), "1", "wrong", said(0.4, 0.8), DRAW),
    (refined(0), "2", "right", said(0.9, 0.8), REFINED),
    (resampled(1), "3", "wrong", said(0.7, 0.7), FIRST),
    (greedy(), "1", "wrong", None, GREEDY),
]
B: list[Words] = [
    (plain(0), "5", "right", said(0.3, 0.9), FIRST),
    (plain(1), "6", "wrong", said(0.9, 0.4), DRAW),
    (plain(2), "5", "right", said(0.9, 0.9), DRAW),
    (plain(3), "5", "right", said(0.2, 0.6), DRAW),
    (refined(0), "7", "wrong", said(0.95, 0.95), REFINED),
    (refined(1), "5", "right", said(0.6, 0.6), REFINED),
    (greedy(), "5", "right", None, GREEDY),
]
C: list[Words] = [
    (plain(0), "8", "wrong", said(0.6, 0.6), FIRST),
    (plain(1), None, "unanswered", UNPARSABLE, DRAW),
    (plain(2), "9", "wrong", said(0.4, 0.4), DRAW),
    (plain(3), "8", "wrong", TRUNCATED, DRAW),
    (resampled(0), "9", "wrong", said(0.55, 0.55), FIRST),
    (resampled(1), "10", "right", said(0.8, 0.8), FIRST),
    (greedy(), "8", "wrong", None, GREEDY),
]


def pools() -> list[PoolRecord]:
    return [record(name, words, PLAN) for name, words in (("A", A), ("B", B), ("C", C))]


OUTCOMES = [outcome(name, "right") for name in "ABC"] + [outcome("D", FAILED)]


@pytest.fixture(scope="module")
def found() -> Controls:
    return controls(
        OUTCOMES,
        pools(),
        rule="mean",
        on_missing="exclude",
        ks=(1, 2, 4, 8),
        prices=(
            Price(model="policy", prompt=Decimal(1), completion=Decimal(2)),
            Price(model="critic", prompt=Decimal(3), completion=Decimal(4)),
        ),
    )


def test_accuracies_at_equal_n(found: Controls) -> None:
    assert (found.samples, found.pools) == (4, 3)
    right = {way: (row.robust.correct, row.robust.n, row.n) for way, row in found.strategies.items()}
    assert right == {
        "greedy": (1, 3, 1),
        "self-consistency": (1, 3, 4),
        "best-of-n": (2, 3, 4),
        "weighted-vote": (1, 3, 4),
        "refined-bon": (2, 3, 4),
        "pass": (2, 3, 4),
        "pass-refined": (3, 3, 4),
    }


def test_a_sample_that_failed_counts_as_wrong_where_that_is_asked_for() -> None:
    found = controls(OUTCOMES, pools(), rule="mean", on_missing="wrong", ks=(4,))
    assert {row.robust.n for row in found.strategies.values()} == {4}
    assert found.strategies["refined-bon"].robust.accuracy == 0.5
    assert found.curves["pass"].accuracy[4] == 0.5  # A and B of four


def test_differences_are_paired(found: Controls) -> None:
    refined_bon = found.strategies["refined-bon"]
    assert refined_bon.against_greedy is not None
    assert (refined_bon.against_greedy.gained, refined_bon.against_greedy.lost) == (2, 1)  # A and C; B
    assert refined_bon.against_greedy.difference == pytest.approx(1 / 3)
    assert found.strategies["greedy"].against_greedy is None
    best = found.strategies["best-of-n"].against_self_consistency
    assert best is not None
    assert (best.gained, best.lost, best.pairs) == (1, 0, 3)


def test_bills(found: Controls) -> None:
    """Refined best-of-4: places 0, 1, 4, 5. Prompts 330 + 360 + 300, completions 36 + 32 + 40, twelve critiques."""
    row = found.strategies["refined-bon"]
    assert row.policy == Usage(prompt_tokens=990, completion_tokens=108)
    assert row.critic == Usage(prompt_tokens=600, completion_tokens=240)
    # A: one call for the draws, two for the others; so in B and C.
    assert (row.policy_calls, row.critic_calls) == (9, 12)
    # (990 + 2 * 108 + 3 * 600 + 4 * 240) / 1,000,000
    assert row.cost == "0.003966"
    voted = found.strategies["self-consistency"]
    assert voted.policy == Usage(prompt_tokens=300, completion_tokens=120)
    assert (voted.critic, voted.policy_calls, voted.critic_calls) == (Usage(), 3, 0)
    assert found.strategies["greedy"].policy == Usage(prompt_tokens=300, completion_tokens=27)


def test_an_unknown_price_gives_no_cost() -> None:
    price = Price(model="policy", prompt=Decimal(1), completion=Decimal(1))
    found = controls(OUTCOMES, pools(), rule="mean", on_missing="exclude", prices=(price, None))
    assert found.strategies["refined-bon"].cost is None
    assert found.strategies["greedy"].cost == "0.000327"


def test_equal_tokens_where_the_pool_is_too_small(found: Controls) -> None:
    """The bill is 990 + 108 + 840 = 1,938. n plain solutions of three samples cost 300 + n * 30, judged n * 240.

    (1938 - 300) / 30 = 54.6 and (1938 - 300) / 240 = 6.8; the pools hold 4.
    """
    voted, best = found.equal_tokens["self-consistency"], found.equal_tokens["best-of-n"]
    assert (voted.fits, voted.n, best.fits, best.n) == (54, 4, 6, 4)
    assert best.accuracy == pytest.approx(2 / 3)
    assert best.difference is not None
    assert best.difference.difference == pytest.approx(0)


def cheap(words: list[Words]) -> list[Words]:
    """No prompts, critiques for nothing, ten tokens a plain solution and one for what comes of it."""
    return [
        (origin, answer, verdict, critique and without_tokens(critique), tokens(place))
        for place, (origin, answer, verdict, critique, _) in enumerate(words)
    ]


def without_tokens(critique: Critique | Unjudged) -> Critique | Unjudged:
    if isinstance(critique, Unjudged):
        return Unjudged(kind=critique.kind, reason=critique.reason, usage=Usage())
    return Critique(steps=critique.steps, correction=critique.correction, usage=Usage())


def tokens(place: int) -> Usage:
    return Usage(completion_tokens=10 if place < 4 else 1)


def test_equal_tokens_by_the_estimators() -> None:
    """22 tokens a sample pay for two plain solutions.

    The vote of two: A 1 1 1 2(right): 3 of 6 pairs tie: 1/4. B 5 5 5(right) 6: 3 pairs tie: 3/4. C 0. Mean 1/3.
    Best of two: A: the pairs with A1: 1/2. B: best B2, then B1 (wrong), B0, B3: right in 3 + 0 + 1 of 6: 2/3. C 0.
    """
    cheap_pools = [record(name, cheap(words), PLAN) for name, words in (("A", A), ("B", B), ("C", C))]
    found = controls(OUTCOMES, cheap_pools, rule="mean", on_missing="exclude").equal_tokens
    voted, best = found["self-consistency"], found["best-of-n"]
    assert (voted.fits, voted.n, best.fits, best.n) == (2, 2, 2, 2)
    assert voted.accuracy == pytest.approx(1 / 3)
    assert best.accuracy == pytest.approx((1 / 2 + 2 / 3) / 3)
    assert best.difference is not None
    assert best.difference.difference == pytest.approx(2 / 3 - (1 / 2 + 2 / 3) / 3)
    assert best.difference.pairs == 3


def test_curves_are_expectations_over_parts(found: Controls) -> None:
    curves = {way: curve.accuracy for way, curve in found.curves.items()}
    # A has one right solution of four, B three, C none: 1/4, 1/2, 1; 3/4, 1, 1; 0.
    assert curves["pass"] == pytest.approx({1: 1 / 3, 2: 1 / 2, 4: 2 / 3})
    assert curves["best-of-n"] == pytest.approx({1: 1 / 3, 2: (1 / 2 + 2 / 3) / 3, 4: 2 / 3})
    assert curves["self-consistency"] == pytest.approx({1: 1 / 3, 2: 1 / 3, 4: 1 / 3})
    # Families {0, 4} and {1, 5}. Of one: A 4 or 1, both right; B 4 (wrong) or 5 (right); C 0 (wrong) or 5 (right).
    assert curves["refined-bon"] == pytest.approx({2: 2 / 3, 4: 2 / 3})
    # Any right: A both families; B both; C the second alone.
    assert curves["pass-refined"] == pytest.approx({2: 5 / 6, 4: 1})


def test_refinement(found: Controls) -> None:
    """Refined: A4 (wrong to right), B4 (right to wrong), B5 (wrong to right). Of the chosen A1 B4 C5 B4 is refined."""
    refinement = found.refinement
    assert refinement is not None
    assert (refinement.refined, refinement.resampled) == (3, 3)
    assert (refinement.right_before, refinement.harmed, refinement.harm_rate) == (1, 1, 1.0)
    assert (refinement.wrong_before, refinement.helped, refinement.help_rate) == (2, 2, 1.0)
    assert (refinement.selected, refinement.selected_refined, refinement.selected_refined_wrong) == (3, 1, 1)
    assert refinement.selected_refined_share == pytest.approx(1 / 3)


def test_the_critic_against_final_answers(found: Controls) -> None:
    """Clean: A1 B2 right, A2 C0 wrong. Flagged: B0 B3 right, A0 A3 B1 C2 wrong."""
    critic = found.critic
    assert critic is not None
    assert (critic.asked, critic.judged, critic.unjudged) == (12, 10, {"truncated": 1, "unparsable": 1})
    assert (critic.clean_right, critic.clean_wrong, critic.flagged_right, critic.flagged_wrong) == (2, 2, 2, 4)
    assert (critic.precision, critic.recall, critic.clean_share) == (0.5, 0.5, 0.4)
    assert critic.first_error == {1: 4, 2: 2}


def test_a_restarted_solution_stands_on_no_correction() -> None:
    words = [(refined(0, kept=0) if place == 4 else origin, *rest) for place, (origin, *rest) in enumerate(A)]
    found = controls([], [record("A", words, PLAN)], rule="mean", on_missing="exclude")  # pyright: ignore[reportArgumentType]
    assert found.refinement is not None
    counts = (found.refinement.refined, found.refinement.resampled, found.refinement.restarted)
    assert counts == (0, 1, 1)


def test_without_a_critic_only_what_needs_none() -> None:
    plan = SearchPlan(strategy="self-consistency", n=4)
    bare: list[Words] = [
        (origin, answer, verdict, None, usage) for origin, answer, verdict, _, usage in A if origin != refined(0)
    ]
    kept = [words for words in bare if words[0] != resampled(1)]
    found = controls([], [record("A", kept, plan)], rule="mean", on_missing="exclude")
    assert set(found.strategies) == {"greedy", "self-consistency", "pass"}
    assert (found.critic, found.refinement, found.equal_tokens) == (None, None, {})
    assert any("best-of-n" in note for note in found.notes)


def test_a_pool_of_the_strategy_alone_says_what_is_missing() -> None:
    own = [A[0], A[1], (refined(0), *A[4][1:]), (resampled(1), *A[5][1:])]
    found = controls([], [record("A", own, PLAN)], rule="mean", on_missing="exclude")
    assert "greedy" not in found.strategies
    assert found.strategies["best-of-n"].n == 2
    assert any("not at equal N" in note for note in found.notes)
    assert any("greedy" in note for note in found.notes)


def test_tokens_that_were_not_reported_compare_nothing_at_equal_tokens() -> None:
    words = [(*one[:4], None) for one in A]
    found = controls([], [record("A", words, PLAN)], rule="mean", on_missing="exclude")
    assert not found.tokens_known
    assert found.equal_tokens == {}
    assert any("tokens" in note for note in found.notes)


def test_the_rule_decides() -> None:
    """By the best step, A: clean 1 (.9), 2 (.6); refined 4 (.9) is level with 1. By the last, B: clean 2 alone."""
    found = controls(OUTCOMES, pools(), rule="last", on_missing="exclude")
    assert found.strategies["best-of-n"].robust.correct == 2
    # Refined best-of-4 by the last step: A1 (.9) before A4 (.8): right; B4 (.95): wrong; C5: right.
    assert found.strategies["refined-bon"].robust.correct == 2


def test_no_pools() -> None:
    found = controls([outcome("D", FAILED)], [], rule="mean", on_missing="exclude", ks=(1,))
    assert (found.samples, found.pools, found.strategies, found.curves) == (1, 0, {}, {})


def test_the_whole_pool_gives_what_the_strategy_chose() -> None:
    """Two votes against two: of parts they share evenly, but the whole pool's vote goes to the first."""
    plan = SearchPlan(strategy="self-consistency", n=4)
    verdicts: list[tuple[str, Verdict]] = [("1", "wrong"), ("2", "right"), ("2", "right"), ("1", "wrong")]
    words: list[Words] = [(plain(i), answer, verdict, None, FIRST) for i, (answer, verdict) in enumerate(verdicts)]
    found = controls([], [record("A", words, plan)], rule="mean", on_missing="exclude", ks=(2, 4))
    assert found.curves["self-consistency"].accuracy == pytest.approx({2: 0.5, 4: 0.0})
    assert found.strategies["self-consistency"].robust.correct == 0


def test_equal_strategies_differ_by_less_than_the_groups_could_show(found: Controls) -> None:
    """Best-of-4 and refined best-of-4 at equal tokens: A both, B and C one each; they differ, but not in the sum.

    Where no group differs at all the bound is Wilson's for 0 of 3 groups: z^2 / (3 + z^2) with z = 1.96.
    """
    some = found.equal_tokens["best-of-n"].difference
    assert some is not None
    assert (some.difference, some.method) == (pytest.approx(0), "t over groups")
    alike = paired([(1.0, 1.0, "a"), (0.5, 0.5, "b"), (0.0, 0.0, "c")], resamples=100, seed=0)
    assert alike is not None
    bound = 3.8415 / 6.8415
    assert (alike.low, alike.high) == (pytest.approx(-bound, rel=1e-3), pytest.approx(bound, rel=1e-3))
