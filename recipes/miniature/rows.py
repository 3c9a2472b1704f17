"""What the two tiny models are trained on: chat rows of FinCharts-lite, made from a seed.

Captions come first (a model that is asked to reason from the start does not learn to see), then the task, with short
drills among it. The critic's rows have solutions with errors of known kinds, and exact critiques of them.
"""

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from assay.fincharts.lite import COLOURS, HIGHEST, LETTERS, LiteItem, draw, items, named, solution, written
from assay.fincharts.lite_critiques import LiteStep, correction, judge, perturb
from assay.solve.critique_format import Written, WrittenStep, render
from assay.solve.generative import critique_message
from assay.types import Message, TextPart

TAIL = "Give the steps, then the answer."

Row = dict[str, object]


def question(item: LiteItem) -> str:
    """What the policy is asked, as the benchmark `fincharts-lite` asks it."""
    options = [f"{letter}: {text}" for letter, text in zip(LETTERS, item.options, strict=False)]
    return "\n".join([named(item), *options]) + f"\n\n{TAIL}"


def critic_prompt(asked: str, steps: Sequence[str]) -> str:
    """What a generative critic is asked about a solution."""
    (part,) = critique_message([Message(role="user", parts=(TextPart(text=asked),))], steps).parts
    assert isinstance(part, TextPart)
    return part.text


def critique(steps: Sequence[LiteStep], corrected: str | None) -> str:
    return render(
        Written(
            steps=tuple(
                WrittenStep(
                    correct=step.correct,
                    intent=step.intent,
                    image=step.image,
                    image_correct=step.image_correct,
                    logic=step.logic,
                    logic_correct=step.logic_correct,
                )
                for step in steps
            ),
            correction=corrected,
        )
    )


class Pictures:
    """Pictures of items, one file for all that show the same bars."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._done: set[str] = set()

    def __call__(self, item: LiteItem) -> str:
        name = "-".join(f"{colour}{height}" for colour, height in item.bars) + ".png"
        if name not in self._done:
            draw(item).save(self._folder / name)
            self._done.add(name)
        return f"{self._folder.name}/{name}"


def textual(item: LiteItem) -> str:
    """The chart in words: the same task without seeing."""
    return " ".join(f"{colour} {height}" for colour, height in item.bars) + "\n\n"


# --------------------------------------------------------------------------------------------------------------------
# Kinds of rows: each maker gives prompt, completion and whether the picture is shown


def captions(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """Heights of all bars from left to right, or of some in the order in which they are named."""
    if rng.random() < 0.3:
        asked, prompt = [colour for colour, _ in item.bars], "Read all bars."
    else:
        asked = rng.sample(list(item.heights), rng.randint(2, len(item.bars)))
        prompt = f"Read {', '.join(asked)}."
    read = [f"Step {number}: {colour} is {item.heights[colour]}." for number, colour in enumerate(asked, start=1)]
    return f"{prompt}\n\n{TAIL}", "\n\n".join(read), True


def policy(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """The task: with the picture, with the chart in words, or a drill in options."""
    chance = rng.random()
    if chance < 0.1:
        return *letters(rng), False
    answer = written(solution(item))
    if chance < 0.28:
        return textual(item) + question(item), answer, False
    return question(item), answer, True


def critic(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """Critiques of solutions with errors: with the picture, with the chart in words, or drills."""
    chance = rng.random()
    if chance < 0.22:
        return "Weigh.", weighing(rng), False
    if chance < 0.27:
        return *letters(rng), False
    steps, _ = perturb(item, rng)
    return critic_row(item, steps, shown=chance < 0.78)


def critic_row(item: LiteItem, steps: Sequence[str], *, shown: bool) -> tuple[str, str, bool]:
    prompt = critic_prompt(question(item), steps)
    return prompt if shown else textual(item) + prompt, critique(judge(item, steps), correction(item, steps)), shown


def letters(rng: random.Random) -> tuple[str, str]:
    """Which letter has this option?"""
    texts = rng.sample([str(number) for number in range(1, 19)] if rng.random() < 0.6 else list(COLOURS), 4)
    place = rng.randrange(4)
    options = "\n".join(f"{letter}: {text}" for letter, text in zip(LETTERS, texts, strict=True))
    return f"Which is {texts[place]}?\n{options}", f"Answer: {LETTERS[place]}"


def weighing(rng: random.Random, count: int = 7) -> str:
    """A row of comparisons without a question: the verdicts alone can be learned, half of them Incorrect."""
    return critique([_weighed(rng) for _ in range(count)], None)


def _weighed(rng: random.Random) -> LiteStep:
    equal = rng.random() < 0.5
    kind = rng.choices(("read", "compute", "rank", "answer"), (45, 25, 10, 20))[0]
    if kind == "read":
        return _weighed_reading(rng, equal=equal)
    if kind == "compute":
        first, second = sorted((rng.randint(1, HIGHEST), rng.randint(1, HIGHEST)), reverse=True)
        sign = rng.choice("+-")
        value = first + second if sign == "+" else first - second
        told = value if equal else max(0, value + rng.choice((-2, -1, 1, 2, 3)))
        return _weighed_logic(
            "add" if sign == "+" else "subtract", f"{first} {sign} {second} = {value}", str(value), str(told)
        )
    if kind == "rank":
        own = rng.choice(list(COLOURS))
        return _weighed_logic("rank", own, own, own if equal else rng.choice(list(COLOURS)))
    answers: list[Callable[[], str]] = [
        lambda: rng.choice(LETTERS),
        lambda: str(rng.randint(0, 2 * HIGHEST)),
        lambda: ",".join(sorted(rng.sample(LETTERS, rng.randint(1, 3)))),
    ]
    make = rng.choices(answers, (2, 1, 1))[0]
    own = make()
    return _weighed_logic("answer", own, own, own if equal else make())


def _weighed_logic(intent: str, own: str, value: str, told: str) -> LiteStep:
    return LiteStep(
        intent=intent, image="no reading", image_correct=True, logic=f"{own}, said {told}", logic_correct=value == told
    )


def _weighed_reading(rng: random.Random, *, equal: bool) -> LiteStep:
    colours = list(COLOURS)
    colour, height = rng.choice(colours), rng.randint(1, HIGHEST)
    told = height if equal else rng.choice([other for other in range(1, HIGHEST + 1) if other != height])
    if not equal and rng.random() < 0.6:
        told = max(1, min(HIGHEST, height + rng.choice((-1, 1))))
    other = colour if rng.random() < 0.85 else rng.choice(colours)
    own, said = colour, other
    if rng.random() < 0.3:
        own = rng.choice(("yes", "no"))
        said = own if rng.random() < 0.6 else rng.choice(("yes", "no"))
    return LiteStep(
        intent=f"read {colour}",
        image=f"{colour} shows {height}, said {told}",
        image_correct=height == told,
        logic=f"{own}, said {said}",
        logic_correct=own == said,
    )


def spoiled(step: str, rng: random.Random) -> str:
    """The step with one of its values changed."""
    if step.startswith("Answer: ") and not step[8:].isdigit():
        return f"Answer: {rng.choice([letter for letter in LETTERS if letter != step[8:]])}"
    numbers = list(re.finditer(r"\d+", step))
    if numbers:
        last = numbers[-1]
        other = rng.choice([value for value in range(1, HIGHEST + 1) if str(value) != last[0]])
        return f"{step[: last.start()]}{other}{step[last.end() :]}"
    colour = next(colour for colour in COLOURS if colour in step)
    return step.replace(colour, rng.choice([other for other in COLOURS if other != colour]))


# --------------------------------------------------------------------------------------------------------------------


def make(
    maker: Callable[[LiteItem, random.Random], tuple[str, str, bool]], seed: str, count: int, pictures: Pictures
) -> Iterator[Row]:
    """So many rows of one kind."""
    rng = random.Random(f"rows {seed}")
    for number, item in enumerate(itertools.islice(items(seed), count)):
        prompt, completion, shown = maker(item, rng)
        yield {
            "id": f"{seed}-{number}",
            "group": f"{seed}-{number}",
            "images": [pictures(item)] if shown else [],
            "prompt": prompt,
            "completion": completion,
        }


def write(path: Path, rows: Iterator[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    return path
