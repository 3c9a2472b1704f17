"""Relaxed accuracy of chart questions: numbers within 5 % of the gold, other answers equal.

From the end of section 5.1 of ChartQA (https://arxiv.org/abs/2203.10244), after PlotQA; the details below are those of
the evaluation that nearly all published numbers use (google-research's pix2struct, its metrics module):

    both are numbers and gold != 0   ->  |answer - gold| / |gold| <= 0.05, in binary floats
    else                             ->  equal, case ignored

`float` reads the numbers, so `1,234` and `$5` are none; a number that ends in `%` is divided by 100, so `2%` is not 2.
The share is of the gold, not of the answer: some harnesses have swapped the two, hence arguments by name only.

Years are numbers to this rule: with 5 % of 2019, 1920 is right. Harnesses that notice demand equality, by one of two
rules: for a gold of four characters that starts with `20`, or where the question has the word year. `asks_for_year`
wants both, for the 20th century as well.
"""

import re

TOLERANCE = 0.05


def relaxed(*, gold: str, answer: str, tolerance: float = TOLERANCE) -> bool:
    """Whether `answer` is right by relaxed accuracy."""
    truth, value = as_float(gold), as_float(answer)
    if value is not None and truth:
        return abs(value - truth) / abs(truth) <= tolerance
    return answer.lower() == gold.lower()


def as_float(text: str) -> float | None:
    """The number that a text is to the rule, if it is one."""
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


_YEAR = re.compile(r"(?:19|20)\d\d")
_ASKS = re.compile(r"(?<![^\W_])(?:years?|when)(?![^\W_])", re.IGNORECASE)


def asks_for_year(question: str, gold: str) -> bool:
    """Whether the gold is a year: four digits from 1900 to 2099, and a question that has the word year or when."""
    return _YEAR.fullmatch(gold.strip()) is not None and _ASKS.search(question) is not None
