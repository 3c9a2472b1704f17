"""Tables of one's own: what is read as what, and how it is marked."""

import base64
import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.benchmarks.data import RowsDataset
from assay.benchmarks.own import messages, open_own
from assay.benchmarks.own_answers import infer
from assay.benchmarks.own_columns import parse_map
from assay.benchmarks.tables import read_csv
from assay.errors import DataError, UsageError
from assay.types import (
    ChoiceGold,
    ExpressionGold,
    Mark,
    NumberGold,
    Reading,
    Reply,
    Sample,
    TextGold,
    TextPart,
)
from support.pictures import file_of, noise


def jsonl(path: Path, *rows: Any) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def opened(path: Path, **reading: Any) -> RowsDataset:
    return open_own(f"own:{path.name}", Source(data=path, reading=Reading(**reading)))


def one(path: Path, row: dict[str, Any], **reading: Any) -> Sample:
    (sample,) = opened(jsonl(path / "one.jsonl", row), **reading)
    return sample


def refusal(path: Path, **reading: Any) -> str:
    with pytest.raises(DataError) as caught:
        opened(path, **reading)
    return str(caught.value)


def robust(sample: Sample, text: str) -> Mark:
    return load_benchmark("own:x.jsonl").mark(sample, Reply(text=text)).robust


def prompt(sample: Sample) -> str:
    (message,) = messages(sample, ())
    (part,) = message.parts
    assert isinstance(part, TextPart)
    return part.text


# --------------------------------------------------------------------------------------------------------------------
# Answers

TYPES = {
    "number": ["12", "1,234.5", "-3", "−3", "(5)", "12 %", "$4.2 million", "5 €", "1e5", "0.50", ".5", "１２"],
    "expression": [r"\frac{1}{2}", "3/4", "x^2+1", "(1, 2)", "1,2,3", "$x$", "x=5", "x+y", "2√3", "π/2", "[1, 2]"],
    "text": [
        *("Paris", "007", "2019-2020", "1/2/2020", "12:30", "N/A", "A-B", "C++", "Q4", "3D", "12 kg", "5 and 6"),
        *("1.234.567", "$5 and $6", "A"),
    ],
}


@pytest.mark.parametrize(("answer", "kind"), [(text, kind) for kind, texts in TYPES.items() for text in texts])
def test_the_type_of_an_answer(tmp_path: Path, answer: str, kind: str) -> None:
    assert infer(answer) == kind
    sample = one(tmp_path, {"question": "?", "answer": answer})
    assert sample.facets["question_type"] == (kind,)
    assert robust(sample, load_benchmark("own:x.jsonl").gold_reply(sample)).verdict == "right"


OPTIONS = ["red", "green", "blue"]


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ("B", ("B",)), ("b", ("B",)), ("(B)", ("B",)), ("green", ("B",)), ("Green", ("B",)), ("A,C", ("A", "C")),
        ("A, B and C", ("A", "B", "C")), ("AC", ("A", "C")), (["C", "A"], ("C", "A")), (["blue"], ("C",)),
    ],
)  # fmt: skip
def test_the_answer_of_a_choice(tmp_path: Path, answer: Any, labels: tuple[str, ...]) -> None:
    sample = one(tmp_path, {"question": "?", "options": OPTIONS, "answer": answer})
    assert sample.gold == ChoiceGold(labels=labels, multiple=len(labels) > 1)


@pytest.mark.parametrize("answer", ["D", "yellow", 1, 7, "CAB", "cab", "bad", True, {"x": 1}, "x" * 5000])
def test_an_answer_outside_the_options(tmp_path: Path, answer: Any) -> None:
    message = refusal(jsonl(tmp_path / "q.jsonl", {"question": "?", "options": OPTIONS, "answer": answer}))
    assert "q.jsonl:1" in message


def test_a_number_may_be_an_options_text(tmp_path: Path) -> None:
    sample = one(tmp_path, {"question": "?", "options": [10, 20, 30], "answer": 20})
    assert sample.gold == ChoiceGold(labels=("B",))


@pytest.mark.parametrize("answer", [True, "true", "TRUE"])
def test_true_and_false_are_a_choice(tmp_path: Path, answer: object) -> None:
    sample = one(tmp_path, {"question": "Did it rise?", "answer": answer})
    assert sample.gold == ChoiceGold(labels=("True",))
    assert "True\nFalse" in prompt(sample)
    assert robust(sample, "The statement is true.").verdict == "right"
    assert robust(sample, "Answer: False").verdict == "wrong"


@pytest.mark.parametrize(
    "options",
    [
        ["red", "green"],
        {"A": "red", "B": "green"},
        "A: red\nB: green",
        "A. red B. green",
        "['red', 'green']",
        '["red", "green"]',
        [["A", "red"], ["B", "green"]],
        [{"label": "A", "text": "red"}, {"label": "B", "text": "green"}],
    ],
)
def test_options_in_every_shape(tmp_path: Path, options: object) -> None:
    sample = one(tmp_path, {"question": "?", "options": options, "answer": "B"})
    assert [(option.label, option.text) for option in sample.options] == [("A", "red"), ("B", "green")]


@pytest.mark.parametrize("names", ["ABC", ["option_a", "option_b", "option_c"], ["Option A", "Option B", "Option C"]])
def test_a_column_for_each_option(tmp_path: Path, names: list[str]) -> None:
    rows = [
        {"question": "?", **dict(zip(names, ["red", "green", "blue"], strict=True)), "answer": "C"},
        {"question": "?", **dict(zip(names, ["red", "green", ""], strict=True)), "answer": "B"},
        {"question": "How many?", **dict.fromkeys(names, None), "answer": 3},
    ]
    samples = list(opened(jsonl(tmp_path / "q.jsonl", *rows)))
    assert [len(sample.options) for sample in samples] == [3, 2, 0]
    assert isinstance(samples[2].gold, NumberGold)


@pytest.mark.parametrize(
    ("tolerance", "absolute", "relative"),
    [(0.5, "0.5", None), ("0.5", "0.5", None), ("5%", None, "0.05"), ("5 %", None, "0.05"), (None, None, None),
     ("", None, None), ("NaN", None, None), (math.nan, None, None), (0, "0", None)],
)  # fmt: skip
def test_tolerances(tmp_path: Path, tolerance: object, absolute: str | None, relative: str | None) -> None:
    gold = one(tmp_path, {"question": "?", "answer": 200, "tolerance": tolerance}).gold
    assert gold == NumberGold(value="200", tolerance=absolute, relative=relative)


@pytest.mark.parametrize("tolerance", [-1, "abc", math.inf, "-5%", True, "1e999"])
def test_a_tolerance_that_is_none(tmp_path: Path, tolerance: object) -> None:
    message = refusal(jsonl(tmp_path / "q.jsonl", {"question": "?", "answer": 200, "tolerance": tolerance}))
    assert "q.jsonl:1: has the tolerance" in message


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Answer: 210", "right"),  # 5 % of 200 is 10
        ("Answer: 210.1", "wrong"),
        ("Answer: 190", "right"),
        ("Answer: 0.2 thousand", "right"),
        ("It can't be seen.", "unanswered"),
    ],
)
def test_numbers_within_a_share(tmp_path: Path, reply: str, verdict: str) -> None:
    assert robust(one(tmp_path, {"question": "?", "answer": 200, "tolerance": "5%"}), reply).verdict == verdict


def test_the_unit_is_asked_for_and_converted(tmp_path: Path) -> None:
    sample = one(tmp_path, {"question": "Revenue?", "answer": 1.5, "unit": "billion USD"})
    assert prompt(sample).endswith("Give it in this unit, without writing the unit: billion USD")
    assert robust(sample, "Answer: 1,500 million").verdict == "right"
    assert robust(sample, "Answer: 1.5").verdict == "right"
    assert robust(sample, "Answer: 1.5 million").verdict == "wrong"


def test_a_list_without_options_is_a_list_of_right_texts(tmp_path: Path) -> None:
    sample = one(tmp_path, {"question": "Where?", "answer": ["USA", "United States"]})
    assert sample.gold == TextGold(values=("USA", "United States"))
    assert robust(sample, "Answer: the United States").verdict == "right"


def test_expressions_by_value(tmp_path: Path) -> None:
    sample = one(tmp_path, {"question": "Half of a half?", "answer": r"\frac{1}{4}"})
    assert isinstance(sample.gold, ExpressionGold)
    assert robust(sample, "Answer: 0.25").verdict == "right"
    assert robust(sample, "Answer: 1/2").verdict == "wrong"


def test_the_type_can_be_given(tmp_path: Path) -> None:
    row = {"question": "Which code?", "answer": "12", "options": ["12", "13"]}
    assert one(tmp_path, row, answer_type="text").gold == TextGold(values=("12",))
    assert one(tmp_path, row, answer_type="expression").gold == ExpressionGold(value="12")
    assert one(tmp_path, row, answer_type="number").gold == NumberGold(value="12")
    assert one(tmp_path, row, answer_type="choice").gold == ChoiceGold(labels=("A",))
    path = jsonl(tmp_path / "q.jsonl", {"question": "?", "answer": "A"})
    assert "has no options" in refusal(path, answer_type="choice")
    assert "is no number" in refusal(path, answer_type="number")


def test_rows_without_an_answer_are_counted_not_scored(tmp_path: Path) -> None:
    rows = [{"question": "a?", "answer": "x"}, {"question": "b?", "answer": None}, {"question": "c?"}]
    dataset = opened(jsonl(tmp_path / "q.jsonl", *rows))
    assert "2 of 3 rows have no answer: they are asked, and left out of the score (ids 2, 3)." in dataset.facts
    assert robust(list(dataset)[1], "Answer: x").verdict == "unmarkable"


# --------------------------------------------------------------------------------------------------------------------
# Marks


def test_exact_match_reads_the_explicit_answer_as_it_stands(tmp_path: Path) -> None:
    benchmark = load_benchmark("own:x.jsonl")
    sample = one(tmp_path, {"question": "?", "answer": "1,500"})
    verdicts = {
        "Answer: 1,500": ("right", "right"),
        "Answer: 1500": ("wrong", "right"),
        "It is 1,500": ("unanswered", "right"),
        r"\boxed{1,500}": ("right", "right"),
        "Answer: 1,501": ("wrong", "wrong"),
        "": ("unanswered", "unanswered"),
    }
    for text, (reference, meant) in verdicts.items():
        marked = benchmark.mark(sample, Reply(text=text))
        assert (marked.reference.verdict, marked.robust.verdict) == (reference, meant), text
        assert (marked.difference is not None) == ((reference == "right") != (meant == "right"))


def test_a_cut_reply_counts_only_with_an_explicit_answer(tmp_path: Path) -> None:
    benchmark = load_benchmark("own:x.jsonl")
    for answer in ("Paris", 12, r"\pi", True):
        sample = one(tmp_path, {"question": "?", "answer": answer})
        cut = benchmark.mark(sample, Reply(text=f"I think it is {answer}", finish="length"))
        assert (cut.robust.verdict, cut.robust.reason) == ("unanswered", "truncated")
        whole = Reply(text=benchmark.gold_reply(sample), finish="length")
        assert benchmark.mark(sample, whole).robust.verdict == "right"


def test_one_question_with_several_right_options_makes_all_ask_for_several(tmp_path: Path) -> None:
    rows = [
        {"question": "a?", "options": OPTIONS, "answer": "A"},
        {"question": "b?", "options": OPTIONS, "answer": "A,C"},
        {"question": "c?", "answer": False},
    ]
    dataset = opened(jsonl(tmp_path / "q.jsonl", *rows))
    first, second, third = dataset
    # What is asked doesn't give away how many are right.
    assert prompt(first).replace("a?", "b?") == prompt(second)
    assert "One or more" in prompt(first)
    assert "Exactly one" in prompt(third)
    assert robust(second, "Answer: A, C").verdict == "right"
    assert robust(second, "Answer: AC").verdict == "right"
    assert robust(second, "Answer: A").verdict == "wrong"
    assert any("several right options" in fact for fact in dataset.facts)


# --------------------------------------------------------------------------------------------------------------------
# Columns


def test_columns_by_other_names(tmp_path: Path) -> None:
    rows = [{"qid": "q1", "Prompt": "How many?", "gold": "3", "notes": "long " * 30}]
    dataset = opened(jsonl(tmp_path / "q.jsonl", *rows))
    (sample,) = dataset
    assert (sample.id, sample.question, sample.gold) == ("q1", "How many?", NumberGold(value="3"))
    assert "Columns: question from 'Prompt', answer from 'gold', id from 'qid'; not read: notes." in dataset.facts


def test_columns_as_mapped(tmp_path: Path) -> None:
    row = {"question": "not this", "text": "How many?", "answer": "old", "right": 4, "id": "x"}
    columns = parse_map(["question=text,answer=right", "id="])
    assert columns == {"question": "text", "answer": "right", "id": ""}
    sample = one(tmp_path, row, columns=columns)
    assert (sample.id, sample.question, sample.gold) == ("1", "How many?", NumberGold(value="4"))


@pytest.mark.parametrize("text", ["question", "colour=red", "=x", ""])
def test_a_map_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="PURPOSE=COLUMN"):
        parse_map([text])


def test_a_column_name_may_hold_a_comma() -> None:
    assert parse_map(["question=text, the long one,answer=x"]) == {"question": "text, the long one", "answer": "x"}


@pytest.mark.parametrize(
    ("row", "reading", "says"),
    [
        ({"q": "?", "answer": 1}, {}, "--map question=COLUMN"),
        ({"question": "?", "a": 1}, {}, "--map answer=COLUMN"),
        ({"question": "?", "answer": 1}, {"columns": {"answer": "gold"}}, "has no column 'gold'"),
        ({"question": "?", "answer": 1}, {"facets": ("topic",)}, "has no column 'topic'"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, row: dict[str, Any], reading: dict[str, Any], says: str) -> None:
    assert says in refusal(jsonl(tmp_path / "q.jsonl", row), **reading)


def test_facets_are_columns_with_few_values(tmp_path: Path) -> None:
    rows = [
        {
            "question": f"{number}?",
            "answer": number,
            "topic": "ab"[number % 2],
            "year": 2019.0 + number % 3,
            "tags": ["x"] if number % 2 else ["x", "y"],
            "serial": f"s{number}",
            "same": "always",
            "price": number + 0.5,
            "note": None if number else "n" * 100,
        }
        for number in range(12)
    ]
    dataset = opened(jsonl(tmp_path / "q.jsonl", *rows))
    first = next(iter(dataset))
    assert first.facets == {"question_type": ("number",), "topic": ("a",), "year": ("2019",), "tags": ("x", "y")}
    chosen = next(iter(opened(tmp_path / "q.jsonl", facets=("serial",))))
    assert chosen.facets == {"question_type": ("number",), "serial": ("s0",)}
    assert set(next(iter(opened(tmp_path / "q.jsonl", facets=()))).facets) == {"question_type"}


# --------------------------------------------------------------------------------------------------------------------
# Pictures


def test_pictures_by_path_list_base64_and_number(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    data = [file_of(noise("RGB", (8, 8), seed), "PNG") for seed in range(3)]
    for number, content in enumerate(data):
        (pictures / f"{number}.png").write_bytes(content)
    encoded = base64.b64encode(data[2]).decode()
    values: list[tuple[dict[str, Any], list[int]]] = [
        ({"image": "0.png"}, [0]),
        ({"image": ["0.png", "1.png"]}, [0, 1]),
        ({"image": "0.png; 1.png"}, [0, 1]),
        ({"image": '["1.png", "0.png"]'}, [1, 0]),
        ({"image": str(pictures / "2.png")}, [2]),
        ({"image": encoded}, [2]),
        ({"image": f"data:image/png;base64,{encoded}"}, [2]),
        ({"image_2": "1.png", "image_1": "0.png"}, [0, 1]),
        ({"image": None}, []),
        ({}, []),
    ]
    for number, (cells, expected) in enumerate(values):
        path = jsonl(tmp_path / f"q{number}.jsonl", {"question": "?", "answer": 1, **cells})
        (sample,) = opened(path, images=str(pictures))
        assert [Path(image).read_bytes() for image in sample.images] == [data[seed] for seed in expected], cells


def test_questions_on_one_picture_share_a_group(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(file_of(noise("RGB", (8, 8)), "PNG"))
    rows = [
        {"id": "1", "question": "a?", "answer": 1, "image": "a.png"},
        {"id": "2", "question": "b?", "answer": 2, "image": "a.png"},
        {"id": "3", "question": "c?", "answer": 3},
    ]
    assert [sample.group for sample in opened(jsonl(tmp_path / "q.jsonl", *rows))] == ["a.png", "a.png", "3"]
    by_seed = [row | {"seed": "s"} for row in rows]
    grouped = opened(jsonl(tmp_path / "s.jsonl", *by_seed), columns={"group": "seed"})
    assert {sample.group for sample in grouped} == {"s"}


@pytest.mark.parametrize(
    ("picture", "says"),
    [
        ("gone.png", "gone.png, which is not there"),
        ("https://example.org/a.png", "by its address"),
        ("data:image/png;base64,AAAA", "neither a path nor base64"),
        ("A" * 10_000, "neither a path nor base64"),
        (7, "holds a picture as int"),
    ],
)
def test_pictures_that_are_none(tmp_path: Path, picture: object, says: str) -> None:
    message = refusal(jsonl(tmp_path / "q.jsonl", {"question": "?", "answer": 1, "image": picture}))
    assert "q.jsonl:1" in message
    assert says in message


# --------------------------------------------------------------------------------------------------------------------
# Files


def test_csv_with_quotes_line_breaks_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "options", "answer"])
        writer.writerow(["q1", 'He said "up",\nor "down"?', "A: up\nB: down", "B"])
        writer.writerow(["q2", "Größe?", "", "1,5"])
        writer.writerow(["q3", "How many?", "", "3"])
    first, second, third = opened(path)
    assert first.question == 'He said "up",\nor "down"?'
    assert first.gold == ChoiceGold(labels=("B",))
    assert (second.id, second.question) == ("q2", "Größe?")
    assert third.gold == NumberGold(value="3")


CELL = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20).map(str.strip)


@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=8), st.sampled_from([",", ";", "\t"]))
def test_what_a_spreadsheet_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], separator: str
) -> None:
    """Rows come back in order, and each is where it says: its text starts on the line that it names."""
    path = tmp_path_factory.mktemp("csv") / "q.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerows([("a", "b", "c"), *rows])
    read = list(read_csv(path))
    kept = [(number, row) for number, row in enumerate((row for row in rows if any(row)), 1)]
    assert [tuple(row.fields.values()) for row in read] == [row for _, row in kept]
    assert [row.where.split(" (")[0] for row in read] == [f"q.csv: row {number}" for number, _ in kept]


@pytest.mark.parametrize(("name", "separator"), [("q.csv", ","), ("q.csv", ";"), ("q.csv", "\t"), ("q.tsv", "\t")])
def test_the_separator_of_a_csv_file(tmp_path: Path, name: str, separator: str) -> None:
    path = tmp_path / name
    path.write_text(separator.join(["question", "answer"]) + "\r\n" + separator.join(["a, b?", "x"]).join("\n\n"))
    if separator == ",":
        path.write_text('question,answer\r\n"a, b?",x\r\n')
    (sample,) = opened(path)
    assert (sample.question, sample.gold) == ("a, b?", TextGold(values=("x",)))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'question,answer\n"two\nlines",1\n\nshort\nlast,2\n', "q.csv: row 2 (line 5): has 1 cells"),
        (b'question,answer\n"a"b,1\nlast,2\n', "q.csv: row 1 (line 2): is not valid CSV"),
        (b'question,answer\na,1\n"never closed,2\n', "q.csv: row 2 (line 3): is not valid CSV"),
        (b"question,question\na,1\n", "twice"),
        (b"question,,answer\na,1,2\n", "a column without a name"),
        ("question,answer\nÄ,1\n".encode("utf-16"), "is not UTF-8"),
        ("question,answer\nÄ,1\n".encode("latin-1"), "is not UTF-8"),
        (b"question,answer\n", "holds no rows"),
        (b"", "holds no rows"),
        (b"question,answer\n1\n", "q.csv: row 1 (line 2): has 1 cells"),
    ],
)
def test_csv_that_is_none(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "q.csv").write_bytes(content)
    message = refusal(tmp_path / "q.csv")
    assert says in message
    assert "last" not in message


def test_json_of_several_shapes_and_mixed_types(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "question": "a?", "answer": 3, "level": 1},
        {"id": "2", "question": 7, "answer": "x", "level": "1"},
        {"id": 3.0, "question": "c?", "answer": 2.5, "level": None},
    ]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    samples = list(opened(tmp_path / "q.json"))
    assert [sample.id for sample in samples] == ["1", "2", "3"]
    assert [sample.gold for sample in samples] == [
        NumberGold(value="3"),
        TextGold(values=("x",)),
        NumberGold(value="2.5"),
    ]


def test_parquet_with_pictures_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    picture = file_of(noise("RGB", (8, 8)), "PNG")
    table = arrow.Table.from_pylist(
        [
            {"question": "a?", "choices": ["x", "y"], "answer": "B", "image": {"bytes": picture, "path": "a.png"}},
            {"question": "b?", "choices": None, "answer": "3", "image": {"bytes": picture, "path": None}},
            {"question": "c?", "choices": [], "answer": None, "image": None},
        ]
    )
    parquet.write_table(table, tmp_path / "q.parquet")
    first, second, third = opened(tmp_path / "q.parquet")
    assert first.id == "1"
    assert first.gold == ChoiceGold(labels=("B",))
    assert Path(first.images[0]).read_bytes() == picture
    assert first.group == second.group != third.group
    assert (third.images, third.gold) == ((), None)


def test_a_folder_with_one_table(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "images" / "a.png")
    jsonl(tmp_path / "q.jsonl", {"question": "?", "answer": 1, "image": "images/a.png"})
    assert len(opened(tmp_path)) == 1
    jsonl(tmp_path / "r.jsonl", {"question": "?", "answer": 1})
    assert "q.jsonl, r.jsonl" in refusal(tmp_path)
    dataset = open_own("own:x", Source(data=tmp_path, split="r"))
    assert (len(dataset), dataset.split) == (1, "r")


def test_bad_rows_of_a_file_are_named_together(tmp_path: Path) -> None:
    rows = [{"question": "", "answer": 1}] * 4 + ['{"question": "x'] * 3 + [{"question": "ok?", "answer": 1}]
    message = refusal(jsonl(tmp_path / "q.jsonl", *rows))
    assert "7 rows can't be used (the first 5: q.jsonl:1 has no question" in message
    assert "q.jsonl:5 is not valid JSON" in message


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv"])
def test_a_cell_of_ten_megabytes(tmp_path: Path, name: str) -> None:
    long = "x" * 10_000_000
    path = tmp_path / name
    if name == "q.csv":
        path.write_text(f"question,answer\n{long},1\nshort?,{long}\n")
    else:
        jsonl(path, {"question": long, "answer": 1}, {"question": "short?", "answer": long})
    message = refusal(path)
    assert "a question of 10,000,000 characters" in message
    assert "an answer of more than 2,000 characters" in message
    assert len(message) < 1_000


def test_streaming_gives_the_same_samples_again(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "q.jsonl", *({"question": f"{n}?", "answer": n} for n in range(20)))
    dataset = opened(path)
    assert list(dataset) == list(dataset)
    assert dataset.revision == opened(path).revision
    jsonl(path, {"question": "other?", "answer": 1})
    assert dataset.revision != opened(path).revision


# --------------------------------------------------------------------------------------------------------------------
# Real rows as somebody's own file


def test_rows_of_financial_charts(shared_data: Path) -> None:
    """FinChart-Bench's own fields: choices by label, True and False, numbers; each marks its own answer right."""
    folder = shared_data / "finchartbench"
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    dataset = open_own("own:questions.jsonl", Source(data=folder / "questions.jsonl", need_pictures=False))
    assert len(dataset) == len(rows)
    benchmark = load_benchmark("own:questions.jsonl")
    wrong = {"TF": {"True": "False", "False": "True"}, "MC": {"A": "B", "B": "C", "C": "D", "D": "A"}}
    kinds = {"TF": "choice", "MC": "choice"}
    for row, sample in zip(rows, dataset, strict=True):
        assert sample.facets["type"] == (row["type"],)
        if row["type"] in kinds:
            assert sample.facets["question_type"] == (kinds[row["type"]],)
        written = str(row["answer"])
        assert benchmark.mark(sample, Reply(text=f"So.\nAnswer: {written}")).robust.verdict == "right", row
        other = wrong.get(row["type"], {}).get(written) or "-987654.25"
        assert benchmark.mark(sample, Reply(text=f"So.\nAnswer: {other}")).robust.verdict != "right", row


def test_rows_of_mathematics(shared_data: Path) -> None:
    """DynaMath's seed questions hold numbers, words, letters, intervals and points."""
    path = shared_data / "dynamath" / "seed_questions.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    dataset = open_own("own:seed_questions.jsonl", Source(data=path, need_pictures=False))
    benchmark = load_benchmark("own:seed_questions.jsonl")
    refused = [
        row["id"]
        for row, sample in zip(rows, dataset, strict=True)
        if benchmark.mark(sample, Reply(text=f"Answer: {row['answer']}")).robust.verdict != "right"
    ]
    assert refused == []
