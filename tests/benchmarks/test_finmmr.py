"""FinMMR: the repository's layout, several pictures, the script's comparison, both marks."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.benchmarks import finmmr_reference
from assay.benchmarks.base import Source, outcome_of
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.finmmr import BENCHMARK, NOT_RUN, mark, messages, open_finmmr, scores
from assay.errors import DataError, UsageError
from assay.types import ChoiceGold, Failure, ImagePart, NumberGold, Reply, Sample, TextPart

ROWS = Path(__file__).parent / "rows" / "finmmr"
SNAPSHOTS = Path(__file__).parent / "snapshots"


def samples(split: str = "validation") -> dict[str, Sample]:
    return {sample.id: sample for sample in open_finmmr(Source(data=ROWS, split=split))}


def opened(folder: Path, *rows: dict[str, Any]) -> RowsDataset:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return open_finmmr(Source(data=path, need_pictures=False))


def asked(folder: Path, gold: object, question: str = "How much?") -> Sample:
    (sample,) = opened(folder, {"question_id": "1", "question": question, "ground_truth": gold})
    return sample


def pictures(count: int) -> list[ImagePart]:
    return [ImagePart(key=str(n), media_type="image/png", width=1, height=1, data=b"") for n in range(count)]


# --------------------------------------------------------------------------------------------------------------------
# Rows


def test_the_repository_layout() -> None:
    held = samples()
    assert list(held) == ["easy-validation-0", "easy-validation-1", "hard-validation-0"]
    first, second, third = held.values()
    assert first.gold == NumberGold(value="-12.6", relative="0.002", unit="million")
    assert second.gold == ChoiceGold(labels=("True",))
    assert third.gold == NumberGold(value="8.4", relative="0.002")
    assert third.images == tuple(str((ROWS / "images" / name).absolute()) for name in ("1-1.png", "1-2.png"))
    assert [sample.group for sample in held.values()] == ["2", "2", "1"]
    assert third.facets == {
        "question_type": ("numeric",),
        "grade": ("Hard",),
        "language": ("Chinese",),
        "source": ("CRRQA",),
        "subfield": ("company",),
    }


def test_one_grade_alone() -> None:
    assert list(samples("hard_validation")) == ["hard-validation-0"]
    with pytest.raises(DataError, match="holds no medium_validation"):
        samples("medium_validation")


def test_the_program_is_nowhere_in_the_sample() -> None:
    assert all("solution" not in str(sample) for sample in samples().values())


def test_the_shared_rows(shared_data: Path) -> None:
    dataset = open_finmmr(Source(data=shared_data / "finmmr"))
    assert (len(dataset), dataset.facts) == (96, ())  # so the grader accepts the gold of every row
    assert sum(len(sample.images) for sample in dataset) == 118
    assert sum(sample.facets["language"] == ("Chinese",) for sample in dataset) == 6
    for sample in dataset:
        assert mark(sample, Reply(text=BENCHMARK.gold_reply(sample))).reference.verdict == "right"


def test_rows_that_lack_something(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no question_id"):
        opened(tmp_path, {"question": "?"})
    dataset = opened(tmp_path, {"question_id": "1", "question": "?", "ground_truth": "a lot"})
    assert dataset.facts == ("1 of 1 rows have no number for an answer: robust leaves them out.",)
    (sample,) = dataset
    marked = mark(sample, Reply(text="The answer is 5."))
    assert (marked.reference.verdict, marked.robust.verdict) == ("wrong", "unmarkable")
    with pytest.raises(UsageError, match="--data"):
        open_finmmr(Source())


# --------------------------------------------------------------------------------------------------------------------
# The prompt


@pytest.mark.parametrize(("sample_id", "form"), [("hard-validation-0", "pictures"), ("easy-validation-1", "bare")])
def test_prompt_snapshot(sample_id: str, form: str) -> None:
    """The exact text. A change here changes scores: it belongs in the changelog's Scores section."""
    sample = samples()[sample_id]
    shown = pictures(len(sample.images))
    (message,) = messages(sample, shown)
    *parts, text = message.parts
    assert parts == shown
    assert isinstance(text, TextPart)
    assert text.text + "\n" == (SNAPSHOTS / f"finmmr_{form}.txt").read_text(encoding="utf-8")


# --------------------------------------------------------------------------------------------------------------------
# The script's comparison of an extracted answer


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("-10", -10),
        ("1.888", 1.888),
        (" 5. ", 5),
        ("1e3", 1000),
        ("True", True),
        ("yes", True),
        ("No", False),
        ("It is false", False),
        ("(5)", 5),  # Python brackets, no accounting
        ("1,888", 1),  # a pair to Python, whose first element counts
        ("1,888.5", 1),
        ("(3, 4)", 3),
        ("2,849,050", 2849050),  # 050 is no Python: cleaned, and without separators
        ("$78,326", 78326),  # no Python because of the sign, so cleaned
        ("1/2", 0.5),
        ("(110-99)/110*100", 10),
        ("7.04%", 7.04),
        ("$5", 5),
        ("x = 5", 5),
        ("≈ 3.2", 3.2),
        ("approximately 7", 7),
        ("5 or 6", 5),
        ("12.5 million", 12.5),
        ("RMB 12.5", 12.5),
        ("12.5 kg", 12.5),
        ("12元", 12),
        ("3 x 10^2", 300),
        ("050", None),
        ("None", None),
        ("", None),
        ("about ten", None),
        ("2^3", None),  # exclusive or in Python: 1; the script does not rewrite it
        ("__import__('os').getcwd()", None),
        ("9**9**9**9", None),
        ("9" * 401, None),
    ],
)
def test_value_of(answer: str, value: float | bool | None) -> None:
    read = finmmr_reference.value_of(answer)
    assert read == value
    assert type(read) is bool or type(value) is not bool


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        # 0.2 % of 1000 is 2
        ("1002", 1000, True),
        ("998", 1000, True),
        ("1002.01", 1000, False),
        ("997.99", 1000, False),
        ("-1002", -1000, True),
        ("1000", -1000, False),
        ("0", 0, True),
        ("0.00", 0.0, True),
        ("0.0000001", 0, False),
        ("0.7014", 0.7, False),  # the upper limit, 0.7 + 0.7 * 0.002, is 0.7013999999999999 in binary floats
        ("True", True, True),
        ("yes", False, False),
        ("1", True, True),  # True is 1 in Python
        ("True", 1, True),
        ("5", True, False),
        ("", 0, False),
    ],
)
def test_is_right(answer: str, gold: float | bool, right: bool) -> None:
    assert finmmr_reference.is_right(answer, gold) is right


@given(st.text(alphabet="0123456789.,+-*/^() e=%$ xyz×truefalsno", max_size=60))
def test_any_extraction(answer: str) -> None:
    value = finmmr_reference.value_of(answer)
    assert value is None or isinstance(value, int | float)


# --------------------------------------------------------------------------------------------------------------------
# Both marks


@pytest.mark.parametrize(
    ("question", "gold", "reply", "reference", "robust"),
    [
        ("How much?", 100, "Therefore, the answer is 100.2.", "right", "right"),
        ("How much?", 100, "Therefore, the answer is 100.21.", "wrong", "wrong"),
        ("How much, in percent?", -10, "It fell. Therefore, the answer is **-10%**.", "right", "right"),
        ("How much?", -10, "Therefore, the answer is -10%.", "right", "right"),
        ("How much?", 0.1, "Therefore, the answer is 10%.", "wrong", "right"),
        ("How much? (in thousand)", -2849050, "the answer is **(2,849,050) thousand NT dollars**.", "right", "right"),
        ("How much? (in million)", 5, "Therefore, the answer is 5,000,000.", "wrong", "wrong"),
        ("多少？", 39.2, "因此，答案是39.20。", "right", "right"),
        ("How much?", 5, "Therefore, the answer is 3 to 7.", "wrong", "wrong"),
        ("How much?", 5, "I can't tell.", "wrong", "unanswered"),
        ("How much?", 5, "", "wrong", "unanswered"),
        ("Is it?", True, "Therefore, the answer is True.", "right", "right"),
        ("Is it?", False, "Therefore, the answer is True.", "wrong", "wrong"),
    ],
)
def test_both_marks(tmp_path: Path, question: str, gold: object, reply: str, reference: str, robust: str) -> None:
    marked = mark(asked(tmp_path, gold, question), Reply(text=reply))
    assert (marked.reference.verdict, marked.robust.verdict) == (reference, robust)
    assert (marked.difference is None) == (reference == robust or "right" not in (reference, robust))


def test_a_recorded_extraction_decides_the_reference(tmp_path: Path) -> None:
    sample = asked(tmp_path, 5)
    marked = mark(sample, Reply(text="Therefore, the answer is 5.", extraction="6"))
    assert (marked.reference.verdict, marked.reference.extraction, marked.robust.verdict) == ("wrong", "6", "right")
    nothing = mark(sample, Reply(text="Therefore, the answer is 5.", extraction="")).reference
    assert (nothing.verdict, nothing.extraction) == ("wrong", None)
    # robust reads the text, and takes the extraction where the text gives nothing
    assert mark(sample, Reply(text="As computed above.", extraction="5")).robust.verdict == "right"


PROGRAM = "```python\ndef solution():\n    return 110 - 99\n```"


def test_a_program_is_never_run(tmp_path: Path) -> None:
    sample = asked(tmp_path, 11)
    marked = mark(sample, Reply(text=PROGRAM))
    assert marked.reference == marked.robust == NOT_RUN
    assert marked.difference == NOT_RUN.reason
    assert mark(sample, Reply(text="def solution():\n    return 11")).robust == NOT_RUN
    # What somebody else's run of it returned, or an answer behind it, is an answer.
    assert mark(sample, Reply(text=PROGRAM, extraction="11")).reference.verdict == "right"
    assert mark(sample, Reply(text=PROGRAM + "\nTherefore, the answer is 11.")).robust.verdict == "right"


def test_a_cut_reply_counts_only_with_an_explicit_answer(tmp_path: Path) -> None:
    sample = asked(tmp_path, 5)
    cut = mark(sample, Reply(text="The first value is 5", finish="length")).robust
    assert (cut.verdict, cut.reason) == ("unanswered", "truncated")
    assert mark(sample, Reply(text="The answer is 5.\nTo check", finish="length")).robust.verdict == "right"


HELD = list(samples().values())


@given(st.text(), st.sampled_from(["", "```python\n", "the answer is "]), st.booleans(), st.sampled_from(HELD))
def test_any_reply_gets_both_verdicts(text: str, before: str, extracted: bool, sample: Sample) -> None:
    reply = Reply(text=before + text, extracted=extracted)
    marked = mark(sample, reply)
    assert marked.reference.verdict in ("right", "wrong", "unmarkable")
    assert marked == mark(sample, reply)


@pytest.mark.parametrize("part", ["```python", "```", "the answer is 5 ", "def solution", "9", "1,"])
def test_long_replies(part: str) -> None:
    for sample in HELD:
        assert mark(sample, Reply(text=part * 20_000)).reference.verdict != "right"


# --------------------------------------------------------------------------------------------------------------------
# Scores


def test_the_official_numbers(tmp_path: Path) -> None:
    sample = asked(tmp_path, 5)
    replies = ["The answer is 5.", "The answer is 6.", "No idea.", PROGRAM]
    outcomes = [outcome_of(BENCHMARK, sample, mark(sample, Reply(text=text))) for text in replies]
    outcomes.append(outcome_of(BENCHMARK, sample, Failure(stage="call", kind="timeout", message="?")))
    # Right 1 of 3, a number in 2 of 3; the program and the failed call are missing.
    assert scores(outcomes, "exclude") == {"official": {"acc": 33.33, "execution_rate": 66.67, "n": 3}}
    assert scores(outcomes, "wrong") == {"official": {"acc": 20.0, "execution_rate": 40.0, "n": 5}}
    assert scores([], "exclude") == {"official": None}
