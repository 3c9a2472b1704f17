"""Choice questions about fruit in MATH-Vision's layout, and a server's view of them."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

from support.faults import Call
from support.pictures import file_of, noise

FRUIT = ("apple", "pear", "plum", "fig", "kiwi")
_NUMBER = re.compile(r"Question number (\d+) end")
_OPTION = re.compile(r"^\(([A-E])\) (\w+)$", re.MULTILINE)


def make_fruit(
    folder: Path,
    count: int,
    *,
    gold: Callable[[int], int] = lambda number: number % 5,
    picture: Callable[[int], int] = lambda number: number,
) -> Path:
    """`count` questions with five options each; `gold` is the right one's place, `picture` the seed of the picture."""
    (folder / "images").mkdir(parents=True)
    with (folder / "testmini.jsonl").open("w", encoding="utf-8") as rows:
        for number in range(count):
            name = f"images/{number}.png"
            (folder / name).write_bytes(file_of(noise("L", (8, 8), seed=picture(number)), "PNG"))
            row = {
                "id": str(number),
                "question": f"Question number {number} end: which fruit?\n<image1>",
                "options": list(FRUIT),
                "answer": "ABCDE"[gold(number)],
                "level": 1,
                "subject": "logic",
                "image": name,
            }
            rows.write(json.dumps(row) + "\n")
    return folder


def number_of(call: Call) -> int:
    found = _NUMBER.search(call.question)
    assert found, call.question
    return int(found[1])


def letter_of(call: Call, fruit: str) -> str:
    """The letter under which a question shows a fruit."""
    return next(letter for letter, shown in _OPTION.findall(call.question) if shown == fruit)


def boxed(letter: str) -> str:
    return f"I look at the picture.\n\\boxed{{{letter}}}"


def url_of(data: Path, number: int) -> str:
    """The picture of a question as it is sent."""
    return "data:image/png;base64," + base64.b64encode((data / "images" / f"{number}.png").read_bytes()).decode()
