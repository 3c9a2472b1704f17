"""What a critic's corrections are worth: does the policy reach the right answer more often from the corrected step?

    after   = right continuations / marked ones, from the steps before the first error and the critic's correction of it
    before  = the same, from the steps before it and the step as it was
    gain    = mean over solutions of after - before, paired, with its interval over groups

Both sides have the same number of continuations, with the same seeds. `harmed` are solutions from which the policy gets
there less often than before, `helped` more often. A correction of a step that is labelled right can hardly help, so
that false alarms stand apart from true errors.

A continuation that begins anew says nothing of the steps that it was given: it is not marked. One that nobody can mark
is in no share either, and one whose call failed leaves the solution out.
"""

import asyncio
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.benchmarks.base import Benchmark, mark_at_once, mark_reply
from assay.errors import CallError
from assay.solve.paired import paired
from assay.solve.policy import Policy
from assay.solve.pool import marked_reply
from assay.solve.records import Critique, Sampled, Solution
from assay.solve.search import together
from assay.solve.select import kept_prefix
from assay.train.critique_records import CritiqueRecord
from assay.types import Failure, Marked, Message, Sample, Usage

__all__ = [
    "CorrectionScores",
    "Corrections",
    "Side",
    "Trial",
    "Tried",
    "corrects",
    "score_corrections",
    "try_correction",
]


class Side(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Continuations of one prefix: `right` of the `marked`; the others restarted, or could not be marked."""

    right: int
    marked: int
    restarted: int = 0
    unmarked: int = 0
    usage: Usage | None = None

    @property
    def share(self) -> float | None:
        return self.right / self.marked if self.marked else None


class Tried(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One correction put to the test, or why it could not be.

    Attributes:
        sample_id, group: the solution's.
        place: the step that the critic corrects, from 0; `label` its label.
        before, after: from the step as it was, and from the correction; None where a call failed.
        failure: why; empty otherwise.
    """

    sample_id: str
    group: str
    place: int
    label: bool | None
    before: Side | None = None
    after: Side | None = None
    failure: str = ""


class CorrectionScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`before`, `after` and their paired difference over `pairs` solutions, with its 95 % interval."""

    pairs: int
    before: float | None
    after: float | None
    gain: float | None
    low: float | None
    high: float | None
    method: str | None
    helped: int
    harmed: int


class Corrections(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The worth of corrections.

    Attributes:
        policy: who continued; `continuations` of each side.
        marked_by: the benchmark whose robust rule says what is right.
        flagged: solutions in which the critic found an error; `uncorrected` of them it corrected nothing in;
            `no_gold` have no right answer to be marked by.
        tried: corrections put to the test; `failed` of them a call failed for, `unmarked` have a side on which no
            continuation could be marked: neither is in a score.
        restarted: continuations that began anew.
        all, true_errors, false_alarms, unlabelled: over all pairs, and by the label of the corrected step.
        prompt_tokens, completion_tokens: of all continuations.
    """

    policy: str
    marked_by: str
    continuations: int
    flagged: int
    uncorrected: int
    no_gold: int
    tried: int
    failed: int
    unmarked: int
    restarted: int
    all: CorrectionScores
    true_errors: CorrectionScores
    false_alarms: CorrectionScores
    unlabelled: CorrectionScores
    prompt_tokens: int
    completion_tokens: int


class Trial(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A correction to be tried: the question with its gold answer, what the policy is asked, steps, critique."""

    id: str
    sample: Sample
    messages: tuple[Message, ...]
    steps: tuple[str, ...]
    labels: tuple[bool | None, ...]
    critique: Critique


def corrects(critique: Critique) -> bool:
    """Whether the critic finds an error and says how the step should read."""
    return critique.first_error is not None and bool((critique.correction or "").strip())


async def try_correction(policy: Policy, benchmark: Benchmark, trial: Trial, *, continuations: int, seed: int) -> Tried:
    """Continue a solution from its corrected step and from the step as it was; mark both.

    Raises:
        RunStopped: the run is ending. A failed call is no error; it is in `Tried.failure`.
    """
    place = trial.critique.first_error
    if place is None:
        raise ValueError("the critique corrects no step")
    parent = Solution(steps=trial.steps, answer=None, origin=Sampled(index=0))
    tried = Tried(sample_id=trial.id, group=trial.sample.group, place=place, label=trial.labels[place])

    async def side(kept: tuple[str, ...]) -> Side:
        # By the solution's id, so that two solutions of one question don't share their draws.
        hidden = Sample(
            id=trial.id, question=trial.sample.question, options=trial.sample.options, group=trial.sample.group
        )
        found = await policy.resume_many(
            hidden, trial.messages, parent, 0, kept, n=continuations, first_index=0, seed=seed
        )
        return await _side(benchmark, trial.sample, found)

    try:
        before, after = await together(
            side(kept) for kept in (trial.steps[: place + 1], kept_prefix(parent, trial.critique))
        )
    except CallError as error:
        return replace(tried, failure=f"{error.kind}: {error}")
    return replace(tried, before=before, after=after)


async def _side(benchmark: Benchmark, sample: Sample, found: Sequence[Solution]) -> Side:
    restarted = sum(one.continuation == "restarted" for one in found)
    marks = [await _right(benchmark, sample, one) for one in found if one.continuation != "restarted"]
    known = [mark for mark in marks if mark is not None]
    used = [one.usage for one in found if one.usage is not None]
    return Side(
        right=sum(known),
        marked=len(known),
        restarted=restarted,
        unmarked=len(marks) - len(known),
        usage=Usage(
            prompt_tokens=sum(usage.prompt_tokens for usage in used),
            completion_tokens=sum(usage.completion_tokens for usage in used),
        ),
    )


async def _right(benchmark: Benchmark, sample: Sample, solution: Solution) -> bool | None:
    """The robust verdict; None where there is none."""
    reply = marked_reply(solution)
    result: Marked | Failure | None = mark_at_once(benchmark, sample, reply)
    if result is None:
        result = await asyncio.to_thread(mark_reply, benchmark, sample, reply)
    if not isinstance(result, Marked) or result.robust.verdict == "unmarkable":
        return None
    return result.robust.verdict == "right"


# ----------------------------------------------------------------------------------------------------------------------
# Scores


def score_corrections(
    tried: Iterable[Tried],
    tested: Iterable[CritiqueRecord],
    *,
    policy: str,
    marked_by: str,
    continuations: int,
    no_gold: int = 0,
    resamples: int = 2000,
    seed: int = 0,
) -> Corrections:
    """The worth of the corrections tried.

    Args:
        tested: all solutions judged, for the counts.
    """
    rows = list(tried)
    critiques = [one.said for one in tested if isinstance(one.said, Critique)]
    flagged = [critique for critique in critiques if critique.first_error is not None]
    sides = [side for one in rows for side in (one.before, one.after) if side is not None]
    complete = [one for one in rows if one.before is not None and one.after is not None]

    def scores(label: bool | None) -> CorrectionScores:
        return _scores([one for one in complete if one.label is label], resamples, seed)

    found = _scores(complete, resamples, seed)
    return Corrections(
        policy=policy,
        marked_by=marked_by,
        continuations=continuations,
        flagged=len(flagged),
        uncorrected=sum(not corrects(critique) for critique in flagged),
        no_gold=no_gold,
        tried=len(rows),
        failed=len(rows) - len(complete),
        unmarked=len(complete) - found.pairs,
        restarted=sum(side.restarted for side in sides),
        all=found,
        true_errors=scores(False),
        false_alarms=scores(True),
        unlabelled=scores(None),
        prompt_tokens=sum(side.usage.prompt_tokens for side in sides if side.usage is not None),
        completion_tokens=sum(side.usage.completion_tokens for side in sides if side.usage is not None),
    )


def _scores(rows: Sequence[Tried], resamples: int, seed: int) -> CorrectionScores:
    shares = [
        (before, after, one.group)
        for one in rows
        if one.before is not None
        and one.after is not None
        and (before := one.before.share) is not None
        and (after := one.after.share) is not None
    ]
    found = paired(shares, resamples=resamples, seed=seed)
    return CorrectionScores(
        pairs=len(shares),
        before=sum(before for before, _, _ in shares) / len(shares) if shares else None,
        after=sum(after for _, after, _ in shares) / len(shares) if shares else None,
        gain=found and found.difference,
        low=found and found.low,
        high=found and found.high,
        method=found and found.method,
        helped=found.gained if found else 0,
        harmed=found.lost if found else 0,
    )
