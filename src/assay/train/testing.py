"""A test of a critic as a run: labelled solutions -> critic -> one record of each, on disk.

    DIR/manifest.json, outcomes-0.jsonl, replies.sqlite, images/     as every run (see `engine.store`)
    DIR/critiques-0.jsonl                                            one `CritiqueRecord` for each solution

A critique that came stays; one whose call failed is asked again by the same command. An outcome's mark says whether the
critic's first error is the right one, so that `assay compare` sets two critics against each other, row by row.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct, json
from msgspec.structs import replace

from assay.engine.budget import Budget, Price
from assay.engine.caller import Retry
from assay.engine.local import Finished
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, seal
from assay.images import ImageCache, Transform
from assay.models.base import Model
from assay.solve.continuation import ended
from assay.solve.critic import Critic
from assay.solve.records import Critique, Sampled, Solution, Unjudged
from assay.train.critique_records import CritiqueRecord, checked, judged, record_of
from assay.train.process_result import Spent
from assay.train.records import LabelledSolution
from assay.types import (
    Failure,
    ImagePart,
    Manifest,
    Mark,
    Marked,
    Message,
    Outcome,
    Sample,
    Sampling,
    TextPart,
)

__all__ = [
    "CRITIQUES",
    "CriticTest",
    "Wrap",
    "judge_solutions",
    "messages_of",
    "read_critiques",
    "revision_of",
    "spent_of",
]

CRITIQUES = "critiques"
"""Name of the records in a run's folder."""

Wrap = Callable[[Model], Model]


@dataclass(frozen=True, kw_only=True)
class CriticTest:
    """What is to be judged.

    Attributes:
        name, file: the set and its file.
        solutions: what the file holds.
        critic: makes the critic. It is given what to put around the critic's model, so that replies are kept and calls
            retried: `lambda wrap: GenerativeCritic(wrap(model))`.
        whole: whether the critic judges whole solutions, and not their steps.
        out: the run's folder.
        transform: how pictures are prepared.
        limit: what the file was cut to, for the manifest.
        environment: further facts to be recorded.
    """

    name: str
    file: Path
    solutions: Sequence[LabelledSolution]
    critic: Callable[[Wrap], Critic]
    out: Path
    whole: bool = False
    transform: Transform = field(default_factory=Transform)
    limit: int | None = None
    seed: int = 0
    concurrency: int = 64
    budget: Callable[[RunStore], Budget] = field(default=lambda _store: Budget())
    retry: Retry = field(default_factory=Retry)
    environment: dict[str, Any] = field(default_factory=dict[str, Any])


class _Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A solution in the run."""

    solution: LabelledSolution

    @property
    def id(self) -> str:
        return self.solution.id

    @property
    def group(self) -> str:
        return self.solution.group

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        return {"source": (self.solution.source,)}


def revision_of(solutions: Iterable[LabelledSolution]) -> str:
    """SHA-256 of labelled solutions, hexadecimal; of a picture its name counts, not the folder that it lies in."""
    digest = hashlib.sha256()
    for solution in solutions:
        digest.update(json.encode(replace(solution, images=tuple(Path(image).name for image in solution.images))))
    return digest.hexdigest()


def manifest_of(test: CriticTest) -> Manifest:
    """What the run is, sealed. A critic's prompts stand in its identity."""
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark=f"prm-eval:{test.name}",
            split=test.file.name,
            revision=revision_of(test.solutions),
            model=test.critic(lambda model: model).identity,
            search="critique",
            sampling=Sampling(),
            seed=test.seed,
            prompt_hash="",
            image_transform=json.encode(test.transform).decode(),
            limit=test.limit,
            data=str(test.file),
            fingerprint="",
            environment=test.environment,
        )
    )


async def judge_solutions(test: CriticTest, *, progress: bool = False) -> Finished:
    """Have the critic judge every solution that the run does not hold yet, and keep what it says.

    Raises:
        RunMismatch, RunLocked, RunError: see `engine.store`.
        RunStopped: the run ended early; what is finished is kept.
    """
    items = [_Item(solution=solution) for solution in test.solutions]
    with RunStore.create_or_resume(test.out, manifest_of(test)) as store:
        runner = Runner(store=store, pool=Pool(maximum=test.concurrency), budget=test.budget(store), retry=test.retry)
        with closing(ImageCache(folder=test.out / "images")) as images:
            work = _Judging(test, test.critic(runner.caller), store, images)
            return await runner.run(
                items, work, total=len(items), failed=work.failed, noun="solutions", progress=progress
            )


class _Judging:
    """Work for `run_samples`: one solution -> what the critic says of it, kept as a record."""

    def __init__(self, test: CriticTest, critic: Critic, store: RunStore, images: ImageCache) -> None:
        self._test = test
        self._critic = critic
        self._store = store
        self._images = images

    async def __call__(self, item: _Item) -> Outcome:
        solution = item.solution
        pictures = [await self._images.get(picture, self._test.transform) for picture in solution.images]
        said = await self._critic.critique(
            Sample(id=solution.id, question=solution.question, images=solution.images, group=solution.group),
            messages_of(solution.question, pictures),
            Solution(steps=_joinable(solution.steps), answer=None, origin=Sampled(index=0)),
        )
        return self._kept(item, checked(said, len(solution.steps), whole=self._test.whole))

    def failed(self, item: _Item, failure: Failure) -> Outcome:
        """What stands for a solution that could not even be shown to the critic: a picture that can't be read."""
        said = Unjudged(kind="failed", reason=f"{failure.stage}: {failure.message}", calls=0)
        self._record(item, said)
        return Outcome(sample_id=item.id, group=item.group, facets=item.facets, result=failure)

    def _kept(self, item: _Item, said: Critique | Unjudged) -> Outcome:
        tested = self._record(item, said)
        result = _result(tested)
        return Outcome(sample_id=item.id, group=item.group, facets=item.facets, result=result)

    def _record(self, item: _Item, said: Critique | Unjudged) -> CritiqueRecord:
        tested = record_of(item.solution, said, whole=self._test.whole)
        self._store.record(CRITIQUES, tested)
        return tested


def _result(tested: CritiqueRecord) -> Marked | Failure:
    """The outcome's mark: whether the critic's first error is the right one. Failed calls are asked again."""
    if isinstance(tested.said, Unjudged):
        if tested.said.kind == "failed":
            return Failure(stage="call", kind=tested.said.reason.partition(":")[0][:40], message=tested.said.reason)
        mark = Mark(verdict="unmarkable", reason=f"{tested.said.kind}: {tested.said.reason}")
        return Marked(reference=mark, robust=mark)
    one = judged(tested)
    if -1 in (one.first_error, one.predicted_first_error):
        mark = Mark(verdict="unmarkable", reason="the first error is not known, or not said")
    else:
        hit = one.first_error == one.predicted_first_error
        mark = Mark(verdict="right" if hit else "wrong", extraction=str(one.predicted_first_error))
    return Marked(reference=mark, robust=mark)


def messages_of(question: str, pictures: Sequence[ImagePart]) -> tuple[Message, ...]:
    """A question as a policy is asked it: pictures first."""
    return (Message(role="user", parts=(*pictures, TextPart(text=question))),)


def _joinable(steps: Sequence[str]) -> tuple[str, ...]:
    """Steps that read as one text when joined: published sets hold them bare. The last one stays as it is."""
    return (*ended(steps[:-1]), *steps[-1:])


def read_critiques(folder: Path, solutions: Iterable[LabelledSolution]) -> list[CritiqueRecord]:
    """The records of these solutions in a run's folder, in their order; those that it did not come to are left out."""
    with RunStore.open(folder) as store:
        kept = {one.sample_id: one for one in store.records(CRITIQUES, CritiqueRecord)}
    return [kept[solution.id] for solution in solutions if solution.id in kept]


def spent_of(tested: Iterable[CritiqueRecord], price: Price | None = None) -> Spent:
    """What the critiques took."""
    said = [one.said for one in tested]
    used = [one.usage for one in said if one.usage is not None]
    unreported = sum(one.usage is None and one.calls > 0 for one in said)
    money = sum((price.of(usage) for usage in used), Decimal()) if price and not unreported else None
    return Spent(
        solutions=len(said),
        calls=sum(one.calls for one in said),
        prompt_tokens=sum(usage.prompt_tokens for usage in used),
        completion_tokens=sum(usage.completion_tokens for usage in used),
        unreported=unreported,
        money=None if money is None else f"{money:f}",
    )
