"""MathVista: 1,000 questions (testmini) on charts, diagrams, scenes and photographs, from 28 sources, with 7 skills.

Paper:   https://arxiv.org/abs/2310.02255 (ICLR 2024)
Code:    https://github.com/lupantech/MathVista (scoring rule read at 53d5258)
Data:    https://huggingface.co/datasets/AI4Math/MathVista, splits `testmini` (1,000) and `test` (5,141, no answers)
Licence: CC BY-SA 4.0, test use only (its authors prohibit training on it)

A row has these fields (the values are made up; no row is shipped):

    {"pid": "0", "question": "How many bars are higher than 10?", "image": "images/0.jpg", "choices": null,
     "unit": null, "precision": null, "answer": "3", "question_type": "free_form", "answer_type": "integer",
     "metadata": {"language": "english", "source": "...", "category": "general-vqa", "task": "...", "context": "...",
                  "grade": "...", "skills": ["statistical reasoning"]}}

`--data` takes the official layout (`data/testmini.json`, an object keyed by pid, and `images/`), a folder with
`testmini.jsonl`, or parquet files. The "MathVista-Math" of some papers is a part of it: say which with `--where`, e.g.
`--where category=math-targeted-vqa` (540 questions). The published script extracts answers with a language model;
recorded extractions are used where there are any (see `mathvista_reference`). `mathvista-old` is the same benchmark
under the script's former rule for integers.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from assay.benchmarks import mathvista_reference as official
from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import hub_table, local_table
from assay.errors import UsageError
from assay.images import Transform
from assay.mark.asked import mark_asked
from assay.mark.choice import ChoiceReading, mark_choice, read_choice
from assay.mark.number import read_number
from assay.mark.number_list import mark_number_list, read_number_list
from assay.types import (
    ChoiceGold,
    ExpressionGold,
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

HUB = "AI4Math/MathVista"

SPLITS = ("testmini", "test")

# The official tables, and the order of their keys.
METADATA = ("language", "source", "category", "task", "context", "grade", "skills")
TABLES = ("question_type", "answer_type", *METADATA)


def open_mathvista(source: Source) -> RowsDataset:
    """MathVista from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or "testmini"
    if split not in SPLITS:
        raise UsageError(f"MathVista has no split {split!r}. Choose one of: {', '.join(SPLITS)}.")
    table = hub_table(HUB, split) if source.data is None else local_table(source.data, split)
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample."""
    sample_id = str(row.get("pid") or "").strip()
    if not sample_id:
        raise context.bad("has no pid", "Give each question an id.")
    options = tuple(
        Option(label=chr(ord("A") + at), text=str(text)) for at, text in enumerate(row.get("choices") or ())
    )
    if (row.get("question_type") == "multi_choice") != bool(options):
        raise context.bad(f"is {row.get('question_type')} with {len(options)} choices", "Mend one of the two.")
    if options and _queried(str(row.get("query") or "")) not in ([], [option.text.strip() for option in options]):
        context.note("list other choices in `query` than in `choices`: prompts are made from `choices`")
    picture = row.get("decoded_image") or row.get("image")
    return Sample(
        id=sample_id,
        question=_lines(row.get("question")),
        images=(context.picture(picture),) if picture else (),
        options=options,
        gold=_gold(row, options, context),
        facets=_facets(row, context),
        context={
            name: str(value) for name in ("unit", "precision") if (value := row.get(name)) is not None and value != ""
        },
        group=sample_id,
    )


def _lines(text: object) -> str:
    """Copies of the data set differ in how lines end; a prompt shall not."""
    return str(text or "").replace("\r\n", "\n").strip()


_QUERIED = re.compile(r"(?m)^\(([A-Z])\) ?(.*)$")


def _queried(query: str) -> list[str]:
    """The choices that the official prompt lists, one a line."""
    return [text.strip() for _, text in _QUERIED.findall(query.replace("\r\n", "\n").rpartition("\nChoices:\n")[2])]


def _gold(row: Mapping[str, Any], options: Sequence[Option], context: RowContext) -> Gold | None:
    answer = row.get("answer")
    if answer is None or not str(answer):
        context.note("have no answer: nothing can be marked")
        return None
    answer, kind = str(answer), row.get("answer_type")
    if options:
        labels = [option.label for option in options if option.text == answer]
        if not labels:
            raise context.bad(f"has the answer {answer!r}, which is none of its choices", "Mend one of the two.")
        return ChoiceGold(labels=(labels[0],))  # two choices of three rows have the same text; see `_read_label`
    if kind in ("integer", "float"):
        precision = int(float(row.get("precision") or 0)) if kind == "float" else 0
        half = str(Decimal(5).scaleb(-precision - 1)) if kind == "float" else "0"
        return NumberGold(value=answer, tolerance=half, unit=row.get("unit") or None)
    if kind == "list":
        return ExpressionGold(value=answer)
    raise context.bad(f"has the answer type {kind!r}", "Known are text with choices, integer, float and list.")


def _facets(row: Mapping[str, Any], context: RowContext) -> dict[str, tuple[str, ...]]:
    facets: dict[str, tuple[str, ...]] = {name: (str(row.get(name)),) for name in TABLES[:2]}
    metadata: Any = row.get("metadata") or {}
    if isinstance(metadata, str):  # some copies keep it as JSON text
        try:
            metadata = json.loads(metadata)
        except ValueError as cause:
            raise context.bad("has metadata that is no JSON", "Mend it, or leave it out.") from cause
    for name in METADATA:
        value: Any = metadata.get(name)
        if value is not None and value != "" and value != []:
            facets[name] = tuple(str(item) for item in value) if name == "skills" else (str(value),)
    return facets


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = ("mathvista_choice", "mathvista_float", "mathvista_integer", "mathvista_list")
DECIMALS = {1: ("one decimal place", "3.6"), 2: ("two decimal places", "3.62")}


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the picture, then a hint on the form of the answer, the question, its unit and choices."""
    kind = "choice" if sample.options else sample.facets["answer_type"][0]
    precision = _precision(sample)
    decimals, example = DECIMALS.get(precision, (f"{precision} decimal places", "3.620"))
    values = {
        "question": sample.question,
        "unit": sample.context.get("unit", ""),
        "options": "".join(f"\n({option.label}) {option.text}" for option in sample.options),
        "decimals": decimals,
        "example": example,
    }
    text = fill(load_prompt(f"mathvista_{kind}", prompt), values)
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def _precision(sample: Sample) -> int:
    return int(float(sample.context.get("precision", "0")))


def prompt_hash() -> str:
    """SHA-256 over the prompt files."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply, *, integers: official.IntegerRule = "current") -> Marked:
    """The script's verdict and the right one; `integers` is the script's rule for whole numbers."""
    if sample.gold is None:
        return Marked(reference=NO_GOLD, robust=NO_GOLD)
    reference = mark_reference(sample, reply, integers=integers)
    robust = _mark_robust(sample, sample.gold, reply)
    return both(reference, robust, lambda: _difference(reference, robust))


def _difference(reference: Mark, robust: Mark) -> str:
    by = f" (the {reference.reason})" if reference.reason else ""
    read = "no answer" if robust.verdict == "unanswered" else quoted(robust.extraction or "")
    because = f" ({robust.reason})" if robust.reason else ""
    return f"the script reads {quoted(reference.extraction or '')}{by}, robust {read}: {robust.verdict}{because}"


def mark_reference(sample: Sample, reply: Reply, *, integers: official.IntegerRule = "current") -> Mark:
    """The script's verdict: on the recorded extraction where there is one, else on what our rules extract."""
    question = official.Question(
        answer=_answer(sample),
        answer_type=sample.facets["answer_type"][0],
        choices=tuple(option.text for option in sample.options),
        precision=_precision(sample),
    )
    extraction = reply.extraction
    if extraction is None:
        extraction = reply.text if reply.extracted else official.extract(reply.text, question)
    return official.mark(extraction, question, integers=integers)


def _answer(sample: Sample) -> str:
    """The right answer as the data writes it."""
    if isinstance(sample.gold, ChoiceGold):
        right = sample.gold.labels[0]
        return next(option.text for option in sample.options if option.label == right)
    return sample.gold.value if isinstance(sample.gold, NumberGold | ExpressionGold) else ""


def _mark_robust(sample: Sample, gold: Gold, reply: Reply) -> Mark:
    """By the reply's text; by the recorded extraction only where the text gives no answer that our rules find."""
    verdict, explicit = _read_and_mark(sample, gold, reply.text, extracted=reply.extracted)
    verdict = unless_cut(verdict, reply, explicit=explicit)
    if verdict.verdict == "unanswered" and reply.extraction and reply.finish != "length":
        second, _ = _read_and_mark(sample, gold, reply.extraction, extracted=True)
        if second.verdict != "unanswered":
            return Mark(verdict=second.verdict, extraction=second.extraction, reason="read from the extraction")
    return verdict


def _read_and_mark(sample: Sample, gold: Gold, text: str, *, extracted: bool) -> tuple[Mark, bool]:
    """The verdict, and whether the answer stood in a place that announces one."""
    if isinstance(gold, ChoiceGold):
        choice = _read_label(text, sample.options, extracted=extracted)
        return mark_choice(choice, gold), choice.explicit
    if isinstance(gold, NumberGold):
        number = read_number(text, unit=gold.unit, extracted=extracted)
        return mark_asked(number, gold), number.explicit
    numbers = read_number_list(text, extracted=extracted)
    return mark_number_list(numbers, _answer(sample)), numbers.explicit


def _read_label(text: str, options: Sequence[Option], *, extracted: bool) -> ChoiceReading:
    """The label; of choices with the same text the first one, whichever of them the reply names."""
    first = {option.text: option for option in reversed(options)}
    reading = read_choice(text, options, multiple=False, extracted=extracted)
    if len(first) == len(options):
        return reading
    if reading.status != "ok":
        distinct = tuple(option for option in options if first[option.text] == option)
        return read_choice(text, distinct, multiple=False, extracted=extracted)
    labels = tuple(first[option.text].label for option in options if option.label in reading.labels)
    return ChoiceReading(
        labels=labels, status="ok", rule=reading.rule, explicit=reading.explicit, written=reading.written
    )


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    return f"Answer: {sample.gold.labels[0] if isinstance(sample.gold, ChoiceGold) else _answer(sample)}"


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """The tables of the script's score files from the reference verdicts, and what the nearest-choice rule gave."""
    right: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    guessed: Counter[str] = Counter()
    for outcome in outcomes:
        marked = outcome.result if isinstance(outcome.result, Marked) else None
        if on_missing == "exclude" and (marked is None or marked.reference.verdict == "unmarkable"):
            continue
        credit = marked is not None and marked.reference.verdict == "right"
        if marked is not None and marked.reference.reason == official.NEAREST:
            guessed[marked.reference.verdict] += 1
        cells = ((name, value) for name in TABLES for value in outcome.facets.get(name, ()))
        for cell in (("average", ""), *cells):
            asked[cell] += 1
            right[cell] += credit
    tables: dict[str, Any] = {"average": _cell(right["average", ""], asked["average", ""], plain=True)}
    for name in TABLES:
        tables[name] = {
            value: _cell(right[table, value], n) for (table, value), n in sorted(asked.items()) if table == name
        }
    return {
        "official": tables,
        "nearest_choice": {"replies": guessed.total(), "right": guessed["right"]},
    }


def _cell(correct: int, total: int, *, plain: bool = False) -> dict[str, Any]:
    """A cell as the published files write it: two decimals, or in the average as few as it needs."""
    percent = 100 * correct / total if total else 0.0
    return {"accuracy": str(round(percent, 2)) if plain else f"{percent:.2f}", "correct": correct, "total": total}


BENCHMARK = Benchmark(
    name="mathvista",
    title="MathVista: mathematical reasoning in visual contexts",
    licence="CC BY-SA 4.0, test use only",
    links=("https://arxiv.org/abs/2310.02255", "https://github.com/lupantech/MathVista"),
    default_split="testmini",
    sizes={"testmini": 1_000, "test": 5_141},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=open_mathvista,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS,
    scores=scores,
    llm_extraction=True,
)
