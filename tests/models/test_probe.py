"""What the probe finds out, and what it says where there is nothing to find out."""

import asyncio
import socket
import struct
import zlib
from typing import Any

import pytest

from assay.errors import CallError, UsageError
from assay.models.openai import Capabilities, OpenAIModel, probe
from assay.models.probe import white_picture
from support.servers import (
    Call,
    ChatServer,
    Draw,
    MakeServer,
    always,
    counting,
    error,
    rate_limited,
    says,
    seeded,
    sequence,
    server_error,
    share,
)


def probed(url: str, name: str = "test-model", **options: Any) -> Capabilities:
    async def run() -> Capabilities:
        model = OpenAIModel(name, url, **options)
        try:
            return await probe(model)
        finally:
            await model.close()

    options.setdefault("api_key", "")
    return asyncio.run(run())


def test_a_server_that_honours_everything(make_server: MakeServer) -> None:
    server = make_server(answer=counting)
    assert probed(server.url) == Capabilities(
        url=server.url,
        model="test-model",
        models=("test-model",),
        listed=True,
        draws=True,
        logprobs=True,
        seed=True,
        images=True,
        prefill="continue",
        repeats_prefill=False,
        reasoning=False,
        notes=(),
    )
    assert len(server.calls) <= 8
    assert all(call.body["max_tokens"] <= 16 for call in server.calls)


@pytest.mark.parametrize(
    ("options", "found", "note"),
    [
        ({"draws": "ignore"}, {"draws": False}, "ignores n: 8 draws cost 8 calls"),
        ({"draws": "refuse"}, {"draws": False}, "refuses n > 1"),
        ({"draws": "exceed"}, {"draws": True}, None),
        ({"logprobs": False}, {"logprobs": False}, "ignores logprobs"),
        ({"images": False}, {"images": False}, "refuses pictures"),
        ({"prefill": "repeat"}, {"prefill": "continue", "repeats_prefill": True}, None),
        ({"prefill": "repeat", "owner": "llamacpp"}, {"prefill": "trailing", "repeats_prefill": True}, None),
        ({"prefill": "trailing"}, {"prefill": "continue", "repeats_prefill": False}, None),
        ({"prefill": "refuse"}, {"prefill": "none"}, "can't continue an assistant turn"),
        ({"prefill": "new_turn"}, {"prefill": "none"}, "can't continue an assistant turn"),
        ({"models": ()}, {"models": None, "listed": None}, None),
    ],
)
def test_what_a_server_lacks(
    make_server: MakeServer, options: dict[str, Any], found: dict[str, Any], note: str | None
) -> None:
    capabilities = probed(make_server(answer=counting, **options).url)
    assert {name: getattr(capabilities, name) for name in found} == found
    assert len(capabilities.notes) == (note is not None), capabilities.notes
    assert note is None or note in capabilities.notes[0]


def test_a_server_like_transformers_serve(make_server: MakeServer) -> None:
    """It ignores n and logprobs without a word and refuses the flags of a prefill with 422."""
    server = make_server(answer=counting, draws="ignore", logprobs=False, prefill="refuse")
    capabilities = probed(server.url)
    assert (capabilities.draws, capabilities.logprobs, capabilities.prefill) == (False, False, "none")
    assert len(capabilities.notes) == 3


def test_seed_ignored(make_server: MakeServer) -> None:
    capabilities = probed(make_server(answer=lambda call, _draw: f"reply {call.number}").url)
    assert capabilities.seed is False
    assert any("one seed gave different replies" in note for note in capabilities.notes)


def test_reasoning_model(make_server: MakeServer) -> None:
    server = make_server(answer=says("", "length", reasoning_content="Let me see"))
    capabilities = probed(server.url)
    assert capabilities.reasoning
    assert any("--max-tokens" in note for note in capabilities.notes)
    assert any("does not show that the model continued it" in note for note in capabilities.notes)


def test_picture_that_is_dropped_in_silence(make_server: MakeServer) -> None:
    """The prompt is as long with the picture as without (case 176)."""

    class Blind(ChatServer):
        def _completion(self, call: Call) -> dict[str, Any]:
            completion = super()._completion(call)
            completion["usage"]["prompt_tokens"] = 9
            return completion

    with Blind(answer=counting) as server:
        capabilities = probed(server.url)
    assert capabilities.images is True
    assert any("may not see it" in note for note in capabilities.notes)


def test_server_that_answers_for_any_name(make_server: MakeServer) -> None:
    class AnyName(ChatServer):
        def _refused(self, call: Call) -> None:
            return None

    with AnyName(answer=counting, models=("smol",)) as server:
        capabilities = probed(server.url)
    assert (capabilities.models, capabilities.listed) == (("smol",), False)
    assert any("does not list 'test-model'" in note and "smol" in note for note in capabilities.notes)


def test_passing_failures_don_t_disturb(make_server: MakeServer) -> None:
    assert probed(make_server(answer=counting, fault=share(0.2, seed=3)).url).notes == ()
    assert probed(make_server(answer=counting, fault=sequence(rate_limited("0.01"), server_error())).url).notes == ()


def test_nobody_listens() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/v1"
    with pytest.raises(UsageError) as caught:
        probed(url)
    assert url in str(caught.value)
    assert "Start the server, or correct --base-url" in str(caught.value)


def test_wrong_key(make_server: MakeServer) -> None:
    url = make_server(api_key="right").url
    with pytest.raises(UsageError) as caught:
        probed(url, api_key="wrong-key")
    assert url in str(caught.value)
    assert "--api-key" in str(caught.value)
    assert "wrong-key" not in str(caught.value)


def test_unknown_model(make_server: MakeServer) -> None:
    url = make_server(models=("llava", "qwen")).url
    with pytest.raises(UsageError, match=r"It serves llava, qwen; correct the model's name"):
        probed(url, name="lava")
    many = make_server(models=[f"m{i}" for i in range(100)]).url
    with pytest.raises(UsageError, match="m11 and 88 more"):
        probed(many)


def test_server_that_fails_again_and_again(make_server: MakeServer) -> None:
    server = make_server(fault=always(error(503, "loading the model", retry_after="0.01")))
    with pytest.raises(CallError, match="loading the model"):
        probed(server.url)
    assert len(server.calls) == 3


def test_weak_model(make_server: MakeServer) -> None:
    """A reply of noise neither proves nor disproves anything: said, not guessed."""
    capabilities = probed(make_server(answer=lambda call, draw: Draw(text=seeded(call, draw)[::-1])).url)
    assert capabilities.prefill == "continue"
    assert any("does not show" in note for note in capabilities.notes)


def test_white_picture() -> None:
    """Read by hand: the size at offset 16, then one filter byte and 3 x 64 white bytes a row."""
    data = white_picture().data
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (64, 64)
    start = data.index(b"IDAT") + 4
    length = struct.unpack(">I", data[start - 8 : start - 4])[0]
    assert zlib.decompress(data[start : start + length]) == (b"\0" + b"\xff" * 192) * 64
