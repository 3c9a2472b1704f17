"""The contact sheet of FinCharts in the documentation: forty pictures over all classes and kinds of chart.

    python recipes/fincharts_sheet.py [--seed 40] [--out docs/fincharts-sheet.png] [--font FILE]

Each kind of chart once, but for the one that is left over; with `--font`, a font with Chinese characters, every fifth
picture is in Chinese.
"""

import argparse
import io
from pathlib import Path

from PIL import Image

from assay.fincharts.charts import KINDS
from assay.fincharts.draw import Fonts, picture
from assay.fincharts.fonts import OWN, add_fonts
from assay.fincharts.generate import Request
from assay.fincharts.invent import Settings, invent
from assay.fincharts.plan import Slot
from assay.fincharts.taxonomy import LEVELS, TYPES
from assay.fincharts.words import vocabulary

COLUMNS, ROWS = 5, 8
CELL = (440, 310)
GAP = 6
LEFT_OUT = "lollipop"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("docs/fincharts-sheet.png"))
    parser.add_argument("--font", type=Path)
    options = parser.parse_args()
    own = add_fonts((options.font,)) if options.font else ()
    fonts = Fonts(families=OWN, chinese=own[0] if own else "")
    request = Request(seed=options.seed, count=1)
    settings = Settings(seed=options.seed, variants=1, window=(request.start, request.end), fonts=OWN)
    domains = list(vocabulary().domains)
    kinds = [kind for kind in KINDS if kind != LEFT_OUT][: COLUMNS * ROWS]
    width, height = CELL
    sheet = Image.new("RGB", (COLUMNS * (width + GAP) + GAP, ROWS * (height + GAP) + GAP), "#d9d9d9")
    for place, kind in enumerate(kinds):
        slot = Slot(
            index=place,
            type=TYPES[place % 3],
            level=LEVELS[place // 3 % 3],
            chart_class=KINDS[kind][0],
            kind=kind,
            domain=domains[place * 5 % len(domains)],
            language="zh" if own and place % 5 == 3 else "en",
        )
        (item,) = invent(slot, settings)
        with Image.open(io.BytesIO(picture(item, fonts))) as drawn:
            shown = drawn.convert("RGB")
        shown.thumbnail(CELL, Image.Resampling.LANCZOS)
        left = GAP + place % COLUMNS * (width + GAP) + (width - shown.width) // 2
        top = GAP + place // COLUMNS * (height + GAP) + (height - shown.height) // 2
        sheet.paste(shown, (left, top))
    sheet.quantize(160, dither=Image.Dither.NONE).save(options.out, optimize=True)
    print(f"{options.out}: {len(kinds)} pictures, {options.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
