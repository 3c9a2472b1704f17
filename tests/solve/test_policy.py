"""Solutions from one prompt and continuations of given steps, against every way in which servers behave."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from assay.engine.caller import Caller
from assay.errors import CallError
from assay.models.base import derive_seed, request_key
from assay.models.openai import OpenAIModel
from assay.models.scripted import ScriptedModel
from assay.solve.policy import GREEDY_INDEX, Policy, continue_messages, prompt_hash
from assay.solve.records import Refined, Sampled, Solution
from assay.types import ImagePart, Message, Reply, Request, Sampling, TextPart, Usage
from support.searching import MESSAGES, QUESTION, SAMPLE, drawn
from support.servers import Call, ChatServer, Draw, Fault, MakeServer, error, server_error

SAMPLING = Sampling(temperature=0.7, max_tokens=64)
FULL = "Step 1: 3 * 4 = 12.\n\nStep 2: 2 + 12 = 14.\n\nAnswer: 14"

PARENT = drawn("Step 1: 3 * 4 = 12.\n\n", "Step 2: 2 + 12 = 15.\n\n", "Answer: 15", answer="15")
KEPT = ("Step 1: 3 * 4 = 12.\n\n", "Step 2: 2 + 12 = 14.\n\n")
REST = "Step 3: That is all.\n\nAnswer: 14"
REFINED = (*KEPT, "Step 3: That is all.\n\n", "Answer: 14")


@pytest.fixture
def make_server() -> Iterator[MakeServer]:
    with ExitStack() as stack:

        def make(**options: Any) -> ChatServer:
            return stack.enter_context(ChatServer(**options))

        yield make


def sample_from(model: Any, **options: Any) -> list[Solution]:
    async def run() -> list[Solution]:
        try:
            return await Policy(model, sampling=SAMPLING).sample(SAMPLE, MESSAGES, seed=7, **options)
        finally:
            await model.close()

    return asyncio.run(run())


def resume_with(model: Any, kept: tuple[str, ...] = KEPT, *, index: int = 5, **options: Any) -> Solution:
    async def run() -> Solution:
        try:
            policy = Policy(model, sampling=SAMPLING, **options)
            return await policy.resume(SAMPLE, MESSAGES, PARENT, 2, kept, index=index, seed=7)
        finally:
            await model.close()

    return asyncio.run(run())


# ----------------------------------------------------------------------------------------------------------------------
# Drawn from the question


def test_solutions_of_one_prompt_are_asked_for_in_one_request() -> None:
    requests: list[Request] = []

    def answer(request: Request, index: int) -> str:
        requests.append(request)
        return f"It is {index}.\n\nAnswer: {index}"

    solutions = sample_from(ScriptedModel(answer), n=3, first_index=4)
    assert [solution.steps for solution in solutions] == [(f"It is {i}.\n\n", f"Answer: {i}") for i in (4, 5, 6)]
    assert [solution.answer for solution in solutions] == ["4", "5", "6"]
    assert [solution.origin for solution in solutions] == [Sampled(index=i) for i in (4, 5, 6)]
    (request,) = {id(request): request for request in requests}.values()
    assert (request.n, request.index, request.sampling, request.prefill) == (3, 4, SAMPLING, "")
    assert request.seed == derive_seed(7, "q1", 4)
    assert request.messages == MESSAGES
    assert [solution.reply for solution in solutions] == [
        request_key("scripted:function", request, i) for i in (4, 5, 6)
    ]


@pytest.mark.parametrize(("draws", "calls"), [("honour", 1), ("ignore", 3), ("refuse", 4), ("exceed", 1)])
def test_there_are_n_solutions_whatever_a_server_makes_of_n(make_server: MakeServer, draws: str, calls: int) -> None:
    # "refuse": the request for three, then three for one each
    server = make_server(answer=lambda call, draw: f"Answer: {call.seed + draw}", draws=draws)
    solutions = sample_from(OpenAIModel("test-model", server.url, api_key=""), n=3)
    first = derive_seed(7, "q1", 0)
    assert [solution.answer for solution in solutions] == [str(first + i) for i in range(3)]
    assert len(server.calls) == calls


def test_the_greedy_solution_shares_no_reply_with_a_drawn_one() -> None:
    requests: list[Request] = []

    def answer(request: Request, index: int) -> str:
        requests.append(request)
        return "Answer: 14"

    async def run() -> tuple[Solution, Solution]:
        # Even where the drawn ones have temperature 0 as well.
        policy = Policy(Caller(ScriptedModel(answer)), sampling=Sampling(temperature=0.0))
        (greedy,) = await policy.sample(SAMPLE, MESSAGES, seed=7, greedy=True)
        (plain,) = await policy.sample(SAMPLE, MESSAGES, seed=7)
        return greedy, plain

    greedy, plain = asyncio.run(run())
    assert greedy.origin == Sampled(index=GREEDY_INDEX, greedy=True)
    assert plain.origin == Sampled(index=0)
    assert greedy.reply != plain.reply
    assert len(requests) == 2


def test_the_greedy_solution_has_temperature_0() -> None:
    requests: list[Request] = []

    def answer(request: Request, index: int) -> str:
        requests.append(request)
        return "Answer: 14"

    sample_from(ScriptedModel(answer), greedy=True)
    assert [request.sampling for request in requests] == [Sampling(temperature=0.0, max_tokens=64)]
    with pytest.raises(ValueError, match="one greedy"):
        sample_from(ScriptedModel(answer), greedy=True, n=2)


def test_a_solution_keeps_finish_thinking_and_tokens_apart_from_its_steps() -> None:
    """Reported as 098 (an answer in the thinking) and 101 (a reply cut before its answer)."""
    reply = Reply(
        text="3 * 4 = 12, so 14.\n\nNow I check",
        reasoning="Products first.\n\nAnswer: 20",
        finish="length",
        usage=Usage(prompt_tokens=9, completion_tokens=5),
    )
    (solution,) = sample_from(ScriptedModel(lambda request, index: reply))
    assert solution.steps == ("3 * 4 = 12, so 14.\n\n", "Now I check")
    assert solution.reasoning == "Products first.\n\nAnswer: 20"
    assert solution.finish == "length"
    assert solution.usage == Usage(prompt_tokens=9, completion_tokens=5)
    assert solution.answer is None  # cut off before an answer was announced


def test_an_empty_reply_is_a_solution_without_steps() -> None:
    """Reported as 100: the finish says why."""
    reply = Reply(text="", reasoning="Hmm.", finish="filter")
    (solution,) = sample_from(ScriptedModel(lambda request, index: reply))
    assert (solution.steps, solution.answer, solution.finish) == ((), None, "filter")


def test_more_steps_than_the_limit_are_merged() -> None:
    text = "".join(f"Line {i}.\n\n" for i in range(6))

    async def run() -> list[Solution]:
        policy = Policy(ScriptedModel(lambda request, index: text), sampling=SAMPLING, max_steps=3)
        return await policy.sample(SAMPLE, MESSAGES, seed=7)

    (solution,) = asyncio.run(run())
    assert solution.steps == ("Line 0.\n\nLine 1.\n\n", "Line 2.\n\nLine 3.\n\n", "Line 4.\n\nLine 5.\n\n")


# ----------------------------------------------------------------------------------------------------------------------
# Continued: every server of facts about servers, and both ways of asking


def going_on(call: Call, draw: int) -> str:
    """A model that continues whatever it is given, and counts on for the probe."""
    if call.prefill is not None and call.prefill.startswith("Qzx"):
        return " seven, eight"
    if call.prefill == "".join(KEPT) or "<checked_steps>" in call.question:
        return REST
    return FULL


@pytest.mark.parametrize(
    ("prefill", "prefilled"),
    [("continue", True), ("repeat", True), ("trailing", True), ("refuse", False), ("new_turn", False)],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_every_server_gives_the_same_refined_solution(
    make_server: MakeServer, prefill: str, prefilled: bool, wrapped: bool
) -> None:
    """Reported as 174 (a new turn in the place of a continuation) and 176 (the picture lost on the way)."""
    server = make_server(answer=going_on, prefill=prefill)
    model = OpenAIModel("test-model", server.url, api_key="")
    solution = resume_with(Caller(model) if wrapped else model)
    assert solution.steps == REFINED
    assert solution.text == "".join(KEPT) + REST
    assert solution.answer == "14"
    assert solution.origin == Refined(parent=2, kept=2)
    assert solution.continuation == "continued"
    last = server.calls[-1]
    assert last.prefill == ("".join(KEPT) if prefilled else None)
    assert ("<checked_steps>" in last.question) == (not prefilled)
    assert len(last.pictures) == 1
    assert last.body["seed"] == derive_seed(7, "q1", 5)


def test_prompt_continuation_is_never_asked_as_prefill(make_server: MakeServer) -> None:
    server = make_server(answer=going_on)
    solution = resume_with(OpenAIModel("test-model", server.url, api_key=""), continuation="prompt")
    assert solution.steps == REFINED
    assert [call.prefill for call in server.calls] == [None]  # nor is the server probed


def test_prefill_that_is_demanded_of_a_server_that_cannot_fails(make_server: MakeServer) -> None:
    server = make_server(answer=going_on, prefill="refuse")
    with pytest.raises(CallError, match="can't continue an assistant turn") as caught:
        resume_with(OpenAIModel("test-model", server.url, api_key=""), continuation="prefill")
    assert caught.value.kind == "bad_request"


def test_a_turn_that_is_refused_by_a_model_that_can_in_general_is_handed_over_by_prompt(
    make_server: MakeServer,
) -> None:
    def no_place(call: Call) -> Fault | None:
        return error(400, "the template has no place for this turn") if call.prefill == "".join(KEPT) else None

    server = make_server(answer=going_on, fault=no_place)
    assert resume_with(OpenAIModel("test-model", server.url, api_key="")).steps == REFINED
    assert "<checked_steps>" in server.calls[-1].question
    with pytest.raises(CallError, match="no place"):
        resume_with(OpenAIModel("test-model", server.url, api_key=""), continuation="prefill")


def test_another_failure_of_a_prefilled_call_is_no_reason_to_ask_by_prompt(make_server: MakeServer) -> None:
    def broken(call: Call) -> Fault | None:
        return server_error() if call.prefill == "".join(KEPT) else None

    server = make_server(answer=going_on, fault=broken)
    with pytest.raises(CallError) as caught:
        resume_with(OpenAIModel("test-model", server.url, api_key=""))
    assert caught.value.kind == "server"


def test_a_server_that_opens_a_new_turn_against_its_word_begins_anew(make_server: MakeServer) -> None:
    def answer(call: Call, draw: int) -> str:
        return FULL

    server = make_server(answer=answer, prefill="new_turn")
    model = OpenAIModel("test-model", server.url, api_key="", prefill="continue")  # so its user claims
    solution = resume_with(model)
    assert solution.continuation == "restarted"
    assert solution.origin == Refined(parent=2, kept=0)
    assert solution.text == "Sure, let me start over. " + FULL
    assert solution.answer == "14"


@pytest.mark.parametrize("how", ["prefill", "prompt"])
@pytest.mark.parametrize(
    ("reply", "steps", "kind", "kept"),
    [
        (REST, REFINED, "continued", 2),
        ("\n\n" + REST, REFINED, "continued", 2),
        ("".join(KEPT) + REST, REFINED, "repeated", 2),
        ("", KEPT, "empty", 2),
        ("\n", KEPT, "empty", 2),
        (
            FULL.replace("14", "20"),
            ("Step 1: 3 * 4 = 12.\n\n", "Step 2: 2 + 12 = 20.\n\n", "Answer: 20"),
            "restarted",
            0,
        ),
        ("so 14 it is.", (*KEPT, "so 14 it is."), "continued", 2),
    ],
)
def test_both_ways_of_asking_give_the_same_records(
    how: Any, reply: str, steps: tuple[str, ...], kind: str, kept: int
) -> None:
    requests: list[Request] = []

    def answer(request: Request, index: int) -> Reply:
        requests.append(request)
        return Reply(text=reply, reasoning="Well.", finish="length", usage=Usage(completion_tokens=3))

    solution = resume_with(ScriptedModel(answer), continuation=how)
    (request,) = requests
    assert (request.index, request.n, request.seed) == (5, 1, derive_seed(7, "q1", 5))
    assert request.prefill == ("".join(KEPT) if how == "prefill" else "")
    assert (solution.steps, solution.continuation) == (steps, kind)
    assert solution.origin == Refined(parent=2, kept=kept)
    assert (solution.reasoning, solution.finish, solution.usage) == ("Well.", "length", Usage(completion_tokens=3))
    assert solution.reply == request_key("scripted:function", request, 5)


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"content": "<think>Really 14?</think>\n\n" + REST}, "Really 14?"),
        ({"content": REST, "reasoning_content": "Really 14?"}, "Really 14?"),
        # a reasoning parser that takes all of the continuation for thinking, as reported of judges (146)
        ({"content": None, "reasoning_content": REST}, ""),
        ({"content": "", "reasoning": REST}, ""),
    ],
)
def test_thinking_in_a_continuation_is_kept_apart(
    make_server: MakeServer, message: dict[str, Any], reasoning: str
) -> None:
    server = make_server(answer=lambda call, draw: Draw(message=message), prefill="continue")
    solution = resume_with(OpenAIModel("test-model", server.url, api_key="", prefill="continue"))
    assert (solution.steps, solution.reasoning, solution.continuation) == (REFINED, reasoning, "continued")


def test_a_continuation_cut_while_thinking_is_empty() -> None:
    reply = Reply(text="", reasoning="Hmm, 14", finish="length")
    solution = resume_with(ScriptedModel(lambda request, index: reply), continuation="prefill")
    assert (solution.steps, solution.reasoning, solution.finish) == (KEPT, "Hmm, 14", "length")
    assert solution.continuation == "empty"


def test_a_given_step_without_a_line_break_does_not_run_into_the_next() -> None:
    solution = resume_with(ScriptedModel(lambda request, index: "So 14."), ("3 * 4 = 12.",), continuation="prefill")
    assert solution.steps == ("3 * 4 = 12.\n\n", "So 14.")


def test_given_steps_are_never_merged_with_new_ones() -> None:
    text = "".join(f"Line {i}.\n\n" for i in range(4))
    model = ScriptedModel(lambda request, index: text)
    solution = resume_with(model, continuation="prefill", max_steps=4)  # two given, room for two
    assert solution.steps == (*KEPT, "Line 0.\n\nLine 1.\n\n", "Line 2.\n\nLine 3.\n\n")
    solution = resume_with(model, continuation="prefill", max_steps=2)  # no room: one all the same
    assert solution.steps == (*KEPT, text)


def test_equal_prefixes_with_different_indices_are_different_draws() -> None:
    model = ScriptedModel(lambda request, index: f"So {index}.")
    solutions = [resume_with(model, index=index, continuation="prefill") for index in (5, 6)]
    assert [solution.steps[-1] for solution in solutions] == ["So 5.", "So 6."]
    assert solutions[0].reply != solutions[1].reply


# ----------------------------------------------------------------------------------------------------------------------
# The prompt that hands steps over


def text_of(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def test_the_prompt_shows_the_question_its_picture_and_the_steps() -> None:
    system = Message(role="system", parts=(TextPart(text="Be brief."),))
    first, last = continue_messages((system, *MESSAGES), KEPT)
    assert first == system
    assert isinstance(last.parts[0], ImagePart)
    assert text_of(last).startswith(QUESTION)
    assert "<checked_steps>\nStep 1: 3 * 4 = 12.\n\nStep 2: 2 + 12 = 14.\n</checked_steps>" in text_of(last)
    assert "the number 3." in text_of(last)


def test_the_prompt_asks_for_no_number_after_steps_without_one() -> None:
    (last,) = continue_messages(MESSAGES, ("Three times four is 12.\n\n",))
    assert "number" not in text_of(last)


def test_steps_cannot_end_their_part_of_the_prompt() -> None:
    (last,) = continue_messages(MESSAGES, ("a </checked_steps> {next} b\n\n",))
    assert text_of(last).count("</checked_steps>") == 1
    assert "{next}" in text_of(last)


def test_the_prompt_has_not_changed() -> None:
    # A changed prompt is a changed policy: note it in the changelog's Scores section.
    assert prompt_hash() == "49cdae25d9e4d9aa35558358a57268e6f5e86c72549032a927fcfcc094feee6d"


# ----------------------------------------------------------------------------------------------------------------------
# A checkpoint in this process


@pytest.mark.local
def test_a_checkpoint_in_this_process_continues_by_prefill(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from assay.models.local import LocalModel
    from support.tiny import build_text

    folder = build_text(tmp_path / "text")
    kept = ("a price of 12.\n\n",)
    messages = (Message(role="user", parts=(TextPart(text="gold?"),)),)

    async def run() -> tuple[str, Solution, Reply]:
        model = LocalModel.open(folder, device="cpu", dtype="float32")
        try:
            policy = Policy(model, sampling=Sampling(temperature=1.0, max_tokens=8))
            solution = await policy.resume(SAMPLE, messages, PARENT, 0, kept, index=1, seed=7)
            direct = Request(
                messages=messages,
                sampling=policy.sampling,
                seed=derive_seed(7, "q1", 1),
                index=1,
                prefill="a price of 12.\n\n",
                sample_id="q1",
            )
            (reply,) = await model.generate(direct)
            return await policy.continues_by(), solution, reply
        finally:
            await model.close()

    how, solution, reply = asyncio.run(run())
    assert how == "prefill"
    assert solution.steps[0] == kept[0]
    assert solution.text == kept[0] + reply.text.lstrip("\n")
    assert isinstance(solution.origin, Refined)
