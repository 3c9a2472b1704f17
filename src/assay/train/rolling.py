"""Rollouts of a benchmark's questions as a run on disk, and the file that the later commands of `assay prm` read.

    DIR/manifest.json, outcomes-0.jsonl, replies.sqlite, images/    as of every run (see `engine.store`)
    DIR/rollouts-0.jsonl                                            one `Rolled` a question: every completion with the
                                                                    prefix that it continues, seed, answer and verdict
    DIR/rollouts.jsonl                                              one `RolledSolution` a solution, in the data's
                                                                    order; there once the run is complete

A question's outcome is that of its first solution, so that `assay score DIR` says how well the policy does. A question
whose solutions could not be drawn is a failure; the same command tries it again, and completions that failed as well.

Which labels are wanted, and where a solution ends early, change nothing of what a reply is. So they are not in the
run's fingerprint: the same folder may be gone on with for soft labels after hard ones, and every reply that is there
is used. What else is changed is another run, and refused.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NotRequired, TypedDict

from msgspec import json, structs, to_builtins

from assay.benchmarks.base import Benchmark, Dataset, Source, mark_at_once, mark_reply
from assay.benchmarks.conditions import Asked, Items, Question
from assay.benchmarks.subset import parse_where, subset
from assay.engine.budget import Budget
from assay.engine.caller import Caller, Retry
from assay.engine.lines import decode_line, lines, numbered
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, seal
from assay.errors import DataError, UsageError
from assay.images import ImageCache, Transform
from assay.models.base import Model
from assay.solve.policy import ContinueBy, Policy
from assay.solve.policy import prompt_hash as continue_hash
from assay.solve.pool import marked_reply
from assay.solve.records import Solution
from assay.train.files import write_records
from assay.train.records import RolledSolution, RolledStep, Rollout
from assay.train.rollout_report import Collector, Report
from assay.train.rollouts import Posed, Rolled, RolloutPlan, complete, draw
from assay.types import PLAIN, Failure, Manifest, Mark, Marked, Outcome, Sample, Sampling

__all__ = ["RECORDS", "ROLLOUTS", "TEMPERATURE", "Rolling", "manifest_of", "roll", "solutions_of"]

RECORDS = "rollouts"
"""Name of the run's records, see `RunStore.record`."""

ROLLOUTS = "rollouts.jsonl"
"""Name of the result in the run's folder."""

TEMPERATURE = 1.0
"""Of solutions and completions where nothing else is asked for: VisualPRM400K's."""

_canonical = json.Encoder(order="deterministic")


@dataclass(frozen=True, kw_only=True)
class Rolling:
    """What is to be rolled out.

    Attributes:
        benchmark, source: the questions.
        model: the policy.
        out: the run's folder; an unfinished run of the same plan is continued there.
        rollouts: what is drawn for a question.
        sampling: how.
        continuation, max_steps: see `solve.policy.Policy`.
        transform: None takes the benchmark's published image step.
        limit: only the first so many samples; None for all.
        where: conditions `FACET=VALUE` that the samples meet (see `benchmarks.subset`).
        concurrency: most calls in flight.
        budget: what the run may cost (see `engine.budget`).
        retry: when failed calls are tried again.
        environment: facts to be recorded in the manifest.
    """

    benchmark: Benchmark
    source: Source
    model: Model
    out: Path
    rollouts: RolloutPlan = field(default_factory=RolloutPlan)
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=TEMPERATURE))
    continuation: ContinueBy = "auto"
    max_steps: int = 12
    transform: Transform | None = None
    limit: int | None = None
    where: tuple[str, ...] = ()
    concurrency: int = 64
    budget: Callable[[RunStore], Budget] = field(default=lambda _store: Budget())
    retry: Retry = field(default_factory=Retry)
    environment: dict[str, Any] = field(default_factory=dict[str, Any])


def manifest_of(plan: Rolling, dataset: Dataset) -> Manifest:
    """What the run is, sealed with its fingerprint."""
    search = {
        "solutions": plan.rollouts.solutions,
        "completions": plan.rollouts.completions,
        "continuation": plan.continuation,
        "max_steps": plan.max_steps,
        "continue_prompt": "" if plan.continuation == "prefill" else continue_hash(),
    }
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark=plan.benchmark.name,
            split=dataset.split,
            revision=dataset.revision,
            model=plan.model.identity,
            search=f"rollouts {_canonical.encode(search).decode()}",
            sampling=plan.sampling,
            seed=plan.rollouts.seed,
            prompt_hash=plan.benchmark.prompt_hash(),
            image_transform=json.encode(plan.transform or plan.benchmark.transform).decode(),
            limit=plan.limit,
            data=str(plan.source.data) if plan.source.data else "",
            fingerprint="",
            where=parse_where(plan.where),
            reading=plan.source.reading,
            environment=plan.environment | {"samples": len(Items(dataset, (PLAIN,), plan.limit))},
        )
    )


async def roll(plan: Rolling, *, dataset: Dataset | None = None, progress: bool = False) -> Report:
    """Roll out every question that the run does not hold yet, and write the file for the later commands.

    Args:
        dataset: the plan's data where the caller has opened it already, down to the samples that meet `plan.where`.
        progress: show on standard error how it goes.

    Raises:
        DataError: the data has no question texts, or no right answers.
        RunMismatch, RunLocked, RunError: see `engine.store`.
        RunStopped: the run ended early; what is finished is kept.
    """
    if dataset is None:
        dataset = subset(plan.benchmark.open(plan.source), plan.where)
    _check(plan, dataset)
    items = Items(dataset, (PLAIN,), plan.limit)
    with _Store.create_or_resume(plan.out, manifest_of(plan, dataset)) as store:
        store.wanted = _mode(plan)
        (plan.out / ROLLOUTS).unlink(missing_ok=True)  # perhaps of other labels; written anew at the end
        runner = Runner(store=store, pool=Pool(maximum=plan.concurrency), budget=plan.budget(store), retry=plan.retry)
        with closing(ImageCache(folder=plan.out / "images")) as images:
            await runner.run(
                items,
                _Work(plan, runner.caller(plan.model), images, store),
                total=len(items),
                failed=lambda asked, failure: Question(plan.benchmark, asked, plan.rollouts.seed).outcome(failure),
                progress=progress,
            )
        return _written(plan, items, store)


def _check(plan: Rolling, dataset: Dataset) -> None:
    where = f"{plan.benchmark.name}, split {dataset.split}"
    first = next(iter(dataset), None)
    if first is not None and not first.question:  # a split either has texts or has none
        raise DataError(where, "has no question texts", "Give the data with its questions, or another split.")
    if all(sample.gold is None for sample in dataset):
        raise DataError(
            where, "has no right answers, by which completions are labelled", "Choose a split that has them."
        )
    if plan.max_steps < 1:
        raise UsageError("A solution has at least one step.")


# ----------------------------------------------------------------------------------------------------------------------
# One question

_LABELS, _STOP, _FAILED = "labels", "stop", "failed_completions"  # in an outcome's `detail`


def _mode(plan: Rolling) -> dict[str, str]:
    """What of the plan an outcome depends on and the run's fingerprint does not."""
    return {_LABELS: plan.rollouts.labels, _STOP: plan.rollouts.stop}


class _Store(RunStore):
    """A run whose questions are done where they have the labels that are wanted now, and no completion failed."""

    wanted: Mapping[str, str] = MappingProxyType({})

    def done_ids(self) -> set[str]:
        done = super().done_ids()
        return {
            outcome.id
            for outcome in self.outcomes()
            if outcome.id in done and self.wanted.items() <= outcome.detail.items() and _FAILED not in outcome.detail
        }


class _Work:
    """A question -> its rollouts on disk, and the outcome of its first solution. Work for `run_samples`."""

    def __init__(self, plan: Rolling, caller: Caller, images: ImageCache, store: RunStore) -> None:
        self._plan = plan
        self._policy = Policy(caller, sampling=plan.sampling, continuation=plan.continuation, max_steps=plan.max_steps)
        self._transform = plan.transform or plan.benchmark.transform
        self._images = images
        self._store = store

    async def __call__(self, asked: Asked) -> Outcome:
        """The outcome, once the rollouts are on disk.

        Raises:
            CallError: the solutions could not be drawn.
        """
        plan, sample = self._plan, asked.sample
        question = Question(plan.benchmark, asked, plan.rollouts.seed)
        if sample.gold is None:
            reason = "the data has no right answer, so that no completion could be marked"
            return question.outcome(Failure(stage="mark", kind="no_gold", message=reason))
        pictures = [await self._images.get(path, self._transform) for path in sample.images]
        posed = Posed(sample=sample, messages=question.messages(pictures))
        solutions = await draw(self._policy, posed, plan.rollouts)
        rolled = await complete(self._policy, plan.benchmark, posed, plan.rollouts, solutions)
        self._store.record(RECORDS, rolled)
        first = solutions[0]
        outcome = question.outcome(await self._mark(sample, first), reply=marked_reply(first), key=first.reply)
        failed = {_FAILED: str(len(rolled.failures))} if rolled.failures else {}
        return structs.replace(outcome, detail=outcome.detail | _mode(plan) | failed)

    async def _mark(self, sample: Sample, solution: Solution) -> Marked:
        """The verdicts on a solution. One that can't be marked is no failure of its question."""
        reply = marked_reply(solution)
        result = mark_at_once(self._plan.benchmark, sample, reply)
        if result is None:
            result = await asyncio.to_thread(mark_reply, self._plan.benchmark, sample, reply)
        if isinstance(result, Failure):
            unmarkable = Mark(verdict="unmarkable", reason=result.message)
            return Marked(reference=unmarkable, robust=unmarkable)
        return result


# ----------------------------------------------------------------------------------------------------------------------
# The file for the later commands


def solutions_of(rolled: Rolled, source: str) -> list[RolledSolution]:
    """The labelled solutions of a question, those without any step left out.

    Args:
        source: the benchmark that the question is from.
    """
    return [
        RolledSolution(
            id=f"{rolled.sample_id}#{rollout.solution}",
            sample_id=rolled.sample_id,
            group=rollout.group,
            source=source,
            question=rolled.question,
            images=rolled.images,
            gold=rolled.gold,
            steps=_steps(rollout),
            answer=rollout.answer,
            right=rollout.right,
            facets=rolled.facets,
        )
        for rollout in rolled.rollouts
        if rollout.steps
    ]


def _steps(rollout: Rollout) -> tuple[RolledStep, ...]:
    return tuple(
        RolledStep(
            text=step.step,
            successes=sum(one.right is True for one in step.completions),
            marked=sum(one.right is not None for one in step.completions),
            soft=step.soft,
            hard=step.hard,
            skipped=step.skipped,
        )
        for step in rollout.steps
    )


def _written(plan: Rolling, items: Items, store: RunStore) -> Report:
    """Write `rollouts.jsonl`; what came of the whole run."""
    collector = Collector(plan.rollouts)
    failed: dict[str, int] = {}
    rolled_ids: set[str] = set()
    for outcome in store.outcomes():
        if isinstance(outcome.result, Failure):
            failed[outcome.result.kind] = failed.get(outcome.result.kind, 0) + 1
        else:
            rolled_ids.add(outcome.sample_id)

    def solutions() -> Iterator[RolledSolution]:
        for rolled in _in_order(plan.out, (item.sample.id for item in items if item.sample.id in rolled_ids)):
            collector.add(rolled)
            yield from solutions_of(rolled, plan.benchmark.name)

    manifest = store.manifest
    settings = {
        "benchmark": manifest.benchmark,
        "split": manifest.split,
        "revision": manifest.revision,
        "model": manifest.model,
        "run": manifest.fingerprint,
        "sampling": to_builtins(manifest.sampling),
        **to_builtins(plan.rollouts),
        "continuation": plan.continuation,
        "max_steps": plan.max_steps,
    }
    written = write_records(plan.out / ROLLOUTS, "rollouts", solutions(), settings=settings)
    return Report(
        benchmark=manifest.benchmark,
        split=manifest.split,
        model=manifest.model,
        plan=plan.rollouts,
        file=str(plan.out / ROLLOUTS),
        written=written,
        asked=len(items),
        failed=dict(sorted(failed.items())),
        counts=collector.counts,
        failures=dict(sorted(collector.failures.items())),
        right=collector.verdicts[True],
        wrong=collector.verdicts[False],
        unmarked=collector.verdicts[None],
        empty=collector.empty,
        noise=collector.noise,
        sameness=collector.sameness,
        usage=store.usage(),
        notes=collector.notes(plan.sampling.temperature),
    )


class _Head(TypedDict):
    """What identifies a record; the rest of the line is skipped without being built."""

    sample_id: str
    condition: NotRequired[str]


def _in_order(folder: Path, ids: Iterator[str]) -> Iterator[Rolled]:
    """The last record of every one of these questions, in this order. Memory: one place in a file per question."""
    what = f"a record of {RECORDS}"
    head, decoder = json.Decoder(_Head), json.Decoder(Rolled)
    places: dict[str, tuple[Path, int, int]] = {}
    for path in numbered(folder, RECORDS):
        for row, offset, line in lines(path):
            places[decode_line(head, path, row, line, what=what)["sample_id"]] = (path, row, offset)
    for name in ids:
        if name not in places:
            raise DataError(str(folder), f"has an outcome of question {name} but not {what}", "Start a new run.")
        path, row, offset = places[name]
        with path.open("rb") as file:
            file.seek(offset)
            yield decode_line(decoder, path, row, file.readline(), what=what)
