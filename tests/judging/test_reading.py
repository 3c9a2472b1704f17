"""Extractors and judges over whole runs: what is asked, what is paid, what becomes of the marks."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import BENCHMARKS, load_benchmark
from assay.benchmarks.base import Benchmark, Dataset, Source
from assay.engine.local import Retry
from assay.engine.store import RunStore
from assay.errors import CallError, DataError, RunStopped, UsageError
from assay.evaluate import Plan, evaluate
from assay.judging.reading import Read, Reader, folder_of, read_run, run_notes
from assay.mark.summary import summarise
from assay.models.replay import read_replies
from assay.models.scripted import Answer, ScriptedModel
from assay.score import keep_replies, mark_again
from assay.types import PLAIN, Condition, JudgeMark, Marked, Outcome, Reply, Request, Sample, TextPart
from support.command import PACKAGED, make_questions
from support.rows import opened, rows_of

ROWS = Path(__file__).resolve().parents[1] / "benchmarks" / "rows" / "mathvista"
ONCE = Retry(attempts=1)

# The made-up MathVista rows: gold of 1 is B, of 2 it is 14, of 3 1.45 and of 5 18; by hand, the rules find an answer
# in 1 (announced: right), none in 2, one in 3 (announced: right), and in 5 a 9 (wrong) that nothing announces.
REPLIES: list[dict[str, Any]] = [
    {"id": "1", "response": "Answer: B"},
    {"id": "2", "response": "There seem to be a dozen and two of them."},
    {"id": "3", "response": "Answer: 1.45"},
    {"id": "5", "response": "I count 9 of them, twice."},
]


class Scripted:
    """A model that counts what it is asked, by sample."""

    def __init__(self, answer: Callable[[str, str], Answer], name: str) -> None:
        self.asked: Counter[str] = Counter()
        self.prompts: list[str] = []
        self._answer = answer
        self.model = ScriptedModel(self._reply, identity=f"scripted:{name}")

    def _reply(self, request: Request, _draw: int) -> Answer:
        self.asked[request.sample_id] += 1
        (part,) = request.messages[-1].parts
        assert isinstance(part, TextPart)
        self.prompts.append(part.text)
        return self._answer(request.sample_id, part.text)


class Bench:
    """A benchmark, its data, and a run of recorded replies."""

    def __init__(
        self,
        folder: Path,
        rows: list[dict[str, Any]],
        name: str = "mathvista",
        data: Path | None = ROWS,
        split: str | None = None,
    ) -> None:
        self.benchmark: Benchmark = load_benchmark(name)
        self.dataset: Dataset = self.benchmark.open(Source(data=data, split=split, need_pictures=False))
        self.run = folder / "run"
        folder.mkdir(exist_ok=True)
        file = folder / "replies.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        recorded = read_replies(file)
        keep_replies(self.run, self.benchmark, self.dataset, recorded)
        recorded.close()

    def read(self, scripted: Scripted, role: Any = "judge", **options: Any) -> Read:
        reader = Reader(role=role, model=scripted.model, retry=ONCE, **options)
        return asyncio.run(read_run(self.run, reader, self.benchmark, self.dataset))

    def outcomes(self) -> dict[str, Outcome]:
        with RunStore.open(self.run) as store:
            return {outcome.id: outcome for outcome in store.outcomes()}

    def again(self) -> dict[str, Outcome]:
        """The run marked again, without any model."""
        with RunStore.open(self.run) as store:
            return {outcome.id: outcome for outcome in mark_again(store, self.benchmark, self.dataset)}

    def judged(self) -> dict[str, JudgeMark | None]:
        return {name: marked.judged for name, marked in self.marked().items()}

    def verdicts(self) -> dict[str, str | None]:
        return {name: mark and mark.verdict for name, mark in self.judged().items()}

    def marked(self) -> dict[str, Marked]:
        found = {name: outcome.result for name, outcome in self.outcomes().items()}
        return {name: result for name, result in found.items() if isinstance(result, Marked)}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, REPLIES)


def says(verdicts: dict[str, str]) -> Callable[[str, str], Answer]:
    return lambda sample_id, _prompt: f"Verdict: {verdicts.get(sample_id, 'INCORRECT')}"


def test_case_107_a_judge_stands_beside_the_rules_and_changes_neither(bench: Bench) -> None:
    before = bench.marked()
    judge = Scripted(says({"1": "CORRECT", "2": "CORRECT", "3": "NO ANSWER"}), "j")
    bench.read(judge)
    assert bench.verdicts() == {"1": "right", "2": "right", "3": "unanswered", "5": "wrong"}
    for name, marked in bench.marked().items():
        assert (marked.reference, marked.robust) == (before[name].reference, before[name].robust)
    assert judge.asked == Counter(["1", "2", "3", "5"])  # question 4 has no reply
    # Five samples; the one without a reply is missing. Judged: 2 right of 4; robust: 1 and 3 right of 4.
    summary = summarise(bench.outcomes().values(), on_missing="exclude", resamples=50)
    assert summary.judged is not None
    assert (summary.judged.correct, summary.judged.n, summary.judged.accuracy) == (2, 4, 0.5)
    assert (summary.robust.correct, summary.robust.n) == (2, 4)
    assert summary.judged.counts == {"right": 1 + 1, "wrong": 1, "unanswered": 1, "unmarkable": 0, "not_judged": 1}
    # Right for both: 1; for neither: 5; robust alone: 3; judge alone: 2. Alike on 2 of 4.
    assert summary.judged.agreement.observed == 0.5
    wrong = summarise(bench.outcomes().values(), on_missing="wrong", resamples=50).judged
    assert wrong is not None
    assert (wrong.correct, wrong.n) == (2, 5)


def test_case_106_who_judged_stands_with_every_mark_and_in_the_manifest(bench: Bench) -> None:
    bench.read(Scripted(says({}), "j"))
    marks = list(bench.judged().values())
    with RunStore.open(bench.run) as store:
        recorded = store.manifest.environment["judge"]
    assert recorded["model"] == "scripted:j"
    assert len(bytes.fromhex(recorded["prompt_hash"])) == 32
    assert {(mark.judge, mark.prompt_hash) for mark in marks if mark} == {("scripted:j", recorded["prompt_hash"])}


def test_case_126_judging_is_paid_once(bench: Bench) -> None:
    judge = Scripted(says({"1": "CORRECT"}), "j")
    assert bench.read(judge).calls == 4
    again = bench.read(judge)
    assert (again.calls, again.changed, judge.asked.total()) == (0, 0, 4)


def test_case_106_several_judges_are_kept_side_by_side(bench: Bench) -> None:
    kind, strict = Scripted(says(dict.fromkeys("1235", "CORRECT")), "kind"), Scripted(says({}), "strict")
    bench.read(kind)
    bench.read(strict)
    assert set(bench.verdicts().values()) == {"wrong"}
    # The first one's verdicts are still there: going back to it asks nobody.
    assert bench.read(kind).calls == 0
    assert set(bench.verdicts().values()) == {"right"}
    assert len(list((bench.run / "judge").iterdir())) == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the judge said nothing"),
        ("I would rather not.", "the judge's reply does not end with a verdict"),
        (Reply(text="", finish="filter"), "the judge refused"),
        (Reply(text="Let me see", finish="length"), "the judge's reply was cut at its token limit"),
        (CallError("bad_request", "no"), "judge call failed: bad_request"),
        (CallError("server", "boom", retryable=True), "judge call failed: server"),
    ],
)
def test_case_137_a_judge_without_a_verdict_makes_no_sample_wrong_or_failed(
    bench: Bench, answer: Answer, reason: str
) -> None:
    read = bench.read(Scripted(lambda name, _prompt: answer if name == "1" else "Verdict: CORRECT", "j"))
    mark = bench.judged()["1"]
    assert mark is not None
    assert (mark.verdict, mark.reason) == ("unmarkable", reason)
    assert bench.marked()["1"].robust.verdict == "right"
    assert sum(read.problems.values()) == 1
    judged = summarise(bench.outcomes().values(), on_missing="exclude", resamples=50).judged
    assert judged is not None
    assert (judged.correct, judged.n, judged.counts["unmarkable"]) == (3, 3, 1)
    assert judged.reasons == {reason: 1}


def test_a_failed_judge_call_is_asked_again_and_nothing_else_is(bench: Bench) -> None:
    broken = {"2"}
    judge = Scripted(lambda name, _prompt: CallError("server", "boom") if name in broken else "Verdict: CORRECT", "j")
    bench.read(judge)
    assert bench.verdicts()["2"] == "unmarkable"
    broken.clear()
    assert bench.read(judge).calls == 1
    assert judge.asked == Counter({"1": 1, "2": 2, "3": 1, "5": 1})
    assert set(bench.verdicts().values()) == {"right"}


def test_judging_that_was_stopped_goes_on_where_it_was(bench: Bench) -> None:
    refusing = True

    def answer(name: str, _prompt: str) -> Answer:
        if refusing and name == "3":
            return CallError("auth", "wrong key", fatal=True)
        return "Verdict: CORRECT"

    judge = Scripted(answer, "j")
    with pytest.raises(RunStopped, match=r"wrong key.* 2 of 4 replies are done and kept"):
        bench.read(judge, concurrency=1)
    assert bench.verdicts() == {"1": None, "2": None, "3": None, "5": None}  # the rule's marks are as they were
    refusing = False
    assert bench.read(judge, concurrency=1).calls == 2
    assert judge.asked == Counter({"1": 1, "2": 1, "3": 2, "5": 1})


def test_a_reply_that_was_cut_before_its_answer_is_unanswered_for_the_judge_too(tmp_path: Path) -> None:
    rows = [{"id": "1", "response": "Perhaps (A), but then", "finish": "length"}, {"id": "2", "response": ""}]
    bench = Bench(tmp_path, rows)
    judge = Scripted(says({}), "j")
    bench.read(judge)
    assert bench.verdicts() == {"1": "unanswered", "2": "unanswered"}
    assert judge.asked == Counter()


def test_another_prompt_limit_is_another_reading(bench: Bench) -> None:
    judge = Scripted(says({}), "j")
    bench.read(judge)
    reader = Reader(role="judge", model=judge.model)
    longer = Reader(role="judge", model=judge.model, every=True)
    with RunStore.open(bench.run) as store:
        assert folder_of(store, reader).is_dir()
        assert folder_of(store, longer) != folder_of(store, reader)


# --------------------------------------------------------------------------------------------------------------------
# Extraction

EXTRACTIONS = {"1": "B", "2": "14", "3": "1.45", "5": "18"}


def extracts(name: str, _prompt: str) -> Answer:
    return f"Extracted: {EXTRACTIONS[name]}"


def references(outcomes: dict[str, Outcome]) -> dict[str, str]:
    return {
        name: outcome.result.reference.verdict
        for name, outcome in outcomes.items()
        if isinstance(outcome.result, Marked)
    }


def test_an_extractor_is_asked_only_where_the_rules_find_no_announced_answer(bench: Bench) -> None:
    assert references(bench.outcomes()) == {"1": "right", "2": "wrong", "3": "right", "5": "wrong"}
    extractor = Scripted(extracts, "x")
    bench.read(extractor, "extractor")
    assert extractor.asked == Counter(["2", "5"])
    assert references(bench.outcomes()) == {"1": "right", "2": "right", "3": "right", "5": "right"}
    robust = {name: marked.robust for name, marked in bench.marked().items()}
    assert (robust["2"].verdict, robust["2"].reason) == ("right", "read from the extraction")
    assert bench.read(extractor, "extractor").calls == 0


def test_every_reply_is_asked_about_where_the_published_protocol_is_wanted(bench: Bench) -> None:
    extractor = Scripted(extracts, "x")
    bench.read(extractor, "extractor", every=True)
    assert extractor.asked == Counter(["1", "2", "3", "5"])


def test_marking_again_keeps_extractions_and_judged_marks(bench: Bench) -> None:
    bench.read(Scripted(extracts, "x"), "extractor")
    bench.read(Scripted(says({"1": "CORRECT"}), "j"))
    assert bench.again() == bench.outcomes()


def test_an_extraction_is_named_with_the_score(bench: Bench) -> None:
    with RunStore.open(bench.run) as store:
        (note,) = run_notes(bench.benchmark, store.manifest, store.outcomes())
    assert note.endswith("here the reference verdicts read them by rule, so that a published score may differ.")
    bench.read(Scripted(extracts, "x"), "extractor")
    with RunStore.open(bench.run) as store:
        (note,) = run_notes(bench.benchmark, store.manifest, store.outcomes())
        prompt = store.manifest.environment["extractor"]["prompt_hash"][:12]
    assert note.endswith(
        f"reference takes 2 extractions by scripted:x (prompt {prompt}), and reads the other 2 by rule."
    )


@pytest.mark.parametrize("answer", ["", "fourteen", CallError("server", "boom"), Reply(text="", finish="filter")])
def test_an_extractor_that_says_nothing_leaves_the_marks_by_rule(bench: Bench, answer: Answer) -> None:
    before = bench.outcomes()
    read = bench.read(Scripted(lambda _name, _prompt: answer, "x"), "extractor")
    assert sum(read.problems.values()) == 2
    assert bench.outcomes() == before


def test_another_extractors_answers_do_not_outlive_it(bench: Bench) -> None:
    before = bench.outcomes()
    bench.read(Scripted(extracts, "x"), "extractor")
    bench.read(Scripted(lambda _name, _prompt: CallError("server", "boom"), "broken"), "extractor")
    assert bench.outcomes() == before


def test_recorded_extractions_are_kept_and_not_paid_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [{**row, "extraction": EXTRACTIONS[row["id"]]} for row in REPLIES])
    extractor = Scripted(extracts, "x")
    bench.read(extractor, "extractor")
    assert extractor.asked == Counter()
    assert set(references(bench.outcomes()).values()) == {"right"}


def test_case_117_an_extractor_that_would_change_nothing_is_refused(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 2) / "testmini.jsonl"
    bench = Bench(tmp_path, [{"id": "0", "response": "A"}], "mathvision", data)
    with pytest.raises(UsageError, match="reads answers by rule"):
        bench.read(Scripted(extracts, "x"), "extractor")


def test_a_run_on_other_data_is_refused(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "testmini.json"
    rows = json.loads((ROWS / "data" / "testmini.json").read_text(encoding="utf-8"))
    other.write_text(json.dumps({"1": rows["1"]}), encoding="utf-8")
    bench.dataset = bench.benchmark.open(Source(data=other, need_pictures=False))
    with pytest.raises(DataError, match="are not in the data"):
        bench.read(Scripted(says({}), "j"))


def test_a_judge_sees_the_options_in_the_order_in_which_they_were_shown(tmp_path: Path) -> None:
    benchmark = load_benchmark("mathvision")
    source = Source(data=PACKAGED / "mathvision", split="testmini")
    dataset = benchmark.open(source)
    plan = Plan(
        benchmark=benchmark,
        source=source,
        model=ScriptedModel(lambda _request, _draw: "\\boxed{A}"),
        out=tmp_path / "run",
        limit=12,
        conditions=(PLAIN, Condition(shuffle=1)),
    )
    judge = Scripted(says({}), "j")
    reader = Reader(role="judge", model=judge.model)

    async def both() -> None:
        await evaluate(plan)
        await read_run(plan.out, reader, benchmark, dataset)

    asyncio.run(both())
    with RunStore.open(plan.out) as store:
        lines = list(store.outcomes())
    assert any(line.condition for line in lines)
    assert all(isinstance(line.result, Marked) and line.result.judged for line in lines)
    # Question and right answer as shown: a shuffled question has its texts, or the right letter, elsewhere.
    questions = {prompt.partition("<question>")[2].partition("</right_answer>")[0] for prompt in judge.prompts}
    assert len(questions) == len(lines)


def of_every(folder: Path, name: str, reply: Callable[[Benchmark, Sample], str]) -> Bench:
    """A run over a benchmark's test rows."""
    benchmark, samples = opened(name)
    source = rows_of(name)
    rows = [{"id": sample.id, "response": reply(benchmark, sample)} for sample in samples]
    return Bench(folder, rows, name, source.data, source.split)


@pytest.mark.parametrize("name", sorted(name for name in BENCHMARKS if load_benchmark(name).llm_extraction))
def test_announced_answers_need_no_extractor_and_replies_without_one_do(tmp_path: Path, name: str) -> None:
    extractor = Scripted(lambda _name, _prompt: "Extracted: NO ANSWER", "x")
    announced = of_every(tmp_path, name, lambda benchmark, sample: benchmark.gold_reply(sample))
    announced.read(extractor, "extractor")
    assert extractor.asked.total() == 0
    vague = of_every(tmp_path / "vague", name, lambda _benchmark, _sample: "It is hard to say from here.")
    vague.read(extractor, "extractor")
    assert extractor.asked.total() == len(set(extractor.prompts)) > 0
    assert {outcome.extraction for outcome in vague.outcomes().values()} == {""}


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_every_benchmark_can_be_judged(tmp_path: Path, name: str) -> None:
    bench = of_every(tmp_path, name, lambda benchmark, sample: benchmark.gold_reply(sample))
    judge = Scripted(lambda _name, _prompt: "Verdict: CORRECT", "j")
    bench.read(judge)
    assert set(bench.verdicts().values()) == {"right"}
    for prompt in judge.prompts:
        for part in ("question", "right_answer", "response"):
            inside = prompt.partition(f"<{part}>")[2].partition(f"</{part}>")[0]
            assert inside.strip(), (name, part)


# --------------------------------------------------------------------------------------------------------------------
# Real rows


@pytest.mark.parametrize(
    ("name", "every", "correct"),
    [
        ("gpt4", False, 261),
        ("gpt4", True, 261),
        ("gpt4_2shot_solution", True, 292),
        # By rule where a reply announces its answer: two that the published extractions miss are right as well.
        ("gpt4_2shot_solution", False, 294),
        ("llavar", True, 252),
    ],
)
def test_mathvista_with_the_published_extractions_gives_the_published_score(
    shared_data: Path, tmp_path: Path, name: str, every: bool, correct: int
) -> None:
    """Published replies without their extractions; an extractor that answers with those."""
    file = shared_data / "mathvista" / "parity" / f"{name}.jsonl"
    published = {row["pid"]: row for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    rows = [{"id": pid, "response": row["response"]} for pid, row in published.items()]
    bench = Bench(tmp_path, rows, data=shared_data / "mathvista")
    extractor = Scripted(lambda pid, _prompt: f"Extracted: {published[pid]['extraction']}", "published")
    bench.read(extractor, "extractor", every=every)
    summary = summarise(bench.outcomes().values(), on_missing="wrong", resamples=50)
    assert (summary.reference.correct, summary.reference.n) == (correct, 1000)
    # Equal questions with equal replies are asked about once.
    questions = {sample.id: (sample.question, sample.options) for sample in bench.dataset}
    distinct = len({(*questions[pid], row["response"]) for pid, row in published.items()})
    asked = extractor.asked.total()
    assert asked == distinct if every else 0 < asked < distinct
