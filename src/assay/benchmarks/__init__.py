"""The table of benchmarks: name -> module. A module is imported when its benchmark is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.benchmarks.base import Benchmark

BENCHMARKS: dict[str, str] = {
    "chartqa": "assay.benchmarks.chartqa",
    "dynamath": "assay.benchmarks.dynamath",
    "finchartbench": "assay.benchmarks.finchartbench",
    "fincharts": "assay.benchmarks.fincharts",
    "fincharts-lite": "assay.benchmarks.fincharts_lite",
    "finmme": "assay.benchmarks.finmme",
    "finmmr": "assay.benchmarks.finmmr",
    "mathverse": "assay.benchmarks.mathverse",
    "mathvision": "assay.benchmarks.mathvision",
    "mathvista": "assay.benchmarks.mathvista",
    "mathvista-old": "assay.benchmarks.mathvista_old",
    "tatqa": "assay.benchmarks.tatqa",
    "wemath": "assay.benchmarks.wemath",
}


OWN = "own:"
"""What the name of one's own data starts with: `own:my.jsonl`."""


def load_benchmark(name: str) -> "Benchmark":
    """The benchmark of that name; also one's own data by the name that a run has for it.

    Raises:
        UsageError: for a name that isn't in the table.
    """
    if name.startswith(OWN):
        own: Any = import_module("assay.benchmarks.own")
        return own.own_benchmark(name)
    if name not in BENCHMARKS:
        raise UsageError(
            f"There is no benchmark {name!r}. Choose one of: {', '.join(sorted(BENCHMARKS))}; "
            "or give a file with your own questions."
        )
    module: Any = import_module(BENCHMARKS[name])
    return module.BENCHMARK
