"""Critics that look at nothing: what a score must beat before it says anything.

always-correct      every step is right
always-incorrect    every step is wrong
random              every step is right with probability one half, drawn from the seed and the solution's id
"""

from collections.abc import Sequence
from random import Random
from typing import Literal, get_args

from assay.models.base import derive_seed
from assay.solve.critic import Critic, ScriptedCritic
from assay.solve.records import Critique, Solution, StepVerdict
from assay.types import Sample

__all__ = ["FLOORS", "Floor", "floor_critic", "floor_scores"]

Floor = Literal["always-correct", "always-incorrect", "random"]

FLOORS: tuple[Floor, ...] = get_args(Floor)


def floor_scores(floor: Floor, identity: str, steps: int, *, seed: int) -> list[float]:
    """The scores that a floor gives the steps of the solution with this id."""
    match floor:
        case "always-correct":
            return [1.0] * steps
        case "always-incorrect":
            return [0.0] * steps
        case "random":
            draw = Random(derive_seed(seed, identity, 0))  # noqa: S311  (a control, no secret)
            return [draw.random() for _ in range(steps)]


def floor_critic(floor: Floor, *, seed: int) -> Critic:
    """A floor as a critic; it asks no model."""

    def say(sample: Sample, solution: Solution) -> Critique:
        return Critique(steps=_verdicts(floor_scores(floor, sample.id, len(solution.steps), seed=seed)), calls=0)

    return ScriptedCritic(say, identity=f"floor:{floor}" + (f" seed={seed}" if floor == "random" else ""))


def _verdicts(scores: Sequence[float]) -> tuple[StepVerdict, ...]:
    return tuple(StepVerdict(correct=score > 0.5, score=score, source="given") for score in scores)
