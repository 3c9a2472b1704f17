"""Short free texts: finding the one that a reply answers with, and comparing bags of words (F1).

`read_text` looks where `read_number` and `read_choice` look: the last place that announces an answer, else a short
reply as a whole, else the last line of a long one.

The F1 of two texts is over their sets of words: with `both` words in common, precision = both / words of the answer and
recall = both / words of the gold, and F1 = 2 precision recall / (precision + recall).
"""

from collections.abc import Set

from msgspec import Struct

from assay.mark.answer import MAX_SLOT, answer_slots, prepare
from assay.mark.text import unwrap

MAX_SHORT_REPLY = 200
"""Characters of a reply that is read as an answer as a whole."""


class TextReading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The short text that a reply answers with; empty where there is none.

    `explicit`: whether it stood in a place that announces an answer, so that a cut reply has answered as well.
    """

    text: str
    explicit: bool = False


def read_text(text: str, *, extracted: bool = False) -> TextReading:
    """Read the short text that a reply answers with.

    Args:
        text: the reply, thinking included or not.
        extracted: the text is an answer that somebody already extracted.
    """
    prepared = prepare(text)
    if extracted:
        return TextReading(text=_bare(prepared[:MAX_SLOT]), explicit=True)
    slots = answer_slots(prepared)
    if slots:
        return TextReading(text=_bare(slots[-1].text), explicit=slots[-1].closed)
    stripped = prepared.strip()
    return TextReading(text=_bare(stripped if len(stripped) <= MAX_SHORT_REPLY else stripped.rpartition("\n")[2]))


def _bare(text: str) -> str:
    return unwrap(text[:MAX_SLOT]).strip().removesuffix(".").strip()


def bag_f1(answer: Set[str], gold: Set[str]) -> float:
    """F1 of two sets of words. An empty answer has precision 1 and an empty gold recall 1, so two empty ones agree."""
    common = len(answer & gold)
    precision = common / len(answer) if answer else 1.0
    recall = common / len(gold) if gold else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
