"""Numbers that others published, kept as data, and what keeps them from being compared with yours.

They are shown beside a run, labelled as published, and never enter a ranking: prompts, endpoints and model versions
behind them are not known well enough.
"""

import tomllib
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

from assay.mark.summary import OnMissing

__all__ = [
    "NOT_RANKED",
    "PublishedColumn",
    "PublishedRow",
    "PublishedTable",
    "comparability",
    "published",
    "published_table",
]

Whole = Literal["accuracy", "finscore", "mean_of_columns"]

NOT_RANKED = "Published rows are not part of any ranking: prompts, model versions and servers behind them may differ."


class PublishedRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published model: metric -> value in the table's unit, as printed, and who printed it.

    `correct` is the count behind the accuracy, where one was published.
    """

    model: str
    metrics: dict[str, float]
    source: str
    correct: int | None = None


class PublishedColumn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column, and how a run of yours fills it: the accuracy on a facet's value, or a number of the whole run.

    `mean_of_columns` is the plain mean of the facet columns. `score`: the path of a fraction among the benchmark's own
    scores.
    """

    key: str
    title: str
    facet: str | None = None
    value: str | None = None
    whole: Whole | None = None
    score: tuple[str, ...] = ()


class PublishedTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark's published results: what they are about, columns, and rows best first (by the column `sort_by`)."""

    benchmark: str
    source: str
    split: str
    samples: int
    unit: Literal["percent"]
    sort_by: str
    note: str
    columns: tuple[PublishedColumn, ...]
    rows: tuple[PublishedRow, ...]


def published_table(benchmark: str) -> PublishedTable | None:
    """The published results of a benchmark; None where we hold none."""
    name = benchmark if benchmark.isidentifier() else ""
    file = files("assay.report").joinpath("published_tables", f"{name}.toml")
    if not file.is_file():
        return None
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    for row in data["rows"]:
        row.setdefault("source", data["source"])
    table = msgspec.convert(data, PublishedTable)
    key = table.sort_by
    rows = sorted(table.rows, key=lambda row: (key not in row.metrics, -row.metrics.get(key, 0.0), row.model))
    return msgspec.structs.replace(table, rows=tuple(rows))


def published(benchmark: str) -> list[PublishedRow]:
    """The published models of a benchmark, best first; empty where we hold none."""
    table = published_table(benchmark)
    return list(table.rows) if table else []


def comparability(
    table: PublishedTable, *, samples: int, split: str | None = None, on_missing: OnMissing, failed: int = 0
) -> list[str]:
    """What keeps a run from being compared with the published table, one sentence each; the first two always hold."""
    notes = [
        NOT_RANKED,
        "Yours shows the reference verdicts, which follow the published script; robust ones have no counterpart.",
    ]
    if split is not None and split != table.split:
        notes.append(f"Published: split {table.split}; yours: split {split}. The questions differ.")
    if samples != table.samples:
        notes.append(f"Published: {table.samples:,} samples; yours: {samples:,}.")
    if failed and on_missing == "exclude":
        how = "are left out (on_missing=exclude)"
        notes.append(f"The script counts a failed call as wrong; your {failed:,} failed samples {how}.")
    return notes
