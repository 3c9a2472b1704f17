"""DynaMath's published verdicts of ten models: average and worst case, by subject and level, through the command."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import run

# Average and worst-case accuracy in percent, from the published result files.
PUBLISHED = {
    "GPT4o": (63.33, 34.73),
    "claude3.5": (64.83, 35.73),
    "Gemini1.5-Pro": (60.40, 27.15),
    "Qwen2-72B": (55.11, 28.54),
    "InternVL2-76B": (53.61, 24.55),
    "llama-3.2-90B": (44.29, 12.97),
    "Qwen2-7B": (42.14, 13.77),
    "InternVL2-8b": (39.34, 10.38),
    "deepseek7B": (21.62, 4.19),
    "llava1.5-7B": (16.39, 1.80),
}


def score(shared_data: Path, model: str, *more: str) -> dict[str, Any]:
    folder = shared_data / "dynamath"
    replies = folder / "parity" / f"{model}.jsonl"
    done = run("score", "dynamath", "--replies", replies, "--data", folder, "--json", *more)
    assert done.code == 0, done.err
    return done.json


@pytest.mark.parametrize("model", PUBLISHED)
def test_average_and_worst_case(shared_data: Path, model: str) -> None:
    result = score(shared_data, model)
    found = result["dynamath"]["reference"]
    average, worst = PUBLISHED[model]
    assert round(100 * found["average_accuracy"], 2) == average
    assert round(100 * found["worst_case_accuracy"], 2) == worst
    assert (found["n_samples"], found["complete_seeds"]) == (5010, 501)
    assert result["reference"]["accuracy"] == found["average_accuracy"]

    published = json.loads((shared_data / "dynamath" / "parity" / f"{model}.scores.json").read_text(encoding="utf-8"))
    per_variant = list(found["per_variant_accuracy"].values())
    assert per_variant == pytest.approx(published["per_variant_accuracy"], abs=1e-6)
    for facet in ("by_subject", "by_level"):
        assert found[facet].keys() == published[facet].keys()
        for value, cell in published[facet].items():
            ours = found[facet][value]
            assert ours["n"] == cell["n"]
            assert (ours["average"], ours["worst"]) == pytest.approx((cell["average"], cell["worst"]), abs=1e-6)


def test_published_verdicts_are_never_taken_for_replies(shared_data: Path) -> None:
    result = score(shared_data, "GPT4o")
    assert result["dynamath"]["robust"] is None
    assert result["robust"]["accuracy"] is None
    assert result["counts"]["unmarkable"] == 5010
    assert result["differing"]["total"] == 0
    assert any("published verdicts, no replies" in note for note in result["notes"])
    assert any(fact.startswith("179 samples are not in the data") for fact in result["data"])


def test_plane_geometry_alone(shared_data: Path) -> None:
    """The subset of 77 x 10 that papers report."""
    result = score(shared_data, "GPT4o", "--where", "subject=plane geometry")
    found = result["dynamath"]["reference"]
    assert (found["n_seeds"], found["n_samples"]) == (77, 770)
    assert found["average_accuracy"] == pytest.approx(0.567532, abs=1e-6)
    assert found["worst_case_accuracy"] == pytest.approx(0.376623, abs=1e-6)
    assert result["where"] == ["subject=plane geometry"]
    assert "Only samples where subject=plane geometry: 770 of 5,010." in result["data"]
