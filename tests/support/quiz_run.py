"""A run in a process of its own, for tests that kill or interrupt it.

    python quiz_run.py FOLDER SAMPLES CONCURRENCY SECONDS_PER_CALL GRACE

Prints `call ID` when a call begins and `done ID` once an outcome is stored; ends with one line that says how.
SECONDS_PER_CALL may be `never`: such a call takes longer than any test.
"""

import asyncio
import sys
from pathlib import Path

from assay.engine.local import Caller, run_samples
from assay.engine.pool import Pool
from assay.errors import RunStopped
from assay.models.scripted import ScriptedModel
from assay.types import Outcome, Reply, Request, Usage
from support.runs import asking, new_store, samples


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def reply_to(request: Request, index: int) -> Reply:
    """Depends on seed and draw alone, as a server's reply should."""
    letter = "ABCD"[(request.seed + index) % 4]
    return Reply(text=f"Answer: {letter}", usage=Usage(prompt_tokens=request.seed % 100, completion_tokens=2))


def quiz_model(seconds: float = 0.0, *, loud: bool = False) -> ScriptedModel:
    async def answer(request: Request, index: int) -> Reply:
        if loud:
            say(f"call {request.sample_id}")
        await asyncio.sleep(seconds)
        return reply_to(request, index)

    return ScriptedModel(answer, identity="scripted:quiz")


async def main(folder: Path, count: int, concurrency: int, seconds: float, grace: float) -> None:
    def done(outcome: Outcome) -> None:
        say(f"done {outcome.sample_id}")

    with new_store(folder) as store:
        pool = Pool(maximum=concurrency, start=concurrency)
        caller = Caller(quiz_model(seconds, loud=True), store=store, pool=pool)
        try:
            finished = await run_samples(
                samples(count),
                asking(caller.generate),
                store=store,
                concurrency=concurrency,
                stop=caller.stop,
                on_outcome=done,
                total=count,
                grace=grace,
            )
            say(f"finished {finished.done}")
        except RunStopped as stopped:
            say(f"stopped: {stopped}")


if __name__ == "__main__":
    folder, count, concurrency, seconds, grace = sys.argv[1:]
    asyncio.run(
        main(
            Path(folder),
            int(count),
            int(concurrency),
            3600.0 if seconds == "never" else float(seconds),
            float(grace),
        )
    )
