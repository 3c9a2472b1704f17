"""How many calls of one endpoint may be in flight: a limit that follows what the endpoint can take.

Additive increase, multiplicative decrease, as in TCP's congestion control: the limit grows while replies come about as
fast as they ever did, and halves when the endpoint refuses (429, 503), once per round trip however many calls were
refused in it. Where even one call at a time is refused, starts are spaced out. `Retry-After` holds for the whole
endpoint: nobody calls before it has passed.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

Ending = Literal[
    "ok",  # a reply came
    "refused",  # the endpoint is overloaded or limits our rate: 429, 503
    "failed",  # anything else; says nothing about the endpoint's load
]

_SMOOTHING = 0.1  # weight of the newest latency in the moving average
_LATENCY_HOLDS = 3.0  # batching servers get two or three times slower per call while total throughput still grows
_FIRST_STEP = 4.0  # growth per round trip until the first sign of trouble, 1 afterwards
_GAP_MIN, _GAP_MAX = 1.0, 60.0  # seconds between starts where one call at a time is too many
# What a refused and an answered call do to the gap. Where refusals have nothing to do with pace (a few requests that
# are too big for a quota), the gap must not grow for ever: it shrinks while more than about half of the calls pass.
_GAP_GROW, _GAP_EASE = 1.5, 0.7
_GAP_GONE = 0.25  # a gap below this many seconds is none


class Ticket(NamedTuple):
    """The right to have one call in flight, since `started` on the pool's clock (seconds)."""

    started: float


class Pool:
    """A fair (first come, first served) limiter for one endpoint. Belongs to one event loop.

    Args:
        maximum: most calls in flight, ever.
        start: the limit at the beginning.
        clock: seconds on a monotonic clock.
        sleep: waits for that many seconds of the same clock.
    """

    def __init__(
        self,
        *,
        maximum: int = 64,
        start: int = 8,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if maximum < 1 or start < 1:
            raise ValueError("maximum and start must be at least 1")
        self.maximum = maximum
        self.active = 0
        self._clock = clock
        self._sleep = sleep
        self._limit = float(min(start, maximum))
        self._step = _FIRST_STEP
        self._waiting: deque[asyncio.Future[Ticket]] = deque()
        self._latency: float | None = None
        self._best_latency: float | None = None
        self._last_cut = float("-inf")
        self._paused_until = float("-inf")
        self._gap = 0.0
        self._last_start = float("-inf")
        self._waker: asyncio.Task[None] | None = None
        self._abort: BaseException | None = None

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._limit)

    @property
    def waiting(self) -> int:
        """Calls that wait for their turn."""
        return sum(not future.done() for future in self._waiting)

    @property
    def pause(self) -> float:
        """Seconds until the next call may start."""
        return max(0.0, self._not_before() - self._clock())

    def suit(self, model: object) -> None:
        """Open up at once for a model that works in this process (`in_process`).

        Such a model takes whatever waits together: there is no endpoint whose limit would have to be found out. What is
        around a model, such as a recording, tells of it as `inner`.
        """
        while (inner := getattr(model, "inner", None)) is not None:
            model = inner
        if getattr(model, "in_process", False):
            self._limit = float(self.maximum)

    async def acquire(self) -> Ticket:
        """Wait for a turn. Every ticket must be given back with `release`.

        Raises:
            what `abort` was called with.
        """
        if self._abort is not None:
            raise self._abort
        if not self._waiting and self._may_start():
            return self._start()
        future: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._dispatch()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._give_back()  # the turn came in the same moment as the cancellation: pass it on
            raise

    def release(self, ticket: Ticket, ending: Ending, *, retry_after: float | None = None) -> bool:
        """Give a ticket back and say how the call ended.

        Args:
            ticket: from `acquire`.
            ending: see `Ending`.
            retry_after: seconds for which the endpoint asked to be left alone, if it did.

        Returns:
            Whether this was the first refusal of a round trip, the one that lowered the limit.
        """
        now = self._clock()
        first_refusal = False
        if retry_after is not None:
            self._paused_until = max(self._paused_until, now + retry_after)
        if ending == "ok":
            self._answered(now - ticket.started)
        elif ending == "refused" and ticket.started > self._last_cut:
            self._cut(now, told=retry_after is not None)
            first_refusal = True
        self._give_back()
        return first_refusal

    def abort(self, reason: BaseException) -> None:
        """Let nobody start any more: everybody who waits gets `reason`, and so does everybody who comes later."""
        self._abort = reason
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(reason)
        if self._waker is not None:
            self._waker.cancel()

    def _answered(self, latency: float) -> None:
        smooth = latency if self._latency is None else self._latency + _SMOOTHING * (latency - self._latency)
        self._latency = smooth
        self._best_latency = smooth if self._best_latency is None else min(smooth, self._best_latency)
        if self._gap:
            self._gap *= _GAP_EASE
            if self._gap < _GAP_GONE:
                self._gap = 0.0
            return
        if smooth > _LATENCY_HOLDS * self._best_latency:
            self._step = 1.0
            return
        if self.active >= self.limit:  # a limit that nobody reaches has not been tried out
            self._limit = min(float(self.maximum), self._limit + self._step / self._limit)

    def _cut(self, now: float, *, told: bool) -> None:
        """Slow down; guess a gap only where the endpoint has not told how long to wait."""
        if self.limit == 1 and not told:
            self._gap = min(max(_GAP_GROW * self._gap, _GAP_MIN), _GAP_MAX)
        self._limit = max(1.0, self._limit // 2)
        self._step = 1.0
        self._last_cut = now

    def _not_before(self) -> float:
        return max(self._paused_until, self._last_start + self._gap)

    def _may_start(self) -> bool:
        return self.active < self.limit and self._clock() >= self._not_before()

    def _start(self) -> Ticket:
        self.active += 1
        self._last_start = self._clock()
        return Ticket(self._last_start)

    def _give_back(self) -> None:
        self.active -= 1
        self._dispatch()

    def _dispatch(self) -> None:
        """Let those who wait start, as many as may; come back when a pause ends."""
        while self._waiting and self.active < self.limit:
            if self._waiting[0].done():  # cancelled while waiting
                self._waiting.popleft()
                continue
            if not self._may_start():
                if self._waker is None or self._waker.done():
                    self._waker = asyncio.get_running_loop().create_task(self._wake())
                return
            self._waiting.popleft().set_result(self._start())

    async def _wake(self) -> None:
        while (seconds := self._not_before() - self._clock()) > 0:
            await self._sleep(seconds)
        self._waker = None
        self._dispatch()
