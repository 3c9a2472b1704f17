"""Refined-BoN over real questions and their pictures, with checkpoints in this process as policy and as critic.

The checkpoints have random weights: their solutions are noise, and so are their critiques. What must hold all the same
is that nothing fails, that every pool is whole, and that a critique which can't be read is counted as that.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.benchmarks import load_benchmark
from assay.benchmarks.base import Source
from assay.engine.store import RunStore
from assay.solve.pool import PoolRecord, pools_of
from assay.solve.records import Unjudged
from assay.types import Failure, Outcome
from support.command import run

pytest.importorskip("torch", reason="needs the extra `local`")
pytest.importorskip("transformers", reason="needs the extra `local`")

pytestmark = [pytest.mark.local, pytest.mark.slow, pytest.mark.timeout(300)]

SPLITS = {"mathvision": "testmini", "wemath": "testmini", "dynamath": "seed", "finchartbench": "test"}
ITEMS = 2
# The longest prompt of a critique of these questions has 1,400 tokens, and a critique may have 4,096.
CONTEXT = 8192


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Models of this size are no faster with more threads, and other tests run beside them."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny import build_llava

    return build_llava(tmp_path_factory.mktemp("llava") / "tiny-llava", context=CONTEXT)


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.tiny import build_qwen

    return build_qwen(tmp_path_factory.mktemp("qwen") / "tiny-qwen", seed=1, context=CONTEXT)


class Searched:
    """A finished search with four solutions, and what lies in its folder."""

    def __init__(self, name: str, data: Path, out: Path, *, policy: Path, critic: str) -> None:
        self.folder = out
        self._command: list[str | Path] = [
            *("eval", name, "--data", data / name, "--split", SPLITS[name], "--limit", str(ITEMS), "--json"),
            *("--model", f"local:{policy}", "--max-tokens", "24", "--out", out),
            *("--search", "refined-bon", "--n", "4", "--critic", critic),
        ]
        self.printed = self.start()
        with RunStore.open(out) as store:
            self.outcomes: list[Outcome] = list(store.outcomes())
            self.pools: list[PoolRecord] = list(pools_of(store))

    def start(self) -> dict[str, Any]:
        done = run(*self._command)
        assert done.code == 0, done.err
        return done.json

    def critiques(self) -> list[object]:
        return [one.critique for pool in self.pools for one in pool.pool if one.critique is not None]

    def replies(self) -> list[tuple[str, bytes]]:
        with sqlite3.connect(self.folder / "replies.sqlite") as replies:
            return replies.execute("SELECT key, reply FROM replies ORDER BY rowid").fetchall()


def assert_whole(found: Searched, name: str, data: Path) -> None:
    """Every question has a picture, an outcome, and four solutions for every strategy; a second start asks nothing."""
    source = Source(data=data / name, split=SPLITS[name])
    asked = [sample for _, sample in zip(range(ITEMS), load_benchmark(name).open(source), strict=False)]
    assert all(sample.images for sample in asked)
    assert {outcome.sample_id for outcome in found.outcomes} == {sample.id for sample in asked}
    assert not [outcome for outcome in found.outcomes if isinstance(outcome.result, Failure)]
    assert found.printed["counts"]["failed"] == 0
    assert found.printed["failures"] == {}
    assert len(found.pools) == ITEMS
    for pool in found.pools:
        assert pool.failures == ()
        assert {member: len(positions) for member, positions in pool.members.items()} == {
            "greedy": 1,
            "plain": 4,
            "refined": 4,
        }
        # The refined pool begins with two of the plain solutions: 1 + 4 + 2.
        assert len(pool.pool) == len(pool.marks) == 7
        assert pool.chosen.chosen in pool.members["refined"]
    kept = {path.name: path.read_bytes() for path in found.folder.glob("*.jsonl")}
    replies = found.replies()
    assert found.start() == found.printed
    assert {path.name: path.read_bytes() for path in found.folder.glob("*.jsonl")} == kept
    assert found.replies() == replies


@pytest.mark.parametrize("name", SPLITS)
def test_a_critic_that_writes(name: str, llava: Path, shared_data: Path, tmp_path: Path) -> None:
    found = Searched(name, shared_data, tmp_path, policy=llava, critic=f"generative:local:{llava}")
    assert_whole(found, name, shared_data)
    critiques = found.critiques()
    unread = [one for one in critiques if isinstance(one, Unjudged) and one.kind in ("unparsable", "truncated")]
    assert len(unread) >= 0.75 * len(critiques)
    # The table is about the solutions that were drawn from the question: four of each.
    critic = found.printed["controls"]["critic"]
    assert critic["asked"] == 4 * ITEMS
    assert critic["judged"] + sum(critic["unjudged"].values()) == critic["asked"]
    assert "failed" not in critic["unjudged"]
    assert critic["unjudged"]["unparsable"] >= 0.5 * critic["asked"]


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("policy", ["llava", "qwen"])
def test_a_critic_that_needs_no_training(
    name: str, policy: str, llava: Path, shared_data: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(policy)
    found = Searched(name, shared_data, tmp_path, policy=folder, critic=f"likelihood:local:{llava}")
    assert_whole(found, name, shared_data)
    # Every solution with any text has a likelihood.
    assert {one.kind for one in found.critiques() if isinstance(one, Unjudged)} <= {"empty"}
    assert found.printed["controls"]["critic"]["judged"] > 0
    refinement = found.printed["controls"]["refinement"]
    assert refinement["refined"] + refinement["resampled"] + refinement["restarted"] == 2 * ITEMS
