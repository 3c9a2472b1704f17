"""`assay list benchmarks`: what each is, how large, its licence, where its data comes from, whether it is here."""

import json
from pathlib import Path

import pytest

from assay.benchmarks import BENCHMARKS
from assay.benchmarks.places import data_folder, hub_copy
from assay.errors import DataError
from support.command import PACKAGED, run


def test_plain_list_has_a_line_for_each() -> None:
    done = run("list")
    names = [line.split()[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert names == sorted(BENCHMARKS)
    # Every line's text begins in the same column, however long the names.
    starts = {
        len(line) - len(line.removeprefix(line.split()[0]).lstrip()) for line in done.out.splitlines() if line[0] != " "
    }
    links = {len(line) - len(line.lstrip()) for line in done.out.splitlines() if line[0] == " "}
    assert starts == links
    assert len(starts) == 1


def test_each_benchmark_says_what_it_is_and_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "mathvision").mkdir()
    (tmp_path / "mathvision" / "test.jsonl").write_text("{}\n")
    (tmp_path / "finmme").mkdir()  # nothing in it
    done = run("list", "benchmarks", "--data", tmp_path, "--json")
    listed = {one["name"]: one for one in json.loads(done.out)}
    assert set(listed) == set(BENCHMARKS)
    assert listed["mathvision"]["sizes"] == {"test": 3040, "testmini": 304}
    assert listed["mathvision"]["here"] == str(tmp_path / "mathvision")
    assert listed["finmme"]["sizes"] == {"train": 11099}
    assert listed["finmme"]["hub"] == "luojunyu/FinMME"
    text = run("list", "benchmarks", "--data", tmp_path).out
    assert "samples (published): test 3,040, testmini 304; default split test" in text
    assert f"on this machine: yes, {tmp_path / 'mathvision'}" in text
    for one in listed.values():
        assert one["licence"]
        assert one["links"]


def test_options_of_the_long_list_belong_to_it(tmp_path: Path) -> None:
    assert run("list", "--json").code == 2
    assert run("list", "--data", tmp_path).code == 2
    assert run("list", "models", "--json").code == 2
    assert run("list", "prices").code == 2
    assert "gone" in run("list", "benchmarks", "--data", tmp_path / "gone").err


def test_the_environment_names_the_folder_of_all_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mathvision").symlink_to(PACKAGED / "mathvision")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    replies = PACKAGED / "mathvision" / "replies" / "Gemini-Pro.jsonl"
    asked = ("score", "mathvision", "--split", "testmini", "--replies", replies, "--json")
    assert run(*asked).json["samples"] == 60
    # What is named on the command line comes first.
    assert "gone" in run(*asked, "--data", tmp_path / "gone").err


def test_folders_of_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mathvista").mkdir()
    assert data_folder("mathvista", root=tmp_path) is None
    (tmp_path / "mathvista" / "testmini.json").write_text("[]")
    assert data_folder("mathvista", root=tmp_path) == tmp_path / "mathvista"
    assert data_folder("mathvista-old", root=tmp_path) == tmp_path / "mathvista"
    assert data_folder("finmme", root=tmp_path) is None
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    assert data_folder("mathvista") is None
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "gone"))
    with pytest.raises(DataError, match="ASSAY_DATA"):
        data_folder("mathvista")


def test_the_hub_cache_is_found_without_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert hub_copy("luojunyu/FinMME") is None
    snapshot = tmp_path / "datasets--luojunyu--FinMME" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    assert hub_copy("luojunyu/FinMME") is None
    (snapshot / "train.parquet").write_bytes(b"PAR1")
    assert hub_copy("luojunyu/FinMME") == snapshot
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    assert hub_copy("luojunyu/FinMME") is None
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hub").symlink_to(tmp_path)
    assert hub_copy("luojunyu/FinMME") is not None
