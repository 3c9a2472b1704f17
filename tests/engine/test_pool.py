"""The limiter, on a clock that only moves when everybody waits."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engine.pool import Ending, Pool
from assay.errors import RunStopped
from support.runs import FakeTime


def pool_on(time: FakeTime, *, maximum: int = 64, start: int = 8) -> Pool:
    return Pool(maximum=maximum, start=start, clock=time.clock, sleep=time.sleep)


Endpoint = Callable[[int], tuple[float, Ending, float | None]]


async def calls(pool: Pool, time: FakeTime, count: int, endpoint: Endpoint) -> list[tuple[float, int]]:
    """`count` calls at once; the endpoint says, given the calls in flight, how long one takes and how it ends.

    Returns start time and limit of each call, in the order of starts.
    """
    starts: list[tuple[float, int]] = []

    async def one() -> None:
        ticket = await pool.acquire()
        starts.append((time.now, pool.limit))
        seconds, ending, retry_after = endpoint(pool.active)
        await time.sleep(seconds)
        pool.release(ticket, ending, retry_after=retry_after)

    await asyncio.gather(*(one() for _ in range(count)))
    return starts


def in_fake_time(test: Callable[[FakeTime], Awaitable[None]]) -> None:
    time = FakeTime()

    async def body() -> None:
        await test(time)

    asyncio.run(time.run(body()))


def test_never_more_than_the_limit_in_flight() -> None:
    most = 0

    async def test(time: FakeTime) -> None:
        def endpoint(active: int) -> tuple[float, Ending, None]:
            nonlocal most
            most = max(most, active)
            return 1.0, "ok", None

        await calls(pool_on(time, maximum=5), time, 40, endpoint)

    in_fake_time(test)
    assert most == 5


def test_grows_to_the_maximum_while_latency_holds() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time)
        await calls(pool, time, 1200, lambda _: (1.0, "ok", None))
        assert pool.limit == 64

    in_fake_time(test)


def test_stops_growing_where_latency_rises_with_load() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, start=4)
        # One worker behind a queue: a call takes as many seconds as calls are in flight.
        await calls(pool, time, 2000, lambda active: (float(active), "ok", None))
        # Its best smoothed latency is about 4 s (four in flight); growth ends near three times that.
        assert 8 <= pool.limit <= 16

    in_fake_time(test)


def test_a_limit_that_nobody_reaches_does_not_grow() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time)
        for _ in range(100):
            await calls(pool, time, 3, lambda _: (1.0, "ok", None))
        assert pool.limit == 8

    in_fake_time(test)


def test_halves_once_per_round_trip() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, start=16)
        tickets = [await pool.acquire() for _ in range(16)]
        time.now = 1.0
        first = [pool.release(ticket, "refused") for ticket in tickets]
        assert first == [True] + [False] * 15
        assert pool.limit == 8  # 16 / 2, not 16 / 2**16
        time.now = 2.0
        later = [await pool.acquire() for _ in range(8)]
        time.now = 3.0
        assert [pool.release(ticket, "refused") for ticket in later].count(True) == 1
        assert pool.limit == 4

    in_fake_time(test)


def test_other_failures_say_nothing_about_load() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time)
        await calls(pool, time, 50, lambda _: (1.0, "failed", None))
        assert pool.limit == 8

    in_fake_time(test)


def test_retry_after_holds_for_everybody() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, start=2)
        refused = False

        def endpoint(_: int) -> tuple[float, Ending, float | None]:
            nonlocal refused
            if refused:
                return 1.0, "ok", None
            refused = True
            return 1.0, "refused", 30.0

        starts = [start for start, _ in await calls(pool, time, 5, endpoint)]
        # Two start at 0; the first is refused at 1 with Retry-After 30: nobody starts before 31.
        assert starts[:2] == [0.0, 0.0]
        assert starts[2] == 31.0
        assert min(starts[2:]) == 31.0

    in_fake_time(test)


def test_the_longest_retry_after_counts() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time)
        first, second = await pool.acquire(), await pool.acquire()
        pool.release(first, "refused", retry_after=60.0)
        pool.release(second, "refused", retry_after=5.0)
        assert pool.pause == 60.0
        await pool.acquire()
        assert time.now == 60.0

    in_fake_time(test)


def test_starts_are_spaced_out_where_one_at_a_time_is_too_many() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, start=1)
        for expected_gap in (1.0, 1.5, 2.25):
            ticket = await pool.acquire()
            started = time.now
            await time.sleep(0.1)
            pool.release(ticket, "refused")
            ticket = await pool.acquire()
            assert time.now == pytest.approx(started + expected_gap)
            pool.release(ticket, "failed")

    in_fake_time(test)


def test_an_endpoint_that_says_how_long_is_taken_at_its_word() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, start=1)
        for _ in range(10):
            pool.release(await pool.acquire(), "refused", retry_after=0.0)
            time.now += 0.001
        assert pool.pause == 0.0

    in_fake_time(test)


def test_refusals_that_have_nothing_to_do_with_pace_do_not_stop_everything() -> None:
    """Every third call is refused however slowly we go."""

    async def test(time: FakeTime) -> None:
        pool = pool_on(time)
        for number in range(600):
            ticket = await pool.acquire()
            await time.sleep(0.1)
            pool.release(ticket, "refused" if number % 3 == 0 else "ok")
        assert time.now < 600 * 2

    in_fake_time(test)


def test_ten_requests_a_minute_are_found_out() -> None:
    """Case 131's endpoint: ten calls in any minute, no Retry-After. Few calls are wasted once its pace is known."""

    async def test(time: FakeTime) -> None:
        pool = pool_on(time)
        accepted: list[float] = []
        asked = 0

        async def one() -> None:
            nonlocal asked
            while True:
                ticket = await pool.acquire()
                asked += 1
                fits = len([moment for moment in accepted if moment > time.now - 60]) < 10
                if fits:
                    accepted.append(time.now)
                await time.sleep(0.5)
                pool.release(ticket, "ok" if fits else "refused")
                if fits:
                    return

        await asyncio.gather(*(one() for _ in range(200)))
        # 200 calls need at least 19 whole minutes after the first ten.
        assert time.now >= 19 * 60
        assert time.now <= 2 * 20 * 60
        assert asked <= 3 * 200

    in_fake_time(test)


def test_first_come_first_served() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, maximum=2)
        order: list[int] = []

        async def one(number: int) -> None:
            ticket = await pool.acquire()
            order.append(number)
            await time.sleep(1)
            pool.release(ticket, "ok")

        await asyncio.gather(*(one(number) for number in range(20)))
        assert order == list(range(20))

    in_fake_time(test)


def test_a_newcomer_does_not_overtake() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, maximum=1)
        held = await pool.acquire()
        waiter = asyncio.create_task(pool.acquire())
        await asyncio.sleep(0)
        pool.release(held, "ok")
        newcomer = asyncio.create_task(pool.acquire())
        ticket = await waiter
        assert not newcomer.done()
        pool.release(ticket, "ok")
        pool.release(await newcomer, "ok")

    in_fake_time(test)


@given(
    maximum=st.integers(1, 4),
    plan=st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 8)), min_size=1, max_size=25),
)
def test_cancelled_callers_leave_no_slot_behind(maximum: int, plan: list[tuple[int, bool, int]]) -> None:
    """Each caller holds its slot for some time; some are cancelled at some moment, waiting or holding."""

    async def test(time: FakeTime) -> None:
        pool = pool_on(time, maximum=maximum, start=maximum)
        finished = 0

        async def one(hold: int) -> None:
            nonlocal finished
            ticket = await pool.acquire()
            try:
                assert pool.active <= maximum
                await time.sleep(hold)
            finally:
                pool.release(ticket, "failed")
            finished += 1

        async def kill(task: asyncio.Task[None], when: int) -> None:
            await time.sleep(when)
            task.cancel()

        tasks = [asyncio.create_task(one(hold)) for hold, _, _ in plan]
        killers = [kill(task, when) for task, (_, cancelled, when) in zip(tasks, plan, strict=True) if cancelled]
        await asyncio.gather(*killers)
        endings = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(ending is None or isinstance(ending, asyncio.CancelledError) for ending in endings)
        assert finished == endings.count(None)
        assert (pool.active, pool.waiting) == (0, 0)
        for _ in range(maximum):  # every slot can be had at once
            await asyncio.wait_for(pool.acquire(), 1)

    in_fake_time(test)


def test_cancelled_in_the_moment_of_its_turn() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, maximum=1)
        held = await pool.acquire()
        waiter = asyncio.create_task(pool.acquire())
        behind = asyncio.create_task(pool.acquire())
        await asyncio.sleep(0)
        pool.release(held, "ok")  # the waiter's turn is set, but it has not run yet
        waiter.cancel()
        await asyncio.wait({waiter})
        assert waiter.cancelled()
        pool.release(await behind, "ok")
        assert pool.active == 0

    in_fake_time(test)


def test_abort_wakes_everybody() -> None:
    async def test(time: FakeTime) -> None:
        pool = pool_on(time, maximum=1)
        held = await pool.acquire()
        waiting = [asyncio.create_task(pool.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        pool.abort(RunStopped("enough"))
        for task in waiting:
            with pytest.raises(RunStopped, match="enough"):
                await task
        pool.release(held, "ok")
        with pytest.raises(RunStopped):
            await pool.acquire()

    in_fake_time(test)


@pytest.mark.parametrize(("maximum", "start"), [(0, 1), (1, 0), (-1, 8)])
def test_a_pool_for_nobody_is_refused(maximum: int, start: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Pool(maximum=maximum, start=start)


class Here:
    in_process = True


class Around:
    """A model around another one, such as a recording."""

    def __init__(self, inner: object) -> None:
        self.inner = inner


@pytest.mark.parametrize(
    ("model", "limit"),
    [(Here(), 200), (Around(Around(Here())), 200), (object(), 8), (Around(object()), 8), (Around(None), 8)],
)
def test_a_model_in_this_process_gets_all_at_once(model: object, limit: int) -> None:
    pool = Pool(maximum=200)
    pool.suit(model)
    assert pool.limit == limit
