"""What a question is about: by the data set it is from, by what its benchmark says, or by its words.

GM-PRM trains on the plane geometry and the functions of VisualPRM400K. Which of its data sets these are is not stated;
the tables below are ours. The first of three ways that says anything decides:

    source   the data set of a VisualPRM400K file, by its name; some hold questions of one topic alone
    facet    what the question's benchmark groups it by (subject, domain, kind of picture)
    text     words of the question

A question of a known data set or facet that is about something else is about none of these topics; the words decide
only where neither is known. A model may decide in their place (see `train.topic_model`).
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from assay.errors import UsageError
from assay.train.records import RolledSolution

__all__ = ["TOPICS", "Told", "check_topics", "topics_of"]

Way = Literal["source", "facet", "text", "model", "none"]


class Topic(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a topic is known.

    Attributes:
        about: for the model that is asked, and for people.
        sources: beginnings of data sets' names, letters and digits only, in lower case.
        facets: values, in lower case, of whatever facet.
        text: a word of it is enough.
        unless: a word of it is enough to rule the text out.
    """

    about: str
    sources: tuple[str, ...]
    facets: frozenset[str]
    text: re.Pattern[str]
    unless: re.Pattern[str] | None = None


_SOLID = re.compile(
    r"\b(?:cones?|cylinders?|spheres?|prisms?|pyramids?|cubes?|cuboids?|tetrahedr\w+|polyhedr\w+|frustum\w*|volumes?"
    r"|surface area)\b",
    re.IGNORECASE,
)

TOPICS: dict[str, Topic] = {
    "plane-geometry": Topic(
        about="figures in the plane: lines, angles, triangles, polygons, circles; their lengths, areas and proofs",
        sources=("geometry3k", "geoqa", "geo170k", "unigeo", "mavisgeometry", "geos", "geomverse", "pgps9k"),
        facets=frozenset(
            {
                "plane geometry",
                "metric geometry - angle",
                "metric geometry - area",
                "metric geometry - length",
                "calculation of plane figures",
                "understanding of plane figures",
                "angles and length",
                "geometry diagram",
            }
        ),
        text=re.compile(
            r"\b(?:triangles?|angles?|circles?|radius|radii|diameters?|chords?|tangents?|arcs?|parallel|perpendicular"
            r"|bisect\w*|quadrilaterals?|parallelograms?|rhomb\w+|trapez\w+|rectangles?|squares?|polygons?|pentagons?"
            r"|hexagons?|inscribed|circumscribed|congruent|hypotenuse|perimeters?|altitudes?|medians? of)\b|[∠△⊙⊥∥]"
            r"|\\(?:angle|triangle|odot|perp|parallel|overarc)\b",
            re.IGNORECASE,
        ),
        unless=_SOLID,
    ),
    "solid-geometry": Topic(
        about="bodies in space: volumes, surfaces, nets, sections",
        sources=("mavissolid", "clevr", "superclevr"),
        facets=frozenset({"solid geometry", "calculation of solid figures", "understanding of solid figures"}),
        text=_SOLID,
    ),
    "functions": Topic(
        about="functions and their graphs: values, zeros, slopes, extremes, domains, periods, the kind of a function",
        sources=("mavisfunction", "functionqa"),
        facets=frozenset({"functions", "function", "function plot", "analytic geometry"}),
        text=re.compile(
            r"\b(?:functions?|parabolas?|hyperbolas?|slopes?|asymptotes?|derivatives?|[xy]-?\s?intercepts?"
            r"|zeros? of|roots? of|monotonic\w*|graph of)\b|\b[fgh]\s?\(\s?x\s?\)|\by\s?=",
            re.IGNORECASE,
        ),
    ),
    "charts": Topic(
        about="data in charts and tables: reading values off, comparing them, statistics",
        sources=("chartqa", "dvqa", "plotqa", "figureqa", "tabmwp", "mapqa"),
        facets=frozenset(
            {"statistics", "bar chart", "line plot", "pie chart", "scatter plot", "table", "figure question answering"}
        ),
        text=re.compile(
            r"\b(?:(?:bar|line|pie|area|candlestick) (?:charts?|graphs?|plots?)|charts?|histograms?|scatter ?plots?"
            r"|legends?|table shows)\b",
            re.IGNORECASE,
        ),
    ),
}
"""Name -> topic."""


class Told(NamedTuple):
    """A question's topics, and what told them."""

    topics: frozenset[str]
    way: Way


def check_topics(names: Sequence[str]) -> frozenset[str]:
    """The topics that are wanted.

    Raises:
        UsageError: there is none of that name.
    """
    for name in names:
        if name not in TOPICS:
            raise UsageError(f"There is no topic {name!r}. Choose of: {', '.join(sorted(TOPICS))}.")
    return frozenset(names)


def topics_of(solution: RolledSolution) -> Told:
    """What a solution's question is about, by rule."""
    names = {_bare(part) for part in (*solution.facets.get("data_set", ()), *solution.source.split("/"))}
    by_source = {
        topic for topic, known in TOPICS.items() if any(name.startswith(known.sources) for name in names if name)
    }
    if by_source:
        return Told(frozenset(by_source), "source")
    values = {
        value.casefold() for facet, given in solution.facets.items() if facet not in _FORMS for value in given if value
    }
    by_facet = {topic for topic, known in TOPICS.items() if values & known.facets}
    if by_facet:
        return Told(frozenset(by_facet), "facet")
    if any(solution.facets.get(facet) for facet in _SUBJECTS):
        return Told(frozenset(), "facet")
    by_text = {
        topic
        for topic, known in TOPICS.items()
        if known.text.search(solution.question) and not (known.unless and known.unless.search(solution.question))
    }
    return Told(frozenset(by_text), "text" if by_text else "none")


_SUBJECTS = ("subject", "domain")
"""Facets that say what a question is about, whatever they say."""

_FORMS = frozenset({"data_set", "question_type", "answer_type", "level", "version", "variant", "steps", "language"})
"""Facets that say nothing of it."""


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
