"""The options of a search, what a plan makes of them, and what is printed of its pools."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from assay.cli.critic import CRITIC_OPTIONS, OF_A_CRITIC, critic_from, refuse
from assay.errors import UsageError
from assay.models.base import Address, Model

if TYPE_CHECKING:
    from assay.engine.budget import Price
    from assay.engine.store import RunStore
    from assay.evaluate import Wrap
    from assay.mark.summary import OnMissing
    from assay.solve.controls import Controls
    from assay.solve.critic import Critic
    from assay.solve.plan import SearchPlan
    from assay.solve.pool import PoolRecord
    from assay.solve.records import Rule
    from assay.types import Outcome

F = TypeVar("F", bound=Callable[..., Any])

STRATEGIES = ("greedy", "self-consistency", "best-of-n", "weighted-vote", "refined-bon")
RULES = ("mean", "min", "max", "product", "last")

rule_option = click.option(
    "--rule", type=click.Choice(RULES), help="How step scores become a solution's score.  [default: mean]"
)


sizes_option = click.option(
    "--n",
    "sizes",
    metavar="N[,N...]",
    help="Solutions of a sample to choose from. Several numbers draw the curve up to the largest of them.",
)


def search_options(function: F) -> F:
    """The options of `search_from`."""
    for option in reversed(
        (
            click.option(
                "--search",
                type=click.Choice(STRATEGIES),
                default="greedy",
                show_default=True,
                help="How an answer is searched for; `greedy` asks once.",
            ),
            sizes_option,
            *CRITIC_OPTIONS,
            click.option(
                "--judge-options",
                is_flag=True,
                default=None,
                help="Where several options may be right, the critic also judges each one that the answer selects; "
                "`assay select --abstain-below` then drops options.",
            ),
            rule_option,
            click.option("--rounds", type=click.IntRange(min=1), help="Rounds of refinement.  [default: 1]"),
            click.option(
                "--refine-below",
                type=click.FloatRange(0, 1),
                help="Refine only where the score of the first wrong step is below this.",
            ),
            click.option(
                "--recritique",
                type=click.Choice(("all", "new")),
                help="Which scores of a refined solution count: all, or only those of steps that the model wrote after "
                "the correction.  [default: all]",
            ),
            click.option(
                "--continuation",
                type=click.Choice(("auto", "prefill", "prompt")),
                help="How corrected steps are handed over to the model.  [default: auto]",
            ),
            click.option("--max-steps", type=click.IntRange(min=1), help="Most steps of a solution.  [default: 12]"),
            click.option(
                "--controls/--no-controls",
                default=None,
                help="Whether the pool also holds what the other strategies need at equal N.  [default: controls]",
            ),
        )
    ):
        function = option(function)
    return function


class Searched(NamedTuple):
    """What `evaluate.Plan` takes of the options, and what they say of the printing.

    `ks`: the numbers of solutions that curves are drawn over. `model`: the critic's, to be closed in the
    end; `name`: what a table of prices has it under.
    """

    plan: "SearchPlan | None" = None
    critic: "Callable[[Wrap], Critic] | None" = None
    model: Model | None = None
    name: str = ""
    ks: tuple[int, ...] = ()

    def critic_of(self, model: Model, asked: Model) -> "Callable[[Wrap], Critic] | None":
        """The critic, its model replaced by `asked` where it is `model`: the policy's as the run asks it."""
        make = self.critic
        return make and (lambda wrap: make(lambda other: wrap(asked if other is model else other)))


_OF_A_SEARCH = {
    "sizes": "--n",
    "critic": "--critic",
    "rule": "--rule",
    "rounds": "--rounds",
    "refine_below": "--refine-below",
    "recritique": "--recritique",
    "continuation": "--continuation",
    "max_steps": "--max-steps",
    "controls": "--controls",
    "judge_options": "--judge-options",
}


def search_from(options: Mapping[str, Any], policy: Model, address: Address) -> Searched:
    """The search that the options name; nothing is sent yet.

    Args:
        policy, address: the model that writes solutions; a critic with the same address is the same model.

    Raises:
        UsageError: options that don't go together.
    """
    if not options["critic"]:
        refuse(options, OF_A_CRITIC, "is about a critic: name one with --critic")
    if options["search"] == "greedy":
        refuse(options, _OF_A_SEARCH, "is about a search: choose one with --search")
        return Searched()
    from assay.solve.plan import CRITICAL, SearchPlan

    if options["search"] not in CRITICAL and options["critic"]:
        raise UsageError(f"--search {options['search']} asks no critic. Leave --critic out.")
    if options["search"] in CRITICAL and not options["critic"]:
        raise UsageError(f"--search {options['search']} needs a critic: name one with --critic.")
    sizes = sizes_of(options["sizes"])
    fields = (name for name in _OF_A_SEARCH if name not in ("sizes", "critic"))
    given = {name: options[name] for name in fields if options[name] is not None}
    if given.get("rounds", 1) > 1 and options["controls"] is None:
        given["controls"] = False
    plan = SearchPlan(strategy=options["search"], n=max(sizes), **given)
    ks = sizes if len(sizes) > 1 else ()
    if not options["critic"]:
        plan.completed(None)
        return Searched(plan=plan, ks=ks)
    named = critic_from(options, policy=policy, address=address)
    plan.completed(named.make(named.model))

    def critic(wrap: "Wrap") -> "Critic":
        return named.make(wrap(named.model))

    return Searched(plan=plan, critic=critic, model=named.model, name=named.name, ks=ks)


def sizes_of(text: str | None) -> tuple[int, ...]:
    """The numbers of --n in ascending order; 8 where nothing is said."""
    parts = (text or "8").split(",")
    if not all(part.strip().isascii() and part.strip().isdecimal() and 0 < int(part) <= _MOST for part in parts):
        raise UsageError(f"--n {text} is no number of solutions. Write e.g. 8, or 1,2,4,8 for a curve.")
    return tuple(sorted({int(part) for part in parts}))


_MOST = 4096
"""Most solutions of a sample: beyond it a slip of the pen is likelier than a plan."""


def prices_of(path: Path | None, policy: str, critic: str) -> "tuple[Price | None, Price | None]":
    """The prices of policy and critic, found by their names or identities (`openai:NAME ...`)."""
    from assay.engine.budget import load_prices

    prices = load_prices(path)

    def find(model: str) -> "Price | None":
        return prices.find(model) or prices.find(_bare(model))

    return find(policy), find(critic) if critic else None


def _bare(identity: str) -> str:
    """`generative:openai:NAME prompt=...` -> NAME."""
    named = identity.partition(" ")[0].partition("#")[0]
    return named.rpartition("openai:")[2]


def controls_of(
    store: "RunStore",
    outcomes: "Iterable[Outcome]",
    pools: "Iterable[PoolRecord]",
    *,
    rule: "Rule | None" = None,
    ks: tuple[int, ...] = (),
    on_missing: "OnMissing",
    prices: "tuple[Price | None, Price | None]" = (None, None),
) -> "Controls | None":
    """The controls of a run; None for one without a search.

    Args:
        pools: the run's, with whatever marks.
        rule: None takes the run's own.
    """
    from assay.solve.controls import controls
    from assay.solve.plan import SearchPlan

    plan = SearchPlan.of(store.manifest.search)
    if plan is None:
        return None
    return controls(outcomes, pools, rule=rule or plan.rule, on_missing=on_missing, ks=ks, prices=prices)
