"""`Caller`: a model over a model that never asks twice, retries what may succeed, and stops what can't."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.engine.budget import Budget
from assay.engine.pool import Ending, Pool
from assay.engine.stop import Stop
from assay.engine.store import RunStore, StoredReply
from assay.engine.tally import Tally, current_account
from assay.errors import CallError, CallKind, RunStopped
from assay.models.base import Model, request_key
from assay.types import Reply, Request

_SEED_RANGE = 2**31

# Failures that say something about one prompt, nothing about the endpoint.
_OF_THE_PROMPT: frozenset[CallKind] = frozenset({"too_long", "no_reply"})
_OVERLOADED = (429, 503, 529)


class Retry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a failed call is tried again, and when the run gives up.

    Attributes:
        attempts: most calls for one request.
        refusals: most refusals (429) for one request; they cost nothing and are not counted as attempts, but a request
            that is too big for its quota is refused for ever.
        base, cap: the wait before retry k is drawn from 0 .. min(cap, base * 2**(k-1)) seconds ("full jitter").
        breaker: the run stops after so many requests in a row that failed for good.
        patience: the run stops after so many seconds in which every call was refused, or when the endpoint asks for a
            longer wait than that.
    """

    attempts: int = 6
    refusals: int = 20
    base: float = 1.0
    cap: float = 60.0
    breaker: int = 50
    patience: float = 900.0


class Caller:
    """A `Model` over a model: store, pool, retries, budget and counters. Belongs to one event loop.

    A reply is in the store before anybody sees it. Draws that are stored are not asked again: a request for eight
    draws of which three are stored asks for the other five. Equal requests at the same time share one call.

    Args:
        model: who answers.
        store: where replies are kept; None keeps nothing.
        pool: the limiter of the model's endpoint; callers of one endpoint share it.
        stop: the run's switch; callers of one run share it.
        tally: counters; callers of one run may share them.
        budget: what the run may cost.
        retry: when to try again.
        clock, sleep: seconds on a monotonic clock, and waiting on the same clock.
    """

    def __init__(
        self,
        model: Model,
        *,
        store: RunStore | None = None,
        pool: Pool | None = None,
        stop: Stop | None = None,
        tally: Tally | None = None,
        budget: Budget | None = None,
        retry: Retry | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.model = model
        self.store = store
        self.pool = pool or Pool(clock=clock, sleep=sleep)
        self.stop = stop or Stop()
        self.tally = tally or Tally()
        self.budget = budget or Budget()
        self.retry = retry or Retry()
        self._clock = clock
        self._sleep = sleep
        self._in_flight: dict[str, asyncio.Future[Reply]] = {}
        self._failed_in_a_row = 0
        self._refused_since: float | None = None
        self.stop.listen(self.pool.abort)

    @property
    def identity(self) -> str:
        return self.model.identity

    @property
    def inner(self) -> Model:
        """Who answers."""
        return self.model

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        """`request.n` replies, from the store where they are there.

        Raises:
            CallError: the call failed, for good or too often.
            RunStopped: the run is ending: a wrong key, an unknown model, the budget, too many failures, a signal.
        """
        keys = [request_key(self.model.identity, request, request.index + draw) for draw in range(request.n)]
        replies = self._stored(keys, range(len(keys)))
        self.tally.hits += len(replies)
        self.tally.misses += len(keys) - len(replies)
        while len(replies) < len(keys):
            missing = [draw for draw in range(len(keys)) if draw not in replies]
            others = {draw: self._in_flight[keys[draw]] for draw in missing if keys[draw] in self._in_flight}
            mine = [draw for draw in missing if draw not in others]
            if mine:
                replies |= await self._ask(request, keys, mine)
            for draw, future in others.items():
                reply = await _shared(future)
                if reply is not None:
                    replies[draw] = reply
            # Whoever was cancelled while the reply was being written has had it written all the same.
            replies |= self._stored(keys, others.keys() - replies.keys())
        ordered = tuple(replies[draw] for draw in range(len(keys)))
        account = current_account.get()
        if account is not None:
            for reply in ordered:
                account.used(reply)
        return ordered

    async def close(self) -> None:
        await self.model.close()

    def _stored(self, keys: Sequence[str], draws: Iterable[int]) -> dict[int, Reply]:
        """Those of the draws that the store holds."""
        if self.store is None:
            return {}
        return {draw: reply for draw in draws if (reply := self.store.get(keys[draw])) is not None}

    async def _ask(self, request: Request, keys: Sequence[str], draws: Sequence[int]) -> dict[int, Reply]:
        """Ask for these draws (positions in `keys`), store them, and let equal requests share them."""
        loop = asyncio.get_running_loop()
        futures = {draw: loop.create_future() for draw in draws}
        for draw, future in futures.items():
            self._in_flight[keys[draw]] = future
        got: dict[int, Reply] = {}
        try:
            for first, count in _stretches(draws):
                wire = _part(request, first, count)
                replies = await self._call(wire, keys[first])
                fresh = {first + offset: reply for offset, reply in enumerate(replies)}
                if self.store is not None:
                    await self.store.put_soon(
                        [StoredReply(keys[i], request.sample_id, request.index + i, fresh[i]) for i in fresh]
                    )
                for draw, reply in fresh.items():
                    futures[draw].set_result(reply)
                got |= fresh
        except CallError as error:
            for future in futures.values():
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # nobody may be waiting; asyncio would complain about an error nobody saw
            raise
        finally:
            for draw, future in futures.items():
                self._in_flight.pop(keys[draw], None)
                future.cancel()  # only those without a result: whoever shared them asks for itself
        return got

    async def _call(self, request: Request, key: str) -> tuple[Reply, ...]:
        """Call until there are replies, waiting longer after every failure.

        Raises:
            CallError, RunStopped: see `generate`.
        """
        attempts = refusals = 0
        while True:
            try:
                replies = await self._call_once(request)
            except CallError as error:
                if error.fatal:
                    self._end(f"{_sentence(error)} Every further call would fail in the same way.")
                if error.kind == "rate_limit":
                    refusals += 1
                else:
                    attempts += 1
                self.stop.check()
                self._mind_refusals(error)
                if not error.retryable or attempts >= self.retry.attempts or refusals >= self.retry.refusals:
                    self._gave_up(error)
                    raise
                self.tally.retries[error.kind] += 1
                await self.stop.wait_unless(self._sleep(self._delay(error, key, attempts + refusals)))
            else:
                self._failed_in_a_row = 0
                self._refused_since = None
                return replies

    async def _call_once(self, request: Request) -> tuple[Reply, ...]:
        ticket = await self.pool.acquire()
        ending: Ending = "failed"
        retry_after: float | None = None
        try:
            self._check_budget()
            self.tally.calls += 1
            account = current_account.get()
            if account is not None:
                account.attempts += 1
            replies = await self.model.generate(request)
            ending = "ok"
        except CallError as error:
            retry_after = error.retry_after if error.retryable else None
            if error.kind == "rate_limit" or error.status in _OVERLOADED:
                ending = "refused"
            raise
        finally:
            self.pool.release(ticket, ending, retry_after=retry_after)
        self._charge(replies)
        if len(replies) != request.n:
            raise CallError("malformed", f"{self.identity} gave {len(replies)} replies to a request for {request.n}.")
        return replies

    def _check_budget(self) -> None:
        self.stop.check()
        exceeded = self.budget.exceeded()
        if exceeded is not None:
            self._end(f"The budget is used up: {exceeded}. Raise it to go on.")

    def _charge(self, replies: tuple[Reply, ...]) -> None:
        unreported = self.tally.unreported
        self.budget.charge(self.tally.received(replies))
        if self.budget.limited and self.tally.unreported > unreported:
            self.stop.request(
                RunStopped(
                    "The server does not report the tokens it uses, so the budget can't be kept. "
                    "Run without a budget, or let the server report usage."
                )
            )

    def _gave_up(self, error: CallError) -> None:
        """Count a request that failed for good; stop the run where nothing else happens any more."""
        self.tally.failures[error.kind] += 1
        if error.kind in _OF_THE_PROMPT:
            return
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= self.retry.breaker:
            self._end(
                f"{self._failed_in_a_row} requests in a row failed, none succeeded. The last one: {_sentence(error)}"
            )

    def _mind_refusals(self, error: CallError) -> None:
        if error.retryable and error.retry_after is not None and error.retry_after > self.retry.patience:
            self._end(f"The endpoint asks to be left alone for {error.retry_after:.0f} s. {_sentence(error)}")
        if error.kind != "rate_limit":
            return
        now = self._clock()
        if self._refused_since is None:
            self._refused_since = now
        elif now - self._refused_since > self.retry.patience:
            self._end(f"The endpoint has refused every call for {now - self._refused_since:.0f} s. {_sentence(error)}")

    def _end(self, why: str) -> None:
        """End the run: in this coroutine now, everywhere else before the next call.

        Raises:
            RunStopped, or the earlier reason if the run is ending already.
        """
        self.stop.request(RunStopped(why))
        self.stop.check()

    def _delay(self, error: CallError, key: str, failures: int) -> float:
        """Seconds to wait before the next try; the same for the same request, so that a run can be repeated."""
        digest = hashlib.sha256(f"{key}:{failures}".encode()).digest()
        fraction = int.from_bytes(digest[:8], "big") / 2**64
        if error.retry_after is not None:
            return error.retry_after + fraction * self.retry.base
        return fraction * min(self.retry.cap, self.retry.base * 2 ** (failures - 1))


def _sentence(error: CallError) -> str:
    """The message, ready for another sentence behind it: a server's words end as they like."""
    text = str(error).rstrip()
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."


def _part(request: Request, first: int, count: int) -> Request:
    """The request for `count` draws from the one at position `first` on.

    Draw i has the seed of draw 0 plus i, as in servers that make n draws from one seed: topping up from three draws to
    eight brings the same five that asking for eight would have brought, not the first five again.
    """
    if count == request.n:
        return request
    seed = (request.seed + first) % _SEED_RANGE
    return replace(request, n=count, index=request.index + first, seed=seed)


async def _shared(future: "asyncio.Future[Reply]") -> Reply | None:
    """The reply of a call that somebody else makes; None if that somebody was cancelled."""
    try:
        # Without the shield, cancelling us would cancel the future under everybody else.
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None


def _stretches(draws: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as (first, count) of stretches without a gap: 1 3 4 5 -> (1, 1), (3, 3)."""
    first = count = 0
    for draw in draws:
        if count and draw == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = draw, 1
    if count:
        yield first, count
