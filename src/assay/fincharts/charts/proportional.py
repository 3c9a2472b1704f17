"""Parts of a whole: pies, rings, bars of 100 %, treemaps."""

from typing import Any

import numpy as np

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table
from assay.fincharts.charts.canvas import Canvas, contrast
from assay.fincharts.charts.lines import time_table
from assay.fincharts.item import Axis, Chart
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text, round_half
from assay.fincharts.series import split

__all__ = ["TABLE", "shares"]

# Values are shares already: a share of them would ask for the value itself.
_NO_SHARES = ("share_column", "share_column_more", "share_row", "share_more")


def shares(
    making: Making, parts: int, decimals: int, *, least: float = 0.03, in_order: bool = True
) -> tuple[float, ...]:
    """Percentages that add up to exactly 100 as they are printed: what rounding leaves goes to the largest."""
    found = split(making.draw, parts, least=least) * 100
    if not in_order:
        making.draw.shuffle(found)
    printed = [round_half(float(share), decimals) for share in found]
    largest = printed.index(max(printed))
    printed[largest] = round_half(printed[largest] + 100 - sum(printed), decimals)
    return tuple(printed)


def _parts(making: Making, kind: str) -> Chart:
    measure = making.measure("flow", "level")
    word = making.word(measure)
    noun, names = making.names(making.frame.randint(4, 7), measure)
    decimals = making.frame.choice((0, 1, 1))
    making.labelled = True
    values = shares(making, len(names), decimals)
    share = making.words.get("charts", "share").format(word)
    row = making.row(making.titled(share), making.subject(share), values, ("%", "bp"), decimals, None)
    table = category_table(making, [row], names, noun, "series", adds_up=True, ratio=True)
    period = making.periods(1, 1, ("year", "quarter")).names[0]
    title = (
        f"{making.by(word, noun)}（{period}，%）"
        if making.language == "zh"
        else f"{making.by(word, noun)}, {period} (%)"
    )
    return making.chart("Proportional", kind, title, word, table, without=_NO_SHARES)


def make_pie(making: Making) -> Chart:
    return _parts(making, "pie")


def make_ring(making: Making) -> Chart:
    return _parts(making, "ring")


def make_full(making: Making) -> Chart:
    """Shares over time, each bar 100 %."""
    measure = making.measure("flow", "level")
    word = making.word(measure)
    noun, names = making.names(making.frame.choice((3, 4, 5)), measure)
    periods = making.periods(4, 8, ("year", "quarter"))
    making.labelled = True
    columns = [shares(making, len(names), 1, least=0.07, in_order=False) for _ in periods.names]
    share = making.words.get("charts", "share").format(word)
    rows = [
        making.row(name, making.subject(share, name), values, ("%", "bp"), 1, None, mark="bar")
        for name, values in zip(names, zip(*columns, strict=True), strict=True)
    ]
    table = time_table(rows, periods, noun, rows_add_up=True, ratio=True)
    title = (
        f"{making.by(word, noun)}（占比，%）" if making.language == "zh" else f"{making.by(word, noun)} (% of total)"
    )
    return making.chart("Proportional", "100% bar", title, word, table, periods=periods, without=_NO_SHARES)


def make_treemap(making: Making) -> Chart:
    """Sizes as areas, with their values printed."""
    measure = making.measure("flow", "level")
    units, word = making.unit(measure), making.word(measure)
    noun, names = making.names(making.frame.randint(5, 8), measure)
    making.labelled = True
    whole = float(making.draw.uniform(0.5, 1.0)) * measure.range[1] * len(names) / 2
    values = making.rounded(split(making.draw, len(names), least=0.045) * whole, measure.decimals)
    row = making.row(making.titled(word), making.subject(word), values, units, measure.decimals, None)
    table = category_table(making, [row], names, noun, "series", adds_up=True, ratio=True)
    period = making.periods(1, 1, ("year",)).names[0]
    unit = f"（{period}，{units[0]}）" if making.language == "zh" else f", {period} ({units[0]})"
    return making.chart("Proportional", "treemap", making.by(word, noun) + unit, word, table)


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_pie(canvas: Canvas, chart: Chart) -> None:
    """Wedges with name and share beside them, or with the shares inside and a legend."""
    ax, style, row = canvas.ax, canvas.style, chart.table.rows[0]
    ring = chart.kind == "ring"
    names = chart.table.columns
    colours = [canvas.colour(place) for place in range(len(names))]
    printed = [number_text(value, row.decimals) + "%" for value in row.values]
    outside = style.numbered % 2 == 0
    start = 90 if style.numbered % 3 else 20 + style.numbered
    wedges, texts = ax.pie(
        row.values,
        colors=colours,
        startangle=start,
        counterclock=False,
        labels=[f"{name}\n{share}" for name, share in zip(names, printed, strict=True)] if outside else None,
        labeldistance=1.12,
        wedgeprops={"width": 0.42 if ring else None, "edgecolor": style.paper, "linewidth": 1.0},
        textprops={"fontsize": canvas.size, "color": style.ink},
        radius=1.0,
    )[:2]
    ax.set_aspect("equal")
    if outside:
        _spread(texts)
        return
    for wedge, share, colour in zip(wedges, printed, colours, strict=True):
        angle = np.deg2rad((wedge.theta1 + wedge.theta2) / 2)
        narrow = wedge.theta2 - wedge.theta1 < 20
        reach = 1.1 if narrow else 0.79 if ring else 0.66
        ink = style.ink if narrow else contrast(colour)
        x, y = reach * np.cos(angle), reach * np.sin(angle)
        ax.text(x, y, share, ha="center", va="center", fontsize=canvas.size * 0.95, color=ink)
    if ring:
        middle = chart.title.split("（")[0].split(", ")[0]
        ax.text(0, 0, _broken(middle), ha="center", va="center", fontsize=canvas.size, color=style.ink, weight="bold")
    canvas.legend([canvas.box_handle(colour) for colour in colours], list(names), where="right")


def _broken(text: str) -> str:
    """A name for the middle of a ring in short lines."""
    if " " not in text:
        return text
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 12 and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _spread(texts: list[Any]) -> None:
    """Move labels of narrow wedges apart on each side, from the top down."""
    for side in (-1, 1):
        column = [text for text in texts if (1 if text.get_position()[0] >= 0 else -1) == side]
        column.sort(key=lambda text: -text.get_position()[1])
        last = np.inf
        for text in column:
            x, y = text.get_position()
            y = min(y * 1.1, last - 0.27)
            text.set_position((x + side * 0.05, y))
            text.set_horizontalalignment("left" if side > 0 else "right")
            last = y


def draw_full(canvas: Canvas, chart: Chart) -> None:
    """Bars of 100 %, upright or lying."""
    ax, table = canvas.ax, chart.table
    lying = canvas.style.numbered % 3 == 0
    base = np.zeros(len(table.columns))
    for number, row in enumerate(table.rows):
        colour = canvas.colour(number)
        places = range(len(base))
        if lying:
            ax.barh(places, row.values, left=base, height=0.66, color=colour, zorder=3)
        else:
            ax.bar(places, row.values, bottom=base, width=0.66, color=colour, zorder=3)
        for place, value in enumerate(row.values):
            middle = base[place] + value / 2
            x, y = (middle, place) if lying else (place, middle)
            text = number_text(value, row.decimals)
            ink = contrast(colour)
            ax.text(x, y, text, ha="center", va="center", fontsize=canvas.size * 0.82, color=ink, zorder=5)
        base += np.array(row.values)
    canvas.value_axis(ax, Axis(low=0, high=100, step=20, unit="%"), along="x" if lying else "y")
    if lying:
        ax.set_ylim(len(base) - 0.4, -0.6)
    else:
        ax.set_xlim(-0.6, len(base) - 0.4)
    canvas.columns(ax, table.columns, table.asked, along="y" if lying else "x")
    handles = [canvas.box_handle(canvas.colour(number)) for number in range(len(table.rows))]
    place = "right" if canvas.style.legend == "inside" else canvas.style.legend
    canvas.legend(handles, [row.name for row in table.rows], where=place)


def draw_treemap(canvas: Canvas, chart: Chart) -> None:
    from matplotlib.patches import Rectangle

    ax, style, row = canvas.ax, canvas.style, chart.table.rows[0]
    ax.set_axis_off()
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    wide = canvas.width / canvas.height
    boxes = squarified(list(row.values), (0.0, 0.0, wide, 1.0))
    for place, (x, y, width, height) in enumerate(boxes):
        colour = canvas.colour(place)
        box = Rectangle((x / wide, y), width / wide, height, facecolor=colour, edgecolor=style.paper, linewidth=2)
        ax.add_patch(box)
        name = chart.table.columns[place]
        size = min(canvas.size * 1.1, 72 * style.height * 0.7 * width / (0.62 * max(map(len, name.split() or [name]))))
        text = "\n".join([*(name.split() if len(name) * size * 0.6 > width * style.height * 50 else [name])])
        ax.text(
            (x + width / 2) / wide,
            y + height / 2,
            f"{text}\n{number_text(row.values[place], row.decimals)}",
            ha="center",
            va="center",
            fontsize=max(size, canvas.size * 0.75),
            color=contrast(colour),
        )


Box = tuple[float, float, float, float]


def squarified(sizes: list[float], box: Box) -> list[Box]:
    """Rectangles of areas in proportion to `sizes` (falling) that fill the box, each as square as it can be: rows are
    laid along the shorter side and closed when one more would make them narrower."""
    scale = box[2] * box[3] / sum(sizes)
    left = [size * scale for size in sizes]
    found: list[Box] = []
    while left:
        x, y, width, height = box
        side = min(width, height)
        count = 1
        while count < len(left) and _worst(left[: count + 1], side) <= _worst(left[:count], side):
            count += 1
        row, left = left[:count], left[count:]
        thick = sum(row) / side
        at = 0.0
        for area in row:
            long = area / thick
            found.append((x, y + at, thick, long) if width >= height else (x + at, y, long, thick))
            at += long
        box = (x + thick, y, width - thick, height) if width >= height else (x, y + thick, width, height - thick)
    return found


def _worst(row: list[float], side: float) -> float:
    """The worst ratio of sides in a row of areas along a side."""
    total = sum(row)
    return max(max(side**2 * area / total**2, total**2 / (side**2 * area)) for area in row)


TABLE = {
    "pie": Kind(make_pie, draw_pie),
    "ring": Kind(make_ring, draw_pie),
    "100% bar": Kind(make_full, draw_full),
    "treemap": Kind(make_treemap, draw_treemap),
}
