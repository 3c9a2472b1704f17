"""K-lines of files: short ones and long ones, cheap things and dear ones, with volume and without."""

from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.errors import UsageError
from assay.fincharts.draw import Fonts, drawn
from assay.fincharts.generate import Request, generate, inventions
from assay.fincharts.item import Item
from assay.fincharts.plan import finmme_weights
from assay.fincharts.series import Bars, read_ohlcv

needs_charts = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("matplotlib", "mplfinance", "six")), reason="needs the extra `charts`"
)


def prices(folder: Path, days: int, *, level: float = 100.0, volume: float = 5e6, name: str = "prices") -> Bars:
    """A file of weekdays whose close goes up by 1 % for three days and down by 1 % for two, over and over."""
    lines, day, close = ["Date,Open,High,Low,Close,Volume"], date(2020, 1, 1), level
    for number in range(days):
        while day.weekday() > 4:
            day += timedelta(days=1)
        opened, close = close, close * (1.01 if number % 5 < 3 else 0.99)
        high, low = max(opened, close) * 1.002, min(opened, close) * 0.998
        lines.append(f"{day},{opened:.8f},{high:.8f},{low:.8f},{close:.8f},{volume * (1 + number % 3):.0f}")
        day += timedelta(days=1)
    path = folder / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_ohlcv(path)


def lines_of(bars: Bars, *, count: int = 40, variants: int = 1) -> list[Item]:
    """The K-lines among the line charts of a request."""
    weights = finmme_weights()
    weights = type(weights)(
        question_type=weights.question_type,
        cognitive_level=weights.cognitive_level,
        chart_class={"Line": 1},
        knowledge_domain=weights.knowledge_domain,
    )
    made = inventions(Request(seed=3, count=count, variants=variants, weights=weights), bars=(bars,))
    found = [item for group in made for item in group if item.chart.kind == "k-line"]
    assert len(found) >= 8
    assert all(item.chart.real == bars.name for item in found)
    return found


@pytest.mark.parametrize("days", [10, 12, 25, 61])
def test_short_files_give_stretches_of_what_they_hold(tmp_path: Path, days: int) -> None:
    bars = prices(tmp_path, days)
    for item in lines_of(bars):
        shown = item.chart.extra["days"]
        first = bars.days.index(shown[0])
        assert tuple(shown) == bars.days[first : first + len(shown)]
        assert 10 <= len(shown) <= max(10, days * 2 / 3)
        assert max(item.chart.table.asked) < len(shown)


def test_variants_of_a_short_file_are_different_stretches(tmp_path: Path) -> None:
    made = lines_of(prices(tmp_path, 14), variants=3)
    for first in range(0, len(made), 3):
        assert len({item.chart.extra["days"][0] for item in made[first : first + 3]}) == 3


def test_cheap_things_are_read_to_more_digits_and_dear_ones_to_fewer(tmp_path: Path) -> None:
    """A stretch of 10 sessions moves by about 3 %: fifty steps of that are 0.000003 of 0.005, 0.0006 of 1, 600 of a
    million."""
    for level, least, most in ((0.005, 6, 6), (1.0, 3, 4), (100.0, 2, 2), (1e6, 0, 0)):
        for item in lines_of(prices(tmp_path, 14, level=level)):
            for row in item.chart.table.rows[:4]:
                assert least <= row.decimals <= most
                assert len(set(row.values)) > 5
                assert row.tolerance >= 10.0**-row.decimals


@pytest.mark.parametrize(
    ("volume", "unit", "first"),
    [(3e10, "bn shares", 30.0), (3e9, "mn shares", 3000.0), (5e6, "thousand shares", 5000.0), (700, "shares", 700.0)],
)
def test_volume_has_a_unit_that_leaves_it_digits(tmp_path: Path, volume: float, unit: str, first: float) -> None:
    """Volumes are once, twice and three times the first one: the median is twice."""
    for item in lines_of(prices(tmp_path, 14, volume=volume)):
        row = item.chart.table.rows[4]
        assert row.unit == unit
        assert set(row.values) == {first, 2 * first, 3 * first}


def test_a_file_without_volume_has_prices_only(tmp_path: Path) -> None:
    for item in lines_of(prices(tmp_path, 30, volume=0)):
        assert [row.name for row in item.chart.table.rows] == ["Open", "High", "Low", "Close"]
        assert "volume" not in item.chart.title


def test_nobody_says_what_currency_a_file_is_in(tmp_path: Path) -> None:
    for item in lines_of(prices(tmp_path, 30)):
        assert {row.unit for row in item.chart.table.rows[:4]} == {""}
        assert "USD" not in item.chart.title
        assert item.chart.title.startswith("prices: ")


@needs_charts
def test_files_of_all_sizes_are_drawn(tmp_path: Path) -> None:
    """With the digits that their axis needs."""
    for level, volume, tick in ((0.005, 0, "0.0050"), (100.0, 5e6, "100"), (1e6, 700, "1,000,000")):
        item = lines_of(prices(tmp_path, 14, level=level, volume=volume))[0]
        canvas = drawn(item, Fonts(families=("DejaVu Sans",)))
        assert any(label.get_text().startswith(tick[:4]) for label in canvas.ax.get_yticklabels())
        texts = [label.get_text() for label in canvas.ax.get_yticklabels()]
        assert len(set(texts)) == len(texts)


@needs_charts
def test_a_window_with_too_few_sessions_for_all_variants_is_refused(tmp_path: Path) -> None:
    prices(tmp_path, 12)
    request = Request(seed=1, count=2, variants=4, ohlcv=(tmp_path / "prices.csv",))
    with pytest.raises(UsageError, match=r"prices has 12 sessions between .* K-lines need 13: widen the window"):
        generate(tmp_path / "out", request)
    assert not (tmp_path / "out").exists()
