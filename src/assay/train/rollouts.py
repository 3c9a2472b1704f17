"""Monte-Carlo labels: a step is as good as the share of completions from it that reach the right answer.

    questions -> solutions -> steps -> completions of every step prefix -> soft label k/n, hard label k > 0

The full scheme is that of VisualPRM400K: 4 solutions of a question at temperature 1.0, at most 12 steps, 16 completions
of every prefix. Where hard labels are enough, most of it need not be drawn: a step's label stands with its first
success, so completions are drawn in batches, each as large as all before it together (1, 1, 2, 4, 8), until there is
one. Nothing after the first wrong step matters to whoever looks for the first error, so that the rest of a solution may
be left out as well.

A batch is one request for several draws, the same in every mode, its seed included: soft labels take all of them at
once, hard ones one after the other. So completion k of a prefix is the same text in every mode on any server that gives
the same reply to the same request, whatever it makes of a seed where several draws are asked for; what is left out is
left out, and what is drawn is what the full scheme would have drawn. Where replies are kept (see `engine.caller`), a
run that is started again, in the same mode or another, asks only for what it does not have.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.benchmarks.base import Benchmark, mark_at_once, mark_reply
from assay.errors import CallError, UsageError
from assay.judging.asking import gold_words
from assay.models.base import derive_seed
from assay.solve.asking import question_text
from assay.solve.policy import Policy
from assay.solve.pool import marked_reply
from assay.solve.records import Refined, Solution
from assay.solve.search import together
from assay.train.records import Completion, Rollout, StepRollout
from assay.types import Failure, Marked, Message, Sample

__all__ = [
    "Posed",
    "Rolled",
    "RolloutPlan",
    "batches",
    "complete",
    "draw",
    "first_error",
    "roll_out",
    "roll_out_all",
]

Labels = Literal[
    "soft",  # every completion of the full scheme is drawn; both labels come of it
    "hard",  # a step's completions end with the batch of its first success; no soft labels
]

StopAt = Literal[
    "none",
    "first_error",  # steps after one that has no success are skipped
]


_SEEDS = 2**31  # seeds are below this


class RolloutPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is drawn for a question.

    Attributes:
        solutions: solutions of each question.
        completions: completions of each step prefix in the full scheme.
        labels: which labels are wanted.
        stop: where a solution ends early.
        seed: the run's seed; every draw's seed is derived from it.
    """

    solutions: int = 4
    completions: int = 16
    labels: Labels = "soft"
    stop: StopAt = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.solutions < 1 or self.completions < 1:
            raise UsageError("Rollouts need at least one solution of a question and one completion of a step.")


class Posed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question with its gold answer, which the policy does not see, and what the policy is asked."""

    sample: Sample
    messages: tuple[Message, ...]


class Rolled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that came of one question.

    Attributes:
        sample_id: the question's.
        question: what the policy was asked.
        images: absolute paths of its pictures.
        gold: the right answer, as text.
        facets: what the benchmark groups the question by.
        rollouts: its solutions; none where they could not be drawn.
        failures: calls that failed, in the order of solutions, steps and completions; each a completion that is
            missing, or all solutions.
        restarted: completions that went on from nothing: the policy began anew instead. They say nothing about the
            prefix, so they are not marked.
    """

    sample_id: str
    question: str = ""
    images: tuple[str, ...] = ()
    gold: str = ""
    facets: dict[str, tuple[str, ...]] = {}
    rollouts: tuple[Rollout, ...] = ()
    failures: tuple[Failure, ...] = ()
    restarted: int = 0


async def roll_out_all(
    policy: Policy,
    benchmark: Benchmark,
    questions: Iterable[Posed],
    plan: RolloutPlan,
    *,
    keep: Callable[[Rolled], None],
    concurrency: int = 64,
) -> None:
    """Roll out many questions, so many at a time; each is handed to `keep` when it is complete, in any order.

    Raises:
        RunStopped: the run is ending.
    """
    rest = iter(questions)

    async def worker() -> None:
        for posed in rest:
            keep(await roll_out(policy, benchmark, posed, plan))

    await together(worker() for _ in range(concurrency))


async def roll_out(policy: Policy, benchmark: Benchmark, posed: Posed, plan: RolloutPlan) -> Rolled:
    """Solutions of one question, with the completions of their steps.

    Args:
        policy: who solves and completes; over a `Caller`, which keeps replies, retries and bounds what is in flight.
        benchmark: its robust mark says what is right.
        posed: the question.
        plan: what is drawn.

    Raises:
        RunStopped: the run is ending. A failed call is no error; it is in `failures`.
    """
    try:
        solutions = await draw(policy, posed, plan)
    except CallError as error:
        return replace(_nothing(posed), failures=(_failure("the solutions", error),))
    return await complete(policy, benchmark, posed, plan, solutions)


async def draw(policy: Policy, posed: Posed, plan: RolloutPlan) -> list[Solution]:
    """The solutions of a question.

    Raises:
        CallError: they could not be drawn. RunStopped: the run is ending.
    """
    return await policy.sample(_hidden(posed), posed.messages, n=plan.solutions, seed=plan.seed)


async def complete(
    policy: Policy, benchmark: Benchmark, posed: Posed, plan: RolloutPlan, solutions: Sequence[Solution]
) -> Rolled:
    """These solutions of a question with the completions of their steps; see `roll_out`."""
    work = _Work(policy, benchmark, posed, plan)
    rollouts = await together(work.solution(number, solution) for number, solution in enumerate(solutions))
    return replace(
        _nothing(posed),
        rollouts=tuple(rollouts),
        failures=tuple(work.failures[place] for place in sorted(work.failures)),
        restarted=work.restarted,
    )


def _hidden(posed: Posed) -> Sample:
    """The sample as the policy sees it."""
    return replace(posed.sample, gold=None)


def _nothing(posed: Posed) -> Rolled:
    """A question before anything came of it."""
    sample = posed.sample
    return Rolled(
        sample_id=sample.id,
        question=question_text(posed.messages),
        images=tuple(str(Path(image).resolve()) for image in sample.images),
        gold="" if sample.gold is None else gold_words(sample.gold, sample),
        facets=sample.facets,
    )


def first_error(rollout: Rollout) -> int | None:
    """Position of the first step without a success; None where every step has one; -1 where that can't be told.

    It can't where a step before it has no label.
    """
    for place, step in enumerate(rollout.steps):
        if step.hard is None:
            return -1
        if not step.hard:
            return place
    return None


# ----------------------------------------------------------------------------------------------------------------------


class _Work:
    """One question's rollouts, and what went wrong on the way."""

    def __init__(self, policy: Policy, benchmark: Benchmark, posed: Posed, plan: RolloutPlan) -> None:
        self._hidden = _hidden(posed)
        self.failures: dict[tuple[int, int, int], Failure] = {}  # by solution, step and completion
        self.restarted = 0
        self._policy = policy
        self._benchmark = benchmark
        self._posed = posed
        self._plan = plan

    async def solution(self, number: int, solution: Solution) -> Rollout:
        """The solution, with as many of its steps completed as the plan wants."""
        if self._plan.stop == "first_error":
            steps = await self._until_wrong(number, solution)
        else:
            steps = await together(self._step(number, solution, place) for place in range(len(solution.steps)))
        sample = self._posed.sample
        return Rollout(
            sample_id=sample.id,
            group=sample.group,
            solution=number,
            steps=tuple(steps),
            answer=solution.answer,
            right=await self._right(solution),
        )

    async def _until_wrong(self, number: int, solution: Solution) -> list[StepRollout]:
        found: list[StepRollout] = []
        for place in range(len(solution.steps)):
            found.append(await self._step(number, solution, place))
            if found[-1].hard is False:
                break
        rest = solution.steps[len(found) :]
        return [*found, *(StepRollout(step=step, skipped=True) for step in rest)]

    async def _step(self, number: int, solution: Solution, place: int) -> StepRollout:
        total = self._plan.completions
        found: list[Completion] = []
        asked = 0
        # All at once where every completion is wanted.
        turns = [[batch] for batch in batches(total)] if self._plan.labels == "hard" else [list(batches(total))]
        for turn in turns:
            came = await together(self._complete(number, solution, place, batch) for batch in turn)
            found += [completion for part in came for completion in part]
            asked += sum(map(len, turn))
            if self._plan.labels == "hard" and any(completion.right for completion in found):
                break
        return _labelled(solution.steps[place], found, full=asked == total, total=total)

    async def _complete(self, number: int, solution: Solution, place: int, batch: range) -> list[Completion]:
        """These completions of the prefix that ends with this step; none where the call failed."""
        sample = self._posed.sample
        # A seed for the prefix, and of it one for each batch: neither depends on the mode, nor on how many are drawn.
        seed = derive_seed(self._plan.seed, f"{sample.id}\x00solution {number}\x00step {place}", 0)
        kept = solution.steps[: place + 1]
        try:
            completed = await self._policy.resume_many(
                self._hidden,
                self._posed.messages,
                solution,
                number,
                kept,
                n=len(batch),
                first_index=batch.start,
                seed=seed,
            )
        except CallError as error:
            for index in batch:
                what = f"solution {number}, step {place}, completion {index}"
                self.failures[number, place, index] = _failure(what, error)
            return []
        first = derive_seed(seed, sample.id, batch.start)
        return await together(
            self._completion(index, (first + index - batch.start) % _SEEDS, one)
            for index, one in zip(batch, completed, strict=True)
        )

    async def _completion(self, index: int, seed: int, completed: Solution) -> Completion:
        restarted = completed.continuation == "restarted"
        self.restarted += restarted
        given = completed.origin.kept if isinstance(completed.origin, Refined) else 0
        return Completion(
            index=index,
            seed=seed,
            text="".join(completed.steps[given:]),
            answer=completed.answer,
            finish=completed.finish,
            right=None if restarted else await self._right(completed),
        )

    async def _right(self, solution: Solution) -> bool | None:
        """The robust verdict; None where there is none. No answer, or one cut short, is not right."""
        benchmark, sample, reply = self._benchmark, self._posed.sample, marked_reply(solution)
        result = mark_at_once(benchmark, sample, reply)
        if result is None:
            result = await asyncio.to_thread(mark_reply, benchmark, sample, reply)
        if not isinstance(result, Marked) or result.robust.verdict == "unmarkable":
            return None
        return result.robust.verdict == "right"


def batches(total: int) -> Iterator[range]:
    """Draws 0 | 1 | 2 3 | 4 .. 7 | 8 .. 15: most steps need one, and a hard one should not wait for many turns."""
    first = 0
    while first < total:
        last = min(2 * first or 1, total)
        yield range(first, last)
        first = last


def _labelled(step: str, completions: Sequence[Completion], *, full: bool, total: int) -> StepRollout:
    """The step with what its completions say.

    `full`: all of the full scheme's completions were asked for. Of fewer, drawn until one succeeds, the share of
    successes would be too high on average.
    """
    marked = [completion.right for completion in completions if completion.right is not None]
    hard: bool | None = True if any(marked) else None
    if len(marked) == total:
        hard = any(marked)
    soft = sum(marked) / len(marked) if marked and full else None
    return StepRollout(step=step, completions=tuple(completions), soft=soft, hard=hard)


def _failure(what: str, error: CallError) -> Failure:
    return Failure(stage="call", kind=error.kind, message=f"{what}: {error}")
