"""How well a judge agrees with gold labels, before its verdicts are believed.

A file of labelled rows, JSON Lines: `question`, `gold` (the right answer), `answer` (the reply to be judged), `label`
(right or wrong, true or false, 1 or 0); optionally `id`, and `group` for rows that belong together (one question, one
model), over which the intervals are drawn.
"""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.engine.store import SCHEMA, RunStore, seal
from assay.errors import DataError
from assay.judging.asking import judge, prompt_hash
from assay.judging.reading import Reader, go_through
from assay.mark.agreement import Agreement, Pair, cohen_kappa
from assay.mark.status import group_number
from assay.mark.tally import Score, pair_code
from assay.mark.tally import Tally as Verdicts
from assay.models.base import Model
from assay.models.recorded_lines import parse_row
from assay.types import JudgeMark, Manifest, Mark, Marked, Outcome, Reply, Sample, TextGold

__all__ = ["Checked", "Labelled", "check_judge", "read_labelled"]

_LABELS: dict[str, bool] = {
    "right": True,
    "correct": True,
    "true": True,
    "1": True,
    "wrong": False,
    "incorrect": False,
    "false": False,
    "0": False,
}


class Labelled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row: a question with its right answer, a reply, and whether that is right."""

    sample: Sample
    reply: Reply
    right: bool

    @property
    def id(self) -> str:
        return self.sample.id

    @property
    def group(self) -> str:
        return self.sample.group

    @property
    def facets(self) -> dict[str, tuple[str, ...]]:
        return {}


class Checked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of a check.

    Attributes:
        file, rows: the labelled rows.
        judge, prompt_hash: who was checked.
        score: share of rows on which judge and label agree, of those with a verdict.
        agreement: labels (first) and verdicts (second); a reply that the judge finds unanswered is not right.
        unmarkable: why there was no verdict -> rows; they are in no other number.
    """

    file: str
    rows: int
    judge: str
    prompt_hash: str
    score: Score
    agreement: Agreement
    unmarkable: dict[str, int]


def read_labelled(path: Path) -> list[Labelled]:
    """The rows of a file.

    Raises:
        DataError: a row that is not as the module says, by its number.
    """
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as cause:
        raise DataError(
            str(path), (cause.strerror or "can't be read").lower(), "Name a file of labelled rows"
        ) from None
    rows = [_row(f"{path}:{number}", number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise DataError(str(path), "there are no rows in it", "Name a file of labelled rows")
    twice = next((name for name, count in Counter(row.id for row in rows).items() if count > 1), None)
    if twice is not None:
        raise DataError(str(path), f"the id {twice} occurs twice", "Give each row an id of its own, or none an id")
    return rows


def _row(where: str, number: int, line: bytes) -> Labelled:
    row = parse_row(line, where)
    question, gold, answer = (_text(row, name, where) for name in ("question", "gold", "answer"))
    if not question.strip() or not gold.strip():
        raise DataError(where, "the question or the right answer is empty", "A judge needs both")
    label = _LABELS.get(str(row.get("label")).strip().lower())
    if label is None:
        raise DataError(where, f"the label {row.get('label')!r} is none", f"Write one of: {', '.join(_LABELS)}")
    sample_id = str(row.get("id", number))
    sample = Sample(
        id=sample_id, question=question, gold=TextGold(values=(gold,)), group=str(row.get("group", sample_id))
    )
    return Labelled(sample=sample, reply=Reply(text=answer), right=label)


def _text(row: dict[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(where, f"the field {name!r} is no text", "Give question, gold, answer and label")
    return str(value)


async def check_judge(path: Path, reader: Reader, out: Path, *, progress: bool = False) -> Checked:
    """Have a judge read every row of a file, and compare its verdicts with the labels.

    The verdicts are kept in the folder `out`: the same check costs nothing a second time, a killed one goes on.

    Raises:
        DataError: see `read_labelled`.
        RunMismatch: the folder holds another check.
        RunLocked, RunError, RunStopped: see `engine.store` and `run_samples`.
    """
    rows = read_labelled(path)

    async def work(model: Model, row: Labelled) -> Outcome:
        mark = await judge(model, row.sample, row.reply, sampling=reader.sampling)
        return _outcome(row, mark, reader)

    with RunStore.create_or_resume(out, _manifest(path, reader)) as store:
        await go_through(rows, work, reader, store, progress=progress)
        said = {outcome.id: outcome for outcome in store.outcomes()}
    return _checked(path, reader, rows, [_verdict(said[row.id]) for row in rows])


def _outcome(row: Labelled, mark: Mark, reader: Reader) -> Outcome:
    label = Mark(verdict="right" if row.right else "wrong", reason="label")
    judged = JudgeMark(
        verdict=mark.verdict, reason=mark.reason, judge=reader.model.identity, prompt_hash=prompt_hash("judge")
    )
    marked = Marked(reference=label, robust=label, judged=judged)
    return Outcome(sample_id=row.id, group=row.group, result=marked)


def _manifest(path: Path, reader: Reader) -> Manifest:
    return seal(
        Manifest(
            schema=SCHEMA,
            benchmark="judge-check",
            split=path.name,
            revision=hashlib.sha256(path.read_bytes()).hexdigest(),
            model=reader.model.identity,
            search="judge",
            sampling=reader.sampling,
            seed=0,
            prompt_hash=prompt_hash("judge"),
            image_transform="",
            limit=None,
            data=str(path),
            fingerprint="",
        )
    )


def _verdict(outcome: Outcome) -> tuple[bool | None, str]:
    """Whether the judge finds the reply right, or None and the reason."""
    if not isinstance(outcome.result, Marked):
        return None, f"judge call failed: {outcome.result.kind}"
    judged = outcome.result.judged
    if judged is None or judged.verdict == "unmarkable":
        return None, judged.reason if judged else "not judged"
    return judged.verdict == "right", ""


def _checked(path: Path, reader: Reader, rows: list[Labelled], verdicts: list[tuple[bool | None, str]]) -> Checked:
    names = {True: "right", False: "wrong", None: None}
    tally, pairs = Verdicts(), list[Pair]()
    for row, (right, _) in zip(rows, verdicts, strict=True):
        alike = None if right is None else right == row.right
        tally.add(pair_code(alike, None), group_number(row.group))
        pairs.append((names[row.right], names[right]))
    return Checked(
        file=str(path),
        rows=len(rows),
        judge=reader.model.identity,
        prompt_hash=prompt_hash("judge"),
        score=tally.score("reference", "exclude", resamples=2000, seed=0),
        agreement=cohen_kappa(pairs, [row.group for row in rows]),
        unmarkable=dict(sorted(Counter(reason for right, reason in verdicts if right is None).items())),
    )
