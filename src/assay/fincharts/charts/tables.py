"""Tables and other printed things: peers compared by several measures, months of returns."""

from typing import Any

from assay.fincharts.charts import Kind
from assay.fincharts.charts.bars import category_table, lengths
from assay.fincharts.charts.canvas import Canvas
from assay.fincharts.charts.relational import heat
from assay.fincharts.charts.statements import draw_printed
from assay.fincharts.item import Chart, Table
from assay.fincharts.making import Making
from assay.fincharts.numbers import quantity
from assay.fincharts.words import vocabulary

__all__ = ["TABLE"]

_MONTHS = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "zh": tuple(f"{month}月" for month in range(1, 13)),
}


def make_peers(making: Making) -> Chart:
    """Five to eight companies by three to five measures: measures are rows here, though they are printed as columns."""
    making.labelled = True
    words = vocabulary()
    names = words.domains[making.domain].measures
    measures = [
        words.measures[name] for name in making.frame.sample(names, min(len(names), making.frame.choice((3, 4))))
    ]
    group = next((group for group in words.domains[making.domain].names if group == "companies"), None)
    noun, things = making.names(making.frame.randint(5, 8), group=group or words.domains[making.domain].names[0])
    rows: list[Any] = []
    for measure in measures:
        units, word = making.unit(measure), making.word(measure)
        values = lengths(making, measure, len(things))
        rows.append(making.row(making.titled(word), making.subject(word), values, units, measure.decimals, None))
    table = category_table(making, rows, things, noun, "series", same=False)
    period = making.periods(1, 1, ("year",)).names[0]
    what = making.words.noun(noun)
    title = f"各{what}主要指标比较（{period}）" if making.language == "zh" else f"Key figures by {what}, {period}"
    return making.chart("Others", "peer table", title, rows[0].name, table)


def make_calendar(making: Making) -> Chart:
    """Monthly returns, a row for each year."""
    making.labelled = True
    years = making.periods(3, 5, ("year",)).names
    years = tuple(year.removesuffix("E") for year in years)
    word = "月度回报" if making.language == "zh" else "monthly return"
    count = making.frame.choice((6, 12, 12))
    columns = _MONTHS[making.language][:count]
    rows: list[Any] = []
    for year in years:
        values = making.rounded(making.draw.normal(0.6, 3.2, count), 1)
        subject = f"{year}年的{word}" if making.language == "zh" else f"the {word} of {year}"
        rows.append(making.row(year, subject, values, ("%", "bp"), 1, None))
    table = Table(
        rows=tuple(rows),
        columns=columns,
        at=making.words.get("frame", "in"),
        noun="month",
        row_noun="year",
        ordered=True,
        asked=tuple(range(count)),
    )
    title = making.titled("月度回报（%）" if making.language == "zh" else "monthly returns (%)", making.company())
    return making.chart("Others", "return calendar", title, word, table)


def draw_peers(canvas: Canvas, chart: Chart) -> None:
    """Things down, measures across."""
    table = chart.table
    head = ["", *(f"{row.name}\n({row.unit})" if row.unit not in ("%", "x", "") else row.name for row in table.rows)]
    lines: list[list[str]] = []
    for place, name in enumerate(table.columns):
        cells = [
            quantity(row.values[place], row.decimals, row.unit if row.unit in ("%", "x") else "") for row in table.rows
        ]
        lines.append([name, *cells])
    draw_printed(canvas, head, lines, first=1.1)


def draw_calendar(canvas: Canvas, chart: Chart) -> None:
    heat(canvas, chart, signed=True)


TABLE = {
    "peer table": Kind(make_peers, draw_peers),
    "return calendar": Kind(make_calendar, draw_calendar),
}
