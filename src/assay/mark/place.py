"""What one place of a reply (an answer slot, a line, an extracted answer) says about a choice question."""

import re

from assay.mark.labels import (
    END,
    LEAD,
    NEGATED,
    Found,
    counted,
    end_of,
    head_labels,
    label_list,
    labels_with_texts,
)
from assay.mark.options import ALL_OF_THEM, NONE_OF_THEM, Item, canonical, fold_text, squash
from assay.mark.text import unwrap

_NEGATION = re.compile(
    r"(?<![^\W_])(?:(?:not|never|neither|nor|no|except|cannot|isn't|aren't|can't)(?![^\W_])"
    r"|(?:all|every|everything|anything|any)\s(?:\w+\s)?(?:except|but)(?![^\W_]))|除|不|非|並非|[❌✗✘✖☒❎]",
    re.IGNORECASE,
)
_ADVERB = re.compile(r"[\s*_`\"'(]*(?:(?:definitely|clearly|certainly|probably)\s)?", re.IGNORECASE)
_NOT_BEFORE = re.compile(
    r"(?:(?<![^\W_])(?:not|no|never|n't|isn't|aren't|rather than|instead of|except|unlike|than|neither|nor|without)"
    r"(?: (?:the|a|an|option|be|simply|just))*|不是|并非|非|不)\s*[\"'(]*$"
)
_TEXT_BREAK = re.compile(r"\s*(?:[;\n、]|,(?:\s*and(?![^\W_]))?|(?<![^\W_])and(?![^\W_])|&|和|与|及)\s*")
_TRAILING_LABEL = re.compile(r"[(\[]\s*(?:option |choice )?([^()\[\]]{1,8})[)\]]\W*$", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?。]\s|\n")
_BRACKETED = re.compile(r"[(\[]\s*([^()\[\]\s]{1,8})\s*[)\]]")
_NAMED = re.compile(r"(?<![^\W_])(?:options?|choices?)\s+|选项|選項", re.IGNORECASE)


def read_place(place: str, item: Item, multiple: bool, *, strict: bool = False) -> Found | None:
    """The answer at the head of a text that is or starts with an answer; None for prose.

    `strict`: a label must be followed by the end, a delimiter or a connective, as in running prose.
    """
    text = unwrap(place)
    if not text:
        return None
    folded = fold_text(text)
    whole = item.by_text.get(squash(folded))
    if whole and not is_label(text, item):
        return by_text(whole, "option text")
    if all_or_none(folded) and not is_label(text, item):
        return none_or_all_of_them(folded, item)
    if _NEGATION.match(text, end_of(_ADVERB, text, 0)) and not item.label.match(text):
        return None
    return (
        labels_with_texts(text, item, multiple)
        or head_labels(text, item, multiple, strict=strict)
        or _texts(text, folded, item, multiple)
        or bracketed(text, item)
    )


def all_or_none(folded: str) -> bool:
    """Whether a text says "none of these" or "all of these" and nothing else."""
    return bool(NONE_OF_THEM.fullmatch(folded) or ALL_OF_THEM.fullmatch(folded))


def none_or_all_of_them(folded: str, item: Item) -> Found | None:
    """The option that says so, where there is one."""
    for pattern, label, rule in ((NONE_OF_THEM, item.none_label, "none"), (ALL_OF_THEM, item.all_label, "all")):
        if label and pattern.fullmatch(folded):
            return Found((label,), f"option text: {rule} of them")
    return None


def negated(text: str) -> bool:
    """Whether a text holds a negation anywhere."""
    return _NEGATION.search(text) is not None


def is_label(text: str, item: Item) -> bool:
    lead = LEAD.match(text)
    label = item.label.match(text, lead.end() if lead else 0)
    return bool(label and END.fullmatch(text, label.end()))


def by_text(labels: tuple[str, ...], rule: str) -> Found:
    return Found(labels, rule) if len(labels) == 1 else Found((), rule, "two options have this text")


def _texts(text: str, folded: str, item: Item, multiple: bool) -> Found | None:
    """The options whose texts stand in a place."""
    if item.text is None:
        return None
    parts = [item.by_text.get(squash(fold_text(part))) for part in _TEXT_BREAK.split(text[:2_000]) if part.strip(" .")]
    if len(parts) > 1 and all(parts):
        return counted([labels[0] for labels in parts if labels], item, multiple, "option texts")
    sentence = SENTENCE_END.split(folded, maxsplit=1)[0][:500]
    named = named_texts(sentence, item)
    if named is None:
        return by_number(folded, item)
    if len(named) > 1:
        return Found((), "option text", f"holds the texts of {'/'.join(item.in_order(named))}")
    trailing = _TRAILING_LABEL.search(text[:500])
    if trailing and (label := item.by_label.get(trailing[1].strip().casefold())) and label not in named:
        return Found((), "option text", f"label {label} with the text of option {named[0]}")
    return Found(tuple(named), "option text")


def named_texts(sentence: str, item: Item) -> list[str] | None:
    """Labels of the options whose texts a sentence holds and does not negate; None for none of them."""
    if item.text is None:
        return None
    labels: list[str] = []
    for match in item.text.finditer(sentence):
        if len(match[0]) == 1 and match[0].isalpha() and match[0].isascii():
            continue
        if _NOT_BEFORE.search(sentence, max(0, match.start() - 30), match.start()):
            continue
        labels += [label for label in item.by_text[squash(match[0])] if label not in labels]
    return labels or None


def by_number(folded: str, item: Item) -> Found | None:
    """`25` for the option `25%`, where the options' texts differ in nothing but the number."""
    labels = item.by_number.get(squash(canonical(folded))) if item.by_number else None
    return by_text(labels, "number of the option") if labels else None


def bracketed(text: str, item: Item) -> Found | None:
    """The one label that is mentioned as a label, `(B)` or "option B", in a text without negations."""
    named = [item.by_label.get(match[1]) for match in _BRACKETED.finditer(text)]
    done = 0
    for match in _NAMED.finditer(text):
        if match.start() < done:
            continue
        found = label_list(text, match.end(), item, True)
        done = end_of(LEAD, text, match.end())
        if found is None:
            continue
        if NEGATED.match(text, found.end):
            return None
        named += found.labels
    labels = {label for label in named if label}
    if len(labels) != 1 or negated(text):
        return None
    return Found(tuple(labels), "the only label named")
