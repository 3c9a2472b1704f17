"""Questions asked in several variants (DynaMath): how often right on average, and how often right whatever the variant.

A *seed* is a question, a *variant* one concrete version of it; a seed's variants form a group. With v seeds' verdicts

    average accuracy    = right samples / samples                        every sample counts once
    worst-case accuracy = seeds right in every variant / seeds           "robust accuracy" in the literature
    best-case accuracy  = seeds right in some variant / seeds            ours
    verdict agreement   = mean over seeds of the share of pairs of variants with one verdict
                        = mean of (r(r-1) + w(w-1)) / (k(k-1))           ours; r right, w = k - r wrong of k variants

The paper's repetition consistency is something else (equal answers to one variant asked several times).

The last three are over complete seeds: those with a verdict in every variant that occurs in the data. A worst case
over fewer variants is easier, so incomplete seeds are left out of them, counted, and the first named.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from assay.mark.status import Mode, OnMissing, credit, natural_key
from assay.types import Outcome

SHOWN = 20
"""Incomplete seeds that are named."""


class SeedCell(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The seeds of one subject or level. `n`: its seeds; `complete`: those that `worst` is over."""

    n: int
    complete: int
    average: float | None
    worst: float | None


class VariantScores(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """See the module. Accuracies are fractions, None where nothing was counted."""

    n_samples: int
    n_seeds: int
    n_variants: int
    complete_seeds: int
    incomplete_seeds: int
    average_accuracy: float | None
    worst_case_accuracy: float | None
    best_case_accuracy: float | None
    verdict_agreement: float | None
    per_variant_accuracy: dict[str, float | None]
    by_subject: dict[str, SeedCell]
    by_level: dict[str, SeedCell]
    first_incomplete: tuple[str, ...]


class _Seed:
    """What became of one seed: credits by variant (several only where samples repeat), and its facets."""

    def __init__(self) -> None:
        self.credits: dict[str, list[bool]] = {}
        self.facets: dict[str, str] = {}

    def complete(self, variants: int) -> bool:
        return len(self.credits) == variants

    def verdicts(self) -> list[bool]:
        return [all(found) for found in self.credits.values()]

    def agreement(self) -> float | None:
        verdicts = self.verdicts()
        k, right = len(verdicts), sum(verdicts)
        wrong = k - right
        return (right * (right - 1) + wrong * (wrong - 1)) / (k * (k - 1)) if k > 1 else None


def variant_scores(outcomes: Iterable[Outcome], mode: Mode, on_missing: OnMissing) -> VariantScores:
    """The scores of outcomes whose `group` is the seed and whose facet `variant` names the variant.

    A sample without a verdict is left out or counts as not right, as `on_missing` says; left out, it makes its seed
    incomplete.
    """
    seeds: dict[str, _Seed] = {}
    variants: set[str] = set()
    for outcome in outcomes:
        seed = seeds.setdefault(outcome.group, _Seed())
        seed.facets.update({name: values[0] for name, values in outcome.facets.items() if values})
        (variant,) = outcome.facets.get("variant") or ("",)
        variants.add(variant)
        right = credit(outcome, mode)
        if right is None and on_missing == "wrong":
            right = False
        if right is not None:
            seed.credits.setdefault(variant, []).append(right)
    complete = [seed for seed in seeds.values() if seed.complete(len(variants))]
    incomplete = sorted((name for name, seed in seeds.items() if not seed.complete(len(variants))), key=natural_key)
    return VariantScores(
        n_samples=sum(len(found) for seed in seeds.values() for found in seed.credits.values()),
        n_seeds=len(seeds),
        n_variants=len(variants),
        complete_seeds=len(complete),
        incomplete_seeds=len(incomplete),
        average_accuracy=_average(seeds.values()),
        worst_case_accuracy=_mean([all(seed.verdicts()) for seed in complete]),
        best_case_accuracy=_mean([any(seed.verdicts()) for seed in complete]),
        verdict_agreement=_mean([found for seed in complete if (found := seed.agreement()) is not None]),
        per_variant_accuracy={
            variant: _mean([right for seed in seeds.values() for right in seed.credits.get(variant, ())])
            for variant in sorted(variants, key=natural_key)
        },
        by_subject=_cells(seeds, "subject", len(variants)),
        by_level=_cells(seeds, "level", len(variants)),
        first_incomplete=tuple(incomplete[:SHOWN]),
    )


def _cells(seeds: Mapping[str, _Seed], facet: str, variants: int) -> dict[str, SeedCell]:
    parts: dict[str, list[_Seed]] = {}
    for seed in seeds.values():
        if facet in seed.facets:
            parts.setdefault(seed.facets[facet], []).append(seed)
    return {value: _cell(parts[value], variants) for value in sorted(parts)}


def _cell(seeds: list[_Seed], variants: int) -> SeedCell:
    complete = [seed for seed in seeds if seed.complete(variants)]
    return SeedCell(
        n=len(seeds),
        complete=len(complete),
        average=_average(seeds),
        worst=_mean([all(seed.verdicts()) for seed in complete]),
    )


def _average(seeds: Iterable[_Seed]) -> float | None:
    return _mean([right for seed in seeds for found in seed.credits.values() for right in found])


def _mean(values: list[bool] | list[float]) -> float | None:
    return sum(values) / len(values) if values else None
