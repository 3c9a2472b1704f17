"""Outcomes to accuracies, by facet, with every sample accounted for.

Two accuracies stand side by side: `reference` (the published script's verdicts) and `robust` (the right
ones). Each is

    accuracy = samples right / samples counted        every sample counts once

where missing samples (see `assay.mark.status`) are left out or count as not right, as `on_missing` says.

A summary depends only on the set of outcomes, not on their order; it holds nine bytes for each sample and
facet value, and 17 for a judge's verdict.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from assay.mark.intervals import CONFIDENCE
from assay.mark.judged import Judged, JudgedTally
from assay.mark.status import PUBLISHED, Mode, OnMissing, Status, credit, group_number, natural_key, status
from assay.mark.tally import Score, Tally, verdict_code
from assay.types import Failure, Marked, Outcome, Usage, Verdict

__all__ = [
    "MAX_FACET_VALUES",
    "MAX_ROWS",
    "Cell",
    "Counts",
    "Differing",
    "DifferingRow",
    "Headline",
    "Mode",
    "OnMissing",
    "Score",
    "Status",
    "Summary",
    "credit",
    "natural_key",
    "status",
    "summarise",
]

MAX_ROWS = 1_000  # rows listed in a summary or a comparison; their total number is always given
MAX_FACET_VALUES = 1_000  # a facet with more values is an identifier, not something to group by


class Headline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `Score`, and what the accuracy would be under either treatment of missing samples."""

    correct: int
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    method: str | None
    accuracy_failed_as_wrong: float | None
    accuracy_failed_excluded: float | None


class Cell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One value of a facet. `n`: its samples, missing ones included."""

    n: int
    reference: Score
    robust: Score


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many samples have each `Status`; they sum to all samples."""

    right: int = 0
    wrong: int = 0
    unanswered: int = 0
    truncated: int = 0
    refused: int = 0
    unmarkable: int = 0
    failed: int = 0


class DifferingRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sample_id: str
    reference: Verdict
    robust: Verdict
    reason: str


class Differing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Samples whose two verdicts count differently; `rows` holds the first `MAX_ROWS` by id."""

    total: int
    only_reference_right: int
    only_robust_right: int
    rows: tuple[DifferingRow, ...]


class Summary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a set of outcomes says; its JSON is what `--json` prints.

    Attributes:
        samples: outcomes summarised.
        expected: samples that there should be, where the caller knows; a shortfall is noted.
        groups: clusters of samples that share a picture or a seed question; intervals are drawn over them.
        weights: how samples are weighted in every accuracy.
        counts: by `Status` of the robust verdict; `counts_reference` the same for the script's.
        failures: `stage/kind` of failures -> number.
        finishes: finish reason of replies -> number (`length`: cut at the token limit).
        judged: the language model's verdicts beside both; None where no judge was asked.
        facets: facet -> value -> accuracy over the samples that have the value (a sample may have several).
        usage, attempts: tokens and calls over all samples, as far as they were recorded.
        notes: what a reader of the numbers must know.
    """

    samples: int
    expected: int | None
    on_missing: OnMissing
    groups: int
    weights: str
    confidence: float
    resamples: int
    seed: int
    reference: Headline
    robust: Headline
    judged: Judged | None = None
    counts: Counts
    counts_reference: Counts
    failures: dict[str, int]
    finishes: dict[str, int]
    facets: dict[str, dict[str, Cell]]
    differing: Differing
    usage: Usage
    attempts: int
    notes: tuple[str, ...]


def _headline(tally: Tally, mode: Mode, on_missing: OnMissing, resamples: int, seed: int) -> Headline:
    score = tally.score(mode, on_missing, resamples=resamples, seed=seed)
    samples, known = len(tally), len(tally) - tally.missing(mode)
    return Headline(
        correct=score.correct,
        n=score.n,
        accuracy=score.accuracy,
        low=score.low,
        high=score.high,
        method=score.method,
        accuracy_failed_as_wrong=score.correct / samples if samples else None,
        accuracy_failed_excluded=score.correct / known if known else None,
    )


class _Differences:
    """Counts the differing samples and keeps the first `MAX_ROWS` by id, whatever order they come in."""

    def __init__(self) -> None:
        self.total = self.only_reference = self.only_robust = 0
        self.rows: list[DifferingRow] = []

    def add(self, sample_id: str, marked: Marked) -> None:
        reference, robust = marked.reference, marked.robust
        if reference.reason == PUBLISHED:
            return  # no reply was read, so none was read differently
        if (reference.verdict == "right") == (robust.verdict == "right") and robust.verdict != "unmarkable":
            return
        self.total += 1
        self.only_reference += reference.verdict == "right"
        self.only_robust += robust.verdict == "right"
        reason = marked.difference or robust.reason or reference.reason
        row = DifferingRow(sample_id=sample_id, reference=reference.verdict, robust=robust.verdict, reason=reason)
        self.rows.append(row)
        if len(self.rows) >= 2 * MAX_ROWS:
            self._prune()

    def _prune(self) -> None:
        self.rows.sort(key=lambda row: (natural_key(row.sample_id), row.reason))
        del self.rows[MAX_ROWS:]

    def result(self) -> Differing:
        self._prune()
        return Differing(
            total=self.total,
            only_reference_right=self.only_reference,
            only_robust_right=self.only_robust,
            rows=tuple(self.rows),
        )


class _Gathering:
    """One pass over the outcomes."""

    def __init__(self) -> None:
        self.all = Tally()
        self.facets: dict[str, dict[str, Tally]] = {}
        self.dropped_facets: set[str] = set()
        self.robust: Counter[str] = Counter()
        self.reference: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.finishes: Counter[str] = Counter()
        self.differences = _Differences()
        self.judged = JudgedTally()
        self.prompt_tokens = self.completion_tokens = self.attempts = 0
        self.cut_but_answered = 0

    def add(self, outcome: Outcome) -> None:
        code, group = verdict_code(outcome), group_number(outcome.group)
        self.all.add(code, group)
        self.judged.add(outcome, group)
        for facet, values in outcome.facets.items():
            self._add_facet(facet, values, code, group)
        robust = status(outcome, "robust")
        self.robust[robust] += 1
        self.reference[status(outcome, "reference")] += 1
        if isinstance(outcome.result, Failure):
            self.failures[f"{outcome.result.stage}/{outcome.result.kind}"] += 1
        else:
            self.differences.add(outcome.sample_id, outcome.result)
        if outcome.finish is not None:
            self.finishes[outcome.finish] += 1
        self.cut_but_answered += outcome.finish == "length" and robust in ("right", "wrong")
        if outcome.usage is not None:
            self.prompt_tokens += outcome.usage.prompt_tokens
            self.completion_tokens += outcome.usage.completion_tokens
        self.attempts += outcome.attempts

    def _add_facet(self, facet: str, values: tuple[str, ...], code: int, group: int) -> None:
        if facet in self.dropped_facets:
            return
        tallies = self.facets.setdefault(facet, {})
        for value in dict.fromkeys(values):
            tallies.setdefault(value, Tally()).add(code, group)
        if len(tallies) > MAX_FACET_VALUES:
            del self.facets[facet]
            self.dropped_facets.add(facet)

    def notes(self, on_missing: OnMissing, expected: int | None) -> list[str]:
        samples, failed, unmarkable = len(self.all), self.robust["failed"], self.robust["unmarkable"]
        notes: list[str] = []
        if expected is not None and samples < expected:
            left = expected - samples
            notes.append(f"Not complete: {left:,} of {expected:,} samples have no outcome, and are in no number.")
        if expected is not None and samples > expected:
            notes.append(f"There are {samples:,} outcomes for {expected:,} samples.")
        if failed or unmarkable:
            how = "left out of the accuracy" if on_missing == "exclude" else "counted as not right"
            script = self.reference["unmarkable"]
            also = f", in reference {script:,}" if script else ""
            notes.append(f"Samples {how}: {failed:,} failed, and in robust {unmarkable:,} unmarkable{also}.")
        if self.finishes["length"]:
            cut, answered = self.finishes["length"], self.cut_but_answered
            notes.append(
                f"Replies cut at the token limit: {cut:,}, of which {answered:,} had answered explicitly before."
            )
        notes += [
            f"Facet {facet!r} has more than {MAX_FACET_VALUES:,} values and is not tabled."
            for facet in sorted(self.dropped_facets)
        ]
        return notes


def summarise(
    outcomes: Iterable[Outcome],
    *,
    on_missing: OnMissing,
    resamples: int = 2000,
    seed: int = 0,
    expected: int | None = None,
) -> Summary:
    """Both accuracies over all outcomes and by facet, with intervals, counts and the rows where they differ.

    Args:
        outcomes: read once, so a generator will do.
        on_missing: what becomes of samples without a verdict; what every reader of a number must know.
        resamples, seed: of the bootstrap.
        expected: how many samples there should be, if known.
    """
    gathering = _Gathering()
    for outcome in outcomes:
        gathering.add(outcome)
    everything = gathering.all

    def cell(tally: Tally) -> Cell:
        return Cell(
            n=len(tally),
            reference=tally.score("reference", on_missing, resamples=resamples, seed=seed),
            robust=tally.score("robust", on_missing, resamples=resamples, seed=seed),
        )

    return Summary(
        samples=len(everything),
        expected=expected,
        on_missing=on_missing,
        groups=everything.groups,
        weights="every sample counts once",
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
        reference=_headline(everything, "reference", on_missing, resamples, seed),
        robust=_headline(everything, "robust", on_missing, resamples, seed),
        judged=gathering.judged.result(on_missing, resamples=resamples, seed=seed),
        counts=_counts(gathering.robust),
        counts_reference=_counts(gathering.reference),
        failures=dict(sorted(gathering.failures.items())),
        finishes=dict(sorted(gathering.finishes.items())),
        facets={
            facet: {value: cell(tallies[value]) for value in sorted(tallies, key=natural_key)}
            for facet, tallies in sorted(gathering.facets.items())
        },
        differing=gathering.differences.result(),
        usage=Usage(prompt_tokens=gathering.prompt_tokens, completion_tokens=gathering.completion_tokens),
        attempts=gathering.attempts,
        notes=tuple(gathering.notes(on_missing, expected)),
    )


def _counts(counter: Counter[str]) -> Counts:
    return Counts(**{name: counter[name] for name in Counts.__struct_fields__})
