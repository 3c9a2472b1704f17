"""FinMME: questions about charts from financial research reports (11,099 on about 4,450 pictures).

Paper:   https://arxiv.org/abs/2505.24714 (ACL 2025)
Code:    https://github.com/luo-junyu/FinMME (eval.py at 702cb3a)
Data:    https://huggingface.co/datasets/luojunyu/FinMME, one split, `train`
Licence: MIT

One row (of the three examples in the official repository; the hub's rows also have `knowledge_domain`):

    {"id": "ex2", "image": "images/ex2.png", "question_type": "multiple_choice",
     "question_text": "Based on the chart rating and stock price target history chart which of ... are correct?",
     "options": {"A": "The highest price target shown was 26.46.", "B": "The stock price reached its lowest ...",
                 "C": "The stock was covered by analyst as of ...", "D": "The SS300 Index followed a ..."},
     "answer": "ACD", "unit": null, "tolerance": null,
     "verified_caption": "Rating and stock price target history", "related_sentences": null}

`--data` takes a parquet file, a folder of parquet files, or JSONL with these columns and pictures as paths beside it;
without it the hub's files are fetched. Image step, temperature and token limit are the official script's; the prompts
carry what its prompts carry, in our own words. Tolerances are absolute.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.finmme_reference import explain, mark_reference
from assay.benchmarks.options import parse_labels, parse_options
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import hub_table, local_table
from assay.images import Transform
from assay.mark.asked import mark_asked
from assay.mark.choice import mark_choice, read_choice
from assay.mark.finscore import finscore
from assay.mark.number import read_number
from assay.types import (
    ChoiceGold,
    Gold,
    ImagePart,
    Mark,
    Marked,
    Message,
    NumberGold,
    Option,
    Outcome,
    Reply,
    Sample,
    Sampling,
    TextPart,
)

HUB = "luojunyu/FinMME"
SPLIT = "train"
QUESTION_TYPES = ("single_choice", "multiple_choice", "numerical")

# facet -> the columns that may hold it, first come first served.
FACET_COLUMNS = {
    "knowledge_domain": ("knowledge_domain", "domain"),
    "cognitive_level": ("cognitive_level", "cognitive_ability", "ability"),
    "chart_type": ("chart_type", "chart_class", "chart_kind"),
    "asset_class": ("asset_class", "asset_type"),
}
FACETS = ("question_type", "multi_answer", *FACET_COLUMNS)


def open_finmme(source: Source) -> RowsDataset:
    """FinMME from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or SPLIT
    if source.data is None:
        table = hub_table(HUB, split)
    else:
        table = local_table(source.data, split, names=("rows", "official_examples"))
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample. What the row lacks is noted as a fact; only what can't be understood is an error."""
    sample_id = _text(row.get("id"))
    if not sample_id:
        raise context.bad("has no id", "Give each question an id.")
    question_type = _text(row.get("question_type"))
    if question_type not in QUESTION_TYPES:
        raise context.bad(f"has the question_type {question_type!r}", f"Write one of {', '.join(QUESTION_TYPES)}.")
    answer = _text(row.get("answer"))
    if not answer:
        context.note("have no answer: the script takes them for wrong, robust leaves them out")
    if question_type == "numerical":
        options: tuple[Option, ...] = ()
        gold: Gold | None = _number_gold(row, answer, context)
    else:
        options = _options(row, context)
        gold = _choice_gold(answer, options, question_type == "multiple_choice", context)
        options = _with_labels_of(gold, options, context)
    images = _images(row, context)
    return Sample(
        id=sample_id,
        question=_question(row, context),
        images=images,
        options=options,
        gold=gold,
        facets=_facets(row, question_type, answer, context),
        context=_context(row),
        group=_group(row, images) or sample_id,
    )


def _text(value: object) -> str:
    """A cell as text; empty for null and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def _question(row: Mapping[str, Any], context: RowContext) -> str:
    question = _text(row.get("question_text"))
    if not question:
        context.note("have no question text: they can be scored, not asked")
    return question


def _images(row: Mapping[str, Any], context: RowContext) -> tuple[str, ...]:
    value: object = row.get("image")
    held = cast("list[object]", value) if isinstance(value, list) else [value]
    images = tuple(context.picture(item) for item in held if item is not None and item != "")
    if not images:
        context.note("have no picture")
    return images


def _group(row: Mapping[str, Any], images: Sequence[str]) -> str:
    """What the questions on one picture share: its path as written, or the content hash it is stored under."""
    if isinstance(row.get("image"), str):
        return row["image"]
    return Path(images[0]).stem if images else ""


def _options(row: Mapping[str, Any], context: RowContext) -> tuple[Option, ...]:
    options = parse_options(row.get("options"))
    if not options:
        context.note("have no options that can be read: the labels A to N are taken for granted")
    return options


def _choice_gold(answer: str, options: Sequence[Option], multiple: bool, context: RowContext) -> ChoiceGold | None:
    if not answer:
        return None
    labels = parse_labels(answer, options)
    if labels:
        return ChoiceGold(labels=labels, multiple=multiple)
    if context.editable:
        raise context.bad(
            f"has the answer {answer!r}, which names none of its options",
            "Write the letters of the right options.",
        )
    context.note("have an answer that names none of their options: robust leaves them out")
    return None


def _with_labels_of(gold: ChoiceGold | None, options: tuple[Option, ...], context: RowContext) -> tuple[Option, ...]:
    """Published files can't be mended by their reader: a label that only the answer knows becomes an option there."""
    if gold is None or not options or context.editable:
        return options
    missing = [label for label in gold.labels if label not in {option.label for option in options}]
    if missing:
        context.note("have an answer outside their options: its label is taken as a further option")
    return options + tuple(Option(label=label) for label in missing)


def _number_gold(row: Mapping[str, Any], answer: str, context: RowContext) -> NumberGold | None:
    tolerance = _tolerance(row, context)
    if not answer:
        return None
    return NumberGold(value=answer, tolerance=tolerance, unit=_text(row.get("unit")) or None)


def _tolerance(row: Mapping[str, Any], context: RowContext) -> str | None:
    """As written: the digits of float32 columns are kept (0.1 is 0.10000000149011612 there)."""
    if "tolerance" not in row:
        return "0"  # what the script takes where there is no such column
    value = row["tolerance"]
    try:
        usable = value is not None and not math.isnan(float(value))
    except (TypeError, ValueError):
        usable = False
    if usable:
        return str(value).strip()
    context.note("have no tolerance: the script finds every answer wrong, robust compares exactly")
    return None if value is None else "NaN"


def _facets(row: Mapping[str, Any], question_type: str, answer: str, context: RowContext) -> dict[str, tuple[str, ...]]:
    facets: dict[str, tuple[str, ...]] = {"question_type": (question_type,)}
    # The script's penalty is about these rows, by the length of the answer as written.
    if question_type == "multiple_choice" and len(answer) > 1:
        facets["multi_answer"] = ("yes",)
    for facet, columns in FACET_COLUMNS.items():
        values = next((found for column in columns if (found := _values(row.get(column)))), ())
        if values:
            facets[facet] = values
    if "knowledge_domain" not in facets:
        context.note("have no knowledge domain: FinScore by domain leaves them out")
    return facets


def _values(cell: object) -> tuple[str, ...]:
    cells = cast("list[object]", cell) if isinstance(cell, list) else [cell]
    return tuple(text for text in map(_text, cells) if text)


def _context(row: Mapping[str, Any]) -> dict[str, str]:
    columns = {"caption": "verified_caption", "related_sentences": "related_sentences", "unit": "unit"}
    return {name: text for name, column in columns.items() if (text := _text(row.get(column)))}


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = {question_type: f"finmme_{question_type}" for question_type in QUESTION_TYPES}


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the text, then the picture, in the script's order."""
    shown = [f"{option.label}: {option.text}" for option in sample.options if option.text]
    values = {
        **sample.context,
        "question": sample.question,
        "options": "".join(f"\n{line}" for line in shown),
    }
    text = fill(load_prompt(PROMPTS[question_type_of(sample)], prompt), values)
    return (Message(role="user", parts=(TextPart(text=text), *images)),)


def question_type_of(sample: Sample) -> str:
    return sample.facets["question_type"][0]


def prompt_hash() -> str:
    """SHA-256 over the three prompt files."""
    return hash_prompts(load_prompts(tuple(PROMPTS.values())))


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply) -> Marked:
    """The script's verdict and the right one."""
    numerical = question_type_of(sample) == "numerical"
    reference = mark_reference(reply, sample.gold, numerical=numerical)
    robust = _mark_robust(sample, reply)
    same = (reference.verdict == "right") == (robust.verdict == "right") and robust.verdict != "unmarkable"
    return Marked(
        reference=reference,
        robust=robust,
        difference=None if same else explain(reply, sample.gold, reference, robust),
    )


def _mark_robust(sample: Sample, reply: Reply) -> Mark:
    gold = sample.gold
    if isinstance(gold, ChoiceGold):
        reading = read_choice(reply.text, sample.options, multiple=gold.multiple, extracted=reply.extracted)
        verdict = mark_choice(reading, gold)
        explicit = reading.explicit
    elif isinstance(gold, NumberGold):
        number = read_number(reply.text, unit=gold.unit, extracted=reply.extracted)
        verdict = mark_asked(number, gold)  # a few rows have no unit
        explicit = number.explicit
    else:
        return Mark(verdict="unmarkable", reason="the row has no answer")
    # What a reply says on its way to an answer it never gave is not its answer.
    if reply.finish == "length" and not explicit:
        return Mark(verdict="unanswered", extraction=None, reason="truncated")
    return verdict


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    if isinstance(sample.gold, ChoiceGold):
        return f"Answer: {','.join(sample.gold.labels)}"
    if isinstance(sample.gold, NumberGold):
        return f"Answer: {sample.gold.value}"
    return ""


def detail(sample: Sample) -> dict[str, str]:
    """For FinScore as the paper writes it: the right labels, and how many options there are where that is known."""
    if not isinstance(sample.gold, ChoiceGold):
        return {}
    known = {"options": str(len(sample.options))} if sample.options else {}
    return {"gold": ",".join(sample.gold.labels), **known}


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """FinScore by the script's definition, and by the paper's beside it."""
    return {"finscore": msgspec.to_builtins(finscore(outcomes, on_missing=on_missing))}


BENCHMARK = Benchmark(
    name="finmme",
    title="FinMME: charts from financial research reports",
    licence="MIT",
    links=("https://arxiv.org/abs/2505.24714", "https://github.com/luo-junyu/FinMME"),
    default_split=SPLIT,
    sizes={"train": 11_099},
    hub=HUB,
    transform=Transform(max_edge=1024, format="jpeg", quality=80),
    sampling=Sampling(temperature=0.0, max_tokens=1280),
    open=open_finmme,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=tuple(PROMPTS.values()),
    detail=detail,
    scores=scores,
)
