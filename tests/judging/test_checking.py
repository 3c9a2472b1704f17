"""A judge against labelled replies."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from assay.engine.local import Retry
from assay.errors import CallError, DataError, RunMismatch
from assay.judging.checking import Checked, check_judge, read_labelled
from assay.judging.reading import Reader
from assay.models.scripted import Answer, ScriptedModel
from assay.types import Request


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "labelled.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def row(label: object, **fields: Any) -> dict[str, Any]:
    return {"question": "What is 6 x 7?", "gold": "42", "answer": "It is 42.", "label": label, **fields}


class Judge:
    """Says what the replies are to be called, by the row's id."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.calls = 0
        self._answers = answers
        self.model = ScriptedModel(self._reply, identity="scripted:judge")

    def _reply(self, request: Request, _draw: int) -> Answer:
        self.calls += 1
        return self._answers[request.sample_id]

    def check(self, file: Path, out: Path) -> Checked:
        reader = Reader(role="judge", model=self.model, retry=Retry(attempts=1))
        return asyncio.run(check_judge(file, reader, out))


# 20 rows: of 10 right ones the judge finds 8 right; of 10 wrong ones 7 wrong, 2 right, and one it calls unanswered.
SAID = {
    **{str(at): "Verdict: CORRECT" if at <= 8 else "Verdict: INCORRECT" for at in range(1, 11)},
    **{str(at): "Verdict: INCORRECT" if at <= 17 else "Verdict: CORRECT" for at in range(11, 20)},
    "20": "Verdict: NO ANSWER",
}
ROWS = [row("right" if at <= 10 else "wrong", answer=f"reply {at}") for at in range(1, 21)]


def test_accuracy_kappa_and_confusion_by_hand(tmp_path: Path) -> None:
    checked = Judge(dict(SAID)).check(write(tmp_path, ROWS), tmp_path / "out")
    # Alike: 8 + 7 + 1 (unanswered is not right) = 16 of 20.
    assert (checked.score.correct, checked.score.n, checked.score.accuracy) == (16, 20, 0.8)
    # The judge says right 10 times, the labels 10 times: p_e = (10 * 10 + 10 * 10) / 400 = 0.5; kappa = 0.3 / 0.5.
    assert checked.agreement.kappa == pytest.approx(0.6)
    assert checked.agreement.confusion == {"right": {"right": 8, "wrong": 2}, "wrong": {"right": 2, "wrong": 8}}
    assert checked.agreement.low is not None
    assert checked.agreement.high is not None
    assert checked.agreement.low < 0.6 < checked.agreement.high
    assert checked.unmarkable == {}


def test_what_the_judge_does_not_say_is_counted_apart(tmp_path: Path) -> None:
    said: dict[str, Answer] = {**SAID, "1": "", "2": "[ERROR] 429", "11": CallError("bad_request", "no")}
    checked = Judge(said).check(write(tmp_path, ROWS), tmp_path / "out")
    assert (checked.score.correct, checked.score.n) == (13, 17)
    assert (checked.agreement.n, checked.agreement.left_out) == (17, 3)
    assert checked.unmarkable == {
        "judge call failed: bad_request": 1,
        "the judge said nothing": 1,
        "the judge's reply does not end with a verdict": 1,
    }


def test_a_check_is_paid_once_and_goes_on(tmp_path: Path) -> None:
    file = write(tmp_path, ROWS)
    said: dict[str, Answer] = {**SAID, "3": CallError("server", "boom")}
    judge = Judge(said)
    judge.check(file, tmp_path / "out")
    assert judge.calls == 20
    said["3"] = SAID["3"]
    assert judge.check(file, tmp_path / "out").score.n == 20
    assert judge.calls == 21
    changed = write(tmp_path, ROWS[:-1])
    with pytest.raises(RunMismatch):
        judge.check(changed, tmp_path / "out")


def test_rows_of_one_group_are_drawn_together(tmp_path: Path) -> None:
    rows = [{**labelled, "group": f"g{at % 4}"} for at, labelled in enumerate(ROWS)]
    checked = Judge(dict(SAID)).check(write(tmp_path, rows), tmp_path / "out")
    assert checked.agreement.groups == 4
    assert checked.agreement.low is None  # too few groups to draw from
    assert checked.agreement.kappa == pytest.approx(0.6)


def test_cases_223_and_224_labels_that_are_all_alike_leave_kappa_undefined(tmp_path: Path) -> None:
    rows = [row(1, answer=f"reply {at}") for at in range(3)]
    checked = Judge({str(at): "Verdict: CORRECT" for at in (1, 2, 3)}).check(write(tmp_path, rows), tmp_path / "out")
    assert (checked.agreement.status, checked.agreement.kappa, checked.agreement.observed) == ("undefined", None, 1.0)
    assert checked.score.accuracy == 1.0


@pytest.mark.parametrize(
    ("label", "right"),
    [("right", True), ("Wrong", False), (True, True), (False, False), (1, True), (0, False), ("1", True), ("0", False)],
)
def test_labels(tmp_path: Path, label: object, right: bool) -> None:
    (found,) = read_labelled(write(tmp_path, [row(label, id=5, gold=42)]))
    assert (found.right, found.id, found.group) == (right, "5", "5")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there are no rows"),
        ([row("right"), row("maybe")], r"jsonl:2: the label 'maybe' is none"),
        ([row(None)], r"jsonl:1: the label None is none"),
        ([{"question": "Q", "gold": "1", "label": 1}], r"jsonl:1: the field 'answer' is no text"),
        ([row("right", question=" ")], r"jsonl:1: the question or the right answer is empty"),
        ([row("right", id="a"), row("right", id="a")], "the id a occurs twice"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_labelled(write(tmp_path, rows))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_labelled(tmp_path / "none.jsonl")
