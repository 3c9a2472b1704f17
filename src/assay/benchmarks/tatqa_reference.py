r"""TAT-QA's published measures: exact match and F1, aware of scales, quirks included.

Restated from tatqa_metric.py and tatqa_utils.py of NExTplusplus/TAT-QA at 870accc (MIT). A prediction is an answer (a
text, a number, or a list of such) and a scale ("", thousand, million, billion, percent).

1. Both sides become one text: the parts, sorted, joined by blanks. A part that is a number is rounded to 2 decimals,
   multiplied by its scale and written with 4 decimals (`12.6`, million: `12600000.0000`); one with a percent sign is
   divided by 100 instead (`12.6%`: `0.1260`); to any other part the scale's word is added.
2. A prediction of one number without scale and percent sign also counts unrounded, so that 0.2342 is 23.42 percent.
3. Texts are normalised word by word (lower case, no punctuation, no articles, numbers as floats to 4 decimals). Exact
   match: equal texts. F1: over the sets of words, rounded to 2 decimals; for arithmetic and counts it is exact match.
4. An empty prediction (also a bare 0) is wrong in everything.
"""

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from assay.mark.spans import bag_f1

Part = str | int | float
_SCALES = (("hundred", 100), ("thousand", 1_000), ("million", 1_000_000), ("billion", 1_000_000_000), ("percent", 0.01))
_IN_NUMBERS = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(r"(?P<whole>[+-]?\d+(?:\.\d+)?)|[+-]?\.\d+")
_WITH_WORD = re.compile(r"[\d.]+\s?[a-zA-Z]+")
_IN_BRACKETS = re.compile(r"\([\d.\s]+\)")
_PERCENT = re.compile(r"[\d.\s]%")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
MAX_CHARS = 10_000
"""Characters of a part that are read."""
MAX_DIGITS = 200
"""Longer numbers have no value: with a scale they'd be beyond a float."""


class Prediction(NamedTuple):
    """An answer's parts (none for an empty prediction) and its scale, None where none was given."""

    parts: tuple[Part, ...]
    scale: str | None


class Score(NamedTuple):
    exact: bool
    f1: float


def score(prediction: Prediction, gold: Sequence[str], gold_scale: str, *, graded: bool) -> Score:
    """The published measures of one prediction; `graded` is off for arithmetic and counts, whose F1 is exact match."""
    if not prediction.parts or not gold:
        return Score(False, 0.0)
    truth = _normalised(_one_text(gold, gold_scale))
    best = max(_compare(_normalised(text), truth) for text in _texts(prediction))
    return best if graded else Score(best.exact, float(best.exact))


def _texts(prediction: Prediction) -> list[str]:
    parts, scale = prediction
    texts = [_one_text(parts, scale or "")]
    alone = str(parts[0])
    if len(parts) == 1 and not scale and "%" not in alone and is_number(alone):
        value = to_number(alone)
        texts += [] if value is None else [f"{value:.4f}"]
    return texts


def _one_text(parts: Sequence[Part], scale: str) -> str:
    return " ".join(_scaled(str(part)[:MAX_CHARS], scale) for part in sorted(parts, key=str))


def _scaled(part: str, scale: str) -> str:
    value = to_number(part) if is_number(part) else None
    if value is None:
        return f"{part} {scale}" if scale else part
    return f"{value:.4f}" if "%" in part else f"{round(value, 2) * scale_of(scale):.4f}"


def scale_of(text: str) -> float:
    """What the first scale word in a text multiplies by; 1 without one."""
    return next((factor for word, factor in _SCALES if word in text.lower()), 1)


def is_number(text: str) -> bool:
    """Whether the first word, without currency and brackets, is a float, and the second, if any, a scale."""
    words = " ".join(word.translate(_IN_NUMBERS) for word in text.split()).split()
    try:
        value = float(words[0]) if words else float("nan")
    except ValueError:
        return False
    return value == value and (len(words) < 2 or scale_of(words[1]) != 1)  # NaN is not itself


def to_number(text: str) -> float | None:
    """The first number of a text with its scale word, negative in brackets, divided by 100 before a percent sign."""
    found = _NUMBER.search(text.translate(_IN_NUMBERS))
    if found is None or found["whole"] is None or len(found["whole"]) > MAX_DIGITS:  # `.5` is no number here
        return None
    word = _WITH_WORD.search(text)
    scale = scale_of(word[0]) if word else 1
    sign = -1 if _IN_BRACKETS.search(text) else 1
    percent = 0.01 if _PERCENT.search(text) else 1
    value = float(found["whole"]) if "." in found["whole"] else int(found["whole"])
    return round(value * scale * sign * percent, 4)


def _normalised(text: str) -> str:
    return " ".join(" ".join(map(_word, text.split(" "))).split())


def _word(word: str) -> str:
    word = word.lower()
    plain = word if is_number(word) else word.translate(_NO_PUNCTUATION)
    return _ARTICLES.sub(" ", str(to_number(plain)) if is_number(plain) else plain)


def _compare(answer: str, gold: str) -> Score:
    return Score(answer == gold, round(bag_f1(set(answer.split()), set(gold.split())), 2))
