"""One server that plays policy and teacher for docs/training.md, on packaged questions with several options.

A solution has three steps; it is right, or goes wrong at one of them, by its seed, and says so there ("by mistake"), so
that the teacher can tell. From a prefix without a mistake three continuations in four are right, from one with a
mistake none is. The teacher judges by these words; of a few solutions it answers with prose, is cut, or refuses.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.command import PACKAGED
from support.process import critique, shown_steps
from support.servers import Call, Draw

POLICY, TEACHER = "NAME", "TEACHER"
MISTAKE = "by mistake"
TURNS = ("We look at the picture{0}.", "We compare what it shows{0}.", "So we choose{0}: \\boxed{{{1}}}")
PATHS = (None, 2, 0, 1, None, 0, 1, 2)
"""Where a solution goes wrong, by its seed; None: nowhere."""


def packaged_questions() -> list[dict[str, Any]]:
    """Packaged MATH-Vision items with options and one picture, the shortest first."""
    lines = (PACKAGED / "mathvision" / "testmini.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["options"] and "<image2>" not in str(row)]
    return sorted(rows, key=lambda row: len(row["question"]))


def write_questions(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """The items as a file of one's own questions, with their pictures beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            picture = path.parent / row["image"]
            picture.parent.mkdir(exist_ok=True)
            picture.write_bytes((PACKAGED / "mathvision" / row["image"]).read_bytes())
            asked = row["question"].replace("<image1>", "").strip()
            own = {"id": row["id"], "question": asked, "image": row["image"], "options": row["options"]}
            file.write(json.dumps(own | {"answer": row["answer"], "subject": row["subject"]}) + "\n")
    return path


class World:
    """What the server says; `gold` of a question's text, so that it can be right and wrong."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._gold = {row["question"].replace("<image1>", "").strip(): row["answer"] for row in rows}

    def answer(self, call: Call, draw: int) -> str | Draw:
        if call.body["model"] == TEACHER:
            return self._teach(call)
        if "Count from one" in call.question:  # the probe finds out how turns are continued
            return " seven, eight, nine, ten"
        return self._solve(call, call.seed + draw)

    def _solve(self, call: Call, seed: int) -> str:
        gold = next((gold for text, gold in self._gold.items() if text in call.question), "A")
        begun = call.prefill or ""
        if MISTAKE in begun:
            path, first = 0, begun.count("\n\n")
        elif begun:
            path, first = (None, 1, None, None)[seed % 4], begun.count("\n\n")
        else:
            path, first = PATHS[seed % len(PATHS)], 0
        letter = gold if path is None and MISTAKE not in begun else "ABCDE"[("ABCDE".index(gold) + 1) % 5]
        turns = [turn.format(f", {MISTAKE}" if place == path else "", letter) for place, turn in enumerate(TURNS)]
        return "\n\n".join(turns[first:])

    def _teach(self, call: Call) -> str | Draw:
        right = [MISTAKE not in step for step in shown_steps(call)]
        kind = sum(call.question.encode()) % 16
        if kind == 1:
            return "I am sorry, but I would rather talk about the weather."
        if kind == 2:
            return Draw(text="Step 1\nIntent: to look", finish="length")
        if kind == 3:
            return Draw(text="", finish="content_filter")
        if kind == 4:  # it sees nothing wrong, ever
            right = [True] * len(right)
        return critique(_until_mistake(right), correction="We look again.")


def _until_mistake(right: Sequence[bool]) -> list[bool]:
    """What builds on a mistake is wrong as well."""
    return [all(right[: place + 1]) for place in range(len(right))]
