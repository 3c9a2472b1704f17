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

from assay.fincharts.lite import COLOURS, HIGHEST, LETTERS, Kind, LiteItem, draw, items, named, solution, walk, written
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


def skills(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """What both need: to read bars, and the task with the chart in words, whole or one step of it."""
    chance = rng.random()
    if chance < 0.5:
        return captions(item, rng)
    if chance < 0.85:
        return next_step(item, rng)
    return textual(item) + question(item), written(solution(item)), False


def critic_skills(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """What a critic needs besides: to weigh a claim."""
    return ("Weigh.", weighing(rng), False) if rng.random() < 0.2 else skills(item, rng)


def next_step(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """The next step of a solution that is begun in the prompt, mostly a comparison: nothing else is learned."""
    steps = solution(item)
    place = rng.choices(range(len(steps)), [8 if chosen(step) else 1 for step in steps])[0]
    before = "".join(f"Step {number}: {step}\n\n" for number, step in enumerate(steps[:place], start=1))
    prompt = f"{question(item)}\n\n{before}"
    if place < len(item.asked):  # a reading, which can't be known without the chart
        prompt = textual(item) + prompt
    step = steps[place]
    return prompt, step if place == len(steps) - 1 else f"Step {place + 1}: {step}", False


def chosen(step: str) -> bool:
    """Whether a step compares: goes through the options, or says yes or no."""
    return step.endswith((" fits.", ", yes.", ", no."))


def policy(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """The task: with the picture, with the chart in words, or a choice alone."""
    chance = rng.random()
    if chance < 0.15:
        return next_step(item, rng)
    answer = written(solution(item))
    if chance < 0.25:
        return textual(item) + question(item), answer, False
    return question(item), answer, True


def critic(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """Critiques of solutions with errors: with the picture, with the chart in words, one of their steps, or drills.

    Choices are guessed in most solutions: a critic that is shown mostly right ones takes them over as its own.
    """
    chance = rng.random()
    if chance < 0.1:
        return "Weigh.", weighing(rng), False
    steps, _ = perturb(item, rng, clean=0.1, guessed=0.85)
    if chance < 0.4 and any(map(chosen, solution(item))):
        return next_judgement(item, steps, rng)
    return critic_row(item, steps, shown=chance < 0.88)


def polish(item: LiteItem, rng: random.Random) -> tuple[str, str, bool]:
    """What a critic learns last: to go through numbers as options, to compare, and to read every bar right."""
    chance = rng.random()
    if chance < 0.2:
        return captions(item, rng)
    if chance < 0.5:
        return next_step(item, rng)
    steps, _ = perturb(item, rng, clean=0.1, guessed=0.85)
    if chance < 0.8 and any(map(chosen, solution(item))):
        return next_judgement(item, steps, rng)
    return critic_row(item, steps, shown=True)


POLISHED: tuple[Kind, ...] = (*("difference_choice", "sum_choice") * 2, "higher", "lower", "above")


def next_judgement(item: LiteItem, steps: Sequence[str], rng: random.Random) -> tuple[str, str, bool]:
    """What is written of a comparison, in a critique that is begun in the prompt: nothing else is learned."""
    said = judge(item, steps)
    place = rng.choice([number for number, step in enumerate(solution(item)) if chosen(step)])
    text = critique(said[: place + 1], None).split("End of critique")[0].rstrip("\n")
    cut = text.rindex("Logic: ") + len("Logic: ")
    return critic_prompt(question(item), steps) + "\n\n" + text[:cut], text[cut:], False


def critic_row(item: LiteItem, steps: Sequence[str], *, shown: bool) -> tuple[str, str, bool]:
    prompt = critic_prompt(question(item), steps)
    return prompt if shown else textual(item) + prompt, critique(judge(item, steps), correction(item, steps)), shown


def weighing(rng: random.Random, count: int = 7) -> str:
    """A row of comparisons without a question: the verdicts alone can be learned, half of them Incorrect."""
    return critique([_weighed(rng) for _ in range(count)], None)


def _weighed(rng: random.Random) -> LiteStep:
    equal = rng.random() < 0.5
    kind = rng.choices(("read", "compute", "choose", "answer"), (40, 25, 20, 15))[0]
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
    if kind == "choose":
        options = rng.sample(range(1, 2 * HIGHEST + 1), 4)
        own = rng.choice(LETTERS)
        told = own if equal else rng.choice(LETTERS)
        return _weighed_logic("choose", walk(list(map(str, options)), own).removesuffix("."), own, told)
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


def spoiled(step: str, options: Sequence[str], rng: random.Random) -> str:
    """The step with one of its values changed."""
    if step.endswith(" fits."):
        right = LETTERS[step.count(",")]
        return walk(options, rng.choice([letter for letter in LETTERS[: len(options)] if letter != right]))
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
    maker: Callable[[LiteItem, random.Random], tuple[str, str, bool]],
    seed: str,
    count: int,
    pictures: Pictures,
    kinds: Sequence[Kind] | None = None,
) -> Iterator[Row]:
    """So many rows of one kind, of questions of these kinds (as often as they are named; of all by default)."""
    rng = random.Random(f"rows {seed}")
    for number, item in enumerate(itertools.islice(items(seed, kinds=kinds), count)):
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
