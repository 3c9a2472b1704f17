"""What is written of an item: a row in FinMME's columns, and solutions with labelled steps."""

from typing import Any

from msgspec import Struct

from assay.fincharts.chance import dice
from assay.fincharts.item import Item
from assay.fincharts.rationale import LETTERS, flawed
from assay.fincharts.style import style_facets
from assay.fincharts.words import LANGUAGES

__all__ = ["STYLE_FACETS", "LabelledSteps", "facets", "process_rows", "row"]

STYLE_FACETS = ("font", "palette", "grid", "legend", "resolution", "artefacts", "rotation")
"""Columns that say how a chart looks."""


def facets(item: Item) -> dict[str, str]:
    """What a report may group by, beside FinMME's own facets."""
    chart = item.chart
    return {
        "chart_subclass": chart.kind,
        "operation": item.question.operation,
        "language": LANGUAGES[chart.language],
        "value_labels": "printed" if chart.labelled else "read off the axis",
        "axes": "two" if chart.right is not None else "one" if chart.left is not None else "none",
        "data": "real prices" if chart.real else "made up",
        **style_facets(item.style),
    }


def row(item: Item) -> dict[str, Any]:
    """One line of `rows.jsonl`: FinMME's columns first, then ours."""
    question, chart = item.question, item.chart
    options = {letter: choice.text for letter, choice in zip(LETTERS, question.choices, strict=False)}
    return {
        "id": item.id,
        "image": item.image,
        "question_text": question.text,
        "question_type": question.type,
        "options": options or None,
        "answer": question.answer,
        "unit": question.unit or None,
        "tolerance": question.tolerance,
        "verified_caption": chart.caption,
        "related_sentences": question.related or None,
        "knowledge_domain": chart.domain,
        "cognitive_level": question.level,
        "chart_type": chart.chart_class,
        "asset_class": chart.asset_class,
        "group": item.group,
        "variant": str(item.variant),
        "period_start": chart.start or None,
        "period_end": chart.end or None,
        **facets(item),
    }


class LabelledSteps(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution with the truth of its steps, in the form that `assay prm eval` reads.

    `source` is `fincharts/right` or names the error that was put in. `first_error` is the step with the error, from 0;
    None where there is none.
    """

    id: str
    source: str
    question: str
    steps: tuple[str, ...]
    labels: tuple[bool, ...]
    first_error: int | None
    images: tuple[str, ...]
    group: str


def process_rows(item: Item, seed: int) -> list[LabelledSteps]:
    """The right solution and the wrong ones that can be made of it."""
    question = item.question
    options = "".join(f"\n{letter}: {choice.text}" for letter, choice in zip(LETTERS, question.choices, strict=False))
    asked = question.text + options
    steps = tuple(step.text for step in question.steps)

    def labelled(name: str, texts: tuple[str, ...], labels: tuple[bool, ...], first: int | None) -> LabelledSteps:
        return LabelledSteps(
            id=f"{item.id}#{name}",
            source=f"fincharts/{name}",
            question=asked,
            steps=texts,
            labels=labels,
            first_error=first,
            images=(item.image,),
            group=item.group,
        )

    wrong = flawed(item, dice("errors", seed, item.id))
    return [
        labelled("right", steps, (True,) * len(steps), None),
        *(labelled(found.error, found.steps, found.labels, found.place) for found in wrong),
    ]
