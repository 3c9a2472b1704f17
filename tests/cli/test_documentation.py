"""The documentation is true: its commands run, the command-line page is the commands' own, shown output is real."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.reference import page
from support.command import PACKAGED, run
from support.servers import ChatServer

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_command_page_is_made_from_the_commands() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == page(), "run `make docs-cli`"


def blocks() -> list[str]:
    return re.findall(r"```\n(.*?)```", README, re.DOTALL)


def test_readme_opens_with_the_two_commands() -> None:
    assert re.findall(r"^make (\w+)", blocks()[0], re.MULTILINE) == ["demo", "test"]


def test_readme_shows_what_the_demonstration_prints(tmp_path: Path) -> None:
    done = run("demo", "--replay", "--out", tmp_path / "demo")
    assert done.code == 0, done.err
    shown = next(block for block in blocks() if block.startswith("The result: MATH-Vision"))
    assert shown in done.out


def test_readme_commands_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every `assay` line outside the demonstration, on the packaged data, with a server for NAME."""
    monkeypatch.chdir(tmp_path)
    data = PACKAGED / "mathvision"
    (tmp_path / "replies.jsonl").write_bytes((data / "replies" / "Gemini-Pro.jsonl").read_bytes())
    own = {"id": 1, "question": "Which letter comes first?", "options": ["A", "B"], "answer": "A"}
    (tmp_path / "my.jsonl").write_text(json.dumps(own) + "\n")
    commands = [line for block in blocks() for line in block.splitlines() if line.startswith("assay ")]
    shown = {command.split()[1] for command in commands}
    assert shown == {"eval", "score", "compare", "data", "board", "select", "prm"}
    with ChatServer(answer=lambda _call, _draw: "\\boxed{A}") as server:
        for command in commands:
            # The packaged items are the testmini split; the README's `test` stands for the user's full data.
            words = command.replace("DATA", str(data)).replace("NAME", "test-model").replace("--split test ", "")
            words = words.replace("http://127.0.0.1:8000/v1", server.url).removesuffix("--split test")
            arguments = words.split()[1:]
            if "mathvision" in arguments and "--split" not in arguments:
                arguments += ["--split", "testmini"]
            done = run(*arguments)
            assert done.code == 0, (command, done.err)
            if arguments[0] == "eval":
                second = [part.replace("runs/a", "runs/b") for part in arguments]
                assert run(*second).code == 0


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / target).exists(), target


def test_papers_name_files_that_exist() -> None:
    text = (ROOT / "PAPERS.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w/.*]+\.(?:py|toml|txt)|[\w/]+/)", text):
        places = [ROOT / name if name.startswith(("tests/", "bench/", "recipes/")) else ROOT / "src" / "assay" / name]
        found = any(list(place.parent.glob(place.name)) for place in places)
        assert found, name


HEAVY = ("torch", "transformers", "sympy", "datasets", "pyarrow", "numpy", "PIL", "aiohttp", "rich", "math_verify")


@pytest.mark.parametrize(
    "code",
    [
        "import assay",
        "from assay.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass",
    ],
    ids=["import assay", "assay --help"],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    check = f"{code}\nimport sys\nprint(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
