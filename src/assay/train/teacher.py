"""What a teacher is asked about a solution, and what its reply is: a critique, or why there is none; pure."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct
from msgspec.structs import replace

from assay.benchmarks.prompting import fill, hash_prompts
from assay.solve.asking import inside, load_prompt, said
from assay.solve.critique_format import Written, parse
from assay.solve.generative import critique_message
from assay.train.records import TeacherCritique, TeacherStatus
from assay.types import Message, Reply, TextPart, Usage

__all__ = ["Counting", "TeacherCounts", "prompt_hash", "read_reply", "teacher_message"]


def teacher_message(asked: Message, steps: Sequence[str], *, gold: str = "") -> Message:
    """What a teacher is asked about a solution.

    Args:
        asked: the question with its pictures, as the policy was asked.
        steps: the solution's.
        gold: the right answer; empty leaves it out, and the message is the critic's own.
    """
    message = critique_message((asked,), steps)
    if not gold:
        return message
    shown = _ANSWER_TAG.sub("<\u200b", inside(gold))
    part = TextPart(text="\n" + fill(_gold_prompt(), {"gold": shown}))
    return replace(message, parts=(*message.parts, part))


_ANSWER_TAG = re.compile(r"<(?=/?right_answer>)", re.IGNORECASE)


@cache
def _gold_prompt() -> str:
    return files("assay.train").joinpath("prompts", "teacher_gold.txt").read_text(encoding="utf-8")


def prompt_hash(*, with_gold: bool) -> str:
    """SHA-256 over the prompts that are used, hexadecimal."""
    return hash_prompts({"critic": load_prompt("critic")} | ({"teacher_gold": _gold_prompt()} if with_gold else {}))


def read_reply(reply: Reply, count: int) -> tuple[TeacherStatus, Written | None, str]:
    """What came of a reply about a solution of `count` steps: its status, the critique, and why there is none."""
    text = said(reply)
    found = parse(text, count, finish=reply.finish)
    if isinstance(found, Written):
        return "parsed", found, ""
    if found.kind == "truncated":
        return "truncated", None, found.reason
    if found.kind == "refused" or _refuses(text):
        return "refused", None, "the teacher refused"
    return "unparsable", None, found.reason


_REFUSAL = re.compile(
    r"(?:(?:i['’]?m|i am) (?:very |so )?(?:sorry|afraid)|sorry|i apologi[sz]e|unfortunately|as an? [\w ]{1,40})?"
    r"[\s,.:;—-]*(?:but |that )?"
    r"i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|decline|am unable|am not able)\b"
    r"|(?:(?:i['’]?m|i am) (?:very |so )?sorry[\s,.]*(?:but )?)?i['’]?m (?:unable|not able)\b",
    re.IGNORECASE,
)


def _refuses(text: str) -> bool:
    """Whether a reply that is no critique begins as refusals do."""
    return _REFUSAL.match(text.strip().lstrip("\"'*_> ")) is not None


class TeacherCounts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came of one teacher.

    Attributes:
        teacher: its identity.
        statuses: status -> solutions; they add up to all of them.
        tries: replies asked for on behalf of these solutions, in this and earlier starts.
        usage: tokens of the replies.
        failures: why solutions failed -> how many.
    """

    teacher: str
    statuses: dict[str, int]
    tries: int
    usage: Usage
    failures: dict[str, int] = {}


class Counting:
    """Counts the critiques of a teacher that pass through."""

    def __init__(self, teacher: str) -> None:
        self._teacher = teacher
        self._statuses: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._tries = self._prompt = self._completion = 0

    def counted(self, critique: TeacherCritique) -> TeacherCritique:
        self._statuses[critique.status] += 1
        self._tries += critique.attempts
        if critique.status == "failed":
            self._failures[critique.reason.partition(":")[0]] += 1
        if critique.usage is not None:
            self._prompt += critique.usage.prompt_tokens
            self._completion += critique.usage.completion_tokens
        return critique

    def counts(self) -> TeacherCounts:
        return TeacherCounts(
            teacher=self._teacher,
            statuses=dict(self._statuses),
            tries=self._tries,
            usage=Usage(prompt_tokens=self._prompt, completion_tokens=self._completion),
            failures=dict(sorted(self._failures.items())),
        )
