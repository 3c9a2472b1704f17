"""How things relate: scatters, bubbles, tables of correlations as heat maps, radars."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table
from assay.fincharts.charts.canvas import Canvas, contrast, shade
from assay.fincharts.item import Axis, Chart, Row, Side, Table
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text
from assay.fincharts.series import Array
from assay.fincharts.words import Measure, vocabulary

__all__ = ["TABLE", "draw_points", "heat", "points_chart", "scattered"]


def scattered(making: Making, count: int) -> Array:
    """`count` points in the unit square, none close to another, so that each keeps a label of its own."""
    points: list[tuple[float, float]] = []
    tilt = making.draw.uniform(-0.6, 0.8)
    while len(points) < count:
        x = float(making.draw.uniform(0.1, 0.92))
        y = float(np.clip(0.5 + tilt * (x - 0.5) + making.draw.normal(0, 0.22), 0.05, 0.95))
        near = min((np.hypot((x - a) * 1.2, (y - b) * 1.9) for a, b in points), default=1.0)
        if near > 0.26 * (0.93 ** len(points)):
            points.append((x, y))
    return np.array(points)


def points_chart(
    making: Making,
    measures: tuple[Measure, Measure],
    names: list[str],
    noun: str,
    *,
    chart_class: str,
    kind: str,
    title: str,
    sizes: Measure | None = None,
    extra: dict[str, object] | None = None,
) -> Chart:
    """Things placed by two measures, `measures[0]` along x (the chart's right-hand axis) and `measures[1]` along y."""
    making.labelled = False
    places = scattered(making, len(names))
    rising = [number for number, measure in enumerate(measures) if making.rises(measure, noun)]
    if rising:
        places = places[np.argsort(places[:, rising].sum(axis=1))]
    rows: list[Any] = []
    axes: list[Axis] = []
    sides: tuple[Side, Side] = ("right", "left")
    for number, (measure, side) in enumerate(zip(measures, sides, strict=True)):
        units, word = making.unit(measure), making.word(measure)
        low, high = measure.range
        values = making.rounded(making.stepped(measure, low + places[:, number] * (high - low)), measure.decimals)
        # Bubbles reach beyond their middles.
        around = 0.12 * (max(values) - min(values)) if sizes is not None else 0.0
        axis = making.axis([(min(values) - around, max(values) + around)], units[0])
        axes.append(axis)
        rows.append(
            making.row(making.titled(word), making.subject(word), values, units, measure.decimals, axis, side=side)
        )
    if sizes is not None:
        rows.append(_sizes(making, sizes, len(names)))
        title = _sized(making, title, sizes, rows[-1].unit)
    table = category_table(making, rows, names, noun, "series", same=False)
    return making.chart(chart_class, kind, title, rows[1].name, table, left=axes[1], right=axes[0], extra=extra or {})


def _sizes(making: Making, measure: Measure, count: int) -> Row:
    """What bubbles are as large as; it is printed in them."""
    low, high = measure.range
    values = making.rounded(low + making.draw.uniform(0.05, 1, count) * (high - low), measure.decimals)
    making.labelled = True
    row = making.row(
        making.titled(making.word(measure)),
        making.subject(making.word(measure)),
        values,
        making.unit(measure),
        measure.decimals,
        None,
    )
    making.labelled = False
    return row


def _sized(making: Making, title: str, measure: Measure, unit: str) -> str:
    """The title that says what sizes are, and in which unit."""
    if making.language == "zh":
        return f"{title}（气泡大小：{making.word(measure)}，{unit}）"
    return f"{title} (bubble size: {making.word(measure)}, {unit})"


def _two(making: Making) -> tuple[Measure, Measure]:
    """Two measures of the domain that the same things can have."""
    first = making.measure("rate", "price")
    second = making.partner((first,), "rate", "price") or making.partner((first,), "flow", "level")
    return first, second or first


def _against(making: Making, first: Measure, second: Measure) -> str:
    x, y = making.word(first), making.word(second)
    return f"{y}与{x}" if making.language == "zh" else making.titled(f"{y} against {x}")


def make_scatter(making: Making) -> Chart:
    first, second = _two(making)
    noun, names = making.names(making.frame.randint(6, 9), first, second)
    title = _against(making, first, second)
    return points_chart(making, (first, second), names, noun, chart_class="Relational", kind="scatter", title=title)


def make_bubble(making: Making) -> Chart:
    first, second = _two(making)
    size = making.partner((first, second), "flow", "level") or making.measure("flow", "level")
    noun, names = making.names(making.frame.randint(5, 7), first, second, size)
    return points_chart(
        making,
        (first, second),
        names,
        noun,
        chart_class="Relational",
        kind="bubble",
        title=_against(making, first, second),
        sizes=size,
    )


def make_correlation(making: Making) -> Chart:
    """Correlations of returns with factors: a rectangle, so no cell is 1 by definition."""
    making.labelled = True
    _, factors = making.names(making.frame.randint(4, 6), group="factors")
    groups = [name for name in ("assets", "sectors", "commodities", "funds") if name in _groups(making)]
    noun, names = making.names(making.frame.randint(4, 6), group=making.frame.choice(groups or ["sectors"]))
    rows: list[Any] = []
    for name in names:
        loadings = making.draw.normal(0, 0.55, len(factors))
        values = making.rounded(np.tanh(loadings), 2)
        subject = making.words.get("charts", "correlation").format(name)
        rows.append(making.row(name, making.subject(subject), values, ("", "%"), 2, None))
    at = "就{}而言，" if making.language == "zh" else "with {}"
    table = Table(
        rows=tuple(rows),
        columns=tuple(factors),
        at=at,
        noun="factor",
        row_noun=noun,
        ordered=False,
        asked=tuple(range(len(factors))),
    )
    title = (
        "月度回报与因子的相关系数" if making.language == "zh" else "Correlation of monthly returns with macro factors"
    )
    return making.chart("Relational", "correlation heat map", title, "correlation", table)


def _groups(making: Making) -> tuple[str, ...]:
    return vocabulary().domains[making.domain].names


def make_radar(making: Making) -> Chart:
    """Scores of two or three companies in several dimensions."""
    making.labelled = False
    _, dimensions = making.names(making.frame.randint(5, 7), group="dimensions")
    noun, names = making.names(making.frame.choice((2, 3)), group="companies")
    axis = Axis(low=0, high=10, step=2, unit="")
    rows: list[Any] = []
    for name in names:
        values = making.rounded(making.draw.uniform(2, 9.6, len(dimensions)), 1)
        subject = making.words.get("charts", "score").format(name)
        rows.append(making.row(name, making.subject(subject), values, ("", "%"), 1, axis))
    table = category_table(making, rows, dimensions, "dimension", noun)
    if making.language == "zh":
        table = replace(table, at="{}维度上")
    title = "公司评分比较" if making.language == "zh" else f"Scorecard: {making.words.join(names)}"
    return making.chart("Relational", "radar", title, "score", table, left=axis)


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_points(canvas: Canvas, chart: Chart) -> None:
    """Points with their names; bubbles of the third row's size, which is printed."""
    ax, style, table = canvas.ax, canvas.style, chart.table
    across, up = table.rows[0], table.rows[1]
    sizes = [46.0] * len(table.columns)
    labels = list(table.columns)
    if len(table.rows) > 2:
        row = table.rows[2]
        sizes = [260 + 900 * value / max(row.values) for value in row.values]
        labels = [f"{name}\n{number_text(value, row.decimals)}" for name, value in zip(labels, row.values, strict=True)]
    bubbles = len(table.rows) > 2
    colours = [canvas.colour(place if bubbles else 0) for place in range(len(labels))]
    if chart.left is not None and chart.right is not None:
        canvas.value_axis(ax, chart.left)
        canvas.value_axis(ax, chart.right, along="x")
        canvas.grid()
        _quadrants(canvas, chart)
    ax.scatter(across.values, up.values, s=sizes, c=colours, alpha=0.6 if bubbles else 0.95, zorder=4, linewidths=0)
    for x, y, size, label in zip(across.values, up.values, sizes, labels, strict=True):
        ax.annotate(
            label,
            (x, y),
            xytext=(0, 0) if bubbles else (0, 4 + size**0.5 / 2),
            textcoords="offset points",
            ha="center",
            va="center" if bubbles else "bottom",
            fontsize=canvas.size * 0.9,
            color=style.ink,
            zorder=6,
            path_effects=[] if bubbles else canvas.halo(),
        )
    unit = f" ({across.unit})" if across.unit not in ("", "%", "x") else ""
    ax.set_xlabel(across.name + unit, fontsize=canvas.size, color=style.ink, labelpad=3)
    unit = f" ({up.unit})" if up.unit not in ("", "%", "x") else ""
    ax.set_ylabel(up.name + unit, fontsize=canvas.size, color=style.ink, labelpad=3)
    for text in list(ax.texts):  # the unit stands in the axis' name
        if text.get_text() == f"({up.unit})":
            text.remove()


def _quadrants(canvas: Canvas, chart: Chart) -> None:
    names = chart.extra.get("quadrants")
    if not names or chart.left is None or chart.right is None:
        return
    middle_x = (chart.right.low + chart.right.high) / 2
    middle_y = (chart.left.low + chart.left.high) / 2
    ink = canvas.style.ink
    canvas.ax.axvline(middle_x, color=ink, linewidth=0.9, linestyle="--", zorder=2)
    canvas.ax.axhline(middle_y, color=ink, linewidth=0.9, linestyle="--", zorder=2)
    corners = ((0.01, 0.98, "left", "top"), (0.99, 0.98, "right", "top"))
    corners += ((0.01, 0.02, "left", "bottom"), (0.99, 0.02, "right", "bottom"))
    for (x, y, ha, va), name in zip(corners, names, strict=True):
        canvas.ax.text(
            x,
            y,
            name,
            transform=canvas.ax.transAxes,
            ha=ha,
            va=va,
            fontsize=canvas.size * 0.9,
            color=canvas.colour(0),
            style="italic" if chart.language == "en" else "normal",
            zorder=1,
        )


def heat(canvas: Canvas, chart: Chart, *, below: str, above: str) -> None:
    """Cells coloured by how far their values are below and above zero, with the values printed."""
    ax, style, table = canvas.ax, canvas.style, chart.table
    values = np.array([row.values for row in table.rows])
    ends = below, above
    most = float(np.abs(values).max())
    for down, row in enumerate(table.rows):
        for across, value in enumerate(row.values):
            colour = shade(ends[value >= 0], 0.08 + 0.8 * abs(value) / most, style.paper)
            ax.add_patch(_cell(across - 0.5, down - 0.5, colour, style.paper))
            text = number_text(value, row.decimals)
            ink = contrast(colour)
            ax.text(across, down, text, ha="center", va="center", fontsize=canvas.size * 0.95, color=ink)
    ax.set_xlim(-0.5, len(table.columns) - 0.5)
    ax.set_ylim(len(table.rows) - 0.5, -0.5)
    canvas.columns(ax, table.columns, table.asked)
    ax.set_yticks(range(len(table.rows)), [row.name for row in table.rows])
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _cell(x: float, y: float, colour: str, edge: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=edge, linewidth=1.2)


def draw_correlation(canvas: Canvas, chart: Chart) -> None:
    """Red below zero and blue above: two colours of a palette may be too much alike."""
    heat(canvas, chart, below="#b2182b", above="#2166ac")


def draw_radar(canvas: Canvas, chart: Chart) -> None:
    """Polygons on rings, drawn on plain axes: a ring every two points, a spoke for each dimension."""
    ax, style, table = canvas.ax, canvas.style, chart.table
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-14, 14)
    ax.set_ylim(-11.5, 12)
    count = len(table.columns)
    angles = np.pi / 2 - np.arange(count + 1) * 2 * np.pi / count
    for ring in (2, 4, 6, 8, 10):
        ax.plot(ring * np.cos(angles), ring * np.sin(angles), color=style.ink, alpha=0.25, linewidth=0.6)
        ax.text(0.2, ring - 0.15, str(ring), fontsize=canvas.size * 0.8, color=style.ink, alpha=0.8, va="top")
    for angle, name in zip(angles, table.columns, strict=False):
        x, y = np.cos(angle), np.sin(angle)
        ax.plot([0, 10 * x], [0, 10 * y], color=style.ink, alpha=0.25, linewidth=0.6)
        ha = "center" if abs(x) < 0.2 else "left" if x > 0 else "right"
        va = "center" if abs(y) < 0.6 else "bottom" if y > 0 else "top"
        ax.text(10.6 * x, 10.6 * y, name, ha=ha, va=va, fontsize=canvas.size, color=style.ink)
    handles: list[Any] = []
    for number, row in enumerate(table.rows):
        colour = canvas.colour(number)
        closed = np.array([*row.values, row.values[0]])
        ax.plot(closed * np.cos(angles), closed * np.sin(angles), color=colour, linewidth=1.8, marker="o", markersize=3)
        ax.fill(closed * np.cos(angles), closed * np.sin(angles), color=colour, alpha=0.12)
        handles.append(canvas.line_handle(colour))
    canvas.legend(handles, [row.name for row in table.rows], where="right")


TABLE = {
    "scatter": Kind(make_scatter, draw_points),
    "bubble": Kind(make_bubble, draw_points),
    "correlation heat map": Kind(make_correlation, draw_correlation),
    "radar": Kind(make_radar, draw_radar),
}
