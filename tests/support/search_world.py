"""A server that is policy and critic of six questions, so that every strategy's answers can be worked out by hand.

Draw d of question q is right where `RIGHT` says so; the critic flags the second step of those in `FLAGGED`. What goes
on from a correction is right but in question 5; what is drawn again is right in question 0 alone, and flagged
elsewhere. The greedy answer is right in question 4 alone.

    q   draws 0..3 (* flagged)   from 0      from 1      vote   best of 4   refined best of 4: 0, 1, what came of them
    0   R  W* W* W*              again: R    refined: R  W      0: R        R
    1   W* R* R  W*              refined: R  refined: R  W      2: R        R
    2   W  W* W* W*              again: W*   refined: R  W      0: W        0: W, level with the refined one
    3   W* W* W* R               refined: R  refined: R  W      3: R        R
    4   R  R  R  R               again: W*   again: W*   R      0: R        R
    5   W* W* W* W*              refined: W  refined: W  W      0: W        W

In question 1 two votes stand against two, and draw 0 came first. In question 2 three of refined best of 4 agree with 0.
"""

import re

from support.fruit import number_of
from support.servers import Call

QUESTIONS = 6
RIGHT = {0: {0}, 1: {1, 2}, 2: set[int](), 3: {3}, 4: {0, 1, 2, 3}, 5: set[int]()}
FLAGGED = {0: {1, 2, 3}, 1: {0, 1, 3}, 2: {1, 2, 3}, 3: {0, 1, 2}, 4: set[int](), 5: {0, 1, 2, 3}}
BAD = "it is blurred"

_COUNT = re.compile(r"Go through the (\d+) numbered steps")
_SOLUTION = re.compile(r"<solution>\n(.*)\n</solution>", re.DOTALL)
_STEP = re.compile(r"^Step (\d+)\b.*?(?=^Step \d+\b|\Z)", re.MULTILINE | re.DOTALL)


def answer(call: Call, draw: int) -> str:
    """What policy and critic say."""
    if "Check a worked solution" in call.question:
        return critique(call)
    if "Count from one" in call.question:  # whoever asks finds out how turns are continued
        return " seven, eight, nine, ten"
    number = number_of(call)
    if "<checked_steps>" in call.question or call.prefill is not None:
        return f"Step 3: so the answer is plain.\n\n{boxed(number, right=number != 5)}"
    if call.body.get("temperature", 0) == 0:
        return solution(number, "steadily", right=number == 4, bad=False)
    if call.body.get("n", 1) == 1:
        return solution(number, f"again, {call.seed}", right=number == 0, bad=number != 0)
    return solution(number, f"{draw}", right=draw in RIGHT[number], bad=draw in FLAGGED[number])


def solution(number: int, manner: str, *, right: bool, bad: bool) -> str:
    second = BAD if bad else "it is sharp"
    return f"Step 1: I look at the picture ({manner}).\n\nStep 2: {second}.\n\n{boxed(number, right=right)}"


def boxed(number: int, *, right: bool) -> str:
    return f"Step 9: hence \\boxed{{{'ABCDE'[(number + (not right)) % 5]}}}"


def critique(call: Call) -> str:
    """Incorrect for every step that says so itself; one line a judgement, as the prompt asks."""
    counted = _COUNT.search(call.question)
    shown = _SOLUTION.search(call.question)
    assert counted, call.question
    assert shown, call.question
    wrong = [place for place, step in enumerate(_parts(shown[1], int(counted[1])), start=1) if BAD in step]
    lines: list[str] = []
    for place in range(1, int(counted[1]) + 1):
        verdict = "Incorrect" if place in wrong else "Correct"
        lines += [f"Step {place}", "Intent: go on", "Image: there | Correct"]
        lines += [f"Logic: follows | {verdict}", f"Judgement: {verdict}"]
    if wrong:
        lines.append(f"Correction of step {wrong[0]}: it is sharp after all.")
    return "\n".join([*lines, "End of critique"])


def _parts(shown: str, count: int) -> list[str]:
    parts = re.split(r"^(?=Step \d+\b)", shown, flags=re.MULTILINE)
    found = [part for part in parts if part.strip()]
    assert len(found) == count, (count, shown)
    return found
