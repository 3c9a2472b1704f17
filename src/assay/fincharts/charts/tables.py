"""Tables and other printed things: peers compared by several measures, months of returns."""

import textwrap
from typing import Any

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table, lengths
from assay.fincharts.charts.canvas import Canvas
from assay.fincharts.charts.relational import heat
from assay.fincharts.charts.statements import draw_printed
from assay.fincharts.item import Chart, Row, Table
from assay.fincharts.making import Making
from assay.fincharts.numbers import quantity
from assay.fincharts.words import vocabulary

__all__ = ["TABLE"]

_FIRST = 1.1
"""How many columns of numbers the names of a peer table are as wide as."""

_MONTHS = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "zh": tuple(f"{month}月" for month in range(1, 13)),
}


def make_peers(making: Making) -> Chart:
    """Five to eight companies by three to five measures: measures are rows here, though they are printed as columns."""
    making.labelled = True
    words = vocabulary()
    names = words.domains[making.domain].measures
    own = words.domains[making.domain].names
    group = "companies" if "companies" in own else own[0]
    fitting = [name for name in names if not words.measures[name].names or group in words.measures[name].names]
    chosen = making.frame.sample(fitting, min(len(fitting), making.frame.choice((3, 4))))
    measures = [words.measures[name] for name in chosen]
    noun, things = making.names(making.frame.randint(5, 8), group=group)
    rows: list[Any] = []
    for measure in measures:
        units, word = making.unit(measure), making.word(measure)
        values = lengths(making, measure, len(things))
        if making.rises(measure, noun):
            values = tuple(sorted(values))
        rows.append(making.row(making.titled(word), making.subject(word), values, units, measure.decimals, None))
    table = category_table(making, rows, things, noun, "series", same=False)
    period = making.periods(1, 1, ("year",)).names[0]
    what = making.words.noun(noun)
    title = f"各{what}主要指标比较（{period}）" if making.language == "zh" else f"Key figures by {what}, {period}"
    return making.chart("Others", "peer table", title, rows[0].name, table)


def make_calendar(making: Making) -> Chart:
    """Monthly returns: a row for each year; in a window of fewer than three years, one for each portfolio."""
    making.labelled = True
    zh = making.language == "zh"
    word = "月度回报" if zh else "monthly return"
    years = making.periods(3, 5, ("year",))
    periods = None if years.noun == "year" else making.periods(6, 12, ("month",))
    if periods is None:
        columns = _MONTHS[making.language][: making.frame.choice((6, 12, 12))]
        names = [year.removesuffix("E") for year in years.names]
        subjects = [f"{name}年的{word}" if zh else f"the {word} of {name}" for name in names]
    else:
        columns = periods.names
        names = making.frame.sample(making.words.get("risk", "portfolio"), making.frame.choice((3, 4)))
        subjects = [making.subject(word, name) for name in names]
    rows: list[Any] = []
    for name, subject in zip(names, subjects, strict=True):
        values = making.rounded(making.draw.normal(0.6, 3.2, len(columns)), 1)
        rows.append(making.row(name, subject, values, ("%", "bp"), 1, None))
    table = Table(
        rows=tuple(rows),
        columns=columns,
        at="就{}而言，" if zh else making.words.get("frame", "in"),
        noun="month",
        row_noun="year" if periods is None else "portfolio",
        ordered=True,
        asked=tuple(range(len(columns))),
    )
    title = "月度回报（%）" if zh else "monthly returns (%)"
    of = making.company() if periods is None else ""
    return making.chart("Others", "return calendar", making.titled(title, of), word, table, periods=periods)


def draw_peers(canvas: Canvas, chart: Chart) -> None:
    """Things down, measures across."""
    table = chart.table
    room = canvas.width * 0.96 * 72 / (_FIRST + len(table.rows)) - 8  # points that a column has
    longest = max(len(word) for row in table.rows for word in row.name.split())
    shrink = min(1.0, room / (0.66 * canvas.size * longest)) if chart.language == "en" else 1.0
    letters = max(longest, int(room / (canvas.size * 0.62)))
    head = ["", *(_headed(row, letters) for row in table.rows)]
    lines: list[list[str]] = []
    for place, name in enumerate(table.columns):
        cells = [
            quantity(row.values[place], row.decimals, row.unit if row.unit in ("%", "x") else "") for row in table.rows
        ]
        lines.append([name, *cells])
    draw_printed(canvas, head, lines, first=_FIRST, shrink=shrink)


def _headed(row: Row, letters: int) -> str:
    """A measure's name above its column, in lines of so many letters, and its unit below."""
    lines = textwrap.wrap(row.name, letters) if row.name.isascii() else [row.name]
    return "\n".join([*lines, *([f"({row.unit})"] if row.unit not in ("%", "x", "") else [])])


def draw_calendar(canvas: Canvas, chart: Chart) -> None:
    """Gains in green and losses in red; in Chinese the other way round."""
    green, red = "#1a8754", "#c8102e"
    below, above = (green, red) if chart.language == "zh" else (red, green)
    heat(canvas, chart, below=below, above=above)


TABLE = {
    "peer table": Kind(make_peers, draw_peers),
    "return calendar": Kind(make_calendar, draw_calendar),
}
