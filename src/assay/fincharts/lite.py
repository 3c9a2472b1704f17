"""FinCharts-lite: the part of FinCharts that a model of a few million parameters can learn.

A picture of 112 x 112 pixels with three or four coloured bars of whole height, 1 to 9, and a question about them: a
numerical one, a choice, or several choices. Few words, exact answers, and the one solution by which steps are judged.

    items(seed)      an endless, seeded row of distinct questions
    draw(item)       the picture
    solution(item)   the gold solution's steps
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from assay.types import ChoiceGold, Gold, NumberGold, Option, Sample

__all__ = [
    "COLOURS",
    "KINDS",
    "Kind",
    "LiteItem",
    "answer_text",
    "draw",
    "items",
    "named",
    "said_of",
    "sample",
    "solution",
    "walk",
    "written",
    "yes",
]

Kind = Literal[
    "difference",  # how much higher is one bar than another
    "sum",  # of two bars
    "difference_choice",
    "sum_choice",
    "higher",  # whether one bar is higher than another: yes or no
    "lower",
    "above",  # which bars are above a height: several choices
]

KINDS: dict[Kind, str] = {
    "difference": "numerical",
    "sum": "numerical",
    "difference_choice": "single_choice",
    "sum_choice": "single_choice",
    "higher": "single_choice",
    "lower": "single_choice",
    "above": "multiple_choice",
}
"""Kind of question -> question type, in FinMME's words."""

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (200, 40, 40),
    "blue": (40, 80, 190),
    "green": (40, 150, 70),
    "orange": (235, 140, 30),
    "purple": (125, 60, 160),
    "black": (30, 30, 30),
}

SIZE = 112  # pixels, both ways
SLOT = 28  # pixels of width for one bar
UNIT = 11  # pixels of height for one unit
BASE = 107  # the row that bars stand on
HIGHEST = 9
LETTERS = "ABCD"


class LiteItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question.

    Attributes:
        bars: colour and height of every bar, from left to right.
        kind: what is asked.
        asked: the colours that the question names, in its order; for `above` those of the options, in their order.
        limit: for `above`, the height.
        options: the options' texts of a choice question, in order; empty otherwise.
    """

    bars: tuple[tuple[str, int], ...]
    kind: Kind
    asked: tuple[str, ...]
    limit: int = 0
    options: tuple[str, ...] = ()

    @property
    def heights(self) -> dict[str, int]:
        return dict(self.bars)


def items(seed: int | str, *, kinds: Sequence[Kind] | None = None) -> Iterator[LiteItem]:
    """Distinct questions without end (there are some ten million), the same for the same seed."""
    rng = random.Random(f"fincharts-lite {seed}")  # noqa: S311
    chosen = list(kinds or KINDS)
    seen: set[LiteItem] = set()
    while True:
        item = _make(rng, rng.choice(chosen))
        if item is not None and item not in seen:
            seen.add(item)
            yield item


def _make(rng: random.Random, kind: Kind) -> LiteItem | None:
    colours = rng.sample(list(COLOURS), 4 if kind == "above" else rng.choice((3, 4)))
    bars = tuple((colour, rng.randint(1, HIGHEST)) for colour in colours)
    heights = dict(bars)
    if kind == "above":
        order, limit = tuple(rng.sample(colours, 4)), rng.randint(2, 7)
        above = sum(height > limit for height in heights.values())
        return LiteItem(bars=bars, kind=kind, asked=order, limit=limit, options=order) if 1 <= above <= 3 else None
    first, second = rng.sample(colours, 2)
    if not kind.startswith("sum") and heights[first] == heights[second]:
        return None
    if kind.startswith("difference") and heights[first] < heights[second]:
        first, second = second, first
    item = LiteItem(bars=bars, kind=kind, asked=(first, second))
    if kind in ("difference", "sum"):
        return item
    options = _options(rng, item) if kind.endswith("_choice") else tuple(rng.sample(("yes", "no"), 2))
    return LiteItem(bars=bars, kind=kind, asked=item.asked, options=options)


def _options(rng: random.Random, item: LiteItem) -> tuple[str, ...]:
    """Four numbers: the answer, and what a misread neighbour, another bar or the other operation would give."""
    right = _value(item)
    heights, (first, second) = item.heights, item.asked
    others = [height for colour, height in item.bars if colour not in item.asked]
    misread = [abs(other - heights[second]) for other in others] + [heights[first] + other for other in others]
    near = [*range(right - 3, right + 4), abs(heights[first] - heights[second]), heights[first] + heights[second]]
    wrong = sorted({value for value in (*misread, *near) if value != right and 1 <= value <= 2 * HIGHEST})
    found = [right, *rng.sample(wrong, 3)]
    rng.shuffle(found)
    return tuple(map(str, found))


def _value(item: LiteItem) -> int:
    """The number that is asked for."""
    first, second = (item.heights[colour] for colour in item.asked)
    return first - second if item.kind.startswith("difference") else first + second


def said_of(item: LiteItem, heights: Mapping[str, int], colour: str) -> bool | None:
    """What a comparing question wants to know of a bar; None where nothing is compared.

    Args:
        heights: of this bar and of those before it, as they were read.
    """
    if item.kind == "above":
        return heights[colour] > item.limit
    if item.kind in ("higher", "lower") and colour == item.asked[1]:
        first, second = (heights[name] for name in item.asked)
        return first > second if item.kind == "higher" else first < second
    return None


def yes(said: bool) -> str:
    return "yes" if said else "no"


def right_letters(item: LiteItem) -> tuple[str, ...]:
    """The right options' letters; none for a numerical question."""
    if not item.options:
        return ()
    if item.kind == "above":
        chosen = zip(LETTERS, item.options, strict=True)
        return tuple(letter for letter, colour in chosen if said_of(item, item.heights, colour))
    said = said_of(item, item.heights, item.asked[1])
    return (LETTERS[item.options.index(str(_value(item)) if said is None else yes(said))],)


def walk(options: Sequence[str], letter: str) -> str:
    """The step that goes through the options as far as the one that fits."""
    passed = zip(LETTERS[: LETTERS.index(letter) + 1], options, strict=False)
    return ", ".join(f"{name}: {text}" for name, text in passed) + " fits."


def answer_text(item: LiteItem) -> str:
    """The right answer as the gold solution's last step gives it: `3`, `B` or `A,C`."""
    return ",".join(right_letters(item)) or str(_value(item))


def named(item: LiteItem) -> str:
    """The question's text, without its options."""
    first, second = item.asked[:2]
    return {
        "difference": f"How much higher is {first} than {second}?",
        "sum": f"What do {first} and {second} add up to?",
        "higher": f"Is {first} higher than {second}?",
        "lower": f"Is {first} lower than {second}?",
        "above": f"Which are above {item.limit}?",
    }[item.kind.removesuffix("_choice")]


# --------------------------------------------------------------------------------------------------------------------
# The solution by which steps are judged


def solution(item: LiteItem) -> tuple[str, ...]:
    """What every step of a right solution says, without numbers; the last one is the answer.

    Readings come first, in the order in which the question or its options name the bars.
    """
    heights, steps = item.heights, list[str]()
    for colour in item.asked:
        said = said_of(item, heights, colour)
        steps.append(f"{colour} is {heights[colour]}" + ("." if said is None else f", {yes(said)}."))
    if item.kind.startswith(("difference", "sum")):
        first, second = (heights[colour] for colour in item.asked)
        sign = "-" if item.kind.startswith("difference") else "+"
        steps.append(f"{first} {sign} {second} = {_value(item)}.")
    if item.options and item.kind != "above":
        (letter,) = right_letters(item)
        steps.append(walk(item.options, letter))
    return (*steps, f"Answer: {answer_text(item)}")


def written(steps: Sequence[str]) -> str:
    """Steps as a solution is written: numbered but for the answer, with blank lines between them."""
    *others, last = steps
    return "\n\n".join([*(f"Step {number}: {step}" for number, step in enumerate(others, start=1)), last])


# --------------------------------------------------------------------------------------------------------------------
# Picture and sample


def draw(item: LiteItem):
    """The picture, as a Pillow image in RGB."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (SIZE, SIZE), (224, 226, 230))
    pen = ImageDraw.Draw(image)
    for height in (3, 6, 9):
        pen.line((0, BASE - UNIT * height, SIZE, BASE - UNIT * height), fill=(255, 255, 255))
    left = 0 if len(item.bars) == 4 else sum(height for _, height in item.bars) % 2 * SLOT
    for place, (colour, height) in enumerate(item.bars):
        first = left + place * SLOT + 5
        pen.rectangle((first, BASE - UNIT * height, first + SLOT - 11, BASE - 1), fill=COLOURS[colour])
    pen.line((0, BASE, SIZE, BASE), fill=(60, 60, 60))
    return image


def sample(item: LiteItem, identity: str, picture: str) -> Sample:
    """The question as a sample, in FinMME's taxonomy."""
    letters = right_letters(item)
    gold: Gold = (
        ChoiceGold(labels=letters, multiple=item.kind == "above")
        if letters
        else NumberGold(value=str(_value(item)), tolerance="0")
    )
    return Sample(
        id=identity,
        question=named(item),
        images=(picture,),
        options=tuple(Option(label=letter, text=text) for letter, text in zip(LETTERS, item.options, strict=False)),
        gold=gold,
        facets={"question_type": (KINDS[item.kind],), "kind": (item.kind,)},
        group=identity,
    )
