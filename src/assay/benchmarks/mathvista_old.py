"""MathVista under the rule for integers that its script had before it changed: "14.0" is no integer.

Most output files of 2023 (Bard, Claude, program-aided GPT-4, IDEFICS, everything with OCR text) were scored with it.
Rows, prompts and the robust verdict are those of `mathvista`, where one row's fields, `{"pid": "0", ...}`, are shown.

Paper:   https://arxiv.org/abs/2310.02255
Code:    https://github.com/lupantech/MathVista
Licence: CC BY-SA 4.0, test use only
"""

from dataclasses import replace
from functools import partial

from assay.benchmarks import mathvista

BENCHMARK = replace(
    mathvista.BENCHMARK,
    name="mathvista-old",
    title="MathVista under its script's old rule for integers",
    mark=partial(mathvista.mark, integers="old"),
)
