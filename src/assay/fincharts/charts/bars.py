"""Bar charts: upright, grouped, stacked, lying, and lollipops."""

from typing import Any

import numpy as np

from assay.fincharts.charts import Kind
from assay.fincharts.charts.canvas import Canvas, contrast
from assay.fincharts.charts.lines import time_table
from assay.fincharts.item import Axis, Chart, Row, Table
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text

__all__ = ["TABLE", "category_table", "draw_bars", "draw_lying", "draw_stacked", "lengths"]

_GROUPED, _STACKED = "grouped bar", "stacked bar"


def category_table(making: Making, rows: list[Row], names: list[str], noun: str, row_noun: str, **flags: Any) -> Table:
    """A table whose columns are things."""
    return Table(
        rows=tuple(rows),
        columns=tuple(names),
        at=making.words.get("frame", "for"),
        noun=noun,
        row_noun=row_noun,
        ordered=False,
        asked=tuple(range(len(names))),
        **flags,
    )


def lengths(making: Making, measure: Any, count: int, *, near: float = 0.12) -> tuple[float, ...]:
    """One value each for so many things: rates about a mean, sizes spread over their range."""
    low, high = measure.range
    if measure.nature == "rate":
        values = making.stepped(measure, making.draw.uniform(low, high, count))
    else:
        low = max(low, near * high)
        values = np.exp(making.draw.uniform(np.log(low), np.log(high), count))
    return making.rounded(values, measure.decimals)


def make_bar(making: Making) -> Chart:
    """One series over time."""
    measure = making.measure("flow", "level", "rate")
    units, word = making.unit(measure), making.word(measure)
    name = making.names(1, measure)[1][0]
    periods = making.periods(5, 14)
    values = making.rounded(making.values(measure, len(periods.names), periods.season), measure.decimals)
    axis = making.axis([values], units[0], zero=True)
    row = making.row(name, making.subject(word, name), values, units, measure.decimals, axis, mark="bar")
    table = time_table([row], periods, "series", adds_up=measure.nature == "flow", ratio=measure.nature != "rate")
    return making.chart("Distribution", "bar", making.titled(word, name), word, table, periods=periods, left=axis)


def make_grouped(making: Making) -> Chart:
    """Two to four series side by side."""
    measure = making.measure("flow", "level", "rate")
    units, word = making.unit(measure), making.word(measure)
    noun, names = making.names(making.frame.choice((2, 2, 3, 3, 4)), measure)
    periods = making.periods(3, 8 if len(names) < 3 else 5, ("year", "quarter"))
    values = [making.rounded(making.values(measure, len(periods.names), near=0.15), measure.decimals) for _ in names]
    if making.rises(measure, noun):
        values.sort(key=sum)
    axis = making.axis(values, units[0], zero=True)
    rows = [
        making.row(name, making.subject(word, name), series, units, measure.decimals, axis, mark="bar")
        for name, series in zip(names, values, strict=True)
    ]
    table = time_table(
        rows,
        periods,
        noun,
        adds_up=measure.nature == "flow",
        rows_add_up=measure.nature in ("flow", "level"),
        ratio=measure.nature != "rate",
    )
    return making.chart("Distribution", _GROUPED, making.by(word, noun), word, table, periods=periods, left=axis)


def make_stacked(making: Making) -> Chart:
    """Parts on one another; their values are printed, as only the lowest part stands on the axis."""
    measure = making.measure("flow", "level")
    units, word = making.unit(measure), making.word(measure)
    noun, names = making.names(making.frame.choice((3, 3, 4)), measure)
    periods = making.periods(4, 8, ("year", "quarter"))
    making.labelled = True
    values = [making.rounded(making.values(measure, len(periods.names), near=0.3), measure.decimals) for _ in names]
    totals = tuple(float(sum(column)) for column in zip(*values, strict=True))
    axis = making.axis([totals], units[0], zero=True)
    rows = [
        making.row(name, making.subject(word, name), series, units, measure.decimals, axis, mark="bar")
        for name, series in zip(names, values, strict=True)
    ]
    table = time_table(rows, periods, noun, adds_up=measure.nature == "flow", rows_add_up=True, ratio=True)
    return making.chart("Distribution", _STACKED, making.by(word, noun), word, table, periods=periods, left=axis)


def _things(making: Making, kind: str) -> Chart:
    """One measure of several things at one point in time."""
    measure = making.measure("flow", "level", "rate", "price")
    units, word = making.unit(measure), making.word(measure)
    noun, names = making.names(making.frame.randint(5, 9), measure)
    values = lengths(making, measure, len(names))
    if making.rises(measure, noun):
        values = tuple(sorted(values))
    elif making.frame.random() < 0.6:
        values = tuple(sorted(values, reverse=True))
    axis = making.axis([values], units[0], zero=True)
    periods = making.periods(1, 1, ("year", "quarter"))
    row = making.row(making.titled(word), making.subject(word), values, units, measure.decimals, axis, mark="bar")
    adds_up = measure.nature in ("flow", "level")
    table = category_table(making, [row], names, noun, "series", adds_up=adds_up, ratio=measure.nature != "rate")
    comma = "，" if making.language == "zh" else ", "
    title = f"{making.by(word, noun)}{comma}{periods.names[0]}"
    return making.chart("Distribution", kind, title, word, table, left=axis)


def make_lying(making: Making) -> Chart:
    return _things(making, "horizontal bar")


def make_lollipop(making: Making) -> Chart:
    return _things(making, "lollipop")


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def _ground(canvas: Canvas, axis: Axis, *, along: str = "y") -> None:
    """The line that bars stand on, where it is not the edge of the plot."""
    if axis.low < 0:
        line = canvas.ax.axhline if along == "y" else canvas.ax.axvline
        line(0, color=canvas.style.ink, linewidth=0.8, zorder=4)


def draw_bars(canvas: Canvas, chart: Chart) -> None:
    """Bars side by side."""
    table, ax = chart.table, canvas.ax
    count = len(table.rows)
    width = (0.62 if count == 1 else 0.8) / count
    longest = max(len(number_text(value, row.decimals)) for row in table.rows for value in row.values)
    for number, row in enumerate(table.rows):
        shift = (number - (count - 1) / 2) * width
        places = [place + shift for place in range(len(table.columns))]
        colour = canvas.colour(number)
        ax.bar(places, row.values, width=width * 0.94, color=colour, zorder=3)
        if chart.labelled:
            for place, value in zip(places, row.values, strict=True):
                _bar_label(canvas, place, number_text(value, row.decimals), value, longest, width / len(places))
    _finish_upright(canvas, chart)
    if count > 1:
        handles = [canvas.box_handle(canvas.colour(number)) for number in range(count)]
        canvas.legend(handles, [row.name for row in table.rows])


def _bar_label(canvas: Canvas, place: float, text: str, value: float, longest: int, width: float) -> None:
    """A value above or below its bar: all of a chart upright, or all turned where the longest has no room."""
    room = canvas.width * 0.87 * 72 * width  # points
    small = longest * canvas.size * 0.5 > room * 1.15
    canvas.ax.annotate(
        text,
        (place, value),
        xytext=(0, 2 if value >= 0 else -2),
        textcoords="offset points",
        ha="center",
        va="bottom" if value >= 0 else "top",
        fontsize=canvas.size * (0.72 if small else 0.85),
        rotation=90 if small and longest > 3 else 0,
        color=canvas.style.ink,
        zorder=7,
        path_effects=canvas.halo(),
    )


def _finish_upright(canvas: Canvas, chart: Chart) -> None:
    table = chart.table
    if chart.left is not None:
        canvas.value_axis(canvas.ax, chart.left)
        _ground(canvas, chart.left)
    canvas.ax.set_xlim(-0.6, len(table.columns) - 0.4)
    canvas.columns(canvas.ax, table.columns, table.asked)
    canvas.ax.tick_params(axis="x", length=0)
    canvas.grid()


def draw_stacked(canvas: Canvas, chart: Chart) -> None:
    table, ax = chart.table, canvas.ax
    base = np.zeros(len(table.columns))
    for number, row in enumerate(table.rows):
        colour = canvas.colour(number)
        ax.bar(range(len(base)), row.values, width=0.66, bottom=base, color=colour, zorder=3)
        for place, value in enumerate(row.values):
            ax.text(
                place,
                base[place] + value / 2,
                number_text(value, row.decimals),
                ha="center",
                va="center",
                fontsize=canvas.size * 0.82,
                color=contrast(colour),
                zorder=5,
            )
        base += np.array(row.values)
    _finish_upright(canvas, chart)
    handles: list[Any] = [canvas.box_handle(canvas.colour(number)) for number in range(len(table.rows))]
    canvas.legend(handles, [row.name for row in table.rows], where=_outside(canvas))


def _outside(canvas: Canvas) -> str:
    return "right" if canvas.style.legend == "inside" else canvas.style.legend


def draw_lying(canvas: Canvas, chart: Chart) -> None:
    table, ax = chart.table, canvas.ax
    row = table.rows[0]
    places = list(range(len(table.columns)))
    lollipop = chart.kind == "lollipop"
    colour = canvas.colour(0)
    if lollipop:
        ax.hlines(places, 0, row.values, color=colour, linewidth=1.4, zorder=3)
        ax.plot(row.values, places, "o", color=colour, markersize=5.5, zorder=4)
    else:
        best = max(range(len(places)), key=lambda place: row.values[place])
        lit = canvas.style.numbered % 2 == 0
        colours = [canvas.colour(1) if lit and place == best else colour for place in places]
        ax.barh(places, row.values, height=0.66, color=colours, zorder=3)
    if chart.labelled:
        for place, value in zip(places, row.values, strict=True):
            ax.annotate(
                number_text(value, row.decimals),
                (value, place),
                xytext=((6 if lollipop else 3) * (1 if value >= 0 else -1), 0),
                textcoords="offset points",
                ha="left" if value >= 0 else "right",
                va="center",
                fontsize=canvas.size * 0.88,
                color=canvas.style.ink,
                zorder=5,
            )
    if chart.left is not None:
        canvas.value_axis(ax, chart.left, along="x")
        _ground(canvas, chart.left, along="x")
    ax.set_ylim(len(places) - 0.4, -0.6)
    canvas.columns(ax, table.columns, table.asked, along="y")
    ax.tick_params(axis="y", length=0)
    canvas.grid(vertical=True)


TABLE = {
    "bar": Kind(make_bar, draw_bars),
    _GROUPED: Kind(make_grouped, draw_bars),
    _STACKED: Kind(make_stacked, draw_stacked),
    "horizontal bar": Kind(make_lying, draw_lying),
    "lollipop": Kind(make_lollipop, draw_lying),
}
