r"""Mathematical answers: read out of a reply, and compared with the gold.

Reading: the last closed box or answer line counts; then a sentence that announces the answer; then the last statement.
A box that was never closed is read, and flagged by `explicit=False`.

Comparing, cheapest first: equal text; words as words; lists element by element; plain arithmetic, exactly; Math-Verify
in its own process for the rest. What is not an equality of numbers or formulas is decided here, and said in the reason:

- exact by default: 33.3 is not 100/3. Irrational values are equal to nine significant digits.
- a unit in the answer alone, or in the gold alone, is ignored; two known units must be the same one (no conversion).
- `50%` is 0.5. It is 50 where the gold carries a percent sign itself or the item asks for a percentage, and nothing can
  be said where that is not known. A gold of `28\%` accepts 28 (the sign was left out) and 0.28 (the value).
- magnitude words count: `1.2 billion` is not 1.2.
- points and intervals are ordered, sets and bare lists are not; a point is no set.
- of `x = 5` the value side counts, of `\frac{100}{3} \approx 33.3` either side.
"""

import re
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct, structs

from assay.errors import MarkError
from assay.mark import symbolic
from assay.mark.answer import Slot, answer_slots, prepare
from assay.mark.arithmetic import Number, as_float, evaluate
from assay.mark.formula import Formula, conflicting, elements, is_equation, read_formula, sides
from assay.mark.scalar import WORD_NUMBERS
from assay.mark.text import unwrap
from assay.types import ExpressionGold, Mark

RELATIVE = 1e-9
"""Irrational values that agree so far are equal."""

MAX_ANSWER = 2_000
"""Characters of an answer, with units and markup. A longer one is wrong unless it is the gold word for word."""


class ExpressionReading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reply gives as its answer.

    Attributes:
        value: the answer as written; None where there is none.
        rule: where it was found.
        explicit: it stands in a closed box or behind words that announce it, so that it holds in a cut reply too.
    """

    value: str | None
    rule: str
    explicit: bool


# --------------------------------------------------------------------------------------------------------------------
# Reading

_PLACEHOLDERS = frozenset({"answer", "your answer", "final answer", "...", "…", "x.xx", "\\text{answer}", "\\ldots"})
_BETWEEN_BOXES = re.compile(r"[\s$]*(?:and|or|,|;)[\s$]*(?:[A-Za-z]\w?\s*=\s*)?[\s$]*")
_INLINE = re.compile(r"\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[^\d\s])\.\s|\.\s(?=[A-Z])|[.!?]\s*$|\n")
_EMPHASISED = re.compile(r"\*\*([^*\n]+)\*\*\s+\(")
_REST = re.compile(r"(?:\.\s|,? (?:because|since|so|which|where|as|when|if)\s|;\s).*", re.DOTALL)
_COPULA = re.compile(
    r"(?<!\w)(?:is|are|was|be|equals|=|\\approx|≈|will be|to)(?!\w)\s*:?\s*(?!.*(?<!\w)(?:is|are|equals|=)(?!\w))"
    r"|(?<=[\d)])=\s?(?=[-+]?\d[\d.,/]*(?:\s[a-z]{2,20})?$)"  # 4+8=12 cubes
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\$?\d[\d,]*(?:\.\d+)?(?:/\d+)?\s*(?:\\?%|°|\^\\circ)?(?!\w)")
_EMPTY_BOX = re.compile(r"\\boxed\s*(?:\{\s*\}?)?")
_SHORT = 60
_LAST_CHARS = 2_000


def read_expression(text: str, *, extracted: bool = False) -> ExpressionReading:
    """Find the answer of a reply.

    Args:
        text: the reply.
        extracted: the text is the answer itself; nothing is searched but a box around it.
    """
    if extracted:
        value = text.strip()
        return ExpressionReading(value=value or None, rule="extracted" if value else "empty", explicit=bool(value))
    found = _read(prepare(text))
    return found if found.value is None else structs.replace(found, value=_peeled(found.value))


def _read(prepared: str) -> ExpressionReading:
    slots = [slot for slot in answer_slots(prepared) if slot.text.strip().lower() not in _PLACEHOLDERS]
    strong = [slot for slot in slots if slot.closed and slot.rule != "sentence"]
    for chosen in (strong, slots):
        if chosen and (value := _slot_value(prepared, chosen)):
            last = chosen[-1]
            rule = last.rule if last.closed else f"unclosed {last.rule}"
            return ExpressionReading(value=value, rule=rule, explicit=last.closed)
    return _last_statement(prepared)


_HEDGE = re.compile(
    r"(?:(?:about|approximately|approx\.?|around|roughly|nearly|circa)\s+|[≈~]\s*|(?:大约|大概|约)\s*)(?=[-+\d\\$(])",
    re.IGNORECASE,
)
# "12 (twelve)"; a bracket without a word may be a factor or a point.
_ASIDE = re.compile(r"(?<=[\d}%°$])\s+\((?=[^()]*(?<![\\A-Za-z])[A-Za-z]{3})[^()\\]{1,80}\)$")
# What Chinese replies put around a number: 共有12个立方体. Magnitudes, money and lengths are the number's own.
_COUNTED = re.compile(
    r"[\s::]*(?:一共|总共|總共|共)?(?:有|是|为|為|等于)?\s*(?P<number>[-+]?\d[\d,]*(?:\.\d+)?(?:/\d+)?)\s*"
    r"(?:[个個只块塊种種条條张張人本支次颗顆朵层層段组組对對双雙棵位名份台件套辆輛杯根排步][\u4e00-\u9fff]{0,5})?[.。]?"
)


def _peeled(value: str) -> str:
    """The answer without a hedge before it, a remark in words behind it, and a Chinese counter."""
    counted = _COUNTED.fullmatch(value)
    if counted is not None:
        return counted["number"]
    return _ASIDE.sub("", _HEDGE.sub("", value, count=1) if _HEDGE.match(value) else value)


def _slot_value(text: str, slots: Sequence[Slot]) -> str:
    last = slots[-1]
    if last.rule in ("line", "sentence", "hash"):
        return _announced(last.text)
    if last.rule == "box":
        return ", ".join(slot.text for slot in _joined_boxes(text, slots))
    return last.text


def _joined_boxes(text: str, slots: Sequence[Slot]) -> list[Slot]:
    r"""`x = \boxed{1} or x = \boxed{2}` gives both; boxes that repeat or correct an answer give the last."""
    boxes = [slot for slot in slots if slot.rule == "box"]
    joined = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if not _BETWEEN_BOXES.fullmatch(text[box.end : joined[0].start]):
            break
        joined.insert(0, box)
    return joined


def _announced(line: str) -> str:
    """The answer at the head of what follows `Answer:` or `the answer is`."""
    line = line.strip()
    formula = _INLINE.match(line)
    if formula is not None:
        rest = line[formula.end() :].strip(" .*")
        inside = (formula[1] or formula[2] or formula[3] or "").strip()
        return f"{inside} {rest}" if re.fullmatch(r"[A-Za-z%° ]{1,20}", rest) else inside
    emphasised = _EMPHASISED.match(line)  # **12** (4 + 8)
    line = emphasised[1] if emphasised else _REST.sub("", line)
    inner = re.split(r"(?<!\w)(?:is|are|equals)(?!\w)[\s:]*", line)[-1]
    return unwrap(inner).strip().rstrip(".").strip()


def _last_statement(text: str) -> ExpressionReading:
    """A reply that announces nothing: all of it where it is short, else what its last sentence says."""
    text = _EMPTY_BOX.sub("", text[-_LAST_CHARS:]).strip()
    if not text:
        return ExpressionReading(value=None, rule="empty", explicit=False)
    if len(text) <= _SHORT and "\n" not in text and (len(text.split()) <= 3 or _is_bare_formula(text)):
        return ExpressionReading(value=text, rule="whole reply", explicit=False)
    sentence = [piece for piece in _SENTENCE_END.split(text) if piece.strip()][-1:]
    last = sentence[0].strip() if sentence else text
    said = _COPULA.split(last)[-1] if _COPULA.search(last) else ""
    value = _announced(said) if len(said) <= 2 * _SHORT else ""
    if value and (_is_bare_formula(value) or len(_NUMBER.findall(value)) == 1):
        return ExpressionReading(value=value, rule="last statement", explicit=False)
    numbers = _NUMBER.findall(last)
    if len(numbers) == 1:
        return ExpressionReading(value=numbers[0].strip(), rule="only number", explicit=False)
    return ExpressionReading(value=None, rule="no answer found", explicit=False)


def _is_bare_formula(text: str) -> bool:
    return re.search(r"[^\W\d_]{2,}", re.sub(r"\\[A-Za-z]+|sqrt|pi", " ", text)) is None


# --------------------------------------------------------------------------------------------------------------------
# Comparing


def mark_expression(reading: ExpressionReading, gold: ExpressionGold, *, percent: bool | None = None) -> Mark:
    """The verdict on a reading.

    Args:
        reading: from `read_expression`.
        gold: the right answer.
        percent: whether the item asks for a percentage; None where that isn't known.
    """
    if reading.value is None:
        return Mark(verdict="unanswered", reason=reading.rule)
    try:
        right, reason = _same(gold.value, reading.value, percent)
    except MarkError as error:
        return Mark(verdict="unmarkable", extraction=reading.value, reason=str(error))
    return Mark(verdict="right" if right else "wrong", extraction=reading.value, reason=reason)


def _same(gold: str, answer: str, percent: bool | None) -> tuple[bool, str]:
    """Whether the answer is the gold, and by which rule where it isn't plain."""
    if _key(gold) == _key(answer):
        return True, ""
    if len(answer) > MAX_ANSWER:
        return False, f"the answer has more than {MAX_ANSWER} characters"
    theirs, ours = read_formula(gold), read_formula(answer)
    if _key(theirs.body) == _key(ours.body) and theirs[1:] == ours[1:]:
        return True, ""
    if not ours.body:
        return False, "no formula in the answer"
    number = WORD_NUMBERS.get(ours.body.casefold())
    if number is not None and _words(theirs.body) is None:
        ours = ours._replace(body=str(number))
    words = [_words(formula.body) for formula in (theirs, ours)]
    if words[0] is not None or words[1] is not None:
        return words[0] == words[1], "compared as words"
    if conflicting(theirs, ours):
        return False, f"the unit is {ours.unit}, not {theirs.unit}"
    if theirs.percent or ours.percent:
        return _same_percent(theirs, ours, percent)
    return _same_formulas(theirs, ours)


def _same_percent(gold: Formula, answer: Formula, percent: bool | None) -> tuple[bool, str]:
    plain = _same_formulas(gold._replace(percent=False), answer._replace(percent=False))
    if gold.percent and answer.percent:
        return plain
    if gold.percent and plain[0]:
        return True, "the percent sign was left out"
    hundredth = Fraction(1, 100)
    by_value = _same_formulas(
        gold._replace(scale=gold.scale * (hundredth if gold.percent else 1)),
        answer._replace(scale=answer.scale * (hundredth if answer.percent else 1)),
    )
    if by_value[0]:
        return True, "equal by the value of the percentage"
    if not plain[0]:
        return False, "another percentage"
    if percent is None:
        raise MarkError("a percentage against a bare number, and it isn't known whether the item asks for one")
    return percent, "the item asks for a percentage" if percent else "the item doesn't ask for a percentage"


def _same_formulas(gold: Formula, answer: Formula) -> tuple[bool, str]:
    theirs, ours = elements(gold.body), elements(answer.body)
    if len(theirs.items) == len(ours.items) == 1 and theirs.brackets == ours.brackets == "":
        return _same_values(gold, answer)
    if theirs.brackets != ours.brackets and (theirs.ordered or ours.ordered):
        return False, "a point or an interval against something else"
    if len(theirs.items) != len(ours.items):
        return False, f"{len(ours.items)} elements instead of {len(theirs.items)}"
    pairs = (gold._replace(body=item) for item in theirs.items), [answer._replace(body=item) for item in ours.items]
    if theirs.ordered:
        return all(_same_values(one, other)[0] for one, other in zip(*pairs, strict=True)), ""
    return _same_sets(list(pairs[0]), pairs[1]), "compared in any order"


def _same_sets(gold: list[Formula], answer: list[Formula]) -> bool:
    """Whether the elements pair off. Being equal is transitive, so taking the first partner is enough."""
    left = list(answer)
    for one in gold:
        partner = next((at for at, other in enumerate(left) if _same_values(one, other)[0]), None)
        if partner is None:
            return False
        del left[partner]
    return True


def _same_values(gold: Formula, answer: Formula) -> tuple[bool, str]:
    if is_equation(gold.body):
        return _same_bodies(gold, answer)
    right = sides(gold.body)[:1] or (gold.body,)
    reason = ""
    for side in sides(answer.body):
        equal, reason = _same_bodies(gold._replace(body=right[0]), answer._replace(body=side))
        if equal:
            return True, reason
    return False, reason


def _same_bodies(gold: Formula, answer: Formula) -> tuple[bool, str]:
    if _key(gold.body) == _key(answer.body) and gold.scale == answer.scale:
        return True, ""
    theirs, ours = evaluate(gold.body), evaluate(answer.body)
    if theirs is not None and ours is not None:
        return _same_numbers(_scaled(theirs, gold.scale), _scaled(ours, answer.scale)), ""
    if gold.scale != answer.scale:
        return False, "another magnitude"
    if limit := symbolic.over_limit(answer.body):
        return False, f"the answer has {limit}"
    if not _may_be_formula(answer.body):
        return False, "the answer is not a formula"
    found = symbolic.compare(gold.body, answer.body)
    return found == "equal", "the answer is not a formula" if found == "unreadable answer" else ""


def _scaled(value: Number, scale: Fraction) -> Number:
    if scale == 1:
        return value
    return value * scale if isinstance(value, Fraction) else value * float(scale)


def _same_numbers(gold: Number, answer: Number) -> bool:
    if isinstance(gold, Fraction) and isinstance(answer, Fraction):
        return gold == answer
    theirs, ours = as_float(gold), as_float(answer)
    if theirs is None or ours is None:
        return False
    return abs(theirs - ours) <= RELATIVE * max(abs(theirs), abs(ours))


_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")


def _key(text: str) -> str:
    """Without spaces, but for those between digits: `1 1/4` is not `11/4`."""
    return _BLANKS.sub("", text)


_LETTERS = re.compile(r"[^\W\d_]+(?:[\s'-]+[^\W\d_]+)*")
_BRACKETED_LETTER = re.compile(r"[(\[{]\s*([^\W\d_])\s*[)\]}]")


def _words(body: str) -> str | None:
    """Words in one spelling, or None for a formula.

    Three letters in a row, or a capital alone (a figure's or an option's name): to a parser they are a product of
    variables, for which `dna` is `and`.
    """
    body = _BRACKETED_LETTER.sub(r"\1", body.strip())
    if not _LETTERS.fullmatch(body):
        return None
    if len(body) >= 3 or body.isupper():
        return re.sub(r"[\s'-]+", " ", body).casefold()
    return None


def _may_be_formula(body: str) -> bool:
    """Not prose: without commands, no run of four letters; and no two numbers side by side, which Math-Verify adds."""
    plain = re.sub(r"\\[A-Za-z]+", " ", body)
    return not re.search(r"[^\W\d_]{4,}|\d\s+\d", plain)
