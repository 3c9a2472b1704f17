"""Every answer worked out anew from the stored numbers, and every answer clear to a reader who is within tolerance."""

import json
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from assay.fincharts.item import Item
from support.finchart_items import items, of_every_kind, plain
from support.recount import COLUMN_PICKS, ROW_PICKS, Reader, name

ITEMS = [pytest.param(item, id=f"{item.chart.kind}-{item.question.operation}") for item in of_every_kind()]
LETTERS = "ABCDEF"


def letters(question: dict[str, Any]) -> str:
    return "".join(letter for letter, choice in zip(LETTERS, question["choices"], strict=False) if choice["right"])


def readers(item: dict[str, Any], count: int, share: float) -> list[Reader]:
    """Careful readers: each value off by up to that share of its row's tolerance, most by all of it."""
    draw = random.Random(item["id"])
    table = item["chart"]["table"]
    found: list[Reader] = []
    for _ in range(count):
        slips = {
            (row, column): draw.choice((-1, -1, 1, 1, 0)) * share * held["tolerance"]
            for row, held in enumerate(table["rows"])
            for column in range(len(table["columns"]))
        }
        found.append(Reader(table, lambda row, column, slips=slips: slips[row, column]))
    return found


def recount(item: dict[str, Any], reader: Reader) -> str:
    """The answer that this reader of the chart gives."""
    question = item["question"]
    ask = question["ask"]
    if question["choices"] and question["choices"][0]["claim"] is not None:
        verdicts = [reader.about(choice["claim"]) for choice in question["choices"]]
        return "".join(letter for letter, verdict in zip(LETTERS, verdicts, strict=False) if verdict)
    found = reader.about(ask)
    if question["type"] == "numerical":
        return str(float(found))
    if ask["op"] in ROW_PICKS + COLUMN_PICKS:
        texts = [choice["text"] for choice in question["choices"]]
        return LETTERS[texts.index(name(ask, found, item["chart"]["table"]))]
    distances = {
        abs(float(found) - choice["value"]): letter
        for letter, choice in zip(LETTERS, question["choices"], strict=False)
        if choice["value"] is not None
    }
    return distances[min(distances)]


def check(item: dict[str, Any], *, careful: int = 12) -> None:
    """All that must hold of one question, for so many careful readers."""
    question, table = item["question"], item["chart"]["table"]
    answer = recount(item, Reader(table))
    if question["type"] == "numerical":
        _check_number(item, float(answer))
    else:
        assert answer == question["answer"] == letters(question)
        _check_choices(question)
    # Candles are told apart by colour, not by reading two prices.
    share = 0.02 if question["operation"] == "count_candles" else 0.9
    for reader in readers(item, careful, share):
        read = recount(item, reader)
        if question["type"] == "numerical":
            slack = 0.5 * 10.0 ** -_decimals(question["answer"])
            assert abs(float(read) - question["value"]) <= question["tolerance"] * 1.1 + slack
        else:
            assert read == question["answer"], "a careful reader comes to another answer"


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _check_number(item: dict[str, Any], exact: float) -> None:
    question = item["question"]
    assert question["choices"] == []
    places = _decimals(question["answer"])
    assert abs(exact - float(question["answer"])) <= 0.5 * 10.0**-places + 1e-9
    assert question["value"] == float(question["answer"])
    counted = question["operation"].startswith("count_")
    assert (question["tolerance"] == 0) == counted
    assert not (counted and question["unit"])
    if question["operation"] in ("value", "maximum", "minimum", "total", "mean"):
        assert question["unit"] == item["chart"]["table"]["rows"][question["ask"]["rows"][0]]["unit"]


def _check_choices(question: dict[str, Any]) -> None:
    texts = [choice["text"] for choice in question["choices"]]
    assert 3 <= len(texts) <= 5
    assert len(set(texts)) == len(texts)
    right = sum(choice["right"] for choice in question["choices"])
    assert right == 1 if question["type"] == "single_choice" else 2 <= right < len(texts)
    for choice in question["choices"]:
        assert choice["right"] or choice["why"] or question["operation"] in ("columns_above", "rows_above")
    numbers = [choice["value"] for choice in question["choices"] if choice["value"] is not None]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("item", ITEMS)
def test_answers_follow_from_the_numbers_and_no_careful_reader_doubts_them(item: Item) -> None:
    check(plain(item))


def test_thousands_of_questions_are_right_and_no_two_are_alike() -> None:
    made = [plain(item) for item in items(21, 800)]
    for item in made:
        check(item)
    assert_all_different(made)


def assert_all_different(made: list[dict[str, Any]]) -> None:
    """No question twice: neither its words with its options and caption, nor its chart's numbers."""
    said = Counter(
        (
            item["chart"]["caption"],
            item["question"]["text"],
            tuple(sorted(choice["text"] for choice in item["question"]["choices"])),
            "" if item["question"]["choices"] else item["question"]["answer"],
        )
        for item in made
    )
    assert max(said.values()) == 1
    drawn = Counter(json.dumps([row["values"] for row in item["chart"]["table"]["rows"]]) for item in made)
    again = {text: count for text, count in drawn.items() if count > 1}
    assert not again


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_questions_without_a_duplicate_or_a_doubt() -> None:
    made = [plain(item) for item in items(1, 10_000)]
    assert len({item["id"] for item in made}) == 10_000
    for item in made:
        check(item, careful=4)
    assert_all_different(made)


def test_chinese_questions_have_the_same_right_answers() -> None:
    for item in of_every_kind("zh"):
        check(plain(item))


def test_a_wrong_unit_is_the_only_other_unit_among_the_options() -> None:
    seen = 0
    for item in map(plain, items(5, 600)):
        question = item["question"]
        if question["operation"] != "value" or not question["choices"]:
            continue
        row = item["chart"]["table"]["rows"][question["ask"]["rows"][0]]
        for choice in question["choices"]:
            unit = row["wrong_unit"] if choice["why"] == "wrong unit" else row["unit"]
            assert choice["text"].endswith(unit)
            seen += choice["why"] == "wrong unit"
    assert seen > 5


def test_wrong_options_come_from_misreadings_that_are_on_the_chart() -> None:
    """A neighbour's or another series' value stands in the table; the other axis gives what its scale reads."""
    found: Counter[str] = Counter()
    for item in map(plain, items(9, 2500)):
        question, chart = item["question"], item["chart"]
        if question["operation"] != "value" or not question["choices"]:
            continue
        (row,), (column,) = question["ask"]["rows"], question["ask"]["columns"]
        table = chart["table"]
        mine = table["rows"][row]
        for choice in question["choices"]:
            found[choice["why"]] += 1
            if choice["why"] == "neighbour":
                beside = [mine["values"][at] for at in (column - 1, column + 1) if 0 <= at < len(mine["values"])]
                assert choice["value"] in beside
            if choice["why"] == "other series":
                others = [other["values"][column] for other in table["rows"] if other is not mine]
                # another measure may be printed with more digits than this one
                assert min(abs(choice["value"] - value) for value in others) <= 0.5 * 10.0 ** -mine["decimals"] + 1e-9
            if choice["why"] == "other axis":
                ends = [chart["left"], chart["right"]] if mine["axis"] == "left" else [chart["right"], chart["left"]]
                # by hand: the height on my axis as a share, then that share of the other axis
                share = (Fraction(str(mine["values"][column])) - Fraction(str(ends[0]["low"]))) / (
                    Fraction(str(ends[0]["high"])) - Fraction(str(ends[0]["low"]))
                )
                read = Fraction(str(ends[1]["low"])) + share * (
                    Fraction(str(ends[1]["high"])) - Fraction(str(ends[1]["low"]))
                )
                assert abs(choice["value"] - float(read)) <= 0.5 * 10.0 ** -mine["decimals"] + 1e-9
    assert all(found[why] > 10 for why in ("neighbour", "other series", "other axis", "wrong unit", "misread tick"))
