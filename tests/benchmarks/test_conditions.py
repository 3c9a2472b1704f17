"""Wordings of prompts, orders of options, other pictures: what each condition changes, and what it must not."""

import dataclasses
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import assay
from assay.benchmarks import BENCHMARKS, load_benchmark
from assay.benchmarks.conditions import (
    Asked,
    Items,
    OtherPictures,
    Question,
    check_conditions,
    condition_notes,
    conditions_of,
    prompt_hash,
    repeat_note,
)
from assay.benchmarks.own import PROMPTS as OWN_PROMPTS
from assay.benchmarks.prompting import VARIANTS, load_prompt
from assay.benchmarks.shuffle import in_place, shown
from assay.errors import DataError, UsageError
from assay.types import (
    PLAIN,
    ChoiceGold,
    Condition,
    ExpressionGold,
    Failure,
    ImagePart,
    Mark,
    Marked,
    Message,
    Option,
    Outcome,
    Reply,
    Sample,
)
from support.outcomes import outcome
from support.rows import opened, picture

PROMPTS = Path(assay.__file__).parent / "benchmarks" / "prompts"
SNAPSHOT = Path(__file__).parent / "snapshots" / "variants.txt"
NAMES = sorted(BENCHMARKS)
TEMPLATES = sorted(
    {*OWN_PROMPTS.values(), *(name for benchmark in map(load_benchmark, NAMES) for name in benchmark.templates)}
)
LINES: list[dict[str, str]] = tomllib.loads((PROMPTS / "variants.toml").read_text(encoding="utf-8"))["line"]

# What a published rule reads the answer from; a wording that lost it would measure that, not the wording.
FORMS = ('"Answer: X"', "Answer: X", r"\boxed{A}", r"\boxed{7}", "Result = [[ X ]]", '"Therefore, the answer is X."')


# --------------------------------------------------------------------------------------------------------------------
# Wordings


def test_every_benchmark_has_at_least_four_wordings_beside_its_own() -> None:
    for name in NAMES:
        if name == "fincharts-lite":  # the models that it is made for know one wording
            continue
        assert len(load_benchmark(name).prompts) >= 4, name


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["own"][:40])
def test_a_wording_keeps_places_and_the_form_of_the_answer(line: dict[str, str]) -> None:
    assert set(line) == {"own", *VARIANTS}
    assert len(set(line.values())) == 1 + len(VARIANTS)
    for variant in VARIANTS:
        text = line[variant]
        assert text == text.strip()
        assert "\n" not in text
        assert Counter(re.findall(r"\{[a-z_]+\}", text)) == Counter(re.findall(r"\{[a-z_]+\}", line["own"]))
        assert [form for form in FORMS if form in text] == [form for form in FORMS if form in line["own"]]
        assert set(re.findall(r"\d+(?:\.\d+)?", text)) == set(re.findall(r"\d+(?:\.\d+)?", line["own"]))


def test_every_line_of_the_table_is_in_a_prompt_once() -> None:
    owns = [line["own"] for line in LINES]
    assert len(set(owns)) == len(owns)
    written = {line for file in PROMPTS.glob("*.txt") for line in file.read_text(encoding="utf-8").split("\n")}
    assert set(owns) <= written


# Lines that name a part of the question and give no instruction.
LABELS = {
    "Caption of the picture: {caption}",
    "Sentences about it in its source: {related_sentences}",
    "Unit of the number: {unit}",
    "Options: {letters}, as labelled in the picture",
    '{"solution": "your reasoning, step by step", "short answer": "X"}',
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_instruction_of_a_prompt_is_worded_anew(template: str) -> None:
    own = load_prompt(template).split("\n")
    for variant in VARIANTS:
        for line, other in zip(own, load_prompt(template, variant).split("\n"), strict=True):
            instruction = len(re.sub(r"\{[a-z_]+\}", "", line).split()) >= 3 and line not in LABELS
            assert (line != other) == instruction, line


@pytest.mark.parametrize("name", NAMES)
def test_a_wording_asks_the_same_question(name: str) -> None:
    benchmark, samples = opened(name)
    for sample in samples:
        pictures = [picture(number) for number in range(len(sample.images))]
        own = benchmark.messages(sample, pictures)
        texts = {text_of(own)}
        assert benchmark.messages(sample, pictures, prompt="") == own
        for variant in benchmark.prompts:
            messages = benchmark.messages(sample, pictures, prompt=variant)
            parts = [part for message in messages for part in message.parts]
            assert [part for part in parts if isinstance(part, ImagePart)] == pictures
            assert [message.role for message in messages] == [message.role for message in own]
            text = text_of(messages)
            texts.add(text)
            # What is not an instruction stands in both, unchanged.
            assert set(text_of(own).split("\n")) & set(text.split("\n"))
            assert messages == benchmark.messages(replace(sample, gold=None), pictures, prompt=variant)
        assert len(texts) == 1 + len(benchmark.prompts)


def text_of(messages: Sequence[Message]) -> str:
    return "\n".join(part.text for message in messages for part in message.parts if not isinstance(part, ImagePart))


def test_all_wordings_are_as_they_were() -> None:
    """Exact prompts: a change here is a change of scores, and is named in the changelog."""
    texts = [
        f"=== {template}, {variant}\n{load_prompt(template, variant)}" for template in TEMPLATES for variant in VARIANTS
    ]
    assert "".join(texts) == SNAPSHOT.read_text(encoding="utf-8")


def test_the_hash_covers_the_wordings_that_are_used() -> None:
    benchmark = load_benchmark("mathvision")
    own = benchmark.prompt_hash()
    assert prompt_hash(benchmark, [PLAIN, Condition(repeat=1), Condition(shuffle=2)]) == own
    hashes = [
        prompt_hash(benchmark, [PLAIN, *(Condition(prompt=name) for name in names)])
        for names in (("a",), ("b",), ("a", "b"), ("b", "a"), ("c",))
    ]
    assert hashes[2] == hashes[3]
    assert len({own, *hashes}) == 5
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in hashes)


# --------------------------------------------------------------------------------------------------------------------
# Plans


def test_each_condition_differs_from_the_plain_one_in_one_thing() -> None:
    benchmark = load_benchmark("finmme")
    conditions = conditions_of(benchmark, repeats=3, prompts=True, shuffles=2, no_image=True, other_image=True)
    assert [condition.name for condition in conditions] == [
        *("", "repeat=1", "repeat=2", "prompt=a", "prompt=b", "prompt=c", "prompt=d"),
        *("shuffle=1", "shuffle=2", "picture=none", "picture=other"),
    ]
    assert conditions_of(benchmark) == (PLAIN,)
    assert check_conditions(benchmark, ()) == (PLAIN,)
    assert check_conditions(benchmark, conditions) == conditions


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ((Condition(repeat=1),), "plain condition is missing"),
        ((PLAIN, PLAIN), "occurs twice"),
        ((PLAIN, Condition(prompt="z")), "no prompt 'z'"),
        ((PLAIN, Condition(repeat=-1)), "counted from 0"),
        ((PLAIN, Condition(shuffle=-2)), "counted from 0"),
    ],
)
def test_plans_that_can_not_be_asked_are_refused(conditions: tuple[Condition, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_conditions(load_benchmark("finmme"), conditions)


def test_wordings_of_a_benchmark_without_any_are_refused() -> None:
    finmme = load_benchmark("finmme")
    with pytest.raises(UsageError, match="have no variants"):
        conditions_of(dataclasses.replace(finmme, templates=()), prompts=True)


@pytest.mark.parametrize(
    ("names", "temperature", "notes"), [((), 0.0, 0), (("", "prompt=a"), 0.0, 0), (("", "repeat=1"), 0.0, 1),
                                        (("", "repeat=1"), 0.7, 0)],
)  # fmt: skip
def test_repeats_at_temperature_0_are_explained(names: tuple[str, ...], temperature: float, notes: int) -> None:
    assert len(repeat_note(names, temperature)) == notes


# --------------------------------------------------------------------------------------------------------------------
# Samples x conditions


@dataclasses.dataclass(frozen=True)
class Rows:
    samples: tuple[Sample, ...]
    split: str = "test"
    revision: str = "r"
    facts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)


TEXTS = ("apple", "pear", "plum", "fig")


def sample(
    number: int = 0,
    texts: Sequence[str] = TEXTS,
    *,
    gold: Sequence[str] = ("B",),
    images: tuple[str, ...] = ("one.png",),
    question: str = "Which?",
) -> Sample:
    return Sample(
        id=f"q{number}",
        question=question,
        images=images,
        options=tuple(Option(label=label, text=text) for label, text in zip("ABCDEFGHIJ", texts, strict=False)),
        gold=ChoiceGold(labels=tuple(gold)) if texts else ExpressionGold(value="7"),
        group=f"q{number}",
    )


def test_all_conditions_of_a_sample_stand_together() -> None:
    rows = Rows((sample(0), sample(1, texts=()), sample(2, images=())))
    conditions = (PLAIN, Condition(repeat=1), Condition(shuffle=1), Condition(picture="none"))
    items = Items(rows, conditions)
    assert [item.id for item in items] == [
        *("q0", "q0 [repeat=1]", "q0 [shuffle=1]", "q0 [picture=none]"),
        *("q1", "q1 [repeat=1]", "q1 [picture=none]"),  # no options to move
        *("q2", "q2 [repeat=1]", "q2 [shuffle=1]"),  # no picture to take away
    ]
    assert len(items) == 10
    assert len(Items(rows, conditions, limit=1)) == len(list(Items(rows, conditions, limit=1))) == 4
    assert len(Items(rows, (PLAIN,), limit=2)) == 2
    assert len(Items(rows, (PLAIN,), limit=9)) == 3


def test_an_id_that_ends_like_a_condition_is_refused() -> None:
    odd = replace(sample(0), id="q0 [repeat=1]")
    assert [item.id for item in Items(Rows((odd,)), (PLAIN,))] == ["q0 [repeat=1]"]
    with pytest.raises(DataError, match="ends like a condition"):
        list(Items(Rows((sample(0), odd)), (PLAIN, Condition(repeat=1))))


def test_what_is_not_asked_is_said() -> None:
    rows = Rows((sample(0), sample(1, texts=()), sample(2, images=()), sample(3)))
    outcomes = [outcome(name, "right") for name in ("q0", "q1", "q2")]
    notes = condition_notes(rows, ("", "shuffle=1", "picture=none"), outcomes)
    assert [note[:6] for note in notes] == ["1 of 3", "1 of 3"]
    assert condition_notes(rows, ("", "repeat=1"), outcomes) == ()


# --------------------------------------------------------------------------------------------------------------------
# Orders of the options


@given(st.integers(2, 10), st.integers(1, 30), st.integers(0, 2**31), st.data())
def test_an_order_moves_texts_and_gold_and_nothing_else(
    count: int, shuffle: int, seed: int, data: st.DataObject
) -> None:
    labels = "ABCDEFGHIJ"[:count]
    gold = data.draw(st.sets(st.sampled_from(labels), min_size=1))
    plain = sample(3, [f"text {label.lower()}{label.lower()}" for label in labels], gold=sorted(gold))
    view = shown(plain, shuffle, seed)
    moved = view.sample
    assert [option.label for option in moved.options] == list(labels)
    assert sorted(option.text for option in moved.options) == sorted(option.text for option in plain.options)
    assert isinstance(moved.gold, ChoiceGold)
    text = {option.label: option.text for option in plain.options}
    assert {text[label] for label in gold} == {
        option.text for option in moved.options if option.label in moved.gold.labels
    }
    assert replace(moved, options=plain.options, gold=plain.gold) == plain
    # What a reply says about the shown labels comes back in the data's.
    said = Mark(verdict="right", extraction=",".join(moved.gold.labels))
    back = view.original(Marked(reference=said, robust=said))
    assert isinstance(back, Marked)
    assert back.robust.extraction == ",".join(sorted(gold))
    assert shown(plain, shuffle, seed) == view


@given(st.integers(2, 10), st.integers(0, 3), st.integers(0, 2**31))
def test_over_as_many_orders_as_options_each_stands_once_in_each_place(count: int, turns: int, seed: int) -> None:
    plain = sample(1, [f"text {number}" for number in range(count)])
    orders = [shown(plain, turns * count + order, seed).labels for order in range(1, count + 1)]
    for place in range(count):
        assert len({labels[place] for labels in orders}) == count


def test_in_one_order_every_place_is_as_likely_for_every_option() -> None:
    seen = Counter(shown(sample(number), 1, 0).labels for number in range(4800))
    assert len(seen) == 24
    # 200 +- 13.8 each; five standard deviations.
    assert all(abs(count - 200) < 70 for count in seen.values())
    assert shown(sample(0), 1, 0).labels != shown(sample(0), 1, 1).labels or shown(sample(1), 1, 0) != shown(
        sample(1), 1, 1
    )


@pytest.mark.parametrize(
    ("extraction", "original"),
    [("A", "C"), ("A,B", "A,C"), ("B,A", "A,C"), ("pear", "pear"), ("", ""), ("A,Z", "A,Z"), (None, None)],
)
def test_extractions_are_named_in_the_datas_labels(extraction: str | None, original: str | None) -> None:
    plain = sample(0, ("apple", "pear", "plum"))
    shuffle, seed = next(
        (shuffle, seed)
        for seed in range(100)
        for shuffle in range(1, 4)
        if shown(plain, shuffle, seed).labels == ("C", "A", "B")
    )
    said = Mark(verdict="wrong", extraction=extraction)
    back = shown(plain, shuffle, seed).original(Marked(reference=said, robust=said))
    assert isinstance(back, Marked)
    assert back.reference.extraction == back.robust.extraction == original


def test_failures_stay_failures() -> None:
    failure = Failure(stage="call", kind="timeout", message="no reply")
    assert shown(sample(), 1, 0).original(failure) is failure


@pytest.mark.parametrize(
    "last",
    [
        "none of the above", "None of these", "All of the above", "both of the above", "any of the above",
        "all the above", "Both A and B", "A and B", "B or C only", "A, C", "(A) and (C)", "neither A nor B",
        "Options A and C", "answer B", "pear", "Plum",
        "以上都不对", "上述两项", "A和B", "", "D", "(D)", "$C$",
    ],
)  # fmt: skip
def test_options_about_other_options_stay_in_place(last: str) -> None:
    assert in_place(sample(0, ("apple", "pear", "plum", last))) is not None


@pytest.mark.parametrize(
    "last",
    [
        "above 5%", "below the average of 2019", "5%以上", "No correct answer", "None", "all of the companies",
        "Vitamin B", "A rise and a decline", "Class A shares", "both rose", "$a+b$", "a horse", "the answer is unclear",
    ],
)  # fmt: skip
def test_options_that_only_sound_so_may_move(last: str) -> None:
    assert in_place(sample(0, ("apple", "pear", "plum", last))) is None


def test_questions_that_hold_their_options_or_name_one_stay_in_place() -> None:
    assert in_place(sample(0, question="Which? A. apple B. pear C. plum D. fig")) is not None
    assert in_place(sample(0, question="Why is option B right?")) is not None
    assert in_place(sample(0, question="Which of apple and pear?")) is None
    assert in_place(sample(0, ("apple",))) is not None
    assert in_place(replace(sample(0), gold=None)) is not None
    assert in_place(sample(0, ())) is not None


@pytest.mark.parametrize("name", NAMES)
def test_gold_is_right_in_any_order_and_the_prompt_shows_the_order(name: str) -> None:
    benchmark, samples = opened(name)
    for row in samples:
        if in_place(row) is not None:
            continue
        plain_texts = {text_of(benchmark.messages(row, ()))}
        for order in range(1, len(row.options) + 1):
            asked = Asked(sample=row, condition=Condition(shuffle=order))
            question = Question(benchmark, asked, seed=1)
            result = benchmark.mark(question.sample, Reply(text=benchmark.gold_reply(question.sample)))
            line = question.outcome(result)
            assert isinstance(line.result, Marked)
            assert line.result.robust.verdict == "right"
            assert isinstance(row.gold, ChoiceGold)
            assert line.result.robust.extraction == ",".join(row.gold.labels)
            assert line.detail["gold"] == ",".join(row.gold.labels)
            plain_texts.add(text_of(question.messages(())))
        assert len(plain_texts) >= len(row.options)


# --------------------------------------------------------------------------------------------------------------------
# Pictures


@pytest.mark.parametrize("name", NAMES)
def test_without_pictures_the_text_stays_word_for_word(name: str) -> None:
    benchmark, samples = opened(name)
    for row in samples:
        pictures = [picture(number) for number in range(len(row.images))]
        bare = benchmark.messages(row, ())
        assert not [part for message in bare for part in message.parts if isinstance(part, ImagePart)]
        assert text_of(bare) == text_of(benchmark.messages(row, pictures))


def test_other_pictures_are_all_but_the_own_in_an_order_of_the_samples_own() -> None:
    rows = tuple(sample(number, images=(f"{number // 2}.png",)) for number in range(20))
    others = OtherPictures(Rows(rows), seed=4)
    for row in rows:
        candidates = list(others.candidates(row))
        assert candidates == list(OtherPictures(Rows(rows), seed=4).candidates(row))
        assert sorted(candidates) == sorted({f"{number}.png" for number in range(10)} - set(row.images))
    assert len({tuple(others.candidates(row))[:1] for row in rows}) > 3
    assert list(OtherPictures(Rows(rows[:2]), seed=4).candidates(rows[0])) == []


def test_an_outcome_of_another_picture_keeps_the_samples_own_facts() -> None:
    benchmark, samples = opened("finmme")
    asked = Asked(sample=samples[0], condition=Condition(picture="other"))
    line: Outcome = Question(benchmark, asked, seed=0).outcome(Failure(stage="call", kind="timeout", message="late"))
    assert (line.sample_id, line.condition, line.id) == (
        samples[0].id,
        "picture=other",
        f"{samples[0].id} [picture=other]",
    )
    assert (line.group, line.facets, line.detail) == (
        samples[0].group,
        samples[0].facets,
        benchmark.detail(samples[0]),
    )
