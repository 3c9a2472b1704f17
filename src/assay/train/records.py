"""The records of critic training and testing: solutions with step labels, rollouts with their verdicts."""

from msgspec import Struct


class LabelledSolution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution whose steps are labelled, from a process benchmark or from rollouts.

    Attributes:
        id: unique within its set.
        source: the set, and its part where it has parts.
        question: the question's text.
        images: paths of the pictures.
        steps: the steps, in order.
        labels: for every step True (right), False (wrong) or None (neutral, or not labelled: metrics leave it out).
        first_error: position, from 0, of the first wrong step; None where all are right; -1 where the set does not say.
        group: solutions of one group share a picture or a question.
    """

    id: str
    source: str
    question: str
    steps: tuple[str, ...]
    labels: tuple[bool | None, ...]
    first_error: int | None
    images: tuple[str, ...] = ()
    group: str


class Completion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One completion from a step prefix: `right` None where it could not be marked (never counted as wrong)."""

    index: int
    seed: int
    text: str
    answer: str | None
    right: bool | None


class StepRollout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The completions from the prefix that ends with this step.

    `soft` = successes / completions marked, None where none was marked or drawing ended at the first success; `hard` =
    at least one success, None where no completion succeeded and not all of the full scheme's were drawn or marked.
    `skipped`: not drawn at all, because an earlier step is wrong already.
    """

    step: str
    completions: tuple[Completion, ...] = ()
    soft: float | None = None
    hard: bool | None = None
    skipped: bool = False


class Rollout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution of a question with its rollouts. `right`: the verdict on the solution itself."""

    sample_id: str
    group: str
    solution: int
    steps: tuple[StepRollout, ...]
    answer: str | None
    right: bool | None
