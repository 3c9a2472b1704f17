"""Whose labels should a critic be trained on? The pipeline of `assay prm`, with the agreement filter on and off.

The tiny policy solves and completes (Monte-Carlo, hard labels); a teacher writes critiques and is wrong about one
solution in four: it misses the error, or finds one where there is none. An early critic (8,000 constructed rows) goes
on with what the filter keeps of both, of the teacher alone, and of Monte-Carlo alone, for equally many steps.
"""

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rows

from assay.fincharts.lite import LiteItem, items
from assay.fincharts.lite_critiques import LiteStep, gold_step, judge
from assay.solve.steps import strip_step
from assay.train.files import read_records
from assay.train.records import Example
from assay.train.visualprm import read_rollouts

QUESTIONS = 700
TEACHER_WRONG = 0.25
STEPS = 300  # of fine-tuning, with batches of 16
LABELS = ("both", "teacher", "mc")

Assay = Callable[..., None]


def prepare(out: Path, assay: Assay, policy: Path) -> Path:
    """Rollouts, a teacher's critiques of them, and what the three filters keep."""
    folder = out / "ablation"
    folder.mkdir(parents=True, exist_ok=True)
    rolled = folder / "rollouts"
    assay(
        *("prm", "rollouts", "fincharts-lite", "--split", f"train-ablation:{QUESTIONS}", "--model", f"local:{policy}"),
        *("--solutions", "2", "--completions", "8", "--labels", "hard", "--stop", "first-error"),
        *("--out", str(rolled), "--concurrency", "256"),
        log=folder / "rollouts.txt",
    )
    teacher = folder / "teacher.jsonl"
    _write_teacher(rolled / "rollouts.jsonl", teacher)
    assay(
        *("prm", "label", str(rolled / "rollouts.jsonl"), "--teacher", f"scripted:{teacher}", "--retries", "0"),
        *("--out", str(folder / "labels")),
        log=folder / "label.txt",
    )
    for which in LABELS:
        assay(
            *("prm", "filter", "--rollouts", str(rolled / "rollouts.jsonl"), "--labels", which, "--keep-duplicates"),
            *("--critiques", str(folder / "labels" / "critiques.jsonl"), "--out", str(folder / which / "examples")),
            log=folder / f"filter-{which}.txt",
        )
        assay(
            *("prm", "export", str(folder / which / "examples" / "examples.jsonl"), "--format", "trl", "--any-text"),
            *("--no-near", "--held-out-examples", "0", "--out", str(folder / which / "export")),
            log=folder / f"export-{which}.txt",
        )
    return folder


def _write_teacher(rollouts: Path, path: Path) -> None:
    known = {
        f"train-ablation-{place}": item
        for place, item in enumerate(itertools.islice(items("train-ablation"), QUESTIONS), 1)
    }
    rng = random.Random("teacher")
    with path.open("w", encoding="utf-8") as file:
        for solution in read_rollouts(rollouts):
            steps = [strip_step(step.text) for step in solution.steps]
            said = _teach(known[solution.sample_id], steps, rng)
            file.write(json.dumps({"id": solution.id, "reply": said}) + "\n")


def _teach(item: LiteItem, steps: list[str], rng: random.Random) -> str:
    said = list(judge(item, steps))
    first = next((place for place, step in enumerate(said) if not step.correct), None)
    fixed = None if first is None else gold_step(item, steps, first)
    if rng.random() < TEACHER_WRONG:
        if first is not None:
            said, fixed = [_turned(step, right=True) for step in said], None
        else:
            place = rng.randrange(len(said))
            said[place] = _turned(said[place], right=False)
            fixed = rows.spoiled(gold_step(item, steps, place), item.options, rng)
    return rows.critique(said, fixed)


def _turned(step: LiteStep, *, right: bool) -> LiteStep:
    return LiteStep(
        intent=step.intent,
        image=step.image,
        image_correct=right or step.image_correct,
        logic=step.logic,
        logic_correct=right,
    )


def kept(folder: Path) -> dict[str, Any]:
    """How many examples each kind of labels left."""
    found: dict[str, Any] = {}
    for which in LABELS:
        examples = list(read_records(folder / which / "examples" / "examples.jsonl", "examples", Example))
        wrong = sum(example.first_error is not None for example in examples)
        found[which] = {"kept": len(examples), "erroneous": wrong, "clean": len(examples) - wrong}
    return found
