"""The folder of a run of fine-tuning: what it is a run of, where it goes on, and what was measured.

recipe.toml      every setting, written before the first step
plan.json        hashes of data, pictures and checkpoint, by which a changed run is known
checkpoints/     what a run goes on from; one without `complete.json` is half-written, and removed
training.jsonl   one line an evaluation
model/           the result: a checkpoint, or an adapter; there when the run is complete
best/            with `keep = "best"`: the weights with the lowest held-out loss so far
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.engine.lines import encode
from assay.engine.store import take_lock
from assay.errors import DataError, RunError, RunMismatch
from assay.train.held_out import Evaluation
from assay.train.recipe import Recipe, changes, read_recipe, toml

__all__ = ["Plan", "RunFolder", "Saved"]


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run is a run of, beside its recipe: SHA-256 of the files' bytes, the checkpoint's identity."""

    data: str
    held_out: str | None
    pictures: str
    model: str


class Saved(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`complete.json` of a checkpoint: its step, and the training loss summed over the steps since the evaluation."""

    step: int
    loss_sum: float = 0.0
    loss_steps: int = 0


class RunFolder:
    """One run's folder. Only one process writes to it; of several that train together, the first.

    Args:
        path: the folder.
        writes: whether this process is the one.
    """

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self.path = path
        self.writes = writes
        self._lock: int | None = None

    @property
    def model(self) -> Path:
        """The result; there when the run is complete."""
        return self.path / "model"

    @property
    def best(self) -> Path:
        """The weights with the lowest held-out loss."""
        return self.path / "best"

    @property
    def checkpoints(self) -> Path:
        """Folder of what the run goes on from."""
        return self.path / "checkpoints"

    def check(self, recipe: Recipe) -> None:
        """Say whether the folder's run, if there is one, has this recipe.

        Raises:
            RunMismatch: it has another; the message says what differs.
            RunError: the folder holds something that is no such run.
        """
        try:
            before = read_recipe(self.path / "recipe.toml")
        except DataError:
            if self.path.is_file() or (self.path.is_dir() and any(one.name != "lock" for one in self.path.iterdir())):
                raise RunError(f"{self.path} holds no run of this kind. Choose another folder (--out).") from None
            return
        if different := changes(before, recipe):
            raise RunMismatch(_another(self.path, "; ".join(different)))

    def begin(self, recipe: Recipe, plan: Plan) -> None:
        """Take the folder for this run, new or to be gone on with, and write down what it is.

        Raises:
            RunMismatch: its run is one of other data, pictures or weights.
            RunLocked: another process is training in it.
            RunError: it can't be written.
        """
        if not self.writes:
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = take_lock(self.path)
            written = self.path / "plan.json"
            if written.exists():
                before = msgspec.json.decode(written.read_bytes(), type=Plan)
                if before != plan:
                    raise RunMismatch(_another(self.path, "; ".join(_differences(before, plan))))
            self._write("recipe.toml", toml(recipe).encode())
            self._write("plan.json", msgspec.json.format(encode(plan), indent=2) + b"\n")
        except OSError as cause:
            raise RunError(f"{self.path} can't be written: {cause.strerror or cause}.") from cause

    def end(self) -> None:
        """Let others have the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # ----------------------------------------------------------------------------------------------------------------
    # Checkpoints

    def last(self) -> tuple[Path, Saved] | None:
        """The newest complete checkpoint; half-written ones are removed."""
        found: list[tuple[int, Path, Saved]] = []
        for folder in self.checkpoints.glob("checkpoint-*"):
            try:
                saved = msgspec.json.decode((folder / "complete.json").read_bytes(), type=Saved)
            except (OSError, msgspec.DecodeError):
                if self.writes:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            found.append((saved.step, folder, saved))
        if not found:
            return None
        _, folder, saved = max(found, key=lambda one: one[0])
        return folder, saved

    def complete(self, saved: Saved) -> None:
        """A checkpoint is written whole: onto the disk with it, then say so."""
        folder = self.checkpoints / f"checkpoint-{saved.step}"
        for path in sorted(folder.iterdir()):
            if path.is_file():
                _flush(path)
        part = folder / ".complete"
        part.write_bytes(encode(saved) + b"\n")
        _flush(part)
        part.replace(folder / "complete.json")

    def replace(self, folder: Path, write: Callable[[Path], None]) -> None:
        """Put a folder that `write` makes in the place of another, whole or not at all.

        Processes that don't write call `write` as well, since they may have to hand over what they hold of the weights.
        They remove nothing: the folder may be full already of what the one that writes has put there.
        """
        part, old = folder.with_name(f".{folder.name}.part"), folder.with_name(f".{folder.name}.old")
        if not self.writes:
            write(part)
            return
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
        write(part)
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)

    # ----------------------------------------------------------------------------------------------------------------
    # training.jsonl

    def evaluations(self, *, until: int | None = None) -> list[Evaluation]:
        """What was measured, up to and including a step."""
        try:
            lines = (self.path / "training.jsonl").read_bytes().splitlines()
        except OSError:
            return []
        found: list[Evaluation] = []
        for line in lines:
            with suppress(msgspec.DecodeError):  # the last one may be torn
                found.append(msgspec.json.decode(line, type=Evaluation))
        return [one for one in found if until is None or one.step <= until]

    def rewind(self, step: int) -> None:
        """Forget what was measured after a step: it is measured again."""
        if self.writes:
            self._write("training.jsonl", b"".join(encode(one) + b"\n" for one in self.evaluations(until=step)))

    def record(self, evaluation: Evaluation) -> None:
        """Add a line."""
        if self.writes:
            with (self.path / "training.jsonl").open("ab") as file:
                file.write(encode(evaluation) + b"\n")

    def _write(self, name: str, data: bytes) -> None:
        part = self.path / f".{name}.part"
        part.write_bytes(data)
        _flush(part)
        part.replace(self.path / name)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _another(path: Path, differences: str) -> str:
    return f"{path} holds another run: {differences}. Give this run another folder (--out), or start it as it was."


def _differences(before: Plan, now: Plan) -> list[str]:
    words = {
        "data": "the data file",
        "held_out": "the held-out file",
        "pictures": "pictures",
        "model": "the checkpoint",
    }
    return [f"{word} changed" for name, word in words.items() if getattr(before, name) != getattr(now, name)]
