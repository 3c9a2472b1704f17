"""Requests in one line, and one call of a model from a test that is no coroutine."""

import asyncio
from typing import Any

from assay.errors import CallError
from assay.models.base import Model
from assay.models.openai import OpenAIModel
from assay.types import ImagePart, Message, Reply, Request, Sampling, TextPart

_SAMPLING = Sampling(temperature=1.0)
PICTURE = ImagePart(key="k" * 64, media_type="image/png", width=1, height=1, data=b"not really a picture \xff\x00")


def question(
    text: str = "Which bar is highest?",
    *,
    pictures: tuple[ImagePart, ...] = (),
    sampling: Sampling = _SAMPLING,
    **rest: Any,
) -> Request:
    """A request with one user turn: the pictures, then the text."""
    message = Message(role="user", parts=(*pictures, TextPart(text=text)))
    return Request(messages=(message,), sampling=sampling, **rest)


def ask(model: Model, *requests: Request) -> list[tuple[Reply, ...]]:
    """Ask one after another, then close the model."""

    async def run() -> list[tuple[Reply, ...]]:
        try:
            return [await model.generate(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(run())


def ask_server(url: str, request: Request, **options: Any) -> tuple[Reply, ...]:
    """Ask `test-model` at a server once, without a key from the environment."""
    options.setdefault("api_key", "")
    return ask(OpenAIModel("test-model", url, **options), request)[0]


def failure(url: str, request: Request, **options: Any) -> CallError:
    """The error with which a call fails."""
    try:
        replies = ask_server(url, request, **options)
    except CallError as error:
        return error
    raise AssertionError(f"the call succeeded: {replies}")
