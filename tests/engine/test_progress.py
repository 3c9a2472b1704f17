"""What a run shows while it goes."""

import asyncio
import contextlib
import io
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import TextIO

import pytest

from assay.engine.pool import Pool
from assay.engine.progress import Progress, watched
from assay.engine.tally import Tally
from support.runs import FakeTime, failed, outcome
from support.terminal import Terminal


def in_fake_time(test: Callable[[FakeTime], Awaitable[None]]) -> None:
    time = FakeTime()

    async def body() -> None:
        await test(time)

    asyncio.run(time.run(body()))


def progress_on(time: FakeTime, stream: io.StringIO, tally: Tally, *, total: int = 1000, already: int = 0) -> Progress:
    pool = Pool(clock=time.clock, sleep=time.sleep)
    return Progress(
        total=total, already=already, tally=tally, pool=pool, stream=stream, clock=time.clock, sleep=time.sleep
    )


def test_a_line_every_half_minute_says_everything() -> None:
    stream = io.StringIO()

    async def test(time: FakeTime) -> None:
        tally = Tally(hits=7, retries=Counter({"server": 2, "rate_limit": 10}))
        async with progress_on(time, stream, tally, already=100) as progress:
            for number in range(20):
                progress.count(failed("a") if number < 3 else outcome("b"))
            await time.sleep(30.5)

    in_fake_time(test)
    # 20 samples in 30 s are 0.67/s; the 880 that are left take 880 / (20 / 30) = 1320 s.
    assert stream.getvalue().splitlines()[0] == (
        "120/1,000 (12%), 0.7/s, 0 calls in flight (limit 8), 7 from the store, "
        "12 retries (10 rate_limit, 2 server), 3 failed, 22 min left"
    )


def test_a_run_that_waits_does_not_look_stuck() -> None:
    """Case 133: nothing is finished for minutes, and the lines say what is going on."""
    stream = io.StringIO()

    async def test(time: FakeTime) -> None:
        tally = Tally()
        pool = Pool(clock=time.clock, sleep=time.sleep)
        progress = Progress(total=10, tally=tally, pool=pool, stream=stream, clock=time.clock, sleep=time.sleep)
        async with progress:
            pool.release(await pool.acquire(), "refused", retry_after=100)
            tally.retries["rate_limit"] += 1
            await time.sleep(95)

    in_fake_time(test)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4  # at 30, 60 and 90 s, and at the end
    assert lines[1] == (
        "0/10 (0%), rate unknown, 0 calls in flight (limit 4), 1 retries (1 rate_limit), next call in 40 s (rate limit)"
    )


def test_the_rate_is_that_of_the_last_minute() -> None:
    async def test(time: FakeTime) -> None:
        progress = progress_on(time, io.StringIO(), Tally())
        assert progress.rate() is None
        for second in range(1, 301):
            time.now = float(second)
            for _ in range(10 if second <= 150 else 2):  # slower in the second half
                progress.count(outcome("a"))
            progress.rate()
        assert progress.rate() == pytest.approx(2.0)

    in_fake_time(test)


@pytest.mark.parametrize(("seconds", "words"), [(10, "10 s left"), (600, "10 min left"), (12_000, "3 h 20 min left")])
def test_time_left_in_words(seconds: int, words: str) -> None:
    async def test(time: FakeTime) -> None:
        progress = progress_on(time, io.StringIO(), Tally(), total=1 + seconds)
        progress.rate()
        time.now = 1.0
        progress.count(outcome("a"))  # one a second
        assert progress.line().endswith(words)

    in_fake_time(test)


def test_no_samples_at_all() -> None:
    async def test(time: FakeTime) -> None:
        assert progress_on(time, io.StringIO(), Tally(), total=0).line().startswith("0/0, rate unknown")

    in_fake_time(test)


def test_a_terminal_gets_a_bar() -> None:
    stream = Terminal()

    async def test(time: FakeTime) -> None:
        async with progress_on(time, stream, Tally(), total=2) as progress:
            progress.count(outcome("a"))
            await time.sleep(0.6)
            progress.count(outcome("b"))

    in_fake_time(test)
    assert "1/2" in stream.getvalue()
    assert "2/2" in stream.getvalue()


# ---- work that no event loop runs


def test_without_an_event_loop_the_line_that_is_due_comes_with_the_next_count() -> None:
    stream, now = io.StringIO(), [0.0]
    with Progress(total=400, stream=stream, clock=lambda: now[0]) as progress:
        for number in range(100):
            now[0] += 0.65
            progress.count(failed("a") if number == 0 else outcome("b"))
    # 0.65 s each: the 47th comes at 30.55 s, the next line is due at 60.55 s, which is after 93 and before the 94th.
    assert stream.getvalue().splitlines() == [
        "47/400 (12%), 1.5/s, 1 failed, 4 min left",
        "94/400 (24%), 1.5/s, 1 failed, 3 min left",
        "100/400 (25%), 1.5/s, 1 failed, 3 min left",
    ]


@pytest.fixture
def broken() -> Iterator[TextIO]:
    """A stream that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    yield stream
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def test_work_goes_on_where_nobody_looks_any_more(broken: TextIO) -> None:
    with Progress(total=3, stream=broken, every=0) as progress:
        for _ in range(3):
            progress.count(outcome("a"))
    assert progress.done == 3


def test_a_run_goes_on_where_nobody_looks_any_more(broken: TextIO) -> None:
    async def test(time: FakeTime) -> None:
        async with Progress(total=3, stream=broken, clock=time.clock, sleep=time.sleep) as progress:
            for _ in range(3):
                await time.sleep(31)
                progress.count(outcome("a"))
        assert progress.done == 3

    in_fake_time(test)


def test_what_is_gone_through_is_named_where_it_is_not_samples() -> None:
    stream, now = io.StringIO(), [0.0]
    with Progress(total=2, title="pools", stream=stream, clock=lambda: now[0]) as progress:
        for _ in range(2):
            now[0] += 40
            progress.count("a pool")
    # At 40 s, at 80 s, and at the end.
    assert stream.getvalue().splitlines()[1:] == ["pools: 2/2 (100%), 0.0/s"] * 2


def test_a_log_gets_no_line_of_what_is_done_at_once() -> None:
    stream = io.StringIO()
    with Progress(total=1, stream=stream, clock=lambda: 0.0) as progress:
        progress.count(outcome("a"))
    assert stream.getvalue() == ""


def test_without_an_event_loop_a_terminal_gets_a_bar_too_and_is_left_in_order() -> None:
    stream, now = Terminal(), [0.0]

    def stopped_after_two() -> None:
        with Progress(total=3, title="pools", stream=stream, clock=lambda: now[0]) as progress:
            for _ in range(2):
                now[0] += 0.6
                progress.count("a pool")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        stopped_after_two()
    assert "pools:" in stream.getvalue()
    assert [f"{number}/3" in stream.getvalue() for number in (1, 2, 3)] == [True, True, False]
    assert stream.getvalue().endswith("\n\x1b[?25h")  # a new line, and the cursor is back


def test_watched_items_pass_in_order() -> None:
    stream = Terminal()
    with contextlib.redirect_stderr(stream):
        assert list(watched(iter("abc"), total=3)) == ["a", "b", "c"]
    assert "3/3" in stream.getvalue()
