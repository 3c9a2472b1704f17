"""From a critic's reply to a `Critique`: what is written, and how sure the model was of it; pure."""

from collections.abc import Sequence
from math import prod
from typing import Literal, Protocol

from msgspec.structs import replace

from assay.models.thinking import split_thinking
from assay.solve.asking import said
from assay.solve.critique_format import Field, Written, WrittenStep
from assay.solve.judgement import LabelProbabilities, label_probabilities, text_place
from assay.solve.records import Critique, ScoreSource, StepVerdict, Unjudged
from assay.types import Finish, Reply, Token

ScoreOn = Literal[
    "step",  # the step's own judgement (ours: the paper doesn't say)
    "min",  # the least of the three: image, logic, step
    "product",  # of the three
]


class Parse(Protocol):
    """Reads a text as a critique of a solution of `count` steps."""

    def __call__(self, text: str, count: int, *, finish: Finish) -> Written | Unjudged: ...


def read_critique(
    reply: Reply, count: int, *, parse: Parse, score_on: ScoreOn = "step", normalise: bool = True
) -> Critique | Unjudged:
    """The critique in a reply.

    A step's score is read at its judgement where there are log-probabilities, else it is 1 or 0. A step counts as
    correct if that is what is written, whatever the score.
    """
    written = parse(said(reply), count, finish=reply.finish)
    if isinstance(written, Unjudged):
        return replace(written, usage=reply.usage)
    if score_on != "step":
        for number, step in enumerate(written.steps, start=1):
            if step.image_correct is None or step.logic_correct is None:
                problem = f"step {number} lacks a judgement of image or logic, which its score is made of"
                return Unjudged(kind="unparsable", reason=problem, usage=reply.usage)
    placed = _on_tokens(written, reply, count, parse)
    verdicts = [
        _verdict(step, there, reply.tokens or (), score_on=score_on, normalise=normalise)
        for step, there in zip(written.steps, placed, strict=True)
    ]
    return Critique(steps=tuple(verdicts), correction=written.correction, usage=reply.usage)


def average(read: Sequence[Critique | Unjudged], *, score_on: ScoreOn = "step") -> Critique | Unjudged:
    """Several critiques of one solution as one.

    A step's score is the share of critiques that write "correct", of those that judge it; it counts as correct from
    one half on. Steps that fewer than half of the critiques judge are left out. The correction is that of the first
    critique whose first error is the majority's. Critiques that could not be read don't vote; where none could, the
    first one's problem is the result.
    """
    critiques = [critique for critique in read if isinstance(critique, Critique)]
    if not critiques:
        return read[0]
    steps: list[StepVerdict] = []
    for place in range(max(len(critique.steps) for critique in critiques)):
        judged = [critique.steps[place] for critique in critiques if place < len(critique.steps)]
        if 2 * len(judged) < len(critiques):
            break
        steps.append(_share(judged, score_on))
    joint = Critique(steps=tuple(steps))
    first = joint.first_error
    corrections = (critique.correction for critique in critiques if critique.first_error == first is not None)
    return replace(joint, correction=next(filter(None, corrections), None))


def _share(judged: Sequence[StepVerdict], score_on: ScoreOn) -> StepVerdict:
    step = _mean([verdict.correct for verdict in judged]) or 0.0
    alignment = _mean([verdict.alignment for verdict in judged])
    logic = _mean([verdict.logic for verdict in judged])
    return StepVerdict(
        correct=step >= 0.5,
        score=_combined(score_on, step, alignment, logic),
        source="samples",
        intent=judged[0].intent,
        alignment=None if alignment is None else alignment >= 0.5,
        alignment_score=alignment,
        logic=None if logic is None else logic >= 0.5,
        logic_score=logic,
        comment=judged[0].comment,
    )


def _mean(labels: Sequence[bool | None]) -> float | None:
    known = [label for label in labels if label is not None]
    return sum(known) / len(known) if known else None


def _combined(score_on: ScoreOn, step: float, *others: float | None) -> float:
    scores = [step, *(score for score in others if score is not None)]
    match score_on:
        case "step":
            return step
        case "min":
            return min(scores)
        case "product":
            return prod(scores)


# --------------------------------------------------------------------------------------------------------------------
# Scores at the judgements

Places = dict[Field, int]


def _on_tokens(written: Written, reply: Reply, count: int, parse: Parse) -> list[Places]:
    """Where each step's judgements stand in the tokens' texts together.

    Where the tokens don't spell the reply (a character of several tokens is spelled by none), what they do spell is
    read as well: it differs in comments only, or its places are not to be trusted.
    """
    nowhere: list[Places] = [{} for _ in written.steps]
    if not reply.tokens:
        return nowhere
    base = text_place(reply.tokens, said(reply))
    if base is None:
        spelled = "".join(token.text for token in reply.tokens)
        answer, _ = split_thinking(spelled, truncated=False)
        base = text_place(reply.tokens, answer)
        again = parse(answer, count, finish=reply.finish)
        if base is None or isinstance(again, Unjudged) or _judgements(again) != _judgements(written):
            return nowhere
        written = again
    return [{field: base + place for field, place in step.places.items()} for step in written.steps]


def _judgements(written: Written) -> list[tuple[bool, bool | None, bool | None]]:
    return [(step.correct, step.image_correct, step.logic_correct) for step in written.steps]


def _verdict(
    step: WrittenStep, places: Places, tokens: Sequence[Token], *, score_on: ScoreOn, normalise: bool
) -> StepVerdict:
    def score(field: Field, label: bool | None) -> tuple[float | None, ScoreSource]:
        if label is None:
            return None, "text"
        found: LabelProbabilities | None = None
        if field in places:
            found = label_probabilities(tokens, places[field])
        if found is None:
            return float(label), "text"
        return found.score(normalise=normalise), found.source

    own, own_source = score("judgement", step.correct)
    image, image_source = score("image", step.image_correct)
    logic, logic_source = score("logic", step.logic_correct)
    sources: list[ScoreSource] = [own_source] if score_on == "step" else [own_source, image_source, logic_source]
    return StepVerdict(
        correct=step.correct,
        score=_combined(score_on, float(step.correct) if own is None else own, image, logic),
        source=_weakest(sources),
        intent=step.intent,
        alignment=step.image_correct,
        alignment_score=None if image_source == "text" else image,
        logic=step.logic_correct,
        logic_score=None if logic_source == "text" else logic,
        comment="\n".join(filter(None, (step.image, step.logic))),
    )


def _weakest(sources: Sequence[ScoreSource]) -> ScoreSource:
    """A score that is made of several is no better than the worst of them."""
    order: tuple[ScoreSource, ...] = ("text", "bounded", "logprobs")
    return next(source for source in order if source in sources)
