"""TAT-QA: questions on a table and the text around it in financial reports; no pictures. Dev: 1,668 on 278 tables.

Paper:   https://arxiv.org/abs/2105.07624 (ACL 2021)
Code:    https://github.com/NExTplusplus/TAT-QA (measures read at 870accc), which also holds the data
Data:    https://huggingface.co/datasets/next-tat/TAT-QA
Licence: MIT

One context (made up, in the form of `tatqa_dataset_dev.json`) with one of its questions:

    {"table": {"uid": "t1", "table": [["", "2019", "2018"], ["Sales", "$ 96.5", "102.9"]]},
     "paragraphs": [{"uid": "p1", "order": 1, "text": "Sales are in millions."}],
     "questions": [{"uid": "q1", "question": "What was the change in sales in 2019 from 2018?", "answer": -6.4,
                    "answer_type": "arithmetic", "answer_from": "table-text", "scale": "million"}]}

`--data` takes the file, or its folder (also the repository's). Splits: dev, train, test_gold.

The published measures are exact match (the `reference` verdict) and F1 (its credit), see `tatqa_reference`. A reply is
read as `Answer:` and `Scale:` lines, or as the published form of a prediction, a JSON pair `[answer, scale]`. `robust`
compares the same parts in any order, numbers in decimal with their scales: calculated ones within half a hundredth, the
precision of the gold. Without a `Scale:` line a bare number is taken to be in the gold's scale.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

import msgspec
from msgspec import structs

from assay.benchmarks import tatqa_reference
from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import Row, hub_folder, local_table
from assay.benchmarks.tatqa_reference import Part, Prediction
from assay.images import Transform
from assay.mark.graded import mean_credit
from assay.mark.number import NumberReading, mark_number, read_number
from assay.mark.spans import read_text
from assay.mark.wording import same_wording
from assay.types import (
    Gold,
    ImagePart,
    Mark,
    Marked,
    Message,
    NumberGold,
    Outcome,
    Reply,
    Sample,
    Sampling,
    SpansGold,
    TextGold,
    TextPart,
)

HUB = "next-tat/TAT-QA"
SCALES = {
    "": Decimal(1),
    "thousand": Decimal(1_000),
    "million": Decimal(1_000_000),
    "billion": Decimal(1_000_000_000),
    "percent": Decimal("0.01"),
}
CALCULATED = ("arithmetic", "count")
HALF_A_HUNDREDTH = "0.005"
FACETS = ("question_type", "answer_from", "scale")


def open_tatqa(source: Source) -> RowsDataset:
    """TAT-QA from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_folder`.
    """
    split = source.split or "dev"
    name = f"tatqa_dataset_{split}"
    data = source.data or hub_folder(HUB, (f"{name}.json",))
    data = data / "dataset_raw" if (data / "dataset_raw").is_dir() else data  # the repository's folder
    table = dataclasses.replace(local_table(data, split, names=(name, f"{split}_subset")), expand=_questions)
    return rows_dataset(table, convert, split=split, mark=mark, gold_reply=gold_reply)


def _questions(context: Row) -> Iterator[Row]:
    """One row for each question of a context."""
    shared = {name: context.fields.get(name) for name in ("table", "paragraphs")}
    for question in context.fields.get("questions") or ():
        yield Row(where=f"{context.where}, question {question.get('uid')}", fields={**question, **shared})


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One question with its context as a sample."""
    sample_id, table = str(row.get("uid") or ""), row.get("table")
    if not sample_id or not isinstance(table, dict):
        raise context.bad("has no uid or no table", "Give a question its uid, and its context a table.")
    held = cast("dict[str, Any]", table)
    paragraphs = sorted(row.get("paragraphs") or (), key=lambda paragraph: paragraph.get("order", 0))
    scale = str(row.get("scale") or "")
    return Sample(
        id=sample_id,
        question=str(row.get("question") or "").strip(),
        gold=_gold(row, scale, context),
        facets={
            "question_type": (str(row.get("answer_type") or "unknown"),),
            "answer_from": (str(row.get("answer_from") or "unknown"),),
            "scale": (scale or "none",),
        },
        context={
            "table": "\n".join(" | ".join(map(str, cells)) for cells in held.get("table") or ()),
            "paragraphs": "\n".join(str(paragraph.get("text")) for paragraph in paragraphs),
        },
        group=str(held.get("uid") or sample_id),
    )


def _gold(row: Mapping[str, Any], scale: str, context: RowContext) -> Gold | None:
    answer: object = row.get("answer")
    if answer is None or answer == "" or answer == []:
        context.note("have no answer: the script takes them for wrong, robust leaves them out")
        return None
    if scale not in SCALES:
        raise context.bad(f"has the scale {scale!r}", f"Scales are {', '.join(filter(None, SCALES))}, or none.")
    if row.get("answer_type") in CALCULATED:
        return NumberGold(value=str(answer), tolerance=HALF_A_HUNDREDTH, unit=_UNITS.get(scale))
    values = cast("list[object]", answer) if isinstance(answer, list) else [answer]
    return SpansGold(values=tuple(map(str, values)), scale=scale)


_UNITS = {"percent": "%"} | {scale: scale for scale in ("thousand", "million", "billion")}


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = ("tatqa",)


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn of text; there are no pictures."""
    text = fill(load_prompt("tatqa", prompt), {**sample.context, "question": sample.question})
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    """SHA-256 over the prompt file."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Reading a reply

_SCALE_LINE = re.compile(
    r"(?<![^\W_])scale[*_\s]{0,4}[:=：][*_\s]{0,4}(none|thousand|million|billion|percent)", re.IGNORECASE
)
_ANSWER_LINE = re.compile(r"^[ \t*_#>-]{0,8}answer[*_ \t]{0,4}[:：][*_ \t]{0,4}(\S.*)$", re.IGNORECASE | re.MULTILINE)
_PAIR = re.compile(r"\s*\[.*\]\s*", re.DOTALL)


def read_prediction(reply: Reply) -> tuple[Prediction, bool]:
    """The answer's parts and scale, and whether they were given explicitly."""
    pair = _pair(reply.text)
    if pair is not None:
        return pair, True
    scales = _SCALE_LINE.findall(reply.text)
    scale = None if not scales else scales[-1].lower().replace("none", "")
    # A line about the scale is no part of an answer that isn't announced.
    reading = read_text(_SCALE_LINE.sub("", reply.text), extracted=reply.extracted)
    lines = _ANSWER_LINE.findall(reply.text)
    answer = lines[-1].strip(" *_") if lines and not reply.extracted else reading.text  # a span's signs as they are
    parts = tuple(part.strip() for part in answer.split("|") if part.strip())
    return Prediction(parts, scale), reading.explicit


def _pair(text: str) -> Prediction | None:
    """The published form, `[answer, scale]`, with an answer that is a text, a number, a list of such, or null."""
    if not _PAIR.fullmatch(text):
        return None
    try:
        answer, scale = msgspec.json.decode(text, type=tuple[list[Part] | Part | None, str | None])
    except msgspec.MsgspecError:
        return None
    if isinstance(answer, list):
        return Prediction(tuple(answer), scale)
    return Prediction((answer,) if answer else (), scale)  # an empty text and a bare 0 are no answer to the script


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply) -> Marked:
    """Exact match, with F1 as its credit, and the right verdict."""
    prediction, explicit = read_prediction(reply)
    reference = mark_reference(sample.gold, prediction)
    robust = unless_cut(_mark_robust(sample.gold, prediction), reply, explicit=explicit)
    return both(reference, robust, lambda: _difference(reference, robust))


def _difference(reference: Mark, robust: Mark) -> str:
    if robust.verdict == "unmarkable":
        return robust.reason
    read = f"robust reads {quoted(robust.extraction)}" if robust.extraction else "robust finds no answer"
    because = f" ({robust.reason})" if robust.reason else ""
    return f"exact match takes every word of {quoted(reference.extraction or '')}; {read}{because}"


def mark_reference(gold: Gold | None, prediction: Prediction) -> Mark:
    """Exact match and F1; the extraction is the prediction in its published form."""
    values, scale = _written(gold)
    measures = tatqa_reference.score(prediction, values, scale, graded=isinstance(gold, SpansGold))
    return Mark(
        verdict="right" if measures.exact else "wrong",
        extraction=json.dumps([list(prediction.parts), prediction.scale], ensure_ascii=False),
        credit=measures.f1,
    )


def _written(gold: Gold | None) -> tuple[tuple[str, ...], str]:
    if isinstance(gold, NumberGold):
        return (gold.value,), "percent" if gold.unit == "%" else gold.unit or ""
    return (gold.values, gold.scale) if isinstance(gold, SpansGold) else ((), "")


def _mark_robust(gold: Gold | None, prediction: Prediction) -> Mark:
    parts = tuple(map(str, prediction.parts))
    if gold is None:
        return NO_GOLD
    if not parts:
        return Mark(verdict="unanswered", reason="no answer")
    if isinstance(gold, NumberGold):
        part, *more = parts
        if more:
            return Mark(verdict="wrong", extraction=" | ".join(parts), reason="several parts, one number is asked for")
        return mark_number(_number(part, prediction.scale, gold.unit), gold)
    values, scale = _written(gold)
    if len(values) > 1 and len(parts) == 1:
        parts = tuple(part.strip() for part in re.split(r"[;\n]|,\s|,?\sand\s", parts[0]) if part.strip())
    right = len(values) == len(parts) and _all_matched(values, parts, scale, prediction.scale)
    return Mark(verdict="right" if right else "wrong", extraction=" | ".join(parts))


def _all_matched(values: Sequence[str], parts: Sequence[str], gold_scale: str, scale: str | None) -> bool:
    """Whether each value has a part of its own, in whatever order."""
    left = list(parts)
    for value in values:
        match = next((part for part in left if _same(value, part, gold_scale, scale)), None)
        if match is None:
            return False
        left.remove(match)
    return True


_NUMERIC = re.compile(r"[\s$€£¥(-]*\d[\d,.]*[\s)]*%?(?:\s?(?:thousand|million|billion|percent))?\s*", re.IGNORECASE)


def _same(value: str, part: str, gold_scale: str, scale: str | None) -> bool:
    if not _NUMERIC.fullmatch(value):
        return same_wording(TextGold(values=(value,)), part)
    unit = _UNITS.get(gold_scale)
    return mark_number(_number(part, scale, unit), NumberGold(value=value, unit=unit)).verdict == "right"


def _number(part: str, scale: str | None, unit: str | None) -> NumberReading:
    """The number of a part; the reply's scale counts where the part writes none of its own."""
    reading = read_number(part, unit=unit, extracted=True)
    if reading.status != "ok" or reading.factor is not None or scale is None or scale not in SCALES:
        return reading
    return structs.replace(reading, factor=SCALES[scale], scale=f"scale: {scale or 'none'}")


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    values, scale = _written(sample.gold)
    return f"Answer: {' | '.join(values)}\nScale: {scale or 'none'}" if values else ""


def detail(sample: Sample) -> dict[str, str]:
    """The gold's scale, for the share of right scales."""
    return {"scale": _written(sample.gold)[1]}


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """The script's three numbers, in percent as it prints them, and F1 with its interval, also by type of answer."""
    kept = [outcome for outcome in outcomes if on_missing == "wrong" or isinstance(outcome.result, Marked)]
    n = len(kept)
    right = sum(_reference(outcome).verdict == "right" for outcome in kept)
    scales = sum(_right_scale(outcome) for outcome in kept)
    f1 = mean_credit(kept, on_missing)
    types = sorted({outcome.facets["question_type"][0] for outcome in kept})
    official = {"em": right, "f1": n * (f1.mean or 0.0), "scale": scales}
    return {
        "official": {name: f"{100 * total / n:.2f}" for name, total in official.items()} if n else None,
        "f1": msgspec.to_builtins(f1),
        "f1_by_question_type": {
            kind: msgspec.to_builtins(
                mean_credit((outcome for outcome in kept if outcome.facets["question_type"][0] == kind), on_missing)
            )
            for kind in types
        },
    }


def _reference(outcome: Outcome) -> Mark:
    return outcome.result.reference if isinstance(outcome.result, Marked) else Mark(verdict="wrong")


def _right_scale(outcome: Outcome) -> bool:
    parts, scale = json.loads(_reference(outcome).extraction or "[[], null]")
    return bool(parts) and scale == outcome.detail["scale"]


BENCHMARK = Benchmark(
    name="tatqa",
    title="TAT-QA: tables and text in financial reports",
    licence="MIT",
    links=("https://arxiv.org/abs/2105.07624", "https://github.com/NExTplusplus/TAT-QA"),
    default_split="dev",
    sizes={"dev": 1_668},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=1024),
    open=open_tatqa,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS,
    detail=detail,
    scores=scores,
)
