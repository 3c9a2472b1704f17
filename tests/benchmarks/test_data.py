"""Rows into checked data sets: JSONL, parquet, the hub's cache; and what a user is told about bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from assay.benchmarks.data import RowContext, RowsDataset, rows_dataset
from assay.benchmarks.pictures import PictureStore, extension
from assay.benchmarks.tables import hash_files, hub_table, local_table, read_jsonl
from assay.errors import DataError, MarkError
from assay.types import ChoiceGold, Mark, Marked, Option, Reply, Sample

PNG = b"\x89PNG\r\n\x1a\n" + b"not a whole picture, but a file"
LETTERS = tuple(Option(label=label) for label in "ABCD")


def convert(row: dict[str, Any], context: RowContext) -> Sample:
    image = row.get("image")
    if row.get("domain") is None:
        context.note("have no domain")
    return Sample(
        id=str(row["id"]),
        question=str(row.get("q", "")),
        images=() if image is None else (context.picture(image),),
        options=LETTERS,
        gold=ChoiceGold(labels=(row["answer"],)) if row.get("answer") else None,
        group=str(row["id"]),
    )


def mark(sample: Sample, reply: Reply) -> Marked:
    """Refuses its own gold D, and fails on C."""
    if reply.text == "C":
        raise MarkError("too hard")
    verdict = Mark(verdict="wrong" if reply.text == "D" else "right")
    return Marked(reference=verdict, robust=verdict)


def gold_reply(sample: Sample) -> str:
    assert isinstance(sample.gold, ChoiceGold)
    return sample.gold.labels[0]


def opened(path: Path, **keywords: Any) -> RowsDataset:
    table = local_table(path, "train")
    return rows_dataset(table, convert, split="train", mark=mark, gold_reply=gold_reply, **keywords)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def parquet(path: Path, rows: list[dict[str, Any]], **keywords: Any) -> Path:
    arrow: Any = pyarrow
    table = arrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, path, **keywords)
    return path


def row(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "answer": "A", "domain": "TMT", **fields}


# --------------------------------------------------------------------------------------------------------------------
# Good input


def test_iterating_twice_reads_the_same_samples(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "train.jsonl", [row(1), row(2)])
    dataset = opened(path)
    assert len(dataset) == 2
    assert [sample.id for sample in dataset] == ["1", "2"]
    assert list(dataset) == list(dataset)
    assert dataset.facts == ()
    assert dataset.split == "train"


def test_revision_is_the_files_sha256(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(b"abc")
    # FIPS 180-2, appendix B.1: the SHA-256 of "abc".
    assert hash_files((path,)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_revision_of_several_files_depends_on_names_and_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "b"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    both = hash_files((one, two))
    assert both != hash_files((two, one))
    two.write_bytes(b"3")
    assert both != hash_files((one, two))


def test_blank_lines_a_byte_order_mark_and_nan_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 1}\r\n\r\n{"id": 2, "tolerance": NaN}')
    rows = list(read_jsonl(path))
    assert [row.where for row in rows] == ["train.jsonl:1", "train.jsonl:3"]
    assert rows[1].fields["tolerance"] != rows[1].fields["tolerance"]  # NaN


def test_a_folder_is_searched_for_the_split(tmp_path: Path) -> None:
    jsonl(tmp_path / "rows.jsonl", [row(1)])
    assert local_table(tmp_path, "train", names=("rows",)).files == (tmp_path / "rows.jsonl",)
    jsonl(tmp_path / "train.jsonl", [row(2)])
    assert local_table(tmp_path, "train", names=("rows",)).files == (tmp_path / "train.jsonl",)


def test_facts_count_rows_and_name_the_first_ids(tmp_path: Path) -> None:
    rows = [row(n, domain=None if n <= 7 else "TMT") for n in range(1, 10)]
    assert opened(jsonl(tmp_path / "train.jsonl", rows)).facts == (
        "7 of 9 rows have no domain (ids 1, 2, 3, 4, 5, ...).",
    )
    rows = [row(n, domain=None) for n in (1, 2)]
    assert opened(jsonl(tmp_path / "train.jsonl", rows)).facts == ("2 of 2 rows have no domain.",)


def test_a_gold_that_the_grader_refuses_is_a_fact(tmp_path: Path) -> None:
    rows = [row(1), row(2, answer="D"), row(3, answer="C"), row(4, answer=None)]
    assert opened(jsonl(tmp_path / "train.jsonl", rows)).facts == (
        "2 of 4 rows have an answer that the grader itself does not accept (ids 2, 3).",
    )


# --------------------------------------------------------------------------------------------------------------------
# Pictures


def test_pictures_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").write_bytes(PNG)
    rows = [
        row(1, image="images/1.png"),
        row(2, image={"bytes": None, "path": "images/1.png"}),
        row(3, image=str(tmp_path / "images" / "1.png")),
    ]
    dataset = opened(jsonl(tmp_path / "train.jsonl", rows))
    assert {sample.images for sample in dataset} == {(str(tmp_path / "images" / "1.png"),)}


def test_pictures_inside_parquet_are_written_out_once(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "answer": "A", "image": {"bytes": PNG, "path": "x.png"}, "domain": "TMT"},
        {"id": 2, "answer": "B", "image": {"bytes": PNG, "path": None}, "domain": "TMT"},
    ]
    parquet(tmp_path / "train.parquet", rows)
    store = PictureStore(tmp_path / "cache")
    dataset = opened(tmp_path, store=store)
    first, second = dataset
    assert first.images == second.images
    picture = Path(first.images[0])
    assert picture.read_bytes() == PNG
    assert picture.suffix == ".png"
    before = picture.stat()
    assert list(dataset) == [first, second]
    assert (picture.stat().st_mtime_ns, picture.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [picture]


def test_bare_bytes_and_several_shards(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for shard in (0, 1):
        rows = [{"id": shard * 100 + n, "answer": "A", "image": PNG, "domain": "TMT"} for n in range(70)]
        path = tmp_path / "data" / f"train-0000{shard}-of-00002.parquet"
        parquet(path, rows, row_group_size=20)
    dataset = opened(tmp_path, store=PictureStore(tmp_path / "cache"))
    assert [sample.id for sample in dataset] == [str(n) for n in (*range(70), *range(100, 170))]


def test_a_damaged_cached_picture_is_mended(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    path = store.put(PNG)
    path.write_bytes(b"")
    assert store.put(PNG) == path
    assert path.read_bytes() == PNG


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0....", "jpg"),
        (b"GIF89a", "gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "webp"),
        (b"BM......", "bmp"),
        (b"II*\x00", "tiff"),
        (b"MM\x00*", "tiff"),
        (b"", "bin"),
        (b"<html>", "bin"),
    ],
)
def test_extension_comes_from_the_bytes(data: bytes, expected: str) -> None:
    assert extension(data) == expected


# --------------------------------------------------------------------------------------------------------------------
# Bad input: one clear sentence each


def refusal(path: Path, **keywords: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        opened(path, **keywords)
    return caught.value


def test_missing_file(tmp_path: Path) -> None:
    assert "nowhere.jsonl: is not there." in str(refusal(tmp_path / "nowhere.jsonl"))


def test_wrong_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "train.xlsx").write_text("id\n1\n")
    assert "is not .jsonl, .json, .csv, .tsv or .parquet" in str(refusal(tmp_path / "train.xlsx"))


def test_folder_without_the_split_names_what_is_there(tmp_path: Path) -> None:
    jsonl(tmp_path / "test.jsonl", [row(1)])
    assert "holds no train.jsonl" in str(refusal(tmp_path))
    assert "test.jsonl" in str(refusal(tmp_path))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": 2, ', "is not valid JSON"),
        (b"[1]", "is a JSON list, not an object"),
        (b"7", "is a JSON int, not an object"),
        (b'{"id": "\xff"}', "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
    ],
)
def test_broken_line_is_named_by_its_number(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(b'{"id": 1, "answer": "A", "domain": "x"}\n' + line + b"\n")
    error = refusal(path)
    assert error.where == "train.jsonl:2"
    assert error.problem.startswith(problem)


def test_duplicate_id_names_both_rows(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "train.jsonl", [row(1), row(2), row(1)])
    assert str(refusal(path)) == (
        "train.jsonl:3: has the id '1' of train.jsonl:1. Give each question an id of its own."
    )


def test_missing_picture(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "train.jsonl", [row(1), row(2, image="images/2.png")])
    assert str(refusal(path)) == (
        f"train.jsonl:2: names the picture {tmp_path}/images/2.png, which is not there. "
        "Put it there, or mend the row's path."
    )


def test_missing_pictures_are_a_fact_where_none_are_needed(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "train.jsonl", [row(1), row(2, image="images/2.png")])
    assert opened(path, need_pictures=False).facts == ("1 of 2 rows name a picture that is not there (ids 2).",)


def test_picture_of_a_strange_kind(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "train.jsonl", [row(1, image=7)])
    assert "train.jsonl:1: holds a picture as int." in str(refusal(path))
    path = jsonl(tmp_path / "train.jsonl", [row(1, image={"bytes": None, "path": None})])
    assert "train.jsonl:1: holds a picture as NoneType." in str(refusal(path))


def test_gold_outside_the_options(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "train.jsonl", [row(1), row(2, answer="E")])
    assert str(refusal(path)) == (
        "train.jsonl:2: has the answer E, which is not among its options A, B, C, D. "
        "Mend the row's answer or its options."
    )


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    rows = [row(n, answer="A" if n == 1 else "E") for n in range(1, 9)]
    message = str(refusal(jsonl(tmp_path / "train.jsonl", rows)))
    assert "7 rows can't be used (the first 5: train.jsonl:2 has the answer E" in message
    assert "train.jsonl:6" in message
    assert "train.jsonl:7" not in message
    assert message.count("Mend the row's answer or its options.") == 1


def test_no_rows(tmp_path: Path) -> None:
    assert "holds no rows" in str(refusal(jsonl(tmp_path / "train.jsonl", [])))


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert "can't be read as parquet" in str(refusal(tmp_path))


# --------------------------------------------------------------------------------------------------------------------
# The hub. Its library reads its settings when imported, hence a process of its own.

SCRIPT = """
from assay.benchmarks.tables import hub_table
table = hub_table("someone/Charts", "train")
print(table.revision, len(list(table)), *[file.name for file in table.files])
"""


def ask_hub(home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", **environment}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=settings, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_hubs_cache_is_enough(tmp_path: Path) -> None:
    """Case 241: what was fetched once is used where there is no network."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    folder = tmp_path / "hub" / "datasets--someone--Charts"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    data = folder / "snapshots" / commit / "data"
    data.mkdir(parents=True)
    parquet(data / "train-00000-of-00001.parquet", [{"id": number} for number in (1, 2, 3)])
    done = ask_hub(tmp_path)
    assert done.stdout.split() == [commit, "3", "train-00000-of-00001.parquet"], done.stderr


def test_no_network_and_no_cache_is_one_sentence_with_the_remedy(tmp_path: Path) -> None:
    done = ask_hub(tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("assay.errors.UsageError: someone/Charts can't be fetched from the hub (")
    assert last.endswith("Fetch it where there is a network, and give its folder with --data.")


def test_hub_table_is_importable_without_the_library() -> None:
    assert callable(hub_table)
    heavy = {"pyarrow", "huggingface_hub", "numpy", "PIL"}
    code = f"import sys, assay.benchmarks, assay.benchmarks.data; print({heavy!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("rows", [3, 4096, 4097])
def test_held_or_read_again_the_samples_are_the_same(tmp_path: Path, rows: int) -> None:
    """Up to 4,096 samples are held, more are converted anew: whoever iterates must not see which."""
    dataset = opened(jsonl(tmp_path / "train.jsonl", [row(number) for number in range(rows)]))
    first, second = list(dataset), list(dataset)
    assert [sample.id for sample in first] == [str(number) for number in range(rows)]
    assert first == second
    assert len(dataset) == rows
