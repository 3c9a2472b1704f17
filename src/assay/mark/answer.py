"""Where a reply says its final answer: answer slots and boxes.

The order of work in `choice` and `number` is

    prepare(text)            thinking cut off, Unicode folded
    answer_slots(prepared)   every place that announces an answer, in the order of the text
    the last slot that reads wins; what a slot holds is read by the module of the answer's kind

`find_answer_slot` does all three steps for readers that need no more than the last slot's text. Everything here is one
pass over the text, or bounded by a named limit: replies are hostile input.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from assay.mark.announcing import is_listing, is_tentative, json_value
from assay.mark.text import normalise, prepare, strip_thinking, unwrap

__all__ = [
    "Box",
    "Slot",
    "SlotRule",
    "all_boxes",
    "answer_slots",
    "find_answer_slot",
    "last_boxed",
    "listed",
    "normalise",
    "prepare",
    "strip_thinking",
    "unwrap",
]

MAX_SLOT = 2_000
"""Characters of a slot that are read. What is longer is prose, whose head is all that can be an answer."""

MAX_SLOTS = 64
"""Announcements of one kind that are looked at, counted from the end of the reply: the last ones matter."""

# --------------------------------------------------------------------------------------------------------------------
# Boxes


class Box(NamedTuple):
    r"""One `\boxed{...}`: its content, and where it stands. `closed` is False where the closing brace is missing."""

    content: str
    start: int
    end: int
    closed: bool


class _Span(NamedTuple):
    """A box by positions alone, so that deep nesting copies no text."""

    start: int
    inner: int
    inner_end: int
    end: int
    closed: bool


# "\x08oxed" is "\boxed" after a string literal ate its backslash.
_BOX_TOKEN = re.compile(
    r"(?P<box>(?:\\{1,4}(?:boxed|fbox|framebox)|\x08oxed|(?<![A-Za-z\\])boxed(?=\{))[ \t]{0,8}\{)"
    r"|\\{1,4}(?:boxed|fbox)[ \t]{0,8}(?P<bare>[-+]?\$?\d[\d.,/]*%?|[A-Za-z](?![A-Za-z]))"
    r"|\\[\s\S]|(?P<open>\{)|(?P<close>\})"
)


def all_boxes(text: str) -> list[Box]:
    r"""The boxes of `text` in order (the last MAX_SLOTS of them), braces balanced.

    Knows `\boxed{5}`, `\fbox{5}`, `\boxed 5` and boxes that were never closed: the content of such a one ends with its
    line. A box inside a closed box belongs to that one; a box around nothing but a box is the inner one. Empty boxes
    are left out.
    """
    start = _first_box(text)
    if start is None:
        return []
    spans: list[_Span] = []
    open_braces: list[tuple[int, int] | None] = []  # (start of the box, start of its content), None for a plain brace
    for token in _BOX_TOKEN.finditer(text, start):
        if token["box"] is not None:
            open_braces.append((token.start(), token.end()))
        elif token["bare"] is not None:
            spans.append(_Span(token.start(), token.start("bare"), token.end(), token.end(), True))
        elif token["open"] is not None:
            open_braces.append(None)
        elif token["close"] is not None and open_braces and (box := open_braces.pop()) is not None:
            spans.append(_Span(*box, token.start(), token.end(), True))
    for box in [box for box in open_braces if box is not None][-MAX_SLOTS:]:
        end = _line_end(text, box[1])
        spans.append(_Span(*box, end, end, False))
    boxes = [_box(text, span) for span in _outermost(spans)[-MAX_SLOTS:]]
    return [box for box in boxes if box.content]


def _first_box(text: str) -> int | None:
    """Where the scan may start: at the word that holds the first "box", with the backslashes before it.

    Braces before it, whether they close or not, change nothing about the boxes behind.
    """
    found = [at for word in ("box", "oxed") if (at := text.find(word)) >= 0]
    if not found:
        return None
    start = min(found)
    while start and (text[start - 1].isalpha() or text[start - 1] in "\\\b"):
        start -= 1
    return start


def _outermost(spans: list[_Span]) -> list[_Span]:
    kept: list[_Span] = []
    for span in sorted(spans):
        around = kept[-1] if kept else None
        if around is None or not around.closed or span.end > around.end:
            kept.append(span)
        elif around.inner == span.start and around.inner_end == span.end:
            kept[-1] = span._replace(end=around.end)
    return kept


def _box(text: str, span: _Span) -> Box:
    content = text[span.inner : span.inner_end].strip()
    if not span.closed or span.inner_end == span.end:  # cut, or without braces: what follows is not the box's own
        content = content.rstrip("$ .,")
    return Box(content, span.start, span.end, span.closed)


def last_boxed(text: str) -> str | None:
    r"""The content of the last box, `\text{B}` and the like left as written; None where there is no box."""
    boxes = all_boxes(text)
    return boxes[-1].content if boxes else None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


# --------------------------------------------------------------------------------------------------------------------
# Slots

SlotRule = Literal[
    "box",  # \boxed{B}
    "tag",  # <answer>B</answer>, {"answer": "B"}
    "line",  # Answer: B
    "sentence",  # The answer is B
    "hash",  # #### 5
]


class Slot(NamedTuple):
    """A place that announces an answer.

    Attributes:
        text: what stands there, to the end of its line (the content of a box or tag), at most MAX_SLOT characters.
        rule: what kind of place it is.
        start: where the announcement starts in the text that was searched.
        end: where the slot's text ends.
        closed: False for a box or tag that was cut: the answer may be incomplete.
        own_line: the answer stands on a line after the announcement's.
    """

    text: str
    rule: SlotRule
    start: int
    end: int
    closed: bool = True
    own_line: bool = False


# The word for "answer". ASCII spellings first: ASCII text is not searched for the others.
_LATIN = (
    "answer",
    "ans",
    "antwort",
    "reponse",
    "respuesta",
    "resposta",
    "risposta",
    "antwoord",
    "svar",
    "vastaus",
    "cevap",
    "jawaban",
)
_ACCENTED = (
    "lösung",
    "réponse",
    "odpowiedź",
    "odpověď",
    "yanıt",
    "đáp án",
    "câu trả lời",
    "ответ",
    "відповідь",
    "απάντηση",
)
_OTHER = (
    *("答案", "答え", "答", "解答", "正解", "正答", "结论", "結論", "정답", "답안", "답변", "답"),
    *("उत्तर", "คำตอบ", "الإجابة", "الاجابة", "الجواب", "תשובה", "پاسخ", "جواب"),
)
_CHOOSING = ("choose", "select", "pick", "go with", "opt for")
_CHOICES = ("option", "choice", "statement", "response")
_CHINESE_RIGHT = ("选项", "選項", "正确的", "正確的")
_CHINESE_CHOOSING = ("选择", "選擇", "选", "選")
_ASCII_KEYS = ("ans", *_LATIN[2:], *_CHOOSING, *_CHOICES)
_FURTHER_KEYS = (*_ACCENTED, *_OTHER, *_CHINESE_RIGHT, *_CHINESE_CHOOSING)

_GAP = r"[ \t]{0,8}(?:\([^()\n]{0,40}\)[ \t]{0,8})?[*_`~\"'\]】」$)]{0,8}[ \t]{0,8}"
_COPULA = "is|are|was|be|equals|ist|lautet|est|sont|es|son|é|são|è|sono|jest|är|là|adalah|это|є|είναι"
_BEFORE_CHOICE = "".join(
    f"|(?<={adjective} )"
    for adjective in ("correct", "right", "best", "final", "true", "appropriate", "likely", "my", "only", "remaining")
)[1:]
_BEFORE_CHOOSING = "".join(
    f"|(?<={word} )"
    for word in (
        "\ni",
        " i",
        "we",
        "i'd",
        "i'll",
        "we'd",
        "we'll",
        "would",
        "will",
        "should",
        "must",
        "therefore",
        "so",
    )
)[1:]
# All patterns run over lower-cased text, from the position of a key word.
_MARKER = re.compile(
    rf"(?P<line>(?<![^\W_])(?:{'|'.join((*_LATIN, *_ACCENTED))})(?:s|es|e|en|nya|ы)?"
    rf"(?: (?:letter|option|choice|key|value)s?)?{_GAP}(?::|=(?!=)|[ \t]-(?=[ \t]))"
    rf"|(?:{'|'.join(_OTHER)})(?:选项|選項)?{_GAP}[:=]"
    rf"|(?<![^\W_])(?:{'|'.join(_CHOICES)})s?{_GAP}:)"
    rf"|(?P<heading>(?<![^\W_])(?:{'|'.join((*_LATIN, *_ACCENTED, *_OTHER))})s?[*_ \t]{{0,8}}$)"
    rf"|(?P<sentence>(?<![^\W_])(?:(?:{'|'.join((*_LATIN, *_ACCENTED))})(?:s|es|e|en|nya|ы)?(?![^\W_])"
    rf"|(?:{_BEFORE_CHOICE})(?:{'|'.join(_CHOICES)})s?(?![^\W_]))"
    rf"[^.:;?!\n]{{0,60}}?(?<![^\W_])(?:{_COPULA})(?![^\W_])[ \t]?:?"
    rf"|(?:{_BEFORE_CHOOSING})(?:{'|'.join(_CHOOSING)})(?![^\W_])"
    rf"|(?:{'|'.join(_OTHER)})(?:应该|應該|应|應|就|则|則|必){{0,2}}(?:是|为|為|选|選|は|が|은|는|이|คือ|هي|هو|है){{1,2}}"
    rf"|(?:{'|'.join(_CHINESE_RIGHT)})(?:应该|應該|应|應)?(?:是|为|為):?"
    rf"|(?<![不未没沒可])(?:{'|'.join(_CHINESE_CHOOSING)})(?![项項题題出取择擇])[为為了]?)",
    re.MULTILINE,
)
_HEADING = re.compile(r"[ \t#>*_]*(?:(?:my|the|final|correct) )*(?:最终|最終|正确|正確)?")
_BLANK_OR_DECORATION = re.compile(r"[\s*_`~$>#|]*|\s*\\[\[(]\s*")
_CLOSED_EMPHASIS = re.compile(r"[*_`~]+(?=\s)")
_TAG = re.compile(r"<answer>|</answer>|<\|begin_of_box\|>|<\|end_of_box\|>", re.IGNORECASE)
_LOOKAHEAD_LINES = 3
_MAX_JOINT = 16


def answer_slots(text: str) -> list[Slot]:
    """Every place of a prepared text that announces an answer, in the order of the text.

    Of each kind the last MAX_SLOTS are looked at.
    """
    slots = [Slot(box.content[:MAX_SLOT], "box", box.start, box.end, box.closed) for box in all_boxes(text)]
    slots += _tags(text)
    for rule, start, end in _markers(text):
        slot = _json_value(text, start, end) or _after(text, rule, start, end)
        if slot is not None:
            slots.append(slot)
    last = text.rstrip()
    last_line = last.rfind("\n") + 1
    if last.startswith("####", last_line) and (content := last[last_line:].lstrip("# \t")):
        slots.append(Slot(content[:MAX_SLOT], "hash", last_line, len(last)))
    slots.sort(key=lambda slot: slot.start)
    return slots


def find_answer_slot(text: str) -> Slot | None:
    """The last place where the reply announces an answer (`Answer: ...`, a box, 答案：...), thinking left out."""
    slots = answer_slots(prepare(text))
    return slots[-1] if slots else None


def _markers(text: str) -> list[tuple[SlotRule, int, int]]:
    """(rule, start, end) of the words that announce an answer.

    Looking for plain words first and matching the pattern only there is ten times faster than searching it.
    """
    lower = text.lower()
    keys = _ASCII_KEYS if text.isascii() else _ASCII_KEYS + _FURTHER_KEYS
    starts: set[int] = set()
    for key in keys:
        at = lower.find(key)
        while at >= 0:
            starts.add(at)
            at = lower.find(key, at + len(key))
    found: list[tuple[SlotRule, int, int]] = []
    done = 0
    for start in sorted(starts):
        marker = _MARKER.match(lower, start) if start >= done else None
        if marker is None:
            continue
        rule: SlotRule = "sentence" if marker.lastgroup == "sentence" else "line"
        if marker.lastgroup == "heading":
            line = lower.rfind("\n", max(0, start - MAX_SLOT), start) + 1
            if not _HEADING.fullmatch(lower, line, start):
                continue
        done = marker.end()
        if not (is_tentative(lower, start, done) if rule == "sentence" else is_listing(lower, start, done)):
            found.append((rule, start, done))
    return found[-MAX_SLOTS:]


def _json_value(text: str, start: int, end: int) -> Slot | None:
    found = json_value(text, start, end)
    return found and Slot(found.text, "tag", start, found.end, found.closed)


def _after(text: str, rule: SlotRule, start: int, at: int) -> Slot | None:
    """The slot that a marker opens: the rest of its line, or the next line that holds anything."""
    for ahead in range(_LOOKAHEAD_LINES + 1):
        end = _line_end(text, at)
        line = text[at : min(end, at + MAX_SLOT)]
        if not _BLANK_OR_DECORATION.fullmatch(line):
            closed_emphasis = _CLOSED_EMPHASIS.match(line)
            content = line[closed_emphasis.end() if closed_emphasis else 0 :].strip()
            return Slot(content, rule, start, end, True, ahead > 0)
        if end == len(text):
            return None
        at = end + 1
    return None


_BETWEEN_BOXES = re.compile(r"[ $]{0,4}(?:[,;、&]|,? ?(?:and|or)|和|或)[ $]{0,4}")


def listed(slots: Sequence[Slot], text: str) -> list[Slot]:
    r"""The slots, where boxes that make one list are one: the last of `\boxed{A} and \boxed{C}` is `A and C`."""
    joined: list[Slot] = []
    for slot in slots:
        before = joined[-1] if joined else None
        joint = text[before.end : slot.start] if before and before.rule == slot.rule == "box" else ""
        if before and len(joint) < _MAX_JOINT and _BETWEEN_BOXES.fullmatch(joint):
            slot = slot._replace(text=(before.text + joint + slot.text)[:MAX_SLOT])
        joined.append(slot)
    return joined


def _tags(text: str) -> list[Slot]:
    if "<" not in text:
        return []
    slots: list[Slot] = []
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if "/" not in tag[0] and "end" not in tag[0]:
            opened = tag
        elif opened is not None:
            content = text[opened.end() : min(tag.start(), opened.end() + MAX_SLOT)].strip()
            slots.append(Slot(content, "tag", opened.start(), tag.end()))
            opened = None
    if opened is not None:
        end = _line_end(text, opened.end())
        content = text[opened.end() : min(end, opened.end() + MAX_SLOT)].strip()
        slots.append(Slot(content, "tag", opened.start(), end, False))
    return [slot for slot in slots if slot.text][-MAX_SLOTS:]
