"""The worked example of CONTRIBUTING.md, built from the page into a copy of the package, and run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import assay

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"

USE = """
import json, sys
from pathlib import Path
from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.types import Reply

benchmark = load_benchmark("pairs")
dataset = benchmark.open(Source(data=Path(sys.argv[1])))
samples = list(dataset)
marks = [
    [benchmark.mark(sample, Reply(text=text)) for text in ("B", "Answer: B", benchmark.gold_reply(sample))]
    for sample in samples
]
print(json.dumps({
    "ids": [sample.id for sample in samples],
    "facts": dataset.facts,
    "prompt": benchmark.messages(samples[0], ())[0].parts[0].text,
    "verdicts": [[[m.reference.verdict, m.robust.verdict, m.difference] for m in row] for row in marks],
    "scores": benchmark.scores([], "exclude"),
    "hash": benchmark.prompt_hash(),
}))
"""


def block(name: str) -> str:
    found = re.findall(rf"^```\w+ {name}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(found) == 1, name
    return found[0]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("copy")
    package = root / "assay"
    shutil.copytree(Path(assay.__file__).parent, package, ignore=shutil.ignore_patterns("demo", "__pycache__"))
    (package / "benchmarks" / "pairs.py").write_text(block("module"), encoding="utf-8")
    (package / "benchmarks" / "prompts" / "pairs.txt").write_text(block("prompt"), encoding="utf-8")
    table = package / "benchmarks" / "__init__.py"
    head = "BENCHMARKS: dict[str, str] = {\n"
    before = table.read_text(encoding="utf-8")
    assert head in before
    table.write_text(before.replace(head, head + block("table")), encoding="utf-8")
    rows = root / "rows.jsonl"
    rows.write_text(block("rows"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", USE, str(rows)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_example_loads_its_rows(result: dict[str, Any]) -> None:
    assert result["ids"] == ["1", "2"]
    assert result["facts"] == []
    assert result["scores"] == {}


def test_the_example_asks(result: dict[str, Any]) -> None:
    assert result["prompt"] == (
        "Look at the chart and answer the question.\n"
        "Question: Which year is higher?\n"
        "Options:\nA: 2019\nB: 2020\n\n"
        'End with one line that reads "Answer: X", where X is the letter of the right option.'
    )


def test_the_example_marks_twice(result: dict[str, Any]) -> None:
    """Gold of row 1 is B, of row 2 A. "Answer: B" starts with an A, which the script takes for the answer."""
    script = 'the script reads only the first character, "A"'
    first, second = result["verdicts"]
    assert first == [
        ["right", "right", None],
        ["wrong", "right", script],
        ["wrong", "right", script],
    ]
    assert second == [
        ["wrong", "wrong", None],
        ["right", "wrong", script],
        ["right", "right", None],
    ]


def test_every_command_of_the_page_is_a_make_target() -> None:
    makefile = (PAGE.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w[\w-]*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
