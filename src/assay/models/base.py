"""The model protocol, request keys, seeds, and model addresses."""

import hashlib
from typing import Protocol

import msgspec

from assay.errors import UsageError
from assay.types import ImagePart, Reply, Request

_encoder = msgspec.json.Encoder(order="deterministic")


class Model(Protocol):
    """Anything that answers requests: a server, a checkpoint in this process, recorded replies, a script.

    `identity` names the model in request keys and manifests: everything that makes its replies its own (kind, name,
    revision), nothing that doesn't (port, concurrency).
    """

    @property
    def identity(self) -> str: ...

    async def generate(self, request: Request) -> tuple[Reply, ...]:
        """Exactly `request.n` replies, or a `CallError`.

        A server that ignores `n` is asked again until there are n.
        """
        ...

    async def close(self) -> None:
        """Free what the model holds; the model can't be used afterwards. Calling it twice is allowed."""
        ...


def request_key(identity: str, request: Request, index: int) -> str:
    """Key of draw `index` of a request: SHA-256 of its canonical JSON, hexadecimal.

    Covers the model's identity, every message (a picture by its content-and-transform hash), every sampling parameter,
    the seed, the prefill and a given text, what was asked about log-probabilities, and the index of the draw. A changed
    prompt can't hit an old reply; equal requests with different indices never share one. `n` and `sample_id` don't
    count.
    """
    messages = [
        [message.role, *(part.key if isinstance(part, ImagePart) else [part.text] for part in message.parts)]
        for message in request.messages
    ]
    canonical = (
        1,  # version of this layout
        identity,
        messages,
        request.sampling,
        request.seed,
        request.top_logprobs,
        request.prefill,
        index,
        *([request.given] if request.given else []),  # added later; keys of requests without it stayed as they were
    )
    return hashlib.sha256(_encoder.encode(canonical)).hexdigest()


def derive_seed(run_seed: int, sample_id: str, index: int) -> int:
    """A seed in 0 .. 2**31 - 1 for draw `index` of a sample, the same on every machine."""
    text = f"{run_seed}\x00{sample_id}\x00{index}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1


class Address(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A parsed model address; `target` is a model name, a folder or a file, `url` only for servers."""

    scheme: str
    target: str
    url: str | None = None


ADDRESS_FORMS = "openai:NAME@URL, local:PATH, replay:FILE or scripted:FILE"


def parse_address(text: str) -> Address:
    """Parse `openai:NAME@URL`, `local:PATH`, `replay:FILE` or `scripted:FILE`.

    Raises:
        UsageError: for anything else.
    """
    scheme, separator, rest = text.partition(":")
    if not separator or scheme not in ("openai", "local", "replay", "scripted") or not rest:
        raise UsageError(f"{text!r} is not a model address. Write {ADDRESS_FORMS}.")
    if scheme != "openai":
        return Address(scheme=scheme, target=rest)
    # Model names may hold '@' (e.g. a revision), URLs after the last one don't in practice.
    name, at, url = rest.rpartition("@")
    if not at or not name or not url.startswith(("http://", "https://")):
        raise UsageError(f"{text!r} lacks a server. Write openai:NAME@http://HOST:PORT/v1.")
    return Address(scheme=scheme, target=name, url=url.rstrip("/"))
