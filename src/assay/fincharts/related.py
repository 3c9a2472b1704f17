"""Sentences of the report that a chart would stand in: some about the chart, some about other things."""

from random import Random

from assay.fincharts.ask.picking import claim_ops, draw_claim
from assay.fincharts.ask.wording import Wording
from assay.fincharts.item import Chart, Question
from assay.fincharts.numbers import quantity
from assay.fincharts.words import vocabulary

__all__ = ["related_sentences"]

_LEVELS = ("Fine-grained Perception", "Comprehensive Perception")


def related_sentences(question: Question, chart: Chart, rng: Random) -> str:
    """One to three sentences: a true one about the chart that does not give the answer, and one or two distractors
    about things that are not in the chart. A few questions have none, as in FinMME."""
    if rng.random() < 0.04:
        return ""
    words = Wording(chart, rng)
    sentences: list[str] = []
    if rng.random() < 0.7:
        told = _true_sentence(question, chart, words, rng)
        if told:
            sentences.append(told)
    sentences += [_distractor(chart, words, rng) for _ in range(rng.choice((1, 1, 2)))]
    rng.shuffle(sentences)
    return ("" if chart.language == "zh" else " ").join(dict.fromkeys(sentences))


def _true_sentence(question: Question, chart: Chart, words: Wording, rng: Random) -> str:
    """A true claim about cells that the question does not turn on; empty where none is found soon."""
    asks = [question.ask, *(choice.claim for choice in question.choices)]
    rows = {row for ask in asks if ask is not None for row in ask.rows}
    columns = {column for ask in asks if ask is not None for column in ask.columns}
    ops = [op for level in _LEVELS for op in claim_ops(level, chart) if op in ("is_about", "row_above", "column_above")]
    for _ in range(12):
        claim = draw_claim(rng.choice(ops), True, chart, rng) if ops else None
        if claim is None or set(claim.columns) & columns or not columns:
            continue
        if len(chart.table.rows) == 1 or not set(claim.rows) & rows or claim.op == "is_about":
            return words.claim(claim)
    return ""


def _distractor(chart: Chart, words: Wording, rng: Random) -> str:
    """A figure of something that is not in the chart, of a measure that it can have."""
    vocab = vocabulary()
    shown = {row.name for row in chart.table.rows} | set(chart.table.columns)
    domain = vocab.domains[chart.domain]
    measure = vocab.measures[rng.choice(domain.measures)]
    groups = [name for name in domain.names if not measure.names or name in measure.names] or list(measure.names)
    # Where all of a kind are shown, as with tenors, a company has to do.
    named = (getattr(vocab.names[group], chart.language) for group in (rng.choice(groups), "companies"))
    left = ([name for name in names if name not in shown and name not in chart.title] for names in named)
    other = rng.choice(next(names for names in left if names))
    unit = getattr(vocab.units[measure.unit[0]], chart.language)
    number = quantity(rng.uniform(*measure.range), measure.decimals, unit, language=chart.language)
    subject = words.phrases.get("frame", "of").format(
        the=words.phrases.get("frame", "the"), measure=getattr(measure, chart.language), name=other
    )
    return words.phrases.fill(rng.choice(words.phrases.get("frame", "related")), {"s": subject, "n": number})
