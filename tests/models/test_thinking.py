"""Thinking is set apart from the answer, whoever wrote the marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models.thinking import opened_by, split_thinking


@pytest.mark.parametrize(
    ("text", "truncated", "answer", "thinking"),
    [
        ("Answer: B", False, "Answer: B", ""),
        ("  Answer: B\n", False, "  Answer: B\n", ""),  # nothing to split: not a character changed
        ("", True, "", ""),
        ("<think>A or B?</think>\n\nAnswer: B", False, "Answer: B", "A or B?"),
        ("<think>\n\n</think>\n\nAnswer: B", False, "Answer: B", ""),  # Qwen3 with thinking switched off
        ("A or B?</think>Answer: B", False, "Answer: B", "A or B?"),  # the template opened the block
        ("<think>A or", True, "", "A or"),
        ("A or B? Answer: A</think>", False, "", "A or B? Answer: A"),
        ("<think>A or B? Answer: B", False, "A or B? Answer: B", ""),  # the closing mark was forgotten
        ("Tags such as <think> are markup.", False, "Tags such as <think> are markup.", ""),
        ("Answer: B <think>but is it", True, "Answer: B", "but is it"),
        ("<think>1</think>so <think>2</think>B", False, "so\n\nB", "1\n\n2"),
        ("<think>I write <think> here</think>B", False, "B", "I write <think> here"),
        ("<think>1</think>2</think>B", False, "B", "1\n\n2"),
        ("<think>1</think><think>B", False, "B", "1"),
        ("◁think▷看图◁/think▷答案：B", False, "答案：B", "看图"),
        ("[THINK]hm[/THINK]B", False, "B", "hm"),
        ("<thinking>hm</thinking>B", False, "B", "hm"),
        ("<Think>hm</THINK>B", False, "B", "hm"),
    ],
)
def test_split(text: str, truncated: bool, answer: str, thinking: str) -> None:
    assert split_thinking(text, truncated=truncated) == (answer, thinking)


PLAIN = st.text(st.characters(blacklist_characters="<>[]◁▷", blacklist_categories=["Cs"]))


@given(thinking=PLAIN, answer=PLAIN, truncated=st.booleans())
def test_a_closed_block_is_cut_out_whole(thinking: str, answer: str, truncated: bool) -> None:
    split = split_thinking(f"<think>{thinking}</think>{answer}", truncated=truncated)
    assert split == (answer.strip(), thinking.strip())


@given(text=PLAIN, truncated=st.booleans())
def test_a_text_without_marks_is_unchanged(text: str, truncated: bool) -> None:
    assert split_thinking(text, truncated=truncated) == (text, "")


@pytest.mark.parametrize(
    ("prompt", "mark"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>"),
        ("assistant: ◁think▷", "◁think▷"),
        ("<think>\n\n</think>\n\n", ""),
        ("<think>hm", ""),
        ("", ""),
    ],
)
def test_a_prompt_may_open_the_block(prompt: str, mark: str) -> None:
    assert opened_by(prompt) == mark
