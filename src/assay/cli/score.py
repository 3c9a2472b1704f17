"""`assay score`: mark recorded replies, or a run again, without a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.benchmarks.base import Benchmark
from assay.benchmarks.subset import parse_where
from assay.cli.common import (
    data_option,
    json_option,
    limit_option,
    on_missing_option,
    open_benchmark,
    split_option,
    where_option,
)
from assay.cli.own import own_options, reading_of
from assay.cli.readers import reader_options, readers_from
from assay.cli.score_replies import Counting, Keeping, Replies, score_file
from assay.cli.score_run import score_run
from assay.errors import RunError, UsageError
from assay.report.result import Result

if TYPE_CHECKING:
    from assay.judging.reading import Reader


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
def command(what: str, replies: Path | None, as_json: bool, **options: Any) -> None:
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
        _refuse_with_a_run(options)
        benchmark, result = score_run(
            Path(what), options["data"], save=options["save"], on_missing=options["on_missing"], readers=readers
        )
    else:
        benchmark, result = _score_file(what, replies, options, readers)
    if as_json:
        click.echo(result.to_json())
    else:
        from assay.report.terminal import print_result

        print_result(result, benchmark)
    if result.summary.samples and result.summary.counts.failed == result.summary.samples:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in result.summary.failures.items())
        raise RunError(f"Not one sample has a reply that can be marked ({kinds}), so there is no score.")


def _refuse_with_a_run(options: Mapping[str, Any]) -> None:
    """Raise a `UsageError` where an option is given that is about recorded replies, or chooses samples."""
    if options["out"] is not None:
        raise UsageError("--out keeps recorded replies as a run; without --replies there are none. Leave it out.")
    choosing = {
        "--limit": options["limit"] is not None,
        "--split": options["split"] is not None,
        "--reply-field": options["reply_field"] is not None,
        "--id-field": options["id_field"] is not None,
        "--replies-are": options["replies_are"] != "auto",
        "--no-extractions": not options["extractions"],
        "--images, --map, --answer-type and --facets": reading_of(options) is not None,
    }
    for option in (option for option, given in choosing.items() if given):
        raise UsageError(f"{option}: a run keeps to what it was made with. Leave it out, or give --replies FILE.")
    if options["where"]:
        raise UsageError("--where chooses samples when a run is made, and the run keeps to it. Leave it out.")


def _score_file(
    what: str, path: Path, options: Mapping[str, Any], readers: "Sequence[Reader]"
) -> tuple[Benchmark, Result]:
    out: Path | None = options["out"]
    if options["save"]:
        raise UsageError("--save keeps marks in a run; with --replies there is none. Leave it out.")
    if readers and out is None:
        raise UsageError("What a judge or an extractor says is paid once and kept: add --out RUN, a folder for it.")
    benchmark, source, dataset = open_benchmark(
        what, options["data"], options["split"], need_pictures=False, reading=reading_of(options)
    )
    counting = Counting(where=parse_where(options["where"]), limit=options["limit"], on_missing=options["on_missing"])
    replies = Replies(
        path=path,
        id_field=options["id_field"],
        reply_field=options["reply_field"],
        replies_are=options["replies_are"],
        extractions=options["extractions"],
    )
    keeping = None if out is None else Keeping(out=out, source=source, readers=readers)
    return benchmark, score_file(replies, benchmark, dataset, counting, keeping)
