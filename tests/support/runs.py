"""Doubles and records for tests of the engine: time that passes only when everybody waits, manifests, samples."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from assay.engine.store import RunStore, seal
from assay.models.base import derive_seed
from assay.types import (
    Failure,
    Manifest,
    Mark,
    Marked,
    Message,
    Outcome,
    Reply,
    Request,
    Sample,
    Sampling,
    TextPart,
    Verdict,
)

T = TypeVar("T")

_SPINS = 50  # turns of the event loop after which every task that can go on has gone on; chains in tests are shorter


class FakeTime:
    """A clock whose hands jump to the next alarm once nobody has anything else to do. Starts at 0 seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._alarms: list[tuple[float, int, asyncio.Future[None]]] = []
        self._set = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._set += 1
        heapq.heappush(self._alarms, (self.now + seconds, self._set, future))
        await future

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` while time passes."""
        task = asyncio.create_task(work)
        while True:
            turns = 0
            # Without an alarm there is nothing to jump to: only long chains of work that never sleeps, or a deadlock.
            while turns < (_SPINS if self._alarms else 100 * _SPINS):
                if task.done():
                    return await task
                await asyncio.sleep(0)
                turns += 1
            while self._alarms and self._alarms[0][2].done():
                heapq.heappop(self._alarms)
            if not self._alarms:
                task.cancel()
                raise AssertionError("everybody waits and no alarm is set")
            self.now, _, future = heapq.heappop(self._alarms)
            future.set_result(None)


def manifest(**changes: Any) -> Manifest:
    fields: dict[str, Any] = {
        "schema": 1,
        "benchmark": "quiz",
        "split": "test",
        "revision": "r1",
        "model": "scripted:quiz",
        "search": "single",
        "sampling": Sampling(),
        "seed": 7,
        "prompt_hash": "p1",
        "image_transform": "none",
        "limit": None,
        "data": "/data/quiz.jsonl",
        "fingerprint": "",
    }
    return seal(Manifest(**(fields | changes)))


def new_store(folder: Path, **changes: Any) -> RunStore:
    return RunStore.create_or_resume(folder, manifest(**changes))


def samples(count: int) -> list[Sample]:
    return [
        Sample(id=f"q{i}", question=f"Question {i}?", group=f"g{i // 2}", facets={"level": (str(i % 3),)})
        for i in range(count)
    ]


def request(text: str = "Question?", **changes: Any) -> Request:
    message = Message(role="user", parts=(TextPart(text=text),))
    return Request(messages=(message,), **changes)


def request_of(sample: Sample) -> Request:
    return request(sample.question, sample_id=sample.id, seed=derive_seed(7, sample.id, 0))


def mark_text(text: str) -> Marked:
    """Right where the reply says A; good enough to tell scores from failures."""
    verdict: Verdict = "right" if text.strip().endswith("A") else "wrong"
    mark = Mark(verdict=verdict, extraction=text.strip()[-1:])
    return Marked(reference=mark, robust=mark)


def outcome(sample_id: str, text: str = "Answer: A", **changes: Any) -> Outcome:
    fields: dict[str, Any] = {"sample_id": sample_id, "group": "g", "result": mark_text(text), "finish": "stop"}
    return Outcome(**(fields | changes))


def failed(sample_id: str) -> Outcome:
    return outcome(sample_id, result=Failure(stage="call", kind="server", message="boom"), finish=None)


Generate = Callable[[Request], Awaitable[tuple[Reply, ...]]]


def asking(generate: Generate) -> Callable[[Sample], Awaitable[Outcome]]:
    """Work that asks one question and marks the reply."""

    async def work(sample: Sample) -> Outcome:
        (reply,) = await generate(request_of(sample))
        return Outcome(
            sample_id=sample.id,
            group=sample.group,
            facets=sample.facets,
            result=mark_text(reply.text),
            finish=reply.finish,
        )

    return work
