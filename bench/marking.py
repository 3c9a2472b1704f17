"""How fast replies are marked: rows per second for every benchmark whose data is found.

    python bench/marking.py [--data DIR] [--rows N] [BENCHMARK ...]

DIR holds one folder per benchmark (default: the environment's ASSAY_DATA, else ../shared/data). Replies are the
published ones in `BENCHMARK/parity`, else made from the right answers in the ways that models wrap them, a third
of them with another sample's answer. Columns:

    read         rows and replies read and converted, nothing marked: what the rest is measured against
    at once      marked in this process, over the rows that take no symbolic comparison
    at once %    their share
    score        as `assay score` does it: everything, symbolic comparisons in worker processes, none known before
                 (seconds of the clock; the other columns are seconds of this process's CPU)
    math-verify  parse and verify alone, in this process, over the free-form rows (no more than 300 of them)
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from assay.benchmarks import BENCHMARKS, load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source, mark_at_once, outcome_of
from assay.benchmarks.places import data_folder
from assay.errors import UsageError
from assay.mark import symbolic
from assay.models.replay import read_replies
from assay.score import score_replies
from assay.types import ExpressionGold, NumberGold, Reply, Sample

HERE = Path(__file__).resolve()
SHARED = HERE.parents[2] / "shared" / "data"
FREE_FORM = 300
WRAPPERS = (
    "{}",
    "Answer: {}",
    "The final answer is {}.",
    "Let me look at the picture. The axis runs from 0 to 50, and the third bar reaches 37.5.\n\nSo we get {}.",
    "<think>\nFirst, 12 * 4 = 48. Then 48 - 5 = 43, which can't be. Again: 12 * 3 = 36.\n</think>\n**Answer:** {}",
    "Step 1: read the values.\nStep 2: $a = \\frac{{3}}{{4}}$, so $b = 2a$.\n\nTherefore the answer is \\boxed{{{}}}",
)


class Recording(NamedTuple):
    """A file of replies, and how many of the benchmark's samples it has one for."""

    path: Path
    rows: int


def recordings(benchmark: Benchmark, samples: list[Sample], folder: Path, scratch: Path) -> list[Recording]:
    """The published files of replies to these samples, else a file of made ones."""
    found = [rec for path in sorted((folder / "parity").glob("*.jsonl")) if (rec := recording(path, samples)).rows]
    if found:
        return found
    path = scratch / f"{benchmark.name}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in made(benchmark, samples)), encoding="utf-8")
    return [recording(path, samples)]


def recording(path: Path, samples: list[Sample]) -> Recording:
    try:
        replies = read_replies(path)
    except UsageError:  # verdicts without replies
        return Recording(path, 0)
    with closing(replies):
        return Recording(path, sum(sample.id in replies for sample in samples))


def made(benchmark: Benchmark, samples: list[Sample]) -> Iterator[dict[str, str]]:
    chance = random.Random(5)
    answers = [benchmark.gold_reply(sample) for sample in samples]
    for sample, answer in zip(samples, answers, strict=True):
        said = answer if chance.random() < 2 / 3 else chance.choice(answers)
        yield {"id": sample.id, "response": chance.choice(WRAPPERS).format(said)}


def open_data(benchmark: Benchmark, folder: Path) -> Dataset | None:
    """The largest split that is there."""
    found: list[Dataset] = []
    for split in dict.fromkeys((None, *benchmark.sizes)):
        try:
            found.append(benchmark.open(Source(data=folder, split=split, need_pictures=False)))
        except UsageError:
            continue
    return max(found, key=len, default=None)


def per_second(rows: int, seconds: float) -> float:
    return round(rows / seconds, 1) if seconds else 0.0


def timed(work: Callable[[], int], clock: Callable[[], float] = time.process_time) -> tuple[int, float]:
    start = clock()
    rows = work()
    return rows, clock() - start


def measure(benchmark: Benchmark, dataset: Dataset, files: list[Recording], most: int) -> dict[str, float | None]:
    pairs: list[tuple[Sample, Reply]] = []

    def read() -> int:
        for file in files:
            with closing(read_replies(file.path)) as replies:
                pairs.extend((sample, reply) for sample in dataset if (reply := replies.get(sample.id)))
        return len(pairs)

    def at_once() -> int:
        done = 0
        for sample, reply in pairs[:most]:
            result = mark_at_once(benchmark, sample, reply)
            if result is not None:
                outcome_of(benchmark, sample, result, reply=reply)
                done += 1
        return done

    def score() -> int:
        rows = 0
        for file in files:
            if rows < most:
                with closing(read_replies(file.path)) as replies:
                    rows += sum(1 for _ in score_replies(benchmark, dataset, replies))
        return rows

    symbolic.close()
    reading = timed(read)
    mark_at_once(benchmark, *pairs[0])  # imports and patterns are start-up
    done, marking = timed(at_once)
    return {
        "read": per_second(*reading),
        "at once": per_second(done, marking),
        "at once %": round(100 * done / len(pairs[:most]), 1),
        "score": per_second(*timed(score, time.perf_counter)),
        "math-verify": math_verify(pairs),
    }


def math_verify(pairs: list[tuple[Sample, Reply]]) -> float | None:
    """Math-Verify as its page shows it, on the rows with a number or an expression for an answer."""
    from math_verify import parse, verify

    free = [
        (sample.gold.value, reply.text)
        for sample, reply in pairs
        if isinstance(sample.gold, ExpressionGold | NumberGold)
    ]
    free = free[:: max(1, len(free) // FREE_FORM)][:FREE_FORM]
    if not free:
        return None
    parse("$1$")  # its first call imports

    def work() -> int:
        for gold, text in free:
            verify(parse(f"${gold}$"), parse(text))
        return len(free)

    return per_second(*timed(work))


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("benchmarks", nargs="*", metavar="BENCHMARK")
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--rows", type=int, default=3_000, help="most rows of each")
    given = arguments.parse_args()
    root = given.data or (None if os.environ.get("ASSAY_DATA") else SHARED)
    results: dict[str, dict[str, float | None]] = {}
    scratch = Path(tempfile.mkdtemp(prefix="assay-marking-"))
    for name in given.benchmarks or sorted(BENCHMARKS):
        benchmark, folder = load_benchmark(name), data_folder(name, root=root)
        dataset = open_data(benchmark, folder) if folder else None
        if folder is None or dataset is None:
            print(f"{name:<14} no data", flush=True)
            continue
        files = recordings(benchmark, list(dataset), folder, scratch)
        results[name] = measure(benchmark, dataset, files, given.rows)
        line = "  ".join(f"{key} {'-' if value is None else f'{value:,}'}" for key, value in results[name].items())
        print(f"{name:<14} {line}", flush=True)
    symbolic.close()
    shutil.rmtree(scratch)
    print("RESULT " + json.dumps({"rows_per_second": results}))


if __name__ == "__main__":
    main()
