"""The options that name a critic, and what they make."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from assay.cli.readers import open_reader_model
from assay.errors import UsageError
from assay.models.base import ADDRESS_FORMS, Address, Model

if TYPE_CHECKING:
    from assay.solve.critic import Critic, CriticAddress

__all__ = ["CRITIC_OPTIONS", "OF_A_CRITIC", "Named", "critic_from", "critic_options", "named_critic", "refuse"]

CRITIC_OPTIONS = (
    click.option("--critic", metavar="[KIND:]ADDRESS", help=f"Who judges the steps of solutions. {ADDRESS_FORMS}."),
    click.option(
        "--critic-kind",
        type=click.Choice(("generative", "step-token", "outcome", "likelihood")),
        help="Of a critic whose address names none.  [default: generative]",
    ),
    click.option(
        "--critic-samples",
        type=click.IntRange(min=1),
        help="Critiques of a solution, averaged; for servers without log-probabilities.  [default: 1]",
    ),
    click.option(
        "--critic-prompt",
        type=click.Path(path_type=Path),
        help="File with the prompt that a published step-token or outcome critic was trained on: {question} "
        "and {step} or {solution} where these stand.",
    ),
    click.option(
        "--score-on",
        type=click.Choice(("step", "min", "product")),
        help="A generative critic's step score: its judgement of the step's, or of all three.  [default: step]",
    ),
    click.option("--critic-api-key-env", metavar="NAME", help="Environment variable with the critic's key."),
)
"""The options of `critic_from`, in the order of the help page."""

F = TypeVar("F", bound=Callable[..., Any])


def critic_options(function: F) -> F:
    """`CRITIC_OPTIONS` as one decorator."""
    for option in reversed(CRITIC_OPTIONS):
        function = option(function)
    return function


OF_A_CRITIC = {
    "critic_kind": "--critic-kind",
    "critic_samples": "--critic-samples",
    "critic_prompt": "--critic-prompt",
    "score_on": "--score-on",
    "critic_api_key_env": "--critic-api-key-env",
}
"""Options that need a critic -> how they are written."""


class Named(NamedTuple):
    """A critic as the options name it: its kind, what makes it over a model, and that model."""

    kind: str
    make: "Callable[[Model], Critic]"
    model: Model
    name: str
    """What a table of prices has it under."""


def refuse(options: Mapping[str, Any], names: Mapping[str, str], why: str) -> None:
    """Refuse options that are given.

    Raises:
        UsageError: for the first of them.
    """
    for name, written in names.items():
        if options[name] is not None:
            raise UsageError(f"{written} {why}.")


def named_critic(options: Mapping[str, Any]) -> "CriticAddress":
    """The address of --critic.

    Raises:
        UsageError: none, or of another kind than --critic-kind says.
    """
    from assay.solve.critic import parse_critic

    named = parse_critic(options["critic"], kind=options["critic_kind"] or "generative")
    if options["critic_kind"] not in (None, named.kind):
        raise UsageError(f"--critic {options['critic']} is {named.kind}, not {options['critic_kind']}.")
    return named


def critic_from(options: Mapping[str, Any], *, policy: Model | None = None, address: Address | None = None) -> Named:
    """The critic that the options name; nothing is sent yet.

    Args:
        policy, address: a model that is open already; a critic with the same address is the same model.

    Raises:
        UsageError: an address that is none, options that its kind doesn't have, a key or a prompt that isn't there.
    """
    from assay.solve.critic import make_critic

    named = named_critic(options)
    same = policy is not None and named.model == address and options["critic_api_key_env"] is None
    model = policy if policy is not None and same else open_reader_model(named.model, options["critic_api_key_env"])
    settings = {
        "samples": options["critic_samples"],
        "score_on": options["score_on"],
        "prompt": _prompt_of(options["critic_prompt"]),
    }
    make = partial(make_critic, named.kind, **{name: value for name, value in settings.items() if value is not None})
    make(model)  # refuses here what this kind doesn't have
    return Named(named.kind, make, model, named.model.target)


def _prompt_of(path: Path | None) -> str | None:
    """The text of --critic-prompt."""
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise UsageError(f"--critic-prompt {path} can't be read ({cause}). Name a text file.") from cause
