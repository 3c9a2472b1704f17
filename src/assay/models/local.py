"""Any vision-language checkpoint through transformers, in this process.

Requests that come in at the same time are answered in one batch. Each keeps its own rule of sampling and its own
random numbers, so a reply does not depend on its company, with one exception that no batching escapes: sums of
floating-point numbers differ in the last digit between batch shapes, and a near tie may fall the other way. In float32
this is rare, in bfloat16 it is not.
"""

import asyncio
import queue
import threading
import time
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import AssayError, boundary
from assay.models.local_batch import Answerer, Ask, CheckpointError
from assay.models.local_checkpoint import Checkpoint, load_checkpoint
from assay.models.probe import PrefillPlan
from assay.types import Reply, Request, Token, Usage


@dataclass(frozen=True, kw_only=True)
class _Job:
    ask: Ask
    answer: "Future[tuple[Reply, ...]]" = field(default_factory=Future["tuple[Reply, ...]"])


class LocalModel:
    """A checkpoint that answers requests in batches, in a thread of its own.

    `Reply.tokens` hold all that was generated, thinking included, without the token that ends the reply; their texts
    together are the text before thinking was set apart. Log-probabilities are the model's own: before temperature,
    top-k and top-p. Only what a request's sampling says counts; the checkpoint's recommended settings don't.
    """

    in_process = True
    """See `assay.engine.pool.Pool.suit`."""

    def __init__(self, checkpoint: Checkpoint, *, batch_size: int | None = None, max_wait_ms: float = 10) -> None:
        """Take over a loaded checkpoint; see `open`.

        Args:
            checkpoint: from `load_checkpoint`.
            batch_size: draws that are generated together at most; None takes `roomy_batch`.
            max_wait_ms: a batch that is not full starts when nothing came for so many milliseconds, and in any case
                when its first request has waited ten times as long.

        Raises:
            UsageError: the checkpoint's chat template can't be used.
        """
        self._identity = checkpoint.identity
        self._notes = checkpoint.notes
        self._batch_size = roomy_batch(checkpoint) if batch_size is None else max(1, batch_size)
        self._wait = max_wait_ms / 1000
        self._closed = threading.Event()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._held: _Job | None = None  # came in when the batch was full
        answerer = Answerer(checkpoint, stopped=self._closed.is_set)
        # The thread alone holds the checkpoint, so that its memory is free when the thread has ended.
        self._thread = threading.Thread(target=self._work, args=(answerer,), name="assay-local", daemon=True)
        self._thread.start()

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        device: str = "auto",
        dtype: str = "auto",
        batch_size: int | None = None,
        max_wait_ms: float = 10,
        revision: str | None = None,
        trust_remote_code: bool = False,
        processor: Any | None = None,
        chat_template: str | None = None,
    ) -> "LocalModel":
        """Load a checkpoint's folder (see `load_checkpoint` for the arguments and errors) and start answering."""
        checkpoint = load_checkpoint(
            path,
            device=device,
            dtype=dtype,
            revision=revision,
            trust_remote_code=trust_remote_code,
            processor=processor,
            chat_template=chat_template,
        )
        return cls(checkpoint, batch_size=batch_size, max_wait_ms=max_wait_ms)

    @property
    def identity(self) -> str:
        """`local:`, the folder's name, a hash over its files and the chat template, and the number format."""
        return self._identity

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results must know, e.g. that the checkpoint has no vision."""
        return self._notes

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        """`request.n` replies.

        Raises:
            CallError: `too_long` for a prompt beyond the model's context, `bad_request` for one that can't be put to
                this checkpoint, `malformed` where it gave NaN, `server` where it failed or is closed.
        """
        last = request.index + request.n
        jobs = [
            _Job(ask=Ask(request=request, indices=range(first, min(first + self._batch_size, last))))
            for first in range(request.index, last, self._batch_size)
        ]
        for job in jobs:
            if self._closed.is_set():
                raise CheckpointError("The model is closed.")
            self._jobs.put(job)
        replies = [reply for job in jobs for reply in await asyncio.wrap_future(job.answer)]
        return (replies[0], *map(_without_prompt, replies[1:]))

    async def prefill_plan(self) -> PrefillPlan:
        """A prompt ends where the model is to go on, so a turn is continued without any server's leave."""
        return PrefillPlan(strategy="continue", repeats=False, seen=True)

    async def score(self, request: Request, continuation: str) -> tuple[Token, ...]:
        """The log-probability of every token of a given text, as what follows the request's prompt and prefill.

        The tokens' texts together are the text. Where its first token reaches into the prefill, that token counts as a
        whole.

        Raises:
            CallError: see `generate`.
        """
        if not continuation:
            return ()
        (reply,) = await self.generate(msgspec.structs.replace(request, given=continuation, n=1))
        return reply.tokens or ()

    async def close(self) -> None:
        """Abandon what is being generated, end the thread and free the memory."""
        self._closed.set()
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    # --------------------------------------------------------------------------------------------------
    # In the thread

    def _work(self, answerer: Answerer) -> None:
        while jobs := self._gather():
            try:
                with boundary(CheckpointError, "the checkpoint failed"):
                    answers = answerer.answer([job.ask for job in jobs])
            except AssayError as problem:
                for job in jobs:
                    _settle(job, problem)
            else:
                for job, answer in zip(jobs, answers, strict=True):
                    _settle(job, answer)
        while not self._jobs.empty():
            job = self._jobs.get()
            if job is not None:
                _settle(job, CheckpointError("The model is closed."))

    def _gather(self) -> list[_Job]:
        """Wait for a job, then a little for others to share the batch; empty when the model is closed."""
        jobs: list[_Job] = []
        draws = 0
        deadline = latest = None
        while draws < self._batch_size:
            job = self._next(deadline)
            if job is None:
                break
            if job.answer.cancelled():
                continue
            if jobs and draws + len(job.ask.indices) > self._batch_size:
                self._held = job
                break
            jobs.append(job)
            draws += len(job.ask.indices)
            now = time.monotonic()
            latest = latest or now + _PATIENCE * self._wait
            deadline = min(latest, now + self._wait)
        if self._closed.is_set():
            for job in (*jobs, self._held):
                if job is not None:
                    _settle(job, CheckpointError("The model is closed."))
            return []
        return jobs

    def _next(self, deadline: float | None) -> _Job | None:
        """The next job; None after the deadline, and when the model is closed."""
        if self._held is not None:
            job, self._held = self._held, None
            return job
        if deadline is None:
            return self._jobs.get()
        try:
            return self._jobs.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None


_PATIENCE = 10
"""Times `max_wait_ms` that a batch's first request waits at most while others keep coming."""


def roomy_batch(checkpoint: Checkpoint) -> int:
    """Draws that are best generated together: many where a step's cost is mostly that of starting it."""
    tiny = checkpoint.model.device.type == "cpu" and checkpoint.model.num_parameters() < _TINY
    return 128 if tiny else 8


_TINY = 20_000_000
"""Weights below which a checkpoint takes as long for one token of one reply as for one token each of dozens."""


def _settle(job: _Job, answer: tuple[Reply, ...] | AssayError) -> None:
    """Hand an answer over; nobody may be waiting for it any more."""
    try:
        if isinstance(answer, AssayError):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)
    except InvalidStateError:
        pass


def _without_prompt(reply: Reply) -> Reply:
    """Only the first of a request's replies carries the prompt's tokens."""
    if reply.usage is None or not reply.usage.prompt_tokens:
        return reply
    return msgspec.structs.replace(reply, usage=Usage(completion_tokens=reply.usage.completion_tokens))
