"""FinMMR: 4,300 questions of financial numerical reasoning on 8,699 pictures, English and Chinese, in three grades.

Paper:   https://arxiv.org/abs/2508.04625 (ICCV 2025)
Code:    https://github.com/addictedLL/FinMMR (scoring rule read at e9443d6), which also holds data and pictures
Licence: none stated; the data may be used where you have it, and no row of it is shipped here

One row (made up, in the form of `data/validation/easy_validation.json`):

    {"question_id": "easy-validation-7", "question": "What was the change in sales from 2018 to 2019? (in million)",
     "context": "<image 1> Sales rose.", "ground_truth": -12.6, "images": ["./MultiFinance/images/12-1.png"],
     "source": "TAT-HQA", "grade": "Easy", "language": "English", "python_solution": "def solution(): ..."}

`--data` takes the repository's folder, or a folder with `validation_subset.jsonl` (rows alike). Splits: `validation`
and `test`, all three grades, or one of them: `easy_validation`, `hard_test`, ...

The rule: a language model extracts the number of a reply, which is right within 0.2 % of the gold (see
`finmmr_reference`). Recorded extractions are taken as they are; where there is none, the number that `robust` reads
stands in, as written. A reply that is a program is never run: both verdicts are `unmarkable`. `robust` has the same
tolerance, in decimal, and minds units: those that the question asks for, else see `assay.mark.asked`.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from assay.benchmarks import finmmr_reference
from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import Table, hash_files, local_table
from assay.errors import UsageError
from assay.images import Transform
from assay.mark.asked import asked_unit, mark_asked
from assay.mark.choice import mark_choice, read_choice
from assay.mark.number import NumberReading, read_number
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

REPOSITORY = "https://github.com/addictedLL/FinMMR"
GRADES = ("easy", "medium", "hard")
RELATIVE = "0.002"
FACETS = ("question_type", "grade", "language", "source", "subfield")
BOOLEANS = (Option(label="True"), Option(label="False"))


def open_finmmr(source: Source) -> RowsDataset:
    """FinMMR from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra: see `rows_dataset` and `local_table`.
        UsageError: without a folder; we know no copy on the hub.
    """
    if source.data is None:
        raise UsageError(f"FinMMR is fetched from its repository, {REPOSITORY}: give its folder with --data.")
    split = source.split or "validation"
    official = _official(source.data, split)
    if official:
        table = Table(files=official, folder=source.data, revision=hash_files(official))
    else:
        table = local_table(source.data, split, names=(f"{split}_subset",))
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


def _official(folder: Path, split: str) -> tuple[Path, ...]:
    """The files of a split in the repository's layout: `data/validation/easy_validation.json`, ..."""
    part = split.rpartition("_")[2]
    names = (split,) if part != split else tuple(f"{grade}_{part}" for grade in GRADES)
    return tuple(file for name in names if (file := folder / "data" / part / f"{name}.json").is_file())


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample."""
    sample_id = str(row.get("question_id") or "").strip()
    if not sample_id:
        raise context.bad("has no question_id", "Give each question one.")
    question = str(row.get("question") or "").strip()
    names = [str(name).removeprefix("./").removeprefix("MultiFinance/") for name in row.get("images") or ()]
    gold = _gold(row.get("ground_truth"), question, context)
    facets = {name: (str(row[name]),) for name in ("grade", "language", "source", "subfield") if row.get(name)}
    text = str(row.get("context") or "").strip()
    return Sample(
        id=sample_id,
        question=question,
        images=tuple(context.picture(name) for name in names),
        options=BOOLEANS if isinstance(gold, ChoiceGold) else (),
        gold=gold,
        facets={"question_type": ("boolean" if isinstance(gold, ChoiceGold) else "numeric",), **facets},
        context={"context": text} if text else {},
        # Pictures are numbered by the page that they come from: 2124-1, 2124-2.
        group=PurePosixPath(names[0]).stem.partition("-")[0] if names else sample_id,
    )


def _gold(value: object, question: str, context: RowContext) -> Gold | None:
    if isinstance(value, bool):
        return ChoiceGold(labels=(str(value),))
    if isinstance(value, int | float):
        return NumberGold(value=repr(value), relative=RELATIVE, unit=asked_unit(question))
    context.note("have no number for an answer: robust leaves them out")
    return None


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = ("finmmr",)


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the pictures in order, then the text that refers to them by number."""
    text = fill(
        load_prompt("finmmr", prompt), {"context": sample.context.get("context", ""), "question": sample.question}
    )
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    """SHA-256 over the prompt file."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores

_FENCED = re.compile(r"```.*?```", re.DOTALL)
NOT_RUN = Mark(verdict="unmarkable", reason="the reply is a program, which is never run here")


def mark(sample: Sample, reply: Reply) -> Marked:
    """The script's verdict and the right one."""
    unit = sample.gold.unit if isinstance(sample.gold, NumberGold) else None
    number = read_number(reply.text, unit=unit, extracted=reply.extracted)
    if not reply.extracted and number.status != "ok" and _is_program(reply.text):
        number = read_number(_FENCED.sub("", reply.text), unit=unit)
        if number.status != "ok" and reply.extraction is None:
            return Marked(reference=NOT_RUN, robust=NOT_RUN, difference=NOT_RUN.reason)
    reference = mark_reference(sample, reply, number)
    robust = _mark_robust(sample, reply, number)
    return both(reference, robust, lambda: _difference(reference, robust))


def _is_program(text: str) -> bool:
    return "def solution" in text or "```python" in text


def mark_reference(sample: Sample, reply: Reply, number: NumberReading) -> Mark:
    """The script's verdict on the recorded extraction, else on the text where that is one, else on `number`."""
    answer = reply.extraction
    if answer is None:
        answer = reply.text if reply.extracted else _stand_in(sample, reply, number)
    gold = _python_gold(sample.gold)
    right = gold is not None and finmmr_reference.is_right(answer, gold)
    return Mark(verdict="right" if right else "wrong", extraction=answer or None)


def _stand_in(sample: Sample, reply: Reply, number: NumberReading) -> str:
    if isinstance(sample.gold, ChoiceGold):
        return "".join(read_choice(reply.text, sample.options, multiple=False).labels)
    return "" if number.number is None else str(number.number)


def _python_gold(gold: Gold | None) -> float | bool | None:
    if isinstance(gold, ChoiceGold):
        return gold.labels == ("True",)
    return float(gold.value) if isinstance(gold, NumberGold) else None


def _mark_robust(sample: Sample, reply: Reply, number: NumberReading) -> Mark:
    if isinstance(sample.gold, ChoiceGold):
        choice = read_choice(reply.text, sample.options, multiple=False, extracted=reply.extracted)
        return unless_cut(mark_choice(choice, sample.gold), reply, explicit=choice.explicit)
    if not isinstance(sample.gold, NumberGold):
        return NO_GOLD
    explicit = number.explicit
    if number.status != "ok" and reply.extraction:
        number = read_number(reply.extraction, unit=sample.gold.unit, extracted=True)
    return unless_cut(mark_asked(number, sample.gold), reply, explicit=explicit)


def _difference(reference: Mark, robust: Mark) -> str:
    read = quoted(reference.extraction) if reference.extraction else "no answer"
    return f"the script is given {read}; robust: {robust.reason or robust.verdict}"


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    if isinstance(sample.gold, ChoiceGold):
        return f"Therefore, the answer is {sample.gold.labels[0]}."
    return f"Therefore, the answer is {sample.gold.value}." if isinstance(sample.gold, NumberGold) else ""


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """The two numbers of the script's result files, in percent: `acc`, and the share of replies that gave a number."""
    asked = right = answered = 0
    for outcome in outcomes:
        marked = outcome.result if isinstance(outcome.result, Marked) else None
        if on_missing == "exclude" and (marked is None or marked.reference.verdict == "unmarkable"):
            continue
        asked += 1
        right += marked is not None and marked.reference.verdict == "right"
        answered += marked is not None and marked.reference.extraction is not None
    if not asked:
        return {"official": None}
    return {
        "official": {
            "acc": round(100 * right / asked, 2),
            "execution_rate": round(100 * answered / asked, 2),
            "n": asked,
        }
    }


BENCHMARK = Benchmark(
    name="finmmr",
    title="FinMMR: financial numerical reasoning on tables and charts, English and Chinese",
    licence="none stated",
    links=("https://arxiv.org/abs/2508.04625", REPOSITORY),
    default_split="validation",
    sizes={"validation": 900, "test": 3_400},
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=open_finmmr,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS,
    scores=scores,
    llm_extraction=True,
)
