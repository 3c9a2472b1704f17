"""A search as a run's work: a sample under its condition -> pool, marks, record, outcome.

What searches sees no gold: it is taken off the sample first. What marks sees every solution of the pool, and nothing of
what it says comes back to the search.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import structs

from assay.benchmarks.base import Benchmark, mark_at_once, mark_reply
from assay.benchmarks.conditions import Asked, Question
from assay.engine.store import RunStore
from assay.solve.critic import Critic, OptionCritic
from assay.solve.option_critique import selected_options
from assay.solve.plan import SearchPlan, find, members_of
from assay.solve.policy import Policy
from assay.solve.pool import POOLS, PoolRecord, marked_reply, outcome_of_selection, select_from, stored_solution
from assay.solve.records import JudgedOptions, Selection, Solution
from assay.solve.search import Found, Problem
from assay.types import Failure, ImagePart, Marked, Outcome, Sample

__all__ = ["Searching"]

Showing = Callable[[Asked], Awaitable[Sequence[ImagePart]]]


class Searching:
    """Work for `run_samples`.

    Args:
        plan: the search.
        policy, critic: over models that the run's store is around.
        pictures_of: the prepared pictures of a sample.
    """

    def __init__(
        self,
        plan: SearchPlan,
        policy: Policy,
        critic: Critic | None,
        *,
        benchmark: Benchmark,
        seed: int,
        pictures_of: Showing,
        store: RunStore,
    ) -> None:
        self._plan = plan
        self._policy = policy
        self._critic = critic
        self._benchmark = benchmark
        self._seed = seed
        self._pictures_of = pictures_of
        self._store = store

    async def __call__(self, asked: Asked) -> Outcome:
        """The outcome of the chosen solution, once the pool that it comes from is on disk.

        Raises:
            CallError: there is not one solution.
        """
        question = Question(self._benchmark, asked, self._seed)
        messages = question.messages(await self._pictures_of(asked))
        problem = Problem(sample=structs.replace(question.sample, gold=None), messages=messages, seed=self._seed)
        found = await find(self._plan, self._policy, self._critic, problem)
        members = members_of(self._plan, found.pool)
        chosen = select_from(found.pool, members, self._plan.strategy, self._plan.rule)
        marks = [await self._mark(question.sample, one.solution) for one in found.pool]
        record = PoolRecord(
            sample_id=asked.sample.id,
            group=asked.sample.group,
            condition=asked.condition.name,
            pool=found.pool,
            marks=tuple(marks),
            members=members,
            chosen=chosen,
            failures=found.failures,
            options=await self._judge_options(problem, found, chosen),
        )
        return await self._kept(record, question)

    async def _judge_options(self, problem: Problem, found: Found, chosen: Selection) -> JudgedOptions | None:
        """The critic's verdicts on the chosen answer's options; None where they are not to be judged."""
        critic = self._critic
        if not self._plan.judge_options or chosen.chosen is None or not isinstance(critic, OptionCritic):
            return None
        selected = selected_options(problem.sample, found.pool[chosen.chosen].solution.answer)
        if not selected:
            return None
        said = await critic.judge_options(problem.sample, problem.messages, selected)
        return JudgedOptions(labels=tuple(option.label for option in selected), said=said)

    async def _kept(self, record: PoolRecord, question: Question) -> Outcome:
        place = record.chosen.chosen
        if place is not None:
            await self._store.put_soon([stored_solution(record.sample_id, place, record.pool[place].solution)])
        self._store.record(POOLS, record)
        nothing = Failure(stage="internal", kind="unselected", message="nothing is selected yet")
        return outcome_of_selection(record, record.chosen, question.outcome(nothing))

    async def _mark(self, sample: Sample, solution: Solution) -> Marked | Failure:
        reply = marked_reply(solution)
        result = mark_at_once(self._benchmark, sample, reply)
        if result is None:
            result = await asyncio.to_thread(mark_reply, self._benchmark, sample, reply)
        return result
