"""What the controls need of a sample's pool, without its texts: a few hundred bytes a sample."""

from typing import NamedTuple

from msgspec import Struct, structs

from assay.mark.status import credit
from assay.solve.pool import MEMBERS, Member, PoolRecord, Strategy, outcome_of_selection, select_from, total
from assay.solve.records import Critique, Refined, Resampled, Rule, Unjudged
from assay.solve.select import answer_classes, is_clean, rank, score_of
from assay.types import Outcome, Usage, line_id

__all__ = ["Bill", "Digest", "Entry", "digest"]


class Bill(NamedTuple):
    """Tokens and calls of some work."""

    prompt: int = 0
    completion: int = 0
    calls: int = 0

    def __add__(self, other: "Bill") -> "Bill":  # pyright: ignore[reportIncompatibleMethodOverride] - no concatenation
        return Bill(self.prompt + other.prompt, self.completion + other.completion, self.calls + other.calls)

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    @property
    def usage(self) -> Usage:
        return Usage(prompt_tokens=self.prompt, completion_tokens=self.completion)


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution of a pool.

    Attributes:
        robust, reference: whether it is right; None where nobody can tell.
        clean: whether the critic found no error; None without a critique.
        unjudged: why there is no critique where one was asked for.
        first_error: position, from 0, of the first step judged wrong.
        rank: greater is better, under the rule; empty where no critic was asked.
        answer: class of its answer among the pool's; None where there is none.
        weight: its score, in a vote weighted by scores; 0 without one.
        parent: position of the solution that it was refined or drawn again from.
        refined: whether it stands on a correction; `restarted`: whether it was to, and began anew.
        policy, critic: what it cost.
    """

    robust: bool | None
    reference: bool | None
    clean: bool | None
    unjudged: str | None
    first_error: int | None
    rank: tuple[float, ...]
    answer: int | None
    weight: float
    parent: int | None
    refined: bool
    restarted: bool
    policy: Bill
    critic: Bill


class Digest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample's pool; `chosen` holds the outcome under every strategy that the pool has solutions for.

    `failed_calls`: solutions that are missing or have no critique because of a failed call.
    """

    sample_id: str
    group: str
    condition: str
    entries: tuple[Entry, ...]
    members: dict[Member, tuple[int, ...]]
    chosen: dict[Strategy, tuple[int, Outcome]]
    failed_calls: int = 0

    @property
    def id(self) -> str:
        return line_id(self.sample_id, self.condition)


def digest(record: PoolRecord, rule: Rule) -> Digest:
    """The digest of a pool, its solutions ranked under `rule`."""
    bare = (
        Outcome(sample_id=record.sample_id, group=record.group, condition=record.condition, result=record.marks[0])
        if record.marks
        else None
    )
    judged = any(solution.critique is not None for solution in record.pool)
    chosen: dict[Strategy, tuple[int, Outcome]] = {}
    for strategy in MEMBERS:
        if strategy in ("best-of-n", "weighted-vote", "refined-bon") and not judged:
            continue
        selection = select_from(record.pool, record.members, strategy, rule)
        if selection.chosen is not None and bare is not None:
            outcome = structs.replace(outcome_of_selection(record, selection, bare), reply=None)
            chosen[strategy] = (selection.chosen, outcome)
    places = range(len(record.pool))
    classes = {place: number for number, one in enumerate(answer_classes(record.pool, places)) for place in one}
    return Digest(
        sample_id=record.sample_id,
        group=record.group,
        condition=record.condition,
        entries=tuple(_entry(record, place, classes.get(place), rule, judged) for place in places),
        members=record.members,
        chosen=chosen,
        failed_calls=len(record.failures),
    )


def _entry(record: PoolRecord, position: int, answer: int | None, rule: Rule, judged: bool) -> Entry:
    one = record.pool[position]
    outcome = Outcome(
        sample_id=record.sample_id,
        group=record.group,
        result=record.marks[position],
        finish=one.solution.finish,
    )
    critique = one.critique
    origin = one.solution.origin
    policy, critic, policy_calls, critic_calls = total(one)
    return Entry(
        robust=credit(outcome, "robust"),
        reference=credit(outcome, "reference"),
        clean=is_clean(one) if isinstance(critique, Critique) else None,
        unjudged=critique.kind if isinstance(critique, Unjudged) else None,
        first_error=critique.first_error if isinstance(critique, Critique) else None,
        rank=rank(one, rule) if judged else (),
        answer=answer,
        weight=score_of(one, rule) or 0.0,
        parent=origin.parent if isinstance(origin, Refined | Resampled) else None,
        refined=isinstance(origin, Refined) and origin.kept > 0,
        restarted=isinstance(origin, Refined) and not origin.kept,
        policy=Bill(policy.prompt_tokens, policy.completion_tokens, policy_calls),
        critic=Bill(critic.prompt_tokens, critic.completion_tokens, critic_calls),
    )
