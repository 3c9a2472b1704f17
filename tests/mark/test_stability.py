"""Runs under several conditions: expected values worked out by hand, and properties that must hold for any outcomes."""

import json
import math
import random
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import chi2

from assay.errors import DataError, UsageError
from assay.mark.positions import positions
from assay.mark.significance import chi_square_p
from assay.mark.stability import Stability, majority, pass_at, stability
from assay.types import Condition, Outcome, Usage
from support.outcomes import FAILED, outcome


def drawn(rows: dict[str, str], *, name: str = "repeat", gold: str = "A") -> list[Outcome]:
    """Samples by the letters they were answered with under each condition: `-` no answer, `!` a failure."""
    found: list[Outcome] = []
    for sample, letters in rows.items():
        for place, letter in enumerate(letters):
            verdict = {"-": "unanswered", "!": FAILED, gold: "right"}.get(letter, "wrong")
            plain = outcome(sample, verdict, extraction=None if letter in "-!" else letter)
            found.append(replace(plain, condition=f"{name}={place}" if place else ""))
    return found


# Gold is A. Right draws: 3, 1, 2, 0.
FOUR = {"q0": "AAA", "q1": "ABB", "q2": "AAC", "q3": "BCD"}


def of(outcomes: Iterable[Outcome], on_missing: str = "exclude") -> Stability:
    assert on_missing in ("exclude", "wrong")
    return stability(list(outcomes), on_missing=on_missing)


# --------------------------------------------------------------------------------------------------------------------
# pass@k


@pytest.mark.parametrize(
    ("draws", "right", "k", "expected"),
    [
        (3, 1, 1, 1 / 3),
        (3, 1, 2, 2 / 3),  # 1 - C(2,2) / C(3,2) = 1 - 1/3
        (3, 2, 2, 1.0),  # two of three: every pair holds a right one
        (3, 0, 3, 0.0),
        (5, 2, 2, 0.7),  # 1 - C(3,2) / C(5,2) = 1 - 3/10
        (10, 3, 5, 11 / 12),  # 1 - C(7,5) / C(10,5) = 1 - 21/252
        (1, 1, 1, 1.0),
    ],
)
def test_pass_at(draws: int, right: int, k: int, expected: float) -> None:
    assert pass_at(draws, right, k) == pytest.approx(expected)


@given(st.integers(1, 9), st.data())
def test_pass_at_is_the_share_of_subsets_with_a_right_draw(draws: int, data: st.DataObject) -> None:
    right, k = data.draw(st.integers(0, draws)), data.draw(st.integers(1, draws))
    subsets = list(combinations([True] * right + [False] * (draws - right), k))
    assert pass_at(draws, right, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(("draws", "right", "k"), [(3, 1, 0), (3, 1, 4), (3, 4, 1), (3, -1, 1), (0, 0, 1)])
def test_pass_at_refuses_what_has_no_meaning(draws: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match="no pass@"):
        pass_at(draws, right, k)


# --------------------------------------------------------------------------------------------------------------------
# Majority


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["A", "B", "B"], 1),
        (["B", "A", "A", "B"], 0),  # as frequent: the first drawn
        (["C", "B", "A"], 0),
        ([None, None, "D"], 2),  # no answer, no vote
        ([None, "B", None, "A", "A"], 3),
        ([None, None], None),
    ],
)
def test_majority(answers: list[str | None], chosen: int | None) -> None:
    assert majority(answers) == chosen


# --------------------------------------------------------------------------------------------------------------------
# Repeats


def test_repeats_by_hand() -> None:
    found = of(drawn(FOUR))
    repeats = found.repeats
    assert repeats is not None
    spread = repeats.spread
    assert spread.conditions == ("", "repeat=1", "repeat=2")
    assert spread.samples == 4
    # By draw: q0 q1 q2 right, q0 q2 right, q0 right.
    assert spread.accuracies == (0.75, 0.5, 0.25)
    assert spread.mean == 0.5  # 6 of 12
    assert spread.sd == pytest.approx(0.25)  # deviations 0.25, 0, 0.25: sqrt(0.125 / 2)
    assert (spread.minimum, spread.maximum) == (0.25, 0.75)
    assert (spread.always_right, spread.sometimes_right, spread.never_right) == (1, 2, 1)
    assert spread.flip_rate == 0.5
    assert spread.consistency == pytest.approx((1 + 2 / 3 + 2 / 3 + 1 / 3) / 4)
    # pass@2: 1, 1 - C(2,2)/C(3,2) = 2/3, 1 - C(1,2)/C(3,2) = 1, 0.
    assert repeats.pass_at == pytest.approx((0.5, (1 + 2 / 3 + 1 + 0) / 4, 0.75))
    # Majorities A, B, A and, of B, C, D once each, the first.
    assert (repeats.majority.correct, repeats.majority.n) == (2, 4)
    assert found.prompts is None
    assert found.shuffles is None
    assert found.positions is None
    assert found.pictures == {}


def test_no_answer_has_no_vote_but_is_consistent_with_itself() -> None:
    repeats = of(drawn({"q0": "--A", "q1": "---", "q2": "-BB"})).repeats
    assert repeats is not None
    assert repeats.majority.correct == 1  # A of q0; nobody votes on q1; B of q2 is wrong
    assert repeats.spread.mean == pytest.approx(1 / 9)
    # Shares of the most frequent "answer": 2/3 none, 3/3 none, 2/3 B.
    assert repeats.spread.consistency == pytest.approx((2 / 3 + 1 + 2 / 3) / 3)


@pytest.mark.parametrize(
    ("on_missing", "samples", "left_out", "accuracies", "majority_right"),
    [
        ("exclude", 1, 2, (1.0, 1.0), 1),  # only q0 has both verdicts
        ("wrong", 3, 0, (2 / 3, 1 / 3), 2),  # q1: A, failed; q2: failed twice
    ],
)
def test_failures_are_missing_not_wrong(
    on_missing: str, samples: int, left_out: int, accuracies: tuple[float, ...], majority_right: int
) -> None:
    repeats = of(drawn({"q0": "AA", "q1": "A!", "q2": "!!"}), on_missing).repeats
    assert repeats is not None
    assert (repeats.spread.samples, repeats.spread.left_out) == (samples, left_out)
    assert repeats.spread.accuracies == pytest.approx(accuracies)
    assert repeats.majority.correct == majority_right


def test_a_run_that_is_not_finished_counts_whole_rows_only() -> None:
    outcomes = [line for line in drawn(FOUR) if line.id not in ("q3 [repeat=2]", "q2 [repeat=1]", "q2 [repeat=2]")]
    repeats = of(outcomes).repeats
    assert repeats is not None
    # q2 has its first draw alone and is not among the repeated samples; q3 lacks one of three.
    assert (repeats.spread.samples, repeats.spread.left_out) == (2, 1)
    assert repeats.spread.mean == pytest.approx(4 / 6)


def test_the_interval_is_about_samples_however_often_each_is_drawn() -> None:
    """100 samples, half of them right: the same interval whether each is drawn once or, alike, eight times."""
    rows = {f"q{number}": "A" if number % 2 else "B" for number in range(100)}
    twice = of(drawn({sample: letter * 2 for sample, letter in rows.items()})).repeats
    often = of(drawn({sample: letter * 8 for sample, letter in rows.items()})).repeats
    assert twice is not None
    assert often is not None
    assert (often.spread.low, often.spread.high) == pytest.approx((twice.spread.low, twice.spread.high))
    assert often.spread.low is not None
    assert often.spread.high is not None
    # sqrt(0.25 / 100) = 0.05: about 0.5 +- 0.098, not +- 0.035 as for 800 independent draws.
    assert often.spread.high - often.spread.low == pytest.approx(0.196, abs=0.03)


@given(st.lists(st.text("ABC-", min_size=3, max_size=3), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_doubled_data_says_the_same(rows: list[str], chance: random.Random) -> None:
    outcomes = drawn({f"q{number}": row for number, row in enumerate(rows)})
    found = of(outcomes)
    chance.shuffle(outcomes)
    assert of(outcomes) == found
    doubled = of(drawn({f"{copy}{number}": row for copy in "ab" for number, row in enumerate(rows)}))
    for one, two in ((found.repeats, doubled.repeats),):
        assert one is not None
        assert two is not None
        assert two.pass_at == pytest.approx(one.pass_at)
        assert two.majority.accuracy == pytest.approx(one.majority.accuracy)
        for field in ("mean", "sd", "flip_rate", "consistency", "minimum", "maximum"):
            assert getattr(two.spread, field) == pytest.approx(getattr(one.spread, field))


@given(st.lists(st.text("AB", min_size=4, max_size=4), min_size=1, max_size=10))
def test_pass_at_1_is_the_mean_and_rises_with_k(rows: list[str]) -> None:
    repeats = of(drawn({f"q{number}": row for number, row in enumerate(rows)})).repeats
    assert repeats is not None
    assert repeats.pass_at[0] == pytest.approx(repeats.spread.mean)
    assert list(repeats.pass_at) == sorted(repeats.pass_at)
    assert repeats.pass_at[-1] == pytest.approx(1 - repeats.spread.never_right / len(rows))


def test_reported_equal_accuracy_other_stability(reported_cases: Path) -> None:
    """Cases 220, 201, 202: two models with the same mean are told apart by how they come to it."""
    cases = {case["id"]: case for case in map(json.loads, reported_cases.read_text(encoding="utf-8").splitlines())}
    assert cases["220"]["right"] == "EA, CA, variance, consistency"
    assert "repeat runs with spread" in cases["201"]["right"]
    steady = of(drawn({"q0": "AAAA", "q1": "AAAA", "q2": "BBBB", "q3": "BBBB"})).repeats
    fickle = of(drawn({"q0": "AABC", "q1": "BAAC", "q2": "CBAA", "q3": "ACBA"})).repeats
    assert steady is not None
    assert fickle is not None
    assert steady.spread.mean == fickle.spread.mean == 0.5  # expected accuracy
    assert (steady.majority.accuracy, fickle.majority.accuracy) == (0.5, 1.0)  # consensus accuracy
    assert (steady.spread.flip_rate, fickle.spread.flip_rate) == (0.0, 1.0)
    assert (steady.spread.consistency, fickle.spread.consistency) == (1.0, 0.5)
    assert (steady.pass_at[-1], fickle.pass_at[-1]) == (0.5, 1.0)


# --------------------------------------------------------------------------------------------------------------------
# Wordings, pictures, and what goes wrong


def test_wordings_are_a_spread_of_their_own_beside_repeats() -> None:
    wordings = [
        replace(line, condition=line.condition.replace("=1", "=a").replace("=2", "=b"))
        for line in drawn({"q0": "ABA", "q1": "AAA"}, name="prompt")
    ]
    again = [replace(line, condition="repeat=1") for line in drawn({"q0": "B", "q1": "B"})]
    found = of(wordings + again)
    assert found.prompts is not None
    assert found.prompts.conditions == ("", "prompt=a", "prompt=b")
    assert found.prompts.accuracies == (1.0, 0.5, 1.0)
    assert found.prompts.sd == pytest.approx(math.sqrt((2 * (1 / 6) ** 2 + (1 / 3) ** 2) / 2))
    assert found.repeats is not None
    assert found.repeats.spread.accuracies == (1.0, 0.0)
    assert list(found.conditions) == ["", "repeat=1", "prompt=a", "prompt=b"]


def test_what_a_score_owes_to_the_picture_is_a_paired_difference() -> None:
    own = {f"q{number}": "A" if number < 30 else "B" for number in range(40)}
    none = {f"q{number}": "A" if number < 10 or number >= 38 else "B" for number in range(40)}
    outcomes = drawn(own) + [replace(line, condition="picture=none") for line in drawn(none)]
    owed = of(outcomes).pictures["none"]
    # Own: 30 right. Without: 12, of which 10 are right with the picture as well.
    assert (owed.pairs, owed.gained, owed.lost) == (40, 20, 2)
    assert owed.difference == pytest.approx((30 - 12) / 40)
    assert owed.p_method == "McNemar, exact"
    # 2 * sum_{i <= 2} C(22, i) / 2^22 = 2 * (1 + 22 + 231) / 4194304
    assert owed.p == pytest.approx(2 * 254 / 4194304)
    assert owed.low is not None
    assert owed.high is not None
    assert 0.2 < owed.low < 0.45 < owed.high < 0.7
    against = of(outcomes).conditions["picture=none"].against_plain
    assert against is not None
    assert against.difference == pytest.approx(-18 / 40)


def test_tokens_and_calls_of_all_conditions_are_counted() -> None:
    lines = [replace(line, usage=Usage(prompt_tokens=10, completion_tokens=2), attempts=1) for line in drawn(FOUR)]
    found = of(lines)
    assert found.usage == Usage(prompt_tokens=120, completion_tokens=24)
    assert found.attempts == 12


def test_the_same_line_twice_is_refused() -> None:
    with pytest.raises(DataError, match="q0"):
        of([*drawn(FOUR), *drawn({"q0": "A"})])


@pytest.mark.parametrize(
    "name",
    ["repeat", "repeat=x", "repeat=0", "repeat=01", "repeat=-1", "temperature=1", "picture=mine", "prompt=", "x"],
)
def test_a_name_that_no_condition_has_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no condition"):
        Condition.named(name)


@given(
    st.builds(
        Condition,
        repeat=st.integers(0, 99),
        prompt=st.sampled_from(["", "a", "d"]),
        shuffle=st.integers(0, 99),
        picture=st.sampled_from(["own", "none", "other"]),
    )
)
def test_a_condition_is_read_back_from_its_name(condition: Condition) -> None:
    assert Condition.named(condition.name) == condition


# --------------------------------------------------------------------------------------------------------------------
# Places


def placed(shown: str, answers: Sequence[str | None], *, gold: str = "A", start: int = 0) -> list[Outcome]:
    """Samples whose options stand in the order `shown` (the data's labels), with what each was answered."""
    return [
        replace(
            outcome(
                f"q{number}",
                "unanswered" if answer is None else "right" if answer == gold else "wrong",
                extraction=answer,
                detail={"gold": gold, "shown": ",".join(shown)},
            ),
            condition="shuffle=1",
        )
        for number, answer in enumerate(answers, start)
    ]


def test_places_by_hand() -> None:
    """Two options, shown as BA to 16 and as AB to 4 samples; gold A. The first place is taken by 14 + 3 of 20."""
    outcomes = placed("BA", ["B"] * 14 + ["A"] * 2) + placed("AB", ["A"] * 3 + ["B"], start=16)
    found = positions(outcomes, on_missing="exclude")
    assert found is not None
    assert (found.draws, found.answered, found.groups) == (20, 20, 20)
    first, second = found.places
    assert (first.gold.correct, first.gold.n) == (3, 4)
    assert (second.gold.correct, second.gold.n) == (2, 16)
    assert (first.answers, second.answers) == (17, 3)
    assert (first.expected, second.expected) == (10.0, 10.0)
    # Surplus of a draw is +-1/2: D = 17/2 - 3/2 = 7, V = 20 / 4 = 5, statistic 49 / 5; p = erfc(sqrt(4.9)).
    assert found.statistic == pytest.approx(9.8)
    assert found.freedom == 1
    assert found.p == pytest.approx(math.erfc(math.sqrt(4.9)))


def test_an_answer_by_content_falls_on_every_place_alike() -> None:
    outcomes = [
        replace(line, condition=f"shuffle={turn + 1}", sample_id=f"q{number}", group=f"q{number}")
        for number in range(12)
        for turn, shown in enumerate(("ABC", "BCA", "CAB"))
        for line in placed(shown, ["B"])
    ]
    found = positions(outcomes, on_missing="exclude")
    assert found is not None
    assert [place.answers for place in found.places] == [12, 12, 12]
    assert (found.statistic, found.freedom, found.p) == (0.0, 0, 1.0)


def test_questions_with_fewer_options_expect_nothing_beyond_them() -> None:
    outcomes = placed("BA", ["A"] * 6) + placed("CBAD", ["A", "B", "C", None], start=6)
    found = positions(outcomes, on_missing="exclude")
    assert found is not None
    assert (found.draws, found.answered) == (10, 9)
    # Six of two options: 3 and 3. Three answered ones of four: 0.75 each.
    assert [place.expected for place in found.places] == pytest.approx([3.75, 3.75, 0.75, 0.75])
    assert [place.answers for place in found.places] == [1, 6 + 1, 1, 0]
    assert found.p is None  # nine groups are too few for a test


def test_several_right_options_and_plain_orders_have_no_place() -> None:
    several = placed("BA", ["A,B"], gold="A,B")
    plain = [replace(line, condition="", detail={}) for line in placed("AB", ["A"])]
    assert positions(several + plain, on_missing="exclude") is None


def test_failures_are_in_no_place() -> None:
    failed = replace(placed("BA", ["A"])[0], result=outcome("q0", FAILED).result)
    found = positions([failed, *placed("BA", ["A"], start=1)], on_missing="exclude")
    assert found is not None
    assert (found.draws, found.answered) == (2, 1)
    assert found.places[1].gold.n == 1


def test_without_a_preference_the_test_seldom_speaks() -> None:
    """400 runs of 60 samples answered by content, three random orders each: p < 0.05 in about 5 %."""
    chance = random.Random(7)
    orders = list(permutations("ABCD"))
    low = 0
    for _ in range(400):
        outcomes = [
            replace(line, condition=f"shuffle={turn}", sample_id=str(number), group=str(number))
            for number in range(60)
            for turn in (1, 2, 3)
            for line in placed("".join(chance.choice(orders)), ["A" if number % 3 else "C"])
        ]
        found = positions(outcomes, on_missing="exclude", resamples=10)
        assert found is not None
        assert found.p is not None
        low += found.p < 0.05
    # Binomial(400, 0.05): 20 +- 4.4; four standard deviations.
    assert low <= 20 + 18


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 10, 25])
@pytest.mark.parametrize("statistic", [0.0, 0.01, 1.0, 3.84, 9.8, 40.0, 300.0])
def test_chi_square_against_scipy(statistic: float, freedom: int) -> None:
    assert chi_square_p(statistic, freedom) == pytest.approx(float(chi2.sf(statistic, freedom)), rel=1e-9, abs=1e-300)
