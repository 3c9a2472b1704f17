"""What becomes of a judged solution in the refined half: pure decisions, no calls.

A solution whose first error is step t is refined: the policy goes on from steps 1 .. t-1 and the corrected step t. Any
other is drawn again from the unchanged question. Source: GM-PRM (arXiv 2508.04088), Refined Best-of-N; what it leaves
open is said beside the code.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.solve.records import Critique, Judged, Reason, Refined, Solution, Unjudged
from assay.solve.select import kept_prefix, plan_second_half

Recritique = Literal[
    "all",  # the critic judges every step of a refined solution
    "new",  # its scores count for the policy's new steps alone
]


class Refine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="refine"):
    """Go on from these steps; the last of them is the corrected one."""

    kept: tuple[str, ...]


class Resample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="resample"):
    """Draw again from the unchanged question."""

    reason: Reason


def next_move(judged: Judged, *, refine_below: float | None = None) -> Refine | Resample:
    """Refine a solution or draw again; see `select.plan_second_half`.

    Ours, where the paper is silent: a solution without a critique, and one whose error has no correction, are drawn
    again; with `refine_below` also one whose first wrong step has that score or more.
    """
    critique = judged.critique
    if isinstance(critique, Critique) and plan_second_half(judged, refine_below=refine_below) == "refine":
        return Refine(kept=kept_prefix(judged.solution, critique))
    return Resample(reason=_why_not(judged))


def _why_not(judged: Judged) -> Reason:
    """Why a solution that is not refined is not."""
    if not isinstance(judged.critique, Critique):
        return "unjudged"
    if judged.critique.first_error is None:
        return "clean"
    return "uncorrected" if plan_second_half(judged) == "resample" else "unsure"


def chain_lengths(n: int, rounds: int) -> tuple[int, ...]:
    """How `n` solutions are spread over chains: a first solution each, then one for each round that refines the newest.

    The pool has exactly n solutions however many rounds there are, so that searches are compared at equal n. One round:
    the first ceil(n/2) are drawn, the first floor(n/2) of them are refined or drawn again.

    Raises:
        ValueError: for less than one solution or a negative number of rounds.
    """
    if n < 1 or rounds < 0:
        raise ValueError(f"a pool of {n} solutions and {rounds} rounds can't be")
    width = -(-n // (rounds + 1))
    return tuple(-(-(n - chain) // width) for chain in range(width))


def merge_critique(parent: Judged, solution: Solution, new: Critique | Unjudged) -> Critique | Unjudged:
    """The critique of a refined solution in which a critic can't confirm its own correction (`--recritique new`).

    The steps before the correction keep the parent's verdicts, the corrected step counts as correct and has no score,
    the steps that the policy wrote have the new critique's. A solution that stands on nothing of its parent's keeps its
    critique as it is.
    """
    origin, old = solution.origin, parent.critique
    if not isinstance(new, Critique) or not isinstance(old, Critique) or not isinstance(origin, Refined):
        return new
    kept = origin.kept
    if not kept:
        return new
    if len(new.steps) <= kept < len(solution.steps):
        reason = f"the critic stopped at step {len(new.steps)}, before the policy's new steps"
        return Unjudged(kind="unparsable", reason=reason, usage=new.usage, calls=new.calls)
    corrected = replace((new if len(new.steps) >= kept else old).steps[kept - 1], correct=True)
    steps = (*old.steps[: kept - 1], corrected, *new.steps[kept:])
    merged = replace(new, steps=steps, unscored=(*(p for p in old.unscored if p < kept - 1), kept - 1))
    if merged.first_error != new.first_error:  # its correction is of a step that does not count
        merged = replace(merged, correction=None)
    return merged
