"""The chat-completions protocol: a `Request` as the bytes of a body, the bytes of an answer as `Reply`s.

Pure: no network, no state but a small cache of encoded pictures. The protocol is OpenAI's, with what vLLM, SGLang,
llama.cpp, transformers, Gemini and DeepSeek add to it or leave out.
"""

import json
import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec
import pybase64

from assay.errors import CallError
from assay.models.shares import share_usage
from assay.models.thinking import split_thinking
from assay.types import Finish, ImagePart, Message, Reply, Request, TextPart, Token, Usage

Strategy = Literal[
    "continue",  # a trailing assistant turn with continue_final_message: vLLM, SGLang
    "trailing",  # a trailing assistant turn alone: llama.cpp, DeepSeek
    "none",  # the server can't continue an assistant turn
]

# ----------------------------------------------------------------------------------------------------
# Bodies

# Fields that say what is asked, by whom and how it comes back: setting them from outside would make a request's key lie
# or its reply unreadable.
RESERVED = frozenset({"model", "messages", "n", "seed", "stream", "logprobs", "top_logprobs"})

_encoder = msgspec.json.Encoder()


class BodyWriter:
    """Writes request bodies for one server.

    Args:
        name: the model's name.
        max_tokens_field: `max_tokens`, or `max_completion_tokens` for OpenAI's newer models.
        omit: fields never to send, for servers that refuse them, e.g. `seed`.
        prefix_flag: whether a trailing assistant turn is marked `"prefix": true` (DeepSeek, Mistral).
        cache_bytes: bound of the cache of encoded pictures. Draws and steps of one sample share its pictures, and
            come one after another.
    """

    def __init__(
        self,
        name: str,
        *,
        max_tokens_field: str = "max_tokens",
        omit: Iterable[str] = (),
        prefix_flag: bool = False,
        cache_bytes: int = 4 * 2**20,
    ) -> None:
        self._name = name
        self._max_tokens_field = max_tokens_field
        self._omit = tuple(omit)
        self._prefix_flag = prefix_flag
        self._pictures: OrderedDict[tuple[str, str], tuple[msgspec.Raw, int]] = OrderedDict()
        self._cache_bytes = cache_bytes
        self._cached_bytes = 0

    def body(self, request: Request, *, count: int, seed: int, strategy: Strategy) -> bytes:
        """The JSON body that asks for `count` draws from `seed` on."""
        sampling = request.sampling
        # top_p is sent even where it is 1: vLLM's default is what the checkpoint's generation_config says.
        body: dict[str, Any] = {
            "model": self._name,
            "messages": self._messages(request, strategy),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self._max_tokens_field: sampling.max_tokens,
            "seed": seed,
        }
        if sampling.top_k is not None:
            body["top_k"] = sampling.top_k
        if sampling.stop:
            body["stop"] = sampling.stop
        if count > 1:
            body["n"] = count
        if request.top_logprobs is not None:
            body["logprobs"] = True
            if request.top_logprobs:
                body["top_logprobs"] = request.top_logprobs
        if request.prefill and strategy == "continue":
            body["add_generation_prompt"] = False
            body["continue_final_message"] = True
        for name in self._omit:
            body.pop(name, None)
        return _encoder.encode(body | sampling.extra if sampling.extra else body)

    def _messages(self, request: Request, strategy: Strategy) -> list[dict[str, Any]]:
        messages = [self._message(message) for message in request.messages]
        if request.prefill:
            turn: dict[str, Any] = {"role": "assistant", "content": request.prefill}
            if strategy == "trailing" and self._prefix_flag:
                turn["prefix"] = True
            messages.append(turn)
        return messages

    def _message(self, message: Message) -> dict[str, Any]:
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        if len(texts) == len(message.parts):
            # Some chat templates accept plain text only; servers join parts with a line break as well.
            return {"role": message.role, "content": "\n".join(texts)}
        content = [
            {"type": "text", "text": part.text} if isinstance(part, TextPart) else self._picture(part)
            for part in message.parts
        ]
        return {"role": message.role, "content": content}

    def _picture(self, part: ImagePart) -> msgspec.Raw:
        key = (part.key, part.media_type)
        cached = self._pictures.get(key)
        if cached is not None:
            self._pictures.move_to_end(key)
            return cached[0]
        head = f'{{"type":"image_url","image_url":{{"url":"data:{part.media_type};base64,'.encode()
        picture = b"".join((head, pybase64.b64encode(part.data), b'"}}'))
        encoded = msgspec.Raw(picture)
        self._pictures[key] = (encoded, len(picture))
        self._cached_bytes += len(picture)
        while self._cached_bytes > self._cache_bytes:
            _, (_, size) = self._pictures.popitem(last=False)
            self._cached_bytes -= size
        return encoded


# ----------------------------------------------------------------------------------------------------
# Answers


# What a server sends is not ours to forbid fields in: these are no records, and unknown fields are skipped. Only fields
# that we use are read, and those that differ between servers in form are `Any`.
@dataclass(frozen=True, kw_only=True, slots=True)
class _Alternative:
    token: str
    logprob: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Token:
    token: str
    logprob: float
    bytes: list[int] | None = None
    top_logprobs: list[_Alternative] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Logprobs:
    content: list[_Token] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Message:
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choice:
    message: _Message | None = None
    finish_reason: Any = None
    logprobs: _Logprobs | None = None
    index: int = 0
    error: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Usage:
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Completion:
    choices: list[_Choice] = field(default_factory=list[_Choice])
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Completion)

_FINISHES: dict[str, Finish] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"), "stop"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"), "length"
    ),
    **dict.fromkeys(
        ("content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii", "sensitive"),
        "filter",
    ),
}
# The server gave up in the middle: not what the model had to say.
_BROKEN_OFF = frozenset({"abort", "error", "insufficient_system_resource", "network_error"})


def read_completion(
    body: bytes, *, content_type: str, request: Request, name: str, repeats: bool | None
) -> tuple[Reply, ...]:
    """The replies in a server's answer with status 200, in the order of the draws.

    Usage comes for the whole call, not for each draw; see `shares.share_usage`.

    Args:
        body, content_type: as received.
        request: what was asked.
        name: the model's name, where the answer says none.
        repeats: whether the server repeats the prefill in its reply; None if not known.

    Raises:
        CallError: `malformed` for anything that is no chat completion, `server` for a reply that the server broke off;
            both retryable. The message says what the server did, without its name.
    """
    completion = _decode(body, content_type)
    if completion.error:
        raise malformed(f"sent an error with status 200: {error_text(completion.error)}")
    if not completion.choices:
        raise malformed("sent an answer without choices")
    usage = None
    if completion.usage is not None:
        usage = Usage(
            prompt_tokens=max(completion.usage.prompt_tokens or 0, 0),
            completion_tokens=max(completion.usage.completion_tokens or 0, 0),
        )
    ordered = sorted(completion.choices, key=lambda choice: choice.index)
    replies = tuple(_reply(choice, request, completion.model or name, repeats) for choice in ordered)
    return replies if usage is None else share_usage(replies, usage)


def malformed(problem: str) -> CallError:
    return CallError("malformed", problem, retryable=True)


def _decode(body: bytes, content_type: str) -> _Completion:
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    # Python servers write NaN and Infinity for log-probabilities and lone surrogates in text, which no strict decoder
    # accepts.
    try:
        return msgspec.convert(_without_surrogates(json.loads(body)), _Completion)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        pass
    kind = "" if "json" in content_type else f" of type {content_type or 'unknown'}"
    raise malformed(f"sent something{kind} that is no chat completion: {excerpt(body)!r}") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in cast(dict[str, Any], value).items()}
    return value


def excerpt(body: bytes, limit: int = 80) -> str:
    """The beginning of a body on one line, for a message."""
    return one_line(body[: 4 * limit].decode("utf-8", "replace"))[:limit]


def one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def error_text(error: Any) -> str:
    """The sentence in an error object, whatever its form."""
    if isinstance(error, dict):
        fields = cast(dict[str, Any], error)
        for name in ("message", "msg", "detail", "error", "errors"):
            if fields.get(name):
                return error_text(fields[name])
    if isinstance(error, list) and error:
        return error_text(cast(list[Any], error)[0])
    return one_line(error if isinstance(error, str) else json.dumps(error))[:300]


def _reply(choice: _Choice, request: Request, name: str, repeats: bool | None) -> Reply:
    message = choice.message or _Message()
    reason = choice.finish_reason.lower() if isinstance(choice.finish_reason, str) else ""
    if choice.error or reason in _BROKEN_OFF:
        problem = error_text(choice.error) if choice.error else reason
        raise CallError("server", f"broke off the reply: {problem}", retryable=True)
    finish = _FINISHES.get(reason, "other")
    raw = _plain(message.content)
    text, thinking = _split(_continuation(raw, request.prefill, repeats), request.prefill, finish)
    reasoning = _plain(message.reasoning_content) or _plain(message.reasoning) or _plain(message.content, "thinking")
    if message.refusal and not text:
        # The refusal's words are kept where nothing looks for an answer.
        finish, reasoning = "filter", "\n\n".join(filter(None, (reasoning, _plain(message.refusal))))
    reasoning = "\n\n".join(filter(None, (reasoning, thinking)))
    if not (reason or text or reasoning):
        # Gateways whose upstream failed answer so, with status 200; a model that has nothing to say ends its turn.
        raise malformed("sent an empty reply without saying why it ended")
    tokens = None
    if request.top_logprobs is not None and choice.logprobs is not None and choice.logprobs.content is not None:
        tokens = _tokens(choice.logprobs.content, text, whole=text == raw and not reasoning)
    return Reply(text=text, reasoning=reasoning, finish=finish, model=name, tokens=tokens)


def _plain(content: Any, kind: str = "text") -> str:
    """The text of a message's content: a string, null, or a list of parts of which those of a kind count."""
    if isinstance(content, str):
        return content if kind == "text" else ""
    if not isinstance(content, list):
        return ""
    pieces: list[str] = []
    for part in cast(list[Any], content):
        fields = cast(dict[str, Any], part) if isinstance(part, dict) else {"type": "text", "text": part}
        if fields.get("type", "text") == kind:
            pieces.append(_plain(fields.get(kind)))
    return "".join(pieces)


def _continuation(text: str, prefill: str, repeats: bool | None) -> str:
    """What follows the prefill.

    Only a server known to repeat it, or one of which nothing is known, has a leading copy cut off: a continuation may
    begin with the prefill's own words.
    """
    if not prefill or repeats is False:
        return text
    if text.startswith(prefill):
        return text[len(prefill) :]
    # Some chat templates trim the turn that they continue.
    trimmed = prefill.strip()
    return text[len(trimmed) :] if trimmed and text.startswith(trimmed) else text


def _split(text: str, prefill: str, finish: Finish) -> tuple[str, str]:
    """Answer and thinking; a block that the prefill opened is still open when the reply begins."""
    inside = _open_at_end(prefill)
    if inside is not None:
        answer, thinking = split_thinking(inside + text, truncated=finish == "length")
        return (answer, thinking) if thinking else (text, "")
    return split_thinking(text, truncated=finish == "length")


def _open_at_end(prefill: str) -> str | None:
    marks = re.findall(r"</?think(?:ing)?>", prefill, re.IGNORECASE)
    return marks[-1] if marks and not marks[-1].startswith("</") else None


# After the answer only end-of-turn marks may follow: <|im_end|>, </s>, <eos>.
_TAIL = re.compile(rb"\s*(?:<[^<>\s]{1,40}>\s*)*")


def _tokens(tokens: Sequence[_Token], text: str, *, whole: bool) -> tuple[Token, ...] | None:
    """The tokens that spell the answer's text, without thinking and end-of-turn marks.

    Where they can't be found: all of them if the text is the `whole` reply, else None, since a wrong token is worse
    than none.
    """
    spelled = [bytes(token.bytes) if token.bytes else token.token.encode() for token in tokens]
    joined = b"".join(spelled)
    answer = text.encode()
    start = 0 if whole and joined.startswith(answer) else joined.rfind(answer)
    if start < 0 or not _TAIL.fullmatch(joined, start + len(answer)):
        return tuple(map(_token, tokens)) if whole else None
    kept: list[Token] = []
    position = 0
    for token, piece in zip(tokens, spelled, strict=True):
        begin, position = position, position + len(piece)
        if begin < start + len(answer) and position > start:
            kept.append(_token(token))
    return tuple(kept)


def _token(token: _Token) -> Token:
    top = tuple((other.token, _finite(other.logprob)) for other in token.top_logprobs or ())
    return Token(text=token.token, logprob=_finite(token.logprob), top=top)


def _finite(logprob: float) -> float:
    """Minus infinity and NaN become -9999, vLLM's own stand-in: JSON has no word for them."""
    return logprob if math.isfinite(logprob) else -9999.0
