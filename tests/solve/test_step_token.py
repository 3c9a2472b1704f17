"""The step-token critic: one turn a step, P(+) of each."""

import asyncio
import math
from pathlib import Path

import pytest

from assay.errors import CallError, RunStopped, UsageError
from assay.models.openai import OpenAIModel
from assay.models.scripted import ScriptedModel
from assay.solve.step_token import StepTokenCritic
from assay.types import Reply, Request, TextPart, Token, Usage
from support.critics import STEPS, Asked, criticised, shown, solved, unjudged
from support.faults import Call
from support.servers import ChatServer

SNAPSHOTS = Path(__file__).parent / "snapshots"


def one_token(text: str, listed: dict[str, float]) -> Reply:
    top = tuple((name, math.log(probability)) for name, probability in listed.items())
    token = Token(text=text, logprob=math.log(listed[text]), top=top)
    return Reply(text=text, tokens=(token,), finish="length", usage=Usage(prompt_tokens=50, completion_tokens=1))


REPLIES = (
    one_token("+", {"+": 0.9, "-": 0.1}),
    one_token("-", {"+": 0.3, "-": 0.6}),
    one_token(" +", {" +": 0.4, "+": 0.2, " -": 0.2}),
)


def by_step(request: Request, _index: int) -> Reply:
    """The reply about the step that the conversation ends with."""
    return REPLIES[len(request.messages) // 2]


def test_scores() -> None:
    asked = Asked(by_step)
    critique = criticised(StepTokenCritic(asked.model))
    # 0.9 / 1; 0.3 / 0.9; (0.4 + 0.2) / 0.8: case 155, both ways to write the label count
    assert [step.score for step in critique.steps] == pytest.approx([0.9, 1 / 3, 0.75])
    assert [step.correct for step in critique.steps] == [True, False, True]
    assert {step.source for step in critique.steps} == {"logprobs"}
    assert (critique.calls, critique.correction) == (3, None)
    assert critique.usage == Usage(prompt_tokens=150, completion_tokens=3)
    assert all(request.sampling.max_tokens == 1 and request.top_logprobs == 20 for request in asked.requests)


def test_the_conversation() -> None:
    asked = Asked(by_step)
    criticised(StepTokenCritic(asked.model))
    longest = max(asked.requests, key=lambda request: len(request.messages))
    assert shown(longest) + "\n" == (SNAPSHOTS / "step_token.txt").read_text(encoding="utf-8")
    for request in asked.requests:  # each is the beginning of the longest: a prefix cache knows it
        assert request.messages == longest.messages[: len(request.messages)]
    assert sorted(len(request.messages) for request in asked.requests) == [1, 3, 5]


def test_earlier_answers_of_its_own() -> None:
    asked = Asked(by_step)
    criticised(StepTokenCritic(asked.model, earlier="own"))
    said = [shown(request).count("--- assistant\n-") for request in asked.requests]
    assert said == [0, 0, 1]  # the second step was answered with -


@pytest.mark.parametrize(("threshold", "correct"), [(0.2, [True, True, True]), (0.8, [True, False, False])])
def test_the_threshold_is_an_option(threshold: float, correct: list[bool]) -> None:
    """Case 158: one half is no law."""
    critique = criticised(StepTokenCritic(Asked(by_step).model, threshold=threshold))
    assert [step.correct for step in critique.steps] == correct


def test_probabilities_as_they_are() -> None:
    critique = criticised(StepTokenCritic(Asked(by_step).model, normalise=False))
    assert [step.score for step in critique.steps] == pytest.approx([0.9, 0.3, 0.6])


def test_labels_of_ones_own() -> None:
    asked = Asked(lambda _request, _index: one_token("right", {"right": 0.7, "wrong": 0.1}))
    critique = criticised(StepTokenCritic(asked.model, labels=("right", "wrong")), solved("one", "two"))
    assert [step.score for step in critique.steps] == pytest.approx([0.875, 0.875])
    longest = max(asked.requests, key=lambda request: len(request.messages))
    assert "--- assistant\nright\n" in shown(longest)


def test_without_log_probabilities_the_sign_counts() -> None:
    critique = criticised(StepTokenCritic(ScriptedModel(lambda _request, _index: "+")))
    assert [(step.score, step.source) for step in critique.steps] == [(1.0, "text")] * 3


def test_against_a_server() -> None:
    """Its tokens have one half, its alternatives go down to 2**-20, which is also what they leave over."""

    def answer(call: Call, _draw: int) -> str:
        return "-" if "Blue" in call.question else "+"

    with ChatServer(answer=answer) as server:
        critique = criticised(StepTokenCritic(OpenAIModel("test-model", server.url, api_key="")))
    bound = 2.0**-20
    likely, unlikely = 0.5 / (0.5 + bound), bound / (0.5 + bound)
    assert [step.score for step in critique.steps] == pytest.approx([likely, unlikely, likely], rel=1e-9)
    assert {step.source for step in critique.steps} == {"bounded"}
    assert len(server.calls) == 3


def test_one_step_without_a_verdict_leaves_the_solution_unjudged() -> None:
    """Case 161: a failed call is no score of 0, and no list of another length. Case 154: every step has its label."""

    def answer(request: Request, index: int) -> Reply:
        if len(request.messages) == 3:
            raise CallError("server", "it broke")
        return by_step(request, index)

    found = unjudged(StepTokenCritic(ScriptedModel(answer)))
    assert (found.kind, found.calls) == ("failed", 3)
    assert found.reason.startswith("step 2: ")
    found = unjudged(StepTokenCritic(ScriptedModel(answer), earlier="own"))
    assert (found.kind, found.calls) == ("failed", 2)


def test_a_model_that_says_something_else() -> None:
    found = unjudged(StepTokenCritic(Asked(lambda _r, _i: one_token("The", {"The": 0.9, "+": 0.01})).model))
    assert found.kind == "unparsable"
    assert unjudged(StepTokenCritic(ScriptedModel(lambda _r, _i: "Sure")), solved(*STEPS)).kind == "unparsable"


def test_no_steps_no_call() -> None:
    asked = Asked(by_step)
    found = unjudged(StepTokenCritic(asked.model), solved().__class__(steps=(), answer=None, origin=solved().origin))
    assert (found.kind, found.calls, asked.requests) == ("empty", 0, [])


def test_thresholds_are_probabilities() -> None:
    with pytest.raises(UsageError):
        StepTokenCritic(ScriptedModel(by_step), threshold=1.5)


def test_the_end_of_the_run_is_passed_on_when_all_calls_are_over() -> None:
    over: list[int] = []

    async def stop(request: Request, _index: int) -> Reply:
        turns = len(request.messages)
        if turns == 1:
            raise RunStopped("enough")
        await asyncio.sleep(0)
        over.append(turns)
        return REPLIES[0]

    with pytest.raises(RunStopped):
        unjudged(StepTokenCritic(ScriptedModel(stop)))
    assert sorted(over) == [3, 5]


def test_a_published_critics_own_prompt() -> None:
    """VisualPRM's first turn is the question and step 1 under two headings, each further one a bare step."""
    asked = Asked(by_step)
    prompt = "### Question:\n{question}\n\n### Solution Process:\n{step}"
    critic = StepTokenCritic(asked.model, prompt=prompt)
    criticised(critic)
    longest = max(asked.requests, key=lambda request: len(request.messages))
    texts = [
        part.text
        for turn in longest.messages
        if turn.role == "user"
        for part in turn.parts
        if isinstance(part, TextPart)
    ]
    assert texts[0].startswith("### Question:\n")
    assert texts[0].endswith(f"### Solution Process:\n{STEPS[0].strip()}")
    assert texts[1:] == [step.strip() for step in STEPS[1:]]
    assert critic.identity != StepTokenCritic(asked.model).identity


@pytest.mark.parametrize("prompt", ["no places", "{question} alone", "{question} {step} {picture}"])
def test_a_prompt_without_its_places(prompt: str) -> None:
    with pytest.raises(UsageError, match=r"\{question\} and \{step\}"):
        StepTokenCritic(Asked(by_step).model, prompt=prompt)
