"""Recorded replies in JSON Lines; the forms are described in `assay.models.recorded`."""

import hashlib
import json
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.errors import DataError
from assay.models.recorded import Bareness, RecordedReplies
from assay.models.thinking import split_thinking
from assay.types import Finish, Reply

ID_FIELDS = ("id", "sample_id", "pid", "question_id", "sample_index", "qid", "uid", "ID")
EXTRACTION_FIELDS = ("extraction", "extracted_answer")
REPLY_FIELDS = ("response", "reply", "output", "prediction", "text", "answer_text", "model_response", "completion")

# What servers and other harnesses call the reason why a reply ended.
_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "filter": "filter",
    "content_filter": "filter",
    "safety": "filter",
    "refusal": "filter",
}

Row = dict[str, Any]
FIELD_SEPARATOR = ","
"""`--reply-field pred,scale`: a reply in several fields, such as an answer and its scale, is a JSON list of them."""

RowId = Callable[[Row], str | None]
"""The sample's id where it stands in several fields of a row; None where the row is not of that form."""


class LineRows:
    """Rows of a JSON Lines file, read again when asked for."""

    def __init__(self, path: Path, reply_field: str | None) -> None:
        self.path = path
        self.reply_field = reply_field
        self._file = path.open("rb")
        self._lock = threading.Lock()
        self._starts = array("Q")
        self._lines = array("Q")

    def append(self, start: int, line: int) -> int:
        """Note that the next row starts at byte `start` on line `line` (from 1); its number."""
        self._starts.append(start)
        self._lines.append(line)
        return len(self._starts) - 1

    def where(self, number: int) -> str:
        return f"{self.path}:{self._lines[number]}"

    def reply(self, number: int) -> Reply | None:
        return to_reply(self._row(number), self.reply_field, self.where(number))

    def key(self, number: int) -> str | None:
        return row_key(self._row(number), self.where(number))

    def close(self) -> None:
        self._file.close()

    def _row(self, number: int) -> Row:
        with self._lock:
            self._file.seek(self._starts[number])
            line = self._file.readline()
        return parse_row(line, self.where(number))


def scan_lines(
    path: Path, id_field: str | None, reply_field: str | None, row_id: RowId | None = None
) -> RecordedReplies:
    """Read a JSON Lines file once, checking every row. `row_id` is asked for a row's id before its field.

    Raises:
        DataError: for anything that is not as the module says, with the line's number.
    """
    scan = _Scan(path, id_field, reply_field, row_id)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                scan.take(number, line)
        return scan.finish()
    except DataError:
        scan.recorded.close()
        raise


class _Scan:
    """One pass over a file."""

    def __init__(self, path: Path, id_field: str | None, reply_field: str | None, row_id: RowId | None) -> None:
        self._row_id = row_id
        self.rows = LineRows(path, reply_field)
        self.recorded = RecordedReplies(path, self.rows)
        self._path = path
        self._id_field = id_field
        self._asked_field = reply_field
        self._start = 0
        self._bare = Bareness()
        self._whole, self._foreign, self._keyless = hashlib.sha256(), hashlib.sha256(), False
        self._fields: set[str] = set()

    def take(self, line_number: int, line: bytes) -> None:
        start, self._start = self._start, self._start + len(line)
        self._whole.update(line)
        if not line.strip():
            return
        where = f"{self._path}:{line_number}"
        row = parse_row(line, where)
        key = row_key(row, where)
        if self._id_field is None:
            self._id_field = next((name for name in ID_FIELDS if name in row), ID_FIELDS[0])
        if key is None:
            self._foreign.update(line)
            self._keyless = True
            self._fields.update(row)
            if self.rows.reply_field is None:
                self.rows.reply_field = next((name for name in REPLY_FIELDS if name in row), None)
        elif isinstance(row.get("identity"), str):
            self.recorded.identity = row["identity"]
        reply = to_reply(row, self.rows.reply_field, where)
        self._bare.see(reply)
        self.recorded.extractions += reply is not None and reply.extraction is not None
        # Where `index` is the sample's id it can't be the draw.
        index = None if self._id_field == "index" else row_index(row, where)
        sample_id = self._row_id(row) if self._row_id and key is None else None
        sample_id = sample_id or _id_in(row, self._id_field, where)
        self.recorded.add(self.rows.append(start, line_number), sample_id, index, key)

    def finish(self) -> RecordedReplies:
        named = set((self.rows.reply_field or "").split(FIELD_SEPARATOR))
        if self._fields and not named <= self._fields:
            wanted = repr(self._asked_field) if self._asked_field else f"named {', '.join(REPLY_FIELDS)}"
            raise DataError(
                str(self._path),
                f"no row has a field {wanted}; the fields are {', '.join(sorted(self._fields))}",
                "Name the field that holds the reply's text (--reply-field)",
            )
        recorded = self.recorded
        if self._keyless and 2 * recorded.without_draw_0() > len(recorded):
            raise DataError(
                str(self._path),
                "`index` does not number draws: most samples have no row with index 0",
                "Drop or rename that field if it is something else",
            )
        recorded.digest = self._whole.hexdigest()
        recorded.foreign = self._foreign.hexdigest() if self._keyless else None
        recorded.looks_extracted = self._bare.verdict
        return recorded


def parse_row(line: bytes, where: str) -> Row:
    """One line as an object. Lone surrogates become U+FFFD and NaN null, since neither can be written again.

    Raises:
        DataError: the line is no JSON object in UTF-8.
    """
    try:
        row: object = json.loads(line.decode("utf-8-sig"), parse_constant=_constant)
    except (ValueError, RecursionError) as cause:
        cut = "" if line.endswith(b"\n") else ", and the file ends in this line: it may be cut off"
        raise DataError(where, f"not a line of JSON ({cause}){cut}", "Write one JSON object per line") from cause
    if not isinstance(row, dict):
        raise DataError(where, f"a {type(row).__name__}, not an object", "Write one JSON object per line")
    return cast(Row, _mended(row) if b"\\ud" in line.lower() else row)


def to_reply(row: Row, field: str | None, where: str) -> Reply | None:
    """The reply that a row holds, in `reply` where we recorded it; None for a null or absent text."""
    if row_key(row, where) is not None:
        field = "reply"
    value = None if field is None else _value(row, field)
    if value is None:
        return None
    if isinstance(value, dict):
        try:
            return msgspec.convert(value, Reply)
        except msgspec.ValidationError as cause:
            raise DataError(where, f"{field!r} is not a reply ({cause})", "Record it again") from cause
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        problem = f"{field!r} is a {type(value).__name__}, not a text"
        raise DataError(where, problem, "Write one row per draw, each with the reply's text")
    finish = _finish(row)
    reasoning = row.get("reasoning", row.get("reasoning_content"))
    text = str(value)
    if not isinstance(reasoning, str):
        text, reasoning = split_thinking(text, truncated=finish == "length")
    return Reply(
        text=text,
        reasoning=reasoning,
        finish=finish,
        extracted=row.get("extracted") is True,
        extraction=_extraction(row, field),
    )


def _value(row: Row, field: str) -> Any:
    """What the field holds, of a list of draws the one in it; of several fields their values as a JSON list."""
    if FIELD_SEPARATOR in field:
        return json.dumps([row.get(name) for name in field.split(FIELD_SEPARATOR)], ensure_ascii=False)
    value: object = row.get(field)
    if not isinstance(value, list):
        return value
    draws = cast("list[Any]", value)
    return draws[0] if len(draws) == 1 else draws


def _extraction(row: Row, reply_field: str | None) -> str | None:
    """The extracted answer beside a reply: a text, a number, or a list of such."""
    for name in EXTRACTION_FIELDS:
        value = row.get(name)
        if name != reply_field and isinstance(value, str | int | float | list) and not isinstance(value, bool):
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None


def row_index(row: Row, where: str) -> int | None:
    """The draw that a row names, if it does."""
    index = row.get("index")
    if index is None:
        return None
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise DataError(where, f"index {index!r} is no draw", "Number the draws of a sample 0, 1, 2, ...")
    return index


def row_key(row: Row, where: str) -> str | None:
    """The request key of a row that `RecordingModel` wrote."""
    key = row.get("key")
    if key is None or not isinstance(row.get("reply"), dict):
        return None  # somebody's own column of that name
    if not isinstance(key, str):
        raise DataError(where, f"key {key!r} is no request key", "Record it again")
    return key


def _id_in(row: Row, field: str, where: str) -> str:
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, str | int):
        problem = f"id {value!r} is no text or integer"
        if value is None:
            problem = f"no sample id in the field {field!r}; the fields are {', '.join(sorted(row))}"
        raise DataError(where, problem, "Give every row the id of its sample (--id-field)")
    return str(value)


def _finish(row: Row) -> Finish:
    value = row.get("finish", row.get("finish_reason"))
    return "stop" if value is None else _FINISHES.get(str(value).lower(), "other")


def _constant(name: str) -> str | None:
    return None if name == "NaN" else name


def _mended(value: Any) -> Any:
    """The same value with surrogate pairs joined and lone surrogates replaced."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in cast(Row, value).items()}
    return value
