"""Risk: returns and value at risk, drawdowns, risk matrices, forecasts with bands, stress tests."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table, draw_lying
from assay.fincharts.charts.canvas import Canvas, shade
from assay.fincharts.charts.lines import time_table
from assay.fincharts.charts.relational import scattered
from assay.fincharts.charts.spread import bin_names, draw_histogram
from assay.fincharts.item import Axis, Chart, Side
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text
from assay.fincharts.series import levels, returns
from assay.fincharts.words import vocabulary

__all__ = ["TABLE"]

_BANDS = (
    "argmax_row",
    "argmin_row",
    "rank_row",
    "row_above",
    "row_leads",
    "count_wins",
    "wins_throughout",
    "argmax_mean_row",
    "leads_on_average",
    "count_rows",
    "shows_rows",
    "times",
    "times_more",
    "argmax_gain_row",
    "gains_most",
)


_HARM = ((1.5, 6.0), (7.0, 15.0), (1.0, 5.0), (0.5, 3.5), (0.6, 4.5), (6.0, 16.0), (4.0, 13.0))
"""The least and the most that a portfolio loses in each of the vocabulary's scenarios, in percent."""


def _word(making: Making, name: str) -> str:
    return making.words.get("risk", name)


def make_returns(making: Making) -> Chart:
    """Days by their return, with the loss that only one day in twenty exceeds."""
    scale = making.frame.choice((0.5, 1.0, 1.0, 2.0))
    edges = [scale * place for place in range(-4, 5)]
    found = returns(making.draw, 250, scale)
    found *= 1.35 * scale / float(np.std(found))
    counts = tuple(float(count) for count in np.histogram(found, edges)[0])
    axis = making.axis([counts], "", zero=True)
    days = _word(making, "days")
    row = making.row(making.titled(days), making.subject(days), counts, ("", "%"), 0, axis, mark="bar")
    names = bin_names(edges, 1 if scale < 1 else 0, "%", making.language)
    table = category_table(making, [row], names, "bin", "series", adds_up=True, ratio=min(counts) > 0)
    at_risk = float(np.round(np.percentile(found, 5), 2))
    portfolio = making.frame.choice(_word(making, "portfolio"))
    title = making.titled(
        _word(making, "daily") if making.language == "zh" else "distribution of daily returns", portfolio
    )
    return making.chart(
        "Risk Distribution",
        "return distribution",
        title,
        days,
        replace(table, at=making.words.get("frame", "bin")),
        left=replace(axis, unit=days),
        extra={"x": _word(making, "daily"), "edges": edges, "var": at_risk},
    )


def make_drawdown(making: Making) -> Chart:
    """How far one or two portfolios are below their last high."""
    periods = making.periods(10, 36, ("month",))
    count = len(periods.names)
    making.labelled = False
    names = making.frame.sample(_word(making, "portfolio"), making.frame.choice((1, 2)))
    word = _word(making, "below")
    values: list[tuple[float, ...]] = []
    for _ in names:
        path = np.exp(np.cumsum(returns(making.draw, count + 6, 0.045)))
        below = (path / np.maximum.accumulate(path) - 1)[-count:] * 100
        values.append(making.rounded(below, 1))
    axis = making.axis([*values, (0.0,)], "%", zero=True)
    rows = [
        making.row(name, making.subject(word, name), series, ("%", "bp"), 1, axis, mark="area")
        for name, series in zip(names, values, strict=True)
    ]
    table = time_table(rows, periods, "series")
    drawdown = f"{_word(making, 'drawdown')}（{word}）" if making.language == "zh" else f"drawdown ({word})"
    title = making.titled(drawdown, names[0]) if len(names) == 1 else making.titled(drawdown)
    return making.chart("Risk Distribution", "drawdown", title, word, table, periods=periods, left=axis)


def make_matrix(making: Making) -> Chart:
    """Risks by how likely and how grave they are, both from 0 to 5."""
    making.labelled = False
    noun, names = making.names(making.frame.randint(5, 8), group="risks")
    places = scattered(making, len(names))
    axis = Axis(low=0, high=5, step=1, unit="")
    rows: list[Any] = []
    sides: tuple[Side, Side] = ("right", "left")
    for number, (name, side) in enumerate(zip(("likelihood", "impact"), sides, strict=True)):
        word = _word(making, name)
        values = making.rounded(places[:, number] * 5, 1)
        rows.append(making.row(making.titled(word), making.subject(word), values, ("", "%"), 1, axis, side=side))
    table = category_table(making, rows, names, noun, "series", same=False)
    title = making.titled(_word(making, "matrix"), making.company())
    return making.chart("Risk Distribution", "risk matrix", title, rows[1].name, table, left=axis, right=axis)


def make_fan(making: Making) -> Chart:
    """A forecast: the middle and the band that holds four outcomes of five."""
    measure = making.measure("price", "flow", "level")
    units, word = making.unit(measure), making.word(measure)
    name = making.names(1, measure)[1][0]
    periods = making.periods(6, 10, ("year", "quarter"))
    making.labelled = False
    count = len(periods.names)
    low, high = measure.range
    middle = levels(making.draw, count, max(low, 0.3 * high), high, measure.swing)
    width = making.draw.uniform(0.05, 0.09) * np.sqrt(np.arange(1, count + 1))
    series = [making.rounded(middle * np.exp(sign * width), measure.decimals) for sign in (-1.28, 0, 1.28)]
    axis = making.axis(series, units[0])
    rows = [
        making.row(label.capitalize(), making.statistic(label, word), values, units, measure.decimals, axis)
        for label, values in zip(_word(making, "percentiles"), series, strict=True)
    ]
    table = time_table(rows, periods, "percentile", ratio=True)
    fan = f"{word}{_word(making, 'fan')}" if making.language == "zh" else f"{word}, {_word(making, 'fan')}"
    return making.chart(
        "Risk Distribution",
        "fan chart",
        making.titled(fan, name),
        word,
        table,
        periods=periods,
        left=axis,
        without=_BANDS,
    )


def make_stress(making: Making) -> Chart:
    """Losses of a portfolio, scenario by scenario."""
    noun, names = making.names(making.frame.randint(5, 7), group="scenarios")
    every: tuple[str, ...] = getattr(vocabulary().names["scenarios"], making.language)
    harm = np.array([_HARM[every.index(name)] for name in names])
    values = making.rounded(-making.draw.uniform(harm[:, 0], harm[:, 1]), 1)
    axis = making.axis([values], "%", zero=True)
    word = "组合收益" if making.language == "zh" else "portfolio return"
    row = making.row(making.titled(word), making.subject(word), values, ("%", "bp"), 1, axis, mark="bar")
    table = category_table(making, [row], names, noun, "series")
    portfolio = making.frame.choice(_word(making, "portfolio"))
    title = making.titled("压力测试" if making.language == "zh" else "stress test", portfolio)
    table = replace(table, at="{}情景下的" if making.language == "zh" else 'in the scenario "{}"')
    return making.chart("Risk Distribution", "stress test", title, word, table, left=axis)


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_returns(canvas: Canvas, chart: Chart) -> None:
    draw_histogram(canvas, chart)
    edges, at_risk = chart.extra["edges"], chart.extra["var"]
    place = (at_risk - edges[0]) / (edges[1] - edges[0]) - 0.5
    ax = canvas.ax
    ax.axvline(place, color=canvas.colour(1), linewidth=1.4, linestyle="--", zorder=6)
    ax.text(
        place - 0.1 if place > 1.6 else place + 0.1,
        ax.get_ylim()[1] * 0.97,
        f"VaR 95%: {number_text(at_risk, 2)}%",
        ha="right" if place > 1.6 else "left",
        va="top",
        fontsize=canvas.size * 0.95,
        color=canvas.style.ink,
        zorder=6,
        bbox={"facecolor": canvas.style.paper, "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )


def draw_drawdown(canvas: Canvas, chart: Chart) -> None:
    ax, table = canvas.ax, chart.table
    places = list(range(len(table.columns)))
    handles: list[Any] = []
    for number, row in enumerate(table.rows):
        colour = canvas.colour(number)
        ax.fill_between(places, row.values, 0, color=colour, alpha=0.28, linewidth=0, zorder=2)
        ax.plot(places, row.values, color=colour, linewidth=1.5, zorder=3)
        handles.append(canvas.line_handle(colour))
    if chart.left is not None:
        canvas.value_axis(ax, chart.left)
    ax.set_xlim(-0.5, len(places) - 0.5)
    canvas.columns(ax, table.columns, table.asked)
    canvas.grid()
    if len(handles) > 1:
        canvas.legend(handles, [row.name for row in table.rows])


def draw_matrix(canvas: Canvas, chart: Chart) -> None:
    """A field that goes from calm to alarm, with the risks on it."""
    from matplotlib.patches import Rectangle

    ax, style, table = canvas.ax, canvas.style, chart.table
    likely, grave = table.rows
    shades = ("#4f9d69", "#a7c957", "#f2c14e", "#f08a4b", "#d1495b")
    for x in range(5):
        for y in range(5):
            colour = shade(shades[min(4, (x + y) * 5 // 9)], 0.55, style.paper)
            ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=style.paper, linewidth=1))
    ax.scatter(likely.values, grave.values, s=34, color=style.ink, zorder=4, linewidths=0)
    for name, x, y in zip(table.columns, likely.values, grave.values, strict=True):
        ax.annotate(
            name,
            (x, y),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=canvas.size * 0.9,
            color=style.ink,
            zorder=5,
            path_effects=canvas.halo(),
        )
    if chart.left is not None:
        canvas.value_axis(ax, chart.left)
        canvas.value_axis(ax, chart.left, along="x")
    ax.set_xlabel(likely.name, fontsize=canvas.size, color=style.ink, labelpad=3)
    ax.set_ylabel(grave.name, fontsize=canvas.size, color=style.ink, labelpad=3)


def draw_fan(canvas: Canvas, chart: Chart) -> None:
    ax, table = canvas.ax, chart.table
    places = list(range(len(table.columns)))
    low, middle, high = (row.values for row in table.rows)
    colour = canvas.colour(0)
    band = shade(colour, 0.3, canvas.style.paper)
    ax.fill_between(places, low, high, color=band, linewidth=0, zorder=2)
    for edge in (low, high):
        ax.plot(places, edge, color=colour, linewidth=0.8, linestyle="--", zorder=3)
    ax.plot(places, middle, color=colour, linewidth=2, marker="o", markersize=3, zorder=4)
    if chart.left is not None:
        canvas.value_axis(ax, chart.left)
    ax.set_xlim(-0.4, len(places) - 0.6)
    canvas.columns(ax, table.columns, table.asked)
    canvas.grid()
    names = [row.name for row in table.rows]
    handles = [canvas.line_handle(colour, marker="o", markersize=3), canvas.box_handle(band)]
    canvas.legend(handles, [names[1], f"{names[0]} - {names[2]}"])


TABLE = {
    "return distribution": Kind(make_returns, draw_returns),
    "drawdown": Kind(make_drawdown, draw_drawdown),
    "risk matrix": Kind(make_matrix, draw_matrix),
    "fan chart": Kind(make_fan, draw_fan),
    "stress test": Kind(make_stress, draw_lying),
}
