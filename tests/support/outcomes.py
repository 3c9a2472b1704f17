"""Outcomes for tests, built from a few words."""

import random
from collections.abc import Iterator, Mapping

from msgspec import structs

from assay.types import Failure, Finish, JudgeMark, Mark, Marked, Outcome, Verdict

FAILED = "failed"


def outcome(
    sample_id: str,
    robust: Verdict | str,
    reference: Verdict | None = None,
    *,
    group: str | None = None,
    finish: Finish | None = "stop",
    extraction: str | None = None,
    difference: str | None = None,
    detail: dict[str, str] | None = None,
    facets: Mapping[str, str] | None = None,
    **more_facets: str,
) -> Outcome:
    """One outcome. `robust` may be `failed`; `reference`, unless given, is right where robust is, else wrong."""
    if robust == FAILED:
        result = Failure(stage="call", kind="timeout", message="no reply in 600 s")
        finish = None
    else:
        verdict: Verdict = robust  # pyright: ignore[reportAssignmentType]
        result = Marked(
            reference=Mark(verdict=reference or ("right" if robust == "right" else "wrong")),
            robust=Mark(verdict=verdict, extraction=extraction),
            difference=difference,
        )
    return Outcome(
        sample_id=sample_id,
        group=group if group is not None else sample_id,
        facets={name: (value,) for name, value in {**(facets or {}), **more_facets}.items()},
        result=result,
        finish=finish,
        detail=detail or {},
    )


def judged(row: Outcome, verdict: Verdict, *, judge: str = "a judge", reason: str = "") -> Outcome:
    """An outcome with a judge's verdict beside its others."""
    assert isinstance(row.result, Marked)
    mark = JudgeMark(verdict=verdict, judge=judge, prompt_hash="0123456789abcdef", reason=reason)
    return structs.replace(row, result=structs.replace(row.result, judged=mark))


def run(count: int, share_right: float, *, seed: int, per_group: int = 1, failed: float = 0.0) -> Iterator[Outcome]:
    """A run of `count` samples, each right with `share_right`, independently; `failed` is the share of failures."""
    chance = random.Random(seed)
    for index in range(count):
        verdict = FAILED if chance.random() < failed else "right" if chance.random() < share_right else "wrong"
        yield outcome(str(index), verdict, group=f"g{index // per_group}", question_type="choice")
