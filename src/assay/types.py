"""The records that cross module boundaries.

Every record is a `msgspec.Struct` written `frozen=True, kw_only=True, forbid_unknown_fields=True`; a test asserts it.
What is written to disk is the JSON of these records, nothing else.
"""

from typing import Any, Literal

from msgspec import Struct, ValidationError, convert

from assay.errors import UsageError

# ------------------------------------------------------------------------------
# Questions


class Option(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One option of a choice question: the label the item itself uses (`A`) and its text (may be empty)."""

    label: str
    text: str = ""


class ChoiceGold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="choice"):
    """The right labels. `multiple` says whether the question allows several, whatever their number here."""

    labels: tuple[str, ...]
    multiple: bool = False


class NumberGold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="number"):
    """A number as written in the data.

    `tolerance` is absolute, as written: a decimal string, `"NaN"` where the data says NaN, None where it says nothing.
    `relative` is a share of the number's magnitude, a decimal string: `"0.05"` for 5 %. The wider of both counts.
    """

    value: str
    tolerance: str | None = None
    unit: str | None = None
    relative: str | None = None


class ExpressionGold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="expression"):
    """A mathematical expression in LaTeX or plain text, as written in the data."""

    value: str


class TextGold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="text"):
    """Short free text; any of `values` is right."""

    values: tuple[str, ...]


class SpansGold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="spans"):
    """Short texts that make up the answer together, in any order, and the scale that their numbers are in.

    `scale` is empty, or a word such as `thousand` or `percent`.
    """

    values: tuple[str, ...]
    scale: str = ""


Gold = ChoiceGold | NumberGold | ExpressionGold | TextGold | SpansGold


class Sample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question of a benchmark.

    Attributes:
        id: unique within the benchmark and split.
        question: the question's text; empty where a split on disk has none (it can be scored, not asked).
        images: paths of the pictures, in the order in which the question refers to them.
        options: the options of a choice question, in order.
        gold: the right answer; None where the data has none (reported, never scored by `robust`).
        facets: what a report groups by: facet name -> values (a sample may have several, e.g. MathVista's skills).
        context: further text that a prompt may carry (caption, related sentences, unit).
        group: samples of one group share a picture or a seed question; intervals are clustered by it.
    """

    id: str
    question: str
    images: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    gold: Gold | None = None
    facets: dict[str, tuple[str, ...]] = {}
    context: dict[str, str] = {}
    group: str


# ------------------------------------------------------------------------------
# Requests and replies


class TextPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="text"):
    text: str


class ImagePart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="image"):
    """An encoded picture.

    `key` is the SHA-256 over the source picture's mode, size and file bytes and the transform that was applied; it
    stands for the picture in a request's key and wherever a request is written down. `data` is the encoded file, as it
    is sent. `notes` say what was done to the source: the first of several frames, turned upright, another size.
    """

    key: str
    media_type: str
    width: int
    height: int
    data: bytes
    notes: tuple[str, ...] = ()


Part = TextPart | ImagePart


class Message(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


class Sampling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tokens are drawn. Every field is part of a request's key.

    `extra` is merged into the request body of an OpenAI-compatible server (`--extra-body`).
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int | None = None
    max_tokens: int = 1280
    stop: tuple[str, ...] = ()
    extra: dict[str, Any] = {}


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of a model: `n` draws with indices `index .. index + n - 1`.

    Attributes:
        messages: the conversation; must end with a user turn.
        sampling: how tokens are drawn.
        seed: derived from (run seed, sample, index), never a server's default.
        n: number of draws asked for at once.
        index: index of the first draw. N equal requests with different indices never share a reply.
        top_logprobs: None for no log-probabilities, else how many alternatives to report per token (0: the chosen).
        prefill: text that the assistant's reply starts with; a `Reply` holds only what comes after it.
        given: what the assistant says after the prefill: nothing is generated, and the one reply is this text with the
            log-probabilities of its tokens. Checkpoints in this process and vLLM can do that.
        sample_id: who asks; not part of the key (a replay looks replies up by it).
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    seed: int = 0
    n: int = 1
    index: int = 0
    top_logprobs: int | None = None
    prefill: str = ""
    given: str = ""
    sample_id: str = ""


Finish = Literal[
    "stop",  # the model ended its reply
    "length",  # cut at the token limit
    "filter",  # withheld by a content filter, or refused by the server's policy
    "other",
]


class Usage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens of one reply. Of `n` draws in one call the first carries the prompt's tokens, the others none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Token(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generated token: its text, its natural-log probability, and the most likely alternatives."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One draw from a model.

    Attributes:
        text: the answer: without thinking, without the request's prefill.
        reasoning: thinking text, from `reasoning_content` or a `<think>` block, kept apart from the answer.
        finish: why the model stopped.
        model: the model's name as the server reports it.
        usage: None where the server did not say.
        tokens: None where no log-probabilities came back, whatever was asked.
        extracted: the text is an answer that somebody already extracted (a replay of published predictions), so
            that marking skips the search for it.
        extraction: the short answer that a language model (or a person) read out of `text`, kept beside it. Benchmarks
            whose official rule extracts so take it for their reference verdict; an empty one says "no answer".
    """

    text: str
    reasoning: str = ""
    finish: Finish = "stop"
    model: str = ""
    usage: Usage | None = None
    tokens: tuple[Token, ...] | None = None
    extracted: bool = False
    extraction: str | None = None


# ------------------------------------------------------------------------------
# Conditions

PictureUse = Literal[
    "own",  # the sample's own pictures
    "none",  # left out, without a word about it
    "other",  # as many pictures of other samples
]


class Condition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a sample is asked. The plain condition, all defaults, is the benchmark's own way.

    Attributes:
        repeat: index of the draw; every index has a seed of its own.
        prompt: name of the prompt's variant (see `Benchmark.prompts`); empty for the benchmark's own wording.
        shuffle: 0 for the options in the data's order, else the number of another order.
        picture: which pictures are shown.
    """

    repeat: int = 0
    prompt: str = ""
    shuffle: int = 0
    picture: PictureUse = "own"

    @property
    def name(self) -> str:
        """What differs from the plain condition, e.g. `repeat=1` or `prompt=b,shuffle=2`; empty if nothing does."""
        if self == PLAIN:  # asked for several times a sample
            return ""
        return ",".join(
            f"{field}={value}"
            for field in self.__struct_fields__
            if (value := getattr(self, field)) != getattr(PLAIN, field)
        )

    @classmethod
    def named(cls, name: str) -> "Condition":
        """The condition of that name.

        Raises:
            UsageError: for a name that no condition has.
        """
        fields: dict[str, str | int] = {}
        for part in name.split(",") if name else ():
            field, _, value = part.partition("=")
            number = field in ("repeat", "shuffle") and value.isascii() and value.isdecimal()
            fields[field] = int(value) if number else value
        try:
            condition = convert(fields, cls)
        except ValidationError as cause:
            raise UsageError(f"{name!r} is no condition ({cause}). Write e.g. repeat=1 or prompt=b.") from None
        if condition.name != name:
            raise UsageError(f"{name!r} is no condition. Write {condition.name!r}.")
        return condition


PLAIN = Condition()


# ------------------------------------------------------------------------------
# Results

Verdict = Literal[
    "right",
    "wrong",
    "unanswered",  # the reply holds no answer, or an ambiguous one
    "unmarkable",  # we can't tell: no gold, a comparison that timed out, a silent judge
]


class Mark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One verdict, the answer that was read out of the reply, and a short reason.

    `credit` is the graded score, 0 to 1, where the benchmark publishes one beside right and wrong (F1); else None.
    """

    verdict: Verdict
    extraction: str | None = None
    reason: str = ""
    credit: float | None = None


class JudgeMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language model's verdict on one reply, and whose it is: the model's identity and the hash of its prompt.

    `unmarkable` where the judge gave none, whatever the cause; `reason` names it.
    """

    verdict: Verdict
    reason: str = ""
    judge: str
    prompt_hash: str


class Marked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="marked"):
    """Both verdicts on one reply.

    `reference` is what the published script says, quirks included; `robust` is what is right. `difference` is the
    reason where they differ, else None. `judged` stands beside both where a judge was asked; it changes neither.
    """

    reference: Mark
    robust: Mark
    difference: str | None = None
    judged: JudgeMark | None = None


class Failure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="failure"):
    """Something failed before there was a reply to mark. Never a score."""

    stage: Literal["image", "prompt", "call", "mark", "internal"]  # internal: a fault of ours, reported on stderr too
    kind: str
    message: str


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a run: what became of one sample.

    Attributes:
        sample_id, group, facets: copied from the sample, so that a report needs nothing else.
        result: both marks, or the failure.
        finish: the reply's finish reason; None where there was no reply.
        reply: key of the reply in the run's store; None where there was none.
        usage: tokens of all the replies that the sample used.
        attempts: calls made, retries included; 0 where everything came from the store.
        detail: what the benchmark's own scores need of the sample (see `Benchmark.detail`); under `pictures`, what was
            done to its pictures.
        condition: name of the condition under which the sample was asked; empty for the plain one. Sample and
            condition together identify a line.
        extraction: the answer that an extractor read out of the reply, as in `Reply.extraction`; None where none was
            asked, or none said.
    """

    sample_id: str
    group: str
    facets: dict[str, tuple[str, ...]] = {}
    result: Marked | Failure
    finish: Finish | None = None
    reply: str | None = None
    usage: Usage | None = None
    attempts: int = 0
    detail: dict[str, str] = {}
    condition: str = ""
    extraction: str | None = None

    @property
    def id(self) -> str:
        """Unique within a run; the sample's id under the plain condition."""
        return line_id(self.sample_id, self.condition)


def line_id(sample_id: str, condition: str) -> str:
    """What identifies a line of a run: `7`, or `7 [repeat=1]`."""
    return f"{sample_id} [{condition}]" if condition else sample_id


class Reading(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a table of one's own is read, as far as the user said so (see `benchmarks.own`).

    Attributes:
        columns: what a column is for -> its name, e.g. `{"question": "prompt"}`; found by their names otherwise.
        answer_type: choice, number, expression or text for every row; None infers it row by row.
        facets: the columns to report by; None takes those with few distinct values.
        images: the folder that relative picture paths start from; empty for the table's own.
    """

    columns: dict[str, str] = {}
    answer_type: str | None = None
    facets: tuple[str, ...] | None = None
    images: str = ""


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run is: written first, checked on resume.

    `fingerprint` covers every field that changes a result; `environment` (versions, commit, platform, start time, probe
    results, concurrency) is only recorded. `where`: the conditions that the samples meet (see `benchmarks.subset`).
    `reading`: how a table of one's own was read; None for the benchmarks that are known by name.
    `conditions`: the names of those under which every sample is asked; none where that is the plain one alone.
    """

    schema: int
    benchmark: str
    split: str
    revision: str
    model: str
    search: str
    sampling: Sampling
    seed: int
    prompt_hash: str
    image_transform: str
    limit: int | None
    data: str
    fingerprint: str
    environment: dict[str, Any] = {}
    where: tuple[str, ...] = ()
    reading: Reading | None = None
    conditions: tuple[str, ...] = ()
