"""The table of benchmarks: name -> module. A module is imported when its benchmark is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.benchmarks.base import Benchmark

BENCHMARKS: dict[str, str] = {
    "dynamath": "assay.benchmarks.dynamath",
    "finmme": "assay.benchmarks.finmme",
    "mathverse": "assay.benchmarks.mathverse",
    "mathvision": "assay.benchmarks.mathvision",
    "mathvista": "assay.benchmarks.mathvista",
    "mathvista-old": "assay.benchmarks.mathvista_old",
    "wemath": "assay.benchmarks.wemath",
}


def load_benchmark(name: str) -> "Benchmark":
    """The benchmark of that name.

    Raises:
        UsageError: for a name that isn't in the table.
    """
    if name not in BENCHMARKS:
        raise UsageError(f"There is no benchmark {name!r}. Choose one of: {', '.join(sorted(BENCHMARKS))}.")
    module: Any = import_module(BENCHMARKS[name])
    return module.BENCHMARK
