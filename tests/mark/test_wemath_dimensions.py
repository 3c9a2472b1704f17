"""We-Math's four dimensions; the expected numbers are worked out by hand."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.wemath import WeMathScores, dimension, wemath_scores
from assay.types import Outcome
from support.outcomes import outcome


def problems(table: dict[str, str]) -> list[Outcome]:
    """`{"a": "rw r"}`: the steps' verdicts, a blank, the whole's; r right, w wrong, f failed, n not in the data."""
    words = {"r": "right", "w": "wrong", "f": "failed"}
    found: list[Outcome] = []
    for problem, letters in table.items():
        steps, whole = letters.split()
        for key, letter in [*((str(n), s) for n, s in enumerate(steps, start=1)), ("multi", whole)]:
            if letter != "n":
                concept = "lines" if key == "multi" else ("lines", "areas", "angles")[int(key) - 1]
                domain = {"lines": "plane", "areas": "plane", "angles": "solid"}[concept]
                facets = {"steps": f"{len(steps)}steps", "key": key, "knowledge_concept": concept, "domain": domain}
                found.append(outcome(f"{problem}:{key}", words[letter], group=problem, facets=facets))
    return found


def scores(table: dict[str, str]) -> WeMathScores:
    return wemath_scores(problems(table), "robust", "exclude")


@pytest.mark.parametrize(
    ("steps", "whole", "strict", "loose"),
    [
        ("rr", "r", "CM", "CM"),
        ("rw", "r", "RM", "CM"),
        ("ww", "r", "RM", "RM"),
        ("rr", "w", "IG", "IG"),
        ("rw", "w", "IK", "IK"),
        ("ww", "w", "IK", "IK"),
        ("rrr", "r", "CM", "CM"),
        ("wwr", "r", "RM", "CM"),
        ("www", "r", "RM", "RM"),
        ("rrr", "w", "IG", "IG"),
        ("rrw", "w", "IK", "IK"),
    ],
)
def test_one_dimension_each(steps: str, whole: str, strict: str, loose: str) -> None:
    verdicts = [letter == "r" for letter in steps]
    assert dimension(verdicts, whole == "r", loose=False) == strict
    assert dimension(verdicts, whole == "r", loose=True) == loose


def test_by_hand() -> None:
    found = scores({"a": "rr r", "b": "rw r", "c": "ww r", "d": "rr w", "e": "wwr w", "f": "rrr r"})
    strict, loose = found.strict, found.loose
    assert found.problems == 6
    # a and f are mastered, b and c only learned by heart, d is not generalised, e lacks knowledge.
    assert (strict.cm, strict.rm, strict.ig, strict.ik) == (2, 2, 1, 1)
    assert strict.score == (2 + 0.5 * 1) / 6
    # The published form of the same: (n - 0.5 IG - RM - IK) / n.
    assert strict.score == (6 - 0.5 * 1 - 2 - 1) / 6
    assert strict.rm_rate == 2 / (2 + 2)
    assert (strict.ik_rate, strict.ig_rate, strict.cm_rate) == (1 / 6, 1 / 6, 2 / 6)
    # Loosely b is mastered as well.
    assert (loose.cm, loose.rm, loose.ig, loose.ik) == (3, 1, 1, 1)
    assert loose.score == (3 + 0.5 * 1) / 6
    assert loose.rm_rate == 1 / (3 + 1)
    # Steps: a 2/2, b 1/2, c 0/2, d 2/2, e 1/3, f 3/3.
    assert found.s1 == 9 / 14
    assert found.s2 == 3 / 4  # a, b, c of a, b, c, d
    assert found.s3 == 1 / 2  # f of e, f
    # Over the steps: of the first ones (lines) a b d f are right, of the second (areas) a d f, of the third e f.
    assert found.knowledge_concepts == {"lines": 4 / 6, "areas": 3 / 6, "angles": 2 / 2}
    # A domain is the plain mean of its concepts, whatever their numbers of questions.
    assert found.domains == {"plane": pytest.approx((4 / 6 + 3 / 6) / 2), "solid": 1.0}


def test_incomplete_problems_are_in_no_dimension_and_named() -> None:
    table = {"p1": "rr r", "p2": "rf r", "p3": "rr n", "p10": "nr r"}
    found = scores(table)
    assert (found.problems, found.incomplete_problems) == (1, 3)
    assert found.first_incomplete == ("p2", "p3", "p10")
    assert (found.strict.cm, found.strict.score) == (1, 1.0)
    assert found.s1 == 6 / 6  # what was answered still counts
    as_wrong = wemath_scores(problems(table), "robust", "wrong")
    assert (as_wrong.problems, as_wrong.first_incomplete) == (2, ("p3", "p10"))
    assert (as_wrong.strict.cm, as_wrong.strict.rm, as_wrong.loose.cm) == (1, 1, 2)


def test_nothing_to_score() -> None:
    found = scores({})
    assert (found.problems, found.strict.score, found.strict.rm_rate, found.s1) == (0, None, None, None)
    # No problem is right as a whole: RM is a share of nothing.
    assert scores({"a": "rw w"}).strict.rm_rate is None


three = [
    " ".join(("".join(steps), whole)) for n in (2, 3) for steps in itertools.product("rwf", repeat=n) for whole in "rwf"
]
tables = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(three), min_size=1)


@given(tables, st.integers(0, 10**6))
def test_order_does_not_matter(table: dict[str, str], seed: int) -> None:
    outcomes = problems(table)
    shuffled = random.Random(seed).sample(outcomes, len(outcomes))
    found, again = (wemath_scores(part, "robust", "exclude") for part in (outcomes, shuffled))
    assert found == again


@given(tables)
def test_duplicating_the_data_changes_no_share(table: dict[str, str]) -> None:
    once = problems(table)
    more = problems({f"{problem}'": letters for problem, letters in table.items()})
    found, doubled = (wemath_scores(part, "robust", "exclude") for part in (once, [*once, *more]))
    for first, second in ((found.strict, doubled.strict), (found.loose, doubled.loose)):
        assert (second.ik, second.ig, second.cm, second.rm) == (2 * first.ik, 2 * first.ig, 2 * first.cm, 2 * first.rm)
        assert (second.score, second.rm_rate) == (first.score, first.rm_rate)
    assert (doubled.s1, doubled.s2, doubled.s3, doubled.domains) == (found.s1, found.s2, found.s3, found.domains)


@given(tables)
def test_every_problem_is_in_exactly_one_dimension(table: dict[str, str]) -> None:
    found = scores(table)
    complete = sum("f" not in letters for letters in table.values())
    for form in (found.strict, found.loose):
        assert form.ik + form.ig + form.cm + form.rm == found.problems == complete
        if found.problems:
            published = (found.problems - 0.5 * form.ig - form.rm - form.ik) / found.problems
            assert form.score == pytest.approx(published)
    assert (found.strict.ik, found.strict.ig) == (found.loose.ik, found.loose.ig)
