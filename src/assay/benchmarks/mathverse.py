r"""MathVerse: 788 problems in six versions that move what a problem says from the text into the picture.

Paper:   https://arxiv.org/abs/2403.14624 (ECCV 2024)
Code:    https://github.com/ZrrSkywalker/MathVerse (scoring rule read at 937b090)
Data:    https://huggingface.co/datasets/AI4Math/MathVerse, files testmini and testmini_text_only
Licence: MIT

One row:

    {"sample_index": "1", "problem_index": "1", "problem_version": "Text Only", "question": "As shown in the figure, in
     triangle ABC, ... then the size of angle CED is ()\nChoices:\nA:40°\nB:60°\nC:120°\nD:140°", "image": "",
     "answer": "D", "question_type": "multi-choice",
     "metadata": {"split": "testmini", "source": "GeoQA", "subject": "Plane Geometry", "subfield": "Angle"}}

A score says nothing without its versions, so a split is a choice of versions, and the score's name lists them:

    split                                      versions                                    rows
    testmini                                   the five with a picture: the overall score  3,940
    text_dominant, text_lite,                  that one                                    788 each
    vision_intensive, vision_dominant,
    vision_only
    text_only (or testmini_text_only)          Text Only, no picture: an ablation          788

Some files have `category` for `metadata`; both are read. Vision Only has its question in the picture alone: the prompt
says so, and `context["question_for_eval"]` keeps the text for a judge, where the data has it.

The published script extracts an answer with a language model and lets another one judge it ("w/o" protocol). Without
them `reference` is its quick match, exact equality of the extraction and the answer, a lower bound; `robust` compares
labels and values. The CoT-E score is not here: its code was never published.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.options import parse_labels, parse_options
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt, load_prompts
from assay.benchmarks.tables import Row, hub_table, local_table
from assay.errors import UsageError
from assay.images import Transform
from assay.mark.choice import mark_choice, read_choice
from assay.mark.expression import mark_expression, read_expression
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

HUB = "AI4Math/MathVerse"
PICTURED = ("Text Dominant", "Text Lite", "Vision Intensive", "Vision Dominant", "Vision Only")
VERSIONS = (*PICTURED, "Text Only")

# Split -> the file that holds it, and its versions.
SPLITS: dict[str, tuple[str, tuple[str, ...]]] = {
    "testmini": ("testmini", PICTURED),
    **{version.lower().replace(" ", "_"): ("testmini", (version,)) for version in PICTURED},
    "text_only": ("testmini_text_only", ("Text Only",)),
    "testmini_text_only": ("testmini_text_only", ("Text Only",)),
}


def open_mathverse(source: Source) -> RowsDataset:
    """The versions of one split, from the hub or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or "testmini"
    if split not in SPLITS:
        raise UsageError(f"MathVerse has no split {split!r}. Choose one of: {', '.join(SPLITS)}.")
    name, versions = SPLITS[split]
    table = hub_table(HUB, name) if source.data is None else local_table(source.data, name)
    if not (table.folder / "images_version_1-4").is_dir() and (table.folder / "images").is_dir():
        table = replace(table, folder=table.folder / "images")  # where `images.zip` was unpacked
    return rows_dataset(
        replace(table, expand=partial(_of_versions, versions)),
        convert,
        split=split,
        mark=mark,
        gold_reply=gold_reply,
        need_pictures=source.need_pictures,
    )


def _of_versions(versions: Sequence[str], row: Row) -> tuple[Row, ...]:
    version = _version(row.fields)
    return (row,) if version in versions or version not in VERSIONS else ()  # an unknown one is refused by `convert`


def _version(row: Mapping[str, Any]) -> str:
    return str(row.get("problem_version") or "").replace("_", " ").title()


# --------------------------------------------------------------------------------------------------------------------
# A row


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    """One row as a sample."""
    version = _version(row)
    if version not in VERSIONS:
        raise context.bad(f"has the version {version!r}", f"Known are {', '.join(VERSIONS)}.")
    context.note(f"are of the version {version}")
    for_eval = str(row.get("question_for_eval") or row.get("question") or "").strip()
    if not for_eval:
        context.note("have no question text for a judge")
    free = str(row.get("question_type")) == "free-form"
    options = () if free else _options(for_eval)
    picture = row.get("decoded_image") or row.get("image")
    return Sample(
        id=str(row["sample_index"]),
        question=load_prompt(IN_PICTURE).strip() if version == "Vision Only" else str(row["question"]).strip(),
        images=(context.picture(picture),) if picture else (),
        options=options,
        gold=_gold(str(row.get("answer") or "").strip(), None if free else options, context),
        facets={"question_type": (str(row.get("question_type")),), "version": (version,), **_field(row)},
        context={"question_for_eval": for_eval} if for_eval else {},
        group=str(row["problem_index"]),
    )


_CHOICES = re.compile(r"\n\s*Choices?\s*:\s*\n")


def _options(question: str) -> tuple[Option, ...]:
    return parse_options(_CHOICES.split(question, maxsplit=1)[1]) if _CHOICES.search(question) else ()


def _gold(answer: str, options: Sequence[Option] | None, context: RowContext) -> Gold | None:
    """`options` is None for a free question, whose answer is a value."""
    if not answer:
        context.note("have no answer: nothing can be marked")
        return None
    if options is None:
        return ExpressionGold(value=answer)
    labels = parse_labels(answer, options)
    if not labels:
        raise context.bad(f"has the answer {answer!r}, which is no option", "Mend the answer or the choices.")
    return ChoiceGold(labels=labels, multiple=len(labels) > 1)  # two problems have two right options


def _field(row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    field: Mapping[str, Any] = row.get("metadata") or row.get("category") or {}
    subject = str(field.get("subject") or "unknown")
    # Subfields of different subjects share names (Area, Applied).
    return {"subject": (subject,), "subfield": (f"{subject}-{field.get('subfield') or 'unknown'}",)}


# --------------------------------------------------------------------------------------------------------------------
# The prompt

IN_PICTURE = "mathverse_in_picture"
PROMPTS = ("mathverse_choice", "mathverse_free", IN_PICTURE)


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the picture, then the question with its choices, or where it is found."""
    name = PROMPTS[1 if sample.facets["question_type"][0] == "free-form" else 0]
    text = fill(load_prompt(name, prompt), {"question": sample.question})
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    """SHA-256 over the prompt files."""
    return hash_prompts(load_prompts(PROMPTS))


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply) -> Marked:
    """The script's quick match and the right verdict."""
    if sample.gold is None:
        return Marked(reference=NO_GOLD, robust=NO_GOLD)
    robust, found = _read_and_mark(sample.gold, sample.options, reply)
    extraction = reply.extraction
    if extraction is None:
        extraction = reply.text if reply.extracted else found
    reference = Mark(verdict="right" if extraction == _answer(sample.gold) else "wrong", extraction=extraction)
    return both(reference, robust, lambda: _difference(reference, robust))


def _difference(reference: Mark, robust: Mark) -> str:
    read = "no answer" if robust.verdict == "unanswered" else quoted(robust.extraction or "")
    because = f" ({robust.reason})" if robust.reason else ""
    return f"the quick match compares {quoted(reference.extraction or '')}, robust {read}: {robust.verdict}{because}"


def _answer(gold: Gold) -> str:
    if isinstance(gold, ChoiceGold):
        return "\n".join(gold.labels)
    return gold.value if isinstance(gold, ExpressionGold) else ""


def _read_and_mark(gold: Gold, options: Sequence[Option], reply: Reply) -> tuple[Mark, str]:
    """The robust mark, and the answer that was found in the text; by the extraction where the text gives none."""
    robust, found, explicit = _read(gold, options, reply.text, extracted=reply.extracted)
    robust = unless_cut(robust, reply, explicit=explicit)
    if robust.verdict == "unanswered" and reply.extraction and reply.finish != "length":
        second, _, _ = _read(gold, options, reply.extraction, extracted=True)
        if second.verdict != "unanswered":
            robust = Mark(verdict=second.verdict, extraction=second.extraction, reason="read from the extraction")
    return robust, found


def _read(gold: Gold, options: Sequence[Option], text: str, *, extracted: bool) -> tuple[Mark, str, bool]:
    """The mark, the answer as read (empty for none), and whether it stood in a place that announces an answer."""
    if isinstance(gold, ChoiceGold):
        choice = read_choice(text, options, multiple=gold.multiple, extracted=extracted)
        return mark_choice(choice, gold), "\n".join(choice.labels), choice.explicit
    reading = read_expression(text, extracted=extracted)
    bare = structs.replace(reading, value=reading.value and value_of(reading.value))
    return (
        mark_expression(bare, ExpressionGold(value=value_of(_answer(gold)))),
        reading.value or "",
        reading.explicit,
    )


# "Area $=113.1 \mathrm{~cm}^{2}$", "S.A. $=1209.84$", "$=(4,0)$", "$g(x)=\ln x+4$"
_NAMED = re.compile(r"\s*(?:[A-Za-z][A-Za-z. ]+)?(?P<math>\$*)\s*=|(?P<call>\$*)[A-Za-z]\([a-z]\)\s*=")


def value_of(answer: str) -> str:
    """The value of an answer that the data writes with a name before it; a lone letter's equation is left whole."""
    answer = answer.replace("\u63b3", "°")  # "掳" is "°" in the wrong encoding
    named = _NAMED.match(answer)
    if named is None or "=" in answer[named.end() :]:
        return answer
    return f"{named['math'] or named['call'] or ''}{answer[named.end() :]}"


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    if isinstance(sample.gold, ChoiceGold):
        return f"Answer: {', '.join(sample.gold.labels)}"
    return rf"\boxed{{{sample.gold.value}}}" if isinstance(sample.gold, ExpressionGold) else ""


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """The script's accuracies from the reference verdicts, in percent, under a name that lists the versions."""
    right: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        marked = outcome.result if isinstance(outcome.result, Marked) else None
        if on_missing == "exclude" and (marked is None or marked.reference.verdict == "unmarkable"):
            continue
        for cell in (("total", ""), *((name, outcome.facets[name][0]) for name in ("version", "subject", "subfield"))):
            asked[cell] += 1
            right[cell] += marked is not None and marked.reference.verdict == "right"
    tables = {
        name: {value: _cell(right[table, value], n) for (table, value), n in sorted(asked.items()) if table == name}
        for name in ("version", "subject", "subfield")
    }
    versions = [version for version in VERSIONS if version in tables["version"]]
    name = f"MathVerse w/o, quick match: {', '.join(versions) or 'no version'}"
    return {"score": name, "official": {"total": _cell(right["total", ""], asked["total", ""]), **tables}}


def _cell(correct: int, total: int) -> dict[str, Any]:
    return {"accuracy": round(100 * correct / total, 2) if total else None, "correct": correct, "total": total}


BENCHMARK = Benchmark(
    name="mathverse",
    title="MathVerse: does a model see the diagram?",
    licence="MIT",
    links=("https://arxiv.org/abs/2403.14624", "https://github.com/ZrrSkywalker/MathVerse"),
    default_split="testmini",
    sizes={"testmini": 3_940, "text_only": 788},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=2048),
    open=open_mathverse,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=PROMPTS[:2],
    scores=scores,
    llm_extraction=True,
)
