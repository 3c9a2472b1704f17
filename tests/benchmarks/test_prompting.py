"""Filling in prompt files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks.prompting import fill, hash_prompts


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("Q: {q}\n", {"q": "why?"}, "Q: why?"),
        ("Caption: {c}\nQ: {q}", {"q": "why?"}, "Q: why?"),
        ("Caption: {c}\nQ: {q}", {"q": "why?", "c": ""}, "Q: why?"),
        ("{a} {b}\nend", {"a": "x"}, "end"),  # one value of two is missing
        ("{a}-{a}", {"a": "x"}, "x-x"),
        ("{a}", {"a": "{b}", "b": "no"}, "{b}"),  # a value is not looked at again
        ("\\boxed{A} {A}", {}, "\\boxed{A} {A}"),  # not a placeholder's name
        ("one\n\ntwo", {}, "one\n\ntwo"),
    ],
)
def test_fill(template: str, values: dict[str, str], expected: str) -> None:
    assert fill(template, values) == expected


@given(st.text(min_size=1))
def test_values_arrive_as_they_are(value: str) -> None:
    assert fill("a {x} b", {"x": value}) == f"a {value} b"


def test_the_hash_depends_on_names_and_texts_but_not_on_their_order() -> None:
    texts = {"a": "1", "b": "2"}
    assert hash_prompts(texts) == hash_prompts({"b": "2", "a": "1"})
    others = [{"a": "1", "b": "3"}, {"a": "1", "c": "2"}, {"a": "1"}, {"a": "1\x00b", "": "2"}, {"a": "2", "b": "1"}]
    assert len({hash_prompts(texts), *map(hash_prompts, others)}) == 6
