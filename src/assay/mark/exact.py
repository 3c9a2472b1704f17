"""Questions with a short text for an answer: the text that a reply gives, word for word.

Words and numbers are compared as `same_wording` does: case, width, punctuation, articles and the question's own words
do not count, word boundaries do (`art` is not `start`), numbers are compared by value (`3.0` is `3`). Signs that carry
a meaning of their own count as well: `C++` is not `C`, `A♠` is not `A♥`, `5% up` is not `5 up`. A text without a word
or number, such as `>` or `???`, is compared as it stands.
"""

import re
import unicodedata

from assay.mark.spans import TextReading, read_text
from assay.mark.text import normalise
from assay.mark.wording import same_wording
from assay.types import Mark, TextGold

MAX_ANSWER_WORDS = 12
"""A reply that announces nothing and is longer than that has given no answer, unless it ends in the gold."""

_SIGNS = frozenset("#%@")
_NO_SIGNS = frozenset("~≈|")  # "about", and what separates the parts of a list
_WORD = re.compile(r"[^\W_]")
_STATED = re.compile(r"(?<![^\W_])(?:is|are|was|were|be|equals|named|called)(?![^\W_])[\s:\"']{0,4}|:\s{0,4}|=\s{0,4}")


def mark_text(text: str, gold: TextGold, *, question: str = "", extracted: bool = False) -> tuple[Mark, TextReading]:
    """The verdict on a reply, and where its answer was read (`explicit`: in a place that announces an answer).

    A reply that announces no answer is right where it is nothing but the answer, or its last sentence ends by stating
    it ("the capital is Paris"); it is wrong where it is a short answer, and otherwise unanswered.
    """
    reading = read_text(text, extracted=extracted)
    if not reading.text:
        return Mark(verdict="unanswered", reason="no answer"), reading
    answers = [reading.text] if reading.explicit else [reading.text, *_stated(reading.text)]
    for answer in answers:
        if _says(answer, gold, question):
            return Mark(verdict="right", extraction=answer), reading
    if not reading.explicit and len(reading.text.split()) > MAX_ANSWER_WORDS:
        return Mark(verdict="unanswered", reason="no answer that is announced as one"), reading
    return Mark(verdict="wrong", extraction=reading.text, reason="another text"), reading


def _stated(text: str) -> list[str]:
    """What stands behind the last `is` (or the like) of a text."""
    ends = [match.end() for match in _STATED.finditer(text)]
    return [text[ends[-1] :]] if ends else []


def _says(answer: str, gold: TextGold, question: str) -> bool:
    for value in gold.values:
        if not _WORD.search(value):
            if normalise(value).split() == normalise(answer).split():
                return True
        elif same_wording(TextGold(values=(value,)), answer, question=question) and _signs(value) == _signs(answer):
            return True
    return False


def _signs(text: str) -> list[str]:
    """The signs of a text that mean something: those above, those of mathematics, and pictorial ones."""
    found = (sign for sign in normalise(text) if sign in _SIGNS or unicodedata.category(sign) in ("Sm", "So"))
    return sorted(sign for sign in found if sign not in _NO_SIGNS)
