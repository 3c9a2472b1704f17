"""Magnitudes and percentages: the words behind a number that scale it, and the unit of an item.

A scale is what one of the written number counts: `billion` is 1e9, `亿` 1e8, `%` 0.01, `bps` 0.0001. An answer in one
scale and an item's unit in another convert by the quotient of the two, percentages and magnitudes alike.
"""

import re
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import lru_cache
from typing import NamedTuple

from assay.mark.text import normalise

# Numbers are read with at most 60 digits and exponents to 99, so that products and differences of them are exact here.
EXACT = Context(prec=400, Emax=9_999, Emin=-9_999, traps=[InvalidOperation, DivisionByZero, Overflow])


def _all(words: str, factor: Decimal) -> dict[str, Decimal]:
    return dict.fromkeys(words.split("|"), factor)


# Whole words, in any case.
_WORDS: dict[str, Decimal] = {
    **_all("hundred", Decimal(10) ** 2),
    **_all("thousand|thousands|tausend|'000|000s|'000s", Decimal(10) ** 3),
    **_all("lakh|lakhs|lac|lacs", Decimal(10) ** 5),
    **_all("million|millions|mn|mln|mio|millionen|millones|milhões|milioni|млн", Decimal(10) ** 6),
    **_all("crore|crores|cr", Decimal(10) ** 7),
    **_all("billion|billions|bn|bln|mrd|milliard|milliards|milliarden|bilhões|miliardi|млрд", Decimal(10) ** 9),
    **_all("trillion|trillions|tn|trn|tln|трлн", Decimal(10) ** 12),
}
# One or two letters that mean something else in other cases or with a blank before them.
_LETTERS_ANYWHERE = {"M": Decimal(10) ** 6, "MM": Decimal(10) ** 6, "B": Decimal(10) ** 9}
_LETTERS_ATTACHED = {"K": Decimal(10) ** 3, "k": Decimal(10) ** 3}
_LETTERS_OF_MONEY = {
    **_LETTERS_ATTACHED,
    **dict.fromkeys(("m", "mm"), Decimal(10) ** 6),
    "b": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
}
# 兆 is 10^12 in finance (Taiwan, Japan); the mega of 兆瓦 is left to the unit.
_CJK: dict[str, Decimal] = {
    **_all("万亿|萬億|兆|조", Decimal(10) ** 12),
    **_all("千亿|千億|천억", Decimal(10) ** 11),
    **_all("百亿|百億|백억", Decimal(10) ** 10),
    **_all("十亿|十億|십억", Decimal(10) ** 9),
    **_all("亿|億|억", Decimal(10) ** 8),
    **_all("千万|千萬|천만", Decimal(10) ** 7),
    **_all("百万|百萬|백만", Decimal(10) ** 6),
    **_all("十万|十萬|십만", Decimal(10) ** 5),
    **_all("万|萬|만", Decimal(10) ** 4),
    **_all("千|천", Decimal(10) ** 3),
    **_all("百|백", Decimal(10) ** 2),
}
_PERCENT_WORDS: dict[str, Decimal] = {
    **_all("percent|per cent|pct|percentage points|percentage point|percentage|prozent", Decimal("0.01")),
    **_all("pp|ppt|ppts|pps", Decimal("0.01")),
    **_all("per mille|permille", Decimal("0.001")),
    **_all("bps|bp|basis points|basis point", Decimal("0.0001")),
}
_PERCENT_SIGNS: dict[str, Decimal] = {
    **_all("%|个百分点|個百分點|百分点|百分點", Decimal("0.01")),
    **_all("‰", Decimal("0.001")),
    **_all("个基点|個基點|基点|基點", Decimal("0.0001")),
}

CURRENCY = (
    r"(?:(?:[A-Z]{1,3})?[$＄€£¥₹₩₽₺₫฿]|(?:USD|EUR|GBP|JPY|CNY|CNH|RMB|INR|HKD|TWD|NTD|KRW|SGD|AUD|CAD|CHF|BRL|MYR|IDR|THB"
    r"|Rs\.?|NT|Rp)(?![A-Za-z]))"
)
_CURRENCY_WORDS = (
    r"(?:us |u\.s\. |hong kong )?(?:dollars?|euros?|yuan|renminbi|rupees?|pounds?|yen|won|cents?)(?![A-Za-z])"
    r"|人民币|人民幣|美元|美金|港元|港币|欧元|日元|英镑|元|円|圆|圓|块|원"
)


def _alternatives(words: dict[str, Decimal]) -> str:
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))


_SUFFIX = re.compile(
    rf"[ \t]*(?:(?P<percent>{_alternatives(_PERCENT_WORDS)})(?![A-Za-z])"
    rf"|(?P<sign>{_alternatives(_PERCENT_SIGNS)})(?:[ -]?pts?\.?)?"
    rf"|(?P<word>{_alternatives(_WORDS)})(?![A-Za-z0-9])"
    rf"|(?P<cjk>{_alternatives(_CJK)})(?![克米瓦卡赫字分])"
    rf"|(?P<currency>{CURRENCY}|{_CURRENCY_WORDS}))",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"(?P<blank>[ \t]*)(?P<letters>MM|mm|[KkMmBbT])(?![A-Za-z0-9^/²³'])")
_FACTORS = _WORDS | _CJK | _PERCENT_WORDS | _PERCENT_SIGNS


class Scale(NamedTuple):
    """What the words behind a number say.

    Attributes:
        factor: the scale; None where nothing scales the number.
        word: the words that do.
        end: where they end.
        money: whether a currency stood among them.
    """

    factor: Decimal | None
    word: str
    end: int
    money: bool


MAX_SUFFIXES = 6


def read_scale(text: str, at: int, *, money: bool, unit: str = "") -> Scale:
    """Read magnitudes, percent signs and currencies at a position: ` million`, `亿元`, ` US$ bn`, `%`, ` lakh crore`.

    Args:
        money: whether the number is an amount of money, which makes `m` a million and not a metre.
        unit: the item's unit; letters that are just this unit (`10 K` in kelvin) don't scale.
    """
    factor: Decimal | None = None
    words: list[str] = []
    start = at
    for _ in range(MAX_SUFFIXES):
        match = _SUFFIX.match(text, at)
        if match is None:
            letters = _letters(text, at, start, money, unit)
            if letters is None or factor is not None:
                break
            factor, at = letters
            words.append(text[start:at].strip())
            continue
        if match["currency"] is not None:
            money = True
        elif factor is not None and (factor < 1 or match["percent"] or match["sign"]):
            break  # a percentage scales no further
        else:
            found = _FACTORS[_word_of(match)]
            factor = found if factor is None else EXACT.multiply(factor, found)
            words.append(match[0].strip())
        at = match.end()
    return Scale(factor, " ".join(words), at, money)


def _word_of(match: re.Match[str]) -> str:
    word = match["percent"] or match["sign"] or match["word"] or match["cjk"]
    return " ".join(word.lower().split())


def _letters(text: str, at: int, number_end: int, money: bool, unit: str) -> tuple[Decimal, int] | None:
    match = _LETTERS.match(text, at)
    if match is None or match["letters"] == unit.strip():
        return None
    letters = match["letters"]
    factor = _LETTERS_ANYWHERE.get(letters)
    if factor is None and not match["blank"] and at == number_end:
        factor = _LETTERS_ATTACHED.get(letters)
    if factor is None and money:
        factor = _LETTERS_OF_MONEY.get(letters)
    return None if factor is None else (factor, match.end())


class Unit(NamedTuple):
    """An item's unit: its text, its scale (None for none), and whether it is about money."""

    text: str
    factor: Decimal | None
    money: bool


_CODES = ("USD", "EUR", "GBP", "JPY", "CNY", "RMB", "INR", "HKD", "KRW", "SGD", "AUD", "CAD", "CHF", "Rs", "US$", "HK$")
_ATTACHED_CODE = re.compile(rf"(?:{'|'.join(map(re.escape, _CODES))})\.?(?=(?:mn|bn|tn|mln|bln|cr|m|k|b)(?![A-Za-z]))")
_ROUND_NUMBER = re.compile(r"[ \t(]*(?:(?P<power>10{1,9}|10{0,2}(?:,000){1,3})|'?000(?=s?(?![\d,])))(?![\d.,=])")
_ANY_CURRENCY = re.compile(rf"{CURRENCY}|{_CURRENCY_WORDS}", re.IGNORECASE)


@lru_cache(maxsize=1_024)
def parse_unit(unit: str | None) -> Unit:
    """The scale of a unit such as `USD billion`, `INR Mn`, `亿元`, `%`, `'000 tonnes`, `100 million yuan`, `bps`."""
    if not unit:
        return Unit("", None, False)
    text = _ATTACHED_CODE.sub(r"\g<0> ", normalise(unit.strip()[:200]))
    money = bool(_ANY_CURRENCY.search(text))
    currency = _ANY_CURRENCY.match(text)
    head = currency.end() if currency else 0
    factor: Decimal | None = None
    number = _ROUND_NUMBER.match(text, head)
    if number is not None:
        factor = Decimal((number["power"] or "1000").replace(",", ""))
        head = number.end()
    for start in _word_starts(text, head):
        scale = read_scale(text, start, money=money)
        if scale.factor is not None:
            return Unit(text, EXACT.multiply(factor or Decimal(1), scale.factor), money)
    return Unit(text, factor, money)


def _word_starts(text: str, head: int) -> list[int]:
    """Positions in a unit at which a magnitude may stand: the starts of words, and every CJK character."""
    return [
        at
        for at in range(head, len(text))
        if at == head or not (text[at].isalnum() and text[at - 1].isalnum()) or text[at] > "\u2e80"
    ]


def convert(number: Decimal, factor: Decimal | None, unit: Decimal | None) -> Decimal:
    """A number as written, in the item's unit; without a scale of its own it is taken to be in the item's unit."""
    if factor is None:
        return number
    amount = EXACT.multiply(number, factor)
    return amount if unit is None else EXACT.divide(amount, unit)
