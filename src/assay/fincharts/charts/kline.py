"""K-line charts (candlesticks or bars with open and close) with volume, drawn by mplfinance."""

import math
import statistics
from datetime import date
from importlib import import_module
from typing import Any

from assay.fincharts.charts import Kind
from assay.fincharts.charts.canvas import Canvas
from assay.fincharts.item import Axis, Chart, Mark, Row, Table
from assay.fincharts.making import Making, Periods
from assay.fincharts.numbers import axis_for, nice_up, round_half
from assay.fincharts.series import Bars, bars_of, sessions

__all__ = ["LEAST_SESSIONS", "TABLE", "draw_kline", "make_kline", "sliced"]

_WORDS = {
    "en": ("open", "high", "low", "close", "volume"),
    "zh": ("开盘价", "最高价", "最低价", "收盘价", "成交量"),
}
_SPOKEN = {
    "open": "opening price",
    "high": "daily high",
    "low": "daily low",
    "close": "closing price",
    "volume": "trading volume",
}
_SHARES = ("bn shares", "mn shares", "thousand shares", "shares"), ("十亿股", "百万股", "千股", "股")
"""Units of volume in English and in Chinese, each a thousand times the next."""

_FRAME = ("Open", "High", "Low", "Close", "Volume")
"""What mplfinance calls the rows of a table."""

_SHORT = 26
"""Sessions up to which single candles can be told apart."""

LEAST_SESSIONS = 10


def make_kline(making: Making) -> Chart:
    """Daily prices of one stock: made up, or a stretch of a file's."""
    bars, real = _bars(making, making.frame.choice((14, 18, 22, 26, 40, 60)))
    days = [date.fromisoformat(day) for day in bars.days]
    count = len(days)
    making.labelled = False
    names = _day_names(days, making.language)
    step = next(step for step in (1, 2, 3, 5, 10, 20) if count / step <= 9)
    prices, rows = _prices(making, bars, real)
    extra: dict[str, object] = {"days": list(bars.days)}
    if any(bars.volume):
        volume, row = _volume(making, bars)
        rows.append(row)
        extra["volume_axis"] = [volume.low, volume.high, volume.step]
    table = Table(
        rows=tuple(rows),
        columns=names,
        at=making.words.get("frame", "on"),
        noun="day",
        row_noun="series",
        ordered=True,
        asked=tuple(range(0, count, step)),
        same=False,
        ratio=True,
        whole=count <= _SHORT,
    )
    company = making.company()
    periods = Periods(
        names=(names[0], names[-1]), noun="day", at="", start=days[0].isoformat(), end=days[-1].isoformat()
    )
    return making.chart(
        "Line",
        "k-line",
        _title(company, making.language, real=real, volume="volume_axis" in extra),
        _WORDS[making.language][3],
        table,
        periods=periods,
        left=prices,
        extra=extra,
        real=real,
    )


def _title(company: str, language: str, *, real: str, volume: bool) -> str:
    """Of a file nobody knows the currency."""
    if language == "zh":
        return f"{real or company}：日K线{'与成交量' if volume else ''}"
    return f"{real or company}: daily price{'' if real else ' (USD)'}{' and volume' if volume else ''}"


def _prices(making: Making, bars: Bars, real: str) -> tuple[Axis, list[Row]]:
    """Open, high, low and close on one axis. Two digits behind the point as a rule; fifty steps over the range where
    that takes more, none where the range is in thousands."""
    width = max(bars.high) - min(bars.low)
    decimals = 0 if width > 2000 else max(2, math.ceil(-math.log10(width / 50))) if width else 2
    axis = axis_for(min(bars.low), max(bars.high), "", ticks=6)
    units = ("", "") if real else ("美元", "美分") if making.language == "zh" else ("USD", "cents")
    values = (bars.open, bars.high, bars.low, bars.close)
    words = _WORDS[making.language]
    return axis, [_row(making, words[place], values[place], units, decimals, axis) for place in range(4)]


def _volume(making: Making, bars: Bars) -> tuple[Axis, Row]:
    """Volume in the largest unit that leaves two digits to a usual day."""
    usual = statistics.median(bars.volume) or max(bars.volume)
    place = next((place for place in range(3) if usual >= 20 * 1000.0 ** (3 - place)), 3)
    names = _SHARES[making.language == "zh"]
    units = names[place], names[place + 1 if place < 3 else place - 1]
    values = tuple(volume / 1000.0 ** (3 - place) for volume in bars.volume)
    axis = axis_for(0.0, max(values), "", ticks=2, zero=True)
    return axis, _row(making, _WORDS[making.language][4], values, units, 1 if place < 3 else 0, axis, mark="bar")


def _row(
    making: Making,
    word: str,
    values: tuple[float, ...],
    units: tuple[str, str],
    decimals: int,
    axis: Axis,
    *,
    mark: Mark = "line",
) -> Row:
    return Row(
        name=word.capitalize(),
        subject=making.subject(_SPOKEN.get(word, word)),
        values=tuple(round_half(value, decimals) for value in values),
        unit=units[0],
        wrong_unit=units[1],
        decimals=decimals,
        tolerance=max(nice_up(0.025 * (axis.high - axis.low)), 10.0**-decimals),
        mark=mark,
    )


def _bars(making: Making, count: int) -> tuple[Bars, str]:
    """So many sessions, and where they are from. Of a short file at most two thirds, so that there are several
    stretches of it."""
    long_enough = [bars for bars in making.bars if len(sliced(bars, making.window).days) >= LEAST_SESSIONS]
    start = making.frame.uniform(12, 240)
    scale, share = making.frame.uniform(0.009, 0.028), making.frame.random()
    chosen = making.frame.choice(long_enough) if long_enough else None
    if chosen is not None:
        inside = sliced(chosen, making.window)
        count = max(LEAST_SESSIONS, min(count, len(inside.days) * 2 // 3))
        first = int(making.draw.integers(0, len(inside.days) - count + 1))
        return _cut(inside, first, first + count), chosen.name
    days = sessions(making.window[0], making.window[1], count, share)
    return bars_of(making.draw, days, "", start, scale), ""


def sliced(bars: Bars, window: tuple[date, date]) -> Bars:
    """The sessions within a window."""
    inside = [place for place, day in enumerate(bars.days) if window[0] <= date.fromisoformat(day) <= window[1]]
    return _cut(bars, inside[0], inside[-1] + 1) if inside else _cut(bars, 0, 0)


def _cut(bars: Bars, first: int, last: int) -> Bars:
    return Bars(
        name=bars.name,
        days=bars.days[first:last],
        open=bars.open[first:last],
        high=bars.high[first:last],
        low=bars.low[first:last],
        close=bars.close[first:last],
        volume=bars.volume[first:last],
    )


def _day_names(days: list[date], language: str) -> tuple[str, ...]:
    if language == "zh":
        return tuple(f"{day.year}-{day.month:02d}-{day.day:02d}" for day in days)
    return tuple(f"{day.day} {day:%b} {day.year}" for day in days)


# --------------------------------------------------------------------------------------------------------------------
# Drawing


def draw_kline(canvas: Canvas, chart: Chart) -> None:
    """Prices above, volume below where there is any, dates below both."""
    table = chart.table
    prices = canvas.ax
    has_volume = len(table.rows) > len(_FRAME) - 1
    volume = canvas.add_axes((0.08, 0.14, 0.87, 0.18)) if has_volume else None
    if volume is not None:
        prices.set_position(canvas.placed((0.08, 0.4, 0.87, 0.44)))
    _candles(canvas, chart, prices, volume)
    every = [prices] if volume is None else [prices, volume]
    for axes in every:
        axes.set_facecolor(canvas.style.paper)
        axes.tick_params(colors=canvas.style.ink, labelsize=canvas.size, length=2.5, width=0.6, pad=2)
        axes.set_xlim(-0.8, len(table.columns) - 0.2)
        axes.yaxis.set_ticks_position("left")
        canvas.grid(axes)
    if chart.left is not None:
        canvas.value_axis(prices, chart.left)
    if volume is not None:
        low, high, step = chart.extra["volume_axis"]
        canvas.value_axis(volume, Axis(low=low, high=high, step=step, unit=table.rows[4].unit))
        prices.set_xticks(list(table.asked), [""] * len(table.asked))
    short = tuple(name.rsplit(" ", 1)[0] if chart.language == "en" else name[5:] for name in table.columns)
    years = [name[-4:] if chart.language == "en" else name[:4] for name in table.columns]
    # The year stands with the first date, and where it is another one than with the date before.
    new = [place == 0 or years[place] != years[table.asked[at - 1]] for at, place in enumerate(table.asked)]
    shown = [table.columns[place] if first else short[place] for place, first in zip(table.asked, new, strict=True)]
    every[-1].set_xticks(list(table.asked), shown)
    if any(label.get_rotation() for label in every[-1].get_xticklabels()):
        every[-1].set_xticks(list(table.asked), shown, rotation=45, ha="right", rotation_mode="anchor")


def _candles(canvas: Canvas, chart: Chart, prices: Any, volume: Any) -> None:
    """Prices and volume by mplfinance, each session in the colour of its direction."""
    mpf: Any = import_module("mplfinance")
    pandas: Any = import_module("pandas")

    values = {name: row.values for name, row in zip(_FRAME, chart.table.rows, strict=False)}
    frame = pandas.DataFrame(values, index=pandas.DatetimeIndex(chart.extra["days"]))
    rising, falling = _colours(canvas, chart.language)
    both = {"up": rising, "down": falling}
    market = mpf.make_marketcolors(up=rising, down=falling, edge="inherit", wick="inherit", ohlc=both, volume=both)
    market["vcedge"] = both
    mpf.plot(
        frame,
        type="ohlc" if canvas.style.numbered % 5 == 0 else "candle",
        ax=prices,
        volume=volume if volume is not None else False,
        style=mpf.make_mpf_style(base_mpf_style="default", marketcolors=market, gridstyle=""),
        warn_too_much_data=10_000,
        ylabel="",
        ylabel_lower="",
    )


def _colours(canvas: Canvas, language: str) -> tuple[str, str]:
    """Red rises in China and falls elsewhere."""
    red, green = (("#c8102e", "#1a8754"), ("#d62728", "#2ca02c"), ("#e0533d", "#3d7ea6"))[canvas.style.numbered % 3]
    return (red, green) if language == "zh" else (green, red)


TABLE = {"k-line": Kind(make_kline, draw_kline)}
