"""The client of chat-completions servers: what is sent, n, prefill, identity."""

import asyncio
import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import CallError, UsageError
from assay.models.openai import OpenAIModel
from assay.models.wire import BodyWriter
from assay.types import ImagePart, Message, Request, Sampling, TextPart, Usage
from support.asking import PICTURE, ask, ask_server, failure, question
from support.servers import (
    Answer,
    ChatServer,
    Fault,
    MakeServer,
    always,
    counting,
    says,
    sequence,
    server_error,
)

SECRET = "sk-very-secret-4711"


# ----------------------------------------------------------------------------------------------------
# What is sent


def test_body(make_server: MakeServer) -> None:
    server = make_server()
    sampling = Sampling(
        temperature=0.7, top_p=0.9, top_k=20, max_tokens=64, stop=("\n\n",), extra={"min_p": 0.1, "top_p": 0.5}
    )
    request = question("Höhe?", pictures=(PICTURE,), sampling=sampling, seed=7, n=2, top_logprobs=3)
    ask_server(server.url, request)
    picture = "data:image/png;base64," + base64.b64encode(PICTURE.data).decode()
    content = [{"type": "image_url", "image_url": {"url": picture}}, {"type": "text", "text": "Höhe?"}]
    assert server.calls[0].body == {
        "model": "test-model",
        "messages": [{"role": "user", "content": content}],
        "temperature": 0.7,
        "top_p": 0.5,  # the extra body comes last
        "top_k": 20,
        "max_tokens": 64,
        "stop": ["\n\n"],
        "seed": 7,
        "n": 2,
        "logprobs": True,
        "top_logprobs": 3,
        "min_p": 0.1,
    }
    assert server.calls[0].headers["Content-Type"] == "application/json"
    assert "Authorization" not in server.calls[0].headers


def test_what_is_not_asked_is_not_sent(make_server: MakeServer) -> None:
    server = make_server()
    ask_server(server.url, question("Hi", sampling=Sampling()))
    assert server.calls[0].body == {
        "model": "test-model",
        "messages": [{"role": "user", "content": "Hi"}],  # plain text: some templates take no list (case 175)
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 1280,
        "seed": 0,
    }


def test_options(make_server: MakeServer) -> None:
    server = make_server(api_key=SECRET)
    ask_server(
        server.url,
        question(seed=3),
        api_key=f" {SECRET}\n",
        max_tokens_field="max_completion_tokens",
        omit=("seed", "top_p"),
        headers={"X-Team": "charts"},
    )
    body, headers = server.calls[0].body, server.calls[0].headers
    assert body["max_completion_tokens"] == 1280
    assert not {"max_tokens", "seed", "top_p"} & body.keys()
    assert (headers["X-Team"], headers["Authorization"]) == ("charts", f"Bearer {SECRET}")


def test_roles_and_several_texts(make_server: MakeServer) -> None:
    server = make_server()
    messages = (
        Message(role="system", parts=(TextPart(text="Be brief."),)),
        Message(role="user", parts=(TextPart(text="a"), TextPart(text="b"))),
    )
    ask(OpenAIModel("test-model", server.url, api_key=""), Request(messages=messages))
    assert server.calls[-1].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a\nb"},
    ]


def test_large_body(make_server: MakeServer) -> None:
    """aiohttp warns of bodies above 1 MiB given as bytes, and warnings are errors here."""
    server = make_server()
    large = ImagePart(key="large", media_type="image/jpeg", width=9, height=9, data=bytes(3 * 2**20))
    ask_server(server.url, question(pictures=(large,)))
    assert server.calls[0].pictures == ["data:image/jpeg;base64," + "AAAA" * 2**20]


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3),
    data=st.binary(max_size=50),
    room=st.integers(0, 300),
)
def test_bodies_are_the_same_with_and_without_the_picture_cache(texts: list[str], data: bytes, room: int) -> None:
    picture = ImagePart(key="p", media_type="image/png", width=1, height=1, data=data)
    other = ImagePart(key="q", media_type="image/png", width=1, height=1, data=data[::-1])
    writer = BodyWriter("m", cache_bytes=room)
    for shown in (picture, other, picture):
        parts = (*(TextPart(text=text) for text in texts), shown)
        request = Request(messages=(Message(role="user", parts=parts),))
        content = json.loads(writer.body(request, count=1, seed=0, strategy="none"))["messages"][0]["content"]
        assert [part["text"] for part in content[:-1]] == texts
        assert content[-1]["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(shown.data).decode()


def test_extra_body_may_not_lie(make_server: MakeServer) -> None:
    """A seed, a model or a count in the extra body would not be what the reply is stored under."""
    server = make_server()
    for field in ("model", "n", "seed", "stream"):
        problem = failure(server.url, question(sampling=Sampling(extra={field: 1})))
        assert problem.fatal
        assert field in str(problem)
    assert server.calls == []


# ----------------------------------------------------------------------------------------------------
# n


def test_n_in_one_call(make_server: MakeServer) -> None:
    server = make_server()
    replies = ask_server(server.url, question(n=3, seed=5))
    assert [reply.text[:13] for reply in replies] == ["seed 5 draw 0", "seed 5 draw 1", "seed 5 draw 2"]
    # Usage is counted once: 4 words asked; the 18 words of 3 replies are shared out by their equal lengths.
    draws = [Usage(prompt_tokens=prompt, completion_tokens=6) for prompt in (4, 0, 0)]
    assert [reply.usage for reply in replies] == draws


def test_n_ignored(make_server: MakeServer) -> None:
    """Asked again with the seed moved on, so the draws differ (case 194)."""
    server = make_server(draws="ignore")
    replies = ask_server(server.url, question(n=3, seed=5))
    assert [call.body.get("n", 1) for call in server.calls] == [3, 2, 1]
    assert [reply.text[:13] for reply in replies] == ["seed 5 draw 0", "seed 6 draw 0", "seed 7 draw 0"]
    assert [reply.usage for reply in replies] == [Usage(prompt_tokens=4, completion_tokens=6)] * 3


def test_n_refused(make_server: MakeServer) -> None:
    server = make_server(draws="refuse")
    first, second = ask(OpenAIModel("test-model", server.url, api_key=""), question(n=3), question(n=2, seed=9))
    assert (len(first), len(second)) == (3, 2)
    # Learnt in the first request: 1 refused + 3, then 2.
    assert [call.body.get("n", 1) for call in server.calls] == [3, 1, 1, 1, 1, 1]


def test_n_exceeded(make_server: MakeServer) -> None:
    assert len(ask_server(make_server(draws="exceed").url, question(n=2))) == 2


def test_draws_in_hand_survive_a_failed_call(make_server: MakeServer) -> None:
    """Two of three draws came, then the server failed: the retry asks for the third alone."""
    server = make_server(draws="ignore", fault=sequence(None, None, server_error()))

    async def run() -> list[str]:
        model = OpenAIModel("test-model", server.url, api_key="")
        with pytest.raises(CallError):
            await model.generate(question(n=3))
        replies = await model.generate(question(n=3))
        await model.close()
        return [reply.text[:13] for reply in replies]

    assert asyncio.run(run()) == ["seed 0 draw 0", "seed 1 draw 0", "seed 2 draw 0"]
    assert len(server.calls) == 4


def test_choices_out_of_order(make_server: MakeServer) -> None:
    choices = [{"index": i, "message": {"content": str(i)}, "finish_reason": "stop"} for i in (1, 0)]
    server = make_server(fault=always(Fault(body=json.dumps({"choices": choices}).encode())))
    assert [reply.text for reply in ask_server(server.url, question(n=2))] == ["0", "1"]


# ----------------------------------------------------------------------------------------------------
# Prefill

STEPS = "Step 1: the bar for 2019 is 4.\n"


def after_the_probe(answer: Answer) -> Answer:
    """Counts where the probe asks for it, else answers."""
    return lambda call, draw: (counting if call.question.startswith("Count") else answer)(call, draw)


continuation = after_the_probe(says("Step 2: so\n\nAnswer: B"))


@pytest.mark.parametrize("prefill", ["continue", "repeat", "trailing"])
@pytest.mark.parametrize("owner", ["test", "vllm", "llamacpp"])
def test_prefill_gives_the_same_reply_everywhere(make_server: MakeServer, prefill: str, owner: str) -> None:
    if (prefill, owner) in (("continue", "llamacpp"), ("trailing", "vllm")):
        pytest.skip("no such server")
    server = make_server(answer=continuation, prefill=prefill, owner=owner)
    (reply,) = ask_server(server.url, question(prefill=STEPS, top_logprobs=0))
    assert reply.text == "Step 2: so\n\nAnswer: B"
    assert reply.tokens is not None
    assert "".join(token.text for token in reply.tokens) == reply.text
    assert server.calls[-1].prefill == STEPS


def test_prefill_that_the_continuation_begins_with(make_server: MakeServer) -> None:
    """A server that returns the continuation alone: one that begins with the prefill's own words stays whole."""

    for kind in ("continue", "trailing", "repeat"):
        server = make_server(answer=after_the_probe(says("ha ha")), prefill=kind)
        assert ask_server(server.url, question(prefill="ha"))[0].text == "ha ha", kind


def test_prefill_on_a_weak_model(make_server: MakeServer) -> None:
    """Its reply shows nothing; a server that accepts the flag is believed, and a copy of the prefill is cut off."""
    weak = make_server(answer=says("mmm"))
    assert ask_server(weak.url, question(prefill=STEPS))[0].text == "mmm"
    assert weak.calls[-1].body["continue_final_message"] is True
    assert weak.calls[-1].body["add_generation_prompt"] is False
    repeating = make_server(answer=says("mmm"), prefill="repeat", owner="llamacpp")
    assert ask_server(repeating.url, question(prefill=STEPS))[0].text == "mmm"


@pytest.mark.parametrize("prefill", ["refuse", "new_turn"])
def test_prefill_that_the_server_can_not_continue(make_server: MakeServer, prefill: str) -> None:
    """A new turn in the place of a continuation would go unseen (case 174)."""
    server = make_server(answer=counting, prefill=prefill)
    problem = failure(server.url, question(prefill=STEPS))
    assert problem.kind == "bad_request"
    assert "can't continue an assistant turn" in str(problem)


def test_prefill_strategy_by_hand(make_server: MakeServer) -> None:
    server = make_server(answer=continuation, prefill="trailing")
    assert ask_server(server.url, question(prefill=STEPS), prefill="trailing")[0].text == "Step 2: so\n\nAnswer: B"
    assert "continue_final_message" not in server.calls[-1].body
    assert failure(server.url, question(prefill=STEPS), prefill="none").kind == "bad_request"


def test_prefill_is_found_out_once(make_server: MakeServer) -> None:
    server = make_server(answer=continuation)

    async def run() -> None:
        model = OpenAIModel("test-model", server.url, api_key="")
        await asyncio.gather(*(model.generate(question(prefill=STEPS, seed=seed)) for seed in range(5)))
        await model.close()

    asyncio.run(run())
    assert len(server.calls) == 6


def test_prefill_that_opens_thinking(make_server: MakeServer) -> None:
    server = make_server(answer=after_the_probe(says("A?</think>B")))
    (reply,) = ask_server(server.url, question(prefill="<think>\n"))
    assert (reply.text, reply.reasoning) == ("B", "A?")
    cut_off = make_server(answer=after_the_probe(says("A or", "length")))
    (reply,) = ask_server(cut_off.url, question(prefill="<think>\n"))
    assert (reply.text, reply.reasoning) == ("", "A or")


# ----------------------------------------------------------------------------------------------------
# Identity and life


def test_identity() -> None:
    """The model's name and revision (case 186), and what changes its replies; not where it runs."""
    here = OpenAIModel("m", "http://127.0.0.1:8000/v1", api_key="")
    there = OpenAIModel("m", "http://10.0.0.9:9000/v1", api_key="k", timeout=5, connections=3)
    assert here.identity == there.identity == "openai:m"
    revised = OpenAIModel("m", "http://127.0.0.1:8000/v1", api_key="", revision="abc")
    bare = OpenAIModel("m", "http://127.0.0.1:8000/v1", api_key="", omit=("top_p", "seed"))
    assert len({here.identity, revised.identity, bare.identity}) == 3


def test_many_at_once(make_server: MakeServer) -> None:
    """Calls share one session and don't wait for each other (case 207)."""
    server = make_server(latency=0.3)

    async def run() -> set[str]:
        model = OpenAIModel("test-model", server.url, api_key="")
        replies = await asyncio.gather(*(model.generate(question(seed=seed)) for seed in range(200)))
        await model.close()
        return {reply.text.split(" draw")[0] for (reply,) in replies}

    assert asyncio.run(run()) == {f"seed {seed}" for seed in range(200)}
    assert server.most_in_flight > 50


def test_closed(make_server: MakeServer) -> None:
    server: ChatServer = make_server()

    async def run() -> None:
        model = OpenAIModel("test-model", server.url, api_key="")
        await model.close()
        await model.close()
        with pytest.raises(UsageError, match="was closed"):
            await model.generate(question())

    asyncio.run(run())
