r"""One answer as a formula: LaTeX or plain text brought to one spelling, its unit, percent sign and magnitude apart.

`\$1{,}200`, `1200 dollars` and `$1.2 \times 10^3$` differ in spelling alone. Nothing here decides what is equal; that
is `assay.mark.expression`. One pass per rule over a text of bounded length: answers are hostile input.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from assay.mark.answer import last_boxed
from assay.mark.text import normalise

# --------------------------------------------------------------------------------------------------------------------
# Spelling

# A string literal that ate a backslash: "\frac" became form feed + "rac". Newline is left out, it is mostly meant.
_EATEN = re.compile(r"\x0c(?=rac)|\x08(?=eta|inom|ar)|\x07(?=lpha|pprox)|\x0b(?=ec)|\t(?=imes|heta|ext|frac|an|au)")
_EATEN_LETTER = {"\x0c": r"\f", "\x08": r"\b", "\x07": r"\a", "\x0b": r"\v", "\t": r"\t"}

_SPACES = re.compile(
    r"\\[,;:! ]|\\q?quad(?![A-Za-z])|\\(?:left|right|displaystyle|bigl?|bigr|Bigl?|Bigr)(?![A-Za-z])|~"
)
_DELIMITERS = re.compile(r"\$|\\[()\[\]]|\*\*(?=\D|$)|`")
_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|sf|it|tt)|mbox|operatorname|boldsymbol|bm|emph)\*?\s*\{([^{}]*)\}"
)
_FRACTIONS = re.compile(r"\\[cdt]frac(?![A-Za-z])")
_SIGNS = {
    "×": r"\times ",
    "÷": r"\div ",
    "·": r"\cdot ",
    "⋅": r"\cdot ",
    "π": r"\pi ",
    "∞": r"\infty ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≈": r"\approx ",
    "±": r"\pm ",
    "θ": r"\theta ",
    "α": r"\alpha ",
    "β": r"\beta ",
    "°": r"^\circ ",
    "º": r"^\circ ",
    "**": "^",
    r"\degree": r"^\circ ",
}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_ROOT = re.compile(r"(?:√|(?<![\\A-Za-z])sqrt)\s*(?:\(([^()]*)\)|\{([^{}]*)\}|(\d+(?:\.\d+)?|[A-Za-z](?![A-Za-z])))")
_WORD_PI = re.compile(r"(?<![\\A-Za-z])pi(?![A-Za-z])")

_THOUSANDS = re.compile(r"(?<![\d.,({\[])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_LATEX_COMMA = re.compile(r"(?<=\d)(?:\{,\}|,\\!)(?=\d{3})")
_SPACED_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?: \d{3})+(?![\d.])")
_EUROPEAN = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d+)(?![\d,.])")
_LITERAL = re.compile(r"([-+]?\d+(?:\.\d*)?|[-+]?\.\d+)[eE]([-+]?\d{1,4})")


def spell(text: str) -> str:
    """The formula in one spelling: Unicode folded, delimiters and text commands gone, numbers without separators.

    `1,234` is a number, and so is `1.234,5` (a decimal comma after grouping points can mean nothing else); `1,5` is
    a list of two. A dollar sign that is meant as one (`\\$`) comes back as a null character.
    """
    text = normalise(_EATEN.sub(lambda match: _EATEN_LETTER[match[0]], text))
    text = (last_boxed(text) or text).strip().strip("*_` ")
    text = _LATEX_COMMA.sub("", text)
    text = text.replace("\0", "").replace(r"\$", "\0").replace(r"\%", "%").replace(r"\&", "&")
    text = _DELIMITERS.sub("", text)
    text = _SPACES.sub(" ", text)
    for _ in range(3):  # \text{(\textbf{A})}
        text = _TEXT.sub(r" \1 ", text)
    text = _FRACTIONS.sub(r"\\frac", text)
    text = _SIGN.sub(lambda match: _SIGNS[match[0]], text)
    text = _ROOT.sub(lambda match: rf"\sqrt{{{match[1] or match[2] or match[3] or ''}}}", text)
    text = _WORD_PI.sub(r"\\pi ", text)
    text = _EUROPEAN.sub(lambda match: match[1].replace(".", "") + "." + match[2], text)
    text = _THOUSANDS.sub(lambda match: match[1].replace(",", ""), text)
    text = _SPACED_THOUSANDS.sub(lambda match: match[0].replace(" ", ""), text)
    text = re.sub(r"(?<=\{) +| +(?=\})", "", re.sub(r"\s+", " ", text)).strip(" _")
    text = re.sub(r"[.,;:!]+$", "", text).strip()
    if literal := _LITERAL.fullmatch(text):
        return rf"{literal[1]} \times 10^{{{literal[2]}}}"
    return text


# --------------------------------------------------------------------------------------------------------------------
# Units, percent, magnitudes

_UNITS: dict[str, tuple[str, ...]] = {
    "mm": ("mm", "millimeter", "millimetre"),
    "cm": ("cm", "centimeter", "centimetre"),
    "dm": ("dm", "decimeter", "decimetre"),
    "m": ("m", "meter", "metre", "米"),
    "km": ("km", "kilometer", "kilometre", "公里"),
    "in": ("in", "inch", "inches"),
    "ft": ("ft", "foot", "feet"),
    "yd": ("yd", "yard"),
    "mi": ("mile", "mi"),
    "g": ("g", "gram"),
    "kg": ("kg", "kilogram"),
    "L": ("l", "L", "liter", "litre"),
    "ml": ("ml", "mL", "milliliter", "millilitre"),
    "s": ("s", "sec", "second"),
    "min": ("min", "minute"),
    "h": ("h", "hr", "hour"),
    "day": ("day",),
    "year": ("year", "yr"),
    "degree": ("degree", "deg", r"^\circ", r"^{\circ}", r"\circ"),
    "radian": ("radian", "rad"),
    "dollar": ("dollar", "USD"),
    "cent": ("cent", "¢"),
    "euro": ("euro", "Euro", "EUR", "€"),
    "yuan": ("yuan", "CNY", "RMB", "元"),
    "": ("unit",),
}
_NAMES = {
    alias + plural: name
    for name, aliases in _UNITS.items()
    for alias in aliases
    for plural in ("", "s")
    if not (plural and (len(alias) < 3 or not alias.isalpha() or not alias.isascii()))
}
_UNIT = re.compile(
    r"(?:(?<=[\d)}\]\s千万萬亿億])|(?<=\\pi))\s*\{?\s*"
    r"(?P<power>square|sq\.?|cubic)?\s*"
    rf"(?P<name>{'|'.join(sorted(map(re.escape, _NAMES), key=len, reverse=True))})"
    r"(?![A-Za-z])\s*(?P<exponent>\^\{?[23]\}?)?\s*\}?(?:\^\{?(?P<outer>[23])\}?)?$"
)
_OTHER_WORDS = re.compile(r"(?<=[\d)}\]])\s+\{?(?P<words>[^\W\d_]{3,}(?:[ /-][^\W\d_]+){0,3})\}?$")
_NOT_UNITS = re.compile(
    r"(?<![^\W\d_])(?:and|or|und|oder|sin|cos|tan|cot|sec|csc|log|exp|mod|choose|arc\w+)(?![^\W\d_])"
)
_PERCENT = re.compile(r"\s*(?:%|\{?\s*per ?cent\s*\}?|percentage points?)$")
_CURRENCY = re.compile(r"^([-+]?)\s*(?:US)?(?P<sign>[\0€£¥])\s*|\s*(?P<after>\0)$")
_CURRENCY_NAMES = {"\0": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_MAGNITUDES = {
    "thousand": 3,
    "million": 6,
    "mn": 6,
    "billion": 9,
    "bn": 9,
    "trillion": 12,
    "千": 3,
    "万": 4,
    "萬": 4,
    "百万": 6,
    "亿": 8,
    "億": 8,
    "万亿": 12,
}
_MAGNITUDE = re.compile(rf"(?<=[\d)}}\s])\s*({'|'.join(sorted(_MAGNITUDES, key=len, reverse=True))})$")


class Formula(NamedTuple):
    """`body` times `scale`, in `unit`.

    Attributes:
        body: the formula in one spelling, without what stands below.
        unit: the unit's name ("cm^2"), "?" and the words for an unknown one, empty for none.
        percent: whether a percent sign was written.
        scale: of a magnitude word: 10**9 for billion.
    """

    body: str
    unit: str = ""
    percent: bool = False
    scale: Fraction = Fraction(1)


@lru_cache(maxsize=4096)  # short answers repeat a lot
def read_formula(text: str) -> Formula:
    """The formula of an answer or a gold. A unit is only seen behind a number, a bracket or a brace."""
    body = spell(text)
    unit = ""
    if (currency := _CURRENCY.search(body)) is not None:
        unit = _CURRENCY_NAMES[currency["sign"] or currency["after"]]
        body = _CURRENCY.sub(r"\1", body).strip()
    body = body.replace("\0", "")
    percent = _PERCENT.search(body)
    if percent is not None and percent.start() > 0:
        return Formula(body[: percent.start()].strip(), unit, True)
    if (found := _UNIT.search(body)) is not None and found.start() > 0 and not _may_be_symbol(found):
        unit = _unit_name(found)
        body = body[: found.start()].strip()
    body, scale = _without_magnitude(body)
    other = _OTHER_WORDS.search(body) if scale == 1 and not unit else None
    if other is not None and not _NOT_UNITS.search(other["words"]):
        unit, body = f"?{other['words']}", body[: other.start()].strip()
    return Formula(body, unit, False, scale)


def _may_be_symbol(found: re.Match[str]) -> bool:
    """`5 m` are metres; `5m` is 5 times m."""
    return found[0] == found["name"] and re.fullmatch("[A-Za-z]", found[0]) is not None


def _without_magnitude(body: str) -> tuple[str, Fraction]:
    found = _MAGNITUDE.search(body)
    if found is None or not found.start():
        return body, Fraction(1)
    return body[: found.start()].strip(), Fraction(10) ** _MAGNITUDES[found[1]]


def _unit_name(found: re.Match[str]) -> str:
    name = _NAMES[found["name"]]
    exponent = re.sub(r"\D", "", found["exponent"] or "") or found["outer"] or ""
    if found["power"]:
        exponent = "3" if found["power"] == "cubic" else "2"
    return f"{name}^{exponent}" if name and exponent else name


def conflicting(gold: Formula, answer: Formula) -> bool:
    """Whether both sides carry a unit that we know, and not the same one."""
    known = [formula.unit for formula in (gold, answer) if formula.unit and not formula.unit.startswith("?")]
    return len(known) == 2 and known[0] != known[1]


# --------------------------------------------------------------------------------------------------------------------
# Lists and equations

MAX_ELEMENTS = 32

_WORD_BETWEEN = re.compile(r"\s(?:and|or|und|oder)\s")


class Elements(NamedTuple):
    """What a formula lists: `brackets` is "()" for a point, "{}" for a set, "" for a bare list or a single value."""

    brackets: str
    items: tuple[str, ...]

    @property
    def ordered(self) -> bool:
        """Points, vectors and intervals are ordered; sets and bare lists of solutions are not."""
        return self.brackets not in ("", "{}")


def elements(body: str) -> Elements:
    """Split `(a, b)`, `\\{a, b\\}`, `a, b`, `a and b` at the top level; a single value is one bare item."""
    inner = body.replace(r"\{", "{").replace(r"\}", "}").strip()
    brackets = ""
    if len(inner) > 1 and inner[0] in "([{" and inner[-1] in ")]}" and _encloses(inner):
        items = split(inner[1:-1], ",;")
        if len(items) > 1 or (body.startswith(r"\{") and body.endswith(r"\}")):
            brackets = inner[0] + inner[-1]
            return Elements(brackets, tuple(items[:MAX_ELEMENTS]))
    items = split(_WORD_BETWEEN.sub(",", f" {body} ").strip(), ",;")
    return Elements("", tuple(_with_signs(items)[:MAX_ELEMENTS]))


def _with_signs(items: list[str]) -> list[str]:
    r"""`\pm 2` stands for two values."""
    found: list[str] = []
    for item in items:
        before, sign, after = item.partition(r"\pm")
        if sign and not before.strip().rstrip("="):
            found += [after.strip(), f"-{after.strip()}"]
        else:
            found.append(item)
    return found


def _encloses(text: str) -> bool:
    """Whether the first bracket is closed by the last character."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return at == len(text) - 1
    return False


def split(text: str, separators: str) -> list[str]:
    """Cut at single characters outside all brackets; empty pieces are dropped."""
    pieces: list[str] = []
    depth = start = 0
    for at, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif depth == 0 and character in separators:
            pieces.append(text[start:at].strip())
            start = at + 1
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


_NAME = re.compile(
    r"(?:[A-Za-z]|\\(?:theta|alpha|beta|gamma|lambda|mu|phi|omega|angle|triangle|overline|widehat|ell|Delta))"
    r"(?:[A-Za-z ]|_\{?\w+\}?|\{[A-Za-z ]*\}|\([A-Za-z, ]*\)|')*+"  # possessive: `___...` splits in many ways
)


def is_name(text: str) -> bool:
    r"""A single symbol, function or figure: `x`, `f(x)`, `\angle ABC`, `area of triangle`."""
    return _NAME.fullmatch(text.strip()) is not None


def sides(body: str) -> tuple[str, ...]:
    r"""What an answer claims to be equal and to be the value: `x = 5` is 5, `\frac{100}{3} \approx 33.3` is either.

    Of `a = b = c` the last is meant; a name is never the value where there is another side.
    """
    exact, *rounded = re.split(r"\\approx(?![A-Za-z])", body)
    found = [_value_side(exact), *(_value_side(part) for part in rounded)]
    values = [part for part in found if part and not is_name(part)] or [part for part in found if part]
    return tuple(dict.fromkeys(values))


def _value_side(part: str) -> str:
    pieces = [piece for piece in split(re.sub(r"(?<![<>!\\])=+", "=", part), "=") if piece]
    if not pieces:
        return ""
    values = [piece for piece in pieces if not is_name(piece)]
    return values[-1] if values else pieces[-1]


def is_equation(body: str) -> bool:
    """An equality between two sides neither of which is a mere name, such as `x^2 + y^2 = 4`."""
    pieces = split(body, "=")
    return len(pieces) == 2 and not any(is_name(piece) for piece in pieces)
