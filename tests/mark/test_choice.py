"""Reading and marking choice answers: every row is a reply and what a careful reader takes it to mean."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.choice import mark_choice, read_choice
from assay.types import ChoiceGold, Option


def labels_only(*labels: str) -> tuple[Option, ...]:
    return tuple(Option(label=label) for label in labels)


def with_texts(*texts: str) -> tuple[Option, ...]:
    return tuple(Option(label=label, text=text) for label, text in zip("ABCDEFGHIJ", texts, strict=False))


def read(reply: str, options: tuple[Option, ...], *, multiple: bool = False, extracted: bool = False) -> str:
    """The labels with commas, or the status where nothing counts."""
    reading = read_choice(reply, options, multiple=multiple, extracted=extracted)
    assert (reading.status == "ok") == bool(reading.labels)
    assert reading.rule
    return ",".join(reading.labels) if reading.status == "ok" else reading.status


ABCD = labels_only(*"ABCD")
A_TO_J = labels_only(*"ABCDEFGHIJ")
ROMAN = labels_only("(i)", "(ii)", "(iii)")
CJK = labels_only(*"甲乙丙丁")
DIGITS = labels_only("1", "2", "3")
MOVES = with_texts("Rise", "Decline")
THREE_MOVES = with_texts("Rise", "Flat", "Fall")
PRICES = with_texts("3 INR/liter", "5 INR/liter", "7 INR/liter", "-2 INR/liter")
YES_NO = with_texts("Yes", "No")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # wrappers around one label
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        ("B)", "B"),
        ("[B]", "B"),
        ("**B**", "B"),
        ("$B$", "B"),
        ("Ｂ", "B"),
        ("Ⓑ", "B"),
        ("Answer: B", "B"),
        ("ANSWER: b", "B"),
        ("Answer: **B**", "B"),
        ("**Answer: B**", "B"),
        ("**Answer**: (B).", "B"),
        ("Answer: 'B'", "B"),
        ("Answer: “B”", "B"),
        ("Answer: `B`", "B"),
        ("Answer: <b>B</b>", "B"),
        ("Answer: \\(B\\)", "B"),
        ("Answer: \\mathrm{B}", "B"),
        ("Answer: Option B", "B"),
        ("Answer: the correct option is (B)", "B"),
        ("\\boxed{B}", "B"),
        ("$\\boxed{\\textbf{(B)}}$", "B"),
        ("\\boxed{\\text{B}}", "B"),
        ("\\boxed{{\\bf (B)}}", "B"),
        ("<answer>B</answer>", "B"),
        ("<|begin_of_box|>B<|end_of_box|>", "B"),
        ("### Final Answer\n\n**B**", "B"),
        ("Final answer:\n$$\\boxed{B}$$", "B"),
        # languages
        ("答案：B", "B"),
        ("答案是B。", "B"),
        ("答案为 B", "B"),
        ("正确答案是 B", "B"),
        ("因此，答案是（B）。", "B"),
        ("故选B。", "B"),
        ("故選：B", "B"),
        ("我选择B", "B"),
        ("我覺得應該選 B", "B"),
        ("所以选项B正确", "B"),
        ("答え：B", "B"),
        ("正解はB", "B"),
        ("정답: B", "B"),
        ("정답은 B입니다", "B"),
        ("Réponse : B", "B"),
        ("La réponse est B.", "B"),
        ("Antwort: B", "B"),
        ("Die Antwort lautet B.", "B"),
        ("Respuesta: B", "B"),
        ("La respuesta correcta es B", "B"),
        ("A resposta correta é B", "B"),
        ("Risposta: B", "B"),
        ("Ответ: B", "B"),
        ("الإجابة: B", "B"),
        ("Đáp án: B", "B"),
        # sentences
        ("The answer is B", "B"),
        ("The correct answer is b.", "B"),
        ("So the answer is option (B) because it rises", "B"),
        ("The best option would be B, since", "B"),
        ("I choose option B", "B"),
        ("I would go with B.", "B"),
        ("My choice is B", "B"),
        ("B is the correct answer.", "B"),
        ("Option B is correct.", "B"),
        ("Finally, the only remaining choice is (B).", "B"),
        ("Therefore, (B).", "B"),
        ("She leaves the house through door B.", "B"),
        ("The shape with the largest area is (B).", "B"),
        ("A is larger than B.", "none"),
        ("It is larger than B.", "none"),
        ("It does not leave through door B.", "none"),
        ("It ends with a b.", "none"),
        ("B because C is wrong", "B"),
        ("Answer: B because C is wrong", "B"),
        ("Answer: B, not A", "B"),
        ("Answer: B (not A)", "B"),
        ("Answer: B rather than A", "B"),
        ("Answer: B, since A is too low", "B"),
        ("B. The revenue rose 5% in 2020.", "B"),
        ("The answer is A", "A"),
        ("The answer is A.", "A"),
        # several places: the last that reads, prose passed over
        ("Answer: A ... wait. Answer: B", "B"),
        ("Answer: A\n\nNo, that is the wrong year.\n\nAnswer: B", "B"),
        ("The answer is not A. The answer is B.", "B"),
        ("The answer is B. Note that A is a common distractor.", "B"),
        ("Answer: this asks which is a colour\n...\nANSWER: b", "B"),
        ("Answer: B\n\nThe answer: this asks which of them grew most.", "B"),
        ("Answer: B\n\nSo I rule A out.", "B"),
        ("Answer: B\n\nExplanation:\nA. Too low\nC. Too high", "B"),
        ("\\boxed{A} no, \\boxed{B}", "B"),
        ("Answer: B\n\\boxed{x^2}", "B"),
        ("Answer: B\nCONFIDENCE: 90%", "B"),
        ("Answer: B, B", "B"),
        # several named where one is asked for
        ("Answer: A or B", "ambiguous"),
        ("Answer: A/B", "ambiguous"),
        ("Answer: A and B", "ambiguous"),
        ("Answer: A, B", "ambiguous"),
        ("Answer: AC", "ambiguous"),
        ("Answer: A B", "ambiguous"),
        ("Answer: A-D", "ambiguous"),
        ("Answer:\nA\nB", "ambiguous"),
        ("A is correct. B is incorrect. C is correct.", "ambiguous"),
        # nothing
        ("", "none"),
        ("   \n", "none"),
        ("D is incorrect", "none"),
        ("not B", "none"),
        ("Answer: not B", "none"),
        ("Answer: it cannot be (B)", "none"),
        ("All except C", "none"),
        ("Answer: All except C", "none"),
        ("Neither A nor B", "none"),
        ("不选B", "none"),
        ("选项B错误", "none"),
        ("Answer: None", "none"),
        ("Answer: Don't know", "none"),
        ("Answer: cannot be determined", "none"),
        ("Answer: G", "none"),
        ("Answer: bad", "none"),
        ("Answer: ABX", "none"),
        ("Answer: A company reported a decline", "none"),
        ("The answer is A company-wide decline", "none"),
        ("The answer is a matter of taste", "none"),
        ("A company reported a decline", "none"),
        ("Answer: A-shares", "none"),
        ("Answer: A+ rated", "none"),
        ("Answer: C = 5", "none"),
        ("\\boxed{D_1 + x}", "none"),
        ("\\boxed{\\Delta D}", "none"),
        ("A: 950\nB: 590\nC: 905\nHard to say.", "none"),
        ("The four pieces form a square.", "none"),
    ],
)
def test_one_label(reply: str, expected: str) -> None:
    assert read(reply, ABCD) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The answer is C because I computed the integral.", "C"),
        ("Answer: I", "I"),
        ("(I)", "I"),
        ("Answer: I think so", "none"),
        ("I think it is a tie", "none"),
        ("Answer: I, on the other hand, doubt it", "none"),
        ("**Answer: D/H**", "ambiguous"),
    ],
)
def test_the_pronoun_is_no_label(reply: str, expected: str) -> None:
    assert read(reply, A_TO_J) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("A, B", "A,B"),
        ("A,B", "A,B"),
        ("A、B", "A,B"),
        ("A，B", "A,B"),
        ("A;B", "A,B"),
        ("A/B", "A,B"),
        ("A & B", "A,B"),
        ("A + B", "A,B"),
        ("A | B", "A,B"),
        ("A B", "A,B"),
        ("AB", "A,B"),
        ("B, A", "A,B"),
        ("A and B", "A,B"),
        ("both A and B", "A,B"),
        ("Options A and B", "A,B"),
        ("A和B", "A,B"),
        ("A y B", "A,B"),
        ("A et B", "A,B"),
        ("A und B", "A,B"),
        ("(A), (B)", "A,B"),
        ("[A, C]", "A,C"),
        ("{A, C}", "A,C"),
        ("**A**, **C**", "A,C"),
        ("A, B, and C", "A,B,C"),
        ("A, B and C", "A,B,C"),
        ("A,C,", "A,C"),
        ("A,B.", "A,B"),
        ("A, B, C, D", "A,B,C,D"),
        ("ACD", "A,C,D"),
        ("acd", "A,C,D"),
        ("a, c", "A,C"),
        ("A, A", "A"),
        ("A", "A"),
        ("A and C are correct", "A,C"),
        ("A, B because both rise", "A,B"),
        ("A because C is wrong", "A"),
        ("\nA\nC", "A,C"),
        ("\n- A\n- C", "A,C"),
        ("A\nC", "A,C"),
        ("A, B, & D", "A,B,D"),
        ("A & C only", "A,C"),
        ("A, B (C is wrong)", "A,B"),
        ("A (True), C (True)", "A,C"),
        ("A (see the legend) and C", "A,C"),
        ("A, but not B", "A"),
        ("A along with C", "A,C"),
        ("[A][C]", "A,C"),
        ("(A) (C)", "A,C"),
        ("A. C. D.", "A,C,D"),
        ("A. C grew faster", "A"),
        ("A.B", "A,B"),
        ('["A", "C"]', "A,C"),
        ("a) and c)", "A,C"),
        ("A) it rose, C) it fell", "A,C"),
        ("A. It rose; C. It fell", "A,C"),
        ("A. It rose; C. is wrong", "A"),
        ("A. Correct; B. Incorrect; C. Correct", "A,C"),
        ("A: True, B: False, C: True", "A,C"),
        ("A → C", "ambiguous"),
        ("\\boxed{A, C}", "A,C"),
        ("\\boxed{ACD}", "A,C,D"),
        ("\\boxed{A} and \\boxed{C}", "A,C"),
        ("A or B", "ambiguous"),
        ("A and/or B", "ambiguous"),
        ("A-D", "ambiguous"),
        ("A to D", "ambiguous"),
        ("ACX", "none"),
        ("bad", "none"),
        ("AAC", "none"),
        ("All except C", "none"),
        ("All of the above", "none"),
        ("B, A is wrong", "B"),
    ],
)
def test_several_labels(written: str, expected: str) -> None:
    assert read(f"Answer: {written}", ABCD, multiple=True) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Statements A and C are correct.", "A,C"),
        ("Therefore, the correct answers are:\n\n- A\n- C", "A,C"),
        ("The correct options are A, C and D.", "A,C,D"),
        ("Looking at each in turn.\n\n- A\n- C", "A,C"),
        ("正确的选项是A、C", "A,C"),
        ("正确的是AC", "A,C"),
        ("选项A和C是正确的", "A,C"),
        ("综上所述，A和C正确，B和D错误。", "A,C"),
        # What a rule of thumb finds may not be all of the answer.
        ("It can only be read from line (A).", "none"),
        ("The chart is closest to statement A", "none"),
        ("A is correct. B is incorrect. C is correct.", "A,C"),
        ("A, C", "A,C"),
        ("ACD", "A,C,D"),
    ],
)
def test_several_labels_without_an_announcement(reply: str, expected: str) -> None:
    assert read(reply, ABCD, multiple=True) == expected


@pytest.mark.parametrize(
    ("options", "reply", "expected"),
    [
        (DIGITS, "Answer: 2", "2"),
        (DIGITS, "Answer: (2)", "2"),
        (DIGITS, "Answer: 1.", "1"),
        (DIGITS, "Answer: 2.5", "none"),
        (DIGITS, "Answer: 12", "none"),
        (DIGITS, "Answer: -1", "none"),
        (DIGITS, "Answer: 2%", "none"),
        (ROMAN, "Answer: (ii)", "(ii)"),
        (ROMAN, "Answer: iii", "(iii)"),
        (ROMAN, "Answer: II", "(ii)"),
        (ROMAN, "Answer: i think so", "none"),
        (ROMAN, "Answer: ı", "none"),
        (labels_only("True", "False"), "Answer: True.", "True"),
        (labels_only("True", "False"), "false", "False"),
        (labels_only("Yes", "No"), "Yes, it rose", "Yes"),
        (labels_only("Yes", "No"), "No change is visible", "none"),
        (CJK, "答案：乙", "乙"),
        (CJK, "选甲", "甲"),
        (CJK, "答案是丙。", "丙"),
        (CJK, "答案：甲方", "none"),
    ],
)
def test_labels_that_are_not_letters(options: tuple[Option, ...], reply: str, expected: str) -> None:
    assert read(reply, options) == expected


@pytest.mark.parametrize(
    ("options", "reply", "expected"),
    [
        (DIGITS, "Answer: 1, 3", "1,3"),
        (ROMAN, "Answer: (i) and (iii)", "(i),(iii)"),
        (CJK, "答案：甲和丙", "甲,丙"),
        (CJK, "答案：甲丙", "甲,丙"),
        (CJK, "答案：甲、丙", "甲,丙"),
        (THREE_MOVES, "Answer:\nA. Rise\nC. Fall", "A,C"),
        (THREE_MOVES, "Answer: A. Rise; C. Fall", "A,C"),
        (THREE_MOVES, "Answer: A. Rise, C. Fall", "A,C"),
        (THREE_MOVES, "Answer: Rise and Fall", "A,C"),
        (THREE_MOVES, "Answer: Rise, Fall", "A,C"),
        (THREE_MOVES, "Answer: A. Fall; C. Rise", "ambiguous"),
        (THREE_MOVES, "Rise. Fall.", "none"),
    ],
)
def test_several_labels_with_texts(options: tuple[Option, ...], reply: str, expected: str) -> None:
    assert read(reply, options, multiple=True) == expected


@pytest.mark.parametrize(
    ("options", "reply", "expected"),
    [
        # label and text
        (MOVES, "Answer: B.Decline", "B"),
        (MOVES, "Answer: B. Decline", "B"),
        (MOVES, "Answer: B: decline", "B"),
        (MOVES, "Answer: B - Decline", "B"),
        (MOVES, "Answer: (B) Decline", "B"),
        (MOVES, "Answer: B Decline", "B"),
        (MOVES, "Answer: Decline (B)", "B"),
        (MOVES, "(B) Decline", "B"),
        (MOVES, "Answer: B. Rise", "ambiguous"),
        (MOVES, "Answer: Decline (A)", "ambiguous"),
        (MOVES, "Answer: B. Because the chart falls", "B"),
        # text alone
        (MOVES, "Decline", "B"),
        (MOVES, "Answer: decline.", "B"),
        (MOVES, "Answer: a clear decline", "B"),
        (MOVES, "The chart shows a clear decline.", "B"),
        (MOVES, "It is not a decline.", "none"),
        (MOVES, "Answer: no decline", "none"),
        (MOVES, "Answer: Rise or Decline", "ambiguous"),
        (MOVES, "A declining trend", "none"),
        (THREE_MOVES, "Answer: Rise, Fall", "ambiguous"),
        # numbers on number boundaries, the longest text
        (with_texts("3.5", "4.2"), "The value is 4.2", "B"),
        (with_texts("3.5", "4.2"), "The value is 14.2", "none"),
        (with_texts("3.5", "4.2"), "The value is 4.25", "none"),
        (with_texts("3.5", "4.2"), "The value is -4.2", "none"),
        (with_texts("10", "100", "100%"), "Answer: 10", "A"),
        (with_texts("10", "100", "100%"), "Answer: 100", "B"),
        (with_texts("10", "100", "100%"), "Answer: 100%", "C"),
        (with_texts("10", "100", "100%"), "Answer: 100 %", "C"),
        (with_texts("5 million", "5 billion"), "Answer: about 5 billion", "B"),
        (with_texts("5", "5 billion"), "Answer: about 5 billion", "B"),
        (with_texts("24%", "25%", "22%"), "Answer: 25", "B"),
        (with_texts("24%", "25%", "22%"), "Answer: 26", "none"),
        (with_texts("5,000 INR Mn", "5,500 INR Mn"), "Answer: 5500", "B"),
        (with_texts("5 million", "5 billion"), "Answer: 5", "none"),
        (PRICES, "5 INR/liter", "B"),
        (PRICES, "Answer: -2", "D"),
        (PRICES, "It was 2 INR/liter", "none"),
        (with_texts("$4", "$5"), "Answer: \\$5", "B"),
        (with_texts("$4", "$5"), "Answer: $5", "B"),
        # mathematics: LaTeX and plain text
        (with_texts("$135^{\\circ}$", "$145^\\circ$"), "Answer: 145°", "B"),
        (with_texts("$4 \\mathrm{~kg}$", "$8 \\mathrm{~kg}$"), "8 kg", "B"),
        (with_texts("$\\frac{120}{17}$", "$10$"), "120/17", "A"),
        (with_texts("$\\dfrac{1}{2}$", "$\\frac{1}{3}$"), "\\boxed{\\frac{1}{2}}", "A"),
        (with_texts("$25 \\%$", "$30 \\%$"), "30%", "B"),
        # contained in one another, and repeated
        (with_texts("profit", "operating profit"), "Answer: operating profit", "B"),
        (with_texts("profit", "operating profit"), "Answer: the profit", "A"),
        (with_texts("no", "notice"), "a death notice", "B"),
        (with_texts("same", "same", "other"), "Answer: same", "ambiguous"),
        # yes and no
        (YES_NO, "Yes, ... a gravestone adorned with a death notice", "A"),
        (YES_NO, "No.", "B"),
        (YES_NO, "Answer: yes", "A"),
        # none and all of them
        (with_texts("x1", "x2", "None of the above"), "Answer: None", "C"),
        (with_texts("x1", "x2", "None of the above"), "Answer: none of these options", "C"),
        (with_texts("x1", "x2", "以上都不是"), "Answer: None of the above", "C"),
        (with_texts("x1", "x2", "All of the above"), "Answer: All of the above", "C"),
        (with_texts("x1", "x2", "All of the above"), "Answer: all", "C"),
        # Chinese
        (with_texts("图像的右侧", "图像的左侧"), "(A)图像的右侧", "A"),
        (with_texts("图像的右侧", "图像的左侧"), "图像的右侧", "A"),
        (with_texts("图像的右侧", "图像的左侧"), "它在图像的右侧。", "A"),
        # a label that is also a text: the label is what was asked for
        (with_texts("C", "A", "B"), "Answer: C", "C"),
        (with_texts("A", "B", "C"), "Answer: C", "C"),
        # no option
        (with_texts("11", "cheesecake", "-84", "insufficient", "42"), "14", "none"),
        (with_texts("positive", "negative", "zero", "undefined"), "", "none"),
        (with_texts("3.5", "4.2", "5.0"), "B.", "B"),
        # an answer in a box that is no option is not replaced by a mention before it
        (with_texts("41", "43"), "It is near 41.\n\\boxed{42}", "none"),
        (with_texts("41", "43"), "\\boxed{41.6}, so (B) is correct.", "B"),
    ],
)
def test_option_texts(options: tuple[Option, ...], reply: str, expected: str) -> None:
    assert read(reply, options) == expected


def test_thinking_is_no_answer() -> None:
    assert read("<think>Answer: A</think>B", ABCD) == "B"
    assert read("<think>Answer: A", ABCD) == "none"


def test_labels_are_assumed_without_options() -> None:
    assert read("Answer: A, N", (), multiple=True) == "A,N"
    assert read("Answer: Z", ()) == "none"


@pytest.mark.parametrize(
    ("reply", "explicit"),
    [
        ("Answer: B", True),
        ("\\boxed{B}", True),
        ("The answer is B.", True),
        ("\\boxed{B", False),
        ("<answer>B", False),
        ("B", False),
        ("Option B is correct.", False),
    ],
)
def test_explicit_answers_count_in_cut_replies(reply: str, explicit: bool) -> None:
    assert read_choice(reply, ABCD, multiple=False).explicit is explicit


@pytest.mark.parametrize(
    ("text", "expected"),
    [("B", "B"), ("(B)", "B"), ("A,B", "ambiguous"), ("Decline", "B"), ("", "none"), ("?", "none")],
)
def test_extracted_answers_are_read_whole(text: str, expected: str) -> None:
    options = with_texts("Rise", "Decline", "Flat")
    assert read(text, options, extracted=True) == expected
    assert read_choice(text, options, multiple=False, extracted=True).explicit


# --------------------------------------------------------------------------------------------------------------------
# Marks


@pytest.mark.parametrize(
    ("reply", "gold", "verdict", "extraction"),
    [
        ("Answer: B, A", ("A", "B"), "right", "A,B"),
        ("Answer: A", ("A", "B"), "wrong", "A"),
        ("Answer: A, B, C", ("A", "B"), "wrong", "A,B,C"),
        ("Answer: A or B", ("A", "B"), "unanswered", "A or B"),
        ("no idea", ("A",), "unanswered", None),
    ],
)
def test_right_means_the_same_set(reply: str, gold: tuple[str, ...], verdict: str, extraction: str | None) -> None:
    mark = mark_choice(read_choice(reply, ABCD, multiple=True), ChoiceGold(labels=gold, multiple=True))
    assert (mark.verdict, mark.extraction) == (verdict, extraction)


def test_the_reason_tells_no_answer_from_an_ambiguous_one() -> None:
    gold = ChoiceGold(labels=("A",))
    assert mark_choice(read_choice("?", ABCD, multiple=False), gold).reason.startswith("none")
    assert mark_choice(read_choice("Answer: A or B", ABCD, multiple=False), gold).reason.startswith("ambiguous")


# --------------------------------------------------------------------------------------------------------------------
# Properties

WRAPPERS = (
    "{}",
    "Answer: {}",
    "**Answer:** {}",
    "**Answer: {}**",
    "ANSWER: [{}]",
    "Final answer: ({})",
    "Answer: ${}$",
    "\\boxed{{{}}}",
    "Answer: \\boxed{{\\text{{{}}}}}",
    "<answer>{}</answer>",
    "The answer is {}.",
    "Some thoughts about A or B.\n\nAnswer: {}",
    "答案：{}",
    "答案是{}。",
)
SEPARATORS = (", ", ",", "、", "，", "; ", "/", " & ", " and ", " ")
PROSE = (
    "\n\nThe other bars are lower.",
    "\n\nNote that A is a common distractor.",
    "\n\nI checked this against the legend, and C is too high.",
    "\nHowever, the axis starts at 5.",
    "\n\nOption D ignores the last quarter.",
)
subsets = st.sets(st.sampled_from("ABCD"), min_size=1).map(lambda labels: tuple(sorted(labels)))


@given(subsets, st.sampled_from(WRAPPERS), st.sampled_from(SEPARATORS))
def test_every_way_of_writing_the_gold_is_right(labels: tuple[str, ...], wrapper: str, separator: str) -> None:
    reply = wrapper.format(separator.join(labels))
    mark = mark_choice(read_choice(reply, ABCD, multiple=True), ChoiceGold(labels=labels, multiple=True))
    assert mark.verdict == "right", reply


@given(st.permutations("ACD"), st.booleans(), st.sampled_from(SEPARATORS))
def test_order_and_case_do_not_matter(labels: list[str], lower: bool, separator: str) -> None:
    written = separator.join(labels)
    assert read(f"Answer: {written.lower() if lower else written}", ABCD, multiple=True) == "A,C,D"


@given(subsets, st.sampled_from(PROSE), st.sampled_from(PROSE))
def test_prose_after_an_announced_answer_changes_nothing(labels: tuple[str, ...], first: str, second: str) -> None:
    reply = f"Answer: {', '.join(labels)}"
    plain = read_choice(reply, ABCD, multiple=True)
    assert read_choice(reply + first + second, ABCD, multiple=True) == plain


@given(st.sampled_from("ABCD"), st.text(max_size=80))
def test_any_text_before_an_announced_answer_changes_nothing(label: str, text: str) -> None:
    if "<" in text or "◁" in text or "[" in text:
        return  # an open thinking block would swallow the answer
    assert read(f"{text}\n\nAnswer: {label}", ABCD) == label


@given(st.text(max_size=200), st.booleans(), st.booleans())
def test_reading_any_text_raises_nothing_and_is_repeatable(text: str, multiple: bool, extracted: bool) -> None:
    for options in (ABCD, PRICES, ROMAN, CJK, YES_NO, ()):
        first = read_choice(text, options, multiple=multiple, extracted=extracted)
        assert first == read_choice(text, options, multiple=multiple, extracted=extracted)
        assert set(first.labels) <= {option.label for option in options} or not options


PIECES = (
    "A",
    "b",
    " and ",
    "or",
    ", ",
    "(",
    ")",
    "\n",
    "Answer: ",
    "\\boxed{",
    "}",
    "**",
    "not ",
    "Rise",
    ".",
    "is ",
    "correct",
)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_one_answer_at_most_where_one_is_asked_for(text: str) -> None:
    assert len(read_choice(text, MOVES, multiple=False).labels) <= 1


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_options_can_be_held_against_a_reply(label: str, text: str) -> None:
    options = (Option(label=label, text=text), Option(label="B", text="5"))
    read_choice(f"Answer: {text}\n{label}", options, multiple=True)


@pytest.mark.parametrize(
    "unit",
    [
        "A, ",
        "A and ",
        "(",
        "( ",
        " ",
        "Answer: A\n",
        "Rise and ",
        "A. Rise; ",
        "is correct ",
        "\\text{",
        "not ",
        "1",
        "I ",
    ],
)
def test_long_hostile_replies_are_read_in_time(unit: str) -> None:
    # Quadratic work on 200,000 characters would run into the time limit of the suite.
    text = unit * (200_000 // len(unit))
    for reply in (text, f"Answer: {text}"):
        read_choice(reply, PRICES, multiple=True)
        read_choice(reply, PRICES, multiple=False, extracted=True)


# --------------------------------------------------------------------------------------------------------------------
# Published replies


# (file, id) of the published replies in which the scorer read a letter that the reply does not answer.
NOT_ANSWERED = {
    ("Gemini-Pro-CoT.jsonl", "1206"),  # "The correct answer is (A), (C), and (E).": the scorer kept the first
    ("Random-Chance.jsonl", "1196"),  # "$e+d=a$" is option E's text: the scorer kept what follows the "="
}


def test_published_replies_are_read_as_their_scorer_read_them(shared_data: Path) -> None:
    """Where MATH-Vision's published scorer read a letter of the item in a published reply, so do we."""
    folder = shared_data / "mathvision"
    rows = map(json.loads, (folder / "test_meta.jsonl").read_text("utf-8").splitlines())
    choice = {row["id"]: row for row in rows if row["options"]}
    seen = 0
    for file in sorted((folder / "parity").glob("*.jsonl")):
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            letter = row["model_answer"].strip("()").upper()
            if row["id"] not in choice or len(letter) != 1 or letter not in "ABCDE":
                continue
            if (file.name, row["id"]) in NOT_ANSWERED:
                continue
            seen += 1
            options = with_texts(*choice[row["id"]]["options"])
            assert read(row["response"], options) == letter, (file.name, row["id"])
    assert seen > 5_000


def test_subsets_and_labels_cover_each_other() -> None:
    """All fifteen sets of four labels, glued."""
    for size in range(1, 5):
        for labels in itertools.combinations("ABCD", size):
            assert read("Answer: " + "".join(labels), ABCD, multiple=True) == ",".join(labels)
