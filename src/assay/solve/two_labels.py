"""What critics share that answer with one of two labels: how the answer is asked for and read."""

from dataclasses import dataclass, field

from assay.errors import UsageError
from assay.solve.asking import TOP_LOGPROBS
from assay.solve.judgement import Labels, label_score
from assay.solve.records import StepVerdict, Unjudged
from assay.types import Reply, Sampling

THRESHOLD = 0.5
"""The least score that counts as correct (ours; published critics differ, so fix it on other data)."""

LEAST_MASS = 0.05
"""The least probability of both labels together; below it the model did not answer the question (ours)."""


@dataclass(frozen=True, kw_only=True)
class TwoLabels:
    """A verdict from the probability of the first of two labels.

    Attributes:
        labels: for right, and for wrong.
        threshold: the least score that counts as correct.
        normalise: P(right) / (P(right) + P(wrong)); False for P(right) as it is.
        least_mass: the least probability of both labels together: below it there is no verdict.
        max_tokens: of an answer.
        top_logprobs: alternatives asked for.

    Raises:
        UsageError: a threshold that is no probability.
    """

    labels: Labels
    threshold: float = THRESHOLD
    normalise: bool = True
    least_mass: float = LEAST_MASS
    max_tokens: int = 1
    top_logprobs: int = TOP_LOGPROBS
    sampling: Sampling = field(init=False)

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"A threshold of {self.threshold} is no probability; give one from 0 to 1.")
        object.__setattr__(self, "sampling", Sampling(temperature=0.0, max_tokens=self.max_tokens))

    def settings(self, *more: str) -> str:
        """The part of a critic's identity that says how it reads answers; `more` stands before the numbers."""
        settings = [f"labels={'/'.join(self.labels)}", *more]
        settings += [f"threshold={self.threshold}", f"least_mass={self.least_mass}"]
        return " ".join(settings + ["raw"] * (not self.normalise))

    def verdict(self, reply: Reply) -> StepVerdict | Unjudged:
        """What the answer says; Unjudged where it is neither label."""
        found = label_score(reply, self.labels, normalise=self.normalise, least_mass=self.least_mass)
        if isinstance(found, Unjudged):
            return found
        score, source = found
        return StepVerdict(correct=score >= self.threshold, score=score, source=source)
