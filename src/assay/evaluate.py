"""The driver: benchmark x model -> a run on disk. Plan, run, record; everything else lives elsewhere."""

import asyncio
import platform
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec import json, structs

from assay.benchmarks.base import Benchmark, Dataset, Source, mark_at_once, mark_reply
from assay.benchmarks.conditions import Asked, Items, OtherPictures, Question, check_conditions, prompt_hash
from assay.benchmarks.subset import parse_where, subset
from assay.engine.budget import Budget, Price
from assay.engine.caller import Retry
from assay.engine.local import Finished
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, seal
from assay.errors import DataError, ImageError, UsageError
from assay.images import ImageCache, Transform
from assay.models.base import Model, derive_seed, request_key
from assay.solve.critic import Critic
from assay.solve.plan import TEMPERATURE, SearchPlan
from assay.solve.policy import Policy
from assay.solve.running import Searching
from assay.types import PLAIN, Condition, ImagePart, Manifest, Outcome, Request, Sample, Sampling

Wrap = Callable[[Model], Model]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run.

    Attributes:
        benchmark, source: the questions.
        model: who is asked.
        out: the run folder; an unfinished run of the same plan is continued there.
        sampling: None takes the benchmark's published parameters.
        transform: None takes the benchmark's published image step.
        seed: the run's seed; every request's seed is derived from it.
        limit: only the first so many samples; None for all.
        where: conditions `FACET=VALUE` that the samples meet (see `benchmarks.subset`).
        conditions: how every sample is asked (see `benchmarks.conditions`); the plain condition is among them. None:
            that one alone.
        concurrency: most calls in flight; the engine finds out how many the endpoint takes.
        max_tokens, max_cost, price: the budget (see `engine.budget`).
        retry: when failed calls are tried again.
        environment: further facts to be recorded in the manifest (the probe's findings).
        search: how the answer to a sample is searched for; None takes the one reply to its question. Sampling without
            a temperature of its own then has that of `solve.plan.TEMPERATURE`.
        critic: makes the search's critic. It is given what to put around the critic's model, so that the replies are
            kept and its calls retried: `lambda wrap: GenerativeCritic(wrap(model))`.
    """

    benchmark: Benchmark
    source: Source
    model: Model
    out: Path
    sampling: Sampling | None = None
    transform: Transform | None = None
    seed: int = 0
    limit: int | None = None
    where: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    concurrency: int = 64
    budget: Callable[[RunStore], Budget] = field(default=lambda _store: Budget())
    retry: Retry = field(default_factory=Retry)
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    search: SearchPlan | None = None
    critic: Callable[[Wrap], Critic] | None = None


def budget_of(
    *, max_tokens: int | None = None, max_cost: Any = None, price: Price | None = None
) -> Callable[[RunStore], Budget]:
    """A plan's budget; what earlier starts of the run have used counts.

    Raises:
        UsageError: a limit that can't be watched, such as one on money without a price.
    """
    Budget(max_tokens=max_tokens, max_cost=max_cost, price=price)  # refused here, before a run is started
    return lambda store: Budget(max_tokens=max_tokens, max_cost=max_cost, price=price, spent=store.usage())


def manifest_of(plan: Plan, dataset: Dataset) -> Manifest:
    """What the run is, sealed with its fingerprint."""
    conditions = check_conditions(plan.benchmark, plan.conditions)
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark=plan.benchmark.name,
            split=dataset.split,
            revision=dataset.revision,
            model=plan.model.identity,
            search=_search_text(plan),
            sampling=_sampling(plan),
            seed=plan.seed,
            prompt_hash=prompt_hash(plan.benchmark, conditions),
            image_transform=json.encode(plan.transform or plan.benchmark.transform).decode(),
            limit=plan.limit,
            data=str(plan.source.data) if plan.source.data else "",
            fingerprint="",
            where=parse_where(plan.where),
            conditions=() if conditions == (PLAIN,) else tuple(condition.name for condition in conditions),
            reading=plan.source.reading,
            environment=plan.environment | environment(plan.concurrency) | {"samples": _samples(plan, dataset)},
        )
    )


async def evaluate(plan: Plan, *, dataset: Dataset | None = None, progress: bool = False) -> Finished:
    """Ask the model every question that the run does not hold yet, mark, and record.

    Args:
        dataset: the plan's data where the caller has opened it already, down to the samples that meet `plan.where`.
        progress: show on standard error how it goes.

    Raises:
        DataError: the data can't be asked (a split without question texts), or can't be used at all.
        RunMismatch, RunLocked, RunError: see `engine.store`.
        RunStopped: the run ended early; what is finished is kept.
    """
    if dataset is None:
        dataset = subset(plan.benchmark.open(plan.source), plan.where)
    _check_askable(plan.benchmark, dataset)
    _check_search(plan)
    items = Items(dataset, check_conditions(plan.benchmark, plan.conditions), plan.limit)
    with RunStore.create_or_resume(plan.out, manifest_of(plan, dataset)) as store:
        runner = Runner(store=store, pool=Pool(maximum=plan.concurrency), budget=plan.budget(store), retry=plan.retry)
        with closing(ImageCache(folder=plan.out / "images")) as images:
            return await runner.run(
                items,
                _searching(plan, dataset, runner, images) if plan.search else _asking(plan, dataset, runner, images),
                total=len(items),
                failed=lambda asked, failure: Question(plan.benchmark, asked, plan.seed).outcome(failure),
                progress=progress,
            )


def _samples(plan: Plan, dataset: Dataset) -> int:
    return len(dataset) if plan.limit is None else min(plan.limit, len(dataset))


def _asking(plan: Plan, dataset: Dataset, runner: Runner, images: ImageCache) -> Callable[[Asked], Any]:
    """One reply for a sample under a condition, marked."""
    benchmark, caller = plan.benchmark, runner.caller(plan.model)
    sampling = _sampling(plan)
    pictures_of = _showing(plan, dataset, images)

    async def work(asked: Asked) -> Outcome:
        question = Question(benchmark, asked, plan.seed)
        draw = asked.condition.repeat
        request = Request(
            messages=question.messages(await pictures_of(asked)),
            sampling=sampling,
            seed=derive_seed(plan.seed, asked.sample.id, draw),
            index=draw,
            sample_id=asked.sample.id,
        )
        (reply,) = await caller.generate(request)
        result = mark_at_once(benchmark, question.sample, reply)
        if result is None:
            result = await asyncio.to_thread(mark_reply, benchmark, question.sample, reply)
        return question.outcome(result, reply=reply, key=request_key(caller.identity, request, draw))

    return work


def _check_search(plan: Plan) -> None:
    if plan.search is None:
        if plan.critic is not None:
            raise UsageError("A critic is asked in a search. Choose one with --search.")
        return
    if plan.conditions not in ((), (PLAIN,)):
        raise UsageError("A search is run under the plain condition alone. Leave the other conditions out.")


def _search_text(plan: Plan) -> str:
    """The search as the manifest has it: `greedy`, or its plan as JSON."""
    if plan.search is None:
        return "greedy"
    return plan.search.completed(plan.critic(_as_it_is) if plan.critic else None).text()


def _as_it_is(model: Model) -> Model:
    return model


def _sampling(plan: Plan) -> Sampling:
    if plan.sampling is not None:
        return plan.sampling
    own = plan.benchmark.sampling
    return structs.replace(own, temperature=TEMPERATURE) if plan.search else own


def _searching(plan: Plan, dataset: Dataset, runner: Runner, images: ImageCache) -> Callable[[Asked], Any]:
    """The pool of a sample, and its choice from it."""
    if plan.search is None:
        raise ValueError("a search needs a plan")
    caller = runner.caller(plan.model)

    def wrap(model: Model) -> Model:
        """The critic's model with the run's store, budget and switch; with its calls bounded as the policy's are."""
        return caller if model is plan.model else runner.caller(model, pool=Pool(maximum=plan.concurrency))

    search = plan.search
    policy = Policy(caller, sampling=_sampling(plan), continuation=search.continuation, max_steps=search.max_steps)
    return Searching(
        search,
        policy,
        plan.critic(wrap) if plan.critic else None,
        benchmark=plan.benchmark,
        seed=plan.seed,
        pictures_of=_showing(plan, dataset, images),
        store=runner.store,
    )


def _showing(plan: Plan, dataset: Dataset, images: ImageCache) -> Callable[[Asked], Any]:
    """The prepared pictures that a condition shows with a sample."""
    transform = plan.transform or plan.benchmark.transform
    others = None
    if any(condition.picture == "other" for condition in plan.conditions):
        others = OtherPictures(dataset, plan.seed)

    async def own(sample: Sample) -> list[ImagePart]:
        return [await images.get(path, transform) for path in sample.images]

    async def other(sample: Sample, others: OtherPictures) -> list[ImagePart]:
        taken = {part.key for part in await own(sample)}
        found: list[ImagePart] = []
        for path in others.candidates(sample):
            if len(found) == len(sample.images):
                break
            try:
                part = await images.get(path, transform)
            except ImageError:  # that sample's failure, not this one's
                continue
            if part.key not in taken:  # two files may hold one picture
                taken.add(part.key)
                found.append(part)
        if len(found) < len(sample.images):
            raise others.none_left(sample)
        return found

    async def show(asked: Asked) -> list[ImagePart]:
        if asked.condition.picture == "none":
            return []
        if others is not None and asked.condition.picture == "other":
            return await other(asked.sample, others)
        return await own(asked.sample)

    return show


def _check_askable(benchmark: Benchmark, dataset: Dataset) -> None:
    for sample in dataset:
        if not sample.question:
            raise DataError(
                f"{benchmark.name}, split {dataset.split}",
                f"sample {sample.id} has no question text, so it can be scored but not asked",
                "Give the data with its questions, or another split.",
            )
        return  # a split either has texts or has none


def marked_by() -> dict[str, Any]:
    """Whose rules a mark made now follows: this package's version, and its commit in a checkout."""
    return {"assay": version("assay"), "commit": _commit()}


def version_note(manifest: Manifest) -> tuple[str, ...]:
    """Says so where a run holds marks of another version than the one that is running now.

    A resumed run keeps the marks of the samples that were done, so that its numbers may mix two sets of rules.
    """
    now = marked_by()
    then = {name: manifest.environment.get(name) for name in now} | manifest.environment.get("marked_again_by", {})
    if then == now:
        return ()
    named = " and ".join(" ".join(filter(None, (one["assay"], one["commit"]))) for one in (then, now))
    note = f"Versions {named} of assay made this run's marks, and may follow different rules."
    return (f"{note} `assay score RUN --save` marks all of it again.",)


def environment(concurrency: int) -> dict[str, Any]:
    """Recorded, never compared: what may explain a difference between two runs of one plan."""
    return {
        **marked_by(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in ("aiohttp", "math-verify", "msgspec", "numpy", "pillow")},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "concurrency": concurrency,
    }


def _commit() -> str | None:
    """The commit of a checkout that this package runs from; None for an installed package."""
    folder = Path(__file__).resolve().parent
    if not (folder.parents[1] / ".git").exists():
        return None
    done = subprocess.run(  # noqa: S603
        ["git", "-C", str(folder), "describe", "--always", "--dirty"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None
