"""Every example runs as its first lines say, on packaged data."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def example(name: str, folder: Path, *arguments: str) -> str:
    """What an example prints, run in `folder`."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_a_test_for_each() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "evaluate",
        "refine",
        "own_critic",
        "own_search",
        "reselect",
    }


def test_evaluate(tmp_path: Path) -> None:
    assert example("evaluate", tmp_path).splitlines() == ["60 samples done, 0 failed", "robust: 10 of 60 right"]
    assert "60 samples done" in example("evaluate", tmp_path)


@pytest.fixture(scope="module")
def refined(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("refine")
    return folder, example("refine", folder)


def test_refine(refined: tuple[Path, str]) -> None:
    """Ten questions: of the draws 0 and 1 the second misreads, and is refined."""
    assert "Refinement: 10 solutions refined, 10 drawn again" in refined[1]
    assert "Refined-BoN@4" in refined[1]
    assert "Judged all-correct: 20 of 40 (50.00 %)" in refined[1]


def test_own_critic(tmp_path: Path) -> None:
    lines = example("own_critic", tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["greedy", "self-consistency", "best-of-n", "weighted-vote", "pass"]


def test_own_search(tmp_path: Path) -> None:
    """The answers go A, B, A, B: the third solution agrees with the first."""
    assert example("own_search", tmp_path).endswith("30 solutions asked for\n")


def test_reselect(refined: tuple[Path, str]) -> None:
    lines = example("reselect", refined[0]).splitlines()
    assert len(lines) == 2 + 3 * 5
    assert all(line.endswith("of 10 right") for line in lines)
