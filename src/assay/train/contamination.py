"""Whether a question to be trained on is one of a benchmark's.

| rule | a question offends against a benchmark's where |
|---|---|
| picture | a picture matches (see `train.duplicates`), and it holds most of the benchmark question's words |
| text | it holds the benchmark's question word by word, of 8 words at least |
| ngram | both have 13 words in a row in common, which are no set phrase of the benchmark |

A short question such as "Find x." says nothing without its picture, so that text alone takes 8 words. A question whose
text is all in the picture has no words to be held, and the picture decides. Numbers are words here, as any other: a
variant with another number still offends by its picture. Words in a row that more than 5 questions of a benchmark, and
more than a hundredth of them, have in common are its set phrases.

Benchmarks are looked up by bands of their pictures' hashes and by runs of words; no two questions are compared
otherwise.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from assay.errors import ImageError
from assay.train.duplicates import Fingerprint, bands, distance
from assay.train.wording import words
from assay.types import Sample

__all__ = ["Against", "Contaminated", "Measure", "Offence"]

Rule = Literal["picture", "text", "ngram"]


class Measure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where on a question offends (ours, but for the 13 words, which are usual).

    Attributes:
        bits: of two pictures' hashes, at most so many of 64 differ.
        held: least share of the benchmark question's different words that must be there beside a matching picture.
        least_words: of a benchmark's question that is looked for word by word.
        ngram: words in a row.
    """

    bits: int = 4
    held: float = 0.6
    least_words: int = 8
    ngram: int = 13


class Offence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question of a benchmark that a question repeats, by which rules, and what was found."""

    benchmark: str
    sample_id: str
    rules: tuple[Rule, ...]
    why: str


class Contaminated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of `contaminated.jsonl`: an offending pair.

    Attributes:
        question: the question's id in the rollouts, `source` its source.
        solutions: its solutions that were still there.
        benchmark, benchmark_id: what it repeats.
        rules, why: see `Offence`.
    """

    question: str
    source: str
    solutions: tuple[str, ...]
    benchmark: str
    benchmark_id: str
    rules: tuple[Rule, ...]
    why: str


class _Held(Struct, frozen=True, kw_only=True):
    """A benchmark's question."""

    benchmark: str
    sample_id: str
    words: tuple[str, ...]


class Against:
    """The questions that must not be trained on.

    Args:
        benchmarks: name and samples of each.
        hashed: the hash of a picture file; raises `ImageError`.
        measure: from where on a question offends.

    Attributes:
        counts: benchmark -> its questions.
        unread: pictures of benchmarks that could not be read, and so are not compared.
        uncompared: benchmark -> questions of which nothing can be: no picture was read, and the text is too short.
    """

    def __init__(
        self,
        benchmarks: Iterable[tuple[str, Iterable[Sample]]],
        *,
        hashed: Callable[[str], int],
        measure: Measure,
    ) -> None:
        self.counts: dict[str, int] = {}
        self.unread: list[str] = []
        self.uncompared: dict[str, int] = {}
        self._measure = measure
        self._held: list[_Held] = []
        self._starts: dict[tuple[str, ...], list[int]] = {}
        self._runs: dict[int, list[int]] = {}
        self._bands: dict[tuple[int, int], dict[int, list[int]]] = {}
        for name, samples in benchmarks:
            self._add(name, samples, hashed)

    def _add(self, name: str, samples: Iterable[Sample], hashed: Callable[[str], int]) -> None:
        first = len(self._held)
        blind = 0
        for sample in samples:
            number = len(self._held)
            self._held.append(_Held(benchmark=name, sample_id=sample.id, words=words(sample.question)))
            read = 0
            for path in sample.images:
                try:
                    picture = hashed(path)
                except ImageError as error:
                    self.unread.append(f"{name} {sample.id}: {error}")
                    continue
                read += 1
                for band in bands(picture, self._measure.bits):
                    self._bands.setdefault(band, {}).setdefault(picture, []).append(number)
            blind += not read and len(self._held[number].words) < self._measure.least_words
        self.counts[name] = self.counts.get(name, 0) + len(self._held) - first
        self.uncompared[name] = self.uncompared.get(name, 0) + blind
        self._add_words(range(first, len(self._held)))

    def _add_words(self, held: range) -> None:
        """Look-ups by words; `held` are the questions of one benchmark."""
        measure = self._measure
        frequency: Counter[int] = Counter()
        for number in held:
            frequency.update(set(_runs(self._held[number].words, measure.ngram)))
        phrase = max(5, len(held) / 100)
        for number in held:
            own = self._held[number].words
            if len(own) >= measure.least_words:
                self._starts.setdefault(own[: measure.least_words], []).append(number)
            for run in set(_runs(own, measure.ngram)):
                if frequency[run] <= phrase:
                    self._runs.setdefault(run, []).append(number)

    def offences(self, question: Fingerprint) -> list[Offence]:
        """What a question offends against, in the benchmarks' order."""
        found: dict[int, dict[Rule, str]] = {}
        for number, rule, why in (
            *self._by_picture(question),
            *self._by_text(question.words),
            *self._by_runs(question.words),
        ):
            found.setdefault(number, {}).setdefault(rule, why)
        return [
            Offence(
                benchmark=self._held[number].benchmark,
                sample_id=self._held[number].sample_id,
                rules=tuple(rules),
                why="; ".join(rules.values()),
            )
            for number, rules in sorted(found.items())
        ]

    def _by_picture(self, question: Fingerprint) -> Iterator[tuple[int, Rule, str]]:
        own = frozenset(question.words)
        for picture in question.pictures:
            for band in bands(picture, self._measure.bits):
                for other, numbers in self._bands.get(band, {}).items():
                    apart = distance(picture, other)
                    if apart > self._measure.bits:
                        continue
                    for number in numbers:
                        theirs = frozenset(self._held[number].words)
                        share = len(own & theirs) / len(theirs) if theirs else 1.0
                        if share >= self._measure.held:
                            yield number, "picture", f"pictures {apart} bits apart, {share:.0%} of the words"

    def _by_text(self, own: Sequence[str]) -> Iterator[tuple[int, Rule, str]]:
        least = self._measure.least_words
        for place in range(len(own) - least + 1):
            for number in self._starts.get(tuple(own[place : place + least]), ()):
                theirs = self._held[number].words
                if tuple(own[place : place + len(theirs)]) == theirs:
                    yield number, "text", f"its {len(theirs)} words in a row"

    def _by_runs(self, own: Sequence[str]) -> Iterator[tuple[int, Rule, str]]:
        size = self._measure.ngram
        for place, run in enumerate(_runs(own, size)):
            for number in self._runs.get(run, ()):
                shared = " ".join(own[place : place + size])
                if f" {shared} " in f" {' '.join(self._held[number].words)} ":  # a hash may be that of other words
                    yield number, "ngram", f"{size} words in a row: {shared}"


def _runs(own: Sequence[str], size: int) -> Iterator[int]:
    """Hashes of all runs of `size` words: of a large benchmark the words themselves would fill the memory."""
    for place in range(len(own) - size + 1):
        yield hash(tuple(own[place : place + size]))
