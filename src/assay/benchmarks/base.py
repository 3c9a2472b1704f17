"""What a benchmark is: load, prompt, mark, scores.

A benchmark is one short file that fills in `Benchmark`; the table of all of them is in `assay.benchmarks`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from assay.images import Transform
from assay.mark.status import OnMissing
from assay.types import Failure, ImagePart, Marked, Message, Outcome, Reply, Sample, Sampling


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the data lies: a folder or file on this machine, or None for the hub (with the extra `hub`).

    `need_pictures`: whether a picture that is not there is an error; recorded replies are marked without.
    """

    data: Path | None = None
    split: str | None = None
    need_pictures: bool = True


class Dataset(Protocol):
    """The samples of one split, checked when opened. Iterating again gives the same samples."""

    @property
    def split(self) -> str: ...

    @property
    def revision(self) -> str:
        """SHA-256 of the question file(s), or the hub's commit."""
        ...

    @property
    def facts(self) -> tuple[str, ...]:
        """What a reader of the score must know about the data, e.g. missing domains, rows without gold."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Sample]: ...


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark as a table of functions.

    Attributes:
        name: as on the command line.
        title, licence, links: for `assay list` and reports.
        default_split: the split that the published numbers are about.
        transform: the published image step.
        sampling: the published sampling parameters.
        open: `Source` -> `Dataset`; raises DataError for data that can't be used.
        messages: what a model is asked; pictures in the order of `sample.images`.
        mark: both verdicts on one reply; pure; may raise MarkError.
        gold_reply: a reply that a model answering with the gold would give; `robust` must find it right.
        detail: what `scores` needs of a sample beyond its facets (FinMME: gold labels, number of options);
            copied into the sample's `Outcome`.
        scores: the benchmark's own results over all outcomes, JSON-ready (FinMME: {"finscore": {...}}).
        blocking: whether `mark` may take long (symbolic comparison), so that the engine runs it in a thread.
    """

    name: str
    title: str
    licence: str
    links: tuple[str, ...]
    default_split: str
    transform: Transform
    sampling: Sampling
    open: Callable[[Source], Dataset]
    messages: Callable[[Sample, Sequence[ImagePart]], tuple[Message, ...]]
    mark: Callable[[Sample, Reply], Marked]
    gold_reply: Callable[[Sample], str]
    prompt_hash: Callable[[], str]
    scores: Callable[[Sequence[Outcome], OnMissing], dict[str, Any]] = field(default=lambda _o, _m: {})
    detail: Callable[[Sample], dict[str, str]] = field(default=lambda _sample: {})
    blocking: bool = False


def failed(outcome: Outcome) -> bool:
    return isinstance(outcome.result, Failure)
