"""What a test of a critic shows: records of `assay prm eval` -> one result. Pure: no model, no network, no clock.

The formulas stand in `mark.steps`, `mark.step_first_error`, `mark.step_scores` and `mark.step_ranking`; the page for
users is docs/process-benchmarks.md. A solution without a critique is in no number under `exclude`, and answered wrong
under `wrong`; both headline scores stand in the result, and `unjudged` says how many there are, and why.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from assay.mark.status import OnMissing
from assay.mark.step_first_error import FirstErrors, best_harmonic, first_error, harmonic_curve
from assay.mark.step_ranking import Scored, auc, step_auc
from assay.mark.step_scores import THRESHOLDS, best_threshold, calibration, threshold_points
from assay.mark.steps import (
    Estimate,
    JudgedSolution,
    StepF1,
    WeightedF1,
    by_source,
    judge_at,
    step_f1,
    step_scores,
    weighted_f1,
)
from assay.solve.records import Critique, Rule, Unjudged
from assay.solve.select import aggregate
from assay.train.corrections import Corrections
from assay.train.critique_records import CritiqueRecord, judged
from assay.train.floors import FLOORS, Floor, floor_scores
from assay.train.labelled import Headline, LabelledSet
from assay.train.process_result import (
    By,
    CurvePoint,
    FloorScores,
    ProcessResult,
    Spent,
    Threshold,
    UpperBound,
    WholeScores,
)

__all__ = ["About", "choose_threshold", "process_result"]

RULES: tuple[Rule, ...] = ("mean", "min", "product", "last", "max")


def choose_threshold(
    tuning: Sequence[CritiqueRecord],
    tested: Sequence[CritiqueRecord],
    *,
    on: str,
    headline: Headline,
    on_missing: OnMissing,
) -> Threshold | None:
    """The threshold that is best on the solutions `tuning`; None where none has a score there."""
    by: By = "harmonic" if headline == "harmonic" else "macro"
    best = _best([judged(one) for one in tuning], by, on_missing)
    if best is None:
        return None
    return Threshold(
        value=best.threshold,
        how="tuned",
        on=on,
        by=by,
        score=best.score,
        solutions=len(tuning),
        shared_groups=len({one.group for one in tested} & {one.group for one in tuning}),
    )


@dataclass(frozen=True, kw_only=True)
class About:
    """What was judged, by whom, and what it took; see `ProcessResult`.

    Attributes:
        kind: the set's entry in `labelled.LABELLED`.
        spent: of all records, those to tune on included.
    """

    name: str
    file: str
    revision: str
    critic: str
    kind: LabelledSet
    spent: Spent
    odd: int = 0
    corrections: Corrections | None = None


def process_result(
    tested: Sequence[CritiqueRecord],
    about: About,
    *,
    threshold: Threshold,
    on_missing: OnMissing,
    resamples: int = 2000,
    seed: int = 0,
) -> ProcessResult:
    """The result of the solutions tested; the seed is the bootstrap's and the random floor's."""
    written = [judged(one) for one in tested]
    at = [judge_at(one, threshold.value) for one in written]
    scores = _scores(at, on_missing, resamples, seed)
    other: OnMissing = "wrong" if on_missing == "exclude" else "exclude"
    silent = [one.said for one in tested if isinstance(one.said, Unjudged)]
    macros = {source: one.macro.value for source, one in scores.steps.by_source.items()}
    return ProcessResult(
        set=about.name,
        file=about.file,
        revision=about.revision,
        critic=about.critic,
        whole=any(one.whole for one in tested),
        on_missing=on_missing,
        headline=about.kind.headline,
        score=scores.of(about.kind.headline),
        other_missing=_scores(at, other, resamples, seed).of(about.kind.headline),
        solutions=len(tested),
        odd=about.odd,
        judged=len(tested) - len(silent),
        unjudged=dict(sorted(Counter(said.kind for said in silent).items())),
        reasons=dict(Counter(said.reason[:200] for said in silent).most_common(5)),
        stopped=sum(one.stopped for one in tested),
        sources_of_scores=_sources_of_scores(tested),
        threshold=threshold,
        steps=scores.steps,
        own_macro=_own_macro(written, at, on_missing),
        mean_of_sources=_mean([*macros.values()]),
        groups={group: _mean([macros.get(name) for name in names]) for group, names in about.kind.groups.items()},
        first_errors=scores.first_errors,
        weighted=scores.weighted,
        solutions_told=_told(tested, threshold.value, on_missing, resamples, seed),
        auc=step_auc(written, resamples=resamples, seed=seed),
        curve=_curve(written, on_missing),
        bounds=_bounds(written, on_missing),
        calibration=calibration(written, resamples=resamples, seed=seed),
        floors={floor: _floor(floor, tested, on_missing, seed) for floor in FLOORS},
        spent=about.spent,
        notes=_notes(tested, about.kind, threshold),
        corrections=about.corrections,
    )


# ----------------------------------------------------------------------------------------------------------------------
# Scores


class _Scores(NamedTuple):
    """The scores at one threshold."""

    steps: StepF1
    first_errors: FirstErrors
    weighted: WeightedF1

    def of(self, headline: Headline) -> Estimate:
        match headline:
            case "macro":
                return self.steps.pooled.macro
            case "harmonic":
                return self.first_errors.pooled.harmonic
            case "weighted":
                return self.weighted.weighted


def _scores(at: Sequence[JudgedSolution], on_missing: OnMissing, resamples: int, seed: int) -> _Scores:
    return _Scores(
        step_f1(at, on_missing=on_missing, resamples=resamples, seed=seed),
        first_error(at, on_missing=on_missing, resamples=resamples, seed=seed),
        weighted_f1(at, on_missing=on_missing, resamples=resamples, seed=seed),
    )


def _own_macro(written: Sequence[JudgedSolution], at: Sequence[JudgedSolution], on_missing: OnMissing) -> float | None:
    """Macro F1 of the critic's own verdicts; None where they are those at the threshold."""
    if all(one.verdicts == two.verdicts for one, two in zip(written, at, strict=True)):
        return None
    return step_scores(written, on_missing, 1, 0).macro.value


def _told(
    tested: Sequence[CritiqueRecord], threshold: float, on_missing: OnMissing, resamples: int, seed: int
) -> WholeScores:
    """Every labelled solution counts as if it were one step: right where none of its steps is wrong."""
    labelled = [one for one in tested if one.first_error != -1]
    rows = [
        JudgedSolution(
            source=one.source, group=one.group, labels=(one.first_error is None,), verdicts=(_clean(one, threshold),)
        )
        for one in labelled
    ]
    scored: dict[Rule, list[Scored]] = {
        rule: [
            (score, one.first_error is None, one.group)
            for one in labelled
            if isinstance(one.said, Critique) and (score := aggregate(one.said.scores, rule)) is not None
        ]
        for rule in RULES
    }
    return WholeScores(
        verdicts=step_scores(rows, on_missing, resamples, seed),
        auc={rule: auc(items, resamples=resamples, seed=seed) for rule, items in scored.items()},
    )


def _clean(one: CritiqueRecord, threshold: float) -> bool | None:
    """Whether the critic finds no error in the solution, at this threshold; None where it does not say."""
    if isinstance(one.said, Unjudged):
        return None
    if any(score <= threshold for score in one.said.scores):
        return False
    return None if one.stopped else True


def _curve(written: Sequence[JudgedSolution], on_missing: OnMissing) -> tuple[CurvePoint, ...]:
    points = threshold_points(written, THRESHOLDS, on_missing)
    means = harmonic_curve(written, thresholds=THRESHOLDS, on_missing=on_missing)
    return tuple(
        CurvePoint(
            threshold=point.threshold,
            f1_right=point.f1_right,
            f1_wrong=point.f1_wrong,
            macro=point.macro,
            harmonic=mean.harmonic,
        )
        for point, mean in zip(points, means, strict=True)
    )


def _best(written: Sequence[JudgedSolution], by: By, on_missing: OnMissing) -> UpperBound | None:
    if by == "harmonic":
        mean = best_harmonic(written, thresholds=THRESHOLDS, on_missing=on_missing)
        return (
            None if mean is None or mean.harmonic is None else UpperBound(threshold=mean.threshold, score=mean.harmonic)
        )
    point = best_threshold(written, on_missing=on_missing)
    return None if point is None or point.macro is None else UpperBound(threshold=point.threshold, score=point.macro)


def _bounds(written: Sequence[JudgedSolution], on_missing: OnMissing) -> dict[str, dict[By, UpperBound]]:
    parts: dict[str, Sequence[JudgedSolution]] = {"": written, **by_source(written)}
    names: tuple[By, ...] = ("macro", "harmonic")
    return {
        source: {by: bound for by in names if (bound := _best(part, by, on_missing)) is not None}
        for source, part in parts.items()
    }


def _floor(floor: Floor, tested: Sequence[CritiqueRecord], on_missing: OnMissing, seed: int) -> FloorScores:
    """The scores of a floor at 0.5: it judges everything, whatever the critic could not judge."""
    rows = [
        judge_at(
            replace(
                judged(one),
                verdicts=None,
                scores=tuple(floor_scores(floor, one.sample_id, len(one.labels), seed=seed)),
            ),
            0.5,
        )
        for one in tested
    ]
    scores = _scores(rows, on_missing, 1, seed)
    return FloorScores(
        macro=scores.of("macro").value, harmonic=scores.of("harmonic").value, weighted=scores.of("weighted").value
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


# ----------------------------------------------------------------------------------------------------------------------
# What a reader must know


def _sources_of_scores(tested: Sequence[CritiqueRecord]) -> dict[str, int]:
    counts = Counter(step.source for one in tested if isinstance(one.said, Critique) for step in one.said.steps)
    return dict(sorted(counts.items()))


def _notes(tested: Sequence[CritiqueRecord], kind: LabelledSet, threshold: Threshold) -> tuple[str, ...]:
    notes: list[str] = []
    if any(one.whole for one in tested):
        notes.append(
            "The critic judges whole solutions: it says nothing of steps and first errors, so that those scores are "
            "empty. Compare what it tells of solutions."
        )
    sources: Mapping[str, int] = _sources_of_scores(tested)
    if sources and set(sources) == {"text"}:
        notes.append(
            "Scores are written judgements, 1 or 0, and no probabilities: the calibration is that of bare words."
        )
    elif sources.get("bounded") or sources.get("text"):
        listed = ", ".join(f"{name} {count:,}" for name, count in sources.items())
        notes.append(f"Step scores come from: {listed}.")
    if threshold.shared_groups:
        notes.append(
            f"The threshold was tuned on data that shares {threshold.shared_groups:,} groups (pictures, questions) "
            "with what is tested: scores at it are too good."
        )
    stopped = sum(one.stopped for one in tested)
    if stopped:
        notes.append(
            f"In {stopped:,} solutions the critic stopped at the first error that it found; the steps after it have no "
            "verdict."
        )
    if kind.first_errors_only:
        notes.append("The set labels first errors alone: steps after one have no label and are in no score of steps.")
    unlabelled = sum(one.first_error == -1 for one in tested)
    if unlabelled:
        notes.append(f"Of {unlabelled:,} solutions the set does not say where the first error is.")
    return tuple(notes)
