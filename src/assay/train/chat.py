"""Rows of supervised fine-tuning: read from their files, and in the words of TRL.

A file of chat rows is JSON Lines of `ChatRow`, one a line, without a header, so that any loader of JSON Lines reads it.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from assay.errors import DataError
from assay.train.records import ChatRow

__all__ = ["broken_marks", "read_chat", "to_trl", "without_places"]

_REMEDY = "A row holds id, group, prompt and completion, and may hold images and labels. Mend or remove the line."


def read_chat(path: Path, *, on_odd: Callable[[DataError], None] | None = None) -> Iterator[ChatRow]:
    """The rows of a file, in order, with their pictures' paths from the file's folder.

    Args:
        on_odd: told of rows that can't be read, which are then left out; None makes the first one an error.

    Raises:
        DataError: there is no such file, or it is one of records (see `train.files`); without `on_odd` a row that can't
            be read, by its number.
    """
    decoder = msgspec.json.Decoder(ChatRow)
    try:
        file = path.open("rb")
    except OSError as cause:
        raise DataError(str(path), f"can't be read ({cause.strerror})", "Give a file of chat rows.") from cause
    with file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as cause:
                if number == 1 and line.startswith(b'{"schema":"assay.'):
                    raise DataError(
                        str(path), "is a file of records, not of chat rows", "Make rows of it with `assay prm export`."
                    ) from cause
                odd = DataError(f"{path}:{number}", f"is no chat row ({cause})", _REMEDY)
                if on_odd is None:
                    raise odd from cause
                on_odd(odd)
                continue
            yield replace(row, images=tuple(str(path.parent / image) for image in row.images))


def to_trl(row: ChatRow) -> dict[str, Any]:
    """A row as TRL's trainers take it: conversational prompt and completion, pictures as parts before the text.

    `images` are paths; a column of them becomes pictures with `dataset.cast_column("images", List(Image()))`.
    """
    pictures: list[dict[str, str]] = [{"type": "image"} for _ in row.images]
    return {
        "images": list(row.images),
        "prompt": [{"role": "user", "content": [*pictures, {"type": "text", "text": row.prompt}]}],
        "completion": [{"role": "assistant", "content": [{"type": "text", "text": row.completion}]}],
    }


# --------------------------------------------------------------------------------------------------------------------
# Marks in a text that a processor or a framework would take for a picture, or for the end of a turn

_PLACE = re.compile(r"<image>", re.IGNORECASE)
_MARK = re.compile(
    r"<(?=/?(?:image|video|audio|img|IMG_CONTEXT|image_soft_token|start-image|start_of_image|end_of_image"
    r"|fake_token_around_image|global-img|bbox|ref-object|cot-process|start_of_turn|end_of_turn|bos|eos|pad|s)>"
    r"|\|[^|<>\s]{1,40}\|>)"  # <|im_end|>, <|image_pad|>, ...
    r"|\[(?=/?(?:IMG|IMG_BREAK|IMG_END|INST)\])"
    r"|\{(?=\{(?:image|video|audio)\}\})",
    re.IGNORECASE,
)


def without_places(question: str, pictures: int) -> str:
    """A question without the marks `<image>` by which some data sets say where its pictures stand.

    Pictures are shown before the text. So the mark of a single one is dropped, but within a sentence, where it becomes
    `[picture]`; those of several say which one is meant: `[picture 1]`, `[picture 2]`, ...
    """
    if pictures > 1:
        number = itertools.count(1)
        return _PLACE.sub(lambda _: f"[picture {next(number)}]", question)
    lines = question.splitlines(keepends=True)
    pieces = _PLACE.split("".join(line for line in lines if _PLACE.sub("", line).strip() or not _PLACE.search(line)))
    first, last = 0, len(pieces)
    while first < last - 1 and not pieces[first].strip():
        first += 1
    while last - 1 > first and not pieces[last - 1].strip():
        last -= 1
    kept = pieces[first:last]
    if first:
        kept[0] = kept[0].lstrip()
    if last < len(pieces):
        kept[-1] = kept[-1].rstrip()
    return "[picture]".join(kept)


def broken_marks(text: str) -> str:
    """A text in which no processor finds the mark of a picture, or of a turn's end: a zero-width blank stands behind
    the mark's bracket. A row has as many pictures as paths, whatever its texts say.
    """
    return _MARK.sub(lambda mark: f"{mark[0]}\u200b", text)
