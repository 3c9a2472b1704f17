"""What a search leaves behind: the whole pool of a sample with both marks of every solution, one record a sample.

A record stands in the run's `pools-0.jsonl` before the outcome that it explains. It is enough to select with another
strategy or rule, and to compute every control, without asking a model again.
"""

import hashlib
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct, structs

from assay.engine.store import RunStore, StoredReply
from assay.solve.records import Judged, JudgedOptions, Rule, Selection, Solution
from assay.solve.select import best_of, vote, weighted_vote
from assay.types import Failure, Marked, Outcome, Reply, Usage, line_id

__all__ = [
    "MEMBERS",
    "POOLS",
    "Member",
    "PoolRecord",
    "Strategy",
    "marked_reply",
    "outcome_of_selection",
    "pools_of",
    "select_from",
    "stored_solution",
    "total",
]

POOLS = "pools"
"""Name of the run's files of pools."""

Strategy = Literal["greedy", "self-consistency", "best-of-n", "weighted-vote", "refined-bon"]

Member = Literal[
    "greedy",  # the one solution at temperature 0
    "plain",  # drawn from the question alone, in the order of their draws
    "refined",  # the pool of Refined-BoN: a first half of plain ones and what came of them
]

MEMBERS: dict[Strategy, Member] = {
    "greedy": "greedy",
    "self-consistency": "plain",
    "best-of-n": "plain",
    "weighted-vote": "plain",
    "refined-bon": "refined",
}
"""Which solutions of a pool a strategy chooses from."""


class PoolRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pool of one sample under one condition.

    Attributes:
        sample_id, group, condition: as in its outcome.
        pool: every solution with its critique; the origin of a solution names others by their position here.
        marks: both verdicts on every solution, by position. Nothing that searches has seen them.
        members: positions of the solutions that belong together (see `Member`).
        chosen: the selection that the outcome stands for.
        failures: calls that failed, each a solution that is missing or has no critique.
        options: what the critic said of the options that the run's answer selects; None where nobody asked.
    """

    sample_id: str
    group: str
    condition: str = ""
    pool: tuple[Judged, ...]
    marks: tuple[Marked | Failure, ...]
    members: dict[Member, tuple[int, ...]]
    chosen: Selection
    failures: tuple[Failure, ...] = ()
    options: JudgedOptions | None = None

    @property
    def id(self) -> str:
        return line_id(self.sample_id, self.condition)


def pools_of(store: RunStore) -> Iterator[PoolRecord]:
    """The pools of a run, each once."""
    return store.records(POOLS, PoolRecord)


def select_from(
    pool: tuple[Judged, ...],
    members: dict[Member, tuple[int, ...]],
    strategy: Strategy,
    rule: Rule,
    *,
    only: tuple[int, ...] | None = None,
) -> Selection:
    """The strategy's choice; positions refer to the whole pool, and `chosen` is None where it has no such solutions.

    Args:
        only: of the strategy's solutions just these, e.g. a part of them for a smaller N.
    """
    positions = members.get(MEMBERS[strategy], ()) if only is None else only
    if not positions:
        return Selection(chosen=None, strategy=strategy)
    match strategy:
        case "greedy":
            return Selection(chosen=positions[0], strategy=strategy)
        case "self-consistency":
            return vote(pool, positions)
        case "weighted-vote":
            return weighted_vote(pool, positions, rule)
        case "best-of-n" | "refined-bon":
            return best_of(pool, positions, rule, strategy=strategy)


def marked_reply(solution: Solution) -> Reply:
    """The solution as one reply, as it is marked. It bills no tokens: the replies that it was made of have them."""
    return Reply(text=solution.text, reasoning=solution.reasoning, finish=solution.finish)


def stored_solution(sample_id: str, position: int, solution: Solution) -> StoredReply:
    """A chosen solution as a reply of the run, so that it can be judged, compared and marked again like any other.

    A refined solution is no reply of the policy: it begins with another one's steps and the critic's correction.
    """
    reply = marked_reply(solution)
    canonical = msgspec.json.encode((1, sample_id, reply))
    return StoredReply(hashlib.sha256(canonical).hexdigest(), sample_id, position, reply)


def outcome_of_selection(record: PoolRecord, selection: Selection, outcome: Outcome) -> Outcome:
    """The outcome of a sample, were `selection` its choice.

    Args:
        outcome: another outcome of the sample; the tokens and calls in it are those of the whole search.
    """
    if selection.chosen is None:
        missing = Failure(
            stage="call", kind="no_solution", message=f"the pool has no solutions for {selection.strategy}"
        )
        return structs.replace(outcome, result=missing, finish=None, reply=None, extraction=None)
    solution = record.pool[selection.chosen].solution
    return structs.replace(
        outcome,
        result=record.marks[selection.chosen],
        finish=solution.finish,
        reply=stored_solution(record.sample_id, selection.chosen, solution).key,
        extraction=None,
    )


def total(judged: Judged) -> tuple[Usage, Usage, int, int]:
    """Tokens of policy and critic for one solution, and their calls.

    Draws of one call carry its prompt's tokens once, with the first of them: a solution without prompt tokens of its
    own came from another's call.
    """
    solution, critique = judged.solution, judged.critique
    policy = solution.usage or Usage()
    calls = int(solution.usage is None or solution.usage.prompt_tokens > 0)
    if critique is None:
        return policy, Usage(), calls, 0
    return policy, critique.usage or Usage(), calls, critique.calls
