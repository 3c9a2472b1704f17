r"""One number as written: digits with separators, exponents, fractions, in plain text or LaTeX.

`1,234.5`, `12,34,567`, `1 234`, `1'234`, `1.234,5`, `3.5e6`, `1.2 \times 10^{9}`, `10^9`, `3/4`, `1 1/4`,
`\frac{1}{2}`.

Limits: MAX_DIGITS digits and exponents to MAX_EXPONENT; what is longer is no number. Whatever the text, the work done
at one position is bounded.
"""

import re
from decimal import Decimal
from typing import NamedTuple

from assay.mark.magnitude import EXACT

MAX_DIGITS = 60
MAX_EXPONENT = 99
_MAX_TOKEN = 100
_MAX_EXPONENT_TOKEN = 6


class Numeral(NamedTuple):
    """A number without its sign. `value` is None for digits that are no number: `1.2.3`, too many of them, `1/0`."""

    value: Decimal | None
    end: int
    rule: str = ""


_SPACED = re.compile(r"\d{1,3}(?: \d{3}){1,6}(?:[.,]\d{1,60})?(?![\d/.,]\d|\d)")
_RUN = re.compile(r"\d(?:[.,']?\d)*|\.\d+")
_WESTERN = re.compile(r"\d{1,3}(?:,\d{3})+")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3})+")
_EXPONENT = re.compile(r"[eE]([-+]?\d+)(?!\w|\.\d)")
_POWER_OF_TEN = r"10[ ]?(?:\^|\*\*)[ ]?(?:\{[ ]?([-+]?[ ]?\d+)[ ]?\}|\(([-+]?\d+)\)|([-+]?\d+))"
_TIMES_POWER = re.compile(rf"[ ]{{0,4}}(?:×|x|X|\*|·|∙|\\times|\\cdot)[ ]{{0,4}}{_POWER_OF_TEN}")
_BARE_POWER = re.compile(_POWER_OF_TEN)
_OVER = re.compile(r"[ ]?/[ ]?(\d{1,60}(?:\.\d{1,60})?)(?![ ]?/[ ]?\d|\d)")
_OVER_DATE = re.compile(r"[ ]?/[ ]?\d{1,4}[ ]?/[ ]?\d")
_CLOCK = re.compile(r"[ ]?:[ ]?\d")
_MIXED = re.compile(r"(?:[ ]{1,4}|[ ]?-[ ]?(?=\d/\d(?!\d)))(\d{1,9})[ ]?/[ ]?(\d{1,9})(?![\d/.])")
_LATEX_FRACTION = re.compile(
    r"[ ]{0,4}\\[dtc]?frac[ ]?(?:\{[ ]?([-+]?\d[\d.,]{0,59})[ ]?\}[ ]?\{[ ]?(\d[\d.,]{0,59})[ ]?\}|(\d)[ ]?(\d))"
)


def read_numeral(text: str, at: int, *, decimal_comma: bool = False) -> Numeral | None:
    r"""The number that starts at a position (a digit, `.5` or `\frac`); None where none does.

    Args:
        decimal_comma: read `1.234` as one thousand two hundred thirty-four and `1,234` as one and a bit. Without it
            a comma is a decimal comma only where it can't be a thousands separator (`1.234,5`, `0,75`, `3,14`).
    """
    fraction = _LATEX_FRACTION.match(text, at)
    if fraction:
        return _latex_fraction(fraction, decimal_comma)
    power = _BARE_POWER.match(text, at)
    if power:
        return _scaled(Decimal(1), power)
    spaced = _SPACED.match(text, at)
    run = spaced or _RUN.match(text, at)
    if run is None:
        return None
    value, rule = parse_digits(run[0].replace(" ", "") if spaced else run[0], decimal_comma=decimal_comma)
    if value is None:
        return Numeral(None, run.end(), rule)
    if clock := _CLOCK.match(text, run.end()):
        return Numeral(None, clock.end(), "a time or a ratio")
    return _with_tail(text, Numeral(value, run.end(), rule), decimal_comma)


def parse_digits(digits: str, *, decimal_comma: bool = False) -> tuple[Decimal | None, str]:
    """Digits with separators as a number, and the rule where it is not the plain one; None and why otherwise."""
    if len(digits) > _MAX_TOKEN:
        return None, "too many digits"
    plain, rule = _without_separators(
        digits.replace("'", "") if _grouped_by_apostrophe(digits) else digits, decimal_comma
    )
    if plain is None:
        return None, rule
    if len(plain.replace(".", "").lstrip("0")) > MAX_DIGITS:
        return None, "too many digits"
    return Decimal(plain), rule


def _grouped_by_apostrophe(digits: str) -> bool:
    return re.fullmatch(r"\d{1,3}(?:'\d{3})+(?:[.,]\d+)?", digits) is not None


def _without_separators(digits: str, decimal_comma: bool) -> tuple[str | None, str]:
    commas, dots = digits.count(","), digits.count(".")
    if "'" in digits:
        return None, "not a number"
    if decimal_comma:
        return _decimal_comma(digits)
    if not commas:
        if dots <= 1:
            return digits, ""
        return (
            (digits.replace(".", ""), "dots group thousands") if _DOTTED.fullmatch(digits) else (None, "not a number")
        )
    whole, _, fraction = digits.rpartition(".")
    if dots == 1 and "," not in fraction:
        if _WESTERN.fullmatch(whole) or _INDIAN.fullmatch(whole):
            return whole.replace(",", "") + "." + fraction, ""
        return None, "not a number"
    if not dots:
        if (_WESTERN.fullmatch(digits) and not digits.startswith("0,")) or _INDIAN.fullmatch(digits):
            return digits.replace(",", ""), ""
        after = digits.rpartition(",")[2]
        if commas == 1 and (len(after) <= 3 or digits.startswith("0,")):
            return digits.replace(",", "."), "decimal comma"
        return None, "not a number"
    return _decimal_comma(digits) if commas == 1 else (None, "not a number")


def _decimal_comma(digits: str) -> tuple[str | None, str]:
    """European: dots (or nothing) group thousands, one comma before the decimals."""
    whole, comma, fraction = digits.partition(",")
    if "," in fraction or "." in fraction or ("." in whole and not _DOTTED.fullmatch(whole)):
        # Even with the option, 12.5 can only be a decimal point.
        return (digits, "") if not comma and digits.count(".") == 1 else (None, "not a number")
    return whole.replace(".", "") + ("." + fraction if fraction else ""), "decimal comma"


def _with_tail(text: str, number: Numeral, decimal_comma: bool) -> Numeral:
    """What may follow the digits: an exponent, a power of ten, a denominator, the fraction of a mixed number."""
    value, end, rule = number
    if value is None:
        return number
    exponent = _EXPONENT.match(text, end)
    if exponent:
        return _exponent(value, exponent[1], exponent.end(), rule)
    power = _TIMES_POWER.match(text, end)
    if power:
        return _scaled(value, power)
    if value == value.to_integral_value():
        mixed = _MIXED.match(text, end)
        if mixed and 0 < int(mixed[1]) < int(mixed[2]):
            part = EXACT.divide(Decimal(mixed[1]), Decimal(mixed[2]))
            return Numeral(EXACT.add(value, part), mixed.end(), "mixed fraction")
        fraction = _LATEX_FRACTION.match(text, end)
        if fraction and (part := _latex_fraction(fraction, decimal_comma).value) is not None and part < 1:
            return Numeral(EXACT.add(value, part), fraction.end(), "mixed fraction")
    if date := _OVER_DATE.match(text, end):
        return Numeral(None, date.end(), "not a number")
    over = _OVER.match(text, end)
    return _divided(value, Decimal(over[1]), over.end()) if over else number


def _scaled(value: Decimal, power: re.Match[str]) -> Numeral:
    written = next(group for group in power.groups() if group is not None)
    return _exponent(value, written.replace(" ", ""), power.end(), "power of ten")


def _exponent(value: Decimal, exponent: str, end: int, rule: str) -> Numeral:
    if len(exponent) > _MAX_EXPONENT_TOKEN or abs(int(exponent)) > MAX_EXPONENT:
        return Numeral(None, end, "exponent too large")
    return Numeral(EXACT.scaleb(value, int(exponent)), end, rule or "exponent")


def _latex_fraction(match: re.Match[str], decimal_comma: bool) -> Numeral:
    top, bottom = match[1] or match[3], match[2] or match[4]
    sign = -1 if top.startswith("-") else 1
    numerator, _ = parse_digits(top.lstrip("+-").rstrip(".,"), decimal_comma=decimal_comma)
    denominator, _ = parse_digits(bottom.rstrip(".,"), decimal_comma=decimal_comma)
    if numerator is None or denominator is None:
        return Numeral(None, match.end(), "not a number")
    return _divided(numerator * sign, denominator, match.end())


def _divided(value: Decimal, by: Decimal, end: int) -> Numeral:
    if by == 0:
        return Numeral(None, end, "division by zero")
    return Numeral(EXACT.divide(value, by), end, "fraction")
