"""A few rows of every benchmark: what the package ships, else rows of our own in the official layout."""

from functools import cache
from pathlib import Path

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Benchmark, Source
from assay.types import ImagePart, Sample
from support.command import PACKAGED

# Other rules on the rows, facets and prompts of another benchmark.
RULES = {"mathvista-old": "mathvista"}

# A benchmark whose licence allows it ships a few rows as a demonstration; for the others, `benchmarks/rows/NAME` holds
# rows of our own. Their splits where not the default.
SPLITS = {"mathvision": "testmini"}

_OWN = Path(__file__).resolve().parents[1] / "benchmarks" / "rows"


def rows_of(name: str) -> Source:
    name = RULES.get(name, name)
    if load_benchmark(name).made:
        return Source(split="some:40")
    shipped = PACKAGED / name
    return Source(data=shipped if shipped.is_dir() else _OWN / name, split=SPLITS.get(name))


@cache
def opened(name: str) -> tuple[Benchmark, tuple[Sample, ...]]:
    benchmark = load_benchmark(name)
    return benchmark, tuple(benchmark.open(rows_of(name)))


def picture(number: int) -> ImagePart:
    return ImagePart(key=str(number), media_type="image/png", width=1, height=1, data=b"")
