"""Summaries: statuses, accuracies under both treatments of missing samples, facets, differing rows."""

import json
import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.summary import (
    MAX_FACET_VALUES,
    MAX_ROWS,
    Mode,
    OnMissing,
    Status,
    Summary,
    credit,
    natural_key,
    status,
    summarise,
)
from assay.types import Finish, Outcome, Usage, Verdict
from support.outcomes import FAILED, outcome

# Two right; one wrong, unanswered, truncated, refused, unmarkable and failed each. The script finds the first and the
# unmarkable one right.
MIXED = [
    outcome("1", "right"),
    outcome("2", "right", "wrong", difference="the script reads only the first run"),
    outcome("3", "wrong"),
    outcome("4", "unanswered"),
    outcome("5", "unanswered", finish="length"),
    outcome("6", "unanswered", finish="filter"),
    outcome("7", "unmarkable", "right"),
    outcome("8", FAILED),
]


def as_json(summary: Summary) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(summary))


# --------------------------------------------------------------------------------------------------------------------
# Statuses


@pytest.mark.parametrize(
    ("verdict", "finish", "expected"),
    [
        ("right", "stop", "right"),
        ("right", "length", "right"),  # 099: an answer that was complete before the cut is an answer
        ("wrong", "length", "wrong"),
        ("wrong", "filter", "wrong"),
        ("unanswered", "stop", "unanswered"),
        ("unanswered", "other", "unanswered"),
        ("unanswered", None, "unanswered"),
        ("unanswered", "length", "truncated"),  # 099, 101: cut by the token limit is not a wrong answer
        ("unanswered", "filter", "refused"),  # 100: refusals, cuts and empty replies are told apart
        ("unmarkable", "length", "unmarkable"),
    ],
)
def test_status(verdict: Verdict, finish: Finish | None, expected: Status) -> None:
    assert status(outcome("1", verdict, finish=finish), "robust") == expected


def test_a_failure_is_failed_in_both_modes_and_credits_nothing() -> None:
    failed = outcome("1", FAILED)
    for mode in ("reference", "robust"):
        assert status(failed, mode) == "failed"
        assert credit(failed, mode) is None


@pytest.mark.parametrize("mode", ["reference", "robust"])
def test_what_nobody_can_mark_is_missing_and_never_wrong(mode: Mode) -> None:
    """A test split without answers has no accuracy, not one of 0 %."""
    assert credit(outcome("1", "unmarkable", "unmarkable"), mode) is None
    summary = summarise([outcome(str(i), "unmarkable", "unmarkable") for i in range(5)], on_missing="exclude")
    headline = getattr(summary, mode)
    assert (headline.correct, headline.n, headline.accuracy) == (0, 0, None)
    assert summary.notes == ("Samples left out of the accuracy: 0 failed, and in robust 5 unmarkable, in reference 5.",)


def test_the_script_may_have_a_verdict_where_we_have_none() -> None:
    one = outcome("1", "unmarkable", "wrong")
    assert credit(one, "robust") is None
    assert credit(one, "reference") is False


def test_each_mode_reads_its_own_verdict() -> None:
    one = outcome("1", "unanswered", "wrong", finish="length")
    assert status(one, "robust") == "truncated"
    assert status(one, "reference") == "wrong"


# --------------------------------------------------------------------------------------------------------------------
# Accuracies


def test_counts_are_disjoint_and_sum_to_the_samples() -> None:
    counts = as_json(summarise(MIXED, on_missing="exclude"))["counts"]
    assert counts == {
        "right": 2,
        "wrong": 1,
        "unanswered": 1,
        "truncated": 1,
        "refused": 1,
        "unmarkable": 1,
        "failed": 1,
    }
    assert sum(counts.values()) == len(MIXED)


@pytest.mark.parametrize(
    ("on_missing", "mode", "correct", "n"),
    [
        ("exclude", "reference", 2, 7),  # samples 1 and 7; the failed one is left out
        ("wrong", "reference", 2, 8),
        ("exclude", "robust", 2, 6),  # samples 1 and 2; the unmarkable one is left out as well
        ("wrong", "robust", 2, 8),
    ],
)
def test_accuracy(on_missing: OnMissing, mode: Mode, correct: int, n: int) -> None:
    score = as_json(summarise(MIXED, on_missing=on_missing))[mode]
    assert (score["correct"], score["n"]) == (correct, n)
    assert score["accuracy"] == correct / n
    assert score["low"] <= score["accuracy"] <= score["high"]
    assert score["method"] == "wilson"


def test_both_treatments_of_missing_samples_are_always_given() -> None:
    for on_missing in ("exclude", "wrong"):
        summary = summarise(MIXED, on_missing=on_missing)
        assert summary.robust.accuracy_failed_excluded == 2 / 6
        assert summary.robust.accuracy_failed_as_wrong == 2 / 8
        assert summary.reference.accuracy_failed_excluded == 2 / 7
        assert summary.reference.accuracy_failed_as_wrong == 2 / 8


def test_on_missing_has_no_default() -> None:
    with pytest.raises(TypeError, match="on_missing"):
        summarise(MIXED)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_no_outcomes_at_all() -> None:
    summary = summarise([], on_missing="wrong", expected=3)
    assert summary.samples == summary.groups == 0
    assert summary.robust.accuracy is summary.robust.low is summary.robust.method is None
    assert summary.notes == ("Not complete: 3 of 3 samples have no outcome, and are in no number.",)


def test_only_failures_is_no_score() -> None:
    summary = summarise([outcome("1", FAILED), outcome("2", FAILED)], on_missing="exclude")
    assert summary.robust.accuracy is summary.reference.accuracy is None
    assert summary.robust.accuracy_failed_as_wrong == 0.0
    assert summary.failures == {"call/timeout": 2}


def test_notes_tell_what_was_left_out_and_what_was_cut() -> None:
    cut_but_answered = outcome("9", "right", finish="length")
    notes = summarise([*MIXED, cut_but_answered], on_missing="exclude", expected=10).notes
    assert notes == (
        "Not complete: 1 of 10 samples have no outcome, and are in no number.",
        "Samples left out of the accuracy: 1 failed, and in robust 1 unmarkable.",
        "Replies cut at the token limit: 2, of which 1 had answered explicitly before.",
    )
    assert "counted as not right" in summarise(MIXED, on_missing="wrong").notes[0]
    assert summarise(MIXED, on_missing="wrong", expected=5).notes[0] == "There are 8 outcomes for 5 samples."


# 221: how splits were pooled must be readable from the result.
def test_221_every_aggregate_says_its_n_and_weights() -> None:
    result = as_json(summarise([outcome(str(i), "right", split=f"s{i % 2}") for i in range(5)], on_missing="wrong"))
    assert result["weights"] == "every sample counts once"
    assert result["samples"] == 5
    assert {value: cell["n"] for value, cell in result["facets"]["split"].items()} == {"s0": 3, "s1": 2}
    for cell in result["facets"]["split"].values():
        assert cell["reference"]["n"] == cell["robust"]["n"] == cell["n"]


def test_the_json_holds_what_a_reader_needs() -> None:
    result = as_json(summarise(MIXED, on_missing="exclude", resamples=100, seed=7))
    assert {"samples", "expected", "on_missing", "groups", "reference", "robust", "counts", "failures"} <= result.keys()
    assert {"facets", "differing", "notes", "confidence", "resamples", "seed", "weights"} <= result.keys()
    assert (result["resamples"], result["seed"], result["confidence"]) == (100, 7, 0.95)
    assert result["finishes"] == {"filter": 1, "length": 1, "stop": 5}


def test_usage_is_added_up() -> None:
    used = msgspec.structs.replace(MIXED[0], usage=Usage(prompt_tokens=100, completion_tokens=7), attempts=3)
    summary = summarise([used, used, MIXED[2]], on_missing="wrong")
    assert (summary.usage.prompt_tokens, summary.usage.completion_tokens, summary.attempts) == (200, 14, 6)


# --------------------------------------------------------------------------------------------------------------------
# Facets and groups


def test_facets_are_accuracies_over_their_own_samples() -> None:
    outcomes = [
        outcome("1", "right", level="2"),
        outcome("2", "wrong", level="2"),
        outcome("3", "right", level="10"),
        outcome("4", FAILED, level="10"),
        outcome("5", "right"),  # has no level: in no cell
    ]
    levels = summarise(outcomes, on_missing="exclude").facets["level"]
    assert list(levels) == ["2", "10"]  # in natural order
    assert (levels["2"].n, levels["2"].robust.correct, levels["2"].robust.n) == (2, 1, 2)
    assert (levels["10"].n, levels["10"].robust.correct, levels["10"].robust.n) == (2, 1, 1)


def test_a_sample_with_several_values_counts_once_in_each() -> None:
    skills = msgspec.structs.replace(MIXED[0], facets={"skill": ("algebra", "charts", "algebra")})
    cells = summarise([skills], on_missing="wrong").facets["skill"]
    assert {value: cell.n for value, cell in cells.items()} == {"algebra": 1, "charts": 1}


def test_a_facet_that_is_an_identifier_is_not_tabled() -> None:
    outcomes = (outcome(str(i), "right", id=str(i), level="1") for i in range(MAX_FACET_VALUES + 5))
    summary = summarise(outcomes, on_missing="wrong")
    assert list(summary.facets) == ["level"]
    assert summary.notes == ("Facet 'id' has more than 1,000 values and is not tabled.",)


# 219: clusters are counted and drawn, not samples.
def test_219_groups_widen_the_interval() -> None:
    """20 pictures with 10 questions each, all right on half of the pictures: as good as 20 answers."""
    clustered = summarise(
        (outcome(f"{p}-{q}", "right" if p % 2 else "wrong", group=str(p)) for p in range(20) for q in range(10)),
        on_missing="wrong",
    )
    single = summarise(
        (outcome(f"{p}-{q}", "right" if p % 2 else "wrong") for p in range(20) for q in range(10)), on_missing="wrong"
    )
    assert (clustered.groups, single.groups) == (20, 200)
    assert clustered.robust.accuracy == single.robust.accuracy == 0.5
    # Standard errors: sqrt(0.25 / 20) = 0.112 against sqrt(0.25 / 200) = 0.035, a factor of sqrt(10) = 3.16.
    widths = [(score.high or 0) - (score.low or 0) for score in (clustered.robust, single.robust)]
    assert 2.5 < widths[0] / widths[1] < 3.9
    assert clustered.robust.method == "bootstrap over groups"
    assert single.robust.method == "bootstrap"


# --------------------------------------------------------------------------------------------------------------------
# Differing rows


def test_rows_that_count_differently_are_listed_with_the_reason() -> None:
    differing = summarise(MIXED, on_missing="exclude").differing
    assert (differing.total, differing.only_reference_right, differing.only_robust_right) == (2, 1, 1)
    assert [(row.sample_id, row.reference, row.robust, row.reason) for row in differing.rows] == [
        ("2", "wrong", "right", "the script reads only the first run"),
        ("7", "right", "unmarkable", ""),
    ]


def test_wrong_and_unanswered_count_the_same() -> None:
    assert summarise([outcome("1", "unanswered", "wrong")], on_missing="wrong").differing.total == 0


def test_the_list_of_rows_is_bounded_and_does_not_depend_on_order() -> None:
    outcomes = [outcome(str(i), "right", "wrong") for i in range(3 * MAX_ROWS)]
    forward = summarise(outcomes, on_missing="wrong").differing
    backward = summarise(reversed(outcomes), on_missing="wrong").differing
    assert forward == backward
    assert forward.total == 3 * MAX_ROWS
    assert [row.sample_id for row in forward.rows] == [str(i) for i in range(MAX_ROWS)]


@given(st.lists(st.text(max_size=8)))
def test_natural_key_orders_any_texts(texts: list[str]) -> None:
    ordered = sorted(texts, key=natural_key)
    assert sorted(ordered, key=natural_key) == ordered


def test_natural_key() -> None:
    assert sorted(["a10", "a2", "10", "9", "b", "", "9" * 40], key=natural_key) == [
        "",
        "9",
        "10",
        "9" * 40,
        "a2",
        "a10",
        "b",
    ]


# --------------------------------------------------------------------------------------------------------------------
# Properties

verdicts = st.sampled_from(["right", "wrong", "unanswered", "unmarkable", FAILED])
finishes: st.SearchStrategy[Finish] = st.sampled_from(["stop", "length", "filter", "other"])


@st.composite
def outcome_lists(draw: st.DrawFn) -> list[Outcome]:
    rows = draw(st.lists(st.tuples(verdicts, finishes, st.integers(0, 4), st.sampled_from("xyz")), max_size=30))
    return [
        outcome(str(place), verdict, finish=finish, group=str(group), kind=kind)
        for place, (verdict, finish, group, kind) in enumerate(rows)
    ]


@given(outcome_lists(), st.sampled_from(["exclude", "wrong"]), st.randoms())
def test_order_does_not_matter(outcomes: list[Outcome], on_missing: OnMissing, random: Random) -> None:
    shuffled = random.sample(outcomes, len(outcomes))
    assert summarise(shuffled, on_missing=on_missing, resamples=50) == summarise(
        outcomes, on_missing=on_missing, resamples=50
    )


@given(outcome_lists(), st.sampled_from(["exclude", "wrong"]))
def test_every_sample_is_accounted_for(outcomes: list[Outcome], on_missing: OnMissing) -> None:
    summary = summarise(outcomes, on_missing=on_missing, resamples=20)
    for counts in (summary.counts, summary.counts_reference):
        assert sum(msgspec.structs.asdict(counts).values()) == summary.samples == len(outcomes)
    missing = summary.counts.failed + summary.counts.unmarkable
    assert summary.robust.n == summary.samples - (missing if on_missing == "exclude" else 0)
    assert summary.robust.correct == summary.counts.right
    assert sum(cell.n for cell in summary.facets.get("kind", {}).values()) == summary.samples
    assert sum(summary.failures.values()) == summary.counts.failed


def test_memory_per_sample_is_a_few_bytes() -> None:
    """50,000 samples in 50,000 groups with one facet: two tallies of nine bytes each make about 1 MB, to which numpy's
    working arrays are added. The outcomes themselves would take some 30 MB.
    """

    def outcomes() -> Iterator[Outcome]:
        for index in range(50_000):
            yield outcome(str(index), "right" if index % 3 else "wrong", level=str(index % 5))

    tracemalloc.start()
    try:
        summarise(outcomes(), on_missing="wrong", resamples=20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
