"""FinCharts-lite: its answers, its pictures, and the exact critic of its solutions."""

import random
import re
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fincharts.lite import COLOURS, LiteItem, answer_text, draw, items, named, sample, solution, written
from assay.fincharts.lite_critiques import correction, gold_step, judge, labels, perturb
from assay.solve.critique_format import Written, WrittenStep, parse, render
from assay.solve.steps import split_steps, strip_step
from assay.types import ChoiceGold, NumberGold

MANY = list(islice(items("tests"), 3000))


def independent_answer(item: LiteItem) -> str:
    """The answer, worked out from the question's own words and the bars alone."""
    heights = dict(item.bars)
    question = named(item)
    if found := re.fullmatch(r"How much higher is (\w+) than (\w+)\?", question):
        number = heights[found[1]] - heights[found[2]]
    elif found := re.fullmatch(r"What do (\w+) and (\w+) add up to\?", question):
        number = heights[found[1]] + heights[found[2]]
    elif found := re.fullmatch(r"Which are above (\d)\?", question):
        return ",".join("ABCD"[place] for place, name in enumerate(item.options) if heights[name] > int(found[1]))
    else:
        found = re.fullmatch(r"Is (\w+) (higher|lower) than (\w+)\?", question)
        assert found is not None
        assert heights[found[1]] != heights[found[3]]  # no ties
        is_so = (heights[found[1]] > heights[found[3]]) == (found[2] == "higher")
        return "ABCD"[item.options.index("yes" if is_so else "no")]
    return str(number) if not item.options else "ABCD"[item.options.index(str(number))]


def test_every_answer_is_right_by_an_independent_reckoning() -> None:
    for item in MANY:
        assert answer_text(item) == independent_answer(item)


def test_no_question_comes_twice_and_all_kinds_come() -> None:
    assert len(set(MANY)) == len(MANY)
    counts = Counter(item.kind for item in MANY)
    # Seven kinds; those with ties thrown away come a little less often than 3,000 / 7 = 429.
    assert len(counts) == 7
    assert all(250 < count < 600 for count in counts.values()), counts


def test_options_are_distinct_and_hold_the_answer_once() -> None:
    for item in MANY:
        if item.options:
            assert len(set(item.options)) == len(item.options) == (2 if item.kind in ("higher", "lower") else 4)
        if item.kind in ("difference_choice", "sum_choice"):
            assert all(int(option) >= 1 for option in item.options)


def test_a_difference_is_never_negative_nor_nothing() -> None:
    assert all(int(independent_answer(item)) >= 1 for item in MANY if item.kind == "difference")


def test_the_same_seed_gives_the_same_questions_and_another_one_others() -> None:
    assert list(islice(items("tests"), 50)) == MANY[:50]
    assert not set(islice(items("other"), 50)) & set(MANY[:50])


def test_worked_example() -> None:
    item = LiteItem(
        bars=(("red", 7), ("blue", 4), ("green", 9)),
        kind="difference_choice",
        asked=("red", "blue"),
        options=("5", "3", "2", "11"),
    )
    # 7 - 4 = 3, which is option B: the options are gone through as far as that.
    assert solution(item) == ("red is 7.", "blue is 4.", "7 - 4 = 3.", "A: 5, B: 3 fits.", "Answer: B")
    assert (
        written(solution(item))
        == "Step 1: red is 7.\n\nStep 2: blue is 4.\n\nStep 3: 7 - 4 = 3.\n\nStep 4: A: 5, B: 3 fits.\n\nAnswer: B"
    )


def test_worked_comparison() -> None:
    item = LiteItem(
        bars=(("red", 7), ("blue", 4), ("green", 9)), kind="lower", asked=("blue", "red"), options=("no", "yes")
    )
    # Is blue (4) lower than red (7)? Yes, which is option B.
    assert solution(item) == ("blue is 4.", "red is 7, yes.", "A: no, B: yes fits.", "Answer: B")
    steps = ("blue is 4.", "red is 3, no.", "A: no fits.", "Answer: A")
    # red is 7, and what is said of it does not hold: a misreading, and with it all that goes on from it.
    assert labels(item, steps) == (True, False, False, False)
    _, second, third, _ = judge(item, steps)
    assert (second.image, second.image_correct) == ("red shows 7, said 3", False)
    assert (second.logic, second.logic_correct) == ("yes, said no", False)
    assert (third.logic, third.logic_correct) == ("A: no, B: yes fits, said A", False)


def test_the_right_letter_behind_other_options_says_nothing() -> None:
    item = LiteItem(
        bars=(("red", 7), ("blue", 4), ("green", 9)),
        kind="difference_choice",
        asked=("red", "blue"),
        options=("5", "3", "2", "11"),
    )
    (*_, said) = judge(item, ("red is 7.", "blue is 4.", "7 - 4 = 3.", "A: 2, B: 3 fits."))
    assert (said.logic, said.logic_correct) == ("A: 5, B: 3 fits, said nothing", False)


def test_gold_is_a_record_that_a_benchmark_marks() -> None:
    for number, item in enumerate(MANY[:200]):
        gold = sample(item, str(number), "x.png").gold
        if item.options:
            assert isinstance(gold, ChoiceGold)
            assert ",".join(gold.labels) == independent_answer(item)
            assert gold.multiple == (item.kind == "above")
        else:
            assert isinstance(gold, NumberGold)
            assert gold.value == independent_answer(item)


def test_bars_read_back_from_the_pixels_have_their_heights() -> None:
    """Counted in the picture: pixels of a bar's colour in its middle column, 11 to a unit."""
    for item in MANY[:100]:
        image = draw(item)
        assert image.size == (112, 112)
        seen: dict[str, int] = {}
        names: dict[object, str] = {colour: name for name, colour in COLOURS.items()}
        for column in range(14, 112, 28):
            found = Counter(names.get(image.getpixel((column, row))) for row in range(112))
            found.pop(None, None)
            assert len(found) <= 1  # one bar in a column
            for name, pixels in found.items():
                assert name is not None
                assert pixels % 11 == 0
                seen[name] = pixels // 11
        assert seen == dict(item.bars)


# --------------------------------------------------------------------------------------------------------------------
# The exact critic


def test_a_gold_solution_is_right_in_every_step() -> None:
    for item in MANY[:500]:
        steps = solution(item)
        assert labels(item, steps) == (True,) * len(steps)
        assert all(step.correct for step in judge(item, steps))
        assert correction(item, steps) is None


def test_worked_critique() -> None:
    item = LiteItem(bars=(("red", 7), ("blue", 4), ("green", 9)), kind="difference", asked=("red", "blue"))
    steps = ("Step 1: red is 7.\n\n", "Step 2: blue is 5.\n\n", "Step 3: 7 - 5 = 2.\n\n", "Answer: 2")
    # blue is 4: step 2 is wrong, and with it what goes on from it.
    assert labels(item, steps) == (True, False, False, False)
    first, second, third, last = judge(item, steps)
    assert (first.image, first.correct) == ("red shows 7, said 7", True)
    assert (second.image, second.image_correct, second.logic_correct) == ("blue shows 4, said 5", False, True)
    assert (third.logic, third.image_correct, third.logic_correct) == ("7 - 4 = 3, said 2", True, False)
    assert (last.logic, last.correct) == ("3, said 2", False)
    assert correction(item, steps) == "blue is 4."


@pytest.mark.parametrize(
    ("step", "image", "logic"),
    [
        ("green is 9.", False, False),  # another bar's height
        ("red is 7, yes.", True, True),  # more than was asked, and yet not the step
        ("red is seven.", False, False),
        ("7 - 4 = 3.", False, False),
        ("", False, False),
        ("purple is 7.", True, False),  # the right height of a bar that is not there
    ],
)
def test_steps_that_say_something_else(step: str, image: bool, logic: bool) -> None:
    item = LiteItem(bars=(("red", 7), ("blue", 4), ("green", 9)), kind="difference", asked=("red", "blue"))
    (said,) = judge(item, (step,))
    assert (said.image_correct, said.logic_correct) == (image, logic)


@given(st.integers(0, len(MANY) - 1), st.integers(0, 10**6))
@settings(max_examples=300)
def test_the_critic_agrees_with_the_labels_on_faulty_solutions(place: int, seed: int) -> None:
    item = MANY[place]
    steps, faults = perturb(item, random.Random(seed), clean=0.0, wrong=0.5)
    right = labels(item, steps)
    # A step's verdict is that of its label, but for an operand that came out right by two errors.
    for step, label, said in zip(steps, right, judge(item, steps), strict=True):
        assert said.correct == label or (said.correct and re.fullmatch(r"\d+ [-+] \d+ = \d+\.", step))
    # The first wrong step has a fault of its own: nothing before it could have led it astray.
    first = next((number for number, label in enumerate(right) if not label), None)
    if first is not None:
        assert faults[first] is not None
        assert labels(item, [*steps[:first], gold_step(item, steps, first)])[first]


def test_faults_of_every_kind_come() -> None:
    rng = random.Random(1)
    seen = Counter(fault for item in MANY[:800] for fault in perturb(item, rng)[1] if fault)
    assert set(seen) == {"misread", "wrong_series", "wrong_comparison", "arithmetic", "operand", "wrong_option"}


def test_guessed_choices_tell_nothing_of_the_truth() -> None:
    """A guess among four options is right one time in four, whatever the bars are."""
    rng = random.Random(2)
    right: list[bool] = []
    for item in MANY:
        if item.kind not in ("difference_choice", "sum_choice"):
            continue
        steps, faults = perturb(item, rng, clean=0.0, wrong=0.0, guessed=1.0)
        right.append(steps[3] == solution(item)[3])
        assert (faults[3] is None) == right[-1]
        assert steps[4] == f"Answer: {steps[3].split(', ')[-1][0]}"
    compared = [
        ", yes." in step
        for item in MANY
        if item.kind == "above"
        for step in perturb(item, rng, clean=0.0, wrong=0.0, guessed=1.0)[0][:4]
    ]
    # Some 1,600 comparisons; three standard errors of a half are 3 * sqrt(0.25 / 1,600) = 0.0375.
    assert abs(sum(compared) / len(compared) - 0.5) < 0.0375
    # Some 850 questions; three standard errors of a share of 1/4 are 3 * sqrt(0.25 * 0.75 / 850) = 0.045.
    assert len(right) > 700
    assert abs(sum(right) / len(right) - 0.25) < 0.045


def test_clean_solutions_are_the_gold_ones() -> None:
    assert perturb(MANY[0], random.Random(0), clean=1.0) == (solution(MANY[0]), (None,) * len(solution(MANY[0])))


def test_what_the_solver_writes_is_split_into_its_steps() -> None:
    for item in MANY[:100]:
        assert tuple(strip_step(step) for step in split_steps(written(solution(item)))) == solution(item)


def test_critiques_are_in_the_form_that_critics_write() -> None:
    rng = random.Random(3)
    for item in MANY[:100]:
        steps, _ = perturb(item, rng)
        said = judge(item, steps)
        text = render(
            Written(
                steps=tuple(
                    WrittenStep(
                        correct=one.correct,
                        intent=one.intent,
                        image=one.image,
                        image_correct=one.image_correct,
                        logic=one.logic,
                        logic_correct=one.logic_correct,
                    )
                    for one in said
                ),
                correction=correction(item, steps),
            )
        )
        read = parse(text, len(steps))
        assert isinstance(read, Written)
        assert tuple(step.correct for step in read.steps) == tuple(one.correct for one in said)
        assert read.correction == correction(item, steps)
