"""DynaMath's published scoring rule, quirks included (evaluation/opensource_json_eval.py at 65a346a, restated).

1. The reply is cut to what lies from its first `{` to its last `}`, and all backslashes are removed; without such
   braces it stays as it is.
2. If that is a JSON object, the answer is its `short answer`; else it is the last line without its last character.
3. float: the first word, unless the answer is all digits; `π` multiplies what stands before it; right iff within
   0.001 of the gold. multiple choice: one character must be the gold; of more, the gold must be among the first three.
   Any other type: the gold must occur in the answer.

Whatever can't be read as a number is wrong. Quirks that follow: `1/3`, `√2` and `2π/3` are no numbers (the last one is
2π to the rule); `(A) Yes` is right and `Option A` is not; `B` and `A` are both right by `BA`; a gold text `May` is
right in `Maybe June`; `0.5` alone, outside JSON, is read as `0.`.

The GPT-4o script asks the endpoint for JSON and leaves a broken reply to be checked by hand; the published verdicts of
closed models may differ from this rule there.
"""

import json
import math
from typing import Any, Literal, cast

from assay.types import Mark, Reply

Kind = Literal["float", "multiple choice", "other"]

TOLERANCE = 0.001


def mark(reply: Reply, gold: str, kind: Kind) -> Mark:
    """The script's verdict; `unanswered` where it reads nothing."""
    answer = reply.text if reply.extracted else short_answer(reply.text)
    if answer is None or not answer.strip():
        return Mark(verdict="unanswered", extraction=answer, reason="no short answer")
    return Mark(verdict="right" if _is_right(answer, gold, kind) else "wrong", extraction=answer)


def short_answer(text: str) -> str | None:
    """Steps 1 and 2; None where a JSON value has no short answer."""
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        text = text[start : end + 1].replace("\\", "")
    try:
        value: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text.split("\n")[-1][:-1]
    if not isinstance(value, dict):
        return None
    answer = cast("dict[str, Any]", value).get("short answer")
    return None if answer is None else str(answer)


def _is_right(answer: str, gold: str, kind: Kind) -> bool:
    if kind == "float":
        value, truth = _number(answer), _float(gold)
        return value is not None and truth is not None and abs(value - truth) <= TOLERANCE
    if kind == "multiple choice":
        return answer == gold if len(answer) == 1 else gold in answer[:3]
    return gold in answer


def _number(answer: str) -> float | None:
    if answer.isdigit():
        return _float(answer)
    word = answer.split(" ")[0]
    before, pi, _ = word.partition("π")
    value = _float(before)
    return value if value is None or not pi else value * math.pi


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
