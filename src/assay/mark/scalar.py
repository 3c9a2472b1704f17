"""The one number that a place of a reply holds: an answer slot, a box, a line, an extracted answer.

A place may hold more than one number. `5 + 7 = 12` is 12, `0.5 (50%)` is 0.5, `12 units, up from 10` is 12, `in 2023 it
was 12.5` is 12.5; `3.5-4.0` is a range; `5 or 6` is ambiguous, as is a formula that the reply leaves unevaluated.
"""

import re
from decimal import Decimal
from typing import Literal, NamedTuple

from assay.mark.answer import MAX_SLOT
from assay.mark.magnitude import EXACT, Unit
from assay.mark.quantity import Quantity, clean, read_quantities

NumberStatus = Literal["ok", "none", "range", "ambiguous"]


class Found(NamedTuple):
    """What a place holds; a quantity only with the status `ok`. `rule` says how it was read, or why it was not."""

    status: NumberStatus
    rule: str
    quantity: Quantity | None = None


class Ways(NamedTuple):
    """How to read: the item's unit and the two options of `read_number`."""

    unit: Unit
    accounting: bool
    decimal_comma: bool


_LOOK_BACK = 24

MAX_SHORT_WORDS = 3
"""An announced answer of so few words is an answer even without a number ("N/A"); a longer one is prose."""

_HEDGE = (
    r"about|approximately|approx|around|roughly|nearly|almost|some|circa|ca|c|close|at|by|to|of|is|are|was|were|be|it|it's"
    r"|the|value|answer|total|an|a|only|just|exactly|over|under|up|down|equals?|therefore|thus|so|environ|etwa|rund"
)
# Possessive: what a head holds is decided in one pass, whatever follows.
_HEAD = re.compile(
    rf"(?:[\s:;~≈=*_`\"'\[{{<>,.$]|(?:{_HEDGE})(?![^\W_])|大约|大約|大概|约|約|近|为|為|是|共)*+", re.IGNORECASE
)
_RANGE = re.compile(
    r"\s*(?:-|~|\.\.\.?|to|through|till|until|至|到|\\sim)\s*(?:(?:about|approximately|~)\s*)?", re.IGNORECASE
)
_LIST = re.compile(
    r"[^\d,;()=]{0,24}?(?:,|;|、|/|(?<![^\W_])(?:or|and|und|oder|ou|et)(?![^\W_])|&|和|与|或)\s*(?:(?:about|~|≈)\s*)?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?<![^\W_])(?:between|from)\s\W{0,4}$", re.IGNORECASE)
_BETWEEN_AND = re.compile(r"(?:and|to|与|和|-)\s?\W?$", re.IGNORECASE)
_PLUS_MINUS = re.compile(r"\s*(?:±|\+/-|\\pm)\s*")
_OPERATOR = re.compile(r"\s*(?:[+×÷*^·!/x]|\\(?:times|cdot|div|sqrt|pi)|√|π)\s*")
_FORMULA_TAIL = re.compile(r"\s?(?:\^|\\(?:sqrt|pi|times|cdot|frac|div|log|ln)|√|π|[×÷*+]\s?[\w(\\]|!(?!\s|$))")
_ASIDE = re.compile(r"\((?:=|≈|i\.e\.|rounded |approx|about |roughly |estimated)[^()]{0,200}\)")
_FURTHER_CLAUSE = re.compile(r"[;:]|[.!?。]\s*\w")
_EQUALS = re.compile(r"(?<![<>!=])[=≈](?!=)|\\approx|\\simeq")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE_TAIL = re.compile(rf"(?:st|nd|rd|th)?\s(?:{_MONTHS})[a-z]{{0,6}}(?![^\W_])", re.IGNORECASE)
_YEAR_BEFORE = re.compile(
    rf"(?<![^\W_])(?:in|by|of|for|since|during|from|until|to|at|years?|fy|and|end|q[1-4]|h[12]|(?:{_MONTHS})[a-z]{{0,6}})"
    r"[ ,]{0,2}$"
)
_FUNCTION_OF = re.compile(
    r"(?:(?<![^\W_])(?:sqrt|cbrt|root|log|ln|lg|exp|sin|cos|tan|abs|[fgh])\s?\(|\\[a-zA-Z]+\s?(?:\[\d{1,3}\])?[{(]|[√∛])\s?$",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[<>≤≥]|\\[lg]e?q?|(?<![^\W_])(?:less|more|greater|fewer|higher|lower|larger|smaller)\s(?:than|then)"
    r"|(?<![^\W_])at\s(?:least|most)|不到|超过|至少|至多|大于|小于)\s?\$?\s?$",
    re.IGNORECASE,
)
# `3Q22`, `5G3`: the digits are part of a name. An area or a volume (`10m2`) is a unit.
_NAME_TAIL = re.compile(r"(?!(?:k|c|m|d|µ|f|s?q)?[mt]{1,2}[23](?!\d))[A-Za-z]{1,3}\d")
_MAX_EQUALS = 8


def read_scalar(place: str, ways: Ways, *, head: bool = False, whole: bool = False) -> Found:
    """The one number that a place holds.

    Args:
        head: the number must stand at the start, as in running prose.
        whole: the place must be nothing but the number with its unit.
    """
    text = _ASIDE.sub("", clean(place[:MAX_SLOT]))
    parts = _EQUALS.split(text, maxsplit=_MAX_EQUALS) if _may_equal(text) else [text]
    for part in reversed(parts):
        quantities = read_quantities(part, ways.unit, accounting=ways.accounting, decimal_comma=ways.decimal_comma)
        if quantities:
            scaled = ways.unit.factor is not None
            return _decide(part, quantities, head=head and len(parts) == 1, whole=whole, scaled=scaled)
    word = WORD_NUMBERS.get(text.strip(" .!").lower())
    if word is not None:
        return Found("ok", "number word", Quantity(Decimal(word), None, "", 0, len(text), ""))
    return Found("none", "no number")


def _decide(text: str, quantities: list[Quantity], *, head: bool, whole: bool, scaled: bool) -> Found:
    first = quantities[0]
    before = text[: first.start]
    at_head = _HEAD.fullmatch(before) is not None
    if (head or whole) and not at_head:
        return Found("none", "no number where the answer should stand")
    rest = text[first.end :]
    if whole:  # the year that it is about may stand behind it: "12.5% in 2023"
        quantities = [first, *(other for other in quantities[1:] if not _is_year(text, other))]
    if whole and (len(quantities) > 1 or len(rest.split()) > MAX_SHORT_WORDS or _FURTHER_CLAUSE.search(rest)):
        return Found("none", "more than a number")
    if len(quantities) > 1:
        related = _relation(text, quantities, scaled=scaled)
        if related is not None:
            return related
        if not at_head or _is_year(text, first):
            return _without_years(text, quantities)
    return _single(text, first)


def _single(text: str, quantity: Quantity) -> Found:
    if quantity.number is None:
        return Found("ambiguous", quantity.rule)
    if _DATE_TAIL.match(text, quantity.end):
        return Found("ambiguous", "a date")
    before = text[max(0, quantity.start - _LOOK_BACK) : quantity.start]
    if _FORMULA_TAIL.match(text, quantity.end) or _FUNCTION_OF.search(_with_bracket(text, before, quantity)):
        return Found("ambiguous", "a formula that is not evaluated")
    if _NAME_TAIL.match(text, quantity.end):
        return Found("none", "digits inside a name")
    if _BOUND.search(before):
        return Found("ambiguous", "a bound, not a value")
    return Found("ok", quantity.rule, quantity)


def _with_bracket(text: str, before: str, quantity: Quantity) -> str:
    """What stands before the digits, the bracket of a function's argument included: it may pass for accounting's."""
    return before + "(" if text[quantity.start : quantity.start + 1] == "(" else before


def _relation(text: str, quantities: list[Quantity], *, scaled: bool) -> Found | None:
    """What two numbers that stand together are: a range, a value with its error, alternatives, a formula.

    Of two spellings of one amount (`0.125 or 12.5%`) the one with a scale counts where the item's unit has one.
    """
    first, second = quantities[:2]
    between = text[first.end : second.start]
    if _PLUS_MINUS.fullmatch(between):
        return _single(text, first) if len(quantities) == 2 else None
    same = all(_amount(quantity) == _amount(first) for quantity in quantities)
    if "→" in between or "->" in between:
        return Found("ambiguous", "from one number to another")
    if _RANGE.fullmatch(between) or (between.strip() == "" and text[second.start] == "-"):
        third = quantities[2] if len(quantities) > 2 else None
        if third is not None and _RANGE.fullmatch(text[second.end : third.start]):
            return Found("ambiguous", "a date or a formula")
        return Found("range", f"range {text[first.start : second.end].strip()}")
    if _BETWEEN.search(text[: first.start]) and _BETWEEN_AND.search(between):
        return Found("range", f"range {text[first.start : second.end].strip()}")
    if _OPERATOR.fullmatch(between) or (between.strip() == "" and text[second.start] == "+"):
        return Found("ambiguous", "a formula that is not evaluated")
    if _LIST.fullmatch(between):
        scales = [quantity for quantity in quantities if quantity.factor is not None] if scaled else []
        return _single(text, [*scales, first][0]) if same else Found("ambiguous", "several numbers")
    return None


def _without_years(text: str, quantities: list[Quantity]) -> Found:
    """Several numbers in a sentence: the one that is no year of its context ("in 2023 it was 12.5")."""
    left = [quantity for quantity in quantities if not _is_year(text, quantity)]
    amounts = {_amount(quantity) for quantity in left}
    if len(amounts) == 1:
        return _single(text, left[0])
    return Found("ambiguous", "several numbers")


def _is_year(text: str, quantity: Quantity) -> bool:
    number = quantity.number
    if (
        number is None
        or quantity.factor is not None
        or number != number.to_integral_value()
        or not 1900 <= number <= 2100
    ):
        return False
    before = text[max(0, quantity.start - 16) : quantity.start].lower()
    return text[quantity.end : quantity.end + 1] == "年" or _YEAR_BEFORE.search(before) is not None


def _amount(quantity: Quantity) -> Decimal | None:
    if quantity.number is None or quantity.factor is None:
        return quantity.number
    return EXACT.multiply(quantity.number, quantity.factor)


def _may_equal(text: str) -> bool:
    return "=" in text or "≈" in text or "\\" in text


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORD_NUMBERS: dict[str, int] = {
    **{word: value for value, word in enumerate(_ONES.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    **{
        f"{tens}{joint}{one}": 10 * ten + value
        for ten, tens in enumerate(_TENS.split(), 2)
        for value, one in enumerate(_ONES.split()[1:10], 1)
        for joint in ("-", " ")
    },
    **{word: value for value, word in enumerate("零一二三四五六七八九十")},
}
