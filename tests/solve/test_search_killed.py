"""A search that is killed in the middle goes on from the calls that were answered."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from msgspec import json

from assay.engine.store import RunStore
from assay.solve.records import Refined, Resampled, Sampled
from assay.solve.search import Found
from support.search_run import CALLS, CONCURRENCY, SAMPLES

TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def start(folder: Path, log: Path, seconds: float) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "support.search_run", str(folder), str(log), str(seconds)]
    return subprocess.Popen(command, cwd=TESTS, env=os.environ | {"PYTHONPATH": str(TESTS)})


def lines(log: Path, mark: str) -> list[str]:
    if not log.exists():
        return []
    return [line[2:] for line in log.read_text(encoding="utf-8").splitlines() if line.startswith(mark)]


def pools(folder: Path) -> dict[str, Found]:
    with RunStore.open(folder) as store:
        return {one.sample_id: json.decode(one.detail["pool"], type=Found) for one in store.outcomes()}


def kill_after(process: "subprocess.Popen[bytes]", log: Path, answered: int) -> None:
    deadline = time.monotonic() + 60
    while len(lines(log, "<")) < answered:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL


def test_killed_again_and_again_a_search_loses_no_more_than_the_calls_in_flight(tmp_path: Path) -> None:
    whole, log = tmp_path / "whole", tmp_path / "whole.log"
    assert start(whole, log, 0.0).wait(60) == 0
    asked = lines(log, ">")
    assert len(asked) == len(set(asked)) == CALLS

    broken, log = tmp_path / "broken", tmp_path / "broken.log"
    for answered in (1, 9, 20, 31, 45):
        kill_after(start(broken, log, 0.05), log, answered)
    assert start(broken, log, 0.0).wait(60) == 0
    again = Counter(lines(log, ">"))
    assert set(again) == set(asked)  # the same requests, whatever was killed
    # Five kills. Each loses the calls in flight, and replies that came in the turn of the loop that the kill ended,
    # whose places other calls had taken already.
    assert again.total() - CALLS <= 5 * 2 * CONCURRENCY
    assert pools(broken) == pools(whole)

    found = pools(whole)
    assert len(found) == SAMPLES
    for one in found.values():
        origins = [judged.solution.origin for judged in one.pool]
        assert [type(origin) for origin in origins] == [*[Sampled] * 4, Resampled, Refined, Sampled]
