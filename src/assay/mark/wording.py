"""Short free texts: a month, a time, a point, a list, the name of a node.

Two texts say the same if they have the same words and numbers in the same order, whatever stands between them: `5:00`
is `5:0`, `(3.000, 1)` is `(3, 1)`, `y=-3` is `y = -3`. An answer may also repeat the question's words around the gold
("the first edge is DE"), but brings in nothing of its own: `May or June` is not `May`.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

from assay.mark.text import normalise
from assay.types import TextGold

MAX_CHARS = 2_000
"""A longer answer is no short text, and says something else."""

_TOKEN = re.compile(r"(?P<number>(?:(?<![\w)\]}])[-+])?\d{1,40}(?:\.\d{0,40})?)|(?P<word>[^\W\d_]+)")
_COMMAND = re.compile(r"\\(?:text|mathrm|mathbf|left|right|boxed)?(?![A-Za-z])|\\[ ,;:!]")
_FILLING = frozenset({"a", "an", "the", "is", "it", "at", "of", "in", "on", "so", "its"})
_CONTRADICTING = frozenset({"or", "not", "no", "either", "neither", "nor"})


def same_wording(gold: TextGold, answer: str, *, question: str = "", tolerance: Decimal = Decimal(0)) -> bool:
    """Whether `answer` says one of the gold's values; numbers may differ by `tolerance`."""
    if len(answer) > MAX_CHARS:
        return False
    said = _tokens(answer)
    allowed = (_FILLING | {token for token in _tokens(question) if isinstance(token, str)}) - _CONTRADICTING
    return any(_says(_tokens(value), said, allowed, tolerance) for value in gold.values)


def _tokens(text: str) -> list[str | Decimal]:
    plain = _COMMAND.sub(" ", normalise(text))
    return [Decimal(found[0]) if found["number"] else found[0].casefold() for found in _TOKEN.finditer(plain)]


def _says(
    gold: list[str | Decimal], said: list[str | Decimal], allowed: Iterable[str | Decimal], tolerance: Decimal
) -> bool:
    if not gold:
        return False
    for start in range(len(said) - len(gold) + 1):
        part = said[start : start + len(gold)]
        rest = said[:start] + said[start + len(gold) :]
        if all(map(_same, gold, part, [tolerance] * len(gold))) and all(token in allowed for token in rest):
            return True
    return False


def _same(gold: str | Decimal, said: str | Decimal, tolerance: Decimal) -> bool:
    if isinstance(gold, Decimal) and isinstance(said, Decimal):
        return abs(gold - said) <= tolerance
    return gold == said
