"""The decisions of every search: scores of solutions, which one is chosen, what the second half does. Pure.

A pool is a sequence of judged solutions; `positions` are the places of those that a strategy may use, so that half a
pool, or k of n, is selected from without copying. Selections are deterministic.
"""

import math
from collections.abc import Sequence
from typing import Literal

from assay.solve.answers import classes
from assay.solve.records import Critique, Judged, Rule, Sampled, Selection, Solution
from assay.solve.steps import split_number

# --------------------------------------------------------------------------------------------------------------------
# Scores


def aggregate(scores: Sequence[float | None], rule: Rule) -> float | None:
    """The score of a solution from those of its steps; None without steps or where one is missing or not finite.

    Nothing is made up for a missing score: the solution ranks as unjudged. The mean and the product do not depend on
    the order of the steps, not even in the last bit, so that equal scores are ties.
    """
    known = [score for score in scores if score is not None and math.isfinite(score)]
    if not known or len(known) < len(scores):
        return None
    match rule:
        case "mean":
            return math.fsum(known) / len(known)
        case "min":
            return min(known)
        case "max":
            return max(known)
        case "product":
            return math.prod(sorted(known))
        case "last":
            return known[-1]


def score_of(judged: Judged, rule: Rule) -> float | None:
    """The solution's score; None where it is unjudged or was not judged at all."""
    if not isinstance(judged.critique, Critique):
        return None
    return aggregate(judged.critique.scores, rule)


def is_clean(judged: Judged) -> bool:
    """Whether the critic judged every step correct. An unjudged solution is not clean."""
    critique = judged.critique
    return isinstance(critique, Critique) and bool(critique.steps) and critique.first_error is None


def rank(judged: Judged, rule: Rule, *, clean_first: bool = True) -> tuple[float, ...]:
    """What solutions are ordered by, greater is better: all-correct, judged, unjudged; then the score.

    Without `clean_first` the all-correct ones are judged ones like any other.
    """
    score = score_of(judged, rule)
    if score is None:
        return (0, 0.0)
    return (2 if clean_first and is_clean(judged) else 1, score)


# --------------------------------------------------------------------------------------------------------------------
# Strategies


def greedy(pool: Sequence[Judged]) -> Selection:
    """The solution drawn at temperature 0; none where the pool has none."""
    chosen = next(
        (
            place
            for place, judged in enumerate(pool)
            if isinstance(judged.solution.origin, Sampled) and judged.solution.origin.greedy
        ),
        None,
    )
    return Selection(chosen=chosen, strategy="greedy")


def best_of(
    pool: Sequence[Judged],
    positions: Sequence[int],
    rule: Rule,
    *,
    clean_first: bool = True,
    strategy: str = "best-of-n",
) -> Selection:
    """The solution with the best score.

    If any is judged all-correct only those are ranked, unless `clean_first` is off; an unjudged one is chosen only
    where nothing was judged. Of equal ones that whose answer more of the solutions give, then the first.
    """
    if not positions:
        return Selection(chosen=None, strategy=strategy, rule=rule)
    ranks = {place: rank(pool[place], rule, clean_first=clean_first) for place in positions}
    best = max(ranks.values())
    tied = sorted(place for place in ranks if ranks[place] == best)
    if len(tied) > 1:
        sizes = {place: len(members) for members in answer_classes(pool, positions) for place in members}
        tied.sort(key=lambda place: (-sizes.get(place, 0), place))
    chosen = tied[0]
    return Selection(chosen=chosen, strategy=strategy, rule=rule, score=score_of(pool[chosen], rule))


def vote(pool: Sequence[Judged], positions: Sequence[int], *, strategy: str = "self-consistency") -> Selection:
    """Self-consistency: the first solution of the largest class of equivalent answers.

    Solutions without an answer don't vote; of classes of equal size that with the first solution wins. The score is the
    class's share of the votes. Where nobody votes the first solution is chosen, with a score of 0.
    """
    if not positions:
        return Selection(chosen=None, strategy=strategy)
    found = answer_classes(pool, positions)
    if not found:
        return Selection(chosen=min(positions), strategy=strategy, score=0.0)
    largest = min(found, key=lambda members: (-len(members), members[0]))
    return Selection(chosen=largest[0], strategy=strategy, score=len(largest) / sum(map(len, found)))


def weighted_vote(
    pool: Sequence[Judged], positions: Sequence[int], rule: Rule, *, strategy: str = "weighted-vote"
) -> Selection:
    """The best-scored solution of the class of equivalent answers whose solutions' scores sum up highest.

    Unjudged solutions add nothing. Of equal sums the larger class wins, then that with the first solution; so without
    a single judgement this is the plain vote. The score is the class's sum.
    """
    if not positions:
        return Selection(chosen=None, strategy=strategy, rule=rule)
    found = answer_classes(pool, positions)
    if not found:
        return Selection(chosen=min(positions), strategy=strategy, rule=rule, score=0.0)
    scores = {place: score_of(pool[place], rule) for place in positions}
    sums = {members: math.fsum(scores[place] or 0.0 for place in members) for members in found}
    winner = min(found, key=lambda members: (-sums[members], -len(members), members[0]))
    chosen = min(winner, key=lambda place: (scores[place] is None, -(scores[place] or 0.0), place))
    return Selection(chosen=chosen, strategy=strategy, rule=rule, score=sums[winner])


def answer_classes(pool: Sequence[Judged], positions: Sequence[int]) -> list[tuple[int, ...]]:
    """Positions in the pool of solutions with equivalent answers, together; see `answers.classes`."""
    places = sorted(set(positions))
    found = classes([pool[place].solution.answer for place in places])
    return [tuple(places[at] for at in members) for members in found]


# --------------------------------------------------------------------------------------------------------------------
# What the second half does


def first_error(judged: Judged, *, below: float | None = None) -> int | None:
    """Position of the first step judged wrong; None where none is, or the critic is not sure enough of it.

    Args:
        judged: a solution with its critique.
        below: the score that the step must be below. The first wrong step counts, for that is the one corrected: where
            the critic is unsure of it, a later one is not taken instead.
    """
    critique = judged.critique
    if not isinstance(critique, Critique):
        return None
    place = critique.first_error
    if place is None or place >= len(judged.solution.steps):
        return None
    if below is not None and not critique.steps[place].score < below:  # NaN is not sure of anything
        return None
    return place


def plan_second_half(judged: Judged, *, refine_below: float | None = None) -> Literal["refine", "resample"]:
    """Whether a solution of the first half is continued from its corrected first wrong step or drawn anew.

    Drawn anew is one that is judged all-correct, unjudged, without a correction, or whose error is not sure enough
    (see `first_error`).
    """
    if first_error(judged, below=refine_below) is None:
        return "resample"
    correction = judged.critique.correction if isinstance(judged.critique, Critique) else None
    return "refine" if correction is not None and correction.strip() else "resample"


SEPARATOR = "\n\n"
"""Between two steps of a solution that shows no other."""


def kept_prefix(solution: Solution, critique: Critique) -> tuple[str, ...]:
    """What the policy continues from: the steps before the first wrong one, as they are, and its correction.

    The correction takes the place of the wrong step: it gets that step's number where it has none itself, and ends
    with a separator, so that what follows is a step of its own.

    Raises:
        ValueError: no step of the solution is judged wrong, or there is no correction (see `plan_second_half`).
    """
    place = critique.first_error
    correction = (critique.correction or "").strip()
    if place is None or place >= len(solution.steps) or not correction:
        raise ValueError("the critique corrects no step of this solution")
    wrong, before = solution.steps[place], solution.steps[:place]
    number, content = split_number(wrong)
    if number and not split_number(correction)[0]:
        correction = (number if content else number + "\n") + correction
    endings = map(_line_breaks, (wrong, *reversed(before)))
    # A single line break separates steps only where they are numbered.
    separator = next((end for end in endings if end and (number or len(end.splitlines()) > 1)), SEPARATOR)
    closed = tuple(step if _line_breaks(step) else step + separator for step in before)
    return (*closed, correction + separator)


def _line_breaks(step: str) -> str:
    """The line breaks that a step ends with, and blanks among them."""
    end = step[len(step.rstrip()) :]
    return end if "\n" in end or "\r" in end else ""
