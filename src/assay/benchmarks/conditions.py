"""Every sample asked under several conditions: draws, wordings of the prompt, orders of the options, other pictures.

A run has the plain condition and those beside it; what each of them is for, and how results are read, is in
`design/conditions.md`. A condition that says nothing about a sample is left out for it: there is no other order of
the options of a free question, and no ablation of a picture that isn't there.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from assay.benchmarks.base import Benchmark, Dataset, outcome_of
from assay.benchmarks.prompting import hash_prompts, load_prompt
from assay.benchmarks.shuffle import Shown, in_place, shown
from assay.errors import DataError, ImageError, UsageError
from assay.types import PLAIN, Condition, Failure, ImagePart, Marked, Message, Outcome, Reply, Sample, line_id

__all__ = [
    "Asked",
    "Items",
    "OtherPictures",
    "Question",
    "check_conditions",
    "condition_notes",
    "conditions_of",
    "prompt_hash",
    "repeat_note",
    "says_something",
]


def conditions_of(
    benchmark: Benchmark,
    *,
    repeats: int = 1,
    prompts: bool = False,
    shuffles: int = 0,
    no_image: bool = False,
    other_image: bool = False,
) -> tuple[Condition, ...]:
    """The plain condition and what was asked for beside it; each of the others differs from it in one thing.

    Raises:
        UsageError: variants of a prompt that has none.
    """
    if prompts and not benchmark.prompts:
        raise UsageError(f"The prompts of {benchmark.name} have no variants. Leave --prompts out.")
    return (
        *(Condition(repeat=index) for index in range(repeats)),
        *(Condition(prompt=name) for name in benchmark.prompts if prompts),
        *(Condition(shuffle=number) for number in range(1, shuffles + 1)),
        *([Condition(picture="none")] if no_image else []),
        *([Condition(picture="other")] if other_image else []),
    )


def check_conditions(benchmark: Benchmark, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of a plan: none stands for the plain one.

    Raises:
        UsageError: without the plain condition, with one twice, or with a prompt that isn't there.
    """
    conditions = tuple(conditions) or (PLAIN,)
    if PLAIN not in conditions:
        raise UsageError("The plain condition is missing, with which the others are compared. Add it.")
    if len(set(conditions)) < len(conditions):
        raise UsageError("A condition occurs twice. Give each once.")
    for condition in conditions:
        if condition.prompt and condition.prompt not in benchmark.prompts:
            there = ", ".join(benchmark.prompts) or "none"
            raise UsageError(f"{benchmark.name} has no prompt {condition.prompt!r}. Its variants: {there}.")
        if condition.repeat < 0 or condition.shuffle < 0:
            raise UsageError(f"Repeats and orders are counted from 0: {condition.name} can't be asked.")
    return conditions


def prompt_hash(benchmark: Benchmark, conditions: Iterable[Condition]) -> str:
    """SHA-256 over every prompt that the conditions use; the benchmark's own hash where that is its own wording."""
    variants = sorted({condition.prompt for condition in conditions} - {""})
    own = benchmark.prompt_hash()
    if not variants:
        return own
    texts = {f"{name}.{variant}": load_prompt(name, variant) for name in benchmark.templates for variant in variants}
    return hashlib.sha256(f"{own}\x00{hash_prompts(texts)}".encode()).hexdigest()


# --------------------------------------------------------------------------------------------------------------------
# Samples x conditions


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample under a condition: the item that a run works on."""

    sample: Sample
    condition: Condition

    @property
    def id(self) -> str:
        return line_id(self.sample.id, self.condition.name)

    @property
    def group(self) -> str:
        return self.sample.group

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        return self.sample.facets


def says_something(sample: Sample, condition: Condition) -> bool:
    """Whether the sample is asked under the condition."""
    if condition.shuffle and in_place(sample) is not None:
        return False
    return condition.picture == "own" or bool(sample.images)


class Items:
    """The first `limit` samples under every condition; all of a sample together, so that its picture stays at hand.

    Raises (when iterated):
        DataError: a sample whose id another one has under a condition.
    """

    def __init__(self, dataset: Dataset, conditions: Sequence[Condition], limit: int | None = None) -> None:
        self._dataset = dataset
        self._conditions = tuple(conditions)
        self._limit = limit

    def __iter__(self) -> Iterator[Asked]:
        names = tuple(f" [{condition.name}]" for condition in self._conditions if condition != PLAIN)
        for sample in islice(self._dataset, self._limit):
            if names and sample.id.endswith(names):
                raise DataError(f"sample {sample.id}", "its id ends like a condition's name", "Rename it.")
            for condition in self._conditions:
                if says_something(sample, condition):
                    yield Asked(sample=sample, condition=condition)

    def __len__(self) -> int:
        if self._conditions == (PLAIN,):
            return len(self._dataset) if self._limit is None else min(self._limit, len(self._dataset))
        return sum(1 for _ in self)


class Question:
    """What a model is asked about a sample under a condition, and what its reply is worth.

    Attributes:
        sample: as it is shown; a reply to it is marked with it.
    """

    def __init__(self, benchmark: Benchmark, asked: Asked, seed: int) -> None:
        self._benchmark = benchmark
        self._asked = asked
        condition = asked.condition
        self._shown: Shown | None = shown(asked.sample, condition.shuffle, seed) if condition.shuffle else None
        self.sample = self._shown.sample if self._shown else asked.sample
        self._notes: tuple[str, ...] = ()

    def messages(self, pictures: Sequence[ImagePart]) -> tuple[Message, ...]:
        self._notes = tuple(note for picture in pictures for note in picture.notes)
        prompt = self._asked.condition.prompt
        if not prompt:  # a benchmark without variants needs no keyword for them
            return self._benchmark.messages(self.sample, pictures)
        return self._benchmark.messages(self.sample, pictures, prompt=prompt)

    def outcome(
        self, result: Marked | Failure, *, reply: Reply | None = None, key: str | None = None, attempts: int = 0
    ) -> Outcome:
        """The run's line, in the data's own labels."""
        sample, condition = self._asked.sample, self._asked.condition
        outcome = outcome_of(
            self._benchmark,
            sample,
            result if self._shown is None else self._shown.original(result),
            reply=reply,
            key=key,
            attempts=attempts,
            condition=condition,
        )
        more = {} if self._shown is None else self._shown.detail(sample)
        if self._notes:
            more["pictures"] = "; ".join(self._notes)
        return msgspec.structs.replace(outcome, detail=outcome.detail | more) if more else outcome


class OtherPictures:
    """The pictures of other samples, in an order of its own for every sample."""

    def __init__(self, dataset: Dataset, seed: int) -> None:
        self._seed = seed
        self._paths = tuple(dict.fromkeys(path for sample in dataset for path in sample.images))

    def candidates(self, sample: Sample) -> Iterator[str]:
        """Every picture but the sample's own, from a place on that the seed and the sample's id say."""
        chance = random.Random(f"other\x00{self._seed}\x00{sample.id}")  # noqa: S311 - a choice, no secret
        start = chance.randrange(len(self._paths))
        for path in self._paths[start:] + self._paths[:start]:
            if path not in sample.images:
                yield path

    @staticmethod
    def none_left(sample: Sample) -> ImageError:
        return ImageError("no_other", f"the data holds no picture that sample {sample.id} could be shown instead")


# --------------------------------------------------------------------------------------------------------------------
# What a reader must know


def condition_notes(dataset: Dataset, names: Iterable[str], outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Which of the samples with an outcome are not asked under every one of the named conditions, and why."""
    conditions = [Condition.named(name) for name in names]
    ids = {outcome.sample_id for outcome in outcomes}
    samples = [sample for sample in dataset if sample.id in ids]
    notes: list[str] = []
    if any(condition.shuffle for condition in conditions):
        reasons = Counter(reason for sample in samples if (reason := in_place(sample)))
        notes += [
            f"{count:,} of {len(samples):,} samples are not asked with their options in another order: {reason}."
            for reason, count in sorted(reasons.items())
        ]
    without = sum(not sample.images for sample in samples)
    if without and any(condition.picture != "own" for condition in conditions):
        notes.append(f"{without:,} of {len(samples):,} samples have no picture that could be taken away.")
    return tuple(notes)


def repeat_note(names: Iterable[str], temperature: float) -> tuple[str, ...]:
    """What repeats at temperature 0 show."""
    if temperature > 0 or not any(Condition.named(name).repeat for name in names):
        return ()
    note = "The repeats were drawn at temperature 0: how they differ shows only what the server's arithmetic varies."
    return (note,)
