"""Training examples with pictures of their own, and what an export made of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.train.files import write_records
from assay.train.records import Example
from support.pictures import file_of, noise

RIGHT = "Step 1\nJudgement: Correct\nStep 2\nJudgement: Correct\nEnd of critique"
WRONG = "Step 1\nJudgement: Correct\nStep 2\nJudgement: Incorrect\nCorrection of step 2: It is 3.\nEnd of critique"


def example(
    number: int,
    *,
    images: Sequence[str] = (),
    question: str | None = None,
    group: str | None = None,
    steps: Sequence[str] = ("The bar reaches 4.\n\n", "So the answer is 4."),
    critique: str | None = None,
) -> Example:
    """Example `e<number>`; of those with an odd number the second step is wrong."""
    wrong = number % 2 == 1
    return Example(
        id=f"e{number}",
        source="made",
        group=f"g{number}" if group is None else group,
        question=f"How high is bar {number}?" if question is None else question,
        images=tuple(images),
        steps=tuple(steps),
        critique=critique or (WRONG if wrong else RIGHT),
        labels=(True, not wrong),
        first_error=1 if wrong else None,
        origin="gold",
    )


def write_examples(folder: Path, examples: Sequence[Example], name: str = "examples.jsonl") -> Path:
    path = folder / name
    write_records(path, "examples", examples, settings={})
    return path


def write_picture(folder: Path, name: str, seed: int) -> str:
    """A PNG of noise; every seed gives another one."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(file_of(noise("RGB", (40, 30), seed), "PNG"))
    return name


def odd_examples(folder: Path) -> list[Example]:
    """Rows that say in many ways what a trainer could take for a picture, with none, one and several pictures."""
    one, two, three = (write_picture(folder, f"pictures/{seed}.png", seed) for seed in range(3))
    marks = "<image> <video> <audio> <img>x.png</img> {{image}} [IMG] <|image_pad|> <|end|> <|start|>assistant\n <bbox>"
    texts = [
        ("<image>\nFind the area.", (one,)),
        ("Find the area.<image>", (one,)),
        ("See <image> and find the area.", (two,)),
        ("<image>\n<image>\nWhich is larger?", (one, three)),
        ("Compare <image> with <image> and <IMAGE>.", (three, two, one)),
        ("No picture, but <image> in the text.", ()),
        (f"A text with {marks}", (two,)),
        (f"{marks} without a picture", ()),
        ("Wie groß ist α? 图中的面积是多少 😀 \u2028 \u200f شكل", (one,)),
        ("long " * 4_000, (two,)),
    ]
    plain = [example(place, question=text, images=images) for place, (text, images) in enumerate(texts)]
    in_steps = example(
        len(plain),
        images=(one,),
        question="What is in the picture?",
        steps=(f"I see <image>. {marks}\n\n", "So it is 4."),
        critique=WRONG.replace("It is 3.", f"Look at <image>: {marks}\nIt is 3."),
    )
    return [*plain, in_steps]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def exported(out: Path, form: str = "trl") -> list[dict[str, Any]]:
    """The rows of both parts."""
    parts = (out / form / f"{part}.jsonl" for part in ("train", "held_out"))
    return [row for path in parts if path.exists() for row in rows_of(path)]
