"""Seeded numbers that move as financial ones do, and prices from a file of one's own.

Growth rates have clustered volatility (each step's variance remembers the last shock, as in a GARCH(1,1) model), sales
have seasons, prices fall faster than they rise. Everything is drawn from the generator that is passed in.
"""

import csv
import math
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from assay.errors import DataError

__all__ = ["Array", "Bars", "bars_of", "levels", "rates", "read_ohlcv", "returns", "sessions", "split", "walk"]

Array = NDArray[np.float64]

# Persistence of variance: how much of the last shock and of the last variance stays (their sum below 1).
SHOCK, MEMORY = 0.12, 0.82


_RESTS = ((1, 1), (12, 25))
"""Month and day of holidays that exchanges keep nearly everywhere."""


class Bars(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Daily prices: one entry a session in each field. `days` are ISO dates, `volume` is in single shares."""

    name: str
    days: tuple[str, ...]
    open: tuple[float, ...]
    high: tuple[float, ...]
    low: tuple[float, ...]
    close: tuple[float, ...]
    volume: tuple[float, ...]


def returns(rng: Generator, count: int, scale: float, *, skew: float = 0.3) -> Array:
    """Shocks of standard deviation about `scale` with clustered volatility; falls are larger than rises by `skew`."""
    shocks = np.empty(count)
    variance = scale**2
    draws = rng.standard_t(6, count) / math.sqrt(1.5)  # variance of Student's t with 6 degrees of freedom: 6 / 4
    for place in range(count):
        shock = math.sqrt(variance) * draws[place]
        shocks[place] = shock * (1 + skew if shock < 0 else 1 - skew)
        variance = (1 - SHOCK - MEMORY) * scale**2 + SHOCK * shock**2 + MEMORY * variance
    return shocks - shocks.mean() * 0.5


def walk(rng: Generator, count: int, start: float, scale: float, drift: float) -> Array:
    """A geometric walk of `count` points from `start`; `scale` and `drift` are those of one step's logarithm."""
    steps = returns(rng, count - 1, scale) + drift
    return start * np.exp(np.concatenate([[0.0], np.cumsum(steps)]))


def levels(rng: Generator, count: int, low: float, high: float, swing: float, season: int = 0) -> Array:
    """A positive series between about `low` and `high`: a trend, clustered shocks, and seasons of that many steps."""
    start = low * (high / low) ** rng.uniform(0.1, 0.8)
    drift = rng.normal(0.35 * swing, 0.6 * swing)
    series = walk(rng, count, start, swing, drift * min(1.0, 12 / count))
    if season:
        pattern = rng.normal(0, 1.6 * swing, season)
        series *= np.exp((pattern - pattern.mean())[np.arange(count) % season])
    return np.clip(series, low * 0.8, high * 1.5)


def rates(rng: Generator, count: int, low: float, high: float, swing: float) -> Array:
    """A series that returns to its mean between `low` and `high`; `swing` is a step's size relative to `high`."""
    width = high - low
    mean = rng.uniform(low + 0.25 * width, high - 0.25 * width)
    value = mean + rng.normal(0, 0.18 * width)
    pull = rng.uniform(0.08, 0.3)
    series = np.empty(count)
    for place, shock in enumerate(returns(rng, count, swing * high, skew=0.0)):
        series[place] = value
        value += pull * (mean - value) + shock
    return np.clip(series, low - 0.1 * width, high + 0.1 * width)


def split(rng: Generator, parts: int, *, concentration: float = 2.2, least: float = 0.03) -> Array:
    """Shares that add up to 1, each at least `least`, in falling order for most draws."""
    shares = np.sort(rng.dirichlet(np.full(parts, concentration)))[::-1]
    return least + shares * (1 - least * parts)


def sessions(start: date, end: date, count: int, share: float) -> tuple[date, ...]:
    """`count` weekdays in a row but the days on which every exchange rests: from the window's start for the share 0, up
    to its end for 1."""
    latest = end - timedelta(days=math.ceil(count * 7 / 5) + 5)
    offset = int(share * max((latest - start).days, 0))
    day, found = start + timedelta(days=offset), list[date]()
    while len(found) < count:
        if day.weekday() < 5 and (day.month, day.day) not in _RESTS:
            found.append(day)
        day += timedelta(days=1)
    return tuple(found)


def bars_of(rng: Generator, days: tuple[date, ...], name: str, start: float, scale: float) -> Bars:
    """Made-up daily prices: a close that walks, an open near the last close, shadows, and volume that follows moves."""
    count = len(days)
    close = walk(rng, count + 1, start, scale, rng.normal(0, scale / 6))
    opens = close[:-1] * np.exp(rng.normal(0, scale * 0.35, count))
    close = close[1:]
    reach = np.abs(rng.normal(0, scale * 0.5, (2, count)))
    high = np.maximum(opens, close) * np.exp(reach[0])
    low = np.minimum(opens, close) * np.exp(-reach[1])
    busy = np.exp(rng.normal(0, 0.25, count)) * (1 + 12 * np.abs(np.log(close / opens)))
    volume = rng.uniform(0.8, 30) * busy
    return Bars(
        name=name,
        days=tuple(day.isoformat() for day in days),
        open=_rounded(opens, 2),
        high=_rounded(high, 2),
        low=_rounded(low, 2),
        close=_rounded(close, 2),
        volume=_rounded(volume * 1e6, 0),
    )


def _rounded(values: Array, decimals: int) -> tuple[float, ...]:
    return tuple(cast("list[float]", np.round(values, decimals).tolist()))


# --------------------------------------------------------------------------------------------------------------------
# Prices from a file

_COLUMNS = ("Date", "Open", "High", "Low", "Close", "Volume")

LEAST_PRICE, MOST_PRICE, MOST_VOLUME = 1e-5, 1e9, 1e15
"""What an axis can be labelled with; beyond lies no price of a session, but a slip in a file."""


def read_ohlcv(path: Path) -> Bars:
    """Daily prices from a CSV file with the columns Date, Open, High, Low, Close and Volume (others are passed over).

    Dates are ISO, with or without a time, or year/month/day or month/day/year. Prices and volume are held as they
    stand. Days are sorted.

    Raises:
        DataError: the file can't be read, lacks a column, has a row that is no session, or prices that never move.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise DataError(str(path), f"has no column {missing[0]}", f"It needs {', '.join(_COLUMNS)}.")
            rows = [_session(row, f"{path.name}:{reader.line_num}") for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise DataError(str(path), f"can't be read as CSV ({cause})", "Give a file of daily prices.") from cause
    rows.sort()
    if len(rows) < 2:
        raise DataError(str(path), "holds fewer than two sessions", "Give a file of daily prices.")
    for earlier, later in pairwise(rows):
        if earlier[0] == later[0]:
            raise DataError(str(path), f"has two rows for {later[0]}", "Keep one row a day.")
    if min(row[3] for row in rows) == max(row[2] for row in rows):
        raise DataError(str(path), "has one and the same price throughout", "Give a file of prices that move.")
    days, *prices = zip(*rows, strict=True)
    opens, high, low, close, volume = (tuple(float(value) for value in column) for column in prices)
    return Bars(name=path.stem, days=tuple(map(str, days)), open=opens, high=high, low=low, close=close, volume=volume)


def _session(row: dict[str, str], where: str) -> tuple[str, float, float, float, float, float]:
    try:
        day = _day(row["Date"].strip())
        opened, high, low, close, volume = (float(row[name]) for name in _COLUMNS[1:])
    except (ValueError, TypeError, AttributeError) as cause:
        raise DataError(where, f"is no session ({cause})", "Mend or remove the row.") from cause
    sound = all(map(math.isfinite, (opened, high, low, close, volume))) and low > 0 and volume >= 0
    if not sound or high < max(opened, close) - 1e-6 or low > min(opened, close) + 1e-6:
        raise DataError(where, "has prices that can't be", "High is the highest of a session's prices, low the lowest.")
    if low < LEAST_PRICE or high > MOST_PRICE or volume > MOST_VOLUME:
        raise DataError(
            where,
            "has a price or a volume that can't be drawn",
            f"Prices lie between {LEAST_PRICE:g} and {MOST_PRICE:g}, volumes up to {MOST_VOLUME:g}.",
        )
    return day.isoformat(), opened, high, low, close, volume


def _day(text: str) -> date:
    text = text.replace("T", " ").partition(" ")[0]
    if "/" in text:
        first, second, third = (int(part) for part in text.split("/"))
        return date(first, second, third) if first > 31 else date(third, first, second)
    return date.fromisoformat(text)
