"""What a search costs beside the calls that it must make.

    python bench/search.py [--samples 200] [--concurrency 32] [--n 8] [--hub-python PATH]

First with simulated latencies: Refined Best-of-N over `--samples` questions, policy and critic scripted, every call as
long as a seeded log-normal number says, behind the real pool, store and runner at a fixed concurrency. No schedule can
be faster than

    max(sum of all latencies / concurrency, longest chain of calls that wait for each other)

and the ratio of the wall time to that bound is what is reported: idle places in the pool, barriers between phases and
our own work all show up in it.

Then best-of-N with a judge that gives one score, over HTTP, against one fake server in a process of its own: ours with
a server that honours `n` and with one that ignores it, so that both contestants make the same number of calls, and
its_hub's (Apache-2.0, `pip install 'its_hub[lm]'`) where it is importable, here or by `--hub-python`, the interpreter
of its own environment. Each runs in a fresh process; client CPU is user + system time without start-up.

Last line: RESULT {"wall_ratio_to_bound": .., ...}
"""

import argparse
import asyncio
import importlib.util
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from assay.engine.caller import Caller
from assay.engine.local import run_samples
from assay.engine.pool import Pool
from assay.engine.store import SCHEMA, RunStore, seal
from assay.models.base import Model
from assay.models.openai import OpenAIModel
from assay.models.scripted import ScriptedModel
from assay.solve.policy import Policy
from assay.solve.records import Critique, Refined, Resampled, Solution, StepVerdict
from assay.solve.search import Problem, best_of_n, refined_bon
from assay.solve.select import best_of
from assay.types import Manifest, Mark, Marked, Message, Outcome, Request, Sample, Sampling, TextPart

POLICY_SECONDS, CRITIC_SECONDS = 0.20, 0.12  # medians
SPREAD = 0.6  # standard deviation of a latency's logarithm
JUDGE = "Score the following"  # how the prompts of both judges begin
DRAWN = Sampling(temperature=0.7)


def latency(kind: str, what: str) -> float:
    """Seconds that a call takes; the same for the same call."""
    median = POLICY_SECONDS if kind == "policy" else CRITIC_SECONDS
    return median * random.Random(f"{kind} {what}").lognormvariate(0.0, SPREAD)


def solution_text(what: str) -> str:
    """Six steps of which, in two of three solutions, one is wrong."""
    draw = random.Random(what)
    wrong = draw.randrange(1, 10)
    steps = [f"Step {k}: {'a slip' if k == wrong else 'well done'} {draw.randrange(1000)}." for k in range(1, 7)]
    return "\n\n".join([*steps, f"Answer: {draw.randrange(5)}"])


def problem(number: int) -> Problem:
    text = f"Question {number}: which figure has the largest area?"
    message = Message(role="user", parts=(TextPart(text=text),))
    return Problem(sample=Sample(id=f"q{number}", question=text, group=f"q{number}"), messages=(message,))


def judging_request(sample: Sample, solution: Solution, **more: Any) -> Request:
    text = f"{JUDGE} answer from 0 to 10, as JSON.\n{sample.question}\n{solution.text}"
    return Request(messages=(Message(role="user", parts=(TextPart(text=text),)),), **more)


# ------------------------------------------------------------------------------
# Simulated


class World:
    """Scripts of policy and critic that take their time, and what they took.

    A chain is what comes of one first solution: its critique, the solution that follows, the critique of that one.
    """

    def __init__(self, n: int) -> None:
        self.total = 0.0
        self._half = -(-n // 2)
        self._drawing: dict[str, float] = {}  # sample -> seconds of its first request, which all its chains wait for
        self._chains: defaultdict[tuple[str, int], float] = defaultdict(float)

    @property
    def longest(self) -> float:
        return max(self._drawing[sample] + seconds for (sample, _), seconds in self._chains.items())

    async def write(self, request: Request, index: int) -> str:
        what = f"{request.sample_id} {index}"
        if index == request.index:  # further draws of a request come in the same time
            seconds = latency("policy", what)
            self.total += seconds
            if index == 0:
                self._drawing[request.sample_id] = seconds
            else:
                self._chains[request.sample_id, index - self._half] += seconds
            await asyncio.sleep(seconds)
        return "Step 7: So be it.\n\nAnswer: 1" if request.prefill else solution_text(what)

    async def judge(self, request: Request, _index: int) -> str:
        sample, chain, _ = request.sample_id.split("/")
        seconds = latency("critic", request.sample_id)
        self.total += seconds
        self._chains[sample, int(chain)] += seconds
        await asyncio.sleep(seconds)
        return "judged"


class StepJudge:
    """A critic that takes a call and finds the slips."""

    identity = "bench"

    def __init__(self, model: Model) -> None:
        self._model = model

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique:  # noqa: ARG002
        origin = solution.origin
        later = isinstance(origin, Refined | Resampled)
        name = f"{sample.id}/{origin.parent if later else origin.index}/{int(later)}"
        await self._model.generate(judging_request(sample, solution, sample_id=name))
        steps = tuple(
            StepVerdict(correct="slip" not in step, score=0.1 if "slip" in step else 0.9, source="text")
            for step in solution.steps
        )
        return Critique(steps=steps, correction=f"well mended in {name}.")

    async def close(self) -> None:
        """Nothing to free."""


def simulate(folder: Path, samples: int, concurrency: int, n: int) -> dict[str, float]:
    """Wall time of Refined Best-of-N over all samples, and the bound."""
    world = World(n)
    problems = {f"q{number}": problem(number) for number in range(samples)}
    right = Marked(reference=Mark(verdict="right"), robust=Mark(verdict="right"))
    manifest = Manifest(
        schema=SCHEMA, benchmark="bench", split="", revision="", model="scripted", search="refined-bon",
        sampling=DRAWN, seed=0, prompt_hash="", image_transform="", limit=None, data="", fingerprint="",
    )  # fmt: skip

    async def work(sample: Sample) -> Outcome:
        found = await refined_bon(policy, critic, problems[sample.id], n=n)
        if len(found.pool) != n or found.failures:
            raise SystemExit(f"the pool of {sample.id} has {len(found.pool)} solutions")
        return Outcome(sample_id=sample.id, group=sample.group, result=right)

    async def run(store: RunStore) -> float:
        started = time.monotonic()
        await run_samples([one.sample for one in problems.values()], work, store=store, concurrency=concurrency)
        return time.monotonic() - started

    with RunStore.create_or_resume(folder, seal(manifest)) as store:
        places = Pool(maximum=concurrency, start=concurrency)
        writer = Caller(ScriptedModel(world.write, identity="policy"), store=store, pool=places)
        judge = Caller(ScriptedModel(world.judge, identity="critic"), store=store, pool=places)
        policy, critic = Policy(writer, sampling=DRAWN, continuation="prefill"), StepJudge(judge)
        wall = asyncio.run(run(store))
    calls = writer.tally.calls + judge.tally.calls
    bound = max(world.total / concurrency, world.longest)
    return {"wall": wall, "bound": bound, "longest": world.longest, "calls": calls}


# ------------------------------------------------------------------------------
# Best-of-N over HTTP


class Server:
    """Counts its calls. `/v1` honours `n`, `/single/v1` ignores it; a call takes the same time either way."""

    def __init__(self) -> None:
        self._calls = 0

    async def chat(self, request: Any) -> Any:
        from aiohttp import web

        self._calls += 1
        body = json.loads(await request.read())
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        what = f"{text} {self._calls}"
        await asyncio.sleep(latency("critic" if JUDGE in text else "policy", what))
        count = 1 if request.path.startswith("/single") else body.get("n", 1)
        answers = ['{"score": 7}' if JUDGE in text else solution_text(f"{what} {i}") for i in range(count)]
        choices = [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
            for i, answer in enumerate(answers)
        ]
        usage = {"prompt_tokens": 100, "completion_tokens": 80, "total_tokens": 180}
        reply = {"id": "r", "object": "chat.completion", "model": "bench", "choices": choices, "usage": usage}
        return web.json_response(reply)

    async def count(self, _: Any) -> Any:
        """The calls since the last time that somebody asked."""
        from aiohttp import web

        counted, self._calls = self._calls, 0
        return web.json_response(counted)

    async def run(self, port_file: Path) -> None:
        from aiohttp import web

        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/single/v1/chat/completions", self.chat)
        app.router.add_get("/calls", self.count)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port_file.with_suffix(".tmp").write_text(str(runner.addresses[0][1]))
        port_file.with_suffix(".tmp").rename(port_file)
        await asyncio.sleep(3600)


class ScoreJudge:
    """One score for a whole solution, as its_hub's judge gives it."""

    identity = "bench"

    def __init__(self, model: Model) -> None:
        self._model = model

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique:  # noqa: ARG002
        (reply,) = await self._model.generate(judging_request(sample, solution))
        score = json.loads(reply.text)["score"] / 10
        return Critique(steps=(StepVerdict(correct=score >= 0.5, score=score, source="given"),))

    async def close(self) -> None:
        """Nothing to free."""


async def run_assay(url: str, samples: int, concurrency: int, n: int) -> None:
    caller = Caller(OpenAIModel("bench", url, api_key=""), pool=Pool(maximum=concurrency, start=concurrency))
    policy, judge = Policy(caller, sampling=DRAWN), ScoreJudge(caller)
    rest = iter(range(samples))

    async def worker() -> None:
        for number in rest:
            found = await best_of_n(policy, judge, problem(number), n=n)
            best_of(found.pool, range(len(found.pool)), "mean")

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    await caller.close()


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def contest(name: str, command: Sequence[str], port: int, path: str, arguments: argparse.Namespace) -> dict[str, float]:
    sizes = [str(size) for size in (arguments.samples, arguments.concurrency, arguments.n)]
    whole = [*command, f"http://127.0.0.1:{port}{path}", *sizes]
    done = subprocess.run(whole, stdout=subprocess.PIPE, text=True, check=False, timeout=1800)
    if done.returncode:
        raise SystemExit(f"{name} failed with exit code {done.returncode}")
    with urlopen(f"http://127.0.0.1:{port}/calls") as counted:
        calls = json.loads(counted.read())
    result = json.loads(done.stdout.strip().splitlines()[-1])
    cpu = 1000 * result["cpu"] / arguments.samples
    print(
        f"{name:>18}: best-of-{arguments.n}: {result['wall']:.1f} s, {cpu:.1f} ms client CPU a sample, {calls:,} calls"
    )
    return {"wall_s": result["wall"], "cpu_ms": cpu, "calls": calls}


def compare(arguments: argparse.Namespace, port: int) -> dict[str, float]:
    """The contestants' figures, by name."""
    own = [sys.executable, __file__, "--child", "assay"]
    found = {
        "assay": contest("assay", own, port, "/v1", arguments),
        "assay_single": contest("assay, n ignored", own, port, "/single/v1", arguments),
    }
    python = arguments.hub_python or (sys.executable if importlib.util.find_spec("its_hub") else None)
    if python is None:
        print(f"{'its_hub':>18}: not installed here")
    else:
        hub = [python, str(Path(__file__).with_name("its_hub_bon.py"))]
        found["its_hub"] = contest("its_hub", hub, port, "/v1", arguments)
    return {f"bon_{figure}_{name}": value for name, figures in found.items() for figure, value in figures.items()}


# ------------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--hub-python", help="an interpreter that can import its_hub")
    parser.add_argument("--child", choices=["serve", "assay"], help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    return parser.parse_args()


def with_server(folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    port_file = folder / "port"
    server = subprocess.Popen([sys.executable, __file__, "--child", "serve", str(port_file)])
    try:
        deadline = time.monotonic() + 30
        while not port_file.exists():
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the benchmark's server did not start")
            time.sleep(0.05)
        return compare(arguments, int(port_file.read_text()))
    finally:
        server.kill()
        server.wait()


def main() -> None:
    arguments = parse()
    if arguments.child == "serve":
        asyncio.run(Server().run(Path(arguments.rest[0])))
        return
    if arguments.child == "assay":
        cpu, wall = cpu_seconds(), time.monotonic()
        asyncio.run(run_assay(arguments.rest[0], *map(int, arguments.rest[1:])))
        print(json.dumps({"cpu": cpu_seconds() - cpu, "wall": time.monotonic() - wall}), flush=True)
        return
    with tempfile.TemporaryDirectory() as name:
        simulated = simulate(Path(name) / "run", arguments.samples, arguments.concurrency, arguments.n)
        ratio = simulated["wall"] / simulated["bound"]
        print(
            f"{'simulated':>18}: refined best-of-{arguments.n}, {arguments.samples} samples, {simulated['calls']:,} "
            f"calls, {arguments.concurrency} at a time: {simulated['wall']:.1f} s, bound {simulated['bound']:.1f} s "
            f"(longest chain {simulated['longest']:.1f} s): {ratio:.3f}"
        )
        figures = with_server(Path(name), arguments)
    result = {"wall_ratio_to_bound": ratio} | figures
    print("RESULT " + json.dumps({key: round(value, 3) for key, value in result.items()}))


if __name__ == "__main__":
    main()
