"""Numbers whose unit the data does not record: the unit that the question asks for, and marking with or without it.

Several chart benchmarks hold a gold of 17.2 and neither column nor rule for its unit, which the chart's axis shows. A
reply may write `17.2`, `17.2%` or `$17.2 billion` then, all meaning the same. So, in this order:

1. The question names a unit ("in millions", "what percentage"): it is the item's, and what the answer writes is
   converted to it: `0.5 billion` is 500 where millions are asked for.
2. It names none: an answer with a percent sign or a magnitude counts multiplied out (`50%` is 0.5), and also as written
   (`50%` is 50, in the chart's own unit). The reason says which reading was right.
"""

import re

from msgspec import structs

from assay.mark.number import NumberReading, mark_number
from assay.types import Mark, NumberGold

MAX_QUESTION = 4_000
"""Characters of a question that are searched, from its end, where such remarks stand."""

_PERCENT = re.compile(
    r"(?<![^\W_])(?:percent|percentages?|per\scent|pct)(?![^\W_])|\([^()]{0,12}%\)|百分[比数數点點率]|百分之几|百分之多少",
    re.IGNORECASE,
)
_MAGNITUDE = re.compile(
    r"(?:(?<![^\W_])in\s(?:(?!hundred)[\w$€£¥.]{1,12}\s){0,2}"
    r"|\(\s?(?:in\s|单位[:：]\s?)?(?:(?!hundred)[\w$€£¥.]{0,12}\s)?[$€£¥]?)"
    r"(?P<word>hundred\s(?:thousand|million)|thousand|million|billion|trillion)s?(?![^\W_])"
    r"|\(\s?[$€£¥]\s?(?P<letter>[MBK])\s?\)"
    r"|[(（](?:单位[:：]\s?)?(?P<cjk>[百千万亿十]{1,2})[美元股人吨台辆户]{0,2}[)）]",
    re.IGNORECASE,
)
_LETTERS = {"K": "thousand", "M": "million", "B": "billion"}


def asked_unit(question: str) -> str | None:
    """`%`, or the magnitude that a question asks its answer in; None where it names none, or several."""
    tail = question[-MAX_QUESTION:]
    found = {"%"} if _PERCENT.search(tail) else set[str]()
    for match in _MAGNITUDE.finditer(tail):
        word = match["word"] or match["cjk"] or _LETTERS[match["letter"].upper()]
        found.add(_power(" ".join(word.lower().split())))
    return found.pop() if len(found) == 1 else None


def _power(word: str) -> str:
    """A magnitude as `parse_unit` reads it: `hundred thousand` is `100 thousand`."""
    return word.replace("hundred ", "100 ")


def mark_asked(reading: NumberReading, gold: NumberGold) -> Mark:
    """As `mark_number`, for a gold whose `unit` is what `asked_unit` found; see the module's docstring."""
    mark = mark_number(reading, gold)
    if gold.unit is not None or mark.verdict != "wrong" or reading.factor is None:
        return mark
    as_written = mark_number(structs.replace(reading, factor=None, scale=""), gold)
    if as_written.verdict != "right":
        return mark
    return structs.replace(as_written, reason=f"'{reading.scale}' as the chart's own unit, which the data doesn't hold")
