"""One question to an extractor or a judge, and the strict reading of its reply.

Only a line in the form that was asked for counts. Silence, a refusal, a cut reply, an error text that arrives as a
reply, prose without the line: none of them is a verdict, so the mark is `unmarkable`, never wrong and never guessed.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from assay.benchmarks.marking import NO_GOLD
from assay.benchmarks.prompting import fill, hash_prompts
from assay.models.base import Model
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    Gold,
    Mark,
    Message,
    NumberGold,
    Reply,
    Request,
    Sample,
    Sampling,
    SpansGold,
    TextGold,
    TextPart,
    Verdict,
)

Role = Literal["extractor", "judge"]

SAMPLING = Sampling(temperature=0.0, max_tokens=2048)
"""Of both; thinking counts towards the limit of tokens."""

MAX_RESPONSE = 20_000
"""Characters of a reply that are shown; of a longer one the end, where answers stand."""

_PROMPTS: dict[Role, str] = {"extractor": "extract", "judge": "judge"}


@cache
def load_prompt(role: Role) -> str:
    """The text of the role's prompt file."""
    return files("assay.judging").joinpath("prompts", f"{_PROMPTS[role]}.txt").read_text(encoding="utf-8")


def prompt_hash(role: Role) -> str:
    """SHA-256 over the role's prompt file, hexadecimal."""
    return hash_prompts({_PROMPTS[role]: load_prompt(role)})


# --------------------------------------------------------------------------------------------------------------------
# What is asked


def judge_prompt(sample: Sample, reply: Reply) -> str:
    """What a judge is asked about a reply to a sample that has gold."""
    cut = "The response ends where it was cut off at a limit of length." if reply.finish == "length" else ""
    gold = "" if sample.gold is None else gold_words(sample.gold, sample)
    return fill(load_prompt("judge"), {**_shown(sample, reply), "gold": _inside(gold), "cut": cut})


def extract_prompt(sample: Sample, reply: Reply) -> str:
    """What an extractor is asked; it sees neither the right answer nor whether there is one."""
    return fill(load_prompt("extractor"), {**_shown(sample, reply), "form": _form(sample.gold)})


def question_of(sample: Sample) -> str:
    """The question for somebody who doesn't see the pictures: MathVerse keeps it apart where it stands in one."""
    return sample.context.get("question_for_eval") or sample.question


def _shown(sample: Sample, reply: Reply) -> dict[str, str]:
    question, response = question_of(sample), reply.text
    if len(response) > MAX_RESPONSE:
        response = f"[the first {len(response) - MAX_RESPONSE:,} characters are left out]\n{response[-MAX_RESPONSE:]}"
    known = all(option.text in question for option in sample.options)  # e.g. MathVerse's questions list them
    options = "" if known else "\n".join(f"{option.label}. {option.text}" for option in sample.options)
    return {"question": _inside(question), "options": _inside(options), "response": _inside(response)}


_TAG = re.compile(r"<(?=/?(?:question|right_answer|response)>)", re.IGNORECASE)


def _inside(text: str) -> str:
    """A text that can't end the part of the prompt that it stands in."""
    return _TAG.sub("<\u200b", text)


def gold_words(gold: Gold, sample: Sample) -> str:
    """The right answer in words, with what the data says about it."""
    match gold:
        case ChoiceGold():
            texts = {option.label: option.text for option in sample.options}
            named = [f"{label} ({text})" if (text := texts.get(label)) else label for label in gold.labels]
            return " and ".join(named) + (" (all of these and no others)" if gold.multiple else "")
        case NumberGold():
            share = f"{gold.relative} of its magnitude" if gold.relative else None
            margins = [margin for margin in (_stated(gold.tolerance), share) if margin]
            within = f" (within {' or '.join(margins)})" if margins else ""
            return " ".join(filter(None, (gold.value, gold.unit))) + within
        case ExpressionGold():
            return gold.value
        case TextGold():
            return " or ".join(gold.values)
        case SpansGold():
            return "; ".join(gold.values) + (f" (in {gold.scale})" if gold.scale else "")


def _stated(tolerance: str | None) -> str | None:
    return None if tolerance in (None, "NaN") else tolerance


def _form(gold: Gold | None) -> str:
    match gold:
        case ChoiceGold(multiple=True):
            return "the letters of all the chosen options, separated by commas."
        case ChoiceGold():
            return "the letter of the chosen option, without its text."
        case NumberGold():
            return "a bare number in digits, without unit, thousands separators or words."
        case ExpressionGold():
            return "the value or expression as the response writes it; several values as a list, e.g. [1, 2]."
        case _:
            return "as few words as the response needs to state it."


# --------------------------------------------------------------------------------------------------------------------
# Asking, and reading what comes back


class Extraction(NamedTuple):
    """The answer that an extractor found, empty for "no answer"; None where it did not say, with the reason."""

    answer: str | None
    problem: str = ""


async def extract(model: Model, sample: Sample, reply: Reply, *, sampling: Sampling = SAMPLING) -> Extraction:
    """Have a language model read the answer out of a reply.

    Raises:
        CallError, RunStopped: see `Caller.generate`.
    """
    return read_extraction(await _ask(model, extract_prompt(sample, reply), sample.id, sampling))


async def judge(model: Model, sample: Sample, reply: Reply, *, sampling: Sampling = SAMPLING) -> Mark:
    """A language model's verdict on a reply.

    It is not asked where there is nothing to judge: an empty reply is unanswered, and without gold or a question text
    nobody can tell.

    Raises:
        CallError, RunStopped: see `Caller.generate`.
    """
    if sample.gold is None:
        return NO_GOLD
    if not question_of(sample).strip():
        return Mark(verdict="unmarkable", reason="the data has no question text for the judge")
    if not reply.text.strip():
        return Mark(verdict="unanswered", reason="the reply is empty")
    return read_verdict(await _ask(model, judge_prompt(sample, reply), sample.id, sampling))


async def _ask(model: Model, prompt: str, sample_id: str, sampling: Sampling) -> Reply:
    message = Message(role="user", parts=(TextPart(text=prompt),))
    (reply,) = await model.generate(Request(messages=(message,), sampling=sampling, sample_id=sample_id))
    return reply


_DECORATION = " \t*_`#>\"'."
_VERDICT = re.compile(r"verdict\s*[:：][\s*_`\"']*(correct|incorrect|no answer)", re.IGNORECASE)
_EXTRACTED = re.compile(r"^[ \t*_`#>]*extracted[ \t*_`]*[:：][ \t*_`]*", re.IGNORECASE | re.MULTILINE)
_VERDICTS: dict[str, Verdict] = {"correct": "right", "incorrect": "wrong", "no answer": "unanswered"}
_NO_ANSWER = "no answer"  # not "none", which may be an option


def read_verdict(reply: Reply) -> Mark:
    """The verdict on the last line of a judge's reply; `unmarkable`, with the reason, for anything else."""
    problem = _no_reply("judge", reply)
    if problem:
        return Mark(verdict="unmarkable", reason=problem)
    said = [found[1].lower() for line in reply.text.splitlines() if (found := _VERDICT.fullmatch(_bare(line)))]
    last = _VERDICT.fullmatch(_bare(reply.text.strip().splitlines()[-1]))
    if last is None:
        return Mark(verdict="unmarkable", reason="the judge's reply does not end with a verdict")
    if len(set(said)) > 1:
        return Mark(verdict="unmarkable", reason="the judge gives two verdicts")
    return Mark(verdict=_VERDICTS[last[1].lower()])


def read_extraction(reply: Reply) -> Extraction:
    """What stands after the last `Extracted:` at the beginning of a line, down to the end."""
    problem = _no_reply("extractor", reply)
    if problem:
        return Extraction(None, problem)
    starts = list(_EXTRACTED.finditer(reply.text))
    if not starts:
        return Extraction(None, "the extractor's reply has no line `Extracted:`")
    answer = reply.text[starts[-1].end() :].strip()
    return Extraction("" if _bare(answer).lower() == _NO_ANSWER else answer)


def _bare(line: str) -> str:
    return line.strip(_DECORATION)


def _no_reply(who: Role, reply: Reply) -> str:
    """Why a reply can't hold what was asked for; empty where it can."""
    if reply.finish == "filter":
        return f"the {who} refused"
    if reply.finish == "length":
        return f"the {who}'s reply was cut at its token limit"
    return "" if reply.text.strip() else f"the {who} said nothing"
