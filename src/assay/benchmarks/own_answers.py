"""The options and the right answer of one row of one's own data, and what type the answer has.

Unless `--answer-type` says so for all rows, the type is inferred row by row:

- **choice** where the row has options; true and false as answers make a choice between True and False;
- **number** where the answer is a number as people write it: `1,234.5`, `-3`, `(5)`, `12 %`, `$4.2 million`;
- **expression** where it has LaTeX commands or is a formula: `\\frac{1}{2}`, `x^2+1`, `3/4`, `(1, 2)`;
- **text** otherwise, also for codes (`007`), dates and ranges (`2019-2020`).
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, cast

from assay.benchmarks.data import RowContext
from assay.benchmarks.options import parse_labels, parse_options
from assay.benchmarks.own_columns import Columns, blank, plain
from assay.mark.asked import asked_unit
from assay.mark.number import parse_tolerance
from assay.mark.options import fold_text
from assay.mark.text import normalise
from assay.types import ChoiceGold, ExpressionGold, Gold, NumberGold, Option, TextGold

TRUE_FALSE = (Option(label="True"), Option(label="False"))
MAX_ANSWER = 2_000
"""Characters of an answer; what is longer is no short answer that could be marked."""


class Answer(NamedTuple):
    """What a row asks for. `kind` is one of `ANSWER_TYPES`; `gold` is None where the row has no answer."""

    kind: str
    gold: Gold | None
    options: tuple[Option, ...] = ()


def read_answer(
    row: Mapping[str, Any], columns: Columns, answer_type: str | None, context: RowContext, *, multiple: bool = False
) -> Answer:
    """Options and gold of a row.

    Args:
        answer_type: the type of every row; None to infer it. With another one than choice no options are read.
        multiple: whether the choice questions of this data may have several right options.

    Raises:
        DataError: for an answer that isn't among the options, a tolerance that is none, and the like.
    """
    value = row.get(columns.answer)
    options = read_options(row, columns, context) if answer_type in (None, "choice") else ()
    texts = [] if blank(value) else _texts(value, context)
    if not options and texts and answer_type in (None, "choice") and texts[0].lower() in ("true", "false"):
        options, texts, multiple = TRUE_FALSE, [texts[0].capitalize()], False
    if options:
        if len(texts) > 1 or not isinstance(value, str):
            labels = tuple(dict.fromkeys(label for text in texts for label in _labels(text, options, context)))
        else:
            labels = _labels(texts[0], options, context) if texts else ()
        return Answer("choice", ChoiceGold(labels=labels, multiple=multiple) if labels else None, options)
    if answer_type == "choice":
        raise context.bad("has no options", "Give it options, or leave --answer-type out.")
    if not texts:
        return Answer(answer_type or "text", None)
    kind = answer_type or ("text" if len(texts) > 1 else infer(texts[0]))
    if kind == "expression" and _DECIMAL_COMMA.fullmatch(texts[0].strip()):
        context.note("have an answer such as 5,5, which is read as two numbers: write 5.5 where one is meant")
    return Answer(kind, _gold(kind, texts, row, columns, context))


def _texts(value: object, context: RowContext) -> list[str]:
    values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    texts = [plain(part) for part in values if not blank(part)]
    if any(not isinstance(part, str | int | float | Decimal) and not hasattr(part, "isoformat") for part in values):
        raise context.bad(f"holds its answer as {type(values[0]).__name__}", "Write a text, a number, or a list.")
    if any(len(text) > MAX_ANSWER for text in texts):
        raise context.bad(f"has an answer of more than {MAX_ANSWER:,} characters", "Write a short answer.")
    return texts


def read_options(row: Mapping[str, Any], columns: Columns, context: RowContext) -> tuple[Option, ...]:
    """The options of a row, from one column or from one for each; none where it has none."""
    value = row.get(columns.options) if columns.options else None
    if columns.labels:
        filled = {label: plain(row[name]) for label, name in columns.labels.items() if not blank(row.get(name))}
        options = tuple(Option(label=label, text=text) for label, text in filled.items())
    else:
        options = () if blank(value) else parse_options(value)
        if not options and not blank(value):
            raise context.bad("has options that can't be told apart", 'Write them as a list, or as "A: ...\\nB: ...".')
    if len(options) == 1:
        raise context.bad("has only one option", "Give all options, or leave the column empty.")
    labels = [option.label for option in options]
    double = [label for label in labels if labels.count(label) > 1 or not label]
    if double:
        raise context.bad(f"has the option {double[0]!r} twice", "Give each option a label of its own.")
    texts = [fold_text(option.text) for option in options if option.text]
    if len(set(texts)) < len(texts):
        context.note("have two options with the same text")
    return options


def _labels(answer: str, options: Sequence[Option], context: RowContext) -> tuple[str, ...]:
    labels = parse_labels(answer, options)
    # "ACD" is three labels; "bad" and "CAB" are words.
    glued = len(labels) > 1 and re.fullmatch(r"[A-Za-z]+", answer.strip()) is not None
    if glued and list(answer.strip()) != sorted(answer.strip().upper()):
        labels = ()
    known = [option.label for option in options]
    if not labels or any(label not in known for label in labels):
        same = [option.label for option in options if option.text and fold_text(option.text) == fold_text(answer)]
        if len(same) == 1:
            return (same[0],)
        shown = answer if len(answer) <= 60 else answer[:57] + "..."
        raise context.bad(
            f"has the answer {shown!r}, which is not among its options {', '.join(known)}",
            "Write the label of the right option, or its whole text.",
        )
    return labels


def _gold(kind: str, texts: Sequence[str], row: Mapping[str, Any], columns: Columns, context: RowContext) -> Gold:
    if kind == "text":
        return TextGold(values=tuple(texts))
    if len(texts) > 1:
        raise context.bad(f"has {len(texts)} answers of type {kind}", "Only texts can be right in several ways.")
    if kind == "expression":
        return ExpressionGold(value=texts[0])
    if not is_number(texts[0]):
        raise context.bad(f"has the answer {texts[0][:60]!r}, which is no number", "Write a number.")
    unit = None if columns.unit is None or blank(row.get(columns.unit)) else plain(row[columns.unit])
    tolerance, relative = _tolerance(row.get(columns.tolerance) if columns.tolerance else None, context)
    question = plain(row.get(columns.question))
    return NumberGold(value=texts[0], tolerance=tolerance, relative=relative, unit=unit or asked_unit(question))


def _tolerance(value: object, context: RowContext) -> tuple[str | None, str | None]:
    """Absolute and relative tolerance: `0.5`, `5%`."""
    if (isinstance(value, float) and blank(value)) or (isinstance(value, str) and value.strip().lower() == "nan"):
        context.note("have NaN for a tolerance: their numbers must be equal")
        return None, None
    if blank(value):
        return None, None
    written = plain(value)
    share = written.endswith("%")
    amount = None if isinstance(value, bool) else parse_tolerance(written.removesuffix("%").strip())
    if amount is None:
        raise context.bad(
            f"has the tolerance {written[:60]!r}, which is none", "Write a number from 0 up, or a share such as 5%."
        )
    return (None, str(amount / 100)) if share else (written, None)


# --------------------------------------------------------------------------------------------------------------------
# Types

_NUMBER = re.compile(
    r"[-+]?\(?\s?[-+]?(?:[$€£¥]\s?)?[-+]?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,59})?(?:\.\d{1,59})?(?:[eE][-+]?\d{1,2})?"
    r"\s?(?:%|percent|[€£¥]|(?:thousand|million|billion|trillion)(?:\s[€£¥])?)?\s?\)?"
)
_COMMAND = re.compile(r"\\[A-Za-z]{2,}|\\[({\[]")
_IN_DOLLARS = re.compile(r"\$[^$]+\$")
_FORMULA = re.compile(r"[0-9A-Za-z+\-−*/^()=.,\s{}\[\]|<>!°%√π_·×÷]{1,400}")
_FUNCTIONS = re.compile(r"sqrt|sin|cos|tan|log|ln|exp|pi")
_OPERATOR = re.compile(r"[+*/^=√π·×÷]|\d\s*,\s*[-\d]|\([^()]*,[^()]*\)")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:\s?%)?")
_DATE = re.compile(r"\d{1,4}/\d{1,2}/\d{1,4}")


def infer(answer: str) -> str:
    """The type of an answer without options: number, expression or text."""
    text = answer.strip()
    if is_number(text):
        return "number"
    if _COMMAND.search(text) or _IN_DOLLARS.fullmatch(text):
        return "expression"
    letters = re.search(r"[^\W\d_]{2,}", _FUNCTIONS.sub(" ", text))
    if not letters and _FORMULA.fullmatch(text) and _OPERATOR.search(text) and not _DATE.fullmatch(text):
        return "expression" if re.search(r"\d|=|\^", text) or re.search(r"[a-z]\s*[+*]", text) else "text"
    return "text"


def is_number(text: str) -> bool:
    """Whether an answer is one number as people write it, with a currency, a percent sign or a magnitude."""
    text = normalise(text).strip()
    bracketed = text.startswith("(") == text.endswith(")")
    return bracketed and re.search(r"\d", text) is not None and _NUMBER.fullmatch(text) is not None
