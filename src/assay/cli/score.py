"""`assay score`: mark recorded replies, or a run again, without a model."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
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
from assay.errors import DataError, UsageError
from assay.mark.summary import OnMissing
from assay.report.result import Result, result_of
from assay.types import Outcome

if TYPE_CHECKING:
    from assay.models.recorded import RecordedReplies


@click.command("score")
@click.argument("what", metavar="BENCHMARK|RUN")
@click.option(
    "--replies",
    type=click.Path(path_type=Path),
    help="JSONL file with an id and a reply in every row, or a run's folder.",
)
@click.option("--reply-field", help="Field that holds the reply.  [default: response, reply, output, ...]")
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
@split_option
@where_option
@limit_option
@on_missing_option
@click.option("--save", is_flag=True, help="With a RUN: keep the fresh marks in the run.")
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
    as_json: bool,
) -> None:
    """Score recorded replies, or mark a run again, without a model.

    With --replies the first argument is a benchmark; without, it is the folder of a run.

    \b
    assay score mathvision --replies gpt.jsonl --data DATA --split test
    assay score runs/try
    """
    if replies is None:
        benchmark, result = _score_run(Path(what), data, where, save=save, on_missing=on_missing)
    else:
        if save:
            raise UsageError("--save keeps marks in a run; with --replies there is none. Leave it out.")
        benchmark, _, dataset = open_benchmark(what, data, split, need_pictures=False)
        counting = Counting(where=parse_where(where), limit=limit, on_missing=on_missing)
        verdicts = read_verdicts(replies, benchmark) if id_field is None and reply_field is None else None
        if verdicts is not None:
            result = _score_published(benchmark, dataset, verdicts, counting)
        else:
            with closing(_open_replies(benchmark, replies, id_field, reply_field)) as recorded:
                result = _score_recorded(benchmark, dataset, recorded, replies_are, extractions, counting)
    if as_json:
        click.echo(result.to_json())
        return
    from assay.report.terminal import print_result

    print_result(result, benchmark)


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Which samples count, and how: see the options of the same names."""

    where: tuple[str, ...]
    limit: int | None
    on_missing: OnMissing


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
) -> Result:
    from assay.score import score_replies, strangers

    extracted = replies_are == "answers" or (replies_are == "auto" and recorded.looks_extracted)
    notes: list[str] = []
    if extracted:
        how = "as asked" if replies_are == "answers" else "every one is a bare token; --replies-are texts to change"
        notes.append(f"The recorded replies are taken as extracted answers ({how}).")
    if benchmark.llm_extraction and not extracted:
        notes.append(_extraction_note(recorded.extractions if extractions else 0, len(recorded)))

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

    unknown = strangers(dataset, recorded)
    own = _own_rows(benchmark, dataset, recorded, counting) if unknown else None
    if unknown:
        where = "in no number" if own is None else "only in `recorded_rows`, scored by the answers in their own rows"
        notes.append(f"{unknown:,} recorded replies have ids that the data does not hold; they are {where}.")
    part = subset(dataset, counting.where)
    result = _result(benchmark, part, marked(part), str(recorded.path), counting, notes)
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


def _extraction_note(used: int, replies: int) -> str:
    script = "The published script reads answers with a language model"
    if not used:
        return f"{script}; here the reference verdicts read them by rule, so that a published score may differ."
    rest = "" if used == replies else f", and reads the other {replies - used:,} by rule"
    return f"{script}: reference takes the {used:,} recorded extractions{rest} (--no-extractions: none)."


def _score_run(
    run: Path, data: Path | None, where: tuple[str, ...], *, save: bool, on_missing: OnMissing
) -> tuple[Benchmark, Result]:
    from assay.engine.store import RunStore
    from assay.score import mark_again

    if where:
        raise UsageError("--where chooses samples when a run is made, and the run keeps to it. Leave it out.")
    if not run.exists():
        raise UsageError(f"{run}: there is no such run. To score a file of replies, give it with --replies FILE.")
    with RunStore.open(run) as store:
        manifest = store.manifest
        benchmark = load_benchmark(manifest.benchmark)
        dataset = subset(benchmark.open(source_of_run(manifest.data, manifest.split, data)), manifest.where)
        notes: tuple[str, ...] = ()
        if dataset.revision != manifest.revision:
            notes = ("The data is not the run's: its revision differs, so marks may differ for that reason.",)
        outcomes = list(mark_again(store, benchmark, dataset))
    if save:
        with RunStore.create_or_resume(run, manifest) as store:
            for outcome in outcomes:
                store.append(outcome)
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
    )
