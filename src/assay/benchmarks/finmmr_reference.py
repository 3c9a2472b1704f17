"""How FinMMR's published script compares an extracted answer with the gold, quirks included.

Restated from evaluate/utils/evaluation_utils.py of addictedLL/FinMMR at e9443d6, which is after FinanceMath's:

1. The extracted answer is taken for Python. Here only literals and plain arithmetic are, by readers of our own, never
   `eval`: `1,888` is a pair, whose first element, 1, counts; `2,849,050` is no Python (050) and goes on to step 2.
2. Else it is lower-cased and cleaned: magnitudes, currencies, `%`, `$` go; what follows the last `=` or `≈` stays;
   `yes` is True; of `5 or 6` the 5 stays; a unit before or behind one number goes; thousands separators go; then it is
   taken for Python again.
3. No value is wrong. Where either side is a boolean they must be equal (True is 1), else the answer must lie within
   0.2 % of the gold, in binary floats: so a gold of 0 needs exactly 0.
"""

import re

from assay.mark.arithmetic import as_float, evaluate

SHARE = 0.002
MAX_CHARS = 400  # an extracted answer is one number; what is longer has no value

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
_LITERAL = re.compile(rf"[\s(\[]*(?P<first>{_NUMBER})[\s)\]]*(?:,[\s(\[]*{_NUMBER}[\s)\]]*)*,?")
_LEADING_ZERO = re.compile(r"(?<![\d.eE])0\d*[1-9]\d*(?![\d.eE])")  # 050, which Python refuses; 00 and 050.0 it takes
_ARITHMETIC = re.compile(r"[\d.\s()+*/^-]+")
_SIDE_BY_SIDE = re.compile(r"\d\s+[\d.]|[\d.]\s*\(|\)\s*[\d.(]|\*\*")
_DELETED = ("£", "€", "¥", "million", "billion", "thousand", "us", "usd", "rmb")
_PLAIN = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})*|\d+)(?:\.\d+)?")
_LONE = r"[-+]?[\d,]*\.*\d+"
_UNITS = (  # (pattern, where the number is): a unit behind or before it, then one or two signs at either end
    re.compile(rf"({_LONE}) [^0-9 ]+"),
    re.compile(rf"[^0-9 ]+ ({_LONE})"),
    re.compile(rf"({_LONE})[^\d]{{1,2}}"),
    re.compile(r"[^-+\d]{1,2}([\d,]*\.*\d+)"),
)


def is_right(answer: str, gold: float | bool) -> bool:
    """The script's verdict on an extracted answer."""
    value = value_of(answer)
    if value is None:
        return False
    if isinstance(gold, bool) or isinstance(value, bool):
        return value == gold
    margin = abs(gold) * SHARE
    return gold - margin <= value <= gold + margin


def value_of(answer: str) -> float | bool | None:
    """What the script makes of an extracted answer; None for what it can't read."""
    if len(answer) > MAX_CHARS:
        return None
    value = _python(answer)
    return value if value is not None else _python(_cleaned(answer))


def _cleaned(answer: str) -> str:
    text = answer.strip().lower().rstrip(".")
    for word in _DELETED:
        text = text.replace(word, "")
    for sign in ("=", "≈"):
        if sign in text:
            text = text.split(sign)[-1].strip()
    for sign in "`%$°":
        text = text.replace(sign, "")
    if text in ("yes", "no") or "true" in text or "false" in text:
        return "True" if text == "yes" or "true" in text else "False"
    if "approximately" in text:
        text = text.replace("approximately", "").strip()
    text = text.split(" or ")[0]
    for pattern in _UNITS:
        found = pattern.fullmatch(text)
        text = found[1] if found else text
    text = text.replace(" x ", "*").replace(" × ", "*")
    return text.replace(",", "") if _PLAIN.fullmatch(text) else text


def _python(text: str) -> float | bool | None:
    """A literal (of several numbers the first), or plain arithmetic; `10^3` as the script rewrites it."""
    text = text.strip()
    if text in ("True", "False"):
        return text == "True"
    if _LEADING_ZERO.search(text):
        return None
    literal = _LITERAL.fullmatch(text)
    if literal:
        return float(literal["first"])
    if not _ARITHMETIC.fullmatch(text) or _SIDE_BY_SIDE.search(text) or ("^" in text and "10^" not in text):
        return None
    value = evaluate(text)
    return None if value is None else as_float(value)
