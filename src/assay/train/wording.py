"""Questions as words, so that two can be compared: without case, punctuation, and the sentences that all have."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

__all__ = ["Common", "numbers", "words"]

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|(?:(?![\u3040-\u30ff\u3400-\u9fff_])\w)+(?:\.[0-9]+)?")
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?:。！？：])\s+")


def words(text: str) -> tuple[str, ...]:
    """The words of a text in order, folded; a decimal number is one, and so is each Chinese or Japanese character."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def numbers(found: Iterable[str]) -> tuple[str, ...]:
    """The numbers among words, sorted."""
    return tuple(sorted(word for word in found if word[0].isdigit()))


class Common:
    """What the questions of a source have in common: how to answer, in which form. It tells no two of them apart.

    A sentence is common where at least 10 questions and a fifth of the source's have it. "Find x." may be that too: of
    a question that has nothing else, its rarest sentence stays.
    """

    _LEAST = 10
    _SHARE = 0.2

    def __init__(self, questions: Iterable[tuple[str, str]]) -> None:
        """`questions`: source and text of each."""
        self._counts: dict[str, Counter[tuple[str, ...]]] = {}
        self._totals: Counter[str] = Counter()
        for source, text in questions:
            self._totals[source] += 1
            self._counts.setdefault(source, Counter()).update(set(_sentences(text)))

    def words(self, source: str, text: str) -> tuple[str, ...]:
        """The words of a question without what is common to its source's."""
        sentences = _sentences(text)
        counts = self._counts.get(source, Counter[tuple[str, ...]]())
        bound = max(self._LEAST, self._SHARE * self._totals[source])
        own = [sentence for sentence in sentences if counts[sentence] < bound]
        if not own and sentences:
            own = [min(sentences, key=lambda sentence: (counts[sentence], -len(sentence)))]
        return tuple(word for sentence in own for word in sentence)


def _sentences(text: str) -> list[tuple[str, ...]]:
    return [found for part in _SENTENCE_END.split(text) if (found := words(part))]
