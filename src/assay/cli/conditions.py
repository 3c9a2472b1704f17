"""Options that ask every sample under several conditions."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from assay.benchmarks.base import Benchmark
from assay.benchmarks.conditions import conditions_of
from assay.types import Condition

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--repeats",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Draws of every question, each with a seed of its own: mean, spread, pass@k, majority vote.",
    ),
    click.option(
        "--prompts",
        is_flag=True,
        help="Also ask in every variant of the prompt's wording: how far the score depends on it.",
    ),
    click.option(
        "--shuffle-options",
        "shuffles",
        type=click.IntRange(min=0),
        default=0,
        metavar="K",
        help="Also ask choice questions with their options in K other orders: whether answers depend on places.",
    ),
    click.option("--no-image", is_flag=True, help="Also ask without the pictures: what the score owes to them."),
    click.option("--other-image", is_flag=True, help="Also ask with the pictures of other samples."),
)


def condition_options(function: F) -> F:
    """The options that say under which conditions samples are asked; see `conditions_from`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def conditions_from(benchmark: Benchmark, options: dict[str, Any]) -> tuple[Condition, ...]:
    """What the options say.

    Raises:
        UsageError: `--prompts` for a benchmark whose prompts have no variants.
    """
    names = ("repeats", "prompts", "shuffles", "no_image", "other_image")
    return conditions_of(benchmark, **{name: options[name] for name in names})
