"""Addresses of critics, and the double."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from assay.engine.caller import Caller
from assay.errors import UsageError
from assay.models.base import Model
from assay.models.scripted import ScriptedModel
from assay.solve.critic import Critic, CriticKind, ScriptedCritic, make_critic, open_critic, parse_critic
from assay.solve.records import Critique, Solution, StepVerdict, Unjudged
from assay.types import Reply, Request, Sample, Token
from support.critics import Asked, criticised, judge, solved, unjudged
from support.runs import new_store


@pytest.mark.parametrize(
    ("text", "kind", "scheme", "target"),
    [
        ("openai:m@http://h:1/v1", "generative", "openai", "m"),
        ("generative:openai:m@http://h:1/v1", "generative", "openai", "m"),
        ("step-token:openai:org/m@http://h:1/v1", "step-token", "openai", "org/m"),
        ("outcome:scripted:replies.jsonl", "outcome", "scripted", "replies.jsonl"),
        ("likelihood:local:checkpoints/a:b", "likelihood", "local", "checkpoints/a:b"),
    ],
)
def test_addresses(text: str, kind: str, scheme: str, target: str) -> None:
    address = parse_critic(text)
    assert (address.kind, address.model.scheme, address.model.target) == (kind, scheme, target)


def test_the_kind_of_an_address_without_one() -> None:
    assert parse_critic("local:x", kind="likelihood").kind == "likelihood"
    assert parse_critic("outcome:local:x", kind="likelihood").kind == "outcome"


@pytest.mark.parametrize(
    "text", ["", "generative", "generative:", "generative:m", "judge:local:x", "m", "outcome:openai:m"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        parse_critic(text)


def test_opening_by_address(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(json.dumps({"id": "7", "reply": "Step 1\nJudgement: Correct"}) + "\n")
    wrapped: list[Model] = []

    def wrap(model: Model) -> Model:
        wrapped.append(model)
        return model

    critic = open_critic(f"generative:scripted:{file}", wrap=wrap)
    assert criticised(critic, solved("one")).first_error is None
    assert len(wrapped) == 1
    assert critic.identity.startswith("generative:scripted:replies.jsonl:")


KINDS: tuple[CriticKind, ...] = ("generative", "step-token", "outcome", "likelihood")


def critics() -> list[Critic]:
    model = ScriptedModel(lambda _request, _index: "?")
    return [
        *(make_critic(kind, model) for kind in KINDS),
        ScriptedCritic(lambda _sample, _solution: Unjudged(kind="empty", reason="")),
    ]


@pytest.mark.parametrize("critic", critics(), ids=lambda critic: critic.identity.split(":")[0])
def test_every_critic_keeps_the_protocol(critic: Critic) -> None:
    assert critic.identity
    empty = solved().__class__(steps=(), answer=None, origin=solved().origin)
    assert unjudged(critic, empty).kind == "empty"
    assert isinstance(judge(critic), Critique | Unjudged)
    asyncio.run(critic.close())  # twice is allowed


@pytest.mark.parametrize("kind", KINDS)
def test_options_that_a_kind_does_not_have(kind: CriticKind) -> None:
    with pytest.raises(UsageError, match="no option colour"):
        make_critic(kind, ScriptedModel(lambda _request, _index: "?"), colour="red")


def test_the_double() -> None:
    verdict = Critique(steps=(StepVerdict(correct=True, score=0.9, source="given"),))

    def plain(sample: Sample, solution: Solution) -> Critique:
        assert (sample.id, len(solution.steps)) == ("7", 3)
        return verdict

    async def later(sample: Sample, solution: Solution) -> Critique:
        await asyncio.sleep(0)
        return plain(sample, solution)

    doubles: list[Any] = [plain, later]
    for function in doubles:
        assert judge(ScriptedCritic(function, identity="double")) == verdict


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_critic_said_is_stored(kind: CriticKind, tmp_path: Path) -> None:
    """A solution that is criticised again, in a run that goes on, costs nothing."""

    def answer(request: Request, _index: int) -> Reply:
        if request.given:
            return Reply(text=request.given, tokens=(Token(text=request.given, logprob=-2.0),))
        return Reply(text={"step-token": "+", "outcome": "Yes"}.get(kind, "Step 1\nJudgement: Correct"))

    asked = Asked(answer)
    found: list[Critique] = []
    calls: list[int] = []
    for _ in range(2):
        with new_store(tmp_path / "run") as store:
            critic = make_critic(kind, Caller(asked.model, store=store))
            found.append(criticised(critic, solved("one")))
            calls.append(len(asked.requests))
    assert found[0] == found[1]
    assert calls[0] == calls[1] == found[0].calls
