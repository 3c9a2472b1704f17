"""Log-probabilities of a text that is given (`Request.given`): found among the tokens of a whole prompt.

Servers: vLLM alone reports them for a conversation, with `prompt_logprobs` and a continued assistant turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from assay.errors import CallError
from assay.models.wire import malformed
from assay.types import Reply, Request, Token, Usage


def tail_tokens(pieces: Sequence[Token], given: str) -> tuple[Token, ...] | None:
    """The last tokens, from the one in which `given` begins; None if they don't spell it.

    The first token loses what it says of the text before. Tokens that say nothing (the first bytes of a character)
    belong to what follows them.
    """
    text = ""
    first = len(pieces)
    while first and (len(text) < len(given) or not pieces[first - 1].text):
        first -= 1
        text = pieces[first].text + text
    if not text.endswith(given):
        return None
    tail = list(pieces[first:])
    surplus = len(text) - len(given)
    for place, token in enumerate(tail):
        if token.text:
            tail[place] = replace(token, text=token.text[surplus:])
            break
    return tuple(tail)


def scoring_request(request: Request) -> Request:
    """The request that has vLLM read the given text: a turn that is continued by one token."""
    sampling = replace(
        request.sampling,
        temperature=0.0,
        max_tokens=1,
        stop=(),
        extra={**request.sampling.extra, "prompt_logprobs": request.top_logprobs or 0},  # 0: of the prompt's own alone
    )
    return replace(request, prefill=request.prefill + request.given, given="", sampling=sampling, top_logprobs=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Logprob:
    logprob: float
    decoded_token: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Usage:
    prompt_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scored:
    """vLLM's answer as far as we need it.

    A place's entries are the token that stands there, then the most likely ones (which may be it once more, under the
    same number, so that it is there once).
    """

    model: str | None = None
    usage: _Usage | None = None
    prompt_logprobs: list[dict[str, _Logprob] | None] | None = None


_decoder = msgspec.json.Decoder(_Scored)


def read_scored(body: bytes, request: Request, *, name: str) -> Reply:
    """The given text as a reply, with its tokens.

    Raises:
        CallError: `bad_request` where the server says nothing of the prompt's tokens, `malformed` where they don't
            spell the text.
    """
    try:
        answer = _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise malformed("sent something that is no chat completion with log-probabilities of the prompt") from None
    if answer.prompt_logprobs is None:
        raise CallError(
            "bad_request",
            "reports no log-probabilities of a text that is given to it. Use vLLM, or a checkpoint (local:PATH)",
        )
    pieces = [_token(list(listed.values())) for listed in answer.prompt_logprobs if listed]
    tokens = tail_tokens(pieces, request.given)
    if tokens is None:  # chat templates like to strip the turn that they continue
        tokens = tail_tokens(pieces, request.given.rstrip())
    if tokens is None:
        raise malformed("reports tokens of the prompt that don't spell the text that was given")
    tokens = tokens if request.top_logprobs else tuple(replace(token, top=()) for token in tokens)
    usage = None if answer.usage is None else Usage(prompt_tokens=answer.usage.prompt_tokens)
    return Reply(text=request.given, model=answer.model or name, usage=usage, tokens=tokens)


def _token(entries: Sequence[_Logprob]) -> Token:
    top = tuple((entry.decoded_token or "", entry.logprob) for entry in entries)
    return Token(text=entries[0].decoded_token or "", logprob=entries[0].logprob, top=top)
