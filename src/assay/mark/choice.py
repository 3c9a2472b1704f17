"""Choice questions: which of the item's labels a reply answers with.

Reading goes from the surest place to the least sure one and stops at the first that says anything:

1. The places that announce an answer (`Answer: B`, a box, 答案：B, "the answer is B"), the last one first. A place that
   turns out to be prose ("Answer: this asks which ...") is passed over; one that holds a short answer which is no
   option ends the search: the reply has answered, outside the options.
2. A reply that is nothing but an answer; its first or last line; a statement "B is correct"; a conclusion "So (B)"; the
   one option whose text the last sentence holds; the one label in brackets.

Several options named where one is asked for, alternatives ("A or B"), and a label whose text is another option's are
`ambiguous`, never a guess. Letters are read as labels only where they stand as labels: not the pronoun I, not the
article A, not a letter of a formula or a word, not a negated option.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from assay.mark.answer import Slot, answer_slots, prepare
from assay.mark.options import ALL_OF_THEM, NONE_OF_THEM, Item, compile_item, fold_text, squash
from assay.mark.text import unwrap
from assay.types import ChoiceGold, Mark, Option

ChoiceStatus = Literal["ok", "none", "ambiguous"]


class ChoiceReading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reply answers.

    Attributes:
        labels: the item's own labels, in the item's order; empty unless the status is `ok`.
        status: `ok`, `none` (no option named), `ambiguous` (several named where one counts, or a contradiction).
        rule: which rule read it, or why nothing was read.
        explicit: whether it stood in a place that announces an answer, so that a cut reply has answered as well.
        written: the text in which it was read, shortened.
    """

    labels: tuple[str, ...] = ()
    status: ChoiceStatus
    rule: str
    explicit: bool = False
    written: str = ""


class _Found(NamedTuple):
    """Labels read in one place; `clash` says why they can't count, where they can't."""

    labels: tuple[str, ...]
    rule: str
    clash: str = ""


MAX_WRITTEN = 80
MAX_SHORT_WORDS = 3
"""An announced answer of so few words is an answer even where it is no option; a longer one is prose."""
MAX_SHORT_REPLY = 400
"""Characters of a reply that is read as an answer as a whole."""


def read_choice(text: str, options: Sequence[Option], *, multiple: bool, extracted: bool = False) -> ChoiceReading:
    """Read the labels that a reply answers with.

    Args:
        text: the reply, thinking included or not.
        options: the item's options; where there are none, the labels A to N are assumed.
        multiple: whether several labels may be right, which also lets `ACD` be three labels.
        extracted: the text is an answer that somebody already extracted.
    """
    item = compile_item(tuple(options))
    prepared = prepare(text)
    if extracted:
        found = _read_place(prepared, item, multiple)
        return _reading(found, prepared, explicit=True) if found else _nothing("not an option", prepared, explicit=True)
    slots = answer_slots(prepared)
    for slot in reversed(slots):
        found = _read_slot(slot, prepared, item, multiple)
        if found:
            return _reading(found, slot.text, explicit=slot.closed)
        if _is_short(slot) and slot.rule != "box":
            return _nothing("the answer is not an option", slot.text, explicit=slot.closed)
    if any(slot.rule == "box" and _is_short(slot) for slot in slots):
        return _nothing("the answer is not an option", slots[-1].text, explicit=slots[-1].closed)
    found = _read_unannounced(prepared, item, multiple)
    return _reading(found, prepared, explicit=False) if found else _nothing("no option named", "")


def mark_choice(reading: ChoiceReading, gold: ChoiceGold) -> Mark:
    """Right iff exactly the gold's labels were read; without a clear answer `unanswered`, with the reason."""
    if reading.status != "ok":
        return Mark(
            verdict="unanswered", extraction=reading.written or None, reason=f"{reading.status}: {reading.rule}"
        )
    verdict = "right" if set(reading.labels) == set(gold.labels) else "wrong"
    return Mark(verdict=verdict, extraction=",".join(reading.labels), reason=reading.rule)


def _reading(found: _Found, written: str, *, explicit: bool) -> ChoiceReading:
    written = _shortened(written)
    if found.clash:
        return ChoiceReading(status="ambiguous", rule=found.clash, explicit=explicit, written=written)
    return ChoiceReading(labels=found.labels, status="ok", rule=found.rule, explicit=explicit, written=written)


def _nothing(rule: str, written: str, *, explicit: bool = False) -> ChoiceReading:
    return ChoiceReading(status="none", rule=rule, explicit=explicit, written=_shortened(written))


def _shortened(text: str) -> str:
    text = " ".join(text[: 4 * MAX_WRITTEN].split())
    return text if len(text) <= MAX_WRITTEN else text[: MAX_WRITTEN - 1] + "…"


def _is_short(slot: Slot) -> bool:
    if slot.rule == "sentence":
        return False
    words = unwrap(slot.text[:200]).split()
    return len(slot.text) < 200 and len(words) <= MAX_SHORT_WORDS and "\\" not in slot.text


# --------------------------------------------------------------------------------------------------------------------
# One place

_LEAD_WORDS = (
    "the|is|are|be|therefore|thus|hence|so|clearly|most|likely|probably|definitely|simply|indeed|only|both|either|option"
    "|options|choice|choices|letter|letters|answer|answers|statement|statements|item|items|number|numbers|la|le|el|die"
    "|opción|opção|opzione|вариант"
)
_LEAD = re.compile(
    rf"(?:[\s*_`~\"'(\[{{<#>•.:：【（「]+|-(?=\s)|(?:{_LEAD_WORDS})(?![^\W_])|选项|選項|选|選|是|为|為|第)*",
    re.IGNORECASE,
)
_CLOSE = re.compile(r"(?:[ \t]?[)\]}>*_`\"'】」]+)?")
_SEPARATOR = re.compile(
    # Alternatives; a dash between labels may be a range or a list, so it is no list.
    r"(?P<alternative>\s*(?:,\s*)?(?:(?<![^\W_])(?:or|oder|ou|или)(?![^\W_])|或者|或|还是|還是|또는|and/or)"
    r"|[ \t]*(?:-|~|(?:to|through)(?![^\W_])|至|到)(?=[ \t(]*\S))"
    r"|\s*(?:[,;、/&+|·.]\s*)?(?:(?:and|as well as|plus|und|et)(?![^\W_])|(?-i:[yeи])(?=\s+\W?\w{1,4}(?!\w))|和|与|與|及|以及|跟|と|및)"
    r"|\s*(?P<mark>[,;、&+|·])|\s*(?P<slash>/)",
    re.IGNORECASE,
)
_END = re.compile(r"[\s.,;:!?。…)*\]}\"'_`~$]*(?:\n|$)")
_DELIMITER = re.compile(r"\s*[.:;!?。—)\]、|\"]|\s+-\s|,(?=\s)|\s*[(\[]|\s*\n")
_CONNECTIVE = re.compile(
    r"\s+(?:because|since|as|for|due|given|based|which|with|where|when|while|whereas|according|from|since|therefore|thus"
    r"|hence|so|rather|instead|not|only because|but|is|are|was|were|seems?|looks?|would|must|has|have|would be|in this"
    r"|by|,|→|porque|parce|weil|da|ist|est|es)(?![^\W_])",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"\s+(?:are|were|because|since|as|for|both|respectively|all)(?![^\W_])", re.IGNORECASE)
_NEGATED = re.compile(
    r"[\s,:-]*(?:(?:is|are|was|were|be|looks?|seems?|would be|can be|has been|have been)\s+(?:\w+\s+){0,2}?"
    r"(?:not|wrong|incorrect|false|ruled|eliminated|excluded|invalid|unlikely|untrue|inaccurate|out)(?![^\W_])"
    r"|(?:isn't|aren't|wasn't|can't|cannot|doesn't|does not|do not|don't)(?![^\W_])|not (?=correct|right|true)"
    r"|(?:is|are)n't|(?:选项|選項|项|項)?(?:是|都|均|也)?(?:错|錯|不正|不对|不對|不符|不是|不成立|有误|有誤)"
    r"|only if|if(?![^\W_]))",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"[\s*_`\"'(]*(?:(?:definitely |clearly |certainly |probably )?(?:not|n't|never|neither|nor|no|except|cannot|isn't|aren't)"
    r"(?![^\W_])|(?:all|every|everything|anything|any)\s+(?:\w+\s+)?(?:except|but)(?![^\W_])|除|不|非|并非|並非)",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"(?:(?<![^\W_])(?:not|no|never|n't|isn't|aren't|rather than|instead of|except|unlike|than|neither|nor|without)"
    r"(?: (?:the|a|an|option|be|simply|just))*|不是|并非|非|不)\s*[\"'(]*$"
)


def _read_slot(slot: Slot, text: str, item: Item, multiple: bool) -> _Found | None:
    """What an announced place holds: its line, and the lines that go on with a list."""
    place = slot.text
    if slot.rule in ("line", "sentence"):
        place = _with_list_lines(place, text, slot.end, item)
    elif slot.rule == "hash":
        return None
    return _read_place(place, item, multiple, strict=slot.rule == "sentence")


def _with_list_lines(place: str, text: str, end: int, item: Item) -> str:
    """The place and the directly following lines that are a label, alone or with its own option's text."""
    lines = [place]
    alone = _one_per_line(place, item)
    while alone and end < len(text) and len(lines) <= len(item.labels):
        start, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + 2_000)]
        if not _one_per_line(line, item):
            break
        lines.append(line.strip())
    return "\n".join(lines)


def _one_per_line(line: str, item: Item) -> bool:
    """Whether a line is one label, alone or with its own option's text."""
    line = unwrap(line)
    lead = _LEAD.match(line)
    label = item.label.match(line, lead.end() if lead else 0)
    if not label:
        return False
    after = _CLOSE.match(line, label.end())
    rest = line[after.end() if after else label.end() :]
    own = item.texts.get(item.find_label(label[0]))
    return bool(_END.fullmatch(rest)) or (own is not None and squash(fold_text(rest.lstrip(" .:)-、"))) == squash(own))


def _read_place(place: str, item: Item, multiple: bool, *, strict: bool = False) -> _Found | None:
    """The answer at the head of a text that is or starts with an answer; None for prose.

    `strict`: a label must be followed by the end, a delimiter or a connective, as in running prose.
    """
    text = unwrap(place)
    if not text:
        return None
    folded = fold_text(text)
    whole = item.by_text.get(squash(folded))
    if whole and not _is_label(text, item):
        return _by_text(whole, "option text")
    for pattern, label, rule in ((NONE_OF_THEM, item.none_label, "none"), (ALL_OF_THEM, item.all_label, "all")):
        if pattern.fullmatch(folded) and not _is_label(text, item):
            return _Found((label,), f"option text: {rule} of them") if label else None
    if _NEGATION.match(text) and not item.label.match(text):
        return None
    return (
        _labels_with_texts(text, item, multiple)
        or _head_labels(text, item, multiple, strict=strict)
        or _texts(text, folded, item, multiple)
        or _bracketed(text, item, everywhere=False)
    )


def _is_label(text: str, item: Item) -> bool:
    lead = _LEAD.match(text)
    label = item.label.match(text, lead.end() if lead else 0)
    return bool(label and _END.fullmatch(text, label.end()))


def _by_text(labels: tuple[str, ...], rule: str) -> _Found:
    return _Found(labels, rule) if len(labels) == 1 else _Found((), rule, "two options have this text")


def _counted(labels: list[str], item: Item, multiple: bool, rule: str) -> _Found:
    named = item.in_order(labels)
    if len(named) > 1 and not multiple:
        return _Found((), rule, f"names {'/'.join(named)}, one is asked for")
    return _Found(named, rule)


class _Labels(NamedTuple):
    labels: list[str]
    end: int
    alternative: bool = False


def _label_list(text: str, at: int, item: Item, multiple: bool) -> _Labels | None:
    """The labels at a position: `B`, `A, C`, `A and C`, `(A) / (C)`, `A C`, `ACD`."""
    at = _end_of(_LEAD, text, at)
    glued = _glued(text, at, item, multiple)
    first = _label_at(text, at, item)
    if glued is not None or first is None:
        return glued
    labels, end, alternative = [first[0]], first[1], False
    # A list names no label twice, which bounds the loop on hostile text.
    while len(labels) <= len(item.labels):
        separator = _SEPARATOR.match(text, end)
        if separator:
            start = separator.end()
        elif text[end : end + 1] in (" ", "\n"):
            start = end + 1
        else:
            break
        following = _label_at(text, _end_of(_LEAD, text, start), item)
        if following is None or not _goes_on(text, following[1], separator, item):
            break
        either = separator is not None and (
            separator["alternative"] is not None or (separator["slash"] is not None and not multiple)
        )
        alternative = alternative or (either and following[0] not in labels)
        labels.append(following[0])
        end = following[1]
    return _Labels(labels, end, alternative)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _label_at(text: str, at: int, item: Item) -> tuple[str, int] | None:
    match = item.label.match(text, at)
    if not match or not match[0]:
        return None
    return item.find_label(match[0]), _end_of(_CLOSE, text, match.end())


def _goes_on(text: str, end: int, separator: re.Match[str] | None, item: Item) -> bool:
    """Whether a label after a separator is a further member of the list, and not the start of a clause."""
    if _NEGATED.match(text, end):
        return False
    if _END.match(text, end) or _SEPARATOR.match(text, end) or _PLURAL.match(text, end):
        return True
    if separator is None:  # separated by a blank alone: all of the rest must be labels
        return text[end : end + 1] == " " and _label_at(text, end + 1, item) is not None
    if separator["mark"] is not None:
        return text[end : end + 1] in (".", ";", ")") and not text[end + 1 : end + 2].isalnum()
    return True


def _glued(text: str, at: int, item: Item, multiple: bool) -> _Labels | None:
    """`ACD`, all of it labels, none twice, with nothing but punctuation after it; in small letters only in order."""
    if item.glued is None:
        return None
    match = item.glued.match(text, at)
    if not match:
        return None
    end = _end_of(_CLOSE, text, match.end())
    written = match[0]
    if len(set(written.casefold())) < len(written) or not (
        _END.match(text, end) or re.match(r"[.,;:。]\s|\s+(?:are|because|since|as)\b", text[end : end + 12])
    ):
        return None
    if written.upper() != written and (not multiple or list(written.lower()) != sorted(written.lower())):
        return None
    return _Labels([item.find_label(character) for character in written], end)


def _head_labels(text: str, item: Item, multiple: bool, *, strict: bool) -> _Found | None:
    found = _label_list(text, 0, item, multiple)
    if found is None or _NEGATED.match(text, found.end):
        return None
    if not _stands_as_label(text, found, item, strict):
        return None
    if found.alternative:
        named = "/".join(item.in_order(found.labels))
        return _Found((), "label", f"names {named} as alternatives")
    if len(set(found.labels)) == 1:
        contradiction = _contradiction(text[found.end : found.end + 500], found.labels[0], item)
        if contradiction:
            return _Found((), "label", contradiction)
    return _counted(found.labels, item, multiple, "label")


def _stands_as_label(text: str, found: _Labels, item: Item, strict: bool) -> bool:
    """Tell `B`, `B. Decline`, `B because ...` from the article in "A company" and the pronoun in "I think"."""
    end = found.end
    if len(found.labels) > 1 or _END.match(text, end):
        return True
    label = found.labels[0]
    lead = _end_of(_LEAD, text, 0)
    written = text[lead : lead + len(label)]
    bracketed = text[lead - 1 : lead] in ("(", "[", "*") if lead else False
    if bracketed or written == "":
        return True
    pronoun = written in ("I", "i")
    if _DELIMITER.match(text, end):
        return not (pronoun and text[end : end + 1] == ",")
    rest = squash(fold_text(text[end : end + 500]))
    own = item.texts.get(label)
    if own is not None and rest.startswith(squash(own)):
        return True
    connective = _CONNECTIVE.match(text, end)
    if connective:
        return not pronoun or connective[0].split()[0].lower() in ("because", "since", "is", "as")
    if not strict and len(written) == 1 and written.isupper() and written not in "AI" and written.isascii():
        return True
    return bool(text[end : end + 1] > "\u2e80" and written.isascii())


def _contradiction(rest: str, label: str, item: Item) -> str:
    """`B. Rise` where Rise is option A."""
    if not item.texts or rest.startswith(","):
        return ""
    line = rest.lstrip(" .:)-、*").split("\n", 1)[0]
    folded = fold_text(line)
    exact = item.by_text.get(squash(folded))
    if exact is None:
        head = item.text.match(folded) if folded and item.text else None
        if head is None or not re.match(r"\s*(?:$|[.,;:)(]|because|since)", folded[head.end() :]):
            return ""
        exact = item.by_text.get(squash(head[0]), ())
    if exact and label not in exact:
        return f"label {label} with the text of option {exact[0]}"
    return ""


_LIST_ITEM_BREAK = re.compile(r"[\n;]|,(?=\s*[(\[]?\w{1,4}[.:)\]])|(?<![^\W_])and(?=\s+[(\[]?\w{1,4}[.:)\]])")


def _labels_with_texts(text: str, item: Item, multiple: bool) -> _Found | None:
    """`A. Rise; C. Fall`: every member is a label with its own option's text."""
    if not item.texts:
        return None
    parts = [part for part in _LIST_ITEM_BREAK.split(text[:2_000]) if part.strip(" ,.")]
    if len(parts) < 2 or len(parts) > len(item.labels) or not all(_one_per_line(part, item) for part in parts):
        return None
    labels = [found.labels[0] for part in parts if (found := _label_list(part, 0, item, multiple))]
    return _counted(labels, item, multiple, "labels with texts")


# --------------------------------------------------------------------------------------------------------------------
# Option texts

_TEXT_BREAK = re.compile(r"\s*(?:[;\n、]|,(?:\s*and(?![^\W_]))?|(?<![^\W_])and(?![^\W_])|&|和|与|及)\s*")
_TRAILING_LABEL = re.compile(r"[(\[]\s*(?:option |choice )?([^()\[\]]{1,8})[)\]]\W*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。]\s|\n")
_LEADING_NUMBER = re.compile(r"[^\d+-]{0,12}([-+]?\d[\d,]*(?:\.\d+)?)\D{0,24}")


def _texts(text: str, folded: str, item: Item, multiple: bool) -> _Found | None:
    """The options whose texts stand in a place."""
    if item.text is None:
        return None
    parts = [item.by_text.get(squash(fold_text(part))) for part in _TEXT_BREAK.split(text[:2_000]) if part.strip(" .")]
    if len(parts) > 1 and all(parts):
        return _counted([labels[0] for labels in parts if labels], item, multiple, "option texts")
    sentence = _SENTENCE_END.split(folded, maxsplit=1)[0][:500]
    named = _named_texts(sentence, item)
    if named is None:
        return _by_number(folded, item)
    if len(named) > 1:
        return _Found((), "option text", f"holds the texts of {'/'.join(item.in_order(named))}")
    trailing = _TRAILING_LABEL.search(text[:500])
    if trailing and (label := item.by_label.get(trailing[1].strip().casefold())) and label not in named:
        return _Found((), "option text", f"label {label} with the text of option {named[0]}")
    return _Found(tuple(named), "option text")


def _named_texts(sentence: str, item: Item) -> list[str] | None:
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


def _by_number(folded: str, item: Item) -> _Found | None:
    """`25` for the option `25%`, where the options' texts differ in nothing but the number."""
    numbers = {label: match[1] for label, text in item.texts.items() if (match := _LEADING_NUMBER.fullmatch(text))}
    shells = {text.replace(numbers.get(label, "\0"), "#", 1) for label, text in item.texts.items()}
    if len(numbers) != len(item.texts) or len(shells) != 1 or len(item.texts) < 2:
        return None
    labels = tuple(label for label, number in numbers.items() if number == folded)
    return _by_text(labels, "number of the option") if labels else None


# --------------------------------------------------------------------------------------------------------------------
# Replies that announce nothing

_AFFIRMED = re.compile(
    r"\s+(?:is|are)\s+(?:(?:the|both|all|also|clearly|indeed|therefore|thus|most|likely)\s+){0,3}"
    r"(?:(?:only|best|most|single)\s+){0,2}(?:correct|right|true|accurate|answers?|best)(?![^\W_])"
    r"|\s*(?:项|項|选项|選項)?(?:是|都|均|也)?(?:正确|正確|对|對)",
    re.IGNORECASE,
)
_MENTION = re.compile(r"(?:^|(?<=[\s(\[*\"',.;:]))[(\[*\"']*(?=\S)")
_CONCLUSION = re.compile(r"(?:therefore|thus|hence|so|∴|故|所以|因此|综上)[,:，：]?\s*", re.IGNORECASE)
_BRACKETED = re.compile(r"[(\[]\s*([^()\[\]\s]{1,8})\s*[)\]]")
_NAMED = re.compile(r"(?<![^\W_])(?:options?|choices?)\s+|选项|選項", re.IGNORECASE)


def _read_unannounced(text: str, item: Item, multiple: bool) -> _Found | None:
    stripped = text.strip()
    if not stripped:
        return None
    lines = [line for line in stripped[-20_000:].split("\n") if line.strip()]
    head = stripped[:MAX_SHORT_REPLY].split("\n", 1)[0]
    if len(stripped) <= MAX_SHORT_REPLY:
        block = _read_bare(stripped, item, multiple)
        if block:
            return block
    return (
        _read_bare(head, item, multiple)
        or _read_bare(lines[-1], item, multiple)
        or _affirmed(stripped[-20_000:], item, multiple)
        or _head_of_prose(head, lines, item, multiple)
        or _concluded(lines[-1], item, multiple)
        or _last_sentence(lines[-1], item)
        or _bracketed(stripped[-20_000:], item, everywhere=True)
    )


def _read_bare(line: str, item: Item, multiple: bool) -> _Found | None:
    """A line that is an answer and nothing else: labels, labels with their texts, or an option's text."""
    text = unwrap(line)
    whole = item.by_text.get(squash(fold_text(text)))
    if whole and not _is_label(text, item):
        return _by_text(whole, "whole line is an option text")
    found = _label_list(text, 0, item, multiple)
    if found and _END.fullmatch(text, found.end):
        return _head_labels(text, item, multiple, strict=True)
    if found and len(found.labels) == 1 and _one_per_line(text, item):
        return _Found((found.labels[0],), "label with its text")
    return _labels_with_texts(text, item, multiple) or _whole_number(text, item)


def _whole_number(text: str, item: Item) -> _Found | None:
    return _by_number(fold_text(text), item) if item.texts else None


def _affirmed(text: str, item: Item, multiple: bool) -> _Found | None:
    """The labels that are said to be correct: "B is the correct answer", "options A and C are correct"."""
    labels: list[str] = []
    for verb in list(_AFFIRMED.finditer(text))[-len(item.labels) * 4 :]:
        window = max(text.rfind("\n", 0, verb.start()), text.rfind(". ", 0, verb.start()), verb.start() - 60) + 1
        for start in _mention_starts(text, window, verb.start()):
            found = _label_list(text[: verb.start()], start, item, multiple)
            if found and found.end == verb.start():
                if found.alternative:
                    return _Found((), "said to be correct", "names alternatives")
                if not (set(found.labels) <= {"A", "I"} and text[start : start + 1] in "ai"):
                    labels += found.labels
                break
    return _counted(labels, item, multiple, "said to be correct") if labels else None


def _mention_starts(text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in _MENTION.finditer(text, start, end) if match.end() < end]


def _head_of_prose(head: str, lines: Sequence[str], item: Item, multiple: bool) -> _Found | None:
    """`B. The chart shows ...`, `Yes, because ...`; not the first line of a walk through the options."""
    text = unwrap(head)
    labelled = {label for line in lines if (label := _line_label(line, item)) is not None}
    found = None if len(labelled) > 1 else _head_labels(text, item, multiple, strict=True)
    if found:
        return found
    folded = fold_text(text)
    option = item.text.match(folded) if item.text else None
    if option and re.match(r"\s?(?:[,.;:!(]|because|since|$)", folded[option.end() :]):
        return _by_text(item.by_text[squash(option[0])], "starts with an option text")
    return None


def _line_label(line: str, item: Item) -> str | None:
    lead = _end_of(_LEAD, line, 0)
    found = _label_at(line, lead, item)
    return found[0] if found and (line[found[1] - 1] == ")" or re.match(r"\s?[.:]|\s+-", line[found[1] :])) else None


def _concluded(line: str, item: Item, multiple: bool) -> _Found | None:
    starts = [match.end() for match in _CONCLUSION.finditer(line[-500:])]
    return _read_bare(line[-500:][starts[-1] :], item, multiple) if starts else None


def _last_sentence(line: str, item: Item) -> _Found | None:
    """The one option whose text the last sentence holds; a number only where the sentence ends with it."""
    sentences = [part for part in _SENTENCE_END.split(fold_text(line[-500:])) if part.strip()]
    if not sentences or item.text is None:
        return None
    named = _named_texts(sentences[-1], item)
    if named is None or len(named) > 1:
        return None
    text = item.texts[named[0]]
    if text[0].isdecimal() and not sentences[-1].rstrip(" .").endswith(text):
        return None
    return _Found(tuple(named), "option text in the last sentence")


def _bracketed(text: str, item: Item, *, everywhere: bool) -> _Found | None:
    """The one label that is mentioned as a label, `(B)` or "option B"; only without everything else."""
    named = [item.by_label.get(match[1]) for match in _BRACKETED.finditer(text)]
    for match in _NAMED.finditer(text):
        found = _label_at(text, _end_of(_LEAD, text, match.end()), item)
        if found and _NEGATED.match(text, found[1]):
            return None
        named.append(found[0] if found else None)
    labels = {label for label in named if label}
    if len(labels) != 1 or (everywhere and _NEGATION.search(text)):
        return None
    return _Found(tuple(labels), "the only label named")
