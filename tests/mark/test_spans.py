"""Short texts as answers: where they stand in a reply, and F1 over words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.spans import bag_f1, read_text


@pytest.mark.parametrize(
    ("reply", "text", "explicit"),
    [
        ("New Zealand", "New Zealand", False),
        ("New Zealand.", "New Zealand", False),
        ("**New Zealand**", "New Zealand", False),
        ("Answer: New Zealand", "New Zealand", True),
        ("The bars ... Answer: Chile\nNo: Answer: Peru", "Peru", True),
        ("So it is \\boxed{\\text{Peru}}.", "Peru", True),
        ("<think>Peru?</think>Chile", "Chile", False),
        ("", "", False),
        ("word " * 100 + "\nPeru", "Peru", False),
    ],
)
def test_read_text(reply: str, text: str, explicit: bool) -> None:
    reading = read_text(reply)
    assert (reading.text, reading.explicit) == (text, explicit)


def test_an_extracted_answer_is_taken_as_a_whole() -> None:
    assert read_text("Answer sheet: blue", extracted=True).text == "Answer sheet: blue"


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("a b", "a b", 1.0),
        ("a b", "b c", 0.5),  # 1 in common: precision 1/2, recall 1/2
        ("a b c d", "a", 0.4),  # precision 1/4, recall 1: 2 * 1/4 / (5/4)
        ("a", "b", 0.0),
        ("", "", 1.0),
        ("", "a", 0.0),  # precision 1, recall 0
        ("a", "", 0.0),
    ],
)
def test_bag_f1(answer: str, gold: str, f1: float) -> None:
    assert bag_f1(set(answer.split()), set(gold.split())) == pytest.approx(f1)


WORDS = st.sets(st.sampled_from("abcdefgh"))


@given(WORDS, WORDS)
def test_f1_is_symmetric_and_between_0_and_1(one: set[str], other: set[str]) -> None:
    value = bag_f1(one, other)
    assert value == pytest.approx(bag_f1(other, one))
    assert 0 <= value <= 1
    assert (value == 1) == (one == other)


@given(st.text(), st.booleans())
def test_any_reply(reply: str, extracted: bool) -> None:
    read_text(reply, extracted=extracted)
