"""Recorded replies on disk, found by sample id and draw.

Three forms are read:

- JSON Lines written by anybody: one object a row with an id and a reply's text, optionally `index` (the draw),
  `finish` or `finish_reason`, `reasoning` or `reasoning_content`, `extracted` (the text is an extracted answer),
  `extraction` or `extracted_answer` (an extracted answer beside the text). Several rows of one id are its draws
  0, 1, 2, ... in file order unless they say otherwise. A null (or NaN, or absent) text means that there is no reply;
  an empty text is a reply that says nothing.
- JSON Lines written by `assay.models.replay.RecordingModel`: `id`, `index`, `key` (the request's key), `identity`
  (the model's) and `reply`, a whole `Reply`. One sample may have several replies of a draw, to different requests.
- A former run's folder, through its `replies.sqlite`.

Only positions are held in memory, about 200 bytes a reply; texts are read when asked for. This module is the index;
`recorded_lines` and `recorded_run` read the files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from assay.errors import DataError
from assay.types import Reply

# A reply that is nothing but an extracted answer is short: a label, a number, a small expression.
_BARE_LENGTH = 40


class Rows(Protocol):
    """Where the rows lie. Rows are numbered from 0 in the order in which they were added."""

    def reply(self, number: int) -> Reply | None: ...

    def key(self, number: int) -> str | None: ...

    def where(self, number: int) -> str:
        """Name of a row for messages."""
        ...

    def close(self) -> None: ...


class RecordedReplies:
    """Replies by sample id and draw; made by `assay.models.replay.read_replies`.

    Attributes:
        digest: SHA-256 over the content, hexadecimal.
        foreign: SHA-256 over the rows without a request key, None where every row has one.
        identity: the model that gave the replies, where the recording says so.
        looks_extracted: whether every reply is a bare token (no white space, no "answer", no box, at most 40
            characters): such a file holds answers that somebody already extracted, not replies.
        extractions: how many replies have an extracted answer beside their text.
    """

    def __init__(self, path: Path, rows: Rows) -> None:
        self.path = path
        self.digest = ""
        self.foreign: str | None = None
        self.identity: str | None = None
        self.looks_extracted = False
        self.extractions = 0
        self._rows = rows
        self._first: dict[str, int] = {}  # sample id -> row of draw 0
        self._more: dict[tuple[str, int], int] = {}  # the other draws
        self._same: dict[tuple[str, int], list[int]] = {}  # further rows of one draw: replies to other requests
        self._count: dict[str, int] = {}  # rows of an id, where that isn't the one in `_first`

    def __len__(self) -> int:
        """Number of (sample, draw) pairs."""
        return len(self._first) + len(self._more)

    def __contains__(self, sample_id: object) -> bool:
        return sample_id in self._first or sample_id in self._count

    def ids(self) -> Iterator[str]:
        """Every sample id once, in file order as far as draws 0 go."""
        yield from self._first
        yield from (sample_id for sample_id in self._count if sample_id not in self._first)

    def draws(self, sample_id: str) -> int:
        """How many rows a sample has, null ones included."""
        return self._count.get(sample_id, 1 if sample_id in self._first else 0)

    def get(self, sample_id: str, index: int = 0, *, key: str | None = None) -> Reply | None:
        """The reply of one draw, or None where there is no row or its text is null.

        `key` chooses among replies of the same draw to different requests.

        Raises:
            DataError: the draw has several replies and `key` fits none of them.
        """
        numbers = self._numbers(sample_id, index)
        if not numbers:
            return None
        if len(numbers) == 1:
            return self._rows.reply(numbers[0])
        for number in numbers:
            if key is not None and self._rows.key(number) == key:
                return self._rows.reply(number)
        raise DataError(
            self._rows.where(numbers[0]),
            f"sample {sample_id} has {len(numbers)} replies of draw {index}, to different requests",
            "Replay it with the model, prompts and sampling of the recording",
        )

    def find(self, sample_id: str, index: int, key: str) -> Reply | None:
        """As `get`, but a row that carries a request key answers only that very request."""
        for number in self._numbers(sample_id, index):
            if self._rows.key(number) in (None, key):
                return self._rows.reply(number)
        return None

    def close(self) -> None:
        """Close the file. Calling it twice is allowed."""
        self._rows.close()

    def without_draw_0(self) -> int:
        """How many samples have rows, but none for draw 0."""
        return sum(sample_id not in self._first for sample_id in self._count)

    def add(self, number: int, sample_id: str, index: int | None, key: str | None) -> None:
        """Take up row `number`; `index` None means the sample's next draw.

        Raises:
            DataError: the same draw twice without keys that tell the requests apart.
        """
        count = self.draws(sample_id)
        index = count if index is None else index
        others = self._numbers(sample_id, index)
        for other in others:
            known = self._rows.key(other)
            if key is None or known is None or key == known:
                raise DataError(
                    self._rows.where(number),
                    f"a second row for sample {sample_id}, draw {index}; the first is {self._rows.where(other)}",
                    "Keep one of them, or number the draws with `index`",
                )
        if others:
            self._same.setdefault((sample_id, index), []).append(number)
        elif index == 0:
            self._first[sample_id] = number
        else:
            self._more[sample_id, index] = number
        if count or index:
            self._count[sample_id] = count + 1

    def _numbers(self, sample_id: str, index: int) -> list[int]:
        first = self._first.get(sample_id) if index == 0 else self._more.get((sample_id, index))
        return [] if first is None else [first, *self._same.get((sample_id, index), ())]


class Bareness:
    """Whether all replies seen so far are bare tokens; empty ones don't count either way."""

    def __init__(self) -> None:
        self._seen = False
        self._all = True

    def see(self, reply: Reply | None) -> None:
        if reply is None or not (text := reply.text.strip()):
            return
        self._seen = True
        lower = text.lower()
        self._all = self._all and not (
            len(text) > _BARE_LENGTH
            or any(map(str.isspace, text))
            or "answer" in lower
            or "\\boxed" in lower
            or bool(reply.reasoning)
        )

    @property
    def verdict(self) -> bool:
        return self._seen and self._all
