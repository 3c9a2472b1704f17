"""Line charts: several series on one axis, two measures on two axes, stacked areas, and policy rates in steps."""

from typing import Any

import numpy as np

from assay.fincharts.charts import Kind
from assay.fincharts.charts.canvas import Canvas, contrast
from assay.fincharts.item import Axis, Chart, Row, Side, Table
from assay.fincharts.making import Making, Periods
from assay.fincharts.numbers import number_text
from assay.fincharts.words import vocabulary

MARKERS = ("", "", "o", "s", "^", "D", "v")


def shown_columns(count: int, most: int) -> tuple[int, ...]:
    """Which of so many columns have their name printed: every second, third, sixth, ... one from the first."""
    step = next(step for step in (1, 2, 3, 4, 6, 12, 24) if count / step <= most or step == 24)
    return tuple(range(0, count, step))


def time_table(rows: list[Any], periods: Periods, row_noun: str, **flags: Any) -> Table:
    """A table over time. With many columns single points can't be told apart: only printed ones are asked about."""
    count = len(periods.names)
    asked = shown_columns(count, 14)
    return Table(
        rows=tuple(rows),
        columns=periods.names,
        at=periods.at,
        noun=periods.noun,
        row_noun=row_noun,
        ordered=True,
        asked=asked,
        whole=count <= 14,
        yearly=periods.noun == "year",
        **flags,
    )


def make_line(making: Making) -> Chart:
    """One to five series of one measure."""
    measure = making.measure("flow", "level", "price", "rate")
    units = making.unit(measure)
    word = making.word(measure)
    noun, names = making.names(making.frame.choice((1, 2, 2, 3, 3, 4, 5)), measure)
    periods = making.periods(6, 30)
    values = [
        making.rounded(making.values(measure, len(periods.names), periods.season), measure.decimals) for _ in names
    ]
    if making.rises(measure, noun):
        values.sort(key=sum)
    axis = making.axis(values, units[0])
    if len(periods.names) > 14 or not _far_apart(values, axis):
        making.labelled = False
    rows = [
        making.row(name, making.subject(word, name), series, units, measure.decimals, axis)
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
    title = making.titled(word, names[0]) if len(names) == 1 else making.by(word, noun)
    return making.chart("Line", "line", title, word, table, periods=periods, left=axis)


def _far_apart(values: list[tuple[float, ...]], axis: Axis) -> bool:
    """Whether two lines leave room for the labels of both: those of the upper one above it, of the other one below."""
    if len(values) > 2:
        return False
    gaps = [a - b for a, b in zip(values[0], values[-1], strict=True)] if len(values) == 2 else []
    return not gaps or (min(gaps) * max(gaps) > 0 and min(map(abs, gaps)) > 0.06 * (axis.high - axis.low))


def make_dual(making: Making) -> Chart:
    """Two measures of one company or market, each on its own axis."""
    first = making.measure("flow", "level")
    second = making.partner((first,), "rate", "price") or making.measure("rate", "price")
    name = making.names(1, first, second)[1][0]
    periods = making.periods(6, 16, ("year", "quarter"))
    making.labelled = False
    rows: list[Any] = []
    axes: list[Axis] = []
    sides: tuple[Side, Side] = ("left", "right")
    for measure, side in zip((first, second), sides, strict=True):
        units, word = making.unit(measure), making.word(measure)
        values = making.rounded(making.values(measure, len(periods.names), periods.season), measure.decimals)
        axis = making.axis([values], units[0])
        axes.append(axis)
        rows.append(
            making.row(making.titled(word), making.subject(word), values, units, measure.decimals, axis, side=side)
        )
    table = time_table(rows, periods, "series", same=False)
    both = f"{making.word(first)}{'与' if making.language == 'zh' else ' and '}{making.word(second)}"
    return making.chart(
        "Line",
        "dual-axis line",
        making.titled(both, name),
        making.word(first),
        table,
        periods=periods,
        left=axes[0],
        right=axes[1],
    )


def make_area(making: Making) -> Chart:
    """Parts of a whole over time, stacked; values are printed in the areas, as nobody can read a part's height else."""
    measure = making.measure("flow", "level")
    units, word = making.unit(measure), making.word(measure)
    noun, names = making.names(making.frame.choice((3, 4)), measure)
    periods = making.periods(5, 7, ("year", "quarter"))
    making.labelled = True
    values = [making.rounded(making.values(measure, len(periods.names), near=0.4), measure.decimals) for _ in names]
    totals = tuple(float(sum(column)) for column in zip(*values, strict=True))
    axis = making.axis([totals], units[0], zero=True)
    rows = [
        making.row(name, making.subject(word, name), series, units, measure.decimals, axis, mark="area")
        for name, series in zip(names, values, strict=True)
    ]
    table = time_table(rows, periods, noun, adds_up=measure.nature == "flow", rows_add_up=True, ratio=True)
    return making.chart("Line", "area", making.by(word, noun), word, table, periods=periods, left=axis)


def make_step(making: Making) -> Chart:
    """Policy rates: they stay, then move by a quarter or half a point."""
    word = making.word(vocabulary().measures["policy_rate"])
    noun, names = making.names(making.frame.choice((2, 3)), group="countries")
    periods = making.periods(9, 14, ("quarter",))
    making.labelled = False
    values: list[tuple[float, ...]] = []
    while len(values) < len(names):
        moves = making.draw.choice((-0.5, -0.25, 0, 0, 0, 0.25, 0.5), len(periods.names))
        path = making.rounded(np.clip(making.draw.integers(2, 22) * 0.25 + np.cumsum(moves), 0.25, 8), 2)
        # Of two steps on one another only one is seen.
        if all(sum(a == b for a, b in zip(path, other, strict=True)) <= 1 for other in values):
            values.append(path)
    axis = making.axis(values, "%", zero=True)
    units = ("%", "bp")
    rows = [
        making.row(name, making.subject(word, name), series, units, 2, axis)
        for name, series in zip(names, values, strict=True)
    ]
    table = time_table(rows, periods, noun)
    return making.chart("Line", "step line", making.by(word, noun), word, table, periods=periods, left=axis)


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_line(canvas: Canvas, chart: Chart) -> None:
    """Lines on one or two axes."""
    table = chart.table
    places = range(len(table.columns))
    handles: list[Any] = []
    labels: list[str] = []
    marker = MARKERS[canvas.style.numbered % len(MARKERS)] if len(places) <= 20 else ""
    for number, row in enumerate(table.rows):
        axes = canvas.ax if row.axis == "left" else canvas.second()
        colour = canvas.colour(number)
        axes.plot(places, row.values, color=colour, linewidth=1.7, marker=marker, markersize=3.2, zorder=3)
        handles.append(canvas.line_handle(colour, marker=marker, markersize=3.2))
        side = "" if chart.right is None else ("(LHS)", "(RHS)")[row.axis == "right"]
        if chart.right is not None and chart.language == "zh":
            side = ("（左轴）", "（右轴）")[row.axis == "right"]
        labels.append(f"{row.name} {side}".strip())
        if chart.labelled:
            above = all(row.values[0] >= other.values[0] for other in table.rows)
            _point_labels(canvas, axes, row, colour, above=above, dips=_dips(chart))
    _time_axes(canvas, chart)
    if len(labels) > 1:
        canvas.legend(handles, labels)


def _dips(chart: Chart) -> tuple[int, ...]:
    """Where a single line turns upwards, with room for a label below it."""
    axis, rows = chart.left, chart.table.rows
    if axis is None or len(rows) != 1:
        return ()
    values = rows[0].values
    floor = axis.low + 0.09 * (axis.high - axis.low)
    beside = [[values[at] for at in (place - 1, place + 1) if 0 <= at < len(values)] for place in range(len(values))]
    return tuple(place for place, value in enumerate(values) if floor < value < min(beside[place]))


def _point_labels(canvas: Canvas, axes: Any, row: Row, colour: str, *, above: bool, dips: tuple[int, ...]) -> None:
    """Values beside a line's points: on one side of it, but for dips, where the line is."""
    for place, value in enumerate(row.values):
        up = above and place not in dips
        axes.annotate(
            number_text(value, row.decimals),
            (place, value),
            xytext=(0, 5 if up else -5),
            textcoords="offset points",
            ha="center",
            va="bottom" if up else "top",
            fontsize=canvas.size * 0.85,
            color=colour,
            zorder=5,
            path_effects=canvas.halo(),
        )


def _time_axes(canvas: Canvas, chart: Chart) -> None:
    table = chart.table
    canvas.ax.set_xlim(-0.5, len(table.columns) - 0.5)
    if chart.left is not None:
        canvas.value_axis(canvas.ax, chart.left)
    if chart.right is not None and canvas.twin is not None:
        canvas.value_axis(canvas.twin, chart.right, right=True)
        canvas.twin.spines["right"].set_visible(True)
    canvas.columns(canvas.ax, table.columns, table.asked)
    canvas.grid()


def draw_area(canvas: Canvas, chart: Chart) -> None:
    table = chart.table
    places = range(len(table.columns))
    stack = np.array([row.values for row in table.rows])
    colours = [canvas.colour(number) for number in range(len(table.rows))]
    canvas.ax.stackplot(places, stack, colors=colours, edgecolor=canvas.style.paper, linewidth=0.6)
    base = np.zeros(len(table.columns))
    for number, row in enumerate(table.rows):
        for place, value in enumerate(row.values):
            align = "left" if place == 0 else "right" if place == len(places) - 1 else "center"
            canvas.ax.text(
                place + (0.04 if place == 0 else -0.04 if align == "right" else 0),
                base[place] + value / 2,
                number_text(value, row.decimals),
                ha=align,
                va="center",
                fontsize=canvas.size * 0.85,
                color=contrast(colours[number]),
            )
        base += np.array(row.values)
    _time_axes(canvas, chart)
    canvas.ax.set_xlim(0, len(table.columns) - 1)
    handles = [canvas.box_handle(colour) for colour in reversed(colours)]
    canvas.legend(handles, [row.name for row in reversed(table.rows)], where="right")


def draw_step(canvas: Canvas, chart: Chart) -> None:
    table = chart.table
    handles: list[Any] = []
    for number, row in enumerate(table.rows):
        colour = canvas.colour(number)
        canvas.ax.step(range(len(table.columns)), row.values, where="mid", color=colour, linewidth=1.8, zorder=3)
        handles.append(canvas.line_handle(colour))
    _time_axes(canvas, chart)
    canvas.legend(handles, [row.name for row in table.rows])


TABLE = {
    "line": Kind(make_line, draw_line),
    "dual-axis line": Kind(make_dual, draw_line),
    "area": Kind(make_area, draw_area),
    "step line": Kind(make_step, draw_step),
}
