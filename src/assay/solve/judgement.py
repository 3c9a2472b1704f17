"""How sure a model was of a judgement that it wrote: the probabilities of two labels at one place of its reply.

A label is written in several ways (`Correct`, ` correct`, `CORRECT`), and a tokenizer may cut each of them anywhere
(`In`, `correct`). So the reply's tokens are followed from the judgement's place on. At each of them every listed
alternative is looked at together with what was written before it: it can only become one of the labels, can still
become either (a blank), or neither. Then

    P(label) = sum over listed alternatives a that can only become it: P(tokens written before a) * P(a)

which for the label that was written is the product along all of its tokens, and for everything that was not followed
to its end an upper bound: what would come after `In` is not known unless `In` was chosen.

Of a label that no list holds, no single way to write it is likelier than the least likely alternative that is listed,
and all of them together have no more than the list leaves over. The smaller of the two then stands for it, and the
score says `bounded`.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from assay.solve.records import ScoreSource, Unjudged
from assay.types import Reply, Token

Labels = tuple[str, str]
"""The word for right, and the word for wrong."""

CORRECT: Labels = ("Correct", "Incorrect")
PLUS: Labels = ("+", "-")
YES: Labels = ("Yes", "No")

# What may stand before a label: blanks, as some servers show them too (SentencePiece, byte-level BPE), and emphasis.
_BEFORE = " \t\r\n\u00a0▁ĠĊ*_`\"'"


class LabelProbabilities(NamedTuple):
    """Probabilities of the two labels; `bounded` where one of them is not listed, and a bound stands for it."""

    right: float
    wrong: float
    bounded: bool

    @property
    def source(self) -> ScoreSource:
        return "bounded" if self.bounded else "logprobs"

    def score(self, *, normalise: bool = True) -> float:
        """P(right) / (P(right) + P(wrong)), or P(right) as it is."""
        return self.right / (self.right + self.wrong) if normalise else self.right


def label_probabilities(tokens: Sequence[Token], place: int, labels: Labels = CORRECT) -> LabelProbabilities | None:
    """The labels' probabilities where the judgement starts.

    Args:
        tokens: of the reply, in order.
        place: characters before the judgement in the tokens' texts together: where the form that was asked for ends
            (`Judgement:`) and the label may begin.
        labels: case does not count; they must not begin with a blank or emphasis.

    Returns:
        None where neither label has a probability there.
    """
    found = _token_at(tokens, place)
    if found is None:
        return None
    first, said = found
    mass, bound = _walk(tokens[first:], said, labels)
    if not any(mass):
        return None
    if all(mass):
        return LabelProbabilities(mass[0], mass[1], bounded=False)
    return LabelProbabilities(mass[0] or bound, mass[1] or bound, bounded=True)


def text_place(tokens: Sequence[Token], text: str) -> int | None:
    """Characters before `text` in the tokens' texts together, None where they don't spell it.

    They may say more (thinking, a blank that was trimmed), or less legibly: a character of several tokens is spelled
    by none of them.
    """
    place = "".join(token.text for token in tokens).rfind(text)
    return place if place >= 0 and text else None


def label_score(
    reply: Reply, labels: Labels, *, normalise: bool = True, least_mass: float = 0.0
) -> tuple[float, ScoreSource] | Unjudged:
    """The score of a reply that is one of the labels and nothing else, with its source.

    Args:
        reply: with log-probabilities; without them the score is 1 or 0, by the label that is written.
        labels: for right and for wrong.
        normalise: see `LabelProbabilities.score`.
        least_mass: the least probability of both labels together that a score is made of. Above it, the written text
            doesn't count: a critic that says `.` may well have been about to say one of the two.

    Returns:
        Unjudged where the reply is no label and the labels have too little probability.
    """
    if reply.finish == "filter":
        return Unjudged(kind="refused", reason="the critic refused", usage=reply.usage)
    place = text_place(reply.tokens or (), reply.text)
    found = None if place is None else label_probabilities(reply.tokens or (), place, labels)
    if found is not None and found.right + found.wrong >= least_mass:
        return found.score(normalise=normalise), found.source
    word = reply.text.strip(_BEFORE + ".").casefold()
    for name, score in zip(labels, (1.0, 0.0), strict=True):
        if word == name.casefold() and found is None:
            return score, "text"
    if reply.finish == "length" and not reply.text.strip():
        return Unjudged(kind="truncated", reason="the critic's reply was cut before it answered", usage=reply.usage)
    reason = f"the critic says {reply.text.strip()[:40]!r}, neither {labels[0]} nor {labels[1]}"
    return Unjudged(kind="unparsable", reason=reason, usage=reply.usage)


# --------------------------------------------------------------------------------------------------------------------


def _token_at(tokens: Sequence[Token], place: int) -> tuple[int, str] | None:
    """The first token that says something behind `place`, and what it says before (of `: Correct` the colon)."""
    start = 0
    for number, token in enumerate(tokens):
        end = start + len(token.text)
        if end > place:
            return number, token.text[: max(0, place - start)]
        start = end
    return None


def _walk(tokens: Sequence[Token], before: str, labels: Labels) -> tuple[list[float], float]:
    """Each label's probability as far as it is listed, and the most that a label has which is not."""
    mass, bound = [0.0, 0.0], 0.0
    weight, said = 1.0, ""  # of what was written so far
    for token in tokens:
        listed = _listed(token)
        for text, probability in listed[1:]:
            reading = _read(said + text, before, labels)
            if isinstance(reading, _Label):
                mass[reading.number] += weight * probability
        if _read(said, before, labels) == "open":
            left = max(0.0, 1.0 - sum(probability for _, probability in listed))
            bound += weight * min(left, min(probability for _, probability in listed))
        said += token.text
        weight *= listed[0][1]
        reading = _read(said, before, labels)
        if reading == "other":
            break
        if isinstance(reading, _Label) and (reading.whole or token is tokens[-1]):
            mass[reading.number] += weight
            break
    return mass, bound


class _Label(NamedTuple):
    """A text that can only become this label, or is (`whole`)."""

    number: int
    whole: bool


def _read(said: str, before: str, labels: Labels) -> _Label | Literal["open", "other"]:
    """What a text can still become; `before` is what it says before the judgement's place."""
    if not said.startswith(before):
        return "open" if before.startswith(said) else "other"
    word = said[len(before) :].lstrip(_BEFORE).casefold()
    fitting = [_Label(number, word.startswith(name)) for number, name in _names(labels) if _fits(word, name)]
    if len(fitting) == 1:
        return fitting[0]
    return "open" if fitting else "other"


def _names(labels: Labels) -> list[tuple[int, str]]:
    return list(enumerate(label.casefold() for label in labels))


def _fits(word: str, name: str) -> bool:
    if len(word) < len(name):
        return name.startswith(word)
    return word.startswith(name) and not word[len(name) : len(name) + 1].isalnum()


def _listed(token: Token) -> list[tuple[str, float]]:
    """The chosen token, then the other listed ones: texts and probabilities.

    Servers list the chosen one among the others or don't. A text in the list is the chosen token if its probability is
    the same, or if the list would hold the chosen one by its rank; else it is another token that looks alike.
    """
    chosen = _probability(token.logprob)
    others = [(text, _probability(logprob)) for text, logprob in token.top]
    least = min((probability for _, probability in others), default=0.0)
    same = [entry for entry in others if entry[0] == token.text and (chosen >= least or math.isclose(entry[1], chosen))]
    if same:
        others.remove(min(same, key=lambda entry: abs(entry[1] - chosen)))
    return [(token.text, chosen), *others]


def _probability(logprob: float) -> float:
    return math.exp(min(0.0, logprob)) if not math.isnan(logprob) else 0.0
