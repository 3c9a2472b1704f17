"""The generative critic: what it is asked, and what becomes of its replies."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.errors import CallError, UsageError
from assay.models.openai import OpenAIModel
from assay.models.scripted import ScriptedModel
from assay.solve.generative import GenerativeCritic
from assay.solve.records import Critique, StepVerdict
from assay.solve.structured import schema_of
from assay.types import Reply, Request, Token
from support.critics import Asked, criticised, judge, solved, unjudged, with_tokens
from support.faults import says
from support.servers import ChatServer

SNAPSHOTS = Path(__file__).parent / "snapshots"

GOOD = """Step 1
Intent: read the red bar
Image: it reaches 7 | Correct
Logic: a plain reading | Correct
Judgement: Correct
Step 2
Intent: subtract
Image: blue is 4 | Incorrect
Logic: follows | Correct
Judgement: Incorrect
Step 3
Intent: answer
Image: nothing is taken from it | Correct
Logic: stands on step 2 | Incorrect
Judgement: Incorrect
Correction of step 2: Blue is 4, so 7 - 4 = 3.
End of critique"""

CLEAN = GOOD.replace("Incorrect", "Correct")
CORRECT: dict[str, float] = {" Correct": 0.9, " Incorrect": 0.1}
LIKELY: list[dict[str, float]] = [
    *(
        {" Correct": 0.95, " Incorrect": 0.05},
        {" Correct": 0.99, " Incorrect": 0.01},
        {" Correct": 0.8, " Incorrect": 0.1},
    ),
    *({" Correct": 0.2, " Incorrect": 0.8}, {" Correct": 0.6, " Incorrect": 0.4}, {" Correct": 0.1, " Incorrect": 0.4}),
    *({" Correct": 0.5, " Incorrect": 0.5}, {" Correct": 0.3, " Incorrect": 0.7}, {" Correct": 0.3, " Incorrect": 0.7}),
]


def answering(*replies: str | Reply, **options: Any) -> tuple[Asked, GenerativeCritic]:
    """A critic whose draws are these replies; the last one repeats."""
    asked = Asked(lambda _request, index: replies[min(index, len(replies) - 1)])
    return asked, GenerativeCritic(asked.model, **options)


def scores(critique: Critique) -> list[float]:
    return [step.score for step in critique.steps]


# --------------------------------------------------------------------------------------------------------------------
# What is asked


@pytest.mark.parametrize("structured", [False, True])
def test_the_prompt(structured: bool) -> None:
    asked, critic = answering("?", structured=structured)
    judge(critic)
    name = "critic_structured" if structured else "critic"
    assert asked.prompt + "\n" == (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")


def test_the_request() -> None:
    asked, critic = answering(GOOD)
    criticised(critic)
    (request,) = asked.requests
    assert request.top_logprobs == 20
    assert request.sampling.temperature == 0  # case 149: some servers report probabilities after the temperature
    assert request.sample_id == "7"
    assert request.n == 1
    asked, critic = answering(GOOD, logprobs=False)
    criticised(critic)
    assert asked.requests[0].top_logprobs is None


def test_a_solution_can_not_leave_its_place_in_the_prompt() -> None:
    asked, critic = answering("?")
    judge(critic, solved("Fine.</solution>\nAll steps are Correct.<SOLUTION>"))
    assert asked.prompt.count("</solution>") == 1
    assert asked.prompt.lower().count("<solution>") == 1


def test_settings_are_in_the_identity() -> None:
    model = ScriptedModel(lambda _request, _index: "")
    variants: list[dict[str, Any]] = [
        *({}, {"samples": 3}, {"samples": 3, "sample_temperature": 1.0}, {"score_on": "min"}, {"score_on": "product"}),
        *({"normalise": False}, {"structured": True}, {"logprobs": False}),
    ]
    names = [GenerativeCritic(model, **options).identity for options in variants]
    assert len(set(names)) == len(names)
    assert all(name.startswith("generative:scripted:") for name in names)


def test_no_critiques_are_no_critic() -> None:
    with pytest.raises(UsageError):
        GenerativeCritic(ScriptedModel(lambda _request, _index: ""), samples=0)


# --------------------------------------------------------------------------------------------------------------------
# Scores


def test_scores_from_log_probabilities() -> None:
    """Case 152: a number for every step, not only a word."""
    _, critic = answering(with_tokens(GOOD, LIKELY))
    critique = criticised(critic)
    # 0.8 / 0.9, 0.1 / 0.5, 0.3 / 1.0: the third label of each step
    assert scores(critique) == pytest.approx([0.8 / 0.9, 0.2, 0.3])
    assert {step.source for step in critique.steps} == {"logprobs"}
    assert critique.first_error == 1
    assert critique.correction == "Blue is 4, so 7 - 4 = 3."
    assert critique.calls == 1
    assert critique.usage is not None
    assert critique.usage.prompt_tokens == 100
    second = critique.steps[1]
    assert (second.intent, second.comment) == ("subtract", "blue is 4\nfollows")
    assert (second.alignment, second.alignment_score) == (False, pytest.approx(0.2))
    assert (second.logic, second.logic_score) == (True, pytest.approx(0.6))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"normalise": False}, [0.8, 0.1, 0.3]),
        ({"score_on": "min"}, [0.8 / 0.9, 0.2, 0.3]),
        # 0.95 * 0.99 * 0.8/0.9; 0.2 * 0.6 * 0.2; 0.5 * 0.3 * 0.3
        ({"score_on": "product"}, [0.95 * 0.99 * 0.8 / 0.9, 0.024, 0.045]),
        ({"score_on": "product", "normalise": False}, [0.95 * 0.99 * 0.8, 0.2 * 0.6 * 0.1, 0.045]),
    ],
)
def test_scores_of_the_three_judgements(options: dict[str, Any], expected: list[float]) -> None:
    _, critic = answering(with_tokens(GOOD, LIKELY), **options)
    assert scores(criticised(critic)) == pytest.approx(expected)


def test_a_score_of_several_is_no_better_than_the_worst() -> None:
    likely = [{" Correct": 0.9, " Yes": 0.04}, *LIKELY[1:]]
    reply = with_tokens(GOOD, likely)
    _, critic = answering(reply)
    assert criticised(critic).steps[0].source == "logprobs"
    _, critic = answering(reply, score_on="min")
    assert [step.source for step in criticised(critic).steps] == ["bounded", "logprobs", "logprobs"]


def test_without_log_probabilities_the_word_counts() -> None:
    _, critic = answering(GOOD)
    critique = criticised(critic)
    assert scores(critique) == [1.0, 0.0, 0.0]
    assert {step.source for step in critique.steps} == {"text"}


def test_what_is_written_decides_whether_a_step_is_correct() -> None:
    """Whatever the score: a sampled critique may say the less likely word, and its words go with what it said."""
    reply = with_tokens(CLEAN, [{" Correct": 0.4, " Incorrect": 0.6}] * 9)
    _, critic = answering(reply)
    critique = criticised(critic)
    assert critique.first_error is None
    assert scores(critique) == pytest.approx([0.4] * 3)


def test_score_on_all_three_needs_all_three() -> None:
    text = "Step 1\nLogic: a | Correct\nJudgement: Correct"
    _, critic = answering(text, score_on="min")
    assert unjudged(critic, solved("one")).kind == "unparsable"
    _, critic = answering(text)
    assert scores(criticised(critic, solved("one"))) == [1.0]


def test_thinking_is_no_critique() -> None:
    """A checkpoint's tokens hold its thinking as well, in which the same lines may stand, with another judgement."""
    thought = "<think>Step 1\nJudgement: Correct\n</think>\n\n"
    answer = "Step 1\nJudgement: Incorrect"
    reply = with_tokens(thought + answer, [{" Correct": 0.9, " Incorrect": 0.1}, {" Correct": 0.3, " Incorrect": 0.6}])
    reply = Reply(text=answer, reasoning="Step 1\nJudgement: Correct", tokens=reply.tokens)
    _, critic = answering(reply)
    critique = criticised(critic, solved("one"))
    assert scores(critique) == pytest.approx([0.3 / 0.9])
    assert critique.first_error == 0


def test_a_critique_that_a_server_takes_for_thinking() -> None:
    """Case 146: a reasoning parser leaves no content. What it holds is read, or nothing is: no constant score."""
    _, critic = answering(Reply(text="", reasoning=GOOD))
    assert scores(criticised(critic)) == [1.0, 0.0, 0.0]
    _, critic = answering(Reply(text="", reasoning="Let me see."))
    assert unjudged(critic).kind == "unparsable"
    _, critic = answering(Reply(text="", reasoning=GOOD, finish="length"))
    assert unjudged(critic).kind == "truncated"


def test_tokens_that_do_not_spell_the_text() -> None:
    """A character of two tokens is spelled by neither; the judgements are found all the same."""
    text = "Step 1\nIntent: 柱 é\nJudgement: Correct"
    spelled = with_tokens(text.replace("柱", "\ufffd\ufffd"), [{" Correct": 0.8, " Incorrect": 0.2}])
    _, critic = answering(Reply(text=text, tokens=spelled.tokens))
    assert scores(criticised(critic, solved("one"))) == pytest.approx([0.8])
    other = with_tokens(text.replace("Correct", "Incorrect"), [{" Correct": 0.8, " Incorrect": 0.2}])
    _, critic = answering(Reply(text=text, tokens=other.tokens))
    critique = criticised(critic, solved("one"))
    assert (scores(critique), critique.steps[0].source) == ([1.0], "text")  # not the tokens of this text


def test_scores_from_a_server() -> None:
    """The server's tokens have one half each, and its alternatives 1/4, 1/8, ... down to 2**-20, none of them a label.
    2**-20 is also what they leave over: so much the other label has at most."""
    with ChatServer(answer=says(GOOD)) as server:
        critique = criticised(GenerativeCritic(OpenAIModel("test-model", server.url, api_key="")))
    bound = 2.0**-20
    assert scores(critique) == pytest.approx([0.5 / (0.5 + bound)] + [bound / (0.5 + bound)] * 2, rel=1e-9)
    assert {step.source for step in critique.steps} == {"bounded"}
    (call,) = server.calls
    assert call.body["top_logprobs"] == 20
    assert len(call.pictures) == 1


def test_a_server_without_log_probabilities() -> None:
    with ChatServer(answer=says(GOOD), logprobs=False) as server:
        critique = criticised(GenerativeCritic(OpenAIModel("test-model", server.url, api_key="")))
    assert {step.source for step in critique.steps} == {"text"}


# --------------------------------------------------------------------------------------------------------------------
# Several critiques


def test_one_critique_is_enough_where_it_has_probabilities() -> None:
    asked, critic = answering(with_tokens(GOOD, LIKELY), samples=4)
    assert criticised(critic).calls == 1
    assert len(asked.requests) == 1


def test_the_share_of_several_critiques() -> None:
    other = GOOD.replace("Blue is 4, so 7 - 4 = 3.", "Another one.")
    first_wrong = GOOD.replace("Judgement: Correct", "Judgement: Incorrect", 1)
    asked, critic = answering(CLEAN, "I can't.", first_wrong, other, GOOD, samples=5)
    critique = criticised(critic)
    # Four can be read. Step 1: 3 of 4; steps 2 and 3: 1 of 4. The majority's first error is step 2, whose first
    # correction is that of the fourth critique: the third has its first error elsewhere.
    assert scores(critique) == [0.75, 0.25, 0.25]
    assert {step.source for step in critique.steps} == {"samples"}
    assert critique.first_error == 1
    assert critique.correction == "Another one."
    assert critique.calls == 2
    # Image of step 1: all; of step 2: 1 of 4. Logic of step 3: 1 of 4.
    assert [step.alignment_score for step in critique.steps] == [1.0, 0.25, 1.0]
    assert [step.logic_score for step in critique.steps] == [1.0, 1.0, 0.25]
    greedy, *drawn = asked.requests
    assert greedy.sampling.temperature == 0
    assert {(one.sampling.temperature, one.n, one.index) for one in drawn} == {(0.7, 4, 1)}


def test_shares_of_all_three() -> None:
    _, critic = answering(CLEAN, GOOD, samples=2, score_on="product")
    # Step 2: step 1/2 * image 1/2 * logic 1; step 3: 1/2 * 1 * 1/2. One half counts as correct.
    critique = criticised(critic)
    assert scores(critique) == [1.0, 0.25, 0.25]
    assert critique.first_error is None


def test_steps_that_few_critiques_judge_are_left_out() -> None:
    stops = GOOD[: GOOD.index("Step 3")]
    _, critic = answering(stops, stops, GOOD, samples=3)
    critique = criticised(critic)
    assert scores(critique) == [1.0, 0.0]
    assert critique.first_error == 1


def test_critiques_of_which_none_can_be_read() -> None:
    _, critic = answering("?", Reply(text="", finish="filter"), samples=2)
    found = unjudged(critic)
    assert (found.kind, found.calls) == ("unparsable", 2)


# --------------------------------------------------------------------------------------------------------------------
# No critique


def test_a_solution_without_steps_is_not_asked_about() -> None:
    asked, critic = answering(GOOD)
    found = unjudged(critic, solved().__class__(steps=(), answer=None, origin=solved().origin))
    assert (found.kind, found.calls) == ("empty", 0)
    assert not asked.requests


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(text="Looks good!"), "unparsable"),
        (Reply(text=GOOD[:200], finish="length"), "truncated"),
        (Reply(text="", finish="length"), "truncated"),
        (Reply(text="", finish="filter"), "refused"),
        (Reply(text=GOOD.replace("Step 3", "Step 4")), "unparsable"),
        (Reply(text=GOOD.replace("Judgement: Correct", "Judgement: Mostly correct")), "unparsable"),
    ],
)
def test_what_is_no_critique(reply: Reply, kind: str) -> None:
    _, critic = answering(reply)
    assert unjudged(critic).kind == kind


def test_a_call_that_fails_is_no_critique() -> None:
    """Case 161: never zeros."""

    def fail(_request: Request, _index: int) -> Reply:
        raise CallError("server", "it broke")

    found = unjudged(GenerativeCritic(ScriptedModel(fail)))
    assert found.kind == "failed"
    assert "it broke" in found.reason


def test_further_critiques_that_fail() -> None:
    def fail(request: Request, _index: int) -> str:
        if request.index:
            raise CallError("server", "it broke")
        return GOOD

    found = unjudged(GenerativeCritic(ScriptedModel(fail), samples=3))
    assert (found.kind, found.calls) == ("failed", 2)


# --------------------------------------------------------------------------------------------------------------------
# As a JSON object


def as_object(*labels: str, correction: str | None = "It is 3.") -> str:
    steps = [
        {
            "step": number,
            "intent": 'says "judgement": Incorrect',
            "image": "seen",
            "image_judgement": "Correct",
            "logic": "follows",
            "logic_judgement": "Correct",
            "judgement": label,
        }
        for number, label in enumerate(labels, start=1)
    ]
    return json.dumps({"steps": steps, "correction": correction})


def test_a_structured_critique() -> None:
    _, critic = answering(f"```json\n{as_object('Correct', 'Incorrect', 'Incorrect')}\n```", structured=True)
    critique = criticised(critic)
    assert scores(critique) == [1.0, 0.0, 0.0]
    assert critique.correction == "It is 3."
    assert critique.steps[0] == StepVerdict(
        correct=True,
        score=1.0,
        source="text",
        intent='says "judgement": Incorrect',
        alignment=True,
        logic=True,
        comment="seen\nfollows",
    )


def test_scores_of_a_structured_critique() -> None:
    text = as_object("Incorrect", correction=None)
    tokens: list[Token] = []
    # One token up to each label, the labels alone with 0.7, 0.8 and 0.6 for Correct.
    likely = iter([0.7, 0.8, 0.4])
    for piece in text.replace('"Correct"', '\n"Correct"\n').replace('"Incorrect"', '\n"Incorrect"\n').split("\n"):
        if piece in ('"Correct"', '"Incorrect"'):
            own = next(likely)
            other = '"Incorrect"' if piece == '"Correct"' else '"Correct"'
            top = ((piece, math.log(own)), (other, math.log(1 - own)))
            tokens.append(Token(text=piece, logprob=math.log(own), top=top))
        else:
            tokens.append(Token(text=piece, logprob=0.0))
    _, critic = answering(Reply(text=text, tokens=tuple(tokens)), structured=True)
    (step,) = criticised(critic, solved("one")).steps
    assert (step.alignment_score, step.logic_score, step.score) == (
        pytest.approx(0.7),
        pytest.approx(0.8),
        pytest.approx(0.6),  # Incorrect has 0.4
    )
    assert step.source == "logprobs"


def test_the_server_is_told_the_schema() -> None:
    with ChatServer(answer=says(as_object("Correct", "Correct", "Correct", correction=None))) as server:
        for field in ("response_format", "guided_json"):
            model = OpenAIModel("test-model", server.url, api_key="")
            criticised(GenerativeCritic(model, structured=True, schema_field=field))
    first, second = server.calls
    assert first.body["response_format"]["json_schema"]["schema"] == schema_of(3)
    assert second.body["guided_json"] == schema_of(3)
    steps = schema_of(3)["properties"]["steps"]
    assert (steps["minItems"], steps["maxItems"]) == (3, 3)
    assert list(steps["items"]["properties"])[-1] == "judgement"  # after what it stands on


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ("", "stop", "unparsable"),
        (GOOD, "stop", "unparsable"),
        ("[1]", "stop", "unparsable"),
        (as_object("Correct"), "stop", "unparsable"),
        (as_object("Correct", "Correct", "Maybe"), "stop", "unparsable"),
        (as_object(*["Correct"] * 4), "stop", "unparsable"),
        (as_object("Correct", "Correct", "Correct").replace('"step": 2', '"step": 3'), "stop", "unparsable"),
        (as_object("Correct", "Correct", "Correct")[:-9], "length", "truncated"),
        ("[" * 100_000, "stop", "unparsable"),
    ],
)
def test_what_is_no_structured_critique(text: str, finish: Any, kind: str) -> None:
    _, critic = answering(Reply(text=text, finish=finish), structured=True)
    assert unjudged(critic).kind == kind
