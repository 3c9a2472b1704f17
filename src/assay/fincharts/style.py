"""How charts look: fonts, colours, grids, frames, legends, size, and what a picture goes through before it is read."""

from random import Random

from assay.fincharts.item import Style

__all__ = ["PALETTES", "draw_style", "style_facets"]

PALETTES: dict[str, tuple[str, ...]] = {
    "navy": ("#0b2e59", "#c8102e", "#7f8fa9", "#f2a900", "#3f7cac", "#5b8c5a", "#9c528b", "#4a4a4a"),
    "bank": ("#003a70", "#00a3e0", "#97999b", "#e87722", "#6cc24a", "#a51890", "#ffc72c", "#53565a"),
    "broker": ("#8b1a1a", "#1f4e79", "#bf9000", "#548235", "#7f7f7f", "#c55a11", "#7030a0", "#2e75b6"),
    "office": ("#4472c4", "#ed7d31", "#a5a5a5", "#ffc000", "#5b9bd5", "#70ad47", "#264478", "#9e480e"),
    "old office": ("#4f81bd", "#c0504d", "#9bbb59", "#8064a2", "#4bacc6", "#f79646", "#2c4d75", "#772c2a"),
    "teal": ("#006d77", "#e29578", "#83c5be", "#264653", "#e9c46a", "#b56576", "#6d597a", "#8d99ae"),
    "terminal": ("#ff9f1c", "#2ec4b6", "#e71d36", "#b8f2e6", "#c77dff", "#ffd166", "#8ecae6", "#f4f1de"),
    "slate": ("#1d3557", "#e63946", "#457b9d", "#a8a29e", "#f4a261", "#2a9d8f", "#8d5b4c", "#6a4c93"),
}

# Paper and ink; the dark one is for the palette of its own.
_PAPERS = (("#ffffff", "#222222"),) * 7 + (("#f7f5ef", "#2b2b2b"), ("#f2f6fa", "#1e2a38"))
_DARK = ("#101418", "#e6e6e6")


def draw_style(rng: Random, fonts: tuple[str, ...]) -> Style:
    """A look at random, in one of these fonts."""
    palette = rng.choice([name for name in PALETTES for _ in range(1 if name == "terminal" else 4)])
    colours = PALETTES[palette]
    paper, ink = _DARK if palette == "terminal" else rng.choice(_PAPERS)
    first = rng.randrange(3)
    clean = rng.random()
    return Style(
        font=rng.choice(fonts),
        palette=palette,
        colours=colours[first:] + colours[:first],
        paper=paper,
        ink=ink,
        grid=rng.choice(("none", "horizontal", "horizontal", "both", "dotted")),
        frame=rng.choice(("box", "open", "open", "bottom")),
        legend=rng.choice(("top", "bottom", "right", "inside")),
        heading=rng.choice(("rule", "band", "plain", "centred")),
        width=round(rng.uniform(5.6, 7.4), 2),
        height=round(rng.uniform(3.3, 4.2), 2),
        dpi=rng.choice((88, 100, 100, 110, 130)),
        size=round(rng.uniform(7.6, 9.2), 1),
        jpeg=None if clean < 0.55 else rng.choice((45, 60, 75, 85, 92)),
        rotation=0.0 if rng.random() < 0.85 else round(rng.uniform(-2.5, 2.5), 1),
        numbered=rng.randint(1, 60),
    )


def style_facets(style: Style) -> dict[str, str]:
    """The facets of a look that a report may group by."""
    artefacts = "none" if style.jpeg is None else "heavy JPEG" if style.jpeg < 70 else "light JPEG"
    pixels = style.width * style.dpi
    return {
        "font": style.font,
        "palette": style.palette,
        "grid": style.grid,
        "legend": style.legend,
        "resolution": "low" if pixels < 600 else "high" if pixels > 750 else "medium",
        "artefacts": artefacts,
        "rotation": "rotated" if style.rotation else "upright",
    }
