"""The lock of a folder that one process at a time may write to.

It is a lock of the operating system on the file `lock`, which frees it when the process ends, however that happens; the
file stays, and says who had it last.
"""

import fcntl
import os
from pathlib import Path

from assay.errors import RunLocked


def take_lock(path: Path) -> int:
    """Lock a folder for this process until the descriptor that it returns is closed.

    Raises:
        RunLocked: another process has it.
        OSError: the file can't be opened, locked or written.
    """
    lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"pid {os.getpid()} on {os.uname().nodename}\n".encode("ascii", "replace"), 0)
    except BlockingIOError:
        owner = os.pread(lock, 64, 0).decode("ascii", "replace").strip()
        os.close(lock)
        raise RunLocked(
            f"{path} is being written by another process ({owner or 'unknown'}). Wait for it, or stop it first."
        ) from None
    except OSError:
        os.close(lock)
        raise
    return lock


def release_lock(lock: int | None) -> None:
    """Give up what `take_lock` returned; nothing where it was never taken."""
    if lock is not None:
        os.close(lock)
