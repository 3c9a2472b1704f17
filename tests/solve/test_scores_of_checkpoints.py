"""Step scores of a real checkpoint against the definition, written out over its whole vocabulary.

Its labels have several tokens each, since its tokenizer has seen neither word.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.solve.critic import CriticKind, make_critic
from assay.solve.critique_format import parse
from assay.solve.critique_reading import read_critique
from assay.solve.judgement import label_probabilities
from assay.solve.records import Critique, Unjudged
from assay.types import ImagePart, Message, Reply, Sampling, TextPart, Token
from support.asking import question
from support.critics import SAMPLE, solved
from support.pictures import file_of, noise

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install 'assay[local]'")

pytestmark = pytest.mark.local

CRITIQUE = (
    "Step 1\nIntent: 价格 é\nImage: up | Correct\nLogic: so | incorrect\nJudgement: Correct\n"
    "Step 2\nIntent: add\nImage: no | Incorrect\nLogic: yes | Correct\nJudgement: **Incorrect**\nEnd of critique"
)
LABELS = ("correct", "incorrect")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny import build_text

    torch.set_num_threads(1)
    return build_text(tmp_path_factory.mktemp("tiny") / "text")


def scored(folder: Path, top: int) -> tuple[Token, ...]:
    """The critique's tokens, as if the checkpoint had written it."""
    from assay.models.local import LocalModel

    async def run() -> tuple[Token, ...]:
        model = LocalModel.open(folder)
        try:
            return await model.score(question("Is it right?", top_logprobs=top), CRITIQUE)
        finally:
            await model.close()

    return asyncio.run(run())


class ByHand:
    """Probabilities of every token of the vocabulary at every place of the critique, from one plain forward pass."""

    def __init__(self, folder: Path) -> None:
        from assay.models.local_checkpoint import load_checkpoint

        checkpoint = load_checkpoint(folder)
        tokenizer = checkpoint.tokenizer
        prompt = "<|start|>user\nIs it right?<|end|>\n<|start|>assistant\n"
        before = tokenizer.encode(prompt, add_special_tokens=False)
        self.ids = tokenizer.encode(CRITIQUE, add_special_tokens=False)
        with torch.no_grad():
            logits = checkpoint.model(torch.tensor([before + self.ids])).logits[0].double()
        self.rows: list[list[float]] = logits.softmax(-1)[len(before) - 1 : -1].tolist()
        self.words = [tokenizer.decode([token]) for token in range(len(tokenizer))]
        # Where each token ends, in characters: those within a character end where it does not yet.
        self.ends = [len(tokenizer.decode(self.ids[: place + 1]).rstrip("\ufffd")) for place in range(len(self.ids))]

    def first(self, place: int) -> int:
        """The token that holds the character."""
        return next(number for number, end in enumerate(self.ends) if end > place)

    def mass(self, label: str, number: int, said: str = "") -> float:
        """P(label) from token `number` on, after `said`: every token that can only become it counts; the one that was
        written counts as far as the rest of the label does."""
        found = 0.0
        for token, probability in enumerate(self.rows[number]):
            word = (said + self.words[token]).lstrip(" \n*").lower()
            written = token == self.ids[number]
            if word.startswith(label) and not word[len(label) : len(label) + 1].isalnum():
                found += probability
            elif written and (not word or label.startswith(word)):
                found += probability * self.mass(label, number + 1, said + self.words[token])
            elif word and label.startswith(word):
                found += probability
        return found


def places() -> list[int]:
    """The character behind each colon or bar that a judgement follows, read off the text above."""
    marks = ["up |", "so |", "Judgement:", "no |", "yes |", "Judgement: **I"]
    return [CRITIQUE.index(mark) + len(mark.removesuffix(" **I")) for mark in marks]


def read(tokens: Sequence[Token]) -> Critique:
    critique = read_critique(Reply(text=CRITIQUE, tokens=tuple(tokens)), 2, parse=parse)
    assert isinstance(critique, Critique)
    return critique


def flat(critique: Critique) -> list[float]:
    return [
        score
        for step in critique.steps
        for score in (step.alignment_score, step.logic_score, step.score)
        if score is not None
    ]


def test_scores_are_those_of_the_logits(folder: Path) -> None:
    hand = ByHand(folder)
    critique = read(scored(folder, top=len(hand.words)))
    assert {step.source for step in critique.steps} == {"logprobs"}
    expected: list[float] = []
    for place in places():
        right, wrong = (hand.mass(label, hand.first(place)) for label in LABELS)
        expected.append(right / (right + wrong))
    assert flat(critique) == pytest.approx(expected, abs=1e-3)
    labels_of_one_token = [word for word in hand.words if word.strip().lower() in LABELS]
    assert not labels_of_one_token


@pytest.mark.parametrize("top", [1, 2, 20])
def test_a_short_list_tells_no_more_than_there_is(folder: Path, top: int) -> None:
    """What is listed of a label is part of its probability; a bound is for what is not listed."""
    hand = ByHand(folder)
    tokens = scored(folder, top)
    for place in places():
        exact = [hand.mass(label, hand.first(place)) for label in LABELS]
        found = label_probabilities(tokens, place)
        assert found is not None
        if not found.bounded:
            assert found.right <= exact[0] + 1e-6
            assert found.wrong <= exact[1] + 1e-6
        else:
            assert found.right <= exact[0] + 1e-6 or found.wrong <= exact[1] + 1e-6
            assert found.right + found.wrong <= 1 + 1e-6


@pytest.mark.parametrize("kind", ["generative", "step-token", "outcome", "likelihood"])
def test_every_critic_asks_a_checkpoint_with_pictures(tmp_path: Path, kind: CriticKind) -> None:
    """Random weights write no critique, and nothing stands in for one; the others have scores all the same."""
    from assay.models.local import LocalModel
    from support.tiny import build_llava

    critic = make_critic(kind, LocalModel.open(build_llava(tmp_path / "llava", context=4096)), **OPTIONS[kind])
    messages = (Message(role="user", parts=(png(), TextPart(text="How much?"))),)

    async def run() -> Critique | Unjudged:
        try:
            return await critic.critique(SAMPLE, messages, solved())
        finally:
            await critic.close()

    found = asyncio.run(run())
    if kind == "generative":
        assert isinstance(found, Unjudged)
        assert found.kind in ("unparsable", "truncated")
    else:
        assert isinstance(found, Critique)
        assert all(0 <= step.score <= 1 for step in found.steps)
        assert len(found.steps) == (1 if kind == "outcome" else 3)
    assert found.usage is not None
    assert found.usage.prompt_tokens > 16  # the picture's own


OPTIONS: dict[CriticKind, dict[str, Any]] = {
    "generative": {"sampling": Sampling(max_tokens=20)},
    "step-token": {"least_mass": 0.0, "top_logprobs": 1000},
    "outcome": {"least_mass": 0.0, "top_logprobs": 1000},
    "likelihood": {"sampling": Sampling(max_tokens=20)},
}


def png() -> ImagePart:
    data = file_of(noise("RGB", (48, 32), seed=1), "PNG")
    return ImagePart(key="p", media_type="image/png", width=48, height=32, data=data)
