"""Pools of every search, worked out by hand; failures, lineage, order of events."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from assay.engine.caller import Caller
from assay.engine.pool import Pool
from assay.errors import CallError, RunStopped
from assay.models.base import derive_seed
from assay.models.scripted import ScriptedModel
from assay.solve.policy import GREEDY_INDEX, Policy
from assay.solve.records import Critique, Refined, Resampled, Sampled, Solution, Unjudged
from assay.solve.search import Found, Problem, best_of_n, controls, greedy, refined_bon, self_consistency, together
from assay.types import Failure, Request, Sampling
from support.runs import FakeTime
from support.searching import MESSAGES, SAMPLE, ScriptedCritic, judged_as

PROBLEM = Problem(sample=SAMPLE, messages=MESSAGES, seed=7)
SAMPLING = Sampling(temperature=0.7)

WRONG = "Step 1: good.\n\nStep 2: bad {index}.\n\nAnswer: 15"
CLEAN = "Step 1: good.\n\nStep 2: fine {index}.\n\nAnswer: 14"
BROKEN = CallError("server", "503 from the server")


def policy_of(function: Callable[[Request, int], Any]) -> Policy:
    return Policy(ScriptedModel(function), sampling=SAMPLING, continuation="prefill")


def writing(texts: dict[int, str], *, requests: list[Request] | None = None) -> Policy:
    """A policy that answers by the index of the draw; continuations say which draw they are."""

    def answer(request: Request, index: int) -> str:
        if requests is not None and request not in requests:
            requests.append(request)
        if request.prefill:
            return f"Step 3: continued {index}.\n\nAnswer: 14"
        return texts.get(index, CLEAN).format(index=index)

    return policy_of(answer)


def judge(solution: Solution) -> Critique:
    """Finds every step that says "bad" and corrects the first one to "fixed"."""
    bad = ["bad" in step for step in solution.steps]
    return judged_as(*(0.2 if wrong else 0.9 for wrong in bad), correction="fixed." if any(bad) else None)


def find(work: Coroutine[Any, Any, Found]) -> Found:
    return asyncio.run(work)


def origins(found: Found) -> list[Any]:
    return [judged.solution.origin for judged in found.pool]


def texts(found: Found) -> list[str]:
    return [judged.solution.text for judged in found.pool]


# ----------------------------------------------------------------------------------------------------------------------
# Without refinement


def test_greedy_is_one_solution_at_temperature_0() -> None:
    requests: list[Request] = []
    found = find(greedy(writing({}, requests=requests), PROBLEM))
    assert origins(found) == [Sampled(index=GREEDY_INDEX, greedy=True)]
    assert found.pool[0].critique is None
    assert [request.sampling.temperature for request in requests] == [0.0]


def test_self_consistency_draws_n_without_a_critic() -> None:
    requests: list[Request] = []
    found = find(self_consistency(writing({}, requests=requests), PROBLEM, n=5))
    assert origins(found) == [Sampled(index=i) for i in range(5)]
    assert all(judged.critique is None for judged in found.pool)
    assert [request.n for request in requests] == [5]


def test_best_of_n_judges_all_and_refines_none() -> None:
    critic = ScriptedCritic(judge)
    found = find(best_of_n(writing({0: WRONG, 2: WRONG}), critic, PROBLEM, n=3))
    assert origins(found) == [Sampled(index=0), Sampled(index=1), Sampled(index=2)]
    assert [judge(judged.solution) for judged in found.pool] == [judged.critique for judged in found.pool]
    assert len(critic.asked) == 3


# ----------------------------------------------------------------------------------------------------------------------
# Refined best-of-n


def test_the_second_half_continues_what_is_wrong_and_draws_the_rest_again() -> None:
    requests: list[Request] = []
    found = find(refined_bon(writing({0: WRONG}, requests=requests), ScriptedCritic(judge), PROBLEM, n=4))
    assert origins(found) == [
        Sampled(index=0),
        Sampled(index=1),
        Refined(parent=0, kept=2),
        Resampled(index=3, parent=1, reason="clean"),
    ]
    assert found.pool[2].solution.steps == (
        "Step 1: good.\n\n",
        "Step 2: fixed.\n\n",
        "Step 3: continued 2.\n\n",
        "Answer: 14",
    )
    assert found.pool[3].solution.text == CLEAN.format(index=3)
    assert [judge(judged.solution) for judged in found.pool] == [judged.critique for judged in found.pool]
    assert found.failures == ()
    # one request for the first half; the continuation; the question again, unchanged
    assert [(r.index, r.n, r.prefill) for r in requests] == [
        (0, 2, ""),
        (2, 1, "Step 1: good.\n\nStep 2: fixed.\n\n"),
        (3, 1, ""),
    ]
    assert [r.seed for r in requests] == [derive_seed(7, "q1", index) for index in (0, 2, 3)]
    assert all(r.messages == MESSAGES for r in requests)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, [Sampled(index=0)]),
        (2, [Sampled(index=0), Refined(parent=0, kept=2)]),
        (3, [Sampled(index=0), Sampled(index=1), Refined(parent=0, kept=2)]),
        (
            5,
            [
                *(Sampled(index=i) for i in range(3)),
                Refined(parent=0, kept=2),
                Resampled(index=4, parent=1),
            ],
        ),
    ],
)
def test_the_pool_has_exactly_n(n: int, expected: list[Any]) -> None:
    critic = ScriptedCritic(judge)
    found = find(refined_bon(writing({0: WRONG}), critic, PROBLEM, n=n))
    assert origins(found) == expected
    assert len(critic.asked) == n


def test_a_critic_that_finds_every_step_wrong_keeps_its_correction_alone() -> None:
    critic = ScriptedCritic(lambda solution: judged_as(*(0.1 for _ in solution.steps), correction="Step 1: mine."))
    found = find(refined_bon(writing({}), critic, PROBLEM, n=2))
    assert origins(found) == [Sampled(index=0), Refined(parent=0, kept=1)]
    assert found.pool[1].solution.text == "Step 1: mine.\n\nStep 3: continued 1.\n\nAnswer: 14"


def test_an_error_without_a_correction_is_drawn_again_and_can_be_counted() -> None:
    critic = ScriptedCritic(lambda solution: judged_as(*(0.1 for _ in solution.steps)))
    found = find(refined_bon(writing({}), critic, PROBLEM, n=4))
    assert origins(found)[2:] == [Resampled(index=i, parent=i - 2, reason="uncorrected") for i in (2, 3)]


def test_an_unparsable_critique_is_kept_as_such_and_drawn_again() -> None:
    unjudged = Unjudged(kind="unparsable", reason="prose")
    found = find(refined_bon(writing({}), ScriptedCritic(lambda solution: unjudged), PROBLEM, n=2))
    assert origins(found) == [Sampled(index=0), Resampled(index=1, parent=0, reason="unjudged")]
    assert [judged.critique for judged in found.pool] == [unjudged, unjudged]


def test_a_solution_without_steps_is_not_shown_to_the_critic() -> None:
    critic = ScriptedCritic(judge)
    found = find(refined_bon(writing({0: " \n"}), critic, PROBLEM, n=2))
    assert isinstance(found.pool[0].critique, Unjudged)
    assert (found.pool[0].critique.kind, found.pool[0].critique.calls) == ("empty", 0)
    assert origins(found)[1] == Resampled(index=1, parent=0, reason="unjudged")
    assert len(critic.asked) == 1


def test_refine_below_draws_again_where_the_critic_is_not_sure() -> None:
    sure = find(refined_bon(writing({0: WRONG}), ScriptedCritic(judge), PROBLEM, n=2, refine_below=0.21))
    unsure = find(refined_bon(writing({0: WRONG}), ScriptedCritic(judge), PROBLEM, n=2, refine_below=0.2))
    assert origins(sure)[1] == Refined(parent=0, kept=2)
    assert origins(unsure)[1] == Resampled(index=1, parent=0, reason="unsure")


def test_further_rounds_refine_the_newest() -> None:
    def answer(request: Request, index: int) -> str:
        if not request.prefill:
            return (WRONG if index == 0 else CLEAN).format(index=index)
        return "Step 3: bad again.\n\nAnswer: 15" if index == 2 else f"Step 4: right {index}.\n\nAnswer: 14"

    found = find(refined_bon(policy_of(answer), ScriptedCritic(judge), PROBLEM, n=6, rounds=2))
    assert origins(found) == [
        Sampled(index=0),
        Sampled(index=1),
        Refined(parent=0, kept=2),
        Resampled(index=3, parent=1),
        Refined(parent=2, kept=3),
        Resampled(index=5, parent=3),
    ]
    assert found.pool[4].solution.steps[:3] == ("Step 1: good.\n\n", "Step 2: fixed.\n\n", "Step 3: fixed.\n\n")


def test_rounds_never_make_the_pool_larger() -> None:
    found = find(refined_bon(writing({0: WRONG}), ScriptedCritic(judge), PROBLEM, n=7, rounds=2))
    # three chains of 3, 2 and 2: positions 0 1 2 | 3 4 5 | 6
    assert [getattr(origin, "parent", None) for origin in origins(found)] == [None, None, None, 0, 1, 2, 3]


def test_recritique_new_lets_no_critic_confirm_its_own_correction() -> None:
    def flattering(solution: Solution) -> Critique:
        if "fixed" in solution.text:
            return judged_as(1.0, 1.0, 0.6, 0.6)
        return judged_as(0.8, 0.2, 0.9, correction="fixed.")

    both: dict[str, Critique] = {}
    for recritique in ("all", "new"):
        work = refined_bon(writing({}), ScriptedCritic(flattering), PROBLEM, n=2, recritique=recritique)
        critique = find(work).pool[1].critique
        assert isinstance(critique, Critique)
        both[recritique] = critique
    assert both["all"].scores == (1.0, 1.0, 0.6, 0.6)
    assert both["new"].scores == (0.8, 0.6, 0.6)  # step 1 from the first critique, none for the correction


def test_a_continuation_that_begins_anew_is_a_fresh_solution() -> None:
    policy = policy_of(lambda request, index: (WRONG if index == 0 else CLEAN).format(index=index))
    found = find(refined_bon(policy, ScriptedCritic(judge), PROBLEM, n=2, recritique="new"))
    assert found.pool[1].solution.continuation == "restarted"
    assert origins(found)[1] == Refined(parent=0, kept=0)
    assert found.pool[1].solution.text == CLEAN.format(index=1)
    assert found.pool[1].critique == judged_as(0.9, 0.9, 0.9)


# ----------------------------------------------------------------------------------------------------------------------
# Controls


def test_one_pool_serves_every_strategy() -> None:
    requests: list[Request] = []
    critic = ScriptedCritic(judge)
    found = find(controls(writing({1: WRONG}, requests=requests), critic, PROBLEM, n=4))
    assert origins(found) == [
        *(Sampled(index=i) for i in range(4)),
        Resampled(index=4, parent=0),
        Refined(parent=1, kept=2),
        Sampled(index=GREEDY_INDEX, greedy=True),
    ]
    assert [judged.critique is None for judged in found.pool] == [False] * 6 + [True]
    assert len(critic.asked) == 6
    assert sorted(request.n for request in requests) == [1, 1, 1, 4]


@pytest.mark.parametrize(("n", "size"), [(1, 2), (2, 4), (3, 5), (8, 13)])
def test_controls_have_n_plain_half_as_many_refined_and_a_greedy_one(n: int, size: int) -> None:
    found = find(controls(writing({}), ScriptedCritic(judge), PROBLEM, n=n))
    assert len(found.pool) == size
    assert [isinstance(origin, Sampled) for origin in origins(found)] == [True] * n + [False] * (n // 2) + [True]


def test_the_refined_half_of_the_controls_is_what_refined_best_of_n_makes() -> None:
    def answer(request: Request, index: int) -> str:
        return "Step 3: so.\n\nAnswer: 14" if request.prefill else WRONG.format(index=index)

    alone = find(refined_bon(policy_of(answer), ScriptedCritic(judge), PROBLEM, n=4))
    pooled = find(controls(policy_of(answer), ScriptedCritic(judge), PROBLEM, n=4))
    assert texts(alone)[2:] == texts(pooled)[4:6]
    assert origins(alone)[2:] == origins(pooled)[4:6]


# ----------------------------------------------------------------------------------------------------------------------
# Failures


def test_a_failed_continuation_is_a_missing_solution_and_counted() -> None:
    def answer(request: Request, index: int) -> str | CallError:
        return BROKEN if request.prefill else (WRONG if index == 0 else CLEAN).format(index=index)

    found = find(refined_bon(policy_of(answer), ScriptedCritic(judge), PROBLEM, n=4))
    assert origins(found) == [Sampled(index=0), Sampled(index=1), Resampled(index=3, parent=1)]
    assert found.failures == (Failure(stage="call", kind="server", message="503 from the server"),)


def test_a_failed_round_is_skipped_and_lineage_stays_true() -> None:
    def answer(request: Request, index: int) -> str | CallError:
        return BROKEN if index == 2 else (WRONG if index == 1 else CLEAN).format(index=index)

    found = find(refined_bon(policy_of(answer), ScriptedCritic(lambda _: judged_as(0.9)), PROBLEM, n=6, rounds=2))
    # position 2 is missing, so 4 comes from 0; what follows moves up by one
    assert origins(found) == [
        Sampled(index=0),
        Sampled(index=1),
        Resampled(index=3, parent=1),
        Resampled(index=4, parent=0),
        Resampled(index=5, parent=2),
    ]


def test_a_failed_critique_leaves_a_solution_unjudged() -> None:
    def failing(solution: Solution) -> Critique | CallError:
        return BROKEN if "bad" in solution.text else judge(solution)

    found = find(refined_bon(writing({0: WRONG}), ScriptedCritic(failing), PROBLEM, n=2))
    assert found.pool[0].critique == Unjudged(kind="failed", reason="503 from the server")
    assert origins(found)[1] == Resampled(index=1, parent=0, reason="unjudged")
    assert found.failures == ()


SEARCHES: dict[str, Callable[[Policy, ScriptedCritic], Coroutine[Any, Any, Found]]] = {
    "greedy": lambda policy, critic: greedy(policy, PROBLEM),
    "self-consistency": lambda policy, critic: self_consistency(policy, PROBLEM, n=4),
    "best-of-n": lambda policy, critic: best_of_n(policy, critic, PROBLEM, n=4),
    "refined-bon": lambda policy, critic: refined_bon(policy, critic, PROBLEM, n=4),
    "controls": lambda policy, critic: controls(policy, critic, PROBLEM, n=4),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_without_a_single_solution_the_sample_fails(search: str) -> None:
    with pytest.raises(CallError) as caught:
        find(SEARCHES[search](policy_of(lambda request, index: BROKEN), ScriptedCritic(judge)))
    assert caught.value is BROKEN


@pytest.mark.parametrize("missing", ["greedy", "plain"])
def test_controls_go_on_with_what_there_is(missing: str) -> None:
    def answer(request: Request, index: int) -> str | CallError:
        return BROKEN if (index == GREEDY_INDEX) == (missing == "greedy") else CLEAN

    found = find(controls(policy_of(answer), ScriptedCritic(judge), PROBLEM, n=2))
    assert len(found.pool) == (3 if missing == "greedy" else 1)
    assert len(found.failures) == 1


@pytest.mark.parametrize("where", ["draw", "continuation", "critique"])
def test_the_end_of_the_run_is_nobodys_failure(where: str) -> None:
    stopped = RunStopped("the budget is used up")

    def answer(request: Request, index: int) -> str:
        if where == ("continuation" if request.prefill else "draw"):
            raise stopped
        return WRONG.format(index=index)

    def judging(solution: Solution) -> Critique:
        if where == "critique":
            raise stopped
        return judge(solution)

    with pytest.raises(RunStopped) as caught:  # as it is, not in a group
        find(refined_bon(policy_of(answer), ScriptedCritic(judging), PROBLEM, n=4))
    assert caught.value is stopped
    with pytest.raises(RunStopped):
        find(controls(policy_of(answer), ScriptedCritic(judging), PROBLEM, n=4))


def test_together_cancels_the_others_on_the_first_error() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def fails() -> None:
        await asyncio.sleep(0)
        raise BROKEN

    with pytest.raises(CallError) as caught:
        asyncio.run(together([waits(), fails()]))
    assert caught.value is BROKEN
    assert ended == ["cancelled"]
    nothing: list[Coroutine[Any, Any, None]] = []
    assert asyncio.run(together(nothing)) == []


# ----------------------------------------------------------------------------------------------------------------------
# Order of events


def on_fake_time(
    write: Callable[[Request, int], float], assess: Callable[[Solution], float], work: Callable[..., Any]
) -> tuple[Found, list[tuple[float, str]], float]:
    """A search in which calls take the seconds that the functions say; the pool, the events, the seconds in all."""
    time = FakeTime()
    events: list[tuple[float, str]] = []

    async def answer(request: Request, index: int) -> str:
        await time.sleep(write(request, index))
        events.append((time.now, f"wrote {index}"))
        if request.prefill:
            return f"Step 3: continued {index}.\n\nAnswer: 14"
        return (WRONG if index % 2 == 0 else CLEAN).format(index=index)

    async def judging(solution: Solution) -> Critique:
        await time.sleep(assess(solution))
        events.append((time.now, "judged " + solution.text.split("Step 2: ")[1].split(".")[0]))
        return judge(solution)

    async def run() -> Found:
        return await time.run(work(policy_of(answer), ScriptedCritic(judging), PROBLEM))

    return asyncio.run(run()), events, time.now


def test_a_solution_is_refined_as_soon_as_it_is_judged_whatever_its_neighbours_do() -> None:
    # Two draws in one request: 1 + 1 s. Judging draw 0 takes 1 s, draw 1 takes 100 s; everything after 1 s.
    found, events, seconds = on_fake_time(
        lambda request, index: 1.0,
        lambda solution: 100.0 if "fine 1" in solution.text else 1.0,
        lambda *seam: refined_bon(*seam, n=4),
    )
    assert events == [
        (1.0, "wrote 0"),
        (2.0, "wrote 1"),
        (3.0, "judged bad 0"),
        (4.0, "wrote 2"),  # refined and judged again, while draw 1 is still being judged
        (5.0, "judged fixed"),
        (102.0, "judged fine 1"),
        (103.0, "wrote 3"),
        (104.0, "judged fine 3"),
    ]
    assert seconds == 104.0
    assert [getattr(origin, "parent", None) for origin in origins(found)] == [None, None, 0, 1]


def test_a_search_takes_as_long_as_its_longest_chain() -> None:
    draw = random.Random(3)
    judging = {i: draw.uniform(1, 9) for i in range(8)}
    writing_again = {i: draw.uniform(1, 9) for i in range(4, 8)}

    def index_of(solution: Solution) -> int:
        origin = solution.origin
        return origin.parent + 4 if isinstance(origin, Refined) else getattr(origin, "index", 0)

    _, _, seconds = on_fake_time(
        lambda request, index: writing_again[index] if index >= 4 else 0.5,
        # a solution drawn again passes for a plain draw while it is being judged
        lambda solution: judging[
            int(solution.text.split("fine ")[1][0]) if "fine" in solution.text else index_of(solution)
        ],
        lambda *seam: refined_bon(*seam, n=8),
    )
    # four draws one after the other in one request, then four chains side by side
    chains = [judging[i] + writing_again[i + 4] + judging[i + 4] for i in range(4)]
    assert seconds == pytest.approx(2.0 + max(chains))


def test_the_greedy_control_waits_for_nobody() -> None:
    _, events, _ = on_fake_time(
        lambda request, index: 1.0 if index == GREEDY_INDEX else 10.0,
        lambda solution: 1.0,
        lambda *seam: controls(*seam, n=2),
    )
    assert events[0] == (1.0, f"wrote {GREEDY_INDEX}")


def test_the_pool_is_the_same_in_whatever_order_replies_come() -> None:
    def shuffled(seed: int) -> Found:
        draw = random.Random(seed)
        found, _, _ = on_fake_time(
            lambda request, index: draw.uniform(0, 9),
            lambda solution: draw.uniform(0, 9),
            lambda *seam: refined_bon(*seam, n=9, rounds=2),
        )
        return found

    first = shuffled(0)
    assert len(first.pool) == 9
    assert all(shuffled(seed) == first for seed in range(1, 6))


def test_calls_of_a_search_share_one_bounded_pool() -> None:
    time = FakeTime()
    in_flight = most = 0

    async def answer(request: Request, index: int) -> str:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await time.sleep(1.0)
        in_flight -= 1
        return CLEAN.format(index=index)

    async def run() -> Found:
        pool = Pool(maximum=3, start=3, clock=time.clock, sleep=time.sleep)
        caller = Caller(ScriptedModel(answer), pool=pool, clock=time.clock, sleep=time.sleep)
        policy = Policy(caller, sampling=SAMPLING)
        return await time.run(refined_bon(policy, ScriptedCritic(judge), PROBLEM, n=16))

    found = asyncio.run(run())
    assert len(found.pool) == 16
    assert most == 3
