"""Solutions in steps, and wrong ones with one error in them whose place and kind are known.

A step is right if what it says is true of the chart. An error in one step is carried on: what later steps work out from
it is worked out rightly, and is wrong all the same if it is not so in the chart.
"""

from collections.abc import Callable, Sequence
from random import Random

from msgspec import Struct

from assay.fincharts.ask.truth import NUMBERS, cells, combine, error, evaluate
from assay.fincharts.ask.wording import Wording, decimals_of, is_row_pick, unit_of
from assay.fincharts.item import Ask, Axis, Chart, Choice, Item, Question, Step
from assay.fincharts.numbers import number_text, round_half

__all__ = ["ERRORS", "Flawed", "choice_steps", "claim_steps", "flawed", "number_steps"]

ERRORS = ("misread value", "wrong series", "wrong axis", "arithmetic slip", "unit slip", "wrong comparison")

_MOST_READ = 8
"""Values that a solution reads one by one; of more it says at once what follows from them."""

_PLAIN_PICKS = ("argmax_row", "argmin_row", "rank_row", "argmax_column", "argmin_column", "rank_column")
_AT_ONCE = ("value", "maximum", "minimum", "count_rows", "count_columns")
LETTERS = "ABCDEF"


# --------------------------------------------------------------------------------------------------------------------
# Right solutions


def number_steps(ask: Ask, chart: Chart, words: Wording) -> tuple[Step, ...]:
    """How the number that is asked for is found, with the number as the answer."""
    steps = _finding(ask, chart, words)
    value = steps[-1].value
    text = words.phrases.get("step", "answer_number").format(n=words.number(value, ask))
    return (*steps, Step(kind="answer", of=(len(steps) - 1,), value=value, text=text))


def choice_steps(ask: Ask, chart: Chart, words: Wording, letters: str) -> tuple[Step, ...]:
    """How the right option is found, where there is one thing to be found."""
    steps = _finding(ask, chart, words)
    return (*steps, Step(kind="answer", of=(len(steps) - 1,), value=steps[-1].value, text=_answer(words, letters)))


def claim_steps(choices: Sequence[Choice], words: Wording, letters: str) -> tuple[Step, ...]:
    """Every option judged, then the letters."""
    steps = [
        _judged(choice, letter, choice.right, words)
        for letter, choice in zip(LETTERS, choices, strict=False)
        if choice.claim is not None
    ]
    answer = Step(kind="answer", of=tuple(range(len(steps))), value=0.0, text=_answer(words, letters))
    return (*steps, answer)


def _answer(words: Wording, letters: str) -> str:
    return words.phrases.get("step", "answer_option").format(letters=", ".join(letters))


def _judged(choice: Choice, letter: str, verdict: bool, words: Wording) -> Step:
    template = words.phrases.get("step", "true" if verdict else "false")
    text = template.format(letter=letter, claim=choice.text.rstrip(".。"))
    return Step(kind="judge", ask=choice.claim, value=float(verdict), text=text)


def _finding(ask: Ask, chart: Chart, words: Wording) -> list[Step]:
    """Reading the values, then what follows from them."""
    table = chart.table
    value = evaluate(ask, table)
    if ask.op == "value":
        return [Step(kind="read", ask=ask, value=value, text=_text(ask, value, [], words))]
    needed = cells(ask, table) if ask.op in NUMBERS else _candidates(ask, chart)
    if ask.op in _AT_ONCE or not needed or len(set(needed)) > _MOST_READ:
        kind = "compute" if ask.op in NUMBERS else "select"
        values = _pair(ask, chart) if ask.op == "span" else []
        return [Step(kind=kind, ask=ask, value=value, text=_text(ask, value, values, words))]
    places: dict[tuple[int, int], int] = {}
    steps: list[Step] = []
    for row, column in needed:
        if (row, column) not in places:
            places[row, column] = len(steps)
            read = Ask(op="value", rows=(row,), columns=(column,))
            number = table.rows[row].values[column]
            steps.append(Step(kind="read", ask=read, value=number, text=_text(read, number, [], words)))
    of = tuple(places[cell] for cell in needed)
    values = [steps[place].value for place in of]
    kind = "compute" if ask.op in NUMBERS else "select"
    steps.append(Step(kind=kind, ask=ask, of=of, value=value, text=_text(ask, value, values, words)))
    return steps


def _pair(ask: Ask, chart: Chart) -> list[float]:
    values = chart.table.rows[ask.rows[0]].values
    return [max(values), min(values)]


def _candidates(ask: Ask, chart: Chart) -> list[tuple[int, int]]:
    """The cells that a plain pick chooses among, in the order of their positions; none for other picks."""
    table = chart.table
    if ask.op not in _PLAIN_PICKS:
        return []
    if is_row_pick(ask):
        return [(row, ask.columns[0]) for row in range(len(table.rows))]
    return [(ask.rows[0], column) for column in range(len(table.columns))]


def _text(ask: Ask, value: float, values: Sequence[float], words: Wording) -> str:
    """What a step says: `value` and the operands `values` may be wrong ones."""
    chart = words.chart
    fields = words.fields(ask)
    row = chart.table.rows[ask.rows[0]] if ask.rows else None
    decimals = row.decimals if row is not None else 0
    shown = [number_text(v, decimals) for v in values]
    said = words.number(value, ask) if ask.op in NUMBERS else words.name(ask, int(value))
    if ask.op == "span" and len(values) > 2:
        shown = [number_text(max(values), decimals), number_text(min(values), decimals)]
    rest = shown[1:] if ask.op.startswith("share_") else shown
    extra = {
        "n": said,
        "m": fields["n"],
        "a": shown[0] if shown else "",
        "b": shown[1] if len(shown) > 1 else "",
        "sum": " + ".join(rest),
        "count": str(len(values)),
        "years": str(ask.columns[1] - ask.columns[0]) if len(ask.columns) > 1 else "",
    }
    return words.phrases.fill(words.phrases.get("step", ask.op), fields | extra)


# --------------------------------------------------------------------------------------------------------------------
# Wrong solutions


class Flawed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A solution with one error. `labels`: whether each step is true; `place`: the step with the error."""

    error: str
    place: int
    steps: tuple[str, ...]
    labels: tuple[bool, ...]
    answer: str


def flawed(item: Item, rng: Random) -> list[Flawed]:
    """One solution for each kind of error that the question gives room for, each in a step at random."""
    question, chart = item.question, item.chart
    words = Wording(chart, rng)
    found: list[Flawed] = []
    for kind in ERRORS:
        places = list(range(len(question.steps) - 1))
        rng.shuffle(places)
        for place in places:
            wrong = _WRONG[kind](question.steps[place], chart, rng)
            if wrong is None:
                continue
            made = _replayed(kind, place, wrong, question, chart, words)
            if made is not None:
                found.append(made)
                break
    return found


def _replayed(kind: str, place: int, wrong: float, question: Question, chart: Chart, words: Wording) -> Flawed | None:
    """The solution with the step at `place` giving `wrong`, and all later steps following from it."""
    values: list[float] = []
    texts: list[str] = []
    labels: list[bool] = []
    for at, step in enumerate(question.steps[:-1]):
        if at < place:
            value, text = step.value, step.text
        else:
            operands = [values[earlier] for earlier in step.of]
            try:
                value = wrong if at == place else _carried(step, operands)
            except (ZeroDivisionError, ValueError, OverflowError):
                return None
            if isinstance(value, complex):  # a root of a negative ratio
                return None
            text = _retold(step, at, value, operands, question, words)
        values.append(value)
        texts.append(text)
        labels.append(_true(step, value, chart))
    answer = _concluded(values, question, chart, words)
    if labels[place] or answer is None:
        return None
    texts.append(answer[1])
    labels.append(answer[0] == question.answer)
    return Flawed(error=kind, place=place, steps=tuple(texts), labels=tuple(labels), answer=answer[0])


def _carried(step: Step, operands: list[float]) -> float:
    """What a later step works out from what it was given."""
    if step.ask is None or not operands:
        return step.value
    if step.kind == "compute":
        known = [step.ask.number or 0.0] if step.ask.op in ("count_above", "count_below") else []
        return combine(step.ask, known + operands)
    sign = -1 if step.ask.op.startswith("argmin") else 1
    order = sorted(range(len(operands)), key=lambda place: -sign * operands[place])
    return float(order[int(step.ask.number or 1) - 1])


def _retold(step: Step, at: int, value: float, operands: list[float], question: Question, words: Wording) -> str:
    if step.ask is None:
        return step.text
    if step.kind == "judge":
        return _judged(question.choices[at], LETTERS[at], value == 1.0, words).text
    pair = _pair(step.ask, words.chart) if step.ask.op == "span" and not operands else operands
    return _text(step.ask, value, pair, words)


def _true(step: Step, value: float, chart: Chart) -> bool:
    """Whether the step says what is so, to the digits that it is written with."""
    if step.ask is None or step.kind in ("select", "judge"):
        return value == step.value
    decimals = decimals_of(step.ask, chart)
    return round_half(value, decimals) == round_half(evaluate(step.ask, chart.table), decimals)


def _concluded(values: list[float], question: Question, chart: Chart, words: Wording) -> tuple[str, str] | None:
    """The answer that follows, and its sentence; None where no option is near what was found."""
    last = values[-1]
    if question.type == "numerical" and question.ask is not None:
        answer = number_text(last, decimals_of(question.ask, chart), grouped=False)
        text = words.phrases.get("step", "answer_number").format(n=words.number(last, question.ask))
        return answer, text
    if question.steps[0].kind == "judge":
        letters = "".join(letter for letter, value in zip(LETTERS, values, strict=False) if value == 1.0)
        if not letters or (question.type == "single_choice" and len(letters) > 1):
            return None
        return letters, _answer(words, letters)
    if question.ask is None:
        return None
    if question.ask.op in NUMBERS:
        gaps = {
            letter: abs(choice.value - last)
            for letter, choice in zip(LETTERS, question.choices, strict=False)
            if choice.value is not None
        }
        letters = min(gaps, key=lambda letter: gaps[letter])
    else:
        name = words.name(question.ask, int(last))
        named = [letter for letter, choice in zip(LETTERS, question.choices, strict=False) if choice.text == name]
        if not named:
            return None
        letters = named[0]
    return letters, _answer(words, letters)


# Each error: the wrong value that a step would give, or None where the step has no room for it.


def _misread(step: Step, chart: Chart, rng: Random) -> float | None:
    """A neighbour's value, or half a tick or a tick off."""
    if step.ask is None or step.kind not in ("read", "compute") or not step.ask.rows or step.of:
        return None
    if step.ask.op not in ("value", "maximum", "minimum"):
        return None
    row = chart.table.rows[step.ask.rows[0]]
    column = step.ask.columns[0] if step.ask.columns else 0
    beside = [row.values[other] for other in (column - 1, column + 1) if 0 <= other < len(row.values)]
    axis = chart.left if row.axis == "left" else chart.right
    tick = axis.step if axis is not None else max(abs(step.value) * 0.1, 10.0**-row.decimals)
    ticks = [step.value + sign * share * tick for sign in (1, -1) for share in (0.5, 1.0)]
    return _far(step.value, beside + ticks, row.tolerance, row.decimals, rng)


def _other_series(step: Step, chart: Chart, rng: Random) -> float | None:
    if step.ask is None or step.kind != "read":
        return None
    row, column = step.ask.rows[0], step.ask.columns[0]
    mine = chart.table.rows[row]
    others = [other.values[column] for place, other in enumerate(chart.table.rows) if place != row]
    return _far(step.value, others, mine.tolerance, mine.decimals, rng)


def _other_axis(step: Step, chart: Chart, rng: Random) -> float | None:
    if step.ask is None or step.kind != "read" or chart.left is None or chart.right is None:
        return None
    row = chart.table.rows[step.ask.rows[0]]
    mine, other = (chart.left, chart.right) if row.axis == "left" else (chart.right, chart.left)
    return _far(step.value, [_moved(step.value, mine, other)], row.tolerance, row.decimals, rng)


def _moved(value: float, mine: Axis, other: Axis) -> float:
    return other.low + (value - mine.low) / (mine.high - mine.low) * (other.high - other.low)


def _slip(step: Step, chart: Chart, rng: Random) -> float | None:
    """A digit off: one in the leading place, or the sign of a change."""
    if step.ask is None or step.kind != "compute" or not step.of:
        return None
    decimals = decimals_of(step.ask, chart)
    size = abs(step.value)
    place = 10.0 ** max(len(str(int(size))) - 1, 0) if size >= 1 else 10.0**-decimals
    off = error(step.ask, chart.table)
    wrong = [step.value + sign * factor * place for sign in (1, -1) for factor in (1, 2)]
    return _far(step.value, wrong, off, decimals, rng)


def _unit_slip(step: Step, chart: Chart, _: Random) -> float | None:
    """Percent for basis points, millions for billions."""
    if step.ask is None or step.kind not in ("read", "compute") or not step.ask.rows or not step.value:
        return None
    unit = unit_of(step.ask, chart)
    if not unit:
        return None
    factor = 100.0 if unit in ("%", "x") else 1000.0
    return round_half(step.value * factor, decimals_of(step.ask, chart))


def _wrong_pick(step: Step, chart: Chart, rng: Random) -> float | None:
    """The runner-up, or a verdict turned round."""
    if step.ask is None:
        return None
    if step.kind == "judge":
        return 1.0 - step.value
    if step.kind != "select":
        return None
    named = range(len(chart.table.rows)) if is_row_pick(step.ask) else chart.table.asked
    others = [float(place) for place in named if place != int(step.value)]
    return rng.choice(others) if others else None


def _far(right: float, wrong: Sequence[float], tolerance: float, decimals: int, rng: Random) -> float | None:
    """One of the wrong values that no careful reader could have read, as it would be written."""
    likely = [value for value in wrong if value > 0 or right <= 0]
    found = [round_half(value, decimals) for value in likely if abs(value - right) >= 2.5 * tolerance]
    return rng.choice(found) if found else None


_WRONG: dict[str, Callable[[Step, Chart, Random], float | None]] = {
    "misread value": _misread,
    "wrong series": _other_series,
    "wrong axis": _other_axis,
    "arithmetic slip": _slip,
    "unit slip": _unit_slip,
    "wrong comparison": _wrong_pick,
}
