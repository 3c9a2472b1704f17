"""A leaderboard: runs of one benchmark and split, ranked, each number with what it was made from.

Places and ties come from paired tests (`assay.mark.ranking`). Beside each accuracy stand the samples behind it and
what became of the others; beside the ranking each run's recipe: prompt, sampling, pictures, subset, data. Published
results are a table of their own and never enter the ranking.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from assay.errors import UsageError
from assay.mark.judged import Judge, by_judge
from assay.mark.ranking import PairTest, Ranked, rank
from assay.mark.status import Mode, OnMissing, credit, natural_key, status
from assay.mark.summary import Counts, Score
from assay.report.judges import judge_of_run, judges_notes
from assay.report.published import NOT_RANKED, PublishedTable, published_table
from assay.types import Manifest, Outcome

__all__ = ["Board", "BoardRow", "BoardRun", "Part", "labels_of", "make_board"]

# What a manifest says beside its recipe: layout, what all runs of a board share, and what is only recorded.
_NO_RECIPE = ("schema", "benchmark", "split", "data", "fingerprint", "environment")
# Runs that differ in one of these were not asked the same questions.
_QUESTIONS = ("revision", "limit", "where")


@dataclass(frozen=True, kw_only=True)
class BoardRun:
    """A run to be ranked: its folder, its manifest, and its outcomes (read once; under `judged` twice)."""

    folder: Path
    manifest: Manifest
    outcomes: Iterable[Outcome]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The accuracy on one value of a facet, a fraction; None where no sample of it has a verdict."""

    correct: int
    n: int
    accuracy: float | None


class BoardRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run.

    Attributes:
        run: what it is called on the board; no two are called alike.
        best_rank, worst_rank, tie_group: see `ranking.Ranked`.
        samples: outcomes that the run holds; `counts` says what became of them, by the mode's verdicts.
        expected: how many there should be; None where nothing says so.
        complete: whether all are there; None where nobody can tell.
        parts: value of the facet that the board is by -> accuracy.
        recipe: what the run was made with, by the manifest's names: `sampling.temperature`, `prompt_hash`, ...; under
            `judged` also whose verdicts it has: `judge`, `judge_prompt`.
    """

    run: str
    folder: str
    best_rank: int
    worst_rank: int
    tie_group: int
    score: Score
    samples: int
    expected: int | None
    complete: bool | None
    counts: Counts
    parts: dict[str, Part]
    recipe: dict[str, Any]


class Board(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything on the board, best run first; its JSON is what `--format json` prints.

    `differing` names the parts of the recipe in which the runs differ, the model aside.
    """

    benchmark: str
    split: str
    mode: Mode
    on_missing: OnMissing
    alpha: float
    weights: str
    by: str | None
    rows: tuple[BoardRow, ...]
    tests: tuple[PairTest, ...]
    differing: tuple[str, ...]
    notes: tuple[str, ...]
    published: PublishedTable | None


def make_board(
    runs: Sequence[BoardRun],
    *,
    mode: Mode = "robust",
    on_missing: OnMissing,
    by: str | None = None,
    alpha: float = 0.05,
) -> Board:
    """Rank runs of one benchmark and split.

    Args:
        by: a facet whose values become columns.

    Raises:
        UsageError: no run, runs of several benchmarks or splits, a folder given twice, a facet that no run has, or,
            under `judged`, a run that no judge has judged.
        DataError: see `ranking.rank`.
    """
    _check(runs)
    run_of = dict(zip(labels_of([run.folder for run in runs]), runs, strict=True))
    seen = {name: _Seen(mode, on_missing, by, _judge(run, mode)) for name, run in run_of.items()}
    outcomes = {name: seen[name].passing(run.outcomes) for name, run in run_of.items()}
    ranking = rank(outcomes, mode=mode, on_missing=on_missing, alpha=alpha)
    _check_facet(by, seen.values())
    expected = _expected(run_of, seen)
    values = sorted({value for one in seen.values() for value in one.asked}, key=natural_key)
    rows = tuple(
        _row(place, run_of[place.name], seen[place.name], expected[place.name], values) for place in ranking.rows
    )
    manifest, differing = runs[0].manifest, _differing(rows)
    table = published_table(manifest.benchmark)
    return Board(
        benchmark=manifest.benchmark,
        split=manifest.split,
        mode=mode,
        on_missing=on_missing,
        alpha=alpha,
        weights="every sample counts once",
        by=by,
        rows=rows,
        tests=ranking.tests,
        differing=differing,
        notes=tuple(_notes(rows, differing, on_missing, manifest.split, table)) + _judges_notes(seen),
        published=table,
    )


def labels_of(folders: Sequence[Path]) -> list[str]:
    """What to call each folder: the end of its path, as short as it can be while no two are called alike."""
    parts = [folder.absolute().parts for folder in folders]
    ends = [1] * len(parts)
    while True:
        labels = ["/".join(path[-end:]) for path, end in zip(parts, ends, strict=True)]
        times = Counter(labels)
        grown = [min(end + (times[label] > 1), len(path)) for label, path, end in zip(labels, parts, ends, strict=True)]
        if grown == ends:
            return labels
        ends = grown


def _check(runs: Sequence[BoardRun]) -> None:
    if not runs:
        raise UsageError("There is no run to rank: give the folders of runs, e.g. assay board runs/*")
    kinds: dict[str, list[str]] = {}
    for run in runs:
        kinds.setdefault(f"{run.manifest.benchmark} {run.manifest.split}", []).append(str(run.folder))
    if len(kinds) > 1:
        found = "; ".join(f"{kind}: {', '.join(folders)}" for kind, folders in kinds.items())
        raise UsageError(f"Only runs of one benchmark and split can be ranked, these are of {len(kinds)}: {found}.")
    twice = [str(path) for path, times in Counter(run.folder.resolve() for run in runs).items() if times > 1]
    if twice:
        raise UsageError(f"{', '.join(twice)} is given more than once: name each run once.")


@dataclass(kw_only=True)
class _Cell:
    asked: int = 0
    counted: int = 0
    right: int = 0


def _judge(run: BoardRun, mode: Mode) -> Judge | None:
    """Whose judged verdicts the run has under the plain condition, where the board is about those."""
    if mode != "judged":
        return None
    return judge_of_run(run.folder, (outcome for outcome in run.outcomes if not outcome.condition))


@dataclass
class _Seen:
    """What is counted of a run's outcomes while they pass."""

    mode: Mode
    on_missing: OnMissing
    by: str | None
    judge: Judge | None
    samples: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    asked: dict[str, _Cell] = field(default_factory=dict[str, _Cell])
    facets: set[str] = field(default_factory=set[str])

    def passing(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """The outcomes under the plain condition: repeats, other prompts and the like are no further samples."""
        for outcome in outcomes if self.judge is None else by_judge(self.judge, outcomes):
            if outcome.condition:
                continue
            self.samples += 1
            self.statuses[status(outcome, self.mode)] += 1
            self.facets.update(outcome.facets)
            right = credit(outcome, self.mode)
            for value in dict.fromkeys(outcome.facets.get(self.by or "", ())):
                cell = self.asked.setdefault(value, _Cell())
                cell.counted += right is not None or self.on_missing == "wrong"
                cell.right += right is True
            yield outcome

    def part(self, value: str) -> Part:
        cell = self.asked.get(value, _Cell())
        return Part(correct=cell.right, n=cell.counted, accuracy=cell.right / cell.counted if cell.counted else None)


def _check_facet(by: str | None, seen: Iterable[_Seen]) -> None:
    facets = {facet for one in seen for facet in one.facets}
    if by is not None and by not in facets:
        known = ", ".join(sorted(facets)) or "none"
        raise UsageError(f"No sample of these runs has the facet {by!r}. Facets: {known}.")


def _expected(runs: Mapping[str, BoardRun], seen: Mapping[str, _Seen]) -> dict[str, int | None]:
    """How many samples each run should have: as it recorded, else as many as the fullest run of the same questions."""

    def questions(run: BoardRun) -> tuple[object, ...]:
        return tuple(getattr(run.manifest, name) for name in _QUESTIONS)

    def recorded(run: BoardRun) -> int | None:
        number = run.manifest.environment.get("samples")
        return number if isinstance(number, int) and not isinstance(number, bool) else None

    most: Counter[tuple[object, ...]] = Counter()
    peers = Counter(questions(run) for run in runs.values())
    for name, run in runs.items():
        most[questions(run)] = max(most[questions(run)], recorded(run) or 0, seen[name].samples)
    return {
        name: known
        if (known := recorded(run)) is not None
        else (most[questions(run)] if peers[questions(run)] > 1 else None)
        for name, run in runs.items()
    }


def _row(place: Ranked, run: BoardRun, seen: _Seen, expected: int | None, values: Sequence[str]) -> BoardRow:
    """A run with its place; `values` are the columns of the facet that the board is by."""
    return BoardRow(
        run=place.name,
        folder=str(run.folder),
        best_rank=place.best_rank,
        worst_rank=place.worst_rank,
        tie_group=place.tie_group,
        score=place.score,
        samples=seen.samples,
        expected=expected,
        complete=None if expected is None else seen.samples == expected,
        counts=Counts(**{name: seen.statuses[name] for name in Counts.__struct_fields__}),
        parts={value: seen.part(value) for value in values},
        recipe=_recipe(run.manifest, seen.judge),
    )


def _recipe(manifest: Manifest, judge: Judge | None) -> dict[str, Any]:
    """The manifest's fields that a number depends on, nested ones by dotted names, and who marked: version, judge."""
    fields = {name: value for name, value in msgspec.to_builtins(manifest).items() if name not in _NO_RECIPE}
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": part for inner, part in cast("Mapping[str, Any]", value).items()}
        else:
            flat[name] = value
    flat["assay"] = manifest.environment.get("assay")
    return flat if judge is None else flat | {"judge": judge.name, "judge_prompt": judge.prompt_hash}


def _judges_notes(seen: Mapping[str, _Seen]) -> tuple[str, ...]:
    return judges_notes({name: one.judge for name, one in seen.items() if one.judge is not None})


def _differing(rows: Sequence[BoardRow]) -> tuple[str, ...]:
    names = dict.fromkeys(name for row in rows for name in row.recipe if name != "model")
    return tuple(name for name in names if any(row.recipe.get(name) != rows[0].recipe.get(name) for row in rows))


def _notes(
    rows: Sequence[BoardRow],
    differing: Sequence[str],
    on_missing: OnMissing,
    split: str,
    table: PublishedTable | None,
) -> list[str]:
    how = "are left out of n" if on_missing == "exclude" else "count as not right"
    notes = [
        f"Every sample counts once. Samples without a verdict (failed, unmarkable; in judged also not judged) {how}.",
        "Unanswered, truncated and refused replies are in n, and not right.",
    ]
    notes += [
        f"{row.run} is not complete: {row.samples:,} of {row.expected:,} samples."
        for row in rows
        if row.complete is False
    ]
    questions = [name for name in _QUESTIONS if name in differing]
    if questions:
        notes.append(
            f"The runs were not asked the same questions: they differ in {', '.join(questions)}. Accuracies are over "
            "each run's own samples, tests over those that two runs share."
        )
    others = [name for name in differing if name not in _QUESTIONS]
    if others:
        notes.append(f"The runs differ in more than the model: {', '.join(others)}.")
    if any(row.recipe.get("conditions") for row in rows):
        notes.append("Only the plain condition counts here: no repeats, other prompts, orders or pictures.")
    if any(row.recipe.get("where") for row in rows):
        notes.append("A run with conditions (where) is about a part of the split, not the split.")
    if table is not None:
        notes += [NOT_RANKED, *_published_notes(table, rows, split)]
    return notes


def _published_notes(table: PublishedTable, rows: Sequence[BoardRow], split: str) -> Iterator[str]:
    if split != table.split:
        yield f"Published: split {table.split}; here: split {split}. The questions differ."
    sizes = sorted({row.samples for row in rows})
    if sizes != [table.samples]:
        yield f"Published: {table.samples:,} samples; here: {', '.join(f'{size:,}' for size in sizes)}."
