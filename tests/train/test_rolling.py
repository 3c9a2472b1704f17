"""Rollouts as a run: label noise worked out by hand, copies, and what the run's files say."""

import asyncio
import dataclasses
import itertools
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Source
from assay.engine.store import RunStore
from assay.errors import DataError, MarkError, RunMismatch
from assay.models.scripted import ScriptedModel
from assay.train.files import read_header
from assay.train.records import Completion, Rollout, StepRollout
from assay.train.rolling import RECORDS, Rolling, roll, solutions_of
from assay.train.rollout_report import Collector, Noise, Report, Sameness, copy_notes, noise_of
from assay.train.rollouts import Rolled, RolloutPlan
from assay.train.visualprm import read_rollouts
from assay.types import Mark, Marked, Reply, Request, Sample, Sampling
from support.fruit import make_fruit

# ----------------------------------------------------------------------------------------------------------------------
# Label noise


def test_noise_worked_out_by_hand() -> None:
    """Four completions a step, halves of two; ten steps: three with 0 successes, two with 1, one with 2, four with 4.

    One success is always in one half alone: 1. Of two, both are in one half in 2 of 6 divisions: 1/3. Else the halves
    agree. So (2 * 1 + 1 * 1/3) / 10 = 7/30. A step with one success has it last in 1 of 4 orders, and 3 without are
    without: (2/4) / (3 + 2/4) = 1/7.
    """
    noise = noise_of(Counter({0: 3, 1: 2, 2: 1, 4: 4}), 4)
    assert (noise.steps, noise.completions) == (10, 4)
    assert noise.halves == pytest.approx(7 / 30)
    assert noise.last == pytest.approx(1 / 7)


def test_noise_where_there_is_little_to_tell() -> None:
    assert noise_of({1: 2}, 1) == Noise(steps=2, completions=1, halves=None, last=1.0)
    assert noise_of({4: 2}, 4) == Noise(steps=2, completions=4, halves=0.0, last=None)


@given(st.integers(2, 6), st.data())
def test_noise_is_the_mean_over_all_orders(completions: int, data: st.DataObject) -> None:
    """The same by going through every order of a step's completions."""
    k = data.draw(st.integers(0, completions))
    orders = list(itertools.permutations([True] * k + [False] * (completions - k)))
    half = completions // 2
    differing = sum(any(order[:half]) != any(order[half : 2 * half]) for order in orders)
    wrong_before = [order for order in orders if not any(order[:-1])]
    noise = noise_of({k: 7}, completions)
    assert noise.halves == pytest.approx(differing / len(orders))
    if wrong_before:
        assert noise.last == pytest.approx(sum(order[-1] for order in wrong_before) / len(wrong_before))
    else:
        assert noise.last is None


# ----------------------------------------------------------------------------------------------------------------------
# Copies


def prefixes(*texts: list[str], plan: RolloutPlan) -> Collector:
    """One solution of a question with these completions of its steps, and a last step without any."""
    steps = [
        StepRollout(
            step=f"Step {number}.\n\n",
            completions=tuple(
                Completion(index=index, seed=index, text=text, answer=None, right=False)
                for index, text in enumerate(written)
            ),
        )
        for number, written in enumerate(texts)
    ]
    last = StepRollout(step="The end.", completions=steps[0].completions)
    rollout = Rollout(sample_id="q", group="g", solution=0, steps=(*steps, last), answer=None, right=False)
    collector = Collector(plan)
    collector.add(Rolled(sample_id="q", rollouts=(rollout,)))
    return collector


def test_equal_and_copied_completions() -> None:
    """Requests of four: 0 | 1 | 2 3."""
    collector = prefixes(
        ["a", "a", "a", "a"],  # equal
        ["a", "b", "c", "c"],  # copied
        ["a", "b", "c", "d"],
        ["a", "b", "b", "c"],
        ["a"],  # a hard label from one completion says nothing
        ["a", "b"],  # nor do two requests of their own
        plan=RolloutPlan(completions=4),
    )
    assert collector.sameness == Sameness(prefixes=5, equal=1, copied=1)


@pytest.mark.parametrize(
    ("found", "temperature", "says"),
    [
        (Sameness(prefixes=10, equal=9), 1.0, ["At temperature 1 the completions of 9 of 10"]),
        (Sameness(prefixes=10, equal=8), 1.0, []),
        (Sameness(prefixes=4, equal=4), 1.0, []),  # too few to say
        (Sameness(prefixes=10, equal=8, copied=1), 0.7, ["For 9 of 10"]),
        (Sameness(questions=5, same_solutions=5), 1.0, ["All solutions of 5 of 5"]),
        (Sameness(questions=4, same_solutions=4), 1.0, []),
        (Sameness(prefixes=10, equal=10), 0.0, ["At temperature 0"]),
    ],
)
def test_what_is_said_of_copies(found: Sameness, temperature: float, says: list[str]) -> None:
    notes = copy_notes(found, temperature)
    assert len(notes) == len(says)
    for note, begin in zip(notes, says, strict=True):
        assert note.startswith(begin)


def test_completions_that_were_cut_are_told_apart() -> None:
    """20 completions: 2 cut (10 %), 3 complete without an answer, 15 wrong. 1 of 20 is 5 %, which is not said."""

    def collected(cut: int) -> Collector:
        endings = [("length", None)] * cut + [("stop", None)] * 3 + [("stop", "B")] * (17 - cut)
        completions = [
            {"index": index, "seed": index, "text": f"{index}", "answer": answer, "finish": finish, "right": False}
            for index, (finish, answer) in enumerate(endings)
        ]
        step = msgspec.convert({"step": "Step 1.", "completions": completions}, StepRollout)
        rollout = Rollout(sample_id="q", group="g", solution=0, steps=(step,), answer=None, right=False)
        collector = Collector(RolloutPlan(completions=20))
        collector.add(Rolled(sample_id="q", rollouts=(rollout,)))
        return collector

    counts = collected(2).counts
    assert (counts.completions, counts.truncated, counts.unanswered, counts.unmarked) == (20, 2, 3, 0)
    (note,) = collected(2).notes(1.0)
    assert note.startswith("2 of 20 completions were cut")
    assert collected(1).notes(1.0) == ()


# ----------------------------------------------------------------------------------------------------------------------
# The run

CHANCES = (0.9, 0.3)  # of a completion from step 1 and step 2


def write(request: Request, index: int) -> str:
    """Two steps and no answer; what goes on from step k is right with the k-th chance. The gold answer is A."""
    if not request.prefill:
        return "Step 1: we look.\n\nStep 2: we look again.\n\n"
    dice = random.Random(f"{request.seed} {index}")
    right = dice.random() < CHANCES[request.prefill.count("Step") - 1]
    return f"So it is, as {dice.random()} says.\n\n\\boxed{{{'A' if right else 'B'}}}"


def rolling(folder: Path, questions: int, *, benchmark: Benchmark | None = None, **plan: Any) -> Rolling:
    data = folder / "data"
    if not data.exists():
        make_fruit(data, questions, gold=lambda _number: 0)
    return Rolling(
        benchmark=benchmark or load_benchmark("mathvision"),
        source=Source(data=data, split="testmini"),
        model=ScriptedModel(write, identity="scripted:dice"),
        out=folder / "run",
        rollouts=msgspec.convert({"solutions": 1, "completions": 16, **plan}, RolloutPlan),
        continuation="prefill",
    )


def go(plan: Rolling) -> Report:
    return asyncio.run(roll(plan))


def test_soft_labels_are_unbiased_in_the_file(tmp_path: Path) -> None:
    """60 questions x 16 completions = 960 draws a step: a mean within 4 sigma = 4 * sqrt(p (1 - p) / 960) of p.

    That is 0.039 for p = 0.9 and 0.059 for p = 0.3. A hard label is wrong by chance in 0.7**16 = 0.3 % of second steps.
    """
    report = go(rolling(tmp_path, 60))
    solutions = list(read_rollouts(tmp_path / "run" / "rollouts.jsonl"))
    assert len(solutions) == report.written == 60
    for place, bound in ((0, 0.039), (1, 0.059)):
        labels = [solution.steps[place].soft for solution in solutions]
        assert all(label is not None and (16 * label).is_integer() for label in labels)
        assert abs(math.fsum(label or 0.0 for label in labels) / 60 - CHANCES[place]) < bound
    # Two labels from 8 completions each: 2 q (1 - q) with q = 0.1**8 or 0.7**8 = 0.0576, 0.109 on half of the steps.
    assert report.noise is not None
    assert report.noise.halves == pytest.approx(0.109 / 2, abs=0.04)


def test_calls_saved_as_worked_out(tmp_path: Path) -> None:
    """Hard labels end with the batch of the first success: 1, 2, 4, 8 or 16 completions.

    Expected from p: 1 + q + 2 q**2 + 4 q**4 + 8 q**8 with q = 1 - p: 1.12 for 0.9 and 1 + 0.7 + 0.98 + 0.96 + 0.46 =
    4.10 for 0.3; together 5.22 of 32, 0.163. Of 60 questions the mean's standard error is below 0.018.
    """
    report = go(rolling(tmp_path, 60, labels="hard"))
    assert report.counts.share == pytest.approx(0.163, abs=4 * 0.018)
    assert report.noise is None
    asked = Counter(
        len(step["completions"])
        for line in (tmp_path / "run" / "rollouts-0.jsonl").read_text().splitlines()
        for rollout in json.loads(line)["rollouts"]
        for step in rollout["steps"]
    )
    assert set(asked) <= {1, 2, 4, 8, 16}
    assert sum(size * steps for size, steps in asked.items()) == report.counts.asked


def test_hard_labels_are_those_of_soft_ones(tmp_path: Path) -> None:
    found: dict[str, list[tuple[bool | None, ...]]] = {}
    plans: dict[str, dict[str, Any]] = {
        "soft": {},
        "hard": {"labels": "hard"},
        "first": {"labels": "hard", "stop": "first_error"},
    }
    for name, plan in plans.items():
        go(dataclasses.replace(rolling(tmp_path, 30, **plan), out=tmp_path / name))
        solutions = read_rollouts(tmp_path / name / "rollouts.jsonl")
        found[name] = [tuple(step.hard for step in solution.steps) for solution in solutions]
    assert found["soft"] == found["hard"]
    for all_of, part in zip(found["soft"], found["first"], strict=True):
        end = all_of.index(False) + 1 if False in all_of else len(all_of)
        assert part == (*all_of[:end], *[None] * (len(all_of) - end))


def test_the_header_says_what_was_drawn(tmp_path: Path) -> None:
    go(rolling(tmp_path, 1, labels="hard", completions=2))
    settings = read_header(tmp_path / "run" / "rollouts.jsonl", "rollouts").settings
    assert {name: settings[name] for name in ("benchmark", "model", "solutions", "completions", "labels", "seed")} == {
        "benchmark": "mathvision",
        "model": "scripted:dice",
        "solutions": 1,
        "completions": 2,
        "labels": "hard",
        "seed": 0,
    }
    assert settings["sampling"]["temperature"] == 1.0


def test_another_plan_is_refused_and_other_labels_are_not(tmp_path: Path) -> None:
    go(rolling(tmp_path, 2, completions=2))
    with pytest.raises(RunMismatch, match="search"):
        go(rolling(tmp_path, 2, completions=3))
    with pytest.raises(RunMismatch, match="sampling"):
        go(dataclasses.replace(rolling(tmp_path, 2, completions=2), sampling=Sampling(temperature=0.5)))
    report = go(rolling(tmp_path, 2, completions=2, labels="hard"))
    assert report.plan.labels == "hard"


def test_a_solution_that_can_not_be_marked_is_no_failure(tmp_path: Path) -> None:
    def slow(_sample: Sample, reply: Reply) -> Marked:
        if "boxed" not in reply.text:
            raise MarkError("the comparison ran into its deadline")
        right = Mark(verdict="right" if "{A}" in reply.text else "wrong")
        return Marked(reference=right, robust=right)

    benchmark = dataclasses.replace(load_benchmark("mathvision"), mark=slow)
    report = go(rolling(tmp_path, 2, benchmark=benchmark, completions=4))
    assert (report.failed, report.unmarked, report.written) == ({}, 2, 2)
    with RunStore.open(tmp_path / "run") as store:
        results = [outcome.result for outcome in store.outcomes()]
        assert all(isinstance(result, Marked) and result.robust.verdict == "unmarkable" for result in results)


def test_records_that_are_gone(tmp_path: Path) -> None:
    go(rolling(tmp_path, 2, completions=1))
    (tmp_path / "run" / f"{RECORDS}-0.jsonl").unlink()
    with pytest.raises(DataError, match="has an outcome of question 0 but not a record of rollouts"):
        go(rolling(tmp_path, 2, completions=1))


def test_solutions_without_steps_are_left_out() -> None:
    empty = Rollout(sample_id="q", group="g", solution=0, steps=(), answer=None, right=False)
    whole = Rollout(sample_id="q", group="g", solution=1, steps=(StepRollout(step="Step 1."),), answer="A", right=True)
    rolled = Rolled(sample_id="q", question="Which?", gold="A", rollouts=(empty, whole))
    (solution,) = solutions_of(rolled, "quiz")
    assert (solution.id, solution.source, solution.question, solution.gold) == ("q#1", "quiz", "Which?", "A")
    collector = Collector(RolloutPlan())
    collector.add(rolled)
    assert collector.empty == 1
