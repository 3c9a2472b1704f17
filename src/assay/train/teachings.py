"""The critiques that teachers wrote, by the solution that they are of; and which of them may be trained on.

Critiques stay on the disk: in memory there is what decides, and where the critique stands.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from assay.engine.lines import lines
from assay.errors import DataError
from assay.solve.critique_format import Written, parse, render
from assay.train.concord import Labels, first_error, padded
from assay.train.files import read_header
from assay.train.records import RolledSolution, TeacherCritique, TeacherStatus
from assay.types import Usage

__all__ = ["Agree", "Quorum", "Refusal", "Said", "Teachers", "Teachings", "choose"]

Agree = Literal[
    "first-error",  # both find the first wrong step in the same place, or none
    "every-step",  # and no step that both have labelled has two labels
    "none",  # whatever Monte-Carlo says
]

Quorum = Literal["any", "majority", "all"]
"""How many of the teachers that wrote a critique must agree."""


class Said(NamedTuple):
    """What one teacher said of one solution.

    `labels`, `corrected` and `faithful` are of a parsed critique: the steps it judges, whether it has a correction, and
    whether it reads the same once it is written in the form. `told` says that it speaks of the right answer as given.
    """

    teacher: str
    status: TeacherStatus
    reason: str
    labels: tuple[bool, ...]
    corrected: bool
    faithful: bool
    told: bool
    file: int
    offset: int

    @property
    def first_error(self) -> int | None:
        return first_error(self.labels)

    @property
    def usable(self) -> bool:
        """Whether it has what a training example needs."""
        return self.first_error is None or self.corrected


class Teachers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One teacher's critiques, all files together: status -> critiques, tries, tokens."""

    teacher: str
    statuses: dict[str, int]
    tries: int
    usage: Usage


class Teachings:
    """All critiques of some files.

    Args:
        paths: the files.
        rollouts: SHA-256 of each rollouts file. A critique belongs to the file that it was made of; where that is
            none of these (the file was split or joined since), to the one solution with its id.

    Raises:
        DataError: a file that can't be read, or two critiques of one solution by one teacher.
    """

    def __init__(self, paths: Sequence[Path], rollouts: Sequence[str]) -> None:
        self._paths = list(paths)
        self._known = {digest: number for number, digest in enumerate(rollouts)}
        self._said: dict[tuple[int | None, str], list[Said]] = {}
        self._counts: dict[str, tuple[Counter[str], Counter[str]]] = {}
        self._used: dict[tuple[int | None, str], int] = {}  # key -> the file that asked
        for number, path in enumerate(self._paths):
            self._read(number, path)

    def _read(self, number: int, path: Path) -> None:
        settings = read_header(path, "critiques").settings
        source = self._known.get(str(settings.get("rollouts_sha256", "")))
        decoder = msgspec.json.Decoder(TeacherCritique)
        for row, offset, line in lines(path):
            if row == 1 or not line.strip():
                continue
            try:
                critique = decoder.decode(line)
            except msgspec.DecodeError as cause:
                raise DataError(f"{path}:{row}", f"is no critique ({cause})", "Mend or remove the line.") from cause
            said = _said(critique, number, offset)
            of_solution = self._said.setdefault((source, critique.solution_id), [])
            if any(other.teacher == said.teacher for other in of_solution):
                problem = f"is a second critique of {critique.solution_id} by {said.teacher}"
                raise DataError(f"{path}:{row}", problem, "Give each run's critiques once.")
            of_solution.append(said)
            self._count(critique)

    def _count(self, critique: TeacherCritique) -> None:
        statuses, amounts = self._counts.setdefault(critique.teacher, (Counter(), Counter()))
        statuses[critique.status] += 1
        usage = critique.usage or Usage()
        amounts.update(tries=critique.attempts, prompt=usage.prompt_tokens, completion=usage.completion_tokens)

    def teachers(self) -> tuple[Teachers, ...]:
        return tuple(
            Teachers(
                teacher=teacher,
                statuses=dict(sorted(statuses.items())),
                tries=amounts["tries"],
                usage=Usage(prompt_tokens=amounts["prompt"], completion_tokens=amounts["completion"]),
            )
            for teacher, (statuses, amounts) in self._counts.items()
        )

    def of(self, file: int, solution_id: str) -> list[Said]:
        """What teachers said of a solution of a rollouts file, in the order of the critiques' files.

        Raises:
            DataError: critiques whose rollouts are not among the files fit solutions of two files.
        """
        found = self._said.get((file, solution_id), [])
        if found:
            self._used[file, solution_id] = file
        loose = self._said.get((None, solution_id), [])
        if loose and self._used.setdefault((None, solution_id), file) != file:
            raise DataError(
                str(self._paths[loose[0].file]),
                f"was made of none of these rollouts, and two of them hold a solution {solution_id}",
                "Filter the rollouts one by one, each with its critiques.",
            )
        return [*found, *loose]

    def unmatched(self) -> int:
        """Critiques of solutions that were never asked for."""
        return sum(len(said) for key, said in self._said.items() if key not in self._used)

    def written(self, said: Said) -> Written:
        """The critique itself, from the disk."""
        with self._paths[said.file].open("rb") as file:
            file.seek(said.offset)
            critique = msgspec.json.decode(file.readline(), type=TeacherCritique).critique
        if critique is None:
            raise DataError(str(self._paths[said.file]), "was changed while it was read", "Start again.")
        return critique


def _said(critique: TeacherCritique, file: int, offset: int) -> Said:
    written = critique.critique if critique.status == "parsed" else None
    return Said(
        teacher=sys.intern(critique.teacher),
        status=critique.status if written or critique.status != "parsed" else "unparsable",
        reason=critique.reason,
        labels=tuple(step.correct for step in written.steps) if written else (),
        corrected=bool(written and written.correction),
        faithful=written is not None and _faithful(written),
        told=written is not None and critique.with_gold and _tells(written),
        file=file,
        offset=offset,
    )


def _faithful(written: Written) -> bool:
    """Whether the critique, written in the form, is read as what it is.

    Comments are put on one line, behind their names; a correction has lines of its own, which may look like any.
    """
    if not written.correction:
        return True
    again = parse(render(written), len(written.steps))
    if not isinstance(again, Written):
        return False
    judged = [step.correct for step in again.steps] == [step.correct for step in written.steps]
    return judged and (again.correction or "") == (written.correction or "").strip()


_TELLS = re.compile(
    r"\b(?:reference|official) answer\b|\banswer key\b|\bground[- ]truth\b|\bright_answer\b"
    r"|\b(?:given|provided|supplied|known) (?:right|correct) answer\b"
    r"|\b(?:right|correct) answer (?:that |which )?(?:i |we )?(?:was|am|is|were|have been) "
    r"(?:given|told|shown|provided|supplied)\b",
    re.IGNORECASE,
)


def _tells(written: Written) -> bool:
    """Whether the critique speaks of the right answer as something that it was given: the critic won't be."""
    return any(map(_TELLS.search, _texts(written)))


def _texts(written: Written) -> Iterator[str]:
    for step in written.steps:
        yield from (step.intent, step.image, step.logic)
    yield written.correction or ""


# ----------------------------------------------------------------------------------------------------------------------
# The choice


class Refusal(NamedTuple):
    """Why no critique of a solution may be trained on: a word for the tables, and a sentence."""

    kind: str
    reason: str


def choose(
    said: Sequence[Said],
    solution: RolledSolution,
    monte_carlo: Labels | None,
    *,
    agree: Agree,
    quorum: Quorum,
    keep_uncorrected: bool = False,
) -> Said | Refusal:
    """The critique of a solution that may be trained on.

    Args:
        said: what each teacher said.
        monte_carlo: the labels to agree with; None asks for no agreement with them, only for that of several teachers.
        agree: in what.
        quorum: of the teachers with a critique. Of those that agree the first with a usable critique is taken.
        keep_uncorrected: where none is usable, take one that finds a wrong step and doesn't correct it.
    """
    fit = _fit(said, len(solution.steps))
    if isinstance(fit, Refusal):
        return fit
    if monte_carlo is None:
        wanted = Counter(one.first_error for one in fit).most_common(1)[0][0]
        agreeing = [one for one in fit if one.first_error == wanted]
    else:
        if solution.first_error == -1:
            return Refusal("unlabelled", "Monte-Carlo tells no first wrong step, nor that there is none")
        agreeing = [one for one in fit if _agrees(one, monte_carlo, agree)]
    if not _enough(len(agreeing), len(fit), quorum):
        return Refusal("disagreement", _difference(fit, monte_carlo))
    usable = next((one for one in agreeing if one.usable), None)
    if usable is None and not keep_uncorrected:
        return Refusal("uncorrected", "the first wrong step has no correction")
    return usable or agreeing[0]


def _fit(said: Sequence[Said], count: int) -> "list[Said] | Refusal":
    """The critiques that are critiques of this solution, and show nothing that the critic won't see."""
    if not said:
        return Refusal("no_critique", "no teacher was asked")
    parsed = [one for one in said if one.status == "parsed"]
    if not parsed:
        return Refusal(said[0].status, f"{said[0].teacher}: {said[0].reason}")
    fit = [one for one in parsed if one.faithful and covers(one.labels, count)]
    if not fit:
        return Refusal("mismatch", f"the critique of {len(parsed[0].labels)} steps is none of {count}, or not faithful")
    silent = [one for one in fit if not one.told]
    return silent or Refusal("told", "the critique speaks of the right answer as given")


def covers(labels: Sequence[bool], count: int) -> bool:
    """Whether a critique judges all steps, or stops at a wrong one."""
    return 0 < len(labels) <= count and (len(labels) == count or not labels[-1])


def _agrees(said: Said, monte_carlo: Labels, agree: Agree) -> bool:
    if agree == "none":
        return True
    if said.first_error != first_error(monte_carlo):
        return False
    labels = padded(said.labels, len(monte_carlo))
    return agree == "first-error" or not any(
        one is not None and other is not None and one is not other
        for one, other in zip(labels, monte_carlo, strict=True)
    )


def _enough(agreeing: int, all_of: int, quorum: Quorum) -> bool:
    match quorum:
        case "any":
            return agreeing > 0
        case "majority":
            return 2 * agreeing > all_of
        case "all":
            return agreeing == all_of


def _difference(fit: Sequence[Said], monte_carlo: Labels | None) -> str:
    found = [f"{one.teacher} {_where(one.first_error)}" for one in fit]
    if monte_carlo is not None:
        found.append(f"Monte-Carlo {_where(first_error(monte_carlo))}")
    return f"first wrong step: {', '.join(found)}"


def _where(place: int | None) -> str:
    return "none" if place is None else str(place + 1)
