"""What corrections are worth: arithmetic by hand, what the policy is given, and right answers read by rule."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.benchmarks.base import mark_reply
from assay.models.scripted import ScriptedModel
from assay.solve.policy import Policy
from assay.solve.records import Critique, StepVerdict, Unjudged
from assay.train.corrections import Side, Trial, Tried, corrects, score_corrections, try_correction
from assay.train.critique_records import CritiqueRecord
from assay.train.gold import BY_RULE, gold_sample, listed_options
from assay.train.records import RolledSolution
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    Marked,
    Message,
    NumberGold,
    Reply,
    Request,
    Sample,
    Sampling,
    TextGold,
    TextPart,
)
from support.rolled import rolled


def verdict(*, correct: bool) -> StepVerdict:
    return StepVerdict(correct=correct, score=float(correct), source="text")


def tried(name: str, before: tuple[int, int], after: tuple[int, int], *, label: bool | None = False) -> Tried:
    sides = [Side(right=right, marked=marked) for right, marked in (before, after)]
    return Tried(sample_id=name, group=name, place=0, label=label, before=sides[0], after=sides[1])


def score(rows: list[Tried], tested: list[CritiqueRecord] | None = None) -> Any:
    return score_corrections(rows, tested or [], policy="p", marked_by="m", continuations=4, resamples=50)


def test_gain_by_hand() -> None:
    # Gains 1 - 1/4, 1/2 - 1, 1/4 - 1/4: their mean is (3/4 - 1/2 + 0) / 3 = 1/12.
    rows = [tried("a", (1, 4), (4, 4)), tried("b", (2, 2), (1, 2), label=True), tried("c", (1, 4), (1, 4), label=None)]
    found = score(rows)
    assert found.all.pairs == 3
    assert found.all.before == pytest.approx((1 / 4 + 1 + 1 / 4) / 3)
    assert found.all.after == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert found.all.gain == pytest.approx(1 / 12)
    assert (found.all.helped, found.all.harmed) == (1, 1)
    assert (found.true_errors.gain, found.true_errors.pairs) == (pytest.approx(3 / 4), 1)
    assert (found.false_alarms.gain, found.false_alarms.harmed) == (pytest.approx(-1 / 2), 1)
    assert (found.unlabelled.gain, found.unlabelled.pairs) == (0, 1)


def test_what_could_not_be_tried_is_counted_and_in_no_score() -> None:
    rows = [
        tried("a", (1, 4), (4, 4)),
        tried("unmarked", (0, 0), (4, 4)),
        Tried(sample_id="failed", group="f", place=0, label=False, failure="server: down"),
    ]
    found = score(rows)
    assert (found.all.pairs, found.tried, found.failed, found.unmarked) == (1, 3, 1, 1)
    nothing = score([])
    assert (nothing.all.pairs, nothing.all.gain, nothing.all.low) == (0, None, None)


def test_what_the_critic_corrected() -> None:
    wrong = (verdict(correct=False),)
    said = [
        Critique(steps=wrong, correction="better"),
        Critique(steps=wrong),
        Critique(steps=wrong, correction="  "),
        Critique(steps=(verdict(correct=True),)),
        Unjudged(kind="unparsable", reason="prose"),
    ]
    records = [
        CritiqueRecord(sample_id=str(n), source="s", group="g", labels=(False,), first_error=0, said=one)
        for n, one in enumerate(said)
    ]
    found = score([], records)
    assert (found.flagged, found.uncorrected) == (3, 2)
    assert [corrects(one) for one in said if isinstance(one, Critique)] == [True, False, False, False]


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([True, False, None])), min_size=1, max_size=15
    )
)
def test_gains_are_bounded_and_turn_with_the_sides(rows: list[tuple[int, int, bool | None]]) -> None:
    there = [tried(str(n), (a, 4), (b, 4), label=label) for n, (a, b, label) in enumerate(rows)]
    back = [tried(str(n), (b, 4), (a, 4), label=label) for n, (a, b, label) in enumerate(rows)]
    found, turned = score(there), score(back)
    assert -1 <= found.all.gain <= 1
    assert found.all.gain == pytest.approx(-turned.all.gain)
    assert (found.all.helped, found.all.harmed) == (turned.all.harmed, turned.all.helped)
    parts = [found.true_errors, found.false_alarms, found.unlabelled]
    assert sum(part.pairs for part in parts) == found.all.pairs
    assert score(there[::-1]).all.gain == pytest.approx(found.all.gain)


# ----------------------------------------------------------------------------------------------------------------------
# Continuing

STEPS = ("Step 1: Red is 7.\n\n", "Step 2: Blue is 4.\n\n", "Step 3: So 3.\n\n")


def trial() -> Trial:
    sample = Sample(id="q", question="How much higher is red?", gold=NumberGold(value="2"), group="q")
    critique = Critique(
        steps=(verdict(correct=True), verdict(correct=False), verdict(correct=False)), correction="Blue is 5."
    )
    messages = (Message(role="user", parts=(TextPart(text="How much higher is red?"),)),)
    return Trial(id="q#1", sample=sample, messages=messages, steps=STEPS, labels=(True, False, None), critique=critique)


def attempt(answer: Callable[[Request, int], str], *, continuations: int = 4) -> tuple[Tried, list[Request]]:
    asked: list[Request] = []

    def reply(request: Request, index: int) -> str:
        asked.append(request)
        return answer(request, index)

    policy = Policy(ScriptedModel(reply), sampling=Sampling(temperature=0.7), continuation="prefill")
    return asyncio.run(try_correction(policy, BY_RULE, trial(), continuations=continuations, seed=3)), asked


def test_both_sides_keep_the_steps_before_the_error_and_share_their_seeds() -> None:
    found, asked = attempt(lambda request, _: "Answer: 2" if "5" in request.prefill else "Answer: 3")
    prefills = {request.prefill for request in asked}
    assert prefills == {
        "Step 1: Red is 7.\n\nStep 2: Blue is 4.\n\n",
        "Step 1: Red is 7.\n\nStep 2: Blue is 5.\n\n",
    }
    by_side = [{request.seed for request in asked if request.prefill == prefill} for prefill in prefills]
    assert by_side[0] == by_side[1]
    assert all("gold" not in str(request) for request in asked)
    assert (found.place, found.label) == (1, False)
    assert found.before is not None
    assert found.after is not None
    assert (found.before.right, found.before.marked) == (0, 4)
    assert (found.after.right, found.after.marked) == (4, 4)


def test_a_continuation_that_begins_anew_says_nothing() -> None:
    found, _ = attempt(lambda _request, index: "Answer: 2" if index else "Let's start over. Step 1: Answer: 2")
    assert found.before is not None
    assert (found.before.right, found.before.marked, found.before.restarted) == (3, 3, 1)


def test_a_call_that_fails_is_no_wrong_answer() -> None:
    from assay.errors import CallError

    def broken(_request: Request, _index: int) -> str:
        raise CallError("server", "500")

    found, _ = attempt(broken)
    assert (found.before, found.after) == (None, None)
    assert found.failure == "server: 500"


def test_a_critique_without_an_error_can_not_be_tried() -> None:
    nothing = replace(trial(), critique=Critique(steps=(verdict(correct=True),)))
    policy = Policy(ScriptedModel(lambda _request, _index: ""), sampling=Sampling())
    with pytest.raises(ValueError, match="corrects no step"):
        asyncio.run(try_correction(policy, BY_RULE, nothing, continuations=1, seed=0))


# ----------------------------------------------------------------------------------------------------------------------
# Right answers by rule

OPTIONS = "Which is highest?\n(A) red\n(B) blue\n(C) green\nAnswer with a letter."


def with_gold(gold: str, question: str = "How much?") -> RolledSolution:
    return replace(rolled("1#0", 1), gold=gold, question=question)


@pytest.mark.parametrize(
    ("gold", "question", "expected"),
    [
        ("B", OPTIONS, ChoiceGold(labels=("B",))),
        ("blue", OPTIONS, ChoiceGold(labels=("B",))),
        ("B", "Which letter comes second?", TextGold(values=("B",))),
        ("52", "How much?", NumberGold(value="52")),
        ("52", OPTIONS, NumberGold(value="52")),  # the options are others
        (r"\frac{1}{2}", "How much?", ExpressionGold(value=r"\frac{1}{2}")),
        ("red bar", "Which one?", TextGold(values=("red bar",))),
    ],
)
def test_gold_by_rule(gold: str, question: str, expected: object) -> None:
    sample = gold_sample(with_gold(gold, question))
    assert sample is not None
    assert sample.gold == expected
    marked = mark_reply(BY_RULE, sample, Reply(text=BY_RULE.gold_reply(sample)))
    assert isinstance(marked, Marked)
    assert marked.robust.verdict == "right"


def test_no_gold_and_a_benchmarks_own_sample() -> None:
    assert gold_sample(with_gold("  ")) is None
    assert gold_sample(with_gold("x" * 3000)) is None
    known = Sample(id="1", question="q", gold=NumberGold(value="3"), group="g")
    assert gold_sample(with_gold("52"), {"1": known}) is known
    assert gold_sample(with_gold("52"), {"2": known}) is None


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("A. one\nB. two", "AB"),
        ("A: one\nB: two\nC: three\nEnd with Answer: X.", "ABC"),
        ("A. no list\nWhich?\nA) one\nB) two", "AB"),
        ("A. one\nC. three", ""),
        ("A. alone", ""),
        ("What is A. Smith's age?", ""),
        ("", ""),
    ],
)
def test_listed_options(question: str, labels: str) -> None:
    assert "".join(option.label for option in listed_options(question)) == labels
