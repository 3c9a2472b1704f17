"""The tokens of one call, shared out among its draws."""

from collections.abc import Sequence

import msgspec

from assay.types import Reply, Usage


def share_usage(replies: Sequence[Reply], usage: Usage) -> tuple[Reply, ...]:
    """The draws of one call with their shares of its usage; together they have exactly that.

    The first carries the prompt, which was read once. A server reports the completion tokens of a call, not of a draw:
    they are shared out by the lengths of the texts, by the largest remainders.
    """
    lengths = [len(reply.text) + len(reply.reasoning) for reply in replies]
    shares = _shares(usage.completion_tokens, lengths)
    return tuple(
        msgspec.structs.replace(
            reply,
            usage=Usage(prompt_tokens=0 if place else usage.prompt_tokens, completion_tokens=share),
        )
        for place, (reply, share) in enumerate(zip(replies, shares, strict=True))
    )


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers that sum to `total`, in proportion to `weights`; all to the first where those are 0."""
    whole = sum(weights)
    if not whole:
        return [total, *([0] * (len(weights) - 1))]
    shares = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in order[: total - sum(shares)]:
        shares[place] += 1
    return shares
