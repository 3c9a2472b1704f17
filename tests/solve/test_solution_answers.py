"""The answer of a solution without its gold, and which answers are the same."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark import symbolic
from assay.solve.answers import MAX_ANSWER, canonical, classes, equivalent, read_answer
from assay.types import ChoiceGold, NumberGold, Option, Sample

ABCD = tuple(
    Option(label=label, text=text) for label, text in zip("ABCD", ("red", "blue", "green", "grey"), strict=True)
)


def sample(kind: str = "free", options: tuple[Option, ...] = (), question: str = "What?", **context: str) -> Sample:
    return Sample(
        id="1", question=question, options=options, facets={"question_type": (kind,)}, context=context, group="1"
    )


# (solution, type of the question, answer)
CHOSEN = [
    ("So it is blue.\n\nAnswer: B", "choice", "B"),
    ("Answer: (b)", "choice", "B"),
    ("\\boxed{\\text{B}}", "choice", "B"),
    ("答案：B", "choice", "B"),
    ("Answer: blue", "choice", "B"),
    ("Answer: A and C", "choice", None),  # one is asked for
    ("Answer: purple", "choice", None),
    ("I can't tell.", "choice", None),
    ("", "choice", None),
    ("Answer: C, A", "multiple_choice", "A,C"),  # in the item's order
    ("Answer: ACD", "multiple_choice", "A,C,D"),
    ("Answer: B", "multiple_choice", "B"),
    ("<think>Answer: A</think>Answer: B", "choice", "B"),
]


@pytest.mark.parametrize(("text", "kind", "answer"), CHOSEN)
def test_options(text: str, kind: str, answer: str | None) -> None:
    assert read_answer(sample(kind, ABCD), text) == answer


# (solution, type of the question, answer)
VALUES = [
    ("Answer: 0.50", "free", "0.5"),
    ("Answer: 1/2", "free", "0.5"),
    ("\\boxed{\\frac12}", "free", "0.5"),
    ("The answer is $\\frac{1}{3}$.", "free", "1/3"),
    ("x = \\boxed{5}", "free", "5"),
    ("Answer: x = 5", "free", "5"),
    ("Answer: 1,234 cm", "free", "1234"),
    ("Answer: 1.2 billion", "free", "1200000000"),
    ("\\boxed{(1, \\frac{4}{2})}", "free", "(1, 2)"),
    ("\\boxed{3, 1}", "free", "1, 3"),
    ("\\boxed{x^2 + 1}", "free", "x^2+1"),
    ("Answer: Yes.", "free", "yes"),
    ("Answer: 50%", "free", "50%"),
    ("I don't know.", "free", None),
    ("I don’t know.", "free", None),
    ("Answer: N/A", "free", None),
    ("Answer: \\boxed{\\text{New York}}", "free", "new york"),
    ("", "free", None),
    ("Answer: 12.50 million", "numerical", "12500000"),
    ("Answer: $-3.10", "numerical", "-3.1"),
    ("Answer: (3.1)", "numerical", "-3.1"),
    ("Answer: 2^10", "numerical", "1024"),
    ("Answer: 3.5-4.0", "numerical", "3.5-4.0"),  # a range is an answer, and no difference
    ("Answer: 5 or 6", "numerical", None),
    ("So it is 12.5.", "float", "12.5"),
    ("Nothing to see", "integer", None),
]


@pytest.mark.parametrize(("text", "kind", "answer"), VALUES)
def test_values(text: str, kind: str, answer: str | None) -> None:
    assert read_answer(sample(kind), text) == answer


def test_a_number_is_in_the_items_unit() -> None:
    # 12.5 where percent is asked for is 12.5; so is 12.5 %, and 0.5 billion is 500 million.
    assert read_answer(sample("numerical", unit="%"), "Answer: 12.5%") == "12.5"
    assert read_answer(sample("numerical", unit="%"), "Answer: 12.5") == "12.5"
    assert read_answer(sample("numerical", question="How many, in millions?"), "Answer: 0.5 billion") == "500"
    assert read_answer(sample("free", question="What percentage is red?"), "\\boxed{12.5\\%}") == "12.5"


@pytest.mark.parametrize("kind", ["free", "numerical"])
def test_a_cut_solution_answers_only_in_a_slot(kind: str) -> None:
    assert read_answer(sample(kind), "Answer: 5\n\nBecause", truncated=True) == "5"
    assert read_answer(sample(kind), "Now the sum is 5", truncated=False) == "5"
    assert read_answer(sample(kind), "Now the sum is 5", truncated=True) is None
    assert read_answer(sample(kind), "It is \\boxed{5", truncated=True) is None


def test_a_cut_solution_chooses_only_in_a_slot() -> None:
    item = sample("choice", ABCD)
    assert read_answer(item, "Answer: B\n\nBecause", truncated=True) == "B"
    assert read_answer(item, "So (B)", truncated=True) is None
    assert read_answer(item, "So (B)") == "B"


def test_the_gold_is_not_looked_at() -> None:
    text = "Answer: 12.5%"
    plain = read_answer(sample("numerical"), text)
    for gold in (NumberGold(value="12.5", unit="%"), NumberGold(value="7"), ChoiceGold(labels=("A",))):
        with_gold = Sample(id="1", question="What?", gold=gold, facets={"question_type": ("numerical",)}, group="1")
        assert read_answer(with_gold, text) == plain


def test_what_is_too_long_is_no_answer() -> None:
    assert canonical("x" * (MAX_ANSWER + 1)) is None
    assert canonical("  ") is None
    assert canonical("$$") is None


# --------------------------------------------------------------------------------------------------------------------
# Numbers in one form


@given(st.integers(-(10**12), 10**12), st.integers(0, 6), st.integers(0, 3))
def test_a_decimal_has_one_form(digits: int, decimals: int, zeros: int) -> None:
    sign, text = ("-" if digits < 0 else ""), str(abs(digits)).rjust(decimals + 1, "0")
    whole, part = text[: len(text) - decimals], text[len(text) - decimals :]
    written = f"{sign}{whole}.{part}{'0' * zeros}" if part else f"{sign}{whole}"
    shortest = f"{sign}{whole}.{part}".rstrip("0").rstrip(".") if part else f"{sign}{whole}"
    shortest = "0" if digits == 0 else shortest
    assert canonical(written) == shortest
    assert canonical(shortest) == shortest


@given(st.integers(-999, 999), st.integers(1, 99), st.integers(1, 9))
def test_a_fraction_has_one_form(top: int, bottom: int, factor: int) -> None:
    assert canonical(f"\\frac{{{top}}}{{{bottom}}}") == canonical(f"{top * factor}/{bottom * factor}")


def test_huge_numbers_are_texts_too() -> None:
    assert canonical("2^{9999}") == f"{2**9999:#x}"
    assert canonical("2^{9999}/3") == f"{2**9999:#x}/0x3"


# --------------------------------------------------------------------------------------------------------------------
# Equal answers

EQUAL = [
    ("0.5", "0.5", True),
    ("1/3", "0.333", False),  # exact, as in marking
    (r"\frac{\sqrt{3}}{3}", r"1/\sqrt{3}", True),
    ("2x+2", "2(x+1)", True),
    ("x+1", "x+2", False),
    ("50%", "0.5", True),
    ("50%", "50", False),  # not known what is asked for
    ("(1, 2)", "(2, 1)", False),
    ("yes", "no", False),
    ("A", "B", False),
    ("A,C", "A", False),
    ("9^{9^{9^9}}", "3", False),
]


@pytest.mark.parametrize(("one", "other", "same"), EQUAL)
def test_equivalence_both_ways(one: str, other: str, same: bool) -> None:
    assert equivalent(one, other) is same
    assert equivalent(other, one) is same


@given(st.text(max_size=40), st.text(max_size=40))
def test_equivalence_never_fails(one: str, other: str) -> None:
    with symbolic.without_waiting():
        try:
            found = equivalent(one, other)
        except symbolic.WouldWait:
            return
    assert found in (True, False)
    if one == other:
        assert found


@given(st.text(alphabet=st.sampled_from("ABCD0123456789.,/%$\\{}()=x+-^ "), max_size=30))
def test_reading_never_fails(text: str) -> None:
    for item in (sample("free"), sample("numerical"), sample("choice", ABCD), sample("multiple_choice", ABCD)):
        found = read_answer(item, text)
        assert found is None or found


def test_classes_hold_equivalent_answers() -> None:
    answers = ["0.5", None, r"\frac{\sqrt{3}}{3}", "0.5", r"1/\sqrt{3}", "yes", None]
    assert classes(answers) == [(0, 3), (2, 4), (5,)]
    assert classes([]) == []
    assert classes([None, None]) == []


def test_classes_join_by_way_of_a_third() -> None:
    # 50 % is 0.5 by its value; 0.5 and 1/2 are one text already. Where a class is joined doesn't hang on the order.
    answers = ["50%", "0.5", "x+1", "1+x", "7"]
    expected = {frozenset({"50%", "0.5"}), frozenset({"x+1", "1+x"}), frozenset({"7"})}
    for order in permutations(answers):
        found = classes(order)
        assert {frozenset(order[place] for place in members) for members in found} == expected
        assert [members[0] for members in found] == sorted(members[0] for members in found)


@given(st.lists(st.sampled_from([None, "A", "B", "C"]), max_size=12))
def test_classes_of_labels_are_those_of_equal_texts(answers: list[str | None]) -> None:
    found = classes(answers)
    assert sorted(place for members in found for place in members) == [
        place for place, answer in enumerate(answers) if answer is not None
    ]
    assert all(len({answers[place] for place in members}) == 1 for members in found)
    assert len(found) == len(set(answers) - {None})
