"""Several runs on the same samples, ranked, with the runs that can't be told apart."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from assay.mark.compare import Comparison, Credits, compare_credits
from assay.mark.significance import benjamini_hochberg
from assay.mark.status import Mode, OnMissing, natural_key
from assay.mark.tally import Score
from assay.types import Outcome

__all__ = ["PairTest", "Ranked", "Ranking", "rank", "tie_groups"]


def tie_groups(names: Sequence[str], differ: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Split a ranking, best first, into groups whose members can't be told apart from the group's best.

    Being told apart isn't transitive (A ~ B, B ~ C, A > C), so a group is defined by its best member: it
    takes in those below for as long as they don't differ from it.
    """
    groups: list[list[str]] = []
    for name in names:
        if groups and not differ(groups[-1][0], name):
            groups[-1].append(name)
        else:
            groups.append([name])
    return [tuple(group) for group in groups]


class Ranked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run in a ranking. Its true place may be anything from `best_rank` to `worst_rank`.

    `best_rank` is one more than the runs that are significantly better, `worst_rank` all runs less the
    significantly worse ones. Runs of one `tie_group` (1 is the best) can't be told apart from its first.
    """

    name: str
    score: Score
    best_rank: int
    worst_rank: int
    tie_group: int


class PairTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One pair of a ranking: how far `b` is ahead of `a`, and its p-value before and after adjustment."""

    a: str
    b: str
    pairs: int
    difference: float | None
    p: float | None
    p_adjusted: float | None


class Ranking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several runs by accuracy, best first; all pairs tested, their p-values adjusted (Benjamini-Hochberg)."""

    mode: Mode
    on_missing: OnMissing
    alpha: float
    rows: tuple[Ranked, ...]
    tests: tuple[PairTest, ...]


def rank(
    runs: Mapping[str, Iterable[Outcome]],
    *,
    mode: Mode = "robust",
    on_missing: OnMissing,
    alpha: float = 0.05,
    resamples: int = 2000,
    seed: int = 0,
) -> Ranking:
    """Rank runs by accuracy over their own samples; differences are tested over the samples that a pair shares.

    Under the plain condition alone, which every run has.

    Raises:
        DataError: where a run has two outcomes for one sample.
    """
    gathered = {
        name: Credits(name, (outcome for outcome in outcomes if not outcome.condition), mode)
        for name, outcomes in runs.items()
    }
    scores = {name: run.tally.score(mode, on_missing, resamples=resamples, seed=seed) for name, run in gathered.items()}
    # Equal accuracies stand by name, so that the order of the arguments doesn't matter.
    names = sorted(scores, key=lambda name: (-(scores[name].accuracy or 0.0), natural_key(name)))
    comparisons = {
        (worse, better): compare_credits(
            gathered[worse], gathered[better], on_missing=on_missing, resamples=resamples, seed=seed
        )
        for better, worse in combinations(names, 2)
    }
    tests = _adjusted(comparisons)
    better_than = {  # (better, worse)
        (test.b, test.a) if (test.difference or 0) > 0 else (test.a, test.b)
        for test in tests
        if test.p_adjusted is not None and test.p_adjusted <= alpha
    }
    ties = tie_groups(names, lambda one, two: (one, two) in better_than or (two, one) in better_than)
    group_of = {name: place for place, group in enumerate(ties, start=1) for name in group}
    rows = tuple(
        Ranked(
            name=name,
            score=scores[name],
            best_rank=1 + sum(worse == name for _, worse in better_than),
            worst_rank=len(names) - sum(better == name for better, _ in better_than),
            tie_group=group_of[name],
        )
        for name in names
    )
    return Ranking(mode=mode, on_missing=on_missing, alpha=alpha, rows=rows, tests=tests)


def _adjusted(comparisons: Mapping[tuple[str, str], Comparison]) -> tuple[PairTest, ...]:
    # A pair without common samples has no p-value, and doesn't count among the tests made.
    known = [comparison.p for comparison in comparisons.values() if comparison.p is not None]
    adjusted = iter(benjamini_hochberg(known))
    return tuple(
        PairTest(
            a=a,
            b=b,
            pairs=comparison.pairs,
            difference=comparison.difference,
            p=comparison.p,
            p_adjusted=None if comparison.p is None else next(adjusted),
        )
        for (a, b), comparison in comparisons.items()
    )
