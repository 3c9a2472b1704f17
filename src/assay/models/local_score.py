"""Log-probabilities of given texts under a checkpoint: one pass over a batch of prompts that end with them."""

from collections.abc import Sequence
from typing import Any

from assay.models.local_checkpoint import Checkpoint
from assay.models.local_decode import to_device
from assay.models.local_draw import Transcript
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


def score(checkpoint: Checkpoint, inputs: dict[str, Any], lengths: Sequence[int]) -> list[list[float]]:
    """The log-probabilities of the last `lengths[row]` tokens of every row, which is padded on the left.

    They are the model's own, in single precision. Runs within `generate` of transformers, which prepares positions and
    masks for each kind of model.
    """
    found: list[list[float]] = []
    longest = max(lengths)

    def read(
        model: Any,
        input_ids: Any,
        *,
        logits_processor: Any,  # noqa: ARG001 - there is nothing to choose
        stopping_criteria: Any,  # noqa: ARG001
        generation_config: Any,  # noqa: ARG001
        **state: Any,
    ) -> Any:
        state.pop("logits_to_keep", None)
        prepared = model.prepare_inputs_for_generation(input_ids, is_first_iteration=True, **state)
        # Of a long prompt most positions don't matter, and a vocabulary is wide.
        prepared["logits_to_keep"] = longest + 1
        logits = model(**prepared, return_dict=True).logits[:, -longest - 1 : -1].float()
        chosen = input_ids[:, -longest:, None]
        logprobs = logits.log_softmax(-1).gather(-1, chosen)[..., 0].tolist()
        found.extend(row[longest - length :] for row, length in zip(logprobs, lengths, strict=True))
        return input_ids

    device = checkpoint.model.device
    moved = {name: to_device(value, device, checkpoint.model.dtype) for name, value in inputs.items()}
    checkpoint.model.generate(**moved, custom_generate=read, max_new_tokens=1)
    return found


def spelled(
    checkpoint: Checkpoint, ids: Sequence[int], logprobs: Sequence[float], given: str
) -> tuple[Token, ...] | None:
    """The last tokens of a prompt with their texts, from that in which `given` begins; None if they don't spell it."""
    place = len(ids) - len(logprobs)
    transcript = Transcript(checkpoint.tokenizer, ids[:place])
    tokens = [
        Token(text=transcript.add(token), logprob=logprob) for token, logprob in zip(ids[place:], logprobs, strict=True)
    ]
    if rest := transcript.rest():
        tokens[-1] = Token(text=tokens[-1].text + rest, logprob=tokens[-1].logprob)
    return tail_tokens(tokens, given)
