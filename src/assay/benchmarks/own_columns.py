"""Which column of a table of one's own is what: by the names that people use, or as `--map` says."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from assay.errors import DataError, UsageError
from assay.types import Reading

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "sample_id", "question_id", "qid", "pid", "index", "key"),
    "question": ("question", "prompt", "query", "problem", "instruction"),
    "image": ("images", "image", "image_paths", "image_path", "pictures", "picture", "img"),
    "options": ("options", "choices"),
    "answer": ("answer", "answers", "gold", "gold_answer", "correct_answer", "ground_truth", "target"),
    "tolerance": ("tolerance", "tol"),
    "unit": ("unit", "units"),
    "group": (),  # what clusters questions for the intervals; the pictures do so where nothing is said
}
"""What a column is for -> the names that it is found by, case ignored, the first that is there."""

ANSWER_TYPES = ("choice", "number", "expression", "text")

MAX_FACET_VALUES = 20
"""A column becomes a facet by itself if it has two to this many values, each for two rows on average."""
MAX_FACET_LENGTH = 60

_NUMBERED_IMAGE = re.compile(r"(?:image|picture|img)[ _]?(\d{1,2})", re.IGNORECASE)
_LABEL = re.compile(r"(?:(?:option|choice)[ _])?([A-Z])", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of one table; None or empty where there is none.

    `labels`: label -> column, where each option has a column of its own (A, B, C, ... or option_a, option_b, ...).
    `unused`: columns that are not read.
    """

    question: str
    answer: str
    id: str | None = None
    images: tuple[str, ...] = ()
    options: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerance: str | None = None
    unit: str | None = None
    group: str | None = None
    facets: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    def facts(self) -> tuple[str, ...]:
        """What a reader must know about how the table was read."""
        roles = {"question": self.question, "answer": self.answer, "id": self.id, "options": self.options}
        roles |= {"tolerance": self.tolerance, "unit": self.unit, "group": self.group}
        roles |= {"image": "+".join(self.images), "options ": "+".join(self.labels.values())}
        read = ", ".join(f"{role.strip()} from {name!r}" for role, name in roles.items() if name)
        facets = f"; facets: {', '.join(self.facets)}" if self.facets else ""
        unused = f"; not read: {', '.join(self.unused)}" if self.unused else ""
        facts = [f"Columns: {read}{facets}{unused}."]
        if self.id is None:
            facts.append("No column holds ids: rows are named by their number in the file.")
        return tuple(facts)


class Profile:
    """What a table's columns are called and hold, gathered row by row."""

    def __init__(self) -> None:
        self.rows = 0
        self._values: dict[str, set[str] | None] = {}  # None: no facet, whatever follows

    def add(self, row: Mapping[str, Any]) -> None:
        self.rows += 1
        for name, value in row.items():
            seen = self._values.setdefault(name, set())
            if seen is None:
                continue
            found = facet_values(value)
            seen.update(found or ())
            if found is None or len(seen) > MAX_FACET_VALUES:
                self._values[name] = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def facets(self, taken: Iterable[str]) -> tuple[str, ...]:
        """The columns that become facets by themselves."""
        most = max(2, self.rows // 2)
        left = {name: values for name, values in self._values.items() if name not in taken}
        return tuple(name for name, values in left.items() if values is not None and 2 <= len(values) <= most)


def facet_values(value: object) -> tuple[str, ...] | None:
    """The values of a facet that a cell holds: none for an empty cell, None where a cell can't be one."""
    if blank(value):
        return ()
    if isinstance(value, list | tuple):
        parts = [facet_values(part) for part in cast("Sequence[object]", value)]
        if any(part is None or len(part) > 1 for part in parts):
            return None
        return tuple(dict.fromkeys(part[0] for part in parts if part))
    if isinstance(value, float) and not value.is_integer():
        return None
    if not isinstance(value, str | int | float):
        return None
    text = plain(value)
    return (text,) if len(text) <= MAX_FACET_LENGTH and "\n" not in text else None


def blank(value: object) -> bool:
    """Whether a cell is empty: nothing, NaN (what tables write for nothing), blanks, an empty list."""
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, str):
        return not value.strip()
    return value is None or value in ([], (), {})


def plain(value: object) -> str:
    """A cell as text; a whole number that a table holds as a float is written as one: 3.0 is `3`."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()


def parse_map(texts: Sequence[str]) -> dict[str, str]:
    """`question=prompt,answer=gold` (given once or several times) as a dictionary. `options=` reads no options.

    Raises:
        UsageError: for a text of another form, or an unknown purpose.
    """
    mapped: dict[str, str] = {}
    for text in texts:
        for part in re.split(rf",(?=\s*(?:{'|'.join(NAMES)})\s*=)", text):
            role, equals, name = part.partition("=")
            if not equals or role.strip() not in NAMES:
                raise UsageError(
                    f"--map {part!r} is not PURPOSE=COLUMN. Write e.g. question=prompt,answer=gold; "
                    f"a column can be for: {', '.join(NAMES)}."
                )
            mapped[role.strip()] = name.strip()
    return mapped


def find_columns(profile: Profile, reading: Reading, where: str) -> Columns:
    """The columns of a table.

    Raises:
        DataError: there is no column for question or answer, or not the one that the user names.
    """
    found = {role: _find(role, profile.names, reading, where) for role in NAMES}
    for role in ("question", "answer"):
        if not found[role]:
            raise DataError(
                where,
                f"has no column {' or '.join(repr(name) for name in NAMES[role])}; there is {_listed(profile.names)}",
                f"Say which column holds the {role} with --map {role}=COLUMN.",
            )
    images = (found["image"],) if found["image"] else _numbered_images(profile.names, reading)
    labels = {} if found["options"] or "options" in reading.columns else _labels(profile.names)
    taken = {name for name in (*found.values(), *images, *labels.values()) if name}
    facets = profile.facets(taken) if reading.facets is None else reading.facets
    missing = [name for name in facets if name not in profile.names]
    if missing:
        raise DataError(
            where,
            f"has no column {missing[0]!r}; there is {_listed(profile.names)}",
            "Name facets by columns that the table has.",
        )
    return Columns(
        question=found["question"] or "",
        answer=found["answer"] or "",
        id=found["id"],
        images=images,
        options=found["options"],
        labels=labels,
        tolerance=found["tolerance"],
        unit=found["unit"],
        group=found["group"],
        facets=facets,
        unused=tuple(name for name in profile.names if name not in taken and name not in facets),
    )


def _find(role: str, names: Sequence[str], reading: Reading, where: str) -> str | None:
    if role in reading.columns:
        name = reading.columns[role]
        if name and name not in names:
            raise DataError(where, f"has no column {name!r}; there is {_listed(names)}", f"Mend --map {role}={name}.")
        return name or None
    by_fold = {name.strip().casefold(): name for name in reversed(names)}
    claimed = set(reading.columns.values())
    return next(
        (by_fold[name] for name in NAMES[role] if name in by_fold and by_fold[name] not in claimed),
        None,
    )


def _numbered_images(names: Sequence[str], reading: Reading) -> tuple[str, ...]:
    """image_1, image_2, ..., in the order of their numbers."""
    if "image" in reading.columns:
        return ()
    numbered = [(int(match[1]), name) for name in names if (match := _NUMBERED_IMAGE.fullmatch(name))]
    return tuple(name for _, name in sorted(numbered))


def _labels(names: Sequence[str]) -> dict[str, str]:
    """A, B, C, ... without a gap, at least two; a lower-case column `a` alone is no option."""
    found: dict[str, str] = {}
    for name in names:
        match = _LABEL.fullmatch(name.strip())
        if match and (match[1].isupper() or len(name.strip()) > 1):
            found.setdefault(match[1].upper(), name)
    labels: dict[str, str] = {}
    for label in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if label not in found:
            break
        labels[label] = found[label]
    return labels if len(labels) >= 2 else {}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "") if names else "no column at all"
