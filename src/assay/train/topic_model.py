"""A model says what questions are about, where rules won't do; see `train.topics`.

It sees the question with its pictures. What it says is kept in a run folder, so that the same command does not ask
again. A reply that names no topic and not `none` either leaves the question without a topic, and is counted.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from assay.benchmarks.prompting import fill, hash_prompts
from assay.engine.caller import Caller
from assay.engine.pool import Pool
from assay.engine.runner import Runner
from assay.engine.store import SCHEMA, RunStore, seal
from assay.errors import ImageError, RunError
from assay.images import ImageCache, Transform
from assay.judging.reading import slug
from assay.models.base import Model, derive_seed
from assay.solve.asking import inside, said
from assay.train.records import RolledSolution
from assay.train.topics import TOPICS
from assay.types import Failure, Manifest, Mark, Marked, Message, Outcome, Request, Sampling, TextPart

__all__ = ["Topics", "ask_topics", "read_topics", "topics_message"]

SAMPLING = Sampling(temperature=0.0, max_tokens=256)


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question, by the key that the filter has for it."""

    id: str
    group: str
    question: str
    images: tuple[str, ...]
    facets: dict[str, tuple[str, ...]] = {}


class Topics(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the model said: question -> topics; how many replies named none that there is, and unreadable pictures."""

    told: dict[str, frozenset[str]]
    unparsable: int
    unseen: int


def topics_message(asked: Message, question: str) -> Message:
    """What the model is asked about a question; the pictures are those of `asked`."""
    listed = "\n".join(f"{name}: {topic.about}" for name, topic in TOPICS.items())
    text = fill(_prompt(), {"topics": listed, "question": inside(question)})
    return Message(role="user", parts=(*asked.parts, TextPart(text=text)))


def read_topics(text: str) -> frozenset[str] | None:
    """The topics that a reply names; None where it names none and does not say so."""
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    names = {re.sub(r"[\s_]+", "-", part.strip(" \t.*`\"'").casefold()) for part in last.split(",")}
    if names == {"none"}:
        return frozenset()
    return frozenset(names) if names and names <= TOPICS.keys() else None


async def ask_topics(
    solutions: Iterable[tuple[str, RolledSolution]],
    model: Model,
    out: Path,
    *,
    concurrency: int = 64,
    seed: int = 0,
    progress: bool = False,
) -> Topics:
    """Have a model say what every question is about.

    Args:
        solutions: key of a question, and a solution of it; the first of each question is taken.
        out: the filter's folder.

    Raises:
        RunError: some calls failed; the same command asks for these again.
        RunStopped, RunLocked: see `engine`.
    """
    asked: dict[str, Asked] = {}
    for key, solution in solutions:
        asked.setdefault(key, Asked(id=key, group=solution.group, question=solution.question, images=solution.images))
    manifest = _manifest(model, seed)
    folder = out / "topics" / f"{slug(model.identity)}-{manifest.fingerprint[:12]}"
    with RunStore.create_or_resume(folder, manifest) as store:
        await _ask_all(list(asked.values()), model, store, concurrency=concurrency, seed=seed, progress=progress)
        outcomes = [outcome for outcome in store.outcomes() if outcome.sample_id in asked]
    failed = [outcome.result for outcome in outcomes if isinstance(outcome.result, Failure)]
    if failed:
        raise RunError(
            f"What {len(failed):,} of {len(asked):,} questions are about could not be asked; the same command asks "
            f"again. One of them: {failed[0].message}"
        )
    found = {outcome.sample_id: outcome.detail for outcome in outcomes}
    return Topics(
        told={key: frozenset(filter(None, detail["topics"].split(","))) for key, detail in found.items()},
        unparsable=sum(detail["problem"] == "unparsable" for detail in found.values()),
        unseen=sum(detail["problem"] == "image" for detail in found.values()),
    )


async def _ask_all(
    questions: Sequence[Asked], model: Model, store: RunStore, *, concurrency: int, seed: int, progress: bool
) -> None:
    runner = Runner(store=store, pool=Pool(maximum=concurrency))
    with closing(ImageCache(folder=store.path / "images")) as images:
        work = _Work(runner.caller(model), images, seed)
        await runner.run(questions, work, total=len(questions), noun="questions", progress=progress)


class _Work:
    """The model's word on one question."""

    def __init__(self, caller: Caller, images: ImageCache, seed: int) -> None:
        self._caller = caller
        self._images = images
        self._seed = seed

    async def __call__(self, item: Asked) -> Outcome:
        try:
            pictures = tuple([await self._images.get(path, Transform()) for path in item.images])
        except ImageError:  # the filter drops the question for it, by its own name
            return _outcome(item, frozenset(), "image")
        request = Request(
            messages=(topics_message(Message(role="user", parts=pictures), item.question),),
            sampling=SAMPLING,
            seed=derive_seed(self._seed, item.id, 0),
            sample_id=item.id,
        )
        (reply,) = await self._caller.generate(request)
        topics = read_topics(said(reply))
        return _outcome(item, topics or frozenset(), "unparsable" if topics is None else "")


def _outcome(item: Asked, topics: frozenset[str], problem: str) -> Outcome:
    mark = Mark(verdict="unmarkable", reason=problem or "told")
    return Outcome(
        sample_id=item.id,
        group=item.group,
        result=Marked(reference=mark, robust=mark),
        detail={"topics": ",".join(sorted(topics)), "problem": problem},
    )


@cache
def _prompt() -> str:
    return files("assay.train").joinpath("prompts", "topics.txt").read_text(encoding="utf-8")


def _manifest(model: Model, seed: int) -> Manifest:
    listed = "\n".join(f"{name}: {topic.about}" for name, topic in TOPICS.items())
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark="prm-topics",
            split="",
            revision="",
            model=model.identity,
            search="topics",
            sampling=SAMPLING,
            seed=seed,
            prompt_hash=hash_prompts({"topics": _prompt(), "listed": listed}),
            image_transform="",
            limit=None,
            data="",
            fingerprint="",
        )
    )
