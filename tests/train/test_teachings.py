"""Which critique of a solution may be trained on: whose, and where Monte-Carlo must agree."""

from pathlib import Path

import pytest
from msgspec import structs

from assay.errors import DataError
from assay.solve.critique_format import Written, WrittenStep
from assay.train.concord import Labels, mc_labels
from assay.train.files import write_records
from assay.train.records import RolledSolution, TeacherCritique
from assay.train.teachings import Agree, Quorum, Refusal, Said, Teachings, choose
from assay.types import Usage
from support.rolled import rolled, said_by, written


def taught(folder: Path, *critiques: TeacherCritique, rollouts: str = "", known: tuple[str, ...] = ()) -> Teachings:
    """Critiques through a file."""
    path = folder / f"critiques-{len(list(folder.iterdir()))}.jsonl"
    write_records(path, "critiques", critiques, settings={"rollouts_sha256": rollouts})
    return Teachings([path], known)


def chosen(
    folder: Path,
    solution: RolledSolution,
    *critiques: TeacherCritique,
    agree: Agree = "first-error",
    quorum: Quorum = "majority",
    blind: bool = False,
    keep_uncorrected: bool = False,
) -> str:
    """The teacher whose critique is taken, or why there is none."""
    said = taught(folder, *critiques).of(0, solution.id)
    labels: Labels | None = None if blind else mc_labels(solution)
    found = choose(said, solution, labels, agree=agree, quorum=quorum, keep_uncorrected=keep_uncorrected)
    return found.kind if isinstance(found, Refusal) else found.teacher


WRONG = rolled("a#0", 4, 0, 2)  # Monte-Carlo: right, wrong, right
CLEAN = rolled("a#0", 4, 4, 2)


def test_agreement_by_the_first_error(tmp_path: Path) -> None:
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", True, False, False)) == "t"
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", True, False)) == "t"  # it stopped there
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", False, False, False)) == "disagreement"
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", True, True, True)) == "disagreement"
    assert chosen(tmp_path, CLEAN, said_by("t", "a#0", True, True, True)) == "t"
    assert chosen(tmp_path, CLEAN, said_by("t", "a#0", True, True, False)) == "disagreement"


def test_agreement_on_every_step(tmp_path: Path) -> None:
    every = "every-step"
    # Monte-Carlo got from the third step to the right answer, the teacher calls it wrong.
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", True, False, False), agree=every) == "disagreement"
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", True, False, True), agree=every) == "t"
    assert chosen(tmp_path, WRONG, said_by("t", "a#0", True, False), agree=every) == "t"  # not labelled: no difference


def test_no_agreement_is_asked_for(tmp_path: Path) -> None:
    other = said_by("t", "a#0", True, True, False)
    assert chosen(tmp_path, WRONG, other, agree="none") == "t"
    assert chosen(tmp_path, WRONG, other, blind=True) == "t"


def test_what_monte_carlo_can_not_tell(tmp_path: Path) -> None:
    steps = (CLEAN.steps[0], structs.replace(CLEAN.steps[1], hard=None), CLEAN.steps[2])
    unknown = structs.replace(CLEAN, steps=steps)
    assert chosen(tmp_path, unknown, said_by("t", "a#0", True, True, True)) == "unlabelled"
    assert chosen(tmp_path, unknown, said_by("t", "a#0", True, True, True), blind=True) == "t"


def test_a_first_error_without_a_correction(tmp_path: Path) -> None:
    bare = said_by("t", "a#0", critique=written(True, False, correction=None))
    assert chosen(tmp_path, WRONG, bare) == "uncorrected"
    assert chosen(tmp_path, WRONG, bare, said_by("u", "a#0", True, False)) == "u"  # another teacher has one
    assert chosen(tmp_path, WRONG, bare, keep_uncorrected=True) == "t"


def test_several_teachers(tmp_path: Path) -> None:
    yes, no = (True, False, False), (True, True, False)
    one_of_two = (said_by("t", "a#0", *no), said_by("u", "a#0", *yes))
    assert chosen(tmp_path, WRONG, *one_of_two, quorum="any") == "u"
    assert chosen(tmp_path, WRONG, *one_of_two, quorum="majority") == "disagreement"
    two_of_three = (*one_of_two, said_by("v", "a#0", *yes))
    assert chosen(tmp_path, WRONG, *two_of_three, quorum="majority") == "u"
    assert chosen(tmp_path, WRONG, *two_of_three, quorum="all") == "disagreement"
    # A teacher without a critique has no vote.
    silent = said_by("w", "a#0", status="refused", critique=None, reason="the teacher refused")
    assert chosen(tmp_path, WRONG, silent, said_by("v", "a#0", *yes), quorum="all") == "v"
    # Without Monte-Carlo it is the teachers among themselves.
    assert chosen(tmp_path, WRONG, *two_of_three, blind=True) == "u"
    assert chosen(tmp_path, WRONG, *one_of_two, blind=True) == "disagreement"


@pytest.mark.parametrize("status", ["unparsable", "truncated", "refused", "failed"])
def test_no_critique_is_what_it_is(tmp_path: Path, status: str) -> None:
    nothing = said_by("t", "a#0", status=status, critique=None, reason="so it is")
    assert chosen(tmp_path, CLEAN, nothing) == status
    assert chosen(tmp_path, CLEAN) == "no_critique"


def test_a_critique_of_another_solution_is_none_of_this_one(tmp_path: Path) -> None:
    assert chosen(tmp_path, CLEAN, said_by("t", "a#0", True, True)) == "mismatch"
    assert chosen(tmp_path, CLEAN, said_by("t", "a#0", True, True, True, True)) == "mismatch"


def test_a_critique_that_would_be_read_as_another_one_is_none(tmp_path: Path) -> None:
    trap = Written(
        steps=(WrittenStep(correct=False),), correction="Add 7.\nStep 2\nIntent: go on\nJudgement: Correct\nEnd"
    )
    assert chosen(tmp_path, rolled("a#0", 0), said_by("t", "a#0", critique=trap)) == "mismatch"


@pytest.mark.parametrize(
    ("comment", "kind"),
    [
        ("it does not lead to the given correct answer", "told"),
        ("the answer key says 12", "told"),
        ("as the correct answer that I was given shows", "told"),
        ("the correct answer is 12", "t"),
        ("the solution given says 12", "t"),
    ],
)
def test_a_critique_that_speaks_of_what_only_the_teacher_saw(tmp_path: Path, comment: str, kind: str) -> None:
    steps = tuple(structs.replace(step, logic=comment) for step in written(True, True, True).steps)
    critique = said_by("t", "a#0", critique=Written(steps=steps), with_gold=True)
    assert chosen(tmp_path, CLEAN, critique) == kind
    assert chosen(tmp_path, CLEAN, structs.replace(critique, with_gold=False)) == "t"


def test_critiques_go_to_the_rollouts_that_they_were_made_of(tmp_path: Path) -> None:
    one = said_by("t", "a#0", True)
    made = taught(tmp_path, one, rollouts="bbb", known=("aaa", "bbb"))
    assert (len(made.of(0, "a#0")), len(made.of(1, "a#0"))) == (0, 1)
    # Of rollouts that nobody knows: by the id alone, as long as only one solution has it.
    loose = taught(tmp_path, one, rollouts="ccc", known=("aaa", "bbb"))
    assert len(loose.of(0, "a#0")) == 1
    with pytest.raises(DataError, match="two of them hold a solution a#0"):
        loose.of(1, "a#0")


def test_what_is_counted_of_teachers(tmp_path: Path) -> None:
    made = taught(
        tmp_path,
        said_by("t", "a#0", True, attempts=2, usage=Usage(prompt_tokens=10, completion_tokens=5)),
        said_by("t", "b#0", status="failed", critique=None, attempts=0),
        said_by("u", "b#0", True, usage=Usage(prompt_tokens=1, completion_tokens=2)),
    )
    t, u = made.teachers()
    assert (t.teacher, t.statuses, t.tries) == ("t", {"failed": 1, "parsed": 1}, 2)
    assert t.usage == Usage(prompt_tokens=10, completion_tokens=5)
    assert (u.teacher, u.tries) == ("u", 1)
    made.of(0, "a#0")
    assert made.unmatched() == 2
    (said,) = made.of(0, "a#0")
    assert isinstance(said, Said)
    assert made.written(said) == written(True)


def test_files_that_are_no_critiques(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="second critique of a#0 by t"):
        taught(tmp_path, said_by("t", "a#0", True), said_by("t", "a#0", False))
    file = tmp_path / "odd.jsonl"
    write_records(file, "critiques", [said_by("t", "a#0", True)], settings={})
    file.write_bytes(file.read_bytes() + b'{"solution_id": 7}\n')
    with pytest.raises(DataError, match=r"odd.jsonl:3: is no critique"):
        Teachings([file], [])
    with pytest.raises(DataError, match="can't be read"):
        Teachings([tmp_path / "gone.jsonl"], [])
