"""Python's cycle collector, kept from walking over everything again and again while a run goes on."""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_YOUNG = 50_000
"""Objects made, less objects freed, between two looks at the young ones: some hundred samples' worth."""


@contextmanager
def seldom_collecting() -> Generator[None]:
    """Within the context, collect seldom, and never look at what was there before.

    A sample leaves hardly a cycle behind, but its thousands of short-lived objects would start a collection every few
    samples, a tenth of a run's time. The former settings come back afterwards; where contexts overlap, as those of two
    runs of one process do, with the end of the last one.
    """
    _settings.change()
    try:
        yield
    finally:
        _settings.restore()


class _Settings:
    """The collector's settings, and how many contexts have changed them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contexts = 0
        self._thresholds = (0, 0, 0)
        self._frozen = 0

    def change(self) -> None:
        with self._lock:
            self._contexts += 1
            if self._contexts == 1:
                self._thresholds, self._frozen = gc.get_threshold(), gc.get_freeze_count()
                gc.set_threshold(_YOUNG, *self._thresholds[1:])
            gc.freeze()

    def restore(self) -> None:
        with self._lock:
            self._contexts -= 1
            if self._contexts:
                return
            gc.set_threshold(*self._thresholds)
            if not self._frozen:  # else somebody else froze things too, and would have them thawed as well
                gc.unfreeze()


_settings = _Settings()
