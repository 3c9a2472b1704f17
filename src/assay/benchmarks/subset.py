"""Parts of a data set by facet, and two data sets joined: views that read the samples of what they are made of.

`--where subject="plane geometry"` keeps the samples with that value. Conditions on one facet are alternatives,
conditions on different facets hold together. What was asked for is part of a run's manifest and is printed with
every result, since a score on a part is no score on the whole.
"""

from collections.abc import Iterator, Mapping, Sequence

from assay.benchmarks.base import Dataset
from assay.errors import UsageError
from assay.mark.status import natural_key
from assay.types import Sample

SHOWN = 12  # values that a message lists


def parse_where(texts: Sequence[str]) -> tuple[str, ...]:
    """Conditions `FACET=VALUE` in one spelling: sorted, each once, without blanks around either side.

    Raises:
        UsageError: for a text without a facet, `=` and a value.
    """
    pairs = [text.partition("=") for text in texts]
    for text, (facet, _, value) in zip(texts, pairs, strict=True):
        if not facet.strip() or not value.strip():
            raise UsageError(f"--where {text!r} is no condition. Write FACET=VALUE, e.g. subject='plane geometry'.")
    return tuple(sorted({f"{facet.strip()}={value.strip()}" for facet, _, value in pairs}))


def subset(dataset: Dataset, where: Sequence[str]) -> Dataset:
    """The samples of `dataset` that meet the conditions (see `parse_where`); `dataset` itself where there are none.

    Raises:
        UsageError: a facet that no sample has, or no sample that meets the conditions.
    """
    return _Subset(dataset, parse_where(where)) if where else dataset


def join(first: Dataset, second: Dataset, fact: str) -> Dataset:
    """All samples of `first`, then those of `second` with other ids. `fact` tells a reader, with the number of these.

    `second` is returned as it is added: where it adds nothing, the result is `first`.
    """
    joined = _Joined(first, second, fact)
    return joined if len(joined) > len(first) else first


class _Subset:
    def __init__(self, dataset: Dataset, where: tuple[str, ...]) -> None:
        self._dataset = dataset
        self._conditions: dict[str, set[str]] = {}
        for condition in where:
            facet, _, value = condition.partition("=")
            self._conditions.setdefault(facet, set()).add(value)
        self.split = dataset.split
        self.revision = dataset.revision
        values: dict[str, set[str]] = {}
        self._length = 0
        for sample in dataset:
            self._length += self._admits(sample)
            for facet, found in sample.facets.items():
                values.setdefault(facet, set()).update(found)
        self._check(values)
        fact = f"Only samples where {' and '.join(where)}: {self._length:,} of {len(dataset):,}."
        self.facts = (fact, *dataset.facts)

    def _admits(self, sample: Sample) -> bool:
        return all(wanted & set(sample.facets.get(facet, ())) for facet, wanted in self._conditions.items())

    def _check(self, values: Mapping[str, set[str]]) -> None:
        for facet, wanted in self._conditions.items():
            if facet not in values:
                raise UsageError(f"--where: there is no facet {facet!r}. Choose one of: {', '.join(sorted(values))}.")
            unknown = sorted(wanted - values[facet])
            if unknown:
                there = sorted(values[facet], key=natural_key)
                more = ", ..." if len(there) > SHOWN else ""
                raise UsageError(
                    f"--where: no sample has {facet}={unknown[0]}. There is {', '.join(there[:SHOWN])}{more}."
                )
        if not self._length:
            raise UsageError("--where: no sample meets all conditions together. Leave one out.")

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Sample]:
        return (sample for sample in self._dataset if self._admits(sample))


class _Joined:
    def __init__(self, first: Dataset, second: Dataset, fact: str) -> None:
        self._first, self._second = first, second
        self._known = {sample.id for sample in first}
        added = sum(sample.id not in self._known for sample in second)
        self._length = len(first) + added
        self.split = first.split
        self.revision = first.revision
        self.facts = (*first.facts, fact.format(added=f"{added:,}"))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Sample]:
        yield from self._first
        yield from (sample for sample in self._second if sample.id not in self._known)
