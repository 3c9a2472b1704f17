"""What all makers of charts need: measures, names, periods and rows, chosen so that variants share their words.

Two sources of chance: `frame` decides what a chart is about and is the same for all variants of a seed question;
`draw` decides the numbers.
"""

from datetime import date, timedelta
from random import Random

import numpy as np
from msgspec import Struct
from numpy.random import Generator

from assay.fincharts.item import Axis, Chart, Mark, Row, Side, Table
from assay.fincharts.numbers import axis_for, nice_up, round_half
from assay.fincharts.series import Array, Bars, levels, rates
from assay.fincharts.words import Measure, phrases, vocabulary

__all__ = ["Making", "Periods"]

READING = 0.02
"""How far off a careful reading of an unlabelled value may be, as a share of the axis."""

_SOURCES = {
    "k-line": "exchange",
    "order book": "exchange",
    "step line": "macro",
    "radar": "house",
    "correlation heat map": "house",
    "funnel": "equity",
    "bridge": "equity",
    "Financial": "equity",
    "Risk Distribution": "house",
}
"""What kinds and classes of chart have their numbers from, where it is not what their domain has them from."""

_LENGTHS = {"year": 12, "quarter": 3, "month": 1}
"""Months of a period."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Periods(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Points in time as columns: names, the noun for one, its preposition, the first and the last day."""

    names: tuple[str, ...]
    noun: str
    at: str
    start: str
    end: str
    season: int = 0


class Making:
    """See the module. `window`: the first and last day that charts may cover; `bars`: prices of one's own."""

    def __init__(
        self,
        frame: Random,
        draw: Generator,
        *,
        language: str,
        domain: str,
        window: tuple[date, date],
        bars: tuple[Bars, ...] = (),
    ) -> None:
        self.frame = frame
        self.draw = draw
        self.language = language
        self.domain = domain
        self.window = window
        self.bars = bars
        self.words = phrases(language)
        self.labelled = frame.random() < 0.45

    # ---------------------------------------------------------------- words

    def measures(self, *natures: str) -> list[Measure]:
        """The domain's measures of these natures."""
        words = vocabulary()
        found = [words.measures[name] for name in words.domains[self.domain].measures]
        return [measure for measure in found if measure.nature in natures]

    def measure(self, *natures: str) -> Measure:
        """One of the domain's measures of these natures."""
        return self.frame.choice(self.measures(*natures))

    def partner(self, held: tuple[Measure, ...], *natures: str) -> Measure | None:
        """Another measure that the same things can have; None where the domain has none of these natures."""
        found = [measure for measure in self.measures(*natures) if measure not in held and self.groups(*held, measure)]
        return self.frame.choice(found) if found else None

    def word(self, of: object) -> str:
        """The name of a measure or unit in the chart's language."""
        return getattr(of, self.language)

    def unit(self, measure: Measure, currencies: tuple[str, ...] = ("usd", "eur", "cny")) -> tuple[str, str]:
        """A unit for the measure, in one of these currencies if in any, and one that it may be taken for."""
        units = vocabulary().units
        foreign = {"usd", "eur", "cny"} - set(currencies)
        fitting = [name for name in measure.unit if name.partition("_")[0] not in foreign]
        unit = units[self.frame.choice(fitting or measure.unit)]
        return self.word(unit), self.word(units[unit.wrong])

    def groups(self, *measures: Measure) -> tuple[str, ...]:
        """The kinds of things that can have all these measures: the domain's own, or else others; there may be none."""
        own = vocabulary().domains[self.domain].names
        limits = [set(measure.names) for measure in measures if measure.names]
        fitting = tuple(name for name in own if all(name in limit for limit in limits))
        return fitting or (tuple(sorted(set[str].intersection(*limits))) if limits else ())

    def names(self, count: int, *measures: Measure, group: str = "") -> tuple[str, list[str]]:
        """What the things are called that have the measures, and the names of some."""
        words = vocabulary()
        groups = self.groups(*measures)
        names = words.names[group or self.frame.choice(groups)]
        every: tuple[str, ...] = getattr(names, self.language)
        chosen = self.frame.sample(every, min(count, len(every)))
        # Tenors and ratings have an order of their own, in which they are always shown.
        keeps_order = names in (words.names["tenors"], words.names["ratings"])
        return names.row["en"], sorted(chosen, key=every.index) if keeps_order else chosen

    def company(self) -> str:
        return self.frame.choice(getattr(vocabulary().names["companies"], self.language))

    def subject(self, measure: str, name: str = "") -> str:
        """How a sentence speaks of a series: `the revenue of Kestrel`."""
        the = self.words.get("frame", "the")
        if not name:
            return f"{the}{measure}"
        return self.words.get("frame", "of").format(the=the, measure=measure, name=name)

    def statistic(self, name: str, measure: str) -> str:
        """`the median of the yield`."""
        return f"{measure}的{name}" if self.language == "zh" else f"the {name} of the {measure}"

    def asset(self) -> str:
        return self.frame.choice(vocabulary().domains[self.domain].assets)

    def source(self, chart_class: str, kind: str, file: str = "") -> str:
        """Where the chart's numbers are said to be from."""
        if file:
            return self.words.get("sources", "file").format(file=file)
        core = vocabulary().domains[self.domain].core
        name = _SOURCES.get(kind) or _SOURCES.get(chart_class) or core
        house = self.frame.choice(self.words.get("frame", "houses"))
        return self.frame.choice(self.words.get("sources", name)).format(house=house)

    def caption(self, title: str, span: str) -> str:
        template = self.frame.choice(self.words.get("frame", "caption"))
        return template.format(title=title, span=span) if span else title

    # ---------------------------------------------------------------- periods

    def periods(self, low: int, high: int, kinds: tuple[str, ...] = ("year", "quarter", "month")) -> Periods:
        """Between `low` and `high` consecutive years, quarters or months, all within the window.

        Where the window has too few of the kinds asked for, finer ones are taken, and of months as many as there are.
        """
        whole = {kind: _whole(self.window, months) for kind, months in _LENGTHS.items()}
        finer = ("quarter", "month")
        fitting = [kind for kind in kinds if len(whole[kind]) >= low]
        fitting = fitting or [kind for kind in finer if len(whole[kind]) >= low][:1] or ["month"]
        kind = self.frame.choice(fitting)
        step, every = _LENGTHS[kind], whole[kind]
        count = self.frame.randint(min(low, len(every)), min(high, len(every)))
        latest = len(every) - count
        first = every[self.frame.randint(latest // 2, latest)]
        places = [(first + at) * step for at in range(count)]
        last_day = _last_day(places[-1] + step - 1)
        return Periods(
            names=self._period_names(kind, places),
            noun=kind,
            at="{}年" if self.language == "zh" and kind == "year" else self.words.get("frame", "in"),
            start=date(places[0] // 12, places[0] % 12 + 1, 1).isoformat(),
            end=last_day.isoformat(),
            season={"year": 0, "quarter": 4, "month": 12}[kind],
        )

    def _period_names(self, kind: str, places: list[int]) -> tuple[str, ...]:
        chinese = self.language == "zh"
        if kind == "year":
            estimated = self.frame.choice((0, 0, 0, 1, 2))
            years = [str(place // 12) for place in places]
            return tuple(year + ("E" if at >= len(years) - estimated else "") for at, year in enumerate(years))
        if kind == "quarter":
            form = "{y}Q{q}" if chinese else self.frame.choice(("{q}Q{s}", "Q{q} {y}", "{y}Q{q}", "Q{q}-{s}"))
            return tuple(
                form.format(y=place // 12, s=f"{place // 12 % 100:02d}", q=place % 12 // 3 + 1) for place in places
            )
        form = self.frame.choice(("{y}-{m:02d}", "{y}年{m}月") if chinese else ("{n}-{s}", "{n} {y}"))
        return tuple(
            form.format(y=place // 12, s=f"{place // 12 % 100:02d}", m=place % 12 + 1, n=_MONTHS[place % 12])
            for place in places
        )

    # ---------------------------------------------------------------- numbers

    def values(self, measure: Measure, count: int, season: int = 0, *, near: float = 0.0) -> Array:
        """A series of the measure. `near`: the least share of the range's upper end, for series of one size."""
        low, high = measure.range
        low = max(low, near * high)
        if measure.nature == "rate":
            return self.stepped(measure, rates(self.draw, count, low, high, measure.swing))
        return levels(self.draw, count, low, high, measure.swing, season if measure.nature == "flow" else 0)

    def stepped(self, measure: Measure, values: Array) -> Array:
        """The values as multiples of the measure's step, where it has one."""
        return np.maximum(np.round(values / measure.step), 1) * measure.step if measure.step else values

    def rises(self, measure: Measure, noun: str) -> bool:
        """Whether the things stand in the order of their values: yields by tenor, spreads by rating."""
        return measure.rising and noun in ("tenor", "rating")

    def rounded(self, values: Array, decimals: int) -> tuple[float, ...]:
        return tuple(round_half(float(value), decimals) for value in values)

    def axis(self, rows: list[tuple[float, ...]], unit: str, *, zero: bool = False) -> Axis:
        lowest = min(min(row) for row in rows)
        highest = max(max(row) for row in rows)
        return axis_for(lowest, highest, unit, ticks=self.frame.choice((4, 5, 6)), zero=zero)

    def tolerance(self, axis: Axis | None, decimals: int) -> float:
        """What a careful reader may be off: half a digit, so nothing, where values are printed, else a share of the
        axis."""
        if self.labelled or axis is None:
            return 0.5 * 10.0**-decimals
        return max(nice_up(READING * (axis.high - axis.low)), 10.0**-decimals)

    # ---------------------------------------------------------------- a chart

    def chart(
        self,
        chart_class: str,
        kind: str,
        title: str,
        measure: str,
        table: Table,
        *,
        periods: Periods | None = None,
        left: Axis | None = None,
        right: Axis | None = None,
        without: tuple[str, ...] = (),
        extra: dict[str, object] | None = None,
        real: str = "",
    ) -> Chart:
        """The chart with its caption, source and axes."""
        span = f"{periods.names[0]} - {periods.names[-1]}" if periods is not None else ""
        return Chart(
            chart_class=chart_class,
            kind=kind,
            title=title,
            caption=self.caption(title, span),
            source=self.source(chart_class, kind, real),
            language=self.language,
            domain=self.domain,
            asset_class=self.asset(),
            measure=measure,
            table=table,
            left=left,
            right=right,
            labelled=self.labelled,
            without=without,
            extra=extra or {},
            start=periods.start if periods is not None else "",
            end=periods.end if periods is not None else "",
            real=real,
        )

    def row(
        self,
        name: str,
        subject: str,
        values: tuple[float, ...],
        units: tuple[str, str],
        decimals: int,
        axis: Axis | None,
        *,
        mark: Mark = "line",
        side: Side = "left",
    ) -> Row:
        return Row(
            name=name,
            subject=subject,
            values=values,
            unit=units[0],
            wrong_unit=units[1],
            decimals=decimals,
            tolerance=self.tolerance(axis, decimals),
            mark=mark,
            axis=side,
        )

    def titled(self, measure: str, of: str = "") -> str:
        """A title such as `Kestrel: revenue`, `Revenue by region`."""
        if not of:
            return measure[:1].upper() + measure[1:]
        return f"{of}：{measure}" if self.language == "zh" else f"{of}: {measure}"

    def by(self, measure: str, noun: str) -> str:
        """`Revenue by region`."""
        thing = self.words.noun(noun)
        if self.language == "zh":
            return f"各{thing}{measure}"
        return f"{measure[:1].upper() + measure[1:]} by {thing}"


def _whole(window: tuple[date, date], months: int) -> range:
    """The periods of so many months that lie in the window as a whole, counted from the year 0."""
    start, end = window
    first = start.year * 12 + start.month - 1 + (start.day > 1)
    last = end.year * 12 + end.month - 1 + (end == _last_day(end.year * 12 + end.month - 1))
    return range(-(-first // months), last // months)


def _last_day(month: int) -> date:
    following = month + 1
    return date(following // 12, following % 12 + 1, 1) - timedelta(days=1)
