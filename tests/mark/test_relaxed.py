"""Relaxed accuracy, at its edges and by its quirks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.relaxed import as_float, asks_for_year, relaxed


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("20", "19", True),  # |19 - 20| / 20 = 0.05
        ("20", "21", True),
        ("20", "18.99", False),  # 1.01 / 20 = 0.0505
        ("20", "21.01", False),
        # case 089: the share is of the gold. Of 100, 95 is 5 % off; of 95, 100 is 5.26 % off.
        ("100", "95", True),
        ("95", "100", False),
        ("-20", "-19", True),
        ("-20", "20", False),
        ("0.3", "0.315", False),  # 0.015 / 0.3 is 0.05000000000000004 in binary floats
        ("2", "2%", False),  # case 088: 0.02
        ("0.02", "2%", True),
        ("2%", "2%", True),
        ("0", "0", True),  # as text
        ("0", "0.0", False),
        ("0", "0.01", False),
        ("2019", "1986", True),  # a year is a number to the rule
        ("1,234", "1,234", True),  # as text
        ("1234", "1,234", False),
        ("Blue", "blue", True),
        ("Blue", "blue ", False),
        ("Blue", "", False),
        ("17", "nan", False),
        ("17", "inf", False),
        ("17", "seventeen", False),
        ("", "", True),  # the caller never has an empty gold
    ],
)
def test_edges(gold: str, answer: str, right: bool) -> None:
    assert relaxed(gold=gold, answer=answer) is right


@given(gold=st.floats(-1e9, 1e9).filter(lambda x: abs(x) > 1e-6), share=st.floats(-1, 1))
def test_the_share_is_of_the_gold(gold: float, share: float) -> None:
    right = relaxed(gold=repr(gold), answer=repr(gold * (1 + share)))
    if abs(share) < 0.0499:
        assert right
    elif abs(share) > 0.0501:
        assert not right


@given(gold=st.text(), answer=st.text())
def test_any_texts(gold: str, answer: str) -> None:
    relaxed(gold=gold, answer=answer)
    assert relaxed(gold=gold, answer=gold) or as_float(gold) is not None


@pytest.mark.parametrize(
    ("question", "gold", "year"),
    [
        ("In which year were sales lowest?", "2019", True),
        ("When did the bar peak?", "1986", True),
        ("Which years?", " 2019 ", True),
        ("What is the value in the year 2015?", "17", False),
        ("How many houses were sold?", "2019", False),
        ("Whenever?", "2019", False),
        ("Which year?", "2019.5", False),
        ("Which year?", "18/19", False),
        ("Which year?", "12019", False),
    ],
)
def test_years(question: str, gold: str, year: bool) -> None:
    assert asks_for_year(question, gold) is year
