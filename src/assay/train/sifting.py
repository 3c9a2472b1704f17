"""Which of the solutions that have a critique to be trained on are left: what repeats, leaks or outweighs goes.

Every function takes solutions and gives those that stay, and tells `drop` of every other one, with a word for the
tables and a sentence. What is drawn by lot is drawn by the hash of seed and id: whatever else there is, the same
solution has the same lot.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from assay.errors import ImageError
from assay.images import decode
from assay.train.contamination import Against, Contaminated
from assay.train.duplicates import Fingerprint, Likeness, NearDuplicates, PictureHashes, read_picture
from assay.train.teachings import Said
from assay.train.wording import Common, words

__all__ = ["Candidate", "Drop", "Question", "balanced", "clean_of", "few_of_each", "new_solutions", "only_new", "seen"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question, with what decides about it."""

    name: str
    source: str
    text: str
    images: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A solution that may be trained on.

    Attributes:
        id: of the example.
        file, solution_id: where it stands: number of the rollouts file, and the id there.
        question: number of the question.
        clean: whether no step of it is wrong.
        text: hash of its steps.
        said: the teacher's critique; None where labels are Monte-Carlo's.
        correction: of a critique that is made of labels alone.
    """

    id: str
    file: int
    solution_id: str
    question: int
    clean: bool
    text: bytes
    said: Said | None
    correction: str | None = None


Drop = Callable[[Candidate, str, str], None]


def new_solutions(candidates: Sequence[Candidate], drop: Drop) -> list[Candidate]:
    """The first of equal solutions of a question: a policy may write the same twice, or a server ignore seeds."""
    first: dict[tuple[int, bytes], str] = {}
    left: list[Candidate] = []
    for candidate in candidates:
        same = first.setdefault((candidate.question, candidate.text), candidate.id)
        if same == candidate.id:
            left.append(candidate)
        else:
            drop(candidate, "same_solution", f"the steps are those of {same}")
    return left


def seen(
    candidates: Sequence[Candidate], questions: Sequence[Question], hashes: PictureHashes | None, drop: Drop
) -> tuple[list[Candidate], dict[int, Fingerprint]]:
    """Those whose pictures can be read, and what their questions are compared by.

    Args:
        hashes: None where no pictures are to be compared; they must be readable all the same.
    """
    broken: dict[int, str] = {}
    pictures: dict[int, tuple[int, ...]] = {}
    for number in dict.fromkeys(candidate.question for candidate in candidates):
        try:
            if hashes is None:
                for path in questions[number].images:
                    decode(read_picture(path))
            else:
                pictures[number] = tuple(hashes(path) for path in questions[number].images)
        except ImageError as error:
            broken[number] = f"{error.kind}: {error}"
    left = _without(candidates, broken, drop, "image")
    numbers = dict.fromkeys(candidate.question for candidate in left)
    common = Common((questions[number].source, questions[number].text) for number in numbers)
    prints = {
        number: Fingerprint(
            words=common.words(questions[number].source, questions[number].text), pictures=pictures.get(number, ())
        )
        for number in numbers
    }
    return left, prints


def clean_of(
    candidates: Sequence[Candidate],
    questions: Sequence[Question],
    prints: dict[int, Fingerprint],
    against: Against,
    *,
    keep: bool,
    drop: Drop,
) -> tuple[list[Candidate], list[Contaminated]]:
    """Those whose questions are in no benchmark, and every offending pair; with `keep` they are only listed."""
    solutions: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        solutions.setdefault(candidate.question, []).append(candidate)
    pairs: list[Contaminated] = []
    offending: dict[int, str] = {}
    for number, own in solutions.items():
        # All its words: a sentence that every question of the source has may be the benchmark's as well.
        question = Fingerprint(words=words(questions[number].text), pictures=prints[number].pictures)
        for offence in against.offences(question):
            offending.setdefault(number, f"{offence.benchmark} {offence.sample_id}: {offence.why}")
            pairs.append(
                Contaminated(
                    question=questions[number].name,
                    source=questions[number].source,
                    solutions=tuple(candidate.id for candidate in own),
                    benchmark=offence.benchmark,
                    benchmark_id=offence.sample_id,
                    rules=offence.rules,
                    why=offence.why,
                )
            )
    return list(candidates) if keep else _without(candidates, offending, drop, "contaminated"), pairs


def only_new(
    candidates: Sequence[Candidate],
    questions: Sequence[Question],
    prints: dict[int, Fingerprint],
    likeness: Likeness,
    drop: Drop,
) -> list[Candidate]:
    """Those whose question repeats no earlier one; all solutions of a question stay or go together."""
    numbers = list(dict.fromkeys(candidate.question for candidate in candidates))
    duplicates = NearDuplicates((prints[number] for number in numbers), likeness)
    kept: list[int] = []
    repeated: dict[int, str] = {}
    for number in numbers:
        earlier = duplicates.earlier(prints[number])
        if earlier is None:
            kept.append(number)
        else:
            other = questions[kept[earlier]]
            repeated[number] = f"the question repeats {other.name} of {other.source}"
    return _without(candidates, repeated, drop, "near_duplicate")


def few_of_each(candidates: Sequence[Candidate], most: int, seed: int, drop: Drop) -> list[Candidate]:
    """At most so many solutions of a question, drawn by lot."""
    taken: Counter[int] = Counter()
    chosen: set[str] = set()
    for candidate in _by_lot(candidates, seed):
        if taken[candidate.question] < most:
            taken[candidate.question] += 1
            chosen.add(candidate.id)
    return _only(candidates, chosen, drop, "per_question", f"its question has {most} others")


def balanced(candidates: Sequence[Candidate], ratio: Fraction, seed: int, drop: Drop) -> list[Candidate]:
    """As many clean solutions to an erroneous one as `ratio` says; of the kind that there is too much of, by lot."""
    clean = [candidate for candidate in candidates if candidate.clean]
    wrong = [candidate for candidate in candidates if not candidate.clean]
    most_clean = min(len(clean), int(len(wrong) * ratio))
    most_wrong = min(len(wrong), int(len(clean) / ratio))
    chosen = {
        candidate.id
        for kind, most in ((clean, most_clean), (wrong, most_wrong))
        for candidate in _by_lot(kind, seed)[:most]
    }
    return _only(candidates, chosen, drop, "balance", "its kind, clean or erroneous, outweighs the other")


def _without(candidates: Sequence[Candidate], questions: dict[int, str], drop: Drop, kind: str) -> list[Candidate]:
    """Those whose questions are not among these; each has its reason."""
    left: list[Candidate] = []
    for candidate in candidates:
        if candidate.question in questions:
            drop(candidate, kind, questions[candidate.question])
        else:
            left.append(candidate)
    return left


def _by_lot(candidates: Sequence[Candidate], seed: int) -> list[Candidate]:
    def lot(candidate: Candidate) -> bytes:
        return hashlib.sha256(f"{seed}\x00{candidate.id}".encode("utf-8", "surrogatepass")).digest()

    return sorted(candidates, key=lot)


def _only(candidates: Sequence[Candidate], chosen: set[str], drop: Drop, kind: str, reason: str) -> list[Candidate]:
    left: list[Candidate] = []
    for candidate in candidates:
        if candidate.id in chosen:
            left.append(candidate)
        else:
            drop(candidate, kind, reason)
    return left
