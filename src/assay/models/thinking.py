"""Thinking text inside a reply, set apart from the answer.

Used where a reply arrives as one text: servers without a reasoning parser, checkpoints in this process.
"""

import re

# Opening and closing marks as models write them: DeepSeek-R1, Qwen, GLM; Claude-style prompts; Kimi-VL;
# Magistral; Seed.
_NAMES = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
)
_MARK = re.compile(
    "(?P<open>" + "|".join(re.escape(name) for name, _ in _NAMES) + ")"
    "|(?P<close>" + "|".join(re.escape(name) for _, name in _NAMES) + ")",
    re.IGNORECASE,
)


def split_thinking(text: str, *, truncated: bool) -> tuple[str, str]:
    """Split a reply into (answer, thinking).

    - A closed block is thinking; several are joined by a blank line, as is the answer between.
    - A closing mark without an opening one ends a block that the chat template opened in the prompt: all
      before it is thinking.
    - An opened block that never closes is thinking if the reply was cut at the token limit (`truncated`): the
      model had not begun to answer. If the model ended by itself it forgot the mark, or only wrote about it:
      what follows stays in the answer, so that an answer given there is not lost.

    A text without marks comes back unchanged, white space included.
    """
    thinking: list[str] = []
    answer: list[str] = []
    position = 0
    opened: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        if mark["open"] and opened is None:
            answer.append(text[position : mark.start()])
            opened, position = mark, mark.end()
        elif mark["close"]:
            if opened is None:
                thinking.extend(answer)
                answer.clear()
            thinking.append(text[position : mark.start()])
            opened, position = None, mark.end()
    if not thinking and opened is None:
        return text, ""
    rest = text[position:]
    if opened is None:
        answer.append(rest)
    elif truncated:
        thinking.append(rest)
    elif any(piece.strip() for piece in answer):
        answer[-1] += opened[0] + rest
    else:
        answer.append(rest)
    return _join(answer), _join(thinking)


def _join(pieces: list[str]) -> str:
    return "\n\n".join(stripped for piece in pieces if (stripped := piece.strip()))


def opened_by(prompt: str) -> str:
    """The opening mark that a rendered prompt ends with, else the empty text.

    Some chat templates open the block themselves, so a reply that was cut while thinking carries no mark at all:
    put this one before the reply and split then.
    """
    tail = prompt.rstrip()
    return next((name for name, _ in _NAMES if tail.endswith(name)), "")
