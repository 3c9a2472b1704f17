"""The options of a choice question in another order: the texts move among the labels, and the gold moves along.

Order s of a question is a random order of its own, turned by s places: over as many orders as there are options every
option stands once in every place, and in any single order each place is equally likely for each option. So an answer
that depends on the options' texts alone falls on every place equally often, which is what `mark.positions` tests.
"""

import random
import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from assay.types import ChoiceGold, Failure, Mark, Marked, Option, Sample

__all__ = ["Shown", "in_place", "shown"]

# "Both A and B", "A or C only", "none of the above", "all of these": texts about other options, by label or place.
_LABELS = r"\(?[A-H]\)?\s*(?:,|&|/|and|or|nor|和|与|或|、)\s*(?:and\s+|or\s+)?\(?[A-H]\)?(?![A-Za-z0-9])"
_ABOUT_OPTIONS = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_LABELS})"
    r"|\b(?:all|none|both|neither|any|either)(?: of)?(?: the)? (?:above|below|following|preceding)\b"
    r"|\b(?:all|none|both|neither|any|either) of (?:these|them|those|the (?:options|choices|answers|statements))\b"
    r"|\b(?:options?|choices?|answers?)\s*\(?[A-H]\)?(?![A-Za-z])"
    r"|以上(?:都|皆|均|全|所有|选项|各项|答案)|上述|选项",
    re.IGNORECASE,
)
_QUESTION_ABOUT_OPTIONS = re.compile(r"\b(?:option|choice)\s*\(?[A-H]\)?(?![A-Za-z])|选项\s*[A-H]", re.IGNORECASE)


def in_place(sample: Sample) -> str | None:
    """Why the options of a sample can't change places; None where they can."""
    texts = [option.text for option in sample.options]
    if not isinstance(sample.gold, ChoiceGold) or len(texts) < 2:
        return "no choice question with options and an answer"
    labels = [option.label.upper() for option in sample.options]
    if any(not text or _bare(text) in labels for text in texts):
        return "the options are labels in the picture, or words that are their own labels"
    if len({text.casefold() for text in texts}) < len(texts):
        return "two options say the same, so that their labels don't tell them apart"
    if any(_ABOUT_OPTIONS.search(text) for text in texts) or _QUESTION_ABOUT_OPTIONS.search(sample.question):
        return "options are spoken of by label or place"
    if all(text in sample.question for text in texts):
        return "the options stand in the question's text"
    return None


def _bare(text: str) -> str:
    return re.sub(r"[\s$().\[\]]", "", text).upper()


class Shown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample as a model sees it, and the data's labels of its options in the order in which they are shown."""

    sample: Sample
    labels: tuple[str, ...]

    def original(self, result: Marked | Failure) -> Marked | Failure:
        """The marks with extracted labels as the data has them. Reasons speak of the labels that were shown."""
        if isinstance(result, Failure):
            return result
        shown_labels = [option.label for option in self.sample.options]
        names = dict(zip(shown_labels, self.labels, strict=True))
        return replace(result, reference=_named(result.reference, names), robust=_named(result.robust, names))

    def detail(self, original: Sample) -> dict[str, str]:
        """What an evaluation of places needs: the data's labels in the order shown, and the right ones."""
        gold = original.gold.labels if isinstance(original.gold, ChoiceGold) else ()
        return {"gold": ",".join(gold), "shown": ",".join(self.labels)}


def _named(mark: Mark, names: Mapping[str, str]) -> Mark:
    """An extraction that is nothing but labels, in the data's labels; several in the data's order."""
    if mark.extraction is None:
        return mark
    parts = [part.strip() for part in mark.extraction.split(",")]
    if not all(part in names for part in parts):
        return mark
    order = list(names)
    return replace(mark, extraction=",".join(sorted((names[part] for part in parts), key=order.index)))


def shown(sample: Sample, shuffle: int, seed: int) -> Shown:
    """The sample with its options in order `shuffle` (1, 2, ...). Only for samples that are not `in_place`."""
    options = sample.options
    count = len(options)
    turn, turns = shuffle % count, (shuffle - 1) // count
    order = list(range(count))
    random.Random(f"options\x00{seed}\x00{sample.id}\x00{turns}").shuffle(order)  # noqa: S311 - an order, no secret
    order = order[turn:] + order[:turn]
    moved = tuple(Option(label=options[place].label, text=options[source].text) for place, source in enumerate(order))
    labels = tuple(options[source].label for source in order)
    gold = sample.gold
    if isinstance(gold, ChoiceGold):
        right = tuple(options[place].label for place, label in enumerate(labels) if label in gold.labels)
        gold = replace(gold, labels=right)
    return Shown(sample=replace(sample, options=moved, gold=gold), labels=labels)
