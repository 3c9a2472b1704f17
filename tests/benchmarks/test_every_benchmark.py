"""What holds for every benchmark of the table, on the data that the package carries, else on rows written for it."""

import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import msgspec
import pytest

import assay
from assay.benchmarks import BENCHMARKS, load_benchmark
from assay.errors import UsageError
from assay.mark.summary import OnMissing, summarise
from assay.types import ChoiceGold, ImagePart, Marked, Outcome, Reply
from support.rows import RULES, opened, picture, rows_of

PACKAGE = Path(assay.__file__).parent
NAMES = sorted(BENCHMARKS)

# The facets that reports and scores of a benchmark may rely on; a new one is added here on purpose.
FACETS = {
    "chartqa": {"question_type", "source", "chart_complexity", "question_complexity"},
    "finchartbench": {"question_type"},
    "fincharts": {
        "question_type",
        "multi_answer",
        "knowledge_domain",
        "cognitive_level",
        "chart_type",
        "asset_class",
        "chart_subclass",
        "operation",
        "language",
        "value_labels",
        "axes",
        "data",
        "font",
        "palette",
        "grid",
        "legend",
        "resolution",
        "artefacts",
        "rotation",
        "variant",
    },
    "fincharts-lite": {"question_type", "kind", "knowledge_domain", "cognitive_level", "chart_type", "multi_answer"},
    "finmmr": {"question_type", "grade", "language", "source", "subfield"},
    "tatqa": {"question_type", "answer_from", "scale"},
    "dynamath": {"question_type", "subject", "level", "variant"},
    "wemath": {"question_type", "steps", "key", "knowledge_concept", "domain"},
    "finmme": {
        "question_type",
        "multi_answer",
        "knowledge_domain",
        "cognitive_level",
        "chart_type",
        "asset_class",
    },
    "mathverse": {"question_type", "version", "subject", "subfield"},
    "mathvision": {"question_type", "subject", "level"},
    "mathvista": {
        "question_type",
        "answer_type",
        "language",
        "source",
        "category",
        "task",
        "context",
        "grade",
        "skills",
    },
}

# Benchmarks with data of their own that are asked in the words of another one.
ASKED_AS = {"fincharts": "finmme"}

PLACEHOLDERS = {
    name
    for file in (PACKAGE / "benchmarks" / "prompts").glob("*.txt")
    for name in re.findall(r"\{([a-z_]+)\}", file.read_text(encoding="utf-8"))
}


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        load_benchmark("mathvison")
    assert "'mathvison'" in str(caught.value)
    assert ", ".join(NAMES) in str(caught.value)


def test_the_table_imports_nothing() -> None:
    code = "import sys, assay.benchmarks; print(sorted(m for m in sys.modules if m.startswith('assay.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['assay.benchmarks', 'assay.errors']"


@pytest.mark.parametrize("name", NAMES)
def test_the_file_opens_with_links_licence_and_a_row(name: str) -> None:
    text = importlib.import_module(BENCHMARKS[name]).__doc__ or ""
    assert text.count("https://") >= 2
    assert "Licence" in text
    assert "{" in text
    benchmark = load_benchmark(name)
    assert benchmark.name == name
    assert all(link in text for link in benchmark.links)
    assert benchmark.licence in text


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_unique_and_samples_whole(name: str) -> None:
    _, samples = opened(name)
    assert samples
    assert len({sample.id for sample in samples}) == len(samples)
    for sample in samples:
        assert sample.question
        assert sample.group
        assert all(Path(image).is_file() for image in sample.images)
        labels = [option.label for option in sample.options]
        assert len(set(labels)) == len(labels)
        if isinstance(sample.gold, ChoiceGold) and labels:
            assert set(sample.gold.labels) <= set(labels)


@pytest.mark.parametrize("name", NAMES)
def test_opening_again_gives_the_same_samples(name: str) -> None:
    benchmark, samples = opened(name)
    again = benchmark.open(rows_of(name))
    assert tuple(again) == samples == tuple(again)
    assert len(again) == len(samples)
    assert len(bytes.fromhex(again.revision)) == 32


@pytest.mark.parametrize("name", NAMES)
def test_facets_come_from_a_closed_set(name: str) -> None:
    _, samples = opened(name)
    for sample in samples:
        assert "question_type" in sample.facets
        assert set(sample.facets) <= FACETS[RULES.get(name, name)]
        assert all(values and all(values) for values in sample.facets.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_grader_accepts_its_own_gold_and_no_silence(name: str) -> None:
    benchmark, samples = opened(name)
    for sample in samples:
        if sample.gold is not None:
            accepted = benchmark.mark(sample, Reply(text=benchmark.gold_reply(sample)))
            assert accepted.robust.verdict == "right", (sample.id, accepted)
        silence = benchmark.mark(sample, Reply(text=""))
        assert silence.robust.verdict in ("unanswered", "unmarkable")
        if sample.gold is not None:
            assert silence.reference.verdict != "right"


MARKING = r"""
import json, random, sys
import msgspec
from assay.benchmarks import BENCHMARKS
from assay.benchmarks.base import mark_reply
from assay.types import Reply
from support.rows import opened

TEXTS = ["Answer: A, C or B", "It is 12.5 %, i.e. 1/8.", "\\boxed{\\{x, y\\}} or {y, x}",
         "答案：B、A。", "Perhaps. I can't tell."]
random.seed(int(sys.argv[1]))
work = []
for name in sorted(BENCHMARKS):
    benchmark, samples = opened(name)
    for sample in samples[:4]:
        texts = [*TEXTS, benchmark.gold_reply(sample)] if sample.gold is not None else TEXTS
        work += [(benchmark, sample, text) for text in texts]
random.shuffle(work)
found = {}
for benchmark, sample, text in work:
    found[f"{benchmark.name} {sample.id} {text}"] = msgspec.to_builtins(mark_reply(benchmark, sample, Reply(text=text)))
print(json.dumps(found, sort_keys=True))
"""


def test_case_203_a_mark_depends_on_the_reply_and_the_sample_alone() -> None:
    """Other hashes, another seed, another order of the replies, another process: the same verdicts and extractions."""
    printed: list[str] = []
    for seed in ("1", "2"):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, "-c", MARKING, seed], env=settings, capture_output=True, text=True, timeout=100, check=True
        )
        printed.append(done.stdout)
    assert len(json.loads(printed[0])) >= 5 * len(NAMES)
    assert printed[0] == printed[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_carries_every_picture_in_order_and_the_question(name: str) -> None:
    benchmark, samples = opened(name)
    for sample in samples:
        pictures = [picture(number) for number in range(len(sample.images))]
        parts = [part for message in benchmark.messages(sample, pictures) for part in message.parts]
        assert [part for part in parts if isinstance(part, ImagePart)] == pictures
        text = "\n".join(part.text for part in parts if not isinstance(part, ImagePart))
        # A mark such as <image2> stands for a part of the picture; how it is worded is the benchmark's business.
        assert all(option.text in text for option in sample.options if not option.text.startswith("<image"))
        assert not [name for name in PLACEHOLDERS if f"{{{name}}}" in text.replace(sample.question, "")]


@pytest.mark.parametrize("name", NAMES)
def test_no_gold_in_the_prompt_beyond_the_question_itself(name: str) -> None:
    """The prompt is the same whatever the gold."""
    benchmark, samples = opened(name)
    for sample in samples:
        without = msgspec.structs.replace(sample, gold=None)
        assert benchmark.messages(without, ()) == benchmark.messages(sample, ())


def outcomes_of(name: str) -> list[Outcome]:
    """Every third reply is wrong (an answer to nothing), the others give the gold."""
    benchmark, samples = opened(name)
    return [
        Outcome(
            sample_id=sample.id,
            group=sample.group,
            facets=sample.facets,
            result=benchmark.mark(
                sample, Reply(text=benchmark.gold_reply(sample) if number % 3 else "Answer: none of it")
            ),
            detail=benchmark.detail(sample),
        )
        for number, sample in enumerate(samples)
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("on_missing", ["exclude", "wrong"])
def test_scores_are_ready_for_json(name: str, on_missing: OnMissing) -> None:
    benchmark = load_benchmark(name)
    outcomes = outcomes_of(name)
    assert all(isinstance(outcome.result, Marked) for outcome in outcomes)
    json.dumps(benchmark.scores(outcomes, on_missing), allow_nan=False)
    json.dumps(benchmark.scores([], on_missing), allow_nan=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_samples_changes_no_score(name: str) -> None:
    benchmark = load_benchmark(name)
    outcomes = outcomes_of(name)
    shuffled = random.Random(5).sample(outcomes, len(outcomes))
    for others in (shuffled, outcomes[::-1]):  # some of the sets are so small that a shuffle may change nothing
        assert numbers(benchmark.scores(others, "exclude")) == pytest.approx(
            numbers(benchmark.scores(outcomes, "exclude"))
        )
        assert summarise(others, on_missing="exclude") == summarise(outcomes, on_missing="exclude")


@pytest.mark.parametrize("name", NAMES)
def test_having_every_sample_twice_changes_no_accuracy(name: str) -> None:
    benchmark = load_benchmark(name)
    once = outcomes_of(name)
    # A copy is a sample of its own, in a group of its own: the same questions asked again, not a broken run.
    copies = [
        msgspec.structs.replace(one, sample_id=f"{one.sample_id} again", group=f"{one.group} again") for one in once
    ]
    before, after = summarise(once, on_missing="exclude"), summarise([*once, *copies], on_missing="exclude")
    for mode in ("reference", "robust"):
        assert getattr(after, mode).accuracy == pytest.approx(getattr(before, mode).accuracy)
    shares = {key: value for key, value in numbers(benchmark.scores(once, "exclude")).items() if is_share(key)}
    twice = numbers(benchmark.scores([*once, *copies], "exclude"))
    assert {key: twice[key] for key in shares} == pytest.approx(shares)


def numbers(value: object, path: str = "") -> dict[str, float]:
    """Every number in a nested result by its path."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value)
    if isinstance(value, bool):
        return {}
    if isinstance(value, int | float):
        return {path: float(value)}
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
    elif isinstance(value, list | tuple):
        pairs = [(str(place), one) for place, one in enumerate(cast("list[object]", value))]
    else:
        return {}
    found: dict[str, float] = {}
    for key, one in pairs:
        found |= numbers(one, f"{path}/{key}")
    return found


def is_share(path: str) -> bool:
    """Whether the number at this path is a share of samples: a copy of everything must leave it as it is."""
    return path.rpartition("/")[2] in SHARES


SHARES = {"accuracy", "finscore", "domain_mean", "penalty", "mean", "average", "worst_case", "score", "strict", "loose"}


HASHES = """
import json
from assay.benchmarks import BENCHMARKS, load_benchmark
print(json.dumps({name: load_benchmark(name).prompt_hash() for name in BENCHMARKS}))
"""


def prompt_hashes(root: Path) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", HASHES], capture_output=True, text=True, check=True, env=environment, cwd=root
    )
    hashes: dict[str, str] = json.loads(done.stdout)
    return hashes


def test_a_changed_prompt_file_changes_that_benchmarks_hash_only(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "assay", ignore=shutil.ignore_patterns("demo", "__pycache__"))
    before = prompt_hashes(tmp_path)
    assert before == {name: load_benchmark(name).prompt_hash() for name in BENCHMARKS}
    for file in sorted((tmp_path / "assay" / "benchmarks" / "prompts").glob("*.txt")):
        original = file.read_text(encoding="utf-8")
        file.write_text(original + "Think first.\n", encoding="utf-8")
        after = prompt_hashes(tmp_path)
        changed = [name for name in BENCHMARKS if after[name] != before[name]]
        stem = file.stem.replace("_", "-")
        whose = max((name for name in BENCHMARKS if stem.startswith(name)), key=len, default="own")
        assert changed == [name for name in BENCHMARKS if (RULES | ASKED_AS).get(name, name) == whose]
        file.write_text(original, encoding="utf-8")
