"""A critic behind a server that knows a wrong step by a mark in its text, and sets of solutions for it."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.servers import Call

_SOLUTION = re.compile(r"<solution>\n(.*)\n</solution>", re.DOTALL)
_STEP = re.compile(r"^Step (\d+): (.*)$", re.MULTILINE)
CORRECTION = "mended [fixed]"


def shown_steps(call: Call) -> list[str]:
    """The steps that a generative critic is shown, where each is one line."""
    found = _SOLUTION.search(call.question)
    assert found, call.question
    return [text for _, text in _STEP.findall(found[1])]


def critique(verdicts: Sequence[bool], *, correction: str | None = CORRECTION) -> str:
    """A critique in the form that is asked for."""
    lines: list[str] = []
    for number, right in enumerate(verdicts, start=1):
        word = "Correct" if right else "Incorrect"
        lines += [f"Step {number}", "Intent: add", "Image: none | Correct", f"Logic: so | {word}", f"Judgement: {word}"]
    if correction is not None and not all(verdicts):
        lines.append(f"Correction of step {list(verdicts).index(False) + 1}: {correction}")
    return "\n".join([*lines, "End of critique"])


def by_mark(call: Call, _draw: int) -> str:
    """A generative critic: a step that says [bad] is wrong."""
    return critique(["[bad]" not in step for step in shown_steps(call)])


def by_number(wrong: Callable[[int], bool]) -> Callable[[Call, int], str]:
    """A generative critic to which the steps with these numbers, from 1, are wrong whatever they say."""

    def answer(call: Call, _draw: int) -> str:
        found = re.search(r"Go through the (\d+) numbered steps", call.question)
        assert found, call.question
        return critique([not wrong(number) for number in range(1, int(found[1]) + 1)])

    return answer


def plus_minus(call: Call, _draw: int) -> str:
    """A step-token critic: - for a step that says [bad]."""
    return "-" if "[bad]" in call.question else "+"


def write_rows(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def vpb_row(question: str, labels: Sequence[int], verdicts: str, **changed: Any) -> dict[str, Any]:
    """A row in VisualProcessBench's form; `verdicts` are what the critic of `by_mark` says, as + and -."""
    steps = [f"part {number} [{'ok' if said == '+' else 'bad'}]" for number, said in enumerate(verdicts)]
    response = {"steps": steps, "process_correctness": list(labels)}
    row: dict[str, Any] = {"question": question, "data_source": "MathVerse", "image": [], "response": response}
    return row | changed
