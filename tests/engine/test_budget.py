"""Prices, the money that tokens cost, and the limits."""

from decimal import Decimal
from pathlib import Path

import pytest

from assay.engine.budget import SHIPPED_PRICES, Budget, Price, Prices, load_prices
from assay.errors import DataError, UsageError
from assay.types import Usage

PRICE = Price(model="m", prompt=Decimal("0.15"), completion=Decimal("0.60"))


def test_no_prices_are_shipped() -> None:
    assert load_prices() == Prices()
    assert "[[price]]" in SHIPPED_PRICES.read_text()


def test_the_shipped_example_is_a_table_once_uncommented(tmp_path: Path) -> None:
    lines = SHIPPED_PRICES.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("# currency"))
    end = next(i for i, line in enumerate(lines) if "first entry" in line)
    (tmp_path / "mine.toml").write_text("\n".join(line.removeprefix("#").strip() for line in lines[start:end]))
    zero = Price(model="my-model", prompt=Decimal("0.00"), completion=Decimal("0.00"))
    assert load_prices(tmp_path / "mine.toml") == Prices(currency="USD", price=(zero,))


def test_prices_are_exact_and_the_first_fit_counts(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(
        'currency = "EUR"\n'
        '[[price]]\nmodel = "big-1"\nprompt = 0.1\ncompletion = "0.30"\n'
        '[[price]]\nmodel = "big-*"\nprompt = 2\ncompletion = 8\n'
    )
    prices = load_prices(tmp_path / "p.toml")
    assert prices.currency == "EUR"
    assert prices.find("big-1") == Price(model="big-1", prompt=Decimal("0.1"), completion=Decimal("0.30"))
    big = prices.find("big-12")
    assert big is not None
    assert big.completion == 8
    assert prices.find("small") is None
    # 3,000,000 x 0.1 / 1e6 + 1 x 0.30 / 1e6, without a float's rounding
    usage = Usage(prompt_tokens=3_000_000, completion_tokens=1)
    assert prices.price[0].of(usage) == Decimal("0.3000003")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[price]", "not a price table"),
        ('[[price]]\nmodel = "m"\nprompt = 1\n', "completion"),
        ('[[price]]\nmodel = "m"\nprompt = 1\ncompletion = "free"\n', "not a price table"),
        ('[[price]]\nmodel = "m"\nprompt = 1\ncompletion = 1\nper = 1000\n', "per"),
        ('[[price]]\nmodel = "m"\nprompt = -1\ncompletion = 1\n', "negative"),
        ('[[price]]\nmodel = "m"\nprompt = nan\ncompletion = 1\n', "not a number"),
        ('[[price]]\nmodel = "m"\nprompt = 1\ncompletion = inf\n', "not a number"),
    ],
)
def test_a_bad_price_table_is_one_clear_sentence(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(DataError, match=problem):
        load_prices(tmp_path / "p.toml")


def test_a_missing_price_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="can't be read"):
        load_prices(tmp_path / "none.toml")


def test_without_limits_a_budget_only_counts() -> None:
    budget = Budget()
    budget.charge(Usage(prompt_tokens=10**9, completion_tokens=10**9))
    assert budget.exceeded() is None
    assert budget.cost is None
    assert not budget.limited


def test_token_limit() -> None:
    budget = Budget(max_tokens=100, spent=Usage(prompt_tokens=40))
    budget.charge(Usage(prompt_tokens=50, completion_tokens=9))
    assert budget.exceeded() is None  # 40 + 59 = 99
    budget.charge(Usage(completion_tokens=1))
    assert budget.exceeded() == "100 tokens are used, the limit is 100"


def test_money_limit() -> None:
    # 1,000 prompt tokens cost 0.00015, 1,000 completion tokens 0.0006: together 0.00075 a call.
    budget = Budget(max_cost=Decimal("0.0015"), price=PRICE)
    call = Usage(prompt_tokens=1000, completion_tokens=1000)
    budget.charge(call)
    assert budget.cost == Decimal("0.00075")
    assert budget.exceeded() is None
    budget.charge(call)
    assert budget.exceeded() == "0.0015 is spent, the limit is 0.0015"


def test_money_without_a_price_is_refused() -> None:
    with pytest.raises(UsageError, match=r"needs the model's price.*--prices"):
        Budget(max_cost=Decimal(5))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_budget_of_nothing_is_refused(limit: int) -> None:
    with pytest.raises(UsageError, match="more than 0"):
        Budget(max_tokens=limit)
    with pytest.raises(UsageError, match="more than 0"):
        Budget(max_cost=Decimal(limit), price=PRICE)
