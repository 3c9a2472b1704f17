"""Maps of tiles: a square or circle for each area about where it lies, coloured or sized by its value."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table, lengths
from assay.fincharts.charts.canvas import MARGIN, Canvas, contrast, shade
from assay.fincharts.item import Chart
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text
from assay.fincharts.words import Measure, maps

__all__ = ["TABLE"]

_MOST_COUNTED = 32
"""Areas up to which a question may go over all of them."""


def _map(making: Making, kind: str) -> Chart:
    """One measure of every area of a map; for circles a part of them."""
    making.labelled = True
    area = maps()[making.frame.choice(sorted(maps()))]
    natures = ("flow", "level") if kind == "bubble map" else ("flow", "level", "rate")
    measure = making.frame.choice([found for found in making.measures(*natures) if _of_areas(found)])
    units, word = making.unit(measure, area.currencies), making.word(measure)
    tiles = list(area.tiles)
    if kind == "bubble map":
        tiles = sorted(making.frame.sample(tiles, making.frame.randint(10, 16)), key=area.tiles.index)
    values = lengths(making, measure, len(tiles), near=0.02)
    row = making.row(making.titled(word), making.subject(word), values, units, measure.decimals, None)
    names = [making.word(tile) for tile in tiles]
    table = category_table(
        making, [row], names, area.noun, "series", adds_up=measure.nature != "rate", ratio=measure.nature != "rate"
    )
    period = making.periods(1, 1, ("year", "quarter")).names[0]
    zh = making.language == "zh"
    where = area.title[making.language]
    title = f"{where}{word}（{period}，{units[0]}）" if zh else f"{where}: {word}, {period} ({units[0]})"
    every = [tile.at for tile in area.tiles]
    return making.chart(
        "Geographical",
        kind,
        title,
        word,
        replace(table, whole=len(tiles) <= _MOST_COUNTED),
        without=("count_columns", "shows_columns"),
        extra={"tiles": [list(tile.at) for tile in tiles], "ground": [list(at) for at in every]},
    )


def _of_areas(measure: Measure) -> bool:
    """Whether areas differ in the measure: not in what only countries have, as many of them share one currency."""
    return not measure.names or "regions" in measure.names or {"countries", "companies"} <= set(measure.names)


def make_tiles(making: Making) -> Chart:
    return _map(making, "tile map")


def make_circles(making: Making) -> Chart:
    return _map(making, "bubble map")


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_tiles(canvas: Canvas, chart: Chart) -> None:
    """Squares in shades of one colour, with a scale."""
    ax, style, row = canvas.ax, canvas.style, chart.table.rows[0]
    _fill(canvas)
    _ground(canvas, chart)
    values = np.array(row.values)
    low, high = float(values.min()), float(values.max())
    for name, value, (down, across) in zip(chart.table.columns, row.values, chart.extra["tiles"], strict=True):
        colour = shade(canvas.colour(0), 0.1 + 0.85 * (value - low) / (high - low), style.paper)
        ax.add_patch(_square(across, down, colour, style.paper))
        _named(canvas, across, down, name, number_text(value, row.decimals), contrast(colour))
    _scale(canvas, low, high, row.decimals, row.unit)


def draw_circles(canvas: Canvas, chart: Chart) -> None:
    """Circles on pale tiles."""
    ax, style, row = canvas.ax, canvas.style, chart.table.rows[0]
    _fill(canvas)
    pale = shade(style.ink, 0.07, style.paper)
    _ground(canvas, chart)
    for down, across in chart.extra["ground"]:
        ax.add_patch(_square(across, down, pale, style.paper))
    largest = max(row.values)
    for name, value, (down, across) in zip(chart.table.columns, row.values, chart.extra["tiles"], strict=True):
        reach = 0.16 + 0.4 * (value / largest) ** 0.5
        ax.add_patch(_circle(across, down, reach, canvas.colour(0)))
        _named(canvas, across, down, name, number_text(value, row.decimals), style.ink)


def _fill(canvas: Canvas) -> None:
    """A map needs more room than a chart: nearly the whole of a higher figure."""
    canvas.resize(canvas.width * 0.72)
    canvas.ax.set_position(canvas.placed((0.02, 0.04, 0.88, 0.92)))


def _square(x: float, y: float, colour: str, edge: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, facecolor=colour, edgecolor=edge, linewidth=0.8)


def _circle(x: float, y: float, radius: float, colour: str) -> Any:
    from matplotlib.patches import Circle

    return Circle((x, y), radius, facecolor=colour, alpha=0.45, edgecolor=colour, linewidth=0.8, zorder=3)


def _named(canvas: Canvas, x: float, y: float, name: str, value: str, ink: str) -> None:
    """A name, in two lines where it has two words, above a value, both as large as the tile allows."""
    wide = canvas.ax.get_position().width * (canvas.width + 2 * MARGIN) * 72 / (canvas.ax.get_xlim()[1] + 1)  # points
    size = min(canvas.size * 0.9, wide * 0.92 / (0.6 * max(len(value), 3)))
    lines = name.split(" ", 1) if len(name) > 9 else [name]
    longest = max(sum(1.7 if ord(letter) > 0x2E80 else 1 for letter in line) for line in lines)
    small = min(size, wide * 0.95 / (0.52 * longest))
    common = {"ha": "center", "va": "center", "color": ink, "zorder": 5}
    canvas.ax.text(x, y - 0.19, "\n".join(lines), fontsize=small, linespacing=0.9, **common)
    canvas.ax.text(x, y + 0.21 if len(lines) == 1 else y + 0.28, value, fontsize=size, weight="bold", **common)


def _ground(canvas: Canvas, chart: Chart) -> None:
    ground = np.array(chart.extra["ground"])
    canvas.ax.set_axis_off()
    canvas.ax.set_aspect(0.82)
    canvas.ax.set_xlim(-0.6, ground[:, 1].max() + 0.6)
    canvas.ax.set_ylim(ground[:, 0].max() + 0.6, -0.6)


def _scale(canvas: Canvas, low: float, high: float, decimals: int, unit: str) -> None:
    """The shades from the lowest to the highest value, at the right."""
    style = canvas.style
    axes = canvas.add_axes((0.93, 0.2, 0.02, 0.5))
    steps = 40
    for step in range(steps):
        colour = shade(canvas.colour(0), 0.1 + 0.85 * step / (steps - 1), style.paper)
        axes.axhspan(step / steps, (step + 1) / steps, color=colour, linewidth=0)
    axes.set_xticks([])
    axes.set_ylim(0, 1)
    axes.yaxis.tick_right()
    axes.set_yticks([0, 1], [number_text(low, decimals), number_text(high, decimals)])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(unit, fontsize=canvas.size * 0.9, color=style.ink, pad=canvas.size)


TABLE = {
    "tile map": Kind(make_tiles, draw_tiles),
    "bubble map": Kind(make_circles, draw_circles),
}
