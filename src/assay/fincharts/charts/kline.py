"""K-line charts (candlesticks or bars with open and close) with volume, drawn by mplfinance."""

from datetime import date
from importlib import import_module
from typing import Any

from assay.fincharts.charts import Kind
from assay.fincharts.charts.canvas import Canvas
from assay.fincharts.item import Axis, Chart, Row, Table
from assay.fincharts.making import Making, Periods
from assay.fincharts.numbers import axis_for, nice_up, round_half
from assay.fincharts.series import Bars, bars_of, sessions

__all__ = ["TABLE", "draw_kline", "make_kline", "sliced"]

_WORDS = {
    "en": ("open", "high", "low", "close", "volume"),
    "zh": ("开盘价", "最高价", "最低价", "收盘价", "成交量"),
}
_VOLUME = {"en": ("mn shares", "thousand shares"), "zh": ("百万股", "千股")}
_SHORT = 26
"""Sessions up to which single candles can be told apart."""


def make_kline(making: Making) -> Chart:
    """Daily prices of one stock: made up, or a stretch of a file's."""
    count = making.frame.choice((14, 18, 22, 26, 40, 60))
    bars, real = _bars(making, count)
    days = [date.fromisoformat(day) for day in bars.days]
    making.labelled = False
    prices = axis_for(min(bars.low), max(bars.high), "", ticks=6)
    volume = axis_for(0.0, max(bars.volume), "", ticks=2, zero=True)
    names = _day_names(days, making.language)
    step = next(step for step in (1, 2, 3, 5, 10, 20) if count / step <= 9)
    rows = [
        _row(making, word, values, axis)
        for word, values, axis in zip(
            _WORDS[making.language],
            (bars.open, bars.high, bars.low, bars.close, bars.volume),
            (prices, prices, prices, prices, volume),
            strict=True,
        )
    ]
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
    name = bars.name if real else making.company()
    title = _title(name, making.language)
    periods = Periods(
        names=(names[0], names[-1]), noun="day", at="", start=days[0].isoformat(), end=days[-1].isoformat()
    )
    return making.chart(
        "Line",
        "k-line",
        title,
        _WORDS[making.language][3],
        table,
        periods=periods,
        left=prices,
        extra={
            "days": list(bars.days),
            "volume_axis": [volume.low, volume.high, volume.step],
        },
        real=real,
    )


def _title(name: str, language: str) -> str:
    return f"{name}：日K线与成交量" if language == "zh" else f"{name}: daily price (USD) and volume"


def _row(making: Making, word: str, values: tuple[float, ...], axis: Axis) -> Row:
    zh = making.language == "zh"
    volume = word in ("volume", "成交量")
    units = _VOLUME[making.language] if volume else (("美元", "美分") if zh else ("USD", "cents"))
    decimals = 1 if volume else 2
    the = making.words.get("frame", "the")
    spoken = {"open": "opening price", "close": "closing price", "volume": "trading volume"}
    subject = f"{the}{spoken.get(word, word)}"
    return Row(
        name=word.capitalize(),
        subject=subject,
        values=tuple(round_half(value, decimals) for value in values),
        unit=units[0],
        wrong_unit=units[1],
        decimals=decimals,
        tolerance=nice_up(0.025 * (axis.high - axis.low)),
        mark="bar" if volume else "line",
    )


def _bars(making: Making, count: int) -> tuple[Bars, str]:
    """So many sessions, and where they are from."""
    long_enough = [bars for bars in making.bars if len(sliced(bars, making.window).days) >= 10]
    start = making.frame.uniform(12, 240)
    scale, share = making.frame.uniform(0.009, 0.028), making.frame.random()
    chosen = making.frame.choice(long_enough) if long_enough else None
    if chosen is not None:
        inside = sliced(chosen, making.window)
        first = int(making.draw.integers(0, max(len(inside.days) - count, 0) + 1))
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
    """Prices above, volume below, dates at both."""
    mpf: Any = import_module("mplfinance")
    pandas: Any = import_module("pandas")

    table, style = chart.table, canvas.style
    values = {row: table.rows[place].values for place, row in enumerate(("Open", "High", "Low", "Close", "Volume"))}
    frame = pandas.DataFrame(values, index=pandas.DatetimeIndex(chart.extra["days"]))
    prices = canvas.ax
    prices.set_position(canvas.placed((0.08, 0.4, 0.87, 0.44)))
    volume = canvas.add_axes((0.08, 0.14, 0.87, 0.18))
    rising, falling = _colours(canvas, chart.language)
    market = mpf.make_marketcolors(
        up=rising, down=falling, edge="inherit", wick="inherit", volume={"up": rising, "down": falling}
    )
    look = mpf.make_mpf_style(base_mpf_style="default", marketcolors=market, gridstyle="")
    kind = "ohlc" if style.numbered % 5 == 0 else "candle"
    mpf.plot(
        frame, type=kind, ax=prices, volume=volume, style=look, warn_too_much_data=10_000, ylabel="", ylabel_lower=""
    )
    for axes in (prices, volume):
        axes.set_facecolor(style.paper)
        axes.tick_params(colors=style.ink, labelsize=canvas.size, length=2.5, width=0.6, pad=2)
        axes.set_xlim(-0.8, len(table.columns) - 0.2)
        axes.yaxis.set_ticks_position("left")
        canvas.grid(axes)
    if chart.left is not None:
        canvas.value_axis(prices, chart.left)
    low, high, step = chart.extra["volume_axis"]
    canvas.value_axis(volume, Axis(low=low, high=high, step=step, unit=table.rows[4].unit))
    short = tuple(name.rsplit(" ", 1)[0] if chart.language == "en" else name[5:] for name in table.columns)
    shown = [table.columns[place] if number == 0 else short[place] for number, place in enumerate(table.asked)]
    prices.set_xticks(list(table.asked), [""] * len(table.asked))
    volume.set_xticks(list(table.asked), shown)


def _colours(canvas: Canvas, language: str) -> tuple[str, str]:
    """Red rises in China and falls elsewhere."""
    red, green = (("#c8102e", "#1a8754"), ("#d62728", "#2ca02c"), ("#e0533d", "#3d7ea6"))[canvas.style.numbered % 3]
    return (red, green) if language == "zh" else (green, red)


TABLE = {"k-line": Kind(make_kline, draw_kline)}
