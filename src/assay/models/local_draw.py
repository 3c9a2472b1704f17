"""One reply while it grows: its tokens, its text, and when it is over."""

from collections.abc import Callable, Sequence
from typing import Any

from assay.models.local_sampling import generator
from assay.models.thinking import split_thinking
from assay.types import Finish, Reply, Request, Token, Usage

# So many tokens of the prompt are decoded together with the reply's first one, since a token's text depends on its
# neighbours (leading spaces, characters of several bytes).
_CONTEXT = 6

# How an incomplete character is decoded.
_INCOMPLETE = "\ufffd"


# Texts of short runs of tokens that a decoder remembers: some 20 MB.
REMEMBERED = 1 << 17

Decode = Callable[[tuple[int, ...]], str]


class Decoder:
    """A tokenizer's `decode`, without special tokens; what was decoded before is remembered.

    Replies are decoded as they grow, two or three tokens at a time, and the same few come again and again: asking the
    tokenizer each time takes longer than a small model takes for a token.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[tuple[int, ...], str] = {}

    def __call__(self, ids: tuple[int, ...]) -> str:
        text = self._known.get(ids)
        if text is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            text = self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
            self._known[ids] = text
        return text


class Transcript:
    """Turns tokens into text one by one, such that the pieces together are the text.

    A token that ends within a character gives the empty piece; the token that completes the character gives all of it.
    """

    def __init__(self, decode: Decode, prompt: Sequence[int]) -> None:
        self._decode = decode
        self._window = tuple(prompt[-_CONTEXT:])  # the last tokens whose text is out, and those whose text isn't
        self._said = len(self._window)  # how many of them are out

    def add(self, token: int) -> str:
        """The text that is complete with this token and wasn't before."""
        self._window += (token,)
        before, text = self._decode(self._window[: self._said]), self._decode(self._window)
        if len(text) <= len(before) or text.endswith(_INCOMPLETE):
            return ""
        self._window = self._window[self._said :]
        self._said = len(self._window)
        return text[len(before) :]

    def rest(self) -> str:
        """The text of tokens whose character stayed incomplete, with U+FFFD for what is missing."""
        before, text = self._decode(self._window[: self._said]), self._decode(self._window)
        self._window, self._said = (), 0
        return text[len(before) :]


class Draw:
    """Draw `index` of a request.

    Args:
        request: what was asked.
        index: of the draw, as in `Request.index`.
        prompt: ids of the prompt's tokens, without padding.
        row: the prompt's row in its batch.
        room: tokens that fit the context after the prompt; None without bound.
        thinking: mark of thinking that the prompt leaves open, else empty.
        decode: the text of tokens.
        ends: ids of the tokens that end a reply.
    """

    def __init__(
        self,
        request: Request,
        index: int,
        *,
        prompt: Sequence[int],
        row: int,
        room: int | None,
        thinking: str,
        decode: Decode,
        ends: frozenset[int],
    ) -> None:
        self.sampling = request.sampling
        self.top_logprobs = request.top_logprobs
        self.random = generator(request.seed, index)
        self.row = row
        self.finish: Finish | None = None
        self.broken = False  # the model gave no numbers
        self._prompt_tokens = len(prompt)
        self._thinking = thinking
        self._limit = self.sampling.max_tokens if room is None else min(self.sampling.max_tokens, room)
        self._ends = ends
        self._transcript = Transcript(decode, prompt)
        self._count = 0
        self._stops = tuple(stop for stop in self.sampling.stop if stop)
        self._overlap = max(map(len, self._stops), default=1) - 1  # characters of a stop string that may be out already
        self._text = ""
        self._pieces: list[str] = []  # the text, token by token
        self._scores: list[tuple[float, tuple[tuple[str, float], ...]]] = []

    def add(self, token: int, logprob: float, top: tuple[tuple[str, float], ...]) -> None:
        """Take up the next token; sets `finish` when the reply is over."""
        self._count += 1
        if token in self._ends:
            self._extend(self._transcript.rest())
            self.finish = "stop"
            return
        self._pieces.append("")
        self._scores.append((logprob, top))
        self._extend(self._transcript.add(token))
        if self.finish is None and self._count >= self._limit:
            self._extend(self._transcript.rest())
            self.finish = self.finish or "length"

    def reply(self, *, name: str, first: bool) -> Reply:
        """The finished reply; `first` of its request's draws carries the prompt's tokens."""
        finish = self.finish or "other"
        text, reasoning = split_thinking(self._thinking + self._text, truncated=finish == "length")
        if not reasoning:
            text = text.removeprefix(self._thinking)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish=finish,
            model=name,
            usage=Usage(prompt_tokens=self._prompt_tokens if first else 0, completion_tokens=self._count),
            tokens=None if self.top_logprobs is None else self._tokens(),
        )

    def _tokens(self) -> tuple[Token, ...]:
        return tuple(
            Token(text=piece, logprob=logprob, top=top)
            for piece, (logprob, top) in zip(self._pieces, self._scores, strict=True)
        )

    def _extend(self, piece: str) -> None:
        """Append a piece to the text and to the last token, and cut both at the first stop string."""
        if not piece or not self._pieces:
            return
        begin = max(0, len(self._text) - self._overlap)
        self._text += piece
        self._pieces[-1] += piece
        places = [place for stop in self._stops if (place := self._text.find(stop, begin)) >= 0]
        if places:
            self._cut(min(places))
            self.finish = "stop"

    def _cut(self, length: int) -> None:
        """Drop the text from `length` on, and the tokens that lie behind it."""
        surplus = len(self._text) - length
        self._text = self._text[:length]
        while surplus > 0 and self._pieces:
            last = self._pieces.pop()
            if len(last) > surplus:
                self._pieces.append(last[:-surplus])
            else:
                self._scores.pop()
            surplus -= len(last)
