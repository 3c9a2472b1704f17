"""Servers for one test."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from support.servers import ChatServer, MakeServer


@pytest.fixture
def make_server() -> Iterator[MakeServer]:
    """Starts a `ChatServer`; all of them are stopped when the test ends."""
    with ExitStack() as stack:

        def make(**options: Any) -> ChatServer:
            return stack.enter_context(ChatServer(**options))

        yield make
