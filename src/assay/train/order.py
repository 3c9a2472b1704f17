"""The order in which rows are drawn, and what filling up their batches costs.

A batch is as long as its longest row; what shorter rows lack is filled up, and computed for nothing. Rows of like
length in one batch lack little. They are looked for among rows that are drawn one after another anyway, a pool:

    an epoch's rows in random order      | pool                   | pool                   | ... | rest |
    each pool by length, cut into steps  | step | step | step     | ...
    a pool's steps in random order       | step | step | step     | ...                          | rest |

What is grouped are steps, and the batches of a step come in order of length. So the order depends on how many rows make
a step, and not on how these are spread over batches and processes: eight batches of one train as one batch of eight.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from assay.models.local_checkpoint import library

__all__ = ["Order", "grouped", "padding_share"]

Integers = NDArray[np.int64]

_POOL = 2048  # rows among which those of like length are looked for
_POOLS = 4  # an epoch has at least so many, so that a row has other companions in the next one


class Order:
    """Which row comes when, for every epoch: what a `DataLoader` takes as its sampler.

    transformers has a sampler by length (5.24). It draws from PyTorch's common random numbers, so that a run that goes
    on amid its second epoch gets another order; it groups otherwise for two processes than for one; the batches of its
    pools come from the longest to the shortest; and always the shortest rows are left for the last, smaller step.

    Args:
        lengths: tokens of every row.
        step: rows of one optimizer step, over all batches and processes.
        seed: of the run.
        by_length: whether rows of like length come together.
    """

    def __init__(self, lengths: Integers, *, step: int, seed: int, by_length: bool) -> None:
        self._lengths = lengths
        self._step = step
        self._seed = seed
        self._by_length = by_length
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch, from 0, is drawn next."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows(self._epoch).tolist())

    def rows(self, epoch: int) -> Integers:
        """The numbers of an epoch's rows, every row once."""
        torch = library("torch")
        # Without grouping the order is accelerate's (SeedableRandomSampler).
        chance = torch.Generator().manual_seed(self._seed + epoch)

        def shuffled(count: int) -> Integers:
            return torch.randperm(count, generator=chance).numpy()

        drawn = shuffled(len(self._lengths))
        return grouped(drawn, self._lengths, self._step, shuffled) if self._by_length else drawn

    def padding_share(self, epoch: int, *, batch: int, processes: int = 1) -> float:
        """Share of an epoch's tokens that only fill up shorter rows: see the function of this name."""
        return padding_share(self.rows(epoch), self._lengths, batch=batch, processes=processes)


def grouped(drawn: Integers, lengths: Integers, step: int, shuffled: Callable[[int], Integers]) -> Integers:
    """An epoch's rows, steps of rows of like length one after another.

    The rest, which is no whole step, stays at the end with the rows that it has. Each step counts alike, so that its
    rows weigh more than others: it had better not be the same ones every time, the shortest or the longest.

    Args:
        drawn: the rows in random order.
        lengths: tokens of every row, by its number.
        step: rows of a step.
        shuffled: the numbers below its argument in random order.
    """
    whole = len(drawn) // step
    pool = max(1, min(whole // _POOLS, _POOL // step)) * step
    pieces: list[Integers] = []
    for start in range(0, whole * step, pool):
        steps = _by_length(drawn[start : min(start + pool, whole * step)], lengths).reshape(-1, step)
        pieces.append(steps[shuffled(len(steps))].ravel())
    return np.concatenate([*pieces, _by_length(drawn[whole * step :], lengths)])


def _by_length(rows: Integers, lengths: Integers) -> Integers:
    """The longest first; rows of the same length stay in the order that they have."""
    return rows[np.argsort(-lengths[rows], kind="stable")]


def padding_share(drawn: Integers, lengths: Integers, *, batch: int, processes: int = 1) -> float:
    """Share of an epoch's tokens, from 0 to below 1, that only fill up shorter rows.

    Args:
        drawn: the rows in the order in which they are drawn.
        lengths: tokens of every row, at least 1, by its number.
        batch: rows that one process handles together; the last batch may be smaller.
        processes: of several, each gets as many whole batches, the last ones with rows from the epoch's beginning.
    """
    tokens = lengths[drawn].astype(np.int64)
    if processes > 1:
        tokens = np.resize(tokens, -(-len(tokens) // (batch * processes)) * batch * processes)
    starts = np.arange(0, len(tokens), batch)
    rows = np.diff(starts, append=len(tokens))
    return 1 - float(tokens.sum() / (np.maximum.reduceat(tokens, starts) * rows).sum())
