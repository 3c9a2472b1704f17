"""A deterministic model that answers from a function or a file: for tests, examples and demonstrations."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from pathlib import Path

import msgspec

from assay.errors import CallError, CallKind, DataError
from assay.models.base import request_key
from assay.types import Finish, Reply, Request, Usage

Answer = str | Reply | CallError
Script = Callable[[Request, int], Answer | Awaitable[Answer]]

# As a server would have it: these pass, the others don't.
_RETRYABLE: frozenset[CallKind] = frozenset({"connection", "timeout", "rate_limit", "server", "malformed"})
_FATAL: frozenset[CallKind] = frozenset({"auth", "not_found"})


class ScriptedModel:
    """Answers with what a function says.

    Args:
        function: called with the request and the index of the draw; gives the text or the whole reply. It may raise or
            return a `CallError` to fail, and may be a coroutine function. It must depend on its arguments alone
            wherever replies are to be repeatable.
        identity: stands for the function in request keys: another function needs another identity.
    """

    def __init__(self, function: Script, *, identity: str = "scripted:function") -> None:
        self._function = function
        self._identity = identity

    @classmethod
    def from_file(cls, path: Path | str) -> "ScriptedModel":
        """A model that answers from JSON lines, found by `Request.sample_id`.

        A row: `{"id": "7", "reply": "Answer: B"}`, with `"index"` for one draw only (else for all draws of the sample),
        `"finish"`, `"reasoning"`, `"usage"`, and `"fail": {"kind": "rate_limit", "message": "...", "times": 2}` for a
        call that fails: always, or so many times before the reply comes. `docs/replies.md` tells the whole.

        Raises:
            DataError: the file is missing, or a row is not as it must be.
        """
        path = Path(path)
        script = _FileScript(path.name, _read_rows(path))
        return cls(script, identity=f"scripted:{path.name}:{sha256(path.read_bytes()).hexdigest()[:16]}")

    @property
    def identity(self) -> str:
        return self._identity

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        """The replies of draws `index .. index + n - 1`.

        Raises:
            CallError: as the function has it.
        """
        replies: list[Reply] = []
        for index in range(request.index, request.index + request.n):
            answer = self._function(request, index)
            if inspect.isawaitable(answer):
                answer = await answer
            if isinstance(answer, CallError):
                raise answer
            replies.append(Reply(text=answer, model=self._identity) if isinstance(answer, str) else answer)
        return tuple(replies)

    async def close(self) -> None:
        """Nothing to free."""


class _Fail(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure; `times`: how often before the reply comes, None for always."""

    kind: CallKind
    message: str = "scripted failure"
    times: int | None = None


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str | int
    index: int | None = None
    reply: str | None = None
    reasoning: str = ""
    finish: Finish = "stop"
    usage: Usage | None = None
    fail: _Fail | None = None


class _FileScript:
    """The function of a file. Failures are counted for each draw of each request."""

    def __init__(self, name: str, rows: dict[tuple[str, int | None], _Row]) -> None:
        self._name = name
        self._rows = rows
        self._failed: dict[str, int] = {}

    def __call__(self, request: Request, index: int) -> Answer:
        row = self._rows.get((request.sample_id, index)) or self._rows.get((request.sample_id, None))
        if row is None:
            return CallError("no_reply", f"{self._name} has no row for sample {request.sample_id!r}, draw {index}")
        if row.fail is not None and self._fails(row.fail, request, index):
            kind = row.fail.kind
            return CallError(kind, row.fail.message, retryable=kind in _RETRYABLE, fatal=kind in _FATAL)
        return Reply(
            text=row.reply or "",
            reasoning=row.reasoning,
            finish=row.finish,
            usage=row.usage,
            model=f"scripted:{self._name}",
        )

    def _fails(self, fail: _Fail, request: Request, index: int) -> bool:
        if fail.times is None:
            return True
        key = f"{request.sample_id}\x00{request_key(self._name, request, index)}"
        self._failed[key] = self._failed.get(key, 0) + 1
        return self._failed[key] <= fail.times


def _read_rows(path: Path) -> dict[tuple[str, int | None], _Row]:
    try:
        text = path.read_bytes()
    except OSError as cause:
        problem = (cause.strerror or "it can't be read").lower()
        raise DataError(str(path), problem, "Name a file of scripted replies") from None
    rows: dict[tuple[str, int | None], _Row] = {}
    for where, line in _lines(path, text):
        row = _row(where, line)
        key = (str(row.id), row.index)
        if key in rows:
            draw = "" if row.index is None else f", draw {row.index}"
            raise DataError(where, f"sample {row.id!r}{draw} was there before", "Keep one row for each draw")
        rows[key] = row
    return rows


def _lines(path: Path, text: bytes) -> Iterable[tuple[str, bytes]]:
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", line


def _row(where: str, line: bytes) -> _Row:
    remedy = 'Write {"id": "...", "reply": "..."}, or "fail": {"kind": "..."}'
    try:
        row = msgspec.json.decode(line, type=_Row)
    except (msgspec.MsgspecError, RecursionError) as cause:
        raise DataError(where, str(cause).rstrip("."), remedy) from None
    if row.reply is None and (row.fail is None or row.fail.times is not None):
        raise DataError(where, "there is no reply", remedy)
    if row.fail is not None and row.fail.times is not None and row.fail.times < 0:
        raise DataError(where, "fail.times is negative", remedy)
    return row
