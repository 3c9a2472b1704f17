"""What a benchmark is: load, prompt, mark, scores.

A benchmark is one short file that fills in `Benchmark`; the table of all of them is in `assay.benchmarks`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from assay.benchmarks.prompting import VARIANTS
from assay.errors import MarkError
from assay.images import Transform
from assay.mark import symbolic
from assay.mark.status import OnMissing
from assay.types import PLAIN, Condition, Failure, ImagePart, Marked, Message, Outcome, Reading, Reply, Sample, Sampling


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the data lies: a folder or file on this machine, or None for the hub (with the extra `hub`).

    `need_pictures`: whether a picture that is not there is an error; recorded replies are marked without.
    `reading`: how the columns of a table of one's own are read; the benchmarks known by name have no use for it.
    """

    data: Path | None = None
    split: str | None = None
    need_pictures: bool = True
    reading: Reading | None = None


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


class Messages(Protocol):
    """What a model is asked: pictures in the order of `sample.images`; `prompt` names a variant of the prompt."""

    def __call__(self, sample: Sample, images: Sequence[ImagePart], /, *, prompt: str = "") -> tuple[Message, ...]: ...


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
        messages: what a model is asked.
        mark: both verdicts on one reply; pure; may raise MarkError.
        gold_reply: a reply that a model answering with the gold would give; `robust` must find it right.
        detail: what `scores` needs of a sample beyond its facets (FinMME: gold labels, number of options);
            copied into the sample's `Outcome`.
        scores: the benchmark's own results over all outcomes, JSON-ready (FinMME: {"finscore": {...}});
            may iterate them several times.
        llm_extraction: whether the published script asks a language model for the answer in a reply; `mark` then takes
            `Reply.extraction` for its reference verdict where there is one, and reads by rule where there is none.
        published_rows: for benchmarks whose published outputs have rows of another form than the data's: the rows that
            one such row stands for, one per sample, each with the sample's id in `id` (DynaMath: a seed's ten
            verdicts). `open` reads such files as well; their samples have no question.
        sizes: published number of samples of each split, the default split first; empty where it isn't known.
        hub: name of the data set on the hub; None where it has no copy there that `open` reads.
        made: whether `open` makes the questions itself, so that nobody looks for data.
        templates: names of the prompt files that `messages` takes with `load_prompt(name, prompt)`; every line of
            instruction in them has its variants in `prompts/variants.toml`. None: only the benchmark's own wording.
    """

    name: str
    title: str
    licence: str
    links: tuple[str, ...]
    default_split: str
    transform: Transform
    sampling: Sampling
    open: Callable[[Source], Dataset]
    messages: Messages
    mark: Callable[[Sample, Reply], Marked]
    gold_reply: Callable[[Sample], str]
    prompt_hash: Callable[[], str]
    scores: Callable[[Iterable[Outcome], OnMissing], dict[str, Any]] = field(default=lambda _o, _m: {})
    detail: Callable[[Sample], dict[str, str]] = field(default=lambda _sample: {})
    llm_extraction: bool = False
    published_rows: Callable[[dict[str, Any]], Sequence[dict[str, Any]]] | None = None
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    hub: str | None = None
    made: bool = False
    templates: tuple[str, ...] = ()

    @property
    def prompts(self) -> tuple[str, ...]:
        """Names of the prompt's variants beside the benchmark's own wording."""
        return VARIANTS if self.templates else ()


def failed(outcome: Outcome) -> bool:
    return isinstance(outcome.result, Failure)


def outcome_of(
    benchmark: Benchmark,
    sample: Sample,
    result: Marked | Failure,
    *,
    reply: Reply | None = None,
    key: str | None = None,
    attempts: int = 0,
    condition: Condition = PLAIN,
) -> Outcome:
    """The line of a run for one sample under one condition; `key` is that of the stored reply."""
    return Outcome(
        sample_id=sample.id,
        group=sample.group,
        facets=sample.facets,
        detail=benchmark.detail(sample),
        result=result,
        finish=None if reply is None else reply.finish,
        reply=key,
        usage=None if reply is None else reply.usage,
        attempts=attempts,
        condition=condition.name,
    )


def mark_reply(benchmark: Benchmark, sample: Sample, reply: Reply) -> Marked | Failure:
    """Both verdicts, or the failure where the answer can't be marked. May wait for a symbolic comparison."""
    try:
        return benchmark.mark(sample, reply)
    except MarkError as error:
        return Failure(stage="mark", kind="mark", message=str(error))


def mark_at_once(benchmark: Benchmark, sample: Sample, reply: Reply) -> Marked | Failure | None:
    """As `mark_reply`; None where that would have to wait for another process."""
    try:
        with symbolic.without_waiting():
            return mark_reply(benchmark, sample, reply)
    except symbolic.WouldWait:
        return None
