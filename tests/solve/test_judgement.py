"""Probabilities of the labels at a judgement; every expected number is worked out by hand beside it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.judgement import CORRECT, PLUS, YES, label_probabilities, label_score, text_place
from assay.solve.records import Unjudged
from assay.types import Finish, Reply, Token

Listed = dict[str, float]


def token(text: str, probability: float | None = None, /, **_: float) -> Token:
    return Token(text=text, logprob=math.log(probability or 1.0))


def among(text: str, listed: Listed) -> Token:
    """A token that was chosen from a list of probabilities."""
    top = tuple((name, math.log(probability)) for name, probability in listed.items())
    return Token(text=text, logprob=math.log(listed[text]), top=top)


def found(*tokens: Token, place: int | None = None) -> tuple[float, float, bool]:
    """Where the judgement starts after `Judgement:`, the first token."""
    all_tokens = (token("Judgement:"), *tokens)
    probabilities = label_probabilities(all_tokens, len("Judgement:") if place is None else place)
    assert probabilities is not None
    return probabilities


CASES: list[tuple[str, tuple[Token, ...], float, float]] = [
    ("one token each", (among(" Correct", {" Correct": 0.8, " Incorrect": 0.1}),), 0.8, 0.1),
    ("the other one was chosen", (among(" Incorrect", {" Correct": 0.3, " Incorrect": 0.6}),), 0.3, 0.6),
    # 0.5 + 0.2 + 0.1 = 0.8 and 0.06 + 0.04 = 0.1: case, leading blank and emphasis don't count (case 145).
    (
        "variants",
        (among(" Correct", {" Correct": 0.5, "Correct": 0.2, " CORRECT": 0.1, "Incorrect": 0.06, " incorrect": 0.04}),),
        0.8,
        0.1,
    ),
    # Pieces as SentencePiece and byte-level BPE show them.
    ("marks of blanks", (among("▁Correct", {"▁Correct": 0.5, "ĠIncorrect": 0.25}),), 0.5, 0.25),
    # The first token strips to nothing (case 145): 0.9 * 0.7 + 0.05 = 0.68, and 0.9 * 0.2 + 0.03 = 0.21.
    (
        "a blank of its own",
        (
            among(" ", {" ": 0.9, " Correct": 0.05, " Incorrect": 0.03}),
            among("Correct", {"Correct": 0.7, "Incorrect": 0.2}),
        ),
        0.68,
        0.21,
    ),
    # Split (case 150): P(Incorrect) = P(In) * P(correct | In) = 0.6 * 0.9 = 0.54.
    (
        "the written label in two tokens",
        (among(" In", {" In": 0.6, " Correct": 0.3}), among("correct", {"correct": 0.9, "complete": 0.1})),
        0.3,
        0.54,
    ),
    # What comes after "In" is not known where "Correct" was chosen: 0.2 is what it has at most.
    ("the other label in two tokens", (among(" Correct", {" Correct": 0.7, " In": 0.2}),), 0.7, 0.2),
    # 0.5 * 0.8 + 0.1 = 0.5 and 0.25: three tokens, an alternative in the middle.
    (
        "both split",
        (
            among(" Cor", {" Cor": 0.5, " Correct": 0.1, " In": 0.25}),
            among("rec", {"rec": 0.8, "n": 0.2}),
            among("t", {"t": 1.0}),
        ),
        0.5,
        0.25,
    ),
    # 0.5 * (0.6 + 0.3) = 0.45: another way to end the same label.
    (
        "two ways to go on",
        (among(" In", {" In": 0.5, " Correct": 0.5}), among("correct", {"correct": 0.6, "cor": 0.3, "valid": 0.1})),
        0.5,
        0.45,
    ),
    # `Correctly` and `Corridor` are other words, `Correct.` is none.
    (
        "words that begin alike",
        (
            among(
                " Correct", {" Correct": 0.4, " Correctly": 0.2, " Corridor": 0.1, " Correct.": 0.1, "Incorrect": 0.1}
            ),
        ),
        0.5,
        0.1,
    ),
    # Emphasis in front: 1.0 * 0.75.
    (
        "emphasis",
        (among(" **", {" **": 1.0}), among("Correct", {"Correct": 0.75, "Incorrect": 0.25})),
        0.75,
        0.25,
    ),
    # The chosen token's own log-probability counts where the list lacks it (case 148).
    (
        "chosen but not listed",
        (Token(text=" Correct", logprob=math.log(0.1), top=((" Incorrect", math.log(0.6)),)),),
        0.1,
        0.6,
    ),
    # Two tokens that look alike: 0.5 + 0.2.
    (
        "alike",
        (
            Token(
                text="Correct",
                logprob=math.log(0.5),
                top=(("Correct", math.log(0.5)), ("Correct", math.log(0.2)), ("Incorrect", math.log(0.3))),
            ),
        ),
        0.7,
        0.3,
    ),
]


@pytest.mark.parametrize(("name", "tokens", "right", "wrong"), CASES)
def test_probabilities(name: str, tokens: tuple[Token, ...], right: float, wrong: float) -> None:
    assert found(*tokens) == (pytest.approx(right), pytest.approx(wrong), False), name


def test_score_is_normalised_or_as_it_is() -> None:
    probabilities = label_probabilities([among("Correct", {"Correct": 0.6, "Incorrect": 0.2})], 0)
    assert probabilities is not None
    assert probabilities.score() == pytest.approx(0.75)  # 0.6 / 0.8
    assert probabilities.score(normalise=False) == pytest.approx(0.6)
    assert probabilities.source == "logprobs"


BOUNDED: list[tuple[str, tuple[Token, ...], float, float]] = [
    # The least listed has 0.04, the rest 1 - 0.94 = 0.06: Incorrect has at most 0.04.
    ("least listed", (among(" Correct", {" Correct": 0.9, " Yes": 0.04}),), 0.9, 0.04),
    # Everything but 0.01 is listed.
    ("rest", (among(" Correct", {" Correct": 0.9, " Yes": 0.09}),), 0.9, 0.01),
    # Nothing but the chosen token: 1 - 0.7 = 0.3 is left.
    ("no list", (token(" Correct", 0.7),), 0.7, 0.3),
    # ... and no other token can have more than the chosen one, if that was the likeliest.
    ("no list, unsure", (token(" Incorrect", 0.3),), 0.3, 0.3),
    # 0.5 * 0.9, and after a blank: 0.05 at the blank's place + 0.5 * 0.02 behind it.
    (
        "after a blank",
        (among(" ", {" ": 0.5, "x": 0.45}), among("Correct", {"Correct": 0.9, "y": 0.02})),
        0.45,
        0.05 + 0.5 * 0.02,
    ),
]


@pytest.mark.parametrize(("name", "tokens", "right", "wrong"), BOUNDED)
def test_a_label_that_is_not_listed_is_bounded(
    name: str, tokens: tuple[Token, ...], right: float, wrong: float
) -> None:
    assert found(*tokens) == (pytest.approx(right), pytest.approx(wrong), True), name
    probabilities = label_probabilities(tokens, 0)
    assert probabilities is not None
    assert probabilities.source == "bounded"


def test_the_judgement_may_begin_within_a_token() -> None:
    # ": Correct" is one token; only alternatives with the colon lead to a judgement.
    listed = {": Correct": 0.7, ": Incorrect": 0.2, " Correct": 0.1}
    tokens = (token("Judgement"), among(": Correct", listed))
    assert found(*tokens[1:], place=11) == (pytest.approx(0.7), pytest.approx(0.2), False)


def test_no_label_no_score() -> None:
    assert label_probabilities([among("Maybe", {"Maybe": 1.0})], 0) is None
    assert label_probabilities([], 0) is None
    assert label_probabilities([token("Correct", 0.5)], 7) is None  # behind the end
    assert (
        label_probabilities([Token(text="Correct", logprob=float("nan"))], 0) is None
    )  # never 0.5 for want of a number
    assert label_probabilities([Token(text="Correct", logprob=-9999.0)], 0) is None


def test_where_a_text_stands_among_the_tokens() -> None:
    tokens = [token("<think>"), token("Judgement: Correct"), token("</think>"), token("Judgement:"), token(" Correct")]
    assert text_place(tokens, "Judgement: Correct") == len("<think>Judgement: Correct</think>")
    assert text_place(tokens, "Judgement: 对") is None
    assert text_place(tokens, "") is None


# --------------------------------------------------------------------------------------------------------------------
# Replies that are one label


def one(text: str, *tokens: Token, finish: Finish = "length") -> Reply:
    return Reply(text=text, tokens=tokens or None, finish=finish)


def test_a_reply_of_one_token() -> None:
    # Case 155: with a blank in front or not, 0.6 + 0.1 against 0.2.
    reply = one(" +", among(" +", {" +": 0.6, "+": 0.1, " -": 0.2}))
    assert label_score(reply, PLUS) == (pytest.approx(0.7 / 0.9), "logprobs")


def test_a_reply_without_log_probabilities_is_read() -> None:
    assert label_score(one("+"), PLUS) == (1.0, "text")
    assert label_score(one(" **No**.", finish="stop"), YES) == (0.0, "text")


def test_the_text_does_not_count_where_the_labels_are_likely_enough() -> None:
    reply = one(".", among(".", {".": 0.5, "+": 0.3, "-": 0.1}))
    assert label_score(reply, PLUS, least_mass=0.4) == (pytest.approx(0.75), "logprobs")
    said = label_score(reply, PLUS, least_mass=0.41)  # 0.3 + 0.1 is less
    assert isinstance(said, Unjudged)
    assert said.kind == "unparsable"


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ("maybe", "stop", "unparsable"),
        ("", "stop", "unparsable"),
        ("", "length", "truncated"),
        ("", "filter", "refused"),
        ("+ or -", "stop", "unparsable"),
    ],
)
def test_a_reply_that_is_no_label(text: str, finish: Finish, kind: str) -> None:
    said = label_score(one(text, finish=finish), PLUS)
    assert isinstance(said, Unjudged)
    assert said.kind == kind


# --------------------------------------------------------------------------------------------------------------------
# Properties

TEXTS = st.sampled_from([" Correct", "Correct", "C", " In", "correct", "Incorrect", " ", "", "x", "+", "rect", "\n"])
LOGPROBS = st.floats(-20, 0)
TOKENS = st.builds(Token, text=TEXTS, logprob=LOGPROBS, top=st.lists(st.tuples(TEXTS, LOGPROBS), max_size=4).map(tuple))


@given(st.lists(TOKENS, max_size=6), st.integers(0, 12))
def test_scores_are_probabilities(tokens: list[Token], place: int) -> None:
    probabilities = label_probabilities(tokens, place, CORRECT)
    if probabilities is not None:
        assert 0 <= probabilities.score() <= 1
        assert probabilities.right >= 0
        assert probabilities.wrong >= 0
        assert probabilities.right + probabilities.wrong > 0
