"""The controls of a search, printed: every strategy over the same pools, its cost, what critic and refinement did."""

from typing import TYPE_CHECKING

from assay.mark.stability import Difference
from assay.report.tables import Column, heading, interval, line, make_console, p_value, percent, table
from assay.solve.abstain import Abstention, Dropping, OptionPoint, Point
from assay.solve.controls import Controls, Row
from assay.solve.critic_quality import CriticQuality, Refinement
from assay.solve.parts import Way

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_abstention", "print_controls", "way_words"]


def way_words(way: Way, n: int) -> str:
    """A strategy as it is called in tables."""
    names: dict[Way, str] = {
        "greedy": "greedy",
        "self-consistency": f"self-consistency@{n}",
        "best-of-n": f"best-of-{n}",
        "weighted-vote": f"weighted vote@{n}",
        "refined-bon": f"Refined-BoN@{n}",
        "pass": f"ceiling: pass@{n}",
        "pass-refined": f"ceiling: refined pass@{n}",
    }
    return names[way]


def print_controls(found: Controls, *, console: "Console | None" = None) -> None:
    """All that the pools of a run say; percent, robust verdicts unless said otherwise."""
    console = console or make_console()
    if found.strategies:
        _print_accuracies(console, found)
        _print_costs(console, found)
    _print_equal_tokens(console, found)
    _print_curves(console, found)
    if found.refinement is not None:
        _print_refinement(console, found.refinement)
    if found.critic is not None:
        _print_critic(console, found.critic)
    for note in found.notes:
        line(console, note)


def _print_accuracies(console: "Console", found: Controls) -> None:
    heading(console, f"Search: every strategy over the same {found.pools:,} pools (scores: {found.rule} of the steps')")
    titles = ("n", "reference %", "robust %", "95 % (robust)", "minus greedy", "95 %", "p")
    more = ("minus self-cons.", "95 %", "p")
    rows = [
        [
            way_words(way, row.n),
            f"{row.robust.n:,}",
            percent(row.reference.accuracy),
            percent(row.robust.accuracy),
            interval(row.robust.low, row.robust.high),
            *_difference(row.against_greedy),
            *_difference(row.against_self_consistency),
        ]
        for way, row in found.strategies.items()
    ]
    columns = [Column(title="strategy", number=False), *(Column(title=title) for title in titles + more)]
    table(console, columns, rows)
    line(console, "Differences are paired, in points, over samples with a verdict under both; intervals over groups.")


def _difference(found: Difference | None) -> list[str]:
    if found is None or found.difference is None:
        return ["-", "-", "-"]
    return [_signed(found.difference), interval(found.low, found.high), p_value(found.p)]


def _signed(fraction: float) -> str:
    return f"{100 * fraction:+.2f}"


def _print_costs(console: "Console", found: Controls) -> None:
    heading(console, "What each strategy alone takes, per sample; money for all")
    titles = ("calls", "tokens", "critic calls", "critic tokens", "all tokens", "money")
    rows = [
        [way_words(way, row.n), *_costs(row, found.pools)]
        for way, row in found.strategies.items()
        if not way.startswith("pass")
    ]
    table(console, [Column(title="strategy", number=False), *(Column(title=title) for title in titles)], rows)


def _costs(row: Row, pools: int) -> list[str]:
    policy = row.policy.prompt_tokens + row.policy.completion_tokens
    critic = row.critic.prompt_tokens + row.critic.completion_tokens
    return [
        f"{row.policy_calls / pools:,.1f}",
        f"{policy / pools:,.0f}",
        f"{row.critic_calls / pools:,.1f}",
        f"{critic / pools:,.0f}",
        f"{(policy + critic) / pools:,.0f}",
        row.cost or "-",
    ]


def _print_equal_tokens(console: "Console", found: Controls) -> None:
    if not found.equal_tokens:
        return
    heading(console, "Refined-BoN at equal tokens, policy's and critic's together")
    titles = ("its tokens buy", "compared at", "accuracy %", "Refined-BoN minus that", "95 %")
    rows = [
        [
            way.replace("-", " "),
            f"{one.fits:,}",
            f"{one.n:,}{'*' if one.fits > one.n else ' '}",
            percent(one.accuracy),
            *_difference(one.difference)[:2],
        ]
        for way, one in found.equal_tokens.items()
    ]
    table(console, [Column(title="instead", number=False), *(Column(title=title) for title in titles)], rows)
    if any(one.fits > one.n for one in found.equal_tokens.values()):
        line(console, "* All plain solutions that the pools have; the tokens would pay for more.")


def _print_curves(console: "Console", found: Controls) -> None:
    if not found.curves:
        return
    ks = sorted({k for curve in found.curves.values() for k in curve.accuracy})
    heading(console, "Expected accuracy with k solutions, over all parts of that size, %")
    rows = [
        [way.replace("-", " "), *(percent(curve.accuracy.get(k)) for k in ks)] for way, curve in found.curves.items()
    ]
    table(console, [Column(title="k", number=False), *(Column(title=str(k)) for k in ks)], rows)


def _print_refinement(console: "Console", found: Refinement) -> None:
    heading(
        console,
        f"Refinement: {found.refined:,} solutions refined, {found.resampled:,} drawn again, "
        f"{found.restarted:,} began anew",
    )
    line(
        console,
        f"Right made wrong: {found.harmed:,} of {found.right_before:,} ({percent(found.harm_rate)} %). "
        f"Wrong made right: {found.helped:,} of {found.wrong_before:,} ({percent(found.help_rate)} %).",
    )
    line(
        console,
        f"Selected answers that stand on a correction: {found.selected_refined:,} of {found.selected:,} "
        f"({percent(found.selected_refined_share)} %), {found.selected_refined_wrong:,} of them wrong.",
    )


def _print_critic(console: "Console", found: CriticQuality) -> None:
    heading(console, f"The critic, over {found.asked:,} plain solutions")
    unjudged = ", ".join(f"{kind} {count:,}" for kind, count in found.unjudged.items()) or "none"
    line(
        console,
        f"Judged all-correct: {found.clean:,} of {found.judged:,} ({percent(found.clean_share)} %). "
        f"Without a critique: {unjudged}.",
    )
    line(
        console,
        f"All-correct against a right answer: precision {percent(found.precision)} %, recall {percent(found.recall)} % "
        f"({found.clean_right:,} right and {found.clean_wrong:,} wrong among all-correct, "
        f"{found.flagged_right:,} and {found.flagged_wrong:,} among the others).",
    )
    if found.first_error:
        where = ", ".join(f"step {step}: {count:,}" for step, count in found.first_error.items())
        line(console, f"First step judged wrong: {where}.")


def print_abstention(found: Abstention, *, console: "Console | None" = None) -> None:
    """Accuracy against coverage; percent, robust verdicts but for the FinScore."""
    console = console or make_console()
    heading(console, f"Not answering where the score is low, over {found.samples:,} samples with a verdict")
    own = any(point.score is not None for point in found.curve)
    titles = ("answered", "coverage %", "accuracy %", *(_OWN if own else ()))
    rows = [[f"asked: {found.below.threshold:g}", *_shown(found.below, own=own)]]
    rows += [[f"{point.threshold:.4g}", *_shown(point, own=own)] for point in found.curve]
    table(console, [Column(title="score at least", number=False), *(Column(title=title) for title in titles)], rows)
    line(
        console,
        f"Area under the risk-coverage curve {_number(found.area)}, overall risk {_number(found.overall_risk)}. "
        f"Without a score, and never answered: {found.unjudged:,}.",
    )
    if found.dropping is not None:
        _print_dropping(console, found.dropping)


_OWN = ("FinScore (reference)", "FinScore (robust)")


def _print_dropping(console: "Console", found: Dropping) -> None:
    heading(console, f"Leaving out single options, in {found.judged:,} answers whose options were judged")
    points = (found.below, *found.curve)
    own = any(side.score_reference is not None for point in points for side in (point.options, point.whole))
    sides = ("cover %", "acc %", *(["FinScore"] if own else []))
    titles = (*sides, f"whole: {sides[0]}", *sides[1:], "out", "none", "mended", "broken")
    names = [f"asked: {found.below.options.threshold:g}", *(f"{point.options.threshold:.4g}" for point in found.curve)]
    rows = [[name, *_dropped(point, own=own)] for name, point in zip(names, points, strict=True)]
    table(console, [Column(title="least score", number=False), *(Column(title=title) for title in titles)], rows)
    unjudged = ", ".join(f"{kind} {count:,}" for kind, count in found.unjudged.items()) or "none"
    line(
        console,
        "whole: leaving out whole answers only, as above. out: options left out; none: answers that keep no option; "
        "mended, broken: answers made right, made wrong. "
        f"{'FinScore by reference verdicts. ' if own else ''}"
        f"Option critiques that say nothing, so that no option is left out: {unjudged}.",
    )


def _dropped(point: OptionPoint, *, own: bool) -> list[str]:
    shown: list[str] = []
    for side in (point.options, point.whole):
        shown += [percent(side.coverage), percent(side.accuracy), *([percent(side.score_reference)] if own else [])]
    counts = (point.dropped, point.emptied, point.mended, point.broken)
    return [*shown, *(f"{number:,}" for number in counts)]


def _shown(point: Point, *, own: bool) -> list[str]:
    shown = [f"{point.answered:,}", percent(point.coverage), percent(point.accuracy)]
    return [*shown, percent(point.score_reference), percent(point.score)] if own else shown


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
