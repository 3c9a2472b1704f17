"""Reading and marking numbers: every row is a reply, the item's gold and unit, and a careful reader's verdict."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.magnitude import parse_unit
from assay.mark.number import mark_number, parse_tolerance, read_number
from assay.mark.numeral import MAX_DIGITS, parse_digits
from assay.types import Mark, NumberGold


def mark(reply: str, value: str, unit: str | None = None, tolerance: str | None = None) -> Mark:
    return mark_number(read_number(reply, unit=unit), NumberGold(value=value, unit=unit, tolerance=tolerance))


def number(text: str, *, accounting: bool = True, decimal_comma: bool = False) -> Decimal | str:
    """The number in a text that is an answer, or the status where there is none."""
    reading = read_number(text, extracted=True, accounting=accounting, decimal_comma=decimal_comma)
    return reading.status if reading.value is None else reading.value


def expected(written: str) -> Decimal | str:
    return written if written.isalpha() else Decimal(written)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # plain
        ("12.5", "12.5"),
        ("12.5.", "12.5"),
        ("12.", "12"),
        (".5", "0.5"),
        ("007", "7"),
        ("-0.0", "-0.0"),
        ("１２．５", "12.5"),
        ("٣", "3"),
        # signs
        ("-5", "-5"),
        ("−5", "-5"),
        ("–5", "-5"),
        ("+5", "5"),
        ("- 5", "-5"),
        ("minus 5", "-5"),
        ("negative 5", "-5"),
        ("负5", "-5"),
        ("(-5)", "-5"),
        ("decreased by 5", "5"),  # the sign as written
        ("fell 5", "5"),
        # accounting
        ("(5)", "-5"),
        ("($5)", "-5"),
        ("$(5)", "-5"),
        ("(1,234.5)", "-1234.5"),
        ("approximately (5)", "-5"),
        ("5 (five)", "5"),
        ("(5) of (7)", "5"),
        # separators
        ("1,234", "1234"),
        ("1,234,567.8", "1234567.8"),
        ("12,34,567", "1234567"),
        ("1 234 567", "1234567"),
        ("1\u2009234", "1234"),
        ("1\u00a0234", "1234"),
        ("1'234", "1234"),
        ("1’234", "1234"),
        ("1{,}234", "1234"),
        ("1\\,234", "1234"),
        # European decimals, only where they can be nothing else
        ("1.234,5", "1234.5"),
        ("1.234.567", "1234567"),
        ("1.234.567,8", "1234567.8"),
        ("0,75", "0.75"),
        ("3,14", "3.14"),
        ("12,5", "12.5"),
        ("1.234", "1.234"),
        # exponents
        ("3.5e6", "3500000"),
        ("3.5E+6", "3500000"),
        ("3.5e-2", "0.035"),
        ("1.2 \\times 10^9", "1200000000"),
        ("$1.2 \\times 10^{9}$", "1200000000"),
        ("1.2×10⁹", "1200000000"),
        ("1.2 x 10^9", "1200000000"),
        ("1.2 * 10**9", "1200000000"),
        ("1.2\\cdot10^{-2}", "0.012"),
        ("10^{9}", "1000000000"),
        # fractions
        ("1/2", "0.5"),
        ("-1/2", "-0.5"),
        ("\\frac{1}{2}", "0.5"),
        ("$\\dfrac{3}{4}$", "0.75"),
        ("\\frac12", "0.5"),
        ("½", "0.5"),
        ("1½", "1.5"),
        ("1 1/4", "1.25"),
        ("1\\frac{1}{4}", "1.25"),
        # words and decoration around it
        ("approximately 3.5", "3.5"),
        ("about 3.5", "3.5"),
        ("~3.5", "3.5"),
        ("≈3.5", "3.5"),
        ("around 3.5 or so", "3.5"),
        ("约3.5", "3.5"),
        ("**3.5**", "3.5"),
        ("$3.5$", "3.5"),
        ("`3.5`", "3.5"),
        ("3.5 INR/liter", "3.5"),
        ("$3.5", "3.5"),
        ("\\$3.5", "3.5"),
        ("US$3.5", "3.5"),
        ("-$3.5", "-3.5"),
        ("$-3.5", "-3.5"),
        ("€3.5", "3.5"),
        ("3.5 €", "3.5"),
        ("¥1,234", "1234"),
        ("Rs. 3.5", "3.5"),
        ("10m²", "10"),
        ("10 m^2", "10"),
        ("12 months", "12"),
        ("72 clips, altogether", "72"),
        ("5x", "5"),
        ("5 千克", "5"),
        ("five", "5"),
        ("twenty-one", "21"),
        ("五", "5"),
        # several numbers that are one answer
        ("x = 12", "12"),
        ("5 + 7 = 12", "12"),
        ("1/3 ≈ 0.333", "0.333"),
        ("0.5 (50%)", "0.5"),
        ("0.5 or 50%", "0.5"),
        ("12 (up from 10)", "12"),
        ("12, up from 10 in 2022", "12"),
        ("12 in 2023", "12"),
        ("2.5 (= 12.5 - 10)", "2.5"),
        ("12.5 - 10 = 2.5", "2.5"),
        ("In 2023 the value was 12.5", "12.5"),
        ("2023年为12.5", "12.5"),
        ("3.5 ± 0.1", "3.5"),
        ("2023", "2023"),
        ("in 2023", "2023"),
        # magnitudes without a unit of the item
        ("5 million", "5000000"),
        ("5M", "5000000"),
        ("5mn", "5000000"),
        ("$5m", "5000000"),
        ("5m", "5"),  # metres, as far as one can know
        ("5k", "5000"),
        ("5 thousand", "5000"),
        ("1.2bn", "1200000000"),
        ("1.2 trillion", "1200000000000"),
        ("3 lakh", "300000"),
        ("2 crore", "20000000"),
        ("5 lakh crore", "5000000000000"),
        ("12亿元", "1200000000"),
        ("3万", "30000"),
        ("2百万", "2000000"),
        ("2千万", "20000000"),
        ("2十亿", "2000000000"),
        ("2万亿", "2000000000000"),
        ("2兆", "2000000000000"),
        ("1亿2000万", "120000000"),
        ("3万5千", "35000"),
        ("(5) million", "-5000000"),
        ("12 (USD million)", "12000000"),
        ("50%", "0.5"),
        ("50\\%", "0.5"),
        ("50 percent", "0.5"),
        ("百分之50", "0.5"),
        ("5‰", "0.005"),
        ("50 bps", "0.005"),
        # a range
        ("3.5-4.0", "range"),
        ("3.5–4.0", "range"),
        ("3 to 4", "range"),
        ("between 3 and 4", "range"),
        ("2023-2024", "range"),
        ("5% - 6%", "range"),
        ("3至4", "range"),
        # no one number
        ("3.5 or 4", "ambiguous"),
        ("3, 4 and 5", "ambiguous"),
        ("5 + 7", "ambiguous"),
        ("2\\pi", "ambiguous"),
        ("3\\sqrt{2}", "ambiguous"),
        ("2^10", "ambiguous"),
        ("5:30", "ambiguous"),
        ("3:2", "ambiguous"),
        ("2023-01-15", "ambiguous"),
        ("12 Dec 2023", "ambiguous"),
        ("10/12/2023", "ambiguous"),
        ("1.2.3", "ambiguous"),
        ("1/0", "ambiguous"),
        ("1,2345", "ambiguous"),
        # nothing
        ("", "none"),
        ("N/A", "none"),
        ("nan", "none"),
        ("inf", "none"),
        ("-infinity", "none"),
        ("cannot be determined", "none"),
        ("CO2", "none"),
        ("B", "none"),
    ],
)
def test_a_number_as_written(written: str, value: str) -> None:
    assert number(written) == expected(value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1.234", "1234"),
        ("1.234,5", "1234.5"),
        ("1,5", "1.5"),
        ("1,234", "1.234"),
        ("12.5", "12.5"),
        ("1.2,3.4", "ambiguous"),
    ],
)
def test_european_numbers_on_request(written: str, value: str) -> None:
    assert number(written, decimal_comma=True) == expected(value)


def test_brackets_without_accounting() -> None:
    assert number("(5)", accounting=False) == 5
    assert number("(5)", accounting=True) == -5


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        ("Answer: 5", 5, "ok"),
        ("Answer: 3 ... wait.\nAnswer: 4", 4, "ok"),
        ("Answer: 5\n\nSo 4 bars remain in 2023.", 5, "ok"),
        ("Answer:\n5", 5, "ok"),
        ("Answer:\n-5", -5, "ok"),
        ("Answer:\n- 5", None, "ambiguous"),  # a bullet or a minus
        ("### Answer\n**5**", 5, "ok"),
        ("答案：5", 5, "ok"),
        ("\\boxed{3} no, \\boxed{4}", 4, "ok"),
        ("\\boxed{3} and \\boxed{4}", None, "ambiguous"),
        ("work\n#### -3", -3, "ok"),
        ("#### Step 1\nnothing yet", None, "none"),
        ("<think>Answer: 5</think>The answer is 6.", 6, "ok"),
        ("<think>Answer: 5", None, "none"),
        ("The answer is 25", 25, "ok"),
        ("The answer is 20 out of the total of 100.", 20, "ok"),
        # prose is passed over, a short answer without a number is not
        ("Answer: 5\n\nThe answer follows from the legend, where 3 bars are blue.", 5, "ok"),
        ("The total is 5.\nAnswer: N/A", None, "none"),
        ("Answer: this asks for the sum of all of them\nAnswer: 7", 7, "ok"),
        # replies that announce nothing
        ("5", 5, "ok"),
        ("about $5", 5, "ok"),
        ("The total is 72 clips, altogether.", 72, "ok"),
        ("First 3, then 4.\n\n7", 7, "ok"),
        ("I add them.\nThe sum of both is approximately 7.5", 7.5, "ok"),
        ("3.5-4.0", None, "range"),
        ("I see 5 and 7.", None, "none"),
        ("There were 5 bars; it rose.", None, "none"),
        ("", None, "none"),
    ],
)
def test_where_the_number_stands(reply: str, value: float | None, status: str) -> None:
    reading = read_number(reply)
    assert reading.status == status
    assert reading.value == (None if value is None else Decimal(str(value)))


@pytest.mark.parametrize(
    ("reply", "explicit"),
    [
        ("Answer: 5", True),
        ("\\boxed{5}", True),
        ("The answer is 5", True),
        ("\\boxed{5", False),
        ("5", False),
        ("The total is 5", False),
    ],
)
def test_explicit_answers_count_in_cut_replies(reply: str, explicit: bool) -> None:
    assert read_number(reply).explicit is explicit


# --------------------------------------------------------------------------------------------------------------------
# Units


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("USD billion", "1e9"),
        ("INR Mn", "1e6"),
        ("US$m", "1e6"),
        ("USDmn", "1e6"),
        ("RMB bn", "1e9"),
        ("Rs crore", "1e7"),
        ("US$ (million)", "1e6"),
        ("million tonnes", "1e6"),
        ("'000 tonnes", "1e3"),
        ("10,000 tons", "1e4"),
        ("100 million yuan", "1e8"),
        ("亿元", "1e8"),
        ("万元", "1e4"),
        ("人民币百万元", "1e6"),
        ("%", "0.01"),
        ("% YoY", "0.01"),
        ("percentage points", "0.01"),
        ("bps", "0.0001"),
        ("USD", None),
        ("USD/bbl", None),
        ("m", None),
        ("km", None),
        ("kg", None),
        ("GWh", None),
        ("x", None),
        ("年", None),
        ("index (2010=100)", None),
        ("", None),
        (None, None),
    ],
)
def test_scale_of_a_unit(unit: str | None, factor: str | None) -> None:
    assert parse_unit(unit).factor == (None if factor is None else Decimal(factor))


@pytest.mark.parametrize(
    ("reply", "value", "unit"),
    [
        # the answer's scale against the item's
        ("Answer: 1.2 billion", "1.2", "USD billion"),
        ("Answer: $1.2bn", "1.2", "USD billion"),
        ("Answer: US$ 1.2 bn", "1.2", "USD billion"),
        ("Answer: 1,200 million", "1.2", "USD billion"),
        ("Answer: 1.2", "1.2", "USD billion"),
        ("Answer: USD 1.2", "1.2", "USD billion"),
        ("Answer: 5,500 INR Mn", "5500", "INR Mn"),
        ("Answer: 5m", "5", "USD m"),
        ("Answer: 120 lakh", "1.2", "crore"),
        ("Answer: 2000万元", "0.2", "亿元"),
        ("Answer: 12亿元", "12", "亿元"),
        ("Answer: 1.5 万亿", "1.5", "trillion"),
        ("Answer: 5%", "5", "%"),
        ("Answer: 5", "5", "%"),
        ("Answer: 5 percentage points", "5", "%"),
        ("Answer: 5pp", "5", "%"),
        ("Answer: 50 bps", "0.5", "%"),
        ("Answer: 0.5%", "50", "bps"),
        ("Answer: (5%)", "-5", "%"),
        ("\\boxed{12.5}%", "12.5", "%"),
        ("\\boxed{12.5}\\%", "12.5", "%"),
        ("$\\boxed{1.2}$ billion", "1.2", "USD billion"),
        ("Answer: 300 K", "300", "K"),
        ("Answer: 10m²", "10", "m²"),
        # no scale in the item's unit
        ("Answer: 12亿元", "1200000000", None),
        ("Answer: 5 million", "5000000", "USD"),
        ("Answer: 50%", "0.5", None),
        # the gold's own scale
        ("Answer: 5%", "5%", None),
        ("Answer: 5", "5%", None),
        ("Answer: 5", "5%", "%"),
        ("Answer: 1200000000", "1.2 billion", None),
        ("Answer: 1.2 billion", "1.2 billion", "USD billion"),
        ("Answer: 1.2", "1,200 million", "USD billion"),
        ("Answer: 1234.5", "1.234,5", None),
        ("Answer: 1234", "1,234", None),
    ],
)
def test_right_in_the_items_unit(reply: str, value: str, unit: str | None) -> None:
    assert mark(reply, value, unit).verdict == "right"


@pytest.mark.parametrize(
    ("reply", "value", "unit"),
    [
        ("Answer: 1.2 billion", "1.2", None),
        ("Answer: 1.2 million", "1.2", "USD billion"),
        ("Answer: 1.2", "1.2 billion", None),
        ("Answer: 12亿元", "12", None),
        ("Answer: 50%", "50", None),
        ("Answer: 0.5", "50", "%"),
        ("Answer: 5%", "5", "USD billion"),
        ("Answer: 1.234", "1234", None),
        ("Answer: 3.5-4.0", "3.5", None),
        ("The answer is 25", "5", None),
        ("5", "-5", None),
        ("Answer: 14.9", "14", None),
    ],
)
def test_wrong_in_the_items_unit(reply: str, value: str, unit: str | None) -> None:
    assert mark(reply, value, unit).verdict == "wrong"


@pytest.mark.parametrize(
    ("reply", "value", "unit", "said"),
    [
        ("Answer: 50%", "0.5", None, "as a fraction"),
        ("Answer: 50%", "50", "%", "converted to the item's unit (%)"),
        ("Answer: 5%", "5%", None, "the gold's percent"),
        ("Answer: 12亿元", "12", None, "multiplied out"),
        ("Answer: 1.2 billion", "1.2", "USD billion", "'billion' converted to the item's unit (USD billion)"),
        ("Answer: 1.2", "1.2", "USD billion", "taken in the item's unit"),
        ("Answer: (5)", "-5", None, "accounting negative"),
        ("Answer: 0,75", "0.75", None, "decimal comma"),
        ("Answer: 3.5-4.0", "3.5", None, "range"),
        ("Answer: 7", "5", None, "7 is 2 off, tolerance 0"),
    ],
)
def test_the_reason_names_the_rule(reply: str, value: str, unit: str | None, said: str) -> None:
    assert said in mark(reply, value, unit).reason


# --------------------------------------------------------------------------------------------------------------------
# Tolerance


@pytest.mark.parametrize(
    ("reply", "value", "tolerance", "verdict"),
    [
        ("1.1", "1.0", "0.1", "right"),  # 1.1 - 1.0 is 0.1000...09 in binary
        ("0.9", "1.0", "0.1", "right"),
        ("1.11", "1.0", "0.1", "wrong"),
        ("1.1", "1.0", "0.10000000149011612", "right"),  # float32 of 0.1
        ("1.10000000149011612", "1.0", "0.10000000149011612", "wrong"),
        ("5", "5", None, "right"),
        ("5", "5", "NaN", "right"),
        ("5.0", "5", "", "right"),
        ("5.0001", "5", None, "wrong"),
        ("105", "100", "5.0", "right"),
        ("105.01", "100", "5.0", "wrong"),
        ("95", "100", "5", "right"),
        ("5.5%", "5", "0.5", "wrong"),  # no unit: 0.055
    ],
)
def test_tolerance_is_absolute_and_decimal(reply: str, value: str, tolerance: str | None, verdict: str) -> None:
    assert mark(reply, value, tolerance=tolerance).verdict == verdict


def test_tolerance_is_in_the_items_unit() -> None:
    assert mark("Answer: 5.5%", "5", "%", "0.5").verdict == "right"
    assert mark("Answer: 1,250 million", "1.2", "USD billion", "0.05").verdict == "right"
    assert mark("Answer: 1,251 million", "1.2", "USD billion", "0.05").verdict == "wrong"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (None, "0"),
        ("", "0"),
        ("NaN", "0"),
        ("nan", "0"),
        ("3.0", "3.0"),
        ("0.10000000149011612", "0.1"),
        ("0.05000000074505806", "0.05"),
        ("0.20000000298023224", "0.2"),
        ("0.3333333432674408", "0.33333334"),
        ("0.5", "0.5"),
        ("0.1", "0.1"),
        ("1e-3", "0.001"),
        ("0.12345678901234567", "0.12345678901234567"),  # no float32: as written
    ],
)
def test_float32_noise_is_taken_back(written: str | None, value: str) -> None:
    assert parse_tolerance(written) == Decimal(value)


@pytest.mark.parametrize("written", ["-1", "inf", "-inf", "abc", "1,5", "1e999", "9" * 100, "0x10"])
def test_what_is_no_tolerance(written: str) -> None:
    assert parse_tolerance(written) is None
    assert mark("5", "5", tolerance=written).verdict == "unmarkable"


@pytest.mark.parametrize("value", ["", "abc", "3-5", "nan", "inf", "1e999", "1 or 2"])
def test_a_gold_that_is_no_number_is_unmarkable(value: str) -> None:
    assert mark("Answer: 5", value).verdict == "unmarkable"


@pytest.mark.parametrize(
    ("reply", "status"), [("Answer: N/A", "none"), ("Answer: 3 or 4", "ambiguous"), ("no idea", "none"), ("", "none")]
)
def test_no_number_is_unanswered(reply: str, status: str) -> None:
    found = mark(reply, "5")
    assert found.verdict == "unanswered"
    assert found.reason.startswith(status)


# --------------------------------------------------------------------------------------------------------------------
# Limits


@pytest.mark.parametrize(
    "written",
    ["9" * 1_000_000, "1e999999999", "1e-999999999", "1" + "0" * 70, "0." + "1" * 70, "10^99999", "1e" + "9" * 100_000],
)
def test_numbers_without_end_are_no_numbers(written: str) -> None:
    reading = read_number(f"Answer: {written}")
    assert reading.value is None
    assert mark(f"Answer: {written}", "5").verdict == "unanswered"


def test_the_longest_numbers_are_compared_exactly() -> None:
    digits = "1" * MAX_DIGITS
    assert mark(f"Answer: {digits}", digits).verdict == "right"
    assert mark(f"Answer: {digits[:-1]}2", digits).verdict == "wrong"
    # 1e99 and 1e-99 billion need 198 + 9 digits between them.
    assert mark("Answer: 1e99 billion", "1e-99", "USD billion").verdict == "wrong"


@pytest.mark.parametrize(
    "unit",
    [
        "9",
        "1,",
        "1.",
        "1 ",
        "5-",
        "5 or ",
        "( ",
        "(",
        "approx. ",
        "about ",
        "约",
        "= 5 ",
        "\\frac{",
        "1亿",
        "10^",
        "/",
        "is ",
        " ",
        "$5",
        "-",
    ],
)
def test_long_hostile_replies_are_read_in_time(unit: str) -> None:
    # Quadratic work on 200,000 characters would run into the time limit of the suite.
    text = unit * (200_000 // len(unit))
    for reply in (text, f"Answer: {text}"):
        read_number(reply, unit="USD million")
        read_number(reply, extracted=True)


# --------------------------------------------------------------------------------------------------------------------
# Properties

decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4)


def western(value: Decimal) -> str:
    return f"{value:,f}"


def indian(value: Decimal) -> str:
    whole, _, fraction = f"{abs(value):f}".partition(".")
    groups = [whole[-3:]]
    whole = whole[:-3]
    while whole:
        groups.insert(0, whole[-2:])
        whole = whole[:-2]
    return ("-" if value < 0 else "") + ",".join(groups) + ("." + fraction if fraction else "")


RENDERINGS: tuple[Callable[[Decimal], str], ...] = (
    lambda value: f"{value:f}",
    western,
    indian,
    lambda value: western(value).replace(",", " "),
    lambda value: western(value).replace(",", "\u2009"),
    lambda value: western(value).replace(",", "'"),
    lambda value: f"{value:f}".replace("-", "−"),
    lambda value: f"{value:f}".translate(str.maketrans("0123456789.-", "０１２３４５６７８９．－")),
    lambda value: f"{value:e}",
    lambda value: f"{value / 1000:f} \\times 10^{{3}}",
    lambda value: f"{value:f}.",
    lambda value: f"({abs(value):,f})" if value < 0 else f"{value:f}",
)
WRAPPERS = ("Answer: {}", "**Answer:** {}", "\\boxed{{{}}}", "Answer: about {}", "The answer is {}", "答案：{}", "{}")


@given(decimals, st.sampled_from(RENDERINGS), st.sampled_from(WRAPPERS))
def test_every_way_of_writing_the_gold_is_right(value: Decimal, render: Callable[[Decimal], str], wrapper: str) -> None:
    reply = wrapper.format(render(value))
    assert mark(reply, f"{value:f}").verdict == "right", reply


@given(decimals, st.sampled_from(("", " million", " billion", "亿", "%", " bps", " crore")))
def test_scales_go_there_and_back(value: Decimal, scale: str) -> None:
    """A number with the item's own scale, without it, and in the smallest unit are the same answer."""
    unit = scale.strip() or None
    assert mark(f"Answer: {value:f}{scale}", f"{value:f}", unit).verdict == "right"
    assert mark(f"Answer: {value:f}", f"{value:f}", unit).verdict == "right"


@given(decimals, st.sampled_from(("\n\nThe bar of 2023 is at 7.", "\n\nI read 5 off the axis.", "\nIt is 3 above.")))
def test_prose_after_an_announced_answer_changes_nothing(value: Decimal, prose: str) -> None:
    assert read_number(f"Answer: {value:f}{prose}") == read_number(f"Answer: {value:f}")


@given(decimals, decimals, st.decimals(min_value=0, max_value=100, places=2))
def test_the_verdict_is_the_arithmetic(answer: Decimal, value: Decimal, tolerance: Decimal) -> None:
    verdict = "right" if abs(answer - value) <= tolerance else "wrong"
    assert mark(f"Answer: {answer:f}", f"{value:f}", tolerance=f"{tolerance:f}").verdict == verdict


@given(st.text(max_size=200), st.sampled_from((None, "%", "USD billion", "亿元", "m")), st.booleans())
def test_reading_any_text_raises_nothing_and_is_repeatable(text: str, unit: str | None, extracted: bool) -> None:
    first = read_number(text, unit=unit, extracted=extracted)
    assert first == read_number(text, unit=unit, extracted=extracted)
    assert (first.status == "ok") == (first.value is not None)
    assert first.value is None or first.value.is_finite()


PIECES = (
    *("1", "23", ".5", ",", ".", "-", " ", "e", "%", "/", "(", ")", "$", "10^", "million", "亿", "="),
    *("Answer: ", "\\frac{", "}", "\n"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join), st.text(max_size=12))
def test_number_like_text_raises_nothing(text: str, unit: str) -> None:
    reading = read_number(text, unit=unit)
    assert reading.value is None or reading.value.is_finite()
    mark_number(reading, NumberGold(value=text, unit=unit, tolerance=text))


@given(st.text(alphabet="0123456789.,'", max_size=20))
def test_digits_are_never_silently_something_else(digits: str) -> None:
    """A number that is read has exactly the digits that were written, in their order."""
    value, _ = parse_digits(digits) if digits[:1].isdigit() else (None, "")
    if value is not None:
        written = "".join(filter(str.isdigit, digits)).lstrip("0")
        assert "".join(filter(str.isdigit, f"{value:f}")).lstrip("0") == written


@pytest.mark.parametrize(
    ("slot", "status"),
    [
        ("sqrt(2)", "ambiguous"),
        (r"\sqrt{2}", "ambiguous"),
        ("√2", "ambiguous"),
        ("log(10)", "ambiguous"),
        ("f(3)", "ambiguous"),
        ("<5", "ambiguous"),
        ("≥ 5%", "ambiguous"),
        ("less than 5", "ambiguous"),
        ("at least 3 million", "ambiguous"),
        ("3Q22", "none"),
    ],
)
def test_a_function_a_bound_or_a_name_is_no_value(slot: str, status: str) -> None:
    reading = read_number(f"Answer: {slot}")
    assert reading.status == status
    assert reading.value is None


@pytest.mark.parametrize(
    ("slot", "value"),
    [("FY2023", "2023"), ("CY2024", "2024"), ("10m²", "10"), ("10 km2", "10"), ("(3)", "-3"), (r"\textbf{7}", "7")],
)
def test_years_units_and_markup_are_not_taken_for_names_or_functions(slot: str, value: str) -> None:
    assert read_number(f"Answer: {slot}").value == Decimal(value)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Final Answer:\nTherefore, the percentage change in sales between 2018 and 2019 is **16.36%**.", "0.1636"),
        ("Answer: Therefore, the change in the carrying amount from 2015 to 2017 is 10.4.", "10.4"),
        ("Answer: The growth between 3% and 4% of the last years was in the end about 5.", "5"),
    ],
)
def test_an_announced_sentence_answers_with_its_end(reply: str, value: str) -> None:
    """Published replies whose years were taken for a range, which is wrong where one number is asked for."""
    reading = read_number(reply)
    assert (reading.status, reading.value) == ("ok", Decimal(value))


def test_an_announced_range_stays_one() -> None:
    assert read_number("Answer: the price target of the stock for next year is from 10 to 12.").status == "range"
    assert read_number("Answer: between 10 and 12").status == "range"
