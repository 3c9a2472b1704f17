"""The form in which a critic writes, and its strict reading.

    Step 1
    Intent: read the height of the red bar
    Image: the red bar reaches 7 | Correct
    Logic: a plain reading | Correct
    Judgement: Correct
    Step 2
    ...
    Correction of step 2: The blue bar reaches 4, so the difference is 3.
    End of critique

What counts, and what doesn't:

- A heading is a line `Step N`, with or without text behind it, whose next line is one of the four named ones. So a
  correction, or prose, may say "Step 2: ...".
- Case, emphasis, list marks and blank lines don't count; nor does prose before, between and after.
- `Judgement` must be there and must be one of the two words; else the critique is unparsable. `Intent`, `Image` and
  `Logic` may be missing; a judgement in them that is none of the two words is missing.
- Steps must come in order, from 1. A step that comes again with the same judgement (a model that starts over) is
  skipped; with another one the critique is unparsable.
- There may be fewer steps than the solution's only where the last one is judged incorrect: the critic stopped there.
  More steps than the solution's are unparsable.
- A correction may have several lines; it ends at `End of critique`, at a heading, at another correction, or with the
  reply. Only that of the first incorrect step counts; where none is incorrect there is none.
- A reply that was cut counts if every step was judged before; a correction that was cut is none.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec import Struct

from assay.solve.records import Unjudged
from assay.types import Finish

__all__ = ["Written", "WrittenStep", "parse", "read_label", "render", "settle"]

Field = Literal["intent", "image", "logic", "judgement"]


class WrittenStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a critique says of one step.

    `places` has, for `image`, `logic` and `judgement`, the character of the reply at which the judgement may begin.
    """

    correct: bool
    intent: str = ""
    image: str = ""
    image_correct: bool | None = None
    logic: str = ""
    logic_correct: bool | None = None
    places: dict[Field, int] = {}


class Written(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A critique as it was written."""

    steps: tuple[WrittenStep, ...]
    correction: str | None = None


class Unreadable(Exception):
    """A reply is not in the form; the message says where. Never leaves this package."""


# --------------------------------------------------------------------------------------------------------------------
# Writing


def render(written: Written) -> str:
    """A critique in the form. White space inside of a line becomes single blanks; a correction keeps its lines."""
    lines: list[str] = []
    for number, step in enumerate(written.steps, start=1):
        lines += [
            f"Step {number}",
            f"Intent: {_line(step.intent)}",
            f"Image: {_judged(step.image, step.image_correct)}",
            f"Logic: {_judged(step.logic, step.logic_correct)}",
            f"Judgement: {_word(step.correct)}",
        ]
    if written.correction is not None:
        first = next((number for number, step in enumerate(written.steps, start=1) if not step.correct), 1)
        lines.append(f"Correction of step {first}: {written.correction.strip()}")
    return "\n".join([*lines, "End of critique"])


def _line(text: str) -> str:
    return " ".join(text.split())


def _judged(comment: str, correct: bool | None) -> str:
    return _line(comment) if correct is None else f"{_line(comment)} | {_word(correct)}"


def _word(correct: bool) -> str:
    return "Correct" if correct else "Incorrect"


# --------------------------------------------------------------------------------------------------------------------
# Reading

_DECOR = r"[ \t\r>#*_`•-]*"
_AFTER = r"[ \t\r*_`]*"
_HEADING = re.compile(rf"{_DECOR}step{_AFTER}#?(\d{{1,4}}){_AFTER}(?:[:：.)–—-].*)?", re.IGNORECASE)
_FIELD = re.compile(rf"{_DECOR}(intent|image|logic|judge?ment){_AFTER}[:：](?:\*\*|__)?", re.IGNORECASE)
_CORRECTION = re.compile(
    rf"{_DECOR}correction(?:[ \t]+of[ \t]+step[ \t]+#?(\d{{1,4}}))?{_AFTER}[:：]{_AFTER}", re.IGNORECASE
)
_END = re.compile(rf"{_DECOR}end[ \t]+of[ \t]+critique[ \t\r*_`.]*", re.IGNORECASE)
_LABEL_DECOR = " \t\r\n*_`\"'.。<>[]()"
_NO_CORRECTION = frozenset({"", "none", "null", "n/a", "no correction", "not needed", "no correction needed"})


def read_label(text: str) -> bool | None:
    """Whether a text is the word `Correct`, or `Incorrect`, and nothing else; None otherwise."""
    return {"correct": True, "incorrect": False}.get(text.strip(_LABEL_DECOR).casefold())


def parse(text: str, count: int, *, finish: Finish = "stop") -> Written | Unjudged:
    """Read a critique of a solution of `count` steps. Never raises."""
    try:
        return settle(*_read(text, cut=finish == "length"), count, finish=finish)
    except Unreadable as problem:
        return refused(str(problem), finish)


def settle(steps: list[WrittenStep], corrections: dict[int, str], count: int, *, finish: Finish = "stop") -> Written:
    """The critique, where it covers the solution. `corrections`: number of a step, from 1, -> its correction.

    Raises:
        Unreadable: it covers less, or more.
    """
    if not steps:
        raise Unreadable("no step is judged in the form that was asked for")
    if len(steps) > count:
        raise Unreadable(f"{len(steps)} steps are judged of a solution that has {count}")
    stopped = not steps[-1].correct and finish not in ("length", "filter")
    if len(steps) < count and not stopped:
        raise Unreadable(f"only {len(steps)} of {count} steps are judged")
    first = next((number for number, step in enumerate(steps, start=1) if not step.correct), None)
    correction = None if first is None else corrections.get(first, "").strip()
    if correction is not None and correction.strip(_LABEL_DECOR).casefold() in _NO_CORRECTION:
        correction = None
    return Written(steps=tuple(steps), correction=correction)


def refused(problem: str, finish: Finish) -> Unjudged:
    """What becomes of a reply that can't be read, by how it ended."""
    match finish:
        case "length":
            return Unjudged(kind="truncated", reason=f"the critique was cut at its token limit: {problem}")
        case "filter":
            return Unjudged(kind="refused", reason="the critic refused")
        case _:
            return Unjudged(kind="unparsable", reason=problem)


class _Line(NamedTuple):
    start: int
    text: str


class _Section(NamedTuple):
    """A stretch of the reply: `start` is the character behind its name, `end` that before the next section's line."""

    name: Field | Literal["step", "correction", "end"]
    number: int | None
    start: int
    end: int


def _read(text: str, *, cut: bool) -> tuple[list[WrittenStep], dict[int, str]]:
    sections = list(_sections(text))
    steps: list[WrittenStep] = []
    corrections: dict[int, str] = {}
    first_wrong: int | None = None
    for place, section in enumerate(sections):
        if section.name == "end":
            break
        if section.name == "step":
            fields = _fields(sections, place + 1)
            _take(text, section.number or 0, fields, steps)
            if first_wrong is None and steps and not steps[-1].correct:
                first_wrong = len(steps)
        elif section.name == "correction" and not (cut and place == len(sections) - 1):
            number = section.number or first_wrong or 0
            corrections.setdefault(number, text[section.start : section.end])
    if 0 in corrections and first_wrong is not None:  # written before any step was judged
        corrections.setdefault(first_wrong, corrections[0])
    return steps, corrections


def _fields(sections: list[_Section], place: int) -> dict[Field, list[_Section]]:
    """The named lines of the step whose heading stands before this place."""
    fields: dict[Field, list[_Section]] = {}
    while place < len(sections) and (name := sections[place].name) not in ("step", "correction", "end"):
        fields.setdefault(name, []).append(sections[place])
        place += 1
    return fields


def _take(text: str, number: int, fields: dict[Field, list[_Section]], steps: list[WrittenStep]) -> None:
    """Append a step to those read before it."""
    again = 1 <= number <= len(steps)
    if not again and number != len(steps) + 1:
        raise Unreadable(f"step {number} is judged where step {len(steps) + 1} was due")
    labels = [read_label(_first_line(text, section)) for section in fields.get("judgement", ())]
    if again:
        if any(label is not None and label is not steps[number - 1].correct for label in labels):
            raise Unreadable(f"step {number} is judged twice, and not the same")
        return
    if not labels:
        raise Unreadable(f"step {number} has no judgement")
    if labels[0] is None or len(set(labels)) > 1:
        said = _line(text[fields["judgement"][0].start : fields["judgement"][0].end])[:60]
        raise Unreadable(f"step {number} is judged {said!r}, which is not one of the two words")
    steps.append(_step(text, labels[0], fields))


def _step(text: str, correct: bool, fields: dict[Field, list[_Section]]) -> WrittenStep:
    intent = fields.get("intent")
    image, image_correct, image_place = _comment(text, fields.get("image"))
    logic, logic_correct, logic_place = _comment(text, fields.get("logic"))
    places: dict[Field, int] = {"judgement": fields["judgement"][0].start}
    if image_place is not None:
        places["image"] = image_place
    if logic_place is not None:
        places["logic"] = logic_place
    return WrittenStep(
        correct=correct,
        intent="" if intent is None else _line(text[intent[0].start : intent[0].end]),
        image=image,
        image_correct=image_correct,
        logic=logic,
        logic_correct=logic_correct,
        places=places,
    )


def _comment(text: str, sections: list[_Section] | None) -> tuple[str, bool | None, int | None]:
    """A line `comment | Correct`: the comment, the judgement, and where the judgement may begin."""
    if not sections:
        return "", None, None
    content = text[sections[0].start : sections[0].end]
    bar = max(content.rfind("|"), content.rfind("｜"))
    correct = read_label(content[bar + 1 :])
    if correct is None:
        return _line(content), None, None
    return _line(content[: max(bar, 0)]), correct, sections[0].start + bar + 1


def _first_line(text: str, section: _Section) -> str:
    """The first line that says something: what follows a judgement is prose."""
    return text[section.start : section.end].strip(" \t\r\n*_`").partition("\n")[0]


def _sections(text: str) -> Iterator[_Section]:
    """The named stretches of a reply, in order."""
    lines = list(_lines(text))
    starts: list[tuple[int, _Section]] = []  # where the section's line begins, and the section without its end
    inside = False  # of a correction, whose lines may look like anything
    for place, line in enumerate(lines):
        section = _section(lines, place, corrected=inside)
        if section is not None:
            inside = section.name == "correction"
            starts.append((line.start, section))
    ends = [*(start for start, _ in starts), len(text)]
    for (_, section), end in zip(starts, ends[1:], strict=True):
        yield section._replace(end=max(section.start, end))


def _section(lines: list[_Line], place: int, *, corrected: bool) -> _Section | None:
    line = lines[place]
    if (heading := _HEADING.fullmatch(line.text)) and _followed(lines, place):
        return _Section("step", int(heading[1]), line.start + len(line.text), 0)
    if correction := _CORRECTION.match(line.text):
        number = int(correction[1]) if correction[1] else None
        return _Section("correction", number, line.start + correction.end(), 0)
    if _END.fullmatch(line.text):
        return _Section("end", None, line.start + len(line.text), 0)
    if not corrected and (found := _FIELD.match(line.text)):
        names: dict[str, Field] = {"intent": "intent", "image": "image", "logic": "logic"}
        return _Section(names.get(found[1].lower(), "judgement"), None, line.start + found.end(), 0)
    return None


def _followed(lines: list[_Line], place: int) -> bool:
    """Whether the next line, two blank ones aside, is one of the named ones."""
    following = next((line.text for line in lines[place + 1 : place + 4] if line.text.strip()), "")
    return _FIELD.match(following) is not None


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        yield _Line(start, line)
        start += len(line) + 1
