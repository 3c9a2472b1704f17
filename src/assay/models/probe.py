"""What a server really honours, found out with a few short calls.

Servers differ in what they ignore without a word (`n`, `logprobs`, a picture) and in how an assistant turn is
continued, so what came back is looked at, not what was asked. Nine calls at most, each of a few tokens; those that
fail are tried again.
"""

import asyncio
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from assay.errors import CallError, UsageError
from assay.models.wire import Strategy
from assay.types import ImagePart, Message, Reply, Request, Sampling, TextPart

T = TypeVar("T")

_TRIES = 3
_LONGEST_WAIT = 5.0  # seconds before a call of the probe is tried again, whatever the server asks for


class PrefillPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an assistant turn is continued on this server.

    Attributes:
        strategy: how it is asked for.
        repeats: whether the reply begins with the prefill; None if not known.
        seen: whether a call showed that the turn was really continued.
    """

    strategy: Strategy
    repeats: bool | None = None
    seen: bool = False


class ServedModel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the server's list of models."""

    name: str
    owner: str = ""


class Capabilities(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a server honours. None: could not be found out.

    Attributes:
        url: its address, without secrets.
        model: the name that was asked for.
        models: the names that it lists; None where it has no list.
        listed: whether the model is among them.
        draws: whether one call with `n` gives n replies.
        logprobs: whether log-probabilities come back.
        seed: whether two equal calls at temperature 1 gave equal replies.
        images: whether a picture is accepted.
        prefill: how an assistant turn is continued.
        repeats_prefill: whether the reply repeats it.
        reasoning: whether thinking text came back.
        notes: sentences for the user, about what costs or limits something.
    """

    url: str
    model: str
    models: tuple[str, ...] | None
    listed: bool | None
    draws: bool | None
    logprobs: bool | None
    seed: bool | None
    images: bool | None
    prefill: Strategy
    repeats_prefill: bool | None
    reasoning: bool
    notes: tuple[str, ...]


class Probed(Protocol):
    """What the probe needs of a model."""

    @property
    def name(self) -> str: ...

    @property
    def url(self) -> str: ...

    async def call_once(self, request: Request, plan: PrefillPlan) -> tuple[Reply, ...]:
        """One call; as many replies as came."""
        ...

    async def served(self) -> tuple[ServedModel, ...] | None:
        """The server's list of models, or None where it has none."""
        ...

    async def prefill_plan(self) -> PrefillPlan: ...


NO_PREFILL = PrefillPlan(strategy="none")
_LIST_LENGTH = 12


def listing(models: tuple[ServedModel, ...]) -> str:
    names = [model.name for model in models[:_LIST_LENGTH]]
    more = f" and {len(models) - _LIST_LENGTH} more" if len(models) > _LIST_LENGTH else ""
    return ", ".join(names) + more


async def probe_server(model: Probed) -> Capabilities:
    """Find out what the server honours.

    Raises:
        UsageError: no server, a wrong key, an unknown model: one sentence with the address and the remedy.
        CallError: the server answers, but fails again and again.
    """
    notes: list[str] = []
    models = await _patiently(model.served)
    listed = None if models is None else any(model.name == served.name for served in models)
    plain = await _patiently(lambda: model.call_once(_request(_DIGITS), NO_PREFILL))
    if models and not listed:
        notes.append(
            f"the server does not list {model.name!r} but answered for it: check that it serves what you mean "
            f"(it lists {listing(models)})"
        )
    draws = await _draws(model, notes)
    logprobs, first = await _logprobs(model, notes)
    seed = await _seed(model, plain, notes)
    images = await _images(model, plain, notes)
    plan = await _patiently(model.prefill_plan)
    _note_prefill(plan, notes)
    reasoning = any(reply.reasoning for reply in plain + first)
    if reasoning:
        notes.append("the model thinks before it answers: allow for it in --max-tokens")
    return Capabilities(
        url=model.url,
        model=model.name,
        models=None if models is None else tuple(served.name for served in models),
        listed=listed,
        draws=draws,
        logprobs=logprobs,
        seed=seed,
        images=images,
        prefill=plan.strategy,
        repeats_prefill=plan.repeats,
        reasoning=reasoning,
        notes=tuple(notes),
    )


async def find_prefill_plan(model: Probed, strategies: tuple[Strategy, ...], *, trusted: bool = False) -> PrefillPlan:
    """Try ways to continue an assistant turn, in this order, and see which one the server follows.

    The prefill starts with a word that no model writes by itself, so a reply that starts with it repeats it; the rest
    counts, so a reply that goes on counting continues it, and one that starts anew does not. A weak model's reply may
    show nothing: then a server that accepted `continue_final_message` is believed, and one that accepted a trailing
    turn only if it is `trusted`, since many servers silently open a new turn after it.

    Raises:
        CallError: the server can't be asked now.
    """
    believed: PrefillPlan | None = None
    for strategy in strategies:
        text = await _continued(model, strategy)
        if text is None or text.startswith(_ANEW):
            continue
        if text.startswith(_COUNTED.lower()):
            return PrefillPlan(strategy=strategy, repeats=True, seen=True)
        if text.lstrip(" ,").startswith(("seven", "7")):
            return PrefillPlan(strategy=strategy, repeats=False, seen=True)
        if believed is None and (trusted or strategy == "continue"):
            believed = PrefillPlan(strategy=strategy, repeats=False if trusted else None)
    return believed or NO_PREFILL


async def _continued(model: Probed, strategy: Strategy) -> str | None:
    """The reply to a turn to be continued, in lower case; None where the server refuses."""
    request = _request(_COUNT, prefill=_COUNTED)
    raw = PrefillPlan(strategy=strategy, repeats=False)
    try:
        replies = await _try_again(lambda: model.call_once(request, raw))
    except CallError as error:
        if error.kind == "bad_request":
            return None
        raise
    return replies[0].text.strip().lower()


_DIGITS = "Write twenty random digits."
_COUNT = "Count from one to ten in words, separated by commas."
_COUNTED = "Qzx: one, two, three, four, five, six,"
_ANEW = ("one", "1", "sure", "certainly", "of course", "here", "okay")


def _request(
    text: str,
    *,
    n: int = 1,
    top_logprobs: int | None = None,
    picture: ImagePart | None = None,
    prefill: str = "",
) -> Request:
    parts = (TextPart(text=text),) if picture is None else (picture, TextPart(text=text))
    return Request(
        messages=(Message(role="user", parts=parts),),
        sampling=Sampling(temperature=0.0 if prefill else 1.0, max_tokens=16),
        seed=20250101,
        n=n,
        top_logprobs=top_logprobs,
        prefill=prefill,
    )


async def _draws(model: Probed, notes: list[str]) -> bool | None:
    replies = await _accepted(lambda: model.call_once(_request(_DIGITS, n=2), NO_PREFILL))
    if replies is None:
        notes.append("the server refuses n > 1: 8 draws cost 8 calls")
        return False
    if len(replies) < 2:
        notes.append("the server ignores n: 8 draws cost 8 calls")
    return len(replies) >= 2


async def _logprobs(model: Probed, notes: list[str]) -> tuple[bool, tuple[Reply, ...]]:
    replies = await _accepted(lambda: model.call_once(_request(_DIGITS, top_logprobs=2), NO_PREFILL))
    if replies is None:
        notes.append("the server refuses logprobs: no token probabilities from it")
        return False, ()
    given = any(reply.tokens is not None for reply in replies)
    if not given:
        notes.append("the server ignores logprobs: no token probabilities from it")
    return given, replies


async def _seed(model: Probed, first: tuple[Reply, ...], notes: list[str]) -> bool:
    second = await _patiently(lambda: model.call_once(_request(_DIGITS), NO_PREFILL))
    same = _said(first) == _said(second)
    if not same:
        notes.append("two equal calls with one seed gave different replies: a repeated run will not be the same")
    return same


def _said(replies: tuple[Reply, ...]) -> tuple[str, str]:
    return replies[0].text, replies[0].reasoning


async def _images(model: Probed, plain: tuple[Reply, ...], notes: list[str]) -> bool:
    picture = white_picture()
    replies = await _accepted(lambda: model.call_once(_request(_DIGITS, picture=picture), NO_PREFILL))
    if replies is None:
        notes.append("the server refuses pictures for this model")
        return False
    with_picture, without = (_prompt_tokens(said) for said in (replies, plain))
    if with_picture is not None and without is not None and with_picture <= without:
        notes.append("the server counts no tokens for a picture: the model may not see it")
    return True


def _prompt_tokens(replies: tuple[Reply, ...]) -> int | None:
    usage = replies[0].usage
    return usage.prompt_tokens or None if usage else None


def _note_prefill(plan: PrefillPlan, notes: list[str]) -> None:
    if plan.strategy == "none":
        notes.append("the server can't continue an assistant turn: methods that prefill won't work")
    elif not plan.seen:
        notes.append("the server accepts a prefill, but the reply does not show that the model continued it")


async def _accepted(call: Callable[[], Awaitable[tuple[Reply, ...]]]) -> tuple[Reply, ...] | None:
    """The replies, or None where the server refuses this kind of request."""
    try:
        return await _try_again(call)
    except CallError as error:
        # Some servers answer what they can't do with 500; it does so each time, or we would not be here.
        if error.kind in ("bad_request", "too_long", "server") and error.status is not None:
            return None
        raise


async def _patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Call; what makes every further call useless becomes a UsageError."""
    try:
        return await _try_again(call)
    except CallError as error:
        if error.kind == "connection" and error.status is None:
            raise UsageError(f"{error} Start the server, or correct --base-url.") from None
        if error.fatal:
            raise UsageError(str(error)) from None
        raise


async def _try_again(call: Callable[[], Awaitable[T]]) -> T:
    for attempt in range(_TRIES):
        try:
            return await call()
        except CallError as error:
            if not error.retryable or attempt == _TRIES - 1:
                raise
            wait = 0.2 * 2**attempt if error.retry_after is None else error.retry_after
            await asyncio.sleep(min(wait, _LONGEST_WAIT))
    raise AssertionError("unreachable: the last try returns or raises")


def white_picture(side: int = 64) -> ImagePart:
    """A small white PNG, made by hand so that probing needs no picture library."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)  # 8 bits a channel, RGB
    rows = (b"\x00" + b"\xff" * 3 * side) * side
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return ImagePart(key=f"white-{side}", media_type="image/png", width=side, height=side, data=data)
