"""Near-duplicate questions: no pair is missed by the look-up, and what looks alike with other numbers is another."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ImageError
from assay.train.duplicates import (
    Fingerprint,
    Likeness,
    NearDuplicates,
    PictureHashes,
    bands,
    distance,
    overlap,
    same_pictures,
)
from assay.train.wording import Common, numbers, words
from support.pictures import file_of, noise

# ---- words


def test_words_are_folded_and_a_decimal_number_is_one() -> None:
    assert words("Find AB, if BC = 3.50 cm!") == ("find", "ab", "if", "bc", "3.50", "cm")
    assert words("  ") == ()
    assert words("ﬁnd Ａ１") == ("find", "a1")
    assert words("求△ABC的面积") == ("求", "abc", "的", "面", "积")
    assert numbers(words("a 3 b 12 c 3.5 x2")) == ("12", "3", "3.5")


def test_what_all_questions_say_tells_none_apart() -> None:
    how = "Answer step by step.\nGive the letter."
    texts = [f"How long is side {number}?\n{how}" for number in range(20)]
    common = Common([("quiz", text) for text in texts])
    assert common.words("quiz", texts[3]) == ("how", "long", "is", "side", "3")
    # In another source nobody knows the sentence.
    assert common.words("exam", f"Why?\n{how}")[0] == "why"


def test_a_question_that_is_nothing_but_common_keeps_its_rarest_sentence() -> None:
    common = Common([("quiz", "Find x.\nGive the letter.")] * 15 + [("quiz", "Find y.\nGive the letter.")] * 15)
    assert common.words("quiz", "Find x.\nGive the letter.") == ("find", "x")


# ---- hashes

HASH = st.integers(0, 2**64 - 1)


@given(HASH, st.sets(st.integers(0, 63), max_size=8), st.integers(0, 16))
def test_hashes_that_are_near_share_a_band(picture: int, flipped: set[int], bits: int) -> None:
    other = picture
    for place in flipped:
        other ^= 1 << place
    assert distance(picture, other) == len(flipped)
    if len(flipped) <= bits:
        assert set(bands(picture, bits)) & set(bands(other, bits))


@given(HASH, st.integers(0, 16))
def test_bands_together_are_the_hash(picture: int, bits: int) -> None:
    found = dict(bands(picture, bits))
    assert len(found) == bits + 1
    whole = 0
    for number in range(bits + 1):
        whole |= found[number] << (number * 64 // (bits + 1))
    assert whole == picture


def test_the_same_picture_saved_otherwise_has_nearly_the_same_hash(tmp_path: Path) -> None:
    image = noise("RGB", (64, 48), seed=3).resize((320, 240))
    (tmp_path / "a.png").write_bytes(file_of(image, "PNG"))
    (tmp_path / "b.jpg").write_bytes(file_of(image.resize((240, 180)), "JPEG", quality=80))
    (tmp_path / "c.png").write_bytes(file_of(noise("RGB", (64, 48), seed=4).resize((320, 240)), "PNG"))
    hashes = PictureHashes()
    one, same, other = (hashes(str(tmp_path / name)) for name in ("a.png", "b.jpg", "c.png"))
    assert distance(one, same) <= 4
    assert distance(one, other) > 10
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "torn.png").write_bytes(whole[: len(whole) // 2])
    for name, kind in (("torn.png", "corrupt"), ("gone.png", "missing"), ("", "unreadable")):
        with pytest.raises(ImageError) as caught:
            hashes(str(tmp_path / name))
        assert caught.value.kind == kind


# ---- questions


def earlier(questions: list[Fingerprint], likeness: Likeness | None = None) -> list[int | None]:
    duplicates = NearDuplicates(questions, likeness or Likeness())
    return [duplicates.earlier(question) for question in questions]


TEXT = words("In the figure the chord AB of the circle O has the length 8 and its distance from O is 3 find the radius")


def test_both_picture_and_text_must_match() -> None:
    one = Fingerprint(words=TEXT, pictures=(0b1111,))
    assert earlier([one, Fingerprint(words=TEXT, pictures=(0b1110,))]) == [None, 0]
    assert earlier([one, Fingerprint(words=TEXT, pictures=(0b1111 << 20,))]) == [None, None]
    assert earlier([one, Fingerprint(words=words("Find the radius"), pictures=(0b1111,))]) == [None, None]
    assert earlier([one, Fingerprint(words=TEXT)]) == [None, None]  # has no picture
    assert earlier([Fingerprint(words=TEXT), Fingerprint(words=TEXT)]) == [None, 0]
    assert earlier([one, Fingerprint(words=TEXT, pictures=(0b1111, 0))]) == [None, None]


def test_another_number_makes_another_question() -> None:
    other = tuple("9" if word == "8" else word for word in TEXT)
    assert earlier([Fingerprint(words=TEXT, pictures=(7,)), Fingerprint(words=other, pictures=(7,))]) == [None, None]


def test_a_repeated_question_is_not_repeated_itself() -> None:
    # b differs from a in three bits, c from b in three others: c is not like a, and b is gone.
    a, b, c = (Fingerprint(words=TEXT, pictures=(bits,)) for bits in (0, 0b111, 0b111111))
    assert earlier([a, b, c]) == [None, 0, None]
    assert earlier([a, c, b]) == [None, None, 0]


def test_questions_without_words_go_by_their_pictures() -> None:
    assert earlier([Fingerprint(words=(), pictures=(1,)), Fingerprint(words=(), pictures=(1,))]) == [None, 0]


@given(
    st.lists(
        st.builds(
            Fingerprint,
            words=st.lists(st.sampled_from("abcdefgh"), max_size=6).map(tuple),
            pictures=st.lists(st.sampled_from([0, 1, 3, 7, 31, 2**63, 2**63 + 3]), max_size=2).map(tuple),
        ),
        max_size=12,
    ),
    st.sampled_from([0.3, 0.5, 0.75, 0.9, 1.0]),
    st.integers(0, 4),
)
def test_the_look_up_misses_no_pair(questions: list[Fingerprint], text: float, bits: int) -> None:
    """Against all pairs, one by one."""
    found = earlier(questions, Likeness(bits=bits, text=text))
    kept: list[Fingerprint] = []
    for question, number in zip(questions, found, strict=True):
        alike = [
            same_pictures(question.pictures, other.pictures, bits)
            and overlap(frozenset(question.words), frozenset(other.words)) >= text
            for other in kept
        ]
        assert (number is None) == (not any(alike))
        if number is None:
            kept.append(question)
        else:
            assert alike[number]


def test_overlap_by_hand() -> None:
    assert overlap(frozenset("abc"), frozenset("bcd")) == 0.5  # b, c of a, b, c, d
    assert overlap(frozenset(), frozenset()) == 1.0
    assert overlap(frozenset("a"), frozenset()) == 0.0
