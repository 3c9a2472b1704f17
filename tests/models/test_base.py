"""Request keys, seeds and model addresses."""

import string
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.models.base import Address, derive_seed, parse_address, request_key
from assay.types import ImagePart, Message, Request, Sampling, TextPart

PICTURE = ImagePart(key="1" * 64, media_type="image/png", width=4, height=3, data=b"4x3")
SYSTEM = Message(role="system", parts=(TextPart(text="Be brief."),))
REQUEST = Request(
    messages=(
        SYSTEM,
        Message(role="user", parts=(PICTURE, TextPart(text="How high?"))),
    ),
    sampling=Sampling(temperature=0.7, top_k=20, stop=("\n",), extra={"min_p": 0.1, "penalties": {"a": 1, "b": 2}}),
    seed=4,
    top_logprobs=2,
    prefill="Step 1",
    sample_id="s1",
)

change = msgspec.structs.replace


def sampled(**fields: Any) -> Request:
    return change(REQUEST, sampling=change(REQUEST.sampling, **fields))


def shown(*parts: TextPart | ImagePart) -> Request:
    return change(REQUEST, messages=(REQUEST.messages[0], Message(role="user", parts=parts)))


# A key may not be shared by any two of these. The number is that of a case which users of peer tools reported.
CHANGES: list[tuple[str, Request, int, str]] = [
    ("unchanged", REQUEST, 0, "openai:a"),
    ("186: model", REQUEST, 0, "openai:b"),
    ("186: revision", REQUEST, 0, "openai:a#2"),
    ("186: backend", REQUEST, 0, "local:a"),
    ("187: temperature", sampled(temperature=0.0), 0, "openai:a"),
    ("187: top_p", sampled(top_p=0.9), 0, "openai:a"),
    ("187: top_k", sampled(top_k=None), 0, "openai:a"),
    ("187: max_tokens", sampled(max_tokens=5), 0, "openai:a"),
    ("187: stop", sampled(stop=()), 0, "openai:a"),
    ("187: extra", sampled(extra={"min_p": 0.1}), 0, "openai:a"),
    ("188, 194: draw 1", REQUEST, 1, "openai:a"),
    ("188, 194: draw 2", REQUEST, 2, "openai:a"),
    ("190: prompt", shown(PICTURE, TextPart(text="How high ?")), 0, "openai:a"),
    ("190: order of parts", shown(TextPart(text="How high?"), PICTURE), 0, "openai:a"),
    ("190: text in two parts", shown(PICTURE, TextPart(text="How "), TextPart(text="high?")), 0, "openai:a"),
    ("190: role", change(REQUEST, messages=(change(SYSTEM, role="user"), REQUEST.messages[1])), 0, "openai:a"),
    ("190: turns joined", change(REQUEST, messages=REQUEST.messages[1:]), 0, "openai:a"),
    # 191 and 192: the key of a picture covers its size, mode, bytes and transform (tests of `images`); here, that
    # the request's key follows it.
    ("191, 192: picture", shown(change(PICTURE, key="2" * 64), TextPart(text="How high?")), 0, "openai:a"),
    ("no picture", shown(TextPart(text="How high?")), 0, "openai:a"),
    ("text like a picture's key", shown(TextPart(text="1" * 64), TextPart(text="How high?")), 0, "openai:a"),
    ("seed", change(REQUEST, seed=5), 0, "openai:a"),
    ("prefill", change(REQUEST, prefill="Step 2"), 0, "openai:a"),
    ("log-probabilities", change(REQUEST, top_logprobs=0), 0, "openai:a"),
    ("no log-probabilities", change(REQUEST, top_logprobs=None), 0, "openai:a"),
]  # fmt: skip


def test_whatever_changes_a_reply_changes_the_key() -> None:
    keys = {request_key(identity, request, index): name for name, request, index, identity in CHANGES}
    assert set(keys.values()) == {name for name, *_ in CHANGES}
    assert all(len(key) == 64 and set(key) <= set(string.hexdigits) for key in keys)


@pytest.mark.parametrize(
    "same",
    [
        change(REQUEST, n=8),
        change(REQUEST, index=3),  # the index of the draw is what counts, not where the call began
        change(REQUEST, sample_id="s2"),
        sampled(extra={"penalties": {"b": 2, "a": 1}, "min_p": 0.1}),  # the order of a dict's keys
        shown(change(PICTURE, data=b"", width=9), TextPart(text="How high?")),  # the picture's key stands for it
    ],
)
def test_what_does_not_change_a_reply_does_not_change_the_key(same: Request) -> None:
    assert request_key("m", same, 0) == request_key("m", REQUEST, 0)


def test_key_is_stable() -> None:
    """Keys are on users' disks: this one may change only together with the layout's version."""
    request = Request(messages=(Message(role="user", parts=(TextPart(text="Hi"),)),))
    # printf '%s' '[1,"m",[["user",["Hi"]]],{"temperature":0.0,"top_p":1.0,"top_k":null,"max_tokens":1280,"stop":[],
    # "extra":{}},0,null,"",0]' (on one line) | sha256sum
    assert request_key("m", request, 0) == "b90e4063235cc45886da6abb3a33cf335a2fdf68d70b39194dcfa9c393e6e6b1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(extra=st.dictionaries(st.text("abc", max_size=2), JSON, max_size=4), data=st.data())
def test_order_of_keys_never_counts(extra: dict[str, Any], data: st.DataObject) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            fields = cast(dict[str, Any], value)
            return {key: shuffled(fields[key]) for key in data.draw(st.permutations(sorted(fields)))}
        return [shuffled(inner) for inner in cast(list[Any], value)] if isinstance(value, list) else value

    assert request_key("m", sampled(extra=shuffled(extra)), 0) == request_key("m", sampled(extra=extra), 0)


@given(a=st.text(max_size=5), b=st.text(max_size=5), index=st.integers(0, 3), other=st.integers(0, 3))
def test_key_of_two_prompts(a: str, b: str, index: int, other: int) -> None:
    keys = [request_key("m", shown(TextPart(text=text)), at) for text, at in ((a, index), (b, other))]
    assert (keys[0] == keys[1]) == ((a, index) == (b, other))


# ----------------------------------------------------------------------------------------------------
# Seeds


@given(run=st.integers(0, 2**40), sample=st.text(max_size=9), index=st.integers(0, 99))
def test_seed_range(run: int, sample: str, index: int) -> None:
    seed = derive_seed(run, sample, index)
    assert 0 <= seed < 2**31
    assert seed == derive_seed(run, sample, index)


def test_seeds_differ() -> None:
    seeds = {derive_seed(run, sample, index) for run in range(10) for sample in "abcdefghij" for index in range(10)}
    # 1,000 draws from 2**31: a collision has a chance of 1000**2 / 2**32 = 1 in 4,300.
    assert len(seeds) == 1000


def test_seed_parts_do_not_run_together() -> None:
    assert derive_seed(1, "12", 3) != derive_seed(11, "2", 3) != derive_seed(1, "1", 23)


def test_seed_is_the_same_everywhere() -> None:
    # printf '0\0001\0000' | sha256sum starts with 69a478d7: 1,772,386,519, halved and rounded down.
    assert derive_seed(0, "1", 0) == 886_193_259


# ----------------------------------------------------------------------------------------------------
# Addresses


@pytest.mark.parametrize(
    ("text", "target", "url"),
    [
        ("openai:m@http://127.0.0.1:8000/v1", "m", "http://127.0.0.1:8000/v1"),
        ("openai:m@http://127.0.0.1:8000/v1/", "m", "http://127.0.0.1:8000/v1"),
        ("openai:org/m:7b@https://host/v1", "org/m:7b", "https://host/v1"),
        ("openai:m@rev@https://host/v1", "m@rev", "https://host/v1"),
        ("local:/models/llava", "/models/llava", None),
        ("replay:a@b.jsonl", "a@b.jsonl", None),
        ("scripted:C:\\x.jsonl", "C:\\x.jsonl", None),
    ],
)
def test_address(text: str, target: str, url: str | None) -> None:
    assert parse_address(text) == Address(scheme=text.partition(":")[0], target=target, url=url)


@pytest.mark.parametrize(
    "text",
    ["", "gpt-4o", "openai:", "openai:m", "openai:m@host", "openai:@http://h/v1", "http://h/v1", "local:", "vllm:m"],
)
def test_not_an_address(text: str) -> None:
    with pytest.raises(UsageError, match="Write "):
        parse_address(text)


NAMES = st.text(string.ascii_letters + string.digits + "/.-_:@", min_size=1, max_size=20)


@given(name=NAMES, parse=st.just(parse_address))
def test_any_name_survives(name: str, parse: Callable[[str], Address]) -> None:
    address = parse(f"openai:{name}@http://127.0.0.1:1/v1")
    assert (address.target, address.url) == (name, "http://127.0.0.1:1/v1")
