"""Further records of a run beside its outcomes: what is kept through kills, torn lines and repeated ids."""

from pathlib import Path

import msgspec
import pytest

from assay.engine.lines import latest, numbered
from assay.engine.store import RunStore
from assay.errors import DataError, RunError
from support.runs import new_store


class Note(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sample_id: str
    condition: str = ""
    text: str = ""


def notes(folder: Path) -> list[tuple[str, str, str]]:
    with RunStore.open(folder) as store:
        return [(note.sample_id, note.condition, note.text) for note in store.records("notes", Note)]


def test_records_are_there_as_soon_as_they_are_written(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.record("notes", Note(sample_id="1", text="a"))
        assert notes(tmp_path) == [("1", "", "a")]
        assert (tmp_path / "notes-0.jsonl").read_bytes().endswith(b"\n")


def test_the_last_record_of_a_sample_and_condition_counts(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        for text in ("a", "b"):
            store.record("notes", Note(sample_id="1", text=text))
            store.record("notes", Note(sample_id="1", condition="repeat=1", text=text * 2))
    with new_store(tmp_path) as store:
        store.record("notes", Note(sample_id="2", text="c"))
    assert notes(tmp_path) == [("1", "", "b"), ("1", "repeat=1", "bb"), ("2", "", "c")]


def test_a_torn_line_is_ignored_and_then_removed(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.record("notes", Note(sample_id="1", text="a"))
    file = tmp_path / "notes-0.jsonl"
    with file.open("ab") as out:
        out.write(b'{"sample_id":"2","te')
    assert notes(tmp_path) == [("1", "", "a")]
    with new_store(tmp_path) as store:
        store.record("notes", Note(sample_id="3", text="c"))
    assert notes(tmp_path) == [("1", "", "a"), ("3", "", "c")]
    assert b'"2"' not in file.read_bytes()


def test_a_run_without_records_has_none(tmp_path: Path) -> None:
    with new_store(tmp_path):
        pass
    assert notes(tmp_path) == []


def test_what_is_no_record_is_named_with_its_line(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.record("notes", Note(sample_id="1"))
    with (tmp_path / "notes-0.jsonl").open("ab") as out:
        out.write(b'{"sample_id":"2","unknown":1}\n')
    with pytest.raises(DataError, match=r"notes-0\.jsonl:2"):
        notes(tmp_path)


def test_a_run_that_is_read_only_takes_no_records(tmp_path: Path) -> None:
    with new_store(tmp_path):
        pass
    with RunStore.open(tmp_path) as store, pytest.raises(RunError, match="reading only"):
        store.record("notes", Note(sample_id="1"))


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 2):
        text = msgspec.json.encode(Note(sample_id="1", text=str(number)))
        (tmp_path / f"notes-{number}.jsonl").write_bytes(text + b"\n")
    assert [note.text for note in latest(numbered(tmp_path, "notes"), Note, what="a note")] == ["10"]
