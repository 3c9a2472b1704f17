"""What the harness costs the client, beside a bare aiohttp loop that sends the same bodies.

    python bench/harness.py [--samples 2000] [--many 20000] [--concurrency 64]

A zero-latency server on loopback runs in a process of its own and answers every request with the same short
reply. Each contestant runs in a fresh process over the same MATH-Vision-shaped questions, each with its own
45 KB JPEG that needs no re-encoding, so that one request body has about 61 KB:

- `bare`: one aiohttp session, `--concurrency` workers; reads the picture, base64, JSON, POST, parses the reply,
  appends a line to a file. Nothing else: no store, no resume, no retries, no marks, no progress.
- `assay`: `assay.evaluate` with everything on: manifest, reply store, outcomes, pool, marks, summary.
- `inspect_ai`: printed where that package is installed (it is not among our dependencies).

Client CPU is user + system time of the contestant's process, interpreter start and imports left out. Peak
memory is the process's maximum resident set, everything in. The cost of re-encoding is printed apart.

Last line: RESULT {"cpu_ratio_to_bare_loop": .., "rss_ratio_20000_to_2000": .., ...}
"""

import argparse
import asyncio
import base64
import io
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

SIDES = (253, 253)
REPLY = {
    "id": "r",
    "object": "chat.completion",
    "model": "bench",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "I see. \\boxed{B}"},
        }
    ],
    "usage": {"prompt_tokens": 300, "completion_tokens": 12, "total_tokens": 312},
}


# ------------------------------------------------------------------------------
# The data: one JPEG of 45 KB a question, all different


def make_data(folder: Path, samples: int) -> None:
    from PIL import Image

    draw = random.Random(7)
    # Noise compresses badly: a small picture makes a large file.
    picture = Image.frombytes("RGB", SIDES, draw.randbytes(3 * SIDES[0] * SIDES[1]))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=80)
    jpeg = buffer.getvalue()
    (folder / "images").mkdir(parents=True)
    with (folder / "testmini.jsonl").open("w") as rows:
        for number in range(samples):
            # Every file differs from the others in its JFIF density (bytes 14 to 17), which says nothing about pixels.
            density = struct.pack(">HH", 1 + number // 60_000, 1 + number % 60_000)
            name = f"images/{number}.jpg"
            (folder / name).write_bytes(jpeg[:14] + density + jpeg[18:])
            row = {
                "id": str(number),
                "question": f"Question {number}: which figure has the largest area?\n<image1>",
                "options": ["A", "B", "C", "D", "E"],
                "answer": "ABCDE"[number % 5],
                "solution": None,
                "level": 1 + number % 5,
                "subject": "solid geometry",
                "image": name,
            }
            rows.write(json.dumps(row) + "\n")


# ------------------------------------------------------------------------------
# The server


def serve(port_file: Path) -> None:
    from aiohttp import web

    body = json.dumps(REPLY).encode()

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="application/json")

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "bench", "object": "model"}]})

    async def main() -> None:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", chat)
        app.router.add_get("/v1/models", models)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        port_file.with_suffix(".tmp").write_text(str(port))
        port_file.with_suffix(".tmp").rename(port_file)
        await asyncio.sleep(3600)

    asyncio.run(main())


# ------------------------------------------------------------------------------
# The contestants; each prints one JSON line


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def report(samples: int, cpu: float, wall: float, **more: Any) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_ms": 1000 * cpu / samples, "wall_s": wall, "peak_mb": peak, **more}), flush=True)


def run_bare(data: Path, port: int, out: Path, concurrency: int) -> None:
    import aiohttp

    prompt = "Which answer is right? Put the letter of your choice in \\boxed{}.\n"

    async def main() -> int:
        rows = iter((data / "testmini.jsonl").open())
        done = 0
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        with out.open("w") as results:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

                async def worker() -> None:
                    nonlocal done
                    for line in rows:
                        row = json.loads(line)
                        encoded = base64.b64encode((data / row["image"]).read_bytes()).decode()
                        parts = [
                            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{encoded}"}},
                            {"type": "text", "text": row["question"] + "\n" + prompt},
                        ]
                        body = {
                            "model": "bench",
                            "messages": [{"role": "user", "content": parts}],
                            "max_tokens": 2048,
                            "temperature": 0,
                            "seed": done,
                        }
                        async with session.post(url, json=body) as response:
                            reply = await response.json()
                        text = reply["choices"][0]["message"]["content"]
                        results.write(json.dumps({"id": row["id"], "text": text}) + "\n")
                        done += 1

                await asyncio.gather(*(worker() for _ in range(concurrency)))
        return done

    cpu, wall = cpu_seconds(), time.monotonic()
    done = asyncio.run(main())
    report(done, cpu_seconds() - cpu, time.monotonic() - wall)


def run_assay(data: Path, port: int, out: Path, concurrency: int, benchmark: str = "mathvision") -> None:
    from assay.benchmarks import load_benchmark
    from assay.benchmarks.base import Source
    from assay.engine.store import RunStore
    from assay.evaluate import Plan, evaluate
    from assay.models import open_model
    from assay.models.base import parse_address
    from assay.report.result import Stored, result_of

    chosen = load_benchmark(benchmark)

    async def main() -> int:
        model = open_model(parse_address(f"openai:bench@http://127.0.0.1:{port}/v1"))
        plan = Plan(
            benchmark=chosen,
            source=Source(data=data, split="testmini"),
            model=model,
            out=out,
            concurrency=concurrency,
        )
        try:
            dataset = chosen.open(plan.source)
            await evaluate(plan, dataset=dataset, progress=True)
        finally:
            await model.close()
        with RunStore.open(out) as store:
            result = result_of(chosen, dataset, Stored(store), model=model.identity, on_missing="exclude")
        return result.summary.samples

    # Imports are start-up, not work for a sample.
    for name in ("assay.models.openai", "assay.images.cache", "assay.images.pixels", "PIL.Image", "numpy.random"):
        import_module(name)
    cpu, wall = cpu_seconds(), time.monotonic()
    done = asyncio.run(main())
    report(done, cpu_seconds() - cpu, time.monotonic() - wall)


def run_inspect(data: Path, port: int, out: Path, concurrency: int) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
    from inspect_ai.scorer import includes

    samples = []
    for line in (data / "testmini.jsonl").open():
        row = json.loads(line)
        content = [ContentImage(image=str(data / row["image"])), ContentText(text=row["question"])]
        samples.append(Sample(id=row["id"], input=[ChatMessageUser(content=content)], target=row["answer"]))
    config = GenerateConfig(max_tokens=2048, temperature=0, max_connections=concurrency)
    model = get_model(
        "openai/bench",
        base_url=f"http://127.0.0.1:{port}/v1",
        api_key="none",
        config=config,
        responses_api=False,
    )
    cpu, wall = cpu_seconds(), time.monotonic()
    inspect_eval(
        Task(dataset=samples, scorer=includes()),
        model=model,
        log_dir=str(out),
        log_images=False,
        display="none",
        log_model_api=False,
    )
    report(len(samples), cpu_seconds() - cpu, time.monotonic() - wall)


def encoding_cost() -> float:
    """Milliseconds to re-encode one 1600x1200 chart as FinMME prescribes."""
    from PIL import Image

    from assay.images import Transform, prepare

    draw = random.Random(3)
    small = Image.frombytes("RGB", (160, 120), draw.randbytes(160 * 120 * 3))
    buffer = io.BytesIO()
    small.resize((1600, 1200)).save(buffer, "PNG")
    rule = Transform(max_edge=1024, format="jpeg", quality=80)
    start = time.process_time()
    for _ in range(10):
        prepare(buffer.getvalue(), rule)
    return 100 * (time.process_time() - start)


# ------------------------------------------------------------------------------


def contest(kind: str, data: Path, port: int, out: Path, concurrency: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", kind, "--data", str(data), "--port", str(port)]
    command += ["--out", str(out), "--concurrency", str(concurrency)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=1800)
    if done.returncode:
        raise SystemExit(f"{kind} failed with exit code {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(arguments: argparse.Namespace, work: Path, port: int) -> dict[str, float]:
    few, many = work / "few", work / "many"
    make_data(few, arguments.samples)
    rounds: dict[str, list[dict[str, float]]] = {"bare": [], "assay": []}
    for number in range(arguments.rounds):  # alternating, so that a busy moment hits both
        for kind in rounds:
            rounds[kind].append(contest(kind, few, port, work / f"{kind}-{number}", arguments.concurrency))
    best = {kind: min(results, key=lambda r: r["cpu_ms"]) for kind, results in rounds.items()}
    for kind, result in best.items():
        print(
            f"{kind:>12}: {result['cpu_ms']:.2f} ms CPU a sample, {result['wall_s']:.1f} s for "
            f"{arguments.samples} samples, peak {result['peak_mb']:.0f} MB"
        )
    if shutil.which("inspect") or arguments.inspect:
        result = contest("inspect", few, port, work / "inspect", arguments.concurrency)
        print(f"{'inspect_ai':>12}: {result['cpu_ms']:.2f} ms CPU a sample, peak {result['peak_mb']:.0f} MB")
        best["inspect"] = result
    else:
        print(f"{'inspect_ai':>12}: not installed here")
    print(f"{'re-encoding':>12}: {encoding_cost():.1f} ms CPU for a 1600x1200 chart to 1024 px JPEG, apart")
    shutil.rmtree(few)
    make_data(many, arguments.many)
    large = contest("assay", many, port, work / "assay-many", arguments.concurrency)
    print(f"{'assay':>12}: {large['cpu_ms']:.2f} ms CPU, peak {large['peak_mb']:.0f} MB for {arguments.many}")
    return {
        "cpu_ratio_to_bare_loop": round(best["assay"]["cpu_ms"] / best["bare"]["cpu_ms"], 3),
        f"rss_ratio_{arguments.many}_to_{arguments.samples}": round(large["peak_mb"] / best["assay"]["peak_mb"], 3),
        "cpu_ms_assay": round(best["assay"]["cpu_ms"], 3),
        "cpu_ms_bare": round(best["bare"]["cpu_ms"], 3),
        **({"cpu_ms_inspect_ai": round(best["inspect"]["cpu_ms"], 3)} if "inspect" in best else {}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--many", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--inspect", action="store_true", help="run inspect_ai too (it must be importable)")
    parser.add_argument("--child", choices=["serve", "bare", "assay", "inspect"], help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child == "serve":
        return serve(arguments.out)
    if arguments.child:
        contestant = {"bare": run_bare, "assay": run_assay, "inspect": run_inspect}[arguments.child]
        return contestant(arguments.data, arguments.port, arguments.out, arguments.concurrency)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        port_file = work / "port"
        server = subprocess.Popen([sys.executable, __file__, "--child", "serve", "--out", str(port_file)])
        try:
            deadline = time.monotonic() + 30
            while not port_file.exists():
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the benchmark's server did not start")
                time.sleep(0.05)
            figures = compare(arguments, work, int(port_file.read_text()))
        finally:
            server.kill()
            server.wait()
    print("RESULT " + json.dumps(figures))
    return None


if __name__ == "__main__":
    main()
