"""Which question is about what: quotas of types, levels, classes and domains, filled exactly, dealt out at random."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

from msgspec import DecodeError, Struct
from msgspec.json import decode
from msgspec.structs import replace

from assay.errors import DataError
from assay.fincharts.chance import dice
from assay.fincharts.charts import CLASSES, KINDS
from assay.fincharts.taxonomy import (
    CHART_WEIGHTS,
    CORE_COUNTS,
    LEVEL_COUNTS,
    LEVELS,
    TYPE_COUNTS,
    TYPES,
    Level,
    QuestionType,
)
from assay.fincharts.words import LANGUAGES, vocabulary

__all__ = ["Slot", "Weights", "apportion", "finmme_weights", "plan", "read_weights", "uniform_weights"]

_T = TypeVar("_T")


class Weights(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often each value of the taxonomy is to occur, in any scale; those that are not named get none."""

    question_type: dict[str, float]
    cognitive_level: dict[str, float]
    chart_class: dict[str, float]
    knowledge_domain: dict[str, float]
    language: dict[str, float] = {}


class Slot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one seed question is to be."""

    index: int
    type: QuestionType
    level: Level
    chart_class: str
    kind: str
    domain: str
    language: str


def finmme_weights() -> Weights:
    """FinMME's counts where it gives them; see `taxonomy`."""
    domains = vocabulary().domains
    cores: dict[str, int] = {}
    for domain in domains.values():
        cores[domain.core] = cores.get(domain.core, 0) + 1
    return Weights(
        question_type={name: float(count) for name, count in TYPE_COUNTS.items()},
        cognitive_level={name: float(count) for name, count in LEVEL_COUNTS.items()},
        chart_class=dict(CHART_WEIGHTS),
        knowledge_domain={name: CORE_COUNTS[domain.core] / cores[domain.core] for name, domain in domains.items()},
    )


def uniform_weights() -> Weights:
    """Every value as often as any other."""
    return Weights(
        question_type=dict.fromkeys(TYPES, 1.0),
        cognitive_level=dict.fromkeys(LEVELS, 1.0),
        chart_class=dict.fromkeys(CHART_WEIGHTS, 1.0),
        knowledge_domain=dict.fromkeys(vocabulary().domains, 1.0),
    )


def apportion(weights: Mapping[_T, float], count: int) -> list[_T]:
    """`count` values in proportion to their weights: whole parts first, then the largest remainders."""
    whole = math.fsum(weights.values())
    quotas = {value: weight / whole * count for value, weight in weights.items()}
    counts = {value: math.floor(quota + 1e-9) for value, quota in quotas.items()}
    by_remainder = sorted(quotas, key=lambda value: counts[value] - quotas[value])
    for value in by_remainder[: count - sum(counts.values())]:
        counts[value] += 1
    return [value for value, number in counts.items() for _ in range(number)]


def plan(seed: int, count: int, weights: Weights, languages: tuple[str, ...]) -> list[Slot]:
    """`count` seed questions. Every margin is met as exactly as whole numbers can; types and levels are independent."""
    rng = dice("plan", seed)
    language_weights = {language: weights.language.get(language, 1.0) for language in languages}
    cells = apportion(
        {
            (question_type, level): a * b
            for question_type, a in weights.question_type.items()
            for level, b in weights.cognitive_level.items()
        },
        count,
    )
    kinds = apportion(
        {
            kind: share * KINDS[kind][2] / math.fsum(KINDS[other][2] for other in CLASSES[chart_class])
            for chart_class, share in weights.chart_class.items()
            for kind in CLASSES.get(chart_class, ())
        },
        count,
    )
    columns: list[list[object]] = [
        list(cells),
        list(kinds),
        list(apportion(weights.knowledge_domain, count)),
        list(apportion(language_weights, count)),
    ]
    for column in columns:
        rng.shuffle(column)
    slots: list[Slot] = []
    for index, (cell, kind, domain, language) in enumerate(zip(*columns, strict=True)):
        question_type, level = cast("tuple[QuestionType, Level]", cell)
        name = cast("str", kind)
        slots.append(
            Slot(
                index=index,
                type=question_type,
                level=level,
                chart_class=KINDS[name][0],
                kind=name,
                domain=cast("str", domain),
                language=cast("str", language),
            )
        )
    return slots


def read_weights(path: Path) -> Weights:
    """Weights from a JSON file such as `{"question_type": {"numerical": 1}, ...}`; parts left out are FinMME's.

    Raises:
        DataError: it can't be read, or names what there isn't.
    """
    defaults = finmme_weights()
    try:
        given = decode(path.read_bytes(), type=dict[str, dict[str, float]])
    except (OSError, DecodeError) as cause:
        raise DataError(str(path), f"holds no weights ({cause})", _REMEDY) from cause
    known = {name: getattr(defaults, name) for name in Weights.__struct_fields__} | {"language": LANGUAGES}
    for part, weights in given.items():
        if part not in known:
            raise DataError(str(path), f"has a part {part!r}", f"There are {', '.join(known)}.")
        unknown = [name for name in weights if name not in known[part]]
        if unknown:
            raise DataError(str(path), f"has the {part} {unknown[0]!r}", f"There are {', '.join(known[part])}.")
        if min(weights.values(), default=0.0) < 0 or not 0 < math.fsum(weights.values()) < math.inf:
            raise DataError(str(path), f"has weights of {part} that can't be", "Give numbers above zero.")
    return replace(defaults, **given)


_REMEDY = 'Give a JSON object such as {"question_type": {"numerical": 1, "single_choice": 2}}.'
