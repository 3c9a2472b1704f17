"""What FinMME's questions are about, and how many there are of each kind: the default weights of generated ones.

The counts are FinMME's own where it gives them (question types, cognitive levels, core domains). The paper gives none
for chart classes and for the domains within a core domain: the weights of chart classes are ours, after what research
reports show most of, and domains within a core domain weigh the same.
"""

from collections.abc import Mapping
from typing import Literal

__all__ = ["CHART_WEIGHTS", "CORE_COUNTS", "LEVELS", "LEVEL_COUNTS", "TYPES", "TYPE_COUNTS", "Level", "QuestionType"]

QuestionType = Literal["single_choice", "multiple_choice", "numerical"]
Level = Literal["Comprehensive Perception", "Fine-grained Perception", "Cognition and Reasoning"]

TYPES: tuple[QuestionType, ...] = ("single_choice", "multiple_choice", "numerical")
LEVELS: tuple[Level, ...] = ("Comprehensive Perception", "Fine-grained Perception", "Cognition and Reasoning")

TYPE_COUNTS: Mapping[str, int] = {"single_choice": 6567, "multiple_choice": 2680, "numerical": 1852}
LEVEL_COUNTS: Mapping[str, int] = {
    "Comprehensive Perception": 2333,
    "Fine-grained Perception": 6466,
    "Cognition and Reasoning": 2300,
}
CORE_COUNTS: Mapping[str, int] = {"equity": 7601, "macro": 1485, "products": 2013}

CHART_WEIGHTS: Mapping[str, float] = {
    "Line": 0.29,
    "Distribution": 0.26,
    "Financial": 0.10,
    "Proportional": 0.09,
    "Market Structure": 0.06,
    "Relational": 0.06,
    "Risk Distribution": 0.04,
    "Geographical": 0.03,
    "Flow": 0.03,
    "Others": 0.04,
}
