"""The right answer of a rolled-out question, as something that replies can be marked by.

Where the question is from a benchmark whose data is at hand, that benchmark's sample and its robust rule serve. Else
what the file says is read by rule:

| the question | the right answer | marked as |
|---|---|---|
| ends in options `A. ...`, `(B) ...` | names one of them | choice |
| | a number as people write it | number, in the unit that the question asks for |
| | LaTeX or a formula | expression |
| | anything else | text, word for word |

These are the types of `assay eval FILE`, marked by its rule.
"""

import re
from collections.abc import Iterable, Mapping

from assay.benchmarks.options import parse_labels
from assay.benchmarks.own import BENCHMARK
from assay.benchmarks.own_answers import MAX_ANSWER, infer
from assay.mark.asked import asked_unit
from assay.train.records import RolledSolution
from assay.types import ChoiceGold, ExpressionGold, Gold, NumberGold, Option, Sample, TextGold

__all__ = ["BY_RULE", "gold_sample", "listed_options"]

BY_RULE = BENCHMARK
"""Marks what `gold_sample` reads by rule."""

_OPTION = re.compile(r"[ \t]*[(\[]?([A-Z])[)\].:、][ \t]*(\S.*)")


def gold_sample(rolled: RolledSolution, known: Mapping[str, Sample] | None = None) -> Sample | None:
    """The question with its right answer; None where there is none, or the benchmark doesn't know the question.

    Args:
        known: the benchmark's samples by id; None reads the answer by rule.
    """
    if known is not None:
        return known.get(rolled.sample_id)
    answer = rolled.gold.strip()
    if not answer or len(answer) > MAX_ANSWER:
        return None
    options = listed_options(rolled.question)
    labels = parse_labels(answer, options) if options else ()
    if not labels or any(label not in {option.label for option in options} for label in labels):
        options, labels = (), ()
    return Sample(
        id=rolled.sample_id,
        question=rolled.question,
        images=rolled.images,
        options=options,
        gold=ChoiceGold(labels=labels, multiple=len(labels) > 1) if labels else _gold(answer, rolled.question),
        group=rolled.group,
    )


def _gold(answer: str, question: str) -> Gold:
    match infer(answer):
        case "number":
            return NumberGold(value=answer, unit=asked_unit(question))
        case "expression":
            return ExpressionGold(value=answer)
        case _:
            return TextGold(values=(answer,))


def listed_options(question: str) -> tuple[Option, ...]:
    """The last list of lines in a question that are labelled A, B, C, ... without a gap; none for a single one."""
    found: list[Option] = []
    for option in _labelled(question):
        if option.label == "A":
            found = [option]
        elif found and ord(option.label) == ord(found[-1].label) + 1:
            found.append(option)
    return tuple(found) if len(found) > 1 else ()


def _labelled(question: str) -> Iterable[Option]:
    for line in question.splitlines():
        if match := _OPTION.fullmatch(line):
            yield Option(label=match[1], text=match[2].strip())
