"""The step-token critic (as VisualPRM): one turn a step, and the probability of the token `+` in answer to it.

The first turn holds question, pictures and step 1, each further one the next step; earlier answers stand between them.
There is one call a step, of a single token; calls of one solution share their beginning, which a server's prefix cache
knows. The wording is ours; a published critic was trained on another, which `prompt` gives.
"""

import asyncio
from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from assay.models.base import Model
from assay.solve.asking import (
    EMPTY,
    TOP_LOGPROBS,
    ask,
    checked_prompt,
    inside,
    numbered,
    prompt_hash,
    prompt_message,
    total,
)
from assay.solve.judgement import PLUS, Labels
from assay.solve.records import Critique, Solution, StepVerdict, Unjudged
from assay.solve.two_labels import LEAST_MASS, THRESHOLD, TwoLabels
from assay.types import Message, Reply, Request, Sample, TextPart

Earlier = Literal[
    "right",  # every earlier step was answered with +, as in VisualPRM's training
    "own",  # what the critic said of it
]


class StepTokenCritic:
    """A critic that answers each step with one of two tokens.

    Args:
        model: who answers.
        labels: for a right step, and for a wrong one.
        prompt: of the first turn, with `{question}` and `{step}`, in place of ours; steps are then shown as they were
            written, without our numbers.
        earlier: what stands for the answers to earlier steps. `right` lets all steps be asked at once.
        threshold: the least score of a step that counts as correct.
        normalise: P(right) / (P(right) + P(wrong)); False for P(right) as it is.
        least_mass: the least probability of both labels together: below it the model did not answer the question, and
            there is no critique (ours).
        max_tokens: 1, or more for a model whose answers begin with a blank of its own.
        top_logprobs: alternatives asked for.

    Raises:
        UsageError: a threshold that is no probability; a prompt without its two places.
    """

    def __init__(
        self,
        model: Model,
        *,
        labels: Labels = PLUS,
        prompt: str | None = None,
        earlier: Earlier = "right",
        threshold: float = THRESHOLD,
        normalise: bool = True,
        least_mass: float = LEAST_MASS,
        max_tokens: int = 1,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        self._model = model
        self._prompt = None if prompt is None else checked_prompt(prompt, "question", "step")
        self._earlier: Earlier = earlier
        self._reading = TwoLabels(
            labels=labels,
            threshold=threshold,
            normalise=normalise,
            least_mass=least_mass,
            max_tokens=max_tokens,
            top_logprobs=top_logprobs,
        )

    @property
    def identity(self) -> str:
        settings = self._reading.settings(f"earlier={self._earlier}")
        return f"step-token:{self._model.identity} prompt={prompt_hash('step_token', own=self._prompt)[:12]} {settings}"

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        """See `Critic.critique`."""
        if not solution.steps:
            return EMPTY
        turns = _turns(messages, solution.steps, self._prompt)
        if self._earlier == "own":
            return await self._one_by_one(sample, turns)
        right = self._reading.labels[0]
        requests = [self._request(sample, turns, [right] * place) for place in range(len(turns))]
        ended = await asyncio.gather(*(ask(self._model, request) for request in requests), return_exceptions=True)
        answers: list[tuple[Reply, ...] | Unjudged] = []
        for answer in ended:  # all of them are over when the run's end is passed on
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
        return self._joined(answers)

    async def close(self) -> None:
        await self._model.close()

    async def _one_by_one(self, sample: Sample, turns: Sequence[Message]) -> Critique | Unjudged:
        answers: list[tuple[Reply, ...] | Unjudged] = []
        given: list[str] = []
        for _ in turns:
            answer = await ask(self._model, self._request(sample, turns, given))
            answers.append(answer)
            verdict = answer if isinstance(answer, Unjudged) else self._reading.verdict(answer[0])
            if isinstance(verdict, Unjudged):
                break
            given.append(self._reading.labels[0 if verdict.correct else 1])
        return self._joined(answers)

    def _request(self, sample: Sample, turns: Sequence[Message], given: Sequence[str]) -> Request:
        """The question about the step after those that an answer is given to."""
        conversation: list[Message] = []
        for turn, answer in zip(turns, given, strict=False):
            conversation += [turn, Message(role="assistant", parts=(TextPart(text=answer),))]
        return Request(
            messages=(*conversation, turns[len(given)]),
            sampling=self._reading.sampling,
            top_logprobs=self._reading.top_logprobs,
            sample_id=sample.id,
        )

    def _joined(self, answers: Sequence[tuple[Reply, ...] | Unjudged]) -> Critique | Unjudged:
        """One critique of the answers; one step without a verdict leaves the solution unjudged."""
        used = total(answer[0] for answer in answers if not isinstance(answer, Unjudged))
        steps: list[StepVerdict] = []
        for number, answer in enumerate(answers, start=1):
            verdict = answer if isinstance(answer, Unjudged) else self._reading.verdict(answer[0])
            if isinstance(verdict, Unjudged):
                reason = f"step {number}: {verdict.reason}"
                return replace(verdict, reason=reason, usage=used, calls=len(answers))
            steps.append(verdict)
        return Critique(steps=tuple(steps), usage=used, calls=len(answers))


def _turns(messages: Sequence[Message], steps: Sequence[str], own: str | None) -> list[Message]:
    """One user turn for each step."""
    shown = numbered(steps) if own is None else [step.strip() for step in steps]
    first = prompt_message("step_token", messages, own=own, step=shown[0])
    return [first, *(Message(role="user", parts=(TextPart(text=inside(step)),)) for step in shown[1:])]
