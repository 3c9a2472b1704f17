"""Faults that users of other tools reported, about choices and numbers: each is a row with the case's id.

Where we answer differently than the case asks for, the row says why.
"""

import json
from pathlib import Path

import pytest

from assay.mark.choice import mark_choice, read_choice
from assay.mark.number import mark_number, read_number
from assay.types import ChoiceGold, NumberGold, Option


def labels(letters: str) -> tuple[Option, ...]:
    return tuple(Option(label=letter) for letter in letters)


def texts(*values: str) -> tuple[Option, ...]:
    return tuple(Option(label=label, text=text) for label, text in zip("ABCDEFGHIJ", values, strict=False))


ABCD, ABCDE, A_TO_J = labels("ABCD"), labels("ABCDE"), labels("ABCDEFGHIJ")
NONE_OF_THEM = texts("1", "2", "3", "4", "None of the above")

# (case, reply, options, several allowed, labels or status)
CHOICES: list[tuple[str, str, tuple[Option, ...], bool, str]] = [
    ("001", "Answer: A, B", ABCD, True, "A,B"),
    ("002", "**Answer:** B", ABCD, False, "B"),
    ("005", "Answer: $\\boxed{\\text{B}}$", ABCDE, False, "B"),
    ("008", "Answer: None", ABCDE, False, "none"),
    ("008", "Answer: None", NONE_OF_THEM, False, "E"),
    ("009", "Answer: A and B", ABCD, True, "A,B"),
    ("010", "ANSWER: None of the above", ABCDE, True, "none"),
    ("010", "ANSWER: None of the above", NONE_OF_THEM, True, "E"),
    ("010", "Don't know", ABCDE, True, "none"),
    ("010", "ANSWER: Don't know", ABCDE, True, "none"),
    ("011", "ANSWER: $B$", ABCD, False, "B"),
    ("012", "ANSWER: **A**", ABCD, False, "A"),
    ("013", "ANSWER: A, B, and C", ABCD, True, "A,B,C"),
    ("013", "ANSWER: A,C,", ABCD, True, "A,C"),
    ("014", "Answer: this asks which is a colour\n...\nANSWER: b", ABCD, False, "B"),
    ("014", "ANSWER: A, B and C", ABCD, True, "A,B,C"),
    ("015", "ANSWER: A、B", ABCD, True, "A,B"),
    ("015", "ANSWER: A，B", ABCD, True, "A,B"),
    ("015", "ANSWER: A;B", ABCD, True, "A,B"),
    ("015", "ANSWER: A/B", ABCD, True, "A,B"),
    ("015", "ANSWER: A & B", ABCD, True, "A,B"),
    ("016", "**ANSWER:** B", ABCD, True, "B"),
    ("016", "ANSWER: \\boxed{B}", ABCD, True, "B"),
    ("016", "ANSWER: [A, C]", ABCD, True, "A,C"),
    ("016", "ANSWER: Ｂ", ABCD, True, "B"),
    ("016", "答案：A", ABCD, True, "A"),
    ("016", "Answer：B", ABCD, True, "B"),
    ("017", "<think>ANSWER: A</think>B", ABCD, False, "B"),
    ("018", "The answer is C because I computed the integral.", A_TO_J, False, "C"),
    ("019", "The answer is B. Note that A is a common distractor.", ABCD, False, "B"),
    ("020", "\\boxed{\\langle H\\rangle \\ll \\Delta E} ... **Answer: D**", ABCDE, False, "D"),
    ("020", "**Answer: D** ... \\boxed{\\langle H\\rangle \\ll \\Delta E}", ABCDE, False, "D"),
    ("021", "**Answer: D/H**", A_TO_J, False, "ambiguous"),
    ("021", "Answer: A or B", ABCD, False, "ambiguous"),
    ("021", "Answer: B because C is wrong", ABCD, False, "B"),
    ("021", "B because C is wrong", ABCD, False, "B"),
    ("023", "Yes, ... a gravestone adorned with a death notice", texts("Yes", "No"), False, "A"),
    ("024", "", ABCDE, False, "none"),
    ("025", "It is hard to say from the picture.", ABCDE, False, "none"),
    ("027", "The value is 14.2", texts("3.5", "4.2", "5.0"), False, "none"),
    ("028", "D is incorrect", ABCD, False, "none"),
    ("031", "The correct answer is B. Here's why... option B is correct because...", ABCD, False, "B"),
    ("032", "Answer: **D**", ABCD, False, "D"),
    ("032", "The correct answer is d.", ABCD, False, "D"),
    ("033", "14", texts("11", "cheesecake", "-84", "insufficient", "42"), False, "none"),
    ("034", "我認為應該選 A", ABCD, False, "A"),
    ("034", "我選擇 B", ABCD, False, "B"),
    ("035", "G", ABCD, False, "none"),
    ("035", "Answer: G", ABCD, False, "none"),
    ("037", "(A)图像的右侧", texts("图像的右侧", "图像的左侧"), False, "A"),
    ("037", "图像的右侧", texts("图像的右侧", "图像的左侧"), False, "A"),
    # Choices among the reports on numbers.
    ("095", "", texts("positive", "negative", "zero", "undefined"), False, "none"),
    ("096", "B.", texts("3.5", "4.2", "5.0"), False, "B"),
    # Thinking is cut off by default; the store keeps the raw reply.
    ("098", "<think>First I thought of A.</think>Answer: B", ABCD, False, "B"),
    ("098", "<think>Answer: A", ABCD, False, "none"),
]

# (case, reply, gold, unit, tolerance, verdict)
NUMBERS: list[tuple[str, str, str, str | None, str | None, str]] = [
    ("040", "１２３", "123", None, None, "right"),
    ("040", "3．14", "3.14", None, None, "right"),
    ("042", "1.2 billion", "1.2", None, None, "wrong"),
    ("042", "1.2 billion", "1.2", "USD billion", None, "right"),
    ("042", "12亿元", "12", None, None, "wrong"),
    ("042", "12亿元", "12", "亿元", None, "right"),
    ("042", "12亿元", "1200000000", None, None, "right"),
    ("043", "50%", "50", "%", None, "right"),
    ("043", "50%", "50", None, None, "wrong"),
    ("043", "50%", "0.5", None, None, "right"),
    ("044", "$1.2 \\times 10^9$", "1.2e9", None, None, "right"),
    ("046", "1234.5", "1.234,5", None, None, "right"),
    ("046", "1.234,5", "1234.5", None, None, "right"),
    ("053", "1 1/4", "5/4", None, None, "right"),
    # The rule, stated: a percent sign counts as such, and the item's unit says what the gold is in.
    ("054", "$28\\%$", "28", "%", None, "right"),
    ("054", "$28\\%$", "28", None, None, "wrong"),
    ("070", "Answer: 12.5.", "12.5", None, None, "right"),
    ("070", "Answer: 12.", "12", None, None, "right"),
    ("071", "Answer: 3.5e6", "3500000", None, None, "right"),
    ("073", "Answer: 10m²", "10", None, None, "right"),
    ("074", "Answer: approximately 3.5", "3.5", None, None, "right"),
    ("074", "Answer: ~3.5", "3.5", None, None, "right"),
    ("074", "Answer: ≈3.5", "3.5", None, None, "right"),
    ("076", "Answer: (5)", "-5", None, None, "right"),
    ("077", "Answer: 3.5-4.0", "3.5", None, None, "wrong"),
    ("077", "Answer: 2023-2024", "2023", None, None, "wrong"),
    ("078", "Answer: 1.1", "1.0", None, "0.1", "right"),
    ("079", "Answer: 5", "5", None, None, "right"),
    ("079", "Answer: 5", "5", None, "NaN", "right"),
    ("079", "Answer: 6", "5", None, "NaN", "wrong"),
    # A gold with a percent sign says what its item's unit is; otherwise the unit field does.
    ("080", "5", "5%", None, None, "right"),
    ("080", "5%", "0.05", None, None, "right"),
    ("080", "5%", "5", "%", None, "right"),
    # 20 without a unit would make "20%" 0.2: the item's unit must say percent, as in case 043.
    ("081", "So the answer is 20% of the total of 100.", "20", "%", None, "right"),
    ("081", "The share is 20%. That is 20 of 100.", "100", None, None, "unanswered"),
    ("082", "The answer is 25", "5", None, None, "wrong"),
    ("082", "5", "-5", None, None, "wrong"),
    ("084", "¥1,234", "1234", None, None, "right"),
    ("084", "12亿元", "12", "亿", None, "right"),
    ("084", "5 million", "5000000", None, None, "right"),
    ("085", "The total is 72 clips, altogether.", "72", None, None, "right"),
    ("086", "#### -3", "-3", None, None, "right"),
    ("086", "#### -3", "3", None, None, "wrong"),
    # Whether a question asks for a percentage is the item's unit.
    ("088", "2%", "2", "%", None, "right"),
    # Relative tolerances belong to the benchmark that has them; this absolute one is taken around the gold.
    ("089", "105", "100", None, "5", "right"),
    ("089", "105.01", "100", None, "5", "wrong"),
    ("092", "\\boxed{12.5}%", "12.5%", None, None, "right"),
    ("092", "\\boxed{12.5}%", "12.5", "%", None, "right"),
    ("093", "14.9", "14", None, None, "wrong"),
    ("094", "14.0", "14", None, None, "right"),
    # To round to the item's precision is the published script's rule (`reference`); `robust` takes a tolerance.
    ("094", "1.449", "1.45", None, None, "wrong"),
    ("094", "1.449", "1.45", None, "0.005", "right"),
    ("098", "<think>It could be 7.</think>The answer is 6.", "6", None, None, "right"),
]


@pytest.mark.parametrize(("case", "reply", "options", "multiple", "expected"), CHOICES)
def test_reported_choice(case: str, reply: str, options: tuple[Option, ...], multiple: bool, expected: str) -> None:
    reading = read_choice(reply, options, multiple=multiple)
    assert (",".join(reading.labels) if reading.status == "ok" else reading.status) == expected, case
    gold = ChoiceGold(labels=tuple(expected.split(",")), multiple=multiple)
    verdict = "unanswered" if expected in ("none", "ambiguous") else "right"
    assert mark_choice(reading, gold).verdict == verdict


@pytest.mark.parametrize(("case", "reply", "value", "unit", "tolerance", "verdict"), NUMBERS)
def test_reported_number(
    case: str, reply: str, value: str, unit: str | None, tolerance: str | None, verdict: str
) -> None:
    mark = mark_number(read_number(reply, unit=unit), NumberGold(value=value, unit=unit, tolerance=tolerance))
    assert mark.verdict == verdict, (case, mark.reason)


# Cases of other kinds that are about numbers or thinking.
FURTHER = ("040", "042", "043", "044", "046", "053", "054", "098")


def test_no_reported_case_is_missing(reported_cases: Path) -> None:
    cases = map(json.loads, reported_cases.read_text("utf-8").splitlines())
    ours = {case["id"] for case in cases if case["kind"] in ("choice-extraction", "numeric-and-units")}
    rows = {row[0] for row in CHOICES} | {row[0] for row in NUMBERS}
    assert rows == ours | set(FURTHER)
