"""FinCharts: questions about financial charts made on the spot, in FinMME's form, with exact answers.

Made by: `assay data fincharts --seed 1 --count 1000 --out DIR`; then `assay eval fincharts --data DIR`. Ours; see
         `docs/fincharts.md`. After FinMME (https://arxiv.org/abs/2505.24714, https://github.com/luo-junyu/FinMME)
Licence: Apache-2.0, as this package; pictures of prices from a file of yours are yours

One row (there are more facets, about looks):

    {"id": "000017", "image": "images/000017.png", "question_text": "What was the gross margin in 2021?",
     "question_type": "numerical", "options": null, "answer": "31.4", "unit": "%", "tolerance": 0.5,
     "verified_caption": "Kestrel: gross margin", "related_sentences": "...", "knowledge_domain": "TMT",
     "cognitive_level": "Fine-grained Perception", "chart_type": "Line", "asset_class": "Equity", "group": "000017",
     "variant": "0", "chart_subclass": "line", "operation": "value", "language": "English", ...}

What is asked, how it is marked and FinScore are FinMME's. Questions that are variants of one seed question form a
group; with several variants there is a worst-case accuracy beside the average one, as in DynaMath.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from assay.benchmarks import finmme
from assay.benchmarks.base import OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.tables import local_table
from assay.errors import DataError, UsageError
from assay.mark.variants import variant_scores
from assay.types import Outcome, Sample

SPLIT = "test"

FACETS = (
    "chart_subclass",
    "operation",
    "language",
    "value_labels",
    "axes",
    "data",
    "font",
    "palette",
    "grid",
    "legend",
    "resolution",
    "artefacts",
    "rotation",
    "variant",
)
"""Columns that are facets here, beside FinMME's."""


def open_fincharts(source: Source) -> RowsDataset:
    """The questions in the folder `source.data`, or in its `rows.jsonl`.

    Raises:
        UsageError: no folder is given.
        DataError: see `rows_dataset` and `local_table`; also for a folder that is not finished.
    """
    if source.data is None:
        raise UsageError("fincharts is made, not fetched: `assay data fincharts --out DIR`, then give DIR with --data.")
    if (source.data / "fincharts.json").is_file() and not (source.data / "rows.jsonl").is_file():
        raise DataError(str(source.data), "is not finished", "Repeat the `assay data fincharts` that began it.")
    split = source.split or SPLIT
    return rows_dataset(
        local_table(source.data, split, names=("rows",)),
        convert,
        split=split,
        mark=finmme.mark,
        gold_reply=finmme.gold_reply,
        need_pictures=source.need_pictures,
    )


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """FinMME's reading of a row, with our facets and the seed question as the group."""
    sample = finmme.convert(row, context)
    group = row.get("group")
    ours = {name: (str(row[name]),) for name in FACETS if row.get(name)}
    return msgspec.structs.replace(sample, facets=sample.facets | ours, group=str(group) if group else sample.group)


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """FinScore; with several variants of each seed question also average and worst-case accuracy over them."""
    found = finmme.scores(outcomes, on_missing)
    if len({value for outcome in outcomes for value in outcome.facets.get("variant", ())}) < 2:
        return found
    both = {mode: variant_scores(outcomes, mode, on_missing) for mode in ("reference", "robust")}
    return found | {"variants": msgspec.to_builtins(both)}


BENCHMARK = replace(
    finmme.BENCHMARK,
    name="fincharts",
    title="FinCharts: made-up financial charts with exact answers",
    licence="Apache-2.0",
    default_split=SPLIT,
    sizes={},
    hub=None,
    open=open_fincharts,
    scores=scores,
)
