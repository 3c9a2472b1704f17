"""The tokens of one call, shared out among its draws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.shares import share_usage
from assay.types import Reply, Usage


@pytest.mark.parametrize(
    ("texts", "total", "shares"),
    [
        (("aaaa",), 7, [7]),
        (("aa", "aa"), 6, [3, 3]),
        (("aaa", "a"), 8, [6, 2]),
        # 7 * 2/3 = 4 2/3 and 7 * 1/3 = 2 1/3: the larger remainder gets the one that is left.
        (("aa", "a"), 7, [5, 2]),
        (("a", "a", "a"), 4, [2, 1, 1]),
        (("", ""), 3, [3, 0]),
        (("", "abc"), 3, [0, 3]),
        (("a", "b"), 0, [0, 0]),
    ],
)
def test_completion_tokens_go_by_length(texts: tuple[str, ...], total: int, shares: list[int]) -> None:
    replies = [Reply(text=text) for text in texts]
    shared = share_usage(replies, Usage(prompt_tokens=11, completion_tokens=total))
    assert [reply.usage and reply.usage.completion_tokens for reply in shared] == shares
    assert [reply.usage and reply.usage.prompt_tokens for reply in shared] == [11] + [0] * (len(texts) - 1)


def test_thinking_counts() -> None:
    replies = [Reply(text="a", reasoning="bbb"), Reply(text="a")]
    shared = share_usage(replies, Usage(completion_tokens=10))
    assert [reply.usage and reply.usage.completion_tokens for reply in shared] == [8, 2]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=9), st.integers(0, 10**6))
def test_nothing_is_lost(texts: list[str], total: int) -> None:
    shared = share_usage([Reply(text=text) for text in texts], Usage(prompt_tokens=5, completion_tokens=total))
    usages = [reply.usage for reply in shared if reply.usage is not None]
    assert sum(usage.completion_tokens for usage in usages) == total
    assert sum(usage.prompt_tokens for usage in usages) == 5
    assert all(usage.completion_tokens >= 0 for usage in usages)
