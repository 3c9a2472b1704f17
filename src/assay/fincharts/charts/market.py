"""How a market is built: shares of its firms, how concentrated it is, where firms stand, what lies in an order book."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table, draw_lying
from assay.fincharts.charts.canvas import Canvas
from assay.fincharts.charts.proportional import shares
from assay.fincharts.charts.relational import draw_points, points_chart
from assay.fincharts.item import Axis, Chart
from assay.fincharts.making import Making
from assay.fincharts.numbers import number_text, round_half
from assay.fincharts.words import vocabulary

__all__ = ["TABLE"]

_ALREADY_SHARES = ("share_column", "share_column_more", "mean", "mean_above")
_QUADRANTS = {
    "en": ("Challengers", "Leaders", "Niche players", "Cash generators"),
    "zh": ("挑战者", "领先者", "利基者", "现金牛"),
}


_CONTESTED = (
    "revenue",
    "order_intake",
    "shipments",
    "vehicle_sales",
    "subscribers",
    "deposits",
    "loans",
    "home_sales",
    "output",
    "power",
    "freight",
    "turnover",
    "issuance",
    "outstanding",
    "open_interest",
    "aum",
    "inflows",
    "allocation",
)
"""What firms have shares of: markets are not shared by capital expenditure."""


def _contested(making: Making) -> str:
    words = vocabulary()
    names = [name for name in words.domains[making.domain].measures if name in _CONTESTED]
    return making.word(words.measures[making.frame.choice(names)])


def _firms(making: Making, low: int, high: int) -> tuple[str, list[str]]:
    group = making.frame.choice(
        ("companies", "companies", "funds" if making.domain == "Fund Products" else "companies")
    )
    return making.names(making.frame.randint(low, high), group=group)


def make_shares(making: Making) -> Chart:
    """Market shares of the largest firms."""
    word = _contested(making)
    noun, names = _firms(making, 6, 9)
    values = shares(making, len(names), 1)
    if making.frame.random() < 0.5:
        making.labelled = True
    axis = making.axis([values], "%", zero=True)
    share = making.words.get("charts", "share").format(word)
    row = making.row(making.titled(share), making.subject(share), values, ("%", "bp"), 1, axis, mark="bar")
    table = category_table(making, [row], names, noun, "series", adds_up=True, ratio=True)
    period = making.periods(1, 1, ("year",)).names[0]
    year = f"{period}年" if period.isdigit() else period
    title = f"{year}市场份额（按{word}）" if making.language == "zh" else f"Market shares by {word}, {period}"
    return making.chart("Market Structure", "market shares", title, word, table, left=axis, without=_ALREADY_SHARES)


def make_concentration(making: Making) -> Chart:
    """Shares from the largest firm down as bars, and as a line what they add up to."""
    word = _contested(making)
    noun, names = _firms(making, 6, 9)
    making.labelled = False
    values = shares(making, len(names), 1)
    summed = tuple(round_half(float(total), 1) for total in np.cumsum(values))
    axes = making.axis([values], "%", zero=True), Axis(low=0, high=100, step=20, unit="%")
    share = making.words.get("charts", "share").format(word)
    both = "累计份额" if making.language == "zh" else "cumulative share"
    rows = [
        making.row(making.titled(share), making.subject(share), values, ("%", "bp"), 1, axes[0], mark="bar"),
        making.row(making.titled(both), making.subject(both), summed, ("%", "bp"), 1, axes[1], side="right"),
    ]
    table = category_table(making, rows, names, noun, "series", same=False, ratio=True)
    title = f"市场集中度（按{word}）" if making.language == "zh" else f"Market concentration by {word}"
    return making.chart(
        "Market Structure",
        "concentration",
        title,
        word,
        table,
        left=axes[0],
        right=axes[1],
        without=(
            *_ALREADY_SHARES,
            "total",
            "argmax_column",
            "argmin_column",
            "rank_column",
            "peaks_at",
            "bottoms_at",
            "minimum",
        ),
    )


def make_positions(making: Making) -> Chart:
    """Firms, or what else has the measures, by two of them; in four named quarters of the field where the first is one
    that everybody would have higher."""
    first = making.frame.choice([m for m in making.measures("rate") if m.good] or making.measures("rate"))
    second = making.partner((first,), "price", "flow", "level") or making.measure("price", "flow", "level")
    groups = making.groups(first, second)
    firms = "companies" in groups
    noun, names = making.names(making.frame.randint(6, 8), first, second, group="companies" if firms else "")
    words = making.word(first), making.word(second)
    if making.language == "zh":
        title = f"{'竞争格局' if firms else '相对位置'}（{words[0]}与{words[1]}）"
    else:
        title = f"{'Competitive' if firms else 'Relative'} positions: {words[0]} and {words[1]}"
    return points_chart(
        making,
        (first, second),
        names,
        noun,
        chart_class="Market Structure",
        kind="positions",
        title=title,
        extra={"quadrants": list(_QUADRANTS[making.language])} if firms and first.good else {},
    )


def make_book(making: Making) -> Chart:
    """Orders waiting at five prices on each side of the market."""
    zh = making.language == "zh"
    tick = making.frame.choice((0.05, 0.1, 0.2, 0.5))
    middle = round(making.frame.uniform(15, 220) / tick) * tick
    levels = [middle + place * tick for place in (5, 4, 3, 2, 1, -1, -2, -3, -4, -5)]
    names = [f"{level:.2f}" for level in levels]
    depth = making.draw.uniform(0.35, 1, 10) * np.array([1, 0.9, 0.75, 0.6, 0.45, 0.45, 0.6, 0.75, 0.9, 1])
    values = making.rounded(depth * making.frame.uniform(20, 400), 1)
    units = ("千股", "百万股") if zh else ("thousand shares", "mn shares")
    axis = making.axis([values], units[0], zero=True)
    word = "委托量" if zh else "order volume"
    row = making.row(making.titled(word), making.subject(word), values, units, 1, axis, mark="bar")
    table = category_table(making, [row], names, "level", "series", adds_up=True, ratio=True)
    title = making.titled("买卖盘五档" if zh else "order book depth", making.company())
    return making.chart(
        "Market Structure",
        "order book",
        title,
        word,
        replace(table, at="{}价位的" if zh else "at the price {}"),
        left=axis,
        without=("count_columns", "shows_columns"),
        extra={"sides": ["卖盘", "买盘"] if zh else ["Asks", "Bids"]},
    )


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_concentration(canvas: Canvas, chart: Chart) -> None:
    ax, table = canvas.ax, chart.table
    places = list(range(len(table.columns)))
    bars, line = table.rows
    twin: Any = canvas.second()
    ax.bar(places, bars.values, width=0.62, color=canvas.colour(0), zorder=2)
    twin.plot(
        places, line.values, color=canvas.colour(1), linewidth=1.8, marker="o", markersize=3.5, zorder=4, clip_on=False
    )
    if chart.left is not None and chart.right is not None:
        canvas.value_axis(ax, chart.left)
        canvas.value_axis(twin, chart.right, right=True)
    twin.spines["right"].set_visible(True)
    ax.set_xlim(-0.6, len(places) - 0.4)
    canvas.columns(ax, table.columns, table.asked)
    canvas.grid()
    sides = ("（左轴）", "（右轴）") if chart.language == "zh" else (" (LHS)", " (RHS)")
    handles: list[Any] = [canvas.box_handle(canvas.colour(0)), canvas.line_handle(canvas.colour(1), marker="o")]
    place = "top" if canvas.style.legend == "inside" else canvas.style.legend
    canvas.legend(handles, [row.name + side for row, side in zip(table.rows, sides, strict=True)], where=place)


def draw_book(canvas: Canvas, chart: Chart) -> None:
    ax, table, style = canvas.ax, chart.table, canvas.style
    row = table.rows[0]
    zh = chart.language == "zh"
    sell, buy = ("#2e8b57", "#c0392b") if zh else ("#c0392b", "#2e8b57")
    places = list(range(len(row.values)))
    half = len(places) // 2
    ax.barh(places, row.values, height=0.8, color=[sell if place < half else buy for place in places], zorder=3)
    ax.axhline(half - 0.5, color=style.ink, linewidth=0.8, linestyle="--", zorder=4)
    if chart.labelled:
        for place, value in zip(places, row.values, strict=True):
            ax.annotate(
                number_text(value, row.decimals),
                (value, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=canvas.size * 0.88,
                color=style.ink,
            )
    if chart.left is not None:
        canvas.value_axis(ax, chart.left, along="x")
    ax.set_ylim(len(places) - 0.4, -0.6)
    canvas.columns(ax, table.columns, table.asked, along="y")
    canvas.grid(vertical=True)
    handles = [canvas.box_handle(sell), canvas.box_handle(buy)]
    place = "top" if style.legend == "inside" else style.legend
    canvas.legend(handles, chart.extra["sides"], where=place)


TABLE = {
    "market shares": Kind(make_shares, draw_lying),
    "concentration": Kind(make_concentration, draw_concentration),
    "positions": Kind(make_positions, draw_points),
    "order book": Kind(make_book, draw_book),
}
