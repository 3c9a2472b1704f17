"""The parts of a local model: choosing tokens, tokens to text, and the fingerprint of a folder."""

import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.fingerprint import fingerprint
from assay.models.local_draw import Decoder, Draw, Transcript
from assay.models.local_sampling import choose, generator
from assay.types import Message, Request, Sampling, TextPart
from support.tiny import byte_tokenizer

# --------------------------------------------------------------------------------------------------
# Choosing tokens

# exp gives 8, 4, 2, 1, 1: probabilities 1/2, 1/4, 1/8, 1/16, 1/16.
LOGITS = [2.0794415, 1.3862944, 0.6931472, 0.0, 0.0]


def drawn(sampling: Sampling, count: int = 4000) -> Counter[int]:
    torch: Any = pytest.importorskip("torch", reason="needs torch")
    tokens = choose(torch.tensor([LOGITS] * count), [sampling] * count, [random.Random(n) for n in range(count)])
    return Counter(tokens)


@pytest.mark.local
@pytest.mark.parametrize(
    ("sampling", "shares"),
    [
        (Sampling(temperature=1.0), [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16]),
        # Halving the logits takes the square roots 8^.5, 4^.5, 2^.5, 1, 1, together 2.828 + 2 + 1.414 + 2 = 8.243.
        (Sampling(temperature=2.0), [0.3431, 0.2426, 0.1716, 0.1213, 0.1213]),
        (Sampling(temperature=1.0, top_k=2), [2 / 3, 1 / 3, 0, 0, 0]),
        # 1/2 + 1/4 = 0.75 falls short of 0.8, so the third is kept as well: 4/7, 2/7, 1/7.
        (Sampling(temperature=1.0, top_p=0.8), [4 / 7, 2 / 7, 1 / 7, 0, 0]),
        (Sampling(temperature=1.0, top_p=0.4), [1, 0, 0, 0, 0]),
        # Among the two that top_k keeps, the first has 2/3, which reaches 0.6.
        (Sampling(temperature=1.0, top_k=2, top_p=0.6), [1, 0, 0, 0, 0]),
        (Sampling(temperature=0.0), [1, 0, 0, 0, 0]),
        (Sampling(temperature=1.0, top_k=99), [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16]),
    ],
)
def test_tokens_are_drawn_with_their_probabilities(sampling: Sampling, shares: list[float]) -> None:
    counts = drawn(sampling)
    for token, share in enumerate(shares):
        # Four standard deviations of a share of 4,000 draws are at most 4 * sqrt(0.25 / 4000) = 0.032.
        assert counts[token] / 4000 == pytest.approx(share, abs=0.032 if 0 < share < 1 else 0)


@pytest.mark.local
@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.floats(-9, 9) | st.just(float("-inf")), min_size=5, max_size=5),
            st.builds(
                Sampling,
                temperature=st.sampled_from([0.0, 1e-20, 0.5, 3.0]),
                top_k=st.none() | st.integers(1, 6),
                top_p=st.sampled_from([1e-9, 0.5, 0.999, 1.0]),
            ),
        ).filter(lambda row: max(row[0]) > float("-inf")),
        min_size=1,
        max_size=4,
    )
)
def test_a_row_does_not_depend_on_the_others_and_never_takes_the_impossible(
    rows: list[tuple[list[float], Sampling]],
) -> None:
    torch: Any = pytest.importorskip("torch", reason="needs torch")
    logits = torch.tensor([row for row, _ in rows])
    samplings = [sampling for _, sampling in rows]
    together = choose(logits, samplings, [generator(7, n) for n in range(len(rows))])
    for n, token in enumerate(together):
        assert [token] == choose(logits[n : n + 1], samplings[n : n + 1], [generator(7, n)])
        assert logits[n, token] > float("-inf")
        if samplings[n].top_k == 1 or samplings[n].temperature == 0:
            assert logits[n, token] == logits[n].max()


def test_random_numbers_are_the_same_everywhere() -> None:
    first = [generator(seed, index).random() for seed in (1, 2) for index in (0, 1, 11)]
    assert first == [generator(seed, index).random() for seed in (1, 2) for index in (0, 1, 11)]
    assert len(set(first)) == 6
    assert generator(1, 11).random() != generator(11, 1).random()


# --------------------------------------------------------------------------------------------------
# Tokens to text


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("transformers", reason="needs transformers")
    return byte_tokenizer()


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd"), min_size=1, max_size=30)


@pytest.mark.local
@given(prompt=TEXTS, text=TEXTS)
def test_the_pieces_together_are_the_text(tokenizer: Any, prompt: str, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    transcript = Transcript(Decoder(tokenizer), tokenizer.encode(prompt, add_special_tokens=False))
    pieces = [transcript.add(token) for token in ids]
    assert "".join(pieces) == text
    assert transcript.rest() == ""


@pytest.mark.local
def test_a_decoder_that_remembers_says_what_the_tokenizer_says(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after it forgot, and special tokens are left out."""
    monkeypatch.setattr("assay.models.local_draw.REMEMBERED", 2)
    decode = Decoder(tokenizer)
    (first, second), end = tokenizer.encode("ab", add_special_tokens=False), tokenizer.eos_token_id
    for _ in range(2):
        for ids, text in (((first,), "a"), ((first, second), "ab"), ((second,), "b"), ((first, end), "a"), ((), "")):
            assert decode(ids) == text


@pytest.mark.local
def test_a_character_comes_with_its_last_token(tokenizer: Any) -> None:
    ids = tokenizer.encode("a𐍈b", add_special_tokens=False)  # no merges for these four bytes
    transcript = Transcript(Decoder(tokenizer), [])
    assert [transcript.add(token) for token in ids] == ["a", "", "", "", "𐍈", "b"]


@pytest.mark.local
def test_half_a_character_is_not_lost(tokenizer: Any) -> None:
    ids = tokenizer.encode("𐍈", add_special_tokens=False)
    transcript = Transcript(Decoder(tokenizer), [])
    assert [transcript.add(token) for token in ids[:2]] == ["", ""]
    assert transcript.rest() == "\ufffd"
    transcript = Transcript(Decoder(tokenizer), [])
    broken = [*ids[:2], *tokenizer.encode("xy", add_special_tokens=False)]
    assert "".join(transcript.add(token) for token in broken) == "\ufffdxy"


def draw(tokenizer: Any, text: str, **sampling: Any) -> Draw:
    """A draw that was fed the tokens of a text."""
    request = Request(
        messages=(Message(role="user", parts=(TextPart(text="?"),)),), sampling=Sampling(**sampling), top_logprobs=0
    )
    draw = Draw(request, 0, prompt=[], row=0, room=None, thinking="", decode=Decoder(tokenizer), ends=frozenset())
    for token in tokenizer.encode(text, add_special_tokens=False):
        if draw.finish is None:
            draw.add(token, -0.5, ())
    return draw


@pytest.mark.local
@given(before=TEXTS, stop=st.text("ab𐍈", min_size=1, max_size=4), after=TEXTS)
def test_a_stop_string_cuts_wherever_it_begins(tokenizer: Any, before: str, stop: str, after: str) -> None:
    whole = before + stop + after
    reply = draw(tokenizer, whole, stop=(stop,), max_tokens=999).reply(name="m", first=True)
    assert reply.text == whole[: whole.index(stop)]
    assert reply.finish == "stop"
    assert "".join(token.text for token in reply.tokens or ()) == reply.text


@pytest.mark.local
def test_the_earliest_of_several_stop_strings_counts(tokenizer: Any) -> None:
    assert (
        draw(tokenizer, "one two three", stop=("three", "two", ""), max_tokens=99).reply(name="", first=True).text
        == "one "
    )


@pytest.mark.local
def test_the_limit_counts_tokens(tokenizer: Any) -> None:
    reply = draw(tokenizer, "𐍈", max_tokens=2).reply(name="m", first=True)
    assert (reply.text, reply.finish) == ("\ufffd", "length")
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 2


# --------------------------------------------------------------------------------------------------
# Fingerprints


def test_a_fingerprint_sees_content_and_nothing_else(tmp_path: Path) -> None:
    def folder(name: str, **files: bytes) -> str:
        (tmp_path / name).mkdir()
        for file, content in files.items():
            (tmp_path / name / file.replace("_", ".")).write_bytes(content)
        return fingerprint(tmp_path / name)

    base = folder("base", config_json=b"{}", model_safetensors=b"\x00" * 5000)
    assert folder("copy", config_json=b"{}", model_safetensors=b"\x00" * 5000, notes_md=b"mine") == base
    others = [
        folder("weights", config_json=b"{}", model_safetensors=b"\x00" * 2500 + b"\x01" + b"\x00" * 2499),
        folder("config", config_json=b"{ }", model_safetensors=b"\x00" * 5000),
        folder("name", config_json=b"{}", weights_safetensors=b"\x00" * 5000),
        folder("code", config_json=b"{}", model_safetensors=b"\x00" * 5000, modeling_py=b"x = 1"),
    ]
    assert len({base, *others}) == 5


def test_training_one_tensor_of_a_large_file_shows(tmp_path: Path) -> None:
    """A file of 80 MiB with nothing but zeros, and the same with one megabyte of it changed."""
    path = tmp_path / "model.safetensors"
    seen: list[str] = []
    for changed in (None, 0, 40 * 2**20, 70 * 2**20, 79 * 2**20):
        with path.open("wb") as file:
            file.truncate(80 * 2**20)
            if changed is not None:
                file.seek(changed)
                file.write(b"\x01" * 2**20)
        seen.append(fingerprint(tmp_path))
    assert all(one != other for one, other in pairwise(seen))
    assert len(set(seen)) == 5


def test_without_torch_the_extra_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from assay.errors import MissingExtra\n"
        "from assay.models.local import LocalModel\n"
        "try:\n    LocalModel.open('.')\nexcept MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'assay[local]'" in done.stdout
