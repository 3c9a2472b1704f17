"""Labels in a reply: `B`, `(A) and (C)`, `A, C`, `ACD`, `B. Decline`, and what looks like a label and is none.

Letters count only where they stand as labels: not the pronoun I, not the article A, not a letter of a formula or a
word, not a negated option.
"""

import re
from typing import NamedTuple

from assay.mark.options import Item, fold_text, squash
from assay.mark.text import unwrap


class Found(NamedTuple):
    """Labels read in one place; `clash` says why they can't count, where they can't."""

    labels: tuple[str, ...]
    rule: str
    clash: str = ""


# Ticks and crosses, with which models go through the options.
TICK = re.compile("[✅✓✔☑🗹]")
CROSS = re.compile("[❌✗✘✖☒❎🗷]")
_LEAD_WORDS = (
    "the|is|are|be|therefore|thus|hence|so|clearly|most|likely|probably|definitely|simply|indeed|only|both|either|option"
    "|options|choice|choices|letter|letters|answer|answers|statement|statements|item|items|number|numbers|la|le|el|die"
    "|opción|opção|opzione|вариант"
)
LEAD = re.compile(
    rf"(?:[\s*_`~\"'(\[{{<#>•.:：【（「✅✓✔☑🗹\ufe0f]+|-(?=\s)|(?:{_LEAD_WORDS})(?![^\W_])|选项|選項|选|選|是|为|為|第)*+",
    re.IGNORECASE,
)
_CLOSE = re.compile(r"(?:[ \t]?[)\]}>*_`\"'】」]+)?")
_SEPARATOR = re.compile(
    # Alternatives; a dash between labels may be a range or a list, so it is no list.
    r"(?P<alternative>\s*(?:,\s*)?(?:(?<![^\W_])(?:or|oder|ou|или)(?![^\W_])|或者|或|还是|還是|또는|and/or|->|→)"
    r"|[ \t]*(?:-|~|(?:to|through)(?![^\W_])|至|到)(?=[ \t(]*\S))"
    r"|\s*(?:[,;、/&+|·.]\s*)?"
    r"(?:(?:and|as well as|along with|together with|but also|also|plus|und|et)(?![^\W_])|和|与|與|及|以及|跟|と|및"
    r"|(?-i:[yeи])(?=\s+\W?\w{1,4}(?!\w)))"
    r"|\s*(?:[,;、]\s*[&+]|(?P<mark>[,;、&+|·])|(?P<dot>\.)|(?P<slash>/))",
    re.IGNORECASE,
)
END = re.compile(r"[\s.,;:!?。…)*\]}\"'_`~$]*(?:\n|$)")
_DELIMITER = re.compile(r"\s*[.:;!?。—)\]、|\"]|\s+-\s|,(?=\s)|\s*[(\[]|\s*\n")
_CONNECTIVE = re.compile(
    r"\s+(?:because|since|as|for|due|given|based|which|with|where|when|while|whereas|according|from|since|therefore|thus"
    r"|hence|so|rather|instead|not|only because|but|is|are|was|were|seems?|looks?|would|must|has|have|would be|in this"
    r"|by|,|→|porque|parce|weil|da|ist|est|es)(?![^\W_])",
    re.IGNORECASE,
)
# What may stand between a label and the separator after it: `A (as shown), C`.
_ASIDE = re.compile(r"\s?\((?!\s?\w{1,3}\s?\))[^()\n]{1,80}\)")
_VERBS = frozenset(
    ("is", "are", "was", "were", "seem", "seems", "look", "looks", "would", "must", "has", "have", "est", "es")
)
_PLURAL = re.compile(
    r"\s+(?:are|were|because|since|as|for|both|respectively|all|only|each|apply|hold)(?![^\W_])", re.IGNORECASE
)
NEGATED = re.compile(
    r"[\s,:-]*(?:(?:is|are|was|were|be|looks?|seems?|would be|can be|has been|have been)\s+(?:\w+\s+){0,2}?"
    r"(?:not|wrong|incorrect|false|ruled|eliminated|excluded|invalid|unlikely|untrue|inaccurate|out)(?![^\W_])"
    r"|(?:isn't|aren't|wasn't|can't|cannot|doesn't|does not|do not|don't)(?![^\W_])|not (?=correct|right|true)"
    r"|(?:is|are)n't|(?:选项|選項|项|項)?(?:是|都|均|也)?(?:错|錯|不正|不对|不對|不符|不是|不成立|有误|有誤)"
    r"|only if|if(?![^\W_]))",
    re.IGNORECASE,
)


def counted(labels: list[str], item: Item, multiple: bool, rule: str) -> Found:
    named = item.in_order(labels)
    if len(named) > 1 and not multiple:
        return Found((), rule, f"names {'/'.join(named)}, one is asked for")
    return Found(named, rule)


class Labels(NamedTuple):
    labels: list[str]
    end: int
    alternative: bool = False


def label_list(text: str, at: int, item: Item, multiple: bool) -> Labels | None:
    """The labels at a position: `B`, `A, C`, `A and C`, `(A) / (C)`, `A C`, `ACD`."""
    at = end_of(LEAD, text, at)
    glued = _glued(text, at, item, multiple)
    first = label_at(text, at, item)
    if glued is not None or first is None:
        return glued
    labels, end, alternative = [first[0]], first[1], False
    # A list names no label twice, which bounds the loop on hostile text.
    while len(labels) <= len(item.labels):
        separator = _SEPARATOR.match(text, end_of(_ASIDE, text, end))
        if separator:
            start = separator.end()
        elif text[end : end + 1] in (" ", "\n"):
            start = end + 1
        elif text[end : end + 1] in ("(", "["):
            start = end
        else:
            break
        following = label_at(text, end_of(LEAD, text, start), item)
        if following is None or not _goes_on(text, following[1], separator, item):
            break
        either = separator is not None and (
            separator["alternative"] is not None or (separator["slash"] is not None and not multiple)
        )
        alternative = alternative or (either and following[0] not in labels)
        labels.append(following[0])
        end = following[1]
    return Labels(labels, end, alternative)


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def label_at(text: str, at: int, item: Item) -> tuple[str, int] | None:
    match = item.label.match(text, at)
    if not match or not match[0]:
        return None
    label = item.find_label(match[0])
    return None if label is None else (label, end_of(_CLOSE, text, match.end()))


def _goes_on(text: str, end: int, separator: re.Match[str] | None, item: Item) -> bool:
    """Whether a label after a separator is a further member of the list, and not the start of a clause."""
    if NEGATED.match(text, end):
        return False
    if END.match(text, end):
        return True
    following = _SEPARATOR.match(text, end)
    if separator is not None and separator["dot"] is not None:  # `A. C. D.`, but not `A. C grew faster`
        return following is not None
    if following or _PLURAL.match(text, end):
        return True
    if separator is None:  # separated by a blank alone: all of the rest must be labels
        return text[end - 1] == "]" or (text[end : end + 1] == " " and label_at(text, end + 1, item) is not None)
    return separator["mark"] is None or _ASIDE.match(text, end) is not None


def _glued(text: str, at: int, item: Item, multiple: bool) -> Labels | None:
    """`ACD`, all of it labels, none twice, with nothing but punctuation after it; in small letters only in order."""
    if item.glued is None:
        return None
    match = item.glued.match(text, at)
    if not match:
        return None
    end = end_of(_CLOSE, text, match.end())
    written = match[0]
    if len(set(written.casefold())) < len(written) or not (
        END.match(text, end) or re.match(r"[.,;:。]\s|\s+(?:are|because|since|as)\b", text[end : end + 12])
    ):
        return None
    if written.upper() != written and (not multiple or list(written.lower()) != sorted(written.lower())):
        return None
    return Labels([label for character in written if (label := item.find_label(character))], end)


# A further member of a list that is no label: E of `A, C, E` where the options end with D.
_STRANGER = re.compile(r"\s?(?:[,;、&]|,? ?and)\s?[(\[]?([B-HJ-Z])[)\]]?(?=\s*(?:[,;.、]|$))")


def head_labels(text: str, item: Item, multiple: bool, *, strict: bool) -> Found | None:
    found = label_list(text, 0, item, multiple)
    if found is None or NEGATED.match(text, found.end):
        return None
    if not _stands_as_label(text, found, item, strict):
        return None
    if found.alternative:
        named = "/".join(item.in_order(found.labels))
        return Found((), "label", f"names {named} as alternatives")
    stranger = _STRANGER.match(text, found.end) if multiple else None
    if stranger and stranger[1] not in item.by_label and item.find_label(stranger[1]) is None:
        return Found((), "label", f"names {stranger[1]}, which is no option")
    if len(set(found.labels)) == 1:
        contradiction = _contradiction(text[found.end : found.end + 500], found.labels[0], item)
        if contradiction:
            return Found((), "label", contradiction)
    return counted(found.labels, item, multiple, "label")


def _stands_as_label(text: str, found: Labels, item: Item, strict: bool) -> bool:
    """Tell `B`, `B. Decline`, `B because ...` from the article in "A company" and the pronoun in "I think"."""
    end = found.end
    if len(found.labels) > 1 or END.match(text, end):
        return True
    label = found.labels[0]
    lead = end_of(LEAD, text, 0)
    written = text[lead : lead + len(label)]
    bracketed = text[end - 1] in ")]*" or (lead > 0 and text[lead - 1] in "([*")
    if bracketed or written == "":
        return True
    pronoun = written in ("I", "i")
    if _DELIMITER.match(text, end):
        return not (pronoun and text[end : end + 1] == ",")
    rest = squash(fold_text(text[end : end + 500]))
    own = item.texts.get(label)
    if own is not None and rest.startswith(squash(own)):
        return True
    connective = _CONNECTIVE.match(text, end)
    if connective:
        word = connective[0].split()[0].lower()
        if strict and word in _VERBS:  # "A is larger than B" answers nothing
            return False
        return not pronoun or word in ("because", "since", "is", "as")
    if not strict and len(written) == 1 and written.isupper() and written not in "AI" and written.isascii():
        return True
    return bool(text[end : end + 1] > "\u2e80" and written.isascii())


def _contradiction(rest: str, label: str, item: Item) -> str:
    """`B. Rise` where Rise is option A."""
    if not item.texts or rest.startswith(","):
        return ""
    line = rest.lstrip(" .:)-、*").split("\n", 1)[0]
    folded = fold_text(line)
    exact = item.by_text.get(squash(folded))
    if exact is None:
        head = item.text.match(folded) if folded and item.text else None
        if head is None or not re.match(r"\s*(?:$|[.,;:)(]|because|since)", folded[head.end() :]):
            return ""
        exact = item.by_text.get(squash(head[0]), ())
    if exact and label not in exact:
        return f"label {label} with the text of option {exact[0]}"
    return ""


def one_per_line(line: str, item: Item) -> bool:
    """Whether a line is one label, alone or with its own option's text."""
    line = unwrap(line)
    label = label_at(line, end_of(LEAD, line, 0), item)
    if label is None:
        return False
    rest = line[label[1] :]
    own = item.texts.get(label[0])
    return bool(END.fullmatch(rest)) or (own is not None and squash(fold_text(rest.lstrip(" .:)-、"))) == squash(own))


_SAID_WRONG = re.compile(r"\W{0,3}(?:incorrect|wrong|false|not (?:correct|true)|no(?![^\W_])|错|錯|不)", re.IGNORECASE)
_SAID_WRONG_LAST = re.compile(
    r"[-:(→=]\s?(?:incorrect|wrong|false|not (?:correct|true)|错误?|錯誤?)\W*$", re.IGNORECASE
)
_SAID_RIGHT_LAST = re.compile(r"[-:(→=]\s?(?:correct|right|true|正确|正確|对|對)\W*$", re.IGNORECASE)
_MARKED_LEAD = re.compile(rf"{CROSS.pattern}?\ufe0f?{LEAD.pattern}", re.IGNORECASE)
_LABELLED = r"\s*[(\[]?\w{1,4}\s?[.:)\]]+(?!\w)"
_LIST_ITEM_BREAK = re.compile(rf"(?:[\n;,、]|[.,]?\s(?:and|&))(?={_LABELLED})|[\n;]")


def _said_right(part: str) -> bool:
    return TICK.search(part) is not None or _SAID_RIGHT_LAST.search(part) is not None


def labels_with_texts(text: str, item: Item, multiple: bool) -> Found | None:
    """`A. Rise; C. Fall`: every member is a label with a text behind it; those said to be wrong are left out.

    Where some are said to be right, or ticked, only these count.
    """
    parts = [part for part in _LIST_ITEM_BREAK.split(text[:2_000]) if part.strip(" ,.")]
    if len(parts) < 2 or len(parts) > len(item.labels):
        return None
    affirmed = any(_said_right(part) for part in parts)
    labels: list[str] = []
    for part in parts:
        label = label_at(part, end_of(_MARKED_LEAD, part, 0), item)
        if label is None:
            return None
        rest = part[label[1] :]
        if not (END.fullmatch(rest) or part[label[1] - 1] in ")]" or rest.lstrip()[0] in ".:"):
            return None
        behind = rest.lstrip(" .:)")
        if NEGATED.match(behind) or _SAID_WRONG.match(behind) or _SAID_WRONG_LAST.search(part) or CROSS.search(part):
            continue
        if affirmed and not _said_right(part):
            continue
        if contradiction := _contradiction(rest, label[0], item):
            return Found((), "labels with texts", contradiction)
        labels.append(label[0])
    return counted(labels, item, multiple, "labels with texts") if labels else None
