"""Told apart by the text alone: what goes on, what repeats first, what begins anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.continuation import ended, joined, label_of, read_continuation
from assay.solve.records import Continuation

KEPT = (
    "Step 1: The product comes first, so 3 * 4 = 12.\n\n",
    "Step 2: Adding the two gives 2 + 12 = 14.\n\n",
)
NEXT = "Step 3: So the value is 14.\n\nAnswer: 14"

ROWS: list[tuple[str, str, Continuation, str]] = [
    ("as asked", NEXT, "continued", NEXT),
    ("blank lines first", "\n \n\n" + NEXT, "continued", NEXT),
    ("in the middle of a sentence", "and that is all. Answer: 14", "continued", "and that is all. Answer: 14"),
    ("indented code stays", "\n    x = 14\n", "continued", "    x = 14\n"),
    ("nothing", "", "empty", ""),
    ("white space", " \n\n\t ", "empty", ""),
    ("word for word", "".join(KEPT) + NEXT, "repeated", NEXT),
    ("other white space", " ".join("".join(KEPT).split()) + "\n" + NEXT, "repeated", NEXT),
    ("other decoration", "**Step 1:** The product comes first, so `3 * 4 = 12`.\n" + KEPT[1] + NEXT, "repeated", NEXT),
    ("other case", "".join(KEPT).upper() + NEXT, "repeated", NEXT),
    # 12 + 11 words and signs, of which two differ: 2 * 28 / 60 and more
    ("nearly", "".join(KEPT).replace("so 3", "hence 3").replace("the two", "both") + NEXT, "repeated", NEXT),
    ("only the repetition", "".join(KEPT), "repeated", ""),
    ("the correction taken back", "".join(KEPT).replace("14", "15") + NEXT, "restarted", ""),
    ("its own first step", "Step 1: Work from left to right, which gives 5 * 4.\n\nAnswer: 20", "restarted", ""),
    ("says so", "Sure, let me start over. Five times four.\n\nAnswer: 20", "restarted", ""),
    ("says so too", "Let's try again from scratch.\n\nAnswer: 20", "restarted", ""),
    ("an apology that goes on", "Sorry for the wait. It is 14.", "continued", "Sorry for the wait. It is 14."),
]


@pytest.mark.parametrize(("reply", "kind", "text"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_reply_is_told_apart(reply: str, kind: Continuation, text: str) -> None:
    found = read_continuation(KEPT, reply)
    assert found.kind == kind
    assert found.text == (reply if kind == "restarted" else text)


def test_a_label_of_one_is_a_new_beginning_only_after_labelled_steps() -> None:
    unlabelled = ("The product comes first, so 3 * 4 = 12.\n\n",)
    assert read_continuation(unlabelled, "1. Add two.\n\nAnswer: 14").kind == "continued"
    assert read_continuation(KEPT, "1. Add two.\n\nAnswer: 14").kind == "restarted"


def test_the_first_given_step_over_again_is_a_new_beginning() -> None:
    kept = ("The picture shows a circle of radius 3.\n\n", "Its area is 9 pi.\n\n")
    # 8 of 9 words and signs the same on either side: 16 / 18 = 0.89; but it is not the steps as given
    assert read_continuation(kept, "The figure shows a circle of radius 3.\n\nIts area is 6 pi.").kind == "restarted"


@pytest.mark.parametrize(
    ("first", "following"),
    [
        ("The area of room A is 3 times 4, so 12.", "The area of room A is 3 times 5, so 15."),
        ("The area of room A is 3 times 4, so 12.", "The area of room B is 3 times 5, so 15."),
        # 7 of 9 words the same: 14 / 18 = 0.78
        ("The red bar is the highest one here.", "The blue bar is the lowest one here."),
    ],
)
def test_steps_that_are_built_alike_follow_each_other(first: str, following: str) -> None:
    assert read_continuation((first + "\n\n",), following).kind == "continued"


def test_a_short_step_may_begin_the_next_one_too() -> None:
    assert read_continuation(("x = 3\n\n",), "x = 3 gives y = 6").text == "x = 3 gives y = 6"
    assert read_continuation(("x = 3\n\n",), "x = 3\n\ny = 6").text == "y = 6"
    assert read_continuation(("x = 3\n\n",), "x = 31\n\ny = 6").text == "x = 31\n\ny = 6"


@pytest.mark.parametrize(
    ("step", "label"),
    [
        ("Step 3: Add.", 3),
        ("**Step 12.** Add.", 12),
        ("4. Add.", 4),
        ("Add.", None),
        ("1.5 is the half.", None),
        ("", None),
    ],
)
def test_a_label_is_the_number_that_a_step_begins_with(step: str, label: int | None) -> None:
    assert label_of(step) == label


def test_given_steps_end_with_a_line_break_before_something_follows() -> None:
    assert ended(("a", "b \n", "c  ")) == ("a\n\n", "b \n", "c\n\n")
    assert joined(("a\n\n",), ("b",)) == ("a\n\n", "b")
    assert joined(("a\n\n",), ()) == ("a\n\n",)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.text())
def test_no_text_is_made_up(kept: list[str], reply: str) -> None:
    found = read_continuation(kept, reply)
    assert reply.endswith(found.text)
    assert (found.kind == "empty") == (not reply.strip())


def test_long_replies_are_read_to_the_end() -> None:
    # A text that costs more than linear time would run into the suite's time limit here.
    assert read_continuation(("a " * 50_000 + "\n\n",), "a b " * 50_000).kind == "continued"
    assert read_continuation(("1 " * 20_000 + "\n\n",), "\n\n".join(["12 is"] * 20_000)).kind == "continued"
    assert read_continuation(("a b\n\n" * 5_000,), "a c\n\n" * 20_000).kind == "continued"
