"""Conditions, printed: every part that was asked for, numbers as worked out by hand, nothing too wide."""

import io

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from assay.mark.stability import stability
from assay.report.tables import make_console
from assay.report.terminal_stability import print_stability
from assay.types import Outcome
from support.outcomes import FAILED, outcome


def lines(condition: str, verdicts: str, shown: str = "") -> list[Outcome]:
    """Samples q0, q1, ... by their verdicts under one condition: right, wrong, failed."""
    words = {"r": "right", "w": "wrong", "f": FAILED}
    detail = {"gold": "A", "shown": shown} if shown else {}
    return [
        replace(
            outcome(f"q{number}", words[letter], extraction="A" if letter == "r" else "B", detail=detail),
            condition=condition,
        )
        for number, letter in enumerate(verdicts)
    ]


def printed(outcomes: list[Outcome], width: int = 80) -> str:
    out = io.StringIO()
    print_stability(stability(outcomes, on_missing="exclude"), console=make_console(out, width=width))
    return out.getvalue()


EVERYTHING = [
    *lines("", "rrrw"),
    *lines("repeat=1", "rrwf"),
    *lines("prompt=a", "rwww"),
    *lines("shuffle=1", "rrww", shown="B,A"),
    *lines("picture=none", "rwww"),
    *lines("picture=other", "wwww"),
]


def row(text: str, start: str) -> list[str]:
    found = [line for line in text.splitlines() if line.startswith(start)]
    assert len(found) == 1, (start, text)
    return found[0].removeprefix(start).split()


def test_all_parts_by_hand() -> None:
    text = printed(EVERYTHING, width=140)
    assert "Conditions: 6, over 4 samples" in text
    assert row(text, "plain ")[:4] == ["4", "4", "75.00", "75.00"]
    assert row(text, "repeat=1")[:4] == ["4", "3", "66.67", "66.67"]  # three of its four have a verdict
    assert "-50.00" in row(text, "prompt=a")  # 1 of 4 less 3 of 4
    # q0, q1, q2 were drawn twice: 3 and 2 right. Mean 5/6, sd of 1 and 2/3, one of three flips.
    assert "Repeats: 2, over 3 samples" in text
    for number in ("83.33", "23.57", "66.67", "100.00", "33.33"):
        assert number in text
    assert "Right always 2, sometimes 1, never 0. Left out: 1 without a verdict" in text
    # pass@2: q0, q1, q2 all have a right draw. Majority: the first drawn of one A and one B.
    assert "pass@1 83.33, pass@2 100.00. Majority vote 100.00" in text
    assert "Wordings of the prompt: 2, over 4 samples" in text
    assert "Orders of the options: 2, over 4 samples" in text
    assert "Places of the options, over 4 draws in another order" in text
    # Gold A stands second; A was answered twice (second place), B twice (first place).
    assert row(text, "2 ")[:2] == ["4", "50.00"]
    assert "No test: 4 groups are too few." in text
    assert row(text, "no picture")[:2] == ["4", "+50.00"]
    assert row(text, "another sample's picture")[:2] == ["4", "+75.00"]


def test_only_what_was_asked_for_is_printed() -> None:
    text = printed([*lines("", "rw"), *lines("prompt=b", "rr")])
    assert "Wordings" in text
    for title in ("Repeats", "Orders", "Places", "owes to"):
        assert title not in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_too_wide(width: int) -> None:
    for line in printed(EVERYTHING, width).splitlines():
        assert cell_len(line) <= width
