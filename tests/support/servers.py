"""A real chat-completions server on loopback that misbehaves on purpose.

    with ChatServer(answer=lambda call, draw: "Answer: B", fault=share(0.2, seed=1)) as server:
        model = OpenAIModel("test-model", server.url)
        ...
    assert len(server.calls) >= 1

`answer` makes the text of one draw from the call (its decoded body, its seed); `fault` says what goes wrong
with a call, if anything. Both see only the call, so the order of arrival does not matter.
The server runs in its own thread with its own event loop; stopping it waits for nothing.
"""

import asyncio
import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from aiohttp import web

from support.faults import (
    TRANSIENT,
    Answer,
    Call,
    Draw,
    Fault,
    FaultFor,
    always,
    azure_filtered,
    by_question,
    counting,
    cut,
    error,
    error_in_200,
    html,
    malformed,
    no_choices,
    no_fault,
    rate_limited,
    says,
    seeded,
    sequence,
    server_error,
    share,
    stall,
)

__all__ = [
    "TRANSIENT",
    "Answer",
    "Call",
    "ChatServer",
    "Draw",
    "Fault",
    "FaultFor",
    "MakeServer",
    "Prefill",
    "always",
    "azure_filtered",
    "by_question",
    "counting",
    "cut",
    "error",
    "error_in_200",
    "html",
    "malformed",
    "no_choices",
    "no_fault",
    "rate_limited",
    "says",
    "seeded",
    "sequence",
    "server_error",
    "share",
    "stall",
]

Prefill = Literal[
    "continue",  # continues where continue_final_message asks for it, else opens a new turn
    "repeat",  # continues every trailing assistant turn and repeats it in the reply
    "trailing",  # continues every trailing assistant turn and returns the continuation
    "refuse",  # 422
    "new_turn",  # ignores it
]

_TOKENS = re.compile(r"\s*\S+|\s+$")


class ChatServer:
    """A chat-completions server in a thread.

    Args:
        answer: text of one draw.
        fault: what goes wrong with a call.
        models: names under /v1/models; another name gets a 404. Empty: no such page, every name is served.
        owner: `owned_by` of the models.
        api_key: the key that callers must send.
        draws: what becomes of `n`: honoured, ignored, refused with 400, or one reply too many.
        logprobs: whether log-probabilities come back when asked for.
        prefill: what becomes of a trailing assistant turn.
        images: whether pictures are accepted.
        latency: seconds before each answer.
    """

    def __init__(
        self,
        *,
        answer: Answer = seeded,
        fault: FaultFor = no_fault,
        models: Sequence[str] = ("test-model",),
        owner: str = "test",
        api_key: str | None = None,
        draws: Literal["honour", "ignore", "refuse", "exceed"] = "honour",
        logprobs: bool = True,
        prefill: Prefill = "continue",
        images: bool = True,
        latency: float = 0.0,
    ) -> None:
        self.answer = answer
        self.fault = fault
        self.models = tuple(models)
        self.owner = owner
        self.api_key = api_key
        self.draws = draws
        self.logprobs = logprobs
        self.prefill: Prefill = prefill
        self.images = images
        self.latency = latency
        self.calls: list[Call] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.url = ""
        self._attempts: Counter[str] = Counter()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the test server did not start")

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete)
        if self.models:
            app.router.add_get("/v1/models", self._list)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
        self._loop.run_until_complete(site.start())
        port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self._ready.set()
        self._loop.run_forever()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    def _refusal(self, request: web.Request) -> web.Response | None:
        if self.api_key is not None and request.headers.get("Authorization") != f"Bearer {self.api_key}":
            return _send(error(401, f"Incorrect API key provided: {request.headers.get('Authorization')}"))
        return None

    async def _list(self, request: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "owned_by": self.owner} for name in self.models]
        return self._refusal(request) or web.json_response({"object": "list", "data": data})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        key = hashlib.sha256(raw).hexdigest()
        call = Call(
            path=request.path,
            headers=dict(request.headers),
            body=json.loads(raw),
            number=len(self.calls),
            attempt=self._attempts[key],
        )
        self._attempts[key] += 1
        self.calls.append(call)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._respond(request, call)
        finally:
            self.in_flight -= 1

    async def _respond(self, request: web.Request, call: Call) -> web.StreamResponse:
        if self.latency:
            await asyncio.sleep(self.latency)
        fault = self._refusal(request) or self.fault(call) or self._refused(call)
        if isinstance(fault, web.Response):
            return fault
        if fault is None:
            return web.json_response(self._completion(call))
        if fault.stall:
            await asyncio.sleep(fault.stall)
        if not fault.cut:
            return _send(fault)
        response = web.StreamResponse(headers={"Content-Length": str(len(fault.body) + 1000)})
        await response.prepare(request)
        await response.write(fault.body)
        assert request.transport is not None
        request.transport.close()
        return response

    def _refused(self, call: Call) -> Fault | None:
        """What this kind of server refuses, by its nature."""
        body = call.body
        if self.models and body["model"] not in self.models:
            return error(404, f"The model `{body['model']}` does not exist.", code="model_not_found")
        if self.draws == "refuse" and body.get("n", 1) > 1:
            return error(400, "Only one completion choice is allowed (n must be 1)")
        if self.prefill == "refuse" and (call.prefill is not None or "continue_final_message" in body):
            detail = b'{"detail": "Unexpected keys in the request: {\'continue_final_message\'}"}'
            return Fault(status=422, body=detail)
        if not self.images and call.pictures:
            return error(400, f"{body['model']} is not a multimodal model")
        return None

    def _completion(self, call: Call) -> dict[str, Any]:
        asked = call.body.get("n", 1)
        count = {"honour": asked, "ignore": 1, "refuse": 1, "exceed": asked + 1}[self.draws]
        choices = [self._choice(call, draw) for draw in range(count)]
        generated = sum(len(_TOKENS.findall(str(choice["message"]["content"] or ""))) for choice in choices)
        prompt = len(call.question.split()) + 100 * len(call.pictures)
        usage = {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated}
        return {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 1,
            "model": call.body["model"],
            "choices": choices,
            "usage": usage,
        }

    def _choice(self, call: Call, draw: int) -> dict[str, Any]:
        drawn = self.answer(call, draw)
        if isinstance(drawn, str):
            drawn = Draw(text=drawn)
        generated = drawn.text
        text = (call.prefill or "") + generated if self.prefill == "repeat" else generated
        opened = self.prefill == "new_turn" or (
            self.prefill == "continue" and not call.body.get("continue_final_message")
        )
        if call.prefill is not None and opened:
            text = generated = "Sure, let me start over. " + generated.lstrip()
        choice: dict[str, Any] = {
            "index": draw,
            "message": {"role": "assistant", "content": text} | drawn.message,
            "finish_reason": drawn.finish,
            "logprobs": None,
        }
        if self.logprobs and call.body.get("logprobs"):
            top = call.body.get("top_logprobs", 0)
            choice["logprobs"] = {"content": [_token(piece, top) for piece in _TOKENS.findall(generated)]}
        return choice


class MakeServer(Protocol):
    """Starts a server that lives as long as the test: the type of the fixture `make_server`."""

    def __call__(self, *, answer: Answer = seeded, fault: FaultFor = no_fault, **options: Any) -> ChatServer: ...


def _token(text: str, top: int) -> dict[str, Any]:
    """A token with a probability of one half; alternatives halve from there."""
    entry: dict[str, Any] = {"token": text, "logprob": -0.6931471805599453, "bytes": list(text.encode())}
    alternatives = [text, *(f" alternative {i}" for i in range(1, top))][:top]
    entry["top_logprobs"] = [
        {"token": other, "logprob": -0.6931471805599453 * (i + 1), "bytes": list(other.encode())}
        for i, other in enumerate(alternatives)
    ]
    return entry


def _send(fault: Fault) -> web.Response:
    return web.Response(status=fault.status, body=fault.body, content_type=fault.content_type, headers=fault.headers)
