"""FinScore of the FinMME benchmark (arXiv 2505.24714), by two definitions that disagree.

`finscore_reference` is what the benchmark's published script computes. It is the default, and the one to hold against
published numbers:

    D = (1 / K) sum_k right_k / n_k          mean over the K knowledge domains, rows without a domain dropped
    H = errors / m                           over the m multiple-choice rows whose answer as written is longer than
                                             one character; 0 where there are none
    FinScore = D (1 - H)

`finscore_paper` is the formula of the paper, which gives other numbers; see that module.

All values are fractions; papers print percent.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.mark.finscore_paper import (
    NO_DOMAIN,
    PaperDomain,
    PaperFinScore,
    PaperRow,
    PenaltyOver,
    Total,
    finscore_paper,
    paper_rows,
)
from assay.mark.intervals import CONFIDENCE, MIN_GROUPS, resample_sums
from assay.mark.status import Mode, OnMissing, credit, group_number, natural_key, status
from assay.mark.summary import Counts
from assay.types import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Domain",
    "FinScore",
    "PaperDomain",
    "PaperFinScore",
    "PaperRow",
    "PenaltyOver",
    "ReferenceFinScore",
    "Total",
    "finscore",
    "finscore_paper",
    "finscore_reference",
    "paper_rows",
]


class Domain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One knowledge domain; all domains weigh the same, whatever their `n`."""

    correct: int
    n: int
    accuracy: float


class ReferenceFinScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The script's FinScore and everything it is made of.

    Attributes:
        verdicts: whose verdicts went in; only `reference` is comparable with published numbers.
        finscore: None where it can't be computed; `why_none` then says why.
        low, high: 95 % interval, bootstrap over groups; None with fewer than 10 groups.
        domain_mean: D. `domains` are its terms, `without_domain` the rows that it drops.
        lost_domains: domains all of whose rows are missing and left out, so that the mean is over fewer domains.
        penalty: H. `penalty_errors` of `penalty_n` rows.
        accuracy: `correct` of `n` rows, every row counting once, with or without a domain.
        undomained: accuracy x (1 - H). Not a FinScore: what can be had without domains.
        counts: all rows by status of the robust verdict (the script knows only right and wrong).
    """

    verdicts: Mode
    on_missing: OnMissing
    finscore: float | None
    why_none: str | None
    low: float | None
    high: float | None
    domain_mean: float | None
    domains: dict[str, Domain]
    without_domain: int
    penalty: float
    penalty_n: int
    penalty_errors: int
    accuracy: float | None
    correct: int
    n: int
    undomained: float | None
    counts: Counts
    lost_domains: tuple[str, ...] = ()


class FinScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """FinScore by every definition: the comparable one first."""

    reference: ReferenceFinScore
    robust: ReferenceFinScore
    paper: tuple[PaperFinScore, ...]


# --------------------------------------------------------------------------------------------------------------------
# The script's definition


def finscore_reference(
    outcomes: Iterable[Outcome],
    *,
    on_missing: OnMissing,
    verdicts: Mode = "reference",
    resamples: int = 2000,
    seed: int = 0,
) -> ReferenceFinScore:
    """FinScore as the published script computes it (formula above).

    Reads the facets `knowledge_domain`, `question_type` and `multi_answer` (`yes`: the answer as written is longer than
    one character). The script itself has an empty reply for a failed call, so it counts as wrong, and on multi-answer
    rows as a hallucination: that is `on_missing="wrong"`.
    """
    gathered = _Rows(verdicts, on_missing)
    for outcome in outcomes:
        gathered.add(outcome)
    return _reference(gathered, resamples, seed)


def _reference(gathered: "_Rows", resamples: int, seed: int) -> ReferenceFinScore:
    rows, correct = len(gathered.groups), gathered.total["right", None]
    penalty_n, errors = gathered.total["penalty", None], gathered.total["error", None]
    domains = {name: gathered.domain(name) for name in sorted(gathered.domains, key=natural_key)}
    mean = math.fsum(domain.accuracy for domain in domains.values()) / len(domains) if domains else None
    penalty = errors / penalty_n if penalty_n else 0.0
    accuracy = correct / rows if rows else None
    low, high = gathered.interval(resamples, seed)
    return ReferenceFinScore(
        verdicts=gathered.verdicts,
        on_missing=gathered.on_missing,
        finscore=None if mean is None else mean * (1 - penalty),
        why_none=None if domains else NO_DOMAIN if rows else "There is no row to score.",
        low=low,
        high=high,
        domain_mean=mean,
        domains=domains,
        without_domain=gathered.total["without_domain", None],
        penalty=penalty,
        penalty_n=penalty_n,
        penalty_errors=errors,
        accuracy=accuracy,
        correct=correct,
        n=rows,
        undomained=None if accuracy is None else accuracy * (1 - penalty),
        counts=Counts(**{name: gathered.statuses[name] for name in Counts.__struct_fields__}),
        lost_domains=tuple(sorted(gathered.named - domains.keys(), key=natural_key)),
    )


class _Rows:
    """The rows that count: the sums that D and H are made of, and compact columns to draw groups from."""

    def __init__(self, verdicts: Mode, on_missing: OnMissing) -> None:
        self.verdicts: Mode = verdicts
        self.on_missing: OnMissing = on_missing
        self.statuses: Counter[str] = Counter()
        self.total: Counter[tuple[str, str | None]] = Counter()  # (what, domain, or None for all rows)
        self.domains: dict[str, int] = {}
        self.named: set[str] = set()  # domains of all rows, counted or not
        # By row; then one entry for each domain of a row.
        self.groups, self.right, self.penalised = array("Q"), bytearray(), bytearray()
        self.entry_rows, self.entry_domains = array("L"), array("L")

    def add(self, outcome: Outcome) -> None:
        self.statuses[status(outcome, "robust")] += 1
        self.named.update(outcome.facets.get("knowledge_domain", ()))
        right = credit(outcome, self.verdicts)
        if right is None and self.on_missing == "exclude":
            return
        right = bool(right)
        domains = dict.fromkeys(outcome.facets.get("knowledge_domain", ()))
        penalised = outcome.facets.get("question_type") == ("multiple_choice",) and "multi_answer" in outcome.facets
        self.total["right", None] += right
        self.total["without_domain", None] += not domains
        self.total["penalty", None] += penalised
        self.total["error", None] += penalised and not right
        for domain in domains:
            self.total["n", domain] += 1
            self.total["right", domain] += right
            self.entry_rows.append(len(self.groups))
            self.entry_domains.append(self.domains.setdefault(domain, len(self.domains)))
        self.groups.append(group_number(outcome.group))
        self.right.append(right)
        self.penalised.append(penalised)

    def domain(self, name: str) -> Domain:
        correct, n = self.total["right", name], self.total["n", name]
        return Domain(correct=correct, n=n, accuracy=correct / n)

    def interval(self, resamples: int, seed: int) -> tuple[float | None, float | None]:
        """Percentile bootstrap over groups; a domain that a draw has no row of is left out of its mean."""
        import numpy as np

        names, group_of = np.unique(np.array(self.groups, dtype=np.uint64), return_inverse=True)
        count = len(self.domains)
        if not count or len(names) < MIN_GROUPS:
            return None, None
        right, penalised = np.array(self.right, dtype=np.int64), np.array(self.penalised, dtype=np.int64)
        rows, place = np.array(self.entry_rows, dtype=np.int64), self._domain_places()
        # Columns: right by domain, rows by domain, errors, penalised rows.
        table = np.zeros((len(names), 2 * count + 2), dtype=np.int64)
        np.add.at(table, (group_of[rows], place), right[rows])
        np.add.at(table, (group_of[rows], count + place), 1)
        np.add.at(table[:, -2], group_of, penalised * (1 - right))
        np.add.at(table[:, -1], group_of, penalised)
        draws = resample_sums(table, resamples=resamples, seed=seed)
        n = draws[:, count:-2]
        accuracies = draws[:, :count] / np.maximum(n, 1)  # 0 where n is 0
        means = accuracies.sum(axis=1) / np.maximum((n > 0).sum(axis=1), 1)
        scores = means * (1 - draws[:, -2] / np.maximum(draws[:, -1], 1))
        low, high = np.quantile(scores, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return float(low), float(high)

    def _domain_places(self) -> "NDArray[np.int64]":
        """Each entry's column, by the domains' names, so that the order of rows doesn't matter."""
        import numpy as np

        places = np.empty(len(self.domains), dtype=np.int64)
        for place, name in enumerate(sorted(self.domains, key=natural_key)):
            places[self.domains[name]] = place
        return places[np.array(self.entry_domains, dtype=np.int64)]


def finscore(outcomes: Iterable[Outcome], *, on_missing: OnMissing, resamples: int = 2000, seed: int = 0) -> FinScore:
    """FinScore by the script's definition, the same on robust verdicts, and by the paper's under all its readings."""
    reference, robust = _Rows("reference", on_missing), _Rows("robust", on_missing)
    rows: list[PaperRow] = []
    for outcome in outcomes:
        reference.add(outcome)
        robust.add(outcome)
        rows += paper_rows((outcome,), on_missing=on_missing)
    readings: list[tuple[Total, PenaltyOver]] = [
        ("all_options", "all"),
        ("all_options", "choice"),
        ("correct_options", "all"),
        ("correct_options", "choice"),
    ]
    return FinScore(
        reference=_reference(reference, resamples, seed),
        robust=_reference(robust, resamples, seed),
        paper=tuple(finscore_paper(rows, total=total, penalty_over=over) for total, over in readings),
    )
