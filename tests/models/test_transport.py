"""Every way in which a call fails, against a real server that misbehaves on purpose; and no secret in any message."""

import asyncio
import gzip
import json
import socket
from email.utils import formatdate

import pytest

from assay.errors import CallError, UsageError
from assay.models.openai import OpenAIModel
from assay.models.transport import Transport, base_address
from support.asking import ask, ask_server, failure, question
from support.servers import (
    Fault,
    MakeServer,
    always,
    azure_filtered,
    cut,
    error,
    error_in_200,
    html,
    malformed,
    no_choices,
    no_fault,
    rate_limited,
    server_error,
    share,
    stall,
)

SECRET = "sk-very-secret-4711"


# ----------------------------------------------------------------------------------------------------
# Failures


@pytest.mark.parametrize(
    ("fault", "kind", "retryable", "fatal"),
    [
        (rate_limited("0"), "rate_limit", True, False),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "rate_limit", False, True),
        (server_error(500), "server", True, False),
        (server_error(503), "server", True, False),
        (server_error(529), "server", True, False),
        (error(408, "timeout"), "server", True, False),
        (error(409, "conflict"), "server", True, False),
        (error(425, "too early"), "server", True, False),
        (error(401, "no"), "auth", False, True),
        (error(402, "Insufficient Balance"), "auth", False, True),
        (error(403, "no"), "auth", False, True),
        (error(404, "no"), "not_found", False, True),
        (error(400, "Model Not Exist"), "not_found", False, True),
        (error(307, "moved", location="http://127.0.0.1:1/v1"), "not_found", False, True),
        (error(400, "temperature must be at most 2"), "bad_request", False, False),
        (error(413, "body too large"), "bad_request", False, False),
        (error(422, "unknown field"), "bad_request", False, False),
        (html(502), "server", True, False),
        (cut(), "connection", True, False),
        (malformed(), "malformed", True, False),
        (html(), "malformed", True, False),
        (error_in_200(), "malformed", True, False),
        (no_choices(), "malformed", True, False),
        (Fault(body=b""), "malformed", True, False),
        (Fault(body=b"[ERROR] 429 Too Many Requests", content_type="text/plain"), "malformed", True, False),
        (Fault(body=b"null"), "malformed", True, False),
        (Fault(body=b"[]"), "malformed", True, False),
        (Fault(body=b'{"choices": 7}'), "malformed", True, False),
        (Fault(body=b"\xff\xfe"), "malformed", True, False),
        (Fault(body=b'{"a":' * 100_000), "malformed", True, False),  # deeper than any parser goes
        (Fault(status=204), "malformed", True, False),
        # The prompt does not fit: vLLM, newer vLLM, llama.cpp, older llama.cpp, SGLang, OpenAI, Gemini.
        (error(400, "This model's maximum context length is 1024 tokens. However, you requested 2000"), "too_long",
         False, False),
        (error(400, "The decoder prompt (length 2000) is longer than the maximum model length of 1024."), "too_long",
         False, False),
        (error(400, "the request exceeds the available context size, try increasing it"), "too_long", False, False),
        (error(500, "the request exceeds the available context size"), "too_long", False, False),
        (error(400, "The input (2000 tokens) is longer than the model's context length (1024 tokens)."), "too_long",
         False, False),
        (error(400, "Please reduce the messages", code="context_length_exceeded"), "too_long", False, False),
        (error(400, "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."),
         "too_long", False, False),
    ],
)  # fmt: skip
def test_failures(make_server: MakeServer, fault: Fault, kind: str, retryable: bool, fatal: bool) -> None:
    server = make_server(fault=always(fault))
    problem = failure(server.url, question())
    assert (problem.kind, problem.retryable, problem.fatal) == (kind, retryable, fatal), str(problem)
    assert str(problem).count("\n") == 0
    assert str(problem).endswith(".")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "bad thing"}}', "bad thing"),
        (b'{"error": "bad thing"}', "bad thing"),
        (b'{"object": "error", "message": "bad thing", "code": 400}', "bad thing"),
        (b'{"detail": "bad thing"}', "bad thing"),
        (b'{"detail": [{"loc": ["body", "n"], "msg": "bad thing"}]}', "bad thing"),
        (b'[{"error": {"message": "bad thing"}}]', "bad thing"),
        (b"bad\n\x1b[31m thing", "bad [31m thing"),
        (b"", "nothing more"),
        (b"7", "7"),
    ],
)
def test_what_the_server_said(make_server: MakeServer, body: bytes, said: str) -> None:
    server = make_server(fault=always(Fault(status=400, body=body)))
    assert str(failure(server.url, question())) == f"{server.url}/chat/completions answered 400: {said}."


def test_html_page_is_shown_in_part(make_server: MakeServer) -> None:
    page = b"<html>" + b"x" * 500
    problem = failure(make_server(fault=always(Fault(body=page, content_type="text/html"))).url, question())
    assert "of type text/html" in str(problem)
    assert "<html>" + "x" * 74 + "'" in str(problem)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "7"}, b"", 7.0),
        ({"Retry-After": "0.25"}, b"", 0.25),
        ({"Retry-After": "-3"}, b"", 0.0),
        ({"Retry-After": "inf"}, b"", None),
        ({"Retry-After": "nan"}, b"", None),
        ({"Retry-After": "soon"}, b"", None),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, b"", 1.5),
        ({"Retry-After": formatdate(90, usegmt=True), "Date": formatdate(60, usegmt=True)}, b"", 30.0),
        ({"Retry-After": formatdate(60, usegmt=True), "Date": formatdate(90, usegmt=True)}, b"", 0.0),
        ({}, b'{"error": {"details": [{"@type": "RetryInfo", "retryDelay": "34.5s"}]}}', 34.5),
        ({}, b"", None),
    ],
)
def test_retry_after(make_server: MakeServer, headers: dict[str, str], body: bytes, seconds: float | None) -> None:
    for status in (429, 503):
        server = make_server(fault=always(Fault(status=status, body=body, headers=headers)))
        assert failure(server.url, question()).retry_after == seconds


def test_timeout_of_one_call(make_server: MakeServer) -> None:
    server = make_server(fault=always(stall(20)))
    problem = failure(server.url, question(), timeout=0.2)
    assert (problem.kind, problem.retryable) == ("timeout", True)
    assert "within 0.2 s" in str(problem)
    problem = failure(server.url, question(), silence=0.2)
    assert (problem.kind, problem.retryable) == ("timeout", True)


def test_the_timeout_is_for_one_call_not_for_the_session(make_server: MakeServer) -> None:
    """Four calls of 0.15 s on one session with a timeout of 0.5 s (case 136)."""
    server = make_server(latency=0.15)
    model = OpenAIModel("test-model", server.url, api_key="", timeout=0.5)
    assert len(ask(model, *(question(seed=seed) for seed in range(4)))) == 4


def test_nobody_listens() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    problem = failure(f"http://127.0.0.1:{port}/v1", question())
    assert (problem.kind, problem.retryable) == ("connection", True)
    assert f"http://127.0.0.1:{port}/v1 can't be reached" in str(problem)


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_that_is_too_long(make_server: MakeServer, packed: bool) -> None:
    """Given up at the limit, also where it is small on the wire and large when unpacked."""
    plain = Fault(body=bytes(5000))
    small = Fault(body=gzip.compress(bytes(5000)), headers={"Content-Encoding": "gzip"})
    server = make_server(fault=always(small if packed else plain))

    async def run() -> CallError:
        base = base_address(server.url)
        transport = Transport(
            base, headers={}, api_key=None, timeout=5, silence=None, connections=1, largest_answer=1024
        )
        try:
            with pytest.raises(CallError) as caught:
                await transport.post("/chat/completions", b"{}")
        finally:
            await transport.close()
        return caught.value

    problem = asyncio.run(run())
    assert (problem.kind, problem.retryable) == ("malformed", False)


def test_packed_answer(make_server: MakeServer) -> None:
    body = gzip.compress(b'{"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}')
    server = make_server(fault=always(Fault(body=body, headers={"Content-Encoding": "gzip"})))
    assert ask_server(server.url, question())[0].text == "B"


def test_encrypted_address_of_a_plain_server(make_server: MakeServer) -> None:
    problem = failure(make_server().url.replace("http:", "https:"), question())
    assert (problem.kind, problem.retryable) == ("connection", True)


def test_unknown_model_names_those_that_are_served(make_server: MakeServer) -> None:
    problem = failure(make_server(models=("llava", "qwen")).url, question())
    assert (problem.kind, problem.fatal, problem.status) == ("not_found", True, 404)
    assert "It serves llava, qwen" in str(problem)


def test_address_without_v1(make_server: MakeServer) -> None:
    problem = failure(make_server().url.removesuffix("/v1"), question())
    assert problem.kind == "not_found"
    assert "most servers want /v1 at its end" in str(problem)


def test_address_of_the_page_itself(make_server: MakeServer) -> None:
    assert len(ask_server(make_server().url + "/chat/completions", question())) == 1


@pytest.mark.parametrize("url", ["127.0.0.1:80/v1", "ftp://x/v1", "http://", "http://x:port/v1", "http://[1/v1", ""])
def test_addresses_that_can_not_be_used(url: str) -> None:
    with pytest.raises(UsageError, match="http://HOST:PORT/v1"):
        OpenAIModel("m", url, api_key="")


def test_prompt_withheld_by_a_filter_is_a_reply(make_server: MakeServer) -> None:
    replies = ask_server(make_server(fault=always(azure_filtered())).url, question(n=2))
    assert [(reply.text, reply.finish, reply.usage) for reply in replies] == [("", "filter", None)] * 2
    alibaba = error(400, "Input data may contain inappropriate content.", code="data_inspection_failed")
    (reply,) = ask_server(make_server(fault=always(alibaba)).url, question())
    assert reply.finish == "filter"


def test_one_fifth_of_the_calls_fail(make_server: MakeServer) -> None:
    """Every failure is a `CallError` that may be retried, and whoever retries gets every reply."""
    server = make_server(fault=share(0.2, seed=1))

    async def insist(model: OpenAIModel, number: int) -> str:
        for _ in range(20):
            try:
                (reply,) = await model.generate(question(f"number {number}", seed=number))
            except CallError as problem:
                if not problem.retryable:
                    raise
            else:
                return reply.text
        raise AssertionError("twenty failures in a row")

    async def run() -> list[str]:
        model = OpenAIModel("test-model", server.url, api_key="")
        texts = await asyncio.gather(*(insist(model, number) for number in range(100)))
        await model.close()
        return texts

    texts = asyncio.run(run())
    assert [text.split(".")[0] for text in texts] == [f"seed {number} draw 0" for number in range(100)]
    # 100 calls succeed at a rate of 0.8: 125 are expected; the standard deviation is sqrt(100 * 0.2) / 0.8 = 5.6.
    assert 105 < len(server.calls) < 150


# ----------------------------------------------------------------------------------------------------
# Secrets


def everything_said(problem: BaseException) -> str:
    """Messages and representations of an error and of all that it came from."""
    texts: list[str] = []
    while problem is not None:  # pyright: ignore[reportUnnecessaryComparison]
        texts += [str(problem), repr(problem), repr(vars(problem))]
        problem = problem.__cause__ or problem.__context__  # pyright: ignore[reportAssignmentType]
    return "\n".join(texts)


@pytest.mark.parametrize(
    "fault",
    [None, error(500, f"Bearer {SECRET} is broken"), error(400, f"key {SECRET}"), html(), malformed(), cut(), stall(9),
     Fault(status=500, body=SECRET.encode()), Fault(body=SECRET.encode()), error_in_200(),
     Fault(body=json.dumps({"error": f"key {SECRET}"}).encode()),
     error(302, "x", location=f"http://127.0.0.1/?key={SECRET}")],
)  # fmt: skip
def test_the_key_is_never_shown(make_server: MakeServer, fault: Fault | None) -> None:
    # Without a fault the server repeats the wrong key, as some do.
    server = make_server(api_key=None if fault else "another", fault=always(fault) if fault else no_fault)
    problem = failure(server.url, question(), api_key=SECRET, timeout=0.3)
    assert SECRET not in everything_said(problem)
    assert SECRET not in repr(OpenAIModel("m", server.url, api_key=SECRET))


def test_secrets_in_address_and_headers_are_never_shown(make_server: MakeServer) -> None:
    fault = error(400, f"query key={SECRET}, header {SECRET[::-1]}")
    server = make_server(fault=always(fault))
    url = server.url.replace("http://", "http://user:pass-word@") + f"?key={SECRET}"
    model = OpenAIModel("test-model", url, api_key="", headers={"X-Key": SECRET[::-1]})
    assert model.url == server.url
    with pytest.raises(CallError) as caught:
        ask(model, question())
    for secret in (SECRET, SECRET[::-1], "pass-word"):
        assert secret not in everything_said(caught.value) + repr(model) + model.identity


def test_the_key_is_not_in_the_error_for_what_is_no_http() -> None:
    """aiohttp's own exception for it holds the headers that were sent."""

    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> CallError:
        server = await asyncio.start_server(garbage, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = OpenAIModel("m", f"http://127.0.0.1:{port}/v1", api_key=SECRET)
        try:
            with pytest.raises(CallError) as caught:
                await model.generate(question())
        finally:
            await model.close()
            server.close()
            await server.wait_closed()
        return caught.value

    problem = asyncio.run(run())
    assert (problem.kind, problem.retryable) == ("connection", True)
    assert SECRET not in everything_said(problem)


def test_a_key_that_can_not_be_sent() -> None:
    with pytest.raises(UsageError) as caught:
        OpenAIModel("m", "http://127.0.0.1/v1", api_key="sk-sécret")
    assert "sécret" not in str(caught.value)
