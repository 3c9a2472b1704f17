"""A search of your own: ask until two solutions agree.

    python examples/own_search.py                                    a scripted policy
    python examples/own_search.py openai:NAME@http://127.0.0.1:8000/v1

A search gets questions without their right answers; what it chooses is marked afterwards.
"""

import asyncio
import sys
from importlib.resources import files
from pathlib import Path

from msgspec.structs import replace

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source, mark_reply
from assay.engine.local import Caller
from assay.images import ImageCache
from assay.models import open_model
from assay.models.base import Model, parse_address
from assay.models.scripted import ScriptedModel
from assay.solve.policy import Policy
from assay.solve.pool import marked_reply
from assay.solve.records import Judged
from assay.solve.search import Problem
from assay.solve.select import answer_classes, vote
from assay.types import Marked, Request, Sampling

DATA = Path(str(files("assay"))) / "demo" / "mathvision"
MOST = 6


async def until_two_agree(policy: Policy, problem: Problem) -> list[Judged]:
    """Solutions, one after the other, until two have the same answer or there are `MOST`."""
    pool: list[Judged] = []
    while len(pool) < MOST:
        (solution,) = await policy.sample(problem.sample, problem.messages, first_index=len(pool), seed=problem.seed)
        pool.append(Judged(solution=solution))
        if any(len(agreeing) > 1 for agreeing in answer_classes(pool, range(len(pool)))):
            break
    return pool


def scripted(request: Request, index: int) -> str:
    """Answers that depend on the question and the draw."""
    return f"Step 1: I look.\n\nStep 2: \\boxed{{{'ABAB'[(len(request.sample_id) + index) % 4]}}}"


async def main(model: Model) -> None:
    benchmark = load_benchmark("mathvision")
    policy = Policy(Caller(model), sampling=Sampling(temperature=0.7))
    images = ImageCache(folder=None)
    asked = right = 0
    try:
        for sample in list(benchmark.open(Source(data=DATA, split="testmini")))[:10]:
            pictures = [await images.get(path, benchmark.transform) for path in sample.images]
            messages = benchmark.messages(sample, pictures)
            pool = await until_two_agree(policy, Problem(sample=replace(sample, gold=None), messages=messages))
            chosen = vote(pool, range(len(pool))).chosen
            assert chosen is not None
            marks = mark_reply(benchmark, sample, marked_reply(pool[chosen].solution))
            asked += len(pool)
            right += isinstance(marks, Marked) and marks.robust.verdict == "right"
    finally:
        images.close()
        await model.close()
    print(f"{right} of 10 right, {asked} solutions asked for")


if __name__ == "__main__":
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    asyncio.run(main(open_model(parse_address(named)) if named else ScriptedModel(scripted)))
