"""The unit that a question asks for, and numbers whose unit nobody records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.asked import asked_unit, mark_asked
from assay.mark.number import read_number
from assay.types import NumberGold


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("What percentage of sales is this?", "%"),
        ("What was the change, in percentages?", "%"),
        ("By how many percentage points did it fall?", "%"),
        ("What is the share (%)?", "%"),
        ("求该和占总数的百分比；请保留一位小数。", "%"),
        ("下降了几个百分点？", "%"),
        ("What were sales in millions?", "million"),
        ("What was the change in sales? (in million)", "million"),
        ("What is the GDP in billion U.S. dollars?", "billion"),
        ("What is the growth of revenue ($M)?", "million"),
        ("What is the loss (in thousand euros)?", "thousand"),
        ("What is the expense? (in hundred thousand)", "100 thousand"),
        ("营业收入是多少（亿元）？", "亿"),
        # No unit, or several
        ("What is the growth of revenue?", None),
        ("What are the 5% notes worth?", None),
        ("Assume a 6% rate. What is the rent?", None),
        ("What percentage of the sales (in millions) is this?", None),
        ("How many of every thousand women work?", None),
        ("What would it be if the amount was 200 thousand instead?", None),
        ("How were the percentiles in 2019?", None),
        ("", None),
    ],
)
def test_asked_unit(question: str, unit: str | None) -> None:
    assert asked_unit(question) == unit


def verdict(reply: str, gold: str, unit: str | None, relative: str | None = None) -> str:
    asked = NumberGold(value=gold, unit=unit, relative=relative)
    return mark_asked(read_number(reply, unit=unit, extracted=True), asked).verdict


@pytest.mark.parametrize(
    ("reply", "gold", "unit", "expected"),
    [
        ("45.24%", "45.24", "%", "right"),
        ("45.24", "45.24", "%", "right"),
        ("0.4524", "45.24", "%", "wrong"),
        ("5 million", "5", "million", "right"),
        ("0.005 billion", "5", "million", "right"),
        ("5 billion", "5", "million", "wrong"),  # a unit is asked for: 5,000 million
        ("$5,000,000 dollars", "5", "million", "wrong"),  # a bare number is in the unit that is asked for
        # Nobody says the unit
        ("50%", "50", None, "right"),
        ("50%", "0.5", None, "right"),
        ("50%", "5", None, "wrong"),
        ("17.2 billion", "17.2", None, "right"),
        ("17.2 billion", "17200000000", None, "right"),
        ("17.2 billion", "17200", None, "wrong"),
        ("about -10%", "-10", None, "right"),
        ("10%", "-10", None, "wrong"),
        ("3-4%", "3", None, "wrong"),
        ("none", "3", None, "unanswered"),
    ],
)
def test_numbers_with_and_without_a_known_unit(reply: str, gold: str, unit: str | None, expected: str) -> None:
    assert verdict(reply, gold, unit) == expected


def test_the_reason_names_the_reading_that_was_right() -> None:
    mark = mark_asked(read_number("50%", extracted=True), NumberGold(value="50"))
    assert mark.reason == "'%' as the chart's own unit, which the data doesn't hold"


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("1002", True),  # 0.2 % of 1000 is 2
        ("998", True),
        ("1002.01", False),
        ("997.99", False),
    ],
)
def test_relative_tolerance_in_decimal(reply: str, right: bool) -> None:
    assert (verdict(reply, "1000", None, "0.002") == "right") is right


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("0.7014", True),  # 0.2 % of 0.7 is 0.0014, exactly here
        ("0.70141", False),
        ("-0.7", False),
    ],
)
def test_edges_that_binary_floats_miss(reply: str, right: bool) -> None:
    assert (verdict(reply, "0.7", None, "0.002") == "right") is right


@pytest.mark.parametrize(("reply", "right"), [("0", True), ("0.00", True), ("0.0001", False), ("-0", True)])
def test_a_gold_of_zero_needs_zero(reply: str, right: bool) -> None:
    assert (verdict(reply, "0", None, "0.05") == "right") is right


@given(st.text(alphabet="()$%in 百分 million\n", max_size=3000))
def test_any_question(question: str) -> None:
    asked_unit(question)


@pytest.mark.parametrize("part", ["(", "in ", "( in ", "percen", "百分", "in a b ", "($"])
def test_a_hostile_question_is_read_from_its_end(part: str) -> None:
    assert asked_unit(part * 200_000) is None
    assert asked_unit(part * 200_000 + " What percentage?") == "%"
