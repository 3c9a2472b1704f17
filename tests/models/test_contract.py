"""What every model keeps, whatever it is made of.

To put another model under the contract, add one line to `MODELS`.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest

from assay.errors import CallError
from assay.models import open_model
from assay.models.base import Model, parse_address
from assay.models.openai import OpenAIModel
from assay.models.replay import RecordingModel, ReplayModel
from assay.models.scripted import ScriptedModel
from assay.types import Finish, Reply, Request, Sampling, Usage
from support.asking import PICTURE, question
from support.servers import Call, Draw, MakeServer, counting, seeded

T = TypeVar("T")

SAMPLES = ("a", "b", "c")
DRAWS = 6
PREFILL = "Step 1: look.\n"

Open = Callable[[Path, MakeServer], Model]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A model under the contract.

    Attributes:
        open: makes it, with a folder and a server to use.
        knows: whether it answers for known samples only.
        pictures: whether a request with `PICTURE`, which is no picture, can be asked.
        logprobs: whether log-probabilities come back when asked for.
    """

    open: Open
    knows: bool = False
    pictures: bool = True
    logprobs: bool = False


def answer(call: Call, draw: int) -> str | Draw:
    """Continues the probe's count; thinks and ends otherwise, at the limit for some seeds."""
    if call.question.startswith("Count"):
        return counting(call, draw)
    text = f"<think>\nhm\n</think>\n\n{seeded(call, draw)}"
    return Draw(text=text, finish="length" if call.seed % 2 else "stop")


def served(*, prefill: str = "continue", draws: str = "honour", logprobs: bool = True) -> Open:
    def open_server(_folder: Path, make_server: MakeServer) -> Model:
        server = make_server(answer=answer, prefill=prefill, draws=draws, logprobs=logprobs)
        return OpenAIModel("test-model", server.url, api_key="")

    return open_server


def speak(request: Request, index: int) -> Reply:
    """What the scripted and the recorded models say: a function of sample, seed and draw."""
    usage = Usage(prompt_tokens=3, completion_tokens=2)
    return Reply(text=f"Answer: {request.sample_id} {request.seed} {index}", usage=usage)


def scripted(_folder: Path, _make_server: MakeServer) -> Model:
    return ScriptedModel(speak, identity="scripted:speak")


def rows(folder: Path, field: str) -> Path:
    path = folder / "replies.jsonl"
    known = [{"id": sample, "index": draw, field: f"Answer: {draw}"} for sample in SAMPLES for draw in range(DRAWS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in known))
    return path


def scripted_file(folder: Path, _make_server: MakeServer) -> Model:
    return open_model(parse_address(f"scripted:{rows(folder, 'reply')}"))


def replayed(folder: Path, _make_server: MakeServer) -> Model:
    return open_model(parse_address(f"replay:{rows(folder, 'response')}"))


def recording(folder: Path, _make_server: MakeServer) -> Model:
    return RecordingModel(ScriptedModel(speak), folder / "recorded.jsonl")


def replayed_or_asked(folder: Path, _make_server: MakeServer) -> Model:
    return ReplayModel.open(folder / "recorded.jsonl", fallback=ScriptedModel(speak))


def checkpoint(folder: Path, _make_server: MakeServer) -> Model:
    pytest.importorskip("transformers", reason="needs the extra 'local'")
    from support.tiny import build_llava

    return open_model(parse_address(f"local:{build_llava(folder / 'llava')}"))


MODELS = [
    pytest.param(Kept(open=served(), logprobs=True), id="openai"),
    pytest.param(Kept(open=served(prefill="repeat"), logprobs=True), id="openai-repeats-prefill"),
    pytest.param(Kept(open=served(prefill="trailing"), logprobs=True), id="openai-trailing-turn"),
    pytest.param(Kept(open=served(draws="ignore", logprobs=False)), id="openai-ignores-n"),
    pytest.param(Kept(open=served(draws="refuse"), logprobs=True), id="openai-refuses-n"),
    pytest.param(Kept(open=served(draws="exceed"), logprobs=True), id="openai-exceeds-n"),
    pytest.param(Kept(open=scripted), id="scripted"),
    pytest.param(Kept(open=scripted_file, knows=True), id="scripted-file"),
    pytest.param(Kept(open=replayed, knows=True), id="replay"),
    pytest.param(Kept(open=recording), id="record"),
    pytest.param(Kept(open=replayed_or_asked), id="replay-or-ask"),
    pytest.param(
        Kept(open=checkpoint, pictures=False, logprobs=True), id="local", marks=[pytest.mark.local, pytest.mark.slow]
    ),
]

everything = pytest.mark.parametrize("kept", MODELS)


class Running:
    """A model that is opened, used and closed in one event loop."""

    def __init__(self, folder: Path, make_server: MakeServer) -> None:
        self._folder = folder
        self._make_server = make_server

    def __call__(self, kept: Kept, use: Callable[[Model], Coroutine[Any, Any, T]]) -> T:
        async def run() -> T:
            model = kept.open(self._folder, self._make_server)
            try:
                return await use(model)
            finally:
                await model.close()

        return asyncio.run(run())


@pytest.fixture
def running(tmp_path: Path, make_server: MakeServer) -> Running:
    return Running(tmp_path, make_server)


def asked(sample: str = "a", **rest: Any) -> Request:
    sampling = Sampling(temperature=1.0, max_tokens=12)
    return question(f"What is {sample}?", sampling=sampling, sample_id=sample, **rest)


@everything
@pytest.mark.parametrize("n", [1, 2, 5])
def test_exactly_n_replies(kept: Kept, n: int, running: Running) -> None:
    replies = running(kept, lambda model: model.generate(asked(n=n)))
    assert isinstance(replies, tuple)
    assert len(replies) == n


@everything
def test_every_reply_is_whole(kept: Kept, running: Running) -> None:
    for seed in range(3):
        for reply in running(kept, lambda model, seed=seed: model.generate(asked(seed=seed, n=2))):
            assert reply.finish in get_args(Finish)
            assert reply.tokens is None  # none were asked for
            assert not reply.extracted
            assert "</think>" not in reply.text
            assert reply.text or reply.reasoning or kept.open is checkpoint


@everything
def test_same_request_same_replies(kept: Kept, running: Running) -> None:
    async def twice(model: Model) -> list[tuple[Reply, ...]]:
        return [await model.generate(asked(n=3, seed=11)) for _ in range(2)]

    first, second = running(kept, twice)
    assert first == second


@everything
def test_concurrent_calls_get_their_own_replies(kept: Kept, running: Running) -> None:
    """Thirty requests at once give what each gives when it is asked alone."""
    requests = [asked(sample, seed=seed) for sample in SAMPLES for seed in range(10)]

    async def together(model: Model) -> list[tuple[Reply, ...]]:
        return await asyncio.gather(*(model.generate(request) for request in requests))

    async def alone(model: Model) -> list[tuple[Reply, ...]]:
        return [await model.generate(request) for request in requests]

    assert running(kept, together) == running(kept, alone)


@everything
def test_prefill_is_not_in_the_reply(kept: Kept, running: Running) -> None:
    for reply in running(kept, lambda model: model.generate(asked(prefill=PREFILL, n=2))):
        assert PREFILL.strip() not in reply.text


@everything
def test_usage_is_counted_once(kept: Kept, running: Running) -> None:
    """The prompt of n draws is counted with the first draw of each call."""
    replies = running(kept, lambda model: model.generate(asked(n=3)))
    counted = [reply.usage for reply in replies if reply.usage is not None]
    assert all(usage.prompt_tokens >= 0 and usage.completion_tokens >= 0 for usage in counted)
    if kept.open is checkpoint:
        assert [usage.prompt_tokens > 0 for usage in counted] == [True, False, False]


@everything
def test_tokens_where_they_are_asked_for(kept: Kept, running: Running) -> None:
    for reply in running(kept, lambda model: model.generate(asked(top_logprobs=2, n=2))):
        assert (reply.tokens is not None) == kept.logprobs
        for token in reply.tokens or ():
            assert token.logprob <= 0
            assert len(token.top) <= 2
            assert [logprob for _, logprob in token.top] == sorted((logprob for _, logprob in token.top), reverse=True)


@everything
def test_pictures_are_taken(kept: Kept, running: Running) -> None:
    if not kept.pictures:
        pytest.skip("decodes pictures: covered by its own tests")
    assert len(running(kept, lambda model: model.generate(asked(pictures=(PICTURE,))))) == 1


@everything
def test_identity_is_stable_and_no_address(kept: Kept, tmp_path: Path, running: Running) -> None:
    """It is part of every request's key: without port and folder, the same before and after a call."""

    async def identities(model: Model) -> list[str]:
        before = model.identity
        await model.generate(asked())
        return [before, model.identity]

    before, after = running(kept, identities)
    assert before == after
    assert before
    assert "127.0.0.1" not in before
    assert str(tmp_path) not in before
    assert before == running(kept, identities)[0]


@everything
def test_closing_twice(kept: Kept, running: Running) -> None:
    async def close(model: Model) -> None:
        await model.generate(asked())
        await model.close()
        await model.close()

    running(kept, close)


@everything
def test_closing_unused(kept: Kept, running: Running) -> None:
    async def nothing(_model: Model) -> None: ...

    running(kept, nothing)


@everything
def test_unknown_sample(kept: Kept, running: Running) -> None:
    """Only what answers from a file knows samples; nobody makes a reply up."""
    if not kept.knows:
        assert len(running(kept, lambda model: model.generate(asked("unheard of")))) == 1
        return
    for request in (asked("unheard of"), asked("a", index=DRAWS), asked("a", index=DRAWS - 1, n=2)):
        with pytest.raises(CallError) as caught:
            running(kept, lambda model, request=request: model.generate(request))
        assert (caught.value.kind, caught.value.retryable, caught.value.fatal) == ("no_reply", False, False)


@everything
def test_a_cancelled_call_leaves_the_model_usable(kept: Kept, running: Running) -> None:
    async def use(model: Model) -> tuple[Reply, ...]:
        call = asyncio.create_task(model.generate(asked()))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return await model.generate(asked())

    assert len(running(kept, use)) == 1
