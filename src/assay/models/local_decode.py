"""The decoding loop: one batch of prompts, several draws of each, every draw by its own rule.

Within `generate` of transformers, which prepares positions, masks and cache for each kind of model; only the loop is
ours (its `custom_generate`). It runs each prompt once however many draws follow, and takes finished draws out of the
batch.
"""

from collections.abc import Callable, Sequence
from typing import Any

from assay.models.local_checkpoint import Checkpoint, library
from assay.models.local_draw import Draw
from assay.models.local_sampling import choose


def decode(
    checkpoint: Checkpoint,
    inputs: dict[str, Any],
    draws: Sequence[Draw],
    *,
    names: "Names",
    stopped: Callable[[], bool],
) -> None:
    """Run the draws to their end.

    Args:
        checkpoint: the model.
        inputs: tensors of a batch of prompts; `Draw.row` is a row of it.
        draws: changed in place; all have a `finish` or are `broken` afterwards.
        names: of the checkpoint's tokens.
        stopped: asked before every step; True abandons the batch.
    """

    def loop(
        model: Any,
        input_ids: Any,
        *,
        logits_processor: Any,  # noqa: ARG001 - transformers' own rules don't count
        stopping_criteria: Any,  # noqa: ARG001
        generation_config: Any,  # noqa: ARG001
        **state: Any,
    ) -> Any:
        _Loop(model, input_ids, state, frozenset(inputs), draws, names).run(stopped)
        return input_ids

    device = checkpoint.model.device
    moved = {name: to_device(value, device, checkpoint.model.dtype) for name, value in inputs.items()}
    length = max(draw.sampling.max_tokens for draw in draws)
    checkpoint.model.generate(**moved, custom_generate=loop, max_new_tokens=length)


class _Loop:
    def __init__(
        self,
        model: Any,
        input_ids: Any,
        state: dict[str, Any],
        inputs: frozenset[str],
        draws: Sequence[Draw],
        names: "Names",
    ) -> None:
        self._torch = library("torch")
        self._model = model
        self._ids = input_ids
        self._state = state
        self._inputs = inputs
        self._live = list(draws)
        self._names = names

    def run(self, stopped: Callable[[], bool]) -> None:
        logits = self._prefill()
        while not stopped():
            tokens = self._step(logits)
            kept = [place for place, draw in enumerate(self._live) if draw.finish is None and not draw.broken]
            if not kept:
                return
            column = self._torch.tensor(tokens, device=self._ids.device)[:, None]
            self._ids = self._torch.cat((self._ids, column), dim=-1)
            if len(kept) < len(self._live):
                self._select(kept)
                self._live = [self._live[place] for place in kept]
            logits = self._forward(next_sequence_length=1)

    def _prefill(self) -> Any:
        """Run the prompts; afterwards there is one row per draw."""
        logits = self._forward(is_first_iteration=True)
        # What the processor made of the pictures went into the cache; of its outputs only the rows of masks and token
        # types go on.
        gone = [name for name in self._inputs if name in self._state and not _per_row(name)]
        for name in gone:
            del self._state[name]
        rows = [draw.row for draw in self._live]
        if rows != list(range(len(self._ids))):
            self._select(rows)
            logits = logits[rows]
        return logits

    def _forward(self, **step: Any) -> Any:
        """One pass; the logits of the last position, in single precision."""
        inputs = self._model.prepare_inputs_for_generation(self._ids, **step, **self._state)
        outputs = self._model(**inputs, return_dict=True)
        # The hook by which each kind of model says how its state goes on.
        self._state = self._model._update_model_kwargs_for_generation(outputs, self._state)  # noqa: SLF001
        return outputs.logits[:, -1].float()

    def _select(self, rows: list[int]) -> None:
        """Keep these rows of everything that the next pass needs, in this order, repeated where asked."""
        index = self._torch.tensor(rows, device=self._ids.device)
        self._ids = self._ids[index]
        for name, value in self._state.items():
            if hasattr(value, "reorder_cache"):
                value.reorder_cache(index)
            elif self._torch.is_tensor(value) and _per_row(name):
                # Positions may have a leading dimension (text, time, height, width); the rows come last but one.
                self._state[name] = value.index_select(-2 if name == "position_ids" else 0, index)

    def _step(self, logits: Any) -> list[int]:
        """Choose a token for every live draw and hand it over."""
        for draw, broken in zip(self._live, logits.isnan().any(-1).tolist(), strict=True):
            draw.broken = broken
        logits = logits.nan_to_num(nan=0.0, posinf=float("inf"), neginf=float("-inf"))
        tokens = choose(logits, [draw.sampling for draw in self._live], [draw.random for draw in self._live])
        scores = self._scores(logits, tokens)
        for draw, token, score in zip(self._live, tokens, scores, strict=True):
            if not draw.broken:
                draw.add(token, *score)
        return tokens

    def _scores(self, logits: Any, tokens: list[int]) -> list[tuple[float, tuple[tuple[str, float], ...]]]:
        """Log-probability of each chosen token and the most likely alternatives, by the model itself: before
        temperature, top-k and top-p."""
        wanted = [draw.top_logprobs for draw in self._live]
        scores: list[tuple[float, tuple[tuple[str, float], ...]]] = [(0.0, ())] * len(tokens)
        rows = [row for row, count in enumerate(wanted) if count is not None]
        if not rows:
            return scores
        # Tokens that a model rules out have minus infinity, for which JSON has no word; -9999 is vLLM's stand-in.
        logprobs = logits[rows].log_softmax(-1).nan_to_num(nan=-9999.0).clamp(min=-9999.0)
        chosen = logprobs.gather(-1, self._torch.tensor([[tokens[row]] for row in rows], device=logits.device))
        most = min(max(count or 0 for count in wanted), logprobs.shape[-1])
        values, ids = (part.tolist() for part in logprobs.topk(most, dim=-1))
        for place, (row, (logprob,)) in enumerate(zip(rows, chosen.tolist(), strict=True)):
            count = wanted[row]
            best = map(self._names.__getitem__, ids[place][:count])
            scores[row] = (logprob, tuple(zip(best, values[place][:count], strict=True)))
        return scores


class Names(dict[int, str]):
    """Texts of tokens that are listed as alternatives, found when they are first asked for.

    A token's text is that inside a text: with its leading space, special tokens as they are written.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._anchor: list[int] = tokenizer.encode("a", add_special_tokens=False)

    def __missing__(self, token: int) -> str:
        before, text = (
            self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
            for ids in (self._anchor, [*self._anchor, token])
        )
        self[token] = text.removeprefix(before)
        return self[token]


def _per_row(name: str) -> bool:
    """Whether an input has one row per draw and is needed at every step."""
    if name.startswith(("pixel", "image", "video")):
        return False
    return name == "position_ids" or name.endswith(("_mask", "token_type_ids"))


def to_device(value: Any, device: Any, dtype: Any) -> Any:
    """A tensor on the model's device, numbers in its format; anything else as it is."""
    if not hasattr(value, "to"):
        return value
    return value.to(device, dtype) if value.is_floating_point() else value.to(device)
