"""Symbolic comparison in a process of its own: right answers, and every way in which the process can go wrong."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.errors import MarkError
from assay.mark import symbolic
from assay.mark.symbolic import Pool, over_limit


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    one = Pool(size=1)
    yield one
    one.close()


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (r"\frac{1}{2}x", "0.5x", "equal"),
        ("(x+1)^2", "x^2+2x+1", "equal"),
        ("(x+1)^2", "x^2+2x+2", "different"),
        (r"\pi-\tan^{-1}(\frac{1}{d})", r"\pi-\arctan(1/d)", "equal"),
        (r"1-\frac{1}{e}", r"1+\frac{1}{e}", "different"),
        # Equal where both are real, which for these is x > 0 or nowhere else.
        (r"\sqrt{1/n}", r"\frac{1}{\sqrt{n}}", "equal"),
        ("|x|", "x", "different"),
        (r"\sqrt{x^2}", "x", "different"),
        (r"\sqrt{ab}", r"\sqrt{a}\sqrt{b}", "different"),  # for negative a and b only the left side is real
        ("x > 5", "x > 6", "different"),
        ("[1, 2)", "[1, 2]", "different"),
        ("x", "8{foo", "unreadable answer"),
        ("x", r"4 \foo 5", "unreadable answer"),
        ("x", "", "unreadable answer"),
    ],
)
def test_compare(pool: Pool, gold: str, answer: str, expected: str) -> None:
    assert pool.compare(gold, answer, deadline=60) == expected


def test_equal_is_the_short_form() -> None:
    assert symbolic.equal("2x", "x+x", deadline=60)
    assert not symbolic.equal("2x", "3x", deadline=60)
    symbolic.close()
    assert symbolic.equal("2x", "x + x", deadline=60)  # starts again
    symbolic.close()


def test_an_unreadable_gold_is_an_error_and_not_a_wrong_answer(pool: Pool) -> None:
    with pytest.raises(MarkError, match="can't read the gold"):
        pool.compare(r"\foo{", "x", deadline=60)


def test_the_deadline_kills_the_process_and_the_next_comparison_gets_a_new_one(pool: Pool) -> None:
    assert pool.compare("y", "y+0", deadline=60) == "equal"
    (before,) = pool.pids()
    with pytest.raises(MarkError, match=r"took longer than 0\.3 s"):
        pool.compare("(x+1)^{9999}", "(x+2)^{9999}", deadline=0.3)
    assert not alive(before)
    assert pool.compare("z", "z+0", deadline=60) == "equal"


def test_results_are_remembered_and_failures_are_not(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(scripted(f"open({str(log)!r}, 'a').write('x'); print('{{\"result\": \"equal\"}}')", size=1)) as pool:
        assert [pool.compare("a", "b") for _ in range(5)] == ["equal"] * 5
        assert log.read_text() == "x"
    with closing(scripted('print(\'{"error": "Math-Verify: TypeError: no"}\')', size=1)) as pool:
        for _ in range(2):
            with pytest.raises(MarkError, match="TypeError: no"):
                pool.compare("a", "b")


READY = 'import os, sys, time\nprint(\'{"result": "ready"}\', flush=True)\n'


def scripted(body: str, *, size: int, start: str = READY) -> Pool:
    """A pool whose processes run `body` for every task."""
    code = f"{start}for line in sys.stdin:\n    {body}; sys.stdout.flush()\n"
    return Pool(size=size, command=(sys.executable, "-c", code))


class closing:  # noqa: N801
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __enter__(self) -> Pool:
        return self._pool

    def __exit__(self, *_: object) -> None:
        self._pool.close()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os._exit(3)", "ended its process"),
        ("os.kill(os.getpid(), 9)", "ended its process"),
        ("print('nonsense')", "replied with something else"),
        ('print(\'{"result": "yes"}\')', "replied with something else"),
        ("print('{}')", "an empty reply"),
        ("time.sleep(60)", "took longer than 0.5 s"),
        ('print(\'{"error": "Math-Verify: MemoryError: "}\')', "MemoryError"),
    ],
)
def test_a_misbehaving_process_is_an_error_every_time(body: str, message: str) -> None:
    with closing(scripted(body, size=1)) as pool:
        for _ in range(2):
            with pytest.raises(MarkError, match=message):
                pool.compare("a", "b", deadline=0.5)


def test_a_process_that_never_starts_is_an_error() -> None:
    with closing(Pool(size=1, command=("/nonexistent/python",))) as pool, pytest.raises(MarkError, match="can't start"):
        pool.compare("a", "b")
    with (
        closing(Pool(size=1, command=(sys.executable, "-c", "raise SystemExit(1)"))) as pool,
        pytest.raises(MarkError, match="ended its process"),
    ):
        pool.compare("a", "b")


def test_many_threads_share_a_small_pool() -> None:
    body = "import json; task = json.loads(line); time.sleep(0.01); print(json.dumps({'result': task['answer']}))"
    answers = ["equal", "different"] * 30
    with closing(scripted(body, size=2)) as pool, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(pool.compare, map(str, range(60)), answers))
        assert found == answers
        assert len(pool.pids()) == 2


def test_a_process_is_replaced_after_its_share_of_tasks() -> None:
    body = 'print(\'{"result": "different"}\')'
    with closing(scripted(body, size=1)) as pool:
        pool.compare("0", "x")
        (first,) = pool.pids()
        for at in range(1, symbolic.TASKS_PER_WORKER + 1):
            pool.compare(str(at), "x")
        (second,) = pool.pids()
        assert second != first
        assert not alive(first)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_processes_end_with_their_parent_however_it_ends(how: signal.Signals) -> None:
    code = (
        "import threading, time\nfrom assay.mark.symbolic import Pool\npool = Pool(size=1)\n"
        "pool.compare('x', 'x+0', deadline=60)\nprint(pool.pids()[0], flush=True)\n"
        "pool.compare('(x+1)^{9999}', '(x+2)^{9999}', deadline=60)\n"  # busy when the parent dies
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert alive(worker)
        parent.send_signal(how)
        parent.wait(30)
    until = time.monotonic() + 30
    while alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(worker)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def test_a_closed_pool_can_be_used_again() -> None:
    pool = scripted('print(\'{"result": "equal"}\')', size=2)
    assert pool.compare("a", "b") == "equal"
    pool.close()
    assert pool.pids() == ()
    assert pool.compare("a", "c") == "equal"
    pool.close()


def test_importing_it_loads_neither_sympy_nor_math_verify() -> None:
    code = "import sys, assay.mark.symbolic, assay.mark.expression; print({'sympy', 'math_verify'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("latex", "limit"),
    [
        (r"\frac{3^{1008}-1}{3^{1009}}", None),
        ("x^{y^2}", None),
        ("2^3 + 3^4 + 5^6", None),
        ("1234567", None),
        ("x^2 y^2 z^2", None),
        ("1" * 201, "digits"),
        ("x" * 1001, "characters"),
        ("(" * 31, "nested"),
        ("2^{100000000}", "exponent"),
        ("2^100000000", "exponent"),
        ("2^{-100000000}", "exponent"),
        ("100000000!", "factorial"),
        ("(100000000)!", "factorial"),
        ("9^9^9", "tower"),
        ("9^{9^9}", "tower"),
        ("x^{y^{z^t}}", "tower"),
        ("x^y^z^t", "tower"),
        ("9^{9^{9^9}}", "tower"),
    ],
)
def test_limits(latex: str, limit: str | None) -> None:
    found = over_limit(latex)
    if limit is None:
        assert found is None
    else:
        assert found is not None
        assert limit in found
        with pytest.raises(MarkError, match="the answer has"):
            symbolic.compare("x", latex)
        with pytest.raises(MarkError, match="the gold has"):
            symbolic.compare(latex, "x")


def test_a_deadline_in_one_thread_leaves_the_others_alone() -> None:
    body = "time.sleep(60 if 'slow' in line else 0); print('{\"result\": \"equal\"}')"
    found: list[str] = []

    def slow(pool: Pool) -> None:
        with pytest.raises(MarkError, match="took longer"):
            pool.compare("slow", "slow", deadline=1)
        found.append("slow")

    with closing(scripted(body, size=2)) as pool:
        thread = threading.Thread(target=slow, args=(pool,))
        thread.start()
        assert [pool.compare(str(at), "b") for at in range(20)] == ["equal"] * 20
        thread.join()
    assert found == ["slow"]
