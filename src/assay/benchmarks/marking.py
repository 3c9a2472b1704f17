"""What the marks of most benchmarks have in common."""

from collections.abc import Callable

from assay.types import Mark, Marked, Reply

NO_GOLD = Mark(verdict="unmarkable", reason="the row has no answer")
"""The robust verdict on a row without gold."""


def both(reference: Mark, robust: Mark, why: Callable[[], str]) -> Marked:
    """Both verdicts; `why` says in words for a user why they differ, and is asked only where they do."""
    same = (reference.verdict == "right") == (robust.verdict == "right") and robust.verdict != "unmarkable"
    return Marked(reference=reference, robust=robust, difference=None if same else why())


def unless_cut(mark: Mark, reply: Reply, *, explicit: bool) -> Mark:
    """The mark, or `truncated` for a reply that was cut before it gave its answer explicitly.

    What a reply says on its way to an answer it never gave is not its answer.
    """
    if reply.finish == "length" and not explicit:
        return Mark(verdict="unanswered", reason="truncated")
    return mark


def quoted(text: str) -> str:
    """A text for a message, shortened to 60 characters."""
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'
