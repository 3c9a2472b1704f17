"""How a run is going: one line that stays up to date, or a plain line now and then where nobody watches a terminal."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from assay.engine.tally import Tally
from assay.types import Failure, Outcome

_EVERY_SECONDS = 0.2  # redraws of the bar
_PLAIN_SECONDS = 30.0  # between plain lines: a log of a night's run stays readable
_RATE_WINDOW = 30.0  # the rate is that of the last so many seconds, so that it follows a changing server


class Run(Protocol):
    """What is watched; `evaluate.Live` has it."""

    @property
    def total(self) -> int: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        ...

    @property
    def done_before(self) -> int:
        """Samples that earlier starts of the run finished."""
        ...


class Meter:
    """Rate and time left, from finished samples and the clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._points: list[tuple[float, int]] = [(clock(), 0)]
        self.finished = 0

    def count(self) -> None:
        self.finished += 1
        now = self._clock()
        if now - self._points[-1][0] >= 1.0:
            self._points.append((now, self.finished))
            while len(self._points) > 2 and now - self._points[0][0] > _RATE_WINDOW:
                del self._points[0]

    def rate(self) -> float | None:
        """Samples a second over the last half minute; None before there is anything to say."""
        then, before = self._points[0]
        elapsed = self._clock() - then
        return (self.finished - before) / elapsed if elapsed > 0 and self.finished > before else None

    def left(self, samples: int) -> float | None:
        """Seconds until so many samples are finished at this rate."""
        rate = self.rate()
        return None if rate is None else samples / rate


def describe(tally: Tally, failed: int, limit: int) -> str:
    """What came from the store, retries by cause, failures: `retries 3 (rate_limit 3), failed 1, up to 8 at once`."""
    parts: list[str] = []
    if tally.hits:
        parts.append(f"from store {tally.hits:,}")
    if tally.retries:
        causes = ", ".join(f"{kind} {count:,}" for kind, count in sorted(tally.retries.items()))
        parts.append(f"retries {tally.retries.total():,} ({causes})")
    parts.append(f"failed {failed:,}")
    parts.append(f"up to {limit} at once")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """`0:07`, `12:40`, `3:05:00`."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, second = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{second:02d}" if hours else f"{minutes}:{second:02d}"


class Progress:
    """Shows a run on standard error. A context manager; `watch` is handed to `evaluate`.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._meter = Meter(clock)
        self._run: Run | None = None
        self._failed = 0
        self._shown = clock()

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(stderr=True)
        self._bar = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.completed:,}/{task.total:,}"),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.description}"),
                console=self._console,
                transient=True,
                auto_refresh=False,
            )
            self._task = self._bar.add_task("starting", total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._show(last=True)
        if self._bar is not None:
            self._bar.stop()
            if self._run is not None:
                self._console.print(self._line(self._run), highlight=False, soft_wrap=True)

    def watch(self, run: Run) -> Callable[[Outcome], None]:
        """Begin to show `run`; what is returned is to be called after every outcome."""
        self._run = run
        self._meter = Meter(self._clock)
        return self._count

    def _count(self, outcome: Outcome) -> None:
        self._meter.count()
        self._failed += isinstance(outcome.result, Failure)
        if self._clock() - self._shown >= (_EVERY_SECONDS if self._bar is not None else _PLAIN_SECONDS):
            self._show()

    def _show(self, *, last: bool = False) -> None:
        run = self._run
        if run is None:
            return
        self._shown = self._clock()
        if self._bar is None:
            self._console.print(self._line(run), highlight=False, soft_wrap=True)
            return
        self._bar.update(
            self._task,
            total=run.total,
            completed=run.done_before + self._meter.finished,
            description=self._words(run),
            refresh=not last,
        )

    def _words(self, run: Run) -> str:
        rate, left = self._meter.rate(), self._meter.left(run.total - run.done_before - self._meter.finished)
        speed = "" if rate is None else f"{rate:.1f}/s, "
        remaining = "" if left is None or left < 1 else f"{duration(left)} left, "
        return speed + remaining + describe(run.tally, self._failed, run.limit)

    def _line(self, run: Run) -> str:
        return f"{run.done_before + self._meter.finished:,}/{run.total:,} samples, {self._words(run)}"
