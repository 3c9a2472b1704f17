"""The result of a test of a critic, as it is printed and written to `result.json`."""

from typing import Literal

from msgspec import Struct

from assay.mark.intervals import CONFIDENCE
from assay.mark.status import OnMissing
from assay.mark.step_first_error import FirstErrors
from assay.mark.step_scores import Calibration
from assay.mark.steps import Estimate, StepF1, StepScores, WeightedF1
from assay.solve.records import Rule
from assay.train.corrections import Corrections
from assay.train.floors import Floor
from assay.train.labelled import Headline

__all__ = ["By", "CurvePoint", "FloorScores", "ProcessResult", "Spent", "Threshold", "UpperBound", "WholeScores"]

By = Literal["macro", "harmonic"]


class Threshold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The score above which a step is taken for right, and how it was come by.

    Attributes:
        how: `fixed` was said beforehand; `tuned` is the best one on other solutions.
        on: what it was tuned on; empty where fixed.
        by: the score that was best there; `score` that score.
        solutions: solutions that it was tuned on; `shared_groups` of their groups are among those tested too: unless
            that is 0, scores at the threshold are too good.
    """

    value: float
    how: Literal["fixed", "tuned"]
    on: str = ""
    by: By | None = None
    score: float | None = None
    solutions: int = 0
    shared_groups: int = 0


class UpperBound(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The best threshold chosen on the very solutions that it is scored on, and that score: no result, a bound."""

    threshold: float
    score: float


class CurvePoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores at one threshold; None where they are undefined."""

    threshold: float
    f1_right: float | None
    f1_wrong: float | None
    macro: float | None
    harmonic: float | None


class WholeScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a critic tells solutions without an error from those with one, wherever the error is.

    `verdicts` counts solutions as `StepScores` counts steps. `auc`: of the solution scores that each rule makes of the
    step scores; a critic of whole solutions has one score, which every rule gives.
    """

    verdicts: StepScores
    auc: dict[Rule, Estimate]


class FloorScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a critic that looks at nothing scores on the same solutions; see `floors`."""

    macro: float | None
    harmonic: float | None
    weighted: float | None


class Spent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What critiques took, of solutions tested and tuned on alike.

    Attributes:
        solutions: critiques asked for.
        calls, prompt_tokens, completion_tokens: of all of them, calls that failed not included.
        unreported: solutions whose tokens the server did not report.
        money: in the currency of the price table, as a decimal number; None where there is no price, or tokens are
            unreported.
    """

    solutions: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    unreported: int
    money: str | None = None


class ProcessResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A critic on a set of labelled solutions, with everything that a reader needs to trust the numbers.

    Attributes:
        set, file, revision: what was judged; `revision` is the SHA-256 of the solutions read.
        critic: its identity.
        whole: it judges whole solutions: metrics of steps and first errors have nothing to count.
        headline: which score the set is known by; `score` is that score at the threshold.
        other_missing: how `score` would read under the other way to count solutions without a critique.
        solutions: tested; `odd` rows of the file could not be read, `judged` have a critique.
        unjudged: why the others have none -> solutions; `reasons` the commonest messages.
        stopped: solutions whose critic stopped at the first error that it found.
        sources_of_scores: where step scores come from -> steps.
        steps, first_errors, weighted: at the threshold.
        own_macro: macro F1 of the verdicts that the critic wrote, where some differ from those at the threshold.
        mean_of_sources: mean of the sources' macro F1; None where one has none.
        groups: group of sources -> mean of their macro F1, as PRMBench averages its classes; None where one has none.
        auc: of the scores of steps.
        bounds: source -> the best threshold for it, by macro F1 and by harmonic mean; `""` is all sources together.
        floors: the same scores of critics that look at nothing.
        corrections: what the critic's corrections are worth; None where nobody asked.
    """

    set: str
    file: str
    revision: str
    critic: str
    whole: bool
    on_missing: OnMissing
    headline: Headline
    score: Estimate
    other_missing: Estimate
    solutions: int
    odd: int
    judged: int
    unjudged: dict[str, int]
    reasons: dict[str, int]
    stopped: int
    sources_of_scores: dict[str, int]
    threshold: Threshold
    steps: StepF1
    own_macro: float | None
    mean_of_sources: float | None
    groups: dict[str, float | None]
    first_errors: FirstErrors
    weighted: WeightedF1
    solutions_told: WholeScores
    auc: Estimate
    curve: tuple[CurvePoint, ...]
    bounds: dict[str, dict[By, UpperBound]]
    calibration: Calibration
    floors: dict[Floor, FloorScores]
    spent: Spent
    notes: tuple[str, ...] = ()
    corrections: Corrections | None = None
    confidence: float = CONFIDENCE
