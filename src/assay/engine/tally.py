"""What a run counts while it goes: for the progress line, the budget and the bill."""

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field

from assay.types import Reply, Usage


@dataclass(slots=True)
class Tally:
    """Counts over a whole process; several `Caller`s may share one.

    Attributes:
        calls: calls begun, every retry included.
        answered: calls that brought replies.
        hits, misses: draws found in the store, and not found there.
        retries: calls that failed and were tried again, by the kind of failure.
        failures: calls given up, by the kind of failure.
        prompt_tokens, completion_tokens: as the servers report them, replies from the store not included.
        unreported: replies whose tokens the server did not report.
    """

    calls: int = 0
    answered: int = 0
    hits: int = 0
    misses: int = 0
    retries: Counter[str] = field(default_factory=Counter[str])
    failures: Counter[str] = field(default_factory=Counter[str])
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unreported: int = 0

    def received(self, replies: tuple[Reply, ...]) -> Usage:
        """Count the replies of one call; return their tokens."""
        self.answered += 1
        prompt = completion = 0
        for reply in replies:
            if reply.usage is None:
                self.unreported += 1
            else:
                prompt += reply.usage.prompt_tokens
                completion += reply.usage.completion_tokens
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        return Usage(prompt_tokens=prompt, completion_tokens=completion)


@dataclass(slots=True)
class Account:
    """What one sample used.

    Attributes:
        attempts: calls begun on its behalf, retries included.
        usage: tokens of all the replies it got, from the store or not, so that a resumed run reports the same; None
            where no server reported any.
    """

    attempts: int = 0
    usage: Usage | None = None

    def used(self, reply: Reply) -> None:
        if reply.usage is None:
            return
        before = self.usage or Usage()
        self.usage = Usage(
            prompt_tokens=before.prompt_tokens + reply.usage.prompt_tokens,
            completion_tokens=before.completion_tokens + reply.usage.completion_tokens,
        )


current_account: ContextVar[Account | None] = ContextVar("current_account", default=None)
"""The account of the sample that the running coroutine works for. `run_samples` opens one for every sample; tasks that
the sample's coroutine starts inherit it."""
