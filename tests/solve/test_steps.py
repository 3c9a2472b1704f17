"""Text to steps and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.solve.steps import final_step, is_final, split_number, split_steps, strip_step
from support.command import PACKAGED

# (what it shows, the steps that the text falls into)
CUT: list[tuple[str, tuple[str, ...]]] = [
    ("one step", ("Two and two are four.",)),
    ("blank lines", ("Read the chart.\n\n", "Add.\n\n\n", "Answer: 4")),
    ("a blank line with blanks in it", ("Read.\n \t \n", "Add.")),
    ("blank lines around the whole", ("\n\nRead.\n\n", "Add.\n\n")),
    ("CRLF", ("Read.\r\n\r\n", "Add.\r\n")),
    ("old CR line ends", ("Read.\r\r", "Add.\r")),
    ("headings without blank lines", ("Step 1: read.\n", "Step 2: add.\n", "Step 3: say.")),
    ("a preface before the headings", ("Let us see.\n", "Step 1: read.\n", "Step 2: add.")),
    ("capitals, and no blank before the number", ("STEP1: read.\n", "STEP2: add.")),
    ("a numbered title joins what it heads", ("Step 1: read.\n\n", "Step 2: **Final Answer**\n\n\\[ \\boxed{4} \\]")),
    ("bold headings", ("**Step 1:** read.\n", "**Step 2:** add.")),
    ("bold lines", ("**Step 1: Read.** The bar is 3.\n", "**Step 2: Add.** 3 + 1 = 4.")),
    (
        "headings of their own line join what they head",
        ("### Step 1: Read\n\nIt is 3.\n\n", "### Step 2: Add\n\nIt is 4."),
    ),
    ("a title joins what it heads", ("## Solution\n\nRead 3.\n\n", "Add.")),
    ("headings in headings", ("# Solution\n\n## Step 1\n\nRead 3.\n\n", "## Step 2\n\nAdd.")),
    ("a title at the end has nothing to head", ("Read 3.\n\n", "## Step 2\n\n")),
    ("Chinese headings", ("第一步：读图。\n", "第二步：相加。\n", "第12步 作答。")),
    ("other Chinese headings", ("步骤1：读图。\n", "步骤 2：相加。")),
    ("numbers", ("1. Read.\n", "2. Add.\n", "3. Say.")),
    ("numbers in brackets", ("(1) Read.\n", "(2) Add.")),
    ("full-width brackets", ("（1）读图。\n", "（2）相加。")),
    ("numbers with a bracket behind", ("1) Read.\n", "2) Add.")),
    ("bold numbers", ("**1.** Read.\n", "**2.** Add.")),
    ("numbers that start later, as a continuation has them", ("3. Multiply.\n", "4. Say.")),
    ("a list within headed steps", ("Step 1: the bars are\n1. red\n2. blue\n", "Step 2: add.")),
    ("an indented list is inside of its step", ("1. The bars:\n    1. red\n    2. blue\n", "2. Add.")),
    ("a year at the head of a line is no number of a step", ("1. It grew in\n20. It fell in\n", "2. Add.")),
    ("four digits are none", ("It grew in\n2019. It fell.",)),
    ("a decimal is none", ("The sum is\n3.5 and so on",)),
    ("a percentage behind the word is no heading", ("Per time\nStep 2.5% was the growth",)),
    ("the word inside a line is no heading", ("By step 1: we see 3.\nThen step 2: 4.",)),
    ("display mathematics", ("So\n\\[\na = 1\n\nb = 2\n\\]\nand\n\n", "Answer: 3")),
    ("dollars", ("So $$a\n\n= 1$$ and\n\n", "Answer: 1")),
    ("an environment", ("So\n\\begin{align}\na &= 1 \\\\[2pt]\n\nb &= 2\n\\end{align}\n\n", "Answer: 3")),
    (
        "environments in each other",
        ("\\begin{align}\n\\begin{align}\n\na\n\\end{align}\n\nb\n\\end{align}\n\n", "Answer: 3"),
    ),
    ("a number at the head of a line of mathematics", ("1. So\n\\[\n2. \\]\n", "2. Done.")),
    ("an unclosed bracket shields nothing", ("So \\[ a = 1\n\n", "b = 2\n\n", "Answer: 3")),
    ("the closed one behind it does", ("So \\[ a = 1\n\n", "\\[\nb\n\n= 2\\]\n\n", "Answer: 3")),
    ("an unclosed environment", ("\\begin{align} a\n\n", "b\n\n", "Answer: 3")),
    ("an odd pair of dollars", ("So $$ a = 1\n\n", "b = 2")),
    ("a line break with its height opens nothing", ("a \\\\[2pt] b\n\n", "c \\] d")),
    ("fenced code", ("```python\nx = 1\n\ny = 2\n```\n\n", "Answer: 3")),
    ("tildes", ("~~~\nx\n\n```\n\ny\n~~~\n\n", "Answer: 3")),
    ("a longer fence holds a shorter one", ("````\n```\n\nx\n```\n\n````\n\n", "Answer: 3")),
    ("an unclosed fence goes to the end", ("So:\n\n", "```\nx = 1\n\ny = 2")),
    ("code within a line is no fence", ("```x``` is\n\n", "three")),
    ("mathematics in code is code", ("```\nx = \\[\n```\n\n", "a\n\n", "b \\]")),
    ("a rule joins the step before", ("Read.\n\n---\n\n", "Add.")),
    ("a bold answer is no title", ("Add.\n\n", "**Answer: B**\n\n", "Because it is so.")),
    ("a bold sentence is no title", ("**It is four.**\n\n", "Answer: 4")),
]


@pytest.mark.parametrize(("what", "steps"), CUT, ids=[what for what, _ in CUT])
def test_where_a_text_is_cut(what: str, steps: tuple[str, ...]) -> None:
    assert split_steps("".join(steps)) == steps


@pytest.mark.parametrize("blank", ["", " ", "\n\n", " \r\n\t \r\n", "　\n"])
def test_a_blank_text_has_no_steps(blank: str) -> None:
    assert split_steps(blank) == ()


# Pieces that matter to the cutting, in any order.
_NUMBERS = ("a", "x = 1", "Step 1:", "Step 2", "1.", "2. b", "(3) c", "第三步", "**", "#", "---", "Answer: B")
_SHIELDS = ("```", "~~~", "\\[", "\\]", "$$", "\\begin{align}", "\\end{align}", "\\\\")
_BLANKS = ("\n", "\n\n", "\r\n", "\r", " ", "\t", "\u2028", "\x0b", "\x00")
_PIECES = st.sampled_from((*_NUMBERS, *_SHIELDS, *_BLANKS))
_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join))


@given(_TEXTS, st.integers(1, 15))
def test_the_steps_are_the_text(text: str, most: int) -> None:
    steps = split_steps(text, max_steps=most)
    assert "".join(steps) == (text if text.strip() else "")
    assert len(steps) <= most
    assert all(step.strip() for step in steps)


@given(_TEXTS)
def test_steps_are_made_of_the_uncut_ones(text: str) -> None:
    fine = split_steps(text, max_steps=10_000)
    for most in (1, 2, 3, 12):
        size = max(1, -(-len(fine) // most))
        merged = tuple("".join(fine[at : at + size]) for at in range(0, len(fine), size))
        assert split_steps(text, max_steps=most) == merged


def test_too_many_are_merged_evenly() -> None:
    # 13 blocks, at most 12 steps: ceil(13 / 12) = 2 blocks a step, so 7 steps, the last of one block.
    blocks = [f"Block {number} here.\n\n" for number in range(13)]
    steps = split_steps("".join(blocks))
    assert steps == (*("".join(blocks[at : at + 2]) for at in range(0, 12, 2)), blocks[12])
    assert len(steps) == 7
    # 12 blocks stay as they are; 25 make ceil(25 / 12) = 3 a step: 8 of three and one of one.
    assert len(split_steps("".join(blocks[:12]))) == 12
    assert len(split_steps("x.\n\n" * 25)) == 9


def test_no_steps_at_most_is_refused() -> None:
    with pytest.raises(ValueError, match="0 steps"):
        split_steps("a", max_steps=0)


def test_packaged_replies_come_back_whole() -> None:
    count = 0
    for path in sorted(PACKAGED.glob("*/replies/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for text in (value for value in row.values() if isinstance(value, str) and value.strip()):
                assert "".join(split_steps(text)) == text
                count += 1
    assert count > 100


HOSTILE = {
    "blank lines": "\n" * 200_000,
    "blocks": "a\n\n" * 70_000,
    "rules": "a\n\n" + "---\n\n" * 40_000,
    "titles": "# a\n\n" * 40_000,
    "numbers": "".join(f"{number % 100}. a\n" for number in range(40_000)),
    "opened displays": "\\[\n\n" * 50_000,
    "opened environments": "\\begin{align}\n\n" * 15_000,
    "closed environments": "\\begin{a}" * 10_000 + "\\end{a}" * 10_000,
    "dollars": "$$\n\n" * 50_001,
    "fences": "```\n\n" * 40_001,
    "backticks": "`" * 200_000,
    "backslashes": "\\" * 200_000,
    "headings": "Step 1: " * 25_000,
    "marks": "**" * 100_000,
    "blanks": " " * 200_000 + "a",
    "answers": "Answer: B\n\n" * 20_000,
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_cut_in_time(text: str) -> None:
    steps = split_steps(text)
    assert "".join(steps) == (text if text.strip() else "")
    for step in steps:
        strip_step(step)
        is_final(step)


# --------------------------------------------------------------------------------------------------------------------
# Numbers

NUMBERED = [
    ("Step 3: Add.\n\n", "Step 3: ", "Add."),
    ("step 3 - Add.", "step 3 - ", "Add."),
    ("**Step 3:** Add **x**.", "**Step 3:** ", "Add **x**."),
    ("**Step 3**: Add.", "**Step 3**: ", "Add."),
    ("**Step 3: Add.** Then.", "Step 3: ", "**Add.** Then."),
    ("### Step 3. Add\nIt is 4.", "### Step 3. ", "Add\nIt is 4."),
    ("[Step 3] Add.", "[Step 3] ", "Add."),
    ("第三步：相加。", "第三步：", "相加。"),
    ("3. Add.", "3. ", "Add."),
    ("(3) Add.", "(3) ", "Add."),
    ("3) Add.", "3) ", "Add."),
    ("**3.** Add.", "**3.** ", "Add."),
    ("Add 3. Then 4.", "", "Add 3. Then 4."),
    ("3 apples", "", "3 apples"),
    ("3.5 is it", "", "3.5 is it"),
    ("2019. It fell", "", "2019. It fell"),
]


@pytest.mark.parametrize(("step", "number", "content"), NUMBERED)
def test_a_step_without_its_number(step: str, number: str, content: str) -> None:
    assert split_number(step) == (number, content)
    assert strip_step(step) == content


def test_a_number_alone_stays() -> None:
    assert strip_step(" Step 3:\n\n") == "Step 3:"


@given(st.text())
def test_stripping_only_takes_from_the_ends(step: str) -> None:
    assert strip_step(step).replace("**", "").replace("__", "") in step.replace("**", "").replace("__", "")


# --------------------------------------------------------------------------------------------------------------------
# The final answer

FINAL = [
    ("Answer: B", True),
    ("So the answer is 4.", True),
    ("It is $\\boxed{4}$.", True),
    ("<answer>4</answer>", True),
    ("答案：B", True),
    ("#### 4", True),
    ("The bar is 4.", False),
    ("We select the red bar.", False),
    ("Option A: the bar is red.", False),
    ("我们选择红色", False),
    ("<think>Answer: B</think>Read the chart.", False),
]


@pytest.mark.parametrize(("step", "final"), FINAL)
def test_the_final_answer_is_recognised(step: str, final: bool) -> None:
    assert is_final(step) is final


def test_the_last_final_step_counts() -> None:
    assert final_step(("Answer: A\n\n", "No, wait.\n\n", "Answer: B\n\n", "That is all.")) == 2
    assert final_step(("Read.\n\n", "Add.")) is None
    assert final_step(()) is None
