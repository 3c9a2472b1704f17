"""The options of a choice question, and the labels in its answer, in the many ways data sets write them."""

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from assay.types import Option

LONGEST = 50_000  # characters of one row's options; more is no option list
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# "A: text", "A. text", "A) text", "(A) text", "[A] text", "A、text": the label with what closes it.
_BRACKETED = r"[(（\[]\s*([A-Za-z])\s*[)）\]]\s*[:：.．、]?"
_BARE = r"([A-Za-z])\s*[:：.．、)）]"
_AT_LINE_START = re.compile(rf"^[ \t]*(?:[-*•]\s*)?(?:{_BRACKETED}|{_BARE})", re.MULTILINE)
_ANYWHERE = re.compile(rf"(?<![A-Za-z]){_BRACKETED}|(?:^|(?<=[\s;；,，|])){_BARE}")
_BETWEEN_LABELS = re.compile(r"[\s,;，；、/|&+]+|\band\b|和|与|及", re.IGNORECASE)

_LABEL_KEYS = ("label", "key", "letter", "id", "option")
_TEXT_KEYS = ("text", "value", "content", "description")


def parse_options(value: object) -> tuple[Option, ...]:
    """The options, in order; none for None, NaN, a blank string, or text without two labels.

    Understands a mapping from label to text, a list of texts (with labels of their own, or labelled A, B, ...
    by position), a list of mappings or pairs, an array, a JSON or Python literal of any of these, and one string
    such as "A: ...\\nB: ...", "A. ... B. ..." or "(A) ...(B) ...". A text is all that stands between its label
    and the next.
    """
    if value is None or isinstance(value, float):
        return ()
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, Mapping):
        return _from_mapping(cast("Mapping[object, object]", value))
    if isinstance(value, Iterable):
        return _from_list(list(cast("Iterable[object]", value)))
    return ()


def _from_mapping(value: Mapping[object, object]) -> tuple[Option, ...]:
    # A parquet struct holds a null for each label that this row doesn't use.
    return tuple(
        Option(label=str(label).strip(), text=_text(text)) for label, text in value.items() if text is not None
    )


def _from_list(items: Sequence[object]) -> tuple[Option, ...]:
    items = [item for item in items if item is not None]
    options: list[Option] = []
    for item in items:
        if isinstance(item, Mapping):
            options.extend(_from_entry(cast("Mapping[object, object]", item)))
        elif isinstance(item, tuple | list) and len(cast("Sequence[object]", item)) == 2:
            label, text = cast("Sequence[object]", item)
            options.append(Option(label=_text(label), text=_text(text)))
    if options:
        return tuple(options)
    texts = [_text(item) for item in items]
    labelled = [_AT_LINE_START.match(text) for text in texts]
    if all(labelled) and [_label(match) for match in labelled if match] == list(_ALPHABET[: len(texts)]):
        return tuple(
            Option(label=_label(match), text=match.string[match.end() :].strip()) for match in labelled if match
        )
    return _by_position(texts)


def _from_entry(entry: Mapping[object, object]) -> Iterable[Option]:
    """{"label": "A", "text": "..."} under one of the usual names, or {"A": "..."}."""
    label = next((entry[key] for key in _LABEL_KEYS if key in entry), None)
    text = next((entry[key] for key in _TEXT_KEYS if key in entry), None)
    if label is None or text is None:
        return _from_mapping(entry)
    return (Option(label=_text(label), text=_text(text)),)


def _from_text(text: str) -> tuple[Option, ...]:
    if not text or len(text) > LONGEST:
        return ()
    if text[0] in "{[" and text[-1] in "}]":
        literal = _literal(text)
        if literal is not None:
            return parse_options(literal)
    found = _split(text, _AT_LINE_START) or _split(text, _ANYWHERE)
    if found:
        return found
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _by_position(lines) if len(lines) > 1 else ()


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _split(text: str, pattern: re.Pattern[str]) -> tuple[Option, ...]:
    """Cut at labels that ascend from A (one letter may be missing); nothing for fewer than two."""
    marks: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        last = _ALPHABET.index(_label(marks[-1])) if marks else -1
        step = _ALPHABET.index(_label(match)) - last
        if step == 1 or (marks and step == 2):
            marks.append(match)
    if len(marks) < 2:
        return ()
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return tuple(
        Option(label=_label(mark), text=text[mark.end() : end].strip().rstrip(";；,，|").rstrip())
        for mark, end in zip(marks, ends, strict=True)
    )


def _label(match: re.Match[str]) -> str:
    return (match.group(1) or match.group(2)).upper()


def _by_position(texts: Sequence[str]) -> tuple[Option, ...]:
    if len(texts) > len(_ALPHABET):
        return ()
    return tuple(Option(label=label, text=text) for label, text in zip(_ALPHABET, texts, strict=False))


def _text(value: object) -> str:
    return str(value).strip()


def parse_labels(answer: str, options: Sequence[Option]) -> tuple[str, ...]:
    """The labels that an answer column names: "B", "ACD", "A,C,D", "A, C and D", "(B)", an option's whole text.

    In the order of the options where they are known, else of the answer; in upper case unless the options write
    them otherwise. Empty where the answer names no labels.
    """
    known = {option.label.upper(): option.label for option in options}
    bare = answer.strip().strip("()[]（）.。:").strip()
    parts = [part.strip("()[]（）.。:") for part in _BETWEEN_LABELS.split(bare)]
    parts = [part.upper() for part in parts if part]
    if parts and not all(part in known for part in parts):
        joined = "".join(parts)
        by_text = [option.label for option in options if option.text and option.text == answer.strip()]
        if by_text:
            return (by_text[0],)
        parts = list(joined) if re.fullmatch(r"[A-Z]+", joined) and len(set(joined)) == len(joined) else []
    named = list(dict.fromkeys(known.get(part, part) for part in parts))
    order = {option.label: place for place, option in enumerate(options)}
    return tuple(sorted(named, key=lambda label: order.get(label, len(order))))
