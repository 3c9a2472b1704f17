"""Rollouts and critiques for the tests of critic training."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from assay.solve.critique_format import Written, WrittenStep, render
from assay.train.files import write_records
from assay.train.records import RolledSolution, RolledStep, TeacherCritique


def rolled(name: str, *successes: int, marked: int = 4, **changed: Any) -> RolledSolution:
    """A solution whose step k had `successes[k]` right completions of `marked`."""
    steps = tuple(
        RolledStep(
            text=f"Step {number}: {name} adds {number}.\n\n",
            successes=right,
            marked=marked,
            soft=right / marked,
            hard=right > 0,
        )
        for number, right in enumerate(successes, start=1)
    )
    sample = name.partition("#")[0]
    plain = RolledSolution(
        id=name,
        sample_id=sample,
        group=sample,
        source="quiz",
        question=f"Question {sample} end: how much is it?",
        gold="12",
        steps=steps,
        answer="12",
        right=bool(successes) and successes[-1] > 0,
    )
    return structs.replace(plain, **changed)


def write_rollouts(path: Path, solutions: Sequence[RolledSolution]) -> Path:
    write_records(path, "rollouts", solutions, settings={"made": "by hand"})
    return path


def written(*correct: bool, correction: str | None = "The sum is 12.") -> Written:
    """A critique with these judgements; with a correction where one is wrong."""
    steps = tuple(
        WrittenStep(
            correct=right,
            intent=f"do part {number}",
            image="nothing is read off",
            image_correct=True,
            logic="it follows" if right else "it does not follow",
            logic_correct=right,
        )
        for number, right in enumerate(correct, start=1)
    )
    return Written(steps=steps, correction=None if all(correct) else correction)


def critique_text(*correct: bool, correction: str | None = "The sum is 12.") -> str:
    return render(written(*correct, correction=correction))


def said_by(teacher: str, name: str, *correct: bool, **changed: Any) -> TeacherCritique:
    """What a teacher said of the solution `name`."""
    plain = TeacherCritique(
        solution_id=name, teacher=teacher, with_gold=False, attempts=1, status="parsed", critique=written(*correct)
    )
    return structs.replace(plain, **changed)
