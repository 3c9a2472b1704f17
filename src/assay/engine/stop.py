"""Ending a run early without losing anything: one switch that everybody looks at, and the signals that turn it."""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

from assay.errors import AssayError, RunStopped


class Stop:
    """The switch that ends a run. Once turned, no new call begins; calls in flight may finish.

    The first reason stays. Belongs to one event loop.
    """

    def __init__(self) -> None:
        self.reason: AssayError | None = None
        self._listeners: list[Callable[[AssayError], None]] = []

    def request(self, reason: AssayError) -> None:
        """End the run for this reason, unless it is ending already."""
        if self.reason is not None:
            return
        self.reason = reason
        for listener in list(self._listeners):
            listener(reason)

    def check(self) -> None:
        """Raise the reason if the run is ending."""
        if self.reason is not None:
            raise self.reason

    def listen(self, listener: Callable[[AssayError], None]) -> None:
        """Call `listener` with the reason as soon as there is one."""
        self._listeners.append(listener)
        if self.reason is not None:
            listener(self.reason)

    def ignore(self, listener: Callable[[AssayError], None]) -> None:
        """Undo `listen`."""
        self._listeners.remove(listener)

    async def wait_unless(self, pause: Awaitable[None]) -> None:
        """Wait for `pause` to end.

        Raises:
            the reason, as soon as the run is ending.
        """
        self.check()
        task = asyncio.ensure_future(pause)

        def wake(_: AssayError) -> None:
            task.cancel()

        self.listen(wake)
        try:
            await asyncio.wait({task})
        finally:
            self.ignore(wake)
            task.cancel()
        self.check()


@contextmanager
def stop_on_signals(stop: Stop, first: Callable[[], None], second: Callable[[], None]) -> Generator[None]:
    """Within the context, the first SIGINT or SIGTERM turns `stop` and calls `first`; each later one calls `second`.

    Python delivers signals to the main thread only: in any other thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    received = 0

    def handle(number: signal.Signals) -> None:
        nonlocal received
        received += 1
        if received > 1:
            second()
            return
        name = "Ctrl-C" if number is signal.SIGINT else number.name
        stop.request(RunStopped(f"Stopped by {name}."))
        first()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
