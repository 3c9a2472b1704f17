"""Chat rows in the forms that trainers read.

| format | files | a row is |
|---|---|---|
| trl | `trl/train.jsonl`, `trl/held_out.jsonl` | a `ChatRow`; `chat.to_trl` puts it in TRL's own words |
| llamafactory | the same in `llamafactory/`, and `dataset_info.json` | a `Conversation` |
| ms-swift | the same in `ms-swift/` | a `Conversation` |

Paths of pictures start from the row's file. LLaMA-Factory looks there by itself; ms-swift does where the environment's
ROOT_IMAGE_DIR names the file's folder.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.train.files import write_lines
from assay.train.records import ChatRow

__all__ = ["FORMATS", "PARTS", "Conversation", "Format", "Part", "Turn", "conversation", "dataset_info", "write_part"]

Format = Literal["trl", "llamafactory", "ms-swift"]
Part = Literal["train", "held_out"]
PARTS: tuple[Part, ...] = ("train", "held_out")

PLACE = "<image>"
"""Where a picture stands in a text, for LLaMA-Factory and ms-swift both."""


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one side says."""

    role: Literal["user", "assistant"]
    content: str


class Conversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of LLaMA-Factory (formatting `sharegpt`) and of ms-swift (its standard form).

    Both put the next picture in the place of each `<image>` in the texts, so there are as many of these as pictures.
    They stand directly before the prompt, as pictures do where a critic is asked.
    """

    id: str
    messages: tuple[Turn, ...]
    images: tuple[str, ...]


def conversation(row: ChatRow) -> Conversation:
    """A row as question and answer. Its texts must not hold `<image>` themselves (`chat.broken_marks`)."""
    return Conversation(
        id=row.id,
        messages=(
            Turn(role="user", content=PLACE * len(row.images) + row.prompt),
            Turn(role="assistant", content=row.completion),
        ),
        images=row.images,
    )


def _unchanged(row: ChatRow) -> ChatRow:
    return row


FORMATS: dict[Format, Callable[[ChatRow], Struct]] = {
    "trl": _unchanged,
    "llamafactory": conversation,
    "ms-swift": conversation,
}


def write_part(out: Path, form: Format, part: Part, rows: Iterable[ChatRow]) -> Path | None:
    """Write one part's rows in a format; the file, or None without rows, since loaders refuse an empty file.

    Raises:
        RunError: it can't be written.
    """
    path = out / form / f"{part}.jsonl"
    if write_lines(path, map(FORMATS[form], rows)):
        return path
    path.unlink()
    return None


def dataset_info(parts: Iterable[Part]) -> bytes:
    """LLaMA-Factory's `dataset_info.json`, by which the parts are called `assay_train` and `assay_held_out`."""
    described: dict[str, dict[str, Any]] = {
        f"assay_{part}": {
            "file_name": f"{part}.jsonl",
            "formatting": "sharegpt",
            "columns": {"messages": "messages", "images": "images"},
            "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"},
        }
        for part in parts
    }
    return msgspec.json.format(msgspec.json.encode(described), indent=2) + b"\n"
