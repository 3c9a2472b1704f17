"""Options and steps of the commands that start a run: questions, sampling, pictures, budget, what servers honour."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import structs, to_builtins

from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.cli.common import data_option, limit_option, open_benchmark, split_option, where_option
from assay.cli.model import FiniteRange, extra_body
from assay.cli.own import own_options, reading_of
from assay.errors import UsageError
from assay.evaluate import budget_of
from assay.models.base import Model

if TYPE_CHECKING:
    from assay.images import Transform
    from assay.types import Sampling

F = TypeVar("F", bound=Callable[..., Any])

seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="The run's seed; every request's is derived from it."
)
body_option = click.option("--extra-body", "body", help="JSON object (or @FILE) merged into every request body.")
concurrency_option = click.option(
    "--concurrency", type=click.IntRange(1, 10_000), default=64, show_default=True, help="Most calls in flight."
)
no_probe_option = click.option("--no-probe", is_flag=True, help="Don't ask the server first what it supports.")

_QUESTIONS = (data_option, own_options, split_option, where_option, limit_option)
_SAMPLING = (
    click.option("--top-p", type=FiniteRange(min=0, max=1, min_open=True)),
    click.option("--top-k", type=click.IntRange(min=1)),
    click.option(
        "--max-tokens", type=click.IntRange(min=1), help="Most tokens of a reply.  [default: the benchmark's]"
    ),
)
_BUDGET = (
    click.option("--budget-tokens", type=click.IntRange(min=1), help="Stop cleanly once so many tokens are used."),
    click.option("--budget-money", help="Stop cleanly once so much is spent; needs --prices."),
    click.option("--prices", type=click.Path(path_type=Path), help="Price table (TOML)."),
)
_PICTURES = (
    click.option("--max-edge", type=click.IntRange(min=1), help="Shrink pictures to this edge (px)."),
    click.option(
        "--min-edge", type=click.IntRange(min=1), help="Pad pictures to this edge (px), e.g. 28 for Qwen2.5-VL."
    ),
)


def question_options(function: F) -> F:
    """The options of `questions_from`, and how many of the questions to take."""
    for option in reversed(_QUESTIONS):
        function = option(function)
    return function


def sampling_options(function: F) -> F:
    """The options of `sampling_from`; a command adds --temperature, whose default is its own, and `body_option`."""
    for option in reversed(_SAMPLING):
        function = option(function)
    return function


def budget_options(function: F) -> F:
    """The options of `budget_from`."""
    for option in reversed(_BUDGET):
        function = option(function)
    return function


def picture_options(function: F) -> F:
    """The options of `transform_from`."""
    for option in reversed(_PICTURES):
        function = option(function)
    return function


def questions_from(
    name: str, options: Mapping[str, Any], *, need_pictures: bool = True
) -> tuple[Benchmark, Source, Dataset]:
    """The benchmark, or table of one's own, with the data that the options name; see `open_benchmark`."""
    return open_benchmark(
        name,
        options["data"],
        options["split"],
        options["where"],
        need_pictures=need_pictures,
        reading=reading_of(options),
    )


def sampling_from(benchmark: Benchmark, options: Mapping[str, Any], *, temperature: float | None = None) -> "Sampling":
    """The benchmark's sampling parameters with those that are given on the command line.

    Args:
        temperature: where none is given, in place of the benchmark's.
    """
    names = ("temperature", "top_p", "top_k", "max_tokens")
    given = {name: options[name] for name in names if options[name] is not None}
    if options["body"]:
        given["extra"] = extra_body(options["body"])
    if temperature is not None:
        given.setdefault("temperature", temperature)
    return structs.replace(benchmark.sampling, **given)


def transform_from(benchmark: Benchmark, options: Mapping[str, Any]) -> "Transform":
    """The benchmark's image step with the edges that are given on the command line."""
    given = {name: options[name] for name in ("max_edge", "min_edge") if options[name] is not None}
    return structs.replace(benchmark.transform, **given)


def budget_from(options: Mapping[str, Any], *, critic: str = "") -> Any:
    """What the run may cost.

    Args:
        critic: the name of a second model that the run asks; empty without one.

    Raises:
        UsageError: a limit that can't be watched.
    """
    from assay.engine.budget import load_prices

    if options["budget_money"] is not None and critic not in ("", options["model"]):
        raise UsageError("--budget-money knows one price; policy and critic have two. Use --budget-tokens.")
    price = load_prices(options["prices"]).find(options["model"])
    money = options["budget_money"]
    try:
        limit = None if money is None else Decimal(money)
    except ArithmeticError:
        raise UsageError(f"--budget-money {money!r} is not a number. Write e.g. 2.50.") from None
    return budget_of(max_tokens=options["budget_tokens"], max_cost=limit, price=price)


async def probed(model: Model) -> dict[str, Any]:
    """What the server honours, for the manifest; its notes go to the user now."""
    from assay.models.openai import OpenAIModel, probe

    if not isinstance(model, OpenAIModel):
        return {}
    found = await probe(model)
    for note in found.notes:
        click.echo(f"probe: {note}", err=True)
    return {"probe": to_builtins(found)}


def a_failure(out: Path) -> str:
    """What one failed sample says, for a run in which all say much the same."""
    from assay.engine.store import RunStore
    from assay.types import Failure

    with RunStore.open(out) as store:
        failures = (outcome.result for outcome in store.outcomes() if isinstance(outcome.result, Failure))
        return next((failure.message for failure in failures), "nothing")


def slug(model: str) -> str:
    """A model's name as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.") or "model"
