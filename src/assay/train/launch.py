"""The process that trains, alone or among several: what it needs, and how it is ended."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from assay.errors import MissingExtra, UsageError
from assay.models.local_checkpoint import library
from assay.models.local_checkpoint import quiet as without_bars

__all__ = ["check_libraries", "is_first", "on_signal", "processes", "quiet", "silent"]


def check_libraries(method: str) -> None:
    """Raises MissingExtra where a library is not installed, UsageError where one process sees several GPUs."""
    for name in ("torch", "transformers", "accelerate", "datasets", "trl", *(["peft"] if method == "lora" else [])):
        try:
            import_module(name)
        except ModuleNotFoundError as cause:
            raise MissingExtra("Training", "train") from cause
    if (gpus := library("torch").cuda.device_count()) > 1 and processes() == 1:
        raise UsageError(
            f"One process sees {gpus} GPUs. Start one for each: accelerate launch --config_file "
            "recipes/accelerate/fsdp.yaml -m assay prm train ...; or show it one with CUDA_VISIBLE_DEVICES=0."
        )


def processes() -> int:
    """How many train together; `accelerate launch` says so."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this is the one that writes and speaks."""
    return os.environ.get("RANK", "0") == "0"


def silent(_: str) -> None:
    """What all but the first say."""


@contextmanager
def quiet() -> Generator[None]:
    """Without what the libraries tell each other: progress bars, and what they find outdated in one another."""
    logging: Any = import_module("transformers.utils").logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with without_bars(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)


@contextmanager
def on_signal(stop: Callable[[], None]) -> Generator[None]:
    """Within the context, the first SIGINT or SIGTERM calls `stop`; the next one ends the process as usual.

    Python delivers signals to the main thread only: in any other thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(_number: int, _frame: Any) -> None:
        restore()
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
