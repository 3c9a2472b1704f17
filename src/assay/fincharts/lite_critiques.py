"""The exact critic of FinCharts-lite: what is right and wrong in a solution's steps, known without a model.

A step is right if and only if it says what the gold solution's step in its place says. The critique writes what the
picture and the steps before give first, then what the step says, then the verdict: evidence before claim.

    judge(item, steps)         the critique, in the form that critics write
    perturb(item, rng, ...)    a solution with errors of known kinds, and the kind of each step's own error
"""

import random
import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from assay.fincharts.lite import HIGHEST, LETTERS, LiteItem, said_of, solution, walk, yes

__all__ = ["Fault", "LiteStep", "correction", "gold_step", "judge", "labels", "perturb"]

Fault = Literal[
    "misread",  # another height than the bar's
    "wrong_series",  # another bar's height
    "wrong_comparison",  # yes for no, no for yes
    "arithmetic",
    "operand",  # a number that no step before gave
    "wrong_option",  # the letter, or the number, does not follow from the steps before
]

READ = re.compile(r"(\w+) is (\d+)(?:, (yes|no))?\.")
COMPUTE = re.compile(r"(\d+) ([-+]) (\d+) = (\d+)\.")
CHOOSE = re.compile(r"(?:[A-D]: \w+, )*([A-D]): \w+ fits\.")
ANSWER = re.compile(r"Answer: (.+)")
NUMBER = re.compile(r"Step \d+: ")


class LiteStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the exact critic says of one step; `image` and `logic` are comments with their verdicts."""

    intent: str
    image: str
    image_correct: bool
    logic: str
    logic_correct: bool

    @property
    def correct(self) -> bool:
        return self.image_correct and self.logic_correct


def labels(item: LiteItem, steps: Sequence[str]) -> tuple[bool, ...]:
    """Whether each step is right; `steps` with or without numbers."""
    return tuple(_bare(step) == gold_step(item, steps, place) for place, step in enumerate(steps))


def judge(item: LiteItem, steps: Sequence[str]) -> tuple[LiteStep, ...]:
    """What the exact critic says of a solution's steps, in order."""
    return tuple(_judged(gold_step(item, steps, place), _bare(step)) for place, step in enumerate(steps))


def correction(item: LiteItem, steps: Sequence[str]) -> str | None:
    """How the first wrong step should read; None where all are right."""
    for place, step in enumerate(judge(item, steps)):
        if not step.correct:
            return gold_step(item, steps, place)
    return None


def _bare(step: str) -> str:
    return NUMBER.sub("", step.strip(), count=1)


def gold_step(item: LiteItem, steps: Sequence[str], place: int) -> str:
    """The gold step in a step's place. An answer is compared with the answer, wherever it comes."""
    gold = solution(item)
    if ANSWER.fullmatch(_bare(steps[place])) or place >= len(gold):
        return gold[-1]
    return gold[place]


def _judged(gold: str, said: str) -> LiteStep:
    if wanted := READ.fullmatch(gold):
        return _reading(wanted, READ.fullmatch(said))
    if wanted := COMPUTE.fullmatch(gold):
        told = COMPUTE.fullmatch(said)
        intent = "subtract" if wanted[2] == "-" else "add"
        return _thought(
            intent, gold.removesuffix("."), told[4] if told else None, right=told is not None and told[4] == wanted[4]
        )
    if wanted := CHOOSE.fullmatch(gold):
        told = CHOOSE.fullmatch(said)
        # The right letter behind options that are not those of the question says nothing.
        letter = None if told is None or (said != gold and told[1] == wanted[1]) else told[1]
        return _thought("choose", gold.removesuffix("."), letter, right=said == gold)
    wanted, told = ANSWER.fullmatch(gold), ANSWER.fullmatch(said)
    value = told[1] if told else None
    return _thought("answer", wanted[1] if wanted else gold, value, right=wanted is not None and value == wanted[1])


def _reading(wanted: re.Match[str], told: re.Match[str] | None) -> LiteStep:
    # In a comparison the verdict on the limit is the step's logic; else it is that the bar asked for is read.
    comparing = wanted[3] is not None
    other = comparing and told is not None and told[1] != wanted[1]
    claim = "nothing" if told is None or other else told[2]
    part = 3 if comparing else 1
    value = (told[part] if told else None) or "nothing"
    return LiteStep(
        intent=f"read {wanted[1]}",
        image=f"{wanted[1]} shows {wanted[2]}, said {claim}",
        image_correct=claim == wanted[2],
        logic=f"{wanted[part]}, said {value if comparing or value in _NAMES else 'nothing'}",
        logic_correct=value == wanted[part],
    )


def _thought(intent: str, own: str, said: str | None, *, right: bool) -> LiteStep:
    return LiteStep(
        intent=intent,
        image="no reading",
        image_correct=True,
        logic=f"{own}, said {said or 'nothing'}",
        logic_correct=right,
    )


_NAMES = frozenset(("red", "blue", "green", "orange", "purple", "black"))


# --------------------------------------------------------------------------------------------------------------------
# Errors of known kinds


def perturb(
    item: LiteItem, rng: random.Random, *, clean: float = 0.35, wrong: float = 0.3, guessed: float = 0.0
) -> tuple[tuple[str, ...], tuple[Fault | None, ...]]:
    """A solution that goes wrong in known ways, and what each step itself does wrong.

    Steps after an error go on from it, as a solver's would; so they may be wrong without a fault of their own.

    Args:
        clean: share of solutions without any fault.
        wrong: share of steps with a fault of their own, in the others.
        guessed: share of their comparisons and options that are drawn from all alike, so that what a step says tells
            nothing of what is true.
    """
    maker = _Faulty(item, rng, *((0.0, 0.0) if rng.random() < clean else (wrong, guessed)))
    made = [maker.step(gold) for gold in solution(item)]
    return tuple(step for step, _ in made), tuple(fault for _, fault in made)


class _Faulty:
    def __init__(self, item: LiteItem, rng: random.Random, wrong: float, guessed: float) -> None:
        self._item = item
        self._rng = rng
        self._wrong = wrong
        self._guessed = guessed
        self._claimed: dict[str, int] = {}  # colour asked for -> height that was said
        self._said: list[bool] = []
        self._value = ""
        self._letter = ""

    def step(self, gold: str) -> tuple[str, Fault | None]:
        faulty = self._rng.random() < self._wrong
        if match := READ.fullmatch(gold):
            return self._read(match, faulty=faulty)
        if match := COMPUTE.fullmatch(gold):
            return self._compute(match, faulty=faulty)
        if CHOOSE.fullmatch(gold):
            return self._choose(faulty=faulty)
        return self._answer(faulty=faulty)

    def _read(self, gold: re.Match[str], *, faulty: bool) -> tuple[str, Fault | None]:
        rng, item = self._rng, self._item
        colour, height = gold[1], int(gold[2])
        fault: Fault | None = None
        if faulty and not gold[3] and rng.random() < 0.25:
            colour, fault = rng.choice([name for name in item.heights if name != gold[1]]), "wrong_series"
            height = item.heights[colour]
        elif faulty:
            near = [height + by for by in (-2, -1, -1, 1, 1, 2) if 1 <= height + by <= HIGHEST]
            anywhere = [other for other in range(1, HIGHEST + 1) if other != height]
            height, fault = rng.choice(near if rng.random() < 0.7 else anywhere), "misread"
        self._claimed[gold[1]] = height
        said = said_of(item, self._claimed, gold[1])
        if said is None:
            return f"{colour} is {height}.", fault
        turned = not fault and rng.random() < self._wrong * 0.3
        if rng.random() < self._guessed:
            turned = rng.random() < 0.5
        if turned:
            said, fault = not said, fault or "wrong_comparison"
        self._said.append(said)
        self._value = yes(said)
        return f"{colour} is {height}, {yes(said)}.", fault

    def _compute(self, gold: re.Match[str], *, faulty: bool) -> tuple[str, Fault | None]:
        rng = self._rng
        first, second = (self._claimed[colour] for colour in self._item.asked)
        fault: Fault | None = None
        if faulty and rng.random() < 0.3:
            first, fault = rng.choice([other for other in range(1, HIGHEST + 1) if other != first]), "operand"
        result = first - second if gold[2] == "-" else first + second
        if faulty and fault is None:
            result, fault = result + rng.choice((-2, -1, 1, 2, 3)), "arithmetic"
        self._value = str(max(0, result))
        return f"{first} {gold[2]} {second} = {self._value}.", fault

    def _choose(self, *, faulty: bool) -> tuple[str, Fault | None]:
        rng, options = self._rng, self._item.options
        letters = LETTERS[: len(options)]
        right = letters[options.index(self._value)] if self._value in options else None
        if rng.random() < self._guessed:
            self._letter = rng.choice(letters)
        elif faulty or right is None:
            self._letter = rng.choice([letter for letter in letters if letter != right])
        else:
            self._letter = right
        return walk(options, self._letter), None if self._letter == right else "wrong_option"

    def _answer(self, *, faulty: bool) -> tuple[str, Fault | None]:
        rng, item = self._rng, self._item
        fault: Fault | None = "wrong_option" if faulty else None
        if item.kind == "above":
            chosen = {letter for letter, above in zip(LETTERS, self._said, strict=True) if above}
            if faulty or not chosen:
                chosen ^= {rng.choice(LETTERS)}
            return f"Answer: {','.join(sorted(chosen) or [rng.choice(LETTERS)])}", fault
        if not item.options:
            value = int(self._value) + (rng.choice((-2, -1, 1, 2)) if faulty else 0)
            return f"Answer: {max(0, value)}", fault
        letter = (
            rng.choice([other for other in LETTERS[: len(item.options)] if other != self._letter])
            if faulty
            else self._letter
        )
        return f"Answer: {letter}", fault
