"""What other conditions than the plain one say, printed: conditions, repeats, wordings, orders, pictures."""

from typing import TYPE_CHECKING

from assay.mark.positions import Positions
from assay.mark.stability import Difference, Repeats, Spread, Stability
from assay.report.tables import Column, heading, interval, line, make_console, p_value, percent, table

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_stability"]

_PICTURES = {"none": "no picture", "other": "another sample's picture"}


def print_stability(stability: Stability, *, console: "Console | None" = None) -> None:
    """All that a run says about its conditions; percent, robust verdicts unless said otherwise."""
    console = console or make_console()
    _print_conditions(console, stability)
    if stability.repeats is not None:
        _print_repeats(console, stability.repeats)
    if stability.prompts is not None:
        _print_spread(console, "Wordings of the prompt", stability.prompts)
    if stability.shuffles is not None:
        _print_spread(console, "Orders of the options", stability.shuffles)
    if stability.positions is not None:
        _print_positions(console, stability.positions)
    if stability.pictures:
        _print_pictures(console, stability.pictures)


def _print_conditions(console: "Console", stability: Stability) -> None:
    heading(console, f"Conditions: {len(stability.conditions)}, over {stability.samples:,} samples")
    titles = ("asked", "n", "reference %", "robust %", "95 % (robust)", "minus plain", "95 %", "p")
    rows: list[list[str]] = []
    for name, score in stability.conditions.items():
        against = score.against_plain
        rows.append(
            [
                name or "plain",
                f"{score.n:,}",
                f"{score.robust.n:,}",
                percent(score.reference.accuracy),
                percent(score.robust.accuracy),
                interval(score.robust.low, score.robust.high),
                *(["-", "-", "-"] if against is None else _difference(against)),
            ]
        )
    table(console, [Column(title="condition", number=False), *(Column(title=title) for title in titles)], rows)
    line(
        console,
        "n: samples that the robust accuracy counts. Differences are paired, over the samples that were asked under "
        "both conditions.",
    )
    usage = stability.usage
    line(
        console,
        f"All conditions together: {usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens.",
    )


def _difference(difference: Difference) -> list[str]:
    return [_signed(difference.difference), interval(difference.low, difference.high), p_value(difference.p)]


def _signed(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:+.2f}"


def _print_repeats(console: "Console", repeats: Repeats) -> None:
    _print_spread(console, "Repeats", repeats.spread)
    shown = ", ".join(f"pass@{k} {percent(share)}" for k, share in enumerate(repeats.pass_at, start=1))
    vote = repeats.majority
    line(console, f"{shown}. Majority vote {percent(vote.accuracy)} {interval(vote.low, vote.high)}.")


def _print_spread(console: "Console", title: str, spread: Spread) -> None:
    heading(console, f"{title}: {len(spread.conditions)}, over {spread.samples:,} samples with a verdict under each")
    titles = ("mean %", "95 % interval", "sd", "lowest", "highest", "flip rate %", "consistency %")
    row = [
        percent(spread.mean),
        interval(spread.low, spread.high),
        percent(spread.sd),
        percent(spread.minimum),
        percent(spread.maximum),
        percent(spread.flip_rate),
        percent(spread.consistency),
    ]
    table(console, [Column(title=title) for title in titles], [row])
    line(
        console,
        f"Right always {spread.always_right:,}, sometimes {spread.sometimes_right:,}, never {spread.never_right:,}."
        + (f" Left out: {spread.left_out:,} without a verdict under one of them." if spread.left_out else ""),
    )


def _print_positions(console: "Console", positions: Positions) -> None:
    heading(console, f"Places of the options, over {positions.draws:,} draws in another order")
    titles = ("gold here", "right %", "95 % interval", "answers", "expected", "share %", "expected %")
    answered = positions.answered or 1
    rows = [
        [
            str(place.place),
            f"{place.gold.n:,}",
            percent(place.gold.accuracy),
            interval(place.gold.low, place.gold.high),
            f"{place.answers:,}",
            f"{place.expected:,.1f}",
            percent(place.answers / answered),
            percent(place.expected / answered),
        ]
        for place in positions.places
    ]
    table(console, [Column(title="place", number=False), *(Column(title=title) for title in titles)], rows)
    if positions.p is None:
        line(console, f"No test: {positions.groups} groups are too few.")
    else:
        line(
            console,
            f"If answers don't depend on places: p = {p_value(positions.p)} (chi-square {positions.statistic:.2f}, "
            f"{positions.freedom} degrees of freedom, {positions.groups:,} groups).",
        )


def _print_pictures(console: "Console", pictures: dict[str, Difference]) -> None:
    heading(console, "What the score owes to the pictures")
    titles = ("pairs", "owed", "95 %", "p", "only with", "only without")
    rows = [
        [_PICTURES[name], f"{owed.pairs:,}", *_difference(owed), f"{owed.gained:,}", f"{owed.lost:,}"]
        for name, owed in pictures.items()
    ]
    table(console, [Column(title="instead of its own", number=False), *(Column(title=title) for title in titles)], rows)
    line(console, "Owed: accuracy with a sample's own pictures less that without, in points. Paired.")
