"""Options and answer labels, in every shape that data sets use."""

import json
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.options import parse_labels, parse_options
from assay.types import Option

PLAIN = [("A", "3 INR/liter"), ("B", "5 INR/liter"), ("C", "-2 INR/liter")]


def pairs(value: object) -> list[tuple[str, str]]:
    return [(option.label, option.text) for option in parse_options(value)]


@pytest.mark.parametrize(
    "value",
    [
        "A: 3 INR/liter\nB: 5 INR/liter\nC: -2 INR/liter",
        "A. 3 INR/liter\nB. 5 INR/liter\nC. -2 INR/liter",
        "(A) 3 INR/liter\n(B) 5 INR/liter\n(C) -2 INR/liter",
        "A) 3 INR/liter\r\nB) 5 INR/liter\r\nC) -2 INR/liter\r\n",
        "A、3 INR/liter\nB、5 INR/liter\nC、-2 INR/liter",
        "A：3 INR/liter\nB：5 INR/liter\nC：-2 INR/liter",
        "A:3 INR/liter\n\nB:5 INR/liter\n\nC:-2 INR/liter",
        "Options:\nA: 3 INR/liter\nB: 5 INR/liter\nC: -2 INR/liter",
        "- A: 3 INR/liter\n- B: 5 INR/liter\n- C: -2 INR/liter",
        "A: 3 INR/liter B: 5 INR/liter C: -2 INR/liter",
        "A. 3 INR/liter; B. 5 INR/liter; C. -2 INR/liter",
        "A: 3 INR/liter, B: 5 INR/liter, C: -2 INR/liter",
        "3 INR/liter\n5 INR/liter\n-2 INR/liter",
        dict(PLAIN),
        {**dict(PLAIN), "D": None},  # a parquet struct
        json.dumps(dict(PLAIN)),
        str(dict(PLAIN)),
        json.dumps([text for _, text in PLAIN]),
        [text for _, text in PLAIN],
        tuple(text for _, text in PLAIN),
        [f"{label}. {text}" for label, text in PLAIN],
        [f"({label}) {text}" for label, text in PLAIN],
        PLAIN,  # a parquet map
        [{"label": label, "text": text} for label, text in PLAIN],
        [{"key": label, "value": text} for label, text in PLAIN],
        [{label: text} for label, text in PLAIN],
        numpy.array([text for _, text in PLAIN]),
        numpy.array([text for _, text in PLAIN], dtype=object),
    ],
)
def test_every_shape_gives_the_same_options(value: Any) -> None:
    assert pairs(value) == PLAIN


@pytest.mark.parametrize("value", [None, float("nan"), "", "  \n", [], {}, 7, "no options here", "x" * 60_000])
def test_nothing_to_read_is_no_options(value: Any) -> None:
    assert pairs(value) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # case 037: a text cut by a fixed offset lost its first character.
        ("(A)图像的右侧\n(B)图像的左侧", [("A", "图像的右侧"), ("B", "图像的左侧")]),
        ("(A)图像的右侧(B)图像的左侧", [("A", "图像的右侧"), ("B", "图像的左侧")]),
        (["(A)图像的右侧", "(B)图像的左侧"], [("A", "图像的右侧"), ("B", "图像的左侧")]),
        ("A:图像的右侧\nB:图像的左侧", [("A", "图像的右侧"), ("B", "图像的左侧")]),
        # A text of several lines belongs to its label; labels inside a text, out of order, are text.
        ("A: first\nsecond line\nB: other", [("A", "first\nsecond line"), ("B", "other")]),
        ("A: up\nB: see A: up\nC: down", [("A", "up"), ("B", "see A: up"), ("C", "down")]),
        ("A: U.S. sales\nU.S. growth\nB: none", [("A", "U.S. sales\nU.S. growth"), ("B", "none")]),
        # One letter may be missing.
        ("A: x\nC: y", [("A", "x"), ("C", "y")]),
        # Punctuation and numbers that are part of the text stay.
        ("A: 1,000; 2,000\nB: f(A) is 3.5%", [("A", "1,000; 2,000"), ("B", "f(A) is 3.5%")]),
        ("a) low\nb) high", [("A", "low"), ("B", "high")]),
        (["A", "B"], [("A", "A"), ("B", "B")]),
        (["A quick fall", "B"], [("A", "A quick fall"), ("B", "B")]),
    ],
)
def test_texts_are_whole(value: Any, expected: list[tuple[str, str]]) -> None:
    assert pairs(value) == expected


@given(st.dictionaries(st.sampled_from("ABCDEFGH"), st.text(min_size=1).filter(str.strip), min_size=1))
def test_a_mapping_and_its_json_agree(mapping: dict[str, str]) -> None:
    expected = [(label, text.strip()) for label, text in mapping.items()]
    assert pairs(mapping) == expected
    assert pairs(json.dumps(mapping)) == expected


@given(st.text(max_size=300))
def test_any_text_is_parsed_without_an_error(text: str) -> None:
    labels = [label for label, _ in pairs(text)]
    assert len(labels) == len(set(labels)) or text.strip().startswith(("{", "["))


def test_deep_nesting_is_no_options() -> None:
    assert pairs("[" * 20_000 + "]" * 20_000) == []


FOUR = tuple(Option(label=label, text=text) for label, text in zip("ABCD", ("up", "down", "flat", "C"), strict=True))


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        ("ACD", "ACD"),
        ("A,C,D", "ACD"),
        ("A, C", "AC"),
        ("A、C", "AC"),
        ("A，C", "AC"),
        ("A;C", "AC"),
        ("A C", "AC"),
        ("A and C", "AC"),
        ("DCA", "ACD"),  # in the options' order
        ("down", "B"),
        ("E", "E"),  # outside: the caller's to judge
        ("AE", "AE"),
        ("", ""),
        ("none of them", ""),
    ],
)
def test_answer_labels(answer: str, labels: str) -> None:
    assert parse_labels(answer, FOUR) == tuple(labels)


def test_labels_keep_the_options_own_writing() -> None:
    options = (Option(label="i", text="x"), Option(label="ii", text="y"))
    assert parse_labels("II", options) == ("ii",)
    assert parse_labels("i, ii", options) == ("i", "ii")
