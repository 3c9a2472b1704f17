"""How FinMME's published script reads and marks a reply, quirks included.

Restated from eval.py of luo-junyu/FinMME at 702cb3a (MIT):

1. The answer is the run of non-blank characters after the first `Answer`, `:` (case ignored, blanks allowed around
   the ASCII colon); no match is an empty answer.
2. Eight markers are deleted from it, one after the other.
3. numerical: digits, `.` and `-` of both sides are read as binary floats; right iff they differ by at most the
   tolerance. An absent column means tolerance 0; a null or NaN makes every answer wrong.
4. choices: right iff the letters A to N anywhere in the upper-cased answer are the gold's letters.

The script knows only right and wrong.
"""

import re

from assay.types import ChoiceGold, Gold, Mark, NumberGold, Reply

_SLOT = re.compile(r"answer\s*:\s*(\S+)", re.IGNORECASE)
_MARKERS = ("**", ":", "$\\boxed{", "}$", "\\$", "$", "{", "\\boxed")  # in the script's order
_LETTERS = frozenset("ABCDEFGHIJKLMN")


def read_reference(reply: Reply) -> str:
    """What the script takes for the answer. An already extracted reply skips the search, not the cleaning."""
    answer = reply.text if reply.extracted else _captured(reply.text)
    for marker in _MARKERS:
        answer = answer.replace(marker, "")
    return answer


def mark_reference(reply: Reply, gold: Gold | None, *, numerical: bool) -> Mark:
    """The script's verdict; a missing gold is an empty string to it, which has no letters and is no number."""
    answer = read_reference(reply)
    if numerical:
        right = isinstance(gold, NumberGold) and _number_is_right(answer, gold)
    else:
        labels = gold.labels if isinstance(gold, ChoiceGold) else ()
        right = letters(answer) == letters("".join(labels))
    return Mark(verdict="right" if right else "wrong", extraction=answer)


def letters(text: str) -> frozenset[str]:
    """The letters A to N anywhere in the upper-cased text, words included."""
    return _LETTERS.intersection(text.upper())


def number(text: str) -> float | None:
    """The float that the digits, points and minus signs of the text make up, None where they make none."""
    try:
        # isdigit, as in the script: true for "²", at which float() then fails.
        return float("".join(char for char in text if char.isdigit() or char in ".-"))
    except ValueError:
        return None


def tolerance(gold: NumberGold) -> float | None:
    """The tolerance as the script gets it; None where it can't compare (a null or NaN in the data)."""
    value = None if gold.tolerance is None else float(gold.tolerance)
    return None if value is None or value != value else value  # NaN is not itself


def _captured(text: str) -> str:
    match = _SLOT.search(text)
    return match.group(1) if match else ""


def _number_is_right(answer: str, gold: NumberGold) -> bool:
    ours, theirs, allowed = number(answer), number(gold.value), tolerance(gold)
    if ours is None or theirs is None or allowed is None:
        return False
    return abs(ours - theirs) <= allowed


def explain(reply: Reply, gold: Gold | None, reference: Mark, robust: Mark) -> str:
    """Why the two verdicts differ, in words for a user: what the script did with this reply."""
    answer = reference.extraction or ""
    if gold is None:
        return "the row has no answer, which the script takes for an empty one"
    if reference.verdict == "right":
        read = f"reads {_quoted(robust.extraction or '')}"
        ours = read if robust.verdict == "wrong" else f"finds no clear answer ({robust.reason})"
        return f"the script reads {_quoted(answer)} and finds it right; robust {ours}"
    if isinstance(gold, NumberGold) and tolerance(gold) is None:
        return "the row has no tolerance, so the script finds every answer wrong"
    if not reply.extracted and (lost := _lost(reply.text, robust)):
        return lost
    if not answer:
        return "nothing is left for the script once it has removed its markers"
    return _misread(answer, gold)


def _lost(text: str, robust: Mark) -> str | None:
    """What went wrong in the search, if it did."""
    matches = list(_SLOT.finditer(text))
    if not matches:
        if re.search(r"answer\s*：", text, re.IGNORECASE):
            return "the script does not know the full-width colon"
        return 'the script finds no "Answer:" in the reply'
    token = matches[0].group(1)
    if not token.replace("*", ""):
        return f"the script reads only {_quoted(token)} after the first colon"
    if len(matches) > 1 and matches[-1].group(1) != token:
        return f'the script takes the first "Answer:", {_quoted(token)}'
    rest = text[matches[0].end() :].split("\n", 1)[0].strip()
    if rest and robust.extraction != token:
        return f"the script reads only up to the first blank: {_quoted(token)}"
    return None


def _misread(answer: str, gold: Gold) -> str:
    """What went wrong in the comparison."""
    if not isinstance(gold, NumberGold):
        found = ", ".join(sorted(letters(answer))) or "none"
        return f"the script takes every letter A to N in {_quoted(answer)}: {found}"
    value = number(answer)
    if value is None:
        return f"the script can't read {_quoted(answer)} as a number"
    if number(gold.value) is None:
        return f"the script can't read the gold {_quoted(gold.value)} as a number"
    return f"the script reads {_quoted(answer)} as {value!r} and compares in binary floats"


def _quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'
