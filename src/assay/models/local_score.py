"""Log-probabilities of given texts under a checkpoint: one pass over a batch of prompts that end with them."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from assay.models.local_checkpoint import Checkpoint
from assay.models.local_decode import Names, to_device
from assay.models.local_draw import Decode, Transcript
from assay.models.scoring import tail_tokens
from assay.types import Token


def given_length(checkpoint: Checkpoint, prompt: str, given: str) -> int:
    """How many of the last tokens of `prompt + given` differ from those of `prompt`.

    Pictures stand in the prompt as one mark each here; they are before the first difference.
    """

    def ids(text: str) -> list[int]:
        return checkpoint.tokenizer.encode(text, add_special_tokens=False)

    before, whole = ids(prompt), ids(prompt + given)
    same = 0
    while same < min(len(before), len(whole) - 1) and before[same] == whole[same]:
        same += 1
    return len(whole) - same


def score(
    checkpoint: Checkpoint, inputs: dict[str, Any], lengths: Sequence[int], tops: Sequence[int], names: Names
) -> list[list[Token]]:
    """The last `lengths[row]` tokens of every row, which is padded on the left, without their texts.

    Log-probabilities are the model's own, in single precision, with the `tops[row]` most likely alternatives. Runs
    within `generate` of transformers, which prepares positions and masks for each kind of model.
    """
    found: list[list[Token]] = []
    longest = max(lengths)

    def tokens(logprobs: Any, chosen: Any, top: int) -> list[Token]:
        """Of one row: log-probabilities of all tokens at each place, and the ids of those that stand there."""
        own: list[float] = logprobs.gather(-1, chosen[:, None])[:, 0].tolist()
        values, ids = (part.tolist() for part in logprobs.topk(min(top, logprobs.shape[-1]), dim=-1))
        return [
            Token(text="", logprob=logprob, top=tuple(zip(map(names.__getitem__, best), likely, strict=True)))
            for logprob, best, likely in zip(own, ids, values, strict=True)
        ]

    def read(
        model: Any,
        input_ids: Any,
        *,
        logits_processor: Any,  # noqa: ARG001 - there is nothing to choose
        stopping_criteria: Any,  # noqa: ARG001
        generation_config: Any,  # noqa: ARG001
        **state: Any,
    ) -> Any:
        prepared = model.prepare_inputs_for_generation(input_ids, is_first_iteration=True, **state)
        # Of a long prompt most places don't matter, and a vocabulary is wide.
        prepared["logits_to_keep"] = longest + 1
        logits = model(**prepared, return_dict=True).logits[:, -longest - 1 : -1].float()
        for row, (length, top) in enumerate(zip(lengths, tops, strict=True)):
            found.append(tokens(logits[row, -length:].log_softmax(-1), input_ids[row, -length:], top))
        return input_ids

    device = checkpoint.model.device
    moved = {name: to_device(value, device, checkpoint.model.dtype) for name, value in inputs.items()}
    checkpoint.model.generate(**moved, custom_generate=read, max_new_tokens=1)
    return found


def spelled(decode: Decode, ids: Sequence[int], tokens: Sequence[Token], given: str) -> tuple[Token, ...] | None:
    """The last tokens of a prompt with their texts, from that in which `given` begins; None if they don't spell it."""
    place = len(ids) - len(tokens)
    transcript = Transcript(decode, ids[:place])
    pieces = [transcript.add(token) for token in ids[place:]]
    pieces[-1] += transcript.rest()
    return tail_tokens([replace(token, text=text) for token, text in zip(tokens, pieces, strict=True)], given)
