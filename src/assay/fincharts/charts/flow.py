"""Flows: Sankey diagrams, bridges from one result to the next, funnels."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table
from assay.fincharts.charts.canvas import Canvas, contrast, shade
from assay.fincharts.item import Chart
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text
from assay.fincharts.words import vocabulary

__all__ = ["TABLE"]

_GAP = 0.05
"""Space between nodes, as a share of the diagram's height."""


def make_sankey(making: Making) -> Chart:
    """Money from two or three sources to three uses; every band's amount is printed."""
    making.labelled = True
    measure = making.measure("flow", "level")
    units = making.unit(measure)
    groups = [name for name in vocabulary().domains[making.domain].names if name not in ("tenors", "ratings")]
    group = making.frame.choice(groups or ["funds"])
    noun, names = making.names(6, group=group)
    sources, targets = names[: making.frame.choice((2, 3))], names[3:6]
    scale = measure.range[1] / 3
    rows: list[Any] = []
    for name in sources:
        values = making.rounded(making.draw.uniform(0.25, 1.0, len(targets)) * scale, measure.decimals)
        subject = making.words.get("charts", "flow_from").format(name)
        rows.append(making.row(name, making.subject(subject), values, units, measure.decimals, None))
    table = category_table(making, rows, targets, "destination", "origin", adds_up=True, rows_add_up=True, ratio=True)
    period = making.periods(1, 1, ("year", "quarter")).names[0]
    what = making.words.noun(noun)
    zh = making.language == "zh"
    title = (
        f"{period}资金在各{what}之间的流向（{units[0]}）"
        if zh
        else f"Flows between {_many(making, noun)}, {period} ({units[0]})"
    )
    return making.chart(
        "Flow",
        "sankey",
        title,
        making.word(measure),
        replace(table, at=making.words.get("frame", "flow")),
        without=("count_columns", "count_rows", "shows_columns", "shows_rows"),
    )


def _many(making: Making, noun: str) -> str:
    return making.words.noun(noun, several=True)


def make_bridge(making: Making) -> Chart:
    """What moved a result from one year to the next."""
    making.labelled = True
    measure = vocabulary().measures[making.frame.choice(("operating_profit", "revenue"))]
    units, word = making.unit(measure), making.word(measure)
    company = making.company()
    _, names = making.names(making.frame.randint(5, 7), group="drivers")
    start = float(np.round(making.draw.uniform(0.4, 0.8) * measure.range[1]))
    moves = making.draw.normal(0, 0.11, len(names)) * start
    moves += np.sign(moves) * start * 0.015
    values = making.rounded(moves, 0)
    end = start + sum(values)
    periods = making.periods(2, 2, ("year",))
    levels = np.concatenate([[start], start + np.cumsum(values)])
    axis = making.axis([tuple(float(level) for level in levels)], units[0], zero=True)
    name = making.words.get("charts", "contribution").format(word if making.language == "zh" else f"the {word}")
    row = making.row(making.titled(name), making.subject(name), values, units, 0, None, mark="bar")
    table = category_table(making, [row], names, "driver", "series", adds_up=True)
    if making.language == "zh":
        table = replace(table, at="{}")
    title = making.titled(f"{word}变动" if making.language == "zh" else f"{word} bridge", company)
    ends = [f"{period} {word}" if making.language == "en" else f"{period}{word}" for period in periods.names]
    return making.chart(
        "Flow",
        "bridge",
        title,
        word,
        table,
        periods=periods,
        left=axis,
        without=("count_columns", "shows_columns", "mean", "mean_above", "always_above", "never_above"),
        extra={"start": start, "end": float(end), "ends": ends},
    )


def make_funnel(making: Making) -> Chart:
    """How many are left from stage to stage."""
    making.labelled = True
    stages = list(getattr(vocabulary().names["stages"], making.language))
    stages = stages[: making.frame.randint(4, 6)]
    count = float(making.draw.uniform(4_000, 90_000))
    values: list[float] = []
    for _ in stages:
        values.append(float(round(count)))
        count *= float(making.draw.uniform(0.35, 0.8))
    company = making.company()
    zh = making.language == "zh"
    word = "客户数" if zh else "number of prospects"
    row = making.row(making.titled(word), making.subject(word), tuple(values), ("", "%"), 0, None)
    table = category_table(making, [row], stages, "stage", "series", ratio=True)
    title = making.titled("销售漏斗" if zh else "sales funnel", company)
    return making.chart(
        "Flow",
        "funnel",
        title,
        word,
        replace(table, at="{}阶段的" if zh else "at the stage {}"),
        without=(
            "argmax_column",
            "argmin_column",
            "rank_column",
            "peaks_at",
            "bottoms_at",
            "maximum",
            "minimum",
            "mean",
            "mean_above",
        ),
    )


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_sankey(canvas: Canvas, chart: Chart) -> None:
    """Sources left, uses right, bands between them with their amounts near the source."""
    ax, style, table = canvas.ax, canvas.style, chart.table
    ax.set_axis_off()
    ax.set_xlim(-0.28, 1.28)
    ax.set_ylim(1.02, -0.02)
    flows = np.array([row.values for row in table.rows])
    scale = (1 - _GAP * (max(flows.shape) - 1)) / flows.sum()
    left = _stacked(flows.sum(axis=1) * scale)
    right = _stacked(flows.sum(axis=0) * scale)
    at_left, at_right = left.copy(), right.copy()
    smooth = np.linspace(0, 1, 40)
    bend = smooth**2 * (3 - 2 * smooth)
    for source in range(flows.shape[0]):
        colour = canvas.colour(source)
        for target in range(flows.shape[1]):
            high = flows[source, target] * scale
            top = at_left[source] + (at_right[target] - at_left[source]) * bend
            ax.fill_between(smooth, top, top + high, color=colour, alpha=0.35, linewidth=0)
            text = number_text(flows[source, target], table.rows[source].decimals)
            where = 2  # where bands have not crossed yet
            ax.text(
                smooth[where],
                top[where] + high / 2,
                text,
                ha="left",
                va="center",
                fontsize=canvas.size * 0.82,
                color=style.ink,
                zorder=5,
            )
            at_left[source] += high
            at_right[target] += high
    names = [row.name for row in table.rows]
    _nodes(canvas, left, flows.sum(axis=1) * scale, names, -0.03, "right", 0)
    _nodes(canvas, right, flows.sum(axis=0) * scale, list(table.columns), 1.0, "left", len(names))


def _stacked(heights: Any) -> Any:
    """Where each node begins, from the top, the whole in the middle."""
    gaps = _GAP * np.arange(len(heights))
    tops = np.concatenate([[0.0], np.cumsum(heights)[:-1]]) + gaps
    whole = heights.sum() + gaps[-1]
    return tops + (1 - whole) / 2


def _nodes(canvas: Canvas, tops: Any, heights: Any, names: list[str], x: float, side: str, first: int) -> None:
    from matplotlib.patches import Rectangle

    for place, (top, height, name) in enumerate(zip(tops, heights, names, strict=True)):
        colour = canvas.colour(first + place)
        canvas.ax.add_patch(Rectangle((x, top), 0.03, height, facecolor=colour, edgecolor="none", zorder=4))
        outside = x - 0.015 if side == "right" else x + 0.045
        canvas.ax.text(
            outside, top + height / 2, name, ha=side, va="center", fontsize=canvas.size, color=canvas.style.ink
        )


def draw_bridge(canvas: Canvas, chart: Chart) -> None:
    """Bars that hang from one level to the next, between two that stand."""
    ax, style, row = canvas.ax, canvas.style, chart.table.rows[0]
    start, end = chart.extra["start"], chart.extra["end"]
    rising, falling = ("#2e8b57", "#c0392b") if chart.language == "en" else ("#c0392b", "#2e8b57")
    total = canvas.colour(0)
    last = len(row.values) + 1
    for place, value in ((0, start), (last, end)):
        ax.bar(place, value, width=0.62, color=total, zorder=3)
        _above(canvas, place, value, number_text(value, 0))
    level = start
    for place, value in enumerate(row.values, start=1):
        ax.bar(
            place,
            abs(value),
            bottom=min(level, level + value),
            width=0.62,
            color=rising if value > 0 else falling,
            zorder=3,
        )
        _above(canvas, place, max(level, level + value), f"{'+' if value > 0 else ''}{number_text(value, 0)}")
        ax.plot([place - 0.69, place + 0.31], [level, level], color=style.ink, linewidth=0.6, alpha=0.6)
        level += value
    ax.plot([last - 0.69, last + 0.31], [level, level], color=style.ink, linewidth=0.6, alpha=0.6)
    names = (chart.extra["ends"][0], *chart.table.columns, chart.extra["ends"][1])
    if chart.left is not None:
        canvas.value_axis(ax, chart.left)
    ax.set_xlim(-0.6, last + 0.6)
    canvas.columns(ax, names, tuple(range(len(names))))
    ax.tick_params(axis="x", length=0)
    canvas.grid()


def _above(canvas: Canvas, x: float, y: float, text: str) -> None:
    canvas.ax.annotate(
        text,
        (x, y),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=canvas.size * 0.85,
        color=canvas.style.ink,
        zorder=5,
    )


def draw_funnel(canvas: Canvas, chart: Chart) -> None:
    from matplotlib.patches import Polygon

    ax, style, row = canvas.ax, canvas.style, chart.table.rows[0]
    ax.set_axis_off()
    count = len(row.values)
    ax.set_xlim(-0.95, 0.6)
    ax.set_ylim(count, 0)
    widths = [0.12 + 0.88 * (value / row.values[0]) ** 0.6 for value in row.values]
    widths.append(widths[-1] * 0.85)
    for place, value in enumerate(row.values):
        top, bottom = widths[place] / 2, widths[place + 1] / 2
        colour = shade(canvas.colour(0), 1 - 0.6 * place / count, style.paper)
        corners = [(-top, place + 0.03), (top, place + 0.03), (bottom, place + 0.97), (-bottom, place + 0.97)]
        ax.add_patch(Polygon(corners, facecolor=colour, edgecolor="none"))
        text = number_text(value, 0)
        ax.text(0, place + 0.5, text, ha="center", va="center", fontsize=canvas.size, color=contrast(colour))
        ax.text(
            -0.56,
            place + 0.5,
            chart.table.columns[place],
            ha="right",
            va="center",
            fontsize=canvas.size,
            color=style.ink,
        )


TABLE = {
    "sankey": Kind(make_sankey, draw_sankey),
    "bridge": Kind(make_bridge, draw_bridge),
    "funnel": Kind(make_funnel, draw_funnel),
}
