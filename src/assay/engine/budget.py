"""What a run may cost: a limit on tokens, a limit on money, and the price table that money needs."""

import tomllib
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.errors import DataError, UsageError
from assay.types import Usage

_MILLION = 1_000_000
SHIPPED_PRICES = Path(__file__).with_name("prices.toml")


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Price of one model per 1,000,000 tokens, in the table's currency.

    `model` is the name that is asked for; a trailing `*` stands for any ending.
    """

    model: str
    prompt: Decimal
    completion: Decimal

    def of(self, usage: Usage) -> Decimal:
        """What these tokens cost, exactly."""
        return (self.prompt * usage.prompt_tokens + self.completion * usage.completion_tokens) / _MILLION


class Prices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price table; the first entry that fits a model counts."""

    currency: str = "USD"
    price: tuple[Price, ...] = ()

    def find(self, model: str) -> Price | None:
        """The price of a model, or None where the table has none. None is not free: it is unknown."""
        for price in self.price:
            if price.model == model or (price.model.endswith("*") and model.startswith(price.model[:-1])):
                return price
        return None


def load_prices(path: Path | None = None) -> Prices:
    """Read a price table (TOML); without a path the shipped one, which is empty and explains the format.

    Raises:
        DataError: the file can't be read, is not TOML, has a wrong field or a negative price.
    """
    source = path or SHIPPED_PRICES
    remedy = f"The format is explained in {SHIPPED_PRICES}."
    try:
        with source.open("rb") as file:
            table = tomllib.load(file, parse_float=Decimal)
        prices = msgspec.convert(table, Prices, strict=False)
    except OSError as cause:
        raise DataError(str(source), f"can't be read ({cause.strerror})", remedy) from cause
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as cause:
        raise DataError(str(source), f"not a price table ({cause})", remedy) from cause
    for price in prices.price:
        if not (price.prompt.is_finite() and price.completion.is_finite()):
            raise DataError(str(source), f"the price of {price.model} is not a number", remedy)
        if price.prompt < 0 or price.completion < 0:
            raise DataError(str(source), f"the price of {price.model} is negative", remedy)
    return prices


class Budget:
    """Keeps count of what a run has cost and says when it is over.

    The limits hold for the whole run, earlier starts included: begin with what the store says was used. A call that
    begins below a limit may end above it, for nobody knows its tokens before; with C calls in flight, up to C calls do.

    Args:
        max_tokens: prompt and completion tokens together.
        max_cost: money, in the currency of the price.
        price: of the model that is asked.
        spent: tokens of earlier starts of the same run.

    Raises:
        UsageError: a limit on money without a price; a limit that is not above 0.
    """

    def __init__(
        self,
        *,
        max_tokens: int | None = None,
        max_cost: Decimal | None = None,
        price: Price | None = None,
        spent: Usage | None = None,
    ) -> None:
        if max_cost is not None and price is None:
            raise UsageError(
                "A limit on money needs the model's price. Copy "
                f"{SHIPPED_PRICES}, fill the price in, and give its path with --prices."
            )
        for limit in (max_tokens, max_cost):
            if limit is not None and not limit > 0:
                raise UsageError(f"A budget must be more than 0, not {limit}.")
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.price = price
        self.spent = spent or Usage()

    @property
    def limited(self) -> bool:
        return self.max_tokens is not None or self.max_cost is not None

    @property
    def tokens(self) -> int:
        return self.spent.prompt_tokens + self.spent.completion_tokens

    @property
    def cost(self) -> Decimal | None:
        """Money spent; None where the price is unknown."""
        return None if self.price is None else self.price.of(self.spent)

    def charge(self, usage: Usage) -> None:
        """Count the tokens of a reply."""
        self.spent = Usage(
            prompt_tokens=self.spent.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self.spent.completion_tokens + usage.completion_tokens,
        )

    def exceeded(self) -> str | None:
        """Which limit has been reached, as a clause for a person; None while there is something left."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return f"{self.tokens:,} tokens are used, the limit is {self.max_tokens:,}"
        if self.max_cost is not None and self.cost is not None and self.cost >= self.max_cost:
            return f"{self.cost:f} is spent, the limit is {self.max_cost:f}"
        return None
