"""A world with known probabilities, in which the expected accuracy of every strategy is computed by enumeration here.

A solution has two steps and an answer. The policy errs in each step with probability ERR. Without an error the answer
is A, the right one; with any it is B or C, one as likely as the other. The critic flags a wrong step with probability
HIT and a right one with FALSE; it is bold or shy, one as likely as the other, which sets its scores for what it doesn't
flag (so a clean solution of a shy critic has a lower mean than a flawed one of a bold critic); with probability LOST
its reply can't be parsed. A correction is right with probability FIX. The policy continues with fresh errors.

The enumeration knows nothing of the code: it goes over all outcomes of a pool and chooses as the method's text says.
The simulation runs the real search over a scripted policy and critic, selects with the real rules, and has to agree
within four standard errors.
"""

import asyncio
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import pytest

from assay.models.scripted import ScriptedModel
from assay.solve.critic import ScriptedCritic
from assay.solve.estimators import Scored, Vote, best_of_k, pass_at_k, vote_at_k
from assay.solve.policy import Policy
from assay.solve.records import Critique, Judged, Refined, Selection, Solution, StepVerdict, Unjudged
from assay.solve.search import Problem, controls, refined_bon
from assay.solve.select import answer_classes, best_of, greedy, rank, vote, weighted_vote
from assay.types import Message, Option, Request, Sample, Sampling, TextPart

ERR, HIT, FALSE, FIX, LOST = 0.35, 0.8, 0.15, 0.7, 0.1
BOLD, SHY, FLAGGED = 0.9375, 0.5625, 0.375  # sums of these are exact, so that ties are ties here and there
N = 4
SAMPLES = 1_500
SIGMAS = 4

# --------------------------------------------------------------------------------------------------------------------
# By enumeration


class Outcome(NamedTuple):
    """All that a selection can see of a solution: its answer, its clean mark and score; None, None: unjudged."""

    answer: str
    clean: bool | None
    score: float | None


Truth = tuple[bool, bool]
Flags = tuple[bool, bool] | None


def truths(err_1: float, err_2: float) -> dict[Truth, float]:
    """Which of the two steps are right."""
    return {
        (one, two): (1 - err_1 if one else err_1) * (1 - err_2 if two else err_2)
        for one, two in product((True, False), repeat=2)
    }


def judgements(truth: Truth) -> dict[Flags, float]:
    """Which steps the critic flags."""
    found: dict[Flags, float] = {None: LOST}
    flagged = [FALSE if right else HIT for right in truth]
    for one, two in product((True, False), repeat=2):
        both = (flagged[0] if one else 1 - flagged[0]) * (flagged[1] if two else 1 - flagged[1])
        found[one, two] = (1 - LOST) * both
    return found


def outcomes(truth: Truth, flags: Flags) -> dict[Outcome, float]:
    """Answer and score: three steps' mean, the answer's own step is never flagged."""
    answers = {"A": 1.0} if all(truth) else {"B": 0.5, "C": 0.5}
    if flags is None:
        return {Outcome(answer, None, None): chance for answer, chance in answers.items()}
    return {
        Outcome(answer, not any(flags), (sum(FLAGGED if flag else level for flag in flags) + level) / 3): chance / 2
        for answer, chance in answers.items()
        for level in (BOLD, SHY)
    }


def child_truths(truth: Truth, flags: Flags) -> dict[Truth, float]:
    """The steps of the solution that the second half makes of this one."""
    if flags is None or not any(flags):
        return truths(ERR, ERR)
    if flags[0]:
        return truths(1 - FIX, ERR)
    return truths(0.0 if truth[0] else 1.0, 1 - FIX)


@cache
def single() -> dict[Outcome, float]:
    found: dict[Outcome, float] = defaultdict(float)
    for truth, p in truths(ERR, ERR).items():
        for flags, q in judgements(truth).items():
            for outcome, r in outcomes(truth, flags).items():
                found[outcome] += p * q * r
    return dict(found)


@cache
def pairs() -> dict[tuple[Outcome, Outcome], float]:
    """A solution of the first half and that of the second half made of it, refined if the first is judged not clean."""
    found: dict[tuple[Outcome, Outcome], float] = defaultdict(float)
    for truth, p in truths(ERR, ERR).items():
        for flags, q in judgements(truth).items():
            children: dict[Outcome, float] = defaultdict(float)
            for child, s in child_truths(truth, flags).items():
                for child_flags, t in judgements(child).items():
                    for outcome, u in outcomes(child, child_flags).items():
                        children[outcome] += s * t * u
            for parent, r in outcomes(truth, flags).items():
                for outcome, v in children.items():
                    found[parent, outcome] += p * q * r * v
    return dict(found)


def most_wins(pool: Sequence[Outcome]) -> bool:
    """The answer that most give; of equally many that which stands first."""
    answers = [outcome.answer for outcome in pool]
    return max(answers, key=lambda answer: (answers.count(answer), -answers.index(answer))) == "A"


def best_wins(pool: Sequence[Outcome]) -> bool:
    """All-correct ones first, then judged ones, by their means; then the commoner answer; then the first."""
    answers = [outcome.answer for outcome in pool]

    def key(place: int) -> tuple[int, float, int, int]:
        outcome = pool[place]
        group = 0 if outcome.score is None else 2 if outcome.clean else 1
        return (group, outcome.score or 0.0, answers.count(outcome.answer), -place)

    return pool[max(range(len(pool)), key=key)].answer == "A"


def weightiest_wins(pool: Sequence[Outcome]) -> bool:
    """The answer with the greatest sum of means; then the commoner; then the first."""
    answers = [outcome.answer for outcome in pool]
    sums = {answer: math.fsum(o.score or 0.0 for o in pool if o.answer == answer) for answer in answers}
    return max(answers, key=lambda answer: (sums[answer], answers.count(answer), -answers.index(answer))) == "A"


Rule = Callable[[Sequence[Outcome]], bool]


def drawn(n: int, rule: Rule) -> float:
    """Expected accuracy over all pools of n independent solutions."""
    total = 0.0
    for pool in product(single().items(), repeat=n):
        if rule([outcome for outcome, _ in pool]):
            total += math.prod(chance for _, chance in pool)
    return total


def half_refined(n: int, rule: Rule) -> float:
    """Over all pools of ceil(n/2) drawn solutions followed by those that are made of the first floor(n/2)."""
    lone = single().items() if n % 2 else [(None, 1.0)]
    total = 0.0
    for chosen in product(pairs().items(), repeat=n // 2):
        chance = math.prod(p for _, p in chosen)
        for extra, q in lone:
            first = [*(pair[0] for pair, _ in chosen), *([extra] if extra else [])]
            if rule([*first, *(pair[1] for pair, _ in chosen)]):
                total += chance * q
    return total


def test_the_world_adds_up() -> None:
    assert math.fsum(single().values()) == pytest.approx(1)
    assert math.fsum(pairs().values()) == pytest.approx(1)
    assert drawn(2, lambda _pool: True) == pytest.approx(1)
    # Right without an error in two steps: 0.65^2 = 0.4225.
    assert drawn(1, best_wins) == pytest.approx(0.4225)
    assert drawn(1, most_wins) == pytest.approx(0.4225)
    # Two votes: the first decides, whether they agree or not.
    assert drawn(2, most_wins) == pytest.approx(0.4225)
    # Three votes: right with two or three A, 3 a^2 (1-a) + a^3 = 0.309262 + 0.075419; with one A, if the other two
    # differ (every second pair) and the A stands first, 3 a (1-a)^2 * 1/2 * 1/3 = 0.070453.
    a = 0.4225
    assert drawn(3, most_wins) == pytest.approx(3 * a * a * (1 - a) + a**3 + a * (1 - a) ** 2 / 2)
    assert drawn(3, most_wins) == pytest.approx(0.455134, abs=1e-6)


# --------------------------------------------------------------------------------------------------------------------
# By simulation

MESSAGES = (Message(role="user", parts=(TextPart(text="Which?"),)),)


def chance(*what: object) -> random.Random:
    return random.Random("/".join(map(str, what)))


def write(request: Request, index: int) -> str:
    """The policy: the steps that are not given yet, then the answer."""
    draw = chance("policy", request.sample_id, index)
    given = request.prefill.count("Step")
    steps = ["Step {}: {}.\n\n".format(n, "bad" if draw.random() < ERR else "good") for n in range(given + 1, 3)]
    right = "bad" not in request.prefill + "".join(steps)
    return "".join(steps) + f"Answer: {'A' if right else draw.choice('BC')}"


def judge(sample: Sample, solution: Solution) -> Critique | Unjudged:
    draw = chance("critic", sample.id, solution.origin)
    if draw.random() < LOST:
        return Unjudged(kind="unparsable", reason="no judgement")
    level = draw.choice((BOLD, SHY))
    flags = [draw.random() < (HIT if "bad" in step else FALSE) for step in solution.steps[:2]] + [False]
    verdicts = tuple(StepVerdict(correct=not f, score=FLAGGED if f else level, source="given") for f in flags)
    number = flags.index(True) + 1 if any(flags) else None
    word = "good" if draw.random() < FIX else "bad"
    return Critique(steps=verdicts, correction=f"Step {number}: {word}." if number else None)


def problem(name: str) -> Problem:
    options = tuple(Option(label=label) for label in "ABC")
    return Problem(sample=Sample(id=name, question="Which?", options=options, group=name), messages=MESSAGES)


def policy() -> Policy:
    return Policy(ScriptedModel(write), sampling=Sampling(temperature=0.7), continuation="prefill")


Pool = tuple[Judged, ...]


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    """Of each sample: N plain solutions, those made of the first half, the greedy one."""

    async def search() -> list[Pool]:
        critic = ScriptedCritic(judge)
        found = [await controls(policy(), critic, problem(f"q{number}"), n=N) for number in range(SAMPLES)]
        return [one.pool for one in found]

    return asyncio.run(search())


def agrees(rights: Sequence[float], expected: float) -> None:
    """The mean lies within its interval; values in 0 .. 1 with that mean vary by at most mean (1 - mean)."""
    mean = math.fsum(rights) / len(rights)
    assert abs(mean - expected) <= SIGMAS * math.sqrt(expected * (1 - expected) / len(rights)), (mean, expected)


def is_right(pool: Pool, selection: Selection) -> bool:
    assert selection.chosen is not None
    return pool[selection.chosen].solution.answer == "A"


PLAIN = tuple(range(N))
REFINED = (*range(N // 2), *range(N, N + N // 2))


def test_greedy(pools: list[Pool]) -> None:
    agrees([is_right(pool, greedy(pool)) for pool in pools], (1 - ERR) ** 2)


def test_self_consistency(pools: list[Pool]) -> None:
    agrees([is_right(pool, vote(pool, PLAIN)) for pool in pools], drawn(N, most_wins))


def test_best_of_n(pools: list[Pool]) -> None:
    agrees([is_right(pool, best_of(pool, PLAIN, "mean")) for pool in pools], drawn(N, best_wins))


def test_best_of_n_without_the_rule(pools: list[Pool]) -> None:
    def by_mean(pool: Sequence[Outcome]) -> bool:
        return best_wins([outcome._replace(clean=False) for outcome in pool])

    expected = drawn(N, by_mean)
    assert abs(expected - drawn(N, best_wins)) > 0.005  # the world tells the two apart
    agrees([is_right(pool, best_of(pool, PLAIN, "mean", clean_first=False)) for pool in pools], expected)


def test_weighted_vote(pools: list[Pool]) -> None:
    agrees([is_right(pool, weighted_vote(pool, PLAIN, "mean")) for pool in pools], drawn(N, weightiest_wins))


def test_pass_at_n(pools: list[Pool]) -> None:
    rights = [any(pool[place].solution.answer == "A" for place in PLAIN) for pool in pools]
    agrees(rights, 1 - (1 - (1 - ERR) ** 2) ** N)


def test_refined_best_of_n(pools: list[Pool]) -> None:
    expected = half_refined(N, best_wins)
    assert expected > drawn(N, best_wins)  # fixes are mostly right in this world
    agrees([is_right(pool, best_of(pool, REFINED, "mean")) for pool in pools], expected)


def test_refined_pass_at_n(pools: list[Pool]) -> None:
    rights = [any(pool[place].solution.answer == "A" for place in REFINED) for pool in pools]
    agrees(rights, half_refined(N, lambda pool: any(outcome.answer == "A" for outcome in pool)))


def test_an_odd_pool_has_one_more_drawn_than_refined() -> None:
    async def search() -> list[bool]:
        critic = ScriptedCritic(judge)
        found = [await refined_bon(policy(), critic, problem(f"odd{number}"), n=3) for number in range(SAMPLES)]
        return [is_right(one.pool, best_of(one.pool, range(3), "mean")) for one in found]

    agrees(asyncio.run(search()), half_refined(3, best_wins))


def test_harm_and_help_of_refinement(pools: list[Pool]) -> None:
    """Of the right solutions that were refined the share turned wrong, and of the wrong ones the share turned right."""

    def share(right: bool) -> float:
        refined = {
            pair: p for pair, p in pairs().items() if pair[0].clean is False and (pair[0].answer == "A") is right
        }
        turned = math.fsum(p for (_, child), p in refined.items() if (child.answer == "A") is not right)
        return turned / math.fsum(refined.values())

    turned: dict[bool, list[bool]] = {True: [], False: []}
    for pool in pools:
        for judged in pool[N : N + N // 2]:
            if isinstance(judged.solution.origin, Refined):
                right = pool[judged.solution.origin.parent].solution.answer == "A"
                turned[right].append((judged.solution.answer == "A") is not right)
    for right in (True, False):
        agrees(turned[right], share(right))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_estimates_from_larger_pools(pools: list[Pool], k: int) -> None:
    """What k of N would give, from pools of N, is what pools of k give."""
    passed: list[float] = []
    voted: list[float] = []
    best: list[float] = []
    for pool in pools:
        rights = [pool[place].solution.answer == "A" for place in PLAIN]
        classes = {place: number for number, one in enumerate(answer_classes(pool, PLAIN)) for place in one}
        passed.append(pass_at_k(N, sum(rights), k))
        voted.append(vote_at_k([Vote(classes[place], rights[place]) for place in PLAIN], k).value)
        best.append(best_of_k([Scored(rank(pool[place], "mean"), rights[place]) for place in PLAIN], k))
    agrees(passed, 1 - (1 - (1 - ERR) ** 2) ** k)
    agrees(voted, drawn(k, most_wins))
    if k < 3:  # in pools of three a tie may go to the commoner answer, which the estimate shares evenly
        agrees(best, drawn(k, best_wins))
