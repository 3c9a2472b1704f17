"""How well a critic judges the steps of solutions, from its verdicts and scores alone.

    F1 of a class = 2 found / (2 found + missed + falsely claimed)       for right and for wrong steps
    macro F1      = (F1 of right + F1 of wrong) / 2                      VisualProcessBench
    weighted F1   = share of right * F1 of wrong + share of wrong * F1 of right        VLRMBench

Steps labelled None (neutral, or not labelled) are left out. A class without a labelled step has no F1: None, where
scikit-learn puts 0 or 1 and so would score a set for what it doesn't hold. A class never claimed has an F1 of 0.

A step without a verdict is left out (`exclude`) or missed (`wrong`): not found in its class, and claimed for neither.

Intervals: percentile bootstrap over groups of solutions; None with fewer than `MIN_GROUPS` groups on a side.
Every number depends on the set of solutions alone, not on their order.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from assay.mark.intervals import CONFIDENCE, MIN_GROUPS, resample_sums
from assay.mark.status import OnMissing, natural_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = [
    "ClassScore",
    "Estimate",
    "JudgedSolution",
    "StepF1",
    "StepScores",
    "WeightedF1",
    "by_source",
    "cluster_estimate",
    "first_wrong",
    "group_sums",
    "judge_at",
    "step_f1",
    "step_scores",
    "weighted_f1",
]

_MOSTLY = 0.9  # share of bootstrap draws in which a value must be defined for an interval of it
# Columns of a table of steps: label, then verdict.
_RIGHT_RIGHT, _RIGHT_WRONG, _RIGHT_NONE, _WRONG_WRONG, _WRONG_RIGHT, _WRONG_NONE = range(6)


class JudgedSolution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution, its labels and what a critic said of its steps. Positions count from 0.

    Attributes:
        source: the set, and its part where it has parts.
        group: solutions of one group share a picture or a question.
        labels: for every step True (right), False (wrong) or None (neutral, or not labelled).
        first_error: position of the first wrong step; None: all are right; -1: the set does not say.
        verdicts: for every step True, False or None (none given); None as a whole: the critic gave none at all.
        scores: for every step the probability, 0 .. 1, that it is right; None as `verdicts`.
        predicted_first_error: as `first_error`; -1: the critic did not say (see `first_wrong`).

    Raises:
        ValueError: other numbers of verdicts or scores than of steps, a position without a step, a score not in 0 .. 1.
    """

    source: str
    group: str
    labels: tuple[bool | None, ...]
    first_error: int | None = -1
    verdicts: tuple[bool | None, ...] | None = None
    scores: tuple[float | None, ...] | None = None
    predicted_first_error: int | None = -1

    def __post_init__(self) -> None:
        steps = len(self.labels)
        for name, given in (("verdicts", self.verdicts), ("scores", self.scores)):
            if given is not None and len(given) != steps:
                raise ValueError(f"{len(given)} {name} for {steps} steps")
        for position in (self.first_error, self.predicted_first_error):
            if position is not None and not -1 <= position < steps:
                raise ValueError(f"no step {position} among {steps}")
        for score in self.scores or ():
            if score is not None and not 0 <= score <= 1:  # of NaN too
                raise ValueError(f"a score of {score} is no probability")


class Estimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value over `n` items with its 95 % interval; None where it is undefined, or too few groups give an interval."""

    value: float | None
    low: float | None
    high: float | None
    method: str | None
    n: int


class ClassScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One class of steps. `n` labelled so, `claimed` judged so, `found` both; `f1.n` is `n`."""

    f1: Estimate
    precision: float | None
    recall: float | None
    n: int
    claimed: int
    found: int


class StepScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores over the steps of some solutions.

    Attributes:
        macro: mean of both F1; None where either class is empty.
        n: steps counted; under `exclude` without the unjudged.
        neutral, unjudged_steps: steps without a label; labelled steps without a verdict.
        unjudged_solutions: solutions with labelled steps of which none has a verdict.
        groups: those with a step counted; what the bootstrap draws.
    """

    macro: Estimate
    right: ClassScore
    wrong: ClassScore
    n: int
    neutral: int
    unjudged_steps: int
    solutions: int
    unjudged_solutions: int
    groups: int


class StepF1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`StepScores` of all steps together and by source."""

    on_missing: OnMissing
    pooled: StepScores
    by_source: dict[str, StepScores]
    confidence: float
    resamples: int
    seed: int


class WeightedF1(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """VLRMBench's score. Each class is weighted with the other's share, so that the rarer weighs more."""

    on_missing: OnMissing
    weighted: Estimate
    f1_right: float | None
    f1_wrong: float | None
    weight_right: float | None
    weight_wrong: float | None
    unjudged_steps: int


def first_wrong(verdicts: Sequence[bool | None]) -> int | None:
    """Position of the first step judged wrong; None where all are judged right; -1 where a missing verdict hides it."""
    for position, verdict in enumerate(verdicts):
        if verdict is None:
            return -1
        if not verdict:
            return position
    return None


def judge_at(solution: JudgedSolution, threshold: float) -> JudgedSolution:
    """The solution with the verdicts of its scores: a step is right where its score is above the threshold."""
    if solution.scores is None:
        return msgspec.structs.replace(solution, verdicts=None, predicted_first_error=-1)
    verdicts = tuple(None if score is None else score > threshold for score in solution.scores)
    return msgspec.structs.replace(solution, verdicts=verdicts, predicted_first_error=first_wrong(verdicts))


def step_f1(
    solutions: Iterable[JudgedSolution], *, on_missing: OnMissing, resamples: int = 2000, seed: int = 0
) -> StepF1:
    """F1 of right and of wrong steps and their mean, over all steps and by source."""
    kept = list(solutions)
    return StepF1(
        on_missing=on_missing,
        pooled=step_scores(kept, on_missing, resamples, seed),
        by_source={name: step_scores(part, on_missing, resamples, seed) for name, part in by_source(kept).items()},
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
    )


def step_scores(solutions: Sequence[JudgedSolution], on_missing: OnMissing, resamples: int, seed: int) -> StepScores:
    """The scores over the steps of all these solutions."""
    rows = [_count_steps(solution) for solution in solutions]
    everything = group_sums([solution.group for solution in solutions], rows, 6)
    table = _counted(everything, on_missing)
    total = table.sum(axis=0)
    draws = _f1(resample_sums(table, resamples=resamples, seed=seed)) if len(table) else None
    found, claims, labelled = _sides(table)
    right, wrong = (
        ClassScore(
            f1=cluster_estimate(
                float(_f1(total)[side]),
                None if draws is None else draws[..., side],
                n=int(labelled[:, side].sum()),
                sides=(found[:, side] > 0, labelled[:, side] + claims[:, side] > 2 * found[:, side]),
            ),
            precision=_ratio(found[:, side].sum(), claims[:, side].sum()),
            recall=_ratio(found[:, side].sum(), labelled[:, side].sum()),
            n=int(labelled[:, side].sum()),
            claimed=int(claims[:, side].sum()),
            found=int(found[:, side].sum()),
        )
        for side in range(2)
    )
    macro = cluster_estimate(
        float(_f1(total).mean()),
        None if draws is None else draws.mean(axis=-1),
        n=int(total.sum()),
        sides=(labelled[:, 0] > 0, labelled[:, 1] > 0),
    )
    unjudged = everything[:, _RIGHT_NONE] + everything[:, _WRONG_NONE]
    return StepScores(
        macro=macro,
        right=right,
        wrong=wrong,
        n=int(total.sum()),
        neutral=sum(solution.labels.count(None) for solution in solutions),
        unjudged_steps=int(unjudged.sum()),
        solutions=len(solutions),
        unjudged_solutions=sum(0 < sum(row) == row[_RIGHT_NONE] + row[_WRONG_NONE] for row in rows),
        groups=len(table),
    )


def weighted_f1(
    solutions: Iterable[JudgedSolution], *, on_missing: OnMissing, resamples: int = 2000, seed: int = 0
) -> WeightedF1:
    """Weighted F1 over all steps. VLRMBench's labels are 1 for a wrong step, so its `w_pos` is the share of right ones.

    Its script reads a list that is too short as if the missing steps were judged right; here `on_missing` says.
    """
    kept = list(solutions)
    rows = [_count_steps(solution) for solution in kept]
    everything = group_sums([solution.group for solution in kept], rows, 6)
    table = _counted(everything, on_missing)
    _, _, labelled = _sides(table)
    total = table.sum(axis=0)
    draws = _weighted(resample_sums(table, resamples=resamples, seed=seed)) if len(table) else None
    f1_right, f1_wrong = (_defined(float(value)) for value in _f1(total))
    n = int(total.sum())
    return WeightedF1(
        on_missing=on_missing,
        weighted=cluster_estimate(float(_weighted(total)), draws, n=n, sides=(labelled[:, 0] > 0, labelled[:, 1] > 0)),
        f1_right=f1_right,
        f1_wrong=f1_wrong,
        weight_right=_ratio(labelled[:, 1].sum(), n),
        weight_wrong=_ratio(labelled[:, 0].sum(), n),
        unjudged_steps=int((everything[:, _RIGHT_NONE] + everything[:, _WRONG_NONE]).sum()),
    )


def by_source(solutions: Sequence[JudgedSolution]) -> dict[str, list[JudgedSolution]]:
    """The solutions of every source, the sources in natural order."""
    parts: dict[str, list[JudgedSolution]] = {}
    for solution in solutions:
        parts.setdefault(solution.source, []).append(solution)
    return {name: parts[name] for name in sorted(parts, key=natural_key)}


def group_sums(groups: Sequence[str], rows: Sequence[Sequence[int]], width: int) -> "Integers":
    """One row per group: the sums of its rows, each of `width` counts."""
    import numpy as np

    place = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    table = np.zeros((len(place), width), dtype=np.int64)
    for group, row in zip(groups, rows, strict=True):
        table[place[group]] += np.asarray(row, dtype=np.int64)
    return table


def cluster_estimate(
    value: float, draws: "Floats | None", *, n: int, sides: "tuple[NDArray[np.bool_], NDArray[np.bool_]]"
) -> Estimate:
    """A value (NaN: undefined) with the percentile interval of its draws.

    `sides` say of every group whether it has anything on the one side and on the other, such as steps found and steps
    missed. With fewer than `MIN_GROUPS` on either a bootstrap has too few distinct resamples: no interval. Nor is there
    one where every draw gives the same value: nothing found in any group says little of what others would hold.
    """
    import numpy as np

    if draws is not None and value == value and min(int(side.sum()) for side in sides) >= MIN_GROUPS:
        kept = draws[~np.isnan(draws)]
        if len(kept) >= _MOSTLY * len(draws) and kept.min() < kept.max():
            low, high = (float(bound) for bound in np.quantile(kept, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
            return Estimate(value=value, low=low, high=high, method="bootstrap over groups", n=n)
    return Estimate(value=_defined(value), low=None, high=None, method=None, n=n)


def _count_steps(solution: JudgedSolution) -> list[int]:
    counts = [0] * 6
    for label, verdict in zip(solution.labels, solution.verdicts or [None] * len(solution.labels), strict=True):
        if label is not None:
            counts[(0 if label else 3) + (2 if verdict is None else 0 if verdict == label else 1)] += 1
    return counts


def _counted(table: "Integers", on_missing: OnMissing) -> "Integers":
    """The table under `on_missing`, with the groups alone that have a step in it."""
    counted = table.copy()
    if on_missing == "exclude":
        counted[:, [_RIGHT_NONE, _WRONG_NONE]] = 0
    return counted[counted.sum(axis=1) > 0]


def _sides(counts: "Integers") -> "tuple[Integers, Integers, Integers]":
    """Steps found, claimed and labelled; the last axis is right, wrong."""
    found = counts[..., [_RIGHT_RIGHT, _WRONG_WRONG]]
    claimed = found + counts[..., [_WRONG_RIGHT, _RIGHT_WRONG]]
    labelled = found + counts[..., [_RIGHT_WRONG, _WRONG_RIGHT]] + counts[..., [_RIGHT_NONE, _WRONG_NONE]]
    return found, claimed, labelled


def _f1(counts: "Integers") -> "Floats":
    """F1 of right and of wrong steps (last axis); NaN for a class without a labelled step."""
    import numpy as np

    found, claimed, labelled = _sides(counts)
    # 2 found + missed + falsely claimed = labelled + claimed
    return np.where(labelled > 0, 2 * found / np.maximum(labelled + claimed, 1), np.nan)


def _weighted(counts: "Integers") -> "Floats":
    import numpy as np

    _, _, labelled = _sides(counts)
    shares = labelled / np.maximum(labelled.sum(axis=-1, keepdims=True), 1)
    return (shares[..., ::-1] * _f1(counts)).sum(axis=-1)


def _ratio(part: "np.int64 | int", whole: "np.int64 | int") -> float | None:
    return int(part) / int(whole) if whole else None


def _defined(value: float) -> float | None:
    return value if value == value else None
