"""Python's cycle collector, kept from walking over everything again and again while a run goes on."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_YOUNG = 50_000
"""Objects made, less objects freed, between two looks at the young ones: some hundred samples' worth."""


@contextmanager
def seldom_collecting() -> Generator[None]:
    """Within the context, collect seldom, and never look at what was there before.

    A sample leaves hardly a cycle behind, but its thousands of short-lived objects would start a collection every few
    samples, a tenth of a run's time. The former settings come back afterwards.
    """
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(_YOUNG, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not frozen:  # else somebody else froze things too, and would have them thawed as well
            gc.unfreeze()
