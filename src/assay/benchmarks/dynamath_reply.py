"""The short answer of a DynaMath reply, out of JSON that models write in many broken ways."""

import re
from typing import NamedTuple

_KEY = re.compile(r"""["'“”`*]{0,3}short[ _-]?answer["'“”`*]{0,3}\s*[:=]\s*[*]{0,2}\s*""", re.IGNORECASE)
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){0,2000})(\"?)")
_BARE = re.compile(r"[^\n}]{0,2000}")
_ESCAPE = re.compile(r'\\(\\|"|/|u[0-9a-fA-F]{4})')


class ShortAnswer(NamedTuple):
    """`text`: empty where the reply gives none (null, an empty string). `closed`: False where the reply ends in it."""

    text: str
    closed: bool


def find_short_answer(text: str) -> ShortAnswer | None:
    """What stands behind the last `short answer` key; None without the key.

    The rest of the reply need not be valid JSON. Escapes are undone only where JSON can't mean anything else: a model
    that writes `\\frac` unescaped means LaTeX, not a form feed.
    """
    keys = list(_KEY.finditer(text))
    if not keys:
        return None
    start = keys[-1].end()
    quoted = _STRING.match(text, start)
    if quoted:
        answer, closed = _ESCAPE.sub(_unescaped, quoted[1]), bool(quoted[2])
    else:
        bare = _BARE.match(text, start)
        answer = bare[0].strip().rstrip(",").strip() if bare else ""
        closed = bare is not None and bare.end() < len(text)
        answer = "" if answer.lower() in ("null", "none") else answer
    return ShortAnswer(answer.strip(), closed)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1][1:], 16)) if match[1].startswith("u") else match[1]
