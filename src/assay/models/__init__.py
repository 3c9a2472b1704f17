"""Models: `Request` in, `Reply` out, nothing else.

`open_model` turns a parsed address into a model and imports only what that kind of model needs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.errors import DataError, UsageError
from assay.models.base import Address, Model
from assay.models.shipped import SHIPPED

__all__ = ["SCHEMES", "open_model"]


def _open_server(address: Address, options: dict[str, Any]) -> Model:
    from assay.models.openai import OpenAIModel

    if address.url is None:
        raise UsageError(f"The model {address.target!r} lacks a server. Write openai:NAME@http://HOST:PORT/v1.")
    return OpenAIModel(address.target, address.url, **options)


def _open_checkpoint(address: Address, options: dict[str, Any]) -> Model:
    from assay.models.local import LocalModel

    if address.target not in SHIPPED and not Path(address.target).is_dir():
        known = " or ".join(SHIPPED)
        raise DataError(address.target, "there is no such folder", f"Name the folder of a checkpoint, or {known}.")
    return LocalModel.open(address.target, **options)


def _open_recording(address: Address, options: dict[str, Any]) -> Model:
    from assay.models.replay import ReplayModel

    return ReplayModel.open(address.target, **options)


def _open_script(address: Address, options: dict[str, Any]) -> Model:
    from assay.models.scripted import ScriptedModel

    return ScriptedModel.from_file(address.target, **options)


SCHEMES: dict[str, Callable[[Address, dict[str, Any]], Model]] = {
    "openai": _open_server,
    "local": _open_checkpoint,
    "replay": _open_recording,
    "scripted": _open_script,
}


def open_model(
    address: Address,
    *,
    api_key: str | None = None,
    timeout: float = 600.0,
    options: Mapping[str, Any] = {},
) -> Model:
    """Open the model that an address names; nothing is sent yet.

    Args:
        address: from `parse_address`.
        api_key: for a server; None looks into the environment, see `assay.models.openai`.
        timeout: seconds for one call of a server, from sending to the last byte.
        options: further keywords of the model's constructor, e.g. `{"prefill": "trailing"}` for a server.

    Raises:
        UsageError: an unknown scheme, a file that can't be read, an extra that is not installed.
    """
    try:
        opener = SCHEMES[address.scheme]
    except KeyError:
        raise UsageError(
            f"Models of the kind {address.scheme!r} are unknown; there are {', '.join(SCHEMES)}."
        ) from None
    keywords = dict(options)
    if address.scheme == "openai":
        keywords |= {"api_key": api_key, "timeout": timeout}
    return opener(address, keywords)
