"""What one run of fine-tuning is: every setting, read from a TOML file and written into the run's folder.

    data = "train.jsonl"
    model = "Qwen/Qwen2.5-VL-7B-Instruct"
    lr = 1e-5

An option of the command line has the name of its setting and wins over the file.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from assay.errors import DataError, UsageError

__all__ = ["FREE", "Recipe", "changes", "read_recipe", "toml"]

FREE = frozenset({"out", "drop_long", "keep_checkpoints", "picture_memory"})
"""Settings that may differ between the starts of one run: none of them moves a weight of a run that goes on."""


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one run. A source is named where there is one (see `recipes/`); all other defaults are ours.

    Attributes:
        data: JSON Lines of `ChatRow`, what is trained on.
        held_out: rows of the same form that are never trained on.
        model: a checkpoint's folder, or its name on the hub.
        out: folder of the run.
        method: `full` trains all weights (the vision tower aside where it is frozen); `lora` trains an adapter of the
            language model's linear layers.
        lora_rank, lora_alpha, lora_dropout: of the adapter.
        merge: add the adapter to the weights that are saved in the end, so that what is saved is a whole checkpoint.
        freeze_vision: leave the vision tower and what connects it as they are.
        epochs: passes over the data, where `max_steps` does not say when to end.
        max_steps: optimizer steps.
        batch_size: rows that one process handles together.
        accumulate: batches whose gradients make one step.
        group_by_length: draw rows of like length together, so that less is computed only to fill up the shorter ones;
            the pre-flight says how much. Rows of one step then resemble each other in length (see `train.order`).
        lr: highest learning rate.
        schedule: how it falls after the warm-up.
        warmup: share of the steps (below 1), or a number of steps, over which it rises from 0.
        weight_decay, max_grad_norm: of AdamW, and the gradient's largest length (0: no limit).
        max_length: tokens that a row may have; a longer one is refused, never cut.
        min_pixels, max_pixels: what pictures are scaled to, for checkpoints that take any size (Qwen2.5-VL); None
            leaves the checkpoint's own limits.
        drop_long: leave rows out that are too long, in place of ending.
        verdict_weight: weight of the loss of a verdict's word, `Correct` or `Incorrect`, where other tokens have 1.
        dtype: `bf16` computes in bfloat16 (weights and optimizer of a full run stay float32); `auto` does so where the
            accelerator can.
        gradient_checkpointing: save memory, for about a third more time.
        seed: of the data's order, and of an adapter's first weights.
        eval_every: steps between two evaluations on held-out rows; 0 evaluates at the end alone.
        eval_rows: held-out rows whose critiques are generated at each evaluation; 0 for the loss alone.
        eval_loss_rows: held-out rows for the loss, the first so many; None for all.
        eval_tokens: tokens that such a critique may have.
        save_every: steps between two checkpoints of the run; 0 saves none.
        keep_checkpoints: how many of them stay, at least 1.
        keep: which weights are the result: the `last`, or those of the evaluation with the lowest held-out loss.
        picture_memory: bytes for prepared pictures; those beyond are read and prepared whenever they are needed.
    """

    data: str | None = None
    held_out: str | None = None
    model: str | None = None
    out: str | None = None
    method: Literal["full", "lora"] = "full"
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.0
    merge: bool = False
    freeze_vision: bool = True
    epochs: float = 1.0
    max_steps: int | None = None
    batch_size: int = 8
    accumulate: int = 1
    group_by_length: bool = False
    lr: float = 1e-5
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: float = 0.05
    weight_decay: float = 0.05
    max_grad_norm: float = 1.0
    max_length: int = 8192
    min_pixels: int | None = None
    max_pixels: int | None = None
    drop_long: bool = False
    verdict_weight: float = 1.0
    dtype: Literal["auto", "bf16", "float32"] = "auto"
    gradient_checkpointing: bool = False
    seed: int = 0
    eval_every: int = 0
    eval_rows: int = 64
    eval_loss_rows: int | None = None
    eval_tokens: int = 1024
    save_every: int = 500
    keep_checkpoints: int = 2
    keep: Literal["last", "best"] = "last"
    picture_memory: int = 2 * 2**30

    def __post_init__(self) -> None:
        for name in ("batch_size", "accumulate", "max_length", "eval_tokens", "keep_checkpoints", "lora_rank"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}.")
        for name in ("eval_every", "eval_rows", "save_every", "warmup", "weight_decay", "max_grad_norm"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} must be 0 or more, not {getattr(self, name)}.")
        for name in ("epochs", "lr", "verdict_weight"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} must be above 0, not {getattr(self, name)}.")
        for name in ("max_steps", "min_pixels", "max_pixels", "eval_loss_rows"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise UsageError(f"{name} must be at least 1, not {value}.")
        if self.warmup > 1 and self.warmup != int(self.warmup):
            raise UsageError(f"warmup must be a share below 1 or a whole number of steps, not {self.warmup}.")


def read_recipe(path: Path | None, **settings: Any) -> Recipe:
    """The recipe in a file (None: the defaults), with these settings in place of its own; None means not given.

    Raises:
        DataError: a file that can't be read, or holds what is no setting, or a value that none can have.
        UsageError: a setting that can't be used.
    """
    written: dict[str, Any] = {}
    if path is not None:
        try:
            written = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else str(cause)
            raise DataError(str(path), f"can't be read as a recipe ({reason})", "Give a TOML file.") from cause
    unknown = sorted(set(written).difference(Recipe.__struct_fields__))
    if unknown:
        known = ", ".join(Recipe.__struct_fields__)
        raise DataError(str(path), f"{', '.join(unknown)}: no such setting", f"There are {known}.")
    written.update({name: value for name, value in settings.items() if value is not None})
    try:
        return msgspec.convert(written, Recipe)
    except msgspec.ValidationError as cause:
        if isinstance(cause.__cause__, UsageError):
            raise cause.__cause__ from None
        raise DataError(str(path or "options"), f"no recipe ({cause})", "Correct that setting.") from cause


def toml(recipe: Recipe) -> str:
    """The recipe as `read_recipe` reads it back; settings without a value are left out."""
    values = cast("dict[str, Any]", msgspec.to_builtins(recipe))
    # Strings, numbers and booleans are written alike in JSON and in TOML.
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items() if value is not None)


def changes(before: Recipe, now: Recipe) -> list[str]:
    """Settings that differ, and that a run which goes on must not change, as `name: before -> now`."""
    return [
        f"{name}: {getattr(before, name)} -> {getattr(now, name)}"
        for name in Recipe.__struct_fields__
        if name not in FREE and getattr(before, name) != getattr(now, name)
    ]
