"""What is printed: every number readable at 80 columns and in a pipe, nothing in the data taken for markup."""

import io
import itertools
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from assay.benchmarks import load_benchmark
from assay.mark.compare import compare
from assay.mark.finscore import FinScore, finscore
from assay.mark.ranking import rank
from assay.mark.summary import Summary, summarise
from assay.report.published import PublishedTable, published_table
from assay.report.result import Result
from assay.report.tables import PIPE_WIDTH, Column, bullets, heading, make_console, p_value, percent, plain, table
from assay.report.terminal import (
    print_comparison,
    print_finscore,
    print_published,
    print_ranking,
    print_result,
    print_summary,
    yours,
)
from assay.types import Outcome
from support.outcomes import FAILED, outcome, run


def printed(show: Callable[[Console], None], width: int = 80) -> str:
    out = io.StringIO()
    show(make_console(out, width=width))
    return out.getvalue()


def flat(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


def finmme_run() -> list[Outcome]:
    """Twelve groups of three: a right single choice, a multiple choice right in every other group, a failed number."""
    outcomes: list[Outcome] = []
    for group in range(12):
        common = {"knowledge_domain": "Pharmaceuticals & Biotechnology" if group % 3 else "TMT"}
        multiple = {**common, "question_type": "multiple_choice", "multi_answer": "yes"}
        verdict = "right" if group % 2 else "wrong"
        detail = {"gold": "A,C", "options": "4"}
        name, where = f"g{group}", str(group)
        outcomes += [
            outcome(f"{group}-1", "right", group=name, question_type="single_choice", facets=common),
            outcome(
                f"{group}-2",
                verdict,
                group=name,
                extraction="A,C" if group % 2 else where,
                detail=detail,
                facets=multiple,
            ),
            outcome(f"{group}-3", FAILED, group=name, question_type="numerical", facets=common),
        ]
    return outcomes


def finmme_table() -> PublishedTable:
    found = published_table("finmme")
    assert found is not None
    return found


def everything(console: Console) -> None:
    """All that can be printed, over data with awkward names."""
    outcomes = finmme_run()
    summary, score = summarise(outcomes, on_missing="exclude", expected=40), finscore(outcomes, on_missing="exclude")
    name = "openai:a-model-with-a-rather-long-name-and-a-date-2024-11-20@http://127.0.0.1:8000/v1"
    print_summary(summary, title=f"FinMME\n{name}", notes=("15 rows have no related sentences.",), console=console)
    print_finscore(score, console=console)
    print_published(finmme_table(), summary, name=name, finscore=score, split="train", console=console)
    other = [outcome(f"{group}-{part}", "right", group=f"g{group}") for group in range(12) for part in (1, 2)]
    print_comparison(compare(outcomes, other, on_missing="wrong"), name, "runs/b", console=console)
    print_ranking(rank({name: outcomes, "b": other}, on_missing="wrong"), title="Ranking", console=console)


# --------------------------------------------------------------------------------------------------------------------
# Width, pipes, hostile text


@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for text in printed(everything, width).splitlines():
        assert cell_len(text) <= width
        assert text == text.rstrip()


def test_no_number_is_cut_or_split_at_any_width() -> None:
    """The same numbers come out at 40, 80 and 200 columns; only where they stand differs."""

    def numbers(width: int) -> set[str]:
        return set(re.findall(r"(?<![\w.-])\d[\d,]*\.\d\d(?![\w.])", printed(everything, width)))

    assert len(numbers(200)) > 100
    assert numbers(40) == numbers(80) == numbers(200)


def test_a_pipe_gets_no_colours_and_a_fixed_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "37")  # the environment, not our code: a pipe must not depend on it
    file = tmp_path / "out.txt"
    with file.open("w", encoding="utf-8") as out:
        console = make_console(out)
        assert console.width == PIPE_WIDTH
        everything(console)
    text = file.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert "…" not in text


def test_text_from_a_model_or_a_file_is_only_text() -> None:
    reason = "the reply says [bold red]Answer[/bold red]: \x1b[2J:smile: \u202eabc\nnext"
    outcomes = [outcome("[/x]", "right", "wrong", difference=reason, facets={"[red]facet": "[link=x]"})]
    text = printed(lambda console: print_summary(summarise(outcomes, on_missing="wrong"), title="[b]", console=console))
    assert "[bold red]Answer[/bold red]" in text
    assert ":smile:" in text
    assert "[/x]" in text
    assert "[link=x]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(st.text(max_size=40))
def test_plain_text_is_printable(text: str) -> None:
    assert all(char.isprintable() for char in plain(text))


def test_wide_characters_keep_columns_in_line() -> None:
    columns = [Column(title="模型", number=False), Column(title="n")]
    rows = [["通义千问视觉语言模型", "1,234"], ["a", "5"]]
    lines = printed(lambda console: table(console, columns, rows), 40).splitlines()
    assert {cell_len(line) for line in lines} == {27}  # ten characters of two cells, two blanks, five digits


def test_a_table_that_does_not_fit_is_split_with_its_names() -> None:
    columns = [Column(title="name", number=False), *(Column(title=f"column{i}") for i in range(4))]
    text = printed(lambda console: table(console, columns, [["a rather long name", "1", "2", "3", "4"]]), 34)
    # Two numbers of 2 + 7 cells fit beside the 12 that a text needs at least, three don't; 16 are left for the text.
    assert text.splitlines() == [
        "name              column0  column1",
        "----------------------------------",
        "a rather long           1        2",
        "name",
        "",
        "name              column2  column3",
        "----------------------------------",
        "a rather long           3        4",
        "name",
    ]


STRATEGIES = ("greedy", "self-consistency@8", "best-of-8", "Refined-BoN@8", "ceiling: refined pass@16")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_label_breaks_within_a_word(width: int) -> None:
    titles = ("n", "reference %", "robust %", "95 % (robust)", "minus greedy", "95 %", "p", "minus self-cons.", "95 %")
    columns = [Column(title="strategy", number=False), *(Column(title=title) for title in titles)]
    rows = [[label, *("[-10.00, 10.00]" for _ in titles)] for label in STRATEGIES]
    lines = printed(lambda console: table(console, columns, rows), width).splitlines()
    starts = [line.split("  ")[0].strip() for line in lines if line]
    assert max(map(cell_len, lines)) <= width
    for word in (word for label in STRATEGIES for word in label.split()):
        assert any(word in start.split() for start in starts), word


def test_a_word_longer_than_half_a_line_breaks_and_others_do_not() -> None:
    columns = [Column(title="run", number=False), Column(title="n")]
    rows = [["runs/2026/the-model-with-a-long-name", "1"], ["self-consistency@8", "2"]]
    lines = printed(lambda console: table(console, columns, rows), 36).splitlines()
    # 33 cells are left beside the number and its gap. The path takes 36, the label 18.
    assert lines[-1] == f"self-consistency@8{' ' * 17}2"
    assert [len(line) for line in lines[2:4]] == [36, 3]


def test_text_that_leaves_no_room_for_numbers_breaks() -> None:
    columns = [Column(title="left", number=False), Column(title="right", number=False), Column(title="number")]
    lines = printed(lambda console: table(console, columns, [["a" * 20, "b" * 18, "123456"]]), 40).splitlines()
    # 40 less 2 + 6 for the number and 2 between the texts: 30 cells for 38 letters, and the longer word gives.
    assert lines[2:] == [f"{'a' * 12}  {'b' * 18}  123456", "a" * 8]


@pytest.mark.parametrize("width", [26, 40, 60, 80, 100])
@pytest.mark.parametrize("number", [None, 0, 1, 8])
def test_text_that_is_too_wide_by_itself_is_split_with_its_first_column(width: int, number: int | None) -> None:
    """As the recipes of runs that differ in everything."""
    columns = [Column(title=f"setting-{place}", number=place == number) for place in range(9)]
    rows = [[f"{name}{place}" if place != number else "12" for place in range(9)] for name in ("one-", "another-")]
    lines = printed(lambda console: table(console, columns, rows), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    first = 1 if number == 0 else 0
    parts = [list(part) for blank, part in itertools.groupby(lines, key=lambda line: not line) if not blank]
    for part in parts:
        assert [any(cell in line.split() for line in part) for cell in (f"one-{first}", f"another-{first}")] == [
            True
        ] * 2
    words = [word for line in lines for word in line.split()]
    for place in range(9):
        assert f"setting-{place}" in words
        assert "12" in words if place == number else {f"one-{place}", f"another-{place}"} <= set(words)


def test_text_that_just_fits_is_one_table() -> None:
    columns = [Column(title=title, number=False) for title in "abc"]
    rows = [["x" * 12, "y" * 12, "z" * 12]]
    one = printed(lambda console: table(console, columns, rows), 40).splitlines()
    assert one[-1] == f"{'x' * 12}  {'y' * 12}  {'z' * 12}"  # 3 * 12 cells and two gaps
    two = printed(lambda console: table(console, columns, rows), 39).splitlines()
    assert [line for line in two if "x" in line] == [f"{'x' * 12}  {'y' * 12}", f"{'x' * 12}  {'z' * 12}"]


def test_bullets_hang() -> None:
    text = printed(lambda console: bullets(console, ["one two three four", "five"]), 12)
    assert text == "- one two\n  three four\n- five\n"


def test_a_heading_of_two_lines() -> None:
    assert printed(lambda console: heading(console, "FinMME\nruns/try")) == "\nFinMME\nruns/try\n"


def test_formats() -> None:
    assert (percent(0.55591), percent(1.0), percent(None)) == ("55.59", "100.00", "-")
    assert (p_value(0.0123), p_value(0.0004), p_value(1.0), p_value(None)) == ("0.012", "<0.001", "1.000", "-")


# --------------------------------------------------------------------------------------------------------------------
# A summary


def small_summary() -> Summary:
    """Of 8 samples 2 are right, by the script 2 others; one each wrong, unanswered, truncated, refused, ..."""
    return summarise(
        [
            outcome("1", "right"),
            outcome("2", "right", "wrong", difference="first run only"),
            outcome("3", "wrong", level="2"),
            outcome("4", "unanswered", level="10"),
            outcome("5", "unanswered", finish="length"),
            outcome("6", "unanswered", finish="filter"),
            outcome("7", "unmarkable", "right", difference="the row has no answer"),
            outcome("8", FAILED),
        ],
        on_missing="exclude",
    )


def test_the_headline_holds_both_accuracies_with_interval_and_n() -> None:
    text = printed(lambda console: print_summary(small_summary(), title="Run", console=console))
    # 2 of 7 and 2 of 6; Wilson for 2 of 6: [9.68, 70.00].
    assert re.search(r"^reference +28\.57 +\[\d+\.\d\d, \d+\.\d\d\] +2 +7$", text, re.MULTILINE)
    assert re.search(r"^robust +33\.33 +\[9\.68, 70\.00\] +2 +6$", text, re.MULTILINE)
    assert "every sample counts once" in text
    assert "8 groups in 8 samples" in text
    ways = "Left out / counted as wrong: reference 28.57 / 25.00, robust 33.33 / 25.00."
    assert f"Missing samples: on_missing=exclude. {ways}" in flat(text)


def test_every_status_is_counted() -> None:
    text = printed(lambda console: print_summary(small_summary(), title="Run", console=console))
    for name, count in msgspec.structs.asdict(small_summary().counts).items():
        assert re.search(rf"^{name} +{count} +{100 * count / 8:.2f}\b", text, re.MULTILINE)
    assert "Failed, by stage and kind: call/timeout 1." in text


def test_facets_are_tabled_with_small_ones_flagged() -> None:
    text = printed(lambda console: print_summary(small_summary(), title="Run", console=console))
    assert re.search(r"^By level\n.*\n-+\n2 +1\* +0\.00 +0\.00 .*\n10 +1\* ", text, re.MULTILINE)
    assert "* fewer than 30 samples" in text


def test_a_facet_says_how_many_samples_its_accuracy_is_over() -> None:
    """40 samples of which 35 failed: flagged, though 40 are enough."""
    outcomes = [outcome(str(i), "right" if i < 2 else "wrong" if i < 5 else FAILED, level="1") for i in range(40)]
    text = printed(lambda c: print_summary(summarise(outcomes, on_missing="exclude"), title="", console=c))
    assert re.search(r"^level +samples +n +reference %", text, re.MULTILINE)
    assert re.search(r"^1 +40 +5\* +40\.00 +40\.00 ", text, re.MULTILINE)  # 2 of 5
    assert "its accuracy is over these" in text
    wrong = printed(lambda c: print_summary(summarise(outcomes, on_missing="wrong"), title="", console=c))
    assert re.search(r"^level +n +reference %", wrong, re.MULTILINE)
    assert re.search(r"^1 +40 +5\.00 +5\.00 ", wrong, re.MULTILINE)  # 2 of 40


def test_differing_rows_are_shown_with_reasons_and_the_rest_is_counted() -> None:
    text = printed(lambda console: print_summary(small_summary(), title="Run", console=console))
    assert "Where the verdicts differ: 2 samples" in text
    assert re.search(r"^2 +wrong +right +first run only$", text, re.MULTILINE)
    assert re.search(r"^7 +right +unmarkable +the row has no answer$", text, re.MULTILINE)
    many = summarise([outcome(str(i), "right", "wrong") for i in range(25)], on_missing="wrong")
    assert "15 more: --json lists up to 25 of them." in printed(lambda c: print_summary(many, title="", console=c))
    none = summarise([outcome("1", "right")], on_missing="wrong")
    assert "agree on every marked reply" in printed(lambda c: print_summary(none, title="", console=c))


def test_an_empty_run_prints_dashes() -> None:
    text = printed(lambda console: print_summary(summarise([], on_missing="wrong"), title="Run", console=console))
    assert re.search(r"^robust +- +- +0 +0$", text, re.MULTILINE)


def test_notes_of_the_data_and_of_the_summary_are_printed() -> None:
    summary = summarise([outcome("1", "right")], on_missing="wrong", expected=2)
    text = printed(lambda console: print_summary(summary, title="Run", notes=("two rows lack gold",), console=console))
    assert "- Not complete: 1 of 2 samples" in text
    assert "- two rows lack gold" in text


# --------------------------------------------------------------------------------------------------------------------
# FinScore and published models


def test_finscore_with_all_its_parts() -> None:
    """Failed numbers left out: TMT (groups 0, 3, 6, 9) has 4 right singles and 2 right multiples of 8 rows, the other
    domain 8 and 4 of 16. Domain accuracies 6/8 and 12/16, mean 75 %. Penalty: 6 of 12. FinScore 37.5 %.
    """
    text = printed(lambda console: print_finscore(finscore(finmme_run(), on_missing="exclude"), console=console))
    assert re.search(r"^reference +37\.50 +\[.*\] +75\.00 +50\.00 +12$", text, re.MULTILINE)
    assert "Penalty: 6 of 12 multiple-choice rows" in text
    assert "unanswered 0, truncated 0, refused 0, unmarkable 0, failed 12" in flat(text)
    assert "each weighs 1/2" in text
    assert re.search(r"^TMT +8\* +6 +75\.00$", text, re.MULTILINE)
    # Paper, n = correct options: F = 0.75 as well, and i / s = 1 in 6 of 24 rows: 0.75 * 0.75.
    assert re.search(r"^correct options +all questions +56\.25 +75\.00 +25\.00 +24 +24$", text, re.MULTILINE)


def test_without_domains_the_other_number_has_another_name() -> None:
    score = finscore([outcome("1", "right", question_type="single_choice")], on_missing="exclude")
    text = printed(lambda console: print_finscore(score, console=console))
    assert re.search(r"^reference +- +- +- +0\.00 +0$", text, re.MULTILINE)
    assert "no row here names one" in text
    assert "accuracy x (1 - penalty) = 100.00 %" in text
    assert "not a FinScore" in flat(text)


def test_yours_fills_the_published_columns() -> None:
    outcomes = finmme_run()
    mine = yours(finmme_table(), summarise(outcomes, on_missing="wrong"), finscore(outcomes, on_missing="wrong"))
    # 18 of 36 rows right; TMT 6 of 12, the other domain 12 of 24: 50 % times one minus 6 / 12.
    assert mine["single"] == 100.0
    assert mine["multiple"] == 50.0
    assert mine["numerical"] == 0.0
    assert mine["accuracy"] == 50.0
    assert mine["finscore"] == 25.0
    assert mine["reasoning"] is mine["average"] is None  # no cognitive levels in this run: no mean of six columns


def test_yours_fills_a_column_from_the_benchmarks_own_scores() -> None:
    table = published_table("dynamath")
    assert table is not None
    summary = summarise([outcome("1", "right"), outcome("2", "wrong")], on_missing="wrong")
    scores = {"dynamath": {"reference": {"worst_case_accuracy": 0.25}, "robust": {"worst_case_accuracy": 0.5}}}
    assert yours(table, summary, None, scores) == {"average": 50.0, "worst": 25.0}
    assert yours(table, summary, None) == {"average": 50.0, "worst": None}
    text = printed(lambda c: print_published(table, summary, name="mine", scores=scores, console=c))
    assert re.search(r"^yours +mine +50\.00 +25\.00$", text, re.MULTILINE)


def test_published_models_are_labelled_and_yours_stands_among_them() -> None:
    outcomes = [row for row in finmme_run() if not row.sample_id.endswith("-1")]  # 6 of 24, FinScore 12.5 %
    summary, score = summarise(outcomes, on_missing="wrong"), finscore(outcomes, on_missing="wrong")
    assert isinstance(score, FinScore)
    text = printed(
        lambda console: print_published(
            finmme_table(), summary, name="mine", finscore=score, split="train", console=console
        ),
        200,
    )
    rows = [line for line in text.splitlines() if line.startswith(("published", "yours"))]
    assert len(rows) == 19
    # DouBao-1.5V Pro 15.03, mine 12.50, GPT-4o Mini 11.70.
    models = [re.split(r"  +", row)[1] for row in rows]
    place = models.index("mine")
    assert models[place - 1 : place + 2] == ["DouBao-1.5V Pro", "mine", "GPT-4o Mini"]
    assert [row.partition(" ")[0] for row in rows].count("published") == 18
    assert "Published: 11,099 samples; yours: 24." in text
    assert "arXiv 2505.24714" in text


def test_a_result_prints_everything_in_one_go() -> None:
    outcomes, benchmark = finmme_run(), load_benchmark("finmme")
    result = Result(
        benchmark="finmme",
        split="train",
        revision="0" * 64,
        model="scripted:demo",
        data=("2 rows have no answer",),
        notes=("replies taken as answers",),
        summary=summarise(outcomes, on_missing="exclude"),
        scores=benchmark.scores(outcomes, "exclude"),
    )
    text = printed(lambda console: print_result(result, benchmark, console=console))
    for expected in (
        "scripted:demo",
        "2 rows have no answer",
        "replies taken as answers",
        "FinScore",
        "Beside published",
    ):
        assert expected in text


# --------------------------------------------------------------------------------------------------------------------
# Comparison and ranking


def test_a_comparison_shows_gains_losses_and_accounts() -> None:
    a = [outcome(name, "right" if name in "abc" else "wrong") for name in "abcdefgh"]
    b = [outcome(name, "right" if name in "bcdef" else "wrong") for name in "abcdefgi"] + [outcome("h", FAILED)]
    comparison = compare(a, b, on_missing="wrong")
    text = printed(
        lambda console: print_comparison(comparison, "runs/a", "runs/b", notes=("old data",), console=console)
    )
    assert re.search(r"^runs/a +37\.50 +3 +8$", text, re.MULTILINE)
    assert re.search(r"^runs/b +62\.50 +5 +8$", text, re.MULTILINE)
    assert "Difference: +25.00 points" in text
    assert "gained (only runs/b right): 3: d, e, f" in text
    assert "lost (only runs/a right): 1: a" in text
    assert "only in runs/b: 1: i" in text
    assert "Without a verdict (counted as not right): 0 in runs/a only, 1 in runs/b only" in text
    # 4 discordant pairs, 1 one way: 2 * (1 + 4) / 16 = 0.625.
    assert re.search(r"^McNemar.* 0\.625 +yes$", text, re.MULTILINE)
    assert "can't be told apart" in text
    assert "- old data" in text


def test_long_lists_of_ids_are_shortened_and_counted() -> None:
    a, b = list(run(60, 0.0, seed=0)), list(run(60, 1.0, seed=0))
    text = printed(lambda c: print_comparison(compare(a, b, on_missing="wrong"), "a", "b", console=c))
    assert "gained (only b right): 60: 0, 1, 2," in text
    assert "40 more" in text
    assert "The second run is better." in text


def test_nothing_to_compare_prints_a_sentence() -> None:
    comparison = compare([outcome("1", "right")], [outcome("2", "right")], on_missing="wrong")
    text = printed(lambda console: print_comparison(comparison, "a", "b", console=console))
    assert "nothing to compare" in text
    assert "Difference" not in text


def test_a_ranking_with_places_and_ties() -> None:
    runs = {
        "good": list(run(300, 0.8, seed=1)),
        "same": list(run(300, 0.8, seed=1)),
        "poor": list(run(300, 0.4, seed=2)),
    }
    ranking = rank(runs, on_missing="wrong", resamples=200)
    text = printed(lambda console: print_ranking(ranking, title="Three runs", console=console))
    assert re.search(r"^ +1-2 +a +good ", text, re.MULTILINE)
    assert re.search(r"^ +1-2 +a +same ", text, re.MULTILINE)
    assert re.search(r"^ +3 +b +poor ", text, re.MULTILINE)
    assert "3 paired tests" in text
