"""Refined best-of-N over a few questions in a process of its own, so that a test can kill it.

    python -m support.search_run FOLDER LOG SECONDS

Policy and critic are scripts that take SECONDS a call and depend on the request alone. LOG gets a line when a call
begins (`> KEY`) and one when it ends (`< KEY`). The pool of every sample stands in its outcome's detail.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.engine.caller import Caller
from assay.engine.local import run_samples
from assay.engine.pool import Pool
from assay.models.base import Model, request_key
from assay.models.scripted import ScriptedModel
from assay.solve.policy import Policy
from assay.solve.records import Critique, Solution, StepVerdict
from assay.solve.search import Problem, controls
from assay.types import Message, Outcome, Reply, Request, Sample, Sampling, TextPart, Usage
from support.runs import mark_text, new_store, samples

SAMPLES = 6
N = 4
CONCURRENCY = 5
CALLS = SAMPLES * (1 + 1 + N + 2 * (N // 2))
"""A greedy call, one for the plain draws, their critiques, the refined half and its critiques: for every sample."""


class LoggedModel:
    """A model that says when a call begins and ends."""

    def __init__(self, inner: Model, log: Path, seconds: float) -> None:
        self._inner = inner
        self._log = log.open("a", encoding="utf-8")
        self._seconds = seconds

    @property
    def identity(self) -> str:
        return self._inner.identity

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        key = request_key(self.identity, request, request.index)
        self._say(f"> {key}")
        await asyncio.sleep(self._seconds)
        replies = await self._inner.generate(request)
        self._say(f"< {key}")
        return replies

    async def close(self) -> None:
        self._log.close()

    def _say(self, line: str) -> None:
        self._log.write(line + "\n")
        self._log.flush()


def write(request: Request, index: int) -> Reply:
    """Every other draw has an error in its second step."""
    if request.prefill:
        text = f"Step 3: continued {request.sample_id} {index}.\n\nAnswer: A"
    else:
        text = f"Step 1: good.\n\nStep 2: {'bad' if index % 2 else 'fine'} {request.sample_id} {index}.\n\nAnswer: B"
    return Reply(text=text, usage=Usage(prompt_tokens=10, completion_tokens=index % 7))


def judge(request: Request, index: int) -> str:
    return "error" if "bad" in str(request.messages[0].parts[0]) else "clean"


class AskingCritic:
    """A critic that is a model."""

    identity = "asking"

    def __init__(self, model: Model) -> None:
        self._model = model

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique:
        shown = Message(role="user", parts=(TextPart(text=solution.text),))
        (reply,) = await self._model.generate(Request(messages=(shown,), sample_id=f"{sample.id} {solution.reply}"))
        steps = tuple(
            StepVerdict(correct="bad" not in step, score=float("bad" not in step), source="text")
            for step in solution.steps
        )
        return Critique(steps=steps, correction="mended." if reply.text == "error" else None, usage=reply.usage)

    async def close(self) -> None:
        await self._model.close()


async def main(folder: Path, log: Path, seconds: float) -> None:
    with new_store(folder, search="refined-bon") as store:
        places = Pool(maximum=CONCURRENCY, start=CONCURRENCY)
        policy_model = LoggedModel(ScriptedModel(write, identity="policy"), log, seconds)
        critic_model = LoggedModel(ScriptedModel(judge, identity="critic"), log, seconds)
        writer, reader = (Caller(model, store=store, pool=places) for model in (policy_model, critic_model))
        policy = Policy(writer, sampling=Sampling(temperature=0.7), continuation="prefill")
        critic = AskingCritic(reader)

        async def work(sample: Sample) -> Outcome:
            message = Message(role="user", parts=(TextPart(text=sample.question),))
            found = await controls(policy, critic, Problem(sample=sample, messages=(message,), seed=7), n=N)
            detail = {"pool": msgspec.json.encode(found).decode()}
            return Outcome(sample_id=sample.id, group=sample.group, result=mark_text("Answer: A"), detail=detail)

        await run_samples(samples(SAMPLES), work, store=store, concurrency=3)
        await writer.close()
        await critic.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])))
