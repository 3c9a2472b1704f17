"""The generative critic (GM-PRM): it writes what it thinks of every step, and how the first wrong one should read.

The prompt is ours, and so is everything that the paper leaves open; each is an argument of `GenerativeCritic`.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from assay.errors import UsageError
from assay.models.base import Model, derive_seed
from assay.solve.asking import EMPTY, TOP_LOGPROBS, ask, numbered, prompt_hash, prompt_message, total
from assay.solve.critique_format import parse as parse_lines
from assay.solve.critique_reading import ScoreOn, average, read_critique
from assay.solve.option_critique import options_message, read_options
from assay.solve.records import Critique, OptionCritique, Solution, Unjudged
from assay.solve.structured import SchemaField, extra_body
from assay.solve.structured import parse as parse_object
from assay.types import Message, Option, Reply, Request, Sample, Sampling

SAMPLING = Sampling(temperature=0.0, max_tokens=4096)
"""Of a critique (ours). At temperature 0, since some servers report log-probabilities after the temperature."""

SAMPLE_TEMPERATURE = 0.7
"""Of the second and further critiques where several are averaged (ours)."""


class GenerativeCritic:
    """One pass over a whole solution, steps in order.

    Args:
        model: who writes.
        sampling: of the (first) critique.
        samples: critiques that are averaged where log-probabilities don't tell the scores; the first is drawn as
            `sampling` says, and is the only one where they do.
        sample_temperature: of the further ones.
        logprobs: whether to ask for log-probabilities; some servers refuse.
        top_logprobs: alternatives per token.
        score_on: which of a step's judgements make its score.
        normalise: P(Correct) / (P(Correct) + P(Incorrect)); False for P(Correct) as it is.
        structured: ask for a JSON object, and hold the server to its schema.
        schema_field: how the server is told.
        seed: of the run.

    Raises:
        UsageError: fewer than one critique.
    """

    def __init__(
        self,
        model: Model,
        *,
        sampling: Sampling = SAMPLING,
        samples: int = 1,
        sample_temperature: float = SAMPLE_TEMPERATURE,
        logprobs: bool = True,
        top_logprobs: int = TOP_LOGPROBS,
        score_on: ScoreOn = "step",
        normalise: bool = True,
        structured: bool = False,
        schema_field: SchemaField = "response_format",
        seed: int = 0,
    ) -> None:
        if samples < 1:
            raise UsageError(f"A critic can't be asked for {samples} critiques; ask for one or more.")
        self._model = model
        self._sampling = sampling
        self._samples = samples
        self._sample_temperature = sample_temperature
        self._top_logprobs = top_logprobs if logprobs else None
        self._score_on: ScoreOn = score_on
        self._normalise = normalise
        self._schema_field: SchemaField | None = schema_field if structured else None
        self._prompt = "critic_structured" if structured else "critic"
        self._seed = seed

    @property
    def identity(self) -> str:
        settings = [f"prompt={prompt_hash(self._prompt)[:12]}", f"temperature={self._sampling.temperature}"]
        settings.append(f"max_tokens={self._sampling.max_tokens}")
        settings += [f"score_on={self._score_on}"] * (self._score_on != "step")
        settings += ["raw"] * (not self._normalise)
        settings += [f"samples={self._samples}@{self._sample_temperature}"] * (self._samples > 1)
        settings += ["no logprobs"] * (self._top_logprobs is None)
        return f"generative:{self._model.identity} {' '.join(settings)}"

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        """See `Critic.critique`."""
        count = len(solution.steps)
        if not count:
            return EMPTY
        request = self._request(sample, messages, solution)
        replies = await ask(self._model, request)
        if isinstance(replies, Unjudged):
            return replies
        first = self.read(replies[0], count)
        if self._samples == 1 or _scored(first):
            return first
        more = await ask(self._model, self._resampled(request))
        if isinstance(more, Unjudged):
            return replace(more, usage=total(replies), calls=2)
        replies += more
        read = [first, *(self.read(reply, count) for reply in more)]
        return replace(average(read, score_on=self._score_on), usage=total(replies), calls=2)

    async def judge_options(
        self, sample: Sample, messages: Sequence[Message], selected: Sequence[Option]
    ) -> OptionCritique | Unjudged:
        """See `OptionCritic.judge_options`; one call, in lines, whatever `samples` and `structured` say."""
        request = Request(
            messages=(options_message(messages, selected),),
            sampling=self._sampling,
            seed=derive_seed(self._seed, sample.id, 0),
            top_logprobs=self._top_logprobs,
            sample_id=sample.id,
        )
        replies = await ask(self._model, request)
        if isinstance(replies, Unjudged):
            return replies
        return read_options(replies[0], [option.label for option in selected], normalise=self._normalise)

    async def close(self) -> None:
        await self._model.close()

    def read(self, reply: Reply, count: int) -> Critique | Unjudged:
        """The critique of a solution of `count` steps in a reply; pure."""
        parse = parse_object if self._schema_field else parse_lines
        return read_critique(reply, count, parse=parse, score_on=self._score_on, normalise=self._normalise)

    def _request(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Request:
        count = len(solution.steps)
        sampling = self._sampling
        if self._schema_field:
            body = extra_body(count, self._schema_field)
            sampling = replace(sampling, extra={**sampling.extra, **body})
        message = critique_message(messages, solution.steps, prompt=self._prompt)
        return Request(
            messages=(message,),
            sampling=sampling,
            seed=derive_seed(self._seed, sample.id, 0),
            top_logprobs=self._top_logprobs,
            sample_id=sample.id,
        )

    def _resampled(self, request: Request) -> Request:
        """The request for the further critiques."""
        return replace(
            request,
            sampling=replace(request.sampling, temperature=self._sample_temperature),
            seed=derive_seed(self._seed, request.sample_id, 1),
            n=self._samples - 1,
            index=1,
        )


def critique_message(messages: Sequence[Message], steps: Sequence[str], *, prompt: str = "critic") -> Message:
    """What a critic is asked about a solution: what it is trained on is what it is asked at test time."""
    return prompt_message(prompt, messages, steps="\n\n".join(numbered(steps)), count=str(len(steps)))


def _scored(critique: Critique | Unjudged) -> bool:
    """Whether log-probabilities told the scores of all steps."""
    return isinstance(critique, Critique) and all(step.source in ("logprobs", "bounded") for step in critique.steps)
