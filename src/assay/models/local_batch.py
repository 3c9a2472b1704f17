"""Several requests answered together by a checkpoint; what is wrong with one of them stays its own matter."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.errors import CallError, boundary
from assay.models.local_checkpoint import Checkpoint, library
from assay.models.local_decode import Names, decode
from assay.models.local_draw import Decoder, Draw
from assay.models.local_prompt import Prompt, Prompter, PromptError
from assay.models.local_score import given_length, score, spelled
from assay.types import Reply, Request, Usage

Answer = tuple[Reply, ...] | CallError


class CheckpointError(CallError):
    """The checkpoint failed in a way that is no request's fault."""

    def __init__(self, message: str) -> None:
        super().__init__("server", message)


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Some draws of one request: `indices` within `Request.index .. index + n - 1`."""

    request: Request
    indices: range


@dataclass(frozen=True, kw_only=True)
class _Prompted:
    """An ask whose prompt is ready; `place` is its number in the batch as it came."""

    place: int
    ask: Ask
    prompt: Prompt

    @property
    def given(self) -> bool:
        """Whether nothing is generated, see `Request.given`."""
        return bool(self.ask.request.given)


class Answerer:
    """Answers batches of requests; used by one thread."""

    def __init__(self, checkpoint: Checkpoint, *, stopped: Callable[[], bool]) -> None:
        self.checkpoint = checkpoint
        self._prompter = Prompter(checkpoint)
        self._decoder = Decoder(checkpoint.tokenizer)
        self._names = Names(checkpoint.tokenizer)
        self._stopped = stopped

    def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in order: its replies, or what kept it from having any."""
        answers: dict[int, Answer] = {}
        ready: list[_Prompted] = []
        for place, ask in enumerate(asks):
            try:
                _check(ask.request)
                ready.append(_Prompted(place=place, ask=ask, prompt=self._prompt(ask.request)))
            except CallError as problem:
                answers[place] = problem
        for pictures in (False, True):  # processors want all prompts of a batch with pictures, or none
            for given in (False, True):
                alike = [one for one in ready if (bool(one.prompt.pictures), one.given) == (pictures, given)]
                if alike:
                    self._run(alike, answers)
        return [answers[place] for place in range(len(asks))]

    def _prompt(self, request: Request) -> Prompt:
        """The prompt, with the text that is only to be scored at its end."""
        prompt = self._prompter.prompt(request)
        return replace(prompt, text=prompt.text + request.given) if request.given else prompt

    def _run(self, batch: Sequence[_Prompted], answers: dict[int, Answer]) -> None:
        """Encode and decode a batch, less the prompts that can't be read or are too long."""
        try:
            inputs = self._prompter.encode([one.prompt for one in batch])
        except PromptError as problem:
            if len(batch) == 1:
                answers[batch[0].place] = problem
                return
            for one in batch:  # whose fault is it? Some processors can't batch these pictures at all
                self._run([one], answers)
            return
        lengths: list[int] = inputs["attention_mask"].sum(-1).tolist()
        context = self.checkpoint.context
        fitting: list[_Prompted] = []
        for one, length in zip(batch, lengths, strict=True):
            if context is None or length < context:
                fitting.append(one)
            else:
                answers[one.place] = _too_long(length, context)
        if len(fitting) < len(batch):
            if fitting:
                self._run(fitting, answers)
            return
        self._decode(batch, inputs, answers)

    def _decode(self, batch: Sequence[_Prompted], inputs: dict[str, Any], answers: dict[int, Answer]) -> None:
        """Run a batch; where memory runs out, its halves one after the other."""
        try:
            with boundary(CheckpointError, "the checkpoint failed"):
                if batch[0].given:
                    self._score(batch, inputs, answers)
                    return
                draws = [self._draws(row, one, inputs) for row, one in enumerate(batch)]
                decode(
                    self.checkpoint,
                    inputs,
                    [draw for some in draws for draw in some],
                    names=self._names,
                    stopped=self._stopped,
                )
                for one, some in zip(batch, draws, strict=True):
                    answers[one.place] = self._finish(some)
                return
        except CheckpointError as problem:
            if not _out_of_memory(problem.__cause__):
                raise
        # Outside the handler, so that the failed attempt's tensors are free by now.
        _free_memory()
        halves = _halves(batch)
        if halves is None:
            answers[batch[0].place] = CheckpointError("Memory ran out on this request alone: send smaller pictures.")
            return
        first, second = halves
        if first[0].place == second[-1].place:
            self._run(first, answers)
            done = answers[first[0].place]
            self._run(second, answers)
            answers[first[0].place] = _joined(done, answers[first[0].place])
            return
        self._run(first, answers)
        self._run(second, answers)

    def _score(self, batch: Sequence[_Prompted], inputs: dict[str, Any], answers: dict[int, Answer]) -> None:
        """Read the log-probabilities of given texts."""
        givens = [one.ask.request.given for one in batch]
        lengths = [
            given_length(self.checkpoint, one.prompt.text.removesuffix(given), given)
            for one, given in zip(batch, givens, strict=True)
        ]
        tops = [one.ask.request.top_logprobs or 0 for one in batch]
        for row, scored in enumerate(score(self.checkpoint, inputs, lengths, tops, self._names)):
            ids = _ids(inputs, row)
            tokens = spelled(self._decoder, ids, scored, givens[row])
            if any(math.isnan(token.logprob) for token in scored):
                answers[batch[row].place] = _not_a_number()
            elif tokens is None:
                answers[batch[row].place] = PromptError("The checkpoint's tokens don't spell the text that was given.")
            else:
                usage = Usage(prompt_tokens=len(ids))
                name = self.checkpoint.identity
                answers[batch[row].place] = (Reply(text=givens[row], model=name, usage=usage, tokens=tokens),)

    def _draws(self, row: int, one: _Prompted, inputs: dict[str, Any]) -> list[Draw]:
        ids = _ids(inputs, row)
        context = self.checkpoint.context
        return [
            Draw(
                one.ask.request,
                index,
                prompt=ids,
                row=row,
                room=None if context is None else context - len(ids),
                thinking=one.prompt.thinking,
                decode=self._decoder,
                ends=self.checkpoint.ends,
            )
            for index in one.ask.indices
        ]

    def _finish(self, draws: Sequence[Draw]) -> Answer:
        if any(draw.broken for draw in draws):
            return _not_a_number()
        if any(draw.finish is None for draw in draws):
            return CheckpointError("The model was closed before the reply was finished.")
        name = self.checkpoint.identity
        return tuple(draw.reply(name=name, first=place == 0) for place, draw in enumerate(draws))


def _ids(inputs: dict[str, Any], row: int) -> list[int]:
    """A row's tokens, without padding."""
    return inputs["input_ids"][row][inputs["attention_mask"][row].bool()].tolist()


def _not_a_number() -> CallError:
    return CallError("malformed", "The checkpoint gave NaN: try float32 (`dtype`).")


def _check(request: Request) -> None:
    if request.given and request.n != 1:
        raise PromptError("A text that is given can't be drawn several times.")
    sampling = request.sampling
    if sampling.extra:
        raise PromptError(f"A model in this process takes no further settings: {', '.join(sorted(sampling.extra))}.")
    if sampling.max_tokens < 1 or sampling.temperature < 0 or not 0 < sampling.top_p <= 1:
        raise PromptError(f"This can't be sampled: {sampling}.")


def _too_long(length: int, context: int) -> CallError:
    return CallError("too_long", f"The prompt has {length} tokens; the model's context has {context}.")


def _halves(batch: Sequence[_Prompted]) -> tuple[Sequence[_Prompted], Sequence[_Prompted]] | None:
    """Half of the requests each; of one request half of the draws each; None for a single draw."""
    if len(batch) > 1:
        middle = len(batch) // 2
        return batch[:middle], batch[middle:]
    one = batch[0]
    indices = one.ask.indices
    if len(indices) == 1:
        return None
    middle = len(indices) // 2
    first, second = (
        [_Prompted(place=one.place, ask=Ask(request=one.ask.request, indices=part), prompt=one.prompt)]
        for part in (indices[:middle], indices[middle:])
    )
    return first, second


def _joined(first: Answer, second: Answer) -> Answer:
    if isinstance(first, CallError):
        return first
    if isinstance(second, CallError):
        return second
    return first + second


def _out_of_memory(cause: BaseException | None) -> bool:
    # The processor's own memory is a plain RuntimeError.
    return isinstance(cause, library("torch").OutOfMemoryError) or (
        isinstance(cause, RuntimeError) and "not enough memory" in str(cause)
    )


def _free_memory() -> None:
    torch = library("torch")
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
