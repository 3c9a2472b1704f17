"""Faults that users of peer tools reported and that concern the engine: one check a case, by the case's id.

`CHECKS` says what we do. `ELSEWHERE` lists the cases of these kinds that no code of the engine can answer, and why.
"""

import asyncio
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from assay.engine.budget import Budget, Price
from assay.engine.local import Caller, Retry, run_samples
from assay.engine.pool import Pool
from assay.engine.store import RunStore
from assay.errors import CallError, RunMismatch, RunStopped
from assay.models.base import request_key
from assay.models.scripted import Answer, ScriptedModel
from assay.types import Failure, ImagePart, Marked, Message, Outcome, Reply, Request, Sample, Sampling, Usage
from support.runs import FakeTime, asking, new_store, outcome, request, samples

KINDS = {
    "rate-limits-and-retries",
    "resume-and-lost-results",
    "cache-correctness",
    "concurrency",
    "memory",
    "cost",
}
FAST = Retry(base=0.001, cap=0.01)
OVERLOADED = CallError("rate_limit", "Too many requests.", retryable=True, status=429)


class Counting:
    """A scripted model that counts the draws it was asked for, by sample."""

    def __init__(self, answer: Callable[[Request, int], Answer] | None = None, identity: str = "scripted:a") -> None:
        self.draws: Counter[str] = Counter()
        self.identity = identity
        self._answer = answer
        self.model = ScriptedModel(self._count, identity=identity)

    def _count(self, request: Request, index: int) -> Answer:
        self.draws[request.sample_id] += 1
        if self._answer is None:
            return f"{self.identity} {request.seed} {index} Answer: A"
        return self._answer(request, index)


def ask_all(store: RunStore, model: Counting, count: int, *, concurrency: int = 8, retry: Retry = FAST) -> Caller:
    caller = Caller(model.model, store=store, retry=retry)
    work = asking(caller.generate)
    asyncio.run(run_samples(samples(count), work, store=store, stop=caller.stop, concurrency=concurrency))
    return caller


def generate(store: RunStore | None, model: Counting, one: Request) -> tuple[Reply, ...]:
    return asyncio.run(Caller(model.model, store=store, retry=FAST).generate(one))


def found(store: RunStore) -> dict[str, Outcome]:
    return {one.sample_id: one for one in store.outcomes()}


# ---- results that get lost


def results_written_as_they_come_and_failures_asked_again(path: Path) -> None:
    flaky = Counting(lambda request, _: CallError("bad_request", "No.") if request.sample_id == "q7" else "Answer: A")
    with new_store(path) as store:
        ask_all(store, flaky, 9)
        # A reader of the folder sees every sample although the run has not been closed.
        with RunStore.open(path) as reader:
            assert len(found(reader)) == 9
            assert reader.done_ids() == {f"q{i}" for i in range(9)} - {"q7"}
    well = Counting()
    with new_store(path) as store:
        ask_all(store, well, 9)
        assert well.draws == {"q7": 1}


def an_exception_in_the_middle_keeps_what_is_in_flight(path: Path) -> None:
    async def work(sample: Sample) -> Outcome:
        await asyncio.sleep(0.01 if sample.id != "q4" else 0)
        if sample.id == "q4":
            raise RunStopped("A fault in the middle.")
        return outcome(sample.id)

    with new_store(path) as store:
        with pytest.raises(RunStopped, match="A fault in the middle"):
            asyncio.run(run_samples(samples(100), work, store=store, concurrency=5))
        assert store.done_ids() == {"q0", "q1", "q2", "q3"}


def nothing_is_buffered_in_the_process(path: Path) -> None:
    with new_store(path) as store:
        for number in range(50):
            store.append(outcome(f"q{number}"))
            assert (path / "outcomes-0.jsonl").read_bytes().count(b"\n") == number + 1


def resume_is_by_id_whatever_the_order_and_concurrency(path: Path) -> None:
    model = Counting()
    with new_store(path) as store:
        ask_all(store, model, 30, concurrency=3)
    with new_store(path) as store:
        caller = Caller(model.model, store=store)
        rows = [*reversed(samples(40))]
        asyncio.run(run_samples(rows, asking(caller.generate), store=store, stop=caller.stop, concurrency=17))
        assert sorted(found(store)) == sorted(sample.id for sample in samples(40))
    assert set(model.draws.values()) == {1}


def keys_know_nothing_of_workers(path: Path) -> None:
    model = Counting()
    for concurrency in (1, 64):
        with new_store(path) as store:
            (path / "outcomes-0.jsonl").write_bytes(b"")  # as if only the replies had survived
            ask_all(store, model, 20, concurrency=concurrency)
    assert set(model.draws.values()) == {1}


def judge_replies_are_kept_one_by_one(path: Path) -> None:
    """Interrupted between the answer and the judgement: only the judgement is asked for by the next start."""
    model = Counting()
    judge = request("Judge it.", sample_id="judge")
    with new_store(path) as store:
        generate(store, model, request("Solve it.", sample_id="solve"))
    with new_store(path) as store:
        generate(store, model, request("Solve it.", sample_id="solve"))
        generate(store, model, judge)
    assert model.draws == {"solve": 1, "judge": 1}


def repeats_are_topped_up(path: Path) -> None:
    model = Counting()
    with new_store(path) as store:
        first = generate(store, model, request(n=1, sample_id="a"))
        four = generate(store, model, request(n=4, sample_id="a"))
        assert four[:1] == first
        assert model.draws["a"] == 4
        assert len({reply.text for reply in four}) == 4


def long_replies_come_back_whole(path: Path) -> None:
    text = "思" * 32_768 + "\r\n\t=1+1\x00"
    model = Counting(lambda _request, _index: Reply(text=text, reasoning=text))
    with new_store(path) as store:
        generate(store, model, request(sample_id="a"))
    with RunStore.open(path) as store:
        assert store.replies_of("a") == [Reply(text=text, reasoning=text)]


# ---- rate limits


def refused_calls_are_failures_not_scores(path: Path) -> None:
    model = Counting(lambda request, _: OVERLOADED if request.sample_id in ("q1", "q2") else "Answer: A")
    with new_store(path) as store:
        ask_all(store, model, 6, retry=Retry(base=0.001, cap=0.002, refusals=3))
        results = {name: one.result for name, one in found(store).items()}
    assert {name for name, result in results.items() if isinstance(result, Failure)} == {"q1", "q2"}
    assert all(isinstance(results[f"q{i}"], Marked) for i in (0, 3, 4, 5))


def a_slow_quota_is_found_out_and_an_exhausted_one_ends_the_run(path: Path) -> None:
    """Ten calls a minute, no Retry-After: 60 samples all get their reply. With no quota at all the run stops."""
    accepted: list[float] = []

    async def main(time: FakeTime, quota: int, folder: Path) -> Caller:
        async def answer(_request: Request, _index: int) -> Answer:
            await time.sleep(0.5)
            if len([moment for moment in accepted if moment > time.now - 60]) >= quota:
                return OVERLOADED
            accepted.append(time.now)
            return "Answer: A"

        pool = Pool(clock=time.clock, sleep=time.sleep)
        with new_store(folder) as store:
            caller = Caller(ScriptedModel(answer), store=store, pool=pool, clock=time.clock, sleep=time.sleep)
            await run_samples(samples(60), asking(caller.generate), store=store, stop=caller.stop, concurrency=64)
            assert len(store.done_ids()) == 60
        return caller

    time = FakeTime()
    caller = asyncio.run(time.run(main(time, 10, path / "slow")))
    assert not caller.tally.failures
    time = FakeTime()
    accepted.clear()
    with pytest.raises(RunStopped, match="refused every call"):
        asyncio.run(time.run(main(time, 0, path / "none")))


def retries_are_counted_by_cause(path: Path) -> None:
    kinds = ("server", "server", "timeout", "rate_limit")
    left = [CallError(kind, "Later.", retryable=True) for kind in kinds]
    model = Counting(lambda _request, _index: left.pop() if left else "Answer: A")
    with new_store(path) as store:
        caller = ask_all(store, model, 3)
    assert caller.tally.retries == {"server": 2, "timeout": 1, "rate_limit": 1}
    assert caller.tally.calls == 3 + 4


def concurrency_follows_the_endpoint(path: Path) -> None:
    """Up to 20 calls at once are fine, more are refused: the limit grows beyond its start and stays about there."""
    limits: list[int] = []

    async def main(time: FakeTime) -> None:
        pool = Pool(clock=time.clock, sleep=time.sleep)

        async def answer(_request: Request, _index: int) -> Answer:
            refused = pool.active > 20
            limits.append(pool.limit)
            await time.sleep(1)
            return OVERLOADED if refused else "Answer: A"

        with new_store(path) as store:
            caller = Caller(ScriptedModel(answer), store=store, pool=pool, clock=time.clock, sleep=time.sleep)
            work = asking(caller.generate)
            await run_samples(samples(1500), work, store=store, stop=caller.stop, concurrency=100)
            assert len(store.done_ids()) == 1500

    time = FakeTime()
    asyncio.run(time.run(main(time)))
    settled = limits[300:-100]
    assert min(settled) >= 8
    assert max(settled) <= 24
    assert sum(settled) / len(settled) > 12


def a_long_run_has_no_deadline_of_its_own(path: Path) -> None:
    async def main(time: FakeTime) -> None:
        async def answer(_request: Request, _index: int) -> Answer:
            await time.sleep(400)
            return "Answer: A"

        pool = Pool(maximum=1, clock=time.clock, sleep=time.sleep)
        with new_store(path) as store:
            caller = Caller(ScriptedModel(answer), store=store, pool=pool, clock=time.clock, sleep=time.sleep)
            await run_samples(samples(5), asking(caller.generate), store=store, stop=caller.stop, concurrency=5)
            assert len(store.done_ids()) == 5

    time = FakeTime()
    asyncio.run(time.run(main(time)))
    assert time.now == 5 * 400


# ---- what may share a reply


def keys_of(*requests: tuple[str, Request, int]) -> set[str]:
    return {request_key(identity, one, index) for identity, one, index in requests}


def models_do_not_share_replies(path: Path) -> None:
    with new_store(path) as store:
        first = generate(store, Counting(identity="scripted:a"), request())
        second = generate(store, Counting(identity="scripted:b"), request())
        assert first != second
        assert store.reply_count() == 2


def every_sampling_parameter_counts(path: Path) -> None:
    changed = [
        Sampling(),
        Sampling(temperature=0.7),
        Sampling(top_p=0.9),
        Sampling(top_k=5),
        Sampling(max_tokens=99),
        Sampling(stop=("x",)),
        Sampling(extra={"min_p": 0.1}),
    ]
    assert len(changed) == 1 + len(msgspec.structs.fields(Sampling))
    model = Counting()
    with new_store(path) as store:
        for sampling in changed * 2:
            generate(store, model, request(sampling=sampling, sample_id="a"))
        assert (model.draws["a"], store.reply_count()) == (7, 7)


def repeats_do_not_share_a_reply(path: Path) -> None:
    model = Counting()
    with new_store(path) as store:
        replies = generate(store, model, request(n=8))
        again = tuple(generate(store, model, request(index=index))[0] for index in range(8))
    assert len({reply.text for reply in replies}) == 8
    assert again == replies
    assert model.draws.total() == 8


def another_prompt_is_another_key_and_another_run(path: Path) -> None:
    model = Counting()
    with new_store(path, prompt_hash="old") as store:
        generate(store, model, request("Old prompt"))
        generate(store, model, request("New prompt"))
        assert store.reply_count() == 2
    with pytest.raises(RunMismatch, match="prompt_hash was 'old', is 'new'"):
        new_store(path, prompt_hash="new")


def picture(key: str) -> Request:
    part = ImagePart(key=key, media_type="image/png", width=1, height=1, data=b"same bytes")
    return Request(messages=(Message(role="user", parts=(part,)),))


def a_picture_counts_by_its_key(_: Path) -> None:
    """The key covers mode, size, bytes and transform (`images`); here: nothing but the key stands for the picture."""
    assert len(keys_of(("m", picture("120x80"), 0), ("m", picture("80x120"), 0))) == 2
    other_bytes = msgspec.structs.replace(picture("k").messages[0].parts[0], data=b"other")
    same = Request(messages=(Message(role="user", parts=(other_bytes,)),))
    assert len(keys_of(("m", picture("k"), 0), ("m", same, 0))) == 1


def n_draws_from_the_store_are_n_draws(path: Path) -> None:
    model = Counting()
    with new_store(path) as store:
        fresh = generate(store, model, request(n=5))
        assert generate(store, model, request(n=5)) == fresh
        assert len({reply.text for reply in fresh}) == 5


def hits_and_misses_are_counted(path: Path) -> None:
    with new_store(path) as store:
        caller = ask_all(store, Counting(), 10)
        assert (caller.tally.hits, caller.tally.misses) == (0, 10)
        assert (path / "replies.sqlite").is_file()
        (path / "outcomes-0.jsonl").write_bytes(b"")
    with new_store(path) as store:
        caller = ask_all(store, Counting(), 12)
        assert (caller.tally.hits, caller.tally.misses) == (10, 2)


# ---- concurrency, memory


def calls_go_out_together(path: Path) -> None:
    together = 0

    async def main(store: RunStore) -> None:
        pool = Pool(start=16, maximum=16)

        async def answer(_request: Request, _index: int) -> Answer:
            nonlocal together
            await asyncio.sleep(0.001)
            together = max(together, pool.active)
            return "Answer: A"

        caller = Caller(ScriptedModel(answer), store=store, pool=pool)
        await run_samples(samples(64), asking(caller.generate), store=store, stop=caller.stop)

    with new_store(path) as store:
        asyncio.run(main(store))
    assert together == 16


def a_thousand_samples_at_once_wait_in_a_bounded_queue(path: Path) -> None:
    most = 0

    async def main(store: RunStore) -> None:
        pool = Pool(maximum=32)

        async def answer(_request: Request, _index: int) -> Answer:
            nonlocal most
            most = max(most, pool.active)
            await asyncio.sleep(0)
            return "Answer: A"

        caller = Caller(ScriptedModel(answer), store=store, pool=pool)
        work = asking(caller.generate)
        await run_samples(samples(1200), work, store=store, stop=caller.stop, concurrency=1000)

    with new_store(path) as store:
        asyncio.run(main(store))
        assert len(store.done_ids()) == 1200
    assert most <= 32


def one_prompt_that_is_too_long_is_one_failure(path: Path) -> None:
    long = CallError("too_long", "30,632 tokens, the limit is 30,000.", status=400)
    model = Counting(lambda request, _: long if request.sample_id == "q3" else "Answer: A")
    with new_store(path) as store:
        ask_all(store, model, 8)
        assert store.failed_ids() == {"q3"}
        assert len(store.done_ids()) == 7
    assert model.draws["q3"] == 1


def a_replica_that_dies_costs_a_retry(path: Path) -> None:
    """Calls that were with the dead replica are tried again; the balancer in front of it sends them to another."""
    gone = [CallError("connection", "Cut.", retryable=True) for _ in range(4)]
    model = Counting(lambda _request, _index: gone.pop() if gone else "Answer: A")
    with new_store(path) as store:
        caller = ask_all(store, model, 20)
        assert len(store.done_ids()) == 20
    assert caller.tally.retries == {"connection": 4}


def old_results_are_read_one_by_one(path: Path) -> None:
    """Reading 10 MB of outcomes takes the read buffer (1 MB), an outcome, and the ids, not the file."""
    long = "x" * 5000
    with new_store(path) as store:
        for number in range(2000):
            store.append(msgspec.structs.replace(outcome(f"q{number}"), facets={"note": (long,)}))
    assert (path / "outcomes-0.jsonl").stat().st_size > 10_000_000
    with RunStore.open(path) as store:
        tracemalloc.start()
        try:
            assert sum(1 for _ in store.outcomes()) == 2000
            assert len(store.done_ids()) == 2000
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 3_000_000


# ---- cost


def the_budget_is_a_hard_stop_with_an_editable_price(path: Path) -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100)
    model = Counting(lambda _request, _index: Reply(text="Answer: A", usage=usage))
    price = Price(model="a", prompt=Decimal(1), completion=Decimal(10))  # 0.001 + 0.001 = 0.002 a call
    budget = Budget(max_cost=Decimal("0.01"), price=price)
    with new_store(path) as store:
        caller = Caller(model.model, store=store, budget=budget)
        work = asking(caller.generate)
        with pytest.raises(RunStopped, match=r"budget is used up: 0\.01 is spent.*5 of 50 samples are done"):
            asyncio.run(run_samples(samples(50), work, store=store, stop=caller.stop, concurrency=1, total=50))
        assert model.draws.total() == 5  # 5 x 0.002 = 0.01


def every_attempt_is_on_the_bill(path: Path) -> None:
    bad = [CallError("malformed", "Not JSON.", retryable=True) for _ in range(2)]
    model = Counting(lambda _request, _index: bad.pop() if bad else "Answer: A")
    with new_store(path) as store:
        caller = ask_all(store, model, 1)
        assert found(store)["q0"].attempts == 3
    assert caller.tally.calls == 3


CHECKS: dict[str, Callable[[Path], None]] = {
    "120": results_written_as_they_come_and_failures_asked_again,
    "121": an_exception_in_the_middle_keeps_what_is_in_flight,
    "122": nothing_is_buffered_in_the_process,
    "124": resume_is_by_id_whatever_the_order_and_concurrency,
    "125": keys_know_nothing_of_workers,
    "126": judge_replies_are_kept_one_by_one,
    "127": repeats_are_topped_up,
    "129": long_replies_come_back_whole,
    "130": refused_calls_are_failures_not_scores,
    "131": a_slow_quota_is_found_out_and_an_exhausted_one_ends_the_run,
    "133": retries_are_counted_by_cause,
    "134": concurrency_follows_the_endpoint,
    "136": a_long_run_has_no_deadline_of_its_own,
    "186": models_do_not_share_replies,
    "187": every_sampling_parameter_counts,
    "188": repeats_do_not_share_a_reply,
    "190": another_prompt_is_another_key_and_another_run,
    "191": a_picture_counts_by_its_key,
    "192": a_picture_counts_by_its_key,
    "194": n_draws_from_the_store_are_n_draws,
    "195": hits_and_misses_are_counted,
    "200": old_results_are_read_one_by_one,
    "206": calls_go_out_together,
    "207": a_thousand_samples_at_once_wait_in_a_bounded_queue,
    "208": one_prompt_that_is_too_long_is_one_failure,
    "209": a_replica_that_dies_costs_a_retry,
    "214": the_budget_is_a_hard_stop_with_an_editable_price,
    "216": every_attempt_is_on_the_bill,
}

ELSEWHERE = {
    "196": "the memory of an inference server's worker; we call servers over HTTP and hold no worker",
    "197": "an inference server's memory profile; log-probabilities are asked for generated tokens only",
    "199": "a viewer of logs; results are read line by line, see 200",
}

# Where our answer is not word for word the report's "right".
DIFFERENT = {
    "127": "n draws of one request are independent, so none is redone; a group score is computed from all of them",
    "131": "no token bucket is configured: the pool finds the pace, and the run stops after 50 requests in a row that "
    "failed for good or 15 minutes of nothing but refusals",
    "209": "replicas stand behind one address; restarting one is its server's business",
}


@pytest.mark.parametrize("case", CHECKS)
def test_case(case: str, tmp_path: Path) -> None:
    CHECKS[case](tmp_path / "run")


def test_every_reported_case_of_these_kinds_has_an_answer(reported_cases: Path) -> None:
    rows = [json.loads(line) for line in reported_cases.read_text().splitlines()]
    assert {row["id"] for row in rows if row["kind"] in KINDS} == set(CHECKS) | set(ELSEWHERE)
    assert set(DIFFERENT) <= set(CHECKS)
