"""How a model is named on the command line, opened, and probed."""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from assay.errors import UsageError
from assay.models import open_model
from assay.models.base import ADDRESS_FORMS, Address, Model, parse_address

F = TypeVar("F", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A range of numbers without NaN and infinity, which no comparison with a bound keeps out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def model_options(function: F) -> F:
    """The options of `model_from`."""
    for option in reversed(
        (
            click.option(
                "--model", required=True, help=f"The model's name at --base-url, or an address: {ADDRESS_FORMS}."
            ),
            click.option("--base-url", help="An OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1."),
            click.option(
                "--api-key-env",
                metavar="NAME",
                help="Environment variable that holds the API key.  [default: ASSAY_API_KEY, then the provider's own]",
            ),
            click.option(
                "--timeout",
                type=FiniteRange(min=0, min_open=True),
                default=600.0,
                show_default=True,
                help="Seconds for one call of a server.",
            ),
            click.option(
                "--prefill",
                type=click.Choice(["auto", "continue", "trailing", "none"]),
                default="auto",
                show_default=True,
                help="How a server continues an assistant turn; `auto` finds out.",
            ),
            click.option(
                "--max-tokens-field",
                type=click.Choice(["max_tokens", "max_completion_tokens"]),
                default="max_tokens",
                show_default=True,
                help="Name of the token limit in the request body.",
            ),
        )
    ):
        function = option(function)
    return function


batch_size_option = click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Replies that a checkpoint in this process (local:) generates together.  [default: by its size]",
)


def address_of(model: str, base_url: str | None) -> Address:
    """The address that --model and --base-url name together.

    Raises:
        UsageError: neither a name with a server nor an address.
    """
    if base_url is not None:
        if not base_url.startswith(("http://", "https://")):
            raise UsageError(f"--base-url {base_url!r} is not an address. Write http://HOST:PORT/v1.")
        return Address(scheme="openai", target=model, url=base_url.rstrip("/"))
    if model.partition(":")[0] not in ("openai", "local", "replay", "scripted"):
        raise UsageError(
            f"--model {model!r} names no server: add --base-url URL, or write an address: {ADDRESS_FORMS}."
        )
    return parse_address(model)


def model_from(options: Mapping[str, Any]) -> Model:
    """The model that the options of `model_options` name, and `batch_size_option` where a command has it.

    Nothing is sent yet.

    Raises:
        UsageError: no model's address, a key that is not set, an option that the model has no use for.
    """
    address = address_of(options["model"], options["base_url"])
    key, key_env = None, options["api_key_env"]
    if key_env is not None:
        key = os.environ.get(key_env)
        if not key:
            raise UsageError(f"The environment variable {key_env} is not set. Put the API key there.")
    of_the_kind: dict[str, Any] = {}
    if address.scheme == "openai":
        of_the_kind = {name: options[name] for name in ("prefill", "max_tokens_field")}
    if options.get("batch_size") is not None:
        if address.scheme != "local":
            raise UsageError("--batch-size is about a checkpoint in this process (local:); a server knows its own.")
        of_the_kind = {"batch_size": options["batch_size"]}
    return open_model(address, api_key=key, timeout=options["timeout"], options=of_the_kind)


def extra_body(text: str | None) -> dict[str, Any]:
    """The JSON object of --extra-body, given inline or as @FILE.

    Raises:
        UsageError: not a JSON object.
    """
    if text is None:
        return {}
    try:
        written = Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
        return msgspec.json.decode(written, type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as cause:
        raise UsageError(f"--extra-body can't be read: {cause}. Write a JSON object or @FILE.") from cause
