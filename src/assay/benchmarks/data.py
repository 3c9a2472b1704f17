"""From rows to a checked `Dataset`: what every benchmark's `open` shares.

A benchmark brings a converter, `Callable[[dict, RowContext], Sample]`, and its own `mark` and `gold_reply`;
everything else is here: pictures as paths, one checking pass at the start, facts for the reader, streaming.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from assay.benchmarks.pictures import PictureStore
from assay.benchmarks.tables import Table
from assay.errors import DataError, MarkError
from assay.types import ChoiceGold, Marked, Reply, Sample

SHOWN = 5  # bad rows and ids that a message names


class RowContext:
    """What a converter may ask and tell about the row it converts.

    Attributes:
        where: names the row in messages.
        notes: what the converter noted.
    """

    def __init__(self, where: str, table: Table, pictures: PictureStore) -> None:
        self.where = where
        self.notes: list[str] = []
        self._table = table
        self._pictures = pictures

    @property
    def editable(self) -> bool:
        """Whether the user can mend the row (a JSONL file) or not (a published parquet file)."""
        return self._table.editable

    def note(self, fact: str) -> None:
        """Record a fact about this row, as the rest of the sentence `3 of 90 rows ...`: "have no answer"."""
        self.notes.append(fact)

    def bad(self, problem: str, remedy: str) -> DataError:
        """The error to raise for a row that can't be used."""
        return DataError(self.where, problem, remedy)

    def picture(self, value: object) -> str:
        """The path of a picture, whichever way the row holds it: a path, bytes, or the hub's {bytes, path}.

        A relative path starts from the table's folder. Whether the file is there is checked later.
        """
        if isinstance(value, Mapping):
            held = cast("Mapping[str, object]", value)
            value = held.get("bytes") or held.get("path")
        if isinstance(value, bytes | bytearray):
            return str(self._pictures.put(bytes(value)))
        if isinstance(value, str) and value:
            return str((self._table.folder / value).absolute())
        raise self.bad(f"holds a picture as {type(value).__name__}", "A picture is a path, bytes, or {bytes, path}.")


Convert = Callable[[dict[str, Any], RowContext], Sample]
MarkReply = Callable[[Sample, Reply], Marked]


_MOST_HELD = 4096
"""Samples that are held once they are converted, some 2 KB each; larger tables are read again instead."""


class RowsDataset:
    """The samples of one table. Those of a large one are converted row by row whenever they are iterated.

    See `Dataset`.
    """

    def __init__(self, table: Table, convert: Convert, split: str, store: PictureStore) -> None:
        self._table = replace(table, folder=table.folder.absolute())  # once, not for every picture
        self._convert = convert
        self._store = store
        self._length = 0
        self._held: tuple[Sample, ...] | None = None
        self.split = split
        self.revision = table.revision
        self.facts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Sample]:
        if self._held is not None:
            yield from self._held
            return
        for sample, _ in self.converted():
            yield sample

    def converted(self) -> Iterator[tuple[Sample, RowContext]]:
        """Samples with the context that they were made in."""
        for row in self._table:
            context = RowContext(row.where, self._table, self._store)
            yield self._convert(row.fields, context), context

    def check(self, mark: MarkReply, gold_reply: Callable[[Sample], str], need_pictures: bool) -> None:
        """The pass at the start; fills in the length and the facts. See `rows_dataset`."""
        facts = _Facts()
        bad = _BadRows(str(self._table.files[0]))
        hashes = array("q")  # 8 bytes a row, so that a million rows stay small
        held: list[Sample] = []
        for row in self._table.rows(bad.add):
            context = RowContext(row.where, self._table, self._store)
            try:
                sample = self._convert(row.fields, context)
                _check_pictures(sample, context, need_pictures)
                _check_gold(sample, context)
            except DataError as error:
                bad.add(error)
                continue
            hashes.append(hash(sample.id))
            if len(hashes) <= _MOST_HELD:
                held.append(sample)
            if sample.gold is not None and not _accepts_gold(sample, mark, gold_reply):
                context.note("have an answer that the grader itself does not accept")
            facts.add(sample.id, context.notes)
        bad.raise_if_any()
        if any(a == b for a, b in pairwise(sorted(hashes))):
            self._raise_duplicate()
        self._length = len(hashes)
        self._held = tuple(held) if len(held) == len(hashes) else None
        if not self._length:
            raise DataError(str(self._table.files[0]), "holds no rows", "Give a file with questions.")
        self.facts = facts.sentences(self._length)

    def _raise_duplicate(self) -> None:
        seen: dict[str, str] = {}
        for sample, context in self.converted():
            if sample.id in seen:
                raise DataError(
                    context.where,
                    f"has the id {sample.id!r} of {seen[sample.id]}",
                    "Give each question an id of its own.",
                )
            seen[sample.id] = context.where


def rows_dataset(
    table: Table,
    convert: Convert,
    *,
    split: str,
    mark: MarkReply,
    gold_reply: Callable[[Sample], str],
    need_pictures: bool = True,
    store: PictureStore | None = None,
) -> RowsDataset:
    """The checked data set of one table.

    One pass over all rows when opened: ids are unique, pictures are there (unless `need_pictures` is off:
    recorded replies can be marked without them), a choice's gold is among its options, and the grader accepts
    its own gold in `robust`. Rows whose gold the grader refuses are a fact, not an error: real data has some.

    Raises:
        DataError: naming the row, or the first five of several and their number.
    """
    dataset = RowsDataset(table, convert, split, store or PictureStore())
    dataset.check(mark, gold_reply, need_pictures)
    return dataset


def _check_pictures(sample: Sample, context: RowContext, needed: bool) -> None:
    missing = [path for path in sample.images if not Path(path).is_file()]
    if missing and needed:
        raise context.bad(
            f"names the picture {missing[0]}, which is not there", "Put it there, or mend the row's path."
        )
    if missing:
        context.note("name a picture that is not there")


def _check_gold(sample: Sample, context: RowContext) -> None:
    if not isinstance(sample.gold, ChoiceGold) or not sample.options:
        return
    labels = [option.label for option in sample.options]
    outside = [label for label in sample.gold.labels if label not in labels]
    if outside:
        raise context.bad(
            f"has the answer {', '.join(outside)}, which is not among its options {', '.join(labels)}",
            "Mend the row's answer or its options.",
        )


def _accepts_gold(sample: Sample, mark: MarkReply, gold_reply: Callable[[Sample], str]) -> bool:
    try:
        return mark(sample, Reply(text=gold_reply(sample))).robust.verdict == "right"
    except MarkError:
        return False


class _Facts:
    """Counts what the converter noted, with the first few ids of each kind."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._ids: dict[str, list[str]] = {}

    def add(self, sample_id: str, notes: list[str]) -> None:
        for note in notes:
            self._counts[note] += 1
            ids = self._ids.setdefault(note, [])
            if len(ids) < SHOWN:
                ids.append(sample_id)

    def sentences(self, total: int) -> tuple[str, ...]:
        return tuple(
            f"{count} of {total} rows {note}{self._which(note, count, total)}." for note, count in self._counts.items()
        )

    def _which(self, note: str, count: int, total: int) -> str:
        if count == total:
            return ""
        more = ", ..." if count > SHOWN else ""
        return f" (ids {', '.join(self._ids[note])}{more})"


class _BadRows:
    """Collects the errors of single rows, so that a user sees how many there are at once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._first: list[DataError] = []
        self._count = 0

    def add(self, error: DataError) -> None:
        self._count += 1
        if len(self._first) < SHOWN:
            self._first.append(error)

    def raise_if_any(self) -> None:
        if self._count == 1:
            raise self._first[0]
        if self._count:
            listed = "; ".join(f"{error.where} {error.problem}" for error in self._first)
            remedies = " ".join(dict.fromkeys(error.remedy for error in self._first))
            which = "all" if self._count <= SHOWN else f"the first {SHOWN}"
            raise DataError(self._file, f"{self._count} rows can't be used ({which}: {listed})", remedies)
