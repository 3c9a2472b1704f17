"""From a slot of the plan to finished questions: a seed question and its variants, drawn until they are clear."""

from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import RunError
from assay.fincharts.ask.build import build, operations
from assay.fincharts.chance import dice, numbers
from assay.fincharts.charts import load_kind
from assay.fincharts.item import Chart, Item, Question
from assay.fincharts.making import Making
from assay.fincharts.plan import Slot
from assay.fincharts.related import related_sentences
from assay.fincharts.series import Bars
from assay.fincharts.style import draw_style

__all__ = ["Settings", "invent", "signature"]

_FRAMES = 400
"""Seed questions tried for one slot."""

_DRAWS = 12
"""Draws of numbers tried for one variant of one seed question."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What decides all questions but their place in the plan."""

    seed: int
    variants: int
    window: tuple[date, date]
    fonts: tuple[str, ...]
    bars: tuple[Bars, ...] = ()


def invent(slot: Slot, settings: Settings, *, retry: int = 0) -> list[Item]:
    """The variants of one seed question, all clear; `retry` gives another seed question for the same slot.

    Variants share the chart's subject, its periods and the words of the question; numbers, looks and the order of the
    options are new. A seed question whose variants can't all be made clear is given up for the next.

    Raises:
        RunError: none of many seed questions could be made clear.
    """
    for frame in range(_FRAMES):
        key = f"{settings.seed} {settings.window[0]} {settings.window[1]} {slot.index} {retry} {frame}"
        operation = _operation(slot, settings, key)
        if operation is None:
            continue
        items: list[Item] = []
        for variant in range(settings.variants):
            found = _variant(slot, settings, key, operation, variant)
            if found is None:
                break
            items.append(found)
        if len(items) == settings.variants and len({item.chart.table for item in items}) == len(items):
            return items
    raise RunError(
        f"No clear question was found for slot {slot.index} ({slot.kind}, {slot.type}, {slot.level}): "
        "widen the window, or leave this combination out of --weights."
    )


def _chart(slot: Slot, settings: Settings, key: str, variant: int, draw: int) -> Chart:
    making = Making(
        dice("frame", key),
        numbers("draw", key, variant, draw),
        language=slot.language,
        domain=slot.domain,
        window=settings.window,
        bars=settings.bars,
    )
    return load_kind(slot.kind).make(making)


def _operation(slot: Slot, settings: Settings, key: str) -> str | None:
    """What this seed question asks: one of the operations that its chart allows."""
    found = operations(slot.type, slot.level, _chart(slot, settings, key, 0, 0))
    return dice("operation", key).choice(found) if found else None


def _variant(slot: Slot, settings: Settings, key: str, operation: str, variant: int) -> Item | None:
    for draw in range(_DRAWS):
        chart = _chart(slot, settings, key, variant, draw)
        # The words come from the seed question: another draw of numbers, the same rows and columns where it can be.
        question = build(slot.type, slot.level, operation, chart, dice("ask", key))
        if question is not None:
            rng = dice("looks", key, variant)
            question = replace(question, related=related_sentences(question, chart, rng))
            style = draw_style(rng, settings.fonts)
            name = f"{slot.index:06d}" if settings.variants == 1 else f"{slot.index:06d}-{variant}"
            suffix = "png" if style.jpeg is None else "jpg"
            return Item(
                id=name,
                group=f"{slot.index:06d}",
                variant=variant,
                image=f"images/{name}.{suffix}",
                chart=chart,
                style=style,
                question=question,
            )
    return None


def signature(question: Question, chart: Chart) -> str:
    """What two questions must not share: the words, the options and the answer, under one caption."""
    options = "\n".join(sorted(choice.text for choice in question.choices))
    return f"{chart.caption}\n{question.text}\n{options}\n{question.answer if not options else ''}"
