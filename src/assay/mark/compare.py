"""Two runs on the same samples: paired tests, and what was gained and lost.

Samples are paired by id, and by condition where they were asked under several. Lines of one sample are in one group,
like all that belongs together, so that draws of one question don't pass for further questions. With a, b = 1 for right
and 0 for not right,

    difference = sum(b - a) / pairs                      positive: the second run is better
    gained = pairs that only b has right,  lost = pairs that only a has right

Two tests stand side by side. McNemar's exact test takes pairs as independent: under no difference each
discordant pair is a fair coin. The paired bootstrap draws groups (samples that share a picture or a seed
question) again. Where every pair is its own group McNemar's is the better one, else the bootstrap's;
`Comparison.p` is that one, `p_method` its name.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from assay.errors import DataError
from assay.mark.intervals import CONFIDENCE, MIN_GROUPS, resample_ratio, wilson
from assay.mark.significance import (
    mcnemar,
    minimum_detectable_effect,
    ratio_standard_error,
    sign_flip_p,
    t_interval,
)
from assay.mark.status import Mode, OnMissing, credit, group_number, natural_key
from assay.mark.summary import MAX_ROWS
from assay.mark.tally import Tally, verdict_code
from assay.types import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

__all__ = ["Comparison", "Credits", "Ids", "Missing", "compare", "compare_credits"]

_NOT_RIGHT, _RIGHT, _MISSING = range(3)


class Ids(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of samples and the first `MAX_ROWS` of their ids, in natural order."""

    total: int
    ids: tuple[str, ...]


class Missing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common samples without a verdict (see `mark.status`): on one side only, or on both."""

    only_a: int
    only_b: int
    both: int


class Comparison(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run `b` against run `a`; fractions, and None where there is no pair.

    Attributes:
        samples_a, samples_b: outcomes of each run.
        only_in_a, only_in_b: samples that the other run has no outcome for; they are in no number.
        missing: common samples without a verdict, which are left out or count as not right on their side.
        pairs: what everything below is about; `groups` are their clusters.
        gained, lost: samples that only b, only a has right.
        low, high, method: 95 % interval of the difference.
        p_mcnemar, p_groups: both p-values, two-sided.
        p, p_method: the one of them that fits the data, and the test's name.
        standard_error: of the difference, over groups.
        minimum_detectable_effect: the difference that such a comparison finds in 80 % of cases at the 5 % level.
    """

    mode: Mode
    on_missing: OnMissing
    samples_a: int
    samples_b: int
    only_in_a: Ids
    only_in_b: Ids
    missing: Missing
    pairs: int
    groups: int
    both_right: int
    neither_right: int
    gained: Ids
    lost: Ids
    accuracy_a: float | None
    accuracy_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: str | None
    p_mcnemar: float | None
    p_groups: float | None
    p: float | None
    p_method: str | None
    standard_error: float | None
    minimum_detectable_effect: float | None
    resamples: int
    seed: int
    notes: tuple[str, ...]


class Credits:
    """A run's verdicts: by `Outcome.id` the credit in the low two bits and the group's number above, and a tally.

    Raises:
        DataError: where there are two outcomes for one sample.
    """

    def __init__(self, name: str, outcomes: Iterable[Outcome], mode: Mode) -> None:
        self.mode: Mode = mode
        self.packed: dict[str, int] = {}
        self.tally = Tally()
        self._name = name
        for outcome in outcomes:
            self.add(outcome.id, outcome)

    def add(self, name: str, outcome: Outcome) -> None:
        """Add an outcome, to be paired by `name`."""
        if name in self.packed:
            problem = f"sample {name!r} occurs twice"
            raise DataError(self._name, problem, "Samples are paired by id: keep one outcome for each.")
        right = credit(outcome, self.mode)
        value = _MISSING if right is None else _RIGHT if right else _NOT_RIGHT
        group = group_number(outcome.group)
        self.packed[name] = value | group << 2
        self.tally.add(verdict_code(outcome), group)


def compare(
    a: Iterable[Outcome],
    b: Iterable[Outcome],
    *,
    mode: Mode = "robust",
    on_missing: OnMissing,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Run `b` against run `a` over the samples, and the conditions, that both have.

    Args:
        mode: whose verdicts; under `judged` all marks of a run should be one judge's (`judged.by_judge`).

    Raises:
        DataError: where a run has two outcomes for one sample.
    """
    return compare_credits(
        Credits("first run", a, mode),
        Credits("second run", b, mode),
        on_missing=on_missing,
        resamples=resamples,
        seed=seed,
    )


class _Pairs:
    """The common samples, paired: counts, ids and, by group, the sum of differences and the number of pairs."""

    def __init__(self, a: Credits, b: Credits, on_missing: OnMissing) -> None:
        self.gained: list[str] = []
        self.lost: list[str] = []
        self.both_right = self.neither_right = 0
        self.missing_a = self.missing_b = self.missing_both = 0
        self.regrouped = 0
        self.sums: dict[int, tuple[int, int]] = {}
        for sample_id, packed in a.packed.items():
            other = b.packed.get(sample_id)
            if other is None:
                continue
            self.regrouped += packed >> 2 != other >> 2
            self._add(sample_id, packed & 3, other & 3, packed >> 2, on_missing)

    def _add(self, sample_id: str, a: int, b: int, group: int, on_missing: OnMissing) -> None:
        self.missing_both += a == b == _MISSING
        self.missing_a += a == _MISSING != b
        self.missing_b += b == _MISSING != a
        if on_missing == "exclude" and _MISSING in (a, b):
            return
        a_right, b_right = a == _RIGHT, b == _RIGHT
        if a_right != b_right:
            (self.gained if b_right else self.lost).append(sample_id)
        self.both_right += a_right and b_right
        self.neither_right += not a_right and not b_right
        difference, pairs = self.sums.get(group, (0, 0))
        self.sums[group] = (difference + b_right - a_right, pairs + 1)

    def arrays(self) -> "tuple[Integers, Integers]":
        import numpy as np

        table = np.array(list(self.sums.values()), dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def compare_credits(a: Credits, b: Credits, *, on_missing: OnMissing, resamples: int, seed: int) -> Comparison:
    """`compare` for verdicts that are gathered already, under one mode."""
    paired = _Pairs(a, b, on_missing)
    gained, lost = len(paired.gained), len(paired.lost)
    pairs = gained + lost + paired.both_right + paired.neither_right
    effect = _effect(paired, gained, lost, resamples, seed) if pairs else _Effect()
    return Comparison(
        mode=a.mode,
        on_missing=on_missing,
        samples_a=len(a.packed),
        samples_b=len(b.packed),
        only_in_a=_ids(a.packed.keys() - b.packed.keys()),
        only_in_b=_ids(b.packed.keys() - a.packed.keys()),
        missing=Missing(only_a=paired.missing_a, only_b=paired.missing_b, both=paired.missing_both),
        pairs=pairs,
        groups=len(paired.sums),
        both_right=paired.both_right,
        neither_right=paired.neither_right,
        gained=_ids(paired.gained),
        lost=_ids(paired.lost),
        accuracy_a=(paired.both_right + lost) / pairs if pairs else None,
        accuracy_b=(paired.both_right + gained) / pairs if pairs else None,
        **effect._asdict(),
        resamples=resamples,
        seed=seed,
        notes=tuple(_notes(paired, pairs, len(a.packed), len(b.packed))),
    )


class _Effect(NamedTuple):
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    p_mcnemar: float | None = None
    p_groups: float | None = None
    p: float | None = None
    p_method: str | None = None
    standard_error: float | None = None
    minimum_detectable_effect: float | None = None


def _effect(paired: _Pairs, gained: int, lost: int, resamples: int, seed: int) -> _Effect:
    differences, counted = paired.arrays()
    groups, pairs = len(counted), int(counted.sum())
    difference = (gained - lost) / pairs
    error = ratio_standard_error(differences, counted)
    p_groups, p_method = 1.0, ""
    if not differences.any():
        # Every resample gives 0: bound the share of groups that differ at all instead.
        bound = wilson(0.0, groups)[1]
        low, high, method = -bound, bound, "wilson, no group differs"
    elif groups < MIN_GROUPS:
        low, high = t_interval(difference, error, groups)
        method = "t over groups"
    else:
        low, high, p_groups = _bootstrap(differences, counted, resamples, seed)
        method = p_method = "bootstrap over groups"
    differing = differences[differences != 0]
    if len(differing) < MIN_GROUPS:
        p_groups, p_method = sign_flip_p(differing), "sign flips over groups"
    p_mcnemar = mcnemar(gained, lost)
    independent = groups == pairs
    return _Effect(
        difference=difference,
        low=low,
        high=high,
        method=method,
        p_mcnemar=p_mcnemar,
        p_groups=p_groups,
        p=p_mcnemar if independent else p_groups,
        p_method="McNemar, exact" if independent else p_method,
        standard_error=error,
        # A standard error of 0 comes from runs that don't differ, and says nothing about other pairs of runs.
        minimum_detectable_effect=minimum_detectable_effect(error) if error else None,
    )


def _bootstrap(differences: "Integers", counted: "Integers", resamples: int, seed: int) -> tuple[float, float, float]:
    import numpy as np

    draws = resample_ratio(differences, counted, resamples=resamples, seed=seed)
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    # Twice the share of resamples on the far side of no difference; never 0, however many there are.
    beyond = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return float(low), float(high), min(1.0, 2 * (beyond + 1) / (resamples + 1))


def _ids(ids: Iterable[str]) -> Ids:
    ordered = sorted(ids, key=natural_key)
    return Ids(total=len(ordered), ids=tuple(ordered[:MAX_ROWS]))


def _notes(paired: _Pairs, pairs: int, samples_a: int, samples_b: int) -> list[str]:
    notes: list[str] = []
    if not pairs:
        notes.append("No sample has a verdict in both runs: nothing to compare.")
    elif pairs < max(samples_a, samples_b):
        notes.append(f"The comparison is about {pairs:,} pairs, of {samples_a:,} and {samples_b:,} samples.")
    if paired.regrouped:
        notes.append(
            f"{paired.regrouped:,} samples belong to other groups in the second run; the first run's are used."
        )
    return notes
