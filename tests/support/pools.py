"""Pools for tests of what is computed from them, built from a few words."""

from collections.abc import Sequence

from assay.solve.plan import SearchPlan, members_of
from assay.solve.pool import PoolRecord, select_from
from assay.solve.records import Critique, Judged, Origin, Refined, Resampled, Sampled, Solution, StepVerdict, Unjudged
from assay.types import Mark, Marked, Usage, Verdict


def plain(index: int) -> Sampled:
    return Sampled(index=index)


def greedy() -> Sampled:
    return Sampled(index=1_000_000, greedy=True)


def refined(parent: int, kept: int = 1) -> Refined:
    return Refined(parent=parent, kept=kept)


def resampled(parent: int) -> Resampled:
    return Resampled(index=100 + parent, parent=parent)


def judged(*scores: float, usage: Usage | None = None) -> Critique:
    """A critique with these step scores; a step is correct from 0.5 on."""
    steps = tuple(StepVerdict(correct=score >= 0.5, score=score, source="logprobs") for score in scores)
    return Critique(steps=steps, correction="corrected" if any(score < 0.5 for score in scores) else None, usage=usage)


Words = tuple[Origin, str | None, Verdict, Critique | Unjudged | None, Usage | None]


def record(
    sample_id: str,
    words: Sequence[Words],
    plan: SearchPlan,
    *,
    group: str | None = None,
    reference: Verdict | None = None,
) -> PoolRecord:
    """A pool of solutions: origin, answer, robust verdict, critique, tokens. The reference agrees unless given."""
    pool = tuple(
        Judged(
            solution=Solution(steps=("think\n\n", f"Answer: {answer}"), answer=answer, origin=origin, usage=usage),
            critique=critique,
        )
        for origin, answer, _, critique, usage in words
    )
    members = members_of(plan, pool)
    return PoolRecord(
        sample_id=sample_id,
        group=group or f"group of {sample_id}",
        pool=pool,
        marks=tuple(
            Marked(robust=Mark(verdict=verdict), reference=Mark(verdict=reference or verdict))
            for _, _, verdict, _, _ in words
        ),
        members=members,
        chosen=select_from(pool, members, plan.strategy, plan.rule),
    )
