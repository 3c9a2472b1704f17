"""`assay prm filter` from the command line: what `assay prm label` wrote becomes examples, and every row is told of."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from assay.train.files import read_records, write_records
from assay.train.records import Dropped, Example
from support.command import make_questions, run
from support.rolled import critique_text, rolled, said_by, write_rollouts
from support.servers import Call, ChatServer, error, says, sequence


def ids(out: Path) -> list[str]:
    return [one.id for one in read_records(out / "examples.jsonl", "examples", Example)]


def dropped(out: Path) -> dict[str, str]:
    return {one.id: one.kind for one in read_records(out / "dropped.jsonl", "dropped", Dropped)}


def make_inputs(folder: Path, count: int = 4) -> tuple[str | Path, ...]:
    """Half of the solutions go wrong at the second step; the teacher misses the last one of these."""
    rollouts = write_rollouts(folder / "rollouts.jsonl", [rolled(f"{n}#0", 4, n % 2 * 4) for n in range(count)])
    said = [said_by("t", f"{n}#0", True, n % 2 == 1 or n == count - 2) for n in range(count)]
    write_records(folder / "critiques.jsonl", "critiques", said, settings={})
    return ("--rollouts", rollouts, "--critiques", folder / "critiques.jsonl", "--out", folder / "out")


def test_label_then_filter(tmp_path: Path) -> None:
    rollouts = write_rollouts(tmp_path / "rollouts.jsonl", [rolled(f"{n}#0", 4, n % 2 * 4) for n in range(6)])

    def knows(call: Call, _draw: int) -> str:
        if "Question 5 end" in call.question:
            return "I'm sorry, but I can't help with that."
        return critique_text(True, any(f"Question {n} end" in call.question for n in (1, 3, 4)))

    with ChatServer(answer=knows) as server:
        labelled = run(
            *("prm", "label", rollouts, "--out", tmp_path / "labels", "--retries", "0"),
            *("--teacher", f"openai:test-model@{server.url}"),
        )
    assert labelled.code == 0, labelled.err
    command = [
        *("prm", "filter", "--rollouts", rollouts, "--critiques", tmp_path / "labels" / "critiques.jsonl"),
        *("--out", tmp_path / "out"),
    ]
    done = run(*command)
    assert done.code == 0, done.err
    # 0 and 2 go wrong and are found out, 1 and 3 are clean; 4 goes wrong and is missed; of 5 there is no critique.
    assert ids(tmp_path / "out") == ["0#0", "1#0", "2#0", "3#0"]
    assert dropped(tmp_path / "out") == {"4#0": "disagreement", "5#0": "refused"}
    assert "4 examples: 2 erroneous, 2 clean." in done.out
    assert "same_step 2" in done.out
    card = run(*command, "--json").json
    assert (card["total"], card["kept"]) == (6, 4)
    assert card == json.loads((tmp_path / "out" / "card.json").read_bytes())
    assert "# Data card" in (tmp_path / "out" / "card.md").read_text()


def test_balance_and_the_most_of_a_question(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, 8)  # 0, 2, 4 go wrong and 1, 3, 5, 7 don't; 6 is missed
    done = run("prm", "filter", *inputs, "--balance", "1", "--json")
    assert (done.json["erroneous"], done.json["clean"]) == (3, 3)
    done = run("prm", "filter", *inputs, "--balance", "0.34", "--json")
    assert (done.json["erroneous"], done.json["clean"]) == (3, 1)  # 3 x 0.34 = 1.02
    done = run("prm", "filter", *inputs, "--balance", "none", "--per-question", "1", "--json")
    assert (done.json["erroneous"], done.json["clean"]) == (3, 4)


def test_against_a_benchmark_and_a_file_of_one_s_own(tmp_path: Path) -> None:
    data = make_questions(tmp_path / "data", 6)
    own = tmp_path / "own.jsonl"
    text = "How many of the twelve apples in the basket on the table are red?"
    own.write_text(json.dumps({"id": "apples", "question": text, "answer": "3"}) + "\n")
    picture = min((data / "images").iterdir())
    solutions = [
        rolled("leak#0", 4, question="Question number 0 end: which letter? Think.", images=(str(picture),)),
        rolled("apples#0", 4, question=f"{text} Say why."),
        rolled("free#0", 4),
    ]
    rollouts = write_rollouts(tmp_path / "rollouts.jsonl", solutions)
    write_records(tmp_path / "c.jsonl", "critiques", [said_by("t", one.id, True) for one in solutions], settings={})
    command = [
        *("prm", "filter", "--rollouts", rollouts, "--critiques", tmp_path / "c.jsonl", "--out", tmp_path / "out"),
        *("--against", f"mathvision/testmini={data}", "--against", str(own), "--json"),
    ]
    done = run(*command)
    assert done.code == 0, done.err
    assert dropped(tmp_path / "out") == {"leak#0": "contaminated", "apples#0": "contaminated"}
    assert sum(done.json["benchmarks"].values()) == 6 + 1
    lines = [json.loads(line) for line in (tmp_path / "out" / "contaminated.jsonl").read_text().splitlines()[1:]]
    apples = [line for line in lines if line["question"] == "apples"]
    assert [(line["benchmark_id"], line["rules"]) for line in apples] == [("apples", ["text", "ngram"])]
    assert all("picture" in line["rules"] for line in lines if line["question"] == "leak")
    assert {line["question"] for line in lines} == {"leak", "apples"}
    kept = run(*command, "--keep-contaminated")
    assert kept.json["kept"] == 3


def test_a_model_tells_topics_and_is_asked_once(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path)

    def topic(call: Call, _draw: int) -> str:
        if "Question 0 end" in call.question:
            return "Functions"
        return "plane-geometry, functions" if "Question 1 end" in call.question else "none"

    with ChatServer(answer=topic) as server:
        command = [
            *("prm", "filter", *inputs, "--topics", "functions", "--json"),
            *("--topic-model", f"openai:test-model@{server.url}"),
        ]
        done = run(*command)
        assert done.code == 0, done.err
        assert len(server.calls) == 4
        run(*command)
        assert len(server.calls) == 4
    assert ids(tmp_path / "out") == ["0#0", "1#0"]
    assert done.json["topics_by"] == {"model": 4}


def test_a_model_that_can_not_be_asked_ends_it_and_is_asked_again(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path)

    def topic(call: Call, _draw: int) -> str:
        return "It is hard to say." if "Question 3 end" in call.question else "functions"

    with ChatServer(answer=topic, fault=sequence(error(400, "no"))) as server:
        command = [
            *("prm", "filter", *inputs, "--topics", "functions", "--json", "--concurrency", "1"),
            *("--topic-model", f"openai:test-model@{server.url}"),
        ]
        done = run(*command)
        assert done.code != 0
        assert "1 of 4 questions" in done.err
        assert not (tmp_path / "out" / "examples.jsonl").exists()
        done = run(*command)
        assert done.code == 0, done.err
        assert len(server.calls) == 4 + 1
    assert "1 replies name no topic" in done.err
    assert dropped(tmp_path / "out")["3#0"] == "topic"


def test_monte_carlo_alone_needs_no_critiques(tmp_path: Path) -> None:
    rollouts = write_rollouts(tmp_path / "r.jsonl", [rolled("a#0", 4, 4), rolled("b#0", 4, 0)])
    command = ["prm", "filter", "--rollouts", rollouts, "--out", tmp_path / "out", "--labels", "mc", "--json"]
    done = run(*command)
    assert (done.json["clean"], done.json["erroneous"], done.json["uncorrected_candidates"]) == (1, 1, 1)
    done = run(*command, "--drop-uncorrected")
    assert (done.json["clean"], done.json["erroneous"]) == (1, 0)
    assert dropped(tmp_path / "out") == {"b#0": "uncorrected"}
    done = run(*command[:-3])  # labels of both
    assert done.code != 0
    assert "name critiques" in done.err


def test_without_imagehash_it_says_what_to_install(tmp_path: Path) -> None:
    rollouts = write_rollouts(tmp_path / "r.jsonl", [rolled("a#0", 4, images=("a.png",))])
    write_records(tmp_path / "c.jsonl", "critiques", [said_by("t", "a#0", True)], settings={})
    script = "import sys; sys.modules['imagehash'] = None; from assay.cli import main; main(sys.argv[1:])"
    arguments = ["--rollouts", str(rollouts), "--critiques", str(tmp_path / "c.jsonl"), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", script, "prm", "filter", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "pip install 'assay[curate]'" in done.stderr
    assert "Traceback" not in done.stderr
    # Without comparing there is no need of it.
    done = subprocess.run(
        [sys.executable, "-c", script, "prm", "filter", *arguments, "--keep-duplicates"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Nothing is left" in done.stderr  # the one picture is missing
    assert dropped(tmp_path / "out") == {"a#0": "image"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--balance", "half"), "--balance 'half' is not a number"),
        (("--balance", "1/0"), "is not a number"),
        (("--topics", "algebra"), "no topic 'algebra'"),
        (("--topic-model", "openai:m@http://127.0.0.1:9/v1"), "say with --topics"),
        (("--against", "mathvision=/nowhere"), "no such file or folder"),
        (("--against", "nothing"), "no benchmark 'nothing'"),
        (("--critiques", "/nowhere"), "can't be read"),
        (("--rollouts", "/nowhere"), "can't be read"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run("prm", "filter", *make_inputs(tmp_path), *arguments)
    assert done.code != 0
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out" / "examples.jsonl").exists()


def test_rows_of_visualprm400k_from_their_files_to_examples(tmp_path: Path) -> None:
    """In the form of its documentation: the data set stands in the file's name and in the pictures' paths."""
    folder = tmp_path / "VisualPRM400K-v1.1-Raw"
    for name, colour in (("Geometry3K/train/1/a.png", "white"), ("DocVQA/train/2/b.png", "white")):
        (folder / name).parent.mkdir(parents=True)
        Image.new("RGB", (40, 30), colour).save(folder / name)
    for source, picture in (("geometry3k", "Geometry3K/train/1/a.png"), ("docvqa", "DocVQA/train/2/b.png")):
        scored = [(f"{source} adds.", 4), ("So it is 13.", 0)]
        row = {
            "image": f"VisualPRM400K-v1.1-Raw/{picture}",
            "question": "<image>\nHow long is AB?",
            "answer": "12",
            "response": "\n\n".join(text for text, _ in scored),
            "steps_with_score": [
                {"step": text, "score": right / 16, "num_mc_correct": right, "num_mc_total": 16}
                for text, right in scored
            ],
            "num_mc_sequences": 16,
        }
        (tmp_path / f"{source}.jsonl").write_text(json.dumps(row) + "\n")
    rollouts = [tmp_path / "geometry3k.jsonl", tmp_path / "docvqa.jsonl"]
    with ChatServer(answer=says(critique_text(True, False))) as server:
        for path in rollouts:
            done = run(
                *("prm", "label", path, "--out", tmp_path / path.stem),
                *("--teacher", f"openai:test-model@{server.url}"),
            )
            assert done.code == 0, done.err
        assert all(len(call.pictures) == 1 and "<right_answer>\n12\n" in call.question for call in server.calls)
    done = run(
        *("prm", "filter", "--out", tmp_path / "out", "--json", "--topics", "plane-geometry"),
        *(word for path in rollouts for word in ("--rollouts", path)),
        *(word for path in rollouts for word in ("--critiques", tmp_path / path.stem / "critiques.jsonl")),
    )
    assert done.code == 0, done.err
    assert dropped(tmp_path / "out") == {"docvqa-1": "topic"}
    (example,) = read_records(tmp_path / "out" / "examples.jsonl", "examples", Example)
    assert (example.id, example.source, example.labels) == ("geometry3k-1", "geometry3k", (True, False))
    assert (tmp_path / "out" / example.images[0]).resolve() == folder / "Geometry3K/train/1/a.png"
    assert done.json["noise"]["by_successes"] == {"0": 1, "4": 1}
