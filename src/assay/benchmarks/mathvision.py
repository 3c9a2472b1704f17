r"""MATH-Vision (MATH-V): 3,040 competition problems with a picture each; 16 subjects, 5 levels.

Paper:   https://arxiv.org/abs/2402.14804 (NeurIPS 2024, Datasets and Benchmarks)
Code:    https://github.com/mathllm/MATH-V (scoring rule read at a1f5cc3)
Data:    https://huggingface.co/datasets/MathLLMs/MathVision, splits `test` (3,040) and `testmini` (304 of them)
Licence: MIT

One row:

    {"id": "5", "question": "Which number do you have to write in the last daisy?\n<image1>", "options": [],
     "answer": "61", "solution": null, "level": 2, "subject": "arithmetic", "image": "images/5.jpg"}

Half the problems (1,532) have five options. Where the options are in the picture the data has the letters for texts.
`<image1>`, `<image2>`, ... in a text are parts of the one picture.

`--data` takes a folder with `testmini.jsonl` or `test.jsonl` and `images/`, or parquet files. `test_meta.jsonl`, the
same rows without questions, can be scored but not asked. Prompts carry what the official ones do, in our own words;
temperature 0 is the official script's, the token limit and the picture at its own size are ours.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from assay.benchmarks import mathvision_reference
from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import hub_table, local_table
from assay.errors import DataError
from assay.images import Transform
from assay.mark.choice import mark_choice, read_choice
from assay.mark.expression import ExpressionReading, mark_expression, read_expression
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    Gold,
    ImagePart,
    Mark,
    Marked,
    Message,
    Option,
    Outcome,
    Reply,
    Sample,
    Sampling,
    TextPart,
)

HUB = "MathLLMs/MathVision"
LABELS = "ABCDE"


def open_mathvision(source: Source) -> RowsDataset:
    """MATH-Vision from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or "test"
    folder = source.data
    table = hub_table(HUB, split) if folder is None else local_table(folder, split, names=(f"{split}_meta",))
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample."""
    sample_id = str(row.get("id") or "").strip()
    if not sample_id:
        raise context.bad("has no id", "Give each question an id.")
    question = str(row.get("question") or "").strip()
    if not question:
        context.note("have no question text: they can be scored, not asked")
    options = _options(row, context)
    picture = row.get("decoded_image") or row.get("image")
    return Sample(
        id=sample_id,
        question=question,
        images=(context.picture(picture),) if picture else (),
        options=options,
        gold=_gold(row, bool(options), context),
        facets={
            "level": (str(row.get("level")),),
            "subject": (str(row.get("subject")),),
            "question_type": ("choice" if options else "free",),
        },
        group=sample_id,
    )


def _options(row: Mapping[str, Any], context: RowContext) -> tuple[Option, ...]:
    texts = [str(text).strip() for text in row.get("options") or ()]
    if len(texts) > len(LABELS):
        raise context.bad(f"has {len(texts)} options", f"There can be {len(LABELS)} at most.")
    letters = [_letter(text) for text in texts]
    # "A", "(B)", "$C$": the options stand in the picture. In three rows a letter stands under another label (option D
    # is "E"); there all texts are kept, and a reply's letter means the label. "C)" is kept, for the script compares it.
    shuffled = any(letter and letter != label for letter, label in zip(letters, LABELS, strict=False))
    return tuple(
        Option(label=label, text="" if letter == label and not shuffled and text != f"{letter})" else text)
        for label, letter, text in zip(LABELS, letters, texts, strict=False)
    )


@lru_cache(maxsize=4096)
def _letter(text: str) -> str:
    """The letter that an option's text is, and nothing else."""
    bare = re.sub(r"[\s$()]", "", text).upper()
    return bare if len(bare) == 1 and bare in LABELS else ""


def _gold(row: Mapping[str, Any], choice: bool, context: RowContext) -> Gold | None:
    answer = row.get("answer")
    if answer is None or not str(answer).strip():
        context.note("have no answer: the script takes them for wrong, robust leaves them out")
        return None
    return ChoiceGold(labels=(str(answer).strip(),)) if choice else ExpressionGold(value=str(answer))


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = ("mathvision_choice", "mathvision_free")

_PLACEHOLDER = re.compile(r"<image\d+>")
_ON_ITS_OWN = re.compile(r"(?m)^[ \t]*<image\d+>[ \t]*(?:\n|$)|\s*<image\d+>\s*\Z")


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the picture, then the text.

    A placeholder that only says "here is the picture" is dropped; where the texts speak of several parts, or of one
    within a sentence, the placeholders stay and a line explains them.

    Raises:
        DataError: for a row without a question (`test_meta.jsonl`).
    """
    if not sample.question:
        raise DataError(
            f"MATH-Vision {sample.id}", "has no question text", "Give the split's own file, e.g. test.jsonl."
        )
    texts = [sample.question, *(option.text for option in sample.options)]
    parts = _parts(texts)
    question = sample.question
    if len(parts) == 1:
        question = _ON_ITS_OWN.sub("", question).strip()
        parts = _parts([question, *texts[1:]])
    worded = any(option.text and _letter(option.text) != option.label for option in sample.options)
    listed = [f"\n({option.label}) {option.text}".rstrip() for option in sample.options]
    values = {
        "parts": ", ".join(parts),
        "question": question,
        "options": "".join(listed) if worded else "",
        "letters": "" if worded else ", ".join(option.text or option.label for option in sample.options),
    }
    text = fill(load_prompt(PROMPTS[0 if sample.options else 1], prompt), values)
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def _parts(texts: Iterable[str]) -> list[str]:
    return sorted({part for text in texts for part in _PLACEHOLDER.findall(text)}, key=lambda part: (len(part), part))


def prompt_hash() -> str:
    """SHA-256 over both prompt files."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply) -> Marked:
    """The script's verdict and the right one."""
    reference = mark_reference(sample, reply)
    robust = _mark_robust(sample, reply)
    same = (reference.verdict == "right") == (robust.verdict == "right") and robust.verdict != "unmarkable"
    return Marked(reference=reference, robust=robust, difference=None if same else _difference(reference, robust))


def _difference(reference: Mark, robust: Mark) -> str:
    read = robust.extraction if robust.extraction is not None else "no answer"
    because = f" ({robust.reason})" if robust.reason else ""
    return (
        f"the script reads {_short(reference.extraction or '')!r}, robust {_short(read)!r}: {robust.verdict}{because}"
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def mark_reference(sample: Sample, reply: Reply) -> Mark:
    gold, option = "", ""
    if isinstance(sample.gold, ChoiceGold):
        gold = sample.gold.labels[0]
        option = _text_of(sample, gold)
    elif isinstance(sample.gold, ExpressionGold):
        gold = sample.gold.value
    return mathvision_reference.mark(reply.text, gold, option, extracted=reply.extracted)


def _text_of(sample: Sample, label: str) -> str:
    return next((option.text for option in sample.options if option.label == label), "")


def _mark_robust(sample: Sample, reply: Reply) -> Mark:
    if isinstance(sample.gold, ChoiceGold):
        verdict, explicit = _mark_choice(sample, sample.gold, reply)
    elif isinstance(sample.gold, ExpressionGold):
        reading = read_expression(reply.text, extracted=reply.extracted)
        verdict = mark_expression(reading, sample.gold, percent=_asks_for_percentage(sample.question))
        explicit = reading.explicit
    else:
        return Mark(verdict="unmarkable", reason="the row has no answer")
    # What a reply says on its way to an answer it never gave is not its answer.
    if reply.finish == "length" and not explicit:
        return Mark(verdict="unanswered", reason="truncated")
    return verdict


def _mark_choice(sample: Sample, gold: ChoiceGold, reply: Reply) -> tuple[Mark, bool]:
    """By the label; a reply that gives a value instead answers with the option of that value."""
    reading = read_choice(reply.text, sample.options, multiple=False, extracted=reply.extracted)
    if reading.status != "none":
        return mark_choice(reading, gold), reading.explicit
    value = read_expression(reply.text, extracted=reply.extracted)
    if value.value is None or not any(option.text for option in sample.options):
        return mark_choice(reading, gold), reading.explicit
    labels = _options_of_value(sample, value)
    if len(labels) == 1:
        verdict = "right" if labels == gold.labels else "wrong"
        return Mark(verdict=verdict, extraction=labels[0], reason="the option's value"), value.explicit
    if labels or not (value.explicit or value.rule == "whole reply"):
        return mark_choice(reading, gold), value.explicit
    return Mark(verdict="wrong", extraction=value.value, reason="the value of no option"), value.explicit


def _options_of_value(sample: Sample, value: ExpressionReading) -> tuple[str, ...]:
    def has_it(option: Option) -> bool:
        gold = ExpressionGold(value=option.text)
        return mark_expression(value, gold, percent="%" in option.text).verdict == "right"

    return tuple(option.label for option in sample.options if option.text and has_it(option))


_PERCENTAGE = re.compile(
    r"percentage|(?:what|which|how (?:many|much|big|large))(?![^\W\d_])[^.?]{0,80}(?:per ?cent|%)", re.IGNORECASE
)


def _asks_for_percentage(question: str) -> bool | None:
    return _PERCENTAGE.search(question) is not None if question else None


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    if isinstance(sample.gold, ChoiceGold):
        return rf"\boxed{{{sample.gold.labels[0]}}}"
    return rf"\boxed{{{sample.gold.value}}}" if isinstance(sample.gold, ExpressionGold) else ""


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """The table of the script's result files, from the reference verdicts: `-all`, `-level1`, `algebra_level1`, ..."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for outcome in outcomes:
        marked = outcome.result if isinstance(outcome.result, Marked) else None
        if marked is None and on_missing == "exclude":
            continue
        for key in _keys(outcome.facets):
            asked[key] += 1
            right[key] += marked is not None and marked.reference.verdict == "right"
    return {
        "official": {key: f"{right[key]}/{n}={round(100 * right[key] / n, 2)}%" for key, n in sorted(asked.items())}
    }


def _keys(facets: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    level, subject = facets["level"][0], facets["subject"][0]
    return "-all", f"-level{level}", subject, f"{subject}_level{level}", f"-level{level}_{subject}"


BENCHMARK = Benchmark(
    name="mathvision",
    title="MATH-Vision: competition problems with a picture",
    licence="MIT",
    links=("https://arxiv.org/abs/2402.14804", "https://github.com/mathllm/MATH-V"),
    default_split="test",
    sizes={"test": 3_040, "testmini": 304},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=open_mathvision,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS,
    scores=scores,
)
