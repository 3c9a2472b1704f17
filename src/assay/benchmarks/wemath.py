"""We-Math: 525 problems, each asked as a whole and step by step (testmini: 1,740 questions).

Paper:   https://arxiv.org/abs/2407.01284 (ACL 2025)
Code:    https://github.com/We-Math/We-Math (evaluation scripts read at 681e040 and 89a15bd)
Data:    https://huggingface.co/datasets/We-Math/We-Math, split `testmini`
Licence: CC BY-NC 4.0

One row (question and options shortened to their form):

    {"ID": "2steps_1", "key": "2steps_multi", "question number": 721, "question": "...", "option": "A. ...; B. ...",
     "answer": "A", "image_path": "2steps/image/1-multi.png", "knowledge concept": "Area of Circles;Rotation"}

`ID` is the problem, so that an id of ours is `ID:1`, `ID:2`, ... for its steps and `ID:multi` for the whole.

`--data` takes a folder with `testmini.jsonl` (or `.json`, the repository's `data`; `testmini_subset.jsonl`) and the
pictures, or the hub's parquet files. An output file with these columns but no question is read as well: it can be
scored by its own answers. With `knowledge_structure_nodes.json` beside them (or one folder up) concepts have domains.

The scores are the four dimensions of `mark.wemath`. Greedy decoding and the token limit are ours, as is the prompt.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from assay.benchmarks.base import Benchmark, OnMissing, Source
from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.marking import NO_GOLD, both, quoted, unless_cut
from assay.benchmarks.prompting import fill, hash_prompts, load_prompt
from assay.benchmarks.tables import hub_table, local_table, read_json
from assay.errors import DataError
from assay.images import Transform
from assay.mark.choice import mark_choice, read_choice
from assay.mark.wemath import WeMathScores, wemath_scores
from assay.types import (
    ChoiceGold,
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

HUB = "We-Math/We-Math"
SPLIT = "testmini"
NODES = "knowledge_structure_nodes.json"
PROMPT = "wemath_choice"


def open_wemath(source: Source) -> RowsDataset:
    """We-Math from the hub, or from the file or folder in `source.data`.

    Raises:
        DataError, MissingExtra, UsageError: see `rows_dataset`, `local_table` and `hub_table`.
    """
    split = source.split or SPLIT
    if source.data is None:
        table = hub_table(HUB, split)
    else:
        table = local_table(source.data, split, names=(f"{split}_subset",))
    return rows_dataset(
        table,
        partial(convert, domains=read_domains(table.folder)),
        split=split,
        mark=mark,
        gold_reply=gold_reply,
        need_pictures=source.need_pictures,
    )


def read_domains(folder: Path) -> dict[str, str]:
    """Knowledge concept -> domain, from the file of knowledge nodes; empty where there is none.

    A node's name runs from the top of the tree to the concept, joined by underscores; the domain is its third level.
    """
    file = next((path for path in (folder / NODES, folder.parent / NODES) if path.is_file()), None)
    if file is None:
        return {}
    rows = [row.fields for row in read_json(file)]
    return {str(row.get("full node", "")).rpartition("_")[2]: str(row.get("root2", "")) for row in rows}


# --------------------------------------------------------------------------------------------------------------------
# A row


def published_rows(row: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """A row of an output file with the sample's id, which is the problem and the question's place in it."""
    sample_id = _id(row)
    return ({**row, "id": sample_id},) if sample_id else (row,)


_KEY = re.compile(r"(2steps|3steps)_([123]|multi)")


def _id(row: Mapping[str, Any]) -> str | None:
    key = _KEY.fullmatch(_steps(row.get("key")))
    return f"{_steps(row.get('ID'))}:{key[2]}" if key and row.get("ID") else None


def _steps(value: object) -> str:
    """Published files spell it `3stpes` as well."""
    return str(value or "").strip().replace("stpes", "steps")


def convert(row: dict[str, Any], context: RowContext, *, domains: Mapping[str, str]) -> Sample:
    """One question as a sample."""
    sample_id, key = _id(row), _KEY.fullmatch(_steps(row.get("key")))
    if sample_id is None or key is None:
        raise context.bad("has no ID and key that name a problem and its step", 'Write e.g. "key": "2steps_1".')
    question = str(row.get("question") or "").strip()
    if not question:
        context.note("have no question text: they can be scored, not asked")
    options = parse_options(str(row.get("option") or ""))
    picture = row.get("image") or row.get("image_path")
    concepts = tuple(part.strip() for part in str(row.get("knowledge concept") or "").split(";") if part.strip())
    if any(concept not in domains for concept in concepts):
        context.note(f"have knowledge concepts without a domain ({NODES} is not there, or doesn't know them)")
    in_domains = tuple(dict.fromkeys(domains[concept] for concept in concepts if concept in domains))
    return Sample(
        id=sample_id,
        question=question,
        images=(context.picture(picture),) if picture else (),
        options=options,
        gold=_gold(row, context),
        facets={
            "question_type": ("choice",),
            "steps": (key[1],),
            "key": (key[2],),
            **({"knowledge_concept": concepts} if concepts else {}),
            **({"domain": in_domains} if in_domains else {}),
        },
        group=_steps(row.get("ID")),
    )


# The label of an option: at the start or behind a semicolon, then a dot and a text. In two questions the name of a
# shape or point at a sentence's end looks like one (`get Shape ;C.;`), but no text follows it.
_LABEL = re.compile(r"(?:^|;)\s*([A-H])\s*[.．]\s*(?=[^;\s])")


def parse_options(text: str) -> tuple[Option, ...]:
    """`A. 300, 400;B. 400, 300; ...; E. No correct answer`, in order; labels rise, but may leave one out."""
    marks: list[re.Match[str]] = []
    for found in _LABEL.finditer(text):
        if not marks or found[1] > marks[-1][1]:
            marks.append(found)
    ends = [*(found.start() for found in marks[1:]), len(text)][: len(marks)]
    return tuple(
        Option(label=found[1], text=text[found.end() : end].strip().rstrip(";").strip())
        for found, end in zip(marks, ends, strict=True)
    )


def _gold(row: Mapping[str, Any], context: RowContext) -> ChoiceGold | None:
    answer = str(row.get("answer") or "").strip()
    if not answer:
        context.note("have no answer: replies to them can't be marked")
        return None
    return ChoiceGold(labels=(answer,))


# --------------------------------------------------------------------------------------------------------------------
# The prompt


def messages(sample: Sample, images: Sequence[ImagePart], *, prompt: str = "") -> tuple[Message, ...]:
    """One user turn: the picture, then the text.

    Raises:
        DataError: for a row without a question (an output file).
    """
    if not sample.question:
        raise DataError(f"We-Math {sample.id}", "has no question text", "Give the data with its questions.")
    options = "".join(f"\n{option.label}. {option.text}" for option in sample.options)
    text = fill(load_prompt(PROMPT, prompt), {"question": sample.question, "options": options})
    return (Message(role="user", parts=(*images, TextPart(text=text))),)


def prompt_hash() -> str:
    return hash_prompts({PROMPT: load_prompt(PROMPT)})


# --------------------------------------------------------------------------------------------------------------------
# Marks and scores


def mark(sample: Sample, reply: Reply) -> Marked:
    """The script's verdict and the right one."""
    if not isinstance(sample.gold, ChoiceGold):
        return Marked(reference=NO_GOLD, robust=NO_GOLD)
    reference = mark_reference(reply, sample.gold)
    reading = read_choice(reply.text, sample.options, multiple=False, extracted=reply.extracted)
    robust = unless_cut(mark_choice(reading, sample.gold), reply, explicit=reading.explicit)
    return both(reference, robust, lambda: _why(reference, robust))


def _why(reference: Mark, robust: Mark) -> str:
    theirs = "no letter" if reference.extraction is None else quoted(reference.extraction)
    ours = "no answer" if robust.extraction is None else quoted(robust.extraction)
    because = f" ({robust.reason})" if robust.reason else ""
    return f"the script reads {theirs} behind the last 'Answer', robust {ours}: {robust.verdict}{because}"


def mark_reference(reply: Reply, gold: ChoiceGold) -> Mark:
    """The script: behind the last `Answer`, without `> < : .`, the first character, if it is one of A to H.

    So `Answer: A triangle has ...` is A, and a reply that never says Answer is read at its beginning.
    """
    rest = re.sub(r"[<>:.]", "", reply.text.rpartition("Answer")[2].strip()).strip()
    letter = rest[0] if rest and rest[0] in "ABCDEFGH" else None
    if letter is None:
        return Mark(verdict="unanswered", reason="no letter behind the last 'Answer'")
    return Mark(verdict="right" if letter == gold.labels[0] else "wrong", extraction=letter)


def gold_reply(sample: Sample) -> str:
    """What a model that knows the answer would write."""
    return f"Answer: {sample.gold.labels[0]}" if isinstance(sample.gold, ChoiceGold) else ""


def scores(outcomes: Iterable[Outcome], on_missing: OnMissing) -> dict[str, Any]:
    """The four dimensions and what stands beside them; `official`: the reference numbers as the scripts print them."""
    reference, robust = (wemath_scores(outcomes, mode, on_missing) for mode in ("reference", "robust"))
    parts = {"reference": reference, "robust": robust, "official": official(reference)}
    return {"wemath": msgspec.to_builtins(parts)}


def official(scores: WeMathScores) -> dict[str, str]:
    """Under the names and in the format of the published scripts; a rate over nothing is `nan%`, as there."""
    strict, loose = scores.strict, scores.loose
    return {
        "Score (Strict)": _percent(strict.score),
        "InsufficientKnowledge": f"{_percent(strict.ik_rate)} ({strict.ik})",
        "InadequateGeneralization": f"{_percent(strict.ig_rate)} ({strict.ig})",
        "CompleteMastery (Strict)": f"{_percent(strict.cm_rate)} ({strict.cm})",
        "RoteMemorization (Strict)": f"{_percent(strict.rm_rate)} ({strict.rm})",
        "Score (Loose)": _percent(loose.score),
        "CompleteMastery (Loose)": f"{_percent(loose.cm_rate)} ({loose.cm})",
        "RoteMemorization (Loose)": f"{_percent(loose.rm_rate)} ({loose.rm})",
        "One-step(S1)": _percent(scores.s1),
        "Two-step(S2)": _percent(scores.s2),
        "Three-step(S3)": _percent(scores.s3),
        **{domain: _percent(value) for domain, value in scores.domains.items()},
    }


def _percent(value: float | None) -> str:
    return "nan%" if value is None else f"{value:.2%}"


BENCHMARK = Benchmark(
    name="wemath",
    title="We-Math: problems as a whole and step by step",
    licence="CC BY-NC 4.0",
    links=("https://arxiv.org/abs/2407.01284", "https://github.com/We-Math/We-Math"),
    default_split=SPLIT,
    sizes={"testmini": 1_740},
    hub=HUB,
    transform=Transform(),
    sampling=Sampling(temperature=0.0, max_tokens=1024),
    open=open_wemath,
    messages=messages,
    mark=mark,
    gold_reply=gold_reply,
    prompt_hash=prompt_hash,
    templates=(PROMPT,),
    scores=scores,
    published_rows=published_rows,
)
