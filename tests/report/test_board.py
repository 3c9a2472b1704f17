"""The leaderboard: who is ranked, what stands beside each number, and every format with its own escaping."""

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.errors import UsageError
from assay.mark.summary import Counts, Mode, OnMissing, Score
from assay.report.board import Board, BoardRow, BoardRun, Part, labels_of, make_board
from assay.report.board_text import (
    as_csv,
    as_json,
    as_latex,
    as_markdown,
    as_table,
    escape_latex,
    escape_markdown,
)
from assay.types import Outcome, Sampling
from support.outcomes import judged, outcome
from support.runs import manifest


def run_of(folder: str, outcomes: Iterable[Outcome], **changes: Any) -> BoardRun:
    return BoardRun(folder=Path(folder), manifest=manifest(**changes), outcomes=outcomes)


def outcomes(right: range, count: int = 40) -> list[Outcome]:
    """`count` samples of levels 0 and 1 in turn; those whose number is in `right` are right."""
    return [outcome(str(i), "right" if i in right else "wrong", level=str(i % 2)) for i in range(count)]


def board_of(*runs: BoardRun, mode: Mode = "robust", on_missing: OnMissing = "exclude", by: str | None = None) -> Board:
    return make_board(runs, mode=mode, on_missing=on_missing, by=by)


# --------------------------------------------------------------------------------------------------------------------
# The ranking


def test_runs_that_tests_cannot_tell_apart_share_a_tie() -> None:
    board = board_of(
        run_of("r/none", outcomes(range(0))),
        run_of("r/most", outcomes(range(39))),
        run_of("r/all", outcomes(range(40))),
    )
    # all against most: 1 discordant pair, exact p = 2 * (1/2) = 1. Against none 40 and 39 pairs: p = 2 / 2**39 at most.
    places = [(row.run, row.best_rank, row.worst_rank, row.tie_group) for row in board.rows]
    assert places == [("all", 1, 2, 1), ("most", 1, 2, 1), ("none", 3, 3, 2)]
    assert [(row.score.correct, row.score.n, row.score.accuracy) for row in board.rows] == [
        (40, 40, 1.0),
        (39, 40, 0.975),
        (0, 40, 0.0),
    ]
    assert len(board.tests) == 3


def test_the_order_of_the_arguments_changes_nothing() -> None:
    runs = [("r/a", range(20)), ("r/b", range(10, 30)), ("r/c", range(31))]
    one = board_of(*(run_of(name, outcomes(right)) for name, right in runs))
    other = board_of(*(run_of(name, outcomes(right)) for name, right in reversed(runs)))
    assert one == other


def test_the_mode_decides_whose_verdicts_rank() -> None:
    ours = [outcome(str(i), "right", "wrong") for i in range(4)]
    theirs = [outcome(str(i), "wrong", "right") for i in range(4)]
    cases: tuple[tuple[Mode, str], ...] = (("robust", "ours"), ("reference", "theirs"))
    for mode, best in cases:
        board = board_of(run_of("ours", ours), run_of("theirs", theirs), mode=mode)
        assert (board.rows[0].run, board.rows[0].score.correct) == (best, 4)
        assert board.mode == mode


def judged_run(right: int, judge: str = "a judge") -> list[Outcome]:
    """Ten samples, all wrong by rule; the judge finds the first `right` right, fails on the last, and says no else."""
    rows = outcomes(range(0), 10)
    said = [judged(row, "right" if place < right else "wrong", judge=judge) for place, row in enumerate(rows[:9])]
    return [*said, judged(rows[9], "unmarkable", judge=judge, reason="the judge refused")]


def test_a_judges_verdicts_rank() -> None:
    board = board_of(run_of("few", judged_run(2)), run_of("many", judged_run(9)), mode="judged")
    assert [(row.run, row.score.correct, row.score.n, row.counts.unmarkable) for row in board.rows] == [
        ("many", 9, 9, 1),
        ("few", 2, 9, 1),
    ]
    assert {row.recipe["judge"] for row in board.rows} == {"a judge"}
    assert "judged: the verdicts of a judge, prompt 0123456789ab." in board.notes
    counted = board_of(run_of("few", judged_run(2)), mode="judged", on_missing="wrong")
    assert (counted.rows[0].score.correct, counted.rows[0].score.n) == (2, 10)
    assert "judge" not in board_of(run_of("few", judged_run(2))).rows[0].recipe


def test_different_judges_are_named() -> None:
    mixed = [*judged_run(2), judged(outcome("x", "wrong"), "right", judge="another")]
    # However much another judge has said of the samples under other conditions, which are on no board.
    mixed += [replace(judged(one, "right", judge="another"), condition="repeat=1") for one in outcomes(range(20))]
    board = board_of(run_of("one", mixed), run_of("other", judged_run(9, "another")), mode="judged")
    # One verdict of another judge, left by a judging that was stopped, is in no number of the first run.
    assert [(row.run, row.score.correct, row.score.n) for row in board.rows] == [("other", 9, 9), ("one", 2, 9)]
    (note,) = (note for note in board.notes if "different judges" in note)
    assert "one by a judge, prompt 0123456789ab; other by another, prompt 0123456789ab" in note
    assert "judge" in board.differing


def test_a_run_without_a_judge_is_refused_by_name() -> None:
    with pytest.raises(
        UsageError, match=r"runs/bare has no verdicts of a judge.*assay score runs/bare --judge ADDRESS"
    ):
        board_of(run_of("runs/fine", judged_run(2)), run_of("runs/bare", outcomes(range(3))), mode="judged")


@pytest.mark.parametrize(
    ("on_missing", "right", "n"),
    [("exclude", 1, 5), ("wrong", 1, 7)],  # 7 samples, one failed and one unmarkable
)
def test_what_became_of_the_others_stands_beside_the_accuracy(on_missing: OnMissing, right: int, n: int) -> None:
    """Case 221: n and weights with every aggregate."""
    mixed = [
        outcome("1", "right"),
        outcome("2", "wrong"),
        outcome("3", "unanswered"),
        outcome("4", "unanswered", finish="length"),
        outcome("5", "unanswered", finish="filter"),
        outcome("6", "unmarkable"),
        outcome("7", "failed"),
    ]
    board = board_of(run_of("mixed", mixed), on_missing=on_missing)
    (row,) = board.rows
    assert row.counts == Counts(right=1, wrong=1, unanswered=1, truncated=1, refused=1, unmarkable=1, failed=1)
    assert (row.score.correct, row.score.n, row.samples) == (right, n, 7)
    assert board.weights == "every sample counts once"
    assert any("left out of n" in note for note in board.notes) == (on_missing == "exclude")


def test_facet_columns_hold_the_accuracy_and_its_samples() -> None:
    # right: 0..9 of 40, levels alternate: 5 of 20 each. A failed sample of level 1 leaves n under "exclude".
    rows = [*outcomes(range(10)), outcome("x", "failed", level="1")]
    cases: tuple[tuple[OnMissing, int], ...] = (("exclude", 20), ("wrong", 21))
    for on_missing, n in cases:
        (row,) = board_of(run_of("a", rows), by="level", on_missing=on_missing).rows
        assert row.parts == {
            "0": Part(correct=5, n=20, accuracy=0.25),
            "1": Part(correct=5, n=n, accuracy=5 / n),
        }


def test_a_value_that_one_run_lacks_is_no_zero() -> None:
    a = [outcome("1", "right", level="1")]
    b = [outcome("1", "right", level="1"), outcome("2", "wrong", level="10"), outcome("3", "right", level="2")]
    board = board_of(run_of("a", a), run_of("b", b), by="level")
    parts = {row.run: row.parts for row in board.rows}
    assert list(parts["a"]) == ["1", "2", "10"]
    assert parts["a"]["10"] == Part(correct=0, n=0, accuracy=None)
    assert parts["b"]["10"] == Part(correct=0, n=1, accuracy=0.0)


def test_one_run_is_a_board() -> None:
    board = board_of(run_of("only", outcomes(range(10))))
    assert [(row.best_rank, row.worst_rank, row.tie_group) for row in board.rows] == [(1, 1, 1)]
    assert board.tests == ()
    assert board.differing == ()


def test_a_run_without_outcomes_has_no_accuracy() -> None:
    board = board_of(run_of("empty", []), run_of("full", outcomes(range(40))))
    assert [(row.run, row.score.accuracy) for row in board.rows] == [("full", 1.0), ("empty", None)]
    assert "not complete: 0 of 40" in " ".join(board.notes)


# --------------------------------------------------------------------------------------------------------------------
# What can't be ranked


def test_other_benchmarks_and_splits_are_refused_in_one_sentence() -> None:
    runs = [
        run_of("runs/a", [], benchmark="quiz", split="test"),
        run_of("runs/b", [], benchmark="finmme", split="train"),
        run_of("runs/c", [], benchmark="quiz", split="mini"),
    ]
    with pytest.raises(UsageError) as refused:
        board_of(*runs)
    message = str(refused.value)
    for words in ("quiz test: runs/a", "finmme train: runs/b", "quiz mini: runs/c"):
        assert words in message
    assert "\n" not in message


def test_no_run_and_one_run_twice_are_refused() -> None:
    with pytest.raises(UsageError, match="no run"):
        board_of()
    with pytest.raises(UsageError, match="more than once"):
        board_of(run_of("runs/a", []), run_of("runs/../runs/a", []))


def test_an_unknown_facet_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'colour'.*level"):
        board_of(run_of("a", outcomes(range(3))), by="colour")


# --------------------------------------------------------------------------------------------------------------------
# Names, recipes, completeness


def test_labels_are_as_short_as_they_can_be_and_distinct() -> None:
    folders = ["/r/one/x", "/r/two/x", "/r/y", "/s/a/z", "/t/a/z"]
    assert labels_of([Path(folder) for folder in folders]) == ["one/x", "two/x", "y", "s/a/z", "t/a/z"]


def test_runs_of_equal_names_stay_apart() -> None:
    board = board_of(run_of("/r/one/x", outcomes(range(40))), run_of("/r/two/x", outcomes(range(0))))
    assert [(row.run, row.score.correct) for row in board.rows] == [("one/x", 40), ("two/x", 0)]


def test_each_number_has_a_recipe() -> None:
    """Cases 102 and 104: prompt, sampling, pixels and subset behind each number."""
    sampling = Sampling(temperature=0.6, top_p=0.95, max_tokens=4096)
    board = board_of(
        run_of("a", outcomes(range(9)), model="m1", environment={"assay": "1.0"}),
        run_of("b", outcomes(range(5)), model="m2", sampling=sampling, prompt_hash="p2", environment={"assay": "1.0"}),
    )
    a, b = (row.recipe for row in board.rows)
    assert (a["prompt_hash"], b["prompt_hash"]) == ("p1", "p2")
    assert (a["sampling.temperature"], b["sampling.temperature"]) == (0.0, 0.6)
    assert {"seed", "image_transform", "limit", "where", "revision", "sampling.max_tokens", "assay"} <= a.keys()
    assert set(board.differing) == {"sampling.temperature", "sampling.top_p", "sampling.max_tokens", "prompt_hash"}
    assert any("prompt_hash" in note for note in board.notes)


@pytest.mark.parametrize(
    "change", [{"revision": "r2"}, {"limit": 10}, {"where": ("level=1",)}], ids=["revision", "limit", "where"]
)
def test_other_questions_are_flagged(change: dict[str, Any]) -> None:
    board = board_of(run_of("a", outcomes(range(9))), run_of("b", outcomes(range(9)), **change))
    assert board.differing == tuple(change)
    assert any("not asked the same questions" in note and next(iter(change)) in note for note in board.notes)


def test_an_incomplete_run_is_marked() -> None:
    whole = {"samples": 40}
    board = board_of(
        run_of("whole", outcomes(range(10)), environment=whole),
        run_of("part", outcomes(range(9), 30), environment=whole),
    )
    assert {row.run: (row.complete, row.expected) for row in board.rows} == {"whole": (True, 40), "part": (False, 40)}
    assert "part is not complete: 30 of 40 samples." in board.notes


def test_where_nothing_says_how_many_the_fullest_run_of_the_same_questions_does() -> None:
    board = board_of(
        run_of("a", outcomes(range(10))),
        run_of("b", outcomes(range(9), 30)),
        run_of("c", outcomes(range(5), 5), limit=5),
    )
    assert {row.run: row.complete for row in board.rows} == {"a": True, "b": False, "c": None}


def test_published_results_stand_beside_and_are_in_no_ranking() -> None:
    board = board_of(run_of("a", outcomes(range(9)), benchmark="mathvision", split="testmini"))
    assert board.published is not None
    assert len(board.rows) == 1
    assert any(note.startswith("Published: split test; here: split testmini") for note in board.notes)
    assert "Published: 3,040 samples; here: 40." in board.notes
    text = as_table(board)
    assert text.index("Published results, not ranked") > text.index("Recipe that all runs share")
    # GPT4V-CoT's published 729 / 3,040 = 23.98 %.
    assert re.search(r"^GPT4V-CoT +23\.98$", text, re.MULTILINE)
    assert "GPT4V-CoT" not in as_csv(board)


# --------------------------------------------------------------------------------------------------------------------
# Formats: a board made by hand, so that every cell is known

HOSTILE = "a_b|c&d%e#f$g{h}~^\\ <i>`*[j](k)\x1b[31m\nl"


def small_board(*names: str) -> Board:
    def row(place: int, name: str) -> BoardRow:
        return BoardRow(
            run=name,
            folder=f"runs/{name}",
            best_rank=place,
            worst_rank=2,
            tie_group=1,
            score=Score(correct=3, n=4, accuracy=0.75, low=0.3, high=0.95, method="wilson"),
            samples=5,
            expected=6,
            complete=False,
            counts=Counts(right=3, wrong=1, failed=1),
            parts={"bar": Part(correct=1, n=3, accuracy=1 / 3)},
            recipe={"model": f"openai:{name}", "seed": 7, "prompt_hash": "0123456789abcdef" * 4, "limit": None},
        )

    return Board(
        benchmark="quiz",
        split="test",
        mode="robust",
        on_missing="exclude",
        alpha=0.05,
        weights="every sample counts once",
        by="kind",
        rows=tuple(row(place, name) for place, name in enumerate(names, start=1)),
        tests=(),
        differing=(),
        notes=("A note with 5 % & more.",),
        published=None,
    )


def test_markdown() -> None:
    lines = as_markdown(small_board("one")).splitlines()
    assert lines[0] == r"**quiz, split test \(robust verdicts, on\_missing=exclude\)**"
    assert lines[2] == (
        "| place | tie | run | accuracy % | 95 % interval | right | n | failed | unanswered | truncated | refused "
        "| unmarkable | complete | kind=bar |"
    )
    assert lines[3] == "| ---: | ---: | :--- |" + " ---: |" * 11
    assert lines[4] == (
        r"| 1-2 | a | one | 75.00 | \[30.00, 95.00\] | 3 | 4 | 1 | 0 | 0 | 0 | 0 | no: 5 of 6 | 33.33 \(3\) |"
    )
    assert r"- A note with 5 % \& more." in lines
    assert "| one | openai:one |" in lines
    # Hashes are cut to 12 digits; a value that is not set says so.
    assert r"| prompt\_hash | 0123456789ab |" in lines
    assert "| limit | none |" in lines


def test_latex() -> None:
    text = as_latex(small_board("one"))
    assert text.startswith(
        "% quiz, split test (robust verdicts, on\\_missing=exclude)\n\\begin{tabular}{rrl" + "r" * 11 + "}\n"
    )
    assert (
        "{}1-{}2 & {}a & {}one & {}75.00 & {}[30.00, 95.00] & {}3 & {}4 & {}1 & {}0 & {}0 & {}0 & {}0 & {}no: 5 of 6 "
        "& {}33.33 (3) \\\\\n\\hline\n\\end{tabular}\n"
    ) in text
    assert "accuracy \\%" in text
    assert "% A note with 5 % & more.\n" in text


def test_csv() -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(small_board("one"))))
    assert row["run"] == "one"
    assert (row["accuracy"], row["low"], row["high"], row["correct"], row["n"]) == ("0.75", "0.3", "0.95", "3", "4")
    assert (row["samples"], row["expected"], row["complete"], row["failed"]) == ("5", "6", "False", "1")
    assert float(row["kind=bar"]) == 1 / 3
    assert row["kind=bar:n"] == "3"
    assert row["prompt_hash"] == "0123456789abcdef" * 4
    assert row["limit"] == ""


def test_json_holds_everything() -> None:
    board = small_board("one", HOSTILE)
    fields = json.loads(as_json(board))
    assert set(fields) == set(Board.__struct_fields__)
    assert [set(row) for row in fields["rows"]] == [set(BoardRow.__struct_fields__)] * 2
    assert fields["rows"][1]["run"] == HOSTILE
    assert fields["rows"][0]["score"]["accuracy"] == 0.75


def test_hostile_names_stay_in_their_cells() -> None:
    board = small_board("one", HOSTILE)
    for line in as_markdown(board).splitlines():
        # 15 bars of the ranking's rows, 3 of the recipe's two columns; escaped ones don't count.
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in (15, 3)
    for line in as_latex(board).splitlines():
        if line.startswith(("{}1", "{}2")):
            assert len(re.findall(r"(?<!\\)&", line)) == 13
    one, other = csv.DictReader(io.StringIO(as_csv(board)))
    assert one.keys() == other.keys()
    assert other["run"] == HOSTILE.replace("\x1b", " ").replace("\n", " ")
    assert "\x1b" not in as_table(board)
    assert "\x1b" not in as_markdown(board) + as_latex(board) + as_csv(board) + as_json(board)


@pytest.mark.parametrize(
    ("text", "markdown", "latex"),
    [
        ("a_b", r"a\_b", r"a\_b"),
        ("a|b", r"a\|b", r"a\textbar{}b"),
        (r"a\|b", r"a\\\|b", r"a\textbackslash{}\textbar{}b"),
        ("50 %", "50 %", r"50 \%"),
        ("A&B", r"A\&B", r"A\&B"),
        ("&lt;", r"\&lt;", r"\&lt;"),
        ("#1", r"\#1", r"\#1"),
        ("<b>", r"\<b\>", r"\textless{}b\textgreater{}"),
        ("x--y", "x--y", r"x-{}-{}y"),
        ("~^", r"\~^", r"\textasciitilde{}\textasciicircum{}"),
        ("{$x$}", r"\{\$x\$\}", r"\{\$x\$\}"),
        ("a\nb\x00", "a b", "a b"),
        ("図表", "図表", "図表"),
    ],
)
def test_escaping(text: str, markdown: str, latex: str) -> None:
    assert escape_markdown(text) == markdown
    assert escape_latex(text) == latex


@pytest.mark.parametrize("name", ["=1+1", "+A1", "-2", "@SUM(A1)", "\t=1"])
def test_a_spreadsheet_does_not_run_a_name(name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(small_board(name))))
    assert row["run"] == f"'{name.strip()}"


def test_a_published_source_of_its_own_is_named() -> None:
    board = board_of(run_of("a", outcomes(range(9)), benchmark="finmme", split="train"))
    assert board.published is not None
    text = as_markdown(board)
    assert "| published model | source |" in text
    alike = replace(
        board.published, rows=tuple(row for row in board.published.rows if row.source == board.published.source)
    )
    assert "| published model | source |" not in as_markdown(replace(board, published=alike))


def test_repeats_and_other_conditions_are_no_further_samples() -> None:
    plain = outcomes(range(20))
    repeats = [replace(one, condition="repeat=1") for one in outcomes(range(40))]
    board = board_of(run_of("a", [*plain, *repeats], conditions=("", "repeat=1")))
    assert (board.rows[0].score.correct, board.rows[0].samples) == (20, 40)
    assert any("plain condition" in note for note in board.notes)
