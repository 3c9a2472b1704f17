"""Train the tiny policy and the tiny critic from nothing, and measure what they are worth together.

    python recipes/miniature/make.py [--out build/miniature] [--stage train|ship|measure|all]

One core trains the critic (skills, whole critiques, polish), another the policy from another seed (skills, the task),
then the critics of the ablation. Each stage is one run of `assay prm train` with one schedule; a stage whose result is
there is not made again. What is measured are the weights that are shipped (rounded to float16), on questions of seeds
that no stage has seen.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ablation
import blank
import measure
import rows

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parents[1] / "src" / "assay" / "miniature"

# Rows of each stage. With batches of 16 and a learning rate of 1.5e-3 a model of this size learns in steps, not in
# rows: batches of 128 did not learn to compare two numbers in the time in which batches of 16 had done so.
SKILLS = {"policy": 24_000, "critic": 28_000}
POLICY = 2_800
JUDGING = 32_000  # of the critic: whole critiques
POLISH = 16_000  # of the critic, at the end
EARLY = 8_000  # whole critiques of the critic that the ablation goes on with
SETTINGS: dict[str, Any] = {
    "batch_size": 16,
    "lr": 1.5e-3,
    "warmup": 60,
    "weight_decay": 0.01,
    "dtype": "float32",
    "save_every": 0,
    "freeze_vision": False,
}
VERDICTS = {"verdict_weight": 3.0}


def assay(*arguments: str, log: Path) -> None:
    """One command of Assay, on one core, its output in a file."""
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"), "HF_HUB_OFFLINE": "1"}
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, "-m", "assay", *arguments],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"assay {' '.join(arguments)} ended with {done.returncode}:\n{log.read_text()[-2000:]}")


def tune(folder: Path, data: Path, model: Path, *, seed: int = 0, **settings: Any) -> Path:
    """One run of fine-tuning; where its weights are. A run that is complete is not made again."""
    result = folder / "run" / "model"
    if result.exists():
        return result
    recipe = SETTINGS | {"seed": seed, "data": str(data), "model": str(model), "out": str(folder / "run")} | settings
    written = folder / "recipe.toml"
    written.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in recipe.items()), encoding="utf-8")
    assay("prm", "train", "--recipe", str(written), log=folder / "log.txt")
    return result


def stage(
    out: Path, name: str, maker: Any, count: int, model: Path, seed: int, kinds: Any = None, **settings: Any
) -> Path:
    """One run of fine-tuning on rows that are made for it; where its weights are."""
    folder = out / name
    if (folder / "run" / "model").exists():
        return folder / "run" / "model"
    began = time.monotonic()
    pictures = rows.Pictures(folder / "pictures")
    data = rows.write(folder / "train.jsonl", rows.make(maker, f"train-{name}", count, pictures, kinds))
    result = tune(folder, data, model, seed=seed, **settings)
    minutes = (time.monotonic() - began) / 60
    (folder / "minutes.txt").write_text(f"{minutes:.1f}\n", encoding="utf-8")
    print(f"{name}: {count:,} rows in {minutes:.1f} min", flush=True)
    return result


def skilled(out: Path, role: str, maker: Any, seed: int) -> Path:
    """A model that has its skills, from the blank one of a seed."""
    return stage(out, f"skills-{role}", maker, SKILLS[role], out / f"blank-{role}", seed)


def train(out: Path) -> None:
    """Skills, then the task: the critic on one core, the policy and then the ablation on another."""

    def critic() -> Path:
        judging = stage(out, "judging-critic", rows.critic, JUDGING, able.result(), 1, **VERDICTS)
        return stage(out, "critic", rows.polish, POLISH, judging, 1, rows.POLISHED, **VERDICTS, lr=1e-3)

    for role, seed in (("policy", 0), ("critic", 1)):  # not side by side: transformers' imports are not made for that
        if not (start := out / f"blank-{role}").exists():
            blank.build(start, seed)
    with ThreadPoolExecutor(2) as pool:
        able = pool.submit(skilled, out, "critic", rows.critic_skills, 1)
        trained = pool.submit(critic)
        policy = stage(out, "policy", rows.policy, POLICY, skilled(out, "policy", rows.skills, 0), 0)
        ablate(out, able.result(), policy)
        trained.result()


def ablate(out: Path, able: Path, policy: Path) -> None:
    """See `ablation`; from a critic that has its skills alone."""
    early = stage(out, "critic-early", rows.critic, EARLY, able, 1, **VERDICTS)
    folder = ablation.prepare(out, assay, policy)
    for which in ablation.LABELS:
        data = folder / which / "export" / "trl" / "train.jsonl"
        tune(folder / which, data, early, seed=1, **VERDICTS, max_steps=ablation.STEPS, lr=5e-4)


def ship(out: Path) -> None:
    """The weights in half precision, where the package looks for them."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    for role in ("policy", "critic"):
        source, target = out / role / "run" / "model", SHIPPED / role
        card = target / "README.md"
        kept = card.read_text(encoding="utf-8") if card.exists() else None
        shutil.rmtree(target, ignore_errors=True)
        AutoModelForImageTextToText.from_pretrained(source, dtype=torch.float16).save_pretrained(target)
        AutoProcessor.from_pretrained(source).save_pretrained(target)
        if kept is not None:
            card.write_text(kept, encoding="utf-8")
        print(f"{target}: {sum(file.stat().st_size for file in target.iterdir()) / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/miniature"))
    parser.add_argument("--stage", choices=("train", "ship", "measure", "all"), default="all")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.stage in ("train", "all"):
        train(given.out)
    if given.stage in ("ship", "all"):
        ship(given.out)
    if given.stage in ("measure", "all"):
        measure.measure(given.out, assay)


if __name__ == "__main__":
    main()
