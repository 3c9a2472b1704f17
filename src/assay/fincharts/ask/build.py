"""Questions about a chart: of a type, a cognitive level and an operation, with gold, options and solution.

A draw that gives no clear question gives None; who asks draws again. Nothing here looks at a picture: what the chart's
table says is what is true.
"""

from random import Random

from assay.fincharts.ask.misreadings import number_choices, pick_choices
from assay.fincharts.ask.picking import allowed, claim_ops, draw_ask, draw_claim, is_clear
from assay.fincharts.ask.thresholds import finest
from assay.fincharts.ask.truth import NUMBERS, clearance, error, evaluate
from assay.fincharts.ask.wording import Wording, decimals_of, unit_of
from assay.fincharts.item import Ask, Chart, Choice, Question
from assay.fincharts.numbers import nice_up, number_text, roundish
from assay.fincharts.rationale import choice_steps, claim_steps, number_steps
from assay.fincharts.taxonomy import Level, QuestionType

__all__ = ["build", "operations"]

LETTERS = "ABCDEF"

_NUMBERS = {
    "Fine-grained Perception": ("value",),
    "Cognition and Reasoning": (
        "change",
        "growth",
        "cagr",
        "total",
        "mean",
        "gap",
        "excess",
        "times",
        "times_columns",
        "total_rows",
        "share_row",
        "share_column",
    ),
    "Comprehensive Perception": (
        "maximum",
        "minimum",
        "span",
        "count_above",
        "count_below",
        "count_wins",
        "count_candles",
        "count_rises",
        "count_rows",
        "count_columns",
    ),
}
_PICKS = {
    "Fine-grained Perception": ("argmax_row", "argmin_row", "rank_row"),
    "Cognition and Reasoning": ("argmax_rise", "argmax_fall", "argmax_gain_row", "widest_gap"),
    "Comprehensive Perception": ("argmax_column", "argmin_column", "argmax_mean_row", "rank_column"),
}
_SETS = {"Fine-grained Perception": ("columns_above", "rows_above")}
SENTENCES = ("best_claim", "claims")


def operations(question_type: QuestionType, level: Level, chart: Chart) -> list[str]:
    """What can be asked of this chart as a question of that type and level."""
    numbers = [op for op in _NUMBERS[level] if allowed(op, chart)]
    if question_type == "numerical":
        return numbers
    if question_type == "single_choice":
        picks = [op for op in _PICKS[level] if allowed(op, chart)]
        sentence = ["best_claim"] if len(claim_ops(level, chart)) >= 2 else []
        return numbers + picks + sentence
    sets = [op for op in _SETS.get(level, ()) if _set_allowed(op, chart)]
    return sets + (["claims"] if len(claim_ops(level, chart)) >= 2 else [])


def _set_allowed(op: str, chart: Chart) -> bool:
    table = chart.table
    return len(table.asked) >= 4 if op == "columns_above" else table.same and len(table.rows) >= 4


def build(question_type: QuestionType, level: Level, operation: str, chart: Chart, rng: Random) -> Question | None:
    """One question, or None where this draw leaves it unclear. See `operations`."""
    if operation not in operations(question_type, level, chart):  # other numbers may allow less
        return None
    words = Wording(chart, rng)
    if operation in SENTENCES:
        return _of_claims(question_type, level, operation, chart, words, rng)
    if operation in ("columns_above", "rows_above"):
        return _of_set(level, operation, chart, words, rng)
    ask = draw_ask(operation, chart, rng)
    if not is_clear(ask, chart):
        return None
    if question_type == "numerical":
        return _numerical(level, ask, chart, words)
    count = rng.choice((4, 4, 4, 5))
    make = number_choices if operation in NUMBERS else pick_choices
    choices = make(ask, chart, words, rng, count)
    if choices is None:
        return None
    letters = _letters(choices)
    return Question(
        type="single_choice",
        level=level,
        text=words.ask(ask),
        operation=operation,
        ask=ask,
        choices=tuple(choices),
        answer=letters,
        steps=choice_steps(ask, chart, words, letters),
    )


def _letters(choices: list[Choice]) -> str:
    return "".join(letter for letter, choice in zip(LETTERS, choices, strict=False) if choice.right)


def _numerical(level: Level, ask: Ask, chart: Chart, words: Wording) -> Question:
    decimals = decimals_of(ask, chart)
    value = evaluate(ask, chart.table)
    off = error(ask, chart.table)
    answer = number_text(value, decimals, grouped=False)
    return Question(
        type="numerical",
        level=level,
        text=words.ask(ask),
        operation=ask.op,
        ask=ask,
        answer=answer,
        value=float(answer),
        unit=unit_of(ask, chart),
        tolerance=nice_up(max(off, 0.5 * 10.0**-decimals)) if off else 0.0,
        steps=number_steps(ask, chart, words),
    )


def _of_set(level: Level, operation: str, chart: Chart, words: Wording, rng: Random) -> Question | None:
    """`In which of these quarters was it above 40?`: options are columns or rows, at least one right and one wrong."""
    table = chart.table
    if operation == "columns_above":
        row = rng.randrange(len(table.rows))
        places = sorted(rng.sample(table.asked, min(len(table.asked), rng.choice((4, 5)))))
        cells = [(row, place) for place in places]
        names = [table.columns[place] for place in places]
        asked = Ask(op=operation, rows=(row,))
    else:
        column = rng.choice(table.asked)
        places = sorted(rng.sample(range(len(table.rows)), min(len(table.rows), rng.choice((4, 5)))))
        cells = [(place, column) for place in places]
        names = [table.rows[place].name for place in places]
        asked = Ask(op=operation, rows=(places[0],), columns=(column,))
    values = sorted(table.rows[row].values[column] for row, column in cells)
    cut = rng.randrange(1, len(values) - 1)
    step = max(finest(chart, cells[0][0]), (values[-1] - values[0]) / 40)
    number = roundish((values[cut - 1] + values[cut]) / 2, step)
    claims = [Ask(op="is_above", rows=(row,), columns=(column,), number=number) for row, column in cells]
    if any(clearance(claim, table) < 2 for claim in claims):
        return None
    choices = [
        Choice(text=name, right=evaluate(claim, table) == 1.0, claim=claim)
        for name, claim in zip(names, claims, strict=True)
    ]
    if not 2 <= sum(choice.right for choice in choices) < len(choices):
        return None
    asked = Ask(op=operation, rows=asked.rows, columns=asked.columns, number=number)
    return _multiple("multiple_choice", level, words.ask(asked), operation, asked, choices, words)


def _of_claims(
    question_type: QuestionType, level: Level, operation: str, chart: Chart, words: Wording, rng: Random
) -> Question | None:
    """`Which statements are correct?`: options are claims, clearly true or clearly false."""
    single = question_type == "single_choice"
    count = rng.choice((4, 4, 5))
    right = 1 if single else rng.choice((2, 2, 3) if count == 4 else (2, 3, 4))
    truths = [True] * right + [False] * (count - right)
    rng.shuffle(truths)
    ops = claim_ops(level, chart)
    choices: list[Choice] = []
    for truth in truths:
        found = _claim(truth, ops, chart, words, rng, choices, most=max(2, count - len(ops) + 1))
        if found is None:
            return None
        choices.append(found)
    ask = Ask(op=operation)
    return _multiple(question_type, level, words.ask(ask), operation, None, choices, words)


def _claim(
    truth: bool, ops: list[str], chart: Chart, words: Wording, rng: Random, taken: list[Choice], *, most: int
) -> Choice | None:
    """A claim beside those that are taken: none of the same thing, and at most `most` of one kind."""
    said = {_thing(choice.claim) for choice in taken if choice.claim is not None}
    kinds = [choice.claim.op for choice in taken if choice.claim is not None]
    for _ in range(30):
        claim = draw_claim(rng.choice(ops), truth, chart, rng)
        if claim is not None and _thing(claim) not in said and kinds.count(claim.op) < most:
            return Choice(text=words.claim(claim), right=truth, why="" if truth else f"false: {claim.op}", claim=claim)
    return None


_OPPOSITES = {"is_above": "is_about", "is_below": "is_about", "ends_lower": "ends_higher"}


def _thing(claim: Ask) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """What a claim is about: of two that say the opposite one must be right, whatever the chart shows."""
    kind = _OPPOSITES.get(claim.op, claim.op)
    if claim.op in ("row_above", "wins_throughout"):
        return kind, tuple(sorted(claim.rows)), claim.columns
    if claim.op == "column_above":
        return kind, claim.rows, tuple(sorted(claim.columns))
    return kind, claim.rows, claim.columns


def _multiple(
    question_type: QuestionType,
    level: Level,
    text: str,
    operation: str,
    ask: Ask | None,
    choices: list[Choice],
    words: Wording,
) -> Question:
    letters = _letters(choices)
    return Question(
        type=question_type,
        level=level,
        text=text,
        operation=operation,
        ask=ask,
        choices=tuple(choices),
        answer=letters,
        steps=claim_steps(choices, words, letters),
    )
