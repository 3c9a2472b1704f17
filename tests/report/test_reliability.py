"""The reliability diagram: well-formed, true to the numbers, safe with any text."""

import re
from xml.etree import ElementTree

import pytest

from assay.mark.step_scores import calibration
from assay.mark.steps import JudgedSolution
from assay.report.reliability import reliability_svg

SVG = "{http://www.w3.org/2000/svg}"


def judged(labels: tuple[bool | None, ...], scores: tuple[float | None, ...]) -> JudgedSolution:
    return JudgedSolution(source="s", group="g", labels=labels, scores=scores)


def parse(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # our own text


def test_bars_end_at_the_shares() -> None:
    # Bin 0.2 .. 0.3: three steps, one right; bin 0.9 .. 1.0: two steps, both right.
    rows = [judged((True, False, False, True, True, None), (0.25, 0.25, 0.25, 0.95, 0.95, 0.5))]
    root = parse(reliability_svg(calibration(rows, resamples=10), title="t"))
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    tips = [rect.findtext(f"{SVG}title") for rect in bars]
    assert tips == [
        "0.20 to 0.30: 3 steps, score 0.250, right 0.333",
        "0.90 to 1.00: 2 steps, score 0.950, right 1.000",
    ]
    # The plot is 364 px high.
    assert [float(bar.attrib["height"]) for bar in bars] == pytest.approx([364 / 3, 364], abs=0.06)
    # |0.25 - 1/3| * 3/5 + |0.95 - 1| * 2/5 = 0.07
    texts = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert "expected calibration error 0.070; 5 steps" in texts


def test_without_scores_it_says_so() -> None:
    root = parse(reliability_svg(calibration([judged((True, False), (None, None))], resamples=10), title="t"))
    texts = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert "no labelled step has a score" in texts
    assert "2 labelled steps without a score" in texts


@pytest.mark.parametrize("title", ["<script>alert('x')</script> & \"more\"", "a\x00\x1b[31m\ud800b", "x" * 500, ""])
def test_any_title_is_text(title: str) -> None:
    text = reliability_svg(calibration([judged((True,), (0.5,))], resamples=10), title=title)
    root = parse(text)
    text.encode("utf-8")
    assert not list(root.iter(f"{SVG}script"))
    assert "onload" not in text
    assert re.search(r"x{60}", text) is None or "..." in text


def test_nothing_leaves_the_frame() -> None:
    rows = [judged((True, False) * 5, tuple(place / 9 for place in range(10)))]
    root = parse(reliability_svg(calibration(rows, resamples=10), title="t"))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert 0 <= x <= x + float(rect.attrib["width"]) <= width
        assert 0 <= y <= y + float(rect.attrib["height"]) <= height
