"""The options that name an extractor and a judge, and what they do to a run."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assay.benchmarks.base import Benchmark, Dataset
from assay.errors import UsageError
from assay.models import open_model
from assay.models.base import ADDRESS_FORMS, Address, Model, parse_address

if TYPE_CHECKING:
    from assay.judging.asking import Role
    from assay.judging.reading import Read, Reader
    from assay.types import Sampling

F = TypeVar("F", bound=Callable[..., Any])

_FROM = "[default: ASSAY_API_KEY, then the provider's own]"
_judge_key = click.option(
    "--judge-api-key-env", metavar="NAME", help=f"Environment variable with the judge's API key.  {_FROM}"
)
_tokens = click.option(
    "--reader-max-tokens",
    type=click.IntRange(min=1),
    help="Most tokens of a judge's or extractor's reply, thinking included.  [default: 2048]",
)


def reader_options(function: F) -> F:
    """The options of `readers_from`."""
    for option in reversed(
        (
            click.option(
                "--extractor",
                metavar="ADDRESS",
                help="A language model that reads answers out of replies, for benchmarks whose published script does "
                f"so; asked where no rule finds an explicit answer. {ADDRESS_FORMS}.",
            ),
            click.option(
                "--extract-all", is_flag=True, help="Ask the extractor about every reply, as published scripts do."
            ),
            click.option(
                "--extractor-api-key-env", metavar="NAME", help=f"As --judge-api-key-env, for the extractor.  {_FROM}"
            ),
            click.option(
                "--judge",
                metavar="ADDRESS",
                help="A language model that judges every reply against the right answer; its score stands beside "
                f"those by rule. {ADDRESS_FORMS}.",
            ),
            _judge_key,
            _tokens,
        )
    ):
        function = option(function)
    return function


def judge_options(function: F) -> F:
    """The options of `open_reader_model` and `reader_sampling` for a command that is about a judge alone."""
    judge = click.option("--judge", metavar="ADDRESS", required=True, help=f"The judge. {ADDRESS_FORMS}.")
    return judge(_judge_key(_tokens(function)))


def readers_from(
    options: Mapping[str, Any], benchmark: Benchmark | None = None, *, concurrency: int = 64
) -> "list[Reader]":
    """The extractor, then the judge, as far as they are named; nothing is sent yet.

    Raises:
        UsageError: an address that is none, a key that is not set, an option without its model, an extractor for a
            benchmark that has no use for one.
    """
    if not options["extractor"] and not options["judge"] and not options["extract_all"]:
        return []
    from assay.judging.reading import Reader, check_reader

    if options["extract_all"] and not options["extractor"]:
        raise UsageError("--extract-all says how an extractor is asked; name one with --extractor.")
    roles: tuple[Role, ...] = ("extractor", "judge")
    readers = [
        Reader(
            role=role,
            model=open_reader_model(options[role], options[f"{role}_api_key_env"]),
            sampling=reader_sampling(options["reader_max_tokens"]),
            every=role == "extractor" and options["extract_all"],
            concurrency=concurrency,
        )
        for role in roles
        if options[role]
    ]
    if benchmark is not None:
        for reader in readers:
            check_reader(reader, benchmark)
    return readers


def open_reader_model(address: str | Address, key_env: str | None) -> Model:
    """The model at an address, with the key that the environment variable holds."""
    key = None
    if key_env is not None:
        key = os.environ.get(key_env)
        if not key:
            raise UsageError(f"The environment variable {key_env} is not set. Put the API key there.")
    return open_model(parse_address(address) if isinstance(address, str) else address, api_key=key)


def reader_sampling(max_tokens: int | None) -> "Sampling":
    """How an extractor or judge is sampled."""
    from msgspec import structs

    from assay.judging.asking import SAMPLING

    return SAMPLING if max_tokens is None else structs.replace(SAMPLING, max_tokens=max_tokens)


async def read_all(run: Path, readers: "Sequence[Reader]", benchmark: Benchmark, dataset: Dataset) -> None:
    """Have the run read, the extractor first; what the readers did not say goes to standard error now."""
    from assay.judging.reading import read_run

    try:
        for reader in readers:
            _tell(reader, await read_run(run, reader, benchmark, dataset, progress=True))
    finally:
        for reader in readers:
            await reader.model.close()


def _tell(reader: "Reader", read: "Read") -> None:
    used = f"{read.tokens.prompt_tokens:,} + {read.tokens.completion_tokens:,} tokens"
    click.echo(f"{reader.role}: {read.replies:,} replies; {read.calls:,} calls made now, {used}", err=True)
    for problem, count in read.problems.items():
        again = "; the same command asks again" if problem.startswith("the call failed") else ""
        click.echo(f"{reader.role}: {count:,} x {problem}{again}", err=True)
