"""Seeded numbers that move as financial ones do, and prices from files."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.fincharts.chance import dice, numbers
from assay.fincharts.charts.proportional import shares, squarified
from assay.fincharts.making import Making
from assay.fincharts.numbers import axis_for, nice_up, number_text, quantity, round_half, roundish
from assay.fincharts.series import bars_of, levels, rates, read_ohlcv, returns, sessions, split

seeds = st.integers(0, 10_000)


def correlation(series: np.ndarray, lag: int) -> float:
    return float(np.corrcoef(series[:-lag], series[lag:])[0, 1])


def test_volatility_clusters_and_falls_are_larger_than_rises() -> None:
    """Stylised facts of returns: none is told from the last, the size of each is, and the left tail is the longer."""
    found = returns(numbers("returns"), 20_000, 0.01)
    assert abs(correlation(found, 1)) < 0.05
    assert correlation(np.abs(found), 1) > 0.1
    assert -np.percentile(found, 1) > np.percentile(found, 99)
    assert found.std() == pytest.approx(0.01, rel=0.35)


def test_seasons_come_back() -> None:
    """Quarterly sales: a year apart moves are alike, half a year apart they are not."""
    apart: list[tuple[float, float]] = []
    for seed in range(40):
        moves = np.diff(np.log(levels(numbers("season", seed), 60, 100, 1000, 0.04, 4)))
        apart.append((correlation(moves, 4), correlation(moves, 2)))
    year, half = np.mean(apart, axis=0)
    assert year > 0.4
    assert half < 0.1


@given(seeds, st.integers(3, 60))
def test_levels_stay_positive_and_rates_near_their_range(seed: int, count: int) -> None:
    held = levels(numbers(seed), count, 50, 400, 0.06)
    assert len(held) == count
    assert (held > 0).all()
    rate = rates(numbers(seed, "r"), count, -2, 8, 0.08)
    assert (rate >= -3).all()
    assert (rate <= 9).all()


@given(seeds, st.integers(2, 9))
def test_parts_make_a_whole(seed: int, parts: int) -> None:
    found = split(numbers(seed), parts)
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0.03
    making = Making(
        dice(seed), numbers(seed), language="en", domain="TMT", window=(date(2015, 1, 1), date(2024, 12, 31))
    )
    for decimals in (0, 1):
        printed = shares(making, parts, decimals)
        assert round(sum(printed), 6) == 100
        assert min(printed) > 0


@given(seeds, st.integers(2, 80))
def test_prices_of_a_session_are_in_order_and_days_are_weekdays(seed: int, count: int) -> None:
    days = sessions(date(2020, 1, 1), date(2020, 12, 31), count, (seed % 100) / 99)
    assert len(days) == count
    assert all(day.weekday() < 5 for day in days)
    assert days[0] >= date(2020, 1, 1)
    assert days[-1] <= date(2020, 12, 31)
    bars = bars_of(numbers(seed), days, "X", 50, 0.02)
    for low, opened, closed, high in zip(bars.low, bars.open, bars.close, bars.high, strict=True):
        assert 0 < low <= min(opened, closed) <= max(opened, closed) <= high


@given(seeds)
def test_rectangles_fill_their_box_without_overlap(seed: int) -> None:
    sizes = sorted((split(numbers(seed), 6) * 100).tolist(), reverse=True)
    boxes = squarified(sizes, (0.0, 0.0, 2.0, 1.0))
    for size, (x, y, width, height) in zip(sizes, boxes, strict=True):
        assert width * height == pytest.approx(size / sum(sizes) * 2)
        assert x >= -1e-9
        assert y >= -1e-9
        assert x + width <= 2 + 1e-9
        assert y + height <= 1 + 1e-9
    for one, (x, y, width, height) in enumerate(boxes):
        for a, b, wide, high in boxes[one + 1 :]:
            across = min(x + width, a + wide) - max(x, a)
            up = min(y + height, b + high) - max(y, b)
            assert min(across, up) < 1e-9


# --------------------------------------------------------------------------------------------------------------------
# Numbers as they are printed


@pytest.mark.parametrize(
    ("value", "nice"),
    [(1, 1), (1.2, 2), (2.4, 3), (3.1, 5), (6, 10), (0.07, 0.1), (0.021, 0.03), (450, 500), (0.5, 0.5)],
)
def test_tolerances_are_round(value: float, nice: float) -> None:
    assert nice_up(value) == nice


@given(st.floats(-1e6, 1e6), st.floats(0.01, 1e6))
def test_an_axis_holds_its_values_between_round_ticks(low: float, width: float) -> None:
    axis = axis_for(low, low + width, "USD")
    slack = 1e-6 * max(abs(low), width)
    assert axis.low <= low + slack
    assert axis.high >= low + width - slack
    steps = (axis.high - axis.low) / axis.step
    assert steps == pytest.approx(round(steps), abs=1e-4)
    assert 2 <= round(steps) <= 13


def test_an_axis_of_zeros_has_two_ends() -> None:
    for zero in (False, True):
        axis = axis_for(0.0, 0.0, "", zero=zero)
        assert axis.low == 0 < axis.high


def test_rounding_and_words_of_numbers() -> None:
    assert round_half(2.5, 0) == 3
    assert round_half(-2.5, 0) == -3
    assert round_half(1.005, 2) == 1.01
    assert str(round_half(-0.01, 1)) == "0.0"
    assert roundish(1151, 40) == 1150
    assert number_text(1234.56, 1) == "1,234.6"
    assert number_text(1234.56, 1, grouped=False) == "1234.6"
    assert quantity(12.34, 1, "%") == "12.3%"
    assert quantity(4.5, 1, "x") == "4.5x"
    assert quantity(1200, 0, "USD mn") == "1,200 USD mn"
    assert quantity(1200, 0, "百万元", language="zh") == "1,200百万元"
    assert quantity(7, 0, "") == "7"


# --------------------------------------------------------------------------------------------------------------------
# Files of prices


def test_real_files_are_read(shared_data: Path) -> None:
    apple = read_ohlcv(shared_data / "ohlcv" / "yahoofinance-AAPL-20040819-20180120.csv")
    assert apple.days[0] == "2004-08-19"
    # the first line of the file: 2.250714, 2.275714, 2.168571, 2.193571, ..., 97230000
    assert (apple.open[0], apple.high[0], apple.low[0], apple.close[0], apple.volume[0]) == (
        2.250714,
        2.275714,
        2.168571,
        2.193571,
        97_230_000,
    )
    index = read_ohlcv(shared_data / "ohlcv" / "SP500_NOV2019_Hist.csv")
    assert index.days[0] == "2019-11-01"
    assert len(index.days) == 20


GOOD = "2020-01-02,10,12,9,11,1000000\n2020-01-03,11,13,10,12,2000000\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_other_columns_and_other_orders_are_no_matter(tmp_path: Path) -> None:
    text = "Volume,Date,Adj Close,Open,High,Low,Close\n2e6,1/3/2020,0,11,13,10,12\n1e6,1/2/2020,0,10,12,9,11\n"
    bars = read_ohlcv(written(tmp_path, text))
    assert bars.days == ("2020-01-02", "2020-01-03")
    assert bars.close == (11, 12)


@pytest.mark.parametrize(
    "day", ["2020-01-03", "2020-01-03 00:00:00-05:00", "2020-01-03T16:00", "2020/01/03", "1/3/2020"]
)
def test_days_are_read_as_files_write_them(tmp_path: Path, day: str) -> None:
    text = f"Date,Open,High,Low,Close,Volume\n2020-01-02,10,12,9,11,0\n{day},11,13,10,12,0\n"
    assert read_ohlcv(written(tmp_path, text)).days == ("2020-01-02", "2020-01-03")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Date,Open,High,Low,Close\n", "has no column Volume"),
        ("Date,Open,High,Low,Close,Volume\n2020-01-02,10,12,9,11,5\n", "fewer than two sessions"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-03,11,13,10,12,5\n", "two rows for 2020-01-03"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,11,10,9,12,5\n", "prices.csv:4: has prices that can't be"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,11,nan,9,12,5\n", "prices.csv:4: has prices that can't"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,x,13,9,12,5\n", "prices.csv:4: is no session"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-02-30,11,13,9,12,5\n", "prices.csv:4: is no session"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,11\n", "prices.csv:4: is no session"),
        ("Date,Open,High,Low,Close,Volume\n1/2/2020,5,5,5,5,0\n1/3/2020,5,5,5,5,0\n", "one and the same price"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,11,1e300,9,12,5\n", "prices.csv:4: has a price or a vol"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,11,13,1e-9,12,5\n", "prices.csv:4: has a price or a vol"),
        (f"Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,11,13,9,12,1e99\n", "prices.csv:4: has a price or a vol"),
        (
            f'Date,Open,High,Low,Close,Volume\n{GOOD}2020-01-06,"1,100","1,200",900,950,5\n',
            "prices.csv:4: is no session",
        ),
        ("", "has no column Date"),
    ],
)
def test_broken_files_are_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_ohlcv(written(tmp_path, text))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(DataError, match="can't be read as CSV"):
        read_ohlcv(tmp_path / "prices.csv")
    with pytest.raises(DataError, match="can't be read as CSV"):
        read_ohlcv(tmp_path / "missing.csv")
