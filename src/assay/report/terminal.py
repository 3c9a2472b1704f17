"""What a run says, printed: headline, counts, facets, differing rows, FinScore, and published models beside it.

Percent on the terminal, fractions in `--json`. Every number stands with the number of samples behind it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from assay.benchmarks.base import Benchmark
from assay.mark.finscore import FinScore, PaperFinScore, ReferenceFinScore
from assay.mark.judged import Judged
from assay.mark.summary import Cell, Counts, Differing, Headline, Summary
from assay.report.published import PublishedColumn, PublishedRow, PublishedTable, comparability, published_table
from assay.report.result import Result
from assay.report.tables import Column, bullets, heading, interval, line, make_console, percent, table
from assay.report.terminal_compare import print_comparison, print_ranking
from assay.report.terminal_controls import print_abstention, print_controls
from assay.report.terminal_judged import print_judged
from assay.report.terminal_scores import print_scores
from assay.report.terminal_stability import print_stability

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "print_comparison",
    "print_finscore",
    "print_published",
    "print_ranking",
    "print_result",
    "print_summary",
    "yours",
]

SMALL = 30  # samples below which an accuracy is flagged
SHOWN_ROWS = 10
SHOWN_VALUES = 60

PUBLISHED_SCRIPT = "the published script's verdicts, quirks included"
STRICT = "strict, the answer as the data writes it, in the form that was asked for"

_MEANING = {
    "right": "",
    "wrong": "",
    "unanswered": "a complete reply with no answer, or an ambiguous one",
    "truncated": "cut at the token limit before an answer",
    "refused": "withheld by a filter or a policy",
    "unmarkable": "a reply, but no way to tell (no gold, a comparison that timed out)",
    "failed": "no reply to mark",
}


def print_result(result: Result, benchmark: Benchmark, *, console: "Console | None" = None) -> None:
    """All there is to say about a run or a scored file: summary, FinScore, published models beside it."""
    console = console or make_console()
    title = f"{benchmark.title}\n{result.model} on {result.benchmark}, split {result.split}"
    # Data of one's own was published by nobody, so no script stands behind its `reference`.
    reference = PUBLISHED_SCRIPT if benchmark.links else STRICT
    notes = (*result.notes, *result.data)
    print_summary(result.summary, title=title, notes=notes, reference=reference, console=console)
    finscore = None
    if "finscore" in result.scores:
        finscore = msgspec.convert(result.scores["finscore"], FinScore)
        print_finscore(finscore, console=console)
    print_scores(result.scores, console=console)
    if result.stability is not None:
        print_stability(result.stability, console=console)
    if result.controls is not None:
        print_controls(result.controls, console=console)
    if result.abstention is not None:
        print_abstention(result.abstention, console=console)
    published = published_table(result.benchmark)
    if published:
        print_published(
            published,
            result.summary,
            name=result.model,
            finscore=finscore,
            scores=result.scores,
            split=result.split,
            console=console,
        )


def print_summary(
    summary: Summary,
    *,
    title: str,
    notes: Sequence[str] = (),
    reference: str = PUBLISHED_SCRIPT,
    console: "Console | None" = None,
) -> None:
    """The whole of a summary.

    Args:
        notes: what else a reader must know, such as facts about the data.
        reference: whose verdicts those are.
    """
    console = console or make_console()
    heading(console, title)
    _print_headline(console, summary, reference)
    _print_counts(console, summary)
    for facet in sorted(summary.facets, key=lambda name: (name != "question_type", name)):
        _print_facet(console, facet, summary.facets[facet])
    _print_differing(console, summary.differing)
    if notes or summary.notes:
        heading(console, "Notes")
        bullets(console, [*summary.notes, *notes])


def _print_headline(console: "Console", summary: Summary, reference: str) -> None:
    def row(name: str, score: Headline | Judged) -> list[str]:
        return [name, percent(score.accuracy), interval(score.low, score.high), f"{score.correct:,}", f"{score.n:,}"]

    columns = [Column(title="verdicts", number=False), *_numbers("accuracy %", "95 % interval", "right", "n")]
    table(
        console,
        columns,
        [
            row("reference", summary.reference),
            row("robust", summary.robust),
            *([row("judged", summary.judged)] if summary.judged else []),
        ],
    )
    line(console, f"reference: {reference}. robust: what is right.")
    if summary.judged:
        print_judged(summary.judged, console=console)
    methods = sorted({method for score in (summary.reference, summary.robust) if (method := score.method)})
    draws = f", {summary.resamples:,} resamples" if any("bootstrap" in method for method in methods) else ""
    line(
        console,
        f"Weights: {summary.weights}. Intervals: {' / '.join(methods) or 'none'}, "
        f"{summary.groups:,} groups in {summary.samples:,} samples{draws}.",
    )
    missing = summary.counts.failed + summary.counts.unmarkable
    if missing:
        line(
            console,
            f"Missing samples: on_missing={summary.on_missing}. Left out / counted as wrong: "
            f"reference {_both_ways(summary.reference)}, robust {_both_ways(summary.robust)}.",
        )


def _both_ways(score: Headline) -> str:
    return f"{percent(score.accuracy_failed_excluded)} / {percent(score.accuracy_failed_as_wrong)}"


def _print_counts(console: "Console", summary: Summary) -> None:
    heading(console, f"What became of {summary.samples:,} samples (robust verdicts)")
    counts = _as_dict(summary.counts)
    columns = [Column(title="status", number=False), *_numbers("samples", "%"), Column(title="meaning", number=False)]
    share = {name: percent(count / summary.samples) if summary.samples else "-" for name, count in counts.items()}
    table(console, columns, [[name, f"{count:,}", share[name], _MEANING[name]] for name, count in counts.items()])
    if summary.failures:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in summary.failures.items())
        line(console, f"Failed, by stage and kind: {kinds}.")


def _as_dict(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in counts.__struct_fields__}


def _print_facet(console: "Console", facet: str, cells: dict[str, Cell]) -> None:
    heading(console, f"By {facet.replace('_', ' ')}")
    columns = [
        Column(title=facet.replace("_", " "), number=False),
        *_numbers("n", "reference %", "robust %", "95 % (robust)"),
    ]
    shown = list(cells.items())[:SHOWN_VALUES]
    # Published verdicts have no robust side; else that is the one with an interval.
    counted = {value: cell.robust.n or cell.reference.n for value, cell in shown}
    partial = any(counted[value] < cell.n for value, cell in shown)
    if partial:
        columns.insert(1, Column(title="samples"))
    rows = [
        [
            value,
            *([f"{cell.n:,}"] if partial else []),
            f"{counted[value]:,}{'*' if counted[value] < SMALL else ' '}",
            percent(cell.reference.accuracy),
            percent(cell.robust.accuracy),
            interval(cell.robust.low, cell.robust.high),
        ]
        for value, cell in shown
    ]
    table(console, columns, rows)
    if len(cells) > len(shown):
        line(console, f"{len(cells) - len(shown):,} more values: --json lists them.")
    if partial:
        line(console, "n: the samples that have a robust verdict; its accuracy is over these.")
    if any(count < SMALL for count in counted.values()):
        line(console, f"* fewer than {SMALL} samples: read the interval, not the accuracy.")


def _print_differing(console: "Console", differing: Differing) -> None:
    heading(console, f"Where the verdicts differ: {differing.total:,} samples")
    if not differing.total:
        line(console, "reference and robust agree on every marked reply.")
        return
    only_reference, only_robust = differing.only_reference_right, differing.only_robust_right
    line(console, f"Right in robust only: {only_robust:,}. Right in reference only: {only_reference:,}.")
    columns = [Column(title=title, number=False) for title in ("sample", "reference", "robust", "why")]
    shown = differing.rows[:SHOWN_ROWS]
    table(console, columns, [[row.sample_id, row.reference, row.robust, row.reason] for row in shown])
    if differing.total > len(shown):
        line(console, f"{differing.total - len(shown):,} more: --json lists up to {len(differing.rows):,} of them.")


def _numbers(*titles: str) -> list[Column]:
    return [Column(title=title) for title in titles]


# --------------------------------------------------------------------------------------------------------------------
# FinScore


def print_finscore(score: FinScore, *, console: "Console | None" = None) -> None:
    """FinScore with all its parts: the script's definition first, then the paper's readings."""
    console = console or make_console()
    heading(console, "FinScore (the published script's definition)")
    columns = [
        Column(title="verdicts", number=False),
        *_numbers("FinScore %", "95 % interval", "domain mean %", "penalty %", "penalty n"),
    ]
    table(console, columns, [_reference_row(score.reference), _reference_row(score.robust)])
    line(console, "FinScore = domain mean x (1 - penalty). Only the reference row is comparable with published ones.")
    _print_parts(console, score.reference)
    heading(console, "FinScore as the paper writes it (gives other numbers; shown for completeness)")
    columns = [
        *(Column(title=title, number=False) for title in ("n counts", "P_H over")),
        *_numbers("FinScore %", "F %", "P_H %", "P_H n", "rows"),
    ]
    table(console, columns, [_paper_row(reading) for reading in score.paper])
    bullets(console, dict.fromkeys(reading.why_none for reading in score.paper if reading.why_none))


def _reference_row(score: ReferenceFinScore) -> list[str]:
    return [
        score.verdicts,
        percent(score.finscore),
        interval(score.low, score.high),
        percent(score.domain_mean),
        percent(score.penalty),
        f"{score.penalty_n:,}",
    ]


def _paper_row(score: PaperFinScore) -> list[str]:
    return [
        score.total.replace("_", " "),
        "all questions" if score.penalty_over == "all" else "choice questions",
        percent(score.finscore),
        percent(score.domain_mean),
        percent(score.penalty),
        f"{score.penalty_n:,}",
        f"{score.n:,}",
    ]


def _print_parts(console: "Console", score: ReferenceFinScore) -> None:
    notes = [
        f"Penalty: {score.penalty_errors:,} of {score.penalty_n:,} multiple-choice rows with several right answers "
        "are not right."
        if score.penalty_n
        else "Penalty: no multiple-choice row with several right answers, so 0.",
        f"Missing samples: on_missing={score.on_missing}. "
        + ", ".join(f"{name} {getattr(score.counts, name):,}" for name in list(_MEANING)[2:])
        + ".",
    ]
    if score.why_none:
        notes.insert(0, score.why_none)
        notes.append(
            f"Without domains: accuracy x (1 - penalty) = {percent(score.undomained)} %, over {score.n:,} rows. "
            "That is not a FinScore and not comparable with one."
        )
    elif score.without_domain:
        notes.append(f"{score.without_domain:,} of {score.n:,} rows name no domain and are in no domain's accuracy.")
    if score.lost_domains:
        names = ", ".join(score.lost_domains)
        notes.append(f"The domain mean is over too few domains, without {names}: no row there has a verdict.")
    bullets(console, notes)
    if score.domains:
        heading(console, f"Domains (each weighs 1/{len(score.domains)}, whatever its n; reference)")
        rows = [
            [name, f"{domain.n:,}{'*' if domain.n < SMALL else ' '}", f"{domain.correct:,}", percent(domain.accuracy)]
            for name, domain in score.domains.items()
        ]
        table(console, [Column(title="domain", number=False), *_numbers("n", "right", "accuracy %")], rows)
        if any(domain.n < SMALL for domain in score.domains.values()):
            line(console, f"* fewer than {SMALL} samples, yet a full share of the domain mean.")


# --------------------------------------------------------------------------------------------------------------------
# Published models


def yours(
    published: PublishedTable, summary: Summary, finscore: FinScore | None, scores: Mapping[str, Any] | None = None
) -> dict[str, float | None]:
    """A run's reference numbers for the columns of a published table, in percent; None where the run has none."""
    parts = [_cell(column, summary) for column in published.columns if column.facet]
    whole = {
        "accuracy": summary.reference.accuracy,
        "finscore": finscore.reference.finscore if finscore else None,
        "mean_of_columns": None if None in parts else sum(part or 0.0 for part in parts) / max(1, len(parts)),
    }

    def value(column: PublishedColumn) -> float | None:
        if column.score:
            return _score(column.score, scores or {})
        return _cell(column, summary) if column.whole is None else whole[column.whole]

    values = {column.key: value(column) for column in published.columns}
    return {key: None if value is None else 100 * value for key, value in values.items()}


def _score(path: Sequence[str], scores: Mapping[str, Any]) -> float | None:
    found: Any = scores
    for name in path:
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return found


def _cell(column: PublishedColumn, summary: Summary) -> float | None:
    wanted = (column.value or "").casefold()
    for value, cell in summary.facets.get(column.facet or "", {}).items():
        if value.casefold() == wanted:
            return cell.reference.accuracy
    return None


def print_published(
    published: PublishedTable,
    summary: Summary,
    *,
    name: str,
    finscore: FinScore | None = None,
    scores: Mapping[str, Any] | None = None,
    split: str | None = None,
    console: "Console | None" = None,
) -> None:
    """The published models, the run between them where it would stand, and what keeps them from being compared."""
    console = console or make_console()
    mine = yours(published, summary, finscore, scores)
    heading(console, f"Beside published results ({published.unit})")
    columns = [Column(title=title, number=False) for title in ("source", "model")]
    columns += _numbers(*(column.title for column in published.columns))
    rows = [["published", row.model, *_values(published, row.metrics)] for row in published.rows]
    rows.insert(_place(published.rows, published.sort_by, mine), ["yours", name, *_values(published, mine)])
    table(console, columns, rows)
    notes = comparability(
        published,
        samples=summary.samples,
        split=split,
        on_missing=summary.on_missing,
        failed=summary.counts.failed,
    )
    sources = dict.fromkeys([published.source, *(row.source for row in published.rows)])
    bullets(console, [*notes, published.note, f"Published by: {'; '.join(sources)}."])


def _values(published: PublishedTable, metrics: "dict[str, float | None] | dict[str, float]") -> list[str]:
    numbers = [metrics.get(column.key) for column in published.columns]
    return ["-" if number is None else f"{number:.2f}" for number in numbers]


def _place(rows: Sequence[PublishedRow], key: str, mine: dict[str, float | None]) -> int:
    """Above the first published row that isn't higher; on top where yours has no such number."""
    value = mine.get(key)
    if value is None:
        return 0
    return sum(row.metrics.get(key, -1.0) > value for row in rows)
