"""What a run shows while it goes: a bar in a terminal, a plain line now and then in a log.

A run that waits must not look like one that hangs: the line shows what is being retried and why, and how long the
endpoint asked to be left alone.
"""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TextIO, TypeVar

from assay.engine.pool import Pool
from assay.engine.tally import Tally
from assay.types import Failure, Outcome

T = TypeVar("T")

_TERMINAL_SECONDS = 0.5
_RATE_WINDOW = 60.0  # seconds over which the rate is measured


class Progress:
    """Watches a run. Use it as `async with` around `run_samples`, with `on_outcome=progress.count`.

    Work that no event loop runs has it in a plain `with`: there no timer ticks, and `count` shows the line that is due.
    Such work asks nobody and is often done at once; then a log gets no line of it at all.

    Args:
        total: number of samples, those of earlier starts included.
        already: samples that were done before this start.
        tally, pool: the run's counters, and the limiter, for the number of calls in flight; None where nobody is asked.
        title: what is gone through, where that is not the run's samples.
        stream: where to write; standard error by default.
        every: seconds between two lines where `stream` is no terminal.
        clock, sleep: seconds on a monotonic clock, and waiting on the same clock.
    """

    def __init__(
        self,
        *,
        total: int,
        tally: Tally | None = None,
        pool: Pool | None = None,
        already: int = 0,
        title: str = "",
        stream: TextIO | None = None,
        every: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.total = total
        self.done = already
        self.failed = 0
        self._tally = tally
        self._pool = pool
        self._title = f"{title}: " if title else ""
        self._stream = stream or sys.stderr
        self._every = every
        self._clock = clock
        self._sleep = sleep
        self._history: deque[tuple[float, int]] = deque()
        self._bar: tuple[Any, Any] | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._due: float | None = None  # None: not for `count` to show it
        self._logged = False
        self._gone = False

    def count(self, finished: object) -> None:
        """A sample is finished, with this outcome; or one of whatever else is gone through."""
        self.done += 1
        self.failed += isinstance(finished, Outcome) and isinstance(finished.result, Failure)
        if self._due is not None and self._clock() >= self._due:
            self._show()
            self._due = self._clock() + self._seconds()

    def rate(self) -> float | None:
        """Samples a second over the last minute; None before anything can be said."""
        now = self._clock()
        self._history.append((now, self.done))
        while len(self._history) > 2 and self._history[1][0] <= now - _RATE_WINDOW:
            self._history.popleft()
        since, before = self._history[0]
        return (self.done - before) / (now - since) if now > since and self.done > before else None

    def line(self) -> str:
        """The state in one line."""
        share = f" ({self.done / self.total:.0%})" if self.total else ""
        return f"{self._title}{self.done:,}/{self.total:,}{share}, {self.state()}"

    def state(self) -> str:
        """Everything but how much is done."""
        rate = self.rate()
        parts = ["rate unknown" if rate is None else f"{rate:.1f}/s"]
        if self._pool is not None:
            parts.append(f"{self._pool.active} calls in flight (limit {self._pool.limit})")
        if self._tally is not None:
            parts += _calls(self._tally)
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self._pool is not None and self._pool.pause >= 1:
            parts.append(f"next call in {self._pool.pause:.0f} s (rate limit)")
        if rate is not None and self.done < self.total:
            parts.append(f"{_duration((self.total - self.done) / rate)} left")
        return ", ".join(parts)

    def __enter__(self) -> Self:
        self._begin()
        self._due = self._clock() + self._seconds()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None or self._logged:
            self._end()

    async def __aenter__(self) -> Self:
        self._begin()
        self._ticker = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
            with suppress(asyncio.CancelledError):
                await self._ticker
        self._end()

    def _begin(self) -> None:
        self.rate()  # the first point of the history
        if self._stream.isatty():
            self._open_bar()

    def _end(self) -> None:
        self._show()
        if self._bar is not None:
            self._bar[0].stop()

    def _seconds(self) -> float:
        """Between two lines, or two states of the bar."""
        return self._every if self._bar is None else _TERMINAL_SECONDS

    async def _tick(self) -> None:
        while True:
            await self._sleep(self._seconds())
            self._show()

    def _show(self) -> None:
        if self._gone:
            return
        try:
            self._write()
        except OSError:
            self._gone = True  # nobody looks any more (a closed pipe or terminal): no reason to end the work

    def _write(self) -> None:
        if self._bar is None:
            print(self.line(), file=self._stream, flush=True)
            self._logged = True
            return
        bar, task = self._bar
        bar.update(task, completed=self.done, state=self.state(), refresh=True)

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        bar = Bar(
            *([TextColumn(self._title.rstrip(), markup=False)] if self._title else []),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            console=Console(file=self._stream),
            auto_refresh=False,  # a thread that redraws ten times a second costs more than a call does
        )
        bar.start()
        self._bar = (bar, bar.add_task("", total=self.total, completed=self.done, state=""))


def watched(items: Iterable[T], *, total: int, title: str = "") -> Iterator[T]:
    """The items as they are asked for, with the progress on standard error; see `Progress` for the arguments."""
    with Progress(total=total, title=title) as progress:
        for item in items:
            progress.count(item)
            yield item


def _calls(tally: Tally) -> Iterator[str]:
    if tally.hits:
        yield f"{tally.hits:,} from the store"
    if tally.retries:
        causes = ", ".join(f"{count:,} {kind}" for kind, count in tally.retries.most_common())
        yield f"{tally.retries.total():,} retries ({causes})"


def _duration(seconds: float) -> str:
    """12 s, 5 min, 3 h 20 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
