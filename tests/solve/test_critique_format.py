"""The critic's form: what it looks like, what is read from it, and that nothing else counts."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.solve.critique_format import Written, WrittenStep, parse, read_label, render
from assay.solve.records import Unjudged
from assay.types import Finish

GOOD = """Step 1
Intent: read the red bar
Image: it reaches 7 | Correct
Logic: a plain reading | Correct
Judgement: Correct
Step 2
Intent: subtract
Image: the blue bar reaches 4, not 5 | Incorrect
Logic: 7 - 5 = 2 follows | Correct
Judgement: Incorrect
Correction of step 2: The blue bar is 4, so 7 - 4 = 3.
End of critique"""

FIRST = "Step 1\nIntent: read\nImage: seen | Correct\nLogic: plain | Correct\nJudgement: Correct\n"
SECOND = FIRST.replace("Step 1", "Step 2")
WRONG = SECOND.replace("Judgement: Correct", "Judgement: Incorrect")


def judged(text: str, count: int, finish: Finish = "stop") -> list[bool]:
    found = parse(text, count, finish=finish)
    assert isinstance(found, Written), found
    return [step.correct for step in found.steps]


def problem(text: str, count: int, finish: Finish = "stop") -> Unjudged:
    found = parse(text, count, finish=finish)
    assert isinstance(found, Unjudged), found
    return found


def test_a_critique_as_asked_for() -> None:
    found = parse(GOOD, 2)
    assert isinstance(found, Written)
    first, second = found.steps
    assert (first.intent, first.image, first.image_correct) == ("read the red bar", "it reaches 7", True)
    assert (second.logic, second.logic_correct, second.correct) == ("7 - 5 = 2 follows", True, False)
    assert second.image_correct is False
    assert found.correction == "The blue bar is 4, so 7 - 4 = 3."


def test_places_are_where_the_judgements_may_begin() -> None:
    found = parse(GOOD, 2)
    assert isinstance(found, Written)
    for step in found.steps:
        assert GOOD[: step.places["judgement"]].endswith("Judgement:")
        assert GOOD[: step.places["image"]].endswith(" |")
        assert GOOD[: step.places["logic"]].endswith(" |")
        assert re.match(r"\s*(Correct|Incorrect)\n", GOOD[step.places["judgement"] :])


@pytest.mark.parametrize(
    "label",
    ["Correct", "correct", "CORRECT", " Correct.", "**Correct**", "`correct`", "[Correct]", "_Correct_", '"Correct"'],
)
def test_ways_to_write_correct(label: str) -> None:
    assert read_label(label) is True
    assert judged(f"Step 1\nJudgement: {label}", 1) == [True]
    wrong = re.sub("correct", "Incorrect", label, flags=re.IGNORECASE)  # the word that holds the other one
    assert read_label(wrong) is False
    assert judged(f"Step 1\nJudgement: {wrong}", 1) == [False]


@pytest.mark.parametrize(
    "label",
    [
        "",
        "Partially correct",
        "not correct",
        "Correct, I think",
        "Correct | Incorrect",
        "<Correct or Incorrect>",
        "Yes",
        "Wrong",
        "In",
        "Incorrect (it is 8)",
        "\\boxed{correct}",  # case 152: a box is not our form
        "+",
    ],
)
def test_other_words_are_no_judgement(label: str) -> None:
    found = problem(f"Step 1\nIntent: x\nJudgement: {label}", 1)
    assert found.kind == "unparsable"
    assert "step 1 is judged" in found.reason


@pytest.mark.parametrize(
    ("text", "correct"),
    [
        ("Sure, here it is. Step 1 is easy.\n\n" + FIRST, [True]),
        (FIRST + "\nOverall, the solution is Incorrect.", [True]),
        ("## Step 1\n- **Intent:** read\n- **Image:** seen | **Correct**\n- **Judgement:** **Incorrect**", [False]),
        ("**Step 1:**\n**Judgment**: correct", [True]),
        ("STEP 1.\nJUDGEMENT：CORRECT", [True]),
        ("Step 1: the red bar is 7\nIntent: read\nJudgement: Correct", [True]),
        ("Step 1\n\nJudgement:\nIncorrect\nbecause it says 8", [False]),
        ("> Step 1\n> Judgement: Correct", [True]),
        ("Step 1\r\nIntent: a\r\nJudgement: Correct\r\n", [True]),
        ("* Step #1 *\n* Judgement: correct *", [True]),
        (FIRST + SECOND + FIRST + "Step 2\nIntent: and ag", [True, True]),  # starts over
    ],
)
def test_what_does_not_count(text: str, correct: list[bool]) -> None:
    assert judged(text, len(correct)) == correct


@pytest.mark.parametrize(
    ("text", "count", "reason"),
    [
        ("", 1, "no step"),
        ("The solution looks correct to me.", 2, "no step"),
        ("Judgement: Correct", 1, "no step"),  # of which step?
        ("Step 1\nCorrect", 1, "no step"),
        ("Step 1\nIntent: x\nImage: y | Correct\nLogic: z | Correct", 1, "no judgement"),
        (FIRST, 2, "only 1 of 2"),
        (FIRST + SECOND, 1, "2 steps are judged of a solution that has 1"),
        (SECOND + FIRST, 2, "step 2 is judged where step 1 was due"),
        (FIRST + SECOND.replace("Step 2", "Step 3"), 3, "step 3 is judged where step 2 was due"),
        (FIRST + SECOND + FIRST.replace("Judgement: Correct", "Judgement: Incorrect"), 2, "twice, and not the same"),
        (FIRST + "Judgement: Incorrect\n", 1, "not one of the two"),
        (FIRST.replace("Step 1", "Step 0"), 1, "step 0 is judged where step 1 was due"),
        ("I'm sorry, I can't help with that.", 1, "no step"),
        ('{"steps": []}', 1, "no step"),
    ],
)
def test_what_is_no_critique(text: str, count: int, reason: str) -> None:
    found = problem(text, count)
    assert found.kind == "unparsable"
    assert reason in found.reason


def test_a_critic_may_stop_at_the_first_error_but_nowhere_else() -> None:
    assert judged(FIRST + WRONG, 5) == [True, False]
    assert problem(FIRST + WRONG + "Step 3\nJudgement: Correct", 5).kind == "unparsable"


def test_lines_that_may_be_missing() -> None:
    found = parse("Step 1\nJudgement: Correct", 1)
    assert found == Written(steps=(WrittenStep(correct=True, places={"judgement": 17}),))
    found = parse("Step 1\nImage: Correct\nLogic: the value |x| = 3 holds\nJudgement: Incorrect", 1)
    assert isinstance(found, Written)
    (step,) = found.steps
    assert (step.image, step.image_correct) == ("", True)
    assert (step.logic, step.logic_correct) == ("the value |x| = 3 holds", None)  # no judgement behind the bar


# --------------------------------------------------------------------------------------------------------------------
# Corrections


@pytest.mark.parametrize(
    ("tail", "correction"),
    [
        ("", None),
        ("Correction of step 2: It is 3.", "It is 3."),
        ("**Correction of Step 2:** It is 3.", "It is 3."),
        ("Correction: It is 3.", "It is 3."),
        (
            "Correction of step 2:\nFirst line.\n\n\\[ x = 3 \\]\nEnd of critique\nGood luck!",
            "First line.\n\n\\[ x = 3 \\]",
        ),
        ("Correction of step 2: Step 2: the bar is 4.\nStep 3 follows.", "Step 2: the bar is 4.\nStep 3 follows."),
        ("Correction of step 2: Image: the bar is 4.\nLogic: so 3.", "Image: the bar is 4.\nLogic: so 3."),
        ("Correction of step 2: It is 3.\nCorrection of step 3: It is 9.", "It is 3."),
        ("Correction of step 1: It is 3.", None),  # step 1 is judged correct
        ("Correction of step 2: none", None),
        ("Correction of step 2: **N/A**", None),
        ("Correction of step 2:", None),
    ],
)
def test_corrections(tail: str, correction: str | None) -> None:
    found = parse(FIRST + WRONG + tail, 2)
    assert isinstance(found, Written)
    assert found.correction == correction


def test_a_correction_between_the_steps() -> None:
    found = parse(FIRST + WRONG + "Correction: It is 3.\n" + SECOND.replace("Step 2", "Step 3"), 3)
    assert isinstance(found, Written)
    assert found.correction == "It is 3."
    assert [step.correct for step in found.steps] == [True, False, True]


def test_a_correction_without_an_error_is_none() -> None:
    found = parse(FIRST + SECOND + "Correction of step 2: It is 3.\nEnd of critique", 2)
    assert isinstance(found, Written)
    assert found.correction is None


# --------------------------------------------------------------------------------------------------------------------
# Replies that did not end by themselves


@pytest.mark.parametrize("length", range(0, len(GOOD), 7))
def test_a_cut_reply_counts_only_with_all_steps(length: int) -> None:
    found = parse(GOOD[:length], 2, finish="length")
    complete = GOOD.index("Correction")
    if length >= complete:
        assert isinstance(found, Written)
        assert found.correction is None or length > len(GOOD) - 16  # a correction that was cut is none
    elif length < complete - len("\nIncorrect"):
        assert isinstance(found, Unjudged)
        assert found.kind == "truncated"


def test_a_cut_critique_that_has_an_error_but_not_all_steps() -> None:
    assert problem(FIRST + WRONG, 5, "length").kind == "truncated"
    assert judged(FIRST + WRONG, 2, "length") == [True, False]


def test_a_correction_that_ended_before_the_cut_counts() -> None:
    found = parse(FIRST + WRONG + "Correction of step 2: It is 3.\nEnd of critique\nNow", 2, finish="length")
    assert isinstance(found, Written)
    assert found.correction == "It is 3."


def test_a_refusal() -> None:
    assert problem("", 2, "filter").kind == "refused"
    assert problem(FIRST, 2, "filter").kind == "refused"


# --------------------------------------------------------------------------------------------------------------------
# Properties


@given(st.text(max_size=300), st.integers(1, 5), st.sampled_from(("stop", "length", "filter", "other")))
def test_never_raises(text: str, count: int, finish: Finish) -> None:
    parse(text, count, finish=finish)


PIECES = st.sampled_from(
    (
        *("Step 1", "Step 2", "step 3:", "Intent: a", "Image: b | Correct", "Logic: c | Incorrect"),
        *("Judgement: Correct", "Judgement: Incorrect", "Judgement:"),
        *("Correction of step 2: d", "Correction: e", "End of critique", "", "prose", "**"),
    )
)


@given(st.lists(PIECES, max_size=25), st.integers(1, 4), st.sampled_from(("stop", "length")))
def test_what_is_read_covers_the_solution(lines: list[str], count: int, finish: Finish) -> None:
    found = parse("\n".join(lines), count, finish=finish)
    if isinstance(found, Written):
        assert 1 <= len(found.steps) <= count
        assert len(found.steps) == count or not found.steps[-1].correct
        assert found.correction is None or any(not step.correct for step in found.steps)
        assert sum(line.startswith("Judgement: ") for line in lines) >= len(found.steps)


LINES = st.text(max_size=30).map(lambda text: " ".join(text.split()))
STEPS = st.builds(
    WrittenStep,
    correct=st.booleans(),
    intent=LINES,
    image=LINES,
    image_correct=st.booleans(),
    logic=LINES,
    logic_correct=st.booleans(),
)


@given(st.lists(STEPS, min_size=1, max_size=6), st.text(min_size=1, max_size=80))
def test_what_is_written_is_read(steps: list[WrittenStep], correction: str) -> None:
    correction = correction.strip()
    assume(correction and not re.search("end of critique|correction|^.*step", correction, re.IGNORECASE | re.MULTILINE))
    assume(not re.fullmatch(r"\W*|.*(none|null|n/a|not needed).*", correction, re.IGNORECASE | re.DOTALL))
    assume(not correction.startswith(("*", "_", "`")))
    wrong = any(not step.correct for step in steps)
    written = Written(steps=tuple(steps), correction=correction if wrong else None)
    found = parse(render(written), len(steps))
    assert isinstance(found, Written)
    assert found.correction == written.correction
    for read, step in zip(found.steps, steps, strict=True):
        for field in ("correct", "intent", "image", "image_correct", "logic", "logic_correct"):
            assert getattr(read, field) == getattr(step, field), field


def test_long_hostile_replies_are_read_in_no_time() -> None:
    for text in (
        "Step 1\n" * 20_000,
        "*" * 100_000,
        "Step 1\nIntent:\n" * 10_000,
        "Judgement: " * 20_000,
        "\n" * 100_000,
    ):
        assert isinstance(parse(text, 3), Unjudged)
