"""An extractor or a judge goes through a run: it reads every stored reply, and what it says is added to the marks.

A reading is a run of its own inside the folder of the run that it reads, `RUN/judge/NAME` or `RUN/extractor/NAME`, one
for each model, prompt and sampling. So its replies are stored and paid once, a killed reading goes on where it was, its
failed calls are asked again by the same command, and several judges can be kept side by side. Once it is through, its
results are written into the lines of the run itself; a failed call of a judge leaves the sample with its marks by rule.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from assay.benchmarks.base import Benchmark, Dataset, mark_at_once, mark_reply
from assay.benchmarks.conditions import Asked, Question
from assay.engine.caller import Retry
from assay.engine.local import Item as AnyItem
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, read_manifest, seal
from assay.engine.tally import Tally
from assay.errors import DataError, UsageError
from assay.judging.asking import SAMPLING, Extraction, Role, extract, judge, prompt_hash
from assay.mark.status import status
from assay.models.base import Model
from assay.types import (
    Condition,
    Failure,
    JudgeMark,
    Manifest,
    Marked,
    Outcome,
    Reply,
    Sample,
    Sampling,
    Usage,
    Verdict,
)

T = TypeVar("T", bound=AnyItem)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Who reads, and how.

    Attributes:
        every: an extractor is asked about every reply, as published scripts do, not only about those in which the
            rules find no explicit answer.
        concurrency: most calls in flight.
    """

    role: Role
    model: Model
    sampling: Sampling = SAMPLING
    every: bool = False
    concurrency: int = 64
    retry: Retry = field(default_factory=Retry)


class Read(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of a reading.

    Attributes:
        replies: stored replies that the run has.
        calls, tokens: made and used now, retries included.
        changed: lines of the run that are new.
        problems: why there is no verdict or extraction -> number of replies.
    """

    replies: int
    calls: int
    tokens: Usage
    changed: int
    problems: dict[str, int]


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the run with its sample: what a reading works on."""

    sample: Sample
    outcome: Outcome

    @property
    def id(self) -> str:
        return self.outcome.id

    @property
    def group(self) -> str:
        return self.outcome.group

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        return self.outcome.facets


async def read_run(
    run: Path, reader: Reader, benchmark: Benchmark, dataset: Dataset, *, progress: bool = False
) -> Read:
    """Have every reply of a run read, and write what comes of it into the run.

    Raises:
        UsageError: an extractor for a benchmark whose script reads by rule.
        DataError: the run holds a sample that the data does not.
        RunLocked, RunMismatch, RunError: see `engine.store`.
        RunStopped: it ended early; what the model has said is kept.
    """
    check_reader(reader, benchmark)
    with RunStore.create_or_resume(run, read_manifest(run)) as store:
        items = [item for item in items_of(store, dataset) if _has_text(item.outcome)]
        work = _Work(store, reader, benchmark)
        with RunStore.create_or_resume(folder_of(store, reader), _manifest(store, reader)) as own:
            tally = await go_through(items, work, reader, own, failed=_failed, progress=progress)
            said = {outcome.id: outcome for outcome in own.outcomes()}
        settled = await asyncio.gather(*(work.settled(item, said[item.id]) for item in items))
        changed = [new for item, new in zip(items, settled, strict=True) if new != item.outcome]
        for outcome in changed:
            store.append(outcome)
        store.note({reader.role: _who(reader)})
    problems = Counter(problem for outcome in said.values() if (problem := _problem(outcome)))
    return Read(
        replies=len(items),
        calls=tally.calls,
        tokens=Usage(prompt_tokens=tally.prompt_tokens, completion_tokens=tally.completion_tokens),
        changed=len(changed),
        problems=dict(sorted(problems.items())),
    )


def check_reader(reader: Reader, benchmark: Benchmark) -> None:
    """Raise the `UsageError` with which `read_run` would refuse."""
    if reader.role == "extractor" and not benchmark.llm_extraction:
        raise UsageError(
            f"The published script of {benchmark.name} reads answers by rule: an extractor would change nothing. "
            "Leave --extractor out."
        )


def folder_of(store: RunStore, reader: Reader) -> Path:
    """Where a reading of a run lies."""
    return store.path / reader.role / f"{slug(reader.model.identity)}-{_manifest(store, reader).fingerprint[:12]}"


def slug(text: str) -> str:
    """A text as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:60]


def _manifest(store: RunStore, reader: Reader) -> Manifest:
    read = store.manifest
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark=read.benchmark,
            split=read.split,
            revision=read.revision,
            model=reader.model.identity,
            search=f"{reader.role} of every reply" if reader.every else reader.role,
            sampling=reader.sampling,
            seed=read.seed,
            prompt_hash=prompt_hash(reader.role),
            image_transform="",
            limit=None,
            data=f"run {read.fingerprint}",
            fingerprint="",
        )
    )


def _who(reader: Reader) -> dict[str, str]:
    return {"model": reader.model.identity, "prompt_hash": prompt_hash(reader.role)}


def run_notes(benchmark: Benchmark, manifest: Manifest, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Whose extractions a run's reference verdicts take, for a benchmark whose script extracts with a model."""
    if not benchmark.llm_extraction or manifest.environment.get("extracted"):
        return ()
    made = Counter(outcome.extraction is not None for outcome in outcomes if _has_text(outcome))
    who: dict[str, str] = manifest.environment.get("extractor", {})
    by = f"{who['model']} (prompt {who['prompt_hash'][:12]})" if who else ""
    recorded: int = manifest.environment.get("extractions", 0)
    return (extraction_note(made.total(), recorded=recorded, made=made[True], by=by),)


def extraction_note(replies: int, *, recorded: int, made: int = 0, by: str = "") -> str:
    """In how far reference verdicts rest on a language model's extractions, as the published script's do.

    Args:
        replies: all there are, of which `recorded` came with an extraction, and of `made` one was made now, `by` whom.
    """
    script = "The published script reads answers with a language model"
    if not recorded and not made:
        return f"{script}; here the reference verdicts read them by rule, so that a published score may differ."
    sources = [f"the {recorded:,} recorded extractions"] if recorded else []
    sources += [f"{made:,} extractions by {by}"] if made else []
    left = replies - recorded - made
    rest = f", and reads the other {left:,} by rule" if left else ""
    drop = " (--no-extractions: none)" if recorded and not made else ""
    return f"{script}: reference takes {' and '.join(sources)}{rest}{drop}."


def items_of(store: RunStore, dataset: Dataset) -> Iterator[Item]:
    """The lines of a run with their samples, in the data's order.

    Raises:
        DataError: at the end, where the run holds samples that the data does not.
    """
    left: dict[str, list[Outcome]] = {}
    for outcome in store.outcomes():
        left.setdefault(outcome.sample_id, []).append(outcome)
    for sample in dataset:
        for outcome in left.pop(sample.id, ()):
            yield Item(sample=sample, outcome=outcome)
    if left:
        raise DataError(
            str(store.path),
            f"{len(left)} of its samples, e.g. {next(iter(left))}, are not in the data",
            "Give the data that the run was made with (--data).",
        )


def stored_reply(store: RunStore, outcome: Outcome) -> Reply | None:
    """The reply that an outcome is about, with the extraction that was made of it; None where there was no reply.

    Raises:
        DataError: it is not in the store.
    """
    if outcome.reply is None:
        return None
    reply = store.get(outcome.reply)
    if reply is None:
        raise DataError(
            str(store.path), f"the reply of sample {outcome.sample_id} is missing", "Restore replies.sqlite."
        )
    return reply if outcome.extraction is None else replace(reply, extraction=outcome.extraction)


def question_of(item: Item, benchmark: Benchmark, seed: int) -> Question:
    """What the model was asked: the sample under its condition."""
    asked = Asked(sample=item.sample, condition=Condition.named(item.outcome.condition))
    return Question(benchmark, asked, seed)


def _has_text(outcome: Outcome) -> bool:
    return outcome.reply is not None and isinstance(outcome.result, Marked)


async def go_through(
    items: Sequence[T],
    work: Callable[[Model, T], Awaitable[Outcome]],
    reader: Reader,
    store: RunStore,
    *,
    failed: Callable[[T, Failure], Outcome] | None = None,
    progress: bool = False,
) -> Tally:
    """Do `work` with the reader's model on every item that the store does not hold yet; see `Runner.run`."""
    runner = Runner(store=store, pool=Pool(maximum=reader.concurrency), retry=reader.retry)
    asked = partial(work, runner.caller(reader.model))
    await runner.run(items, asked, total=len(items), failed=failed, noun="replies", progress=progress)
    return runner.tally


def _failed(item: Item, failure: Failure) -> Outcome:
    return replace(item.outcome, result=failure, usage=None, attempts=0)


class _Work:
    """What a reader is asked about a reply, and what becomes of what it says."""

    def __init__(self, store: RunStore, reader: Reader, benchmark: Benchmark) -> None:
        self._store = store
        self._reader = reader
        self._benchmark = benchmark
        self._prompt_hash = prompt_hash(reader.role)

    async def __call__(self, model: Model, item: Item) -> Outcome:
        """The run's line with what the reader says of its reply: the line of the reading."""
        old = replace(item.outcome, usage=None, attempts=0)  # a reading counts its own
        reply = self._reply(old)
        if self._reader.role == "judge" and isinstance(old.result, Marked):
            return replace(old, result=replace(old.result, judged=await self._judged(model, item, reply)))
        found = await self._extracted(model, item, reply)
        return replace(old, extraction=found.answer, detail={**old.detail, _PROBLEM: found.problem})

    def _reply(self, outcome: Outcome) -> Reply:
        """The reply as it came, without what an extractor has made of it."""
        reply = stored_reply(self._store, replace(outcome, extraction=None))
        if reply is None:
            raise RuntimeError(f"the outcome of {outcome.id} has no reply")  # `read_run` leaves such out
        return reply

    async def _judged(self, model: Model, item: Item, reply: Reply) -> JudgeMark:
        if status(item.outcome, "robust") == "truncated":
            # What a reply says on its way to an answer it never gave is not its answer, whoever reads it.
            return self._mark("unanswered", "truncated")
        mark = await judge(model, self._question(item).sample, reply, sampling=self._reader.sampling)
        return self._mark(mark.verdict, mark.reason)

    async def _extracted(self, model: Model, item: Item, reply: Reply) -> Extraction:
        if reply.extraction is not None or reply.extracted or not reply.text.strip():
            return Extraction(None)  # somebody has extracted before, or there is nothing to read
        if not self._reader.every and await self._explicit(item, reply):
            return Extraction(None)
        return await extract(model, self._question(item).sample, reply, sampling=self._reader.sampling)

    async def _explicit(self, item: Item, reply: Reply) -> bool:
        """Whether the rules find an answer in a place that announces one: then they find it in a cut reply as well."""
        result = await self._marks(self._question(item), replace(reply, finish="length"))
        return isinstance(result, Marked) and result.robust.verdict in ("right", "wrong")

    async def settled(self, item: Item, said: Outcome) -> Outcome:
        """The run's line with what the reading found out; a failed call is neither a verdict nor an extraction."""
        if self._reader.role == "judge":
            return self._with_verdict(item.outcome, said)
        old, extraction = item.outcome, None if isinstance(said.result, Failure) else said.extraction
        if extraction == old.extraction:
            return old
        question, reply = self._question(item), self._reply(old)
        if extraction is not None:
            reply = replace(reply, extraction=extraction)
        fresh = question.outcome(await self._marks(question, reply), reply=reply, key=old.reply)
        if isinstance(fresh.result, Failure):
            return old
        return with_judged(replace(old, result=fresh.result, extraction=extraction), old)

    def _with_verdict(self, old: Outcome, said: Outcome) -> Outcome:
        if not isinstance(old.result, Marked):
            return old
        if isinstance(said.result, Failure):
            judged = self._mark("unmarkable", f"judge call failed: {said.result.kind}")
        else:
            judged = said.result.judged
        return replace(old, result=replace(old.result, judged=judged))

    def _question(self, item: Item) -> Question:
        return question_of(item, self._benchmark, self._store.manifest.seed)

    async def _marks(self, question: Question, reply: Reply) -> Marked | Failure:
        result = mark_at_once(self._benchmark, question.sample, reply)
        if result is None:
            result = await asyncio.to_thread(mark_reply, self._benchmark, question.sample, reply)
        return result

    def _mark(self, verdict: Verdict, reason: str) -> JudgeMark:
        return JudgeMark(
            verdict=verdict, reason=reason, judge=self._reader.model.identity, prompt_hash=self._prompt_hash
        )


_PROBLEM = "extractor"
"""Where a line of an extractor's reading says in its `detail` why there is no extraction."""


def with_judged(fresh: Outcome, old: Outcome) -> Outcome:
    """Fresh marks with the judge's verdict of the old ones: it depends on the reply alone."""
    if not isinstance(fresh.result, Marked) or not isinstance(old.result, Marked):
        return fresh
    return replace(fresh, result=replace(fresh.result, judged=old.result.judged))


def _problem(said: Outcome) -> str:
    """Why a reading has nothing to say about a reply; empty where it has."""
    if isinstance(said.result, Failure):
        return f"the call failed: {said.result.kind}"
    judged = said.result.judged
    return judged.reason if judged and judged.verdict == "unmarkable" else said.detail.get(_PROBLEM, "")
