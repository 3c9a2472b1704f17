"""Everything that can be said about a table of one's own before a model is paid: `assay data check`."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from msgspec import Struct

from assay.benchmarks.base import Source
from assay.benchmarks.data import RowContext
from assay.benchmarks.own import Layout, convert, gold_reply, lay_out, mark
from assay.benchmarks.pictures import PictureStore
from assay.errors import DataError, ImageError, MarkError
from assay.images import ImageCache, Transform
from assay.types import Reply, Sample

SHOWN = 5  # rows that a sentence about duplicates names


class BadRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One problem of one row: where it is, what is wrong, what to do. A row may have several."""

    where: str
    problem: str
    remedy: str


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a table holds.

    Attributes:
        file, revision: what was read; `revision` as in the manifest of a run.
        rows: how many there are, lines that are no row included.
        good: rows without a problem.
        bad: every problem, in the order of the rows.
        facts: how the table was read, and what is odd but can be used (duplicates, rows without an answer).
        answer_types: type -> rows.
        facets: facet -> value -> rows.
        pictures: different files that the rows name.
    """

    file: str
    revision: str
    rows: int
    good: int
    bad: tuple[BadRow, ...]
    facts: tuple[str, ...]
    answer_types: dict[str, int]
    facets: dict[str, dict[str, int]]
    pictures: int


def check_own(name: str, source: Source, transform: Transform) -> Report:
    """Read all rows, open and prepare all pictures, mark each answer against itself.

    Raises:
        DataError, MissingExtra, UsageError: the table can't be read at all, or has no question or answer.
    """
    layout = lay_out(name, source)
    found = _Found()
    with _Pictures(transform) as pictures:
        for row in _rows(layout):
            found.rows += 1
            if isinstance(row, DataError):
                found.add_errors([row])
                continue
            sample, context = row
            errors = [*pictures.problems(sample, context), *found.double_id(sample, context)]
            if not _accepts_gold(sample):
                errors.append(
                    context.bad(
                        "has an answer that marking itself doesn't find right",
                        "Write the answer plainly, or give its type with --answer-type.",
                    )
                )
            found.add_errors(errors)
            found.add(sample, context, pictures.key(sample))
    if not found.rows:
        raise DataError(str(layout.table.files[0]), "holds no rows", "Give a file with questions.")
    return Report(
        file=str(layout.table.files[0]),
        revision=layout.table.revision,
        rows=found.rows,
        good=found.rows - found.bad_rows,
        bad=tuple(found.bad),
        facts=(*layout.facts, *found.facts(), *pictures.facts()),
        answer_types=dict(found.types),
        facets={facet: dict(counts.most_common()) for facet, counts in found.facets.items()},
        pictures=len(pictures),
    )


def _rows(layout: Layout) -> Iterator[tuple[Sample, RowContext] | DataError]:
    """Each row as a sample, or the error that keeps it from being one, in the order of the file."""
    store = PictureStore()
    broken: list[DataError] = []
    for row in layout.table.rows(broken.append):
        # What is broken before this row was found while this row was looked for.
        yield from broken
        broken.clear()
        context = RowContext(row.where, layout.table, store)
        try:
            sample = convert(layout, row.fields, context)
        except DataError as error:
            yield error
            continue
        yield sample, context
    yield from broken


def _accepts_gold(sample: Sample) -> bool:
    if sample.gold is None:
        return True
    try:
        return mark(sample, Reply(text=gold_reply(sample))).robust.verdict == "right"
    except MarkError:
        return False


class _Found:
    """What the rows hold, gathered one by one."""

    def __init__(self) -> None:
        self.rows = 0
        self.bad_rows = 0
        self.bad: list[BadRow] = []
        self.types: Counter[str] = Counter()
        self.facets: dict[str, Counter[str]] = {}
        self._notes: Counter[str] = Counter()
        self._ids: dict[str, str] = {}
        self._questions: dict[bytes, str] = {}
        self._again: list[str] = []

    def add_errors(self, errors: list[DataError]) -> None:
        self.bad_rows += bool(errors)
        self.bad += [BadRow(where=error.where, problem=error.problem, remedy=error.remedy) for error in errors]

    def double_id(self, sample: Sample, context: RowContext) -> list[DataError]:
        first = self._ids.setdefault(sample.id, context.where)
        if first == context.where:
            return []
        return [context.bad(f"has the id {sample.id!r} of {first}", "Give each question an id of its own.")]

    def add(self, sample: Sample, context: RowContext, pictures: str) -> None:
        self.types[sample.context["kind"]] += 1
        for facet, values in sample.facets.items():
            self.facets.setdefault(facet, Counter()).update(values)
        self._notes.update(context.notes)
        texts = [pictures, sample.question, *(option.text for option in sample.options)]
        key = hashlib.sha256("\0".join(texts).encode()).digest()
        first = self._questions.setdefault(key, context.where)
        if first != context.where:
            self._again.append(f"{context.where} is {first}")

    def facts(self) -> list[str]:
        facts = [f"{count:,} of {self.rows:,} rows {note}." for note, count in self._notes.items()]
        if self._again:
            more = "; ..." if len(self._again) > SHOWN else ""
            facts.append(
                f"{len(self._again):,} questions stand there before, with the same options and pictures "
                f"({'; '.join(self._again[:SHOWN])}{more})."
            )
        return facts


class _Pictures:
    """Every picture opened and prepared as a run does it, once."""

    def __init__(self, transform: Transform) -> None:
        self._transform = transform
        self._cache = ImageCache(folder=None, memory_bytes=0, workers=1)
        self._loop = asyncio.Runner()
        self._keys: dict[str, str] = {}  # path -> what identifies its content; empty where it can't be used
        self._faults: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cache.close()
        self._loop.close()

    def __len__(self) -> int:
        return len(self._keys)

    def problems(self, sample: Sample, context: RowContext) -> list[DataError]:
        for path in sample.images:
            if path not in self._keys:
                self._open(path)
        faults = [self._faults[path] for path in dict.fromkeys(sample.images) if path in self._faults]
        return [context.bad(fault, "Put the picture there, or mend the row's path.") for fault in faults]

    def _open(self, path: str) -> None:
        self._keys[path] = ""
        try:
            self._keys[path] = self._loop.run(self._cache.get(path, self._transform)).key
        except ImageError as error:
            self._faults[path] = f"has a picture that can't be used ({error.kind.replace('_', ' ')}): {error}"

    def key(self, sample: Sample) -> str:
        """What identifies the content of a sample's pictures; a missing one is known by its path."""
        return "\0".join(self._keys[path] or path for path in sample.images)

    def facts(self) -> list[str]:
        same = Counter(key for key in self._keys.values() if key)
        double = sum(count - 1 for count in same.values())
        return [f"{double:,} of {len(self):,} picture files are copies of another."] if double else []
