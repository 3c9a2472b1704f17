"""`assay score RUN`: a run's stored replies marked again, and read again by whoever is to read them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset
from assay.benchmarks.conditions import repeat_note
from assay.benchmarks.subset import subset
from assay.cli.common import source_of_run
from assay.cli.readers import read_all
from assay.cli.search import controls_of
from assay.errors import UsageError
from assay.mark.summary import OnMissing
from assay.report.result import Result, result_of
from assay.types import Manifest, Outcome

if TYPE_CHECKING:
    from assay.engine.store import RunStore
    from assay.judging.reading import Reader
    from assay.solve.controls import Controls
    from assay.solve.pool import PoolRecord

__all__ = ["score_run"]


@dataclass(frozen=True, kw_only=True)
class _Again:
    """What a run says with fresh marks; `pools` and `controls` are those of a search."""

    manifest: Manifest
    outcomes: list[Outcome]
    notes: tuple[str, ...]
    pools: "list[PoolRecord]"
    controls: "Controls | None"


def score_run(
    run: Path, data: Path | None, *, save: bool, on_missing: OnMissing, readers: "Sequence[Reader]"
) -> tuple[Benchmark, Result]:
    """The score of a run's stored replies by today's rules.

    Args:
        data: where the run's data lies now; None for the place where it lay.
        save: keep the fresh marks in the run.

    Raises:
        UsageError: there is no such run, or its data can't be used.
        RunLocked, RunError: see `engine.store`.
    """
    from assay.engine.store import RunStore, read_manifest

    if not run.is_dir():
        what = "is a file, not the folder of a run" if run.exists() else "there is no such run"
        raise UsageError(f"{run}: {what}. To score a file of replies, give it with --replies FILE.")
    manifest = read_manifest(run)
    benchmark = load_benchmark(manifest.benchmark)
    dataset = subset(benchmark.open(source_of_run(manifest, data)), manifest.where)
    asyncio.run(read_all(run, readers, benchmark, dataset))
    with RunStore.open(run) as store:
        again = _marked_again(store, benchmark, dataset, on_missing)
    if save:
        _save(run, again)
    manifest = again.manifest
    return benchmark, result_of(
        benchmark,
        dataset,
        again.outcomes,
        model=manifest.model,
        on_missing=on_missing,
        expected=len(dataset) if manifest.limit is None else min(manifest.limit, len(dataset)),
        notes=again.notes,
        where=manifest.where,
        conditions=manifest.conditions,
        controls=again.controls,
    )


def _marked_again(store: "RunStore", benchmark: Benchmark, dataset: Dataset, on_missing: OnMissing) -> _Again:
    from assay.engine.outcomes import read_ids
    from assay.engine.progress import watched
    from assay.judging.reading import run_notes
    from assay.score import mark_again
    from assay.solve.reselect import pools_again

    manifest = store.manifest
    done = sum(map(len, read_ids(store.path)))
    outcomes = list(watched(mark_again(store, benchmark, dataset), total=done))
    pools: list[PoolRecord] = []
    controls = None
    if manifest.search.startswith("{"):
        pools += watched(pools_again(store, benchmark, dataset), total=done, title="pools")
        controls = controls_of(store, outcomes, pools, on_missing=on_missing)
    notes = repeat_note(manifest.conditions, manifest.sampling.temperature)
    if dataset.revision != manifest.revision:
        notes += ("The data is not the run's: its revision differs, so marks may differ for that reason.",)
    notes += run_notes(benchmark, manifest, outcomes)
    return _Again(manifest=manifest, outcomes=outcomes, notes=notes, pools=pools, controls=controls)


def _save(run: Path, again: _Again) -> None:
    from assay.engine.store import RunStore
    from assay.evaluate import marked_by
    from assay.solve.pool import POOLS

    with RunStore.create_or_resume(run, again.manifest) as store:
        for pool in again.pools:
            store.record(POOLS, pool)
        for outcome in again.outcomes:
            store.append(outcome)
        store.note({"marked_again_by": marked_by()})
