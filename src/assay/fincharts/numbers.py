"""Numbers as people print them: round ticks, tolerances and thresholds, and text of a fixed number of digits."""

import math

__all__ = ["axis_for", "nice_up", "number_text", "quantity", "round_half", "roundish"]

from assay.fincharts.item import Axis

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TOLERANCES = (1.0, 2.0, 3.0, 5.0, 10.0)
_SEVERAL = ("percentage points", "points", "years", "months", "shares")
"""Units that have a form of their own for one."""


def nice_up(value: float) -> float:
    """The least of 1, 2, 3, 5 times a power of ten that is not below a positive value."""
    power = 10.0 ** math.floor(math.log10(value))
    factor = next(step for step in _TOLERANCES if step * power >= value * (1 - 1e-9))
    return float(f"{factor * power:.6g}")


def axis_for(low: float, high: float, unit: str, *, ticks: int = 5, zero: bool = False) -> Axis:
    """An axis with round ticks that holds `low` to `high`; from zero where asked or where the values start near it."""
    if zero or 0 <= low < 0.35 * high:
        low = min(low, 0.0)
        high = max(high, 0.0)
    width = (high - low) or abs(high) or 1.0
    rough = width / ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _STEPS if factor * power >= rough * (1 - 1e-9))
    bottom = math.floor(low / step + 1e-9) * step
    top = math.ceil(high / step - 1e-9) * step
    if top - high < 0.04 * width and high > 0:
        top += step
    if low < 0 and low - bottom < 0.04 * width:
        bottom -= step
    if top <= bottom:  # nothing but zeros
        top = bottom + step
    return Axis(low=_clean(bottom), high=_clean(top), step=_clean(step), unit=unit)


def _clean(value: float) -> float:
    return float(f"{value:.8g}") + 0.0


def round_half(value: float, decimals: int) -> float:
    """Rounded half away from zero, as a spreadsheet does; never -0."""
    scale = 10.0**decimals
    return float(f"{math.copysign(math.floor(abs(value) * scale + 0.5 + 1e-9), value) / scale:.12g}") + 0.0


def roundish(value: float, unit: float) -> float:
    """The multiple of a round step that is nearest to `value`; the step is about `unit`."""
    step = nice_up(unit)
    return float(f"{round(value / step) * step:.10g}") + 0.0


def number_text(value: float, decimals: int, *, grouped: bool = True) -> str:
    """A number of that many decimals; thousands grouped with commas."""
    rounded = round_half(value, decimals)
    return f"{rounded:,.{decimals}f}" if grouped else f"{rounded:.{decimals}f}"


def quantity(value: float, decimals: int, unit: str, *, language: str = "en") -> str:
    """A number with its unit, as a sentence has it: `12.3%`, `4.5x`, `1,200 USD mn`, `1,200百万美元`."""
    text = number_text(value, decimals)
    if not unit:
        return text
    if text in ("1", "-1") and unit in _SEVERAL:
        unit = unit.removesuffix("s")
    return f"{text}{unit}" if unit in ("%", "x") or language == "zh" else f"{text} {unit}"
