"""What k solutions of n would have given: unbiased over all k-subsets, not over the first k.

Each estimator takes one question's solutions and is a probability of a right answer. None depends on the order of the
solutions. Sums over subsets are closed where there is a formula, exact where the subsets are few, and drawn with a
fixed seed otherwise; `VoteEstimate` says which.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

EXACT_SUBSETS = 1_000
"""Up to so many subsets are enumerated; C(8, 4) = 70, C(12, 6) = 924."""

DRAWN_SUBSETS = 1_000
"""Subsets that are drawn where there are more; the standard error of one question is at most 0.5 / sqrt(1000)."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that k of n solutions, c of them right, hold a right one: 1 - C(n-c, k) / C(n, k).

    Raises:
        ValueError: unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(n, k)
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} solutions can't be right")
    return 1 - math.comb(n - c, k) / math.comb(n, k)


class Scored(NamedTuple):
    """One solution for `best_of_k`: its rank (greater is better; `select.rank` gives it), and whether it is right."""

    rank: tuple[float, ...]
    right: bool


def best_of_k(scored: Sequence[Scored], k: int) -> float:
    """Probability that the best-ranked of k random solutions is right; equal ranks share evenly.

    Of the k-subsets of n, those whose best rank is r number C(at or below r, k) - C(below r, k), and within them every
    solution of rank r is chosen equally often.

    Raises:
        ValueError: unless 1 <= k <= n.
    """
    _check(len(scored), k)
    groups: dict[tuple[float, ...], list[bool]] = {}
    for rank, right in scored:
        groups.setdefault(rank, []).append(right)
    below = 0
    hits = 0.0
    for rank in sorted(groups):
        rights = groups[rank]
        subsets = math.comb(below + len(rights), k) - math.comb(below, k)
        hits += subsets * sum(rights) / len(rights)
        below += len(rights)
    return min(1.0, hits / math.comb(len(scored), k))


class Vote(NamedTuple):
    """One solution for `vote_at_k`: its answer's class (None: it doesn't vote), whether it is right, its weight."""

    answer: int | None
    right: bool
    weight: float = 1.0


class VoteEstimate(NamedTuple):
    """Attributes:
    value: probability of a right answer.
    subsets: how many subsets it was computed over.
    exact: whether those were all of them.
    """

    value: float
    subsets: int
    exact: bool


def vote_at_k(votes: Sequence[Vote], k: int, *, seed: int = 0, draws: int = DRAWN_SUBSETS) -> VoteEstimate:
    """Probability that the answer with the most votes (the greatest weight) among k random solutions is right.

    Classes of equal weight share evenly, so do the members of a class that were marked differently; a weight that is
    not finite counts nothing. Where nobody votes, one of the k is taken at random.

    Raises:
        ValueError: unless 1 <= k <= n and there is a draw.
    """
    n = len(votes)
    _check(n, k)
    if draws < 1:
        raise ValueError("at least one subset must be drawn")
    exact = math.comb(n, k) <= EXACT_SUBSETS
    subsets: Iterable[Sequence[int]] = combinations(range(n), k) if exact else _drawn(n, k, seed, draws)
    shares = [_vote_share([votes[place] for place in subset]) for subset in subsets]
    return VoteEstimate(math.fsum(shares) / len(shares), len(shares), exact)


def _drawn(n: int, k: int, seed: int, draws: int) -> Iterable[Sequence[int]]:
    generator = random.Random(f"{seed}/{n}/{k}")  # noqa: S311  no secret hangs on it
    for _ in range(draws):
        yield generator.sample(range(n), k)


def _vote_share(votes: Sequence[Vote]) -> float:
    classes: dict[int, list[Vote]] = {}
    for vote in votes:
        if vote.answer is not None:
            classes.setdefault(vote.answer, []).append(vote)
    if not classes:
        return _share_right(votes)
    weights = {answer: math.fsum(map(_weight, members)) for answer, members in classes.items()}
    most = max(weights.values())
    winners = [members for answer, members in classes.items() if weights[answer] == most]
    return math.fsum(map(_share_right, winners)) / len(winners)


def _weight(vote: Vote) -> float:
    return vote.weight if math.isfinite(vote.weight) else 0.0


def _share_right(votes: Sequence[Vote]) -> float:
    return sum(vote.right for vote in votes) / len(votes)


Question = TypeVar("Question")


def scaling_curve(
    questions: Sequence[Question], ks: Iterable[int], estimate: Callable[[Question, int], float]
) -> dict[int, tuple[float, ...]]:
    """For every k, each question's estimate, in the questions' order: their mean is the curve, and two curves over the
    same questions can be compared in pairs."""
    return {k: tuple(estimate(question, k) for question in questions) for k in sorted(set(ks))}


def _check(n: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"k must be 1 to {n}, the number of solutions, not {k}")
