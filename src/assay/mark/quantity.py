"""Quantities in a text: a sign or accounting brackets, a currency, a number, and what scales it.

`-$1.2 billion`, `(5)`, `US$(3.4)m`, `12亿元`, `1亿2000万`, `minus 5%`, `百分之12`, `12 (USD million)`.
"""

import re
from decimal import Decimal
from typing import NamedTuple

from assay.mark.magnitude import CURRENCY, EXACT, Scale, Unit, read_scale
from assay.mark.numeral import read_numeral


class Quantity(NamedTuple):
    """One quantity as written.

    Attributes:
        number: with its sign, before the scale; None for digits that are no number (see `rule`).
        factor: the scale (1e9 for billion, 0.01 for %); None where nothing scales the number.
        scale: the words of the scale.
        start, end: where it stands, sign and scale included.
        rule: a rule worth telling: "decimal comma", "accounting negative", ...
        signed: whether a plus or minus sign was written.
    """

    number: Decimal | None
    factor: Decimal | None
    scale: str
    start: int
    end: int
    rule: str
    signed: bool = False


MAX_QUANTITIES = 12
"""Quantities of one place that are looked at; a place with more is prose or a table."""

_ESCAPED_DOLLAR = "＄"  # normalised text holds no full-width dollar of its own
_START = re.compile(
    r"(?<![0-9A-Za-zÀ-ɏ_^\\.])"
    r"(?P<minus>(?:minus|negative)\s+|负|負|マイナス)?"
    r"(?P<open>\(\s{0,2})?"
    r"(?P<sign>[-+]\s?)?"
    rf"(?P<currency>{CURRENCY}\s?)?"
    r"(?P<inner>\(\s{0,2})?"
    r"(?P<inner_sign>[-+]\s?)?"
    rf"(?P<inner_currency>{CURRENCY}\s?)?"
    r"(?P<hundredths>百分之)?"
    r"(?=\.?\d|\\[dtc]?frac)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\.?\d+|\\[dtc]?frac")
_MAX_PREFIX = 24
_JUNK = re.compile(r"[\s$*_`}]*")
_IN_BRACKETS = re.compile(r"\s?\((?=[^()\d]{1,40}\))(?:in\s)?\s?", re.IGNORECASE)
_CLOSE = re.compile(r"\s{0,2}\)")
_BEFORE_ALONE = re.compile(
    r"[\s:*_`$~≈=]*+(?:(?:about|approximately|approx|around|roughly)\.?|约|大约)?\s*+", re.IGNORECASE
)
_REST_OF_ALONE = re.compile(r"[\s.,;!$*_`\]}。]*")
_MAX_COMPOUND = 4


def clean(text: str) -> str:
    r"""A normalised place without markup that could hide a number; `\$5` keeps a mark for its currency."""
    text = text.replace("{,}", ",")
    if "\\" in text:
        text = re.sub(r"(?<=\d)(?:\\,|\\!|\\ |,\\!)(?=\d)", ",", text)
        text = text.replace("\\$", _ESCAPED_DOLLAR).replace("\\%", "%").replace("\\#", "").replace("\\&", "&")
        text = re.sub(
            r"\\(?:text|mathrm|mathbf|textbf|textit|mbox|operatorname|mathit|boldsymbol)\s?\{([^{}]*)\}", r" \1", text
        )
        text = re.sub(r"\\(?:left|right|displaystyle)(?![A-Za-z])|\\[()\[\],;:! ]|\\quad", " ", text)
    if "Y" in text:
        text = re.sub(r"(?<![^\W_])[FC]Y(?=(?:19|20)\d\d(?!\d))", "", text)  # FY2023 is the year 2023
    if "**" in text:
        text = re.sub(r"\*\*(?!\s?[-+]?\d)|(?<!\d)\*\*", "", text)
    return re.sub(r"</?[a-z]{1,8}\s?/?>", "", text) if "<" in text else text


def read_quantities(text: str, unit: Unit, *, accounting: bool, decimal_comma: bool) -> list[Quantity]:
    """The quantities of a cleaned text, in order, at most MAX_QUANTITIES."""
    found: list[Quantity] = []
    at = 0
    while len(found) < MAX_QUANTITIES:
        digit = _DIGIT.search(text, at)
        if digit is None:
            break
        start = _START.search(text, max(at, digit.start() - _MAX_PREFIX), digit.end())
        if start is None or start.end() != digit.start():
            at = digit.end()
            continue
        quantity = _read(text, start, unit, accounting=accounting, decimal_comma=decimal_comma)
        if quantity is None:
            at = start.end() + 1
            continue
        found.append(quantity)
        at = max(quantity.end, start.end() + 1)
    return found


def _read(text: str, start: re.Match[str], unit: Unit, *, accounting: bool, decimal_comma: bool) -> Quantity | None:
    numeral = read_numeral(text, start.end(), decimal_comma=decimal_comma)
    if numeral is None:
        return None
    if numeral.value is None:
        return Quantity(None, None, "", start.start(), numeral.end, numeral.rule)
    money = unit.money or unit.factor is not None or _is_money(text, start)
    scale = _scale_behind(text, numeral.end, unit, money)
    number, factor, end = _compound(text, numeral.value, scale, unit)
    words = scale.word
    if start["hundredths"]:
        factor, words = Decimal("0.01"), "百分之"
    bracket = start["open"] or start["inner"]
    closed = _CLOSE.match(text, end) if bracket else None
    rule = numeral.rule
    signs = (start["sign"] or start["inner_sign"] or "").strip()
    negative = signs == "-" or bool(start["minus"])
    if closed is not None:
        end = closed.end()
        if factor is None:  # the scale may stand behind the bracket: (5) million
            scale = _scale_behind(text, end, unit, money)
            factor, words, end = scale.factor, scale.word, max(end, scale.end)
        alone = _BEFORE_ALONE.fullmatch(text, 0, start.start()) and _REST_OF_ALONE.fullmatch(text, end)
        if accounting and alone and not signs and not start["minus"]:
            negative, rule = True, "accounting negative"
    if start["minus"] or negative:
        number = -number
    return Quantity(number, factor, words, start.start(), end, rule, bool(signs or start["minus"]))


def _is_money(text: str, start: re.Match[str]) -> bool:
    """A currency before the number; a plain `$` only where it is not the opening of `$...$`."""
    currency = (start["currency"] or start["inner_currency"] or "").strip()
    return bool(currency) and (currency != "$" or text.count("$", start.end(), start.end() + 200) == 0)


def _scale_behind(text: str, end: int, unit: Unit, money: bool) -> Scale:
    """The scale right behind a number, behind its markup, or alone in brackets: `5 (USD million)`."""
    scale = read_scale(text, end, money=money, unit=unit.text)
    if scale.factor is None:
        junk = _JUNK.match(text, scale.end)
        further = read_scale(text, junk.end() if junk else scale.end, money=scale.money, unit=unit.text)
        if further.factor is not None:
            return further
        opened = _IN_BRACKETS.match(text, scale.end)
        if opened is not None:
            inside = read_scale(text, opened.end(), money=scale.money, unit=unit.text)
            if inside.factor is not None:
                return inside._replace(end=text.index(")", inside.end) + 1)
    return scale


def _compound(text: str, number: Decimal, scale: Scale, unit: Unit) -> tuple[Decimal, Decimal | None, int]:
    """`1亿2000万` as 1.2亿: parts with falling magnitudes, written without a blank."""
    factor, end = scale.factor, scale.end
    if factor is None or factor < 1_000 or not scale.word or scale.word[-1] < "\u2e80":
        return number, factor, end
    total, smallest = EXACT.multiply(number, factor), factor
    for _ in range(_MAX_COMPOUND):
        if not text[end : end + 1].isdecimal():
            break
        part = read_numeral(text, end)
        if part is None or part.value is None:
            break
        following = read_scale(text, part.end, money=True, unit=unit.text)
        step = following.factor or Decimal(1)
        if step >= smallest or step < 1:
            break
        total, smallest, end = EXACT.add(total, EXACT.multiply(part.value, step)), step, following.end
    return EXACT.divide(total, factor), factor, end
