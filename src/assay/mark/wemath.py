"""We-Math's four dimensions: does a model that solves a problem also solve its steps, and the other way round?

A problem is asked as a whole (`multi`) and split into its two or three steps. With s the verdicts on the steps and m
the verdict on the whole,

    IK  insufficient knowledge       m wrong and some s wrong
    IG  inadequate generalisation    m wrong and all s right
    CM  complete mastery             m right and  strict: all s right    loose: some s right
    RM  rote memorisation            m right and  strict: some s wrong   loose: all s wrong

Every problem is in exactly one of the four, strictly and loosely. Of n problems

    rate of IK, IG, CM = count / n        rate of RM = RM / (CM + RM)
    score              = (CM + 0.5 IG) / n

Beside them: S1, the accuracy on all steps; S2 and S3, that on whole problems of two and three steps; the accuracy on
each knowledge concept over the steps; and by domain, the plain mean over the domain's concepts.

The script writes 525 problems into the formulas; here n is the number of complete problems. A problem without a
verdict on each of its questions is in none of the four, and is counted.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from assay.mark.status import Mode, OnMissing, credit, natural_key
from assay.types import Outcome

Dimension = Literal["IK", "IG", "CM", "RM"]

WHOLE = "multi"
"""Value of the facet `key` for the whole problem; a step's is its number."""
STEPS = {"2steps": 2, "3steps": 3}
"""Values of the facet `steps`."""
SHOWN = 20
"""Incomplete problems that are named."""


class FourDimensions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counts, rates and the score of one form; rates are fractions, None where they are over nothing."""

    score: float | None
    ik: int
    ig: int
    cm: int
    rm: int
    ik_rate: float | None
    ig_rate: float | None
    cm_rate: float | None
    rm_rate: float | None


class WeMathScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See the module. Accuracies are fractions. `domains` is empty where the data says nothing about domains."""

    problems: int
    incomplete_problems: int
    strict: FourDimensions
    loose: FourDimensions
    s1: float | None
    s2: float | None
    s3: float | None
    domains: dict[str, float]
    knowledge_concepts: dict[str, float]
    first_incomplete: tuple[str, ...]


def dimension(steps: Iterable[bool], whole: bool, *, loose: bool) -> Dimension:
    """The one dimension that a problem is in; `steps` holds at least one verdict."""
    verdicts = list(steps)
    if not whole:
        return "IG" if all(verdicts) else "IK"
    return "CM" if (any(verdicts) if loose else all(verdicts)) else "RM"


def four_dimensions(problems: Iterable[tuple[list[bool], bool]], *, loose: bool) -> FourDimensions:
    """Counts, rates and score over complete problems: (verdicts on the steps, verdict on the whole)."""
    found = [dimension(steps, whole, loose=loose) for steps, whole in problems]
    n = len(found)
    ik, ig, cm, rm = (found.count(name) for name in ("IK", "IG", "CM", "RM"))
    return FourDimensions(
        score=_share(cm + 0.5 * ig, n),
        ik=ik,
        ig=ig,
        cm=cm,
        rm=rm,
        ik_rate=_share(ik, n),
        ig_rate=_share(ig, n),
        cm_rate=_share(cm, n),
        rm_rate=_share(rm, cm + rm),
    )


class _Problems:
    """Verdicts by problem, and over the steps by knowledge concept."""

    def __init__(self) -> None:
        self.steps: dict[str, int] = {}
        self.verdicts: dict[str, dict[str, bool]] = {}
        self.one_step: list[bool] = []
        self.whole: dict[int, list[bool]] = {2: [], 3: []}
        self.concepts: dict[str, list[bool]] = {}
        self.domains: dict[str, set[str]] = {}

    def add(self, outcome: Outcome, right: bool | None) -> None:
        facets = outcome.facets
        steps, key = STEPS[facets["steps"][0]], facets["key"][0]
        verdicts = self.verdicts.setdefault(outcome.group, {})
        self.steps[outcome.group] = steps
        if right is None:
            return
        # A question that the data has twice is right if it is right each time.
        verdicts[key] = verdicts.get(key, True) and right
        if key == WHOLE:
            self.whole[steps].append(right)
            return
        self.one_step.append(right)
        for concept in facets.get("knowledge_concept", ()):
            self.concepts.setdefault(concept, []).append(right)
            for domain in facets.get("domain", ()):
                self.domains.setdefault(domain, set()).add(concept)

    def complete(self, problem: str) -> bool:
        keys = {*(str(step + 1) for step in range(self.steps[problem])), WHOLE}
        return keys <= self.verdicts[problem].keys()


def wemath_scores(outcomes: Iterable[Outcome], mode: Mode, on_missing: OnMissing) -> WeMathScores:
    """The scores of outcomes whose `group` is the problem, with the facets `steps`, `key` and `knowledge_concept`.

    A question without a verdict is left out or counts as wrong, as `on_missing` says; left out, it makes its problem
    incomplete.
    """
    problems = _Problems()
    for outcome in outcomes:
        right = credit(outcome, mode)
        problems.add(outcome, False if right is None and on_missing == "wrong" else right)
    complete = [problem for problem in problems.verdicts if problems.complete(problem)]
    incomplete = sorted(problems.verdicts.keys() - set(complete), key=natural_key)
    split = [_split(problems.verdicts[problem]) for problem in complete]
    concepts = {name: _accuracy(problems.concepts[name]) for name in sorted(problems.concepts)}
    return WeMathScores(
        problems=len(complete),
        incomplete_problems=len(incomplete),
        strict=four_dimensions(split, loose=False),
        loose=four_dimensions(split, loose=True),
        s1=_share(sum(problems.one_step), len(problems.one_step)),
        s2=_share(sum(problems.whole[2]), len(problems.whole[2])),
        s3=_share(sum(problems.whole[3]), len(problems.whole[3])),
        domains={
            domain: sum(concepts[name] for name in sorted(names)) / len(names)
            for domain, names in sorted(problems.domains.items())
        },
        knowledge_concepts=concepts,
        first_incomplete=tuple(incomplete[:SHOWN]),
    )


def _split(verdicts: Mapping[str, bool]) -> tuple[list[bool], bool]:
    return [right for key, right in verdicts.items() if key != WHOLE], verdicts[WHOLE]


def _accuracy(verdicts: list[bool]) -> float:
    return sum(verdicts) / len(verdicts)


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
