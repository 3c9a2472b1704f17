"""Two runs beside each other, and several in a ranking, printed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.mark.compare import Comparison, Ids
from assay.mark.ranking import Ranking
from assay.report.tables import Column, bullets, heading, interval, line, make_console, p_value, percent, table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["explain_places", "places", "print_comparison", "print_ranking", "tie_letter"]

SHOWN_IDS = 20


def print_comparison(
    comparison: Comparison, a: str, b: str, *, notes: Sequence[str] = (), console: "Console | None" = None
) -> None:
    """Run b against run a. `a`, `b`: what to call them, in the order in which they were compared."""
    console = console or make_console()
    heading(console, f"{b} against {a} ({comparison.mode} verdicts, on_missing={comparison.on_missing})")
    columns = [Column(title="run", number=False), *(Column(title=title) for title in ("accuracy %", "right", "pairs"))]
    right_a = comparison.both_right + comparison.lost.total
    right_b = comparison.both_right + comparison.gained.total
    table(
        console,
        columns,
        [
            [a, percent(comparison.accuracy_a), f"{right_a:,}", f"{comparison.pairs:,}"],
            [b, percent(comparison.accuracy_b), f"{right_b:,}", f"{comparison.pairs:,}"],
        ],
    )
    if comparison.difference is not None:
        _print_tests(console, comparison)
    heading(console, "Rows gained and lost")
    _print_ids(console, f"gained (only {b} right)", comparison.gained)
    _print_ids(console, f"lost (only {a} right)", comparison.lost)
    line(console, f"both right: {comparison.both_right:,}; neither: {comparison.neither_right:,}")
    _print_accounts(console, comparison, a, b)
    bullets(console, [*comparison.notes, *notes])


def _print_tests(console: "Console", comparison: Comparison) -> None:
    difference = comparison.difference or 0.0
    verdict = _verdict(comparison)
    line(
        console,
        f"Difference: {100 * difference:+.2f} points, 95 % interval {interval(comparison.low, comparison.high)} "
        f"({comparison.method}, {comparison.groups:,} groups). {verdict}",
    )
    columns = [Column(title="test", number=False), Column(title="p"), Column(title="used", number=False)]
    independent = comparison.p_method == "McNemar, exact"
    rows = [
        ["McNemar, exact (pairs independent)", p_value(comparison.p_mcnemar), "yes" if independent else ""],
        ["over groups (pairs share pictures)", p_value(comparison.p_groups), "" if independent else "yes"],
    ]
    table(console, columns, rows)
    if comparison.minimum_detectable_effect is not None:
        effect = 100 * comparison.minimum_detectable_effect
        line(
            console,
            f"A comparison like this one finds differences of {effect:.2f} points or more (80 % power, 5 % level).",
        )


def _verdict(comparison: Comparison) -> str:
    if comparison.p is None or comparison.p > 0.05:
        return "The runs can't be told apart."
    return "The second run is better." if (comparison.difference or 0.0) > 0 else "The second run is worse."


def _print_ids(console: "Console", title: str, ids: Ids) -> None:
    shown = ", ".join(ids.ids[:SHOWN_IDS])
    more = f" ... {ids.total - SHOWN_IDS:,} more: --json lists them" if ids.total > SHOWN_IDS else ""
    line(console, f"{title}: {ids.total:,}{': ' if shown else ''}{shown}{more}")


def _print_accounts(console: "Console", comparison: Comparison, a: str, b: str) -> None:
    missing = comparison.missing
    if comparison.only_in_a.total or comparison.only_in_b.total:
        heading(console, "Samples that only one run has (in no number)")
        _print_ids(console, f"only in {a}", comparison.only_in_a)
        _print_ids(console, f"only in {b}", comparison.only_in_b)
    if missing.only_a or missing.only_b or missing.both:
        treatment = "left out" if comparison.on_missing == "exclude" else "counted as not right"
        line(
            console,
            f"Without a verdict ({treatment}): {missing.only_a:,} in {a} only, {missing.only_b:,} in {b} only, "
            f"{missing.both:,} in both.",
        )


def print_ranking(ranking: Ranking, *, title: str, notes: Sequence[str] = (), console: "Console | None" = None) -> None:
    """Runs by accuracy, best first, with the places each may truly have and the groups that can't be told apart."""
    console = console or make_console()
    heading(console, f"{title} ({ranking.mode} verdicts, on_missing={ranking.on_missing})")
    columns = [
        *(Column(title=title) for title in ("place", "tie")),
        Column(title="run", number=False),
        *(Column(title=title) for title in ("accuracy %", "95 % interval", "right", "n")),
    ]
    rows = [
        [
            places(row.best_rank, row.worst_rank),
            tie_letter(row.tie_group),
            row.name,
            percent(row.score.accuracy),
            interval(row.score.low, row.score.high),
            f"{row.score.correct:,}",
            f"{row.score.n:,}",
        ]
        for row in ranking.rows
    ]
    table(console, columns, rows)
    bullets(
        console,
        [*explain_places(len(ranking.tests), ranking.alpha), *notes],
    )


def places(best: int, worst: int) -> str:
    """`1`, or `1-3` where the place is not certain."""
    return str(best) if best == worst else f"{best}-{worst}"


def explain_places(tests: int, alpha: float) -> list[str]:
    """What the columns `place` and `tie` say."""
    word = "test" if tests == 1 else "tests"
    return [
        "place: from one after the runs that are significantly better to one before those significantly worse.",
        "tie: runs with the same letter can't be told apart from the first one of that letter.",
        f"{tests:,} paired {word}, p-values adjusted together (Benjamini-Hochberg, {alpha:g}).",
    ]


def tie_letter(number: int) -> str:
    """1 is a, 26 is z, 27 is aa."""
    letters = ""
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("a") + place) + letters
    return letters
