"""From rollouts and critiques to the examples that a critic is trained on.

Every solution goes through these stages in this order, and is dropped at most once, with a word for the tables:

| stage | dropped as |
|---|---|
| rows that are no solutions | odd_row |
| topic of the question | topic |
| a critique | no_critique, unparsable, truncated, refused, failed, mismatch, told |
| labels of Monte-Carlo | unlabelled |
| agreement | disagreement |
| a correction of the first wrong step | uncorrected |
| equal solutions of a question | same_solution |
| pictures that can't be read | image |
| questions of a benchmark | contaminated |
| near-duplicate questions | near_duplicate |
| solutions of one question | per_question |
| erroneous and clean ones | balance |

What is kept and what is dropped add up to what was read. The dear stages come last. Memory holds a few words for each
solution and the text of each question; solutions and critiques are read again when examples are written.

    DIR/examples.jsonl      `Example`s, the critique written anew in the form of `solve.critique_format`
    DIR/dropped.jsonl       `Dropped`, one for each row that is not among them
    DIR/contaminated.jsonl  `Contaminated`, every offending pair
    DIR/card.json, card.md  what was counted at each stage, agreement, noise, cost, settings, hashes of the inputs
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins

from assay.errors import DataError, UsageError
from assay.solve.critique_format import render
from assay.solve.steps import strip_step
from assay.train.card import Card, counted, write_card
from assay.train.concord import NoiseCount, PairCount, first_error, mc_labels, padded
from assay.train.contamination import Against, Contaminated, Measure
from assay.train.duplicates import Likeness, PictureHashes
from assay.train.files import sha256_of, write_records
from assay.train.minimal import Siblings, minimal
from assay.train.records import Dropped, Example, RolledSolution
from assay.train.sifting import Candidate, Question, balanced, clean_of, few_of_each, new_solutions, only_new, seen
from assay.train.teachings import Agree, Quorum, Refusal, Said, Teachings, choose, covers
from assay.train.topics import Told, topics_of
from assay.train.visualprm import read_rollouts
from assay.types import Sample

__all__ = ["FilterPlan", "filter_examples", "question_key"]

Labels = Literal[
    "both",  # a teacher's critique that Monte-Carlo agrees with
    "teacher",  # a teacher's critique, whatever Monte-Carlo says: an ablation
    "mc",  # Monte-Carlo's labels, without a teacher's words: an ablation (see `train.minimal`)
]

SUFFIXES = (".jsonl", ".parquet")


@dataclass(frozen=True, kw_only=True)
class FilterPlan:
    """What is kept.

    Attributes:
        rollouts, critiques: the inputs; `mc` labels do without critiques.
        out: the result's folder.
        labels, agree, quorum: see `teachings`; agreement counts for `both` alone.
        keep_uncorrected: keep an erroneous solution whose critique has no correction.
        topics: of the questions; none for all.
        told: question (`question_key`) -> its topics, where a model was asked.
        likeness: what makes two questions one; None keeps near-duplicates.
        against: name and samples of benchmarks that must not be trained on.
        measure: what makes a question one of theirs.
        keep_contaminated: only list offending questions.
        per_question: most solutions of a question.
        balance: clean solutions to an erroneous one.
        seed: of what is drawn by lot.
    """

    rollouts: tuple[Path, ...]
    critiques: tuple[Path, ...]
    out: Path
    labels: Labels = "both"
    agree: Agree = "first-error"
    quorum: Quorum = "majority"
    keep_uncorrected: bool = False
    topics: frozenset[str] = frozenset()
    told: Mapping[str, frozenset[str]] | None = None
    likeness: Likeness | None = field(default_factory=Likeness)
    against: tuple[tuple[str, Sequence[Sample]], ...] = ()
    measure: Measure = field(default_factory=Measure)
    keep_contaminated: bool = False
    per_question: int | None = None
    balance: Fraction | None = None
    seed: int = 0

    def check(self) -> None:
        """Raise the `UsageError` that no file is to blame for."""
        if not self.rollouts:
            raise UsageError("There is nothing to filter: name the rollouts.")
        if not self.critiques and self.labels != "mc":
            raise UsageError("Without critiques there are only Monte-Carlo's labels: name critiques, or take those.")
        if self.balance is not None and self.balance <= 0:
            raise UsageError(
                "A balance of 0 would keep no clean solution; write how many there may be to an erroneous."
            )

    def settings(self) -> dict[str, Any]:
        """What decided the result, for the files' headers and the card."""
        return {
            "labels": self.labels,
            "agree": self.agree if self.labels == "both" else "none",
            "quorum": self.quorum,
            "keep_uncorrected": self.keep_uncorrected,
            "topics": sorted(self.topics),
            "topics_by": "model" if self.told is not None else "rule",
            "likeness": None if self.likeness is None else to_builtins(self.likeness),
            "against": [name for name, _ in self.against],
            "measure": to_builtins(self.measure) if self.against else None,
            "keep_contaminated": self.keep_contaminated,
            "per_question": self.per_question,
            "balance": None if self.balance is None else str(self.balance),
            "seed": self.seed,
        }


def question_key(solution: RolledSolution) -> str:
    """A question across files: benchmarks count theirs alike."""
    return f"{solution.source} | {solution.sample_id}"


def filter_examples(plan: FilterPlan) -> Card:
    """Write the examples, what was dropped and the card; see the module.

    Raises:
        UsageError: nothing to filter.
        DataError: inputs that can't be read or don't belong together; nothing is left.
        MissingExtra: pictures are to be compared, and imagehash is not installed.
        RunError: the result can't be written.
    """
    plan.check()
    digests = [sha256_of(path, suffixes=SUFFIXES) for path in plan.rollouts]
    work = _Filtering(plan, Teachings(plan.critiques, digests))
    work.read()
    left, pairs = work.sift()
    inputs = {str(path): digest for path, digest in zip(plan.rollouts, digests, strict=True)}
    inputs |= {str(path): sha256_of(path) for path in plan.critiques}
    settings = plan.settings() | {"inputs": inputs}
    card = work.card(left, pairs, settings)
    write_records(plan.out / "examples.jsonl", "examples", work.examples(left), settings=settings)
    write_records(plan.out / "dropped.jsonl", "dropped", work.dropped, settings=settings)
    write_records(plan.out / "contaminated.jsonl", "contaminated", pairs, settings=settings)
    write_card(plan.out, card)
    return card


class _Filtering:
    """The state of one `filter_examples`."""

    def __init__(self, plan: FilterPlan, teachings: Teachings) -> None:
        self.dropped: list[Dropped] = []
        self._plan = plan
        self._teachings = teachings
        self._candidates: list[Candidate] = []
        self._questions: list[Question] = []
        self._numbers: dict[str, int] = {}
        self._ways: Counter[str] = Counter()
        self._pairs: dict[str, PairCount] = {}
        self._noise = NoiseCount()
        self._ids: set[str] = set()
        self._total = 0
        self._uncorrected = 0
        self._against: Against | None = None

    # ---- first reading

    def read(self) -> None:
        """Every row once: what can be decided about a solution by itself."""
        siblings = self._siblings() if self._plan.labels == "mc" else None
        for number, path in enumerate(self._plan.rollouts):
            for solution in read_rollouts(path, on_odd=self._odd):
                self._total += 1
                name = self._name(solution, path)
                refusal = self._decide(number, name, solution, siblings)
                if refusal is not None:
                    self._note(name, number, refusal.kind, refusal.reason)
        if not self._total:
            raise DataError(str(self._plan.rollouts[0]), "there are no solutions in it", "Give a file of rollouts.")

    def _siblings(self) -> Siblings:
        found = Siblings()
        for path in self._plan.rollouts:
            for solution in read_rollouts(path, on_odd=lambda _: None):
                found.add(question_key(solution), solution)
        return found

    def _odd(self, odd: DataError) -> None:
        self._total += 1
        self.dropped.append(Dropped(id="", where=odd.where, kind="odd_row", reason=odd.problem))

    def _name(self, solution: RolledSolution, path: Path) -> str:
        """The example's id: the solution's, or one with its file's name where another file has the same."""
        name = solution.id if solution.id not in self._ids else f"{path.stem}/{solution.id}"
        if name in self._ids:
            raise DataError(str(path), f"holds a solution {solution.id}, and so do two others", "Rename a file.")
        self._ids.add(name)
        return name

    def _decide(self, file: int, name: str, solution: RolledSolution, siblings: Siblings | None) -> Refusal | None:
        """Take the solution in as a candidate, or say why not."""
        said = self._teachings.of(file, solution.id)
        if self._plan.topics:
            told = self._told(solution)
            self._ways[told.way] += 1
            if not told.topics & self._plan.topics:
                return Refusal("topic", f"about {', '.join(sorted(told.topics)) or 'none of the topics'} ({told.way})")
        self._count(solution, said)
        if siblings is not None:
            return self._by_labels(file, name, solution, said, siblings)
        compared = self._plan.labels == "both" and self._plan.agree != "none"
        chosen = choose(
            said,
            solution,
            mc_labels(solution) if compared else None,
            agree=self._plan.agree,
            quorum=self._plan.quorum,
            keep_uncorrected=self._plan.keep_uncorrected,
        )
        if isinstance(chosen, Refusal):
            return chosen
        self._take(file, name, solution, clean=chosen.first_error is None, said=chosen, corrected=chosen.corrected)
        return None

    def _by_labels(
        self, file: int, name: str, solution: RolledSolution, said: Sequence[Said], siblings: Siblings
    ) -> Refusal | None:
        """As `_decide`, by Monte-Carlo's labels alone."""
        first = solution.first_error
        if first == -1 or not solution.steps:
            return Refusal("unlabelled", "Monte-Carlo tells no first wrong step, nor that there is none")
        source = next((one for one in said if one.corrected and one.first_error == first), None)
        correction = self._teachings.written(source).correction if source is not None else None
        correction = correction or siblings.correction(question_key(solution), solution)
        if first is not None and correction is None and not self._plan.keep_uncorrected:
            return Refusal("uncorrected", "the first wrong step has no correction")
        self._take(file, name, solution, clean=first is None, correction=correction, corrected=correction is not None)
        return None

    def _told(self, solution: RolledSolution) -> Told:
        by_model = self._plan.told
        if by_model is None:
            return topics_of(solution)
        return Told(by_model.get(question_key(solution), frozenset()), "model")

    def _count(self, solution: RolledSolution, said: Sequence[Said]) -> None:
        """Agreement and noise, over all solutions of the topics."""
        self._noise.add(solution.steps)
        if solution.first_error == -1 or not solution.steps:
            return
        for one in said:
            if one.status == "parsed" and covers(one.labels, len(solution.steps)):
                pairs = self._pairs.setdefault(one.teacher, PairCount(one.teacher))
                labels = padded(one.labels, len(solution.steps))
                pairs.add(f"{solution.source}\x00{solution.group}", labels, mc_labels(solution))

    def _take(
        self,
        file: int,
        name: str,
        solution: RolledSolution,
        *,
        clean: bool,
        corrected: bool,
        said: Said | None = None,
        correction: str | None = None,
    ) -> None:
        key = question_key(solution)
        if key not in self._numbers:
            self._numbers[key] = len(self._questions)
            self._questions.append(
                Question(
                    name=solution.sample_id, source=solution.source, text=solution.question, images=solution.images
                )
            )
        text = "\x00".join(" ".join(strip_step(step.text).split()) for step in solution.steps)
        self._uncorrected += not clean and not corrected
        self._candidates.append(
            Candidate(
                id=name,
                file=file,
                solution_id=solution.id,
                question=self._numbers[key],
                clean=clean,
                text=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
                said=said,
                correction=None if clean else correction,
            )
        )

    def _note(self, name: str, file: int, kind: str, reason: str) -> None:
        self.dropped.append(Dropped(id=name, where=str(self._plan.rollouts[file]), kind=kind, reason=reason))

    # ---- stages over all candidates

    def sift(self) -> tuple[list[Candidate], list[Contaminated]]:
        """What is left in the end, and the pairs that offend."""
        plan, questions = self._plan, self._questions

        def drop(candidate: Candidate, kind: str, reason: str) -> None:
            self._note(candidate.id, candidate.file, kind, reason)

        left = new_solutions(self._candidates, drop)
        compare = plan.likeness is not None or bool(plan.against)
        hashes = PictureHashes() if compare and self._pictures(left) else None
        left, prints = seen(left, questions, hashes, drop)
        pairs: list[Contaminated] = []
        if plan.against:
            against = Against(plan.against, hashed=hashes or PictureHashes(), measure=plan.measure)
            self._against = against
            left, pairs = clean_of(left, questions, prints, against, keep=plan.keep_contaminated, drop=drop)
        if plan.likeness is not None:
            left = only_new(left, questions, prints, plan.likeness, drop)
        if plan.per_question is not None:
            left = few_of_each(left, plan.per_question, plan.seed, drop)
        if plan.balance is not None:
            left = balanced(left, plan.balance, plan.seed, drop)
        return left, pairs

    def _pictures(self, candidates: Sequence[Candidate]) -> bool:
        return any(self._questions[candidate.question].images for candidate in candidates)

    # ---- second reading

    def examples(self, left: Sequence[Candidate]) -> Iterator[Example]:
        """What is trained on, in the order of the rollouts."""
        wanted = {(candidate.file, candidate.solution_id): candidate for candidate in left}
        for number, path in enumerate(self._plan.rollouts):
            for solution in read_rollouts(path, on_odd=lambda _: None):
                candidate = wanted.get((number, solution.id))
                if candidate is not None:
                    yield self._example(candidate, solution)

    def _example(self, candidate: Candidate, solution: RolledSolution) -> Example:
        if candidate.said is None:
            written, labels = minimal(mc_labels(solution), candidate.correction)
            origin = "monte-carlo"
        else:
            written = self._teachings.written(candidate.said)
            labels, origin = padded(candidate.said.labels, len(solution.steps)), candidate.said.teacher
        return Example(
            id=candidate.id,
            source=solution.source,
            group=solution.group,
            question=solution.question,
            # The folder of the rollouts and that of the examples may be moved together.
            images=tuple(os.path.relpath(path, self._plan.out.resolve()) for path in solution.images),
            steps=tuple(step.text for step in solution.steps),
            critique=render(written),
            labels=labels,
            first_error=first_error(labels),
            origin=origin,
        )

    # ---- the card

    def card(self, left: Sequence[Candidate], pairs: Sequence[Contaminated], settings: dict[str, Any]) -> Card:
        clean = sum(candidate.clean for candidate in left)
        by_source = Counter(self._questions[candidate.question].source for candidate in left)
        against = self._against
        return Card(
            total=self._total,
            stages=counted(self._total, Counter(dropped.kind for dropped in self.dropped)),
            kept=len(left),
            clean=clean,
            erroneous=len(left) - clean,
            questions=len({candidate.question for candidate in left}),
            sources=dict(sorted(by_source.items())),
            topics_by=dict(sorted(self._ways.items())),
            uncorrected_candidates=self._uncorrected,
            teachers=self._teachings.teachers(),
            unmatched_critiques=self._teachings.unmatched(),
            agreement=tuple(pair.result() for pair in self._pairs.values()),
            noise=self._noise.result(),
            benchmarks=against.counts if against else {},
            contaminated_pairs=len(pairs),
            benchmark_pictures_unread=tuple(against.unread) if against else (),
            benchmark_questions_uncompared=against.uncompared if against else {},
            settings=settings,
        )
