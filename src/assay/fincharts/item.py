"""The records of a generated question: the chart with all its numbers, its looks, what is asked, and why it is so.

An `Item` holds all that its answer follows from: `chart.table` has the numbers exactly as they are drawn, `question`
says in a closed form what is asked of them (`Ask`), and `steps` how the answer is reached.
"""

from typing import Any, Literal

from msgspec import Struct

from assay.fincharts.taxonomy import Level, QuestionType

__all__ = [
    "Ask",
    "Axis",
    "Chart",
    "Choice",
    "Item",
    "Mark",
    "Question",
    "Row",
    "Side",
    "Step",
    "Style",
    "Table",
]


Mark = Literal["line", "bar", "area"]
Side = Literal["left", "right"]


class Axis(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value axis: from `low` to `high`, a tick every `step`; `unit` as printed."""

    low: float
    high: float
    step: float
    unit: str


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One series.

    Attributes:
        name: as printed in the legend.
        subject: how a sentence speaks of it, e.g. `the revenue of Kestrel`.
        values: one for each column, rounded to `decimals`: what is drawn and what is true.
        unit: as printed; empty for counts.
        wrong_unit: a unit that a hasty reader may take it for.
        tolerance: how far a careful reading of one value may be off, in the row's unit.
        mark: how it is drawn where rows of one chart differ.
        axis: the value axis it is drawn against.
    """

    name: str
    subject: str
    values: tuple[float, ...]
    unit: str
    wrong_unit: str
    decimals: int
    tolerance: float
    mark: Mark = "line"
    axis: Side = "left"


class Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers of a chart: rows are series, columns are periods or things.

    Attributes:
        columns: their names as printed.
        at: how a sentence places a value at a column, e.g. `in {}`, `for {}`.
        noun, row_noun: what a column and a row are: `quarter`, `company`.
        ordered: whether columns are points in time.
        asked: positions of the columns that a question may name; those whose name is printed in the picture.
        adds_up: whether the values of one row may be added over its columns.
        rows_add_up: whether the values of one column may be added over its rows.
        ratio: whether all values are positive and ratios of them mean something.
        same: whether all rows have one unit and one axis, so that they may be compared.
        yearly: whether columns are one year apart.
        whole: whether questions may count and rank over all columns; not so where single points can't be told apart.
    """

    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    at: str
    noun: str
    row_noun: str
    ordered: bool
    asked: tuple[int, ...]
    adds_up: bool = False
    rows_add_up: bool = False
    ratio: bool = False
    same: bool = True
    yearly: bool = False
    whole: bool = True


class Chart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chart before it has any looks.

    Attributes:
        chart_class, kind: FinMME's class, and the subclass, which says what draws it.
        left, right: value axes; None where there is none.
        labelled: whether values are printed beside their marks.
        without: asks and claims that make no sense of this chart although its table allows them.
        extra: what the kind needs beyond the table (bins, flows, positions).
        start, end: the days that the columns cover, ISO; empty where columns are no points in time.
        real: the file that the numbers are from; empty for made-up ones.
    """

    chart_class: str
    kind: str
    title: str
    caption: str
    source: str
    language: str
    domain: str
    asset_class: str
    measure: str
    table: Table
    left: Axis | None = None
    right: Axis | None = None
    labelled: bool = False
    without: tuple[str, ...] = ()
    extra: dict[str, Any] = {}
    start: str = ""
    end: str = ""
    real: str = ""


class Style(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a chart looks. Sizes in inches, `dpi` in pixels an inch, `rotation` in degrees, `jpeg` a quality or None."""

    font: str
    palette: str
    colours: tuple[str, ...]
    paper: str
    ink: str
    grid: Literal["none", "horizontal", "both", "dotted"]
    frame: Literal["box", "open", "bottom"]
    legend: Literal["top", "bottom", "right", "inside"]
    heading: Literal["rule", "band", "plain", "centred"]
    width: float
    height: float
    dpi: int
    size: float
    jpeg: int | None
    rotation: float
    numbered: int


class Ask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of a table, or claimed of it, in a closed form; see `ask.truth` for what each `op` means.

    `rows` and `columns` are positions; `number` is a threshold or the value that is claimed.
    """

    op: str
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    number: float | None = None


class Choice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One option. `why`: for a wrong one the misreading it comes from; `claim`: what it says, where it is a sentence;
    `value`: the number it states, where it is one."""

    text: str
    right: bool
    why: str = ""
    claim: Ask | None = None
    value: float | None = None


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of a solution.

    Attributes:
        kind: read a value off the chart, compute from earlier values, select the column or row that an ask is about,
            judge a claim, or answer.
        ask: what the step finds out, of the chart itself; None for an answer.
        of: positions of the earlier steps that it uses.
        value: the number, or the position, or 1 and 0 for true and false; for an answer that of its last operand.
        text: the step in words.
    """

    kind: Literal["read", "compute", "select", "judge", "answer"]
    ask: Ask | None = None
    of: tuple[int, ...] = ()
    value: float
    text: str


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question with its answer.

    Attributes:
        type, level: FinMME's question type and cognitive level.
        ask: what is asked; None where the options are claims of several kinds.
        answer: the number as text, or the letters of the right options.
        unit, tolerance: of a numerical answer; the tolerance is absolute.
        related: sentences of the report that the chart would stand in; some true and none of them the answer.
    """

    type: QuestionType
    level: Level
    text: str
    operation: str
    ask: Ask | None = None
    choices: tuple[Choice, ...] = ()
    answer: str
    value: float | None = None
    unit: str = ""
    tolerance: float | None = None
    related: str = ""
    steps: tuple[Step, ...] = ()


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A generated question. Items of one `group` are variants of one seed question: other numbers, the same words."""

    id: str
    group: str
    variant: int
    image: str
    chart: Chart
    style: Style
    question: Question
