"""The outcome critic: one score for a whole solution, the probability of "Yes" to whether its answer is right.

Its critique has a single verdict, so that every rule of aggregation gives that score. A solution that it finds wrong
has its "first error" at the first step and no correction: nothing of it is kept, and a search draws again.
"""

from collections.abc import Sequence

from assay.errors import UsageError
from assay.models.base import Model
from assay.solve.asking import EMPTY, TOP_LOGPROBS, ask, prompt_hash, prompt_message
from assay.solve.judgement import YES, Labels, label_score
from assay.solve.records import Critique, Solution, StepVerdict, Unjudged
from assay.solve.step_token import THRESHOLD
from assay.types import Message, Request, Sample, Sampling


class OutcomeCritic:
    """A critic that says of a whole solution whether its answer is right.

    Args:
        model: who answers.
        labels: for a right solution, and for a wrong one.
        threshold: the least score of a solution that counts as correct (ours).
        normalise: P(right) / (P(right) + P(wrong)); False for P(right) as it is.
        least_mass: the least probability of both labels together: below it there is no critique (ours).
        max_tokens: 1 would do for most models; a few more let one begin with emphasis or think shortly (ours).
        top_logprobs: alternatives asked for.

    Raises:
        UsageError: a threshold that is no probability.
    """

    def __init__(
        self,
        model: Model,
        *,
        labels: Labels = YES,
        threshold: float = THRESHOLD,
        normalise: bool = True,
        least_mass: float = 0.05,
        max_tokens: int = 8,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        if not 0 <= threshold <= 1:
            raise UsageError(f"A threshold of {threshold} is no probability; give one from 0 to 1.")
        self._model = model
        self._labels = labels
        self._threshold = threshold
        self._normalise = normalise
        self._least_mass = least_mass
        self._sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
        self._top_logprobs = top_logprobs

    @property
    def identity(self) -> str:
        settings = [
            f"prompt={prompt_hash('outcome')[:12]}",
            f"labels={'/'.join(self._labels)}",
            f"threshold={self._threshold}",
            f"least_mass={self._least_mass}",
        ]
        settings += ["raw"] * (not self._normalise)
        return f"outcome:{self._model.identity} {' '.join(settings)}"

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        """See `Critic.critique`."""
        if not solution.steps:
            return EMPTY
        request = Request(
            messages=(prompt_message("outcome", messages, solution=solution.text),),
            sampling=self._sampling,
            top_logprobs=self._top_logprobs,
            sample_id=sample.id,
        )
        answer = await ask(self._model, request)
        if isinstance(answer, Unjudged):
            return answer
        found = label_score(answer[0], self._labels, normalise=self._normalise, least_mass=self._least_mass)
        if isinstance(found, Unjudged):
            return found
        score, source = found
        verdict = StepVerdict(correct=score >= self._threshold, score=score, source=source)
        return Critique(steps=(verdict,), usage=answer[0].usage)

    async def close(self) -> None:
        await self._model.close()
