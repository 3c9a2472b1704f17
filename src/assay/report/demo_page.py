"""The page that `assay demo` writes: one HTML file with FinScore, the strategies, and solutions that were refined.

Pictures lie in the file, and nothing is fetched. Everything that a model wrote is escaped.
"""

import base64
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from assay.mark.finscore import FinScore, ReferenceFinScore
from assay.mark.stability import Difference
from assay.report.tables import interval, percent
from assay.report.terminal_controls import way_words
from assay.solve.controls import Controls, Row
from assay.solve.parts import Way
from assay.solve.pool import PoolRecord
from assay.solve.records import Critique, Refined, StepVerdict
from assay.types import ChoiceGold, Marked, NumberGold, Sample

__all__ = ["Example", "page", "worked_examples"]

_WAYS: tuple[Way, ...] = ("greedy", "self-consistency", "best-of-n", "refined-bon", "pass")


class Example(NamedTuple):
    """A refined solution: its place in a pool, and that of the solution that it was made of."""

    sample: Sample
    record: PoolRecord
    parent: int
    place: int

    @property
    def verdicts(self) -> tuple[bool, bool]:
        """Whether the solution was right before, and is after."""
        return _right(self.record, self.parent), _right(self.record, self.place)


def worked_examples(
    samples: Mapping[str, Sample], pools: Sequence[PoolRecord], *, mended: int = 4, others: int = 2
) -> list[Example]:
    """Refined solutions to show, one of a question: some that were made right, and some that were not.

    Args:
        samples: by id.
        pools: of the run; looked through in this order.
        mended: how many that were wrong and are right.
        others: how many that ended wrong: refinement does not always help, and can harm.
    """
    found: dict[bool, list[Example]] = {True: [], False: []}
    for record in pools:
        for example in _refined(samples[record.sample_id], record):
            before, after = example.verdicts
            if len(found[after]) < (mended if after else others) and not (before and after):
                found[after].append(example)
                break
    return found[True] + found[False]


def _refined(sample: Sample, record: PoolRecord) -> Iterator[Example]:
    for place, judged in enumerate(record.pool):
        origin = judged.solution.origin
        if isinstance(origin, Refined) and origin.kept > 0:
            yield Example(sample, record, origin.parent, place)


def _right(record: PoolRecord, place: int) -> bool:
    mark = record.marks[place]
    return isinstance(mark, Marked) and mark.robust.verdict == "right"


def page(found: Controls, scores: Mapping[str, FinScore], examples: Sequence[Example]) -> str:
    """The whole page.

    Args:
        found: the controls of the run.
        scores: whose answers -> their FinScore.
        examples: from `worked_examples`.
    """
    template = Template(files("assay.report").joinpath("demo_page.html").read_text(encoding="utf-8"))
    return template.substitute(
        lead=f"{found.pools:,} held-out questions; each row below chooses from the same pools of solutions.",
        cards="".join(_card(name, score.robust) for name, score in scores.items()),
        reference=", ".join(f"{escape(name)} {percent(score.reference.finscore)} %" for name, score in scores.items()),
        domains=_domains({name: score.robust for name, score in scores.items()}),
        strategies=_strategies(found),
        refinement=_refinement(found),
        about=_about(examples),
        examples="".join(map(_example, examples)),
    )


def _about(examples: Sequence[Example]) -> str:
    if not examples:
        return "The critic gave no correction that a solution was continued from."
    mended = sum(after for _, after in (example.verdicts for example in examples))
    return (
        "Left what the policy wrote, with the critic's verdict on every step (the number is the probability that the "
        "step is correct) and its correction; right how the policy went on. "
        f"{mended} that ended right, {len(examples) - mended} that did not."
    )


# --------------------------------------------------------------------------------------------------------------------
# FinScore


def _card(name: str, score: ReferenceFinScore) -> str:
    return (
        f'<div class="card"><h3>{escape(name)}</h3><div class="big">{percent(score.finscore)}</div>'
        f'<p class="soft small">{interval(score.low, score.high)}, 95 %</p>'
        f'<p class="small">domain mean {percent(score.domain_mean)} % &times; '
        f"(1 &minus; {percent(score.penalty)} %)<br>"
        f"{score.correct:,} of {score.n:,} right</p></div>"
    )


def _domains(scores: Mapping[str, ReferenceFinScore]) -> str:
    names = sorted({name for score in scores.values() for name in score.domains})
    heads = "".join(f"<th>{escape(name)} %</th>" for name in scores)
    rows: list[str] = []
    for name in names:
        held = [score.domains.get(name) for score in scores.values()]
        n = next((domain.n for domain in held if domain is not None), 0)
        cells = "".join(f"<td>{percent(domain.accuracy) if domain else '-'}</td>" for domain in held)
        rows.append(f"<tr><td>{escape(name)}</td><td>{n:,}</td>{cells}</tr>")
    table = f"<table><tr><th>domain</th><th>questions</th>{heads}</tr>{''.join(rows)}</table>"
    return f'<details><summary>All {len(names)} domains</summary><div class="card scroll">{table}</div></details>'


# --------------------------------------------------------------------------------------------------------------------
# Strategies


def _strategies(found: Controls) -> str:
    heads = ("", "accuracy %", "", "minus greedy", "minus self-consistency", "tokens a question")
    rows = [_strategy(way, found.strategies[way], found.pools) for way in _WAYS if way in found.strategies]
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(rows)}</table>"


def _strategy(way: Way, row: Row, pools: int) -> str:
    score = row.robust
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in (row.policy, row.critic))
    cells = (
        way_words(way, row.n),
        _with_interval(percent(score.accuracy), score.low, score.high),
        _axis(score.accuracy, score.low, score.high),
        _difference(row.against_greedy),
        _difference(row.against_self_consistency),
        "-" if way == "pass" else f"{tokens / max(pools, 1):,.0f}",
    )
    kind = ' class="ceiling"' if way == "pass" else ""
    return f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _axis(value: float | None, low: float | None, high: float | None) -> str:
    """The accuracy on a line from 0 to 100 %, with its interval."""
    if value is None:
        return ""
    span = ""
    if low is not None and high is not None:
        span = f'<div class="span" style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></div>'
    return f'<div class="axis">{span}<div class="dot" style="left:{100 * value:.1f}%"></div></div>'


def _difference(found: Difference | None) -> str:
    if found is None or found.difference is None:
        return "-"
    return _with_interval(f"{100 * found.difference:+.1f}", found.low, found.high)


def _with_interval(number: str, low: float | None, high: float | None) -> str:
    return f'{number}<span class="interval">{interval(low, high)}</span>'


def _refinement(found: Controls) -> str:
    made = found.refinement
    if made is None:
        return ""
    return (
        f"{made.refined:,} solutions were continued from a correction, {made.resampled:,} were drawn again. "
        f"Wrong ones made right: {made.helped:,} of {made.wrong_before:,} ({percent(made.help_rate)} %). "
        f"Right ones made wrong: {made.harmed:,} of {made.right_before:,} ({percent(made.harm_rate)} %)."
    )


# --------------------------------------------------------------------------------------------------------------------
# Examples


def _example(example: Example) -> str:
    sample, record = example.sample, example.record
    before, after = example.verdicts
    options = "".join(f"<li>{escape(option.label)}: {escape(option.text)}</li>" for option in sample.options)
    return (
        '<div class="card example"><div>'
        f"{''.join(map(_picture, sample.images))}"
        f'<p class="question">{escape(sample.question)}</p><ul class="options">{options}</ul>'
        f'<p class="soft small">Right answer: {escape(_gold(sample))}<br>{escape(sample.id)}</p></div>'
        '<div class="sides"><div><h3>The policy, judged by the critic</h3>'
        f"{_judged(record, example.parent)}{_tag(before)}</div>"
        f"<div><h3>Refined</h3>{_continued(record, example.place)}{_tag(after)}</div></div></div>"
    )


def _picture(path: str) -> str:
    kind = mimetypes.guess_type(path)[0] or "image/png"
    return f'<img alt="the chart" src="data:{kind};base64,{base64.b64encode(Path(path).read_bytes()).decode()}">'


def _gold(sample: Sample) -> str:
    if isinstance(sample.gold, ChoiceGold):
        return ", ".join(sample.gold.labels)
    return sample.gold.value if isinstance(sample.gold, NumberGold) else ""


def _judged(record: PoolRecord, place: int) -> str:
    """The steps of a solution with the critic's verdicts, and its correction behind the first wrong one."""
    judged = record.pool[place]
    critique = judged.critique if isinstance(judged.critique, Critique) else None
    verdicts = critique.steps if critique is not None else ()
    shown: list[str] = []
    for number, step in enumerate(judged.solution.steps):
        verdict = verdicts[number] if number < len(verdicts) else None
        shown.append(_step(step, verdict))
        if critique is not None and number == critique.first_error and critique.correction is not None:
            shown.append(_box("fix", critique.correction, "the critic's correction"))
    return "".join(shown)


def _step(text: str, verdict: StepVerdict | None) -> str:
    if verdict is None:
        return _box("", text, "")
    said = f"{'correct' if verdict.correct else 'incorrect'}, {verdict.score:.2f}"
    return _box(
        "right" if verdict.correct else "wrong", text, f"{said}\n{verdict.comment}" if verdict.comment else said
    )


def _continued(record: PoolRecord, place: int) -> str:
    """What the policy was given, and what it wrote from there."""
    solution = record.pool[place].solution
    kept = solution.origin.kept if isinstance(solution.origin, Refined) else 0
    return "".join(
        _box("fix", step, "given: the correction")
        if number == kept - 1
        else _box("given", step, "given")
        if number < kept
        else _box("", step, "")
        for number, step in enumerate(solution.steps)
    )


def _box(kind: str, text: str, says: str) -> str:
    below = f'<span class="says">{escape(says)}</span>' if says else ""
    return f'<div class="step {kind}">{escape(text.strip())}{below}</div>'


def _tag(right: bool) -> str:
    return '<span class="tag right">right</span>' if right else '<span class="tag wrong">wrong</span>'
