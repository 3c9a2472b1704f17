"""The likelihood critic: how probable each step is to a model, given question, pictures and the steps before it.

A control that needs no training: every trained critic must be compared with it. One pass reads the log-probabilities of
the whole solution, as if the model had written it; a step's score is made of those of its tokens. The correction of
the first step below the threshold is the step that the model itself would go on with there (greedy). Nothing is said
of images and logic.

The model should be stronger than the policy, and other than it: a policy's own errors are likely to itself.
"""

import math
from collections.abc import Sequence
from typing import Literal

from assay.errors import UsageError
from assay.models.base import Model
from assay.solve.asking import EMPTY, ask, total
from assay.solve.records import Critique, Solution, StepVerdict, Unjudged
from assay.solve.steps import split_steps
from assay.types import Message, Reply, Request, Sample, Sampling, Token

Normalise = Literal[
    "token",  # the geometric mean of a step's tokens: long steps aren't less likely for their length (ours)
    "step",  # the product of a step's tokens: the probability of its text
]

THRESHOLD = 0.5
"""The least score of a step that counts as correct (ours)."""

SAMPLING = Sampling(temperature=0.0, max_tokens=512)
"""Of the model's own step (ours); what comes after the step is cut off."""

_ALL_STEPS = 1_000_000  # a correction is one step, however many follow: none are to be merged


class LikelihoodCritic:
    """A critic that reads probabilities and writes no judgement.

    Args:
        model: whose probabilities; a checkpoint in this process or a vLLM server.
        normalise: how those of a step's tokens become its score.
        threshold: the least score of a step that counts as correct; sensible values differ with `normalise`.
        correct: whether to ask for the model's own step in place of the first wrong one.
        sampling: of that step.

    Raises:
        UsageError: a threshold that is no probability.
    """

    def __init__(
        self,
        model: Model,
        *,
        normalise: Normalise = "token",
        threshold: float = THRESHOLD,
        correct: bool = True,
        sampling: Sampling = SAMPLING,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise UsageError(f"A threshold of {threshold} is no probability; give one from 0 to 1.")
        self._model = model
        self._normalise: Normalise = normalise
        self._threshold = threshold
        self._correct = correct
        self._sampling = sampling

    @property
    def identity(self) -> str:
        settings = [f"normalise={self._normalise}", f"threshold={self._threshold}"]
        settings += [f"temperature={self._sampling.temperature}", f"max_tokens={self._sampling.max_tokens}"]
        settings += ["no corrections"] * (not self._correct)
        return f"likelihood:{self._model.identity} {' '.join(settings)}"

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        """See `Critic.critique`."""
        if not solution.steps:
            return EMPTY
        request = Request(
            messages=tuple(messages), given=solution.text, sampling=Sampling(), top_logprobs=0, sample_id=sample.id
        )
        answer = await ask(self._model, request)
        if isinstance(answer, Unjudged):
            return answer
        steps = self._verdicts(answer[0], solution)
        if isinstance(steps, Unjudged):
            return steps
        critique = Critique(steps=steps, usage=answer[0].usage)
        first = critique.first_error
        if first is None or not self._correct:
            return critique
        more = await ask(self._model, self._own_step(request, solution.steps[:first]))
        used = total((*answer, *(() if isinstance(more, Unjudged) else more)))
        if isinstance(more, Unjudged):
            return Unjudged(kind=more.kind, reason=f"correction: {more.reason}", usage=used, calls=2)
        return Critique(steps=steps, correction=_first_step(more[0]), usage=used, calls=2)

    async def close(self) -> None:
        await self._model.close()

    def _verdicts(self, reply: Reply, solution: Solution) -> tuple[StepVerdict, ...] | Unjudged:
        if reply.finish == "filter":
            return Unjudged(kind="refused", reason="the critic refused", usage=reply.usage)
        if reply.text != solution.text or not reply.tokens:
            reason = "the model gave no log-probabilities of the solution; take a checkpoint (local:PATH) or vLLM"
            return Unjudged(kind="failed", reason=reason, usage=reply.usage)
        scores = step_scores(reply.tokens, solution.steps, normalise=self._normalise)
        return tuple(
            StepVerdict(correct=score >= self._threshold, score=score, source="likelihood") for score in scores
        )

    def _own_step(self, request: Request, kept: Sequence[str]) -> Request:
        """The request for the step that the model goes on with after these."""
        return Request(
            messages=request.messages, sampling=self._sampling, prefill="".join(kept), sample_id=request.sample_id
        )


def step_scores(tokens: Sequence[Token], steps: Sequence[str], *, normalise: Normalise = "token") -> tuple[float, ...]:
    """The probability of each step.

    A token belongs to the step in which its last character stands; it stands for a step before that as well, if all of
    that lies within the token.
    """
    logprobs: list[list[float]] = [[] for _ in steps]
    ends: list[int] = []
    for step in steps:
        ends.append((ends[-1] if ends else 0) + len(step))
    place, step = 0, 0
    for token in tokens:
        place += len(token.text)
        while step < len(steps) - 1 and place > ends[step]:
            logprobs[step] = logprobs[step] or [token.logprob]
            step += 1
        logprobs[step].append(token.logprob)
    return tuple(_score(found or [tokens[-1].logprob], normalise) for found in logprobs)


def _score(logprobs: Sequence[float], normalise: Normalise) -> float:
    together = math.fsum(logprobs)
    return math.exp(min(0.0, together / len(logprobs) if normalise == "token" else together))


def _first_step(reply: Reply) -> str | None:
    """The first step of what the model goes on with; None where it ends there, or was cut within it."""
    steps = split_steps(reply.text, max_steps=_ALL_STEPS)
    if not steps or (len(steps) == 1 and reply.finish == "length"):
        return None
    return steps[0].strip()
