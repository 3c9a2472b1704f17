"""`assay prm train`: supervised fine-tuning of a critic."""

from pathlib import Path
from typing import Any

import click

from assay.train.recipe import Recipe, read_recipe

_DEFAULT = Recipe()


def _option(name: str, kind: Any, help: str) -> Any:  # noqa: A002
    """An option for a setting of the recipe; not given, the recipe's value counts, then the default."""
    default = getattr(_DEFAULT, name)
    told = "none" if default is None else default
    return click.option(f"--{name.replace('_', '-')}", type=kind, help=f"{help}  [default: {told}]")


def _settings(function: Any) -> Any:
    whole, number = click.IntRange(min=0), click.FloatRange(min=0)
    for option in reversed(
        (
            _option("method", click.Choice(["full", "lora"]), "Train all weights, or an adapter (LoRA)."),
            _option("lora_rank", whole, "Rank of the adapter."),
            _option("lora_alpha", whole, "The adapter counts lora-alpha / lora-rank times."),
            _option("epochs", number, "Passes over the data."),
            _option("max_steps", whole, "Optimizer steps, in place of --epochs."),
            _option("batch_size", whole, "Rows that one process handles together."),
            _option("accumulate", whole, "Batches whose gradients make one step."),
            _option("lr", number, "Highest learning rate."),
            _option("schedule", click.Choice(["cosine", "linear", "constant"]), "How it falls after the warm-up."),
            _option("warmup", number, "Share of the steps (below 1) or number of steps over which it rises."),
            _option("weight_decay", number, "Of AdamW."),
            _option("max_grad_norm", number, "The gradient's largest length; 0: no limit."),
            _option("max_length", whole, "Tokens that a row may have. A longer one is refused, never cut."),
            _option("min_pixels", whole, "Pictures are scaled up to so many pixels (Qwen2.5-VL and its like)."),
            _option("max_pixels", whole, "Pictures are scaled down to so many pixels (Qwen2.5-VL and its like)."),
            _option("verdict_weight", number, "Weight of the loss of the words Correct and Incorrect (ours)."),
            _option("dtype", click.Choice(["auto", "bf16", "float32"]), "What is computed in."),
            _option("seed", whole, "Of the data's order, and of an adapter's first weights."),
            _option("eval_every", whole, "Steps between two evaluations on held-out rows; 0: at the end alone."),
            _option("eval_rows", whole, "Held-out critiques that are generated at each evaluation."),
            _option("eval_loss_rows", whole, "Held-out rows for the loss; none: all."),
            _option("eval_tokens", whole, "Tokens that a generated critique may have."),
            _option("save_every", whole, "Steps between two checkpoints; 0: none, and a stopped run starts anew."),
            _option("keep_checkpoints", whole, "How many of them stay."),
            _option(
                "keep", click.Choice(["last", "best"]), "The result: the last weights, or by held-out loss the best."
            ),
        )
    ):
        function = option(function)
    return function


@click.command("train")
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option("--held-out", type=click.Path(path_type=Path), help="Rows of the same form that are never trained on.")
@click.option("--model", help="The checkpoint that is trained: a folder, or owner/name on the hub.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run.")
@click.option("--recipe", type=click.Path(path_type=Path), help="TOML file of settings; options win over it.")
@_settings
@click.option("--merge/--no-merge", default=None, help="Add an adapter to the weights that are saved in the end.")
@click.option(
    "--freeze-vision/--train-vision", default=None, help="Leave the vision tower as it is.  [default: freeze]"
)
@click.option(
    "--group-by-length/--any-length", default=None, help="Batches of rows of like length.  [default: any length]"
)
@click.option("--gradient-checkpointing/--no-gradient-checkpointing", default=None, help="Less memory, more time.")
@click.option("--drop-long/--refuse-long", default=None, help="Leave rows out that are too long.  [default: refuse]")
@click.option("--pre-flight-only", is_flag=True, help="Look at every row, print the table and one row, and end.")
def command(
    recipe: Path | None,
    pre_flight_only: bool,
    data: Path | None,
    held_out: Path | None,
    out: Path | None,
    **settings: Any,
) -> None:
    """Fine-tune a checkpoint on chat rows, such as `assay prm export` writes.

    DATA: JSON Lines with id, group, images, prompt, completion and labels in every row. Loss falls on the completion
    alone. Every row is looked at before the first step, and none is ever cut. The same command goes on where it
    stopped; the result is OUT/model, a critic for `--critic local:OUT/model`.

    \b
    assay prm train train.jsonl --held-out held-out.jsonl --model Qwen/Qwen2.5-VL-7B-Instruct --out runs/critic \\
        --recipe recipes/gm-prm-qwen2.5-vl-7b.toml
    """
    from assay.train.sft import train

    paths = {"data": data, "held_out": held_out, "out": out}
    written = {name: str(path) for name, path in paths.items() if path is not None}
    train(read_recipe(recipe, **written, **settings), pre_flight_only=pre_flight_only, say=click.echo)
