"""Short free texts: what says the same, and what does not."""

from decimal import Decimal

import pytest

from assay.mark.wording import same_wording
from assay.types import TextGold

ROWS = [
    # gold, answer, question, whether it says the same
    ("May", "May", "", True),
    ("May", "may.", "", True),
    ("May", "It is May", "", True),
    ("May", "June", "", False),
    ("May", "May or June", "", False),
    ("May", "not May", "", False),
    ("May", "Maybe", "", False),
    ("5:0", "5:00", "", True),
    ("17:06", "5:06", "", False),
    ("(3.000, 1.000)", "(3, 1)", "", True),
    ("(3, -5)", r"\((3, −5)\)", "", True),
    ("(3, -5)", "(3, 5)", "", False),
    ("(3, -5)", "(-5, 3)", "", False),
    ("[1, 6, 2, 0, 5]", "1, 6, 2, 0, 5", "", True),
    ("[1, 6, 2, 0, 5]", "[1, 6, 2, 0, 5, 7]", "", False),
    ("y = -3", "y=-3", "", True),
    ("y = -3", r"\text{y} = -3", "", True),
    ("y = -3", "y = 3", "", False),
    ("y = -3", "x = -3", "", False),
    ("12/12/2011", "12/12/2011", "", True),
    ("12/12/2011", "12/11/2011", "", False),
    ("DE", "The first edge is DE", "what is the first edge added?", True),
    ("DE", "The first edge is AB, then DE", "what is the first edge added?", False),
    ("Product B", "product b", "", True),
    ("Product B", "Product A", "", False),
    ("Q1", "Q1", "", True),
    ("Q1", "Q 1", "", True),
    ("Thursday", r"\textbf{Friday}", "", False),
    ("743", "The code is 743.", "What is the code?", True),
    ("743", "7433", "What is the code?", False),
    ("5.000000000000001", "5", "", True),  # within 0.001
    ("5.000000000000001", "5.01", "", False),
    ("White", "", "", False),
    ("White", "white " * 1000, "", False),
]


@pytest.mark.parametrize(("gold", "answer", "question", "same"), ROWS)
def test_rows(gold: str, answer: str, question: str, same: bool) -> None:
    found = same_wording(TextGold(values=(gold,)), answer, question=question, tolerance=Decimal("0.001"))
    assert found is same


def test_any_of_the_values_is_right() -> None:
    assert same_wording(TextGold(values=("Sep", "September")), "september")
    assert not same_wording(TextGold(values=()), "september")
    assert not same_wording(TextGold(values=("...",)), "...")  # nothing to say


def test_numbers_must_be_equal_without_a_tolerance() -> None:
    assert not same_wording(TextGold(values=("0.886",)), "0.887")
    assert same_wording(TextGold(values=("0.886",)), "0.887", tolerance=Decimal("0.001"))
