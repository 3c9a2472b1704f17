"""The records of critic training and testing: solutions with step labels, rollouts, critiques, examples.

What one command writes and the next reads are files of these records (see `train.files`):

    rollouts   `RolledSolution`   solutions with Monte-Carlo labels    assay prm rollouts, or VisualPRM400K's own files
    critiques  `TeacherCritique`  what a teacher said of a solution    assay prm label
    examples   `Example`          what a critic is trained on          assay prm filter
"""

from typing import Literal

from msgspec import Struct

from assay.solve.critique_format import Written
from assay.types import Finish, Usage


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
    """One completion from a step prefix: `right` None where it could not be marked (never counted as wrong).

    `seed` is its request's, moved on by its place among the request's draws, as vLLM has it. `finish` is why it ended:
    one that was cut at the token limit reached no answer, which is not right.
    """

    index: int
    seed: int
    text: str
    answer: str | None
    right: bool | None
    finish: Finish = "stop"


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


class RolledStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step with its labels: `successes` of the `marked` completions from the prefix that ends with it were right.

    `soft` and `hard` as in `StepRollout`, where the completions themselves are kept.
    """

    text: str
    successes: int = 0
    marked: int = 0
    soft: float | None = None
    hard: bool | None = None
    skipped: bool = False


class RolledSolution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution with its labels and all that the later commands need of its question.

    Attributes:
        id: unique within the file, e.g. `12#3` for solution 3 of sample 12.
        sample_id: the question.
        group: questions of one group share a picture or a seed question; never parted by a split.
        source: the benchmark or data set that the question is from; VisualPRM400K's is in its files' names.
        question: what the policy was asked, options and the form of the answer included.
        images: paths of the pictures; relative ones start from the file's folder.
        gold: the right answer, as text.
        steps: the solution's steps, in order; their texts joined are the solution as it was written.
        answer, right: the solution's own answer and the verdict on it; None where there is none.
        facets: what the question's benchmark groups it by (subject, topic).
    """

    id: str
    sample_id: str
    group: str
    source: str
    question: str
    images: tuple[str, ...] = ()
    gold: str
    steps: tuple[RolledStep, ...]
    answer: str | None = None
    right: bool | None = None
    facets: dict[str, tuple[str, ...]] = {}

    @property
    def first_error(self) -> int | None:
        """Position of the first step without a success; None where every step has one; -1 where that can't be told."""
        for place, step in enumerate(self.steps):
            if step.hard is None:
                return -1
            if not step.hard:
                return place
        return None


TeacherStatus = Literal[
    "parsed",
    "unparsable",
    "truncated",
    "refused",
    "failed",  # the call failed
]


class TeacherCritique(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a teacher said of one solution, after `attempts` tries with different seeds.

    Attributes:
        solution_id: `RolledSolution.id`.
        teacher: the model's identity.
        with_gold: whether it was shown the right answer.
        attempts: tries made; the last one is what is recorded.
        status: what came of the last try.
        critique: None unless parsed.
        text: the reply as it was written; empty where there was none.
        reason: why it is not parsed; empty if it is.
        usage: tokens of all tries.
    """

    solution_id: str
    teacher: str
    with_gold: bool
    attempts: int
    status: TeacherStatus
    critique: Written | None = None
    text: str = ""
    reason: str = ""
    usage: Usage | None = None


class Example(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One training example of a generative critic: a solution, and the critique that it is to write of it.

    Attributes:
        id: the solution's.
        source, group, question, images: see `RolledSolution`.
        steps: the solution's steps.
        critique: the critique in the form of `solve.critique_format`, the model's target.
        labels: for every step True (right), False (wrong) or None (not labelled), as the critique has them.
        first_error: position of the first wrong step; None where all are right.
        origin: who wrote the critique: a teacher's identity, or `gold` where steps are labelled by construction.
    """

    id: str
    source: str
    group: str
    question: str
    images: tuple[str, ...] = ()
    steps: tuple[str, ...]
    critique: str
    labels: tuple[bool | None, ...]
    first_error: int | None
    origin: str


class ChatRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of supervised fine-tuning; loss falls on `completion` alone.

    Attributes:
        id, group: see `Example`.
        images: paths of the pictures, shown before the prompt's text; relative ones start from the file's folder.
        prompt: the user's turn, exactly as the model will be asked at test time.
        completion: the assistant's turn.
        labels: the steps' labels where the row is a critique, for a held-out step F1 during training; else empty.
    """

    id: str
    group: str
    images: tuple[str, ...] = ()
    prompt: str
    completion: str
    labels: tuple[bool | None, ...] = ()


class Dropped(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a command left out, and why.

    Attributes:
        id: of the solution, example or row; empty where it could not be read.
        where: the file, with the row's number where it is known.
        kind: a short stable word for the tables, such as `missing` or `near_duplicate`.
        reason: one sentence for a person.
    """

    id: str
    where: str
    kind: str
    reason: str
