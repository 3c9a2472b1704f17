"""Samples through a piece of work, many at a time, in one process: every sample ends in one outcome on disk."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from assay.engine.caller import Caller, Retry
from assay.engine.stop import Stop, stop_on_signals
from assay.engine.store import RunStore
from assay.engine.tally import Account, Tally, current_account
from assay.errors import AssayError, CallError, ImageError, MarkError, RunStopped, UsageError, boundary
from assay.types import Failure, Outcome

__all__ = ["Caller", "Finished", "Retry", "Stop", "Tally", "run_samples"]

log = logging.getLogger("assay")

_MOST_INTERNAL_ERRORS = 5  # a few odd samples don't stop a night's run; a fault in every sample does


class Item(Protocol):
    """What `run_samples` must know of a sample; `types.Sample` has it.

    `id` is the `Outcome.id` of its outcome.
    """

    @property
    def id(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def facets(self) -> dict[str, tuple[str, ...]]: ...


T = TypeVar("T", bound=Item)


class Finished(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run did: samples skipped because they were done before, marked now, failed now."""

    skipped: int
    marked: int
    failed: int

    @property
    def done(self) -> int:
        """Samples that need no further work."""
        return self.skipped + self.marked


async def run_samples(
    samples: Iterable[T],
    work: Callable[[T], Awaitable[Outcome]],
    *,
    store: RunStore,
    concurrency: int = 64,
    stop: Stop | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
    total: int | None = None,
    grace: float = 10.0,
    failed: Callable[[T, Failure], Outcome] | None = None,
    noun: str = "samples",
) -> Finished:
    """Do `work` on every sample that the store does not hold yet, and append its outcome to the store.

    Samples are taken from the iterable one by one, `concurrency` of them live at a time. An error that concerns one
    sample becomes a `Failure`; a failure of an earlier start is tried again. SIGINT and SIGTERM end the run: no new
    call begins, calls in flight get `grace` seconds to finish, everything that finished is on disk. A second signal
    does not wait.

    Args:
        samples: with unique ids.
        work: one sample -> its outcome; `attempts` and `usage` are filled in here where a `Caller` was used.
        store: open for writing; stays open.
        concurrency: samples live at the same time. The pool of an endpoint limits calls, this limits memory.
        stop: the switch that the run's callers share.
        on_outcome: called after an outcome is stored.
        total, noun: number of samples and what they are called, for the message of an early end.
        grace: seconds.
        failed: the outcome of an item whose work failed, where it takes more than the item's id, group and facets.

    Raises:
        RunStopped: the run ended early; the message says why, how much is done, and how to go on.
        UsageError: a concurrency below 1.
        AssayError: what made going on impossible (unreadable data, a full disk); everything finished is on disk.
    """
    if concurrency < 1:
        raise UsageError(f"At least one sample must be live at a time, not {concurrency}.")
    run = _Run(iter(samples), work, store, stop or Stop(), on_outcome, failed or _failure, noun)
    await run.everything(concurrency, grace)
    finished = Finished(skipped=run.skipped, marked=run.marked, failed=run.failed)
    reason = run.stop.reason
    if isinstance(reason, RunStopped):
        of = "" if total is None else f" of {total:,}"
        raise RunStopped(
            f"{reason} {finished.done:,}{of} {noun} are done and kept; the same command goes on from there."
        ) from reason
    if reason is not None:
        raise reason
    return finished


class _InternalError(AssayError):
    """Something that no code of ours raises on purpose."""


class _Run(Generic[T]):
    """The state of one `run_samples`."""

    def __init__(
        self,
        samples: Iterator[T],
        work: Callable[[T], Awaitable[Outcome]],
        store: RunStore,
        stop: Stop,
        on_outcome: Callable[[Outcome], None] | None,
        failure: Callable[[T, Failure], Outcome],
        noun: str,
    ) -> None:
        self.stop = stop
        self.skipped = self.marked = self.failed = 0
        self._samples = samples
        self._work = work
        self._store = store
        self._on_outcome = on_outcome
        self._failure = failure
        self._noun = noun
        self._done = store.done_ids() if store.resumed else set[str]()
        self._internal_errors = 0

    async def everything(self, concurrency: int, grace: float) -> None:
        """Run until the samples or the reasons to go on are exhausted. Ends with no task left behind."""
        loop = asyncio.get_running_loop()
        workers = [asyncio.create_task(self._worker()) for _ in range(concurrency)]

        def hurry() -> None:
            for worker in workers:
                worker.cancel()

        def begin_grace() -> None:
            nonlocal timer
            timer = loop.call_later(grace, hurry)

        timer: asyncio.TimerHandle | None = None
        try:
            with stop_on_signals(self.stop, begin_grace, hurry):
                await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            if timer is not None:
                timer.cancel()
            # Nothing is left to cancel unless a worker met an error of ours, or somebody cancelled us.
            hurry()
            endings = await asyncio.gather(*workers, return_exceptions=True)
        for ending in endings:
            if isinstance(ending, Exception):
                raise ending

    async def _worker(self) -> None:
        """Take one sample after the other until there is none left."""
        while self.stop.reason is None:
            try:
                sample = self._next()
                if sample is None:
                    return
                outcome = await self._outcome(sample)
                # Counted before the wait: who is cancelled in it has the outcome written all the same.
                if isinstance(outcome.result, Failure):
                    self.failed += 1
                else:
                    self.marked += 1
                # Waits a turn also where everything comes from the store, so that others and signals get theirs.
                await self._store.append_soon(outcome)
            except AssayError as error:
                self.stop.request(error)
                return
            if self._on_outcome is not None:
                self._on_outcome(outcome)

    def _next(self) -> T | None:
        for sample in self._samples:
            if sample.id not in self._done:
                return sample
            self.skipped += 1
        return None

    async def _outcome(self, sample: T) -> Outcome:
        """The sample's outcome, or the failure that stands for it.

        Raises:
            AssayError: an error that concerns the whole run.
        """
        account = Account()
        current_account.set(account)
        try:
            with boundary(_InternalError, f"Sample {sample.id}"):
                outcome = await self._uncancelled(sample)
        except CallError as error:
            outcome = self._failure(sample, Failure(stage="call", kind=error.kind, message=str(error)))
        except ImageError as error:
            outcome = self._failure(sample, Failure(stage="image", kind=error.kind, message=str(error)))
        except MarkError as error:
            outcome = self._failure(sample, Failure(stage="mark", kind="mark_error", message=str(error)))
        except _InternalError as error:
            self._internal(error)
            outcome = self._failure(sample, Failure(stage="internal", kind="internal", message=str(error)))
        if not account.attempts and account.usage is None:
            return outcome
        return replace(outcome, attempts=account.attempts, usage=account.usage)

    async def _uncancelled(self, sample: T) -> Outcome:
        """The work's outcome. A cancellation that did not come from us must not end a worker with its sample."""
        try:
            outcome = await self._work(sample)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RuntimeError("a task that the sample waited for was cancelled") from None
        if outcome.id != sample.id:
            raise RuntimeError(f"the outcome is that of sample {outcome.id}")
        return outcome

    def _internal(self, error: _InternalError) -> None:
        """Report a fault of ours where it can be seen; it must pass neither as a score nor unnoticed."""
        log.error("%s", error, exc_info=error.__cause__)
        self._internal_errors += 1
        if self._internal_errors > _MOST_INTERNAL_ERRORS:
            self.stop.request(
                RunStopped(
                    f"{self._internal_errors} {self._noun} met an internal error, which is a fault in assay or in an "
                    f"extension of it. The last one: {error}."
                )
            )


def _failure(sample: Item, failure: Failure) -> Outcome:
    return Outcome(sample_id=sample.id, group=sample.group, facets=sample.facets, result=failure)
