"""The outcome files of a run, one line per finished sample and condition (see `types.line_id`, `engine.lines`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

import msgspec

from assay.engine.lines import decode_line, lines, numbered
from assay.types import Failure, Outcome, line_id

_WHAT = "an outcome"
_decoder = msgspec.json.Decoder(Outcome)


class _Tag(TypedDict):
    type: str


class _Head(TypedDict):
    """What the search for superseded lines needs; the rest of a line is skipped without being built."""

    sample_id: str
    condition: NotRequired[str]
    result: _Tag


_head_decoder = msgspec.json.Decoder(_Head)
_FAILURE_TAG = Failure.__struct_config__.tag


class Winner(NamedTuple):
    """Which of several lines with the same id counts."""

    succeeded: bool
    file: int
    offset: int


def outcome_files(folder: Path) -> list[Path]:
    """The outcome files of a run in a fixed order: by number, then by name."""
    return numbered(folder, "outcomes")


def read_outcomes(folder: Path) -> Iterator[Outcome]:
    """Every outcome, once, in the order of the lines that count.

    In one file the last line of an id counts. Between files (a cluster's workers, another sharding after a resume) an
    outcome counts before a failure, so that a sample which failed on one worker and was answered on another is done.

    Memory: one id per line, never the outcomes. The files are read up to three times.

    Raises:
        DataError: a complete line that is not an outcome, with its file and number.
    """
    files = outcome_files(folder)
    winners = _winners(files)
    for number, path in enumerate(files):
        for row, offset, line in lines(path):
            outcome = decode_line(_decoder, path, row, line, what=_WHAT)
            winner = winners.get(outcome.id)
            if winner is None or (winner.file, winner.offset) == (number, offset):
                yield outcome


def read_ids(folder: Path) -> tuple[set[str], set[str]]:
    """Ids with an outcome that is not a failure, and ids with nothing but a failure."""
    files = outcome_files(folder)
    winners = _winners(files)
    done: set[str] = set()
    failed: set[str] = set()
    for path in files:
        for name, succeeded, _ in _heads(path):
            winner = winners.get(name)
            (done if (succeeded if winner is None else winner.succeeded) else failed).add(name)
    return done, failed


def _winners(files: list[Path]) -> dict[str, Winner]:
    """For each id with more than one line, the line that counts."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for path in files:
        for name, _, _ in _heads(path):
            (repeated if name in seen else seen).add(name)
    del seen
    winners: dict[str, Winner] = {}
    if not repeated:
        return winners
    for number, path in enumerate(files):
        last: dict[str, Winner] = {}
        for name, succeeded, offset in _heads(path):
            if name in repeated:
                last[name] = Winner(succeeded, number, offset)
        for name, winner in last.items():
            winners[name] = max(winner, winners.get(name, winner))
    return winners


def _heads(path: Path) -> Iterator[tuple[str, bool, int]]:
    """Id, whether it is an outcome rather than a failure, and offset of every complete line."""
    for row, offset, line in lines(path):
        head = decode_line(_head_decoder, path, row, line, what=_WHAT)
        name = line_id(head["sample_id"], head.get("condition", ""))
        yield name, head["result"]["type"] != _FAILURE_TAG, offset
