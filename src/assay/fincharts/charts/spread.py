"""How values are spread: histograms, box plots and violins."""

from itertools import pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table, draw_bars
from assay.fincharts.charts.canvas import Canvas, shade
from assay.fincharts.item import Chart, Row
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text, roundish
from assay.fincharts.series import Array
from assay.fincharts.words import Measure, vocabulary

__all__ = ["TABLE", "bin_names", "draw_histogram"]

_STATISTICS = {
    "en": ("minimum", "lower quartile", "median", "upper quartile", "maximum"),
    "zh": ("最小值", "下四分位数", "中位数", "上四分位数", "最大值"),
}
# Which of two statistics is larger is known without a look at the chart.
_OBVIOUS = (
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
)


def _sample(making: Making, measure: Measure, count: int, *, spread: float) -> Array:
    """Values of many things: bell-shaped for rates, skewed to the right for prices, as wide as their range is."""
    low, high = measure.range
    if measure.nature == "rate":
        mean = making.draw.uniform(low + 0.3 * (high - low), high - 0.3 * (high - low))
        return making.draw.normal(mean, spread * (high - low), count)
    middle = low * (high / low) ** making.draw.uniform(0.3, 0.6)
    return middle * np.exp(making.draw.normal(0, 1.5 * spread * np.log(high / low), count))


def bin_names(edges: list[float], decimals: int, unit: str, language: str) -> list[str]:
    """`10-20%`, as printed below the bars; a minus sign needs `to` between the ends."""
    end = unit if unit in ("%", "x") else ""
    between = "-" if min(edges) >= 0 else "至" if language == "zh" else " to "
    return [f"{number_text(a, decimals)}{between}{number_text(b, decimals)}{end}" for a, b in pairwise(edges)]


_POPULATIONS = {"Fund Products": "fund", "Fixed Income": "bond", "Fixed Income Quantitative": "bond"}
"""What there are hundreds of, where it is not companies."""


def _population(making: Making, measure: Measure) -> tuple[str, str]:
    """What is counted, and the title: hundreds of companies, bonds or funds that have the measure, else its months."""
    word, zh = making.word(measure), making.language == "zh"
    noun = _POPULATIONS.get(making.domain, "company")
    companies = "companies" in vocabulary().domains[making.domain].names or making.domain == "Strategy Research"
    if noun != "company" or (companies and (not measure.names or "companies" in measure.names)):
        many = making.words.noun(noun, several=True)
        return noun, f"各{many}{word}：分布" if zh else f"Distribution of {word} across {many}"
    name = making.names(1, measure)[1][0]
    return "month", making.titled(f"{word}月度分布" if zh else f"distribution of {word}, monthly data", name)


def make_histogram(making: Making) -> Chart:
    """How many things or months lie in each of six to nine bins of one measure."""
    measure = making.measure("rate", "price")
    units, word = making.unit(measure), making.word(measure)
    noun, title = _population(making, measure)
    many = making.words.noun(noun, several=True)
    bins = making.frame.randint(6, 9)
    # The bins belong to the question, so they follow from the measure's range and not from the numbers drawn.
    low, high = measure.range
    width = roundish((high - low) / bins, (high - low) / bins / 4)
    first = roundish(low, width)
    edges = [round(first + place * width, 6) for place in range(bins + 1)]
    found = _sample(making, measure, int(making.draw.integers(80, 400)), spread=0.17)
    counts = tuple(float(count) for count in np.histogram(found, edges)[0])  # what lies beyond the bins is not shown
    axis = making.axis([counts], "", zero=True)
    word_row = making.words.get("charts", "number_of").format(many)
    row = making.row(making.titled(word_row), making.subject(word_row), counts, ("", "%"), 0, axis, mark="bar")
    decimals = next(d for d in range(4) if all(abs(edge - round(edge, d)) < 1e-9 for edge in edges) or d == 3)
    names = bin_names(edges, decimals, units[0], making.language)
    table = category_table(making, [row], names, "bin", "series", adds_up=True, ratio=min(counts) > 0)
    across = making.titled(word)
    return making.chart(
        "Distribution",
        "histogram",
        title,
        word,
        replace(table, at=making.words.get("frame", "bin")),
        left=replace(axis, unit=word_row),
        extra={"x": across if units[0] in ("%", "x", "倍") else f"{across} ({units[0]})"},
    )


def _statistics(making: Making, kind: str, title: str) -> Chart:
    """Five numbers of each of several groups."""
    measure = making.measure("rate", "price")
    units, word = making.unit(measure), making.word(measure)
    noun, names = making.names(making.frame.randint(4, 7), measure)
    making.labelled = False
    decimals = measure.decimals
    samples = [np.round(_sample(making, measure, 48, spread=making.draw.uniform(0.05, 0.12)), decimals) for _ in names]
    if making.rises(measure, noun):
        samples.sort(key=lambda sample: float(np.median(sample)))
    columns = [[float(value) for value in np.percentile(sample, (0, 25, 50, 75, 100))] for sample in samples]
    values = [making.rounded(np.array(row), decimals) for row in zip(*columns, strict=True)]
    axis = making.axis([values[0], values[-1]], units[0])
    rows: list[Row] = [
        making.row(name.capitalize(), making.statistic(name, word), series, units, decimals, axis)
        for name, series in zip(_STATISTICS[making.language], values, strict=True)
    ]
    chosen = rows if kind == "box" else rows[1:4]
    table = category_table(making, chosen, names, noun, "statistic")
    return making.chart(
        "Distribution",
        kind,
        title.format(making.by(word, noun)),
        word,
        table,
        left=axis,
        without=_OBVIOUS,
        extra={"samples": [[float(value) for value in sample] for sample in samples]} if kind == "violin" else {},
    )


def make_box(making: Making) -> Chart:
    return _statistics(making, "box", "{}（箱线图）" if making.language == "zh" else "{}: range and quartiles")


def make_violin(making: Making) -> Chart:
    return _statistics(making, "violin", "{}（小提琴图）" if making.language == "zh" else "{}: distribution")


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_histogram(canvas: Canvas, chart: Chart) -> None:
    draw_bars(canvas, chart)
    for bar in canvas.ax.patches:
        middle = bar.get_x() + bar.get_width() / 2
        bar.set_width(0.96)
        bar.set_x(middle - 0.48)
    canvas.ax.set_xlabel(chart.extra["x"], fontsize=canvas.size, color=canvas.style.ink, labelpad=3)


def draw_box(canvas: Canvas, chart: Chart) -> None:
    """Boxes from quartile to quartile, whiskers to the extremes."""
    ax, style, table = canvas.ax, canvas.style, chart.table
    colour = canvas.colour(0)
    low, first, middle, third, high = (row.values for row in table.rows)
    places = list(range(len(table.columns)))
    ax.vlines(places, low, first, color=style.ink, linewidth=0.9, zorder=3)
    ax.vlines(places, third, high, color=style.ink, linewidth=0.9, zorder=3)
    heights = [b - a for a, b in zip(first, third, strict=True)]
    fill = shade(colour, 0.55, style.paper)
    ax.bar(places, heights, bottom=first, width=0.5, color=fill, edgecolor=colour, linewidth=1.0, zorder=4)
    ax.hlines(
        middle, [p - 0.25 for p in places], [p + 0.25 for p in places], color=canvas.colour(1), linewidth=2, zorder=5
    )
    for ends in (low, high):
        ax.hlines(
            ends, [p - 0.12 for p in places], [p + 0.12 for p in places], color=style.ink, linewidth=0.9, zorder=3
        )
    _finish(canvas, chart)
    zh = chart.language == "zh"
    labels = ("四分位区间", "中位数", "最小值至最大值") if zh else ("Quartiles", "Median", "Minimum to maximum")
    handles = [canvas.box_handle(fill), canvas.line_handle(canvas.colour(1)), canvas.line_handle(style.ink)]
    canvas.legend(handles, list(labels), where="bottom" if style.legend == "inside" else style.legend)


def draw_violin(canvas: Canvas, chart: Chart) -> None:
    ax, style, table = canvas.ax, canvas.style, chart.table
    places = list(range(len(table.columns)))
    parts: Any = ax.violinplot(chart.extra["samples"], positions=places, widths=0.75, showextrema=False)
    for body in parts["bodies"]:
        body.set_facecolor(canvas.colour(0))
        body.set_edgecolor(canvas.colour(0))
        body.set_alpha(0.45)
    first, middle, third = (row.values for row in table.rows)
    ax.vlines(places, first, third, color=style.ink, linewidth=4, zorder=4)
    ax.plot(places, middle, "o", color=style.paper, markeredgecolor=style.ink, markersize=4.5, zorder=5)
    _finish(canvas, chart)
    zh = chart.language == "zh"
    labels = ("四分位区间", "中位数") if zh else ("Quartiles", "Median")
    dot = canvas.line_handle(style.paper, marker="o", linestyle="none", markeredgecolor=style.ink, markersize=4.5)
    handles = [canvas.line_handle(style.ink), dot]
    canvas.legend(handles, list(labels), where="bottom" if style.legend == "inside" else style.legend)


def _finish(canvas: Canvas, chart: Chart) -> None:
    if chart.left is not None:
        canvas.value_axis(canvas.ax, chart.left)
    canvas.ax.set_xlim(-0.6, len(chart.table.columns) - 0.4)
    canvas.columns(canvas.ax, chart.table.columns, chart.table.asked)
    canvas.grid()


TABLE = {
    "histogram": Kind(make_histogram, draw_histogram),
    "box": Kind(make_box, draw_box),
    "violin": Kind(make_violin, draw_violin),
}
