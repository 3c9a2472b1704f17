"""FinScore as the FinMME paper writes it (arXiv 2505.24714).

With c correct and i incorrect of the s selections made in a question, n its number of options, K domains of N_k rows
each:

    S = max(0, c / n - i / s)                multiple choice; the other questions 1 for right and 0 for not right
    F = (1 / K) sum_k (1 / N_k) sum S        P_H = mean(i / s)        FinScore = F (1 - P_H)

The paper is silent on: what S is for the other question types (ours, as above); s = 0 (ours: S = 0, nothing
hallucinated); whether n counts all options, under which a perfect answer scores less than 1, or the correct ones (both
are given, by name); whether P_H averages over all questions or those with a choice (both are given, by name).

No reading gives the published numbers; `assay.mark.finscore` has the definition that does.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from assay.mark.status import OnMissing, credit, natural_key
from assay.types import Failure, Outcome

__all__ = [
    "NO_DOMAIN",
    "PaperDomain",
    "PaperFinScore",
    "PaperRow",
    "PenaltyOver",
    "Total",
    "finscore_paper",
    "paper_rows",
]

Total = Literal["all_options", "correct_options"]
PenaltyOver = Literal["all", "choice"]

NO_DOMAIN = (
    "FinScore averages over knowledge domains, and no row here names one (the copy on the hub has no such column)."
)


class PaperRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answered or unanswered question, as the paper's formula needs it.

    `options` is None where the data doesn't list them. `right` decides the questions that aren't multiple choice.
    """

    domain: str | None
    question_type: str
    correct_selections: int
    incorrect_selections: int
    selections: int
    options: int | None
    correct_options: int
    right: bool


class PaperDomain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    n: int
    mean: float


class PaperFinScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The paper's FinScore under one reading of n (`total`) and of P_H (`penalty_over`); see `ReferenceFinScore`.

    `domain_mean` is F, `penalty` P_H over `penalty_n` rows, `undomained` the mean of S over all rows times (1 - P_H).
    """

    total: Total
    penalty_over: PenaltyOver
    finscore: float | None
    why_none: str | None
    domain_mean: float | None
    domains: dict[str, PaperDomain]
    without_domain: int
    penalty: float
    penalty_n: int
    n: int
    undomained: float | None


def finscore_paper(rows: Sequence[PaperRow], *, total: Total, penalty_over: PenaltyOver) -> PaperFinScore:
    """FinScore as the paper writes it (formula above), under one reading of n and one of P_H.

    Raises:
        ValueError: for a row whose counts contradict each other.
    """
    terms: defaultdict[str, list[float]] = defaultdict(list)
    scores: list[float] = []
    hallucinations: list[float] = []
    unknown = 0
    for row in rows:
        _check(row)
        hallucinated = _hallucinated(row)
        if penalty_over == "all" or row.question_type != "numerical":
            hallucinations.append(hallucinated)
        score = _row_score(row, total)
        if score is None:
            unknown += 1
            continue
        scores.append(score)
        if row.domain is not None:
            terms[row.domain].append(score)
    penalty = math.fsum(hallucinations) / len(hallucinations) if hallucinations else 0.0
    domains = {
        name: PaperDomain(n=len(terms[name]), mean=math.fsum(terms[name]) / len(terms[name]))
        for name in sorted(terms, key=natural_key)
    }
    mean = math.fsum(domain.mean for domain in domains.values()) / len(domains) if domains else None
    why_none = _why_no_paper_score(len(rows), unknown, bool(domains))
    return PaperFinScore(
        total=total,
        penalty_over=penalty_over,
        finscore=None if why_none or mean is None else mean * (1 - penalty),
        why_none=why_none,
        domain_mean=mean,
        domains=domains,
        without_domain=sum(row.domain is None for row in rows),
        penalty=penalty,
        penalty_n=len(hallucinations),
        n=len(rows),
        undomained=math.fsum(scores) / len(scores) * (1 - penalty) if scores and not unknown else None,
    )


def _row_score(row: PaperRow, total: Total) -> float | None:
    """S of one row; None where it needs the number of options and the data doesn't have it."""
    if row.question_type != "multiple_choice":
        return float(row.right)
    options = row.options if total == "all_options" else row.correct_options
    if options is None:
        return None
    if row.selections == 0:
        return 0.0
    return max(0.0, row.correct_selections / options - row.incorrect_selections / row.selections)


def _hallucinated(row: PaperRow) -> float:
    """i / s; a number isn't selected from anything, so a numerical row has none."""
    if row.question_type == "numerical" or row.selections == 0:
        return 0.0
    return row.incorrect_selections / row.selections


def _check(row: PaperRow) -> None:
    if row.selections != row.correct_selections + row.incorrect_selections:
        raise ValueError(f"selections are not correct and incorrect ones together: {row}")
    if not 0 <= row.correct_selections <= row.correct_options or row.incorrect_selections < 0:
        raise ValueError(f"more correct selections than correct options: {row}")
    if row.question_type == "multiple_choice" and row.correct_options < 1:
        raise ValueError(f"a multiple-choice row without a correct option: {row}")
    if row.options is not None and row.options < row.correct_options:
        raise ValueError(f"more correct options than options: {row}")


def _why_no_paper_score(rows: int, unknown: int, domains: bool) -> str | None:
    if not rows:
        return "There is no row to score."
    if unknown:
        return f"Multiple-choice rows that don't list their options: {unknown:,}, so n is unknown."
    return None if domains else NO_DOMAIN


def paper_rows(outcomes: Iterable[Outcome], *, on_missing: OnMissing) -> list[PaperRow]:
    """The rows of `finscore_paper`, from robust verdicts (the paper has no extraction of its own).

    Reads `Outcome.detail`: `gold` (right labels, comma-separated) and `options` (how many there are, if known), and the
    labels selected from the mark's extraction. A missing row is left out, or has nothing selected and is not right.
    """
    rows: list[PaperRow] = []
    for outcome in outcomes:
        right = credit(outcome, "robust")
        question_type = next(iter(outcome.facets.get("question_type", ())), "")
        gold = _labels(outcome.detail.get("gold"))
        if (right is None and on_missing == "exclude") or (question_type == "multiple_choice" and not gold):
            continue
        selected = _selected(outcome) if question_type != "numerical" else frozenset[str]()
        options = outcome.detail.get("options")
        rows.append(
            PaperRow(
                domain=next(iter(outcome.facets.get("knowledge_domain", ())), None),
                question_type=question_type,
                correct_selections=len(selected & gold),
                incorrect_selections=len(selected - gold),
                selections=len(selected),
                options=None if options is None else int(options),
                correct_options=len(gold),
                right=bool(right),
            )
        )
    return rows


def _selected(outcome: Outcome) -> frozenset[str]:
    if isinstance(outcome.result, Failure) or outcome.result.robust.verdict not in ("right", "wrong"):
        return frozenset()
    return _labels(outcome.result.robust.extraction)


def _labels(text: str | None) -> frozenset[str]:
    return frozenset(label.strip() for label in (text or "").split(",") if label.strip())
