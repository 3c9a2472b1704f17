"""The kinds of chart: for each of FinMME's ten classes the kinds that are drawn, each with its maker and its drawer."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.fincharts.item import Chart

if TYPE_CHECKING:
    from assay.fincharts.making import Making

__all__ = ["CLASSES", "KINDS", "Kind", "load_kind"]


class Kind(NamedTuple):
    """`make` gives a chart with its numbers; `draw` draws it on a canvas of `charts.canvas`."""

    make: "Callable[[Making], Chart]"
    draw: Callable[[Any, Chart], None]


KINDS: dict[str, tuple[str, str, float]] = {
    # kind: (class, module, weight within the class)
    "line": ("Line", "lines", 4),
    "dual-axis line": ("Line", "lines", 2),
    "area": ("Line", "lines", 1.5),
    "step line": ("Line", "lines", 0.7),
    "k-line": ("Line", "kline", 3),
    "bar": ("Distribution", "bars", 3),
    "grouped bar": ("Distribution", "bars", 3),
    "stacked bar": ("Distribution", "bars", 2.5),
    "horizontal bar": ("Distribution", "bars", 2),
    "lollipop": ("Distribution", "bars", 0.5),
    "histogram": ("Distribution", "spread", 1),
    "box": ("Distribution", "spread", 0.7),
    "violin": ("Distribution", "spread", 0.4),
    "pie": ("Proportional", "proportional", 3),
    "ring": ("Proportional", "proportional", 2),
    "100% bar": ("Proportional", "proportional", 2),
    "treemap": ("Proportional", "proportional", 1),
    "scatter": ("Relational", "relational", 2),
    "bubble": ("Relational", "relational", 1),
    "correlation heat map": ("Relational", "relational", 1.5),
    "radar": ("Relational", "relational", 1),
    "sankey": ("Flow", "flow", 1),
    "bridge": ("Flow", "flow", 1.5),
    "funnel": ("Flow", "flow", 1),
    "tile map": ("Geographical", "geo", 2),
    "bubble map": ("Geographical", "geo", 1),
    "market shares": ("Market Structure", "market", 2),
    "concentration": ("Market Structure", "market", 1.5),
    "positions": ("Market Structure", "market", 1.5),
    "order book": ("Market Structure", "market", 1),
    "income statement": ("Financial", "statements", 3),
    "revenue and margin": ("Financial", "statements", 2.5),
    "cash flows": ("Financial", "statements", 1.5),
    "asset structure": ("Financial", "statements", 1.5),
    "return distribution": ("Risk Distribution", "risk", 1.5),
    "drawdown": ("Risk Distribution", "risk", 1.5),
    "risk matrix": ("Risk Distribution", "risk", 1),
    "fan chart": ("Risk Distribution", "risk", 1),
    "stress test": ("Risk Distribution", "risk", 1),
    "peer table": ("Others", "tables", 2),
    "return calendar": ("Others", "tables", 1),
}
CLASSES: dict[str, tuple[str, ...]] = {}
for _kind, (_class, _, _) in KINDS.items():
    CLASSES[_class] = (*CLASSES.get(_class, ()), _kind)


def load_kind(kind: str) -> Kind:
    """Its maker and drawer. The module is imported when its kind is asked for; drawing needs the extra `charts`."""
    module: Any = import_module(f"assay.fincharts.charts.{KINDS[kind][1]}")
    return module.TABLE[kind]
