"""Critiques out of Monte-Carlo labels alone, for the ablation that asks what a teacher's words are worth.

What a teacher that disagrees has written can't be used, and one that agrees would give some examples comments that the
others lack. So none has any: a critique is its judgements and, where there is one, a correction of the first wrong one:

- a teacher's, where it finds the same first wrong step;
- else the step of another solution of the question, where all steps before are the same, and completions from it have
  reached the right answer;
- else none.
"""

import hashlib
from collections.abc import Sequence

from assay.solve.critique_format import Written, WrittenStep
from assay.solve.steps import strip_step
from assay.train.concord import Labels, first_error
from assay.train.records import RolledSolution

__all__ = ["Siblings", "minimal"]


class Siblings:
    """The steps that were good to go on from, by question and by the steps before."""

    def __init__(self) -> None:
        self._good: dict[bytes, str] = {}

    def add(self, question: str, solution: RolledSolution) -> None:
        """Take in a solution's good steps, up to its first wrong one."""
        for place, step in enumerate(solution.steps):
            if not step.hard:
                return
            self._good.setdefault(_prefix(question, solution, place), strip_step(step.text))

    def correction(self, question: str, solution: RolledSolution) -> str | None:
        """What may stand in the place of the first wrong step; None where nothing is known."""
        place = first_error(tuple(step.hard for step in solution.steps))
        return None if place is None else self._good.get(_prefix(question, solution, place))


def _prefix(question: str, solution: RolledSolution, place: int) -> bytes:
    before = "\x00".join(" ".join(strip_step(step.text).split()) for step in solution.steps[:place])
    return hashlib.sha256(f"{question}\x00{place}\x00{before}".encode("utf-8", "surrogatepass")).digest()


def minimal(labels: Labels, correction: str | None) -> tuple[Written, Labels]:
    """The critique that says just these labels, and the labels that it says.

    Where a step after the first wrong one is not labelled the critique stops at the first wrong one.

    Raises:
        ValueError: the labels don't tell the first wrong step, nor that there is none.
    """
    first = first_error(labels)
    said: Sequence[bool | None] = labels
    if first is not None and None in labels:
        said = labels[: first + 1]
    if None in said:
        raise ValueError("the labels do not tell the first wrong step")
    steps = tuple(WrittenStep(correct=bool(label)) for label in said)
    padding = (None,) * (len(labels) - len(said))
    return Written(steps=steps, correction=correction if first is not None else None), (*said, *padding)
