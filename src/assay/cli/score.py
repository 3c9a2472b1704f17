"""`assay score`: mark recorded replies, or a run again, without a model."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Dataset
from assay.cli.common import (
    data_option,
    json_option,
    limit_option,
    on_missing_option,
    open_benchmark,
    source_of_run,
    split_option,
)
from assay.errors import UsageError
from assay.mark.summary import OnMissing
from assay.report.result import Result, result_of

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
        benchmark, result = _score_run(Path(what), data, save=save, on_missing=on_missing)
    else:
        if save:
            raise UsageError("--save keeps marks in a run; with --replies there is none. Leave it out.")
        benchmark, _, dataset = open_benchmark(what, data, split, need_pictures=False)
        with closing(_open_replies(replies, id_field, reply_field)) as recorded:
            result = _score_recorded(
                benchmark, dataset, recorded, replies_are, extractions, limit=limit, on_missing=on_missing
            )
    if as_json:
        click.echo(result.to_json())
        return
    from assay.report.terminal import print_result

    print_result(result, benchmark)


def _open_replies(path: Path, id_field: str | None, reply_field: str | None) -> "RecordedReplies":
    from assay.models.replay import read_replies

    return read_replies(path, id_field=id_field, reply_field=reply_field)


def _score_recorded(
    benchmark: Benchmark,
    dataset: Dataset,
    recorded: "RecordedReplies",
    replies_are: str,
    extractions: bool,
    *,
    limit: int | None,
    on_missing: OnMissing,
) -> Result:
    from assay.score import score_replies, strangers

    extracted = replies_are == "answers" or (replies_are == "auto" and recorded.looks_extracted)
    notes: list[str] = []
    if extracted:
        how = "as asked" if replies_are == "answers" else "every one is a bare token; --replies-are texts to change"
        notes.append(f"The recorded replies are taken as extracted answers ({how}).")
    if benchmark.llm_extraction and not extracted:
        notes.append(_extraction_note(recorded.extractions if extractions else 0, len(recorded)))
    unknown = strangers(dataset, recorded)
    if unknown:
        notes.append(f"{unknown:,} recorded replies have ids that the data does not hold; they are in no number.")
    outcomes = list(
        score_replies(benchmark, dataset, recorded, extracted=extracted, use_extractions=extractions, limit=limit)
    )
    return result_of(benchmark, dataset, outcomes, model=str(recorded.path), on_missing=on_missing, notes=tuple(notes))


def _extraction_note(used: int, replies: int) -> str:
    script = "The published script reads answers with a language model"
    if not used:
        return f"{script}; here the reference verdicts read them by rule, so that a published score may differ."
    rest = "" if used == replies else f", and reads the other {replies - used:,} by rule"
    return f"{script}: reference takes the {used:,} recorded extractions{rest} (--no-extractions: none)."


def _score_run(run: Path, data: Path | None, *, save: bool, on_missing: OnMissing) -> tuple[Benchmark, Result]:
    from assay.engine.store import RunStore
    from assay.score import mark_again

    if not run.exists():
        raise UsageError(f"{run}: there is no such run. To score a file of replies, give it with --replies FILE.")
    with RunStore.open(run) as store:
        manifest = store.manifest
        benchmark = load_benchmark(manifest.benchmark)
        dataset = benchmark.open(source_of_run(manifest.data, manifest.split, data))
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
    )
