"""One's own data: a table of questions and answers, in any of the forms that people keep them in.

    assay eval my.jsonl --images pictures --model NAME --base-url URL
    assay eval hub:OWNER/NAME --split test --map question=prompt,answer=gold ...

One row:

    {"id": "q1", "question": "What was the margin?", "image": "q1.png", "answer": 12.5, "tolerance": "1%", "unit": "%"}

The columns are found by their names (`own_columns`), the answers' types are inferred (`own_answers`). The page for
users is `docs/own-data.md`.

There is no published script, so `reference` is the strict rule that many papers call exact match: the explicit answer
(`Answer: X`, a box) must be the gold as the data writes it, but for case, blanks, Unicode forms and a final full stop.
`robust` reads answers in other forms and compares what they mean: labels, numbers within the tolerance, expressions by
value, texts word for word.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from assay.benchmarks.base import Benchmark, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.own_answers import TRUE_FALSE, Answer, read_answer
from assay.benchmarks.own_columns import Columns, Profile, blank, facet_values, find_columns, plain
from assay.benchmarks.own_pictures import read_pictures
from assay.benchmarks.pictures import PictureStore
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import KINDS, SUFFIXES, Table, hub_table, local_table
from assay.errors import DataError
from assay.images import Transform
from assay.mark.asked import mark_asked
from assay.mark.choice import mark_choice, read_choice
from assay.mark.exact import mark_text
from assay.mark.expression import mark_expression, read_expression
from assay.mark.number import mark_number, read_number
from assay.mark.spans import read_text
from assay.mark.text import normalise, unwrap
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    ImagePart,
    Mark,
    Marked,
    Message,
    NumberGold,
    Reading,
    Reply,
    Sample,
    Sampling,
    TextGold,
    TextPart,
)

PREFIX = "own:"
HUB = "hub:"
MAX_QUESTION = 100_000
"""Characters of a question; a longer one is a file that went wrong."""


class Layout(NamedTuple):
    """A table and how it is read. `multiple`: some question has several right options, so all are asked that way."""

    table: Table
    columns: Columns
    answer_type: str | None
    multiple: bool
    facts: tuple[str, ...]


def open_own(name: str, source: Source) -> RowsDataset:
    """The table in `source.data`, or that of `own:hub:OWNER/NAME` where it is None.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table`, `hub_table` and `find_columns`.
    """
    layout = lay_out(name, source)
    dataset = rows_dataset(
        layout.table,
        partial(convert, layout),
        split=split_of(source),
        mark=mark,
        gold_reply=gold_reply,
        need_pictures=source.need_pictures,
    )
    dataset.facts = (*layout.facts, *dataset.facts)
    return dataset


def split_of(source: Source) -> str:
    """A file of one's own has all there is; a data set on the hub has splits."""
    return source.split or ("all" if source.data else "test")


def lay_out(name: str, source: Source) -> Layout:
    """Find out how a table is to be read, from all of its rows.

    Lines that are no rows are passed over here: whoever reads the rows then reports them.
    """
    reading = source.reading or Reading()
    table = _table(name, source, reading)
    profile = Profile()
    broken: list[DataError] = []
    for row in table.rows(lambda error: None if broken else broken.append(error)):
        profile.add(row.fields)
    if not profile.rows:  # no columns to look for: say what is there instead
        raise broken[0] if broken else DataError(str(table.files[0]), "holds no rows", "Give a file with questions.")
    columns = find_columns(profile, reading, str(table.files[0]))
    kinds: Counter[str] = Counter()
    multiple = False
    for row in table.rows(_pass_over):
        context = RowContext(row.where, table, PictureStore())
        try:
            answer = read_answer(row.fields, columns, reading.answer_type, context)
        except DataError:
            continue
        if answer.gold is not None:
            kinds[answer.kind] += 1
            multiple |= isinstance(answer.gold, ChoiceGold) and len(answer.gold.labels) > 1
    how = "as asked" if reading.answer_type else "inferred row by row; --answer-type to change"
    counted = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    facts = [*columns.facts(), f"Answers ({how}): {counted or 'none'}."]
    if multiple:
        facts.append("Some questions have several right options, so every choice question is asked for one or more.")
    return Layout(table, columns, reading.answer_type, multiple, tuple(facts))


def _pass_over(_: DataError) -> None:
    return


def _table(name: str, source: Source, reading: Reading) -> Table:
    if source.data is None:
        table = hub_table(name.removeprefix(PREFIX).removeprefix(HUB), split_of(source))
    elif source.data.is_dir() and source.split is None:
        there = sorted(path for path in source.data.iterdir() if path.suffix in SUFFIXES)
        if len(there) != 1:
            listed = ", ".join(path.name for path in there[:8]) or "none"
            fault = f"must hold one file {KINDS}, and holds {listed}"
            raise DataError(str(source.data), fault, "Name the file itself.")
        table = replace(local_table(there[0], "all"), folder=source.data)
    else:
        table = local_table(source.data, source.split or "all")
    if not reading.images:
        return table
    if source.need_pictures and not Path(reading.images).is_dir():
        raise DataError(reading.images, "is no folder", "Give the folder of the pictures with --images.")
    return replace(table, folder=Path(reading.images))


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(layout: Layout, row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample."""
    columns = layout.columns
    question = "" if blank(row.get(columns.question)) else plain(row[columns.question])
    if not question:
        raise context.bad(f"has no question (column {columns.question!r})", "Write one, or take the row out.")
    if len(question) > MAX_QUESTION:
        raise context.bad(
            f"has a question of {len(question):,} characters", f"A question has {MAX_QUESTION:,} at most."
        )
    answer = read_answer(row, columns, layout.answer_type, context, multiple=layout.multiple)
    if answer.gold is None:
        context.note("have no answer: they are asked, and left out of the score")
    sample_id = _id(row, layout, context)
    images, named = read_pictures(row, columns, context)
    return Sample(
        id=sample_id,
        question=question,
        images=images,
        options=answer.options,
        gold=answer.gold,
        facets=_facets(row, layout, answer),
        context=_context(row, layout, answer),
        group=_group(row, columns, named, sample_id),
    )


def _id(row: Mapping[str, Any], layout: Layout, context: RowContext) -> str:
    column = layout.columns.id
    if column is None:
        return _NUMBER.sub(r"\1", context.where) if len(layout.table.files) == 1 else context.where
    if blank(row.get(column)):
        raise context.bad(f"has no id (column {column!r})", "Give each question an id, or --map id= for none.")
    return plain(row[column])


_NUMBER = re.compile(r".*(?::|: row )(\d+)(?: \(line \d+\))?")


def _kind(layout: Layout, answer: Answer) -> str:
    several = answer.kind == "choice" and layout.multiple and answer.options != TRUE_FALSE
    return "multiple_choice" if several else answer.kind


def _facets(row: Mapping[str, Any], layout: Layout, answer: Answer) -> dict[str, tuple[str, ...]]:
    # A column that is called question_type has its owner's word for it, which goes before ours.
    facets: dict[str, tuple[str, ...]] = {"question_type": (_kind(layout, answer),)}
    for name in layout.columns.facets:
        values = facet_values(row.get(name))
        facets[name] = (plain(row[name]),) if values is None else values or ("(empty)",)
    return facets


def _context(row: Mapping[str, Any], layout: Layout, answer: Answer) -> dict[str, str]:
    """The kind, which chooses the prompt, and the unit, which stands in it."""
    column = layout.columns.unit
    unit = {} if column is None or blank(row.get(column)) else {"unit": plain(row[column])}
    return {"kind": _kind(layout, answer)} | unit


def _group(row: Mapping[str, Any], columns: Columns, pictures: Sequence[str], sample_id: str) -> str:
    """Questions of one group are not independent: as the data says, else those on the same pictures."""
    if columns.group is not None and not blank(row.get(columns.group)):
        return plain(row[columns.group])
    return ";".join(pictures) or sample_id


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = {
    "choice": "own_choice",
    "multiple_choice": "own_multiple",
    "number": "own_number",
    "expression": "own_free",
    "text": "own_free",
}


def messages(sample: Sample, images: Sequence[ImagePart], /, *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the pictures, then the text."""
    listed = "".join(
        f"\n{option.label}: {option.text}" if option.text else f"\n{option.label}" for option in sample.options
    )
    values = {"question": sample.question, "options": listed, "unit": sample.context.get("unit", "")}
    text = fill(load_prompt(PROMPTS[sample.context["kind"]], prompt), values)
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    """SHA-256 over the prompt files."""
    return hash_prompts(load_prompts(tuple(sorted(set(PROMPTS.values())))))


# --------------------------------------------------------------------------------------------------------------------
# Marks


def mark(sample: Sample, reply: Reply) -> Marked:
    """Exact match of the explicit answer, and the verdict by what the answer means."""
    if sample.gold is None:
        return both(NO_GOLD, NO_GOLD, lambda: NO_GOLD.reason)
    reference, robust = _mark_exactly(sample, reply), _mark_robust(sample, reply)
    return both(reference, robust, lambda: _difference(reference, robust))


def _mark_exactly(sample: Sample, reply: Reply) -> Mark:
    reading = read_text(reply.text, extracted=reply.extracted)
    if not reading.explicit or not reading.text:
        return Mark(verdict="unanswered", reason="no explicit answer")
    right = _folded(reading.text) in {_folded(form) for form in _written(sample)}
    return Mark(verdict="right" if right else "wrong", extraction=reading.text)


def _written(sample: Sample) -> tuple[str, ...]:
    match sample.gold:
        case ChoiceGold(labels=labels):
            return (",".join(labels),)
        case NumberGold(value=value) | ExpressionGold(value=value):
            return (value,)
        case TextGold(values=values):
            return values
        case _:
            return ()


def _folded(text: str) -> str:
    folded = unwrap(normalise(text)).strip().removesuffix(".").casefold()
    return re.sub(r"\s*,\s*", ",", " ".join(folded.split()))


def _mark_robust(sample: Sample, reply: Reply) -> Mark:
    match sample.gold:
        case ChoiceGold() as gold:
            choice = read_choice(reply.text, sample.options, multiple=gold.multiple, extracted=reply.extracted)
            return unless_cut(mark_choice(choice, gold), reply, explicit=choice.explicit)
        case NumberGold() as gold:
            number = read_number(reply.text, unit=gold.unit, extracted=reply.extracted)
            verdict = mark_number(number, gold) if "unit" in sample.context else mark_asked(number, gold)
            return unless_cut(verdict, reply, explicit=number.explicit)
        case ExpressionGold() as gold:
            formula = read_expression(reply.text, extracted=reply.extracted)
            return unless_cut(mark_expression(formula, gold), reply, explicit=formula.explicit)
        case TextGold() as gold:
            verdict, text = mark_text(reply.text, gold, question=sample.question, extracted=reply.extracted)
            return unless_cut(verdict, reply, explicit=text.explicit)
        case _:
            return NO_GOLD


def _difference(reference: Mark, robust: Mark) -> str:
    if robust.verdict == "unmarkable":
        return robust.reason
    said = f"robust: {robust.verdict}" + (f" ({robust.reason})" if robust.reason else "")
    if reference.extraction is None:
        return f"exact match reads only an explicit answer, and there is none; {said}"
    return f"exact match compares {quoted(reference.extraction)} as it stands; {said}"


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    match sample.gold:
        case ExpressionGold(value=value):
            return rf"\boxed{{{value.strip().strip('$')}}}"
        case None:
            return ""
        case _:
            return f"Answer: {_written(sample)[0]}"


BENCHMARK = Benchmark(
    name="own",
    title="your own data",
    licence="yours",
    links=(),
    default_split="all",
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=partial(open_own, "own"),
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=tuple(dict.fromkeys(PROMPTS.values())),
)


def own_benchmark(name: str) -> Benchmark:
    """The benchmark of a table: `own:my.jsonl`, or `own:hub:OWNER/NAME`."""
    return replace(
        BENCHMARK, name=name, title=f"your own data: {name.removeprefix(PREFIX)}", open=partial(open_own, name)
    )
