"""Mark recorded replies, or a run again, without a model."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from assay.benchmarks.base import Benchmark, Dataset, mark_at_once, mark_reply, outcome_of
from assay.engine.store import SCHEMA, RunStore, StoredReply, seal
from assay.errors import DataError
from assay.judging.reading import Item, items_of, question_of, stored_reply, with_judged
from assay.models.recorded import RecordedReplies
from assay.types import Failure, Manifest, Marked, Outcome, Reading, Reply, Sample, Sampling

# Each worker process of the symbolic comparison is fed from a thread of its own.
_THREADS = os.cpu_count() or 1
# Outcomes that may wait for one before them: the rare comparisons among so many keep all processes busy.
_WINDOW = 1024


def score_replies(
    benchmark: Benchmark,
    dataset: Dataset,
    replies: RecordedReplies,
    *,
    extracted: bool = False,
    use_extractions: bool = True,
    limit: int | None = None,
) -> Iterator[Outcome]:
    """One outcome for every sample of the data, in its order; a sample without a recorded reply has failed.

    Args:
        extracted: the recorded texts are already extracted answers; marking skips the search for an answer.
        use_extractions: whether marking may take the extracted answers that the recording has beside its texts.
        limit: only the first so many samples.

    Raises:
        DataError: no id of the replies is in the data, so that the two files don't belong together.
    """
    known = sum(sample.id in replies for sample in islice(dataset, limit))
    if not known:
        raise DataError(
            str(replies.path),
            f"none of its ids is among the samples of {benchmark.name}, split {dataset.split}",
            "Choose the split with --split, or the id's field with --id-field.",
        )

    def one(sample: Sample) -> Outcome | _Unmarked:
        reply = _recorded(replies, sample, extracted=extracted, use_extractions=use_extractions)
        if reply is None:
            missing = Failure(stage="call", kind="no_reply", message=f"{replies.path} holds no reply for this sample")
            return outcome_of(benchmark, sample, missing)
        return _Unmarked(sample, reply, partial(outcome_of, benchmark, sample, reply=reply))

    return _marked(benchmark, map(one, islice(dataset, limit)))


def strangers(dataset: Dataset, replies: RecordedReplies) -> int:
    """How many ids of the replies the data does not hold."""
    ids = {sample.id for sample in dataset}
    return sum(sample_id not in ids for sample_id in replies.ids())


def mark_again(store: RunStore, benchmark: Benchmark, dataset: Dataset) -> Iterator[Outcome]:
    """The run's outcomes with fresh marks. Failures of calls stay what they are: there is no reply to mark.

    Raises:
        DataError: the run holds a sample that the data does not.
    """

    def one(item: Item) -> Outcome | _Unmarked:
        old = item.outcome
        reply = stored_reply(store, old)
        if reply is None:
            return old
        question = question_of(item, benchmark, store.manifest.seed)

        def outcome(result: Marked | Failure) -> Outcome:
            fresh = question.outcome(result, reply=reply, key=old.reply, attempts=old.attempts)
            return with_judged(structs.replace(fresh, usage=old.usage, extraction=old.extraction), old)

        return _Unmarked(question.sample, reply, outcome)

    return _marked(benchmark, map(one, items_of(store, dataset)))


def keep_replies(
    out: Path,
    benchmark: Benchmark,
    dataset: Dataset,
    replies: RecordedReplies,
    *,
    data: str = "",
    where: tuple[str, ...] = (),
    reading: Reading | None = None,
    extracted: bool = False,
    use_extractions: bool = True,
    limit: int | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> None:
    """As `score_replies`, into a run's folder, where the replies can be marked again, judged and compared.

    Args:
        data, where, reading: how the samples were chosen and read, for the run's manifest.
        on_outcome: called after a sample is marked and, where it was not there before, stored.

    Raises:
        DataError: see `score_replies`.
        RunMismatch, RunLocked, RunError: see `engine.store`.
    """
    manifest = structs.replace(
        _manifest(benchmark, dataset, replies, extracted=extracted, use_extractions=use_extractions),
        limit=limit,
        data=data,
        where=where,
        reading=reading,
    )
    prepared = partial(_recorded, replies, extracted=extracted, use_extractions=use_extractions)
    outcomes = score_replies(
        benchmark, dataset, replies, extracted=extracted, use_extractions=use_extractions, limit=limit
    )
    with RunStore.create_or_resume(out, seal(manifest)) as store:
        done = store.done_ids()
        for sample, outcome in zip(islice(dataset, limit), outcomes, strict=True):
            reply = prepared(sample)
            if reply is None:
                store.append(outcome)
            elif outcome.id not in done:
                key = hashlib.sha256(f"{manifest.model}\x00{sample.id}".encode()).hexdigest()
                store.put([StoredReply(key, sample.id, 0, reply)])
                store.append(structs.replace(outcome, reply=key))
            if on_outcome is not None:
                on_outcome(outcome)


def _manifest(
    benchmark: Benchmark, dataset: Dataset, replies: RecordedReplies, *, extracted: bool, use_extractions: bool
) -> Manifest:
    """What is known of a run whose replies somebody else drew, before it is sealed."""
    return Manifest(
        schema=SCHEMA,
        benchmark=benchmark.name,
        split=dataset.split,
        revision=dataset.revision,
        model=f"replay:{replies.path.name}:{replies.digest[:16]}",
        search=_how_recorded(extracted=extracted, use_extractions=use_extractions),
        sampling=Sampling(),  # nobody knows how the replies were drawn
        seed=0,
        prompt_hash="",
        image_transform="",
        limit=None,
        data="",
        fingerprint="",
        environment={
            "replies": str(replies.path),
            "extracted": extracted,
            "extractions": replies.extractions if use_extractions else 0,
        },
    )


def _how_recorded(*, extracted: bool, use_extractions: bool) -> str:
    """How the replies are taken, which changes their marks, so that the run's folder holds one reading of them."""
    return f"recorded{' answers' if extracted else ''}{'' if use_extractions else ' without extractions'}"


def _recorded(replies: RecordedReplies, sample: Sample, *, extracted: bool, use_extractions: bool) -> Reply | None:
    """A sample's recorded reply, as it is to be marked."""
    reply = replies.get(sample.id)
    if reply is None:
        return None
    if extracted:
        reply = structs.replace(reply, extracted=True)
    return reply if use_extractions else structs.replace(reply, extraction=None)


class _Unmarked(NamedTuple):
    """A reply, and what makes the outcome of its marks."""

    sample: Sample
    reply: Reply
    outcome: Callable[[Marked | Failure], Outcome]


def _marked(benchmark: Benchmark, items: Iterable[Outcome | _Unmarked]) -> Iterator[Outcome]:
    """The outcomes, in order. A reply that takes a symbolic comparison waits in a thread while others are marked."""
    pool = ThreadPoolExecutor(_THREADS)
    waiting: deque[Outcome | Future[Outcome]] = deque()
    try:
        for item in items:
            waiting.append(_begun(benchmark, item, pool) if isinstance(item, _Unmarked) else item)
            while waiting and (len(waiting) >= _WINDOW or _is_ready(waiting[0])):
                yield _ready(waiting.popleft())
        while waiting:
            yield _ready(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _begun(benchmark: Benchmark, item: _Unmarked, pool: ThreadPoolExecutor) -> Outcome | Future[Outcome]:
    result = mark_at_once(benchmark, item.sample, item.reply)
    if result is not None:
        return item.outcome(result)
    return pool.submit(lambda: item.outcome(mark_reply(benchmark, item.sample, item.reply)))


def _is_ready(outcome: Outcome | Future[Outcome]) -> bool:
    return isinstance(outcome, Outcome) or outcome.done()


def _ready(outcome: Outcome | Future[Outcome]) -> Outcome:
    return outcome if isinstance(outcome, Outcome) else outcome.result()
