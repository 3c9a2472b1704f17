"""How fast FinCharts are invented and drawn, per core.

    python bench/fincharts.py [--questions 1000] [--pictures 123] [--workers 2]

- `invent`: questions with gold, options, solutions and looks, without pictures, in one process.
- `draw`: pictures, a fair share of every kind of chart, in one process that has its fonts loaded.
- `folder`: the whole command in `--workers` processes, imports, writing and all.

The first two count the processor's seconds, which other processes hardly change; `folder` takes the clock's.

Last line: RESULT {"pictures_per_second_per_core": .., "questions_per_second_per_core": .., ...}
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from assay.fincharts.charts import KINDS
from assay.fincharts.draw import Fonts, picture
from assay.fincharts.fonts import OWN
from assay.fincharts.generate import Request, generate, inventions
from assay.fincharts.item import Item

FONTS = Fonts(families=OWN)


def invent(count: int) -> tuple[list[Item], float]:
    start = time.process_time()
    items = [item for group in inventions(Request(seed=1, count=count)) for item in group]
    return items, time.process_time() - start


def draw(items: list[Item]) -> dict[str, list[float]]:
    """Seconds of each picture by kind of chart; one picture of each kind is drawn before."""
    seconds: dict[str, list[float]] = {}
    for item in {item.chart.kind: item for item in items}.values():
        picture(item, FONTS)
    for item in items:
        start = time.process_time()
        picture(item, FONTS)
        seconds.setdefault(item.chart.kind, []).append(time.process_time() - start)
    return seconds


def folder(count: int, workers: int) -> float:
    with tempfile.TemporaryDirectory() as where:
        start = time.perf_counter()
        generate(Path(where) / "charts", Request(seed=2, count=count), workers=workers)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--pictures", type=int, default=len(KINDS) * 3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    items, inventing = invent(options.questions)
    print(f"invent: {options.questions / inventing:,.0f} questions a second")
    seconds = draw(items[: options.pictures])
    spent = [second for held in seconds.values() for second in held]
    for kind, held in sorted(seconds.items(), key=lambda entry: -sum(entry[1]) / len(entry[1])):
        print(f"  {kind:22} {1000 * sum(held) / len(held):5.0f} ms  ({len(held)})")
    print(f"draw: {len(spent) / sum(spent):.1f} pictures a second, {1000 * sum(spent) / len(spent):.0f} ms each")
    whole = folder(options.pictures, options.workers)
    print(f"folder: {options.pictures} questions in {whole:.1f} s with {options.workers} processes")
    result = {
        "questions_per_second_per_core": round(options.questions / inventing, 1),
        "pictures_per_second_per_core": round(len(spent) / sum(spent), 2),
        "milliseconds_per_picture": round(1000 * sum(spent) / len(spent), 1),
        "folder_questions_per_second": round(options.pictures / whole, 2),
        "workers": options.workers,
    }
    print("RESULT", json.dumps(result))


if __name__ == "__main__":
    main()
