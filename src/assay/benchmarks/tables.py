"""Where a benchmark's rows come from: JSONL, JSON or parquet files, or a data set on the hub.

Rows are streamed; a table is read anew whenever it is iterated, and nothing but the current batch is held (of a JSON
file, which is one value, all of it).
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.errors import DataError, MissingExtra, UsageError

PARQUET_BATCH = 64  # rows; one batch of FinMME's charts is about 3 MB


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row as it lies in the file; `where` names it: `rows.jsonl:17`, `train.parquet: row 17`."""

    where: str
    fields: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The question files of one split, read one after the other.

    Attributes:
        files: all of one kind, by their extension: .jsonl, .json or .parquet.
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
        for file in self.files:
            rows = _READERS[file.suffix](file)
            yield from rows if self.expand is None else (part for row in rows for part in self.expand(row))


def local_table(data: Path, split: str, *, names: Sequence[str] = ()) -> Table:
    """The table of `split` at `data`: a `.jsonl`, `.json` or `.parquet` file itself, or a folder.

    In a folder the first of these that exists is taken, for `split` and then each of `names`: `NAME.jsonl`,
    `NAME.json`, `NAME.parquet`, `NAME-*.parquet`, each of them also in `data/` (the hub's layout, and that of many
    repositories; pictures start from there if `data/images/` exists, else from the folder itself).

    Raises:
        DataError: for a path that isn't there, another kind of file, or a folder that holds none of these.
    """
    if data.is_file():
        if data.suffix not in _READERS:
            raise DataError(str(data), "is not .jsonl, .json or .parquet", "Give a file of one of these kinds.")
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


def read_jsonl(path: Path) -> Iterator[Row]:
    """The rows of a JSONL file; blank lines are skipped.

    Raises:
        DataError: for a file that can't be read, and for a line that isn't a JSON object, with its number.
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
            if text:
                where = f"{path.name}:{number}"
                yield Row(where=where, fields=_decode(text, where))


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
            return json.loads(text)
        except (ValueError, RecursionError) as cause:
            raise DataError(where, f"is not valid JSON ({_shorten(str(cause))})", remedy) from cause


def _object(value: object, where: str, remedy: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(where, f"is a JSON {type(value).__name__}, not an object", remedy)
    return cast("dict[str, Any]", value)  # JSON objects have string keys


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


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".parquet": read_parquet,
}
