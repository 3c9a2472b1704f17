r"""Mathematical answers: what is read out of a reply, and what is equal.

Rows with an id are reported cases of other tools (kind math-equivalence). Where we answer otherwise than the case's own
"right", the row says why.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.expression import mark_expression, read_expression
from assay.types import ExpressionGold, Mark


def graded(gold: str, reply: str, percent: bool | None = None) -> Mark:
    return mark_expression(read_expression(reply), ExpressionGold(value=gold), percent=percent)


# (case, gold, reply, verdict)
REPORTED = [
    ("038", "1,2", "2,1", "right"),  # a bare list states no order, so none is asked for
    ("038", "(1,2)", "(2,1)", "wrong"),  # a point does
    ("038", "1,2", "1.2", "wrong"),
    ("038", r"\{1,2\}", "2, 1", "right"),
    ("038", "(1,2)", r"\{1,2\}", "wrong"),
    ("040", "123", "１２３", "right"),
    ("040", "3．14", "3.14", "right"),
    ("040", "-4", "－４", "right"),
    ("042", "1.2", "1.2 billion", "wrong"),
    ("042", "12", "12亿元", "wrong"),
    ("042", "1200000000", "12亿元", "right"),
    ("042", "1.2 billion", "1,200 million", "right"),
    ("044", "1.2e9", r"$1.2 \times 10^9$", "right"),
    ("044", "1.2e-3", "0.0012", "right"),
    ("046", "1.234,5", "1234.5", "right"),
    ("046", "1.234,5", "1.234", "wrong"),
    ("046", "1.234", "1234", "wrong"),  # a point alone is a decimal point
    ("047", "$10$", r"\$10", "right"),
    ("047", r"\$10", "10 dollars", "right"),
    ("048", r"\boxed{\text{Sunday}}", "Sunday", "right"),
    ("048", r"\boxed{\text{B}}", "B", "right"),
    ("049", r"\boxed{5", "5", "right"),
    ("050", r"$1-\frac{1}{\mathrm{e}}$", r"$1+\frac{1}{\mathrm{e}}$", "wrong"),
    ("050", r"$1-\frac{1}{\mathrm{e}}$", r"$\frac{e-1}{e}$", "right"),
    ("051", "840", r"First \boxed{840}.,but then \boxed{840}", "right"),
    ("051", "4", r"\boxed{004}... 2,552,004", "right"),
    ("052", r"\left( 3, \frac{\pi}{2} \right)", r"(3, \frac{\pi}{2})", "right"),
    ("052", r"\left( 3, \frac{\pi}{2} \right)", r"(3, 0.5\pi)", "right"),
    ("052", r"\left( 3, \frac{\pi}{2} \right)", r"(\frac{\pi}{2}, 3)", "wrong"),
    ("053", "5/4", "1 1/4", "right"),
    ("053", r"\frac{5}{4}", r"1\frac{1}{4}", "right"),
    ("053", "11/4", "1 1/4", "wrong"),
    ("053", "5/4", "1¼", "right"),
    ("054", r"$28\%$", "28", "right"),  # the gold shows its unit; the sign was left out
    ("054", r"$28\%$", "0.28", "right"),  # the value of the percentage
    ("054", r"$28\%$", "29%", "wrong"),
    ("056", r"$\sqrt{1/n}$", r"$\frac{1}{\sqrt{n}}$", "right"),  # wherever both are real
    ("056", "|x|", "x", "wrong"),
    ("057", r"\frac{100}{3}", "33.3", "wrong"),  # expressions carry no tolerance: exact
    ("057", r"\frac{100}{3}", "33.333333", "wrong"),
    ("057", r"\frac{100}{3}", r"\frac{100}{3} \approx 33.3", "right"),
    ("058", "2", r"\sqrt[3]{8}", "right"),
    ("058", r"\sqrt[3]{2}", r"2^{1/3}", "right"),
    ("060", "Sunday", r"\boxed{\text{Sunday}}", "right"),
    ("061", "4", r"\boxed{3} no, \boxed{4}", "right"),
    ("061", "3", r"\boxed{3} no, \boxed{4}", "wrong"),
    ("063", "0.004", "0.001", "wrong"),
    ("064", "42", r"Thus the answer is \[ \boxed{42} \]", "right"),
    ("065", "42", r"Mark your solution with \boxed ", "unanswered"),
    ("065", "42", r"\boxed{}", "unanswered"),
    ("067", "5", r"So \boxed{5}. Checking again, \boxed{5}", "right"),
]


@pytest.mark.parametrize(("case", "gold", "reply", "verdict"), REPORTED)
def test_reported_case(case: str, gold: str, reply: str, verdict: str) -> None:
    assert graded(gold, reply).verdict == verdict, case


# 043: by the item, as the case asks; the rule that fired is in the reason.
@pytest.mark.parametrize(
    ("gold", "reply", "percent", "verdict", "reason"),
    [
        ("50", "50%", True, "right", "asks for a percentage"),
        ("50", "50%", False, "wrong", "doesn't ask"),
        ("50", "50%", None, "unmarkable", "isn't known"),
        ("0.5", "50%", None, "right", "value of the percentage"),
        ("0.5", r"50\%", False, "right", "value of the percentage"),
        ("50", "60%", None, "wrong", "another percentage"),
        (r"50\%", "50 percent", None, "right", ""),
        (r"\frac{1}{2}", "50 per cent", None, "right", "value"),
    ],
)
def test_percent_by_the_item(gold: str, reply: str, percent: bool | None, verdict: str, reason: str) -> None:
    mark = graded(gold, reply, percent)
    assert mark.verdict == verdict
    assert reason in mark.reason


def test_every_reported_case_of_the_kind_is_a_row(reported_cases: Path) -> None:
    cases = [json.loads(line) for line in reported_cases.read_text(encoding="utf-8").splitlines()]
    wanted = {case["id"] for case in cases if case["kind"] == "math-equivalence"}
    assert wanted - {row[0] for row in REPORTED} == {"043"}  # above


@pytest.mark.parametrize(
    ("gold", "reply", "verdict"),
    [
        # units
        ("12", "12 cm", "right"),
        ("12", r"12 \mathrm{~cm}", "right"),
        ("12 cm", "12", "right"),
        ("12 cm", "12 m", "wrong"),
        (r"12 \mathrm{~cm}^{2}", "12 square centimeters", "right"),
        (r"12 \mathrm{~cm}^{2}", "12 cm", "wrong"),
        ("69{degrees}", "69", "right"),
        ("69{degrees}", r"69^\circ", "right"),
        (r"8\sqrt{3}{squareinches}", r"8\sqrt{3}", "right"),
        (r"\frac{3}{4}\pi{inches}", r"0.75\pi", "right"),
        (r"\frac{90}{23}^{\circ}", r"\frac{90}{23}", "right"),
        ("13", "13 Punkte", "right"),
        ("5m", "5", "wrong"),  # five times m
        ("2", "2 sin x", "wrong"),
        ("1.00", r"\$1.00", "right"),
        # numbers
        ("39270", "39,270", "right"),
        ("39270", "39{,}270", "right"),
        ("39270", "39 270", "right"),
        ("8.0", "8", "right"),
        ("11 ", "11", "right"),
        ("12", "1 2", "wrong"),
        ("3", "1 2", "wrong"),  # a parser adds them
        (r"\sqrt{2}", "1.414213562373", "right"),
        (r"\sqrt{2}", "1.41421", "wrong"),
        (r"\frac{\sqrt{6}}{6}", r"\frac{1}{\sqrt{6}}", "right"),
        (r"$\frac{3^{1008}-1}{3^{1009}}$", "1/3", "wrong"),
        ("\x0crac{36}{13}", r"\frac{36}{13}", "right"),  # a backslash that a string literal ate
        (r"$\boxed{\frac{16}{7}}$", "16/7", "right"),
        (r"96\pi+120", r"24(4\pi+5)", "right"),
        (r"3\sqrt{2}", "3√2", "right"),
        (r"4\pi", "4π", "right"),
        ("2^{10}", "1024", "right"),
        # value sides
        ("5", "x = 5", "right"),
        ("5", "5 = x", "right"),
        ("180", r"m\angle J+m\angle H =180^\circ", "right"),
        ("x = 5", "5", "right"),
        ("y=2x+1", "2x+1", "right"),
        ("2x+3y=6", "3y+2x=6", "right"),
        ("2x+3y=6", "3y+2x=7", "wrong"),
        # lists
        ("1, 2, 3", "1, 2", "wrong"),
        ("1, 1, 2", "1, 2, 2", "wrong"),
        (r"\frac{1}{2}, 3", "3 and 0.5", "right"),
        ("2, -2", r"\pm 2", "right"),
        ("x=1, y=2", "1, 2", "right"),
        ("(3,-4)", "(3, -4)", "right"),
        ("(3,-4)", "3, -4", "wrong"),
        ("[1,2)", "[1,2]", "wrong"),
        ("1:2", r"\frac{1}{2}", "right"),
        # words
        ("C", "(C)", "right"),
        ("C", "c", "wrong"),  # a capital alone is a name
        ("Sunday", "sunday.", "right"),
        ("and", "dna", "wrong"),  # as products of variables they are equal
        ("60", "Sunday", "wrong"),
        ("not enough information", "Not enough information", "right"),
    ],
)
def test_equality(gold: str, reply: str, verdict: str) -> None:
    mark = mark_expression(read_expression(reply, extracted=True), ExpressionGold(value=gold))
    assert mark.verdict == verdict, mark


@pytest.mark.parametrize(
    ("reply", "value", "explicit"),
    [
        (r"\boxed{5}", "5", True),
        (r"x=\boxed{1} or x=\boxed{2}", "1, 2", True),
        (r"\boxed{\frac{1}{2}", r"\frac{1}{2}", False),  # cut
        (r"\boxed{3}. Let me check: \boxed{4", "3", True),  # the closed one
        (r"Put it in \boxed{answer}. Answer: 7", "7", True),
        ("Answer: 7\n\nThat is all.", "7", True),
        ("The answer is 4/3.", "4/3", True),
        ("The answer is $25\\pi$ because the radius is 5.", "25\\pi", True),
        ("答案：12", "12", True),
        ("<think>\\boxed{1}</think>\\boxed{2}", "2", True),
        (r"The area is \(\pi r^2 = 25\pi\).", r"25\pi", False),
        ("There are 3 + 4 = 7 of them", "7 of them", False),
        ("One juice costs 1 Euro.", "1", False),
        ("60", "60", False),
        ("8 + 2 sqrt(2)", "8 + 2 sqrt(2)", False),
        ("", None, False),
        ("I can't see the picture.", None, False),
        ("It is one of 3 or 4 of the 5.", None, False),
    ],
)
def test_reading(reply: str, value: str | None, explicit: bool) -> None:
    reading = read_expression(reply)
    assert (reading.value, reading.explicit) == (value, explicit), reading


def test_extracted_text_is_taken_as_it_is() -> None:
    reading = read_expression(" the answer is 5 ", extracted=True)
    assert (reading.value, reading.rule) == ("the answer is 5", "extracted")
    assert read_expression("  ", extracted=True).value is None


def test_an_unreadable_gold_is_unmarkable_not_wrong() -> None:
    mark = graded(r"\foo{x}", r"\boxed{2x}")
    assert mark.verdict == "unmarkable"
    assert mark.reason


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "9^{9^9}",
            "9^{9^{9^9}}",
            "2^{99999999}x",
            "99999999!",
            "(" * 500 + "x",
            "x" * 5_000 + "^2",
            "1" * 5_000 + "x",
        ),
        *(r"\frac{" * 200, r"\begin{array}{c}1\\2\end{array}", "{{{{", "}}}}", r"\boxed{", "\x00x", "__import__('os')"),
        *(
            "_" * 1_900 + "!",
            "a_" * 900 + "!",
            "x_{a" * 400,
            "." * 100_000 + "x",
            "\\text{ " * 50_000,
            " " * 100_000 + "x",
        ),
        *("x+" * 400 + "x", r"\text{" * 50, ",,,,", "=", r"\pm", r"\approx", "$$$", "x=", "1=2=3="),
    ],
)
def test_hostile_answers_are_wrong_or_unanswered_at_once(answer: str) -> None:
    mark = mark_expression(read_expression(answer, extracted=True), ExpressionGold(value=r"2x+\frac{1}{2}"))
    assert mark.verdict == "wrong", mark


@given(st.text(alphabet="0123456789.,xab+-=/^_{}()[]\\$% \n", max_size=40))
def test_anything_is_equal_to_itself(text: str) -> None:
    reading = read_expression(text, extracted=True)
    if reading.value is not None:
        assert mark_expression(reading, ExpressionGold(value=text)).verdict == "right"


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=99))
def test_spellings_of_a_fraction(value: object) -> None:
    top, _, bottom = str(value).partition("/")
    latex = rf"\frac{{{top}}}{{{bottom or '1'}}}"
    assert graded(latex, rf"Thus \(\boxed{{{value}}}\).").verdict == "right"
    assert graded(latex, rf"Thus \(\boxed{{{value}+1}}\).").verdict == "wrong"


@given(st.text(max_size=80))
def test_reading_never_raises(text: str) -> None:
    read_expression(text)
    read_expression(rf"The answer is \boxed{{{text}")
