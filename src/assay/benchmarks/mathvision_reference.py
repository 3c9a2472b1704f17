r"""The verdict of MATH-Vision's published script (mathllm/MATH-V, `evaluation/`), its rule restated.

Checked against the published verdicts on 5 x 3,040 replies (`tests/parity`). The quirks are the point: the letter
rules come first, text after "is " is taken if it is a number, boxes are cut greedily, and two values are equal when
they agree to two decimals (0.004 and 0.001 do).

Ours is the reader of numbers (`assay.mark.arithmetic`): the script hands the text to latex2sympy, and to `eval` for
tuples. What the script's reader can't read has no value here either: units, variables, `\!`, an unopened `\)`.
"""

import re
from collections.abc import Iterator

from assay.mark.arithmetic import as_float, evaluate
from assay.types import Mark

LETTERS = "ABCDE"

_PHRASES = ("the final answer is", "the answer is", "the correct answer is", "the answer should be")

# In this order: `\$` before `$`, whose backslash would stay behind.
_DELETED = (
    *("\n", "\\!", "\\text", "\\mbox", "\\left", "\\right", "^{\\circ}", "^\\circ"),
    *("\\$", "$", "\\%", "km", "units", "{}"),
)


def mark(reply: str, gold: str, option: str = "", *, extracted: bool = False) -> Mark:
    """The script's verdict.

    Args:
        reply: the model's text.
        gold: the letter or the value, as the data writes it.
        option: the text of the right option, as the data writes it; empty for a free question.
        extracted: the reply is an extracted answer already (as in the published `model_answer`).
    """
    answer = _rewrite(reply.strip().lower()) if extracted else extract(reply)
    right = equal(answer, gold) or equal(answer, option)
    return Mark(verdict="right" if right else "wrong", extraction=answer)


def extract(reply: str) -> str:
    """The script's `model_answer`: lower-cased and rewritten; the whole reply where no rule applies."""
    text = reply.strip()
    text = _lone_letter(text) or text
    text = _number_after_is(text) or text
    if "oxed{" not in text:
        text = _after_phrases(text)
    elif text.count("oxed{") > 1:
        text = "oxed{" + text.rsplit("oxed{", 1)[1]
    return _rewrite(_box(text.lower()))


_LONE = tuple(
    (letter, (f" {letter}.", f" ({letter})."), (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n"))
    for letter in LETTERS
)


def _lone_letter(text: str) -> str | None:
    for letter, ends, starts in _LONE:
        if text.endswith(ends) or text.startswith(starts):
            return letter
    return None


def _number_after_is(text: str) -> str | None:
    tail = text.rsplit("is ", 1)[-1].rstrip(".")
    return tail if "is " in text and _is_number(tail) else None


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def _after_phrases(text: str) -> str:
    """Every phrase cuts what the one before has left, first in lower case, then with a capital."""
    for phrase in _PHRASES:
        for flag in (phrase, phrase.capitalize()):
            if flag in text:
                text = text.rsplit(flag, 1)[1].strip().split("\n", 1)[0].split(". ", 1)[0]
                text = text.removeprefix(":").strip()
    return text


def _box(text: str) -> str:
    """From the box's brace to the last brace of the text, cut where a brace closes that was never opened."""
    _, found, inside = text.partition("oxed{")
    if not found or "}" not in inside:
        return text
    inside = inside[: inside.rindex("}")]
    depth = 0
    for at, character in enumerate(inside):
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return inside[:at]
    return inside


_BACKSLASHES = re.compile(r"\\+")
_BRACKETED = re.compile(r"\(([a-e])\)")
_BRACED = re.compile(r"\{([a-e])\}")
_BARE_ROOT = re.compile(r"\\sqrt(?![{\[])(.)")
_PLAIN_FRACTION = re.compile(r"^(-?\d+)/(-?\d+)$")


def _rewrite(text: str) -> str:
    if text.isdigit() or (len(text) == 1 and text.isalpha()):
        return text  # as all of what follows would
    text = text.rsplit("=", 1)[-1].rsplit("\\approx", 1)[-1].replace(" ", "")
    text = _BACKSLASHES.sub(r"\\", text).replace("tfrac", "frac").replace("dfrac", "frac")
    for deleted in _DELETED:
        text = text.replace(deleted, "")
    text = _BRACED.sub(r"\1", _BRACKETED.sub(r"\1", text))  # `{(a)}` loses both pairs
    text = text.replace("{.", "{0.")
    if text.startswith("."):
        text = "0" + text
    text = _BARE_ROOT.sub(r"\\sqrt{\1}", text)
    if text == "0.5":
        text = r"\frac{1}{2}"
    text = _PLAIN_FRACTION.sub(r"\\frac{\1}{\2}", text)
    return text.removesuffix(".")


def equal(answer: str, gold: str) -> bool:
    """Equal strings, equal to two decimals, or tuples whose elements are so. An empty side is never equal."""
    if not answer or not gold:
        return False
    if answer.lower() == gold.lower():
        return True
    ours, theirs = list(_elements(answer)), list(_elements(gold))
    return len(ours) == len(theirs) and all(map(_equal_values, ours, theirs))


def _elements(text: str) -> Iterator[str]:
    text = text.strip()
    if "," in text and text[0] in "([" and text[-1] in ")]":
        yield from text[1:-1].split(",")
    else:
        yield text


def _equal_values(answer: str, gold: str) -> bool:
    ours, theirs = _two_decimals(answer), _two_decimals(gold)
    return ours is not None and ours == theirs


def _two_decimals(text: str) -> float | None:
    value = evaluate(text)
    number = None if value is None else as_float(value)
    return None if number is None else round(number, 2)
