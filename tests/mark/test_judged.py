"""A judge's accuracy beside the others, and what becomes of missing verdicts."""

from assay.mark.summary import summarise
from assay.types import Failure, JudgeMark, Mark, Marked, Outcome, Verdict


def line(name: str, robust: Verdict, judged: Verdict | None, judge: str = "j", reason: str = "") -> Outcome:
    mark = Mark(verdict=robust)
    verdict = judged and JudgeMark(verdict=judged, judge=judge, prompt_hash="p", reason=reason)
    return Outcome(sample_id=name, group=name, result=Marked(reference=mark, robust=mark, judged=verdict or None))


def failed(name: str) -> Outcome:
    return Outcome(sample_id=name, group=name, result=Failure(stage="call", kind="server", message="boom"))


LINES = [
    line("1", "right", "right"),
    line("2", "right", "wrong"),
    line("3", "wrong", "right"),
    line("4", "unanswered", "unanswered"),
    line("5", "right", "unmarkable", reason="the judge said nothing"),
    line("6", "unmarkable", "right"),
    failed("7"),
    line("8", "right", None),
]


def test_by_hand() -> None:
    judged = summarise(LINES, on_missing="exclude", resamples=20).judged
    assert judged is not None
    # Verdicts on 1, 2, 3, 4 and 6; right: 1, 3, 6.
    assert (judged.correct, judged.n, judged.accuracy) == (3, 5, 0.6)
    assert judged.counts == {"right": 3, "wrong": 1, "unanswered": 1, "unmarkable": 1, "not_judged": 2}
    assert judged.reasons == {"the judge said nothing": 1}
    # Both have a verdict on 1, 2, 3, 4; alike on 1 and 4.
    assert (judged.agreement.n, judged.agreement.observed) == (4, 0.5)
    wrong = summarise(LINES, on_missing="wrong", resamples=20).judged
    assert wrong is not None
    assert (wrong.correct, wrong.n) == (3, 8)


def test_the_order_of_lines_says_nothing() -> None:
    assert summarise(LINES[::-1], on_missing="exclude", resamples=20).judged == (
        summarise(LINES, on_missing="exclude", resamples=20).judged
    )


def test_without_a_judge_there_is_no_judged_score() -> None:
    assert summarise([LINES[7]], on_missing="exclude", resamples=20).judged is None


def test_verdicts_of_two_judges_are_never_mixed() -> None:
    lines = [*LINES, line("9", "right", "right", judge="another")]
    judged = summarise(lines, on_missing="exclude", resamples=20).judged
    assert judged is not None
    assert (judged.judge, judged.correct, judged.n) == ("j", 3, 5)
    assert judged.counts["not_judged"] == 3
