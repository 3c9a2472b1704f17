r"""Replies as current models write them: every row is what a careful reader takes the reply to mean.

They stand beside the rows of `test_choice`, `test_number` and `test_expression`, by the way in which readers fail on
them: an answer that is only considered, a list of the options, JSON, ticks and crosses, spelled numbers.
"""

import pytest

from assay.mark.announcing import json_value
from assay.mark.choice import read_choice
from assay.mark.expression import mark_expression, read_expression
from assay.mark.number import mark_number, read_number
from assay.types import ExpressionGold, NumberGold, Option

BANKS = tuple(
    Option(label=label, text=text)
    for label, text in zip("ABCD", ("ICBC", "Construction Bank", "Bank of China", "Agricultural Bank"), strict=True)
)
CLAIMS = tuple(
    Option(label=label, text=text)
    for label, text in zip("ABCD", ("Revenue rose", "Profit fell", "Margin peaked", "None of the above"), strict=True)
)


def labels(reply: str, options: tuple[Option, ...], *, multiple: bool = False, extracted: bool = False) -> str:
    reading = read_choice(reply, options, multiple=multiple, extracted=extracted)
    return ",".join(reading.labels) or reading.status


# --------------------------------------------------------------------------------------------------------------------
# What is only considered is no answer, least of all in a reply that was cut


@pytest.mark.parametrize(
    "reply",
    [
        "If the answer is B, then the ratio must be higher than",
        "Suppose that the correct option is B. Then",
        "We need to check whether the correct option is B",
        "Let's verify whether the answer is A:",
        "The answer is A? Let me check: the bar for",
        "The answer could be A, but after checking the legend",
        "The answer might also be B, so",
        "The answer can't be C",
        "如果答案是B，那么",
    ],
)
def test_an_answer_that_is_only_considered_is_not_announced(reply: str) -> None:
    assert not read_choice(reply, BANKS, multiple=False).explicit


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("If the answer is A, it is 13.1. If the answer is B, it is 14.2, which fits.\n\nThe answer is B.", "B"),
        ("The answer cannot be A. The answer is B.", "B"),
        ("The answer should be B.", "B"),
        ("The answer must be B.", "B"),
        ("The answer that can be read from the chart is B.", "B"),
        ("I would say the answer is B.", "B"),
        ("The answer could be A, but after checking the legend, it is B.", "none"),
    ],
)
def test_an_answer_that_is_given_is_read(reply: str, expected: str) -> None:
    assert labels(reply, BANKS) == expected


# --------------------------------------------------------------------------------------------------------------------
# A list of the options is no answer


@pytest.mark.parametrize(
    "reply",
    [
        "1. Answer choices:\nA: ICBC\nB: Construction Bank\nC: ",
        "First, the options: A: ICBC, B: Construction",
        "Here is a breakdown of the other options:\n\n* Option (A) is the lowest\n* Option (C) is",
    ],
)
def test_a_list_of_the_options_announces_nothing(reply: str) -> None:
    assert not read_choice(reply, BANKS, multiple=False).explicit


def test_going_through_the_other_options_takes_nothing_back() -> None:
    reply = "The answer is **(B)**.\n\nThe other options:\n\n* Option (A) is lower.\n* Option (C) is lower."
    assert labels(reply, BANKS) == "B"


@pytest.mark.parametrize(
    "reply", ["Options: A, C", "The correct options: A, C", "Correct answer choices:\nA, C", "Choices: (A) and (C)"]
)
def test_a_plural_that_answers_does(reply: str) -> None:
    assert labels(reply, CLAIMS, multiple=True) == "A,C"


# --------------------------------------------------------------------------------------------------------------------
# Ticks, crosses and words behind the options


@pytest.mark.parametrize(
    ("reply", "multiple", "expected"),
    [
        ("❌ A\n✅ B\n❌ C\n❌ D", False, "B"),
        ("✅ A\n❌ B\n✅ C\n❌ D", True, "A,C"),
        ("**A. Revenue rose** ✅\n**B. Profit fell** ❌\n**C. Margin peaked** ✅\n**D. None** ❌", True, "A,C"),
        ("A. Revenue rose ✔️\nB. Profit fell ✘\nC. Margin peaked ✔️\nD. None ✘", True, "A,C"),
        ("A. low - incorrect\nB. high - correct\nC. low - incorrect\nD. low - incorrect", False, "B"),
        ("A: rose (True)\nB: fell (False)\nC: peaked (True)\nD: none (False)", True, "A,C"),
        ("❌ D", False, "none"),
        ("Answer: ❌ A", False, "none"),
        ("Answer: ✅ B", False, "B"),
    ],
)
def test_ticks_and_crosses(reply: str, multiple: bool, expected: str) -> None:
    assert labels(reply, CLAIMS, multiple=multiple) == expected


@pytest.mark.parametrize(
    ("reply", "multiple", "expected"),
    [
        ("#### B", False, "B"),  # GSM8K's way
        ("#### Because of the legend", False, "none"),
        ("Answer: <B>", False, "B"),  # a placeholder that was filled in, not HTML
        ("Answer: <b>B</b>", False, "B"),
        ("None of these", True, "D"),
        ("Answer: A, C, E", True, "ambiguous"),  # there is no E
        ("Answer: A, C, I think", True, "A,C"),
    ],
)
def test_other_ways_to_write_a_label(reply: str, multiple: bool, expected: str) -> None:
    assert labels(reply, CLAIMS, multiple=multiple) == expected


def test_an_extracted_sentence_that_announces_an_answer() -> None:
    assert labels("The correct answer is B.", BANKS, extracted=True) == "B"


PERCENTAGES = tuple(
    Option(label=label, text=text) for label, text in zip("ABC", ("12.5%", "15.0%", "20.0%"), strict=True)
)


@pytest.mark.parametrize("reply", ["15%", "Answer: 15 %", "Answer: 15.0", "15.00%", "The answer is 15 percent."])
def test_a_number_is_the_option_with_the_same_number(reply: str) -> None:
    assert labels(reply, PERCENTAGES) == "B"


def test_another_number_is_no_option() -> None:
    assert labels("Answer: 150%", PERCENTAGES) == "none"
    assert labels("Answer: 1.5%", PERCENTAGES) == "none"


# --------------------------------------------------------------------------------------------------------------------
# JSON


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"answer": "3/4"}', ("3/4", True)),
        ('"answer": "\\\\frac{3}{4}", "confidence": 0.9}', (r"\frac{3}{4}", True)),
        ('"answer": "\\frac{3}{4}"}', (r"\frac{3}{4}", True)),  # unescaped, as many models write it
        ('"answer": "say \\"B\\""}', ('say "B"', True)),
        ('"answer": 12.5, "unit": "%"}', ("12.5", True)),
        ('"answer": -3}', ("-3", True)),
        ("'answer': 'B'}", ("B", True)),
        ('"answer": "cut he', ("cut he", False)),
        ('"answer": null}', None),
        ('"answer": ["A", "C"]}', None),
        ('"answer": ""}', None),
        ("answer: 12}", None),
    ],
)
def test_the_value_of_a_json_key(text: str, value: tuple[str, bool] | None) -> None:
    found = json_value(text, 0, text.index(":") + 1)
    assert (found and (found.text, found.closed)) == value


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "B"}',
        '```json\n{"answer": "B", "explanation": "A and C are lower"}\n```',
        '{"final_answer": "B", "alternatives": ["A"]}',
        "{'answer': 'B', 'why': 'not A'}",
    ],
)
def test_a_choice_in_json(reply: str) -> None:
    assert labels(reply, BANKS) == "B"


@pytest.mark.parametrize("reply", ['{"answer": "A,C"}', '{"answer": ["A", "C"]}', '{"answer": "A and C", "n": 2}'])
def test_several_choices_in_json(reply: str) -> None:
    assert labels(reply, CLAIMS, multiple=True) == "A,C"


# --------------------------------------------------------------------------------------------------------------------
# Numbers


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"answer": 12.5, "confidence": 0.95}', "right"),
        ('{"answer": "12.5%", "previous": "10%"}', "right"),
        ("The growth rate was 12.5% in 2023.", "right"),
        ("The growth rate is 12.5% (rounded to one decimal place).", "right"),
        ("Growth rate: 12.5%", "right"),
        ("**Growth rate:** 12.5%", "right"),
        ("Scores:\n1. Abigail: 6\n2. Bernie: 10\n3. Jada: 12.5", "unanswered"),  # a list; nothing says which
        ("Answer: 0.125 or 12.5%", "right"),  # one amount, twice
        ("Answer: 12.5% (0.125)", "right"),
        ("Answer: 0.125", "wrong"),
        ("Answer: 0.1 or 12.5%", "unanswered"),
        ("Answer: 100 → 112.5", "unanswered"),
        ("The growth rate was 12.5% in Q3 and 14% in Q4.", "unanswered"),
    ],
)
def test_numbers(reply: str, verdict: str) -> None:
    gold = NumberGold(value="12.5", tolerance="0.1", unit="%")
    assert mark_number(read_number(reply, unit="%"), gold).verdict == verdict


# --------------------------------------------------------------------------------------------------------------------
# Expressions


@pytest.mark.parametrize(
    ("gold", "reply", "verdict"),
    [
        (r"\frac{3}{4}", '{"answer": "3/4"}', "right"),
        (r"\frac{3}{4}", '{"answer": "\\\\frac{3}{4}", "steps": 2}', "right"),
        ("12", '{"answer": 12}', "right"),
        ("12", "Answer: twelve", "right"),
        ("12", r"\boxed{\text{twelve}}", "right"),
        ("12", "Answer: eleven", "wrong"),
        ("twelve", "Answer: twelve", "right"),
        ("12", "Answer: **12** (4 + 8)", "right"),
        ("12", "Answer: 12 (twelve)", "right"),
        ("2(x+1)", "Answer: 2 (x+1)", "right"),  # a bracket without words is a factor
        ("2", "Answer: 2 (x+1)", "wrong"),
        ("12", "Answer: approximately 12", "right"),
        ("12", "Answer: about 13", "wrong"),
        ("12", "答案是12个", "right"),
        ("12", "一共有12个立方体。", "right"),
        ("12", r"\boxed{12个}", "right"),
        ("12", "故答案为：12．", "right"),
        ("12", "Answer: 12万", "wrong"),
        ("12", "So the total is 4+8=12 cubes.", "right"),
    ],
)
def test_expressions(gold: str, reply: str, verdict: str) -> None:
    assert mark_expression(read_expression(reply), ExpressionGold(value=gold)).verdict == verdict
