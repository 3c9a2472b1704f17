"""Average and worst-case accuracy over seeds; the expected numbers are worked out by hand."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.variants import variant_scores
from assay.types import Outcome
from support.outcomes import outcome


def seeds(table: dict[str, str], subjects: dict[str, str] | None = None) -> list[Outcome]:
    """`{"a": "rrw"}`: seed a in three variants; r right, w wrong, f failed, n no outcome at all."""
    words = {"r": "right", "w": "wrong", "f": "failed"}
    return [
        outcome(
            f"v{variant}_{seed}",
            words[letter],
            group=seed,
            variant=str(variant),
            subject=(subjects or {}).get(seed, "algebra"),
            level="high school",
        )
        for seed, letters in table.items()
        for variant, letter in enumerate(letters, start=1)
        if letter != "n"
    ]


def test_by_hand() -> None:
    found = variant_scores(
        seeds({"a": "rrrr", "b": "rrrw", "c": "rrww", "d": "wwww"}, {"d": "puzzle test"}), "robust", "exclude"
    )
    assert found.average_accuracy == 9 / 16  # 4 + 3 + 2 + 0 right of 4 x 4
    assert found.worst_case_accuracy == 1 / 4  # only a
    assert found.best_case_accuracy == 3 / 4  # all but d
    # Pairs of 4 variants: 6. One verdict: a 6/6, b 3/6 (the pairs of its three right ones), c 1 + 1 of 6, d 6/6.
    assert found.verdict_agreement == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4)
    # Variant 1: a, b, c right; 2: the same; 3: a, b; 4: a.
    assert found.per_variant_accuracy == {"1": 3 / 4, "2": 3 / 4, "3": 2 / 4, "4": 1 / 4}
    algebra, puzzle = found.by_subject["algebra"], found.by_subject["puzzle test"]
    assert (algebra.n, algebra.average, algebra.worst) == (3, 9 / 12, 1 / 3)
    assert (puzzle.n, puzzle.average, puzzle.worst) == (1, 0.0, 0.0)
    assert (found.by_level["high school"].n, found.by_level["high school"].worst) == (4, 1 / 4)


def test_incomplete_seeds_are_named_and_in_no_worst_case() -> None:
    table = {"q1": "rrr", "q10": "rrn", "q2": "rrf", "q3": "wrr"}
    found = variant_scores(seeds(table), "robust", "exclude")
    assert (found.n_seeds, found.complete_seeds, found.incomplete_seeds) == (4, 2, 2)
    assert found.first_incomplete == ("q2", "q10")
    assert found.worst_case_accuracy == 1 / 2  # q1 right, q3 not; q2 and q10 are not known
    assert found.average_accuracy == 9 / 10  # 3 + 2 + 2 + 2 of 3 + 2 + 2 + 3
    as_wrong = variant_scores(seeds(table), "robust", "wrong")
    assert as_wrong.first_incomplete == ("q10",)
    assert as_wrong.worst_case_accuracy == 1 / 3  # q2 is now known not to be right in every variant
    assert as_wrong.average_accuracy == 9 / 11


def test_one_variant_alone_and_nothing_at_all() -> None:
    one = variant_scores(seeds({"a": "r", "b": "w"}), "robust", "exclude")
    assert one.worst_case_accuracy == one.average_accuracy == one.best_case_accuracy == 1 / 2
    assert one.verdict_agreement is None  # there are no pairs
    none = variant_scores([], "robust", "exclude")
    assert none.average_accuracy is none.worst_case_accuracy is none.verdict_agreement is None
    assert none.n_seeds == 0


tables = st.integers(1, 5).flatmap(
    lambda k: st.dictionaries(
        st.sampled_from("abcdefgh"), st.text(alphabet="rwf", min_size=k, max_size=k), min_size=1, max_size=6
    )
)


@given(tables, st.integers(0, 10**6))
def test_order_does_not_matter(table: dict[str, str], seed: int) -> None:
    outcomes = seeds(table)
    shuffled = random.Random(seed).sample(outcomes, len(outcomes))
    assert variant_scores(shuffled, "robust", "exclude") == variant_scores(outcomes, "robust", "exclude")


def accuracies(outcomes: Sequence[Outcome]) -> list[float | None]:
    found = variant_scores(outcomes, "robust", "exclude")
    return [
        found.average_accuracy,
        found.worst_case_accuracy,
        found.best_case_accuracy,
        found.verdict_agreement,
        *found.per_variant_accuracy.values(),
    ]


@given(tables)
def test_duplicating_the_data_changes_no_accuracy(table: dict[str, str]) -> None:
    once = seeds(table)
    assert accuracies([*once, *once]) == pytest.approx(accuracies(once))  # the same samples again
    other_seeds = seeds({f"{seed}'": letters for seed, letters in table.items()})
    assert accuracies([*once, *other_seeds]) == pytest.approx(accuracies(once))


@given(tables)
def test_worst_average_and_best_are_in_order_over_complete_seeds(table: dict[str, str]) -> None:
    complete = {seed: letters.replace("f", "w") for seed, letters in table.items()}
    found = variant_scores(seeds(complete), "robust", "exclude")
    assert found.worst_case_accuracy is not None
    assert found.average_accuracy is not None
    assert found.best_case_accuracy is not None
    assert found.worst_case_accuracy <= found.average_accuracy + 1e-12
    assert found.average_accuracy <= found.best_case_accuracy + 1e-12
