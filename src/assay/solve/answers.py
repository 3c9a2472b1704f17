r"""The answer of a solution, for voting: read without any gold, and written so that equal ones are equal texts mostly.

The readers are those of marking. What they read is brought to one form:

- a choice: the item's labels in the item's order, `A` or `A,C`;
- a number: `0.5` for `0.50`, `1/2`, `\frac12`; `1/3` where there is no finite decimal; in the item's unit where one is
  known, without a unit otherwise;
- a list: its elements in that form, sorted unless a point, vector or interval;
- another formula in the spelling that marking compares; words in lower case.

What that leaves apart and is equal all the same (`\frac{\sqrt3}{3}` and `1/\sqrt3`), `equivalent` finds.
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from assay.mark.arithmetic import evaluate
from assay.mark.asked import asked_unit
from assay.mark.choice import read_choice
from assay.mark.expression import ExpressionReading, mark_expression, read_expression
from assay.mark.formula import Formula, elements, is_equation, read_formula, sides
from assay.mark.number import read_number
from assay.types import ExpressionGold, Sample

SEVERAL_RIGHT = "multiple_choice"
"""The `question_type` of questions with several right options. DynaMath calls its single choices so as well: there a
reply that names several options, which marking finds ambiguous, is a class of its own."""

NUMERIC_TYPES = frozenset({"numerical", "numeric", "number", "integer", "float"})
"""Values of the facets `question_type` and `answer_type` that say a number is asked for."""

MAX_ANSWER = 400
"""Characters of an answer. What is longer is prose, and doesn't vote."""

NO_ANSWERS = frozenset(
    {
        "i don't know",
        "i do not know",
        "don't know",
        "idk",
        "unknown",
        "not sure",
        "n/a",
        "no answer",
        "不知道",
        "无法确定",
    }
)
"""Said instead of an answer. "Cannot be determined" is not among them: it may be the right one."""


def read_answer(sample: Sample, text: str, *, truncated: bool = False) -> str | None:
    """The answer that a solution gives, in the form above; None where it gives none, or an ambiguous one.

    Args:
        sample: the question; its gold is not looked at.
        text: the solution.
        truncated: it was cut at the token limit, so that only an announced answer counts.
    """
    if sample.options:
        return _read_labels(sample, text, truncated)
    unit = sample.context.get("unit") or asked_unit(sample.question)
    types = (*sample.facets.get("question_type", ()), *sample.facets.get("answer_type", ()))
    if NUMERIC_TYPES.intersection(types):
        return _read_numeric(text, unit, truncated)
    return _read_free(text, unit, truncated)


def _read_labels(sample: Sample, text: str, truncated: bool) -> str | None:
    several = SEVERAL_RIGHT in sample.facets.get("question_type", ())
    for multiple in (True, False) if several else (False,):
        reading = read_choice(text, sample.options, multiple=multiple)
        if reading.status == "ok" and (reading.explicit or not truncated):
            return ",".join(reading.labels)
    return None


def _read_numeric(text: str, unit: str | None, truncated: bool) -> str | None:
    reading = read_number(text, unit=unit)
    if reading.status == "range":  # one answer as well, if no number
        return reading.written.casefold() if reading.explicit or not truncated else None
    if reading.value is not None:
        return _number_text(Fraction(reading.value)) if reading.explicit or not truncated else None
    formula = read_expression(text)  # 2π/3 is a number to whoever can evaluate it
    if formula.value is None or (truncated and not formula.explicit):
        return None
    body = _value_of(read_formula(formula.value).body)
    return None if evaluate(body) is None else canonical(formula.value, percent=unit == "%")


def _read_free(text: str, unit: str | None, truncated: bool) -> str | None:
    found = read_expression(text)
    if found.value is not None and (found.explicit or not truncated):
        return canonical(found.value, percent=unit == "%")
    number = read_number(text, unit=unit)
    if number.value is None or (truncated and not number.explicit):
        return None
    return _number_text(Fraction(number.value))


# --------------------------------------------------------------------------------------------------------------------
# One form


def canonical(answer: str, *, percent: bool = False) -> str | None:
    """An answer in the form of this module's docstring; None for an empty or overlong one.

    Args:
        answer: as written.
        percent: the question asks for a percentage, so that its sign says nothing.
    """
    answer = answer.strip()
    if not answer or len(answer) > MAX_ANSWER or answer.casefold().strip(" .!*") in NO_ANSWERS:
        return None
    formula = read_formula(answer)
    if not formula.body:
        return None
    return _list_text(formula._replace(percent=formula.percent and not percent))


def _list_text(formula: Formula) -> str:
    listed = elements(formula.body)
    if len(listed.items) < 2:
        return _value_text(formula._replace(body=listed.items[0] if listed.items else formula.body))
    items = [_value_text(formula._replace(body=item)) for item in listed.items]
    if not listed.ordered:
        return ", ".join(sorted(items))
    return f"{listed.brackets[0]}{', '.join(items)}{listed.brackets[1]}"


def _value_of(body: str) -> str:
    r"""Of `x = 5` the value; of `\frac{100}{3} \approx 33.3` the exact one."""
    return body if is_equation(body) else next(iter(sides(body)), body)


def _value_text(formula: Formula) -> str:
    body = _value_of(formula.body)
    sign = "%" if formula.percent else ""
    value = evaluate(body)
    if isinstance(value, Fraction):
        return _number_text(value * formula.scale) + sign
    text = _formula_text(body)
    return (text if formula.scale == 1 else rf"({text}) \times {formula.scale}") + sign


MAX_NUMBER_BITS = 600
"""Numbers as they are read have 60 digits and exponents to 99."""
MAX_DECIMALS = 20


def _number_text(value: Fraction) -> str:
    """A finite decimal, else a fraction in lowest terms; in powers of two where it is huge."""
    top, bottom = value.numerator, value.denominator
    if max(top.bit_length(), bottom.bit_length()) > MAX_NUMBER_BITS:
        return f"{top:#x}/{bottom:#x}" if bottom > 1 else f"{top:#x}"
    for decimals in range(MAX_DECIMALS + 1):
        scaled = top * 10**decimals
        if scaled % bottom == 0:
            digits = str(abs(scaled // bottom)).rjust(decimals + 1, "0")
            whole, part = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
            return ("-" if top < 0 else "") + whole + (f".{part}" if part else "")
    return f"{top}/{bottom}"


_AROUND_SIGNS = re.compile(r"\s*([-+*/=<>^(){}\[\],|])\s*")
_WORDS = re.compile(r"[^\W\d_]+(?:[\s'-]+[^\W\d_]+)*\.?")


def _formula_text(body: str) -> str:
    text = " ".join(body.split())
    if _WORDS.fullmatch(text) and (len(text) > 2 or text.isupper()):
        return " ".join(re.split(r"[\s'-]+", text.rstrip("."))).casefold()
    return _AROUND_SIGNS.sub(r"\1", text)


# --------------------------------------------------------------------------------------------------------------------
# Equal answers

_LABELS = re.compile(r"[A-Z](?:,[A-Z])*")


def equivalent(one: str, other: str) -> bool:
    """Whether two answers in canonical form are the same answer, mathematically where they are formulas.

    Symmetric. False where the comparison can't be made or is over its deadline: a vote then counts for its own text.
    May start and wait for the process of `assay.mark.symbolic`.

    Raises:
        WouldWait: inside of `symbolic.without_waiting()`, where that process would be needed.
    """
    if one == other:
        return True
    if _LABELS.fullmatch(one) and _LABELS.fullmatch(other):
        return False
    first, second = sorted((one, other))
    reading = ExpressionReading(value=second, rule="canonical", explicit=True)
    return mark_expression(reading, ExpressionGold(value=first)).verdict == "right"


def classes(answers: Sequence[str | None]) -> list[tuple[int, ...]]:
    """The positions of equivalent answers together: classes by their first position, positions ascending.

    None belongs to no class. Answers that are equivalent by way of a third one are one class, so the classes don't
    depend on the order of the answers.
    """
    places: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        if answer is not None:
            places.setdefault(answer, []).append(place)
    group = {answer: answer for answer in places}

    def root(answer: str) -> str:
        while group[answer] != answer:
            group[answer] = group[group[answer]]
            answer = group[answer]
        return answer

    for one, other in combinations(sorted(places), 2):
        if root(one) != root(other) and equivalent(one, other):
            group[root(other)] = root(one)
    return sorted(_gathered(places, {answer: root(answer) for answer in places}))


def _gathered(places: dict[str, list[int]], roots: dict[str, str]) -> Iterator[tuple[int, ...]]:
    members: dict[str, list[int]] = {}
    for answer, positions in places.items():
        members.setdefault(roots[answer], []).extend(positions)
    return (tuple(sorted(positions)) for positions in members.values())
