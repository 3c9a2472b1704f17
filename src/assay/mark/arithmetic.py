r"""Plain arithmetic in LaTeX, evaluated here: numbers, `+ - * / :`, `\frac`, `\sqrt`, powers, `\pi`, a few functions.

A small recursive-descent reader, so that most comparisons need neither a computer algebra system nor its process, and
no text of a model is ever handed to `eval`. Whatever it does not know (a variable, a unit, a comma, a sign outside
ASCII) has no value here.

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/" | ":") signed | power)*      two factors side by side are a product
    signed  = ("-" | "+")* power
    power   = atom ("^" atom)?
    atom    = number | mixed number | \pi | \frac group group | \sqrt[n] group | function power | bracketed sum

An integer directly before a fraction of integers is a mixed number (`6\frac{1}{4}`, `1 1/4`), as in any answer.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

Number = Fraction | float
"""Exact where only rational operations (and exact roots) occur, else a float."""

MAX_CHARS = 400
"""Longer texts have no value: no answer needs more."""

MAX_DEPTH = 40
"""Brackets inside brackets."""

MAX_BITS = 20_000
"""Size of an exact numerator or denominator (about 6,000 digits); `3^{1009}` needs 1,600 bits."""

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<command>\\[A-Za-z]+|\\.)|(?P<sign>\S))", re.ASCII)
_IGNORED = frozenset({"$", r"\displaystyle", r"\left", r"\right"})
_TIMES = frozenset({"*", r"\cdot", r"\times"})
_OVER = frozenset({"/", ":", r"\div"})
_FRACTION = frozenset({r"\frac", r"\dfrac", r"\tfrac"})
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    r"\sin": math.sin,
    r"\cos": math.cos,
    r"\tan": math.tan,
    r"\arcsin": math.asin,
    r"\arccos": math.acos,
    r"\arctan": math.atan,
    r"\ln": math.log,
    r"\log": math.log10,
}


class _NoValueError(Exception):
    """The text is not plain arithmetic, or is too large."""


@lru_cache(maxsize=8192)  # short answers repeat a lot
def evaluate(latex: str) -> Number | None:
    """The value of plain arithmetic, or None where the text is anything else, undefined, or over the limits."""
    if len(latex) > MAX_CHARS:
        return None
    try:
        reader = _Reader(latex)
        value = reader.sum()
        return value if reader.at_end() else None
    except (_NoValueError, ArithmeticError, ValueError):
        return None


def as_float(value: Number) -> float | None:
    """The nearest float, or None beyond its range."""
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def _bounded(value: Number) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _NoValueError
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise _NoValueError
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        size = max(base.numerator.bit_length(), base.denominator.bit_length())
        if size * abs(exponent.numerator) > MAX_BITS:
            raise _NoValueError
        return base**exponent.numerator
    if base < 0:
        raise _NoValueError
    return float(base) ** float(exponent)


def _root(value: Number, degree: Number) -> Number:
    if not isinstance(degree, Fraction) or degree.denominator != 1 or not 2 <= degree <= 100:
        raise _NoValueError
    n = degree.numerator
    if value < 0:
        if n % 2 == 0:
            raise _NoValueError
        return -_root(-value, degree)
    if isinstance(value, Fraction):
        exact = Fraction(_nearest_root(value.numerator, n), _nearest_root(value.denominator, n))
        if exact**n == value:
            return exact
    return float(value) ** (1 / n)


def _nearest_root(value: int, n: int) -> int:
    if n == 2:
        return math.isqrt(value)
    return round(value ** (1 / n))


class _Reader:
    def __init__(self, latex: str) -> None:
        self._tokens: list[str] = []
        self._numbers: list[bool] = []
        for match in _TOKEN.finditer(latex):
            token = match.group("number") or match.group("command") or match.group("sign")
            if token not in _IGNORED:
                self._tokens.append(token)
                self._numbers.append(match.group("number") is not None)
        self._at = 0
        self._depth = 0

    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _is_number(self, ahead: int = 0) -> bool:
        at = self._at + ahead
        return at < len(self._numbers) and self._numbers[at]

    def _eat(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._eat(token):
            raise _NoValueError

    def sum(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _NoValueError
        value = self._product()
        while self._peek() in {"+", "-"}:
            minus = self._peek() == "-"
            self._at += 1
            term = self._product()
            value = _bounded(value - term if minus else value + term)
        self._depth -= 1
        return value

    def _product(self) -> Number:
        value = self._signed()
        while True:
            token = self._peek()
            if token in _TIMES:
                self._at += 1
                value = _bounded(value * self._signed())
            elif token in _OVER:
                self._at += 1
                value = _bounded(value / self._signed())
            elif self._starts_factor(token):
                value = _bounded(value * self._factor())
            else:
                return value

    def _starts_factor(self, token: str) -> bool:
        return (
            self._is_number()
            or token in _CLOSING
            or token in _FRACTION
            or token in _FUNCTIONS
            or token in {r"\sqrt", r"\pi"}
        )

    def _signed(self) -> Number:
        negative = False
        while self._peek() in {"+", "-"}:
            negative ^= self._peek() == "-"
            self._at += 1
        value = self._factor()
        return -value if negative else value

    def _factor(self) -> Number:
        base = self._atom()
        # TeX would take one digit of `2^10`; whoever writes it means 1024.
        return _bounded(_power(base, self._atom())) if self._eat("^") else base

    def _group(self) -> Number:
        r"""What `\frac` and `\sqrt` take: a braced sum, one digit (`\frac12`), or one atom."""
        if self._is_number() and self._peek()[0].isdigit():
            digit, rest = self._peek()[0], self._peek()[1:]
            if rest:
                self._tokens[self._at] = rest
            else:
                self._at += 1
            return Fraction(int(digit))
        return self._atom()

    def _atom(self) -> Number:
        if self._is_number():
            return self._number()
        word = self._peek()
        self._at += 1
        if word in _CLOSING:
            value = self.sum()
            self._expect(_CLOSING[word])
            return value
        if word == r"\pi":
            return math.pi
        if word in _FRACTION:
            top = self._group()
            return _bounded(top / self._group())
        if word == r"\sqrt":
            degree: Number = Fraction(2)
            if self._eat("["):
                degree = self.sum()
                self._expect("]")
            return _root(self._group(), degree)
        if word in _FUNCTIONS:
            return _FUNCTIONS[word](float(self._factor()))
        raise _NoValueError

    def _number(self) -> Number:
        text = self._peek()
        self._at += 1
        value = Fraction(text)
        if not text.isdigit():
            return value
        if self._is_number():  # two numbers side by side: only `1 1/4` means something
            if self._peek(1) == "/" and self._is_number(2) and self._peek().isdigit() and self._peek(2).isdigit():
                part = Fraction(int(self._peek()), int(self._peek(2)))
                self._at += 3
                return value + part
            raise _NoValueError
        if self._peek() in _FRACTION:
            start = self._at
            part = self._atom()
            written = self._tokens[start : self._at]
            if all(t.isdigit() or t in "{}" for t in written[1:]):
                return value + part
            self._at = start  # a product such as `2\frac{\sqrt{3}}{3}`
        return value
