"""How much a score depends on what should not matter: the draw, the wording, the order of options; and on the picture.

A sample that was asked under k conditions has k verdicts. Over the samples that have all k,

    mean         right verdicts / (samples * k)
    sd           of the k accuracies (with k - 1)
    flip rate    samples right under some conditions and not under others / samples
    consistency  mean over samples of: conditions that give its most frequent answer / k
    pass@j       mean over samples of 1 - C(k - c, j) / C(k, j), c of its k draws being right: the chance that one of
                 j draws without repetition is right (Chen et al. 2021, https://arxiv.org/abs/2107.03374)
    majority     samples whose most frequent answer is right / samples; among equally frequent ones the first drawn
                 counts, and a draw without an answer has no vote

Verdicts and answers are the robust ones. Intervals are drawn over groups, a sample's k verdicts together.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from assay.mark.compare import Comparison, Credits, compare_credits
from assay.mark.intervals import Interval, accuracy_interval
from assay.mark.positions import Positions, positions
from assay.mark.status import OnMissing, credit, group_number
from assay.mark.tally import Score
from assay.types import PLAIN, Condition, Failure, Outcome, Usage

__all__ = ["ConditionScore", "Difference", "Repeats", "Spread", "Stability", "majority", "pass_at", "stability"]


def pass_at(draws: int, right: int, k: int) -> float:
    """The chance that at least one of `k` of the `draws` is right: 1 - C(draws - right, k) / C(draws, k).

    Raises:
        ValueError: for a k outside 1 .. draws, or more right draws than draws.
    """
    if not 1 <= k <= draws or not 0 <= right <= draws:
        raise ValueError(f"no pass@{k} from {right} right ones of {draws} draws")
    return 1 - math.comb(draws - right, k) / math.comb(draws, k)


def majority(answers: Sequence[str | None]) -> int | None:
    """The first draw with the most frequent answer; None where no draw has one."""
    votes = Counter(answer for answer in answers if answer is not None)
    if not votes:
        return None
    most = max(votes.values())
    return next(place for place, answer in enumerate(answers) if answer is not None and votes[answer] == most)


# --------------------------------------------------------------------------------------------------------------------
# Records


class Difference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paired difference of two accuracies over the samples that have both (see `mark.compare`)."""

    pairs: int
    difference: float | None
    low: float | None
    high: float | None
    method: str | None
    gained: int
    lost: int
    p: float | None
    p_method: str | None

    @classmethod
    def of(cls, found: Comparison) -> "Difference":
        """What a comparison says of its difference."""
        return cls(
            pairs=found.pairs,
            difference=found.difference,
            low=found.low,
            high=found.high,
            method=found.method,
            gained=found.gained.total,
            lost=found.lost.total,
            p=found.p,
            p_method=found.p_method,
        )


class ConditionScore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One condition: both accuracies over those of its `n` samples that count; its robust one less the plain one's."""

    n: int
    reference: Score
    robust: Score
    against_plain: Difference | None


class Spread(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that differ in one thing, over the `samples` that have a verdict under each of them.

    Attributes:
        conditions, accuracies: the conditions' names and accuracies; the plain one is the first.
        left_out: samples without a verdict under one of them; where missing ones count as wrong, only those that were
            not asked under each.
        mean, low, high, method: the mean accuracy with its 95 % interval.
        sd, minimum, maximum: of the accuracies.
        always_right, sometimes_right, never_right: numbers of samples.
    """

    conditions: tuple[str, ...]
    samples: int
    left_out: int
    accuracies: tuple[float | None, ...]
    mean: float | None
    low: float | None
    high: float | None
    method: str | None
    sd: float | None
    minimum: float | None
    maximum: float | None
    always_right: int
    sometimes_right: int
    never_right: int
    flip_rate: float | None
    consistency: float | None


class Repeats(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Draws of the same question: their spread, pass@1 to pass@k, and the majority's accuracy."""

    spread: Spread
    pass_at: tuple[float, ...]
    majority: Score


class Stability(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run under several conditions says beyond its score; parts that were not asked for are None.

    Attributes:
        samples: with an outcome under any condition.
        conditions: by name; the plain condition's is empty.
        repeats, prompts, shuffles: the draws, wordings and orders of options, the plain condition among each.
        positions: accuracy and answers by place of the option, over other orders.
        pictures: accuracy with a sample's own pictures less that with none, with others: what the score owes to them.
        usage, attempts: tokens and calls of all conditions together.
    """

    on_missing: OnMissing
    samples: int
    conditions: dict[str, ConditionScore]
    repeats: Repeats | None
    prompts: Spread | None
    shuffles: Spread | None
    positions: Positions | None
    pictures: dict[str, Difference]
    usage: Usage
    attempts: int
    resamples: int
    seed: int


# --------------------------------------------------------------------------------------------------------------------
# From outcomes


class _Verdict(NamedTuple):
    right: bool | None
    answer: str | None


class _Settings(NamedTuple):
    on_missing: OnMissing
    resamples: int
    seed: int


class _Gathering:
    """Every sample's verdicts by condition, and every condition's credits."""

    def __init__(self) -> None:
        self.verdicts: dict[str, dict[str, _Verdict]] = {}  # sample -> condition -> verdict
        self.groups: dict[str, int] = {}
        self.credits: dict[str, Credits] = {}
        self.prompt_tokens = self.completion_tokens = self.attempts = 0

    def add(self, outcome: Outcome) -> None:
        name, sample = outcome.condition, outcome.sample_id
        self.credits.setdefault(name, Credits(name or "plain", (), "robust")).add(sample, outcome)
        self.groups[sample] = group_number(outcome.group)
        self.verdicts.setdefault(sample, {})[name] = _Verdict(credit(outcome, "robust"), _answer(outcome))
        self.attempts += outcome.attempts
        if outcome.usage is not None:
            self.prompt_tokens += outcome.usage.prompt_tokens
            self.completion_tokens += outcome.usage.completion_tokens


def _answer(outcome: Outcome) -> str | None:
    """What the reply answers; None where it holds no answer, or there is no reply."""
    if isinstance(outcome.result, Failure) or outcome.result.robust.verdict == "unanswered":
        return None
    return outcome.result.robust.extraction


def stability(outcomes: Iterable[Outcome], *, on_missing: OnMissing, resamples: int = 2000, seed: int = 0) -> Stability:
    """What outcomes under several conditions say; `outcomes` is iterated twice.

    Raises:
        DataError: two outcomes of one sample under one condition.
        UsageError: a condition's name that can't be read.
    """
    gathering = _Gathering()
    for outcome in outcomes:
        gathering.add(outcome)
    settings = _Settings(on_missing, resamples, seed)
    conditions = sorted(map(Condition.named, gathering.credits), key=_order)
    repeats = _alike(conditions, "repeat")
    prompts = _alike(conditions, "prompt")
    shuffles = _alike(conditions, "shuffle")
    return Stability(
        on_missing=on_missing,
        samples=len(gathering.verdicts),
        conditions={
            condition.name: _condition_score(gathering.credits, condition.name, settings) for condition in conditions
        },
        repeats=_repeats(gathering, repeats, settings) if repeats else None,
        prompts=_Rows(gathering, prompts, settings).spread() if prompts else None,
        shuffles=_Rows(gathering, shuffles, settings).spread() if shuffles else None,
        positions=positions(outcomes, on_missing=on_missing, resamples=resamples, seed=seed),
        pictures=_pictures(gathering.credits, settings),
        usage=Usage(prompt_tokens=gathering.prompt_tokens, completion_tokens=gathering.completion_tokens),
        attempts=gathering.attempts,
        resamples=resamples,
        seed=seed,
    )


def _order(condition: Condition) -> tuple[int, int, str, int]:
    pictures = ("own", "none", "other")
    return pictures.index(condition.picture), condition.shuffle, condition.prompt, condition.repeat


def _alike(conditions: Sequence[Condition], field: str) -> tuple[str, ...]:
    """Names of the conditions that differ from the plain one in `field` alone, itself first; none without others."""
    alike = [condition for condition in conditions if condition == Condition(**{field: getattr(condition, field)})]
    return tuple(condition.name for condition in alike) if len(alike) > 1 else ()


def _condition_score(scored: Mapping[str, Credits], name: str, settings: _Settings) -> ConditionScore:
    tally = scored[name].tally
    plain = scored.get(PLAIN.name)
    return ConditionScore(
        n=len(tally),
        reference=tally.score("reference", settings.on_missing, resamples=settings.resamples, seed=settings.seed),
        robust=tally.score("robust", settings.on_missing, resamples=settings.resamples, seed=settings.seed),
        against_plain=None if name == PLAIN.name or plain is None else _difference(plain, scored[name], settings),
    )


def _pictures(scored: Mapping[str, Credits], settings: _Settings) -> dict[str, Difference]:
    ablations = (Condition(picture="none"), Condition(picture="other"))
    plain = scored.get(PLAIN.name)
    return {
        condition.picture: _difference(scored[condition.name], plain, settings)
        for condition in ablations
        if plain is not None and condition.name in scored
    }


def _difference(a: Credits, b: Credits, settings: _Settings) -> Difference:
    found = compare_credits(a, b, on_missing=settings.on_missing, resamples=settings.resamples, seed=settings.seed)
    return Difference.of(found)


class _Rows:
    """The samples that count under each of some conditions: their verdicts, in the order of the conditions."""

    def __init__(self, gathering: _Gathering, conditions: tuple[str, ...], settings: _Settings) -> None:
        self.conditions = conditions
        self.settings = settings
        self.rows: list[tuple[_Verdict, ...]] = []
        self.groups: list[int] = []
        self.left_out = 0
        others = set(conditions) - {PLAIN.name}
        for sample, verdicts in gathering.verdicts.items():
            if others.isdisjoint(verdicts):  # not meant to be asked so, e.g. options that can't change places
                continue
            row = tuple(verdicts[name] for name in conditions if name in verdicts)
            missing = settings.on_missing == "exclude" and any(verdict.right is None for verdict in row)
            if len(row) < len(conditions) or missing:
                self.left_out += 1
                continue
            self.rows.append(row)
            self.groups.append(gathering.groups[sample])

    def right(self) -> list[int]:
        """For each sample how many of its verdicts are right."""
        return [sum(verdict.right is True for verdict in row) for row in self.rows]

    def interval(self, right: Sequence[int], of: int) -> Interval | None:
        """Of sum(right) / (samples * of)."""
        import numpy as np

        _, index = np.unique(np.array(self.groups, dtype=np.uint64), return_inverse=True)
        groups = int(index.max()) + 1 if len(index) else 0
        return accuracy_interval(
            np.bincount(index, weights=right, minlength=groups).astype(np.int64),
            np.bincount(index, minlength=groups) * of,
            resamples=self.settings.resamples,
            seed=self.settings.seed,
        )

    def spread(self) -> Spread:
        k, samples, right = len(self.conditions), len(self.rows), self.right()
        accuracies = [
            sum(row[place].right is True for row in self.rows) / samples if samples else None for place in range(k)
        ]
        known = [accuracy for accuracy in accuracies if accuracy is not None]
        interval = self.interval(right, k)
        always, never = right.count(k), right.count(0)
        return Spread(
            conditions=self.conditions,
            samples=samples,
            left_out=self.left_out,
            accuracies=tuple(accuracies),
            mean=sum(right) / (samples * k) if samples else None,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            method=interval.method if interval else None,
            sd=statistics.stdev(known) if len(known) > 1 else None,
            minimum=min(known, default=None),
            maximum=max(known, default=None),
            always_right=always,
            sometimes_right=samples - always - never,
            never_right=never,
            flip_rate=(samples - always - never) / samples if samples else None,
            consistency=math.fsum(map(_agreement, self.rows)) / samples if samples else None,
        )


def _agreement(row: Sequence[_Verdict]) -> float:
    """The share of the most frequent answer; no answer counts as an answer of its own."""
    return max(Counter(verdict.answer for verdict in row).values()) / len(row)


def _repeats(gathering: _Gathering, conditions: tuple[str, ...], settings: _Settings) -> Repeats:
    rows = _Rows(gathering, conditions, settings)
    k, samples, right = len(conditions), len(rows.rows), rows.right()
    chosen = [(row, majority([verdict.answer for verdict in row])) for row in rows.rows]
    voted = [int(place is not None and row[place].right is True) for row, place in chosen]
    interval = rows.interval(voted, 1)
    return Repeats(
        spread=rows.spread(),
        pass_at=tuple(math.fsum(pass_at(k, c, j) for c in right) / samples for j in range(1, k + 1)) if samples else (),
        majority=Score(
            correct=sum(voted),
            n=samples,
            accuracy=sum(voted) / samples if samples else None,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            method=interval.method if interval else None,
        ),
    )
