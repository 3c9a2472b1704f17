"""Text clean-up, boxes and answer slots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.mark.answer import (
    MAX_SLOTS,
    all_boxes,
    answer_slots,
    find_answer_slot,
    last_boxed,
    normalise,
    prepare,
    strip_thinking,
    unwrap,
)

# --------------------------------------------------------------------------------------------------------------------
# normalise


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("１２３", "123"),
        ("3．14", "3.14"),
        ("Ｂ", "B"),
        ("−5", "-5"),
        ("–5", "-5"),
        ("—5", "-5"),
        ("1\u2009234", "1 234"),
        ("1\u00a0234", "1 234"),
        ("1\u202f234", "1 234"),
        ("答案：A，B；C（D）", "答案:A,B;C(D)"),
        ("10m²", "10m^2"),
        ("1.2×10⁹", "1.2×10^9"),
        ("10⁻¹²", "10^{-12}"),
        ("½", " 1/2"),
        ("1½", "1 1/2"),
        ("Ⓑ", "B"),
        ("🅱", "B"),
        ("🅒", "C"),
        ("①", "1"),
        ("❷", "2"),
        ("“B”", '"B"'),
        ("1’234", "1'234"),
        ("٣٫٥", "3.5"),
        ("१२", "12"),
        ("A\u200b\ufeffB", "AB"),
        ("\u202eB\u202c", "B"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("é\r\nb", "é\nb"),
        ("ascii: 1-2 'x'", "ascii: 1-2 'x'"),
    ],
)
def test_one_spelling_for_what_means_the_same(written: str, plain: str) -> None:
    assert normalise(written) == plain


@given(st.text(max_size=200))
def test_lower_case_keeps_positions(text: str) -> None:
    plain = normalise(text)
    assert len(plain.lower()) == len(plain)


@given(st.text(max_size=200))
def test_normalising_again_changes_nothing(text: str) -> None:
    plain = normalise(text)
    assert normalise(plain) == plain


def test_long_runs_of_combining_marks_are_cut() -> None:
    # Sorting 200,000 alternating marks canonically would take hours.
    plain = normalise("a" + "\u0316\u0300" * 100_000 + "b")
    assert plain.startswith(("a", "à"))
    assert plain.endswith("b")
    assert len(plain) < 40


def test_ligatures_of_a_sentence_do_not_grow() -> None:
    assert len(normalise("\ufdfa" * 1_000)) <= 1_000


# --------------------------------------------------------------------------------------------------------------------
# Thinking


@pytest.mark.parametrize(
    ("reply", "answer", "thinking"),
    [
        ("<think>ANSWER: A</think>B", "B", "ANSWER: A"),
        ("B", "B", ""),
        ("<thinking>x</thinking>\n\nB", "B", "x"),
        ("◁think▷x◁/think▷B", "B", "x"),
        ("[THINK]x[/THINK]B", "B", "x"),
        ("<|channel|>analysis<|message|>x<|end|>B", "B", "x"),
        # The template opened the block, the model closed it.
        ("first x, Answer: A</think>B", "B", "first x, Answer: A"),
        # Cut while thinking: nothing was answered.
        ("<think>Answer: A, no,", "", "Answer: A, no,"),
        ("<think>a<think>b</think>c</think>B", "B", "abc"),
        ("<think>a</think>so<think>b</think>B", "soB", "ab"),
        ("x < 3 and [1]", "x < 3 and [1]", ""),
        ("<|end|>B", "B", ""),
    ],
)
def test_thinking_is_kept_apart(reply: str, answer: str, thinking: str) -> None:
    found = strip_thinking(reply)
    assert found[1] == thinking
    assert found[0].replace("<|end|>", "") == answer


@given(st.text(alphabet="<>/think aB", max_size=60), st.text(alphabet="xyz ", min_size=1, max_size=20))
def test_what_follows_a_closed_block_is_the_answer(thought: str, answer: str) -> None:
    thought = thought.replace("<", "")
    assert strip_thinking(f"<think>{thought}</think>{answer}")[0] == answer.strip()


# --------------------------------------------------------------------------------------------------------------------
# Boxes


@pytest.mark.parametrize(
    ("text", "content", "closed"),
    [
        (r"\boxed{5}", "5", True),
        (r"\fbox{5}", "5", True),
        (r"\boxed {5}", "5", True),
        (r"\boxed 5", "5", True),
        (r"\boxed 5.", "5", True),
        (r"\boxed B", "B", True),
        (r"\boxed{\text{B}}", r"\text{B}", True),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", True),
        (r"\boxed{\{1,2\}}", r"\{1,2\}", True),
        (r"\boxed{\left\{1\right.}", r"\left\{1\right.", True),
        (r"\boxed{\boxed{5}}", "5", True),
        (r"\boxed{3} no, \boxed{4}", "4", True),
        (r"\boxed{840}., but ... \boxed{840}", "840", True),
        (r"\boxed{5", "5", False),
        (r"$\boxed{5$", "5", False),
        ("\\boxed{5\nand more", "5", False),
        (r"\boxed{5 \boxed{6}", "6", True),
        (r"{ unbalanced \boxed{6}", "6", True),
        (r"} \boxed{6}", "6", True),
        (r"\\boxed{6}", "6", True),
        ("\boxed{6}", "6", True),  # "\b" is a backspace here: a string literal ate the backslash
        ("boxed{6}", "6", True),
        (r"\[ \boxed{42} \]", "42", True),
    ],
)
def test_last_box(text: str, content: str, closed: bool) -> None:
    box = all_boxes(text)[-1]
    assert (box.content, box.closed) == (content, closed)
    assert last_boxed(text) == content


@pytest.mark.parametrize(
    "text",
    ["", "Mark your solution with \\boxed ", "\\boxed{}", "\\boxed{ }", "the boxed area", "use \\boxed notation"],
)
def test_no_box(text: str) -> None:
    assert last_boxed(text) is None


@given(st.text(alphabet="ab{}\\ 1", max_size=30))
def test_a_box_gives_back_any_balanced_content(content: str) -> None:
    # Balance by the reading that TeX has: an escaped brace is no brace.
    depth = low = 0
    at = 0
    while at < len(content):
        if content[at] == "\\":
            at += 2
            continue
        depth += {"{": 1, "}": -1}.get(content[at], 0)
        low = min(low, depth)
        at += 1
    if depth or low or content.endswith("\\") or not content.strip():
        return
    assert last_boxed(f"so \\boxed{{{content}}}.") == content.strip()


# --------------------------------------------------------------------------------------------------------------------
# Slots


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Answer: B", "B"),
        ("**Answer:** B", "B"),
        ("**Answer**: B", "B"),
        ("Answer：B", "B"),
        ("Final answer - B", "B"),
        ("Answer (A-D): B", "B"),
        ("answer = B", "B"),
        ("ANSWER:\n\nB", "B"),
        ("### Final Answer\n\nB", "B"),
        ("Answer: A\nwait\nAnswer: B", "B"),
        ("<answer>B</answer>", "B"),
        ("<|begin_of_box|>B<|end_of_box|>", "B"),
        ("The correct answer is B.", "B."),
        ("The answer to the question is B", "B"),
        ("Answer: \\boxed{B}", "B"),
        ("so it is\n#### -3", "-3"),
        ("答案：B", "B"),
        ("正确答案是B", "B"),
        ("故选B", "B"),
        ("Réponse : B", "B"),
        ("Antwort: B", "B"),
        ("Ответ: B", "B"),
        ("정답: B", "B"),
        ("<think>Answer: A</think>Answer: B", "B"),
    ],
)
def test_last_slot(reply: str, text: str) -> None:
    slot = find_answer_slot(reply)
    assert slot is not None
    assert slot.text == text


@pytest.mark.parametrize(
    "reply", ["", "B", "I answered nothing", "transanswer: B", "#### Step 1\nmore text", "<think>Answer: A", "不选B"]
)
def test_no_slot(reply: str) -> None:
    assert find_answer_slot(reply) is None


def test_a_cut_slot_says_so() -> None:
    for reply in ("\\boxed{12", "<answer>12"):
        slot = find_answer_slot(reply)
        assert slot is not None
        assert not slot.closed


def test_slots_are_in_the_order_of_the_text() -> None:
    text = prepare("\\boxed{1} Answer: 2\nThe answer is 3. <answer>4</answer>\n#### 5")
    slots = answer_slots(text)
    assert [slot.rule for slot in slots] == ["box", "line", "sentence", "tag", "hash"]
    assert [slot.start for slot in slots] == sorted(slot.start for slot in slots)


def test_only_the_last_slots_are_looked_at() -> None:
    text = "".join(f"Answer: {n}\n" for n in range(1_000))
    slots = answer_slots(text)
    assert len(slots) == MAX_SLOTS
    assert slots[-1].text == "999"


@given(st.text(max_size=300))
def test_searching_any_text_raises_nothing(text: str) -> None:
    first = find_answer_slot(text)
    assert first == find_answer_slot(text)
    strip_thinking(text)
    unwrap(text)
    all_boxes(text)


@pytest.mark.parametrize(
    "unit",
    ["\\boxed{", "\\boxed{5}", "}", "\\", "Answer: A\n", "answer", "<answer>", "<think>", "答案", "选", " ", "$"],
)
def test_work_grows_with_the_text_alone(unit: str) -> None:
    # Quadratic work on 200,000 characters would run into the time limit of the suite.
    find_answer_slot(unit * (200_000 // len(unit)))


# --------------------------------------------------------------------------------------------------------------------
# Decoration


@pytest.mark.parametrize(
    ("decorated", "plain"),
    [
        ("**B**", "B"),
        ("$B$", "B"),
        ("$\\text{B}$", "B"),
        ("**$\\text{(B)}$**", "(B)"),
        ("\\(B\\)", "B"),
        ("\\mathrm{B}", "B"),
        ("{\\bf (A)}", "(A)"),
        ("{{B}}", "B"),
        ("`B`", "B"),
        ("'B'", "B"),
        ("<b>B</b>", "B"),
        ("4 \\mathrm{~kg}", "4 kg"),
        ("\\$5", "5"),
        ("50\\%", "50%"),
        ("\\frac{1}{2}", "\\frac{1}{2}"),
        ("a  b\n\n c", "a b\nc"),
    ],
)
def test_decoration_is_peeled(decorated: str, plain: str) -> None:
    assert unwrap(decorated) == plain


@given(
    st.text(alphabet="{}\\ab1 \n$", max_size=12),
    st.lists(
        st.sampled_from([r"\boxed{", "{", "}", "5", " ", r"\text{", r"\fbox{", "\boxed{", r"\boxed 7"]), max_size=8
    ),
)
def test_what_stands_before_the_first_box_changes_no_box(before: str, parts: list[str]) -> None:
    text = "".join(parts)
    shift = len(before) + 1
    moved = [box._replace(start=box.start + shift, end=box.end + shift) for box in all_boxes(text)]
    assert all_boxes(f"{before} {text}") == moved
