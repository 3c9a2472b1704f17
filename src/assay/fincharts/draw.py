"""An item's picture."""

from msgspec import Struct

from assay.fincharts.charts import load_kind
from assay.fincharts.charts.canvas import Canvas, encode
from assay.fincharts.item import Item

__all__ = ["Fonts", "drawn", "picture"]


class Fonts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`families`: what styles choose from; `chinese`: the one for Chinese, where there is one; `files`: fonts of one's
    own that each process has to make known to matplotlib."""

    families: tuple[str, ...]
    chinese: str = ""
    files: tuple[str, ...] = ()


def drawn(item: Item, fonts: Fonts) -> Canvas:
    """The finished figure, not yet encoded."""
    families = (item.style.font, fonts.chinese) if fonts.chinese and item.chart.language == "zh" else (item.style.font,)
    canvas = Canvas(item.style, families=families)
    load_kind(item.chart.kind).draw(canvas, item.chart)
    canvas.finish(item.chart)
    return canvas


def picture(item: Item, fonts: Fonts) -> bytes:
    """The bytes of the picture's file."""
    return encode(drawn(item, fonts))
