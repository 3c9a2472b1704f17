"""The outcome critic: one score for a whole solution, the probability of "Yes" to whether its answer is right.

Its critique has a single verdict, so that every rule of aggregation gives that score. A solution that it finds wrong
has its "first error" at the first step and no correction: nothing of it is kept, and a search draws again.
"""

from collections.abc import Sequence

from assay.models.base import Model
from assay.solve.asking import EMPTY, TOP_LOGPROBS, ask, checked_prompt, prompt_hash, prompt_message
from assay.solve.judgement import YES, Labels
from assay.solve.records import Critique, Solution, Unjudged
from assay.solve.two_labels import LEAST_MASS, THRESHOLD, TwoLabels
from assay.types import Message, Request, Sample


class OutcomeCritic:
    """A critic that says of a whole solution whether its answer is right.

    Args:
        model: who answers.
        labels: for a right solution, and for a wrong one.
        prompt: with `{question}` and `{solution}`, in place of ours.
        threshold: the least score of a solution that counts as correct (ours).
        normalise: P(right) / (P(right) + P(wrong)); False for P(right) as it is.
        least_mass: the least probability of both labels together: below it there is no critique (ours).
        max_tokens: 1 would do for most models; a few more let one begin with emphasis or think shortly (ours).
        top_logprobs: alternatives asked for.

    Raises:
        UsageError: a threshold that is no probability; a prompt without its two places.
    """

    def __init__(
        self,
        model: Model,
        *,
        labels: Labels = YES,
        prompt: str | None = None,
        threshold: float = THRESHOLD,
        normalise: bool = True,
        least_mass: float = LEAST_MASS,
        max_tokens: int = 8,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        self._model = model
        self._prompt = None if prompt is None else checked_prompt(prompt, "question", "solution")
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
        prompt = prompt_hash("outcome", own=self._prompt)[:12]
        return f"outcome:{self._model.identity} prompt={prompt} {self._reading.settings()}"

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        """See `Critic.critique`."""
        if not solution.steps:
            return EMPTY
        request = Request(
            messages=(prompt_message("outcome", messages, own=self._prompt, solution=solution.text),),
            sampling=self._reading.sampling,
            top_logprobs=self._reading.top_logprobs,
            sample_id=sample.id,
        )
        answer = await ask(self._model, request)
        if isinstance(answer, Unjudged):
            return answer
        verdict = self._reading.verdict(answer[0])
        return verdict if isinstance(verdict, Unjudged) else Critique(steps=(verdict,), usage=answer[0].usage)

    async def close(self) -> None:
        await self._model.close()
