"""Every public metric, by the properties that it must have. A new one that is in no list fails here."""

import inspect
from collections.abc import Callable
from random import Random
from types import ModuleType

import msgspec
import pytest

from assay.mark import (
    compare,
    finscore,
    finscore_paper,
    intervals,
    positions,
    ranking,
    significance,
    stability,
    status,
    summary,
    tally,
)
from assay.types import Mark, Marked, Outcome
from support.outcomes import FAILED, outcome

Metric = Callable[[list[Outcome]], float | None]


def fixed_run() -> list[Outcome]:
    """What runs are compared with; it knows all ids that the tests use."""
    return [
        outcome(f"{place}{copy}", "right" if place % 2 else "wrong") for place in range(60) for copy in ("", "-copy")
    ]


def repeats_of(rows: list[Outcome]) -> stability.Repeats:
    """Of rows that were drawn a second time, each with the verdict that it had before."""
    again = [msgspec.structs.replace(row, condition="repeat=1") for row in rows]
    repeats = stability.stability([*rows, *again], on_missing="wrong", resamples=20).repeats
    assert repeats is not None
    return repeats


METRICS: dict[str, Metric] = {
    "summarise, reference": lambda rows: summary.summarise(rows, on_missing="exclude", resamples=20).reference.accuracy,
    "summarise, robust": lambda rows: summary.summarise(rows, on_missing="exclude", resamples=20).robust.accuracy,
    "summarise, failed as wrong": lambda rows: (
        summary.summarise(rows, on_missing="wrong", resamples=20).robust.accuracy
    ),
    "finscore": lambda rows: finscore.finscore(rows, on_missing="wrong", resamples=20).robust.finscore,
    "finscore_reference": lambda rows: finscore.finscore_reference(rows, on_missing="exclude", resamples=20).finscore,
    "finscore_reference, undomained": lambda rows: (
        finscore.finscore_reference(rows, on_missing="wrong", resamples=20).undomained
    ),
    "finscore_paper, all options": lambda rows: (
        finscore_paper.finscore_paper(
            finscore_paper.paper_rows(rows, on_missing="wrong"), total="all_options", penalty_over="all"
        ).finscore
    ),
    "finscore_paper, correct options": lambda rows: (
        finscore_paper.finscore_paper(
            finscore_paper.paper_rows(rows, on_missing="wrong"), total="correct_options", penalty_over="choice"
        ).finscore
    ),
    "compare": lambda rows: compare.compare(fixed_run(), rows, on_missing="wrong", resamples=20).difference,
    "stability, mean": lambda rows: repeats_of(rows).spread.mean,
    "stability, majority": lambda rows: repeats_of(rows).majority.accuracy,
    "stability, pass@2": lambda rows: repeats_of(rows).pass_at[1],
    "rank": lambda rows: ranking.rank({"one": rows}, on_missing="exclude", resamples=20).rows[0].score.accuracy,
}

ORDER_INVARIANT = set(METRICS)
DUPLICATE_INVARIANT = set(METRICS)
MONOTONE = set(METRICS)  # one more right answer never lowers it
BOUNDED = {name: (-1.0, 1.0) if name == "compare" else (0.0, 1.0) for name in METRICS}

# Public functions that are no metric of outcomes.
HELPERS = {
    "accuracy_interval",
    "benjamini_hochberg",
    "chi_square_p",
    "compare_credits",
    "credit",
    "credits_of",
    "group_number",
    "majority",
    "mcnemar",
    "minimum_detectable_effect",
    "natural_key",
    "pair_code",
    "paper_rows",
    "pass_at",
    "positions",
    "ratio_standard_error",
    "resample_ratio",
    "resample_sums",
    "sign_flip_p",
    "status",
    "t_interval",
    "tie_groups",
    "verdict_code",
    "wilson",
}
MODULES = (
    compare,
    finscore,
    finscore_paper,
    intervals,
    positions,
    ranking,
    significance,
    stability,
    status,
    summary,
    tally,
)


def public_functions(module: ModuleType) -> set[str]:
    return {name for name in module.__all__ if inspect.isfunction(getattr(module, name))}


def test_no_public_metric_is_missing_from_the_lists() -> None:
    functions = {name for module in MODULES for name in public_functions(module)}
    assert functions == HELPERS | {name.partition(",")[0] for name in METRICS}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_exist_and_are_sorted(module: ModuleType) -> None:
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)


def test_every_metric_has_a_verdict_on_every_property() -> None:
    for listed in (ORDER_INVARIANT, DUPLICATE_INVARIANT, MONOTONE, set(BOUNDED)):
        assert listed == set(METRICS)


def sample_run(seed: int) -> list[Outcome]:
    """60 samples of all types, domains and fates; the first is right, the second wrong."""
    chance = Random(seed)
    rows: list[Outcome] = []
    for place in range(60):
        fates = ["right", "right", "wrong", "wrong", "unanswered", "unmarkable", FAILED]
        fate = ("right", "wrong")[place] if place < 2 else chance.choice(fates)
        question_type = chance.choice(["single_choice", "multiple_choice", "numerical"])
        facets = {"question_type": question_type, "knowledge_domain": chance.choice(["TMT", "Energy", "Rates"])}
        if question_type == "multiple_choice":
            facets["multi_answer"] = "yes"
        selected = "A,C" if fate == "right" else chance.choice(["A", "B", "A,B", "A,B,C,D"])
        detail = {"gold": "A,C", "options": "4"}
        rows.append(outcome(str(place), fate, extraction=selected, detail=detail, group=str(place // 3), facets=facets))
    return rows


def value(name: str, rows: list[Outcome]) -> float:
    found = METRICS[name](rows)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(ORDER_INVARIANT))
def test_order_does_not_matter(name: str, seed: int) -> None:
    rows = sample_run(seed)
    assert value(name, Random(seed).sample(rows, len(rows))) == value(name, rows)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(DUPLICATE_INVARIANT))
def test_having_everything_twice_does_not_matter(name: str, seed: int) -> None:
    rows = sample_run(seed)
    # The fixed run has the same verdict on a sample and on its copy.
    copies = [msgspec.structs.replace(row, sample_id=f"{row.sample_id}-copy") for row in rows]
    assert value(name, rows + copies) == pytest.approx(value(name, rows), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(BOUNDED))
def test_values_lie_within_their_bounds(name: str, seed: int) -> None:
    low, high = BOUNDED[name]
    rows = sample_run(seed)
    for part in (rows, rows[:1], rows[1:2]):
        assert low <= value(name, part) <= high


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(MONOTONE))
def test_one_more_right_answer_never_lowers_it(name: str, seed: int) -> None:
    rows = sample_run(seed)
    before = value(name, rows)
    right = Marked(reference=Mark(verdict="right"), robust=Mark(verdict="right", extraction="A,C"))
    for place in range(1, len(rows), 4):
        if rows[place].finish is None:  # a failure that is excluded becomes one more sample, not one more right answer
            continue
        better = [*rows]
        better[place] = msgspec.structs.replace(rows[place], result=right)
        assert value(name, better) >= before - 1e-12
