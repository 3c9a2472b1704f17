"""The scoring of FinMME's published script: expected values worked out by hand from its rule."""

import pytest

from assay.benchmarks.finmme_reference import explain, letters, mark_reference, number, read_reference
from assay.types import ChoiceGold, Mark, NumberGold, Reply


@pytest.mark.parametrize(
    ("reply", "reads"),
    [
        ("Answer: B", "B"),
        ("answer:B", "B"),
        ("ANSWER  \n :\n\n B tail", "B"),
        ("The answer is B", ""),
        ("", ""),
        ("Answer:", ""),
        ("Answer: A, B", "A,"),
        ("Answer: A,B", "A,B"),
        ("**Answer:** B", ""),
        ("**Answer**: B", ""),  # "**" stands between the word and the colon
        ("Answer: **B**", "B"),
        ("Answer: $B$", "B"),
        ("Answer: A. Answer: B", "A."),
        ("Answer：B", ""),
        ("Answer: $\\boxed{B}$", "B"),
        ("Answer: \\boxed{B}", "B}"),
        ("Answer: $\\boxed{\\text{B}}$", "\\textB}"),
        ("Answer: \\$5", "5"),
        ("Answer: 10:30", "1030"),
        ("Final Answer: C", "C"),
        ("Anſwer: C", "C"),  # case-insensitive matching folds the long s
    ],
)
def test_what_the_script_reads(reply: str, reads: str) -> None:
    assert read_reference(Reply(text=reply)) == reads


def test_an_extracted_reply_skips_the_search_but_not_the_cleaning() -> None:
    assert read_reference(Reply(text="A, B", extracted=True)) == "A, B"
    assert read_reference(Reply(text="**$B$**", extracted=True)) == "B"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("None", "EN"),  # and "o" is beyond N
        ("B.Decline", "BCDEILN"),
        ("xyz", ""),
        ("b", "B"),
        ("Ｂ", ""),  # full-width
    ],
)
def test_letters(text: str, expected: str) -> None:
    assert "".join(sorted(letters(text))) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.", 12.0),
        ("12.5.", None),
        ("3.5e6", 3.56),
        ("1/2", 12.0),
        ("−5", 5.0),
        ("-5", -5.0),
        ("1,234", 1234.0),
        ("~3.5", 3.5),
        ("≈3.5", 3.5),
        ("(5)", 5.0),
        ("10m²", None),
        ("５", 5.0),
        ("3.5-4.0", None),
        ("2023-2024", None),
        ("5%", 5.0),
        ("approximately", None),
        ("", None),
        ("-", None),
    ],
)
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("reply", "gold", "tolerance", "verdict"),
    [
        ("Answer: 1.1", "1.0", "0.1", "wrong"),  # 1.1 - 1.0 = 0.10000000000000009
        ("Answer: 1.1", "1.0", "0.10000000149011612", "right"),  # as float32 columns hold it
        ("Answer: 7", "5", "2.0", "right"),
        ("Answer: 7.01", "5", "2.0", "wrong"),
        ("Answer: 5", "5", "NaN", "wrong"),
        ("Answer: 5", "5", None, "wrong"),
        ("Answer: 5", "5", "inf", "right"),
        ("Answer: 5", "5%", "0", "right"),
        ("Answer: 5%", "0.05", "0", "wrong"),
        ("Answer: none", "5", "1", "wrong"),
        ("Answer: 5", "n/a", "1", "wrong"),
        ("Answer: " + "9" * 400, "5", "1", "wrong"),  # infinite as a float
    ],
)
def test_numerical_verdicts(reply: str, gold: str, tolerance: str | None, verdict: str) -> None:
    marked = mark_reference(Reply(text=reply), NumberGold(value=gold, tolerance=tolerance), numerical=True)
    assert marked.verdict == verdict


def test_a_missing_gold_is_an_empty_string_to_the_script() -> None:
    assert mark_reference(Reply(text="Answer: B"), None, numerical=False).verdict == "wrong"
    assert mark_reference(Reply(text="Answer: ?"), None, numerical=False).verdict == "right"
    assert mark_reference(Reply(text="Answer: 5"), None, numerical=True).verdict == "wrong"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It is B", 'the script finds no "Answer:" in the reply'),
        ("Answer：B", "the script does not know the full-width colon"),
        ("**Answer:** B", 'the script reads only "**" after the first colon'),
        ("Answer: A. Answer: B", 'the script takes the first "Answer:", "A."'),
        ("Answer: option B", 'the script reads only up to the first blank: "option"'),
        ("Answer: " + "x" * 70, f'the script takes every letter A to N in "{"x" * 57}...": none'),
        ("Answer: $$", "nothing is left for the script once it has removed its markers"),
    ],
)
def test_reasons_of_wrong_verdicts(text: str, reason: str) -> None:
    reply, gold = Reply(text=text), ChoiceGold(labels=("B",))
    reference = mark_reference(reply, gold, numerical=False)
    assert reference.verdict == "wrong"
    assert explain(reply, gold, reference, Mark(verdict="right", extraction="B")) == reason


def test_reason_of_a_right_verdict_names_both_readings() -> None:
    reply, gold = Reply(text="Answer: A, B"), ChoiceGold(labels=("A",))
    reference = mark_reference(reply, gold, numerical=False)
    assert explain(reply, gold, reference, Mark(verdict="wrong", extraction="A,B")) == (
        'the script reads "A," and finds it right; robust reads "A,B"'
    )
    unanswered = Mark(verdict="unanswered", reason="truncated")
    assert explain(reply, gold, reference, unanswered) == (
        'the script reads "A," and finds it right; robust finds no clear answer (truncated)'
    )
