"""Asks, claims and numbers in the words of a chart's language."""

from random import Random

from assay.fincharts.ask.truth import COUNTS, PICKS
from assay.fincharts.chance import dice
from assay.fincharts.item import Ask, Chart, Row
from assay.fincharts.numbers import quantity
from assay.fincharts.words import phrases, vocabulary

__all__ = ["Wording", "decimals_of", "is_row_pick", "unit_of"]

_PERCENT = ("growth", "cagr", "share_row", "share_column", "grew_more", "share_more", "share_column_more")
_TIMES = ("times", "times_columns", "times_more", "times_columns_more")
_DIFFERENCES = ("change", "gap", "excess", "span", "rose_more", "gap_more", "excess_more", "ranges_over")


def unit_of(ask: Ask, chart: Chart) -> str:
    """The unit of an ask's number: a row's, `%`, `x`, points for differences of percentages, or none for counts."""
    words = vocabulary().units
    language = chart.language
    if ask.op in _PERCENT:
        return "%"
    if ask.op in _TIMES:
        return getattr(words["times"], language)
    if ask.op in COUNTS or ask.op.startswith("shows"):
        return ""
    unit = chart.table.rows[ask.rows[0]].unit
    return getattr(words["points"], language) if unit == "%" and ask.op in _DIFFERENCES else unit


def decimals_of(ask: Ask, chart: Chart) -> int:
    """How many decimals an ask's number is given with."""
    if ask.op in COUNTS or ask.op.startswith("shows"):
        return 0
    if ask.op in _PERCENT:
        return 1
    if ask.op in _TIMES:
        return 2
    decimals = chart.table.rows[ask.rows[0]].decimals
    return decimals + 1 if ask.op in ("mean", "mean_row") else decimals


class Wording:
    """The words of one chart; `rng` chooses among wordings: that of the question first, whatever else is said."""

    def __init__(self, chart: Chart, rng: Random) -> None:
        self.chart = chart
        self.table = chart.table
        self.phrases = phrases(chart.language)
        self._asking, self._claiming = dice(rng.getrandbits(64)), dice(rng.getrandbits(64))

    def ask(self, ask: Ask) -> str:
        """The question."""
        part = "ask_things" if not self.table.ordered and self.phrases.has("ask_things", ask.op) else "ask"
        return self.phrases.choose(part, ask.op, self._asking, **self.fields(ask))

    def claim(self, ask: Ask) -> str:
        """The claim as a sentence."""
        return self.phrases.choose("claim", ask.op, self._claiming, **self.fields(ask))

    def number(self, value: float, ask: Ask) -> str:
        """A number that answers the ask, with its unit."""
        return self.quantity(value, decimals_of(ask, self.chart), unit_of(ask, self.chart))

    def quantity(self, value: float, decimals: int, unit: str) -> str:
        return quantity(value, decimals, unit, language=self.chart.language)

    def name(self, ask: Ask, place: int) -> str:
        """The column or row that a pick picks."""
        return self.table.rows[place].name if is_row_pick(ask) else self.table.columns[place]

    def fields(self, ask: Ask) -> dict[str, str]:
        """What the templates may name."""
        table, words = self.table, self.phrases
        rows = [table.rows[row] for row in ask.rows]
        columns = [table.columns[column] for column in ask.columns]
        subject = rows[0].subject if rows else ""
        several = [row.subject for row in rows] if ask.op.startswith("total_") else columns
        fields = {
            "s": subject,
            "S": subject[:1].upper() + subject[1:],
            "t": rows[1].subject if len(rows) > 1 else "",
            "at": self._placed(columns[0]) if columns else "",
            "at2": self._placed(columns[1]) if len(columns) > 1 else "",
            "than": self._compared(columns[1]) if len(columns) > 1 else "",
            "in": _preposition(table.at),
            "over": "over" if table.ordered else "across",
            "de": "" if subject.startswith("对") else "的",
            "from": columns[0] if columns else "",
            "to": columns[1] if len(columns) > 1 else "",
            "list": words.join(several) if several and (len(several) > 1) else "",
            "noun": words.noun(table.noun),
            "columns": words.noun(table.noun, several=True),
            "row": words.noun(table.row_noun),
            "rows": words.noun(table.row_noun, several=True),
            "unit": rows[0].unit if rows else "",
            "k": "",
            "n": "",
        }
        if ask.number is not None:
            fields |= self._number_fields(ask, ask.number, rows)
        return fields

    def _placed(self, column: str) -> str:
        """A column with its preposition. In Chinese an estimated year goes without the word for year: `2025E`."""
        if self.chart.language == "zh" and column.endswith("E"):
            return column
        return self.table.at.format(column)

    def _compared(self, column: str) -> str:
        """A column that another one is compared with, in Chinese: with the word for year, without the other words."""
        return f"{column}年" if self.table.noun == "year" and column.isdigit() else column

    def _number_fields(self, ask: Ask, number: float, rows: list[Row]) -> dict[str, str]:
        if ask.op in ("rank_row", "rank_column"):
            return {"k": self.phrases.get("frame", "ordinals")[int(number) - 1]}
        if ask.op in _TIMES:
            return {"n": f"{number:g}"}
        if ask.op in ("count_above", "count_below", "columns_above", "rows_above"):
            decimals = _needed(number, rows[0].decimals)
            return {"n": self.quantity(number, decimals, rows[0].unit)}
        unit = unit_of(ask, self.chart)
        decimals = 0 if ask.op.startswith("shows") else _needed(number, decimals_of(ask, self.chart))
        return {"n": self.quantity(number, decimals, unit)}


def _preposition(at: str) -> str:
    """The one that a sentence places columns with: `in`, `for`, `at`, `with`. Days are `on`, but sessions `in`."""
    word = at.split(" ")[0]
    return "in" if word == "on" else word


def _needed(number: float, most: int) -> int:
    """Decimals that a threshold needs: a round one is written without."""
    return next((places for places in range(most) if abs(number - round(number, places)) < 1e-9), most)


def is_row_pick(ask: Ask) -> bool:
    """Whether a row is picked, not a column."""
    return ask.op in PICKS and ask.op.endswith("_row")
