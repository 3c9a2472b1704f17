"""The result of a run or of a file of replies as one JSON-ready object: what `--json` prints."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from assay.benchmarks.base import Benchmark, Dataset
from assay.benchmarks.conditions import condition_notes
from assay.engine.store import RunStore
from assay.mark.stability import Stability, stability
from assay.mark.summary import OnMissing, Summary, summarise
from assay.solve.abstain import Abstention
from assay.solve.controls import Controls
from assay.types import Outcome


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A score with everything that a reader needs to trust it.

    Attributes:
        benchmark, split, revision: what was asked; `revision` identifies the question file.
        model: who answered: a model's identity, or the file that the replies came from.
        where: conditions that the samples meet; a score on such a part is no score on the whole split.
        data: facts about the data (missing domains, rows without gold, ...).
        notes: what was inferred or left out on the way.
        summary: accuracies, intervals, counts, facets, differing rows.
        scores: the benchmark's own results (FinMME: `finscore`).
        controls: what a search's pools give under every strategy; None for a run without a search.
        abstention: accuracy against coverage where the critic is unsure; None where nobody asked.
        stability: what other conditions than the plain one say; None for a run without. `summary` and `scores` are
            about the plain condition alone.
    """

    benchmark: str
    split: str
    revision: str
    model: str
    where: tuple[str, ...] = ()
    data: tuple[str, ...]
    notes: tuple[str, ...]
    summary: Summary
    scores: dict[str, Any]
    stability: Stability | None = None
    controls: Controls | None = None
    abstention: Abstention | None = None

    def to_json(self) -> str:
        """Indented JSON; the summary's and the benchmark's fields stand on the top level."""
        fields = {
            "benchmark": self.benchmark,
            "split": self.split,
            "revision": self.revision,
            "model": self.model,
            "where": self.where,
            "data": self.data,
            **msgspec.to_builtins(self.summary),
            "notes": self.notes + self.summary.notes,
            **self.scores,
        }
        if self.stability is not None:
            fields["stability"] = msgspec.to_builtins(self.stability)
        if self.controls is not None:
            fields["controls"] = msgspec.to_builtins(self.controls, str_keys=True)
        if self.abstention is not None:
            fields["abstention"] = msgspec.to_builtins(self.abstention)
        return indented(fields)


def indented(record: object) -> str:
    """A record as indented JSON text."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode()


class Stored:
    """A run's outcomes, read from the disk whenever they are iterated."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Outcome]:
        return self._store.outcomes()


class Plain:
    """Those outcomes that came from the plain condition."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = outcomes

    def __iter__(self) -> Iterator[Outcome]:
        return (outcome for outcome in self._outcomes if not outcome.condition)


def result_of(
    benchmark: Benchmark,
    dataset: Dataset,
    outcomes: Iterable[Outcome],
    *,
    model: str,
    on_missing: OnMissing,
    expected: int | None = None,
    notes: tuple[str, ...] = (),
    where: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
    controls: Controls | None = None,
    abstention: Abstention | None = None,
) -> Result:
    """Summarise outcomes; `outcomes` is iterated more than once. `conditions`: see `Manifest.conditions`."""
    plain = Plain(outcomes)
    if conditions:
        notes += (
            "Every number here is about the plain condition, but for those under the heading of the conditions.",
            *condition_notes(dataset, conditions, outcomes),
        )
    return Result(
        benchmark=benchmark.name,
        split=dataset.split,
        revision=dataset.revision,
        model=model,
        where=where,
        data=dataset.facts,
        notes=notes,
        summary=summarise(plain, on_missing=on_missing, expected=expected),
        scores=benchmark.scores(plain, on_missing),
        stability=stability(outcomes, on_missing=on_missing) if conditions else None,
        controls=controls,
        abstention=abstention,
    )
