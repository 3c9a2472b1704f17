"""What arrives in one turn of the event loop is written together: replies first, all of it before anybody goes on."""

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.engine.collector import seldom_collecting
from assay.engine.group import Group
from assay.engine.outcomes import read_outcomes
from assay.engine.store import RunStore, StoredReply
from assay.errors import RunError
from assay.types import Failure, Outcome, Reply
from support.runs import new_store, outcome


def stored(name: str) -> StoredReply:
    return StoredReply(f"key-{name}", name, 0, Reply(text=f"Answer: {name}"))


class Disk:
    """Notes what is written, in order; full once `room` writes are done."""

    def __init__(self, room: int = 1000) -> None:
        self.log: list[tuple[str, ...]] = []
        self._room = room

    def put(self, rows: Sequence[StoredReply]) -> None:
        self._write("replies", *(row.sample_id for row in rows))

    def append(self, outcomes: Sequence[Outcome]) -> None:
        self._write("outcomes", *(one.sample_id for one in outcomes))

    def _write(self, *entry: str) -> None:
        if len(self.log) >= self._room:
            raise RunError("the disk is full")
        self.log.append(entry)


def test_a_turn_is_one_write_each_replies_first() -> None:
    disk = Disk()

    async def main() -> None:
        group = Group(disk.put, disk.append)
        await asyncio.gather(
            group.write(outcomes=(outcome("a"),)),
            group.write((stored("b"), stored("c"))),
            group.write(outcomes=(outcome("d"),)),
            group.write((stored("e"),)),
        )
        await group.write((stored("f"),))

    asyncio.run(main())
    assert disk.log == [("replies", "b", "c", "e"), ("outcomes", "a", "d"), ("replies", "f")]


def test_nobody_goes_on_before_it_is_written(tmp_path: Path) -> None:
    async def one(store: RunStore, name: str) -> None:
        await store.put_soon([stored(name)])
        with RunStore.open(tmp_path) as reader:  # as another process would see it
            assert reader.get(f"key-{name}") == stored(name).reply
        await store.append_soon(outcome(name))
        assert name in {found.sample_id for found in read_outcomes(tmp_path)}

    async def main() -> None:
        with new_store(tmp_path) as store:
            await asyncio.gather(*(one(store, str(number)) for number in range(20)))

    asyncio.run(main())


def test_an_error_reaches_all_who_wait_for_it_and_no_outcome_is_without_its_reply() -> None:
    disk = Disk(room=1)

    async def main() -> Sequence[BaseException | None]:
        group = Group(disk.put, disk.append)
        await group.write((stored("first"),))
        return await asyncio.gather(
            group.write((stored("a"),)), group.write(outcomes=(outcome("b"),)), return_exceptions=True
        )

    errors = asyncio.run(main())
    assert [str(error) for error in errors] == ["the disk is full"] * 2
    assert errors[0] is not errors[1]
    assert disk.log == [("replies", "first")]


def test_who_is_cancelled_while_waiting_has_it_written() -> None:
    disk = Disk()

    async def main() -> None:
        group = Group(disk.put, disk.append)
        waiting = asyncio.create_task(group.write(outcomes=(outcome("a"),)))
        other = asyncio.create_task(group.write(outcomes=(outcome("b"),)))
        await asyncio.sleep(0)
        waiting.cancel()
        await other
        assert waiting.cancelled() or waiting.cancelling()

    asyncio.run(main())
    assert disk.log == [("outcomes", "a", "b")]


def test_closing_the_store_writes_what_waits(tmp_path: Path) -> None:
    async def main() -> None:
        with new_store(tmp_path) as store:
            task = asyncio.create_task(store.append_soon(outcome("a")))
            await asyncio.sleep(0)
        await task

    asyncio.run(main())
    assert [found.sample_id for found in read_outcomes(tmp_path)] == ["a"]


def test_a_store_open_for_reading_takes_nothing(tmp_path: Path) -> None:
    with new_store(tmp_path):
        pass
    with RunStore.open(tmp_path) as reader:
        for writing in (reader.append_soon(outcome("a")), reader.put_soon([stored("a")])):
            with pytest.raises(RunError, match="reading only"):
                asyncio.run(writing)


def test_the_collector_is_as_before_afterwards() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()

    def failing() -> None:
        with seldom_collecting():
            assert gc.get_threshold()[0] > before[0]
            assert gc.get_freeze_count() > frozen
            raise KeyError

    with pytest.raises(KeyError):
        failing()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, frozen)


def test_the_collector_is_as_before_when_the_last_of_several_runs_has_ended() -> None:
    """Runs of one process end in any order: the second one must not bring back the settings of the first."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    first, second = seldom_collecting(), seldom_collecting()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0]
    assert gc.get_freeze_count() > frozen
    second.__exit__(None, None, None)
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, frozen)


def test_what_somebody_else_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with seldom_collecting():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_nobody_waits_for_ever_whatever_goes_wrong() -> None:
    """An error that nobody foresaw reaches everybody who waits, and the next turn is written as usual."""

    def broken(_: Sequence[Outcome]) -> None:
        raise ValueError("no such thing")

    disk = Disk()

    async def main() -> list[object]:
        group = Group(disk.put, broken)
        waiting = (group.write(outcomes=(outcome("a"),)), group.write((stored("b"),)))
        return list(await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 10))

    found = asyncio.run(main())
    assert [type(one) for one in found] == [RunError, RunError]
    assert all("no such thing" in str(one) for one in found)


def test_half_a_surrogate_pair_stops_nothing(tmp_path: Path) -> None:
    """A file name that is no UTF-8 comes as lone surrogates, which no JSON can hold."""
    message = "bad \udcff.png and \ud83d, but a whole pair stays: \U0001f600"

    async def main(store: RunStore) -> None:
        failed = Outcome(sample_id="a", group="a", result=Failure(stage="image", kind="missing", message=message))
        reply = StoredReply("key-b", "b", 0, Reply(text=message))
        await asyncio.wait_for(
            asyncio.gather(store.append_soon(failed), store.append_soon(outcome("b")), store.put_soon((reply,))), 10
        )

    with new_store(tmp_path) as store:
        asyncio.run(main(store))
    found = {one.sample_id: one for one in read_outcomes(tmp_path)}
    assert set(found) == {"a", "b"}
    expected = "bad \ufffd.png and \ufffd, but a whole pair stays: \U0001f600"
    result = found["a"].result
    assert isinstance(result, Failure)
    assert result.message == expected
    with RunStore.open(tmp_path) as store:
        kept = store.get("key-b")
    assert kept is not None
    assert kept.text == expected
