"""`assay score`: mark recorded replies, or a run again, without a model."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.benchmarks.conditions import repeat_note
from assay.benchmarks.subset import join, parse_where, subset
from assay.benchmarks.verdicts import PublishedVerdicts, read_verdicts, score_verdicts
from assay.cli.common import (
    data_option,
    json_option,
    limit_option,
    on_missing_option,
    open_benchmark,
    source_of_run,
    split_option,
    where_option,
)
from assay.cli.own import own_options, reading_of
from assay.cli.readers import read_all, reader_options, readers_from
from assay.cli.search import controls_of
from assay.errors import DataError, RunError, UsageError
from assay.mark.summary import OnMissing
from assay.report.result import Result, result_of
from assay.types import Outcome

if TYPE_CHECKING:
    from assay.judging.reading import Reader
    from assay.models.recorded import RecordedReplies


@click.command("score")
@click.argument("what", metavar="BENCHMARK|FILE|RUN")
@click.option(
    "--replies",
    type=click.Path(path_type=Path),
    help="JSONL file with an id and a reply in every row, or a run's folder.",
)
@click.option(
    "--reply-field",
    help="Field that holds the reply, or several with commas between: the JSON list of them.  "
    "[default: response, reply, output, ...]",
)
@click.option("--id-field", help="Field that holds the sample's id.  [default: id, sample_id, pid, question_id, ...]")
@click.option(
    "--replies-are",
    type=click.Choice(["auto", "texts", "answers"]),
    default="auto",
    show_default=True,
    help="Whole reply texts, or answers that somebody already extracted. `auto` takes a file in which every reply is "
    "one bare token as answers, and says so.",
)
@click.option(
    "--extractions/--no-extractions",
    default=True,
    show_default=True,
    help="Whether answers that were extracted before (a field `extraction` or `extracted_answer` beside the reply) "
    "count where the benchmark's own script extracts with a language model.",
)
@data_option
@own_options
@split_option
@where_option
@limit_option
@on_missing_option
@click.option("--save", is_flag=True, help="With a RUN: keep the fresh marks in the run.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="With --replies: also keep replies and marks as a run in this folder, which can be judged and compared.",
)
@reader_options
@json_option
def command(
    what: str,
    replies: Path | None,
    reply_field: str | None,
    id_field: str | None,
    replies_are: str,
    extractions: bool,
    data: Path | None,
    split: str | None,
    where: tuple[str, ...],
    limit: int | None,
    on_missing: OnMissing,
    save: bool,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Score recorded replies, or mark a run again, without asking the model again.

    With --replies the first argument is a benchmark, or a file with your own questions; without, it is the folder of a
    run. An extractor or a judge is asked about replies that a run holds: give its folder, or --replies with --out.

    \b
    assay score mathvision --replies gpt.jsonl --data DATA --split test
    assay score runs/try
    assay score runs/try --judge openai:NAME@http://127.0.0.1:8000/v1
    """
    readers = readers_from(options)
    if replies is None:
        if out is not None:
            raise UsageError("--out keeps recorded replies as a run; without --replies there are none. Leave it out.")
        choosing = {
            "--limit": limit is not None,
            "--split": split is not None,
            "--reply-field": reply_field is not None,
            "--id-field": id_field is not None,
            "--replies-are": replies_are != "auto",
            "--no-extractions": not extractions,
            "--images, --map, --answer-type and --facets": reading_of(options) is not None,
        }
        for option in (option for option, given in choosing.items() if given):
            raise UsageError(f"{option}: a run keeps to what it was made with. Leave it out, or give --replies FILE.")
        benchmark, result = _score_run(Path(what), data, where, save=save, on_missing=on_missing, readers=readers)
    else:
        if save:
            raise UsageError("--save keeps marks in a run; with --replies there is none. Leave it out.")
        if readers and out is None:
            raise UsageError("What a judge or an extractor says is paid once and kept: add --out RUN, a folder for it.")
        reading = reading_of(options)
        benchmark, source, dataset = open_benchmark(what, data, split, need_pictures=False, reading=reading)
        counting = Counting(where=parse_where(where), limit=limit, on_missing=on_missing)
        keeping = Keeping(out=out, source=source, readers=readers) if out is not None else None
        verdicts = read_verdicts(replies, benchmark) if id_field is None and reply_field is None else None
        if verdicts is not None:
            if keeping is not None:
                raise UsageError(f"{replies} holds verdicts, no replies: there is nothing to keep or to judge.")
            result = _score_published(benchmark, dataset, verdicts, counting)
        else:
            with closing(_open_replies(benchmark, replies, id_field, reply_field)) as recorded:
                result = _score_recorded(benchmark, dataset, recorded, replies_are, extractions, counting, keeping)
    if as_json:
        click.echo(result.to_json())
    else:
        from assay.report.terminal import print_result

        print_result(result, benchmark)
    if result.summary.samples and result.summary.counts.failed == result.summary.samples:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in result.summary.failures.items())
        raise RunError(f"Not one sample has a reply that can be marked ({kinds}), so there is no score.")


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Which samples count, and how: see the options of the same names."""

    where: tuple[str, ...]
    limit: int | None
    on_missing: OnMissing


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """The run that recorded replies are kept as, and who reads it."""

    out: Path
    source: Source
    readers: "Sequence[Reader]"


def _open_replies(benchmark: Benchmark, path: Path, id_field: str | None, reply_field: str | None) -> "RecordedReplies":
    from assay.models.replay import read_replies

    rows = benchmark.published_rows if id_field is None else None

    def row_id(row: dict[str, Any]) -> str | None:
        return rows(row)[0].get("id") if rows else None

    return read_replies(path, id_field=id_field, reply_field=reply_field, row_id=row_id)


def _score_recorded(
    benchmark: Benchmark,
    dataset: Dataset,
    recorded: "RecordedReplies",
    replies_are: str,
    extractions: bool,
    counting: Counting,
    keeping: Keeping | None,
) -> Result:
    from assay.judging.reading import extraction_note
    from assay.score import score_replies, strangers

    extracted = replies_are == "answers" or (replies_are == "auto" and recorded.looks_extracted)
    notes: list[str] = []
    if extracted:
        how = "as asked" if replies_are == "answers" else "every one is a bare token; --replies-are texts to change"
        notes.append(f"The recorded replies are taken as extracted answers ({how}).")
    if benchmark.llm_extraction and not extracted and keeping is None:
        notes.append(extraction_note(len(recorded), recorded=recorded.extractions if extractions else 0))

    def marked(samples: Dataset) -> list[Outcome]:
        return list(
            score_replies(
                benchmark,
                samples,
                recorded,
                extracted=extracted,
                use_extractions=extractions,
                limit=counting.limit,
            )
        )

    again = len(recorded) - sum(1 for _ in recorded.ids())
    if again > 0:
        notes.append(f"{again:,} rows repeat an id: they are taken as further draws, and the first of each counts.")
    unknown = strangers(dataset, recorded)
    own = _own_rows(benchmark, dataset, recorded, counting) if unknown else None
    if unknown:
        where = "in no number" if own is None else "only in `recorded_rows`, scored by the answers in their own rows"
        notes.append(f"{unknown:,} recorded replies have ids that the data does not hold; they are {where}.")
    part = subset(dataset, counting.where)
    if keeping is None:
        outcomes = marked(part)
    else:
        outcomes, more = _keep(benchmark, part, recorded, extracted, extractions, counting, keeping)
        notes += more
    result = _result(benchmark, part, outcomes, str(recorded.path), counting, notes)
    if own is None:
        return result
    beyond = {"samples": len(own), **benchmark.scores(marked(own), counting.on_missing)}
    return structs.replace(result, scores={**result.scores, "recorded_rows": beyond})


def _own_rows(
    benchmark: Benchmark, dataset: Dataset, recorded: "RecordedReplies", counting: Counting
) -> Dataset | None:
    """The file of replies as data, where its rows carry the right answers themselves: published outputs of the whole
    benchmark can be scored so by somebody who has only a part of it. Where the data has the question, both must agree.
    """
    if benchmark.published_rows is None or not recorded.path.is_file():
        return None
    source = Source(data=recorded.path, split=dataset.split, need_pictures=False)
    try:
        own = subset(benchmark.open(source), counting.where)
    except (DataError, UsageError):
        return None  # rows of somebody's own, with nothing but an id and a reply
    golds = {sample.id: sample.gold for sample in dataset}
    agree = all(sample.gold is not None and golds.get(sample.id, sample.gold) == sample.gold for sample in own)
    return own if agree else None


def _score_published(
    benchmark: Benchmark, dataset: Dataset, published: PublishedVerdicts, counting: Counting
) -> Result:
    if benchmark.published_rows is not None:
        rows = benchmark.open(Source(data=published.path, split=dataset.split, need_pictures=False))
        fact = "{added} samples are not in the data; what is known of them stands in the file of verdicts."
        dataset = join(dataset, rows, fact)
    dataset = subset(dataset, counting.where)
    outcomes = list(score_verdicts(benchmark, dataset, published, limit=counting.limit))
    note = "The file holds published verdicts, no replies: reference repeats them, and robust can't be had."
    return _result(benchmark, dataset, outcomes, str(published.path), counting, [note])


def _result(
    benchmark: Benchmark, dataset: Dataset, outcomes: list[Outcome], model: str, counting: Counting, notes: list[str]
) -> Result:
    return result_of(
        benchmark,
        dataset,
        outcomes,
        model=model,
        on_missing=counting.on_missing,
        notes=tuple(notes),
        where=counting.where,
    )


def _keep(
    benchmark: Benchmark,
    dataset: Dataset,
    recorded: "RecordedReplies",
    extracted: bool,
    extractions: bool,
    counting: Counting,
    keeping: Keeping,
) -> tuple[list[Outcome], tuple[str, ...]]:
    """The outcomes as they are in the run that the replies are now kept as, read by whoever is to read them."""
    from assay.engine.store import RunStore
    from assay.judging.reading import run_notes
    from assay.score import keep_replies

    source = keeping.source
    keep_replies(
        keeping.out,
        benchmark,
        dataset,
        recorded,
        data=str(source.data) if source.data else "",
        where=counting.where,
        reading=source.reading,
        extracted=extracted,
        use_extractions=extractions,
        limit=counting.limit,
    )
    asyncio.run(read_all(keeping.out, keeping.readers, benchmark, dataset))
    with RunStore.open(keeping.out) as store:
        outcomes = list(store.outcomes())
        return outcomes, run_notes(benchmark, store.manifest, outcomes)


def _score_run(
    run: Path,
    data: Path | None,
    where: tuple[str, ...],
    *,
    save: bool,
    on_missing: OnMissing,
    readers: "Sequence[Reader]",
) -> tuple[Benchmark, Result]:
    from assay.engine.store import RunStore, read_manifest
    from assay.evaluate import marked_by
    from assay.judging.reading import run_notes
    from assay.score import mark_again
    from assay.solve.pool import POOLS
    from assay.solve.reselect import pools_again

    if where:
        raise UsageError("--where chooses samples when a run is made, and the run keeps to it. Leave it out.")
    if not run.exists():
        raise UsageError(f"{run}: there is no such run. To score a file of replies, give it with --replies FILE.")
    manifest = read_manifest(run)
    benchmark = load_benchmark(manifest.benchmark)
    dataset = subset(benchmark.open(source_of_run(manifest, data)), manifest.where)
    asyncio.run(read_all(run, readers, benchmark, dataset))
    with RunStore.open(run) as store:
        manifest = store.manifest
        notes = repeat_note(manifest.conditions, manifest.sampling.temperature)
        if dataset.revision != manifest.revision:
            notes += ("The data is not the run's: its revision differs, so marks may differ for that reason.",)
        outcomes = list(mark_again(store, benchmark, dataset))
        notes += run_notes(benchmark, manifest, outcomes)
        searched = store.manifest.search.startswith("{")
        pools = list(pools_again(store, benchmark, dataset)) if searched else []
        controls = controls_of(store, outcomes, pools, on_missing=on_missing) if searched else None
    if save:
        with RunStore.create_or_resume(run, manifest) as store:
            for pool in pools:
                store.record(POOLS, pool)
            for outcome in outcomes:
                store.append(outcome)
            store.note({"marked_again_by": marked_by()})
    expected = len(dataset) if manifest.limit is None else min(manifest.limit, len(dataset))
    return benchmark, result_of(
        benchmark,
        dataset,
        outcomes,
        model=manifest.model,
        on_missing=on_missing,
        expected=expected,
        notes=notes,
        where=manifest.where,
        conditions=manifest.conditions,
        controls=controls,
    )
