"""Build the packaged demonstration data from the full sets (run once; the result is committed).

    python recipes/demo_sample.py SHARED_DATA_FOLDER

Takes 60 MATH-Vision testmini items (MIT), twelve from each of the five levels, drawn with a fixed seed, with their
pictures and the published replies of five models; and the three official FinMME examples (MIT) with their charts.
"""

import json
import random
import shutil
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "assay" / "demo"
MODELS = ("Gemini-Pro", "Gemini-Pro-CoT", "LLaVA-v1.5-13B", "Qwen-VL-Max", "Random-Chance")
PER_LEVEL = 12


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, items: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")


def mathvision(source: Path, target: Path) -> None:
    by_level: dict[object, list[dict[str, object]]] = {}
    for row in rows(source / "testmini.jsonl"):
        by_level.setdefault(row["level"], []).append(row)
    draw = random.Random(20250804)
    chosen = [row for level in sorted(by_level, key=str) for row in draw.sample(by_level[level], PER_LEVEL)]
    chosen.sort(key=lambda row: int(str(row["id"])))
    for row in chosen:
        row.pop("image_info", None)
        (target / "images").mkdir(parents=True, exist_ok=True)
        shutil.copy(source / str(row["image"]), target / str(row["image"]))
    write(target / "testmini.jsonl", chosen)
    ids = {row["id"] for row in chosen}
    for model in MODELS:
        replies = rows(source / "parity" / f"{model}.jsonl")
        write(
            target / "replies" / f"{model}.jsonl",
            [{"id": row["id"], "response": row["response"]} for row in replies if row["id"] in ids],
        )


def finmme(source: Path, target: Path) -> None:
    examples = rows(source / "official_examples.jsonl")
    for row in examples:
        row.pop("image_info", None)
        row.pop("note", None)
        # The figure that the examples come from shows no tolerances: unknown is not null.
        if row["tolerance"] is None:
            del row["tolerance"]
        (target / "images").mkdir(parents=True, exist_ok=True)
        shutil.copy(source / str(row["image"]), target / str(row["image"]))
    write(target / "official_examples.jsonl", examples)


if __name__ == "__main__":
    shared = Path(sys.argv[1])
    mathvision(shared / "mathvision", PACKAGE / "mathvision")
    finmme(shared / "finmme", PACKAGE / "finmme")
