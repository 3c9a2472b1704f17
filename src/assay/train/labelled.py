"""What a critic can be tested on: published process benchmarks, and files of one's own, all as labelled solutions.

Every set stands in one table, `LABELLED`: how its file is read, and which score it is known by.

| set | file | headline |
|---|---|---|
| the six of `train.sets` | the published JSON Lines | the published metric of each |
| rollouts | a file of `RolledSolution`, or VisualPRM400K's own | macro F1 of the hard labels |
| examples | a file of `Example` | macro F1 |
| fincharts | JSON Lines of `LabelledSolution`: `assay data fincharts --rationales` writes them | macro F1 |
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.errors import DataError
from assay.train.files import read_records
from assay.train.records import Example, LabelledSolution, RolledSolution
from assay.train.sets import read_set
from assay.train.visualprm import read_rollouts

__all__ = ["LABELLED", "Headline", "LabelledSet", "labelled_of_rollout", "read_labelled"]

OnOdd = Callable[[DataError], None]

Headline = Literal[
    "macro",  # mean of the F1 of right and of wrong steps
    "harmonic",  # harmonic mean of the accuracies on erroneous and on correct solutions
    "weighted",  # VLRMBench's weighted F1
]


class Reader(Protocol):
    """Reads a file; odd rows are told and left out, or raise where nobody is told."""

    def __call__(self, path: Path, /, *, on_odd: OnOdd | None = None) -> Iterator[LabelledSolution]: ...


class LabelledSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of file.

    Attributes:
        read: its reader.
        headline: the score that the set is known by.
        first_errors_only: steps after the first wrong one have no label, so step metrics say nothing of them.
        groups: name of a group of sources -> the sources' names, whose macro F1 are averaged.
    """

    read: Reader
    headline: Headline
    first_errors_only: bool = False
    groups: dict[str, tuple[str, ...]] = {}


def labelled_of_rollout(rolled: RolledSolution) -> LabelledSolution:
    """A solution with its hard labels; a step without one (skipped, or not drawn to the end) is not labelled."""
    return LabelledSolution(
        id=rolled.id,
        source=f"rollouts/{rolled.source}",
        question=rolled.question,
        images=rolled.images,
        steps=tuple(step.text for step in rolled.steps),
        labels=tuple(step.hard for step in rolled.steps),
        first_error=rolled.first_error,
        group=rolled.group,
    )


def _rollouts(path: Path, *, on_odd: OnOdd | None = None) -> Iterator[LabelledSolution]:
    return map(labelled_of_rollout, read_rollouts(path, on_odd=on_odd))


def _examples(path: Path, *, on_odd: OnOdd | None = None) -> Iterator[LabelledSolution]:
    for number, example in enumerate(read_records(path, "examples", Example, on_odd=on_odd), start=1):
        solution = LabelledSolution(
            id=example.id,
            source=f"examples/{example.source}",
            question=example.question,
            images=tuple(str(path.parent / picture) for picture in example.images),
            steps=example.steps,
            labels=example.labels,
            first_error=example.first_error,
            group=example.group,
        )
        if _fits(solution, f"{path}: example {number}", on_odd):
            yield solution


def _lines(path: Path, *, on_odd: OnOdd | None = None) -> Iterator[LabelledSolution]:
    """A file whose lines are `LabelledSolution`s."""
    if not path.is_file():
        raise DataError(str(path), "there is no such file", "Give the set's JSON Lines file.")
    decoder = msgspec.json.Decoder(LabelledSolution)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                solution = decoder.decode(line)
            except msgspec.DecodeError as cause:
                _tell(DataError(where, f"is no labelled solution ({cause})", "Mend or remove the line."), on_odd)
                continue
            if _fits(solution, where, on_odd):
                yield replace(solution, images=tuple(str(path.parent / picture) for picture in solution.images))


def _fits(solution: LabelledSolution, where: str, on_odd: OnOdd | None) -> bool:
    """Whether labels and first error are those of the steps; where not, it is told."""
    labels, steps = len(solution.labels), len(solution.steps)
    problem = f"has {labels} labels for {steps} steps" if labels != steps else ""
    if solution.first_error is not None and not -1 <= solution.first_error < steps:
        problem = problem or f"names step {solution.first_error} as its first wrong one, but has {steps} steps"
    if problem:
        _tell(DataError(where, problem, "Mend or remove it."), on_odd)
    return not problem


def _tell(odd: DataError, on_odd: OnOdd | None) -> None:
    if on_odd is None:
        raise odd
    on_odd(odd)


def _published(name: str) -> Reader:
    return partial(read_set, name)


PRMBENCH_GROUPS = {
    "simplicity": ("prmbench/redundency", "prmbench/circular"),
    "soundness": (
        "prmbench/counterfactual",
        "prmbench/step_contradiction",
        "prmbench/domain_inconsistency",
        "prmbench/confidence",
    ),
    # multi_solutions belongs here too, but holds no wrong step, so that it has no macro F1.
    "sensitivity": ("prmbench/missing_condition", "prmbench/deception"),
}
"""PRMBench's three groups of classes, by the spelling of its file."""

LABELLED: dict[str, LabelledSet] = {
    "visualprocessbench": LabelledSet(read=_published("visualprocessbench"), headline="macro"),
    "processbench": LabelledSet(read=_published("processbench"), headline="harmonic", first_errors_only=True),
    "prmbench": LabelledSet(read=_published("prmbench"), headline="macro", groups=PRMBENCH_GROUPS),
    "bigbench-mistake": LabelledSet(read=_published("bigbench-mistake"), headline="harmonic", first_errors_only=True),
    "mr-math": LabelledSet(read=_published("mr-math"), headline="harmonic", first_errors_only=True),
    "vlrmbench": LabelledSet(read=_published("vlrmbench"), headline="weighted"),
    "rollouts": LabelledSet(read=_rollouts, headline="macro"),
    "examples": LabelledSet(read=_examples, headline="macro"),
    "fincharts": LabelledSet(read=_lines, headline="macro"),
}
"""Name of a set on the command line -> how it is read. A further kind of file is a further entry."""


def read_labelled(
    name: str,
    path: Path,
    *,
    images: Path | None = None,
    limit: int | None = None,
    on_odd: OnOdd | None = None,
) -> list[LabelledSolution]:
    """The labelled solutions of a file, in order.

    Args:
        name: one of `LABELLED`.
        images: the folder that pictures' relative paths start from; None: the file's own.
        limit: only the first so many.
        on_odd: as in `read_set`.

    Raises:
        DataError: an unknown set, a file without a solution, an id that occurs twice; see the set's reader.
    """
    if name not in LABELLED:
        raise DataError(name, "there is no such set of labelled solutions", f"Choose one of: {', '.join(LABELLED)}.")
    found: dict[str, LabelledSolution] = {}
    for solution in islice(LABELLED[name].read(path, on_odd=on_odd), limit):
        if solution.id in found:
            raise DataError(str(path), f"holds the id {solution.id!r} twice", "Remove one of the two solutions.")
        found[solution.id] = solution if images is None else _placed(solution, path, images)
    if not found:
        raise DataError(str(path), f"holds no solution that can be read as one of {name}", "Give another file or set.")
    return list(found.values())


def _placed(solution: LabelledSolution, path: Path, images: Path) -> LabelledSolution:
    """The solution with pictures in `images` that its reader looked for beside the file."""
    folder = (path if path.is_dir() else path.parent).resolve()

    def place(picture: str) -> str:
        whole = Path(picture).resolve()
        return str(images / whole.relative_to(folder)) if whole.is_relative_to(folder) else picture

    return replace(solution, images=tuple(map(place, solution.images)))
