"""We-Math: the published output of URSA-8B, against what the official scripts print for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import run

FULL = {"ik": 197, "ig": 56}
STRICT, LOOSE = {**FULL, "cm": 141, "rm": 131}, {**FULL, "cm": 253, "rm": 19}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict[str, Any]:
    return json.loads((shared_data / "wemath" / "parity" / "ursa8b_scores.json").read_text(encoding="utf-8"))


def score(shared_data: Path, data: str) -> dict[str, Any]:
    folder = shared_data / "wemath"
    replies = folder / "parity" / "ursa8b_all1740.jsonl"
    done = run("score", "wemath", "--replies", replies, "--data", folder / data, "--json")
    assert done.code == 0, done.err
    return done.json


def test_the_whole_output_scored_by_its_own_rows(shared_data: Path, published: dict[str, Any]) -> None:
    result = score(shared_data, "parity/ursa8b_all1740.jsonl")
    assert result["samples"] == 1740
    found = result["wemath"]["reference"]
    assert {key: found["strict"][key] for key in STRICT} == STRICT
    assert {key: found["loose"][key] for key in LOOSE} == LOOSE
    assert round(100 * found["strict"]["score"], 2) == 32.19
    assert round(100 * found["loose"]["score"], 2) == 53.52
    assert [round(100 * found[key], 2) for key in ("s1", "s2", "s3")] == [63.13, 56.39, 41.82]
    assert len(found["domains"]) == 12
    # Every number that the official scripts print, domains included, to the last digit.
    assert result["wemath"]["official"] == published["official_script_output_full_525"]


def test_the_packed_problems_and_the_rest_beside_them(shared_data: Path, published: dict[str, Any]) -> None:
    result = score(shared_data, "")
    subset = published["independent_recomputation_subset_in_pack"]
    found = result["wemath"]["reference"]
    assert (result["samples"], found["problems"], found["incomplete_problems"]) == (696, 210, 0)
    for form in ("strict", "loose"):
        ours = found[form]
        assert round(100 * ours["score"], 2) == subset[f"score_{form}"]
        assert (ours["ik"], ours["ig"]) == (subset["IK"], subset["IG"])
        assert (ours["cm"], ours["rm"]) == (subset[f"CM_{form}"], subset[f"RM_{form}"])
        assert round(100 * ours["rm_rate"], 2) == subset[f"RM_rate_{form}"]
    assert [round(100 * found[key], 2) for key in ("s1", "s2", "s3")] == [subset[key] for key in ("S1", "S2", "S3")]
    assert (round(100 * found["strict"]["score"], 2), round(100 * found["loose"]["score"], 2)) == (32.86, 52.86)

    beyond = result["recorded_rows"]
    assert beyond["samples"] == 1740
    assert beyond["wemath"]["official"] == published["official_script_output_full_525"]
    assert any(
        note.startswith("1,044 recorded replies have ids that the data does not hold") for note in result["notes"]
    )
