"""A reliability diagram as SVG text: how often steps with a score are right, against the score.

Above, a bar for every bin of scores up to the share of right steps, its 95 % interval, and a mark at the mean score:
a calibrated critic's bars end on the diagonal. Below, how many steps stand behind each bar. Drawn with nothing but
text, so that it needs no plotting library, and looks the same everywhere.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from assay.mark.step_scores import Calibration, ReliabilityBin

__all__ = ["reliability_svg"]

_WIDTH, _HEIGHT = 560, 640
_LEFT, _RIGHT = 70, 530  # the plots' sides, px
_TOP, _BOTTOM = 76, 440  # of the shares
_COUNTS_TOP, _COUNTS_BOTTOM = 484, 574  # of the histogram
_TITLE = 60  # characters of a title that fit
_BAR, _OVER, _INK, _FAINT, _GREY = "#4c78a8", "#e0a03c", "#222222", "#dddddd", "#777777"
_FONT = "font-family='Helvetica, Arial, DejaVu Sans, sans-serif'"


def reliability_svg(calibration: Calibration, *, title: str) -> str:
    """The diagram of a calibration; one without a scored step says so in place of bars.

    Args:
        title: what was judged and by whom; shortened where it doesn't fit.
    """
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT}' "
        f"viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' {_FONT} font-size='12' fill='{_INK}'>"
    )
    parts = [
        head,
        f"<title>{_text(title)}</title>",
        f"<rect width='{_WIDTH}' height='{_HEIGHT}' fill='white'/>",
        f"<text x='20' y='28' font-weight='bold'>{_text(_shortened(title))}</text>",
        f"<text x='20' y='50' fill='{_GREY}'>{_text(_summary(calibration))}</text>",
        *_axes(),
        *(part for one in calibration.bins for part in _bin(one)),
        # Over the bars, so that it is seen how far they end from it.
        f"<line x1='{_LEFT}' y1='{_BOTTOM}' x2='{_RIGHT}' y2='{_TOP}' stroke='{_INK}' stroke-dasharray='5 4'/>",
        *_counts(calibration.bins),
        *_legend(),
    ]
    if not calibration.n:
        parts.append(_middle((_LEFT + _RIGHT) / 2, 390, "no labelled step has a score"))
    return "\n".join([*parts, "</svg>", ""])


def _summary(calibration: Calibration) -> str:
    error = calibration.error
    if error.value is None:
        return f"{calibration.unscored:,} labelled steps without a score"
    interval = "" if error.low is None or error.high is None else f" [{error.low:.3f}, {error.high:.3f}]"
    left_out = f", {calibration.unscored:,} without a score" if calibration.unscored else ""
    return f"expected calibration error {error.value:.3f}{interval}; {calibration.n:,} steps{left_out}"


def _axes() -> Iterator[str]:
    for tick in range(6):
        share = tick / 5
        x, y = _x(share), _y(share)
        yield f"<line x1='{_LEFT}' y1='{y:.1f}' x2='{_RIGHT}' y2='{y:.1f}' stroke='{_FAINT}'/>"
        yield f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end'>{share:.1f}</text>"
        yield _middle(x, _BOTTOM + 18, f"{share:.1f}")
        yield _middle(x, _COUNTS_BOTTOM + 18, f"{share:.1f}")
    yield f"<line x1='{_LEFT}' y1='{_COUNTS_BOTTOM}' x2='{_RIGHT}' y2='{_COUNTS_BOTTOM}' stroke='{_GREY}'/>"
    for label, middle in (("share of right steps", (_TOP + _BOTTOM) / 2), ("steps", _COUNTS_TOP + 45)):
        yield f"<text x='20' y='{middle}' text-anchor='middle' transform='rotate(-90 20 {middle})'>{label}</text>"
    yield _middle((_LEFT + _RIGHT) / 2, _HEIGHT - 16, "score: the critic's probability that the step is right")


def _legend() -> Iterator[str]:
    """In the corner that an honest critic's bars leave empty."""
    texts = ((_BAR, "share of right steps, 95 % interval"), (_OVER, "mean score, and how far it is off"))
    yield _box(_LEFT + 8, _TOP + 8, 232, 44, "white", opacity=0.85)
    for place, (colour, text) in enumerate(texts):
        y = _TOP + 16 + 20 * place
        yield _box(_LEFT + 14, y, 14, 10, colour)
        yield f"<text x='{_LEFT + 36}' y='{y + 9}'>{text}</text>"


def _bin(one: ReliabilityBin) -> Iterator[str]:
    """The bar of a bin, and what it lacks to, or has over, its mean score."""
    share, mean = one.right.value, one.mean_score
    if share is None or mean is None:
        return
    left, width = _x(one.low) + 1.5, _x(one.high) - _x(one.low) - 3
    tip = f"<title>{one.low:.2f} to {one.high:.2f}: {one.n:,} steps, score {mean:.3f}, right {share:.3f}</title>"
    yield _box(left, _y(share), width, _y(0) - _y(share), _BAR, inner=tip)
    top, bottom = sorted((_y(share), _y(mean)))
    yield _box(left, top, width, bottom - top, _OVER, opacity=0.45)
    yield f"<path d='M{left:.1f} {_y(mean):.1f}h{width:.1f}' stroke='{_OVER}' stroke-width='3'/>"
    if one.right.low is not None and one.right.high is not None:
        x = left + width / 2
        low, high = _y(one.right.low), _y(one.right.high)
        whisker = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"
        yield f"<path d='{whisker}' stroke='{_INK}' fill='none'/>"


def _counts(bins: tuple[ReliabilityBin, ...]) -> Iterator[str]:
    most = max((one.n for one in bins), default=0)
    for one in bins:
        if not one.n:
            continue
        height = one.n / most * (_COUNTS_BOTTOM - _COUNTS_TOP)
        left, width = _x(one.low) + 1.5, _x(one.high) - _x(one.low) - 3
        yield _box(left, _COUNTS_BOTTOM - height, width, height, _GREY)
        yield (
            f"<text x='{left + width / 2:.1f}' y='{_COUNTS_BOTTOM - height - 4:.1f}' text-anchor='middle' "
            f"font-size='10'>{one.n:,}</text>"
        )


def _box(x: float, y: float, width: float, height: float, fill: str, *, opacity: float = 1, inner: str = "") -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' fill='{fill}' "
        f"fill-opacity='{opacity:g}'>{inner}</rect>"
    )


def _middle(x: float, y: float, text: str) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='middle'>{_text(text)}</text>"


def _x(share: float) -> float:
    return _LEFT + share * (_RIGHT - _LEFT)


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _shortened(text: str) -> str:
    return text if len(text) <= _TITLE else text[: _TITLE - 3] + "..."


def _text(text: str) -> str:
    """Text that may come from anywhere, fit for XML: characters that it can't hold become blanks."""
    return escape("".join(char if char.isprintable() else " " for char in text))
