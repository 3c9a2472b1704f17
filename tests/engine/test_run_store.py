"""The run folder: manifest, lock, outcomes and replies, and what a kill or a careless hand does to them."""

import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engine.lines import LineWriter
from assay.engine.outcomes import read_outcomes
from assay.engine.store import RunStore, StoredReply, fingerprint, seal
from assay.errors import DataError, RunError, RunLocked, RunMismatch
from assay.types import Marked, Outcome, Reading, Reply, Sampling, Usage
from support.runs import failed, manifest, new_store, outcome


def ids(store: RunStore) -> list[str]:
    return [found.sample_id for found in store.outcomes()]


def write_lines(path: Path, *lines: Outcome) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


# ---- manifest


def test_manifest_is_written_first_and_read_back(tmp_path: Path) -> None:
    with new_store(tmp_path / "run") as store:
        assert (tmp_path / "run" / "manifest.json").is_file()
        assert not store.resumed
    with RunStore.open(tmp_path / "run") as store:
        assert store.manifest == manifest()


def test_resume_keeps_the_first_environment(tmp_path: Path) -> None:
    with new_store(tmp_path, environment={"concurrency": 8}):
        pass
    with new_store(tmp_path, environment={"concurrency": 64}) as store:
        assert store.resumed
        assert store.manifest.environment == {"concurrency": 8}


def test_the_same_data_may_be_named_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    named = {"data": "my.jsonl", "reading": Reading(images="pictures")}
    with new_store(tmp_path / "run", **named) as store:
        assert store.manifest.data == str(tmp_path / "my.jsonl")
        assert store.manifest.reading == Reading(images=str(tmp_path / "pictures"))
        assert store.manifest.fingerprint == fingerprint(store.manifest)
    monkeypatch.chdir(tmp_path / "elsewhere")
    with new_store(tmp_path / "run", data="../my.jsonl", reading=Reading(images="../pictures")) as store:
        assert store.resumed
    with pytest.raises(RunMismatch, match="data was"):
        new_store(tmp_path / "run", **named)  # elsewhere/my.jsonl is another file


def test_a_manifest_with_a_relative_path_is_read_from_where_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_bytes(msgspec.json.encode(manifest(data="my.jsonl")))
    with new_store(tmp_path / "run", data=str(tmp_path / "my.jsonl")) as store:
        assert store.resumed
    with new_store(tmp_path / "run", data="my.jsonl") as store:
        assert store.resumed


def test_another_plan_is_refused_and_the_differences_are_named(tmp_path: Path) -> None:
    with new_store(tmp_path):
        pass
    with pytest.raises(RunMismatch) as caught:
        new_store(tmp_path, sampling=Sampling(temperature=0.7), prompt_hash="p2")
    message = str(caught.value)
    assert "sampling.temperature was 0.0, is 0.7" in message
    assert "prompt_hash was 'p1', is 'p2'" in message
    assert "another folder" in message
    assert "seed" not in message
    with new_store(tmp_path) as store:  # the refusal freed the lock and changed nothing
        assert store.manifest == manifest()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("benchmark", "x"), ("split", "x"), ("revision", "x"), ("model", "x"), ("search", "x"), ("seed", 8),
        ("sampling", Sampling(top_p=0.9)), ("prompt_hash", "x"), ("image_transform", "x"), ("limit", 3), ("data", "x"),
        ("schema", 2), ("conditions", ("", "repeat=1")), ("reading", Reading(columns={"question": "prompt"})),
        ("reading", Reading()),
    ],
)  # fmt: skip
def test_fingerprint_covers_what_changes_a_result(field: str, value: object) -> None:
    assert fingerprint(msgspec.structs.replace(manifest(), **{field: value})) != manifest().fingerprint


def test_fingerprint_leaves_out_what_does_not() -> None:
    assert fingerprint(msgspec.structs.replace(manifest(), environment={"commit": "abc"})) == manifest().fingerprint
    assert seal(manifest()) == manifest()


def test_every_manifest_field_is_in_the_fingerprint_or_only_recorded() -> None:
    changed = {"benchmark", "split", "revision", "model", "search", "seed", "sampling", "prompt_hash",
               "image_transform", "limit", "data", "schema", "where", "reading", "conditions"}  # fmt: skip
    assert {field.name for field in msgspec.structs.fields(manifest())} == changed | {"fingerprint", "environment"}


def test_conditions_change_the_fingerprint_and_their_absence_does_not() -> None:
    """The second is a run made before there were conditions: its fingerprint, taken then, still fits."""
    assert fingerprint(manifest(where=("subject=algebra",))) != manifest().fingerprint
    fields = msgspec.to_builtins(manifest())
    names = {"benchmark", "split", "revision", "model", "search", "seed", "sampling", "prompt_hash", "image_transform",
             "limit", "data", "schema"}  # fmt: skip
    older = {name: value for name, value in fields.items() if name in names}
    encoded = msgspec.json.Encoder(order="deterministic").encode(older)
    assert manifest().fingerprint == hashlib.sha256(encoded).hexdigest()


def test_results_without_manifest_are_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "outcomes-0.jsonl", outcome("a"))
    with pytest.raises(RunError, match=r"no manifest\.json"):
        new_store(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff\xfe"])
def test_damaged_manifest_is_one_clear_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(DataError, match=r"manifest\.json: not a manifest"):
        RunStore.open(tmp_path)
    with pytest.raises(DataError, match=r"manifest\.json: not a manifest"):
        new_store(tmp_path)


def test_other_layout_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(msgspec.json.encode(manifest(schema=99)))
    with pytest.raises(DataError, match="layout 99"):
        RunStore.open(tmp_path)


def test_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run folder"):
        RunStore.open(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="not a run folder"):
        RunStore.open(tmp_path / "file")
    with pytest.raises(RunError, match="can't be used as a run folder"):
        new_store(tmp_path / "file")


@pytest.mark.parametrize("name", ["manifest.json", "outcomes-0.jsonl", "outcomes-7.jsonl"])
def test_a_file_that_the_system_does_not_let_us_read_is_named(tmp_path: Path, name: str) -> None:
    with new_store(tmp_path) as store:
        store.append(outcome("a"))
    (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / name).mkdir()  # stands for whatever the system refuses: rights, a broken disk
    with pytest.raises(DataError, match=rf"{name}: can't be read \(Is a directory\)"), RunStore.open(tmp_path) as store:
        store.done_ids()


# ---- lock


def test_two_writers_are_refused_and_readers_are_not(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.append(outcome("a"))
        with pytest.raises(RunLocked, match=f"pid {os.getpid()}"):
            new_store(tmp_path)
        with RunStore.open(tmp_path) as reader:
            assert ids(reader) == ["a"]
    with new_store(tmp_path) as store:
        assert store.done_ids() == {"a"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_lock_that_can_not_be_written_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("/dev/full")  # can be locked, and holds nothing
    for _ in range(2):  # the second time it is not locked by the first
        with pytest.raises(RunError, match="can't be used as a run folder"):
            new_store(tmp_path)


def test_reader_can_not_write(tmp_path: Path) -> None:
    with new_store(tmp_path):
        pass
    with RunStore.open(tmp_path) as reader:
        with pytest.raises(RunError, match="reading only"):
            reader.append(outcome("a"))
        with pytest.raises(RunError, match="reading only"):
            reader.put([StoredReply("k", "a", 0, Reply(text="x"))])


# ---- outcomes

NASTY = outcome("ä\n\u2028\x00😀", 'quote " and \\ and newline \n Answer: A', facets={"层": ("é\t",)})


def test_a_line_torn_at_any_byte_is_ignored_and_then_removed(tmp_path: Path) -> None:
    whole = msgspec.json.encode(outcome("first")) + b"\n"
    last = msgspec.json.encode(NASTY) + b"\n"
    path = tmp_path / "outcomes-0.jsonl"
    for cut in range(len(last)):
        path.write_bytes(whole + last[:cut])
        assert [found.sample_id for found in read_outcomes(tmp_path)] == ["first"], cut
        writer = LineWriter(path)
        writer.append(NASTY)
        writer.close()
        assert path.read_bytes() == whole + last, cut


def test_a_file_of_nothing_but_a_torn_line(tmp_path: Path) -> None:
    (tmp_path / "outcomes-0.jsonl").write_bytes(b"\x00" * 3_000_000)  # what a power cut may leave
    assert list(read_outcomes(tmp_path)) == []
    writer = LineWriter(tmp_path / "outcomes-0.jsonl")
    writer.append(outcome("a"))
    writer.close()
    assert [found.sample_id for found in read_outcomes(tmp_path)] == ["a"]


@pytest.mark.parametrize("broken", [b"{", b"\x00\x00", b"[]", b"{}", b'{"sample_id": 3}', b"", b"\xff"])
def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path, broken: bytes) -> None:
    good = msgspec.json.encode(outcome("a")) + b"\n"
    (tmp_path / "outcomes-0.jsonl").write_bytes(good + broken + b"\n" + good)
    with pytest.raises(DataError, match=r"outcomes-0\.jsonl:2: not an outcome"):
        list(read_outcomes(tmp_path))


def test_unknown_fields_are_refused(tmp_path: Path) -> None:
    line = msgspec.json.encode(msgspec.to_builtins(outcome("a")) | {"score": 1})
    (tmp_path / "outcomes-0.jsonl").write_bytes(line + b"\n")
    with pytest.raises(DataError, match="score"):
        list(read_outcomes(tmp_path))


def test_failures_are_not_done_and_give_way_to_a_later_outcome(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.append(failed("a"))
        store.append(outcome("b"))
        store.append(failed("c"))
        assert (store.done_ids(), store.failed_ids()) == ({"b"}, {"a", "c"})
    with new_store(tmp_path) as store:
        store.append(outcome("a"))
        assert (store.done_ids(), store.failed_ids()) == ({"a", "b"}, {"c"})
        assert ids(store) == ["b", "c", "a"]


def test_the_last_line_of_an_id_counts(tmp_path: Path) -> None:
    write_lines(tmp_path / "outcomes-0.jsonl", outcome("a", "Answer: B"), outcome("b"), outcome("a", "Answer: A"))
    assert list(read_outcomes(tmp_path)) == [outcome("b"), outcome("a", "Answer: A")]


def test_between_files_an_outcome_counts_before_a_failure(tmp_path: Path) -> None:
    # Worker 10 failed on "a" before another sharding gave it to worker 2, which marked it.
    write_lines(tmp_path / "outcomes-2.jsonl", outcome("b"), outcome("a"))
    write_lines(tmp_path / "outcomes-10.jsonl", failed("a"), outcome("c"))
    assert list(read_outcomes(tmp_path)) == [outcome("b"), outcome("a"), outcome("c")]


@given(lines=st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.integers(0, 9)), max_size=30))
def test_reading_agrees_with_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, bool, int]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    written = [
        outcome(name, attempts=number) if good else msgspec.structs.replace(failed(name), attempts=number)
        for name, good, number in lines
    ]
    write_lines(folder / "outcomes-0.jsonl", *written)
    expected = {line.sample_id: line for line in written}
    assert {found.sample_id: found for found in read_outcomes(folder)} == expected
    assert len(list(read_outcomes(folder))) == len(expected)


FILLER = """
import resource, signal, sys
from pathlib import Path
from assay.engine.lines import LineWriter
from assay.engine.outcomes import read_outcomes
from assay.errors import RunError
from support.runs import outcome

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
writer = LineWriter(folder / "outcomes-0.jsonl")
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
written = 0
try:
    while True:
        writer.append(outcome(f"q{written}"))
        written += 1
except RunError as error:
    print(written, [found.sample_id for found in read_outcomes(folder)] == [f"q{i}" for i in range(written)])
    print(error)
"""


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    """A limit on the file's size shortens the last write and then refuses, as a full disk does."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    child = subprocess.run(
        [sys.executable, "-c", FILLER, str(tmp_path)], capture_output=True, text=True, env=environment, check=True
    )
    line = len(msgspec.json.encode(outcome("q0"))) + 1  # every line up to q9 is this long
    first, message = child.stdout.splitlines()
    assert first == f"{2000 // line} True"
    assert "can't be written: File too large. Free space" in message
    assert (tmp_path / "outcomes-0.jsonl").read_bytes().endswith(b"\n")


# ---- replies


def test_replies_come_back_whole(tmp_path: Path) -> None:
    long = Reply(text="长" * 40_000 + "\x00\ud7ff", reasoning="because", finish="length", usage=Usage(prompt_tokens=3))
    with new_store(tmp_path) as store:
        store.put([StoredReply("k1", "a", 1, long), StoredReply("k0", "a", 0, Reply(text="first"))])
        assert store.get("k1") == long
        assert store.get("other") is None
        assert store.replies_of("a") == [Reply(text="first"), long]
        assert store.replies_of("b") == []
        assert store.reply_count() == 2
    with RunStore.open(tmp_path) as store:
        assert store.get("k1") == long


def test_a_stored_reply_is_never_replaced(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.put([StoredReply("k", "a", 0, Reply(text="first"))])
        store.put([StoredReply("k", "a", 0, Reply(text="second")), StoredReply("l", "a", 1, Reply(text="new"))])
        assert store.replies_of("a") == [Reply(text="first"), Reply(text="new")]


def test_usage_of_all_replies(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.put([StoredReply("k", "a", 0, Reply(text="x", usage=Usage(prompt_tokens=5, completion_tokens=2)))])
        store.put([StoredReply("l", "a", 1, Reply(text="x", usage=Usage(completion_tokens=4)))])
        store.put([StoredReply("m", "b", 0, Reply(text="x"))])
        assert store.usage() == Usage(prompt_tokens=5, completion_tokens=6)  # 5+0, 2+4


def test_a_run_stopped_before_its_first_reply_can_be_read(tmp_path: Path) -> None:
    with new_store(tmp_path):
        pass
    (tmp_path / "replies.sqlite").unlink()
    with RunStore.open(tmp_path) as store:
        assert (store.get("k"), store.reply_count(), store.usage()) == (None, 0, Usage())


@pytest.mark.parametrize("damage", [b"not a database, not at all" * 50, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_reply_file_is_one_clear_sentence(tmp_path: Path, damage: bytes) -> None:
    with new_store(tmp_path):
        pass
    (tmp_path / "replies.sqlite").write_bytes(damage)
    with pytest.raises(RunError, match=r"replies\.sqlite: the file is damaged .*Move the file away"):
        new_store(tmp_path)
    (tmp_path / "replies.sqlite").unlink()
    with new_store(tmp_path):  # the lock was freed
        pass


def test_a_damaged_page_in_the_middle(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.put([StoredReply(f"{i:064}", f"q{i}", 0, Reply(text="x" * 3000)) for i in range(50)])
    data = bytearray((tmp_path / "replies.sqlite").read_bytes())
    data[4096:] = b"\xab" * (len(data) - 4096)
    (tmp_path / "replies.sqlite").write_bytes(data)
    with pytest.raises(RunError, match="damaged"), RunStore.open(tmp_path) as store:
        store.usage()


def test_a_reply_that_is_no_reply(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        store.put([StoredReply("k", "a", 0, Reply(text="x"))])
    connection = sqlite3.connect(tmp_path / "replies.sqlite")
    connection.execute("UPDATE replies SET reply = x'7b'")
    connection.commit()
    connection.close()
    with RunStore.open(tmp_path) as store, pytest.raises(RunError, match="the reply k can't be read"):
        store.get("k")


# ---- kill -9

WRITER = """
import sys
from pathlib import Path
from assay.engine.store import RunStore, StoredReply
from assay.types import Reply
from support.runs import new_store, outcome

store = new_store(Path(sys.argv[1]))
begin = len(store.done_ids())
for number in range(begin, begin + 100_000):
    store.put([StoredReply(f"key{number}", f"q{number}", 0, Reply(text="x" * (number * 37 % 5000)))])
    store.append(outcome(f"q{number}", reply=f"key{number}"))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    rng = random.Random(9)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    acknowledged = -1
    for _ in range(20):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert child.stdout is not None
        for _ in range(rng.randrange(1, 60)):
            acknowledged = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        # What was in the pipe when it died was acknowledged too; its last line may be torn.
        rest = child.stdout.read().split("\n")[:-1]
        child.stdout.close()
        child.wait()
        acknowledged = int(rest[-1]) if rest else acknowledged
        with RunStore.open(tmp_path) as store:
            found = [line.sample_id for line in store.outcomes()]
            assert found == [f"q{number}" for number in range(len(found))]
            assert len(found) > acknowledged
            assert all(store.get(f"key{number}") is not None for number in range(len(found)))


def test_a_sample_is_done_under_each_condition_by_itself(tmp_path: Path) -> None:
    with new_store(tmp_path / "run", conditions=("", "repeat=1", "repeat=2")) as store:
        store.append(outcome("a"))
        store.append(outcome("a", "Answer: B", condition="repeat=1"))
        store.append(msgspec.structs.replace(failed("a"), condition="repeat=2"))
        store.append(msgspec.structs.replace(failed("b"), condition="repeat=1"))
        assert store.done_ids() == {"a", "a [repeat=1]"}
        assert store.failed_ids() == {"a [repeat=2]", "b [repeat=1]"}
        store.append(outcome("a", "Answer: C", condition="repeat=2"))
        store.append(outcome("a", "Answer: D", condition="repeat=1"))
        found = {line.id: line.result for line in store.outcomes()}
    extracted = {name: result.robust.extraction for name, result in found.items() if isinstance(result, Marked)}
    assert extracted == {"a": "A", "a [repeat=1]": "D", "a [repeat=2]": "C"}
    assert len(found) == 4


def test_lines_from_before_there_were_conditions_are_plain(tmp_path: Path) -> None:
    with new_store(tmp_path / "run") as store:
        store.append(outcome("a"))
        store.append(outcome("b"))
    file = tmp_path / "run" / "outcomes-0.jsonl"
    old = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]
    file.write_bytes(
        b"".join(
            msgspec.json.encode({name: value for name, value in line.items() if name != "condition"}) + b"\n"
            for line in old
        )
    )
    with RunStore.open(tmp_path / "run") as store:
        assert store.done_ids() == {"a", "b"}
        assert [line.condition for line in store.outcomes()] == ["", ""]
