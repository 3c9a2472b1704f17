"""The pictures of a row of one's own data: paths, lists of them, bytes, base64."""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from assay.benchmarks.data import RowContext
from assay.benchmarks.own_columns import Columns, blank
from assay.images import sniff


def read_pictures(
    row: Mapping[str, Any], columns: Columns, context: RowContext
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths of a row's pictures, and what the row itself calls them."""
    held = [value for name in columns.images for value in _pictures(row.get(name))]
    paths: list[str] = []
    named: list[str] = []
    for value in held:
        if isinstance(value, str) and re.match(r"https?://", value):
            raise context.bad(f"names the picture {value[:80]} by its address", "Fetch it, and name the file.")
        value = _decoded(value, context) if isinstance(value, str) else value
        path = context.picture(value)
        paths.append(path)
        named.append(value if isinstance(value, str) else Path(path).name)
    return tuple(paths), tuple(named)


def _pictures(value: object) -> list[object]:
    """The pictures of a cell: one, a list, a list written as JSON, or paths with semicolons between them."""
    if blank(value):
        return []
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return [value]
    if isinstance(value, list | tuple):
        return [part for part in cast("Sequence[object]", value) if not blank(part)]
    if isinstance(value, str) and not value.startswith("data:"):
        return [part.strip() for part in value.split(";") if part.strip()]
    return [value]


_DATA_ADDRESS = re.compile(r"data:[\w/+.-]{0,80};base64,")
_LONGEST_NAME = 255  # bytes, on the usual file systems


def _decoded(value: str, context: RowContext) -> str | bytes:
    """A path as it is; a picture in base64, bare or as a data address, as its bytes."""
    address = _DATA_ADDRESS.match(value)
    if address is None and _may_be_path(value) and sniff(_bytes(value[:64]) or b"") is None:
        return value
    data = _bytes(value[address.end() :] if address else value)
    if data is None or sniff(data) is None:
        raise context.bad(
            f"holds a picture as {len(value):,} characters that are neither a path nor base64", "Give the file's path."
        )
    return data


def _may_be_path(value: str) -> bool:
    return "\0" not in value and all(len(name.encode()) <= _LONGEST_NAME for name in value.split("/"))


def _bytes(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
