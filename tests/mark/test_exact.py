"""Short texts as answers, word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.exact import mark_text
from assay.types import TextGold


@pytest.mark.parametrize(
    ("gold", "reply", "verdict"),
    [
        ("Paris", "Answer: Paris", "right"),
        ("Paris", "Answer: paris.", "right"),
        ("Paris", "Answer: **Paris**", "right"),
        ("the Seine", "Answer: Seine", "wrong"),  # an article of the gold's own stays asked for
        ("Seine", "Answer: the Seine", "right"),
        ("art", "Answer: start", "wrong"),
        ("Paris", "Answer: not Paris", "wrong"),
        ("Paris", "Answer: Paris or London", "wrong"),
        ("New York", "Answer: New  York", "right"),
        ("New York", "Answer: York", "wrong"),
        ("long-term debt", "Answer: long term debt", "right"),
        ("Q4 2019", "Answer: Q4 2019", "right"),
        ("Q4 2019", "Answer: Q4 2018", "wrong"),
        ("2019-2020", "Answer: 2019-2020", "right"),
        ("2019-2020", "Answer: 2019–2020", "right"),
        ("007", "Answer: 007", "right"),
        ("３Ｄ", "Answer: 3D", "right"),
        ("C++", "Answer: C++", "right"),
        ("C++", "Answer: C", "wrong"),
        ("C", "Answer: C#", "wrong"),
        ("A+", "Answer: A", "wrong"),
        ("A♠", "Answer: A♠", "right"),
        ("A♠", "Answer: A♥", "wrong"),
        (">", "Answer: >", "right"),
        (">", "Answer: <", "wrong"),
        ("↑", "Answer: ↑", "right"),
        ("↑", "Answer: up", "wrong"),
        ("AT&T", "Answer: AT&T", "right"),
        ("up 5 %", "Answer: up 5%", "right"),
        ("up 5 %", "Answer: up 5", "wrong"),
        ("5 apples", "Answer: 5.0 apples", "right"),
        ("北京", "答案：北京", "right"),
        ("Paris", "Paris", "right"),
        ("Paris", "The capital of France is Paris.", "right"),
        ("Paris", "London", "wrong"),
        ("Paris", "I look at the map for a while, and see many towns, but none of them has a name on it", "unanswered"),
        ("Paris", "", "unanswered"),
        ("Paris", "Answer: Paris\nNo, wait. Answer: London", "wrong"),
    ],
)
def test_verdicts(gold: str, reply: str, verdict: str) -> None:
    assert mark_text(reply, TextGold(values=(gold,)))[0].verdict == verdict


def test_any_of_several_texts_is_right() -> None:
    gold = TextGold(values=("USA", "United States"))
    for reply in ("Answer: USA", "Answer: the United States"):
        assert mark_text(reply, gold)[0].verdict == "right"


def test_the_questions_own_words_add_nothing() -> None:
    gold = TextGold(values=("Berlin",))
    question = "Which city has the highest rent?"
    assert mark_text("Answer: the city Berlin", gold, question=question)[0].verdict == "right"
    assert mark_text("Answer: the town Berlin", gold, question=question)[0].verdict == "wrong"


def test_an_extracted_answer_is_taken_whole() -> None:
    mark, reading = mark_text("Paris", TextGold(values=("Paris",)), extracted=True)
    assert (mark.verdict, reading.explicit) == ("right", True)


@given(st.text(alphabet=st.characters(whitelist_categories=["Lu", "Ll"]), min_size=1, max_size=20))
def test_a_word_is_its_own_answer(word: str) -> None:
    assert mark_text(f"Answer: {word}", TextGold(values=(word,)), extracted=False)[0].verdict in ("right", "unanswered")
    assert mark_text(word, TextGold(values=(word,)), extracted=True)[0].verdict == "right"


@given(st.text(max_size=300))
def test_any_reply_gets_a_verdict(reply: str) -> None:
    assert mark_text(reply, TextGold(values=("gold",)))[0].verdict in ("right", "wrong", "unanswered")
