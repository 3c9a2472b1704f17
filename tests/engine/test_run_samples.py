"""`run_samples`: every sample ends in one outcome, whatever the endpoint, the signals and the kills."""

import asyncio
import logging
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.engine.local import Caller, Finished, Retry, Stop, run_samples
from assay.engine.store import RunStore
from assay.errors import AssayError, CallError, DataError, ImageError, MarkError, RunError, RunStopped, UsageError
from assay.models.openai import OpenAIModel
from assay.models.scripted import Answer, ScriptedModel
from assay.types import Failure, Marked, Outcome, Reply, Request, Sample, Usage
from support.quiz_run import quiz_model, reply_to
from support.runs import asking, manifest, new_store, outcome, request_of, samples
from support.servers import ChatServer, rate_limited, share

TESTS = Path(__file__).parents[1]
FAST = Retry(base=0.001, cap=0.01)


def run(store: RunStore, count: int, work: object, **options: object) -> Finished:
    return asyncio.run(run_samples(samples(count), work, store=store, **options))  # pyright: ignore[reportArgumentType]


def by_id(store: RunStore) -> dict[str, Outcome]:
    found = list(store.outcomes())
    assert len({one.sample_id for one in found}) == len(found)
    return {one.sample_id: one for one in found}


def results(store: RunStore) -> dict[str, Outcome]:
    """Outcomes without the count of calls, which a resume changes."""
    return {name: msgspec.structs.replace(one, attempts=0) for name, one in by_id(store).items()}


async def quiz(sample: Sample) -> Outcome:
    await asyncio.sleep(0)
    return outcome(sample.id)


# ---- outcomes


def test_every_sample_ends_in_one_outcome(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        caller = Caller(quiz_model(), store=store)
        seen: list[str] = []

        def see(one: Outcome) -> None:
            seen.append(one.sample_id)

        finished = run(store, 100, asking(caller.generate), stop=caller.stop, on_outcome=see)
        assert finished == Finished(skipped=0, marked=100, failed=0)
        assert sorted(seen) == sorted(by_id(store)) == sorted(sample.id for sample in samples(100))
        one = by_id(store)["q3"]
        seed = request_of(samples(4)[3]).seed
        assert one == outcome(
            "q3",
            f"Answer: {'ABCD'[seed % 4]}",
            group="g1",
            facets={"level": ("0",)},
            attempts=1,
            usage=Usage(prompt_tokens=seed % 100, completion_tokens=2),
        )


def test_a_second_start_asks_nothing(tmp_path: Path) -> None:
    for expected in (Finished(skipped=0, marked=20, failed=0), Finished(skipped=20, marked=0, failed=0)):
        with new_store(tmp_path) as store:
            caller = Caller(quiz_model(), store=store)
            assert run(store, 20, asking(caller.generate), stop=caller.stop) == expected
            assert caller.tally.calls == expected.marked


def test_failures_are_asked_again_by_the_next_start(tmp_path: Path) -> None:
    broken = True

    def answer(request: Request, index: int) -> Answer:
        if broken and request.sample_id in ("q2", "q5"):
            return CallError("bad_request", "Not today.")
        return reply_to(request, index)

    model = ScriptedModel(answer, identity="scripted:quiz")
    with new_store(tmp_path) as store:
        caller = Caller(model, store=store)
        assert run(store, 10, asking(caller.generate)) == Finished(skipped=0, marked=8, failed=2)
        failure = by_id(store)["q2"]
        assert failure.result == Failure(stage="call", kind="bad_request", message="Not today.")
        assert (failure.group, failure.facets, failure.attempts) == ("g1", {"level": ("2",)}, 1)
    broken = False
    with new_store(tmp_path) as store:
        caller = Caller(model, store=store)
        assert run(store, 10, asking(caller.generate)) == Finished(skipped=8, marked=2, failed=0)
        assert caller.tally.calls == 2
        assert all(isinstance(one.result, Marked) for one in by_id(store).values())


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (CallError("too_long", "Too long."), Failure(stage="call", kind="too_long", message="Too long.")),
        (ImageError("missing", "No a.png."), Failure(stage="image", kind="missing", message="No a.png.")),
        (MarkError("Deadline."), Failure(stage="mark", kind="mark_error", message="Deadline.")),
        (
            ZeroDivisionError("division by zero"),
            Failure(stage="internal", kind="internal", message="Sample q1: ZeroDivisionError: division by zero"),
        ),
        (
            asyncio.CancelledError(),
            Failure(
                stage="internal",
                kind="internal",
                message="Sample q1: RuntimeError: a task that the sample waited for was cancelled",
            ),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_one_sample_is_its_failure(
    tmp_path: Path, error: BaseException, failure: Failure, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(sample: Sample) -> Outcome:
        if sample.id == "q1":
            raise error
        return outcome(sample.id)

    with new_store(tmp_path) as store:
        assert run(store, 3, work) == Finished(skipped=0, marked=2, failed=1)
        assert by_id(store)["q1"].result == failure
    assert bool(caplog.records) == (failure.stage == "internal")


def test_an_outcome_of_another_sample_is_caught(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(sample: Sample) -> Outcome:
        return outcome("q0")

    with new_store(tmp_path) as store:
        assert run(store, 2, work) == Finished(skipped=0, marked=1, failed=1)
        assert set(by_id(store)) == {"q0", "q1"}
    assert "the outcome is that of sample q0" in caplog.text


def test_a_fault_in_every_sample_ends_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(sample: Sample) -> Outcome:
        await asyncio.sleep(0)
        raise KeyError(sample.id)

    caplog.set_level(logging.ERROR)
    with new_store(tmp_path) as store:
        with pytest.raises(RunStopped, match=r"6 samples met an internal error.*KeyError"):
            run(store, 100, work, concurrency=2)
        assert len(by_id(store)) <= 8
    assert len(caplog.records) >= 6
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    "error", [UsageError("Not so."), DataError("rows.jsonl:3", "broken", "Mend it"), RunError("x")]
)
def test_an_error_of_the_whole_run_ends_it_and_keeps_what_is_done(tmp_path: Path, error: AssayError) -> None:
    async def work(sample: Sample) -> Outcome:
        await asyncio.sleep(0)
        if sample.id == "q5":
            raise error
        return outcome(sample.id)

    with new_store(tmp_path) as store:
        with pytest.raises(type(error), match=str(error)):
            run(store, 100, work, concurrency=1)
        assert sorted(by_id(store)) == ["q0", "q1", "q2", "q3", "q4"]


def test_data_that_breaks_in_the_middle(tmp_path: Path) -> None:
    def rows() -> Iterator[Sample]:
        yield from samples(4)
        raise DataError("rows.jsonl:5", "broken", "Mend it")

    with new_store(tmp_path) as store:
        with pytest.raises(DataError, match=r"rows\.jsonl:5"):
            asyncio.run(run_samples(rows(), quiz, store=store, concurrency=2))
        assert len(by_id(store)) == 4  # those that were begun are finished


def test_no_samples(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        assert run(store, 0, quiz) == Finished(skipped=0, marked=0, failed=0)
        with pytest.raises(UsageError, match="At least one sample"):
            run(store, 1, quiz, concurrency=0)


@settings(max_examples=25)  # each opens a run folder
@given(count=st.integers(0, 40), concurrency=st.integers(1, 9))
def test_no_more_samples_are_live_than_allowed(
    tmp_path_factory: pytest.TempPathFactory, count: int, concurrency: int
) -> None:
    """What keeps memory flat: a sample is taken from the data only when another one is finished."""
    taken = stored = most = 0

    def rows() -> Iterator[Sample]:
        nonlocal taken, most
        for sample in samples(count):
            taken += 1
            most = max(most, taken - stored)
            yield sample

    def count_stored(_: Outcome) -> None:
        nonlocal stored
        stored += 1

    with new_store(tmp_path_factory.mktemp("run") / "r") as store:
        asyncio.run(run_samples(rows(), quiz, store=store, concurrency=concurrency, on_outcome=count_stored))
        assert len(by_id(store)) == count
    assert most == min(count, concurrency)


def test_work_that_never_waits_lets_others_run(tmp_path: Path) -> None:
    """A resume that is answered from the store alone must still see a signal."""

    async def work(sample: Sample) -> Outcome:
        return outcome(sample.id)

    async def main(store: RunStore) -> None:
        stop = Stop()
        asyncio.get_running_loop().call_soon(stop.request, RunStopped("Enough."))
        with pytest.raises(RunStopped, match=r"Enough\. \d of 10,000 samples are done and kept"):
            await run_samples(samples(10_000), work, store=store, stop=stop, concurrency=2, total=10_000)

    with new_store(tmp_path) as store:
        asyncio.run(main(store))


def test_runs_outside_the_main_thread(tmp_path: Path) -> None:
    found: list[Finished] = []
    with new_store(tmp_path):
        pass

    def elsewhere() -> None:
        with new_store(tmp_path) as store:
            found.append(run(store, 5, quiz))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [Finished(skipped=0, marked=5, failed=0)]


def test_being_cancelled_leaves_no_task_behind(tmp_path: Path) -> None:
    async def main(store: RunStore) -> None:
        async def work(sample: Sample) -> Outcome:
            await asyncio.sleep(3600)
            return outcome(sample.id)

        task = asyncio.create_task(run_samples(samples(9), work, store=store, concurrency=3))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with new_store(tmp_path) as store:
        asyncio.run(main(store))


def test_signal_handlers_are_put_back(tmp_path: Path) -> None:
    def mine(_number: int, _frame: object) -> None: ...

    before = signal.signal(signal.SIGTERM, mine)
    try:
        with new_store(tmp_path) as store:
            run(store, 3, quiz)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


# ---- a server that misbehaves


def test_a_fifth_of_all_calls_failing_loses_nothing(tmp_path: Path) -> None:
    """Connections cut, 429, 500, broken JSON, HTML: 500 samples in, 500 marked outcomes out, the right ones."""

    async def main(store: RunStore, url: str) -> Caller:
        model = OpenAIModel("test-model", url, api_key="")
        caller = Caller(model, store=store, retry=FAST)
        try:
            await run_samples(samples(500), asking(caller.generate), store=store, stop=caller.stop)
        finally:
            await caller.close()
        return caller

    with ChatServer(fault=share(0.2, seed=3)) as bad, new_store(tmp_path / "bad") as store:
        caller = asyncio.run(main(store, bad.url))
        found = by_id(store)
        calls = len(bad.calls)
    with ChatServer() as good, new_store(tmp_path / "good") as store:
        asyncio.run(main(store, good.url))
        undisturbed = by_id(store)
    assert len(found) == 500
    assert {name: one.result for name, one in found.items()} == {name: one.result for name, one in undisturbed.items()}
    assert 560 <= calls <= 700  # a fifth of all calls fails: 500 / 0.8 = 625 on average
    assert caller.tally.calls == calls == sum(one.attempts for one in found.values())
    assert caller.tally.retries.total() == calls - 500
    assert set(caller.tally.retries) >= {"rate_limit", "server", "connection", "malformed"}


def test_calls_that_always_fail_are_failures_not_scores(tmp_path: Path) -> None:
    async def main(store: RunStore, url: str) -> None:
        model = OpenAIModel("test-model", url, api_key="")
        caller = Caller(model, store=store, retry=Retry(base=0.001, cap=0.002, attempts=2, refusals=3))
        try:
            await run_samples(samples(60), asking(caller.generate), store=store, stop=caller.stop)
        finally:
            await caller.close()

    def every_third(call: object) -> object:
        number = int(call.question.split()[1].rstrip("?"))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
        return rate_limited() if number % 3 == 0 else None

    with ChatServer(fault=every_third) as server, new_store(tmp_path) as store:  # pyright: ignore[reportArgumentType]
        asyncio.run(main(store, server.url))
        found = by_id(store)
    assert len(found) == 60
    kinds = Counter(one.result.kind if isinstance(one.result, Failure) else "marked" for one in found.values())
    assert kinds == {"rate_limit": 20, "marked": 40}
    assert all(one.attempts == 3 for one in found.values() if isinstance(one.result, Failure))


# ---- signals and kills, in a process of its own


def start(folder: Path, count: int, concurrency: int, seconds: str, grace: float) -> "subprocess.Popen[str]":
    arguments = [str(folder), str(count), str(concurrency), seconds, str(grace)]
    environment = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONUNBUFFERED": "1"}
    script = [sys.executable, str(TESTS / "support" / "quiz_run.py"), *arguments]
    return subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env=environment)


def read_until(child: "subprocess.Popen[str]", word: str, times: int) -> list[str]:
    """Lines up to the one that starts with `word` for the given time; fewer if the process ends."""
    assert child.stdout is not None
    lines: list[str] = []
    while times and (line := child.stdout.readline()):
        lines.append(line.strip())
        times -= line.startswith(word)
    return lines


@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_a_signal_lets_calls_in_flight_finish(tmp_path: Path, number: signal.Signals, name: str) -> None:
    with start(tmp_path, 100, 4, "0.3", 30) as child:
        read_until(child, "call", 8)  # four are done, four are in flight
        child.send_signal(number)
        rest = read_until(child, "stopped", 1)
    assert child.returncode == 0
    assert rest[-1] == (
        f"stopped: Stopped by {name}. 8 of 100 samples are done and kept; the same command goes on from there."
    )
    assert [line for line in rest if line.startswith("call")] == []
    with new_store(tmp_path) as store:
        assert len(store.done_ids()) == 8
        assert store.reply_count() == 8


def test_calls_that_outlast_the_grace_are_given_up(tmp_path: Path) -> None:
    with start(tmp_path, 10, 3, "never", 0.2) as child:
        read_until(child, "call", 3)
        child.send_signal(signal.SIGINT)
        rest = read_until(child, "stopped", 1)
    assert child.returncode == 0
    assert "0 of 10 samples are done" in rest[-1]
    with new_store(tmp_path) as store:
        assert store.done_ids() == set()


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    with start(tmp_path, 10, 3, "never", 3600) as child:
        read_until(child, "call", 3)
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGTERM)
        rest = read_until(child, "stopped", 1)
    assert child.returncode == 0
    assert rest[-1].startswith("stopped: Stopped by ")


def test_killed_twenty_times_a_run_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    count = 400
    rng = random.Random(20)
    acknowledged: set[str] = set()
    for _ in range(20):
        with start(tmp_path / "killed", count, rng.randrange(1, 40), "0.002", 10) as child:
            lines = read_until(child, "done", rng.randrange(1, count // 20))
            child.send_signal(signal.SIGKILL)
            assert child.stdout is not None
            lines += child.stdout.read().split("\n")[:-1]
        acknowledged |= {line.split()[1] for line in lines if line.startswith("done")}
        with RunStore.open(tmp_path / "killed") as store:
            assert acknowledged <= store.done_ids()
    with start(tmp_path / "killed", count, 64, "0", 10) as child:
        assert read_until(child, "finished", 1)[-1] == f"finished {count}"
    with new_store(tmp_path / "whole") as store:
        caller = Caller(quiz_model(), store=store)
        run(store, count, asking(caller.generate), stop=caller.stop, concurrency=7)
        expected, usage = results(store), store.usage()
    with RunStore.open(tmp_path / "killed") as store:
        assert store.manifest == manifest()
        assert results(store) == expected
        assert store.usage() == usage
        assert store.reply_count() == count


def test_replies_paid_before_a_kill_are_not_paid_again(tmp_path: Path) -> None:
    """A sample of several calls: the calls that were answered are in the store although the sample never finished."""
    calls: Counter[str] = Counter()

    def answer(request: Request, index: int) -> Answer:
        calls[request.messages[0].parts[0].text] += 1  # pyright: ignore[reportAttributeAccessIssue]
        return reply_to(request, index)

    model = ScriptedModel(answer, identity="scripted:quiz")

    async def ask(caller: Caller, sample: Sample, text: str) -> Reply:
        part = msgspec.structs.replace(sample, question=f"{sample.question} {text}")
        return (await caller.generate(request_of(part)))[0]

    with new_store(tmp_path) as store:
        caller = Caller(model, store=store)
        answered = asyncio.Barrier(3)

        async def interrupted(sample: Sample) -> Outcome:
            await ask(caller, sample, "Solve it.")
            await answered.wait()
            raise RunStopped("The machine went away.")

        with pytest.raises(RunStopped, match="went away"):
            run(store, 3, interrupted, concurrency=3, stop=caller.stop)
    with new_store(tmp_path) as store:
        caller = Caller(model, store=store)

        async def whole(sample: Sample) -> Outcome:
            await ask(caller, sample, "Solve it.")
            await ask(caller, sample, "Judge it.")
            return outcome(sample.id)

        assert run(store, 3, whole, stop=caller.stop).marked == 3
        assert (caller.tally.hits, caller.tally.misses) == (3, 3)
    assert set(calls.values()) == {1}
    assert len(calls) == 6
