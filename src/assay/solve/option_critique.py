"""A critic's verdict on every option that an answer selects: what is asked, the form of the reply, its strict reading.

    Option A: the bar of 2019 ends at 26 | Correct
    Option D: the line rises from June on | Incorrect
    End of critique

What counts, and what doesn't:

- Every selected option has a line of its own, in any order, which ends with a bar and one of the two words; else the
  critique is unparsable as a whole, and nothing is known of any option. Of several bars the last one counts.
- Case, emphasis, list marks and blank lines don't count; nor do lines that don't begin with `Option LABEL:`, nor what
  comes after `End of critique`.
- A line about an option that isn't selected is unparsable: the critic judged another answer. So is an option with two
  different verdicts; one that comes again with the same is skipped.
- A reply that was cut counts if every option was judged before.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.models.thinking import split_thinking
from assay.solve.answers import SEVERAL_RIGHT
from assay.solve.asking import prompt_hash as hash_of
from assay.solve.asking import prompt_message, said
from assay.solve.critique_format import Unreadable, read_label, refused
from assay.solve.judgement import label_probabilities, text_place
from assay.solve.records import OptionCritique, OptionVerdict, ScoreSource, Unjudged
from assay.types import Finish, Message, Option, Reply, Sample

__all__ = [
    "WrittenOption",
    "options_message",
    "parse_options",
    "prompt_hash",
    "read_options",
    "render_options",
    "selected_options",
]

PROMPT = "options"


class WrittenOption(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a reply; `place` is the character of the reply at which the judgement may begin."""

    label: str
    correct: bool
    reason: str = ""
    place: int = 0


# --------------------------------------------------------------------------------------------------------------------
# Asking


def selected_options(sample: Sample, answer: str | None) -> tuple[Option, ...]:
    """The options that an answer (as in `Solution.answer`) selects, in the item's order.

    None but of questions that say several options may be right, by their `question_type`. The gold isn't looked at.
    """
    if answer is None or SEVERAL_RIGHT not in sample.facets.get("question_type", ()):
        return ()
    labels = answer.split(",")
    found = tuple(option for option in sample.options if option.label in labels)
    return found if ",".join(option.label for option in found) == answer else ()


def options_message(messages: Sequence[Message], selected: Sequence[Option]) -> Message:
    """What the critic is asked about an answer. It sees no reasoning, so that only the options themselves count."""
    lines = ((option.label, " ".join(option.text.split())) for option in selected)
    shown = "\n".join(f"{label}: {text}" if text else label for label, text in lines)
    return prompt_message(PROMPT, messages, selected=shown, count=str(len(selected)))


def prompt_hash() -> str:
    """SHA-256 over the prompt file, hexadecimal."""
    return hash_of(PROMPT)


# --------------------------------------------------------------------------------------------------------------------
# Reading

_DECOR = r"[ \t\r>#*_`•-]*"
_AFTER = r"[ \t*_`)\]]*"
_LINE = re.compile(rf"{_DECOR}option[ \t*_`(\[]*([^\s:：|()\[\]*_`]+){_AFTER}[:：](.*)", re.IGNORECASE)
_END = re.compile(rf"{_DECOR}end[ \t]+of[ \t]+critique[ \t\r*_`.]*", re.IGNORECASE)


def render_options(written: Sequence[WrittenOption]) -> str:
    """Verdicts in the form."""
    lines = [
        f"Option {one.label}: {' '.join(one.reason.split())} | {'Correct' if one.correct else 'Incorrect'}"
        for one in written
    ]
    return "\n".join([*lines, "End of critique"])


def parse_options(text: str, labels: Sequence[str], *, finish: Finish = "stop") -> tuple[WrittenOption, ...] | Unjudged:
    """Read the verdicts on the options with these labels, in their order. Never raises."""
    found: dict[str, WrittenOption] = {}
    try:
        for one in _written(text, labels):
            if found.setdefault(one.label, one).correct is not one.correct:
                raise Unreadable(f"option {one.label} is judged twice, and not the same")
        missing = [label for label in labels if label not in found]
        if missing:
            raise Unreadable(f"option {missing[0]} is not judged in the form that was asked for")
    except Unreadable as problem:
        return refused(str(problem), finish)
    return tuple(found[label] for label in labels)


def _written(text: str, labels: Sequence[str]) -> Iterator[WrittenOption]:
    start = 0
    for line in text.split("\n"):
        if _END.fullmatch(line):
            return
        if match := _LINE.fullmatch(line):
            yield _one(match, start, labels)
        start += len(line) + 1


def _one(match: re.Match[str], start: int, labels: Sequence[str]) -> WrittenOption:
    named, content = match[1], match[2]
    alike = [label for label in labels if label == named] or [
        label for label in labels if label.casefold() == named.casefold()
    ]
    if len(alike) != 1:
        raise Unreadable(f"option {named[:20]} is judged, which is not selected")
    bar = max(content.rfind("|"), content.rfind("｜"))
    correct = read_label(content[bar + 1 :]) if bar >= 0 else None
    if correct is None:
        raise Unreadable(f"option {alike[0]} has no judgement that is one of the two words")
    reason = " ".join(content[:bar].split())
    return WrittenOption(label=alike[0], correct=correct, reason=reason, place=start + match.start(2) + bar + 1)


def read_options(reply: Reply, labels: Sequence[str], *, normalise: bool = True) -> OptionCritique | Unjudged:
    """The verdicts in a reply.

    An option's score is read at its judgement where there are log-probabilities, else it is 1 or 0.
    """
    written = parse_options(said(reply), labels, finish=reply.finish)
    if isinstance(written, Unjudged):
        return replace(written, usage=reply.usage)
    placed = _on_tokens(written, reply, labels)
    verdicts: list[OptionVerdict] = []
    for one, place in zip(written, placed, strict=True):
        found = None if place is None else label_probabilities(reply.tokens or (), place)
        score = float(one.correct) if found is None else found.score(normalise=normalise)
        source: ScoreSource = "text" if found is None else found.source
        verdicts.append(
            OptionVerdict(label=one.label, correct=one.correct, score=score, source=source, comment=one.reason)
        )
    return OptionCritique(options=tuple(verdicts), usage=reply.usage)


def _on_tokens(written: Sequence[WrittenOption], reply: Reply, labels: Sequence[str]) -> list[int | None]:
    """Where each judgement stands in the tokens' texts together; None where they spell something else.

    As for steps: a character of several tokens is spelled by none, so what they do spell is read as well.
    """
    tokens = reply.tokens or ()
    base = text_place(tokens, said(reply))
    if base is not None:
        return [base + one.place for one in written]
    answer, _ = split_thinking("".join(token.text for token in tokens), truncated=False)
    base, again = text_place(tokens, answer), parse_options(answer, labels, finish=reply.finish)
    if (
        base is None
        or isinstance(again, Unjudged)
        or [one.correct for one in again] != [one.correct for one in written]
    ):
        return [None] * len(written)
    return [base + one.place for one in again]
