"""A teacher writes the critique of every solution, in the form in which the critic will write it.

    rollouts -> teacher -> parsed | unparsable | truncated | refused | failed -> critiques.jsonl

The teacher gets what the critic will get at test time (`solve.generative.critique_message`) and, unless it is to judge
blind, the right answer in a part of its own behind it. GM-PRM says that GPT-4o wrote the critiques, and neither how it
was asked nor whether it saw the answer: the prompt and both ways are ours.

A reply that can't be read, was cut, or is a refusal is asked for again with another seed, a bounded number of times; at
temperature 0 with `retry_temperature`, since another seed alone would bring the same text. A call that failed is the
engine's to retry; a picture that can't be read fails its solution and nothing else.

    DIR/critiques.jsonl               one `TeacherCritique` per teacher and solution; written when all are there
    DIR/teachers/NAME-FINGERPRINT/    a run folder for every teacher, with its replies: a stopped command goes on there
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, json, structs, to_builtins

from assay.engine.budget import Budget
from assay.engine.caller import Caller, Retry
from assay.engine.lines import lines
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, seal
from assay.errors import CallError, DataError, ImageError, UsageError
from assay.images import ImageCache, Transform
from assay.judging.reading import slug
from assay.models.base import Model, derive_seed
from assay.solve.asking import said, total
from assay.train.files import sha256_of, write_records
from assay.train.records import RolledSolution, TeacherCritique, TeacherStatus
from assay.train.teacher import Counting, TeacherCounts, prompt_hash, read_reply, teacher_message
from assay.train.visualprm import read_rollouts
from assay.types import Failure, Manifest, Mark, Marked, Message, Outcome, Reply, Request, Sampling, TextPart, Usage

__all__ = ["CRITIQUES", "LabelPlan", "TeacherCounts", "label"]

CRITIQUES = "critiques.jsonl"
"""Name of the result in the command's folder."""

SAMPLING = Sampling(temperature=0.0, max_tokens=4096)
"""Of a teacher's first try (ours)."""

_RECORDS = "critiques"


@dataclass(frozen=True, kw_only=True)
class LabelPlan:
    """What is to be labelled, and how.

    Attributes:
        source: the rollouts, see `read_rollouts`.
        out: the command's folder.
        with_gold: whether teachers are shown the right answer.
        retries: further tries after a reply that is no critique.
        sampling: of the first try.
        retry_temperature: of further tries, where the first one's is lower.
        transform: how pictures are prepared.
        seed: the run's; every try's seed is derived from it.
        limit: only the first so many solutions. A later start may take more: a critique does not depend on it.
        concurrency: most calls in flight.
        max_tokens: the budget, for all teachers and all starts together.
        retry: when failed calls are tried again.
        on_odd: told, once, of rows that are no solutions, which are then left out; None makes the first an error.
    """

    source: Path
    out: Path
    with_gold: bool = True
    retries: int = 2
    sampling: Sampling = SAMPLING
    retry_temperature: float = 0.7
    transform: Transform = field(default_factory=Transform)
    seed: int = 0
    limit: int | None = None
    concurrency: int = 64
    max_tokens: int | None = None
    retry: Retry = field(default_factory=Retry)
    on_odd: Callable[[DataError], None] | None = None

    def solutions(self, *, tell: bool = False) -> Iterator[RolledSolution]:
        """The solutions, read afresh; with `tell` the odd rows are told of, else left out without another word."""
        on_odd = self.on_odd if tell or self.on_odd is None else _said_before
        return islice(read_rollouts(self.source, on_odd=on_odd), self.limit)


def _said_before(_: DataError) -> None:
    """Nothing more to say of it."""


async def label(plan: LabelPlan, teachers: Sequence[Model], *, progress: bool = False) -> tuple[TeacherCounts, ...]:
    """Have every teacher criticise every solution, one teacher after the other, and write `critiques.jsonl`.

    Raises:
        UsageError: no teacher, two of one identity, a negative number of retries.
        DataError: rollouts that can't be read, or two solutions with one id.
        RunLocked, RunError: see `engine.store`.
        RunStopped: it ended early; what the teachers have said is kept.
    """
    _check(plan, teachers)
    count = _count(plan)
    digest = sha256_of(plan.source, suffixes=(".jsonl", ".parquet"))
    manifests = {teacher.identity: _manifest(plan, teacher, digest) for teacher in teachers}
    folders = {name: _folder(plan.out, manifest) for name, manifest in manifests.items()}
    budget = Budget(max_tokens=plan.max_tokens, spent=_spent(folders.values()))
    for teacher in teachers:
        with RunStore.create_or_resume(folders[teacher.identity], manifests[teacher.identity]) as store:
            await _ask_all(plan, teacher, store, budget, count=count, progress=progress)
    tallies = {teacher.identity: Counting(teacher.identity) for teacher in teachers}
    records = (
        tallies[name].counted(critique) for name, folder in folders.items() for critique in _said(plan, name, folder)
    )
    write_records(plan.out / CRITIQUES, "critiques", records, settings=_settings(plan, manifests, digest))
    return tuple(tally.counts() for tally in tallies.values())


def _check(plan: LabelPlan, teachers: Sequence[Model]) -> None:
    if not teachers:
        raise UsageError("Nobody is there to label: name a teacher.")
    if plan.retries < 0:
        raise UsageError(f"A reply can't be asked for again {plan.retries} times.")
    twice = [name for name, times in Counter(teacher.identity for teacher in teachers).items() if times > 1]
    if twice:
        raise UsageError(f"{twice[0]} is named as a teacher twice. Critiques of equal teachers can't be told apart.")


def _count(plan: LabelPlan) -> int:
    """How many solutions there are; all are read before anything is paid."""
    count = sum(1 for _ in plan.solutions(tell=True))
    if not count:
        raise DataError(str(plan.source), "there are no solutions in it", "Give a file of rollouts.")
    return count


def _spent(folders: Iterable[Path]) -> Usage:
    """Tokens of earlier starts, of all teachers together."""
    prompt = completion = 0
    for folder in folders:
        if (folder / "manifest.json").exists():
            with RunStore.open(folder) as store:
                used = store.usage()
            prompt, completion = prompt + used.prompt_tokens, completion + used.completion_tokens
    return Usage(prompt_tokens=prompt, completion_tokens=completion)


# ----------------------------------------------------------------------------------------------------------------------
# The run


def _manifest(plan: LabelPlan, teacher: Model, digest: str) -> Manifest:
    search = {"with_gold": plan.with_gold, "retries": plan.retries, "retry_temperature": plan.retry_temperature}
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark="prm-label",
            split="",
            revision=digest,
            model=teacher.identity,
            search=json.encode(search).decode(),
            sampling=plan.sampling,
            seed=plan.seed,
            prompt_hash=prompt_hash(with_gold=plan.with_gold),
            image_transform=json.encode(plan.transform).decode(),
            limit=None,  # see `LabelPlan.limit`
            data=f"rollouts {digest}",
            fingerprint="",
        )
    )


def _folder(out: Path, manifest: Manifest) -> Path:
    """Changed settings are another folder, so that critiques of both stay."""
    return out / "teachers" / f"{slug(manifest.model)}-{manifest.fingerprint[:12]}"


def _settings(plan: LabelPlan, manifests: dict[str, Manifest], digest: str) -> dict[str, Any]:
    return {
        "rollouts": plan.source.name,
        "rollouts_sha256": digest,
        "teachers": list(manifests),
        "with_gold": plan.with_gold,
        "retries": plan.retries,
        "retry_temperature": plan.retry_temperature,
        "sampling": to_builtins(plan.sampling),
        "transform": to_builtins(plan.transform),
        "seed": plan.seed,
        "limit": plan.limit,
        "prompt_hash": prompt_hash(with_gold=plan.with_gold),
    }


@dataclass(frozen=True)
class _Item:
    """A solution as the engine wants its work."""

    solution: RolledSolution

    @property
    def id(self) -> str:
        return self.solution.id

    @property
    def group(self) -> str:
        return self.solution.group

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        return {}


class _Kept(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A critique as the run folder has it; `sample_id` is the solution's id."""

    sample_id: str
    critique: TeacherCritique


async def _ask_all(
    plan: LabelPlan, teacher: Model, store: RunStore, budget: Budget, *, count: int, progress: bool
) -> None:
    """One teacher, all solutions that the store does not hold."""
    runner = Runner(store=store, pool=Pool(maximum=plan.concurrency), budget=budget, retry=plan.retry)
    with closing(ImageCache(folder=store.path / "images")) as images:
        work = _Work(plan, runner.caller(teacher), store, images)
        await runner.run(map(_Item, plan.solutions()), work, total=count, noun="solutions", progress=progress)


class _Work:
    """One teacher's work on one solution."""

    def __init__(self, plan: LabelPlan, caller: Caller, store: RunStore, images: ImageCache) -> None:
        self._plan = plan
        self._caller = caller
        self._store = store
        self._images = images

    async def __call__(self, item: _Item) -> Outcome:
        solution = item.solution
        replies: list[Reply] = []
        failure: Failure | None = None
        try:
            if solution.steps:
                await self._ask(solution, replies)
            else:
                failure = Failure(stage="prompt", kind="empty", message="the solution has no steps")
        except CallError as error:
            failure = Failure(stage="call", kind=error.kind, message=str(error))
        except ImageError as error:
            failure = Failure(stage="image", kind=error.kind, message=str(error))
        critique = self._critique(solution, replies, failure)
        self._store.record(_RECORDS, _Kept(sample_id=solution.id, critique=critique))
        # There is nothing to compare a critique with: the mark says that the work is done, and what came of it.
        mark = Mark(verdict="unmarkable", reason=critique.status)
        return Outcome(
            sample_id=solution.id, group=solution.group, result=failure or Marked(reference=mark, robust=mark)
        )

    async def _ask(self, solution: RolledSolution, replies: list[Reply]) -> None:
        """Ask until there is a critique or no try is left; every reply goes to `replies`."""
        plan = self._plan
        pictures = [await self._images.get(path, plan.transform) for path in solution.images]
        asked = Message(role="user", parts=(*pictures, TextPart(text=solution.question)))
        message = teacher_message(asked, [step.text for step in solution.steps], gold=self._gold(solution))
        for attempt in range(plan.retries + 1):
            sampling = plan.sampling
            if attempt and sampling.temperature < plan.retry_temperature:
                sampling = structs.replace(sampling, temperature=plan.retry_temperature)
            request = Request(
                messages=(message,),
                sampling=sampling,
                seed=derive_seed(plan.seed, solution.id, attempt),
                index=attempt,
                sample_id=solution.id,
            )
            replies += await self._caller.generate(request)
            if read_reply(replies[-1], len(solution.steps))[0] == "parsed":
                return

    def _gold(self, solution: RolledSolution) -> str:
        return solution.gold.strip() if self._plan.with_gold else ""

    def _critique(self, solution: RolledSolution, replies: Sequence[Reply], failure: Failure | None) -> TeacherCritique:
        status: TeacherStatus
        if failure is not None:
            status, written, reason = "failed", None, f"{failure.stage} ({failure.kind}): {failure.message}"
        else:
            status, written, reason = read_reply(replies[-1], len(solution.steps))
        return TeacherCritique(
            solution_id=solution.id,
            teacher=self._caller.identity,
            with_gold=bool(self._gold(solution)),
            # A call that brought no reply is a try as well.
            attempts=len(replies) + (failure is not None and failure.stage == "call"),
            status=status,
            critique=written,
            text=said(replies[-1]) if replies else "",
            reason=reason,
            usage=total(replies),
        )


# ----------------------------------------------------------------------------------------------------------------------
# The result


def _said(plan: LabelPlan, teacher: str, folder: Path) -> Iterator[TeacherCritique]:
    """A teacher's critiques in the order of the solutions, whatever the order in which they came.

    Memory: an id and a number for each, never the critiques.
    """
    decoder = json.Decoder(_Kept)
    path = folder / f"{_RECORDS}-0.jsonl"
    places: dict[str, int] = {}
    if path.exists():
        for _, offset, line in lines(path):  # the last one of an id counts: a resume asks again what failed
            places[decoder.decode(line).sample_id] = offset
    with RunStore.open(folder) as store:
        failures = {
            outcome.sample_id: outcome.result.message
            for outcome in store.outcomes()
            if isinstance(outcome.result, Failure) and outcome.sample_id not in places
        }
    with path.open("rb") if places else nullcontext() as file:
        for solution in plan.solutions():
            if file is not None and solution.id in places:
                file.seek(places[solution.id])
                yield decoder.decode(file.readline()).critique
            else:  # a fault of ours, which the engine has reported
                yield TeacherCritique(
                    solution_id=solution.id,
                    teacher=teacher,
                    with_gold=plan.with_gold,
                    attempts=0,
                    status="failed",
                    reason=f"internal: {failures.get(solution.id, 'there is no record')}",
                )
