"""Critics: what judges the steps of a solution, and how one is named on the command line.

A critic's address is that of a model, with the kind of critic before it; without one it is generative:

    openai:qwen-critic@http://host:8000/v1              generative: writes an analysis and a judgement of every step
    step-token:openai:visualprm@http://host:8000/v1     says + or - after every step
    outcome:openai:judge@http://host:8000/v1            says Yes or No of the whole solution
    likelihood:local:checkpoints/solver                 how probable each step is to a (stronger) model

Any critic goes with any policy. One of your own needs no more than an `identity` and a `critique` (see `Critic`).
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from msgspec import Struct

from assay.errors import UsageError
from assay.models import open_model
from assay.models.base import ADDRESS_FORMS, Address, Model, parse_address
from assay.solve.records import Critique, OptionCritique, Solution, Unjudged
from assay.types import Message, Option, Sample

CriticKind = Literal["generative", "step-token", "outcome", "likelihood"]


class Critic(Protocol):
    """Anything that judges solutions.

    `identity` names it in manifests: its kind, its model, and every setting that changes what it says.
    """

    @property
    def identity(self) -> str: ...

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Critique | Unjudged:
        """Judge one solution.

        Args:
            sample: without gold.
            messages: what the policy was asked, pictures included.
            solution: as the policy wrote it.

        Returns:
            Unjudged where there is no verdict, whatever the cause: a call that failed is none either.

        Raises:
            RunStopped: the run is ending.
        """
        ...

    async def close(self) -> None:
        """Free what the critic holds."""
        ...


@runtime_checkable
class OptionCritic(Protocol):
    """A critic that also judges the options which an answer selects, one by one (`--judge-options`)."""

    async def judge_options(
        self, sample: Sample, messages: Sequence[Message], selected: Sequence[Option]
    ) -> OptionCritique | Unjudged:
        """Judge each of the options; arguments and errors as of `Critic.critique`."""
        ...


Said = Critique | Unjudged


class ScriptedCritic:
    """A critic that says what a function says: for tests, examples and simulations.

    Args:
        function: called with the sample and the solution; may be a coroutine function. It must depend on its arguments
            alone wherever results are to be repeatable.
        identity: stands for the function in manifests.
    """

    def __init__(
        self,
        function: Callable[[Sample, Solution], Said | Awaitable[Said]],
        *,
        identity: str = "scripted-critic:function",
    ) -> None:
        self._function = function
        self._identity = identity

    @property
    def identity(self) -> str:
        return self._identity

    async def critique(self, sample: Sample, messages: Sequence[Message], solution: Solution) -> Said:  # noqa: ARG002
        said = self._function(sample, solution)
        return await said if inspect.isawaitable(said) else said

    async def close(self) -> None:
        """Nothing to free."""


class CriticAddress(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A parsed critic address."""

    kind: CriticKind
    model: Address


def parse_critic(text: str, *, kind: CriticKind = "generative") -> CriticAddress:
    """Parse `KIND:ADDRESS`, or a model's address alone for a critic of `kind`.

    Raises:
        UsageError: for anything else.
    """
    named, separator, rest = text.partition(":")
    for known in get_args(CriticKind):
        if separator and named == known:
            return CriticAddress(kind=known, model=parse_address(rest))
    try:
        return CriticAddress(kind=kind, model=parse_address(text))
    except UsageError:
        raise UsageError(
            f"{text!r} is not a critic's address. Write a model's ({ADDRESS_FORMS}), "
            f"with a kind before it if it isn't generative: {', '.join(get_args(CriticKind))}."
        ) from None


def make_critic(kind: CriticKind, model: Model, **options: Any) -> Critic:
    """A critic over a model; `options` are keywords of its class.

    Raises:
        UsageError: an option that this kind doesn't have.
    """
    maker = _maker(kind)
    known = [name for name in inspect.signature(maker).parameters if name != "model"]
    unknown = sorted(set(options).difference(known))
    if unknown:
        raise UsageError(f"A {kind} critic has no option {', '.join(unknown)}. It has: {', '.join(known)}.")
    return maker(model, **options)


def _maker(kind: CriticKind) -> Callable[..., Critic]:
    match kind:
        case "generative":
            from assay.solve.generative import GenerativeCritic

            return GenerativeCritic
        case "step-token":
            from assay.solve.step_token import StepTokenCritic

            return StepTokenCritic
        case "outcome":
            from assay.solve.outcome_critic import OutcomeCritic

            return OutcomeCritic
        case "likelihood":
            from assay.solve.likelihood import LikelihoodCritic

            return LikelihoodCritic


def _unwrapped(model: Model) -> Model:
    return model


def open_critic(
    address: str,
    *,
    kind: CriticKind = "generative",
    api_key: str | None = None,
    timeout: float = 600.0,
    model_options: dict[str, Any] | None = None,
    wrap: Callable[[Model], Model] = _unwrapped,
    **options: Any,
) -> Critic:
    """Open a critic by its address (see above); nothing is sent yet.

    Args:
        address: `KIND:ADDRESS`, or a model's address alone.
        kind: of a critic whose address names none.
        api_key, timeout, model_options: see `open_model`.
        wrap: puts the engine's `Caller` around the model, so that replies are stored and calls retried.
        options: keywords of the critic's class, e.g. `samples=4`.

    Raises:
        UsageError: an address or an option that can't be used.
    """
    parsed = parse_critic(address, kind=kind)
    model = open_model(parsed.model, api_key=api_key, timeout=timeout, options=model_options or {})
    return make_critic(parsed.kind, wrap(model), **options)
