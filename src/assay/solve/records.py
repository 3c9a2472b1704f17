"""The records of a search: solutions in steps, critiques, the judged pool. What is written to disk is their JSON."""

from typing import Literal

from msgspec import Struct

from assay.types import Finish, Usage


class Sampled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="sampled"):
    """Drawn from the question alone; `index` is the draw. `greedy` marks the one at temperature 0."""

    index: int
    greedy: bool = False


class Refined(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="refined"):
    """Continued by the policy from a corrected prefix of another solution.

    Attributes:
        parent: position of that solution in the pool.
        kept: steps of this solution that were given to the policy: the parent's steps before its first error, and the
            corrected step, which is the last of them.
    """

    parent: int
    kept: int


Reason = Literal[
    "clean",  # the critic found no error
    "unjudged",  # there is no critique to go by
    "uncorrected",  # the critic found an error and gave no correction
    "unsure",  # the critic is not sure enough of the error (`--refine-below`)
]
"""Why a solution was not refined."""


class Resampled(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="resampled"):
    """Drawn again from the unchanged question in the second half, because its parent was not to be refined."""

    index: int
    parent: int
    reason: Reason = "clean"


Origin = Sampled | Refined | Resampled


Continuation = Literal[
    "continued",
    "repeated",  # it repeated the given steps first; the repetition is cut off
    "restarted",  # it began anew, so it stands alone as a fresh solution; its `Refined.kept` is 0
    "empty",  # nothing came: the given steps are the whole solution
]
"""What a policy made of the steps that it was to continue."""


class Solution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One solution of a question.

    Attributes:
        steps: its steps; joined as they are they give the text that is marked.
        answer: the answer that was read out of it, in a form in which equal answers are equal strings; None where there
            is none. Never compared with a gold answer here.
        origin: where it comes from.
        reasoning: thinking text, kept apart from the steps.
        finish: why the policy stopped.
        usage: tokens that the policy used for it.
        reply: key of the reply in the run's store.
        continuation: what became of the steps that were given; None for a solution drawn from the question alone.
    """

    steps: tuple[str, ...]
    answer: str | None
    origin: Origin
    reasoning: str = ""
    finish: Finish = "stop"
    usage: Usage | None = None
    reply: str | None = None
    continuation: Continuation | None = None

    @property
    def text(self) -> str:
        """The whole solution, as it was written."""
        return "".join(self.steps)


ScoreSource = Literal[
    "logprobs",  # both labels' probabilities were read at the judgement
    "bounded",  # one label was missing from the top list; its probability is bounded by the least one listed
    "samples",  # share of several critiques that say "correct"
    "text",  # only the written judgement: 1 or 0
    "likelihood",  # probability of the step's text under another model
    "given",  # a critic that gives a score and says no more
]


class StepVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a critic says of one step. `score`: the probability, 0 to 1, that the step is correct.

    `alignment` (with the picture) and `logic` are the written judgements where the critic gives them, with their own
    scores where they could be read; `intent` is what the critic takes the step to be for.
    """

    correct: bool
    score: float
    source: ScoreSource
    intent: str = ""
    alignment: bool | None = None
    alignment_score: float | None = None
    logic: bool | None = None
    logic_score: float | None = None
    comment: str = ""


class Critique(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="critique"):
    """A critic's verdicts on the steps of one solution, in order, and its correction of the first wrong one.

    `correction` is the text of the corrected step; None where no step is wrong or none was given. `steps` may be fewer
    than the solution's where a critic stops at the first error. `unscored` are the positions of steps whose score
    doesn't count: a critic's own correction under `--recritique new`.
    """

    steps: tuple[StepVerdict, ...]
    correction: str | None = None
    usage: Usage | None = None
    calls: int = 1
    unscored: tuple[int, ...] = ()

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores that count, in the steps' order."""
        return tuple(step.score for place, step in enumerate(self.steps) if place not in self.unscored)

    @property
    def first_error(self) -> int | None:
        """Position, from 0, of the first step judged wrong; None where all are judged correct."""
        return next((place for place, step in enumerate(self.steps) if not step.correct), None)


class Unjudged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="unjudged"):
    """There is no critique: the reply could not be parsed, the call failed, the solution has no steps.

    Counted, and never ranked above a judged solution.
    """

    kind: Literal["unparsable", "truncated", "refused", "failed", "empty"]
    reason: str
    usage: Usage | None = None
    calls: int = 1


class OptionVerdict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a critic says of one selected option. `score`: the probability, 0 to 1, that it belongs to the answer."""

    label: str
    correct: bool
    score: float
    source: ScoreSource
    comment: str = ""


class OptionCritique(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="options"):
    """A critic's verdicts on the options that an answer selects, one for each, in the item's order."""

    options: tuple[OptionVerdict, ...]
    usage: Usage | None = None
    calls: int = 1


class JudgedOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The labels that an answer selects, in the item's order, and what the critic said of them."""

    labels: tuple[str, ...]
    said: OptionCritique | Unjudged


class Judged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A solution of the pool with its critique; None where the search asked for none (self-consistency)."""

    solution: Solution
    critique: Critique | Unjudged | None = None


Rule = Literal["mean", "min", "max", "product", "last"]
"""How the step scores of a solution become its score."""


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which solution of a pool was chosen, by which strategy and rule; `chosen` is None for an empty pool."""

    chosen: int | None
    strategy: str
    rule: Rule | None = None
    score: float | None = None
