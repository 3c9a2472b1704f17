"""The mean of graded credits and its interval."""

import random

import pytest

from assay.mark.graded import mean_credit
from assay.types import Failure, Mark, Marked, Outcome

FAILED = Failure(stage="call", kind="timeout", message="?")


def outcome(credit: float | None, group: str, *, failed: bool = False) -> Outcome:
    reference = Mark(verdict="right" if credit == 1 else "wrong", credit=credit)
    result = FAILED if failed else Marked(reference=reference, robust=Mark(verdict="right"))
    return Outcome(sample_id="q", group=group, result=result)


def test_the_mean_over_samples_not_groups() -> None:
    # (1 + 0.5 + 0.25 + 0) / 4
    held = [outcome(1.0, "a"), outcome(0.5, "a"), outcome(0.25, "a"), outcome(0.0, "b")]
    result = mean_credit(held, "exclude")
    assert (result.mean, result.n) == (0.4375, 4)
    assert result.low is not None
    assert result.high is not None
    assert 0 <= result.low <= 0.4375 <= result.high <= 1


def test_failures_are_left_out_or_count_nothing() -> None:
    held = [outcome(1.0, "a"), outcome(None, "b", failed=True)]
    assert mean_credit(held, "exclude").mean == 1.0
    assert mean_credit(held, "wrong").mean == 0.5


def test_nothing() -> None:
    result = mean_credit([], "wrong")
    assert (result.mean, result.low, result.n) == (None, None, 0)


def test_neither_order_nor_duplication_changes_the_mean() -> None:
    random.seed(7)
    held = [outcome(random.randrange(101) / 100, f"g{place % 40}") for place in range(200)]
    mixed = random.sample(held, len(held))
    assert mean_credit(held, "exclude") == mean_credit(mixed, "exclude")
    assert mean_credit(held + held, "exclude").mean == pytest.approx(mean_credit(held, "exclude").mean)
    assert mean_credit(held, "exclude").method == "bootstrap over groups"
