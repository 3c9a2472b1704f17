"""What a judge says, printed: whose verdicts they are, what it had no verdict on, how far it agrees."""

from typing import TYPE_CHECKING

from assay.mark.agreement import Agreement
from assay.mark.judged import Judged
from assay.report.tables import Column, heading, interval, line, make_console, percent, table

if TYPE_CHECKING:
    from rich.console import Console

    from assay.judging.checking import Checked

__all__ = ["print_checked", "print_judged"]


def print_judged(judged: Judged, *, console: "Console | None" = None) -> None:
    """The lines below the accuracies that a judge's one needs to be read."""
    console = console or make_console()
    line(console, f"judged: the verdicts of {judged.judge}, prompt {judged.prompt_hash[:12]}; they change neither.")
    counts = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in judged.counts.items())
    line(console, f"The judge's verdicts: {counts}.")
    if judged.reasons:
        why = "; ".join(f"{count:,} x {reason}" for reason, count in judged.reasons.items())
        line(console, f"Unmarkable, in no accuracy: {why}.")
    line(console, f"Judge and robust: {agreement_words(judged.agreement)}.")


def agreement_words(agreement: Agreement) -> str:
    """Raw agreement, kappa and AC1 in one line."""
    if agreement.observed is None:
        return "nothing that both have a verdict on"
    kappa = "undefined (one label throughout)" if agreement.kappa is None else f"{agreement.kappa:.3f}"
    bounds = f" ({agreement.low:.3f} to {agreement.high:.3f})" if agreement.low is not None else ""
    ac1 = "" if agreement.ac1 is None else f", AC1 {agreement.ac1:.3f}"
    return f"{percent(agreement.observed)} % of {agreement.n:,} alike, Cohen's kappa {kappa}{bounds}{ac1}"


def print_checked(checked: "Checked", *, console: "Console | None" = None) -> None:
    """How well a judge agrees with gold labels."""
    console = console or make_console()
    heading(console, f"{checked.judge} against the labels of {checked.file}")
    score = checked.score
    numbers = [Column(title=title) for title in ("accuracy %", "95 % interval", "right", "n")]
    table(
        console,
        numbers,
        [[percent(score.accuracy), interval(score.low, score.high), f"{score.correct:,}", f"{score.n:,}"]],
    )
    agreement = checked.agreement
    line(console, f"Judge and labels: {agreement_words(agreement)}.")
    if agreement.labels:
        heading(console, "Confusion (rows: the label, columns: the judge)")
        columns = [Column(title="label", number=False), *(Column(title=label) for label in agreement.labels)]
        columns += [Column(title="share of labels %"), Column(title="share of verdicts %")]
        rows = [
            [
                label,
                *(f"{agreement.confusion[label][verdict]:,}" for verdict in agreement.labels),
                *map(percent, agreement.shares[label]),
            ]
            for label in agreement.labels
        ]
        table(console, columns, rows)
    for reason, count in checked.unmarkable.items():
        line(console, f"No verdict, in no number above: {count:,} x {reason}.")
