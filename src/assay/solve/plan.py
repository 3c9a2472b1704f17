"""How a run searches: what its manifest says of it, and the pool it makes of a question."""

from collections.abc import Coroutine, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from assay.errors import CallError, UsageError
from assay.solve import search
from assay.solve.critic import Critic, OptionCritic
from assay.solve.option_critique import prompt_hash as options_hash
from assay.solve.policy import ContinueBy, Policy
from assay.solve.policy import prompt_hash as continue_hash
from assay.solve.pool import Member, Strategy
from assay.solve.records import Judged, Rule, Sampled
from assay.solve.refine import Recritique
from assay.solve.search import Found, Problem
from assay.types import Failure

__all__ = ["CRITICAL", "TEMPERATURE", "SearchPlan", "find", "is_greedy", "members_of"]

CRITICAL: tuple[Strategy, ...] = ("best-of-n", "weighted-vote", "refined-bon")
"""Strategies that need a critic."""

TEMPERATURE = 0.7
"""Of sampled solutions where nothing else is asked for. Ours: the paper of GM-PRM names none; VisualPRM's has it."""

_canonical = msgspec.json.Encoder(order="deterministic")


class SearchPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search as a run's manifest has it. Every field changes what the run does, and is in its fingerprint.

    Attributes:
        strategy: how the answer is chosen.
        n: solutions that it chooses from.
        rule: how step scores become a solution's score.
        rounds, refine_below, recritique: see `search.refined_bon`.
        continuation, max_steps: see `policy.Policy`.
        controls: whether the pool also holds what the other strategies need at equal n.
        judge_options: whether the critic judges the options that an answer selects, where several may be right.
        critic: the critic's identity (kind, model, settings, prompt); empty without one.
        continue_prompt: hash of the prompt that hands steps over to a policy that can't be prefilled.
        options_prompt: hash of the prompt for options. These three are filled in by `completed`.
        selected_from: fingerprint of the run whose pools this selection is from; empty for a run of its own. `strategy`
            and `rule` are then the selection's.
    """

    strategy: Strategy
    n: int = 8
    rule: Rule = "mean"
    rounds: int = 1
    refine_below: float | None = None
    recritique: Recritique = "all"
    continuation: ContinueBy = "auto"
    max_steps: int = 12
    controls: bool = True
    judge_options: bool = False
    critic: str = ""
    continue_prompt: str = ""
    options_prompt: str = ""
    selected_from: str = ""

    def completed(self, critic: Critic | None) -> "SearchPlan":
        """The plan with the identity of its critic and of the prompt that hands steps over.

        Raises:
            UsageError: options that don't go together.
        """
        prompt = continue_hash() if self.strategy == "refined-bon" and self.continuation != "prefill" else ""
        plan = structs.replace(
            self,
            critic=critic.identity if critic is not None else "",
            continue_prompt=prompt,
            options_prompt=options_hash() if self.judge_options else "",
        )
        plan.check()
        if self.judge_options and not isinstance(critic, OptionCritic):
            raise UsageError("This critic can't judge options one by one. A generative one can.")
        return plan

    def check(self) -> None:
        """Raise the `UsageError` that this plan deserves."""
        if self.n < 1 or self.rounds < 1 or self.max_steps < 1:
            raise UsageError("A search needs at least one solution, one round and one step.")
        if self.strategy == "greedy":
            raise UsageError("The greedy answer is a run without a search.")
        if self.strategy in CRITICAL and not self.critic:
            raise UsageError(f"--search {self.strategy} needs a critic: name one with --critic.")
        if self.strategy not in CRITICAL and self.critic:
            raise UsageError(f"--search {self.strategy} asks no critic. Leave --critic out.")
        if self.judge_options and not self.critic:
            raise UsageError("--judge-options needs a critic, and a --search that asks one.")
        if self.strategy != "refined-bon":
            for option in ("rounds", "refine_below", "recritique", "continuation"):
                if getattr(self, option) != getattr(_DEFAULTS, option):
                    raise UsageError(f"--{option.replace('_', '-')} is for --search refined-bon alone.")
        if self.controls and self.rounds > 1:
            raise UsageError("The controls' pool has one round of refinement. Add --no-controls for more.")

    def text(self) -> str:
        """As it stands in a manifest. What concerns options is in it only where they are judged."""
        fields = msgspec.to_builtins(self)
        if not self.judge_options:
            del fields["judge_options"], fields["options_prompt"]
        return _canonical.encode(fields).decode()

    @classmethod
    def of(cls, text: str) -> "SearchPlan | None":
        """The plan of a manifest's text; None for a run without a search."""
        return msgspec.json.decode(text, type=cls) if text.startswith("{") else None


_DEFAULTS = SearchPlan(strategy="refined-bon")


async def find(plan: SearchPlan, policy: Policy, critic: Critic | None, problem: Problem) -> Found:
    """The pool of a question.

    Raises:
        CallError: there is not one solution. RunStopped: the run is ending.
    """
    if plan.strategy == "refined-bon" and plan.controls:
        return await search.controls(
            policy,
            _needed(critic),
            problem,
            n=plan.n,
            refine_below=plan.refine_below,
            recritique=plan.recritique,
        )
    if not plan.controls:
        return await _own(plan, policy, critic, problem)
    own, at_zero = await search.together(
        attempted(part) for part in (_own(plan, policy, critic, problem), search.greedy(policy, problem))
    )
    found = [part for part in (own, at_zero) if isinstance(part, Found)]
    errors = [part for part in (own, at_zero) if isinstance(part, CallError)]
    if not found:
        raise errors[0]
    return Found(
        pool=tuple(judged for part in found for judged in part.pool),
        failures=(
            *(failure for part in found for failure in part.failures),
            *(Failure(stage="call", kind=error.kind, message=str(error)) for error in errors),
        ),
    )


async def attempted(work: Coroutine[Any, Any, Found]) -> Found | CallError:
    """What was found, or the failed call that left nothing."""
    try:
        return await work
    except CallError as error:
        return error


async def _own(plan: SearchPlan, policy: Policy, critic: Critic | None, problem: Problem) -> Found:
    """The solutions that the strategy itself chooses from."""
    match plan.strategy:
        case "greedy":
            return await search.greedy(policy, problem)
        case "self-consistency":
            return await search.self_consistency(policy, problem, n=plan.n)
        case "best-of-n" | "weighted-vote":
            return await search.best_of_n(policy, _needed(critic), problem, n=plan.n)
        case "refined-bon":
            return await search.refined_bon(
                policy,
                _needed(critic),
                problem,
                n=plan.n,
                rounds=plan.rounds,
                refine_below=plan.refine_below,
                recritique=plan.recritique,
            )


def _needed(critic: Critic | None) -> Critic:
    if critic is None:
        raise UsageError("This search needs a critic: name one with --critic.")
    return critic


def members_of(plan: SearchPlan, pool: Sequence[Judged]) -> dict[Member, tuple[int, ...]]:
    """Which solutions of a pool each strategy chooses from.

    Refined best-of-n has the plain solutions of its first half, the first ceil(n / 2), and all that came of them.
    """
    greedy = [place for place, one in enumerate(pool) if is_greedy(one)]
    plain = [place for place, one in enumerate(pool) if isinstance(one.solution.origin, Sampled) and not is_greedy(one)]
    members: dict[Member, tuple[int, ...]] = {"greedy": tuple(greedy), "plain": tuple(plain)}
    if plan.strategy == "refined-bon":
        half = -(-plan.n // 2)
        second = [place for place, one in enumerate(pool) if not isinstance(one.solution.origin, Sampled)]
        first = [place for place in plain if _draw(pool[place]) < half]
        members["refined"] = (*first, *second)
    return {name: places for name, places in members.items() if places}


def is_greedy(judged: Judged) -> bool:
    origin = judged.solution.origin
    return isinstance(origin, Sampled) and origin.greedy


def _draw(judged: Judged) -> int:
    origin = judged.solution.origin
    return origin.index if isinstance(origin, Sampled) else -1
