"""What goes wrong at the test server, and what it answers when nothing does.

Faults and answers depend on the call alone, so that the order in which calls arrive does not matter.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request that the server saw. `attempt` counts equal bodies, from 0."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int
    attempt: int

    @property
    def seed(self) -> int:
        return int(self.body.get("seed", 0))

    @property
    def question(self) -> str:
        """The text of the last user turn."""
        turns = [turn for turn in self.body["messages"] if turn["role"] == "user"]
        content = turns[-1]["content"]
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part["type"] == "text")

    @property
    def pictures(self) -> list[str]:
        """The data URLs of all pictures, in order."""
        return [
            part["image_url"]["url"]
            for turn in self.body["messages"]
            if isinstance(turn["content"], list)
            for part in turn["content"]
            if part["type"] == "image_url"
        ]

    @property
    def prefill(self) -> str | None:
        """The text of a trailing assistant turn."""
        last = self.body["messages"][-1]
        return last["content"] if last["role"] == "assistant" else None


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One choice of a reply. `message` is merged over the message last, e.g. {"content": None}."""

    text: str = ""
    finish: str | None = "stop"
    message: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is sent instead. `cut` breaks off in the middle of it, `stall` waits these seconds first."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cut: bool = False
    stall: float = 0.0


Answer = Callable[[Call, int], "str | Draw"]
FaultFor = Callable[[Call], "Fault | None"]

# ----------------------------------------------------------------------------------------------------
# Faults


def error(status: int, message: str, *, code: str | None = None, **headers: str) -> Fault:
    """An error in OpenAI's form; header names are written with underscores: `retry_after="2"`."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return Fault(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def rate_limited(retry_after: str | None = "0") -> Fault:
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return error(429, "Rate limit reached", **headers)


def server_error(status: int = 500) -> Fault:
    return error(status, "internal error")


def cut() -> Fault:
    """The connection breaks in the middle of the body."""
    return Fault(body=b'{"choices": [{"message": {"content": "Answer: A', cut=True)


def stall(seconds: float = 30.0) -> Fault:
    """Nothing comes for a long while."""
    return Fault(stall=seconds, body=b"{}")


def malformed() -> Fault:
    return Fault(body=b'{"choices": [{"message": {"content": "Answer: A"')


def html(status: int = 200) -> Fault:
    """What a proxy says in the server's stead."""
    return Fault(status=status, body=b"<html><body>Gateway page: Answer: A</body></html>", content_type="text/html")


def error_in_200() -> Fault:
    return Fault(body=b'{"error": {"message": "upstream is overloaded", "code": 502}}')


def no_choices() -> Fault:
    return Fault(body=b'{"id": "x", "object": "chat.completion", "choices": []}')


def azure_filtered() -> Fault:
    """Azure's answer to a prompt that its content filter withholds."""
    inner = {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {"violence": {"filtered": True}},
    }
    body = {"error": {"message": "filtered", "code": "content_filter", "status": 400, "innererror": inner}}
    return Fault(status=400, body=json.dumps(body).encode())


def no_fault(_call: Call) -> None:
    """All goes well."""


def always(fault: Fault) -> FaultFor:
    return lambda _call: fault


def sequence(*faults: Fault | None) -> FaultFor:
    """The first call gets the first fault, and so on in order of arrival; later calls get none."""

    def fault(call: Call) -> Fault | None:
        return faults[call.number] if call.number < len(faults) else None

    return fault


TRANSIENT: tuple[Callable[[], Fault], ...] = (
    rate_limited,
    server_error,
    cut,
    malformed,
    html,
    error_in_200,
    no_choices,
)


def share(rate: float, *, seed: int, kinds: Sequence[Callable[[], Fault]] = TRANSIENT) -> FaultFor:
    """Fail this share of calls. Depends on the seed, the body and how often that body came before."""

    def fault(call: Call) -> Fault | None:
        digest = hashlib.sha256(
            f"{seed}\x00{call.attempt}\x00{json.dumps(call.body, sort_keys=True)}".encode()
        ).digest()
        if int.from_bytes(digest[:8], "big") >= rate * 2**64:
            return None
        return kinds[digest[8] % len(kinds)]()

    return fault


# ----------------------------------------------------------------------------------------------------
# Answers


def says(text: str, finish: str | None = "stop", **message: Any) -> Answer:
    """Always the same; `message` is merged over the message."""
    return lambda _call, _draw: Draw(text=text, finish=finish, message=message)


def by_question(replies: dict[str, str], default: str = "I don't know.") -> Answer:
    """The reply of the first key that occurs in the question."""

    def answer(call: Call, _draw: int) -> str:
        return next((reply for key, reply in replies.items() if key in call.question), default)

    return answer


def seeded(call: Call, draw: int) -> str:
    """Depends on question, prefill, seed and draw alone: what a server with honest seeds gives."""
    text = f"{call.question}\x00{call.prefill}\x00{call.seed}\x00{draw}"
    letter = "ABCD"[hashlib.sha256(text.encode()).digest()[0] % 4]
    return f"seed {call.seed} draw {draw}. Answer: {letter}"


def counting(call: Call, draw: int) -> str:
    """Continues a count in words, as a model does whose turn was really continued."""
    words: list[str] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    said = [word for word in re.findall(r"[a-z]+", call.prefill or "") if word in words]
    if not said:
        return seeded(call, draw)
    return " " + ", ".join(words[words.index(said[-1]) + 1 :]) + "."
