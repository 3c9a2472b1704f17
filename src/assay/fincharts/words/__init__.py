"""The words that charts and questions are made of, in every language."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, Literal

from msgspec import Struct, convert

__all__ = [
    "LANGUAGES",
    "Domain",
    "Measure",
    "Names",
    "Phrases",
    "Tile",
    "TileMap",
    "Unit",
    "Vocabulary",
    "maps",
    "phrases",
    "vocabulary",
]

LANGUAGES = {"en": "English", "zh": "Chinese"}

Nature = Literal["flow", "level", "price", "rate"]


class Unit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A unit's name in each language; `wrong` is the key of a unit that a hasty reader may take it for."""

    en: str
    zh: str
    wrong: str


class Measure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a chart may show; see the head of `vocabulary.toml`.

    Attributes:
        good: a rate that everybody would have higher.
        rising: longer tenors and lower ratings have more of it.
        step: values are multiples of it, if it is not 0.
    """

    en: str
    zh: str
    unit: tuple[str, ...]
    range: tuple[float, float]
    decimals: int
    nature: Nature
    swing: float
    names: tuple[str, ...] = ()
    good: bool = False
    rising: bool = False
    step: float = 0.0


class Names(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of one kind of thing; `row` is what one of them is called."""

    row: dict[str, str]
    en: tuple[str, ...]
    zh: tuple[str, ...]


class Domain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A knowledge domain: the core domain that it counts to, and what its charts are about."""

    core: str
    assets: tuple[str, ...]
    names: tuple[str, ...]
    measures: tuple[str, ...]


class Tile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An area on a map of tiles: its name as printed, and its place: row from the top, column from the left."""

    en: str
    zh: str
    at: tuple[int, int]


class TileMap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A map of tiles; `noun` is what one of them is, `currencies` what is counted in there."""

    noun: str
    currencies: tuple[str, ...]
    title: dict[str, str]
    tiles: tuple[Tile, ...]


class Vocabulary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`vocabulary.toml`."""

    units: dict[str, Unit]
    measures: dict[str, Measure]
    names: dict[str, Names]
    domains: dict[str, Domain]


_WITH_ARTICLE = re.compile(r"(?<=[a-z,] )(United States|United Kingdom|Netherlands|Middle East|UK|US dollar)\b")
"""Names that are printed bare, and take an article within a sentence."""


class Phrases:
    """The sentences of one language. See the head of `phrases.en.toml` for the names in braces."""

    def __init__(self, language: str, table: Mapping[str, Any]) -> None:
        self.language = language
        self._table = table

    def get(self, part: str, name: str) -> Any:
        """An entry as it stands: a text or a list of them."""
        return self._table[part][name]

    def choose(self, part: str, name: str, rng: Random, **values: object) -> str:
        """One of the wordings of a sentence, filled in."""
        return self.fill(rng.choice(self._table[part][name]), values)

    def has(self, part: str, name: str) -> bool:
        return name in self._table[part]

    def fill(self, template: str, values: Mapping[str, object]) -> str:
        """A template filled in; in English with a capital first, and `the` before names that need it."""
        text = template.format_map(values)
        if self.language != "en":
            return text
        text = _WITH_ARTICLE.sub(r"the \1", text)
        return text[:1].upper() + text[1:]

    def noun(self, name: str, *, several: bool = False) -> str:
        """What one or several of a kind are called."""
        return self._table["nouns"][name][several]

    def join(self, parts: list[str]) -> str:
        """`A, B and C`."""
        comma, last = self._table["frame"]["join"]
        return parts[0] if len(parts) == 1 else comma.join(parts[:-1]) + last + parts[-1]


@cache
def vocabulary() -> Vocabulary:
    """Measures, names and units."""
    return convert(_read("vocabulary.toml"), Vocabulary)


@cache
def maps() -> dict[str, TileMap]:
    """The maps of tiles by their names."""
    return convert(_read("maps.toml"), dict[str, TileMap])


@cache
def phrases(language: str) -> Phrases:
    """The sentences of a language, by its code."""
    return Phrases(language, _read(f"phrases.{language}.toml"))


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("assay.fincharts.words") / name).read_text("utf-8"))
