"""Batches of prepared rows. Nothing is tokenized and no processor is called while a model trains."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.models.local_checkpoint import library
from assay.train.pictures import Pictures
from assay.train.preflight import Prepared

__all__ = ["WEIGHTS", "Collator"]

IGNORED = -100  # label of a token without loss, as everywhere in PyTorch
WEIGHTS = "loss_weights"
"""Name of the batch's tensor of loss weights, which the loss takes and the model never sees."""


class Collator:
    """Makes tensors of rows, shorter ones filled up on the right.

    Called with the items of a data set whose `row` is the number of a row, as a `DataLoader` does.
    """

    def __init__(self, rows: Sequence[Prepared], pictures: Pictures, pad: int) -> None:
        self._rows = rows
        self._pictures = pictures
        self._pad = pad

    def __call__(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return self.batch([self._rows[int(item["row"])] for item in items])

    def batch(self, rows: Sequence[Prepared]) -> dict[str, Any]:
        """`input_ids`, `attention_mask`, `labels`, the weights of the loss, and what the checkpoint needs besides."""
        shape = (len(rows), max(len(row.ids) for row in rows))
        ids = np.full(shape, self._pad, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        labels = np.full(shape, IGNORED, dtype=np.int64)
        weights = np.zeros(shape, dtype=np.float32)
        for at, row in enumerate(rows):
            length = len(row.ids)
            ids[at, :length] = row.ids
            mask[at, :length] = 1
            labels[at, row.start : length] = row.ids[row.start :]
            weights[at, row.start : length] = 1 if row.weights is None else row.weights
        arrays: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "labels": labels, WEIGHTS: weights}
        arrays.update(_positions(rows, shape) if rows[0].positions is not None else _types(rows, shape))
        from_numpy: Any = library("torch").from_numpy
        batch = {name: from_numpy(array) for name, array in arrays.items()}
        return batch | self._pictures.tensors([path for row in rows for path in row.row.images])


def _positions(rows: Sequence[Prepared], shape: tuple[int, int]) -> dict[str, Any]:
    positions = np.zeros((3, *shape), dtype=np.int64)
    for at, row in enumerate(rows):
        if row.positions is not None:
            positions[:, at, : len(row.ids)] = row.positions
    return {"position_ids": positions}


def _types(rows: Sequence[Prepared], shape: tuple[int, int]) -> dict[str, Any]:
    """Further values per token. Rows without a picture have none, which is 0 for each of their tokens."""
    names = {name for row in rows for name in row.types}
    found = {name: np.zeros(shape, dtype=np.int64) for name in sorted(names)}
    for at, row in enumerate(rows):
        for name, values in row.types.items():
            found[name][at, : len(values)] = values
    return found
