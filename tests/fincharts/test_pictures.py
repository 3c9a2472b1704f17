"""What is drawn is what is stored: read back from the pixels, and every printed label from the figure."""

import io
import re
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from assay.fincharts.charts import KINDS
from assay.fincharts.draw import Fonts, drawn, picture
from assay.fincharts.fonts import require_matplotlib
from assay.fincharts.item import Item, Style
from support.finchart_items import items, of_every_kind

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("matplotlib", "mplfinance", "six")), reason="needs the extra `charts`"
)

FONTS = Fonts(families=("DejaVu Sans",))
CLEAN = Style(
    font="DejaVu Sans",
    palette="navy",
    colours=("#0b2e59", "#c8102e", "#7f8fa9", "#f2a900", "#3f7cac", "#5b8c5a", "#9c528b", "#4a4a4a"),
    paper="#ffffff",
    ink="#222222",
    grid="none",
    frame="open",
    legend="bottom",
    heading="plain",
    width=6.5,
    height=3.8,
    dpi=100,
    size=8.0,
    jpeg=None,
    rotation=0.0,
    numbered=7,
)


def first(kind: str) -> Item:
    """A question about that kind of chart, in a plain look."""
    return replace(next(item for item in of_every_kind() if item.chart.kind == kind), style=CLEAN)


def pixels(item: Item) -> tuple[Any, np.ndarray]:
    """The finished canvas, and its pixels: rows from the top."""
    canvas = drawn(item, FONTS)
    canvas.figure.canvas.draw()
    return canvas, np.asarray(canvas.figure.canvas.buffer_rgba())[..., :3].astype(int)


def near(shown: np.ndarray, colour: str) -> np.ndarray:
    """Where the pixels have nearly that colour."""
    wanted = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])
    return np.abs(shown - wanted).max(axis=-1) < 12


def spots(axes: Any, x: float, y: float, high: int) -> tuple[float, float]:
    """Column and row of the pixel at a place in the axes' data."""
    column, up = axes.transData.transform((x, y))
    return column, high - up


def test_bars_are_as_high_as_their_values() -> None:
    """The topmost pixel of each bar's colour, turned into the axis' units by hand: two known heights give the scale."""
    item = first("grouped bar")
    canvas, shown = pixels(item)
    axis = item.chart.left
    assert axis is not None
    rows = item.chart.table.rows
    width = 0.8 / len(rows)
    bottom = spots(canvas.ax, 0, axis.low, len(shown))[1]
    top = spots(canvas.ax, 0, axis.high, len(shown))[1]
    unit = (axis.high - axis.low) / (bottom - top)  # of the axis, per pixel
    for number, row in enumerate(rows):
        for place, value in enumerate(row.values):
            middle = place + (number - (len(rows) - 1) / 2) * width
            column = round(spots(canvas.ax, middle, 0, len(shown))[0])
            here = np.flatnonzero(near(shown[:, column - 4], CLEAN.colours[number]))
            edge = here.min() if value >= 0 else here.max() + 1
            assert axis.low + (bottom - edge) * unit == pytest.approx(value, abs=1.5 * unit)


def test_lines_run_through_their_values() -> None:
    item = next(
        replace(item, style=CLEAN)
        for item in items(3, 400)
        if item.chart.kind == "line" and len(item.chart.table.rows) == 1 and not item.chart.labelled
    )
    canvas, shown = pixels(item)
    axis = item.chart.left
    assert axis is not None
    row = item.chart.table.rows[0]
    for place, value in enumerate(row.values):
        column, line = spots(canvas.ax, place, value, len(shown))
        around = near(shown[:, round(column) - 1 : round(column) + 2], CLEAN.colours[0]).any(axis=1)
        found = np.flatnonzero(around)
        assert len(found)
        # thickness of the stroke and the join of two slopes
        assert np.abs(found - line).min() <= 2


def test_the_right_axis_is_the_scale_of_the_series_that_says_so() -> None:
    item = first("revenue and margin")
    canvas, shown = pixels(item)
    line = item.chart.table.rows[1]
    assert line.axis == "right"
    for place, value in enumerate(line.values):
        column, row = spots(canvas.ax.figure.axes[1], place, value, len(shown))
        marker = near(shown[round(row) - 2 : round(row) + 3, round(column) - 2 : round(column) + 3], CLEAN.colours[1])
        assert marker.mean() > 0.8


def test_candles_stretch_from_open_to_close_in_the_colour_of_their_direction() -> None:
    """Green rises and red falls in an English chart."""
    item = first("k-line")
    canvas, shown = pixels(item)
    opened, _, _, closed, _ = (row.values for row in item.chart.table.rows)
    for place, (start, end) in enumerate(zip(opened, closed, strict=True)):
        column, top = spots(canvas.ax, place, max(start, end), len(shown))
        _, bottom = spots(canvas.ax, place, min(start, end), len(shown))
        if bottom - top < 6:
            continue
        red, green, _ = shown[round((top + bottom) / 2), round(column)]
        assert (green > red) == (end > start)


def test_wedges_of_a_pie_have_the_angles_of_their_shares() -> None:
    """Counted in pixels: each colour's part of the disc is its share of 100."""
    item = replace(first("pie"), style=replace(CLEAN, numbered=9, dpi=200))
    _, shown = pixels(item)
    values = item.chart.table.rows[0].values
    assert sum(values) == pytest.approx(100)
    counts = [near(shown, CLEAN.colours[place % 8]).sum() for place in range(len(values))]
    share = np.array(counts) / sum(counts) * 100
    # numbers stand on the wedges and legend boxes beside them
    assert np.abs(share - np.array(values)).max() < 3


def test_areas_of_a_treemap_are_in_proportion() -> None:
    item = replace(first("treemap"), style=replace(CLEAN, dpi=200))
    _, shown = pixels(item)
    values = np.array(item.chart.table.rows[0].values)
    counts = np.array([near(shown, CLEAN.colours[place]).sum() for place in range(len(values))])
    assert counts / counts.sum() == pytest.approx(values / values.sum(), abs=0.02)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_shows_its_numbers_names_title_and_source(kind: str) -> None:
    """All text of the figure; values only where the chart says that they are printed."""
    from matplotlib.text import Text

    for item in [item for item in of_every_kind() if item.chart.kind == kind][:1]:
        chart = item.chart
        canvas = drawn(item, FONTS)
        said = [text.get_text() for text in canvas.figure.findobj(Text) if text.get_visible()]
        whole = re.sub(r"\s+", " ", " ".join(said))
        assert chart.source in said
        assert re.sub(r"\s+", "", chart.title) in re.sub(r"\s+", "", whole)
        for place in chart.table.asked:
            column = re.sub(r"\s+", " ", chart.table.columns[place])
            # days of a K-line are printed without the year, but for the first
            assert column in whole or column.rsplit(" ", 1)[0] in whole, column
        if chart.labelled:
            for row in chart.table.rows:
                for value in row.values:
                    assert f"{value:,.{row.decimals}f}".lstrip("-") in whole


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_nothing_is_cut_off(kind: str) -> None:
    assert_whole([item for item in of_every_kind() if item.chart.kind == kind][4])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_is_cut_off_in_hundreds_of_pictures() -> None:
    for item in items(77, 300):
        assert_whole(item)


def assert_whole(item: Item) -> None:
    """A border of paper goes round the picture, whatever its look."""
    upright = replace(item, style=replace(item.style, rotation=0.0, jpeg=None))
    with Image.open(io.BytesIO(picture(upright, FONTS))) as shown:
        inside = np.asarray(shown.convert("RGB")).astype(int)
    border = np.concatenate([inside[0], inside[-1], inside[:, 0], inside[:, -1]])
    assert near(border, upright.style.paper).all()
    assert 250 < inside.shape[1] < 1400
    assert 150 < inside.shape[0] < 1200


def test_the_same_item_gives_the_same_bytes() -> None:
    for item in of_every_kind()[::40]:
        assert picture(item, FONTS) == picture(item, FONTS)


def test_drawing_leaves_no_trace_in_matplotlib() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    for kind in ("k-line", "line", "violin"):
        picture(first(kind), FONTS)
    assert dict(matplotlib.rcParams) == before
    require_matplotlib()


def test_looks_are_what_the_style_says() -> None:
    """A JPEG is one, a turned picture is larger than an upright one, a finer one has more pixels."""
    item = first("bar")
    plain = Image.open(io.BytesIO(picture(item, FONTS)))
    assert plain.format == "PNG"
    jpeg = Image.open(io.BytesIO(picture(replace(item, style=replace(CLEAN, jpeg=60)), FONTS)))
    assert jpeg.format == "JPEG"
    assert jpeg.size == plain.size
    turned = Image.open(io.BytesIO(picture(replace(item, style=replace(CLEAN, rotation=2.0)), FONTS)))
    assert turned.width > plain.width
    assert turned.height > plain.height
    fine = Image.open(io.BytesIO(picture(replace(item, style=replace(CLEAN, dpi=200)), FONTS)))
    assert fine.width == pytest.approx(2 * plain.width, abs=3)


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="needs rapidocr")
@pytest.mark.slow
def test_printed_values_can_be_read_by_a_machine() -> None:
    """Optical character recognition finds most printed values of plain pictures at a higher resolution."""
    from importlib import import_module

    engine: Any = import_module("rapidocr").RapidOCR()
    wanted = found = 0
    for kind in ("bar", "horizontal bar", "stacked bar", "tile map", "income statement", "correlation heat map"):
        chosen = [item for item in of_every_kind() if item.chart.kind == kind and item.chart.labelled][:2]
        for item in chosen:
            with Image.open(io.BytesIO(picture(replace(item, style=replace(CLEAN, dpi=220)), FONTS))) as shown:
                result = engine(np.asarray(shown.convert("RGB")))
            texts = " ".join(result.txts or ())
            for row in item.chart.table.rows:
                wanted += len(row.values)
                found += sum(f"{value:,.{row.decimals}f}" in texts for value in row.values)
    assert wanted > 50
    assert found / wanted > 0.9
