"""Training examples as files that trainers read: prompts as at test time, pictures beside them, rows held out.

    examples, chat rows -> checked, pictures put in place -> ties -> split -> one file a format and part -> card

An export is complete once it has its `card.json`, which is written last. One that was stopped is made by the same
command again; the result is the same.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.engine.lines import LineWriter
from assay.errors import DataError, ImageError, RunError, UsageError
from assay.solve.asking import prompt_hash
from assay.solve.generative import critique_message
from assay.train.chat import broken_marks, read_chat, without_places
from assay.train.export_card import Card, Input, PartCounts, markdown
from assay.train.export_pictures import Picture, PictureStore, can_compare
from assay.train.files import read_header, read_records, sha256_of, write_records
from assay.train.formats import FORMATS, PARTS, Format, Part, dataset_info, write_part
from assay.train.records import ChatRow, Dropped, Example
from assay.train.splits import NEAR, Split, near_pictures, split
from assay.train.wording import words
from assay.types import Message, TextPart

__all__ = ["MOST_NEAR", "SHARE", "ExportPlan", "chat_row", "export"]

SHARE = 0.05
"""Of the rows, held out (ours)."""

MOST_NEAR = 8
"""Bits beyond which hashes say little, and comparing them takes long."""

_BATCH = 64  # rows whose pictures are looked at together
_SPOOL = ".rows.part"
_INFO = "dataset_info.json"
_TOP = ("card.json", "card.md", "dropped.jsonl", _SPOOL)
_OURS = frozenset({*_TOP, *(f".{name}.part" for name in _TOP), "images", *FORMATS})


class ExportPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an export is made.

    Attributes:
        formats: what is written.
        share: of the rows that is held out, where `count` does not say how many.
        count: rows held out.
        seed: of the split.
        near: bits in which the perceptual hashes of pictures may differ that may not be in both parts; None: only
            pictures of equal content are taken for one.
        same_text: whether rows whose questions read the same are kept together, though their pictures differ.
        link: whether pictures are linked where that can be done, instead of copied.

    Raises:
        UsageError: a value out of range.
    """

    formats: tuple[Format, ...] = tuple(FORMATS)
    share: float = SHARE
    count: int | None = None
    seed: int = 0
    near: int | None = NEAR
    same_text: bool = True
    link: bool = True

    def __post_init__(self) -> None:
        if not self.formats:
            raise UsageError("An export needs at least one format.")
        if not 0 <= self.share < 1:
            raise UsageError(f"A share of {self.share} of the rows can't be held out; give 0 or more, below 1.")
        if self.near is not None and not 0 <= self.near <= MOST_NEAR:
            raise UsageError(f"Pictures are near that differ in 0 to {MOST_NEAR} bits, not {self.near}.")


def chat_row(example: Example) -> ChatRow:
    """What a generative critic is trained on: asked just as `solve.generative.GenerativeCritic` will ask it.

    Marks of pictures are taken out of the question (`without_places`) and broken elsewhere (`broken_marks`).
    """
    question = without_places(example.question, len(example.images))
    asked = Message(role="user", parts=(TextPart(text=question),))
    (prompt,) = (part for part in critique_message([asked], example.steps).parts if isinstance(part, TextPart))
    return ChatRow(
        id=example.id,
        group=example.group,
        images=example.images,
        prompt=broken_marks(prompt.text),
        completion=broken_marks(example.critique),
        labels=example.labels,
    )


def export(inputs: Sequence[Path], out: Path, plan: ExportPlan) -> Card:
    """Write an export of files of examples, and of files of chat rows, into a folder.

    Raises:
        UsageError: there is nothing to export, the folder holds something else, or every row is to be held out.
        DataError: an input is missing, or is no such file.
        RunError: the folder can't be written.
    """
    given = tuple(Input(name=path.name, kind=_kind(path), sha256=sha256_of(path)) for path in inputs)
    inside = next((path for path in inputs if path.resolve().is_relative_to(out.resolve())), None)
    if inside is not None:
        raise UsageError(f"{inside} lies in {out}, which is written anew. Give another folder to --out.")
    _claim(out)
    gathering = _Gathering(out, plan)
    try:
        asyncio.run(gathering.gather(inputs))
        card = _written(gathering, out, plan, given)
    finally:
        (out / _SPOOL).unlink(missing_ok=True)
    return card


def _claim(out: Path) -> None:
    """Make the folder ready: no card, and none of the files that a card stands for.

    Raises:
        UsageError: it holds what no export wrote.
        RunError: it can't be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        strange = sorted(path.name for path in out.iterdir() if path.name not in _OURS)
        if strange:
            raise UsageError(f"{out} holds {strange[0]!r}, which no export wrote. Give another folder to --out.")
        for name in _TOP:
            _remove(out / name)
        for form in FORMATS:
            for name in (*(f"{part}.jsonl" for part in PARTS), _INFO):
                _remove(out / form / name)
        (out / "images").mkdir(exist_ok=True)
    except OSError as cause:
        raise RunError(f"{out} can't be written: {cause.strerror or cause}.") from cause


def _remove(path: Path) -> None:
    """Remove a file, also where it was being written when an export was killed."""
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.part").unlink(missing_ok=True)


# --------------------------------------------------------------------------------------------------------------------
# Rows


class _Read(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row as it came: `question` is the text by which two rows ask the same."""

    where: str
    row: ChatRow
    question: str


def _kind(path: Path) -> str:
    """`examples` for a file of ours with a header, `chat` for chat rows.

    Raises:
        DataError: it can't be read, or is another file of ours.
    """
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as cause:
        raise DataError(str(path), f"can't be read ({cause.strerror})", "Give a file of examples.") from cause
    try:
        fields = msgspec.json.decode(first, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "chat"
    if "schema" not in fields:
        return "chat"
    read_header(path, "examples")
    return "examples"


def _rows(path: Path, tell: Callable[[DataError], None]) -> Iterator[_Read]:
    if _kind(path) == "chat":
        for row in read_chat(path, on_odd=tell):
            told = replace(row, prompt=broken_marks(row.prompt), completion=broken_marks(row.completion))
            yield _Read(where=str(path), row=told, question=row.prompt)
        return
    for example in read_records(path, "examples", Example, on_odd=tell):
        pictures = tuple(str(path.parent / image) for image in example.images)
        row = chat_row(msgspec.structs.replace(example, images=pictures))
        yield _Read(where=str(path), row=row, question=example.question)


class _Seen(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept in memory of a row: its place in the spool is its position."""

    id: str
    group: str
    question: str
    pictures: tuple[Picture, ...]
    wrong: bool | None


class _Gathering:
    """Reads the inputs, puts pictures in place, and spools what is left of the rows."""

    def __init__(self, out: Path, plan: ExportPlan) -> None:
        self.read = 0
        self.seen: list[_Seen] = []
        self.dropped: list[Dropped] = []
        self.compared = plan.near is not None and can_compare()
        self._ids: set[str] = set()
        self._spool = out / _SPOOL
        self.store = PictureStore(out / "images", link=plan.link, compare=self.compared)

    async def gather(self, inputs: Sequence[Path]) -> None:
        spool = LineWriter(self._spool)
        try:
            async for read, pictures in self._placed(inputs):
                names = tuple(f"images/{picture.name}" for picture in pictures)
                spool.append(replace(read.row, images=names))
                self.seen.append(_seen(read, pictures))
        finally:
            spool.close()
            self.store.close()

    def rows(self, wanted: Sequence[int]) -> Iterator[ChatRow]:
        """Rows by their positions, which ascend; the paths of their pictures start from a folder of the export."""
        decoder = msgspec.json.Decoder(ChatRow)
        positions = iter(wanted)
        at = next(positions, None)
        with self._spool.open("rb") as lines:
            for place, line in enumerate(lines):
                if place == at:
                    row = decoder.decode(line)
                    yield replace(row, images=tuple(f"../{image}" for image in row.images))
                    at = next(positions, None)

    async def _placed(self, inputs: Sequence[Path]) -> AsyncIterator[tuple[_Read, tuple[Picture, ...]]]:
        """The rows whose pictures are in place, in order."""
        for batch in _batches(self._sound(inputs)):
            found = await asyncio.gather(*(self._pictures(read) for read in batch))
            for read, pictures in zip(batch, found, strict=True):
                if isinstance(pictures, Dropped):
                    self.dropped.append(pictures)
                else:
                    yield read, pictures

    def _sound(self, inputs: Sequence[Path]) -> Iterator[_Read]:
        """The rows that have what a row needs, their pictures apart."""
        for path in inputs:
            for read in _rows(path, self._odd):
                self.read += 1
                row = read.row
                if row.id in self._ids:
                    self._drop(read, "duplicate_id", "an earlier row has the same id")
                elif not row.prompt.strip() or not row.completion.strip():
                    self._drop(read, "empty", f"the {'completion' if row.prompt.strip() else 'prompt'} is empty")
                else:
                    self._ids.add(row.id)
                    yield read

    async def _pictures(self, read: _Read) -> tuple[Picture, ...] | Dropped:
        try:
            return tuple([await self.store.place(image) for image in read.row.images])
        except ImageError as cause:
            return Dropped(id=read.row.id, where=read.where, kind=cause.kind, reason=str(cause))

    def _odd(self, odd: DataError) -> None:
        self.read += 1
        self.dropped.append(Dropped(id="", where=odd.where, kind="malformed", reason=odd.problem))

    def _drop(self, read: _Read, kind: str, reason: str) -> None:
        self.dropped.append(Dropped(id=read.row.id, where=read.where, kind=kind, reason=reason))


def _batches(reads: Iterator[_Read]) -> Iterator[list[_Read]]:
    batch: list[_Read] = []
    for read in reads:
        batch.append(read)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _seen(read: _Read, pictures: tuple[Picture, ...]) -> _Seen:
    labels = read.row.labels
    return _Seen(
        id=read.row.id,
        group=read.row.group,
        question=" ".join(words(read.question)),
        pictures=pictures,
        wrong=(False in labels) if labels else None,
    )


# --------------------------------------------------------------------------------------------------------------------
# Split and files


def _divided(seen: Sequence[_Seen], plan: ExportPlan, *, compared: bool) -> Split:
    looks = [picture.look for row in seen for picture in row.pictures if picture.look is not None]
    near: dict[int, int] = {}
    if compared and plan.near is not None:
        near = {look: looks[first] for look, first in zip(looks, near_pictures(looks, within=plan.near), strict=True)}
    keys: list[list[tuple[str, str | int]]] = []
    for row in seen:
        own: list[tuple[str, str | int]] = [("picture", picture.name) for picture in row.pictures]
        own += [("look", near[picture.look]) for picture in row.pictures if picture.look in near]
        own += [("group", row.group)] * bool(row.group)
        own += [("question", row.question)] * (plan.same_text and bool(row.question))
        keys.append(own)
    return split([row.id for row in seen], keys, _asked(plan, len(seen)), seed=plan.seed)


def _asked(plan: ExportPlan, rows: int) -> int:
    """Rows that are to be held out: of a share that is not 0, one at least where one can be spared."""
    if plan.count is not None:
        return plan.count
    return max(round(plan.share * rows), int(plan.share > 0 and rows > 1))


def _written(gathering: _Gathering, out: Path, plan: ExportPlan, given: tuple[Input, ...]) -> Card:
    settings = msgspec.to_builtins(plan)
    write_records(out / "dropped.jsonl", "dropped", gathering.dropped, settings=settings)
    seen = gathering.seen
    if not seen:
        raise UsageError(f"None of {gathering.read:,} rows can be exported; {out / 'dropped.jsonl'} says why.")
    divided = _divided(seen, plan, compared=gathering.compared)
    places: dict[Part, tuple[int, ...]] = {"train": divided.train, "held_out": divided.held_out}
    files: dict[str, str] = {}
    for form in plan.formats:
        for part in PARTS:
            path = write_part(out, form, part, gathering.rows(places[part]))
            files |= {} if path is None else {f"{form}/{path.name}": sha256_of(path)}
        if form == "llamafactory":
            _write(out / form / _INFO, dataset_info(part for part in PARTS if places[part]))
    gathering.store.remove_others()
    card = Card(
        made_by=f"assay {version('assay')}",
        inputs=given,
        settings=settings,
        prompt=prompt_hash("critic") if any(one.kind == "examples" for one in given) else None,
        read=gathering.read,
        kept=len(seen),
        dropped=dict(Counter(row.kind for row in gathering.dropped).most_common()),
        pictures=dict(Counter(gathering.store.how.values()).most_common()),
        compared=gathering.compared,
        parts={part: _counts([seen[place] for place in places[part]]) for part in PARTS},
        asked=_asked(plan, len(seen)),
        ties=divided.ties,
        largest_tie=divided.largest,
        files=files,
    )
    _write(out / "card.md", markdown(card).encode())
    _write(out / "card.json", msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")
    return card


def _counts(rows: Sequence[_Seen]) -> PartCounts:
    return PartCounts(
        rows=len(rows),
        wrong=sum(row.wrong is True for row in rows),
        clean=sum(row.wrong is False for row in rows),
        unlabelled=sum(row.wrong is None for row in rows),
        pictures=len({picture.name for row in rows for picture in row.pictures}),
        without_pictures=sum(not row.pictures for row in rows),
    )


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as cause:
        raise RunError(f"{path} can't be written: {cause.strerror or cause}.") from cause
