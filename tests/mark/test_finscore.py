"""FinScore by both definitions: hand-worked examples, and what the published table says about them."""

from collections.abc import Iterable

import msgspec
import pytest

from assay.mark.finscore import PaperRow, Total, finscore, finscore_paper, finscore_reference, paper_rows
from assay.mark.summary import OnMissing
from assay.report.published import PublishedRow, published
from assay.types import Outcome, Verdict
from support.outcomes import FAILED, outcome


def row(
    sample_id: str,
    verdict: Verdict | str,
    question_type: str = "single_choice",
    domain: str | None = None,
    *,
    multi_answer: bool = False,
    reference: Verdict | None = None,
    group: str | None = None,
) -> Outcome:
    facets = {"question_type": question_type}
    if domain:
        facets["knowledge_domain"] = domain
    if multi_answer:
        facets["multi_answer"] = "yes"
    return outcome(sample_id, verdict, reference, group=group, facets=facets)


# Domain accuracies: TMT 2 of 3, Energy 1 of 2. Multi-answer rows 2, 3 and 6: two of three wrong. Row 5 is multiple
# choice with one right letter: not in the penalty. Row 6 has no domain: in the penalty alone.
EXAMPLE = [
    row("1", "right", "single_choice", "TMT"),
    row("2", "wrong", "multiple_choice", "TMT", multi_answer=True),
    row("3", "right", "multiple_choice", "TMT", multi_answer=True),
    row("4", "right", "numerical", "Energy"),
    row("5", "wrong", "multiple_choice", "Energy"),
    row("6", "wrong", "multiple_choice", multi_answer=True),
]


# 118: mean over domains of accuracy, times one minus the error rate on multi-answer rows; rows without domain dropped.
def test_118_finscore_by_hand() -> None:
    score = finscore_reference(EXAMPLE, on_missing="exclude")
    assert score.domain_mean == pytest.approx((2 / 3 + 1 / 2) / 2)  # 7/12
    assert (score.penalty, score.penalty_errors, score.penalty_n) == (pytest.approx(2 / 3), 2, 3)
    assert score.finscore == pytest.approx(7 / 12 * 1 / 3)  # 7/36
    assert {name: (d.correct, d.n) for name, d in score.domains.items()} == {"Energy": (1, 2), "TMT": (2, 3)}
    assert score.without_domain == 1
    # Row by row instead of domain by domain: 3 of 6, another number under another name.
    assert (score.correct, score.n, score.accuracy) == (3, 6, 0.5)
    assert score.undomained == pytest.approx(1 / 2 * 1 / 3)
    assert score.why_none is None


def test_118_without_multi_answer_rows_the_penalty_is_zero() -> None:
    score = finscore_reference(
        [row("1", "right", "multiple_choice", "TMT"), row("2", "wrong", domain="TMT")], on_missing="wrong"
    )
    assert (score.penalty, score.penalty_n, score.finscore) == (0.0, 0, 0.5)


def test_only_multiple_choice_rows_are_in_the_penalty() -> None:
    """A numerical answer such as 12.5 is longer than one character as well."""
    score = finscore_reference([row("1", "wrong", "numerical", "TMT", multi_answer=True)], on_missing="wrong")
    assert score.penalty_n == 0


@pytest.mark.parametrize(
    ("on_missing", "domain_mean", "penalty"),
    [
        ("exclude", 1.0, 0.0),  # the failed row is in neither part
        ("wrong", 0.5, 1 / 2),  # as the script does: a wrong answer, and a hallucination
    ],
)
def test_a_failed_call(on_missing: OnMissing, domain_mean: float, penalty: float) -> None:
    rows = [
        row("1", "right", "multiple_choice", "TMT", multi_answer=True),
        row("2", FAILED, "multiple_choice", "TMT", multi_answer=True),
    ]
    score = finscore_reference(rows, on_missing=on_missing)
    assert (score.domain_mean, score.penalty) == (domain_mean, penalty)
    assert score.finscore == domain_mean * (1 - penalty)
    assert score.counts.failed == 1


def test_without_any_domain_there_is_a_sentence_and_no_number() -> None:
    score = finscore_reference([row("1", "right"), row("2", "wrong")], on_missing="exclude")
    assert score.finscore is score.domain_mean is score.low is None
    assert score.why_none is not None
    assert "no row here names one" in score.why_none
    assert score.undomained == 0.5
    assert finscore_reference([], on_missing="wrong").why_none == "There is no row to score."


def test_verdicts_of_either_mode_can_go_in() -> None:
    rows = [row("1", "right", domain="TMT", reference="wrong"), row("2", "right", domain="TMT")]
    assert finscore_reference(rows, on_missing="wrong").finscore == 0.5
    assert finscore_reference(rows, on_missing="wrong", verdicts="robust").finscore == 1.0


def test_counts_tell_apart_what_the_script_calls_wrong() -> None:
    rows = [row("1", "unanswered", domain="TMT"), row("2", "unmarkable", domain="TMT"), row("3", FAILED, domain="TMT")]
    counts = finscore_reference(rows, on_missing="wrong").counts
    assert (counts.unanswered, counts.unmarkable, counts.failed, counts.wrong) == (1, 1, 1, 0)


def test_interval_is_drawn_over_groups_and_does_not_depend_on_order() -> None:
    rows = [
        row(
            f"{g}-{q}",
            "right" if (g + q) % 3 else "wrong",
            "multiple_choice",
            f"D{g % 4}",
            multi_answer=q == 0,
            group=str(g),
        )
        for g in range(40)
        for q in range(3)
    ]
    score = finscore_reference(rows, on_missing="wrong", resamples=500)
    assert score == finscore_reference(reversed(rows), on_missing="wrong", resamples=500)
    assert score.low is not None
    assert score.finscore is not None
    assert score.high is not None
    assert 0 < score.low < score.finscore < score.high < 1
    assert finscore_reference(rows[:27], on_missing="wrong").low is None  # nine groups


# --------------------------------------------------------------------------------------------------------------------
# The paper's formula


def multiple(c: int, i: int, *, options: int | None = 5, correct: int = 3, domain: str | None = "TMT") -> PaperRow:
    return PaperRow(
        domain=domain,
        question_type="multiple_choice",
        correct_selections=c,
        incorrect_selections=i,
        selections=c + i,
        options=options,
        correct_options=correct,
        right=c == correct and i == 0,
    )


def simple(question_type: str, *, right: bool, domain: str | None = "TMT") -> PaperRow:
    chosen = question_type == "single_choice"
    return PaperRow(
        domain=domain,
        question_type=question_type,
        correct_selections=int(chosen and right),
        incorrect_selections=int(chosen and not right),
        selections=int(chosen),
        options=4 if chosen else None,
        correct_options=int(chosen),
        right=right,
    )


@pytest.mark.parametrize(
    ("c", "i", "all_options", "correct_options"),
    [
        (3, 0, 3 / 5, 1.0),  # a perfect answer scores below 1 when n counts all options
        (2, 0, 2 / 5, 2 / 3),
        (2, 1, 2 / 5 - 1 / 3, 2 / 3 - 1 / 3),
        (3, 2, 3 / 5 - 2 / 5, 1 - 2 / 5),  # every option chosen
        (1, 2, 0.0, 0.0),  # 1/5 - 2/3 < 0 and 1/3 - 2/3 < 0
        (0, 0, 0.0, 0.0),  # nothing selected: no score, and nothing hallucinated
    ],
)
def test_score_of_a_multiple_choice_row(c: int, i: int, all_options: float, correct_options: float) -> None:
    penalty = i / (c + i) if c + i else 0.0
    readings: dict[Total, float] = {"all_options": all_options, "correct_options": correct_options}
    for total, expected in readings.items():
        score = finscore_paper([multiple(c, i)], total=total, penalty_over="all")
        assert score.domain_mean == pytest.approx(expected)
        assert score.penalty == pytest.approx(penalty)
        assert score.finscore == pytest.approx(expected * (1 - penalty))


def test_paper_finscore_by_hand() -> None:
    """TMT: S = 2/3 - 1/3 = 1/3 (n: correct options), and 1 for a right single choice: mean 2/3. Energy: a wrong single
    choice and a wrong number: 0. F = 1/3. i/s = 1/3, 0, 1 and none for the number: mean over all four rows 1/3, over
    the three with a choice 4/9.
    """
    rows = [
        multiple(2, 1),
        simple("single_choice", right=True),
        simple("single_choice", right=False, domain="Energy"),
        simple("numerical", right=False, domain="Energy"),
    ]
    over_all = finscore_paper(rows, total="correct_options", penalty_over="all")
    assert over_all.domain_mean == pytest.approx(1 / 3)
    assert (over_all.penalty, over_all.penalty_n) == (pytest.approx(1 / 3), 4)
    assert over_all.finscore == pytest.approx(1 / 3 * 2 / 3)
    over_choice = finscore_paper(rows, total="correct_options", penalty_over="choice")
    assert (over_choice.penalty, over_choice.penalty_n) == (pytest.approx(4 / 9), 3)
    assert over_choice.finscore == pytest.approx(1 / 3 * 5 / 9)
    # n: all options. S = 2/5 - 1/3 = 1/15, TMT (1/15 + 1) / 2 = 8/15, F = 4/15.
    assert finscore_paper(rows, total="all_options", penalty_over="all").finscore == pytest.approx(4 / 15 * 2 / 3)


def test_unknown_options_leave_one_reading_without_a_number() -> None:
    rows = [multiple(2, 1, options=None), simple("single_choice", right=True)]
    score = finscore_paper(rows, total="all_options", penalty_over="all")
    assert score.finscore is score.undomained is None
    assert score.why_none == "Multiple-choice rows that don't list their options: 1, so n is unknown."
    assert finscore_paper(rows, total="correct_options", penalty_over="all").finscore is not None


def test_paper_without_domains_has_no_number_either() -> None:
    score = finscore_paper([multiple(3, 0, domain=None)], total="correct_options", penalty_over="all")
    assert score.finscore is None
    assert score.why_none is not None
    assert (score.undomained, score.without_domain) == (1.0, 1)
    assert finscore_paper([], total="all_options", penalty_over="all").why_none == "There is no row to score."


@pytest.mark.parametrize(
    "change",
    [
        {"selections": 7},
        {"correct_selections": 4, "selections": 5},
        {"incorrect_selections": -1, "selections": 1},
        {"options": 2},
        {"correct_options": 0, "correct_selections": 0, "selections": 1},
    ],
)
def test_contradicting_counts_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="PaperRow"):
        finscore_paper([msgspec.structs.replace(multiple(2, 1), **change)], total="all_options", penalty_over="all")


def choice(verdict: Verdict | str, selected: str | None, *, gold: str = "A,C", options: str | None = "4") -> Outcome:
    detail = {"gold": gold} if options is None else {"gold": gold, "options": options}
    return outcome(
        "1", verdict, extraction=selected, detail=detail, question_type="multiple_choice", knowledge_domain="TMT"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (choice("right", "A,C"), (2, 0, 4)),
        (choice("wrong", "A,B,D"), (1, 2, 4)),
        (choice("wrong", "B", options=None), (0, 1, None)),
        (choice("unanswered", "maybe A"), (0, 0, 4)),  # what was read there is no selection
    ],
)
def test_paper_rows_come_from_outcomes(given: Outcome, expected: tuple[int, int, int | None]) -> None:
    (made,) = paper_rows([given], on_missing="exclude")
    assert (made.correct_selections, made.incorrect_selections, made.options) == expected
    assert (made.selections, made.correct_options, made.domain) == (sum(expected[:2]), 2, "TMT")


def test_paper_rows_of_missing_samples() -> None:
    assert paper_rows([choice(FAILED, None)], on_missing="exclude") == []
    (made,) = paper_rows([choice(FAILED, None)], on_missing="wrong")
    assert (made.selections, made.right) == (0, False)


def test_numbers_are_no_selections() -> None:
    (made,) = paper_rows([outcome("1", "wrong", extraction="1,234", question_type="numerical")], on_missing="wrong")
    assert (made.selections, made.correct_options, made.right) == (0, 0, False)


def test_all_definitions_come_together() -> None:
    score = finscore(iter([choice("right", "A,C"), choice("wrong", "A,B")]), on_missing="wrong", resamples=20)
    assert (score.reference.verdicts, score.robust.verdicts) == ("reference", "robust")
    assert [(reading.total, reading.penalty_over) for reading in score.paper] == [
        ("all_options", "all"),
        ("all_options", "choice"),
        ("correct_options", "all"),
        ("correct_options", "choice"),
    ]
    # n = 4: (2/4 + max(0, 1/4 - 1/2)) / 2 = 1/4, P_H = 1/4. n = 2: (1 + 1/2 - 1/2) / 2 = 1/2.
    assert score.paper[0].finscore == pytest.approx(1 / 4 * 3 / 4)
    assert score.paper[2].finscore == pytest.approx(1 / 2 * 3 / 4)


# --------------------------------------------------------------------------------------------------------------------
# The published table. Percent; printed numbers are right to 0.005.

ROWS = [row for row in published("finmme") if "finscore" in row.metrics]
SINGLE, MULTI, NUMERICAL = 6567, 2680, 1852  # rows by question type, 11,099 in all
LEVELS = {"comprehensive": 2333, "fine_grained": 6466, "reasoning": 2300}
HALF = 0.005


def by_model() -> Iterable[object]:
    return [pytest.param(row, id=row.model) for row in ROWS]


def test_the_average_is_the_mean_of_the_six_columns_for_15_of_17() -> None:
    six = ("comprehensive", "fine_grained", "reasoning", "single", "multiple", "numerical")
    others: list[str] = []
    for row in ROWS:
        # In hundredths of a percent, so that nothing is rounded: the printed average times six against the sum.
        total = sum(round(100 * row.metrics[name]) for name in six)
        if abs(6 * round(100 * row.metrics["average"]) - total) > 3:  # half a hundredth, times six
            others.append(row.model)
    assert len(ROWS) == 17
    assert sorted(others) == ["DeepSeekVL-2 Small", "Qwen2-VL 7B"]


def accuracy(row: PublishedRow, change: float = 0.0) -> float:
    """Share of all rows right, from the accuracies by question type, each moved by `change`."""
    metrics = row.metrics
    right = (
        (metrics["single"] + change) * SINGLE
        + (metrics["multiple"] + change) * MULTI
        + (metrics["numerical"] + change) * NUMERICAL
    )
    return right / (SINGLE + MULTI + NUMERICAL)


@pytest.mark.parametrize("row", by_model())
def test_no_reading_of_the_papers_penalty_gives_the_printed_finscore(row: PublishedRow) -> None:
    """A lower bound of F (1 - P_H) lies above the printed FinScore, whatever n means, whatever partly right answers
    score and whatever wrong ones look like (F taken over rows):

    - P_H averages i/s over all rows. i/s <= 1, and 0 for right rows, so P_H <= 1 - A with A the share of right rows;
      1 - P_H >= A. A is taken from the types and from the levels, the smaller one. Over the rows with a choice alone,
      1 - P_H >= the share of right rows among those.
    - F >= right single and numerical rows over all rows: multiple-choice rows may score 0 (n = all options makes them
      score less than 1 even when right).
    """
    metrics = row.metrics
    by_level = sum((metrics[name] - HALF) * count for name, count in LEVELS.items()) / sum(LEVELS.values())
    kept = min(accuracy(row, -HALF), by_level)
    least = ((metrics["single"] - HALF) * SINGLE + (metrics["numerical"] - HALF) * NUMERICAL) / 11_099
    assert least * kept / 100 > metrics["finscore"] + HALF
    kept_choice = ((metrics["single"] - HALF) * SINGLE + (metrics["multiple"] - HALF) * MULTI) / (SINGLE + MULTI)
    assert least * kept_choice / 100 > metrics["finscore"] + HALF


@pytest.mark.parametrize("row", by_model())
def test_weighing_domains_equally_does_not_save_the_papers_penalty(row: PublishedRow) -> None:
    """F is a mean over domains, whose accuracies are not in this table. Since 1 - P_H >= A, F <= FinScore / A. For
    every model that is below its accuracy on the worst of the three cognitive levels, and below 64 % of its accuracy
    over rows, while F is at least the domains' mean accuracy (n = correct options).
    """
    most = 100 * (row.metrics["finscore"] + HALF) / accuracy(row, -HALF)
    assert most < min(row.metrics[level] for level in LEVELS)
    assert most / accuracy(row) < 0.64


@pytest.mark.parametrize("row", by_model())
def test_the_scripts_definition_can_give_the_printed_finscore(row: PublishedRow) -> None:
    """One assumption for all 17 models: 70 % of the multiple-choice rows have several right letters, and the domains'
    mean is the accuracy over rows. FinScore = A m, m the accuracy on the multi-letter rows: m = FinScore / A. Then the
    multiple-choice rows with one letter must have between none and all right: 0 <= multi - 0.7 m <= 0.3.
    """
    low = 100 * (row.metrics["finscore"] - HALF) / accuracy(row, HALF)
    high = 100 * (row.metrics["finscore"] + HALF) / accuracy(row, -HALF)
    assert 0 <= low <= high <= 100
    assert row.metrics["multiple"] + HALF - 0.7 * low >= 0
    assert row.metrics["multiple"] - HALF - 0.7 * high <= 30


def test_rows_built_that_way_score_as_printed() -> None:
    """Gemini Flash 2.0, built row by row: A = 56.71 %, m = 20.10 / 56.71 = 35.44 %. Of 1,876 multi-letter rows 665 are
    right, of the other 804 multiple-choice rows 785 (together 1,450 = 54.10 %).
    """

    def rows() -> Iterable[Outcome]:
        parts = [
            ("single_choice", False, SINGLE, 4185),
            ("multiple_choice", True, 1876, 665),
            ("multiple_choice", False, 804, 785),
            ("numerical", False, NUMERICAL, 659),
        ]
        for part, (question_type, multi_answer, count, right) in enumerate(parts):
            for index in range(count):
                verdict = "right" if index < right else "wrong"
                yield row(f"{part}-{index}", verdict, question_type, "all", multi_answer=multi_answer)

    score = finscore_reference(rows(), on_missing="wrong", resamples=100)
    assert score.n == 11_099
    assert 100 * (score.finscore or 0) == pytest.approx(20.10, abs=0.02)


def test_an_independent_run_without_domains() -> None:
    """6,170 of 11,099 right, 1,065 of 2,680 multiple-choice ones: 0.5559 * 0.3974 = 0.2209, if all of those count as
    multi-answer. Such a run has no FinScore.
    """

    def rows() -> Iterable[Outcome]:
        for index in range(2680):
            yield row(f"m{index}", "right" if index < 1065 else "wrong", "multiple_choice", multi_answer=True)
        for index in range(11_099 - 2680):
            yield row(f"o{index}", "right" if index < 6170 - 1065 else "wrong")

    score = finscore_reference(rows(), on_missing="wrong")
    assert score.finscore is None
    assert score.undomained == pytest.approx(0.2209, abs=0.00005)


def test_a_domain_whose_rows_all_failed_is_named() -> None:
    """X 1 of 2, Y failed as a whole: D is 1/2 over one domain if failures are left out, (1/2 + 0) / 2 if they count."""
    rows = [
        outcome("1", "right", knowledge_domain="X", question_type="single_choice"),
        outcome("2", "wrong", knowledge_domain="X", question_type="single_choice"),
        outcome("3", FAILED, knowledge_domain="Y", question_type="single_choice"),
    ]
    left_out = finscore_reference(rows, on_missing="exclude")
    assert (left_out.domain_mean, left_out.lost_domains) == (0.5, ("Y",))
    counted = finscore_reference(rows, on_missing="wrong")
    assert (counted.domain_mean, counted.lost_domains) == (0.25, ())
