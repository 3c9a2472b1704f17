"""The judge's accuracy, beside those by rule: the same samples, the same treatment of missing ones.

Missing are samples without a verdict of the judge: those that failed, that it was not asked about, or about which it
said nothing that counts. Unanswered replies are the model's own doing: counted, and not right.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, structs

from assay.mark.agreement import Agreement, Pair, cohen_kappa
from assay.mark.status import OnMissing, credit
from assay.mark.tally import Tally, credits_of, pair_code
from assay.types import JudgeMark, Marked, Outcome

__all__ = ["Judge", "Judged", "JudgedTally", "by_judge", "judge_credit", "judge_of"]

_NOBODY = -1


class Judge(NamedTuple):
    """A judge: the model's identity and the hash of its prompt."""

    name: str
    prompt_hash: str


def judge_of(outcomes: Iterable[Outcome]) -> Judge | None:
    """The judge with most verdicts, the one whose marks count; None where there is none.

    A second judge is there only where its judging was stopped before it had got through.
    """
    verdicts = Counter(Judge(mark.judge, mark.prompt_hash) for mark in map(_mark, outcomes) if mark)
    return _most(verdicts) if verdicts else None


def by_judge(judge: Judge, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """The outcomes without the marks of other judges, which are never mixed with this one's."""
    for outcome in outcomes:
        result, mark = outcome.result, _mark(outcome)
        if isinstance(result, Marked) and mark and (mark.judge, mark.prompt_hash) != judge:
            yield structs.replace(outcome, result=structs.replace(result, judged=None))
        else:
            yield outcome


def _mark(outcome: Outcome) -> JudgeMark | None:
    return outcome.result.judged if isinstance(outcome.result, Marked) else None


def _most(verdicts: Mapping[Judge, int]) -> Judge:
    return max(verdicts, key=lambda judge: (verdicts[judge], judge))


class Judged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one judge says about a run.

    Attributes:
        judge, prompt_hash: the model's identity and the hash of its prompt: other judges give other scores.
        correct, n, accuracy, low, high, method: as in `Score`.
        counts: the judge's verdicts, and `not_judged` for samples without one of this judge, failed ones among them.
        reasons: of the unmarkable ones -> number.
        agreement: with the robust verdicts, as right or not, where both have one.
    """

    judge: str
    prompt_hash: str
    correct: int
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    method: str | None
    counts: dict[str, int]
    reasons: dict[str, int]
    agreement: Agreement


def judge_credit(mark: JudgeMark) -> bool | None:
    """Whether the judge counts the reply as right; None where it has no verdict."""
    return None if mark.verdict == "unmarkable" else mark.verdict == "right"


class JudgedTally:
    """Takes up outcomes; 17 bytes a sample."""

    def __init__(self) -> None:
        self._judges: dict[Judge, int] = {}  # -> its number
        self._verdicts: list[Counter[str]] = []  # by judge
        self._reasons: list[Counter[str]] = []
        self._codes = bytearray()  # credits of the judge and of robust
        self._groups = array("Q")
        self._by = array("q")

    def add(self, outcome: Outcome, group: int) -> None:
        """`group`: its `group_number`."""
        mark = _mark(outcome)
        robust = credit(outcome, "robust")
        self._groups.append(group)
        self._codes.append(pair_code(judge_credit(mark) if mark else None, robust))
        self._by.append(self._take_up(mark) if mark else _NOBODY)

    def _take_up(self, mark: JudgeMark) -> int:
        number = self._judges.setdefault(Judge(mark.judge, mark.prompt_hash), len(self._judges))
        if number == len(self._verdicts):
            self._verdicts.append(Counter())
            self._reasons.append(Counter())
        self._verdicts[number][mark.verdict] += 1
        if mark.verdict == "unmarkable":
            self._reasons[number][mark.reason] += 1
        return number

    def result(self, on_missing: OnMissing, *, resamples: int, seed: int) -> Judged | None:
        """What the judge of `judge_of` says; None where there is none."""
        if not self._judges:
            return None
        judge = _most({judge: self._verdicts[number].total() for judge, number in self._judges.items()})
        number = self._judges[judge]
        tally, pairs = Tally(), list[Pair]()
        for code, group, by in zip(self._codes, self._groups, self._by, strict=True):
            judged, robust = credits_of(code)
            if by != number:
                judged = None
            tally.add(pair_code(judged, robust), group)
            pairs.append((_word(robust), _word(judged)))
        score = tally.score("reference", on_missing, resamples=resamples, seed=seed)  # the first of each pair
        verdicts = self._verdicts[number]
        return Judged(
            judge=judge.name,
            prompt_hash=judge.prompt_hash,
            correct=score.correct,
            n=score.n,
            accuracy=score.accuracy,
            low=score.low,
            high=score.high,
            method=score.method,
            counts={
                **{name: verdicts[name] for name in ("right", "wrong", "unanswered", "unmarkable")},
                "not_judged": len(pairs) - verdicts.total(),
            },
            reasons=dict(sorted(self._reasons[number].items())),
            agreement=cohen_kappa(pairs, self._groups, resamples=resamples, seed=seed),
        )


def _word(right: bool | None) -> str | None:
    return None if right is None else "right" if right else "not right"
