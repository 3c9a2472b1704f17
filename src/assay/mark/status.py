"""What became of one sample: its status, and whether it counts as right.

A sample is *missing* where no verdict could be had: a failure, an unmarkable answer, a reply that no judge has seen.
Headline numbers leave missing samples out or count them as not right, as `on_missing` says: there is no
default. Unanswered, truncated and refused replies are the model's own doing: they are counted, and not
right.
"""

import hashlib
import re
from typing import Literal

from assay.types import Failure, JudgeMark, Mark, Outcome

__all__ = ["PUBLISHED", "Mode", "OnMissing", "Status", "credit", "group_number", "natural_key", "status"]

OnMissing = Literal["exclude", "wrong"]
Mode = Literal["reference", "robust", "judged"]
"""Whose verdicts: the published script's, the right ones by rule, or those of a judge (one judge's: `mark.judged`)."""
PUBLISHED = "published verdict"
"""Reason of a reference mark that somebody else gave: there is no reply, and nothing was read."""

Status = Literal[
    "right",
    "wrong",
    "unanswered",  # a complete reply without an answer, or with an ambiguous one
    "truncated",  # cut at the token limit before it gave an answer
    "refused",  # withheld by a filter or a policy
    "unmarkable",  # there is a reply, but nobody can tell, or nobody was asked, whether it is right
    "failed",  # there is no reply to mark
]


def status(outcome: Outcome, mode: Mode) -> Status:
    """The one status of an outcome under `mode`; every outcome has exactly one.

    A reply that was cut or withheld is `truncated` or `refused` only where no answer was found in it.
    """
    result = outcome.result
    if isinstance(result, Failure):
        return "failed"
    mark: Mark | JudgeMark | None = getattr(result, mode)
    verdict = "unmarkable" if mark is None else mark.verdict  # None: no judge was asked about it
    if verdict != "unanswered":
        return verdict
    if outcome.finish == "length":
        return "truncated"
    return "refused" if outcome.finish == "filter" else "unanswered"


def credit(outcome: Outcome, mode: Mode) -> bool | None:
    """Whether the outcome counts as right; None where it is missing (see the module's docstring).

    Most published scripts have a verdict on every reply. Where one can have none (a row without an answer), its mark is
    unmarkable too, and no more a wrong answer than ours.
    """
    match status(outcome, mode):
        case "right":
            return True
        case "failed" | "unmarkable":
            return None
        case _:
            return False


def natural_key(text: str) -> tuple[tuple[str | int, ...], str]:
    """A sort key under which `2` comes before `10`. Digits are read in runs of at most 18."""
    parts = _DIGITS.split(text)  # text, digits, text, ...: always starts with text, so that keys compare
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), text


_DIGITS = re.compile(r"([0-9]{1,18})")


def group_number(group: str) -> int:
    """A 64-bit number for a group's name, so that a million groups cost eight bytes each."""
    digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")
