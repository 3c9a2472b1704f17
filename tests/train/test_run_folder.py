"""What several processes do in one run's folder."""

from pathlib import Path

from assay.train.run_folder import RunFolder


def test_a_process_that_does_not_write_leaves_what_another_one_is_writing(tmp_path: Path) -> None:
    part = tmp_path / ".model.part"
    part.mkdir()
    (part / "model.safetensors").write_bytes(b"the first process is here already")
    called: list[Path] = []
    RunFolder(tmp_path, writes=False).replace(tmp_path / "model", called.append)
    assert called == [part]
    assert (part / "model.safetensors").exists()
    assert not (tmp_path / "model").exists()


def test_the_process_that_writes_puts_a_whole_folder_in_the_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").touch()
    (tmp_path / ".model.part").mkdir()
    (tmp_path / ".model.part" / "left over").touch()

    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / "new").touch()

    RunFolder(tmp_path, writes=True).replace(tmp_path / "model", write)
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["new"]
    assert not list(tmp_path.glob(".model.*"))
