"""Replies and outcomes that arrive in one turn of the event loop, written together.

A commit costs some 60 microseconds however much is in it, and with many calls in flight a dozen replies arrive at a
time. What is given here is written at the end of the turn, replies before outcomes.
"""

import asyncio
from collections.abc import Callable, Sequence

from assay.engine.replies import StoredReply
from assay.errors import AssayError, RunError, boundary
from assay.types import Outcome

__all__ = ["Group"]


class Group:
    """What is to be written at the end of this turn.

    Args:
        put: writes replies in one transaction.
        append: writes outcomes in one go.
    """

    def __init__(
        self, put: Callable[[Sequence[StoredReply]], None], append: Callable[[Sequence[Outcome]], None]
    ) -> None:
        self._put = put
        self._append = append
        self._replies: list[StoredReply] = []
        self._outcomes: list[Outcome] = []
        self._waiting: list[asyncio.Future[None]] = []

    async def write(self, replies: Sequence[StoredReply] = (), outcomes: Sequence[Outcome] = ()) -> None:
        """Return once these are written; others get their turn meanwhile.

        Whoever is cancelled while waiting has them written all the same.

        Raises:
            RunError: they can't be written.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self.end_turn)
        written = loop.create_future()
        self._waiting.append(written)
        self._replies += replies
        self._outcomes += outcomes
        await written

    def end_turn(self) -> None:
        """Write what is waiting; an error goes to those who wait for it."""
        replies, outcomes, waiting = self._replies, self._outcomes, self._waiting
        self._replies, self._outcomes, self._waiting = [], [], []
        problem: str | None = None
        try:
            # Whatever goes wrong, nobody may be left waiting for ever.
            with boundary(RunError, "Results can't be written"):
                if replies:
                    self._put(replies)
                if outcomes:
                    self._append(outcomes)
        except AssayError as error:
            problem = str(error)
        for written in waiting:
            if written.done():  # whoever waited was cancelled
                continue
            if problem is None:
                written.set_result(None)
            else:
                written.set_exception(RunError(problem))
