"""`assay data fincharts` as a user types it."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli import app, exit_code
from assay.errors import AssayError

needs_charts = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("matplotlib", "mplfinance", "six")), reason="needs the extra `charts`"
)


def said(*arguments: str) -> str:
    """The output of a command that must succeed."""
    result = CliRunner().invoke(app, ["data", "fincharts", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> tuple[int, str]:
    """Exit code and sentence of a command that must fail."""
    result = CliRunner().invoke(app, ["data", "fincharts", *arguments])
    if isinstance(result.exception, AssayError):
        return exit_code(result.exception), str(result.exception)
    assert result.exit_code != 0
    return result.exit_code, result.output


@needs_charts
def test_a_folder_is_made_and_described(tmp_path: Path) -> None:
    out = tmp_path / "charts"
    text = said("--seed", "2", "--count", "3", "--out", str(out), "--workers", "1", "--rationales", "--variants", "2")
    assert f"{out}: 6 questions (3 seed questions, 2 variants each); 6 pictures drawn" in text
    assert "question_type: " in text
    assert f"Next: assay eval fincharts --data {out}" in text
    again = json.loads(
        said(
            "--seed",
            "2",
            "--count",
            "3",
            "--out",
            str(out),
            "--workers",
            "1",
            "--rationales",
            "--variants",
            "2",
            "--json",
        )
    )
    assert (again["drawn"], again["kept"], again["questions"]) == (0, 6, 6)


@needs_charts
def test_prices_of_ones_own_are_drawn(tmp_path: Path, shared_data: Path) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text('{"chart_class": {"Line": 1}}')
    prices = shared_data / "ohlcv" / "yahoofinance-AAPL-20040819-20180120.csv"
    out = tmp_path / "charts"
    said(
        *("--seed", "1", "--count", "12", "--out", str(out), "--weights", str(weights), "--workers", "1"),
        *("--ohlcv", str(prices), "--from", "2006-01-01", "--to", "2012-12-31"),
    )
    real = [json.loads(line) for line in (out / "items.jsonl").read_text().splitlines()]
    real = [item for item in real if item["chart"]["real"]]
    assert real
    held = {line.split(",")[0]: line.split(",") for line in prices.read_text().splitlines()}
    for item in real:
        assert "2006-01-01" <= item["chart"]["start"] <= item["chart"]["end"] <= "2012-12-31"
        closes = item["chart"]["table"]["rows"][3]["values"]
        for day, close in zip(item["chart"]["extra"]["days"], closes, strict=True):
            assert close == pytest.approx(float(held[day][4]), abs=0.0051)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--languages", "xx"), "--languages 'xx' names no language that there is: choose from en (English)"),
        (("--languages", ","), "names no language"),
        (("--weights", "missing.json"), "there is no such file. Give finmme, uniform or a JSON file"),
        (("--ohlcv", "missing.csv"), "does not exist"),
        (("--from", "yesterday"), "does not match the format"),
        (("--variants", "0"), "0 is not in the range"),
    ],
)
def test_bad_options_are_named(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    code, text = refused("--seed", "1", "--count", "1", "--out", str(tmp_path / "out"), *arguments)
    assert code == 2
    assert sentence in text
    assert not (tmp_path / "out").exists()


@needs_charts
def test_prices_outside_the_window_are_refused(tmp_path: Path, shared_data: Path) -> None:
    prices = shared_data / "ohlcv" / "SP500_NOV2019_Hist.csv"
    code, text = refused(
        *("--seed", "1", "--count", "1", "--out", str(tmp_path / "out"), "--ohlcv", str(prices)),
        *("--from", "2020-01-01", "--to", "2024-12-31"),
    )
    assert code == 2
    assert "has 0 sessions between 2020-01-01 and 2024-12-31" in text


@needs_charts
def test_another_request_for_the_folder_is_refused(tmp_path: Path) -> None:
    said("--seed", "2", "--count", "1", "--out", str(tmp_path), "--workers", "1")
    code, text = refused("--seed", "3", "--count", "1", "--out", str(tmp_path), "--workers", "1")
    assert code == 1
    assert "was made with another seed: give another folder" in text
