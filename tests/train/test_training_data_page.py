"""docs/training-data.md is true: every field of every record stands there, and its example gives what is shown."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from assay.solve.critique_format import Written, WrittenStep
from assay.train.export_card import Card
from assay.train.files import Header
from assay.train.formats import Conversation
from assay.train.records import ChatRow, Dropped, Example, RolledSolution, RolledStep, TeacherCritique
from support.command import run
from support.exporting import write_examples

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "training-data.md").read_text(encoding="utf-8")


def fields_behind(mark: str) -> list[str]:
    """The names in the first column of the first table behind a mark."""
    table = re.search(r"\| field \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE[PAGE.index(mark) :])
    assert table is not None
    return [name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]


@pytest.mark.parametrize(
    ("mark", "record"),
    [
        ("## Files of records", Header),
        *((f"`{record.__name__}`: ", record) for record in (RolledSolution, RolledStep, TeacherCritique, Written)),
        *((f"`{record.__name__}`: ", record) for record in (WrittenStep, Example, Dropped, ChatRow, Conversation)),
        ("## card.json", Card),
    ],
)
def test_every_field_is_described_and_no_other(mark: str, record: type[msgspec.Struct]) -> None:
    assert sorted(fields_behind(mark)) == sorted(record.__struct_fields__)


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_gives_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [msgspec.json.decode(line, type=Example) for line in block("json examples").splitlines()]
    write_examples(tmp_path, rows)
    (command,) = block("sh").splitlines()
    done = run(*command.removeprefix("assay ").split())
    assert (done.code, done.out) == (0, block("text export"))


def test_the_header_is_one() -> None:
    msgspec.convert(json.loads(block("json")), type=Header)
