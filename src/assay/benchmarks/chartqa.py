"""ChartQA: 2,500 test questions on 1,509 charts, half written by people (`human`), half generated (`augmented`).

Paper:   https://arxiv.org/abs/2203.10244 (Findings of ACL 2022)
Data:    https://github.com/vis-nlp/ChartQA, also https://huggingface.co/datasets/HuggingFaceM4/ChartQA
Licence: GPL-3.0; no row of it is shipped here

One row (made up, in the form of `test/test_human.json`):

    {"imgname": "12.png", "query": "What is the value of the lowest bar?", "label": "17"}

`--data` takes a split's folder of the repository (`test_human.json`, `test_augmented.json`, `png/`), the folder above
it, parquet files of the hub's form (`query`, `label`, `human_or_machine`, or `question`, `answer`, `type`), or a folder
with `questions.jsonl`, whose rows have `id`, `image`, and `source` for the half. Questions on one chart share a group.

The rule is relaxed accuracy (`assay.mark.relaxed`) on the whole reply, stripped: hence the prompt asks for the answer
alone. `robust` finds the answer in a longer reply, compares numbers in decimal within 5 % of the gold, minds percent
signs (`assay.mark.asked`), and wants a year exactly where the question asks for one.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from assay.benchmarks.base import Benchmark, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import Table, hash_files, hub_table, local_table
from assay.images import Transform
from assay.mark.asked import asked_unit, mark_asked
from assay.mark.choice import mark_choice, read_choice
from assay.mark.number import read_number
from assay.mark.relaxed import as_float, asks_for_year, relaxed
from assay.mark.spans import read_text
from assay.mark.wording import same_wording
from assay.types import (
    ChoiceGold,
    Gold,
    ImagePart,
    Mark,
    Marked,
    Message,
    NumberGold,
    Option,
    Reply,
    Sample,
    Sampling,
    TextGold,
    TextPart,
)

HUB = "HuggingFaceM4/ChartQA"
HALVES = ("human", "augmented")
RELATIVE = "0.05"
FACETS = ("question_type", "source", "chart_complexity", "question_complexity")
YES_NO = (Option(label="Yes"), Option(label="No"))


def open_chartqa(source: Source) -> RowsDataset:
    """ChartQA from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or "test"
    if source.data is None:
        table = hub_table(HUB, split)
    else:
        table = _official(source.data, split) or local_table(source.data, split, names=("questions",))
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


def _official(data: Path, split: str) -> Table | None:
    """The files of both halves in the repository's layout, in the split's folder or the one above."""
    for folder in (data, data / split):
        files = tuple(file for half in HALVES if (file := folder / f"{split}_{half}.json").is_file())
        if files:
            return Table(files=files, folder=folder, revision=hash_files(files))
    return None


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row of any of the forms as a sample."""
    question = str(row.get("query") or row.get("question") or "").strip()
    labels = _labels(row.get("label", row.get("answer")))
    picture = row.get("image") or (f"png/{row['imgname']}" if row.get("imgname") else None)
    if not question or picture is None:
        raise context.bad("has no question or no picture", "Give both.")
    if not labels:
        context.note("have no answer: robust leaves them out")
    gold = _gold(labels, question)
    image = context.picture(picture)
    complexities = ("chart_complexity", "question_complexity")
    return Sample(
        id=_id(row, context),
        question=question,
        images=(image,),
        options=YES_NO if isinstance(gold, ChoiceGold) else (),
        gold=gold,
        facets={
            "question_type": (_type_of(gold),),
            "source": (_half(row, context),),
            **{name: (str(row[name]),) for name in complexities if row.get(name)},
        },
        group=str(row.get("imgname") or Path(image).stem),
    )


def _labels(value: object) -> tuple[str, ...]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(str(label).strip() for label in values if label is not None and str(label).strip())


def _gold(labels: Sequence[str], question: str) -> Gold | None:
    if not labels:
        return None
    label = labels[0]
    if len(labels) > 1:
        return TextGold(values=tuple(labels))
    if label.lower() in ("yes", "no"):
        return ChoiceGold(labels=(label.capitalize(),))
    if as_float(label) is None:
        return TextGold(values=(label,))
    relative = None if asks_for_year(question, label) else RELATIVE
    return NumberGold(value=label, relative=relative, unit=asked_unit(question))


def _type_of(gold: Gold | None) -> str:
    match gold:
        case NumberGold(relative=None):
            return "year"
        case NumberGold():
            return "number"
        case ChoiceGold():
            return "yes_no"
        case _:
            return "text"


def _half(row: Mapping[str, Any], context: RowContext) -> str:
    """`human` or `augmented`: a column, the hub's 0 and 1, `human_test`, or the name of the repository's file."""
    machine = row.get("human_or_machine")
    told = HALVES[machine] if machine in (0, 1) else row.get("source") or row.get("type") or context.where
    return next((half for half in HALVES if half in str(told)), "unknown")


def _id(row: Mapping[str, Any], context: RowContext) -> str:
    """The row's id; the published files have none, so the file and the row's number are it."""
    if row.get("id") is not None:
        return str(row["id"])
    place = re.fullmatch(r"(?P<file>.+)\.(?:json|parquet): row (?P<number>\d+)", context.where)
    if place is None:
        raise context.bad("has no id", "Give each question an id.")
    return f"{place['file']}-{place['number']}"


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = ("chartqa",)


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the chart, then the text."""
    text = fill(load_prompt("chartqa", prompt), {"question": sample.question})
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    """SHA-256 over the prompt file."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Marks


def mark(sample: Sample, reply: Reply) -> Marked:
    """The verdict of relaxed accuracy and the right one."""
    reference, robust = mark_reference(reply, sample.gold), _mark_robust(sample, reply)
    return both(reference, robust, lambda: _difference(reference, robust))


def mark_reference(reply: Reply, gold: Gold | None) -> Mark:
    """Relaxed accuracy of the whole reply; of several labels any may be right."""
    answer = reply.text.strip()
    right = any(relaxed(gold=label, answer=answer) for label in _written(gold))
    return Mark(verdict="right" if right else "wrong", extraction=answer)


def _written(gold: Gold | None) -> tuple[str, ...]:
    match gold:
        case NumberGold():
            return (gold.value,)
        case ChoiceGold():
            return gold.labels
        case TextGold():
            return gold.values
        case _:
            return ()


def _mark_robust(sample: Sample, reply: Reply) -> Mark:
    match sample.gold:
        case NumberGold() as gold:
            number = read_number(reply.text, unit=gold.unit, extracted=reply.extracted)
            return unless_cut(mark_asked(number, gold), reply, explicit=number.explicit)
        case ChoiceGold() as gold:
            choice = read_choice(reply.text, sample.options, multiple=False, extracted=reply.extracted)
            return unless_cut(mark_choice(choice, gold), reply, explicit=choice.explicit)
        case TextGold() as gold:
            reading = read_text(reply.text, extracted=reply.extracted)
            if not reading.text:
                return Mark(verdict="unanswered", reason="no answer")
            right = same_wording(gold, reading.text, question=sample.question)
            verdict = Mark(verdict="right" if right else "wrong", extraction=reading.text)
            return unless_cut(verdict, reply, explicit=reading.explicit)
        case _:
            return NO_GOLD


def _difference(reference: Mark, robust: Mark) -> str:
    said = f"robust reads {quoted(robust.extraction)}" if robust.extraction else "robust finds no answer"
    because = f" ({robust.reason})" if robust.reason else ""
    return f"the rule compares the whole reply, {quoted(reference.extraction or '')}; {said}{because}"


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    return next(iter(_written(sample.gold)), "")


BENCHMARK = Benchmark(
    name="chartqa",
    title="ChartQA: questions about charts, by people and generated",
    licence="GPL-3.0",
    links=("https://arxiv.org/abs/2203.10244", "https://github.com/vis-nlp/ChartQA"),
    default_split="test",
    sizes={"test": 2_500},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=1024),
    open=open_chartqa,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS,
)
