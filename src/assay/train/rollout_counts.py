"""What rollouts took, and what the full scheme would have taken."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from assay.train.rollouts import Rolled, RolloutPlan

__all__ = ["Counts", "count"]


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was drawn, and what the full scheme would have drawn of the same solutions.

    `asked` counts completions that failed too. `unmarked` completions are neither right nor wrong: nobody could tell,
    or they `restarted`. Complete ones without an answer (`unanswered`) and those cut at the token limit (`truncated`)
    reach no right answer: they count as marked and not right, and are told apart all the same. `right`, `wrong` and
    `unlabelled` are the steps' hard labels; `skipped` steps have none.
    """

    questions: int = 0
    solutions: int = 0
    steps: int = 0
    right: int = 0
    wrong: int = 0
    unlabelled: int = 0
    skipped: int = 0
    completions: int = 0
    unmarked: int = 0
    restarted: int = 0
    unanswered: int = 0
    truncated: int = 0
    failed: int = 0
    full_scheme: int = 0

    @property
    def asked(self) -> int:
        return self.completions + self.failed

    @property
    def share(self) -> float:
        """Completions asked for, as a share of the full scheme's; 1 where there is nothing to ask."""
        return self.asked / self.full_scheme if self.full_scheme else 1.0


def count(rolled: Iterable[Rolled], plan: RolloutPlan) -> Counts:
    """What questions rolled out by a plan took."""
    counts = Counts()
    for one in rolled:
        steps = [step for rollout in one.rollouts for step in rollout.steps]
        completions = [completion for step in steps for completion in step.completions]
        more = {
            "questions": 1,
            "solutions": len(one.rollouts),
            "steps": len(steps),
            "right": sum(step.hard is True for step in steps),
            "wrong": sum(step.hard is False for step in steps),
            "unlabelled": sum(step.hard is None and not step.skipped for step in steps),
            "skipped": sum(step.skipped for step in steps),
            "completions": len(completions),
            "unmarked": sum(completion.right is None for completion in completions),
            "restarted": one.restarted,
            "unanswered": sum(
                completion.right is False and completion.answer is None and completion.finish != "length"
                for completion in completions
            ),
            "truncated": sum(completion.finish == "length" for completion in completions),
            "failed": len(one.failures) if one.rollouts else 0,  # else it is the solutions that failed
            "full_scheme": len(steps) * plan.completions,
        }
        counts = replace(counts, **{name: getattr(counts, name) + value for name, value in more.items()})
    return counts
