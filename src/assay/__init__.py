"""Assay: measure and refine multimodal reasoning.

The names below are the public ones that most programs need; the driver is `assay.evaluate.evaluate`. They are imported
when they are first used, so that `import assay` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.benchmarks import load_benchmark
    from assay.benchmarks.base import Source
    from assay.engine.store import RunStore
    from assay.evaluate import Plan
    from assay.models import open_model
    from assay.models.base import parse_address
    from assay.models.scripted import ScriptedModel
    from assay.solve.plan import SearchPlan
    from assay.types import Failure, Mark, Marked, Outcome, Reply, Request, Sample, Sampling

__version__ = "0.1.0"

__all__ = [
    "Failure",
    "Mark",
    "Marked",
    "Outcome",
    "Plan",
    "Reply",
    "Request",
    "RunStore",
    "Sample",
    "Sampling",
    "ScriptedModel",
    "SearchPlan",
    "Source",
    "__version__",
    "load_benchmark",
    "open_model",
    "parse_address",
]

_HOMES = {
    "Plan": "assay.evaluate",
    "RunStore": "assay.engine.store",
    "ScriptedModel": "assay.models.scripted",
    "SearchPlan": "assay.solve.plan",
    "Source": "assay.benchmarks.base",
    "load_benchmark": "assay.benchmarks",
    "open_model": "assay.models",
    "parse_address": "assay.models.base",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "assay.types")), name)
