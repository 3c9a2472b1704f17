"""Numerical questions: the number that a reply answers with, and whether it is within the tolerance.

Where the number stands: the last place that announces an answer (`Answer: 12.5 %`, a box, 答案：...); else, with
`explicit=False`, a reply or last line that is nothing but a number with its unit, or the number at the end of a last
sentence of the form "... is N". Never just any number of the text.

What it means. A percentage or magnitude that the answer writes is converted to the item's unit; a bare number is taken
to be in the item's unit. Where the item has no unit, `5 million` is 5,000,000 and `50%` is 0.5. A gold written with a
percent sign says that the item's unit is percent.

Rules that a reader may want to know: "(5)" standing alone is -5 (see `accounting`); "decreased by 5" is 5, the
sign as written; "3.5-4.0" is a range, which is wrong where one number is asked for; "5 or 6" is ambiguous, "0.5 or 50%"
is not; what is longer than 60 digits or beyond 1e99 is no number; all comparison is in decimal.
"""

import re
import struct
from decimal import Decimal
from typing import Literal, NamedTuple

from msgspec import Struct

from assay.mark.answer import MAX_SLOT, Slot, answer_slots, prepare
from assay.mark.magnitude import EXACT, Unit, convert, parse_unit
from assay.mark.quantity import Quantity, clean, read_quantities
from assay.mark.text import normalise
from assay.types import Mark, NumberGold

NumberStatus = Literal["ok", "none", "range", "ambiguous"]


class NumberReading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The number that a reply answers with.

    Attributes:
        value: the number in the item's unit; None unless the status is `ok`.
        number: the number as written, sign included, before any scale.
        factor: what one of it counts (1e9 for billion, 0.01 for %); None where the answer writes no scale.
        scale: the words that say so, as written.
        status: `ok`, `none` (no number), `range`, `ambiguous` (several different numbers).
        explicit: whether it stood in a place that announces an answer, so that a cut reply has answered as well.
        rule: which rule read it, or why nothing was read.
        written: the text in which it was read, shortened.
    """

    value: Decimal | None = None
    number: Decimal | None = None
    factor: Decimal | None = None
    scale: str = ""
    status: NumberStatus
    explicit: bool = False
    rule: str = ""
    written: str = ""


class _Found(NamedTuple):
    status: NumberStatus
    rule: str
    quantity: Quantity | None = None


class _Ways(NamedTuple):
    """How to read: the item's unit and the two options."""

    unit: Unit
    accounting: bool
    decimal_comma: bool


MAX_WRITTEN = 80
MAX_SHORT_WORDS = 3
MAX_SHORT_REPLY = 200


def read_number(
    text: str,
    *,
    unit: str | None = None,
    extracted: bool = False,
    accounting: bool = True,
    decimal_comma: bool = False,
) -> NumberReading:
    """Read the number that a reply answers with.

    Args:
        text: the reply, thinking included or not.
        unit: the item's unit, as the data writes it.
        extracted: the text is an answer that somebody already extracted.
        accounting: a number alone in round brackets is negative.
        decimal_comma: the reply writes European numbers: `1.234` is 1234.
    """
    ways = _Ways(parse_unit(unit), accounting, decimal_comma)
    prepared = prepare(text)
    if extracted:
        return _reading(_read_place(prepared, ways), prepared, ways, explicit=True)
    for slot in reversed(answer_slots(prepared)):
        found = _read_slot(slot, prepared, ways)
        if found.status != "none":
            return _reading(found, slot.text, ways, explicit=slot.closed)
        if slot.rule in ("line", "tag", "box") and len(slot.text.split()) <= MAX_SHORT_WORDS:
            return _reading(found, slot.text, ways, explicit=slot.closed)
    found, written = _read_unannounced(prepared, ways)
    return _reading(found, written, ways, explicit=False)


def _reading(found: _Found, written: str, ways: _Ways, *, explicit: bool) -> NumberReading:
    written = " ".join(written[: 4 * MAX_WRITTEN].split())
    written = written if len(written) <= MAX_WRITTEN else written[: MAX_WRITTEN - 1] + "…"
    quantity = found.quantity
    if found.status != "ok" or quantity is None or quantity.number is None:
        return NumberReading(status=found.status, explicit=explicit, rule=found.rule, written=written)
    return NumberReading(
        value=convert(quantity.number, quantity.factor, ways.unit.factor),
        number=quantity.number,
        factor=quantity.factor,
        scale=quantity.scale,
        status="ok",
        explicit=explicit,
        rule=found.rule,
        written=written,
    )


# --------------------------------------------------------------------------------------------------------------------
# One place

_HEDGE = (
    r"about|approximately|approx\.?|around|roughly|nearly|almost|some|circa|ca\.|c\.|close to|at|by|to|of|is|are|was|were"
    r"|be|it|it's|the|value|answer|total|an|a|only|just|exactly|over|under|up|down|equals?|equal to|therefore|thus|so"
    r"|environ|etwa|rund|cerca de|unos"
)
_HEAD = re.compile(
    rf"(?:[\s:;~≈=*_`\"'\[{{<>,.$]|(?:{_HEDGE})(?![^\W_])|大约|大約|大概|约为|約為|约|約|近|为|為|是|共)*",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"\s*(?:-|~|\.\.\.?|to|through|till|until|至|到|\\sim)\s*(?:about|approximately|~)?\s*", re.IGNORECASE
)
_LIST = re.compile(
    r"[^\d,;()=]{0,24}?\s*(?:,|;|、|/|(?<![^\W_])(?:or|and|und|oder|ou|et)(?![^\W_])|&|和|与|或)\s*(?:about|~|≈)?\s*",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?<![^\W_])(?:between|from)\s+\W*$", re.IGNORECASE)
_PLUS_MINUS = re.compile(r"\s*(?:±|\+/-|\\pm)\s*")
_OPERATOR = re.compile(r"\s*(?:[+×÷*^·!]|/|x|\\(?:times|cdot|div|sqrt|pi)|√|π)\s*")
_FORMULA_TAIL = re.compile(
    r"\s*(?:\^|\\(?:sqrt|pi|times|cdot|frac|div|log|ln)|√|π|[×÷*+]\s*[\w(\\]|!(?!\s|$)|°?[a-z]?\^\{?-?\d+\}?\s*[-+*]\s*\d)"
)
_EQUALS = re.compile(r"(?<![<>!=])[=≈](?!=)|\\approx|\\simeq")
_YEAR_BEFORE = re.compile(
    r"(?:(?<![^\W_])(?:in|by|of|for|since|during|from|until|to|at|year|fy|and|end|q[1-4]|h[12]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ ,]*)$"
)
_MAX_EQUALS = 8


def _read_slot(slot: Slot, text: str, ways: _Ways) -> _Found:
    if slot.rule == "hash":
        return _read_place(slot.text, ways, whole=True)
    if slot.rule == "box":
        line = text.find("\n", slot.end)
        behind = text[slot.end : min(len(text) if line < 0 else line, slot.end + 40)]
        return _read_box(slot.text, behind, ways)
    if slot.own_line and re.match(r"-\s", slot.text):
        return _Found("ambiguous", "a dash that may be a bullet or a minus")
    return _read_place(slot.text, ways, head=slot.rule == "sentence")


def _read_box(content: str, behind: str, ways: _Ways) -> _Found:
    """A box, with the unit that stands behind it: `\\boxed{12.5}%`."""
    found = _read_place(content, ways)
    if found.quantity is None or found.quantity.factor is not None or found.status != "ok":
        return found
    unit = re.match(r"[\s$)\]}\\]*", behind)
    with_unit = _read_place(content.rstrip("$ .") + " " + clean(behind[unit.end() if unit else 0 :]).lstrip(")"), ways)
    if with_unit.status == "ok" and with_unit.quantity and with_unit.quantity.factor is not None:
        return with_unit
    return found


def _read_place(place: str, ways: _Ways, *, head: bool = False, whole: bool = False) -> _Found:
    """The one number that a place holds.

    Args:
        head: the number must stand at the start, as in running prose.
        whole: the place must be nothing but the number with its unit.
    """
    text = clean(place[:MAX_SLOT])
    parts = _EQUALS.split(text, maxsplit=_MAX_EQUALS)
    for part in reversed(parts):
        quantities = read_quantities(part, ways.unit, accounting=ways.accounting, decimal_comma=ways.decimal_comma)
        if quantities:
            return _decide(part, quantities, head=head and len(parts) == 1, whole=whole)
    word = _WORD_NUMBERS.get(text.strip(" .!").lower())
    if word is not None:
        return _Found("ok", "number word", Quantity(Decimal(word), None, "", 0, len(text), ""))
    return _Found("none", "no number")


def _decide(text: str, quantities: list[Quantity], *, head: bool, whole: bool) -> _Found:
    first = quantities[0]
    before = text[: first.start]
    at_head = _HEAD.fullmatch(before) is not None
    if (head or whole) and not at_head:
        return _Found("none", "no number where the answer should stand")
    if whole and (len(quantities) > 1 or len(text[first.end :].split()) > MAX_SHORT_WORDS):
        return _Found("none", "more than a number")
    if len(quantities) > 1:
        related = _relation(text, quantities)
        if related is not None:
            return related
        if not at_head:
            return _without_years(text, quantities)
    return _single(text, first)


def _single(text: str, quantity: Quantity) -> _Found:
    if quantity.number is None:
        return _Found("ambiguous", quantity.rule)
    if _FORMULA_TAIL.match(text, quantity.end):
        return _Found("ambiguous", "a formula that is not evaluated")
    return _Found("ok", quantity.rule, quantity)


def _relation(text: str, quantities: list[Quantity]) -> _Found | None:
    """What two numbers that stand together are: a range, a value with its error, alternatives, a formula."""
    first, second = quantities[:2]
    between = text[first.end : second.start]
    if _PLUS_MINUS.fullmatch(between):
        return _single(text, first) if len(quantities) == 2 else None
    same = all(_amount(quantity) == _amount(first) for quantity in quantities)
    if _RANGE.fullmatch(between) or (between.strip() == "" and text[second.start] == "-"):
        third = quantities[2] if len(quantities) > 2 else None
        if third is not None and _RANGE.fullmatch(text[second.end : third.start]):
            return _Found("ambiguous", "a date or a formula")
        return _Found("range", f"range {text[first.start : second.end].strip()}")
    if _BETWEEN.search(text[: first.start]) and re.search(r"(?:and|to|与|和|-)\s*\W?$", between):
        return _Found("range", f"range {text[first.start : second.end].strip()}")
    if _OPERATOR.fullmatch(between) or (between.strip() == "" and text[second.start] == "+"):
        return _Found("ambiguous", "a formula that is not evaluated")
    if _LIST.fullmatch(between):
        return _single(text, first) if same else _Found("ambiguous", "several numbers")
    return None


def _without_years(text: str, quantities: list[Quantity]) -> _Found:
    """Several numbers in a sentence: the one that is no year of its context ("in 2023 it was 12.5")."""
    left = [quantity for quantity in quantities if not _is_year(text, quantity)]
    amounts = {_amount(quantity) for quantity in left}
    if len(amounts) == 1:
        return _single(text, left[0])
    return _Found("ambiguous", "several numbers")


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


_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORD_NUMBERS: dict[str, int] = {
    **{word: value for value, word in enumerate(_ONES)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    **{
        f"{tens}{joint}{ones}": 10 * ten + one
        for ten, tens in enumerate(_TENS, 2)
        for one, ones in enumerate(_ONES[1:10], 1)
        for joint in ("-", " ")
    },
    **{word: value for value, word in enumerate("零一二三四五六七八九十")},
}

# --------------------------------------------------------------------------------------------------------------------
# Replies that announce nothing

_ENDING = re.compile(
    r"(?:(?<![^\W_])(?:is|was|are|were|be|equals?|approximately|about|around|reached|est|ist|es)(?![^\W_])|[=≈]|为|為|是|约|約)\s*"
)


def _read_unannounced(text: str, ways: _Ways) -> tuple[_Found, str]:
    stripped = text.strip()
    line = stripped[-MAX_SLOT:].rpartition("\n")[2].strip()
    candidates = [stripped] if len(stripped) <= MAX_SHORT_REPLY else []
    for place in (*candidates, line):
        found = _read_place(place, ways, whole=True)
        if found.status != "none":
            return found, place
        spread = _read_place(place, ways, head=True)
        if spread.status == "range" and len(place.split()) <= 2 * MAX_SHORT_WORDS:
            return spread, place
    starts = [match.end() for match in _ENDING.finditer(line)]
    for start in reversed(starts):
        found = _read_place(line[start:], ways, head=True)
        if found.status != "none":
            return found, line[start:]
    return _Found("none", "no number that is given as the answer"), ""


# --------------------------------------------------------------------------------------------------------------------
# Marking


def mark_number(reading: NumberReading, gold: NumberGold) -> Mark:
    """Right iff the number is within the gold's absolute tolerance, both in the item's unit.

    A range is wrong; no number, or several, is `unanswered`; a gold or tolerance that can't be understood is
    `unmarkable`. Without a tolerance (None, `NaN`) the numbers must be equal. The reason names the rule that decided
    what a percentage or magnitude means.
    """
    item = parse_unit(gold.unit)
    truth = _read_place(normalise(gold.value), _Ways(item, True, False))
    if truth.status != "ok" or truth.quantity is None or truth.quantity.number is None:
        return Mark(
            verdict="unmarkable", extraction=reading.written or None, reason=f"gold: {truth.rule or truth.status}"
        )
    tolerance = parse_tolerance(gold.tolerance)
    if tolerance is None:
        return Mark(verdict="unmarkable", extraction=reading.written or None, reason="the tolerance is not a number")
    if reading.status == "range":
        return Mark(
            verdict="wrong", extraction=reading.written, reason=f"a range, one number is asked for: {reading.rule}"
        )
    if reading.status != "ok" or reading.number is None:
        return Mark(
            verdict="unanswered", extraction=reading.written or None, reason=f"{reading.status}: {reading.rule}"
        )
    factor = item.factor
    if factor is None and truth.quantity.factor is not None and truth.quantity.factor < 1:
        factor = truth.quantity.factor
    answer = convert(reading.number, reading.factor, factor)
    right = convert(truth.quantity.number, truth.quantity.factor, factor)
    distance = EXACT.abs(EXACT.subtract(answer, right))
    verdict = "right" if distance <= tolerance else "wrong"
    reasons = [_scale_rule(reading, item, factor), reading.rule]
    if verdict == "wrong":
        reasons.append(f"{_short(answer)} is {_short(distance)} off, tolerance {_short(tolerance)}")
    return Mark(verdict=verdict, extraction=reading.written, reason="; ".join(filter(None, reasons)))


def _scale_rule(reading: NumberReading, item: Unit, factor: Decimal | None) -> str:
    """Which rule gave an answer's percentage or magnitude its meaning."""
    if reading.factor is None:
        return f"taken in the item's unit ({item.text})" if item.factor is not None else ""
    if item.factor is not None:
        return f"'{reading.scale}' converted to the item's unit ({item.text})"
    if factor is not None:
        return f"'{reading.scale}' converted to the gold's percent"
    if reading.factor < 1:
        return f"'{reading.scale}' as a fraction: the item's unit is no percentage"
    return f"'{reading.scale}' multiplied out: the item's unit has no magnitude"


def parse_tolerance(written: str | None) -> Decimal | None:
    """An absolute tolerance; 0 for None, an empty text and `NaN`; None for what is no tolerance (negative, infinite).

    Data sets keep tolerances as float32, which turns 0.1 into 0.10000000149011612; such a value is taken back to the
    shortest decimal with the same float32.
    """
    text = (written or "").strip()
    if text.lower() in ("", "nan", "none", "null"):
        return Decimal(0)
    if not re.fullmatch(r"\+?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][-+]?\d{1,2})?", text):
        return None
    return _shortest(Decimal(text))


def _shortest(value: Decimal) -> Decimal:
    number = float(value)
    if Decimal(number) != value and repr(number) != str(value):
        return value
    if len(value.normalize().as_tuple().digits) <= 7 or _float32(number) != number:
        return value
    for digits in range(1, 10):  # nine digits tell all float32 values apart
        short = f"{number:.{digits}g}"
        if _float32(float(short)) == number:
            return Decimal(short)
    return value


def _float32(number: float) -> float | None:
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None


def _short(number: Decimal) -> str:
    return f"{number:.12g}"
