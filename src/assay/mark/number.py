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

from msgspec import Struct

from assay.mark.answer import MAX_SLOT, Slot, answer_slots, listed, prepare
from assay.mark.magnitude import EXACT, Unit, convert, parse_unit
from assay.mark.quantity import clean
from assay.mark.scalar import MAX_SHORT_WORDS, Found, NumberStatus, Ways, read_scalar
from assay.mark.text import normalise
from assay.types import Mark, NumberGold


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


MAX_WRITTEN = 80
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
    ways = Ways(parse_unit(unit), accounting, decimal_comma)
    prepared = prepare(text)
    if extracted:
        return _reading(read_scalar(prepared, ways), prepared, ways, explicit=True)
    for slot in reversed(listed(answer_slots(prepared), prepared)):
        found = _read_slot(slot, prepared, ways)
        if found.status != "none":
            return _reading(found, slot.text, ways, explicit=slot.closed)
        if slot.rule in ("line", "tag", "box") and len(slot.text.split()) <= MAX_SHORT_WORDS:
            return _reading(found, slot.text, ways, explicit=slot.closed)
    found, written = _read_unannounced(prepared, ways)
    return _reading(found, written, ways, explicit=False)


def _reading(found: Found, written: str, ways: Ways, *, explicit: bool) -> NumberReading:
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


def _read_slot(slot: Slot, text: str, ways: Ways) -> Found:
    if slot.rule == "hash":
        return read_scalar(slot.text, ways, whole=True)
    if slot.rule == "box":
        line = text.find("\n", slot.end)
        behind = text[slot.end : min(len(text) if line < 0 else line, slot.end + 40)]
        return _read_box(slot.text, behind, ways)
    if slot.own_line and re.match(r"-\s", slot.text):
        return Found("ambiguous", "a dash that may be a bullet or a minus")
    found = read_scalar(slot.text, ways, head=slot.rule == "sentence")
    if found.status in ("range", "ambiguous") and len(slot.text.split()) > 2 * MAX_SHORT_WORDS:
        # A whole sentence: "the change between 2018 and 2019 is 16.36%" answers 16.36%, not with a range.
        ending, _ = _read_ending(slot.text, ways)
        return ending if ending.status == "ok" else found
    return found


def _read_box(content: str, behind: str, ways: Ways) -> Found:
    """A box, with the unit that stands behind it: `\\boxed{12.5}%`."""
    found = read_scalar(content, ways)
    if found.quantity is None or found.quantity.factor is not None or found.status != "ok":
        return found
    unit = re.match(r"[\s$)\]}\\]*", behind)
    with_unit = read_scalar(content.rstrip("$ .") + " " + clean(behind[unit.end() if unit else 0 :]).lstrip(")"), ways)
    if with_unit.status == "ok" and with_unit.quantity and with_unit.quantity.factor is not None:
        return with_unit
    return found


# --------------------------------------------------------------------------------------------------------------------
# Replies that announce nothing

_ENDING = re.compile(
    r"(?:(?<![^\W_])(?:is|was|are|were|be|equals?|approximately|about|around|roughly|reached|est|ist|es)(?![^\W_])|[=≈]|为|為|是|约|約)\s*"
)
_NAMED = re.compile(r"[\s*_-]*[^\W\d][^:\n\d]{0,60}:[\s*_]+(?=\S)")


def _read_unannounced(text: str, ways: Ways) -> tuple[Found, str]:
    stripped = text.strip()
    line = stripped[-MAX_SLOT:].rpartition("\n")[2].strip()
    candidates = [stripped] if len(stripped) <= MAX_SHORT_REPLY else []
    for place in (*candidates, line):
        found = read_scalar(place, ways, whole=True)
        if found.status != "none":
            return found, place
        spread = read_scalar(place, ways, head=True)
        if spread.status == "range" and len(place.split()) <= 2 * MAX_SHORT_WORDS:
            return spread, place
    named = None if "\n" in stripped else _NAMED.match(stripped)
    if named:  # all of the reply: "Growth rate: 12.5%"
        found = read_scalar(stripped[named.end() :], ways, whole=True)
        if found.status != "none":
            return found, stripped
    return _read_ending(line, ways)


def _read_ending(line: str, ways: Ways) -> tuple[Found, str]:
    """The number at the end of a sentence of the form "... is N"."""
    for start in reversed([match.end() for match in _ENDING.finditer(line)]):
        found = read_scalar(line[start:], ways, whole=True)
        if found.status != "none":
            return found, line[start:]
    return Found("none", "no number that is given as the answer"), ""


# --------------------------------------------------------------------------------------------------------------------
# Marking


def mark_number(reading: NumberReading, gold: NumberGold) -> Mark:
    """Right iff the number is within the gold's tolerance, absolute or relative to the gold, both in the item's unit.

    A range is wrong; no number, or several, is `unanswered`; a gold or tolerance that can't be understood is
    `unmarkable`. Without a tolerance (None, `NaN`) the numbers must be equal. The reason names the rule that decided
    what a percentage or magnitude means.
    """
    item = parse_unit(gold.unit)
    truth = read_scalar(normalise(gold.value), Ways(item, True, False))
    if truth.status != "ok" or truth.quantity is None or truth.quantity.number is None:
        return Mark(
            verdict="unmarkable", extraction=reading.written or None, reason=f"gold: {truth.rule or truth.status}"
        )
    tolerance, relative = parse_tolerance(gold.tolerance), parse_tolerance(gold.relative)
    if tolerance is None or relative is None:
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
    tolerance = max(tolerance, EXACT.multiply(relative, EXACT.abs(right)))
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
    """A tolerance; 0 for None, an empty text and `NaN`; None for what is no tolerance (negative, infinite).

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
