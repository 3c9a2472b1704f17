"""`Runner`: one start of a run, with everything that its callers share."""

from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from assay.engine.budget import Budget
from assay.engine.caller import Caller, Retry
from assay.engine.collector import seldom_collecting
from assay.engine.local import Finished, Item, run_samples
from assay.engine.pool import Pool
from assay.engine.progress import Progress
from assay.engine.stop import Stop
from assay.engine.store import RunStore
from assay.engine.tally import Tally
from assay.models.base import Model
from assay.types import Failure, Outcome

__all__ = ["Runner"]

T = TypeVar("T", bound=Item)


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Asks models on behalf of a run, and leads its items through their work.

    Make a caller for every model, build the work around the callers, then `run` it.

    Attributes:
        store: open for writing; stays open.
        pool: bounds the calls in flight; as many items are live at the same time as it ever lets calls be.
        budget: what the run may cost.
        retry: when failed calls are tried again.
        stop, tally: one switch and one set of counters for all callers.
    """

    store: RunStore
    pool: Pool
    budget: Budget = field(default_factory=Budget)
    retry: Retry = field(default_factory=Retry)
    stop: Stop = field(default_factory=Stop)
    tally: Tally = field(default_factory=Tally)

    def caller(self, model: Model, *, pool: Pool | None = None) -> Caller:
        """The model with the run's store, budget, switch and counters around it, and a pool that suits it.

        Args:
            pool: of a model at another endpoint; None takes the run's.
        """
        pool = pool or self.pool
        pool.suit(model)
        return Caller(
            model,
            store=self.store,
            pool=pool,
            stop=self.stop,
            tally=self.tally,
            budget=self.budget,
            retry=self.retry,
        )

    async def run(
        self,
        items: Iterable[T],
        work: Callable[[T], Awaitable[Outcome]],
        *,
        total: int,
        failed: Callable[[T, Failure], Outcome] | None = None,
        noun: str = "samples",
        progress: bool = False,
    ) -> Finished:
        """Do `work` on every item that the store does not hold yet; see `run_samples`, also for what it raises.

        Args:
            total: number of items.
            progress: show on standard error how it goes.
        """
        shown = None
        if progress:
            already = _already(items, self.store.done_ids(), total)
            shown = Progress(total=total, already=already, tally=self.tally, pool=self.pool)
        with seldom_collecting():
            async with shown or nullcontext():
                return await run_samples(
                    items,
                    work,
                    store=self.store,
                    concurrency=self.pool.maximum,
                    stop=self.stop,
                    on_outcome=shown.count if shown else None,
                    total=total,
                    failed=failed,
                    noun=noun,
                )


def _already(items: Iterable[Item], done: Set[str], total: int) -> int:
    """How many of the items an earlier start has done; the store may hold others as well.

    Items that are read one by one are not read twice for it: then as many as there may be.
    """
    return sum(item.id in done for item in items) if isinstance(items, Sequence) else min(len(done), total)
