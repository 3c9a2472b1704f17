"""What all drawers share: a figure without global state, headings, legends, axes, and the picture's bytes."""

import io
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from assay.fincharts.item import Axis, Chart, Style
from assay.fincharts.numbers import number_text
from assay.fincharts.words import phrases

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

__all__ = ["Canvas", "contrast", "encode", "shade"]

TOP, BOTTOM, LEFT, RIGHT = 0.84, 0.14, 0.08, 0.95
"""The plot's box in shares of the page; labels, legends and headings lie around it."""

MARGIN = 2.4
"""Inches of the figure around the page, for whatever lies outside; the picture is cut to what is there."""

PAD = 0.09
"""Inches of paper around what is there."""


class Canvas:
    """One figure being drawn.

    Attributes:
        figure, style: see their types.
        ax: the first axes; `twin` the one for the right-hand scale, if there is any.
        size: of ordinary text, in points.
        width, height: of the page, in inches: the figure without its margin.
        extent: left, bottom, right and top of all that is drawn, in inches of the figure, once finished.
    """

    def __init__(self, style: Style, *, families: tuple[str, ...] = ()) -> None:
        # matplotlib is imported where it is used: whoever only makes questions needs none of it.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.style = style
        self.families = families or (style.font,)
        self.size = style.size
        self.width, self.height = style.width, style.height
        whole = (self.width + 2 * MARGIN, self.height + 2 * MARGIN)
        self.figure: Any = Figure(figsize=whole, dpi=style.dpi, facecolor=style.paper)
        FigureCanvasAgg(self.figure)
        self.extent = (0.0, 0.0, self.width, self.height)
        self.ax: Any = self.add_axes((LEFT, BOTTOM, RIGHT - LEFT, TOP - BOTTOM))
        self.twin: Any = None

    def resize(self, height: float) -> None:
        """Make the figure so many inches high."""
        self.height = height
        self.figure.set_size_inches(self.width + 2 * MARGIN, height + 2 * MARGIN)

    def placed(self, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        """A box in shares of the page as shares of the figure."""
        whole_width, whole_height = self.width + 2 * MARGIN, self.height + 2 * MARGIN
        left, bottom, width, height = box
        return (
            (left * self.width + MARGIN) / whole_width,
            (bottom * self.height + MARGIN) / whole_height,
            width * self.width / whole_width,
            height * self.height / whole_height,
        )

    def colour(self, place: int) -> str:
        return self.style.colours[place % len(self.style.colours)]

    def second(self) -> "Axes":
        """Axes with a scale of their own on the right."""
        twin: Any = self.ax.twinx()
        twin.patch.set_visible(False)
        self.twin = twin
        self._dress(twin)
        return twin

    def add_axes(self, box: tuple[float, float, float, float]) -> "Axes":
        axes: Any = self.figure.add_axes(self.placed(box))
        self._dress(axes)
        return axes

    def _dress(self, axes: Any) -> None:
        style = self.style
        axes.set_facecolor(style.paper)
        axes.tick_params(colors=style.ink, labelsize=self.size, length=2.5, width=0.6, pad=2)
        for side, spine in axes.spines.items():
            spine.set_color(style.ink)
            spine.set_linewidth(0.7)
            hidden = {"box": (), "open": ("top", "right"), "bottom": ("top", "left", "right")}[style.frame]
            spine.set_visible(side not in hidden)
        axes.set_axisbelow(True)

    def grid(self, axes: Any = None, *, vertical: bool = False) -> None:
        """Grid lines as the style has them; `vertical` for horizontal bars, whose values run along x."""
        axes = axes or self.ax
        kind = self.style.grid
        if kind == "none":
            return
        which = "both" if kind == "both" else "x" if vertical else "y"
        axes.grid(
            visible=True,
            axis=which,
            color=self.style.ink,
            alpha=0.16,
            linewidth=0.6,
            linestyle=":" if kind == "dotted" else "-",
        )

    # ---------------------------------------------------------------- axes

    def value_axis(self, axes: Any, axis: Axis, *, along: str = "y", right: bool = False) -> None:
        """Limits, ticks and the unit of a value axis."""
        from matplotlib.ticker import FixedLocator, FuncFormatter

        count = round((axis.high - axis.low) / axis.step)
        ticks = [axis.low + place * axis.step for place in range(count + 1)]
        fine = 1e-6 * axis.step
        decimals = next((d for d in range(9) if all(abs(tick - round(tick, d)) < fine for tick in ticks)), 9)
        percent = axis.unit == "%"

        def shown(value: float, _: object) -> str:
            return number_text(value, decimals) + ("%" if percent else "")

        scale = axes.yaxis if along == "y" else axes.xaxis
        (axes.set_ylim if along == "y" else axes.set_xlim)(axis.low, axis.high)
        scale.set_major_locator(FixedLocator(ticks))
        scale.set_major_formatter(FuncFormatter(shown))
        if axis.unit and not percent:
            self._unit(axes, axis.unit, along, right)

    def _unit(self, axes: Any, unit: str, along: str, right: bool) -> None:
        if along == "x":
            axes.set_xlabel(unit, fontsize=self.size, color=self.style.ink, labelpad=3)
            return
        axes.text(
            1.0 if right else 0.0,
            1.015,
            f"({unit})",
            transform=axes.transAxes,
            ha="right" if right else "left",
            va="bottom",
            fontsize=self.size * 0.95,
            color=self.style.ink,
        )

    def columns(self, axes: Any, names: tuple[str, ...], shown: tuple[int, ...], *, along: str = "x") -> None:
        """Names of columns at 0, 1, 2, ...: those of `shown` are printed, slanted where they would touch."""
        if along == "y":
            axes.set_yticks(list(shown), [names[place] for place in shown])
            return
        labels = [names[place] for place in shown]
        width = self.width * (RIGHT - LEFT) * 72  # points
        room = width / max(len(names), 1) * (len(names) / max(len(shown), 1))
        longest = max(_width(label) for label in labels) * self.size * 0.58
        wrapped = [textwrap.fill(label, 12) if " " in label else label for label in labels]
        narrow = max(max(_width(part) for part in label.split("\n")) for label in wrapped) * self.size * 0.58
        if longest < room * 0.82:
            axes.set_xticks(list(shown), labels)
        elif narrow < room * 0.82:
            axes.set_xticks(list(shown), wrapped)
        else:
            axes.set_xticks(
                list(shown), labels, rotation=45 if longest < 80 else 30, ha="right", rotation_mode="anchor"
            )

    # ---------------------------------------------------------------- frame

    def legend(self, handles: list[Any], labels: list[str], *, where: str = "") -> None:
        """A legend of these handles in the style's place; none for a single one that the title names."""
        if not handles:
            return
        place = where or self.style.legend
        lines = 1 + int(sum(_width(label) + 5 for label in labels) * self.size * 0.6 / (self.style.width * 60))
        columns = -(-len(labels) // lines)
        common: dict[str, Any] = {
            "fontsize": self.size,
            "labelcolor": self.style.ink,
            "frameon": False,
            "handlelength": 1.5,
            "columnspacing": 1.2,
            "handletextpad": 0.5,
            "borderaxespad": 0.0,
        }
        beside = 1.02 if self.twin is None else 1.12
        if place == "right" and self._too_wide(labels, beside):
            place = "bottom"
        if place == "right":
            anchor = (beside, 0.5)
            self.ax.legend(handles, labels, loc="center left", bbox_to_anchor=anchor, **common)
        elif place == "inside":
            common |= {"frameon": True, "framealpha": 0.85, "facecolor": self.style.paper, "edgecolor": "none"}
            owner: Any = self.twin or self.ax
            owner.legend(handles, labels, loc="best", **common | {"borderaxespad": 0.5})
        elif place == "bottom":
            self._set_fonts()
            box: Any = self.ax.xaxis.get_tightbbox(self.figure.canvas.get_renderer())
            low = self.ax.transAxes.inverted().transform((0, box.y0))[1] if box is not None else 0.0
            self.ax.legend(
                handles, labels, loc="upper center", bbox_to_anchor=(0.5, low - 0.03), ncols=columns, **common
            )
        else:
            self.ax.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.075), ncols=columns, **common)

    def _too_wide(self, labels: list[str], beside: float) -> bool:
        """Whether a legend that begins at that share of the plot's width would leave the figure."""
        longest = max(_width(label) for label in labels) * self.size * 0.66 / 72 + 0.6
        return (LEFT + beside * (RIGHT - LEFT)) * self.width + longest > self.width + MARGIN - 2 * PAD

    def line_handle(self, colour: str, **options: Any) -> "Line2D":
        from matplotlib.lines import Line2D

        return Line2D([], [], color=colour, linewidth=1.8, **options)

    def box_handle(self, colour: str, **options: Any) -> "Rectangle":
        from matplotlib.patches import Rectangle

        return Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor="none", **options)

    def halo(self) -> list[Any]:
        """An outline of paper, for text that lines may run through."""
        from matplotlib.patheffects import withStroke

        return [withStroke(linewidth=2.2, foreground=self.style.paper)]

    def _set_fonts(self) -> None:
        """Give all text that there is the chart's fonts; before anything is measured."""
        from matplotlib.text import Text

        for text in self.figure.findobj(Text):
            text.set_family(list(self.families))
            if len(self.families) > 1:  # fonts for Chinese have seldom a bold cut
                text.set_weight("normal")

    def finish(self, chart: Chart) -> None:
        """The heading above everything and the source below, then the fonts of all text."""
        style, figure = self.style, self.figure
        self._set_fonts()
        box = figure.get_tightbbox(figure.canvas.get_renderer())
        title = phrases(chart.language).get("frame", "figure").format(k=style.numbered) if style.numbered % 3 else ""
        wide = max(24, int(box.width * 72 / (style.size * 1.2 * 0.6)))
        text = "\n".join(_wrapped(title + chart.title, wide))
        right, top = self._heading(text, box.x0, box.x1, box.y1)
        below = box.y0 - 0.07
        size = style.size * 0.85
        self._words(box.x0, below, chart.source, size, style.ink, va="top", alpha=0.8)
        right = max(right, box.x0 + _width(chart.source) * size * 0.62 / 72)
        self.extent = (box.x0, below - size * 1.3 / 72, max(right, box.x1), top)

    def _words(self, x: float, y: float, text: str, size: float, ink: str, **options: Any) -> None:
        """Text at a place in inches of the figure."""
        if len(self.families) > 1:
            options.pop("weight", None)
        figure = self.figure
        figure.text(
            x,
            y,
            text,
            transform=figure.dpi_scale_trans,
            fontsize=size,
            color=ink,
            family=list(self.families),
            **options,
        )

    def _heading(self, text: str, left: float, right: float, top: float) -> tuple[float, float]:
        """Draw the heading above `top`, all in inches; how far it goes to the right and up."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle

        style, figure = self.style, self.figure
        size = style.size * 1.2
        high = (text.count("\n") + 1) * size * 1.3 / 72
        base = top + 0.09
        accent = self.colour(0)
        if style.heading == "band":
            patch = Rectangle(
                (left, base), right - left, high + 0.1, transform=figure.dpi_scale_trans, facecolor=accent, zorder=0.5
            )
            figure.add_artist(patch)
            self._words(left + 0.06, base + high / 2 + 0.05, text, size, contrast(accent), weight="bold", va="center")
            return right, base + high + 0.1
        if style.heading == "centred":
            self._words((left + right) / 2, base, text, size, style.ink, weight="bold", ha="center", va="bottom")
            return right, base + high
        ink = accent if style.heading == "rule" else style.ink
        self._words(left, base, text, size, ink, weight="bold", va="bottom")
        if style.heading == "rule":
            line = [base - 0.025] * 2
            figure.add_artist(
                Line2D([left, right], line, transform=figure.dpi_scale_trans, color=accent, linewidth=1.4)
            )
        return right, base + high


def _width(text: str) -> float:
    """Characters, a Chinese one for nearly two."""
    return sum(1.75 if ord(character) > 0x2E80 else 1.0 for character in text)


def _wrapped(text: str, wide: int) -> list[str]:
    if _width(text) <= wide:
        return [text]
    if text.isascii() or " " in text:
        return textwrap.wrap(text, wide) or [text]
    half = max(8, int(wide / 1.75))
    return [text[start : start + half] for start in range(0, len(text), half)]


def contrast(colour: str) -> str:
    """Black or white, whichever can be read on the colour."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else "#ffffff"


def shade(colour: str, share: float, paper: str = "#ffffff") -> str:
    """The colour mixed with the paper's: 1 is the colour itself."""
    mixed = [
        round(int(colour[at : at + 2], 16) * share + int(paper[at : at + 2], 16) * (1 - share)) for at in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def encode(canvas: Canvas) -> bytes:
    """The picture as a file's bytes: cut to what is drawn, turned and compressed as the style says."""
    style = canvas.style
    canvas.figure.canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.figure.canvas.buffer_rgba())).convert("RGB")
    left, bottom, right, top = canvas.extent
    low, high = picture.height - (top + PAD) * style.dpi, picture.height - (bottom - PAD) * style.dpi
    picture = picture.crop((int((left - PAD) * style.dpi), int(low), round((right + PAD) * style.dpi), round(high)))
    if style.rotation:
        picture = picture.rotate(style.rotation, Image.Resampling.BICUBIC, expand=True, fillcolor=style.paper)
    out = io.BytesIO()
    if style.jpeg is None:
        picture.save(out, "PNG", compress_level=6)
    else:
        picture.save(out, "JPEG", quality=style.jpeg)
    return out.getvalue()
