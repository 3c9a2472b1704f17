"""Questions, solutions and critics for tests of the searches."""

import inspect
from collections.abc import Awaitable, Callable, Sequence

from assay.errors import CallError
from assay.solve.records import Critique, Sampled, Solution, StepVerdict, Unjudged
from assay.types import ImagePart, Message, Sample, TextPart

QUESTION = "What is 2 + 3 * 4?"
SAMPLE = Sample(id="q1", question=QUESTION, group="g1")
PICTURE = ImagePart(key="p" * 64, media_type="image/png", width=1, height=1, data=b"a picture")
MESSAGES = (Message(role="user", parts=(PICTURE, TextPart(text=QUESTION))),)

Judging = Callable[[Solution], "Critique | Unjudged | CallError | Awaitable[Critique | Unjudged | CallError]"]


def judged_as(*scores: float, correction: str | None = None) -> Critique:
    """A critique with these step scores; a step is correct from one half on."""
    verdicts = tuple(StepVerdict(correct=score >= 0.5, score=score, source="logprobs") for score in scores)
    return Critique(steps=verdicts, correction=correction)


def drawn(*steps: str, answer: str | None = None, index: int = 0) -> Solution:
    return Solution(steps=steps, answer=answer, origin=Sampled(index=index))


class ScriptedCritic:
    """A critic that says what a function says; it keeps what it was asked."""

    identity = "scripted:critic"

    def __init__(self, function: Judging) -> None:
        self._function = function
        self.asked: list[Solution] = []

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        self.asked.append(solution)
        found = self._function(solution)
        if inspect.isawaitable(found):
            found = await found
        if isinstance(found, CallError):
            raise found
        return found

    async def close(self) -> None:
        """Nothing to free."""
