"""The labels and texts of one item's options, compiled for reading replies.

A reply is only ever held against the item's own labels and texts. Labels may be letters, numbers, `(ii)`, `True`, 甲.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from assay.mark.text import normalise, unwrap
from assay.types import Option

ASSUMED_LABELS = tuple("ABCDEFGHIJKLMN")
"""The labels of an item whose options are not known (FinMME's published rows): the letters that its answers use."""

_LATIN = "0-9A-Za-zÀ-ɏ"
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPELLINGS = (
    *(("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("^{\\circ}", "°"), ("^\\circ", "°"), ("\\degree", "°")),
    *(("\\times", "×"), ("\\cdot", "·"), ("\\pi", "π"), ("\\infty", "∞"), ("\\leq", "≤"), ("\\geq", "≥")),
)
_PLAIN_FRACTION = re.compile(r"\\frac\{(\d{1,30})\}\{(\d{1,30})\}")
_PERCENT = re.compile(r"(?<=\d)\s?(?:per\s?cent|pct)(?![a-z])")
_EDGES = " \t\n.,;:!?。，；"

NONE_OF_THEM = re.compile(
    r"(?:none|neither)(?: of (?:the|these|them)(?: (?:above|others?|options?|choices|statements))?)?"
    r"(?: (?:is|are) \w+)?"
    r"|no correct answer"
    r"|以上(?:都|皆|均|全)(?:不是|非|不对|不對|错|錯|不正确|不正確)|(?:都|皆|均)(?:不是|不对|不對|不正确)"
)
ALL_OF_THEM = re.compile(
    r"all(?: of (?:the|these|them))?(?: (?:above|options?|choices|statements))?(?: are (?:correct|true|right))?"
    r"|以上(?:都|皆|均|全)(?:是|对|對|正确|正確)|全(?:部)?(?:选|選|对|對|正确|正確)"
)


class Item(NamedTuple):
    """What replies about one item are held against.

    Attributes:
        labels: the item's labels, in order.
        by_label: folded label -> label.
        by_text: squashed option text -> the labels of the options with this text.
        by_number: where the texts differ in nothing but a number (`24%`, `25.0%`), the number in its shortest spelling
            (`24`, `25`), alone and with what stands around it -> the labels; else empty.
        texts: label -> folded option text, only those with text.
        label: matches one label with the boundary after it.
        glued: matches several one-character labels in a row (`ACD`); None where labels are longer.
        none_label, all_label: the option that says "None of the above" or "All of the above".
    """

    labels: tuple[str, ...]
    by_label: dict[str, str]
    by_text: dict[str, tuple[str, ...]]
    by_number: dict[str, tuple[str, ...]]
    texts: dict[str, str]
    label: re.Pattern[str]
    glued: re.Pattern[str] | None
    none_label: str | None
    all_label: str | None

    @property
    def text(self) -> re.Pattern[str] | None:
        """Finds option texts on token and number boundaries, the longest first; None where no option has text.

        Compiled when first asked for: it costs more than all the rest, and most replies name a label.
        """
        return _text_pattern(tuple(dict.fromkeys(self.texts.values())))

    def find_label(self, written: str) -> str | None:
        """The label that `written`, a match of `label`, means.

        None for letters that are equal only to a pattern that ignores case, such as the dotless ı.
        """
        return self.by_label.get(written) or self.by_label.get(fold_label(written))

    def in_order(self, labels: Iterable[str]) -> tuple[str, ...]:
        named = set(labels)
        return tuple(label for label in self.labels if label in named)


@lru_cache(maxsize=1024)
def fold_label(label: str) -> str:
    """`(A).` is `a`."""
    return normalise(label).strip(" \t()[]{}.:、）（").casefold()


def fold_text(text: str) -> str:
    """A normalised option text (or a piece of a reply) with one spelling, spaces kept as one blank."""
    text = unwrap(text).lower()
    if "\\" in text:
        for variant, spelling in _SPELLINGS:
            text = text.replace(variant, spelling)
        text = _PLAIN_FRACTION.sub(r"\1/\2", text)
    if "," in text:
        text = _GROUPED.sub("", text)
    if "cent" in text:
        text = _PERCENT.sub("%", text)
    return " ".join(text.split()).strip(_EDGES)


def squash(folded: str) -> str:
    """A folded text without blanks: what equality of texts compares (`10 %` is `10%`)."""
    return folded.replace(" ", "")


@lru_cache(maxsize=512)
def compile_item(options: tuple[Option, ...]) -> Item:
    """Everything that reading needs to know of an item; labels alone are assumed where there are no options."""
    options = options or tuple(Option(label=label) for label in ASSUMED_LABELS)
    labels = tuple(option.label for option in options)
    texts = {option.label: folded for option in options if (folded := fold_text(normalise(option.text)))}
    by_text: dict[str, tuple[str, ...]] = {}
    for label, folded in texts.items():
        by_text[squash(folded)] = (*by_text.get(squash(folded), ()), label)
    return Item(
        labels=labels,
        by_label=_by_label(labels),
        by_text=by_text,
        by_number=_by_number(texts),
        texts=texts,
        label=_label_pattern(labels),
        glued=_glued_pattern(labels),
        none_label=_only(label for label, text in texts.items() if NONE_OF_THEM.fullmatch(text)),
        all_label=_only(label for label, text in texts.items() if ALL_OF_THEM.fullmatch(text)),
    )


_LEADING_NUMBER = re.compile(r"([^\d+-]{0,12})([-+]?\d{1,30}(?:\.\d{1,30})?)(\D{0,24})")


def _by_number(texts: dict[str, str]) -> dict[str, tuple[str, ...]]:
    matches = {label: _LEADING_NUMBER.fullmatch(text) for label, text in texts.items()}
    around = {(match[1], match[3]) if match else None for match in matches.values()}
    if len(around) != 1 or None in around:
        return {}
    labels: dict[str, tuple[str, ...]] = {}
    for label, match in matches.items():
        if match:
            for key in (canonical(match[2]), squash(match[1] + canonical(match[2]) + match[3])):
                labels[key] = (*labels.get(key, ()), label)
    return labels


_DECIMAL = re.compile(r"(?<![\d.])\+?(\d{1,30})\.(\d{0,30}?)0*(?![\d.])")


def canonical(text: str) -> str:
    """Numbers without trailing zeros: `15.0` is `15`, `0.50` is `0.5`."""
    return _DECIMAL.sub(lambda match: f"{match[1]}.{match[2]}" if match[2] else match[1], text)


def _only(labels: Iterable[str]) -> str | None:
    found = tuple(labels)
    return found[0] if len(found) == 1 else None


def _by_label(labels: Sequence[str]) -> dict[str, str]:
    folded: dict[str, str] = {}
    for label in labels:
        folded.setdefault(fold_label(label), label)
    return folded | {label: label for label in labels}


@lru_cache(maxsize=128)
def _label_pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    """One label, and nothing after it that makes it a part of a word, a number, a variable or a formula."""
    spelled = sorted({fold_label(label) for label in labels}, key=len, reverse=True)
    cjk = [re.escape(label) for label in spelled if label and label[-1] > "\u2e80"]
    latin = [re.escape(label) for label in spelled if label and label[-1] <= "\u2e80"]
    own = "".join(label for label in spelled if len(label) == 1)
    not_after_cjk = f"(?![^\\W{_LATIN}{re.escape(own)}和与與及或是为為因项項])" if cjk else ""
    after = rf"(?![{_LATIN}_^\\]|[.,]\d|'[a-z]|-[A-Za-z]{{2}}|\+(?:\s|$)|\s?=|\s?%|\s?\\(?!\\))" if latin else ""
    parts = [f"(?:{'|'.join(latin)}){after}"] if latin else []
    parts += [f"(?:{'|'.join(cjk)}){not_after_cjk}"] if cjk else []
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)


@lru_cache(maxsize=128)
def _glued_pattern(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    spelled = [fold_label(label) for label in labels]
    if any(len(label) != 1 or label.isdigit() for label in spelled) or len(spelled) < 2:
        return None
    return re.compile(rf"[{re.escape(''.join(spelled))}]{{2,{len(spelled)}}}(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=512)
def _text_pattern(texts: tuple[str, ...]) -> re.Pattern[str] | None:
    parts = [_bounded(text) for text in sorted(texts, key=len, reverse=True)]
    return re.compile("|".join(parts)) if parts else None


def _bounded(text: str) -> str:
    """The text as a pattern that doesn't match inside a longer word or number (`4.2` in `14.2`, `10` in `10%`)."""
    first, last = text[0], text[-1]
    before = after = ""
    if first.isdecimal():
        before = rf"(?<![{_LATIN}_^\\/-])(?<!\d[.,])(?<![.])"
    elif first > "\u2e80":
        pass
    elif first.isalnum():
        before = rf"(?<![{_LATIN}_\\-])"
    elif first in "-+":
        before = r"(?<![\w)])"
    if last.isdecimal():
        after = rf"(?![{_LATIN}_^/]|[.,]\d|-\d|\s?[%‰°万萬亿億]|\s(?:thousand|million|billion|trillion|percent|bps))"
    elif last.isalnum() and last <= "\u2e80":
        after = rf"(?![{_LATIN}_])"
    return before + re.escape(text).replace(r"\ ", r"\s+") + after
