"""A benchmark's own scores on the terminal, whatever their names."""

import io
import re
from typing import Any

from assay.report.tables import make_console
from assay.report.terminal_scores import print_scores


def printed(scores: dict[str, Any]) -> str:
    out = io.StringIO()
    print_scores(scores, console=make_console(out))
    return out.getvalue()


def test_reference_and_robust_side_by_side() -> None:
    text = printed(
        {
            "sums": {
                "reference": {
                    "mean_score": 0.5,
                    "n": 4,
                    "by_level": {"low": {"n": 3, "score": 0.25}},
                    "first": ("a", "b"),
                },
                "robust": {"mean_score": 0.75, "n": 4, "by_level": {"low": {"n": 3, "score": None}}, "first": ()},
            }
        }
    )
    lines = [line.split() for line in text.splitlines()]
    assert ["reference", "robust"] in lines
    assert ["mean", "score", "50.00", "75.00"] in lines
    assert ["n", "4", "4"] in lines
    assert ["low", "3", "25.00", "-"] in lines  # a count that is the same on both sides stands once
    assert "sums: first (reference): a, b" in text


def test_a_missing_side_is_left_out() -> None:
    text = printed({"sums": {"reference": {"mean": 0.5}, "robust": None}})
    assert "robust" not in text
    assert "50.00" in text


def test_long_tables_and_other_peoples_keys_are_left_to_json() -> None:
    many = {f"value {n}": 0.5 for n in range(41)}
    text = printed({"official": many, "finscore": {"x": 1}, "sums": {"reference": {"by_value": many}}})
    assert "value 1" not in text
    assert "41 rows, see --json" in text
    assert "finscore" not in text


def test_nested_parts_have_their_path_for_a_title() -> None:
    text = printed({"recorded_rows": {"samples": 1740, "sums": {"reference": {"mean": 0.5}}}})
    assert "recorded rows: samples 1,740" in text
    assert "recorded rows: sums (shares in %)" in text


def test_nothing_and_single_values() -> None:
    assert printed({}) == ""
    assert printed({"mean": 0.25}).strip() == "mean: 25.00"
    assert printed({"mean": {}}) == ""


def test_names_from_data_are_no_markup() -> None:
    assert "[red]" in printed({"sums": {"[red]": 0.5}})


def test_records_by_name_are_rows_of_a_table() -> None:
    by_type = {
        "span": {"mean": 0.5922, "low": 0.5376, "high": 0.6525, "method": "bootstrap", "n": 1263},
        "count": {"mean": 0.75, "low": 0.4093, "high": 0.9285, "method": "wilson", "n": 8},
    }
    text = printed({"f1": {"mean": 0.59, "n": 1271, "by_question_type": by_type}})
    assert "f1: mean 59.00, n 1,271\n" in text
    assert re.search(r"^f1: by question type \(shares in %\)\n +mean +low +high +method +n\n-+\n", text, re.MULTILINE)
    assert re.search(r"^span +59\.22 +53\.76 +65\.25 +bootstrap +1,263$", text, re.MULTILINE)
    assert re.search(r"^count +75\.00 +40\.93 +92\.85 +wilson +8$", text, re.MULTILINE)
