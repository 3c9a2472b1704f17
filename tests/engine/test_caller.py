"""`Caller`: what is asked, what is not asked again, what is retried, and what ends a run."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from assay.engine.budget import Budget, Price
from assay.engine.caller import Caller, Retry
from assay.engine.pool import Pool
from assay.engine.stop import Stop
from assay.engine.store import RunStore, StoredReply
from assay.engine.tally import Account, current_account
from assay.errors import CallError, CallKind, RunStopped
from assay.models.base import request_key
from assay.types import Reply, Request, Usage
from support.runs import FakeTime, new_store, request

USAGE = Usage(prompt_tokens=10, completion_tokens=5)
Ending = Reply | CallError


class Endpoint:
    """Answers call after call with what a list says, then with seed and draw; keeps the requests it saw.

    Draw i of a call has seed + i, as in servers that make n draws from one seed.
    """

    def __init__(self, *endings: CallError | None, time: FakeTime | None = None, identity: str = "scripted:e") -> None:
        self.identity = identity
        self.seen: list[Request] = []
        self.in_flight = self.most_in_flight = 0
        self.closed = False
        self._endings = list(endings)
        self._time = time

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        self.seen.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await (self._time.sleep(1) if self._time else asyncio.sleep(0))
        finally:
            self.in_flight -= 1
        ending = self._endings.pop(0) if self._endings else None
        if ending is not None:
            raise ending
        return tuple(Reply(text=f"seed {request.seed + i}", usage=USAGE if i == 0 else None) for i in range(request.n))

    async def close(self) -> None:
        self.closed = True

    @property
    def asked(self) -> list[tuple[int, int]]:
        """Index and n of every call."""
        return [(request.index, request.n) for request in self.seen]


def busy(kind: CallKind = "server", *, retry_after: float | None = None, status: int | None = 500) -> CallError:
    return CallError(kind, f"{kind} happened.", retryable=True, retry_after=retry_after, status=status)


def limited(retry_after: float | None = None) -> CallError:
    return busy("rate_limit", retry_after=retry_after, status=429)


def caller_of(endpoint: Endpoint, time: FakeTime, **options: object) -> Caller:
    pool = Pool(clock=time.clock, sleep=time.sleep)
    return Caller(endpoint, pool=pool, clock=time.clock, sleep=time.sleep, **options)  # pyright: ignore[reportArgumentType]


def in_fake_time(test: Callable[[FakeTime], Awaitable[None]]) -> None:
    time = FakeTime()

    async def body() -> None:
        await test(time)

    asyncio.run(time.run(body()))


def texts(replies: Sequence[Reply]) -> list[str]:
    return [reply.text for reply in replies]


# ---- the store


def test_a_reply_is_stored_before_it_is_seen(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint()
        with new_store(tmp_path) as store:
            caller = caller_of(endpoint, time, store=store)
            (reply,) = await caller.generate(request(sample_id="a"))
            with RunStore.open(tmp_path) as reader:
                assert reader.get(request_key("scripted:e", request(), 0)) == reply
                assert reader.replies_of("a") == [reply]
            assert await caller.generate(request(sample_id="a")) == (reply,)
            assert len(endpoint.seen) == 1
            assert (caller.tally.hits, caller.tally.misses) == (1, 1)

    in_fake_time(test)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ((), [(0, 8)]),
        ((0, 1, 2), [(3, 5)]),
        ((7,), [(0, 7)]),
        ((0, 2, 5), [(1, 1), (3, 2), (6, 2)]),
        ((0, 1, 2, 3, 4, 5, 6, 7), []),
    ],
)
def test_only_missing_draws_are_asked(tmp_path: Path, stored: tuple[int, ...], asked: list[tuple[int, int]]) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint()
        eight = request(n=8, seed=100, sample_id="a")
        with new_store(tmp_path) as store:
            keys = [request_key("scripted:e", eight, draw) for draw in range(8)]
            store.put([StoredReply(keys[draw], "a", draw, Reply(text=f"seed {100 + draw}")) for draw in stored])
            replies = await caller_of(endpoint, time, store=store).generate(eight)
            assert texts(replies) == [f"seed {100 + draw}" for draw in range(8)]  # as if asked at once
            assert endpoint.asked == asked
            assert len(store.replies_of("a")) == 8

    in_fake_time(test)


def test_topping_up_counts_draws_from_the_request_s_index(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint()
        with new_store(tmp_path) as store:
            caller = caller_of(endpoint, time, store=store)
            await caller.generate(request(n=2, index=4))
            await caller.generate(request(n=4, index=4))
            assert endpoint.asked == [(4, 2), (6, 2)]

    in_fake_time(test)


def test_without_a_store_every_request_is_asked() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint()
        caller = caller_of(endpoint, time)
        await caller.generate(request())
        await caller.generate(request())
        assert len(endpoint.seen) == 2

    in_fake_time(test)


# ---- equal requests at the same time


def test_equal_requests_share_one_call(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(time=time)
        with new_store(tmp_path) as store:
            caller = caller_of(endpoint, time, store=store)
            replies = await asyncio.gather(*(caller.generate(request()) for _ in range(5)))
            assert len(endpoint.seen) == 1
            assert len(set(map(str, replies))) == 1

    in_fake_time(test)


def test_overlapping_requests_share_their_common_draws() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(time=time)
        caller = caller_of(endpoint, time)
        four, six = await asyncio.gather(caller.generate(request(n=4)), caller.generate(request(n=6)))
        assert endpoint.asked == [(0, 4), (4, 2)]
        assert six[:4] == four

    in_fake_time(test)


def test_who_shares_a_call_is_not_cancelled_with_its_owner() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(time=time)
        caller = caller_of(endpoint, time)
        owner = asyncio.create_task(caller.generate(request()))
        sharer = asyncio.create_task(caller.generate(request()))
        await time.sleep(0.5)
        owner.cancel()
        assert texts(await sharer) == ["seed 0"]
        assert owner.cancelled()
        assert len(endpoint.seen) == 2  # the sharer asked for itself

    in_fake_time(test)


def test_cancelling_who_shares_leaves_the_owner_alone() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(time=time)
        caller = caller_of(endpoint, time)
        owner = asyncio.create_task(caller.generate(request()))
        sharer = asyncio.create_task(caller.generate(request()))
        await time.sleep(0.5)
        sharer.cancel()
        assert texts(await owner) == ["seed 0"]
        assert sharer.cancelled()
        assert len(endpoint.seen) == 1

    in_fake_time(test)


def test_a_shared_call_that_fails_fails_for_all() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(CallError("too_long", "Too long."), time=time)
        caller = caller_of(endpoint, time)
        endings = await asyncio.gather(*(caller.generate(request()) for _ in range(3)), return_exceptions=True)
        assert [str(ending) for ending in endings] == ["Too long."] * 3
        assert len(endpoint.seen) == 1
        assert texts(await caller.generate(request())) == ["seed 0"]  # a failure is not remembered

    in_fake_time(test)


# ---- retries


@pytest.mark.parametrize("kind", ["connection", "timeout", "server", "malformed", "rate_limit"])
def test_what_may_succeed_is_tried_again(kind: CallKind) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(busy(kind), busy(kind))
        caller = caller_of(endpoint, time)
        assert texts(await caller.generate(request())) == ["seed 0"]
        assert (caller.tally.calls, caller.tally.answered) == (3, 1)
        assert caller.tally.retries == Counter({kind: 2})
        assert not caller.tally.failures

    in_fake_time(test)


@pytest.mark.parametrize("kind", ["bad_request", "too_long", "no_reply", "malformed"])
def test_what_can_not_succeed_is_a_failure_at_once(kind: CallKind) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(CallError(kind, "No."))
        caller = caller_of(endpoint, time)
        with pytest.raises(CallError, match="No"):
            await caller.generate(request())
        assert len(endpoint.seen) == 1
        assert caller.tally.failures == Counter({kind: 1})

    in_fake_time(test)


def test_attempts_are_limited() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(*(busy() for _ in range(100)))
        caller = caller_of(endpoint, time)
        with pytest.raises(CallError, match="server happened"):
            await caller.generate(request())
        assert len(endpoint.seen) == 6
        # Five waits, the k-th drawn from 0 .. 2**(k-1) seconds: 31 seconds at most.
        assert 0 < time.now <= 31

    in_fake_time(test)


def test_refusals_have_a_limit_of_their_own() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(*(limited() for _ in range(19)), *(busy() for _ in range(5)))
        caller = caller_of(endpoint, time, retry=Retry(patience=1e9))
        assert texts(await caller.generate(request())) == ["seed 0"]
        endpoint = Endpoint(*(limited() for _ in range(100)))
        caller = caller_of(endpoint, time, retry=Retry(patience=1e9))
        with pytest.raises(CallError, match="rate_limit"):
            await caller.generate(request())
        assert len(endpoint.seen) == 20

    in_fake_time(test)


def test_waits_are_the_same_for_the_same_request_and_differ_between_requests() -> None:
    moments: list[float] = []

    async def test(time: FakeTime) -> None:
        for text in ("one", "one", "two"):
            start = time.now
            await caller_of(Endpoint(busy(), busy(), busy()), time).generate(request(text))
            moments.append(time.now - start)

    in_fake_time(test)
    assert moments[0] == pytest.approx(moments[1])
    assert moments[0] != pytest.approx(moments[2])


def test_retry_after_is_obeyed_by_everybody() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(limited(retry_after=30))
        caller = caller_of(endpoint, time)
        begun: list[float] = []

        async def ask(text: str) -> None:
            await caller.generate(request(text))
            begun.append(time.now)

        first = asyncio.create_task(ask("first"))
        await time.sleep(0.1)
        await asyncio.gather(first, *(ask(f"other {i}") for i in range(3)))
        assert min(begun) >= 30

    in_fake_time(test)


def test_every_attempt_is_on_the_sample_s_account() -> None:
    async def test(time: FakeTime) -> None:
        account = Account()
        current_account.set(account)
        caller = caller_of(Endpoint(busy(), limited()), time)
        await asyncio.gather(caller.generate(request("a", n=2)), caller.generate(request("b")))
        assert account.attempts == 4
        assert account.usage == Usage(prompt_tokens=20, completion_tokens=10)  # two calls
        assert (caller.tally.prompt_tokens, caller.tally.completion_tokens) == (20, 10)

    in_fake_time(test)


def test_stored_replies_are_on_the_account_too(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        with new_store(tmp_path) as store:
            caller = caller_of(Endpoint(), time, store=store)
            await caller.generate(request())
            account = Account()
            current_account.set(account)
            await caller.generate(request())
            assert account == Account(attempts=0, usage=USAGE)
            assert caller.tally.prompt_tokens == 10  # paid once

    in_fake_time(test)


@pytest.mark.parametrize("count", [0, 2])
def test_a_model_that_breaks_its_promise_of_n_is_caught(count: int) -> None:
    class Wrong(Endpoint):
        async def generate(self, request: Request) -> tuple[Reply, ...]:
            return (Reply(text="x"),) * count

    async def test(time: FakeTime) -> None:
        caller = caller_of(Wrong(), time)
        with pytest.raises(CallError, match=f"gave {count} replies to a request for 1"):
            await caller.generate(request())

    in_fake_time(test)


def test_an_error_of_the_model_s_own_frees_its_slot() -> None:
    class Broken(Endpoint):
        async def generate(self, request: Request) -> tuple[Reply, ...]:
            raise ZeroDivisionError

    async def test(time: FakeTime) -> None:
        caller = caller_of(Broken(), time)
        for _ in range(20):  # more than there are slots
            with pytest.raises(ZeroDivisionError):
                await caller.generate(request())
        assert caller.pool.active == 0

    in_fake_time(test)


# ---- ends


@pytest.mark.parametrize("kind", ["auth", "not_found"])
def test_what_fails_for_all_ends_the_run(kind: CallKind) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(CallError(kind, "The key is wrong.", fatal=True))
        caller = caller_of(endpoint, time)
        with pytest.raises(RunStopped, match="The key is wrong"):
            await caller.generate(request())
        with pytest.raises(RunStopped):
            await caller.generate(request("other"))
        assert len(endpoint.seen) == 1

    in_fake_time(test)


def test_the_breaker_opens_after_so_many_requests_in_a_row() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(*(busy("connection", status=None) for _ in range(1000)))
        caller = caller_of(endpoint, time)
        for number in range(49):
            with pytest.raises(CallError):
                await caller.generate(request(f"{number}"))
        with pytest.raises(RunStopped, match=r"50 requests in a row failed, none succeeded.*connection happened"):
            await caller.generate(request("49"))
        assert len(endpoint.seen) == 50 * 6

    in_fake_time(test)


def test_a_success_closes_the_breaker() -> None:
    async def test(time: FakeTime) -> None:
        bad = [CallError("bad_request", "No.") for _ in range(49)]
        endpoint = Endpoint(*bad, None, *bad)
        caller = caller_of(endpoint, time)
        endings = [await asyncio.gather(caller.generate(request(f"{i}")), return_exceptions=True) for i in range(99)]
        assert sum(isinstance(ending[0], CallError) for ending in endings) == 98
        assert caller.stop.reason is None

    in_fake_time(test)


@pytest.mark.parametrize("kind", ["too_long", "no_reply"])
def test_prompts_of_their_own_fault_do_not_open_the_breaker(kind: CallKind) -> None:
    async def test(time: FakeTime) -> None:
        caller = caller_of(Endpoint(*(CallError(kind, "No.") for _ in range(200))), time)
        await asyncio.gather(*(caller.generate(request(f"{i}")) for i in range(200)), return_exceptions=True)
        assert caller.stop.reason is None
        assert caller.tally.failures == Counter({kind: 200})

    in_fake_time(test)


def test_nothing_but_refusals_ends_the_run_in_time() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(*(limited() for _ in range(100_000)))
        caller = caller_of(endpoint, time)
        endings = await asyncio.gather(*(caller.generate(request(f"{i}")) for i in range(500)), return_exceptions=True)
        assert isinstance(caller.stop.reason, RunStopped)
        assert "refused every call" in str(caller.stop.reason)
        assert all(isinstance(ending, RunStopped) for ending in endings)
        assert 900 < time.now < 1100

    in_fake_time(test)


def test_an_endless_retry_after_ends_the_run() -> None:
    async def test(time: FakeTime) -> None:
        caller = caller_of(Endpoint(limited(retry_after=86_400)), time)
        with pytest.raises(RunStopped, match="left alone for 86400 s"):
            await caller.generate(request())
        assert time.now == 0

    in_fake_time(test)


def test_a_stop_ends_waits_but_not_calls(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(busy(), time=time)
        stop = Stop()
        with new_store(tmp_path) as store:
            caller = caller_of(endpoint, time, store=store, stop=stop, retry=Retry(base=1e6, cap=1e6))
            waiting = asyncio.create_task(caller.generate(request("waiting")))
            await time.sleep(1.5)  # its first call has failed; the next would come in days
            calling = asyncio.create_task(caller.generate(request("calling", sample_id="calling")))
            await time.sleep(0.5)
            stop.request(RunStopped("That will do."))
            with pytest.raises(RunStopped, match="That will do"):
                await waiting
            assert texts(await calling) == ["seed 0"]
            assert len(store.replies_of("calling")) == 1
            assert time.now == 2.5
            with pytest.raises(RunStopped):
                await caller.generate(request("late"))
            assert len(endpoint.seen) == 2

    in_fake_time(test)


# ---- budget


def test_no_call_begins_once_the_tokens_are_used(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint()
        with new_store(tmp_path) as store:
            caller = caller_of(endpoint, time, store=store, budget=Budget(max_tokens=40))
            for number in range(3):  # 15 tokens a call: 15, 30, 45
                await caller.generate(request(f"{number}"))
            with pytest.raises(RunStopped, match="budget is used up: 45 tokens are used, the limit is 40"):
                await caller.generate(request("3"))
            assert len(endpoint.seen) == 3
            assert store.usage() == Usage(prompt_tokens=30, completion_tokens=15)

    in_fake_time(test)


def test_calls_in_flight_finish_and_are_kept(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint(time=time)
        with new_store(tmp_path) as store:
            caller = caller_of(endpoint, time, store=store, budget=Budget(max_tokens=15))
            endings = await asyncio.gather(
                *(caller.generate(request(f"{i}")) for i in range(20)), return_exceptions=True
            )
            # The first eight were in flight when the first of them used up the budget.
            assert [isinstance(ending, RunStopped) for ending in endings] == [False] * 8 + [True] * 12
            assert store.reply_count() == 8

    in_fake_time(test)


def test_the_budget_counts_earlier_starts_and_stored_replies_are_free(tmp_path: Path) -> None:
    async def test(time: FakeTime) -> None:
        with new_store(tmp_path) as store:
            await caller_of(Endpoint(), time, store=store).generate(request("a"))
            caller = caller_of(Endpoint(), time, store=store, budget=Budget(max_tokens=15, spent=store.usage()))
            await caller.generate(request("a"))
            with pytest.raises(RunStopped, match="budget"):
                await caller.generate(request("b"))

    in_fake_time(test)


def test_money_is_limited_too() -> None:
    async def test(time: FakeTime) -> None:
        price = Price(model="e", prompt=Decimal(1), completion=Decimal(2))  # 10 + 2 x 5 = 20 millionths a call
        budget = Budget(max_cost=Decimal("0.00004"), price=price)
        caller = caller_of(Endpoint(), time, budget=budget)
        await caller.generate(request("a"))
        await caller.generate(request("b"))
        with pytest.raises(RunStopped, match=r"0\.00004 is spent"):
            await caller.generate(request("c"))

    in_fake_time(test)


def test_a_budget_can_not_be_kept_without_usage(tmp_path: Path) -> None:
    class Silent(Endpoint):
        async def generate(self, request: Request) -> tuple[Reply, ...]:
            return (Reply(text="x"),)

    async def test(time: FakeTime) -> None:
        with new_store(tmp_path) as store:
            caller = caller_of(Silent(), time, store=store, budget=Budget(max_tokens=100))
            assert texts(await caller.generate(request("a"))) == ["x"]  # paid for, so it is kept
            with pytest.raises(RunStopped, match="does not report the tokens"):
                await caller.generate(request("b"))

    in_fake_time(test)


def test_closing_closes_the_model() -> None:
    async def test(time: FakeTime) -> None:
        endpoint = Endpoint()
        await caller_of(endpoint, time).close()
        assert endpoint.closed

    in_fake_time(test)


def test_a_reply_whose_asker_was_cancelled_while_it_was_written_is_not_paid_twice(tmp_path: Path) -> None:
    """It is written all the same; whoever waited for the same request takes it from the store."""

    class Cancelling(Endpoint):
        async def generate(self, request: Request) -> tuple[Reply, ...]:
            replies = await super().generate(request)
            # In this turn of the loop, after the caller has handed the reply to the store, before it is written.
            asyncio.get_running_loop().call_soon(asker.cancel)
            return tuple(Reply(text=f"call {len(self.seen)}") for _ in replies)

    async def main(store: RunStore) -> tuple[Reply, ...]:
        nonlocal asker
        caller = Caller(endpoint, store=store)
        asker = asyncio.create_task(caller.generate(request()))
        sharer = asyncio.create_task(caller.generate(request()))
        with pytest.raises(asyncio.CancelledError):
            await asker
        return await sharer

    asker: asyncio.Task[tuple[Reply, ...]]
    endpoint = Cancelling()
    with new_store(tmp_path) as store:
        (reply,) = asyncio.run(main(store))
        stored = store.get(request_key(endpoint.identity, request(), 0))
    assert len(endpoint.seen) == 1
    assert stored == reply
