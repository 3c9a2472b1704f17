"""Whose judged verdicts stand beside each other where several runs are set side by side."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.errors import UsageError
from assay.mark.judged import Judge, judge_of
from assay.types import Outcome

__all__ = ["judge_of_run", "judges_notes"]


def judge_of_run(folder: Path, outcomes: Iterable[Outcome]) -> Judge:
    """The judge whose verdicts count for a run.

    Raises:
        UsageError: no reply of the run was judged.
    """
    judge = judge_of(outcomes)
    if judge is None:
        raise UsageError(
            f"{folder} has no verdicts of a judge. Have its replies judged: assay score {folder} --judge ADDRESS."
        )
    return judge


def judges_notes(judges: Mapping[str, Judge]) -> tuple[str, ...]:
    """Whose verdicts the runs have, by the name of each run; a warning where they are not all one judge's."""
    if not judges:
        return ()
    if len(set(judges.values())) == 1:
        return (f"judged: the verdicts of {_words(next(iter(judges.values())))}.",)
    each = "; ".join(f"{run} by {_words(judge)}" for run, judge in judges.items())
    return (f"The runs were judged by different judges, who give other scores to the same replies: {each}.",)


def _words(judge: Judge) -> str:
    return f"{judge.name}, prompt {judge.prompt_hash[:12]}"
