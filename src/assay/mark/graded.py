"""The mean of graded credits (F1) with its interval: by groups, and with the rule for failures of an accuracy."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from assay.mark.intervals import accuracy_interval
from assay.mark.status import OnMissing
from assay.types import Marked, Outcome

_STEPS = 1_000_000  # credits are summed as whole numbers of this part, so that no order of samples changes a sum


class MeanCredit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The mean credit of the `n` samples counted, 0 to 1, with its 95 % interval; None where n is 0."""

    mean: float | None
    low: float | None
    high: float | None
    method: str | None
    n: int


def mean_credit(
    outcomes: Iterable[Outcome], on_missing: OnMissing, *, resamples: int = 2000, seed: int = 0
) -> MeanCredit:
    """The mean of the reference marks' credits; a mark without one has none. Failures are left out or count 0."""
    import numpy as np

    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for outcome in outcomes:
        marked = isinstance(outcome.result, Marked)
        if not marked and on_missing == "exclude":
            continue
        credit = outcome.result.reference.credit if isinstance(outcome.result, Marked) else None
        held = sums[outcome.group]
        held[0] += round((credit or 0.0) * _STEPS)
        held[1] += 1
    table = np.array(list(sums.values()) or [(0, 0)], dtype=np.int64)
    n = int(table[:, 1].sum())
    interval = accuracy_interval(table[:, 0], table[:, 1] * _STEPS, resamples=resamples, seed=seed)
    return MeanCredit(
        mean=int(table[:, 0].sum()) / (n * _STEPS) if n else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        method=interval.method if interval else None,
        n=n,
    )
