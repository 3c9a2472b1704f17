"""Choose again from a run's pools, or mark them again: no model is asked."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import structs

from assay.benchmarks.base import Benchmark, mark_reply
from assay.engine.store import RunStore, seal
from assay.errors import DataError, UsageError
from assay.solve.abstain import Answered, confidence, options_of, reduced_answers
from assay.solve.plan import CRITICAL, SearchPlan
from assay.solve.pool import (
    MEMBERS,
    POOLS,
    PoolRecord,
    Strategy,
    marked_reply,
    outcome_of_selection,
    pools_of,
    select_from,
    stored_solution,
)
from assay.solve.records import Rule
from assay.types import ChoiceGold, Manifest, Outcome, Reply, Sample

__all__ = ["answered", "plan_of", "pools_again", "reselect", "reselected", "save_selection"]


def plan_of(store: RunStore) -> SearchPlan:
    """The search of a run.

    Raises:
        UsageError: it has none.
    """
    plan = SearchPlan.of(store.manifest.search)
    if plan is None:
        raise UsageError(f"{store.path} was run without a search: there are no pools to select from.")
    return plan


def reselect(store: RunStore, strategy: Strategy, rule: Rule) -> Iterator[tuple[Outcome, PoolRecord | None]]:
    """Every outcome of a run as another strategy or rule has it, with its pool; failures stay what they are.

    Raises:
        UsageError: the pools have no solutions for the strategy, or no critiques for its rule.
    """
    _check(store, strategy)
    outcomes = {outcome.id: outcome for outcome in store.outcomes()}
    for record in pools_of(store):
        outcome = outcomes.pop(record.id, None)
        if outcome is None:  # the run was killed between the two, and asks this sample again
            continue
        chosen = select_from(record.pool, record.members, strategy, rule)
        yield outcome_of_selection(record, chosen, outcome), structs.replace(record, chosen=chosen)
    for outcome in outcomes.values():
        yield outcome, None


def _check(store: RunStore, strategy: Strategy) -> None:
    plan = plan_of(store)
    first = next(iter(pools_of(store)), None)
    if first is None:
        return
    judged = any(one.critique is not None for one in first.pool)
    had = [name for name in MEMBERS if MEMBERS[name] in first.members and (judged or name not in CRITICAL)]
    if strategy not in had:
        raise UsageError(
            f"The pools of {store.path} hold nothing for {strategy}{'' if plan.controls else ' (--no-controls)'}. "
            f"They can be selected from by: {', '.join(had)}."
        )


def reselected(manifest: Manifest, strategy: Strategy, rule: Rule) -> Manifest:
    """The manifest of a selection, which is a run of its own."""
    plan = SearchPlan.of(manifest.search)
    if plan is None:
        raise UsageError("This run has no search.")
    plan = structs.replace(plan, strategy=strategy, rule=rule, selected_from=manifest.fingerprint)
    return seal(structs.replace(manifest, search=plan.text()))


def save_selection(run: RunStore, out: Path, strategy: Strategy, rule: Rule) -> None:
    """Keep a selection as a run in a folder of its own, which can be marked again, judged and compared.

    Raises:
        RunMismatch, RunLocked, RunError: see `engine.store`.
    """
    manifest = reselected(run.manifest, strategy, rule)
    with RunStore.create_or_resume(out, manifest) as store:
        done = store.done_ids()
        for outcome, record in reselect(run, strategy, rule):
            if outcome.id in done:
                continue
            if record is not None and record.chosen.chosen is not None:
                solution = record.pool[record.chosen.chosen].solution
                store.put([stored_solution(record.sample_id, record.chosen.chosen, solution)])
            if record is not None:
                store.record(POOLS, record)
            store.append(outcome)


def answered(
    store: RunStore, strategy: Strategy, rule: Rule, benchmark: Benchmark, samples: Iterable[Sample]
) -> Iterator[Answered]:
    """What `abstention` needs of every selection: how sure it is, and what is left of it without its doubtful options.

    Args:
        store, strategy, rule: as for `reselect`.
        samples: the data; not looked at where no options were judged.

    Raises:
        UsageError: see `reselect`. DataError: a sample whose options were judged is not in the data.
    """
    by_id = {sample.id: sample for sample in samples} if plan_of(store).judge_options else {}
    for outcome, record in reselect(store, strategy, rule):
        if record is None:
            yield Answered(outcome, None)
            continue
        options = options_of(record, record.chosen)
        reduced = {
            labels: _with_options(outcome, labels, benchmark, _sample_of(store.path, record, by_id))
            for labels in reduced_answers(options)
        }
        yield Answered(outcome, confidence(record, record.chosen, rule), options, reduced)


def _with_options(outcome: Outcome, labels: tuple[str, ...], benchmark: Benchmark, sample: Sample) -> Outcome:
    """The outcome, had the reply named these options and said no more, in the form that the benchmark asks for."""
    text = benchmark.gold_reply(structs.replace(sample, gold=ChoiceGold(labels=labels, multiple=True)))
    return structs.replace(outcome, result=mark_reply(benchmark, sample, Reply(text=text)), finish="stop")


def _sample_of(run: Path, record: PoolRecord, by_id: Mapping[str, Sample]) -> Sample:
    sample = by_id.get(record.sample_id)
    if sample is None:
        raise DataError(
            str(run),
            f"sample {record.sample_id} is not in the data",
            "Give the data that the run was made with (--data).",
        )
    return sample


def pools_again(store: RunStore, benchmark: Benchmark, samples: Iterable[Sample]) -> Iterator[PoolRecord]:
    """The run's pools with fresh marks.

    Raises:
        DataError: a pool's sample is not in the data.
    """
    by_id = {sample.id: sample for sample in samples}
    for record in pools_of(store):
        sample = _sample_of(store.path, record, by_id)
        marks = tuple(mark_reply(benchmark, sample, marked_reply(one.solution)) for one in record.pool)
        yield structs.replace(record, marks=marks)
