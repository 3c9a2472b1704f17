"""Samples one by one, printed: for the few that fit on a screen."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from assay.mark.status import status
from assay.report.tables import Column, heading, make_console, table
from assay.types import Failure, Outcome

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_samples"]


def print_samples(outcomes: Iterable[Outcome], *, title: str, console: "Console | None" = None) -> None:
    """A line for each sample: what became of it, by both verdicts, what was read, and why."""
    console = console or make_console()
    heading(console, title)
    columns = [Column(title=name, number=False) for name in ("sample", "robust", "reference", "read", "why")]
    table(console, columns, [_row(outcome) for outcome in outcomes])


def _row(outcome: Outcome) -> list[str]:
    robust, reference = status(outcome, "robust"), status(outcome, "reference")
    if isinstance(outcome.result, Failure):
        return [outcome.sample_id, robust, reference, "", outcome.result.message]
    marked = outcome.result
    return [
        outcome.sample_id,
        robust,
        reference,
        marked.robust.extraction or "",
        marked.difference or marked.robust.reason,
    ]
