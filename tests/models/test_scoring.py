"""Log-probabilities of given texts: by a checkpoint in this process, and by a server that speaks as vLLM does."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.errors import CallError
from assay.models.base import request_key
from assay.models.scoring import tail_tokens
from assay.types import Message, Request, TextPart, Token
from support.asking import ask_server, failure, question
from support.faults import Call, Fault
from support.servers import MakeServer


def pieces(*texts: str) -> list[Token]:
    return [Token(text=text, logprob=-float(place)) for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("texts", "given", "tail"),
    [
        (("Q?", "Step", " 1"), "Step 1", [("Step", -1.0), (" 1", -2.0)]),
        (("Q?\nSt", "ep", " 1"), "Step 1", [("St", -0.0), ("ep", -1.0), (" 1", -2.0)]),  # reaches into the prompt
        (("Q", "", "", "答", "案"), "答案", [("", -1.0), ("", -2.0), ("答", -3.0), ("案", -4.0)]),
        (("Step 1", "Step 1"), "Step 1", [("Step 1", -1.0)]),
        (("Q?", "Stop"), "Step", None),
        ((), "Step", None),
    ],
)
def test_the_tail_of_a_prompt(texts: tuple[str, ...], given: str, tail: list[tuple[str, float]] | None) -> None:
    found = tail_tokens(pieces(*texts), given)
    assert (found and [(token.text, token.logprob) for token in found]) == tail


def test_a_given_text_is_part_of_the_key_and_other_keys_stay() -> None:
    plain = Request(messages=(Message(role="user", parts=(TextPart(text="?"),)),))
    given = Request(messages=plain.messages, given="Step 1")
    assert request_key("m", plain, 0) != request_key("m", given, 0)
    # Written down when requests had no such field: stores of that time must go on to be hit.
    assert request_key("m", plain, 0) == "1db13f9de556065f94c567e4c7706f028ad852640e3a17eafe9219196f34910f"


# --------------------------------------------------------------------------------------------------------------------
# Servers


def entry(text: str, logprob: float) -> dict[str, Any]:
    return {"logprob": logprob, "rank": 1, "decoded_token": text}


def vllm(*tokens: dict[str, dict[str, Any]] | None) -> Any:
    """A server's answer whose prompt had these tokens."""

    def fault(call: Call) -> Fault:
        assert call.body["continue_final_message"] is True
        assert call.body["add_generation_prompt"] is False
        assert call.body["max_tokens"] == 1
        answer = {
            "model": "test-model",
            "choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1},
            "prompt_logprobs": tokens,
        }
        return Fault(body=json.dumps(answer).encode())

    return fault


def test_a_server_like_vllm(make_server: MakeServer) -> None:
    tokens = (
        None,
        {"5": entry("assistant\n", -0.1)},
        {"7": entry("So ", -3.0)},
        {"8": entry("red", -0.5), "9": entry("blue", -0.25)},
        {"10": entry(" 7", -1.0)},
    )
    server = make_server(fault=vllm(*tokens))
    request = question(prefill="So ", given="red 7", top_logprobs=1)
    (reply,) = ask_server(server.url, request)
    assert reply.text == "red 7"
    assert reply.tokens is not None
    assert [(token.text, token.logprob) for token in reply.tokens] == [("red", -0.5), (" 7", -1.0)]
    assert reply.tokens[0].top == (("red", -0.5), ("blue", -0.25))
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, 0)
    (call,) = server.calls
    assert call.prefill == "So red 7"
    assert call.body["prompt_logprobs"] == 1


def test_a_template_that_strips_the_turn(make_server: MakeServer) -> None:
    server = make_server(fault=vllm({"7": entry("red", -0.5)}))
    (reply,) = ask_server(server.url, question(given="red\n\n"))
    assert reply.text == "red\n\n"
    assert reply.tokens == (Token(text="red", logprob=-0.5),)


def test_a_server_that_says_nothing_of_the_prompt(make_server: MakeServer) -> None:
    error = failure(make_server().url, question(given="red"))
    assert error.kind == "bad_request"
    assert "vLLM" in str(error)


def test_a_server_whose_tokens_spell_something_else(make_server: MakeServer) -> None:
    error = failure(make_server(fault=vllm({"7": entry("blue", -0.5)})).url, question(given="red"))
    assert (error.kind, error.retryable) == ("malformed", True)


def test_a_given_text_has_one_draw(make_server: MakeServer) -> None:
    assert failure(make_server().url, question(given="red", n=2)).kind == "bad_request"


# --------------------------------------------------------------------------------------------------------------------
# Checkpoints


@pytest.mark.local
@pytest.mark.parametrize("kind", ["text", "llava", "qwen", "idefics3"])
def test_a_checkpoint_scores_what_its_own_logits_say(tmp_path: Path, kind: str) -> None:
    torch: Any = pytest.importorskip("torch")
    from assay.models.local import LocalModel
    from assay.models.local_checkpoint import load_checkpoint
    from assay.types import ImagePart
    from support import tiny
    from support.pictures import file_of, noise

    torch.set_num_threads(1)
    folder = getattr(tiny, f"build_{kind}")(tmp_path / kind)
    shown: tuple[Any, ...] = ()
    if kind != "text":
        data = file_of(noise("RGB", (48, 32), seed=1), "PNG")
        shown = (ImagePart(key="p", media_type="image/png", width=48, height=32, data=data),)
    given = "Step 1: 价格 is 12.5 😀.\n\nAnswer: up"

    async def score() -> list[tuple[Token, ...]]:
        model = LocalModel.open(folder, max_wait_ms=200)
        try:
            requests = [
                Request(
                    messages=(Message(role="user", parts=(*shown, TextPart(text=text))),),
                    prefill=prefill,
                    top_logprobs=2,
                )
                for text, prefill in (("How much?", ""), ("And quite another question", "So:\n"))
            ]
            return list(await asyncio.gather(*(model.score(request, given) for request in requests)))
        finally:
            await model.close()

    plain, prefilled = asyncio.run(score())
    checkpoint = load_checkpoint(folder)
    place = {"llava": "<image>\n", "idefics3": "<image>", "qwen": "<|vision_start|><|image_pad|><|vision_end|>"}
    for tokens, text, prefill in ((plain, "How much?", ""), (prefilled, "And quite another question", "So:\n")):
        prompt = f"<|start|>user\n{place.get(kind, '')}{text}<|end|>\n<|start|>assistant\n{prefill}"
        expected = by_hand(torch, checkpoint, prompt, given, shown)
        assert "".join(token.text for token in tokens) == given
        assert [token.logprob for token in tokens] == pytest.approx([own for own, _ in expected], abs=1e-4)
        for token, (_, best) in zip(tokens, expected, strict=True):
            assert [logprob for _, logprob in token.top] == pytest.approx(best, abs=1e-4)
        assert math.fsum(token.logprob for token in tokens) < 0


def by_hand(
    torch: Any, checkpoint: Any, prompt: str, given: str, shown: tuple[Any, ...]
) -> list[tuple[float, list[float]]]:
    """Log-probability of each token of the given text, and the two largest there, from one plain forward pass."""
    from io import BytesIO

    from PIL import Image

    pictures = [Image.open(BytesIO(part.data)).convert("RGB") for part in shown]
    options: dict[str, Any] = {"images": [pictures]} if pictures else {}
    encode = checkpoint.processor or checkpoint.tokenizer
    inputs = dict(encode(text=[prompt + given], return_tensors="pt", **options))
    count = len(checkpoint.tokenizer.encode(given, add_special_tokens=False))  # bytes: no token crosses the border
    with torch.no_grad():
        logits = checkpoint.model(**inputs).logits[0, -count - 1 : -1].float()
    logprobs = logits.log_softmax(-1)
    ids = inputs["input_ids"][0, -count:].tolist()
    return [(logprobs[place, token].item(), logprobs[place].topk(2).values.tolist()) for place, token in enumerate(ids)]


@pytest.mark.local
def test_a_text_that_no_tokens_spell(tmp_path: Path) -> None:
    """A special token within the text says nothing, so the rest would not be the text that was given."""
    pytest.importorskip("torch")
    from assay.models.local import LocalModel
    from support.tiny import build_text

    async def score() -> None:
        model = LocalModel.open(build_text(tmp_path / "text"))
        try:
            await model.score(question("?"), "red <|end|> blue")
        finally:
            await model.close()

    with pytest.raises(CallError, match="don't spell"):
        asyncio.run(score())
