"""Files of published verdicts: somebody's right and wrong for each sample, without the replies behind them.

    {"id": "v1_q7", "correct": true}
    {"qid": 7, "correct": [1, 0, 1, ...], "subject": "algebra", ...}        several samples a row: `published_rows`

Such a verdict becomes the reference mark, with the reason "published verdict". There is no reply to read, so `robust`
is unmarkable. A file holds verdicts or replies, never both, so that the two can't be mixed in one score unnoticed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from assay.benchmarks.base import Benchmark, Dataset, outcome_of
from assay.benchmarks.tables import Row, read_jsonl
from assay.errors import DataError
from assay.mark.status import PUBLISHED
from assay.models.recorded_lines import REPLY_FIELDS
from assay.types import Failure, Mark, Marked, Outcome

FIELDS: Final = ("correct", "true_false", "is_correct")
NO_REPLY = Mark(verdict="unmarkable", reason="no reply, only a published verdict")


@dataclass(frozen=True, kw_only=True)
class PublishedVerdicts:
    """Sample id -> right or not; a sample whose verdict is null is not in it."""

    path: Path
    verdicts: Mapping[str, bool]


def read_verdicts(path: Path, benchmark: Benchmark) -> PublishedVerdicts | None:
    """The verdicts of a JSONL file; None where its first row has no verdict, or has a reply beside it.

    Raises:
        DataError: a row without an id or verdict, a second verdict on a sample, a file with some replies.
    """
    first = next(iter(read_jsonl(path)), None) if path.is_file() else None
    if first is None or not _is_verdict(first.fields):
        return None
    verdicts: dict[str, bool] = {}
    for row in read_jsonl(path):
        if not _is_verdict(row.fields):
            raise DataError(
                row.where, "is no published verdict, as the rows before it are", "Keep verdicts and replies apart."
            )
        for part in _parts(row, benchmark):
            sample_id, right = _verdict(part, row.where)
            if sample_id in verdicts:
                raise DataError(row.where, f"has a second verdict on sample {sample_id}", "Keep one of them.")
            if right is not None:
                verdicts[sample_id] = right
    return PublishedVerdicts(path=path, verdicts=verdicts)


def _is_verdict(row: Mapping[str, Any]) -> bool:
    return any(field in row for field in FIELDS) and not any(field in row for field in REPLY_FIELDS)


def _parts(row: Row, benchmark: Benchmark) -> Sequence[Mapping[str, Any]]:
    return benchmark.published_rows(row.fields) if benchmark.published_rows else (row.fields,)


def _verdict(row: Mapping[str, Any], where: str) -> tuple[str, bool | None]:
    sample_id = row.get("id")
    if isinstance(sample_id, bool) or not isinstance(sample_id, str | int):
        raise DataError(where, "has no sample id", "Give every verdict the id of its sample in `id`.")
    value = next(row[field] for field in FIELDS if field in row)
    if value is not None and value not in (0, 1):
        raise DataError(where, f"has the verdict {value!r}", "Write true or false (1 or 0), null for none.")
    return str(sample_id), None if value is None else bool(value)


def score_verdicts(
    benchmark: Benchmark, dataset: Dataset, published: PublishedVerdicts, *, limit: int | None = None
) -> Iterator[Outcome]:
    """One outcome for every sample of the data, in its order; a sample without a verdict has failed.

    Raises:
        DataError: no verdict is on a sample of the data.
    """
    if not any(sample.id in published.verdicts for sample in islice(dataset, limit)):
        raise DataError(
            str(published.path),
            f"none of its verdicts is on a sample of {benchmark.name}, split {dataset.split}",
            "Choose the split with --split.",
        )
    for sample in islice(dataset, limit):
        right = published.verdicts.get(sample.id)
        if right is None:
            message = f"{published.path} holds no verdict on this sample"
            yield outcome_of(benchmark, sample, Failure(stage="call", kind="no_verdict", message=message))
            continue
        reference = Mark(verdict="right" if right else "wrong", reason=PUBLISHED)
        yield outcome_of(benchmark, sample, Marked(reference=reference, robust=NO_REPLY, difference=None))
