"""What the pre-flight says: a table of a file's rows, the rows that are refused, and one row with its mask."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from assay.errors import DataError
from assay.train.preflight import Found, Prepared

__all__ = ["Overview", "overview", "padding_line", "settle", "shown", "steps_of", "table"]

_SHOWN = 5  # rows that a message lists
_DROPPABLE = "too long"


class Overview(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counts over the rows of a file; `tokens` and what it says of them are of all rows together.

    `weighted`: tokens of verdicts that weigh more or less than others; 0 where all tokens weigh 1.
    """

    rows: int
    dropped: int
    with_pictures: int
    tokens: int
    median: int
    p95: int
    longest: int
    picture_tokens: int
    trained: int
    weighted: int


def settle(name: str, found: Found, *, drop_long: bool) -> list[str]:
    """Refuse a file with rows that can't be trained on; what was dropped, one line for each kind of problem.

    Args:
        name: of the file, for the message.
        drop_long: rows that are too long are left out rather than refused.

    Raises:
        DataError: there are others, or no row is left.
    """
    dropped: list[str] = []
    for kind, rows in found.refused.items():
        listed = ", ".join(rows[:_SHOWN]) + (f" and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else "")
        if kind == _DROPPABLE and drop_long:
            dropped.append(f"{name}: {len(rows):,} rows dropped, {kind}: {listed}")
            continue
        remedy = "Mend or remove them."
        if kind == _DROPPABLE:
            remedy = "Raise max_length, scale pictures down with max_pixels, or leave such rows out with --drop-long."
        raise DataError(name, f"{len(rows):,} of its rows can't be trained on, {kind}: {listed}", remedy)
    if not found.rows:
        raise DataError(name, "no row is left to train on", "Give rows.")
    return dropped


def overview(found: Found) -> Overview:
    """The counts of a file that holds at least one row."""
    lengths = np.array([len(row.ids) for row in found.rows])
    return Overview(
        rows=len(found.rows),
        dropped=sum(map(len, found.refused.values())),
        with_pictures=sum(bool(row.row.images) for row in found.rows),
        tokens=int(lengths.sum()),
        median=int(np.median(lengths)),
        p95=int(np.quantile(lengths, 0.95)),
        longest=int(lengths.max()),
        picture_tokens=sum(row.pictures for row in found.rows),
        trained=sum(row.trained for row in found.rows),
        weighted=sum(int((row.weights != 1).sum()) for row in found.rows if row.weights is not None),
    )


def steps_of(rows: int, *, batch: int, accumulate: int, epochs: float, processes: int = 1) -> int:
    """Optimizer steps of a run; the last ones of an epoch may be smaller."""
    batches = math.ceil(rows / (batch * processes))
    return math.ceil(math.ceil(batches / accumulate) * epochs)


def table(parts: dict[str, Overview], *, steps: int, verdict_weight: float = 1.0) -> str:
    """The counts as text, one column for each file; tokens of verdicts only where they have a weight of their own."""
    names = ("rows", "  dropped", "  with pictures", "tokens", "  a row: median", "  a row: 95th percentile")
    names += ("  a row: longest", "  of pictures", "  trained on")
    columns = [(name, *_column(part)) for name, part in parts.items()]
    cells = list(zip(("", *names), *columns, strict=True))
    if verdict_weight != 1:
        weighted = (f"{part.weighted:,}" for part in parts.values())
        cells.append((f"  of verdicts, weight {verdict_weight:g}", *weighted))
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    text = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in cells
    ]
    return "\n".join([*text, f"{'steps'.ljust(widths[0])}  {steps:,}"])


def _column(part: Overview) -> list[str]:
    counts = (part.rows, part.dropped, part.with_pictures, part.tokens, part.median, part.p95, part.longest)
    trained = f"{part.trained:,} ({part.trained / part.tokens:.1%})"
    return [*(f"{count:,}" for count in (*counts, part.picture_tokens)), trained]


def padding_line(shares: dict[bool, float], *, grouped: bool) -> str:
    """What is computed for nothing, as the run draws its rows, and as it might.

    Args:
        shares: without (False) and with (True) `group_by_length`, from 0 to 1.
        grouped: what the run does.
    """
    words = {False: "without group_by_length", True: "with group_by_length"}
    return f"padding: {shares[grouped]:.1%} of the first epoch's tokens; {words[not grouped]} {shares[not grouped]:.1%}"


def shown(row: Prepared, tokenizer: Any) -> str:
    """One row as the model reads it, with what the loss falls on between ⟦ and ⟧, and `×3` behind a heavier token."""
    pieces: list[str] = []
    run = 0
    for at, token in enumerate(row.ids[: row.start].tolist()):
        # A picture is hundreds of the same token.
        run = run + 1 if at and token == row.ids[at - 1] else 1
        if run <= 2:
            pieces.append(_text(tokenizer, [token]))
        elif at + 1 == row.start or row.ids[at + 1] != token:
            pieces.append(f"… {run} times")
    weights: Sequence[float] = [1.0] * row.trained if row.weights is None else row.weights.tolist()
    return "".join(pieces) + "⟦" + _trained(row.ids[row.start :].tolist(), weights, tokenizer) + "⟧"


def _trained(ids: list[int], weights: Sequence[float], tokenizer: Any) -> str:
    pieces: list[str] = []
    start = 0
    for at in range(1, len(ids) + 1):
        if at == len(ids) or weights[at] != weights[start]:
            mark = "" if weights[start] == 1 else f"×{weights[start]:g}"
            pieces.append(_text(tokenizer, ids[start:at]) + mark)
            start = at
    return "".join(pieces)


def _text(tokenizer: Any, ids: list[int]) -> str:
    return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
