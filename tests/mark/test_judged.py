"""A judge's accuracy beside the others, and what becomes of missing verdicts."""

from assay.mark.compare import compare
from assay.mark.judged import Judge, by_judge, judge_of
from assay.mark.ranking import rank
from assay.mark.status import credit, status
from assay.mark.summary import summarise
from assay.types import Failure, JudgeMark, Mark, Marked, Outcome, Verdict
from support.outcomes import judged, outcome


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


# ---- the mode `judged` of metrics


def test_without_a_judges_verdict_a_sample_is_missing_and_never_wrong() -> None:
    credits_by_hand = [True, False, True, False, None, True, None, None]
    assert [credit(row, "judged") for row in LINES] == credits_by_hand
    # Unmarkable for the judge, a failed call, and one that no judge was asked about.
    assert [status(LINES[place], "judged") for place in (4, 6, 7)] == ["unmarkable", "failed", "unmarkable"]


def test_a_cut_or_withheld_reply_is_so_for_a_judge_too() -> None:
    cut, withheld = (judged(outcome("1", "wrong", finish=finish), "unanswered") for finish in ("length", "filter"))
    assert (status(cut, "judged"), status(withheld, "judged")) == ("truncated", "refused")
    assert credit(cut, "judged") is False


def test_two_runs_by_judged_verdicts_by_hand() -> None:
    others: list[Verdict] = ["right", "right", "wrong", "right", "right", "right", "right", "right"]
    other = [line(str(number), "wrong", verdict) for number, verdict in enumerate(others, start=1)]
    found = compare(LINES, other, mode="judged", on_missing="exclude", resamples=20)
    # Pairs: 1, 2, 3, 4 and 6. Both right on 1 and 6, gained 2 and 4, lost 3; 5, 7 and 8 have no verdict in the first.
    assert (found.pairs, found.both_right, found.gained.ids, found.lost.ids) == (5, 2, ("2", "4"), ("3",))
    assert (found.missing.only_a, found.missing.only_b, found.missing.both) == (3, 0, 0)
    counted = compare(LINES, other, mode="judged", on_missing="wrong", resamples=20)
    assert (counted.pairs, counted.gained.ids) == (8, ("2", "4", "5", "7", "8"))


def test_a_ranking_by_judged_verdicts_has_their_accuracy() -> None:
    (row,) = rank({"run": LINES}, mode="judged", on_missing="exclude", resamples=20).rows
    assert (row.score.correct, row.score.n) == (3, 5)
    assert row.score.accuracy == 0.6


def test_the_judge_of_a_run_is_the_one_with_most_verdicts() -> None:
    lines = [*LINES, line("9", "right", "right", judge="another")]
    assert judge_of(lines) == Judge("j", "p")
    assert judge_of(lines[7:]) == Judge("another", "p")
    assert judge_of([failed("1"), line("2", "right", None)]) is None


def test_marks_of_other_judges_are_taken_away() -> None:
    another = line("9", "right", "right", judge="another")
    kept = list(by_judge(Judge("j", "p"), [*LINES, another]))
    assert kept == [*LINES, line("9", "right", None)]
    assert list(by_judge(Judge("j", "another prompt"), [LINES[0], LINES[6]])) == [line("1", "right", None), LINES[6]]
