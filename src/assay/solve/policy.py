"""The policy: a model that writes solutions, and goes on from steps that it is given."""

from collections.abc import Sequence
from typing import Literal, Protocol, cast

from msgspec.structs import replace

from assay.benchmarks.prompting import fill
from assay.errors import CallError
from assay.models.base import Model, derive_seed, request_key
from assay.models.probe import PrefillPlan
from assay.solve.answers import read_answer
from assay.solve.asking import inside, load_prompt, said
from assay.solve.asking import prompt_hash as hash_of
from assay.solve.continuation import ended, joined, label_of, read_continuation
from assay.solve.records import Origin, Refined, Sampled, Solution
from assay.solve.steps import split_steps
from assay.types import Message, Reply, Request, Sample, Sampling, TextPart

ContinueBy = Literal[
    "auto",  # prefill where the model can, else prompt
    "prefill",  # the given steps are the beginning of the model's own turn
    "prompt",  # the given steps stand in the question, with the request to go on
]

GREEDY_INDEX = 1_000_000
"""Draw index of the greedy solution: it shares no key with a sampled one, even where all have temperature 0."""


class Policy:
    """Draws solutions of one question, and continues them.

    Args:
        model: who answers; a `Caller` where replies are to be kept, retried and bounded.
        sampling: how solutions are drawn.
        continuation: how the given steps are handed over. `auto` asks the model once, which for a server takes a few
            short calls.
        max_steps: most steps of a solution; more are merged evenly.
    """

    def __init__(
        self, model: Model, *, sampling: Sampling, continuation: ContinueBy = "auto", max_steps: int = 12
    ) -> None:
        self.model = model
        self.sampling = sampling
        self.continuation: ContinueBy = continuation
        self.max_steps = max_steps

    async def sample(
        self,
        sample: Sample,
        messages: Sequence[Message],
        *,
        n: int = 1,
        first_index: int = 0,
        seed: int,
        greedy: bool = False,
    ) -> list[Solution]:
        """Draws `first_index .. first_index + n - 1` of the question, asked for in one request.

        Args:
            sample: without its gold answer.
            messages: the question as the policy is asked it, pictures included.
            n: number of solutions; 1 if greedy.
            first_index: index of the first draw. Requests for one sample must not overlap.
            seed: the run's seed.
            greedy: the single solution at temperature 0; its index is fixed.

        Raises:
            CallError, RunStopped: see `Caller.generate`.
        """
        if greedy and n != 1:
            raise ValueError("there is one greedy solution")
        first = GREEDY_INDEX if greedy else first_index
        request = Request(
            messages=tuple(messages),
            sampling=replace(self.sampling, temperature=0.0) if greedy else self.sampling,
            seed=derive_seed(seed, sample.id, first),
            n=n,
            index=first,
            sample_id=sample.id,
        )
        replies = await self.model.generate(request)
        return [
            self._solution(
                sample,
                split_steps(reply.text, max_steps=self.max_steps),
                reply,
                Sampled(index=index, greedy=greedy),
                request_key(self.model.identity, request, index),
            )
            for index, reply in enumerate(replies, start=first)
        ]

    async def resume(
        self,
        sample: Sample,
        messages: Sequence[Message],
        parent: Solution,
        parent_position: int,
        kept_steps: tuple[str, ...],
        *,
        index: int,
        seed: int,
    ) -> Solution:
        """A new solution that goes on from the given steps.

        Args:
            sample, messages, seed: as in `sample`.
            parent: the solution that the steps come from, and its position in the pool.
            kept_steps: the given steps, the corrected one last.
            index: index of the draw, different from all other draws of the sample.

        Raises:
            CallError, RunStopped: see `Caller.generate`; `bad_request` where `prefill` was demanded of a model that
                can't.
        """
        (solution,) = await self.resume_many(
            sample, messages, parent, parent_position, kept_steps, n=1, first_index=index, seed=seed
        )
        return solution

    async def resume_many(
        self,
        sample: Sample,
        messages: Sequence[Message],
        parent: Solution,  # noqa: ARG002  (part of the seam: a policy of one's own may look at it)
        parent_position: int,
        kept_steps: tuple[str, ...],
        *,
        n: int,
        first_index: int,
        seed: int,
    ) -> list[Solution]:
        """Solutions that go on from the given steps: draws `first_index .. first_index + n - 1`, in one request.

        Args and errors as in `resume`. A failed call is a failure of all `n`.
        """
        kept = ended(kept_steps)
        plain = Request(
            messages=tuple(messages),
            sampling=self.sampling,
            seed=derive_seed(seed, sample.id, first_index),
            n=n,
            index=first_index,
            sample_id=sample.id,
        )
        request, replies = await self._continued(plain, kept)
        return [
            self._resumed(sample, parent_position, kept, reply, request_key(self.model.identity, request, index))
            for index, reply in enumerate(replies, start=first_index)
        ]

    def _resumed(self, sample: Sample, parent_position: int, kept: tuple[str, ...], reply: Reply, key: str) -> Solution:
        """The solution that a reply makes of the given steps."""
        found = read_continuation(kept, reply.text)
        if found.kind == "restarted":
            steps = split_steps(found.text, max_steps=self.max_steps)
            origin = Refined(parent=parent_position, kept=0)
        else:
            # At least one step for what is new, even where the given ones are as many as there may be.
            room = max(1, self.max_steps - len(kept))
            steps = joined(kept, split_steps(found.text, max_steps=room))
            origin = Refined(parent=parent_position, kept=len(kept))
        return replace(self._solution(sample, steps, reply, origin, key), continuation=found.kind)

    async def _continued(self, plain: Request, kept: tuple[str, ...]) -> tuple[Request, tuple[Reply, ...]]:
        """What was asked to continue the given steps, and what came."""
        if await self.continues_by() == "prefill":
            request = replace(plain, prefill="".join(kept))
            try:
                replies = await self.model.generate(request)
            except CallError as error:
                if self.continuation == "prefill" or error.kind != "bad_request":
                    raise
                # The model can in general, but not here: a chat template that has no place for this turn.
            else:
                return request, tuple(map(_said_to_the_end, replies))
        request = replace(plain, messages=continue_messages(plain.messages, kept))
        return request, await self.model.generate(request)

    async def continues_by(self) -> Literal["prefill", "prompt"]:
        """How steps are handed over to this model.

        Raises:
            CallError: the server can't be asked now.
        """
        if self.continuation != "auto":
            return self.continuation
        plan = await _prefill_plan(self.model)
        return "prefill" if plan is not None and plan.strategy != "none" else "prompt"

    def _solution(self, sample: Sample, steps: tuple[str, ...], reply: Reply, origin: Origin, key: str) -> Solution:
        return Solution(
            steps=steps,
            answer=read_answer(sample, "".join(steps), truncated=reply.finish == "length"),
            origin=origin,
            reasoning=reply.reasoning,
            finish=reply.finish,
            usage=reply.usage,
            reply=key,
        )


# ----------------------------------------------------------------------------------------------------------------------
# Handing steps over


def _said_to_the_end(reply: Reply) -> Reply:
    """The reply with its answer as text.

    A reasoning parser waits for an end of thinking that a turn which began with its answer never has.
    """
    text = said(reply)
    return reply if text == reply.text else replace(reply, text=text, reasoning="")


class _Prefilling(Protocol):
    async def prefill_plan(self) -> PrefillPlan: ...


async def _prefill_plan(model: Model) -> PrefillPlan | None:
    """How the model that answers in the end continues its own turn; None where it does not say, as a script."""
    while (inner := getattr(model, "inner", None)) is not None:
        model = cast(Model, inner)
    if not hasattr(model, "prefill_plan"):
        return None
    return await cast(_Prefilling, model).prefill_plan()


def prompt_hash() -> str:
    """SHA-256 over the prompt that hands steps over, hexadecimal: for the manifest of a run that continues by it."""
    return hash_of("continue")


def continue_messages(messages: Sequence[Message], kept: Sequence[str]) -> tuple[Message, ...]:
    """The question with the given steps and the request to go on, in the last user turn.

    After the pictures and the question, so that a server's prefix cache still holds; in one turn, since some chat
    templates refuse a conversation that goes on after the assistant's.
    """
    label = label_of(kept[-1]) if kept else None
    values = {"steps": inside("".join(kept).rstrip()), "next": str(label + 1) if label is not None else ""}
    part = TextPart(text="\n" + fill(load_prompt("continue"), values))
    *before, last = messages
    return (*before, replace(last, parts=(*last.parts, part)))
