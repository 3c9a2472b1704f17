"""From rollouts and critiques to examples: every row kept or dropped once, and what is kept is what was said."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json, structs

from assay.errors import DataError, UsageError
from assay.solve.critique_format import Written, parse
from assay.train.card import STAGES, Card, counted, markdown
from assay.train.contamination import Contaminated
from assay.train.duplicates import Likeness
from assay.train.files import read_header, read_records, sha256_of, write_records
from assay.train.filter import FilterPlan, filter_examples
from assay.train.records import Dropped, Example, RolledSolution, TeacherCritique
from assay.types import Sample
from support.pictures import file_of, noise
from support.rolled import rolled, said_by, write_rollouts, written


def filtered(
    folder: Path, solutions: Sequence[RolledSolution], critiques: Sequence[TeacherCritique], **changed: Any
) -> Card:
    """Filter into folder/out; near-duplicates stay unless a test is about them."""
    rollouts = write_rollouts(folder / "rollouts.jsonl", solutions)
    said = folder / "critiques.jsonl"
    write_records(said, "critiques", critiques, settings={"rollouts_sha256": sha256_of(rollouts)})
    options: dict[str, Any] = {"likeness": None} | changed
    return filter_examples(FilterPlan(rollouts=(rollouts,), critiques=(said,), out=folder / "out", **options))


def examples(folder: Path) -> list[Example]:
    return list(read_records(folder / "out" / "examples.jsonl", "examples", Example))


def dropped(folder: Path) -> dict[str, str]:
    found = read_records(folder / "out" / "dropped.jsonl", "dropped", Dropped)
    return {one.id or one.where: one.kind for one in found}


def lost(card: Card) -> dict[str, int]:
    return {stage.kind: stage.dropped for stage in card.stages if stage.dropped}


def test_what_is_kept_is_what_the_teacher_said(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(file_of(noise("RGB", (40, 30)), "PNG"))
    solutions = [
        rolled("wrong#0", 4, 0, 2, images=("a.png",), source="exam", group="pair"),
        rolled("clean#0", 4, 4),
        rolled("other#0", 4, 4),
    ]
    critiques = [
        said_by("t", "wrong#0", True, False),
        said_by("t", "clean#0", True, True),
        said_by("t", "other#0", True, False),
    ]
    card = filtered(tmp_path, solutions, critiques)
    wrong, clean = examples(tmp_path)
    assert parse(wrong.critique, 3) == parse(wrong.critique, 2)  # it stops at the first wrong step
    again = parse(wrong.critique, 3)
    assert isinstance(again, Written)
    assert [structs.replace(step, places={}) for step in again.steps] == list(written(True, False).steps)
    assert again.correction == "The sum is 12."
    assert (wrong.labels, wrong.first_error, wrong.origin) == ((True, False, None), 1, "t")
    assert (wrong.source, wrong.group, wrong.question) == ("exam", "pair", solutions[0].question)
    assert wrong.steps == tuple(step.text for step in solutions[0].steps)
    # The path leads from the file's folder to the picture.
    assert wrong.images == ("../a.png",)
    assert (clean.labels, clean.first_error) == ((True, True), None)
    assert dropped(tmp_path) == {"other#0": "disagreement"}
    assert (card.total, card.kept, card.erroneous, card.clean, card.questions) == (3, 2, 1, 1, 2)
    assert card.sources == {"exam": 1, "quiz": 1}
    header = read_header(tmp_path / "out" / "examples.jsonl", "examples")
    assert header.settings["inputs"][str(tmp_path / "rollouts.jsonl")] == sha256_of(tmp_path / "rollouts.jsonl")


def test_every_way_out(tmp_path: Path) -> None:
    solutions = [
        rolled("fine#0", 4, 0),
        rolled("silent#0", 4),
        rolled("prose#0", 4),
        rolled("cut#0", 4),
        rolled("shy#0", 4),
        rolled("gone#0", 4),
        rolled("longer#0", 4),
        rolled("unsure#0", 4),
        rolled("apart#0", 0),
        rolled("bare#0", 0),
        rolled("broken#0", 4, images=("none.png",)),
        rolled("twice#0", 4),
        structs.replace(rolled("twice#0", 4), id="twice#1"),
    ]
    solutions[7] = structs.replace(
        solutions[7], steps=(structs.replace(solutions[7].steps[0], hard=None, soft=None, successes=0),)
    )
    nothing: dict[str, Any] = {"critique": None, "reason": "so"}
    critiques = [
        said_by("t", "fine#0", True, False),
        said_by("t", "prose#0", status="unparsable", **nothing),
        said_by("t", "cut#0", status="truncated", **nothing),
        said_by("t", "shy#0", status="refused", **nothing),
        said_by("t", "gone#0", status="failed", **nothing),
        said_by("t", "longer#0", True, True),
        said_by("t", "unsure#0", True),
        said_by("t", "apart#0", True),
        said_by("t", "bare#0", critique=written(False, correction=None)),
        said_by("t", "broken#0", True),
        said_by("t", "twice#0", True),
        said_by("t", "twice#1", True),
        said_by("t", "elsewhere#0", True),
    ]
    card = filtered(tmp_path, solutions, critiques)
    assert dropped(tmp_path) == {
        "silent#0": "no_critique",
        "prose#0": "unparsable",
        "cut#0": "truncated",
        "shy#0": "refused",
        "gone#0": "failed",
        "longer#0": "mismatch",
        "unsure#0": "unlabelled",
        "apart#0": "disagreement",
        "bare#0": "uncorrected",
        "broken#0": "image",
        "twice#1": "same_solution",
    }
    assert [one.id for one in examples(tmp_path)] == ["fine#0", "twice#0"]
    assert card.unmatched_critiques == 1
    assert card.stages[-1].left == card.kept == 2
    # Agreement is over all that both have labelled: fine, apart, bare, broken, twice, twice.
    (concord,) = card.agreement
    assert concord.cells == {
        "both_clean": 3,
        "same_step": 2,
        "other_step": 0,
        "teacher_only": 0,
        "monte_carlo_only": 1,
    }


STATUS = st.sampled_from(["parsed", "parsed", "parsed", "unparsable", "refused", "absent"])
SOLUTION = st.tuples(
    st.integers(0, 5),  # question
    st.lists(st.sampled_from([0, 2, 4]), min_size=1, max_size=3),  # successes of each step
    st.lists(st.booleans(), min_size=1, max_size=3),  # what the teacher says
    STATUS,
    st.booleans(),  # whether it corrects
)


@settings(max_examples=30)
@given(
    st.lists(SOLUTION, min_size=1, max_size=14),
    st.sampled_from(["both", "teacher", "mc"]),
    st.sampled_from(["first-error", "every-step", "none"]),
    st.one_of(st.none(), st.integers(1, 2)),
    st.one_of(st.none(), st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3)])),
    st.booleans(),
)
def test_counts_add_up(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[tuple[int, list[int], list[bool], str, bool]],
    labels: str,
    agree: str,
    per_question: int | None,
    balance: Fraction | None,
    duplicates: bool,
) -> None:
    folder = tmp_path_factory.mktemp("filter")
    solutions: list[RolledSolution] = []
    critiques: list[TeacherCritique] = []
    for number, (question, successes, said, status, corrects) in enumerate(drawn):
        name = f"{question}#{number}"
        solutions.append(rolled(name, *successes))
        if status == "parsed":
            critique = written(*said, correction="So." if corrects else None)
            critiques.append(said_by("t", name, critique=critique))
        elif status != "absent":
            critiques.append(said_by("t", name, status=status, critique=None, reason="so"))
    card = filtered(
        folder,
        solutions,
        critiques,
        labels=labels,
        agree=agree,
        per_question=per_question,
        balance=balance,
        likeness=Likeness() if duplicates else None,
    )
    kept = [one.id for one in examples(folder)]
    gone = dropped(folder)
    # Every row once: kept, or dropped as one thing.
    assert sorted([*kept, *gone]) == sorted(solution.id for solution in solutions)
    assert [stage.kind for stage in card.stages] == list(STAGES)
    assert lost(card) == dict(Counter(gone.values()))
    assert card.total == len(solutions) == card.kept + sum(lost(card).values())
    assert card.stages[-1].left == card.kept == len(kept) == card.clean + card.erroneous
    for example in examples(folder):
        again = parse(example.critique, len(example.steps))
        assert isinstance(again, Written)
        said_labels = [step.correct for step in again.steps]
        assert list(example.labels) == said_labels + [None] * (len(example.steps) - len(said_labels))
        assert example.first_error is None or again.correction is not None
    if per_question is not None:
        assert max(Counter(name.partition("#")[0] for name in kept).values(), default=0) <= per_question
    if balance is not None:
        assert card.clean <= card.erroneous * balance
        assert card.erroneous < (card.clean + 1) / balance  # the scarce clean ones are rounded down
    assert json.decode((folder / "out" / "card.json").read_bytes(), type=Card) == card


def test_the_same_again_is_the_same(tmp_path: Path) -> None:
    solutions = [rolled(f"{number}#0", 4, number % 3) for number in range(12)]
    critiques = [said_by("t", f"{number}#0", True, number % 3 > 0) for number in range(12)]
    options: dict[str, Any] = {"balance": Fraction(1), "seed": 5}
    filtered(tmp_path, solutions, critiques, **options)
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    card = filtered(tmp_path, solutions, critiques, **options)
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    # 4 of 12 are erroneous: as many clean ones stay.
    assert (card.erroneous, card.clean, lost(card)) == (4, 4, {"balance": 4})
    filtered(tmp_path, solutions, critiques, balance=Fraction(1), seed=6)
    assert (tmp_path / "out" / "examples.jsonl").read_bytes() != before["examples.jsonl"]


def test_rows_that_are_no_solutions_count_as_rows(tmp_path: Path) -> None:
    rollouts = write_rollouts(tmp_path / "rollouts.jsonl", [rolled("a#0", 4), rolled("b#0", 4)])
    lines = rollouts.read_bytes().splitlines(keepends=True)
    rollouts.write_bytes(b"".join([lines[0], lines[1], b"[]\n", lines[2]]))
    said = tmp_path / "c.jsonl"
    write_records(said, "critiques", [said_by("t", "a#0", True), said_by("t", "b#0", True)], settings={})
    card = filter_examples(FilterPlan(rollouts=(rollouts,), critiques=(said,), out=tmp_path / "out", likeness=None))
    assert (card.total, card.kept, lost(card)) == (3, 2, {"odd_row": 1})
    assert list(dropped(tmp_path)) == [f"{rollouts}:3"]


# ---- labels of one side alone


def test_the_teacher_alone(tmp_path: Path) -> None:
    solutions = [rolled("a#0", 4, 4), rolled("b#0", 4, 0)]
    critiques = [said_by("t", "a#0", True, False), said_by("t", "b#0", True, True)]
    card = filtered(tmp_path, solutions, critiques, labels="teacher")
    assert [(one.id, one.first_error) for one in examples(tmp_path)] == [("a#0", 1), ("b#0", None)]
    assert card.settings["agree"] == "none"


def test_monte_carlo_alone_has_no_words_and_corrections_where_they_are_known(tmp_path: Path) -> None:
    def with_texts(name: str, successes: tuple[int, ...], *texts: str) -> RolledSolution:
        solution = rolled(name, *successes)
        steps = tuple(structs.replace(step, text=text) for step, text in zip(solution.steps, texts, strict=True))
        return structs.replace(solution, steps=steps)

    solutions = [
        with_texts("q#0", (4, 0, 0), "Step 1: Add 5.\n\n", "Step 2: Get 13.\n\n", "So 13."),
        with_texts("q#1", (4, 4), "1. Add  5.\n\n", "2. Get 12.\n\n"),  # begins as the first one does, and goes on well
        with_texts("q#2", (4, 0), "Step 1: Add 7.\n\n", "Step 2: Get 14.\n\n"),  # nobody else begins so
        with_texts("r#0", (0, 4), "Step 1: Guess.\n\n", "Step 2: Luck.\n\n"),
    ]
    critiques = [
        said_by("t", "q#0", True, True, True),  # disagrees: nothing of it is used
        said_by("t", "r#0", False, False),  # finds the same first wrong step
    ]
    card = filtered(tmp_path, solutions, critiques, labels="mc", keep_uncorrected=True)
    found = {one.id: one for one in examples(tmp_path)}
    assert {one.origin for one in found.values()} == {"monte-carlo"}
    corrections: dict[str, str | None] = {}
    for name, one in found.items():
        again = parse(one.critique, len(one.steps))
        assert isinstance(again, Written)
        corrections[name] = again.correction
        assert {(step.intent, step.image, step.logic) for step in again.steps} == {("", "", "")}
    assert corrections == {"q#0": "Get 12.", "q#1": None, "q#2": None, "r#0": "The sum is 12."}
    assert found["q#0"].labels == (True, False, False)
    assert found["r#0"].labels == (False, True)
    assert card.uncorrected_candidates == 1
    card = filtered(tmp_path, solutions, critiques, labels="mc")
    assert dropped(tmp_path) == {"q#2": "uncorrected"}
    # A solution whose steps behind the first wrong one were not drawn: the critique stops there.
    early = structs.replace(
        solutions[0],
        steps=(*solutions[0].steps[:2], structs.replace(solutions[0].steps[2], hard=None, soft=None, skipped=True)),
    )
    filtered(tmp_path, [early, solutions[1]], [], labels="mc")
    assert {one.id: one.labels for one in examples(tmp_path)}["q#0"] == (True, False, None)


# ---- questions


def test_topics(tmp_path: Path) -> None:
    solutions = [
        rolled("a#0", 4, question="Find the angle ABC."),
        rolled("b#0", 4, question="How many apples?"),
        rolled("c#0", 4, source="mavis-function"),
    ]
    critiques = [said_by("t", solution.id, True) for solution in solutions]
    card = filtered(tmp_path, solutions, critiques, topics=frozenset({"plane-geometry"}))
    assert dropped(tmp_path) == {"b#0": "topic", "c#0": "topic"}
    assert card.topics_by == {"none": 1, "source": 1, "text": 1}
    told = {"quiz | b": frozenset({"plane-geometry"})}
    card = filtered(tmp_path, solutions, critiques, topics=frozenset({"plane-geometry"}), told=told)
    assert dropped(tmp_path) == {"a#0": "topic", "c#0": "topic"}
    assert card.topics_by == {"model": 3}


def test_near_duplicates_go_with_all_their_solutions(tmp_path: Path) -> None:
    image = noise("RGB", (64, 48), seed=1).resize((320, 240))
    (tmp_path / "a.png").write_bytes(file_of(image, "PNG"))
    (tmp_path / "b.jpg").write_bytes(file_of(image.resize((240, 180)), "JPEG", quality=85))
    (tmp_path / "c.png").write_bytes(file_of(noise("RGB", (64, 48), seed=2).resize((320, 240)), "PNG"))
    text = "How long is the chord AB of the circle O?"
    solutions = [
        rolled("a#0", 4, question=text, images=("a.png",)),
        rolled("b#0", 4, question=text + " ", images=("b.jpg",)),
        rolled("b#1", 4, 4, question=text + " ", images=("b.jpg",)),
        rolled("c#0", 4, question=text, images=("c.png",)),
        rolled("d#0", 4, question="Which colour has it?", images=("a.png",)),
    ]
    critiques = [said_by("t", solution.id, *(True,) * len(solution.steps)) for solution in solutions]
    card = filtered(tmp_path, solutions, critiques, likeness=Likeness())
    assert dropped(tmp_path) == {"b#0": "near_duplicate", "b#1": "near_duplicate"}
    assert card.questions == 3


def test_questions_of_a_benchmark_are_listed_and_dropped(tmp_path: Path) -> None:
    text = "How long is the chord AB of the circle O if its radius is 5?"
    solutions = [rolled("a#0", 4, question=text), rolled("a#1", 4, 4, question=text), rolled("b#0", 4)]
    critiques = [said_by("t", solution.id, *(True,) * len(solution.steps)) for solution in solutions]
    benchmark = [Sample(id="7", question=text, group="7"), Sample(id="8", question="Another question", group="8")]
    card = filtered(tmp_path, solutions, critiques, against=(("exam", benchmark),))
    assert dropped(tmp_path) == {"a#0": "contaminated", "a#1": "contaminated"}
    (pair,) = read_records(tmp_path / "out" / "contaminated.jsonl", "contaminated", Contaminated)
    assert (pair.question, pair.solutions, pair.benchmark, pair.benchmark_id) == ("a", ("a#0", "a#1"), "exam", "7")
    assert pair.rules == ("text", "ngram")
    assert (card.benchmarks, card.contaminated_pairs) == ({"exam": 2}, 1)
    assert card.benchmark_questions_uncompared == {"exam": 1}  # of two words, and without a picture
    assert "Nothing can be said of 1 of exam" in (tmp_path / "out" / "card.md").read_text()
    card = filtered(tmp_path, solutions, critiques, against=(("exam", benchmark),), keep_contaminated=True)
    assert (card.kept, card.contaminated_pairs) == (3, 1)


def test_a_question_of_a_benchmark_that_is_asked_of_many_pictures_is_found(tmp_path: Path) -> None:
    """All questions of the source have its sentence, so that it tells no two of them apart; it is the benchmark's."""
    text = "What is the value of the largest bar in this chart?"
    solutions = [rolled(f"{number}#0", 4, question=f"{text}\nThis is chart {number}.") for number in range(20)]
    critiques = [said_by("t", solution.id, True) for solution in solutions]
    card = filtered(tmp_path, solutions, critiques, against=(("exam", [Sample(id="1", question=text, group="1")]),))
    assert lost(card) == {"contaminated": 20}


def test_case_168_equal_draws_are_found_and_counted_once(tmp_path: Path) -> None:
    """Servers that ignore seeds give the same solution eight times."""
    same = [structs.replace(rolled("q#0", 4, 4), id=f"q#{number}") for number in range(8)]
    card = filtered(tmp_path, same, [said_by("t", one.id, True, True) for one in same])
    assert (card.kept, lost(card)) == (1, {"same_solution": 7})


# ---- several files


def test_two_files_with_the_same_ids(tmp_path: Path) -> None:
    one = write_rollouts(tmp_path / "one.jsonl", [rolled("1#0", 4)])
    two = write_rollouts(tmp_path / "two.jsonl", [rolled("1#0", 0, source="exam")])
    plan = FilterPlan(rollouts=(one, two), critiques=(tmp_path / "c1", tmp_path / "c2"), out=tmp_path / "out")
    for path, rollouts, right in zip(plan.critiques, plan.rollouts, (True, False), strict=True):
        made_of = {"rollouts_sha256": sha256_of(rollouts)}
        write_records(path, "critiques", [said_by("t", "1#0", right)], settings=made_of)
    card = filter_examples(replace(plan, likeness=None))
    assert [(found.id, found.source) for found in examples(tmp_path)] == [("1#0", "quiz"), ("two/1#0", "exam")]
    assert card.kept == 2


def test_what_can_not_be_filtered(tmp_path: Path) -> None:
    rollouts = write_rollouts(tmp_path / "r.jsonl", [])
    out = tmp_path / "out"
    with pytest.raises(UsageError, match="name the rollouts"):
        filter_examples(FilterPlan(rollouts=(), critiques=(), out=out))
    with pytest.raises(UsageError, match="name critiques"):
        filter_examples(FilterPlan(rollouts=(rollouts,), critiques=(), out=out))
    with pytest.raises(UsageError, match="balance"):
        filter_examples(FilterPlan(rollouts=(rollouts,), critiques=(), out=out, labels="mc", balance=Fraction(0)))
    with pytest.raises(DataError, match="no solutions"):
        filter_examples(FilterPlan(rollouts=(rollouts,), critiques=(), out=out, labels="mc"))
    assert not out.exists()


# ---- the card


def test_the_card_says_what_matters(tmp_path: Path) -> None:
    solutions = [rolled(f"{number}|x#0", 4, number % 4) for number in range(12)]
    critiques = [said_by("t", solution.id, True, number % 4 > 1) for number, solution in enumerate(solutions)]
    card = filtered(tmp_path, solutions, critiques)
    text = markdown(card)
    assert (tmp_path / "out" / "card.md").read_text() == text
    # Three of each kind: 0 of 4 (both say wrong), 1 (the teacher alone says wrong), 2 and 3 of 4 (both say right).
    assert "| disagreement | 3 | 9 |" in text
    assert "| none, both say | 6 |" in text
    assert "| the teacher alone finds one | 3 |" in text
    assert "contamination is unknown" in text
    # 3 steps with 1 of 4 and 3 with 2 of 4: 3/4 * 3^2 / (2 * 3) = 1.125 are missed.
    assert "An estimated 1.1 of these" in text
    assert sha256_of(tmp_path / "rollouts.jsonl") in text


def test_a_stage_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no stage"):
        counted(3, {"lost": 1})
