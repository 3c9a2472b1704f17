"""A smaller search out of a larger pool: what k of its solutions would have given, on average over all parts."""

from typing import Literal

from assay.solve.digest import Digest, Entry
from assay.solve.estimators import Scored, Vote, best_of_k, pass_at_k, vote_at_k
from assay.solve.pool import MEMBERS, Member

__all__ = ["WAY_MEMBERS", "Way", "estimate", "possible"]

Way = Literal["greedy", "self-consistency", "best-of-n", "weighted-vote", "refined-bon", "pass", "pass-refined"]
"""A strategy, or a ceiling: the share of samples of which any plain (any refined) solution is right."""

WAY_MEMBERS: dict[Way, Member] = {**MEMBERS, "pass": "plain", "pass-refined": "refined"}
"""Which solutions of a pool it is about."""


def possible(one: Digest, way: Way, k: int) -> bool:
    """Whether k solutions of the pool are a smaller run of the strategy."""
    members = one.members.get(WAY_MEMBERS[way], ())
    if WAY_MEMBERS[way] == "plain":
        return 1 <= k <= len(members)
    families = families_of(one)
    size = len(families[0]) if families else 0
    return bool(size) and all(len(family) == size for family in families) and k % size == 0 and 0 < k <= len(members)


def estimate(one: Digest, way: Way, k: int) -> float:
    """Expected share of right answers with k of the sample's solutions; with all of them, whether the choice is right.

    Of parts, equal ranks and votes share evenly: which of them comes first is as random as the part.
    """
    entries = [one.entries[place] for place in one.members[WAY_MEMBERS[way]]]
    if k == len(entries) and way in one.chosen:
        return float(one.entries[one.chosen[way][0]].robust is True)
    match way:
        case "pass":
            return pass_at_k(len(entries), sum(entry.robust is True for entry in entries), k)
        case "best-of-n":
            return best_of_k([Scored(entry.rank, entry.robust is True) for entry in entries], k)
        case "self-consistency":
            return vote_at_k([Vote(entry.answer, entry.robust is True) for entry in entries], k).value
        case "weighted-vote":
            votes = [Vote(entry.answer, entry.robust is True, entry.weight) for entry in entries]
            return vote_at_k(votes, k).value
        case "refined-bon":
            best = [max(family, key=lambda entry: entry.rank) for family in families_of(one)]
            scored = [Scored(entry.rank, entry.robust is True) for entry in best]
            return best_of_k(scored, k * len(best) // len(entries))
        case "pass-refined":
            families = families_of(one)
            right = sum(any(entry.robust is True for entry in family) for family in families)
            return pass_at_k(len(families), right, k * len(families) // len(entries))
        case "greedy":
            return float(entries[0].robust is True)


def families_of(one: Digest) -> list[list[Entry]]:
    """The refined pool as solutions of the first half, each with what came of it: a smaller N has fewer of these."""
    families: dict[int, list[Entry]] = {}
    for place in one.members.get("refined", ()):
        root = place
        while (parent := one.entries[root].parent) is not None:
            root = parent
        families.setdefault(root, []).append(one.entries[place])
    return list(families.values())
