"""The critique as a JSON object, for servers that hold a reply to a schema; read into the same record as the lines."""

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from assay.solve.critique_format import Unreadable, Written, WrittenStep, refused, settle
from assay.solve.records import Unjudged
from assay.types import Finish

SchemaField = Literal["response_format", "guided_json"]
"""How a server is told: OpenAI's field (vLLM, SGLang and llama.cpp know it as well), or that of older vLLM."""

Word = Literal["Correct", "Incorrect"]


class _Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    step: int
    intent: str
    image: str
    image_judgement: Word
    logic: str
    logic_judgement: Word
    judgement: Word


class _Object(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    steps: list[_Step]
    correction: str | None


def schema_of(count: int) -> dict[str, Any]:
    """The JSON schema of a critique of a solution of `count` steps. The fields' order makes it judge last."""
    word = {"type": "string", "enum": ["Correct", "Incorrect"]}
    text = {"type": "string"}
    step = {
        "step": {"type": "integer"},
        "intent": text,
        "image": text,
        "image_judgement": word,
        "logic": text,
        "logic_judgement": word,
        "judgement": word,
    }
    item = {"type": "object", "properties": step, "required": list(step), "additionalProperties": False}
    fields = {
        "steps": {"type": "array", "items": item, "minItems": count, "maxItems": count},
        "correction": {"type": ["string", "null"]},
    }
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def extra_body(count: int, field: SchemaField) -> dict[str, Any]:
    """What goes into the request's body."""
    schema = schema_of(count)
    if field == "guided_json":
        return {"guided_json": schema}
    form = {"name": "critique", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


def render(written: Written) -> str:
    """A critique as JSON; a judgement that is missing is written as that of the step."""

    def word(correct: bool) -> Word:
        return "Correct" if correct else "Incorrect"

    steps = [
        _Step(
            step=number,
            intent=step.intent,
            image=step.image,
            image_judgement=word(step.correct if step.image_correct is None else step.image_correct),
            logic=step.logic,
            logic_judgement=word(step.correct if step.logic_correct is None else step.logic_correct),
            judgement=word(step.correct),
        )
        for number, step in enumerate(written.steps, start=1)
    ]
    return msgspec.json.encode(_Object(steps=steps, correction=written.correction)).decode()


_FENCE = re.compile(r"\A\s*```(?:json)?\s*|\s*```\s*\Z", re.IGNORECASE)
# Inside a JSON text every quotation mark is escaped, so these can only be names of fields.
_PLACES = re.compile(r'(?<!\\)"(image_judgement|logic_judgement|judgement)"\s*:')


def parse(text: str, count: int, *, finish: Finish = "stop") -> Written | Unjudged:
    """Read a critique of a solution of `count` steps; a fenced block around the object doesn't count. Never raises."""
    try:
        found = msgspec.json.decode(_FENCE.sub("", text), type=_Object)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
        return refused(f"not the JSON object that was asked for ({str(problem)[:100]})", finish)
    try:
        steps = [_step(entry, number) for number, entry in enumerate(found.steps, start=1)]
        first = next((number for number, step in enumerate(steps, start=1) if not step.correct), 0)
        written = settle(steps, {first: found.correction or ""}, count, finish=finish)
    except Unreadable as problem:
        return refused(str(problem), finish)
    return _placed(written, text)


def _step(entry: _Step, number: int) -> WrittenStep:
    if entry.step != number:
        raise Unreadable(f"step {entry.step} is judged where step {number} was due")
    return WrittenStep(
        correct=entry.judgement == "Correct",
        intent=entry.intent,
        image=entry.image,
        image_correct=entry.image_judgement == "Correct",
        logic=entry.logic,
        logic_correct=entry.logic_judgement == "Correct",
    )


def _placed(written: Written, text: str) -> Written:
    """With the places of the judgements, where every step has its three in the text."""
    places = [(match[1], match.end()) for match in _PLACES.finditer(text)]
    if len(places) != 3 * len(written.steps):
        return written
    names = {"image_judgement": "image", "logic_judgement": "logic", "judgement": "judgement"}
    steps = [
        msgspec.structs.replace(step, places={names[name]: end for name, end in places[3 * number : 3 * number + 3]})
        for number, step in enumerate(written.steps)
    ]
    return msgspec.structs.replace(written, steps=tuple(steps))
