r"""Solutions with Monte-Carlo labels, read back: what `assay prm rollouts` wrote, and VisualPRM400K's own files.

| form | a row is | labels |
|---|---|---|
| ours | a `RolledSolution`, after a header (see `train.files`) | as written |
| raw | one solution with `steps_with_score` | `num_mc_correct` of `num_mc_total` completions, soft and hard |
| conversation | one solution, a step a turn, each answered with `+` or `-` | hard ones alone; no right answer |

VisualPRM400K is published by OpenGVLab (MIT). The name of a row's data set stands in its file's name, and in the path
of its picture: `VisualPRM400K-v1.1-Raw/Geometry3K/train/1471/img_diagram.png`. No row of it is in this repository; the
forms are those of its documentation, and whatever is not in them is an odd row, never a guess.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import structs

from assay.benchmarks.tables import Row, Table
from assay.errors import DataError
from assay.train.chat import without_places
from assay.train.files import read_records
from assay.train.records import RolledSolution, RolledStep

__all__ = ["read_rollouts"]

OnOdd = Callable[[DataError], None]
Fields = dict[str, Any]

_SUFFIXES = (".jsonl", ".parquet")
_REMEDY = f"Mend or remove the row; the forms are described in {__name__}."
_ROUNDING = 1e-4  # a score may be written with four digits
_QUESTION, _SOLUTION = "### Question:", "### Solution Process:"
_WORD = re.compile(r"\S+")


class _Odd(ValueError):
    """What is wrong with a row, in one clause."""


def read_rollouts(path: Path, *, on_odd: OnOdd | None = None) -> Iterator[RolledSolution]:
    """The labelled solutions of a file, or of every `.jsonl` and `.parquet` file below a folder, in order.

    Pictures come back with absolute paths; of VisualPRM400K they are looked for from the file's folder upwards. Its
    gold answers are empty in the conversation form, which has none.

    Args:
        on_odd: told of rows that are not as they must be, which are then left out; None makes the first one an error.

    Raises:
        DataError: there is no such file, it is of another kind, or a folder holds none; without `on_odd` an odd row.
        MissingExtra: a parquet file, without pyarrow.
    """
    files = _files(path)
    seen: dict[str, str] = {}
    tell = on_odd or _refuse
    for file in files:
        prefix = file.relative_to(path).with_suffix("").as_posix() if path.is_dir() else file.stem
        for where, solution in _own(file, tell) if _is_own(file) else _published(file, prefix, tell):
            if solution.id in seen:
                tell(DataError(where, f"has the id {solution.id!r} of {seen[solution.id]}", "Remove one of them."))
                continue
            seen[solution.id] = where
            yield solution


def _refuse(odd: DataError) -> None:
    raise odd


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise DataError(str(path), "holds no .jsonl or .parquet file", "Give the folder that holds the rollouts.")
        return files
    if not path.is_file():
        raise DataError(str(path), "there is no such file or folder", "Give a file of rollouts.")
    if path.suffix not in _SUFFIXES:
        raise DataError(str(path), "is not .jsonl or .parquet", "Give a file of one of these kinds.")
    return [path]


def _is_own(file: Path) -> bool:
    """Whether the first line is a header of ours, of whatever kind of file."""
    if file.suffix != ".jsonl":
        return False
    with file.open("rb") as lines:
        first = lines.readline()
    try:
        head = msgspec.json.decode(first, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return str(head.get("schema", "")).startswith("assay.")


def _own(file: Path, tell: OnOdd) -> Iterator[tuple[str, RolledSolution]]:
    folder = file.resolve().parent
    for solution in read_records(file, "rollouts", RolledSolution, on_odd=tell):
        pictures = tuple(str(folder / picture) for picture in solution.images)
        yield f"{file.name}: solution {solution.id}", structs.replace(solution, images=pictures)


# ----------------------------------------------------------------------------------------------------------------------
# VisualPRM400K


def _published(file: Path, prefix: str, tell: OnOdd) -> Iterator[tuple[str, RolledSolution]]:
    pictures = _Pictures(file.resolve().parent)
    for number, row in enumerate(Table(files=(file,), folder=file.parent, revision="").rows(tell), start=1):
        try:
            solution = _solution(row, f"{prefix}-{_line(row, number)}", prefix, pictures)
        except _Odd as odd:
            tell(DataError(row.where, str(odd), _REMEDY))
            continue
        yield row.where, solution


def _line(row: Row, number: int) -> str:
    """The row's number in its file: the line's of a text file, which stays when a line before it can't be read."""
    return row.where.rpartition(":")[2] if ".jsonl:" in row.where else str(number)


def _solution(row: Row, identity: str, source: str, pictures: "_Pictures") -> RolledSolution:
    fields = row.fields
    images = _images(fields)
    if "conversations" in fields:
        question, gold, steps = _conversation(fields)
    else:
        question, gold, steps = _text(fields, "question"), _text(fields, "answer"), _scored(fields)
    question = without_places(question, len(images)).strip()
    about = "\x00".join((source, *images, question))
    return RolledSolution(
        id=identity,
        sample_id=f"{source}:{hashlib.sha256(about.encode()).hexdigest()[:16]}",
        group="|".join(images) or question,
        source=source,
        question=question,
        images=tuple(pictures.place(image) for image in images),
        gold=gold,
        steps=steps,
        facets={"data_set": names} if (names := _data_sets(images)) else {},
    )


class _Pictures:
    """Where the paths of pictures start from: the file's folder, or one of those above that hold it."""

    def __init__(self, folder: Path) -> None:
        self._folders = [folder, *list(folder.parents)[:3]]

    def place(self, image: str) -> str:
        for folder in self._folders:
            if (folder / image).is_file():
                self._folders.remove(folder)
                self._folders.insert(0, folder)  # the next picture lies there as well
                break
        return str(self._folders[0] / image)


def _data_sets(images: Sequence[str]) -> tuple[str, ...]:
    """`Geometry3K` of `VisualPRM400K-v1.1-Raw/Geometry3K/train/1471/img_diagram.png`; none for other paths."""
    parts = [Path(image).parts for image in images]
    return tuple(dict.fromkeys(part[1] for part in parts if len(part) > 2 and part[0].startswith("VisualPRM400K")))


def _scored(fields: Fields) -> tuple[RolledStep, ...]:
    """The steps of the raw form, cut out of the response so that together they are the solution as it was written."""
    rows = _list(fields, "steps_with_score")
    if not all(isinstance(row, dict) for row in rows):
        raise _Odd("holds a step in 'steps_with_score' that is no object")
    steps = [cast("Fields", row) for row in rows]
    texts = _cut(_text(fields, "response"), [_text(step, "step") for step in steps])
    return tuple(_step(number, text, step) for number, (text, step) in enumerate(zip(texts, steps, strict=True), 1))


def _step(number: int, text: str, fields: Fields) -> RolledStep:
    correct, total, score = (fields.get(name) for name in ("num_mc_correct", "num_mc_total", "score"))
    if type(correct) is not int or type(total) is not int:  # a bool is an int
        raise _Odd(f"has no counts of completions for step {number} (num_mc_correct, num_mc_total)")
    if not 0 <= correct <= total:
        raise _Odd(f"counts {correct} right of {total} completions of step {number}")
    if type(score) not in (int, float):
        raise _Odd(f"has no score for step {number}")
    share = correct / total if total else 0.0
    if not abs(cast("float", score) - share) < _ROUNDING:  # NaN is not near anything
        raise _Odd(f"gives step {number} the score {score}, and {correct} of {total} completions are right")
    if not total:
        return RolledStep(text=text, skipped=True)
    return RolledStep(text=text, successes=correct, marked=total, soft=share, hard=correct > 0)


def _cut(response: str, steps: Sequence[str]) -> list[str]:
    """The response, cut where its steps begin; they may differ from it in white space alone."""
    words = _WORD.finditer(response)
    starts: list[int] = []
    for number, step in enumerate(steps, start=1):
        wanted = step.split()
        if not wanted:
            raise _Odd(f"has a step {number} without text")
        found = [word for _, word in zip(wanted, words, strict=False)]
        if [word[0] for word in found] != wanted:
            raise _Odd(f"has a step {number} that is not what stands in its 'response'")
        starts.append(found[0].start())
    if next(words, None) is not None:
        raise _Odd("has a 'response' that goes on after the last of its steps")
    ends = [*starts[1:], len(response)]
    return [response[start:end] for start, end in zip([0, *starts[1:]], ends, strict=True)]


def _conversation(fields: Fields) -> tuple[str, str, tuple[RolledStep, ...]]:
    """Question, no gold answer, and the steps of the conversation form."""
    turns = [_turn(turn) for turn in _list(fields, "conversations")]
    if turns and turns[0][0] == "system":
        turns = turns[1:]
    roles = [role for role, _ in turns]
    if not roles or roles != ["human", "gpt"] * (len(roles) // 2):
        raise _Odd("has turns in 'conversations' that are not human and gpt in turn")
    said = [text for _, text in turns]
    head, found, first = said[0].partition(_SOLUTION)
    if not found or not head.lstrip().startswith(_QUESTION):
        raise _Odd(f"has a first turn without {_QUESTION!r} and {_SOLUTION!r}")
    texts = [text.strip() for text in (first, *said[2::2])]
    labels = [text.strip() for text in said[1::2]]
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        if not text:
            raise _Odd(f"has a step {number} without text")
        if label not in ("+", "-"):
            raise _Odd(f"labels step {number} {label[:20]!r}, not + or -")
    last = len(texts) - 1
    steps = tuple(
        RolledStep(text=text if place == last else text + "\n\n", hard=label == "+")
        for place, (text, label) in enumerate(zip(texts, labels, strict=True))
    )
    return head.lstrip().removeprefix(_QUESTION).strip(), "", steps


def _turn(turn: object) -> tuple[str, str]:
    if not isinstance(turn, dict):
        raise _Odd("holds a turn in 'conversations' that is no object")
    fields = cast("Fields", turn)
    return _text(fields, "from"), _text(fields, "value")


# ----------------------------------------------------------------------------------------------------------------------
# Fields


def _images(fields: Fields) -> list[str]:
    """Paths of the pictures: none, one, or a list of them."""
    value: object = fields.get("image")
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(one, str) and one for one in cast("list[object]", value)):
        return cast("list[str]", value)
    raise _Odd("holds its 'image' neither as a path nor as a list of paths")


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if isinstance(value, str) and value.strip():
        return value
    raise _Odd(f"has no text in {name!r}")


def _list(fields: Fields, name: str) -> list[object]:
    value: object = fields.get(name)
    if isinstance(value, list) and value:
        return cast("list[object]", value)
    raise _Odd(f"has no list in {name!r}")
