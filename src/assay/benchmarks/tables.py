"""Where a benchmark's rows come from: JSONL, JSON, CSV or parquet files, or a data set on the hub.

Rows are streamed; a table is read anew whenever it is iterated, and nothing but the current batch is held (of a JSON
file, which is one value, all of it).
"""

import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from assay.errors import DataError, MissingExtra, UsageError

PARQUET_BATCH = 64  # rows; one batch of FinMME's charts is about 3 MB
MAX_CELL = 2**27  # characters of a cell of a CSV file, which may be a picture in base64


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row as it lies in the file; `where` names it.

    `rows.jsonl:17` (the line), `train.parquet: row 17`, `rows.csv: row 17 (line 21)` (rows are counted without header).
    """

    where: str
    fields: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The question files of one split, read one after the other.

    Attributes:
        files: all of one kind, by their extension: .jsonl, .json, .csv, .tsv or .parquet.
        folder: what relative picture paths in the rows start from.
        revision: the hub's commit, or the SHA-256 over the files.
        expand: turns what lies in the files into the benchmark's rows, e.g. a context into one row per question.
    """

    files: tuple[Path, ...]
    folder: Path
    revision: str
    expand: Callable[[Row], Iterable[Row]] | None = None

    @property
    def editable(self) -> bool:
        """Whether a user can be asked to mend a row: text files yes, parquet files no."""
        return all(file.suffix != ".parquet" for file in self.files)

    def __iter__(self) -> Iterator[Row]:
        return self.rows(_refuse)

    def rows(self, on_bad: "OnBad") -> Iterator[Row]:
        """The rows; each line of a text file that is no row goes to `on_bad`, and reading goes on after it.

        Raises:
            DataError: for a file that can't be read at all.
        """
        for file in self.files:
            rows = _READERS[file.suffix](file, on_bad)
            yield from rows if self.expand is None else (part for row in rows for part in self.expand(row))


OnBad = Callable[[DataError], None]


def _refuse(error: DataError) -> None:
    raise error


def local_table(data: Path, split: str, *, names: Sequence[str] = ()) -> Table:
    """The table of `split` at `data`: a `.jsonl`, `.json`, `.csv`, `.tsv` or `.parquet` file itself, or a folder.

    In a folder the first of these that exists is taken, for `split` and then each of `names`: `NAME.jsonl`,
    `NAME.json`, `NAME.parquet`, `NAME-*.parquet`, each of them also in `data/` (the hub's layout, and that of many
    repositories; pictures start from there if `data/images/` exists, else from the folder itself).

    Raises:
        DataError: for a path that isn't there, another kind of file, or a folder that holds none of these.
    """
    if data.is_file():
        if data.suffix not in _READERS:
            raise DataError(str(data), f"is not {KINDS}", "Give a file of one of these kinds.")
        return Table(files=(data,), folder=data.parent, revision=hash_files((data,)))
    if not data.is_dir():
        raise DataError(str(data), "is not there", "Give the file or folder that holds the questions.")
    for name in (split, *names):
        files = _files_called(data, name)
        if files:
            beside = files[0].parent
            folder = beside if (beside / "images").is_dir() else data
            return Table(files=files, folder=folder, revision=hash_files(files))
    wanted = " or ".join(f"{name}.jsonl, {name}.json, {name}.parquet, {name}-*.parquet" for name in (split, *names))
    there = sorted(path.name for path in data.iterdir() if path.suffix in _READERS)
    raise DataError(
        str(data),
        f"holds no {wanted}",
        f"Choose another split or name the file itself; there is {', '.join(there[:8]) or 'no such file'}.",
    )


def _files_called(folder: Path, name: str) -> tuple[Path, ...]:
    for place in (folder, folder / "data"):
        for suffix in (".jsonl", ".json", ".parquet"):
            if (place / f"{name}{suffix}").is_file():
                return (place / f"{name}{suffix}",)
        shards = tuple(sorted(place.glob(f"{name}-*.parquet")))
        if shards:
            return shards
    return ()


def hub_table(repository: str, split: str, *, revision: str | None = None) -> Table:
    """The parquet files of `split` of a data set on the hub, fetched into the hub's own cache.

    Raises:
        MissingExtra, UsageError: see `hub_folder`.
        DataError: there are no such files.
    """
    patterns = [f"{place}{split}{end}" for place in ("", "data/") for end in (".parquet", "-*.parquet")]
    folder = hub_folder(repository, patterns, revision=revision)
    files = _files_called(folder, split)
    if not files:
        raise DataError(repository, f"has no parquet files of a split {split!r}", "Choose another split.")
    return Table(files=files, folder=folder, revision=folder.name)


def hub_folder(repository: str, patterns: Sequence[str], *, revision: str | None = None) -> Path:
    """The files of a data set on the hub that match, in the hub's own cache; the folder is named after the commit.

    Raises:
        MissingExtra: without the packages of the extra `hub`.
        UsageError: where the data set can't be fetched and isn't in the cache either.
    """
    try:
        hub: Any = import_module("huggingface_hub")
        errors: Any = import_module("huggingface_hub.errors")
    except ImportError as cause:
        raise MissingExtra(f"reading {repository} from the hub", "hub") from cause
    try:
        return Path(
            hub.snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=list(patterns))
        )
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError, *_transport_errors()) as cause:
        reason = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
        raise UsageError(
            f"{repository} can't be fetched from the hub ({reason}). "
            "Fetch it where there is a network, and give its folder with --data."
        ) from cause


def _transport_errors() -> tuple[type[Exception], ...]:
    """What a cut download raises: the hub's library speaks through httpx (through requests, an OSError, before 1.0)."""
    httpx: Any = sys.modules.get("httpx")
    return (httpx.HTTPError,) if httpx else ()


def hash_files(files: Sequence[Path]) -> str:
    """SHA-256 of one file, or over the names and digests of several; hexadecimal."""
    digests: list[str] = []
    for path in files:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    if len(files) == 1:
        return digests[0]
    listing = "".join(f"{path.name} {digest}\n" for path, digest in zip(files, digests, strict=True))
    return hashlib.sha256(listing.encode()).hexdigest()


def read_jsonl(path: Path, on_bad: OnBad = _refuse) -> Iterator[Row]:
    """The rows of a JSONL file; blank lines are skipped.

    A line that isn't a JSON object goes to `on_bad`, with its number; by default that raises it.

    Raises:
        DataError: for a file that can't be read.
    """
    try:
        file = path.open("rb")
    except OSError as cause:
        raise DataError(
            str(path), f"can't be read ({cause.strerror})", "Give a file that is there and readable."
        ) from cause
    with file:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
            if not text:
                continue
            where = f"{path.name}:{number}"
            try:
                fields = _decode(text, where)
            except DataError as error:
                on_bad(error)
                continue
            yield Row(where=where, fields=fields)


def read_json(path: Path) -> Iterator[Row]:
    """The rows of a JSON file: a list of objects, counted from 1, or an object of objects, named by their keys.

    An object's key becomes the field `key` of its row, unless the row has one.

    Raises:
        DataError: for a file that can't be read, or that is neither.
    """
    remedy = "The file must hold a list of JSON objects in UTF-8."
    try:
        content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as cause:
        raise DataError(str(path), f"can't be read ({cause.strerror})", "Give a file that is there.") from cause
    value = _parse(content, str(path), remedy)
    if isinstance(value, dict):
        for key, row in cast("dict[str, object]", value).items():
            where = f"{path.name}: {key}"
            yield Row(where=where, fields={"key": key, **_object(row, where, remedy)})
    elif isinstance(value, list):
        for number, row in enumerate(cast("list[object]", value), start=1):
            where = f"{path.name}: row {number}"
            yield Row(where=where, fields=_object(row, where, remedy))
    else:
        raise DataError(str(path), f"is a JSON {type(value).__name__}, not a list of objects", remedy)


def _decode(line: bytes, where: str) -> dict[str, Any]:
    remedy = "Each line must be one JSON object in UTF-8."
    return _object(_parse(line, where, remedy), where, remedy)


def _parse(text: bytes, where: str, remedy: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Python writes NaN into JSON files, which strict JSON doesn't know.
        try:
            value: object = json.loads(text)
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no character
            return value
        except (ValueError, RecursionError) as cause:
            raise DataError(where, f"is not valid JSON ({_shorten(str(cause))})", remedy) from cause


def _object(value: object, where: str, remedy: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(where, f"is a JSON {type(value).__name__}, not an object", remedy)
    return cast("dict[str, Any]", value)  # JSON objects have string keys


def read_csv(path: Path, on_bad: OnBad = _refuse) -> Iterator[Row]:
    """The rows of a CSV file with a header: every cell a text, without the blanks around it.

    Cells are separated by tabs in a `.tsv` file, else by whichever of comma, semicolon and tab the header has most of.
    Cells with line breaks stand in double quotes. Blank lines are skipped. A row that has more or fewer cells than the
    header, or broken quotes, goes to `on_bad`.

    Raises:
        DataError: for a file that can't be read, isn't UTF-8, or has no usable header.
    """
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _csv_rows(path.name, csv.reader(file, delimiter=_delimiter(path), strict=True), on_bad)
    except OSError as cause:
        raise DataError(str(path), f"can't be read ({cause.strerror})", "Give a file that is there.") from cause
    except UnicodeDecodeError as cause:
        raise DataError(str(path), "is not UTF-8 text", "Save it as UTF-8 (in a spreadsheet: CSV UTF-8).") from cause


def _delimiter(path: Path) -> str:
    if path.suffix == ".tsv":
        return "\t"
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
    return max(",;\t", key=header.count)


def _csv_rows(name: str, lines: "_CsvReader", on_bad: OnBad) -> Iterator[Row]:
    header: list[str] = []
    number = 0
    while True:
        first_line = lines.line_num + 1
        try:
            cells = next(lines, None)
        except csv.Error as cause:
            number += 1
            on_bad(
                DataError(
                    f"{name}: row {number} (line {first_line})",
                    f"is not valid CSV ({cause})",
                    'Put a cell with quotes or line breaks in double quotes, and write a quote within it twice ("").',
                )
            )
            continue
        if cells is None:
            return
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            continue
        if not header:
            header = _csv_header(name, cells)
            continue
        number += 1
        where = f"{name}: row {number} (line {first_line})"
        if len(cells) != len(header):
            counted = f"has {len(cells)} cells where the header has {len(header)}"
            on_bad(DataError(where, counted, "Give it as many, and put a cell with the separator in double quotes."))
            continue
        yield Row(where=where, fields=dict(zip(header, cells, strict=True)))


def _csv_header(name: str, cells: list[str]) -> list[str]:
    double = sorted({cell for cell in cells if cells.count(cell) > 1})
    if "" in cells or double:
        fault = f"names the column {double[0]!r} twice" if double and double[0] else "has a column without a name"
        raise DataError(f"{name}: header", fault, "Give each column a name of its own in the first row.")
    return cells


class _CsvReader(Protocol):
    """What `csv.reader` returns."""

    @property
    def line_num(self) -> int: ...

    def __next__(self) -> list[str]: ...

    def __iter__(self) -> Iterator[list[str]]: ...


def read_parquet(path: Path) -> Iterator[Row]:
    """The rows of a parquet file, a batch at a time; rows are counted from 1.

    Raises:
        MissingExtra: without pyarrow.
        DataError: for a file that isn't readable parquet.
    """
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as cause:
        raise MissingExtra(f"reading {path.name}", "hub") from cause
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=PARQUET_BATCH):
                rows: list[dict[str, Any]] = batch.to_pylist()
                for fields in rows:
                    number += 1
                    yield Row(where=f"{path.name}: row {number}", fields=fields)
    except (arrow.ArrowException, OSError) as cause:
        raise DataError(
            str(path), f"can't be read as parquet ({_shorten(str(cause))})", "Fetch the file again."
        ) from cause


def _shorten(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else "no details"
    return first if len(first) <= 160 else first[:157] + "..."


_READERS: dict[str, Callable[[Path, OnBad], Iterator[Row]]] = {
    ".jsonl": read_jsonl,
    ".json": lambda path, _: read_json(path),
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": lambda path, _: read_parquet(path),
}
SUFFIXES = tuple(_READERS)
KINDS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
