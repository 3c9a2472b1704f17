"""Plain arithmetic: values worked out by hand, everything else has none."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.arithmetic import MAX_BITS, MAX_CHARS, MAX_DEPTH, as_float, evaluate


@pytest.mark.parametrize(
    ("latex", "value"),
    [
        ("61", Fraction(61)),
        ("-3.50", Fraction(-7, 2)),
        (".5", Fraction(1, 2)),
        ("8.", Fraction(8)),
        ("1 + 2*3", Fraction(7)),
        (r"2 \cdot 3 - 4 \times 5", Fraction(-14)),
        ("10/4/5", Fraction(1, 2)),  # from left to right
        ("3: 2", Fraction(3, 2)),  # a ratio
        ("1:1", Fraction(1)),
        (r"\frac{1}{6}", Fraction(1, 6)),
        (r"\frac12", Fraction(1, 2)),
        (r"\frac{360}7", Fraction(360, 7)),
        (r"\dfrac{3}{4}", Fraction(3, 4)),
        (r"6\frac{1}{4}", Fraction(25, 4)),
        ("1 1/4", Fraction(5, 4)),
        ("-1 1/4", Fraction(-5, 4)),
        ("2^10", Fraction(1024)),
        ("2^{10}", Fraction(1024)),
        ("-2^2", Fraction(-4)),
        ("2^{-1}", Fraction(1, 2)),
        ("4^{0.5}", 2.0),
        (r"\sqrt{9}", Fraction(3)),
        (r"\sqrt{\frac{4}{9}}", Fraction(2, 3)),
        (r"\sqrt[3]{8}", Fraction(2)),
        (r"\sqrt[3]{-8}", Fraction(-2)),
        (r"\sqrt2", math.sqrt(2)),
        (r"2\sqrt{3}", 2 * math.sqrt(3)),
        (r"2\frac{\sqrt{3}}{3}", 2 * math.sqrt(3) / 3),  # a product: no integers in the fraction
        (r"4 \pi", 4 * math.pi),
        (r"(\sqrt{2}-1)^{2}", (math.sqrt(2) - 1) ** 2),
        (r"\left(2+3\right)4", Fraction(20)),
        (r"$\displaystyle \frac{3}{4}$", Fraction(3, 4)),
        (r"\sin(0)", 0.0),
        # (3^1008 - 1)/3^1009 is exact here; as floats both powers overflow.
        (r"\frac{3^{1008}-1}{3^{1009}}", Fraction(3**1008 - 1, 3**1009)),
    ],
)
def test_value(latex: str, value: Fraction | float) -> None:
    found = evaluate(latex)
    assert type(found) is type(value)
    assert found == pytest.approx(value, rel=1e-15) if isinstance(value, float) else found == value


@pytest.mark.parametrize(
    "latex",
    [
        *(
            "",
            " ",
            "-",
            "x",
            "2x",
            "1,000",
            "(1,2)",
            "5 cm",
            "50%",
            r"5\%",
            "1e9",
            r"\foo",
            r"\frac",
            r"\frac{1}",
            "^2",
        ),
        *("3 4", "1 2/x", "(1", "1)", "[1)", "1+", "*2", "2**3", "!", "5!", r"-\!2", r"25\pi\)", r"\tan^{-1}(1)"),
        *("1/0", "0^{-1}", r"\sqrt{-1}", "(-8)^{0.5}", r"\ln(0)", r"\sqrt[0]{2}", r"\sqrt[1.5]{2}"),
        *("²", "٣", "½", "−1", "π", "１２", "\x00", "__import__('os')", "().__class__"),
        *("9^9^9", "9^{9^{9^9}}", "(9^9999)^9999", r"\frac{1}{9^{99999}}", "2.5^{99999}", "1" * (MAX_CHARS + 1)),
        *("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1), "{" * 300, r"\sqrt{" * 60, r"\frac" * 70, "-" * 399),
    ],
)
def test_no_value(latex: str) -> None:
    assert evaluate(latex) is None


def test_limits_are_where_they_say() -> None:
    assert evaluate("(" * (MAX_DEPTH - 1) + "1" + ")" * (MAX_DEPTH - 1)) == 1
    assert evaluate(f"2^{{{MAX_BITS // 2}}}") == 2 ** (MAX_BITS // 2)
    assert evaluate(f"2^{{{MAX_BITS}}}") is None
    assert evaluate("1" * MAX_CHARS) == int("1" * MAX_CHARS)


def test_float_beyond_the_range() -> None:
    assert as_float(Fraction(10**400)) is None
    assert as_float(Fraction(1, 3)) == 1 / 3
    assert as_float(math.inf) is None


sums = st.recursive(
    st.integers(0, 999).map(lambda n: (str(n), Fraction(n))),
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(
        lambda t: (
            f"({t[1][0]}){t[0]}({t[2][0]})",
            {"+": t[1][1] + t[2][1], "-": t[1][1] - t[2][1], "*": t[1][1] * t[2][1]}[t[0]],
        )
    ),
    max_leaves=8,
)


@given(sums)
def test_generated_sums(case: tuple[str, Fraction]) -> None:
    text, value = case
    assert evaluate(text) == value


@given(st.text(alphabet="0123456789.+-*/:^(){}[]\\ ,frac sqrtpi$", max_size=60))
def test_hostile_text_has_a_value_or_none_and_never_raises(text: str) -> None:
    value = evaluate(text)
    assert value is None or isinstance(value, Fraction | float)


@pytest.mark.timeout(30)
def test_the_worst_texts_of_the_length_come_to_an_end() -> None:
    for text in ("9^9" * 133, "(9^999)*" * 49 + "1", r"\sqrt{9^{6000}}" * 20, "1/3+" * 99 + "1", r"\frac" * 80):
        value = evaluate(text)
        assert value is None or isinstance(value, Fraction | float)
