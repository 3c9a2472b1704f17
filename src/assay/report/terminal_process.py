"""What a test of a critic prints: the score and its floors first, then what it is made of and must be read with."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.mark.steps import Estimate, StepScores
from assay.report.published import NOT_RANKED, published_table
from assay.report.tables import Column, bullets, heading, interval, line, make_console, percent, table
from assay.train.corrections import Corrections, CorrectionScores
from assay.train.process_result import ProcessResult

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_process"]

_NAMES = {"macro": "macro F1", "harmonic": "ProcessBench F1", "weighted": "weighted F1"}
_POINTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the curve; all of it is in the JSON


def print_process(result: ProcessResult, *, console: "Console | None" = None) -> None:
    """The whole result."""
    console = console or make_console()
    heading(console, f"{result.critic}\non {result.set}, {result.file}")
    _print_counts(console, result)
    _print_score(console, result)
    _print_steps(console, result)
    _print_first_errors(console, result)
    _print_whole(console, result)
    _print_thresholds(console, result)
    _print_calibration(console, result)
    if result.corrections is not None:
        _print_corrections(console, result.corrections)
    _print_cost(console, result)
    _print_published(console, result)
    if result.notes:
        heading(console, "Notes")
        bullets(console, result.notes)


def _print_counts(console: "Console", result: ProcessResult) -> None:
    parts = [f"{result.solutions:,} solutions, {result.judged:,} judged"]
    parts += [f"{count:,} {kind}" for kind, count in result.unjudged.items()]
    if result.odd:
        parts.append(f"{result.odd:,} rows of the file could not be read and are left out")
    how = "count as answered wrong" if result.on_missing == "wrong" else "are left out"
    line(console, ", ".join(parts) + ".")
    if result.unjudged:
        line(console, f"Solutions without a critique {how} (--on-missing {result.on_missing}).")
        bullets(console, (f"{count:,} x {reason}" for reason, count in result.reasons.items()))


def _print_score(console: "Console", result: ProcessResult) -> None:
    heading(console, f"Score: {_NAMES[result.headline]}, %")
    rows = [["this critic", *_estimate(result.score), percent(result.other_missing.value)]]
    rows += [
        [f"floor: {name}", percent(getattr(floor, result.headline)), "-", "-", "-"]
        for name, floor in result.floors.items()
    ]
    other = "wrong" if result.on_missing == "exclude" else "exclude"
    titles = (_NAMES[result.headline], "95 % interval", "n", f"missing: {other}")
    table(console, [Column(title="", number=False), *_columns(*titles)], rows)
    chosen = result.threshold
    if chosen.how == "fixed":
        line(console, f"A step is right with a score above {chosen.value:g}, fixed beforehand.")
    else:
        line(
            console,
            f"A step is right with a score above {chosen.value:g}: the best {_NAMES[chosen.by or 'macro']} "
            f"({percent(chosen.score)}) on {chosen.solutions:,} solutions of {chosen.on}.",
        )
    if result.own_macro is not None:
        line(console, f"By the critic's own words, whatever the scores: macro F1 {percent(result.own_macro)}.")


def _print_steps(console: "Console", result: ProcessResult) -> None:
    if result.whole:
        return
    heading(console, "Steps, %")
    titles = ("macro F1", "95 % interval", "F1 right", "F1 wrong", "right", "wrong", "neutral", "unjudged")
    parts = {"all": result.steps.pooled} | (result.steps.by_source if len(result.steps.by_source) > 1 else {})
    rows = [[_source(result, name), *_step_cells(scores)] for name, scores in parts.items()]
    table(console, [Column(title="source", number=False), *_columns(*titles)], rows)
    if result.mean_of_sources is not None and len(parts) > 1:
        line(console, f"Mean of the sources' macro F1: {percent(result.mean_of_sources)}.")
    if result.groups:
        means = ", ".join(f"{group} {percent(value)}" for group, value in result.groups.items())
        line(console, f"Means of the sources' macro F1 by group: {means}.")
    weighted = result.weighted.weighted
    if result.headline == "weighted":
        line(console, f"Weighted F1: {_with_interval(weighted)}.")
    line(console, f"AUC of step scores: {_with_interval(result.auc)}.")


def _step_cells(scores: StepScores) -> list[str]:
    return [
        percent(scores.macro.value),
        interval(scores.macro.low, scores.macro.high),
        percent(scores.right.f1.value),
        percent(scores.wrong.f1.value),
        f"{scores.right.n:,}",
        f"{scores.wrong.n:,}",
        f"{scores.neutral:,}",
        f"{scores.unjudged_steps:,}",
    ]


def _print_first_errors(console: "Console", result: ProcessResult) -> None:
    if result.whole:
        return
    heading(console, "First errors, %")
    titles = ("F1", "95 % interval", "erroneous", "n", "all right", "n", "exact", "not said")
    found = result.first_errors
    parts = {"all": found.pooled} | (found.by_source if len(found.by_source) > 1 else {})
    rows = [
        [
            _source(result, name),
            percent(scores.harmonic.value),
            interval(scores.harmonic.low, scores.harmonic.high),
            percent(scores.erroneous.value),
            f"{scores.erroneous.n:,}",
            percent(scores.correct.value),
            f"{scores.correct.n:,}",
            percent(scores.overall.value),
            f"{scores.unjudged:,}",
        ]
        for name, scores in parts.items()
    ]
    table(console, [Column(title="source", number=False), *_columns(*titles)], rows)
    line(
        console,
        "F1 here is ProcessBench's: the harmonic mean of the accuracies on erroneous and on all-right solutions.",
    )


def _print_whole(console: "Console", result: ProcessResult) -> None:
    told = result.solutions_told
    if not told.verdicts.right.n or not told.verdicts.wrong.n:
        return
    heading(console, "Solutions without an error told from those with one, %")
    titles = ("macro F1", "95 % interval", *(f"AUC {rule}" for rule in told.auc))
    cells = [percent(told.verdicts.macro.value), interval(told.verdicts.macro.low, told.verdicts.macro.high)]
    table(console, _columns(*titles), [[*cells, *(percent(one.value) for one in told.auc.values())]])


def _print_thresholds(console: "Console", result: ProcessResult) -> None:
    if result.whole or not result.calibration.n:
        return
    heading(console, "Thresholds, %")
    titles = ("threshold", "F1 right", "F1 wrong", "macro F1", "ProcessBench F1")
    at = {point.threshold: point for point in result.curve}
    rows = [
        [f"{wanted:g}", *(percent(value) for value in (point.f1_right, point.f1_wrong, point.macro, point.harmonic))]
        for wanted in _POINTS
        if (point := at.get(wanted)) is not None
    ]
    table(console, _columns(*titles), rows)
    bounds = [
        f"{_source(result, source) or 'all'}: {_NAMES[by]} {percent(bound.score)} at {bound.threshold:g}"
        for source, found in result.bounds.items()
        if source == "" or len(result.bounds) > 2
        for by, bound in found.items()
        if by == ("harmonic" if result.headline == "harmonic" else "macro")
    ]
    line(console, "Upper bounds, each at the threshold that is best on the very solutions it is scored on:")
    bullets(console, bounds)


def _print_calibration(console: "Console", result: ProcessResult) -> None:
    found = result.calibration
    if not found.n:
        return
    heading(console, "Calibration of step scores, %")
    rows = [
        [
            f"{one.low:.1f} to {one.high:.1f}",
            f"{one.n:,}",
            percent(one.mean_score),
            percent(one.right.value),
            interval(one.right.low, one.right.high),
        ]
        for one in found.bins
        if one.n
    ]
    titles = ("steps", "mean score", "share right", "95 % interval")
    table(console, [Column(title="scores", number=False), *_columns(*titles)], rows)
    line(console, f"Expected calibration error: {_with_interval(found.error)} over {found.n:,} steps.")


def _print_corrections(console: "Console", found: Corrections) -> None:
    heading(console, f"Corrections: does {found.policy} get there more often from the corrected step? %")
    titles = ("solutions", "as it was", "corrected", "gain", "95 % interval", "helped", "harmed")
    parts: dict[str, CorrectionScores] = {
        "all": found.all,
        "steps labelled wrong": found.true_errors,
        "steps labelled right": found.false_alarms,
        "steps without a label": found.unlabelled,
    }
    rows = [
        [
            name,
            f"{one.pairs:,}",
            percent(one.before),
            percent(one.after),
            percent(one.gain),
            interval(one.low, one.high),
            f"{one.helped:,}",
            f"{one.harmed:,}",
        ]
        for name, one in parts.items()
        if one.pairs or name == "all"
    ]
    table(console, [Column(title="corrected", number=False), *_columns(*titles)], rows)
    line(
        console,
        f"{found.continuations} continuations of each prefix, marked by {found.marked_by}. The critic found an error "
        f"in {found.flagged:,} solutions and corrected nothing in {found.uncorrected:,}; {found.no_gold:,} have no "
        f"right answer; of {found.tried:,} tried {found.failed:,} failed and {found.unmarked:,} could not be marked. "
        f"{found.restarted:,} continuations began anew and say nothing. The policy used {found.prompt_tokens:,} + "
        f"{found.completion_tokens:,} tokens.",
    )


def _print_cost(console: "Console", result: ProcessResult) -> None:
    spent = result.spent
    if not spent.calls:
        return
    each = max(1, spent.solutions)
    money = "" if spent.money is None else f"; {spent.money} in all"
    unreported = f"; tokens of {spent.unreported:,} solutions are not reported" if spent.unreported else ""
    heading(console, "Cost")
    line(
        console,
        f"Per solution: {spent.calls / each:.2f} calls, {spent.prompt_tokens / each:,.0f} + "
        f"{spent.completion_tokens / each:,.0f} tokens; over {spent.solutions:,} solutions{money}{unreported}.",
    )


def _print_published(console: "Console", result: ProcessResult) -> None:
    published = published_table(result.set)
    if published is None:
        return
    heading(console, "Beside published results, %")
    mine = result.score.value
    rows = [["published", row.model, f"{row.metrics[published.sort_by]:.1f}"] for row in published.rows]
    place = 0 if mine is None else sum(row.metrics[published.sort_by] > 100 * mine for row in published.rows)
    rows.insert(place, ["yours", result.critic, percent(mine)])
    columns = [Column(title="source", number=False), Column(title="model", number=False)]
    table(console, [*columns, Column(title=_NAMES[result.headline])], rows)
    notes = [NOT_RANKED]
    if result.solutions != published.samples:
        notes.append(f"Published: {published.samples:,} solutions; yours: {result.solutions:,}.")
    bullets(console, [*notes, published.note, f"Published by: {published.source}."])


def _source(result: ProcessResult, source: str) -> str:
    """A source without the set's name, which stands above."""
    return source.removeprefix(f"{result.set}/")


def _columns(*titles: str) -> list[Column]:
    return [Column(title=title) for title in titles]


def _estimate(found: Estimate) -> Sequence[str]:
    return percent(found.value), interval(found.low, found.high), f"{found.n:,}"


def _with_interval(found: Estimate) -> str:
    bounds = "" if found.low is None else f" {interval(found.low, found.high)}"
    return f"{percent(found.value)}{bounds}"
