"""What policy and critics share: prompts, how question, pictures and steps are shown, what comes back unread."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

from assay.benchmarks.prompting import fill, hash_prompts
from assay.errors import CallError, UsageError
from assay.models.base import Model
from assay.solve.records import Unjudged
from assay.solve.steps import strip_step
from assay.types import ImagePart, Message, Part, Reply, Request, TextPart, Usage

TOP_LOGPROBS = 20
"""Alternatives asked for at every token, the most that OpenAI and vLLM give (ours)."""


@cache
def load_prompt(name: str) -> str:
    """The text of `prompts/<name>.txt`."""
    return files("assay.solve").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")


def prompt_hash(*names: str, own: str | None = None) -> str:
    """SHA-256 over prompt files, hexadecimal; of `own` where that is used in their place."""
    return hash_prompts({name: own or load_prompt(name) for name in names})


def question_text(messages: Sequence[Message]) -> str:
    """The question as the policy was asked: options, caption and the form of the answer are part of it.

    What a system turn says is meant for the policy alone.
    """
    return "\n".join(
        part.text
        for message in messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, TextPart)
    )


def pictures(messages: Sequence[Message]) -> tuple[ImagePart, ...]:
    """The pictures that the policy was shown, in order."""
    return tuple(part for message in messages for part in message.parts if isinstance(part, ImagePart))


def numbered(steps: Iterable[str]) -> list[str]:
    """The steps with our numbers in place of their own."""
    return [f"Step {number}: {strip_step(step)}" for number, step in enumerate(steps, start=1)]


_TAG = re.compile(r"<(?=/?(?:question|solution|checked_steps)>)", re.IGNORECASE)


def inside(text: str) -> str:
    """A text that can't end the part of the prompt that it stands in."""
    return _TAG.sub("<\u200b", text)


def checked_prompt(text: str, *names: str) -> str:
    """A prompt of the user's own, such as the one that a published critic was trained on.

    Raises:
        UsageError: it does not ask for just these values.
    """
    found = set(re.findall(r"\{([a-z_]+)\}", text))
    if found != set(names):
        wanted = " and ".join(f"{{{name}}}" for name in names)
        has = ", ".join(f"{{{name}}}" for name in sorted(found)) or "neither"
        raise UsageError(f"The critic's prompt must have {wanted} where these stand, and no other; it has {has}.")
    return text


def prompt_message(name: str, messages: Sequence[Message], *, own: str | None = None, **values: str) -> Message:
    """One user turn: the policy's pictures, then the prompt with its question and further values filled in.

    `own`: a prompt to be used in place of the packaged one.
    """
    shown = {name: inside(value) for name, value in values.items()}
    text = fill(own or load_prompt(name), {"question": inside(question_text(messages)), **shown})
    parts: tuple[Part, ...] = (*pictures(messages), TextPart(text=text))
    return Message(role="user", parts=parts)


EMPTY = Unjudged(kind="empty", reason="the solution has no steps", calls=0)


async def ask(model: Model, request: Request) -> tuple[Reply, ...] | Unjudged:
    """The replies, or why there are none.

    Raises:
        RunStopped: the run is ending.
    """
    try:
        return await model.generate(request)
    except CallError as error:
        return Unjudged(kind="failed", reason=f"{error.kind}: {error}")


def said(reply: Reply) -> str:
    """What a reply says. Servers with a reasoning parser may take all of it for thinking, and leave no answer."""
    return reply.text if reply.text.strip() or reply.finish != "stop" else reply.reasoning


def total(replies: Iterable[Reply]) -> Usage | None:
    """Tokens of several replies; None where none says."""
    known = [reply.usage for reply in replies if reply.usage is not None]
    if not known:
        return None
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in known),
        completion_tokens=sum(usage.completion_tokens for usage in known),
    )
