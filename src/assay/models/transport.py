"""Bytes to and from a server over one shared session, and every way in which that fails as a `CallError`.

A secret (the key, the values of extra headers, a password or a query in the address) never appears in a message: not in
ours, and not where a server repeats what it was sent.
"""

import asyncio
import io
import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from assay.errors import CallError, CallKind, UsageError
from assay.models.wire import error_text, excerpt

CHAT = "/chat/completions"

# aiohttp warns of larger bodies given as bytes; a file-like one is sent piece by piece.
_LARGEST_PLAIN_BODY = 2**20 - 1

# What servers say when the prompt does not fit: vLLM (old and new), llama.cpp, SGLang, OpenAI's code, Anthropic and
# Mistral behind gateways, TGI, Gemini.
_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|exceed_context_size|exceeds? the (available )?context"
    r"|longer than the (maximum )?model('s)? (length|context)|maximum model length|max_model_len"
    r"|prompt is too long|too large for model|inputs? tokens? .{0,40}must (be|have)|input validation error.{0,40}inputs"
    r"|token count .{0,30}exceeds the maximum|string_above_max_length|context window",
    re.IGNORECASE,
)
# Codes with which a server withholds a prompt's reply: OpenAI and Azure, Alibaba, gateways.
_FILTERED = re.compile(
    r"content_?filter|content_policy_violation|responsibleaipolicyviolation|data_inspection_failed|moderation|flagged",
    re.IGNORECASE,
)
# An unknown model behind status 400.
_UNKNOWN_MODEL = re.compile(r"model_not_found|\bmodel\b.{0,200}?\b(does )?not (exist|found)\b", re.IGNORECASE)
_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})


class Filtered(Exception):
    """A content filter withheld the reply: an outcome rather than an error; it never leaves `assay.models`."""


def base_address(url: str) -> SplitResult:
    """The parts of a server's base address, without a final slash and without the path of one of its pages.

    Raises:
        UsageError: it is no address of a server; the text is not repeated, since it may hold a password.
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # e.g. a port that is no number
        usable, parts = False, SplitResult("", "", "", "", "")
    if not usable:
        raise UsageError("The server's address can't be used. Write it as http://HOST:PORT/v1.")
    return parts._replace(path=parts.path.rstrip("/").removesuffix("/chat/completions"), fragment="")


class Transport:
    """One session for one server.

    Args:
        base: the server's address, from `base_address`.
        headers: sent with every request.
        api_key: sent as a bearer token.
        timeout: seconds for one call, from asking for a connection to the last byte. Never a limit for the session.
        silence: seconds without a byte after which a call is given up; None for no limit but `timeout`.
        connections: most open connections; callers bound their own concurrency.
        largest_answer: bytes, decompressed, above which an answer is given up. Log-probabilities make long ones.
    """

    def __init__(
        self,
        base: SplitResult,
        *,
        headers: Mapping[str, str],
        api_key: str | None,
        timeout: float,
        silence: float | None,
        connections: int,
        largest_answer: int = 512 * 2**20,
    ) -> None:
        self._base = base
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        secrets = [value for value in headers.values() if len(value) >= 8]
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
            secrets.append(api_key)
        secrets += [part for part in (base.password, base.query) if part]
        self._secrets = sorted(secrets, key=len, reverse=True)
        self._timeout = timeout
        self._limits = aiohttp.ClientTimeout(total=timeout, sock_connect=min(30.0, timeout), sock_read=silence)
        self._silence = silence
        self._connections = connections
        self._largest_answer = largest_answer
        self._pages: dict[str, URL] = {}
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @property
    def shown_url(self) -> str:
        """The base address as it may be shown: without user, password and query."""
        host = self._base.netloc.rpartition("@")[2]
        return urlunsplit((self._base.scheme, host, self._base.path, "", ""))

    async def post(self, path: str, body: bytes) -> tuple[bytes, str]:
        """Send a body; the answer's bytes and content type.

        Raises:
            CallError: for any other status than 200 and for everything that breaks on the way.
            Filtered: a content filter withheld the reply.
        """
        return await self._exchange("POST", path, body)

    async def get(self, path: str) -> bytes:
        return (await self._exchange("GET", path, None))[0]

    async def close(self) -> None:
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise UsageError(f"The model at {self.shown_url} was closed; open it again.")
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._connections, ttl_dns_cache=300)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self._headers, timeout=self._limits, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    async def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[bytes, str]:
        session = self._open()
        address = self._pages.get(path)
        if address is None:
            address = self._pages[path] = URL(urlunsplit(self._base._replace(path=self._base.path + path)))
        data = io.BytesIO(body) if body is not None and len(body) > _LARGEST_PLAIN_BODY else body
        try:
            # A redirect would turn the POST into a GET, or carry the key to another host.
            async with session.request(method, address, data=data, allow_redirects=False) as response:
                content = await self._read(response)
                if response.status == 200:
                    return content, response.headers.get("Content-Type", "")
                status, headers = response.status, response.headers
            failure = self._refusal(status, headers, content, path)
        except TimeoutError as cause:
            failure = self._timed_out(connecting=isinstance(cause, aiohttp.ConnectionTimeoutError))
        except aiohttp.ClientConnectorError as cause:
            failure = self._connection(f"can't be reached ({_reason(cause)})")
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as cause:
            failure = self._connection(f"broke the connection off ({_reason(cause)})")
        # Raised out here so that it is not chained to aiohttp's exception, which holds the request's headers.
        raise failure

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if response.content_length is not None and "Content-Encoding" not in response.headers:
            if response.content_length <= self._largest_answer:
                return await response.read()
        else:
            pieces: list[bytes] = []
            room = self._largest_answer
            async for piece in response.content.iter_any():
                pieces.append(piece)
                room -= len(piece)
                if room < 0:
                    break
            else:
                return b"".join(pieces)
        response.close()
        limit = self._largest_answer / 2**20
        raise CallError("malformed", f"{self.shown_url} sent an answer of more than {limit:g} MiB.")

    def _timed_out(self, *, connecting: bool) -> CallError | Filtered:
        doing = "accept a connection" if connecting else "finish its answer"
        limit = "" if connecting else f" within {self._timeout:g} s"
        if self._silence is not None and not connecting:
            limit += f" (at most {self._silence:g} s of silence)"
        return CallError("timeout", f"{self.shown_url} did not {doing}{limit}.", retryable=True)

    def _connection(self, problem: str) -> CallError | Filtered:
        return CallError("connection", self.clean(f"{self.shown_url} {problem}."), retryable=True)

    def clean(self, text: str) -> str:
        """The text without the secrets that this transport sends."""
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        return text

    def _refusal(self, status: int, headers: Mapping[str, str], content: bytes, path: str) -> CallError | Filtered:
        error = _error_object(content)
        said = self.clean(error_text(error) if error is not None else excerpt(content)) or "nothing more"
        codes = _codes(error)
        if path == CHAT and status in (400, 403, 422, 451) and any(_FILTERED.search(code) for code in codes):
            return Filtered(said)
        kind, retryable, fatal = _classify(status, said, codes)
        message = f"{self.shown_url}{path} answered {status}: {said.rstrip('.')}."
        if kind == "auth":
            message += " Check the API key (ASSAY_API_KEY, or --api-key-env)."
        if 300 <= status < 400:
            message += f" It redirects to {_without_query(headers.get('Location', 'nowhere'))}; write that address."
        wait = _retry_after(headers, content) if retryable else None
        return CallError(kind, message, retryable=retryable, fatal=fatal, retry_after=wait, status=status)


def _classify(status: int, said: str, codes: list[str]) -> tuple[CallKind, bool, bool]:
    """(kind, retryable, fatal) of a status that is not 200."""
    # llama.cpp and old vLLM say it with 500.
    if status in (400, 413, 422, 500) and any(_TOO_LONG.search(text) for text in (said, *codes)):
        return "too_long", False, False
    if status in (401, 402, 403):
        return "auth", False, True
    if 300 <= status < 400 or status in (404, 405):
        return "not_found", False, True
    if status == 400 and any(_UNKNOWN_MODEL.search(text) for text in (said, *codes)):
        return "not_found", False, True
    if status == 429 and "insufficient_quota" in codes:
        return "rate_limit", False, True
    if status == 429:
        return "rate_limit", True, False
    if status >= 500 or status in _RETRYABLE_STATUS:
        return "server", True, False
    if status < 400:  # 1xx and 2xx other than 200
        return "malformed", True, False
    return "bad_request", False, False


def _error_object(content: bytes) -> Any:
    """The error in a body, or None where it is no JSON object or list."""
    try:
        decoded = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast(Any, decoded) if isinstance(decoded, dict | list) else None


def _codes(error: Any) -> list[str]:
    """The codes and types anywhere in an error object: servers nest them differently."""
    if isinstance(error, list):
        return [code for item in cast(list[Any], error)[:20] for code in _codes(item)]
    if not isinstance(error, dict):
        return []
    fields = cast(dict[str, Any], error)
    own = [str(fields[name]) for name in ("code", "type", "status", "reason") if fields.get(name)]
    return own + [code for name in ("error", "innererror", "details", "metadata") for code in _codes(fields.get(name))]


_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')


def _retry_after(headers: Mapping[str, str], content: bytes) -> float | None:
    """Seconds to wait: `retry-after-ms`, `Retry-After` (seconds or a date), Gemini's `retryDelay`."""
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("Retry-After", "").strip()
    seconds = _seconds(after)
    if seconds is not None:
        return seconds
    if after:
        try:
            # Against the server's own clock where it tells the time.
            now = parsedate_to_datetime(headers["Date"]).timestamp() if "Date" in headers else time.time()
            return max(0.0, parsedate_to_datetime(after).timestamp() - now)
        except (ValueError, TypeError, OverflowError):
            return None
    delay = _RETRY_DELAY.search(content)
    return float(delay[1]) if delay else None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _reason(cause: BaseException) -> str:
    """What the operating system or aiohttp says, without request objects."""
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {cause.certificate_error}"
    if isinstance(cause, aiohttp.ClientConnectorError):
        return cause.os_error.strerror or type(cause.os_error).__name__
    if isinstance(cause, aiohttp.ClientResponseError):
        return cause.message or type(cause).__name__
    if isinstance(cause, aiohttp.ServerDisconnectedError):
        return "the server hung up"
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__


def _without_query(address: str) -> str:
    return address.partition("?")[0]
