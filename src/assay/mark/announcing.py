"""Announcements that announce no answer, and those that a JSON key makes.

`if the answer is B, ...` only considers an answer, `Answer choices: A: Rise ...` lists the options, and the value of
`"answer": "B"` ends where JSON says. Positions are in a prepared text; `lower` is that text in lower case.
"""

import re
from typing import NamedTuple

_MAX_BEFORE = 60
"""Characters before an announcement that are looked at."""

_CONSIDERED = re.compile(
    r"(?<![^\W_])(?:if|whether|unless|suppose|supposing|assume|assuming|let's say)(?: that)?"
    r"(?: (?:the|my|our|this|that|final|correct|right|best|true|only))* ?$"
    r"|(?:如果|假如|假设|假設|若|是否)[^,。\n]{0,6}$"
)
_TENTATIVE = re.compile(
    r"(?<![^\W_])(?:could|might|may|can|cannot|not|never|[a-z]{2,6}n't)(?: (?:[a-z]{1,12}ly|also|only|well))? be ?:?$"
)
_ASKED = re.compile(r"[^.!?\n]{0,60}\?")
_PLURAL = re.compile(r"(?:choices|options|statements|responses|keys|letters|values)\W*$")
_AFFIRMING = re.compile(
    r"(?<![^\W_])(?:correct|right|true|selected|chosen|final|best|valid|appropriate|my)(?: answer)? ?$"
)
_BARE_LABELS = re.compile(
    r"[\s*_`]*\(?[a-z]\)?(?:[\s,;、&/]|and(?![^\W_])|\(?(?<![^\W_])[a-z](?![^\W_])\)?)*[\s.*_`]*(?:\n|$)"
)


def is_tentative(lower: str, start: int, end: int) -> bool:
    """Whether a sentence ("the answer is", from `start` to `end`) only considers an answer, denies one or asks."""
    if _CONSIDERED.search(lower, max(0, start - _MAX_BEFORE), start):
        return True
    return bool(_TENTATIVE.search(lower, start, end) or _ASKED.match(lower, end))


def is_listing(lower: str, start: int, end: int) -> bool:
    """Whether a plural ("Answer choices:") announces the options that there are, rather than the answer.

    "The correct options: A, C" and "Options: A, C" answer.
    """
    if not _PLURAL.search(lower, max(start, end - _MAX_BEFORE), end):
        return False
    return not (_AFFIRMING.search(lower, max(0, start - _MAX_BEFORE), start) or _BARE_LABELS.match(lower, end))


class JsonValue(NamedTuple):
    """The value of a JSON key; `closed` is False where the reply ends within it."""

    text: str
    end: int
    closed: bool


_MAX_KEY_END = 12
_KEY_END = re.compile(r"[\"'][ \t]{0,8}:$")
_NUMBER = re.compile(r"\s{0,8}(-?\d{1,60}(?:\.\d{1,60})?(?:[eE][-+]?\d{1,4})?)(?=\s*[,}\n])")
_STRING = re.compile(r"\s{0,8}\"((?:[^\"\\\n]|\\.){0,2000})(\"?)|\s{0,8}'([^'\n]{0,2000})'(?=\s*[,}])")
# Undone only where JSON can't mean anything else: a model that writes `\frac` unescaped means LaTeX, not a form feed.
_ESCAPE = re.compile(r'\\(\\|"|/)')


def json_value(text: str, start: int, end: int) -> JsonValue | None:
    """The value behind a JSON key that ends at `end`: `"answer": "3/4", "confidence": 0.9`; the rest may be broken.

    None where there is no such key, or a value that is neither a number nor a text.
    """
    if not _KEY_END.search(text, max(start, end - _MAX_KEY_END), end):
        return None
    number = _NUMBER.match(text, end)
    if number:
        return JsonValue(number[1], number.end(), True)
    string = _STRING.match(text, end)
    if string is None:
        return None
    content = (string[3] if string[1] is None else _ESCAPE.sub(r"\1", string[1])).strip()
    return JsonValue(content, string.end(), string[2] != "") if content else None
