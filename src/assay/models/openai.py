"""Any server that speaks OpenAI's chat completions: vLLM, SGLang, llama.cpp, transformers serve, OpenAI, ...

The parts: `wire` writes bodies and reads answers, `transport` carries them and names what fails, `probe` finds out
what a server really honours. Here they become a `Model`.

What is not sent is left to the server: vLLM takes `top_k` and penalties from the checkpoint's generation_config, so
set them (`Sampling.top_k`, `Sampling.extra`) where a number must be repeatable.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from assay.errors import CallError, UsageError
from assay.models.base import request_key
from assay.models.probe import (
    NO_PREFILL,
    Capabilities,
    PrefillPlan,
    ServedModel,
    find_prefill_plan,
    listing,
    probe_server,
)
from assay.models.scoring import read_scored, scoring_request
from assay.models.transport import CHAT, Filtered, Transport, base_address
from assay.models.wire import RESERVED, BodyWriter, Strategy, read_completion
from assay.types import Reply, Request

__all__ = ["Capabilities", "OpenAIModel", "environment_key", "probe"]

# Providers whose key has a name of its own. A key goes to its own provider only: a server of somebody else's, named by
# a mistyped address, must not see it.
_KEY_VARIABLES = {
    "api.openai.com": "OPENAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
}
# Hosts that continue a trailing assistant turn only if it is marked `"prefix": true`.
_PREFIX_HOSTS = ("api.deepseek.com", "api.mistral.ai")
# Requests whose first draws are kept while they wait for a retry.
_MOST_KEPT = 1024
# `owned_by` of servers that are known to continue a trailing turn, whatever the model makes of it.
_KNOWN_OWNERS: dict[str, Strategy] = {"vllm": "continue", "sglang": "continue", "llamacpp": "trailing"}


def environment_key(host: str) -> str | None:
    """The API key in the environment: ASSAY_API_KEY for any server, else the provider's own variable for its host."""
    for variable in ("ASSAY_API_KEY", _KEY_VARIABLES.get(host)):
        if variable and (key := os.environ.get(variable, "").strip()):
            return key
    return None


class OpenAIModel:
    """A model behind a chat-completions server, over one session.

    Args:
        name: the model's name as the server knows it.
        url: the server's base address, with `/v1` where it has one.
        api_key: None looks into the environment (`environment_key`); empty sends none.
        revision: what distinguishes this model from others of its name; part of the identity.
        timeout: seconds for one call, from asking for a connection to the last byte.
        silence: seconds without a byte after which a call is given up; a server that does not stream is silent while it
            generates.
        connections: most open connections; the engine bounds how many are used.
        max_tokens_field: `max_completion_tokens` for OpenAI's newer models.
        prefill: how an assistant turn is continued; `auto` finds out with one to three short calls, once.
        omit: body fields never to send, for servers that refuse them, e.g. `("seed",)`.
        headers: further headers; their values are treated as secrets.

    Raises:
        UsageError: an address or a key that can't be used.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        api_key: str | None = None,
        revision: str | None = None,
        timeout: float = 600.0,
        silence: float | None = None,
        connections: int = 2048,
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        prefill: Literal["auto", "continue", "trailing", "none"] = "auto",
        omit: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        omitted = tuple(sorted(omit))
        base = base_address(url)
        host = base.hostname or ""
        key = (environment_key(host) if api_key is None else api_key.strip()) or None
        if any(not (value.isascii() and value.isprintable()) for value in (key or "", *(headers or {}).values())):
            raise UsageError("The API key or a header holds characters that can't be sent.")
        self._name = name
        self._transport = Transport(
            base,
            headers=headers or {},
            api_key=key,
            timeout=timeout,
            silence=silence,
            connections=connections,
        )
        self._writer = BodyWriter(
            name, max_tokens_field=max_tokens_field, omit=omitted, prefix_flag=host.endswith(_PREFIX_HOSTS)
        )
        self._identity = f"openai:{name}" + (f"#{revision}" if revision else "")
        if omitted:
            self._identity += f" without {','.join(omitted)}"
        self._wanted: Strategy | Literal["auto"] = prefill
        self._plan = NO_PREFILL if prefill == "none" else None
        self._planning = asyncio.Lock()
        self._one_draw_a_call = False
        # Draws that were paid for before a later call of the same request failed: its retry goes on from there.
        self._kept: OrderedDict[tuple[str, int], tuple[Reply, ...]] = OrderedDict()

    def __repr__(self) -> str:
        return f"OpenAIModel({self._name!r}, {self.url!r})"

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def name(self) -> str:
        return self._name

    @property
    def url(self) -> str:
        """The base address, without secrets."""
        return self._transport.shown_url

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        """Exactly `request.n` replies.

        A server that gives fewer is asked again for the rest with the seed moved on by the draws it gave, at most n
        calls in all. Of one call's replies the first carries the prompt's tokens.

        Raises:
            CallError: see `assay.models.transport`; `bad_request` where a prefill can't be continued.
        """
        self._check(request)
        if request.given:
            return (await self._score(request),)
        plan = await self.prefill_plan() if request.prefill else NO_PREFILL
        if request.prefill and plan.strategy == "none":
            raise CallError(
                "bad_request",
                f"{self.url} can't continue an assistant turn (prefill). "
                "Use a server that can, such as vLLM, SGLang or llama.cpp.",
            )
        replies = self._kept.pop(self._key(request), ()) if self._kept else ()
        while len(replies) < request.n:
            count = 1 if self._one_draw_a_call else request.n - len(replies)
            rest = msgspec.structs.replace(request, n=count, seed=request.seed + len(replies))
            try:
                more = await self.call_once(rest, plan)
            except CallError as error:
                if error.kind == "bad_request" and count > 1:
                    # Perhaps it was n; if not, this call says what.
                    more = await self.call_once(msgspec.structs.replace(rest, n=1), plan)
                    self._one_draw_a_call = True
                else:
                    self._keep(request, replies)
                    raise
            replies += more[:count]
        return replies

    async def call_once(self, request: Request, plan: PrefillPlan) -> tuple[Reply, ...]:
        """One call; as many replies as came, which may be fewer or more than `request.n`."""
        body = self._writer.body(request, count=request.n, seed=request.seed, strategy=plan.strategy)
        try:
            answer, content_type = await self._transport.post(CHAT, body)
        except Filtered:
            return (Reply(text="", finish="filter", model=self._name),) * request.n
        except CallError as error:
            if error.kind == "not_found":
                raise await self._not_found(error) from None
            raise
        try:
            return read_completion(
                answer, content_type=content_type, request=request, name=self._name, repeats=plan.repeats
            )
        except CallError as error:
            kind, problem = error.kind, self._transport.clean(f"{self.url} {error}.")
        # Out here, so that it is not chained to the text that may hold a secret.
        raise CallError(kind, problem, retryable=True)

    async def _score(self, request: Request) -> Reply:
        """The given text with its tokens' log-probabilities; vLLM's way is the only one there is."""
        if request.n != 1:
            raise CallError("bad_request", "A text that is given can't be drawn several times.")
        asked = scoring_request(request)
        body = self._writer.body(asked, count=1, seed=request.seed, strategy="continue")
        try:
            answer, _ = await self._transport.post(CHAT, body)
        except Filtered:
            return Reply(text="", finish="filter", model=self._name)
        except CallError as error:
            if error.kind == "not_found":
                raise await self._not_found(error) from None
            raise
        try:
            return read_scored(answer, request, name=self._name)
        except CallError as error:
            kind, problem, retryable = error.kind, self._transport.clean(f"{self.url} {error}."), error.retryable
        # Out here, so that it is not chained to the text that may hold a secret.
        raise CallError(kind, problem, retryable=retryable)

    async def served(self) -> tuple[ServedModel, ...] | None:
        """The models that the server lists; None where it has no list.

        Raises:
            CallError: no server, or a wrong key.
        """
        try:
            answer = await self._transport.get("/models")
        except CallError as error:
            if error.kind in ("not_found", "bad_request"):
                return None
            raise
        try:
            page = msgspec.json.decode(answer, type=dict[str, object])
            entries = msgspec.convert(page.get("data") or page.get("models"), list[dict[str, object]])
        except msgspec.MsgspecError:
            return None
        return tuple(
            ServedModel(name=str(entry.get("id") or entry.get("name")), owner=str(entry.get("owned_by") or ""))
            for entry in entries
        )

    async def prefill_plan(self) -> PrefillPlan:
        """How an assistant turn is continued here; found out once, by the first who needs it."""
        async with self._planning:
            if self._plan is None:
                self._plan = await self._find_plan()
            return self._plan

    async def close(self) -> None:
        await self._transport.close()

    async def _find_plan(self) -> PrefillPlan:
        wanted = self._wanted
        if wanted != "auto":
            plan = await find_prefill_plan(self, (wanted,))
            # The user knows better than a weak model's reply shows.
            return plan if plan.strategy == wanted else PrefillPlan(strategy=wanted)
        owners = {model.owner for model in await self.served() or ()}
        known: set[Strategy] = {_KNOWN_OWNERS[owner] for owner in owners if owner in _KNOWN_OWNERS}
        if len(known) == 1:
            return await find_prefill_plan(self, tuple(known), trusted=True)
        return await find_prefill_plan(self, ("continue", "trailing"))

    def _key(self, request: Request) -> tuple[str, int]:
        return request_key(self._identity, request, request.index), request.n

    def _keep(self, request: Request, replies: tuple[Reply, ...]) -> None:
        if replies:
            self._kept[self._key(request)] = replies
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)

    def _check(self, request: Request) -> None:
        reserved = RESERVED.intersection(request.sampling.extra)
        if reserved:
            raise CallError(
                "bad_request",
                f"The extra body may not set {', '.join(sorted(reserved))}: these are Assay's own to set.",
                fatal=True,
            )

    async def _not_found(self, error: CallError) -> CallError:
        """The error with what the server does serve."""
        message = str(error)
        try:
            models = await self.served()
        except CallError:
            models = None
        if models:
            message += f" It serves {listing(models)}; correct the model's name."
        else:
            message += " Check the address (most servers want /v1 at its end) and the model's name."
        return CallError("not_found", message, fatal=True, status=error.status)


async def probe(model: OpenAIModel) -> Capabilities:
    """Find out what the model's server honours; see `Capabilities`.

    Raises:
        UsageError: no server, a wrong key, an unknown model: one sentence with the address and the remedy.
        CallError: the server answers, but fails again and again.
    """
    return await probe_server(model)
