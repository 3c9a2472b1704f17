"""What a critic's verdicts are worth, measured by the final answers, and what refinement did to them."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from assay.solve.digest import Digest, Entry

__all__ = ["CriticQuality", "Refinement", "critic_quality", "refinement"]


class CriticQuality(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Over the plain solutions that were given to the critic. A critic judges steps, not answers: a right answer may
    stand on a wrong step, so even a perfect critic need not have a recall of 1.

    Attributes:
        asked: solutions; `judged` of them have a critique, `unjudged` says why the others have none.
        clean: judged all-correct; `clean_share` is their share of the judged.
        clean_right, clean_wrong, flagged_right, flagged_wrong: judged solutions whose answer has a verdict.
        precision: clean_right / all clean ones; recall: clean_right / all right ones.
        first_error: number of the first step judged wrong, from 1 -> solutions.
    """

    asked: int
    judged: int
    unjudged: dict[str, int]
    clean: int
    clean_share: float | None
    clean_right: int
    clean_wrong: int
    flagged_right: int
    flagged_wrong: int
    precision: float | None
    recall: float | None
    first_error: dict[int, int]


class Refinement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of solutions that were refined, and how much of the result stands on corrections.

    Attributes:
        refined: solutions that stand on a critic's correction; `resampled` were drawn again instead, `restarted` were
            to go on from a correction and began anew.
        harmed: of the `right_before`, those whose refined solution is wrong; likewise `helped`. Only pairs in which
            both have a verdict count.
        harm_rate, help_rate: harmed / right_before, helped / wrong_before.
        selected: samples for which Refined-BoN chose; `selected_refined` of them a refined solution, of which
            `selected_refined_wrong` is wrong.
    """

    refined: int
    resampled: int
    restarted: int
    right_before: int
    harmed: int
    harm_rate: float | None
    wrong_before: int
    helped: int
    help_rate: float | None
    selected: int
    selected_refined: int
    selected_refined_share: float | None
    selected_refined_wrong: int


def critic_quality(digests: Iterable[Digest]) -> CriticQuality | None:
    """None where no critic was asked."""
    plain = [one.entries[place] for one in digests for place in one.members.get("plain", ())]
    asked = [entry for entry in plain if entry.clean is not None or entry.unjudged is not None]
    if not asked:
        return None
    judged = [entry for entry in asked if entry.clean is not None]
    table = Counter((entry.clean, entry.robust) for entry in judged)
    clean = sum(entry.clean is True for entry in judged)
    right, wrong = table[True, True], table[True, False]
    errors = Counter(entry.first_error + 1 for entry in judged if entry.first_error is not None)
    return CriticQuality(
        asked=len(asked),
        judged=len(judged),
        unjudged=dict(sorted(Counter(entry.unjudged for entry in asked if entry.unjudged).items())),
        clean=clean,
        clean_share=_share(clean, len(judged)),
        clean_right=right,
        clean_wrong=wrong,
        flagged_right=table[False, True],
        flagged_wrong=table[False, False],
        precision=_share(right, right + wrong),
        recall=_share(right, right + table[False, True]),
        first_error=dict(sorted(errors.items())),
    )


def refinement(digests: Iterable[Digest]) -> Refinement | None:
    """None where nothing was to be refined."""
    refined = resampled = restarted = selected = on_correction = wrong = 0
    pairs = Counter[tuple[bool | None, bool | None]]()
    for one in digests:
        second = [entry for place in one.members.get("refined", ()) if (entry := one.entries[place]).parent is not None]
        refined += sum(entry.refined for entry in second)
        restarted += sum(entry.restarted for entry in second)
        resampled += sum(not entry.refined and not entry.restarted for entry in second)
        pairs.update((_parent(one, entry).robust, entry.robust) for entry in second if entry.refined)
        if "refined-bon" in one.chosen:
            chosen = one.entries[one.chosen["refined-bon"][0]]
            selected += 1
            on_correction += chosen.refined
            wrong += chosen.refined and chosen.robust is False
    if not selected:
        return None
    right_before = pairs[True, True] + pairs[True, False]
    wrong_before = pairs[False, True] + pairs[False, False]
    return Refinement(
        refined=refined,
        resampled=resampled,
        restarted=restarted,
        right_before=right_before,
        harmed=pairs[True, False],
        harm_rate=_share(pairs[True, False], right_before),
        wrong_before=wrong_before,
        helped=pairs[False, True],
        help_rate=_share(pairs[False, True], wrong_before),
        selected=selected,
        selected_refined=on_correction,
        selected_refined_share=_share(on_correction, selected),
        selected_refined_wrong=wrong,
    )


def _parent(one: Digest, entry: Entry) -> Entry:
    if entry.parent is None:
        raise ValueError("a solution of the first half has no parent")
    return one.entries[entry.parent]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
