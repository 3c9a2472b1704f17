"""Where the options of a choice question stand, and whether a model minds: for runs with options in several orders.

Every order puts each option in each place with the same chance (see `benchmarks.shuffle`). A model that answers by
content alone therefore chooses each of a question's m places with the chance 1 / m, whatever it knows. With the
indicator y of the chosen place, one draw's surplus is y - 1 / m in each of the m places, and with d_g its sum over the
draws of a group,

    statistic = D' V^-1 D,   D = sum of d_g,   V = sum of d_g d_g'

is close to chi-square with rank(V) degrees of freedom where groups are many. Draws of one question may hang together
as they like.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from assay.mark.intervals import MIN_GROUPS
from assay.mark.significance import chi_square_p
from assay.mark.status import OnMissing, group_number
from assay.mark.tally import Score, Tally, verdict_code
from assay.types import Failure, Outcome

__all__ = ["Place", "Positions", "positions"]


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One place among the options, 1 for the first.

    Attributes:
        gold: accuracy (robust) over the draws that have the right option here.
        answers: draws that were answered with the option here.
        expected: how many there would be if answers didn't depend on places.
    """

    place: int
    gold: Score
    answers: int
    expected: float


class Positions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Accuracy and answers by place, over draws with options in another order than the data's.

    Only questions with one right option. `answered`: draws with one readable answer. `p`: of no dependence on places;
    None for fewer than ten groups. `freedom`: degrees of freedom of `statistic`.
    """

    draws: int
    answered: int
    groups: int
    places: tuple[Place, ...]
    statistic: float | None
    freedom: int
    p: float | None


def positions(
    outcomes: Iterable[Outcome], *, on_missing: OnMissing, resamples: int = 2000, seed: int = 0
) -> Positions | None:
    """What the draws with other orders of the options say; None where there are none. Others are passed over."""
    gathered = _Gathered()
    for outcome in outcomes:
        gathered.add(outcome)
    if not gathered.draws:
        return None
    statistic, freedom = gathered.statistic()
    places = tuple(
        Place(
            place=place,
            gold=tally.score("robust", on_missing, resamples=resamples, seed=seed),
            answers=gathered.all.chosen[place],
            expected=gathered.all.expected(place),
        )
        for place, tally in sorted(gathered.gold.items())
    )
    few = len(gathered.groups) < MIN_GROUPS
    return Positions(
        draws=gathered.draws,
        answered=gathered.all.chosen.total(),
        groups=len(gathered.groups),
        places=places,
        statistic=None if few else statistic,
        freedom=freedom,
        p=None if few else chi_square_p(statistic, freedom) if freedom else 1.0,
    )


class _Group:
    """The answered draws of one group, in whole numbers: their order can't change a sum."""

    def __init__(self) -> None:
        self.chosen: Counter[int] = Counter()  # place -> answers
        self.asked: Counter[int] = Counter()  # number of options -> draws

    def expected(self, place: int) -> float:
        return sum(draws / options for options, draws in sorted(self.asked.items()) if options >= place)


class _Gathered:
    def __init__(self) -> None:
        self.draws = 0
        self.gold: dict[int, Tally] = {}
        self.groups: dict[int, _Group] = {}
        self.all = _Group()

    def add(self, outcome: Outcome) -> None:
        shown = tuple(outcome.detail["shown"].split(",")) if "shown" in outcome.detail else ()
        gold = outcome.detail.get("gold", "")
        if gold not in shown:  # several right options, or not shuffled
            return
        self.draws += 1
        group = group_number(outcome.group)
        for place in range(1, len(shown) + 1):
            self.gold.setdefault(place, Tally())
        self.gold[shown.index(gold) + 1].add(verdict_code(outcome), group)
        answer = None if isinstance(outcome.result, Failure) else outcome.result.robust.extraction
        if answer in shown:
            for counts in (self.all, self.groups.setdefault(group, _Group())):
                counts.chosen[shown.index(answer) + 1] += 1
                counts.asked[len(shown)] += 1

    def statistic(self) -> tuple[float, int]:
        """The statistic and its degrees of freedom."""
        import numpy as np

        if not self.groups:
            return 0.0, 0
        places = sorted(self.gold)
        table = np.array(
            [
                [group.chosen[place] - group.expected(place) for place in places]
                for _, group in sorted(self.groups.items())
            ]
        )
        spread, directions = np.linalg.eigh(table.T @ table)
        # Surpluses of one draw sum to 0, so V has no inverse; what is left there after rounding is no dimension.
        real = spread > 1e-9 * len(table)
        along = directions.T @ table.sum(axis=0)
        return float((along[real] ** 2 / spread[real]).sum()), int(real.sum())
