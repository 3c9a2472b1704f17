"""Critiques as JSON objects: what is written is read, and nothing makes the reader raise."""

from hypothesis import given
from hypothesis import strategies as st

from assay.solve.critique_format import Written, WrittenStep
from assay.solve.records import Unjudged
from assay.solve.structured import parse, render
from assay.types import Finish

STEPS = st.builds(
    WrittenStep,
    correct=st.booleans(),
    intent=st.text(max_size=20),
    image=st.text(max_size=20),
    image_correct=st.booleans(),
    logic=st.sampled_from(['"judgement": "Correct"', '\\"judgement\\":', "follows", '"']),
    logic_correct=st.booleans(),
)


@given(st.lists(STEPS, min_size=1, max_size=5), st.text(max_size=40))
def test_what_is_written_is_read(steps: list[WrittenStep], correction: str) -> None:
    found = parse(render(Written(steps=tuple(steps), correction=f"It is 3. {correction}")), len(steps))
    assert isinstance(found, Written)
    for read, step in zip(found.steps, steps, strict=True):
        for field in ("correct", "intent", "image", "image_correct", "logic", "logic_correct"):
            assert getattr(read, field) == getattr(step, field), field
    wrong = any(not step.correct for step in steps)
    assert found.correction == (f"It is 3. {correction}".strip() if wrong else None)


@given(st.lists(STEPS, min_size=1, max_size=5))
def test_places_are_before_the_words(steps: list[WrittenStep]) -> None:
    text = render(Written(steps=tuple(steps)))
    found = parse(text, len(steps))
    assert isinstance(found, Written)
    for step in found.steps:
        labels = {"image": step.image_correct, "logic": step.logic_correct, "judgement": step.correct}
        assert set(step.places) == set(labels)
        for field, place in step.places.items():
            assert text[place:].startswith('"Correct"' if labels[field] else '"Incorrect"')


@given(st.text(max_size=200), st.integers(1, 4), st.sampled_from(("stop", "length", "filter", "other")))
def test_never_raises(text: str, count: int, finish: Finish) -> None:
    assert isinstance(parse(text, count, finish=finish), Unjudged)


def test_a_lone_surrogate_is_no_critique() -> None:
    assert isinstance(parse("\ud800", 1), Unjudged)
