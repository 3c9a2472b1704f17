"""The two tiny models that come with the package: their names and where they lie.

`local:tiny-policy` writes solutions to FinCharts-lite, `local:tiny-critic` judges them step by step. Both are LLaVA
checkpoints of 1.6 million weights in float16; the model cards lie beside them.
"""

from importlib.resources import files
from pathlib import Path

from assay.errors import DataError

__all__ = ["SHIPPED", "shipped"]

SHIPPED: dict[str, str] = {"tiny-policy": "policy", "tiny-critic": "critic"}
"""Name in an address -> its folder in `assay/miniature`."""


def shipped(name: str, *, root: Path | None = None) -> Path:
    """The folder of a model that comes with the package.

    Args:
        name: a key of `SHIPPED`.
        root: where the folders lie; None is the package.

    Raises:
        DataError: the weights are not there, as in a checkout of which they were left out.
    """
    folder = (root or Path(str(files("assay") / "miniature"))) / SHIPPED[name]
    if not (folder / "model.safetensors").is_file():
        raise DataError(
            f"local:{name}",
            f"its weights are not in {folder}",
            "Install the package anew, or: make miniature.",
        )
    return folder
