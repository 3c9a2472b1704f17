"""`assay prm filter`: the examples that a critic is trained on, out of rollouts and critiques."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assay.cli.common import json_option, open_benchmark
from assay.cli.model import FiniteRange
from assay.cli.readers import open_reader_model
from assay.errors import RunError, UsageError
from assay.models.base import ADDRESS_FORMS

if TYPE_CHECKING:
    from assay.train.card import Card
    from assay.train.filter import FilterPlan
    from assay.types import Sample

F = TypeVar("F", bound=Callable[..., Any])


def _choice_options(function: F) -> F:
    """What is asked of labels and critiques."""
    for option in reversed(
        (
            click.option(
                "--labels",
                type=click.Choice(["both", "teacher", "mc"]),
                default="both",
                show_default=True,
                help="Whose labels: a teacher's where Monte-Carlo agrees; for ablations the teacher's alone, or "
                "Monte-Carlo's alone, which come without comments.",
            ),
            click.option(
                "--agree",
                type=click.Choice(["first-error", "every-step", "none"]),
                default="first-error",
                show_default=True,
                help="In what the two must agree. The paper doesn't say.",
            ),
            click.option(
                "--quorum",
                type=click.Choice(["any", "majority", "all"]),
                default="majority",
                show_default=True,
                help="How many of several teachers that wrote a critique must agree.",
            ),
            click.option(
                "--keep-uncorrected/--drop-uncorrected",
                default=None,
                help="Erroneous solutions without a correction.  [default: drop; keep with --labels mc]",
            ),
            click.option("--topics", help="Only questions about these, separated by commas: plane-geometry,functions."),
            click.option(
                "--topic-model",
                metavar="ADDRESS",
                help=f"A model that says what a question is about, in place of the rules. {ADDRESS_FORMS}.",
            ),
            click.option("--topic-model-api-key-env", metavar="NAME", help="Environment variable with its API key."),
        )
    ):
        function = option(function)
    return function


def _question_options(function: F) -> F:
    """What is asked of questions."""
    for option in reversed(
        (
            click.option(
                "--against",
                multiple=True,
                metavar="BENCHMARK[/SPLIT][=DATA]",
                help="Drop questions of this benchmark, or of a file of your own. May be repeated.",
            ),
            click.option("--keep-contaminated", is_flag=True, help="Only list such questions in contaminated.jsonl."),
            click.option(
                "--ngram", type=click.IntRange(min=2), default=13, show_default=True, help="Words in a row that tell."
            ),
            click.option(
                "--held",
                type=FiniteRange(0, 1),
                default=0.6,
                show_default=True,
                help="Share of a benchmark question's words that tells, beside the same picture.",
            ),
            click.option("--keep-duplicates", is_flag=True, help="Keep near-duplicate questions."),
            click.option(
                "--picture-bits",
                type=click.IntRange(0, 16),
                default=4,
                show_default=True,
                help="Pictures are the same to the eye where their 64-bit hashes differ in so many bits at most.",
            ),
            click.option(
                "--text-overlap",
                type=FiniteRange(min=0, max=1, min_open=True),
                default=0.9,
                show_default=True,
                help="Least overlap (Jaccard) of the words of near-duplicate questions, beside the same picture.",
            ),
        )
    ):
        function = option(function)
    return function


@click.command("filter")
@click.option(
    "--rollouts", multiple=True, required=True, type=click.Path(path_type=Path), help="File; may be repeated."
)
@click.option("--critiques", multiple=True, type=click.Path(path_type=Path), help="critiques.jsonl; may be repeated.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the examples and their card.")
@_choice_options
@_question_options
@click.option("--per-question", type=click.IntRange(min=1), help="Most solutions of one question, drawn by lot.")
@click.option("--balance", metavar="RATIO", help="Clean solutions to an erroneous one, e.g. 1 or 1.165.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn by lot.")
@click.option(
    "--concurrency", type=click.IntRange(1, 10_000), default=64, help="Most calls of --topic-model in flight."
)
@json_option
def command(rollouts: tuple[Path, ...], critiques: tuple[Path, ...], **options: Any) -> None:
    """Keep the critiques that may be trained on, and say of every other solution why it is dropped.

    Writes examples.jsonl, dropped.jsonl, contaminated.jsonl and the data card (card.md, card.json) into --out.

    \b
    assay prm filter --rollouts rollouts.jsonl --critiques labels/critiques.jsonl --out examples \\
        --topics plane-geometry,functions --balance 1 --against mathvision=DATA
    """
    from dataclasses import replace

    from assay.train.filter import filter_examples

    plan = _plan(rollouts, critiques, options)
    plan.check()
    if options["topic_model"] is not None:
        plan = replace(plan, told=_ask(plan, options))
    card = filter_examples(plan)
    if options["as_json"]:
        from assay.report.result import indented

        click.echo(indented(card))
    else:
        _print(card)
        click.echo(f"\nThe examples are in {plan.out / 'examples.jsonl'}, their card in {plan.out / 'card.md'}.")
    if not card.kept:
        raise RunError("Nothing is left to train on; dropped.jsonl says why of every row.")


def _plan(rollouts: tuple[Path, ...], critiques: tuple[Path, ...], options: dict[str, Any]) -> "FilterPlan":
    from assay.train.contamination import Measure
    from assay.train.duplicates import Likeness
    from assay.train.filter import FilterPlan
    from assay.train.topics import check_topics

    topics = [part.strip() for part in (options["topics"] or "").split(",") if part.strip()]
    if options["topic_model"] is not None and not topics:
        raise UsageError("--topic-model tells topics; say with --topics which are wanted.")
    bits = options["picture_bits"]
    keep = options["keep_uncorrected"]
    return FilterPlan(
        rollouts=rollouts,
        critiques=critiques,
        out=options["out"],
        labels=options["labels"],
        agree=options["agree"],
        quorum=options["quorum"],
        keep_uncorrected=options["labels"] == "mc" if keep is None else keep,
        topics=check_topics(topics),
        likeness=None if options["keep_duplicates"] else Likeness(bits=bits, text=options["text_overlap"]),
        against=tuple(_benchmark(text) for text in options["against"]),
        measure=Measure(bits=bits, held=options["held"], ngram=options["ngram"]),
        keep_contaminated=options["keep_contaminated"],
        per_question=options["per_question"],
        balance=_ratio(options["balance"]),
        seed=options["seed"],
    )


def _benchmark(text: str) -> "tuple[str, Sequence[Sample]]":
    """`mathvision/testmini=DATA`, `mathvision` or `my.jsonl`: its name, and its samples."""
    name, given, data = text.partition("=")
    split = None
    if not Path(name).exists():
        name, _, split = name.partition("/")
    _, _, dataset = open_benchmark(name, Path(data) if given else None, split or None, need_pictures=False)
    return (f"{name}/{dataset.split}" if dataset.split else name), list(dataset)


def _ratio(text: str | None) -> Fraction | None:
    if text is None or text == "none":
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"--balance {text!r} is not a number. Write e.g. 1 or 1.165.") from None


def _ask(plan: "FilterPlan", options: dict[str, Any]) -> dict[str, frozenset[str]]:
    """What the questions are about, by the word of a model."""
    from assay.train.filter import question_key
    from assay.train.records import RolledSolution
    from assay.train.topic_model import Topics, ask_topics
    from assay.train.visualprm import read_rollouts

    def solutions() -> Iterator[tuple[str, RolledSolution]]:
        for path in plan.rollouts:
            for solution in read_rollouts(path, on_odd=lambda _: None):  # the filter lists them
                yield question_key(solution), solution

    model = open_reader_model(options["topic_model"], options["topic_model_api_key_env"])

    async def run() -> Topics:
        try:
            return await ask_topics(
                solutions(), model, plan.out, concurrency=options["concurrency"], seed=plan.seed, progress=True
            )
        finally:
            await model.close()

    topics = asyncio.run(run())
    if topics.unparsable:
        click.echo(f"{topics.unparsable:,} replies name no topic that there is; these questions have none.", err=True)
    return topics.told


def _print(card: "Card") -> None:
    from assay.report.tables import Column, line, make_console, table

    console = make_console()
    columns = [Column(title="dropped as", number=False), Column(title="rows"), Column(title="left")]
    rows = [[stage.kind, f"{stage.dropped:,}", f"{stage.left:,}"] for stage in card.stages if stage.dropped]
    table(console, columns, [["(read)", "", f"{card.total:,}"], *rows])
    line(console, f"{card.kept:,} examples: {card.erroneous:,} erroneous, {card.clean:,} clean.")
    for one in card.agreement:
        found = one.solutions
        kappa = "undefined" if found.kappa is None else f"{found.kappa:.3f}"
        if found.low is not None and found.high is not None:
            kappa += f" [{found.low:.3f}, {found.high:.3f}]"
        cells = ", ".join(f"{cell} {count:,}" for cell, count in one.cells.items())
        line(console, f"{one.teacher} and Monte-Carlo: kappa over solutions {kappa}; {cells}.")
    if card.benchmarks:
        line(console, f"{card.contaminated_pairs:,} pairs with benchmarks in contaminated.jsonl.")
    for name, count in card.benchmark_questions_uncompared.items():
        if count:
            line(
                console,
                f"{count:,} of {card.benchmarks[name]:,} questions of {name} could not be compared; see the card.",
            )
