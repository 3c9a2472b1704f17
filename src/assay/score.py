"""Mark recorded replies, or a run again, without a model."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from msgspec import structs

from assay.benchmarks.base import Benchmark, Dataset, mark_reply, outcome_of
from assay.engine.store import RunStore
from assay.errors import DataError
from assay.models.recorded import RecordedReplies
from assay.types import Failure, Outcome, Reply, Sample

T = TypeVar("T")

# Samples that may wait for a symbolic comparison at a time; each worker process is fed from a thread of its own.
_THREADS = 4
_WINDOW = 64


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

    def one(sample: Sample) -> Outcome:
        reply = replies.get(sample.id)
        if reply is None:
            missing = Failure(stage="call", kind="no_reply", message=f"{replies.path} holds no reply for this sample")
            return outcome_of(benchmark, sample, missing)
        if extracted:
            reply = structs.replace(reply, extracted=True)
        if not use_extractions:
            reply = structs.replace(reply, extraction=None)
        return outcome_of(benchmark, sample, mark_reply(benchmark, sample, reply), reply=reply)

    return _mapped(one, islice(dataset, limit), threads=benchmark.blocking)


def strangers(dataset: Dataset, replies: RecordedReplies) -> int:
    """How many ids of the replies the data does not hold."""
    ids = {sample.id for sample in dataset}
    return sum(sample_id not in ids for sample_id in replies.ids())


def mark_again(store: RunStore, benchmark: Benchmark, dataset: Dataset) -> Iterator[Outcome]:
    """The run's outcomes with fresh marks. Failures of calls stay what they are: there is no reply to mark.

    Raises:
        DataError: the run holds a sample that the data does not.
    """
    left = {outcome.sample_id: outcome for outcome in store.outcomes()}

    def one(pair: tuple[Sample, Outcome]) -> Outcome:
        sample, old = pair
        reply = _stored(store, old)
        if reply is None:
            return old
        fresh = outcome_of(
            benchmark, sample, mark_reply(benchmark, sample, reply), reply=reply, key=old.reply, attempts=old.attempts
        )
        return structs.replace(fresh, usage=old.usage)

    pairs = ((sample, left.pop(sample.id)) for sample in dataset if sample.id in left)
    # The store's database belongs to this thread: no threads here.
    yield from map(one, pairs)
    if left:
        raise DataError(
            str(store.path),
            f"{len(left)} of its samples, e.g. {next(iter(left))}, are not in the data",
            "Give the data that the run was made with (--data).",
        )


def _stored(store: RunStore, outcome: Outcome) -> Reply | None:
    if outcome.reply is None:
        return None
    reply = store.get(outcome.reply)
    if reply is None:
        raise DataError(
            str(store.path), f"the reply of sample {outcome.sample_id} is missing", "Restore replies.sqlite."
        )
    return reply


def _mapped(work: Callable[[T], Outcome], items: Iterable[T], *, threads: bool) -> Iterator[Outcome]:
    """`map`, in order, with a bounded number of items in the air where the work waits for other processes."""
    if not threads:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting: deque[Future[Outcome]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= _WINDOW:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
