"""The controls of a search: what the same pool gives under every strategy, at equal N and at equal tokens.

A refined best-of-N that beats a greedy answer may owe it to the votes of N samples, to the critic's choice among them,
or to the refinement. So one pool is selected from in every way, and each way is billed for what it takes alone. All
that follows is computed from the pools: no model is asked.

Accuracies are of robust verdicts, the reference's beside them. Differences are paired, over samples that have a verdict
under both strategies, and their intervals are drawn over groups (`mark.compare`). Where a number is about a part of a
pool (k < N, a token bill), it is the expectation over all parts of that size (`solve.estimators`), in which a solution
that nobody can mark counts as not right.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct

from assay.engine.budget import Price
from assay.mark.compare import Credits, compare_credits
from assay.mark.stability import Difference
from assay.mark.status import Mode, OnMissing
from assay.mark.tally import Score
from assay.solve.critic_quality import CriticQuality, Refinement, critic_quality, refinement
from assay.solve.digest import Bill, Digest, Entry, digest
from assay.solve.paired import paired
from assay.solve.parts import WAY_MEMBERS, Way, estimate, possible
from assay.solve.pool import PoolRecord, Strategy
from assay.solve.records import Rule
from assay.types import Failure, Mark, Marked, Outcome, Usage, Verdict

__all__ = ["Controls", "Curve", "EqualTokens", "Row", "controls"]

_CRITIC_IS_ASKED: tuple[Way, ...] = ("best-of-n", "weighted-vote", "refined-bon")


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One strategy over all samples.

    Attributes:
        n: solutions of a sample that it chooses from; the largest number where samples differ.
        policy, critic: tokens over all samples, as this strategy alone would have used them.
        policy_calls, critic_calls: likewise.
        cost: money for both, a decimal string; None where a price is not known.
        against_greedy, against_self_consistency: its accuracy less theirs.
    """

    n: int
    robust: Score
    reference: Score
    policy: Usage
    critic: Usage
    policy_calls: int
    critic_calls: int
    cost: str | None = None
    against_greedy: Difference | None = None
    against_self_consistency: Difference | None = None


class EqualTokens(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Refined-BoN beside a plain strategy that may use as many tokens, policy's and critic's together.

    Attributes:
        fits: plain solutions of a sample that the token bill of Refined-BoN pays for.
        n: solutions that the comparison is about: `fits`, or all plain ones where the pool has fewer.
        accuracy: of the plain strategy with n solutions.
        difference: Refined-BoN less that.
    """

    fits: int
    n: int
    accuracy: float | None
    difference: Difference | None


class Curve(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Expected accuracy with k of the pool's solutions: k -> accuracy, over `samples` of them."""

    samples: int
    accuracy: dict[int, float]


class Controls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run's pools say.

    Attributes:
        rule: how step scores become a solution's score.
        samples: of the run; `pools` of them have a pool, the others failed and have no verdict under any strategy.
        tokens_known: whether every solution and critique came with its tokens.
    """

    rule: Rule
    on_missing: OnMissing
    samples: int
    pools: int
    strategies: dict[Way, Row]
    equal_tokens: dict[Way, EqualTokens]
    curves: dict[Way, Curve]
    refinement: Refinement | None
    critic: CriticQuality | None
    tokens_known: bool
    notes: tuple[str, ...] = ()


def controls(
    outcomes: Iterable[Outcome],
    pools: Iterable[PoolRecord],
    *,
    rule: Rule,
    on_missing: OnMissing,
    ks: Sequence[int] = (),
    prices: tuple[Price | None, Price | None] = (None, None),
    resamples: int = 2000,
    seed: int = 0,
) -> Controls:
    """Every control that the pools allow; `notes` says which are missing, and why.

    Args:
        outcomes: the run's; of a sample without a pool they say that it failed.
        ks: numbers of solutions for the curves; those above a pool's own are left out.
        prices: of policy and critic.
    """
    digests, tokens_known = _digests(pools, rule)
    failures = [outcome for outcome in outcomes if outcome.id not in digests]
    table = _Table(digests, failures, on_missing=on_missing, prices=prices, resamples=resamples, seed=seed)
    return Controls(
        rule=rule,
        on_missing=on_missing,
        samples=len(digests) + len(failures),
        pools=len(digests),
        strategies=table.rows(),
        equal_tokens=table.equal_tokens() if tokens_known else {},
        curves=table.curves(ks),
        refinement=refinement(digests.values()),
        critic=critic_quality(digests.values()),
        tokens_known=tokens_known,
        notes=tuple(_notes(table, tokens_known)),
    )


def _digests(pools: Iterable[PoolRecord], rule: Rule) -> tuple[dict[str, Digest], bool]:
    digests: dict[str, Digest] = {}
    known = True
    for record in pools:
        if record.pool:
            digests[record.id] = digest(record, rule)
        for one in record.pool:
            silent = one.critique is not None and one.critique.calls and one.critique.usage is None
            known = known and one.solution.usage is not None and not silent
    return digests, known


class _Table:
    """The strategies over the digests of one run."""

    def __init__(
        self,
        digests: dict[str, Digest],
        failures: Sequence[Outcome],
        *,
        on_missing: OnMissing,
        prices: tuple[Price | None, Price | None],
        resamples: int,
        seed: int,
    ) -> None:
        self.digests = digests
        self.failures = failures
        self.on_missing: OnMissing = on_missing
        self.prices = prices
        self.resamples = resamples
        self.seed = seed
        self.ways: list[Way] = [way for way in WAY_MEMBERS if any(self._has(one, way) for one in digests.values())]

    @staticmethod
    def _has(one: Digest, way: Way) -> bool:
        if way in ("pass", "pass-refined"):
            return bool(one.members.get(WAY_MEMBERS[way]))
        return way in one.chosen

    def size(self, way: Way) -> int:
        return max((len(one.members.get(WAY_MEMBERS[way], ())) for one in self.digests.values()), default=0)

    # ---- rows

    def rows(self) -> dict[Way, Row]:
        robust: dict[Way, Credits] = {way: Credits(way, self._outcomes(way), "robust") for way in self.ways}
        return {way: self._row(way, robust) for way in self.ways}

    def _row(self, way: Way, robust: dict[Way, Credits]) -> Row:
        policy, critic = self.bill(way)
        return Row(
            n=self.size(way),
            robust=self._score(robust[way], "robust"),
            reference=self._score(robust[way], "reference"),
            policy=policy.usage,
            critic=critic.usage,
            policy_calls=policy.calls,
            critic_calls=critic.calls,
            cost=self._cost(policy, critic),
            against_greedy=self._against("greedy", way, robust),
            against_self_consistency=self._against("self-consistency", way, robust),
        )

    def _outcomes(self, way: Way) -> Iterable[Outcome]:
        """One outcome a sample, as if the run had searched so; a ceiling stands on any right solution."""
        yield from self.failures
        for one in self.digests.values():
            positions = one.members.get(WAY_MEMBERS[way], ())
            if not self._has(one, way):
                missing = Failure(stage="call", kind="no_solution", message=f"the pool has no solution for {way}")
                yield _outcome(one, missing)
            elif way in ("pass", "pass-refined"):
                yield _outcome(one, _ceiling([one.entries[place] for place in positions]))
            else:
                yield one.chosen[way][1]

    def _score(self, verdicts: Credits, mode: Mode) -> Score:
        return verdicts.tally.score(mode, self.on_missing, resamples=self.resamples, seed=self.seed)

    def _against(self, other: Way, way: Way, robust: dict[Way, Credits]) -> Difference | None:
        if way == other or other not in robust:
            return None
        found = compare_credits(
            robust[other], robust[way], on_missing=self.on_missing, resamples=self.resamples, seed=self.seed
        )
        return Difference.of(found)

    def _cost(self, policy: Bill, critic: Bill) -> str | None:
        money = Decimal(0)
        for bill, price in zip((policy, critic), self.prices, strict=True):
            if not bill.calls:
                continue
            if price is None:
                return None
            money += price.of(bill.usage)
        return str(money)

    # ---- bills

    def bill(self, way: Way) -> tuple[Bill, Bill]:
        """What the strategy takes of policy and critic, over all samples; a ceiling takes no critic."""
        policy = critic = Bill()
        for one in self.digests.values():
            for place in one.members.get(WAY_MEMBERS[way], ()):
                policy += one.entries[place].policy
                if way in _CRITIC_IS_ASKED:
                    critic += one.entries[place].critic
        return policy, critic

    def _fits(self, way: Way, tokens: int) -> int:
        """How many plain solutions a sample could have for so many tokens over all samples.

        n solutions cost a + b n: a is the prompts of draws that shared one call, which n does not change.
        """
        shared = single = drawn = 0
        for one in self.digests.values():
            plain = [one.entries[place] for place in one.members.get("plain", ())]
            drawn += len(plain)
            prompts = [entry.policy.prompt for entry in plain if entry.policy.prompt]
            if len(prompts) == 1 < len(plain):
                shared += prompts[0]
            else:
                single += sum(prompts)
            single += sum(entry.policy.completion for entry in plain)
            single += sum(entry.critic.tokens for entry in plain) if way in _CRITIC_IS_ASKED else 0
        samples = sum(1 for one in self.digests.values() if one.members.get("plain"))
        return max(0, math.floor((tokens - shared) * drawn / (single * samples))) if single else 0

    def equal_tokens(self) -> dict[Way, EqualTokens]:
        """Refined-BoN beside what its tokens would buy of each plain strategy."""
        if "refined-bon" not in self.ways:
            return {}
        tokens = sum(bill.tokens for bill in self.bill("refined-bon"))
        ways: tuple[Way, ...] = ("self-consistency", "best-of-n", "weighted-vote")
        return {way: self._equal(way, self._fits(way, tokens)) for way in ways if way in self.ways}

    def _equal(self, way: Way, fits: int) -> EqualTokens:
        n = min(fits, min((len(one.members.get("plain", ())) for one in self.digests.values()), default=0))
        if n == 0:
            return EqualTokens(fits=fits, n=0, accuracy=None, difference=None)
        refined = {one.id: _robust(one, "refined-bon") for one in self.digests.values()}
        plain = {one.id: estimate(one, way, n) for one in self.digests.values()}
        groups = {one.id: one.group for one in self.digests.values()}
        if self.on_missing == "wrong":
            for outcome in self.failures:
                refined[outcome.id] = plain[outcome.id] = 0.0
                groups[outcome.id] = outcome.group
        known = {name: right for name, right in refined.items() if right is not None}
        return EqualTokens(
            fits=fits,
            n=n,
            accuracy=math.fsum(plain[name] for name in known) / len(known) if known else None,
            difference=paired(
                [(plain[name], right, groups[name]) for name, right in known.items()],
                resamples=self.resamples,
                seed=self.seed,
            ),
        )

    # ---- curves

    def curves(self, ks: Sequence[int]) -> dict[Way, Curve]:
        """Expected accuracies with k solutions; none where nothing was asked for."""
        found: dict[Way, Curve] = (
            {way: self._curve(way, sorted(set(ks))) for way in self.ways if way != "greedy"} if ks else {}
        )
        return {way: curve for way, curve in found.items() if curve.accuracy}

    def _curve(self, way: Way, ks: Sequence[int]) -> Curve:
        digests = list(self.digests.values())
        counted = len(digests) + (len(self.failures) if self.on_missing == "wrong" else 0)
        accuracy = {
            k: math.fsum(estimate(one, way, k) for one in digests) / counted
            for k in ks
            if all(possible(one, way, k) for one in digests)
        }
        return Curve(samples=counted, accuracy=accuracy)


def _robust(one: Digest, way: Strategy) -> float | None:
    """Whether the strategy's choice is right; None where it is missing."""
    if way not in one.chosen:
        return None
    right = one.entries[one.chosen[way][0]].robust
    return None if right is None else float(right)


def _outcome(one: Digest, result: Marked | Failure) -> Outcome:
    return Outcome(sample_id=one.sample_id, group=one.group, condition=one.condition, result=result)


def _ceiling(entries: Sequence[Entry]) -> Marked:
    """Right, in either verdict, where any of these solutions is."""
    return Marked(
        reference=Mark(verdict=_any([entry.reference for entry in entries])),
        robust=Mark(verdict=_any([entry.robust for entry in entries])),
    )


def _any(rights: Sequence[bool | None]) -> Verdict:
    if any(rights):
        return "right"
    return "unmarkable" if None in rights else "wrong"


def _notes(table: _Table, tokens_known: bool) -> list[str]:
    notes: list[str] = []
    sizes: dict[Way, int] = {way: table.size(way) for way in table.ways}
    missing = [way for way in WAY_MEMBERS if way not in table.ways]
    if missing:
        notes.append(f"The pools have no solutions for: {', '.join(missing)}.")
    plain, refined = sizes.get("self-consistency", 0), sizes.get("refined-bon", 0)
    if plain and refined and plain != refined:
        notes.append(
            f"Refined-BoN chooses from {refined} solutions, the plain strategies from {plain}: not at equal N. "
            "Run with --controls for all of them."
        )
    failed = [one.failed_calls for one in table.digests.values() if one.failed_calls]
    if failed:
        notes.append(
            f"{sum(failed):,} calls failed in {len(failed):,} pools: a solution or a critique is missing for each. "
            "Those pools stay as they are; a new run asks for all of it."
        )
    if not tokens_known:
        notes.append(
            "Not every reply came with its tokens: bills are too low, and nothing is compared at equal tokens."
        )
    return notes
