"""Symbolic comparison with Math-Verify, in worker processes that can be killed.

Math-Verify is good at mathematics and bad at being a guest: it refuses threads (its time limit is a signal), turns
its errors into "not equal", and may compute for minutes. Here it runs in processes of its own, without its time limit,
with its errors raised; we kill a process that is over the deadline, and start another.

Safe to call from several threads: there is one process for each processor at most, started when first needed (about a
second, paid once), each with a memory limit, each replaced after some hundreds of tasks because sympy never forgets.
"""

import atexit
import contextlib
import os
import queue
import re
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextvars import ContextVar
from typing import IO, Literal, cast

import msgspec

from assay.errors import AssayError, MarkError

Comparison = Literal["equal", "different", "unreadable answer"]

DEADLINE = 5.0
"""Seconds that one comparison may take."""

START_SECONDS = 60.0
"""Seconds that a process may take to import sympy; a second on an idle machine."""

TASKS_PER_WORKER = 500
CACHED = 20_000
"""Comparisons remembered; benchmark answers repeat a lot."""

MAX_CHARS = 1_000
MAX_NESTING = 30
MAX_DIGITS = 200
"""Of one number."""

MAX_ARGUMENT_DIGITS = 5
"""Of an exponent, or of the argument of a factorial."""

MAX_TOWER = 2
"""Exponents inside exponents."""


def over_limit(latex: str) -> str | None:
    """Which limit the text is over, in words, or None. No gold of any benchmark comes near one."""
    if len(latex) > MAX_CHARS:
        return f"more than {MAX_CHARS} characters"
    return _over_digits(latex) or _over_nesting(latex)


def _over_digits(latex: str) -> str | None:
    run = 0
    for at, character in enumerate(latex):
        run = run + 1 if character.isdigit() else 0
        if run > MAX_DIGITS:
            return f"a number of more than {MAX_DIGITS} digits"
        if run > MAX_ARGUMENT_DIGITS:
            before = latex[: at - run + 1].rstrip(" {+-")
            after = latex[at + 1 :].lstrip(" })")
            if before.endswith("^") or after.startswith("!"):
                return f"an exponent or factorial of more than {MAX_ARGUMENT_DIGITS} digits"
    return None


_NUMBER_TOWER = re.compile(r"\d\s*\^\s*\{?\s*\d+\s*\}?\s*\^\s*\{?\s*\d")


def _over_nesting(latex: str) -> str | None:
    if _NUMBER_TOWER.search(latex):  # 9^{9^9} has 370 million digits; the small ones are plain arithmetic
        return "a tower of numbers"
    exponents: list[bool] = []  # for every open bracket, whether it opened an exponent
    previous = ""
    chained = 0  # carets on this level without brackets, as in 9^9^9
    for character in latex:
        if character in "([{":
            exponents.append(previous == "^")
            if len(exponents) > MAX_NESTING:
                return f"brackets nested more than {MAX_NESTING} deep"
        elif character in ")]}" and exponents:
            exponents.pop()
        elif character == "^":
            chained = chained + 1 if chained and previous not in "+-*/ ," else 1
            if sum(exponents) + 1 > MAX_TOWER or chained > MAX_TOWER:
                return f"a tower of more than {MAX_TOWER} exponents"
        elif not character.isalnum():
            chained = 0
        if not character.isspace():
            previous = character
    return None


def equal(gold: str, answer: str, *, deadline: float = DEADLINE) -> bool:
    """Whether two LaTeX expressions are mathematically equal. See `compare`."""
    return compare(gold, answer, deadline=deadline) == "equal"


def compare(gold: str, answer: str, *, deadline: float = DEADLINE) -> Comparison:
    """Compare two LaTeX expressions; an answer that Math-Verify can't read as a whole is not an error.

    Args:
        gold: without `$` and `\\boxed`.
        answer: likewise.
        deadline: seconds for this comparison, waiting for a free process not counted.

    Raises:
        MarkError: the comparison was over its deadline or the memory limit, Math-Verify failed, the gold is unreadable
            to it, or one side is over a limit (`over_limit`).
    """
    for side, latex in (("gold", gold), ("answer", answer)):
        if limit := over_limit(latex):
            raise MarkError(f"the {side} has {limit}")
    return _default_pool().compare(gold, answer, deadline=deadline)


class WouldWait(AssayError):
    """The comparison needs a worker process, and the caller asked not to wait for one."""


_no_waiting: ContextVar[bool] = ContextVar("no_waiting", default=False)


@contextlib.contextmanager
def without_waiting() -> Generator[None]:
    """Within the context, a comparison that is not known yet raises `WouldWait` instead of asking a process.

    Nine replies of ten are marked without one, so an event loop tries this first and moves only the rest to a thread.
    """
    token = _no_waiting.set(True)
    try:
        yield
    finally:
        _no_waiting.reset(token)


def close() -> None:
    """End the worker processes; they start again when needed."""
    global _pool
    with _pool_lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.close()


class _Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    gold: str
    answer: str
    deadline: float


class _Reply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    result: Literal["ready", "equal", "different", "unreadable gold", "unreadable answer", ""] = ""
    error: str = ""


class _Worker:
    """One process and its pipes. Not shared: whoever holds it has it alone."""

    def __init__(self, command: Sequence[str]) -> None:
        self.done = 0
        self._process = subprocess.Popen(  # noqa: S603  our own module, or a test's double
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us; we end our workers ourselves
        )
        self._tasks = cast("IO[bytes]", self._process.stdin)
        self._replies = cast("IO[bytes]", self._process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    def receive(self, seconds: float) -> _Reply:
        """The next line. A process that is late or talks nonsense is killed, and the reason raised."""
        late = threading.Event()

        def kill() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            line = self._replies.readline()
        finally:
            timer.cancel()
        if late.is_set():
            raise MarkError(f"the symbolic comparison took longer than {seconds:g} s")
        if not line:
            raise MarkError(f"the symbolic comparison ended its process (status {self._process.wait()})")
        try:
            return msgspec.json.decode(line, type=_Reply)
        except msgspec.DecodeError as error:
            raise MarkError(f"the worker process replied with something else: {error}") from error

    def send(self, task: _Task) -> None:
        try:
            self._tasks.write(msgspec.json.encode(task) + b"\n")
            self._tasks.flush()
        except OSError as error:
            raise MarkError(f"the worker process is gone: {error}") from error
        self.done += 1

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._tasks, self._replies):
            with contextlib.suppress(OSError):  # what is left in a buffer has nowhere to go
                pipe.close()


class Pool:
    """Up to `size` worker processes and the memory of what they found.

    Args:
        size: how many processes at most; one for each processor by default.
        command: what to start; the tests start misbehaving ones.
    """

    def __init__(self, size: int | None = None, command: Sequence[str] | None = None) -> None:
        self._command = command or (sys.executable, "-P", "-m", "assay.mark.symbolic_worker")
        # Last in, first out: a light load keeps to one process.
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self._size = size or os.cpu_count() or 1
        for _ in range(self._size):
            self._idle.put(None)
        self._cache: OrderedDict[tuple[str, str], Comparison] = OrderedDict()
        self._cache_lock = threading.Lock()

    def compare(self, gold: str, answer: str, *, deadline: float = DEADLINE) -> Comparison:
        """See `assay.mark.symbolic.compare`. Failures are not remembered: the next try may have more luck."""
        with self._cache_lock:
            if (known := self._cache.get((gold, answer))) is not None:
                self._cache.move_to_end((gold, answer))
                return known
        if _no_waiting.get():
            raise WouldWait("the comparison needs a worker process")
        result = self._ask(_Task(gold=gold, answer=answer, deadline=deadline))
        with self._cache_lock:
            self._cache[(gold, answer)] = result
            if len(self._cache) > CACHED:
                self._cache.popitem(last=False)
        return result

    def _ask(self, task: _Task) -> Comparison:
        worker = self._idle.get()
        try:
            if worker is None:
                worker = self._started()
            worker.send(task)
            reply = worker.receive(task.deadline)
        except BaseException:
            if worker is not None:
                worker.end()
            self._idle.put(None)
            raise
        if worker.done >= TASKS_PER_WORKER or "MemoryError" in reply.error:
            worker.end()
            worker = None
        self._idle.put(worker)
        if reply.error or reply.result in {"", "ready"}:
            raise MarkError(reply.error or "Math-Verify: an empty reply")
        if reply.result == "unreadable gold":
            raise MarkError("Math-Verify can't read the gold")
        return cast("Comparison", reply.result)

    def _started(self) -> _Worker:
        try:
            worker = _Worker(self._command)
        except OSError as error:
            raise MarkError(f"can't start the process for symbolic comparison: {error}") from error
        try:
            worker.receive(START_SECONDS)
        except BaseException:
            worker.end()
            raise
        return worker

    def pids(self) -> tuple[int, ...]:
        """The processes that are running and idle right now."""
        return tuple(worker.pid for worker in tuple(self._idle.queue) if worker is not None)

    def close(self) -> None:
        """End the processes, waiting for those at work (their deadline bounds the wait)."""
        for _ in range(self._size):
            worker = self._idle.get()
            if worker is not None:
                worker.end()
        for _ in range(self._size):
            self._idle.put(None)


_pool: Pool | None = None
_pool_lock = threading.Lock()


def _default_pool() -> Pool:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = Pool()
        return _pool


def _forget_after_fork() -> None:
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()  # the processes and their pipes are the parent's


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
