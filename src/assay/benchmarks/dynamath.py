r"""DynaMath: 501 seed questions, each in ten variants with other numbers, shapes or colours (5,010 questions).

Paper:   https://arxiv.org/abs/2411.00836 (ICLR 2025)
Code:    https://github.com/DynaMath/DynaMath (scoring rule read at 65a346a)
Data:    https://huggingface.co/datasets/DynaMath/DynaMath_Sample, splits sample_variant1 ... sample_variant10
Licence: MIT

One row:

    {"id": "v1_q468", "variant": 1, "qid": 468, "question": "What is the intersection of sets A and B?\nA: [1, 4,
     13]\n...", "answer": "A", "image": "variants/trial1/image468.png", "answer_type": "multiple choice",
     "subject": "algebra", "level": "high school"}

Splits: `test`, every variant; `variants`, those with a picture beside them in `variants_x10.jsonl`; `seed`, the seed
questions. `--data` takes the repository (or its `10trials` folder), the hub's parquet files, or JSONL with these
columns. A file of published verdicts, ten per seed, is read as data as well (see `benchmarks.verdicts`).

What the benchmark is about is the worst case: how many seeds are right in all their variants. See `mark.variants`.
Greedy decoding is the official scripts'; prompts are in our own words, the token limit is ours.
"""

import calendar
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from assay.benchmarks import dynamath_reference
from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.dynamath_reply import find_short_answer
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.options import parse_options
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import Row, Table, hash_files, hub_table, local_table
from assay.errors import DataError
from assay.images import Transform
from assay.mark.answer import find_answer_slot
from assay.mark.arithmetic import as_float, evaluate
from assay.mark.asked import mark_asked
from assay.mark.choice import mark_choice, read_choice
from assay.mark.expression import read_expression
from assay.mark.formula import read_formula, sides
from assay.mark.number import read_number
from assay.mark.text import prepare
from assay.mark.variants import variant_scores
from assay.mark.wording import same_wording
from assay.types import (
    ChoiceGold,
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
    TextGold,
    TextPart,
)

HUB = "DynaMath/DynaMath_Sample"
VARIANTS = 10
TOLERANCE = "0.001"  # absolute, for every number: the prompt asks for three digits
NUMERIC = ("float", "int", "single_answer")

# --------------------------------------------------------------------------------------------------------------------
# Where the rows lie

OnBad = Callable[[DataError], None]


@dataclass(frozen=True, kw_only=True)
class Trials(Table):
    """One file per variant; the variant's number is in the name of the file or of its folder."""

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def rows(self, on_bad: OnBad | None = None) -> Iterator[Row]:  # noqa: ARG002
        """The rows with their variant; a broken line is an error of the whole file, whatever `on_bad`."""
        for file in self.files:
            found = re.search(r"(?:sample_variant|trial)(\d+)", f"{file.parent.name}/{file.name}")
            variant = int(found[1]) if found else 0
            for row in Table(files=(file,), folder=file.parent, revision=""):
                fields: dict[str, Any] = {"variant": variant, "qid": row.fields.get("id", row.fields.get("key"))}
                fields |= {name: value for name, value in row.fields.items() if name != "id"}
                if file.suffix == ".json":
                    fields["image"] = str(file.parent / "image" / f"image{fields['qid']}.png")
                yield Row(where=f"{file.parent.name}/{row.where}", fields=fields)


@dataclass(frozen=True, kw_only=True)
class Once(Table):
    """Rows of several files; one whose id was there before is left out."""

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def rows(self, on_bad: OnBad | None = None) -> Iterator[Row]:  # noqa: ARG002
        """Each row once; a broken line is an error of the whole file, whatever `on_bad`."""
        seen: set[str] = set()
        for row in Table(files=self.files, folder=self.folder, revision=self.revision):
            if (name := str(row.fields.get("id"))) not in seen:
                seen.add(name)
                yield row


def open_dynamath(source: Source) -> RowsDataset:
    """DynaMath from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or "test"
    table = _hub(split) if source.data is None else _local(source.data, split)
    return rows_dataset(
        table, convert, split=split, mark=mark, gold_reply=gold_reply, need_pictures=source.need_pictures
    )


def _hub(split: str) -> Table:
    if split != "test":
        table = hub_table(HUB, split)
        return Trials(files=table.files, folder=table.folder, revision=table.revision)
    tables = [hub_table(HUB, f"sample_variant{variant}") for variant in range(1, VARIANTS + 1)]
    files = tuple(file for table in tables for file in table.files)
    return Trials(files=files, folder=tables[0].folder, revision=tables[0].revision)


def _local(data: Path, split: str) -> Table:
    if data.is_dir() and split == "test":
        for place in (data, data / "10trials", data / "samples and result" / "10trials"):
            files = [*place.glob("trial*/dataset.json"), *place.glob("sample_variant*.parquet")]
            files += place.glob("data/sample_variant*.parquet")
            if files:
                ordered = tuple(sorted(files, key=lambda file: (len(str(file)), str(file))))
                return Trials(files=ordered, folder=place, revision=hash_files(ordered))
        both_files = tuple(file for name in ("x10", "text") if (file := data / f"variants_{name}.jsonl").is_file())
        if both_files:
            return Once(files=both_files, folder=data, revision=hash_files(both_files))
    names = {"variants": ("variants_x10",), "seed": ("seed_questions", "dataset")}.get(split, ())
    table = local_table(data, split, names=names)
    return replace(table, expand=_expand)


def published_rows(row: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """A row of a result file, `{"qid": 7, "correct": [1, 0, ...], ...}`, as one row for each variant."""
    flags: Any = row.get("correct")
    if not isinstance(flags, list) or "qid" not in row:
        return (row,)
    return tuple(
        {**row, "id": _id(variant, row["qid"]), "variant": variant, "correct": flag}
        for variant, flag in enumerate(flags, start=1)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    )


def _expand(row: Row) -> Iterable[Row]:
    return (Row(where=row.where, fields=fields) for fields in published_rows(row.fields))


def _id(variant: object, qid: object) -> str:
    return f"v{variant}_q{qid}" if variant else f"seed_{qid}"


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample; a row of a result file has no question and no answer."""
    qid = row.get("qid", row.get("key"))
    if isinstance(qid, bool) or not isinstance(qid, str | int):
        raise context.bad("has no seed number (qid)", "Give each row the number of its seed question.")
    question = str(row.get("question") or "").strip()
    if not question:
        context.note("have no question text: they can be scored, not asked")
    kind = _words(row.get("answer_type")).replace(" ", "_") or "not_stated"
    gold = _gold(row, kind, question, context)
    options = parse_options(question) if isinstance(gold, ChoiceGold) else ()
    if isinstance(gold, ChoiceGold) and gold.labels[0] not in [option.label for option in options]:
        options = ()
    variant = row.get("variant")
    picture = row.get("decoded_image") or row.get("image")
    return Sample(
        id=_id(variant, qid),
        question=question,
        images=(context.picture(picture),) if picture else (),
        options=options,
        gold=gold,
        facets={
            "question_type": (kind,),
            "subject": (_words(row.get("subject")) or "not stated",),
            "level": (_words(row.get("level") or row.get("knowledge_level")) or "not stated",),
            "variant": (str(variant or "seed"),),
        },
        group=f"q{qid}",
    )


def _words(value: object) -> str:
    """With single blanks: the data has `analytic     geometry` as well."""
    return " ".join(str(value or "").split())


def _gold(row: Mapping[str, Any], kind: str, question: str, context: RowContext) -> Gold | None:
    value = row.get("answer", row.get("ground_truth"))
    answer = "" if value is None else str(value).strip()
    if not answer:
        context.note("have no answer: replies to them can't be marked")
        return None
    if kind == "multiple_choice":
        return ChoiceGold(labels=(answer,))
    if kind in NUMERIC:
        return NumberGold(value=answer, tolerance=TOLERANCE)
    return TextGold(values=(answer, *_other_spellings(answer, question)))


_MONTHS = tuple(calendar.month_name)[1:]


def _other_spellings(answer: str, question: str) -> Iterator[str]:
    """What says the same as a gold text: the month's whole name, an edge from its other end."""
    yield from (month for month in _MONTHS if len(answer) == 3 and month.startswith(answer) and month != answer)
    if re.fullmatch(r"[A-Z]{2}", answer) and re.search(r"\bedge\b", question):
        yield answer[::-1]


# --------------------------------------------------------------------------------------------------------------------
# The prompt

PROMPTS = ("dynamath_choice", "dynamath_float", "dynamath_text")


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the text, whose question holds its options, then the picture, in the scripts' order.

    Raises:
        DataError: for a row without a question.
    """
    if not sample.question:
        raise DataError(f"DynaMath {sample.id}", "has no question text", "Give a file with questions.")
    kind = sample.facets["question_type"][0]
    name = {"multiple_choice": "dynamath_choice", "text": "dynamath_text"}.get(kind, "dynamath_float")
    text = fill(load_prompt(name, prompt), {"question": sample.question})
    return (Message(role="user", parts=(TextPart(text=text), *images)),)


def prompt_hash() -> str:
    """SHA-256 over the three prompt files."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply) -> Marked:
    """The script's verdict and the right one."""
    if sample.gold is None:
        return Marked(reference=NO_GOLD, robust=NO_GOLD)
    reference, robust = mark_reference(sample, reply), _mark_robust(sample, reply)
    return both(reference, robust, lambda: _why(reference, robust))


def _why(reference: Mark, robust: Mark) -> str:
    read = "no answer" if robust.extraction is None else quoted(robust.extraction)
    because = f" ({robust.reason})" if robust.reason else ""
    return f"the script reads {quoted(reference.extraction or '')}, robust {read}: {robust.verdict}{because}"


def mark_reference(sample: Sample, reply: Reply) -> Mark:
    gold = sample.gold
    if isinstance(gold, ChoiceGold):
        return dynamath_reference.mark(reply, gold.labels[0], "multiple choice")
    if isinstance(gold, NumberGold):
        kind = "float" if sample.facets["question_type"][0] == "float" else "other"
        return dynamath_reference.mark(reply, gold.value, kind)
    return dynamath_reference.mark(reply, gold.values[0] if isinstance(gold, TextGold) else "", "other")


def _mark_robust(sample: Sample, reply: Reply) -> Mark:
    found = None if reply.extracted else find_short_answer(prepare(reply.text))
    if found and not found.text:
        return Mark(verdict="unanswered", reason="an empty short answer")
    text = found.text if found else reply.text
    extracted = reply.extracted or found is not None
    gold = sample.gold
    if isinstance(gold, ChoiceGold):
        reading = read_choice(text, sample.options, multiple=False, extracted=extracted)
        verdict, explicit = mark_choice(reading, gold), reading.explicit
    elif isinstance(gold, NumberGold):
        verdict, explicit = _mark_number(gold, text, extracted)
    else:
        verdict, explicit = _mark_text(
            gold if isinstance(gold, TextGold) else TextGold(values=()), sample, text, extracted
        )
    return unless_cut(verdict, reply, explicit=found.closed if found else explicit)


_FORMULA = re.compile(r"π|\bpi\b|√|sqrt|\\[dt]?frac|\^|\d\s*/\s*\(?\d")


def _mark_number(gold: NumberGold, text: str, extracted: bool) -> tuple[Mark, bool]:
    """A formula (`2π/3`, `\\sqrt{2}`) by its value, else the number."""
    formula = read_expression(text, extracted=extracted)
    if formula.value is not None and _FORMULA.search(formula.value):
        body = read_formula(formula.value).body
        value = evaluate((sides(body) or (body,))[-1])
        number = None if value is None else as_float(value)
        if number is not None:
            right = abs(number - float(gold.value)) <= float(TOLERANCE)
            found = Mark(verdict="right" if right else "wrong", extraction=formula.value, reason="a formula's value")
            return found, formula.explicit
    reading = read_number(text, extracted=extracted)
    return mark_asked(reading, gold), reading.explicit


MAX_SHORT_REPLY = 100


def _mark_text(gold: TextGold, sample: Sample, text: str, extracted: bool) -> tuple[Mark, bool]:
    slot = None if extracted else find_answer_slot(text)
    if slot:
        answer, explicit = slot.text, slot.closed
    elif extracted or len(text) <= MAX_SHORT_REPLY:
        answer, explicit = text.strip(), extracted
    else:
        return Mark(verdict="unanswered", reason="no place announces an answer"), False
    if not answer:
        return Mark(verdict="unanswered", reason="an empty answer"), False
    same = same_wording(gold, answer, question=sample.question, tolerance=Decimal(TOLERANCE))
    return Mark(verdict="right" if same else "wrong", extraction=answer), explicit


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    gold = sample.gold
    answer = ""
    if isinstance(gold, ChoiceGold):
        answer = gold.labels[0]
    elif isinstance(gold, NumberGold):
        answer = gold.value
    elif isinstance(gold, TextGold):
        answer = gold.values[0]
    return msgspec.json.encode({"solution": "", "short answer": answer}).decode()


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """Average and worst-case accuracy and their parts; `robust` is null where there are only published verdicts."""
    reference, robust = (variant_scores(outcomes, mode, on_missing) for mode in ("reference", "robust"))
    parts = {"reference": reference, "robust": robust if robust.n_samples else None}
    return {"dynamath": msgspec.to_builtins(parts)}


BENCHMARK = Benchmark(
    name="dynamath",
    title="DynaMath: mathematics questions in ten variants each",
    licence="MIT",
    links=("https://arxiv.org/abs/2411.00836", "https://github.com/DynaMath/DynaMath"),
    default_split="test",
    sizes={"test": 5_010},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=open_dynamath,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS,
    scores=scores,
    published_rows=published_rows,
)
