"""Pools of FinCharts-lite as a search with a faultless critic would leave them: no model is asked."""

import itertools
import random
from collections.abc import Iterator, Sequence

from assay.benchmarks.base import Benchmark
from assay.fincharts.lite import LiteItem, items, solution
from assay.fincharts.lite_critiques import correction, judge, perturb
from assay.solve.pool import PoolRecord, select_from
from assay.solve.records import Critique, Judged, Refined, Sampled, Selection, Solution, StepVerdict
from assay.types import Reply, Sample, Usage

USAGE = Usage(prompt_tokens=30, completion_tokens=40)


def pools(benchmark: Benchmark, samples: Sequence[Sample], seed: str) -> Iterator[PoolRecord]:
    """Of every sample: two solutions with an error, what is refined from the first, and a greedy one with an error.

    Args:
        samples: those of `seed`, from the first.
    """
    rng = random.Random(seed)
    for item, sample in zip(itertools.islice(items(seed), len(samples)), samples, strict=True):
        first, second = (_judged(item, _written(perturb(item, rng)[0]), Sampled(index=n)) for n in range(2))
        pool = [first, second, *_refinements(item, first)]
        greedy = Solution(steps=_written(perturb(item, rng)[0]), answer=None, origin=Sampled(index=0, greedy=True))
        pool.append(Judged(solution=greedy))
        refined = (0, 2) if len(pool) == 4 else (0, 1)
        record = PoolRecord(
            sample_id=sample.id,
            group=sample.group,
            pool=tuple(pool),
            marks=tuple(benchmark.mark(sample, Reply(text=one.solution.text)) for one in pool),
            members={"greedy": (len(pool) - 1,), "plain": (0, 1), "refined": refined},
            chosen=Selection(chosen=0, strategy="refined-bon"),
        )
        yield PoolRecord(
            **{name: getattr(record, name) for name in record.__struct_fields__ if name != "chosen"},
            chosen=select_from(record.pool, record.members, "refined-bon", "mean"),
        )


def _written(steps: Sequence[str]) -> tuple[str, ...]:
    *others, last = steps
    return (*(f"Step {number}: {step}\n\n" for number, step in enumerate(others, start=1)), last)


def _judged(item: LiteItem, steps: tuple[str, ...], origin: Sampled | Refined) -> Judged:
    bare = [step.strip().partition(": ")[2] if step.startswith("Step") else step for step in steps]
    answer = bare[-1].removeprefix("Answer: ")
    solved = Solution(steps=steps, answer=answer, origin=origin, usage=USAGE)
    verdicts = judge(item, bare)
    return Judged(
        solution=solved,
        critique=Critique(
            steps=tuple(
                StepVerdict(
                    correct=one.correct,
                    score=0.9 if one.correct else 0.1,
                    source="logprobs",
                    intent=one.intent,
                    comment=f"{one.image}\n{one.logic}",
                )
                for one in verdicts
            ),
            correction=correction(item, bare),
            usage=USAGE,
        ),
    )


def _refinements(item: LiteItem, first: Judged) -> Iterator[Judged]:
    assert isinstance(first.critique, Critique)
    error = first.critique.first_error
    if error is not None:
        yield _judged(item, _written(solution(item)), Refined(parent=0, kept=error + 1))
