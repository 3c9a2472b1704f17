r"""The process in which Math-Verify runs: `python -m assay.mark.symbolic_worker`, started by `assay.mark.symbolic`.

One JSON object a line, in and out:

    -> {"gold": "\\frac{1}{2}", "answer": "0.5", "deadline": 5.0}
    <- {"result": "equal"}      or "different", "unreadable gold", "unreadable answer"
    <- {"error": "Math-Verify: TypeError: ..."}

The first line out is {"result": "ready"}. The process ends when its input ends, so it never outlives its parent, not
even one that was killed; and an alarm that the kernel delivers ends it if its parent is gone while it computes.
"""

import itertools
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import Any, TextIO

from assay.errors import MarkError, boundary

MEMORY_BYTES = 1_536 * 1024 * 1024
"""Address space of the process: sympy needs about 0.3 GiB; what asks for more is not an answer."""

GRACE_SECONDS = 5.0
"""How long after its deadline a task is left to the parent, who kills the process; then the alarm does."""

SIGNIFICANT = 9
"""Decimals to which Math-Verify compares floats."""

_SAMPLED_SYMBOLS = 3
_SAMPLE_POINTS = (0.7, -0.7, 1.9, -2.3)


def compare(gold: str, answer: str) -> str:
    """Whether two LaTeX expressions are equal, by Math-Verify; raises whatever Math-Verify raises."""
    left = _parse(gold)
    if left is None:
        return "unreadable gold"
    right = _parse(answer)
    if right is None:
        return "unreadable answer"
    math_verify: Any = import_module("math_verify")
    if math_verify.verify(left, right, float_rounding=SIGNIFICANT, timeout_seconds=None, raise_on_error=True):
        return "equal"
    return "equal" if _equal_where_real(left, right) else "different"


def _parse(latex: str) -> Any:
    """The expression that the whole of `latex` stands for, or None.

    Only as LaTeX and without fallback: Math-Verify would otherwise pick single numbers out of a formula that it can't
    read, and find 1 - 1/e equal to 1 + 1/e.
    """
    math_verify: Any = import_module("math_verify")
    spelling: Any = import_module("latex2sympy2_extended").NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="none", equations=False
    )  # units are our business: `5m` is a product here
    only_latex = [math_verify.LatexExtractionConfig(normalization_config=spelling)]
    found = math_verify.parse(f"${latex}$", only_latex, "no_fallback", parsing_timeout=None, raise_on_error=True)
    return found[0] if len(found) == 1 else None


def _equal_where_real(left: Any, right: Any) -> bool:
    r"""Equal for positive variables, and elsewhere both real and equal or both not real.

    `\sqrt{1/n}` and `1/\sqrt{n}` are; `|x|` and `x` are not. Math-Verify takes variables as real and can't tell.
    """
    sympy: Any = import_module("sympy")
    if not (isinstance(left, sympy.Expr) and isinstance(right, sympy.Expr)):
        return False
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    if not 1 <= len(symbols) <= _SAMPLED_SYMBOLS:
        return False
    positive = {symbol: sympy.Symbol(f"p{at}", positive=True) for at, symbol in enumerate(symbols)}
    if sympy.simplify(left.subs(positive) - right.subs(positive)) != 0:
        return False
    points = itertools.product(_SAMPLE_POINTS, repeat=len(symbols))
    return all(_agree(left, right, dict(zip(symbols, point, strict=True))) for point in points)


def _agree(left: Any, right: Any, point: dict[Any, float]) -> bool:
    values = [complex(side.subs(point).evalf()) for side in (left, right)]
    real = [abs(value.imag) < 1e-12 for value in values]
    if not all(real):
        return not any(real)
    return abs(values[0] - values[1]) <= 1e-9 * max(1.0, *map(abs, values))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows; there the deadline alone has to do
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _answer(line: str) -> dict[str, str]:
    task = json.loads(line)
    _alarm(float(task["deadline"]) + GRACE_SECONDS)
    try:
        with boundary(MarkError, "Math-Verify"):
            return {"result": compare(task["gold"], task["answer"])}
    except MarkError as error:
        return {"error": str(error)[:300]}
    finally:
        _alarm(0)


def _read(lines: Iterable[str], tasks: "queue.SimpleQueue[str]") -> None:
    for line in lines:
        tasks.put(line)
    os._exit(0)  # the parent is gone or wants no more; don't finish what nobody waits for


def _write(out: TextIO, reply: dict[str, str]) -> None:
    out.write(json.dumps(reply) + "\n")
    out.flush()


def main() -> None:
    # Whatever a library prints must not get between the replies.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit_memory()
    compare(r"\frac{1}{2}x", "0.5x")  # imports, and builds the parser's tables
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin, tasks), daemon=True).start()
    _write(out, {"result": "ready"})
    while True:
        _write(out, _answer(tasks.get()))


if __name__ == "__main__":
    main()
