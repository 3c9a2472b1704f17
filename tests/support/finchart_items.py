"""FinCharts' questions without pictures, as the records and as the plain JSON that is written of them."""

import json
from functools import cache
from typing import Any

import msgspec

from assay.fincharts.charts import KINDS
from assay.fincharts.generate import Request, inventions
from assay.fincharts.invent import Settings, invent
from assay.fincharts.item import Item
from assay.fincharts.plan import Slot
from assay.fincharts.taxonomy import LEVELS, TYPES
from assay.fincharts.words import vocabulary

SETTINGS = Settings(
    seed=11, variants=1, window=(Request(seed=0, count=1).start, Request(seed=0, count=1).end), fonts=("DejaVu Sans",)
)


@cache
def of_every_kind(language: str = "en") -> tuple[Item, ...]:
    """One question of each type and level about each kind of chart."""
    domains = list(vocabulary().domains)
    found: list[Item] = []
    for kind, (chart_class, _, _) in KINDS.items():
        for question_type in TYPES:
            for level in LEVELS:
                slot = Slot(
                    index=len(found),
                    type=question_type,
                    level=level,
                    chart_class=chart_class,
                    kind=kind,
                    domain=domains[len(found) % len(domains)],
                    language=language,
                )
                found += invent(slot, SETTINGS)
    return tuple(found)


def items(seed: int, count: int, **options: Any) -> list[Item]:
    """The questions of a request."""
    return [item for group in inventions(Request(seed=seed, count=count, **options)) for item in group]


def plain(item: Item) -> dict[str, Any]:
    """As it is written."""
    return json.loads(msgspec.json.encode(item))
