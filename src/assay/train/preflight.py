"""Every row is looked at before a step is paid: its tokens, its pictures, and what the loss falls on.

A row becomes the tokens that the model is asked with at test time, the completion's, and what ends a turn:

    <|im_start|>user ... <|im_end|>  <|im_start|>assistant  Step 1 ... End of critique  <|im_end|>
    ---------------------- no loss ----------------------   -------------- loss ---------------

Nothing is ever cut: of a row without its end a critic would not learn to end, and of one without its picture it would
learn to judge blindly. A row that is too long is refused, or left out as a whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, UsageError
from assay.models.local_checkpoint import Checkpoint, library
from assay.models.local_prompt import Prompter
from assay.train.pictures import Picture, Pictures
from assay.train.records import ChatRow
from assay.types import ImagePart, Message, Request, TextPart

Integers = NDArray[np.int32]
Floats = NDArray[np.float32]

_CHUNK = 1024  # rows that are tokenized together
_SHOWN = 5  # rows that a message lists

VERDICT = re.compile(r"^(?:Judgement:|(?:Image|Logic):.*\|)[ \t]*(Correct|Incorrect)\b", re.MULTILINE)
"""The words in which a critique passes its verdicts (`solve.critique_format`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A row in tokens.

    Attributes:
        row: as it was read.
        ids: all tokens, pictures' included.
        start: the first one that the loss falls on; it falls on all that follow.
        weights: of the loss of those; None where all are 1.
        types: further values per token, for checkpoints that have such.
        positions: positions in three dimensions (3, tokens), for checkpoints that have such.
        pictures: tokens that are embeddings of pictures.
    """

    row: ChatRow
    ids: Integers
    start: int
    weights: Floats | None
    types: dict[str, NDArray[Any]]
    positions: NDArray[Any] | None
    pictures: int

    @property
    def trained(self) -> int:
        """Tokens that the loss falls on."""
        return len(self.ids) - self.start


@dataclass(kw_only=True)
class Found:
    """What the rows of a file became. `refused`: kind of problem -> the rows that have it, with the particulars."""

    rows: list[Prepared] = field(default_factory=list["Prepared"])
    refused: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def refuse(self, kind: str, row: ChatRow, particulars: str) -> None:
        self.refused.setdefault(kind, []).append(f"{row.id} ({particulars})")


class _Odd(Exception):
    """A row can't be trained on: the kind of problem, and the particulars."""

    def __init__(self, kind: str, particulars: str) -> None:
        super().__init__(kind, particulars)
        self.kind = kind
        self.particulars = particulars


class PreFlight:
    """Prepares rows for one checkpoint.

    Args:
        checkpoint: what is trained.
        pictures: the pictures of all rows.
        max_length: tokens that a row may have.
        verdict_weight: see `Recipe`.

    Raises:
        UsageError: the checkpoint's template can't be used, or it has no mark for the end of a turn.
    """

    def __init__(
        self, checkpoint: Checkpoint, pictures: Pictures, *, max_length: int, verdict_weight: float = 1.0
    ) -> None:
        self._checkpoint = checkpoint
        self._tokenizer = checkpoint.tokenizer
        self._pictures = pictures
        self._most = max_length if checkpoint.context is None else min(max_length, checkpoint.context)
        self._weight = verdict_weight
        self._prompter = Prompter(checkpoint)
        self._end = self._find_end()
        self._positions = Positions(checkpoint.model)

    def prepare(self, rows: Sequence[ChatRow]) -> Found:
        """Look at every row."""
        found = Found()
        for row in _repeated(rows):
            found.refuse("the id is there twice", row, "ids are unique within a file")
        for start in range(0, len(rows), _CHUNK):
            self._prepare(rows[start : start + _CHUNK], found)
        return found

    def _prepare(self, rows: Sequence[ChatRow], found: Found) -> None:
        asked: list[tuple[ChatRow, str]] = []
        for row in rows:
            try:
                asked.append((row, self._prompt(row)))
            except _Odd as odd:
                found.refuse(odd.kind, row, odd.particulars)
        if not asked:
            return
        prompts = [prompt for _, prompt in asked]
        alone = self._tokenize(prompts)["input_ids"]
        whole = self._tokenize([prompt + row.completion for row, prompt in asked], return_offsets_mapping=True)
        for (row, prompt), before, ids, places in zip(
            asked, alone, whole["input_ids"], whole["offset_mapping"], strict=True
        ):
            try:
                found.rows.append(self._row(row, len(prompt), before, ids, places))
            except _Odd as odd:
                found.refuse(odd.kind, row, odd.particulars)

    def _prompt(self, row: ChatRow) -> str:
        """The text that the model is asked with."""
        if not row.completion.strip():
            raise _Odd("nothing to train on", "the completion is empty")
        pictures = [ImagePart(key=path, media_type="", width=0, height=0, data=b"") for path in row.images]
        message = Message(role="user", parts=(*pictures, TextPart(text=row.prompt)))
        try:
            for path in row.images:
                self._pictures.find(path)
        except AssayError as cause:
            raise _Odd("a picture can't be read", str(cause)) from cause
        try:
            return self._prompter.text(Request(messages=(message,)))
        except AssayError as cause:
            raise _Odd("the checkpoint can't be asked that", str(cause)) from cause

    def _tokenize(self, texts: list[str], **options: Any) -> Any:
        bos: str | None = self._tokenizer.bos_token
        # As at test time: most templates write the beginning-of-text token themselves.
        return self._tokenizer(texts, add_special_tokens=not (bos and texts[0].startswith(bos)), **options)

    def _row(
        self, row: ChatRow, border: int, before: list[int], ids: list[int], places: list[tuple[int, int]]
    ) -> Prepared:
        """`border`: the character at which the completion begins; `before`: the prompt's tokens alone."""
        if ids[: len(before)] != before:
            raise _Odd("a token spans prompt and completion", "the model would never be asked so; move the blanks")
        pictures = [self._pictures.find(path) for path in row.images]
        prompt, types, embeddings = self._expand(before, pictures)
        weights = None
        if self._weight != 1 and (words := [match.span(1) for match in VERDICT.finditer(row.completion)]):
            weights = self._weigh(words, [(a - border, b - border) for a, b in places[len(before) :]])
        whole = np.array([*prompt, *ids[len(before) :], *self._end], dtype=np.int32)
        if len(whole) > self._most:
            raise _Odd("too long", f"{len(whole):,} tokens, limit {self._most:,}")
        if (
            self._checkpoint.processor is not None
            and (seen := int((whole == self._pictures.place).sum())) != embeddings
        ):
            raise _Odd("pictures don't fit their places", f"{seen} tokens for {embeddings} embeddings")
        types = {name: np.pad(values, (0, len(whole) - len(prompt))) for name, values in types.items()}
        return Prepared(
            row=row,
            ids=whole,
            start=len(prompt),
            weights=weights,
            types=types,
            positions=self._positions.of(whole, types, [picture.grid for picture in pictures]),
            pictures=embeddings,
        )

    def _expand(self, ids: list[int], pictures: Sequence[Picture]) -> tuple[list[int], dict[str, NDArray[Any]], int]:
        """A prompt with the tokens of its pictures, further values per token, and how many embeddings it holds."""
        if not pictures:
            return ids, {}, 0
        places = [at for at, token in enumerate(ids) if token == self._pictures.place]
        if len(places) != len(pictures):
            raise _Odd("pictures don't fit their places", f"{len(places)} places for {len(pictures)} pictures")
        expanded: list[int] = []
        values: dict[str, list[int]] = {name: [] for name in pictures[0].types}
        last = 0
        for place, picture in zip(places, pictures, strict=True):
            expanded += ids[last:place] + picture.ids.tolist()
            for name, known in values.items():
                known += [0] * (place - last) + picture.types[name].tolist()
            last = place + 1
        expanded += ids[last:]
        types = {name: np.array(known + [0] * (len(ids) - last), dtype=np.int8) for name, known in values.items()}
        return expanded, types, sum(picture.features for picture in pictures)

    def _weigh(self, words: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> Floats:
        """Weights of the completion's tokens and of those that end the turn."""
        weights = np.ones(len(places) + len(self._end), dtype=np.float32)
        for at, (start, end) in enumerate(places):
            if any(start < last and first < end for first, last in words):
                weights[at] = self._weight
        return weights

    def _find_end(self) -> list[int]:
        ids: list[int] = self._tokenizer.encode(self._prompter.after_reply(), add_special_tokens=False)
        at = next((at for at, token in enumerate(ids) if token in self._checkpoint.ends), None)
        if at is not None:
            return ids[: at + 1]
        if self._tokenizer.eos_token_id is None:
            raise UsageError("The checkpoint has no token that ends a turn, so none can be learned.")
        return [self._tokenizer.eos_token_id]


class Positions:
    """Positions in three dimensions, of checkpoints that have such.

    The model would work them out at every step, row by row. They depend on where which pictures stand, and rows differ
    little in that, so that few have to be worked out; those of a shorter row are the beginning of a longer one's.
    """

    def __init__(self, model: Any) -> None:
        self._index: Any = getattr(getattr(model, "model", None), "get_rope_index", None)
        self._known: dict[tuple[Any, ...], NDArray[Any]] = {}

    def of(
        self, ids: Integers, types: dict[str, NDArray[Any]], grids: Sequence[tuple[int, ...]]
    ) -> NDArray[Any] | None:
        """An array (3, tokens); None where the checkpoint has plain positions."""
        if self._index is None:
            return None
        kinds = types.get("mm_token_type_ids")
        if kinds is None:
            kinds = np.zeros(len(ids), dtype=np.int8)
        changes = np.flatnonzero(np.diff(kinds, prepend=0))
        layout = (*changes.tolist(), *grids)
        known = self._known.get(layout)
        if known is None or known.shape[1] < len(ids):
            known = self._known[layout] = self._work_out(ids, kinds, grids)
        return known[:, : len(ids)]

    def _work_out(self, ids: Integers, kinds: NDArray[Any], grids: Sequence[tuple[int, ...]]) -> NDArray[Any]:
        torch = library("torch")
        behind = len(ids)  # further text, for longer rows that begin alike
        positions, _ = self._index(
            input_ids=torch.from_numpy(np.pad(ids.astype(np.int64), (0, behind)))[None],
            mm_token_type_ids=torch.from_numpy(np.pad(kinds.astype(np.int64), (0, behind)))[None],
            image_grid_thw=torch.tensor(grids) if grids else None,
        )
        return positions[:, 0].to(torch.int32).numpy()


def _repeated(rows: Sequence[ChatRow]) -> Iterator[ChatRow]:
    known: set[str] = set()
    for row in rows:
        if row.id in known:
            yield row
        known.add(row.id)
