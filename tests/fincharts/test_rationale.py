"""Solutions in steps: right ones end in the gold; wrong ones are wrong exactly where they say."""

import random
import re
from collections import Counter

import pytest

from assay.fincharts.item import Item, Step
from assay.fincharts.rationale import ERRORS, flawed
from assay.fincharts.rows import process_rows
from support.finchart_items import items, of_every_kind, plain
from support.recount import COLUMN_PICKS, ROW_PICKS, Reader, name

MADE = items(31, 700)
LETTERS = "ABCDEF"


def numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"-?\d[\d,]*\.?\d*", text)]


def test_every_step_of_a_right_solution_says_what_is_so() -> None:
    """The last number of a step that reads or computes is the recounted one; a pick names what it picks."""
    for item in MADE:
        written = plain(item)
        table = written["chart"]["table"]
        reader = Reader(table)
        for step in written["question"]["steps"][:-1]:
            found = reader.about(step["ask"])
            if step["kind"] == "judge":
                assert bool(step["value"]) == bool(found)
                assert step["text"].endswith("is true." if found else "is false.")
            elif step["ask"]["op"] in ROW_PICKS + COLUMN_PICKS:
                assert name(step["ask"], found, table) in step["text"]
            else:
                last = numbers(step["text"].split("=")[-1].rsplit(":", 1)[-1])[-1]
                places = len(f"{last}".partition(".")[2])
                assert last == pytest.approx(float(found), abs=0.5 * 10.0**-places + 1e-6)


def test_right_solutions_end_in_the_gold() -> None:
    for item in MADE:
        question = item.question
        last = question.steps[-1]
        assert last.kind == "answer"
        if question.type == "numerical":
            assert numbers(last.text)[0] == pytest.approx(float(question.answer))
        else:
            assert re.findall(r"\b[A-F]\b", last.text) == list(question.answer)


def test_arithmetic_that_is_written_out_is_right() -> None:
    """`(133 / 122 - 1) x 100 = 9.0`: what stands left of the sign gives what stands right of it, to its digits."""
    checked = 0
    for step in (
        step for item in MADE for step in item.question.steps if step.kind == "compute" and " = " in step.text
    ):
        left, right = step.text.rsplit(" = ", 1)
        match = re.search(r"(?:is|by) ([-(\d][-\d,. +/()x^]*)$", left)
        if match is None:
            continue
        result = _calculated(match.group(1))
        shown = numbers(right)[0]
        places = len(re.findall(r"-?[\d,]+\.?(\d*)", right)[0])
        assert result == pytest.approx(shown, abs=0.51 * 10.0**-places + 1e-9), step.text
        checked += 1
    assert checked > 80


def _calculated(text: str) -> float:
    """The value of a sum, difference, quotient, growth, share or annual rate as it is written."""
    text = text.replace(",", "").strip()
    annual = re.fullmatch(r"\(\(([\d.]+) / ([\d.]+)\)\^\(1/(\d+)\) - 1\) x 100", text)
    if annual:
        last, first, years = map(float, annual.groups())
        return ((last / first) ** (1 / years) - 1) * 100
    growth = re.fullmatch(r"\((-?[\d.]+) / (-?[\d.]+) - 1\) x 100", text)
    if growth:
        return (float(growth[1]) / float(growth[2]) - 1) * 100
    share = re.fullmatch(r"(-?[\d.]+) / \((.+)\) x 100", text)
    if share:
        return float(share[1]) / sum(map(float, share[2].split(" + "))) * 100
    mean = re.fullmatch(r"\((.+)\) / (\d+)", text)
    if mean:
        return sum(map(float, mean[1].split(" + "))) / float(mean[2])
    if " / " in text:
        above, below = map(float, text.split(" / "))
        return above / below
    if " + " in text:
        return sum(map(float, text.split(" + ")))
    first, second = map(float, text.split(" - ", 1))
    return first - second


def test_errors_are_where_they_say_and_labels_are_the_truth_of_each_step() -> None:
    """Wording is fixed, so a step is true exactly where it says what the right solution says."""
    kinds: Counter[str] = Counter()
    for item in MADE:
        right = [step.text for step in item.question.steps]
        for found in flawed(item, random.Random(item.id)):
            kinds[found.error] += 1
            assert len(found.steps) == len(found.labels) == len(right)
            assert found.steps[: found.place] == tuple(right[: found.place])
            assert all(found.labels[: found.place])
            assert not found.labels[found.place]
            for said, gold, label, step in zip(found.steps, right, found.labels, item.question.steps, strict=True):
                if step.kind != "compute":
                    assert (said == gold) == label
                elif said == gold:
                    assert label
            assert found.labels[-1] == (found.answer == item.question.answer)
    assert set(kinds) == set(ERRORS)
    assert min(kinds.values()) >= 10


def test_a_computed_step_is_judged_by_its_result() -> None:
    """A sum of a misread value is wrong although the sum itself is right; one whose result is true stays true."""
    for item in MADE:
        for found in flawed(item, random.Random(1)):
            for said, label, step in zip(found.steps, found.labels, item.question.steps, strict=True):
                if step.kind == "compute" and " = " in step.text:
                    assert (said.rsplit(" = ", 1)[1] == step.text.rsplit(" = ", 1)[1]) == label


def test_each_kind_of_error_touches_the_kind_of_step_that_can_have_it() -> None:
    allowed = {
        "misread value": ("read", "compute"),
        "wrong series": ("read",),
        "wrong axis": ("read",),
        "arithmetic slip": ("compute",),
        "unit slip": ("read", "compute"),
        "wrong comparison": ("select", "judge"),
    }
    for item in MADE:
        for found in flawed(item, random.Random(2)):
            assert item.question.steps[found.place].kind in allowed[found.error]


def test_process_rows_hold_one_right_solution_and_the_wrong_ones() -> None:
    for item in of_every_kind():
        rows = process_rows(item, seed=3)
        assert rows[0].source == "fincharts/right"
        assert all(rows[0].labels)
        assert rows[0].first_error is None
        assert len({row.id for row in rows}) == len(rows)
        for row in rows[1:]:
            assert row.first_error == list(row.labels).index(False)
            assert row.group == item.group
            assert row.images == (item.image,)
        assert process_rows(item, seed=3) == rows


def test_steps_use_only_earlier_steps() -> None:
    def uses(step: Step) -> int:
        return max(step.of, default=-1)

    for item in MADE:
        assert all(uses(step) < place for place, step in enumerate(item.question.steps))


def test_single_choices_have_one_letter_and_wrong_answers_are_other_letters() -> None:
    def letters(item: Item) -> set[str]:
        return set(LETTERS[: len(item.question.choices)])

    for item in MADE:
        if item.question.type != "numerical":
            for found in flawed(item, random.Random(4)):
                assert set(found.answer) <= letters(item)
