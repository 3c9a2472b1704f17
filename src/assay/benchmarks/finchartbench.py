"""FinChart-Bench: 7,019 questions on 1,202 charts from financial reports: true or false, choice, and numbers.

Paper:   https://arxiv.org/abs/2507.14823
Data:    https://github.com/Tizzzzy/FinChart-Bench (with the test loop in its README, read at 07674bb), also
         https://huggingface.co/datasets/Tizzzzy/FinChart-Bench
Licence: none stated; the data may be used where you have it, and no row of it is shipped here

One row of each of the three files (made up, in their form; a name ends in `_qN`, which the picture's name lacks):

    TF_data.json  {"image": "12_3_crop_0_q1.jpg", "question": "Revenue rose in 2015.", "answer": "True"}
    MC_data.json  {"image": "12_3_crop_0_q1.jpg", "question": "Which?", "choices": {"A": "2014", ...}, "answer": "C"}
    QA_data.json  {"image": "12_3_crop_0_q2.jpg", "question": "What is ...?", "reasoning": "...", "answer": 140}

`--data` takes the repository's folder (the three files with `TF_images/`, `MC_images/`, `QA_images/`), or a folder with
`questions.jsonl`, whose rows have an `id`, a `type` and a path in `image`. The charts of one report page share a group.

The rule: the reply must hold `Result = [[ answer ]]`; a label must equal the gold, case ignored, a number must be the
same binary float, without tolerance. (The README leaves the reading of the reply to its user; ours is the last such
line.) `robust` also reads replies in other forms; numbers must still be equal, in the unit that the question asks for.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from assay.benchmarks.base import Benchmark, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.options import parse_options
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import Table, hash_files, hub_folder, local_table
from assay.images import Transform
from assay.mark.asked import asked_unit, mark_asked
from assay.mark.choice import mark_choice, read_choice
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
    Reply,
    Sample,
    Sampling,
    TextPart,
)

HUB = "Tizzzzy/FinChart-Bench"
QUESTION_TYPES = {"TF": "true_false", "MC": "choice", "QA": "numeric"}
TRUE_FALSE = (Option(label="True"), Option(label="False"))
FACETS = ("question_type",)


def open_finchartbench(source: Source) -> RowsDataset:
    """FinChart-Bench from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_folder`.
    """
    split = source.split or "test"
    folder = source.data or hub_folder(HUB, ("*_data.json", "*_images/*"))
    official = tuple(file for kind in QUESTION_TYPES if (file := folder / f"{kind}_data.json").is_file())
    if official:
        table = Table(files=official, folder=folder, revision=hash_files(official))
    else:
        table = local_table(folder, split, names=("questions",))
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row of any of the files as a sample."""
    kind = str(row.get("type") or _kind(row))
    image = str(row.get("image") or "")
    if kind not in QUESTION_TYPES or not image:
        raise context.bad(f"has the type {kind!r} and the image {image!r}", "Give both; types are TF, MC and QA.")
    chart, sample_id, path = image, str(row.get("id") or ""), image
    if not sample_id:  # the repository's own files
        name = PurePosixPath(image)
        sample_id = f"{kind}_{name.stem}"
        chart = re.sub(r"_q\d+$", "", name.stem) + name.suffix
        path = f"{kind}_images/{chart}"
    question = str(row.get("question") or "").strip()
    options = TRUE_FALSE if kind == "TF" else parse_options(row.get("choices"))
    return Sample(
        id=sample_id,
        question=question,
        images=(context.picture(path),),
        options=options,
        gold=_gold(row, kind, options, question, context),
        facets={"question_type": (QUESTION_TYPES[kind],)},
        group=str(row.get("chart") or chart),
    )


def _kind(row: Mapping[str, Any]) -> str:
    """The type of an official row, by its fields."""
    if "choices" in row:
        return "MC"
    return "TF" if str(row.get("answer")).lower() in ("true", "false") else "QA"


def _gold(
    row: Mapping[str, Any], kind: str, options: Sequence[Option], question: str, context: RowContext
) -> Gold | None:
    answer = str("" if row.get("answer") is None else row["answer"]).strip()
    if not answer:
        context.note("have no answer: robust leaves them out")
        return None
    if kind == "QA":
        return NumberGold(value=answer, unit=asked_unit(question))
    labels = {option.label.lower(): option.label for option in options}
    return ChoiceGold(labels=(labels.get(answer.lower(), answer),))


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = {question_type: f"finchartbench_{question_type}" for question_type in QUESTION_TYPES.values()}


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the chart, then the text."""
    listed = "".join(f"\n{option.label}: {option.text}" for option in sample.options)
    text = fill(load_prompt(PROMPTS[_type_of(sample)], prompt), {"question": sample.question, "options": listed})
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def _type_of(sample: Sample) -> str:
    return sample.facets["question_type"][0]


def prompt_hash() -> str:
    """SHA-256 over the three prompt files."""
    return hash_prompts(load_prompts(tuple(PROMPTS.values())))


# --------------------------------------------------------------------------------------------------------------------
# Marks

_RESULT = re.compile(r"result\s{0,4}=\s{0,4}\[\[([^\[\]\n]{0,400})\]\]", re.IGNORECASE)


def mark(sample: Sample, reply: Reply) -> Marked:
    """The published rule's verdict and the right one."""
    result = read_result(reply)
    reference, robust = mark_reference(result, sample.gold), _mark_robust(sample, reply, result)
    return both(reference, robust, lambda: _difference(reference, robust))


def read_result(reply: Reply) -> str | None:
    """What stands in the last `Result = [[ ]]`; an already extracted reply as a whole; None for none."""
    if reply.extracted:
        return reply.text.strip()
    found = _RESULT.findall(reply.text)
    return found[-1].strip() if found else None


def mark_reference(result: str | None, gold: Gold | None) -> Mark:
    """Equality: of labels with case ignored, of numbers as binary floats."""
    right = False
    if result is not None and isinstance(gold, ChoiceGold):
        right = result.lower() == gold.labels[0].lower()
    elif result is not None and isinstance(gold, NumberGold):
        value = _float(result)
        right = value is not None and value == _float(gold.value)
    return Mark(verdict="right" if right else "wrong", extraction=result)


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _mark_robust(sample: Sample, reply: Reply, result: str | None) -> Mark:
    # The last Result is the answer; without one the reply is read as any other.
    text, extracted = (reply.text, reply.extracted) if not result else (result, True)
    if isinstance(sample.gold, ChoiceGold):
        choice = read_choice(text, sample.options, multiple=False, extracted=extracted)
        return unless_cut(mark_choice(choice, sample.gold), reply, explicit=choice.explicit)
    if isinstance(sample.gold, NumberGold):
        number = read_number(text, unit=sample.gold.unit, extracted=extracted)
        return unless_cut(mark_asked(number, sample.gold), reply, explicit=number.explicit)
    return NO_GOLD


def _difference(reference: Mark, robust: Mark) -> str:
    if robust.verdict == "unmarkable":
        return robust.reason
    if reference.extraction is None:
        return "the reply holds no Result = [[ ]], which is all that the rule reads"
    return f"the rule compares {quoted(reference.extraction)} as it stands; robust: {robust.reason or robust.verdict}"


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    if isinstance(sample.gold, ChoiceGold):
        return f"Result = [[ {sample.gold.labels[0]} ]]"
    return f"Result = [[ {sample.gold.value} ]]" if isinstance(sample.gold, NumberGold) else ""


BENCHMARK = Benchmark(
    name="finchartbench",
    title="FinChart-Bench: charts from financial reports",
    licence="none stated",
    links=("https://arxiv.org/abs/2507.14823", "https://github.com/Tizzzzy/FinChart-Bench"),
    default_split="test",
    sizes={"test": 7_019},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=open_finchartbench,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=tuple(PROMPTS.values()),
)
