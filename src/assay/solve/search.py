"""Searches: from one question to a pool of solutions, most of them with a critique.

    greedy             the solution at temperature 0
    self_consistency   n solutions                                  (to be voted on)
    best_of_n          n solutions, each with a critique
    refined_bon        half of them drawn; then each refined from its first error, or drawn again where it has none
    controls           one pool that holds what every strategy needs at equal n

A search asks; which solution of its pool is chosen, `select` decides, and a pool can be chosen from again with another
rule. What is to be refined, `refine` decides. There is no barrier between phases: a solution is critiqued as soon as it
is complete and refined as soon as it is critiqued, whatever its neighbours do. Draws and seeds go by a solution's
position in the pool, so the pool is the same in whatever order the replies come.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import CallError
from assay.solve.asking import EMPTY
from assay.solve.critic import Critic
from assay.solve.policy import Policy
from assay.solve.records import Critique, Judged, Refined, Resampled, Solution, Unjudged
from assay.solve.refine import Recritique, Refine, chain_lengths, merge_critique, next_move
from assay.types import Failure, Message, Sample

T = TypeVar("T")


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a search works on.

    Attributes:
        sample: the question, without its gold answer.
        messages: what the policy is asked, pictures included.
        seed: the run's seed.
    """

    sample: Sample
    messages: tuple[Message, ...]
    seed: int = 0


class Found(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pool, and the calls that failed on the way to it, each a solution that is missing.

    A critique that failed is no such call: its solution is in the pool, unjudged.
    """

    pool: tuple[Judged, ...]
    failures: tuple[Failure, ...] = ()


async def greedy(policy: Policy, problem: Problem) -> Found:
    """The one solution at temperature 0, without a critique.

    Raises:
        CallError: there is none. RunStopped: the run is ending. So do all searches.
    """
    solutions = await policy.sample(problem.sample, problem.messages, seed=problem.seed, greedy=True)
    return Found(pool=tuple(Judged(solution=solution) for solution in solutions))


async def self_consistency(policy: Policy, problem: Problem, *, n: int) -> Found:
    """`n` solutions without a critique."""
    solutions = await policy.sample(problem.sample, problem.messages, n=n, seed=problem.seed)
    return Found(pool=tuple(Judged(solution=solution) for solution in solutions))


async def best_of_n(policy: Policy, critic: Critic, problem: Problem, *, n: int) -> Found:
    """`n` solutions, each with a critique."""
    return await refined_bon(policy, critic, problem, n=n, rounds=0)


async def refined_bon(
    policy: Policy,
    critic: Critic,
    problem: Problem,
    *,
    n: int = 8,
    rounds: int = 1,
    refine_below: float | None = None,
    recritique: Recritique = "all",
) -> Found:
    """Refined Best-of-N (GM-PRM, arXiv 2508.04088): `n` solutions in all, each with a critique.

    ceil(n/2) are drawn and critiqued. Of the first floor(n/2) of them, one whose first error is step t is continued
    from its steps 1 .. t-1 and the corrected step t; any other is drawn again. The new ones are critiqued as well.

    Args:
        policy, critic, problem: who writes, who judges, what is asked.
        n: size of the pool.
        rounds: how often the newest solutions are refined; the pool stays at n, so more rounds start with fewer.
        refine_below: refine only where the score of the first wrong step is below this.
        recritique: whose scores of a refined solution count (see `refine.merge_critique`).
    """
    lengths = chain_lengths(n, rounds)
    drawn = await policy.sample(problem.sample, problem.messages, n=len(lengths), seed=problem.seed)
    search = _Search(policy, critic, problem, refine_below, recritique, width=len(lengths), later=len(lengths))
    await together(search.chain(place, drawn[place], length) for place, length in enumerate(lengths))
    return search.found()


async def controls(
    policy: Policy,
    critic: Critic,
    problem: Problem,
    *,
    n: int = 8,
    refine_below: float | None = None,
    recritique: Recritique = "all",
) -> Found:
    """One pool for every strategy at equal `n`: a greedy solution, `n` plain ones, and the refined half.

    Positions 0 .. n-1 hold the plain solutions; then come those that refined best-of-n makes of the first floor(n/2);
    the greedy one, which alone has no critique, is last. Missing solutions leave no gap. Greedy, self-consistency@k,
    best-of-k, weighted votes, pass@k and refined best-of-n (the first ceil(n/2) plain ones and the refined half) can
    all be had from it.
    """
    search = _Search(policy, critic, problem, refine_below, recritique, width=n // 2, later=n)

    async def plain() -> None:
        drawn = await policy.sample(problem.sample, problem.messages, n=n, seed=problem.seed)
        await together(search.chain(place, drawn[place], 2 if place < n // 2 else 1) for place in range(n))

    async def at_zero() -> None:
        (judged,) = (await greedy(policy, problem)).pool
        search.put(n + n // 2, judged)

    await together(search.attempt(n + n // 2 + 1, part()) for part in (plain, at_zero))
    return search.found()


class _Search:
    """A pool that fills up, position by position.

    A chain's solution of round 0 has the chain's number as position; that of round r has `later` + (r - 1) * `width` +
    the chain's number.
    """

    def __init__(
        self,
        policy: Policy,
        critic: Critic,
        problem: Problem,
        refine_below: float | None,
        recritique: Recritique,
        *,
        width: int,
        later: int,
    ) -> None:
        self._policy = policy
        self._critic = critic
        self._problem = problem
        self._refine_below = refine_below
        self._recritique: Recritique = recritique
        self._width = width
        self._later = later
        self._pool: dict[int, Judged] = {}
        self._errors: list[tuple[int, CallError]] = []

    async def chain(self, place: int, first: Solution, length: int) -> None:
        """Critique a solution, make the next of it, critique that, until there are `length`."""
        newest = place
        self.put(newest, Judged(solution=first, critique=await self._critique(first)))
        for later_round in range(length - 1):
            position = self._later + later_round * self._width + place
            parent = self._pool[newest]
            solution = await self.attempt(position, self._next(newest, parent, position))
            if solution is None:  # that one is missing; a further round starts from the same parent
                continue
            critique = await self._critique(solution)
            if self._recritique == "new":
                critique = merge_critique(parent, solution, critique)
            self.put(position, Judged(solution=solution, critique=critique))
            newest = position

    async def _next(self, place: int, parent: Judged, position: int) -> Solution:
        """The solution at `position`: refined from the one at `place`, or drawn again."""
        sample, messages, seed = self._problem.sample, self._problem.messages, self._problem.seed
        move = next_move(parent, refine_below=self._refine_below)
        if isinstance(move, Refine):
            return await self._policy.resume(
                sample, messages, parent.solution, place, move.kept, index=position, seed=seed
            )
        (solution,) = await self._policy.sample(sample, messages, first_index=position, seed=seed)
        return replace(solution, origin=Resampled(index=position, parent=place, reason=move.reason))

    async def _critique(self, solution: Solution) -> Critique | Unjudged:
        if not solution.steps:
            return EMPTY
        try:
            return await self._critic.critique(self._problem.sample, self._problem.messages, solution)
        except CallError as error:
            return Unjudged(kind="failed", reason=str(error))

    async def attempt(self, position: int, work: Coroutine[Any, Any, T]) -> T | None:
        """The solution at a position; None where a call failed, which is kept for the count."""
        try:
            return await work
        except CallError as error:
            self._errors.append((position, error))
            return None

    def put(self, position: int, judged: Judged) -> None:
        self._pool[position] = judged

    def found(self) -> Found:
        """The pool without the gaps that missing solutions left.

        Raises:
            CallError: nothing is in it.
        """
        errors = [error for _, error in sorted(self._errors, key=lambda item: item[0])]
        if not self._pool:
            raise errors[0]
        order = sorted(self._pool)
        places = {position: place for place, position in enumerate(order)}
        return Found(
            pool=tuple(_moved(self._pool[position], places) for position in order),
            failures=tuple(Failure(stage="call", kind=error.kind, message=str(error)) for error in errors),
        )


def _moved(judged: Judged, places: dict[int, int]) -> Judged:
    """With the parent's place in a pool without gaps."""
    origin = judged.solution.origin
    if not isinstance(origin, Refined | Resampled) or places[origin.parent] == origin.parent:
        return judged
    return replace(judged, solution=replace(judged.solution, origin=replace(origin, parent=places[origin.parent])))


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all at the same time. The first error cancels the others and comes out as it is, not in a group."""
    problem: BaseException | None = None
    tasks: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in work]
    except BaseExceptionGroup as errors:
        problem = errors.exceptions[0]
    if problem is not None:
        raise problem
    return [task.result() for task in tasks]
