"""Supervised fine-tuning of a critic, to be read from top to bottom.

    1 read the rows, load the checkpoint     4 train: TRL's SFTTrainer, with our batches and our loss
    2 prepare every row: the pre-flight      5 between two steps: an evaluation, a checkpoint
    3 take the run's folder, or go on in it  6 save

One run is one schedule; see `run_folder` for what is on disk, and `recipe` for the settings. Several GPUs or machines:

    accelerate launch --config_file recipes/accelerate/fsdp.yaml -m assay.train.sft RECIPE.toml
"""

import hashlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from assay.errors import AssayError, DataError, RunError, RunStopped, UsageError
from assay.models.local_checkpoint import Checkpoint, library, load_checkpoint
from assay.train.chat import read_chat
from assay.train.collate import Collator
from assay.train.held_out import Evaluation, HeldOut, line
from assay.train.launch import check_libraries, is_first, on_signal, processes, quiet, silent
from assay.train.order import Order
from assay.train.pictures import Pictures, limit_pixels
from assay.train.preflight import Found, PreFlight, Prepared
from assay.train.preflight_report import overview, padding_line, settle, shown, steps_of, table
from assay.train.recipe import Recipe, read_recipe
from assay.train.records import ChatRow
from assay.train.run_folder import Plan, RunFolder, Saved
from assay.train.saving import copy_settings, merge, number_format, write_limits, write_number_format
from assay.train.trainer import adapter, callback, freeze_vision, trainer_class, trainer_settings

__all__ = ["main", "train"]

Say = Callable[[str], None]

_LINE_SECONDS = 15.0  # between two lines of progress


def train(recipe: Recipe, *, pre_flight_only: bool = False, say: Say = print) -> Path | None:
    """Train a checkpoint, or go on with a run that was stopped; where the result is.

    Args:
        recipe: what is trained, on what, and how.
        pre_flight_only: look at the rows, and end before a step is paid: nothing is written, and None returned.
        say: told what a reader of the terminal should know.

    Raises:
        MissingExtra: TRL or another of the libraries is not installed.
        UsageError: settings, a checkpoint or rows that can't be used.
        RunMismatch: the folder holds another run.
        RunStopped: ended by Ctrl-C; the same recipe goes on.
        RunError: the loss is no number any more.
    """
    check_libraries(recipe.method)
    say = say if is_first() else silent
    folder = RunFolder(Path(_given(recipe.out, "out")), writes=is_first())
    folder.check(recipe)
    with quiet():
        files, rows = _read(recipe)
        precision = _precision(recipe.dtype)
        checkpoint = _load(recipe, precision)
        pictures = Pictures(checkpoint, recipe.picture_memory)
        found, steps = _pre_flight(recipe, files, rows, checkpoint, pictures, say)
        if pre_flight_only:
            return None
        folder.begin(recipe, _plan(files, pictures, checkpoint))
        try:
            if folder.model.exists():
                say(f"{folder.model} is there already: the run is complete.")
                return folder.model
            run = Run(recipe, folder, checkpoint, pictures, found, steps=steps, precision=precision, say=say)
            run.train()
            run.save()
        finally:
            folder.end()
    return folder.model


# --------------------------------------------------------------------------------------------------------------------
# 1 rows and checkpoint


def _read(recipe: Recipe) -> tuple[dict[str, str], dict[str, list[ChatRow]]]:
    """The files' names, and their rows; held-out ones must not be trained on."""
    held_out = {} if recipe.held_out is None else {"held_out": recipe.held_out}
    files = {"data": _given(recipe.data, "data"), **held_out}
    rows = {name: list(read_chat(Path(path))) for name, path in files.items()}
    trained = {row.group for row in rows["data"]}
    if shared := sorted({row.group for row in rows.get("held_out", ())} & trained):
        listed = ", ".join(shared[:5]) + (" ..." if len(shared) > 5 else "")
        problem = f"{len(shared):,} of its groups are trained on as well: {listed}"
        raise DataError(files["held_out"], problem, "Split by group.")
    return files, rows


def _load(recipe: Recipe, precision: str) -> Checkpoint:
    name = _given(recipe.model, "model")
    # An adapter names its base by this path, from wherever it is loaded.
    path = str(Path(name).resolve()) if Path(name).is_dir() else name
    if recipe.method == "lora":
        if (Path(path) / "adapter_config.json").exists():
            raise UsageError(f"{name} is an adapter itself. Train it with merge = true, and go on from the merged one.")
        if not recipe.freeze_vision:
            raise UsageError("lora trains an adapter of the language model alone: leave --train-vision out.")
    # A frozen base needs no more digits than it is computed with; weights that move do.
    kept = "bfloat16" if precision == "bf16" and recipe.method == "lora" else "float32"
    checkpoint = load_checkpoint(path, device="cpu", dtype=kept)
    limit_pixels(checkpoint, recipe.min_pixels, recipe.max_pixels)
    return checkpoint


def _precision(wanted: str) -> str:
    cuda = library("torch").cuda
    fit = "bf16" if cuda.is_available() and cuda.is_bf16_supported() else "float32"
    return fit if wanted == "auto" else wanted


def _given(value: str | None, name: str) -> str:
    if value is None:
        raise UsageError(f"The recipe says nothing of {name!r}. Give it there, or as an option.")
    return value


# --------------------------------------------------------------------------------------------------------------------
# 2 pre-flight, and 3 what the run is a run of


def _pre_flight(
    recipe: Recipe,
    files: dict[str, str],
    rows: dict[str, list[ChatRow]],
    checkpoint: Checkpoint,
    pictures: Pictures,
    say: Say,
) -> tuple[dict[str, Found], int]:
    """The prepared rows of every file, and the steps that they make; refuses what can't be trained on."""
    began = time.monotonic()
    flight = PreFlight(checkpoint, pictures, max_length=recipe.max_length, verdict_weight=recipe.verdict_weight)
    found = {name: flight.prepare(rows[name]) for name in files}
    dropped = [line for name, path in files.items() for line in settle(path, found[name], drop_long=recipe.drop_long)]
    first = found["data"].rows[0]
    steps = recipe.max_steps or steps_of(
        len(found["data"].rows),
        batch=recipe.batch_size,
        accumulate=recipe.accumulate,
        epochs=recipe.epochs,
        processes=processes(),
    )
    say(table({name: overview(one) for name, one in found.items()}, steps=steps, verdict_weight=recipe.verdict_weight))
    say(padding_line(_padding(recipe, found["data"].rows), grouped=recipe.group_by_length))
    for problem in dropped:
        say(problem)
    say(f"{len(pictures):,} pictures, {pictures.kept:,} of them kept in memory; {time.monotonic() - began:.0f} s")
    say(f"\nRow {first.row.id!r}; the loss falls on what is between ⟦ and ⟧:\n{shown(first, checkpoint.tokenizer)}\n")
    return found, steps


def _order(recipe: Recipe, rows: Sequence[Prepared]) -> Order:
    lengths = np.array([len(row.ids) for row in rows])
    step = recipe.batch_size * recipe.accumulate * processes()
    return Order(lengths, step=step, seed=recipe.seed, by_length=recipe.group_by_length)


def _padding(recipe: Recipe, rows: Sequence[Prepared]) -> dict[bool, float]:
    """The share of padding in the first epoch, without and with `group_by_length`."""
    return {
        grouped: _order(replace(recipe, group_by_length=grouped), rows).padding_share(
            0, batch=recipe.batch_size, processes=processes()
        )
        for grouped in (False, True)
    }


def _plan(files: dict[str, str], pictures: Pictures, checkpoint: Checkpoint) -> Plan:
    return Plan(
        data=_hash(files["data"]),
        held_out=_hash(files["held_out"]) if "held_out" in files else None,
        pictures=pictures.fingerprint(),
        model=checkpoint.identity,
    )


def _hash(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Run:
    """Steps 4 to 6: the trainer, and what happens between its steps."""

    def __init__(
        self,
        recipe: Recipe,
        folder: RunFolder,
        checkpoint: Checkpoint,
        pictures: Pictures,
        found: dict[str, Found],
        *,
        steps: int,
        precision: str,
        say: Say,
    ) -> None:
        self._recipe = recipe
        self._folder = folder
        self._checkpoint = checkpoint
        self._steps = steps
        self._precision = precision
        self._say = say
        if recipe.freeze_vision and recipe.method == "full":
            freeze_vision(checkpoint.model)
        rows = found["data"].rows
        self.trainer: Any = self._make_trainer(Collator(rows, pictures, checkpoint.pad), _order(recipe, rows))
        held_out = found["held_out"].rows if "held_out" in found else []
        self._held_out = HeldOut(
            checkpoint,
            held_out,
            Collator(held_out, pictures, checkpoint.pad),
            batch=recipe.batch_size,
            loss_rows=recipe.eval_loss_rows,
            critiques=recipe.eval_rows,
            tokens=recipe.eval_tokens,
        )
        self._generates = not self.trainer.is_fsdp_enabled  # a model in shards can't be asked in between
        self._loss_steps = 0  # since the last evaluation
        self._steps_here = 0  # since this process started
        self._stop_asked = False
        self._began = self._said = time.monotonic()

    # 4 train --------------------------------------------------------------------------------------------------------

    def train(self) -> None:
        """Train to the last step, from the last checkpoint that is whole.

        Raises:
            RunStopped: ended by Ctrl-C, after a checkpoint was saved.
        """
        last = self._folder.last()
        self._folder.rewind(-1 if last is None else last[1].step)
        if last is not None:
            saved = last[1]
            self.trainer.loss_sum += saved.loss_sum / self.trainer.accelerator.num_processes
            self._loss_steps = saved.loss_steps
            self._say(f"going on after step {saved.step:,} of {self._steps:,}")
        self._began = self._said = time.monotonic()
        with on_signal(self._ask_to_stop):
            self.trainer.train(resume_from_checkpoint=None if last is None else str(last[0]))
        done: int = self.trainer.state.global_step
        if done < self._steps:
            raise RunStopped(f"Stopped after step {done:,} of {self._steps:,}. The same command goes on from there.")
        recorded = self._folder.evaluations()
        if not recorded or recorded[-1].step < done:
            self._evaluate(done)

    def _make_trainer(self, collator: Collator, order: Order) -> Any:
        recipe = self._recipe
        trainer = trainer_class()(
            model=self._checkpoint.model,
            args=trainer_settings(recipe, self._folder.checkpoints, steps=self._steps, precision=self._precision),
            order=order,
            data_collator=collator,
            train_dataset=import_module("datasets").Dataset.from_dict({"row": range(len(order))}),
            processing_class=self._checkpoint.processor or self._checkpoint.tokenizer,
            peft_config=adapter(recipe, self._checkpoint.model) if recipe.method == "lora" else None,
        )
        trainer.pop_callback(import_module("transformers").PrinterCallback)
        # Accelerate doesn't tell it to the sampler where a run goes on in several processes.
        trainer.add_callback(callback(order.set_epoch, self._after_step, self._after_save))
        return trainer

    # 5 between two steps --------------------------------------------------------------------------------------------

    def _after_step(self, state: Any, control: Any) -> None:
        self._loss_steps += 1
        self._steps_here += 1
        step: int = state.global_step
        if time.monotonic() - self._said > _LINE_SECONDS:
            self._progress(step)
        if self._recipe.eval_every and step % self._recipe.eval_every == 0:
            self._evaluate(step)
        if step < self._steps and self._stops():
            control.should_save = control.should_training_stop = True

    def _stops(self) -> bool:
        """Whether this process, or any other one, was asked to stop."""
        accelerator = self.trainer.accelerator
        if accelerator.num_processes == 1:
            return self._stop_asked
        if self._stop_asked:
            accelerator.set_trigger()
        return accelerator.check_trigger()

    def _after_save(self, state: Any) -> None:
        loss_sum = self._loss_sum()
        self.trainer.accelerator.wait_for_everyone()
        if self._folder.writes:
            self._folder.complete(Saved(step=state.global_step, loss_sum=loss_sum, loss_steps=self._loss_steps))

    def _loss_sum(self) -> float:
        """The training loss of all processes, summed over the steps since the last evaluation."""
        total = float(self.trainer.accelerator.reduce(self.trainer.loss_sum.clone(), "sum"))
        if not math.isfinite(total):
            step = self.trainer.state.global_step
            raise RunError(f"The loss is {total} at or before step {step:,}. Lower lr, or train in float32.")
        return total

    def _progress(self, step: int) -> None:
        loss = self._loss_sum() / self._loss_steps
        rate = self._steps_here / (time.monotonic() - self._began)
        left = (self._steps - step) / rate / 60
        self._say(f"step {step:,} of {self._steps:,}, loss {loss:.4f}, {rate:.2f} steps/s, {left:.0f} min left")
        self._said = time.monotonic()

    def _evaluate(self, step: int) -> None:
        began = time.monotonic()
        model = self.trainer.model_wrapped
        model.eval()
        loss = self._loss_sum() / self._loss_steps if self._loss_steps else None
        measured = self._held_out.evaluate(model, step=step, loss=loss, generate=self._generates)
        model.train()
        if self._recipe.keep == "best" and self._is_best(measured):
            self._folder.replace(self._folder.best, self._write_weights)
        self._folder.record(replace(measured, seconds=round(time.monotonic() - began, 2)))
        self._say(line(measured))
        self.trainer.loss_sum.zero_()
        self._loss_steps = 0
        self._said = time.monotonic()

    def _is_best(self, measured: Evaluation) -> bool:
        losses = [one.held_out_loss for one in self._folder.evaluations() if one.held_out_loss is not None]
        return measured.held_out_loss is not None and measured.held_out_loss < min(losses, default=math.inf)

    def _ask_to_stop(self) -> None:
        self._stop_asked = True
        self._say("stopping after this step, with a checkpoint; once more ends it at once")

    # 6 save ---------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the result: the last weights, or the best ones; an adapter as it is, or merged."""
        folder, recipe = self._folder, self._recipe
        trained = folder.path / "adapter" if recipe.merge and recipe.method == "lora" else folder.model
        if recipe.keep == "best" and folder.best.exists():
            if folder.writes:
                folder.replace(trained, partial(_copy, folder.best))
        else:
            folder.replace(trained, self._write_weights)
        if trained != folder.model and folder.writes:
            folder.replace(folder.model, partial(merge, trained))
        self._say(f"saved: {folder.model}")

    def _write_weights(self, folder: Path) -> None:
        trainer = self.trainer
        if trainer.is_fsdp_enabled:
            trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
        source = self._checkpoint.folder or Path(_given(self._recipe.model, "model"))
        stored = number_format(source)
        trainer.save_result(str(folder), stored)
        if self._folder.writes:
            copy_settings(source, folder)
            if self._recipe.method == "full":
                write_number_format(folder, stored)
            if self._recipe.min_pixels is not None or self._recipe.max_pixels is not None:
                write_limits(self._checkpoint.processor, folder)


def _copy(source: Path, folder: Path) -> None:
    shutil.copytree(source, folder)


def main(arguments: list[str] | None = None) -> None:
    """`python -m assay.train.sft RECIPE.toml`: what `accelerate launch` starts in every process."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if len(given) != 1:
            raise UsageError("Give one recipe: accelerate launch ... -m assay.train.sft RECIPE.toml")
        train(read_recipe(Path(given[0])))
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(3 if isinstance(error, RunStopped) else 2 if isinstance(error, UsageError) else 1)


if __name__ == "__main__":
    main()
