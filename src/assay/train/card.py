"""The data card of a set of examples: where they come from, what was dropped, and how far the labels can be trusted."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from assay.errors import RunError
from assay.mark.agreement import Agreement
from assay.train.concord import CELLS, Concord, Noise
from assay.train.teachings import Teachers

__all__ = ["STAGES", "Card", "Stage", "counted", "markdown", "write_card"]

STAGES = (
    "odd_row",
    "topic",
    "no_critique",
    "unparsable",
    "truncated",
    "refused",
    "failed",
    "mismatch",
    "told",
    "unlabelled",
    "disagreement",
    "uncorrected",
    "same_solution",
    "image",
    "contaminated",
    "near_duplicate",
    "per_question",
    "balance",
)
"""What a row may be dropped as, in the order in which it is looked at (see `train.filter`)."""


class Stage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many rows were dropped as this, and how many were left then."""

    kind: str
    dropped: int
    left: int


class Card(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See the module.

    Attributes:
        total: rows read.
        stages: every one of `STAGES`.
        kept, clean, erroneous: examples; of them without and with a wrong step.
        questions: different ones among the examples.
        sources: source -> examples.
        topics_by: what told the topic of a solution -> solutions; empty where no topic was asked for.
        uncorrected_candidates: erroneous ones without a correction that were kept up to the stage of corrections.
        teachers: what each wrote, and its cost, all solutions together.
        unmatched_critiques: critiques of solutions that are not in the rollouts.
        agreement: each teacher beside Monte-Carlo, over all solutions of the topics that both have labelled.
        noise: of Monte-Carlo's labels, over the same solutions.
        benchmarks: what was compared with -> its questions.
        contaminated_pairs: lines of contaminated.jsonl.
        benchmark_pictures_unread: what could not be compared.
        benchmark_questions_uncompared: benchmark -> questions without a picture that could be read and with too short
            a text: whether they are trained on is unknown.
        settings: the filter's, and the hashes of its inputs.
    """

    total: int
    stages: tuple[Stage, ...]
    kept: int
    clean: int
    erroneous: int
    questions: int
    sources: dict[str, int]
    topics_by: dict[str, int]
    uncorrected_candidates: int
    teachers: tuple[Teachers, ...]
    unmatched_critiques: int
    agreement: tuple[Concord, ...]
    noise: Noise
    benchmarks: dict[str, int]
    contaminated_pairs: int
    benchmark_pictures_unread: tuple[str, ...]
    benchmark_questions_uncompared: dict[str, int]
    settings: dict[str, Any]


def counted(total: int, dropped: Mapping[str, int]) -> tuple[Stage, ...]:
    """The stages with what was dropped at each.

    Raises:
        ValueError: something was dropped as what is no stage.
    """
    unknown = set(dropped).difference(STAGES)
    if unknown:
        raise ValueError(f"there is no stage {', '.join(sorted(unknown))}")
    stages: list[Stage] = []
    left = total
    for kind in STAGES:
        left -= dropped.get(kind, 0)
        stages.append(Stage(kind=kind, dropped=dropped.get(kind, 0), left=left))
    return tuple(stages)


def write_card(folder: Path, card: Card) -> None:
    """Write `card.json` and `card.md`.

    Raises:
        RunError: they can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "card.json").write_bytes(json.format(json.encode(card), indent=2) + b"\n")
        (folder / "card.md").write_text(markdown(card), encoding="utf-8")
    except OSError as cause:
        raise RunError(f"{folder}: the data card can't be written: {cause.strerror or cause}.") from cause


def markdown(card: Card) -> str:
    """The card for people."""
    return "\n".join([*_head(card), *_stages(card), *_agreement(card), *_noise(card.noise), *_origin(card)]) + "\n"


def _head(card: Card) -> Iterator[str]:
    yield "# Data card"
    yield ""
    yield (
        f"{card.kept:,} examples of {card.total:,} rows: {card.erroneous:,} with a wrong step, {card.clean:,} without, "
        f"on {card.questions:,} questions. Labels: {card.settings['labels']}; agreement: {card.settings['agree']}."
    )
    yield from _table(("source", "examples"), card.sources.items())


def _stages(card: Card) -> Iterator[str]:
    yield from ("", "## What was dropped", "")
    yield f"Every row is dropped at most once, at the first of these stages that it fails; {card.total:,} were read."
    yield from _table(("dropped as", "rows", "left"), ((one.kind, one.dropped, one.left) for one in card.stages))
    if card.topics_by:
        yield from ("", "Topics were told by: " + ", ".join(f"{way} {n:,}" for way, n in card.topics_by.items()) + ".")
    if card.uncorrected_candidates:
        yield from ("", f"{card.uncorrected_candidates:,} erroneous candidates have no correction.")
    if card.benchmarks:
        names = ", ".join(f"{name} ({count:,} questions)" for name, count in card.benchmarks.items())
        unread = len(card.benchmark_pictures_unread)
        yield from ("", f"Compared with {names}: {card.contaminated_pairs:,} offending pairs (contaminated.jsonl).")
        if unread:
            yield from ("", f"{unread:,} pictures of these could not be read, and were not compared.")
        blind = {name: count for name, count in card.benchmark_questions_uncompared.items() if count}
        if blind:
            listed = ", ".join(f"{count:,} of {name}" for name, count in blind.items())
            yield from ("", f"Nothing can be said of {listed}: no picture was read, and the text is too short.")
    else:
        yield from ("", "Compared with no benchmark: contamination is unknown.")


def _agreement(card: Card) -> Iterator[str]:
    yield from ("", "## Teacher and Monte-Carlo")
    if not card.agreement:
        yield from ("", "No solution has the labels of both.")
    for one in card.agreement:
        yield from ("", f"### {one.teacher}")
        yield from _table(("first wrong step", "solutions"), ((_CELL_NAMES[cell], one.cells[cell]) for cell in CELLS))
        rows = [
            (name, _number(found.kappa), _interval(found), _number(found.observed), f"{found.n:,}")
            for name, found in (("solutions", one.solutions), ("steps", one.steps))
        ]
        yield from _table(("Cohen's kappa over", "kappa", "95 %", "raw agreement", "items"), rows)
        columns = list(dict.fromkeys(place for found in one.first_errors.values() for place in found))
        columns.sort(key=lambda place: (place == "none", len(place), place))
        yield from ("", "First wrong step: rows by the teacher, columns by Monte-Carlo.")
        body = [(said, *(found.get(place, 0) for place in columns)) for said, found in one.first_errors.items()]
        yield from _table(("", *columns), body)


_CELL_NAMES = {
    "both_clean": "none, both say",
    "same_step": "the same",
    "other_step": "another",
    "teacher_only": "the teacher alone finds one",
    "monte_carlo_only": "Monte-Carlo alone finds one",
}


def _noise(noise: Noise) -> Iterator[str]:
    yield from ("", "## Noise of Monte-Carlo's labels", "")
    if not noise.steps:
        yield "Unknown: of no step all completions were drawn."
        return
    yield (
        f"{noise.steps:,} steps with all completions drawn, {noise.without_success:,} of them their solution's first "
        f"without a success. An estimated {noise.missed:,.1f} of these, or more, are right all the same: "
        f"{_percent(noise.share_of_wrong)} of the first wrong steps, {_percent(noise.share_of_right)} of the right "
        "ones (see `assay.train.concord`)."
    )


def _origin(card: Card) -> Iterator[str]:
    yield from ("", "## Teachers")
    rows = (
        (
            one.teacher,
            " ".join(f"{status} {count:,}" for status, count in one.statuses.items()),
            f"{one.tries:,}",
            f"{one.usage.prompt_tokens:,}",
            f"{one.usage.completion_tokens:,}",
        )
        for one in card.teachers
    )
    yield from _table(("teacher", "critiques", "tries", "prompt tokens", "completion tokens"), rows)
    if card.unmatched_critiques:
        yield from ("", f"{card.unmatched_critiques:,} critiques are of solutions that are not in the rollouts.")
    yield from ("", "## Settings")
    shown = {name: value for name, value in card.settings.items() if name != "inputs"}
    yield from _table(("setting", "value"), ((name, json.encode(value).decode()) for name, value in shown.items()))
    yield from _table(("input", "SHA-256"), card.settings["inputs"].items())


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    body = list(rows)
    if not body:
        return
    yield ""
    yield _row(head)
    yield _row(tuple("---" if not place else "--:" for place in range(len(head))))
    for row in body:
        yield _row(row)


def _row(cells: Iterable[object]) -> str:
    shown = (f"{cell:,}" if isinstance(cell, int) else " ".join(str(cell).split()) for cell in cells)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in shown) + " |"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(found: Agreement) -> str:
    return f"{_number(found.low)} .. {_number(found.high)}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"
