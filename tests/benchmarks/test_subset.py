"""Parts of a data set by facet, and data sets joined."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Dataset, Source
from assay.benchmarks.subset import join, parse_where, subset
from assay.errors import UsageError
from support.command import PACKAGED

HERE = Path(__file__).parent


@pytest.fixture
def dynamath() -> Dataset:
    """Two variants each of three seeds: 25 (multiple choice, arithmetic), 26 (float), 58 (text)."""
    return load_benchmark("dynamath").open(Source(data=PACKAGED / "dynamath"))


def ids(dataset: Dataset) -> list[str]:
    return [sample.id for sample in dataset]


def test_no_condition_is_the_data_itself(dynamath: Dataset) -> None:
    assert subset(dynamath, ()) is dynamath


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("variant=2",), ["v2_q25", "v2_q26", "v2_q58"]),
        (("variant=2", "variant=1"), ["v1_q25", "v2_q25", "v1_q26", "v2_q26", "v1_q58", "v2_q58"]),
        (("variant=2", "question_type=float"), ["v2_q26"]),
        ((" variant = 2 ", "question_type=float", "question_type=text"), ["v2_q26", "v2_q58"]),
    ],
)
def test_alternatives_on_one_facet_and_all_facets_together(
    dynamath: Dataset, where: tuple[str, ...], expected: list[str]
) -> None:
    part = subset(dynamath, where)
    assert ids(part) == ids(part) == expected
    assert len(part) == len(expected)
    assert part.revision == dynamath.revision
    assert part.facts[0] == f"Only samples where {' and '.join(parse_where(where))}: {len(expected)} of 6."


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("topic=algebra", "no facet 'topic'. Choose one of: level, question_type, subject, variant"),
        ("variant=3", "no sample has variant=3. There is 1, 2."),
        ("variant", "is no condition. Write FACET=VALUE"),
        ("=2", "is no condition"),
        ("variant= ", "is no condition"),
    ],
)
def test_what_no_sample_meets(dynamath: Dataset, where: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        subset(dynamath, (where,))
    assert message in str(caught.value)


def test_conditions_that_exclude_each_other(dynamath: Dataset) -> None:
    (seed,) = {sample.facets["subject"][0] for sample in dynamath if sample.group == "q26"}
    with pytest.raises(UsageError, match="no sample meets all conditions together"):
        subset(dynamath, (f"subject={seed}", "question_type=text"))


@given(st.lists(st.sampled_from(["a=1", "b=2", "a=2", " a = 1"])))
def test_order_and_repetition_of_conditions_do_not_matter(where: list[str]) -> None:
    assert parse_where(where) == parse_where([*reversed(where), *where])
    assert parse_where(parse_where(where)) == parse_where(where)


def test_a_value_may_hold_an_equals_sign() -> None:
    assert parse_where(["formula=y = x"]) == ("formula=y = x",)


def test_joined_samples_come_once(dynamath: Dataset) -> None:
    first = subset(dynamath, ("variant=1",))
    joined = join(first, dynamath, "{added} more.")
    assert ids(joined) == ["v1_q25", "v1_q26", "v1_q58", "v2_q25", "v2_q26", "v2_q58"]
    assert len(joined) == 6
    assert joined.facts[-1] == "3 more."
    assert join(dynamath, first, "{added} more.") is dynamath
