"""Files of chat rows with pictures, for what is trained on them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

RIGHT = "Step 1\nImage: it reaches 7 | Correct\nJudgement: Correct\nEnd of critique"
WRONG = "Step 1\nImage: it reaches 2 | Incorrect\nJudgement: Incorrect\nEnd of critique"


def chat_row(number: int, *, picture: bool = True, **fields: Any) -> dict[str, Any]:
    """A row whose critique depends on its number: the even ones are right."""
    right = number % 2 == 0
    row: dict[str, Any] = {
        "id": f"row-{number}",
        "group": f"group-{number}",
        "images": [f"picture-{number % 4}.png"] if picture else [],
        "prompt": f"Is step {number} right?",
        "completion": RIGHT if right else WRONG,
        "labels": [right],
    }
    return row | fields


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """A file of rows; pictures that they name and that are not there yet are drawn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = list(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name in sorted({name for row in rows for name in row["images"]}):
        if not (path.parent / name).exists():
            draw_picture(path.parent / name)
    return path


def draw_picture(path: Path) -> Path:
    """A picture that depends on its name, 56 to 84 px wide."""
    seed = sum(path.stem.encode())
    picture = Image.new("RGB", (56 + 14 * (seed % 3), 56), (seed * 40 % 256, 90, 200))
    ImageDraw.Draw(picture).rectangle((8, 10 + seed % 30, 30, 50), fill=(255, seed * 17 % 256, 0))
    picture.save(path)
    return path
