"""One reply while it grows: its tokens, its text, and when it is over."""

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.models.local_sampling import generator
from assay.models.thinking import split_thinking
from assay.types import Finish, Reply, Request, Token, Usage

# So many tokens of the prompt are decoded together with the reply's first one, since a token's text depends on its
# neighbours (leading spaces, characters of several bytes).
_CONTEXT = 6

# How an incomplete character is decoded.
_INCOMPLETE = "\ufffd"


class Transcript:
    """Turns tokens into text one by one, such that the pieces together are the text.

    A token that ends within a character gives the empty piece; the token that completes the character gives all of it.
    """

    def __init__(self, tokenizer: Any, prompt: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._ids = list(prompt[-_CONTEXT:])
        self._said = len(self._ids)  # tokens whose text is out
        self._start = 0  # decoding begins here

    def add(self, token: int) -> str:
        """The text that is complete with this token and wasn't before."""
        self._ids.append(token)
        before, text = self._decode(self._said), self._decode(len(self._ids))
        if len(text) <= len(before) or text.endswith(_INCOMPLETE):
            return ""
        self._start, self._said = self._said, len(self._ids)
        return text[len(before) :]

    def rest(self) -> str:
        """The text of tokens whose character stayed incomplete, with U+FFFD for what is missing."""
        before, text = self._decode(self._said), self._decode(len(self._ids))
        self._start = self._said = len(self._ids)
        return text[len(before) :]

    def _decode(self, end: int) -> str:
        return self._tokenizer.decode(
            self._ids[self._start : end], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )


class Draw:
    """Draw `index` of a request.

    Args:
        request: what was asked.
        index: of the draw, as in `Request.index`.
        prompt: ids of the prompt's tokens, without padding.
        row: the prompt's row in its batch.
        room: tokens that fit the context after the prompt; None without bound.
        thinking: mark of thinking that the prompt leaves open, else empty.
        tokenizer, ends: of the checkpoint.
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
        tokenizer: Any,
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
        self._transcript = Transcript(tokenizer, prompt)
        self._count = 0
        self._text = ""
        self._tokens: list[Token] = []

    def add(self, token: int, logprob: float, top: tuple[tuple[str, float], ...]) -> None:
        """Take up the next token; sets `finish` when the reply is over."""
        self._count += 1
        if token in self._ends:
            self._extend(self._transcript.rest())
            self.finish = "stop"
            return
        self._tokens.append(Token(text="", logprob=logprob, top=top))
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
            tokens=None if self.top_logprobs is None else tuple(self._tokens),
        )

    def _extend(self, piece: str) -> None:
        """Append a piece to the text and to the last token, and cut both at the first stop string."""
        if not piece or not self._tokens:
            return
        longest = max(map(len, self.sampling.stop), default=0)
        begin = max(0, len(self._text) - longest + 1)
        self._text += piece
        last = self._tokens[-1]
        self._tokens[-1] = msgspec.structs.replace(last, text=last.text + piece)
        places = [place for stop in self.sampling.stop if stop and (place := self._text.find(stop, begin)) >= 0]
        if places:
            self._cut(min(places))
            self.finish = "stop"

    def _cut(self, length: int) -> None:
        """Drop the text from `length` on, and the tokens that lie behind it."""
        surplus = len(self._text) - length
        self._text = self._text[:length]
        while surplus > 0 and self._tokens:
            last = self._tokens.pop()
            if len(last.text) > surplus:
                self._tokens.append(msgspec.structs.replace(last, text=last.text[:-surplus]))
            surplus -= len(last.text)
