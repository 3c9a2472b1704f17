"""The outcome critic: one score for a whole solution."""

import math
from pathlib import Path

import pytest

from assay.errors import CallError, UsageError
from assay.models.scripted import ScriptedModel
from assay.solve.outcome_critic import OutcomeCritic
from assay.solve.records import Rule
from assay.solve.select import aggregate
from assay.types import Reply, Request, Token, Usage
from support.critics import Asked, criticised, unjudged

SNAPSHOTS = Path(__file__).parent / "snapshots"


def said(text: str, yes: float, no: float) -> Reply:
    top = ((" Yes", math.log(yes)), (" No", math.log(no)))
    token = Token(text=text, logprob=math.log(yes if "Yes" in text else no), top=top)
    return Reply(text=text, tokens=(token,), usage=Usage(prompt_tokens=9, completion_tokens=1))


def test_the_prompt() -> None:
    asked = Asked(lambda _request, _index: said(" Yes", 0.6, 0.2))
    criticised(OutcomeCritic(asked.model))
    assert asked.prompt + "\n" == (SNAPSHOTS / "outcome.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", ["mean", "min", "max", "product", "last"])
def test_every_rule_gives_the_score(rule: Rule) -> None:
    critique = criticised(OutcomeCritic(Asked(lambda _request, _index: said(" Yes", 0.6, 0.2)).model))
    assert aggregate(critique.scores, rule) == pytest.approx(0.75)  # 0.6 / 0.8
    assert critique.first_error is None
    assert critique.usage == Usage(prompt_tokens=9, completion_tokens=1)


def test_a_wrong_solution_has_no_correction_and_nothing_to_keep() -> None:
    critique = criticised(OutcomeCritic(Asked(lambda _request, _index: said(" No", 0.2, 0.6)).model))
    assert (critique.first_error, critique.correction) == (0, None)
    assert critique.steps[0].score == pytest.approx(0.25)
    assert (
        criticised(
            OutcomeCritic(Asked(lambda _request, _index: said(" No", 0.2, 0.6)).model, threshold=0.2)
        ).first_error
        is None
    )


def test_a_word_without_log_probabilities() -> None:
    critique = criticised(OutcomeCritic(ScriptedModel(lambda _request, _index: "**No.**")))
    assert (critique.steps[0].score, critique.steps[0].source) == (0.0, "text")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(text="It depends."), "unparsable"),
        (Reply(text="", finish="length"), "truncated"),
        (Reply(text="", finish="filter"), "refused"),
    ],
)
def test_what_is_no_verdict(reply: Reply, kind: str) -> None:
    assert unjudged(OutcomeCritic(ScriptedModel(lambda _request, _index: reply))).kind == kind


def test_a_call_that_fails() -> None:
    def fail(_request: Request, _index: int) -> Reply:
        raise CallError("timeout", "too slow")

    assert unjudged(OutcomeCritic(ScriptedModel(fail))).kind == "failed"


def test_a_published_critics_own_prompt() -> None:
    asked = Asked(lambda _request, _index: said(" Yes", 0.6, 0.2))
    critic = OutcomeCritic(asked.model, prompt="Q: {question}\nS: {solution}\nRight?")
    criticised(critic)
    assert asked.prompt.endswith("\nRight?")
    assert "Q: " in asked.prompt
    assert critic.identity != OutcomeCritic(asked.model).identity
    with pytest.raises(UsageError, match=r"\{question\} and \{solution\}"):
        OutcomeCritic(asked.model, prompt="{question}")
