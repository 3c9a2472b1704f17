"""Choice questions: which of the item's labels a reply answers with.

Reading goes from the surest place to the least sure one and stops at the first that says anything:

1. The places that announce an answer (`Answer: B`, a box, 答案：B, "the answer is B"), the last one first. A place that
   turns out to be prose ("Answer: this asks which ...") is passed over; one that holds a short answer which is no
   option ends the search: the reply has answered, outside the options.
2. A reply that is nothing but an answer; its first or last line; a statement "B is correct"; a conclusion "So (B)"; the
   one option whose text the last sentence holds, or the one label that it ends with; the one label in brackets.

Several options named where one is asked for, alternatives ("A or B"), and a label whose text is another option's are
`ambiguous`, never a guess. Letters are read as labels only where they stand as labels: not the pronoun I, not the
article A, not a letter of a formula or a word, not a negated option.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from assay.mark.answer import MAX_SLOT, Slot, answer_slots, listed, prepare
from assay.mark.labels import (
    CROSS,
    END,
    LEAD,
    Found,
    counted,
    end_of,
    head_labels,
    label_at,
    label_list,
    labels_with_texts,
    one_per_line,
)
from assay.mark.options import Item, compile_item, fold_text, squash
from assay.mark.place import (
    SENTENCE_END,
    all_or_none,
    bracketed,
    by_number,
    by_text,
    is_label,
    named_texts,
    negated,
    none_or_all_of_them,
    read_place,
)
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


MAX_WRITTEN = 80
MAX_SHORT_WORDS = 3
"""An announced answer of so few words is an answer even where it is no option; a longer one is prose."""
MAX_SHORT_REPLY = 400
"""Characters of a reply that is read as an answer as a whole."""
MAX_READ = 20_000
"""Characters at the end of a reply that announces nothing which are searched for statements about options."""


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
        prepared = prepared[:MAX_SLOT]
        found = read_place(prepared, item, multiple) or _announced(prepared, item, multiple)
        return _reading(found, prepared, explicit=True) if found else _nothing("not an option", prepared, explicit=True)
    slots = listed(answer_slots(prepared), prepared)
    for slot in reversed(slots):
        found = _read_slot(slot, prepared, item, multiple)
        if found:
            return _reading(found, slot.text, explicit=slot.closed)
        if _is_short(slot) and slot.rule != "box":
            return _nothing("the answer is not an option", slot.text, explicit=slot.closed)
    # A box without an option is an answer outside the options, unless something follows that names one.
    box = next((slot for slot in reversed(slots) if slot.rule == "box"), None)
    found = _read_unannounced(prepared[box.end :] if box else prepared, item, multiple)
    if found:
        return _reading(found, prepared, explicit=False)
    if box:
        return _nothing("the answer is not an option", box.text, explicit=box.closed)
    return _nothing("no option named", "")


def _announced(text: str, item: Item, multiple: bool) -> Found | None:
    """What an extracted answer announces: "The correct answer is A"."""
    slots = reversed(listed(answer_slots(text), text))
    return next((found for slot in slots if (found := _read_slot(slot, text, item, multiple))), None)


def mark_choice(reading: ChoiceReading, gold: ChoiceGold) -> Mark:
    """Right iff exactly the gold's labels were read; without a clear answer `unanswered`, with the reason."""
    if reading.status != "ok":
        return Mark(
            verdict="unanswered", extraction=reading.written or None, reason=f"{reading.status}: {reading.rule}"
        )
    verdict = "right" if set(reading.labels) == set(gold.labels) else "wrong"
    return Mark(verdict=verdict, extraction=",".join(reading.labels), reason=reading.rule)


def _reading(found: Found, written: str, *, explicit: bool) -> ChoiceReading:
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


def _read_slot(slot: Slot, text: str, item: Item, multiple: bool) -> Found | None:
    """What an announced place holds: its line, and the lines that go on with a list."""
    place = slot.text
    if slot.rule in ("line", "sentence"):
        place = _with_list_lines(place, text, slot.end, item, multiple)
    elif slot.rule == "hash":  # `#### B`; the heading of a last section holds more
        return read_place(place, item, multiple) if is_label(unwrap(place), item) else None
    return read_place(place, item, multiple, strict=slot.rule == "sentence")


def _with_list_lines(place: str, text: str, end: int, item: Item, multiple: bool) -> str:
    """The place and the directly following lines that are a label, alone or (several allowed) with its own text."""
    lines = [place]
    alone = one_per_line(place, item)
    while alone and end < len(text) and len(lines) <= len(item.labels):
        start, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + MAX_SLOT)]
        if not (one_per_line(line, item) if multiple else is_label(unwrap(line), item)):
            break
        lines.append(line.strip())
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------------------------------
# Replies that announce nothing

_AFFIRMED = re.compile(
    r"\s(?:is|are)\s(?:(?:the|both|all|also|clearly|indeed|therefore|thus|most|likely)\s){0,3}"
    r"(?:(?:only|best|most|single)\s){0,2}(?:correct|right|true|accurate|answers?|best)(?![^\W_])"
    r"|\s?(?:项|項|选项|選項)?(?:是|都|均|也)?(?:正确|正確|对|對)",
    re.IGNORECASE,
)
_MENTION = re.compile(r"(?:^|(?<=[\s(\[*\"',.;:]))[(\[*\"']*(?=\S)")
_CONCLUSION = re.compile(r"(?:therefore|thus|hence|so|∴|故|所以|因此|综上)[,:，：]?\s*", re.IGNORECASE)


def _read_unannounced(text: str, item: Item, multiple: bool) -> Found | None:
    whole = text.strip()
    if not whole:
        return None
    stripped = whole[-MAX_READ:]
    lines = [line for line in stripped.split("\n") if line.strip()]
    head = whole[:MAX_SHORT_REPLY].split("\n", 1)[0]
    if len(whole) <= MAX_SHORT_REPLY:
        block = _read_bare(stripped, item, multiple)
        if block:
            return block
    return (
        _read_bare(head, item, multiple)
        or _read_bare(_last_block(lines, item), item, multiple)
        or _affirmed(stripped, item, multiple)
        or _head_of_prose(head, lines, item, multiple)
        or _concluded(lines[-1], item, multiple)
        # Where several labels may be right, the one that a rule of thumb finds may not be all.
        or (None if multiple else _one_mentioned(stripped, lines[-1], item))
    )


def _one_mentioned(text: str, line: str, item: Item) -> Found | None:
    return _last_sentence(line, item) or _last_label(line, item) or bracketed(text, item)


def _last_block(lines: Sequence[str], item: Item) -> str:
    """The last line, or the list of labels that the reply ends with."""
    first = len(lines) - 1
    while first > 0 and len(lines) - first < len(item.labels) and one_per_line(lines[first - 1], item):
        first -= 1
    return "\n".join(lines[first:]) if one_per_line(lines[-1], item) else lines[-1]


def _read_bare(line: str, item: Item, multiple: bool) -> Found | None:
    """A line that is an answer and nothing else: labels, labels with their texts, or an option's text."""
    text = unwrap(line)
    whole = item.by_text.get(squash(fold_text(text)))
    if whole and not is_label(text, item):
        return by_text(whole, "whole line is an option text")
    if all_or_none(fold_text(text)):
        return none_or_all_of_them(fold_text(text), item)
    if CROSS.search(text):  # "❌ D" says that D is none
        return labels_with_texts(text, item, multiple)
    found = label_list(text, 0, item, multiple)
    if found and END.fullmatch(text, found.end):
        return head_labels(text, item, multiple, strict=True)
    if found and len(found.labels) == 1 and one_per_line(text, item):
        return Found((found.labels[0],), "label with its text")
    return labels_with_texts(text, item, multiple) or by_number(fold_text(text), item)


def _affirmed(text: str, item: Item, multiple: bool) -> Found | None:
    """The labels that are said to be correct: "B is the correct answer", "options A and C are correct"."""
    labels: list[str] = []
    for verb in list(_AFFIRMED.finditer(text))[-len(item.labels) * 4 :]:
        window = max(text.rfind("\n", 0, verb.start()), text.rfind(". ", 0, verb.start()), verb.start() - 60) + 1
        for start in _mention_starts(text, window, verb.start()):
            found = label_list(text[: verb.start()], start, item, multiple)
            if found and found.end == verb.start():
                if found.alternative:
                    return Found((), "said to be correct", "names alternatives")
                if not (set(found.labels) <= {"A", "I"} and text[start : start + 1] in "ai"):
                    labels += found.labels
                break
    return counted(labels, item, multiple, "said to be correct") if labels else None


def _mention_starts(text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in _MENTION.finditer(text, start, end) if match.end() < end]


def _head_of_prose(head: str, lines: Sequence[str], item: Item, multiple: bool) -> Found | None:
    """`B. The chart shows ...`, `Yes, because ...`; not the first line of a walk through the options."""
    text = unwrap(head)
    labelled = {label for line in lines if (label := _line_label(line, item)) is not None}
    found = None if len(labelled) > 1 else head_labels(text, item, multiple, strict=True)
    if found:
        return found
    folded = fold_text(text)
    option = item.text.match(folded) if item.text else None
    if option and not multiple and re.match(r"\s?(?:[,.;:!(]|because|since|$)", folded[option.end() :]):
        return by_text(item.by_text[squash(option[0])], "starts with an option text")
    return None


def _line_label(line: str, item: Item) -> str | None:
    lead = end_of(LEAD, line, 0)
    found = label_at(line, lead, item)
    return found[0] if found and (line[found[1] - 1] == ")" or re.match(r"\s?[.:]|\s+-", line[found[1] :])) else None


def _concluded(line: str, item: Item, multiple: bool) -> Found | None:
    starts = [match.end() for match in _CONCLUSION.finditer(line[-500:])]
    return _read_bare(line[-500:][starts[-1] :], item, multiple) if starts else None


def _last_sentence(line: str, item: Item) -> Found | None:
    """The one option whose text the last sentence holds; a number only where the sentence ends with it."""
    sentences = [part for part in SENTENCE_END.split(fold_text(line[-500:])) if part.strip()]
    if not sentences or item.text is None:
        return None
    named = named_texts(sentences[-1], item)
    if named is None or len(named) > 1:
        return None
    text = item.texts[named[0]]
    if text[0].isdecimal() and not sentences[-1].rstrip(" .").endswith(text):
        return None
    return Found(tuple(named), "option text in the last sentence")


_WORD = re.compile(r"[0-9A-Za-zÀ-ɏ]+|[^\W_]")
_COMPARING = frozenset(
    ("than", "to", "from", "with", "and", "or", "as", "like", "of", "for", "not", "except", "over", "under")
)


def _last_label(line: str, item: Item) -> Found | None:
    """The label that the last sentence ends with: "It leaves through door C."; the only label of the sentence."""
    sentence = unwrap([part for part in SENTENCE_END.split(line[-500:]) if part.strip()][-1])
    found: set[str] = set()
    last: str | None = None
    before = ""
    for word in _WORD.finditer(sentence):
        label = label_at(sentence, word.start(), item)
        if label and word[0] not in ("a", "I", "i") and not (word[0].islower() and len(word[0]) == 1):
            found.add(label[0])
            last = label[0] if END.fullmatch(sentence, label[1]) and before not in _COMPARING else None
        before = word[0].lower()
    if last is None or len(found) > 1 or negated(sentence):
        return None
    return Found((last,), "the label that the last sentence ends with")
