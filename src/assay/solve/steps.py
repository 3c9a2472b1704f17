r"""Text to steps and back.

    split_steps(text)    cut where a step starts; joined as they are, the steps are the text again

A step starts after a blank line and at a numbered heading (`Step 3:`, `**3.**`, `(3)`, 第三步). Lines that merely start
with a number (`3.`) are steps only where the text has no headings that say "step"; else they are lists inside of one.
Nothing starts inside fenced code or display mathematics, whatever blank lines those hold. What separates two steps
stays with the first of them. Of more than `max_steps` blocks, ceil(n / max_steps) neighbours become one step, as in
VisualPRM's data.

Every function is one pass over the text: solutions are hostile input.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.mark.answer import answer_slots
from assay.mark.text import prepare

MAX_STEPS = 12
"""Steps of a solution at most; the published bound of VisualPRM's data."""


def split_steps(text: str, *, max_steps: int = MAX_STEPS) -> tuple[str, ...]:
    """Cut a solution into steps. For every text that is not blank, `"".join(split_steps(text)) == text`.

    A blank text has no steps.

    Raises:
        ValueError: for fewer than one step.
    """
    if max_steps < 1:
        raise ValueError(f"a solution can't have {max_steps} steps at most")
    if not text or text.isspace():
        return ()
    blocks = _join_bare(_cut(text, _starts(text)))
    return _merge(blocks, max_steps)


def strip_step(step: str) -> str:
    """What a step says: without its number and the blank space around. A step that is only a number stays as it is."""
    _, content = split_number(step)
    return content or step.strip()


def split_number(step: str) -> tuple[str, str]:
    """A step's number as written, with the blanks behind it (`Step 3: `; empty where there is none), and its content.

    Emphasis that goes on after the number stays with the content: `**Step 3: Add.**` is `Step 3: ` and `**Add.**`.
    """
    text = step.strip()
    found = _STEP.match(text) or _PLAIN.match(text)
    if found is None:
        return "", text
    mark = found["mark"] or ""
    content = text[found.end() :].lstrip()
    number = text[: len(text) - len(content)]
    if mark and not (found["close"] or found.groupdict().get("late")) and mark in content:
        return number.replace(mark, "", 1), mark + content
    return number, content


_CHOOSING = re.compile(r"choose|select|pick|go with|opt for|option|choice|statement|response|选|選", re.IGNORECASE)


def is_final(step: str) -> bool:
    """Whether a step announces the final answer (`Answer: B`, a box, 答案：B), not merely a choice on the way."""
    text = prepare(step)
    return any(
        slot.rule in ("box", "tag", "hash") or not _CHOOSING.match(text, slot.start) for slot in answer_slots(text)
    )


def final_step(steps: Sequence[str]) -> int | None:
    """Position of the last step that announces the final answer; None where none does."""
    return next((place for place in reversed(range(len(steps))) if is_final(steps[place])), None)


# --------------------------------------------------------------------------------------------------------------------
# Where steps start

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_CJK_NUMBER = "[0-9０-９零一二三四五六七八九十百]{1,4}"
# Indented by four blanks or a tab it is a line of a list within a step.
_HEAD = r"[ ]{0,3}(?:#{1,6}[ \t]{1,4}|>[ \t]?)?(?P<mark>\*\*|__)?(?(mark)[ \t]?)"
_TAIL = r"(?P<close>\*\*|__)?[ \t]?"
_STEP_NUMBER = rf"(?:step[ \t]{{0,2}}\#?[0-9]{{1,3}}(?![0-9.]*[0-9%])|第{_CJK_NUMBER}步|步[骤驟][ \t]?{_CJK_NUMBER})"
_AFTER_STEP = r"(?:(?:[:：.、,，)]|[-–—](?=[ \t]))[ \t]?|(?=\r|\n|$)|(?<=步)|(?<=[\])）】*]))"
_LATE = r"(?(mark)(?(close)|(?P<late>\*\*|__)?)|)"  # `**Step 3:** Add`
_STEP = re.compile(rf"{_HEAD}[\[(（【]?{_STEP_NUMBER}[\])）】]?{_TAIL}{_AFTER_STEP}{_LATE}[ \t]*", re.IGNORECASE)
_PLAIN = re.compile(
    rf"{_HEAD}(?:(?P<number>[0-9]{{1,2}})(?:[.)](?=[ \t*_]|\r|\n|$)|、|．)|[(（](?P<inner>[0-9]{{1,2}})[)）])"
    rf"{_TAIL}[ \t]*"
)


def _starts(text: str) -> list[int]:
    """Positions at which a step starts, but for the first."""
    shielded = _Shield(_shields(text))
    lines = [match.span() for match in _LINE.finditer(text)]
    headed = [_STEP.match(text, start, end) is not None for start, end in lines]
    numbers = None if any(headed) else _Counter()
    starts: list[int] = []
    begun = blank = False  # whether anything stands before; whether a blank line does directly
    for (start, end), heading in zip(lines, headed, strict=True):
        if shielded(start):
            blank = False
            continue
        if not text[start:end].strip():
            blank = True
            continue
        numbered = heading or (numbers is not None and numbers.follows(_PLAIN.match(text, start, end)))
        if begun and (blank or numbered):
            starts.append(start)
        begun, blank = True, False
    return starts


class _Counter:
    """Numbers at the heads of lines count as steps where they go on counting, so that a year in prose does not."""

    def __init__(self) -> None:
        self._last: int | None = None

    def follows(self, found: re.Match[str] | None) -> bool:
        if found is None:
            return False
        number = int(found["number"] or found["inner"])
        if self._last is not None and number not in (1, self._last + 1):
            return False
        self._last = number
        return True


def _cut(text: str, starts: Sequence[int]) -> list[str]:
    ends = [*starts, len(text)]
    return [text[start:end] for start, end in zip([0, *starts], ends, strict=True)]


_WORD = re.compile(r"[^\W_]")
_TITLE = re.compile(r"(?:#{1,6}[ \t][^\r\n]*|(?:\*\*|__)[^*_\r\n]{1,80}(?<![.!?。])(?:\*\*|__):?)")


def _join_bare(blocks: Iterable[str]) -> list[str]:
    """A block that is only a heading joins the next; one without any letter or digit (`---`) joins the one before."""
    joined: list[list[str]] = []
    open_heading = False  # whether the last group still waits for what it heads
    for block in blocks:
        if joined and (open_heading or not _WORD.search(block)):
            joined[-1].append(block)
        else:
            joined.append([block])
            open_heading = True
        open_heading = open_heading and _is_bare(block)
    return ["".join(group) for group in joined]


def _is_bare(block: str) -> bool:
    if len(block) > 2_000:
        return False
    number, text = split_number(block)
    if not text:
        return True
    if answer_slots(text):  # `**Answer: B**` is no heading
        return False
    if not number and not _WORD.search(text):
        return True
    # `### Step 1: Read` is a title as a whole, `Step 1: **Read**` by its content.
    return _TITLE.fullmatch(block.strip()) is not None or _TITLE.fullmatch(text) is not None


def _merge(blocks: Sequence[str], max_steps: int) -> tuple[str, ...]:
    size = -(-len(blocks) // max_steps)
    return tuple("".join(blocks[at : at + size]) for at in range(0, len(blocks), size))


# --------------------------------------------------------------------------------------------------------------------
# What is never cut


class _Span(NamedTuple):
    start: int
    end: int


class _Shield:
    """Whether a position lies inside one of the spans. Asked for growing positions."""

    def __init__(self, spans: Sequence[_Span]) -> None:
        self._spans = spans
        self._at = 0

    def __call__(self, position: int) -> bool:
        while self._at < len(self._spans) and self._spans[self._at].end <= position:
            self._at += 1
        return self._at < len(self._spans) and self._spans[self._at].start < position


def _shields(text: str) -> list[_Span]:
    """Fenced code and display mathematics, in order, apart from each other."""
    fences = _fences(text) if "```" in text or "~~~" in text else []
    merged: list[_Span] = []
    for span in sorted([*fences, *_displays(text, fences)]):
        if merged and span.start < merged[-1].end:
            merged[-1] = _Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


_FENCE = re.compile(r"^[ \t]{0,12}(?P<fence>`{3,}|~{3,})(?P<info>[^\r\n]*)", re.MULTILINE)


def _fences(text: str) -> list[_Span]:
    """Code between fences. One that is not closed goes to the end of the text, as in Markdown."""
    spans: list[_Span] = []
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            if line["fence"][0] == "~" or "`" not in line["info"]:  # ```a``` is code within a line
                opened = line
        elif line["fence"].startswith(opened["fence"]) and not line["info"].strip():
            spans.append(_Span(opened.start(), line.end()))
            opened = None
    if opened is not None:
        spans.append(_Span(opened.start(), len(text)))
    return spans


# `\\[2pt]` is a line break with its height, not an opened display.
_DISPLAY = re.compile(
    r"\\\\|\\\$|(?P<open>\\\[)|(?P<close>\\\])|(?P<dollars>\$\$)|\\(?P<edge>begin|end)\{(?P<name>[A-Za-z]{1,40}\*?)\}"
)


def _displays(text: str, fences: Sequence[_Span]) -> list[_Span]:
    r"""`\[..\]`, `$$..$$` and `\begin{..}..\end{..}` that are closed. One that isn't is taken for a slip and shields
    nothing, so that one bracket can't make the rest of a solution a single step."""
    fenced = _Shield(fences)
    tokens = [token for token in _DISPLAY.finditer(text) if token.lastgroup and not fenced(token.start())]
    closed_at = _closing(tokens)
    spans: list[_Span] = []
    at = 0
    while at < len(tokens):
        end = closed_at.get(at)
        if end is None:
            at += 1
            continue
        spans.append(_Span(tokens[at].start(), tokens[end].end()))
        at = end + 1
    return spans


def _closing(tokens: Sequence[re.Match[str]]) -> dict[int, int]:
    """Opening token -> closing token, by their places."""
    closed_at: dict[int, int] = {}
    bracket: int | None = None
    dollars: int | None = None
    environments: dict[str, list[int]] = {}
    for at, token in enumerate(tokens):
        if token["open"]:
            bracket = at
        elif token["close"]:
            if bracket is not None:
                closed_at[bracket] = at
            bracket = None
        elif token["dollars"]:
            if dollars is None:
                dollars = at
            else:
                closed_at[dollars], dollars = at, None
        elif token["edge"] == "begin":
            environments.setdefault(token["name"], []).append(at)
        elif environments.get(token["name"]):
            closed_at[environments[token["name"]].pop()] = at
    return closed_at
