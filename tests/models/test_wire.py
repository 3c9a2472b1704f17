"""What servers send back, read as replies."""

import json
import math
from typing import Any

import pytest

from assay.types import Usage
from support.asking import PICTURE, ask_server, failure, question
from support.servers import (
    Fault,
    MakeServer,
    always,
    says,
)

HALF = -0.6931471805599453  # ln(1/2): the probability of every token of the test server


# ----------------------------------------------------------------------------------------------------
# What comes back


def test_reply(make_server: MakeServer) -> None:
    server = make_server(answer=says("Answer: B"))
    (reply,) = ask_server(server.url, question("one two three", pictures=(PICTURE,)))
    # The test server counts words: 3 in the question, 100 for the picture, 2 in the reply.
    assert reply.usage == Usage(prompt_tokens=103, completion_tokens=2)
    assert (reply.text, reply.finish, reply.model, reply.reasoning) == ("Answer: B", "stop", "test-model", "")
    assert reply.tokens is None


def test_tokens(make_server: MakeServer) -> None:
    server = make_server(answer=says("Answer: B"))
    (reply,) = ask_server(server.url, question(top_logprobs=2))
    assert reply.tokens is not None
    assert [(token.text, token.logprob) for token in reply.tokens] == [("Answer:", HALF), (" B", HALF)]
    assert reply.tokens[1].top == ((" B", HALF), (" alternative 1", 2 * HALF))  # ln(1/4)


def test_tokens_without_alternatives(make_server: MakeServer) -> None:
    (reply,) = ask_server(make_server(answer=says("B")).url, question(top_logprobs=0))
    assert reply.tokens is not None
    assert [token.top for token in reply.tokens] == [()]


def test_logprobs_ignored(make_server: MakeServer) -> None:
    (reply,) = ask_server(make_server(logprobs=False).url, question(top_logprobs=2))
    assert reply.tokens is None


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "filter"),
        ("SAFETY", "filter"),
        ("refusal", "filter"),
        ("tool_calls", "other"),
        ("something new", "other"),
        (None, "other"),
    ],
)
def test_finish(make_server: MakeServer, reason: str | None, finish: str) -> None:
    (reply,) = ask_server(make_server(answer=says("B", reason)).url, question())
    assert (reply.text, reply.finish) == ("B", finish)


@pytest.mark.parametrize("reason", ["abort", "error", "insufficient_system_resource"])
def test_a_reply_that_the_server_broke_off_is_no_reply(make_server: MakeServer, reason: str) -> None:
    problem = failure(make_server(answer=says("Answer: A", reason)).url, question())
    assert (problem.kind, problem.retryable) == ("server", True)


@pytest.mark.parametrize(
    ("case", "text", "finish", "message", "expected"),
    [
        ("plain", "Answer: B", "stop", {}, ("Answer: B", "", "stop")),
        ("null", "", "stop", {"content": None}, ("", "", "stop")),
        ("100", "", "length", {"content": ""}, ("", "", "length")),
        ("101", "", "length", {"content": None, "reasoning_content": "A or"}, ("", "A or", "length")),
        ("reasoning only", "", "stop", {"content": None, "reasoning": "B!"}, ("", "B!", "stop")),
        ("field", "B", "stop", {"reasoning_content": "A? No."}, ("B", "A? No.", "stop")),
        ("both fields", "B", "stop", {"reasoning_content": "r", "reasoning": "r"}, ("B", "r", "stop")),
        ("098", "<think>A?</think>\n\nB", "stop", {}, ("B", "A?", "stop")),
        ("099", "<think>A? or", "length", {}, ("", "A? or", "length")),
        ("opened by the template", "A?\n</think>\n\nB", "stop", {}, ("B", "A?", "stop")),
        ("field and block", "<think>2</think>B", "stop", {"reasoning_content": "1"}, ("B", "1\n\n2", "stop")),
        ("parts", "", "stop", {"content": [{"type": "text", "text": "An"}, {"type": "text", "text": "swer"}]},
         ("Answer", "", "stop")),
        ("thinking part", "", "stop",
         {"content": [{"type": "thinking", "thinking": [{"text": "A?"}]}, {"type": "text", "text": "B"}]},
         ("B", "A?", "stop")),
        ("odd content", "", "stop", {"content": 7}, ("", "", "stop")),
        ("refusal", "", "stop", {"content": None, "refusal": "I can't pick A."}, ("", "I can't pick A.", "filter")),
        ("no refusal", "B", "stop", {"refusal": None}, ("B", "", "stop")),
        ("filtered", "", "content_filter", {"content": None}, ("", "", "filter")),
    ],
)  # fmt: skip
def test_answer_and_thinking(
    make_server: MakeServer, case: str, text: str, finish: str, message: dict[str, Any], expected: tuple[str, ...]
) -> None:
    (reply,) = ask_server(make_server(answer=says(text, finish, **message)).url, question())
    assert (reply.text, reply.reasoning, reply.finish) == expected


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"role": "assistant", "content": ""}, "finish_reason": None},
        {"message": {"role": "assistant", "content": None}},
        {"message": {}, "finish_reason": ""},
        {},
        {"text": "B"},  # another protocol's reply: nothing in it is a message
    ],
)
def test_an_empty_reply_that_never_ended_is_a_failed_call_and_no_answer(
    make_server: MakeServer, choice: dict[str, Any]
) -> None:
    body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 0}}).encode()
    problem = failure(make_server(fault=always(Fault(body=body))).url, question())
    assert (problem.kind, problem.retryable) == ("malformed", True)


def test_tokens_of_the_answer_only(make_server: MakeServer) -> None:
    server = make_server(answer=says("<think> A or B? </think> Answer: B"))
    (reply,) = ask_server(server.url, question(top_logprobs=0))
    assert reply.text == "Answer: B"
    assert reply.tokens is not None
    # The test server's tokens are words with the space before them.
    assert [token.text for token in reply.tokens] == [" Answer:", " B"]


def completion(content: str, tokens: list[Any], **message: Any) -> bytes:
    choice = {"message": {"content": content} | message, "logprobs": {"content": tokens}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}).encode()


def token(text: str, logprob: float = -1.0, raw: bytes | None = None) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": None if raw is None else list(raw)}


@pytest.mark.parametrize(
    ("content", "reasoning", "tokens", "kept"),
    [
        # A reasoning parser takes the thinking out of the text but not out of the tokens (case 146).
        ("B", "A?", [token("<think>"), token("A?"), token("</think>"), token("B"), token("<|im_end|>")], ["B"]),
        # Tokens that hold a part of a character: 是 is e6 98 af in UTF-8.
        ("是", "…", [token("…"), token("</think>"), token("�", raw=b"\xe6\x98"), token("�", raw=b"\xaf")], ["�", "�"]),
        # Not to be found: no tokens rather than wrong ones.
        ("C", "A?", [token("A?"), token("</think>"), token("B")], None),
        # The letter occurs in the thinking, but something that is no end mark follows it.
        ("B", "B?", [token("B"), token("?")], None),
        ("", "A?", [token("A?")], []),
        ("B", "", [token("B")], ["B"]),
        ("B", "", [token("B"), token("</s>")], ["B"]),
        ("B B", "", [token("B"), token(" B"), token("")], ["B", " B"]),
        # The server trimmed the text, or spells it otherwise: nothing was taken out, so all tokens belong to it.
        ("B", "", [token(" B"), token("<eos>")], [" B"]),
        ("B…", "", [token("B"), token("...")], ["B", "..."]),
    ],
)
def test_token_alignment(
    make_server: MakeServer, content: str, reasoning: str, tokens: list[Any], kept: list[str] | None
) -> None:
    body = completion(content, tokens, reasoning_content=reasoning)
    (reply,) = ask_server(make_server(fault=always(Fault(body=body))).url, question(top_logprobs=0))
    assert (None if reply.tokens is None else [token.text for token in reply.tokens]) == kept


def test_python_servers_write_infinity_and_lone_surrogates(make_server: MakeServer) -> None:
    body = completion("B \ud83d", [token("B", -math.inf), token(" \ud83d", math.nan)])
    (reply,) = ask_server(make_server(fault=always(Fault(body=body))).url, question(top_logprobs=0))
    assert reply.text == "B �"
    assert reply.tokens is not None
    assert [token.logprob for token in reply.tokens] == [-9999.0, -9999.0]
