"""`assay score --replies`: what recorded replies score, and the run that they may be kept as."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.benchmarks.subset import join, subset
from assay.benchmarks.verdicts import PublishedVerdicts, read_verdicts, score_verdicts
from assay.cli.readers import read_all
from assay.errors import DataError, RunStopped, UsageError
from assay.mark.summary import OnMissing
from assay.report.result import Result, result_of
from assay.types import Outcome

if TYPE_CHECKING:
    from assay.judging.reading import Reader
    from assay.models.recorded import RecordedReplies

__all__ = ["Counting", "Keeping", "Replies", "score_file"]


@dataclass(frozen=True, kw_only=True)
class Replies:
    """Where recorded replies are and how they are read: see the options of the same names."""

    path: Path
    id_field: str | None
    reply_field: str | None
    replies_are: str
    extractions: bool


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Which samples count, and how: see the options of the same names."""

    where: tuple[str, ...]
    limit: int | None
    on_missing: OnMissing


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """The run that recorded replies are kept as, and who reads it."""

    out: Path
    source: Source
    readers: "Sequence[Reader]"


def score_file(
    replies: Replies, benchmark: Benchmark, dataset: Dataset, counting: Counting, keeping: Keeping | None
) -> Result:
    """The score of a file of replies or of published verdicts, or of a run's replies.

    Raises:
        UsageError: verdicts are to be kept, or data and file that don't go together.
        RunMismatch, RunLocked, RunError: see `engine.store`.
        RunStopped: keeping the replies, or having them read, ended early; what is finished is kept.
    """
    guessed = replies.id_field is None and replies.reply_field is None
    verdicts = read_verdicts(replies.path, benchmark) if guessed else None
    if verdicts is None:
        with closing(_open(replies, benchmark)) as recorded:
            return _Scoring(replies, benchmark, recorded, counting).result(dataset, keeping)
    if keeping is not None:
        raise UsageError(f"{replies.path} holds verdicts, no replies: there is nothing to keep or to judge.")
    return _score_published(benchmark, dataset, verdicts, counting)


def _open(replies: Replies, benchmark: Benchmark) -> "RecordedReplies":
    from assay.models.replay import read_replies

    rows = benchmark.published_rows if replies.id_field is None else None

    def row_id(row: dict[str, Any]) -> str | None:
        return rows(row)[0].get("id") if rows else None

    return read_replies(replies.path, id_field=replies.id_field, reply_field=replies.reply_field, row_id=row_id)


@dataclass(frozen=True)
class _Scoring:
    """Recorded replies on their way to a score."""

    replies: Replies
    benchmark: Benchmark
    recorded: "RecordedReplies"
    counting: Counting

    def result(self, dataset: Dataset, keeping: Keeping | None) -> Result:
        """The score over the data that counts, and over the file's own rows where the data does not hold them."""
        from assay.score import strangers

        notes = [*self._how_taken(kept=keeping is not None), *self._repeated()]
        unknown = strangers(dataset, self.recorded)
        own = self._own_rows(dataset) if unknown else None
        if unknown:
            where = (
                "in no number" if own is None else "only in `recorded_rows`, scored by the answers in their own rows"
            )
            notes.append(f"{unknown:,} recorded replies have ids that the data does not hold; they are {where}.")
        part = subset(dataset, self.counting.where)
        if keeping is None:
            outcomes = self._marked(part)
        else:
            self._keep(part, keeping)
            outcomes, more = _kept(keeping.out, self.benchmark)
            notes += more
        result = _result(self.benchmark, part, outcomes, self.recorded.path, self.counting, notes)
        if own is None:
            return result
        beyond = {"samples": len(own), **self.benchmark.scores(self._marked(own), self.counting.on_missing)}
        return structs.replace(result, scores={**result.scores, "recorded_rows": beyond})

    @property
    def extracted(self) -> bool:
        """Whether the replies are answers that somebody has extracted."""
        are = self.replies.replies_are
        return are == "answers" or (are == "auto" and self.recorded.looks_extracted)

    def _how_taken(self, *, kept: bool) -> Iterator[str]:
        from assay.judging.reading import extraction_note

        if self.extracted:
            asked = self.replies.replies_are == "answers"
            how = "as asked" if asked else "every one is a bare token; --replies-are texts to change"
            yield f"The recorded replies are taken as extracted answers ({how})."
        elif self.benchmark.llm_extraction and not kept:  # a run says so itself: `run_notes`
            extractions = self.recorded.extractions if self.replies.extractions else 0
            yield extraction_note(len(self.recorded), recorded=extractions)

    def _repeated(self) -> Iterator[str]:
        again = len(self.recorded) - sum(1 for _ in self.recorded.ids())
        if again > 0:
            yield f"{again:,} rows repeat an id: they are taken as further draws, and the first of each counts."

    def _marked(self, samples: Dataset) -> list[Outcome]:
        from assay.engine.progress import watched
        from assay.score import score_replies

        outcomes = score_replies(
            self.benchmark,
            samples,
            self.recorded,
            extracted=self.extracted,
            use_extractions=self.replies.extractions,
            limit=self.counting.limit,
        )
        return list(watched(outcomes, total=self._total(samples)))

    def _total(self, samples: Dataset) -> int:
        limit = self.counting.limit
        return len(samples) if limit is None else min(limit, len(samples))

    def _keep(self, samples: Dataset, keeping: Keeping) -> None:
        """Keep replies and marks as a run, which is then read by whoever is to read it.

        Raises:
            RunStopped: it ended early; what is finished is kept.
        """
        from assay.engine.progress import Progress
        from assay.score import keep_replies

        source = keeping.source
        try:
            with Progress(total=self._total(samples)) as progress:
                keep_replies(
                    keeping.out,
                    self.benchmark,
                    samples,
                    self.recorded,
                    data=str(source.data) if source.data else "",
                    where=self.counting.where,
                    reading=source.reading,
                    extracted=self.extracted,
                    use_extractions=self.replies.extractions,
                    limit=self.counting.limit,
                    on_outcome=progress.count,
                )
        except KeyboardInterrupt:
            raise RunStopped(
                f"Stopped by Ctrl-C. What is marked is kept in {keeping.out}; the same command goes on from there."
            ) from None
        asyncio.run(read_all(keeping.out, keeping.readers, self.benchmark, samples))

    def _own_rows(self, dataset: Dataset) -> Dataset | None:
        """The file of replies as data, where its rows carry the right answers themselves: published outputs of the
        whole benchmark can be scored so by somebody who has only a part of it. Where the data has the question, both
        must agree.
        """
        if self.benchmark.published_rows is None or not self.recorded.path.is_file():
            return None
        source = Source(data=self.recorded.path, split=dataset.split, need_pictures=False)
        try:
            own = subset(self.benchmark.open(source), self.counting.where)
        except (DataError, UsageError):
            return None  # rows of somebody's own, with nothing but an id and a reply
        golds = {sample.id: sample.gold for sample in dataset}
        agree = all(sample.gold is not None and golds.get(sample.id, sample.gold) == sample.gold for sample in own)
        return own if agree else None


def _kept(run: Path, benchmark: Benchmark) -> tuple[list[Outcome], tuple[str, ...]]:
    """The outcomes as they are in the run now, and what is to be said of them."""
    from assay.engine.store import RunStore
    from assay.judging.reading import run_notes

    with RunStore.open(run) as store:
        outcomes = list(store.outcomes())
        return outcomes, run_notes(benchmark, store.manifest, outcomes)


def _score_published(
    benchmark: Benchmark, dataset: Dataset, published: PublishedVerdicts, counting: Counting
) -> Result:
    if benchmark.published_rows is not None:
        rows = benchmark.open(Source(data=published.path, split=dataset.split, need_pictures=False))
        fact = "{added} samples are not in the data; what is known of them stands in the file of verdicts."
        dataset = join(dataset, rows, fact)
    dataset = subset(dataset, counting.where)
    outcomes = list(score_verdicts(benchmark, dataset, published, limit=counting.limit))
    note = "The file holds published verdicts, no replies: reference repeats them, and robust can't be had."
    return _result(benchmark, dataset, outcomes, published.path, counting, [note])


def _result(
    benchmark: Benchmark,
    dataset: Dataset,
    outcomes: Sequence[Outcome],
    file: Path,
    counting: Counting,
    notes: Sequence[str],
) -> Result:
    return result_of(
        benchmark,
        dataset,
        outcomes,
        model=str(file),
        on_missing=counting.on_missing,
        notes=tuple(notes),
        where=counting.where,
    )
