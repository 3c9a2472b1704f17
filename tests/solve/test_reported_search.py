"""Faults of peers' searches that their users reported, about steps, scores and selection: by the case's id.

The cases of this kind about critics, training data and benchmarks are rows of the tests of those parts.
"""

import json
import math
from pathlib import Path

import pytest

from assay.models.base import derive_seed
from assay.solve.estimators import Scored, best_of_k
from assay.solve.records import Critique, Judged, Rule, Sampled, Solution, StepVerdict, Unjudged
from assay.solve.select import aggregate, best_of, rank, score_of, vote

OURS = ("161", "162", "163", "164", "165", "168")


def solution(answer: str | None) -> Solution:
    return Solution(steps=("a step",), answer=answer, origin=Sampled(index=0))


def judged(answer: str | None, *scores: float) -> Judged:
    verdicts = tuple(StepVerdict(correct=True, score=score, source="given") for score in scores)
    return Judged(solution=solution(answer), critique=Critique(steps=verdicts))


def failed(answer: str | None) -> Judged:
    return Judged(solution=solution(answer), critique=Unjudged(kind="failed", reason="HTTP 500"))


def test_161_a_failed_call_gives_no_zeros() -> None:
    pool = [failed("A"), judged("B", 0.0, 0.0)]
    assert score_of(pool[0], "mean") is None
    assert best_of(pool, (0, 1), "mean").chosen == 1


# 12 steps at 0.95 and 2 at 0.80: 0.95^12 = 0.5404, 0.80^2 = 0.64.
LENGTHS: list[tuple[Rule, float, float]] = [
    ("product", 0.5404, 0.64),  # the short one wins, and whoever asks for the product gets it
    ("mean", 0.95, 0.80),
    ("min", 0.95, 0.80),
    ("max", 0.95, 0.80),
    ("last", 0.95, 0.80),
]


@pytest.mark.parametrize(("rule", "long", "short"), LENGTHS)
def test_162_each_rule_by_its_name(rule: Rule, long: float, short: float) -> None:
    assert aggregate([0.95] * 12, rule) == pytest.approx(long, abs=5e-5)
    assert aggregate([0.80] * 2, rule) == pytest.approx(short, abs=5e-5)
    pool = [judged("A", *[0.95] * 12), judged("B", *[0.80] * 2)]
    assert best_of(pool, (0, 1), rule).chosen == (1 if short > long else 0)


@pytest.mark.parametrize(
    ("pool", "chosen"),
    [
        ([judged("A", math.nan), judged("B", 0.9), judged("C", 0.8)], 1),
        ([judged("B", 0.8), judged("A", math.nan), judged("C", 0.9)], 2),
        ([judged("A", math.inf), judged("B", 0.9)], 1),
        ([judged("A", 0.99, math.nan), judged("B", 0.1)], 1),  # one of a solution's steps
        ([failed("A"), judged("B", 0.9)], 1),
        ([Judged(solution=solution("A")), judged("B", 0.1)], 1),  # was not judged at all
    ],
)
@pytest.mark.parametrize("rule", ["mean", "min", "max", "product", "last"])
def test_163_what_is_no_score_never_wins(pool: list[Judged], chosen: int, rule: Rule) -> None:
    assert best_of(pool, range(len(pool)), rule).chosen == chosen


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["A", "B"], 0),  # a tie goes to the first, the same in every run
        (["B", "A"], 0),
        ([None, None, "A"], 2),  # no answer is no vote
        ([None, "A", None, "B", "B"], 3),
    ],
)
def test_164_votes(answers: list[str | None], chosen: int) -> None:
    pool = [Judged(solution=solution(answer)) for answer in answers]
    assert {vote(pool, range(len(pool))).chosen for _ in range(20)} == {chosen}


def test_165_the_rule_that_was_asked_for() -> None:
    # Last: 0.9 against 0.5; min: 0.1 against 0.5.
    pool = [judged("A", 0.1, 0.9), judged("B", 0.6, 0.5)]
    assert best_of(pool, (0, 1), "last").chosen == 0
    assert best_of(pool, (0, 1), "min").chosen == 1


def test_165_k_of_n_are_subsets_not_the_first() -> None:
    # The right one comes last. The first two would give 0; of the three pairs it wins two.
    pool = [judged("B", 0.2), judged("C", 0.4), judged("A", 0.9)]
    scored = [Scored(rank(one, "mean"), one.solution.answer == "A") for one in pool]
    assert best_of_k(scored, 2) == pytest.approx(2 / 3)


def test_168_every_draw_has_a_seed_of_its_own() -> None:
    # 8 workers x 4 draws of 50 questions: as many seeds, the same in every process.
    seeds = {derive_seed(0, f"q{question}", draw) for question in range(50) for draw in range(32)}
    assert len(seeds) == 50 * 32
    assert derive_seed(0, "q0", 0) != derive_seed(1, "q0", 0)


def test_the_reported_cases_are_of_this_kind(reported_cases: Path) -> None:
    cases = map(json.loads, reported_cases.read_text("utf-8").splitlines())
    assert set(OURS) <= {case["id"] for case in cases if case["kind"] == "prm-and-steps"}
