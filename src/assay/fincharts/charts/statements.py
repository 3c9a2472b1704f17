"""Financial statements: a printed income statement, revenue with margin, cash flows, what assets are made of."""

from typing import Any

import numpy as np

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import draw_bars, draw_stacked
from assay.fincharts.charts.canvas import Canvas, contrast, shade
from assay.fincharts.charts.lines import time_table
from assay.fincharts.item import Chart
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text
from assay.fincharts.series import Array, levels
from assay.fincharts.words import vocabulary

__all__ = ["TABLE", "draw_printed"]

_RANKED = (
    "argmax_row",
    "argmin_row",
    "rank_row",
    "row_above",
    "row_leads",
    "count_wins",
    "wins_throughout",
    "argmax_mean_row",
    "leads_on_average",
    "widest_gap",
)
"""Line items follow from one another: which is larger is known beforehand."""


def _word(making: Making, name: str) -> str:
    return making.words.get("statement", name)


def _row(making: Making, name: str, values: Any, units: tuple[str, str], axis: Any = None, **options: Any) -> Any:
    word = _word(making, name)
    spoken = word if making.language == "zh" else word[:1].lower() + word[1:]
    printed = making.rounded(np.asarray(values), 0)
    return making.row(word, making.subject(spoken), printed, units, 0, axis, **options)


def _revenue(making: Making, count: int) -> tuple[Array, tuple[str, str]]:
    measure = vocabulary().measures["revenue"]
    low, high = measure.range
    return np.round(levels(making.draw, count, low, high, 0.06)), making.unit(measure)


def make_income(making: Making) -> Chart:
    """Revenue down to net profit for three to five years; every line follows from those above it."""
    making.labelled = True
    periods = making.periods(3, 5, ("year",))
    count = len(periods.names)
    draw = making.draw
    revenue, units = _revenue(making, count)
    cost = np.round(revenue * (draw.uniform(0.45, 0.68) + draw.normal(0, 0.015, count)))
    gross = revenue - cost
    expenses = np.round(gross * (draw.uniform(0.4, 0.6) + draw.normal(0, 0.02, count)))
    operating = gross - expenses
    interest = np.round(operating * np.abs(draw.uniform(0.04, 0.12) + draw.normal(0, 0.01, count)))
    tax = np.round((operating - interest) * 0.25)
    net = operating - interest - tax
    lines = {
        "revenue": revenue,
        "cost": cost,
        "gross": gross,
        "expenses": expenses,
        "operating": operating,
        "interest": interest,
        "tax": tax,
        "net": net,
    }
    rows = [_row(making, name, values, units) for name, values in lines.items()]
    table = time_table(rows, periods, "item", adds_up=True, ratio=bool(np.min(list(lines.values())) > 0))
    unit = f"（{units[0]}）" if making.language == "zh" else f" ({units[0]})"
    title = making.titled(_word(making, "title"), making.company()) + unit
    return making.chart(
        "Financial",
        "income statement",
        title,
        _word(making, "title"),
        table,
        periods=periods,
        without=_RANKED,
        extra={"sums": [2, 4, 7]},
    )


def make_margin(making: Making) -> Chart:
    """Revenue as bars, and what is left of it as a line against the right-hand axis."""
    periods = making.periods(5, 10, ("year", "quarter"))
    count = len(periods.names)
    making.labelled = False
    revenue, units = _revenue(making, count)
    margins = making.rounded(
        np.clip(making.draw.uniform(8, 24) + np.cumsum(making.draw.normal(0, 1.4, count)), 1, 38), 1
    )
    left = making.axis([tuple(float(value) for value in revenue)], units[0], zero=True)
    right = making.axis([margins], "%")
    margin = _word(making, "margin")
    spoken = margin if making.language == "zh" else margin.lower()
    rows = [
        _row(making, "revenue", revenue, units, left, mark="bar"),
        making.row(margin, making.subject(spoken), margins, ("%", "bp"), 1, right, side="right"),
    ]
    table = time_table(rows, periods, "series", same=False)
    both = f"{_word(making, 'revenue')}与{margin}" if making.language == "zh" else f"revenue and {spoken}"
    title = making.titled(both, making.company())
    return making.chart("Financial", "revenue and margin", title, both, table, periods=periods, left=left, right=right)


def make_cash(making: Making) -> Chart:
    """Cash flows from operations, investing and financing."""
    periods = making.periods(3, 6, ("year",))
    count = len(periods.names)
    revenue, units = _revenue(making, count)
    operations = np.round(revenue * (making.draw.uniform(0.1, 0.22) + making.draw.normal(0, 0.03, count)))
    investing = -np.round(revenue * np.abs(making.draw.uniform(0.05, 0.14) + making.draw.normal(0, 0.03, count)))
    financing = np.round(revenue * making.draw.normal(-0.02, 0.06, count))
    flows = [operations, investing, financing]
    axis = making.axis([tuple(float(value) for value in flow) for flow in flows], units[0], zero=True)
    names = ("from_operations", "from_investing", "from_financing")
    rows = [_row(making, name, flow, units, axis, mark="bar") for name, flow in zip(names, flows, strict=True)]
    table = time_table(rows, periods, "item", adds_up=True)
    title = making.titled(_word(making, "flows"), making.company())
    return making.chart("Financial", "cash flows", title, _word(making, "flows"), table, periods=periods, left=axis)


def make_assets(making: Making) -> Chart:
    """What the assets are made of, stacked by year."""
    making.labelled = True
    periods = making.periods(3, 6, ("year",))
    names = making.frame.sample(("cash", "receivables", "inventory", "plant", "goodwill"), making.frame.choice((3, 4)))
    units = making.unit(vocabulary().measures["revenue"])
    values = [np.round(levels(making.draw, len(periods.names), 300, 900, 0.06)) for _ in names]
    totals = tuple(float(total) for total in np.sum(values, axis=0))
    axis = making.axis([totals], units[0], zero=True)
    rows = [_row(making, name, series, units, axis, mark="bar") for name, series in zip(names, values, strict=True)]
    table = time_table(rows, periods, "item", rows_add_up=True, ratio=True)
    title = making.titled(_word(making, "balance"), making.company())
    return making.chart("Financial", "asset structure", title, title, table, periods=periods, left=axis)


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_printed(
    canvas: Canvas,
    head: list[str],
    lines: list[list[str]],
    *,
    bold: tuple[int, ...] = (),
    first: float = 1.9,
    shrink: float = 1.0,
) -> None:
    """A printed table: names at the left, numbers at the right of their columns; `first` is how many columns of numbers
    the names are as wide as, `shrink` how large the head is beside the rest."""
    from matplotlib.patches import Rectangle

    ax, style = canvas.ax, canvas.style
    above = 0.55 * max(text.count("\n") for text in head)  # of a line, for heads of several
    canvas.resize(0.27 * (len(lines) + 1.5 + above) + 0.5)
    ax.set_position(canvas.placed((0.02, 0.03, 0.96, 0.9)))
    ax.set_axis_off()
    columns = len(head) - 1
    ax.set_xlim(0, first + columns)
    ax.set_ylim(len(lines) + 1, -above)
    accent = canvas.colour(0)
    filled = style.heading in ("band", "centred")
    if filled:
        ax.add_patch(Rectangle((0, -above), first + columns, 1 + above, facecolor=accent, edgecolor="none"))
    ink = contrast(accent) if filled else style.ink
    for place, text in enumerate(head):
        _put(canvas, place, -above / 2, text, first, ink, weight="bold", shrink=shrink)
    ruled = style.grid != "none"
    for down, line in enumerate(lines, start=1):
        if style.grid in ("both", "dotted") and down % 2 == 0:
            pale = shade(accent, 0.09, style.paper)
            ax.add_patch(Rectangle((0, down), first + columns, 1, facecolor=pale, edgecolor="none", zorder=0))
        strong = (down - 1) in bold
        for place, text in enumerate(line):
            _put(canvas, place, down, text, first, style.ink, weight="bold" if strong else "normal")
        if strong or (ruled and style.grid == "horizontal"):
            ax.axhline(down, color=style.ink, linewidth=0.9 if strong else 0.35, alpha=0.7)
    for y in (1, len(lines) + 1):
        ax.axhline(y, color=accent, linewidth=1.4)


def _put(
    canvas: Canvas, place: int, down: float, text: str, first: float, ink: str, *, weight: str, shrink: float = 1.0
) -> None:
    x, align = (0.06, "left") if place == 0 else (first + place - 0.12, "right")
    size = canvas.size * shrink
    canvas.ax.text(x, down + 0.5, text, ha=align, va="center", fontsize=size, color=ink, weight=weight)


def draw_income(canvas: Canvas, chart: Chart) -> None:
    table = chart.table
    lines = [[row.name, *(number_text(value, 0) for value in row.values)] for row in table.rows]
    draw_printed(canvas, ["", *table.columns], lines, bold=tuple(chart.extra["sums"]))


def draw_margin(canvas: Canvas, chart: Chart) -> None:
    ax, table = canvas.ax, chart.table
    places = list(range(len(table.columns)))
    bars, line = table.rows
    twin: Any = canvas.second()
    ax.bar(places, bars.values, width=0.6, color=canvas.colour(0), zorder=2)
    twin.plot(places, line.values, color=canvas.colour(1), linewidth=1.9, marker="o", markersize=3.6, zorder=4)
    if chart.left is not None and chart.right is not None:
        canvas.value_axis(ax, chart.left)
        canvas.value_axis(twin, chart.right, right=True)
    twin.spines["right"].set_visible(True)
    ax.set_xlim(-0.6, len(places) - 0.4)
    canvas.columns(ax, table.columns, table.asked)
    ax.tick_params(axis="x", length=0)
    canvas.grid()
    sides = ("（左轴）", "（右轴）") if chart.language == "zh" else (" (LHS)", " (RHS)")
    handles: list[Any] = [canvas.box_handle(canvas.colour(0)), canvas.line_handle(canvas.colour(1), marker="o")]
    place = "top" if canvas.style.legend == "inside" else canvas.style.legend
    canvas.legend(handles, [row.name + side for row, side in zip(table.rows, sides, strict=True)], where=place)


TABLE = {
    "income statement": Kind(make_income, draw_income),
    "revenue and margin": Kind(make_margin, draw_margin),
    "cash flows": Kind(make_cash, draw_bars),
    "asset structure": Kind(make_assets, draw_stacked),
}
