"""The command line as a user has it: in a process of its own, or in this one where speed matters."""

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.cli import main
from support.terminal import Terminal

PACKAGED = Path(__file__).resolve().parents[2] / "src" / "assay" / "demo"


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


def run(*arguments: str | Path, terminal: bool = False) -> Done:
    """`assay ARGUMENTS` in this process; `terminal`: with a standard error that is one."""
    out, err = io.StringIO(), Terminal() if terminal else io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else 1
    return Done(code=code, out=out.getvalue(), err=err.getvalue())


def start(*arguments: str | Path, **environment: str) -> "subprocess.Popen[str]":
    """`assay ARGUMENTS` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *(str(argument) for argument in arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | environment,
    )


def finish(process: "subprocess.Popen[str]", timeout: float = 60) -> Done:
    out, err = process.communicate(timeout=timeout)
    return Done(code=process.returncode, out=out, err=err)


def make_questions(folder: Path, count: int) -> Path:
    """A MATH-Vision folder with `count` choice questions over three packaged pictures."""
    (folder / "images").mkdir(parents=True)
    pictures = sorted((PACKAGED / "mathvision" / "images").iterdir(), key=lambda path: path.stat().st_size)[:3]
    for picture in pictures:
        (folder / "images" / picture.name).write_bytes(picture.read_bytes())
    with (folder / "testmini.jsonl").open("w", encoding="utf-8") as rows:
        for number in range(count):
            row = {
                "id": str(number),
                "question": f"Question number {number} end: which letter?\n<image1>",
                "options": ["A", "B", "C", "D", "E"],
                "answer": "ABCDE"[number % 5],
                "level": 1 + number % 5,
                "subject": "logic",
                "image": f"images/{pictures[number % 3].name}",
            }
            rows.write(json.dumps(row) + "\n")
    return folder
