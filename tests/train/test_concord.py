"""Agreement of a teacher with Monte-Carlo and the noise of labels, worked by hand."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.train.concord import CELLS, Labels, Noise, NoiseCount, PairCount, first_error, mc_labels, padded
from assay.train.records import RolledStep
from support.rolled import rolled

RIGHT: Labels = (True, True)
FIRST: Labels = (False, None)
SECOND: Labels = (True, False)


def test_ten_solutions_by_hand() -> None:
    pairs = PairCount("teacher")
    cases: list[tuple[Labels, Labels]] = [
        *[(RIGHT, RIGHT)] * 4,  # both clean
        *[(SECOND, SECOND)] * 2,  # the same step
        (FIRST, FIRST),  # the same step
        (FIRST, SECOND),  # another step
        (SECOND, RIGHT),  # the teacher alone
        (RIGHT, SECOND),  # Monte-Carlo alone
    ]
    for number, (teacher, monte_carlo) in enumerate(cases):
        pairs.add(str(number), teacher, monte_carlo)
    found = pairs.result()
    assert found.cells == {"both_clean": 4, "same_step": 3, "other_step": 1, "teacher_only": 1, "monte_carlo_only": 1}
    assert found.first_errors == {
        "1": {"1": 1, "2": 1},
        "2": {"2": 2, "none": 1},
        "none": {"2": 1, "none": 4},
    }
    # Clean or not: 8 of 10 alike; each calls 5 clean, so p_e = 0.5 and kappa = (0.8 - 0.5) / (1 - 0.5).
    assert found.solutions.kappa == pytest.approx(0.6)
    assert (found.solutions.n, found.solutions.groups) == (10, 10)
    assert found.solutions.low is not None
    assert found.solutions.low < 0.6
    # Steps that both have labelled: 4 x 2 right/right; 2 x (right/right, wrong/wrong); 1 wrong/wrong (its second step
    # has no label); (wrong/right); (right/right, wrong/right); (right/right, right/wrong):
    #     right/right 8 + 2 + 1 + 1 = 12, wrong/wrong 2 + 1 = 3, wrong/right 2, right/wrong 1; 18 in all.
    assert found.steps.n == 18
    assert found.steps.confusion == {"right": {"right": 12, "wrong": 1}, "wrong": {"right": 2, "wrong": 3}}
    # p_o = 15/18; the teacher says right 13 times, Monte-Carlo 14: p_e = (13*14 + 5*4) / 18^2 = 202/324.
    assert found.steps.kappa == pytest.approx((15 / 18 - 202 / 324) / (1 - 202 / 324))
    assert found.step_disagreement == pytest.approx(3 / 18)


def test_where_nobody_finds_anything_kappa_is_undefined_not_one() -> None:
    pairs = PairCount("teacher")
    pairs.add("a", RIGHT, RIGHT)
    assert pairs.result().solutions.status == "undefined"
    assert pairs.result().solutions.kappa is None


LABELS = st.lists(st.sampled_from([True, False]), min_size=1, max_size=5)


@given(st.lists(st.tuples(LABELS, LABELS), max_size=12))
def test_every_solution_is_in_one_cell(cases: list[tuple[list[bool], list[bool]]]) -> None:
    pairs = PairCount("teacher")
    for number, (one, other) in enumerate(cases):
        size = max(len(one), len(other))
        pairs.add(str(number), padded(one, size), padded(other, size))
    found = pairs.result()
    assert set(found.cells) == set(CELLS)
    assert sum(found.cells.values()) == len(cases) == found.solutions.n
    assert sum(count for row in found.first_errors.values() for count in row.values()) == len(cases)


def test_labels() -> None:
    solution = rolled("a#0", 4, 0)
    assert mc_labels(solution) == (True, False)
    assert first_error((True, None, False)) == 2
    assert first_error((True, None)) is None
    assert padded((True,), 3) == (True, None, None)


def step(successes: int, marked: int) -> RolledStep:
    soft = successes / marked if marked else None
    return RolledStep(text="s", successes=successes, marked=marked, soft=soft, hard=successes > 0)


def test_noise_by_hand() -> None:
    count = NoiseCount()
    # Of two completions 3 steps had one success and 2 had two: 1/2 * 3^2 / (2 * 2) = 1.125 are missed.
    count.add(
        [step(1, 2)] * 3 + [step(2, 2)] * 2 + [step(0, 2), step(1, 2), step(0, 2)]
    )  # nothing hangs on the last two
    for _ in range(3):
        count.add([step(0, 2)])
    found = count.result()
    assert (found.steps, found.without_success) == (9, 4)
    assert found.missed == pytest.approx(1.125)
    assert found.share_of_wrong == pytest.approx(1.125 / 4)
    assert found.share_of_right == pytest.approx(1.125 / 6.125)  # of these and 5 with a success
    assert found.by_successes == {"0": 4, "1": 3, "2": 2}


@pytest.mark.parametrize(("rate", "lost"), [(0.1, 0.185), (0.2, 0.0281)])
def test_noise_is_what_chance_makes_it(rate: float, lost: float) -> None:
    """100,000 right steps, 16 completions each: 0.9^16 = 18.5 % and 0.8^16 = 2.81 % of them have no success."""
    luck = random.Random(7)
    count = NoiseCount()
    for _ in range(100_000):
        count.add([step(sum(luck.random() < rate for _ in range(16)), 16)])
    found = count.result()
    assert found.share_of_right == pytest.approx(lost, rel=0.05)
    assert found.share_of_wrong == pytest.approx(1, rel=0.05)  # no step is wrong


def test_steps_that_were_not_drawn_in_full_say_nothing() -> None:
    count = NoiseCount()
    count.add([RolledStep(text="s", hard=True, successes=1, marked=1), RolledStep(text="s", skipped=True)])
    assert count.result() == Noise(
        steps=0, without_success=0, missed=0.0, share_of_wrong=None, share_of_right=None, by_successes={}
    )


@given(st.lists(st.tuples(st.integers(0, 16), st.just(16)), max_size=30))
def test_shares_are_shares(cases: list[tuple[int, int]]) -> None:
    count = NoiseCount()
    for successes, marked in cases:
        count.add([step(successes, marked)])
    found = count.result()
    assert found.missed >= 0
    assert found.share_of_wrong is None or 0 <= found.share_of_wrong <= 1
    assert found.share_of_right is None or 0 <= found.share_of_right <= 1
    assert sum(found.by_successes.values()) == found.steps == len(cases)
