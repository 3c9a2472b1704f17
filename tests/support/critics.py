"""A solved question for critics, and models that answer with tokens whose probabilities are known."""

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence

from assay.models.scripted import ScriptedModel
from assay.solve.critic import Critic
from assay.solve.records import Critique, Sampled, Solution, Unjudged
from assay.types import ImagePart, Message, Option, Reply, Request, Sample, TextPart, Token, Usage
from support.asking import PICTURE

SAMPLE = Sample(id="7", question="How much higher is red?", options=(Option(label="A", text="3"),), group="7")
MESSAGES = (
    Message(role="system", parts=(TextPart(text="You are careful."),)),
    Message(role="user", parts=(PICTURE, TextPart(text="How much higher is red?\n(A) 3\nEnd with Answer: X."))),
)
STEPS = ("Step 1: Red is 7.\n\n", "Step 2: Blue is 5, so 7 - 5 = 2.\n\n", "Answer: A")


def solved(*steps: str) -> Solution:
    return Solution(steps=steps or STEPS, answer="A", origin=Sampled(index=0))


def judge(critic: Critic, solution: Solution | None = None) -> Critique | Unjudged:
    """One critique of the solved question."""

    async def run() -> Critique | Unjudged:
        try:
            return await critic.critique(SAMPLE, MESSAGES, solution or solved())
        finally:
            await critic.close()

    return asyncio.run(run())


def criticised(critic: Critic, solution: Solution | None = None) -> Critique:
    found = judge(critic, solution)
    assert isinstance(found, Critique), found
    return found


def unjudged(critic: Critic, solution: Solution | None = None) -> Unjudged:
    found = judge(critic, solution)
    assert isinstance(found, Unjudged), found
    return found


class Asked:
    """A scripted model that keeps what it was asked."""

    def __init__(self, answer: Callable[[Request, int], str | Reply], identity: str = "scripted:critic") -> None:
        self.requests: list[Request] = []
        self._answer = answer
        self.model = ScriptedModel(self._reply, identity=identity)

    def _reply(self, request: Request, index: int) -> str | Reply:
        self.requests.append(request)
        return self._answer(request, index)

    @property
    def prompt(self) -> str:
        return shown(self.requests[-1])


def shown(request: Request) -> str:
    """A request as text: roles, `[picture]`, and what is said."""
    return "\n".join(
        f"--- {message.role}\n"
        + "\n".join("[picture]" if isinstance(part, ImagePart) else part.text for part in message.parts)
        for message in request.messages
    )


_WORDS = re.compile(r"\s*\S+|\s+$")


def with_tokens(text: str, likely: Sequence[Mapping[str, float]], *, word: str = r"(?:Inc|C)orrect") -> Reply:
    """A reply of one token a word; the k-th word that is a label gets the k-th list of probabilities."""
    lists = iter(likely)
    tokens: list[Token] = []
    for piece in _WORDS.findall(text):
        if re.fullmatch(word, piece.strip()) and (listed := next(lists, None)) is not None:
            top = tuple((other, math.log(probability)) for other, probability in listed.items())
            tokens.append(Token(text=piece, logprob=math.log(listed[piece]), top=top))
        else:
            tokens.append(Token(text=piece, logprob=0.0))
    usage = Usage(prompt_tokens=100, completion_tokens=len(tokens))
    return Reply(text=text, tokens=tuple(tokens), usage=usage)
