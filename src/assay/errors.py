"""The exceptions of Assay, one class for each thing that a caller can act on.

AssayError
├── UsageError            what was asked can't be done as asked; nothing was started
│   ├── DataError         a file, a row or a folder is not as it must be
│   └── MissingExtra      an optional dependency is not installed
├── RunError              a run can't go on, or can't be continued
│   ├── RunMismatch       the run folder belongs to another plan
│   ├── RunLocked         another process writes to the run folder
│   └── RunStopped        stopped on purpose: a signal, the budget, too many failures
├── ImageError            one picture can't be read or prepared
├── CallError             one call of a model failed
└── MarkError             one answer can't be marked

`ImageError`, `CallError` and `MarkError` concern one sample: the engine turns them into a `Failure`, which is data.
The others end the command with one clear sentence.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

CallKind = Literal[
    "connection",  # no connection, or cut in the middle
    "timeout",
    "rate_limit",  # 429
    "server",  # 5xx and the retryable 4xx
    "auth",  # 401, 403: every further call would fail as well
    "not_found",  # 404: an unknown model or path; every further call would fail as well
    "bad_request",  # any other 4xx
    "too_long",  # the prompt does not fit the model's context
    "malformed",  # a reply that is not what the protocol says
    "no_reply",  # a replay that holds no reply for this request
]


class AssayError(Exception):
    """Base of everything that Assay raises on purpose."""


class UsageError(AssayError):
    """What was asked can't be done as asked. The message says what to change."""


class DataError(UsageError):
    """A file, row or folder is not as it must be.

    Args:
        where: the file, with the row's number or id where there is one, e.g. `rows.jsonl:17`.
        problem: what is wrong, in one clause.
        remedy: what the user can do.
    """

    def __init__(self, where: str, problem: str, remedy: str) -> None:
        super().__init__(f"{where}: {problem}. {remedy}")
        self.where = where
        self.problem = problem
        self.remedy = remedy


class MissingExtra(UsageError):
    """An optional dependency is not installed."""

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(f"{need} needs an optional package: pip install 'assay[{extra}]'")
        self.extra = extra


class RunError(AssayError):
    """A run can't go on, or can't be continued."""


class RunMismatch(RunError):
    """The run folder was started with another plan (benchmark, model, sampling, prompts, ...)."""


class RunLocked(RunError):
    """Another process is writing to the run folder."""


class RunStopped(RunError):
    """The run stopped on purpose; finished work is on disk and the same command goes on from there."""


class ImageError(AssayError):
    """One picture can't be read or prepared. `kind` is a short stable word for the tables."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class CallError(AssayError):
    """One call of a model failed.

    Args:
        kind: see `CallKind`.
        message: one sentence for a person.
        retryable: whether the same call may succeed later.
        fatal: whether every further call would fail in the same way (a wrong key, an unknown model).
        retry_after: seconds that the server asked us to wait, if it did.
        status: the HTTP status, if there was one.
    """

    def __init__(
        self,
        kind: CallKind,
        message: str,
        *,
        retryable: bool = False,
        fatal: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: CallKind = kind
        self.retryable = retryable
        self.fatal = fatal
        self.retry_after = retry_after
        self.status = status


class MarkError(AssayError):
    """One answer can't be marked, e.g. a symbolic comparison that ran into its deadline."""


@contextmanager
def boundary(error: Callable[[str], AssayError], what: str) -> Generator[None]:
    """Turn anything unexpected into `error(message)`: a class of ours, or a partial of one with a kind.

    The one place where a broad except is right: at the edge to code that may raise anything. Our own errors pass
    through unchanged.
    """
    try:
        yield
    except AssayError:
        raise
    except Exception as cause:
        raise error(f"{what}: {type(cause).__name__}: {cause}") from cause
