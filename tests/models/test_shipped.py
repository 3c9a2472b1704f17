"""The models that come with the package: names, folders, and what is said where the weights are missing."""

import json
from functools import partial
from pathlib import Path

import pytest

from assay.engine.store import RunStore
from assay.errors import DataError
from assay.models import open_model
from assay.models.base import parse_address
from assay.models.shipped import SHIPPED, shipped
from assay.solve.pool import PoolRecord, pools_of
from assay.solve.records import Critique
from support.command import run
from support.tiny import build_llava


def test_a_name_stands_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "critic").mkdir()
    (tmp_path / "critic" / "model.safetensors").write_bytes(b"weights")
    assert shipped("tiny-critic", root=tmp_path) == tmp_path / "critic"


def test_missing_weights_are_named_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"local:tiny-policy: its weights are not in .*policy\. .*make miniature"):
        shipped("tiny-policy", root=tmp_path)


def test_a_mistyped_name_is_told_the_real_ones() -> None:
    with pytest.raises(DataError, match="tiny-policy or tiny-critic"):
        open_model(parse_address("local:tiny-polcy"))


def test_the_list_of_models_has_a_line_for_each() -> None:
    lines = run("list", "models").out.splitlines()
    assert [line.split()[0] for line in lines] == [f"local:{name}" for name in SHIPPED]


@pytest.mark.local
def test_a_shipped_model_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.models.local_checkpoint import load_checkpoint

    build_llava(tmp_path / "policy")
    monkeypatch.setattr("assay.models.local_checkpoint.shipped", partial(shipped, root=tmp_path))
    assert load_checkpoint("tiny-policy").identity.startswith("local:tiny-policy:")


@pytest.mark.local
def test_the_shipped_policy_is_good_but_fallible_and_the_shipped_critic_writes_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    questions = 100
    searched = ("--search", "refined-bon", "--n", "2", "--critic", "local:tiny-critic", "--score-on", "product")
    done = run(
        *("eval", "fincharts-lite", "--split", f"held-out:{questions}", "--model", "local:tiny-policy", *searched),
        *("--out", tmp_path / "run", "--json"),
    )
    assert done.code == 0, done.err
    controls = json.loads(done.out)["controls"]
    # Greedy accuracy on 1,500 questions was 56 %: on 100 of them three standard errors are 15 points.
    assert 0.41 < controls["strategies"]["greedy"]["robust"]["accuracy"] < 0.71
    # Of 12,000 solutions the critic found fault with 5,619 wrong and 351 right ones; four in five refined came right.
    critic = controls["critic"]
    assert critic["judged"] >= 0.95 * critic["asked"]
    assert critic["flagged_wrong"] > 5 * critic["flagged_right"]
    assert controls["refinement"]["helped"] > 0.55 * controls["refinement"]["wrong_before"]


@pytest.mark.local
def test_shipped_models_answer_alike_in_any_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    searched = ("--search", "refined-bon", "--n", "2", "--critic", "local:tiny-critic", "--model", "local:tiny-policy")
    found: list[dict[str, PoolRecord]] = []
    for name, options in (("all", ()), ("few", ("--batch-size", "3", "--concurrency", "2"))):
        folder = tmp_path / name
        done = run("eval", "fincharts-lite", "--split", "held-out:12", *searched, *options, "--out", folder)
        assert done.code == 0, done.err
        with RunStore.open(folder) as store:
            found.append({record.sample_id: record for record in pools_of(store)})
    one, other = found
    assert len(one) == len(other) == 12
    for name, record in one.items():
        assert [judged.solution.text for judged in record.pool] == [judged.solution.text for judged in other[name].pool]
        for judged, again in zip(record.pool, other[name].pool, strict=True):
            if isinstance(judged.critique, Critique):
                assert isinstance(again.critique, Critique)
                assert [step.score for step in judged.critique.steps] == pytest.approx(
                    [step.score for step in again.critique.steps], abs=1e-5
                )
