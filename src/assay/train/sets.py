"""Process benchmarks: solutions whose steps somebody labelled, read into one form.

| name | rows | labels | source |
|---|---|---|---|
| visualprocessbench | 2,866 | every step: right, wrong, neutral (left out of every metric) | OpenGVLab |
| processbench | 3,400 | the first wrong step, from 0; -1 for none | Qwen |
| prmbench | 6,216 | the wrong steps, from 1, of a solution that was made wrong (Apache-2.0) | ssmisya/PRMBench |
| bigbench-mistake | 2,186 | the first wrong step, from 0; null for none (Apache-2.0) | WHGTyen/BIG-Bench-Mistake |
| mr-math | 159 | the first wrong step, from 1; N/A for none | GAIR-NLP/ReasonEval |
| vlrmbench | 126 | every step: 0 right, 1 wrong (Apache-2.0) | JCruan519/VLRMBench, location errors |

Where only the first wrong step is known, the steps after it have no label: they are neither right nor wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.errors import DataError
from assay.train.records import LabelledSolution

__all__ = ["SETS", "read_set"]

Row = dict[str, Any]


class _Odd(ValueError):
    """What is wrong with a row, in one clause."""


def read_set(name: str, path: Path, *, on_odd: Callable[[DataError], None] | None = None) -> Iterator[LabelledSolution]:
    """The labelled solutions of a JSON Lines file in the form of the set `name`; pictures are paths beside the file.

    Args:
        on_odd: told of rows that are not as they must be, which are then left out: published sets hold some (PRMBench
            names wrong steps behind a solution's last one). None makes the first one an error.

    Raises:
        DataError: an unknown set, a missing file, two rows with one id; without `on_odd` an odd row, by its number.
    """
    if name not in SETS:
        raise DataError(name, "there is no such process benchmark", f"Choose one of: {', '.join(sorted(SETS))}.")
    if not path.is_file():
        raise DataError(str(path), "there is no such file", "Give the set's JSON Lines file.")
    seen: dict[str, int] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                solution = _read(SETS[name], line, where, f"{name}-{number}")
            except DataError as odd:
                if on_odd is None:
                    raise
                on_odd(odd)
                continue
            if solution.id in seen:
                raise DataError(where, f"has the id {solution.id!r} of row {seen[solution.id]}", "Remove one of them.")
            seen[solution.id] = number
            pictures = tuple(str(path.parent / picture) for picture in solution.images)
            yield msgspec.structs.replace(solution, images=pictures)


def _read(convert: Callable[[Row, str], LabelledSolution], line: bytes, where: str, default: str) -> LabelledSolution:
    try:
        return convert(msgspec.json.decode(line, type=dict[str, Any]), default)
    except msgspec.DecodeError as cause:
        raise DataError(where, f"not a JSON object ({cause})", "Mend or remove the line.") from cause
    except _Odd as cause:
        raise DataError(where, str(cause), f"Its form is described in {__name__}.") from cause


# --------------------------------------------------------------------------------------------------------------------
# Rows


def _visualprocessbench(row: Row, default: str) -> LabelledSolution:
    response = _field(row, "response", dict)
    steps = _texts(response, "steps")
    marks = _numbers(response, "process_correctness", steps)
    meaning = {1: True, -1: False, 0: None}
    if any(mark not in meaning for mark in marks):
        raise _Odd("has a label other than 1, -1 and 0")
    image = row.get("image") or ()
    return _solution(
        default,
        f"visualprocessbench/{row.get('data_source', '')}",
        _field(row, "question", str),
        steps,
        [meaning[mark] for mark in marks],
        images=(image,) if isinstance(image, str) else tuple(image),
    )


def _processbench(row: Row, default: str) -> LabelledSolution:
    steps = _texts(row, "steps")
    label = _field(row, "label", int)
    first = None if label == -1 else label
    return _solution(
        str(row.get("id", default)),
        "processbench",
        str(row.get("problem") or row.get("question") or ""),
        steps,
        _until(first, steps),
    )


def _prmbench(row: Row, default: str) -> LabelledSolution:
    steps = _texts(row, "modified_process")
    wrong = {place - 1 for place in _numbers(row, "error_steps", None)}
    if not wrong <= set(range(len(steps))):
        raise _Odd(f"names a wrong step outside its {len(steps)} steps")
    return _solution(
        f"{row.get('idx', default)} {row.get('classification', '')}".rstrip(),  # an idx stands in several classes
        f"prmbench/{row.get('classification', '')}",
        str(row.get("modified_question") or _field(row, "question", str)),
        steps,
        [place not in wrong for place in range(len(steps))],
    )


def _bigbench(row: Row, default: str) -> LabelledSolution:
    steps = _texts(row, "steps")
    first = row.get("mistake_index")
    if first is not None and not isinstance(first, int):
        raise _Odd("has a mistake_index that is no number")
    task = str(row.get("task", ""))
    return _solution(default, f"bigbench-mistake/{task}", _field(row, "input", str), steps, _until(first, steps))


def _mr_math(row: Row, default: str) -> LabelledSolution:
    # A step is a list of lines.
    written = cast("list[Any]", _field(row, "model_output_step_format", list))
    steps = ["\n".join(_texts({"step": lines}, "step")) for lines in written]
    if not steps:
        raise _Odd("has no steps")
    first = row.get("model_output_solution_first_error_step")
    if first in ("N/A", None):
        place = None
    elif isinstance(first, int):
        place = first - 1
    else:
        raise _Odd(f"has {first!r} for its first wrong step, neither a number nor N/A")
    return _solution(
        f"{row.get('id', default)}-{row.get('generator', '')}",
        "mr-math",
        _field(row, "question", str),
        steps,
        _until(place, steps),
    )


def _vlrmbench(row: Row, default: str) -> LabelledSolution:
    steps = _texts(row, "steps")
    marks = _numbers(row, "step_error_labels", steps)
    if not set(marks) <= {0, 1}:
        raise _Odd("has a label other than 0 and 1")
    return _solution(
        str(row.get("id", default)),
        f"vlrmbench/{row.get('category', '')}",
        _field(row, "question", str),
        steps,
        [mark == 0 for mark in marks],
        images=(str(row["image"]),) if row.get("image") else (),
    )


SETS: dict[str, Callable[[Row, str], LabelledSolution]] = {
    "bigbench-mistake": _bigbench,
    "mr-math": _mr_math,
    "prmbench": _prmbench,
    "processbench": _processbench,
    "visualprocessbench": _visualprocessbench,
    "vlrmbench": _vlrmbench,
}


def _solution(
    identity: str,
    source: str,
    question: str,
    steps: Sequence[str],
    labels: Sequence[bool | None],
    *,
    images: tuple[str, ...] = (),
) -> LabelledSolution:
    return LabelledSolution(
        id=identity,
        source=source.rstrip("/"),
        question=question,
        images=images,
        steps=tuple(steps),
        labels=tuple(labels),
        first_error=next((place for place, label in enumerate(labels) if label is False), None),
        group="|".join(images) or question,
    )


def _until(first: int | None, steps: Sequence[str]) -> list[bool | None]:
    """Right up to the first wrong step, wrong there, unknown from there on."""
    if first is not None and not 0 <= first < len(steps):
        raise _Odd(f"names step {first} as its first wrong one, but has {len(steps)} steps")
    return [
        True if first is None or place < first else False if place == first else None for place in range(len(steps))
    ]


def _field(row: Row, name: str, kind: type[Any]) -> Any:
    value = row.get(name)
    if not isinstance(value, kind):
        raise _Odd(f"holds its {name!r} as {type(value).__name__}, not as {kind.__name__}")
    return value


def _texts(row: Row, name: str) -> list[str]:
    """A list of texts, also where it is written as JSON in a text."""
    value = row.get(name)
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError as cause:
            raise _Odd(f"holds its {name!r} as a text that is no JSON list") from cause
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in cast("list[Any]", value)):
        raise _Odd(f"has no list of texts in {name!r}")
    return cast("list[str]", value)


def _numbers(row: Row, name: str, steps: Sequence[str] | None) -> list[int]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(one, int) for one in cast("list[Any]", value)):
        raise _Odd(f"has no list of whole numbers in {name!r}")
    numbers = cast("list[int]", value)
    if steps is not None and len(numbers) != len(steps):
        raise _Odd(f"has {len(numbers)} labels for {len(steps)} steps")
    return numbers
