"""Clean-up of text before it is read: thinking cut off, Unicode folded, decoration peeled.

Everything here is one pass over the text, or bounded by a named limit: replies are hostile input.
"""

import re
import unicodedata

# --------------------------------------------------------------------------------------------------------------------
# Unicode

# Superscripts must not become plain digits (10² is not 102), nor vulgar fractions join the number before them
# (1½ is not 11/2), so both are rewritten before NFKC would.
_SUPERSCRIPT_DIGITS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ", "0123456789+-()n", strict=True))
_SUPERSCRIPTS = re.compile(f"[{''.join(_SUPERSCRIPT_DIGITS)}]+")
_VULGAR = re.compile("[¼½¾⅐-⅞↉]")
_FRACTION_SLASH = "⁄"
# The two characters whose compatibility form is a sentence: a short text must not become eighteen times as long.
_LIGATURES = {0xFDFA: " ", 0xFDFB: " "}

# After NFKC: every dash and minus is '-', every quotation mark is straight, invisible characters are gone, and
# İ, the only letter whose lower case is longer, is I, so that positions in text.lower() are positions in the text.
_FOLD = str.maketrans(
    dict.fromkeys("‐‑‒–—―−⁃➖﹣－", "-")
    | dict.fromkeys("‘’‛′ʼ＇", "'")
    | dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys(
        "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad"
    )
    | dict.fromkeys("\u2028\u2029\u0085\v\f", "\n")
    | {_FRACTION_SLASH: "/", "∕": "/", "İ": "I", "٫": ".", "٬": ",", "٪": "%", "\r": "\n"}
    # Letters in black circles and squares have no compatibility form.
    | {chr(first + n): chr(ord("A") + n) for first in (0x1F150, 0x1F170) for n in range(26)}
    | {chr(first + n): str(n + 1) for first in (0x2776, 0x2780, 0x278A) for n in range(9)}
)

MAX_MARKS = 30
"""Combining marks in a row that are kept (as Unicode's stream-safe text format has it).

The canonical ordering of a longer run takes quadratic time."""


def normalise(text: str) -> str:
    """`text` with one spelling for each character that means the same.

    NFKC (full-width digits and letters, circled letters, thin spaces), dashes and the Unicode minus as `-`, straight
    quotation marks, digits of other scripts as ASCII digits, superscripts as `^2` or `^{12}`, `½` as ` 1/2`,
    invisible characters removed. Letters keep their case. ASCII text comes back unchanged.
    """
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    text = _SUPERSCRIPTS.sub(_superscript, text.translate(_LIGATURES))
    text = _VULGAR.sub(lambda match: " " + unicodedata.normalize("NFKC", match[0]), text)
    text = unicodedata.normalize("NFKC", _bounded_marks(text)).replace("\r\n", "\n").translate(_FOLD)
    foreign = {c: str(unicodedata.decimal(c)) for c in set(text) if not c.isascii() and c.isdecimal()}
    return text.translate(str.maketrans(foreign)) if foreign else text


def _superscript(match: re.Match[str]) -> str:
    plain = "".join(_SUPERSCRIPT_DIGITS[character] for character in match[0])
    return f"^{plain}" if len(plain) == 1 else f"^{{{plain}}}"


def _bounded_marks(text: str) -> str:
    marks = "".join(character for character in set(text) if unicodedata.combining(character))
    if not marks:
        return text
    run = f"[{re.escape(marks)}]"
    return re.sub(f"({run}{{{MAX_MARKS}}}){run}+", r"\1", text)


# --------------------------------------------------------------------------------------------------------------------
# Thinking

_THINK_NAMES = "think|thinking|thought|thoughts|reasoning|seed:think|analysis"
_THINK = re.compile(
    rf"(?P<open><(?:{_THINK_NAMES})>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>)"
    rf"|(?P<close></(?:{_THINK_NAMES})>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<\|end\|>)",
    re.IGNORECASE,
)


def strip_thinking(text: str) -> tuple[str, str]:
    """Split a reply into (answer, thinking).

    A block that is never closed is thinking to its end: the reply was cut while the model was thinking. A closing tag
    without an opening one ends thinking that the prompt's template opened.
    """
    if "<" not in text and "◁" not in text and "[" not in text:
        return text, ""
    answer: list[str] = []
    thinking: list[str] = []
    depth = at = 0
    for tag in _THINK.finditer(text):
        before = text[at : tag.start()]
        if tag.lastgroup == "open":
            (thinking if depth else answer).append(before)
            depth += 1
        elif depth:
            thinking.append(before)
            depth -= 1
        elif tag[0] != "<|end|>":  # a bare end-of-message mark closes nothing
            thinking.extend((*answer, before))
            answer.clear()
        else:
            answer.append(before)
        at = tag.end()
    (thinking if depth else answer).append(text[at:])
    return "".join(answer).strip() if thinking else text, "".join(thinking).strip()


def prepare(text: str) -> str:
    """The reply without its thinking, with its Unicode folded: what the readers read."""
    return normalise(strip_thinking(text)[0])


# --------------------------------------------------------------------------------------------------------------------
# Decoration

_STYLES = (
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|sf|it|tt|bb|cal)|mbox|bm|boldsymbol|boxed|fbox|emph|bf|rm|[Ll]arge"
    r"|operatorname)(?![A-Za-z])\*?"
)
_STYLED = re.compile(_STYLES + r"[ \t]?\{([^{}]*)\}")
_STYLE = re.compile(_STYLES)
_TAGS = re.compile(r"</?(?:b|i|u|em|strong|span|p|br|mark|code)\s*/?>", re.IGNORECASE)
_MATH = re.compile(
    r"\$+|\\[()\[\]]|\\left(?![A-Za-z])|\\right(?![A-Za-z])|\\[,;:! ]|\\quad(?![A-Za-z])|\\displaystyle(?![A-Za-z])"
)
_ESCAPED = re.compile(r"\\([%&$#_])")
_BLANKS = re.compile(r"\s\s|\t")
_MAX_BRACES = 8
_AROUND = " \t\n*_`~\"'"


def unwrap(text: str) -> str:
    r"""`text` without emphasis, math delimiters and text commands: `**$\text{(B)}$**` is `(B)`.

    Braces go only with the command that they belong to, or around the whole; brackets stay. Blanks are single
    afterwards, and no line is empty.
    """
    if "\\" in text:
        text = _STYLE.sub("", _STYLED.sub(r"\1", _ESCAPED.sub(r"\1", text).replace("~", " ")))
        text = _MATH.sub("", text)
    if "<" in text:
        text = _TAGS.sub("", text).strip() or text  # `<B>` alone is a placeholder filled in, no tag
    text = text.replace("**", "").replace("__", "").replace("$", "").strip(_AROUND)
    for _ in range(_MAX_BRACES):
        if not (text.startswith("{") and text.endswith("}")):
            break
        text = text[1:-1].strip(_AROUND)
    if _BLANKS.search(text):
        text = "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())
    return text
