"""Wrong options that a real misreading leads to: each is worked out from the chart, and says which misreading it is."""

from collections.abc import Iterator
from random import Random

from assay.fincharts.ask.truth import combine, error, evaluate, operands, ranking
from assay.fincharts.ask.wording import Wording, decimals_of, is_row_pick, unit_of
from assay.fincharts.item import Ask, Axis, Chart, Choice
from assay.fincharts.numbers import round_half

__all__ = ["number_choices", "pick_choices"]

_SIGNED = ("change", "growth", "cagr", "gap", "excess")
"""Numbers that may be below zero although no value is."""

_APART = 2.5
"""Reading errors, and digits in the last place, between any two options that are numbers of one unit. Counts, which are
read without an error, are one apart."""


def number_choices(ask: Ask, chart: Chart, words: Wording, rng: Random, count: int) -> list[Choice] | None:
    """The right number and `count - 1` wrong ones in random order; None where there are not enough."""
    value = evaluate(ask, chart.table)
    decimals = decimals_of(ask, chart)
    gold = round_half(value, decimals)
    off = error(ask, chart.table)
    least = _APART * max(off, 10.0**-decimals) if off else 1.0
    choices = [Choice(text=words.number(gold, ask), right=True, value=gold)]
    wrong = [(why, round_half(number, decimals)) for why, number in _numbers(ask, chart, value)]
    rng.shuffle(wrong)
    fillers = [("misread tick", round_half(number, decimals)) for number in _ticks_off(ask, chart, value, least, rng)]
    if rng.random() < 0.25 and unit_of(ask, chart) and ask.op == "value":
        choices.append(_wrong_unit(gold, decimals, ask, chart, words))
    may_be_negative = ask.op in _SIGNED or any(value < 0 for value in operands(ask, chart.table))
    for why, number in wrong + fillers:
        if len(choices) == count:
            break
        taken = [choice.value for choice in choices if choice.value is not None]
        if (number >= 0 or may_be_negative) and all(abs(number - other) >= least for other in taken):
            choices.append(Choice(text=words.number(number, ask), right=False, why=why, value=number))
    texts = {choice.text for choice in choices}
    if len(choices) < count or len(texts) < count:
        return None
    rng.shuffle(choices)
    return choices


def _wrong_unit(gold: float, decimals: int, ask: Ask, chart: Chart, words: Wording) -> Choice:
    unit = chart.table.rows[ask.rows[0]].wrong_unit
    return Choice(text=words.quantity(gold, decimals, unit), right=False, why="wrong unit")


def _numbers(ask: Ask, chart: Chart, value: float) -> Iterator[tuple[str, float]]:
    """Wrong numbers with the misreading that each comes from."""
    table = chart.table
    if not ask.rows:  # counts of rows and columns
        yield from (("miscounted", value + off) for off in (1, -1, 2))
        return
    if ask.op.startswith("count_"):
        yield from (("miscounted", value + off) for off in (1, -1, 2, -2, 3))
        return
    yield from _moved(ask, chart)
    if ask.op in ("value", "maximum", "minimum"):
        row = table.rows[ask.rows[0]]
        if not table.same and chart.left and chart.right:
            mine, other = (chart.left, chart.right) if row.axis == "left" else (chart.right, chart.left)
            yield "other axis", _on_axis(value, mine, other)
        if ask.op != "value":
            yield from _of_other_columns(row.values, largest=ask.op == "maximum")
        return
    parts = operands(ask, table)
    if ask.op in ("change", "gap", "excess") and value:
        yield "order reversed", -value
        yield "only one value read", parts[0]
        yield "only one value read", parts[1]
    elif ask.op in ("growth", "cagr"):
        yield "wrong base", combine(ask, [parts[1], parts[0]])
        yield "difference taken for a rate", parts[1] - parts[0]
        if ask.op == "cagr":
            yield "growth not annualised", (parts[1] / parts[0] - 1) * 100
            yield "growth divided by years", (parts[1] / parts[0] - 1) * 100 / (ask.columns[1] - ask.columns[0])
    elif ask.op in ("times", "times_columns"):
        yield "ratio reversed", parts[1] / parts[0]
        yield "growth taken for a ratio", parts[0] / parts[1] - 1
    elif ask.op in ("total", "total_rows"):
        yield "one part left out", value - parts[-1]
        yield "one part left out", value - parts[0]
        yield "mean taken for a sum", value / len(parts)
    elif ask.op == "mean":
        yield "sum taken for a mean", sum(parts)
        yield "only one value read", parts[0]
    elif ask.op == "span":
        yield "only one value read", max(parts)
        yield "only one value read", min(parts)


def _of_other_columns(values: tuple[float, ...], *, largest: bool) -> Iterator[tuple[str, float]]:
    """Values that are not the extreme one: the next ones, and the other end."""
    order = sorted(values, reverse=largest)
    yield from (("next in rank", value) for value in order[1:3])
    yield "other end of the ranking", order[-1]


def _moved(ask: Ask, chart: Chart) -> Iterator[tuple[str, float]]:
    """The same ask of a neighbouring column or of another row."""
    table = chart.table
    last = len(table.columns) - 1
    if ask.op not in ("maximum", "minimum", "span"):
        for place, column in enumerate(ask.columns):
            for moved in (column - 1, column + 1):
                columns = (*ask.columns[:place], moved, *ask.columns[place + 1 :])
                if 0 <= moved <= last and len(set(columns)) == len(columns) and list(columns) == sorted(columns):
                    yield "neighbour", evaluate(Ask(op=ask.op, rows=ask.rows, columns=columns), table)
    if len(ask.rows) == 1:
        unit = table.rows[ask.rows[0]].unit
        for row, other in enumerate(table.rows):
            if row != ask.rows[0] and other.unit == unit:
                yield "other series", evaluate(Ask(op=ask.op, rows=(row,), columns=ask.columns), table)


def _on_axis(value: float, mine: Axis, other: Axis) -> float:
    """What a value reads against the axis on the other side."""
    share = (value - mine.low) / (mine.high - mine.low)
    return other.low + share * (other.high - other.low)


def _ticks_off(ask: Ask, chart: Chart, value: float, least: float, rng: Random) -> list[float]:
    """Numbers off by a tick of the axis, or by a share of the value."""
    step = max(least * 1.05, abs(value) * 0.12)
    row = chart.table.rows[ask.rows[0]] if ask.rows else None
    axis = chart.right if row is not None and row.axis == "right" else chart.left
    if axis is not None and ask.op in ("value", "maximum", "minimum"):
        step = max(axis.step * 0.5, least * 1.05)
    factors = [-1.0, 1.0, 2.0, -2.0, 3.0]
    rng.shuffle(factors)
    return [value + factor * step for factor in factors]


def pick_choices(ask: Ask, chart: Chart, words: Wording, rng: Random, count: int) -> list[Choice] | None:
    """The column or row that is picked among wrong ones: the runner-up, neighbours, the other end of the ranking."""
    table = chart.table
    right = int(evaluate(ask, table))
    order = ranking(ask, table)
    named = range(len(table.rows)) if is_row_pick(ask) else table.asked
    if right not in named:
        return None
    places: list[tuple[str, int]] = []
    at = order.index(right)
    places += [("next in rank", order[place]) for place in (at + 1, at - 1) if 0 <= place < len(order)]
    if not is_row_pick(ask):
        places += [("neighbour", place) for place in (right - 1, right + 1) if 0 <= place < len(table.columns)]
    places.append(("other end of the ranking", order[-1] if at < len(order) / 2 else order[0]))
    rest = [("other", place) for place in named]
    rng.shuffle(places)
    rng.shuffle(rest)
    if ask.op in ("argmax_rise", "argmax_fall"):  # the first column has no column before
        places, rest = ([(why, place) for why, place in some if place > 0] for some in (places, rest))
    choices = [Choice(text=words.name(ask, right), right=True)]
    for why, place in places + rest:
        text = words.name(ask, place)
        if len(choices) < count and place in named and text not in {choice.text for choice in choices}:
            choices.append(Choice(text=text, right=False, why=why))
    if len(choices) < min(count, 3):
        return None
    rng.shuffle(choices)
    return choices
