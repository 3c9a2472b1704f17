"""`Runner`: what the callers of a run share, and what is shown of it."""

import asyncio
import gc
from pathlib import Path

import pytest

from assay.engine.budget import Budget
from assay.engine.local import Finished
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.errors import CallError, ImageError, RunStopped
from assay.models.scripted import ScriptedModel
from assay.types import Failure, Outcome, Reply, Request, Sample, Usage
from support.runs import asking, new_store, outcome, request_of, samples


def model(name: str) -> ScriptedModel:
    def answer(request: Request, index: int) -> Reply:
        return Reply(text="Answer: A", usage=Usage(prompt_tokens=7, completion_tokens=3))

    return ScriptedModel(answer, identity=name)


def test_items_go_through_and_a_second_start_skips_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def start() -> Finished:
        with new_store(tmp_path) as store:
            runner = Runner(store=store, pool=Pool(maximum=4))
            work = asking(runner.caller(model("one")).generate)
            return asyncio.run(runner.run(samples(12), work, total=12, progress=True))

    assert start() == Finished(skipped=0, marked=12, failed=0)
    assert capsys.readouterr().err.splitlines()[-1].startswith("12/12 (100%), ")
    assert start() == Finished(skipped=12, marked=0, failed=0)
    assert capsys.readouterr().err.splitlines() == ["12/12 (100%), rate unknown, 0 calls in flight (limit 4)"]


@pytest.mark.parametrize(
    ("chosen", "as_list", "shown"),
    [
        (slice(4, 10), True, "6/6 (100%)"),  # 4 and 5 are there, 0 to 3 are others
        (slice(6, 9), True, "3/3 (100%)"),  # none is there
        (slice(0, 2), True, "2/2 (100%)"),
        (slice(0, 2), False, "2/2 (100%)"),  # fewer than before, read one by one
        (slice(0, 9), False, "9/9 (100%)"),
    ],
)
def test_a_later_start_may_be_about_other_items(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chosen: slice, as_list: bool, shown: str
) -> None:
    ten = samples(10)
    for some in (ten[:6], ten[chosen] if as_list else iter(ten[chosen])):
        with new_store(tmp_path) as store:
            runner = Runner(store=store, pool=Pool(maximum=4))
            work = asking(runner.caller(model("one")).generate)
            total = 6 if some == ten[:6] else len(ten[chosen])
            asyncio.run(runner.run(some, work, total=total, progress=True))
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"{shown}, ")


def test_nothing_is_shown_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with new_store(tmp_path) as store:
        runner = Runner(store=store, pool=Pool())
        asyncio.run(runner.run(samples(3), asking(runner.caller(model("one")).generate), total=3))
    assert capsys.readouterr().err == ""


def test_as_many_items_are_live_as_calls_may_ever_be_in_flight(tmp_path: Path) -> None:
    live, most = 0, 0

    async def work(sample: Sample) -> Outcome:
        nonlocal live, most
        live += 1
        most = max(most, live)
        await asyncio.sleep(0)
        live -= 1
        return outcome(sample.id)

    with new_store(tmp_path) as store:
        # The pool begins with two calls and may grow to five.
        asyncio.run(Runner(store=store, pool=Pool(maximum=5, start=2)).run(samples(40), work, total=40))
    assert most == 5


def test_callers_share_budget_and_counters_but_a_pool_only_on_request(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        other = Pool(maximum=1)
        runner = Runner(store=store, pool=Pool(maximum=1), budget=Budget(max_tokens=25))
        policy, critic = runner.caller(model("policy")), runner.caller(model("critic"), pool=other)
        assert (policy.pool, critic.pool) == (runner.pool, other)

        async def work(sample: Sample) -> Outcome:
            await policy.generate(request_of(sample))
            await critic.generate(request_of(sample))
            return outcome(sample.id)

        # A call takes 7 + 3 tokens: the third one, of the second sample, passes the 25, and ends the run for both.
        with pytest.raises(RunStopped, match=r"1 of 9 samples are done and kept"):
            asyncio.run(runner.run(samples(9), work, total=9))
        assert (runner.tally.answered, runner.tally.prompt_tokens, runner.tally.completion_tokens) == (3, 21, 9)
        with pytest.raises(RunStopped):
            asyncio.run(critic.generate(request_of(samples(9)[8])))


class Local(ScriptedModel):
    """Stands for a checkpoint in this process."""

    in_process = True


def test_a_model_in_this_process_need_not_find_out_how_much_it_takes(tmp_path: Path) -> None:
    def answer(request: Request, index: int) -> Reply:
        return Reply(text="Answer: A")

    with new_store(tmp_path) as store:
        runner, other = Runner(store=store, pool=Pool(maximum=50)), Pool(maximum=60)
        runner.caller(model("remote"))
        assert runner.pool.limit == 8
        runner.caller(Local(answer), pool=other)
        assert (runner.pool.limit, other.limit) == (8, 60)
        assert runner.caller(Local(answer)).pool.limit == 50


@pytest.mark.parametrize("message", ["Wrong key", "Wrong key.", "Wrong key. \n", "Wrong key!", "密钥无效。"])
def test_what_a_server_says_ends_as_a_sentence(tmp_path: Path, message: str) -> None:
    def refuse(_request: Request, _draw: int) -> CallError:
        return CallError("auth", message, fatal=True)

    with new_store(tmp_path) as store:
        runner = Runner(store=store, pool=Pool())
        work = asking(runner.caller(ScriptedModel(refuse)).generate)
        with pytest.raises(RunStopped, match=r"^(Wrong key[.!]|密钥无效。) Every further call would fail"):
            asyncio.run(runner.run(samples(3), work, total=3))


def test_every_run_collects_seldom(tmp_path: Path) -> None:
    before, within = gc.get_threshold(), list[int]()

    async def work(sample: Sample) -> Outcome:
        within.append(gc.get_threshold()[0])
        return outcome(sample.id)

    with new_store(tmp_path) as store:
        asyncio.run(Runner(store=store, pool=Pool()).run(samples(2), work, total=2))
    assert min(within) > before[0]
    assert gc.get_threshold() == before


def test_a_failure_is_written_as_the_caller_wants_it(tmp_path: Path) -> None:
    async def work(sample: Sample) -> Outcome:
        raise ImageError("missing", f"{sample.id} has no picture")

    def named(sample: Sample, failure: Failure) -> Outcome:
        return outcome(sample.id, result=failure, detail={failure.kind: sample.facets["level"][0]})

    with new_store(tmp_path) as store:
        finished = asyncio.run(Runner(store=store, pool=Pool()).run(samples(2), work, total=2, failed=named))
        assert finished == Finished(skipped=0, marked=0, failed=2)
        assert {one.id: one.detail for one in store.outcomes()} == {"q0": {"missing": "0"}, "q1": {"missing": "1"}}
