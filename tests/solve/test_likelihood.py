"""The likelihood critic: probabilities of the steps' own texts."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from assay.errors import CallError
from assay.models.scripted import ScriptedModel
from assay.solve.likelihood import LikelihoodCritic, step_scores
from assay.solve.records import Critique, Unjudged
from assay.types import ImagePart, Message, Reply, Request, TextPart, Token, Usage
from support.critics import MESSAGES, SAMPLE, STEPS, Asked, criticised, solved, unjudged


def tokens(*pairs: tuple[str, float]) -> tuple[Token, ...]:
    return tuple(Token(text=text, logprob=math.log(probability)) for text, probability in pairs)


SPELLED = tokens(
    *(("Step 1:", 0.9), (" Red is 7.", 0.4), ("\n\n", 1.0)),
    *(("Step 2:", 1.0), (" Blue is 5,", 0.01), (" so 7 - 5 = 2.\n\n", 0.25)),
    ("Answer: A", 0.5),
)


def scoring(correction: str | Reply = "Step 2: Blue is 4, so 3.\n\nAnswer: B") -> Asked:
    def answer(request: Request, _index: int) -> Reply:
        if request.given:
            return Reply(text=request.given, tokens=SPELLED, usage=Usage(prompt_tokens=70))
        return Reply(text=correction) if isinstance(correction, str) else correction

    return Asked(answer)


def test_scores_of_steps() -> None:
    # token: (0.9 * 0.4 * 1) ** (1/3), (1 * 0.01 * 0.25) ** (1/3), 0.5; step: the products
    by_token = step_scores(SPELLED, STEPS)
    assert by_token == pytest.approx((0.36 ** (1 / 3), 0.0025 ** (1 / 3), 0.5))
    assert step_scores(SPELLED, STEPS, normalise="step") == pytest.approx((0.36, 0.0025, 0.5))


@pytest.mark.parametrize(
    ("pieces", "steps", "expected"),
    [
        ((("a\n\n", 0.5), ("b", 0.25)), ("a\n\n", "b"), (0.5, 0.25)),
        ((("a", 0.5), ("\n\nb", 0.25)), ("a\n\n", "b"), (0.5, 0.25)),  # its last character is of step 2
        ((("a\n\nb\n\nc", 0.5),), ("a\n\n", "b\n\n", "c"), (0.5, 0.5, 0.5)),  # one token for all
        ((("a", 0.5), ("\n\nb\n\nc", 0.25)), ("a\n\n", "b\n\n", "c"), (0.5, 0.25, 0.25)),
        ((("", 0.5), ("答", 0.5), ("\n\n", 1.0), ("b", 0.25)), ("答\n\n", "b"), (0.25, 0.25)),
        ((("a\n\n", 0.5),), ("a\n\n", "b"), (0.5, 0.5)),  # a template stripped the end
    ],
)
def test_which_step_a_token_belongs_to(
    pieces: tuple[tuple[str, float], ...], steps: tuple[str, ...], expected: tuple[float, ...]
) -> None:
    assert step_scores(tokens(*pieces), steps, normalise="step") == pytest.approx(expected)


def test_a_critique() -> None:
    asked = scoring()
    critique = criticised(LikelihoodCritic(asked.model))
    assert [step.correct for step in critique.steps] == [True, False, True]  # 0.71, 0.14, 0.5
    assert {step.source for step in critique.steps} == {"likelihood"}
    assert critique.correction == "Step 2: Blue is 4, so 3."  # one step of what the model goes on with
    assert critique.calls == 2
    scored, own = asked.requests
    assert scored.messages == own.messages == MESSAGES
    assert scored.given == "".join(STEPS)
    assert (own.prefill, own.given, own.sampling.temperature) == (STEPS[0], "", 0.0)


def test_options() -> None:
    asked = scoring()
    critique = criticised(LikelihoodCritic(asked.model, threshold=0.1))
    assert (critique.first_error, critique.correction, critique.calls) == (None, None, 1)
    critique = criticised(LikelihoodCritic(asked.model, correct=False))
    assert (critique.first_error, critique.correction, critique.calls) == (1, None, 1)
    critique = criticised(LikelihoodCritic(asked.model, normalise="step", threshold=0.4))
    assert critique.first_error == 0
    assert asked.requests[-1].prefill == ""


@pytest.mark.parametrize(
    ("reply", "correction"),
    [
        (Reply(text=""), None),
        (Reply(text="Step 2: Blue is", finish="length"), None),  # cut within the step
        (Reply(text="Step 2: Blue is 4.\n\nAns", finish="length"), "Step 2: Blue is 4."),
        (Reply(text="\n\n".join(f"Step {number}: x" for number in range(2, 40))), "Step 2: x"),  # no steps are merged
    ],
)
def test_the_models_own_step(reply: Reply, correction: str | None) -> None:
    assert criticised(LikelihoodCritic(scoring(reply).model)).correction == correction


def test_a_model_that_can_not_score() -> None:
    found = unjudged(LikelihoodCritic(ScriptedModel(lambda _request, _index: "Answer: B")))
    assert found.kind == "failed"
    assert "vLLM" in found.reason


def test_calls_that_fail() -> None:
    def fail(request: Request, _index: int) -> Reply:
        if request.given and request.given.startswith("Step"):
            return Reply(text=request.given, tokens=SPELLED)
        raise CallError("bad_request", "no prefill here")

    found = unjudged(LikelihoodCritic(ScriptedModel(fail)))
    assert (found.kind, found.calls) == ("failed", 2)
    assert found.reason.startswith("correction: ")
    found = unjudged(LikelihoodCritic(ScriptedModel(fail)), solved("One.", "Two."))
    assert (found.kind, found.calls) == ("failed", 1)


@pytest.mark.local
def test_against_a_checkpoints_logits(tmp_path: Path) -> None:
    """Scores and correction of a real checkpoint with a picture, against one plain forward pass."""
    torch: Any = pytest.importorskip("torch")
    from io import BytesIO

    from PIL import Image

    from assay.models.local import LocalModel
    from assay.models.local_checkpoint import load_checkpoint
    from support.pictures import file_of, noise
    from support.tiny import build_llava

    torch.set_num_threads(1)
    folder = build_llava(tmp_path / "llava")
    data = file_of(noise("RGB", (48, 32), seed=1), "PNG")
    part = ImagePart(key="p", media_type="image/png", width=48, height=32, data=data)
    messages = (Message(role="user", parts=(part, TextPart(text="How much?"))),)
    steps = ("The price is 12.5.\n\n", "It is up.\n\n", "Answer: B")

    async def run() -> Critique | Unjudged:
        critic = LikelihoodCritic(LocalModel.open(folder), normalise="token", threshold=0.5)
        try:
            return await critic.critique(SAMPLE, messages, solved(*steps))
        finally:
            await critic.close()

    critique = asyncio.run(run())
    assert isinstance(critique, Critique)
    checkpoint = load_checkpoint(folder)
    assert checkpoint.processor is not None
    prompt = "<|start|>user\n<image>\nHow much?<|end|>\n<|start|>assistant\n"
    picture = Image.open(BytesIO(data)).convert("RGB")
    inputs = checkpoint.processor(text=[prompt + "".join(steps)], images=[[picture]], return_tensors="pt")
    with torch.no_grad():
        logprobs = checkpoint.model(**inputs).logits[0].log_softmax(-1)
    ids = inputs["input_ids"][0].tolist()
    counts = [len(checkpoint.tokenizer.encode(step, add_special_tokens=False)) for step in steps]
    place = len(ids) - sum(counts)
    for step, count in zip(critique.steps, counts, strict=True):
        own = [logprobs[at - 1, ids[at]].item() for at in range(place, place + count)]
        assert step.score == pytest.approx(math.exp(sum(own) / count), abs=1e-3)
        place += count
    assert critique.first_error == 0  # random weights find nothing likely
