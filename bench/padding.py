"""What `group_by_length` saves: the processor's time for an epoch with it, over that for one without.

The checkpoint of bench/sft.py, critiques of one to 24 steps (some 40 to 900 tokens a row, short ones more often), and
everything else alike. Both take turns on one core; the shortest round of each counts, since other work on the machine
only ever makes one longer.

    python bench/padding.py [--rows 256] [--batch 8] [--rounds 3]

Last line: RESULT {"padding": .., "padding_grouped": .., "token_ratio": .., "cpu_ratio": ..}. The first two are shares
of the tokens, `token_ratio` is what they foretell, and `cpu_ratio` what is measured.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import torch
from sft import Cost, make_checkpoint, now, since

from assay.models.local_checkpoint import load_checkpoint, quiet
from assay.train.chat import read_chat
from assay.train.pictures import Pictures
from assay.train.preflight import PreFlight
from assay.train.recipe import Recipe
from assay.train.run_folder import RunFolder
from assay.train.sft import Run

QUANTITIES = ("revenue", "cost of sales", "gross margin", "net income", "cash flow", "dividend")


def make_rows(folder: Path, count: int) -> Path:
    """Chat rows without pictures; half of the critiques have fewer than five steps."""
    chance = random.Random(0)
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            steps = [
                f"Step {at}\nIntent: read the {chance.choice(QUANTITIES)} of 20{chance.randint(10, 24)}\n"
                f"Image: it is {chance.randint(1, 999)} | Correct\nLogic: it follows | Correct\nJudgement: Correct"
                for at in range(1, round(24 ** chance.random()) + 1)
            ]
            row = {
                "id": str(number),
                "group": str(number),
                "images": [],
                "prompt": "Judge every step.",
                "completion": "\n".join([*steps, "End of critique"]),
            }
            file.write(json.dumps(row) + "\n")
    return folder / "train.jsonl"


class Bench:
    """Epochs over the same rows.

    Args:
        folder: for rows, checkpoint and runs.
        rows: of an epoch.
        batch: rows of a batch, and of a step.
    """

    def __init__(self, folder: Path, rows: int, batch: int) -> None:
        self._folder = folder
        self._batch = batch
        read = list(read_chat(make_rows(folder, rows)))
        self._checkpoint = make_checkpoint(folder / "checkpoint", [row.prompt + row.completion for row in read])
        loaded = load_checkpoint(self._checkpoint, device="cpu")
        self._pictures = Pictures(loaded, 2**20)
        self._found = PreFlight(loaded, self._pictures, max_length=1024).prepare(read)
        self.lengths = sorted(len(row.ids) for row in self._found.rows)
        self.steps = -(-rows // batch)

    def run(self, *, grouped: bool) -> Run:
        """One that has not begun, of a single epoch."""
        settings = Recipe(
            model=str(self._checkpoint),
            out=str(self._folder / "run"),
            batch_size=self._batch,
            group_by_length=grouped,
            save_every=0,
            dtype="float32",
        )
        found: dict[str, Any] = {"data": self._found}
        loaded = load_checkpoint(self._checkpoint, device="cpu")
        with quiet():
            return Run(
                settings, RunFolder(self._folder / "run"), loaded, self._pictures, found, steps=self.steps,
                precision="float32", say=print,
            )  # fmt: skip

    def padding(self, *, grouped: bool) -> float:
        """Share of the epoch's tokens that fill up shorter rows."""
        return self.run(grouped=grouped).trainer.order.padding_share(0, batch=self._batch)

    def epoch(self, *, grouped: bool) -> Cost:
        """From the first step to the last."""
        run = self.run(grouped=grouped)
        with quiet():
            began = now()
            run.trainer.train()
        return since(began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(Path(place), options.rows, options.batch)
        lengths = bench.lengths
        print(f"tokens a row: {lengths[0]} to {lengths[-1]}, median {lengths[len(lengths) // 2]}; {bench.steps} steps")
        rounds = [(bench.epoch(grouped=False)[1], bench.epoch(grouped=True)[1]) for _ in range(options.rounds)]
        plain, grouped = (min(seconds) for seconds in zip(*rounds, strict=True))
        print(f"seconds of the processor for an epoch: {plain:.1f}, grouped by length {grouped:.1f}")
        before, after = bench.padding(grouped=False), bench.padding(grouped=True)
    ratios = {"padding": before, "padding_grouped": after, "token_ratio": (1 - before) / (1 - after)}
    print(
        "RESULT",
        json.dumps({name: round(value, 3) for name, value in (ratios | {"cpu_ratio": grouped / plain}).items()}),
    )


if __name__ == "__main__":
    main()
