r"""The verdict of MathVista's published script (lupantech/MathVista, `evaluation/`), its rule restated.

Checked against seven published output files of 1,000 rows each (`tests/parity`). The quirks are the point: a letter in
round brackets anywhere is the choice; what is no letter becomes the choice with the smallest edit distance, so that
even an empty answer picks one; an integer is cut (14.9 is 14); a float is rounded; then the strings must be equal.

Two rules for integers are in the published files: the current one, and the old one of files made before the script
changed, which refuses every text with a decimal point ("14.0" is no integer).

Ours is what stands in for the script's extraction: where its own shortcuts say nothing it asks a language model; here
the readers of `assay.mark` look for the answer. With recorded extractions the verdict is the script's own.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from assay.mark.choice import read_choice
from assay.mark.number import read_number
from assay.mark.number_list import last_bracketed
from assay.types import Mark, Option

IntegerRule = Literal["current", "old"]

NEAREST = "nearest choice"
"""The reason of a mark whose answer is the choice with the smallest edit distance."""

MAX_COMPARED = 2_000
"""Characters of an extraction that are compared with the choices; their edit distance takes quadratic time."""

_QUOTED = re.compile(r'The answer is "([^\n]*)"\.')
_LETTER = re.compile(r"\(([a-zA-Z])\)")


class Question(NamedTuple):
    """What the script knows of a question: the right answer as written, its type, and what that type needs."""

    answer: str
    answer_type: str
    choices: tuple[str, ...] = ()
    precision: int | None = None


def mark(extraction: str, question: Question, *, integers: IntegerRule = "current") -> Mark:
    """The script's verdict on an extracted answer; the mark's extraction is what the script calls the prediction."""
    prediction, nearest = normalise(extraction, question, integers=integers)
    verdict = "right" if prediction == question.answer else "wrong"
    return Mark(verdict=verdict, extraction=prediction, reason=NEAREST if nearest else "")


def extract(reply: str, question: Question) -> str:
    """The answer in a reply: by the script's shortcuts, else by our readers; empty where nothing is found."""
    if reply in question.choices:
        return reply
    if question.answer_type in ("integer", "float"):
        try:
            return str(int(reply) if question.answer_type == "integer" else float(reply))
        except ValueError:
            pass
    quoted = _QUOTED.search(reply)
    return quoted[1] if quoted else _read(reply, question)


def _read(reply: str, question: Question) -> str:
    if question.choices:
        options = tuple(Option(label=chr(ord("A") + at), text=text) for at, text in enumerate(question.choices))
        return "".join(read_choice(reply, options, multiple=False).labels)
    if question.answer_type == "list":
        return last_bracketed(reply) or ""
    reading = read_number(reply)
    return "" if reading.number is None else format(reading.number, "f")


def normalise(extraction: str, question: Question, *, integers: IntegerRule = "current") -> tuple[str | None, bool]:
    """The prediction that is compared with the answer, and whether the nearest-choice rule made it.

    None where the extraction is not of the question's type.
    """
    if question.choices:
        return _choice(extraction.strip(), question.choices)
    try:
        if question.answer_type == "integer":
            return str(int(extraction) if integers == "old" else int(float(extraction))), False
        if question.answer_type == "float":
            return str(round(float(extraction), question.precision or 0)), False
    except (ValueError, OverflowError):
        return None, False
    return extraction, False


def _choice(extraction: str, choices: Sequence[str]) -> tuple[str, bool]:
    bracketed = _LETTER.search(extraction)
    letter = bracketed[1].upper() if bracketed else extraction
    at = ord(letter) - ord("A") if len(letter) == 1 else -1
    if 0 <= at < len(choices):
        return choices[at], False
    return min(choices, key=lambda choice: distance(letter[:MAX_COMPARED], choice)), True  # the first on a tie


def distance(a: str, b: str) -> int:
    """Levenshtein's edit distance: the fewest insertions, deletions and replacements that turn `a` into `b`."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        corner, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (left != right))
    return row[-1]
