"""What a policy wrote after the steps it was given: a continuation, a repetition first, or a new beginning.

Servers and models differ: one returns the continuation alone, one repeats the text it continues, one opens a new turn,
and a model that was asked in words to go on may write its solution again from the first step. All of it is told apart
here by the text, so that a solution holds no step twice and a new beginning does not pass as a refinement.
"""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from assay.solve.records import Continuation
from assay.solve.steps import split_number, split_steps, strip_step

NEARLY = 0.9
"""Share of common words from which on a text repeats the given steps (twice the common words over the sum of both)."""

ALIKE = 0.85
"""Share of common words from which on a step with the same numbers is the first given step over again. High, since
steps in a row may well be built alike, and a continuation that is taken for a new beginning loses its given steps."""

_FEWEST = 4  # words of a step below which likeness says nothing
_MOST_STEPS = 1_000_000  # no merging: the finest division of a reply

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]+|[^\w\s]")
_DECORATION = "*_#`"
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_NUMBER = re.compile(r"[0-9]{1,3}")
_ANEW = re.compile(
    r"\A\W{0,8}(?:(?:sure|certainly|of course|okay|ok|sorry|apologies)\b\W{0,4})?"
    r"(?:let(?:'|’)?s|let me|let us|i will|i(?:'|’)ll|we)\s+(?:start|begin|try|solve (?:this|it))\s+"
    r"(?:over|again|anew|afresh|from (?:the )?(?:start|scratch|beginning))\b",
    re.IGNORECASE,
)


class Continued(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The new text, without what it repeats, and what kind of continuation it was."""

    text: str
    kind: Continuation


def read_continuation(kept: Sequence[str], reply: str) -> Continued:
    """What a reply adds to the steps that were given.

    - Nothing but white space is `empty`.
    - A reply that begins with the given steps, word for word or nearly so and with the same numbers, is `repeated`.
    - A reply that begins anew is `restarted`: it says so, its first step is labelled 1 where the given steps began with
      that label too, or its first step is the first given one over again.

    Blank lines at the beginning are dropped: the given steps end with their own.
    """
    text = _BLANK_LINES.sub("", reply)
    if not text.strip():
        return Continued(text="", kind="empty")
    rest = _after_repetition(kept, text)
    if rest is not None:
        rest = _BLANK_LINES.sub("", rest)
        return Continued(text=rest if rest.strip() else "", kind="repeated")
    return Continued(text=text, kind="restarted" if _begins_anew(kept, text) else "continued")


def joined(kept: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """Given and new steps as the steps of one solution; a given step that ends without a line break gets one.

    Without it the first new step would run into the last given one and the two could not be told apart again.
    """
    return (*ended(kept), *new) if new else tuple(kept)


def ended(kept: Sequence[str]) -> tuple[str, ...]:
    """Steps of which each ends with a line break, blank lines in between where it had none."""
    return tuple(step if step.endswith("\n") else step.rstrip() + "\n\n" for step in kept)


def label_of(step: str) -> int | None:
    """The number that a step begins with: 3 for `Step 3: ...`, `3. ...` or `**3)** ...`; None without one."""
    found = _NUMBER.search(split_number(step)[0])
    return int(found[0]) if found else None


def _after_repetition(kept: Sequence[str], text: str) -> str | None:
    """What follows a repetition of the given steps; None where the text is none."""
    given = _words("".join(kept))
    if not given:
        return None
    rest = _after_verbatim(given, text)
    return _after_likeness(given, text) if rest is None else rest


def _after_verbatim(given: Sequence[str], text: str) -> str | None:
    """What follows the same words, whatever the white space, the case and the decoration."""
    end = 0
    tokens = (token for token in _TOKEN.finditer(text) if token[0] not in _DECORATION)
    for word in given:
        token = next(tokens, None)
        if token is None or token[0].casefold() != word:
            return None
        end = token.end()
    rest = text[end:].lstrip(_DECORATION)
    # A few words may well begin the next step too: they are a repetition only if the line ends with them.
    few = len(given) < _FEWEST and rest.lstrip(" \t\r") and not rest.lstrip(" \t\r").startswith("\n")
    return None if few else rest


def _after_likeness(given: Sequence[str], text: str) -> str | None:
    """What follows the whole steps of a text that are together nearly the given words, the numbers the same.

    A number that differs is not carelessness: it may take the correction back.
    """
    wanted = Counter(given)
    seen: Counter[str] = Counter()
    common, length, end = 0, 0, 0
    best, cut = NEARLY, None
    for step in split_steps(text, max_steps=_MOST_STEPS):
        end += len(step)
        for word in _words(step):
            seen[word] += 1
            length += 1
            common += seen[word] <= wanted[word]
        likeness = 2 * common / (length + len(given))
        if likeness >= best and _numbers(seen) == _numbers(wanted):
            best, cut = likeness, end
        if length > 2 * len(given):
            break
    return None if cut is None else text[cut:]


def _begins_anew(kept: Sequence[str], text: str) -> bool:
    if _ANEW.match(text):
        return True
    first_given = kept[0] if kept else ""
    first = next((step for step in split_steps(text, max_steps=_MOST_STEPS) if step.strip()), "")
    if label_of(first) == 1 and label_of(first_given) == 1:
        return True
    return _alike(_words(strip_step(first_given)), _words(strip_step(first)))


def _alike(given: Sequence[str], words: Sequence[str]) -> bool:
    ours, theirs = Counter(given), Counter(words)
    if min(len(given), len(words)) < _FEWEST or _numbers(ours) != _numbers(theirs):
        return False
    common = (ours & theirs).total()
    return 2 * common / (len(given) + len(words)) >= ALIKE


def _words(text: str) -> list[str]:
    """Words, numbers and signs, in one case; decoration is left out."""
    return [word for word in _TOKEN.findall(text.casefold()) if word not in _DECORATION]


def _numbers(words: Counter[str]) -> Counter[str]:
    return Counter({word: count for word, count in words.items() if word[0].isdecimal()})
