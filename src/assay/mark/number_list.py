"""Questions whose answer is a list of numbers in a given order, such as `[2014, 2016]`.

The list is the announced answer (`Answer: [1, 2]`, `Answer: 1 and 2`, a box), else the last one in square brackets.
Lists are equal when their numbers are, in the same order: `[1.0, 2]` is `[1, 2]`.
"""

import re
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from assay.mark.answer import MAX_SLOT, answer_slots, prepare
from assay.types import Mark


class ListReading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The list that a reply answers with; `numbers` is None where there is none.

    `explicit`: it stood in a place that announces an answer, so that a cut reply has answered as well.
    """

    numbers: tuple[Decimal, ...] | None
    explicit: bool = False
    written: str = ""


MAX_NUMBERS = 200
"""A longer list is no answer."""

_BRACKETED = re.compile(r"\[[^\[\]]{0,2000}\]")
_BETWEEN = re.compile(r"\s*(?:[,;，、]|(?<!\w)(?:and|&)(?!\w))\s*")


def read_number_list(text: str, *, extracted: bool = False) -> ListReading:
    """Read the list of numbers that a reply answers with.

    Args:
        text: the reply, thinking included or not.
        extracted: the text is an answer that somebody already extracted.
    """
    prepared = prepare(text)
    announced = [prepared[:MAX_SLOT]] if extracted else [slot.text for slot in answer_slots(prepared)]
    for place in reversed(announced):
        # The list in a sentence ("Answer: the years are [1, 2]"), or all of the place.
        for written in (last_bracketed(place), place):
            numbers = None if written is None else parse_numbers(written)
            if numbers is not None:
                return ListReading(numbers=numbers, explicit=True, written=(written or "").strip())
    written = last_bracketed(prepared) or ""
    return ListReading(numbers=parse_numbers(written) if written else None, written=written)


def mark_number_list(reading: ListReading, gold: str) -> Mark:
    """Right iff the numbers are the gold's, in its order; `unmarkable` where the gold is no list of numbers."""
    truth = parse_numbers(gold)
    if truth is None:
        return Mark(verdict="unmarkable", reason="the gold is no list of numbers")
    if reading.numbers is None:
        return Mark(verdict="unanswered", extraction=reading.written or None, reason="no list of numbers")
    return Mark(verdict="right" if reading.numbers == truth else "wrong", extraction=reading.written)


def last_bracketed(text: str) -> str | None:
    """The last text in square brackets, with them."""
    found = _BRACKETED.findall(text)
    return found[-1] if found else None


def parse_numbers(text: str) -> tuple[Decimal, ...] | None:
    """The numbers of a list with or without brackets; None for anything else, also for a number alone."""
    bare = text.strip().strip("$. ").strip()
    listed = bare[:1] == "[" and bare[-1:] == "]"
    parts = [part for part in _BETWEEN.split(bare.strip("[](){} \n")) if part]
    if len(parts) > MAX_NUMBERS or (len(parts) < 2 and not listed):
        return None
    try:
        numbers = tuple(Decimal(part) for part in parts)
    except InvalidOperation:
        return None
    return numbers if all(number.is_finite() for number in numbers) else None
