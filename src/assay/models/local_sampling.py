"""Choosing the next token of every reply in a batch, each by its own rule and its own random numbers."""

import math
import random
from collections.abc import Sequence
from typing import Any

from assay.models.local_checkpoint import library
from assay.types import Sampling


def generator(seed: int, index: int) -> random.Random:
    """The random numbers of draw `index` of a request: the same on every machine, whatever else is in the batch."""
    return random.Random(f"{seed}/{index}")  # noqa: S311 - drawing tokens, not secrets


def choose(logits: Any, samplings: Sequence[Sampling], generators: Sequence[random.Random]) -> list[int]:
    """One token id per row of raw logits (rows x vocabulary).

    Temperature 0 takes the most likely token. Otherwise: divide by the temperature, keep the `top_k` most likely, of
    these the smallest set whose probability reaches `top_p`, and draw from what is left with one uniform number. A
    row's choice depends on its own logits, rule and generator alone.
    """
    chosen: list[int] = logits.argmax(-1).tolist()
    rows = [row for row, sampling in enumerate(samplings) if sampling.temperature > 0]
    if rows:
        uniform = [generators[row].random() for row in rows]
        drawn = _draw(logits[rows], [samplings[row] for row in rows], uniform)
        for row, token in zip(rows, drawn, strict=True):
            chosen[row] = token
    return chosen


def _draw(logits: Any, samplings: Sequence[Sampling], uniform: Sequence[float]) -> list[int]:
    torch = library("torch")
    # Sums over a large vocabulary need double precision, which Apple's accelerator lacks.
    precise = torch.float32 if logits.device.type == "mps" else torch.float64

    def column(values: Sequence[float]) -> Any:
        return torch.tensor(values, dtype=precise, device=logits.device)[:, None]

    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    ordered = ordered.to(precise)
    # Subtracted before the division, so that the smallest temperature can't overflow.
    scaled = (ordered - ordered[:, :1]) / column([sampling.temperature for sampling in samplings])
    if any(sampling.top_k or sampling.top_p < 1 for sampling in samplings):
        rank = torch.arange(scaled.shape[-1], device=logits.device)[None, :]
        kept = rank < column([sampling.top_k or scaled.shape[-1] for sampling in samplings])
        probabilities = scaled.masked_fill(~kept, -torch.inf).softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        # Without a bound nothing is left out, not even where rounding lifts the sum to 1 before the end.
        bounds = column([sampling.top_p if sampling.top_p < 1 else math.inf for sampling in samplings])
        kept &= (before < bounds) | (rank == 0)
        probabilities = probabilities.masked_fill(~kept, 0.0)
    else:  # what the above comes to, in half the time: a row's draw doesn't depend on which way its batch went
        probabilities = scaled.softmax(-1)
    cumulated = probabilities.cumsum(-1)
    threshold = column(uniform) * cumulated[:, -1:]
    place = torch.searchsorted(cumulated, threshold, right=True)
    # A threshold that rounding lifts to the total would point behind the last token that is kept.
    place = torch.minimum(place, probabilities.gt(0).sum(-1, keepdim=True) - 1)
    return order.gather(-1, place)[:, 0].tolist()
