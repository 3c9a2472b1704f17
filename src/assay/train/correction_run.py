"""The corrections of a tested critic, put to the test as a run of their own in `DIR/corrections`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import json

from assay.benchmarks.base import Benchmark
from assay.engine.budget import Budget
from assay.engine.caller import Retry
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, seal
from assay.images import ImageCache, Transform
from assay.models.base import Model
from assay.solve.policy import Policy, prompt_hash
from assay.solve.records import Critique, Unjudged
from assay.train.corrections import Corrections, Trial, Tried, corrects, score_corrections, try_correction
from assay.train.critique_records import CritiqueRecord
from assay.train.gold import gold_sample
from assay.train.records import RolledSolution
from assay.train.testing import messages_of
from assay.types import Failure, Manifest, Mark, Marked, Outcome, Sample, Sampling

__all__ = ["CorrectionTest", "run_corrections"]

_TRIED = "tried"
"""Name of the records in the run's folder."""


@dataclass(frozen=True, kw_only=True)
class CorrectionTest:
    """What is to be tried.

    Attributes:
        rolled: the solutions by id, with the right answers of their questions.
        tested: what the critic said of them.
        critic: its identity.
        policy: who continues; `sampling` how.
        benchmark: its robust rule marks; `known` its samples by id, None where right answers are read by rule.
        out: folder of this run.
        continuations: of each side.
        budget: what the run may cost.
    """

    rolled: Mapping[str, RolledSolution]
    tested: Sequence[CritiqueRecord]
    critic: str
    policy: Model
    benchmark: Benchmark
    known: Mapping[str, Sample] | None
    out: Path
    sampling: Sampling
    continuations: int = 8
    transform: Transform = field(default_factory=Transform)
    seed: int = 0
    concurrency: int = 64
    budget: Callable[[RunStore], Budget] = field(default=lambda _store: Budget())
    retry: Retry = field(default_factory=Retry)

    @property
    def marked_by(self) -> str:
        """Whose rule marks, for a reader."""
        return "the answer's form (no benchmark given)" if self.known is None else f"{self.benchmark.name} (robust)"


async def run_corrections(test: CorrectionTest, *, progress: bool = False) -> Corrections:
    """Try every correction that has a right answer to be marked by, and score them all.

    Raises:
        RunMismatch, RunLocked, RunError: see `engine.store`.
        RunStopped: the run ended early; what is finished is kept.
    """
    corrected = [one for one in test.tested if isinstance(one.said, Critique) and corrects(one.said)]
    items = [item for one in corrected if (item := _item(test, one)) is not None]
    with RunStore.create_or_resume(test.out, _manifest(test)) as store:
        runner = Runner(store=store, pool=Pool(maximum=test.concurrency), budget=test.budget(store), retry=test.retry)
        with closing(ImageCache(folder=test.out / "images")) as images:
            policy = Policy(runner.caller(test.policy), sampling=test.sampling)
            work = _Trying(test, policy, store, images)
            await runner.run(items, work, total=len(items), failed=work.failed, noun="corrections", progress=progress)
        kept = {tried.sample_id: tried for tried in store.records(_TRIED, Tried)}
    return score_corrections(
        [kept[item.id] for item in items],
        test.tested,
        policy=test.policy.identity,
        marked_by=test.marked_by,
        continuations=test.continuations,
        no_gold=len(corrected) - len(items),
        seed=test.seed,
    )


@dataclass(frozen=True, kw_only=True)
class _Item:
    """A solution whose correction is tried, its question with the right answer, and what the critic said."""

    rolled: RolledSolution
    sample: Sample
    record: CritiqueRecord
    critique: Critique
    place: int

    @property
    def id(self) -> str:
        return self.rolled.id

    @property
    def group(self) -> str:
        return self.rolled.group

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        return {"source": (self.record.source,)}


def _item(test: CorrectionTest, record: CritiqueRecord) -> _Item | None:
    """What is to be tried; None where the right answer is not known."""
    rolled, said = test.rolled[record.sample_id], record.said
    sample = gold_sample(rolled, test.known)
    if sample is None or sample.gold is None or isinstance(said, Unjudged) or said.first_error is None:
        return None
    return _Item(rolled=rolled, sample=sample, record=record, critique=said, place=said.first_error)


class _Trying:
    """Work for `run_samples`: one correction, put to the test and kept as a record."""

    def __init__(self, test: CorrectionTest, policy: Policy, store: RunStore, images: ImageCache) -> None:
        self._test = test
        self._policy = policy
        self._store = store
        self._images = images

    async def __call__(self, item: _Item) -> Outcome:
        test, rolled = self._test, item.rolled
        pictures = [await self._images.get(picture, test.transform) for picture in rolled.images]
        trial = Trial(
            id=item.id,
            sample=item.sample,
            messages=messages_of(rolled.question, pictures),
            steps=tuple(step.text for step in rolled.steps),
            labels=item.record.labels,
            critique=item.critique,
        )
        tried = await try_correction(
            self._policy, test.benchmark, trial, continuations=test.continuations, seed=test.seed
        )
        self._store.record(_TRIED, tried)
        return _outcome(item, tried)

    def failed(self, item: _Item, failure: Failure) -> Outcome:
        """What stands for a correction that could not be tried: a picture that can't be read."""
        tried = Tried(
            sample_id=item.id,
            group=item.group,
            place=item.place,
            label=item.record.labels[item.place],
            failure=f"{failure.stage}: {failure.message}",
        )
        self._store.record(_TRIED, tried)
        return Outcome(sample_id=item.id, group=item.group, facets=item.facets, result=failure)


def _outcome(item: _Item, tried: Tried) -> Outcome:
    """The run's line: what became of the correction. A failed call is tried again by the same command."""
    if tried.before is None or tried.after is None:
        result: Marked | Failure = Failure(stage="call", kind=tried.failure.partition(":")[0], message=tried.failure)
    elif tried.before.share is None or tried.after.share is None:
        mark = Mark(verdict="unmarkable", reason="no continuation could be marked")
        result = Marked(reference=mark, robust=mark)
    else:
        mark = Mark(verdict="right" if tried.after.share > tried.before.share else "wrong", reason="helped or not")
        result = Marked(reference=mark, robust=mark)
    return Outcome(sample_id=item.id, group=item.group, facets=item.facets, result=result)


def _manifest(test: CorrectionTest) -> Manifest:
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark="prm-corrections",
            split=test.marked_by,
            revision="",
            model=test.policy.identity,
            search=f"{test.continuations} continuations from corrections of {test.critic}",
            sampling=test.sampling,
            seed=test.seed,
            prompt_hash=prompt_hash(),
            image_transform=json.encode(test.transform).decode(),
            limit=None,
            data="",
            fingerprint="",
        )
    )
